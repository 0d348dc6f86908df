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
use crate::knowledge::Purpose;
use crate::knowledge::is_misspelt;
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
            return named_now_and_then(profile, context, declared);
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
        let is_sure = number.is_none_or(|number| robots.is_listed(number))
            || is_copied_badly(profile, context);
        Outcome::Finding(Finding {
            toward,
            why,
            values: vec![
                ("declared_share", declared),
                ("requests", f64::from(profile.agents_logged)),
            ],
            learned: (!is_sure).then(|| unlisted_weight(profile.declared)),
        })
    }
}

/// A source that is a robot by some of its requests and a browser by others. People have programs beside their browser, which loads what
/// its pages need; where nothing does, the browser is a name that the robot takes, too.
fn named_now_and_then(profile: &Profile, context: &Context<'_>, declared: f64) -> Outcome {
    let robots = &context.knowledge.robots;
    let number = context.robot_number(profile);
    let is_listed = number.is_some_and(|number| robots.is_listed(number));
    let robot = context.robot(profile);
    // Nobody sends a search engine's name beside the own browser's, unless the address is shared by many.
    let is_own = robot.is_some_and(|robot| OF_NOBODY.contains(&robot.purpose))
        && profile.declared * 20 >= profile.agents_logged;
    // A messenger fetches a preview for the reader beside it.
    let is_helper = robot.is_some_and(|robot| robot.purpose.is_automated());
    let is_bare = profile.loads_nothing() && profile.pages > 0 && !is_helper;
    let decibans = match is_listed {
        true if is_own && profile.declared * 3 >= profile.agents_logged => OFTEN_DECIBANS,
        true if is_bare || is_own => NOW_AND_THEN_DECIBANS,
        // People have apps on no list, which seldom come to a site's pages.
        false if is_bare && number.is_some() && profile.declared > 1 => {
            unlisted_weight(profile.declared).min(NOW_AND_THEN_DECIBANS)
        }
        _ => return Outcome::Clear(declared),
    };
    let name = robot.map_or("a robot", |robot| robot.name.as_str());
    Outcome::learned(
        decibans,
        format!(
            "{} of its {} requests have the user agent of a robot, such as {name}; the others have that of a browser",
            profile.declared, profile.agents_logged
        ),
        &[("declared_share", declared)],
    )
}

/// What it is worth to be a robot now and then: not enough to decide alone.
const NOW_AND_THEN_DECIBANS: f64 = 9.0;
/// What a third of all requests is worth under a name that nobody but a search engine sends.
const OFTEN_DECIBANS: f64 = 12.0;
/// What programs are for that nobody has on the own machine.
const OF_NOBODY: [Purpose; 3] = [Purpose::Search, Purpose::Seo, Purpose::Archive];

/// True where its agent is a browser's with mistakes that no browser makes.
fn is_copied_badly(profile: &Profile, context: &Context<'_>) -> bool {
    let agent = context.top_agent(profile);
    let agent = agent.map(|agent| String::from_utf8_lossy(agent).to_ascii_lowercase());
    agent.is_some_and(|agent| agent.starts_with("mozilla/") && is_misspelt(&agent))
}

/// What so many requests under a name on no list are worth, in decibans: 6 for one, 30 for a hundred and more.
fn unlisted_weight(requests: u32) -> f64 {
    (6.0 + 12.0 * f64::from(requests.max(1)).log10()).min(30.0)
}
