//! New settings while requests go on, the end of the gate, and a log that is moved away.

use std::fs;
use std::net::SocketAddr;
use std::net::TcpListener;
use std::net::TcpStream;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;
use std::thread;
use std::thread::JoinHandle;
use std::time::Duration;
use std::time::Instant;

use crate::challenge::strict;
use crate::clearance::cleared;
use crate::harness::Client;
use crate::harness::Gate;
use crate::harness::Origin;
use crate::harness::VICTIM;
use crate::harness::Victim;
use crate::harness::Wanted;
use crate::harness::free_port;
use crate::harness::get;
use crate::harness::get_from;
use crate::harness::request;
use crate::harness::say;
use crate::harness::wait_for;
use crate::upstream::rough;

/// Requests without a pause, on kept and on new connections.
struct Load {
    stop: Arc<AtomicBool>,
    asked: Arc<AtomicUsize>,
    threads: Vec<JoinHandle<Vec<String>>>,
}

impl Load {
    fn start(address: SocketAddr) -> Load {
        let (stop, asked) = (Arc::new(AtomicBool::new(false)), Arc::default());
        let threads = (0..2)
            .map(|_| {
                let (stop, asked) = (Arc::clone(&stop), Arc::clone(&asked));
                thread::spawn(move || press(address, &stop, &asked))
            })
            .collect();
        Load {
            stop,
            asked,
            threads,
        }
    }

    /// How many requests were made; none may have failed.
    fn check(self) -> usize {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads {
            assert_eq!(thread.join().unwrap(), Vec::<String>::new());
        }
        self.asked.load(Ordering::Relaxed)
    }
}

fn press(address: SocketAddr, stop: &AtomicBool, asked: &AtomicUsize) -> Vec<String> {
    let mut failures = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let mut client = match Client::connect(VICTIM, address) {
            Ok(client) => client,
            Err(error) => {
                failures.push(error.to_string());
                continue;
            }
        };
        for _ in 0..10 {
            asked.fetch_add(1, Ordering::Relaxed);
            match client.get("/load", &[]) {
                Ok(answer) if answer.status == 200 => {}
                Ok(answer) => failures.push(answer.status.to_string()),
                Err(error) => {
                    failures.push(error.to_string());
                    break;
                }
            }
        }
    }
    failures
}

fn write(gate: &Gate, text: &str) {
    fs::write(gate.path("gate.toml"), text).unwrap();
}

fn is_reload_failed(gate: &Gate) -> bool {
    gate.metric("cattlegrid_reload_failed") == Some(1.0)
}

fn reloads(gate: &Gate) -> f64 {
    gate.metric("cattlegrid_reloads_total").unwrap_or(0.0)
}

/// Reloads settings that are sound.
fn reload(gate: &Gate, text: &str) {
    let before = reloads(gate);
    write(gate, text);
    gate.signal("HUP");
    wait_for("the new settings are in force", || reloads(gate) > before);
}

/// What `check` says of the settings, and whether it finds them sound.
fn check(gate: &Gate) -> (Option<i32>, String) {
    let said = Command::new(env!("CARGO_BIN_EXE_cattlegrid"))
        .arg("check")
        .arg("--config")
        .arg(gate.path("gate.toml"))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    (said.status.code(), text)
}

/// Settings that are wrong, made of sound ones, and what must be said of each.
fn wrong(good: &str) -> Vec<(&'static str, String, &'static str)> {
    // Were any of it taken, all requests would fail.
    let other = good.replace(
        "upstream = \"http://",
        "upstream = \"http://127.0.0.1:9\" #",
    );
    assert_ne!(other, good);
    let tls = "certificate = \"/nonexistent/a.pem\"\nkey = \"/nonexistent/a.key\"\n[[gate.site]]";
    vec![
        (
            "typo",
            other.replace("[[gate.site]]", "[[gate.site]"),
            "line ",
        ),
        (
            "unknown key",
            other.replace("[gate]\n", "[gate]\nmodus = \"enforce\"\n"),
            "line 2",
        ),
        (
            "unknown key of the rest",
            format!("{other}\n[policy]\nk3 = 4\n"),
            "line ",
        ),
        (
            "bad network",
            format!("{other}\n[[gate.rule]]\nnetworks = [\"300.1.2.3/8\"]\naction = \"pass\"\n"),
            "line ",
        ),
        (
            "no certificate",
            other.replace("[[gate.site]]", tls),
            "line ",
        ),
        (
            "wrong type",
            other.replace("[gate]\n", "[gate]\nworkers = \"two\"\n"),
            "line 2",
        ),
        (
            "k1 above k2",
            format!("{other}\n[policy]\nk1 = 9\nk2 = 2\n"),
            "line ",
        ),
        ("nothing", String::new(), "there is no [gate] part"),
    ]
}

#[test]
fn h076_settings_that_are_wrong_change_nothing() {
    let origin = Origin::start();
    let mut gate = Gate::start(&origin);
    let good = fs::read_to_string(gate.path("gate.toml")).unwrap();
    let before = gate.before();
    let load = Load::start(gate.address);
    for (what, text, message) in wrong(&good) {
        let said = gate.stderr().len();
        write(&gate, &text);
        gate.signal("HUP");
        wait_for("the reload is refused", || is_reload_failed(&gate));
        let stderr = gate.stderr()[said..].to_owned();
        assert!(
            stderr.contains("the old settings stay in force"),
            "{what}: {stderr}"
        );
        assert!(stderr.contains(message), "{what}: {stderr}");
        let (code, found) = check(&gate);
        assert_eq!(code, Some(1), "{what}");
        assert!(found.contains("gate.toml"), "{what}: {found}");
        assert!(found.contains(message), "{what}: {found}");
        write(&gate, &good);
        gate.signal("HUP");
        wait_for("the reload is carried out", || !is_reload_failed(&gate));
        assert_eq!(check(&gate).0, Some(0));
    }
    let asked = load.check();
    say(&format!("{asked} requests meanwhile, none failed"));
    gate.check_after(&before);
    // The measure is sharp: the same settings without the error make requests fail.
    let other = good.replace(
        "upstream = \"http://",
        "upstream = \"http://127.0.0.1:9\" #",
    );
    reload(&gate, &other);
    assert_eq!(get_from(VICTIM, gate.address, "/x", &[]).status, 502);
}

#[test]
fn h076_settings_that_are_sound_cost_no_request() {
    let origin = Origin::start();
    let mut gate = Gate::start(&origin);
    let good = fs::read_to_string(gate.path("gate.toml")).unwrap();
    let before = gate.before();
    let victim = Victim::start(gate.address);
    let load = Load::start(gate.address);
    for round in 0..20 {
        reload(&gate, &format!("{good}\n[policy]\nk1 = {}\n", 20 + round));
    }
    let asked = load.check();
    say(&format!("{asked} requests during 20 reloads, none failed"));
    victim.check();
    gate.check_after(&before);
}

#[test]
fn a_reload_adds_and_removes_listeners_and_changes_limits() {
    let site = rough(TcpListener::bind("127.0.0.1:0").unwrap());
    let parts = format!("[[gate.site]]\nhosts = [\"*\"]\nupstream = \"http://{site}\"\n");
    let gate = Gate::with(
        &Origin::start(),
        Wanted {
            parts,
            ..Wanted::default()
        },
    );
    let good = fs::read_to_string(gate.path("gate.toml")).unwrap();
    let second: SocketAddr = format!("127.0.0.1:{}", free_port()).parse().unwrap();
    let more = format!("[[gate.listen]]\naddress = \"{second}\"\n[[gate.site]]");
    let changed = good.replace("[[gate.site]]", &more);
    let load = Load::start(gate.address);
    reload(&gate, &format!("{changed}\n[policy]\nk1 = 5\n"));
    let statuses: Vec<u16> = (0..6)
        .map(|page| get_from("127.0.0.77", second, &format!("/{page}"), &[]).status)
        .collect();
    assert_eq!(statuses, [200, 200, 200, 200, 200, 403]);
    // A download on a listener that is removed goes on to its end.
    let mut client = Client::connect(VICTIM, second).unwrap();
    client.send(&request("GET", "/slow", &[])).unwrap();
    wait_for("it has begun", || client.stream.peek(&mut [0]).is_ok());
    reload(&gate, &good);
    wait_for("nobody listens there", || {
        TcpStream::connect(second).is_err()
    });
    assert_eq!(client.answer(false).unwrap().body.len(), 20_000);
    // Pages that were counted stay counted; the limit is the old one.
    assert_eq!(get_from("127.0.0.77", gate.address, "/7", &[]).status, 200);
    load.check();
}

/// Tells the gate to stop while a download runs. The length of what came, if it came whole, and the status of the end.
fn stops_while_loading(gate: &mut Gate) -> (Option<usize>, Option<i32>) {
    let mut client = Client::connect(VICTIM, gate.address).unwrap();
    client.send(&request("GET", "/slow", &[])).unwrap();
    wait_for("it has begun", || client.stream.peek(&mut [0]).is_ok());
    let mut kept = Client::connect(VICTIM, gate.address).unwrap();
    assert_eq!(kept.get("/kept", &[]).unwrap().status, 200);
    gate.signal("TERM");
    let address = gate.address;
    wait_for("nobody listens", || TcpStream::connect(address).is_err());
    let body = client.answer(false).ok().map(|answer| answer.body.len());
    let mut code = None;
    wait_for("it ends", || {
        code = gate.ended();
        code.is_some()
    });
    (body, code.and_then(|status| status.code()))
}

#[test]
fn requests_under_way_are_finished_before_the_end() {
    let site = rough(TcpListener::bind("127.0.0.1:0").unwrap());
    let start = |stop: &str| {
        let parts = format!("[[gate.site]]\nhosts = [\"*\"]\nupstream = \"http://{site}\"\n");
        Gate::with(
            &Origin::start(),
            Wanted {
                gate: format!("timeouts = {{ stop = {stop} }}\n"),
                parts,
                ..Wanted::default()
            },
        )
    };
    let mut gate = start("20.0");
    let began = Instant::now();
    assert_eq!(stops_while_loading(&mut gate), (Some(20_000), Some(0)));
    // Connections that are kept and not used hold nobody up.
    assert!(began.elapsed() < Duration::from_secs(10));
    let lines = gate.log();
    assert!(lines.iter().any(|line| line["target"] == "/slow"));
    let mut hasty = start("0.2");
    assert_eq!(stops_while_loading(&mut hasty).0, None);
}

#[test]
fn a_log_that_was_moved_away_is_opened_anew() {
    let origin = Origin::start();
    let gate = Gate::start(&origin);
    get(gate.address, "/before", &[]);
    wait_for("the first is in the log", || {
        gate.log().iter().any(|line| line["target"] == "/before")
    });
    let (log, old) = (
        gate.path("state/access.log"),
        gate.path("state/access.log.1"),
    );
    fs::rename(&log, &old).unwrap();
    get(gate.address, "/between", &[]);
    wait_for("what comes before the signal is in the old log", || {
        fs::read_to_string(&old).unwrap().contains("/between")
    });
    assert!(!log.exists());
    gate.signal("USR1");
    wait_for("there is a new log", || log.exists());
    get(gate.address, "/after", &[]);
    wait_for("the next is in the new log", || {
        gate.log().iter().any(|line| line["target"] == "/after")
    });
    assert!(!fs::read_to_string(&old).unwrap().contains("/after"));
}

/// H199. The folder that a gate was started with stays for its life: a reload with another one, be it unwritable, changes nothing of it,
/// the next reload works, and no clearance is void.
#[test]
fn h199_another_state_folder_waits_for_a_restart() {
    let origin = Origin::start();
    let mut gate = Gate::with(&origin, strict(""));
    let good = fs::read_to_string(gate.path("gate.toml")).unwrap();
    let mut browser = cleared(&gate, "127.0.1.1");
    let before = gate.before();
    let state = format!("state = \"{}\"", gate.path("state").display());
    let other = format!("state = \"{}\"", gate.path("other").display());
    let unwritable = "state = \"/proc/nowhere\"";
    let mut told = Vec::new();
    for (round, state_of) in [&other[..], unwritable, &other, unwritable, &state]
        .into_iter()
        .enumerate()
    {
        let text = good.replace(&state, state_of);
        assert_eq!(text == good, state_of == state);
        let said = gate.stderr().len();
        // The rest of the new settings is in force.
        let hidden =
            format!("{text}[[gate.rule]]\npath = \"/hidden{round}\"\naction = \"block\"\n");
        reload(&gate, &hidden);
        assert_eq!(browser.get("/cleared").status, 200, "round {round}");
        assert_eq!(browser.get(&format!("/hidden{round}")).status, 403);
        let stderr = gate.stderr()[said..].to_owned();
        told.push(stderr.contains("state has changed: the new value is ignored until a restart"));
    }
    assert_eq!(told, [true, true, true, true, false]);
    assert!(!gate.path("other").exists());
    gate.check_after(&before);
}

/// A prefix holds for the life of a process, too: pages, files and answers of challenges stay together.
#[test]
fn h199_another_prefix_waits_for_a_restart() {
    let origin = Origin::start();
    let gate = Gate::with(&origin, strict(""));
    let good = fs::read_to_string(gate.path("gate.toml")).unwrap();
    let other = good.replace("[gate]\n", "[gate]\nprefix = \"/other/\"\n");
    assert_ne!(other, good);
    reload(&gate, &other);
    let said = "prefix has changed: the new value is ignored until a restart";
    assert!(gate.stderr().contains(said), "{}", gate.stderr());
    // A browser that is challenged now finds its way.
    let mut browser = cleared(&gate, "127.0.1.2");
    assert_eq!(browser.get("/cleared").status, 200);
}
