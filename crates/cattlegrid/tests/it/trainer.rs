//! Attempts to teach the program something wrong, named by their numbers in the list of hostile cases.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;
use std::time::Instant;

use cattlegrid_learn::model::Model;
use serde_json::Value;
use tempfile::TempDir;

use crate::file;
use crate::report;
use crate::run;
use crate::stdout;
use crate::write;

const CHROME: &str = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36";

/// One line: second since the start, source, target, status, referrer.
fn line(log: &mut String, second: usize, source: &str, target: &str, status: u16, referrer: &str) {
    let (day, of_day) = (1 + second / 86_400, second % 86_400);
    let (hour, minute) = (of_day / 3600, of_day / 60 % 60);
    let _ = writeln!(
        log,
        "{source} - - [{day:02}/Jan/2030:{hour:02}:{minute:02}:{:02} +0000] \"GET {target} HTTP/1.1\" {status} 900 \"{referrer}\" \"{CHROME}\"",
        of_day % 60
    );
}

/// Somebody who reads some pages, with all their parts, and follows links; `status` is what each page is answered with.
fn reads(log: &mut String, source: &str, start: usize, pages: usize, status: fn(usize) -> u16) {
    let mut referrer = "https://www.example.net/".to_owned();
    for page in 0..pages {
        let target = format!("/story/{}", (page * 7 + source.len()) % 12);
        let second = start + page * 47;
        line(log, second, source, &target, status(page), &referrer);
        referrer = format!("https://site.example{target}");
        for part in ["/style.css", "/app.js", "/logo.png", "/photo.jpg"] {
            line(log, second + 1, source, part, 200, &referrer);
        }
    }
}

/// Somebody who takes page after page.
fn crawls(log: &mut String, source: &str, start: usize, pages: usize) {
    for page in 0..pages {
        line(
            log,
            start + page * 2,
            source,
            &format!("/item/{}", start + page),
            200,
            "-",
        );
    }
}

fn fine(_: usize) -> u16 {
    200
}

fn classes(log: &str) -> BTreeMap<String, String> {
    let (_folder, path) = file(log.as_bytes());
    let json = report(&["--min-requests", "1", &path]);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let sources = json["sources"].as_array().unwrap().iter();
    sources
        .map(|source| (text(&source["source"]), text(&source["class"])))
        .collect()
}

fn people(log: &mut String) {
    for person in 0..200 {
        let source = format!("192.0.2.{person}");
        reads(log, &source, 3600 + person * 300, 12, fine);
    }
}

#[test]
fn h073_who_abuses_a_common_agent_does_not_harm_those_who_share_it() {
    let mut quiet = String::new();
    people(&mut quiet);
    let mut loud = quiet.clone();
    for robot in 0..50 {
        crawls(&mut loud, &format!("198.51.100.{robot}"), robot * 10, 2000);
    }
    let (before, after) = (classes(&quiet), classes(&loud));
    assert!(before.values().all(|class| class == "user"), "{before:?}");
    for (source, class) in &before {
        assert_eq!(after.get(source), Some(class), "{source}");
    }
    let robots = after.iter().filter(|(_, class)| *class == "crawler");
    assert_eq!(robots.count(), 50);
}

#[test]
fn h181_a_good_past_buys_nothing() {
    const WEEK: usize = 7 * 86_400;
    let mut log = String::new();
    people(&mut log);
    for sleeper in 0..20 {
        let source = format!("198.51.100.{sleeper}");
        for day in 0..7 {
            reads(
                &mut log,
                &source,
                day * 86_400 + 9 * 3600 + sleeper * 60,
                12,
                fine,
            );
        }
        crawls(&mut log, &source, WEEK + 4 * 86_400 + sleeper * 5000, 2000);
        let newcomer = format!("203.0.113.{sleeper}");
        crawls(
            &mut log,
            &newcomer,
            WEEK + 4 * 86_400 + sleeper * 5000 + 100_000,
            2000,
        );
    }
    let classes = classes(&log);
    for sleeper in 0..20 {
        let of = |net: &str| classes[&format!("{net}.{sleeper}")].as_str();
        assert_eq!((of("198.51.100"), of("203.0.113")), ("crawler", "crawler"));
    }
}

/// Refused again and again, as by a gate that took somebody for a crawler.
fn refused(page: usize) -> u16 {
    [200, 403, 429, 403][page % 4]
}

fn not_found(page: usize) -> u16 {
    [200, 404, 404, 404][page % 4]
}

#[test]
fn h184_being_refused_is_no_evidence() {
    let world = |status: fn(usize) -> u16| {
        let mut log = String::new();
        for person in 0..60 {
            reads(
                &mut log,
                &format!("192.0.2.{person}"),
                person * 500,
                40,
                status,
            );
        }
        for robot in 0..20 {
            crawls(&mut log, &format!("198.51.100.{robot}"), robot * 700, 300);
        }
        log
    };
    let labels = |log: &str| {
        let (folder, path) = file(log.as_bytes());
        let out = folder.path().join("labels.csv");
        let output = run(&[
            "train",
            &path,
            "--derive-labels",
            "--labels-out",
            out.to_str().unwrap(),
        ]);
        assert!(output.status.success(), "{}", stdout(&output));
        std::fs::read_to_string(out).unwrap()
    };
    let (free, denied, lost) = (world(fine), world(refused), world(not_found));
    assert_eq!(classes(&free), classes(&denied));
    assert_eq!(labels(&free), labels(&denied));
    // Pages that are not there do count: the statuses are looked at.
    let (_folder, path) = file(lost.as_bytes());
    let text = serde_json::to_string(&report(&["--min-requests", "1", &path])).unwrap();
    assert!(text.contains("page requests ended in an error"));
}

/// The built-in model with another opinion of everybody: above 0 accuses, below acquits.
fn prejudiced(folder: &TempDir, name: &str, offset: f64, slope: f64) -> String {
    let built_in = include_str!("../../../../data/default-model.json");
    let mut model = serde_json::to_value(Model::parse(built_in).unwrap()).unwrap();
    let worth = &mut model["shape"]["worth"];
    worth["offset"] = offset.into();
    for value in worth["slopes"].as_array_mut().unwrap() {
        *value = (value.as_f64().unwrap() * slope).into();
    }
    let model: Model = serde_json::from_value(model).unwrap();
    write(folder.path(), name, model.to_json().unwrap().as_bytes())
}

/// H206. People accused are a limit of their own, and a tie does not win.
#[test]
fn h206_a_model_that_accuses_more_people_is_refused() {
    let folder = TempDir::new().unwrap();
    let lenient = prejudiced(&folder, "lenient.json", -1.0, 0.0);
    let accusing = prejudiced(&folder, "accusing.json", 1.0, 0.0);
    let severe = prejudiced(&folder, "severe.json", 1.5, 1.0);
    let used = folder
        .path()
        .join("model.json")
        .to_str()
        .unwrap()
        .to_owned();
    let publish = |new: &str, more: &[&str]| {
        let all = [
            &["model", "publish", "--new", new, "--to", &used][..],
            more,
            &["world:social-test:901", "world:shop:901"],
        ];
        let output = run(&all.concat());
        let said = stdout(&output);
        (output.status.code(), said)
    };
    let is_used = |model: &str| std::fs::read(&used).unwrap() == std::fs::read(model).unwrap();
    std::fs::copy(&lenient, &used).unwrap();
    // Half of all answers are right by both: one accuses nobody, the other everybody.
    let (code, said) = publish(&accusing, &[]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("people accused, of"), "{said}");
    assert!(said.contains("accuses more people"), "{said}");
    assert!(is_used(&lenient));
    let (code, said) = publish(&accusing, &["--accuse-more"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("is no better"), "{said}");
    let (code, said) = publish(&lenient, &[]);
    assert_eq!(code, Some(1), "{said}");
    assert!(is_used(&lenient));
    // More right answers, and more people accused: only if the owner says so.
    let (code, said) = publish(&severe, &[]);
    assert_eq!(code, Some(1), "{said}");
    assert!(is_used(&lenient));
    let (code, said) = publish(&severe, &["--accuse-more"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(is_used(&severe));
    // The honest case: fewer people accused, and more right answers.
    std::fs::copy(&accusing, &used).unwrap();
    let (code, said) = publish(&severe, &[]);
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn h186_a_model_must_be_better_to_take_the_place_of_another_and_one_command_goes_back() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (good, bad, used) = (path("good.json"), path("bad.json"), path("model.json"));
    let train = |seeds: &str, out: &str| {
        let output = run(&["train", seeds, "--out", out]);
        assert!(output.status.success(), "{}", stdout(&output));
    };
    train("world:social:1-2", &good);
    // Labels that an enemy turned round.
    let world = path("world");
    assert!(
        run(&["simulate", "shop", "--seed", "3", "--out", &world, "-q"])
            .status
            .success()
    );
    let labels = std::fs::read_to_string(format!("{world}/labels.csv")).unwrap();
    let turned = labels
        .replace(",user,", ",X,")
        .replace(",masquerading,", ",user,")
        .replace(",unauthorized,", ",user,")
        .replace(",X,", ",crawler,");
    let turned = write(folder.path(), "turned.csv", turned.as_bytes());
    let log = format!("{world}/access.log");
    let output = run(&["train", &log, "--labels", &turned, "--out", &bad]);
    assert!(output.status.success(), "{}", stdout(&output));
    std::fs::copy(&good, &used).unwrap();
    let publish = |new: &str| {
        run(&[
            "model",
            "publish",
            "--new",
            new,
            "--to",
            &used,
            "world:social-test:901",
            "world:shop:901",
        ])
    };
    let output = publish(&bad);
    assert_eq!(output.status.code(), Some(1), "{}", stdout(&output));
    assert!(stdout(&output).contains("was not put in place"));
    assert_eq!(std::fs::read(&used).unwrap(), std::fs::read(&good).unwrap());

    let better = path("better.json");
    train("world:social:1-4", &better);
    let before = std::fs::read(&used).unwrap();
    let output = publish(&better);
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
    assert_eq!(
        std::fs::read(&used).unwrap(),
        std::fs::read(&better).unwrap()
    );
    let started = Instant::now();
    let output = run(&["model", "back", &used]);
    assert!(output.status.success() && started.elapsed() < Duration::from_secs(10));
    assert_eq!(std::fs::read(&used).unwrap(), before);
    // There is one way back, not two.
    assert_eq!(run(&["model", "back", &used]).status.code(), Some(2));
}
