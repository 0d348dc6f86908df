//! More pages in half an hour than a person reads, without a link that led to them.
//!
//! # Why it matters
//! A person reads what was fetched before asking for more, and goes on by links. Hundreds of pages in one half hour to which no link led
//! are read by nobody. (NRIC log study: a high rate of unreferred pages, as one rule.)
//!
//! # When it is wrong
//! A company or a mobile network sends many people from one address; on a busy site that passes any limit. Their browsers name the page
//! with the link, so that such pages do not count; what is left weighs little for who loads whole pages, and much only where few browsers
//! share so many pages. Where the log has no referrers, the rate alone weighs little. A crawler can forge a referrer for each page: where
//! other visitors load pictures with these pages, all pages of a single browser count that does not.

use super::Detector;
use super::Family;
use super::Spec;
use super::settings;
use crate::evidence::Context;
use crate::evidence::Gap;
use crate::evidence::Outcome;
use crate::profile::Profile;

pub(super) const SPEC: Spec = Spec::of::<HighPageRate>(
    "high_page_rate",
    Family::Headers,
    None,
    include_str!("high_page_rate.rs"),
);

settings! {
    HighPageRate {
        /// Pages without a link in the busiest half hour above which it points to a crawler.
        pages_max: u32 = 300,
        /// Such pages in the busiest half hour for each user agent above which no people explain it.
        agent_pages_max: f64 = 120.0,
    }
}

impl Detector for HighPageRate {
    fn evaluate(&self, profile: &Profile, context: &Context<'_>) -> Outcome {
        if profile.pages <= self.pages_max {
            return Outcome::Abstain(Gap::TooFew {
                what: "page requests",
                have: profile.pages,
                need: self.pages_max.saturating_add(1),
            });
        }
        let mut busiest = 0;
        profile
            .bins
            .for_each(|_, requests| busiest = busiest.max(requests));
        // Half hours count all requests; the source's own share of such pages tells how many of them were.
        let in_half_hour =
            |pages: u32| f64::from(busiest) * f64::from(pages) / f64::from(profile.requests);
        let agents = profile.agents.count();
        let is_alone =
            |pages: f64| agents > 0 && pages / agents.max(1) as f64 > self.agent_pages_max;
        let is_logged = profile.referrers > 0;
        let loads = profile.loads_whole_pages();
        let all = in_half_hour(profile.pages);
        // What one browser would have shown with pictures, as others do here, was not shown, whatever its referrers say.
        let is_bare = is_alone(all) && !loads && context.site.has_parts();
        let pages = match is_logged && !is_bare {
            true => in_half_hour(profile.referrers - profile.referrers_link),
            false => all,
        };
        if pages <= f64::from(self.pages_max) {
            return Outcome::Clear(pages);
        }
        // A class room of equal machines has one agent, too, but loads whole pages.
        let decibans = match (loads, is_bare || is_logged && is_alone(pages)) {
            (true, _) => 1.0,
            (false, true) => 12.0,
            (false, false) => 4.0,
        };
        let what = match (is_bare, is_logged) {
            (true, _) => ", without the parts that others load with them",
            (false, true) => " to which no link led",
            (false, false) => "",
        };
        Outcome::learned(
            decibans,
            format!("about {pages:.0} pages in its busiest half hour{what}"),
            &[
                ("pages_in_half_hour", pages),
                ("for_each_agent", pages / agents.max(1) as f64),
            ],
        )
    }
}
