//! A log against a running gate: its requests are sent over HTTP at the times of the log, and what comes back is counted.

use std::collections::HashMap;
use std::io;
use std::io::Read;
use std::io::Write;
use std::net::IpAddr;
use std::net::ToSocketAddrs;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::sync::mpsc::Receiver;
use std::sync::mpsc::SyncSender;
use std::thread;
use std::time::Duration;
use std::time::Instant;

use anyhow::Context;
use anyhow::ensure;
use cattlegrid_core::analysis::Block;
use cattlegrid_core::format::Reader;
use cattlegrid_core::format::split_line;
use cattlegrid_core::profile::is_page;
use cattlegrid_core::request::Client;
use cattlegrid_core::request::Field;
use cattlegrid_core::request::Request;
use cattlegrid_core::request::Source;
use cattlegrid_report::replay::GROUPS;

use crate::cli::ReplayArgs;
use crate::session_examples::KnownSources;
use crate::session_examples::Set;

/// Connections to the gate at most, one for each thread. Requests of one source keep their order.
const SENDERS: usize = 16;
/// Requests that wait for a sender at most.
const WAITING_MAX: usize = 256;
/// How many times faster than in the log requests can be sent.
const SPEED_MIN: f64 = 0.001;
const SPEED_MAX: f64 = 1_000_000.0;
/// Time for a response.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes of a response that are looked at: the gate's own pages are shorter.
const LOOKED_AT: u64 = 64 << 10;

/// What sources without a label are called.
const UNLABELLED: &str = "unlabelled";

/// One request on its way.
struct Letter {
    due: Instant,
    source: Source,
    address: IpAddr,
    method: &'static str,
    target: String,
    host: String,
    agent: String,
    referrer: String,
    is_page: bool,
}

/// What came back for a page request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Passed,
    Challenged,
    Refused,
    Throttled,
}

/// What the gate did to one source.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    pages: u32,
    passed: u32,
    challenged: u32,
    refused: u32,
    throttled: u32,
    /// Pages before the first that did not pass.
    leaked: Option<u32>,
}

impl Seen {
    fn note(&mut self, answer: Answer) {
        self.pages += 1;
        if answer != Answer::Passed {
            self.leaked.get_or_insert(self.passed);
        }
        match answer {
            Answer::Passed => self.passed += 1,
            Answer::Challenged => self.challenged += 1,
            Answer::Refused => self.refused += 1,
            Answer::Throttled => self.throttled += 1,
        }
    }
}

/// What is counted beside sources.
#[derive(Debug, Default)]
struct Counted {
    sent: AtomicU64,
    failed: AtomicU64,
    /// Milliseconds by which the latest request was late.
    late_ms: AtomicU64,
}

/// Requests that are not sent: with another method than GET and HEAD, from sources that are not addresses, and from another time.
#[derive(Debug, Default)]
struct Left {
    methods: u64,
    names: u64,
    jumps: u64,
}

/// The times of a log. One line from another year must not be waited for.
struct Times {
    /// Seconds that lie between two requests at most.
    jump: u32,
    /// The first request and when it was sent.
    first: Option<(u32, Instant)>,
    latest: u32,
    speed: f64,
}

impl Times {
    /// When a request is due; `None` for one from another time.
    fn due(&mut self, time: u32) -> Option<Instant> {
        let (first, start) = *self.first.get_or_insert((time, Instant::now()));
        if self.latest == 0 {
            self.latest = time;
        }
        if time.abs_diff(self.latest) > self.jump {
            return None;
        }
        self.latest = self.latest.max(time);
        let seconds = f64::from(time.saturating_sub(first)) / self.speed;
        Some(start + Duration::from_secs_f64(seconds))
    }
}

/// Sends the requests of a log, and writes what the gate did.
pub(super) fn run(
    set: &Set<'_>,
    truth: &KnownSources,
    arguments: &ReplayArgs,
    place: &str,
) -> anyhow::Result<()> {
    let place = place.trim_end_matches('/');
    check_loopback(place)?;
    ensure!(
        (SPEED_MIN..=SPEED_MAX).contains(&arguments.speed),
        "--speed {} is not between {SPEED_MIN} and {SPEED_MAX}",
        arguments.speed
    );
    ensure!(
        arguments.log.source_field.is_none() && arguments.log.trusted_proxy.is_empty(),
        "--to sends requests from the addresses in the log's first field; --source-field and --trusted-proxy cannot be used with it"
    );
    // An answer at all shows that somebody is there.
    agent()
        .get(place)
        .call()
        .with_context(|| format!("nothing answers at {place}; start the gate first"))?;
    let seen: Mutex<HashMap<Source, Seen>> = Mutex::default();
    let counted = Counted::default();
    let left = thread::scope(|scope| {
        let senders: Vec<SyncSender<Letter>> = (0..SENDERS)
            .map(|_| {
                let (give, take) = mpsc::sync_channel(WAITING_MAX);
                let (seen, counted) = (&seen, &counted);
                scope.spawn(move || send_all(place, &take, seen, counted));
                give
            })
            .collect();
        post(set, arguments, &senders)
    })?;
    let seen = seen.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut page = String::new();
    tell(truth, &seen, &counted, &left, &mut page)?;
    io::stdout().lock().write_all(page.as_bytes())?;
    Ok(())
}

/// Only a gate on this machine is sent to: a log is other people's traffic.
fn check_loopback(place: &str) -> anyhow::Result<()> {
    let rest = place
        .strip_prefix("http://")
        .with_context(|| format!("--to {place} should begin with http://"))?;
    let authority = rest.split('/').next().unwrap_or_default();
    let with_port = match authority.rsplit_once(':') {
        Some((_, port)) if port.parse::<u16>().is_ok() => authority.to_owned(),
        _ => format!("{authority}:80"),
    };
    let mut addresses = with_port
        .to_socket_addrs()
        .with_context(|| format!("--to {place}"))?;
    ensure!(
        addresses.all(|address| address.ip().is_loopback()),
        "--to {place} is not on this machine: requests of a log are sent to loopback addresses only"
    );
    Ok(())
}

fn agent() -> ureq::Agent {
    let config = ureq::Agent::config_builder()
        .timeout_global(Some(TIMEOUT))
        .http_status_as_error(false)
        .max_redirects(0)
        // Who sent no user agent sends none now.
        .user_agent(ureq::config::AutoHeaderValue::None)
        // A proxy of this machine's user would take other people's requests elsewhere.
        .proxy(None);
    ureq::Agent::new_with_config(config.build())
}

/// Reads the log, and hands its requests to the senders.
fn post(
    set: &Set<'_>,
    arguments: &ReplayArgs,
    senders: &[SyncSender<Letter>],
) -> anyhow::Result<Left> {
    let mut left = Left::default();
    let mut reader = Reader::new(&[]);
    let settings = set.settings()?;
    let mut times = Times {
        jump: settings.time_jump_seconds,
        first: None,
        latest: 0,
        speed: arguments.speed,
    };
    let span = settings.reading.span;
    let mut posted = 0;
    set.read(|_, blocks| {
        for block in blocks {
            each_request(block, &mut reader, |request| {
                if posted >= arguments.send_max || !span.contains(&request.time) {
                    return;
                }
                let Some(due) = times.due(request.time) else {
                    left.jumps += 1;
                    return;
                };
                if let Some(letter) = letter(request, due, &mut left) {
                    posted += 1;
                    let sender = letter.source.value as usize % senders.len();
                    // It ends only with the log.
                    let _ = senders[sender].send(letter);
                }
            });
        }
    })?;
    Ok(left)
}

fn each_request(block: &Block, reader: &mut Reader, mut each: impl FnMut(&Request<'_>)) {
    let mut rest = block.lines();
    while !rest.is_empty() {
        let (line, next) = split_line(rest);
        rest = next;
        if let Ok(request) = block.format.read(line, reader) {
            each(&request);
        }
    }
}

fn letter(request: &Request<'_>, due: Instant, left: &mut Left) -> Option<Letter> {
    let method = match request.method {
        b"GET" => "GET",
        b"HEAD" => "HEAD",
        // What was sent with it is not in the log.
        _ => {
            left.methods += 1;
            return None;
        }
    };
    let address = match request.client {
        Client::V4(address) => Some(IpAddr::from(address.to_be_bytes())),
        Client::Written(text) => std::str::from_utf8(text)
            .ok()
            .and_then(|text| text.parse().ok()),
    };
    let (Some(address), Some(source)) = (address, request.client.address()) else {
        left.names += 1;
        return None;
    };
    let text = |field: Field<'_>| field.value().map(plain).unwrap_or_default();
    Some(Letter {
        due,
        source,
        address,
        method,
        target: plain(request.target),
        host: text(request.host),
        agent: text(request.agent),
        referrer: text(request.referrer),
        is_page: is_page(request.method, request.target),
    })
}

/// Text that a header field may have: anything else becomes a question mark.
fn plain(text: &[u8]) -> String {
    let letter = |byte: &u8| match byte {
        0x20..=0x7e => *byte as char,
        _ => '?',
    };
    text.iter().map(letter).collect()
}

fn send_all(
    place: &str,
    letters: &Receiver<Letter>,
    seen: &Mutex<HashMap<Source, Seen>>,
    counted: &Counted,
) {
    let agent = agent();
    for letter in letters {
        let now = Instant::now();
        thread::sleep(letter.due.saturating_duration_since(now));
        let late = now.saturating_duration_since(letter.due).as_millis() as u64;
        counted.late_ms.fetch_max(late, Ordering::Relaxed);
        counted.sent.fetch_add(1, Ordering::Relaxed);
        match send(&agent, place, &letter) {
            Ok(answer) if letter.is_page => {
                let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                seen.entry(letter.source).or_default().note(answer);
            }
            Ok(_) => {}
            Err(_) => {
                counted.failed.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

fn send(agent: &ureq::Agent, place: &str, letter: &Letter) -> Result<Answer, ureq::Error> {
    let target = match letter.target.starts_with('/') {
        true => letter.target.as_str(),
        false => "/",
    };
    let url = format!("{place}{}", target.replace(' ', "%20"));
    let mut request = match letter.method {
        "HEAD" => agent.head(&url),
        _ => agent.get(&url),
    };
    request = request.header("x-forwarded-for", letter.address.to_string());
    for (name, value) in [
        ("host", &letter.host),
        ("user-agent", &letter.agent),
        ("referer", &letter.referrer),
    ] {
        if !value.is_empty() {
            request = request.header(name, value);
        }
    }
    let mut response = request.call()?;
    let status = response.status().as_u16();
    let mut text = Vec::new();
    // The rest is read, too: the connection is used again.
    let body = response.body_mut().as_reader();
    let mut body = body.take(u64::MAX);
    body.by_ref().take(LOOKED_AT).read_to_end(&mut text)?;
    io::copy(&mut body, &mut io::sink())?;
    Ok(answer(status, &text))
}

/// What a response says: the gate's own pages are known by what is in them.
fn answer(status: u16, text: &[u8]) -> Answer {
    let has = |part: &str| {
        let part = part.as_bytes();
        text.windows(part.len()).any(|window| window == part)
    };
    match status {
        403 if has("id=\"cattlegrid\"") || has("\"challenge_needed\"") => Answer::Challenged,
        403 if has("class=\"number\"") || has("\"incident\"") => Answer::Refused,
        429 => Answer::Throttled,
        _ => Answer::Passed,
    }
}

fn tell(
    truth: &KnownSources,
    seen: &HashMap<Source, Seen>,
    counted: &Counted,
    left: &Left,
    page: &mut String,
) -> std::fmt::Result {
    use std::fmt::Write as _;
    let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
    writeln!(
        page,
        "{} requests sent, {} failed; at most {:.1} s late. Not sent: {} with methods other than GET and HEAD, {} of sources that are not IP addresses, {} from another time",
        load(&counted.sent),
        load(&counted.failed),
        load(&counted.late_ms) as f64 / 1e3,
        left.methods,
        left.names,
        left.jumps
    )?;
    writeln!(
        page,
        "No challenge was solved. Page requests by what the gate did; contained: sources that did not get all their pages"
    )?;
    writeln!(
        page,
        "  {:<12}{:>9}{:>9}{:>9}{:>12}{:>9}{:>11}{:>11}{:>18}",
        "",
        "sources",
        "pages",
        "passed",
        "challenged",
        "refused",
        "throttled",
        "contained",
        "pages got before"
    )?;
    let group_of = |source: &Source| match truth.sources.get(source) {
        None => UNLABELLED,
        Some(known) => GROUPS[known.role() as usize],
    };
    for name in GROUPS.into_iter().chain([UNLABELLED]) {
        let members = seen.iter().filter(|(source, _)| group_of(source) == name);
        let members: Vec<&Seen> = members.map(|(_, seen)| seen).collect();
        let sum =
            |of: fn(&Seen) -> u32| members.iter().map(|seen| u64::from(of(seen))).sum::<u64>();
        let mut leaked: Vec<u32> = members.iter().filter_map(|seen| seen.leaked).collect();
        leaked.sort_unstable();
        let median = leaked.get(leaked.len() / 2);
        writeln!(
            page,
            "  {name:<12}{:>9}{:>9}{:>9}{:>12}{:>9}{:>11}{:>11}{:>18}",
            members.len(),
            sum(|seen| seen.pages),
            sum(|seen| seen.passed),
            sum(|seen| seen.challenged),
            sum(|seen| seen.refused),
            sum(|seen| seen.throttled),
            leaked.len(),
            median.map_or_else(String::new, |median| format!("{median} (median)"))
        )?;
    }
    Ok(())
}
