//! `analyze --follow`: a log that is written, rotated by the real logrotate and read at the same time.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fs;
use std::fs::File;
use std::fs::OpenOptions;
use std::io::BufRead;
use std::io::BufReader;
use std::io::Read;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;
use std::process::Child;
use std::process::Command;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;
use std::time::Instant;

use serde_json::Value;
use tempfile::TempDir;

use crate::LINE;
use crate::run;
use crate::skip::has;
use crate::spawn;
use crate::stderr;
use crate::write;

const DEADLINE: Duration = Duration::from_secs(60);

/// A running `analyze --follow`.
struct Follower {
    child: Child,
    stdout: BufReader<std::process::ChildStdout>,
    stderr: BufReader<std::process::ChildStderr>,
}

impl Follower {
    /// Starts it and waits until it has read what is there.
    fn start(arguments: &[&str]) -> Follower {
        let mut child = spawn(&[&["analyze", "--follow"], arguments].concat());
        let mut follower = Follower {
            stdout: BufReader::new(child.stdout.take().unwrap()),
            stderr: BufReader::new(child.stderr.take().unwrap()),
            child,
        };
        follower.wait_for("following");
        follower
    }

    /// Waits for a note.
    fn wait_for(&mut self, words: &str) {
        let mut line = String::new();
        while !line.contains(words) {
            line.clear();
            assert_ne!(
                self.stderr.read_line(&mut line).unwrap(),
                0,
                "it ended before it said '{words}'"
            );
        }
    }

    /// Ends it as a service manager does. Gives what it wrote to standard output and the rest of its notes.
    fn stop(mut self) -> (ExitStatus, String, String) {
        let killed = Command::new("kill")
            .arg(self.child.id().to_string())
            .status()
            .unwrap();
        assert!(killed.success());
        let (mut out, mut notes) = (String::new(), String::new());
        self.stdout.read_to_string(&mut out).unwrap();
        self.stderr.read_to_string(&mut notes).unwrap();
        (self.child.wait().unwrap(), out, notes)
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A line whose source nobody else has.
fn numbered(number: usize) -> String {
    LINE.replace(
        "192.0.2.1",
        &format!("2001:db8:{:x}:{:x}::1", number >> 16, number & 0xffff),
    ) + "\n"
}

fn number_of(source: &str) -> usize {
    let parts: Vec<&str> = source
        .trim_start_matches("2001:db8:")
        .split([':', ' ', '/'])
        .collect();
    let part =
        |at: usize| usize::from_str_radix(parts.get(at).copied().unwrap_or("0"), 16).unwrap_or(0);
    part(0) << 16 | part(1)
}

/// Writes lines until it is told to stop, beginning the file anew when `reopen` appears, as servers do on a signal.
fn write_lines(log: PathBuf, reopen: PathBuf, stop: Arc<AtomicBool>, split: bool) -> usize {
    let open = || {
        OpenOptions::new()
            .append(true)
            .create(true)
            .open(&log)
            .unwrap()
    };
    let mut file = open();
    let mut number = 1;
    while !stop.load(Ordering::Relaxed) {
        for _ in 0..40 {
            let line = numbered(number);
            number += 1;
            if split && number % 3 == 0 {
                let (first, second) = line.split_at(number % line.len());
                file.write_all(first.as_bytes()).unwrap();
                file.write_all(second.as_bytes()).unwrap();
            } else {
                file.write_all(line.as_bytes()).unwrap();
            }
        }
        if fs::remove_file(&reopen).is_ok() {
            file = open();
        }
        // The load: some 20,000 lines a second.
        thread::sleep(Duration::from_millis(2));
    }
    number - 1
}

/// Lines of the log and of everything it was rotated to.
fn numbers_on_disk(folder: &Path) -> BTreeSet<usize> {
    let mut numbers = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        if !name.starts_with("access.log") {
            continue;
        }
        let file = File::open(entry.path()).unwrap();
        let mut text = String::new();
        if name.ends_with(".gz") {
            flate2::read::MultiGzDecoder::new(file)
                .read_to_string(&mut text)
                .unwrap();
        } else {
            BufReader::new(file).read_to_string(&mut text).unwrap();
        }
        let lines = text.lines().map(|line| (line, number_of(line)));
        // logrotate's copy may end in the middle of a line.
        let whole = lines.filter(|(line, number)| *line == numbered(*number).trim_end());
        numbers.extend(whole.map(|(_, number)| number));
    }
    numbers
}

/// Follows a log while it is written and rotated a dozen times. Gives the lines written, the ones that logrotate left, and
/// how often each was counted.
fn rotate_under_load(
    directives: &str,
    split: bool,
) -> (usize, BTreeSet<usize>, BTreeMap<usize, u64>) {
    let folder = TempDir::new().unwrap();
    let log = write(folder.path(), "access.log", numbered(0).as_bytes());
    let reopen = folder.path().join("reopen");
    let configuration = write(
        folder.path(),
        "logrotate.conf",
        format!(
            "{log} {{\n rotate 100\n {directives}\n postrotate\n touch {}\n endscript\n}}\n",
            reopen.display()
        )
        .as_bytes(),
    );
    let json = folder.path().join("report.json");
    let follower = Follower::start(&[
        "--min-requests",
        "1",
        "--json",
        json.to_str().unwrap(),
        &log,
    ]);
    let stop = Arc::new(AtomicBool::new(false));
    let writer = thread::spawn({
        let (log, stop) = (PathBuf::from(&log), Arc::clone(&stop));
        move || write_lines(log, reopen, stop, split)
    });
    let state = folder.path().join("state");
    for _ in 0..12 {
        let before = fs::metadata(&log).map_or(0, |metadata| metadata.len());
        let begun = Instant::now();
        while fs::metadata(&log).map_or(0, |metadata| metadata.len()) < before + 100_000 {
            assert!(begun.elapsed() < DEADLINE, "the log does not grow");
            thread::sleep(Duration::from_millis(1));
        }
        let rotated = Command::new("logrotate")
            .args(["--force", "--state"])
            .args([state.to_str().unwrap(), &configuration])
            .output()
            .unwrap();
        assert!(
            rotated.status.success(),
            "{}",
            String::from_utf8_lossy(&rotated.stderr)
        );
    }
    stop.store(true, Ordering::Relaxed);
    let written = writer.join().unwrap() + 1;
    let (status, _, notes) = follower.stop();
    assert!(
        status.success() && !notes.contains("missing"),
        "{status} {notes}"
    );
    let report: Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
    eprint!("{notes}");
    let torn =
        report["lines"]["read"].as_u64().unwrap() - report["lines"]["parsed"].as_u64().unwrap();
    assert!(
        torn == 0 || (directives.contains("copytruncate") && torn <= 12),
        "{torn}"
    );
    let counted = report["sources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|source| {
            let number = number_of(source["source"].as_str().unwrap());
            (number, source["requests"].as_u64().unwrap())
        })
        .collect();
    (written, numbers_on_disk(folder.path()), counted)
}

/// A full run must not pass because a program is missing.
#[test]
fn a_missing_program_skips_a_check_but_fails_a_full_run() {
    let without_programs = |no_skip: &str| {
        let name = "follow::h188_no_line_is_lost_or_counted_twice_while_logrotate_works";
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name])
            .env("PATH", "/nonexistent")
            .env("CATTLEGRID_NO_SKIP", no_skip)
            .output()
            .unwrap()
    };
    let skipped = without_programs("0");
    assert!(skipped.status.success(), "{skipped:?}");
    let said = stderr(&skipped);
    assert!(said.contains("SKIPPED: 4 checks, logrotate"), "{said}");
    let failed = without_programs("1");
    assert!(!failed.status.success(), "{failed:?}");
    let said = String::from_utf8(failed.stdout).unwrap();
    assert!(said.contains("logrotate is not installed"), "{said}");
}

#[test]
fn h188_no_line_is_lost_or_counted_twice_while_logrotate_works() {
    if !has("logrotate", 4) {
        return;
    }
    let ways = [
        ("create 0600\n delaycompress\n compress", true),
        ("nocreate\n compress", true),
        ("copytruncate", false),
        ("copytruncate\n compress", false),
    ];
    for (directives, split) in ways {
        let (written, on_disk, counted) = rotate_under_load(directives, split);
        let twice = counted.values().filter(|count| **count > 1).count();
        let lost = on_disk
            .iter()
            .filter(|number| !counted.contains_key(number))
            .count();
        let invented = counted.keys().filter(|number| **number >= written).count();
        let by_logrotate = (0..written)
            .filter(|number| !on_disk.contains(number))
            .count();
        eprintln!(
            "{}: {written} written, {} left by logrotate ({by_logrotate} lost by it), {} counted, {lost} lost, {twice} twice",
            directives.replace("\n", ","),
            on_disk.len(),
            counted.len()
        );
        assert_eq!((lost, twice, invented), (0, 0, 0));
        assert!(written > 10_000);
        // Packed at once, what the server still writes to the renamed file is gone with it.
        if directives.contains("delaycompress") {
            assert_eq!(counted.len(), written);
        }
    }
}

#[test]
fn verdicts_that_change_are_shown_and_files_replaced() {
    let folder = TempDir::new().unwrap();
    let log = write(folder.path(), "access.log", b"");
    let json = folder.path().join("report.json");
    let mut follower = Follower::start(&["--json", json.to_str().unwrap(), &log]);
    let report = || -> Value { serde_json::from_slice(&fs::read(&json).unwrap()).unwrap() };
    assert_eq!(report()["lines"]["read"], 0);
    let mut file = OpenOptions::new().append(true).open(&log).unwrap();
    let robot = |hour: u32| {
        LINE.replace("2030:00:", &format!("2030:{hour:02}:"))
            .replace("Mozilla/5.0", "Examplebot/1.0 (crawler)")
    };
    for hour in 0..3 {
        writeln!(file, "{}\n{}", robot(hour), robot(hour)).unwrap();
    }
    follower.wait_for("format combined");
    let mut line = String::new();
    while !line.contains("new -> crawler") {
        line.clear();
        assert_ne!(
            follower.stdout.read_line(&mut line).unwrap(),
            0,
            "no change was shown"
        );
    }
    assert!(line.contains("192.0.2.1"), "{line}");
    let (status, _, notes) = follower.stop();
    assert!(status.success(), "{notes}");
    assert_eq!(report()["lines"]["parsed"], 6);
}

#[test]
fn old_windows_are_forgotten() {
    let folder = TempDir::new().unwrap();
    let log = write(folder.path(), "access.log", format!("{LINE}\n").as_bytes());
    let json = folder.path().join("report.json");
    let json = json.to_str().unwrap();
    let follower = Follower::start(&[
        "--window",
        "1d",
        "--min-requests",
        "1",
        "--json",
        json,
        &log,
    ]);
    let mut file = OpenOptions::new().append(true).open(&log).unwrap();
    for day in 2..9 {
        writeln!(
            file,
            "{}",
            LINE.replace("01/Jan", &format!("{day:02}/Jan"))
                .replace("192.0.2.1", &format!("192.0.2.{day}"))
        )
        .unwrap();
    }
    // The end judges everything once more, so look at it before.
    let begun = Instant::now();
    let sources = || {
        let report: Value = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
        let names = report["sources"].as_array().unwrap().iter();
        names
            .map(|source| source["source"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    while sources() != ["192.0.2.7", "192.0.2.8"] {
        assert!(begun.elapsed() < DEADLINE, "{:?}", sources());
        thread::sleep(Duration::from_millis(20));
    }
    assert!(follower.stop().0.success());
}

#[test]
fn what_cannot_be_followed_is_refused() {
    let folder = TempDir::new().unwrap();
    let packed = write(folder.path(), "old.gz", &crate::gzip(LINE.as_bytes()));
    let plain = write(folder.path(), "access.log", LINE.as_bytes());
    for (arguments, words) in [
        (vec!["-"], "cannot be followed"),
        (vec![packed.as_str()], "none of these logs can be followed"),
        (vec!["--json", "-", plain.as_str()], "give it a file"),
        (vec!["/nonexistent/access.log"], "does not exist"),
    ] {
        let output = run(&[&["analyze", "--follow"], &arguments[..]].concat());
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(words), "{}", stderr(&output));
    }
}

#[test]
fn a_new_log_whose_format_is_not_told_yet_and_a_missing_one_are_named() {
    let folder = TempDir::new().unwrap();
    let log = write(folder.path(), "access.log", b"");
    let json = folder.path().join("report.json");
    let missing = folder.path().join("missing.log");
    let arguments = [
        "--json",
        json.to_str().unwrap(),
        &log,
        missing.to_str().unwrap(),
    ];
    let mut follower = Follower::start(&arguments);
    let mut file = OpenOptions::new().append(true).open(&log).unwrap();
    writeln!(file, "server started").unwrap();
    follower.wait_for("access.log: ");
    for _ in 0..20 {
        writeln!(file, "{LINE}").unwrap();
    }
    follower.wait_for("format combined");
    let (status, _, notes) = follower.stop();
    assert_eq!(status.code(), Some(2), "the missing log is a loss: {notes}");
    let report: Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
    assert_eq!(report["lines"]["parsed"], 20);
}
