//! How likely a source is a person, by its evidence and by how many sources of its size are people on this site.
//!
//! Evidence in decibans says how much likelier a crawler is than before; what was before differs from site to site, and heavy sources
//! are crawlers more often than light ones. So the odds are taken from the log itself: clear crawlers against clear people among the
//! sources with about as many page views. Robots that name themselves and members of campaigns are left out: undecided sources are
//! neither. On simulated worlds that no model was trained on, this brought the page views of people from +8 % of the truth to +3 %
//! where undecided sources are mostly crawlers, and left them alone where they are mostly people (docs/report.md).

use cattlegrid_core::report::Judged;
use cattlegrid_core::verdict::Class;

/// Decibans from which a source counts as a clear crawler, and down to which as a clear person.
const CLEAR_CRAWLER: f32 = 15.0;
const CLEAR_PERSON: f32 = -10.0;
/// Sources that stand for what the whole site says, in a size that has few of its own.
const WHOLE_SITE: f64 = 2.0;
/// Sizes: each reaches four times as far as the one before.
const SIZES: usize = 17;

/// Clear crawlers and people by size.
#[derive(Debug, Default)]
pub(crate) struct Chances {
    crawlers: [u64; SIZES],
    people: [u64; SIZES],
}

impl Chances {
    pub(crate) fn count(&mut self, judged: &Judged, views: u64) {
        let counts = match judged.class {
            Class::User if judged.decibans <= CLEAR_PERSON => &mut self.people,
            Class::Crawler | Class::Automated if judged.decibans >= CLEAR_CRAWLER => {
                &mut self.crawlers
            }
            _ => return,
        };
        if !is_named(judged) && !is_member(judged) {
            counts[size(views)] += 1;
        }
    }

    /// The probability that a source is a person.
    pub(crate) fn person(&self, judged: &Judged, views: u64) -> f64 {
        if is_named(judged) || is_member(judged) {
            return 0.0;
        }
        let all = |counts: &[u64]| counts.iter().sum::<u64>() as f64;
        let (crawlers, people) = (all(&self.crawlers), all(&self.people));
        let share = (crawlers + 0.5) / (crawlers + people + 1.0);
        let at = size(views);
        let crawlers = self.crawlers[at] as f64 + WHOLE_SITE * share;
        let people = self.people[at] as f64 + WHOLE_SITE * (1.0 - share);
        let odds = crawlers / people * 10_f64.powf(f64::from(judged.decibans) / 10.0);
        1.0 / (1.0 + odds)
    }
}

fn size(views: u64) -> usize {
    (views.max(1).ilog2() / 2).min(SIZES as u32 - 1) as usize
}

/// True for a robot that names itself, or is known by its network.
pub(crate) fn is_named(judged: &Judged) -> bool {
    judged.weight("declared_robot") > 0.0 || judged.weight("claimed_operator") > 0.0
}

fn is_member(judged: &Judged) -> bool {
    judged.weight("campaign_member") > 0.0 || judged.decided_by == Some("campaign")
}
