//! Mints challenges, judges answers and knows clearances.

use std::io;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::sync::RwLock;
use std::sync::RwLockReadGuard;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use cattlegrid_core::request::Source;
use sha2::Digest;
use sha2::Sha256;

use super::answer;
use super::answer::Answer;
use super::answer::Refusal;
use super::clearance;
use super::clearance::Clearance;
use super::cookies;
use super::defence::Defence;
use super::defence::Guards;
use super::keys::Keys;
use super::keys::MAC_BYTES;
use super::keys::Purpose;
use super::language::Language;
use super::question;
use super::question::Question;
use super::random::Random;
use super::return_to::return_to;
use super::spent::Spent;
use super::token::Token;
use super::visitor::Moment;
use super::visitor::Visitor;
use super::work;

/// A challenge that seems minted later than this is not ours to accept.
const SKEW_MS: u64 = 120_000;
/// The asker's cookie outlives any challenge; all tabs of a browser share it.
const ASKER_SECONDS: u64 = 86_400;
const ASKER_VERSION: u8 = 1;
const ASKER_HEAD_BYTES: usize = 18;
const ASKER_BYTES: usize = ASKER_HEAD_BYTES + MAC_BYTES;

/// How challenges and clearances are given out.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The gate's own paths begin with it; nobody is led back there.
    pub prefix: String,
    /// Seconds in which an answer must come. Slow phones need some.
    pub answer_seconds: u32,
    /// Hours for which a clearance is good.
    pub clearance_hours: u16,
    /// What a clearance is bound to.
    pub binding: Binding,
    /// Answered challenges that are remembered, at about 45 bytes each. When there are more the time to answer shortens.
    pub spent_max: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            prefix: "/.cattlegrid/".to_owned(),
            answer_seconds: 300,
            clearance_hours: 24,
            binding: Binding::Agent,
            spent_max: 1 << 17,
        }
    }
}

/// What a clearance is bound to, besides the site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binding {
    /// The agent. Phones change networks, and a shared cookie shares one budget, so it buys nothing.
    Agent,
    /// The agent and the /24 or /48 network of the address that answered.
    Network,
}

/// A new challenge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Puzzle {
    /// Comes back with the answer.
    pub token: String,
    /// What is hashed, in hex.
    pub seed: String,
    /// Difficulty: 2 to this power is the number of hashes to expect.
    pub bits: u8,
    /// What a browser that cannot do the work is asked instead.
    pub question: Question,
    /// A `Set-Cookie` value to send along, where the browser has no cookie of ours yet.
    pub set_cookie: Option<String>,
}

/// What a challenge asks for, and what for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// Difficulty: 2 to this power is the number of hashes to expect.
    pub bits: u8,
    /// The clearance that it confirms in another network; a new one is earned where there is none.
    pub confirms: Option<u64>,
    /// Pages for which the new clearance is good in spite of a learned denial; 0 where none is lifted.
    pub lifted_pages: u32,
    /// It is for a signed-in person who is a suspect: only the answer to its question counts.
    pub suspect: Option<Suspected>,
}

/// A signed-in person who is a suspect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Suspected {
    /// The number of the user, never 0.
    pub user: u64,
    /// Seconds in which the answer must come.
    pub seconds: u32,
}

impl Terms {
    /// The terms for a suspect. No work is asked for.
    pub fn of_suspect(suspect: Suspected) -> Terms {
        Terms {
            bits: 1,
            confirms: None,
            lifted_pages: 0,
            suspect: Some(suspect),
        }
    }
}

/// What an answer earned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Earned {
    /// A new clearance.
    New,
    /// A clearance of before is at home in one more network.
    Confirmed,
}

/// Why an answer to a question does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unanswered {
    /// The question can no longer be answered, or not by this visitor: a new one is due.
    Refused(Refusal),
    /// It is no number, or the wrong one. The same question can be answered again.
    Wrong(Question),
    /// It is right, and counts in so many seconds.
    TooSoon(Question, u32),
}

impl From<Refusal> for Unanswered {
    fn from(refusal: Refusal) -> Unanswered {
        Unanswered::Refused(refusal)
    }
}

/// When an answer to a question counts, besides being right.
#[derive(Debug)]
pub struct Turn<F> {
    /// Seconds for which the question must have been open.
    pub wait_seconds: u32,
    /// Takes the source's turn, or gives the seconds until it comes.
    pub take: F,
}

/// An answer that was accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Solved {
    /// What it earned.
    pub earned: Earned,
    /// Number of the clearance it earned.
    pub id: u64,
    /// The `Set-Cookie` value with that clearance.
    pub set_cookie: String,
    /// The page first asked for.
    pub return_to: String,
}

/// Everything about challenges that one process knows. Shared by all its requests.
pub struct Challenger {
    keys: RwLock<Keys>,
    settings: Settings,
    pub(super) random: Random,
    /// Number of this process: what others minted may have been spent there.
    start: u64,
    spent: Mutex<Spent>,
    guards: Guards,
    /// What a gate that remembers its challenges would remember: tests show that this costs memory.
    #[cfg(any(test, debug_assertions))]
    minted: Mutex<Vec<Puzzle>>,
}

impl Challenger {
    /// Fails only where the system has no randomness to give.
    pub fn new(keys: Keys, settings: Settings) -> io::Result<Challenger> {
        let random = Random::new()?;
        Ok(Challenger {
            keys: RwLock::new(keys),
            start: random.draw() as u64,
            random,
            spent: Mutex::new(Spent::new(settings.spent_max)),
            settings,
            guards: Guards::default(),
            #[cfg(any(test, debug_assertions))]
            minted: Mutex::default(),
        })
    }

    /// The same without one of its checks, to show that an attack then succeeds. Not part of a release.
    #[cfg(any(test, debug_assertions))]
    pub fn without(mut self, defence: Defence) -> Challenger {
        self.guards = Guards::without(defence);
        self
    }

    /// The pseudonym of a signed-in person: the same as long as the key is kept, and nothing about the name to anybody without it.
    pub fn pseudonym(&self, site: &str, user: &str) -> u64 {
        let keys = self.keys();
        let (length, site) = (site.len() as u64, site.as_bytes());
        let site = [&length.to_be_bytes(), site].concat();
        let mac = keys.sign(keys.oldest(), Purpose::User, [&site, user.as_bytes()]);
        mac[..8]
            .iter()
            .fold(0, |number, byte| number << 8 | u64::from(*byte))
    }

    /// Goes on with other keys, after a rotation.
    pub fn replace_keys(&self, keys: Keys) {
        *self.keys.write().unwrap_or_else(PoisonError::into_inner) = keys;
    }

    /// A challenge for a visitor who asked for `target`. Costs no memory, however many are minted.
    ///
    /// It is bound to agent, site and the asker's cookie and not to the address, which changes between a fetch over IPv6 and
    /// a post over IPv4. The clearance is issued to the address that answers.
    pub fn mint<'a>(
        &self,
        visitor: &Visitor<'_>,
        target: &[u8],
        terms: Terms,
        cookies: impl IntoIterator<Item = &'a [u8]>,
        now: Moment,
    ) -> Puzzle {
        let keys = self.keys();
        let (asker, set_cookie) = match self.asker(&keys, visitor, cookies, None) {
            Some(asker) => (asker, None),
            None => self.new_asker(&keys, visitor, now),
        };
        let token = Token {
            bits: terms.bits.min(work::BITS_MAX),
            lifted_pages: terms.lifted_pages,
            home: match terms.lifted_pages {
                0 => 0,
                _ => clearance::home(visitor.source),
            },
            start: self.start,
            id: self.random.draw(),
            minted_ms: now.steady_ms,
            lifetime_ms: terms
                .suspect
                .map_or(self.settings.answer_seconds, |suspect| suspect.seconds)
                .saturating_mul(1000),
            asker,
            visitor: half(visitor.binding(None)),
            clearance: terms.confirms.unwrap_or(0),
            suspect: terms.suspect.map_or(0, |suspect| suspect.user),
            return_to: self.led_back(target),
        };
        let puzzle = Puzzle {
            token: token.seal(&keys, keys.signing(now.unix)),
            seed: format!("{:032x}", token.id),
            bits: token.bits,
            question: Question::of(token.id),
            set_cookie,
        };
        #[cfg(any(test, debug_assertions))]
        if !self.guards.has(Defence::Stateless) {
            let mut minted = self.minted.lock().unwrap_or_else(PoisonError::into_inner);
            minted.push(puzzle.clone());
        }
        puzzle
    }

    /// Judges what a browser sent as its answer. The cheap checks come first, the work behind all that a forger fails. A new clearance is
    /// good for so many pages.
    pub fn answer<'a>(
        &self,
        visitor: &Visitor<'_>,
        body: &[u8],
        cookies: impl IntoIterator<Item = &'a [u8]> + Clone,
        pages: u32,
        now: Moment,
    ) -> Result<Solved, Refusal> {
        let answer = Answer::parse(body).ok_or(Refusal::Malformed)?;
        let keys = self.keys();
        let token = self.open(&keys, answer.token, visitor, cookies.clone(), now)?;
        let is_done = work::is_done(token.id, token.bits, &answer.found);
        let is_for_person = token.suspect != 0 && self.guards.has(Defence::PersonalAnswer);
        if is_for_person || !is_done && self.guards.has(Defence::Difficulty) {
            return Err(Refusal::TooEasy);
        }
        self.accept(&keys, token, visitor, cookies, pages, now)
    }

    /// Judges the answer to a challenge's question. Its challenge is spent only by an answer that counts: a person may be wrong, or early.
    pub fn answer_question<'a, F: FnOnce() -> Result<(), u32>>(
        &self,
        visitor: &Visitor<'_>,
        (body, language): (&[u8], Language),
        cookies: impl IntoIterator<Item = &'a [u8]> + Clone,
        pages: u32,
        now: Moment,
        turn: Turn<F>,
    ) -> Result<Solved, Unanswered> {
        let text = answer::field(body, b"token").ok_or(Refusal::Malformed)?;
        let typed = answer::text(body, b"answer").ok_or(Refusal::Malformed)?;
        let keys = self.keys();
        let token = self.open(&keys, text, visitor, cookies.clone(), now)?;
        // A question is no harder challenge.
        if token.lifted_pages > 0 {
            return Err(Refusal::TooEasy.into());
        }
        let question = Question::of(token.id);
        if question::number(&typed, language) != Some(question.answer())
            && self.guards.has(Defence::Difficulty)
        {
            return Err(Unanswered::Wrong(question));
        }
        let left_ms = token
            .due_ms(turn.wait_seconds)
            .saturating_sub(now.steady_ms);
        if left_ms > 0 && self.guards.has(Defence::Wait) {
            let seconds = u32::try_from(left_ms.div_ceil(1000)).unwrap_or(u32::MAX);
            return Err(Unanswered::TooSoon(question, seconds));
        }
        (turn.take)().map_err(|seconds| Unanswered::TooSoon(question, seconds))?;
        Ok(self.accept(&keys, token, visitor, cookies, pages, now)?)
    }

    /// The challenge that an answer is for, if this visitor may answer it now.
    fn open<'a>(
        &self,
        keys: &Keys,
        text: &[u8],
        visitor: &Visitor<'_>,
        cookies: impl IntoIterator<Item = &'a [u8]>,
        now: Moment,
    ) -> Result<Token, Refusal> {
        let token = Token::open(text, keys, self.guards)?;
        #[cfg(any(test, debug_assertions))]
        if !self.guards.has(Defence::CheapAnswers) {
            std::hint::black_box(work::solve(token.id, token.bits));
        }
        let refuse_if =
            |is_wrong: bool, defence, refusal| match is_wrong && self.guards.has(defence) {
                true => Err(refusal),
                false => Ok(()),
            };
        let (minted_ms, expires_ms) = (token.minted_ms, token.expires_ms());
        let is_older = token.start != self.start;
        refuse_if(is_older, Defence::Start, Refusal::Restarted)?;
        let is_late = expires_ms <= now.steady_ms;
        refuse_if(is_late, Defence::Expiry, Refusal::Expired)?;
        let is_early = minted_ms > now.steady_ms.saturating_add(SKEW_MS);
        refuse_if(is_early, Defence::Expiry, Refusal::Early)?;
        let asker = self.asker(keys, visitor, cookies, Some(token.asker));
        refuse_if(asker.is_none(), Defence::Asker, Refusal::NoCookie)?;
        let is_other = asker != Some(token.asker);
        refuse_if(is_other, Defence::Asker, Refusal::OtherVisitor)?;
        let is_other = token.visitor != half(visitor.binding(None));
        refuse_if(is_other, Defence::Visitor, Refusal::OtherVisitor)?;
        let is_elsewhere = token.lifted_pages > 0 && token.home != clearance::home(visitor.source);
        refuse_if(is_elsewhere, Defence::Visitor, Refusal::OtherVisitor)?;
        let is_spent = self.spent().has(token.id, expires_ms);
        refuse_if(is_spent, Defence::SingleUse, Refusal::Spent)?;
        Ok(token)
    }

    /// Spends a challenge that was answered, and gives what that earns.
    fn accept<'a>(
        &self,
        keys: &Keys,
        token: Token,
        visitor: &Visitor<'_>,
        cookies: impl IntoIterator<Item = &'a [u8]>,
        pages: u32,
        now: Moment,
    ) -> Result<Solved, Refusal> {
        let expires_ms = token.expires_ms();
        let first_time = self.spent().spend(token.id, expires_ms, now.steady_ms);
        if self.guards.has(Defence::SingleUse) {
            first_time?;
        }
        let (clearance, earned) = match token.clearance {
            0 => {
                let id = self.random.draw() as u64;
                let hours = self.settings.clearance_hours;
                let new = |pages| Clearance::new(id, now.unix, hours, pages, visitor.source);
                let new = match token.lifted_pages {
                    0 => new(pages),
                    pages => new(pages).lifting(),
                };
                (new, Earned::New)
            }
            confirmed => {
                let known = self
                    .find(cookies, visitor, now.unix)
                    .filter(|known| known.id == confirmed)
                    .ok_or(Refusal::NoCookie)?;
                (known.moved_to(visitor.source), Earned::Confirmed)
            }
        };
        Ok(self.clear(keys, visitor, clearance, earned, token.return_to, now))
    }

    /// True for a form whose sender wants another question.
    pub fn asks_for_other(&self, body: &[u8]) -> bool {
        answer::field(body, b"other").is_some()
    }

    /// The text of the challenge that an answer is for.
    pub fn token_of<'a>(&self, body: &'a [u8]) -> &'a str {
        let text = answer::field(body, b"token").unwrap_or_default();
        str::from_utf8(text).unwrap_or_default()
    }

    /// Bits of work of the challenge that an answer is for; 0 where it is none of ours.
    pub fn bits_of(&self, body: &[u8]) -> u8 {
        let text = Answer::parse(body).map(|answer| answer.token);
        let token = text.and_then(|text| Token::open(text, &self.keys(), self.guards).ok());
        token.map_or(0, |token| token.bits)
    }

    /// The suspect whom a challenge of ours is for, however old it is.
    pub fn suspect_of(&self, body: &[u8]) -> Option<u64> {
        let text = answer::field(body, b"token")?;
        let token = Token::open(text, &self.keys(), self.guards).ok()?;
        (token.suspect != 0).then_some(token.suspect)
    }

    /// The page that a challenge of ours leads back to, however old it is, for a new one in its place; else `/`.
    pub fn return_of(&self, body: &[u8]) -> String {
        let token = answer::field(body, b"token")
            .and_then(|text| Token::open(text, &self.keys(), self.guards).ok());
        let page = token.map(|token| token.return_to).unwrap_or_default();
        self.led_back(page.as_bytes())
    }

    /// The first valid clearance among a request's cookies.
    pub fn find<'a>(
        &self,
        cookies: impl IntoIterator<Item = &'a [u8]>,
        visitor: &Visitor<'_>,
        unix: u64,
    ) -> Option<Clearance> {
        let name = cookies::clearance_name(visitor, self.settings.binding, self.guards);
        let tried_max = match self.guards.has(Defence::CookiesTried) {
            true => cookies::TRIED_MAX,
            false => usize::MAX,
        };
        let cookies = cookies.into_iter();
        let cookies = cookies.filter(|header| cookies::may_have_ours(header));
        let mut values = cookies::named(cookies, name).take(tried_max).peekable();
        // Most requests of unknown visitors have no cookie, and then nothing is hashed.
        values.peek()?;
        let (keys, binding) = (self.keys(), visitor.binding(self.network(visitor)));
        values.find_map(|text| Clearance::open(text, unix, &binding, &keys, self.guards))
    }

    /// A `Set-Cookie` value that takes a clearance back, for one that is no longer valid.
    pub fn clearing(&self, visitor: &Visitor<'_>) -> String {
        cookies::set(
            cookies::clearance_name(visitor, self.settings.binding, self.guards),
            "",
            0,
            visitor,
            self.guards,
        )
    }

    fn clear(
        &self,
        keys: &Keys,
        visitor: &Visitor<'_>,
        clearance: Clearance,
        earned: Earned,
        return_to: String,
        now: Moment,
    ) -> Solved {
        let binding = visitor.binding(self.network(visitor));
        let value = clearance.seal(keys.signing(now.unix), &binding, keys);
        let name = cookies::clearance_name(visitor, self.settings.binding, self.guards);
        let seconds = clearance.until().saturating_sub(now.unix);
        Solved {
            earned,
            id: clearance.id,
            set_cookie: cookies::set(name, &value, seconds, visitor, self.guards),
            return_to,
        }
    }

    fn network(&self, visitor: &Visitor<'_>) -> Option<Source> {
        match self.settings.binding {
            Binding::Agent => None,
            // A source without a network is bound to itself.
            Binding::Network => Some(visitor.source.network().unwrap_or(visitor.source)),
        }
    }

    /// The page that a visitor who asked for `target` is led back to.
    fn led_back(&self, target: &[u8]) -> String {
        match self.guards.has(Defence::ReturnTo) {
            true => return_to(target, &self.settings.prefix).to_owned(),
            false => String::from_utf8_lossy(target).into_owned(),
        }
    }

    /// Hash of the asker's cookie that a browser sent: the wanted one if it is there, else the first that is genuine. On
    /// plain http a sibling site can put one of its own before it.
    fn asker<'a>(
        &self,
        keys: &Keys,
        visitor: &Visitor<'_>,
        cookies: impl IntoIterator<Item = &'a [u8]>,
        wanted: Option<[u8; 16]>,
    ) -> Option<[u8; 16]> {
        let name = cookies::asker_name(visitor, self.guards);
        let values = cookies::named(cookies, name).take(cookies::TRIED_MAX);
        let mut first = None;
        for asker in values.filter_map(|text| open_asker(text, keys, visitor)) {
            if wanted.is_none_or(|wanted| wanted == asker) {
                return Some(asker);
            }
            first.get_or_insert(asker);
        }
        first
    }

    fn new_asker(
        &self,
        keys: &Keys,
        visitor: &Visitor<'_>,
        now: Moment,
    ) -> ([u8; 16], Option<String>) {
        let mut bytes = [0; ASKER_BYTES];
        let (head, signature) = bytes.split_at_mut(ASKER_HEAD_BYTES);
        head[0] = ASKER_VERSION;
        head[1] = keys.signing(now.unix);
        head[2..].copy_from_slice(&self.random.draw().to_be_bytes());
        signature.copy_from_slice(&keys.sign(
            head[1],
            Purpose::Asker,
            [head, visitor.site.as_bytes()],
        ));
        let asker = half(Sha256::digest(&*head).into());
        let name = cookies::asker_name(visitor, self.guards);
        let value = URL_SAFE_NO_PAD.encode(bytes);
        let set_cookie = cookies::set(name, &value, ASKER_SECONDS, visitor, self.guards);
        (asker, Some(set_cookie))
    }

    fn spent(&self) -> MutexGuard<'_, Spent> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn keys(&self) -> RwLockReadGuard<'_, Keys> {
        self.keys.read().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(super) fn spent_len(&self) -> usize {
        self.spent.lock().unwrap().len()
    }

    /// Challenges of which anything is remembered, answered or not.
    #[cfg(test)]
    pub(super) fn remembered(&self) -> usize {
        self.spent_len() + self.minted.lock().unwrap().len()
    }
}

/// Hash of one asker's cookie, if we signed it for this site.
fn open_asker(text: &[u8], keys: &Keys, visitor: &Visitor<'_>) -> Option<[u8; 16]> {
    let mut bytes = [0; ASKER_BYTES + 2];
    if text.len() != (ASKER_BYTES * 4).div_ceil(3) {
        return None;
    }
    URL_SAFE_NO_PAD.decode_slice(text, &mut bytes).ok()?;
    let (head, rest) = bytes.split_first_chunk::<ASKER_HEAD_BYTES>()?;
    let signature = rest.first_chunk::<MAC_BYTES>()?;
    let message = [&head[..], visitor.site.as_bytes()];
    let is_genuine =
        head[0] == ASKER_VERSION && keys.is_genuine(head[1], Purpose::Asker, message, signature);
    is_genuine.then(|| half(Sha256::digest(head).into()))
}

/// Half of a hash is enough to tell visitors apart.
fn half(hash: [u8; 32]) -> [u8; 16] {
    std::array::from_fn(|index| hash[index])
}
