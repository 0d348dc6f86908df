//! Asks the policy about a request, and sets the terms of challenges.

use std::sync::atomic::Ordering;

use cattlegrid_core::policy;
use cattlegrid_core::policy::Asked;
use cattlegrid_core::policy::Decided;
use cattlegrid_core::policy::Decision;
use cattlegrid_core::policy::Place;
use cattlegrid_core::policy::Proof;
use cattlegrid_core::policy::Tally;
use cattlegrid_core::request::Source;

use super::Facts;
use crate::challenge::Clearance;
use crate::challenge::Suspicion;
use crate::challenge::Terms;
use crate::challenge::confirmation;
use crate::challenge::difficulty;
use crate::settings::Mode;
use crate::settings::defence::Defence;
use crate::settings::rules;
use crate::settings::rules::Ruled;
use crate::state::Gate;
use crate::state::Live;
use crate::state::gate::content;
use crate::state::log::Entry;
use crate::state::log::Outcome;

/// What was decided, and what is done.
#[derive(Debug)]
pub(crate) struct Judged {
    pub(crate) decided: Decided,
    /// What is done: in shadow mode everything passes.
    pub(crate) done: Decision,
    pub(crate) clearance: Option<Clearance>,
    /// The same as the policy saw it.
    pub(crate) used: Option<policy::Clearance>,
}

impl Judged {
    /// Writes the decision into a log entry.
    pub(crate) fn note(&self, entry: &mut Entry) {
        entry.outcome = Outcome::Decided(self.done, self.decided.reason);
        entry.would = (self.done != self.decided.decision).then_some(self.decided.decision);
        entry.entry = self.decided.entry;
        entry.clearance = self.used;
    }
}

impl Gate {
    /// Decides about a request.
    pub(crate) fn judge(&self, live: &Live, facts: &Facts<'_>) -> Judged {
        let visitor = facts.visitor();
        let subject = rules::Subject {
            path: facts.path(),
            has_query: facts.target.contains('?'),
            method: facts.method,
            headers: facts.headers,
            source: visitor.source,
        };
        let time = self.clock.at(facts.started);
        let clearance = self
            .challenger
            .find(facts.cookies(), &visitor, u64::from(time));
        let agent = match visitor.agent {
            b"" => 0,
            agent => live.recorder.agent(agent),
        };
        // Who shares an address with a crawler must not share a budget with it.
        let used = clearance.map(|clearance| {
            let used = clearance.used_by(visitor.source);
            match live.setup.defences.has(Defence::OwnBudget) {
                true => used,
                false => policy::Clearance {
                    id: visitor.source.value,
                    ..used
                },
            }
        });
        let is_unlimited = clearance.is_some() && !live.setup.defences.has(Defence::Budget);
        let rule = match is_unlimited {
            true => Some(Ruled::Owners(Decision::Pass)),
            false => live.setup.rules.decide(&subject, &live.setup.defences),
        };
        let asked = Asked {
            source: visitor.source,
            time,
            content: content(facts.method.as_str(), facts.target),
            is_counted: facts.is_counted,
            agent,
            rule: match rule {
                Some(Ruled::Owners(decision)) => Some(decision),
                Some(Ruled::Shipped) | None => None,
            },
            is_open: matches!(rule, Some(Ruled::Shipped)),
            user: None,
            proof: Proof::None,
            clearance: used,
            is_suspicious: self.suspects.load().has(visitor.source, agent, time),
        };
        let decided = live.policy.decide(&asked, &self.standing.load());
        let done = match live.setup.mode {
            Mode::Shadow => Decision::Pass,
            Mode::Enforce => decided.decision,
        };
        if decided.is_to_be_judged_now(&live.policy.limits) {
            self.has_crossed.store(true, Ordering::Relaxed);
        }
        if facts.is_counted {
            self.metrics.decided(done, decided.reason);
            if done != decided.decision {
                self.metrics.would(decided.decision);
            }
        }
        Judged {
            decided,
            done,
            clearance,
            used,
        }
    }

    /// The clearance that a request shows.
    pub(crate) fn clearance(&self, facts: &Facts<'_>) -> Option<Clearance> {
        let time = u64::from(self.clock.now());
        self.challenger
            .find(facts.cookies(), &facts.visitor(), time)
    }

    /// True where a clearance is good for another page of a source.
    pub(crate) fn is_good(&self, live: &Live, clearance: &Clearance, source: Source) -> bool {
        let used = clearance.used_by(source);
        live.policy.is_good(&used, self.clock.now(), 1)
    }

    /// The terms of a challenge for a source: the more pages it has asked for, the more it has solved and the more answers were wrong, the
    /// more work. Who has a clearance and came into another network confirms it by little.
    pub(crate) fn terms(&self, live: &Live, source: Source, known: Option<&Clearance>) -> Terms {
        let (time, limits) = (self.clock.now(), &live.policy.limits);
        let confirmed = known.filter(|known| {
            let home = policy::Clearance {
                place: Place::Home,
                ..known.used_by(source)
            };
            known.used_by(source) != home && live.policy.is_good(&home, time, 1)
        });
        let bits = match confirmed {
            Some(known) => confirmation(known.moves),
            None => {
                let suspicion = Suspicion {
                    pages: self.counters.look(Tally::source(source), time),
                    failures: self.counters.look(Tally::failures(source), time),
                    solutions: live.policy.solutions(source, time),
                };
                difficulty(&suspicion, limits.k1, limits.k2)
            }
        };
        let least = difficulty(&Suspicion::default(), 1, 1);
        Terms {
            bits: (bits + live.setup.challenge_bits)
                .saturating_sub(least)
                .max(1),
            confirms: confirmed.map(|known| known.id),
        }
    }

    /// Remembers an answer that no honest browser gives.
    pub(crate) fn count_failure(&self, source: Source) {
        self.counters
            .count(Tally::failures(source), self.clock.now(), 1);
    }
}
