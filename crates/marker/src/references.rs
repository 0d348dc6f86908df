//! Character references in attribute values (HTML Standard, 13.2.5.72): the text that a browser reads, and where it stands in the page.
//!
//! Known are all names that mean an ASCII character, for these can hide the parts of an address, and all that need no semicolon. Other
//! names mean characters that have no part in the structure of an address.

use std::borrow::Cow;

use memchr::memchr2;

/// An attribute value as a browser reads it.
pub(crate) struct Value<'a> {
    pub(crate) text: Cow<'a, [u8]>,
    /// The place of each byte in the page; empty where the text stands there as it is.
    places: Vec<u32>,
    /// A name stands in it that is not known here.
    pub(crate) is_unsure: bool,
}

impl<'a> Value<'a> {
    /// A text without references, as in a header field.
    pub(crate) fn plain(raw: &'a [u8]) -> Value<'a> {
        Value {
            text: Cow::Borrowed(raw),
            places: Vec::new(),
            is_unsure: false,
        }
    }

    /// An attribute value of a page.
    pub(crate) fn decode(raw: &'a [u8]) -> Value<'a> {
        // A NUL is read as U+FFFD.
        if memchr2(b'&', 0, raw).is_none() {
            return Value::plain(raw);
        }
        let mut value = Value {
            text: Cow::Owned(Vec::with_capacity(raw.len())),
            places: Vec::with_capacity(raw.len()),
            is_unsure: false,
        };
        let mut at = 0;
        while at < raw.len() {
            let (length, text) = match raw[at] {
                b'&' => value.reference(&raw[at + 1..]),
                0 => Some((1, Char::from('\u{fffd}'))),
                _ => None,
            }
            .unwrap_or((1, Char::byte(raw[at])));
            value.push(text.bytes(), at);
            at += length;
        }
        value
    }

    fn push(&mut self, bytes: &[u8], at: usize) {
        let place = u32::try_from(at).unwrap_or(u32::MAX);
        self.text.to_mut().extend(bytes);
        self.places.extend(bytes.iter().map(|_| place));
    }

    /// The character behind a `&`, and the length of the reference with it.
    fn reference(&mut self, rest: &[u8]) -> Option<(usize, Char)> {
        if let Some(digits) = rest.strip_prefix(b"#") {
            let (length, char) = numeric(digits)?;
            return Some((2 + length, Char::from(char)));
        }
        let is_end = |byte: &u8| !byte.is_ascii_alphanumeric();
        let end = rest.iter().position(is_end).unwrap_or(rest.len());
        let (name, next) = (&rest[..end], rest.get(end));
        match next {
            Some(b';') => {
                let char = named(name).or_else(|| legacy(name));
                self.is_unsure |= char.is_none() && !name.is_empty();
                Some((end + 2, Char::from(char?)))
            }
            // `?a=1&copy=2` is two parameters.
            Some(b'=') => None,
            _ => Some((end + 1, Char::from(legacy(name)?))),
        }
    }

    /// The place in the page of a byte of the text, or of its end.
    pub(crate) fn place(&self, at: usize, raw: &[u8]) -> usize {
        match self.places.get(at) {
            Some(place) => *place as usize,
            None if self.places.is_empty() => at,
            None => raw.len(),
        }
    }
}

/// A character in the encoding of the text: UTF-8, or a byte as it stands.
struct Char {
    bytes: [u8; 4],
    length: usize,
}

impl Char {
    fn byte(byte: u8) -> Char {
        Char {
            bytes: [byte, 0, 0, 0],
            length: 1,
        }
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl From<char> for Char {
    fn from(char: char) -> Char {
        let mut bytes = [0; 4];
        let length = char.encode_utf8(&mut bytes).len();
        Char { bytes, length }
    }
}

/// The character of `#…`, and the number of bytes behind the `#`.
fn numeric(digits: &[u8]) -> Option<(usize, char)> {
    let (prefix, radix) = match digits.first() {
        Some(b'x' | b'X') => (1, 16),
        _ => (0, 10),
    };
    let mut code = 0_u32;
    let mut end = prefix;
    while let Some(digit) = digits
        .get(end)
        .and_then(|byte| char::from(*byte).to_digit(radix))
    {
        // Beyond the last character it does not matter how far.
        code = (code * radix + digit).min(0x11_0000);
        end += 1;
    }
    if end == prefix {
        return None;
    }
    let semicolon = usize::from(digits.get(end) == Some(&b';'));
    Some((end + semicolon, numbered(code)))
}

fn numbered(code: u32) -> char {
    /// The characters of windows-1252 between 0x80 and 0x9f.
    const CONTROLS: [u16; 32] = [
        0x20ac, 0x81, 0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160,
        0x2039, 0x0152, 0x8d, 0x017d, 0x8f, 0x90, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013,
        0x2014, 0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0x9d, 0x017e, 0x0178,
    ];
    let code = match code {
        0 => 0xfffd,
        0x80..=0x9f => u32::from(CONTROLS[code as usize - 0x80]),
        code => code,
    };
    char::from_u32(code).unwrap_or('\u{fffd}')
}

/// Names of ASCII characters that need a semicolon.
fn named(name: &[u8]) -> Option<char> {
    Some(match name {
        b"Tab" => '\t',
        b"NewLine" => '\n',
        b"excl" => '!',
        b"num" => '#',
        b"dollar" => '$',
        b"percnt" => '%',
        b"apos" => '\'',
        b"lpar" => '(',
        b"rpar" => ')',
        b"ast" | b"midast" => '*',
        b"plus" => '+',
        b"comma" => ',',
        b"period" => '.',
        b"sol" => '/',
        b"colon" => ':',
        b"semi" => ';',
        b"equals" => '=',
        b"quest" => '?',
        b"commat" => '@',
        b"lsqb" | b"lbrack" => '[',
        b"bsol" => '\\',
        b"rsqb" | b"rbrack" => ']',
        b"Hat" => '^',
        b"lowbar" | b"UnderBar" => '_',
        b"grave" | b"DiacriticalGrave" => '`',
        b"lcub" | b"lbrace" => '{',
        b"verbar" | b"vert" | b"VerticalLine" => '|',
        b"rcub" | b"rbrace" => '}',
        _ => return None,
    })
}

/// The names from U+00A0 on, in order.
const LATIN_1: [&str; 96] = [
    "nbsp", "iexcl", "cent", "pound", "curren", "yen", "brvbar", "sect", "uml", "copy", "ordf",
    "laquo", "not", "shy", "reg", "macr", "deg", "plusmn", "sup2", "sup3", "acute", "micro",
    "para", "middot", "cedil", "sup1", "ordm", "raquo", "frac14", "frac12", "frac34", "iquest",
    "Agrave", "Aacute", "Acirc", "Atilde", "Auml", "Aring", "AElig", "Ccedil", "Egrave", "Eacute",
    "Ecirc", "Euml", "Igrave", "Iacute", "Icirc", "Iuml", "ETH", "Ntilde", "Ograve", "Oacute",
    "Ocirc", "Otilde", "Ouml", "times", "Oslash", "Ugrave", "Uacute", "Ucirc", "Uuml", "Yacute",
    "THORN", "szlig", "agrave", "aacute", "acirc", "atilde", "auml", "aring", "aelig", "ccedil",
    "egrave", "eacute", "ecirc", "euml", "igrave", "iacute", "icirc", "iuml", "eth", "ntilde",
    "ograve", "oacute", "ocirc", "otilde", "ouml", "divide", "oslash", "ugrave", "uacute", "ucirc",
    "uuml", "yacute", "thorn", "yuml",
];

/// Names that need no semicolon.
fn legacy(name: &[u8]) -> Option<char> {
    Some(match name {
        b"amp" | b"AMP" => '&',
        b"lt" | b"LT" => '<',
        b"gt" | b"GT" => '>',
        b"quot" | b"QUOT" => '"',
        b"COPY" => '\u{a9}',
        b"REG" => '\u{ae}',
        _ => {
            let index = LATIN_1.iter().position(|known| known.as_bytes() == name)?;
            char::from_u32(0xa0 + u32::try_from(index).ok()?)?
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(raw: &str, text: &str) {
        let value = Value::decode(raw.as_bytes());
        assert_eq!(
            value.text.escape_ascii().to_string(),
            text.as_bytes().escape_ascii().to_string(),
            "{raw}"
        );
    }

    #[test]
    fn references_are_read_as_in_attributes() {
        check("a&#x2f;b&#47c&sol;d&sol", "a/b/c/d&sol");
        check("?a=1&amp;b=2&ampc&amp", "?a=1&b=2&ampc&");
        check("?a&copy=1&copy&copy;", "?a&copy=1\u{a9}\u{a9}");
        check(
            "&#0;&#x110000;&#xD800;&#x80;&#x9f;",
            "\u{fffd}\u{fffd}\u{fffd}\u{20ac}\u{178}",
        );
        check("&#;&#x;&;&#99999999999999999999;&", "&#;&#x;&;\u{fffd}&");
        check("\0&NUM;&num;", "\u{fffd}&NUM;#");
    }

    #[test]
    fn places_lead_back_to_the_page() {
        let raw = b"a&#x2f;&eacute;b";
        let value = Value::decode(raw);
        let places: Vec<usize> = (0..=value.text.len())
            .map(|at| value.place(at, raw))
            .collect();
        assert_eq!(places, [0, 1, 7, 7, 15, 16]);
        assert_eq!(Value::decode(b"ab").place(2, b"ab"), 2);
    }

    /// Every name of the standard: an ASCII character or a name without semicolon must be known here.
    #[test]
    fn no_name_that_matters_is_missing() {
        for (name, (first, second)) in html5ever::data::NAMED_ENTITIES.entries() {
            // The table also holds the beginnings of names, which mean nothing.
            if *first == 0 {
                continue;
            }
            let (first, second) = (
                char::from_u32(*first).unwrap(),
                char::from_u32(*second).unwrap(),
            );
            let raw = format!("&{name}");
            let value = Value::decode(raw.as_bytes());
            let is_known = value.text != raw.as_bytes();
            if is_known {
                let mut expected = String::from(first);
                expected.extend(Some(second).filter(|second| *second != '\0'));
                assert_eq!(value.text, expected.as_bytes(), "{name}");
            } else {
                assert!(value.is_unsure, "{name}");
                let structural = "\t\n\r #%./:;?@[\\]&";
                assert!(!structural.contains(first), "{name}");
            }
        }
    }
}
