//! Who is signed in: by a token that the gate checks, by what the site has said about the session, or by the word of a trusted proxy. A cookie that is merely there proves
//! nothing.

use std::time::Duration;

use cattlegrid_core::policy::Decided;
use cattlegrid_core::policy::Reason;
use cattlegrid_core::profile::Content;

use super::Facts;
use super::judge::ruled;
use crate::challenge::cookies_named;
use crate::settings::Mode;
use crate::settings::defence::Defence;
use crate::settings::rules::Ruled;
use crate::settings::sign_in::AskSetup;
use crate::settings::sign_in::TokenSetup;
use crate::settings::sign_in::TooFast;
use crate::settings::sign_in::Way;
use crate::settings::trust;
use crate::sign_in::Refused;
use crate::sign_in::Verifier;
use crate::state::Gate;
use crate::state::Live;
use crate::state::sign_ins::Acquaintance;
use crate::state::sign_ins::Known;
use crate::state::sign_ins::Session;
use crate::state::users::Told;

/// Tokens of one request that are looked at: sibling sites can set cookies of any name.
const TRIED_MAX: usize = 4;
/// Bytes of session cookies that a site is asked about.
const COOKIES_MAX: usize = 4096;
/// The longest name that a trusted proxy gives a person.
const NAME_MAX: usize = 256;

/// Who has sent a request.
#[derive(Debug)]
pub(crate) enum Who {
    /// Nobody who is signed in.
    Nobody,
    /// A signed-in person, by the pseudonym.
    User(u64),
    /// The site knows.
    Unknown(Unsettled),
}

/// A session about which the site must be asked.
#[derive(Debug)]
pub(crate) struct Unsettled {
    pub(crate) session: Session,
    pub(crate) acquaintance: Acquaintance,
    /// The number of the site.
    pub(crate) site: usize,
    /// The session cookies, as one Cookie field has them.
    pub(crate) cookies: Vec<u8>,
}

/// A request of somebody who is too fast: it is decided about again after so many seconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Held {
    pub(crate) seconds: u32,
}

impl Gate {
    /// Who has sent a request, as far as it is known without waiting for anybody.
    pub(crate) fn who(&self, live: &Live, facts: &Facts<'_>) -> Who {
        let Some(way) = &live.setup.sign_in.way else {
            return Who::Nobody;
        };
        // Hosts of no site have no people.
        let Some(site) = live.setup.site(facts.host) else {
            return Who::Nobody;
        };
        match way {
            Way::Token(setup) => match self.by_token(live, facts, setup, site) {
                Some(user) => Who::User(user),
                None => Who::Nobody,
            },
            Way::Ask(setup) => self.by_session(live, facts, setup, site),
            Way::Header(field) => match self.by_header(live, facts, field, site) {
                Some(user) => Who::User(user),
                None => Who::Nobody,
            },
        }
    }

    /// The person whom a trusted proxy names.
    fn by_header(&self, live: &Live, facts: &Facts<'_>, field: &str, site: usize) -> Option<u64> {
        if !facts.is_relayed() {
            return None;
        }
        let mut values = facts.headers.all_named(field);
        let (first, second) = (values.next()?.trim_ascii(), values.next());
        // Of two names none is believed.
        let is_sound = second.is_none() && (1..=NAME_MAX).contains(&first.len());
        let user = std::str::from_utf8(first).ok().filter(|_| is_sound)?;
        Some(self.pseudonym(live, facts, live.setup.sites[site].name(), user))
    }

    /// The pseudonym of a person. The name goes to the table of those whose paths are followed, where it is kept.
    fn pseudonym(&self, live: &Live, facts: &Facts<'_>, site: &str, user: &str) -> u64 {
        let number = self.challenger.pseudonym(site, user);
        if facts.content() == Content::Page {
            self.introduce(live, number, user);
        }
        number
    }

    /// Tells the table of users a name, where names are kept.
    pub(crate) fn introduce(&self, live: &Live, user: u64, name: &str) {
        let paths = &live.setup.paths;
        if paths.is_on && paths.keeps_names {
            self.users
                .tell(Told::Name(user, name.into()), &self.metrics);
        }
    }

    fn by_token(
        &self,
        live: &Live,
        facts: &Facts<'_>,
        setup: &TokenSetup,
        site: usize,
    ) -> Option<u64> {
        let verifier = live.verifier.as_ref()?;
        let name = live.setup.sites[site].name();
        let unix = u64::from(self.clock.at(facts.started));
        let (source, time) = (trust::source(facts.client), self.clock.at(facts.started));
        let mut refused = None;
        for token in tokens(facts, setup).take(TRIED_MAX) {
            if !live.policy.may_check_for(source, time) {
                refused = Some(Refused::TooMany);
                break;
            }
            match checked(live, verifier, token, (name, unix)) {
                Ok(user) => return Some(self.pseudonym(live, facts, name, &user)),
                Err(why) => refused = Some(why),
            }
            if refused == Some(Refused::Signature) {
                live.policy.count_forged_sign_in(source, time);
            }
        }
        if let Some(why) = refused.filter(|_| facts.is_counted) {
            self.metrics.sign_in_refused(why);
        }
        None
    }

    fn by_session(&self, live: &Live, facts: &Facts<'_>, setup: &AskSetup, site: usize) -> Who {
        let cookies = session_cookies(facts, setup);
        if cookies.is_empty() {
            return Who::Nobody;
        }
        if cookies.len() > COOKIES_MAX {
            self.metrics.sign_in_refused(Refused::TooLong);
            return Who::Nobody;
        }
        let name = live.setup.sites[site].name();
        if !live.setup.defences.has(Defence::SignIn) {
            return Who::User(self.challenger.pseudonym(name, "anybody"));
        }
        let session = self.sign_ins.session(name, &cookies);
        let acquaintance = match self.sign_ins.look(&session, self.clock.steady_ms()) {
            Known::User(user) => {
                self.metrics.sign_in_cached.inc();
                return Who::User(user);
            }
            Known::Nobody => {
                self.metrics.sign_in_cached.inc();
                return Who::Nobody;
            }
            Known::Unknown(acquaintance) => acquaintance,
        };
        let (source, time) = (trust::source(facts.client), self.clock.at(facts.started));
        // Where the owner's rule decides, nobody needs to know who it is. A shipped one does not decide about denied sources.
        if let Some(Ruled::Owners(_)) = ruled(live, facts, source) {
            return Who::Nobody;
        }
        let may_ask = acquaintance == Acquaintance::Known
            || live.policy.may_ask_for(source, time)
            || !live.setup.defences.has(Defence::SignInAsks);
        if !may_ask {
            self.metrics.sign_in_asked("limited");
            return Who::Nobody;
        }
        Who::Unknown(Unsettled {
            session,
            acquaintance,
            site,
            cookies,
        })
    }

    /// Whether a decision is that somebody waits a moment for the response, instead of being told to come again.
    pub(super) fn held(&self, live: &Live, facts: &Facts<'_>, decided: &Decided) -> Option<Held> {
        let TooFast::Slow { longest, .. } = live.setup.sign_in.too_fast else {
            return None;
        };
        let seconds = decided.retry_after;
        let waited = facts.waited + Duration::from_secs(seconds.into());
        let is_held = decided.reason == Reason::SignedInTooFast
            && live.setup.mode == Mode::Enforce
            && facts.is_counted
            // A web server takes a gate that does not answer at once for a dead one, and lets the request pass.
            && facts.shows_response()
            && waited <= longest;
        is_held.then_some(Held { seconds })
    }
}

/// Where tokens may be.
fn tokens<'a>(facts: &Facts<'a>, setup: &TokenSetup) -> impl Iterator<Item = &'a [u8]> {
    let named = setup.cookie.as_deref();
    let cookies = named
        .into_iter()
        .flat_map(|name| cookies_named(facts.cookies(), name));
    let bearer = setup
        .is_bearer
        .then(|| facts.headers.all_named("authorization"));
    let bearer = bearer.into_iter().flatten().filter_map(|value| {
        let (scheme, token) = value.split_at_checked(b"Bearer ".len())?;
        let is_bearer = scheme.eq_ignore_ascii_case(b"Bearer ");
        is_bearer.then(|| token.trim_ascii())
    });
    cookies.chain(bearer)
}

/// The person whom a token names.
fn checked(
    live: &Live,
    verifier: &Verifier,
    token: &[u8],
    (site, unix): (&str, u64),
) -> Result<String, Refused> {
    match live.setup.defences.has(Defence::SignIn) {
        true => verifier.user(token, site, unix),
        false => Ok("anybody".to_owned()),
    }
}

/// The session cookies of a request, as one Cookie field has them.
fn session_cookies(facts: &Facts<'_>, setup: &AskSetup) -> Vec<u8> {
    let mut all: Vec<u8> = Vec::new();
    for name in &setup.cookies {
        let values = cookies_named(facts.cookies(), name);
        for value in values.filter(|value| !value.is_empty()).take(TRIED_MAX) {
            if !all.is_empty() {
                all.extend_from_slice(b"; ");
            }
            all.extend_from_slice(name.as_bytes());
            all.push(b'=');
            all.extend_from_slice(value);
        }
    }
    all
}
