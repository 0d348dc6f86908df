//! Addresses of the mid-size world with several people behind them: families, offices, carriers, proxies that keep parts.

use super::agents;
use super::agents::Device;
use super::browser::Browser;
use super::browser::Telling;
use super::clock::Rhythm;
use super::clock::zone;
use super::people::client;
use super::people::common_browser;
use super::people::device;
use super::people::some_door;
use super::people::visits;
use super::people::wander;
use super::site::AssetKind;
use super::stage::Net;
use super::stage::Stage;

/// All addresses that are shared.
pub(super) fn play(stage: &mut Stage) {
    for _ in 0..stage.about(450) {
        family(stage);
    }
    for _ in 0..stage.about(90) {
        office(stage);
    }
    for _ in 0..stage.about(450) {
        carrier(stage);
    }
    for _ in 0..stage.about(25) {
        caching_proxy(stage);
    }
}

fn family(stage: &mut Stage) {
    let source = stage.person("family", Net::Home);
    for _ in 0..2 + stage.random.below(4) {
        let device = device(stage, 0.65);
        let mut browser = common_browser(stage, source, device);
        if stage.random.chance(0.5) {
            browser.warm(stage, 0.9);
        }
        if stage.random.chance(0.15) {
            browser.refuses = &[AssetKind::Advert];
        }
        visits(stage, &mut browser, 2.0, 2.8);
    }
}

fn office(stage: &mut Stage) {
    let source = stage.person("small office", Net::Company);
    // Machines of one company are set up alike, so most send one agent.
    let usual = agents::browser(&mut stage.random, Device::Desktop);
    for _ in 0..5 + stage.random.below(26) {
        let agent = if stage.random.chance(0.7) {
            usual.clone()
        } else {
            agents::browser(&mut stage.random, Device::Desktop)
        };
        let client = client(stage, source, agent);
        let mut browser = Browser::new(client);
        if stage.random.chance(0.5) {
            browser.warm(stage, 0.95);
        }
        let count = stage.few(2.4);
        for at in stage.moments(count, Rhythm::Work, 1) {
            let (door, pages) = (some_door(stage), stage.few(2.6));
            wander(stage, &mut browser, at, door, pages);
        }
    }
}

/// Strangers on phones who share an address by chance.
fn carrier(stage: &mut Stage) {
    let source = stage.person("carrier gateway", Net::Carrier);
    for _ in 0..2 + stage.random.below(8) {
        let mut browser = common_browser(stage, source, Device::Phone);
        let zone = zone(&mut stage.random);
        if stage.random.chance(0.25) {
            browser.client.agent = agents::in_app(&mut stage.random);
        }
        if stage.random.chance(0.08) {
            browser.telling = Telling::Nothing;
        }
        let count = stage.few(1.3);
        for at in stage.moments(count, Rhythm::Leisure, zone) {
            let (door, pages) = (some_door(stage), stage.few(1.8));
            wander(stage, &mut browser, at, door, pages);
        }
    }
}

/// One cache for a whole company: the server sees pages, and parts only the first time anybody needs them.
fn caching_proxy(stage: &mut Stage) {
    let source = stage.person("caching proxy", Net::Company);
    let first = agents::browser(&mut stage.random, Device::Desktop);
    let mut client = client(stage, source, first);
    client.protocol = "HTTP/1.1";
    let mut browser = Browser::new(client);
    browser.warm(stage, 0.98);
    if stage.random.chance(0.4) {
        browser.telling = Telling::Nothing;
    }
    let usual = agents::browser(&mut stage.random, Device::Desktop);
    let count = 20 + stage.random.below(80) as u32;
    for at in stage.moments(count, Rhythm::Work, 1) {
        browser.client.agent = if stage.random.chance(0.6) {
            usual.clone()
        } else {
            agents::browser(&mut stage.random, Device::Desktop)
        };
        let (door, pages) = (some_door(stage), stage.few(2.2));
        wander(stage, &mut browser, at, door, pages);
    }
}
