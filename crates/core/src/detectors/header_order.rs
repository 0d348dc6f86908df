//! Header fields in another order than the claimed browser sends them.
//!
//! # Why it matters
//! Every browser sends its header fields in an order of its own: Chrome and its relatives `User-Agent`, `Accept`, `Accept-Encoding`,
//! `Accept-Language`; Firefox `User-Agent`, `Accept`, `Accept-Language`, `Accept-Encoding`. HTTP libraries send them in the order in
//! which a program sets them, in alphabetical order, or their own fields first. (Checked with Chromium 156 and Firefox 153; Safari's order
//! has changed too often.)
//!
//! # When it is wrong
//! Proxies, virus scanners and extensions that set a field may change the order. The gate logs it only for page loads over HTTP/1 from
//! clients that connect to it directly; HTTP/2 and requests of scripts are not judged, and neither are apps or browsers with a name of
//! their own. Where many sources have another order, something before the gate changes it, and the detector abstains. It is too weak for
//! a verdict.

use super::Detector;
use super::Family;
use super::Spec;
use super::percent;
use super::settings;
use crate::evidence::Context;
use crate::evidence::Gap;
use crate::evidence::Outcome;
use crate::profile::Order;
use crate::profile::Profile;

pub(super) const SPEC: Spec = Spec::of::<HeaderOrder>(
    "header_order",
    Family::Headers,
    None,
    include_str!("header_order.rs"),
);

settings! {
    HeaderOrder {
        /// Stay silent below this many page requests.
        requests_min: u32 = 3,
        /// Share of its page requests with another order from which it points to a crawler.
        share_min: f64 = 0.8,
        /// Share of the site's sources with another order from which the detector abstains.
        site_max: f64 = 0.5,
    }
}

/// What another order is worth to who loads nothing that a browser shows, 5 to 1, and to others, who may be people behind a proxy.
const OTHER: f64 = 7.0;
const OTHER_SHOWS: f64 = 3.0;

impl Detector for HeaderOrder {
    fn evaluate(&self, profile: &Profile, context: &Context<'_>) -> Outcome {
        let logged = profile.signs().filter(|signs| signs.order_judged() > 0);
        let Some(signs) = logged else {
            return Outcome::Abstain(Gap::NotKnown(
                "no page request of a known browser with logged order of header fields",
            ));
        };
        let judged = signs.order_judged();
        if judged < self.requests_min {
            return Outcome::Abstain(Gap::TooFew {
                what: "page requests of a known browser",
                have: judged,
                need: self.requests_min,
            });
        }
        let share = f64::from(signs.order(Order::Other)) / f64::from(judged);
        if share < self.share_min {
            return Outcome::Clear(share);
        }
        let odd = context.site.customs().headers.order_odd.share();
        if odd.is_none_or(|odd| odd > self.site_max) {
            return Outcome::Abstain(Gap::NoContrast(
                "too few sources to compare with, or many send header fields in another order here: a proxy may change it",
            ));
        }
        let why = format!(
            "{} of its {judged} page requests have their header fields in another order than its browser",
            percent(share)
        );
        let decibans = match profile.shows_pages() {
            true => OTHER_SHOWS,
            false => OTHER,
        };
        Outcome::learned(decibans, why, &[("other", share)])
    }
}
