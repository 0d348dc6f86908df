//! What findings are worth, as shipped or as learned.

use crate::detectors::Family;
use crate::detectors::SPECS;
use crate::detectors::Spec;

/// Weights and thresholds of the verdict, in decibans.
#[derive(Debug, Clone, PartialEq)]
pub struct Weights {
    /// Sum from which a source is a crawler.
    pub crawler_from: f64,
    /// Sum up to which a source is a user.
    pub user_to: f64,
    /// The most that one family can say either way.
    pub family_max: f64,
    /// By detector in the order of [`SPECS`]: towards a crawler, towards people.
    pub detectors: [(f64, f64); SPECS.len()],
    /// By detector, what the weight is multiplied with that it gives a finding itself.
    pub grades: [f64; SPECS.len()],
}

/// True for a detector that grades each finding itself, so that only a factor can be learned for it. A name decides by itself; what a
/// shape or a campaign is worth was learned where it was found.
pub fn is_graded(spec: &Spec) -> bool {
    let is_fixed = spec.family == Family::Identity
        || ["campaign_member", "traffic_shape"].contains(&spec.name);
    !is_fixed && SHIPPED.iter().all(|(name, _, _)| *name != spec.name)
}

/// What detectors are worth as shipped: towards a crawler, towards people. Those that are missing weigh their findings themselves.
///
/// A weight of 10 says: ten times as likely on a crawler as on a person. The first values followed from the published rates and from
/// what the rule can mistake. Several were changed after errors were seen in simulated worlds and in the real logs of docs/limits.md,
/// so that the results on those logs are not independent of them:
///
/// * An empty referrer or an error rate above a third is common among crawlers and happens to few people: about 6 to 1.
/// * Hardly any revisits, or no parameters, happens to many readers of few pages: 2 to 1.
/// * One agent in a hundred others: PubCrawl names it suspicious, updates of a browser explain some: 3 to 1.
/// * A page whose parts come under other agents than itself is no browser's, unless two people read it at once: 16 to 1.
/// * Visits by the clock, at night too, are a program's, if not a page that was left open: 16 to 1.
/// * Loading a page's parts is what browsers are for, and what few crawlers pay for: 5 to 1 for people; and following links, 4 to 1.
///   Both are cheap to copy: `bounds` says what they are worth together.
/// * People do not ask for robots.txt, nor take what it forbids after reading it: 15 and 10 to 1 beside each other.
/// * A third of a large site, each page once, is no reading: 10 to 1. Three hundred pages in half an hour may be many people: 2.5 to 1.
/// * Counts steadier than chance allows are a clock's: 6 to 1.
/// * A browser that drops every session is rare where a site hands them out: 10 to 1.
const SHIPPED: [(&str, f64, f64); 13] = [
    ("agents_of_one_page", 12.0, 0.0),
    // An address proves or disproves a name.
    ("claimed_operator", 40.0, 0.0),
    ("clockwork_visits", 12.0, 0.0),
    // Decides by itself; a name on no list weighs by its requests.
    ("declared_robot", 30.0, 0.0),
    ("fetched_robots_txt", 12.0, 0.0),
    ("ignored_cookies", 10.0, -6.0),
    ("ignored_robots_txt", 10.0, 0.0),
    ("indiscriminate_download", 10.0, 0.0),
    ("low_page_revisit", 2.0, -3.0),
    ("low_parameter_usage", 2.0, -2.0),
    ("regular_counts", 8.0, 0.0),
    ("suspicious_referrer", 8.0, 0.0),
    ("unbalanced_traffic", 5.0, -3.0),
];

impl Default for Weights {
    fn default() -> Weights {
        let weight = |spec: &Spec| {
            let shipped = SHIPPED.iter().find(|(name, _, _)| *name == spec.name);
            shipped.map_or((0.0, 0.0), |(_, crawler, people)| (*crawler, *people))
        };
        Weights {
            crawler_from: 10.0,
            user_to: -6.0,
            family_max: 20.0,
            detectors: std::array::from_fn(|at| weight(&SPECS[at])),
            grades: [1.0; SPECS.len()],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_weight_belongs_to_a_detector() {
        for (name, _, _) in SHIPPED {
            assert!(SPECS.iter().any(|spec| spec.name == name), "{name}");
        }
    }
}
