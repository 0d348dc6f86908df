//! Whether a long session is a person's, and if not, what kind of crawler it is.

use std::sync::Arc;

use cattlegrid_learn::path_model::PathModel;
use cattlegrid_learn::path_model::PathRules;

use super::Cut;
use super::Entry;
use super::FEATURES;
use super::VALUE_NAMES;
use super::features::Measures;

/// Log-odds from which the default rule calls a long session a crawler's. To accuse a person is worse than to miss a crawler, which comes
/// again: chosen on worlds that were neither trained on nor reported.
pub const CALLED_FROM: f64 = 2.0;

/// What a crawler's path is like, numbered as in the paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathKind {
    /// Type 1: goes as deep as it can.
    DepthFirst,
    /// Type 2: takes all links of a page before those of the next.
    BreadthFirst,
    /// Type 3: takes links without regard to where they stand.
    RandomLike,
}

impl PathKind {
    /// All of them, in the order of their numbers.
    pub const ALL: [PathKind; 3] = [
        PathKind::DepthFirst,
        PathKind::BreadthFirst,
        PathKind::RandomLike,
    ];

    /// The paper's number of the type.
    pub fn number(self) -> usize {
        1 + self as usize
    }

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            PathKind::DepthFirst => "depth-first",
            PathKind::BreadthFirst => "breadth-first",
            PathKind::RandomLike => "random-like",
        }
    }
}

/// Where the parents of entries come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parents {
    /// From markers in the links.
    Markers,
    /// From referrers: weaker.
    Referrers,
}

/// Which rule judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// The paper's: a one-class machine on six features, and a C-SVC for the type.
    Paper,
    /// The default: machines and trees on all values.
    Default,
}

/// What a long session is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Verdict {
    /// `None` if it is a person's.
    pub kind: Option<PathKind>,
    /// How sure: above 0 towards a crawler. Log-odds by the default rule, distance from normal by the paper's.
    pub score: f64,
}

impl Verdict {
    /// Judges what was measured by rules that were learned.
    pub fn of(rules: &PathRules, rule: Rule, measures: &Measures) -> Verdict {
        let values = &measures.values;
        let (score, is_crawler) = match rule {
            Rule::Paper => {
                let decision = rules.normal.decision(&values[..FEATURES]);
                (-decision, decision < 0.0)
            }
            Rule::Default => {
                let odds = rules.abnormal.log_odds(values);
                (odds, odds >= CALLED_FROM)
            }
        };
        let kind = is_crawler.then(|| match rule {
            Rule::Paper => rules.paper_kinds.class(&values[..FEATURES]),
            Rule::Default => rules.kinds.class(values),
        });
        Verdict {
            kind: kind.and_then(|kind| PathKind::ALL.get(kind).copied()),
            score,
        }
    }
}

/// Judges long sessions by a model.
#[derive(Debug, Clone)]
pub struct Judge {
    model: Arc<PathModel>,
}

impl Judge {
    /// A judge, if the model looks at the values that this version measures.
    pub fn new(model: Arc<PathModel>) -> Result<Judge, String> {
        match model.values == VALUE_NAMES && model.paper_values == FEATURES {
            true => Ok(Judge { model }),
            false => Err(
                "the model was trained on other path values than this version measures: train it again with 'cattlegrid train --paths'"
                    .to_owned(),
            ),
        }
    }

    /// The sessions that the model was trained on, and that it can judge.
    pub fn cut(&self) -> Cut {
        Cut {
            gap_ms: u64::from(self.model.gap_seconds) * 1000,
            entries: self.model.entries,
        }
    }

    /// Judges one long session of one user, in order of time, by the default rule. `None` if it is not complete.
    pub fn judge(&self, entries: &[Entry], parents: Parents) -> Option<Verdict> {
        let cut = self.cut();
        if entries.len() != cut.entries {
            return None;
        }
        let measures = Measures::of(entries, &cut);
        Some(Verdict::of(self.rules(parents), Rule::Default, &measures))
    }

    /// The rules for parents of this origin.
    pub fn rules(&self, parents: Parents) -> &PathRules {
        match parents {
            Parents::Markers => &self.model.marked,
            Parents::Referrers => &self.model.referrers,
        }
    }
}
