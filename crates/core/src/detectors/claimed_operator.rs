//! A robot's name, held against the networks of the one who runs that robot.
//!
//! # Why it matters
//! Anybody can call itself Googlebot, and scrapers do, because sites let it pass. The operators of well-known robots publish the networks these
//! come from: an address inside proves the name, an address outside a complete list disproves it. `cattlegrid lists update` fetches the published lists; without
//! them only a few networks that have been known for long can prove a name, and none can disprove one.
//!
//! # When it is wrong
//! Networks come and go. A list disproves names only in logs within 400 days of its date. Link previews are never disproved: telephones fetch them
//! from home addresses under the name of Facebook or X.

use super::Detector;
use super::Family;
use super::Spec;
use super::settings;
use crate::evidence::Context;
use crate::evidence::Gap;
use crate::evidence::Outcome;
use crate::evidence::Toward;
use crate::knowledge::Claim;
use crate::profile::Profile;

pub(super) const SPEC: Spec = Spec::of::<ClaimedOperator>(
    "claimed_operator",
    Family::Identity,
    None,
    include_str!("claimed_operator.rs"),
);

settings! {
    ClaimedOperator {
        /// Share of requests under the robot's name from which the source claims to be it.
        claimed_min: f64 = 0.5,
    }
}

impl Detector for ClaimedOperator {
    fn evaluate(&self, profile: &Profile, context: &Context<'_>) -> Outcome {
        if profile.agents_logged == 0 {
            return Outcome::Abstain(Gap::NotLogged("the user agent is"));
        }
        let share = f64::from(profile.declared) / f64::from(profile.agents_logged);
        let robot = context.robot(profile).filter(|_| share >= self.claimed_min);
        let Some((robot, operator)) = robot.and_then(|robot| {
            let operator = context.knowledge.operator(robot)?;
            Some((robot, operator))
        }) else {
            return Outcome::Clear(share);
        };
        let toward = if robot.purpose.is_automated() {
            Toward::Automated
        } else {
            Toward::Crawler
        };
        let (name, owner) = (&robot.name, &operator.name);
        let why = match context.claim(profile) {
            Some(Claim::Proven) => format!("it is {name}: its address lies in {owner}'s networks"),
            Some(Claim::Disproved) => format!(
                "it says it is {name}, but its address lies in none of the networks {owner} published{}",
                operator
                    .published()
                    .map_or_else(String::new, |day| format!(" on {day}"))
            ),
            _ => {
                return Outcome::Abstain(Gap::NotKnown(
                    "the operator's networks of that time are not known; 'cattlegrid lists update' fetches them",
                ));
            }
        };
        Outcome::finding(toward, why, &[("claimed_share", share)])
    }
}
