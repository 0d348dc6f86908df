//! Fetched robots.txt.
//!
//! # Why it matters
//! Robots ask for robots.txt to learn where they may go; browsers never do. Under a browser's name it gives a polite crawler
//! away. (NRIC log study.)
//!
//! # When it is wrong
//! An owner or a curious person looks at the file by hand: one or two requests by a source that loads pages with their images do not
//! count. A program behind the same address as many people fetches it for them all: it counts only where it is a good part of what
//! the source does.

use super::Detector;
use super::Family;
use super::Spec;
use super::settings;
use crate::evidence::Context;
use crate::evidence::Outcome;
use crate::evidence::Toward;
use crate::profile::Profile;

pub(super) const SPEC: Spec = Spec::of::<FetchedRobotsTxt>(
    "fetched_robots_txt",
    Family::Headers,
    None,
    include_str!("fetched_robots_txt.rs"),
);

settings! {
    FetchedRobotsTxt {
        /// Requests for each fetch of robots.txt above which it is likely somebody else's behind the same address.
        requests_max: u32 = 500,
        /// Fetches up to which it may be a person's look, where pages are loaded with their parts as a browser does.
        by_hand_max: u32 = 2,
    }
}

impl Detector for FetchedRobotsTxt {
    fn evaluate(&self, profile: &Profile, _: &Context<'_>) -> Outcome {
        let fetched = u32::from(profile.robots);
        let is_browser = profile.images > 0 && profile.assets_of_pages * 2 >= profile.shown.max(1);
        // A person who looks at the file does so with the browser.
        let by_hand = fetched <= self.by_hand_max && is_browser && profile.declared == 0;
        if fetched == 0 || by_hand || profile.requests / fetched > self.requests_max {
            return Outcome::Clear(f64::from(fetched));
        }
        let times = if fetched == 1 {
            "once".to_owned()
        } else {
            format!("{fetched} times")
        };
        Outcome::finding(
            Toward::Crawler,
            format!("it fetched robots.txt {times}, as robots do"),
            &[("fetched", f64::from(fetched))],
        )
    }
}
