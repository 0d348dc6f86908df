//! What programs of the mid-size world have in common: bare requests, and lists of pages to walk.

use std::rc::Rc;

use super::clock::DAY;
use super::clock::END;
use super::clock::HOUR;
use super::site::AssetKind;
use super::site::PageId;
use super::site::Section;
use super::stage::Client;
use super::stage::Net;
use super::stage::Stage;
use super::stage::answer;
use super::stage::ok;
use super::stage::shuffle;
use crate::actor::Label;

/// A single program with this agent.
pub(super) fn program(stage: &mut Stage, label: Label, kind: &'static str, agent: &str) -> Client {
    let source = stage.robot(label, kind, Net::Hosting);
    Client {
        source,
        agent: agent.into(),
        protocol: "HTTP/1.1",
    }
}

/// Libraries that imitate browsers speak HTTP/2 as well.
pub(super) fn modern_protocol(stage: &mut Stage) -> &'static str {
    if stage.random.chance(0.6) {
        "HTTP/2.0"
    } else {
        "HTTP/1.1"
    }
}

/// One page without anything else. A page that is not there yet is not found.
pub(super) fn fetch(stage: &mut Stage, client: &Client, at: u64, page: PageId, referrer: &Rc<str>) {
    let site = Rc::clone(&stage.site);
    let page = site.page(page);
    // Servers compress nothing for the oldest protocol, and nothing for those who do not ask for it.
    let plain = client.protocol == "HTTP/1.0"
        || client.agent.starts_with("curl")
        || client.agent.starts_with("Wget");
    let length = page.bytes + stage.random.below(90) as u32;
    let reply = if page.published > at as i64 {
        answer(404, 9_120)
    } else if plain {
        ok(length * 4)
    } else {
        ok(length)
    };
    stage.send(client, at, "GET", &page.target, reply, referrer);
}

/// Some address without a referrer.
pub(super) fn get(
    stage: &mut Stage,
    client: &Client,
    at: u64,
    target: &str,
    reply: super::stage::Answer,
) {
    let none = Rc::clone(&stage.none);
    stage.send(client, at, "GET", &target.into(), reply, &none);
}

/// Up to `count` style sheets or scripts of a page's template, with the page as their referrer. Never all of its parts.
pub(super) fn fetch_parts(
    stage: &mut Stage,
    client: &Client,
    at: u64,
    page: PageId,
    wanted: (&[AssetKind], usize),
) {
    let (kinds, count) = wanted;
    let site = Rc::clone(&stage.site);
    let page = site.page(page);
    let Some(parts) = site.templates.get(&page.section) else {
        return;
    };
    let most = count.min(parts.len().saturating_sub(1));
    let parts = parts.iter().map(|part| &site.assets[*part]);
    let mut now = at + 150;
    for part in parts.filter(|part| kinds.contains(&part.kind)).take(most) {
        now += stage.random.below(300);
        stage.send(client, now, "GET", &part.target, ok(part.bytes), &page.url);
    }
}

/// The order in which a list of pages is worked through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// As in the sitemap.
    Sorted,
    /// At random.
    Shuffled,
}

/// Content pages that exist at a time.
pub(super) fn content(stage: &mut Stage, now: u64, order: Order) -> Vec<PageId> {
    let mut list = Vec::new();
    for section in [
        Section::Article,
        Section::Product,
        Section::Thread,
        Section::Chapter,
    ] {
        list.extend_from_slice(stage.site.until(section, now));
    }
    if order == Order::Shuffled {
        shuffle(&mut stage.random, &mut list);
    }
    list
}

/// A run of `count` pages of the content: a piece of the sorted list, or random ones.
pub(super) fn piece(stage: &mut Stage, now: u64, order: Order, count: usize) -> Vec<PageId> {
    let list = content(stage, now, order);
    let first = stage
        .random
        .below((list.len() - count.min(list.len())) as u64 + 1) as usize;
    list[first..].iter().take(count).copied().collect()
}

/// A moment that leaves some hours of the log.
pub(super) fn early(stage: &mut Stage) -> u64 {
    stage.random.below(END - 8 * HOUR)
}

/// A moment of a day.
pub(super) fn of_day(stage: &mut Stage, day: u64) -> u64 {
    day * DAY + stage.random.below(DAY - HOUR)
}
