//! `Sec-Fetch-Site`, `-Mode` and `-Dest` that contradict the referrer or each other, or are missing.
//!
//! # Why it matters
//! Browsers state in these fields where a request comes from and what it is for; scripts cannot change them. Programs that copy them
//! from one request of a browser send them with every request: `Sec-Fetch-Site: none` (typed, or a bookmark) beside a referrer of this
//! site, `same-origin` beside a referrer of another site, a navigation to an image. Chrome since version 80, Firefox since 90 and Safari
//! since 16.4 send the fields with every request over TLS.
//!
//! # When it is wrong
//! Extensions that change the referrer (to read articles behind a paywall, or for privacy) cause contradictions, and some proxies of
//! companies and virus scanners remove fields that they do not know. Browsers derived from old versions of Firefox claim a newer
//! version. Without TLS no browser sends the fields: the detector ignores missing fields unless most sources with such browsers send
//! them, and it abstains where many sources contradict, as where the log names another host than the visitors use. It is too weak for a
//! verdict.

use super::Detector;
use super::Family;
use super::Spec;
use super::missing_field;
use super::percent;
use super::settings;
use crate::evidence::Context;
use crate::evidence::Gap;
use crate::evidence::Outcome;
use crate::profile::Fetch;
use crate::profile::Profile;

pub(super) const SPEC: Spec = Spec::of::<FetchMetadata>(
    "fetch_metadata",
    Family::Headers,
    None,
    include_str!("fetch_metadata.rs"),
);

settings! {
    FetchMetadata {
        /// Stay silent below this many contradictions, or page requests without the fields.
        requests_min: u32 = 4,
        /// Share of its page requests that contradict from which it points to a crawler.
        share_min: f64 = 0.5,
        /// Share of its page requests without the fields from which it points to a crawler.
        missing_min: f64 = 0.9,
        /// Share of the site's sources with such browsers that must send the fields for their absence to count.
        site_min: f64 = 0.5,
        /// Share of the site's sources that contradict from which contradictions do not count.
        site_max: f64 = 0.2,
    }
}

/// Contradictions, what they are worth and how they read. Extensions cause some of the first two; nothing known causes the last.
const CONTRADICTIONS: [(Fetch, f64, &str); 3] = [
    (
        Fetch::NoSite,
        6.0,
        "send Sec-Fetch-Site: none beside a referrer of this site",
    ),
    (
        Fetch::OtherSite,
        7.0,
        "send Sec-Fetch-Site: same-origin or same-site beside a referrer of another site",
    ),
    (
        Fetch::Destination,
        8.0,
        "send a Sec-Fetch-Dest that does not go with their Sec-Fetch-Mode",
    ),
];

impl Detector for FetchMetadata {
    fn evaluate(&self, profile: &Profile, context: &Context<'_>) -> Outcome {
        let logged = profile.signs().filter(|signs| signs.fetch_judged() > 0);
        let Some(signs) = logged else {
            return Outcome::Abstain(Gap::NotKnown(
                "no page request of a known browser with logged Sec-Fetch fields",
            ));
        };
        let judged = signs.fetch_judged();
        if judged < self.requests_min {
            return Outcome::Abstain(Gap::TooFew {
                what: "page requests of a known browser",
                have: judged,
                need: self.requests_min,
            });
        }
        let habits = context.site.customs().headers;
        let missing = signs.fetch(Fetch::Missing);
        let share = f64::from(missing) / f64::from(judged);
        let is_custom = habits
            .fetch
            .share()
            .is_some_and(|sent| sent >= self.site_min);
        if share >= self.missing_min && is_custom {
            let why = format!(
                "{} of its {judged} page requests lack the Sec-Fetch fields that its browser always sends over TLS, and that most sources send here",
                percent(share)
            );
            return Outcome::learned(missing_field(profile), why, &[("missing", share)]);
        }
        let odd = judged - missing - signs.fetch(Fetch::Sent);
        let share = f64::from(odd) / f64::from(judged);
        if odd < self.requests_min || share < self.share_min {
            return Outcome::Clear(share);
        }
        if habits
            .fetch_odd
            .share()
            .is_none_or(|odd| odd > self.site_max)
        {
            return Outcome::Abstain(Gap::NoContrast(
                "too few sources to compare with, or the Sec-Fetch fields of many contradict their referrers here",
            ));
        }
        // What most of them do; of equals the stronger.
        let most = CONTRADICTIONS
            .iter()
            .max_by_key(|(sign, _, _)| signs.fetch(*sign));
        most.map_or(Outcome::Clear(share), |(_, decibans, what)| {
            let why = format!("{} of its {judged} page requests {what}", percent(share));
            Outcome::learned(*decibans, why, &[("contradicting", share)])
        })
    }
}
