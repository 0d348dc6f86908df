//! The limits: how much an unknown source may take before it must show that it is no crawler.

use serde::Deserialize;

/// The `[policy]` part of the settings.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Pages in a day up to which an unknown source passes.
    pub k1: u32,
    /// Pages in a day from which a source is judged.
    pub k2: u32,
    /// Pages in a day up to which the unknown sources of one /24 or /48 network pass.
    pub network_pages: u32,
    /// Pages in a day of a signed-in person, before they must wait.
    pub user_pages: u32,
    /// Pages for which a clearance is good.
    pub clearance_pages: u32,
    /// Hours for which a clearance is good.
    pub clearance_hours: u32,
    /// Days for which a source that was judged a crawler is denied.
    pub deny_days: u32,
    /// Days for which a crowd of people behind one address, or a proven robot, is allowed.
    pub allow_days: u32,
    /// Pages in a day up to which a crowd is allowed at most; no crowd is allowed where this is not above `k2`.
    pub allow_pages_max: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            k1: 20,
            k2: 1000,
            network_pages: 1000,
            user_pages: 5000,
            clearance_pages: 500,
            clearance_hours: 24,
            deny_days: 7,
            allow_days: 30,
            allow_pages_max: 20_000,
        }
    }
}

impl Limits {
    /// What cannot be meant, in words.
    pub fn check(&self) -> Result<(), String> {
        if self.k1 > self.k2 {
            return Err(format!(
                "k1 = {} must not be above k2 = {}",
                self.k1, self.k2
            ));
        }
        for (name, days) in [
            ("deny_days", self.deny_days),
            ("allow_days", self.allow_days),
        ] {
            if !(1..=3660).contains(&days) {
                return Err(format!("{name} must lie between 1 and 3660"));
            }
        }
        if self.clearance_pages == 0 || self.clearance_hours == 0 {
            return Err(
                "a clearance must be good for a page and an hour at least, or nobody who solves a challenge gets in"
                    .to_owned(),
            );
        }
        Ok(())
    }

    /// The documented defaults, as a part of the settings file.
    pub fn manual() -> String {
        let limits = Limits::default();
        format!(
            "\n[policy]\n\
             # Page requests in 24 hours up to which an unknown source passes, and from which it is judged. In between, and while no\n\
             # verdict is known, it must solve a challenge ('cattlegrid plan' shows what other values would have cost).\n\
             k1 = {}\n\
             k2 = {}\n\
             # Page requests in 24 hours that the unknown sources of one /24 or /48 network may send together.\n\
             network_pages = {}\n\
             # Page requests in 24 hours of a signed-in person, before they must wait.\n\
             user_pages = {}\n\
             # How long a solved challenge is good for: pages, and hours.\n\
             clearance_pages = {}\n\
             clearance_hours = {}\n\
             # Days for which 'analyze --kb' and the gate deny crawlers, and allow crowds of people behind one address and proven robots.\n\
             deny_days = {}\n\
             allow_days = {}\n\
             # Page requests in 24 hours up to which a crowd can be allowed. Only sources above k2 get an entry, it grows by at most a\n\
             # quarter a week, and what is above it meets challenges. 0: no crowd is allowed.\n\
             allow_pages_max = {}\n",
            limits.k1,
            limits.k2,
            limits.network_pages,
            limits.user_pages,
            limits.clearance_pages,
            limits.clearance_hours,
            limits.deny_days,
            limits.allow_days,
            limits.allow_pages_max
        )
    }
}
