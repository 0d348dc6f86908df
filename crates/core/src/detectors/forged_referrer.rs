//! Referrers as no browser writes them.
//!
//! # Why it matters
//! A browser's referrer has a path, at least the slash after the host, and no `:80`. Programs that make up a referrer often send the
//! bare host, or the URL they request. After a redirect a browser still names the page with the link; some programs, Go's HTTP client
//! among them, name the address that redirected them.
//!
//! # When it is wrong
//! A page that sends the visitor back to itself after a form names itself; that happens now and then, not for most pages. Some apps
//! write a bare host when they open a link: once, not again and again, and they load the page's parts then. If the log records
//! referrers without paths, the detector ignores bare hosts.

use super::Detector;
use super::Family;
use super::Spec;
use super::percent;
use super::settings;
use crate::evidence::Context;
use crate::evidence::Gap;
use crate::evidence::Outcome;
use crate::profile::Profile;

pub(super) const SPEC: Spec = Spec::of::<ForgedReferrer>(
    "forged_referrer",
    Family::Headers,
    None,
    include_str!("forged_referrer.rs"),
);

settings! {
    ForgedReferrer {
        /// Stay silent below this many such referrers.
        odd_min: u32 = 3,
        /// Share of them among its page requests from which it points to a crawler.
        share_min: f64 = 0.5,
    }
}

/// Such referrers from which no page that leads to itself explains them, if they are most of all.
const ODD_MANY: u32 = 8;
const SHARE_MOST: f64 = 0.8;
/// Share of page requests from which referrers count that name this site in a way no browser does: less may be somebody else's behind the
/// same address.
const MADE_UP_SHARE: f64 = 0.1;
const MADE_UP_USUAL: f64 = 0.5;
/// What one of them is worth, and several, to who loads nothing else; and to who loads style sheets, but never a picture.
const MADE_UP_BARE: [f64; 2] = [9.0, 11.0];
const MADE_UP_STYLED: [f64; 2] = [4.0, 8.0];

impl Detector for ForgedReferrer {
    fn evaluate(&self, profile: &Profile, context: &Context<'_>) -> Outcome {
        if profile.referrers == 0 && profile.pages > 0 {
            return Outcome::Abstain(Gap::NotLogged("the referrer is"));
        }
        let share =
            f64::from(profile.oddities().referrers_odd) / f64::from(profile.referrers.max(1));
        let findings = [made_up(profile, context), self.odd(profile, share)];
        let strongest = findings.into_iter().flatten();
        strongest
            .max_by(|one, other| one.decibans.total_cmp(&other.decibans))
            .map_or(Outcome::Clear(share), |found| {
                Outcome::learned(found.decibans, found.why, &found.values)
            })
    }
}

/// What was found, and what it is worth.
struct Found {
    decibans: f64,
    why: String,
    values: [(&'static str, f64); 2],
}

impl ForgedReferrer {
    /// A finding by the share of referrers that are odd, whatever site they name.
    fn odd(&self, profile: &Profile, share: f64) -> Option<Found> {
        let odd = profile.oddities().referrers_odd;
        if odd < self.odd_min || share < self.share_min {
            return None;
        }
        // A browser that loads the parts of its pages may be shown a page that leads to itself.
        let decibans = match (profile.assets, profile.images) {
            (0, _) => 11.0,
            (_, 0) => 6.0,
            _ if odd >= ODD_MANY && share >= SHARE_MOST && !profile.loads_whole_pages() => 10.0,
            _ => 1.0,
        };
        Some(Found {
            decibans,
            why: format!(
                "{} of its {} page requests have a referrer that no browser writes: a host without a path, or the page itself",
                percent(share),
                profile.referrers
            ),
            values: [("odd", f64::from(odd)), ("share", share)],
        })
    }
}

/// A finding by referrers that no page explains: this site named as no browser names it, and redirects named as if they were pages.
fn made_up(profile: &Profile, context: &Context<'_>) -> Option<Found> {
    let odd = profile.oddities();
    let is_browser = profile.drawn > 0 || profile.images > 0 && profile.assets_of_pages > 0;
    if odd.referrers_odd == 0 && odd.redirects_named == 0 || is_browser {
        return None;
    }
    let written = match context.site.writes_paths() {
        true => context.site.made_up(profile),
        false => 0,
    };
    let all = written + odd.redirects_named;
    let share = f64::from(all) / f64::from(profile.referrers.max(1));
    if all == 0 || share < MADE_UP_SHARE {
        return None;
    }
    // Who copies a whole site names it with its parts as with its pages.
    let is_usual = all >= ODD_MANY && share >= MADE_UP_USUAL && profile.assets_of_pages == 0;
    let worth = match profile.assets == 0 || is_usual {
        true => MADE_UP_BARE,
        false => MADE_UP_STYLED,
    };
    let why = match odd.redirects_named {
        0 => format!(
            "{written} of its {} page requests give this site as referrer in a form that no browser sends: without a path, without a scheme, or with the default port",
            profile.referrers
        ),
        redirects => format!(
            "{redirects} of its {} page requests give as referrer the URL that redirected them; a browser gives the page with the link",
            profile.referrers
        ),
    };
    Some(Found {
        decibans: worth[usize::from(all > 1)],
        why,
        values: [("made_up", f64::from(all)), ("share", share)],
    })
}
