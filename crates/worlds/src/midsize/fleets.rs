//! Fleets of the mid-size world: many addresses that divide one list of pages, each of which alone looks like a short visit.

use std::rc::Rc;

use super::agents;
use super::clock::DAY;
use super::clock::DAYS;
use super::clock::END;
use super::clock::Rhythm;
use super::robots::Order;
use super::robots::content;
use super::robots::fetch;
use super::robots::fetch_parts;
use super::robots::modern_protocol;
use super::site::AssetKind;
use super::site::Section;
use super::stage::Client;
use super::stage::Net;
use super::stage::Stage;

/// One request that some member will make; which page is decided by whose turn it is.
struct Turn {
    at: u64,
    member: usize,
}

/// All fleets.
pub(super) fn play(stage: &mut Stage) {
    plain(stage);
    with_parts(stage);
    daily(stage);
}

fn member(stage: &mut Stage, kind: &'static str, campaign: &str, homes: f64) -> Client {
    let net = if stage.random.chance(homes) {
        Net::Home
    } else {
        Net::Hosting
    };
    let source = stage.member(kind, campaign, net);
    let agent = agents::commonest(&mut stage.random);
    let protocol = modern_protocol(stage);
    Client {
        source,
        agent,
        protocol,
    }
}

/// About 600 lines of households, at the hours of people: pages in the order of the sitemap, no parts at all.
fn plain(stage: &mut Stage) {
    let mut members = Vec::new();
    let mut turns = Vec::new();
    for _ in 0..stage.about(600) {
        let client = member(stage, "plain fleet", "fleet-plain", 0.95);
        let mut at = stage.calendar.moment(&mut stage.random, Rhythm::Leisure, 1);
        for _ in 0..1 + stage.random.below(6) {
            turns.push(Turn {
                at,
                member: members.len(),
            });
            at += 3000 + stage.pause(40.0);
        }
        members.push(client);
    }
    turns.sort_by_key(|turn| turn.at);
    let list = content(stage, 0, Order::Sorted);
    let google: Rc<str> = "https://www.google.com/".into();
    let none = Rc::clone(&stage.none);
    for (turn, page) in turns.iter().zip(list.iter().cycle().skip(400)) {
        let client = &members[turn.member];
        // Whether one claims to come from a search is settled by its address, not by the request.
        let referrer = if client.source % 5 < 2 {
            &google
        } else {
            &none
        };
        fetch(stage, client, turn.at, *page, referrer);
    }
}

/// About 900 addresses, mostly for rent, over three days and nights: some styles and scripts, never an image.
fn with_parts(stage: &mut Stage) {
    let mut members = Vec::new();
    let mut turns = Vec::new();
    let start = stage.random.below(2 * DAY);
    for _ in 0..stage.about(900) {
        let client = member(stage, "fleet with parts", "fleet-parts", 0.4);
        let mut at = start + stage.random.below(3 * DAY - DAY / 8);
        for _ in 0..1 + stage.random.below(6) {
            turns.push(Turn {
                at,
                member: members.len(),
            });
            at += 2000 + stage.pause(18.0);
        }
        members.push(client);
    }
    turns.sort_by_key(|turn| turn.at);
    let list = content(stage, start, Order::Shuffled);
    let site = Rc::clone(&stage.site);
    for (turn, page) in turns.iter().zip(list.iter().cycle()) {
        let client = &members[turn.member];
        // A list page of the same category is where a visitor would have come from.
        let found = site.page(*page);
        let above = match found.section {
            Section::Article => site.group(Section::NewsList, found.group).last(),
            Section::Product => site.group(Section::ShopList, found.group).last(),
            Section::Thread => site.group(Section::ForumList, found.group).last(),
            _ => site.group(Section::Book, found.group).last(),
        };
        let above = above.map_or_else(
            || Rc::clone(&stage.none),
            |above| Rc::clone(&site.page(*above).url),
        );
        fetch(stage, client, turn.at, *page, &above);
        let count = 1 + stage.random.below(4) as usize;
        fetch_parts(
            stage,
            client,
            turn.at,
            *page,
            (&[AssetKind::Css, AssetKind::Script], count),
        );
    }
}

/// About 60 new addresses every day, each with a share of the day's list.
fn daily(stage: &mut Stage) {
    let list = content(stage, 0, Order::Shuffled);
    let mut pages = list.iter().cycle();
    let none = Rc::clone(&stage.none);
    for day in 0..DAYS {
        for _ in 0..stage.about(60) {
            let client = member(stage, "daily rotation", "daily-rotation", 0.7);
            let mut at = stage
                .calendar
                .on_day(&mut stage.random, day, Rhythm::Leisure, 1);
            let inner = stage.random.chance(0.5);
            let mut before = Rc::clone(&none);
            for page in pages.by_ref().take(4 + stage.random.below(18) as usize) {
                // Midnight ends the day's addresses.
                if at >= (day + 1) * DAY || at >= END {
                    break;
                }
                fetch(stage, &client, at, *page, &before);
                if inner {
                    before = Rc::clone(&stage.site.page(*page).url);
                }
                at += 4000 + stage.pause(50.0);
            }
        }
    }
}
