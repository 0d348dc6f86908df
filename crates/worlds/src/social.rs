//! A social network, after the PubCrawl paper: crawlers by class as in its data sets, campaigns of its Table 8, evasions of its
//! Table 13.

use crate::actor::Actor;
use crate::actor::BROWSERS;
use crate::actor::Cookie;
use crate::actor::Label;
use crate::actor::Manners;
use crate::habit::Habit;
use crate::headers;
use crate::people::People;
use crate::plan::Plan;
use crate::random::Random;
use crate::world::Builder;

/// Sources by class: users, legitimate, unauthorized, masquerading.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mix(pub(crate) [usize; 4]);

/// The paper's training set: 709 crawlers and 104 users, crawlers by class as in its test set.
pub(crate) const TRAINING: Mix = Mix([104, 485, 52, 172]);
/// The paper's test set of 763: 5 % users, 65 % legitimate, 7 % unauthorized, 23 % masquerading.
pub(crate) const TEST: Mix = Mix([38, 497, 53, 175]);

/// A row of Table 8.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) agent: &'static str,
    pub(crate) label: Label,
    /// Schedules, /24 networks, addresses.
    pub(crate) size: (usize, usize, usize),
    pub(crate) habits: &'static [Habit],
}

pub(crate) const TABLE_8: [Row; 17] = [
    row(
        "Bingbot",
        "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)",
        Label::Legitimate,
        (5, 11, 211),
        &[Habit::Drift, Habit::Levels, Habit::Even],
    ),
    row(
        "Googlebot",
        "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
        Label::Legitimate,
        (5, 2, 42),
        &[Habit::Drift, Habit::Steady, Habit::Levels],
    ),
    row(
        "Feedfetcher",
        "FeedFetcher-Google; (+http://www.google.com/feedfetcher.html)",
        Label::Legitimate,
        (4, 4, 65),
        &[Habit::Feed],
    ),
    row(
        "Yahoo Slurp",
        "Mozilla/5.0 (compatible; Yahoo! Slurp; http://help.yahoo.com/help/us/ysearch/slurp)",
        Label::Legitimate,
        (4, 9, 71),
        &[Habit::Levels, Habit::Square, Habit::Drift],
    ),
    row(
        "Baiduspider",
        "Mozilla/5.0 (compatible; Baiduspider/2.0; +http://www.baidu.com/search/spider.html)",
        Label::Legitimate,
        (1, 1, 23),
        &[Habit::Square, Habit::OnOff],
    ),
    row(
        "Voilabot",
        "Mozilla/5.0 (Windows; U; Windows NT 5.1; fr; rv:1.8.1) VoilaBot BETA 1.2 (support.voilabot@orange-ftgroup.com)",
        Label::Legitimate,
        (3, 3, 20),
        &[Habit::Queue, Habit::Cron],
    ),
    row(
        "facebookexternalhit",
        "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)",
        Label::Legitimate,
        (1, 1, 8),
        &[Habit::Feed],
    ),
    row(
        "empty agent",
        "-",
        Label::Unauthorized,
        (2, 16, 22),
        &[Habit::OnOff, Habit::Steady],
    ),
    row(
        "Python-urllib",
        "Python-urllib/1.17",
        Label::Unauthorized,
        (2, 51, 54),
        &[Habit::Bursts, Habit::Even, Habit::OnOff],
    ),
    row(
        "ICS",
        "Mozilla(compatible;ICS)",
        Label::Unauthorized,
        (1, 10, 10),
        &[Habit::Cron, Habit::Steady],
    ),
    row(
        "EventMachine",
        "EventMachine HttpClient",
        Label::Unauthorized,
        (1, 3, 3),
        &[Habit::Square],
    ),
    row(
        "Gogospider",
        "Gogospider",
        Label::Unauthorized,
        (1, 2, 3),
        &[Habit::Queue],
    ),
    row(
        "Gecko/200805906",
        "Mozilla/5.0 (Windows; U; Windows NT 5.1; en-US; rv:1.8.1) Gecko/200805906 FireFox/2.0.0.14",
        Label::Masquerading,
        (1, 10, 73),
        &[Habit::Square, Habit::NightPause],
    ),
    row(
        "Gecko/20100101",
        "Mozilla/5.0 (Windows NT 6.1; rv:5.0) Gecko/20100101 FireFox/5.0",
        Label::Masquerading,
        (9, 12, 25),
        &[Habit::OnOff, Habit::Bursts],
    ),
    row(
        "TencentTraveler",
        "Mozilla/4.0 (compatible; MSIE 6.0; Windows NT 5.2; TencentTraveler)",
        Label::Masquerading,
        (1, 1, 30),
        &[Habit::Cron, Habit::Levels],
    ),
    row(
        "Mac OS X",
        "Mozilla(compatible; Mac OS X)",
        Label::Masquerading,
        (1, 1, 4),
        &[Habit::Steady],
    ),
    row(
        "false googlebot",
        "googlebot(crawl@google.com)",
        Label::Masquerading,
        (1, 1, 4),
        &[Habit::Square],
    ),
];

const fn row(
    name: &'static str,
    agent: &'static str,
    label: Label,
    size: (usize, usize, usize),
    habits: &'static [Habit],
) -> Row {
    Row {
        name,
        agent,
        label,
        size,
        habits,
    }
}

/// Habits of crawlers that belong to no campaign, by class.
const ALONE: [(Label, &[Habit]); 3] = [
    (
        Label::Legitimate,
        &[
            Habit::Drift,
            Habit::Levels,
            Habit::Even,
            Habit::Queue,
            Habit::Feed,
            Habit::Nights,
        ],
    ),
    (
        Label::Unauthorized,
        &[
            Habit::Steady,
            Habit::Even,
            Habit::Bursts,
            Habit::Cron,
            Habit::OnOff,
            Habit::Queue,
        ],
    ),
    (
        Label::Masquerading,
        &[
            Habit::NightPause,
            Habit::Mimic,
            Habit::Square,
            Habit::Steady,
            Habit::Cron,
            Habit::OnOff,
            Habit::Nights,
            Habit::Bursts,
        ],
    ),
];

/// Share of each class that belongs to campaigns.
const IN_CAMPAIGNS: f64 = 0.75;

/// Fills a world.
pub(crate) fn build(mix: Mix, builder: &mut Builder) {
    for _ in 0..mix.0[0] {
        let user = user(builder);
        builder.add(user);
    }
    let classes = [Label::Legitimate, Label::Unauthorized, Label::Masquerading];
    for (label, wanted) in classes.into_iter().zip(&mix.0[1..]) {
        let members: usize = TABLE_8
            .iter()
            .filter(|row| row.label == label)
            .map(|row| row.size.2)
            .sum();
        let scale = *wanted as f64 * IN_CAMPAIGNS / members as f64;
        let before = builder.len();
        for row in TABLE_8.iter().filter(|row| row.label == label) {
            campaign(row, scale, builder);
        }
        for _ in builder.len() - before..*wanted {
            let alone = alone(label, builder);
            builder.add(alone);
        }
    }
    headers::settle(builder);
}

/// A proxy with people behind it; some universities have a crawler among them.
fn user(builder: &mut Builder) -> Actor {
    let daily = builder.volume();
    if builder.random.chance(PERSONS) {
        return person(daily, 0, builder);
    }
    let people = *builder.random.pick(&People::ALL);
    let mut plans = vec![Plan::people(
        people,
        daily,
        builder.span,
        &mut builder.random,
    )];
    let mixed = people == People::University && builder.random.chance(0.25);
    if mixed {
        let share = builder.random.between(0.05, 0.25);
        let habit = *builder
            .random
            .pick(&[Habit::Even, Habit::Square, Habit::Cron]);
        plans.push(Plan::crawler(
            habit,
            daily * share,
            builder.span,
            &mut builder.random,
        ));
    }
    let parts = 0;
    Actor {
        address: builder.address(),
        label: Label::User,
        campaign: None,
        habit: if mixed {
            "university with a crawler"
        } else {
            people.name()
        },
        manners: Manners::people(&mut builder.random, parts),
        plans,
        counts: Vec::new(),
    }
}

/// Share of users that are one person, not a proxy of many.
const PERSONS: f64 = 0.1;

/// One person who is on the site for hours.
pub(crate) fn person(daily: f64, parts: u32, builder: &mut Builder) -> Actor {
    let plan = Plan::person(daily, builder.span, &mut builder.random);
    let mut manners = Manners::people(&mut builder.random, parts);
    manners.agents.truncate(1);
    Actor {
        address: builder.address(),
        label: Label::User,
        campaign: None,
        habit: "one person",
        manners,
        plans: vec![plan],
        counts: Vec::new(),
    }
}

/// A campaign: schedules that its members share.
fn campaign(row: &Row, scale: f64, builder: &mut Builder) {
    let members = ((row.size.2 as f64 * scale).round() as usize).max(3);
    let schedules = row.size.0.min(members / 3).max(1);
    let plans: Vec<(Habit, Plan)> = (0..schedules)
        .map(|_| {
            let habit = *builder.random.pick(row.habits);
            let daily = builder.volume();
            (
                habit,
                Plan::crawler(habit, daily, builder.span, &mut builder.random),
            )
        })
        .collect();
    let manners = manners(row.label, row.agent, &mut builder.random);
    let networks: Vec<u32> = (0..row.size.1.min(members))
        .map(|_| builder.network())
        .collect();
    for member in 0..members {
        let (habit, plan) = &plans[member % schedules];
        let share = builder.random.between(0.9, 1.1);
        let address = builder.address_in(networks[member % networks.len()]);
        builder.add(Actor {
            address,
            label: row.label,
            campaign: Some(format!("{} {}", row.name, member % schedules + 1)),
            habit: habit.name(),
            manners: manners.clone(),
            plans: vec![plan.for_member(share)],
            counts: Vec::new(),
        });
    }
}

fn alone(label: Label, builder: &mut Builder) -> Actor {
    let habits = ALONE
        .iter()
        .find(|(of, _)| *of == label)
        .map_or(&[Habit::Even][..], |(_, habits)| habits);
    let habit = *builder.random.pick(habits);
    let agent = match label {
        Label::Legitimate => "Mozilla/5.0 (compatible; YandexBot/3.0; +http://yandex.com/bots)",
        Label::Unauthorized => builder.random.pick(&[
            "Java/1.6.0_26",
            "libwww-perl/5.834",
            "Wget/1.12 (linux-gnu)",
            "curl/7.21.0",
            "YooiBot/1.0",
            "Exabot/3.0",
        ]),
        _ => builder.random.pick(&BROWSERS),
    };
    let daily = builder.volume();
    Actor {
        address: builder.address(),
        label,
        campaign: None,
        habit: habit.name(),
        manners: manners(label, agent, &mut builder.random),
        plans: vec![Plan::crawler(
            habit,
            daily,
            builder.span,
            &mut builder.random,
        )],
        counts: Vec::new(),
    }
}

/// Manners of a class under an agent.
pub(crate) fn manners(label: Label, agent: &'static str, random: &mut Random) -> Manners {
    match label {
        Label::Masquerading => {
            let row = 2 + random.below(6) as usize;
            Manners::evasion(row, agent, random)
        }
        Label::Legitimate => Manners {
            // One cookie for a quarter of an hour, as row 8 of Table 13, here and there.
            cookie: if random.chance(0.2) {
                Cookie::Seconds(900)
            } else {
                Cookie::Never
            },
            ..Manners::search_engine(agent, random)
        },
        _ => Manners::plain_robot(agent, random),
    }
}
