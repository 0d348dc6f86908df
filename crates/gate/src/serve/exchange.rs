//! One request, from its head to what is done with it. Every request of every protocol passes here.

use std::panic::AssertUnwindSafe;
use std::panic::catch_unwind;
use std::sync::Arc;
use std::time::Duration;
use std::time::Instant;

use cattlegrid_core::paths::Browser;
use cattlegrid_core::paths::Link;
use cattlegrid_core::paths::Loaded;
use cattlegrid_core::paths::UserRequest;
use cattlegrid_core::policy::Decision;
use cattlegrid_http1::Method;
use cattlegrid_http1::Request;

use super::ask;
use super::forward::Forward;
use super::marking::Plan;
use super::maze::Later;
use super::own_pages;
use super::wait;
use super::wait::Wait;
use crate::challenge::Page;
use crate::decide::Facts;
use crate::decide::Refusal;
use crate::decide::Unmarked;
use crate::decide::check;
use crate::decide::contain;
use crate::settings::RobotsTxt;
use crate::settings::Role;
use crate::settings::defence::Defence;
use crate::state::Connection;
use crate::state::Gate;
use crate::state::InFlight;
use crate::state::Live;
use crate::state::log::Entry;
use crate::state::users::Told;

/// What is done with a request.
#[derive(Debug)]
pub(crate) enum Next {
    /// The gate responds itself.
    Answer(Page),
    /// The gate responds itself, in a while.
    Later(Box<Later>),
    /// The gate responds with a message of gRPC.
    Message(Vec<u8>),
    /// The request goes to its site.
    Forward(Box<Forward>),
    /// It is decided once its body is there, of at most this many bytes.
    ReadBody(usize),
    /// It is decided once it has waited for this.
    Wait(Wait),
}

/// The body of a request, as far as the gate itself reads it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ReadBody<'a> {
    /// Not read: [`Next::ReadBody`] asks for it.
    Unread,
    Read(&'a [u8]),
    /// Too long, too late or broken.
    Failed,
}

/// What is known of a request beside its head.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Given<'a> {
    pub(crate) body: ReadBody<'a>,
    pub(crate) word: SiteWord,
    /// How long it has waited.
    pub(crate) waited: Duration,
}

impl Given<'_> {
    /// Nothing, as at first.
    pub(crate) const NOTHING: Given<'static> = Given {
        body: ReadBody::Unread,
        word: SiteWord::Unasked,
        waited: Duration::ZERO,
    };
}

/// What the site says about who is signed in.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SiteWord {
    /// It was not asked.
    Unasked,
    /// Somebody, by the pseudonym, or nobody.
    Given(Option<u64>),
}

/// With this field a test sees what a panic does.
#[cfg(debug_assertions)]
const X_TEST_PANIC: &str = "x-test-panic";

/// Decides about a request. An error of our own becomes a challenge, never a pass.
pub(crate) fn begin(
    connection: &Connection,
    request: &Request<'_>,
    given: Given<'_>,
    started: Instant,
) -> Next {
    let gate = &connection.worker.gate;
    let live = gate.live.load();
    let decide = || decide(connection, &live, request, given, started);
    let next = match live.setup.defences.has(Defence::Panic) {
        true => catch_unwind(AssertUnwindSafe(decide)),
        false => Ok(decide()),
    };
    let next = next.unwrap_or_else(|_| {
        gate.metrics.panics.inc();
        let page = live.pages.challenge_needed();
        match ask::is_call(connection, request) {
            true => Next::Message(ask::denial(page)),
            false => Next::Answer(page),
        }
    });
    match next {
        Next::Answer(page) if !live.setup.defences.has(Defence::NoStore) => {
            Next::Answer(cacheable(page))
        }
        next => next,
    }
}

/// A page that caches may keep: only in tests, to show that they would notice.
fn cacheable(mut page: Page) -> Page {
    page.headers
        .retain(|(name, _)| !["cache-control", "vary"].contains(name));
    page
}

/// The response to a request that is refused before it is decided about.
pub(crate) fn refuse(connection: &Connection, refusal: Refusal) -> Page {
    let refused = &connection.worker.gate.metrics.refused;
    refused.get_or_create(&[("reason", refusal.name())]).inc();
    refusal.page()
}

fn decide(
    connection: &Connection,
    live: &Arc<Live>,
    request: &Request<'_>,
    given: Given<'_>,
    started: Instant,
) -> Next {
    #[cfg(debug_assertions)]
    if request.headers.all_named(X_TEST_PANIC).next().is_some() {
        panic!("a test wants to see what happens");
    }
    let host = match check(request, &live.setup.defences) {
        Ok(host) => host,
        Err(refusal) => return Next::Answer(refuse(connection, refusal)),
    };
    match connection.role {
        Role::Proxy => {
            let gate = &connection.worker.gate;
            let unmarked = gate.unmark(live, request, &host, started);
            let clean = unmarked.as_ref().map(|unmarked| unmarked.request(request));
            let arrived = Arrived {
                request: clean.as_ref().unwrap_or(request),
                unmarked: unmarked.as_ref(),
                host: &host,
                started,
            };
            proxied(connection, live, &arrived, given)
        }
        Role::ForwardAuth | Role::Envoy => {
            ask::answer(connection, live, request, &host, given, started)
        }
    }
}

/// The robots.txt of a site with what the owner wants for robots, where it is known. Otherwise the site's own word goes out.
fn robots_txt(
    connection: &Connection,
    live: &Live,
    site: usize,
    facts: &Facts<'_>,
) -> Option<Page> {
    let is_read = matches!(*facts.method, Method::GET | Method::HEAD);
    let is_merged = live.setup.crawlers.robots_txt == RobotsTxt::Merged;
    // With a query or more slashes it is the same file for most servers.
    let is_file = || facts.path().trim_start_matches('/') == "robots.txt";
    if !is_merged || !is_read || !is_file() {
        return None;
    }
    let known = connection.worker.gate.robots_txt.load();
    let text = known.get(&live.setup.sites[site].key())?.clone();
    let page = Page::empty(200)
        .with("content-type", "text/plain; charset=utf-8")
        .with("cache-control", "max-age=3600");
    Some(Page {
        body: text.into(),
        ..page
    })
}

/// A request for a site, without the marker that it came with.
struct Arrived<'a> {
    request: &'a Request<'a>,
    unmarked: Option<&'a Unmarked>,
    host: &'a str,
    started: Instant,
}

/// The same for every link that does not open, so that nobody learns why.
fn lost_link() -> Page {
    Page::text(
        404,
        "This link is not valid, or no longer valid. Start from the front page of the site, or sign in again.\n",
    )
}

/// Tells the table of users about a link of a signed-in person that does not open. It leads to no page.
fn note_lost(gate: &Gate, entry: &Entry) {
    let Some(user) = entry.user else {
        return;
    };
    let request = UserRequest {
        at_ms: entry.time_ms,
        day: 0,
        user,
        page: 0,
        link: Link::Broken,
        referrer: None,
        client: Browser {
            agent: 0,
            session: 0,
        },
        loaded: Loaded::Redirect,
    };
    gate.users.tell(Told::Request(request), &gate.metrics);
}

fn proxied(
    connection: &Connection,
    live: &Arc<Live>,
    arrived: &Arrived<'_>,
    given: Given<'_>,
) -> Next {
    let (request, started) = (arrived.request, arrived.started);
    let Some(site) = live.setup.site(arrived.host) else {
        return Next::Answer(Page::text(421, "no site of this name is served here\n"));
    };
    let mut facts = Facts::of(connection, live, request, arrived.host, started);
    if let Some(unmarked) = arrived.unmarked {
        facts.marker = unmarked.marker.clone();
    }
    if let Some(name) = facts.path().strip_prefix(live.setup.prefix.as_str()) {
        return own_pages::answer(connection, live, &facts, name, given.body);
    }
    let judged = match wait::judge(connection, live, &mut facts, &given) {
        Ok(judged) => judged,
        Err(wait) => return Next::Wait(wait),
    };
    let mut entry = facts.entry(connection, live);
    judged.note(&mut entry);
    // A websocket is a request like any other.
    let is_open = request.is_websocket && !live.setup.defences.has(Defence::Upgrade);
    if judged.done != Decision::Pass && !is_open {
        let page = contain(&connection.worker.gate, live, &facts, &judged);
        entry.answered(&page);
        let worker = &connection.worker;
        worker.log(&entry, &facts.texts(), Instant::now());
        return Next::Answer(page);
    }
    let is_lost = arrived.unmarked.is_some_and(|unmarked| unmarked.is_lost);
    let own = match is_lost {
        true => Some(lost_link()),
        false => robots_txt(connection, live, site, &facts),
    };
    if let Some(page) = own {
        entry.answered(&page);
        let worker = &connection.worker;
        if is_lost && live.setup.paths.is_on {
            note_lost(&worker.gate, &entry);
        }
        worker.log(&entry, &facts.texts(), Instant::now());
        return Next::Answer(page);
    }
    let in_flight = InFlight::new(&connection.worker, entry, &facts.texts());
    let sender = facts.sender(connection, live);
    let decided = started + given.waited;
    let plan = Plan::of(&connection.worker.gate, live, &facts, request);
    match Forward::new(live, site, request, (&sender, plan), (in_flight, decided)) {
        Some(forward) => Next::Forward(Box::new(forward)),
        None => Next::Answer(Page::text(421, "this listener does not forward requests\n")),
    }
}
