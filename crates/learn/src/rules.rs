//! An ordered list of rules by CN2 (Clark and Niblett 1989), as Orange's `CN2Learner` learns it.
//!
//! A beam search finds the conditions whose examples have the lowest class entropy, these examples are taken
//! away, and so on. Where this differs from Orange 3.40:
//! - Every candidate must be significant. Orange takes the very first one untested and, when it then fails the
//!   test, ends the whole list.
//! - A search ends at the first significant rule without any error, because nothing can beat it.
//! - Between equally many examples of both classes a rule says negative. Orange draws lots.
//! - Rules are not compared with earlier ones: their examples are gone, so that they cannot be found again.

mod cuts;

use serde::Deserialize;
use serde::Serialize;

use crate::data::Attribute;
use crate::data::Classifier;
use crate::data::Dataset;
use crate::data::Kind;
use cuts::Counts;
use cuts::bounds;
use cuts::equalities;
use cuts::is_significant;

/// Rules that a list may have, and conditions that a rule may have, learned or loaded.
const RULES_MAX: usize = 10_000;
const CONDITIONS_MAX: usize = 100;

/// How rules are searched for.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleSettings {
    /// Unfinished rules that are kept at each length.
    pub beam_width: usize,
    /// Examples a rule must cover at least.
    pub covered_min: usize,
    /// Conditions a rule may have at most.
    pub length_max: usize,
    /// How likely a rule's classes may be by chance, by the likelihood ratio; 1 lets every rule pass.
    pub alpha: f64,
}

impl Default for RuleSettings {
    /// Orange's beam and length. Below five examples the test of significance does not hold.
    fn default() -> RuleSettings {
        RuleSettings {
            beam_width: 5,
            covered_min: 5,
            length_max: 5,
            alpha: 0.05,
        }
    }
}

/// Rules in order: the first one that matches decides. The last one has no conditions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleList {
    rules: Vec<Rule>,
}

/// One rule of a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// All must hold.
    pub conditions: Vec<Condition>,
    /// Examples of the positive class that it covered when it was learned.
    pub positives: u32,
    /// Examples of the negative class that it covered when it was learned.
    pub negatives: u32,
}

/// A condition on one attribute.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// The attribute's place.
    pub attribute: usize,
    /// What its value must be.
    pub test: Test,
}

/// What a value must be.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Test {
    /// This place in the attribute's list.
    Is(u32),
    /// Another place.
    IsNot(u32),
    /// This number or less.
    AtMost(f64),
    /// This number or more.
    AtLeast(f64),
}

impl RuleList {
    /// Learns from examples. Those with values that their attributes do not allow are left out.
    pub fn learn(dataset: &Dataset, settings: &RuleSettings) -> RuleList {
        let mut table = Table::new(dataset);
        let all = table.counts();
        let mut rules = Vec::new();
        while table.counts().sum() >= settings.covered_min.max(1) && rules.len() + 1 < RULES_MAX {
            let Some(found) = find(&table, all, settings) else {
                break;
            };
            table.remove(&found.covered);
            let is_last = found.conditions.is_empty();
            rules.push(found.rule());
            if is_last {
                return RuleList { rules };
            }
        }
        // Orange's default counts all examples, also those that earlier rules cover.
        rules.push(all.rule(Vec::new()));
        RuleList { rules }
    }

    /// The rules in order.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Whether this can be what was learned from examples with these attributes. A file may hold anything.
    pub fn check(&self, attributes: &[Attribute]) -> Result<(), String> {
        let Some((last, others)) = self.rules.split_last() else {
            return Err("no rules".to_owned());
        };
        if self.rules.len() > RULES_MAX {
            return Err(format!("{} rules", self.rules.len()));
        }
        if !last.conditions.is_empty() || others.iter().any(|rule| rule.conditions.is_empty()) {
            return Err("the last rule, and no other, must be without conditions".to_owned());
        }
        for (number, rule) in self.rules.iter().enumerate() {
            if rule.conditions.len() > CONDITIONS_MAX {
                return Err(format!(
                    "{} conditions in rule {number}",
                    rule.conditions.len()
                ));
            }
            if !rule
                .conditions
                .iter()
                .all(|condition| condition.fits(attributes))
            {
                return Err(format!(
                    "a condition of rule {number} does not fit its attribute"
                ));
            }
        }
        Ok(())
    }

    /// Each rule as text, with the positive and negative examples that it covered.
    pub fn describe(&self, attributes: &[Attribute]) -> Vec<String> {
        let rules = self.rules.iter();
        rules.map(|rule| rule.describe(attributes)).collect()
    }
}

impl Classifier for RuleList {
    fn probability(&self, values: &[f64]) -> f64 {
        let mut rules = self.rules.iter();
        match rules.find(|rule| {
            rule.conditions
                .iter()
                .all(|condition| condition.holds(values))
        }) {
            Some(rule) => rule.probability(),
            None => 0.5,
        }
    }
}

impl Rule {
    /// Whether it says positive: when it covered more positive than negative examples.
    pub fn is_positive(&self) -> bool {
        self.positives > self.negatives
    }

    /// The share of positives as if one more example of either class had been covered.
    fn probability(&self) -> f64 {
        let (positives, negatives) = (f64::from(self.positives), f64::from(self.negatives));
        (positives + 1.0) / (positives + negatives + 2.0)
    }

    fn describe(&self, attributes: &[Attribute]) -> String {
        let conditions: Vec<String> = self
            .conditions
            .iter()
            .map(|condition| condition.describe(attributes))
            .collect();
        let start = if conditions.is_empty() {
            "OTHERWISE".to_owned()
        } else {
            format!("IF {} THEN", conditions.join(" AND "))
        };
        let class = if self.is_positive() {
            "positive"
        } else {
            "negative"
        };
        format!("{start} {class} ({} : {})", self.positives, self.negatives)
    }
}

impl Condition {
    fn holds(&self, values: &[f64]) -> bool {
        let value = values.get(self.attribute).copied().unwrap_or(f64::NAN);
        match self.test {
            Test::Is(place) => value == f64::from(place),
            Test::IsNot(place) => value != f64::from(place),
            Test::AtMost(most) => value <= most,
            Test::AtLeast(least) => value >= least,
        }
    }

    fn fits(&self, attributes: &[Attribute]) -> bool {
        let kind = attributes
            .get(self.attribute)
            .map(|attribute| &attribute.kind);
        match (self.test, kind) {
            (Test::Is(place) | Test::IsNot(place), Some(Kind::Discrete(values))) => {
                (place as usize) < values.len()
            }
            (Test::AtMost(bound) | Test::AtLeast(bound), Some(Kind::Continuous)) => {
                bound.is_finite()
            }
            _ => false,
        }
    }

    fn describe(&self, attributes: &[Attribute]) -> String {
        let attribute = attributes.get(self.attribute);
        let name = attribute.map_or("?", |attribute| &attribute.name);
        let value = |place: u32| match attribute.map(|attribute| &attribute.kind) {
            Some(Kind::Discrete(values)) => values.get(place as usize).map_or("?", String::as_str),
            _ => "?",
        };
        match self.test {
            Test::Is(place) => format!("{name} = {}", value(place)),
            Test::IsNot(place) => format!("{name} != {}", value(place)),
            Test::AtMost(most) => format!("{name} <= {most:?}"),
            Test::AtLeast(least) => format!("{name} >= {least:?}"),
        }
    }
}

impl Counts {
    fn rule(self, conditions: Vec<Condition>) -> Rule {
        let cap = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        Rule {
            conditions,
            positives: cap(self.positives),
            negatives: cap(self.negatives),
        }
    }
}

/// The examples that no rule covers yet.
struct Table {
    columns: Vec<Column>,
    is_positive: Vec<bool>,
    is_left: Vec<bool>,
}

struct Column {
    values: Vec<f64>,
    /// The examples left, by ascending value.
    order: Vec<usize>,
    is_discrete: bool,
}

impl Table {
    fn new(dataset: &Dataset) -> Table {
        let attributes = &dataset.attributes;
        let examples = dataset.examples.iter();
        let examples: Vec<_> = examples
            .filter(|example| {
                let mut pairs = attributes.iter().zip(&example.values);
                attributes.len() == example.values.len()
                    && pairs.all(|(attribute, value)| is_allowed(&attribute.kind, *value))
            })
            .collect();
        let columns = attributes.iter().enumerate().map(|(place, attribute)| {
            let values = examples
                .iter()
                .filter_map(|example| example.values.get(place));
            let values: Vec<f64> = values.copied().collect();
            let mut order: Vec<usize> = (0..values.len()).collect();
            order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
            let is_discrete = attribute.kind != Kind::Continuous;
            Column {
                values,
                order,
                is_discrete,
            }
        });
        Table {
            columns: columns.collect(),
            is_positive: examples.iter().map(|example| example.is_positive).collect(),
            is_left: vec![true; examples.len()],
        }
    }

    fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for (example, is_left) in self.is_left.iter().enumerate() {
            if *is_left {
                counts.add(self.class(example));
            }
        }
        counts
    }

    fn class(&self, example: usize) -> Counts {
        let is_positive = self.is_positive[example];
        Counts {
            positives: usize::from(is_positive),
            negatives: usize::from(!is_positive),
        }
    }

    fn remove(&mut self, covered: &[bool]) {
        for (is_left, is_covered) in self.is_left.iter_mut().zip(covered) {
            *is_left &= !is_covered;
        }
        for column in &mut self.columns {
            column.order.retain(|example| self.is_left[*example]);
        }
    }

    /// The covered examples by value of a column.
    fn groups(&self, column: &Column, covered: &[bool]) -> Vec<(f64, Counts)> {
        let mut groups: Vec<(f64, Counts)> = Vec::new();
        for &example in column.order.iter().filter(|example| covered[**example]) {
            let (value, class) = (column.values[example], self.class(example));
            match groups.last_mut() {
                Some((last, counts)) if *last == value => counts.add(class),
                _ => groups.push((value, class)),
            }
        }
        groups
    }

    /// Which of the covered examples a further condition leaves.
    fn narrow(&self, covered: &[bool], condition: Condition) -> Vec<bool> {
        let Condition { attribute, test } = condition;
        let here = Condition { attribute: 0, test };
        let values = &self.columns[attribute].values;
        let covered = covered.iter().zip(values);
        covered
            .map(|(is_covered, value)| *is_covered && here.holds(&[*value]))
            .collect()
    }
}

fn is_allowed(kind: &Kind, value: f64) -> bool {
    match kind {
        Kind::Continuous => value.is_finite(),
        Kind::Discrete(values) => {
            value >= 0.0 && value.fract() == 0.0 && value < values.len() as f64
        }
    }
}

/// A rule under way.
struct Candidate {
    conditions: Vec<Condition>,
    covered: Vec<bool>,
    counts: Counts,
}

impl Candidate {
    fn rule(self) -> Rule {
        self.counts.rule(self.conditions)
    }

    fn extended(&self, table: &Table, condition: Condition, counts: Counts) -> Candidate {
        let mut conditions = self.conditions.clone();
        conditions.push(condition);
        Candidate {
            conditions,
            covered: table.narrow(&self.covered, condition),
            counts,
        }
    }

    /// Every further condition that the settings allow, with what it leaves.
    fn refinements(&self, table: &Table, settings: &RuleSettings) -> Vec<(Condition, Counts)> {
        if self.conditions.len() >= settings.length_max.min(CONDITIONS_MAX) {
            return Vec::new();
        }
        let mut found = Vec::new();
        for (attribute, column) in table.columns.iter().enumerate() {
            let groups = table.groups(column, &self.covered);
            let tests = if column.is_discrete {
                equalities(&groups, self.counts)
            } else {
                bounds(&groups, self.counts)
            };
            found.extend(
                tests
                    .into_iter()
                    .map(|(test, counts)| (Condition { attribute, test }, counts)),
            );
        }
        found.retain(|(condition, counts)| {
            counts.sum() >= settings.covered_min.max(1)
                && (*counts != self.counts || self.conditions.is_empty())
                && !self.conditions.contains(condition)
        });
        found
    }
}

/// The best rule for the examples left: its conditions are none when they allow no others.
fn find(table: &Table, all: Counts, settings: &RuleSettings) -> Option<Candidate> {
    let start = Candidate {
        conditions: Vec::new(),
        covered: table.is_left.clone(),
        counts: table.counts(),
    };
    let mut beam = vec![start];
    let mut best: Option<Candidate> = None;
    loop {
        let mut found = Vec::new();
        for (parent, candidate) in beam.iter().enumerate() {
            let refinements = candidate.refinements(table, settings);
            for (place, (condition, counts)) in refinements.into_iter().enumerate() {
                let entropy = counts.entropy();
                found.push((entropy, parent, condition, counts));
                // Orange never asks whether a rule's first refinement is the best, except for the empty rule's.
                let is_asked = place > 0 || candidate.conditions.is_empty();
                let is_better = best
                    .as_ref()
                    .is_none_or(|best| entropy < best.counts.entropy());
                if is_asked && is_better && is_significant(counts, all, settings.alpha) {
                    best = Some(candidate.extended(table, condition, counts));
                }
            }
        }
        let is_done = best.as_ref().is_some_and(|best| best.counts.is_pure());
        if found.is_empty() || is_done {
            break;
        }
        // Stable: among equals the one that was found first, as in Orange.
        found.sort_by(|(a, ..), (b, ..)| a.total_cmp(b));
        found.truncate(settings.beam_width.max(1));
        beam = found
            .into_iter()
            .map(|(_, parent, condition, counts)| beam[parent].extended(table, condition, counts))
            .collect();
    }
    // Nothing to tell the examples apart by: the rest are one rule.
    let is_rest = |candidate: &Candidate| {
        candidate.conditions.is_empty() && is_significant(candidate.counts, all, settings.alpha)
    };
    best.or_else(|| beam.into_iter().find(is_rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Example;

    fn attributes() -> Vec<Attribute> {
        let words = ["linear", "none"].map(str::to_owned).to_vec();
        vec![
            Attribute {
                name: "decay".to_owned(),
                kind: Kind::Discrete(words),
            },
            Attribute {
                name: "r1".to_owned(),
                kind: Kind::Continuous,
            },
        ]
    }

    /// Positive where decay is linear and r1 at least 0.5.
    fn dataset() -> Dataset {
        let examples = (0..200).map(|i| {
            let (decay, r1) = (f64::from(i % 2), f64::from(i / 2) / 100.0);
            Example {
                values: vec![decay, r1],
                is_positive: decay == 0.0 && r1 >= 0.5,
                group: None,
            }
        });
        Dataset {
            attributes: attributes(),
            examples: examples.collect(),
        }
    }

    #[test]
    fn finds_and_describes_rules() {
        let list = RuleList::learn(&dataset(), &RuleSettings::default());
        assert_eq!(list.check(&attributes()), Ok(()));
        let text = list.describe(&attributes());
        assert_eq!(
            text,
            [
                "IF decay = none THEN negative (0 : 100)",
                "IF r1 >= 0.5 THEN positive (50 : 0)",
                "IF decay = linear THEN negative (0 : 50)",
                "OTHERWISE negative (50 : 150)",
            ]
        );
        assert!(list.probability(&[0.0, 0.9]) > 0.97);
        assert!(list.probability(&[0.0, 0.1]) < 0.02);
        assert!(list.probability(&[1.0, 0.9]) < 0.02);
        assert_eq!(list.probability(&[]), 51.0 / 202.0);
    }

    #[test]
    fn little_or_one_class_gives_the_default() {
        let settings = RuleSettings::default();
        let mut few = dataset();
        few.examples.truncate(3);
        let list = RuleList::learn(&few, &settings);
        assert_eq!(list.describe(&attributes()), ["OTHERWISE negative (0 : 3)"]);
        let mut broken = dataset();
        broken
            .examples
            .iter_mut()
            .for_each(|example| example.values[0] = 7.0);
        assert_eq!(
            RuleList::learn(&broken, &settings).probability(&[0.0, 0.0]),
            0.5
        );
        assert_eq!(
            RuleList::learn(&Dataset::default(), &settings)
                .rules()
                .len(),
            1
        );
    }

    #[test]
    fn a_hostile_file_is_refused() {
        let last = Counts::default().rule(Vec::new());
        let with = |attribute, test| {
            let rule = Counts::default().rule(vec![Condition { attribute, test }]);
            RuleList {
                rules: vec![rule, last.clone()],
            }
            .check(&attributes())
        };
        assert_eq!(with(0, Test::Is(1)), Ok(()));
        assert_eq!(with(1, Test::AtMost(0.5)), Ok(()));
        assert!(with(0, Test::Is(2)).is_err());
        assert!(with(0, Test::AtMost(0.5)).is_err());
        assert!(with(1, Test::Is(0)).is_err());
        assert!(with(1, Test::AtLeast(f64::NAN)).is_err());
        assert!(with(2, Test::AtLeast(0.0)).is_err());
        assert!(RuleList { rules: Vec::new() }.check(&attributes()).is_err());
        assert!(
            RuleList {
                rules: vec![last.clone(), last]
            }
            .check(&attributes())
            .is_err()
        );
    }
}
