//! Local regression beside R's `loess`.

use cattlegrid_learn::loess::smooth;
use serde::Deserialize;

use crate::reference;

#[derive(Deserialize)]
struct Case {
    name: String,
    span: f64,
    degree: usize,
    x: Vec<f64>,
    y: Vec<f64>,
    at: Vec<f64>,
    expected: Vec<f64>,
}

#[test]
fn agrees_with_r() {
    let cases: Vec<Case> = reference::read(include_str!("../reference/loess.json"));
    assert!(cases.len() >= 40);
    let mut worst = 0.0_f64;
    for case in cases {
        let found = smooth(&case.x, &case.y, &case.at, case.span, case.degree);
        for (found, expected) in found.iter().zip(&case.expected) {
            let error = (found - expected).abs() / expected.abs().max(1e-3);
            worst = worst.max(error);
            let Case {
                name, span, degree, ..
            } = &case;
            assert!(
                error < 1e-6,
                "{name}, span {span}, degree {degree}: {found} is not {expected}"
            );
        }
    }
    eprintln!("largest relative error {worst:e}");
}
