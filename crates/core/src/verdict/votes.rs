//! The votes of the header heuristics, as the PubCrawl paper counts them.

use crate::detectors::VoteSet;
use crate::evidence::Gap;
use crate::evidence::Outcome;

/// How a set of heuristics voted: a majority of those that did not abstain. `None` where all abstained.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Votes {
    /// H1 to H4.
    pub former: Option<bool>,
    /// H5 to H7.
    pub new: Option<bool>,
    /// H1 to H7.
    pub combined: Option<bool>,
}

/// Votes as they come in.
#[derive(Debug, Default)]
pub(super) struct Ballots {
    /// (hits, votes) of the former and the new set.
    pub(super) sets: [(u32, u32); 2],
    /// Some rule other than that on names had enough to go on.
    pub(super) spoke: bool,
}

impl Ballots {
    pub(super) fn cast(&mut self, set: VoteSet, outcome: &Outcome) {
        if matches!(outcome, Outcome::Abstain(_)) {
            return;
        }
        self.spoke = true;
        let (hits, votes) = &mut self.sets[set as usize];
        *hits += u32::from(outcome.is_hit());
        *votes += 1;
    }

    pub(super) fn note_gap(&mut self, outcome: &Outcome) {
        // Something missing in the whole log is not the source's silence.
        self.spoke |= matches!(outcome, Outcome::Abstain(Gap::NoContrast(_)));
    }

    pub(super) fn votes(&self) -> Votes {
        // A tie is 'user'.
        let majority = |hits: u32, votes: u32| (votes > 0).then_some(hits * 2 > votes);
        let [former, new] = self.sets;
        Votes {
            former: majority(former.0, former.1),
            new: majority(new.0, new.1),
            combined: majority(former.0 + new.0, former.1 + new.1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn votes(former: (u32, u32), new: (u32, u32)) -> Votes {
        Ballots {
            sets: [former, new],
            spoke: true,
        }
        .votes()
    }

    #[test]
    fn a_vote_needs_more_than_half_of_those_that_spoke() {
        assert_eq!(
            votes((2, 4), (0, 0)),
            Votes {
                former: Some(false),
                new: None,
                combined: Some(false)
            }
        );
        assert_eq!(
            votes((3, 4), (0, 3)),
            Votes {
                former: Some(true),
                new: Some(false),
                combined: Some(false)
            }
        );
        assert_eq!(
            votes((1, 1), (1, 2)),
            Votes {
                former: Some(true),
                new: Some(false),
                combined: Some(true)
            }
        );
        assert_eq!(votes((0, 0), (0, 0)), Votes::default());
    }
}
