//! Places with many people behind one address: who is there, on what devices, and how many it takes to be seen so often.

use std::rc::Rc;

use crate::random::Random;
use crate::scene::Hit;

use super::agents::Devices;
use super::browse::Browser;
use super::browse::Style;
use super::people::Lesson;
use super::people::Person;
use super::people::Rhythm;
use super::recipes::Days;
use super::recipes::RECIPES;
use super::recipes::Reach;
use super::recipes::Recipe;
use super::robots::is_heavy;
use super::setting::COUNTRIES;
use super::setting::Setting;
use super::setting::any_country;
use super::site::Client;
use super::site::DAY_MS;
use super::site::DAYS;
use super::site::END_MS;

/// One place.
#[derive(Debug)]
pub(super) struct Place {
    recipe: &'static Recipe,
    countries: Vec<usize>,
    images: Vec<Rc<str>>,
    /// Visits of a person in an hour of attention, at this place.
    rate: f64,
    /// Requests on the busiest day to reach.
    peak: f64,
    /// Hours that differ by place: when it opens, when lessons start.
    shift: f64,
    /// How busy each day is for all.
    mood: Vec<f64>,
    proxy: bool,
    strips: f64,
    lag: f64,
    protocol: &'static str,
    /// Loses power with its town.
    in_town: bool,
}

impl Place {
    pub(super) fn kind(&self) -> &'static str {
        self.recipe.kind
    }

    fn new(recipe: &'static Recipe, setting: &Setting, town: usize, random: &mut Random) -> Place {
        let countries = match recipe.reach {
            Reach::One => vec![home_country(setting, town, random)],
            Reach::Carrier => vec![*random.pick(&setting.carriers)],
            Reach::Several => {
                let first = home_country(setting, town, random);
                let others = (0..1 + random.below(4)).map(|_| any_country(random));
                std::iter::once(first).chain(others).collect()
            }
            Reach::World => (0..14).map(|_| any_country(random)).collect(),
        };
        let managed = recipe.devices == Devices::Managed;
        let fixed = recipe.reach == Reach::One;
        let proxy = managed && random.chance(0.3);
        let (low, high) = recipe.rate;
        let spread = if recipe.days == Days::Alone {
            0.3
        } else {
            0.13
        };
        Place {
            recipe,
            in_town: fixed && countries[0] == town && random.chance(0.6),
            countries,
            images: setting.agents.images(recipe.devices, random),
            rate: low * (high / low).powf(random.unit()),
            peak: (recipe.peak.0 * (recipe.peak.1 * random.normal()).exp())
                .clamp(1_080.0, 60_000.0),
            shift: 0.7 * random.normal(),
            mood: (0..DAYS + 2)
                .map(|_| (spread * random.normal()).exp())
                .collect(),
            proxy,
            strips: if managed && random.chance(0.2) {
                0.97
            } else {
                random.between(0.01, 0.08)
            },
            lag: if recipe.kind == "satellite gateway" {
                6.0
            } else {
                random.between(0.6, 2.2)
            },
            protocol: if proxy || random.chance(0.1) {
                "HTTP/1.1"
            } else {
                "HTTP/2.0"
            },
        }
    }

    /// People come until the place is as busy as it should be: how many they are follows from how often each comes.
    pub(super) fn fill(&self, setting: &Setting, random: &mut Random) -> Vec<Hit> {
        let mut rate = self.rate;
        let most = if self.recipe.days == Days::Alone {
            1
        } else {
            usize::MAX
        };
        loop {
            let (mut hits, mut heads, mut counted, mut days) = (Vec::new(), 0, 0, [0_u32; DAYS]);
            while heads < most && f64::from(days.iter().copied().max().unwrap_or(0)) < self.peak {
                let cut = |hit: &Hit| {
                    let at_s = hit.at_ms as f64 / 1000.0;
                    self.in_town && (setting.cut.0..setting.cut.1).contains(&at_s)
                };
                let mut group = Vec::new();
                for mut person in self.group(setting, rate, random) {
                    person.live(setting, &self.mood, random, &mut group);
                    heads += 1;
                }
                group.retain(|hit: &Hit| hit.at_ms < END_MS && !cut(hit));
                hits.append(&mut group);
                for hit in &hits[counted..] {
                    days[(hit.at_ms / DAY_MS) as usize] += 1;
                }
                counted = hits.len();
            }
            if is_heavy(&hits) {
                return hits;
            }
            // Only somebody alone falls short: nobody else comes.
            rate *= 1.2;
        }
    }

    /// The next people at the place: one, or a class with its teacher.
    fn group(&self, setting: &Setting, rate: f64, random: &mut Random) -> Vec<Person> {
        let size = match self.recipe.days {
            Days::School => 12 + random.below(19),
            Days::Prison => 7 + random.below(9),
            _ => return vec![self.person(setting, None, rate, random)],
        };
        let blocks = Rc::new(self.blocks(setting, random));
        let learner = Rhythm::Lessons { blocks };
        let teacher = Rhythm::Desk {
            from: 7.8 + self.shift * 0.4,
            to: 15.5,
            lunch: 0.5,
            weekend: 0.02,
        };
        let mut group: Vec<Person> = (0..size)
            .map(|_| self.person(setting, Some(learner.clone()), rate, random))
            .collect();
        group.push(self.person(setting, Some(teacher), 0.25, random));
        group
    }

    /// The lessons of one class in which machines are used.
    fn blocks(&self, setting: &Setting, random: &mut Random) -> Vec<Vec<Lesson>> {
        let prison = self.recipe.days == Days::Prison;
        let first = 8.0 + self.shift * 0.4;
        let use_of = random.between(0.12, 0.3);
        let mut days = Vec::new();
        for day in -1..=DAYS as i64 {
            let mut lessons = Vec::new();
            let free = setting.free(self.countries[0], day);
            if prison {
                for (from, to) in [(9.0, 11.25), (13.5, 16.0), (17.75, 19.25)] {
                    if random.chance(if free { 0.12 } else { 0.6 }) {
                        lessons.push(Lesson {
                            from,
                            to,
                            article: random.bits() as u32,
                        });
                    }
                }
            } else if !free {
                for period in 0..7 {
                    // A long break after the second lesson, and another at noon.
                    let rest = [0.0, 0.1, 0.45, 0.55, 0.65, 1.4, 1.5][period];
                    let from = first + period as f64 * 0.75 + rest;
                    if random.chance(use_of) {
                        lessons.push(Lesson {
                            from,
                            to: from + 0.75,
                            article: random.bits() as u32,
                        });
                    }
                }
            }
            days.push(lessons);
        }
        days
    }

    fn person(
        &self,
        setting: &Setting,
        rhythm: Option<Rhythm>,
        rate: f64,
        random: &mut Random,
    ) -> Person {
        let country = *random.pick(&self.countries);
        let rhythm = rhythm.unwrap_or_else(|| self.rhythm(random));
        let lessons = matches!(rhythm, Rhythm::Lessons { .. });
        let (agent, phone) = setting
            .agents
            .person(self.recipe.devices, &self.images, random);
        let client = Client {
            agent,
            protocol: self.protocol,
        };
        // Some read in a language that is not that of the country.
        let lang = if random.chance(0.2) {
            "en"
        } else {
            COUNTRIES[country].lang
        };
        let mut browser = Browser::new(client, lang);
        browser.shared_cache = self.proxy;
        browser.strips = random.chance(self.strips);
        browser.plain = random.chance(if phone { 0.05 } else { 0.015 });
        browser.lag = self.lag * if phone { 1.8 } else { 1.0 };
        browser.forgets = matches!(self.recipe.days, Days::Library | Days::Cafe | Days::Prison);
        let alone = self.recipe.days == Days::Alone;
        let mut style = Style::draw(self.recipe.tastes, self.recipe.pages, random);
        if lessons || alone {
            style.think_s = style.think_s.clamp(12.0, 30.0);
        }
        let young = matches!(
            self.recipe.days,
            Days::School | Days::Phone | Days::Dormitory | Days::Home | Days::Cafe | Days::Campus
        );
        Person {
            country,
            rhythm,
            late: if alone {
                1.6 * random.normal()
            } else {
                0.9 * random.normal()
            },
            // Most come seldom, some all the time.
            rate: if alone {
                rate
            } else {
                rate * (0.9 * random.normal() - 0.4).exp().min(4.0)
            },
            browser,
            style,
            edits: if alone && self.shift > 0.0 {
                0.6
            } else {
                0.004
            },
            candidate: young && random.chance(0.12),
        }
    }

    fn office(&self) -> Rhythm {
        let (from, to) = (8.6 + self.shift * 0.6, 17.3 + self.shift * 0.6);
        desk(from, to, 0.9, 0.04)
    }

    fn rhythm(&self, random: &mut Random) -> Rhythm {
        match self.recipe.days {
            Days::Office => self.office(),
            Days::Campus if random.chance(0.55) => desk(9.4, 18.6, 1.1, 0.22),
            Days::Campus if random.chance(0.25) => self.office(),
            Days::Campus | Days::Dormitory => Rhythm::Dormitory,
            // Some work at home.
            Days::Home if random.chance(0.25) => desk(9.0, 18.0, 0.6, 0.3),
            Days::Home | Days::Guests | Days::School | Days::Prison => Rhythm::Home,
            Days::Phone => Rhythm::Roaming,
            Days::Mixed => match random.below(3) {
                0 => self.office(),
                1 => Rhythm::Home,
                _ => Rhythm::Roaming,
            },
            Days::Eight | Days::Twelve | Days::Newsroom => self.shifts(random),
            Days::Library => Rhythm::Caller {
                opens: 9.0 + self.shift.abs().floor(),
                closes: 19.0 + self.shift.abs().floor(),
                stay: 1.1,
                often: 0.35,
                weekend: self.shift > 0.2,
            },
            Days::Cafe => Rhythm::Caller {
                opens: 9.0,
                closes: 24.5,
                stay: 0.9,
                often: 0.5,
                weekend: true,
            },
            // Whoever lives for this starts at breakfast and ends at night, on all days.
            Days::Alone => desk(8.0, 21.0 + self.shift, 0.2, 0.85),
        }
    }

    /// Where somebody is there around the clock.
    fn shifts(&self, random: &mut Random) -> Rhythm {
        let night = (1.24 + 0.6 * self.shift).max(0.5);
        let crew = random.below(4) as i64;
        let rota = |hours, night| Rhythm::Rota {
            hours,
            crews: 4,
            crew,
            night,
        };
        match (self.recipe.days, random.below(12)) {
            (Days::Twelve, _) => rota(12.0, night),
            // Administration works office hours beside the wards or the telephones.
            (Days::Eight, 0..4) => self.office(),
            (Days::Eight, _) => rota(8.0, night * 0.6),
            (_, 0..4) => rota(8.0, 0.7),
            (_, 4..7) => desk(13.5, 22.5, 0.8, 0.5),
            _ => desk(8.0, 17.0, 0.8, 0.4),
        }
    }
}

fn desk(from: f64, to: f64, lunch: f64, weekend: f64) -> Rhythm {
    Rhythm::Desk {
        from,
        to,
        lunch,
        weekend,
    }
}

/// All places of a world, with as many requests altogether as `budget` allows.
pub(super) fn places(setting: &Setting, budget: f64, random: &mut Random) -> Vec<Place> {
    let town = any_country(random);
    let mut places = Vec::new();
    for recipe in &RECIPES {
        for _ in 0..recipe.count + random.below(2) {
            places.push(Place::new(recipe, setting, town, random));
        }
    }
    // A handful are gateways of whole regions.
    for _ in 0..3 + random.below(3) {
        let kind = *random.pick(&[
            "mobile carrier",
            "mobile carrier",
            "town provider",
            "vpn exit",
            "campus",
        ]);
        let giants: Vec<usize> = (0..places.len())
            .filter(|place| places[*place].kind() == kind)
            .collect();
        let giant = *random.pick(&giants);
        places[giant].peak = 12_000.0 * 5_f64.powf(random.unit());
    }
    let peaks: Vec<f64> = places.iter().map(|place| place.peak).collect();
    let share = shrink(&peaks, budget / 4.2);
    for place in &mut places {
        place.peak = 1_080.0 + (place.peak - 1_080.0) * share;
    }
    places
}

/// Where a place is: the countries in which something happens in those days are seen a little more often.
fn home_country(setting: &Setting, town: usize, random: &mut Random) -> usize {
    loop {
        let country = match random.below(100) {
            0..10 => town,
            10..17 => setting.holiday.0,
            17..25 => setting.exam.country,
            _ => any_country(random),
        };
        // Heavy sources are seen on three days at least, also where all are closed on days off.
        let open = (0..DAYS as i64)
            .filter(|day| !setting.free(country, *day))
            .count();
        if open >= 3 {
            return country;
        }
    }
}

/// By how much what exceeds the least volume must shrink so that all together fit.
pub(super) fn shrink(peaks: &[f64], budget: f64) -> f64 {
    let floor = 1_080.0 * peaks.len() as f64;
    let excess: f64 = peaks.iter().map(|peak| peak - 1_080.0).sum();
    ((budget - floor) / excess.max(1.0)).clamp(0.05, 1.0)
}
