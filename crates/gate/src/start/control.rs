//! The thread that waits for signals: it hands listeners to workers, reloads the settings, and stops.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::time::Duration;
use std::time::Instant;

use tokio::signal::unix::SignalKind;
use tokio::signal::unix::signal;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::watch;

use super::Load;
use super::Threads;
use super::live;
use super::open_keys;
use crate::background::admin;
use crate::door::listen;
use crate::door::listen::Bound;
use crate::door::listen::Listener;
use crate::door::tls;
use crate::settings::Mode;
use crate::settings::Setup;
use crate::site::Pool;
use crate::state::Gate;
use crate::state::Worker;
use crate::state::clock::Steps;
use crate::state::log::Lines;

/// Lines are in the log after this long.
const TICK: Duration = Duration::from_millis(100);

/// How often the keys of markers are read, and a new one is drawn where it is time: well within the time before a new one seals.
const KEYS_EVERY: Duration = Duration::from_secs(3600);

/// A listener with its sockets, one for each worker.
pub(super) type Sockets = (Arc<Listener>, Vec<Bound>);

/// What a worker is told.
enum Message {
    Listen(Bound, Arc<Listener>, watch::Receiver<bool>),
    Stop(Instant),
}

struct Listening {
    listener: Arc<Listener>,
    stop: watch::Sender<bool>,
}

/// The gate in the hands of its owner.
pub(super) struct Control {
    gate: Arc<Gate>,
    load: Load,
    workers: Vec<UnboundedSender<Message>>,
    listeners: Vec<Listening>,
    /// The access log is to be opened again.
    reopen: Arc<AtomicBool>,
}

impl Control {
    /// Controls a gate that has no workers and listeners yet.
    pub(super) fn new(gate: &Arc<Gate>, load: Load, reopen: Arc<AtomicBool>) -> Control {
        Control {
            gate: Arc::clone(gate),
            load,
            workers: Vec::new(),
            listeners: Vec::new(),
            reopen,
        }
    }

    pub(super) fn bind_all(&self, workers: usize) -> Result<Vec<Sockets>, String> {
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

    pub(super) fn start_worker(
        &mut self,
        number: usize,
        to_log: mpsc::SyncSender<Vec<u8>>,
        threads: &mut Threads,
    ) -> Result<(), String> {
        let (tell, messages) = tokio::sync::mpsc::unbounded_channel();
        self.workers.push(tell);
        let worker = Arc::new(Worker {
            gate: Arc::clone(&self.gate),
            pool: Pool::default(),
            lines: Lines::new(to_log),
        });
        threads.start(&format!("worker {number}"), move || work(worker, messages))
    }

    pub(super) fn hand_out(&mut self, bound: Vec<Sockets>) {
        for (listener, sockets) in bound {
            tracing::info!(address = %listener.listen.address, "listening");
            let (stop, stopped) = watch::channel(false);
            for (worker, socket) in self.workers.iter().zip(sockets) {
                // A worker that has ended takes no more connections.
                let _ = worker.send(Message::Listen(
                    socket,
                    Arc::clone(&listener),
                    stopped.clone(),
                ));
            }
            self.listeners.push(Listening { listener, stop });
        }
    }

    /// Waits for signals, and keeps the clock.
    pub(super) async fn run(&mut self, admin: Option<std::net::TcpListener>) -> Result<(), String> {
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
        let mut hour = tokio::time::interval(KEYS_EVERY);
        hour.reset();
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
                _ = hour.tick() => self.gate.renew_marker_keys(),
                _ = second.tick() => self.gate.clock.look(&mut steps),
            }
        }
        self.stop();
        Ok(())
    }

    fn stop(&mut self) {
        tracing::info!("stopping: finishing requests in progress");
        let deadline = Instant::now() + self.gate.live.load().setup.waits.stop;
        for listening in &self.listeners {
            listening.stop.send_replace(true);
        }
        for worker in self.workers.drain(..) {
            let _ = worker.send(Message::Stop(deadline));
        }
    }

    /// Reads the settings anew. Whatever is wrong with them, the old ones stay.
    fn reload(&mut self) {
        match self.try_reload() {
            Ok(()) => {
                self.gate.metrics.reload_failed.set(0);
                self.gate.metrics.reloads.inc();
                self.gate.renew_marker_keys();
                tracing::info!("the new settings are in force");
            }
            Err(errors) => {
                self.gate.metrics.reload_failed.set(1);
                for error in errors {
                    tracing::error!("reload failed, the old settings stay in force: {error}");
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
                    let tls = tls::load(listen).map_err(one)?;
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

    /// Some settings hold for the whole life of a process: a new value is reported and ignored. Keys, counters and the knowledge base
    /// stay in the folder that the gate was started with, or the next reload would sign with other keys and void every clearance; a new
    /// prefix would lead browsers to pages that challenges do not know.
    fn keep_for_life(&self, new: &mut Setup) {
        let live = self.gate.live.load();
        let old = &live.setup;
        let changed = [
            ("state", keep(&mut new.state, &old.state)),
            ("log", keep(&mut new.log, &old.log)),
            ("admin", keep(&mut new.admin, &old.admin)),
            ("workers", keep(&mut new.workers, &old.workers)),
            ("prefix", keep(&mut new.prefix, &old.prefix)),
            ("sources_max", keep(&mut new.sources_max, &old.sources_max)),
            (
                "[gate.challenge] seconds",
                keep(&mut new.challenge_seconds, &old.challenge_seconds),
            ),
            (
                "[gate.challenge] binding",
                keep(&mut new.binding, &old.binding),
            ),
        ];
        for (name, _) in changed.iter().filter(|(_, changed)| *changed) {
            tracing::warn!("{name} has changed: the new value is ignored until a restart");
        }
    }
}

/// Replaces a new value by the old one; true where they differ.
fn keep<T: Clone + PartialEq>(new: &mut T, old: &T) -> bool {
    let is_changed = new != old;
    new.clone_from(old);
    is_changed
}

/// The life of one worker.
fn work(worker: Arc<Worker>, mut messages: UnboundedReceiver<Message>) {
    let runtime = match tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            tracing::error!(%error, "cannot start a worker");
            return;
        }
    };
    runtime.block_on(async {
        let mut tick = tokio::time::interval(TICK);
        let mut ticks = 0_u32;
        let deadline = loop {
            tokio::select! {
                message = messages.recv() => match message {
                    Some(Message::Listen(bound, listener, stop)) => {
                        tokio::spawn(listen::accept(bound, listener, Arc::clone(&worker), stop));
                    }
                    Some(Message::Stop(deadline)) => break deadline,
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
