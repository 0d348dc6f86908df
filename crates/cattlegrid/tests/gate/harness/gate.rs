//! The gate as a process with a folder of its own, its settings, and what must hold before and after every case.

use std::fmt::Write as _;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::path::PathBuf;
use std::process::Child;
use std::process::Command;
use std::process::ExitStatus;
use std::process::Stdio;
use std::thread;
use std::time::Duration;
use std::time::Instant;

use tempfile::TempDir;

use super::NO_LIMITS;
use super::PATIENCE;
use super::clients::get;
use super::clients::get_from;
use super::clients::try_get;
use super::clients::try_get_from;
use super::free_port;
use super::origin::Origin;
use super::wait_for;

/// The address from which the victim asks: a rule of every test lets it pass, as a cleared person would.
pub(crate) const VICTIM: &str = "127.9.9.9";

/// A running gate.
pub(crate) struct Gate {
    child: Child,
    pub(crate) folder: TempDir,
    pub(crate) address: SocketAddr,
    pub(crate) admin: SocketAddr,
}

/// Where a gate tells its metrics.
pub(crate) struct Metrics(SocketAddr);

impl Metrics {
    /// The value of a metric, with its labels as they are written.
    pub(crate) fn get(&self, name: &str) -> Option<f64> {
        let text = get(self.0, "/metrics", &[]).text();
        let line = text.lines().find(|line| {
            line.rsplit_once(' ')
                .is_some_and(|(known, _)| known == name)
        })?;
        line.rsplit_once(' ')?.1.parse().ok()
    }
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

    /// A gate with these lines in its `[gate]` part, and these parts behind it.
    pub(crate) fn set(origin: &Origin, gate: &str, parts: &str) -> Gate {
        Gate::with(
            origin,
            Wanted {
                gate: gate.to_owned(),
                parts: parts.to_owned(),
                ..Wanted::default()
            },
        )
    }

    /// The same without limits that anybody reaches: what is seen is not the policy.
    pub(crate) fn limitless(origin: &Origin, gate: &str, parts: &str) -> Gate {
        Gate::set(origin, gate, &format!("{NO_LIMITS}{parts}"))
    }

    /// Everybody passes by a rule: nothing is counted either.
    pub(crate) fn open(origin: &Origin, gate: &str) -> Gate {
        let all_pass = "[[gate.rule]]\nnetworks = [\"127.0.0.0/8\"]\naction = \"pass\"\n";
        Gate::set(origin, gate, all_pass)
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

    /// The lines of the access log that are whole: the gate may be writing the next.
    pub(crate) fn log(&self) -> Vec<serde_json::Value> {
        let text =
            fs::read_to_string(self.folder.path().join("state/access.log")).unwrap_or_default();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        whole
            .lines()
            .map(|line| {
                serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
            })
            .collect()
    }

    /// The value of a metric, with its labels as they are written.
    pub(crate) fn metric(&self, name: &str) -> Option<f64> {
        self.metrics().get(name)
    }

    pub(crate) fn metrics(&self) -> Metrics {
        Metrics(self.admin)
    }
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs `cattlegrid kb` on its knowledge base. Gives what that printed.
    pub(crate) fn kb(&self, arguments: &[&str]) -> String {
        let output = Command::new(env!("CARGO_BIN_EXE_cattlegrid"))
            .arg("kb")
            .args(arguments)
            .arg("--kb")
            .arg(self.path("state/kb.sqlite"))
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs the program with a file of the gate's folder as its last argument. Gives what that printed.
    pub(crate) fn command(&self, arguments: &[&str], file: &str) -> String {
        let output = Command::new(env!("CARGO_BIN_EXE_cattlegrid"))
            .args(arguments)
            .arg(self.path(file))
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
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

    /// Bytes of a core dump at most, as the kernel writes that.
    pub(crate) fn core_max(&self) -> String {
        let limits = fs::read_to_string(format!("/proc/{}/limits", self.pid())).unwrap();
        let line = limits.lines().find(|line| line.contains("core file size"));
        line.and_then(|line| line.split_whitespace().nth(4))
            .unwrap()
            .to_owned()
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
