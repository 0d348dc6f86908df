//! What all people and programs of one world share: the site, the countries, the calendar and what happens in those days.

use crate::random::Random;

use super::agents::Agents;
use super::site::DAYS;
use super::site::Site;

/// Where people live.
#[derive(Debug)]
pub(super) struct Country {
    /// Hours ahead of UTC.
    pub(super) zone: f64,
    pub(super) lang: &'static str,
    /// Days off, Monday being 0.
    weekend: [i64; 2],
    /// How many of the world's readers live here.
    share: f64,
}

const fn country(zone: f64, lang: &'static str, weekend: [i64; 2], share: f64) -> Country {
    Country {
        zone,
        lang,
        weekend,
        share,
    }
}

/// The countries, from west to east.
pub(super) const COUNTRIES: [Country; 20] = [
    country(-8.0, "en", [5, 6], 6.0),
    country(-6.0, "en", [5, 6], 7.0),
    country(-6.0, "es", [5, 6], 4.0),
    country(-5.0, "en", [5, 6], 10.0),
    country(-5.0, "es", [5, 6], 3.0),
    country(-3.0, "pt", [5, 6], 6.0),
    country(0.0, "en", [5, 6], 8.0),
    country(1.0, "de", [5, 6], 8.0),
    country(1.0, "fr", [5, 6], 7.0),
    country(1.0, "fr", [4, 5], 2.0),
    country(1.0, "en", [5, 6], 4.0),
    country(2.0, "ar", [4, 5], 4.0),
    country(3.0, "tr", [5, 6], 3.0),
    country(3.5, "fa", [3, 4], 2.0),
    country(5.0, "en", [5, 6], 3.0),
    country(5.5, "en", [6, 6], 11.0),
    country(7.0, "id", [5, 6], 5.0),
    country(8.0, "zh", [5, 6], 5.0),
    country(9.0, "ja", [5, 6], 6.0),
    country(11.0, "en", [5, 6], 3.0),
];

/// The day on which exam results come out: seconds since the start of the world.
#[derive(Debug, Clone, Copy)]
pub(super) struct Exam {
    pub(super) country: usize,
    pub(super) at_s: f64,
}

/// One world's days.
#[derive(Debug)]
pub(super) struct Setting {
    pub(super) site: Site,
    pub(super) agents: Agents,
    /// Weekday of the first day, Monday being 0.
    pub(super) first_weekday: i64,
    /// A religious holiday: country and day.
    pub(super) holiday: (usize, i64),
    pub(super) exam: Exam,
    /// A power cut in one town: seconds from and to. Who lives there is drawn by place.
    pub(super) cut: (f64, f64),
    /// The countries whose mobile carriers are seen.
    pub(super) carriers: Vec<usize>,
}

impl Setting {
    pub(super) fn new(first_weekday: i64, random: &mut Random) -> Setting {
        let site = Site::new(random);
        let agents = Agents::new(random);
        let mut setting = Setting {
            site,
            agents,
            first_weekday,
            holiday: (0, i64::MAX),
            exam: Exam {
                country: 0,
                at_s: 0.0,
            },
            cut: (0.0, 0.0),
            carriers: Vec::new(),
        };
        setting.holiday = setting.holiday(random);
        setting.exam = setting.exam_day(random);
        let from = random.between(1.2, 3.6) * 86_400.0;
        setting.cut = (from, from + random.between(1.5, 6.0) * 3600.0);
        for _ in 0..1 + random.below(3) {
            // The rush for results is seen best from telephones.
            let rush = random.chance(0.35);
            let country = if rush {
                setting.exam.country
            } else {
                any_country(random)
            };
            setting.carriers.push(country);
        }
        setting
    }

    /// A holiday falls on a day that would be a working day.
    fn holiday(&self, random: &mut Random) -> (usize, i64) {
        loop {
            let (country, day) = (any_country(random), random.below(DAYS as u64) as i64);
            if !self.free(country, day) {
                return (country, day);
            }
        }
    }

    /// Results come out in the morning of a working day.
    fn exam_day(&self, random: &mut Random) -> Exam {
        let country = any_country(random);
        let first = random.below(DAYS as u64) as i64;
        let days = (0..DAYS as i64).map(|step| (first + step) % DAYS as i64);
        let day = days
            .into_iter()
            .find(|day| !self.free(country, *day))
            .unwrap_or(first);
        let hour = *random.pick(&[7.0, 8.0, 8.5, 9.0, 10.0, 12.0]);
        let at_s = local_midnight(country, day) + hour * 3600.0;
        Exam { country, at_s }
    }

    /// True where offices and schools are closed.
    pub(super) fn free(&self, country: usize, day: i64) -> bool {
        let weekday = (self.first_weekday + day).rem_euclid(7);
        COUNTRIES[country].weekend.contains(&weekday) || self.holiday == (country, day)
    }
}

/// Seconds from the start of the world to the start of a local day.
pub(super) fn local_midnight(country: usize, day: i64) -> f64 {
    day as f64 * 86_400.0 - COUNTRIES[country].zone * 3600.0
}

/// A country, by its readers.
pub(super) fn any_country(random: &mut Random) -> usize {
    let total: f64 = COUNTRIES.iter().map(|country| country.share).sum();
    let mut left = random.unit() * total;
    for (number, country) in COUNTRIES.iter().enumerate() {
        left -= country.share;
        if left < 0.0 {
            return number;
        }
    }
    COUNTRIES.len() - 1
}
