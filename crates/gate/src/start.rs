//! Starts the gate, reloads its settings, and ends it in good order.

mod control;

use std::fs;
use std::hash::BuildHasher;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::thread;
use std::thread::JoinHandle;

use arc_swap::ArcSwap;
use arc_swap::ArcSwapOption;
use cattlegrid_core::Settings;
use cattlegrid_core::policy::Counters;
use cattlegrid_core::policy::Crawlers;
use cattlegrid_core::policy::Policy;
use cattlegrid_core::policy::Standing;
use cattlegrid_core::profile::Recorder;
use rustix::process::Resource;
use rustix::process::Rlimit;
use rustix::process::setrlimit;

use self::control::Control;
use crate::background::admin;
use crate::background::counters;
use crate::background::directories;
use crate::background::knowledge;
use crate::background::learn;
use crate::background::learn::Learner;
use crate::background::names;
use crate::background::robots_txt;
use crate::background::users;
use crate::challenge;
use crate::challenge::Challenger;
use crate::challenge::Keys;
use crate::challenge::Pages;
use crate::challenge::Template;
use crate::door::listen::Listener;
use crate::settings::Binding;
use crate::settings::Setup;
use crate::settings::defence::Defence;
use crate::settings::defence::Defences;
use crate::settings::sign_in::Way;
use crate::sign_in::Keys as TokenKeys;
use crate::sign_in::Verifier;
use crate::state::Gate;
use crate::state::Live;
use crate::state::clock::Clock;
use crate::state::keyring::Used;
use crate::state::metrics::Metrics;
use crate::state::names::Names;
use crate::state::sign_ins::SignIns;
use crate::state::users::UserNotes;

/// Blocks of log lines that wait at most, each of 64 KiB.
const BLOCKS_MAX: usize = 512;
/// The file of signing keys, in the gate's folder.
const KEYS: &str = "keys";

/// The settings file, read and checked.
#[derive(Debug)]
pub struct Loaded {
    /// The `[gate]` part.
    pub setup: Setup,
    /// The rest.
    pub settings: Settings,
    /// Robots, and what the owner wants for them.
    pub crawlers: Crawlers,
}

/// Reads the settings file; all errors at once.
pub type Load = Box<dyn Fn() -> Result<Loaded, Vec<String>> + Send>;

/// Looks at what settings name outside of the file, and binds nothing.
pub fn check(loaded: &Loaded) -> Vec<String> {
    let listeners = loaded.setup.listen.iter().map(Listener::new);
    let mut errors: Vec<String> = listeners.filter_map(Result::err).collect();
    errors.extend(template(&loaded.setup).err());
    errors.extend(verifier(&loaded.setup).err());
    errors
}

/// Runs the gate until a signal ends it.
pub fn run(load: Load, learner: Learner) -> Result<(), Vec<String>> {
    let loaded = load()?;
    let one = |error: String| vec![error];
    let state = loaded.setup.state.clone();
    fs::create_dir_all(&state).map_err(|error| {
        one(format!(
            "state = {}: cannot create the folder: {error}",
            state.display()
        ))
    })?;
    let log = loaded.setup.log.clone();
    let workers = match loaded.setup.workers {
        0 => thread::available_parallelism().map_or(1, usize::from),
        workers => workers,
    };
    let gate = Arc::new(make(loaded, &state).map_err(one)?);
    gate.renew_marker_keys();
    let knowledge = state.join("kb.sqlite");
    let standing = knowledge::read(&knowledge, &gate).map_err(|fault| one(fault.to_string()))?;
    gate.standing.store(Arc::new(standing));
    counters::recount(&log, &gate);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| one(format!("cannot start the runtime: {error}")))?;
    let mut threads = Threads::default();
    let (to_log, lines) = mpsc::sync_channel::<Vec<u8>>(BLOCKS_MAX);
    let reopen = Arc::new(AtomicBool::new(false));
    start_helpers(
        &mut threads,
        &gate,
        learner,
        (log, lines, Arc::clone(&reopen)),
        knowledge,
    )
    .map_err(one)?;
    let counters = state.join("counters");
    let (end, ended) = mpsc::channel::<()>();
    let (shared, path) = (Arc::clone(&gate), counters.clone());
    threads
        .start("counters", move || counters::keep(&path, &shared, &ended))
        .map_err(one)?;
    let mut control = Control::new(&gate, load, reopen);
    let bound = control.bind_all(workers).map_err(one)?;
    let admin = gate.live.load().setup.admin;
    let admin = admin.map(admin::bind).transpose().map_err(one)?;
    for number in 0..workers {
        control
            .start_worker(number, to_log.clone(), &mut threads)
            .map_err(one)?;
    }
    control.hand_out(bound);
    drop(to_log);
    runtime.block_on(control.run(admin)).map_err(one)?;
    drop(control);
    drop(end);
    gate.is_ending.store(true, Ordering::Relaxed);
    threads.join();
    let saved = counters::save(&counters, &gate.counters, gate.clock.now_ms());
    saved.map_err(|error| {
        one(format!(
            "{}: counters cannot be saved: {error}",
            counters.display()
        ))
    })
}

/// Keeps the keys out of core dumps.
fn dump_no_core(defences: &Defences) {
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    if defences.has(Defence::SecretKey)
        && let Err(error) = setrlimit(Resource::Core, none)
    {
        tracing::warn!(%error, "core dumps cannot be turned off: set LimitCORE=0 for the service");
    }
}

/// Makes what all threads share.
fn make(loaded: Loaded, state: &Path) -> Result<Gate, String> {
    let setup = &loaded.setup;
    let clock = match &setup.clock {
        None if !setup.defences.has(Defence::SteadyClock) => Clock::leaping(),
        None => Clock::start(),
        Some(clock) => Clock::of_test(clock),
    };
    dump_no_core(&setup.defences);
    let keys = open_keys(state, &clock)?;
    #[cfg(debug_assertions)]
    if !setup.defences.has(Defence::SecretKey) {
        tracing::info!(keys = ?fs::read_to_string(state.join(KEYS)), "all that is known");
    }
    let settings = challenge::Settings {
        prefix: setup.prefix.clone(),
        answer_seconds: setup.challenge_seconds,
        clearance_hours: u16::try_from(loaded.settings.limits.clearance_hours).unwrap_or(u16::MAX),
        binding: match setup.binding {
            Binding::Agent => challenge::Binding::Agent,
            Binding::Network => challenge::Binding::Network,
        },
        ..challenge::Settings::default()
    };
    let challenger =
        Challenger::new(keys, settings).map_err(|error| format!("no random numbers: {error}"))?;
    #[cfg(debug_assertions)]
    let challenger = without(challenger, setup);
    // The table's hash is keyed by chance: nobody can choose addresses that push each other out.
    let seed = std::hash::RandomState::new().hash_one(clock.now_ms());
    let (counters, saved_ms) = counters::restore(
        &state.join("counters"),
        setup.sources_max,
        seed,
        clock.now(),
    );
    let counters = Arc::new(counters);
    Ok(Gate {
        clock,
        live: ArcSwap::from_pointee(live(loaded, &counters)?),
        standing: ArcSwap::from_pointee(Standing::default()),
        counters,
        challenger,
        metrics: Metrics::default(),
        is_unwritten: AtomicBool::new(false),
        connections: AtomicUsize::new(0),
        suspects: ArcSwap::default(),
        has_crossed: AtomicBool::new(false),
        names: Names::default(),
        robots_txt: ArcSwap::default(),
        keyring: ArcSwap::default(),
        used: Used::default(),
        slots: Arc::default(),
        sign_ins: SignIns::new()?,
        markers: ArcSwapOption::empty(),
        users: UserNotes::default(),
        saved_ms,
        is_ending: AtomicBool::new(false),
    })
}

/// The signing keys; drawn where there are none.
fn open_keys(state: &Path, clock: &Clock) -> Result<Keys, String> {
    let keys =
        Keys::open(&state.join(KEYS), clock.now_ms() / 1000).map_err(|fault| fault.to_string())?;
    tracing::info!(key = keys.fingerprint(), "signing key");
    Ok(keys)
}

/// Draws a new signing key into a gate's folder and says how it is known in the log. The gate uses it from its next reload on.
///
/// Keys that only check are kept as long as what they have signed is good; `grace_seconds` of 0 drops them at once.
pub fn rotate_keys(state: &Path, grace_seconds: u64) -> Result<String, String> {
    let clock = Clock::start();
    let keys = Keys::rotate(&state.join(KEYS), clock.now_ms() / 1000, grace_seconds)
        .map_err(|fault| fault.to_string())?;
    Ok(keys.fingerprint().to_owned())
}

/// Switches off in tests what a test wants to see missing.
#[cfg(debug_assertions)]
fn without(mut challenger: Challenger, setup: &Setup) -> Challenger {
    let pairs = [
        (Defence::AskCookie, challenge::Defence::Asker),
        (Defence::Work, challenge::Defence::Difficulty),
        (Defence::Spent, challenge::Defence::SingleUse),
        (Defence::ClearanceBinding, challenge::Defence::Clearance),
        (Defence::Signature, challenge::Defence::Signature),
        (Defence::Restart, challenge::Defence::Start),
        (Defence::Expiry, challenge::Defence::Expiry),
        (
            Defence::ClearanceExpiry,
            challenge::Defence::ClearanceExpiry,
        ),
        (Defence::ReturnTo, challenge::Defence::ReturnTo),
        (
            Defence::CookieAttributes,
            challenge::Defence::CookieAttributes,
        ),
        (Defence::Stateless, challenge::Defence::Stateless),
        (Defence::CheapAnswers, challenge::Defence::CheapAnswers),
        (Defence::QuestionWait, challenge::Defence::Wait),
        (Defence::PersonalAnswer, challenge::Defence::PersonalAnswer),
    ];
    for (ours, theirs) in pairs {
        if !setup.defences.has(ours) {
            challenger = challenger.without(theirs);
        }
    }
    challenger
}

fn live(loaded: Loaded, counters: &Arc<Counters>) -> Result<Live, String> {
    let Loaded {
        setup,
        settings,
        crawlers,
    } = loaded;
    if setup.trust.is_open() {
        tracing::warn!(
            "trust_everybody is set: every client can claim any address and so evade limits and denials"
        );
    }
    Ok(Live {
        recorder: Recorder::new(settings.hash_key, &settings.listings)?,
        session_cookies: settings
            .session_cookies
            .into_iter()
            .map(String::into_bytes)
            .collect(),
        policy: Policy {
            limits: settings.limits,
            counters: Arc::clone(counters),
        },
        pages: Pages {
            prefix: setup.prefix.clone(),
            contact: setup.contact.clone(),
            template: template(&setup)?,
        },
        verifier: verifier(&setup)?,
        setup,
        crawlers,
    })
}

/// What checks the tokens of signed-in people, if they have any.
fn verifier(setup: &Setup) -> Result<Option<Verifier>, String> {
    let Some(Way::Token(token)) = &setup.sign_in.way else {
        return Ok(None);
    };
    let keys = TokenKeys::open(&token.key_file, token.algorithm)
        .map_err(|error| format!("[gate.sign_in]: {error}"))?;
    tracing::info!(
        keys = keys.count(),
        algorithm = keys.algorithm().name(),
        "read the keys of signed-in people"
    );
    Ok(Some(match &token.expected {
        Some(expected) => Verifier::Jwt(keys, expected.clone()),
        None => Verifier::Stamp(keys),
    }))
}

/// The owner's frame around the pages, if there is one.
fn template(setup: &Setup) -> Result<Option<Template>, String> {
    let Some(path) = &setup.template else {
        return Ok(None);
    };
    let named = format!("template = {}", path.display());
    let text = fs::read_to_string(path).map_err(|error| {
        format!("{named}: cannot be read: {error}; name an HTML file in UTF-8, or remove the line for the gate's own pages")
    })?;
    let parsed = Template::parse(&text);
    parsed
        .map(Some)
        .map_err(|error| format!("{named}: {error} (docs/gate.md, Pages)"))
}

#[derive(Default)]
struct Threads(Vec<JoinHandle<()>>);

impl Threads {
    fn start(&mut self, name: &str, run: impl FnOnce() + Send + 'static) -> Result<(), String> {
        let started = thread::Builder::new().name(name.to_owned()).spawn(run);
        self.0
            .push(started.map_err(|error| format!("cannot start the thread {name}: {error}"))?);
        Ok(())
    }

    fn join(self) {
        for thread in self.0 {
            // A thread that panicked has said so already.
            let _ = thread.join();
        }
    }
}

/// The threads beside the workers: the log, learning, the knowledge base.
fn start_helpers(
    threads: &mut Threads,
    gate: &Arc<Gate>,
    learner: Learner,
    (log, lines, reopen): (PathBuf, mpsc::Receiver<Vec<u8>>, Arc<AtomicBool>),
    knowledge: PathBuf,
) -> Result<(), String> {
    if let Some(folder) = log.parent() {
        fs::create_dir_all(folder).map_err(|error| {
            format!("log = {}: cannot create the folder: {error}", log.display())
        })?;
    }
    let (to_learn, learned) = mpsc::sync_channel::<Vec<u8>>(BLOCKS_MAX);
    let shared = Arc::clone(gate);
    threads.start("log", move || {
        learn::write_log(&log, &lines, &to_learn, &shared, &reopen)
    })?;
    let (shared, judge) = (Arc::clone(gate), learner.paths.clone());
    threads.start("users", move || users::keep(&judge, &shared))?;
    let shared = Arc::clone(gate);
    let path = knowledge.clone();
    threads.start("learn", move || {
        learn::learn(learner, learned, &shared, &path)
    })?;
    let shared = Arc::clone(gate);
    threads.start("names", move || names::look_up(&shared))?;
    let shared = Arc::clone(gate);
    threads.start("directories", move || directories::keep(&shared))?;
    let shared = Arc::clone(gate);
    threads.start("robots.txt", move || robots_txt::keep(&shared))?;
    let shared = Arc::clone(gate);
    threads.start("knowledge base", move || {
        knowledge::watch(&knowledge, &shared)
    })
}
