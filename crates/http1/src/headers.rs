//! The header fields of one message, in their order, and how they are written.

use crate::tokens::elements;
use crate::tokens::has_element;

/// Fields that the gate itself looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Name {
    /// `accept`.
    Accept,
    /// `accept-encoding`.
    AcceptEncoding,
    /// `accept-language`.
    AcceptLanguage,
    /// `connection`.
    Connection,
    /// `content-length`.
    ContentLength,
    /// `cookie`.
    Cookie,
    /// `expect`.
    Expect,
    /// `forwarded`.
    Forwarded,
    /// `host`.
    Host,
    /// `hx-request`.
    HxRequest,
    /// `referer`.
    Referer,
    /// `sec-ch-ua`.
    SecChUa,
    /// `sec-ch-ua-mobile`.
    SecChUaMobile,
    /// `sec-ch-ua-platform`.
    SecChUaPlatform,
    /// `sec-fetch-dest`.
    SecFetchDest,
    /// `sec-fetch-mode`.
    SecFetchMode,
    /// `sec-fetch-site`.
    SecFetchSite,
    /// `sec-websocket-key`.
    SecWebsocketKey,
    /// `transfer-encoding`.
    TransferEncoding,
    /// `upgrade`.
    Upgrade,
    /// `user-agent`.
    UserAgent,
    /// What was decided before, by a server that now wants the page to show.
    XCattlegridShow,
    /// Proxies append the address of their client to it.
    XForwardedFor,
    /// `x-forwarded-host`.
    XForwardedHost,
    /// `x-forwarded-method`.
    XForwardedMethod,
    /// Proxies say in it whether their client came by TLS.
    XForwardedProto,
    /// `x-forwarded-uri`.
    XForwardedUri,
    /// `x-original-host`.
    XOriginalHost,
    /// `x-original-method`.
    XOriginalMethod,
    /// `x-original-uri`.
    XOriginalUri,
    /// `x-real-ip`.
    XRealIp,
    /// `x-requested-with`.
    XRequestedWith,
}

const NAMES: usize = 32;

/// All names, in small letters.
static NAMED: [(Name, &str); NAMES] = [
    (Name::Accept, "accept"),
    (Name::AcceptEncoding, "accept-encoding"),
    (Name::AcceptLanguage, "accept-language"),
    (Name::Connection, "connection"),
    (Name::ContentLength, "content-length"),
    (Name::Cookie, "cookie"),
    (Name::Expect, "expect"),
    (Name::Forwarded, "forwarded"),
    (Name::Host, "host"),
    (Name::HxRequest, "hx-request"),
    (Name::Referer, "referer"),
    (Name::SecChUa, "sec-ch-ua"),
    (Name::SecChUaMobile, "sec-ch-ua-mobile"),
    (Name::SecChUaPlatform, "sec-ch-ua-platform"),
    (Name::SecFetchDest, "sec-fetch-dest"),
    (Name::SecFetchMode, "sec-fetch-mode"),
    (Name::SecFetchSite, "sec-fetch-site"),
    (Name::SecWebsocketKey, "sec-websocket-key"),
    (Name::TransferEncoding, "transfer-encoding"),
    (Name::Upgrade, "upgrade"),
    (Name::UserAgent, "user-agent"),
    (Name::XCattlegridShow, "x-cattlegrid-show"),
    (Name::XForwardedFor, "x-forwarded-for"),
    (Name::XForwardedHost, "x-forwarded-host"),
    (Name::XForwardedMethod, "x-forwarded-method"),
    (Name::XForwardedProto, "x-forwarded-proto"),
    (Name::XForwardedUri, "x-forwarded-uri"),
    (Name::XOriginalHost, "x-original-host"),
    (Name::XOriginalMethod, "x-original-method"),
    (Name::XOriginalUri, "x-original-uri"),
    (Name::XRealIp, "x-real-ip"),
    (Name::XRequestedWith, "x-requested-with"),
];

impl Name {
    /// In small letters.
    pub fn as_str(self) -> &'static str {
        NAMED[self as usize].1
    }

    /// The name that these letters spell, if it is one of these. The reader asks for every field of every request.
    pub(crate) fn of(letters: &[u8]) -> Option<Name> {
        let first = letters.first()? | 0x20;
        let one = |is: bool, name: Name| is.then_some(name);
        // Names of the same length and first letter.
        match (letters.len(), first) {
            (4, b'h') => one(spells(letters, b"host"), Name::Host),
            (6, b'a') => one(spells(letters, b"accept"), Name::Accept),
            (6, b'c') => one(spells(letters, b"cookie"), Name::Cookie),
            (6, b'e') => one(spells(letters, b"expect"), Name::Expect),
            (7, b'r') => one(spells(letters, b"referer"), Name::Referer),
            (7, b'u') => one(spells(letters, b"upgrade"), Name::Upgrade),
            (9, b'f') => one(spells(letters, b"forwarded"), Name::Forwarded),
            (9, b's') => one(spells(letters, b"sec-ch-ua"), Name::SecChUa),
            (9, b'x') => one(spells(letters, b"x-real-ip"), Name::XRealIp),
            (10, b'c') => one(spells(letters, b"connection"), Name::Connection),
            (10, b'h') => one(spells(letters, b"hx-request"), Name::HxRequest),
            (10, b'u') => one(spells(letters, b"user-agent"), Name::UserAgent),
            (14, _) => Name::of_14(letters),
            (15, _) => Name::of_15(letters),
            (16, _) => Name::of_16(letters),
            (17, _) => Name::of_17(letters),
            (18, b's') => one(
                spells(letters, b"sec-ch-ua-platform"),
                Name::SecChUaPlatform,
            ),
            (18, b'x') => one(
                spells(letters, b"x-forwarded-method"),
                Name::XForwardedMethod,
            ),
            _ => None,
        }
    }

    fn of_14(letters: &[u8]) -> Option<Name> {
        match letters {
            _ if spells(letters, b"sec-fetch-site") => Some(Name::SecFetchSite),
            _ if spells(letters, b"sec-fetch-mode") => Some(Name::SecFetchMode),
            _ if spells(letters, b"sec-fetch-dest") => Some(Name::SecFetchDest),
            _ if spells(letters, b"content-length") => Some(Name::ContentLength),
            _ if spells(letters, b"x-original-uri") => Some(Name::XOriginalUri),
            _ => None,
        }
    }

    fn of_15(letters: &[u8]) -> Option<Name> {
        match letters {
            _ if spells(letters, b"accept-encoding") => Some(Name::AcceptEncoding),
            _ if spells(letters, b"accept-language") => Some(Name::AcceptLanguage),
            _ if spells(letters, b"x-forwarded-for") => Some(Name::XForwardedFor),
            _ if spells(letters, b"x-original-host") => Some(Name::XOriginalHost),
            _ if spells(letters, b"x-forwarded-uri") => Some(Name::XForwardedUri),
            _ => None,
        }
    }

    fn of_16(letters: &[u8]) -> Option<Name> {
        match letters {
            _ if spells(letters, b"sec-ch-ua-mobile") => Some(Name::SecChUaMobile),
            _ if spells(letters, b"x-forwarded-host") => Some(Name::XForwardedHost),
            _ if spells(letters, b"x-requested-with") => Some(Name::XRequestedWith),
            _ => None,
        }
    }

    fn of_17(letters: &[u8]) -> Option<Name> {
        match letters {
            _ if spells(letters, b"transfer-encoding") => Some(Name::TransferEncoding),
            _ if spells(letters, b"sec-websocket-key") => Some(Name::SecWebsocketKey),
            _ if spells(letters, b"x-forwarded-proto") => Some(Name::XForwardedProto),
            _ if spells(letters, b"x-original-method") => Some(Name::XOriginalMethod),
            _ if spells(letters, b"x-cattlegrid-show") => Some(Name::XCattlegridShow),
            _ => None,
        }
    }
}

/// True where letters of a token spell a name of at least four small letters and hyphens. Of all bytes of tokens only a capital becomes a
/// small letter by this bit, and none becomes a hyphen: so eight are compared at a time, the last of them once more.
#[inline(always)]
pub(crate) fn spells<const N: usize>(letters: &[u8], name: &[u8; N]) -> bool {
    const SMALL: u64 = 0x2020_2020_2020_2020;
    let Ok(letters) = <&[u8; N]>::try_from(letters) else {
        return false;
    };
    let eight = |letters: &[u8; 8], name: &[u8; 8]| {
        u64::from_ne_bytes(*letters) | SMALL == u64::from_ne_bytes(*name)
    };
    let four = |letters: &[u8; 4], name: &[u8; 4]| {
        u32::from_ne_bytes(*letters) | SMALL as u32 == u32::from_ne_bytes(*name)
    };
    if let (Some(last), Some(name_last)) = (letters.last_chunk(), name.last_chunk()) {
        let mut eights = letters.as_chunks().0.iter().zip(name.as_chunks().0);
        return eights.all(|(letters, name)| eight(letters, name)) && eight(last, name_last);
    }
    match (
        letters.first_chunk(),
        name.first_chunk(),
        letters.last_chunk(),
        name.last_chunk(),
    ) {
        (Some(first), Some(name_first), Some(last), Some(name_last)) => {
            four(first, name_first) && four(last, name_last)
        }
        _ => letters.eq_ignore_ascii_case(name),
    }
}

/// One field.
#[derive(Debug, Clone, Copy)]
pub struct Field<'a> {
    /// In the letters in which it was sent.
    pub name: &'a [u8],
    /// Without the blanks around it.
    pub value: &'a [u8],
    /// The name, where it is one of [`Name`].
    pub known: Option<Name>,
}

/// The header fields of one message, in their order.
#[derive(Debug, Default)]
pub struct Headers<'a> {
    fields: Vec<Field<'a>>,
    /// One more than the index of the first field of each name; 0 for none.
    first: [u16; NAMES],
    /// A bit for each name that was sent more than once.
    repeated: u32,
}

impl<'a> Headers<'a> {
    /// No fields yet, with room for as many as browsers send.
    pub fn new() -> Headers<'a> {
        Headers {
            fields: Vec::with_capacity(24),
            ..Headers::default()
        }
    }

    /// Adds a field.
    #[inline]
    pub fn add(&mut self, name: &'a [u8], value: &'a [u8]) -> Option<Name> {
        let known = Name::of(name);
        self.fields.push(Field { name, value, known });
        if let Some(name) = known {
            let name = name as usize;
            match self.first[name] {
                0 => self.first[name] = u16::try_from(self.fields.len()).unwrap_or(u16::MAX),
                _ => self.repeated |= 1 << name,
            }
        }
        known
    }

    /// The number of fields.
    #[inline]
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// True where there are no fields.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// Where the first field of a name stands.
    #[inline]
    pub fn place(&self, name: Name) -> Option<u16> {
        self.first[name as usize].checked_sub(1)
    }

    /// The fields among which those of a name are.
    #[inline]
    fn around(&self, name: Name) -> &[Field<'a>] {
        match self.first[name as usize] {
            0 => &[],
            at if self.repeated & 1 << name as usize == 0 => {
                std::slice::from_ref(&self.fields[usize::from(at) - 1])
            }
            at => &self.fields[usize::from(at) - 1..],
        }
    }

    /// The values of all fields of a name.
    #[inline]
    pub fn all(&self, name: Name) -> impl Iterator<Item = &'a [u8]> {
        let around = self.around(name).iter();
        around
            .filter(move |field| field.known == Some(name))
            .map(|field| field.value)
    }

    /// The values of all fields of any name, given in small letters.
    pub fn all_named(&self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        self.fields
            .iter()
            .filter(|field| field.name.eq_ignore_ascii_case(name.as_bytes()))
            .map(|field| field.value)
    }

    /// All fields.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = Field<'a>> {
        self.fields.iter().copied()
    }

    /// The value of the first field of a name.
    #[inline]
    pub fn get(&self, name: Name) -> Option<&'a [u8]> {
        self.around(name).first().map(|field| field.value)
    }

    /// True where there is a field of a name.
    #[inline]
    pub fn has(&self, name: Name) -> bool {
        self.first[name as usize] > 0
    }
}

/// Fields of one connection (RFC 9110, 7.6.1).
const HOP_BY_HOP: [&[u8]; 8] = [
    b"connection",
    b"keep-alive",
    b"proxy-connection",
    b"proxy-authenticate",
    b"te",
    b"trailer",
    b"transfer-encoding",
    b"upgrade",
];

/// True for a field of one connection, in any letters.
#[inline]
pub fn is_hop_by_hop(name: &[u8]) -> bool {
    // Their lengths: most names have another.
    matches!(name.len(), 2 | 7 | 10 | 16..=18)
        && HOP_BY_HOP.iter().any(|hop| hop.eq_ignore_ascii_case(name))
}

/// True where one of these `Connection` fields lists a name.
pub fn is_listed<'a>(mut connection: impl Iterator<Item = &'a [u8]>, name: &[u8]) -> bool {
    // The host and the fields that the gate itself reads never belong to a connection, whatever a client says.
    let is_always_kept = [&b"host"[..], b"cookie", b"content-length"]
        .iter()
        .any(|kept| kept.eq_ignore_ascii_case(name));
    !is_always_kept && connection.any(|value| has_element(value, name))
}

/// True where a `Connection` field names fields, and not only how long the connection lasts.
pub fn lists_fields(connection: &[u8]) -> bool {
    elements(connection).any(|element| {
        !element.eq_ignore_ascii_case(b"close") && !element.eq_ignore_ascii_case(b"keep-alive")
    })
}

/// Writes the first line of a response.
pub fn write_status(status: u16, reason: &str, out: &mut Vec<u8>) {
    let mut digits = itoa::Buffer::new();
    out.extend_from_slice(b"HTTP/1.1 ");
    out.extend_from_slice(digits.format(status).as_bytes());
    out.push(b' ');
    out.extend_from_slice(reason.as_bytes());
    out.extend_from_slice(b"\r\n");
}

/// Writes a field.
#[inline]
pub fn write(name: impl AsRef<[u8]>, value: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(name.as_ref());
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found_in_any_letters() {
        for (at, (name, text)) in NAMED.iter().enumerate() {
            assert_eq!(*name as usize, at);
            assert_eq!(Name::of(text.as_bytes()), Some(*name));
            assert_eq!(Name::of(text.to_ascii_uppercase().as_bytes()), Some(*name));
        }
        assert_eq!(Name::of(b""), None);
        // Names that differ in one byte, whichever a token may have there.
        for (name, text) in &NAMED {
            for at in 0..text.len() {
                for byte in b"!#$%&'*+-.^_`|~09azAZ" {
                    let mut letters = text.as_bytes().to_vec();
                    letters[at] = *byte;
                    let is_name = letters.eq_ignore_ascii_case(text.as_bytes());
                    assert_eq!(Name::of(&letters) == Some(*name), is_name, "{letters:?}");
                }
            }
        }
    }

    #[test]
    fn fields_are_found_as_the_http_crate_finds_them() {
        let sent = [
            ("Cookie", "a"),
            ("X-A", "1"),
            ("COOKIE", "b"),
            ("Host", "x"),
            ("cookie", "c"),
        ];
        let (mut headers, mut map) = (Headers::new(), http::HeaderMap::new());
        for (name, value) in sent {
            headers.add(name.as_bytes(), value.as_bytes());
            let name = http::HeaderName::from_bytes(name.as_bytes()).unwrap();
            map.append(name, http::HeaderValue::from_static(value));
        }
        for (name, text) in &NAMED {
            let theirs: Vec<&[u8]> = map
                .get_all(*text)
                .iter()
                .map(|value| value.as_bytes())
                .collect();
            assert_eq!(headers.all(*name).collect::<Vec<_>>(), theirs, "{text}");
            assert_eq!(
                headers.all_named(text).collect::<Vec<_>>(),
                theirs,
                "{text}"
            );
            assert_eq!(headers.get(*name), theirs.first().copied());
        }
    }
}
