//! In which step of the log study a source is removed, and by what.

use std::collections::BTreeMap;

use cattlegrid_core::analysis::SecondLook;
use cattlegrid_core::policy::Action;
use cattlegrid_core::report::Judged;
use cattlegrid_core::request::Source;
use cattlegrid_core::verdict::Class;

use super::chances::is_named;

/// What becomes of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// Removed in step one, by what is known or what it says of itself: by this rule.
    One(&'static str),
    /// Removed in step two, by what it did: by this detector.
    Two(&'static str),
    /// Kept because a person or the knowledge base says so, whatever it did.
    Kept(&'static str),
    /// Kept by the verdict on it.
    Rest,
}

impl Step {
    /// How many of the steps a source survives: 0, 1 or 2.
    pub(crate) fn survived(self) -> usize {
        match self {
            Step::One(_) => 0,
            Step::Two(_) => 1,
            Step::Kept(_) | Step::Rest => 2,
        }
    }

    /// True for what both steps keep.
    pub fn is_kept(self) -> bool {
        self.survived() == 2
    }
}

/// A source that a person judged.
pub(crate) const JUDGED: &str = "judged by a person";
/// A source that the knowledge base allows or denies.
const KNOWN: &str = "knowledge base";

/// What a person said of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// It is a crawler.
    Crawler,
    /// It is a person, or people.
    Person,
}

/// Sorts sources into steps.
#[derive(Debug, Default)]
pub struct Steps {
    /// What the knowledge base says.
    known: BTreeMap<Source, Action>,
    /// What somebody judged who looked at the heaviest.
    words: BTreeMap<Source, Word>,
}

impl Steps {
    /// Takes what the knowledge base of a log says, and the judgements of a person.
    pub fn new(look: &SecondLook, first_time: u32, words: BTreeMap<Source, Word>) -> Steps {
        let known = |(source, _): (Source, &Judged)| {
            let ruling = look.ruling(source, first_time)?;
            (ruling.action != Action::Watch).then_some((source, ruling.action))
        };
        Steps {
            known: look.judged().iter().filter_map(known).collect(),
            words,
        }
    }

    /// What becomes of a source.
    pub fn of(&self, source: Source, judged: &Judged) -> Step {
        if !self.words.is_empty()
            && let Some(word) = self.words.get(&source)
        {
            return match word {
                Word::Crawler => Step::Two(JUDGED),
                Word::Person => Step::Kept(JUDGED),
            };
        }
        let step = by_verdict(judged);
        if self.known.is_empty() {
            return step;
        }
        match self.known.get(&source) {
            Some(Action::Deny) => Step::One(KNOWN),
            // Robots with a name are allowed, too, and stay robots. A tool that names itself now and then leaves an office its people.
            Some(Action::Allow) if !is_decided_by_name(judged) => Step::Kept(KNOWN),
            _ => step,
        }
    }
}

fn is_decided_by_name(judged: &Judged) -> bool {
    matches!(
        judged.decided_by,
        Some("declared_robot" | "claimed_operator")
    )
}

/// The study takes whoever fetches robots.txt for a crawler. Some people do, so that here the rest of the evidence must not speak against
/// it.
fn by_verdict(judged: &Judged) -> Step {
    let is_robot = matches!(judged.class, Class::Crawler | Class::Automated);
    if judged.class == Class::User {
        return Step::Rest;
    }
    if is_robot && is_named(judged) {
        return Step::One(match judged.weight("claimed_operator") > 0.0 {
            true => "claimed_operator",
            false => "declared_robot",
        });
    }
    if judged.weight("fetched_robots_txt") > 0.0 {
        return Step::One("fetched_robots_txt");
    }
    if !is_robot {
        return Step::Rest;
    }
    let mut findings = judged.findings.iter();
    let strongest = findings.find(|(_, weight)| *weight > 0.0);
    Step::Two(strongest.map_or("unnamed", |(detector, _)| *detector))
}

#[cfg(test)]
mod tests {
    use super::*;
    use cattlegrid_core::report::Band;

    #[test]
    fn who_is_allowed_is_kept_unless_its_name_decides() {
        let office = Source::of("192.0.2.1".parse().unwrap());
        let steps = Steps {
            known: BTreeMap::from([(office, Action::Allow)]),
            words: BTreeMap::new(),
        };
        let check = |decided_by: Option<&'static str>, expected: Step| {
            let judged = Judged {
                class: Class::Crawler,
                band: Band::of(Class::Crawler, None),
                decibans: 12.0,
                withheld: 0.0,
                decided_by,
                cause: None,
                mixed: false,
                findings: [("declared_robot", 12.0)].into(),
            };
            assert_eq!(steps.of(office, &judged), expected, "{decided_by:?}");
        };
        check(Some("identity"), Step::Kept(KNOWN));
        check(None, Step::Kept(KNOWN));
        check(Some("declared_robot"), Step::One("declared_robot"));
    }
}
