//! Naive Bayes beside Orange's.

use cattlegrid_learn::bayes::NaiveBayes;
use cattlegrid_learn::data::Classifier;

use crate::reference;
use crate::reference::Case;

#[test]
fn agrees_with_orange_on_discrete_attributes() {
    let cases: Vec<Case> = reference::read(include_str!("../reference/bayes.json"));
    assert!(cases.len() >= 3);
    let mut worst = 0.0_f64;
    for case in cases {
        let dataset = case.table.dataset();
        let bayes = NaiveBayes::learn(&dataset);
        assert_eq!(bayes.check(&dataset.attributes), Ok(()));
        for (row, expected) in case.asked.iter().zip(&case.expected) {
            let found = bayes.probability(row);
            worst = worst.max((found - expected).abs());
            assert!(
                (found - expected).abs() < 1e-9,
                "{}: {row:?} gives {found}, not {expected}",
                case.table.name
            );
        }
    }
    eprintln!("largest error {worst:e}");
}
