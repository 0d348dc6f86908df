//! Lines and labels of a world, in the order of time. The log of the social network has the eight fields of the paper, the others are 'combined'.

use std::io;
use std::io::Write;
use std::net::Ipv4Addr;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::actor::Actor;
use crate::actor::Cookie;
use crate::actor::Label;
use crate::actor::Referrer;
use crate::crowd::Passer;
use crate::crowd::Rhythm;
use crate::crowd::Visit;
use crate::plan::DAY;
use crate::random::Random;
use crate::world::Kind;
use crate::world::World;

/// Seconds of a half hour.
const BIN_SECONDS: u64 = 1800;
/// Pages of the site: a prime, so that any step leads past all of them before the first comes again.
const PAGES: u64 = 1_000_003;
/// Visitors behind an address that are on the site at the same time.
const VISITORS: usize = 8;

/// Writes what everybody is: `source,label,campaign,habit,evasion`. The last is a row of the paper's Table 13. Gateways have a sixth
/// column: the user agent of the crawler that is hidden in one.
pub fn write_labels(world: &World, out: &mut impl Write) -> io::Result<()> {
    if world.kind == Kind::Gateways {
        return write_gateways(world, out);
    }
    writeln!(out, "source,label,campaign,habit,evasion")?;
    let crowd = world.crowd_sources();
    let mut crowd = crowd.iter().peekable();
    for actor in &world.actors {
        while let Some(passer) = crowd.next_if(|passer| passer.address < actor.address) {
            write_passer(passer, out)?;
        }
        let campaign = actor.campaign.as_deref().unwrap_or_default();
        let (source, label) = (Ipv4Addr::from(actor.address), actor.label.name());
        write!(out, "{source},{label},{campaign},{},", actor.habit)?;
        match actor.manners.evasion {
            Some(row) => writeln!(out, "{row}")?,
            None => writeln!(out)?,
        }
    }
    crowd.try_for_each(|passer| write_passer(passer, out))
}

/// A gateway comes before the crawler that is hidden in it.
fn write_gateways(world: &World, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "source,label,campaign,habit,evasion,hidden")?;
    for actors in world.actors.chunk_by(|a, b| a.address == b.address) {
        let [people, hidden @ ..] = actors else {
            continue;
        };
        let (source, label) = (Ipv4Addr::from(people.address), people.label.name());
        match hidden {
            [] => writeln!(out, "{source},{label},,{},,", people.habit)?,
            [crawler, ..] => {
                let agent = crawler.manners.agents[0];
                writeln!(out, "{source},{label},,{},,\"{agent}\"", crawler.habit)?;
            }
        }
    }
    Ok(())
}

fn write_passer(passer: &Passer, out: &mut impl Write) -> io::Result<()> {
    let (source, errand) = (Ipv4Addr::from(passer.address), passer.errand);
    let (label, campaign) = (errand.label().name(), errand.campaign().unwrap_or_default());
    writeln!(out, "{source},{label},{campaign},{},", errand.habit())
}

/// Writes all requests in the order of their time. Gives how many they are.
pub fn write_log(world: &World, out: &mut impl Write) -> io::Result<u64> {
    let mut walkers: Vec<Walker<'_>> = (0..)
        .zip(&world.actors)
        .map(|(number, actor)| Walker::new(actor, world, number))
        .collect();
    let mut crowd = Crowd::default();
    // A request is its second, who comes, and for the crowd which request of its day; the crowd's numbers begin after the walkers'.
    let mut coming: Vec<u64> = Vec::new();
    let mut lines = Vec::with_capacity(1 << 20);
    let mut written = 0;
    for bin in 0..world.bins() {
        coming.clear();
        for (number, walker) in (0_u64..).zip(&mut walkers) {
            let count = u64::from(walker.actor.counts[bin]);
            coming.extend((0..count).map(|which| walker.second(which, count) << 40 | number << 8));
        }
        coming.extend(crowd.requests(bin, walkers.len() as u64, world));
        // By second, then by actor: who comes first within a second does not matter, as long as it is always the same.
        coming.sort_unstable();
        let start = u64::from(world.start) + bin as u64 * BIN_SECONDS;
        let mut clock = Clock::default();
        for request in &coming {
            let (time, who) = (start + (request >> 40), (request >> 8) as u32 as usize);
            clock.set(time, world.kind);
            match who.checked_sub(walkers.len()) {
                None => walkers[who].write(&clock, &mut lines),
                Some(number) => pass(number, *request as u8, world, &clock, &mut lines),
            }
            if lines.len() >= 1 << 20 {
                out.write_all(&lines)?;
                lines.clear();
            }
        }
        written += coming.len() as u64;
    }
    out.write_all(&lines)?;
    Ok(written)
}

/// Requests of the crowd on one day.
#[derive(Default)]
struct Crowd {
    /// Second of the day, number of the passer, number of the request; in order.
    today: Vec<u64>,
}

impl Crowd {
    /// Its requests in a half hour, with seconds of the half hour and numbers that begin after so many others.
    fn requests(
        &mut self,
        bin: usize,
        others: u64,
        world: &World,
    ) -> impl Iterator<Item = u64> + '_ {
        if bin.is_multiple_of(DAY) {
            self.begin(bin / DAY, world);
        }
        let start = (bin % DAY) as u64 * BIN_SECONDS;
        let at = |second: u64| self.today.partition_point(|request| request >> 40 < second);
        let now = &self.today[at(start)..at(start + BIN_SECONDS)];
        now.iter()
            .map(move |request| request - (start << 40) + (others << 8))
    }

    fn begin(&mut self, day: usize, world: &World) {
        let rhythm = Rhythm::of(world.weekday(day));
        let first = world
            .crowd
            .partition_point(|passer| usize::from(passer.day) < day);
        self.today.clear();
        for (number, passer) in (0_u64..).zip(&world.crowd).skip(first) {
            if usize::from(passer.day) != day {
                break;
            }
            let visit = Visit::new(passer, number, world.seed);
            let seconds = visit.seconds(passer.volume, &rhythm);
            let request = |(step, second): (u64, u32)| u64::from(second) << 40 | number << 8 | step;
            self.today.extend((0..).zip(seconds).map(request));
        }
        self.today.sort_unstable();
    }
}

/// Writes a request of the crowd.
fn pass(number: usize, step: u8, world: &World, clock: &Clock, out: &mut Vec<u8>) {
    let passer = &world.crowd[number];
    let visit = Visit::new(passer, number as u64, world.seed);
    let step = visit.step(u32::from(step), PAGES);
    let target = match step.part {
        Some(part) => Target::Part(part),
        None if step.is_query => Target::Query(step.page),
        None => Target::Page(step.page),
    };
    let referrer = match (step.part, step.before) {
        _ if visit.outside == "-" && step.part.is_none() => Referring::Nothing,
        (Some(_), _) => Referring::Page(step.page),
        (None, Some(before)) => Referring::Page(before),
        (None, None) => Referring::Outside(visit.outside),
    };
    let (name, network) = names(passer.address);
    let line = Line {
        kind: world.kind,
        name: &name,
        network: &network,
        agent: visit.agent,
        session: visit.session,
        target,
        referrer,
        status: if step.is_error { 404 } else { 200 },
    };
    line.write(clock, out);
}

/// An address and its network as the log writes them.
fn names(address: u32) -> (String, String) {
    let address = Ipv4Addr::from(address);
    let [a, b, c, _] = address.octets();
    (address.to_string(), format!("{a}.{b}.{c}.0/24"))
}

/// A second as the log writes it.
#[derive(Default)]
struct Clock {
    seconds: u64,
    text: String,
}

impl Clock {
    fn set(&mut self, seconds: u64, kind: Kind) {
        if self.seconds == seconds {
            return;
        }
        self.seconds = seconds;
        let time = Timestamp::from_second(seconds as i64).unwrap_or_default();
        self.text = if kind.has_eight_fields() {
            time.to_string()
        } else {
            let zoned = time.to_zoned(TimeZone::UTC);
            zoned.strftime("[%d/%b/%Y:%H:%M:%S +0000]").to_string()
        };
    }
}

/// One actor on its way through the site.
struct Walker<'a> {
    actor: &'a Actor,
    kind: Kind,
    random: Random,
    name: String,
    network: String,
    visitors: Vec<Visitor>,
    /// The place in the site's order, for those who take page after page, and the step of those who hop.
    place: u64,
    step: u64,
    requests: u64,
}

/// A person, or the crawler itself.
#[derive(Clone, Copy, Default)]
struct Visitor {
    agent: usize,
    session: u64,
    /// Requests and time left in the session.
    left: u32,
    until: u64,
    page: u64,
    before: u64,
    /// Parts of the page still to be loaded.
    parts: u32,
}

/// What is asked for.
enum Target {
    Page(u64),
    Query(u64),
    Part(u32),
}

impl<'a> Walker<'a> {
    fn new(actor: &'a Actor, world: &World, number: u64) -> Walker<'a> {
        let mut random = Random::new(world.seed, number | 1 << 40);
        let visitors = match actor.label {
            Label::User => VISITORS,
            _ => 1,
        };
        let agents = actor.manners.agents.len();
        let is_dominated = actor.manners.dominating > 0.0;
        let fresh = |at: usize| Visitor {
            agent: if is_dominated { 0 } else { at % agents },
            ..Visitor::default()
        };
        let (name, network) = names(actor.address);
        Walker {
            name,
            network,
            kind: world.kind,
            visitors: (0..visitors).map(fresh).collect(),
            place: random.below(PAGES),
            step: 1 + random.below(PAGES - 1),
            actor,
            random,
            requests: 0,
        }
    }

    /// The second of the half hour at which one of so many requests comes.
    fn second(&mut self, which: u64, count: u64) -> u64 {
        match self.actor.manners.even {
            true => which * BIN_SECONDS / count,
            false => self.random.below(BIN_SECONDS),
        }
    }

    fn write(&mut self, clock: &Clock, out: &mut Vec<u8>) {
        let manners = &self.actor.manners;
        let at = self.random.below(self.visitors.len() as u64) as usize;
        self.requests += 1;
        self.keep_session(at, clock.seconds);
        if self.actor.label != Label::User && manners.agents.len() > 1 {
            let is_other = !self.random.chance(manners.dominating);
            self.visitors[at].agent = usize::from(is_other);
        }
        let target = self.target(at);
        let is_error = self.random.chance(manners.errors);
        let from_listing = manners.referrer == Referrer::Listing;
        let is_empty = match manners.referrer {
            Referrer::Empty => true,
            Referrer::Listing => false,
            Referrer::Page(empty) => self.random.chance(empty),
        };
        let visitor = self.visitors[at];
        let referrer = match &target {
            _ if is_empty => Referring::Nothing,
            _ if from_listing => Referring::Listing(visitor.page % 26),
            Target::Part(_) => Referring::Page(visitor.page),
            _ => Referring::Page(visitor.before),
        };
        let line = Line {
            kind: self.kind,
            name: &self.name,
            network: &self.network,
            agent: manners.agents[visitor.agent],
            session: visitor.session,
            target,
            referrer,
            status: if is_error { 404 } else { 200 },
        };
        line.write(clock, out);
    }

    /// Begins a new session where the old one is over; behind a proxy that is the next person.
    fn keep_session(&mut self, at: usize, now: u64) {
        let agents = self.actor.manners.agents.len() as u64;
        let visitor = &mut self.visitors[at];
        visitor.left = visitor.left.saturating_sub(1);
        let is_over = match self.actor.manners.cookie {
            Cookie::Never => true,
            Cookie::Requests(_) => visitor.left == 0,
            Cookie::Seconds(_) => now >= visitor.until,
        };
        if !is_over {
            return;
        }
        visitor.session = self.random.bits();
        match self.actor.manners.cookie {
            Cookie::Never => {}
            Cookie::Requests(requests) => visitor.left = requests,
            Cookie::Seconds(seconds) => visitor.until = now + u64::from(seconds),
        }
        if self.actor.label == Label::User {
            let dominating = self.actor.manners.dominating;
            visitor.agent = match dominating > 0.0 && self.random.chance(dominating) {
                true => 0,
                false => self.random.below(agents) as usize,
            };
            visitor.before = self.random.below(PAGES);
        }
    }

    fn target(&mut self, at: usize) -> Target {
        let manners = &self.actor.manners;
        let visitor = &mut self.visitors[at];
        if visitor.parts > 0 {
            visitor.parts -= 1;
            return Target::Part(visitor.parts);
        }
        visitor.parts = manners.parts;
        if self.random.chance(manners.revisits) {
            std::mem::swap(&mut visitor.page, &mut visitor.before);
        } else {
            visitor.before = visitor.page;
            let is_next = self.random.chance(manners.ordered);
            visitor.page = match self.actor.label {
                // Some pages are asked for far more often than others.
                Label::User => (self.random.unit().powi(4) * PAGES as f64) as u64,
                // A crawler knows what it has: it comes again only where it wants to.
                _ => {
                    self.place = (self.place + if is_next { 1 } else { self.step }) % PAGES;
                    self.place
                }
            };
        }
        match self.random.chance(manners.queries) {
            true => Target::Query(visitor.page),
            false => Target::Page(visitor.page),
        }
    }
}

enum Referring {
    Nothing,
    Listing(u64),
    Page(u64),
    /// Another site.
    Outside(&'static str),
}

/// A request on its way into the log.
struct Line<'a> {
    kind: Kind,
    name: &'a str,
    network: &'a str,
    agent: &'static str,
    session: u64,
    target: Target,
    referrer: Referring,
    status: u16,
}

/// The name of a page: letters first, so that pages have an order by name and none by number. Five letters tell all pages apart, as the
/// names of people do; with three, a walk through sorted names would rarely show in the eight letters that rules compare.
fn page_name(page: u64, kind: Kind, out: &mut Vec<u8>) {
    let letters = if kind.has_eight_fields() { 5 } else { 3 };
    let letter = |at: u32| b'a' + (page * 26_u64.pow(at) / PAGES % 26) as u8;
    out.extend((1..=letters).map(letter));
    // Writing into memory cannot fail.
    let _ = write!(out, ".{page:07}");
}

impl Line<'_> {
    fn write(&self, clock: &Clock, out: &mut Vec<u8>) {
        match self.kind.has_eight_fields() {
            true => self.eight_fields(clock, out),
            false => self.combined(clock, out),
        }
    }

    fn eight_fields(&self, clock: &Clock, out: &mut Vec<u8>) {
        for field in [&clock.text, self.name, self.network] {
            out.extend(field.as_bytes());
            out.push(b'\t');
        }
        out.extend(self.agent.as_bytes());
        out.push(b'\t');
        self.target(out);
        let _ = write!(out, "\t{}\t", self.status);
        self.referrer(b"http://social.example.com", out);
        let _ = writeln!(out, "\t{:016x}", self.session);
    }

    fn combined(&self, clock: &Clock, out: &mut Vec<u8>) {
        out.extend(self.name.as_bytes());
        out.extend(b" - - ");
        out.extend(clock.text.as_bytes());
        out.extend(b" \"GET ");
        self.target(out);
        let bytes = 2000 + self.session % 30_000;
        let _ = write!(out, " HTTP/1.1\" {} {bytes} \"", self.status);
        self.referrer(b"https://shop.example.com", out);
        out.extend(b"\" \"");
        out.extend(self.agent.as_bytes());
        out.extend(b"\"\n");
    }

    fn page(&self, page: u64, out: &mut Vec<u8>) {
        let folder: &[u8] = match self.kind {
            Kind::Social
            | Kind::SocialTest
            | Kind::Gateways
            | Kind::Containment
            | Kind::ContainmentSmall => b"/people/",
            Kind::Shop | Kind::Wide => b"/product/",
            Kind::Town | Kind::Fleets => b"/news/",
        };
        out.extend(folder);
        page_name(page, self.kind, out);
    }

    fn target(&self, out: &mut Vec<u8>) {
        match (&self.target, self.kind) {
            (Target::Page(page), _) => self.page(*page, out),
            (Target::Query(page), Kind::Shop | Kind::Wide) => {
                let (colour, number) = (page % 9, page % 40 + 1);
                let _ = write!(out, "/category/{}?colour={colour}&page={number}", page % 60);
            }
            (Target::Query(page), _) => {
                out.extend(b"/search?q=");
                page_name(*page, self.kind, out);
            }
            (Target::Part(part), _) => {
                let names = ["site.css", "site.js", "photo.jpg", "logo.png"];
                let _ = write!(out, "/static/{}", names[*part as usize % names.len()]);
            }
        }
    }

    fn referrer(&self, site: &[u8], out: &mut Vec<u8>) {
        match self.referrer {
            Referring::Nothing => out.push(b'-'),
            Referring::Outside(site) => out.extend(site.as_bytes()),
            Referring::Listing(letter) => {
                out.extend(site);
                out.extend(b"/directory/");
                out.push(b'a' + letter as u8);
            }
            Referring::Page(page) => {
                out.extend(site);
                self.page(page, out);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::volumes::Distribution;

    /// A small part of a world.
    fn part(kind: Kind, seed: u64) -> World {
        let mut world = World::new(kind, seed);
        world.actors.retain(|actor| actor.address % 40 == 0);
        world.crowd.retain(|passer| passer.address % 40 == 0);
        world
    }

    #[test]
    fn one_seed_one_byte_sequence() {
        let log = |kind: Kind, seed: u64| {
            let mut out = Vec::new();
            write_log(&part(kind, seed), &mut out).unwrap();
            out
        };
        // The large site is the small one with other numbers, and takes ten times as long.
        for kind in Kind::ALL
            .into_iter()
            .filter(|kind| *kind != Kind::Containment)
        {
            let first = log(kind, 1);
            assert_eq!(log(kind, 1), first);
            assert_ne!(log(kind, 2), first);
            assert!(first.len() > 1 << 20, "{}", first.len());
        }
    }

    #[test]
    fn the_log_has_the_requests_that_were_drawn() {
        let world = part(Kind::Social, 3);
        let mut log = Vec::new();
        let written = write_log(&world, &mut log).unwrap();
        let mut counted: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        let text = String::from_utf8(log).unwrap();
        let mut last = "";
        for line in text.lines() {
            let mut fields = line.split('\t');
            let (time, source) = (fields.next().unwrap(), fields.next().unwrap());
            assert!(time >= last);
            last = time;
            let seconds = time.parse::<Timestamp>().unwrap().as_second() as u32;
            let counts = counted
                .entry(source.to_owned())
                .or_insert_with(|| vec![0; world.bins()]);
            counts[(seconds - world.start) as usize / BIN_SECONDS as usize] += 1;
        }
        assert_eq!(written, text.lines().count() as u64);
        let drawn = world.actors.iter().map(|actor| {
            (
                Ipv4Addr::from(actor.address).to_string(),
                actor.counts.clone(),
            )
        });
        assert_eq!(counted, drawn.collect());
    }

    #[test]
    fn the_crowd_comes_in_order_with_its_volumes_and_labels() {
        let world = part(Kind::ContainmentSmall, 3);
        let (mut log, mut labels) = (Vec::new(), Vec::new());
        let written = write_log(&world, &mut log).unwrap();
        write_labels(&world, &mut labels).unwrap();
        let labels = String::from_utf8(labels).unwrap();
        let labelled: Vec<&str> = labels
            .lines()
            .skip(1)
            .map(|line| line.split(',').next().unwrap())
            .collect();
        let text = String::from_utf8(log).unwrap();
        let mut last = "";
        let mut days: BTreeMap<(&str, &str), u32> = BTreeMap::new();
        for line in text.lines() {
            let (source, rest) = line.split_once(' ').unwrap();
            // All days are of one month, so that times have the order of their texts.
            let time = &rest[5..25];
            assert!(time >= last, "{time} after {last}");
            last = time;
            *days.entry((source, &time[..2])).or_default() += 1;
        }
        let mut sources: Vec<&str> = days.keys().map(|(source, _)| *source).collect();
        sources.dedup();
        let mut sorted = labelled.clone();
        sorted.sort_unstable();
        assert_eq!(sources, sorted);
        assert!(labelled.is_sorted_by_key(|source| source.parse::<Ipv4Addr>().unwrap()));
        assert_eq!(written, world.volumes().requests());
        let found = Distribution::new(days.values().copied().collect());
        assert_eq!(found, world.volumes());
    }

    #[test]
    fn the_mix_is_that_of_the_paper() {
        let world = World::new(Kind::Social, 1);
        let count = |label: Label| {
            world
                .actors
                .iter()
                .filter(|actor| actor.label == label)
                .count()
        };
        let labels = [
            Label::User,
            Label::Legitimate,
            Label::Unauthorized,
            Label::Masquerading,
        ];
        assert_eq!(labels.map(count), [104, 485, 52, 172]);
        assert_eq!(world.actors.len(), 813);
    }
}
