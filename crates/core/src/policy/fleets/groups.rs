//! Groups of clients with the same fingerprint: pages that passed, how many of them brought page parts, and from how many networks, in a
//! table of fixed size.
//!
//! Counts fade: what is a day old counts for a third, so that a steady group has as many pages as it requests in a day.

use super::super::fingerprint::Claim;

/// Seconds of a step in which counts fade.
const STEP: u32 = 900;
/// What is left of a count after a step: by this a steady group has the pages of a day.
const KEEP_DAY: f32 = 1.0 - STEP as f32 / 86_400.0;
/// The same for the pages of a week.
const KEEP_WEEK: f32 = 1.0 - STEP as f32 / (7.0 * 86_400.0);
/// Seconds for which networks are gathered; those of the period before count as well.
const NETWORKS_PERIOD: u32 = 43_200;
/// Groups at most, beside one for each claim. Where a row is full the one with fewest pages is forgotten.
const ROWS_BITS: u32 = 9;
const ROW_BITS: u32 = 3;

/// One group.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Group {
    /// A part of the hash; 0 for a free place.
    pub(super) tag: u32,
    step: u32,
    pub(super) pages: f32,
    /// Pages whose parts were loaded.
    pub(super) dressed: f32,
    /// Pages of a week.
    pub(super) of_week: f32,
    period: u32,
    /// A bit for each network, by its hash, of this period and the one before.
    networks: [u64; 2],
}

impl Group {
    /// Lets counts fade until a time.
    pub(super) fn move_to(&mut self, time: u32) {
        let step = time / STEP;
        if step > self.step {
            let steps = i32::try_from(step - self.step).unwrap_or(i32::MAX);
            let kept = KEEP_DAY.powi(steps);
            self.pages *= kept;
            self.dressed *= kept;
            self.of_week *= KEEP_WEEK.powi(steps);
            self.step = step;
        }
        let period = time / NETWORKS_PERIOD;
        if period > self.period {
            let before = match period - self.period {
                1 => self.networks[0],
                _ => 0,
            };
            self.networks = [0, before];
            self.period = period;
        }
    }

    fn add_page(&mut self, network: u8, time: u32) {
        self.move_to(time);
        self.pages += 1.0;
        self.of_week += 1.0;
        self.networks[0] |= 1 << (network & 63);
    }

    /// Networks that it comes from: exact for a few, 64 at most.
    pub(super) fn networks(&self) -> u32 {
        (self.networks[0] | self.networks[1]).count_ones()
    }

    /// Pages without parts.
    pub(super) fn bare(&self) -> f32 {
        (self.pages - self.dressed).max(0.0)
    }
}

/// Where the pages of a client are counted: in the groups of its claim, of its fingerprint, and of its fingerprint and agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seats {
    claim: u8,
    places: [u16; 2],
}

impl Seats {
    const CLAIM_BITS: u32 = 3;
    const PLACE_BITS: u32 = ROWS_BITS + ROW_BITS;
    pub(super) const BITS: u32 = Seats::CLAIM_BITS + 2 * Seats::PLACE_BITS;

    pub(super) fn bits(self) -> u64 {
        let [one, two] = self.places.map(u64::from);
        u64::from(self.claim)
            | one << Seats::CLAIM_BITS
            | two << (Seats::CLAIM_BITS + Seats::PLACE_BITS)
    }

    pub(super) fn from_bits(bits: u64) -> Seats {
        let place = |at: u32| (bits >> at & ((1 << Seats::PLACE_BITS) - 1)) as u16;
        Seats {
            claim: (bits & 7).min(Claim::COUNT as u64 - 1) as u8,
            places: [
                place(Seats::CLAIM_BITS),
                place(Seats::CLAIM_BITS + Seats::PLACE_BITS),
            ],
        }
    }
}

/// All groups.
#[derive(Debug)]
pub(super) struct Groups {
    /// Everybody.
    pub(super) site: Group,
    claims: [Group; Claim::COUNT],
    table: Box<[Group]>,
    /// When the first page was counted.
    since: Option<u32>,
}

impl Groups {
    pub(super) fn new() -> Groups {
        let claim = |number: usize| Group {
            tag: number as u32 + 1,
            ..Group::default()
        };
        Groups {
            site: Group::default(),
            claims: std::array::from_fn(claim),
            table: vec![Group::default(); 1 << (ROWS_BITS + ROW_BITS)].into(),
            since: None,
        }
    }

    /// The seats of a client with these keyed hashes of its fingerprint, and of its fingerprint and agent.
    pub(super) fn seats(&mut self, claim: Claim, hashes: [u64; 2], time: u32) -> Seats {
        self.site.move_to(time);
        self.claims[claim as usize].move_to(time);
        Seats {
            claim: claim as u8,
            places: hashes.map(|hash| self.place(hash, time)),
        }
    }

    /// The place of a group, which is made where there is none.
    fn place(&mut self, hash: u64, time: u32) -> u16 {
        let first = ((hash >> (64 - ROWS_BITS)) as usize) << ROW_BITS;
        let row = &mut self.table[first..first + (1 << ROW_BITS)];
        let tag = (hash as u32).max(1);
        let at = row.iter().position(|group| group.tag == tag);
        let at = at.unwrap_or_else(|| {
            row.iter_mut().for_each(|group| group.move_to(time));
            let groups = row.iter().enumerate();
            let worth = |group: &Group| match group.tag {
                0 => -1.0,
                _ => group.pages,
            };
            let least = groups.min_by(|(_, one), (_, two)| worth(one).total_cmp(&worth(two)));
            let at = least.map_or(0, |(at, _)| at);
            row[at] = Group {
                tag,
                ..Group::default()
            };
            at
        });
        row[at].move_to(time);
        (first + at) as u16
    }

    /// The groups of a client, widest first.
    pub(super) fn of(&self, seats: Seats) -> [&Group; 3] {
        let [one, two] = seats.places.map(|place| &self.table[usize::from(place)]);
        [&self.claims[usize::from(seats.claim)], one, two]
    }

    /// Counts a page.
    pub(super) fn add_page(&mut self, seats: Seats, network: u8, time: u32) {
        self.since.get_or_insert(time);
        self.site.add_page(network, time);
        self.claims[usize::from(seats.claim)].add_page(network, time);
        for place in seats.places {
            self.table[usize::from(place)].add_page(network, time);
        }
    }

    /// Counts the first part of a page.
    pub(super) fn add_part(&mut self, seats: Seats) {
        let claim = &mut self.claims[usize::from(seats.claim)];
        claim.dressed += 1.0;
        self.site.dressed += 1.0;
        for place in seats.places {
            self.table[usize::from(place)].dressed += 1.0;
        }
    }

    /// Pages of browsers whose header fields do not contradict them.
    pub(super) fn sound_pages(&self) -> f32 {
        const SOUND: [Claim; 4] = [Claim::Chromium, Claim::Gecko, Claim::WebKit, Claim::Browser];
        SOUND
            .iter()
            .map(|claim| self.claims[*claim as usize].pages)
            .sum()
    }

    /// Seconds since the first page.
    pub(super) fn age(&self, time: u32) -> u32 {
        self.since.map_or(0, |since| time.saturating_sub(since))
    }

    /// All groups of the table that have had a page.
    pub(super) fn all(&self) -> impl Iterator<Item = &Group> {
        self.table.iter().filter(|group| group.tag != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u32 = 1_900_000_000;

    #[test]
    fn a_steady_group_has_the_pages_of_a_day_and_of_a_week() {
        let mut group = Group::default();
        for hour in 0..24 * 60 {
            for _ in 0..10 {
                group.add_page(hour as u8, NOW + hour * 3600);
            }
        }
        assert!((230.0..250.0).contains(&group.pages), "{}", group.pages);
        assert!(
            (1600.0..1750.0).contains(&group.of_week),
            "{}",
            group.of_week
        );
        assert!((12..=24).contains(&group.networks()));
        group.move_to(NOW + 62 * 86_400);
        assert!(group.pages < 40.0 && group.networks() == 0);
    }

    #[test]
    fn heavy_groups_stay_where_many_light_ones_come() {
        let mut groups = Groups::new();
        let heavy = 0x0123_4567_89ab_cdef;
        for page in 0..100 {
            let seats = groups.seats(Claim::Gecko, [heavy, heavy + 1], NOW);
            groups.add_page(seats, page, NOW);
        }
        for number in 0..100_000_u64 {
            let hash = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let seats = groups.seats(Claim::Unknown, [hash, !hash], NOW);
            assert_eq!(Seats::from_bits(seats.bits()), seats);
            groups.add_page(seats, 0, NOW);
        }
        let seats = groups.seats(Claim::Gecko, [heavy, heavy + 1], NOW);
        let pages = groups.of(seats).map(|group| group.pages);
        assert_eq!(pages, [100.0; 3]);
    }
}
