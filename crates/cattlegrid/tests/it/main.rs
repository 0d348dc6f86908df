//! The real program on real files.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests read files and stop at the first surprise"
)]

mod browser;
mod campaign_k;
mod campaigns;
mod cli;
mod determinism;
mod follow;
mod formats;
mod headers;
mod hidden;
mod hostile;
mod imports;
mod kb;
mod lists;
#[path = "../../examples/make_log.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    missing_docs,
    reason = "an example is a program of its own"
)]
mod make_log;
mod paths;
mod plan;
mod real_logs;
mod report_page;
mod schema;
#[path = "../webdriver/session.rs"]
mod session;
mod sessions;
mod shape;
#[path = "../skip/skip.rs"]
mod skip;
mod sources;
mod trainer;
mod usage;

use std::io::Write;
use std::path::Path;
use std::process::Child;
use std::process::Command;
use std::process::Output;
use std::process::Stdio;

use serde_json::Value;
use tempfile::TempDir;

/// The log that the README shows.
const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/access.log");

/// A folder that is not there: lists on this machine must not show in the tests.
const NO_LISTS: &str = "/nonexistent/lists";

/// Runs the program.
fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cattlegrid"))
        .args(arguments)
        .env("CATTLEGRID_LISTS", NO_LISTS)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// Starts the program with pipes at all ends.
fn spawn(arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_cattlegrid"))
        .args(arguments)
        .env("CATTLEGRID_LISTS", NO_LISTS)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Runs the program with something on its standard input.
fn run_with_input(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = spawn(arguments);
    let mut pipe = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || drop(pipe.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output
}

/// The report of a successful run.
fn report(arguments: &[&str]) -> Value {
    let output = run(&[&["analyze", "--json", "-"], arguments].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!text.contains("panicked"), "{text}");
    text
}

/// A folder with a file in it.
fn file(bytes: &[u8]) -> (TempDir, String) {
    let folder = TempDir::new().unwrap();
    let path = write(folder.path(), "access.log", bytes);
    (folder, path)
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> String {
    let path = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    path.to_str().unwrap().to_owned()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 3).unwrap()
}

fn bzip2(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 6);
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A line of a log in the combined format, so many seconds after the beginning of 2030.
fn log_line(
    second: usize,
    source: &str,
    target: &str,
    status: u16,
    referrer: &str,
    agent: &str,
) -> String {
    let (day, of_day) = (1 + second / 86_400, second % 86_400);
    let (hour, minute, left) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!(
        "{source} - - [{day:02}/Jan/2030:{hour:02}:{minute:02}:{left:02} +0000] \"GET {target} HTTP/1.1\" {status} 900 \"{referrer}\" \"{agent}\""
    )
}

fn log_bytes(lines: usize, seed: u64) -> Vec<u8> {
    let mut text = make_log::make(lines, seed).join("\n").into_bytes();
    text.push(b'\n');
    text
}

const LINE: &str =
    r#"192.0.2.1 - - [01/Jan/2030:00:00:00 +0000] "GET / HTTP/1.1" 200 512 "-" "Mozilla/5.0""#;
