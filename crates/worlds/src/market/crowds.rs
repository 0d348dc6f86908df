//! People behind one address: who they are, when they come, and all their visits over the days.

use super::agents::{self, Device};
use super::browser::{Cache, Person, Window};
use super::calendar::{
    Calendar, Curve, DAY_SLOTS, DAYS, MINUTE_MS, SLOT_MS, SLOTS, SPAN_MS, draw, spread, sums,
};
use super::site::Site;
use super::visit::Taste;
use crate::random::Random;
use crate::scene::Hit;

/// A source of people.
#[derive(Debug, Clone)]
pub(super) struct Crowd {
    pub(super) kind: &'static str,
    /// Requests wanted on the busiest day.
    pub(super) target: f64,
    pub(super) people: usize,
    /// Minutes east of UTC and share of the people.
    pub(super) zones: Vec<(i32, f64)>,
    pub(super) curve: Curve,
    /// Hours by which people differ from one another.
    pub(super) phase: f64,
    pub(super) taste: Taste,
    pub(super) mobile: f64,
    /// How many different browser builds an administrator allows; 0 for any.
    pub(super) managed: usize,
    /// Browsers that forget everything after a visit.
    pub(super) forgets: bool,
    pub(super) proxy: bool,
    /// Share of people with privacy settings.
    pub(super) privacy: f64,
    /// How often somebody does not come on a day at all.
    pub(super) days_off: f64,
    /// How many times more come at once when the market is on television.
    pub(super) show: f64,
    /// What is left on a holiday, relative to other days.
    pub(super) holiday: f64,
    /// When their line was cut.
    pub(super) cut: Option<(u64, u64)>,
    /// How much hours differ from the curve, by chance.
    pub(super) restless: f64,
    /// Breaks at which many come within minutes: hour and strength.
    pub(super) bells: Vec<(f64, f64)>,
}

impl Crowd {
    /// All requests of the source, with so many visits on its busiest day.
    pub(super) fn requests(
        &self,
        source: u32,
        visits: f64,
        site: &Site,
        calendar: &Calendar,
        random: &mut Random,
    ) -> Vec<Hit> {
        let mut people = self.settle(site, random);
        let plans: Vec<Vec<f64>> = {
            let mood = self.mood(random);
            self.zones
                .iter()
                .map(|&(zone, _)| self.plan(zone, calendar, &mood))
                .collect()
        };
        let all: f64 = people.iter().map(|person| person.weight).sum();
        let busiest = self.busiest(&plans, &people);
        let mut proxy = Cache::default();
        let mut hits = Vec::new();
        for person in &mut people {
            let rate = visits * person.weight / all / busiest;
            let mut clock = 0;
            for start in self.calls(person, &plans[person.zone], rate, random) {
                // Nobody visits twice at once.
                let start = start.max(clock + 1);
                if start >= SPAN_MS {
                    break;
                }
                if self.forgets {
                    person.cache = Cache::default();
                }
                let proxy = self.proxy.then_some(&mut proxy);
                let mut window = Window {
                    site,
                    random,
                    hits: &mut hits,
                    source,
                    proxy,
                };
                clock =
                    window.visit(person, start, &self.taste) + random.exponential(40_000.0) as u64;
            }
        }
        let reached = |hit: &Hit| {
            hit.at_ms < SPAN_MS
                && !self
                    .cut
                    .is_some_and(|(from, to)| (from..to).contains(&hit.at_ms))
        };
        hits.retain(reached);
        hits
    }

    fn settle(&self, site: &Site, random: &mut Random) -> Vec<Person> {
        let shares = sums(self.zones.iter().map(|&(_, share)| share));
        let builds: Vec<_> = (0..self.managed)
            .map(|_| agents::browser(Device::Desktop, random))
            .collect();
        let somebody = |_| {
            let device = if random.chance(self.mobile) {
                Device::Mobile
            } else {
                Device::Desktop
            };
            let mut person = Person::new(site, device, self.privacy, random);
            person.zone = draw(&shares, random);
            if device == Device::Desktop && !builds.is_empty() {
                person.agent = random.pick(&builds).clone();
            }
            if self.proxy {
                person.protocol = "HTTP/1.1";
            }
            // Those who sell have an account.
            person.member |= self.taste.selling > 0.2;
            person
        };
        (0..self.people).map(somebody).collect()
    }

    /// Chance ups and downs of the whole source, hour after hour.
    fn mood(&self, random: &mut Random) -> Vec<f64> {
        let mut state = 0.0;
        let mut mood = Vec::with_capacity(SLOTS);
        for slot in 0..SLOTS {
            if slot % 12 == 0 {
                state = 0.6 * state + 0.8 * self.restless * random.normal();
            }
            mood.push(state.exp());
        }
        mood
    }

    /// Weights of all slots for people of a zone.
    fn plan(&self, zone: i32, calendar: &Calendar, mood: &[f64]) -> Vec<f64> {
        let weight = |slot: usize| {
            let at = slot as u64 * SLOT_MS + SLOT_MS / 2;
            let (day, hour) = calendar.local(at, zone);
            let bell = |&(bell, strength): &(f64, f64)| {
                let since = (hour - bell) * 60.0;
                if (0.0..18.0).contains(&since) {
                    strength
                } else {
                    0.0
                }
            };
            let bells: f64 = self.bells.iter().map(bell).sum();
            let holiday = if calendar.is_holiday(day, zone) {
                self.holiday
            } else {
                1.0
            };
            let base = self.curve.at(hour)
                * (1.0 + bells)
                * self.curve.week[calendar.weekday(day)]
                * holiday;
            let show = 1.0 + self.show * calendar.show(at, zone);
            base * show * mood[slot]
        };
        (0..SLOTS).map(weight).collect()
    }

    /// Weight of the busiest day of all people together.
    fn busiest(&self, plans: &[Vec<f64>], people: &[Person]) -> f64 {
        let mut shares = vec![0.0; plans.len()];
        for person in people {
            shares[person.zone] += 1.0 / people.len() as f64;
        }
        let day = |day: usize| -> f64 {
            let part = |(plan, share): (&Vec<f64>, &f64)| {
                plan[day * DAY_SLOTS..][..DAY_SLOTS].iter().sum::<f64>() * share
            };
            plans.iter().zip(&shares).map(part).sum()
        };
        (0..DAYS).map(day).fold(1e-9, f64::max)
    }

    /// When somebody calls, in order.
    fn calls(&self, person: &Person, plan: &[f64], rate: f64, random: &mut Random) -> Vec<u64> {
        let mut calls = Vec::new();
        for day in 0..DAYS {
            if random.chance(self.days_off) {
                continue;
            }
            let sums = sums(plan[day * DAY_SLOTS..][..DAY_SLOTS].iter().copied());
            let mean = rate * sums.last().copied().unwrap_or_default() * spread(random, 1.0, 0.25)
                / (1.0 - self.days_off);
            // Who means to come comes, where chance alone would leave a regular out.
            let count = random.poisson(mean).max(u32::from(mean > 0.8));
            for _ in 0..count {
                let slot = (day * DAY_SLOTS + draw(&sums, random)) as f64;
                let within =
                    random.unit() + person.phase * self.phase * 3_600_000.0 / SLOT_MS as f64;
                let at = (slot + within) * SLOT_MS as f64;
                if (0.0..(SPAN_MS - MINUTE_MS) as f64).contains(&at) {
                    calls.push(at as u64);
                }
            }
        }
        calls.sort_unstable();
        calls
    }
}
