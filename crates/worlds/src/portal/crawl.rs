//! The fetch loop of a crawler: when its scheduler lets it run, how long it waits, what it does on errors, what it fetches next.

use std::collections::VecDeque;
use std::rc::Rc;

use crate::random::Random;
use crate::scene::Hit;

use super::setting::Setting;
use super::site::Client;
use super::site::DAYS;
use super::site::END_MS;
use super::site::HOST;
use super::site::Page;
use super::site::mix;
use super::site::picture;

/// Seconds of the world.
pub(super) const END_S: f64 = END_MS as f64 / 1000.0;

/// A time in which the scheduler lets the loop run, until it has fetched so many pages.
#[derive(Debug, Clone)]
pub(super) struct Run {
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) quota: u32,
}

/// What the loop does between two fetches of a worker; all but the last scale with a mean in seconds.
#[derive(Debug, Clone, Copy)]
pub(super) enum Pause {
    Fixed,
    /// `sleep(random.uniform(a, b))`.
    Uniform,
    Exponential,
    /// As long as the answer took, times a factor: polite frameworks do that.
    Polite,
    /// Logarithmically normal, to look like reading.
    Reading,
    /// Batches without any wait, then a long sleep.
    Batches(u32),
}

/// A loop.
#[derive(Debug, Clone)]
pub(super) struct Loop {
    pub(super) runs: Vec<Run>,
    pub(super) workers: usize,
    pub(super) pause: Pause,
    /// Mean seconds of a pause.
    pub(super) mean_s: f64,
    /// Speed by hour of UTC, where somebody wrote such a table.
    pub(super) table: Option<[f64; 24]>,
    /// How often a fetch ends the program, until somebody or a supervisor starts it again after so many seconds on average.
    pub(super) crash: (f64, f64),
}

/// One fetch: seconds, and whether the site was down.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fetch {
    pub(super) at_s: f64,
    pub(super) down: bool,
}

impl Loop {
    fn wait(&self, at_s: f64, latency: f64, done: u32, random: &mut Random) -> f64 {
        let wait = match self.pause {
            Pause::Fixed => self.mean_s + 0.01 * random.unit(),
            Pause::Uniform => self.mean_s * random.between(0.5, 1.5),
            Pause::Exponential => random.exponential(self.mean_s),
            // The mean answer takes about 0.22 seconds.
            Pause::Polite => self.mean_s * latency / 0.22,
            Pause::Reading => self.mean_s * (0.8 * random.normal() - 0.32).exp(),
            Pause::Batches(size) if done.is_multiple_of(size) => {
                self.mean_s * f64::from(size) * random.between(0.8, 1.2)
            }
            Pause::Batches(_) => 0.0,
        };
        let speed = self
            .table
            .map_or(1.0, |table| table[(at_s / 3600.0) as usize % 24]);
        latency + wait / speed.max(0.02)
    }

    /// Lets the loop run through the days.
    pub(super) fn fetches(&self, setting: &Setting, random: &mut Random) -> Vec<Fetch> {
        let mut fetches = Vec::new();
        for run in &self.runs {
            // Workers start one after another.
            let mut workers: Vec<f64> = (0..self.workers)
                .map(|worker| run.from + worker as f64 * random.unit())
                .collect();
            let mut backoff = 5.0;
            let mut done = 0;
            while done < run.quota {
                let next = (0..workers.len())
                    .min_by(|one, other| workers[*one].total_cmp(&workers[*other]));
                let Some(worker) = next else { break };
                let at_s = workers[worker];
                if at_s >= run.to.min(END_S) {
                    break;
                }
                let down = setting.site.down((at_s * 1000.0) as u64);
                fetches.push(Fetch { at_s, down });
                done += 1;
                if down {
                    workers[worker] = at_s + backoff;
                    backoff = (backoff * 2.0_f64).min(600.0);
                    continue;
                }
                backoff = 5.0;
                let latency = setting.site.latency(at_s, random);
                workers[worker] = at_s + self.wait(at_s, latency, done, random);
                if random.chance(self.crash.0) {
                    let again = at_s + random.exponential(self.crash.1) + 5.0;
                    workers
                        .iter_mut()
                        .for_each(|worker| *worker = worker.max(again));
                }
            }
        }
        fetches.retain(|fetch| fetch.at_s >= 0.0);
        fetches
    }

    /// Sets pause and workers so that the busiest day has about so many fetches.
    pub(super) fn aim(&mut self, peak: f64, speedup: f64) {
        let mut days = [0.0_f64; DAYS];
        for run in &self.runs {
            for (day, seconds) in days.iter_mut().enumerate() {
                let (from, to) = (day as f64 * 86_400.0, (day + 1) as f64 * 86_400.0);
                *seconds += (run.to.min(to) - run.from.max(from)).max(0.0);
            }
        }
        let active = days.iter().copied().fold(0.0, f64::max) / speedup;
        let mut cycle = active * self.workers as f64 / peak;
        while cycle < 0.45 {
            self.workers += 1;
            cycle = active * self.workers as f64 / peak;
        }
        self.mean_s = cycle - 0.22;
        if let Some(table) = self.table {
            self.mean_s *= table.iter().sum::<f64>() / 24.0;
        }
    }
}

/// What is fetched next.
#[derive(Debug)]
pub(super) enum Frontier {
    /// Records by number.
    Records { next: u32, step: u32 },
    /// Candidates' results by number.
    Results { next: u32 },
    /// From link to link, breadth first.
    Links {
        queue: VecDeque<Page>,
        lang: &'static str,
    },
    /// From link to link, the newest first.
    Deep {
        stack: Vec<Page>,
        lang: &'static str,
    },
    /// A dictionary of queries, each with some pages of results.
    Queries { next: u32, number: u32, depth: u32 },
    /// All threads with all their pages.
    Threads { next: u32, number: u32 },
    /// All documentation and downloads.
    Files { next: u32 },
    /// A list of articles, in no order.
    Articles { next: u64, lang: &'static str },
}

impl Frontier {
    pub(super) fn draw(random: &mut Random) -> Frontier {
        let (next, lang) = (
            random.bits() as u32,
            *random.pick(&["en", "en", "en", "de", "fr", "es", "zh", "ja"]),
        );
        match random.below(16) {
            0..4 => Frontier::Records {
                next,
                step: *random.pick(&[1, 1, 1, 7]),
            },
            4..6 => Frontier::Queries {
                next: next % 1_000_000,
                number: 0,
                depth: 1 + next % 9,
            },
            6..8 => Frontier::Threads { next, number: 0 },
            8 => Frontier::Files { next },
            9 => Frontier::Results { next },
            10..12 => Frontier::Links {
                queue: VecDeque::new(),
                lang,
            },
            12 => Frontier::Deep {
                stack: Vec::new(),
                lang,
            },
            _ => Frontier::Articles {
                next: u64::from(next),
                lang,
            },
        }
    }

    /// The next page, and the one that named it if the crawler knows.
    pub(super) fn next(&mut self, setting: &Setting, random: &mut Random) -> (Page, Option<Page>) {
        let site = &setting.site;
        let page = match self {
            Frontier::Records { next, step } => {
                *next = next.wrapping_add(*step);
                site.record(*next)
            }
            Frontier::Results { next } => {
                *next = next.wrapping_add(1);
                site.results(*next)
            }
            Frontier::Queries {
                next,
                number,
                depth,
            } => {
                *number += 1;
                if *number > *depth {
                    (*number, *next) = (0, *next + 1);
                }
                site.search(*next, *number)
            }
            Frontier::Threads { next, number } => {
                let pages = mix(u64::from(*next)) % 6;
                *number += 1;
                if u64::from(*number) > pages {
                    (*number, *next) = (0, next.wrapping_add(1));
                }
                site.thread(*next, *number)
            }
            Frontier::Files { next } => {
                *next = next.wrapping_add(1);
                if next.is_multiple_of(4) {
                    site.download(*next / 4)
                } else {
                    site.docs(*next)
                }
            }
            Frontier::Articles { next, lang } => {
                *next += 1;
                site.article(lang, mix(*next) as u32)
            }
            Frontier::Links { queue, lang } => {
                let page = queue
                    .pop_front()
                    .unwrap_or_else(|| site.article(lang, random.bits() as u32));
                for number in 0..if queue.len() < 4_000 { 4 } else { 1 } {
                    queue.push_back(site.link(&page, number * 3 + 1));
                }
                page
            }
            Frontier::Deep { stack, lang } => {
                let page = stack
                    .pop()
                    .unwrap_or_else(|| site.article(lang, random.bits() as u32));
                let child = site.link(&page, random.below(40) as u32);
                // A dead end now and then sends it to another start.
                if !random.chance(0.04) {
                    stack.push(child.clone());
                }
                return (child, Some(page));
            }
        };
        (page, None)
    }
}

/// Which referrer a crawler makes up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Forge {
    None,
    Home,
    Google,
    /// The page before, whether it links there or not.
    Previous,
}

/// What a crawler sends.
#[derive(Debug, Clone)]
pub(super) struct Headers {
    pub(super) agents: Vec<Rc<str>>,
    /// Takes another agent after so many pages.
    pub(super) rotate: u32,
    pub(super) forge: Forge,
    /// How often style sheets and pictures are fetched with a page.
    pub(super) parts: f64,
    pub(super) protocol: &'static str,
    /// Reads robots.txt when a run starts.
    pub(super) robots: bool,
}

/// Turns fetches into requests.
pub(super) struct Fetcher<'a> {
    pub(super) setting: &'a Setting,
    pub(super) headers: Headers,
    before: Option<Page>,
    agent: usize,
    done: u32,
    robots_day: Option<u64>,
    /// A page that failed and is tried again.
    again: Option<Page>,
}

impl<'a> Fetcher<'a> {
    pub(super) fn new(setting: &'a Setting, headers: Headers) -> Fetcher<'a> {
        Fetcher {
            setting,
            headers,
            before: None,
            agent: 0,
            done: 0,
            robots_day: None,
            again: None,
        }
    }

    pub(super) fn fetch(
        &mut self,
        fetch: Fetch,
        frontier: &mut Frontier,
        random: &mut Random,
        hits: &mut Vec<Hit>,
    ) {
        let at_ms = (fetch.at_s * 1000.0) as u64;
        self.done += 1;
        if self.done.is_multiple_of(self.headers.rotate) {
            self.agent = random.below(self.headers.agents.len() as u64) as usize;
        }
        let client = Client {
            agent: self.headers.agents[self.agent].clone(),
            protocol: self.headers.protocol,
        };
        let nothing: Rc<str> = "".into();
        if self.headers.robots && self.robots_day != Some(at_ms / 86_400_000) {
            self.robots_day = Some(at_ms / 86_400_000);
            hits.push(client.get(
                at_ms.saturating_sub(400),
                &"/robots.txt".into(),
                &nothing,
                (200, 742),
            ));
        }
        let (page, parent) = match self.again.take() {
            Some(page) => (page, None),
            None => frontier.next(self.setting, random),
        };
        let referrer: Rc<str> = match self.headers.forge {
            Forge::None => nothing,
            Forge::Home => format!("{HOST}/").into(),
            Forge::Google => "https://www.google.com/".into(),
            Forge::Previous => parent
                .as_ref()
                .or(self.before.as_ref())
                .map_or(nothing, Page::url),
        };
        let reply = match random.unit() {
            _ if fetch.down => (503, 512),
            dice if dice < 0.012 => (404, 3_911),
            dice if dice < 0.016 => (429, 310),
            dice if dice < 0.02 => (301, 240),
            _ => (200, page.bytes()),
        };
        hits.push(client.get(at_ms, &page.target, &referrer, reply));
        if reply.0 == 200 && random.chance(self.headers.parts) {
            self.parts(&client, &page, at_ms, random, hits);
        }
        if matches!(reply.0, 503 | 429) && random.chance(0.7) {
            self.again = Some(page.clone());
        }
        self.before = Some(page);
    }

    /// Some crawlers fetch what a parser finds in the page; they keep no cache and start no script.
    fn parts(
        &self,
        client: &Client,
        page: &Page,
        at_ms: u64,
        random: &mut Random,
        hits: &mut Vec<Hit>,
    ) {
        let url = page.url();
        let mut at_ms = at_ms + 200;
        for &number in page.bundles().iter().take(2) {
            let (target, bytes) = self.setting.site.bundle(number);
            at_ms += random.between(40.0, 300.0) as u64;
            hits.push(client.get(at_ms, &target, &url, (200, bytes)));
        }
        for number in 0..page.pictures().min(2) {
            let (_, target, bytes) = picture(page, number);
            at_ms += random.between(40.0, 300.0) as u64;
            hits.push(client.get(at_ms, &target, &url, (200, bytes)));
        }
    }
}
