//! Header fields in which browsers and programs differ, as the access log keeps them.
//!
//! A field that is not there was not sent, or was withheld by a server before the gate: only what a client would have sent in any case
//! is logged as empty.

use cattlegrid_http1::Headers;
use cattlegrid_http1::Name;
use cattlegrid_http1::Version;

/// Bytes of one value that are logged. Browsers send fewer.
pub(crate) const VALUE_MAX: usize = 255;

/// The fields, and how their values begin in the log, in the order in which `analyze` expects them.
pub(crate) const FIELDS: [(Name, &str); 7] = [
    (Name::SecFetchSite, ",\"fetch_site\":\""),
    (Name::SecFetchMode, ",\"fetch_mode\":\""),
    (Name::SecFetchDest, ",\"fetch_dest\":\""),
    (Name::SecChUa, ",\"ua\":\""),
    (Name::SecChUaMobile, ",\"ua_mobile\":\""),
    (Name::SecChUaPlatform, ",\"ua_platform\":\""),
    (Name::AcceptLanguage, ",\"language\":\""),
];

/// Fields whose order is logged, and their letters.
const ORDER: [(Name, u8); 5] = [
    (Name::Host, b'h'),
    (Name::UserAgent, b'u'),
    (Name::Accept, b'a'),
    (Name::AcceptEncoding, b'e'),
    (Name::AcceptLanguage, b'l'),
];

/// How Chromium and Firefox begin `Accept` where they load a page: scripts set fields in an order of their own.
const ACCEPT_PAGE: &[u8] = b"text/html,application/xhtml+xml";

/// By which way header fields have come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// From the client itself, by this version of HTTP.
    Direct(Version),
    /// Through a trusted proxy.
    Relayed,
    /// In the query of a web server, which may not pass on all of them.
    Told,
}

/// How header fields have come, and whether by TLS.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Passage {
    pub(crate) way: Way,
    pub(crate) is_secure: bool,
}

impl Passage {
    /// What is logged of a field that is not there. Browsers send most of them only over TLS, or to this machine.
    fn absent<'a>(&self, name: Name) -> Option<&'a [u8]> {
        match self.way {
            Way::Told => None,
            _ if self.is_secure || name == Name::AcceptLanguage => Some(b""),
            _ => None,
        }
    }
}

/// Header fields of one request. `None` is not logged.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sent<'a> {
    pub(crate) values: [Option<&'a [u8]>; FIELDS.len()],
    pub(crate) order: Order,
}

/// Letters of the fields whose order is logged; none where it is not.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Order {
    letters: [u8; ORDER.len()],
    length: usize,
}

impl Order {
    pub(crate) fn letters(&self) -> &[u8] {
        &self.letters[..self.length]
    }

    /// The order of the fields of a page load.
    fn of(headers: &Headers<'_>) -> Order {
        let mut order = Order::default();
        let accept = headers.get(Name::Accept);
        if !accept.is_some_and(|accept| accept.starts_with(ACCEPT_PAGE)) {
            return order;
        }
        let mut places = ORDER.map(|(name, letter)| (headers.place(name), letter));
        places.sort_unstable();
        for (place, letter) in places {
            if place.is_some() {
                order.letters[order.length] = letter;
                order.length += 1;
            }
        }
        order
    }
}

impl<'a> Sent<'a> {
    /// The fields of a page request.
    pub(crate) fn of(headers: &Headers<'a>, passage: Passage) -> Sent<'a> {
        let value = |name: Name| match headers.get(name) {
            Some(value) => Some(&value[..value.len().min(VALUE_MAX)]),
            None => passage.absent(name),
        };
        Sent {
            values: FIELDS.map(|(name, _)| value(name)),
            order: match passage.way {
                // HTTP/2 has no order that is kept, and proxies change it.
                Way::Direct(Version::HTTP_10 | Version::HTTP_11) => Order::of(headers),
                Way::Direct(_) | Way::Relayed | Way::Told => Order::default(),
            },
        }
    }

    /// The lengths of all values, to be cut from one text again by [`Sent::cut`].
    pub(crate) fn lengths(&self) -> [Option<u8>; FIELDS.len()] {
        // No value is longer than VALUE_MAX.
        self.values
            .map(|value| value.map(|value| value.len() as u8))
    }

    /// The fields whose values stand in a text, one after the other.
    pub(crate) fn cut(
        mut text: &'a [u8],
        lengths: [Option<u8>; FIELDS.len()],
        order: Order,
    ) -> Sent<'a> {
        let values = lengths.map(|length| {
            let (value, rest) = text.split_at(usize::from(length?));
            text = rest;
            Some(value)
        });
        Sent { values, order }
    }
}
