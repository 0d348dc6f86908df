//! Visits of one source: a session, and whose it is.

use super::Record;
use super::Session;

/// Page requests from which a visit is kept: fewer tell nothing (RTD).
pub const VISIT_PAGES_MIN: u16 = 5;
/// Visits of one source that are kept, the latest ones.
const VISITS_MAX: usize = 3;

/// A visit of one client of a source.
///
/// Many people may share an address. Only one of them is followed at a time, told by the user agent, and by a session cookie once it has
/// come twice: requests of others belong to no visit.
#[derive(Debug, Clone, Copy, Default)]
pub struct Visit {
    /// What it measures.
    pub session: Session,
    /// Hash of the client's user agent.
    pub agent: u32,
    /// Hash of the first session cookie; 0 for none.
    cookie: u32,
    /// That cookie came twice.
    is_known: bool,
}

impl Visit {
    /// A visit that begins with this request.
    pub(crate) fn begin(record: &Record) -> Visit {
        let mut visit = Visit {
            agent: record.agent,
            ..Visit::default()
        };
        visit.observe(record);
        visit
    }

    /// Takes in a request, if it is the same client's.
    pub(crate) fn observe(&mut self, record: &Record) {
        if record.agent != self.agent {
            return;
        }
        if record.session != 0 {
            if self.is_known && record.session != self.cookie {
                return;
            }
            self.is_known |= self.cookie == record.session;
            if self.cookie == 0 {
                self.cookie = record.session;
            }
        }
        self.session.observe(record);
    }
}

/// The latest long visits of a source, and what else is known of its visits.
#[derive(Debug, Clone, Default)]
pub struct Visits {
    long: Vec<Visit>,
    /// Visits that ended with parts of pages, and no page.
    pub pageless: u16,
}

impl Visits {
    /// The latest long visits.
    pub fn long(&self) -> &[Visit] {
        &self.long
    }

    pub(crate) fn latest_mut(&mut self) -> Option<&mut Visit> {
        self.long.last_mut()
    }

    /// Keeps a visit that has become long.
    pub(crate) fn keep(&mut self, visit: Visit) {
        if self.long.len() == VISITS_MAX {
            self.long.remove(0);
        }
        self.long.push(visit);
    }

    /// Notes a visit with parts of pages, and no page so far.
    pub(crate) fn note_pageless(&mut self) {
        self.pageless = self.pageless.saturating_add(1);
    }

    /// Notes that such a visit has got a page after all.
    pub(crate) fn take_back_pageless(&mut self) {
        self.pageless = self.pageless.saturating_sub(1);
    }

    pub(super) fn absorb(&mut self, other: &Visits) {
        other.long.iter().for_each(|visit| self.keep(*visit));
        self.pageless = self.pageless.saturating_add(other.pageless);
    }
}
