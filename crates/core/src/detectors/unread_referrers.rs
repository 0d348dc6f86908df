//! Referrers name other pages, but never the page that was fetched just before.
//!
//! # Why it matters
//! A browser that follows a link sends the page on the screen as referrer: the last one, or a list from which several were opened. A
//! program that works on a list of URLs sends the page on which it once found each of them, or always the same page. It may load page
//! parts, and otherwise looks like a reader.
//!
//! # When it is wrong
//! Requests of scripts name the page that they run on; they fetch the same URLs again and again, or bring no parts, and do not count.
//! Behind a shared address, other people's requests come between two pages, so the detector abstains above a number of pages per half
//! hour. Browsers that send only the site as referrer are left out, and so are sites where other visitors do not send the previous page
//! either. Somebody who comes from a portal or a reading list each time, and follows no link here, looks the same; browsers name only
//! the start page of another site, so start pages count less. Other honest causes remain, such as frames, so this is not enough for a
//! verdict.

use super::Detector;
use super::Family;
use super::Spec;
use super::settings;
use crate::evidence::Context;
use crate::evidence::Gap;
use crate::evidence::Outcome;
use crate::profile::Profile;

pub(super) const SPEC: Spec = Spec::of::<UnreadReferrers>(
    "unread_referrers",
    Family::Headers,
    None,
    include_str!("unread_referrers.rs"),
);

settings! {
    UnreadReferrers {
        /// Stay silent below this many pages that are said to come from a page other than the one before (at most 255).
        unread_min: u16 = 100,
        /// Share of pages that come from the page before, up to which it points to a crawler...
        chain_max: f64 = 0.005,
        /// ...at no more than this many pages in a busy half hour...
        pages_max: u32 = 200,
        /// ...if at least this share of them are different pages, and as many parts come with them...
        distinct_min: f64 = 0.5,
        /// ...on a site where this share of the other visitors come from the page before.
        site_min: f64 = 0.8,
    }
}

/// No verdict by itself: a page that fetches others by a script may look so.
const DECIBANS: f64 = 9.0;
/// Where they name start pages: a search engine, a portal, a reading list. Somebody may come from there each time and never go on.
const DECIBANS_STARTS: f64 = 6.0;
/// So many are counted.
const COUNTED_MAX: u16 = u8::MAX as u16;

impl Detector for UnreadReferrers {
    fn evaluate(&self, profile: &Profile, context: &Context<'_>) -> Outcome {
        if profile.referrers == 0 && profile.pages > 0 {
            return Outcome::Abstain(Gap::NotLogged("the referrer is"));
        }
        let unread_min = self.unread_min.max(1);
        if profile.unread.all() < unread_min {
            return Outcome::Abstain(Gap::TooFew {
                what: "pages that come from another than the page before",
                have: u32::from(profile.unread.all()),
                need: u32::from(unread_min),
            });
        }
        if profile.pages > self.pages_max.saturating_mul(profile.bins.busy().max(1)) {
            return Outcome::Abstain(Gap::NotKnown(
                "too many pages in half an hour: those of others may come between",
            ));
        }
        let chain = f64::from(profile.chain) / f64::from(profile.referrers_link.max(1));
        if chain > self.chain_max || !self.reads_pages(profile) {
            return Outcome::Clear(chain);
        }
        let others = context.site.customs().chained.share();
        let Some(others) = others.filter(|share| *share >= self.site_min) else {
            return Outcome::Abstain(Gap::NoContrast(
                "other visitors do not name the page before either, or there are too few of them",
            ));
        };
        let names_pages = u16::from(profile.unread.pages) >= unread_min.min(COUNTED_MAX);
        Outcome::learned(
            if names_pages {
                DECIBANS
            } else {
                DECIBANS_STARTS
            },
            format!(
                "{} of its {} page requests name another page as referrer, {} of them the page that it fetched just before",
                profile.referrers_link,
                profile.referrers,
                match profile.chain {
                    0 => "none".to_owned(),
                    some => format!("only {some}"),
                }
            ),
            &[("chain_share", chain), ("site_share", others)],
        )
    }
}

impl UnreadReferrers {
    /// True for who asks for many different pages, with their parts.
    fn reads_pages(&self, profile: &Profile) -> bool {
        let least = self.distinct_min * f64::from(profile.pages);
        let distinct = profile.distinct_pages.count() as f64;
        let parts = f64::from(profile.assets_of_pages);
        distinct >= least && parts >= least
    }
}
