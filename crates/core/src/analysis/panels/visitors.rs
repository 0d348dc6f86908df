//! The sources of one part of a log, while their requests are counted: each request looks its source up once.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use hashbrown::HashSet;

use crate::request::Source;

/// As whose requests those of a source are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum As {
    /// A person's.
    Person,
    /// Those of a source whose targets are counted.
    Heavy,
    /// Another's that was judged: they are counted if they name a robot.
    Other,
    /// They are not counted.
    Nobody,
}

/// Who viewed a page on which day.
pub(super) type Visitors = HashSet<(u32, Source), RandomState>;

/// The sources that were met so far, by numbers of their own.
#[derive(Debug, Default)]
pub(super) struct Met {
    numbers: HashMap<Source, u32, RandomState>,
    all: Vec<OfSource>,
}

#[derive(Debug)]
struct OfSource {
    source: Source,
    counts_as: As,
    viewed: Days,
}

/// Days on which a source viewed pages: a bit for each of 64.
#[derive(Debug, Clone, Copy, Default)]
struct Days {
    /// The first of them, a multiple of 64.
    first: u32,
    bits: u64,
}

impl Met {
    /// The number of a source, and as whose its requests are counted. It is asked for once.
    #[inline]
    pub(super) fn meet(&mut self, source: Source, counts_as: impl FnOnce() -> As) -> (u32, As) {
        let number = *self.numbers.entry(source).or_insert_with(|| {
            self.all.push(OfSource {
                source,
                counts_as: counts_as(),
                viewed: Days::default(),
            });
            self.all.len() as u32 - 1
        });
        (number, self.all[number as usize].counts_as)
    }

    /// Notes a page that a source viewed on a day.
    #[inline]
    pub(super) fn view(&mut self, number: u32, day: u32, visitors: &mut Visitors) {
        let of = &mut self.all[number as usize];
        let first = day & !63;
        if of.viewed.first != first {
            of.hand_over(visitors);
            of.viewed.first = first;
        }
        of.viewed.bits |= 1 << (day - first);
    }

    /// Hands over all visitors that are left.
    pub(super) fn end(mut self, visitors: &mut Visitors) {
        for of in &mut self.all {
            of.hand_over(visitors);
        }
    }
}

impl OfSource {
    fn hand_over(&mut self, visitors: &mut Visitors) {
        let Days { first, mut bits } = std::mem::take(&mut self.viewed);
        while bits != 0 {
            visitors.insert((first + bits.trailing_zeros(), self.source));
            bits &= bits - 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_a_visitor_once_a_day_in_any_order() {
        let source = Source::of([192, 0, 2, 1].into());
        let (mut met, mut visitors) = (Met::default(), Visitors::default());
        let (number, _) = met.meet(source, || As::Person);
        for day in [20_000, 20_000, 20_070, 20_000, 19_999, 20_063, 0] {
            met.view(number, day, &mut visitors);
        }
        let (other, counts_as) = met.meet(source, || As::Other);
        assert_eq!((other, counts_as), (number, As::Person));
        met.end(&mut visitors);
        let mut days: Vec<u32> = visitors.iter().map(|(day, _)| *day).collect();
        days.sort_unstable();
        assert_eq!(days, [0, 19_999, 20_000, 20_063, 20_070]);
    }
}
