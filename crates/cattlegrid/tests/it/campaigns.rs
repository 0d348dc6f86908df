//! Sources that crawl as one: fleets, rotating addresses, campaigns by their times; and readers, who are none.

use std::fmt::Write;

use serde_json::Value;

use crate::file;
use crate::log_line;
use crate::report;
use crate::run;
use crate::stdout;
use crate::write;

const COMMON: &str = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36";
const SELDOM: &str =
    "Mozilla/5.0 (Windows NT 6.1; Win64; x64; rv:115.0) Gecko/20100101 Firefox/115.0";
const ODD: &str = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/117.0.5938.92 Safari/537.36";

/// Seconds of the simulated time.
pub(crate) const SPAN: usize = 4 * 86_400;

/// Lines with their times, in any order.
#[derive(Default)]
pub(crate) struct Log(Vec<(usize, String)>);

impl Log {
    pub(crate) fn add(
        &mut self,
        second: usize,
        source: &str,
        target: &str,
        referrer: &str,
        agent: &str,
    ) {
        let line = log_line(second, source, target, 200, referrer, agent);
        self.0.push((second, line));
    }

    /// A reader: some visits, popular stories, all parts of each page.
    pub(crate) fn reader(&mut self, source: &str, agent: &str, number: usize) {
        for page in 0..3 + number % 5 {
            let second = (number * 7919 + page * 61) % (SPAN - 86_400) + number % 3 * 28_800;
            let story = (number * 31 + page * 17) % 97 * ((number + page) % 7) / 6;
            let target = format!("/story/{story}");
            self.add(second, source, &target, "https://site.example/", agent);
            let page = format!("https://site.example{target}");
            for part in ["/style.css", "/app.js", "/photo.jpg"] {
                self.add(second + 1, source, part, &page, agent);
            }
        }
    }

    /// A member of a fleet: a few pages that no other member asks for, at any hour.
    pub(crate) fn member(&mut self, source: &str, agent: &str, number: usize) {
        for page in 0..6 {
            let second = (number * 104_729 + page * 57_607) % SPAN;
            let target = format!("/story/{}", 1000 + number * 6 + page);
            self.add(second, source, &target, "-", agent);
        }
    }

    /// The same log with a field for the session cookie.
    pub(crate) fn with_sessions(mut self, session: impl Fn(&str, usize) -> String) -> Log {
        for (place, (_, line)) in self.0.iter_mut().enumerate() {
            let source = line.split(' ').next().unwrap_or_default();
            let session = session(source, place);
            *line = format!("{line} \"sid={session}\"");
        }
        self
    }

    pub(crate) fn readers(&mut self) {
        for number in 0..600 {
            let source = format!("192.0.{}.{}", 2 + number / 250, number % 250);
            self.reader(
                &source,
                if number % 9 == 0 { SELDOM } else { COMMON },
                number,
            );
        }
    }

    pub(crate) fn text(mut self) -> String {
        self.0.sort();
        self.0.iter().fold(String::new(), |mut text, (_, line)| {
            let _ = writeln!(text, "{line}");
            text
        })
    }
}

fn campaigns(json: &Value) -> &Vec<Value> {
    json["campaigns"].as_array().unwrap()
}

fn with_fleet() -> String {
    let mut log = Log::default();
    log.readers();
    for number in 0..300 {
        let source = format!("198.51.{}.{}", 100 + number / 200, number % 200);
        log.member(&source, ODD, number);
    }
    log.text()
}

#[test]
fn readers_are_no_fleet() {
    let mut log = Log::default();
    log.readers();
    let (_folder, path) = file(log.text().as_bytes());
    let json = report(&["--min-requests", "1", &path]);
    assert_eq!(campaigns(&json).len(), 0, "{:#}", json["campaigns"]);
}

#[test]
fn a_fleet_with_an_odd_agent_is_one_campaign_and_nobody_else_belongs_to_it() {
    let (folder, path) = file(with_fleet().as_bytes());
    let page = folder.path().join("page.html");
    let json = report(&[
        "--min-requests",
        "1",
        "--html",
        page.to_str().unwrap(),
        &path,
    ]);
    let [campaign] = campaigns(&json).as_slice() else {
        panic!("one campaign expected, found {:#}", json["campaigns"]);
    };
    let sources = campaign["sources"].as_array().unwrap();
    assert_eq!(sources.len(), 300);
    let is_member = |source: &Value| source.as_str().unwrap().starts_with("198.51.");
    assert!(sources.iter().all(is_member));
    assert_eq!(
        (&campaign["how"], &campaign["kind"], &campaign["requests"]),
        (
            &Value::from("agent"),
            &Value::from("masquerading"),
            &Value::from(1800)
        )
    );
    let reasons: Vec<&str> = campaign["evidence"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|item| item["detector"].as_str())
        .collect();
    for reason in ["no_page_parts", "divided_pages", "alike_members"] {
        assert!(reasons.contains(&reason), "{reasons:?}");
    }
    for source in json["sources"].as_array().unwrap() {
        let expected = if is_member(&source["source"]) {
            "crawler"
        } else {
            "user"
        };
        assert_ne!(
            source["class"] == "crawler",
            expected == "user",
            "{source:#}"
        );
    }
    let html = std::fs::read_to_string(page).unwrap();
    assert!(html.contains("300 sources in") && html.contains("<polyline"));
    let text = stdout(&run(&["analyze", &path]));
    assert!(
        text.contains("Campaigns: sources that crawl as one (1 of 1)"),
        "{text}"
    );
}

#[test]
fn campaigns_are_the_same_whatever_the_threads_and_the_order_of_files() {
    let text = with_fleet();
    let lines: Vec<&str> = text.lines().collect();
    let folder = tempfile::TempDir::new().unwrap();
    let halves: Vec<String> = lines
        .chunks(lines.len() / 2 + 1)
        .enumerate()
        .map(|(number, half)| {
            let name = format!("access.log.{number}");
            write(folder.path(), &name, (half.join("\n") + "\n").as_bytes())
        })
        .collect();
    let once = report(&["--threads", "1", &halves[0], &halves[1]]);
    let turned = report(&["--threads", "2", &halves[1], &halves[0]]);
    assert_eq!(once["campaigns"], turned["campaigns"]);
    assert_eq!(campaigns(&once).len(), 1);
}

/// The next number of a sequence.
pub(crate) fn draw(state: &mut usize) -> usize {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

/// Bursts that no clock and no crowd explains, from five addresses at once.
fn bursts(log: &mut Log, seed: usize, network: &str, agent: impl Fn(usize) -> String) {
    let mut state = seed;
    for burst in 0..60 {
        let start = draw(&mut state) % (SPAN - 3600);
        for robot in 0..5 {
            for page in 0..20 + burst % 30 {
                let target = format!("/archive/{}", robot * 100_000 + burst * 100 + page);
                let second = start + page * 61 % 1700 + robot;
                let source = format!("{network}.{}", 10 + robot);
                log.add(second, &source, &target, "-", &agent(robot));
            }
        }
    }
}

#[test]
fn sources_that_come_at_the_same_odd_times_are_one_campaign() {
    let mut log = Log::default();
    log.readers();
    // Each has a browser's agent of its own.
    bursts(&mut log, 7, "203.0.113", |robot| {
        format!(
            "Mozilla/5.0 (X11; Linux x86_64; rv:12{robot}.0) Gecko/20100101 Firefox/12{robot}.0"
        )
    });
    let (_folder, path) = file(log.text().as_bytes());
    let json = report(&[&path]);
    let found = campaigns(&json)
        .iter()
        .find(|campaign| campaign["how"] == "times");
    let campaign = found.unwrap_or_else(|| panic!("none by times in {:#}", json["campaigns"]));
    assert_eq!(campaign["sources"].as_array().unwrap().len(), 5);
    assert_eq!(campaign["agents"].as_array().unwrap().len(), 5);
}

#[test]
fn a_log_of_robots_that_name_themselves_has_campaigns_too() {
    let mut log = Log::default();
    let agent = |_: usize| {
        "Mozilla/5.0 (compatible; SemrushBot/7~bl; +http://www.semrush.com/bot.html)".to_owned()
    };
    bursts(&mut log, 7, "203.0.113", agent);
    bursts(&mut log, 8, "198.51.100", agent);
    // Somebody is always there, so that the log has no gap; and asks for no page.
    for minute in 0..SPAN / 120 {
        log.add(minute * 120, "192.0.2.1", "/alive.png", "-", COMMON);
    }
    let (_folder, path) = file(log.text().as_bytes());
    let json = report(&[&path]);
    let found = campaigns(&json).iter();
    let times: Vec<usize> = found
        .filter(|campaign| campaign["how"] == "times")
        .map(|campaign| campaign["sources"].as_array().unwrap().len())
        .collect();
    assert_eq!(times, [5, 5]);
}

#[test]
fn addresses_that_take_turns_are_one_campaign() {
    let mut log = Log::default();
    log.readers();
    // Twelve addresses, each busy for eight hours and never again.
    for address in 0..12 {
        for page in 0..160 {
            let second = address * 28_800 + page * 180;
            let target = format!("/archive/{}", address * 1000 + page);
            log.add(
                second,
                &format!("203.0.113.{}", 10 + address),
                &target,
                "-",
                ODD,
            );
        }
    }
    let (_folder, path) = file(log.text().as_bytes());
    let json = report(&[&path]);
    let [campaign] = campaigns(&json).as_slice() else {
        panic!("one campaign expected, found {:#}", json["campaigns"]);
    };
    assert_eq!(campaign["sources"].as_array().unwrap().len(), 12);
    assert_eq!(
        campaign["takes_turns"], true,
        "{}",
        campaign["busy_at_once"]
    );
    assert_eq!(campaign["kind"], "masquerading");
}

/// The format of logs that have the cookies behind everything else.
const COOKIES: &str = r#"%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i" "%{Cookie}i""#;

/// An agent that nobody else has.
pub(crate) fn own_agent(number: usize) -> String {
    format!("Mozilla/5.0 (X11; Linux x86_64; rv:1{number}.0) Gecko/20100101 Firefox/1{number}.0")
}

/// A database of autonomous systems with one network: 2001:db8::/32 is AS64500.
fn database() -> Vec<u8> {
    let text = |text: &str| match text.len() as u8 {
        length @ 0..29 => [&[0x40 | length][..], text.as_bytes()].concat(),
        length => [&[0x5d, length - 29][..], text.as_bytes()].concat(),
    };
    let number = |kind: u8, value: u32| [&[kind][..], &value.to_be_bytes()].concat();
    let u16_of = |value: u8| vec![0xa1, value];
    let u32_of = |value: u32| number(0xc4, value);
    // Bits of the network lead from node to node, all others to nothing; the last leads to the data.
    let nodes = 32_u32;
    let network = 0x2001_0db8_u32;
    let mut tree = Vec::new();
    for bit in 0..nodes {
        let next = if bit + 1 == nodes {
            nodes + 16
        } else {
            bit + 1
        };
        let records = match network >> (31 - bit) & 1 {
            0 => [next, nodes],
            _ => [nodes, next],
        };
        records
            .iter()
            .for_each(|record| tree.extend_from_slice(&record.to_be_bytes()[1..]));
    }
    tree.extend([0; 16]);
    let row = [
        vec![0xe2],
        text("autonomous_system_number"),
        u32_of(64500),
        text("autonomous_system_organization"),
        text("Example Hosting"),
    ];
    let about = [
        vec![0xe9],
        text("node_count"),
        u32_of(nodes),
        text("record_size"),
        u16_of(24),
        text("ip_version"),
        u16_of(6),
        text("database_type"),
        text("Example-ASN"),
        text("binary_format_major_version"),
        u16_of(2),
        text("binary_format_minor_version"),
        u16_of(0),
        text("build_epoch"),
        vec![0x01, 0x02, 1],
        text("languages"),
        vec![0x00, 0x04],
        text("description"),
        vec![0xe1],
        text("en"),
        text("for tests"),
    ];
    let mark = b"\xab\xcd\xefMaxMind.com".to_vec();
    [tree, row.concat(), mark, about.concat()].concat()
}

/// Forty sources in forty networks of one provider, each with an agent of its own.
fn with_hosted_fleet() -> String {
    let mut log = Log::default();
    log.readers();
    for number in 0..40 {
        log.member(
            &format!("2001:db8:{number:x}::1"),
            &own_agent(number),
            number,
        );
    }
    log.text()
}

#[test]
fn sources_of_one_provider_are_judged_together_where_the_owner_has_a_database() {
    let (folder, path) = file(with_hosted_fleet().as_bytes());
    assert_eq!(campaigns(&report(&[&path])).len(), 0);
    let base = write(folder.path(), "asn.mmdb", &database());
    let json = report(&["--asn", &base, &path]);
    let [campaign] = campaigns(&json).as_slice() else {
        panic!("one campaign expected, found {:#}", json["campaigns"]);
    };
    assert_eq!(campaign["how"], "system");
    assert_eq!(campaign["sources"].as_array().unwrap().len(), 40);
    assert_eq!(
        campaign["systems"],
        serde_json::json!([{ "number": 64500, "name": "Example Hosting", "sources": 40 }])
    );
    let text = stdout(&run(&["analyze", "--asn", &base, &path]));
    assert!(
        text.contains("from Example Hosting (AS64500, 40 sources)"),
        "{text}"
    );
    let groups = json["groups"].as_array().unwrap();
    let group = groups
        .iter()
        .find(|group| group["how"] == "system")
        .unwrap();
    assert_eq!(
        group["shared"],
        "share the autonomous system AS64500 Example Hosting"
    );
    assert_eq!(group["campaign"], 0);
}

#[test]
fn a_damaged_database_of_systems_is_refused_and_none_ends_the_program() {
    let (folder, path) =
        file(b"192.0.2.1 - - [01/Jan/2030:00:00:00 +0000] \"GET / HTTP/1.1\" 200 1 \"-\" \"-\"\n");
    let sound = database();
    let check = |bytes: &[u8]| {
        let base = write(folder.path(), "asn.mmdb", bytes);
        let output = run(&["analyze", "--quiet", "--asn", &base, &path]);
        let status = output.status.code();
        assert!(matches!(status, Some(0 | 2)), "{output:?}");
        if status == Some(2) {
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(
                said.contains("--asn: ") && said.contains("asn.mmdb"),
                "{said}"
            );
        }
        status
    };
    assert_eq!(check(&sound), Some(0));
    assert_eq!(check(b"source,label\n"), Some(2));
    for at in (0..sound.len()).step_by(23) {
        check(&sound[..at]);
        let mut flipped = sound.clone();
        flipped[at] ^= 0xff;
        check(&flipped);
    }
}

#[test]
fn sources_that_send_one_session_cookie_are_judged_together() {
    let mut log = Log::default();
    log.readers();
    for number in 0..40 {
        let source = format!("198.51.{}.7", 100 + number);
        log.member(&source, &own_agent(number), number);
    }
    let log = log.with_sessions(|source, _| match source.strip_prefix("198.51.") {
        Some(_) => "stolen".to_owned(),
        None => source.to_owned(),
    });
    let (_folder, path) = file(log.text().as_bytes());
    let json = report(&["--format", COOKIES, &path]);
    let [campaign] = campaigns(&json).as_slice() else {
        panic!("one campaign expected, found {:#}", json["campaigns"]);
    };
    assert_eq!(campaign["how"], "session");
    assert_eq!(campaign["sources"].as_array().unwrap().len(), 40);
}

#[test]
fn sources_with_a_common_agent_that_drop_their_cookies_alike_are_judged_together() {
    let mut log = Log::default();
    log.readers();
    for number in 0..40 {
        let source = format!("198.51.{}.7", 100 + number);
        // They name a page they come from, so that their habits do not give them away.
        for page in 0..9 {
            let second = (number * 104_729 + page * 37_607) % SPAN;
            let target = format!("/story/{}", 1000 + number * 9 + page);
            log.add(second, &source, &target, "https://site.example/", COMMON);
        }
    }
    let log = log.with_sessions(|source, place| match source.strip_prefix("198.51.") {
        Some(_) => format!("{}", place / 3),
        None => source.to_owned(),
    });
    let (_folder, path) = file(log.text().as_bytes());
    let json = report(&["--format", COOKIES, &path]);
    let [campaign] = campaigns(&json).as_slice() else {
        panic!("one campaign expected, found {:#}", json["campaigns"]);
    };
    assert_eq!(campaign["how"], "cookie");
    let sources = campaign["sources"].as_array().unwrap();
    assert_eq!(sources.len(), 40);
    assert!(
        sources
            .iter()
            .all(|source| source.as_str().unwrap().starts_with("198.51."))
    );
}

#[test]
fn groups_are_listed_whatever_they_are_and_pseudonyms_hide_their_network() {
    let mut log = Log::default();
    log.readers();
    for number in 0..40 {
        log.member(&format!("198.51.100.{number}"), &own_agent(number), number);
    }
    let (_folder, path) = file(log.text().as_bytes());
    let plain = report(&[&path]);
    assert_eq!(campaigns(&plain)[0]["how"], "network");
    let groups = plain["groups"].as_array().unwrap();
    let of = |network: &str| {
        let shared = format!("share the network {network}");
        groups
            .iter()
            .find(|group| group["shared"] == shared.as_str())
            .unwrap()
    };
    assert_eq!(of("198.51.100.0/24")["campaign"], 0);
    assert_eq!(
        (
            &of("192.0.2.0/24")["class"],
            &of("192.0.2.0/24")["campaign"]
        ),
        (&Value::from("user"), &Value::Null)
    );
    let hidden = report(&["--pseudonymize", &path]).to_string();
    assert!(!hidden.contains("198.51.100") && !hidden.contains("192.0.2"));
}

#[test]
fn a_limit_for_one_address_is_not_applied_to_a_sum() {
    let (folder, log) = file(with_fleet().as_bytes());
    let by_volume = |most: u32| {
        let config = write(
            folder.path(),
            "limits.toml",
            format!(
                "[detectors.traffic_shape]\nday_requests_min = 100\nday_requests_max = {most}\n"
            )
            .as_bytes(),
        );
        let json = report(&["--config", &config, &log]);
        json.to_string()
            .contains("more than people behind one address send")
    };
    // The fleet sends hundreds of requests a day, each member six in all.
    assert!(by_volume(0));
    assert!(!by_volume(60));
}

/// Everybody has one agent and sends no referrer: the log of a server behind a proxy that takes both away.
#[test]
fn one_agent_and_no_referrer_for_all_make_no_campaign() {
    let mut log = Log::default();
    log.readers();
    let plain = log.text().lines().fold(String::new(), |mut text, line| {
        let head = line
            .splitn(3, " \"")
            .take(2)
            .collect::<Vec<_>>()
            .join(" \"");
        let _ = writeln!(text, "{head} \"-\" \"{COMMON}\"");
        text
    });
    let (_folder, path) = file(plain.as_bytes());
    let json = report(&["--min-requests", "1", &path]);
    assert_eq!(campaigns(&json).len(), 0, "{:#}", json["campaigns"]);
    let sources = json["sources"].as_array().unwrap();
    let accused = sources.iter().filter(|source| source["class"] == "crawler");
    assert_eq!(accused.count(), 0);
    assert_eq!(sources.len(), 600);
}

/// Five addresses of one provider, its visitors dealt out among them: together they send more in a day than one address may.
#[test]
fn the_addresses_of_one_provider_are_people_whatever_they_send_together() {
    let mut log = Log::default();
    log.readers();
    let mut state = 11_usize;
    let mut next = |end: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % end
    };
    for half_hour in 0..SPAN / 1800 {
        let hour = (half_hour % 48) as f64 / 2.0;
        // Few at four in the morning, most in the evening; no two days alike.
        let wave = 1.0 - (std::f64::consts::TAU * (hour - 4.0) / 24.0).cos();
        let visits = (6.0 * (0.2 + wave)) as usize + next(5);
        for _ in 0..visits {
            let source = format!("203.0.113.{}", 10 + next(5));
            let agent = format!(
                "Mozilla/5.0 (Windows NT 10.0; rv:1{0}.0) Gecko/20100101 Firefox/1{0}.0",
                10 + next(30)
            );
            let (start, pages) = (half_hour * 1800 + next(1700), 1 + next(6));
            for page in 0..pages {
                let target = format!("/story/{}", next(97) * next(7) / 6);
                let second = start + page * (20 + next(60));
                log.add(second, &source, &target, "https://site.example/", &agent);
                let page = format!("https://site.example{target}");
                for part in ["/style.css", "/photo.jpg"] {
                    log.add(second + 1, &source, part, &page, &agent);
                }
            }
        }
    }
    let (folder, path) = file(log.text().as_bytes());
    // Each sends some 1,300 requests a day, all together 6,500.
    let settings = "[detectors.traffic_shape]\nday_requests_max = 3000\nday_requests_min = 300\n";
    let config = write(folder.path(), "settings.toml", settings.as_bytes());
    let json = report(&["--config", &config, "--min-requests", "1", &path]);
    let sources = json["sources"].as_array().unwrap();
    let provider: Vec<&Value> = sources
        .iter()
        .filter(|source| source["source"].as_str().unwrap().starts_with("203.0.113."))
        .collect();
    assert_eq!(provider.len(), 5);
    for source in provider {
        assert_eq!(source["class"], "user", "{source:#}");
        assert_eq!(source["campaign"], Value::Null, "{source:#}");
    }
}

/// The fleets by manner that are found in a simulated world: their members, and how many of them are people.
fn fleets_by_manner(world: &str) -> Vec<(usize, usize)> {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("world");
    let at = at.to_str().unwrap();
    assert!(
        run(&["simulate", world, "--seed", "3", "--out", at])
            .status
            .success()
    );
    let labels = std::fs::read_to_string(format!("{at}/labels.csv")).unwrap();
    let people: std::collections::BTreeSet<&str> = labels
        .lines()
        .filter(|line| line.contains(",user,"))
        .filter_map(|line| line.split(',').next())
        .collect();
    let log = format!("{at}/access.log");
    let json = report(&[&log, "--quiet"]);
    let by_manner = campaigns(&json)
        .iter()
        .filter(|campaign| campaign["how"] == "manner");
    by_manner
        .map(|campaign| {
            let members = campaign["sources"].as_array().unwrap();
            let person = |member: &&Value| people.contains(member.as_str().unwrap());
            (members.len(), members.iter().filter(person).count())
        })
        .collect()
}

#[test]
fn fleets_of_a_few_pages_each_are_found_by_their_manner_and_there_is_none_where_none_is() {
    let fleets = fleets_by_manner("midsize");
    assert_eq!(fleets.len(), 2, "{fleets:?}");
    for (members, people) in fleets {
        assert!(members > 400, "{members}");
        assert!(people * 20 < members, "{people} people of {members}");
    }
    assert_eq!(fleets_by_manner("midsize-calm"), []);
}

#[test]
fn passwords_that_many_addresses_guess_are_one_campaign() {
    let mut log = Log::default();
    log.readers();
    for number in 0..60 {
        let source = format!("198.51.100.{number}");
        for attempt in 0..4 + number % 5 {
            let second = (number * 104_729 + attempt * 7607) % SPAN;
            let line = log_line(
                second,
                &source,
                "/wp-login.php",
                200,
                "-",
                &own_agent(number),
            );
            log.0.push((second, line.replace("\"GET ", "\"POST ")));
        }
    }
    // Somebody who has forgotten a password, and reads on.
    let second = 5000;
    log.reader("203.0.113.9", COMMON, 3);
    for attempt in 0..4 {
        let line = log_line(
            second + attempt,
            "203.0.113.9",
            "/wp-login.php",
            200,
            "-",
            COMMON,
        );
        log.0.push((second, line.replace("\"GET ", "\"POST ")));
    }
    let (_folder, path) = file(log.text().as_bytes());
    let json = report(&["--min-requests", "1", &path]);
    let [campaign] = campaigns(&json).as_slice() else {
        panic!("one campaign expected, found {:#}", json["campaigns"]);
    };
    assert_eq!(campaign["how"], "login");
    let schema = include_str!("../../../../docs/schema/analyze.json");
    let schema: Value = serde_json::from_str(schema).unwrap();
    assert_eq!(crate::schema::errors(&schema, &json), Vec::<String>::new());
    let text = crate::stdout(&crate::run(&["analyze", &path]));
    assert!(text.contains("send passwords to one log-in form"), "{text}");
    let sources = campaign["sources"].as_array().unwrap();
    assert_eq!(sources.len(), 60);
    assert!(!sources.contains(&Value::from("203.0.113.9")));
}
