//! Paths of signed-in people: who reads is never a suspect, who crawls meets a question made for people, and the second time little more
//! than that. Requests say when they were sent, so that a month passes in seconds.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use cattlegrid_worlds::forum::Forum;
use cattlegrid_worlds::forum::Links;
use cattlegrid_worlds::forum::Role;
use cattlegrid_worlds::forum::View;

use crate::harness::Answer;
use crate::harness::Client;
use crate::harness::Gate;
use crate::harness::Got;
use crate::harness::Metrics;
use crate::harness::Origin;
use crate::harness::Wanted;
use crate::harness::get_from;
use crate::harness::request;
use crate::harness::say;
use crate::harness::wait_for;
use crate::markers::html;
use crate::markers::links;
use crate::markers::links_to;
use crate::sign_in::cookie;
use crate::sign_in::key_file;
use crate::sign_in::lines;
use crate::solve::Puzzle;
use crate::without_javascript::Asked;
use crate::without_javascript::asked;

const HOST: &str = "http://www.example.org";
/// No limit but those of suspects.
pub(crate) const NO_PACE: &str =
    "[policy]\nuser_pages = 100000\nuser_pages_a_minute = 60000\nuser_burst = 60000\n";
/// Monday, 7 January 2030.
const START_MS: u64 = 1_893_974_400_000;
pub(crate) const SECRET: &str = "0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0";

/// A gate whose users are named by the server before it.
pub(crate) fn gate(origin: &Origin, lines: &str, paths: &str) -> Gate {
    Gate::with(origin, wanted(lines, paths))
}

pub(crate) fn wanted(lines: &str, paths: &str) -> Wanted {
    let mode = match paths.contains("mode") {
        true => "",
        false => "mode = \"act\"\n",
    };
    let parts = format!(
        "{NO_PACE}[gate.markers]\nstyle = \"query\"\n[gate.sign_in.header]\nfield = \"X-Remote-User\"\n[gate.paths]\n{mode}zone = \"UTC\"\n{paths}\n"
    );
    Wanted {
        gate: format!("trusted_proxies = [\"127.0.0.1\"]\n{lines}\n"),
        parts,
        ..Wanted::default()
    }
}

/// A browser of a signed-in user, with a clock of its own.
pub(crate) struct Browser {
    client: Client,
    /// What tells who is signed in, and by which browser.
    fields: Vec<(String, String)>,
    pub(crate) at_ms: u64,
    /// Where the gate tells how many requests its table has not noted yet.
    metrics: Metrics,
}

impl Browser {
    pub(crate) fn of(gate: &Gate, user: &str) -> Browser {
        Browser::with(gate, &[("X-Remote-User", user)])
    }

    pub(crate) fn with(gate: &Gate, fields: &[(&str, &str)]) -> Browser {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Browser {
            client: Client::connect("127.0.0.1", gate.address).unwrap(),
            fields: fields.iter().map(owned).collect(),
            at_ms: START_MS,
            metrics: gate.metrics(),
        }
    }

    pub(crate) fn send(
        &mut self,
        method: &str,
        target: &str,
        more: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        let time = self.at_ms.to_string();
        let mut headers: Vec<(&str, &str)> = vec![("X-Test-Time-Ms", &time)];
        headers.extend(self.fields.iter().map(|(name, value)| (&**name, &**value)));
        headers.extend(more);
        let length = body.len().to_string();
        if method == "POST" {
            headers.push(("Content-Length", &length));
        }
        let bytes = request(method, target, &headers);
        self.client
            .send(&[&bytes[..], body.as_bytes()].concat())
            .unwrap();
        self.client.answer(false).unwrap()
    }

    pub(crate) fn get(&mut self, target: &str, from: Option<&str>) -> Answer {
        let referrer = from.map(|page| format!("{HOST}{page}"));
        let fields: Vec<(&str, &str)> = referrer.iter().map(|page| ("Referer", &**page)).collect();
        self.send("GET", target, &fields, "")
    }

    /// Waits until the table has noted what was requested: a program fetches hundreds of pages while a slow disk takes the table.
    fn wait_until_noted(&self) {
        wait_for("the table has noted the requests", || {
            self.metrics.get("cattlegrid_user_requests_waiting") == Some(0.0)
        });
    }

    /// Answers the question of a page; the cookie that came with it goes along.
    pub(crate) fn answer(&mut self, page: &Answer, form: &str) -> Answer {
        let set = page.header("set-cookie");
        if let Some(cookie) = set.as_deref().and_then(|set| set.split(';').next()) {
            let known = self.fields.iter_mut().find(|(name, _)| name == "Cookie");
            match known {
                Some((_, cookies)) => *cookies = format!("{cookies}; {cookie}"),
                None => self.fields.push(("Cookie".to_owned(), cookie.to_owned())),
            }
        }
        self.send("POST", "/.cattlegrid/question", &[], form)
    }
}

/// A link without its marker.
fn clean(link: &str) -> &str {
    let at = link.find("cg=").map_or(link.len(), |at| at - 1);
    &link[..at]
}

/// True for the page with a question for a suspect.
pub(crate) fn is_question(answer: &Answer) -> bool {
    let text = answer.text();
    answer.status == 403 && text.contains("with your account") && Asked::of(&text).is_some()
}

/// Pages of the small site.
const PAGES: u64 = 5000;

/// A site of pages that each link to five others, and to the first.
pub(crate) fn tree() -> Origin {
    Origin::answering(Box::new(|got: &Got| {
        let number = got
            .target()
            .trim_start_matches("/p/")
            .parse::<u64>()
            .unwrap_or(0);
        let below = (1..=5).map(|child| format!("/p/{}", (5 * number + child) % PAGES));
        let all: Vec<String> = ["/".to_owned()].into_iter().chain(below).collect();
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        Some(html(&links_to(&all)))
    }))
}

/// Follows links, the deepest first, a page every two seconds.
pub(crate) struct DepthFirst {
    found: Vec<(String, String)>,
    seen: BTreeSet<String>,
}

impl DepthFirst {
    pub(crate) fn new() -> DepthFirst {
        DepthFirst {
            found: vec![("/".to_owned(), "/".to_owned())],
            seen: BTreeSet::from(["/".to_owned()]),
        }
    }

    /// Loads so many pages, or until something else comes; gives how many it got, and what else came.
    pub(crate) fn crawl(&mut self, browser: &mut Browser, pages: usize) -> (usize, Option<Answer>) {
        for got in 0..pages {
            let (link, from) = self.found.pop().unwrap();
            browser.at_ms += 2000;
            let answer = browser.get(&link, Some(&from));
            browser.wait_until_noted();
            if answer.status != 200 {
                self.found.push((link, from));
                return (got, Some(answer));
            }
            for next in links(&answer.text()).into_iter().rev() {
                if self.seen.insert(clean(&next).to_owned()) {
                    self.found.push((next, clean(&link).to_owned()));
                }
            }
        }
        (pages, None)
    }
}

fn suspicions(gate: &Gate) -> Vec<(&'static str, f64)> {
    let causes = ["depth-first", "breadth-first", "random-like", "oddities"];
    let count = |cause: &'static str| {
        let name = format!("cattlegrid_user_suspicions_total{{cause=\"{cause}\"}}");
        (cause, gate.metric(&name).unwrap())
    };
    causes.map(count).to_vec()
}

fn odd(gate: &Gate, kind: &str) -> f64 {
    let name = format!("cattlegrid_user_odd_requests_total{{kind=\"{kind}\"}}");
    gate.metric(&name).unwrap()
}

const KINDS: [&str; 6] = [
    "other_user",
    "broken",
    "unmarked",
    "referrer",
    "client",
    "fast",
];

/// How the views of a world lead from page to page: what each page links to.
pub(crate) fn site_of(views: &[View]) -> Origin {
    let mut led: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for view in views {
        if let Some(parent) = view.parent() {
            led.entry(parent).or_default().insert(view.target());
        }
    }
    let pages: BTreeMap<String, Vec<u8>> = led
        .into_iter()
        .map(|(page, targets)| {
            let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
            (page, html(&links_to(&targets)))
        })
        .collect();
    Origin::answering(Box::new(move |got: &Got| {
        let page = pages.get(got.target()).cloned();
        Some(page.unwrap_or_else(|| html("nothing leads on from here")))
    }))
}

/// Does what an account of a world does, in a real browser's manner; gives the answer that was no page, and after how many.
pub(crate) fn replay(gate: &Gate, account: &str, views: &[View]) -> (usize, Option<Answer>) {
    let mut browser = Browser::of(gate, account);
    let mut shown: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for (number, view) in views.iter().enumerate() {
        browser.at_ms = view.at_ms;
        let (target, parent) = (view.target(), view.parent());
        let on_page = parent.as_ref().and_then(|parent| shown.get(parent));
        let link = on_page.and_then(|links| links.get(&target));
        let link = link.unwrap_or(&target).clone();
        let answer = browser.get(&link, parent.as_deref());
        browser.wait_until_noted();
        if answer.status != 200 {
            return (number, Some(answer));
        }
        let found = links(&answer.text());
        let found = found
            .into_iter()
            .map(|link| (clean(&link).to_owned(), link));
        shown.insert(target, found.collect());
    }
    (views.len(), None)
}

/// The views of one account of each kind.
pub(crate) fn of_kinds(
    forum: &Forum,
    is_meant: impl Fn(Role) -> bool,
    most: usize,
) -> Vec<(String, &'static str, Vec<View>)> {
    let mut kinds = BTreeSet::new();
    let mut found = Vec::new();
    for (number, account) in forum.accounts.iter().enumerate() {
        if is_meant(account.role) && kinds.insert(account.kind) {
            let own = forum
                .views
                .iter()
                .filter(|view| view.account as usize == number);
            let views: Vec<View> = own.take(most).cloned().collect();
            found.push((account.name.clone(), account.kind, views));
        }
    }
    found
}

#[test]
fn people_who_read_are_never_suspects() {
    let forum = Forum::new(61, Links::Marked);
    let people = of_kinds(&forum, |role| role == Role::Person, 240);
    assert_eq!(people.len(), 8);
    let all: Vec<View> = people
        .iter()
        .flat_map(|(_, _, views)| views.clone())
        .collect();
    let origin = site_of(&all);
    let gate = gate(&origin, "", "");
    for (name, kind, views) in &people {
        let (read, stopped) = replay(&gate, name, views);
        assert_eq!(
            read,
            views.len(),
            "{kind}: {:?}",
            stopped.map(|answer| answer.head)
        );
    }
    wait_for("all are known", || {
        gate.metric("cattlegrid_users") == Some(8.0)
    });
    let found: f64 = suspicions(&gate).iter().map(|(_, count)| count).sum();
    assert_eq!(found, 0.0, "{:?}", suspicions(&gate));
    let counts = KINDS.map(|kind| format!("{kind} {}", odd(&gate, kind)));
    say(&format!(
        "eight readers, {} pages: odd requests {}",
        all.len(),
        counts.join(", ")
    ));
}

#[test]
fn crawlers_of_every_kind_become_suspects() {
    let forum = Forum::new(62, Links::Marked);
    let crawlers = of_kinds(&forum, |role| role != Role::Person, 300);
    assert!(crawlers.len() >= 7, "{}", crawlers.len());
    let all: Vec<View> = crawlers
        .iter()
        .flat_map(|(_, _, views)| views.clone())
        .collect();
    let origin = site_of(&all);
    let caught = |lines: &str| -> Vec<(usize, bool)> {
        let gate = gate(&origin, lines, "");
        let runs = crawlers.iter().map(|(name, kind, views)| {
            let (read, stopped) = replay(&gate, name, views);
            let is_asked = stopped.as_ref().is_some_and(is_question);
            if lines.is_empty() {
                say(&format!(
                    "{kind}: {} after {read} pages",
                    if is_asked { "asked" } else { "missed" }
                ));
            }
            (read, is_asked)
        });
        let runs = runs.collect();
        assert!(!gate.stderr().contains("panicked"));
        runs
    };
    for (read, is_asked) in caught("") {
        assert!(is_asked && read < 200, "{read}");
    }
    let free = caught("without = [\"user_paths\"]");
    assert!(free.iter().all(|(_, is_asked)| !is_asked), "{free:?}");
}

/// Crawls until the gate stops it, answers, and goes on until it is stopped again.
#[test]
fn a_crawler_is_asked_solves_and_is_throttled_the_second_time() {
    let origin = tree();
    let key = key_file(SECRET);
    let parts = format!(
        "{NO_PACE}[gate.markers]\nstyle = \"query\"\n[gate.sign_in.hmac]\ncookie = \"who\"\nkey_file = \"{}\"\n[gate.paths]\nmode = \"act\"\n",
        key.display()
    );
    let mut gate = Gate::set(&origin, "", &parts);
    let before = gate.before();
    let who = format!("who={}", cookie(&key, "*", "alice", 3600));
    let mut browser = Browser::with(&gate, &[("Cookie", &who)]);
    let mut crawler = DepthFirst::new();
    let (read, page) = crawler.crawl(&mut browser, 300);
    let page = page.unwrap();
    assert!(
        is_question(&page) && (55..200).contains(&read),
        "{read} {}",
        page.text()
    );
    assert!(!page.text().contains("challenge."), "no script, no work");
    // Other people, and parts of pages, are not affected.
    assert_eq!(get_from("127.0.0.3", gate.address, "/", &[]).status, 200);
    assert_eq!(browser.get("/style.css", None).status, 200);
    // A wrong answer, and then all numbers at once.
    let question = asked(&page);
    let wrong = question.form().replace("answer=", "answer=9");
    let again = browser.answer(&page, &wrong);
    assert!(is_question(&again), "{}", again.text());
    let form = asked(&again).form();
    let guesses: Vec<u16> = (100..110)
        .map(|number| {
            let guess = format!("{}&answer={number}", form.split('&').next().unwrap());
            browser
                .send("POST", "/.cattlegrid/question", &[], &guess)
                .status
        })
        .collect();
    assert!(guesses.contains(&429), "{guesses:?}");
    assert!(is_question(&browser.get("/p/7", None)), "still a suspect");
    wait_for("the next turn", || {
        let page = browser.get("/p/7", None);
        assert!(is_question(&page));
        let solved = browser.answer(&page, &asked(&page).form());
        assert!([303, 429].contains(&solved.status), "{}", solved.head);
        solved.status == 303 && solved.header("location").as_deref() == Some("/p/7")
    });
    assert_eq!(browser.get("/p/7", None).status, 200, "a normal user");
    let (read, page) = crawler.crawl(&mut browser, 300);
    let page = page.unwrap();
    assert!((55..200).contains(&read), "{read}");
    assert_eq!(page.status, 429, "{}", page.text());
    let seconds: u32 = page.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=30).contains(&seconds), "{seconds}");
    let log = lines(&gate, "/", 1);
    let of = |reason: &str| log.iter().filter(|line| line["reason"] == reason).count();
    assert!(of("suspect_user") >= 2, "{log:?}");
    wait_for("the refusal is in the log", || {
        lines(&gate, "/", 1)
            .iter()
            .any(|line| line["reason"] == "throttled_user" && line["incident"].is_string())
    });
    wait_for("the owner is told", || {
        gate.stderr().contains("is throttled")
    });
    assert!(!gate.stderr().contains("alice"));
    wait_for("one is throttled", || {
        gate.metric("cattlegrid_throttled_users") == Some(1.0)
    });
    owner_forgives(&gate, &mut browser);
    gate.check_after(&before);
}

/// The owner looks who is throttled, and lets go.
fn owner_forgives(gate: &Gate, browser: &mut Browser) {
    wait_for("the table is saved", || {
        let list = gate.command(&["paths", "users", "--config"], "gate.toml");
        list.contains("alice  throttled since") && list.contains("crawler")
    });
    let said = gate.command(&["paths", "forgive", "alice", "--config"], "gate.toml");
    assert!(said.contains("normal user"), "{said}");
    wait_for("the gate has heard of it", || {
        gate.metric("cattlegrid_throttled_users") == Some(0.0)
    });
    // The pages of a day and the pace are those of everybody again.
    let statuses: Vec<u16> = (0..20)
        .map(|page| browser.get(&format!("/p/{page}"), None).status)
        .collect();
    assert_eq!(statuses, [200; 20]);
    wait_for("nobody is listed", || {
        gate.command(&["paths", "users", "--config"], "gate.toml")
            .contains(" 0 of them")
    });
}

/// Work is what programs do best.
#[test]
fn work_makes_nobody_a_normal_user() {
    let origin = tree();
    let freed = |lines: &str| {
        let gate = gate(&origin, lines, "");
        let mut browser = Browser::of(&gate, "alice");
        let (_, page) = DepthFirst::new().crawl(&mut browser, 300);
        let page = page.unwrap();
        let asked = asked(&page);
        let form = asked.form();
        let token = form
            .strip_prefix("token=")
            .unwrap()
            .split('&')
            .next()
            .unwrap();
        let puzzle = Puzzle {
            token: token.to_owned(),
            seed: String::new(),
            bits: 1,
        };
        let cookie = page.header("set-cookie").unwrap();
        let cookie = cookie.split(';').next().unwrap().to_owned();
        browser.fields.push(("Cookie".to_owned(), cookie));
        browser.send("POST", "/.cattlegrid/answer", &[], &puzzle.solve());
        browser.get("/p/3", None).status == 200
    };
    assert!(!freed(""));
    assert!(freed("without = [\"personal_answer\"]"));
}

#[test]
fn workers_of_one_account_that_share_links_are_noticed() {
    let origin = tree();
    let gate = gate(&origin, "", "");
    let agents: Vec<String> = (0..5)
        .map(|worker| format!("Mozilla/5.0 (X11; Linux) Worker/{worker}"))
        .collect();
    let mut workers: Vec<Browser> = agents
        .iter()
        .map(|agent| Browser::with(&gate, &[("X-Remote-User", "alice"), ("User-Agent", agent)]))
        .collect();
    // Each takes what the one before it has found, at the pace of people.
    let mut crawler = DepthFirst::new();
    let mut read = 0;
    let stopped = loop {
        let worker = &mut workers[read % 5];
        worker.at_ms = START_MS + 20_000 * read as u64;
        let (got, page) = crawler.crawl(worker, 1);
        read += got;
        match page {
            Some(page) => break page,
            None => assert!(read < 100),
        }
    };
    assert!(is_question(&stopped), "{}", stopped.text());
    assert!(odd(&gate, "client") >= 30.0, "{}", odd(&gate, "client"));
    say(&format!(
        "five workers of one account: asked after {read} pages"
    ));
}

#[test]
fn shared_links_cost_nobody_anything_unless_there_are_many() {
    let origin = tree();
    let gate = gate(&origin, "", "");
    let mut alice = Browser::of(&gate, "alice");
    let page = links(&alice.get("/", None).text());
    // One link, sent to an office of 300.
    for number in 0..300 {
        let mut colleague = Browser::of(&gate, &format!("colleague{number}"));
        assert_eq!(colleague.get(&page[1], None).status, 200);
    }
    let mut bob = Browser::of(&gate, "bob");
    let step = |browser: &mut Browser, link: &str| {
        browser.at_ms += 60_000;
        browser.get(link, None)
    };
    for link in page.iter().take(5) {
        assert_eq!(step(&mut bob, link).status, 200);
    }
    wait_for("all are noted", || odd(&gate, "other_user") == 305.0);
    assert_eq!(gate.metric("cattlegrid_suspect_users"), Some(0.0));
    // Bob goes on with links that were shown to Alice.
    let mut stopped = None;
    for number in 0..40 {
        let next = links(&step(&mut alice, &page[1 + number % 5]).text());
        let answer = step(&mut bob, &next[number % 6]);
        if answer.status != 200 {
            stopped = Some((number, answer));
            break;
        }
        wait_for("it is noted", || {
            odd(&gate, "other_user") == 306.0 + number as f64
        });
    }
    let (number, answer) = stopped.unwrap();
    assert!(is_question(&answer), "{}", answer.text());
    assert_eq!(number, 25, "thirty of a day");
    assert_eq!(step(&mut alice, &page[1]).status, 200, "Alice did nothing");
    wait_for("there is one suspect", || {
        gate.metric("cattlegrid_suspect_users") == Some(1.0)
    });
}

#[test]
fn to_watch_changes_nothing() {
    let origin = tree();
    for (lines, paths) in [("mode = \"shadow\"", ""), ("", "mode = \"watch\"")] {
        let gate = gate(&origin, lines, paths);
        let mut browser = Browser::of(&gate, "alice");
        let (read, stopped) = DepthFirst::new().crawl(&mut browser, 250);
        assert_eq!((read, stopped.is_none()), (250, true), "{lines}{paths}");
        wait_for("a suspect is noted", || {
            gate.metric("cattlegrid_suspect_users") == Some(1.0)
        });
        let log = lines_of(&gate, 250);
        let would = log
            .iter()
            .filter(|line| line["would"] == "challenge")
            .count();
        assert!((150..=195).contains(&would), "{would}");
        assert!(log.iter().all(|line| line["decision"] == "pass"));
    }
    let gate = gate(&origin, "", "mode = \"off\"");
    DepthFirst::new().crawl(&mut Browser::of(&gate, "alice"), 100);
    assert_eq!(gate.metric("cattlegrid_users"), Some(0.0));
    assert!(!gate.path("state/users.jsonl").exists());
}

fn lines_of(gate: &Gate, count: usize) -> Vec<serde_json::Value> {
    lines(gate, "/", count)
}

/// A browser names the page with the link as the referrer of where a redirect leads.
#[test]
fn redirects_after_links_and_forms_are_not_odd() {
    let origin = Origin::answering(Box::new(|got: &Got| {
        let to = match got.target() {
            "/last" => "/thread/9",
            "/reply" => "/thread/1",
            _ => {
                return Some(html(
                    "<a href=\"/last\">x</a><form method=post action=\"/reply\"></form>",
                ));
            }
        };
        Some(
            format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n")
                .into_bytes(),
        )
    }));
    let gate = gate(&origin, "", "");
    let mut browser = Browser::of(&gate, "alice");
    // Fewer pages than make a long session.
    for number in 0..15 {
        browser.at_ms += 60_000;
        let page = format!("/list/{number}");
        // Each list is typed; ten of them, and three of ten more, are free.
        let shown = browser.get(&page, None);
        let link = links(&shown.text()).remove(0);
        let led = browser.get(&link, Some(&page));
        assert_eq!(led.status, 302);
        browser.get(&led.header("location").unwrap(), Some(&page));
        let form = shown.text();
        let action = form
            .split("action=\"")
            .nth(1)
            .unwrap()
            .split('"')
            .next()
            .unwrap();
        let referrer = format!("{HOST}{page}");
        let posted = browser.send("POST", action, &[("Referer", &referrer)], "");
        assert_eq!(posted.status, 302);
        let shown = browser.get(&posted.header("location").unwrap(), Some(&page));
        assert_eq!(shown.status, 200);
    }
    wait_for("all is noted", || {
        gate.metric("cattlegrid_users") == Some(1.0)
    });
    let counts = KINDS.map(|kind| odd(&gate, kind));
    assert_eq!(
        [counts[0], counts[1], counts[3], counts[4]],
        [0.0; 4],
        "{counts:?}"
    );
}

/// Only the server before the gate says who is signed in.
#[test]
fn a_name_in_a_header_is_believed_from_trusted_proxies_alone() {
    let origin = tree();
    let gate = gate(&origin, "", "");
    let marked = |source: &str, names: &[(&str, &str)]| {
        get_from(source, gate.address, "/", names)
            .text()
            .contains("cg=")
    };
    assert!(marked("127.0.0.1", &[("X-Remote-User", "alice")]));
    assert!(!marked("127.0.0.2", &[("X-Remote-User", "alice")]));
    assert!(!marked("127.0.0.1", &[]));
    let two = [("X-Remote-User", "alice"), ("X-Remote-User", "bob")];
    assert!(!marked("127.0.0.1", &two));
    let careless = self::gate(&origin, "without = [\"trust\"]", "");
    let answer = get_from(
        "127.0.0.2",
        careless.address,
        "/",
        &[("X-Remote-User", "alice")],
    );
    assert!(answer.text().contains("cg="));
}
