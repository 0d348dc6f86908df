//! What a request waits for before it is decided about: the site's word about who is signed in, or its turn.
//!
//! `decide` waits for nothing. A request that must wait is begun again from its head with what came of it.

use std::mem::MaybeUninit;
use std::sync::Arc;
use std::time::Duration;
use std::time::Instant;

use cattlegrid_core::request::Source;
use cattlegrid_http1::Headers;
use cattlegrid_http1::Response;
use cattlegrid_http1::response;
use tokio::time::sleep;
use tokio::time::timeout;

use super::exchange::Given;
use super::exchange::SiteWord;
use crate::decide::Facts;
use crate::decide::Held;
use crate::decide::Judged;
use crate::decide::Unsettled;
use crate::decide::Who;
use crate::settings::sign_in::AskSetup;
use crate::settings::sign_in::TooFast;
use crate::settings::sign_in::Way;
use crate::settings::trust;
use crate::site::Ask;
use crate::site::Failure;
use crate::site::Outgoing;
use crate::site::SiteConnection;
use crate::site::request_head;
use crate::state::Connection;
use crate::state::Gate;
use crate::state::Live;
use crate::state::Worker;
use crate::state::sign_ins::Acquaintance;
use crate::state::sign_ins::Answer;
use crate::state::sign_ins::Begun;
use crate::state::sign_ins::Session;

/// How long the site has to answer. Requests wait for less; what comes later is there for the next one.
const PATIENCE: Duration = Duration::from_secs(10);
/// For how long a site that failed is not asked about the same session again.
const RETRY_AFTER: Duration = Duration::from_secs(2);
/// The longest name of a person.
const NAME_MAX: usize = 256;

/// What a request waits for.
#[derive(Debug)]
pub(crate) enum Wait {
    /// The site's word about a session.
    Word(Box<Question>),
    /// Its turn.
    Turn(Slowed),
}

/// A question to a site whether somebody is signed in.
#[derive(Debug)]
pub(crate) struct Question {
    unsettled: Unsettled,
    live: Arc<Live>,
    source: Source,
    /// As the site gets it.
    head: Vec<u8>,
}

/// A request that is held back. Its place is given back when this is dropped.
#[derive(Debug)]
pub(crate) struct Slowed {
    worker: Arc<Worker>,
    user: u64,
    seconds: u32,
}

impl Drop for Slowed {
    fn drop(&mut self) {
        self.worker.gate.sign_ins.release(self.user);
    }
}

/// Decides about a request, unless it must wait.
pub(super) fn judge(
    connection: &Connection,
    live: &Arc<Live>,
    facts: &mut Facts<'_>,
    given: &Given<'_>,
) -> Result<Judged, Wait> {
    let gate = &connection.worker.gate;
    facts.waited = given.waited;
    facts.user = match given.word {
        SiteWord::Given(answer) => answer,
        SiteWord::Unasked => match gate.who(live, facts) {
            Who::Nobody => None,
            Who::User(user) => Some(user),
            Who::Unknown(unsettled) => {
                let question = question(connection, live, facts, unsettled);
                return Err(Wait::Word(Box::new(question)));
            }
        },
    };
    let judged = gate.judge(live, facts);
    let slowed = (judged.held.zip(facts.user)).and_then(|held| hold(connection, live, held));
    if let Some(slowed) = slowed {
        return Err(Wait::Turn(slowed));
    }
    gate.count(facts, &judged);
    Ok(judged)
}

/// Takes a place among the requests that are held back.
fn hold(connection: &Connection, live: &Live, (held, user): (Held, u64)) -> Option<Slowed> {
    let TooFast::Slow { most, .. } = live.setup.sign_in.too_fast else {
        return None;
    };
    let worker = &connection.worker;
    worker.gate.sign_ins.hold(user, most).then(|| Slowed {
        worker: Arc::clone(worker),
        user,
        seconds: held.seconds,
    })
}

fn question(
    connection: &Connection,
    live: &Arc<Live>,
    facts: &Facts<'_>,
    unsettled: Unsettled,
) -> Question {
    let mut headers = Headers::new();
    headers.add(b"cookie", &unsettled.cookies);
    let path = match &live.setup.sign_in.way {
        Some(Way::Ask(setup)) => setup.path.as_str(),
        _ => "/",
    };
    let outgoing = Outgoing {
        method: "GET",
        target: path,
        host: facts.host.as_bytes(),
        headers: &headers,
        is_chunked: false,
        is_websocket: false,
    };
    let sender = facts.sender(connection, live);
    Question {
        head: request_head(&outgoing, &sender, &live.setup.defences),
        source: trust::source(facts.client),
        live: Arc::clone(live),
        unsettled,
    }
}

impl Wait {
    /// Waits, and gives what is known then.
    pub(super) async fn end<'a>(self, connection: &Connection, given: Given<'a>) -> Given<'a> {
        let began = Instant::now();
        let word = match self {
            Wait::Word(question) => SiteWord::Given(question.answer(&connection.worker).await),
            Wait::Turn(slowed) => {
                connection.worker.gate.metrics.slowed.inc();
                sleep(Duration::from_secs(slowed.seconds.into())).await;
                given.word
            }
        };
        Given {
            word,
            waited: given.waited + began.elapsed(),
            ..given
        }
    }
}

impl Question {
    /// The site's answer, if it comes in time.
    async fn answer(self, worker: &Arc<Worker>) -> Answer {
        let live = Arc::clone(&self.live);
        let Some(Way::Ask(setup)) = &live.setup.sign_in.way else {
            return None;
        };
        let (gate, session) = (&worker.gate, self.unsettled.session);
        let acquaintance = self.unsettled.acquaintance;
        let mut word = match gate.sign_ins.begin(session, acquaintance, setup.in_flight) {
            Begun::Joined(word) => word,
            Begun::First(tell, word) => {
                let asking = Asking {
                    worker: Arc::clone(worker),
                    session,
                };
                // It goes on when this request has stopped waiting, or its client has gone: the next one needs the answer.
                tokio::spawn(async move {
                    let answer = self.ask(&asking.worker).await;
                    drop(asking);
                    tell.send_replace(Some(answer));
                });
                word
            }
            Begun::Full => {
                gate.metrics.sign_in_asked("limited");
                return None;
            }
        };
        match timeout(setup.wait, word.wait_for(Option::is_some)).await {
            Ok(Ok(answer)) => answer.flatten(),
            Ok(Err(_)) => None,
            Err(_) => {
                gate.metrics.sign_in_asked("late");
                None
            }
        }
    }

    /// Asks the site, and remembers what it says.
    async fn ask(self, worker: &Worker) -> Answer {
        let Some(Way::Ask(setup)) = &self.live.setup.sign_in.way else {
            return None;
        };
        let gate = &worker.gate;
        let asked = timeout(PATIENCE, self.send(worker, setup)).await;
        let asked = asked.unwrap_or(Err(Failure::Late));
        let (session, now_ms) = (self.unsettled.session, gate.clock.steady_ms());
        let until =
            |time: Duration| now_ms + u64::try_from(time.as_millis()).unwrap_or(u64::MAX / 2);
        let (result, answer) = match asked {
            Ok(Some(user)) if !self.is_taken(gate, user) => {
                gate.sign_ins.note(session, None, until(setup.refused_for));
                ("limited", None)
            }
            Ok(Some(user)) => {
                gate.sign_ins
                    .note(session, Some(user), until(setup.good_for));
                ("signed_in", Some(user))
            }
            Ok(None) => {
                gate.sign_ins.note(session, None, until(setup.refused_for));
                ("refused", None)
            }
            Err(failure) => {
                tracing::warn!("cannot ask the site who is signed in: {failure}");
                gate.sign_ins.note_failure(session, until(RETRY_AFTER));
                ("failed", None)
            }
        };
        if answer.is_none() {
            // A site that failed may have failed over a made-up cookie.
            let policy = &self.live.policy;
            policy.count_refused_sign_in(self.source, gate.clock.now());
        }
        gate.metrics.sign_in_asked(result);
        answer
    }

    /// True where the answer about a person's session is remembered. One person has few new ones at a time.
    fn is_taken(&self, gate: &Gate, user: u64) -> bool {
        let (policy, time) = (&self.live.policy, gate.clock.now());
        self.unsettled.acquaintance == Acquaintance::Known || policy.takes_session_of(user, time)
    }

    async fn send(&self, worker: &Worker, setup: &AskSetup) -> Result<Answer, Failure> {
        let site = &self.live.setup.sites[self.unsettled.site];
        let Some(address) = &site.upstream else {
            return Ok(None);
        };
        let now = Instant::now();
        let ask = Ask {
            address,
            head: &self.head,
            started: now,
            body: None,
            is_safe: true,
        };
        let sent = worker
            .pool
            .send(ask, &self.live.setup.waits, |_| std::task::Poll::Pending);
        let (mut connection, length) = sent.await?;
        let mut space = [MaybeUninit::uninit(); response::HEADERS_MAX];
        let head = &connection.bytes()[..length];
        let response = response::read(head, false, &mut space).map_err(Failure::Invalid)?;
        if response.status >= 500 || response.status < 200 {
            return Err(Failure::Invalid(response::Invalid("an error of the site")));
        }
        let name = self.name(&response, setup);
        let user = name.map(|name| {
            let user = worker.gate.challenger.pseudonym(site.name(), &name);
            worker.gate.introduce(&self.live, user, &name);
            user
        });
        let (body, keeps_alive) = (response.body, response.keeps_alive);
        connection.begin(length, body, keeps_alive);
        if is_read(&mut connection) {
            worker.pool.put_back(address, connection, Instant::now());
        }
        Ok(user)
    }

    /// The person whom a response names.
    fn name(&self, response: &Response<'_>, setup: &AskSetup) -> Option<String> {
        if !(200..300).contains(&response.status) {
            return None;
        }
        let field = &setup.user_header;
        let headers = response.headers();
        let mut named = headers.filter(|header| header.name.eq_ignore_ascii_case(field));
        let (first, second) = (named.next()?, named.next());
        let name = first.value.trim_ascii();
        // Of two names none is believed.
        let is_sound = second.is_none() && (1..=NAME_MAX).contains(&name.len());
        is_sound.then(|| String::from_utf8_lossy(name).into_owned())
    }
}

/// True where a response has been read to its end: its body says nothing, and one that has not come is not waited for.
fn is_read(connection: &mut SiteConnection) -> bool {
    if connection.body.is_empty() {
        return true;
    }
    while !connection.bytes().is_empty() {
        let Ok((piece, _)) = connection.next_piece() else {
            return false;
        };
        connection.pass(piece.skipped + piece.length);
        if piece.is_last {
            return true;
        }
    }
    false
}

/// A question under way. However it ends, the session can be asked about again.
struct Asking {
    worker: Arc<Worker>,
    session: Session,
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.worker.gate.sign_ins.end(&self.session);
    }
}
