//! Pages fetched in ascending order.
//!
//! # Why it matters
//! A crawler works through a sorted list: by number, or by name. Of two pages a person looks at one after the other, the
//! second is as likely to come before the first. (PubCrawl, 3.1: H7.)
//!
//! # When it is wrong
//! Somebody leafing through numbered pages of one long text goes upwards too, and so does a moderator through a queue. They follow
//! links or load pages with their parts: then order weighs little, and it never decides alone. A crawler that shuffles its list
//! escapes.
//!
//! Only neighbours in one folder are compared, numbered pages and named ones apart. Twenty neighbours could ascend by
//! chance; the detector asks how many standard deviations the count lies above one half.

use super::Detector;
use super::Family;
use super::Spec;
use super::VoteSet;
use super::percent;
use super::settings;
use crate::evidence::Context;
use crate::evidence::Gap;
use crate::evidence::Measure;
use crate::evidence::Outcome;
use crate::profile::Pairs;
use crate::profile::Profile;

pub(super) const SPEC: Spec = Spec::of::<SuspiciousSequence>(
    "suspicious_sequence",
    Family::Headers,
    Some(VoteSet::New),
    include_str!("suspicious_sequence.rs"),
);

settings! {
    SuspiciousSequence {
        /// Stay silent below this many pairs of neighbours.
        pairs_min: u32 = 20,
        /// Share of ascending pairs above which it points to a crawler...
        ascending_max: f64 = 0.75,
        /// ...if that is also this many standard deviations above one half.
        deviations_min: f64 = 4.0,
    }
}

impl Detector for SuspiciousSequence {
    fn evaluate(&self, profile: &Profile, context: &Context<'_>) -> Outcome {
        let most = profile.named_pairs.all.max(profile.numbered_pairs.all);
        if most < self.pairs_min {
            return Outcome::Abstain(Gap::TooFew {
                what: "neighbouring pages of one folder",
                have: most,
                need: self.pairs_min,
            });
        }
        for (what, pairs) in [
            ("number", profile.numbered_pairs),
            ("name", profile.named_pairs),
        ] {
            if pairs.all < self.pairs_min || !self.ascends(pairs) {
                continue;
            }
            let why = format!(
                "it went through pages in ascending order by {what}: {} of {} steps",
                percent(share(pairs)),
                pairs.all
            );
            return Outcome::learned(
                weight(profile, pairs, context.sources),
                why,
                &[
                    ("ascending_share", share(pairs)),
                    ("pairs", f64::from(pairs.all)),
                ],
            );
        }
        Outcome::Clear(share(profile.numbered_pairs).max(share(profile.named_pairs)))
    }

    fn measures(&self, profile: &Profile, _: &Context<'_>) -> Vec<Measure> {
        let pairs = [profile.numbered_pairs, profile.named_pairs];
        let enough = pairs.iter().filter(|pairs| pairs.all >= self.pairs_min);
        // What could be chance counts as one half.
        let shares = enough.map(|pairs| match self.is_beyond_chance(*pairs) {
            true => share(*pairs),
            false => share(*pairs).min(0.5),
        });
        let highest = shares.max_by(f64::total_cmp);
        let measure = |share: f64| Measure::above("ascending_max", share);
        highest.map(measure).into_iter().collect()
    }
}

impl SuspiciousSequence {
    fn ascends(&self, pairs: Pairs) -> bool {
        share(pairs) > self.ascending_max && self.is_beyond_chance(pairs)
    }

    fn is_beyond_chance(&self, pairs: Pairs) -> bool {
        let all = f64::from(pairs.all);
        let deviations = (f64::from(pairs.ascending) - all / 2.0) / (all / 4.0).sqrt();
        deviations >= self.deviations_min
    }
}

/// Pages of half an hour up to which somebody may have read them.
const PAGES_READ: u32 = 15;
/// Steps in order from which nobody reads them all, and from which several people cannot have taken them by chance.
const STEPS_MANY: u32 = 500;
const STEPS_SHARED: u32 = 50;
/// Share of ascending steps from which a list was worked through without exception.
const ALWAYS: f64 = 0.95;

/// What order is worth: little for who reads as a browser does. Several browsers behind one address do not keep one order between
/// them, so that order under several agents is a program's; and so are hundreds of steps without exception.
fn weight(profile: &Profile, pairs: Pairs, sources: u32) -> f64 {
    // Of many people somebody always leafs through a list: that is a small part of their pages.
    let always = share(pairs) >= ALWAYS && pairs.all * 4 >= profile.pages;
    // Many sources that all go upwards are no readers: each would have a text of their own.
    if sources > 1 {
        return 9.0;
    }
    if always && profile.agents.count() >= 3 && pairs.all >= STEPS_SHARED {
        return 14.0;
    }
    if always && pairs.all >= STEPS_MANY {
        return 12.0;
    }
    let follows = profile.referrers_link * 2 > profile.referrers;
    let loads = profile.assets * 3 >= profile.pages;
    // Half an hour of reading has room for few pages.
    let reads = profile.pages < PAGES_READ * profile.bins.busy().max(1);
    match (follows || loads, reads) {
        (true, _) if !always => 1.0,
        (true, _) => 4.0,
        (false, true) => 1.5,
        (false, false) => 9.0,
    }
}

fn share(pairs: Pairs) -> f64 {
    if pairs.all == 0 {
        0.0
    } else {
        f64::from(pairs.ascending) / f64::from(pairs.all)
    }
}
