//! The gate's own pages: the files of a challenge, and answers to it. Those behind traps are in [`maze`].

use cattlegrid_core::paths::UserStanding;
use cattlegrid_core::request::Source;
use cattlegrid_http1::Method;

use super::exchange::Next;
use super::exchange::ReadBody;
use super::maze;
use crate::challenge::Earned;
use crate::challenge::Note;
use crate::challenge::Page;
use crate::challenge::Puzzle;
use crate::challenge::Question;
use crate::challenge::Reader;
use crate::challenge::Refusal;
use crate::challenge::Trap;
use crate::challenge::Turn;
use crate::challenge::Unanswered;
use crate::challenge::Visitor;
use crate::challenge::assets;
use crate::decide::Facts;
use crate::decide::ask_suspect;
use crate::decide::language;
use crate::settings::defence::Defence;
use crate::state::Connection;
use crate::state::Gate;
use crate::state::InFlight;
use crate::state::Live;

/// Bits by which the work of a challenge may fall behind what is owed when it is answered: others at the address go on meanwhile.
const SPARED_BITS: u8 = 2;

/// The longest answer to a challenge.
const BODY_MAX: usize = 4096;
const ANSWERS: [&str; 4] = ["answer", "back", "challenge", "question"];

/// True for the name of a page that the gate has.
pub(crate) fn has(name: &str) -> bool {
    ANSWERS.contains(&name) || assets::find(name).is_some() || Trap::of(name).is_some()
}

/// Answers a request below the gate's own prefix.
pub(crate) fn answer(
    connection: &Connection,
    live: &Live,
    facts: &Facts<'_>,
    name: &str,
    body: ReadBody<'_>,
) -> Next {
    if let Some(trap) = Trap::of(name) {
        return maze::answer(connection, live, facts, trap);
    }
    let page = match (facts.method, name, body) {
        (&Method::GET | &Method::HEAD, "answer" | "question", _)
            if !live.setup.defences.has(Defence::PostOnly) =>
        {
            answered_by_address(connection, live, facts, name)
        }
        // Who loads the page of a question again, or opens it from somewhere else.
        (&Method::GET | &Method::HEAD, "question" | "back", _) => live.pages.led_back("/"),
        (&Method::GET | &Method::HEAD, name, _) => asset(name),
        (&Method::POST, name, body) if ANSWERS.contains(&name) => match (name, body) {
            (_, ReadBody::Unread) => return Next::ReadBody(BODY_MAX),
            (_, ReadBody::Failed) => {
                Page::text(400, "request body too long, too late or incomplete\n")
            }
            ("answer", ReadBody::Read(body)) => solved(connection, live, facts, body),
            ("challenge", ReadBody::Read(body)) => challenge(connection, live, facts, body),
            ("back", ReadBody::Read(body)) => back(&connection.worker.gate, live, facts, body),
            (_, ReadBody::Read(body)) => question(&connection.worker.gate, live, facts, body),
        },
        _ => no_page(),
    };
    finish(connection, live, facts, page)
}

/// What a page would do that takes answers from its address, as any link or image of another site could send them.
fn answered_by_address(
    connection: &Connection,
    live: &Live,
    facts: &Facts<'_>,
    name: &str,
) -> Page {
    let query = facts.target.split_once('?').map_or("", |(_, query)| query);
    match name {
        "answer" => solved(connection, live, facts, query.as_bytes()),
        _ => question(&connection.worker.gate, live, facts, query.as_bytes()),
    }
}

/// Counts and logs a response of the gate's own.
pub(super) fn finish(connection: &Connection, live: &Live, facts: &Facts<'_>, page: Page) -> Next {
    connection.worker.gate.metrics.own.inc();
    let entry = facts.entry(connection, live);
    InFlight::new(&connection.worker, entry, &facts.texts()).answered(&page);
    Next::Answer(page)
}

pub(super) fn no_page() -> Page {
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

/// Counts a solution: the next one of its source and network costs more.
fn count_solution(live: &Live, source: Source, time: u32) {
    if live.setup.defences.has(Defence::SolvedCounts) {
        live.policy.count_solution(source, time);
    }
}

/// Pages for which an answer earns a clearance. Work is measured at the address that asked: an unused one is asked for little, so that what is
/// answered elsewhere for much less than is owed there buys what an unknown source may have.
fn earned_pages(gate: &Gate, live: &Live, visitor: &Visitor<'_>, body: &[u8]) -> u32 {
    let limits = &live.policy.limits;
    let given = live.policy.solutions(visitor.source, gate.clock.now());
    let budget = limits.clearance_budget(given.most());
    let owed = gate.terms(live, visitor, None).bits;
    let is_spared = gate.challenger.bits_of(body).saturating_add(SPARED_BITS) < owed;
    match is_spared && live.setup.defences.has(Defence::WorkOwed) {
        true => budget.min(limits.k1.max(1)),
        false => budget,
    }
}

/// Checks an answer to a challenge, and gives a clearance for it.
fn solved(connection: &Connection, live: &Live, facts: &Facts<'_>, body: &[u8]) -> Page {
    let gate = &connection.worker.gate;
    let visitor = facts.visitor();
    let time = gate.clock.now();
    let pages = earned_pages(gate, live, &visitor, body);
    let cookies: Vec<&[u8]> = facts.cookies().collect();
    let cookies = cookies.iter().copied();
    match gate
        .challenger
        .answer(&visitor, body, cookies, pages, gate.moment())
    {
        Ok(solved) => {
            if solved.earned == Earned::New {
                count_solution(live, visitor.source, time);
            }
            gate.metrics.solved.inc();
            if let Some(user) = gate.challenger.suspect_of(body) {
                gate.users.solved(user);
            }
            let page = live.pages.solved(&solved);
            page.with_cookie(Some(solved.set_cookie))
        }
        Err(refusal) => {
            gate.metrics.answer_refused(refusal.name());
            // Any page can make its visitors send an answer.
            if refusal.is_evidence() && !facts.is_led() {
                gate.count_failure(visitor.source);
            }
            live.pages.refused(refusal)
        }
    }
}

/// Checks the answer to a question, and gives a small clearance for it and the way back. Whatever does not count leads to the question
/// again, or to a new one.
fn question(gate: &Gate, live: &Live, facts: &Facts<'_>, body: &[u8]) -> Page {
    if let Some(user) = gate.challenger.suspect_of(body) {
        return suspects_answer(gate, live, facts, body, user);
    }
    let (policy, time) = (&live.policy, gate.clock.now());
    if policy.limits.question_pages == 0 {
        return no_page();
    }
    // Whoever is denied has to do more than that.
    if gate.can_be_lifted(facts.visitor().source) {
        return back(gate, live, facts, body);
    }
    if gate.challenger.asks_for_other(body) {
        return new_question(gate, live, facts, body, Note::None);
    }
    let (visitor, language) = (facts.visitor(), language(facts.headers));
    let given = policy.solutions(visitor.source, time).most();
    let cookies: Vec<&[u8]> = facts.cookies().collect();
    let turn = Turn {
        wait_seconds: policy.limits.question_seconds,
        take: || match live.setup.defences.has(Defence::QuestionTurns) {
            true => policy.take_question(visitor.source, time),
            false => Ok(()),
        },
    };
    let answered = gate.challenger.answer_question(
        &visitor,
        (body, language),
        cookies.iter().copied(),
        policy.limits.question_budget(given),
        gate.moment(),
        turn,
    );
    let again = |asked: Question, wait: u32, note: Note| {
        let token = gate.challenger.token_of(body);
        live.pages.question(language, (token, asked), wait, note)
    };
    match answered {
        Ok(solved) => {
            if solved.earned == Earned::New {
                count_solution(live, visitor.source, time);
            }
            gate.metrics.solved.inc();
            gate.metrics.questions_answered.inc();
            let page = live.pages.led_back(&solved.return_to);
            page.with_cookie(Some(solved.set_cookie))
        }
        Err(Unanswered::Wrong(asked)) => {
            gate.metrics.answer_refused("wrong");
            again(asked, gate.question_wait(live, visitor.source), Note::Wrong)
        }
        Err(Unanswered::TooSoon(asked, seconds)) => {
            gate.metrics.answer_refused("too_soon");
            again(asked, seconds, Note::Early)
        }
        Err(Unanswered::Refused(refusal)) => {
            gate.metrics.answer_refused(refusal.name());
            refused_question(gate, live, facts, body, refusal)
        }
    }
}

/// Checks the answer of a signed-in person who is a suspect. The right one makes a normal user, and earns no clearance: nobody who is signed
/// in needs one.
fn suspects_answer(gate: &Gate, live: &Live, facts: &Facts<'_>, body: &[u8], user: u64) -> Page {
    let (visitor, language) = (facts.visitor(), language(facts.headers));
    let return_to = gate.challenger.return_of(body);
    // Whoever was late gets more time.
    let ask_again = |note: Note| {
        let seconds = live.setup.challenge_seconds;
        ask_suspect(gate, live, facts, (Some(user), seconds), (&return_to, note))
    };
    if !matches!(gate.users.standing(user), UserStanding::Suspect(_)) {
        return live.pages.led_back(&return_to);
    }
    if gate.challenger.asks_for_other(body) {
        return ask_again(Note::None);
    }
    if let Err(seconds) = live.policy.take_answer_of(user, gate.clock.now()) {
        gate.metrics.answer_refused("too_soon");
        return live.pages.throttle(Reader::Person(language), seconds, "");
    }
    let cookies: Vec<&[u8]> = facts.cookies().collect();
    let answered = gate.challenger.answer_question(
        &visitor,
        (body, language),
        cookies.iter().copied(),
        0,
        gate.moment(),
        Turn {
            wait_seconds: 0,
            take: || Ok(()),
        },
    );
    match answered {
        Ok(solved) => {
            gate.users.solved(user);
            gate.metrics.solved.inc();
            gate.metrics.questions_answered.inc();
            live.pages.led_back(&solved.return_to)
        }
        Err(Unanswered::Refused(refusal)) => {
            gate.metrics.answer_refused(refusal.name());
            match refusal {
                Refusal::NoCookie => live.pages.cookies_needed(language, &return_to),
                _ => ask_again(Note::New),
            }
        }
        Err(Unanswered::Wrong(_) | Unanswered::TooSoon(..)) => {
            gate.metrics.answer_refused("wrong");
            ask_again(Note::Wrong)
        }
    }
}

/// What follows where the question of an answer is void: the way back for who is cleared by now, a page about cookies, or another question.
fn refused_question(
    gate: &Gate,
    live: &Live,
    facts: &Facts<'_>,
    body: &[u8],
    refusal: Refusal,
) -> Page {
    let return_to = gate.challenger.return_of(body);
    let known = gate.clearance(facts);
    // A form that was sent twice.
    if known.is_some_and(|known| gate.is_good(live, &known, facts.visitor().source)) {
        return live.pages.led_back(&return_to);
    }
    match refusal {
        Refusal::NoCookie => live
            .pages
            .cookies_needed(language(facts.headers), &return_to),
        _ => new_question(gate, live, facts, body, Note::New),
    }
}

/// A new challenge for a visitor, which leads back to a page.
fn minted(gate: &Gate, live: &Live, facts: &Facts<'_>, return_to: &str) -> Puzzle {
    gate.metrics.challenges.inc();
    let visitor = facts.visitor();
    let terms = gate.terms(live, &visitor, gate.clearance(facts).as_ref());
    let (page, cookies) = (return_to.as_bytes(), facts.cookies());
    gate.challenger
        .mint(&visitor, page, terms, cookies, gate.moment())
}

/// A new question for who came from a challenge of ours.
fn new_question(gate: &Gate, live: &Live, facts: &Facts<'_>, body: &[u8], note: Note) -> Page {
    let visitor = facts.visitor();
    let return_to = gate.challenger.return_of(body);
    let puzzle = minted(gate, live, facts, &return_to);
    let wait = gate.question_wait(live, visitor.source);
    let asked = (puzzle.token.as_str(), puzzle.question);
    let page = live
        .pages
        .question(language(facts.headers), asked, wait, note);
    page.with_cookie(puzzle.set_cookie)
}

/// The harder challenge for a person at an address that is denied, or the page first asked for where that is done already.
fn back(gate: &Gate, live: &Live, facts: &Facts<'_>, body: &[u8]) -> Page {
    let visitor = facts.visitor();
    let return_to = gate.challenger.return_of(body);
    let known = gate.clearance(facts);
    let is_denied = gate.can_be_lifted(visitor.source);
    if !is_denied || known.is_some_and(|known| gate.is_good(live, &known, visitor.source)) {
        return live.pages.led_back(&return_to);
    }
    let puzzle = minted(gate, live, facts, &return_to);
    let page = live
        .pages
        .challenge(language(facts.headers), &puzzle, None, "");
    page.with_cookie(puzzle.set_cookie)
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
    let puzzle = minted(gate, live, facts, &return_to);
    let page = live.pages.puzzle(&puzzle);
    page.with_cookie(puzzle.set_cookie)
}
