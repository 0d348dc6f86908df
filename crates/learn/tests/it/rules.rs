//! CN2 beside Orange's.

use cattlegrid_learn::rules::Condition;
use cattlegrid_learn::rules::Rule;
use cattlegrid_learn::rules::RuleList;
use cattlegrid_learn::rules::RuleSettings;
use cattlegrid_learn::rules::Test;
use serde::Deserialize;

use crate::reference;
use crate::reference::Table;

#[derive(Deserialize)]
struct Case {
    table: Table,
    lists: Vec<Lists>,
}

#[derive(Deserialize)]
struct Lists {
    beam_width: usize,
    covered_min: usize,
    length_max: usize,
    alpha: f64,
    /// What Orange finds.
    orange: Vec<Expected>,
    /// What it finds when the first candidate of a search must be significant, too, as with us.
    tested: Vec<Expected>,
}

#[derive(Debug, PartialEq, Deserialize)]
struct Expected {
    conditions: Vec<(usize, String, f64)>,
    negatives: u32,
    positives: u32,
}

#[test]
fn agrees_with_orange() {
    let cases: Vec<Case> = reference::read(include_str!("../reference/cn2.json"));
    let (mut lists, mut same) = (0, 0);
    for Case {
        table,
        lists: recorded,
    } in &cases
    {
        let dataset = table.dataset();
        for expected in recorded {
            let settings = RuleSettings {
                beam_width: expected.beam_width,
                covered_min: expected.covered_min,
                length_max: expected.length_max,
                alpha: expected.alpha,
            };
            let list = RuleList::learn(&dataset, &settings);
            assert_eq!(list.check(&dataset.attributes), Ok(()));
            let found: Vec<Expected> = list.rules().iter().map(plain).collect();
            let name = &table.name;
            assert_eq!(found, expected.tested, "{name} with {settings:?}");
            // Without a test of significance there is no difference at all.
            assert!(
                found == expected.orange || settings.alpha < 1.0,
                "{name} with {settings:?}"
            );
            lists += 1;
            same += usize::from(found == expected.orange);
        }
    }
    eprintln!("{same} of {lists} lists are those of the unchanged Orange");
    assert!(lists >= 20 && same >= 15);
}

fn plain(rule: &Rule) -> Expected {
    Expected {
        conditions: rule.conditions.iter().map(triple).collect(),
        negatives: rule.negatives,
        positives: rule.positives,
    }
}

fn triple(condition: &Condition) -> (usize, String, f64) {
    let (operator, value) = match condition.test {
        Test::Is(place) => ("==", f64::from(place)),
        Test::IsNot(place) => ("!=", f64::from(place)),
        Test::AtMost(most) => ("<=", most),
        Test::AtLeast(least) => (">=", least),
    };
    (condition.attribute, operator.to_owned(), value)
}
