//! The support vector machine beside scikit-learn's, which is LIBSVM.

use cattlegrid_learn::svm::Svm;
use cattlegrid_learn::svm::SvmSettings;
use serde::Deserialize;

use crate::reference;
use crate::reference::Table;

#[derive(Deserialize)]
struct Case {
    table: Table,
    c: f64,
    gamma: f64,
    /// Rows to decide about, and LIBSVM's decision values.
    asked: Vec<Vec<f64>>,
    expected: Vec<f64>,
}

#[test]
fn agrees_with_libsvm() {
    let cases: Vec<Case> = reference::read(include_str!("../reference/svm.json"));
    assert!(cases.len() >= 3);
    let mut worst = 0.0_f64;
    for case in cases {
        let dataset = case.table.dataset();
        let (c, gamma) = (case.c, case.gamma);
        let svm = Svm::learn(&dataset, &SvmSettings { c, gamma });
        assert_eq!(svm.check(&dataset.attributes), Ok(()));
        for (row, expected) in case.asked.iter().zip(&case.expected) {
            let found = svm.decision(row);
            // Near 0 a decision is the small difference of numbers about as large as the margin, which is 1.
            let error = (found - expected).abs() / expected.abs().max(1e-2);
            worst = worst.max(error);
            let name = &case.table.name;
            assert!(
                error < 1e-3,
                "{name}, C {c}, gamma {gamma}: {found} is not {expected}"
            );
            assert_eq!(found > 0.0, *expected > 0.0, "{name}: {row:?}");
        }
    }
    eprintln!("largest error {worst:e}");
}
