//! Refuses requests that are ambiguous, or that no site is asked for, before anything else is looked at.

use std::borrow::Cow;

use cattlegrid_http1::Method;
use cattlegrid_http1::Name;
use cattlegrid_http1::Request;
use cattlegrid_http1::Version;
use cattlegrid_http1::host;
use cattlegrid_http1::request::Invalid;

use crate::challenge::Page;
use crate::settings::defence::Defence;
use crate::settings::defence::Defences;

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Its head is malformed, or the length of its body is ambiguous.
    Framing,
    /// It names no host, two, or an invalid one.
    Host,
    /// Its target is not a path of a site.
    Target,
    /// A method that the gate does not forward.
    Method,
    /// An unknown Expect.
    Expectation,
    /// Its head is too large.
    HeadSize,
}

impl From<Invalid> for Refusal {
    fn from(invalid: Invalid) -> Refusal {
        match invalid {
            Invalid::Target => Refusal::Target,
            Invalid::TooLarge => Refusal::HeadSize,
            Invalid::RequestLine
            | Invalid::Line
            | Invalid::Name
            | Invalid::Length
            | Invalid::Encoding => Refusal::Framing,
        }
    }
}

impl Refusal {
    /// The name in metrics.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Refusal::Framing => "length",
            Refusal::Host => "host",
            Refusal::Target => "target",
            Refusal::Method => "method",
            Refusal::Expectation => "expectation",
            Refusal::HeadSize => "head_size",
        }
    }

    /// The response.
    pub(crate) fn page(self) -> Page {
        let (status, text) = match self {
            Refusal::Framing => (
                400,
                "malformed request, or ambiguous Content-Length or Transfer-Encoding\n",
            ),
            Refusal::Host => (400, "missing or invalid Host\n"),
            Refusal::Target => (400, "invalid request target\n"),
            Refusal::Method => (405, "method not allowed\n"),
            Refusal::Expectation => (417, "unknown Expect\n"),
            Refusal::HeadSize => (431, "request head too large\n"),
        };
        Page::text(status, text)
    }
}

/// Checks a request and gives its host in the one spelling.
pub(crate) fn check<'a>(
    request: &'a Request<'a>,
    defences: &Defences,
) -> Result<Cow<'a, str>, Refusal> {
    if matches!(request.method, Method::CONNECT | Method::TRACE) {
        return Err(Refusal::Method);
    }
    let expected = request.headers.get(Name::Expect);
    if expected.is_some_and(|expected| !expected.eq_ignore_ascii_case(b"100-continue")) {
        return Err(Refusal::Expectation);
    }
    let is_options = request.method == Method::OPTIONS && request.target == "*";
    if !request.target.starts_with('/') && !is_options {
        return Err(Refusal::Target);
    }
    check_host(request, defences)
}

/// The host. The authority of an absolute target goes before the Host field (RFC 9112, 3.2.2).
fn check_host<'a>(request: &'a Request<'a>, defences: &Defences) -> Result<Cow<'a, str>, Refusal> {
    let mut sent = request.headers.all(Name::Host);
    let (first, authority) = (sent.next(), request.authority);
    if defences.has(Defence::Host) {
        let is_two = sent.next().is_some();
        // HTTP/2 may name the host twice, but not two hosts.
        let differs = request.version == Version::HTTP_2
            && matches!((first, authority), (Some(first), Some(authority)) if !first.eq_ignore_ascii_case(authority));
        let is_missing =
            first.is_none() && (authority.is_none() || request.version == Version::HTTP_11);
        let is_invalid =
            authority.is_some() && first.is_some_and(|first| host::canonical(first).is_none());
        if is_two || differs || is_missing || is_invalid {
            return Err(Refusal::Host);
        }
    }
    let named = authority.or(first).unwrap_or_default();
    match defences.has(Defence::HostSpelling) {
        true => host::canonical(named).ok_or(Refusal::Host),
        false => Ok(String::from_utf8_lossy(named)),
    }
}
