//! The gate's own pages: the files of a challenge, and answers to it.

use cattlegrid_http1::Method;

use super::exchange::Next;
use super::exchange::ReadBody;
use crate::challenge::Earned;
use crate::challenge::Page;
use crate::challenge::assets;
use crate::decide::Facts;
use crate::state::Connection;
use crate::state::InFlight;
use crate::state::Live;

/// The longest answer to a challenge.
const BODY_MAX: usize = 4096;
const ANSWERS: [&str; 2] = ["answer", "challenge"];

/// True for the name of a page that the gate has.
pub(crate) fn has(name: &str) -> bool {
    ANSWERS.contains(&name) || assets::find(name).is_some()
}

/// Answers a request below the gate's own prefix.
pub(crate) fn answer(
    connection: &Connection,
    live: &Live,
    facts: &Facts<'_>,
    name: &str,
    body: ReadBody<'_>,
) -> Next {
    let page = match (facts.method, name, body) {
        (&Method::GET | &Method::HEAD, name, _) => asset(name),
        (&Method::POST, "answer" | "challenge", ReadBody::Unread) => {
            return Next::ReadBody(BODY_MAX);
        }
        (&Method::POST, "answer", ReadBody::Read(body)) => solved(connection, live, facts, body),
        (&Method::POST, "challenge", ReadBody::Read(body)) => {
            challenge(connection, live, facts, body)
        }
        (&Method::POST, "answer" | "challenge", ReadBody::Failed) => {
            Page::text(400, "request body too long, too late or incomplete\n")
        }
        _ => no_page(),
    };
    connection.worker.gate.metrics.own.inc();
    let entry = facts.entry(connection, live);
    InFlight::new(&connection.worker, entry, &facts.texts()).answered(&page);
    Next::Answer(page)
}

fn no_page() -> Page {
    Page::text(404, "not found\n")
}

fn asset(name: &str) -> Page {
    let asset = assets::find(name);
    let Some((asset, text)) =
        asset.and_then(|asset| Some((asset, str::from_utf8(asset.bytes).ok()?)))
    else {
        return no_page();
    };
    let mut page = Page::empty(200)
        .with("content-type", asset.content_type)
        .with("cache-control", asset.cache_control)
        .with("x-content-type-options", "nosniff");
    page.body = text.into();
    page
}

/// Checks an answer to a challenge, and gives a clearance for it.
fn solved(connection: &Connection, live: &Live, facts: &Facts<'_>, body: &[u8]) -> Page {
    let gate = &connection.worker.gate;
    let visitor = facts.visitor();
    let (policy, time) = (&live.policy, gate.clock.now());
    let given = policy.solutions(visitor.source, time).most();
    let pages = policy.limits.clearance_budget(given);
    let cookies: Vec<&[u8]> = facts.cookies().collect();
    let cookies = cookies.iter().copied();
    match gate
        .challenger
        .answer(&visitor, body, cookies, pages, gate.moment())
    {
        Ok(solved) => {
            if solved.earned == Earned::New {
                policy.count_solution(visitor.source, time);
            }
            gate.metrics.solved.inc();
            let page = live.pages.solved(&solved);
            page.with_cookie(Some(solved.set_cookie))
        }
        Err(refusal) => {
            gate.metrics
                .answers_refused
                .get_or_create(&[("reason", refusal.name())])
                .inc();
            if refusal.is_evidence() {
                gate.count_failure(visitor.source);
            }
            live.pages.refused(refusal)
        }
    }
}

/// Another challenge for a page that waits for one, or its way back where the browser has a clearance by now.
fn challenge(connection: &Connection, live: &Live, facts: &Facts<'_>, body: &[u8]) -> Page {
    let gate = &connection.worker.gate;
    let visitor = facts.visitor();
    let return_to = gate.challenger.return_of(body);
    let known = gate.clearance(facts);
    if known.is_some_and(|known| gate.is_good(live, &known, visitor.source)) {
        return live.pages.cleared(&return_to);
    }
    let terms = gate.terms(live, visitor.source, known.as_ref());
    gate.metrics.challenges.inc();
    let puzzle = gate.challenger.mint(
        &visitor,
        return_to.as_bytes(),
        terms,
        facts.cookies(),
        gate.moment(),
    );
    let page = live.pages.puzzle(&puzzle);
    page.with_cookie(puzzle.set_cookie)
}
