//! Numbers held against those of R, scikit-learn and Orange. The scripts that recorded them stand in `tests/reference`.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests stop at the first surprise and show how near the numbers are"
)]

mod bayes;
mod hostile;
mod loess;
mod model;
mod reference;
mod rules;
mod series;
mod svm;
mod trees;
