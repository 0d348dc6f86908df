//! More pages in half an hour than a person reads.
//!
//! # Why it matters
//! A person reads what was fetched before asking for more. Hundreds of pages in one half hour are read by nobody. (NRIC log
//! study.)
//!
//! # When it is wrong
//! A company or a mobile network sends many people from one address; on a busy site that passes any limit. So it weighs little
//! by itself, less for who loads whole pages, and much only where few browsers share so many pages.

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
        /// Pages in the busiest half hour above which it points to a crawler.
        pages_max: u32 = 300,
        /// Pages in the busiest half hour for each user agent above which no people explain it.
        agent_pages_max: f64 = 120.0,
    }
}

impl Detector for HighPageRate {
    fn evaluate(&self, profile: &Profile, _: &Context<'_>) -> Outcome {
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
        // Half hours count all requests; the source's own share of pages tells how many of them were pages.
        let pages = f64::from(busiest) * f64::from(profile.pages) / f64::from(profile.requests);
        if pages <= f64::from(self.pages_max) {
            return Outcome::Clear(pages);
        }
        let agents = profile.agents.count();
        let each = pages / agents.max(1) as f64;
        let is_alone = agents > 0 && each > self.agent_pages_max;
        // A class room of equal machines has one agent, too, but loads whole pages.
        let decibans = match (profile.loads_whole_pages(), is_alone) {
            (true, _) => 1.0,
            (false, true) => 12.0,
            (false, false) => 4.0,
        };
        Outcome::learned(
            decibans,
            format!("about {pages:.0} pages in its busiest half hour"),
            &[("pages_in_half_hour", pages), ("for_each_agent", each)],
        )
    }
}
