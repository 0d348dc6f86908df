//! Logs made to hurt, named by their numbers in the list of hostile cases. Each must end in a report or a clear message.

use std::io::Write;
use std::process::Command;
use std::process::Output;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::LINE;
use crate::file;
use crate::gzip;
use crate::log_bytes;
use crate::report;
use crate::run;
use crate::run_with_input;
use crate::spawn;
use crate::stderr;
use crate::stdout;
use crate::write;

/// Reasons and counts of a report.
fn skipped(json: &Value) -> Vec<(String, u64)> {
    let entries = json["lines"]["skipped"].as_array().unwrap().iter();
    entries
        .map(|entry| {
            (
                entry["reason"].as_str().unwrap().to_owned(),
                entry["count"].as_u64().unwrap(),
            )
        })
        .collect()
}

fn analyze(log: &[u8]) -> Value {
    let (_folder, path) = file(log);
    report(&["--min-requests", "1", "--format", "combined", &path])
}

/// Sound lines, so that a few bad ones are a minority.
fn sound(lines: usize) -> String {
    format!("{LINE}\n").repeat(lines)
}

/// Runs the program with `chunk` written `times` times to its standard input; gives its largest memory in MiB too.
fn run_with_flood(arguments: &[&str], chunk: Vec<u8>, times: usize) -> (Output, u64) {
    let mut child = spawn(arguments);
    let status = format!("/proc/{}/status", child.id());
    let mut pipe = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || {
        for _ in 0..times {
            if pipe.write_all(&chunk).is_err() {
                return;
            }
        }
    });
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let watch = std::thread::spawn(move || {
        let mut peak = 0;
        // The mark only rises: the last look before the end counts.
        while stopped.recv_timeout(Duration::from_millis(5)).is_err() {
            let text = std::fs::read_to_string(&status).unwrap_or_default();
            let mark = text.lines().find_map(|line| {
                line.strip_prefix("VmHWM:")?
                    .trim()
                    .strip_suffix(" kB")?
                    .parse::<u64>()
                    .ok()
            });
            peak = peak.max(mark.unwrap_or(0));
        }
        peak / 1024
    });
    let output = child.wait_with_output().unwrap();
    stop.send(()).unwrap();
    writer.join().unwrap();
    (output, watch.join().unwrap())
}

#[test]
fn h035_odd_lines_are_counted_under_a_reason_each() {
    let with = |from: &str, to: &str| LINE.replace(from, to);
    let bad = [
        (with("Mozilla/5.0\"", "Mozilla/5.0"), "open_quote"),
        (with("Mozilla/5.0", "Mozilla \"inner\" quote"), "open_quote"),
        (with(" 200 ", " 99999 "), "bad_status"),
        (with(" 200 ", " -1 "), "bad_status"),
        (with(" 200 ", "  "), "bad_status"),
        (with(" 512 ", " 18446744073709551616 "), "bad_bytes"),
        (with("2030", "0000"), "time_out_of_range"),
        (with("2030", "9999"), "time_out_of_range"),
        (with("01/Jan", "30/Feb"), "bad_time"),
        ("- - - [-] \"-\" - - \"-\" \"-\"".to_owned(), "no_source"),
        (with("192.0.2.1", &"x".repeat(300)), "long_source"),
        ("missing fields".to_owned(), "wrong_shape"),
        (with("GET / HTTP/1.1", "\\x16\\x03\\x01"), "not_http"),
        (with("GET / HTTP/1.1", "-"), "no_request"),
    ];
    let mut log = sound(30).into_bytes();
    for (line, _) in &bad {
        log.extend_from_slice(line.as_bytes());
        log.push(b'\n');
    }
    log.extend_from_slice(b"\x00\xff\xfe not utf-8 \x80\n");
    let json = analyze(&log);
    let mut expected = std::collections::BTreeMap::from([("wrong_shape", 1_u64)]);
    bad.iter()
        .for_each(|(_, reason)| *expected.entry(reason).or_default() += 1);
    let found: std::collections::BTreeMap<String, u64> = skipped(&json).into_iter().collect();
    assert_eq!(
        found
            .iter()
            .map(|(reason, count)| (reason.as_str(), *count))
            .collect::<Vec<_>>(),
        expected.into_iter().collect::<Vec<_>>()
    );
    assert_eq!(json["lines"]["parsed"], 30);
    // Nothing of a bad line was applied.
    assert_eq!(json["totals"]["all"]["sources"], 1);
    assert_eq!(json["totals"]["all"]["bytes"], 30 * 512);
}

#[test]
fn h035_odd_bytes_inside_sound_lines_are_values_like_others() {
    let mut log = Vec::new();
    for agent in [&b"\\x22 \\\" \x00 \xff"[..], b"a\tb", b"\xe2\x80\xae"] {
        log.extend_from_slice(
            &[
                LINE.split("Mozilla").next().unwrap().as_bytes(),
                agent,
                b"\"\n",
            ]
            .concat(),
        );
    }
    let json = analyze(&log);
    assert_eq!(json["lines"]["parsed"], 3);
    assert_eq!(json["sources"][0]["agents"], 3);
}

#[test]
fn h036_lines_around_the_cap() {
    let sized = |bytes: usize| LINE.replace("Mozilla", &"M".repeat(bytes + 7 - LINE.len())) + "\n";
    let cap = 64 << 10;
    for (bytes, parsed) in [(cap - 1, 2), (cap + 1, 1), (cap * 3, 1)] {
        let json = analyze(&[sized(bytes).as_bytes(), LINE.as_bytes(), b"\n"].concat());
        assert_eq!(json["lines"]["parsed"], parsed, "{bytes}");
        assert_eq!(json["lines"]["read"], 2, "{bytes}");
    }
}

#[test]
fn h036_a_line_without_end_and_empty_lines_cost_no_memory() {
    let arguments = ["analyze", "-q", "--format", "combined", "-"];
    let (_, idle) = run_with_flood(&arguments, sound(1000).into_bytes(), 1);
    // A gigabyte without a newline, then a gigabyte of newlines would take minutes in a debug build: a quarter each.
    let (output, peak) = run_with_flood(&arguments, vec![b'a'; 1 << 20], 256);
    assert_eq!(output.status.code(), Some(2), "one line, unreadable");
    assert!(stderr(&output).contains("long_line"), "{}", stderr(&output));
    assert!(peak <= idle + 64, "{peak} MiB, {idle} idle");
    let (output, peak) = run_with_flood(&arguments, vec![b'\n'; 1 << 20], 16);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(peak <= idle + 64, "{peak} MiB, {idle} idle");
}

#[test]
fn h036_many_sources_agents_and_tokens_stay_bounded() {
    let mut log = String::new();
    for number in 0..60_000 {
        log += &LINE
            .replace("192.0.2.1", &format!("host-{number}.example.com"))
            .replace("Mozilla", &format!("Agent{number}-{}", "x".repeat(200)));
        log += "\n";
    }
    let (output, peak) = run_with_flood(&["analyze", "-q", "-"], log.into_bytes(), 4);
    assert!(output.status.success(), "{}", stderr(&output));
    // All of them are listed, as programs on no list: about two kilobytes each, beside the texts of their agents.
    assert!(peak < 256, "{peak} MiB for 60,000 sources");
}

#[test]
fn h036_one_request_again_and_again_costs_no_time() {
    let begun = std::time::Instant::now();
    let output = crate::run_with_input(
        &["analyze", "-"],
        format!("{LINE}\n").repeat(200_000).as_bytes(),
    );
    assert!(output.status.success(), "{}", stderr(&output));
    // Work that grows with the square would take minutes.
    assert!(begun.elapsed().as_secs() < 30, "{:?}", begun.elapsed());
}

#[test]
fn h038_compressed_logs_that_are_damaged_or_bombs() {
    let folder = TempDir::new().unwrap();
    let good = write(folder.path(), "good.log", sound(10).as_bytes());
    let packed = gzip(sound(1000).as_bytes());
    let check = |name: &str, bytes: &[u8], message: &str, parsed: u64| {
        let path = write(folder.path(), name, bytes);
        let output = run(&[
            "analyze", "--json", "-", "--format", "combined", &path, &good,
        ]);
        assert_eq!(
            output.status.code(),
            Some(if message.is_empty() { 0 } else { 2 }),
            "{name}: {}",
            stderr(&output)
        );
        assert!(
            stderr(&output).contains(message),
            "{name}: {}",
            stderr(&output)
        );
        let json: Value = serde_json::from_slice(&output.stdout).unwrap();
        let found = json["lines"]["parsed"].as_u64().unwrap();
        assert!(
            found >= parsed + 10 && (!message.is_empty() || found == parsed + 10),
            "{name}: {found}"
        );
    };
    check(
        "members.gz",
        &gzip(sound(1).as_bytes()).repeat(10_000),
        "",
        10_000,
    );
    check(
        "half.gz",
        &packed[..packed.len() / 2],
        "half.gz is damaged; what came before was read",
        1,
    );
    check(
        "garbage.gz",
        &[&packed[..], b"garbage behind the end"].concat(),
        "garbage.gz is damaged",
        1000,
    );
    check(
        "twice.gz",
        &gzip(&packed),
        "twice.gz is compressed twice",
        0,
    );
    check("plain.gz", sound(5).as_bytes(), "", 5);
    check(
        "wrong_magic.gz",
        b"\x1f\x8bnonsense",
        "wrong_magic.gz cannot be read",
        0,
    );
}

#[test]
fn h038_a_bomb_is_stopped_while_it_unpacks() {
    // 300 MB of newlines in 300 KB: a thousand to one.
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(sound(10).as_bytes()).unwrap();
    (0..300).for_each(|_| encoder.write_all(&vec![b'\n'; 1 << 20]).unwrap());
    let bomb = encoder.finish().unwrap();
    let (output, peak) = run_with_flood(&["analyze", "--format", "combined", "-"], bomb, 1);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("unpacks to more than"),
        "{}",
        stderr(&output)
    );
    assert!(
        stdout(&output).contains("10 requests"),
        "what came before is reported"
    );
    assert!(peak < 100, "{peak} MiB");
}

#[test]
fn h039_every_compression_has_the_same_limits() {
    let folder = TempDir::new().unwrap();
    let good = write(folder.path(), "good.log", sound(10).as_bytes());
    let run_on = |name: &str, bytes: &[u8]| {
        let path = write(folder.path(), name, bytes);
        let output = run(&[
            "analyze", "--json", "-", "--format", "combined", &path, &good,
        ]);
        let json: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let parsed = json["lines"]["parsed"].as_u64().unwrap_or(0);
        (output.status.code(), parsed, stderr(&output))
    };
    type Pack = fn(&[u8]) -> Vec<u8>;
    for (kind, pack) in [
        ("zstd", crate::zstd as Pack),
        ("bzip2", crate::bzip2),
        ("xz", crate::xz),
        ("gzip", gzip),
    ] {
        let one = pack(&log_bytes(2000, 7));
        // The name says nothing, and members follow each other.
        let (code, parsed, said) = run_on("members.gz", &one.repeat(3));
        assert_eq!((code, parsed), (Some(0), 6010), "{kind}: {said}");
        let (code, parsed, said) = run_on("half.log", &one[..one.len() / 2]);
        assert!(code == Some(2) && parsed >= 10, "{kind}: {said}");
        assert!(
            said.contains("half.log is damaged") || said.contains("half.log cannot be read"),
            "{kind}: {said}"
        );
        let mut bomb = sound(10).into_bytes();
        bomb.resize(48 << 20, b'\n');
        let (code, parsed, said) = run_on("bomb", &pack(&bomb));
        // The fastest level of gzip packs newlines 200 times smaller: no bomb.
        if kind != "gzip" {
            assert!(
                code == Some(2)
                    && parsed == 20
                    && said.contains(
                        "bomb is damaged; what came before was read: unpacks to more than"
                    ),
                "{kind}: {said}"
            );
        }
    }
    // A window of two gibibytes, declared in nine bytes.
    let window = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xa8, 0x01, 0x00, 0x00];
    let (code, parsed, said) = run_on("window.zst", &window);
    assert!(code == Some(2) && parsed == 10, "{said}");
    assert!(said.contains("window.zst cannot be read"), "{said}");
    // Frames that hold nothing, before the log.
    let skippable = [0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4].repeat(100_000);
    let (code, parsed, said) = run_on(
        "empty_frames.zst",
        &[&skippable[..], &crate::zstd(sound(5).as_bytes())].concat(),
    );
    assert_eq!((code, parsed), (Some(0), 15), "{said}");
    let (code, parsed, said) = run_on("archive.zip", b"PK\x03\x04whatever");
    assert!(
        code == Some(2) && parsed == 10 && said.contains("is a zip archive"),
        "{said}"
    );
}

#[test]
fn h041_h154_h156_nothing_from_a_log_acts_on_a_terminal_or_is_expanded() {
    let evil = "\x1b]0;owned\x07\x1b[2J\u{9b}31m\u{202e}<script>alert(1)</script>${jndi:x}{{7*7}}{env.HOME}%s";
    let mut log = String::new();
    for number in 0..30 {
        log += &LINE
            .replace("Mozilla/5.0", evil)
            .replace("GET /", &format!("GET /{number}"))
            .replace(" 200 ", " 404 ")
            .replace("192.0.2.1", "host\x1b[31m.example");
        log += "\n";
    }
    log += &format!("{evil} broken line\n");
    let (_folder, path) = file(log.as_bytes());
    let output = run(&["analyze", &path]);
    assert!(output.status.success(), "{}", stderr(&output));
    for text in [stdout(&output), stderr(&output)] {
        assert!(
            text.chars().all(|char| char == '\n' || !char.is_control())
                && !text.contains('\u{202e}'),
            "{text}"
        );
    }
    let text = stdout(&output);
    assert!(
        text.contains("host\\x1b[31m.example")
            && text.contains("\\x1b]0;owned\\x07\\x1b[2J\\u{9b}31m\\u{202e}<script>"),
        "{text}"
    );
    let json = report(&["--min-requests", "1", &path]);
    assert!(
        json["sources"][0]["agent"]
            .as_str()
            .unwrap()
            .ends_with("<script>alert(1)</script>${jndi:x}{{7*7}}{env.HOME}%s")
    );
}

#[test]
fn h179_a_fake_line_inside_a_field_never_counts_for_its_victim() {
    let fake = r#"203.0.113.7 - - [01/Jan/2030:00:00:00 +0000] \"GET /evil HTTP/1.1\" 404 1 \"-\" \"bad\""#;
    let raw = fake.replace('\\', "");
    let lines = [
        LINE.replace("Mozilla/5.0", fake),
        LINE.replace("Mozilla/5.0", &raw),
        LINE.replace("GET / ", &format!("GET /{fake} ")),
        LINE.replace("GET / ", &format!("GET /%0a{raw} ")),
        LINE.replace("GET / ", &format!("GET /\\x0a{} ", fake)),
        LINE.replace("\"-\"", &format!("\"[client 203.0.113.7] {fake}\"")),
        LINE.to_owned() + " " + &raw,
        LINE.replace(" - - ", " - 203.0.113.7 - - "),
    ];
    let json = analyze((lines.join("\n") + "\n" + &sound(20)).as_bytes());
    let sources: Vec<&str> = json["sources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|source| source["source"].as_str().unwrap())
        .collect();
    assert_eq!(sources, ["192.0.2.1"]);
}

#[test]
fn h180_only_the_client_column_is_the_source() {
    let lines: String = (0..1000)
        .map(|number| format!("{LINE} \"203.0.113.7, 10.0.0.{}\"\n", number % 250))
        .collect();
    let (_folder, path) = file(lines.as_bytes());
    for format in [
        "combined",
        r#"%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i" "%{X-Forwarded-For}i""#,
    ] {
        let json = report(&["--min-requests", "1", "--format", format, &path]);
        assert_eq!(json["sources"].as_array().unwrap().len(), 1, "{format}");
        assert_eq!(json["sources"][0]["source"], "192.0.2.1");
    }
}

#[test]
fn h189_a_report_is_whole_or_not_there() {
    let folder = TempDir::new().unwrap();
    let log = write(folder.path(), "access.log", &crate::log_bytes(20_000, 5));
    let out = folder.path().join("report.json");
    std::fs::write(&out, "the old one").unwrap();
    for round in 0..20_u64 {
        let mut child = Command::new(env!("CARGO_BIN_EXE_cattlegrid"))
            .args([
                "analyze",
                "-q",
                "--min-requests",
                "1",
                &log,
                "--json",
                out.to_str().unwrap(),
            ])
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(round * 20));
        child.kill().unwrap();
        child.wait().unwrap();
        let text = std::fs::read_to_string(&out).unwrap();
        assert!(
            text == "the old one" || serde_json::from_str::<Value>(&text).is_ok(),
            "half a report"
        );
    }
}

#[test]
fn h191_times_from_elsewhere() {
    let at = |time: &str| LINE.replace("01/Jan/2030:00:00:00 +0000", time) + "\n";
    let log = [
        at("25/Mar/2029:01:59:59 +0100"),
        at("01/Jan/1970:00:00:00 +0000"),
        // The hour that daylight saving skips, in two zones, out of order by seconds.
        at("25/Mar/2029:03:00:00 +0200"),
        at("25/Mar/2029:00:59:58 +0000"),
        at("01/Jan/2099:00:00:00 +0000"),
        at("24/Mar/2029:20:00:05 -0500"),
        at("25/Mar/2029:01:00:60 +0000"),
    ]
    .concat();
    let json = analyze(log.as_bytes());
    assert_eq!(
        skipped(&json),
        [
            ("time_out_of_range".to_owned(), 1),
            ("time_jump".to_owned(), 1)
        ]
    );
    assert_eq!(
        (json["first_seen"].as_str(), json["last_seen"].as_str()),
        (Some("2029-03-25T00:59:58Z"), Some("2029-03-25T01:00:59Z"))
    );
    assert_eq!(json["sources"][0]["windows"].as_array().unwrap().len(), 1);
}

#[test]
fn h192_inputs_that_are_no_logs() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let good = write(folder.path(), "good.log", sound(3).as_bytes());
    let empty = write(folder.path(), "empty.log", b"");
    assert!(
        Command::new("mkfifo")
            .arg(path("pipe"))
            .status()
            .unwrap()
            .success()
    );
    let _socket = std::os::unix::net::UnixListener::bind(path("socket")).unwrap();
    std::os::unix::fs::symlink(path("loop"), path("loop")).unwrap();
    std::fs::create_dir(path("nothing")).unwrap();
    let sparse = path("sparse.log");
    std::fs::File::create(&sparse)
        .unwrap()
        .set_len(100 << 30)
        .unwrap();
    for (input, message) in [
        (path("pipe"), "is a named pipe"),
        (path("socket"), "is a socket"),
        (path("loop"), "cannot be opened"),
        (path("nothing"), "is a folder without files"),
        (sparse, "NUL bytes"),
        ("/dev/zero".to_owned(), "is a device"),
        (path("missing.*"), "matches no file"),
    ] {
        let output = run(&["analyze", &input, &good]);
        assert_eq!(output.status.code(), Some(2), "{input}");
        assert!(
            stderr(&output).contains(message),
            "{input}: {}",
            stderr(&output)
        );
        assert!(
            stdout(&output).contains("3 requests"),
            "{input}: the other log is read"
        );
    }
    // An empty log is no error: nothing happened.
    let output = run(&["analyze", &empty, &good]);
    assert_eq!(output.status.code(), Some(0));
    assert!(stderr(&output).contains("empty.log is empty"));
    // A pipe from the shell has a writer.
    let shell = format!(
        "'{}' analyze --json - <(cat '{good}')",
        env!("CARGO_BIN_EXE_cattlegrid")
    );
    let output = Command::new("bash").args(["-c", &shell]).output().unwrap();
    assert!(
        stdout(&output).contains("\"parsed\":3"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn fuzz_corpus_by_chance_never_stops_the_program() {
    // Sound lines with bytes knocked out, a million bytes of it: no panic, and every line is accounted for.
    let mut state = 88_172_645_463_325_252_u64;
    let mut log = sound(4000).into_bytes();
    for _ in 0..8000 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let at = (state % log.len() as u64) as usize;
        log[at] = (state >> 40) as u8;
    }
    let output = run_with_input(
        &["analyze", "--json", "-", "--format", "combined", "-"],
        &log,
    );
    let lines = log.iter().filter(|byte| **byte == b'\n').count() as u64
        + u64::from(log.last() != Some(&b'\n'));
    if output.status.success() {
        let json: Value = serde_json::from_slice(&output.stdout).unwrap();
        let left_out: u64 = skipped(&json).iter().map(|(_, count)| count).sum();
        let count = |name: &str| json["lines"][name].as_u64().unwrap();
        assert_eq!(
            (count("read"), count("parsed") + count("blank") + left_out),
            (lines, lines)
        );
    } else {
        assert!(stderr(&output).contains("lines could not be read"));
    }
}

#[test]
fn h188_a_log_that_is_rotated_while_it_is_read() {
    let folder = TempDir::new().unwrap();
    let log = crate::log_bytes(60_000, 8);
    let whole = log.split(|byte| *byte == b'\n').count() as u64 - 1;
    let path = folder.path().join("access.log");
    for (round, rotate) in ["rename", "truncate", "swap"]
        .iter()
        .cycle()
        .take(12)
        .enumerate()
    {
        std::fs::write(&path, &log).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_cattlegrid"))
            .args([
                "analyze",
                "--json",
                "-",
                "--format",
                "combined",
                path.to_str().unwrap(),
            ])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // At another moment each round: before it is opened, while it is read, after.
        std::thread::sleep(Duration::from_millis(round as u64 * 15));
        match *rotate {
            "rename" => {
                std::fs::rename(&path, folder.path().join("access.log.1")).unwrap();
                std::fs::write(&path, format!("{LINE}\n")).unwrap();
            }
            // Copytruncate, in the middle of a line.
            "truncate" => std::fs::File::options()
                .write(true)
                .open(&path)
                .unwrap()
                .set_len(log.len() as u64 / 3 + 7)
                .unwrap(),
            _ => {
                std::fs::remove_file(&path).unwrap();
                std::os::unix::fs::symlink(folder.path().join("access.log.1"), &path).unwrap();
            }
        }
        let output = child.wait_with_output().unwrap();
        let message = stderr(&output);
        std::fs::remove_file(&path).unwrap();
        // Gone before it was opened: said. Otherwise each line counts once, and only the one that was cut may be unreadable.
        let Ok(json) = serde_json::from_slice::<Value>(&output.stdout) else {
            assert!(
                message.contains("none of the logs could be read"),
                "{rotate}: {message}"
            );
            continue;
        };
        let left_out: u64 = skipped(&json).iter().map(|(_, count)| count).sum();
        let parsed = json["lines"]["parsed"].as_u64().unwrap();
        assert!(
            left_out <= 1 && parsed <= whole,
            "{rotate}: {parsed} parsed, {left_out} left out"
        );
    }
}

#[test]
fn h190_a_fast_stream_is_counted_whole_in_bounded_memory() {
    let chunk = crate::log_bytes(50_000, 6);
    let (output, peak) = run_with_flood(&["analyze", "--json", "-", "-"], chunk, 20);
    assert!(output.status.success(), "{}", stderr(&output));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["lines"]["read"], 1_000_000);
    assert_eq!(json["lines"]["parsed"], 1_000_000);
    assert!(peak < 160, "{peak} MiB");
}
