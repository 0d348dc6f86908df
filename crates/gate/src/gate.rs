//! What all threads of the gate share, and the decision about one request.

use std::hash::Hash;
use std::hash::Hasher;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;
use std::time::Instant;

use arc_swap::ArcSwap;
use cattlegrid_core::format::session;
use cattlegrid_core::policy;
use cattlegrid_core::policy::Asked;
use cattlegrid_core::policy::Counters;
use cattlegrid_core::policy::Decided;
use cattlegrid_core::policy::Decision;
use cattlegrid_core::policy::Place;
use cattlegrid_core::policy::Policy;
use cattlegrid_core::policy::Proof;
use cattlegrid_core::policy::Standing;
use cattlegrid_core::policy::Tally;
use cattlegrid_core::profile::Content;
use cattlegrid_core::profile::Lens;
use cattlegrid_core::request::Field;
use cattlegrid_core::request::Source;
use hyper::Method;

use crate::challenge::Challenger;
use crate::challenge::Clearance;
use crate::challenge::Moment;
use crate::challenge::Pages;
use crate::challenge::Suspicion;
use crate::challenge::Terms;
use crate::challenge::Visitor;
use crate::challenge::confirmation;
use crate::challenge::difficulty;
use crate::clock::Clock;
use crate::config::Mode;
use crate::config::Setup;
use crate::defence::Defence;
use crate::headers::Headers;
use crate::headers::Name;
use crate::log::Texts;
use crate::metrics::Metrics;
use crate::rules;
use crate::rules::Ruled;
use crate::to_site::Sender;
use crate::trust;
use crate::trust::Peer;

/// What a reload replaces.
#[derive(Debug)]
pub(crate) struct Live {
    /// The `[gate]` part of the settings.
    pub(crate) setup: Setup,
    /// Limits, with the counters that stay.
    pub(crate) policy: Policy,
    /// Hashes agents as the analysis does.
    pub(crate) lens: Lens,
    /// Cookies that carry a session.
    pub(crate) session_cookies: Vec<Vec<u8>>,
    /// The pages that the gate shows.
    pub(crate) pages: Pages,
}

/// What all threads share.
pub(crate) struct Gate {
    /// The time.
    pub(crate) clock: Clock,
    /// What a reload replaces.
    pub(crate) live: ArcSwap<Live>,
    /// What the knowledge base says.
    pub(crate) standing: ArcSwap<Standing>,
    /// Pages of the last day.
    pub(crate) counters: Arc<Counters>,
    /// Makes challenges and checks answers.
    pub(crate) challenger: Challenger,
    /// What the gate counts about itself.
    pub(crate) metrics: Metrics,
    /// When the counters were saved with which the gate began.
    pub(crate) saved_ms: u64,
    /// The gate ends: threads that wait for changes of files end with it.
    pub(crate) is_ending: AtomicBool,
    /// Connections of clients now.
    pub(crate) connections: AtomicUsize,
    /// A source has crossed the second limit: it is to be judged now.
    pub(crate) has_crossed: AtomicBool,
}

impl std::fmt::Debug for Gate {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Nothing of what it knows belongs into a log.
        out.write_str("Gate")
    }
}

/// Facts of one request, however it came.
#[derive(Debug)]
pub(crate) struct Facts<'a> {
    /// When it was read.
    pub(crate) started: Instant,
    pub(crate) client: Option<IpAddr>,
    pub(crate) host: &'a str,
    pub(crate) method: &'a Method,
    /// Path and query as sent.
    pub(crate) target: &'a str,
    pub(crate) headers: Headers<'a>,
    pub(crate) is_secure: bool,
    /// It counts: a question that is asked a second time does not.
    pub(crate) is_counted: bool,
}

/// What was decided, and what is done.
#[derive(Debug)]
pub(crate) struct Judged {
    pub(crate) decided: Decided,
    /// What is done: in shadow mode everything passes.
    pub(crate) done: Decision,
    pub(crate) clearance: Option<Clearance>,
    /// The same as the policy saw it.
    pub(crate) used: Option<policy::Clearance>,
}

impl<'a> Facts<'a> {
    /// The agent: the first one sent.
    pub(crate) fn agent(&self) -> &'a [u8] {
        self.headers.get(Name::UserAgent).unwrap_or(b"")
    }

    /// The one who asks, as challenges know them.
    pub(crate) fn visitor(&self) -> Visitor<'a> {
        Visitor {
            source: trust::source(self.client),
            agent: self.agent(),
            site: self.host,
            is_secure: self.is_secure,
        }
    }

    /// What goes into the log as it was said.
    pub(crate) fn texts(&self) -> Texts<'a> {
        Texts {
            host: self.host,
            target: self.target,
            referrer: self.headers.get(Name::Referer).unwrap_or_default(),
            agent: self.agent(),
        }
    }

    /// The one who asks, as sites are told.
    pub(crate) fn sender(&self, peer: Peer, is_trusted: bool) -> Sender {
        Sender {
            peer,
            client: self.client,
            is_secure: self.is_secure,
            is_trusted,
        }
    }

    /// All cookie headers.
    pub(crate) fn cookies(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.headers.all(Name::Cookie)
    }

    /// The path without query.
    pub(crate) fn path(&self) -> &'a str {
        self.target.split(['?', '#']).next().unwrap_or("/")
    }
}

/// Methods that no site answers with a page that GET would have brought.
const NO_READERS: [&str; 17] = [
    "POST",
    "PUT",
    "PATCH",
    "DELETE",
    "HEAD",
    "OPTIONS",
    "TRACE",
    "CONNECT",
    "PROPFIND",
    "PROPPATCH",
    "MKCOL",
    "COPY",
    "MOVE",
    "LOCK",
    "UNLOCK",
    "REPORT",
    "SEARCH",
];

/// What a request counts as when it is asked for: many sites answer `get`, or a word that nobody has heard of, like GET.
pub(crate) fn content(method: &str, target: &str) -> Content {
    let method = match method {
        "GET" => "GET",
        known if NO_READERS.contains(&known) => known,
        _ => "GET",
    };
    Content::of(method.as_bytes(), target.as_bytes())
}

impl Gate {
    /// The time as challenges know it.
    pub(crate) fn moment(&self) -> Moment {
        Moment {
            unix: self.clock.now_ms() / 1000,
            steady_ms: self.clock.steady_ms(),
        }
    }

    /// Decides about a request.
    pub(crate) fn judge(&self, live: &Live, facts: &Facts<'_>) -> Judged {
        let visitor = facts.visitor();
        let subject = rules::Subject {
            path: facts.path(),
            has_query: facts.target.contains('?'),
            method: facts.method,
            headers: facts.headers,
            source: visitor.source,
        };
        let time = self.clock.at(facts.started);
        let clearance = self
            .challenger
            .find(facts.cookies(), &visitor, u64::from(time));
        let agent = match visitor.agent {
            b"" => 0,
            agent => live.lens.agent(agent),
        };
        // Who shares an address with a crawler must not share a budget with it.
        let used = clearance.map(|clearance| {
            let used = clearance.used_by(visitor.source);
            match live.setup.defences.has(Defence::OwnBudget) {
                true => used,
                false => policy::Clearance {
                    id: visitor.source.value,
                    ..used
                },
            }
        });
        let is_unlimited = clearance.is_some() && !live.setup.defences.has(Defence::Budget);
        let rule = match is_unlimited {
            true => Some(Ruled::Owners(Decision::Pass)),
            false => live.setup.rules.decide(&subject, &live.setup.defences),
        };
        let asked = Asked {
            source: visitor.source,
            time,
            content: content(facts.method.as_str(), facts.target),
            is_counted: facts.is_counted,
            agent,
            rule: match rule {
                Some(Ruled::Owners(decision)) => Some(decision),
                Some(Ruled::Shipped) | None => None,
            },
            is_open: matches!(rule, Some(Ruled::Shipped)),
            user: None,
            proof: Proof::None,
            clearance: used,
            is_suspicious: false,
        };
        let decided = live.policy.decide(&asked, &self.standing.load());
        let done = match live.setup.mode {
            Mode::Shadow => Decision::Pass,
            Mode::Enforce => decided.decision,
        };
        if decided.is_to_be_judged_now(&live.policy.limits) {
            self.has_crossed.store(true, Ordering::Relaxed);
        }
        if facts.is_counted {
            self.metrics.decided(done, decided.reason);
            if done != decided.decision {
                self.metrics.would(decided.decision);
            }
        }
        Judged {
            decided,
            done,
            clearance,
            used,
        }
    }

    /// The clearance that a request shows.
    pub(crate) fn clearance(&self, facts: &Facts<'_>) -> Option<Clearance> {
        let time = u64::from(self.clock.now());
        self.challenger
            .find(facts.cookies(), &facts.visitor(), time)
    }

    /// True where a clearance is good for another page of a source.
    pub(crate) fn is_good(&self, live: &Live, clearance: &Clearance, source: Source) -> bool {
        let used = clearance.used_by(source);
        live.policy.is_good(&used, self.clock.now(), 1)
    }

    /// The terms of a challenge for a source: the more pages it has asked for, the more it has solved and the more answers were wrong, the
    /// more work. Who has a clearance and came into another network confirms it by little.
    pub(crate) fn terms(&self, live: &Live, source: Source, known: Option<&Clearance>) -> Terms {
        let (time, limits) = (self.clock.now(), &live.policy.limits);
        let confirmed = known.filter(|known| {
            let home = policy::Clearance {
                place: Place::Home,
                ..known.used_by(source)
            };
            known.used_by(source) != home && live.policy.is_good(&home, time, 1)
        });
        let bits = match confirmed {
            Some(known) => confirmation(known.moves),
            None => {
                let suspicion = Suspicion {
                    pages: self.counters.look(Tally::source(source), time),
                    failures: self.counters.look(Tally::failures(source), time),
                    solutions: live.policy.solutions(source, time),
                };
                difficulty(&suspicion, limits.k1, limits.k2)
            }
        };
        let least = difficulty(&Suspicion::default(), 1, 1);
        Terms {
            bits: (bits + live.setup.challenge_bits)
                .saturating_sub(least)
                .max(1),
            confirms: confirmed.map(|known| known.id),
        }
    }

    /// Remembers an answer that no honest browser gives.
    pub(crate) fn count_failure(&self, source: Source) {
        self.counters
            .count(Tally::failures(source), self.clock.now(), 1);
    }

    /// The session of a request, for the log: not told where other cookies were sent, none where none was, else its hash.
    pub(crate) fn session(&self, live: &Live, facts: &Facts<'_>) -> Option<Option<u64>> {
        let mut told = Some(None);
        for header in facts.cookies() {
            match session(header, &live.session_cookies) {
                Field::Value(value) => {
                    // The log must not hold what would let its reader take over a session.
                    let mut hasher = std::hash::DefaultHasher::new();
                    value.hash(&mut hasher);
                    return Some(Some(hasher.finish()));
                }
                Field::Empty => {}
                Field::NotLogged => told = None,
            }
        }
        told
    }
}
