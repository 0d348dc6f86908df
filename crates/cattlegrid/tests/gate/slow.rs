//! Clients that are slow, silent or many: none of them keeps others from being served.

use std::io;
use std::io::Read;
use std::io::Write;
use std::net::SocketAddr;
use std::net::TcpStream;
use std::process::Command;
use std::thread;
use std::time::Duration;
use std::time::Instant;

use crate::harness::Answer;
use crate::harness::Client;
use crate::harness::Gate;
use crate::harness::Origin;
use crate::harness::Victim;
use crate::harness::Wanted;
use crate::harness::connect_from;
use crate::harness::page;
use crate::harness::request;
use crate::harness::say;
use crate::harness::try_get_from;
use crate::harness::wait_for;

/// How many of these connections the other side has ended.
fn ended(streams: &mut [TcpStream]) -> usize {
    let is_ended = |stream: &mut TcpStream| {
        stream.set_nonblocking(true).unwrap();
        match stream.read(&mut [0; 512]) {
            Ok(0) => true,
            Ok(_) => false,
            Err(error) => error.kind() != io::ErrorKind::WouldBlock,
        }
    };
    streams
        .iter_mut()
        .map(is_ended)
        .filter(|ended| *ended)
        .count()
}

/// Many connections send one byte of a head every half second. True where all were ended.
fn h030_is_withstood(gate: &Gate, prefix: &[u8]) -> bool {
    let mut streams: Vec<TcpStream> = (0..500)
        .map(|_| connect_from("127.0.0.1", gate.address).unwrap())
        .collect();
    for stream in &mut streams {
        stream.write_all(prefix).unwrap();
    }
    let began = Instant::now();
    let mut bytes = b"GET /slow HTTP/1.1\r\nHost: www.example.org\r\n".iter();
    while began.elapsed() < Duration::from_secs(10) {
        if ended(&mut streams) == streams.len() {
            return true;
        }
        let byte = [*bytes.next().unwrap()];
        for stream in &mut streams {
            // It may have been ended.
            let _ = stream.write(&byte);
        }
        thread::sleep(Duration::from_millis(500));
    }
    false
}

#[test]
fn h030_heads_that_come_byte_by_byte() {
    let origin = Origin::start();
    let waits = "timeouts = { header = 1.0, idle = 20.0 }\n";
    let mut gate = Gate::open(&origin, waits);
    let before = gate.before();
    let victim = Victim::start(gate.address);
    assert!(h030_is_withstood(&gate, b""));
    // Also behind a first request, on a connection that is kept.
    let first = request("GET", "/first", &[]);
    assert!(h030_is_withstood(&gate, &[&first[..], b"G"].concat()));
    victim.check();
    gate.check_after(&before);
    let open = Gate::open(&origin, &format!("{waits}without = [\"header_time\"]"));
    assert!(!h030_is_withstood(&open, b""));
}

#[test]
fn h030_connections_that_are_kept_and_not_used_end() {
    let origin = Origin::start();
    let gate = Gate::open(&origin, "timeouts = { idle = 1.0 }\n");
    let mut client = Client::connect("127.0.0.1", gate.address).unwrap();
    assert_eq!(client.get("/one", &[]).unwrap().status, 200);
    let began = Instant::now();
    assert_eq!(client.stream.read(&mut [0; 64]).unwrap(), 0);
    assert!(began.elapsed() < Duration::from_secs(4));
}

/// Clients ask for a large page and take nothing of it. True where all were ended, with the site's connections.
fn untaken_answers_end(gate: &Gate) -> bool {
    let files = gate.files();
    let ask = |count: usize| -> Vec<TcpStream> {
        let asked = (0..count).map(|_| {
            let mut stream = connect_from("127.0.0.1", gate.address).unwrap();
            stream.write_all(&request("GET", "/large", &[])).unwrap();
            stream
        });
        let asked = asked.collect();
        // Until buffers are full, of the gate and of the system.
        thread::sleep(Duration::from_millis(400));
        asked
    };
    // The first ones fill what all share.
    let _first = ask(10);
    let before = gate.rss_kib();
    let _more = ask(50);
    let grown = gate.rss_kib().saturating_sub(before) / 50;
    say(&format!("an answer that nobody takes: {grown} KiB"));
    assert!(grown <= 192, "{grown} KiB for a connection");
    let deadline = Instant::now() + Duration::from_secs(6);
    while Instant::now() < deadline {
        if gate.files() <= files + 16 {
            return true;
        }
        thread::sleep(Duration::from_millis(50));
    }
    false
}

/// Clients that announce a body and send none of it, or a byte now and then.
fn unsent_bodies_end(gate: &Gate) -> bool {
    let mut streams: Vec<TcpStream> = (0..50)
        .map(|_| connect_from("127.0.0.1", gate.address).unwrap())
        .collect();
    let head = request("POST", "/upload", &[("Content-Length", "1000000")]);
    for stream in &mut streams {
        stream.write_all(&head).unwrap();
        stream.write_all(b"x").unwrap();
    }
    let deadline = Instant::now() + Duration::from_secs(6);
    while Instant::now() < deadline {
        if ended(&mut streams) == streams.len() {
            return true;
        }
        thread::sleep(Duration::from_millis(50));
    }
    false
}

fn large() -> Origin {
    let large = page(&"x".repeat(10_000_000));
    Origin::answering(Box::new(move |got| match got.target() {
        "/large" => Some(large.clone()),
        target => Some(page(&format!("you asked for {target}"))),
    }))
}

#[test]
fn h031_answers_that_nobody_takes_and_bodies_that_never_come() {
    let origin = large();
    let mut gate = Gate::open(&origin, "timeouts = { write = 1.0, body = 1.0 }\n");
    let before = gate.before();
    // Hundreds of megabytes go through here, as fast as they can: that is load, and no attack that a victim must not notice.
    assert!(untaken_answers_end(&gate));
    let victim = Victim::start(gate.address);
    assert!(unsent_bodies_end(&gate));
    victim.check();
    gate.check_after(&before);
    let patient = Gate::open(&origin, "timeouts = { write = 60.0, body = 60.0 }\n");
    assert!(!untaken_answers_end(&patient));
    assert!(!unsent_bodies_end(&patient));
}

/// The share of a core that a gate may use while it can do nothing. One that tries again and again uses all that others leave to it.
const IDLE_LOAD: f64 = 0.15;

/// Takes all files that a gate may open. The share of a core that it uses meanwhile.
fn load_without_files(gate: &Gate) -> f64 {
    let limited = Command::new("prlimit")
        .arg(format!("--pid={}", gate.pid()))
        .arg("--nofile=256:256")
        .status()
        .unwrap();
    assert!(limited.success());
    let streams: Vec<TcpStream> = (0..1000)
        .filter_map(|_| connect_from("127.0.0.1", gate.address).ok())
        .collect();
    wait_for("all files are taken", || gate.files() >= 250);
    let (used, began) = (gate.cpu(), Instant::now());
    thread::sleep(Duration::from_secs(2));
    let load = (gate.cpu() - used).as_secs_f64() / began.elapsed().as_secs_f64();
    drop(streams);
    load
}

#[test]
fn h032_no_more_files() {
    let origin = Origin::start();
    let mut gate = Gate::open(&origin, "timeouts = { header = 30.0 }\n");
    let before = gate.before();
    let load = load_without_files(&gate);
    say(&format!("without files: {:.0} % of a core", 100.0 * load));
    assert!(load < IDLE_LOAD, "{load}");
    let released = Instant::now();
    wait_for("it serves again", || {
        try_get_from("127.0.0.1", gate.address, "/again", &[])
            .is_ok_and(|answer| answer.status == 200)
    });
    assert!(released.elapsed() < Duration::from_secs(5));
    gate.check_after(&before);
    let busy = Gate::open(
        &origin,
        "timeouts = { header = 30.0 }\nwithout = [\"accept_pause\"]\n",
    );
    let load = load_without_files(&busy);
    assert!(load > IDLE_LOAD, "{load}");
}

#[test]
fn connections_that_are_kept_cost_little() {
    let origin = Origin::start();
    let mut gate = Gate::open(&origin, "");
    let before = gate.before();
    let rss = gate.rss_kib();
    let mut clients: Vec<Client> = (0..1000)
        .map(|_| Client::connect("127.0.0.1", gate.address).unwrap())
        .collect();
    for client in &mut clients {
        assert_eq!(client.get("/kept", &[]).unwrap().status, 200);
    }
    #[allow(clippy::cast_precision_loss, reason = "a figure for people")]
    let each = gate.rss_kib().saturating_sub(rss) as f64 / 1000.0;
    say(&format!("a connection that is kept: {each:.1} KiB"));
    assert!(each <= 36.0, "{each} KiB");
    drop(clients);
    gate.check_after(&before);
}

/// An address of 127.0.0.0/8 for a number.
fn source(number: u32) -> String {
    let [_, b, c, d] = (number + 0x20_0001).to_be_bytes();
    format!("127.{b}.{c}.{d}")
}

/// True for the page of somebody who is denied by an entry of the knowledge base.
fn is_blocked(answer: &Answer) -> bool {
    answer.status == 403 && answer.text().contains("<span class=\"number\">")
}

/// Requests from many sources, each once; those that were not answered.
fn many_sources(address: SocketAddr, numbers: std::ops::Range<u32>) -> usize {
    numbers
        .filter(|number| {
            let close = [("Connection", "close")];
            let answer = try_get_from(&source(*number), address, "/once", &close);
            !answer.is_ok_and(|answer| matches!(answer.status, 200 | 403))
        })
        .count()
}

#[test]
fn h061_more_sources_than_are_counted() {
    let origin = Origin::start();
    let mut gate = Gate::with(
        &origin,
        Wanted {
            gate: "profiles_max = 2000\n".to_owned(),
            ..Wanted::default()
        },
    );
    let text = std::fs::read_to_string(gate.path("gate.toml")).unwrap();
    let text = text.replace("sources_max = 100000", "sources_max = 2000");
    std::fs::write(gate.path("gate.toml"), text).unwrap();
    gate = gate.restart();
    let banned: Vec<String> = (0..20).map(|number| source(0x10_0000 + number)).collect();
    for address in &banned {
        let said = Command::new(env!("CARGO_BIN_EXE_cattlegrid"))
            .args(["kb", "deny", address, "--yes", "--kb"])
            .arg(gate.path("state/kb.sqlite"))
            .output()
            .unwrap();
        assert!(said.status.success(), "{said:?}");
    }
    wait_for("all are known", || {
        gate.metric("cattlegrid_entries") == Some(20.0)
    });
    let before = gate.before();
    let victim = Victim::start(gate.address);
    let address = gate.address;
    let workers: Vec<_> = (0..4)
        .map(|part| thread::spawn(move || many_sources(address, part * 5000..(part + 1) * 5000)))
        .collect();
    while !workers.iter().all(thread::JoinHandle::is_finished) {
        for source in &banned {
            let answer = try_get_from(source, address, "/banned", &[]).unwrap();
            assert_eq!(answer.status, 403);
            assert!(is_blocked(&answer), "a banned source got a challenge");
        }
    }
    for worker in workers {
        assert_eq!(worker.join().unwrap(), 0);
    }
    assert!(!origin.has_seen("/banned"));
    let forgotten = gate.metric("cattlegrid_counters_forgotten").unwrap();
    say(&format!(
        "20,000 sources, room for 2,000: {forgotten} forgotten"
    ));
    assert!(forgotten > 10_000.0);
    // Without an entry the same request is no blocked one.
    let answer = try_get_from(&source(0x10_1000), address, "/free", &[]).unwrap();
    assert!(!is_blocked(&answer));
    victim.check();
    gate.check_after(&before);
}
