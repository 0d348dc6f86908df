//! Judging a log again and again while it grows, without verdicts that come and go.

use std::collections::BTreeSet;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::Analysis;
use super::finish;
use crate::campaigns::Key;
use crate::evidence::Toward;
use crate::report::Band;
use crate::report::Report;
use crate::request::Source;

/// What the last judgement said.
#[derive(Debug, Default)]
pub(super) struct Before {
    /// What sources were called. Those who were nothing are not here.
    pub(super) sources: HashMap<Source, Toward, RandomState>,
    /// What campaigns were found by.
    pub(super) campaigns: BTreeSet<Key>,
}

impl Analysis {
    /// Judges what was seen so far, and remembers what everybody was called: at the next judgement a little less is enough to stay so.
    pub fn judge(&mut self) -> Report {
        let keeps = std::mem::replace(&mut self.settings.keep_bands, true);
        let (mut report, campaigns) = finish::report(self);
        self.settings.keep_bands = keeps;
        let leaning = |band: Band| match band {
            Band::People => Some(Toward::User),
            Band::Undecided | Band::Automated => None,
            Band::Legitimate | Band::Unproven | Band::Unauthorized | Band::Masquerading => {
                Some(Toward::Crawler)
            }
        };
        let bands = report.bands.iter();
        let sources = bands.filter_map(|(source, band)| Some((*source, leaning(*band)?)));
        self.before = Before {
            sources: sources.collect(),
            campaigns,
        };
        if !keeps {
            report.bands = Vec::new();
        }
        report
    }
}
