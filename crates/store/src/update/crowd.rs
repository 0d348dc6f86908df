//! Which sources are crowds of people behind one address, and how many pages such a source may ask for.
//!
//! An entry lifts a source above the limits for everybody else, so it must not be for sale. One browser's behaviour earns nothing: loading
//! the parts of pages, sending referrers and solving challenges are things that a crawler with a browser does, too. What a crowd shows and
//! a crawler would have to pay for is the shape of people's days over at least three of them, many browsers that share the traffic, and
//! pages that are asked for again and again by different visitors.

use cattlegrid_core::policy::DAY;
use cattlegrid_core::policy::Limits;
use cattlegrid_core::report::Crowd;
use cattlegrid_core::report::SourceReport;

use crate::entry::Entry;

/// Busy days that the evidence must span.
const DAYS_MIN: u32 = 3;
/// Decibans by which the shape alone must speak for people: as much as makes a verdict by itself.
const SHAPE_MAX: f64 = -6.0;
/// Browsers that must share the traffic.
const AGENTS_MIN: usize = 10;
/// The share of the traffic that one of them may have. Since browsers reduced their agents, half of a mobile network's visitors can send
/// the same one.
const TOP_AGENT_MAX: f64 = 0.5;
/// The share of requests that must come under a browser's agent.
const BROWSERS_MIN: f64 = 0.9;
/// The share of page requests that must be for pages asked for before: visitors who do not know of each other read the same pages. A
/// crawler that pretends to be many wastes as much of what it gets.
const REVISITS_MIN: f64 = 0.25;
/// Sessions that a crowd must have, where the log shows sessions.
const SESSIONS_MIN: u64 = 10;
/// Times `k2` that a first cap may be.
const FIRST_CAP: u32 = 2;
/// Seconds between two raises of a cap.
const RAISE_EVERY: u32 = 7 * DAY;

/// Why a source of people gets no entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gap {
    /// Nothing speaks against a crowd, but the evidence does not suffice yet, or it asks for no more than anybody may.
    NotYet,
    /// It is no crowd, as far as can be told.
    NoCrowd,
}

/// The crowd that a source of people is.
pub(super) fn crowd_of<'a>(source: &'a SourceReport, limits: &Limits) -> Result<&'a Crowd, Gap> {
    let Some(crowd) = &source.crowd else {
        return Err(Gap::NotYet);
    };
    let is_one_visitor = crowd.agents < AGENTS_MIN
        || crowd.top_agent > TOP_AGENT_MAX
        || crowd.browsers < BROWSERS_MIN
        || crowd
            .sessions
            .is_some_and(|sessions| sessions < SESSIONS_MIN);
    let revisits = 1.0 - crowd.distinct_pages as f64 / crowd.pages.max(1) as f64;
    if source.mixed || crowd.shape > SHAPE_MAX || is_one_visitor || revisits < REVISITS_MIN {
        return Err(Gap::NoCrowd);
    }
    let is_small = crowd.daily_pages() <= u64::from(limits.k2);
    if crowd.days < DAYS_MIN || is_small || limits.allow_pages_max <= limits.k2 {
        return Err(Gap::NotYet);
    }
    Ok(crowd)
}

/// The cap of a crowd, and since when it holds: its usual pages and a quarter, at first at most twice `k2`, then at most a quarter above the
/// cap of a week ago, never above the ceiling. What a source has had before its first entry was paid for with challenges: it must not set
/// what comes without. `known` is what was said of the source before, also where that no longer allows it: losing an entry must not be a way to a
/// higher one.
pub(super) fn cap(crowd: &Crowd, known: Option<&Entry>, limits: &Limits, now: u32) -> (u32, u32) {
    let most = limits.allow_pages_max;
    let wanted = quarter_more(u32::try_from(crowd.daily_pages()).unwrap_or(u32::MAX)).min(most);
    let before = known.and_then(|known| known.cap_since.map(|since| (known.cap, since)));
    match before {
        None => (wanted.min(limits.k2.saturating_mul(FIRST_CAP)), now),
        Some((cap, since)) if wanted > cap && now.saturating_sub(since) >= RAISE_EVERY => {
            (quarter_more(cap).min(wanted), now)
        }
        Some((cap, since)) => (cap.min(most), since),
    }
}

fn quarter_more(pages: u32) -> u32 {
    pages.saturating_add(pages / 4)
}

/// The evidence in a sentence.
pub(super) fn describe(crowd: &Crowd) -> String {
    format!(
        "a crowd: {} pages a day on {} days under at least {} browsers' agents, none with more than {:.0} % of the requests, in the rhythm of people",
        crowd.daily_pages(),
        crowd.days,
        crowd.agents,
        100.0 * crowd.top_agent
    )
}
