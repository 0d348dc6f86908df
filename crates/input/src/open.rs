//! Opening one input: plain or gzip, told by its first bytes, never by its name.

use std::fs::File;
use std::io;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

use flate2::bufread::MultiGzDecoder;

use crate::find::Input;
use crate::find::open_error;

/// Text that comes out of gzip may be this many times larger than what went in…
const RATIO_MAX: u64 = 300;
/// …once this much has come out. Repetitive logs reach 50, a compression bomb 1,000.
const RATIO_FREE_BYTES: u64 = 32 << 20;

/// An input that is being read.
pub(crate) struct Opened {
    stream: Box<dyn Read + Send>,
}

impl Opened {
    /// Opens an input. Bytes taken from the disk are added to `taken`.
    pub(crate) fn open(input: &Input, taken: &Arc<AtomicU64>) -> Result<Opened, String> {
        let raw: Box<dyn Read + Send> = match input {
            Input::Stdin => Box::new(io::stdin()),
            Input::File(path) => Box::new(File::open(path).map_err(|error| open_error(&error))?),
        };
        let counted = Counted {
            inner: raw,
            own: Arc::default(),
            total: Arc::clone(taken),
        };
        let own = Arc::clone(&counted.own);
        let mut raw = counted;
        let mut start = [0_u8; 6];
        let (length, error) = fill(&mut raw, &mut start);
        if let Some(error) = error {
            return Err(format!("cannot be read: {error}"));
        }
        let start = &start[..length];
        let raw = io::Cursor::new(start.to_vec()).chain(raw);
        match compression(start) {
            None => Ok(Opened {
                stream: Box::new(raw),
            }),
            Some("gzip") => {
                let decoder = MultiGzDecoder::new(io::BufReader::with_capacity(64 << 10, raw));
                Ok(Opened {
                    stream: Box::new(Bounded {
                        inner: decoder,
                        put_in: own,
                        came_out: 0,
                    }),
                })
            }
            Some(other) => Err(format!(
                "is compressed with {other}, which is not read yet; unpack it first, or pass it as standard input"
            )),
        }
    }
}

impl Read for Opened {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.read(buffer)
    }
}

/// The compression a file begins with.
pub(crate) fn compression(start: &[u8]) -> Option<&'static str> {
    match start {
        [0x1f, 0x8b, ..] => Some("gzip"),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Some("zstd"),
        [b'B', b'Z', b'h', b'1'..=b'9', ..] => Some("bzip2"),
        [0xfd, b'7', b'z', b'X', b'Z', 0] => Some("xz"),
        [b'P', b'K', 3, 4, ..] => Some("zip"),
        _ => None,
    }
}

/// Reads until the buffer is full or the input ends. What came before an error is not lost.
pub(crate) fn fill(reader: &mut impl Read, buffer: &mut [u8]) -> (usize, Option<io::Error>) {
    let mut length = 0;
    while length < buffer.len() {
        match reader.read(&mut buffer[length..]) {
            Ok(0) => break,
            Ok(more) => length += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (length, Some(error)),
        }
    }
    (length, None)
}

/// Counts what is read, for the ratio of one file and for the progress of all.
struct Counted<R> {
    inner: R,
    own: Arc<AtomicU64>,
    total: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(buffer)?;
        self.own.fetch_add(length as u64, Ordering::Relaxed);
        self.total.fetch_add(length as u64, Ordering::Relaxed);
        Ok(length)
    }
}

/// Ends decompression as soon as too much comes out of too little.
struct Bounded<R> {
    inner: R,
    put_in: Arc<AtomicU64>,
    came_out: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(buffer)?;
        self.came_out += length as u64;
        if self.came_out > RATIO_FREE_BYTES
            && self.came_out > RATIO_MAX * self.put_in.load(Ordering::Relaxed)
        {
            return Err(io::Error::other(format!(
                "unpacks to more than {RATIO_MAX} times its size, as no log does"
            )));
        }
        Ok(length)
    }
}
