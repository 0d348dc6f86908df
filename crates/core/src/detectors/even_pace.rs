//! Its pages follow each other at equal intervals, to a fifteenth of a second.
//!
//! # Why it matters
//! Most programs wait the same time between two pages: `sleep(2)`, whether they send requests themselves or drive a real browser. People
//! never keep a pace like that. Whole seconds hardly show it, but many logs have fractions of seconds: the gate's, Caddy's, HAProxy's, and
//! nginx's with `$msec`. Each interval between two pages of a visit is compared with the one before.
//!
//! # When it is wrong
//! A page that forwards itself to the next one after a fixed time looks the same. Pages that were requested before in the same visit
//! (a page that reloads itself, a screen that shows some pages in turn), pages with a query (a script in an open tab may call with a
//! different one each time) and pages opened at once in tabs are not compared. It does not
//! detect programs that wait for a random time, or that wait for slow responses. A source is never denied for its visits alone.

use super::Detector;
use super::Family;
use super::Spec;
use super::settings;
use crate::evidence::Context;
use crate::evidence::Gap;
use crate::evidence::Outcome;
use crate::profile::Profile;

pub(super) const SPEC: Spec = Spec::of::<EvenPace>(
    "even_pace",
    Family::Visits,
    None,
    include_str!("even_pace.rs"),
);

settings! {
    EvenPace {
        /// Stay silent below this many intervals.
        intervals_min: u32 = 8,
        /// Weight at most, in decibans.
        weight_max: f64 = 9.0,
    }
}

/// What one interval weighs that equals the one before, and one that does not. Of a program's, seven in ten are equal, because responses
/// take different times; of a person's who clicks on as fast as pages load, one in four; of other people's, one in twenty.
const EQUAL: f64 = 4.5;
const OTHER: f64 = -4.0;

impl Detector for EvenPace {
    fn evaluate(&self, profile: &Profile, _: &Context<'_>) -> Outcome {
        let visits = profile.visits().map_or(&[][..], |visits| visits.long());
        let paces = || visits.iter().map(|visit| visit.session.pace);
        let compared: u32 = paces().map(|pace| u32::from(pace.compared)).sum();
        let even: u32 = paces().map(|pace| u32::from(pace.even)).sum();
        if compared == 0 {
            return Outcome::Abstain(Gap::NotKnown(
                "no visit of five pages or more with fractions of seconds in the log",
            ));
        }
        if compared < self.intervals_min {
            return Outcome::Abstain(Gap::TooFew {
                what: "intervals between pages",
                have: compared,
                need: self.intervals_min,
            });
        }
        let decibans = f64::from(even) * EQUAL + f64::from(compared - even) * OTHER;
        let share = f64::from(even) / f64::from(compared);
        if decibans <= 0.0 {
            return Outcome::Clear(share);
        }
        let why = format!(
            "{even} of {compared} intervals between its pages equal the one before, to a fifteenth of a second"
        );
        Outcome::learned(decibans.min(self.weight_max), why, &[("equal", share)])
    }
}
