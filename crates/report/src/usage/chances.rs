//! How likely a source is a person, by its evidence and by how many sources of its size are people on this site.
//!
//! Evidence in decibans says how much likelier a crawler is than before; what was before differs from site to site, and heavy sources
//! are crawlers more often than light ones. So the odds are taken from the log itself: clear crawlers against clear people among the
//! sources with about as many page requests. Robots that name themselves and members of campaigns are left out: undecided sources are
//! neither. Verdicts bound signs of people that programs can copy for little. Here these count in full, because misleading an estimate
//! gains nothing. docs/report.md has the errors on simulated sites.

use std::collections::BTreeMap;

use cattlegrid_core::report::Judged;
use cattlegrid_core::verdict::Class;

/// Decibans from which a source counts as a clear crawler, and down to which as a clear person.
const CLEAR_CRAWLER: f32 = 15.0;
const CLEAR_PERSON: f32 = -8.0;
/// The number of sources by which each size is supplemented, in the proportion of the other sizes.
const OTHERS: f64 = 5.0;
/// The weight of the next size in that proportion.
const NEXT_SIZE: f64 = 0.5;
/// Sizes: each reaches four times as far as the one before.
const SIZES: usize = 17;

/// Clear crawlers and people by size.
#[derive(Debug, Default)]
pub(crate) struct Chances {
    /// Counted by the detectors that accused them: a thousand addresses of one fleet say little about a source that does nothing alike.
    crawlers: [BTreeMap<Vec<&'static str>, u64>; SIZES],
    people: [u64; SIZES],
}

/// Clear crawlers for each clear person, by size.
#[derive(Debug)]
pub(crate) struct Odds([f64; SIZES]);

impl Chances {
    pub(crate) fn count(&mut self, judged: &Judged, requests: u64) {
        if is_named(judged) || is_member(judged) {
            return;
        }
        let is_robot = matches!(judged.class, Class::Crawler | Class::Automated);
        let decibans = leaning(judged);
        if is_robot && decibans >= CLEAR_CRAWLER {
            let against = judged.findings.iter();
            let against = against.filter(|(_, weight)| *weight > 0.0);
            let mut against: Vec<&'static str> = against.map(|(detector, _)| *detector).collect();
            against.sort_unstable();
            *self.crawlers[size(requests)].entry(against).or_default() += 1;
        } else if !is_robot && decibans <= CLEAR_PERSON {
            self.people[size(requests)] += 1;
        }
    }

    /// The odds of each size. Of crawlers that are alike, only the root of their number counts.
    pub(crate) fn odds(&self) -> Odds {
        let crawlers = |alike: &BTreeMap<_, u64>| -> f64 {
            let counts = alike.values();
            counts.map(|count| (*count as f64).sqrt()).sum()
        };
        let crawlers = self.crawlers.each_ref().map(crawlers);
        let people = self.people.map(|people| people as f64);
        let nearby = |counts: &[f64; SIZES], at: usize| -> f64 {
            let counts = counts.iter().enumerate();
            counts
                .map(|(size, count)| count * NEXT_SIZE.powi(size.abs_diff(at) as i32))
                .sum()
        };
        Odds(std::array::from_fn(|at| {
            let (all, all_people) = (nearby(&crawlers, at), nearby(&people, at));
            let share = (all + 0.5) / (all + all_people + 1.0);
            (crawlers[at] + OTHERS * share) / (people[at] + OTHERS * (1.0 - share))
        }))
    }
}

impl Odds {
    /// The probability that a source is a person.
    pub(crate) fn person(&self, judged: &Judged, requests: u64) -> f64 {
        if is_named(judged) || is_member(judged) {
            return 0.0;
        }
        let evidence = 10_f64.powf(f64::from(leaning(judged)) / 10.0);
        1.0 / (1.0 + self.0[size(requests)] * evidence)
    }
}

/// All evidence in decibans, also what the verdict does without.
fn leaning(judged: &Judged) -> f32 {
    judged.decibans + judged.withheld
}

fn size(requests: u64) -> usize {
    (requests.max(1).ilog2() / 2).min(SIZES as u32 - 1) as usize
}

/// True for a robot that names itself, or is known by its network.
pub(crate) fn is_named(judged: &Judged) -> bool {
    judged.weight("declared_robot") > 0.0 || judged.weight("claimed_operator") > 0.0
}

fn is_member(judged: &Judged) -> bool {
    judged.weight("campaign_member") > 0.0 || judged.decided_by == Some("campaign")
}

#[cfg(test)]
mod tests {
    use super::*;
    use cattlegrid_core::report::Band;

    fn judged(class: Class, decibans: f32, findings: &[(&'static str, f32)]) -> Judged {
        Judged {
            class,
            band: Band::of(class, None),
            decibans,
            withheld: 0.0,
            decided_by: None,
            cause: None,
            mixed: false,
            findings: findings.into(),
        }
    }

    /// A site with a hundred readers and three makers of crawlers.
    fn site() -> Chances {
        let mut chances = Chances::default();
        for _ in 0..100 {
            chances.count(&judged(Class::User, -10.0, &[]), 20);
        }
        for detector in ["skipped_page_parts", "high_error_rate", "old_protocol"] {
            chances.count(&judged(Class::Crawler, 20.0, &[(detector, 20.0)]), 20);
        }
        chances
    }

    #[test]
    fn a_fleet_does_not_make_readers_of_its_size_robots() {
        let silent = judged(Class::Undecided, 0.0, &[]);
        let before = site().odds().person(&silent, 20);
        let mut chances = site();
        for _ in 0..3_000 {
            chances.count(&judged(Class::Crawler, 20.0, &[("fleet", 20.0)]), 20);
        }
        let after = chances.odds().person(&silent, 20);
        assert!(
            before > 0.95 && after > 0.6 && after < before,
            "{before} {after}"
        );
        // Three thousand of all makes do: nobody knows which of them was missed.
        const MAKES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
        for make in 0..64_u32 {
            let findings = MAKES.iter().enumerate();
            let findings = findings.filter(|(at, _)| make >> at & 1 == 1);
            let findings: Vec<(&'static str, f32)> =
                findings.map(|(_, name)| (*name, 5.0)).collect();
            for _ in 0..50 {
                chances.count(&judged(Class::Crawler, 20.0, &findings), 20);
            }
        }
        assert!(chances.odds().person(&silent, 20) < 0.3);
    }

    #[test]
    fn what_a_verdict_withholds_counts_for_the_estimate() {
        let odds = site().odds();
        let bounded = judged(Class::Undecided, -2.0, &[]);
        let whole = Judged {
            withheld: -16.0,
            ..bounded.clone()
        };
        // Nobody on the site sent as much.
        let (bounded, whole) = (odds.person(&bounded, 30_000), odds.person(&whole, 30_000));
        assert!(whole > 0.99 && bounded < whole, "{bounded} {whole}");
    }

    #[test]
    fn who_names_itself_and_members_of_campaigns_are_nobody() {
        let odds = site().odds();
        for detector in ["declared_robot", "claimed_operator", "campaign_member"] {
            let named = judged(Class::Undecided, -20.0, &[(detector, 1.0)]);
            assert_eq!(odds.person(&named, 20), 0.0);
        }
    }
}
