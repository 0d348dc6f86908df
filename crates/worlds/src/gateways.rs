//! A small social network whose members mostly come through gateways: universities, companies, providers. In half of the gateways
//! somebody runs a crawler. Header fields and cookies tell it from the people there, its address does not.

use crate::actor::Actor;
use crate::actor::BROWSERS;
use crate::actor::Cookie;
use crate::actor::Label;
use crate::actor::Manners;
use crate::actor::Referrer;
use crate::habit::Habit;
use crate::people::People;
use crate::plan::Plan;
use crate::world::Builder;

/// Gateways; every other one hides a crawler.
const GATEWAYS: usize = 20;
/// Members who come from an address of their own.
const READERS: usize = 150;
/// Parts that a browser loads with each page.
const PARTS: u32 = 3;

/// What people in a gateway could tell a crawler by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Disguise {
    /// A browser that nobody else has there.
    OtherBrowser,
    /// The same, with one cookie for three requests (row 6 of the paper's Table 13).
    FewCookies,
    /// A browser that others have there, and one session for all of its requests.
    OneSession,
    /// A browser that others have there, and a new session for each request.
    NoSession,
    /// A real browser that nobody else has: it loads parts and follows links. Nothing but its volume tells it.
    RealBrowser,
}

const DISGUISES: [Disguise; 5] = [
    Disguise::OtherBrowser,
    Disguise::FewCookies,
    Disguise::OneSession,
    Disguise::NoSession,
    Disguise::RealBrowser,
];

impl Disguise {
    fn name(self) -> &'static str {
        match self {
            Disguise::OtherBrowser => "hidden: other browser",
            Disguise::FewCookies => "hidden: few cookies",
            Disguise::OneSession => "hidden: one session",
            Disguise::NoSession => "hidden: no session",
            Disguise::RealBrowser => "hidden: real browser",
        }
    }
}

/// Fills the world.
pub(crate) fn build(builder: &mut Builder) {
    for _ in 0..READERS {
        let daily = 10.0 + builder.random.exponential(25.0);
        let mut reader = gateway(People::Homes, daily, builder);
        reader.manners.agents.truncate(1);
        reader.habit = "reader";
        builder.add(reader);
    }
    for number in 0..GATEWAYS {
        let circles = [People::University, People::Gateway, People::WorldCompany];
        let daily = builder.random.between(900.0, 2500.0);
        let people = gateway(circles[number % circles.len()], daily, builder);
        let disguise = DISGUISES[number / 2 % DISGUISES.len()];
        let hidden = (number % 2 == 0).then(|| crawler(disguise, &people, builder));
        builder.add(people);
        hidden.into_iter().for_each(|actor| builder.add(actor));
    }
}

fn gateway(people: People, daily: f64, builder: &mut Builder) -> Actor {
    Actor {
        plans: vec![Plan::people(
            people,
            daily,
            builder.span,
            &mut builder.random,
        )],
        address: builder.address(),
        label: Label::User,
        campaign: None,
        habit: people.name(),
        manners: Manners::people(&mut builder.random, PARTS),
        counts: Vec::new(),
    }
}

/// A crawler behind the address of people.
fn crawler(disguise: Disguise, people: &Actor, builder: &mut Builder) -> Actor {
    let random = &mut builder.random;
    let theirs = &people.manners.agents;
    let others: Vec<&'static str> = BROWSERS
        .into_iter()
        .filter(|agent| !theirs.contains(agent))
        .collect();
    // Where people have all browsers, one that is out of date.
    let old = "Mozilla/5.0 (Windows NT 6.1; rv:52.0) Gecko/20100101 Firefox/52.0";
    let other = others.first().copied().unwrap_or(old);
    let manners = match disguise {
        Disguise::OtherBrowser => Manners::plain_robot(other, random),
        Disguise::FewCookies => Manners::evasion(6, other, random),
        Disguise::OneSession => Manners {
            cookie: Cookie::Requests(u32::MAX),
            ..Manners::plain_robot(theirs[0], random)
        },
        Disguise::NoSession => Manners::plain_robot(theirs[0], random),
        Disguise::RealBrowser => Manners {
            referrer: Referrer::Page(0.1),
            agents: vec![other],
            ..Manners::people(random, PARTS)
        },
    };
    let habit = *random.pick(&[Habit::Even, Habit::Square, Habit::Cron, Habit::Mimic]);
    let daily = random.between(150.0, 600.0);
    Actor {
        address: people.address,
        label: Label::Masquerading,
        campaign: None,
        habit: disguise.name(),
        manners,
        plans: vec![Plan::crawler(habit, daily, builder.span, random)],
        counts: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::Kind;
    use crate::world::World;
    use crate::write::write_labels;

    #[test]
    fn every_other_gateway_hides_a_crawler_that_its_label_names() {
        let world = World::new(Kind::Gateways, 1);
        let mut labels = Vec::new();
        write_labels(&world, &mut labels).unwrap();
        let labels = String::from_utf8(labels).unwrap();
        let rows: Vec<&str> = labels.lines().skip(1).collect();
        assert_eq!(rows.len(), GATEWAYS + READERS);
        assert_eq!(world.actors.len(), rows.len() + GATEWAYS / 2);
        for disguise in DISGUISES {
            let hidden = rows.iter().filter(|row| row.contains(disguise.name()));
            let agents = hidden.filter(|row| row.contains(",user,") && row.ends_with('"'));
            assert_eq!(agents.count(), GATEWAYS / 2 / DISGUISES.len());
        }
        // A crawler that sends more than the people around it is not hidden.
        for pair in world.actors.chunk_by(|a, b| a.address == b.address) {
            if let [people, crawler] = pair {
                let sum = |actor: &Actor| actor.counts.iter().sum::<u32>();
                assert!(sum(crawler) < sum(people), "{}", crawler.habit);
                let is_shared = people.manners.agents.contains(&crawler.manners.agents[0]);
                let by_cookie = crawler.habit.ends_with(" session");
                assert_eq!(is_shared, by_cookie, "{}", crawler.habit);
            }
        }
    }
}
