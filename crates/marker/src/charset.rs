//! Which pages can be scanned byte by byte: those in an encoding where markup is ASCII.
//!
//! In UTF-16 it is not, and in ISO-2022-JP the bytes of markup also stand for other characters. In Shift_JIS, GBK and Big5 the second byte of a
//! character may be a letter or a backslash, but none that ends a tag, a quoted value or a part of an address.

/// How much is known about the encoding of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Charset {
    /// UTF-8.
    Utf8,
    /// Another one in which markup is ASCII.
    Legacy,
    /// Not declared in the header: a `<meta>` of the page decides.
    Undeclared,
}

/// Labels of the Encoding Standard whose encodings keep ASCII, apart from families with a number.
const LEGACY: [&str; 58] = [
    "ascii",
    "us-ascii",
    "ansi_x3.4-1968",
    "latin1",
    "l1",
    "latin2",
    "l2",
    "latin3",
    "l3",
    "latin4",
    "l4",
    "latin5",
    "l5",
    "latin6",
    "l6",
    "latin9",
    "l9",
    "cyrillic",
    "greek",
    "greek8",
    "arabic",
    "hebrew",
    "visual",
    "logical",
    "ecma-114",
    "ecma-118",
    "elot_928",
    "tis-620",
    "dos-874",
    "macintosh",
    "mac",
    "x-mac-roman",
    "x-mac-cyrillic",
    "x-mac-ukrainian",
    "cp866",
    "866",
    "ibm866",
    "csibm866",
    "cp819",
    "ibm819",
    "shift_jis",
    "shift-jis",
    "sjis",
    "x-sjis",
    "ms_kanji",
    "ms932",
    "windows-31j",
    "csshiftjis",
    "gbk",
    "x-gbk",
    "gb2312",
    "gb18030",
    "gb_2312-80",
    "chinese",
    "big5",
    "big5-hkscs",
    "cn-big5",
    "x-x-big5",
];

impl Charset {
    /// The charset of a response with this `Content-Type`; `None` if it is not HTML or cannot be scanned byte by byte.
    pub fn of_page(content_type: &[u8]) -> Option<Charset> {
        let text = std::str::from_utf8(content_type).ok()?;
        let (essence, parameters) = text.split_once(';').unwrap_or((text, ""));
        if !essence.trim().eq_ignore_ascii_case("text/html") {
            return None;
        }
        for parameter in parameters.split(';') {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            if name.trim().eq_ignore_ascii_case("charset") {
                return Charset::labelled(value.trim().trim_matches('"').as_bytes());
            }
        }
        Some(Charset::Undeclared)
    }

    /// The charset of a label; `None` for an unknown one and for those that cannot be scanned.
    pub fn labelled(label: &[u8]) -> Option<Charset> {
        let label = std::str::from_utf8(label).ok()?;
        let label = label.trim().to_ascii_lowercase();
        if ["utf-8", "utf8", "unicode-1-1-utf-8", "x-unicode20utf8"].contains(&&label[..]) {
            return Some(Charset::Utf8);
        }
        let families = [
            "iso-8859-",
            "iso8859-",
            "iso_8859-",
            "windows-125",
            "cp125",
            "x-cp125",
            "koi8",
            "euc-",
            "windows-874",
            "windows-949",
            "ks_c_5601",
            "ksc5601",
            "korean",
            "x-euc-jp",
        ];
        let is_legacy =
            LEGACY.contains(&&label[..]) || families.iter().any(|family| label.starts_with(family));
        is_legacy.then_some(Charset::Legacy)
    }

    /// The charset that a `<meta>` of the page declares, where the header left it open.
    pub(crate) fn of_meta(label: &[u8]) -> Option<Charset> {
        // The page is being read as bytes of ASCII, so the standard takes UTF-16 here for UTF-8.
        let is_utf_16 = label.trim_ascii().len() >= 6
            && label.trim_ascii()[..6].eq_ignore_ascii_case(b"utf-16");
        if is_utf_16 {
            Some(Charset::Utf8)
        } else {
            Charset::labelled(label)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h134_content_types() {
        for (content_type, expected) in [
            ("text/html", Some(Charset::Undeclared)),
            ("TEXT/HTML ; Charset=\"UTF-8\"", Some(Charset::Utf8)),
            ("text/html;charset=utf8;charset=utf-16", Some(Charset::Utf8)),
            (
                "text/html; level=1; charset=Windows-1251",
                Some(Charset::Legacy),
            ),
            ("text/html; charset=Shift_JIS", Some(Charset::Legacy)),
            ("text/html; charset=GB18030", Some(Charset::Legacy)),
            ("text/html; charset=EUC-JP", Some(Charset::Legacy)),
            ("text/html; charset=koi8-u", Some(Charset::Legacy)),
            ("text/html; charset=ISO-8859-15", Some(Charset::Legacy)),
            ("text/html; charset=utf-16", None),
            ("text/html; charset=utf-16le", None),
            ("text/html; charset=ISO-2022-JP", None),
            ("text/html; charset=utf-7", None),
            ("text/html; charset=", None),
            ("text/html, text/html", None),
            ("text/htmlx", None),
            ("application/xhtml+xml", None),
            ("text/event-stream", None),
            ("application/grpc", None),
            ("", None),
        ] {
            assert_eq!(
                Charset::of_page(content_type.as_bytes()),
                expected,
                "{content_type}"
            );
        }
    }
}
