//! Marks the links of an HTML page as it streams.
//!
//! A scanner after the tokenizer of the HTML Standard finds the tags that matter. Only values of their attributes change, all other bytes
//! pass as they came, so that taking the markers out gives the page byte for byte. (`lol_html` writes a changed start tag anew.)
//!
//! Invariants: the output does not depend on how the page is cut into pieces. At most a tag is held back, and a tag that is longer than a
//! quarter of the memory limit passes unmarked.

use memchr::memchr;

use crate::charset::Charset;
use crate::links::LINK_BYTES_MAX;
use crate::links::Links;
use crate::links::Splice;
use crate::links::Use;
use crate::nesting::GaveUp;
use crate::nesting::Nesting;
use crate::nesting::Then;
use crate::raw::Cdata;
use crate::raw::Comment;
use crate::raw::Declaration;
use crate::raw::Declared;
use crate::raw::RawText;
use crate::raw::Read;
use crate::raw::Script;
use crate::tag::Attribute;
use crate::tag::Fed;
use crate::tag::Tag;

/// The memory that one page may take, unless the caller wants another limit.
pub const MEMORY_MAX: usize = 2 << 20;

/// What became of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome {
    /// Links with a marker.
    pub marked: u64,
    /// Tags and links that were too long to be looked at.
    pub too_long: u64,
    /// Why the rest of the page passed as it was.
    pub gave_up: Option<GaveUp>,
}

/// Where in the page the reading stands.
#[derive(Debug)]
enum State {
    Text,
    Tag,
    Declaration(Declaration),
    /// A comment up to the first `>`.
    Bogus,
    Comment(Comment),
    Cdata(Cdata),
    Raw(RawText),
    Script(Script),
    /// The rest passes.
    Rest,
}

/// A page on its way to the client.
pub struct Rewriter {
    links: Links,
    state: State,
    nesting: Nesting,
    tag: Tag,
    /// The bytes of a tag that is not complete yet.
    held: Vec<u8>,
    /// The first bytes of the page, for a byte order mark.
    first: Vec<u8>,
    tag_max: usize,
    link_max: usize,
    outcome: Outcome,
}

impl Rewriter {
    /// A page of which nothing has come yet. `memory_max` is in bytes; [`MEMORY_MAX`] is the usual limit.
    pub fn new(links: Links, memory_max: usize) -> Rewriter {
        Rewriter {
            links,
            state: State::Text,
            nesting: Nesting::default(),
            tag: Tag::new(),
            held: Vec::new(),
            first: Vec::new(),
            tag_max: memory_max / 4,
            link_max: LINK_BYTES_MAX.min(memory_max / 32),
            outcome: Outcome::default(),
        }
    }

    /// What happened so far.
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// The bytes that are reserved for the page.
    pub fn memory(&self) -> usize {
        self.held.capacity() + size_of::<Rewriter>()
    }

    /// Takes a piece of the page and appends what can leave to `out`.
    pub fn push(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        self.look_for_mark(piece);
        let mut rest = piece;
        while !rest.is_empty() {
            let used = self.step(rest, out);
            rest = &rest[used..];
        }
    }

    /// The page has ended: a tag that was not complete leaves as it is.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.held);
        self.state = State::Rest;
    }

    /// A byte order mark decides the encoding, whatever header and page say.
    fn look_for_mark(&mut self, piece: &[u8]) {
        let missing = 3_usize.saturating_sub(self.first.len());
        if missing == 0 {
            return;
        }
        self.first.extend(piece.iter().take(missing));
        match self.first[..] {
            [0xfe, 0xff, ..] | [0xff, 0xfe, ..] => self.give_up(GaveUp::Encoding),
            [0xef, 0xbb, 0xbf] => self.links.charset = Charset::Utf8,
            _ => {}
        }
    }

    fn give_up(&mut self, why: GaveUp) {
        self.outcome.gave_up.get_or_insert(why);
        self.state = State::Rest;
    }

    /// Reads on in the present state; gives the number of bytes that were used.
    fn step(&mut self, rest: &[u8], out: &mut Vec<u8>) -> usize {
        let read = match &mut self.state {
            State::Text => return self.text(rest, out),
            State::Tag => return self.in_tag(rest, out),
            State::Declaration(declaration) => {
                let declared = declaration.next(rest[0]);
                return self.declared(declared, rest[0], out);
            }
            State::Bogus => memchr(b'>', rest).map_or(Read::On, |end| Read::Ends(end + 1)),
            State::Comment(comment) => comment.read(rest),
            State::Cdata(cdata) => cdata.read(rest),
            State::Raw(raw) => raw.read(rest),
            State::Script(script) => script.read(rest),
            State::Rest => Read::On,
        };
        let Read::Ends(end) = read else {
            out.extend_from_slice(rest);
            return rest.len();
        };
        out.extend_from_slice(&rest[..end]);
        self.state = match self.state {
            State::Raw(_) | State::Script(_) => {
                self.tag = Tag::end_of_raw();
                State::Tag
            }
            _ => State::Text,
        };
        end
    }

    fn declared(&mut self, declared: Declared, byte: u8, out: &mut Vec<u8>) -> usize {
        self.state = match declared {
            Declared::Undecided => {
                out.push(byte);
                return 1;
            }
            Declared::Comment => State::Comment(Comment::Start),
            Declared::Cdata if self.nesting.takes_cdata() => State::Cdata(Cdata::default()),
            Declared::Cdata => State::Bogus,
            Declared::Bogus => {
                self.state = State::Bogus;
                return 0;
            }
        };
        out.push(byte);
        1
    }

    fn text(&mut self, rest: &[u8], out: &mut Vec<u8>) -> usize {
        let Some(less) = memchr(b'<', rest) else {
            out.extend_from_slice(rest);
            return rest.len();
        };
        self.tag = Tag::new();
        // Most tags arrive whole: they are read where they are.
        let fed = self.tag.feed(&rest[less + 1..]);
        match fed {
            Fed::Tag(length) => {
                let end = less + 1 + length;
                out.extend_from_slice(&rest[..less]);
                self.tag_complete(&rest[less..end], out);
                end
            }
            Fed::More => {
                out.extend_from_slice(&rest[..less]);
                self.state = State::Tag;
                self.hold(&rest[less..], out);
                rest.len()
            }
            _ => {
                let end = less + 1 + self.not_a_tag(fed);
                out.extend_from_slice(&rest[..end]);
                end
            }
        }
    }

    /// Turns to what began with `<` and is not a tag; gives the number of bytes that belong to its beginning.
    fn not_a_tag(&mut self, fed: Fed) -> usize {
        let (state, used) = match fed {
            Fed::Bogus(used) => (State::Bogus, used),
            Fed::Declaration(used) => (State::Declaration(Declaration::Open), used),
            Fed::Text(used) | Fed::Tag(used) => (State::Text, used),
            Fed::More => (State::Tag, 0),
        };
        self.state = state;
        used
    }

    fn in_tag(&mut self, rest: &[u8], out: &mut Vec<u8>) -> usize {
        let fed = self.tag.feed(rest);
        match fed {
            Fed::More => {
                self.hold(rest, out);
                rest.len()
            }
            Fed::Tag(length) => {
                self.hold(&rest[..length], out);
                let tag = std::mem::take(&mut self.held);
                self.state = State::Text;
                self.tag_complete(&tag, out);
                self.held = tag;
                self.held.clear();
                length
            }
            _ => {
                let used = self.not_a_tag(fed);
                out.append(&mut self.held);
                out.extend_from_slice(&rest[..used]);
                used
            }
        }
    }

    /// Keeps the bytes of a tag, unless it is too long or leaves as it is.
    fn hold(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        if self.tag.length > self.tag_max {
            out.append(&mut self.held);
            // Frees what a long tag took, for the rest of the page.
            self.held = Vec::new();
            out.extend_from_slice(bytes);
        } else {
            self.held.extend_from_slice(bytes);
        }
    }

    /// A tag has ended. `bytes` are all of it, or nothing if it was too long and has left.
    fn tag_complete(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        if self.tag.length > self.tag_max {
            self.outcome.too_long += 1;
            out.extend_from_slice(bytes);
        } else {
            let splice = self.splice(bytes);
            self.write(bytes, splice, out);
        }
        if matches!(self.state, State::Rest) {
            return;
        }
        if self.tag.is_end_of_raw {
            self.state = State::Text;
            return;
        }
        self.state = match self.nesting.tag(&self.tag) {
            Then::Markup => State::Text,
            Then::Raw(name) => State::Raw(RawText::new(name)),
            Then::Script => State::Script(Script::default()),
            Then::GiveUp(why) => return self.give_up(why),
        };
    }

    fn write(&mut self, bytes: &[u8], splice: Option<Splice>, out: &mut Vec<u8>) {
        let Some(Splice { range, text }) = splice else {
            out.extend_from_slice(bytes);
            return;
        };
        self.outcome.marked += 1;
        out.extend_from_slice(&bytes[..range.start]);
        out.extend_from_slice(self.links.bytes(&text));
        out.extend_from_slice(&bytes[range.end..]);
    }

    /// What changes in a tag.
    #[inline]
    fn splice(&mut self, bytes: &[u8]) -> Option<Splice> {
        if self.tag.is_end || !self.nesting.takes_links() {
            return None;
        }
        match self.tag.name.text() {
            b"a" | b"area" if self.tag.value(Attribute::Download).is_none() => {
                self.link(bytes, Attribute::Href, Use::Link)
            }
            b"form" => self.link(bytes, Attribute::Action, Use::Form),
            // A submit button's own action stands for the form's.
            b"button" | b"input" => self.link(bytes, Attribute::FormAction, Use::Form),
            b"link" if self.is_next(bytes) => self.link(bytes, Attribute::Href, Use::Link),
            b"base" => {
                let href = self.tag.value(Attribute::Href)?;
                self.links.set_base(&bytes[href]);
                None
            }
            b"meta" => self.meta(bytes),
            _ => None,
        }
    }

    #[inline]
    fn link(&mut self, bytes: &[u8], attribute: Attribute, used: Use) -> Option<Splice> {
        let value = self.tag.value(attribute)?;
        if value.len() > self.link_max {
            self.outcome.too_long += 1;
            return None;
        }
        let splice = self.links.attribute(&bytes[value.clone()], used)?;
        Some(splice.moved_by(value.start))
    }

    /// Whether a `<link>` leads to the next or the previous page and is nothing else besides.
    fn is_next(&self, bytes: &[u8]) -> bool {
        let Some(rel) = self.tag.value(Attribute::Rel) else {
            return false;
        };
        let words = bytes[rel].split(u8::is_ascii_whitespace);
        let mut words = words.filter(|word| !word.is_empty()).peekable();
        let is_known = |word: &[u8]| {
            let known: [&[u8]; 3] = [b"next", b"prev", b"previous"];
            known.iter().any(|known| word.eq_ignore_ascii_case(known))
        };
        words.peek().is_some() && words.all(is_known)
    }

    fn meta(&mut self, bytes: &[u8]) -> Option<Splice> {
        let value = |attribute| self.tag.value(attribute).map(|range| &bytes[range]);
        let equiv = value(Attribute::HttpEquiv).unwrap_or_default();
        let content = value(Attribute::Content).unwrap_or_default();
        let is_type = equiv.eq_ignore_ascii_case(b"content-type");
        let label = value(Attribute::Charset).or_else(|| label_in(content).filter(|_| is_type));
        if let Some(label) = label
            && self.links.charset == Charset::Undeclared
        {
            match Charset::of_meta(label) {
                Some(charset) => self.links.charset = charset,
                None => self.give_up(GaveUp::Encoding),
            }
        }
        if !equiv.eq_ignore_ascii_case(b"refresh") || content.len() > self.link_max {
            return None;
        }
        let start = self.tag.value(Attribute::Content)?.start;
        Some(self.links.content(content)?.moved_by(start))
    }
}

/// The label in `text/html; charset=…`.
fn label_in(content: &[u8]) -> Option<&[u8]> {
    let is_name = |word: &[u8]| word.eq_ignore_ascii_case(b"charset");
    let start = content.windows(7).position(is_name)? + 7;
    let label = content[start..].trim_ascii_start().strip_prefix(b"=")?;
    let is_rest = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b';' | b'"' | b'\'');
    let label = label.trim_ascii_start();
    let label = label
        .strip_prefix(b"\"")
        .or(label.strip_prefix(b"'"))
        .unwrap_or(label);
    label.split(is_rest).next()
}

/// A page without the markers that a rewriter put into it in the query or path style.
///
/// The markers of one page are one text, which nobody can guess, so that each insertion is found by what it is.
pub fn unmark(page: &[u8], name: &str, marker: &str) -> Vec<u8> {
    let marker = format!("{name}={marker}");
    let mut out = Vec::with_capacity(page.len());
    let mut from = 0;
    for found in memchr::memmem::find_iter(page, marker.as_bytes()) {
        let before = &page[from..found];
        let escaped = before.strip_suffix(b"&#59;");
        out.extend_from_slice(escaped.unwrap_or(&before[..before.len().saturating_sub(1)]));
        from = found + marker.len();
    }
    out.extend_from_slice(&page[from..]);
    out
}
