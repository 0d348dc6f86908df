//! What must hold for any bytes, in one place for fuzzing and for properties. `httparse` is the second opinion.

use std::mem::MaybeUninit;

use crate::chunks::Chunks;
use crate::framing::Framing;
use crate::request;
use crate::request::Limits;
use crate::response;

/// A request head that is read has the same fields for `httparse`, and no byte that could begin another line.
pub fn request_head(bytes: &[u8]) {
    let Some(end) = request::end(bytes) else {
        return;
    };
    // Wherever the bytes are cut, no other end is found.
    for cut in 0..bytes.len().min(end + 8) {
        let found = request::end(&bytes[..cut]);
        assert!(found.is_none_or(|found| found == end), "cut at {cut}");
    }
    let Ok(ours) = request::read(&bytes[..end], &Limits::USUAL) else {
        return;
    };
    let mut space = [httparse::EMPTY_HEADER; 256];
    let mut theirs = httparse::Request::new(&mut space);
    let parsed = theirs.parse(&bytes[..end]);
    assert_eq!(parsed, Ok(httparse::Status::Complete(end)));
    assert_eq!(Some(ours.method.as_str()), theirs.method);
    let target = theirs.path.unwrap_or_default();
    assert!(target.contains(ours.target) || ours.target == "*" || ours.target == "/");
    assert_eq!(ours.headers.len(), theirs.headers.len());
    for (field, header) in ours.headers.iter().zip(theirs.headers.iter()) {
        assert_eq!(
            (field.name, field.value),
            (header.name.as_bytes(), header.value)
        );
        let is_sound = |byte: &u8| (*byte >= b' ' && *byte != 0x7f) || *byte == b'\t';
        assert!(field.value.iter().all(is_sound));
    }
    let count = |name: &str| {
        let named = theirs.headers.iter();
        named
            .filter(|header| header.name.eq_ignore_ascii_case(name))
            .count()
    };
    let (lengths, encodings) = (count("content-length"), count("transfer-encoding"));
    match ours.body {
        Framing::Chunked(_) => assert_eq!((lengths, encodings), (0, 1)),
        Framing::Length(0) => assert!(lengths <= 1 && encodings == 0),
        Framing::Length(_) => assert_eq!((lengths, encodings), (1, 0)),
        Framing::UntilClose => panic!("a request cannot end with its connection"),
    }
}

/// A response head that is read has the same meaning however it is asked for, and drops the fields of its connection.
pub fn response_head(bytes: &[u8]) {
    let Some(end) = request::end(bytes) else {
        return;
    };
    let head = &bytes[..end];
    let mut space = [MaybeUninit::uninit(); response::HEADERS_MAX];
    let Ok(ours) = response::read(head, false, &mut space) else {
        return;
    };
    assert!(ours.status == 101 || (200..=999).contains(&ours.status));
    for field in ours.headers() {
        let name = field.name.to_ascii_lowercase();
        assert!(!crate::headers::is_hop_by_hop(name.as_bytes()), "{name}");
        let is_sound = |byte: &u8| (*byte >= b' ' && *byte != 0x7f) || *byte == b'\t';
        assert!(field.value.iter().all(is_sound), "{field:?}");
    }
    let lengths = ours.all().iter();
    let lengths = lengths.filter(|field| field.name.eq_ignore_ascii_case("content-length"));
    assert!(lengths.count() <= 1);
    let mut space = [MaybeUninit::uninit(); response::HEADERS_MAX];
    let bare = response::read(head, true, &mut space).map(|bare| (bare.status, bare.keeps_alive));
    assert_eq!(bare.ok(), Some((ours.status, false)));
}

/// What a walk through chunks found: the body, and the number of bytes up to its end; `None` for invalid ones.
fn walk(bytes: &[u8], step: usize) -> Option<(Vec<u8>, Option<usize>)> {
    let mut framing = Framing::Chunked(Chunks::default());
    let (mut body, mut at) = (Vec::new(), 0);
    for part in bytes.chunks(step.max(1)) {
        let mut rest = part;
        while !rest.is_empty() {
            let piece = framing.next(rest).ok()?;
            body.extend_from_slice(&rest[piece.skipped..][..piece.length]);
            let used = piece.skipped + piece.length;
            (rest, at) = (&rest[used..], at + used);
            if piece.is_last {
                return Some((body, Some(at)));
            }
        }
    }
    Some((body, None))
}

/// Chunks are read alike however their bytes are cut, and their sizes are those that `httparse` reads.
pub fn chunks(bytes: &[u8]) {
    let whole = walk(bytes, bytes.len());
    for step in [1, 2, 3, 7] {
        assert_eq!(walk(bytes, step), whole, "in steps of {step}");
    }
    let Some((body, Some(_))) = whole else {
        return;
    };
    let (mut rest, mut length) = (bytes, 0);
    loop {
        let Ok(httparse::Status::Complete((head, size))) = httparse::parse_chunk_size(rest) else {
            panic!("httparse does not read {rest:?}");
        };
        if size == 0 {
            break;
        }
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        length += size;
        rest = &rest[head + size + 2..];
    }
    assert_eq!(body.len(), length);
}
