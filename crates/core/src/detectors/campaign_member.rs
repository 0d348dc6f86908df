//! Belongs to sources that crawl as one.
//!
//! # Why it matters
//! Who spreads a crawl over a thousand addresses gives each of them too little to do to be told. Together they show it: they come at
//! the same times, share an odd user agent, divide the pages among themselves, and none of them loads what belongs to a page. What
//! the campaign as a whole is worth counts for each member. (PubCrawl, 4; `docs/campaigns.md`.)
//!
//! # When it is wrong
//! Addresses of one network of people whose visitors are dealt out among them come at the same times, too; they are judged together and
//! found to be people. A person who uses exactly the agent of a fleet, and neither follows links nor loads pictures, is taken for a
//! member.

use super::Detector;
use super::Family;
use super::Spec;
use super::settings;
use crate::evidence::Context;
use crate::evidence::Gap;
use crate::evidence::Outcome;
use crate::profile::Profile;

pub(super) const SPEC: Spec = Spec::of::<CampaignMember>(
    "campaign_member",
    Family::Campaign,
    None,
    include_str!("campaign_member.rs"),
);

settings! {
    CampaignMember {
        /// The most that membership can say, in decibans.
        decibans_max: f64 = 13.0,
    }
}

impl Detector for CampaignMember {
    fn evaluate(&self, _: &Profile, context: &Context<'_>) -> Outcome {
        let Some(campaign) = context.campaign else {
            return Outcome::Abstain(Gap::NotKnown("it belongs to no campaign that was found"));
        };
        Outcome::learned(
            campaign.decibans.clamp(0.0, self.decibans_max),
            campaign.why.clone(),
            &[("sources", f64::from(campaign.sources))],
        )
    }
}
