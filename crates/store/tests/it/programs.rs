//! Other programs: whether they are here, running them, and stopping those that serve.

use std::env;
use std::io;
use std::io::Write;
use std::net::TcpListener;
use std::process::Child;
use std::process::Command;
use std::thread;
use std::time::Duration;
use std::time::Instant;

/// Longer than any start on a busy machine.
const DEADLINE: Duration = Duration::from_secs(30);

/// Whether all programs are here.
pub(crate) fn have(programs: &[&str], checks: usize) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    let missing = programs
        .iter()
        .find(|program| !env::split_paths(&path).any(|folder| folder.join(program).is_file()));
    if let Some(program) = missing {
        not_installed(program, checks);
    }
    missing.is_none()
}

/// Leaves out checks for lack of what a package brings. `./test` installs all of it and sets `CATTLEGRID_NO_SKIP=1`: there the check
/// fails instead.
pub(crate) fn not_installed(what: &str, checks: usize) {
    assert!(
        env::var_os("CATTLEGRID_NO_SKIP").is_none_or(|value| value != "1"),
        "{what} is not installed, and CATTLEGRID_NO_SKIP=1 allows no skipped check: install it, or unset the variable"
    );
    skipped(checks, &format!("{what} is not installed"));
}

/// Leaves out checks for lack of what no package brings, such as a namespace that the kernel refuses. It is said past the test harness,
/// which would capture it.
pub(crate) fn skipped(checks: usize, why: &str) {
    let line = format!("SKIPPED: {checks} checks, {why}\n");
    io::stdout().write_all(line.as_bytes()).unwrap();
}

/// Runs a command to its end and returns what it said on both streams, with whether it succeeded.
pub(crate) fn run(command: &mut Command) -> (bool, String) {
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (
        output.status.success(),
        String::from_utf8_lossy(&text).into_owned(),
    )
}

/// Runs a command that must succeed.
pub(crate) fn succeed(command: &mut Command) -> String {
    let (success, text) = run(command);
    let shown: String = text.chars().take(2_000).collect();
    assert!(success, "{command:?}: {shown}");
    text
}

/// A shell with a network of its own, where firewalls can be tried without touching the machine's.
pub(crate) fn apart(script: &str) -> Command {
    let mut command = Command::new("unshare");
    command.args(["-n", "sh", "-euc", script]);
    command
}

/// A port nobody listens at.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port()
}

/// A full run must not pass because a program is missing.
#[test]
fn a_missing_program_skips_a_check_but_fails_a_full_run() {
    let without_programs = |no_skip: &str| {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--exact", "export::haproxy_takes_it"]);
        command.env("PATH", "/nonexistent");
        run(command.env("CATTLEGRID_NO_SKIP", no_skip))
    };
    let (success, said) = without_programs("0");
    assert!(
        success && said.contains("SKIPPED: 4 checks, haproxy"),
        "{said}"
    );
    let (success, said) = without_programs("1");
    assert!(
        !success && said.contains("haproxy is not installed"),
        "{said}"
    );
}

/// A running server, stopped when it goes out of scope.
pub(crate) struct Server {
    child: Child,
    port: u16,
}

impl Server {
    /// Starts a server and waits until it answers; `None` if it ends before.
    pub(crate) fn start(command: &mut Command, port: u16) -> Option<Server> {
        let mut server = Server {
            child: command.spawn().unwrap(),
            port,
        };
        let start = Instant::now();
        while server.status("127.0.0.1") == "000" {
            if server.child.try_wait().unwrap().is_some() {
                return None;
            }
            assert!(start.elapsed() < DEADLINE, "{command:?} does not answer");
            thread::sleep(Duration::from_millis(20));
        }
        Some(server)
    }

    /// The status that a client at this loopback address gets, 000 for none.
    pub(crate) fn status(&self, client: &str) -> String {
        self.status_of(client, "/")
    }

    /// The same for another page.
    pub(crate) fn status_of(&self, client: &str, page: &str) -> String {
        let host = if client.contains(':') {
            "[::1]"
        } else {
            "127.0.0.1"
        };
        let output = Command::new("curl")
            .args([
                "-s",
                "-o",
                "/dev/null",
                "-w",
                "%{http_code}",
                "--noproxy",
                "*",
            ])
            .args(["--max-time", "10", "--interface", client])
            .arg(format!("http://{host}:{}{page}", self.port))
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    /// The median time of an answer over one connection, as a client sees it, in microseconds.
    pub(crate) fn answer_us(&self) -> u32 {
        let times = succeed(
            Command::new("curl")
                .args([
                    "-s",
                    "-o",
                    "/dev/null",
                    "-w",
                    "%{time_total}\n",
                    "--noproxy",
                    "*",
                ])
                .arg(format!("http://127.0.0.1:{}/?[1-500]", self.port)),
        );
        let mut times: Vec<f64> = times.lines().map(|line| line.parse().unwrap()).collect();
        times.sort_by(f64::total_cmp);
        (1e6 * times[times.len() / 2]) as u32
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
