//! How a client begins HTTP/2: its settings, the window that it opens, and the order of the pseudo-header fields of its first request.
//! Browsers and libraries differ in all of them.

use super::digest::Digest;
use super::digest::is_grease;

/// Bytes that are looked at: everything up to the first request, and the beginning of that.
const KEPT_MAX: usize = 4 * 1024;
/// The beginning of a connection (RFC 9113, 3.4).
const PREFACE: usize = 24;
/// The head of a frame.
const HEAD: usize = 9;
/// Kinds of frames (RFC 9113, 6).
const HEADERS: u8 = 1;
const PRIORITY: u8 = 2;
const SETTINGS: u8 = 4;
const WINDOW_UPDATE: u8 = 8;
/// Flags of HEADERS.
const PADDED: u8 = 8;
const HAS_PRIORITY: u8 = 0x20;

/// The beginning of one connection.
#[derive(Debug, Default)]
pub(super) struct Preface(Vec<u8>);

impl Preface {
    /// Takes in bytes; gives the hash once the first request is there.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Option<u64> {
        let room = KEPT_MAX - self.0.len();
        self.0.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.digest()
    }

    fn digest(&self) -> Option<u64> {
        let mut rest = self.0.get(PREFACE..)?;
        let is_full = self.0.len() == KEPT_MAX;
        let mut digest = Digest::new();
        loop {
            let Some((&[a, b, c, kind, flags, ..], after)) = rest.split_first_chunk::<HEAD>()
            else {
                return is_full.then(|| digest.value());
            };
            let length = usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c);
            let (payload, next) = match after.split_at_checked(length) {
                Some(split) => split,
                None if is_full => (after, &[][..]),
                None => return None,
            };
            digest.byte(kind);
            match kind {
                HEADERS => {
                    digest.bytes(&pseudo_fields(block(payload, flags)));
                    return Some(digest.value());
                }
                SETTINGS => settings(payload, &mut digest),
                WINDOW_UPDATE | PRIORITY => digest.bytes(payload),
                _ => {}
            }
            rest = next;
        }
    }
}

fn settings(payload: &[u8], digest: &mut Digest) {
    let (pairs, _) = payload.as_chunks::<6>();
    for pair in pairs {
        if !is_grease(u16::from_be_bytes([pair[0], pair[1]])) {
            digest.bytes(pair);
        }
    }
}

/// The header block of a HEADERS frame, with its padding.
fn block(payload: &[u8], flags: u8) -> &[u8] {
    let padded = usize::from(flags & PADDED != 0);
    let priority = if flags & HAS_PRIORITY != 0 { 5 } else { 0 };
    payload.get(padded + priority..).unwrap_or_default()
}

/// The pseudo-header fields at the beginning of a block, a letter each. The first request of a connection has no other names for them than
/// those of the static table (RFC 7541, appendix A).
fn pseudo_fields(mut block: &[u8]) -> Vec<u8> {
    const FIELDS_MAX: usize = 4;
    let mut letters = Vec::new();
    while letters.len() < FIELDS_MAX {
        let Some((letter, rest)) = pseudo_field(block) else {
            break;
        };
        letters.extend(letter);
        block = rest;
    }
    letters
}

/// The next field: its letter, where it is none but a new size of the table, and what follows it.
fn pseudo_field(block: &[u8]) -> Option<(Option<u8>, &[u8])> {
    let first = *block.first()?;
    let (index, rest, has_value) = match first {
        0x80.. => {
            let (index, rest) = integer(block, 7)?;
            (index, rest, false)
        }
        0x40.. => {
            let (index, rest) = integer(block, 6)?;
            (index, rest, true)
        }
        0x20.. => return Some((None, integer(block, 5)?.1)),
        _ => {
            let (index, rest) = integer(block, 4)?;
            (index, rest, true)
        }
    };
    let letter = match index {
        1 => b'a',
        2 | 3 => b'm',
        4 | 5 => b'p',
        6 | 7 => b's',
        _ => return None,
    };
    let rest = match has_value {
        true => {
            let (length, rest) = integer(rest, 7)?;
            rest.get(length..)?
        }
        false => rest,
    };
    Some((Some(letter), rest))
}

/// A number with a prefix of so many bits (RFC 7541, 5.1), and what follows it.
fn integer(bytes: &[u8], bits: u32) -> Option<(usize, &[u8])> {
    let (first, mut rest) = bytes.split_first()?;
    let most = (1_usize << bits) - 1;
    let mut value = usize::from(*first) & most;
    if value < most {
        return Some((value, rest));
    }
    // Nothing here is longer than what is kept: two more bytes are enough.
    for shift in [0, 7] {
        let (next, after) = rest.split_first()?;
        value += usize::from(next & 0x7f) << shift;
        rest = after;
        if next & 0x80 == 0 {
            return Some((value, rest));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, flags: u8, payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0, 0, u8::try_from(payload.len()).unwrap(), kind, flags];
        bytes.extend([0, 0, 0, u8::from(kind == HEADERS)]);
        bytes.extend(payload);
        bytes
    }

    fn begun(frames: &[Vec<u8>]) -> Vec<u8> {
        [vec![b'P'; PREFACE], frames.concat()].concat()
    }

    /// The hash, the same in pieces of any size.
    fn digest(bytes: &[u8]) -> Option<u64> {
        let fed = |size: usize| {
            let mut preface = Preface::default();
            bytes.chunks(size).find_map(|chunk| preface.feed(chunk))
        };
        let whole = fed(bytes.len());
        for size in [1, 7, 100] {
            assert_eq!(fed(size), whole, "{size}");
        }
        whole
    }

    /// `:method GET`, `:authority`, `:scheme https`, `:path`, as Chrome and Firefox send them.
    const CHROME: &[u8] = b"\x82\x41\x03abc\x87\x04\x02/x";
    const FIREFOX: &[u8] = b"\x82\x04\x02/x\x41\x03abc\x87";

    #[test]
    fn the_order_of_pseudo_fields_is_read() {
        assert_eq!(pseudo_fields(CHROME), b"masp");
        assert_eq!(pseudo_fields(FIREFOX), b"mpas");
        // A new size of the table, and a field of another name.
        assert_eq!(pseudo_fields(b"\x3f\xe1\x1f\x82\x87\x7a\x01x\x84"), b"ms");
        for end in 0..CHROME.len() {
            pseudo_fields(&CHROME[..end]);
        }
    }

    #[test]
    fn clients_differ_in_settings_windows_and_order() {
        let settings = frame(SETTINGS, 0, &[0, 3, 0, 0, 0, 100]);
        let window = frame(WINDOW_UPDATE, 0, &[0, 0xef, 0, 1]);
        let one = begun(&[settings.clone(), window.clone(), frame(HEADERS, 5, CHROME)]);
        let found = digest(&one);
        assert!(found.is_some());
        let other_path = b"\x82\x41\x03xyz\x87\x04\x03/yz";
        let again = [
            settings.clone(),
            window.clone(),
            frame(HEADERS, 5, other_path),
        ];
        assert_eq!(
            digest(&begun(&again)),
            found,
            "another page of the same client"
        );
        for other in [
            begun(&[settings.clone(), window.clone(), frame(HEADERS, 5, FIREFOX)]),
            begun(&[settings.clone(), frame(HEADERS, 5, CHROME)]),
            begun(&[frame(SETTINGS, 0, &[]), window, frame(HEADERS, 5, CHROME)]),
        ] {
            assert!(digest(&other).is_some_and(|other| Some(other) != found));
        }
        assert_eq!(digest(&one[..one.len() - 1]), None, "not there yet");
    }

    #[test]
    fn what_never_ends_is_not_waited_for() {
        let pings = begun(&[frame(6, 0, &[0; 8]).repeat(1000)]);
        assert!(digest(&pings).is_some());
    }
}
