//! A well-behaved client that must not notice what is done to the gate meanwhile.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::thread;
use std::thread::JoinHandle;
use std::time::Duration;
use std::time::Instant;

use super::clients::try_get_from;
use super::gate::VICTIM;
use super::origin::Origin;

/// A well-behaved client that asks twenty pages a second while a case runs, and a witness that asks a server without a gate meanwhile: what
/// it waits, too, is the machine's doing.
pub(crate) struct Victim {
    stop: Arc<AtomicBool>,
    victim: JoinHandle<Vec<Result<Duration, String>>>,
    witness: JoinHandle<Vec<Result<Duration, String>>>,
    idle: Duration,
    processors: Processors,
}

/// Time that processors had since the machine started, and that another machine had them instead.
struct Processors {
    all: f64,
    stolen: f64,
}

impl Processors {
    fn now() -> Processors {
        let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
        let first = text.lines().next().unwrap_or_default();
        let times: Vec<f64> = first
            .split_whitespace()
            .filter_map(|field| field.parse().ok())
            .collect();
        Processors {
            all: times.iter().take(8).sum(),
            stolen: times.get(7).copied().unwrap_or(0.0),
        }
    }

    /// How many times slower the machine was since then than one that has its processors for itself.
    fn slower_since(&self) -> f64 {
        let now = Processors::now();
        let (all, stolen) = (now.all - self.all, now.stolen - self.stolen);
        (all / (all - stolen).max(1.0)).clamp(1.0, 10.0)
    }
}

impl Victim {
    /// Begins, after a look at how fast answers are when nothing happens.
    pub(crate) fn start(address: SocketAddr) -> Victim {
        let mut idle: Vec<Duration> = (0..40).map(|_| ask(address).unwrap()).collect();
        idle.sort();
        let stop = Arc::new(AtomicBool::new(false));
        let bare = Origin::start().address;
        Victim {
            victim: keep_asking(address, Duration::from_millis(50), Arc::clone(&stop)),
            // Often, so that it meets every moment in which the machine stands still.
            witness: keep_asking(bare, Duration::from_millis(10), Arc::clone(&stop)),
            stop,
            idle: idle[39],
            processors: Processors::now(),
        }
    }

    /// Ends: every answer was right, and nearly all came soon.
    pub(crate) fn check(self) {
        self.stop.store(true, Ordering::Relaxed);
        let results = self.victim.join().unwrap();
        let mut times: Vec<Duration> = results
            .into_iter()
            .map(|result| result.unwrap_or_else(|error| panic!("the victim: {error}")))
            .collect();
        let witnessed = self.witness.join().unwrap();
        let stood_still = witnessed.into_iter().flatten().max().unwrap_or_default();
        if times.is_empty() {
            return;
        }
        times.sort();
        let slow = times[(times.len() - 1) * 99 / 100];
        // Through the gate there are two servers on the way.
        let allowed = Duration::from_millis(allowed_ms()).mul_f64(self.processors.slower_since());
        let most = (2 * self.idle).max(allowed) + 2 * stood_still;
        assert!(
            slow <= most,
            "the victim waited {slow:?} at the 99th percentile, at most {most:?} is allowed where others wait {stood_still:?}"
        );
    }
}

/// Asks for pages until it is told to stop.
fn keep_asking(
    address: SocketAddr,
    pause: Duration,
    stop: Arc<AtomicBool>,
) -> JoinHandle<Vec<Result<Duration, String>>> {
    thread::spawn(move || {
        let mut results = Vec::new();
        while !stop.load(Ordering::Relaxed) {
            results.push(ask(address));
            thread::sleep(pause);
        }
        results
    })
}

/// Milliseconds a victim may wait. Machines that run many tests at once give more.
fn allowed_ms() -> u64 {
    std::env::var("CATTLEGRID_VICTIM_MS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(250)
}

fn ask(address: SocketAddr) -> Result<Duration, String> {
    let asked = Instant::now();
    let answer =
        try_get_from(VICTIM, address, "/victim", &[]).map_err(|error| error.to_string())?;
    match answer.status == 200 && answer.text().contains("/victim") {
        true => Ok(asked.elapsed()),
        false => Err(format!("{}: {}", answer.status, answer.text())),
    }
}
