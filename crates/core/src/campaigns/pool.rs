//! Many sources added up, and what shows only in all of them.

use crate::evidence::Toward;
use crate::profile::Distinct;
use crate::profile::Profile;
use crate::request::Source;
use crate::verdict::Evidence;

/// Counters of the sketch that tells how often pages meet: its error is a sixth.
const COUNTERS: usize = 64;
/// Counters that are moved at once.
const ROW: usize = 8;

/// One sign for each bit of a byte: eight counters are moved at once.
static SIGNS: [[i32; 8]; 256] = {
    let mut signs = [[-1; 8]; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut bit = 0;
        while bit < 8 {
            if byte >> bit & 1 == 1 {
                signs[byte][bit] = 1;
            }
            bit += 1;
        }
        byte += 1;
    }
    signs
};

/// The sum of some sources in one window.
#[derive(Debug, Clone, Default)]
pub(super) struct Pool {
    /// All requests together, as if of one source.
    pub(super) profile: Profile,
    pub(super) sums: Sums,
}

/// What is summed up beside the profile; small enough to be kept of everybody.
#[derive(Debug, Clone, Default)]
pub(super) struct Sums {
    pub(super) sources: u32,
    /// Sources with two pages or more, and of these the ones that loaded a part of one, or followed a link.
    readers: u32,
    loaders: u32,
    followers: u32,
    /// Requests, and their squares: how alike the sources are in volume.
    requests: f64,
    squares: f64,
    /// Busy half hours of all sources.
    pub(super) busy: u64,
    /// Pages of sources that have few, each counted once for a source.
    pages: f64,
    counters: [[i32; ROW]; COUNTERS / ROW],
    networks: Distinct,
}

/// Pages of a source from which its habits show.
pub(super) const PAGES_MIN: u32 = 2;

impl Sums {
    pub(super) fn add(&mut self, source: Source, profile: &Profile) {
        self.sources += 1;
        if profile.pages >= PAGES_MIN {
            self.readers += 1;
            self.loaders += u32::from(loads_parts(profile));
            self.followers += u32::from(profile.referrers_link > 0);
        }
        let requests = f64::from(profile.requests);
        self.requests += requests;
        self.squares += requests * requests;
        self.busy += u64::from(profile.bins.busy());
        let value = source.network().unwrap_or(source).value;
        self.networks
            .insert((value.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32);
        for page in profile.distinct_pages.few().unwrap_or_default() {
            self.pages += 1.0;
            let signs = u64::from(*page).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let signs = (signs ^ signs >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
            for (byte, counters) in signs.to_le_bytes().into_iter().zip(&mut self.counters) {
                for (counter, sign) in counters.iter_mut().zip(SIGNS[usize::from(byte)]) {
                    *counter = counter.wrapping_add(sign);
                }
            }
        }
    }

    pub(super) fn absorb(&mut self, other: &Sums) {
        self.sources += other.sources;
        self.readers += other.readers;
        self.loaders += other.loaders;
        self.followers += other.followers;
        self.requests += other.requests;
        self.squares += other.squares;
        self.busy += other.busy;
        self.pages += other.pages;
        let theirs = other.counters.as_flattened();
        for (mine, theirs) in self.counters.as_flattened_mut().iter_mut().zip(theirs) {
            *mine = mine.wrapping_add(*theirs);
        }
        self.networks.absorb(&other.networks);
    }

    /// All others, where `self` is everybody.
    fn without(&self, part: &Sums) -> Sums {
        let mut others = Sums {
            sources: self.sources - part.sources,
            readers: self.readers - part.readers,
            loaders: self.loaders - part.loaders,
            followers: self.followers - part.followers,
            requests: self.requests - part.requests,
            squares: self.squares - part.squares,
            busy: self.busy - part.busy,
            pages: self.pages - part.pages,
            ..Sums::default()
        };
        let (all, part) = (self.counters.as_flattened(), part.counters.as_flattened());
        let pairs = all.iter().zip(part);
        for (other, (all, part)) in others.counters.as_flattened_mut().iter_mut().zip(pairs) {
            *other = all.wrapping_sub(*part);
        }
        others
    }

    pub(super) fn networks(&self) -> u64 {
        self.networks.count()
    }

    /// How likely two pages of two sources are the same (Alon, Matias and Szegedy 1996).
    fn meeting(&self) -> f64 {
        let squares: f64 = self
            .counters
            .as_flattened()
            .iter()
            .map(|sum| f64::from(*sum).powi(2))
            .sum();
        let pairs = self.pages * (self.pages - 1.0);
        if pairs <= 0.0 {
            return 0.0;
        }
        ((squares / COUNTERS as f64 - self.pages) / pairs).max(0.0)
    }

    /// Deviation of the volumes over their mean.
    fn spread(&self) -> f64 {
        let n = f64::from(self.sources).max(1.0);
        let mean = self.requests / n;
        (self.squares / n - mean * mean).max(0.0).sqrt() / mean.max(1e-9)
    }

    /// What shows in all of them together, against everybody else.
    pub(super) fn evidence(&self, everybody: &Sums) -> Vec<Evidence> {
        let others = everybody.without(self);
        let found = [
            self.no_page_parts(&others),
            self.no_links(&others),
            self.divided_pages(&others),
            self.alike_members(),
        ];
        found.into_iter().flatten().collect()
    }

    /// What shows in sources that were chosen by their habits: these say nothing any more.
    pub(super) fn evidence_beside_habits(&self, everybody: &Sums) -> Vec<Evidence> {
        let others = everybody.without(self);
        let found = [self.divided_pages(&others), self.alike_members()];
        found.into_iter().flatten().collect()
    }

    /// How likely a page of one is a page of the other, against what two of all others have in common. `None` where there are too few
    /// pages to tell.
    pub(super) fn pages_in_common(&self, other: &Sums, everybody: &Sums) -> Option<f64> {
        let usual = everybody.meeting();
        if usual * self.pages.min(other.pages) < 10.0 {
            return None;
        }
        let theirs = other.counters.as_flattened();
        let products = self.counters.as_flattened().iter().zip(theirs);
        let both: f64 = products
            .map(|(a, b)| f64::from(*a) * f64::from(*b))
            .sum::<f64>()
            / COUNTERS as f64;
        Some((both / (self.pages * other.pages) / usual).max(0.0))
    }

    /// Requests of a source, on average.
    pub(super) fn mean(&self) -> f64 {
        self.requests / f64::from(self.sources).max(1.0)
    }

    /// True where two groups behave alike: as busy, and as willing to load parts of pages and to follow links.
    pub(super) fn is_like(&self, other: &Sums) -> bool {
        let near = |a: f64, b: f64| (a - b).abs() <= 0.25 * a.max(b);
        let same = |mine: u32, theirs: u32| {
            (share(mine, self.readers) - share(theirs, other.readers)).abs() < 0.05
        };
        near(self.mean(), other.mean())
            && same(self.loaders, other.loaders)
            && same(self.followers, other.followers)
    }

    fn no_page_parts(&self, others: &Sums) -> Option<Evidence> {
        Habit {
            name: "no_page_parts",
            weight: 10.0,
            done: "loaded any style sheet, script or picture of a page",
            does: "load what belongs to their pages",
            with: "sources with two pages or more",
        }
        .evidence(
            (self.loaders, self.readers),
            (others.loaders, others.readers),
        )
    }

    fn no_links(&self, others: &Sums) -> Option<Evidence> {
        Habit {
            name: "no_links",
            weight: 6.0,
            done: "came to a page by a link",
            does: "follow links",
            with: "sources",
        }
        .evidence(
            (self.followers, self.readers),
            (others.followers, others.readers),
        )
    }

    fn divided_pages(&self, others: &Sums) -> Option<Evidence> {
        let (usual, here) = (others.meeting(), self.meeting());
        // With people's taste so many pages of a source would be another's, too. From three on, the sketch finds a fifth of that by chance
        // once in a hundred thousand.
        if usual * self.pages < 3.0 || others.pages < 100.0 {
            return None;
        }
        let values = [("meeting", here), ("meeting_of_others", usual)];
        let is_hardly = here < 0.07 * usual;
        if here < 0.2 * usual {
            return Some(toward_crawler(
                "divided_pages",
                if is_hardly { 12.0 } else { 8.0 },
                format!(
                    "pages are divided between the sources: two of them ask for the same page {} as often as two others do",
                    percent(here / usual)
                ),
                &values,
            ));
        }
        (here > 0.5 * usual).then(|| {
            toward_people(
                "divided_pages",
                -4.0,
                "its sources like the same pages as all others do".to_owned(),
                &values,
            )
        })
    }

    fn alike_members(&self) -> Option<Evidence> {
        let spread = self.spread();
        let mean = self.mean();
        (self.sources >= 20 && mean >= 3.0 && spread < 0.5).then(|| {
            toward_crawler(
                "alike_members",
                5.0,
                format!(
                    "its sources all send about as much: {mean:.0} requests, give or take {:.0}",
                    spread * mean
                ),
                &[("mean", mean), ("spread", spread)],
            )
        })
    }
}

/// Something that most people's browsers do.
struct Habit {
    name: &'static str,
    weight: f64,
    /// What it is, in words: that hardly any source of a group did it, or that they do.
    done: &'static str,
    does: &'static str,
    /// Who could have.
    with: &'static str,
}

impl Habit {
    /// What it says of a group that so many of so many sources do it, and of all others.
    fn evidence(&self, here: (u32, u32), others: (u32, u32)) -> Option<Evidence> {
        if here.1.min(others.1) < READERS_MIN {
            return None;
        }
        let (part, usual) = (share(here.0, here.1), share(others.0, others.1));
        let values = [("share", part), ("share_of_others", usual)];
        if usual >= USUAL_MIN && part < HARDLY * usual {
            let why = format!(
                "{} of {} {} {}; of all others {} did",
                few(here.0),
                here.1,
                self.with,
                self.done,
                percent(usual)
            );
            return Some(toward_crawler(self.name, self.weight, why, &values));
        }
        let is_common = usual > 0.3 && part > usual / 2.0;
        let why = format!("{} of its sources {}", percent(part), self.does);
        is_common.then(|| toward_people(self.name, -self.weight, why, &values))
    }
}

/// Sources with pages from which shares say something.
const READERS_MIN: u32 = 10;
/// Share of all others that must do something for its absence to say anything.
const USUAL_MIN: f64 = 0.1;
/// Share of what others do below which a group hardly does it.
const HARDLY: f64 = 0.05;

/// True for a source that loaded what belongs to a page.
pub(super) fn loads_parts(profile: &Profile) -> bool {
    // What is kept from an earlier visit is not loaded again.
    profile.assets_of_pages > 0 || profile.assets * 3 >= profile.pages.max(1)
}

fn share(part: u32, whole: u32) -> f64 {
    f64::from(part) / f64::from(whole.max(1))
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

fn few(number: u32) -> String {
    match number {
        0 => "none".to_owned(),
        number => number.to_string(),
    }
}

fn toward_crawler(
    detector: &'static str,
    weight: f64,
    why: String,
    values: &[(&'static str, f64)],
) -> Evidence {
    Evidence {
        detector,
        toward: Toward::Crawler,
        weight,
        why,
        values: values.to_vec(),
    }
}

fn toward_people(
    detector: &'static str,
    weight: f64,
    why: String,
    values: &[(&'static str, f64)],
) -> Evidence {
    Evidence {
        detector,
        toward: Toward::User,
        weight,
        why,
        values: values.to_vec(),
    }
}
