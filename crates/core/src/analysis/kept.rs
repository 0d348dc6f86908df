//! Requests, kept in 32 bytes each, and the texts in them once: what panels show can be counted when the verdicts are known, without reading
//! the log again.

mod texts;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::look::Seen;
use crate::profile::Record;
use crate::profile::host_of;
use crate::report::Judgements;
use crate::request::Field;
use crate::request::Request;
use crate::request::Source;
use crate::request::SourceKind;
pub(super) use texts::Texts;

/// Bytes of a text: what is longer is cut.
const TEXT_BYTES: usize = 300;
/// Requests that get room at once: 16 KB.
const CHUNK: usize = 512;
/// Requests whose targets are looked up together, so that the processor waits for memory once for many of them.
const BATCH: usize = 64;

/// Referrers whose scheme and host are remembered, so that they need no search.
const ORIGINS: usize = 16;
/// The same for pairs of hosts.
const LAST_PAIRS: usize = 32;

/// Marks the place of a number of bytes that does not fit.
const LARGE: u32 = 1 << 31;

/// One request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kept {
    source: u64,
    pub(super) time: u32,
    /// Numbers of texts. What was not logged or is empty has number 0.
    pub(super) target: u32,
    pub(super) agent: u32,
    bytes: u32,
    /// Number of the hosts that it names.
    pub(super) hosts: u32,
    pub(super) status: u16,
    kind: u8,
    pub(super) is: AskedFor,
}

/// What a request asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AskedFor {
    /// A page that was sent.
    ShownPage,
    /// A page that was not.
    Page,
    /// Anything else.
    File,
}

impl AskedFor {
    pub(super) fn of(is_page: bool, is_shown: bool) -> AskedFor {
        match (is_shown, is_page) {
            (true, _) => AskedFor::ShownPage,
            (false, true) => AskedFor::Page,
            (false, false) => AskedFor::File,
        }
    }
}

impl Kept {
    /// Bytes of the answer. `large` are those of its thread.
    #[inline]
    pub(super) fn bytes(&self, large: &[u64]) -> u64 {
        match self.bytes & LARGE {
            0 => u64::from(self.bytes),
            _ => large[(self.bytes ^ LARGE) as usize],
        }
    }

    pub(super) fn source(&self) -> Source {
        Source {
            kind: SourceKind::from_bits(self.kind),
            value: self.source,
        }
    }
}

/// Requests in chunks, so that growing copies nothing, and that counting gives room back on the way.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    full: Vec<Vec<Kept>>,
    /// The one that grows. It stands here, so that a request is put down without a look at the others.
    last: Vec<Kept>,
}

impl Chunks {
    #[inline]
    fn push(&mut self, kept: Kept) {
        if self.last.len() == self.last.capacity() {
            self.begin();
        }
        self.last.push(kept);
    }

    #[cold]
    fn begin(&mut self) {
        let full = std::mem::replace(&mut self.last, Vec::with_capacity(CHUNK));
        if !full.is_empty() {
            self.full.push(full);
        }
    }

    fn room(&self) -> usize {
        let chunks = self.full.len() + usize::from(!self.last.is_empty());
        chunks * CHUNK * size_of::<Kept>()
    }
}

impl IntoIterator for Chunks {
    type Item = Vec<Kept>;
    type IntoIter = std::iter::Chain<std::vec::IntoIter<Vec<Kept>>, std::iter::Once<Vec<Kept>>>;

    fn into_iter(self) -> Self::IntoIter {
        self.full.into_iter().chain(std::iter::once(self.last))
    }
}

/// The requests that one thread has kept, with their texts.
#[derive(Debug, Default)]
pub struct KeptRequests {
    /// By the part of the judgements that their source is in: whoever counts them part by part finds the judgements in a cache.
    pub(super) parts: Vec<Chunks>,
    /// Bytes of answers that are too large for [`Kept`].
    pub(super) large: Vec<u64>,
    /// The last requests, whose targets have no numbers yet.
    waiting: Vec<Waiting>,
    /// Their targets, one behind the other.
    waiting_targets: Vec<u8>,
    pub(super) targets: Texts,
    pub(super) agents: Texts,
    pub(super) hosts: KeptHosts,
}

#[derive(Debug)]
struct Waiting {
    kept: Kept,
    /// The hash of the target, and where it ends.
    hash: u64,
    end: usize,
}

/// The hosts that requests name: the one that was asked, and that of the page that led there. Nearly always they are those of the request
/// before.
#[derive(Debug, Default)]
pub(super) struct KeptHosts {
    texts: Texts,
    /// Scheme and host of the last referrers.
    origins: [Last; ORIGINS],
    asked: Last,
    /// Which were named together, the referrer's first.
    pairs: Vec<(u32, u32)>,
    numbers: HashMap<(u32, u32), u32, RandomState>,
    /// The numbers of the last pairs, by the referrer's number: the host that is asked hardly changes from one request to the next.
    last: [u32; LAST_PAIRS],
}

/// The text before, and its number.
#[derive(Debug, Default)]
struct Last {
    text: Vec<u8>,
    number: u32,
}

impl KeptRequests {
    /// Keeps a request that a second look sees.
    pub fn see(&mut self, seen: &Seen<'_>) {
        let glance = seen.glance;
        let is = AskedFor::of(glance.is_page, glance.is_shown);
        self.keep_as(seen.request, glance.source, is, seen.agent());
    }

    /// Keeps a request that was boiled down.
    #[inline]
    pub(super) fn keep(&mut self, request: &Request<'_>, record: &Record) {
        let is = AskedFor::of(record.is_page(), record.shows_page());
        self.keep_as(request, record.source(), is, record.agent);
    }

    /// Keeps a request of which is known who sent it and what it asks for. Its agent is known by a hash.
    #[inline]
    fn keep_as(&mut self, request: &Request<'_>, source: Source, is: AskedFor, agent: u32) {
        let kept = Kept {
            source: source.value,
            time: request.time,
            target: 0,
            agent: match request.agent.value() {
                Some(text) => self.agents.number_by(texts::spread(agent), cut(text)),
                None => 0,
            },
            bytes: self.bytes(request.bytes),
            hosts: self.hosts.number(request.referrer, request.host),
            status: request.status,
            kind: source.kind as u8,
            is,
        };
        let target = cut(request.target);
        self.waiting_targets.extend_from_slice(target);
        self.waiting.push(Waiting {
            kept,
            hash: texts::hash(target),
            end: self.waiting_targets.len(),
        });
        if self.waiting.len() == BATCH {
            self.settle();
        }
    }

    /// Looks up the targets of the last requests. Until then they are not among the others.
    pub(super) fn settle(&mut self) {
        self.parts.resize_with(Judgements::PARTS, Chunks::default);
        self.targets
            .touch(self.waiting.iter().map(|waiting| waiting.hash));
        let mut start = 0;
        for Waiting { kept, hash, end } in self.waiting.drain(..) {
            let target = &self.waiting_targets[start..end];
            start = end;
            let target = self.targets.number_by(hash, target);
            let kept = Kept { target, ..kept };
            self.parts[Judgements::part_of(kept.source())].push(kept);
        }
        self.waiting_targets.clear();
    }

    /// Bytes as a [`Kept`] has them.
    #[inline]
    fn bytes(&mut self, bytes: u64) -> u32 {
        match u32::try_from(bytes) {
            Ok(bytes) if bytes < LARGE => bytes,
            _ => {
                self.large.push(bytes);
                LARGE | (self.large.len() - 1) as u32
            }
        }
    }

    /// Bytes that it has room for.
    pub(super) fn room(&self) -> usize {
        let texts = [&self.targets, &self.agents, &self.hosts.texts];
        let texts: usize = texts.into_iter().map(Texts::room).sum();
        let pairs = self.hosts.pairs.capacity() * 3 * size_of::<(u32, u32)>();
        self.parts.iter().map(Chunks::room).sum::<usize>() + texts + pairs
    }
}

impl KeptHosts {
    #[inline]
    fn number(&mut self, referrer: Field<'_>, asked: Field<'_>) -> u32 {
        let referrer = referrer.value().map_or(0, |url| self.referrer(url));
        let asked = asked.value().map_or(0, |host| self.asked(host));
        self.number_of((referrer, asked))
    }

    #[inline]
    fn number_of(&mut self, pair: (u32, u32)) -> u32 {
        let last = &mut self.last[pair.0 as usize % LAST_PAIRS];
        if self.pairs.get(*last as usize) != Some(&pair) {
            *last = *self.numbers.entry(pair).or_insert_with(|| {
                self.pairs.push(pair);
                self.pairs.len() as u32 - 1
            });
        }
        *last
    }

    /// Takes over the pairs of another, and gives the number that each of its numbers has here.
    pub(super) fn absorb(&mut self, other: KeptHosts) -> Vec<u32> {
        let texts = self.texts.absorb(other.texts);
        let here = |number: u32| texts[number as usize];
        let pairs = other.pairs.iter();
        pairs
            .map(|(referrer, asked)| self.number_of((here(*referrer), here(*asked))))
            .collect()
    }

    #[inline]
    fn referrer(&mut self, url: &[u8]) -> u32 {
        let is_whole = |rest: &[u8]| matches!(rest, [] | [b'/' | b'?' | b'#', ..]);
        let origin = &mut self.origins[place_of(url)];
        if !origin.text.is_empty() && url.strip_prefix(&*origin.text).is_some_and(is_whole) {
            return origin.number;
        }
        let host = host_of(url);
        let number = self.texts.number(cut(host));
        if !host.is_empty() {
            let end = host.as_ptr_range().end.addr() - url.as_ptr().addr();
            origin.set(&url[..end], number);
        }
        number
    }

    #[inline]
    fn asked(&mut self, host: &[u8]) -> u32 {
        if self.asked.text != host {
            let number = self.texts.number(cut(host));
            self.asked.set(host, number);
        }
        self.asked.number
    }

    /// How many pairs there are.
    pub(super) fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Pairs by number: the referrer's host, and the one that was asked. Those that were not named are empty.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let texts =
            |(referrer, asked): &(u32, u32)| (self.texts.text(*referrer), self.texts.text(*asked));
        self.pairs.iter().map(texts)
    }
}

impl Last {
    fn set(&mut self, text: &[u8], number: u32) {
        self.text.clear();
        self.text.extend_from_slice(text);
        self.number = number;
    }
}

/// Where the origin of a URL is found: by letters of its host, behind `http://` or `https://`.
#[inline]
fn place_of(url: &[u8]) -> usize {
    let letters = url.get(8..16).map(|letters| {
        letters
            .iter()
            .fold(0, |sum, letter| sum * 5 + usize::from(*letter))
    });
    letters.unwrap_or(0) % ORIGINS
}

#[inline]
fn cut(text: &[u8]) -> &[u8] {
    &text[..text.len().min(TEXT_BYTES)]
}
