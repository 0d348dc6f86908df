//! The verdicts on one source's windows, and which of them is the source's.

use crate::profile::Profile;
use crate::report::AGENT_SHARE_MIN;
use crate::report::Crowd;
use crate::report::Lesson;
use crate::report::Manners;
use crate::report::Totals;
use crate::table::Window;
use crate::verdict::Class;
use crate::verdict::Verdict;

/// A verdict on one window with what the report says beside it.
pub(super) struct Trial {
    pub(super) window: Window,
    pub(super) verdict: Verdict,
    /// What tells a crowd from one visitor.
    pub(super) crowd: Option<Crowd>,
    pub(super) totals: Totals,
    pub(super) manners: Manners,
    pub(super) seen: (u32, u32),
    pub(super) agent: Option<u32>,
    pub(super) agents: usize,
    /// The robot that most of its requests name.
    pub(super) robot: Option<u16>,
    /// The values of its series, where they are kept.
    pub(super) shape: Option<Vec<f64>>,
    /// What rules measured and found, where it is kept.
    pub(super) lesson: Option<Lesson>,
}

impl Trial {
    pub(super) fn is_open(&self) -> bool {
        self.verdict.class == Class::Undecided
    }
}

/// True where no window is decided, or only windows with less than half of all requests, and for people.
pub(super) fn is_hardly_decided(trials: &[Trial]) -> bool {
    let requests = |trial: &Trial| trial.totals.requests;
    let decided = trials.iter().filter(|trial| !trial.is_open());
    let all: u64 = trials.iter().map(requests).sum();
    decided.clone().map(requests).sum::<u64>() * 2 < all
        && decided
            .into_iter()
            .all(|trial| trial.verdict.class == Class::User)
}

/// The window whose verdict is the source's.
///
/// The latest decided window that has at least a tenth of the busiest one's requests: one stray line must not outweigh a week of
/// traffic before it, and a good past buys nothing. But where later, quieter windows say the opposite, and there are several of them,
/// more than of its own kind, the latest of those speaks: a window does not count for more only because it was busier. Nor does one
/// good window make up for several in which it crawled.
pub(super) fn decisive(trials: &[Trial]) -> usize {
    let requests = trials.iter().map(|trial| trial.totals.requests);
    let busiest = requests.max().unwrap_or(0);
    let is_busy = |trial: &Trial| trial.totals.requests * 10 >= busiest;
    let Some(latest) = trials.iter().rposition(|trial| !trial.is_open()) else {
        return trials.len() - 1;
    };
    let busy = trials
        .iter()
        .rposition(|trial| !trial.is_open() && is_busy(trial))
        .unwrap_or(latest);
    let windows = |at: usize| {
        let class = trials[at].verdict.class;
        let same = trials.iter().filter(|trial| trial.verdict.class == class);
        same.count()
    };
    let quiet_ones_agree = windows(latest) > windows(busy).max(1);
    let chosen = if quiet_ones_agree { latest } else { busy };
    let is_crawler = |trial: &&Trial| trial.verdict.class == Class::Crawler;
    let crawled = trials.iter().filter(is_crawler).count();
    let is_good = trials[chosen].verdict.class == Class::User;
    if is_good && crawled >= CRAWLED_MIN && crawled > 2 * windows(chosen) {
        let last = trials.iter().rposition(|trial| is_crawler(&trial));
        return last.unwrap_or(chosen);
    }
    chosen
}

/// Windows in which a source crawled, from which one good window does not make up for them.
const CRAWLED_MIN: usize = 3;

/// What tells a crowd from one visitor, where the shape of the traffic says anything.
pub(super) fn crowd(profile: &Profile, verdict: &Verdict) -> Option<Crowd> {
    let mut evidence = verdict.evidence.iter();
    let shape = evidence.find(|item| item.detector == "traffic_shape")?;
    let logged = f64::from(profile.agents_logged.max(1));
    let sessions = profile.sessions().map(|sessions| sessions.distinct.count());
    Some(Crowd {
        shape: shape.weight,
        days: profile.bins.busy_days(),
        pages: u64::from(profile.pages),
        distinct_pages: profile.distinct_pages.count(),
        agents: profile
            .agents
            .with_at_least((logged * AGENT_SHARE_MIN).ceil() as u32),
        top_agent: f64::from(profile.agents.top_requests()) / logged,
        browsers: f64::from(profile.browsers) / logged,
        sessions: sessions.filter(|sessions| *sessions > 0),
        last_seen: profile.last_seen,
    })
}
