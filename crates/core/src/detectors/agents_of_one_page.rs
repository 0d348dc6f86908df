//! One page's parts, and the links followed from it, come under different user agents.
//!
//! # Why it matters
//! The browser that shows a page loads its parts and follows its links under the name under which it fetched the page. A program
//! that picks a name at random for every request gives itself away there, even behind forged referrers.
//!
//! # When it is wrong
//! Behind a shared address two people may look at the same page at the same time; that mixes a few requests, not most. A phone fetches
//! a preview of a page under one name and shows it under another: two names are not enough.

use super::Detector;
use super::Family;
use super::Spec;
use super::percent;
use super::settings;
use crate::evidence::Context;
use crate::evidence::Gap;
use crate::evidence::Outcome;
use crate::evidence::Toward;
use crate::profile::Profile;

pub(super) const SPEC: Spec = Spec::of::<AgentsOfOnePage>(
    "agents_of_one_page",
    Family::Headers,
    None,
    include_str!("agents_of_one_page.rs"),
);

settings! {
    AgentsOfOnePage {
        /// Stay silent below this many parts and links under another agent than their page.
        others_min: u32 = 4,
        /// Share of them among all parts and links from which it points to a crawler.
        share_min: f64 = 0.3,
        /// Stay silent below this many user agents.
        agents_min: u32 = 3,
    }
}

impl Detector for AgentsOfOnePage {
    fn evaluate(&self, profile: &Profile, _: &Context<'_>) -> Outcome {
        if profile.agents_logged == 0 {
            return Outcome::Abstain(Gap::NotLogged("the user agent is"));
        }
        let all = profile.assets_of_pages + profile.referrers_link;
        let others = profile.oddities().other_agent;
        let share = f64::from(others) / f64::from(all.max(1));
        let agents = profile.agents.count() as u32;
        if others < self.others_min || share < self.share_min || agents < self.agents_min {
            return Outcome::Clear(share);
        }
        let why = format!(
            "{} of its {all} parts of pages and followed links came under another user agent than the page they belong to",
            percent(share)
        );
        Outcome::finding(
            Toward::Crawler,
            why,
            &[("others", f64::from(others)), ("share", share)],
        )
    }
}
