//! A user agent that names a robot.
//!
//! # Why it matters
//! Most crawlers say who they are, and programming libraries do so unless told otherwise. The list is the registry package
//! crawler-user-agents, without three patterns that also match browsers. What is on no list is told by its shape: a browser's agent names a system that people use and
//! speaks of nothing but browsers and devices; programs give an address where to complain, a word for what they do, or just a name and a number.
//!
//! # When it is wrong
//! Anybody can send a well-known robot's name: `claimed_operator` checks it. A name alone never makes a source legitimate.
//! Monitors, link previews, feed readers and proxies are automated, but no crawlers; so are the site's own WordPress, Apache's dummy
//! connections and certificate checks. The shape of an agent can mistake an app for a program: one request under an unlisted name weighs 6
//! decibans and decides nothing by itself, three are enough to decide, a hundred weigh as much as a listed name (30).

use super::Detector;
use super::Family;
use super::Spec;
use super::percent;
use super::settings;
use crate::evidence::Context;
use crate::evidence::Finding;
use crate::evidence::Gap;
use crate::evidence::Outcome;
use crate::evidence::Toward;
use crate::profile::Profile;

pub(super) const SPEC: Spec = Spec::of::<DeclaredRobot>(
    "declared_robot",
    Family::Identity,
    None,
    include_str!("declared_robot.rs"),
);

settings! {
    DeclaredRobot {
        /// Share of requests under a robot's name from which the source is that robot...
        declared_min: f64 = 0.5,
        /// ...if browsers have at most this share.
        browsers_max: f64 = 0.1,
    }
}

impl Detector for DeclaredRobot {
    fn evaluate(&self, profile: &Profile, context: &Context<'_>) -> Outcome {
        if profile.agents_logged == 0 {
            return Outcome::Abstain(Gap::NotLogged("the user agent is"));
        }
        let share = |count: u32| f64::from(count) / f64::from(profile.agents_logged);
        let declared = share(profile.declared);
        if declared < self.declared_min || share(profile.browsers) > self.browsers_max {
            return Outcome::Clear(declared);
        }
        let robot = context.robot(profile);
        let (name, purpose) = robot.map_or(("a robot", "robot"), |robot| {
            (robot.name.as_str(), robot.purpose.name())
        });
        let toward = if profile.oddities().declared_automated > profile.declared / 2 {
            Toward::Automated
        } else {
            Toward::Crawler
        };
        let why = format!(
            "its user agent is that of {name} ({purpose}) in {} of {} requests",
            percent(declared),
            profile.agents_logged
        );
        let robots = &context.knowledge.robots;
        let number = context.robot_number(profile);
        let is_listed = number.is_none_or(|number| robots.is_listed(number));
        Outcome::Finding(Finding {
            toward,
            why,
            values: vec![
                ("declared_share", declared),
                ("requests", f64::from(profile.agents_logged)),
            ],
            learned: (!is_listed).then(|| unlisted_weight(profile.declared)),
        })
    }
}

/// What so many requests under a name on no list are worth, in decibans: 6 for one, 30 for a hundred and more.
fn unlisted_weight(requests: u32) -> f64 {
    (6.0 + 12.0 * f64::from(requests.max(1)).log10()).min(30.0)
}
