//! What a field of a text format is to us, and how its text becomes part of a request.

use super::Skip;
use super::fields;
use super::fields::Scratch;
use super::time::TimeStyle;
use crate::request::Client;
use crate::request::Field;
use crate::request::Header;
use crate::request::Headers;
use crate::request::Request;

/// The meaning of a field.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Part {
    Source,
    /// The list of addresses that proxies pass on, where the format has no other client.
    Chain,
    /// The list of addresses that proxies pass on, beside the client.
    Forwarded,
    User,
    Host,
    Time(TimeStyle),
    Request,
    /// A request line with scheme and host, as load balancers write it for every request.
    RequestUrl,
    Method,
    Target,
    Query,
    Status,
    Bytes,
    Referrer,
    Agent,
    Cookie,
    Session,
    Duration {
        unit_us: f64,
    },
    /// W3C's time-taken: milliseconds in IIS, seconds with a fraction in CloudFront.
    TimeTaken,
    /// A header field in which browsers and programs differ.
    Header(Header),
    /// A field we have no use for, by the name the owner may ask for it.
    Other(String),
    Ignored,
}

impl Part {
    /// A header field by its name; one we have no use for unless the owner asks for it.
    pub(super) fn other(name: &str) -> Part {
        let name = plain(name);
        Header::named(&name).map_or(Part::Other(name), Part::Header)
    }

    /// Makes the field of this name the one with forwarded addresses; the error lists the names there are.
    pub(super) fn set_forwarded<'a>(
        parts: impl Iterator<Item = &'a mut Part>,
        name: &str,
    ) -> Result<(), Vec<&'a str>> {
        let wanted = plain(name);
        let mut names = Vec::new();
        for part in parts {
            match part {
                Part::Other(known) if *known == wanted => {
                    *part = Part::Forwarded;
                    return Ok(());
                }
                Part::Other(known) => names.push(known.as_str()),
                _ => {}
            }
        }
        Err(names)
    }

    /// How often this byte stands inside every value of the field.
    pub(super) fn inner(&self, byte: u8) -> usize {
        match self {
            Part::Time(TimeStyle::Strftime(pattern)) => {
                pattern.bytes().filter(|inner| *inner == byte).count()
            }
            _ => 0,
        }
    }

    /// True for fields that are no single word even where no quotes stand around them.
    pub(super) fn may_hold_blanks(&self) -> bool {
        matches!(
            self,
            Part::User | Part::Agent | Part::Header(_) | Part::Ignored | Part::Other(_)
        )
    }

    /// Takes a field's text into the request.
    pub(super) fn fill<'a>(
        &self,
        value: &'a [u8],
        request: &mut Request<'a>,
        scratch: &mut Scratch,
    ) -> Result<(), Skip> {
        match self {
            Part::Source => request.client = Client::Written(fields::source(value)?),
            Part::Chain => {
                // The last one was written by the proxy next to us.
                let last = value.rsplit(|byte| *byte == b',').next().unwrap_or(value);
                request.client = Client::Written(fields::source(last.trim_ascii())?);
            }
            Part::Forwarded => request.forwarded = Field::logged(value),
            Part::User => request.user = Field::logged(value),
            Part::Host => request.host = fields::host(value),
            Part::Time(style) => style.read(value, &mut scratch.dates)?.fill(request),
            Part::Request => fields::request_line(value, request)?,
            Part::RequestUrl => {
                fields::request_line(value, request)?;
                fields::split_host(request);
            }
            Part::Method => request.method = value,
            Part::Target => request.target = value,
            Part::Status => request.status = fields::status(value)?,
            Part::Bytes => request.bytes = fields::bytes(value)?,
            Part::Referrer => request.referrer = Field::logged(value),
            Part::Agent => request.agent = Field::logged(value),
            Part::Cookie => request.session = fields::session(value, &scratch.session_cookies),
            Part::Session => request.session = Field::logged(value),
            Part::Duration { unit_us } => {
                request.duration_us = fields::duration_us(value, *unit_us)
            }
            Part::TimeTaken => {
                let unit_us = if value.contains(&b'.') { 1e6 } else { 1e3 };
                request.duration_us = fields::duration_us(value, unit_us);
            }
            Part::Header(header) => Headers::write(*header, value, &mut scratch.headers),
            Part::Query | Part::Other(_) | Part::Ignored => {}
        }
        Ok(())
    }
}

/// One spelling of a header's name: `X-Forwarded-For`, `$http_x_forwarded_for` and `cs(X-Forwarded-For)` are the same.
pub(super) fn plain(name: &str) -> String {
    let lower = name.to_ascii_lowercase().replace('-', "_");
    let bare = lower.strip_prefix("cs(").unwrap_or(&lower);
    let bare = bare.strip_suffix(')').unwrap_or(bare);
    bare.strip_prefix("http_").unwrap_or(bare).to_owned()
}
