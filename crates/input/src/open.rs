//! Opening one input: plain or compressed, told by its first bytes, never by its name.

use std::fs::File;
use std::io;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

use flate2::bufread::MultiGzDecoder;
use liblzma::bufread::XzDecoder;
use liblzma::stream::CONCATENATED;
use liblzma::stream::Stream;

use crate::find::Input;
use crate::find::open_error;

/// Once this much has come out of a compressed input, it may not be more than so many times what went in.
const RATIO_FREE_BYTES: u64 = 32 << 20;
/// Repetitive logs reach 50 with gzip, 300 with the others; a bomb reaches 1,000 with gzip, 7,000 and more with the others.
const GZIP_RATIO_MAX: u64 = 300;
const OTHER_RATIO_MAX: u64 = 1500;

/// The largest window of zstd that is given memory: 8 MiB, the most that levels up to 19 use.
const ZSTD_WINDOW_LOG_MAX: u32 = 23;
/// The most memory that unpacking xz may take; its highest level needs 65 MiB.
const XZ_MEMORY_MAX: u64 = 72 << 20;
/// Bytes that are unpacked at once.
const UNPACK_BYTES: usize = 64 << 10;

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
        Opened::unpack(raw, taken)
    }

    /// Reads what is inside, packed or not.
    pub(crate) fn unpack(
        raw: Box<dyn Read + Send>,
        taken: &Arc<AtomicU64>,
    ) -> Result<Opened, String> {
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
        let Some(compression) = Compression::of(start) else {
            return Ok(Opened {
                stream: Box::new(raw),
            });
        };
        let (inner, ratio_max) = compression.decoder(raw)?;
        let stream = Box::new(Bounded {
            inner,
            put_in: own,
            came_out: 0,
            ratio_max,
        });
        Ok(Opened { stream })
    }
}

impl Read for Opened {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.read(buffer)
    }
}

/// How an input is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compression {
    Gzip,
    Zstd,
    Bzip2,
    Xz,
    Zip,
}

impl Compression {
    /// The compression an input begins with.
    pub(crate) fn of(start: &[u8]) -> Option<Compression> {
        match start {
            [0x1f, 0x8b, ..] => Some(Compression::Gzip),
            // A frame, or one that holds no data.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => {
                Some(Compression::Zstd)
            }
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => Some(Compression::Bzip2),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Compression::Xz),
            [b'P', b'K', 3, 4, ..] => Some(Compression::Zip),
            _ => None,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
            Compression::Bzip2 => "bzip2",
            Compression::Xz => "xz",
            Compression::Zip => "zip",
        }
    }

    /// Unpacks all members of the input; and how many times larger they may be than what went in.
    fn decoder(
        self,
        raw: impl Read + Send + 'static,
    ) -> Result<(Box<dyn Read + Send>, u64), String> {
        let raw = io::BufReader::with_capacity(UNPACK_BYTES, raw);
        let failed = |error: io::Error| format!("cannot be unpacked: {error}");
        Ok(match self {
            Compression::Gzip => (Box::new(MultiGzDecoder::new(raw)), GZIP_RATIO_MAX),
            Compression::Zstd => {
                let mut decoder = zstd::Decoder::with_buffer(raw).map_err(failed)?;
                decoder
                    .window_log_max(ZSTD_WINDOW_LOG_MAX)
                    .map_err(failed)?;
                (Box::new(decoder), OTHER_RATIO_MAX)
            }
            Compression::Bzip2 => (
                Box::new(bzip2::bufread::MultiBzDecoder::new(raw)),
                OTHER_RATIO_MAX,
            ),
            Compression::Xz => {
                let stream = Stream::new_stream_decoder(XZ_MEMORY_MAX, CONCATENATED)
                    .map_err(|error| failed(error.into()))?;
                (
                    Box::new(XzDecoder::new_stream(raw, stream)),
                    OTHER_RATIO_MAX,
                )
            }
            Compression::Zip => {
                return Err("is a zip archive, which is not read; unpack it first".to_owned());
            }
        })
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
    ratio_max: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(buffer)?;
        self.came_out += length as u64;
        if self.came_out > RATIO_FREE_BYTES
            && self.came_out > self.ratio_max * self.put_in.load(Ordering::Relaxed)
        {
            return Err(io::Error::other(format!(
                "unpacks to more than {} times its size, as no log does",
                self.ratio_max
            )));
        }
        Ok(length)
    }
}
