//! Robots that name themselves, by what they did about robots.txt.

use std::collections::BTreeMap;

use super::Court;
use super::Trial;
use crate::profile::Profile;
use crate::report::Manners;
use crate::report::MannersReport;
use crate::report::Name;
use crate::report::RobotReport;
use crate::report::Totals;
use crate::verdict::Kind;

/// Robots by number, with what is known of their names.
pub(super) type ByRobot = BTreeMap<(u16, Name), Manners>;

/// What a source did in one window.
pub(super) fn manners(profile: &Profile, totals: Totals) -> Manners {
    let oddities = profile.oddities();
    Manners {
        totals,
        seen: (profile.first_seen, profile.last_seen),
        fetched: u64::from(profile.robots),
        first_fetch: oddities.robots_txt_at,
        forbidden: u64::from(oddities.forbidden),
    }
}

/// Adds a source whose verdict is that of a robot's name.
pub(super) fn add(decisive: &Trial, trials: &[Trial], robots: &mut ByRobot) {
    let Some(robot) = decisive.robot else { return };
    let verdict = &decisive.verdict;
    let name = match (verdict.decided_by, verdict.kind) {
        (_, Some(Kind::Legitimate)) => Name::Proven,
        (Some("claimed_operator"), _) => Name::Borrowed,
        _ => Name::Claimed,
    };
    let manners = robots.entry((robot, name)).or_default();
    for trial in trials {
        manners.absorb(&trial.manners);
    }
    manners.totals.sources += 1;
}

impl Court<'_> {
    /// The robots with their names, most requests first.
    pub(super) fn describe_manners(&self, robots: &ByRobot) -> Vec<MannersReport> {
        let described = robots.iter().filter_map(|((robot, name), manners)| {
            Some(MannersReport {
                robot: RobotReport::of(self.knowledge.robots.robot(*robot)?, self.knowledge),
                name: *name,
                manners: *manners,
            })
        });
        let mut described: Vec<MannersReport> = described.collect();
        described.sort_by(|a, b| {
            let by_requests = b.manners.totals.requests.cmp(&a.manners.totals.requests);
            by_requests
                .then_with(|| a.robot.name.cmp(&b.robot.name))
                .then_with(|| a.name.cmp(&b.name))
        });
        described
    }
}
