//! Whatever the examples, learning ends and probabilities are probabilities.

use cattlegrid_learn::bayes::NaiveBayes;
use cattlegrid_learn::data::Attribute;
use cattlegrid_learn::data::Classifier;
use cattlegrid_learn::data::Dataset;
use cattlegrid_learn::data::Example;
use cattlegrid_learn::data::Kind;
use cattlegrid_learn::loess::smooth;
use cattlegrid_learn::rules::RuleList;
use cattlegrid_learn::rules::RuleSettings;
use cattlegrid_learn::svm::Svm;
use cattlegrid_learn::svm::SvmSettings;
use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Values as they should be, repeated ones among them, and at the ends of what a number can be.
fn finite() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => (-4_i32..4).prop_map(f64::from),
        3 => -10.0..10.0_f64,
        1 => prop::sample::select(vec![
            0.0, -0.0, 1e300, -1e300, f64::MAX, f64::MIN, f64::MIN_POSITIVE, 5e-324, -5e-324, 1e-310,
        ]),
    ]
}

/// Values as they should not be, too.
fn any_value() -> impl Strategy<Value = f64> {
    prop_oneof![
        9 => finite(),
        1 => prop::sample::select(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY]),
    ]
}

fn dataset() -> impl Strategy<Value = Dataset> {
    let kinds = prop::collection::vec(prop::option::of(0_usize..4), 0..4);
    let row = (
        prop::collection::vec(any_value(), 0..5),
        any::<bool>(),
        1_usize..4,
    );
    let rows = prop::collection::vec(row, 0..25);
    // Mostly the rows are as long as they should be, and sometimes all of one class.
    (kinds, rows, prop::option::weighted(0.2, any::<bool>())).prop_map(|(kinds, rows, only)| {
        let attributes: Vec<Attribute> = kinds.iter().enumerate().map(attribute).collect();
        let mut examples = Vec::new();
        for (mut values, is_positive, times) in rows {
            if times > 1 {
                values.resize(attributes.len(), 1.0);
            }
            let is_positive = only.unwrap_or(is_positive);
            examples.extend(vec![
                Example {
                    values,
                    is_positive,
                    group: None,
                };
                times
            ]);
        }
        Dataset {
            attributes,
            examples,
        }
    })
}

fn attribute((place, kind): (usize, &Option<usize>)) -> Attribute {
    let values = |count| (0..count).map(|value| format!("v{value}")).collect();
    Attribute {
        name: format!("a{place}"),
        kind: kind.map_or(Kind::Continuous, |count| Kind::Discrete(values(count))),
    }
}

/// Holds a classifier's answers, and those of its copy from a file, to what they promise.
fn check<C>(classifier: &C, dataset: &Dataset, asked: &[Vec<f64>])
where
    C: Classifier + Serialize + DeserializeOwned + PartialEq + std::fmt::Debug,
{
    let text = serde_json::to_string(classifier).expect("it can be written");
    let copy: C = serde_json::from_str(&text).expect("it can be read");
    assert_eq!(&copy, classifier);
    let learned = dataset.examples.iter().map(|example| &example.values);
    for values in learned.chain(asked) {
        let probability = classifier.probability(values);
        assert!(
            (0.0..=1.0).contains(&probability),
            "{values:?} gives {probability}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn bayes_gives_probabilities(
        dataset in dataset(),
        asked in prop::collection::vec(prop::collection::vec(any_value(), 0..5), 0..8),
    ) {
        let bayes = NaiveBayes::learn(&dataset);
        prop_assert_eq!(bayes.check(&dataset.attributes), Ok(()));
        check(&bayes, &dataset, &asked);
    }

    #[test]
    fn rules_give_probabilities(
        dataset in dataset(),
        asked in prop::collection::vec(prop::collection::vec(any_value(), 0..5), 0..8),
        settings in (0_usize..6, 0_usize..6, 0_usize..4, 0.0..1.2_f64),
    ) {
        let (beam_width, covered_min, length_max, alpha) = settings;
        let settings = RuleSettings { beam_width, covered_min, length_max, alpha };
        let rules = RuleList::learn(&dataset, &settings);
        prop_assert_eq!(rules.check(&dataset.attributes), Ok(()));
        prop_assert_eq!(rules.describe(&dataset.attributes).len(), rules.rules().len());
        check(&rules, &dataset, &asked);
    }

    #[test]
    fn svm_gives_probabilities(
        dataset in dataset(),
        asked in prop::collection::vec(prop::collection::vec(any_value(), 0..5), 0..8),
        settings in (any_value(), any_value()),
    ) {
        let (c, gamma) = settings;
        let svm = Svm::learn(&dataset, &SvmSettings { c, gamma });
        prop_assert_eq!(svm.check(&dataset.attributes), Ok(()));
        prop_assert!(asked.iter().all(|values| svm.decision(values).is_finite()));
        check(&svm, &dataset, &asked);
    }

    #[test]
    fn smooth_gives_numbers(
        points in prop::collection::vec((any_value(), any_value()), 0..30),
        at in prop::collection::vec(any_value(), 0..8),
        span in prop_oneof![0.0..2.0_f64, any_value()],
        degree in 0_usize..4,
    ) {
        let (x, y): (Vec<f64>, Vec<f64>) = points.into_iter().unzip();
        let found = smooth(&x, &y, &at, span, degree);
        prop_assert_eq!(found.len(), at.len());
        prop_assert!(found.iter().all(|value| value.is_finite()), "{:?}", found);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(10) })]

    #[test]
    fn svm_search_gives_probabilities(dataset in dataset(), folds in 0_usize..4, seed in any::<u64>()) {
        let (_, svm) = Svm::search(&dataset, folds, seed);
        prop_assert_eq!(svm.check(&dataset.attributes), Ok(()));
        check(&svm, &dataset, &[]);
    }
}
