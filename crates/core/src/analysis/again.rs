//! Judging a log again and again while it grows, without crawlers that come and go.

use std::collections::BTreeSet;

use foldhash::fast::RandomState;
use hashbrown::HashSet;

use super::Analysis;
use super::finish;
use crate::campaigns::Key;
use crate::report::Report;
use crate::request::Source;
use crate::table::Window;

/// What the last judgement said.
#[derive(Debug, Default)]
pub(super) struct Before {
    /// Windows in which sources were crawlers.
    pub(super) sources: HashSet<(Source, Window), RandomState>,
    /// What campaigns were found by.
    pub(super) campaigns: BTreeSet<Key>,
}

impl Analysis {
    /// Judges what was seen so far, and remembers who was a crawler: at the next judgement a little less is enough to stay one.
    pub fn judge(&mut self) -> Report {
        let (report, before) = finish::report(self);
        self.before = before;
        report
    }
}
