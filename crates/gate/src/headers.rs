//! The headers of a request: as the HTTP library holds them, or as they stand in a head that it has not seen.

use hyper::HeaderMap;
use hyper::header;
use hyper::header::HeaderName;
use hyper::header::HeaderValue;

// Statics, and no constants of the library: each use of a constant would make a name anew.
pub(crate) static ACCEPT: HeaderName = header::ACCEPT;
pub(crate) static ACCEPT_LANGUAGE: HeaderName = header::ACCEPT_LANGUAGE;
pub(crate) static CACHE_CONTROL: HeaderName = header::CACHE_CONTROL;
pub(crate) static CONNECTION: HeaderName = header::CONNECTION;
pub(crate) static CONTENT_LENGTH: HeaderName = header::CONTENT_LENGTH;
pub(crate) static CONTENT_TYPE: HeaderName = header::CONTENT_TYPE;
pub(crate) static COOKIE: HeaderName = header::COOKIE;
pub(crate) static EXPECT: HeaderName = header::EXPECT;
pub(crate) static EXPIRES: HeaderName = header::EXPIRES;
pub(crate) static FORWARDED: HeaderName = header::FORWARDED;
pub(crate) static HOST: HeaderName = header::HOST;
pub(crate) static HX_REQUEST: HeaderName = HeaderName::from_static("hx-request");
pub(crate) static REFERER: HeaderName = header::REFERER;
pub(crate) static SEC_FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");
pub(crate) static SEC_WEBSOCKET_KEY: HeaderName = header::SEC_WEBSOCKET_KEY;
pub(crate) static USER_AGENT: HeaderName = header::USER_AGENT;
/// The header that proxies append the address of their client to.
pub(crate) static X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
pub(crate) static X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
/// The header in which they say whether it came by TLS.
pub(crate) static X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
pub(crate) static X_REAL_IP: HeaderName = HeaderName::from_static("x-real-ip");
pub(crate) static X_REQUESTED_WITH: HeaderName = HeaderName::from_static("x-requested-with");

/// All headers of one request.
#[derive(Debug, Clone, Copy)]
pub enum Headers<'a> {
    /// In the library's table.
    Map(&'a HeaderMap),
    /// One by one, in their order.
    Raw(&'a [httparse::Header<'a>]),
}

impl<'a> From<&'a HeaderMap> for Headers<'a> {
    fn from(map: &'a HeaderMap) -> Headers<'a> {
        Headers::Map(map)
    }
}

impl<'a> Headers<'a> {
    /// The values of all headers of a name.
    pub(crate) fn all<'n>(
        self,
        name: &'n HeaderName,
    ) -> impl Iterator<Item = &'a [u8]> + use<'a, 'n> {
        let (map, raw) = match self {
            Headers::Map(map) => (Some(map.get_all(name)), &[][..]),
            Headers::Raw(raw) => (None, raw),
        };
        let of_map = map.into_iter().flat_map(|all| all.iter());
        let of_raw = raw.iter().filter(move |header| {
            header.name.len() == name.as_str().len()
                && header.name.eq_ignore_ascii_case(name.as_str())
        });
        of_map
            .map(HeaderValue::as_bytes)
            .chain(of_raw.map(|header| header.value))
    }

    /// All of them, by name and value.
    pub(crate) fn iter(self) -> impl Iterator<Item = (&'a str, &'a [u8])> {
        let (map, raw) = match self {
            Headers::Map(map) => (Some(map), &[][..]),
            Headers::Raw(raw) => (None, raw),
        };
        let of_map = map.into_iter().flat_map(HeaderMap::iter);
        of_map
            .map(|(name, value)| (name.as_str(), value.as_bytes()))
            .chain(raw.iter().map(|header| (header.name, header.value)))
    }

    /// The value of the first header of a name.
    pub(crate) fn get(self, name: &HeaderName) -> Option<&'a [u8]> {
        self.all(name).next()
    }

    /// The same, to be kept.
    pub(crate) fn value(self, name: &HeaderName) -> Option<HeaderValue> {
        match self {
            Headers::Map(map) => map.get(name).cloned(),
            Headers::Raw(_) => HeaderValue::from_bytes(self.get(name)?).ok(),
        }
    }

    /// True where there is a header of a name.
    pub(crate) fn has(self, name: &HeaderName) -> bool {
        self.get(name).is_some()
    }
}
