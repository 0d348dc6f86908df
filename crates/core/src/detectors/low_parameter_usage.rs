//! Query strings are avoided on a site that uses them.
//!
//! # Why it matters
//! People sort, filter, page through and choose a language; each leaves a parameter in the address. A crawler fetches the
//! plain addresses of its list. (PubCrawl, 3.1: H6.)
//!
//! # When it is wrong
//! People who read articles on a site that otherwise has a search page use few parameters. The site's own rate is the mean
//! of the sources that look like people: they load page parts, or several user agents share the address. Where fewer than 20
//! do, it is the mean of all sources, so a site visited by crawlers alone has no fair rate.

use super::Detector;
use super::Family;
use super::Spec;
use super::VoteSet;
use super::percent;
use super::settings;
use crate::evidence::Context;
use crate::evidence::Gap;
use crate::evidence::Measure;
use crate::evidence::Outcome;
use crate::evidence::Toward;
use crate::profile::Profile;

pub(super) const SPEC: Spec = Spec::of::<LowParameterUsage>(
    "low_parameter_usage",
    Family::Headers,
    Some(VoteSet::New),
    include_str!("low_parameter_usage.rs"),
);

settings! {
    LowParameterUsage {
        /// Stay silent below this many page requests.
        pages_min: u32 = 20,
        /// The site's own rate below which parameters mean nothing here.
        site_share_min: f64 = 0.15,
        /// Part of the site's rate below which it points to a crawler.
        part_min: f64 = 0.1,
        /// Part of the site's rate from which it points to people.
        people_from: f64 = 0.5,
    }
}

impl Detector for LowParameterUsage {
    fn evaluate(&self, profile: &Profile, context: &Context<'_>) -> Outcome {
        if profile.pages < self.pages_min.max(1) {
            return Outcome::Abstain(Gap::TooFew {
                what: "page requests",
                have: profile.pages,
                need: self.pages_min,
            });
        }
        let Some(usual) = context.site.query_share() else {
            return Outcome::Abstain(Gap::NoContrast(
                "too few sources to know the site's rate of query strings",
            ));
        };
        if usual < self.site_share_min {
            return Outcome::Abstain(Gap::NoContrast("the site hardly uses query strings"));
        }
        let share = f64::from(profile.queries) / f64::from(profile.pages);
        let values = [
            ("query_share", share),
            ("site_query_share", usual),
            ("pages", f64::from(profile.pages)),
        ];
        if share < self.part_min * usual {
            let why = format!(
                "{} of its {} page requests have a query string; the site's visitors have {}",
                percent(share),
                profile.pages,
                percent(usual)
            );
            return Outcome::finding(Toward::Crawler, why, &values);
        }
        if share < self.people_from * usual {
            return Outcome::Clear(share);
        }
        let why = format!(
            "it uses query strings as others do: {} of its page requests, the site's visitors {}",
            percent(share),
            percent(usual)
        );
        Outcome::finding(Toward::User, why, &values)
    }

    fn measures(&self, profile: &Profile, context: &Context<'_>) -> Vec<Measure> {
        let usual = context.site.query_share();
        match usual.filter(|usual| *usual >= self.site_share_min) {
            Some(usual) if profile.pages >= self.pages_min.max(1) => {
                let share = f64::from(profile.queries) / f64::from(profile.pages);
                // A site without any query string has no rate to compare with.
                vec![Measure::below("part_min", share / usual.max(1e-9))]
            }
            _ => Vec::new(),
        }
    }
}
