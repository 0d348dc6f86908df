//! One HTTP request, normalised, however it was seen: the value every later stage starts from.

use std::fmt;
use std::net::IpAddr;
use std::net::Ipv4Addr;
use std::net::Ipv6Addr;

/// An optional part of a request. That a field was not logged, was empty, or had a value are three different facts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Field<'a> {
    /// The log format has no such field.
    #[default]
    NotLogged,
    /// The field was logged and empty (or `-`).
    Empty,
    /// The field had this value.
    Value(&'a [u8]),
}

impl<'a> Field<'a> {
    /// A logged field: `-` and nothing at all both mean empty.
    pub fn logged(bytes: &'a [u8]) -> Field<'a> {
        match bytes {
            b"" | b"-" => Field::Empty,
            _ => Field::Value(bytes),
        }
    }

    /// The value, if there is one.
    pub fn value(self) -> Option<&'a [u8]> {
        match self {
            Field::Value(bytes) => Some(bytes),
            _ => None,
        }
    }
}

/// The client field of a log line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Client<'a> {
    /// An IPv4 address that was read on the way.
    V4(u32),
    /// The field as written: any address, a host name or an opaque token.
    Written(&'a [u8]),
}

impl Default for Client<'_> {
    fn default() -> Self {
        Client::Written(b"")
    }
}

impl Client<'_> {
    /// The source the client is, unless it is a token.
    pub fn address(&self) -> Option<Source> {
        match self {
            Client::V4(address) => Some(Source {
                kind: SourceKind::V4,
                value: u64::from(*address),
            }),
            Client::Written(text) => Source::from_address(text),
        }
    }
}

/// A fifteenth of a second, where the log has fractions of seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tick(u8);

impl Tick {
    /// Ticks in a second: four bits hold them and "not logged".
    pub const PER_SECOND: u32 = 15;

    /// The tick of a fraction. A fraction of exactly 0 is what logs write that have none.
    pub fn of_nanoseconds(nanoseconds: u32) -> Tick {
        match nanoseconds {
            0 => Tick(0),
            some => Tick(1 + (u64::from(some) * 15 / 1_000_000_000).min(14) as u8),
        }
    }

    pub(crate) fn bits(self) -> u8 {
        self.0
    }

    /// True where the log has fractions of seconds.
    pub(crate) fn is_known(self) -> bool {
        self.0 != 0
    }

    pub(crate) fn from_bits(bits: u8) -> Tick {
        Tick(bits & 15)
    }

    /// Ticks from an earlier one to this one, so many seconds later. `None` where either is not known.
    pub(crate) fn since(self, earlier: Tick, seconds: u32) -> Option<u32> {
        if self.0 == 0 || earlier.0 == 0 {
            return None;
        }
        let ticks = seconds.saturating_mul(Tick::PER_SECOND);
        let ticks = ticks.saturating_add(u32::from(self.0));
        Some(ticks.saturating_sub(u32::from(earlier.0)))
    }
}

/// One request as its log line tells it. Borrows the line's bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Request<'a> {
    /// Who sent it.
    pub client: Client<'a>,
    /// Seconds since 1970, UTC.
    pub time: u32,
    /// The part of that second.
    pub tick: Tick,
    /// `GET`, `POST`, …
    pub method: &'a [u8],
    /// Path and query as sent.
    pub target: &'a [u8],
    /// Answer's status.
    pub status: u16,
    /// Bytes sent to the client.
    pub bytes: u64,
    /// The `Referer` header.
    pub referrer: Field<'a>,
    /// The `User-Agent` header.
    pub agent: Field<'a>,
    /// The session cookie's value.
    pub session: Field<'a>,
    /// The site asked for, where one log serves several.
    pub host: Field<'a>,
    /// The addresses that proxies pass on, where the owner named the field.
    pub forwarded: Field<'a>,
    /// The signed-in user.
    pub user: Field<'a>,
    /// How long the answer took, in microseconds.
    pub duration_us: Option<u64>,
    /// The version of HTTP.
    pub protocol: Protocol,
    /// Header fields in which browsers and programs differ.
    pub headers: Headers<'a>,
    /// A gate before the site answered it instead: it says nothing about who sent it.
    pub is_refused: bool,
    /// A gate answered it with a page behind a trap: a link that nobody sees and that robots.txt forbids.
    pub is_trap: bool,
    /// A gate before the site knew its sender by name: it says nothing about others at the same address.
    pub is_signed_in: bool,
}

/// Header fields in which browsers and programs differ, beside referrer and agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Header {
    /// `Sec-Fetch-Site`.
    FetchSite,
    /// `Sec-Fetch-Mode`.
    FetchMode,
    /// `Sec-Fetch-Dest`.
    FetchDest,
    /// `Sec-CH-UA`.
    Brands,
    /// `Sec-CH-UA-Mobile`.
    Mobile,
    /// `Sec-CH-UA-Platform`.
    Platform,
    /// `Accept-Language`.
    Language,
    /// The order of some fields of an HTTP/1 request, as letters: see [`Header::ORDER`].
    Order,
}

impl Header {
    /// All of them.
    pub const ALL: [Header; 8] = [
        Header::FetchSite,
        Header::FetchMode,
        Header::FetchDest,
        Header::Brands,
        Header::Mobile,
        Header::Platform,
        Header::Language,
        Header::Order,
    ];

    /// The letters of [`Header::Order`]: `Host`, `User-Agent`, `Accept`, `Accept-Encoding`, `Accept-Language`.
    pub const ORDER: [u8; 5] = *b"huael";

    /// The field of this name, in small letters and with underscores.
    pub fn named(name: &str) -> Option<Header> {
        Some(match name {
            "sec_fetch_site" => Header::FetchSite,
            "sec_fetch_mode" => Header::FetchMode,
            "sec_fetch_dest" => Header::FetchDest,
            "sec_ch_ua" => Header::Brands,
            "sec_ch_ua_mobile" => Header::Mobile,
            "sec_ch_ua_platform" => Header::Platform,
            "accept_language" => Header::Language,
            _ => return None,
        })
    }
}

/// The fields of one request, in the order of [`Header::ALL`].
pub type HeaderFields<'a> = [Field<'a>; Header::ALL.len()];

/// The values of [`Header`] fields. Few logs have them: they stand in one text, so that a request without them is no larger.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Headers<'a>(&'a [u8]);

impl<'a> Headers<'a> {
    /// The fields that [`Headers::write`] has put into a text.
    pub fn of(text: &'a [u8]) -> Headers<'a> {
        Headers(text)
    }

    /// Adds a logged field: its number, its length and its value, of which 255 bytes count.
    pub fn write(header: Header, value: &[u8], out: &mut Vec<u8>) {
        let value = Field::logged(value).value().unwrap_or_default();
        let value = &value[..value.len().min(usize::from(u8::MAX))];
        out.extend_from_slice(&[header as u8, value.len() as u8]);
        out.extend_from_slice(value);
    }

    /// True where none is logged.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// A field: the first of its name.
    pub fn get(self, header: Header) -> Field<'a> {
        let mut rest = self.0;
        while let [number, length, after @ ..] = rest {
            let (value, next) = after.split_at(usize::from(*length).min(after.len()));
            if *number == header as u8 {
                return Field::logged(value);
            }
            rest = next;
        }
        Field::NotLogged
    }

    /// All fields by number, the first of each name. Who asks for several goes through the text once.
    pub fn all(self) -> HeaderFields<'a> {
        let mut all = [Field::NotLogged; Header::ALL.len()];
        let mut rest = self.0;
        while let [number, length, after @ ..] = rest {
            let (value, next) = after.split_at(usize::from(*length).min(after.len()));
            if let Some(field @ Field::NotLogged) = all.get_mut(usize::from(*number)) {
                *field = Field::logged(value);
            }
            rest = next;
        }
        all
    }

    /// True where a page of another site has made the browser send it: what it asks for is not its user's will.
    #[inline]
    pub fn is_led(self) -> bool {
        !self.0.is_empty() && self.get(Header::FetchSite) == Field::Value(b"cross-site")
    }
}

/// The version of HTTP that a request was sent with, as far as a rule asks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Protocol {
    /// Not logged.
    #[default]
    NotLogged,
    /// HTTP/1.0, which no browser has spoken by itself since about 2000.
    Http10,
    /// Anything later.
    Later,
}

impl Protocol {
    /// The version in a request line's last part.
    #[inline]
    pub fn of(text: &[u8]) -> Protocol {
        if text == b"HTTP/1.0" {
            Protocol::Http10
        } else if text.starts_with(b"HTTP/") {
            Protocol::Later
        } else {
            Protocol::NotLogged
        }
    }
}

/// Whom we judge: an IPv4 address, an IPv6 /64 network, or an opaque token (a host name, a pseudonym).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Source {
    /// Which kind of name `value` is.
    pub kind: SourceKind,
    /// Address bits, network bits, or the token's keyed hash.
    pub value: u64,
}

/// The kinds of [`Source`], in the order they are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum SourceKind {
    /// An IPv4 address.
    V4 = 0,
    /// The upper half of an IPv6 address.
    V6 = 1,
    /// Anything else.
    Token = 2,
}

impl SourceKind {
    /// The kind stored as two bits.
    pub fn from_bits(bits: u8) -> SourceKind {
        match bits {
            0 => SourceKind::V4,
            1 => SourceKind::V6,
            _ => SourceKind::Token,
        }
    }
}

/// A network around a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Network {
    /// Its first source.
    pub first: Source,
    /// The length of its prefix in bits.
    pub length: u8,
}

impl Network {
    fn around(source: Source, length: u8) -> Network {
        // An IPv6 source is the upper half of an address.
        let bits = match source.kind {
            SourceKind::V4 => 32,
            SourceKind::V6 | SourceKind::Token => 64,
        };
        let host = bits - u32::from(length).min(bits);
        Network {
            first: Source {
                kind: source.kind,
                value: source.value >> host << host,
            },
            length,
        }
    }
}

impl Source {
    /// The network around it: /24 of an IPv4 address, /48 of an IPv6 network. A token tells none.
    pub fn network(self) -> Option<Source> {
        let bits = match self.kind {
            SourceKind::V4 => 8,
            SourceKind::V6 => 16,
            SourceKind::Token => return None,
        };
        Some(Source {
            kind: self.kind,
            value: self.value >> bits << bits,
        })
    }

    /// The networks around it that are counted, narrowest first: /24 of an IPv4 address; of an IPv6 network all lengths that providers hand
    /// out, from one household's to their own.
    pub fn networks(self) -> impl Iterator<Item = Network> {
        let lengths: &[u8] = match self.kind {
            SourceKind::V4 => &[24],
            SourceKind::V6 => &[56, 48, 40, 32],
            SourceKind::Token => &[],
        };
        lengths
            .iter()
            .map(move |length| Network::around(self, *length))
    }

    /// The source an address names, or `None` for anything that is not an address.
    ///
    /// Ports and brackets are dropped and IPv4 inside IPv6 is IPv4, so that one client has one name.
    pub fn from_address(text: &[u8]) -> Option<Source> {
        if let Some(value) = ipv4(text) {
            return Some(Source {
                kind: SourceKind::V4,
                value: u64::from(value),
            });
        }
        if let Some(address) = ipv6(text) {
            return Some(Source::from_ipv6(address));
        }
        let text = std::str::from_utf8(text).ok()?;
        if let Ok(address) = text.parse() {
            return Some(Source::from_ipv6(address));
        }
        let bare = bare_address(text)?;
        if let Ok(address) = bare.parse::<Ipv4Addr>() {
            return Some(Source {
                kind: SourceKind::V4,
                value: u64::from(u32::from(address)),
            });
        }
        bare.parse().ok().map(Source::from_ipv6)
    }

    /// The source that an address belongs to.
    pub fn of(address: IpAddr) -> Source {
        match address {
            IpAddr::V4(address) => Source {
                kind: SourceKind::V4,
                value: u64::from(u32::from(address)),
            },
            IpAddr::V6(address) => Source::from_ipv6(address),
        }
    }

    fn from_ipv6(address: Ipv6Addr) -> Source {
        match address.to_ipv4_mapped() {
            Some(address) => Source {
                kind: SourceKind::V4,
                value: u64::from(u32::from(address)),
            },
            None => Source {
                kind: SourceKind::V6,
                value: (u128::from(address) >> 64) as u64,
            },
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            SourceKind::V4 => write!(out, "{}", Ipv4Addr::from(self.value as u32)),
            SourceKind::V6 => write!(out, "{}/64", Ipv6Addr::from(u128::from(self.value) << 64)),
            SourceKind::Token => write!(out, "token-{:016x}", self.value),
        }
    }
}

/// An address without port, brackets and zone.
pub(crate) fn bare_address(text: &str) -> Option<&str> {
    match text.strip_prefix('[') {
        Some(rest) => rest.split(']').next(),
        None if text.matches(':').count() == 1 => text.split(':').next(),
        None => text.split('%').next(),
    }
}

/// Dotted decimal without leading zeros.
fn ipv4(text: &[u8]) -> Option<u32> {
    let mut padded = [b' '; ADDRESS_ROOM];
    padded[..15].get_mut(..text.len())?.copy_from_slice(text);
    let (address, length) = leading_ipv4(&padded)?;
    (length == text.len()).then_some(address)
}

/// An IPv6 address of hexadecimal groups alone, in a tenth of the instructions that the standard library takes, to which everything else
/// is left.
fn ipv6(text: &[u8]) -> Option<Ipv6Addr> {
    let mut groups = [0_u16; 8];
    let mut count = 0;
    // How many groups stand before the double colon.
    let mut before = None;
    let mut rest = text;
    if let [b':', b':', after @ ..] = text {
        (before, rest) = (Some(0), after);
    }
    while !rest.is_empty() {
        let (mut number, mut digits) = (0_u32, 0);
        while let Some(value) = rest.get(digits).map(|byte| HEXADECIMAL[usize::from(*byte)])
            && value < 16
        {
            number = number << 4 | u32::from(value);
            digits += 1;
        }
        if !(1..=4).contains(&digits) {
            return None;
        }
        *groups.get_mut(count)? = number as u16;
        count += 1;
        rest = match &rest[digits..] {
            [] => &[],
            [b':', b':', after @ ..] if before.is_none() => {
                before = Some(count);
                after
            }
            [b':', after @ ..] if !after.is_empty() => after,
            _ => return None,
        };
    }
    match before {
        None if count == 8 => {}
        Some(before) if count < 8 => groups[before..].rotate_right(8 - count),
        _ => return None,
    }
    Some(Ipv6Addr::from(groups))
}

/// The value of each byte as a hexadecimal digit; 255 where it is none.
const HEXADECIMAL: [u8; 256] = {
    let mut values = [255; 256];
    let mut value = 0;
    while value < 16 {
        values[b"0123456789abcdef"[value] as usize] = value as u8;
        values[b"0123456789ABCDEF"[value] as usize] = value as u8;
        value += 1;
    }
    values
};

/// Bytes that reading an IPv4 address looks at: its 15, a blank, and what makes each number a whole word.
pub(crate) const ADDRESS_ROOM: usize = 20;

/// An IPv4 address with a blank behind it at the beginning of a text, and its length.
///
/// The ends of all four numbers are found at once: addresses differ in length from line to line, and a loop over their
/// digits costs a mispredicted branch for each number.
#[inline(always)]
pub(crate) fn leading_ipv4(text: &[u8; ADDRESS_ROOM]) -> Option<(u32, usize)> {
    let (first, rest) = text.split_first_chunk()?;
    let second = rest.first_chunk()?;
    // A last mark where no number can end, so that there always is one.
    let mut marks = not_digits(*first) | not_digits(*second) << 8 | 1 << 31;
    let (mut start, mut address, mut sound) = (0_u32, 0_u32, true);
    for separator in *b"... " {
        let end = marks.trailing_zeros();
        marks = marks & marks.wrapping_sub(1) | 1 << 31;
        let length = end.wrapping_sub(start);
        if !(1..=3).contains(&length) {
            return None;
        }
        let at = start as usize % 16;
        let number = u32::from_le_bytes(*text[at..].first_chunk()?);
        // The digits at the upper end of three bytes, zeros before them.
        let digits = number << (8 * (3 - length)) & 0x000f_0f0f;
        // The third byte of the product is the sum of all three; digits compare like the number they spell.
        let value = digits.wrapping_mul(0x0064_0a01) >> 16 & 0xff;
        let too_large = digits.swap_bytes() > 0x0205_0500;
        let leading_zero = length > 1 && number & 0xf == 0;
        sound &= !(too_large | leading_zero) & (text[end as usize % 16] == separator);
        address = address << 8 | value;
        start = end + 1;
    }
    sound.then_some((address, start as usize - 1))
}

/// One bit for each of eight bytes that is no digit.
#[inline(always)]
fn not_digits(bytes: [u8; 8]) -> u32 {
    const EACH: u64 = u64::from_le_bytes([1; 8]);
    let word = u64::from_le_bytes(bytes);
    // The high bit of each byte that is no digit; bytes above 127 have it already.
    let low = word & (0x7f * EACH);
    let high = (word | !(low + 0x50 * EACH) | (low + 0x46 * EACH)) & (0x80 * EACH);
    // Moves the bit of byte n to bit n of the highest byte; no two of the products meet.
    ((high >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn addresses_are_read_as_the_standard_library_does(text in "[0-9]{1,4}([.][0-9]{1,3}){2,4}|[0-9.: x]{0,18}", address: u32) {
            let expected = text.parse::<Ipv4Addr>().ok().map(u32::from);
            prop_assert_eq!(ipv4(text.as_bytes()), expected);
            prop_assert_eq!(ipv4(Ipv4Addr::from(address).to_string().as_bytes()), Some(address));
        }

        #[test]
        fn so_are_the_longer_ones(text in "[0-9a-fA-F]{0,5}(:{1,2}[0-9A-f]{0,5}){0,8}|[:0-9a-g.]{0,20}", address: u128, zeros in 0_u32..128) {
            let expected = text.parse::<Ipv6Addr>().ok();
            prop_assert!(ipv6(text.as_bytes()).is_none_or(|found| Some(found) == expected), "{}", text);
            for address in [address, address << zeros, address >> zeros].map(Ipv6Addr::from) {
                let text = address.to_string();
                let found = ipv6(text.as_bytes());
                prop_assert!(found == Some(address) || text.contains('.'), "{}", text);
            }
        }
    }

    #[test]
    fn header_fields_are_not_logged_empty_or_have_a_value() {
        let mut text = Vec::new();
        Headers::write(Header::FetchMode, b"navigate", &mut text);
        Headers::write(Header::Language, b"", &mut text);
        Headers::write(Header::Brands, &[b'x'; 300], &mut text);
        let headers = Headers::of(&text);
        assert_eq!(headers.get(Header::FetchMode), Field::Value(b"navigate"));
        assert_eq!(headers.get(Header::Language), Field::Empty);
        assert_eq!(headers.get(Header::Brands), Field::Value(&[b'x'; 255]));
        assert_eq!(headers.get(Header::FetchSite), Field::NotLogged);
        assert_eq!(Headers::default().get(Header::Order), Field::NotLogged);
    }

    fn check(text: &str, expected: Option<&str>) {
        let found = Source::from_address(text.as_bytes()).map(|source| source.to_string());
        assert_eq!(found.as_deref(), expected, "{text}");
    }

    #[test]
    fn one_client_has_one_name() {
        check("192.0.2.7", Some("192.0.2.7"));
        check("192.0.2.7:5678", Some("192.0.2.7"));
        check("::ffff:192.0.2.7", Some("192.0.2.7"));
        check("[2001:db8:1:2::9]:80", Some("2001:db8:1:2::/64"));
        check("2001:db8:1:2:3:4:5:6", Some("2001:db8:1:2::/64"));
        check("fe80::1%eth0", Some("fe80::/64"));
    }

    #[test]
    fn what_is_no_address_is_a_token() {
        for text in [
            "",
            "-",
            "010.0.0.1",
            "0x7f.1",
            "127.1",
            "1.2.3.4.5",
            "1.2.3.256",
            "crawl.example.com",
            "unknown",
            "1.2.3.",
            "....",
            "\u{202e}",
        ] {
            check(text, None);
        }
    }
}
