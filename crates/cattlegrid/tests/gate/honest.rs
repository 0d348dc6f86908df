//! Ten thousand page views of people through the running gate in one of its days: nobody is denied, and hardly anybody is challenged.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;
use std::time::Instant;

use crate::day::Chance;
use crate::day::denied;
use crate::day::is_challenge;
use crate::harness::Gate;
use crate::harness::Origin;
use crate::harness::Wanted;
use crate::harness::page;
use crate::harness::say;
use crate::harness::wait_for;
use crate::solve::Browser;

/// A midnight.
const START: u32 = 1_893_456_000;
/// A day in thirty-six seconds.
const SPEED: u32 = 2400;
const THREADS: usize = 6;
const VIEWS: usize = 2_000;

/// What is special about a person, or about where the person is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Plain,
    /// Sends no referrer, asks not to be tracked, and forgets cookies after each visit.
    Private,
    NoReferrer,
    /// A hundred people with the same computers behind one address.
    Office,
    /// Phones that share eight addresses of one network, another one at each visit.
    CarrierNat,
}

const KINDS: [Kind; 5] = [
    Kind::Plain,
    Kind::Private,
    Kind::NoReferrer,
    Kind::Office,
    Kind::CarrierNat,
];

/// A browser as its requests show it over HTTPS.
#[derive(Debug, Clone, Copy)]
enum Browsing {
    Chrome,
    Firefox,
    Safari,
    Phone,
}

const CHROME: &str = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36";
const FIREFOX: &str =
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0";
const SAFARI: &str = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15";
const PHONE: &str = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1";
const BRANDS: &str =
    "\"Chromium\";v=\"140\", \"Not=A?Brand\";v=\"24\", \"Google Chrome\";v=\"140\"";

/// What a request asks for, as `Sec-Fetch-Dest` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wants {
    Page,
    Style,
    Script,
    Image,
}

/// Someone, and the pages that this person reads: the second of the day, the number of the visit, the page.
struct Person {
    kind: Kind,
    browsing: Browsing,
    addresses: Vec<String>,
    plan: Vec<(u32, u32, u32)>,
}

/// What became of the people of one kind.
#[derive(Debug, Default, Clone)]
struct Fate {
    people: usize,
    visits: usize,
    views: usize,
    refused: usize,
    /// Visits with a challenge.
    challenged: usize,
    /// The most challenges that one person met.
    most: usize,
}

/// The pages of a visit. Visits on real sites follow an inverse Gaussian distribution (Huberman and others, 1998): drawn from its
/// quantiles for a mean of 3 and a variance of 6.2.
fn length(chance: &mut Chance) -> u32 {
    const QUANTILES: [u32; 40] = [
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 4, 4,
        4, 4, 5, 5, 6, 6, 7, 8, 10, 14,
    ];
    QUANTILES[chance.below(40) as usize]
}

/// The visits of one person, up to so many pages a day.
fn plan(chance: &mut Chance, pages: u32) -> Vec<(u32, u32, u32)> {
    let (mut plan, mut visit) = (Vec::new(), 0);
    while (plan.len() as u32) < pages {
        let mut time = 7 * 3600 + chance.below(15 * 3600);
        for _ in 0..length(chance) {
            plan.push((time, visit, chance.below(400)));
            // From seconds to minutes, seldom long.
            time += 8 + chance.below(30) * (1 + chance.below(12));
        }
        visit += 1;
    }
    plan.sort_unstable();
    plan
}

fn people() -> Vec<Person> {
    let mut chance = Chance(11);
    let mut people = Vec::new();
    for kind in KINDS {
        let (mut views, mut number) = (0, 0);
        while views < VIEWS {
            let (addresses, pages) = match kind {
                Kind::Plain | Kind::Private | Kind::NoReferrer => {
                    let block = 18 + kind as u32 % 2;
                    let at = kind as u32 * 1_000 + number;
                    (vec![format!("198.{block}.{}.{}", at / 20, 7 + at % 20)], 1)
                }
                Kind::Office => (vec!["203.0.113.9".to_owned()], 18),
                Kind::CarrierNat => {
                    let all = (0..8).map(|at| format!("192.0.2.{}", 16 + at));
                    (all.collect(), 5)
                }
            };
            let browsing = match (kind, number % 4) {
                (Kind::CarrierNat, _) => Browsing::Phone,
                (Kind::Office, _) | (_, 0 | 1) => Browsing::Chrome,
                (_, 2) => Browsing::Firefox,
                _ => Browsing::Safari,
            };
            let plan = plan(&mut chance, pages);
            (views, number) = (views + plan.len(), number + 1);
            people.push(Person {
                kind,
                browsing,
                addresses,
                plan,
            });
        }
    }
    people
}

/// The header fields of a request, in the browser's order.
fn headers<'a>(
    person: &Person,
    wants: Wants,
    referrer: Option<&'a str>,
) -> Vec<(&'a str, &'a str)> {
    let (dest, accept) = match wants {
        Wants::Page => (
            "document",
            "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
        ),
        Wants::Style => ("style", "text/css,*/*;q=0.1"),
        Wants::Script => ("script", "*/*"),
        Wants::Image => ("image", "image/avif,image/webp,*/*;q=0.8"),
    };
    let mode = if wants == Wants::Page {
        "navigate"
    } else {
        "no-cors"
    };
    // A page that is opened anew comes from nowhere; a click within the site says so also where no referrer is sent.
    let is_first = wants == Wants::Page && referrer.is_none();
    let site = if is_first { "none" } else { "same-origin" };
    let referrer = referrer.filter(|_| !matches!(person.kind, Kind::Private | Kind::NoReferrer));
    let agent = match person.browsing {
        Browsing::Chrome => CHROME,
        Browsing::Firefox => FIREFOX,
        Browsing::Safari => SAFARI,
        Browsing::Phone => PHONE,
    };
    let mut sent = vec![("Host", "www.example.org")];
    if matches!(person.browsing, Browsing::Chrome) {
        sent.extend([
            ("Connection", "keep-alive"),
            ("sec-ch-ua", BRANDS),
            ("sec-ch-ua-mobile", "?0"),
            ("sec-ch-ua-platform", "\"Windows\""),
        ]);
    }
    sent.extend([("User-Agent", agent), ("Accept", accept)]);
    if !matches!(person.browsing, Browsing::Chrome) {
        sent.push(("Accept-Language", "en-US,en;q=0.5"));
    }
    sent.extend([
        ("Sec-Fetch-Site", site),
        ("Sec-Fetch-Mode", mode),
        ("Sec-Fetch-Dest", dest),
    ]);
    if person.kind == Kind::Private {
        sent.extend([("DNT", "1"), ("Sec-GPC", "1")]);
    }
    sent.extend(referrer.map(|referrer| ("Referer", referrer)));
    sent.push(("Accept-Encoding", "gzip, deflate, br, zstd"));
    if matches!(person.browsing, Browsing::Chrome) {
        sent.push(("Accept-Language", "en-US,en;q=0.9"));
    }
    sent
}

/// A person at a browser while the day goes on.
struct Reader<'a> {
    person: &'a Person,
    browser: Browser,
    visit: Option<u32>,
    /// The page that is open.
    open: Option<String>,
    /// Visits with a challenge, and the one that was counted last.
    challenged: Vec<u32>,
    challenges: usize,
    refused: usize,
}

impl Reader<'_> {
    fn new<'a>(gate: &Gate, person: &'a Person) -> Reader<'a> {
        Reader {
            person,
            browser: Browser::new("127.0.0.1", gate.address),
            visit: None,
            open: None,
            challenged: Vec::new(),
            challenges: 0,
            refused: 0,
        }
    }

    /// Reads one page: solves a challenge that comes, and loads the parts of the page.
    fn read(&mut self, visit: u32, number: u32) {
        if self.visit != Some(visit) {
            (self.visit, self.open) = (Some(visit), None);
            if self.person.kind == Kind::Private {
                self.browser.cookies.clear();
            }
            let addresses = &self.person.addresses;
            let address = &addresses[(number + visit) as usize % addresses.len()];
            self.browser.headers = vec![
                ("X-Forwarded-For".to_owned(), address.clone()),
                ("X-Forwarded-Proto".to_owned(), "https".to_owned()),
            ];
        }
        let path = format!("/page{number}");
        let before = self.open.clone();
        let sent = headers(self.person, Wants::Page, before.as_deref());
        let mut answer = self.browser.send("GET", &path, &sent, "");
        if is_challenge(&answer) {
            self.challenges += 1;
            if self.challenged.last() != Some(&visit) {
                self.challenged.push(visit);
            }
            self.browser
                .headers
                .push(("User-Agent".to_owned(), sent_agent(&sent)));
            self.browser.clear(&answer).unwrap();
            self.browser.headers.pop();
            answer = self.browser.send("GET", &path, &sent, "");
        }
        self.refused += usize::from(answer.status != 200);
        let shown = format!("https://www.example.org{path}");
        for (part, wants) in [
            ("/style.css", Wants::Style),
            ("/site.js", Wants::Script),
            ("/logo.png", Wants::Image),
        ] {
            let sent = headers(self.person, wants, Some(&shown));
            self.browser.send("GET", part, &sent, "");
        }
        self.open = Some(shown);
    }
}

fn sent_agent(sent: &[(&str, &str)]) -> String {
    let agent = sent.iter().find(|(name, _)| *name == "User-Agent");
    agent.map_or_else(String::new, |(_, agent)| (*agent).to_owned())
}

/// Lets a share of the people read, each page when it is time to.
fn read(gate: &Gate, share: &[&Person], started: Instant, fates: &Mutex<BTreeMap<Kind, Fate>>) {
    let mut readers: Vec<Reader<'_>> = share
        .iter()
        .map(|person| Reader::new(gate, person))
        .collect();
    let mut events: Vec<(u32, usize, u32, u32)> = Vec::new();
    for (at, person) in share.iter().enumerate() {
        let plan = person.plan.iter();
        events.extend(plan.map(|(time, visit, page)| (*time, at, *visit, *page)));
    }
    events.sort_unstable();
    for (time, at, visit, page) in events {
        let due = started + Duration::from_millis(u64::from(time) * 1000 / u64::from(SPEED));
        thread::sleep(due.saturating_duration_since(Instant::now()));
        readers[at].read(visit, page);
    }
    let mut fates = fates.lock().unwrap();
    for reader in readers {
        let (plan, fate) = (
            &reader.person.plan,
            fates.entry(reader.person.kind).or_default(),
        );
        fate.people += 1;
        fate.visits += 1 + plan.iter().map(|(_, visit, _)| *visit).max().unwrap_or(0) as usize;
        fate.views += plan.len();
        fate.refused += reader.refused;
        fate.challenged += reader.challenged.len();
        fate.most = fate.most.max(reader.challenges);
    }
}

#[test]
fn ten_thousand_page_views_of_people_bring_no_denial() {
    let origin = Origin::answering(Box::new(|got| {
        Some(match got.target().starts_with("/page") {
            true => page("<title>a page</title>"),
            false => b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 4\r\n\r\nabcd"
                .to_vec(),
        })
    }));
    let gate = Gate::with(
        &origin,
        Wanted {
            gate: format!(
                "trusted_proxies = [\"127.0.0.1\"]\njudge_minutes = 0.0125\nclock = {{ start = {START}, speed = {SPEED} }}\n"
            ),
            // The time to answer runs as fast as the clock.
            parts: "[gate.challenge]\nseconds = 86400\nbits = 4\n".to_owned(),
            ..Wanted::default()
        },
    );
    let (people, started) = (people(), Instant::now());
    let fates: Mutex<BTreeMap<Kind, Fate>> = Mutex::default();
    thread::scope(|scope| {
        for share in 0..THREADS {
            let share: Vec<&Person> = people.iter().skip(share).step_by(THREADS).collect();
            let (gate, fates) = (&gate, &fates);
            scope.spawn(move || read(gate, &share, started, fates));
        }
    });
    let judged = gate.metric("cattlegrid_judged_total");
    wait_for("the last requests are judged", || {
        gate.metric("cattlegrid_judged_total") > judged.map(|judged| judged + 1.0)
    });
    let fates = fates.into_inner().unwrap();
    say("people       people visits  views refused challenged  most");
    for (kind, fate) in &fates {
        let (kind, share) = (
            format!("{kind:?}"),
            100.0 * fate.challenged as f64 / fate.visits as f64,
        );
        say(&format!(
            "{kind:<12} {:>6} {:>6} {:>6} {:>7} {share:>8.2} % {:>5}",
            fate.people, fate.visits, fate.views, fate.refused, fate.most
        ));
    }
    assert!(fates.values().map(|fate| fate.views).sum::<usize>() >= 10_000);
    assert!(fates.values().all(|fate| fate.refused == 0), "refused");
    assert_eq!(denied(&gate.path("state/kb.sqlite")).len(), 0, "denied");
    let plain = &fates[&Kind::Plain];
    assert!(plain.challenged * 200 <= plain.visits, "{plain:?}");
    // With cookies, one challenge a day: where they are forgotten, one a visit.
    for kind in [
        Kind::Plain,
        Kind::NoReferrer,
        Kind::Office,
        Kind::CarrierNat,
    ] {
        assert!(fates[&kind].most <= 1, "{kind:?}: {:?}", fates[&kind]);
    }
}
