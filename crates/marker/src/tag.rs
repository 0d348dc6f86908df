//! One tag, read byte by byte (HTML Standard, 13.2.5.6 to 13.2.5.40).
//!
//! A tag may arrive in any number of pieces: nothing is read twice, and only the places of the attributes that matter are kept.

use std::ops::Range;

use memchr::memchr;

/// A name in lower case, if it is short enough to be one that matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Short {
    bytes: [u8; Short::MAX],
    /// One more than fits means: longer.
    length: u8,
}

impl Short {
    const MAX: usize = 23;

    #[inline]
    fn push(&mut self, byte: u8) {
        let at = usize::from(self.length);
        if let Some(place) = self.bytes.get_mut(at) {
            *place = byte.to_ascii_lowercase();
            self.length += 1;
        } else {
            self.length = Short::MAX as u8 + 1;
        }
    }

    /// The name, or nothing if it is too long.
    #[inline]
    pub(crate) fn text(&self) -> &[u8] {
        self.bytes
            .get(..usize::from(self.length))
            .unwrap_or_default()
    }
}

/// The attributes that matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attribute {
    Href,
    Action,
    FormAction,
    Rel,
    Download,
    HttpEquiv,
    Content,
    Charset,
}

impl Attribute {
    const COUNT: usize = 8;

    #[inline]
    fn named(name: &[u8]) -> Option<Attribute> {
        Some(match name {
            b"href" => Attribute::Href,
            b"action" => Attribute::Action,
            b"formaction" => Attribute::FormAction,
            b"rel" => Attribute::Rel,
            b"download" => Attribute::Download,
            b"http-equiv" => Attribute::HttpEquiv,
            b"content" => Attribute::Content,
            b"charset" => Attribute::Charset,
            _ => return None,
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Behind the `<`.
    Open,
    /// Behind `</`.
    EndOpen,
    Name,
    BeforeAttribute,
    AttributeName,
    AfterAttributeName,
    BeforeValue,
    Quoted(u8),
    Unquoted,
    AfterQuoted,
    SelfClosing,
    /// Behind the `>`.
    Done,
}

/// What a piece of a page was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fed {
    /// The tag goes on behind it.
    More,
    /// A tag ends behind this many bytes.
    Tag(usize),
    /// It is text up to here.
    Text(usize),
    /// A comment of the kind that ends with the first `>` begins here.
    Bogus(usize),
    /// Up to here it is `<!`.
    Declaration(usize),
}

/// A tag.
#[derive(Debug)]
pub(crate) struct Tag {
    state: State,
    pub(crate) is_end: bool,
    /// The end of raw text, which no other tag depends on.
    pub(crate) is_end_of_raw: bool,
    pub(crate) is_self_closing: bool,
    pub(crate) name: Short,
    attribute: Short,
    /// Bytes read, with the `<`.
    pub(crate) length: usize,
    value_start: usize,
    /// The attribute that is being read, if it matters and is the first of its name.
    current: Option<Attribute>,
    /// By [`Attribute`]; of several with one name the first counts.
    values: [Option<(usize, usize)>; Attribute::COUNT],
}

#[inline]
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'\x0c')
}

impl Tag {
    /// A tag of which the `<` was read.
    #[inline]
    pub(crate) fn new() -> Tag {
        Tag {
            state: State::Open,
            is_end: false,
            is_end_of_raw: false,
            is_self_closing: false,
            name: Short::default(),
            attribute: Short::default(),
            length: 1,
            value_start: 0,
            current: None,
            values: [None; Attribute::COUNT],
        }
    }

    /// The end tag of raw text, of which the name was read.
    pub(crate) fn end_of_raw() -> Tag {
        Tag {
            state: State::BeforeAttribute,
            is_end: true,
            is_end_of_raw: true,
            ..Tag::new()
        }
    }

    /// Where the value of an attribute stands, from the `<` on.
    pub(crate) fn value(&self, attribute: Attribute) -> Option<Range<usize>> {
        let (start, end) = self.values[attribute as usize]?;
        Some(start..end)
    }

    /// Reads on.
    #[inline]
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Fed {
        let before = self.length;
        let mut at = 0;
        while at < bytes.len() {
            let rest = &bytes[at..];
            at += match self.state {
                State::Open | State::EndOpen => match self.open(rest[0], at) {
                    Ok(used) => used,
                    Err(fed) => return fed,
                },
                State::Name => self.name(rest),
                State::AttributeName => self.attribute_name(rest, before + at),
                State::Quoted(quote) => self.quoted(rest, quote, before + at),
                State::Unquoted => self.unquoted(rest, before + at),
                _ => self.between(rest[0], before + at),
            };
            if self.state == State::Done {
                self.length = before + at;
                return Fed::Tag(at);
            }
        }
        self.length = before + at;
        Fed::More
    }

    /// The number of bytes used, as from the other states: 0 means that the next state reads the byte again.
    fn open(&mut self, byte: u8, at: usize) -> Result<usize, Fed> {
        match (self.state, byte) {
            (_, byte) if byte.is_ascii_alphabetic() => self.state = State::Name,
            (State::Open, b'/') => {
                self.is_end = true;
                self.state = State::EndOpen;
                return Ok(1);
            }
            (State::Open, b'!') => return Err(Fed::Declaration(at + 1)),
            (State::Open, b'?') => return Err(Fed::Bogus(at)),
            (State::Open, _) => return Err(Fed::Text(at)),
            (_, b'>') => return Err(Fed::Text(at + 1)),
            _ => return Err(Fed::Bogus(at)),
        }
        Ok(0)
    }

    #[inline]
    fn name(&mut self, rest: &[u8]) -> usize {
        for (index, byte) in rest.iter().enumerate() {
            self.state = match *byte {
                b'>' => State::Done,
                b'/' => State::SelfClosing,
                byte if is_space(byte) => State::BeforeAttribute,
                byte => {
                    self.name.push(byte);
                    continue;
                }
            };
            return index + 1;
        }
        rest.len()
    }

    #[inline]
    fn attribute_name(&mut self, rest: &[u8], place: usize) -> usize {
        for (index, byte) in rest.iter().enumerate() {
            let (state, used) = match *byte {
                b'=' => (State::BeforeValue, index + 1),
                b'>' | b'/' => (State::AfterAttributeName, index),
                byte if is_space(byte) => (State::AfterAttributeName, index),
                byte => {
                    self.attribute.push(byte);
                    continue;
                }
            };
            self.state = state;
            self.end_attribute_name(place + index);
            return used;
        }
        rest.len()
    }

    /// Notes the attribute, for now with an empty value.
    #[inline]
    fn end_attribute_name(&mut self, place: usize) {
        let attribute = Attribute::named(self.attribute.text());
        self.current = attribute.filter(|attribute| self.values[*attribute as usize].is_none());
        self.value_start = place;
        self.end_value(place);
    }

    #[inline]
    fn end_value(&mut self, end: usize) {
        if let Some(current) = self.current {
            self.values[current as usize] = Some((self.value_start, end));
        }
    }

    #[inline]
    fn quoted(&mut self, rest: &[u8], quote: u8, place: usize) -> usize {
        let Some(end) = memchr(quote, rest) else {
            return rest.len();
        };
        self.end_value(place + end);
        self.state = State::AfterQuoted;
        end + 1
    }

    fn unquoted(&mut self, rest: &[u8], place: usize) -> usize {
        let is_end = |byte: &u8| *byte == b'>' || is_space(*byte);
        let Some(end) = rest.iter().position(is_end) else {
            return rest.len();
        };
        self.end_value(place + end);
        self.state = match rest[end] {
            b'>' => State::Done,
            _ => State::BeforeAttribute,
        };
        end + 1
    }

    /// One byte outside of names and values.
    #[inline]
    fn between(&mut self, byte: u8, place: usize) -> usize {
        let (state, used) = match (self.state, byte) {
            (State::AfterQuoted, byte) if is_space(byte) => (State::BeforeAttribute, 1),
            (State::SelfClosing, b'>') => {
                self.is_self_closing = true;
                (State::Done, 1)
            }
            (State::SelfClosing, _) => (State::BeforeAttribute, 0),
            (state, byte) if is_space(byte) => (state, 1),
            (_, b'>') => (State::Done, 1),
            (State::BeforeValue, quote @ (b'"' | b'\'')) => {
                self.value_start = place + 1;
                (State::Quoted(quote), 1)
            }
            (State::BeforeValue, _) => {
                self.value_start = place;
                (State::Unquoted, 0)
            }
            (_, b'/') => (State::SelfClosing, 1),
            (State::AfterAttributeName, b'=') => (State::BeforeValue, 1),
            (State::BeforeAttribute, byte) => {
                self.attribute = Short::default();
                self.attribute.push(byte);
                (State::AttributeName, 1)
            }
            _ => (State::BeforeAttribute, 0),
        };
        self.state = state;
        used
    }
}
