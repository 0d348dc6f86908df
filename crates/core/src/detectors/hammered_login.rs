//! Passwords are sent to a log-in form again and again.
//!
//! # Why it matters
//! A person who forgets a password tries a few times, on a page that the browser loads with its parts. A program that guesses passwords
//! sends hundreds, and nothing else.
//!
//! # When it is wrong
//! An app that signs in for every request. A shared address of many people who all sign in loads the form's page and its parts, and is
//! left alone.

use super::Detector;
use super::Family;
use super::Spec;
use super::settings;
use crate::evidence::Context;
use crate::evidence::Outcome;
use crate::profile::Profile;

pub(super) const SPEC: Spec = Spec::of::<HammeredLogin>(
    "hammered_login",
    Family::Headers,
    None,
    include_str!("hammered_login.rs"),
);

settings! {
    HammeredLogin {
        /// Passwords sent from which it points to a crawler...
        logins_min: u32 = 8,
        /// ...or, where it loads no part of any page, from which it does so a little...
        bare_min: u32 = 3,
        /// ...if they are this share of its requests (parts of pages left aside)...
        share_min: f64 = 0.25,
        /// ...and there are at most this many parts of pages for each.
        parts_max: f64 = 1.0,
    }
}

/// Decibans for so many or more: eight may be a bad day, twenty are a list of passwords.
const DECIBANS: [(u32, f64); 3] = [(20, 16.0), (13, 12.0), (8, 8.0)];
/// What a few are worth without any part of a page: the form was open already, or there was none.
const DECIBANS_BARE: f64 = 4.0;

impl Detector for HammeredLogin {
    fn evaluate(&self, profile: &Profile, _: &Context<'_>) -> Outcome {
        let logins = profile.oddities().logins;
        let others = profile.requests.saturating_sub(profile.assets).max(1);
        let share = f64::from(logins) / f64::from(others);
        let parts = f64::from(profile.assets) / f64::from(logins.max(1));
        let least = match profile.assets {
            0 => self.bare_min.min(self.logins_min),
            _ => self.logins_min,
        };
        if logins < least.max(1) || share < self.share_min || parts > self.parts_max {
            return Outcome::Clear(share);
        }
        let decibans = DECIBANS.iter().find(|(from, _)| logins >= *from);
        Outcome::learned(
            decibans.map_or(DECIBANS_BARE, |(_, decibans)| *decibans),
            format!("{logins} of its {others} requests sent a password to a log-in form"),
            &[("logins", f64::from(logins)), ("share", share)],
        )
    }
}
