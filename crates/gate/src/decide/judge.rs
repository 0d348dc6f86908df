//! Asks the policy about a request, and sets the terms of challenges.

use std::sync::atomic::Ordering;

use cattlegrid_core::paths::UserStanding;
use cattlegrid_core::policy;
use cattlegrid_core::policy::Asked;
use cattlegrid_core::policy::Decided;
use cattlegrid_core::policy::Decision;
use cattlegrid_core::policy::Fingerprint;
use cattlegrid_core::policy::Place;
use cattlegrid_core::policy::Proof;
use cattlegrid_core::policy::Tally;
use cattlegrid_core::profile::Content;
use cattlegrid_core::request::Source;

use super::Facts;
use super::Held;
use super::contain::accepts_html;
use crate::challenge::Clearance;
use crate::challenge::Suspicion;
use crate::challenge::Terms;
use crate::challenge::Visitor;
use crate::challenge::confirmation;
use crate::challenge::difficulty;
use crate::settings::Mode;
use crate::settings::defence::Defence;
use crate::settings::rules;
use crate::settings::rules::Ruled;
use crate::state::Gate;
use crate::state::Incident;
use crate::state::Live;
use crate::state::log::Entry;
use crate::state::log::Outcome;

/// Bits of work that a challenge behind a denial has more than another: 16 times as much.
const LIFTING_BITS: u8 = 4;
/// Bits of such a challenge at most: more would lock out slow phones.
const LIFTING_BITS_MAX: u8 = 20;

/// What was decided, and what is done.
#[derive(Debug)]
pub(crate) struct Judged {
    pub(crate) decided: Decided,
    /// What is done: in shadow mode everything passes.
    pub(crate) done: Decision,
    /// What would have been done otherwise.
    would: Option<Decision>,
    pub(crate) clearance: Option<Clearance>,
    /// The same as the policy saw it.
    pub(crate) used: Option<policy::Clearance>,
    /// What the request counted as.
    content: Content,
    /// Hash of the user agent.
    agent: u32,
    fingerprint: Option<Fingerprint>,
    /// The number of a refusal.
    pub(crate) incident: Option<Incident>,
    /// It may wait for its turn instead of being refused.
    pub(crate) held: Option<Held>,
}

impl Judged {
    /// Writes the decision into a log entry.
    pub(crate) fn note(&self, entry: &mut Entry) {
        entry.outcome = Outcome::Decided(self.done, self.decided.reason);
        entry.would = self.would;
        entry.entry = self.decided.entry;
        entry.clearance = self.used;
        entry.content = self.content;
        entry.agent = self.agent;
        entry.seat = self.decided.seat;
        entry.fleet = self.decided.fleet;
        entry.crawler = self.decided.crawler;
        entry.is_repeat = self.decided.is_repeat;
        if let Some(fingerprint) = &self.fingerprint {
            entry.contradictions = fingerprint.contradictions;
        }
        entry.incident = self.incident;
    }
}

/// What rules say about a request.
pub(super) fn ruled(live: &Live, facts: &Facts<'_>, source: Source) -> Option<Ruled> {
    let subject = rules::Subject {
        path: facts.path(),
        has_query: memchr::memchr(b'?', facts.target.as_bytes()).is_some(),
        method: facts.method,
        headers: facts.headers,
        source,
    };
    live.setup.rules.decide(&subject, &live.setup.defences)
}

/// What would be done about a signed-in person who is only watched.
fn would(standing: UserStanding) -> Option<Decision> {
    match standing {
        UserStanding::Normal => None,
        UserStanding::Suspect(_) => Some(Decision::Challenge),
        UserStanding::Throttled(_) => Some(Decision::Throttle),
    }
}

/// The number of a refusal.
fn incident(asked: &Asked, decided: &Decided) -> Incident {
    let why = (decided.reason.name(), decided.entry);
    Incident::of(asked.source, why, asked.time)
}

/// The clearance as the policy sees it. Who shares an address with a crawler must not share a budget with it.
fn used(live: &Live, clearance: Clearance, source: Source) -> policy::Clearance {
    let used = clearance.used_by(source);
    match live.setup.defences.has(Defence::OwnBudget) {
        true => used,
        false => policy::Clearance {
            id: source.value,
            ..used
        },
    }
}

/// The agent as records name it.
fn agent(live: &Live, visitor: &Visitor<'_>) -> u32 {
    match visitor.agent {
        b"" => 0,
        agent => live.recorder.agent(agent),
    }
}

/// Counts a request for the group of its client where the gate does not see the response: by its name, and as a page only where the client
/// wants HTML. Data for programs often has names like pages.
fn count_untold(live: &Live, facts: &Facts<'_>, asked: &Asked, decided: &Decided) {
    match (asked.content, &decided.seat) {
        (Content::Part, _) => live.policy.count_part(asked.source, asked.agent),
        (_, Some(seat)) if accepts_html(facts.headers) => {
            live.policy.count_shown(seat, asked.time);
        }
        _ => {}
    }
}

impl Gate {
    /// Decides about a request. [`Gate::count`] follows, unless it waits and is decided about again.
    pub(crate) fn judge(&self, live: &Live, facts: &Facts<'_>) -> Judged {
        let visitor = facts.visitor();
        let time = self.clock.at(facts.started + facts.waited);
        let clearance = self
            .challenger
            .find(facts.cookies(), &visitor, u64::from(time));
        let agent = agent(live, &visitor);
        let used = clearance.map(|clearance| used(live, clearance, visitor.source));
        let is_unlimited = clearance.is_some() && !live.setup.defences.has(Defence::Budget);
        let rule = match is_unlimited {
            true => Some(Ruled::Owners(Decision::Pass)),
            false => ruled(live, facts, visitor.source),
        };
        let claim = self.claim(live, facts, (visitor.source, clearance.as_ref()), time);
        let (standing, watched) = self.standing_of(live, facts);
        let asked = Asked {
            source: visitor.source,
            time,
            content: claim.content,
            is_counted: facts.is_counted,
            agent,
            fingerprint: self.fingerprint(live, facts, (agent, claim.content)),
            rule: match rule {
                Some(Ruled::Owners(decision)) => Some(decision),
                Some(Ruled::Shipped) | None => None,
            },
            is_open: matches!(rule, Some(Ruled::Shipped)),
            user: facts.user,
            standing,
            proof: claim.proof,
            target: match claim.proof {
                // With its method: what was only sent or looked at has not been read yet.
                Proof::Declared(_) => {
                    let method = facts.method.as_str();
                    self.counters.hash((method, facts.host, facts.target))
                }
                _ => 0,
            },
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
        if facts.is_counted && !facts.shows_response() {
            count_untold(live, facts, &asked, &decided);
        }
        Judged {
            would: match done == decided.decision {
                true => watched,
                false => Some(decided.decision),
            },
            held: self.held(live, facts, &decided),
            decided,
            done,
            clearance,
            used,
            content: claim.content,
            agent,
            fingerprint: asked.fingerprint,
            incident: match done {
                Decision::Block | Decision::Throttle => Some(incident(&asked, &decided)),
                Decision::Pass | Decision::Challenge => None,
            },
        }
    }

    /// Counts a decision that is carried out.
    pub(crate) fn count(&self, facts: &Facts<'_>, judged: &Judged) {
        let Judged { done, decided, .. } = judged;
        if facts.is_counted {
            self.metrics.decided(*done, decided.reason);
            if let Some(would) = judged.would {
                self.metrics.would(would);
            }
        }
    }

    /// How a signed-in person is treated by what was seen of the path; or what would be done, where that is only watched. Whoever is only watched
    /// keeps the limits of everybody.
    fn standing_of(&self, live: &Live, facts: &Facts<'_>) -> (UserStanding, Option<Decision>) {
        let setup = &live.setup;
        let is_on = setup.paths.is_on && setup.defences.has(Defence::UserPaths);
        let user = facts.user.filter(|_| is_on);
        let standing = user.map_or(UserStanding::Normal, |user| self.users.standing(user));
        match setup.paths.acts && setup.mode == Mode::Enforce {
            true => (standing, None),
            false => (UserStanding::Normal, would(standing)),
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
        let is_held_up =
            self.can_be_lifted(source) && !(used.lifts_denial && used.place == Place::Home);
        !is_held_up && live.policy.is_good(&used, self.clock.now(), 1)
    }

    /// True for a source that is denied by what the program found out: a person there can lift it by a harder challenge.
    pub(crate) fn can_be_lifted(&self, source: Source) -> bool {
        let ruling = self.standing.load().ruling(source, 0, self.clock.now());
        ruling.is_some_and(|ruling| ruling.can_be_lifted())
    }

    /// The terms of a challenge for a source: the more pages it has asked for, the more it has solved and the more answers were wrong, the
    /// more work. Who has followed traps does more, too. Who has a clearance and came into another network confirms it by little. A denial is
    /// lifted by much more.
    pub(crate) fn terms(
        &self,
        live: &Live,
        visitor: &Visitor<'_>,
        known: Option<&Clearance>,
    ) -> Terms {
        let (time, limits) = (self.clock.now(), &live.policy.limits);
        let (source, agent) = (visitor.source, agent(live, visitor));
        let lifts_denial = self.can_be_lifted(source);
        let confirmed = known.filter(|known| {
            let home = policy::Clearance {
                place: Place::Home,
                ..known.used_by(source)
            };
            !lifts_denial && known.used_by(source) != home && live.policy.is_good(&home, time, 1)
        });
        let bits = match confirmed {
            Some(known) => confirmation(known.moves),
            None => {
                let suspicion = Suspicion {
                    // The pages of a denied source are those of the crawler there, not of the person.
                    pages: match lifts_denial {
                        true => 0,
                        false => self.counters.look(Tally::source(source), time),
                    },
                    failures: self.counters.look(Tally::failures(source), time),
                    solutions: live.policy.solutions(source, time),
                    has_followed_traps: self.suspects.load().has_trapped(source, agent, time),
                };
                difficulty(&suspicion, limits.k1, limits.k2)
            }
        };
        let least = difficulty(&Suspicion::default(), 1, 1);
        let bits = (bits + live.setup.challenge_bits).saturating_sub(least);
        let (bits, lifted_pages) = match lifts_denial {
            true => (
                (bits + LIFTING_BITS).min(LIFTING_BITS_MAX),
                limits.lifted_budget(),
            ),
            false => (bits, 0),
        };
        Terms {
            bits: bits.max(1),
            confirms: confirmed.map(|known| known.id),
            lifted_pages,
            suspect: None,
        }
    }

    /// Seconds in which the answer of a source to a new question can count.
    pub(crate) fn question_wait(&self, live: &Live, source: Source) -> u32 {
        let wait = live.policy.question_wait(source, self.clock.now());
        wait.max(live.policy.limits.question_seconds)
    }

    /// Remembers an answer that no honest browser gives.
    pub(crate) fn count_failure(&self, source: Source) {
        self.counters
            .count(Tally::failures(source), self.clock.now(), 1);
    }
}
