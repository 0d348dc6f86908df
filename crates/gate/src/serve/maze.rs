//! The slow pages behind traps: only for those to whom the link was shown, a few at a time, and never for long.
//!
//! Whoever was led there by another site, by a prefetch or by a link that was shown to somebody else gets 404, and nothing is said about it.

use std::time::Instant;

use cattlegrid_http1::Headers;
use cattlegrid_http1::Method;
use cattlegrid_http1::Name;
use cattlegrid_http1::host;

use super::exchange::Next;
use super::own_pages;
use crate::challenge::Maze;
use crate::challenge::Page;
use crate::challenge::Trap;
use crate::decide::Facts;
use crate::decide::language;
use crate::settings::TrapLinks;
use crate::settings::defence::Defence;
use crate::state::Connection;
use crate::state::InFlight;
use crate::state::Live;
use crate::state::log::Outcome;
use crate::state::slots::Slot;

/// Header fields of requests that nobody has made by following a link.
const PREFETCH: [&str; 4] = ["sec-purpose", "purpose", "x-purpose", "x-moz"];

/// A page that comes in a while. Dropped before that, it frees its slot and is logged as one whose client has gone.
#[derive(Debug)]
pub(crate) struct Later {
    page: Page,
    due: Instant,
    in_flight: InFlight,
    _slot: Slot,
}

impl Later {
    /// Waits until the page is due, or the gate stops.
    pub(crate) async fn wait(&self, connection: &Connection) {
        if self.due <= Instant::now() {
            return;
        }
        let mut stop = connection.stop.clone();
        let due = tokio::time::Instant::from_std(self.due);
        tokio::select! {
            () = tokio::time::sleep_until(due) => {}
            _ = stop.wait_for(|stop| *stop) => {}
        }
    }

    /// The page.
    pub(crate) fn page(mut self) -> Page {
        self.in_flight.answered(&self.page);
        std::mem::replace(&mut self.page, Page::empty(200))
    }
}

/// Why a page behind a trap is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refused {
    /// The link was not shown to this client, is too old or was made up.
    NotShown,
    /// The client was led there, and has not followed the link.
    Led,
    /// There is no room.
    Full(&'static str),
}

impl Refused {
    fn name(self) -> &'static str {
        match self {
            Refused::NotShown => "not_shown",
            Refused::Led => "led",
            Refused::Full(what) => what,
        }
    }

    fn page(self) -> Page {
        match self {
            Refused::NotShown | Refused::Led => own_pages::no_page(),
            Refused::Full(_) => Page::empty(403).with("cache-control", "no-store"),
        }
    }
}

/// Answers a request for a page behind a trap.
pub(super) fn answer(
    connection: &Connection,
    live: &Live,
    facts: &Facts<'_>,
    trap: Trap<'_>,
) -> Next {
    let gate = &connection.worker.gate;
    match enter(connection, live, facts, trap) {
        Ok(later) => {
            gate.metrics.trap_pages.inc();
            Next::Later(Box::new(later))
        }
        Err(refused) => {
            gate.metrics.trap_refused(refused.name());
            own_pages::finish(connection, live, facts, refused.page())
        }
    }
}

fn enter(
    connection: &Connection,
    live: &Live,
    facts: &Facts<'_>,
    trap: Trap<'_>,
) -> Result<Later, Refused> {
    let (gate, setup) = (&connection.worker.gate, &live.setup);
    let visitor = facts.visitor();
    let time = u64::from(gate.clock.at(facts.started));
    let is_shown = setup.traps.links != TrapLinks::Never
        && (gate.challenger.has_trapped(trap, &visitor, time)
            || !setup.defences.has(Defence::TrapBinding));
    if !is_shown {
        return Err(Refused::NotShown);
    }
    let is_followed = *facts.method == Method::GET && !is_led(facts.headers, facts.host);
    if !is_followed && setup.defences.has(Defence::TrapLed) {
        return Err(Refused::Led);
    }
    // Whoever else comes has more right to a connection.
    if gate.is_crowded(setup) {
        return Err(Refused::Full("connections"));
    }
    let maze = Maze {
        prefix: &setup.prefix,
        language: language(facts.headers),
    };
    let page = maze.page(trap);
    let slot = gate
        .slots
        .take(visitor.source, page.body.len(), &setup.traps, facts.started)
        .map_err(|full| Refused::Full(full.name()))?;
    let mut entry = facts.entry(connection, live);
    entry.outcome = Outcome::Trap;
    Ok(Later {
        page,
        due: facts.started + setup.traps.delay,
        in_flight: InFlight::new(&connection.worker, entry, &facts.texts()),
        _slot: slot,
    })
}

/// True where somebody else's page, a frame, an image or a prefetch has led the client there.
fn is_led(headers: &Headers<'_>, site: &str) -> bool {
    let is_prefetch = PREFETCH
        .iter()
        .any(|name| headers.all_named(name).next().is_some());
    // Programs that drive a browser open addresses as if they were typed: `none`.
    let is_foreign = headers
        .all(Name::SecFetchSite)
        .any(|from| !matches!(from, b"same-origin" | b"none"));
    let is_part = headers
        .all(Name::SecFetchDest)
        .any(|kind| kind != b"document");
    // Older browsers say no more than this.
    let is_elsewhere = headers
        .all(Name::Referer)
        .any(|referrer| !referrer.is_empty() && !is_of(referrer, site));
    is_prefetch || is_foreign || is_part || is_elsewhere
}

/// True for the address of a page of this site.
fn is_of(referrer: &[u8], site: &str) -> bool {
    let rest = referrer
        .strip_prefix(b"https://")
        .or_else(|| referrer.strip_prefix(b"http://"));
    let name = rest.and_then(|rest| rest.split(|byte| matches!(byte, b'/' | b'?' | b'#')).next());
    name.and_then(host::canonical)
        .is_some_and(|name| name == site)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h072_only_links_that_are_followed_count() {
        let check = |fields: &[(&str, &str)], expected: bool| {
            let mut headers = Headers::new();
            for (name, value) in fields {
                headers.add(name.as_bytes(), value.as_bytes());
            }
            assert_eq!(is_led(&headers, "www.example.org"), expected, "{fields:?}");
        };
        check(&[], false);
        let own = "https://www.example.org/page";
        check(
            &[
                ("sec-fetch-site", "same-origin"),
                ("sec-fetch-dest", "document"),
                ("referer", own),
            ],
            false,
        );
        check(
            &[("sec-fetch-site", "none"), ("sec-fetch-dest", "document")],
            false,
        );
        check(&[("referer", "http://www.example.org:8080/page?x")], false);
        check(&[("referer", "")], false);
        check(&[("sec-fetch-site", "cross-site")], true);
        check(&[("sec-fetch-site", "same-site")], true);
        for kind in ["image", "iframe", "style", "empty", "object"] {
            check(
                &[("sec-fetch-site", "same-origin"), ("sec-fetch-dest", kind)],
                true,
            );
        }
        check(
            &[("sec-purpose", "prefetch;prerender"), ("referer", own)],
            true,
        );
        check(&[("purpose", "prefetch")], true);
        check(&[("x-moz", "prefetch")], true);
        check(&[("referer", "https://attacker.example/")], true);
        check(
            &[("referer", "https://www.example.org.attacker.example/")],
            true,
        );
        check(&[("referer", "about:client")], true);
    }
}
