//! People who come now and then, each over an address of their own.

use crate::random::Random;
use crate::scene::Hit;

use super::agents::Devices;
use super::browse::Browser;
use super::browse::Style;
use super::people::Person;
use super::people::Rhythm;
use super::recipes::READ;
use super::setting::COUNTRIES;
use super::setting::Setting;
use super::setting::any_country;
use super::site::Client;
use super::site::DAYS;
use super::site::END_MS;

/// Somebody who comes now and then from home, from work or with a telephone, over an address of their own.
pub(super) fn passer_by(setting: &Setting, random: &mut Random) -> Vec<Hit> {
    let devices = if random.chance(0.55) {
        Devices::Phones
    } else {
        Devices::Desks
    };
    let mut hits = Vec::new();
    // Most views of one visit, few of many: a long tail that ends at forty.
    let rate = 0.03 * (1.1 * random.normal()).exp();
    let country = any_country(random);
    let (agent, phone) = setting.agents.person(devices, &[], random);
    let mut browser = Browser::new(
        Client {
            agent,
            protocol: if random.chance(0.85) {
                "HTTP/2.0"
            } else {
                "HTTP/1.1"
            },
        },
        COUNTRIES[country].lang,
    );
    browser.strips = random.chance(0.05);
    browser.plain = random.chance(0.03);
    browser.lag = random.between(0.6, 3.0);
    let rhythm = match random.below(3) {
        0 => Rhythm::Desk {
            from: 8.7,
            to: 17.4,
            lunch: 0.9,
            weekend: 0.05,
        },
        1 if phone => Rhythm::Roaming,
        _ => Rhythm::Home,
    };
    let style = Style::draw(READ, 2.8, random);
    let (late, candidate) = (0.9 * random.normal(), random.chance(0.1));
    let mut person = Person {
        country,
        rhythm,
        late,
        rate: rate.min(0.12),
        browser,
        style,
        edits: 0.002,
        candidate,
    };
    let mood = [1.0; DAYS + 2];
    for _ in 0..12 {
        person.live(setting, &mood, random, &mut hits);
        hits.retain(|hit| hit.at_ms < END_MS);
        let views = hits.iter().filter(|hit| is_view(hit)).count();
        if (1..=40).contains(&views) {
            return hits;
        }
        // Whoever did not come, or came too often, is somebody else.
        hits.clear();
        person.rate = 0.05;
    }
    hits
}

/// True for a page, false for its parts.
fn is_view(hit: &Hit) -> bool {
    !["/static/", "/media/", "/api/", "/favicon"]
        .iter()
        .any(|part| hit.target.starts_with(part))
}
