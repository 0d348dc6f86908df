//! What every test of the gate needs: the gate itself, an origin that records what reaches it, clients that send any bytes, a victim
//! that must not notice, and what must hold after every case.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::io::Read;
use std::io::Write;
use std::net::SocketAddr;
use std::net::TcpListener;
use std::net::TcpStream;
use std::path::Path;
use std::path::PathBuf;
use std::process::Child;
use std::process::Command;
use std::process::ExitStatus;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering;
use std::thread;
use std::thread::JoinHandle;
use std::time::Duration;
use std::time::Instant;

use socket2::Domain;
use socket2::Socket;
use socket2::Type;
use tempfile::TempDir;

/// The longest wait for anything that must happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Waits until something holds; fails the test where it does not in time.
pub(crate) fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "never happened: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Says a figure, also where the test passes.
pub(crate) fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// A port that nothing listens on now. It is none of those that the system gives to connections, or one of them may have it before the
/// server that it is for; and another run of the tests begins elsewhere.
pub(crate) fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let start = std::process::id().wrapping_mul(97);
    let mut ports = (0..20_000).map(|_| {
        let number = start.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        12_000 + (number % 20_000) as u16
    });
    let is_free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    ports.find(is_free).unwrap()
}

// ---------------------------------------------------------------------------------------------------------------------- origin

/// One request as an origin got it.
#[derive(Debug, Clone)]
pub(crate) struct Got {
    /// All bytes of its head.
    pub(crate) head: String,
    /// Its body, without chunks.
    pub(crate) body: Vec<u8>,
}

impl Got {
    /// The first line.
    pub(crate) fn line(&self) -> &str {
        self.head.lines().next().unwrap_or("")
    }

    /// The target of the first line.
    pub(crate) fn target(&self) -> &str {
        self.line().split(' ').nth(1).unwrap_or("")
    }

    /// All values of a header, in their order.
    pub(crate) fn values(&self, name: &str) -> Vec<String> {
        values(&self.head, name)
    }
}

fn values(head: &str, name: &str) -> Vec<String> {
    let lines = head.split("\r\n").skip(1);
    let pairs = lines.filter_map(|line| line.split_once(':'));
    pairs
        .filter(|(key, _)| key.eq_ignore_ascii_case(name))
        .map(|(_, value)| value.trim().to_owned())
        .collect()
}

/// What an origin answers: bytes, written as they are; `None` closes the connection.
pub(crate) type Answering = Box<dyn Fn(&Got) -> Option<Vec<u8>> + Send + Sync>;

/// A recording stub: every byte of every connection is kept.
pub(crate) struct Origin {
    pub(crate) address: SocketAddr,
    raw: Arc<Mutex<Vec<Vec<u8>>>>,
    got: Arc<Mutex<Vec<Got>>>,
}

impl Origin {
    /// Answers every request with a small page that shows its target.
    pub(crate) fn start() -> Origin {
        Origin::answering(Box::new(|got| {
            Some(page(&format!("you asked for {}", got.target())))
        }))
    }

    /// Answers as it is told.
    pub(crate) fn answering(answer: Answering) -> Origin {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let origin = Origin {
            address: listener.local_addr().unwrap(),
            raw: Arc::default(),
            got: Arc::default(),
        };
        let (raw, got, answer) = (
            Arc::clone(&origin.raw),
            Arc::clone(&origin.got),
            Arc::new(answer),
        );
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (raw, got, answer) = (Arc::clone(&raw), Arc::clone(&got), Arc::clone(&answer));
                let number = {
                    let mut raw = raw.lock().unwrap();
                    raw.push(Vec::new());
                    raw.len() - 1
                };
                thread::spawn(move || {
                    // Whoever ends the connection early ends this thread.
                    let _ = serve(stream, number, &raw, &got, &answer);
                });
            }
        });
        origin
    }

    /// Every request that has come whole.
    pub(crate) fn got(&self) -> Vec<Got> {
        self.got.lock().unwrap().clone()
    }

    /// All bytes of all connections.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.raw.lock().unwrap().concat()
    }

    /// True where these bytes came in any connection.
    pub(crate) fn has_seen(&self, text: &str) -> bool {
        let bytes = self.bytes();
        bytes
            .windows(text.len())
            .any(|window| window == text.as_bytes())
    }

    /// Forgets what has come so far.
    pub(crate) fn forget(&self) {
        self.got.lock().unwrap().clear();
        self.raw.lock().unwrap().iter_mut().for_each(Vec::clear);
    }
}

/// A small page as an answer.
pub(crate) fn page(text: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n{text}",
        text.len()
    )
    .into_bytes()
}

fn serve(
    mut stream: TcpStream,
    number: usize,
    raw: &Mutex<Vec<Vec<u8>>>,
    got: &Mutex<Vec<Got>>,
    answer: &Answering,
) -> io::Result<()> {
    let mut buffer: Vec<u8> = Vec::new();
    let read = |buffer: &mut Vec<u8>, stream: &mut TcpStream| -> io::Result<()> {
        let mut chunk = [0; 16 * 1024];
        let length = stream.read(&mut chunk)?;
        if length == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        raw.lock().unwrap()[number].extend_from_slice(&chunk[..length]);
        buffer.extend_from_slice(&chunk[..length]);
        Ok(())
    };
    loop {
        let mut searched = 0;
        let end = loop {
            // A large head comes in many pieces: each is looked through once.
            if let Some(at) = find(&buffer[searched..], b"\r\n\r\n") {
                break searched + at + 4;
            }
            searched = buffer.len().saturating_sub(3);
            read(&mut buffer, &mut stream)?;
        };
        let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
        buffer.drain(..end);
        let length = values(&head, "content-length")
            .first()
            .and_then(|length| length.parse().ok())
            .unwrap_or(0);
        let is_chunked = values(&head, "transfer-encoding")
            .iter()
            .any(|value| value.eq_ignore_ascii_case("chunked"));
        let body = match is_chunked {
            true => loop {
                if let Some((body, used)) = unchunk(&buffer) {
                    buffer.drain(..used);
                    break body;
                }
                read(&mut buffer, &mut stream)?;
            },
            false => {
                while buffer.len() < length {
                    read(&mut buffer, &mut stream)?;
                }
                buffer.drain(..length).collect()
            }
        };
        let request = Got { head, body };
        got.lock().unwrap().push(request.clone());
        match answer(&request) {
            Some(bytes) if bytes.starts_with(b"HTTP/1.1 101 ") => {
                stream.write_all(&bytes)?;
                // A websocket in small: what comes goes back.
                loop {
                    stream.write_all(&std::mem::take(&mut buffer))?;
                    read(&mut buffer, &mut stream)?;
                }
            }
            Some(bytes) => stream.write_all(&bytes)?,
            None => return Ok(()),
        }
    }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

/// A whole body in chunks, and how long it was.
fn unchunk(bytes: &[u8]) -> Option<(Vec<u8>, usize)> {
    let (mut body, mut at) = (Vec::new(), 0);
    loop {
        let line = find(&bytes[at..], b"\r\n")?;
        let size = std::str::from_utf8(&bytes[at..at + line]).ok()?;
        let size = usize::from_str_radix(size.split(';').next()?.trim(), 16).ok()?;
        at += line + 2;
        if size == 0 {
            let end = find(&bytes[at - 2..], b"\r\n\r\n")?;
            return Some((body, at - 2 + end + 4));
        }
        body.extend_from_slice(bytes.get(at..at + size)?);
        at += size + 2;
        if bytes.len() < at {
            return None;
        }
    }
}

// ------------------------------------------------------------------------------------------------------------------------ gate

/// The address from which the victim asks: a rule of every test lets it pass, as a cleared person would.
pub(crate) const VICTIM: &str = "127.9.9.9";

/// A running gate.
pub(crate) struct Gate {
    child: Child,
    pub(crate) folder: TempDir,
    pub(crate) address: SocketAddr,
    pub(crate) admin: SocketAddr,
}

/// What a gate was before a case.
pub(crate) struct Before {
    rss_kib: u64,
    files: usize,
}

/// Settings of a test: what stands in `[gate]`, and what comes behind (sites, rules, policy).
#[derive(Default, Clone)]
pub(crate) struct Wanted {
    /// Lines of the `[gate]` part.
    pub(crate) gate: String,
    /// Whole parts behind it.
    pub(crate) parts: String,
    /// Lines of the first `[[gate.listen]]`, behind its address.
    pub(crate) listen: String,
    /// Environment of the program.
    pub(crate) environment: Vec<(&'static str, String)>,
}

impl Gate {
    /// A gate in enforce mode before an origin, for all hosts, with the default limits.
    pub(crate) fn start(origin: &Origin) -> Gate {
        Gate::with(origin, Wanted::default())
    }

    /// A gate with one defence switched off.
    pub(crate) fn without(origin: &Origin, defence: &str) -> Gate {
        Gate::with(
            origin,
            Wanted {
                gate: format!("without = [\"{defence}\"]"),
                ..Wanted::default()
            },
        )
    }

    /// A gate with settings of its own.
    pub(crate) fn with(origin: &Origin, wanted: Wanted) -> Gate {
        let folder = tempfile::tempdir().unwrap();
        let address: SocketAddr = format!("127.0.0.1:{}", free_port()).parse().unwrap();
        let admin: SocketAddr = format!("127.0.0.1:{}", free_port()).parse().unwrap();
        let text = settings(folder.path(), address, admin, origin.address, &wanted);
        fs::write(folder.path().join("gate.toml"), text).unwrap();
        Gate::run(folder, address, admin, &wanted.environment)
    }

    fn run(
        folder: TempDir,
        address: SocketAddr,
        admin: SocketAddr,
        environment: &[(&'static str, String)],
    ) -> Gate {
        let log = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(folder.path().join("stderr"))
            .unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_cattlegrid"))
            .arg("gate")
            .arg("--config")
            .arg(folder.path().join("gate.toml"))
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut gate = Gate {
            child,
            folder,
            address,
            admin,
        };
        gate.wait_until_ready();
        gate
    }

    fn wait_until_ready(&mut self) {
        let deadline = Instant::now() + PATIENCE;
        while self.health() != Some(200) {
            let ended = self.child.try_wait().unwrap();
            assert!(
                ended.is_none() && Instant::now() < deadline,
                "the gate does not start: {}",
                self.stderr()
            );
            thread::sleep(Duration::from_millis(10));
        }
    }

    fn health(&self) -> Option<u16> {
        try_get(self.admin, "/healthz", &[])
            .ok()
            .map(|answer| answer.status)
    }

    /// What the gate has said.
    pub(crate) fn stderr(&self) -> String {
        fs::read_to_string(self.folder.path().join("stderr")).unwrap_or_default()
    }

    /// The lines of the access log.
    pub(crate) fn log(&self) -> Vec<serde_json::Value> {
        let text =
            fs::read_to_string(self.folder.path().join("state/access.log")).unwrap_or_default();
        let lines = text.lines();
        lines
            .map(|line| {
                serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
            })
            .collect()
    }

    /// The value of a metric, with its labels as they are written.
    pub(crate) fn metric(&self, name: &str) -> Option<f64> {
        let text = get(self.admin, "/metrics", &[]).text();
        let line = text.lines().find(|line| {
            line.rsplit_once(' ')
                .is_some_and(|(known, _)| known == name)
        })?;
        line.rsplit_once(' ')?.1.parse().ok()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal: `HUP`, `USR1`, `STOP`.
    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .arg(format!("-{name}"))
            .arg(self.pid().to_string())
            .status()
            .unwrap();
        assert!(sent.success());
    }

    /// Ends it in good order, and starts another with the same folder and addresses.
    pub(crate) fn restart(mut self) -> Gate {
        self.signal("TERM");
        self.child.wait().unwrap();
        let folder = std::mem::replace(&mut self.folder, tempfile::tempdir().unwrap());
        Gate::run(folder, self.address, self.admin, &[])
    }

    /// Ends it at once, and starts another.
    pub(crate) fn crash(mut self) -> Gate {
        self.signal("KILL");
        self.child.wait().unwrap();
        let folder = std::mem::replace(&mut self.folder, tempfile::tempdir().unwrap());
        Gate::run(folder, self.address, self.admin, &[])
    }

    /// How it has ended, once it has.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().unwrap()
    }

    /// Time that it has used on a processor.
    pub(crate) fn cpu(&self) -> Duration {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid())).unwrap();
        let fields = stat.rsplit(')').next().unwrap().split_whitespace();
        let ticks: Vec<u64> = fields
            .skip(11)
            .take(2)
            .map(|ticks| ticks.parse().unwrap())
            .collect();
        // A tick is a hundredth of a second wherever Linux runs.
        Duration::from_millis(10 * ticks.iter().sum::<u64>())
    }

    /// Resident memory.
    pub(crate) fn rss_kib(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = status
            .lines()
            .find(|line| line.starts_with("VmRSS:"))
            .unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    /// Open files.
    pub(crate) fn files(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.pid()))
            .unwrap()
            .count()
    }

    /// What holds before a case.
    pub(crate) fn before(&self) -> Before {
        // A first request fills the pools.
        let _ = try_get_from(VICTIM, self.address, "/warm", &[]);
        Before {
            rss_kib: self.rss_kib(),
            files: self.files(),
        }
    }

    /// The same where another server stands before the gate: a normal request is one through it.
    pub(crate) fn check_after_at(&mut self, before: &Before, front: SocketAddr) {
        let own = std::mem::replace(&mut self.address, front);
        self.check_after(before);
        self.address = own;
    }

    /// What must hold after every case: the same process, no panic, memory and files as before, and a normal request works.
    pub(crate) fn check_after(&mut self, before: &Before) {
        assert!(
            self.child.try_wait().unwrap().is_none(),
            "the gate has ended: {}",
            self.stderr()
        );
        assert!(!self.stderr().contains("panicked"), "{}", self.stderr());
        let grown = self.rss_kib().saturating_sub(before.rss_kib);
        assert!(grown <= 64 * 1024, "memory grew by {grown} KiB");
        // A few connections to the origin and to the victim may stay open.
        wait_for("open files are back to what they were", || {
            self.files() <= before.files + 16
        });
        let asked = Instant::now();
        let answer = get_from(VICTIM, self.address, "/after", &[]);
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert!(asked.elapsed() < Duration::from_secs(1));
        wait_for("the last request is in the log", || {
            self.log().iter().any(|line| line["target"] == "/after")
        });
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The settings file of a test.
pub(crate) fn settings(
    folder: &Path,
    address: SocketAddr,
    admin: SocketAddr,
    origin: SocketAddr,
    wanted: &Wanted,
) -> String {
    let mut text = String::new();
    let state = folder.join("state");
    let mode = match wanted.gate.contains("mode = ") {
        true => "",
        false => "mode = \"enforce\"\n",
    };
    let _ = write!(
        text,
        "[gate]\n{mode}state = \"{}\"\nadmin = \"{admin}\"\ncontact = \"webmaster@example.org\"\nsources_max = 100000\n{}\n",
        state.display(),
        wanted.gate
    );
    let _ = write!(
        text,
        "[[gate.listen]]\naddress = \"{address}\"\n{}\n",
        wanted.listen
    );
    if !wanted.parts.contains("[[gate.site]]") {
        let _ = write!(
            text,
            "[[gate.site]]\nhosts = [\"*\"]\nupstream = \"http://{origin}\"\n"
        );
    }
    let _ = write!(
        text,
        "{}\n[[gate.rule]]\nnetworks = [\"{VICTIM}\"]\naction = \"pass\"\n",
        wanted.parts
    );
    text
}

// --------------------------------------------------------------------------------------------------------------------- clients

/// An answer.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn values(&self, name: &str) -> Vec<String> {
        values(&self.head, name)
    }

    pub(crate) fn header(&self, name: &str) -> Option<String> {
        self.values(name).into_iter().next()
    }
}

/// Opens a connection from an address of 127.0.0.0/8.
pub(crate) fn connect_from(source: &str, address: SocketAddr) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    let own: SocketAddr = format!("{source}:0").parse().unwrap();
    socket.bind(&own.into())?;
    socket.connect_timeout(&address.into(), Duration::from_secs(5))?;
    // Tens of thousands of connections that linger for a minute would leave no port for the tests that come next.
    socket.set_linger(Some(Duration::ZERO))?;
    let stream = TcpStream::from(socket);
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// A connection that is kept.
pub(crate) struct Client {
    pub(crate) stream: TcpStream,
    buffer: Vec<u8>,
}

impl Client {
    pub(crate) fn connect(source: &str, address: SocketAddr) -> io::Result<Client> {
        Ok(Client {
            stream: connect_from(source, address)?,
            buffer: Vec::new(),
        })
    }

    /// Sends any bytes.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Reads the next answer. `is_head` for answers without a body.
    pub(crate) fn answer(&mut self, is_head: bool) -> io::Result<Answer> {
        let end = loop {
            if let Some(at) = find(&self.buffer, b"\r\n\r\n") {
                break at + 4;
            }
            self.fill()?;
        };
        let head = String::from_utf8_lossy(&self.buffer[..end]).into_owned();
        self.buffer.drain(..end);
        let status = head
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok())
            .unwrap_or(0);
        if (100..200).contains(&status) && status != 101 {
            return self.answer(is_head);
        }
        let is_empty = is_head || matches!(status, 101 | 204 | 304);
        let length = values(&head, "content-length")
            .first()
            .and_then(|length| length.parse::<usize>().ok());
        let is_chunked = values(&head, "transfer-encoding")
            .iter()
            .any(|value| value == "chunked");
        let body = match length {
            _ if is_empty => Vec::new(),
            Some(length) => {
                while self.buffer.len() < length {
                    self.fill()?;
                }
                self.buffer.drain(..length).collect()
            }
            None if is_chunked => loop {
                if let Some((body, used)) = unchunk(&self.buffer) {
                    self.buffer.drain(..used);
                    break body;
                }
                self.fill()?;
            },
            None => {
                while self.fill().is_ok() {}
                std::mem::take(&mut self.buffer)
            }
        };
        Ok(Answer { status, head, body })
    }

    fn fill(&mut self) -> io::Result<()> {
        let mut chunk = [0; 16 * 1024];
        let length = self.stream.read(&mut chunk)?;
        if length == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.buffer.extend_from_slice(&chunk[..length]);
        Ok(())
    }

    /// Asks for a path.
    pub(crate) fn get(&mut self, path: &str, headers: &[(&str, &str)]) -> io::Result<Answer> {
        self.send(&request("GET", path, headers))?;
        self.answer(false)
    }
}

/// A request of a browser; a header that is given replaces the usual one.
pub(crate) fn request(method: &str, path: &str, headers: &[(&str, &str)]) -> Vec<u8> {
    let usual = [
        ("Host", "www.example.org"),
        (
            "User-Agent",
            "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
        ),
        ("Accept", "text/html,application/xhtml+xml,*/*;q=0.8"),
        ("Accept-Language", "en"),
    ];
    let mut text = format!("{method} {path} HTTP/1.1\r\n");
    let is_given = |name: &str| {
        headers
            .iter()
            .any(|(given, _)| given.eq_ignore_ascii_case(name))
    };
    for (name, value) in usual
        .iter()
        .filter(|(name, _)| !is_given(name))
        .chain(headers)
    {
        let _ = write!(text, "{name}: {value}\r\n");
    }
    text.push_str("\r\n");
    text.into_bytes()
}

pub(crate) fn try_get_from(
    source: &str,
    address: SocketAddr,
    path: &str,
    headers: &[(&str, &str)],
) -> io::Result<Answer> {
    Client::connect(source, address)?.get(path, headers)
}

pub(crate) fn try_get(
    address: SocketAddr,
    path: &str,
    headers: &[(&str, &str)],
) -> io::Result<Answer> {
    try_get_from("127.0.0.1", address, path, headers)
}

pub(crate) fn get(address: SocketAddr, path: &str, headers: &[(&str, &str)]) -> Answer {
    try_get(address, path, headers).unwrap()
}

pub(crate) fn get_from(
    source: &str,
    address: SocketAddr,
    path: &str,
    headers: &[(&str, &str)],
) -> Answer {
    try_get_from(source, address, path, headers).unwrap()
}

/// Sends bytes and reads until the other side ends the connection, or nothing has come for a while.
pub(crate) fn raw(address: SocketAddr, bytes: &[u8]) -> Raw {
    let mut stream = connect_from("127.0.0.1", address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_millis(1500)))
        .unwrap();
    // It may refuse before all was sent.
    let _ = stream.write_all(bytes);
    let (mut answer, mut chunk) = (Vec::new(), [0; 16 * 1024]);
    let is_closed = loop {
        match stream.read(&mut chunk) {
            Ok(0) => break true,
            Ok(length) => answer.extend_from_slice(&chunk[..length]),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
                ) =>
            {
                break false;
            }
            Err(_) => break true,
        }
    };
    Raw {
        text: String::from_utf8_lossy(&answer).into_owned(),
        is_closed,
    }
}

/// All that came back on a connection.
#[derive(Debug)]
pub(crate) struct Raw {
    pub(crate) text: String,
    pub(crate) is_closed: bool,
}

impl Raw {
    /// The status of the first answer; 0 where there is none.
    pub(crate) fn status(&self) -> u16 {
        self.text
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok())
            .unwrap_or(0)
    }

    /// How many answers came.
    pub(crate) fn answers(&self) -> usize {
        self.text.matches("HTTP/1.1 ").count()
    }
}

// ---------------------------------------------------------------------------------------------------------------------- victim

/// A well-behaved client that asks twenty pages a second while a case runs.
pub(crate) struct Victim {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Vec<Result<Duration, String>>>,
    idle: Duration,
}

impl Victim {
    /// Begins, after a look at how fast answers are when nothing happens.
    pub(crate) fn start(address: SocketAddr) -> Victim {
        let mut idle: Vec<Duration> = (0..40).map(|_| ask(address).unwrap()).collect();
        idle.sort();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            let mut results = Vec::new();
            while !stopped.load(Ordering::Relaxed) {
                results.push(ask(address));
                thread::sleep(Duration::from_millis(50));
            }
            results
        });
        Victim {
            stop,
            thread,
            idle: idle[39],
        }
    }

    /// Ends: every answer was right, and nearly all came soon.
    pub(crate) fn check(self) {
        self.stop.store(true, Ordering::Relaxed);
        let results = self.thread.join().unwrap();
        let mut times: Vec<Duration> = results
            .into_iter()
            .map(|result| result.unwrap_or_else(|error| panic!("the victim: {error}")))
            .collect();
        if times.is_empty() {
            return;
        }
        times.sort();
        let slow = times[(times.len() - 1) * 99 / 100];
        let most = (2 * self.idle).max(Duration::from_millis(allowed_ms()));
        assert!(
            slow <= most,
            "the victim waited {slow:?} at the 99th percentile, at most {most:?} is allowed"
        );
    }
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

/// Runs a case with a victim beside it, and looks at the gate before and after.
pub(crate) fn watched(gate: &mut Gate, case: impl FnOnce(&Gate)) {
    let before = gate.before();
    let victim = Victim::start(gate.address);
    case(gate);
    victim.check();
    gate.check_after(&before);
}

/// Limits that nobody reaches, for tests of everything but limits.
pub(crate) const NO_LIMITS: &str =
    "[policy]\nk1 = 1000000\nk2 = 1000000\nnetwork_pages = 1000000\n";

/// Does something with each of many, a few at a time, and gives what came of it in their order.
pub(crate) fn each<T: Sync, R: Send>(all: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let part = all.len().div_ceil(8).max(1);
    thread::scope(|scope| {
        let threads: Vec<_> = all
            .chunks(part)
            .map(|part| scope.spawn(|| part.iter().map(&work).collect::<Vec<R>>()))
            .collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect()
    })
}

// ----------------------------------------------------------------------------------------------------------------------- naive

/// A forwarder that passes bytes on as they come, to see that a test fails against it.
pub(crate) fn naive(origin: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            thread::spawn(move || {
                let Ok(site) = TcpStream::connect(origin) else {
                    return;
                };
                let (Ok(mut from_client), Ok(mut from_site)) =
                    (client.try_clone(), site.try_clone())
                else {
                    return;
                };
                let (mut to_client, mut to_site) = (client, site);
                thread::spawn(move || {
                    let _ = io::copy(&mut from_client, &mut to_site);
                    let _ = to_site.shutdown(std::net::Shutdown::Write);
                });
                let _ = io::copy(&mut from_site, &mut to_client);
                let _ = to_client.shutdown(std::net::Shutdown::Both);
            });
        }
    });
    address
}
