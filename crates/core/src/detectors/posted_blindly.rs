//! Forms are sent without loading what the form's page needs.
//!
//! # Why it matters
//! Programs that leave comments, register accounts or write to contact forms send the form and are gone. A person's browser has loaded
//! the page with the form, and its parts, before.
//!
//! # When it is wrong
//! An editor whose browser has everything in its cache sends forms without loading parts, but names the page they were on: that
//! weighs less. Interfaces for programs are not counted. The rule is silent where hardly anybody loads parts of this site's pages.

use super::Detector;
use super::Family;
use super::Spec;
use super::settings;
use crate::evidence::Context;
use crate::evidence::Gap;
use crate::evidence::Outcome;
use crate::profile::Profile;

pub(super) const SPEC: Spec = Spec::of::<PostedBlindly>(
    "posted_blindly",
    Family::Headers,
    None,
    include_str!("posted_blindly.rs"),
);

settings! {
    PostedBlindly {
        /// Stay silent below this many forms.
        forms_min: u32 = 2,
        /// Forms from which it is more than an accident.
        many: u32 = 5,
        /// Share of forms among its requests (parts of pages left aside) from which it points to a crawler.
        share_min: f64 = 0.25,
        /// Share of forms that name another page, as a browser does, from which they weigh less.
        links_from: f64 = 0.5,
    }
}

impl Detector for PostedBlindly {
    fn evaluate(&self, profile: &Profile, context: &Context<'_>) -> Outcome {
        let odd = profile.oddities();
        let forms = odd.posts.saturating_sub(odd.logins);
        if forms < self.forms_min.max(1) {
            return Outcome::Abstain(Gap::TooFew {
                what: "forms sent",
                have: forms,
                need: self.forms_min,
            });
        }
        if odd.posts_failed >= self.many && profile.assets == 0 {
            return failed(odd.posts_failed, odd.posts);
        }
        let others = profile.requests.saturating_sub(profile.assets).max(1);
        let share = f64::from(forms) / f64::from(others);
        if profile.assets > 0 || share < self.share_min {
            return Outcome::Clear(share);
        }
        if !context.site.has_parts() {
            return Outcome::Abstain(Gap::NoContrast(
                "hardly anybody loads parts of this site's pages",
            ));
        }
        let links = f64::from(odd.posts_link) / f64::from(odd.posts);
        // Who goes through a queue by its links has everything in the cache.
        if links >= self.links_from && profile.goes_by_links() {
            return Outcome::Clear(share);
        }
        let decibans = match (links >= self.links_from, forms >= self.many) {
            (true, _) => 5.0,
            (false, false) => 9.0,
            (false, true) => 12.0,
        };
        Outcome::learned(
            decibans,
            format!(
                "{forms} of its {others} requests post a form whose page it did not load as a browser does"
            ),
            &[
                ("forms", f64::from(forms)),
                ("share", share),
                ("links", links),
            ],
        )
    }
}

/// Forms that were sent to where there are none.
fn failed(failed: u32, posts: u32) -> Outcome {
    let share = f64::from(failed) / f64::from(posts);
    if share < FAILED_SHARE {
        return Outcome::Clear(share);
    }
    Outcome::learned(
        FAILED_DECIBANS,
        format!(
            "{failed} of its {posts} POST requests for forms failed, and it loaded no part of any page"
        ),
        &[("failed", f64::from(failed)), ("share", share)],
    )
}

/// What forms are worth that the site refuses, if they are most of all: a person finds the form before sending it.
const FAILED_DECIBANS: f64 = 12.0;
const FAILED_SHARE: f64 = 0.5;
