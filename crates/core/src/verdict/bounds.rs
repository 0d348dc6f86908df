//! What findings are worth beside each other: what explains another, and what is not excused by signs that are copied for little.

use super::Evidence;
use crate::detectors::Family;
use crate::profile::Profile;

/// Signs of people that a program can copy for little: a few style sheets, a referrer, a page fetched twice.
const CHEAP: [&str; 4] = [
    "followed_links",
    "loaded_page_parts",
    "low_page_revisit",
    "low_parameter_usage",
];
/// What the cheap signs are worth together at most.
const CHEAP_MAX: f64 = -10.0;
/// What only a program does. A program that does it can just as well load a style sheet, so that cheap signs do not excuse it.
const ACTS: [&str; 15] = [
    "agents_of_one_page",
    "borrowed_referrer",
    "client_hints",
    "clockwork_visits",
    "declared_robot",
    "followed_trap",
    "forged_referrer",
    "hammered_login",
    "high_page_rate",
    "no_daily_rhythm",
    "old_protocol",
    "posted_blindly",
    "probed_weak_spots",
    "suspicious_sequence",
    "unread_referrers",
];
/// What cheap signs are worth at most beside such an act, and from a browser with more pages a day than anybody reads.
const CHEAP_AGAINST_ACTS: f64 = -2.0;
/// What a program leaves out that copies a browser in part.
const SKIPS: [&str; 2] = ["partial_pages", "skipped_page_parts"];
/// What people's rhythm is worth at most beside such an act, or to a source that never loads a part of a page.
const RHYTHM_AGAINST_ACTS: f64 = -2.0;
/// Pages under one user agent on a day on which it comes, beyond which nobody reads them. A class room has one agent, too, and some 400.
const BROWSER_PAGES_MAX: f64 = 500.0;
/// Decibans of [`followed_links`](crate::detectors) from which links explain the order of pages.
const FOLLOWS: f64 = -5.0;
/// Decibans from which an act is one.
const ACT_MIN: f64 = 9.0;
/// Decibans of [`traffic_shape`](crate::detectors) from which all classifiers call the times a machine's.
const MACHINES_TIMES_MIN: f64 = 12.5;

/// Header fields that contradict the browser, or are missing. What removes one of them often removes others.
const HEADER_SIGNS: [&str; 4] = [
    "accept_language",
    "client_hints",
    "fetch_metadata",
    "header_order",
];
/// What they are worth together at most, unless one of them is worth more: no verdict by themselves.
const HEADER_SIGNS_MAX: f64 = 9.0;

/// What header fields are worth together.
pub(super) fn header_signs(evidence: &[Evidence]) -> f64 {
    let signs = evidence.iter();
    let signs = signs.filter(|item| HEADER_SIGNS.contains(&item.detector));
    signs.map(|item| item.weight).sum()
}

/// Bounds what header fields are worth together: a proxy or an extension that changes one may change all of them.
pub(super) fn weigh_header_signs(evidence: &mut [Evidence], families: &mut [f64]) {
    let is_sign = |item: &Evidence| HEADER_SIGNS.contains(&item.detector);
    let signs = evidence.iter().filter(|item| is_sign(item));
    let weights: Vec<f64> = signs.map(|item| item.weight).collect();
    let strongest = weights.iter().copied().fold(0.0, f64::max);
    let others = weights.iter().sum::<f64>() - strongest;
    let room = (HEADER_SIGNS_MAX - strongest).max(0.0);
    if others <= room {
        return;
    }
    families[Family::Headers as usize] -= others - room;
    // Of equally strong ones the first counts whole.
    let mut is_strongest = false;
    for item in evidence.iter_mut().filter(|item| is_sign(item)) {
        let is_first = !is_strongest && item.weight == strongest;
        is_strongest |= is_first;
        if !is_first {
            item.weight *= room / others;
        }
    }
}

/// A referrer that is missing is one sign, whether it is missing from most requests or from those that followed a link.
pub(super) fn weigh_missing_referrers_once(evidence: &mut [Evidence], families: &mut [f64]) {
    let is_missed = |item: &Evidence| item.detector == "suspicious_referrer" && item.weight > 0.0;
    if !evidence.iter().any(is_missed) {
        return;
    }
    let unnamed = evidence.iter_mut();
    for item in unnamed.filter(|item| item.detector == "unnamed_links") {
        families[Family::Headers as usize] -= item.weight;
        item.weight = 0.0;
    }
}

/// What was learned of the whole shape has seen what the single rules about it say: then they count nothing. Only where it has seen
/// nothing like the source, a rate that is kept day and night says more than it can.
pub(super) fn weigh_shape_once(evidence: &mut [Evidence], families: &mut [f64]) {
    const SINGLE: [&str; 4] = [
        "clockwork_visits",
        "no_daily_rhythm",
        "regular_counts",
        "same_every_day",
    ];
    const OF_RATE: [&str; 2] = ["no_daily_rhythm", "regular_counts"];
    let shape = |item: &Evidence| item.detector == "traffic_shape";
    let Some(weight) = evidence
        .iter()
        .find(|item| shape(item))
        .map(|item| item.weight)
    else {
        return;
    };
    let of_rate = evidence
        .iter()
        .filter(|item| OF_RATE.contains(&item.detector));
    let rate: f64 = of_rate.map(|item| item.weight).sum();
    let by_rate = weight > 0.0 && rate > weight;
    for item in evidence.iter_mut() {
        let is_out = match by_rate {
            true => {
                shape(item) || !OF_RATE.contains(&item.detector) && SINGLE.contains(&item.detector)
            }
            false => SINGLE.contains(&item.detector),
        };
        if is_out {
            item.weight = 0.0;
        }
    }
    families[Family::Shape as usize] = if by_rate { rate } else { weight };
}

/// Who reads a long text by its links goes upwards, never comes back and uses no parameters: nothing of that is a sign then.
pub(super) fn explain_by_links(evidence: &mut [Evidence], families: &mut [f64]) {
    let reads = |item: &Evidence| item.detector == "followed_links" && item.weight <= FOLLOWS;
    let in_order = |item: &Evidence| item.detector == "suspicious_sequence";
    let explained: &[&str] = match evidence.iter().any(reads) {
        true => &[
            "low_page_revisit",
            "low_parameter_usage",
            "suspicious_sequence",
        ],
        // Pages in order are not seen twice.
        false if evidence.iter().any(in_order) => &["low_page_revisit", "low_parameter_usage"],
        false => return,
    };
    // Hundreds of steps without exception are explained by nothing.
    let is_explained = |item: &&mut Evidence| {
        (0.0..ACT_MIN).contains(&item.weight) && explained.contains(&item.detector)
    };
    for item in evidence.iter_mut().filter(is_explained) {
        families[Family::Headers as usize] -= item.weight;
        item.weight = 0.0;
    }
}

/// True for what only a program does, or leaves out.
fn is_programs(item: &Evidence) -> bool {
    let names = ACTS.iter().chain(&SKIPS);
    item.weight >= ACT_MIN && names.into_iter().any(|name| *name == item.detector)
}

/// True for visits that leave little doubt. Robots that drive a browser load all parts and follow links.
fn is_robots_visits(item: &Evidence) -> bool {
    item.weight >= ACT_MIN && ["even_pace", "visit_manner"].contains(&item.detector)
}

/// Pages that each browser of a source fetches on a day on which it comes; none where agents are not logged.
fn pages_of_a_browser(profile: &Profile, days: u32) -> f64 {
    let agents = profile.agents.count() as f64;
    if agents == 0.0 {
        return 0.0;
    }
    f64::from(profile.pages) / agents / f64::from(days)
}

/// True for times that all classifiers call a machine's, of a source that neither follows links nor shows pages. Gateways with traffic
/// around the clock and shift workers have such times, too, but they read what they request.
fn has_machines_times(profile: &Profile, evidence: &[Evidence]) -> bool {
    let is_machines =
        |item: &Evidence| item.weight >= MACHINES_TIMES_MIN && item.detector == "traffic_shape";
    let reads = |item: &Evidence| item.weight < 0.0 && item.detector == "followed_links";
    // Who asks for fonts and the icon has a browser that shows pages to somebody, whether or not it names the page before.
    let shows = profile.images > 0 && profile.drawn > 0;
    !shows && evidence.iter().any(is_machines) && !evidence.iter().any(reads)
}

/// Bounds what signs of people are worth that a program can copy for little, of a source that came on this number of days. Returns the
/// decibans that this takes away, or 0 for a source that did what only programs do.
pub(super) fn weigh_cheap_signs(
    (profile, days): (&Profile, u32),
    evidence: &mut [Evidence],
    families: &mut [f64],
) -> f64 {
    let is_act = |item: &Evidence| is_programs(item) || is_robots_visits(item);
    let acts = evidence.iter().any(is_act) || has_machines_times(profile, evidence);
    let is_reader = pages_of_a_browser(profile, days) <= BROWSER_PAGES_MAX;
    let most = match is_reader && !acts {
        true => CHEAP_MAX,
        false => CHEAP_AGAINST_ACTS,
    };
    // Several browsers in equal parts are a list that a program draws from, once it is one.
    let is_copied = |name: &str| CHEAP.contains(&name) || acts && name == "unbalanced_traffic";
    let is_cheap = |item: &Evidence| item.weight < 0.0 && is_copied(item.detector);
    let cheap = evidence.iter().filter(|item| is_cheap(item));
    let sum: f64 = cheap.map(|item| item.weight).sum();
    if sum >= most {
        return 0.0;
    }
    families[Family::Headers as usize] += most - sum;
    let cheap = evidence.iter_mut().filter(|item| is_cheap(item));
    cheap.for_each(|item| item.weight *= most / sum);
    if acts { 0.0 } else { sum - most }
}

/// Takes back what the rhythm of people is worth, for sources that it does not speak for.
pub(super) fn take_back_rhythm(evidence: &mut [Evidence], families: &mut [f64]) {
    if families[Family::Shape as usize] < 0.0 {
        families[Family::Shape as usize] = 0.0;
        let shape = evidence.iter_mut();
        let shape = shape.filter(|item| item.detector == "traffic_shape");
        shape.for_each(|item| item.weight = 0.0);
    }
}

/// Bounds what the rhythm of people is worth to a source that does what only a program does: a timetable is copied for little.
pub(super) fn weigh_copied_rhythm(evidence: &mut [Evidence], families: &mut [f64]) {
    if !evidence.iter().any(is_programs) {
        return;
    }
    let mut shape = evidence.iter_mut();
    let shape = shape.find(|item| item.detector == "traffic_shape");
    if let Some(item) = shape.filter(|item| item.weight < RHYTHM_AGAINST_ACTS) {
        families[Family::Shape as usize] = RHYTHM_AGAINST_ACTS;
        item.weight = RHYTHM_AGAINST_ACTS;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::Toward;

    fn finding((detector, weight): (&'static str, f64)) -> Evidence {
        Evidence {
            detector,
            toward: Toward::Crawler,
            weight,
            why: String::new(),
            values: Vec::new(),
        }
    }

    fn check(weights: [f64; 4], expected: [f64; 4]) {
        let signs = HEADER_SIGNS.into_iter().zip(weights);
        let mut evidence: Vec<Evidence> = signs.map(finding).collect();
        let mut families = [0.0; 5];
        families[Family::Headers as usize] = weights.iter().sum();
        weigh_header_signs(&mut evidence, &mut families);
        let are_equal = |one: f64, other: f64| (one - other).abs() < 1e-9;
        for (item, expected) in evidence.iter().zip(expected) {
            assert!(are_equal(item.weight, expected), "{weights:?}: {item:?}");
        }
        let sum: f64 = expected.iter().sum();
        assert!(
            are_equal(families[Family::Headers as usize], sum),
            "{families:?}"
        );
    }

    #[test]
    fn header_fields_are_no_verdict_together() {
        check([4.0, 4.0, 0.0, 0.0], [4.0, 4.0, 0.0, 0.0]);
        check([4.0, 4.0, 4.0, 7.0], [2.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0, 7.0]);
        check([7.0, 7.0, 0.0, 0.0], [7.0, 2.0, 0.0, 0.0]);
        check([4.0, 12.0, 4.0, 7.0], [0.0, 12.0, 0.0, 0.0]);
    }

    #[test]
    fn machines_times_leave_cheap_signs_to_who_follows_links_or_shows_pages() {
        // What cheap signs are worth at last, and what is withheld.
        let check = |profile: &Profile, findings: &[(&'static str, f64)], expected: (f64, f64)| {
            let mut evidence: Vec<Evidence> = findings.iter().copied().map(finding).collect();
            let withheld = weigh_cheap_signs((profile, 1), &mut evidence, &mut [0.0; 5]);
            let cheap = evidence
                .iter()
                .filter(|item| CHEAP.contains(&item.detector));
            let worth: f64 = cheap.map(|item| item.weight).sum();
            let differs = (worth - expected.0).abs() + (withheld - expected.1).abs();
            assert!(differs < 1e-9, "{worth} {withheld}: {evidence:?}");
        };
        let (times, parts) = (("traffic_shape", 13.0), ("loaded_page_parts", -7.0));
        let links = ("followed_links", -6.0);
        let other = Profile::default();
        check(&other, &[times, parts], (-2.0, 0.0));
        check(&other, &[times, parts, links], (-10.0, -3.0));
        check(&other, &[("traffic_shape", 12.0), parts], (-7.0, 0.0));
        let mut shows = Profile::default();
        (shows.images, shows.drawn) = (9, 2);
        check(&shows, &[times, parts], (-7.0, 0.0));
        // What only programs do is excused by neither.
        let act = ("probed_weak_spots", 12.0);
        check(&shows, &[act, parts, links], (-2.0, 0.0));
    }
}
