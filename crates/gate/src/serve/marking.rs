//! Which responses get markers: pages and redirects for signed-in people. What changes in their head is in `marked_head`, and their body
//! goes through `marked_body`.

use std::sync::Arc;

use cattlegrid_core::paths::Browser;
use cattlegrid_core::paths::Loaded;
use cattlegrid_core::paths::UserRequest;
use cattlegrid_core::profile::Content;
use cattlegrid_http1::Headers;
use cattlegrid_http1::Method;
use cattlegrid_http1::Name;
use cattlegrid_http1::Request;
use cattlegrid_http1::Response;
use cattlegrid_http1::response::Kind;
use cattlegrid_marker::Charset;
use cattlegrid_marker::Facts as MarkerFacts;
use cattlegrid_marker::Keyring;
use cattlegrid_marker::Links;
use cattlegrid_marker::Marker;
use cattlegrid_marker::PageMarker;
use cattlegrid_marker::Rules;
use cattlegrid_marker::Site;

use super::marked_body::Coding;
use super::marked_body::MarkedBody;
use super::marked_head::Changes;
use super::marked_head::Scope;
use crate::decide::Facts;
use crate::settings::defence::Defence;
use crate::settings::defence::Defences;
use crate::state::Gate;
use crate::state::InFlight;
use crate::state::Live;
use crate::state::gate::content;

/// What the response to a signed-in person needs to get markers.
#[derive(Debug)]
pub(crate) struct Plan {
    ring: Arc<Keyring>,
    rules: Arc<Rules>,
    defences: Defences,
    /// `https://example.org:8443`
    origin: String,
    host: String,
    /// As the site gets it.
    target: String,
    /// What stands in markers for the person.
    user: u64,
    /// The page whose link was followed, if its marker is the person's own.
    followed: Option<u64>,
    minute: u32,
    looks: Looks,
    is_head: bool,
}

/// What a request looks like before its response has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Looks {
    /// A browser goes to a page.
    Page,
    /// A script or a program asks for something: a piece of a page, data, or a part of a film.
    Data,
    /// A picture, a film, or another file.
    Other,
}

impl Looks {
    fn of(facts: &Facts<'_>) -> Looks {
        if content("GET", facts.target) != Content::Page {
            return Looks::Other;
        }
        match facts.headers.get(Name::SecFetchDest) {
            Some(b"document" | b"iframe" | b"frame") => Looks::Page,
            Some(b"empty") => Looks::Data,
            Some(_) => Looks::Other,
            // Older browsers name the type of pages when they go to one, and not when they play films.
            None => {
                let accept = facts.headers.get(Name::Accept).unwrap_or_default();
                match memchr::memmem::find(accept, b"text/html") {
                    Some(_) => Looks::Page,
                    None => Looks::Data,
                }
            }
        }
    }
}

/// How a response goes to the client.
#[derive(Debug, Default)]
pub(crate) struct Treated {
    /// What changes in its head, if anything does.
    pub(crate) head: Option<Changes>,
    /// What its body goes through.
    pub(crate) body: Option<Box<MarkedBody>>,
}

impl Plan {
    /// The plan for a request of a signed-in person; `None` for others, and where markers are off.
    pub(crate) fn of(
        gate: &Gate,
        live: &Live,
        facts: &Facts<'_>,
        request: &Request<'_>,
    ) -> Option<Box<Plan>> {
        let user = facts.user?;
        let setup = &live.setup.markers;
        let is_meant = matches!(*facts.method, Method::GET | Method::HEAD | Method::POST);
        if !setup.is_on_at(facts.host) || !is_meant || request.is_websocket {
            return None;
        }
        let ring = gate.markers.load_full()?;
        let named = request.authority.or(request.headers.get(Name::Host))?;
        let scheme = if facts.is_secure { "https" } else { "http" };
        let user = ring.user_name(&user.to_be_bytes());
        Some(Box::new(Plan {
            user,
            followed: match &facts.marker {
                Marker::Genuine(opened) if opened.facts.user == user => Some(opened.facts.parent),
                _ => None,
            },
            ring,
            rules: Arc::clone(&setup.rules),
            defences: live.setup.defences,
            origin: format!("{scheme}://{}", std::str::from_utf8(named).ok()?),
            host: facts.host.to_owned(),
            target: facts.target.to_owned(),
            minute: gate.clock.at(facts.started) / 60,
            looks: Looks::of(facts),
            is_head: *facts.method == Method::HEAD,
        }))
    }

    /// The header fields for the site, where they differ: a page must come whole, and in an encoding that can be read. Data may come in
    /// parts, and packed if the client can unpack it.
    pub(crate) fn request_headers<'a>(&self, request: &Request<'a>) -> Option<Headers<'a>> {
        if self.looks == Looks::Other || !self.defences.has(Defence::MarkedWhole) {
            return None;
        }
        let is_page = self.looks == Looks::Page;
        let mut headers = Headers::new();
        for field in request.headers.iter() {
            let is = |name: &[u8]| field.name.eq_ignore_ascii_case(name);
            let is_part = is(b"range") || is(b"if-range");
            if field.known != Some(Name::AcceptEncoding) && !(is_page && is_part) {
                headers.add(field.name, field.value);
            }
        }
        let value: &[u8] = match !is_page && takes_gzip(request) {
            true => b"gzip",
            false => b"identity",
        };
        headers.add(b"accept-encoding", value);
        Some(headers)
    }

    /// Looks at the head of the response.
    pub(crate) fn treat(&self, response: &Response<'_>, gate: &Arc<Gate>) -> Treated {
        match response.status {
            304 if self.looks == Looks::Page => Treated {
                head: Some(Changes::new(Scope::Page, &self.defences)),
                body: None,
            },
            300..400 => self.redirect(response),
            // 204 and 205 have no body. A part of a page has no place for markers, and its bytes belong to those of the site.
            204..=206 => Treated::default(),
            200..300 | 400..500 => self.page(response, gate),
            _ => Treated::default(),
        }
    }

    fn redirect(&self, response: &Response<'_>) -> Treated {
        // Browsers name the page that had the link as the referrer of where the redirect leads: it is the parent.
        let parent = self.followed.unwrap_or_else(|| self.page_name());
        let mut links = match self.links(Charset::Undeclared, parent) {
            Some(links) if response.status != 304 => links,
            _ => return Treated::default(),
        };
        let mut changes = Changes::new(Scope::Address, &self.defences);
        changes.mark_addresses(response, &mut links);
        Treated {
            head: Some(changes).filter(Changes::has_addresses),
            body: None,
        }
    }

    fn page(&self, response: &Response<'_>, gate: &Arc<Gate>) -> Treated {
        let Some(charset) = charset(response, gate) else {
            return Treated::default();
        };
        let Some(coding) = coding(response) else {
            gate.metrics.unmarked("content_encoding");
            return Treated::default();
        };
        let is_empty = response.body.is_empty() && !self.is_head;
        let links = self.links(charset, self.page_name()).filter(|_| !is_empty);
        let Some(mut links) = links else {
            return Treated::default();
        };
        let scope = match coding {
            Coding::Plain => Scope::Page,
            Coding::Gzip => Scope::Unpacked,
        };
        let mut changes = Changes::new(scope, &self.defences);
        changes.mark_addresses(response, &mut links);
        let body = (!self.is_head).then(|| MarkedBody::new(links, coding, gate, &self.defences));
        Treated {
            head: Some(changes),
            body: body.map(Box::new),
        }
    }

    /// What stands in markers for the page itself.
    fn page_name(&self) -> u64 {
        self.ring.page_name(self.target.as_bytes())
    }

    /// The request for the table of users, unless it has brought no page.
    pub(crate) fn noted(
        &self,
        in_flight: &InFlight,
        response: &Response<'_>,
    ) -> Option<UserRequest> {
        let entry = &in_flight.entry;
        let is_page = entry.content == Content::Page;
        let loaded = match (response.kind, response.status) {
            (_, 304) if is_page => Loaded::Page,
            (_, 300..400) if is_page => Loaded::Redirect,
            (Kind::Html, 200..300 | 400..500) if self.looks == Looks::Data => Loaded::Piece,
            (Kind::Html, 200..300 | 400..500) => Loaded::Page,
            _ => return None,
        };
        let texts = in_flight.texts.texts();
        let referrer = own_target(texts.referrer, &self.host);
        Some(UserRequest {
            at_ms: entry.time_ms,
            day: 0,
            user: entry.user?,
            page: self.page_name(),
            link: entry.link(),
            referrer: referrer.map(|target| self.ring.page_name(target)),
            client: Browser {
                agent: entry.agent.into(),
                session: entry.session.flatten().unwrap_or(0),
            },
            loaded,
        })
    }

    fn links(&self, charset: Charset, parent: u64) -> Option<Links> {
        let mut nonce = [0; 12];
        // Without randomness there is no marker, and the page passes.
        getrandom::fill(&mut nonce).ok()?;
        let facts = MarkerFacts {
            parent,
            user: self.user,
            minted_minutes: self.minute,
        };
        let marker = PageMarker::new(&self.ring, &Site::new(&self.host), facts, nonce);
        let (target, rules) = (self.target.as_bytes(), Arc::clone(&self.rules));
        Links::new(&self.origin, target, charset, marker, rules)
    }
}

/// The page of the same site that a referrer names. Many browsers and policies name the site alone, which says nothing.
fn own_target<'a>(referrer: &'a [u8], host: &str) -> Option<&'a [u8]> {
    let at = memchr::memmem::find(referrer, b"://")? + 3;
    let rest = referrer.get(at..)?;
    let end = rest.iter().position(|byte| b"/?#".contains(byte))?;
    let (authority, target) = rest.split_at(end);
    let is_own = Site::new(std::str::from_utf8(authority).ok()?) == Site::new(host);
    (is_own && target != b"/").then_some(target)
}

/// True where a client can unpack gzip.
fn takes_gzip(request: &Request<'_>) -> bool {
    let mut codings = request.headers.all(Name::AcceptEncoding).flat_map(|value| {
        let elements = value.split(|byte| *byte == b',');
        elements.map(<[u8]>::trim_ascii)
    });
    // With a weight it is rare, and the weight may be 0.
    codings.any(|coding| coding.eq_ignore_ascii_case(b"gzip"))
}

/// The values of a field of a response.
fn values<'a>(response: &Response<'a>, name: &'static str) -> impl Iterator<Item = &'a [u8]> {
    let fields = response.headers();
    fields
        .filter(move |field| field.name.eq_ignore_ascii_case(name))
        .map(|field| field.value)
}

/// The charset of a page that can be read. Files to download are no pages.
fn charset(response: &Response<'_>, gate: &Gate) -> Option<Charset> {
    let mut types = values(response, "content-type");
    let (content_type, second) = (types.next()?, types.next());
    if second.is_some() {
        return None;
    }
    let is_file = |value: &[u8]| {
        let start = value.trim_ascii_start().get(..10);
        start.is_some_and(|start| start.eq_ignore_ascii_case(b"attachment"))
    };
    let start = content_type.get(..9);
    let is_html = start.is_some_and(|start| start.eq_ignore_ascii_case(b"text/html"));
    if !is_html || values(response, "content-disposition").any(is_file) {
        return None;
    }
    let charset = Charset::of_page(content_type);
    if charset.is_none() {
        gate.metrics.unmarked("charset");
    }
    charset
}

/// How a body is packed; `None` for a way that is not read here.
fn coding(response: &Response<'_>) -> Option<Coding> {
    let mut codings = values(response, "content-encoding");
    let (first, second) = (codings.next(), codings.next());
    match first.map(<[u8]>::to_ascii_lowercase).as_deref() {
        _ if second.is_some() => None,
        None | Some(b"" | b"identity") => Some(Coding::Plain),
        Some(b"gzip" | b"x-gzip") => Some(Coding::Gzip),
        Some(_) => None,
    }
}
