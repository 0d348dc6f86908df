//! A gate before an old log: the policy, what is known, who is suspicious, and who has solved a challenge.

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use crate::policy::Asked;
use crate::policy::Clearance;
use crate::policy::Decided;
use crate::policy::Decision;
use crate::policy::Fingerprint;
use crate::policy::Limits;
use crate::policy::Place;
use crate::policy::Policy;
use crate::policy::Proof;
use crate::policy::Standing;
use crate::policy::Suspects;
use crate::policy::Tally;
use crate::profile::Content;
use crate::profile::Record;
use crate::profile::flag;
use crate::request::Source;

/// Clearances that are kept at most. Beyond, who solves a challenge meets another one.
const CLEARED_MAX: usize = 1 << 20;

/// What a visitor does who meets a challenge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Habit {
    /// Solves it, and comes again where it has to wait.
    Solves,
    /// Goes on without the page.
    Fails,
}

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answered {
    /// What the policy decided.
    pub decided: Decided,
    /// It was answered, at once or after a challenge.
    pub has_passed: bool,
    /// A challenge was solved for it.
    pub has_solved: bool,
}

/// A gate in rehearsal.
#[derive(Debug)]
pub struct Gate {
    /// The limits, and what was counted.
    pub policy: Policy,
    /// What is known.
    pub standing: Standing,
    /// Clients in whose visits something is suspicious.
    pub suspects: Suspects,
    /// Clearances by source and agent.
    cleared: HashMap<(Source, u32), Cleared, RandomState>,
    /// Clearances that were given out, which number them.
    clearances: u64,
}

#[derive(Debug, Clone, Copy)]
struct Cleared {
    id: u64,
    pages: u32,
    until: u32,
}

impl Gate {
    /// A gate with these limits that knows nothing, with room for so many sources.
    pub fn new(limits: Limits, sources_max: usize) -> Gate {
        Gate {
            // The seed does not matter: nobody can choose addresses for an old log.
            policy: Policy::new(limits, sources_max.max(1000), 0),
            standing: Standing::default(),
            suspects: Suspects::default(),
            cleared: HashMap::default(),
            clearances: 0,
        }
    }

    /// Decides about a request, and lets its sender do what it does.
    pub fn ask(&mut self, record: &Record, proof: Proof, habit: Habit) -> Answered {
        let source = record.source();
        let asked = Asked {
            content: match record.has(flag::PAGE) {
                true => Content::Page,
                false => Content::Part,
            },
            agent: record.agent,
            fingerprint: Fingerprint::of_record(record),
            rule: record.has(flag::ROBOTS).then_some(Decision::Pass),
            proof,
            clearance: self.clearance(source, record),
            is_suspicious: self.suspects.has(source, record.agent, record.time),
            ..Asked::page(source, record.time)
        };
        let decided = self.policy.decide(&asked, &self.standing);
        if let Some(seat) = &decided.seat {
            self.policy.count_shown(seat, record.time);
        }
        if record.has(flag::ASSET) {
            self.policy.count_part(source, record.agent);
        }
        let solves = habit == Habit::Solves && decided.decision == Decision::Challenge;
        if solves && record.has(flag::PAGE) {
            self.clear(&asked);
        }
        Answered {
            decided,
            has_passed: match decided.decision {
                Decision::Pass => true,
                // They come again a moment later.
                Decision::Throttle | Decision::Challenge => habit == Habit::Solves,
                Decision::Block => false,
            },
            has_solved: solves,
        }
    }

    /// Forgets suspicions and clearances that have ended.
    pub fn forget_ended(&mut self, now: u32) {
        self.suspects.forget_ended(now);
        self.cleared.retain(|_, cleared| now < cleared.until);
    }

    fn clearance(&self, source: Source, record: &Record) -> Option<Clearance> {
        let cleared = self.cleared.get(&(source, record.agent))?;
        (record.time < cleared.until).then_some(Clearance {
            id: cleared.id,
            pages: cleared.pages,
            place: Place::Home,
            // Nobody takes a harder challenge here: that is what a denial costs people.
            lifts_denial: false,
        })
    }

    /// Gives a new clearance, with a budget of its own. The page that was asked for is its first.
    fn clear(&mut self, asked: &Asked) {
        self.clearances += 1;
        let limits = &self.policy.limits;
        let given = self.policy.solutions(asked.source, asked.time).most();
        let cleared = Cleared {
            id: self.clearances,
            pages: limits.clearance_budget(given),
            until: asked
                .time
                .saturating_add(limits.clearance_hours.saturating_mul(3600)),
        };
        if self.cleared.len() >= CLEARED_MAX {
            self.forget_ended(asked.time);
        }
        if self.cleared.len() < CLEARED_MAX {
            self.cleared.insert((asked.source, asked.agent), cleared);
        }
        self.policy.count_solution(asked.source, asked.time);
        let tally = Tally::clearance(self.clearances);
        self.policy.counters.count(tally, asked.time, 1);
    }
}
