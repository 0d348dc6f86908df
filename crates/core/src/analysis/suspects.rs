//! Visits that go on and look like a robot's, for a gate that asks before anybody is judged.

use super::Analysis;
use crate::detectors::visit_probability;
use crate::policy::Suspect;
use crate::profile::Around;
use crate::profile::VISIT_PAGES_MIN;
use crate::site::Site;
use crate::table::Table;

impl Analysis {
    /// Follows the visits that go on, for [`Analysis::suspects`].
    pub fn watch(&mut self) {
        self.tables.iter_mut().for_each(|table| table.watch());
    }

    /// The visits among those with requests since the last call that are a robot's with this probability.
    pub fn suspects(&mut self, probability: f64) -> Vec<Suspect> {
        // 1 is off, whatever a forest says.
        if probability >= 1.0 || !self.tables.iter().any(Table::has_watched) {
            return Vec::new();
        }
        let around = self.around();
        let model = self.settings.model.as_deref();
        let model = model.and_then(|model| model.sessions.as_ref());
        let silence = self.settings.visit_silence;
        let mut suspects = Vec::new();
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
                    });
                }
            });
        }
        suspects
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
