//! Page views, kept while a log is read for the first time: once verdicts are known, they can be counted without reading it again.

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use crate::profile::Record;
use crate::profile::Recorder;
use crate::profile::path_of;
use crate::request::Request;
use crate::request::Source;
use crate::request::SourceKind;

/// Views that get room at once: 64 KB.
const CHUNK: usize = 4096;

/// A page that somebody was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    /// Who was sent it.
    pub source: Source,
    /// When, in seconds since 1970.
    pub time: u32,
    /// The number of its path among those that scripts of pages request, see [`SecondLook::calls`](super::SecondLook::calls).
    pub call: Option<usize>,
}

/// The same in 16 bytes, without the source's kind.
#[derive(Debug)]
struct Kept {
    source: u64,
    time: u32,
    /// Lower half of the path's hash: one path in millions is taken for one of the few that scripts request.
    path: u32,
}

/// Views of one thread by the kinds of their sources. In chunks, so that growing copies nothing, and that counting gives room back on the way.
#[derive(Debug, Default)]
pub(super) struct Views([Vec<Vec<Kept>>; 3]);

impl Views {
    #[inline]
    pub(super) fn keep(&mut self, record: &Record, request: &Request<'_>, recorder: &Recorder) {
        let source = record.source();
        let kept = Kept {
            source: source.value,
            time: record.time,
            path: recorder.path_hash(path_of(request.target)),
        };
        let chunks = &mut self.0[source.kind as usize];
        match chunks.last_mut() {
            Some(last) if last.len() < CHUNK => last.push(kept),
            _ => {
                let mut next = Vec::with_capacity(CHUNK);
                next.push(kept);
                chunks.push(next);
            }
        }
    }

    /// Bytes that there is room for.
    pub(super) fn room(&self) -> usize {
        let chunks: usize = self.0.iter().map(Vec::len).sum();
        chunks * CHUNK * size_of::<Kept>()
    }

    /// Gives all views, and keeps none. Calls are numbered by the hashes of their paths.
    pub(super) fn take<'c>(
        self,
        calls: &'c HashMap<u32, usize, RandomState>,
    ) -> impl Iterator<Item = View> + use<'c> {
        let of_kind = move |(kind, chunks): (u8, Vec<Vec<Kept>>)| {
            chunks.into_iter().flatten().map(move |kept| View {
                source: Source {
                    kind: SourceKind::from_bits(kind),
                    value: kept.source,
                },
                time: kept.time,
                call: calls.get(&kept.path).copied(),
            })
        };
        (0..).zip(self.0).flat_map(of_kind)
    }
}

/// Calls by the hashes of their paths, as views have them.
pub(super) fn by_hash<'a>(
    calls: impl Iterator<Item = (&'a [u8], usize)>,
    recorder: &Recorder,
) -> HashMap<u32, usize, RandomState> {
    calls
        .map(|(path, number)| (recorder.path_hash(path), number))
        .collect()
}
