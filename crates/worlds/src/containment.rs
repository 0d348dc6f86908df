//! The unfiltered traffic of a large site, after the PubCrawl paper's data set S2 (section 6.5, Figures 6 and 7, Table 9): nearly all
//! sources send one request a day, a few heavy hitters send half of all requests.
//!
//! The paper speaks of 110 million requests from 11 million sources, 98.7 % of which send a single request, and of a little over 40 %
//! of requests from those. Over one span both cannot hold: 11 million single requests are 10 % of 110 million. They fit if the shares
//! are those of a day, with 11 million sources on each of about four days. So this world has four days, the shares hold on each, and
//! sources with one request are new ones every day.

use std::collections::BTreeMap;

use crate::actor::Actor;
use crate::actor::BROWSERS;
use crate::actor::Label;
use crate::actor::Manners;
use crate::crowd::Errand;
use crate::crowd::FLEETS;
use crate::crowd::Passer;
use crate::habit::Habit;
use crate::people::People;
use crate::plan::DAY;
use crate::plan::Plan;
use crate::random::Random;
use crate::social;
use crate::social::TABLE_8;
use crate::volumes::Band;
use crate::world::Builder;

/// How large the site is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    /// Requests a day.
    daily: f64,
    /// The most that one source sends in a day. Other volumes do not change with the scale, only how many send them.
    heaviest: u32,
}

/// A tenth of the paper's site: 11 million requests in four days.
pub(crate) const TENTH: Scale = Scale {
    daily: 2_750_000.0,
    heaviest: 400_000,
};
/// A hundredth of it.
pub(crate) const HUNDREDTH: Scale = Scale {
    daily: 275_000.0,
    heaviest: 60_000,
};

/// Share of requests by sources with a single one: 'a little over 40 %'.
const SINGLE: f64 = 0.419;
/// Light sources, by the differences of Table 9; up to ten what makes 45 % up to a hundred, and 98.7 % of sources single. From band to
/// band of the table their number falls with the square of the volume.
const LIGHT: [Band; 6] = [
    band(1, 10, 0.016, 2.0),
    band(10, 15, 0.0029, 2.0),
    band(15, 20, 0.0021, 2.0),
    band(20, 25, 0.0018, 2.0),
    band(25, 50, 0.0044, 2.0),
    band(50, 100, 0.0037, 2.0),
];
/// Heavier sources, by its last row. Were they to fall with the square, more than 0.02 % of sources would be here.
const HEAVY: [Band; 5] = [
    band(100, 500, 0.0146, 1.2),
    band(500, 1000, 0.0080, 1.2),
    band(1000, 2000, 0.0107, 1.2),
    band(2000, 5000, 0.0145, 1.2),
    band(5000, 10_000, 0.0160, 1.2),
];
/// Above the last band come those who send all the rest, from tens of thousands to as many as the scale allows.
const HITTERS_ABOVE: u32 = 10_000;
const HITTERS_FALL: f64 = 2.0;

const fn band(above: u32, most: u32, share: f64, falls: f64) -> Band {
    Band {
        above,
        most,
        share,
        falls,
    }
}

/// Share of single requests that are previews of messengers.
const PREVIEWS: f64 = 0.004;

/// Share of addresses that come again the next day. The paper has 81.8 % of heavy users and 66.9 % of crawlers after a month; the
/// crawlers that stay are search engines above all, so others stay less often, as it takes to make that share of all.
const USERS_STAY: f64 = 0.818;
const CRAWLERS_STAY: f64 = 0.669;
const ROBOTS_STAY: f64 = 0.95;

/// Who sends so much.
#[derive(Debug, Clone, Copy)]
enum Who {
    Person,
    Circle(&'static [People]),
    FeedReader,
    /// A crawler of its own under a browser's agent.
    Stealthy,
    /// A program of its own that names itself.
    Tool,
    /// One of the crawlers of the paper's Table 8, by name.
    Campaign(&'static [&'static str]),
}

/// Sources of up to 1000 requests a day, by share of the sources.
const UP_TO_1000: [(f64, Who); 6] = [
    (0.38, Who::Person),
    (
        0.24,
        Who::Circle(&[
            People::Office,
            People::Homes,
            People::School,
            People::PublicPlace,
        ]),
    ),
    (0.12, Who::FeedReader),
    (0.12, Who::Stealthy),
    (0.06, Who::Campaign(&["Gecko/20100101"])),
    (0.08, Who::Tool),
];
/// Sources of up to 10,000.
const UP_TO_10_000: [(f64, Who); 5] = [
    (
        0.42,
        Who::Circle(&[
            People::Office,
            People::WorldCompany,
            People::University,
            People::Gateway,
            People::Shifts,
        ]),
    ),
    (
        0.22,
        Who::Campaign(&[
            "Yahoo Slurp",
            "Feedfetcher",
            "Baiduspider",
            "Voilabot",
            "facebookexternalhit",
        ]),
    ),
    (
        0.14,
        Who::Campaign(&["Gecko/20100101", "TencentTraveler", "false googlebot"]),
    ),
    (0.12, Who::Campaign(&["ICS", "EventMachine", "Gogospider"])),
    (0.10, Who::Stealthy),
];
/// Sources of more than 10,000.
const HITTERS: [(f64, Who); 5] = [
    (0.55, Who::Campaign(&["Bingbot", "Googlebot"])),
    (
        0.2,
        Who::Circle(&[People::Gateway, People::WorldCompany, People::University]),
    ),
    (0.1, Who::Campaign(&["empty agent", "Python-urllib"])),
    (0.1, Who::Campaign(&["Gecko/200805906"])),
    (0.05, Who::Stealthy),
];

/// Fills a world.
pub(crate) fn build(scale: Scale, builder: &mut Builder) {
    let days = builder.span.bins / DAY;
    heavy(scale, days, builder);
    light(scale, days, builder);
}

/// Light sources of all days. People are new ones every day; members of fleets come again.
fn light(scale: Scale, days: usize, builder: &mut Builder) {
    let singles = (scale.daily * SINGLE).round() as usize;
    let mut fleets = FLEETS.each_ref().map(|_| Vec::new());
    for day in 0..days {
        let mut yesterday = fleets;
        // The lightest come first, as they did the day before.
        yesterday.iter_mut().for_each(|fleet| fleet.reverse());
        fleets = FLEETS.each_ref().map(|_| Vec::new());
        let mut volumes = vec![1; singles];
        for band in LIGHT {
            let sources = band.sources(scale.daily);
            volumes.extend(band.volumes(sources, scale.daily, &mut builder.random));
        }
        for volume in volumes {
            let errand = errand(volume, &mut builder.random);
            let address = match errand {
                Errand::Fleet(which) => {
                    let address = again(&mut yesterday[usize::from(which)], builder);
                    fleets[usize::from(which)].push(address);
                    address
                }
                _ => builder.address(),
            };
            builder.crowd.push(Passer {
                address,
                day: day as u8,
                volume: volume as u8,
                errand,
            });
        }
    }
}

fn errand(volume: u32, random: &mut Random) -> Errand {
    let size = match volume {
        1 => 0,
        2..=10 => 1,
        _ => 2,
    };
    let mut place = random.unit();
    for (which, fleet) in (0..).zip(&FLEETS) {
        place -= fleet.shares[size];
        if place < 0.0 {
            return Errand::Fleet(which);
        }
    }
    match volume == 1 && place < PREVIEWS {
        true => Errand::Preview,
        false => Errand::Reading,
    }
}

/// An address that came the day before, or a new one.
fn again(before: &mut Vec<u32>, builder: &mut Builder) -> u32 {
    let stays = builder.random.chance(CRAWLERS_STAY);
    match before.pop().filter(|_| stays) {
        Some(address) => address,
        None => builder.address(),
    }
}

/// A place in the world that one source after the other holds.
struct Slot {
    who: Who,
    label: Label,
    /// The row of Table 8.
    row: usize,
    /// Requests a day.
    daily: f64,
}

/// A source from its first day to its last.
struct Stay {
    actor: Actor,
    first: usize,
    last: usize,
}

/// Heavier sources of all days.
fn heavy(scale: Scale, days: usize, builder: &mut Builder) {
    let lighter: f64 = LIGHT.iter().chain(&HEAVY).map(|band| band.share).sum();
    let rest = 1.0 - SINGLE - lighter;
    let hitters = band(HITTERS_ABOVE, scale.heaviest, rest, HITTERS_FALL);
    let bands: Vec<Band> = HEAVY.into_iter().chain([hitters]).collect();
    let slots: Vec<Vec<Slot>> = bands
        .iter()
        .map(|band| slots(*band, scale.daily, &mut builder.random))
        .collect();
    let crawlers_stay = others_stay(slots.iter().flatten());
    let campaigns: Vec<Campaign> = TABLE_8
        .iter()
        .map(|row| Campaign::new(row, builder))
        .collect();
    let mut stays = Vec::new();
    for (band, slots) in bands.into_iter().zip(&slots) {
        let mut of_band = Vec::new();
        for slot in slots {
            let share = match slot.label {
                Label::User => USERS_STAY,
                Label::Legitimate | Label::Automated => ROBOTS_STAY,
                Label::Unauthorized | Label::Masquerading => crawlers_stay,
            };
            hold(slot, share, days, &campaigns, &mut of_band, builder);
        }
        for day in 0..days {
            let volumes = band.volumes(slots.len(), scale.daily, &mut builder.random);
            settle(day, &volumes, &mut of_band, &mut builder.random);
        }
        stays.append(&mut of_band);
    }
    let mut members: BTreeMap<String, usize> = BTreeMap::new();
    for name in stays.iter().filter_map(|stay| stay.actor.campaign.clone()) {
        *members.entry(name).or_default() += 1;
    }
    for stay in stays {
        let mut actor = stay.actor;
        // One source is no campaign.
        actor.campaign = actor
            .campaign
            .filter(|name| members.get(name).is_some_and(|members| *members > 1));
        builder.add(actor);
    }
}

/// The slots of a band, each kind of source in its share and at all volumes.
fn slots(band: Band, daily: f64, random: &mut Random) -> Vec<Slot> {
    let parts: &[(f64, Who)] = match band.most {
        ..=1000 => &UP_TO_1000,
        1001..=HITTERS_ABOVE => &UP_TO_10_000,
        _ => &HITTERS,
    };
    let volumes = band.volumes(band.sources(daily), daily, random);
    let start = random.unit();
    let slot = |(number, volume): (usize, u32)| {
        // Steps by the golden ratio fill any number of slots evenly.
        let mut place = (start + number as f64 * 0.618_034).fract();
        let who = parts.iter().find(|(share, _)| {
            place -= share;
            place < 0.0
        });
        let who = who.map_or(Who::Person, |(_, who)| *who);
        let name = match who {
            Who::Campaign(names) => random.pick(names),
            _ => "",
        };
        let row = TABLE_8.iter().position(|row| row.name == name);
        Slot {
            who,
            label: match who {
                Who::Person | Who::Circle(_) => Label::User,
                Who::FeedReader => Label::Automated,
                Who::Stealthy => Label::Masquerading,
                Who::Tool => Label::Unauthorized,
                Who::Campaign(_) => row.map_or(Label::Legitimate, |row| TABLE_8[row].label),
            },
            row: row.unwrap_or_default(),
            daily: f64::from(volume),
        }
    };
    volumes.into_iter().enumerate().map(slot).collect()
}

/// How often crawlers other than search engines stay, so that of all crawlers as many do as in the paper.
fn others_stay<'a>(slots: impl Iterator<Item = &'a Slot>) -> f64 {
    let (mut engines, mut others) = (0.0, 0.0_f64);
    for slot in slots {
        match slot.label {
            Label::Legitimate => engines += 1.0,
            Label::Unauthorized | Label::Masquerading => others += 1.0,
            Label::User | Label::Automated => {}
        }
    }
    let staying = CRAWLERS_STAY * (engines + others) - ROBOTS_STAY * engines;
    (staying / others.max(1.0)).clamp(0.0, 1.0)
}

/// The sources that hold a slot, one after the other.
fn hold(
    slot: &Slot,
    stays: f64,
    days: usize,
    campaigns: &[Campaign],
    all: &mut Vec<Stay>,
    builder: &mut Builder,
) {
    let mut first = 0;
    for day in 1..=days {
        if day < days && builder.random.chance(stays) {
            continue;
        }
        let mut actor = newcomer(slot, campaigns, builder);
        actor.draw(builder.span.bins, &mut builder.random);
        let bins = first * DAY..day * DAY;
        for (bin, count) in actor.counts.iter_mut().enumerate() {
            if !bins.contains(&bin) {
                *count = 0;
            }
        }
        all.push(Stay {
            actor,
            first,
            last: day - 1,
        });
        first = day;
    }
}

/// What the members of a campaign share.
struct Campaign {
    habit: Habit,
    /// For one request a day.
    plan: Plan,
    manners: Manners,
    networks: Vec<u32>,
}

impl Campaign {
    fn new(row: &social::Row, builder: &mut Builder) -> Campaign {
        let habit = *builder.random.pick(row.habits);
        let plan = Plan::crawler(habit, 1.0, builder.span, &mut builder.random);
        let manners = social::manners(row.label, row.agent, &mut builder.random);
        let networks = (0..row.size.1).map(|_| builder.network()).collect();
        Campaign {
            habit,
            plan,
            manners,
            networks,
        }
    }
}

fn newcomer(slot: &Slot, campaigns: &[Campaign], builder: &mut Builder) -> Actor {
    let alone: &[Habit] = match slot.who {
        Who::Person => return social::person(slot.daily, 4, builder),
        Who::Circle(circles) => {
            let people = *builder.random.pick(circles);
            let plan = Plan::people(people, slot.daily, builder.span, &mut builder.random);
            let manners = Manners::people(&mut builder.random, 4);
            return actor(slot, builder.address(), people.name(), manners, plan);
        }
        Who::Campaign(_) => {
            let campaign = &campaigns[slot.row];
            let plan = campaign.plan.for_member(slot.daily);
            let (habit, manners) = (campaign.habit.name(), campaign.manners.clone());
            let network = *builder.random.pick(&campaign.networks);
            let address = builder.address_in(network);
            return Actor {
                campaign: Some(TABLE_8[slot.row].name.to_owned()),
                ..actor(slot, address, habit, manners, plan)
            };
        }
        Who::FeedReader => &[Habit::Feed, Habit::Even, Habit::Steady],
        Who::Stealthy => &[
            Habit::Mimic,
            Habit::NightPause,
            Habit::OnOff,
            Habit::Drift,
            Habit::Cron,
        ],
        Who::Tool => &[Habit::Cron, Habit::Bursts, Habit::Steady, Habit::Queue],
    };
    let habit = *builder.random.pick(alone);
    let agent = match slot.who {
        Who::FeedReader => {
            "Feedly/1.0 (+http://www.feedly.com/fetcher.html; like FeedFetcher-Google)"
        }
        Who::Tool => builder.random.pick(&[
            "python-requests/2.32.3",
            "curl/7.21.0",
            "Java/1.6.0_26",
            "Wget/1.12 (linux-gnu)",
        ]),
        _ => builder.random.pick(&BROWSERS),
    };
    let manners = social::manners(slot.label, agent, &mut builder.random);
    let plan = Plan::crawler(habit, slot.daily, builder.span, &mut builder.random);
    actor(slot, builder.address(), habit.name(), manners, plan)
}

fn actor(slot: &Slot, address: u32, habit: &'static str, manners: Manners, plan: Plan) -> Actor {
    Actor {
        address,
        label: slot.label,
        campaign: None,
        habit,
        manners,
        plans: vec![plan],
        counts: Vec::new(),
    }
}

/// Brings the sources of a band to the volumes of a day. Who meant to send most sends most: an office that is empty on Sunday falls
/// back among its like.
fn settle(day: usize, volumes: &[u32], stays: &mut [Stay], random: &mut Random) {
    let bins = day * DAY..(day + 1) * DAY;
    let mut present: Vec<&mut Stay> = stays
        .iter_mut()
        .filter(|stay| (stay.first..=stay.last).contains(&day))
        .collect();
    present.sort_by_key(|stay| stay.actor.counts[bins.clone()].iter().sum::<u32>());
    for (stay, volume) in present.into_iter().zip(volumes) {
        bring_to(*volume, &mut stay.actor.counts[bins.clone()], random);
    }
}

/// Brings the sum of counts to a volume; what is left over by rounding falls by chance.
fn bring_to(volume: u32, counts: &mut [u32], random: &mut Random) {
    if counts.iter().all(|count| *count == 0) {
        // It meant to rest, but it is one of those who came: for some hours.
        let length = 2 + random.below(8) as usize;
        let start = random.below((counts.len() - length) as u64) as usize;
        counts[start..start + length].fill(1);
    }
    let sum: u64 = counts.iter().map(|count| u64::from(*count)).sum();
    let offset = random.below(sum);
    let (mut before, mut given) = (0, 0);
    for count in counts {
        before += u64::from(*count);
        let now = (before * u64::from(volume) + offset) / sum;
        *count = (now - given) as u32;
        given = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::volumes::TABLE_9;
    use crate::volumes::TABLE_9_K1;
    use crate::volumes::TABLE_9_K2;
    use crate::world::Kind;
    use crate::world::World;

    /// The small world. Its last band has one source, which cannot send fewer than 5001: 1.8 % of requests, not 1.6 %.
    #[test]
    fn the_long_tail_is_that_of_the_paper() {
        for seed in 1..=2 {
            let volumes = World::new(Kind::ContainmentSmall, seed).volumes();
            let near = |found: f64, paper: f64, within: f64| {
                assert!((found - paper).abs() <= within, "{found} {paper}");
            };
            for (k1, row) in TABLE_9_K1.into_iter().zip(TABLE_9) {
                for (k2, paper) in TABLE_9_K2.into_iter().zip(row) {
                    let within = if k2 == 10_000 { 0.25 } else { 0.03 };
                    near(volumes.requests_between(k1, k2), paper, within);
                }
            }
            near(volumes.sources_up_to(1), 98.75, 0.05);
            near(volumes.sources_up_to(100), 99.98, 0.007);
            near(volumes.requests_up_to(1), 41.9, 0.2);
            near(volumes.requests_up_to(100), 45.0, 0.2);
            near(100.0 - volumes.requests_up_to(10_000), 48.6, 0.3);
            near(volumes.requests() as f64, 1_100_000.0, 5000.0);
            near(volumes.sources() as f64, 466_700.0, 200.0);
        }
    }

    #[test]
    fn heavier_sources_come_again_as_in_the_paper() {
        let mut all = [[0.0; 2]; 2];
        for seed in 1..=4 {
            let mut builder = Builder::new(Kind::Containment, seed);
            let days = builder.span.bins / DAY;
            heavy(TENTH, days, &mut builder);
            for actor in builder.actors() {
                let came: Vec<bool> = actor
                    .counts
                    .chunks(DAY)
                    .map(|day| day.iter().any(|count| *count > 0))
                    .collect();
                let of = match actor.label {
                    Label::User => 0,
                    Label::Automated => continue,
                    _ => 1,
                };
                for two in came.windows(2).filter(|two| two[0]) {
                    all[of][usize::from(two[1])] += 1.0;
                }
            }
        }
        let shares = all.map(|[gone, again]| again / (gone + again));
        assert!((shares[0] - USERS_STAY).abs() < 0.04, "{shares:?}");
        assert!((shares[1] - CRAWLERS_STAY).abs() < 0.04, "{shares:?}");
    }

    #[test]
    fn every_class_is_there_at_every_volume() {
        let mut builder = Builder::new(Kind::Containment, 1);
        heavy(TENTH, 4, &mut builder);
        let count = |least: u32, most: u32, label: Label| {
            let days = builder.actors().iter().filter(|actor| actor.label == label);
            days.flat_map(|actor| actor.counts.chunks(DAY))
                .map(|day| day.iter().sum::<u32>())
                .filter(|volume| (least..most).contains(volume))
                .count()
        };
        for (least, most) in [(101, 1001), (1001, 10_001), (10_001, 400_001)] {
            for label in [Label::User, Label::Unauthorized, Label::Masquerading] {
                assert!(count(least, most, label) > 3, "{least} {label:?}");
            }
        }
        assert!(count(10_001, 400_001, Label::Legitimate) > 40);
    }
}
