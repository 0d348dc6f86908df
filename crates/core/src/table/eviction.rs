//! What a table keeps where a log never ends: the windows that still count, and the sources that sent most.

use std::cmp::Reverse;

use super::Requests;
use super::Slot;
use super::Table;
use super::Window;
use crate::profile::Profile;
use crate::request::Source;
use crate::request::SourceKind;

/// What speaks for keeping a source. The one that sorts first is kept longest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Weight {
    requests: Reverse<u64>,
    last_seen: Reverse<u32>,
    source: Source,
}

impl Table {
    /// Forgets all windows before this one. True where there were any.
    pub fn forget(&mut self, before: u32) -> bool {
        let before = Window::new(before, 0);
        if self.sites.iter().all(|(window, _)| *window >= before) {
            return false;
        }
        self.sites.retain(|(window, _)| *window >= before);
        let windows = self.sites.iter().map(|(window, _)| *window);
        self.site_index = windows.zip(0..).collect();
        self.last_site = 0;
        self.retain(|slot| slot.window >= before);
        true
    }

    /// Forgets all windows of the sources that weigh less than this one. Totals of the log stay as they are.
    pub fn forget_lighter(&mut self, least: &Weight) {
        // Sorted by source for the look-up: few are kept of many.
        let mut kept: Vec<Source> = self
            .weights()
            .filter(|weight| weight <= least)
            .map(|weight| weight.source)
            .collect();
        kept.sort_unstable();
        self.retain(|slot| kept.binary_search(&slot.source()).is_ok());
    }

    /// Forgets all sources. Totals of the log stay as they are.
    pub fn forget_all(&mut self) {
        self.retain(|_| false);
    }

    /// Goes through the sources, each once, in no order.
    pub fn weights(&self) -> impl Iterator<Item = Weight> {
        let order = self.order();
        let mut at = 0;
        std::iter::from_fn(move || {
            let source = self.slots.get(*order.get(at)?).source();
            let (mut requests, mut last_seen) = (0, 0);
            while let Some(slot) = order.get(at).map(|at| self.slots.get(*at))
                && slot.source() == source
            {
                let (more, last) = self.activity(slot);
                requests += u64::from(more);
                last_seen = last_seen.max(last);
                at += 1;
            }
            Some(Weight {
                requests: Reverse(requests),
                last_seen: Reverse(last_seen),
                source,
            })
        })
    }

    /// Sources with their windows: never fewer than there are sources.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// True where nothing was taken in.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Sources that are no addresses.
    pub fn tokens(&self) -> impl Iterator<Item = u64> {
        let tokens = |slot: &&Slot| slot.kind == SourceKind::Token;
        self.slots.iter().filter(tokens).map(|slot| slot.source)
    }

    /// User agents of all sources, as far as each has its own count: the others are never asked for by name.
    pub fn agents(&self) -> impl Iterator<Item = u32> {
        self.slots.iter().flat_map(|slot| {
            let (one, few) = match &slot.body {
                Requests::One(single) => (Some(single.agent), None),
                Requests::Many(number) => (None, Some(self.profiles.get(*number).agents.known())),
            };
            one.into_iter().chain(few.into_iter().flatten())
        })
    }

    /// Requests of a slot, and the time of the latest.
    fn activity(&self, slot: &Slot) -> (u32, u32) {
        match &slot.body {
            Requests::One(single) => (1, single.time),
            Requests::Many(number) => {
                let profile = self.profiles.get(*number);
                (profile.requests, profile.last_seen)
            }
        }
    }

    /// Builds the table anew with the slots that are to stay, so that the memory of the others is given back.
    fn retain(&mut self, stays: impl Fn(&Slot) -> bool) {
        let mut kept = Table::new(self.hasher.clone());
        kept.sites = std::mem::take(&mut self.sites);
        kept.site_index = std::mem::take(&mut self.site_index);
        kept.last_site = self.last_site;
        let mut profiles: Vec<Option<Profile>> = self.profiles.take().map(Some).collect();
        let mut numbers: Vec<Option<u32>> = vec![None; profiles.len()];
        for mut slot in self.slots.take().filter(|slot| stays(slot)) {
            if let Requests::Many(number) = &mut slot.body {
                let profile = profiles[*number as usize].take().unwrap_or_default();
                let moved = kept.profiles.push(profile);
                numbers[*number as usize] = Some(moved);
                *number = moved;
            }
            kept.push(kept.hash(slot.source, slot.window), slot);
        }
        kept.visits = std::mem::take(&mut self.visits).renumber(&numbers);
        *self = kept;
    }
}

impl Slot {
    fn source(&self) -> Source {
        Source {
            kind: self.kind,
            value: self.source,
        }
    }
}
