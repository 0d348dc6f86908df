//! The knowledge base as its owner uses it: analysed into, looked at, changed, undone, exported, imported.

use std::fmt::Write;
use std::process::Output;

use tempfile::TempDir;

use crate::log_line;
use crate::run;
use crate::stderr;
use crate::stdout;
use crate::write;

const BROWSER: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
/// The time of the tests' logs: the base must not depend on the day they run.
const TIME: &str = "2030-01-06";

struct Place {
    folder: TempDir,
    kb: String,
}

impl Place {
    fn new() -> Place {
        let folder = TempDir::new().unwrap();
        let kb = folder.path().join("kb.sqlite");
        Place {
            kb: kb.to_str().unwrap().to_owned(),
            folder,
        }
    }

    fn kb(&self, arguments: &[&str]) -> Output {
        let mut all = vec!["kb", "--kb", &self.kb];
        all.extend(arguments);
        run(&all)
    }

    /// What a command prints that must succeed.
    fn said(&self, arguments: &[&str]) -> String {
        let output = self.kb(arguments);
        assert!(output.status.success(), "{}", stderr(&output));
        stdout(&output)
    }

    /// What a command says that must fail.
    fn refused(&self, arguments: &[&str]) -> String {
        let output = self.kb(arguments);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        stderr(&output)
    }

    fn file(&self, name: &str, text: &str) -> String {
        write(self.folder.path(), name, text.as_bytes())
    }

    /// Analyses a log into the base, on a day.
    fn analyze(&self, log: &str, day: &str) -> String {
        let log = self.file("access.log", log);
        let output = run(&["analyze", "--kb", &self.kb, "--kb-time", day, &log]);
        assert!(output.status.success(), "{}", stderr(&output));
        stderr(&output)
    }
}

fn line(
    log: &mut String,
    source: &str,
    second: usize,
    target: &str,
    status: u16,
    referrer: &str,
    agent: &str,
) {
    let line = log_line(second, source, target, status, referrer, agent);
    let _ = writeln!(log, "{line}");
}

/// A crawler that walks through all pages in order, and never loads anything else.
fn crawler(log: &mut String, source: &str, agent: &str) {
    for page in 0..200 {
        line(
            log,
            source,
            page * 900,
            &format!("/item/{page:04}"),
            200,
            "-",
            agent,
        );
    }
}

/// A person who follows links and loads what belongs to pages.
fn person(log: &mut String, source: &str) {
    for page in 0..60 {
        let second = 30_000 + page % 5 * 86_400 + page * 60;
        let target = format!("/item/{}", page * 37 % 50);
        line(
            log,
            source,
            second,
            &target,
            200,
            "https://site.example/",
            BROWSER,
        );
        for part in ["/style.css", "/photo.jpg"] {
            let of = format!("https://site.example{target}");
            line(log, source, second + 1, part, 200, &of, BROWSER);
        }
    }
}

/// Numbers that look random, the same in every run.
fn dice(state: &mut u64, below: usize) -> usize {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) as usize % below
}

/// Visits of people for five days, with the parts of their pages: by day many, at night hardly any. Gives second, number of the visit,
/// target and referrer of each request.
fn visits(daily: usize) -> Vec<(usize, usize, String, String)> {
    let mut requests = Vec::new();
    let mut state = 7;
    let mut visit = 0;
    for hour in 0..5 * 24 {
        // Hours of a day, in twelfths of the busiest.
        let presence = [
            2, 1, 1, 0, 0, 1, 2, 4, 7, 9, 10, 10, 9, 9, 10, 10, 10, 11, 11, 12, 12, 10, 7, 4,
        ][hour % 24];
        // No day is like another, nor an hour.
        let of_day = [10, 8, 12, 9, 11][hour / 24];
        let of_hour = 4 + dice(&mut state, 9);
        let come = presence * daily * of_day * of_hour / (162 * 6 * 80);
        for _ in 0..come {
            visit += 1;
            let mut second = hour * 3600 + dice(&mut state, 3600);
            let mut from = "https://search.example/".to_owned();
            for _ in 0..1 + dice(&mut state, 11) {
                // Few pages are read by many.
                let page = dice(&mut state, 20) * dice(&mut state, 20);
                let target = format!("/item/{page}");
                let address = format!("https://site.example{target}");
                requests.push((second, visit, target, from));
                for part in ["/style.css", "/photo.jpg"] {
                    requests.push((second + 1, visit, part.to_owned(), address.clone()));
                }
                second += 20 + dice(&mut state, 90);
                from = address;
            }
        }
    }
    requests.retain(|(second, ..)| *second < 5 * 86_400);
    requests.sort();
    requests
}

/// Many people behind one address, each visit with one of forty browsers.
fn crowd(log: &mut String, source: &str, daily: usize) {
    for (second, visit, target, referrer) in visits(daily) {
        let version = 100 + visit * 17 % 40;
        let agent = BROWSER.replace("140", &version.to_string());
        line(log, source, second, &target, 200, &referrer, &agent);
    }
}

fn sorted(log: &str) -> String {
    let time = |line: &str| line.split('[').nth(1).unwrap_or_default().to_owned();
    let mut lines: Vec<&str> = log.lines().collect();
    lines.sort_by_key(|line| time(line));
    lines.iter().fold(String::new(), |mut text, line| {
        let _ = writeln!(text, "{line}");
        text
    })
}

fn visitors() -> String {
    let mut log = String::new();
    crawler(&mut log, "192.0.2.66", "python-requests/2.31");
    person(&mut log, "198.51.100.7");
    sorted(&log)
}

#[test]
fn an_analysis_denies_crawlers_leaves_people_alone_and_can_be_taken_back() {
    let place = Place::new();
    let log = place.file("access.log", &visitors());
    let dry = run(&[
        "analyze",
        "--kb",
        &place.kb,
        "--kb-time",
        TIME,
        "--kb-dry-run",
        "--quiet",
        &log,
    ]);
    assert!(
        stdout(&dry).contains("deny   192.0.2.66"),
        "{}",
        stdout(&dry)
    );
    assert!(
        place
            .refused(&["list"])
            .contains("there is no knowledge base")
    );
    let told = place.analyze(&visitors(), TIME);
    assert!(told.contains("1 sources denied, 0 allowed"), "{told}");
    let list = place.said(&["list"]);
    assert!(
        list.contains("deny   192.0.2.66  unauthorized  analysis, until 2030-01-10"),
        "{list}"
    );
    assert!(!list.contains("198.51.100.7"), "{list}");
    let shown = place.said(&["show", "192.0.2.66"]);
    assert!(
        shown.contains("dB") && shown.contains("nothing -> deny (analyze --kb)"),
        "{shown}"
    );
    // Taken back, it is not denied again at once; crates/store/tests has a day of judging.
    place.said(&["undo", "1"]);
    let list = place.said(&["list"]);
    assert!(list.contains("watch  192.0.2.66  -  owner"), "{list}");
    place.said(&["forget", "192.0.2.66"]);
    assert!(place.said(&["list"]).contains("empty"));
    place.said(&["check"]);
}

#[test]
fn a_forgotten_source_is_not_denied_again_at_once() {
    let place = Place::new();
    place.analyze(&visitors(), TIME);
    let said = place.said(&["forget", "192.0.2.66"]);
    assert!(said.contains("not be denied again for 7 days"), "{said}");
    let list = place.said(&["list", "--action", "watch"]);
    assert!(list.contains("192.0.2.66  -  owner, until"), "{list}");
}

#[test]
fn the_folder_is_made_and_a_settings_file_names_the_base() {
    let place = Place::new();
    let state = place.file("state-folder", "");
    std::fs::remove_file(&state).unwrap();
    let config = place.file(
        "gate.toml",
        &format!(
            "[gate]\nstate = \"{state}/deep\"\n[[gate.listen]]\naddress = \"127.0.0.1:1\"\n[[gate.site]]\nhosts = [\"*\"]\nupstream = \"http://127.0.0.1:2\"\n"
        ),
    );
    let denied = run(&["kb", "deny", "192.0.2.9", "--config", &config]);
    assert!(denied.status.success(), "{}", stderr(&denied));
    let listed = run(&["kb", "list", "--kb", &format!("{state}/deep/kb.sqlite")]);
    assert!(stdout(&listed).contains("192.0.2.9"));
}

#[test]
fn what_the_owner_said_is_never_overruled() {
    let place = Place::new();
    place.said(&["allow", "192.0.2.66", "--reason", "our own mirror"]);
    place.said(&["deny", "198.51.100.7"]);
    let told = place.analyze(&visitors(), TIME);
    assert!(
        told.contains("0 sources denied, 0 allowed")
            && told.contains("2 sources left to what you said"),
        "{told}"
    );
    let list = place.said(&["list"]);
    assert!(
        list.contains("allow  192.0.2.66  -  owner, no end: our own mirror"),
        "{list}"
    );
    assert!(list.contains("deny   198.51.100.7  -  owner"), "{list}");
}

#[test]
fn a_denial_runs_out_and_an_allowed_source_that_crawls_is_denied() {
    let place = Place::new();
    let mut log = visitors();
    crowd(&mut log, "198.51.100.9", 1800);
    let told = place.analyze(&sorted(&log), TIME);
    assert!(told.contains("1 sources denied, 1 allowed"), "{told}");
    let list = place.said(&["list"]);
    assert!(
        list.contains("allow  198.51.100.9  people  analysis, until 2030-02-0")
            && list.contains("a crowd: "),
        "{list}"
    );
    let mut log = String::new();
    crawler(&mut log, "198.51.100.9", "python-requests/2.31");
    let told = place.analyze(&log, "2030-01-09");
    assert!(told.contains("1 sources denied"), "{told}");
    assert!(
        place
            .said(&["show", "198.51.100.9"])
            .contains("allow -> deny")
    );
    // A week later both denials are over, and nobody has been seen again.
    let mut log = String::new();
    line(&mut log, "203.0.113.1", 0, "/", 200, "-", BROWSER);
    let told = place.analyze(&log, "2030-01-20");
    assert!(told.contains("2 entries have run out"), "{told}");
    // What the crowd was allowed is remembered, so that its next cap starts from there.
    let list = place.said(&["list"]);
    assert!(
        list.starts_with("watch  198.51.100.9") && list.lines().count() == 1,
        "{list}"
    );
}

/// The attack that tripled its cap at every judging: it loads the parts of pages, sends referrers, comes and goes like people, takes pages in
/// no order, and solves challenges. It is one browser all the same.
#[test]
fn one_browser_earns_no_entry_whatever_it_does_and_however_many_challenges_it_solves() {
    let place = Place::new();
    let mut log = String::new();
    for (second, visit, target, referrer) in visits(2500) {
        let time = 1_893_456_000 + second;
        let _ = writeln!(
            log,
            r#"{{"time":{time}.5,"source":"192.0.2.9","method":"GET","host":"site.example","target":"{target}","status":200,"bytes":512,"referrer":"{referrer}","agent":"{BROWSER}","session":"s{visit}","user":"","duration":0.01,"decision":"pass","reason":"cleared","clearance":"c{visit}","site":"site.example"}}"#
        );
    }
    let log = place.file("gate.log", &log);
    let low = place.file("low.toml", "[policy]\nk1 = 20\nk2 = 50\n");
    let report = crate::report(&[&log]);
    assert_eq!(report["sources"][0]["class"], "user", "{report:#}");
    for config in [None, Some(low.as_str())] {
        let mut arguments = vec!["analyze", "--kb", &place.kb, "--kb-time", TIME];
        arguments.extend(config.into_iter().flat_map(|config| ["--config", config]));
        arguments.push(&log);
        let output = run(&arguments);
        let told = stderr(&output);
        assert!(
            told.contains("0 sources denied, 0 allowed")
                && told.contains("1 sources of people above k2 pages a day got no allow entry"),
            "{told}"
        );
        assert!(place.said(&["list"]).contains("empty"));
    }
}

#[test]
fn an_older_export_brings_no_entries_of_the_older_rule() {
    let place = Place::new();
    let file = place.file(
        "old.json",
        r#"{"schema": "cattlegrid/kb/1", "entries": [
            {"subject": "192.0.2.1", "action": "allow", "kind": "people", "reason": "loads parts", "origin": "analysis", "created": 1700000000, "cap": 8883},
            {"subject": "192.0.2.2", "action": "allow", "reason": "our office", "origin": "owner", "created": 1700000000}]}"#,
    );
    let output = place.kb(&["import", &file, "--mine"]);
    assert!(output.status.success(), "{output:?}");
    let told = stderr(&output);
    assert!(
        told.contains("1 allow entries of an older rule were left out"),
        "{told}"
    );
    let list = place.said(&["list"]);
    assert!(
        list.contains("192.0.2.2") && !list.contains("192.0.2.1"),
        "{list}"
    );
}

#[test]
fn an_old_log_denies_nobody_today() {
    let place = Place::new();
    let told = place.analyze(&visitors(), "2031-01-01");
    assert!(
        told.contains("0 sources denied") && told.contains("last seen longer ago"),
        "{told}"
    );
}

/// The gate's own denials never become evidence that keeps a source denied: somebody who was denied by mistake asks again and again, gets
/// refusals, cannot load the parts of any page nor follow a link, and is free when the denial is over.
#[test]
fn refusals_are_no_evidence_for_the_next_denial() {
    let place = Place::new();
    let mut refused = String::new();
    for page in 0..300 {
        let target = format!("/item/{page:04}");
        line(
            &mut refused,
            "192.0.2.66",
            6 * 86_400 + page * 1700,
            &target,
            403,
            "-",
            BROWSER,
        );
    }
    // Without the base this looks like a crawler: that is what would keep the source denied.
    let alone = Place::new();
    let log = alone.file("access.log", &refused);
    let report = crate::report(&[&log]);
    assert_eq!(report["sources"][0]["class"], "crawler", "{report:#}");
    let mut log = String::new();
    crawler(&mut log, "192.0.2.66", BROWSER);
    let told = place.analyze(&log, TIME);
    assert!(told.contains("1 sources denied"), "{told}");
    let told = place.analyze(&refused, "2030-01-09");
    assert!(told.contains("0 sources denied"), "{told}");
    assert!(place.said(&["list"]).contains("until 2030-01-10"));
    let told = place.analyze(&refused, "2030-01-14");
    assert!(told.contains("1 entries have run out"), "{told}");
    assert!(place.said(&["list"]).contains("empty"));
}

#[test]
fn h161_what_nobody_means_needs_a_confirmation() {
    let place = Place::new();
    let check = |subject: &str, why: &str| {
        let said = place.refused(&["deny", subject]);
        assert!(said.contains(why) && said.contains("--yes"), "{said}");
    };
    check("0.0.0.0/0", "a large part of all addresses");
    check("::/0", "a large part of all addresses");
    check("127.0.0.1", "this machine itself");
    check("::1", "this machine itself");
    check("10.1.2.3", "a private network");
    check("66.249.66.1", "Google");
    let said = place.refused(&["allow", "0.0.0.0/0"]);
    assert!(said.contains("a large part"), "{said}");
    let said = place.refused(&["deny", "203.0.113.9", "--trusted-proxy", "203.0.113.0/24"]);
    assert!(said.contains("one of your proxies"), "{said}");
    assert!(
        place
            .refused(&["list"])
            .contains("there is no knowledge base")
    );
    place.said(&["deny", "127.0.0.1", "--yes"]);
}

#[test]
fn what_cannot_be_understood_is_told_and_changes_nothing() {
    let place = Place::new();
    for (arguments, expected) in [
        (
            &["deny", "300.1.2.3"][..],
            "neither an address nor a network",
        ),
        (&["deny", "campaign:none"], "there is no knowledge base"),
        (&["forget", "192.0.2.1"], "there is no knowledge base"),
        (&["undo", "7"], "there is no knowledge base"),
        (
            &["export", "--as", "iptables"],
            "there is no knowledge base",
        ),
        (&["import", "/nowhere"], "cannot be read"),
    ] {
        let said = place.refused(arguments);
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
    place.said(&["deny", "192.0.2.1"]);
    assert!(
        place
            .refused(&["deny", "campaign:none"])
            .contains("there is no campaign:none")
    );
    assert!(
        place
            .refused(&["export", "--as", "iptables"])
            .contains("known: json")
    );
    assert!(place.refused(&["undo", "7"]).contains("kb log"));
    assert!(
        place
            .refused(&["forget", "192.0.2.2"])
            .contains("no entry about 192.0.2.2")
    );
}

#[test]
fn a_base_goes_out_as_json_and_comes_in_elsewhere() {
    let place = Place::new();
    place.said(&["deny", "192.0.2.66", "--days", "3"]);
    place.said(&["allow", "agent:Our monitor"]);
    place.said(&["deny", "203.0.113.0/24", "--reason", "a \"quoted\" reason"]);
    let out = place.folder.path().join("base.json");
    place.said(&["export", "--as", "json", out.to_str().unwrap()]);
    let other = Place::new();
    let mine = other.said(&["import", out.to_str().unwrap(), "--mine"]);
    assert!(mine.contains("3 entries added"), "{mine}");
    assert_eq!(
        other.said(&["export", "--as", "json"]),
        std::fs::read_to_string(&out).unwrap()
    );
    // From somebody else it is a list, and what the owner said stays.
    let third = Place::new();
    third.said(&["allow", "203.0.113.0/24"]);
    let said = third.said(&["import", out.to_str().unwrap()]);
    assert!(
        said.contains("2 entries added, 0 changed, 1 left"),
        "{said}"
    );
}

#[test]
fn h148_a_bundle_with_one_bad_row_is_refused_whole() {
    let place = Place::new();
    let check = |text: &str, arguments: &[&str], expected: &str| {
        let file = place.file("bundle", text);
        let mut all = vec!["import", &file];
        all.extend(arguments);
        let said = place.refused(&all);
        assert!(said.contains(expected), "{said}");
        assert!(
            place
                .refused(&["list"])
                .contains("there is no knowledge base")
        );
    };
    check("192.0.2.1\n0.0.0.0/0\n", &["--as", "deny"], "a large part");
    check(
        "192.0.2.1\nnot a network\n",
        &["--as", "deny"],
        "bundle:2: 'not a network'",
    );
    check("192.0.2.1\n", &[], "say --as allow or --as deny");
    check(
        "{\"schema\":\"other\",\"entries\":[]}",
        &[],
        "its schema is 'other'",
    );
    check("{\"entries\":[]}", &[], "is no export of a knowledge base");
    let entry = |created: u64| {
        format!(
            "{{\"schema\":\"cattlegrid/kb/1\",\"entries\":[{{\"subject\":\"192.0.2.1\",\"action\":\"deny\",\"reason\":\"\",\"origin\":\"owner\",\"created\":{created}}}]}}"
        )
    };
    check(&entry(4_294_967_295), &[], "comes from the future");
    check(&entry(4_294_967_296), &[], "is no export");
    check(
        &entry(1).replace("192.0.2.1", "../../etc"),
        &[],
        "neither an address",
    );
}

#[test]
fn a_new_address_that_joins_a_known_campaign_inherits_what_is_said_of_it() {
    let place = Place::new();
    let fleet = |members: std::ops::Range<usize>, start: usize| {
        let mut log = String::new();
        for number in 0..300 {
            let source = format!("192.0.{}.{}", 2 + number / 250, number % 250);
            for page in 0..4 {
                let second = start + (number * 7919 + page * 61) % 300_000;
                let target = format!("/story/{}", (number * 31 + page * 17) % 40);
                line(
                    &mut log,
                    &source,
                    second,
                    &target,
                    200,
                    "https://site.example/",
                    BROWSER,
                );
                for part in ["/style.css", "/app.js"] {
                    let of = format!("https://site.example{target}");
                    line(&mut log, &source, second + 1, part, 200, &of, BROWSER);
                }
            }
        }
        for number in members {
            let source = format!("198.51.{}.{}", 100 + number / 200, number % 200);
            for page in 0..6 {
                let second = start + (number * 104_729 + page * 57_607) % 340_000;
                let target = format!("/story/{}", 1000 + number * 6 + page);
                line(
                    &mut log,
                    &source,
                    second,
                    &target,
                    200,
                    "-",
                    "Mozilla/5.0 (Windows NT 10.0) Chrome/117.0.5938.92",
                );
            }
        }
        sorted(&log)
    };
    let told = place.analyze(&fleet(0..200, 0), "2030-01-05");
    assert!(told.contains("1 campaigns denied"), "{told}");
    let campaigns = place.said(&["list", "--about", "campaign"]);
    assert!(campaigns.contains("(200 sources)"), "{campaigns}");
    let name = campaigns
        .split("campaign:")
        .nth(1)
        .unwrap()
        .split(' ')
        .next()
        .unwrap();
    // The owner lets it pass; the next analysis finds more of it.
    place.said(&["allow", &format!("campaign:{name}")]);
    let told = place.analyze(&fleet(100..300, 5 * 86_400), "2030-01-10");
    assert!(told.contains("100 sources joined a known one"), "{told}");
    let shown = place.said(&["show", "198.51.101.99"]);
    assert!(
        shown.contains(&format!("campaign:{name}: allow")),
        "{shown}"
    );
    let list = place.said(&["export", "--as", "cidr"]);
    assert!(!list.contains("198.51."), "{list}");
}

#[test]
fn deny_lists_leave_out_what_is_allowed_and_what_has_ended() {
    let place = Place::new();
    place.said(&["deny", "203.0.113.0/24"]);
    place.said(&["allow", "203.0.113.128/25"]);
    place.said(&["deny", "198.51.100.1", "--days", "3"]);
    let list = place.said(&["export", "--as", "cidr"]);
    assert_eq!(list, "198.51.100.1/32\n203.0.113.0/25\n");
    let file = place.folder.path().join("deny.conf");
    let output = place.kb(&["export", "--as", "nginx-deny", file.to_str().unwrap()]);
    assert!(
        stderr(&output).contains("2 denied sources and networks became 2 networks"),
        "{}",
        stderr(&output)
    );
    assert!(
        std::fs::read_to_string(file)
            .unwrap()
            .contains("deny 203.0.113.0/25;")
    );
}

#[test]
fn a_denial_is_exported_until_it_ends_also_inside_a_longer_allowance() {
    let place = Place::new();
    let list = place.file("friends.txt", "203.0.113.7\n");
    place.said(&["import", &list, "--as", "allow"]);
    place.said(&["deny", "203.0.113.0/24", "--days", "1"]);
    let exported = place.said(&["export", "--as", "networks"]);
    let exported: serde_json::Value = serde_json::from_str(&exported).unwrap();
    let text = exported.to_string();
    assert!(
        text.contains("203.0.113.0/24"),
        "one network, one end: {text}"
    );
}

/// H198. A base that is missing beside its backup is told by every command, and the backup stays as it is until it is restored.
#[test]
fn h198_a_missing_base_is_told_and_restored_and_the_backup_stays() {
    let place = Place::new();
    let many: String = (0..555)
        .map(|number| format!("198.18.{}.{}\n", number / 250, number % 250))
        .collect();
    let list = place.file("list", &many);
    place.said(&["import", &list, "--as", "deny", "--yes"]);
    let backup = format!("{}.backup", place.kb);
    let saved = std::fs::read(&backup).unwrap();
    for end in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{end}", place.kb));
    }
    let log = place.file("access.log", &visitors());
    let list = list.as_str();
    for arguments in [
        &["kb", "--kb", &place.kb, "deny", "192.0.2.7"][..],
        &["kb", "--kb", &place.kb, "list"],
        &["kb", "--kb", &place.kb, "import", list, "--as", "deny"],
        &["kb", "--kb", &place.kb, "export", "--as", "plain"],
        &["analyze", "--kb", &place.kb, &log],
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let said = stderr(&output);
        assert!(said.contains("is missing, but its backup"), "{said}");
        assert!(said.contains("kb restore --kb"), "{said}");
    }
    assert!(std::fs::read(&backup).unwrap() == saved);
    let said = place.said(&["restore"]);
    assert!(said.contains("with 555 entries"), "{said}");
    place.said(&["deny", "192.0.2.7"]);
    // A base that somebody put in its place does not overwrite the backup of the one that was there.
    let other = Place::new();
    other.said(&["deny", "192.0.2.9"]);
    for end in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{end}", place.kb));
    }
    std::fs::copy(&other.kb, &place.kb).unwrap();
    let output = place.kb(&["deny", "192.0.2.10"]);
    assert!(output.status.success());
    let said = stderr(&output);
    assert!(said.contains("not of this base; it is kept as"), "{said}");
    let aside = format!("{backup}-1");
    let output = run(&["kb", "--kb", &aside, "check"]);
    assert!(stdout(&output).contains("556 entries"), "{output:?}");
}
