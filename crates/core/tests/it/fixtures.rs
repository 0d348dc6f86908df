//! Detector fixtures: access logs whose comments state what each source must show.
//!
//! `# expect: NAME SOURCE` asks for a finding towards a crawler (towards people, for a rule that only speaks for them),
//! `# expect: nothing SOURCE` for none. `# expect: NAME@W SOURCE` asks for a finding of W decibans in the verdict.
//! `# repeat: N every Ss from M sources` makes N requests of each following line, S seconds apart, from M sources;
//! `{n}` becomes the request's number, `{s}` the source's.

use std::collections::BTreeMap;
use std::sync::Arc;

use cattlegrid_core::Settings;
use cattlegrid_core::detectors::SPECS;
use cattlegrid_core::evidence::Toward;
use cattlegrid_core::verdict::Class;
use cattlegrid_learn::model::Model;

use crate::analyze;

const MONTHS: [&str; 6] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun"];

/// The model that the program has built in.
fn model() -> Arc<Model> {
    let text = include_str!("../../../../data/default-model.json");
    Arc::new(Model::parse(text).unwrap())
}

struct Fixture {
    format: String,
    expected: Vec<(String, String)>,
    lines: Vec<String>,
}

fn load(name: &str) -> Fixture {
    let path = format!("{}/tests/detectors/{name}.log", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut fixture = Fixture {
        format: "combined".to_owned(),
        expected: Vec::new(),
        lines: Vec::new(),
    };
    let (mut repeat, mut every, mut sources) = (1, 1, 1);
    let mut timed = Vec::new();
    for line in text.lines() {
        if let Some(expectation) = line.strip_prefix("# expect: ") {
            let (what, source) = expectation.split_once(' ').unwrap();
            fixture
                .expected
                .push((what.to_owned(), source.trim().to_owned()));
        } else if let Some(format) = line.strip_prefix("# format: ") {
            fixture.format = format.to_owned();
        } else if let Some(numbers) = line.strip_prefix("# repeat: ") {
            let numbers: Vec<u64> = numbers
                .split(|char: char| !char.is_ascii_digit())
                .filter_map(|number| number.parse().ok())
                .collect();
            (repeat, every, sources) =
                (numbers[0], numbers[1], numbers.get(2).copied().unwrap_or(1));
        } else if !line.starts_with('#') && !line.is_empty() {
            let fill = |number: u64, source: u64| {
                let second = number * every;
                let clock = format!(
                    "{:02}:{:02}:{:02}",
                    second / 3600 % 24,
                    second / 60 % 60,
                    second % 60
                );
                let line = line
                    .replace("{n}", &number.to_string())
                    .replace("{s}", &source.to_string())
                    .replace("00:00:00", &clock)
                    .replace("[01/", &format!("[{:02}/", 1 + second / 86_400));
                (second, line)
            };
            (0..repeat)
                .for_each(|number| timed.extend((0..sources).map(|source| fill(number, source))));
        }
    }
    timed.sort();
    fixture.lines = timed.into_iter().map(|(_, line)| line).collect();
    fixture
}

#[test]
fn every_detector_has_a_hit_and_an_honest_miss() {
    for spec in &SPECS {
        let fixture = load(spec.name);
        let settings = Settings {
            min_requests: 0,
            model: Some(model()),
            ..Settings::default()
        };
        let report = analyze(&[&fixture.lines], settings, &fixture.format, 100);
        let found: BTreeMap<&str, BTreeMap<&str, f64>> = report
            .sources
            .iter()
            .map(|source| {
                let hits = source
                    .evidence
                    .iter()
                    .filter(|evidence| {
                        evidence.toward != Toward::User
                            || ["followed_links", "loaded_page_parts"].contains(&evidence.detector)
                    })
                    .map(|evidence| (evidence.detector, evidence.weight));
                (source.source.as_str(), hits.collect())
            })
            .collect();
        let (mut hits, mut misses) = (0, 0);
        for (what, source) in &fixture.expected {
            let shown = found
                .get(source.as_str())
                .unwrap_or_else(|| panic!("{}: no requests from {source}", spec.name));
            if what == "nothing" {
                misses += 1;
                assert!(
                    !shown.contains_key(spec.name),
                    "{}: {source} shows {shown:?}",
                    spec.name
                );
            } else {
                hits += 1;
                let (what, weight) = what
                    .split_once('@')
                    .map_or((what.as_str(), None), |(what, weight)| (what, Some(weight)));
                let is_expected = |shown: &f64| {
                    weight.is_none_or(|weight| *shown == weight.parse::<f64>().unwrap())
                };
                assert!(
                    shown.get(what).is_some_and(is_expected),
                    "{}: {source} shows {shown:?}",
                    spec.name
                );
            }
        }
        assert!(
            hits > 0 && misses > 0,
            "{}: {hits} hits, {misses} misses",
            spec.name
        );
    }
}

#[test]
fn a_heuristic_is_triggered_where_a_measure_lies_beyond_its_setting() {
    let mut compared = 0;
    for spec in SPECS.iter().filter(|spec| spec.vote.is_some()) {
        let shown: toml::Table = spec.settings_manual().parse().unwrap();
        let defaults = shown["detectors"][spec.name].as_table().unwrap();
        let fixture = load(spec.name);
        let settings = Settings {
            min_requests: 0,
            keep_shapes: Some((0, 0)),
            ..Settings::default()
        };
        let report = analyze(&[&fixture.lines], settings, &fixture.format, 100);
        for window in report.sources.iter().flat_map(|source| &source.windows) {
            let lesson = window.lesson.as_ref().unwrap();
            let mut measured = lesson.measures.iter();
            let (_, measures) = measured.find(|(name, _)| *name == spec.name).unwrap();
            let is_beyond = measures
                .iter()
                .any(|measure| measure.is_hit(defaults[measure.setting].as_float().unwrap()));
            let hit = |(name, toward, _): &(&str, Toward, f64)| {
                *name == spec.name && *toward == Toward::Crawler
            };
            assert_eq!(lesson.findings.iter().any(hit), is_beyond, "{}", spec.name);
            compared += usize::from(!measures.is_empty());
        }
    }
    assert!(compared > 14, "{compared}");
}

#[test]
fn parameters_are_compared_with_people_where_crawlers_are_most_of_the_sources() {
    let line = |source: String, number: usize, target: &str, agent: &str| {
        format!(
            "{source} - - [01/Jan/2030:00:{:02}:{:02} +0000] \"GET {target} HTTP/1.1\" 200 512 \"-\" \"{agent}\"",
            number / 60,
            number % 60
        )
    };
    let mut lines = Vec::new();
    for number in 0..40 {
        for crawler in 0..200 {
            let target = format!("/people/{crawler}-{number}");
            lines.push(line(
                format!("10.0.1.{crawler}"),
                number,
                &target,
                "Mozilla/5.0 one",
            ));
        }
        // Proxies of people: two browsers, a query in every second request.
        for proxy in 0..20 {
            let agent = ["Mozilla/5.0 one", "Mozilla/5.0 two"][number / 2 % 2];
            let target = match number % 2 {
                0 => format!("/people/{number}?lang=en"),
                _ => format!("/people/{number}"),
            };
            lines.push(line(format!("10.0.2.{proxy}"), number, &target, agent));
        }
    }
    let settings = Settings {
        min_requests: 0,
        ..Settings::default()
    };
    let report = analyze(&[&lines], settings, "combined", 1000);
    for source in &report.sources {
        let mut evidence = source.evidence.iter();
        let is_accused = evidence
            .any(|item| item.detector == "low_parameter_usage" && item.toward == Toward::Crawler);
        assert_eq!(
            is_accused,
            source.source.starts_with("10.0.1."),
            "{}",
            source.source
        );
    }
}

/// Requests of 30 browsers with these `Sec-Fetch-Mode`, `Sec-CH-UA` and `Accept-Language`, and of a library with none of them. Gives what
/// header fields are worth to the library.
fn worth_of_missing_fields(people: [&str; 3]) -> Vec<f64> {
    let agent = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36";
    let line = |source: String, number: usize, fields: [&str; 3]| {
        let [mode, brands, language] = fields;
        format!(
            "{source} [01/Jan/2030:00:{number:02}:00 +0000] \"GET /item/{number} HTTP/1.1\" 200 \"{agent}\" \"{mode}\" \"{brands}\" \"{language}\""
        )
    };
    let mut lines = Vec::new();
    for number in 0..8 {
        let people = (0..30).map(|person| line(format!("10.0.0.{person}"), number, people));
        lines.extend(people);
        lines.push(line("198.51.100.7".to_owned(), number, ["-"; 3]));
    }
    let settings = Settings {
        min_requests: 0,
        ..Settings::default()
    };
    let format = r#"$remote_addr [$time_local] "$request" $status "$http_user_agent" "$http_sec_fetch_mode" "$http_sec_ch_ua" "$http_accept_language""#;
    let report = analyze(&[&lines], settings, format, 100);
    let names = [
        "accept_language",
        "client_hints",
        "fetch_metadata",
        "header_order",
    ];
    let mut worth = Vec::new();
    for source in &report.sources {
        let evidence = source.evidence.iter();
        let found = evidence.filter(|item| names.contains(&item.detector));
        let found: Vec<f64> = found.map(|item| item.weight).collect();
        match source.source.as_str() {
            "198.51.100.7" => worth = found,
            person => assert_eq!(found, Vec::<f64>::new(), "{person}"),
        }
    }
    worth
}

#[test]
fn missing_header_fields_accuse_nobody_where_nobody_sends_them() {
    let brands = r"\x22Chromium\x22;v=\x22131\x22";
    // Without TLS browsers send a language at most.
    assert_eq!(worth_of_missing_fields(["-"; 3]), Vec::<f64>::new());
    assert_eq!(worth_of_missing_fields(["-", "-", "de"]), [4.0]);
    let all = worth_of_missing_fields(["navigate", brands, "de"]);
    assert_eq!(all.len(), 3);
    let sum: f64 = all.iter().sum();
    assert!((sum - 9.0).abs() < 1e-9, "{all:?}");
}

/// Sixteen pages a day for half a year is no reading of five hundred a day, although all windows are judged as one in the end.
#[test]
fn a_reader_who_comes_for_months_does_not_read_more_than_one_can() {
    let agent = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:133.0) Gecko/20100101 Firefox/133.0";
    let mut lines = Vec::new();
    for day in 0..168 {
        let date = format!("{:02}/{}/2030", day % 28 + 1, MONTHS[day / 28]);
        let mut get = |source: &str, at: usize, target: &str, referrer: &str| {
            let (hour, minute) = (9 + at / 60, at % 60);
            lines.push(format!(
                "{source} - - [{date}:{hour:02}:{minute:02}:{:02} +0000] \"GET {target} HTTP/1.1\" 200 512 \"{referrer}\" \"{agent}\"",
                lines.len() % 60
            ));
        };
        // Others see pictures with half of their pages.
        for other in 0..12 {
            let source = format!("192.0.2.{}", 12 * (day % 15) + other);
            for page in 0..4 {
                let name = format!("/news/{day}x{other}x{page}");
                get(
                    &source,
                    10 * other + page,
                    &name,
                    "https://www.example.com/",
                );
                let picture = format!("/photo-{day}-{other}-{page}.jpg");
                let referrer = format!("https://www.example.com{name}");
                if page % 2 == 0 {
                    get(&source, 10 * other + page, &picture, &referrer);
                }
            }
        }
        let mut before = "https://www.example.com/".to_owned();
        for page in 0..16 {
            let name = format!("/news/{}y{}", day * 37 % 173, page * 37 % 23);
            get("198.51.100.7", 300 + 7 * page, &name, &before);
            before = format!("https://www.example.com{name}");
        }
    }
    let settings = Settings {
        min_requests: 0,
        model: Some(model()),
        ..Settings::default()
    };
    let report = analyze(&[&lines], settings, "combined", 1000);
    let mut sources = report.sources.iter();
    let reader = sources
        .find(|source| source.source == "198.51.100.7")
        .unwrap();
    let parts = reader
        .evidence
        .iter()
        .find(|item| item.detector == "skipped_page_parts");
    assert!(
        parts.is_some_and(|item| item.weight < 9.0),
        "{:?}",
        reader.evidence
    );
    assert_ne!(reader.class, Class::Crawler, "{:?}", reader.evidence);
}
