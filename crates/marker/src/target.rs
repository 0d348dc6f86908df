//! Markers in request targets: where they stand, and the target without them.
//!
//! | style | `/a/b?x=1` becomes |
//! |---|---|
//! | query | `/a/b?x=1&cg=T` |
//! | path | `/a/b;cg=T?x=1` |
//! | sealed | `/cg:T/-` |
//!
//! The path style uses a parameter of the last segment and not a segment of its own: relative addresses on the page and the paths of
//! cookies stay as they are, for both depend on the number of segments. For the same reason a sealed target keeps its number of `/`:
//! each `-` stands for the sealed segment at its place, so that a script on that page which requests `data.json` gets
//! `/cg:T/data.json`, and the site `/a/data.json`.
//!
//! Invariant: stripping a marked target gives the bytes of the target before. What has not the exact format of a marker is the site's own
//! and stays.

use std::borrow::Cow;

use memchr::memchr;
use memchr::memmem;

use crate::seal::PageMarker;
use crate::seal::is_marker;
use crate::seal::is_sealed;

/// Stands for a sealed segment at its place.
const PLACEHOLDER: &[u8] = b"-";
const NAME_MAX: usize = 16;

/// Where markers stand in links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// A query parameter.
    Query,
    /// A parameter of the last path segment.
    Path,
    /// Path and query are sealed.
    Sealed,
}

/// The name of markers in targets, `cg` unless the owner chooses another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// `cg=`
    parameter: Vec<u8>,
    /// `/cg:`
    prefix: Vec<u8>,
}

impl Default for Name {
    fn default() -> Name {
        Name::with("cg")
    }
}

impl Name {
    /// A name of at most 16 ASCII letters and digits; others would have to be encoded somewhere.
    pub fn new(text: &str) -> Option<Name> {
        let is_sound = text.bytes().all(|byte| byte.is_ascii_alphanumeric());
        (is_sound && (1..=NAME_MAX).contains(&text.len())).then(|| Name::with(text))
    }

    fn with(text: &str) -> Name {
        Name {
            parameter: format!("{text}=").into_bytes(),
            prefix: format!("/{text}:").into_bytes(),
        }
    }

    /// Whether a text may hold a marker: a quick look, which most texts do not pass.
    pub fn may_stand_in(&self, text: &[u8]) -> bool {
        memmem::find(text, &self.parameter).is_some() || memmem::find(text, &self.prefix).is_some()
    }

    /// The name with its `=`.
    pub(crate) fn parameter(&self) -> &[u8] {
        &self.parameter
    }

    /// The marker of a piece `cg=T`.
    fn marker_in<'a>(&self, piece: &'a [u8]) -> Option<&'a [u8]> {
        let text = piece.strip_prefix(&self.parameter[..])?;
        is_marker(text).then_some(text)
    }
}

/// The parts of a target or of a link to the same host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Parts<'a> {
    path: &'a [u8],
    /// With its `?`.
    query: Option<&'a [u8]>,
    /// With its `#`, or empty.
    fragment: &'a [u8],
}

impl<'a> Parts<'a> {
    fn of(target: &'a [u8]) -> Parts<'a> {
        let (target, fragment) = target.split_at(memchr(b'#', target).unwrap_or(target.len()));
        let (path, query) = target.split_at(memchr(b'?', target).unwrap_or(target.len()));
        Parts {
            path,
            query: Some(query).filter(|query| !query.is_empty()),
            fragment,
        }
    }
}

/// A target with a marker of the page; `None` where it cannot have one: `*`, or a target too long to seal.
pub fn mark(target: &[u8], style: Style, name: &Name, page: &mut PageMarker) -> Option<Vec<u8>> {
    if target.first() != Some(&b'/') {
        return None;
    }
    let Parts {
        path,
        query,
        fragment,
    } = Parts::of(target);
    let text = page.shared().as_bytes();
    Some(match style {
        Style::Query => {
            // `/x?` becomes `/x?&cg=T`, so that `/x` and `/x?` stay apart.
            let separator = if query.is_some() { b"&" } else { b"?" };
            let query = query.unwrap_or_default();
            [path, query, separator, &name.parameter, text, fragment].concat()
        }
        Style::Path => {
            let query = query.unwrap_or_default();
            [path, b";", &name.parameter, text, query, fragment].concat()
        }
        Style::Sealed => {
            let mut out = seal(&target[..target.len() - fragment.len()], name, page)?;
            out.extend(fragment);
            out
        }
    })
}

/// A sealed target, from one without a fragment.
pub(crate) fn seal(target: &[u8], name: &Name, page: &mut PageMarker) -> Option<Vec<u8>> {
    let text = page.seal(target)?;
    let path = Parts::of(target).path;
    let mut out = [&name.prefix, text.as_bytes()].concat();
    let slashes = path.iter().filter(|byte| **byte == b'/').count();
    for _ in 1..slashes {
        out.push(b'/');
        out.extend(PLACEHOLDER);
    }
    Some(out)
}

/// The markers that stood in a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found<'a> {
    /// None in the format of a marker.
    Nothing,
    /// This one.
    One(&'a [u8]),
    /// More than one: no page has such links.
    Several,
}

impl<'a> Found<'a> {
    fn and(self, text: &'a [u8]) -> Found<'a> {
        match self {
            Found::Nothing => Found::One(text),
            _ => Found::Several,
        }
    }
}

/// A target without the markers of the query and path styles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stripped<'a> {
    /// The target as the site gets it.
    pub target: Cow<'a, [u8]>,
    /// What was removed.
    pub found: Found<'a>,
}

/// Removes markers of the query and path styles, wherever in path and query they stand.
///
/// Scripts append to addresses, so a marker may stand in the middle: `?a=1&cg=T&b=2` becomes `?a=1&b=2`, and `?cg=T&b=2` becomes `?b=2`.
pub fn strip<'a>(target: &'a [u8], name: &Name) -> Stripped<'a> {
    if memmem::find(target, &name.parameter).is_none() {
        return Stripped {
            target: Cow::Borrowed(target),
            found: Found::Nothing,
        };
    }
    let parts = Parts::of(target);
    let mut out = Vec::with_capacity(target.len());
    let mut found = strip_path(parts.path, name, &mut out);
    if let Some(query) = parts.query {
        found = strip_query(query, name, found, &mut out);
    }
    out.extend(parts.fragment);
    let target = match found {
        Found::Nothing => Cow::Borrowed(target),
        _ => Cow::Owned(out),
    };
    Stripped { target, found }
}

fn strip_path<'a>(path: &'a [u8], name: &Name, out: &mut Vec<u8>) -> Found<'a> {
    let mut found = Found::Nothing;
    for (separator, piece) in pieces(path, [b'/', b';']) {
        match name.marker_in(piece).filter(|_| separator == Some(b';')) {
            Some(text) => found = found.and(text),
            None => {
                out.extend(separator);
                out.extend(piece);
            }
        }
    }
    found
}

/// Removes markers from a query with its `?`. A query of nothing else goes with its `?`.
fn strip_query<'a>(
    query: &'a [u8],
    name: &Name,
    mut found: Found<'a>,
    out: &mut Vec<u8>,
) -> Found<'a> {
    let mut is_first = true;
    for (separator, piece) in pieces(&query[1..], [b'&', b';']) {
        if let Some(text) = name.marker_in(piece) {
            found = found.and(text);
            continue;
        }
        out.push(separator.filter(|_| !is_first).unwrap_or(b'?'));
        out.extend(piece);
        is_first = false;
    }
    found
}

/// The pieces between separators, each with the separator before it.
fn pieces(text: &[u8], separators: [u8; 2]) -> impl Iterator<Item = (Option<u8>, &[u8])> {
    let mut rest = Some(text);
    let mut separator = None;
    std::iter::from_fn(move || {
        let text = rest?;
        let end = memchr::memchr2(separators[0], separators[1], text);
        let piece = &text[..end.unwrap_or(text.len())];
        rest = end.map(|end| &text[end + 1..]);
        let before = std::mem::replace(&mut separator, end.map(|end| text[end]));
        Some((before, piece))
    })
}

/// A target of the sealed style, before it is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SealedTarget<'a> {
    /// The marker.
    pub text: &'a [u8],
    /// The segments behind it, with their `/`.
    rest: &'a [u8],
    query: Option<&'a [u8]>,
    fragment: &'a [u8],
}

impl<'a> SealedTarget<'a> {
    /// Recognises the exact format; anything else is the site's own.
    pub fn of(target: &'a [u8], name: &Name) -> Option<SealedTarget<'a>> {
        let parts = Parts::of(target);
        let path = parts.path.strip_prefix(&name.prefix[..])?;
        let (text, rest) = path.split_at(memchr(b'/', path).unwrap_or(path.len()));
        is_sealed(text).then_some(SealedTarget {
            text,
            rest,
            query: parts.query,
            fragment: parts.fragment,
        })
    }

    /// The target as the site gets it, from the one that was sealed.
    ///
    /// A query in the request is that of a form or a script and replaces the sealed one. Where a script requests another path, the sealed
    /// query does not belong to it.
    pub fn restored(&self, sealed: &[u8]) -> Vec<u8> {
        let parts = Parts::of(sealed);
        let mut originals = parts.path.split(|byte| *byte == b'/').skip(1);
        let mut out = vec![b'/'];
        out.extend(originals.next().unwrap_or_default());
        let mut is_whole = true;
        for segment in self.rest.split(|byte| *byte == b'/').skip(1) {
            let original = originals.next();
            let is_kept = segment == PLACEHOLDER && original.is_some();
            is_whole &= is_kept;
            out.push(b'/');
            out.extend(original.filter(|_| is_kept).unwrap_or(segment));
        }
        is_whole &= originals.next().is_none();
        let sealed_query = parts.query.filter(|_| is_whole);
        out.extend(self.query.or(sealed_query).unwrap_or_default());
        out.extend(self.fragment);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Key;
    use crate::keys::Keyring;
    use crate::seal::Ages;
    use crate::seal::Facts;
    use crate::seal::Site;

    const ODD: [&[u8]; 22] = [
        b"/",
        b"/a",
        b"/a/",
        b"/a/b",
        b"/x?",
        b"/x??",
        b"/x?&",
        b"/?a=1;b=2",
        b"/?a&a=&=b",
        b"/?a=b+c%20d",
        b"//deep//path",
        b"///",
        b"/%2f/%2F?%3f",
        b"/caf\xe9?\xff=\x80",
        b"/a;v=1/b;w=2?x",
        b"/a;cg=/b;cg?cg=&cg",
        b"/?cg=short&cg=",
        b"/cg:x/-/-",
        b"/-/-/-?-",
        b"/a/../b/./c",
        b"/%23?%23",
        b"/a;?;&;",
    ];

    fn ring() -> Keyring {
        let key = Key {
            id: 1,
            secret: [1; 32],
            since_minutes: 0,
        };
        Keyring::new(&[key], &[2; 32]).unwrap()
    }

    fn page(ring: &Keyring) -> PageMarker {
        let facts = Facts {
            parent: 1,
            user: 2,
            minted_minutes: 3,
        };
        PageMarker::new(ring, &Site::new("example.org"), facts, [7; 12])
    }

    fn opened(text: &[u8], ring: &Keyring) -> Option<Vec<u8>> {
        let site = Site::new("example.org");
        ring.open(text, &site, 3, &Ages::default())?.target
    }

    #[test]
    fn h017_h116_odd_targets_come_back_byte_for_byte() {
        let (ring, name) = (ring(), Name::default());
        let mut page = page(&ring);
        let shared = page.shared().to_owned();
        for target in ODD {
            for fragment in [&b""[..], b"#x", b"#?a"] {
                let target = [target, fragment].concat();
                for style in [Style::Query, Style::Path] {
                    let marked = mark(&target, style, &name, &mut page).unwrap();
                    let stripped = strip(&marked, &name);
                    assert_eq!(stripped.target, target, "{style:?}");
                    assert_eq!(stripped.found, Found::One(shared.as_bytes()));
                }
                let marked = mark(&target, Style::Sealed, &name, &mut page).unwrap();
                let sealed = SealedTarget::of(&marked, &name).unwrap();
                let inner = opened(sealed.text, &ring).unwrap();
                assert_eq!(
                    sealed.restored(&inner).escape_ascii().to_string(),
                    target.escape_ascii().to_string()
                );
            }
        }
    }

    #[test]
    fn h117_what_is_no_marker_stays() {
        let name = Name::default();
        let almost = "A".repeat(67);
        let marker = "A".repeat(68);
        for value in [
            "",
            "1",
            &almost,
            &format!("{marker}A"),
            &format!("{almost}+"),
            &format!("{almost}="),
        ] {
            for target in [
                format!("/?cg={value}"),
                format!("/a;cg={value}/b"),
                format!("/cg:{value}"),
            ] {
                let stripped = strip(target.as_bytes(), &name);
                assert_eq!(stripped.found, Found::Nothing, "{target}");
                assert_eq!(stripped.target, target.as_bytes());
                assert_eq!(SealedTarget::of(target.as_bytes(), &name), None);
            }
        }
        for target in [
            format!("/?Cg={marker}"),
            format!("/?xcg={marker}"),
            format!("/cg={marker}"),
            format!("/?%63g={marker}"),
        ] {
            assert_eq!(
                strip(target.as_bytes(), &name).found,
                Found::Nothing,
                "{target}"
            );
        }
    }

    #[test]
    fn h116_markers_are_removed_wherever_they_stand() {
        let name = Name::default();
        let marker = "A".repeat(68);
        for (marked, plain, is_one) in [
            ("/x?cg=T", "/x", true),
            ("/x?&cg=T", "/x?", true),
            ("/x?cg=T&b=2", "/x?b=2", true),
            ("/x?a=1&cg=T&b=2", "/x?a=1&b=2", true),
            ("/x?a=1&cg=T;b=2", "/x?a=1;b=2", true),
            ("/x?cg=T;b=2", "/x?b=2", true),
            ("/x?cg=T&cg=T", "/x", false),
            ("/x;cg=T?cg=T", "/x", false),
            ("/x;cg=T;cg=T/y", "/x/y", false),
            ("/x;cg=T/more", "/x/more", true),
            ("/x;cg=T;v=1", "/x;v=1", true),
            ("/;cg=T", "/", true),
            ("/x?a=%23&cg=T", "/x?a=%23", true),
            ("/x?cg=T#cg=T", "/x#cg=T", true),
        ] {
            let marked = marked.replace('T', &marker);
            let stripped = strip(marked.as_bytes(), &name);
            let plain = plain.replace('T', &marker);
            assert_eq!(stripped.target, plain.as_bytes(), "{marked}");
            assert_eq!(matches!(stripped.found, Found::One(_)), is_one, "{marked}");
        }
    }

    #[test]
    fn scripts_on_sealed_pages_reach_what_they_mean() {
        let (ring, name) = (ring(), Name::default());
        let mut page = page(&ring);
        let sealed = |target: &str, page: &mut PageMarker| {
            String::from_utf8(mark(target.as_bytes(), Style::Sealed, &name, page).unwrap()).unwrap()
        };
        for (original, reference) in [
            ("/a/b/c?x=1", "data.json"),
            ("/a/b/c?x=1", "../x"),
            ("/a/b/c?x=1", "../../x?y"),
            ("/a/b/c?x=1", "?q=2"),
            ("/a/b/c?x=1", "?"),
            ("/a/b/c", ".."),
            ("/a/b/", "img/x.png"),
            ("/a", "x"),
            ("/", "x"),
        ] {
            let marked = sealed(original, &mut page);
            assert_eq!(marked.matches('/').count(), original.matches('/').count());
            let base = |path: &str| url::Url::parse(&format!("http://example.org{path}")).unwrap();
            let expected = base(original).join(reference).unwrap();
            let requested = base(&marked).join(reference).unwrap();
            let requested = &requested[url::Position::BeforePath..];
            let got = match SealedTarget::of(requested.as_bytes(), &name) {
                Some(sealed) => sealed.restored(&opened(sealed.text, &ring).unwrap()),
                None => requested.as_bytes().to_vec(),
            };
            assert_eq!(
                got.escape_ascii().to_string(),
                expected[url::Position::BeforePath..],
                "{original} {reference}"
            );
        }
    }

    #[test]
    fn names_are_letters_and_digits() {
        assert_eq!(Name::new("cg"), Some(Name::default()));
        for name in ["", "c=g", "c g", "ü", "c-g", "seventeenletters1"] {
            assert_eq!(Name::new(name), None, "{name}");
        }
    }
}
