//! A new session for nearly every page.
//!
//! # Why it matters
//! A browser keeps the session cookie it was given. A crawler without a cookie store gets a new session with every request.
//! (PubCrawl, 3.1: H4.)
//!
//! # When it is wrong
//! People who refuse cookies look the same. Behind one address many people open many sessions, but each of them then
//! reads several pages. Only logs with the session cookie can tell: `%{Cookie}i`, `$http_cookie`, `$cookie_NAME`.

use super::Detector;
use super::Family;
use super::Spec;
use super::VoteSet;
use super::percent;
use super::settings;
use crate::evidence::Context;
use crate::evidence::Gap;
use crate::evidence::Measure;
use crate::evidence::Outcome;
use crate::evidence::Toward;
use crate::profile::Profile;
use crate::profile::Sessions;

pub(super) const SPEC: Spec = Spec::of::<IgnoredCookies>(
    "ignored_cookies",
    Family::Headers,
    Some(VoteSet::Former),
    include_str!("ignored_cookies.rs"),
);

settings! {
    IgnoredCookies {
        /// Stay silent below this many page requests.
        pages_min: u32 = 10,
        /// Share of new sessions above which it points to a crawler.
        new_max: f64 = 0.5,
        /// Share of new sessions up to which it points to people.
        people_to: f64 = 0.2,
        /// Share of the site's page requests that must bring a session for the site to have sessions at all.
        site_sessions_min: f64 = 0.05,
    }
}

impl Detector for IgnoredCookies {
    fn evaluate(&self, profile: &Profile, context: &Context<'_>) -> Outcome {
        let logged = profile.sessions().map_or(0, |sessions| sessions.logged);
        if logged == 0 && profile.pages > 0 {
            return Outcome::Abstain(Gap::NotLogged("the session cookie is"));
        }
        let enough = logged >= self.pages_min.max(2);
        let Some(sessions) = profile.sessions().filter(|_| enough) else {
            return Outcome::Abstain(Gap::TooFew {
                what: "page requests with a logged cookie",
                have: logged,
                need: self.pages_min,
            });
        };
        if !self.site_has_sessions(context) {
            return Outcome::Abstain(Gap::NoContrast("the site gives hardly anybody a session"));
        }
        let opened = opened(sessions);
        let share = share(sessions);
        let values = [
            ("new_session_share", share),
            ("sessions", opened as f64),
            ("pages", f64::from(logged)),
        ];
        if share > self.new_max {
            let why = format!(
                "it did not keep its session: {opened} sessions for {logged} page requests"
            );
            return Outcome::finding(Toward::Crawler, why, &values);
        }
        if share > self.people_to {
            return Outcome::Clear(share);
        }
        let why = format!(
            "it keeps its session: a new one in only {} of {logged} page requests",
            percent(share)
        );
        Outcome::finding(Toward::User, why, &values)
    }

    fn measures(&self, profile: &Profile, context: &Context<'_>) -> Vec<Measure> {
        let is_enough = |sessions: &&Sessions| sessions.logged >= self.pages_min.max(2);
        match profile.sessions().filter(is_enough) {
            Some(sessions) if self.site_has_sessions(context) => {
                vec![Measure::above("new_max", share(sessions))]
            }
            _ => Vec::new(),
        }
    }
}

impl IgnoredCookies {
    fn site_has_sessions(&self, context: &Context<'_>) -> bool {
        context.site.sessions as f64 >= self.site_sessions_min * context.site.pages as f64
    }
}

fn opened(sessions: &Sessions) -> u64 {
    // A request without a session opens one, and the next that keeps it shows its id: each is counted once.
    let opened = u64::from(sessions.empty).max(sessions.distinct.count());
    // The number of different ones is an estimate, and may be a little high.
    opened.min(u64::from(sessions.logged))
}

/// Share of page requests after the first that opened a session.
fn share(sessions: &Sessions) -> f64 {
    let others = sessions.logged.saturating_sub(1).max(1);
    (opened(sessions).saturating_sub(1) as f64 / f64::from(others)).min(1.0)
}
