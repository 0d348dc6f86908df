//! Trees beside scikit-learn's.

use cattlegrid_learn::data::Classifier;
use cattlegrid_learn::trees::Size;
use cattlegrid_learn::trees::Trees;

use crate::reference;
use crate::reference::Case;

#[test]
fn agree_with_scikit_learn() {
    let cases: Vec<Case> = reference::read(include_str!("../reference/trees.json"));
    assert_eq!(cases.len(), 3);
    for case in &cases {
        let dataset = case.table.dataset();
        let size = Size {
            trees: 200,
            depth: 2,
        };
        let trees = Trees::grow(&dataset, size);
        assert_eq!(trees.check(&dataset.attributes), Ok(()));
        for (values, expected) in case.asked.iter().zip(&case.expected) {
            let found = trees.probability(values);
            // Theirs counts in numbers of half the length.
            assert!(
                (found - expected).abs() < 2e-5,
                "{}: {values:?} gives {found}, expected {expected}",
                case.table.name
            );
        }
    }
}
