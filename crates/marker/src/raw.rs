//! What is not markup: comments, raw text, scripts, CDATA sections. Each is read byte by byte and keeps no text.

use memchr::memchr;
use memchr::memchr2;

/// A piece of a page in which something goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Read {
    /// To the end of the piece.
    On,
    /// It ends behind this many bytes.
    Ends(usize),
}

/// Behind `<!`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Declaration {
    Open,
    Dash,
    /// So many bytes of `[CDATA[`.
    Cdata(usize),
}

/// What a declaration turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Declared {
    Undecided,
    Comment,
    Cdata,
    /// Ends with the first `>`, like a doctype. The last byte is part of it.
    Bogus,
}

impl Declaration {
    /// Reads one byte.
    pub(crate) fn next(&mut self, byte: u8) -> Declared {
        const CDATA: &[u8] = b"[CDATA[";
        match (*self, byte) {
            (Declaration::Open, b'-') => *self = Declaration::Dash,
            (Declaration::Open, b'[') => *self = Declaration::Cdata(1),
            (Declaration::Dash, b'-') => return Declared::Comment,
            (Declaration::Cdata(read), byte) if CDATA.get(read) == Some(&byte) => {
                if read + 1 == CDATA.len() {
                    return Declared::Cdata;
                }
                *self = Declaration::Cdata(read + 1);
            }
            _ => return Declared::Bogus,
        }
        Declared::Undecided
    }
}

/// A comment (HTML Standard, 13.2.5.43 to 13.2.5.52). `<` within it changes nothing about where it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comment {
    Start,
    StartDash,
    Body,
    Dash,
    /// Behind `--`.
    Dashes,
    /// Behind `--!`.
    Bang,
}

impl Comment {
    pub(crate) fn read(&mut self, bytes: &[u8]) -> Read {
        let mut at = 0;
        while at < bytes.len() {
            if *self == Comment::Body {
                match memchr(b'-', &bytes[at..]) {
                    Some(dash) => at += dash,
                    None => return Read::On,
                }
            }
            *self = match (*self, bytes[at]) {
                (Comment::Start | Comment::StartDash | Comment::Dashes | Comment::Bang, b'>') => {
                    return Read::Ends(at + 1);
                }
                (Comment::Start, b'-') => Comment::StartDash,
                (Comment::StartDash | Comment::Dash | Comment::Dashes, b'-') => Comment::Dashes,
                (Comment::Body | Comment::Bang, b'-') => Comment::Dash,
                (Comment::Dashes, b'!') => Comment::Bang,
                _ => Comment::Body,
            };
            at += 1;
        }
        Read::On
    }
}

/// A CDATA section: the number of `]` before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Cdata(u8);

impl Cdata {
    pub(crate) fn read(&mut self, bytes: &[u8]) -> Read {
        for (index, byte) in bytes.iter().enumerate() {
            self.0 = match (byte, self.0) {
                (b'>', 2) => return Read::Ends(index + 1),
                (b']', brackets) => (brackets + 1).min(2),
                _ => 0,
            };
        }
        Read::On
    }
}

/// Text up to an end tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RawText {
    name: &'static [u8],
    /// Bytes of `</name` before.
    read: usize,
}

impl RawText {
    pub(crate) fn new(name: &'static [u8]) -> RawText {
        RawText { name, read: 0 }
    }

    /// Ends before the byte behind the name of the end tag.
    pub(crate) fn read(&mut self, bytes: &[u8]) -> Read {
        let mut at = 0;
        while at < bytes.len() {
            if self.read == 0 {
                match memchr(b'<', &bytes[at..]) {
                    Some(less) => at += less,
                    None => return Read::On,
                }
            }
            let byte = bytes[at];
            if self.read == self.name.len() + 2 && ends_name(byte) {
                return Read::Ends(at);
            }
            self.read = match (self.read, byte) {
                (1, b'/') => 2,
                (read, byte)
                    if read >= 2 && self.name.get(read - 2) == Some(&byte.to_ascii_lowercase()) =>
                {
                    read + 1
                }
                (_, b'<') => 1,
                _ => 0,
            };
            at += 1;
        }
        Read::On
    }
}

fn ends_name(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'\x0c' | b'/' | b'>')
}

/// A script (HTML Standard, 13.2.5.4 and 13.2.5.15 to 13.2.5.31).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Script {
    level: Level,
    /// Dashes before, within `<!--`.
    dashes: u8,
    tag: InTag,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Level {
    #[default]
    Plain,
    /// Behind `<!--`.
    Escaped,
    /// Behind `<!--` and `<script`: the next `</script` does not end the script.
    Double,
}

/// Where in `<script`, `</script` or `<!--` the reading stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum InTag {
    #[default]
    Outside,
    Less,
    /// So many dashes of `<!--`.
    Bang(u8),
    /// So many letters of `script` behind `<`, or none that could become it.
    Start(Option<usize>),
    /// The same behind `</`.
    End(Option<usize>),
}

const SCRIPT: &[u8] = b"script";

impl Script {
    /// Ends before the byte behind the name of the end tag.
    pub(crate) fn read(&mut self, bytes: &[u8]) -> Read {
        let mut at = 0;
        while at < bytes.len() {
            if self.tag == InTag::Outside && self.dashes == 0 {
                let rest = &bytes[at..];
                let next = match self.level {
                    Level::Plain => memchr(b'<', rest),
                    _ => memchr2(b'<', b'-', rest),
                };
                match next {
                    Some(next) => at += next,
                    None => return Read::On,
                }
            }
            let byte = bytes[at];
            if self.level != Level::Double
                && self.tag == InTag::End(Some(SCRIPT.len()))
                && ends_name(byte)
            {
                return Read::Ends(at);
            }
            self.next(byte);
            at += 1;
        }
        Read::On
    }

    fn next(&mut self, byte: u8) {
        let is_named = |letters: Option<usize>| letters == Some(SCRIPT.len());
        self.tag = match (self.tag, self.level, byte) {
            (InTag::Less, _, b'/') => InTag::End(Some(0)),
            (InTag::Less, Level::Plain, b'!') => InTag::Bang(0),
            (InTag::Bang(0), _, b'-') => InTag::Bang(1),
            (InTag::Bang(1), _, b'-') => {
                (self.level, self.dashes) = (Level::Escaped, 2);
                InTag::Outside
            }
            (InTag::Less, Level::Escaped, byte) if byte.is_ascii_alphabetic() => {
                InTag::Start(further(Some(0), byte))
            }
            (InTag::Start(letters), _, byte) if byte.is_ascii_alphabetic() => {
                InTag::Start(further(letters, byte))
            }
            (InTag::End(letters), _, byte) if byte.is_ascii_alphabetic() => {
                InTag::End(further(letters, byte))
            }
            (InTag::Start(letters), _, byte) if ends_name(byte) => {
                if is_named(letters) {
                    self.level = Level::Double;
                }
                self.dashes = 0;
                InTag::Outside
            }
            (InTag::End(letters), Level::Double, byte) if ends_name(byte) => {
                if is_named(letters) {
                    self.level = Level::Escaped;
                }
                self.dashes = 0;
                InTag::Outside
            }
            _ => self.text(byte),
        };
    }

    fn text(&mut self, byte: u8) -> InTag {
        match (byte, self.level, self.dashes) {
            (b'<', ..) => {
                self.dashes = 0;
                return InTag::Less;
            }
            (_, Level::Plain, _) => {}
            (b'-', _, dashes) => self.dashes = (dashes + 1).min(2),
            (b'>', _, 2) => (self.level, self.dashes) = (Level::Plain, 0),
            _ => self.dashes = 0,
        }
        InTag::Outside
    }
}

/// One letter more of `script`.
fn further(letters: Option<usize>, byte: u8) -> Option<usize> {
    let letters = letters?;
    (SCRIPT.get(letters) == Some(&byte.to_ascii_lowercase())).then_some(letters + 1)
}
