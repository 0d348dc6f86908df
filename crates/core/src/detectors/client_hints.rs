//! `Sec-CH-UA`, `-Mobile` and `-Platform` that contradict the user agent, or are missing.
//!
//! # Why it matters
//! Chrome and its relatives state their brand, version and system again in these fields (client hints). A program that drives a browser
//! under another user agent often forgets them: the version or the system differs, the brand is `HeadlessChrome`, or a claimed Firefox
//! or Safari sends them at all. Chrome since version 89 sends them with every page it loads over TLS.
//!
//! # When it is wrong
//! Extensions that change the user agent leave the hints as they are: people use them to be offered another version of a site, and
//! developers to test one. Some browsers for privacy send no hints under the agent of Chrome. Apps and browsers with a name of their own
//! are not judged. Without TLS no browser sends hints: the detector ignores missing hints unless most sources with such browsers send
//! them. Except for the brand `HeadlessChrome`, which no browser in use has, it is too weak for a verdict.

use super::Detector;
use super::Family;
use super::Spec;
use super::missing_field;
use super::percent;
use super::settings;
use crate::evidence::Context;
use crate::evidence::Gap;
use crate::evidence::Outcome;
use crate::profile::Hints;
use crate::profile::Profile;

pub(super) const SPEC: Spec = Spec::of::<ClientHints>(
    "client_hints",
    Family::Headers,
    None,
    include_str!("client_hints.rs"),
);

settings! {
    ClientHints {
        /// Stay silent below this many contradictions, or page requests without hints.
        requests_min: u32 = 4,
        /// Share of its page requests that contradict from which it points to a crawler.
        share_min: f64 = 0.5,
        /// Share of its page requests without hints from which it points to a crawler.
        missing_min: f64 = 0.9,
        /// Share of the site's sources with such browsers that must send hints for their absence to count.
        site_min: f64 = 0.5,
        /// Share of the site's sources that contradict from which contradictions do not count.
        site_max: f64 = 0.2,
    }
}

/// Contradictions, what they are worth and how they read. Extensions that change the agent cause the first three.
const CONTRADICTIONS: [(Hints, f64, &str); 4] = [
    (
        Hints::System,
        6.0,
        "name another system in Sec-CH-UA-Platform or -Mobile than in the user agent",
    ),
    (
        Hints::Engine,
        6.0,
        "send Sec-CH-UA, which the browser in the user agent does not have",
    ),
    (
        Hints::Version,
        7.0,
        "name another version in Sec-CH-UA than in the user agent",
    ),
    (
        Hints::Headless,
        12.0,
        "name HeadlessChrome in Sec-CH-UA and another browser in the user agent",
    ),
];
/// Requests with the brand of a browser without a window from which they count.
const HEADLESS_MIN: u32 = 2;

impl Detector for ClientHints {
    fn evaluate(&self, profile: &Profile, context: &Context<'_>) -> Outcome {
        let logged = profile.signs().filter(|signs| signs.hints_judged() > 0);
        let Some(signs) = logged else {
            return Outcome::Abstain(Gap::NotKnown(
                "no page request of a known browser with logged Sec-CH-UA fields",
            ));
        };
        let judged = signs.hints_judged();
        let is_headless = signs.hints(Hints::Headless) >= HEADLESS_MIN;
        if judged < self.requests_min && !is_headless {
            return Outcome::Abstain(Gap::TooFew {
                what: "page requests of a known browser",
                have: judged,
                need: self.requests_min,
            });
        }
        let habits = context.site.customs().headers;
        let missing = signs.hints(Hints::Missing);
        let share = f64::from(missing) / f64::from(judged);
        let is_custom = habits
            .hints
            .share()
            .is_some_and(|sent| sent >= self.site_min);
        if share >= self.missing_min && is_custom {
            let why = format!(
                "{} of its {judged} page requests lack Sec-CH-UA, which its browser always sends over TLS, as most sources do here",
                percent(share)
            );
            return Outcome::learned(missing_field(profile), why, &[("missing", share)]);
        }
        let odd = judged - missing - signs.hints(Hints::Sent);
        let share = f64::from(odd) / f64::from(judged);
        let is_usual = odd >= self.requests_min || is_headless;
        if !is_usual || share < self.share_min {
            return Outcome::Clear(share);
        }
        // No proxy writes the headless brand, however few the visitors.
        let odd_here = habits.hints_odd.share();
        if !is_headless && odd_here.is_none_or(|odd| odd > self.site_max) {
            return Outcome::Abstain(Gap::NoContrast(
                "too few sources to compare with, or the client hints of many contradict their user agents here",
            ));
        }
        // What most of them do; of equals the stronger.
        let most = CONTRADICTIONS
            .iter()
            .max_by_key(|(sign, _, _)| signs.hints(*sign));
        most.map_or(Outcome::Clear(share), |(_, decibans, what)| {
            let why = format!("{} of its {judged} page requests {what}", percent(share));
            Outcome::learned(*decibans, why, &[("contradicting", share)])
        })
    }
}
