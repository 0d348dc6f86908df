//! The totals of each window over all tables: what a source is compared with.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;

use rayon::prelude::*;

use crate::hosts::Hosts;
use crate::site::Site;
use crate::table::Table;
use crate::table::Window;
use crate::text::printable;

/// Totals by window over all tables, with the habits of the sources.
pub(super) fn sites(tables: &[Table], bins: usize) -> BTreeMap<Window, Site> {
    let parts: Vec<BTreeMap<Window, Site>> = tables
        .par_iter()
        .map(|table| {
            let mut sites: BTreeMap<Window, Site> = table.sites().iter().cloned().collect();
            table.for_each_busy(|window, profile| {
                sites
                    .entry(window)
                    .or_default()
                    .observe_habits(profile, bins)
            });
            sites
        })
        .collect();
    let mut sites: BTreeMap<Window, Site> = BTreeMap::new();
    for (window, site) in parts.into_iter().flatten() {
        sites.entry(window).or_default().absorb(&site);
    }
    sites.values_mut().for_each(Site::settle);
    sites
}

/// All windows of each host together, where there are several.
pub(super) fn whole_sites(sites: &BTreeMap<Window, Site>) -> BTreeMap<u16, Site> {
    let mut whole: BTreeMap<u16, Site> = BTreeMap::new();
    let numbers: BTreeSet<u32> = sites.keys().map(|window| window.number()).collect();
    if numbers.len() > 1 {
        for (window, site) in sites {
            whole.entry(window.host()).or_default().absorb(site);
        }
    }
    whole
}

/// Names of all hosts that are judged.
pub(super) fn host_names(hosts: &Hosts, sites: &BTreeMap<Window, Site>) -> BTreeMap<u16, Arc<str>> {
    let numbers = sites.keys().map(|window| window.host());
    numbers
        .map(|number| (number, printable(hosts.name(number)).into()))
        .collect()
}

/// Fields that no line of the log has, of those that rules use.
pub(super) fn not_logged(sites: &BTreeMap<Window, Site>) -> Vec<&'static str> {
    let mut logged = [
        ("referrer", false),
        ("user agent", false),
        ("session cookie", false),
    ];
    for site in sites.values() {
        for (known, here) in logged.iter_mut().zip(site.logged()) {
            known.1 |= here;
        }
    }
    logged
        .into_iter()
        .filter_map(|(name, is_logged)| (!is_logged).then_some(name))
        .collect()
}
