//! Pages that nobody foresaw: a crawler may use POST, or ask for `/page/7/x.css`. What they are is seen in the response.

use super::Clearance;
use super::Policy;
use super::Tally;
use crate::request::Source;

/// What came of a page that nobody foresaw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Unforeseen {
    /// It was counted, and can be shown.
    Counted,
    /// Its sender has had so many pages meanwhile that it is not shown.
    TooMany,
}

impl Policy {
    /// Counts a page that nobody foresaw: it came in answer to what did not look like a request for one. Many such requests may have been
    /// let pass before the first of them was answered.
    pub fn count_page(
        &self,
        source: Source,
        clearance: Option<&Clearance>,
        time: u32,
    ) -> Unforeseen {
        let k1 = self.limits.k1;
        let pages = self.counters.count(Tally::source(source), time, 1);
        if let Some(clearance) = clearance {
            let budgets = self.budgets(clearance).into_iter().flatten();
            let over = budgets
                .map(|(tally, most)| self.counters.count(tally, time, 1).saturating_sub(most));
            // One that is used up is none.
            match over.max().unwrap_or(0) {
                0 => return Unforeseen::Counted,
                over if over > k1 => return Unforeseen::TooMany,
                _ => {}
            }
        }
        if pages <= k1 {
            self.crowded(source, time, 1);
        }
        match pages > k1.saturating_mul(2) && clearance.is_none() {
            true => Unforeseen::TooMany,
            false => Unforeseen::Counted,
        }
    }

    /// Counts a document that nobody foresaw.
    pub fn count_document(
        &self,
        source: Source,
        clearance: Option<&Clearance>,
        time: u32,
    ) -> Unforeseen {
        match self.fills_a_page(Tally::documents(source), time) {
            true => self.count_page(source, clearance, time),
            false => Unforeseen::Counted,
        }
    }

    /// Counts a part of a page that was answered with an error page: the first ones are a site's fault, from then on they are pages.
    pub fn count_broken_part(
        &self,
        source: Source,
        clearance: Option<&Clearance>,
        time: u32,
    ) -> Unforeseen {
        let broken = self.counters.count(Tally::broken_parts(source), time, 1);
        match broken > self.limits.broken_parts {
            true => self.count_page(source, clearance, time),
            false => Unforeseen::Counted,
        }
    }
}
