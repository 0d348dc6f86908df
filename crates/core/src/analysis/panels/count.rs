//! Requests that were kept, counted by the numbers of their texts: a text is looked at once, however many requests have it.
//!
//! Sources are counted part by part, so that the verdicts and visitors of a part are found in a cache; each thread has counts of its own.

use std::hint::black_box;
use std::sync::Mutex;
use std::sync::PoisonError;

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use rayon::prelude::*;

use super::DAY;
use super::OfPart;
use super::PanelPlan;
use super::PanelSums;
use super::SOURCE_TEXTS;
use super::Statuses;
use super::tally::Sum;
use super::tally::Tally;
use super::visitors::As;
use super::visitors::Met;
use crate::analysis::SecondLook;
use crate::analysis::kept::AskedFor;
use crate::analysis::kept::Chunks;
use crate::analysis::kept::Kept;
use crate::analysis::kept::KeptHosts;
use crate::analysis::kept::KeptRequests;
use crate::analysis::kept::Texts;
use crate::analysis::lock;
use crate::profile::path_of;
use crate::report::Judgements;
use crate::report::PanelDay;
use crate::request::Source;
use crate::verdict::Class;

/// The number of a target, and what its text says.
#[derive(Debug, Clone, Copy)]
struct Target(u32);

impl Target {
    /// Only scripts of pages request it.
    const CALL: u32 = 1 << 31;
    /// A script or a style sheet.
    const SCRIPT: u32 = 1 << 30;

    fn new(number: u32, text: &[u8], look: &SecondLook) -> Target {
        let path = path_of(text);
        let is_script = path.ends_with(b".js") || path.ends_with(b".css");
        let call = u32::from(look.is_call(path)) * Target::CALL;
        let script = u32::from(is_script) * Target::SCRIPT;
        Target(number | call | script)
    }

    fn number(self) -> u32 {
        self.0 & !(Target::CALL | Target::SCRIPT)
    }

    fn is_call(self) -> bool {
        self.0 & Target::CALL != 0
    }

    fn is_script(self) -> bool {
        self.0 & Target::SCRIPT != 0
    }
}

/// The texts of all threads, and the numbers that each thread's texts have among them.
#[derive(Debug, Default)]
struct United {
    targets: Texts,
    agents: Texts,
    hosts: KeptHosts,
    threads: Vec<OfThread>,
}

#[derive(Debug)]
struct OfThread {
    large: Vec<u64>,
    targets: Vec<Target>,
    agents: Vec<u32>,
    hosts: Vec<u32>,
}

impl United {
    /// Takes all requests: they come back by part, and then by thread.
    fn of(kept: &mut [KeptRequests], look: &SecondLook) -> (United, Vec<Vec<Chunks>>) {
        let mut united = United::default();
        let mut requests: Vec<Vec<Chunks>> = Vec::new();
        requests.resize_with(Judgements::PARTS, Vec::new);
        for mut kept in kept.iter_mut().map(std::mem::take) {
            kept.settle();
            for (all, part) in requests.iter_mut().zip(kept.parts) {
                all.push(part);
            }
            let targets = united.targets.absorb(kept.targets);
            let target = |number: u32| Target::new(number, united.targets.text(number), look);
            united.threads.push(OfThread {
                large: kept.large,
                targets: targets.into_iter().map(target).collect(),
                agents: united.agents.absorb(kept.agents),
                hosts: united.hosts.absorb(kept.hosts),
            });
        }
        (united, requests)
    }
}

/// A request with the numbers of its texts among all.
struct Counted {
    source: Source,
    time: u32,
    target: Target,
    agent: u32,
    hosts: u32,
    bytes: u64,
    status: u16,
    is: AskedFor,
}

impl Counted {
    #[inline]
    fn of(kept: &Kept, thread: &OfThread, target: Target) -> Counted {
        Counted {
            source: kept.source(),
            time: kept.time,
            target,
            agent: thread.agents[kept.agent as usize],
            hosts: thread.hosts[kept.hosts as usize],
            bytes: kept.bytes(&thread.large),
            status: kept.status,
            is: kept.is,
        }
    }

    /// True where somebody was sent a page to view.
    fn is_view(&self) -> bool {
        self.is == AskedFor::ShownPage && !self.target.is_call()
    }
}

/// What one thread has counted, by the numbers of texts.
#[derive(Debug)]
struct Counts {
    days: Days,
    hours: [u64; 24],
    statuses: Statuses,
    pages: Vec<Sum>,
    files: Vec<Sum>,
    not_found: HashMap<u32, Sum, RandomState>,
    agents: Vec<Sum>,
    /// By the numbers of pairs of hosts.
    hosts: Vec<OfHosts>,
    robots: HashMap<u16, OfRobot, RandomState>,
    /// The robots of agents, where they were asked for.
    robots_of: Vec<Option<Option<u16>>>,
}

/// What names a pair of hosts.
#[derive(Debug, Clone, Copy, Default)]
struct OfHosts {
    all: Sum,
    views: Sum,
    scripts: Sum,
}

#[derive(Debug, Default)]
struct OfRobot {
    sum: Sum,
    views: u64,
    days: HashMap<u32, u64, RandomState>,
    pages: HashMap<u32, Sum, RandomState>,
}

/// What people did on each day, but for the visitors.
#[derive(Debug, Default)]
struct Days {
    days: Vec<(u32, PanelDay)>,
    /// The place of the day of the last request: the next is nearly always of the same.
    last: usize,
}

impl Days {
    fn of(&mut self, number: u32) -> &mut PanelDay {
        let is_it = |day: &(u32, PanelDay)| day.0 == number;
        if !self.days.get(self.last).is_some_and(is_it) {
            let place = self.days.iter().position(is_it);
            self.last = place.unwrap_or_else(|| {
                self.days.push((number, PanelDay::default()));
                self.days.len() - 1
            });
        }
        &mut self.days[self.last].1
    }
}

impl PanelSums {
    /// Counts requests, and keeps none of them.
    pub fn count(&mut self, kept: &mut [KeptRequests], look: &SecondLook, plan: &PanelPlan) {
        let (united, requests) = United::of(kept, look);
        let free: Mutex<Vec<Counts>> = Mutex::default();
        self.parts.resize_with(Judgements::PARTS, OfPart::default);
        let parts = self.parts.par_iter_mut().zip(requests);
        parts.for_each(|(part, requests)| {
            let counts = lock(&free).pop();
            let mut counts = counts.unwrap_or_else(|| Counts::new(&united));
            let (mut batch, mut met) = (Batch::default(), Met::default());
            for (thread, chunks) in united.threads.iter().zip(requests) {
                for chunk in chunks {
                    batch.choose(&chunk, |kept| {
                        let source = kept.source();
                        let (number, counts_as) = met.meet(source, || plan.counts_as(source, look));
                        let agent = thread.agents[kept.agent as usize];
                        let robot = || counts.robot(agent, &united.agents, plan);
                        Chosen::of(number, counts_as, robot)
                    });
                    batch.prepare(&chunk, thread, &counts);
                    for ((at, chosen), target) in batch.chosen.iter().zip(&batch.targets) {
                        let request = Counted::of(&chunk[*at], thread, *target);
                        counts.see(&request, chosen, &mut met, part);
                    }
                }
            }
            met.end(&mut part.visitors);
            part.settle(&united.targets);
            lock(&free).push(counts);
        });
        let free = free.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(counts) = free.into_iter().reduce(Counts::absorb) {
            counts.settle(&united, self);
        }
        self.bound();
    }
}

/// A request that is counted.
#[derive(Debug, Clone, Copy)]
struct Chosen {
    /// The number of its source.
    source: u32,
    counts_as: As,
    /// The robot of a language model that it names itself as.
    robot: Option<u16>,
}

impl Chosen {
    #[inline]
    fn of(source: u32, counts_as: As, robot: impl FnOnce() -> Option<u16>) -> Option<Chosen> {
        let robot = match counts_as {
            As::Person => None,
            As::Heavy => robot(),
            As::Other => Some(robot()?),
            As::Nobody => return None,
        };
        Some(Chosen {
            source,
            counts_as,
            robot,
        })
    }
}

/// What is looked up for many requests at once, so that the processor waits for memory once for many of them.
#[derive(Debug, Default)]
struct Batch {
    /// Which requests are counted, and their places: half of a log's are often those of crawlers that nobody looks at.
    chosen: Vec<(usize, Chosen)>,
    /// Their targets.
    targets: Vec<Target>,
}

impl Batch {
    fn choose(&mut self, chunk: &[Kept], mut choice: impl FnMut(&Kept) -> Option<Chosen>) {
        self.chosen.clear();
        let all = chunk.iter().enumerate();
        self.chosen
            .extend(all.filter_map(|(at, kept)| Some((at, choice(kept)?))));
    }

    fn prepare(&mut self, chunk: &[Kept], thread: &OfThread, counts: &Counts) {
        let chosen = || self.chosen.iter().map(|(at, _)| &chunk[*at]);
        self.targets.clear();
        self.targets
            .extend(chosen().map(|kept| thread.targets[kept.target as usize]));
        // Which of the two is counted will be decided then.
        let targets = self.targets.iter().map(|target| target.number() as usize);
        let pages = chosen().zip(targets).fold(0, |all, (kept, number)| {
            let of = match kept.is {
                AskedFor::File => &counts.files,
                AskedFor::ShownPage | AskedFor::Page => &counts.pages,
            };
            all ^ of[number].requests
        });
        black_box(pages);
    }
}

impl PanelPlan {
    /// As whose requests those of a source are counted.
    fn counts_as(&self, source: Source, look: &SecondLook) -> As {
        match look.judged().get(source) {
            Some(judged) if judged.class == Class::User => As::Person,
            Some(_) if self.heavy.contains_key(&source) => As::Heavy,
            Some(_) => As::Other,
            None => As::Nobody,
        }
    }
}

impl OfPart {
    /// Adds what was counted to the texts.
    fn settle(&mut self, targets: &Texts) {
        for source in self.sources.values_mut() {
            let counted = source.counted.drain();
            let text = |number| targets.text(number);
            source.pages.add_numbered(counted, text, SOURCE_TEXTS);
        }
    }
}

impl Counts {
    fn new(united: &United) -> Counts {
        Counts {
            days: Days::default(),
            hours: [0; 24],
            statuses: Statuses::default(),
            pages: vec![Sum::default(); united.targets.len()],
            files: vec![Sum::default(); united.targets.len()],
            not_found: HashMap::default(),
            agents: vec![Sum::default(); united.agents.len()],
            hosts: vec![OfHosts::default(); united.hosts.len()],
            robots: HashMap::default(),
            robots_of: vec![None; united.agents.len()],
        }
    }

    /// The robot of a language model that an agent names.
    #[inline]
    fn robot(&mut self, agent: u32, agents: &Texts, plan: &PanelPlan) -> Option<u16> {
        let robot = &mut self.robots_of[agent as usize];
        *robot.get_or_insert_with(|| plan.ai_robot(agents.text(agent)))
    }

    #[inline]
    fn see(&mut self, request: &Counted, chosen: &Chosen, met: &mut Met, part: &mut OfPart) {
        match chosen.counts_as {
            As::Person => {
                if request.is_view() {
                    let day = request.time / DAY;
                    met.view(chosen.source, day, &mut part.visitors);
                }
                return self.see_person(request);
            }
            As::Heavy => {
                let source = part.sources.entry(request.source).or_default();
                source.statuses.add(request.status, 1);
                let target = source.counted.entry(request.target.number());
                target.or_default().see(request.bytes);
            }
            As::Other | As::Nobody => {}
        }
        if let Some(robot) = chosen.robot {
            self.robots.entry(robot).or_default().see(request);
        }
    }

    fn see_person(&mut self, request: &Counted) {
        let day = self.days.of(request.time / DAY);
        day.requests += 1;
        day.bytes += request.bytes;
        self.statuses.add(request.status, 1);
        let hosts = &mut self.hosts[request.hosts as usize];
        hosts.all.see(request.bytes);
        let target = request.target.number() as usize;
        if request.is_view() {
            day.views += 1;
            self.hours[(request.time % DAY / 3600) as usize] += 1;
            self.pages[target].see(request.bytes);
            self.agents[request.agent as usize].see(0);
            hosts.views.see(0);
            return;
        }
        match request.status {
            404 => {
                let missing = self.not_found.entry(request.target.number());
                missing.or_default().see(request.bytes);
            }
            // A page that is no view was sent to a script.
            200..=299 | 304 if request.is != AskedFor::Page => {
                self.files[target].see(request.bytes);
                // Another site may show this one's pictures, but hardly runs its scripts.
                if request.target.is_script() {
                    hosts.scripts.see(0);
                }
            }
            _ => {}
        }
    }

    /// The sum of two.
    fn absorb(mut self, other: Counts) -> Counts {
        for (number, day) in other.days.days {
            add_day(self.days.of(number), day);
        }
        for (own, other) in self.hours.iter_mut().zip(other.hours) {
            *own += other;
        }
        self.statuses.absorb(other.statuses);
        for (own, other) in [
            (&mut self.pages, other.pages),
            (&mut self.files, other.files),
            (&mut self.agents, other.agents),
        ] {
            own.iter_mut()
                .zip(other)
                .for_each(|(own, other)| own.add(other));
        }
        add_all(&mut self.not_found, other.not_found);
        for (own, other) in self.hosts.iter_mut().zip(other.hosts) {
            own.all.add(other.all);
            own.views.add(other.views);
            own.scripts.add(other.scripts);
        }
        for (robot, other) in other.robots {
            let own = self.robots.entry(robot).or_default();
            own.sum.add(other.sum);
            own.views += other.views;
            for (day, requests) in other.days {
                *own.days.entry(day).or_default() += requests;
            }
            add_all(&mut own.pages, other.pages);
        }
        self
    }

    /// Adds all counts to those of texts.
    fn settle(self, united: &United, sums: &mut PanelSums) {
        for (number, day) in self.days.days {
            add_day(sums.days.entry(number).or_default(), day);
        }
        for (own, hour) in sums.hours.iter_mut().zip(self.hours) {
            *own += hour;
        }
        sums.statuses.absorb(self.statuses);
        let (targets, agents) = (&united.targets, &united.agents);
        for (((_, text), page), file) in targets.iter().zip(self.pages).zip(self.files) {
            sums.pages.add(path_of(text), page);
            sums.files.add(path_of(text), file);
        }
        for (number, sum) in self.not_found {
            sums.not_found.add(targets.text(number), sum);
        }
        for ((_, text), sum) in agents.iter().zip(self.agents) {
            sums.agents.add(text, sum);
        }
        let named = |tally: &mut Tally, host: &[u8], sum| {
            if !host.is_empty() {
                tally.add(host, sum);
            }
        };
        for ((referrer, asked), of) in united.hosts.pairs().zip(self.hosts) {
            named(&mut sums.referrers, referrer, of.views);
            named(&mut sums.own, referrer, of.scripts);
            named(&mut sums.hosts, asked, of.all);
        }
        for (number, robot) in self.robots {
            let own = sums.robots.entry(number).or_default();
            own.sum.add(robot.sum);
            own.views += robot.views;
            for (day, requests) in robot.days {
                *own.days.entry(day).or_default() += requests;
            }
            for (page, sum) in robot.pages {
                own.pages.add(path_of(targets.text(page)), sum);
            }
        }
    }
}

impl OfRobot {
    fn see(&mut self, request: &Counted) {
        self.sum.see(request.bytes);
        *self.days.entry(request.time / DAY).or_default() += 1;
        if request.is != AskedFor::File {
            self.views += u64::from(request.is_view());
            let page = self.pages.entry(request.target.number());
            page.or_default().see(request.bytes);
        }
    }
}

fn add_day(own: &mut PanelDay, day: PanelDay) {
    own.views += day.views;
    own.requests += day.requests;
    own.bytes += day.bytes;
}

fn add_all(own: &mut HashMap<u32, Sum, RandomState>, other: HashMap<u32, Sum, RandomState>) {
    for (number, sum) in other {
        own.entry(number).or_default().add(sum);
    }
}
