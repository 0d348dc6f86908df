//! The same log gives the same report, however it is cut.

use cattlegrid_core::Report;
use cattlegrid_core::Settings;
use cattlegrid_core::verdict::Class;
use proptest::prelude::*;

use crate::analyze;

/// A few sources that browse, crawl and probe over several windows, with the odd line and lines out of order.
fn log(seed: u64, lines: usize) -> Vec<String> {
    let mut state = seed | 1;
    let mut random = |limit: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % limit
    };
    (0..lines as u64)
        .map(|number| {
            let second = number * 3000 + random(40);
            let (day, rest) = (1 + second / 86_400, second % 86_400);
            let (month, day) = (["Jan", "Feb", "Mar"][(day / 28) as usize % 3], 1 + day % 28);
            let (client, target) = match random(4) {
                0 => ("203.0.113.7".to_owned(), format!("/item/{number}")),
                1 => (format!("198.51.100.{}", random(9)), format!("/page/{}?q={}", random(20), random(3))),
                2 => ("crawler.example.com".to_owned(), format!("/name-{}", random(100))),
                _ => (format!("2001:db8:0:{}::1", random(30)), "/".to_owned()),
            };
            let request = if random(50) == 0 { "-".to_owned() } else { format!("GET {target} HTTP/1.1") };
            format!("{client} - - [{day:02}/{month}/2030:{:02}:{:02}:{:02} +0000] \"{request}\" {} 10 \"-\" \"Agent {}\"", rest / 3600, rest / 60 % 60, rest % 60, [200, 404][random(2) as usize], random(30))
        })
        .collect()
}

fn shown(report: &Report) -> String {
    let mut report = report.clone();
    report
        .lines
        .skipped
        .iter_mut()
        .for_each(|skipped| skipped.place = (0, 0));
    format!("{report:?}")
}

fn settings() -> Settings {
    Settings {
        min_requests: 0,
        ..Settings::default()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn pieces_and_blocks_do_not_show(seed: u64, cuts in prop::collection::vec(0_usize..400, 0..5), block in 1_usize..50) {
        let lines = log(seed, 400);
        let whole = analyze(&[&lines], settings(), "combined", 400);
        let mut cuts = cuts;
        cuts.extend([0, 400]);
        cuts.sort_unstable();
        let pieces: Vec<&[String]> = cuts.windows(2).map(|pair| &lines[pair[0]..pair[1]]).filter(|piece| !piece.is_empty()).collect();
        let cut = analyze(&pieces, settings(), "combined", block);
        prop_assert_eq!(shown(&whole), shown(&cut));
    }

    #[test]
    fn a_clock_that_was_wrong_for_a_moment_is_left_out(seed: u64, at in 0_usize..200, far in prop::sample::select(vec!["01/Jan/2099:00:00:00", "01/Jan/1995:00:00:00"]), block in 1_usize..50) {
        let mut lines = log(seed, 200);
        lines.retain(|line| !line.contains("] \"-\" "));
        let clean = analyze(&[&lines], settings(), "combined", 400);
        let bad = format!("192.0.2.99 - - [{far} +0000] \"GET / HTTP/1.1\" 200 1 \"-\" \"x\"");
        // At either end nothing can tell a wrong clock from a long pause, unless time runs backwards.
        let at = at.clamp(1, lines.len() - 1);
        lines.insert(at, bad);
        let report = analyze(&[&lines], settings(), "combined", block);
        prop_assert_eq!(report.lines.parsed, clean.lines.parsed);
        prop_assert_eq!(report.span, clean.span);
        prop_assert!(report.sources.iter().all(|source| source.source != "192.0.2.99"));
        prop_assert_eq!(report.total(Class::Crawler), clean.total(Class::Crawler));
    }
}

#[test]
fn a_long_pause_is_no_jump() {
    let line = |date: &str| {
        format!("192.0.2.1 - - [{date}:00:00:00 +0000] \"GET / HTTP/1.1\" 200 1 \"-\" \"x\"")
    };
    let lines: Vec<String> = ["01/Jan/2030", "05/Jan/2030", "20/Feb/2030", "01/Mar/2031"]
        .map(line)
        .to_vec();
    for block in 1..4 {
        let report = analyze(&[&lines], settings(), "combined", block);
        assert_eq!(report.lines.parsed, 4);
        assert_eq!(report.sources[0].windows.len(), 3);
        assert_eq!(report.sources[0].requests, 4);
    }
}

#[test]
fn files_that_overlap_in_time_keep_their_own_order() {
    let line = |second: usize, page: usize| {
        format!(
            "192.0.2.1 - - [01/Jan/2030:00:{:02}:{:02} +0000] \"GET /p/{page} HTTP/1.1\" 200 1 \"-\" \"x\"",
            second / 60,
            second % 60
        )
    };
    // Two servers, each crawled in ascending order at the same time: ascending in each, jumbled if mixed.
    let one: Vec<String> = (0..50).map(|number| line(number * 10, number)).collect();
    let two: Vec<String> = (0..50)
        .map(|number| line(number * 10 + 5, 900 + number))
        .collect();
    let report = analyze(&[&one, &two], settings(), "combined", 7);
    let sequence = report.sources[0]
        .evidence
        .iter()
        .find(|evidence| evidence.detector == "suspicious_sequence")
        .unwrap();
    assert_eq!(sequence.values, [("ascending_share", 1.0), ("pairs", 98.0)]);
}

#[test]
fn a_first_line_from_the_future_is_left_out() {
    let line = |date: &str| {
        format!("192.0.2.1 - - [{date}:00:00:00 +0000] \"GET / HTTP/1.1\" 200 1 \"-\" \"x\"")
    };
    let lines: Vec<String> = ["01/Jan/2099", "05/Jan/2030", "05/Jan/2030", "06/Jan/2030"]
        .map(line)
        .to_vec();
    let report = analyze(&[&lines], settings(), "combined", 10);
    assert_eq!(report.lines.parsed, 3);
    assert_eq!(report.sources[0].windows.len(), 1);
}

#[test]
fn a_log_read_newest_first_keeps_its_windows_apart() {
    let lines = log(7, 400);
    let newest_first: Vec<String> = lines[200..].iter().chain(&lines[..200]).cloned().collect();
    let report = analyze(&[&newest_first], settings(), "combined", 100);
    let whole = analyze(&[&lines], settings(), "combined", 100);
    assert_eq!(
        (report.span, report.lines.parsed),
        (whole.span, whole.lines.parsed)
    );
    // Two weeks are three or four windows of five days, depending on where they start.
    assert!(
        report
            .sources
            .iter()
            .any(|source| source.windows.len() >= 3)
    );
}

#[test]
fn a_piece_of_one_line_continues_its_log() {
    let line = |day: usize, page: usize| {
        format!(
            "192.0.2.1 - - [{day:02}/Jan/2030:00:00:00 +0000] \"GET /p/{page} HTTP/1.1\" 200 1 \"-\" \"x\""
        )
    };
    let lines: Vec<String> = (1..25).map(|day| line(day, day)).collect();
    let whole = analyze(&[&lines], settings(), "combined", 100);
    let cut = analyze(
        &[&lines[..1], &lines[1..2], &lines[2..]],
        settings(),
        "combined",
        100,
    );
    assert_eq!(shown(&whole), shown(&cut));
}
