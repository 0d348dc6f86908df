//! A world without a list of kinds: people and crawlers drawn from wide continuous priors.
//!
//! A model that learns from eight sorts of people knows eight sorts of people. Here every trait has a range: the size of the crowd, the
//! depth of its nights, its time zones, how many requests a visit has. A draw begins with one dominating trait, which gives the habit
//! its name and narrows some of the ranges; all other traits are drawn as for everybody. The names serve to report results by kind and
//! to learn without a kind (`evaluate --leave-kinds-out`); the classifiers never see them.

use std::ops::Range;

use crate::actor::Actor;
use crate::actor::BROWSERS;
use crate::actor::Label;
use crate::actor::Manners;
use crate::plan::DAY;
use crate::plan::Plan;
use crate::plan::Span;
use crate::random::Random;
use crate::social;
use crate::world::Builder;

mod crawlers;
mod people;

/// Sources of each class.
const PEOPLE: usize = 150;
const CRAWLERS: usize = 150;

/// Fills a world.
pub(crate) fn build(builder: &mut Builder) {
    let site = Site::draw(builder.span, &mut builder.random);
    for number in 0..PEOPLE {
        let kind = people::Kind::ALL[number % people::Kind::ALL.len()];
        let plans = people::plans(kind, builder.span, &mut builder.random);
        let mut manners = Manners::people(&mut builder.random, 4);
        if kind == people::Kind::Person {
            manners.agents.truncate(1);
        }
        add(Label::User, kind.name(), manners, plans, &site, builder);
    }
    let labels = [Label::Legitimate, Label::Unauthorized, Label::Masquerading];
    for number in 0..CRAWLERS {
        let kind = crawlers::Kind::ALL[number % crawlers::Kind::ALL.len()];
        let plans = crawlers::plans(kind, builder.span, &mut builder.random);
        let label = *builder.random.pick(&labels);
        let agent = agent(label, &mut builder.random);
        let manners = social::manners(label, agent, &mut builder.random);
        add(label, kind.name(), manners, plans, &site, builder);
    }
}

fn agent(label: Label, random: &mut Random) -> &'static str {
    match label {
        Label::Legitimate => {
            "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
        }
        Label::Unauthorized => "python-requests/2.32.3",
        _ => BROWSERS[random.below(BROWSERS.len() as u64) as usize],
    }
}

fn add(
    label: Label,
    habit: &'static str,
    manners: Manners,
    mut plans: Vec<Plan>,
    site: &Site,
    builder: &mut Builder,
) {
    plans.iter_mut().for_each(|plan| site.touch(plan));
    let address = builder.address();
    builder.add(Actor {
        address,
        label,
        campaign: None,
        habit,
        manners,
        plans,
        counts: Vec::new(),
    });
}

/// What happens to the site happens to everybody: some hours in which it answers less, or a short time not at all.
struct Site(Vec<(Range<usize>, f64)>);

impl Site {
    fn draw(span: Span, random: &mut Random) -> Site {
        let outage = |random: &mut Random| {
            let first = random.below(span.bins as u64) as usize;
            let (longest, left) = match random.chance(0.3) {
                true => (3, 0.0),
                false => (10, random.between(0.1, 0.7)),
            };
            (first..first + 1 + random.below(longest) as usize, left)
        };
        Site((0..random.below(3)).map(|_| outage(random)).collect())
    }

    fn touch(&self, plan: &mut Plan) {
        for (span, left) in &self.0 {
            plan.dampen(span.clone(), *left);
        }
    }
}

/// The part of the days that the log covers: most logs have a whole window, some begin late or end early.
pub(crate) fn covered(span: Span, random: &mut Random) -> Range<usize> {
    let shortest = (span.bins / 2).max(2 * DAY + 4);
    if random.chance(0.6) || shortest >= span.bins {
        return 0..span.bins;
    }
    let length = shortest + random.below((span.bins - shortest) as u64) as usize;
    let start = random.below((span.bins - length + 1) as u64) as usize;
    start..start + length
}

/// Between two numbers, each order of magnitude alike.
fn log_between(low: f64, high: f64, random: &mut Random) -> f64 {
    random.between(low.ln(), high.ln()).exp()
}

/// A level that wanders around 1: deviation of its logarithm, and the half hours that it remembers.
fn wander(deviation: f64, memory: f64, random: &mut Random) -> impl FnMut() -> f64 + use<> {
    let keeps = (-1.0 / memory.max(0.1)).exp();
    let fresh = deviation * (1.0 - keeps * keeps).sqrt();
    // A row of its own, so that the caller's numbers do not depend on how far it went.
    let mut own = Random::new(random.bits(), 1);
    let mut log = deviation * own.normal();
    move || {
        log = keeps * log + fresh * own.normal();
        log.exp()
    }
}
