//! It goes from page to page by links.
//!
//! # Why it matters
//! A person's browser names the page whose link was followed: the one that was just shown, again and again. Most programs work on a
//! list, and send no referrer or always the same.
//!
//! # When it is wrong
//! A program can name the right page for little. So this counts for less beside parts of pages that are missing, and the verdict bounds
//! what it is worth together with other signs that are cheap (docs/why.md).

use super::Detector;
use super::Family;
use super::Spec;
use super::loaded_page_parts::lacks_images;
use super::percent;
use super::settings;
use crate::evidence::Context;
use crate::evidence::Gap;
use crate::evidence::Outcome;
use crate::profile::Profile;

pub(super) const SPEC: Spec = Spec::of::<FollowedLinks>(
    "followed_links",
    Family::Headers,
    None,
    include_str!("followed_links.rs"),
);

settings! {
    FollowedLinks {
        /// Stay silent below this many page requests.
        pages_min: u32 = 5,
        /// Share of page requests that name another page, as a browser does, from which it points to people...
        links_from: f64 = 0.5,
        /// ...if it also fetched this many style sheets, scripts or images...
        assets_min: u32 = 1,
        /// ...or, with everything in its cache, if this share of its pages names the page fetched just before...
        chain_from: f64 = 0.4,
        /// ...at no more than this many pages in half an hour...
        pages_read: u32 = 40,
        /// ...or this many, if nearly all of them do: some sites show pictures by pages of their own...
        pages_chained: u32 = 200,
        /// ...if half of them exist, and no more than this many would have come with parts.
        parts_expected: f64 = 2.0,
        /// Pages that others would have loaded with pictures from which it counts that it loaded none.
        images_expected: f64 = 0.5,
    }
}

/// What followed links are worth towards people, and where none of the images was loaded that others load with the same pages.
const LINKS: f64 = -6.0;
const LINKS_WITHOUT_IMAGES: f64 = -2.0;

impl Detector for FollowedLinks {
    fn evaluate(&self, profile: &Profile, context: &Context<'_>) -> Outcome {
        if profile.referrers == 0 && profile.pages > 0 {
            return Outcome::Abstain(Gap::NotLogged("the referrer is"));
        }
        if profile.referrers < self.pages_min.max(1) {
            return Outcome::Abstain(Gap::TooFew {
                what: "page requests",
                have: profile.referrers,
                need: self.pages_min,
            });
        }
        let all = f64::from(profile.referrers);
        let links = f64::from(profile.referrers_link) / all;
        // A redirect leads to the page that was meant.
        let chain =
            f64::from(profile.chain) / f64::from(profile.referrers.min(profile.shown).max(1));
        let decibans = match profile.assets >= self.assets_min {
            true if links < self.links_from => return Outcome::Clear(links),
            true if lacks_images(profile, context, self.images_expected) => LINKS_WITHOUT_IMAGES,
            true => LINKS,
            false if self.reads(profile, context, chain) => LINKS,
            false => return Outcome::Clear(links),
        };
        let why = format!(
            "it follows links: {} of its {} page requests name the page that led there",
            percent(links),
            profile.referrers
        );
        let values = [
            ("link_share", links),
            ("chain_share", chain),
            ("pages", all),
        ];
        Outcome::learned(decibans, why, &values)
    }
}

impl FollowedLinks {
    /// True for who reads one page after the other, of which no browser would load anything new.
    fn reads(&self, profile: &Profile, context: &Context<'_>, chain: f64) -> bool {
        const NEARLY_ALL: f64 = 0.9;
        let pages = match chain >= NEARLY_ALL {
            true => self.pages_chained,
            false => self.pages_read,
        };
        let slowly = profile.pages <= pages.saturating_mul(profile.bins.busy().max(1));
        let expected = context.site.expected_parts(profile);
        let exist = profile.shown * 2 >= profile.pages;
        chain >= self.chain_from && slowly && exist && expected.parts <= self.parts_expected
    }
}
