//! Fleets: one program behind many addresses, each of them below the first limit.
//!
//! Clients are grouped by what they claim to be, by their fingerprint, and by fingerprint and agent. All users of a browser are such a
//! group as well, so its size says nothing. What counts is that header fields contradict the browser, that pages are loaded without their
//! parts where everybody else loads them, and that a group grows while the rest of the site does not. Only pages that pass are counted, so a
//! group is never held at its limit by the challenges that it meets.

mod groups;
mod visitors;

use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;

use self::groups::Group;
use self::groups::Groups;
use self::groups::Seats;
use self::visitors::Visitor;
use self::visitors::Visitors;
use super::Asked;
use super::Limits;
use super::Policy;
use super::counters::Tally;
use super::fingerprint::Browsers;
use super::fingerprint::Claim;
use super::fingerprint::Fingerprint;
use super::fingerprint::Loader;
use super::fingerprint::PageRequest;
use crate::profile::Content;
use crate::request::Network;
use crate::request::Source;

/// Networks of a fleet at least: what comes from fewer is one office or one provider, and has the limit of its network.
const NETWORKS_MIN: u32 = 8;
/// Pages of others that a group is compared with, at least.
const OTHERS_MIN: f32 = 50.0;
/// Share of the others' pages whose parts come through the gate, at least: on other sites parts say nothing.
const SHARE_MIN: f32 = 0.2;
/// A group whose pages have parts this many times less often than the others' is a fleet as a whole.
const CONTRAST: f32 = 4.0;
/// Pages without parts that a group may have, in multiples of what the others' share predicts.
const SPREAD: f32 = 2.0;
/// Share of the site's pages that clients with contradictory header fields may have in any case: extensions and odd proxies.
const FORGED_SHARE: f32 = 0.01;
/// How much more pages a group may have whose header fields contradict its browser but which loads parts as browsers do.
const DRESSED_TIMES: f32 = 10.0;
/// Pages from which growth is looked at, in multiples of `group_pages`.
const SURGE_TIMES: f32 = 10.0;
/// How many times its usual pages a group has in a surge, beyond the growth of the rest of the site.
const SURGE: f32 = 3.0;
/// Pages that scripts may load for each page with parts.
const SCRIPTS: u32 = 4;
/// Seconds after which what is usual is known.
const USUAL_AFTER: u32 = 7 * 86_400;

/// Why the clients of a group are challenged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// Header fields contradict the browser.
    Contradiction,
    /// The same, in one network.
    ContradictionInNetwork,
    /// The group loads pages without their parts.
    NoParts,
    /// Some clients of the group do, and this is one of them.
    FewParts,
    /// The group has grown, and the rest of the site has not.
    Surge,
}

impl Cause {
    /// The name in the log.
    pub fn name(self) -> &'static str {
        match self {
            Cause::Contradiction => "contradiction",
            Cause::ContradictionInNetwork => "contradiction_in_network",
            Cause::NoParts => "no_parts",
            Cause::FewParts => "few_parts",
            Cause::Surge => "surge",
        }
    }
}

/// A group that is over its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fleet {
    /// A number that names it, the same until the counters are lost.
    pub number: u32,
    /// Why its clients are challenged.
    pub cause: Cause,
    /// Its pages that passed in the last day.
    pub pages: u32,
}

/// Where a page is counted once it has been shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seat {
    /// The visitor, where the page is one that can have parts.
    visitor: Option<u64>,
    seats: Seats,
    network: u8,
}

/// All groups, and what their clients did lately. Threads share it.
#[derive(Debug)]
pub(super) struct Fleets {
    groups: Mutex<Groups>,
    visitors: Visitors,
    browsers: Browsers,
}

impl Fleets {
    pub(super) fn new() -> Fleets {
        Fleets {
            groups: Mutex::new(Groups::new()),
            visitors: Visitors::new(),
            browsers: Browsers::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Groups> {
        // A count that is off by a page is not wrong for anybody.
        self.groups.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How the pages of a group compare with those of all others.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Contrast {
    /// They do not differ, or there is nothing to compare with.
    None,
    /// Many have no parts, where this share of the others' pages has.
    Thin(f32),
    /// Nearly all have none.
    Bare(f32),
}

/// The share of pages with parts among all that are not of a group; nothing where there are too few, or parts say nothing on this site.
fn share_of_others(group: &Group, site: &Group) -> Option<f32> {
    let pages = site.pages - group.pages;
    let share = (site.dressed - group.dressed) / pages;
    (pages >= OTHERS_MIN && share >= SHARE_MIN).then_some(share.min(1.0))
}

impl Contrast {
    fn of(group: &Group, site: &Group, limits: &Limits) -> Contrast {
        let Some(share) = share_of_others(group, site) else {
            return Contrast::None;
        };
        let expected = group.dressed * (1.0 - share) / share;
        let most = SPREAD * expected + limits.group_pages as f32;
        if group.networks() < NETWORKS_MIN || group.bare() <= most {
            return Contrast::None;
        }
        match group.dressed * CONTRAST < share * group.pages {
            true => Contrast::Bare(share),
            false => Contrast::Thin(share),
        }
    }

    /// The same for a group of clients that have little in common: they are not taken for one program.
    fn of_claim(group: &Group, site: &Group, limits: &Limits) -> Contrast {
        match Contrast::of(group, site, limits) {
            Contrast::Bare(share) => Contrast::Thin(share),
            contrast => contrast,
        }
    }

    /// Why a visitor of such a group is challenged, whose source has had so many pages.
    fn cause(self, visitor: Visitor, pages: u32, limits: &Limits) -> Option<Cause> {
        // A source with ever new agents is a new visitor with each of them.
        let is_shifting = visitor == Visitor::default() && pages > limits.k1.div_ceil(4);
        match self {
            Contrast::Bare(share) if !visitor.is_dressed(share) => Some(Cause::NoParts),
            Contrast::Thin(share) if visitor.is_bare(share) || is_shifting => Some(Cause::FewParts),
            Contrast::None | Contrast::Bare(_) | Contrast::Thin(_) => None,
        }
    }
}

impl Groups {
    /// True where contradictions say something: a proxy that strips fields strips those of all browsers.
    fn has_sound_browsers(&self) -> bool {
        self.sound_pages() >= OTHERS_MIN
    }

    /// True where clients with contradictory header fields have had too many pages.
    fn is_over_forged(&self, forged: &Group, limits: &Limits) -> bool {
        let loads_parts = share_of_others(forged, &self.site)
            .is_some_and(|share| SPREAD * forged.dressed >= share * forged.pages);
        let most = (limits.group_pages as f32).max(FORGED_SHARE * self.site.pages);
        let most = match loads_parts {
            true => most * DRESSED_TIMES,
            false => most,
        };
        forged.networks() >= NETWORKS_MIN && forged.pages > most
    }

    /// True where a group has many times its usual pages, and the others have not.
    fn is_surging(&self, group: &Group, limits: &Limits, time: u32) -> bool {
        if group.pages <= SURGE_TIMES * limits.group_pages as f32
            || group.networks() < NETWORKS_MIN
            || self.age(time) < USUAL_AFTER
        {
            return false;
        }
        let growth = |pages: f32, of_week: f32| 7.0 * pages / of_week.max(1.0);
        let of_others = growth(
            self.site.pages - group.pages,
            self.site.of_week - group.of_week,
        );
        growth(group.pages, group.of_week) > SURGE * of_others.max(1.0)
    }

    /// The first of a client's groups that is over its limit in a way that concerns this visitor.
    fn fleet(
        &self,
        seats: Seats,
        fingerprint: &Fingerprint,
        (visitor, pages): (Visitor, u32),
        limits: &Limits,
        time: u32,
    ) -> Option<Fleet> {
        let of = |group: &Group, cause: Cause| Fleet {
            number: group.tag,
            cause,
            pages: group.pages as u32,
        };
        let [of_claim, of_fingerprint, of_agent] = self.of(seats);
        if fingerprint.claim == Claim::Forged
            && self.has_sound_browsers()
            && self.is_over_forged(of_claim, limits)
        {
            return Some(of(of_claim, Cause::Contradiction));
        }
        // The narrowest group says most.
        for group in [of_agent, of_fingerprint] {
            let contrast = Contrast::of(group, &self.site, limits);
            if let Some(cause) = contrast.cause(visitor, pages, limits) {
                return Some(of(group, cause));
            }
        }
        let contrast = Contrast::of_claim(of_claim, &self.site, limits);
        if let Some(cause) = contrast.cause(visitor, pages, limits) {
            return Some(of(of_claim, cause));
        }
        let is_surging = |group: &&&Group| self.is_surging(group, limits, time);
        let surging = [of_fingerprint, of_claim];
        let surging = surging.iter().find(is_surging);
        surging
            .filter(|_| pages > limits.k1.div_ceil(2))
            .map(|group| of(group, Cause::Surge))
    }
}

/// The network by which clients are told apart: what one customer of a provider has.
fn network(source: Source) -> Option<Network> {
    let mut networks = source.networks();
    networks.find(|network| matches!(network.length, 24 | 48))
}

impl Policy {
    /// The fingerprint of a page request; nothing where groups are not counted.
    pub fn fingerprint(&self, request: &PageRequest<'_>) -> Option<Fingerprint> {
        let is_on = self.limits.group_pages > 0;
        is_on.then(|| self.counters.fleets.browsers.fingerprint(request))
    }

    /// The fleet that a page request belongs to, or where its page is counted once it has been shown.
    pub(super) fn fleet(
        &self,
        asked: &Asked,
        pages: u32,
        new: u16,
    ) -> (Option<Fleet>, Option<Seat>) {
        let fingerprint = asked.fingerprint.as_ref();
        let is_on = self.limits.group_pages > 0 && asked.content == Content::Page;
        let fingerprint = fingerprint.filter(|_| is_on);
        let (Some(fingerprint), Some(network)) = (fingerprint, network(asked.source)) else {
            return (None, None);
        };
        let (counters, fleets) = (&self.counters, &self.counters.fleets);
        let visitor = counters.hash((Tally::source(asked.source), asked.agent));
        let did = fleets.visitors.look(visitor, asked.time);
        let of_fingerprint = counters.hash((fingerprint.claim, fingerprint.digest));
        let hashes = [of_fingerprint, counters.hash((of_fingerprint, asked.agent))];
        // What a script loads has no parts: it belongs to the page that it runs in.
        let is_script = fingerprint.loader == Loader::Script;
        let page = fleets.visitors.seats(visitor);
        // A page that was loaded like others stands for a few of them, or one style sheet would pay for all pages of an address.
        let most = SCRIPTS * did.dressed + self.limits.k1.div_ceil(4);
        let page = page.filter(|_| is_script && did.pages > 0 && pages <= most);
        let mut groups = fleets.lock();
        let own = groups.seats(fingerprint.claim, hashes, asked.time);
        let seats = page.unwrap_or(own);
        let fleet = groups.fleet(seats, fingerprint, (did, pages), &self.limits, asked.time);
        // Its page may have been loaded long ago. Who never loads one gets little all the same.
        let is_borne = is_script && page.is_none() && pages <= self.limits.k1.div_ceil(4);
        let fleet = fleet.filter(|fleet| !is_borne || fleet.cause == Cause::Contradiction);
        let is_judged = fingerprint.claim == Claim::Forged && groups.has_sound_browsers();
        drop(groups);
        let of_network =
            Tally::group_in_network(counters.hash((network.first.value, network.length)));
        let fleet = fleet.or_else(|| {
            let pages = is_judged.then(|| counters.count(of_network, asked.time, new))?;
            (pages > self.limits.network_pages.div_ceil(4)).then_some(Fleet {
                number: of_fingerprint as u32,
                cause: Cause::ContradictionInNetwork,
                pages,
            })
        });
        let seat = Seat {
            visitor: (!is_script || did.pages > 0).then_some(visitor),
            seats,
            network: counters.hash(network.first.value) as u8,
        };
        (fleet, Some(seat).filter(|_| new > 0 && page.is_none()))
    }

    /// Counts a page of a group: it passed, and it was a page.
    pub fn count_shown(&self, seat: &Seat, time: u32) {
        let fleets = &self.counters.fleets;
        if let Some(visitor) = seat.visitor {
            fleets.visitors.note_page(visitor, seat.seats, time);
        }
        fleets.lock().add_page(seat.seats, seat.network, time);
    }

    /// Counts a part of a page for the group of the visitor's last page.
    #[inline]
    pub fn count_part(&self, source: Source, agent: u32) {
        if self.limits.group_pages == 0 {
            return;
        }
        let visitor = self.counters.hash((Tally::source(source), agent));
        let fleets = &self.counters.fleets;
        if let Some(seats) = fleets.visitors.note_part(visitor) {
            fleets.lock().add_part(seats);
        }
    }

    /// Counts a page that its request did not look like for the group of the visitor's last page.
    pub fn count_disguised(&self, source: Source, agent: u32, time: u32) {
        if self.limits.group_pages == 0 {
            return;
        }
        let visitor = self.counters.hash((Tally::source(source), agent));
        if let Some(seats) = self.counters.fleets.visitors.seats(visitor) {
            let network = network(source).map_or(0, |network| network.first.value);
            let seat = Seat {
                visitor: Some(visitor),
                seats,
                network: self.counters.hash(network) as u8,
            };
            self.count_shown(&seat, time);
        }
    }

    /// Groups whose pages have fewer parts than those of others by far, now.
    pub fn fleets(&self) -> usize {
        let groups = self.counters.fleets.lock();
        let is_fleet =
            |group: &&Group| Contrast::of(group, &groups.site, &self.limits) != Contrast::None;
        groups.all().filter(is_fleet).count()
    }
}

#[cfg(test)]
mod tests;
