//! People: when they are at the machine, how often they come, and what they do there, one person at a time.

use std::rc::Rc;

use crate::random::Random;
use crate::scene::Hit;

use super::browse::Browser;
use super::browse::Errand;
use super::browse::Style;
use super::setting::Setting;
use super::setting::local_midnight;
use super::site::DAYS;
use super::site::END_MS;

/// Local hours from and to, and how likely visits are in them.
type Stretch = (f64, f64, f64);

/// How somebody's day goes.
#[derive(Debug, Clone)]
pub(super) enum Rhythm {
    /// Comes to a desk and leaves it; some also come on days off.
    Desk {
        from: f64,
        to: f64,
        lunch: f64,
        weekend: f64,
    },
    /// At home before and after work, and on days off.
    Home,
    /// Lives where the line is, sleeps late.
    Dormitory,
    /// A telephone in a pocket.
    Roaming,
    /// A crew of a rota: slots of these hours, so many crews, and how much quiet nights are read away.
    Rota {
        hours: f64,
        crews: i64,
        crew: i64,
        night: f64,
    },
    /// Comes to a place that opens and closes, and stays for a while.
    Caller {
        opens: f64,
        closes: f64,
        stay: f64,
        often: f64,
        weekend: bool,
    },
    /// Sits in lessons that start for all together: blocks of each day, from the day before the first.
    Lessons { blocks: Rc<Vec<Vec<Lesson>>> },
}

/// One lesson: hours from and to, and the article it is about.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lesson {
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) article: u32,
}

/// Somebody.
#[derive(Debug)]
pub(super) struct Person {
    pub(super) country: usize,
    pub(super) rhythm: Rhythm,
    /// Hours later than others, awake and asleep.
    pub(super) late: f64,
    /// Visits in an hour of full attention.
    pub(super) rate: f64,
    pub(super) browser: Browser,
    pub(super) style: Style,
    /// Edits articles too: share of visits.
    pub(super) edits: f64,
    /// Waits for exam results if in that country.
    pub(super) candidate: bool,
}

fn desk(late: f64, (from, to, lunch): (f64, f64, f64), random: &mut Random) -> Vec<Stretch> {
    if random.chance(0.09) {
        return Vec::new();
    }
    let from = from + 0.4 * late + 0.25 * random.normal();
    let to = (to + 0.3 * late + 0.5 * random.normal()).max(from + 2.0);
    let noon = 12.3 + 0.3 * random.normal();
    let mut stretches = vec![
        (from, noon, 1.0),
        (noon, noon + 0.75, lunch),
        (noon + 0.75, to, 0.9),
    ];
    if random.chance(0.4) {
        // A meeting takes the morning or the afternoon.
        let cut = random.between(0.8, 2.5);
        if random.chance(0.5) {
            stretches[0].0 += cut
        } else {
            stretches[2].0 += cut
        }
    }
    stretches
}

fn home(late: f64, free: bool, random: &mut Random) -> Vec<Stretch> {
    let wake = 7.0 + late + if free { 1.4 } else { 0.0 } + 0.4 * random.normal();
    let sleep = 22.9 + late + 0.5 * random.normal();
    if free {
        let out = random.between(wake, sleep - 3.0);
        return vec![(wake, out, 0.5), (out + 2.5, sleep, 0.8)];
    }
    vec![
        (wake, wake + 0.9, 0.4),
        (17.6 + 0.8 * random.normal(), sleep, 1.0),
    ]
}

fn dormitory(late: f64, free: bool, random: &mut Random) -> Vec<Stretch> {
    let wake = 8.2 + late + if free { 2.0 } else { 0.0 } + 0.7 * random.normal();
    let sleep = 24.6 + late + 0.9 * random.normal();
    let class = random.between(9.0, 13.0);
    let mut stretches = vec![(wake, wake + 1.0, 0.35), (18.8, sleep, 1.0)];
    if free {
        stretches.push((wake + 1.5, 18.0, 0.45));
    } else {
        stretches.push((class + 3.0, 18.0, 0.6));
    }
    if free && random.chance(0.3) {
        stretches.remove(1);
    }
    stretches
}

fn roaming(late: f64, free: bool, random: &mut Random) -> Vec<Stretch> {
    let wake = 6.6 + late + if free { 1.5 } else { 0.0 } + 0.5 * random.normal();
    let sleep = 23.2 + late + 0.6 * random.normal();
    let mut stretches = vec![
        (wake, wake + 0.6, 1.0),
        (sleep - 1.6, sleep, 1.5),
        (wake, sleep, 0.35),
    ];
    if !free {
        stretches.extend([(7.6, 8.7, 0.9), (12.0, 13.2, 1.0), (16.9, 18.6, 0.9)]);
    }
    stretches
}

/// Crews move to the next slot every two days; one more crew than slots means days off.
fn rota(
    day: i64,
    (hours, crews, crew, night): (f64, i64, i64, f64),
    random: &mut Random,
) -> Vec<Stretch> {
    let slot = (crew + (day + 4) / 2).rem_euclid(crews);
    let slots = (24.0 / hours) as i64;
    if slot >= slots || random.chance(0.05) {
        return Vec::new();
    }
    let from = 6.0 + slot as f64 * hours + 0.1 * random.normal();
    let to = from + hours;
    let late = from >= 17.0;
    let pause = from + hours * random.between(0.4, 0.6);
    let density = if late { night } else { 1.0 };
    // The last hour is for reports and handing over.
    vec![
        (from + 0.4, pause, density),
        (
            pause + 0.5,
            to - 0.6,
            density * if late { 0.6 } else { 0.9 },
        ),
    ]
}

impl Person {
    fn stretches(&self, setting: &Setting, day: i64, random: &mut Random) -> Vec<Stretch> {
        let free = setting.free(self.country, day);
        match &self.rhythm {
            Rhythm::Desk { weekend, .. } if free && !random.chance(*weekend) => Vec::new(),
            Rhythm::Desk {
                from, to, lunch, ..
            } => desk(self.late, (*from, *to, *lunch), random),
            Rhythm::Home => home(self.late, free, random),
            Rhythm::Dormitory => dormitory(self.late, free, random),
            Rhythm::Roaming => roaming(self.late, free, random),
            Rhythm::Rota {
                hours,
                crews,
                crew,
                night,
            } => rota(day, (*hours, *crews, *crew, *night), random),
            Rhythm::Caller {
                opens,
                closes,
                stay,
                often,
                weekend,
            } => {
                if free && !weekend || !random.chance(*often) {
                    return Vec::new();
                }
                let from = random.between(*opens, *closes - 0.2);
                vec![(
                    from,
                    (from + random.exponential(*stay) + 0.1).min(*closes),
                    1.0,
                )]
            }
            Rhythm::Lessons { blocks } => {
                let blocks = blocks
                    .get((day + 1) as usize)
                    .map_or(&[][..], Vec::as_slice);
                blocks
                    .iter()
                    .map(|lesson| (lesson.from + 0.1, lesson.to - 0.05, 1.0))
                    .collect()
            }
        }
    }

    /// Everything somebody does in those days. `mood` is how busy each day is for all at the place, from the day before the first.
    pub(super) fn live(
        &mut self,
        setting: &Setting,
        mood: &[f64],
        random: &mut Random,
        hits: &mut Vec<Hit>,
    ) {
        let mut begins: Vec<(f64, Errand)> = Vec::new();
        for day in -1..=DAYS as i64 {
            let midnight = local_midnight(self.country, day);
            let busy = mood[(day + 1) as usize] * (0.5 * random.normal() - 0.12).exp();
            for (from, to, density) in self.stretches(setting, day, random) {
                let hours = (to - from).max(0.0);
                for _ in 0..random.poisson(hours * density * busy * self.rate) {
                    begins.push((midnight + random.between(from, to) * 3600.0, Errand::Browse));
                }
                if random.chance(0.03) && self.rate > 0.05 {
                    // A task that sends somebody here again and again.
                    let start = random.between(from, to);
                    for _ in 0..random.poisson(5.0) {
                        begins.push((
                            midnight + (start + random.exponential(0.5)).min(to) * 3600.0,
                            Errand::Browse,
                        ));
                    }
                }
            }
            self.lessons(midnight, day, random, &mut begins);
        }
        self.results(setting, random, &mut begins);
        begins.sort_by(|one, other| one.0.total_cmp(&other.0));
        self.visits(setting, &begins, random, hits);
    }

    /// All in a class open what the teacher names.
    fn lessons(
        &self,
        midnight: f64,
        day: i64,
        random: &mut Random,
        begins: &mut Vec<(f64, Errand)>,
    ) {
        let Rhythm::Lessons { blocks } = &self.rhythm else {
            return;
        };
        for lesson in blocks
            .get((day + 1) as usize)
            .map_or(&[][..], Vec::as_slice)
        {
            if random.chance(0.9) {
                let after = 240.0 + 60.0 * random.normal() + random.exponential(90.0);
                begins.push((
                    midnight + lesson.from * 3600.0 + after.max(20.0),
                    Errand::Lesson(lesson.article),
                ));
            }
        }
    }

    fn results(&self, setting: &Setting, random: &mut Random, begins: &mut Vec<(f64, Errand)>) {
        if !self.candidate || self.country != setting.exam.country {
            return;
        }
        let number = random.bits() as u32;
        let first = setting.exam.at_s - 120.0 + random.exponential(2_400.0);
        begins.push((first, Errand::Results(number)));
        for _ in 0..random.below(3) {
            begins.push((first + random.exponential(9_000.0), Errand::Results(number)));
        }
    }

    /// Goes through the visits; one that would start during another starts after it, or never if that takes too long.
    fn visits(
        &mut self,
        setting: &Setting,
        begins: &[(f64, Errand)],
        random: &mut Random,
        hits: &mut Vec<Hit>,
    ) {
        let mut free_ms = 0;
        for (begin_s, errand) in begins {
            if *begin_s < 0.0 || *begin_s * 1000.0 >= END_MS as f64 {
                continue;
            }
            let planned_ms = (begin_s * 1000.0) as u64;
            let begin_ms = planned_ms.max(free_ms);
            if begin_ms > planned_ms + 1_200_000 {
                continue;
            }
            if self.edits > 0.0 && random.chance(self.edits) {
                self.browser.edit(setting, begin_ms, random, hits);
                free_ms = begin_ms + 30_000;
                continue;
            }
            free_ms = self
                .browser
                .visit(setting, &self.style, begin_ms, *errand, random, hits)
                + 2_000;
            if random.chance(0.006) && !self.browser.forgets {
                let open = random.exponential(2.5 * 3_600_000.0) as u64;
                let every = *random.pick(&[120.0, 300.0, 600.0]);
                self.browser
                    .leave_tab(free_ms, free_ms + open, every, random, hits);
            }
        }
    }
}
