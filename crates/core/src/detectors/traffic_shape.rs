//! The shape of its traffic over days, as three classifiers see it that have learned from crawlers and people.
//!
//! # Why it matters
//! A crawler can forge every header, but it has to come. People behind one address come and go with their day: a rhythm, gradual rises,
//! visits of many requests. Machines keep rates, timetables, queues. (PubCrawl, sections 3.2 and 3.3.) Naive Bayes, rules and a support
//! vector machine each say how likely a crawler is; what their votes together are worth was measured on examples they had not seen.
//!
//! # When it is wrong
//! A crawler that fetches what people ask for elsewhere has the people's shape; one that copies a person's day with a person's visits
//! cannot be told by shape. A gateway that never sleeps can look like a crawler: where no user agents are logged, or the source has many,
//! a shape that a large crowd could have does not make it a crawler by itself (`crowd_decibans_max`). A shape unlike anything the model
//! learned from counts little either way. Few requests have no shape: below the minimum it keeps
//! silent. It learned from simulated traffic unless you train it on your own (`cattlegrid train`).

use cattlegrid_learn::committee::Judgement;
use cattlegrid_learn::committee::Votes;
use cattlegrid_learn::series::Shape;
use cattlegrid_learn::series::could_be_crowd;

use super::Detector;
use super::Family;
use super::Spec;

use super::percent;
use super::series;
use super::settings;
use crate::evidence::Context;
use crate::evidence::Gap;
use crate::evidence::Outcome;
use crate::evidence::Toward;
use crate::profile::Profile;

pub(super) const SPEC: Spec = Spec::of::<TrafficShape>(
    "traffic_shape",
    Family::Shape,
    None,
    include_str!("traffic_shape.rs"),
);

settings! {
    TrafficShape {
        /// Stay silent below this many requests on the busiest day. A small site may lower it; fewer requests have less of a shape.
        day_requests_min: u32 = 1000,
        /// Stay silent below this many busy half hours: one evening of one person is no shape.
        half_hours_min: u32 = 48,
        /// Requests on the busiest day above which one address is a crawler, whatever the shape. A group may send this much for each address.
        day_requests_max: u32 = 500_000,
        /// Stay silent where the votes together are worth less than this, in decibans.
        decibans_min: f64 = 3.0,
        /// User agents of one source from which it may be a crowd. Where user agents are not logged, any source may be.
        crowd_agents_min: u32 = 4,
        /// The most, in decibans, that the shape counts against a source that may be a crowd and has the shape of one.
        crowd_decibans_max: f64 = 6.0,
    }
}

/// Half hours of a day.
const DAY: usize = 48;

impl Detector for TrafficShape {
    fn evaluate(&self, profile: &Profile, context: &Context<'_>) -> Outcome {
        let Some(model) = context.model else {
            return Outcome::Abstain(Gap::NotKnown("there is no model to judge it by"));
        };
        let busiest = match profile.requests < self.day_requests_min {
            true => profile.requests,
            false => busiest_day(profile),
        };
        if busiest < self.day_requests_min {
            return Outcome::Abstain(Gap::TooFew {
                what: "requests on its busiest day",
                have: busiest,
                need: self.day_requests_min,
            });
        }
        if busiest / context.sources.max(1) > self.day_requests_max {
            return Outcome::finding_by_volume(busiest);
        }
        let busy = profile.bins.busy();
        if busy < self.half_hours_min {
            return Outcome::Abstain(Gap::TooFew {
                what: "busy half hours",
                have: busy,
                need: self.half_hours_min,
            });
        }
        let series = match series(profile, context) {
            Ok(series) => series,
            Err(gap) => return Outcome::Abstain(gap),
        };
        let Some(shape) = Shape::of(&series, &mut context.scratch.borrow_mut()) else {
            return Outcome::Abstain(Gap::NotKnown("all its requests lie in a gap of the log"));
        };
        let judgement = model.shape.judge(&shape.values);
        let is_capped = judgement.decibans > self.crowd_decibans_max
            && self.may_be_crowd(profile)
            && could_be_crowd(&shape.values);
        let decibans = match is_capped {
            true => self.crowd_decibans_max,
            false => judgement.decibans,
        };
        if decibans.abs() < self.decibans_min {
            return Outcome::Clear(decibans);
        }
        let note = match (judgement.is_unlike, is_capped) {
            (true, _) => "; unlike anything it learned from, so this counts little",
            (false, true) => "; a large crowd could send this, so it does not decide alone",
            (false, false) => "",
        };
        tell_finding(
            &shape,
            Judgement {
                decibans,
                ..judgement
            },
            &series,
            note,
        )
    }
}

impl TrafficShape {
    /// Whether more than a few people may be behind the source, as far as the log tells.
    fn may_be_crowd(&self, profile: &Profile) -> bool {
        profile.agents_logged == 0 || profile.agents.count() >= self.crowd_agents_min as usize
    }
}

fn tell_finding(shape: &Shape, judgement: Judgement, series: &[f64], note: &str) -> Outcome {
    let Judgement {
        votes, decibans, ..
    } = judgement;
    let days = series.len() as f64 / DAY as f64;
    Outcome::learned(
        decibans,
        format!(
            "{} ({}{note})",
            describe(shape, decibans > 0.0, days),
            tell(votes)
        ),
        &[
            ("bayes", votes.bayes),
            ("rules", votes.rules),
            ("svm", votes.svm),
            ("trees", votes.trees),
            ("half_hours", series.len() as f64),
            ("correlation_lag_1", shape.correlation.at(1)),
            ("correlation_day", shape.correlation.at(DAY)),
            ("dispersion", shape.dispersion),
        ],
    )
}

/// The shape of a source with any number of requests, for a person to look at. Also gives the first half hour of the series.
pub fn inspect_shape(profile: &Profile, context: &Context<'_>) -> Option<(usize, Vec<f64>, Shape)> {
    let series = series(profile, context).ok()?;
    let shape = Shape::of(&series, &mut context.scratch.borrow_mut())?;
    Some((context.site.covered().start, series, shape))
}

/// The values of its series, where it sent so many requests on its busiest day and was busy for so many half hours: to learn from.
pub fn shape_values(
    profile: &Profile,
    context: &Context<'_>,
    day_requests_min: u32,
    half_hours_min: u32,
) -> Option<Vec<f64>> {
    if profile.requests < day_requests_min
        || busiest_day(profile) < day_requests_min
        || profile.bins.busy() < half_hours_min
    {
        return None;
    }
    let series = series(profile, context).ok()?;
    let shape = Shape::of(&series, &mut context.scratch.borrow_mut())?;
    Some(shape.values)
}

impl Outcome {
    fn finding_by_volume(requests: u32) -> Outcome {
        Outcome::Finding(crate::evidence::Finding {
            toward: Toward::Crawler,
            why: format!(
                "{requests} requests on its busiest day, more than people behind one address send"
            ),
            values: vec![("busiest_day", f64::from(requests))],
            learned: Some(VOLUME_DECIBANS),
        })
    }
}

/// What a volume beyond all people is worth.
const VOLUME_DECIBANS: f64 = 20.0;

fn busiest_day(profile: &Profile) -> u32 {
    let mut days: Vec<u32> = Vec::new();
    profile.bins.for_each(|bin, count| {
        let day = usize::from(bin) / DAY;
        if days.len() <= day {
            days.resize(day + 1, 0);
        }
        days[day] = days[day].saturating_add(count);
    });
    days.into_iter().max().unwrap_or(0)
}

/// What an owner sees in the curve.
fn describe(shape: &Shape, is_crawler: bool, days: f64) -> String {
    let quiet = shape.value("quietest hours");
    let empty = shape.value("empty half hours");
    let likeness = shape.value("likeness of days");
    let scatter = 10_f64.powf(shape.value("typical noise"));
    match is_crawler {
        false => format!(
            "comes and goes like people for {days:.1} days: its quietest six hours have {} of an average, its days are alike by {likeness:.2}, requests come {scatter:.0} together",
            percent(quiet)
        ),
        true if quiet > 0.65 => format!(
            "flat day and night: about {:.1} % of its requests in every half hour for {days:.1} days, no daily rhythm",
            100.0 / (days * DAY as f64)
        ),
        true if empty > 0.25 => format!(
            "works and rests for {days:.1} days: nothing in {} of the half hours, then at its full rate",
            percent(empty)
        ),
        true if likeness > 0.6 => format!(
            "the same day {days:.1} times over, alike by {likeness:.2}, with {scatter:.1} of the scatter of chance: a timetable, not people"
        ),
        true => format!(
            "rises and falls over {days:.1} days without the rhythm of people: days are alike by {likeness:.2}"
        ),
    }
}

/// How each classifier voted.
fn tell(votes: Votes) -> String {
    let word = |vote: f64| if vote > 0.5 { "crawler" } else { "people" };
    let [bayes, rules, svm, trees] = votes.all().map(word);
    format!("Bayes: {bayes}, rules: {rules}, vectors: {svm}, trees: {trees}")
}
