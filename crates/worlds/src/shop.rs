//! A shop with a catalogue: listings, search, facets. Its visitors are phones behind gateways, schools, hospitals and homes; its
//! crawlers are scrapers of prices, AI crawlers, search engines and tools for marketing; monitors and mail proxies are neither.

use crate::actor::Actor;
use crate::actor::BROWSERS;
use crate::actor::Label;
use crate::actor::Manners;
use crate::habit::Habit;
use crate::people::People;
use crate::plan::Plan;
use crate::social::person;
use crate::world::Builder;

/// A kind of visitor: how many, what, under which agent, with which habits.
struct Kind {
    many: usize,
    label: Label,
    agent: &'static str,
    habits: &'static [Habit],
}

const ROBOTS: [Kind; 13] = [
    kind(
        22,
        Label::Legitimate,
        "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
        &[Habit::Drift, Habit::Even, Habit::Nights],
    ),
    kind(
        16,
        Label::Legitimate,
        "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)",
        &[Habit::Levels, Habit::Drift],
    ),
    kind(
        14,
        Label::Unauthorized,
        "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)",
        &[Habit::Square, Habit::Bursts, Habit::Levels],
    ),
    kind(
        14,
        Label::Unauthorized,
        "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; ClaudeBot/1.0; +claudebot@anthropic.com)",
        &[Habit::OnOff, Habit::Even, Habit::Queue],
    ),
    kind(
        14,
        Label::Unauthorized,
        "Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)",
        &[Habit::Queue, Habit::Steady, Habit::Drift],
    ),
    kind(
        12,
        Label::Unauthorized,
        "Mozilla/5.0 (compatible; SemrushBot/7~bl; +http://www.semrush.com/bot.html)",
        &[Habit::Drift, Habit::Cron],
    ),
    kind(
        12,
        Label::Unauthorized,
        "python-requests/2.32.3",
        &[Habit::Cron, Habit::Bursts, Habit::Steady],
    ),
    kind(
        60,
        Label::Masquerading,
        "",
        &[
            Habit::Cron,
            Habit::Square,
            Habit::NightPause,
            Habit::OnOff,
            Habit::Steady,
            Habit::Even,
        ],
    ),
    kind(
        40,
        Label::Masquerading,
        "",
        &[Habit::Mimic, Habit::NightPause, Habit::Nights, Habit::Drift],
    ),
    kind(
        12,
        Label::Automated,
        "Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)",
        &[Habit::Feed],
    ),
    kind(
        10,
        Label::Automated,
        "Mozilla/5.0+(compatible; UptimeRobot/2.0; http://www.uptimerobot.com/)",
        &[Habit::Steady],
    ),
    kind(
        8,
        Label::Automated,
        "Feedly/1.0 (+http://www.feedly.com/fetcher.html; like FeedFetcher-Google)",
        &[Habit::Even, Habit::Feed],
    ),
    kind(8, Label::Automated, "WhatsApp/2.24.20.88 A", &[Habit::Feed]),
];

const fn kind(many: usize, label: Label, agent: &'static str, habits: &'static [Habit]) -> Kind {
    Kind {
        many,
        label,
        agent,
        habits,
    }
}

/// People behind one address: how many of each.
const PEOPLE: [(usize, People); 7] = [
    (40, People::Gateway),
    (18, People::School),
    (18, People::Shifts),
    (24, People::Office),
    (20, People::Homes),
    (12, People::PublicPlace),
    (10, People::University),
];

/// People who are on the site for hours, each from an address of their own: buyers, and those who keep the shop.
const PERSONS: usize = 16;

/// Fills a world.
pub(crate) fn build(builder: &mut Builder) {
    for (many, people) in PEOPLE {
        for _ in 0..many {
            let daily = builder.volume();
            let plan = Plan::people(people, daily, builder.span, &mut builder.random);
            let actor = Actor {
                address: builder.address(),
                label: Label::User,
                campaign: None,
                habit: people.name(),
                manners: Manners::people(&mut builder.random, 4),
                plans: vec![plan],
                counts: Vec::new(),
            };
            builder.add(actor);
        }
    }
    for _ in 0..PERSONS {
        let daily = builder.volume();
        let actor = person(daily, 4, builder);
        builder.add(actor);
    }
    for robot in &ROBOTS {
        for _ in 0..robot.many {
            let actor = crawler(robot, builder);
            builder.add(actor);
        }
    }
}

fn crawler(robot: &Kind, builder: &mut Builder) -> Actor {
    let habit = *builder.random.pick(robot.habits);
    let daily = builder.volume();
    let random = &mut builder.random;
    let manners = match robot.label {
        Label::Masquerading => {
            let agent = random.pick(&BROWSERS);
            let row = 2 + random.below(6) as usize;
            Manners::evasion(row, agent, random)
        }
        Label::Legitimate => Manners::search_engine(robot.agent, random),
        _ => Manners::plain_robot(robot.agent, random),
    };
    let plan = Plan::crawler(habit, daily, builder.span, &mut builder.random);
    Actor {
        address: builder.address(),
        label: robot.label,
        campaign: None,
        habit: habit.name(),
        manners,
        plans: vec![plan],
        counts: Vec::new(),
    }
}
