//! Robots that have proven who they are, and programs that are neither browsers nor crawlers: their own ways past the limits of visitors.

use super::Asked;
use super::Decided;
use super::Decision;
use super::Policy;
use super::Reason;
use super::Ruling;
use super::Tally;
use crate::profile::Content;

/// Seconds that a robot waits which has had its pages of the day: by then some of them may have left it.
const ROBOT_RETRY_AFTER: u32 = 3600;
/// Requests in a day for the same target that a program may send: two a minute.
const REPEATS: u32 = 2880;
/// Targets of one program that are remembered for a day.
const TARGETS_MAX: u32 = 64;

impl Policy {
    /// A robot that has proven who it is, from wherever it comes: only the sum of its pages is limited.
    pub(super) fn proven(&self, crawler: u64, most: u32, asked: &Asked) -> Decided {
        let new = match asked.content {
            Content::Page => asked.is_counted,
            Content::Document => {
                asked.is_counted && self.fills_a_page(self.documents_of(crawler), asked.time)
            }
            Content::Part => false,
        };
        let new = u16::from(new);
        let pages = self
            .counters
            .count(Tally::crawler(crawler), asked.time, new);
        let (decision, reason) = match pages > most {
            true => (Decision::Throttle, Reason::ProvenTooMany),
            false => (Decision::Pass, Reason::Proven),
        };
        Decided {
            pages,
            retry_after: ROBOT_RETRY_AFTER,
            crawler: Some(crawler),
            ..Decided::by(decision, reason)
        }
    }

    /// Counts a page for a robot that nobody foresaw: it asked for a style sheet and got a page.
    pub fn count_for_crawler(&self, crawler: u64, time: u32) {
        self.counters.count(Tally::crawler(crawler), time, 1);
    }

    /// Documents of a robot, from wherever it comes.
    fn documents_of(&self, crawler: u64) -> Tally {
        Tally::crawler(self.counters.hash((crawler, "documents")))
    }

    /// How often a program has asked for the same before.
    pub(super) fn repeats(&self, asked: &Asked) -> u32 {
        if asked.target == 0 {
            return 0;
        }
        let target = self.target(asked);
        let known = self.counters.look(target, asked.time);
        if known > 0 {
            let new = u16::from(asked.is_counted);
            self.counters.count(target, asked.time, new);
        }
        known
    }

    /// Remembers what a program was given: what it was refused it must not get by asking again. A crawler under its name does not fill the
    /// table either.
    fn remember(&self, asked: &Asked) {
        let (counters, time, targets) = (&self.counters, asked.time, Tally::targets(asked.source));
        if asked.target != 0 && asked.is_counted && counters.look(targets, time) < TARGETS_MAX {
            counters.count(self.target(asked), time, 1);
            counters.count(targets, time, 1);
        }
    }

    fn target(&self, asked: &Asked) -> Tally {
        let source = Tally::source(asked.source);
        Tally::target(self.counters.hash((source, asked.target)))
    }

    /// A program that is no browser and solves no challenge: it may have as many pages as an unknown visitor, and the same ones again as
    /// often as monitors and feed readers ask. That is nothing to a crawler, which wants other pages.
    pub(super) fn tool(
        &self,
        asked: &Asked,
        ruling: Option<Ruling>,
        (pages, new): (u32, u16),
        repeats: u32,
    ) -> Decided {
        let of_group = self.count_group(asked, ruling, new);
        let is_over = match (repeats, asked.content) {
            _ if of_group > self.limits.k1 => true,
            // Webhooks come again and again, and get no pages for it.
            (1.., Content::Part) => repeats >= REPEATS || pages > self.limits.k1,
            (1.., _) => repeats >= REPEATS,
            (0, Content::Part) => pages > self.limits.k1,
            (0, _) => {
                pages > self.limits.k1 || self.crowded(asked.source, asked.time, new).is_some()
            }
        };
        if repeats == 0 && !is_over {
            self.remember(asked);
        }
        let (decision, reason) = match is_over {
            true => (Decision::Throttle, Reason::ToolTooMany),
            false => (Decision::Pass, Reason::Tool),
        };
        Decided {
            pages,
            retry_after: ROBOT_RETRY_AFTER,
            is_repeat: repeats > 0,
            ..Decided::by(decision, reason)
        }
    }
}
