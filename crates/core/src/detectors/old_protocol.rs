//! A browser's name, and HTTP/1.0.
//!
//! # Why it matters
//! No browser has spoken HTTP/1.0 by itself for decades; simple programs and scanners do, under any name.
//!
//! # When it is wrong
//! An old proxy may speak HTTP/1.0 for the people behind it; they load pages with their parts, which speaks for them. Where a
//! proxy before the site speaks so for everybody, the rule is silent.

use super::Detector;
use super::Family;
use super::Spec;
use super::percent;
use super::settings;
use crate::evidence::Context;
use crate::evidence::Gap;
use crate::evidence::Outcome;
use crate::profile::Profile;

pub(super) const SPEC: Spec = Spec::of::<OldProtocol>(
    "old_protocol",
    Family::Headers,
    None,
    include_str!("old_protocol.rs"),
);

settings! {
    OldProtocol {
        /// Stay silent below this many requests.
        requests_min: u32 = 3,
        /// Share of requests by HTTP/1.0 from which it points to a crawler.
        share_min: f64 = 0.9,
        /// Pages from which it weighs more that no part of them was loaded.
        bare_pages: u32 = 5,
        /// Share of the site's sources that speak so from which the rule is silent.
        site_max: f64 = 0.2,
    }
}

/// What HTTP/1.0 under a browser's name is worth, and beside pages without parts. It may come from an old proxy: 6 to 1.
const DECIBANS: f64 = 8.0;
const DECIBANS_BARE: f64 = 12.0;

/// A browser keeps to the version of HTTP that it speaks.
fn changes_version(profile: &Profile, share: f64) -> Outcome {
    Outcome::learned(
        DECIBANS_CHANGES,
        format!(
            "{} of its {} requests use HTTP/1.0 and the others a later version; a browser keeps to one",
            profile.oddities().old_protocol,
            profile.requests
        ),
        &[("share", share)],
    )
}

/// What it is worth to change between versions.
const DECIBANS_CHANGES: f64 = 7.0;

impl Detector for OldProtocol {
    fn evaluate(&self, profile: &Profile, context: &Context<'_>) -> Outcome {
        if !context.site.tells_protocol() {
            return Outcome::Abstain(Gap::NotLogged("the version of HTTP is"));
        }
        if profile.requests < self.requests_min {
            return Outcome::Abstain(Gap::TooFew {
                what: "requests",
                have: profile.requests,
                need: self.requests_min,
            });
        }
        let share = f64::from(profile.oddities().old_protocol) / f64::from(profile.requests);
        let is_browser = profile.browsers * 2 > profile.agents_logged;
        let is_bare = profile.loads_nothing();
        if is_bare && is_browser && profile.oddities().old_protocol > 0 && share < self.share_min {
            return changes_version(profile, share);
        }
        if share < self.share_min || !is_browser {
            return Outcome::Clear(share);
        }
        let customs = context.site.customs();
        if customs.old_protocol as f64 > self.site_max * customs.sources as f64 {
            return Outcome::Abstain(Gap::NoContrast(
                "many sources of this site speak HTTP/1.0: a proxy before the site may do so for them",
            ));
        }
        let why = format!(
            "{} of its {} requests came by HTTP/1.0, which the browser it names does not speak",
            percent(share),
            profile.requests
        );
        // A proxy that speaks so for people loads what they see.
        let is_bare = profile.assets == 0 && profile.pages >= self.bare_pages;
        let decibans =
            match is_bare && context.site.has_parts() && !context.has_text_browser(profile) {
                true => DECIBANS_BARE,
                false => DECIBANS,
            };
        Outcome::learned(decibans, why, &[("share", share)])
    }
}
