//! A town's newspaper: tens of thousands of readers, each from an address of their own with a few visits; and, where there are any,
//! fleets that send a few requests a day from each of hundreds or thousands of addresses.

use crate::actor::Actor;
use crate::actor::BROWSERS;
use crate::actor::Label;
use crate::actor::Manners;
use crate::actor::Referrer;
use crate::habit::Habit;
use crate::people::People;
use crate::plan::Plan;
use crate::world::Builder;

/// Readers.
const READERS: usize = 25_000;

/// Agents that some dozens or hundreds of readers have, and nobody else: old telephones, browsers inside of other programs.
pub(crate) const SELDOM: [(&str, usize); 8] = [
    (
        "Mozilla/5.0 (iPhone; CPU iPhone OS 12_5_7 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/12.1.2 Mobile/15E148 Safari/604.1",
        120,
    ),
    (
        "Mozilla/5.0 (Linux; Android 7.0; SM-G930F) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/119.0.0.0 Mobile Safari/537.36",
        60,
    ),
    (
        "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 Instagram 357.0.0.29.98",
        300,
    ),
    (
        "Mozilla/5.0 (Windows NT 6.1; Win64; x64; rv:115.0) Gecko/20100101 Firefox/115.0",
        90,
    ),
    (
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36 OPR/116.0.0.0",
        40,
    ),
    (
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_13_6) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/13.1.2 Safari/605.1.15",
        35,
    ),
    (
        "Mozilla/5.0 (Windows NT 10.0; WOW64; Trident/7.0; rv:11.0) like Gecko",
        25,
    ),
    (
        "Mozilla/5.0 (Android 14; Mobile; rv:133.0) Gecko/133.0 Firefox/133.0",
        400,
    ),
];

/// A fleet.
struct Fleet {
    name: &'static str,
    members: usize,
    agents: &'static [&'static str],
    habit: Habit,
    /// It loads pages as a browser does, and follows links.
    is_browser: bool,
}

const FLEETS: [Fleet; 5] = [
    Fleet {
        name: "300 with an odd agent",
        members: 300,
        agents: &[
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/117.0.5938.92 Safari/537.36",
        ],
        habit: Habit::Even,
        is_browser: false,
    },
    Fleet {
        name: "3000 with two odd agents",
        members: 3000,
        agents: &[
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/103.0.5060.114 Safari/537.36",
            "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_14_6) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/103.0.5060.53 Safari/537.36",
        ],
        habit: Habit::NightPause,
        is_browser: false,
    },
    Fleet {
        name: "30000 with an odd agent",
        members: 30_000,
        agents: &[
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/122.0.6261.69 Safari/537.36",
        ],
        habit: Habit::Mimic,
        is_browser: false,
    },
    Fleet {
        name: "3000 with a common agent",
        members: 3000,
        agents: &[BROWSERS[0]],
        habit: Habit::Mimic,
        is_browser: false,
    },
    Fleet {
        name: "300 browsers",
        members: 300,
        agents: &[BROWSERS[7]],
        habit: Habit::Mimic,
        is_browser: true,
    },
];

/// Requests a day of a member, and requests of a reader on an average day with all parts of pages.
const MEMBER_DAILY: f64 = 5.0;
const READER_DAILY: f64 = 10.0;

/// Fills a town, with fleets or without.
pub(crate) fn build(has_fleets: bool, builder: &mut Builder) {
    for _ in 0..READERS {
        let agent = *builder.random.pick(&BROWSERS);
        reader(agent, builder);
    }
    for (agent, readers) in SELDOM {
        for _ in 0..readers {
            reader(agent, builder);
        }
    }
    if has_fleets {
        for fleet in &FLEETS {
            send(fleet, builder);
        }
    }
}

fn reader(agent: &'static str, builder: &mut Builder) {
    let circles = [People::Homes, People::Gateway, People::Office];
    let people = *builder.random.pick(&circles);
    let daily = builder.random.exponential(READER_DAILY);
    let plan = Plan::people(people, daily, builder.span, &mut builder.random);
    let parts = *builder.random.pick(&[4, 4, 3, 1]);
    let mut manners = Manners::people(&mut builder.random, parts);
    manners.agents = vec![agent];
    // Some browsers keep to themselves where they come from.
    if builder.random.chance(0.06) {
        manners.referrer = Referrer::Empty;
    }
    let actor = Actor {
        address: builder.address(),
        label: Label::User,
        campaign: None,
        habit: "reader",
        manners,
        plans: vec![plan],
        counts: Vec::new(),
    };
    builder.add(actor);
}

fn send(fleet: &Fleet, builder: &mut Builder) {
    let daily = MEMBER_DAILY * if fleet.is_browser { 5.0 } else { 1.0 };
    let plan = Plan::crawler(fleet.habit, daily, builder.span, &mut builder.random);
    for member in 0..fleet.members {
        let agent = fleet.agents[member % fleet.agents.len()];
        let mut manners = Manners::plain_robot(agent, &mut builder.random);
        manners.ordered = 0.0;
        manners.even = false;
        if fleet.is_browser {
            manners = Manners::people(&mut builder.random, 4);
            manners.agents = vec![agent];
        }
        let share = builder.random.between(0.8, 1.2);
        let actor = Actor {
            address: builder.address(),
            label: Label::Masquerading,
            campaign: Some(fleet.name.to_owned()),
            habit: fleet.habit.name(),
            manners,
            plans: vec![plan.for_member(share)],
            counts: Vec::new(),
        };
        builder.add(actor);
    }
}
