//! What all threads of the gate share.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;

use arc_swap::ArcSwap;
use arc_swap::ArcSwapOption;
use cattlegrid_core::policy::Counters;
use cattlegrid_core::policy::Crawlers;
use cattlegrid_core::policy::Policy;
use cattlegrid_core::policy::Standing;
use cattlegrid_core::policy::Suspects;
use cattlegrid_core::profile::Content;
use cattlegrid_core::profile::Recorder;

use crate::challenge::Challenger;
use crate::challenge::Moment;
use crate::challenge::Pages;
use crate::settings::Setup;
use crate::sign_in::Verifier;
use crate::state::clock::Clock;
use crate::state::keyring::Keyring;
use crate::state::keyring::Used;
use crate::state::metrics::Metrics;
use crate::state::names::Names;
use crate::state::sign_ins::SignIns;
use crate::state::slots::Slots;
use crate::state::users::UserNotes;

/// What a reload replaces.
#[derive(Debug)]
pub(crate) struct Live {
    /// The `[gate]` part of the settings.
    pub(crate) setup: Setup,
    /// Limits, with the counters that stay.
    pub(crate) policy: Policy,
    /// Hashes agents as the analysis does.
    pub(crate) recorder: Recorder,
    /// Cookies that carry a session.
    pub(crate) session_cookies: Vec<Vec<u8>>,
    /// The pages that the gate shows.
    pub(crate) pages: Pages,
    /// Robots by their names, and what the owner wants for them.
    pub(crate) crawlers: Crawlers,
    /// Checks the tokens of signed-in people, where they have any.
    pub(crate) verifier: Option<Verifier>,
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
    /// What the learner wrote last, or its backup, is not on the disk. Only its next success ends that.
    pub(crate) is_unwritten: AtomicBool,
    /// Connections of clients now.
    pub(crate) connections: AtomicUsize,
    /// Clients in whose visits something is suspicious.
    pub(crate) suspects: ArcSwap<Suspects>,
    /// Which addresses have the names of which operators.
    pub(crate) names: Names,
    /// The robots.txt of sites, merged with what the owner wants.
    pub(crate) robots_txt: ArcSwap<BTreeMap<String, String>>,
    /// Keys of robots that sign their requests.
    pub(crate) keyring: ArcSwap<Keyring>,
    /// Signatures that were used.
    pub(crate) used: Used,
    /// Clients that wait for pages behind traps.
    pub(crate) slots: Arc<Slots>,
    /// What sites have said about who is signed in.
    pub(crate) sign_ins: SignIns,
    /// The keys of markers; none where markers were never on, or the keys cannot be read.
    pub(crate) markers: ArcSwapOption<cattlegrid_marker::Keyring>,
    /// Signed-in people who are suspects, and the way to the table of all of them.
    pub(crate) users: UserNotes,
    /// A source has crossed the second limit: it is to be judged now.
    pub(crate) has_crossed: AtomicBool,
}

impl std::fmt::Debug for Gate {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Nothing of what it knows belongs into a log.
        out.write_str("Gate")
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
    /// True where half of all connections are taken: what is left is for clients that get pages of the site.
    pub(crate) fn is_crowded(&self, setup: &Setup) -> bool {
        self.connections.load(Ordering::Relaxed) > setup.connections_max / 2
    }

    /// The time as challenges know it.
    pub(crate) fn moment(&self) -> Moment {
        Moment {
            unix: self.clock.now_ms() / 1000,
            steady_ms: self.clock.steady_ms(),
        }
    }
}
