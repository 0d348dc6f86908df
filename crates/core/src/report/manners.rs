//! Robots and robots.txt: who asked for it, how often, and who took what it forbids.

use super::RobotReport;
use super::Totals;

/// Whether a robot's name is known to be true.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Name {
    /// Its address is one of the operator's.
    Proven,
    /// Nothing proves or disproves it.
    Claimed,
    /// Its address is not one of the operator's.
    Borrowed,
}

impl Name {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Name::Proven => "proven",
            Name::Claimed => "claimed",
            Name::Borrowed => "borrowed",
        }
    }
}

/// What a robot did about robots.txt. Robots share the file among their addresses, so all sources of one count together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Manners {
    /// Its sources, and what they requested.
    pub totals: Totals,
    /// When the first and the last of its requests came.
    pub seen: (u32, u32),
    /// Requests for robots.txt.
    pub fetched: u64,
    /// When the first of these came; 0 where there is none.
    pub first_fetch: u32,
    /// Requests that robots.txt forbids.
    pub forbidden: u64,
}

impl Manners {
    /// Adds another part.
    pub fn absorb(&mut self, other: &Manners) {
        self.seen = match self.totals.requests {
            0 => other.seen,
            _ => (self.seen.0.min(other.seen.0), self.seen.1.max(other.seen.1)),
        };
        self.totals.absorb(other.totals);
        self.fetched += other.fetched;
        self.forbidden += other.forbidden;
        self.first_fetch = match (self.first_fetch, other.first_fetch) {
            (0, time) | (time, 0) => time,
            (one, other) => one.min(other),
        };
    }

    /// Seconds from its first request to its first request for robots.txt: 0 for a robot that asked for it first.
    pub fn asked_after(&self) -> Option<u32> {
        (self.fetched > 0).then(|| self.first_fetch.saturating_sub(self.seen.0))
    }
}

/// A robot and its manners.
#[derive(Debug, Clone)]
pub struct MannersReport {
    /// The robot.
    pub robot: RobotReport,
    /// Whether its name is known to be true.
    pub name: Name,
    /// What it did.
    pub manners: Manners,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sources_of_a_robot_share_what_one_of_them_fetched() {
        let source = |seen, fetched, first_fetch| Manners {
            totals: Totals {
                sources: 1,
                requests: 10,
                ..Totals::default()
            },
            seen,
            fetched,
            first_fetch,
            forbidden: 1,
        };
        let mut robot = Manners::default();
        assert_eq!(robot.asked_after(), None);
        robot.absorb(&source((200, 300), 0, 0));
        assert_eq!(robot.asked_after(), None);
        robot.absorb(&source((100, 250), 2, 100));
        robot.absorb(&source((260, 400), 1, 260));
        assert_eq!(
            (robot.seen, robot.fetched, robot.forbidden),
            ((100, 400), 3, 3)
        );
        assert_eq!(robot.asked_after(), Some(0));
    }
}
