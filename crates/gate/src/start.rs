//! Starts the gate, reloads its settings, and ends it in good order.

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
use std::time::Duration;
use std::time::Instant;

use arc_swap::ArcSwap;
use cattlegrid_core::Settings;
use cattlegrid_core::policy::Counters;
use cattlegrid_core::policy::Policy;
use cattlegrid_core::policy::Standing;
use cattlegrid_core::profile::Lens;
use tokio::signal::unix::SignalKind;
use tokio::signal::unix::signal;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::watch;

use crate::admin;
use crate::base;
use crate::challenge;
use crate::challenge::Challenger;
use crate::challenge::Keys;
use crate::challenge::Pages;
use crate::clock::Clock;
use crate::clock::Steps;
use crate::config::Binding;
use crate::config::Mode;
use crate::config::Setup;
use crate::defence::Defence;
use crate::gate::Gate;
use crate::gate::Live;
use crate::learn;
use crate::learn::Learner;
use crate::listen;
use crate::listen::Bound;
use crate::listen::Listener;
use crate::log::Lines;
use crate::metrics::Metrics;
use crate::saved;
use crate::upstream::Pool;
use crate::worker::Worker;

/// Blocks of log lines that wait at most, each of 64 KiB.
const BLOCKS_MAX: usize = 512;
/// Lines are in the log after this long.
const TICK: Duration = Duration::from_millis(100);
/// The file of signing keys, in the gate's folder.
const KEYS: &str = "keys";

/// The settings file, read and checked.
#[derive(Debug)]
pub struct Loaded {
    /// The `[gate]` part.
    pub setup: Setup,
    /// The rest.
    pub settings: Settings,
}

/// Reads the settings file; all errors at once.
pub type Load = Box<dyn Fn() -> Result<Loaded, Vec<String>> + Send>;

/// Looks at what settings name outside of the file, and binds nothing.
pub fn check(loaded: &Loaded) -> Vec<String> {
    let listeners = loaded.setup.listen.iter().map(Listener::new);
    listeners.filter_map(Result::err).collect()
}

/// Runs the gate until a signal ends it.
pub fn run(load: Load, learner: Learner) -> Result<(), Vec<String>> {
    let loaded = load()?;
    let one = |error: String| vec![error];
    let state = loaded.setup.state.clone();
    fs::create_dir_all(&state).map_err(|error| {
        one(format!(
            "state = {}: the folder cannot be made: {error}",
            state.display()
        ))
    })?;
    let log = loaded.setup.log.clone();
    let workers = match loaded.setup.workers {
        0 => thread::available_parallelism().map_or(1, usize::from),
        workers => workers,
    };
    let gate = Arc::new(make(loaded, &state).map_err(one)?);
    let knowledge = state.join("kb.sqlite");
    let standing = base::read(&knowledge, &gate).map_err(|fault| one(fault.to_string()))?;
    gate.standing.store(Arc::new(standing));
    saved::recount(&log, &gate);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| one(format!("no runtime: {error}")))?;
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
        .start("counters", move || saved::keep(&path, &shared, &ended))
        .map_err(one)?;
    let mut control = Control {
        gate: Arc::clone(&gate),
        load,
        workers: Vec::new(),
        listeners: Vec::new(),
        reopen,
    };
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
    let saved = saved::save(&counters, &gate.counters, gate.clock.now_ms());
    saved.map_err(|error| {
        one(format!(
            "{}: counters cannot be saved: {error}",
            counters.display()
        ))
    })
}

/// Makes what all threads share.
fn make(loaded: Loaded, state: &Path) -> Result<Gate, String> {
    let setup = &loaded.setup;
    let clock = match setup.clock {
        None if !setup.defences.has(Defence::SteadyClock) => Clock::leaping(),
        None => Clock::start(),
        Some((start, speed)) => Clock::fast(start, speed),
    };
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
    let (counters, saved_ms) = saved::restore(
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
        connections: AtomicUsize::new(0),
        has_crossed: AtomicBool::new(false),
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
    ];
    for (ours, theirs) in pairs {
        if !setup.defences.has(ours) {
            challenger = challenger.without(theirs);
        }
    }
    challenger
}

fn live(loaded: Loaded, counters: &Arc<Counters>) -> Result<Live, String> {
    let Loaded { setup, settings } = loaded;
    if setup.trust.is_open() {
        tracing::warn!(
            "trust_everybody is set: whoever reaches the gate can name any address as its own, and pass limits and denials by that"
        );
    }
    Ok(Live {
        lens: Lens::new(settings.hash_key, &settings.listings)?,
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
        },
        setup,
    })
}

#[derive(Default)]
struct Threads(Vec<JoinHandle<()>>);

impl Threads {
    fn start(&mut self, name: &str, run: impl FnOnce() + Send + 'static) -> Result<(), String> {
        let started = thread::Builder::new().name(name.to_owned()).spawn(run);
        self.0
            .push(started.map_err(|error| format!("no thread for {name}: {error}"))?);
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
            format!(
                "log = {}: the folder cannot be made: {error}",
                log.display()
            )
        })?;
    }
    let (to_learn, learned) = mpsc::sync_channel::<Vec<u8>>(BLOCKS_MAX);
    let shared = Arc::clone(gate);
    threads.start("log", move || {
        learn::write_log(&log, &lines, &to_learn, &shared, &reopen)
    })?;
    let shared = Arc::clone(gate);
    let path = knowledge.clone();
    threads.start("learn", move || {
        learn::learn(learner, learned, &shared, &path)
    })?;
    let shared = Arc::clone(gate);
    threads.start("knowledge base", move || base::watch(&knowledge, &shared))
}

/// A listener with its sockets, one for each worker.
type Sockets = (Arc<Listener>, Vec<Bound>);

/// What a worker is told.
enum Told {
    Listen(Bound, Arc<Listener>, watch::Receiver<bool>),
    Stop(Instant),
}

struct Listening {
    listener: Arc<Listener>,
    stop: watch::Sender<bool>,
}

struct Control {
    gate: Arc<Gate>,
    load: Load,
    workers: Vec<UnboundedSender<Told>>,
    listeners: Vec<Listening>,
    reopen: Arc<AtomicBool>,
}

impl Control {
    fn bind_all(&self, workers: usize) -> Result<Vec<Sockets>, String> {
        let live = self.gate.live.load();
        let listeners = live.setup.listen.iter();
        listeners
            .map(|listen| {
                Ok((
                    Arc::new(Listener::new(listen)?),
                    listen::bind(listen, workers)?,
                ))
            })
            .collect()
    }

    fn start_worker(
        &mut self,
        number: usize,
        to_log: mpsc::SyncSender<Vec<u8>>,
        threads: &mut Threads,
    ) -> Result<(), String> {
        let (tell, told) = tokio::sync::mpsc::unbounded_channel();
        self.workers.push(tell);
        let worker = Arc::new(Worker {
            gate: Arc::clone(&self.gate),
            pool: Pool::default(),
            lines: Lines::new(to_log),
        });
        threads.start(&format!("worker {number}"), move || work(worker, told))
    }

    fn hand_out(&mut self, bound: Vec<Sockets>) {
        for (listener, sockets) in bound {
            tracing::info!(address = %listener.listen.address, "listening");
            let (stop, stopped) = watch::channel(false);
            for (worker, socket) in self.workers.iter().zip(sockets) {
                // A worker that has ended takes no more connections.
                let _ = worker.send(Told::Listen(socket, Arc::clone(&listener), stopped.clone()));
            }
            self.listeners.push(Listening { listener, stop });
        }
    }

    /// Waits for signals, and keeps the clock.
    async fn run(&mut self, admin: Option<std::net::TcpListener>) -> Result<(), String> {
        let failed = |error: std::io::Error| format!("signals cannot be waited for: {error}");
        let mut hangup = signal(SignalKind::hangup()).map_err(failed)?;
        let mut reopen = signal(SignalKind::user_defined1()).map_err(failed)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
        if let Some(admin) = admin {
            let listener = tokio::net::TcpListener::from_std(admin).map_err(failed)?;
            tokio::spawn(admin::serve(listener, Arc::clone(&self.gate)));
        }
        let mut second = tokio::time::interval(Duration::from_secs(1));
        let mut steps = Steps::default();
        match self.gate.live.load().setup.mode {
            Mode::Shadow => tracing::info!(
                "ready, in shadow mode: everything passes, and the log says what would have been decided"
            ),
            Mode::Enforce => tracing::info!("ready"),
        }
        loop {
            tokio::select! {
                _ = hangup.recv() => self.reload(),
                _ = reopen.recv() => self.reopen.store(true, Ordering::Relaxed),
                _ = terminate.recv() => break,
                _ = interrupt.recv() => break,
                _ = second.tick() => self.gate.clock.look(&mut steps),
            }
        }
        self.stop();
        Ok(())
    }

    fn stop(&mut self) {
        tracing::info!("stopping: requests under way are finished");
        let deadline = Instant::now() + self.gate.live.load().setup.waits.stop;
        for listening in &self.listeners {
            listening.stop.send_replace(true);
        }
        for worker in self.workers.drain(..) {
            let _ = worker.send(Told::Stop(deadline));
        }
    }

    /// Reads the settings anew. Whatever is wrong with them, the old ones stay.
    fn reload(&mut self) {
        match self.try_reload() {
            Ok(()) => {
                self.gate.metrics.reload_failed.set(0);
                self.gate.metrics.reloads.inc();
                tracing::info!("the new settings are in force");
            }
            Err(errors) => {
                self.gate.metrics.reload_failed.set(1);
                for error in errors {
                    tracing::error!("the settings were not reloaded, the old ones stay: {error}");
                }
            }
        }
    }

    fn try_reload(&mut self) -> Result<(), Vec<String>> {
        let one = |error: String| vec![error];
        let mut loaded = (self.load)()?;
        self.keep_for_life(&mut loaded.setup);
        let wanted = loaded.setup.listen.clone();
        let mut certificates = Vec::new();
        let mut new = Vec::new();
        for listen in &wanted {
            let known = self
                .listeners
                .iter()
                .find(|known| known.listener.listen == *listen);
            match known {
                Some(known) => {
                    let tls = listen::load_tls(listen).map_err(one)?;
                    certificates.extend(tls.map(|tls| (Arc::clone(&known.listener), tls)));
                }
                None => {
                    let listener = Arc::new(Listener::new(listen).map_err(one)?);
                    new.push((
                        listener,
                        listen::bind(listen, self.workers.len()).map_err(one)?,
                    ));
                }
            }
        }
        let keys = open_keys(&loaded.setup.state, &self.gate.clock).map_err(one)?;
        let live = live(loaded, &self.gate.counters).map_err(one)?;
        // From here on nothing can fail.
        self.gate.challenger.replace_keys(keys);
        self.gate.live.store(Arc::new(live));
        for (listener, tls) in certificates {
            if let Some(place) = &listener.tls {
                place.store(Arc::new(tls));
            }
        }
        self.listeners.retain(|known| {
            let stays = wanted.contains(&known.listener.listen);
            if !stays {
                known.stop.send_replace(true);
            }
            stays
        });
        self.hand_out(new);
        Ok(())
    }

    /// Some settings are for the whole life of a process: new values are told and not taken. Keys, counters and the knowledge base stay in
    /// the folder that the gate was started with, or the next reload would sign with other keys and void every clearance.
    fn keep_for_life(&self, new: &mut Setup) {
        let live = self.gate.live.load();
        let old = &live.setup;
        let changed = [
            ("state", old.state != new.state),
            ("log", old.log != new.log),
            ("admin", old.admin != new.admin),
            ("workers", old.workers != new.workers),
            ("prefix", old.prefix != new.prefix),
            ("sources_max", old.sources_max != new.sources_max),
            (
                "[gate.challenge]",
                old.challenge_seconds != new.challenge_seconds || old.binding != new.binding,
            ),
        ];
        for (name, _) in changed.iter().filter(|(_, changed)| *changed) {
            tracing::warn!("{name} has changed: the new value is ignored until a restart");
        }
        new.state.clone_from(&old.state);
        new.log.clone_from(&old.log);
    }
}

/// The life of one worker.
fn work(worker: Arc<Worker>, mut told: UnboundedReceiver<Told>) {
    let runtime = match tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            tracing::error!(%error, "a worker cannot run");
            return;
        }
    };
    runtime.block_on(async {
        let mut tick = tokio::time::interval(TICK);
        let mut ticks = 0_u32;
        let deadline = loop {
            tokio::select! {
                message = told.recv() => match message {
                    Some(Told::Listen(bound, listener, stop)) => {
                        tokio::spawn(listen::accept(bound, listener, Arc::clone(&worker), stop));
                    }
                    Some(Told::Stop(deadline)) => break deadline,
                    None => break Instant::now(),
                },
                _ = tick.tick() => {
                    worker.lines.tick(&worker.gate.metrics);
                    ticks = ticks.wrapping_add(1);
                    if ticks.is_multiple_of(20) {
                        worker.pool.tidy();
                    }
                }
            }
        };
        while worker.gate.connections.load(Ordering::Relaxed) > 0 && Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(20)).await;
            worker.lines.tick(&worker.gate.metrics);
        }
    });
    drop(runtime);
    worker.lines.tick(&worker.gate.metrics);
}
