//! Visits that go on and look like a robot's, and clients that follow traps, for a gate that asks before anybody is judged.

use super::Analysis;
use crate::detectors::visit_probability;
use crate::policy::DAY;
use crate::policy::Sign;
use crate::policy::Suspect;
use crate::profile::Around;
use crate::profile::Record;
use crate::profile::VISIT_PAGES_MIN;
use crate::site::Site;
use crate::table::Table;

impl Analysis {
    /// Follows the visits that go on, for [`Analysis::suspects`].
    pub fn watch(&mut self) {
        self.tables.iter_mut().for_each(|table| table.watch());
    }

    /// Clients that followed traps since the last call, and those whose visits are a robot's with this probability, among the visits with
    /// requests since then.
    pub fn suspects(&mut self, probability: f64) -> Vec<Suspect> {
        let mut suspects = self.trapped();
        // 1 is off, whatever a forest says.
        if probability >= 1.0 || !self.tables.iter().any(Table::has_watched) {
            return suspects;
        }
        let around = self.around();
        let model = self.settings.model.as_deref();
        let model = model.and_then(|model| model.sessions.as_ref());
        let silence = self.settings.visit_silence;
        for table in &mut self.tables {
            table.take_watched(|source, visit| {
                let Some(model) = model.filter(|_| visit.session.pages >= VISIT_PAGES_MIN) else {
                    return;
                };
                if visit_probability(model, &visit.session.values(&around)) >= probability {
                    suspects.push(Suspect {
                        source,
                        agent: visit.agent,
                        until: visit.session.last.saturating_add(silence),
                        sign: Sign::Visit,
                    });
                }
            });
        }
        suspects
    }

    /// Clients that followed traps since the last call, for a day.
    fn trapped(&mut self) -> Vec<Suspect> {
        let tables = self.tables.iter_mut();
        let records = tables.flat_map(Table::take_trapped);
        let suspect = |record: Record| Suspect {
            source: record.source(),
            agent: record.agent,
            until: record.time.saturating_add(DAY),
            sign: Sign::Trap,
        };
        records.map(suspect).collect()
    }

    /// What the latest window of the log shows of everybody.
    fn around(&self) -> Around {
        let sites = || self.tables.iter().flat_map(|table| table.sites());
        let latest = sites().map(|(window, _)| window.number()).max();
        let mut whole = Site::default();
        for (window, site) in sites() {
            if Some(window.number()) == latest {
                whole.count_kinds(site);
            }
        }
        whole.around()
    }
}
