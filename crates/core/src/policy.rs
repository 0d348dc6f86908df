//! What happens to a request: a pure function over the request's facts, what was counted, what is known, and the limits.
//!
//! The live gate, a replay and `plan` ask the same code. It does no input or output and knows no clock but the request's.

mod counters;
mod limits;
mod standing;

pub use counters::Counters;
pub use counters::DAY;
pub use counters::Tally;
pub use limits::Limits;
pub use standing::Action;
pub use standing::Ruling;
pub use standing::Standing;

use std::io::Read;
use std::sync::Arc;

use crate::request::Source;

/// What happens to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Decision {
    /// It is answered.
    Pass,
    /// It must wait.
    Throttle,
    /// Its sender must show that it is no crawler.
    Challenge,
    /// It is refused.
    Block,
}

impl Decision {
    /// The name in reports and settings.
    pub fn name(self) -> &'static str {
        match self {
            Decision::Pass => "pass",
            Decision::Throttle => "throttle",
            Decision::Challenge => "challenge",
            Decision::Block => "block",
        }
    }
}

/// Why it happens, in the order in which reasons are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// A rule of the owner for this path, method or agent.
    OwnersRule,
    /// An entry of the owner in the knowledge base.
    OwnersEntry,
    /// The sender is signed in.
    SignedIn,
    /// The sender is signed in, and asks for more than a person does.
    SignedInTooFast,
    /// A robot that has proven who it is.
    Proven,
    /// A robot's name that its address disproves.
    Disproved,
    /// An entry in the knowledge base.
    Entry,
    /// The sender has shown lately that it is no crawler.
    Cleared,
    /// Something in the session is suspicious.
    Suspicious,
    /// More pages in a day than the first limit.
    ManyPages,
    /// More pages in a day than the second limit: it is to be judged, and no verdict is known.
    TooManyPages,
    /// More pages in a day from its network than a network may ask for.
    ManyPagesOfNetwork,
    /// More pages in a day from those it belongs to.
    ManyPagesOfGroup,
    /// Nothing is known, and it asks for few pages.
    FewPages,
}

impl Reason {
    /// All reasons, in the order of their numbers.
    pub const ALL: [Reason; 14] = [
        Reason::OwnersRule,
        Reason::OwnersEntry,
        Reason::SignedIn,
        Reason::SignedInTooFast,
        Reason::Proven,
        Reason::Disproved,
        Reason::Entry,
        Reason::Cleared,
        Reason::Suspicious,
        Reason::ManyPages,
        Reason::TooManyPages,
        Reason::ManyPagesOfNetwork,
        Reason::ManyPagesOfGroup,
        Reason::FewPages,
    ];

    /// True where the pages of the source were counted: the owner's word, and who is signed in or proven, come before that.
    pub fn is_counted(self) -> bool {
        use Reason::*;
        matches!(
            self,
            Entry
                | Cleared
                | Suspicious
                | ManyPages
                | TooManyPages
                | ManyPagesOfNetwork
                | ManyPagesOfGroup
                | FewPages
        )
    }

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Reason::OwnersRule => "owners_rule",
            Reason::OwnersEntry => "owners_entry",
            Reason::SignedIn => "signed_in",
            Reason::SignedInTooFast => "signed_in_too_fast",
            Reason::Proven => "proven",
            Reason::Disproved => "disproved",
            Reason::Entry => "entry",
            Reason::Cleared => "cleared",
            Reason::Suspicious => "suspicious",
            Reason::ManyPages => "many_pages",
            Reason::TooManyPages => "too_many_pages",
            Reason::ManyPagesOfNetwork => "many_pages_of_network",
            Reason::ManyPagesOfGroup => "many_pages_of_group",
            Reason::FewPages => "few_pages",
        }
    }
}

/// Whether a robot is who it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Proof {
    /// It names no robot that could be proven.
    #[default]
    None,
    /// It is proven, and this is what the owner wants for it.
    Proven(Decision),
    /// It is somebody else.
    Disproved,
}

/// Facts of one request.
#[derive(Debug, Clone, Copy)]
pub struct Asked {
    /// Who asks.
    pub source: Source,
    /// Seconds since 1970.
    pub time: u32,
    /// It asks for a page: parts of pages and our own paths do not count.
    pub is_page: bool,
    /// Hash of the user agent, 0 where none was sent.
    pub agent: u32,
    /// What a rule of the owner says.
    pub rule: Option<Decision>,
    /// The signed-in person.
    pub user: Option<u64>,
    /// Whether a robot is who it says.
    pub proof: Proof,
    /// The number of a valid clearance. Its pages are counted here.
    pub clearance: Option<u64>,
    /// The session is suspicious, or a proof of being no crawler has failed.
    pub is_suspicious: bool,
}

impl Asked {
    /// A page request about which nothing is known but who sent it and when.
    pub fn page(source: Source, time: u32) -> Asked {
        Asked {
            source,
            time,
            is_page: true,
            agent: 0,
            rule: None,
            user: None,
            proof: Proof::None,
            clearance: None,
            is_suspicious: false,
        }
    }
}

/// A decision with its reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decided {
    /// What happens.
    pub decision: Decision,
    /// Why.
    pub reason: Reason,
    /// The entry of the knowledge base that says so.
    pub entry: Option<u64>,
    /// Pages asked for in the last day: by the source, or by those it is counted with.
    pub pages: u32,
    /// An allowed source has passed its cap, and is treated as an unknown one until it is below it again.
    pub is_over_cap: bool,
}

impl Decided {
    /// True for a source that asks for more than the second limit and of which nothing is known: models are to decide.
    pub fn is_to_be_judged(&self, limits: &Limits) -> bool {
        let is_unknown = matches!(self.reason, Reason::TooManyPages | Reason::Cleared);
        is_unknown && self.pages > limits.k2
    }

    fn by(decision: Decision, reason: Reason) -> Decided {
        Decided {
            decision,
            reason,
            entry: None,
            pages: 0,
            is_over_cap: false,
        }
    }
}

/// Decides about requests, and counts them. Threads share it.
#[derive(Debug)]
pub struct Policy {
    /// The limits.
    pub limits: Limits,
    /// Pages of the last day. They stay when limits change.
    pub counters: Arc<Counters>,
}

impl Policy {
    /// A policy that has counted nothing, with room for so many sources and the networks around them.
    pub fn new(limits: Limits, sources_max: usize, seed: u64) -> Policy {
        Policy {
            limits,
            counters: Arc::new(Policy::room(sources_max, seed)),
        }
    }

    /// Counters for so many sources and the networks around them.
    pub fn room(sources_max: usize, seed: u64) -> Counters {
        Counters::new(tallies_max(sources_max), seed)
    }

    /// Counters for so many sources with the counts that [`Counters::save`] has written, and how many there are.
    pub fn restore(
        sources_max: usize,
        input: &mut impl Read,
        now: u32,
    ) -> Result<(Counters, u64), String> {
        Counters::restore(tallies_max(sources_max), input, now)
    }

    /// Counts a request and decides about it.
    pub fn decide(&self, asked: &Asked, standing: &Standing) -> Decided {
        if let Some(decision) = asked.rule {
            return Decided::by(decision, Reason::OwnersRule);
        }
        let ruling = standing.ruling(asked.source, asked.agent, asked.time);
        if let Some(ruling) = ruling.filter(|ruling| ruling.is_owners) {
            return by_entry(ruling, Reason::OwnersEntry);
        }
        if let Some(user) = asked.user {
            return self.signed_in(user, asked);
        }
        match asked.proof {
            Proof::Proven(decision) => return Decided::by(decision, Reason::Proven),
            Proof::Disproved => return Decided::by(Decision::Challenge, Reason::Disproved),
            Proof::None => {}
        }
        if let Some(ruling) = ruling.filter(|ruling| ruling.action == Action::Deny) {
            return by_entry(ruling, Reason::Entry);
        }
        // Counted whatever comes: who solves challenges is judged above the second limit like anybody else.
        let allowed = ruling.filter(|ruling| ruling.action == Action::Allow);
        let Some(allowed) = allowed else {
            return match self.is_cleared(asked) {
                true => self.cleared(self.count(Tally::source(asked.source), asked)),
                false => self.by_volume(asked, ruling, self.count_with_network(asked)),
            };
        };
        let pages = self.count(Tally::source(asked.source), asked);
        if allowed.cap == 0 || pages <= allowed.cap {
            return Decided {
                pages,
                ..by_entry(allowed, Reason::Entry)
            };
        }
        let decided = match self.is_cleared(asked) {
            true => self.cleared(pages),
            false => {
                let network = asked.source.network().map(Tally::network);
                let of_network = network.map_or(0, |network| self.count(network, asked));
                self.by_volume(asked, ruling, [pages, of_network])
            }
        };
        Decided {
            is_over_cap: true,
            ..decided
        }
    }

    fn cleared(&self, pages: u32) -> Decided {
        Decided {
            pages,
            ..Decided::by(Decision::Pass, Reason::Cleared)
        }
    }

    /// Counts a request of a source, and of the network around it.
    fn count_with_network(&self, asked: &Asked) -> [u32; 2] {
        let source = Tally::source(asked.source);
        match asked.source.network().map(Tally::network) {
            Some(network) => {
                self.counters
                    .count_both([source, network], asked.time, u16::from(asked.is_page))
            }
            None => [self.count(source, asked), 0],
        }
    }

    /// Takes a page out of a clearance's budget, where there is a clearance with one left. What is no page takes nothing.
    fn is_cleared(&self, asked: &Asked) -> bool {
        let Some(tally) = asked.clearance.map(Tally::clearance) else {
            return false;
        };
        let budget = self.limits.clearance_pages;
        // Counted first and compared then: of two threads with the last page only one passes.
        match asked.is_page {
            true => self.counters.count(tally, asked.time, 1) <= budget,
            false => self.counters.look(tally, asked.time) < budget,
        }
    }

    fn signed_in(&self, user: u64, asked: &Asked) -> Decided {
        let pages = self.count(Tally::user(user), asked);
        let (decision, reason) = match pages > self.limits.user_pages {
            true => (Decision::Throttle, Reason::SignedInTooFast),
            false => (Decision::Pass, Reason::SignedIn),
        };
        Decided {
            pages,
            ..Decided::by(decision, reason)
        }
    }

    /// An unknown source, by what it and those around it have asked for.
    fn by_volume(
        &self,
        asked: &Asked,
        ruling: Option<Ruling>,
        [pages, of_network]: [u32; 2],
    ) -> Decided {
        let watched = ruling.filter(|ruling| ruling.action == Action::Watch);
        let of_group = watched.map_or(0, |ruling| self.count(Tally::entry(ruling.entry), asked));
        let limits = &self.limits;
        let (reason, pages) = if asked.is_suspicious {
            (Reason::Suspicious, pages)
        } else if pages > limits.k2 {
            (Reason::TooManyPages, pages)
        } else if pages > limits.k1 {
            (Reason::ManyPages, pages)
        } else if of_group > limits.k1 {
            (Reason::ManyPagesOfGroup, of_group)
        } else if of_network > limits.network_pages {
            (Reason::ManyPagesOfNetwork, of_network)
        } else {
            (Reason::FewPages, pages)
        };
        let decision = match reason {
            Reason::FewPages => Decision::Pass,
            _ => Decision::Challenge,
        };
        Decided {
            pages,
            entry: watched.map(|ruling| ruling.entry),
            ..Decided::by(decision, reason)
        }
    }

    fn count(&self, tally: Tally, asked: &Asked) -> u32 {
        self.counters
            .count(tally, asked.time, u16::from(asked.is_page))
    }
}

/// Sources, and the networks around them.
fn tallies_max(sources_max: usize) -> usize {
    sources_max + sources_max * 3 / 5
}

fn by_entry(ruling: Ruling, reason: Reason) -> Decided {
    let decision = match ruling.action {
        Action::Allow => Decision::Pass,
        Action::Deny => Decision::Block,
        Action::Watch => Decision::Challenge,
    };
    Decided {
        entry: Some(ruling.entry),
        ..Decided::by(decision, reason)
    }
}

#[cfg(test)]
mod tests;
