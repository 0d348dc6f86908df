//! A request that passes: sent to its site, and its response read as far as its head. Both protocols forward by this.

use std::mem::MaybeUninit;
use std::net::IpAddr;
use std::sync::Arc;
use std::task::Context;
use std::task::Poll;
use std::time::Instant;

use cattlegrid_core::policy::Decision;
use cattlegrid_core::policy::Reason;
use cattlegrid_core::policy::Unforeseen;
use cattlegrid_core::profile::Content;
use cattlegrid_http1::Framing;
use cattlegrid_http1::Method;
use cattlegrid_http1::Name;
use cattlegrid_http1::Request;
use cattlegrid_http1::Response;
use cattlegrid_http1::request;
use cattlegrid_http1::request::Limits;
use cattlegrid_http1::response;
use cattlegrid_http1::response::Invalid;
use cattlegrid_http1::response::Kind;

use super::marked_body::MarkedBody;
use super::marked_head::Changes;
use super::marking::Plan;
use crate::challenge::Page;
use crate::challenge::Reader;
use crate::challenge::Upstream;
use crate::decide::reader_of_failure;
use crate::settings::Address;
use crate::settings::Mode;
use crate::settings::defence::Defence;
use crate::settings::trust;
use crate::site::Ask;
use crate::site::Failure;
use crate::site::Outgoing;
use crate::site::Sender;
use crate::site::Side;
use crate::site::SiteConnection;
use crate::site::UploadBody;
use crate::site::request_head;
use crate::state::InFlight;
use crate::state::Incident;
use crate::state::Live;
use crate::state::Worker;
use crate::state::log::Outcome;
use crate::state::users::Told;

/// Seconds after which who got no page may come again.
const WITHHELD_RETRY_AFTER: u32 = 3600;

/// What becomes of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Looked {
    /// The client gets it, and caches may keep it as far as the site lets them.
    Shown,
    /// The client gets it, and no cache may keep it.
    Private,
    /// The client does not get it.
    Withheld,
}

/// A request that passes.
#[derive(Debug)]
pub(crate) struct Forward {
    pub(crate) live: Arc<Live>,
    address: Address,
    /// As the site gets it.
    head: Vec<u8>,
    method: Method,
    is_websocket: bool,
    /// The Content-Length of the request.
    length: Option<u64>,
    pub(crate) client: Option<IpAddr>,
    /// When it was decided about: connections that were fresh before it waited may have ended since.
    decided: Instant,
    /// How the response gets markers, if the client is a signed-in person.
    plan: Option<Box<Plan>>,
    /// What the response body goes through, if it gets markers.
    pub(crate) marked: Option<Box<MarkedBody>>,
    pub(crate) in_flight: InFlight,
}

/// The head of a response, as it goes to the client.
#[derive(Debug)]
pub(crate) struct Passed<'a> {
    pub(crate) response: &'a Response<'a>,
    /// `cache-control: private` is added: the next client has not been decided about.
    is_private: bool,
    changes: Option<Changes>,
    /// The body gets markers, so nobody knows its length.
    pub(crate) is_marked: bool,
}

impl Passed<'_> {
    /// Writes the header fields for the client.
    pub(crate) fn fields(&self, mut write: impl FnMut(&str, &[u8])) {
        if let Some(changes) = &self.changes {
            return changes.write(self.response, &mut write);
        }
        for field in self.response.headers() {
            write(field.name, field.value);
        }
        if self.is_private {
            write("cache-control", b"private");
        }
    }
}

impl Forward {
    /// A request for a site that has an upstream.
    pub(crate) fn new(
        live: &Arc<Live>,
        site: usize,
        request: &Request<'_>,
        (sender, plan): (&Sender, Option<Box<Plan>>),
        (in_flight, decided): (InFlight, Instant),
    ) -> Option<Forward> {
        let address = live.setup.sites[site].upstream.clone()?;
        let planned = plan.as_ref().and_then(|plan| plan.request_headers(request));
        let outgoing = Outgoing {
            method: request.method.as_str(),
            target: request.target,
            host: request
                .authority
                .or_else(|| request.headers.get(Name::Host))
                .unwrap_or_default(),
            headers: planned.as_ref().unwrap_or(&request.headers),
            is_chunked: matches!(request.body, Framing::Chunked(_)),
            is_websocket: request.is_websocket,
        };
        Some(Forward {
            address,
            head: request_head(&outgoing, sender, &live.setup.defences),
            live: Arc::clone(live),
            method: request.method.clone(),
            is_websocket: request.is_websocket,
            length: request.body.length(),
            client: sender.client,
            decided,
            plan,
            marked: None,
            in_flight,
        })
    }

    pub(crate) fn is_head(&self) -> bool {
        self.method == Method::HEAD
    }

    /// The announced length of the request body; `None` for chunks.
    pub(crate) fn body_length(&self) -> Option<u64> {
        self.length
    }

    /// Sends the request and waits for the head of the response: the connection that holds it, and its length. `gone` is ready when the
    /// client has failed. An error is the page for the client, if it is still there.
    pub(crate) async fn ask(
        &mut self,
        body: Option<UploadBody>,
        gone: impl FnMut(&mut Context<'_>) -> Poll<Failure>,
    ) -> Result<(SiteConnection, usize), Option<Page>> {
        let ask = Ask {
            address: &self.address,
            head: &self.head,
            started: self.decided,
            body,
            // It changes nothing and may be sent twice (RFC 9110, 9.2.2).
            is_safe: matches!(self.method, Method::GET | Method::HEAD | Method::OPTIONS),
        };
        let waits = &self.live.setup.waits;
        let asked = self.in_flight.worker.pool.send(ask, waits, gone).await;
        asked.map_err(|failure| match failure {
            Failure::ClientGone => None,
            failure => Some(self.fail(&failure)),
        })
    }

    /// Reads the head of the response and has it written. An error is the page for the client.
    pub(crate) fn respond<T>(
        &mut self,
        site: &mut SiteConnection,
        length: usize,
        write: impl FnOnce(&Passed<'_>) -> Result<T, Invalid>,
    ) -> Result<T, Page> {
        let mut space = [MaybeUninit::uninit(); response::HEADERS_MAX];
        let head = &site.bytes()[..length];
        let written = response::read(head, self.is_head(), &mut space).and_then(|response| {
            let is_asked_for = self.is_websocket && response.opens_websocket();
            if response.status == 101 && !is_asked_for {
                return Err(response::UNASKED_SWITCH);
            }
            self.in_flight.entry.status = response.status;
            let is_private = match self.look(&response) {
                Looked::Withheld => return Ok(None),
                Looked::Private => true,
                Looked::Shown => false,
            };
            let treated = self.plan.as_ref().map(|plan| {
                let gate = &self.in_flight.worker.gate;
                plan.treat(&response, gate)
            });
            let treated = treated.unwrap_or_default();
            self.note_path(&response);
            self.marked = treated.body;
            let passed = Passed {
                response: &response,
                is_private,
                changes: treated.head,
                is_marked: self.marked.is_some(),
            };
            let written = write(&passed)?;
            Ok(Some((written, response.body, response.keeps_alive)))
        });
        match written {
            Ok(Some((written, body, keeps_alive))) => {
                site.begin(length, body, keeps_alive);
                Ok(written)
            }
            Ok(None) => Err(self.withhold()),
            Err(invalid) => Err(self.fail(&Failure::Invalid(invalid))),
        }
    }

    /// Tells the table of users about a page of a signed-in person. Where the owner's rule lets it pass, nobody looks at it.
    fn note_path(&self, response: &Response<'_>) {
        let is_on = self.live.setup.paths.is_on;
        let Some(plan) = self.plan.as_ref().filter(|_| is_on) else {
            return;
        };
        if let Outcome::Decided(_, Reason::SignedIn) = self.in_flight.entry.outcome
            && let Some(request) = plan.noted(&self.in_flight, response)
        {
            let gate = &self.in_flight.worker.gate;
            gate.users.tell(Told::Request(request), &gate.metrics);
        }
    }

    /// The response was passed on to its end: the connection serves the next request.
    pub(crate) fn end(&mut self, site: SiteConnection, now: Instant) {
        self.in_flight.ended = Some(now);
        self.in_flight.is_whole = true;
        let worker = &self.in_flight.worker;
        match site.is_uploading() {
            false => worker.pool.put_back(&self.address, site, now),
            true => {
                let wait = self.live.setup.waits.body;
                tokio::spawn(finish_upload(
                    Arc::clone(worker),
                    self.address.clone(),
                    site,
                    wait,
                ));
            }
        }
    }

    /// Looks at a response: counts pages that the request did not look like, and says whether caches may keep it.
    fn look(&self, response: &Response<'_>) -> Looked {
        let defences = &self.live.setup.defences;
        let is_shadow = self.live.setup.mode == Mode::Shadow;
        if defences.has(Defence::PagesByAnswer)
            && self.count_unforeseen(response) == Unforeseen::TooMany
            && !is_shadow
        {
            return Looked::Withheld;
        }
        self.count_for_group(response);
        // A page that was given to one client is not for a cache before the gate, unless the site itself says so: the next client has not
        // been decided about. In shadow mode everybody gets it.
        let is_silent = response.kind == Kind::Html && !response.says_caches;
        match is_silent && !is_shadow && defences.has(Defence::NoStore) {
            true => Looked::Private,
            false => Looked::Shown,
        }
    }

    /// The page for who had many requests let pass before the first of them turned out to be a page, and has had enough by now.
    fn withhold(&mut self) -> Page {
        let gate = &self.in_flight.worker.gate;
        let (source, time) = (trust::source(self.in_flight.entry.client), gate.clock.now());
        let reason = Reason::ManyPages;
        let incident = Incident::of(source, (reason.name(), None), time);
        self.in_flight.entry.incident = Some(incident);
        self.in_flight.entry.outcome = Outcome::Decided(Decision::Throttle, reason);
        let pages = &self.live.pages;
        let page = pages.throttle(self.reader(), WITHHELD_RETRY_AFTER, &incident.to_string());
        self.in_flight.answered(&page);
        page
    }

    /// Counts what did not look like a page when it was requested: a crawler may use POST, or ask for `/page/7/x.css`.
    fn count_unforeseen(&self, response: &Response<'_>) -> Unforeseen {
        let entry = &self.in_flight.entry;
        // Requests that the owner or a shipped rule lets pass are not counted at all.
        if let Outcome::Decided(_, Reason::OwnersRule | Reason::OwnersEntry | Reason::DefaultRule) =
            entry.outcome
        {
            return Unforeseen::Counted;
        }
        if let Some(crawler) = entry.crawler {
            self.count_for_crawler(response, crawler);
            return Unforeseen::Counted;
        }
        let is_signed_in = matches!(
            entry.outcome,
            Outcome::Decided(_, Reason::SignedIn | Reason::SignedInTooFast)
        );
        if let Some(user) = entry.user.filter(|_| is_signed_in) {
            self.count_for_user(response, user);
            return Unforeseen::Counted;
        }
        let (source, clearance) = (trust::source(entry.client), entry.clearance.as_ref());
        let policy = &self.live.policy;
        let clock = &self.in_flight.worker.gate.clock;
        match (entry.content, response.kind, response.status) {
            (Content::Page, ..) | (_, Kind::Part | Kind::None, _) => Unforeseen::Counted,
            // The text of a redirect is no content, and images that have moved are nobody's page.
            (_, Kind::Html, 300..400) => Unforeseen::Counted,
            (Content::Part, Kind::Html, 400..) => {
                policy.count_broken_part(source, clearance, clock.now())
            }
            (_, Kind::Html, _) => policy.count_page(source, clearance, clock.now()),
            (Content::Document, Kind::Document, _) => Unforeseen::Counted,
            // Answers to webhooks are no documents that somebody wants; but a program that asks for ever others wants them.
            (Content::Part, Kind::Document, _) if entry.is_repeat => Unforeseen::Counted,
            (Content::Part, Kind::Document, _) => {
                policy.count_document(source, clearance, clock.now())
            }
        }
    }

    /// The same for a robot that has proven who it is: it counts for the robot, from wherever it comes.
    fn count_for_crawler(&self, response: &Response<'_>, crawler: u64) {
        let is_unforeseen = self.in_flight.entry.content != Content::Page;
        if is_unforeseen && response.kind == Kind::Html && !(300..400).contains(&response.status) {
            let time = self.in_flight.worker.gate.clock.now();
            self.live.policy.count_for_crawler(crawler, time);
        }
    }

    /// The same for a signed-in person: it counts for the person, and not for others at the same address.
    fn count_for_user(&self, response: &Response<'_>, user: u64) {
        let policy = &self.live.policy;
        let time = self.in_flight.worker.gate.clock.now();
        match (self.in_flight.entry.content, response.kind, response.status) {
            (Content::Page, ..) | (_, Kind::Part | Kind::None, _) => {}
            (_, Kind::Html, 300..400) | (Content::Document, Kind::Document, _) => {}
            (Content::Part, Kind::Html, 400..) => policy.count_broken_part_of_user(user, time),
            (_, Kind::Html, _) => policy.count_page_of_user(user, time),
            (Content::Part, Kind::Document, _) => policy.count_document_of_user(user, time),
        }
    }

    /// Counts pages and their parts for the group of the client: what the site really sent, so that programs that fetch other things are
    /// not taken for readers without pictures.
    fn count_for_group(&self, response: &Response<'_>) {
        let entry = &self.in_flight.entry;
        if let Outcome::Decided(_, Reason::OwnersRule | Reason::OwnersEntry | Reason::DefaultRule) =
            entry.outcome
        {
            return;
        }
        let (policy, gate) = (&self.live.policy, &self.in_flight.worker.gate);
        let source = trust::source(entry.client);
        match (entry.content, response.kind, response.status) {
            (Content::Page, Kind::Html, 200..300) => {
                if let Some(seat) = &entry.seat {
                    policy.count_shown(seat, gate.clock.now());
                }
            }
            (Content::Part, Kind::Part, 200..300) | (Content::Part, Kind::None, 304) => {
                policy.count_part(source, entry.agent);
            }
            // What a client with a clearance or a signed-in person gets is not counted for the group.
            (_, Kind::Html, 200..300) if entry.clearance.is_none() && entry.user.is_none() => {
                policy.count_disguised(source, entry.agent, gate.clock.now());
            }
            _ => {}
        }
    }

    /// The page for the client where the site has no response for it.
    fn fail(&mut self, failure: &Failure) -> Page {
        let gate = &self.in_flight.worker.gate;
        let page = match failure.side() {
            Side::Client => Page::text(400, "incomplete or invalid request body\n"),
            Side::Site => {
                tracing::warn!(upstream = %self.address, "{failure}");
                gate.metrics
                    .upstream_failures
                    .get_or_create(&[("kind", failure.name())])
                    .inc();
                let what = match failure {
                    Failure::Late => Upstream::Late,
                    _ => Upstream::Unreachable,
                };
                let entry = &self.in_flight.entry;
                let (source, time) = (trust::source(entry.client), gate.clock.now());
                let incident = Incident::of(source, (failure.name(), None), time);
                let number = incident.to_string();
                self.in_flight.entry.incident = Some(incident);
                let pages = &self.live.pages;
                pages.upstream_failed(self.reader(), what, &number)
            }
        };
        self.in_flight.answered(&page);
        page
    }

    /// The reader of an error page, by the fields that went to the site.
    fn reader(&self) -> Reader {
        match request::read(&self.head, &Limits::USUAL) {
            Ok(request) => reader_of_failure(&request.headers),
            Err(_) => Reader::Program,
        }
    }
}

/// The site has responded before it had the whole request. Many clients read nothing before they have sent everything: to close the
/// connection here would take the response from them.
async fn finish_upload(
    worker: Arc<Worker>,
    address: Address,
    mut site: SiteConnection,
    wait: std::time::Duration,
) {
    site.uploaded(wait).await;
    worker.pool.put_back(&address, site, Instant::now());
}
