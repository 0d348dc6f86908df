//! The pages that a request gets which does not pass.

use cattlegrid_core::knowledge::is_text_browser;
use cattlegrid_core::policy::Decision;
use cattlegrid_core::policy::Named;
use cattlegrid_core::policy::Reason;
use cattlegrid_http1::Headers;
use cattlegrid_http1::Method;
use cattlegrid_http1::Name;

use super::Facts;
use super::Judged;
use crate::challenge::BlockedBy;
use crate::challenge::Language;
use crate::challenge::Note;
use crate::challenge::Page;
use crate::challenge::Reader;
use crate::challenge::Suspected;
use crate::challenge::Terms;
use crate::settings::RobotsTxt;
use crate::settings::TrapLinks;
use crate::settings::defence::Defence;
use crate::state::Gate;
use crate::state::Live;

/// The gate's own response to a request that does not pass.
pub(crate) fn contain(gate: &Gate, live: &Live, facts: &Facts<'_>, judged: &Judged) -> Page {
    let reader = match live.setup.defences.has(Defence::Reader) {
        true => reader(facts),
        false => Reader::Person(Language::default()),
    };
    let number = judged.incident.map(|incident| incident.to_string());
    let number = number.unwrap_or_default();
    match judged.done {
        Decision::Block => {
            let trap = trap(gate, live, facts, judged, reader);
            block(gate, live, facts, judged, (reader, &number, &trap))
        }
        Decision::Throttle => {
            let seconds = judged.decided.retry_after;
            live.pages.throttle(reader, seconds, &number)
        }
        Decision::Challenge | Decision::Pass => match reader {
            Reader::Program => live.pages.challenge_needed(),
            Reader::Person(_) if judged.decided.reason == Reason::SuspectUser => {
                let seconds = live.setup.paths.challenge_seconds;
                let target = facts.target;
                ask_suspect(
                    gate,
                    live,
                    facts,
                    (facts.user, seconds),
                    (target, Note::None),
                )
            }
            Reader::Person(language) => {
                gate.metrics.challenges.inc();
                let visitor = facts.visitor();
                let terms = gate.terms(live, &visitor, judged.clearance.as_ref());
                let puzzle = gate.challenger.mint(
                    &visitor,
                    facts.target.as_bytes(),
                    terms,
                    facts.cookies(),
                    gate.moment(),
                );
                let wait = match live.policy.limits.question_pages {
                    0 => None,
                    _ => Some(gate.question_wait(live, visitor.source)),
                };
                let trap = trap(gate, live, facts, judged, reader);
                let page = live.pages.challenge(language, &puzzle, wait, &trap);
                page.with_cookie(puzzle.set_cookie)
            }
        },
    }
}

/// A question for a signed-in person who is a suspect: work alone, which a program does as well, is not enough.
pub(crate) fn ask_suspect(
    gate: &Gate,
    live: &Live,
    facts: &Facts<'_>,
    (user, seconds): (Option<u64>, u32),
    (return_to, note): (&str, Note),
) -> Page {
    gate.metrics.challenges.inc();
    // A number of 0 is as likely as any, and none of a suspect.
    let user = user.unwrap_or(0).max(1);
    let puzzle = gate.challenger.mint(
        &facts.visitor(),
        return_to.as_bytes(),
        Terms::of_suspect(Suspected { user, seconds }),
        facts.cookies(),
        gate.moment(),
    );
    let asked = (puzzle.token.as_str(), puzzle.question);
    let page = live
        .pages
        .suspect(language(facts.headers), asked, seconds, note);
    page.with_cookie(puzzle.set_cookie)
}

/// The page for who is refused, with a way back where the program and not the owner said so.
fn block(
    gate: &Gate,
    live: &Live,
    facts: &Facts<'_>,
    judged: &Judged,
    (reader, number, trap): (Reader, &str, &str),
) -> Page {
    let by = match judged.decided.reason {
        Reason::OwnersRule | Reason::OwnersEntry | Reason::Declared => BlockedBy::Owner,
        _ => BlockedBy::Traffic,
    };
    let visitor = facts.visitor();
    // A harder challenge does not help against a rule.
    let may_lift = matches!(reader, Reader::Person(_))
        && judged.decided.reason == Reason::Entry
        && gate.can_be_lifted(visitor.source);
    let way_back = may_lift.then(|| {
        let (target, terms) = (facts.target, gate.terms(live, &visitor, None));
        let cookies = facts.cookies();
        gate.challenger
            .mint(&visitor, target.as_bytes(), terms, cookies, gate.moment())
    });
    let page = live
        .pages
        .block(reader, by, number, way_back.as_ref(), trap);
    page.with_cookie(way_back.and_then(|puzzle| puzzle.set_cookie))
}

/// The link of a trap for who is contained as a crawler, where robots.txt forbids it; else nothing. Robots under the
/// names of known operators do not see it, unless the name was found wrong: a name server may be slow to say that they are right.
fn trap(gate: &Gate, live: &Live, facts: &Facts<'_>, judged: &Judged, reader: Reader) -> String {
    let Reader::Person(language) = reader else {
        return String::new();
    };
    let reason = judged.decided.reason;
    let is_named = match live.crawlers.named(facts.agent()) {
        Some(Named::Robot(number)) => {
            reason != Reason::Disproved
                && live.crawlers.has_operator(number)
                && live.setup.defences.has(Defence::TrapNames)
        }
        Some(Named::Tool) | None => false,
    };
    if !is_crawlers(reason) || is_named || !is_forbidden(gate, live, facts) {
        return String::new();
    }
    gate.metrics.trap_links.inc();
    let token = gate.challenger.trap(&facts.visitor(), gate.moment().unix);
    live.pages.trap_link(language, &token)
}

/// True for reasons that lie in what a client does. The owner's own word needs no evidence.
fn is_crawlers(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::Disproved
            | Reason::Entry
            | Reason::Suspicious
            | Reason::ManyPages
            | Reason::TooManyPages
            | Reason::ManyPagesOfNetwork
            | Reason::ManyPagesOfGroup
    )
}

/// True where robots.txt forbids traps: the one that the gate serves, or the owner's by the owner's word.
fn is_forbidden(gate: &Gate, live: &Live, facts: &Facts<'_>) -> bool {
    let setup = &live.setup;
    match setup.traps.links {
        TrapLinks::Never => false,
        TrapLinks::Always => true,
        TrapLinks::Merged => {
            let site = setup.site(facts.host).map(|site| setup.sites[site].key());
            setup.crawlers.robots_txt == RobotsTxt::Merged
                && facts.shows_response()
                && site.is_some_and(|site| gate.robots_txt.load().contains_key(&site))
        }
    }
}

/// The reader of a response: a person who loads a page, or a program.
fn reader(facts: &Facts<'_>) -> Reader {
    let headers = facts.headers;
    let is = |name: Name, value: &[u8]| headers.get(name).is_some_and(|sent| sent == value);
    // Nobody can solve a challenge on a websocket, whatever its request accepts.
    let may_load = *facts.method == Method::GET && !headers.has(Name::SecWebsocketKey);
    let is_load = accepts_html(headers)
        && headers
            .get(Name::SecFetchDest)
            .is_none_or(|sent| matches!(sent, b"document" | b"iframe" | b"frame"))
        && !is(Name::HxRequest, b"true")
        && !is(Name::XRequestedWith, b"XMLHttpRequest");
    // Some old browsers send no Accept, and text browsers one without HTML: a request for a page gets a page all the same.
    let is_bare = (!headers.has(Name::Accept) || is_text_browser(facts.agent()))
        && cattlegrid_core::profile::is_page(b"GET", facts.target.as_bytes());
    match may_load && (is_load || is_bare) {
        true => Reader::Person(language(headers)),
        false => Reader::Program,
    }
}

/// The reader of a page that tells why the site did not respond.
pub(crate) fn reader_of_failure(headers: &Headers<'_>) -> Reader {
    match accepts_html(headers) {
        true => Reader::Person(language(headers)),
        false => Reader::Program,
    }
}

pub(super) fn accepts_html(headers: &Headers<'_>) -> bool {
    headers
        .all(Name::Accept)
        .any(|value| memchr::memmem::find(value, b"text/html").is_some())
}

/// The language of pages for a client.
pub(crate) fn language(headers: &Headers<'_>) -> Language {
    let accepted = headers.get(Name::AcceptLanguage).unwrap_or(b"");
    Language::accepted(accepted).unwrap_or_default()
}
