//! HTTP/2 as the guard sees it: what kinds of frames come. A client that sends many that bring nothing and cost work is sent away.
//!
//! The library limits streams that are reset before they are answered, and long heads. It does not limit streams that are reset after the
//! site was asked (CVE-2023-44487), frames that only want to be acknowledged, nor tiny pieces of bodies that are passed on at once.

use std::time::Duration;
use std::time::Instant;

/// The beginning of an HTTP/2 connection (RFC 9113, 3.4).
const PREFACE: usize = 24;
/// The head of a frame: length, kind, flags, stream.
const HEAD: usize = 9;
/// Frames are counted for so long.
const WINDOW: Duration = Duration::from_secs(1);

/// Frames in one window. A browser that leaves a page resets at most all of its streams; one that follows a map resets some dozens.
const RESETS_MAX: u32 = 100;
const SETTINGS_MAX: u32 = 50;
const PINGS_MAX: u32 = 500;
const EMPTY_MAX: u32 = 200;
/// A body comes in so many pieces at most, and in one more for so many bytes. The library limits small ones only while nobody reads them,
/// and we do.
const PIECES_MAX: u64 = 2000;
const BYTES_PER_PIECE: u64 = 64;
/// What a padded frame may hold that is no body, with the byte that says so (RFC 9113, 6.1).
const PADDING_MAX: usize = 256;
const CONTINUATIONS_MAX: u32 = 100;
/// Priorities come with requests; so do kinds of frames that are not known yet.
const OTHERS_MAX: u32 = 2000;
/// A client that takes an answer says so again and again: so often at least, and once more for so many bytes that it got.
const UPDATES_MAX: u64 = 2000;
const BYTES_PER_UPDATE: u64 = 512;

/// Counts the frames of one connection.
#[derive(Debug)]
pub(crate) struct Frames {
    /// Bytes that are no head of a frame: the preface, then what is left of a frame.
    left: usize,
    head: [u8; HEAD],
    filled: usize,
    since: Instant,
    counts: Counts,
}

#[derive(Debug, Default)]
struct Counts {
    resets: u32,
    settings: u32,
    pings: u32,
    empty: u32,
    pieces: u64,
    /// Bytes of bodies in those pieces, at least.
    received: u64,
    continuations: u32,
    others: u32,
    updates: u64,
    /// Bytes that the client was sent.
    sent: u64,
}

impl Frames {
    pub(crate) fn new() -> Frames {
        Frames {
            left: PREFACE,
            head: [0; HEAD],
            filled: 0,
            since: Instant::now(),
            counts: Counts::default(),
        }
    }

    /// The client was sent so many bytes.
    pub(crate) fn sent(&mut self, bytes: usize) {
        self.counts.sent += bytes as u64;
    }

    /// Looks through bytes. False once there were too many frames of one kind.
    pub(crate) fn walk(&mut self, mut bytes: &[u8], now: Instant) -> bool {
        if now.duration_since(self.since) >= WINDOW {
            self.since = now;
            self.counts = Counts::default();
        }
        while !bytes.is_empty() {
            let skipped = self.left.min(bytes.len());
            self.left -= skipped;
            bytes = &bytes[skipped..];
            let taken = bytes.len().min(HEAD - self.filled);
            self.head[self.filled..self.filled + taken].copy_from_slice(&bytes[..taken]);
            self.filled += taken;
            bytes = &bytes[taken..];
            if self.filled < HEAD {
                continue;
            }
            self.filled = 0;
            let [a, b, c, kind, flags, ..] = self.head;
            self.left = usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c);
            if !self.counts.add(kind, flags, self.left) {
                return false;
            }
        }
        true
    }
}

impl Counts {
    /// Counts a frame (RFC 9113, 6). False where it is one too many.
    fn add(&mut self, kind: u8, flags: u8, length: usize) -> bool {
        let ends = flags & 1 != 0;
        let (count, max) = match kind {
            0 if ends => return true,
            0 if length == 0 => (&mut self.empty, EMPTY_MAX),
            0 => {
                let padding = if flags & 8 != 0 { PADDING_MAX } else { 0 };
                self.pieces += 1;
                self.received += length.saturating_sub(padding) as u64;
                return self.pieces <= PIECES_MAX + self.received / BYTES_PER_PIECE;
            }
            // What a request is worth is decided about elsewhere.
            1 => return true,
            3 => (&mut self.resets, RESETS_MAX),
            4 => (&mut self.settings, SETTINGS_MAX),
            6 => (&mut self.pings, PINGS_MAX),
            8 => {
                self.updates += 1;
                return self.updates <= UPDATES_MAX + self.sent / BYTES_PER_UPDATE;
            }
            9 => (&mut self.continuations, CONTINUATIONS_MAX),
            _ => (&mut self.others, OTHERS_MAX),
        };
        *count += 1;
        *count <= max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, flags: u8, payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0, 0, u8::try_from(payload.len()).unwrap(), kind, flags];
        bytes.extend([0, 0, 0, 1]);
        bytes.extend(payload);
        bytes
    }

    fn is_kept(frames: &[Vec<u8>]) -> bool {
        let bytes = [vec![b'P'; PREFACE], frames.concat()].concat();
        let walked = |size: usize| {
            let (mut frames, now) = (Frames::new(), Instant::now());
            bytes.chunks(size).all(|chunk| frames.walk(chunk, now))
        };
        let kept = walked(bytes.len());
        for size in [1, 7, 9, 1000] {
            assert_eq!(walked(size), kept, "the size of the pieces matters: {size}");
        }
        kept
    }

    #[test]
    fn frames_that_bring_nothing_are_limited() {
        for (kind, payload, max) in [
            (3, &[0; 4][..], RESETS_MAX),
            (4, &[], SETTINGS_MAX),
            (6, &[0; 8], PINGS_MAX),
            (0, &[], EMPTY_MAX),
            (9, &[0; 3], CONTINUATIONS_MAX),
            (2, &[0; 5], OTHERS_MAX),
            (8, &[0; 4], 2000),
        ] {
            let max = usize::try_from(max).unwrap();
            assert!(is_kept(&vec![frame(kind, 0, payload); max]), "{kind}");
            assert!(!is_kept(&vec![frame(kind, 0, payload); max + 1]), "{kind}");
        }
    }

    #[test]
    fn requests_bodies_and_what_follows_from_answers_are_not() {
        assert!(is_kept(&vec![frame(1, 5, &[0x82; 40]); 5000]));
        assert!(is_kept(&vec![frame(0, 0, &[0; 64]); 5000]));
        assert!(is_kept(&vec![frame(0, 0, b"x"); 2000]));
        assert!(is_kept(&vec![frame(0, 1, b""); 5000]));
        let (mut frames, now) = (Frames::new(), Instant::now());
        frames.sent(10_000 * 1024);
        let bytes = [vec![b'P'; PREFACE], frame(8, 0, &[0; 4]).repeat(20_000)].concat();
        assert!(frames.walk(&bytes, now));
    }

    #[test]
    fn h028_tiny_pieces_of_bodies_are_limited_however_they_are_padded() {
        let mut padded = frame(0, 8, &[0; 255]);
        padded[2..3].copy_from_slice(&[255]);
        for piece in [frame(0, 0, b"x"), frame(0, 0, &[0; 30]), padded] {
            assert!(is_kept(&vec![piece.clone(); 2000]));
            assert!(!is_kept(&vec![piece; 5000]));
        }
    }

    #[test]
    fn a_new_window_begins_anew() {
        let (mut frames, now) = (Frames::new(), Instant::now());
        assert!(frames.walk(&[b'P'; PREFACE], now));
        for second in 0..10 {
            let resets = frame(3, 0, &[0; 4]).repeat(100);
            assert!(frames.walk(&resets, now + second * WINDOW));
        }
    }
}
