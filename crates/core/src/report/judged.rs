//! The verdict on one source in short, for a second look at its requests.

use std::hash::BuildHasher;
use std::hash::Hasher;
use std::sync::LazyLock;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::Band;
use crate::request::Source;
use crate::verdict::Cause;
use crate::verdict::Class;
use crate::verdict::Verdict;

/// Parts in which judgements are kept. A log has millions of sources: whoever goes through them part by part finds each part in a cache.
const PARTS: usize = 256;

/// One for all tables, so that they know each other's hashes of verdicts.
static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::default);

/// What every source was found to be.
#[derive(Debug, Clone, Default)]
pub struct Judgements {
    /// Each verdict once: those on light sources are nearly all alike.
    distinct: Vec<Judged>,
    /// Their numbers by hash.
    numbers: HashMap<u64, u32, RandomState>,
    /// All sources, and the number of each one's verdict.
    parts: Vec<Vec<(Source, u32)>>,
    /// The verdict that most sources have.
    usual: Option<u32>,
    /// Sources with another one, by part. They fit into a cache where all would not, and nearly every request asks for its source.
    others: Vec<HashMap<Source, u32, RandomState>>,
}

impl Judgements {
    /// How many parts there are.
    pub const PARTS: usize = PARTS;

    /// Which part a source is in: the same in every run.
    #[inline]
    pub fn part_of(source: Source) -> usize {
        const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
        (source.value.wrapping_mul(SPREAD) >> (u64::BITS - PARTS.ilog2())) as usize
    }

    /// What a source of the log was found to be.
    #[inline]
    pub fn get(&self, source: Source) -> Option<&Judged> {
        let others = self.others.get(Judgements::part_of(source))?;
        let number = others.get(&source).copied().or(self.usual)?;
        self.distinct.get(number as usize)
    }

    /// All sources of a part, in any order.
    pub fn part(&self, number: usize) -> impl Iterator<Item = (Source, &Judged)> {
        let part = self.parts.get(number).into_iter().flatten();
        part.map(|(source, number)| (*source, &self.distinct[*number as usize]))
    }

    /// All sources, in any order.
    pub fn iter(&self) -> impl Iterator<Item = (Source, &Judged)> {
        (0..self.parts.len()).flat_map(|number| self.part(number))
    }

    /// Adds what was found in a table.
    pub(crate) fn absorb(&mut self, found: FoundInTable) {
        if found.sources.is_empty() {
            return;
        }
        self.parts.resize_with(PARTS, Vec::new);
        let places: Vec<u32> = found
            .distinct
            .into_iter()
            .map(|(hash, judged)| self.number_of(hash, judged))
            .collect();
        for (source, number) in found.sources {
            let found = (source, places[number as usize]);
            self.parts[Judgements::part_of(source)].push(found);
        }
    }

    fn number_of(&mut self, hash: u64, judged: Judged) -> u32 {
        match self.numbers.get(&hash) {
            Some(number) if self.distinct[*number as usize] == judged => *number,
            _ => {
                let number = self.distinct.len() as u32;
                self.distinct.push(judged);
                self.numbers.insert(hash, number);
                number
            }
        }
    }

    /// Everything was added: from now on sources can be found.
    pub(crate) fn close(&mut self) {
        let mut sources = vec![0_u32; self.distinct.len()];
        for (_, number) in self.parts.iter().flatten() {
            sources[*number as usize] += 1;
        }
        let numbers = 0..self.distinct.len() as u32;
        self.usual = numbers.max_by_key(|number| sources[*number as usize]);
        let others = |part: &Vec<(Source, u32)>| {
            let others = part.iter().copied();
            let others = others.filter(|(_, number)| Some(*number) != self.usual);
            others.collect()
        };
        self.others = self.parts.iter().map(others).collect();
    }
}

/// What the sources of one table were found to be.
#[derive(Debug, Default)]
pub(crate) struct FoundInTable {
    /// Each verdict once, with its hash.
    distinct: Vec<(u64, Judged)>,
    /// Numbers of distinct verdicts by their hash.
    numbers: HashMap<u64, u32, RandomState>,
    sources: Vec<(Source, u32)>,
}

impl FoundInTable {
    /// Notes the verdict on a source.
    pub(crate) fn note(&mut self, source: Source, judged: JudgedAs<'_>) {
        let hash = judged.hash(&HASHER);
        let known = self.numbers.get(&hash).copied();
        let known = known.filter(|number| judged.is(&self.distinct[*number as usize].1));
        let number = known.unwrap_or_else(|| {
            let number = self.distinct.len() as u32;
            self.distinct.push((hash, judged.shortened()));
            self.numbers.insert(hash, number);
            number
        });
        self.sources.push((source, number));
    }
}

/// A verdict that is to be noted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JudgedAs<'a> {
    pub(crate) verdict: &'a Verdict,
    /// People and a crawler share this source, in this window or in another.
    pub(crate) mixed: bool,
}

impl JudgedAs<'_> {
    fn findings(&self) -> impl Iterator<Item = (&'static str, f32)> {
        let findings = self.verdict.evidence.iter();
        findings.map(|item| (item.detector, item.weight as f32))
    }

    fn hash(&self, state: &RandomState) -> u64 {
        let mut hasher = state.build_hasher();
        let cause = self.verdict.cause.map_or(u8::MAX, |cause| cause as u8);
        hasher.write(&[self.verdict.class as u8, cause, u8::from(self.mixed)]);
        hasher.write_u64(self.verdict.decibans.to_bits());
        hasher.write_u64(self.verdict.withheld.to_bits());
        // Names of detectors are constants: where they stand is enough for a hash.
        for (detector, weight) in self.findings() {
            hasher.write_usize(detector.as_ptr() as usize);
            hasher.write_u32(weight.to_bits());
        }
        hasher.finish()
    }

    fn is(&self, judged: &Judged) -> bool {
        let verdict = self.verdict;
        judged.class == verdict.class
            && judged.band == Band::of(verdict.class, verdict.kind)
            && judged.decibans == verdict.decibans as f32
            && judged.withheld == verdict.withheld as f32
            && judged.decided_by == verdict.decided_by
            && judged.cause == verdict.cause
            && judged.mixed == self.mixed
            && judged.findings.iter().copied().eq(self.findings())
    }

    fn shortened(&self) -> Judged {
        let verdict = self.verdict;
        Judged {
            class: verdict.class,
            band: Band::of(verdict.class, verdict.kind),
            decibans: verdict.decibans as f32,
            withheld: verdict.withheld as f32,
            decided_by: verdict.decided_by,
            cause: verdict.cause,
            mixed: self.mixed,
            findings: self.findings().collect(),
        }
    }
}

/// What one source was found to be, and by what.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// Its class.
    pub class: Class,
    /// Its class and kind as charts show them.
    pub band: Band,
    /// Sum of the evidence in decibans, positive towards a crawler.
    pub decibans: f32,
    /// Decibans of copyable signs of people beyond what the verdict allows for them.
    pub withheld: f32,
    /// The rule or family that decided.
    pub decided_by: Option<&'static str>,
    /// Why it is undecided.
    pub cause: Option<Cause>,
    /// People and a crawler share this source.
    pub mixed: bool,
    /// The detectors that found something, with their weights in decibans, strongest first.
    pub findings: Box<[(&'static str, f32)]>,
}

impl Judged {
    /// What its detector `name` found, in decibans; 0 where it found nothing.
    pub fn weight(&self, name: &str) -> f32 {
        let mut findings = self.findings.iter();
        let found = findings.find(|(detector, _)| *detector == name);
        found.map_or(0.0, |(_, weight)| *weight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::SourceKind;

    #[test]
    fn every_source_has_its_own_verdict_in_whatever_table_it_was_found() {
        let source = |value| Source {
            kind: SourceKind::V4,
            value,
        };
        let (light, person) = (
            Verdict::bare(Class::Undecided, -1.0),
            Verdict::bare(Class::User, -20.0),
        );
        let of = |value: u64| match value % 3 {
            0 => &person,
            _ => &light,
        };
        let mut judgements = Judgements::default();
        for table in 0..4 {
            let mut found = FoundInTable::default();
            for value in table * 1000..(table + 1) * 1000 {
                let verdict = of(value);
                let mixed = value == 7;
                found.note(source(value), JudgedAs { verdict, mixed });
            }
            judgements.absorb(found);
        }
        judgements.close();
        for value in 0..4000 {
            let judged = judgements.get(source(value)).unwrap();
            let expected = (of(value).class, value == 7);
            assert_eq!((judged.class, judged.mixed), expected, "{value}");
        }
        assert_eq!(judgements.iter().count(), 4000);
        assert_eq!(judgements.distinct.len(), 3);
        let others: usize = judgements.others.iter().map(HashMap::len).sum();
        assert_eq!(others, 4000_usize.div_ceil(3) + 1);
    }
}
