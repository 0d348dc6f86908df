//! Which links of a page get a marker, and where in the link it stands.
//!
//! Links of the usual shapes are judged by their first characters. All others are resolved as a browser does, and after the marker is in
//! place resolved again: unless the address without its marker is the one before, the link stays as it is.
//!
//! | link | marker |
//! |---|---|
//! | `/a`, `a/b`, own address with a path | by the style |
//! | form | in the path, also in the query style: a browser replaces the query of a GET form by the form's fields, and a hidden field would change the form for scripts and leave a `?` too few where a form has no other field |
//! | path style: `?x=1`, `https://example.org`, `..`, odd spellings | in the query, for there is no segment that could take a parameter |
//! | other site, `#x`, empty, `mailto:` and the like, signed, marked already | none |

use std::ops::Range;
use std::sync::Arc;

use memchr::memchr;
use memchr::memmem;
use url::Position;
use url::Url;

use crate::charset::Charset;
use crate::references::Value;
use crate::refresh;
use crate::seal::PageMarker;
use crate::target;
use crate::target::Found;
use crate::target::Name;
use crate::target::SealedTarget;
use crate::target::Style;

/// Longer links pass unmarked: no server would take them, and decoding needs five times their length.
pub const LINK_BYTES_MAX: usize = 64 * 1024;

/// What an owner decides about links.
#[derive(Debug, Clone)]
pub struct Rules {
    /// The name of markers.
    pub name: Name,
    /// Where markers stand.
    pub style: Style,
    /// Links with one of these query parameters stay as they are: something may compare the whole address with a signature.
    pub signed: Vec<String>,
}

impl Default for Rules {
    fn default() -> Rules {
        let signed = [
            "X-Amz-Signature",
            "X-Goog-Signature",
            "X-Oss-Signature",
            "Signature",
            "sig",
            "sign",
            "hmac",
            "token",
            "access_token",
            "auth_token",
            "login_token",
            "magic",
            "ticket",
        ];
        Rules {
            name: Name::default(),
            style: Style::Query,
            signed: signed.map(str::to_owned).to_vec(),
        }
    }
}

/// What follows an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// A link or a redirect.
    Link,
    /// The action of a form.
    Form,
}

/// The replacement of a part of a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Splice {
    pub(crate) range: Range<usize>,
    pub(crate) text: New,
}

impl Splice {
    /// The same in a text that has so many bytes before this one.
    pub(crate) fn moved_by(self, start: usize) -> Splice {
        let Splice { range, text } = self;
        let range = start + range.start..start + range.end;
        Splice { range, text }
    }
}

/// What takes its place.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum New {
    Insert(Insertion),
    Sealed(Vec<u8>),
}

/// The ways to insert the page's marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Insertion {
    /// `?cg=T`
    Query,
    /// `&cg=T`
    Parameter,
    /// `;cg=T`
    Path,
    /// `&#59;cg=T`, where a semicolon would become the end of a character reference before it.
    Escaped,
}

const INSERTIONS: [&str; 4] = ["?", "&", ";", "&#59;"];

/// The links of one page.
pub struct Links {
    rules: Arc<Rules>,
    marker: PageMarker,
    pub(crate) charset: Charset,
    own: Url,
    /// `https://example.org`
    origin: String,
    /// Another address than the page's, from `<base>`.
    base: Option<Url>,
    is_base_own: bool,
    /// By [`Insertion`].
    insertions: [Vec<u8>; 4],
}

/// The structure of an address that needs no parser.
struct Shape {
    /// Where the path ends; `None` if it has no segment that could take a parameter.
    path_end: Option<usize>,
    query: Option<usize>,
    /// Where the fragment begins, or the address ends.
    end: usize,
}

impl Links {
    /// The links of a page, from its origin (`https://example.org`) and its request target as the site gets it, without markers; `None` if
    /// that is no address of a web page.
    pub fn new(
        origin: &str,
        target: &[u8],
        charset: Charset,
        marker: PageMarker,
        rules: Arc<Rules>,
    ) -> Option<Links> {
        let own = Url::parse(&format!("{origin}{}", ascii(target))).ok()?;
        if !matches!(own.scheme(), "http" | "https") {
            return None;
        }
        let text = marker.shared().as_bytes();
        let insertions = INSERTIONS
            .map(|separator| [separator.as_bytes(), rules.name.parameter(), text].concat());
        Some(Links {
            origin: own.origin().ascii_serialization(),
            insertions,
            rules,
            marker,
            charset,
            own,
            base: None,
            is_base_own: true,
        })
    }

    /// The value of a `Location` header field with a marker; `None` where it stays as it is.
    pub fn location(&mut self, value: &[u8]) -> Option<Vec<u8>> {
        let splice = self.place(&Value::plain(value), Use::Link)?;
        Some(self.spliced(value, &splice))
    }

    /// The value of a `Refresh` header field with a marker; `None` where it stays as it is.
    pub fn refresh(&mut self, value: &[u8]) -> Option<Vec<u8>> {
        let range = refresh::address(value)?;
        let splice = self.place(&Value::plain(&value[range.clone()]), Use::Link)?;
        let new = self.spliced(&value[range.clone()], &splice);
        Some([&value[..range.start], &new, &value[range.end..]].concat())
    }

    /// The place of the marker in an attribute value.
    pub(crate) fn attribute(&mut self, raw: &[u8], used: Use) -> Option<Splice> {
        if raw.len() > LINK_BYTES_MAX {
            return None;
        }
        let value = Value::decode(raw);
        let splice = self.place(&value, used)?;
        let start = value.place(splice.range.start, raw);
        let end = value.place(splice.range.end, raw);
        let text = match splice.text {
            New::Insert(Insertion::Path) if is_in_reference(&raw[..start]) => {
                New::Insert(Insertion::Escaped)
            }
            text => text,
        };
        let range = start..end;
        Some(Splice { range, text })
    }

    /// The place of the marker in the `content` of a `<meta http-equiv=refresh>`.
    pub(crate) fn content(&mut self, raw: &[u8]) -> Option<Splice> {
        if raw.len() > LINK_BYTES_MAX {
            return None;
        }
        let value = Value::decode(raw);
        let range = refresh::address(&value.text)?;
        let start = value.place(range.start, raw);
        let end = value.place(range.end, raw);
        Some(self.attribute(&raw[start..end], Use::Link)?.moved_by(start))
    }

    /// Follows the first `<base href>` of a page.
    pub(crate) fn set_base(&mut self, raw: &[u8]) {
        if self.base.is_some() || raw.len() > LINK_BYTES_MAX {
            return;
        }
        let value = Value::decode(raw);
        let base = self.own.join(&String::from_utf8_lossy(&value.text));
        let base = base
            .ok()
            .filter(|base| !matches!(base.scheme(), "data" | "javascript"));
        let base = base.unwrap_or_else(|| self.own.clone());
        self.is_base_own = base.origin() == self.own.origin();
        self.base = Some(base);
    }

    /// The bytes of a new text.
    pub(crate) fn bytes<'a>(&'a self, text: &'a New) -> &'a [u8] {
        match text {
            New::Insert(insertion) => &self.insertions[*insertion as usize],
            New::Sealed(text) => text,
        }
    }

    fn spliced(&self, value: &[u8], Splice { range, text }: &Splice) -> Vec<u8> {
        let text = self.bytes(text);
        [&value[..range.start], text, &value[range.end..]].concat()
    }

    /// The place of the marker in a decoded address.
    fn place(&mut self, value: &Value, used: Use) -> Option<Splice> {
        let text = &value.text[..];
        if text.len() > LINK_BYTES_MAX || matches!(text.first(), None | Some(b'#')) {
            return None;
        }
        if memmem::find(text, self.rules.name.parameter()).is_some()
            && target::strip(text, &self.rules.name).found != Found::Nothing
        {
            return None;
        }
        if self.rules.style == Style::Sealed {
            return self.seal(value);
        }
        match self.shape(text) {
            Some(shape) => self.insert(text, &shape, used),
            None => self.resolve_and_insert(text),
        }
    }

    /// The shape of an address of this site, if its first characters show that it is one.
    fn shape(&self, text: &[u8]) -> Option<Shape> {
        let is_odd = |byte: &u8| *byte <= b' ' || *byte == b'\\';
        if text.iter().any(is_odd) {
            return None;
        }
        let end = memchr(b'#', text).unwrap_or(text.len());
        let query = memchr(b'?', &text[..end]);
        let path_end = query.unwrap_or(end);
        let path = &text[..path_end];
        let path_start = match path {
            _ if path.starts_with(self.origin.as_bytes())
                && matches!(path.get(self.origin.len()), None | Some(b'/')) =>
            {
                self.origin.len()
            }
            _ if !self.is_base_own || path.starts_with(b"//") => return None,
            [b'/', ..] => 0,
            _ if first_segment(path).contains(&b':') => return None,
            _ => 0,
        };
        let last = path[path_start..].rsplit(|byte| *byte == b'/').next();
        let is_open = path_start < path_end && !last.is_some_and(is_dots);
        Some(Shape {
            path_end: Some(path_end).filter(|_| is_open),
            query,
            end,
        })
    }

    fn insert(&self, text: &[u8], shape: &Shape, used: Use) -> Option<Splice> {
        if let Some(query) = shape.query
            && self.is_signed(&text[query + 1..shape.end])
        {
            return None;
        }
        let is_in_path = self.rules.style == Style::Path || used == Use::Form;
        let (at, insertion) = match (shape.path_end.filter(|_| is_in_path), shape.query) {
            (Some(path_end), _) => (path_end, Insertion::Path),
            (None, Some(_)) => (shape.end, Insertion::Parameter),
            (None, None) => (shape.end, Insertion::Query),
        };
        Some(Splice {
            range: at..at,
            text: New::Insert(insertion),
        })
    }

    /// Resolves twice: no link is known whose address the marker changes otherwise, but spellings are many.
    fn resolve_and_insert(&self, text: &[u8]) -> Option<Splice> {
        if self.is_foreign(text) {
            return None;
        }
        let before = self.resolved(text)?;
        // A browser drops spaces and control characters around an address.
        let trimmed = text.iter().rposition(|byte| *byte > b' ')? + 1;
        let end = memchr(b'#', text).unwrap_or(trimmed);
        let query = memchr(b'?', &text[..end]);
        let path_end = None;
        let shape = Shape {
            path_end,
            query,
            end,
        };
        let splice = self.insert(text, &shape, Use::Link)?;
        let after = self.resolved(&self.spliced(text, &splice))?;
        let stripped = target::strip(after[Position::BeforePath..].as_bytes(), &self.rules.name);
        let is_same = stripped.target == before[Position::BeforePath..].as_bytes();
        (is_same && stripped.found != Found::Nothing).then_some(splice)
    }

    /// Whether an absolute address is that of another site, told by its host as it is spelled: one of letters, digits, dots and dashes that ends
    /// with a letter has no other spelling.
    fn is_foreign(&self, text: &[u8]) -> bool {
        let rest = text
            .strip_prefix(b"https://")
            .or(text.strip_prefix(b"http://"));
        let Some(rest) = rest else { return false };
        let is_end = |byte: &u8| matches!(byte, b'/' | b'?' | b'#');
        let host = &rest[..rest.iter().position(is_end).unwrap_or(rest.len())];
        let is_usual = |byte: &u8| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'.' | b'-')
        };
        let top = host.rsplit(|byte| *byte == b'.').next().unwrap_or_default();
        let is_name = !top.is_empty() && top.iter().all(u8::is_ascii_lowercase);
        is_name && host.iter().all(is_usual) && self.own.host_str().map(str::as_bytes) != Some(host)
    }

    /// Where a browser goes with a link, if that is this site and not the page itself.
    fn resolved(&self, text: &[u8]) -> Option<Url> {
        let is_blank = |byte: &u8| *byte <= b' ';
        if matches!(text.iter().find(|byte| !is_blank(byte)), None | Some(b'#')) {
            return None;
        }
        let base = self.base.as_ref().unwrap_or(&self.own);
        let address = base.join(&String::from_utf8_lossy(text)).ok()?;
        let is_own = address.origin() == self.own.origin()
            && address.username().is_empty()
            && address.password().is_none();
        is_own.then_some(address)
    }

    fn seal(&mut self, value: &Value) -> Option<Splice> {
        let text = &value.text[..];
        // A browser encodes other characters by the encoding of the page, which is not known here, or is not done here.
        if value.is_unsure || (self.charset != Charset::Utf8 && !text.is_ascii()) {
            return None;
        }
        if self.is_foreign(text) {
            return None;
        }
        let end = memchr(b'#', text).unwrap_or(text.len());
        let resolved;
        let target = if self.is_base_own && is_plain_target(&text[..end]) {
            &text[..end]
        } else {
            resolved = self.resolved(text)?;
            resolved[Position::BeforePath..Position::AfterQuery].as_bytes()
        };
        let query = memchr(b'?', target).map(|query| &target[query + 1..]);
        if query.is_some_and(|query| self.is_signed(query))
            || SealedTarget::of(target, &self.rules.name).is_some()
        {
            return None;
        }
        let sealed = target::seal(target, &self.rules.name, &mut self.marker)?;
        let origin = if self.is_base_own { "" } else { &self.origin };
        Some(Splice {
            range: 0..end,
            text: New::Sealed([origin.as_bytes(), &sealed].concat()),
        })
    }

    fn is_signed(&self, query: &[u8]) -> bool {
        let mut parameters = query.split(|byte| matches!(byte, b'&' | b';'));
        parameters.any(|parameter| {
            let name = &parameter[..memchr(b'=', parameter).unwrap_or(parameter.len())];
            let mut signed = self.rules.signed.iter();
            signed.any(|signed| name.eq_ignore_ascii_case(signed.as_bytes()))
        })
    }
}

/// A target in which all bytes outside ASCII are encoded. Browsers send none, and a parser would take them for UTF-8.
fn ascii(target: &[u8]) -> String {
    let mut out = String::with_capacity(target.len());
    for byte in target {
        match byte {
            b'!'..=b'~' => out.push(char::from(*byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

fn first_segment(path: &[u8]) -> &[u8] {
    &path[..memchr(b'/', path).unwrap_or(path.len())]
}

/// Segments that a browser resolves, and that are none any more with a parameter.
fn is_dots(segment: &[u8]) -> bool {
    let spellings: [&[u8]; 6] = [b".", b"..", b"%2e", b".%2e", b"%2e.", b"%2e%2e"];
    spellings
        .iter()
        .any(|dots| segment.eq_ignore_ascii_case(dots))
}

/// Whether a text ends within what a semicolon would make a character reference.
fn is_in_reference(raw: &[u8]) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'#';
    let before = raw.iter().rev().find(|byte| !is_part(byte));
    before == Some(&b'&')
}

/// Whether a browser requests an absolute path as it is written, without resolving dots or encoding anything.
fn is_plain_target(text: &[u8]) -> bool {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/?&=+,:@!$*();~._-".contains(byte);
    text.first() == Some(&b'/')
        && text.get(1) != Some(&b'/')
        && text.iter().all(is_plain)
        && memmem::find(text, b"/.").is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Key;
    use crate::keys::Keyring;
    use crate::seal::Facts;
    use crate::seal::Site;

    fn links(style: Style, charset: Charset) -> Links {
        let key = Key {
            id: 1,
            secret: [1; 32],
            since_minutes: 0,
        };
        let ring = Keyring::new(&[key], &[2; 32]).unwrap();
        let facts = Facts {
            parent: 1,
            user: 2,
            minted_minutes: 3,
        };
        let marker = PageMarker::new(&ring, &Site::new("example.org"), facts, [7; 12]);
        let rules = Rules {
            style,
            ..Rules::default()
        };
        let origin = "https://example.org";
        Links::new(origin, b"/caf\xe9/b", charset, marker, Arc::new(rules)).unwrap()
    }

    fn check(
        value: &str,
        expected: Option<&str>,
        mark: impl Fn(&mut Links, &[u8]) -> Option<Vec<u8>>,
    ) {
        let mut links = links(Style::Query, Charset::Undeclared);
        let marker = links.marker.shared().to_owned();
        let marked = mark(&mut links, value.as_bytes());
        let marked = marked.map(|marked| String::from_utf8(marked).unwrap().replace(&marker, "T"));
        assert_eq!(marked.as_deref(), expected, "{value}");
    }

    #[test]
    fn redirects_are_marked() {
        for (value, expected) in [
            ("/x?y=1#z", Some("/x?y=1&cg=T#z")),
            ("https://example.org/", Some("https://example.org/?cg=T")),
            ("HTTPS://EXAMPLE.org/", Some("HTTPS://EXAMPLE.org/?cg=T")),
            ("x&amp", Some("x&amp?cg=T")),
            ("https://example.com/", None),
            ("http://example.org/", None),
            ("//example.com/", None),
            ("https://example.org:8443/", None),
            ("/x?token=1", None),
            ("", None),
            ("#x", None),
        ] {
            check(value, expected, Links::location);
        }
    }

    #[test]
    fn refresh_fields_are_marked() {
        for (value, expected) in [
            ("5; url=/x", Some("5; url=/x?cg=T")),
            ("0;url='/x?y'", Some("0;url='/x?y&cg=T'")),
            ("5", None),
            ("5; url=https://example.com/", None),
        ] {
            check(value, expected, Links::refresh);
        }
    }

    /// A browser sends other bytes for them than are known here.
    #[test]
    fn only_ascii_is_sealed_unless_the_page_is_utf_8() {
        for (charset, is_sealed) in [
            (Charset::Utf8, true),
            (Charset::Legacy, false),
            (Charset::Undeclared, false),
        ] {
            let mut links = links(Style::Sealed, charset);
            assert!(links.attribute(b"/x", Use::Link).is_some());
            for value in ["/\u{e9}", "/x?&eacute;", "/&#233;"] {
                assert_eq!(
                    links.attribute(value.as_bytes(), Use::Link).is_some(),
                    is_sealed,
                    "{value}"
                );
            }
            assert!(links.attribute(b"/&alpha;", Use::Link).is_none());
        }
    }

    /// The page's own target may hold any bytes; relative links keep them.
    #[test]
    fn targets_of_any_bytes_are_addresses() {
        let links = links(Style::Query, Charset::Utf8);
        let address = links.resolved(b"x").unwrap();
        assert_eq!(address.as_str(), "https://example.org/caf%E9/x");
    }

    #[test]
    fn foreign_hosts_are_told_by_their_spelling() {
        let links = links(Style::Query, Charset::Utf8);
        for (address, is_foreign) in [
            ("https://example.com/x", true),
            ("http://www.example.org?x", true),
            ("https://example.org/x", false),
            ("http://example.org/x", false),
            ("https://EXAMPLE.com/", false),
            ("https://example.com:443/", false),
            ("https://192.0.2.1/", false),
            ("https://a@example.com/", false),
            ("//example.com/", false),
        ] {
            assert_eq!(
                links.is_foreign(address.as_bytes()),
                is_foreign,
                "{address}"
            );
        }
    }
}
