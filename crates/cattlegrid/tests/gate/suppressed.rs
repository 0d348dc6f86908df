//! What sealed links cost workers that crawl through a running gate, beside the simulation: Figures 4 and 5 of the PathMarker paper.
//!
//! `bench/suppression` runs this on the paper's site of 10,000 pages.

use std::collections::BTreeSet;
use std::env;
use std::sync::Barrier;
use std::sync::Condvar;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use cattlegrid_worlds::random::Random;
use cattlegrid_worlds::suppression::Crawler;
use cattlegrid_worlds::suppression::Plan;
use cattlegrid_worlds::suppression::Site;

use crate::harness::Client;
use crate::harness::Origin;
use crate::harness::page;
use crate::harness::say;
use crate::marking::Marking;

/// Links that one list keeps at most. They lead to random pages, so that it does not matter which of them are forgotten.
const LINKS_MAX: usize = 5000;
/// New pages after which Figure 4 looks at the efficiency.
const FIRST_PAGES: u32 = 100;
/// How long a worker without links waits before it looks whether all is done.
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// Simulated sites behind each value.
const RUNS: u32 = 20;

/// What workers know of each other's links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sharing {
    /// Nothing: each follows the links that it has found, which are sealed.
    Nothing,
    /// One list of all links that are new, told apart by path, for which they remove the markers.
    Paths,
}

/// The links that are yet to be followed.
#[derive(Debug, Default)]
struct Links {
    open: Vec<String>,
    seen: BTreeSet<String>,
}

impl Links {
    fn add(&mut self, links: Vec<String>, sharing: Sharing, random: &mut Random) {
        for link in links {
            let path = link.split(';').next().unwrap_or_default();
            if sharing == Sharing::Nothing || self.seen.insert(path.to_owned()) {
                self.open.push(link);
            }
        }
        while sharing == Sharing::Nothing && self.open.len() > LINKS_MAX {
            self.take(random);
        }
    }

    fn take(&mut self, random: &mut Random) -> Option<String> {
        let at = random.below(self.open.len() as u64) as usize;
        (at < self.open.len()).then(|| self.open.swap_remove(at))
    }
}

/// What all workers have downloaded.
#[derive(Debug)]
struct Progress {
    known: BTreeSet<u32>,
    downloads: u64,
    /// Numbers of different pages to look at, and the downloads that they took.
    goals: Vec<u32>,
    reached: Vec<u64>,
}

impl Progress {
    fn is_done(&self) -> bool {
        self.reached.len() == self.goals.len()
    }

    fn count(&mut self, number: u32) {
        if self.is_done() {
            return;
        }
        self.downloads += 1;
        self.known.insert(number);
        if self.known.len() as u32 == self.goals[self.reached.len()] {
            self.reached.push(self.downloads);
        }
    }
}

/// Workers that crawl a site through a gate.
struct Crawl<'a> {
    marking: &'a Marking,
    origin: &'a Origin,
    sharing: Sharing,
    progress: Mutex<Progress>,
    /// One list for all, or one for each worker.
    links: Vec<Mutex<Links>>,
    has_links: Condvar,
    /// As in the simulation, all workers have seen the home page before one of them goes on.
    have_begun: Barrier,
}

impl Crawl<'_> {
    /// Lets workers download until the last goal is reached. Gives what each goal took.
    fn run(
        marking: &Marking,
        origin: &Origin,
        workers: u32,
        sharing: Sharing,
        goals: &[u32],
    ) -> Vec<u64> {
        let lists = match sharing {
            Sharing::Nothing => workers,
            Sharing::Paths => 1,
        };
        let crawl = Crawl {
            marking,
            origin,
            sharing,
            progress: Mutex::new(Progress {
                known: BTreeSet::new(),
                downloads: 0,
                goals: goals.to_vec(),
                reached: Vec::new(),
            }),
            links: (0..lists).map(|_| Mutex::default()).collect(),
            has_links: Condvar::new(),
            have_begun: Barrier::new(workers as usize),
        };
        for links in &crawl.links {
            let start = vec!["/page/0".to_owned()];
            links
                .lock()
                .unwrap()
                .add(start, sharing, &mut Random::new(1, 1));
        }
        thread::scope(|scope| {
            for worker in 0..workers {
                let crawl = &crawl;
                scope.spawn(move || crawl.work(worker));
            }
        });
        crawl.progress.into_inner().unwrap().reached
    }

    fn is_done(&self) -> bool {
        self.progress.lock().unwrap().is_done()
    }

    fn work(&self, worker: u32) {
        let mut random = Random::new(7, u64::from(worker));
        let cookie = self.marking.cookie(&format!("worker{worker}"));
        let mut client = Client::connect("127.0.0.1", self.marking.gate.address).unwrap();
        let own = &self.links[worker as usize % self.links.len()];
        for downloads in 0_u64.. {
            if downloads == 1 && self.sharing == Sharing::Nothing {
                self.have_begun.wait();
            }
            let mut links = own.lock().unwrap();
            let link = loop {
                if self.is_done() {
                    return;
                }
                match links.take(&mut random) {
                    Some(link) => break link,
                    // Others are about to bring some.
                    None => links = self.has_links.wait_timeout(links, LOOK_AGAIN).unwrap().0,
                }
            };
            drop(links);
            let answer = client.get(&link, &[("Cookie", &cookie)]).unwrap();
            assert_eq!(answer.status, 200, "{link}: {}", answer.head);
            let (number, found) = read(&answer.text());
            own.lock().unwrap().add(found, self.sharing, &mut random);
            self.count(number);
            self.has_links.notify_all();
        }
    }

    fn count(&self, number: u32) {
        let mut progress = self.progress.lock().unwrap();
        progress.count(number);
        if progress.downloads.is_multiple_of(500) {
            // It records every byte.
            self.origin.forget();
        }
    }
}

/// The number of a page, which a worker sees when it has the page, and its links.
fn read(page: &str) -> (u32, Vec<String>) {
    let mut parts = page.split('"');
    let number = parts.nth(1).and_then(|number| number.parse().ok()).unwrap();
    // After each link comes the text up to the next.
    let links = parts.skip(1).step_by(2).map(str::to_owned);
    (number, links.collect())
}

/// The site over HTTP: links are drawn at each download, as in the simulation.
fn serve(plan: Plan) -> Origin {
    let random = Mutex::new(Random::new(3, 4));
    let site = Site::new(plan, &mut random.lock().unwrap());
    Origin::answering(Box::new(move |got| {
        let number = got.target().rsplit('/').next().unwrap_or_default();
        let links = site.links(&mut random.lock().unwrap());
        let links = links
            .iter()
            .map(|to| format!("<a href=\"/page/{to}\">x</a>"));
        Some(page(&format!(
            "<h1 id=\"{number}\">Page</h1>{}",
            links.collect::<String>()
        )))
    }))
}

/// The mean of what each goal takes in the simulation.
fn simulated(plan: Plan, workers: u32, goals: &[u32]) -> Vec<f64> {
    let mut sums = vec![0.0; goals.len()];
    for run in 0..RUNS {
        let random = &mut Random::new(5, u64::from(run));
        let site = Site::new(plan, random);
        let mut crawler = Crawler::new(&site, workers);
        for (sum, goal) in sums.iter_mut().zip(goals) {
            *sum += crawler.crawl(*goal, random).downloads as f64 / f64::from(RUNS);
        }
    }
    sums
}

/// One line of the table: what so many workers download for so many different pages, simulated and measured.
#[derive(Debug)]
struct Row {
    workers: u32,
    pages: u32,
    simulated: f64,
    sealed: f64,
    shared: u64,
}

/// The mean of so many crawls with sealed links, beside the simulation.
fn rows(plan: Plan, workers: u32, goals: &[u32], crawls: u32) -> Vec<Row> {
    let origin = serve(plan);
    // What is measured is the markers and not the limits.
    let start = |style: &str| Marking::start(&origin, style, "mode = \"shadow\"");
    let marking = start("path");
    let shared = Crawl::run(&marking, &origin, workers, Sharing::Paths, goals);
    drop(marking);
    let marking = start("sealed");
    let mut sealed = vec![0.0; goals.len()];
    for _ in 0..crawls {
        let took = Crawl::run(&marking, &origin, workers, Sharing::Nothing, goals);
        for (sum, took) in sealed.iter_mut().zip(took) {
            *sum += took as f64 / f64::from(crawls);
        }
    }
    let simulated = simulated(plan, workers, goals);
    let all = goals.iter().zip(simulated).zip(sealed).zip(shared);
    let row = |(((pages, simulated), sealed), shared): (((&u32, f64), f64), u64)| Row {
        workers,
        pages: *pages,
        simulated,
        sealed,
        shared,
    };
    all.map(row).collect()
}

fn write(rows: &[Row]) {
    say(
        "| workers | different pages | downloads simulated | sealed links, measured | ratio | duplicates | shared by path, measured |\n|---|---|---|---|---|---|---|",
    );
    for row in rows {
        let duplicates = 100.0 * (1.0 - f64::from(row.pages) / row.sealed);
        say(&format!(
            "| {} | {} | {:.0} | {:.0} | {:.2} | {duplicates:.1} % | {} |",
            row.workers,
            row.pages,
            row.simulated,
            row.sealed,
            row.sealed / row.simulated,
            row.shared
        ));
    }
}

#[test]
fn workers_with_sealed_links_load_pages_again_as_simulated() {
    let is_full = env::var_os("CATTLEGRID_SUPPRESSION").is_some();
    // Chance decides what a crawl takes: on the small site, one alone can take a quarter more than the mean.
    let (plan, many, crawls): (Plan, &[u32], u32) = match is_full {
        true => (Plan::PAPER, &[1, 2, 5, 20, 50, 100], 1),
        false => (SMALL, &[1], 5),
    };
    let share = |percent: u32| plan.pages * percent / 100;
    let shares: &[u32] = match is_full {
        true => &[10, 25, 50, 75, 90, 95],
        false => &[50, 75],
    };
    let mut all: Vec<Row> = many
        .iter()
        .flat_map(|workers| rows(plan, *workers, &[FIRST_PAGES], crawls))
        .collect();
    let goals: Vec<u32> = [FIRST_PAGES]
        .into_iter()
        .chain(shares.iter().map(|percent| share(*percent)))
        .collect();
    all.extend(rows(plan, 10, &goals, crawls));
    write(&all);
    for row in &all {
        let ratio = row.sealed / row.simulated;
        assert!((0.8..1.25).contains(&ratio), "{row:?}");
        // Workers that know where a link leads load nothing twice.
        assert_eq!(row.shared, u64::from(row.pages), "{row:?}");
    }
}

/// A site like the paper's, but smaller.
const SMALL: Plan = Plan {
    pages: 600,
    links: 40,
    fixed: 8,
    deviation: 200.0,
};
