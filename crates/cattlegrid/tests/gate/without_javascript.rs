//! Visitors without JavaScript answer a question: people get through, programs that answer it with a few patterns gain little by it, and
//! who refuses cookies is told so and led in no circle.

use std::fs;
use std::process::Command;
use std::thread;
use std::time::Duration;
use std::time::Instant;

use crate::challenge::must;
use crate::challenge::withstands;
use crate::harness::Answer;
use crate::harness::Gate;
use crate::harness::Origin;
use crate::harness::Wanted;
use crate::harness::say;
use crate::harness::wait_for;
use crate::solve::Browser;
use crate::solve::Puzzle;

const NUMBERS: [&str; 21] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
    "twenty",
];
/// What a crawler's author has gathered from some questions.
const GROUPS: [(&str, &str); 3] = [
    ("animal", "dog cat horse cow sheep duck"),
    ("fruit", "apple pear banana cherry lemon strawberry"),
    ("clothing", "shirt coat hat shoe sock glove"),
];

/// A question on a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asked {
    token: String,
    text: String,
}

impl Asked {
    /// The question in a page; nothing where there is none.
    pub(crate) fn of(page: &str) -> Option<Asked> {
        let between = |from: &str, to: &str| {
            let (_, rest) = page.split_once(from)?;
            Some(rest.split_once(to)?.0.to_owned())
        };
        Some(Asked {
            token: between("name=\"token\" value=\"", "\"")?,
            text: between("<label for=\"answer\">", "</label>")?.replace("&nbsp;", " "),
        })
    }

    /// What a program makes of it.
    pub(crate) fn solve(&self) -> Option<usize> {
        if let Some(sum) = self.text.strip_prefix("What is ") {
            let words: Vec<&str> = sum.trim_end_matches('?').split(' ').collect();
            let number = |word: &str| NUMBERS.iter().position(|name| *name == word);
            let (a, b) = (number(words[0])?, number(words[2])?);
            return Some(if words[1] == "plus" { a + b } else { a - b });
        }
        let (asked, list) = self.text.trim_end_matches('?').split_once(": ")?;
        let items: Vec<&str> = list.split(", ").collect();
        if asked.contains("largest") {
            return items.iter().filter_map(|item| item.parse().ok()).max();
        }
        let (_, words) = GROUPS.iter().find(|(name, _)| asked.contains(name))?;
        let mut found = items.iter().filter(|item| {
            let word = item.rsplit(char::is_whitespace).next().unwrap_or_default();
            words.split(' ').any(|known| known == word)
        });
        match asked.starts_with("How many") {
            true => Some(found.count()),
            false => found
                .next()?
                .split(char::is_whitespace)
                .next()?
                .parse()
                .ok(),
        }
    }

    /// Its text.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The form that answers it.
    pub(crate) fn form(&self) -> String {
        let answer = self.solve().unwrap_or_else(|| panic!("{self:?}"));
        format!("token={}&answer={answer}", self.token)
    }
}

/// The question of a page.
pub(crate) fn asked(answer: &Answer) -> Asked {
    let text = answer.text();
    Asked::of(&text).unwrap_or_else(|| panic!("no question in {} {text}", answer.status))
}

/// Few pages for unknown sources, and questions that can be answered after a second.
fn quick(more: &str) -> Wanted {
    Wanted {
        parts: format!("[policy]\nk1 = 5\nquestion_seconds = 1\nquestion_pages = 10\n{more}\n"),
        ..Wanted::default()
    }
}

/// A browser that has asked for as many pages as an unknown source may, and the challenge that came then.
fn challenged(gate: &Gate, source: &str) -> (Browser, Answer) {
    let mut browser = Browser::new(source, gate.address);
    for page in 0..5 {
        assert_eq!(browser.get(&format!("/page{page}")).status, 200);
    }
    let challenge = browser.get("/wanted?a=1&b=2");
    assert_eq!(challenge.status, 403);
    (browser, challenge)
}

/// Answers a question as soon as it counts.
pub(crate) fn reply(browser: &mut Browser, asked: &Asked) -> Answer {
    loop {
        let answer = browser.post("question", &asked.form());
        if answer.status != 429 {
            return answer;
        }
        let seconds = answer.header("retry-after").unwrap().parse().unwrap();
        thread::sleep(Duration::from_secs(seconds));
    }
}

#[test]
fn h106_a_person_without_javascript_answers_a_question_and_goes_on() {
    let origin = Origin::start();
    let gate = Gate::with(&origin, quick(""));
    let (mut browser, challenge) = challenged(&gate, "127.0.70.1");
    let question = asked(&challenge);
    let early = browser.post("question", &question.form());
    assert_eq!(
        (early.status, early.header("retry-after").unwrap().as_str()),
        (429, "1")
    );
    assert_eq!(asked(&early), question, "nothing is lost");
    let wrong = browser.post("question", &format!("token={}&answer=99", question.token));
    assert_eq!((wrong.status, asked(&wrong)), (403, question.clone()));
    assert!(wrong.text().contains("role=\"alert\""));
    let back = reply(&mut browser, &question);
    assert_eq!(back.status, 303);
    assert_eq!(back.header("location").unwrap(), "/wanted?a=1&b=2");
    for answer in [&challenge, &early, &wrong, &back] {
        assert_eq!(answer.header("cache-control").unwrap(), "no-store");
        assert_eq!(answer.header("x-robots-tag").unwrap(), "noindex");
        assert_eq!(answer.header("vary").unwrap(), "*");
    }
    for page in 0..10 {
        assert_eq!(browser.get(&format!("/more{page}")).status, 200);
    }
    let next = browser.get("/last");
    assert_eq!(next.status, 403, "its pages are used up");
    let other = browser.post("question", &format!("token={}&other=1", asked(&next).token));
    assert_ne!(asked(&other).token, asked(&next).token);
    assert_eq!(
        reply(&mut browser, &asked(&other))
            .header("location")
            .unwrap(),
        "/last"
    );
    assert_eq!(browser.get("/last").status, 200);
    assert_eq!(
        gate.metric("cattlegrid_questions_answered_total"),
        Some(2.0)
    );
    assert_eq!(browser.get("/.cattlegrid/question").status, 303);
}

#[test]
fn h084_a_question_is_answered_once_and_by_the_browser_that_was_asked() {
    let origin = Origin::start();
    let mut gate = Gate::with(&origin, quick(""));
    withstands(&mut gate, |gate| {
        let (mut browser, challenge) = challenged(gate, "127.0.71.1");
        let form = asked(&challenge).form();
        let mut thief = Browser::new("127.0.72.1", gate.address);
        thief.cookies = browser.cookies.clone();
        must(
            reply(&mut browser, &asked(&challenge)).status == 303,
            "it counts",
        )?;
        // Sent twice by mistake: the browser is cleared, and led to its page.
        must(browser.post("question", &form).status == 303, "led back")?;
        let stolen = thief.post("question", &form);
        must(stolen.status == 403, "not twice")?;
        must(asked(&stolen).form() != form, "a new question instead")?;
        let mut other = Browser::new("127.0.71.2", gate.address).with("User-Agent", "curl/8");
        other.cookies = thief.cookies.clone();
        let again = thief.get("/x");
        must(again.status == 200, "an unknown source still has its pages")?;
        let new = thief.post("question", "other=1");
        must(
            reply(&mut other, &asked(&new)).status == 403,
            "another agent",
        )?;
        let malformed = [
            "",
            "answer=1",
            "token=&answer=",
            "token=x&answer=1",
            "other=",
        ];
        for body in malformed {
            let answer = thief.post("question", body);
            must(
                answer.status == 403 && Asked::of(&answer.text()).is_some(),
                body,
            )?;
        }
        Ok(())
    });
}

/// Does what a person without cookies can do: opens the page, answers, follows every redirect. Gives the requests and the last page.
fn without_cookies(gate: &Gate) -> (usize, Answer) {
    let mut browser = Browser::new("127.0.73.1", gate.address);
    browser.keeps_cookies = false;
    for page in 0..5 {
        browser.get(&format!("/page{page}"));
    }
    let mut answer = browser.get("/wanted");
    let mut requests = 1;
    while requests < 20 {
        answer = match (answer.header("location"), Asked::of(&answer.text())) {
            (Some(path), _) => browser.get(&path),
            (None, Some(question)) => {
                thread::sleep(Duration::from_millis(1000));
                browser.post("question", &question.form())
            }
            (None, None) => return (requests, answer),
        };
        requests += 1;
    }
    (requests, answer)
}

#[test]
fn h093_without_cookies_a_clear_page_ends_it() {
    let origin = Origin::start();
    let gate = Gate::with(&origin, quick(""));
    let (requests, last) = without_cookies(&gate);
    assert_eq!((requests, last.status), (2, 403));
    let text = last.text();
    assert!(text.contains("Please allow cookies") && text.contains("webmaster@example.org"));
    assert!(text.contains("<a href=\"/wanted\">Try again</a>"));
    assert_eq!(gate.metric("cattlegrid_solved_total"), Some(0.0));
    // Without the cookie's check it would be led back to the same challenge for ever.
    let open = Wanted {
        gate: "without = [\"ask_cookie\"]\n".to_owned(),
        ..quick("")
    };
    let gate = Gate::with(&origin, open);
    assert_eq!(without_cookies(&gate).0, 20);
}

#[test]
fn an_owner_can_ask_no_questions() {
    let origin = Origin::start();
    let wanted = Wanted {
        parts: "[policy]\nk1 = 5\nquestion_pages = 0\n".to_owned(),
        ..Wanted::default()
    };
    let gate = Gate::with(&origin, wanted);
    let (mut browser, challenge) = challenged(&gate, "127.0.74.1");
    assert_eq!(Asked::of(&challenge.text()), None);
    assert!(challenge.text().contains("switch JavaScript on"));
    assert_eq!(browser.post("question", "other=1").status, 404);
}

/// A frame of an owner.
const FRAME: &str = "<!doctype html>\n<html lang=\"{{lang}}\">\n<head><meta charset=\"utf-8\"><title>{{title}}</title>\n<link rel=\"stylesheet\" href=\"{{style}}\"></head>\n<body><header>The shop</header>\n{{content}}\n</body></html>\n";

#[test]
fn an_owners_template_is_checked_at_the_start_and_at_a_reload() {
    let origin = Origin::start();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page.html");
    fs::write(&path, FRAME).unwrap();
    let wanted = Wanted {
        gate: format!("template = \"{}\"\n", path.display()),
        ..quick("")
    };
    let gate = Gate::with(&origin, wanted);
    let (mut browser, challenge) = challenged(&gate, "127.0.75.1");
    let is_framed = |answer: &Answer, name: &str| answer.text().contains(name);
    assert!(is_framed(
        &challenge,
        "<header>The shop</header>\n<main id=\"cattlegrid\""
    ));
    fs::write(
        &path,
        FRAME
            .replace("The shop", "A shop")
            .replace("{{style}}", "/x.css"),
    )
    .unwrap();
    gate.signal("HUP");
    wait_for("the reload is refused", || {
        gate.metric("cattlegrid_reload_failed") == Some(1.0)
    });
    let said = gate.stderr();
    assert!(
        said.contains("page.html") && said.contains("{{style}} is missing: add <link"),
        "{said}"
    );
    assert!(is_framed(&browser.get("/x"), "The shop"));
    let checked = Command::new(env!("CARGO_BIN_EXE_cattlegrid"))
        .args(["check", "--config"])
        .arg(gate.path("gate.toml"))
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert!(
        !checked.status.success() && errors.contains("{{style}} is missing"),
        "{errors}"
    );
    fs::write(&path, FRAME.replace("The shop", "A shop")).unwrap();
    gate.signal("HUP");
    wait_for("the reload is carried out", || {
        gate.metric("cattlegrid_reload_failed") == Some(0.0)
    });
    assert!(is_framed(&browser.get("/x"), "A shop"));
    assert_eq!(reply(&mut browser, &asked(&challenge)).status, 303);
}

/// A midnight, and how fast the gate's clock runs.
const START: u32 = 1_893_456_000;

/// Bits that challenges are easier by than with the usual settings, so that a test does not take long.
const EASIER: u32 = 6;

/// A gate whose clock runs so many times too fast, before which clients name their addresses.
fn fast(speed: u32, more: &str) -> Wanted {
    Wanted {
        gate: format!(
            "trusted_proxies = [\"127.0.0.1\"]\nclock = {{ start = {START}, speed = {speed} }}\n{more}\n"
        ),
        // Above k2 the crawler would be judged, and denied.
        parts: format!(
            "[gate.challenge]\nseconds = 86400\nbits = {}\n[policy]\nk2 = 10000\n",
            15 - EASIER
        ),
        ..Wanted::default()
    }
}

fn named(gate: &Gate, source: &str) -> Browser {
    Browser::new("127.0.0.1", gate.address).with("X-Forwarded-For", source)
}

/// How a crawler gets clearances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Work,
    Question,
}

/// What pages cost a crawler.
#[derive(Debug, Default, Clone, Copy)]
struct Cost {
    pages: usize,
    clearances: usize,
    sources: usize,
    /// Walks of challenges: 2 to the power of their bits.
    walks: u64,
    /// Seconds of the gate's clock that it was told to wait.
    waited: u64,
    /// Time that it spent on solving.
    solving: Duration,
}

impl Cost {
    /// Takes pages from one source until all are there, or until it has had so many clearances.
    fn crawl(
        &mut self,
        browser: &mut Browser,
        by: By,
        speed: u32,
        [pages, clearances]: [usize; 2],
    ) {
        self.sources += 1;
        let mut had = 0;
        while self.pages < pages {
            let answer = browser.get(&format!("/page{}", self.pages));
            match answer.status {
                200 => self.pages += 1,
                429 => self.wait(&answer, speed),
                _ if had == clearances => return,
                _ => {
                    had += 1;
                    self.clear(browser, &answer, by, speed);
                }
            }
        }
    }

    fn clear(&mut self, browser: &mut Browser, challenge: &Answer, by: By, speed: u32) {
        self.clearances += 1;
        let (text, began) = (challenge.text(), Instant::now());
        match by {
            By::Work => {
                let puzzle = Puzzle::of(&text).unwrap();
                self.walks += 1 << (puzzle.bits + EASIER);
                let form = puzzle.solve();
                self.solving += began.elapsed();
                assert_eq!(browser.post("answer", &form).status, 200);
            }
            By::Question => {
                let form = Asked::of(&text).unwrap().form();
                self.solving += began.elapsed();
                loop {
                    let answer = browser.post("question", &form);
                    match answer.status {
                        303 => return,
                        429 => self.wait(&answer, speed),
                        status => panic!("{status} {}", answer.text()),
                    }
                }
            }
        }
    }

    fn wait(&mut self, answer: &Answer, speed: u32) {
        let seconds: u64 = answer.header("retry-after").unwrap().parse().unwrap();
        self.waited += seconds;
        thread::sleep(Duration::from_millis(1000 * seconds / u64::from(speed) + 1));
    }

    fn say(&self, what: &str) {
        say(&format!(
            "{what}: {} pages, {} sources, {} clearances, {} walks, {} s waited, {:.3} ms solving",
            self.pages,
            self.sources,
            self.clearances,
            self.walks,
            self.waited,
            self.solving.as_secs_f64() * 1e3
        ));
    }
}

/// What a thousand pages cost in both ways: first by work.
fn compare(place: &str, costs: &[Cost; 2]) {
    let [work, question] = costs;
    work.say(&format!("by work, {place}"));
    question.say(&format!("by question, {place}"));
    // A native solver on the machine of docs/benchmarks.md makes 2^15 walks in 18.5 ms.
    let core = work.walks as f64 / f64::from(1 << 15) * 0.0185;
    say(&format!(
        "{place}: {core:.3} s of a core and {} s of addresses, or {} s of addresses",
        work.waited, question.waited
    ));
    assert!(question.waited as f64 > 100.0 * core);
    assert!(question.waited > work.waited);
    assert!(question.clearances >= 5 * work.clearances);
}

#[test]
fn h197_a_thousand_pages_of_one_source_cost_more_by_questions_than_by_work() {
    let origin = Origin::start();
    let speed = 600;
    let gate = Gate::with(&origin, fast(speed, "judge_minutes = 1440"));
    let mut costs = [Cost::default(); 2];
    let ways = [("198.18.200.7", By::Work), ("198.19.200.7", By::Question)];
    for (cost, (source, by)) in costs.iter_mut().zip(ways) {
        let mut browser = named(&gate, source);
        cost.crawl(&mut browser, by, speed, [1000, usize::MAX]);
    }
    compare("one source", &costs);
    assert!(costs[1].waited >= 3600, "more than an hour");
}

#[test]
fn h197_a_thousand_pages_of_new_sources_cost_more_by_questions_than_by_work() {
    let origin = Origin::start();
    let speed = 60;
    let gate = Gate::with(&origin, fast(speed, "judge_minutes = 1440"));
    let mut costs = [Cost::default(); 2];
    let ways = [("198.18", By::Work), ("198.19", By::Question)];
    for (cost, (network, by)) in costs.iter_mut().zip(ways) {
        for number in 0..200 {
            // Each in a network of its own, with one clearance.
            let mut browser = named(&gate, &format!("{network}.{number}.7"));
            cost.crawl(&mut browser, by, speed, [1000, 1]);
            if cost.pages == 1000 {
                break;
            }
        }
    }
    compare("new sources", &costs);
    assert!(costs[1].sources >= 5 * costs[0].sources);
}

/// Answers that count from 64 addresses of one network in ten minutes of the gate's clock, each answering as often as it can.
fn of_network(gate: &Gate, speed: u32) -> usize {
    let mut fleet: Vec<(Browser, Option<Asked>)> = (0..64)
        .map(|number| (named(gate, &format!("198.51.100.{number}")), None))
        .collect();
    let ends = Instant::now() + Duration::from_secs(600 / u64::from(speed));
    let mut counted = 0;
    while Instant::now() < ends {
        for (browser, question) in &mut fleet {
            let held = question
                .take()
                .unwrap_or_else(|| asked(&browser.post("question", "other=1")));
            match browser.post("question", &held.form()).status {
                303 => counted += 1,
                429 => *question = Some(held),
                status => panic!("{status}"),
            }
        }
    }
    counted
}

#[test]
fn h197_many_sources_of_one_network_answer_one_after_the_other() {
    let origin = Origin::start();
    let speed = 60;
    let gate = Gate::with(&origin, fast(speed, ""));
    let counted = of_network(&gate, speed);
    say(&format!(
        "64 addresses of a /24, ten minutes: {counted} clearances"
    ));
    assert!((10..=60).contains(&counted), "{counted}");
    let open = "without = [\"question_turns\", \"question_wait\"]";
    let gate = Gate::with(&origin, fast(speed, open));
    let open = of_network(&gate, speed);
    say(&format!("without turns: {open}"));
    assert!(open > 20 * counted, "{open}");
}
