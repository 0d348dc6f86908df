//! What happens to a request: a pure function over the request's facts, what was counted, what is known, and the limits.
//!
//! The live gate, a replay and `plan` ask the same code. It does no input or output and knows no clock but the request's.

mod counters;
mod crawlers;
mod fingerprint;
mod fleets;
mod limits;
mod questions;
mod rates;
mod robots;
mod robots_txt;
mod standing;
mod suspects;
mod unforeseen;
mod users;

pub use counters::Counters;
pub use counters::DAY;
pub use counters::Tally;
pub use crawlers::Crawlers;
pub use crawlers::Looked;
pub use crawlers::Named;
pub use crawlers::Preset;
pub use crawlers::ROBOTS_TXT_ONLY;
pub use crawlers::Treatment;
pub use crawlers::Wishes;
pub use fingerprint::Claim;
pub use fingerprint::Fingerprint;
pub use fingerprint::Loader;
pub use fingerprint::PageRequest;
pub use fleets::Cause;
pub use fleets::Fleet;
pub use fleets::Seat;
pub use limits::Limits;
pub use robots_txt::ROBOTS_TXT_MAX;
pub use robots_txt::forbid;
pub use standing::Action;
pub use standing::Ruling;
pub use standing::Standing;
pub use suspects::Sign;
pub use suspects::Suspect;
pub use suspects::Suspects;
pub use unforeseen::Unforeseen;

use std::io::Read;
use std::sync::Arc;

use self::rates::Draw;
use crate::paths::UserStanding;
use crate::profile::Content;
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
    /// A shipped rule: what programs are meant to fetch.
    DefaultRule,
    /// The sender is signed in.
    SignedIn,
    /// The sender is signed in, and asks for more than a person does.
    SignedInTooFast,
    /// The sender is signed in, and its path through the site looks like a crawler's.
    SuspectUser,
    /// The same for the second time, and it asks for more than such a user may.
    ThrottledUser,
    /// A robot that has proven who it is.
    Proven,
    /// The same, and it asks for more pages in a day than the owner wants.
    ProvenTooMany,
    /// A robot by its own word, and this is what the owner wants for it.
    Declared,
    /// A robot's name that its address or its signature disproves.
    Disproved,
    /// A program that is no browser, within its limit.
    Tool,
    /// The same, and it asks for more.
    ToolTooMany,
    /// An entry in the knowledge base.
    Entry,
    /// The sender has shown lately that it is no crawler.
    Cleared,
    /// The same, but it asks faster than a person does.
    ClearedTooFast,
    /// Something in the session is suspicious, or traps were followed.
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
    pub const ALL: [Reason; 22] = [
        Reason::OwnersRule,
        Reason::OwnersEntry,
        Reason::DefaultRule,
        Reason::SignedIn,
        Reason::SignedInTooFast,
        Reason::SuspectUser,
        Reason::ThrottledUser,
        Reason::Proven,
        Reason::ProvenTooMany,
        Reason::Declared,
        Reason::Disproved,
        Reason::Tool,
        Reason::ToolTooMany,
        Reason::Entry,
        Reason::Cleared,
        Reason::ClearedTooFast,
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
                | Disproved
                | Tool
                | ToolTooMany
                | Cleared
                | ClearedTooFast
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
            Reason::DefaultRule => "default_rule",
            Reason::SignedIn => "signed_in",
            Reason::SignedInTooFast => "signed_in_too_fast",
            Reason::SuspectUser => "suspect_user",
            Reason::ThrottledUser => "throttled_user",
            Reason::Proven => "proven",
            Reason::ProvenTooMany => "proven_too_many",
            Reason::Declared => "declared",
            Reason::Disproved => "disproved",
            Reason::Tool => "tool",
            Reason::ToolTooMany => "tool_too_many",
            Reason::Entry => "entry",
            Reason::Cleared => "cleared",
            Reason::ClearedTooFast => "cleared_too_fast",
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
    /// It names no robot, or one about which nothing is known yet: a visitor like any other.
    #[default]
    None,
    /// It names a robot, and this is what the owner wants for that name, proven or not.
    Declared(Treatment),
    /// It is proven, and the owner lets it pass.
    Proven {
        /// Its number. Its pages are counted here.
        crawler: u64,
        /// How many there may be in a day.
        pages: u32,
    },
    /// It is somebody else.
    Disproved,
}

/// A valid clearance, and where it is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clearance {
    /// Its number. Its pages are counted here.
    pub id: u64,
    /// Pages it is good for.
    pub pages: u32,
    /// Where it is used.
    pub place: Place,
    /// It was earned by a harder challenge, behind a learned denial, and passes in spite of it.
    pub lifts_denial: bool,
}

/// Where a clearance is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In a network where it was earned or confirmed.
    Home,
    /// Elsewhere, after it was confirmed in other networks so many times.
    Away {
        /// How often it was confirmed.
        moves: u8,
    },
}

/// Facts of one request.
#[derive(Debug, Clone, Copy)]
pub struct Asked {
    /// Who asks.
    pub source: Source,
    /// Seconds since 1970.
    pub time: u32,
    /// What it asks for: parts of pages and our own paths do not count.
    pub content: Content,
    /// It counts: a question that is asked a second time does not.
    pub is_counted: bool,
    /// Hash of the user agent, 0 where none was sent.
    pub agent: u32,
    /// How its sender sends page requests.
    pub fingerprint: Option<Fingerprint>,
    /// What a rule of the owner says.
    pub rule: Option<Decision>,
    /// A shipped rule lets it pass, unless its source is denied.
    pub is_open: bool,
    /// The signed-in person, by a keyed hash of site and name.
    pub user: Option<u64>,
    /// How this person is treated.
    pub standing: UserStanding,
    /// Whether a robot is who it says.
    pub proof: Proof,
    /// Keyed hash of the target.
    pub target: u64,
    /// A valid clearance.
    pub clearance: Option<Clearance>,
    /// The session is suspicious, or a proof of being no crawler has failed.
    pub is_suspicious: bool,
}

impl Asked {
    /// A page request about which nothing is known but who sent it and when.
    pub fn page(source: Source, time: u32) -> Asked {
        Asked {
            source,
            time,
            content: Content::Page,
            is_counted: true,
            agent: 0,
            fingerprint: None,
            rule: None,
            is_open: false,
            user: None,
            standing: UserStanding::Normal,
            proof: Proof::None,
            target: 0,
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
    /// Seconds after which who must wait may come again.
    pub retry_after: u32,
    /// The group over its limit that its sender belongs to.
    pub fleet: Option<Fleet>,
    /// Where its page is counted once it has been shown: see [`Policy::count_shown`].
    pub seat: Option<Seat>,
    /// The robot that has proven to be its sender: see [`Policy::count_for_crawler`].
    pub crawler: Option<u64>,
    /// A program has asked for the same before.
    pub is_repeat: bool,
}

/// Seconds that who must wait waits, where nothing says for how long.
const RETRY_AFTER: u32 = 60;

impl Decided {
    /// True for a source that asks for more than the second limit and of which nothing is known: models are to decide.
    pub fn is_to_be_judged(&self, limits: &Limits) -> bool {
        let is_unknown = matches!(self.reason, Reason::TooManyPages | Reason::Cleared);
        is_unknown && self.pages > limits.k2
    }

    /// True for the request with which such a source crosses the second limit, or a further multiple of it: it is to be judged now.
    pub fn is_to_be_judged_now(&self, limits: &Limits) -> bool {
        self.is_to_be_judged(limits) && (self.pages - 1).is_multiple_of(limits.k2.max(1))
    }

    fn by(decision: Decision, reason: Reason) -> Decided {
        Decided {
            decision,
            reason,
            entry: None,
            pages: 0,
            is_over_cap: false,
            retry_after: RETRY_AFTER,
            fleet: None,
            seat: None,
            crawler: None,
            is_repeat: false,
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
        // To watch is to count: it decides nothing, whoever says so.
        let is_owners = |ruling: &Ruling| ruling.is_owners && ruling.action != Action::Watch;
        if let Some(ruling) = ruling.filter(is_owners) {
            return by_entry(ruling, Reason::OwnersEntry);
        }
        let is_denied = ruling.is_some_and(|ruling| ruling.action == Action::Deny);
        if asked.is_open && !is_denied {
            return Decided::by(Decision::Pass, Reason::DefaultRule);
        }
        if let Some(user) = asked.user {
            return self.signed_in(user, asked);
        }
        match asked.proof {
            Proof::Proven { crawler, pages } => return self.proven(crawler, pages, asked),
            Proof::Declared(Treatment::Refuse) => {
                return Decided::by(Decision::Block, Reason::Declared);
            }
            Proof::Declared(_) | Proof::Disproved | Proof::None => {}
        }
        if let Some(ruling) = ruling.filter(|ruling| ruling.action == Action::Deny) {
            return self.denied(asked, ruling);
        }
        // Counted whatever comes: who solves challenges is judged above the second limit like anybody else.
        let is_tool = matches!(
            asked.proof,
            Proof::Declared(Treatment::Allow | Treatment::Limit)
        );
        let repeats = match is_tool {
            true => self.repeats(asked),
            false => 0,
        };
        let new = match repeats {
            0 => self.weigh(asked),
            _ => 0,
        };
        let pages = self
            .counters
            .count(Tally::source(asked.source), asked.time, new);
        let allowed = ruling
            .filter(|ruling| ruling.action == Action::Allow && asked.proof != Proof::Disproved);
        if let Some(allowed) = allowed.filter(|allowed| allowed.cap == 0 || pages <= allowed.cap) {
            return Decided {
                pages,
                ..by_entry(allowed, Reason::Entry)
            };
        }
        let decided = match self.by_clearance(asked, new) {
            Some(cleared) => Decided { pages, ..cleared },
            None if is_tool => self.tool(asked, ruling, (pages, new), repeats),
            None => self.by_volume(asked, ruling, pages, new),
        };
        Decided {
            is_over_cap: allowed.is_some(),
            ..decided
        }
    }

    /// A source that an entry denies. A person among those it is about passes with a clearance that was earned there by a harder challenge.
    fn denied(&self, asked: &Asked, ruling: Ruling) -> Decided {
        let lifts =
            |clearance: &Clearance| clearance.lifts_denial && clearance.place == Place::Home;
        let refused = by_entry(ruling, Reason::Entry);
        if !ruling.can_be_lifted() || !asked.clearance.as_ref().is_some_and(lifts) {
            return refused;
        }
        let new = self.weigh(asked);
        let pages = self
            .counters
            .count(Tally::source(asked.source), asked.time, new);
        match self.by_clearance(asked, new) {
            Some(cleared) => Decided { pages, ..cleared },
            None => refused,
        }
    }

    /// Pages that a request counts as. Of documents some count as one together.
    fn weigh(&self, asked: &Asked) -> u16 {
        match asked.content {
            _ if !asked.is_counted => 0,
            Content::Page => 1,
            Content::Document => {
                u16::from(self.fills_a_page(Tally::documents(asked.source), asked.time))
            }
            Content::Part => 0,
        }
    }

    /// Counts a document. True for the one that makes a page with those before it.
    fn fills_a_page(&self, documents: Tally, time: u32) -> bool {
        let documents = self.counters.count(documents, time, 1);
        documents.is_multiple_of(self.limits.documents_per_page.max(1))
    }

    /// What a clearance says; nothing where there is none, or none that is good for another page here.
    fn by_clearance(&self, asked: &Asked, new: u16) -> Option<Decided> {
        let clearance = asked.clearance?;
        let (counters, time) = (&self.counters, asked.time);
        let spare = match asked.content {
            Content::Page | Content::Document => 1,
            // They belong to pages that were counted before.
            Content::Part => 0,
        };
        if !self.is_good(&clearance, time, spare) {
            return None;
        }
        let draw = match (new, asked.content) {
            (1.., _) => Some(Draw::Take),
            (0, Content::Page) => Some(Draw::Look),
            _ => None,
        };
        if let Some(draw) = draw
            && let Err(seconds) = counters
                .rates
                .draw(clearance.id, time, self.limits.pace(), draw)
        {
            return Some(Decided {
                retry_after: seconds,
                ..Decided::by(Decision::Throttle, Reason::ClearedTooFast)
            });
        }
        // Counted first and compared then: of two threads with the last page only one passes.
        let mut budgets = self.budgets(&clearance).into_iter().flatten();
        let passes = budgets.all(|(tally, most)| counters.count(tally, time, new) <= most);
        passes.then(|| Decided::by(Decision::Pass, Reason::Cleared))
    }

    /// True where a clearance is good for so many pages more where it is used.
    pub fn is_good(&self, clearance: &Clearance, time: u32, pages: u32) -> bool {
        let mut budgets = self.budgets(clearance).into_iter().flatten();
        budgets.all(|(tally, most)| self.counters.look(tally, time) + pages <= most)
    }

    /// What the pages of a clearance are counted by, and how many there may be: away from home first, so that what does not pass there
    /// takes nothing out of the budget.
    fn budgets(&self, clearance: &Clearance) -> [Option<(Tally, u32)>; 2] {
        let away = match clearance.place {
            Place::Home => None,
            Place::Away { moves } => Some((Tally::away(clearance.id, moves), self.limits.k1)),
        };
        let pages = clearance.pages.min(self.limits.clearance_pages);
        [away, Some((Tally::clearance(clearance.id), pages))]
    }

    /// Counts pages of an unknown source for the networks around it; gives the pages of the first one that has had too many.
    ///
    /// Only pages that pass are counted there, and a network that has had too many adds nothing to those around it: one customer of a
    /// provider uses up its own budget, not that of all the others.
    fn crowded(&self, source: Source, time: u32, new: u16) -> Option<u32> {
        source.networks().find_map(|network| {
            let pages = self.counters.count(Tally::network(network), time, new);
            (pages > self.limits.network_budget(network.length)).then_some(pages)
        })
    }

    /// Challenges that were solved in the last day around a source, as if it had solved them alone: those of its networks count less the
    /// more sources share them.
    pub fn solutions(&self, source: Source, time: u32) -> Solutions {
        let of_networks = source.networks().map(|network| {
            let solved = self.counters.look(Tally::network_solutions(network), time);
            solved / shared_by(network.length)
        });
        Solutions {
            of_source: self.counters.look(Tally::solutions(source), time),
            of_network: of_networks.max().unwrap_or(0),
        }
    }

    /// Counts a challenge that a source has solved.
    pub fn count_solution(&self, source: Source, time: u32) {
        self.counters.count(Tally::solutions(source), time, 1);
        for network in source.networks() {
            let tally = Tally::network_solutions(network);
            self.counters.count(tally, time, 1);
        }
    }

    /// Counts pages for those who are watched together, and gives their pages; 0 for a source that is not watched.
    fn count_group(&self, asked: &Asked, ruling: Option<Ruling>, new: u16) -> u32 {
        let watched = ruling.filter(|ruling| ruling.action == Action::Watch);
        watched.map_or(0, |ruling| {
            let group = Tally::entry(ruling.entry);
            self.counters.count(group, asked.time, new)
        })
    }

    /// An unknown source, by what it and those around it have asked for.
    fn by_volume(&self, asked: &Asked, ruling: Option<Ruling>, pages: u32, new: u16) -> Decided {
        let watched = ruling.filter(|ruling| ruling.action == Action::Watch);
        let of_group = self.count_group(asked, ruling, new);
        let limits = &self.limits;
        let (mut fleet, mut seat) = (None, None);
        let (reason, pages) = if asked.proof == Proof::Disproved {
            (Reason::Disproved, pages)
        } else if asked.proof == Proof::Declared(Treatment::Challenge) {
            (Reason::Declared, pages)
        } else if asked.is_suspicious {
            (Reason::Suspicious, pages)
        } else if pages > limits.k2 {
            (Reason::TooManyPages, pages)
        } else if pages > limits.k1 {
            (Reason::ManyPages, pages)
        } else if of_group > limits.k1 {
            (Reason::ManyPagesOfGroup, of_group)
        } else {
            // Before the network: what a fleet does not get does not count there.
            (fleet, seat) = self.fleet(asked, pages, new);
            match fleet {
                Some(fleet) => (Reason::ManyPagesOfGroup, fleet.pages),
                None => match self.crowded(asked.source, asked.time, new) {
                    Some(of_network) => (Reason::ManyPagesOfNetwork, of_network),
                    None => (Reason::FewPages, pages),
                },
            }
        };
        let decision = match reason {
            Reason::FewPages => Decision::Pass,
            _ => Decision::Challenge,
        };
        Decided {
            pages,
            entry: watched.map(|ruling| ruling.entry),
            fleet,
            seat: seat.filter(|_| reason == Reason::FewPages),
            ..Decided::by(decision, reason)
        }
    }
}

/// Challenges that were solved around a source in the last day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Solutions {
    /// By the source.
    pub of_source: u32,
    /// In the networks around it, for each as many as one source of an ordinary one would have solved.
    pub of_network: u32,
}

impl Solutions {
    /// The larger of both.
    pub fn most(self) -> u32 {
        self.of_source.max(self.of_network)
    }
}

/// Sources of an ordinary network of this length that solve challenges on the same day.
fn shared_by(length: u8) -> u32 {
    match length {
        32 => 256,
        40 => 64,
        56 => 2,
        _ => 4,
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
