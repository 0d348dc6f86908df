//! Numbers held against those of R, scikit-learn and Orange. The scripts that recorded them stand in `tests/reference`.

mod series;
