//! The world while it is played: addresses, and requests on their way into the scene.

use std::collections::HashSet;
use std::rc::Rc;

use super::clock::Calendar;
use super::clock::END;
use super::clock::Rhythm;
use super::site::Site;
use crate::actor::Label;
use crate::random::Random;
use crate::scene::Hit;
use crate::scene::Party;
use crate::scene::Scene;

/// Where a source is connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Net {
    /// A household, or a proxy that sits in one.
    Home,
    /// The gateway of a mobile operator.
    Carrier,
    /// A company or school.
    Company,
    /// A machine for rent.
    Hosting,
}

/// A program at the other end of the line.
#[derive(Debug, Clone)]
pub(super) struct Client {
    /// Its source.
    pub(super) source: u32,
    /// Its agent.
    pub(super) agent: Rc<str>,
    /// Its protocol.
    pub(super) protocol: &'static str,
}

/// What the server answers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Answer {
    /// Its status.
    pub(super) status: u16,
    /// Its length.
    pub(super) bytes: u32,
}

/// 200 with so many bytes.
pub(super) fn ok(bytes: u32) -> Answer {
    Answer { status: 200, bytes }
}

/// Any status with so many bytes.
pub(super) fn answer(status: u16, bytes: u32) -> Answer {
    Answer { status, bytes }
}

/// The world while it is played.
#[derive(Debug)]
pub(super) struct Stage {
    /// What is written.
    pub(super) scene: Scene,
    /// The site.
    pub(super) site: Rc<Site>,
    /// Random numbers of the part that plays now.
    pub(super) random: Random,
    /// Days and hours.
    pub(super) calendar: Calendar,
    /// No referrer, no agent.
    pub(super) none: Rc<str>,
    taken: HashSet<u32>,
    blocks: Vec<u32>,
}

impl Stage {
    /// An empty stage.
    pub(super) fn new(scene: Scene, site: Site, calendar: Calendar, mut random: Random) -> Stage {
        let mut blocks: Vec<u32> = (0..256).collect();
        shuffle(&mut random, &mut blocks);
        Stage {
            scene,
            site: Rc::new(site),
            random,
            calendar,
            none: "".into(),
            taken: HashSet::new(),
            blocks,
        }
    }

    /// A person, or several behind one address.
    pub(super) fn person(&mut self, kind: &'static str, net: Net) -> u32 {
        self.party(Label::User, kind, "", net)
    }

    /// A program that belongs to no campaign.
    pub(super) fn robot(&mut self, label: Label, kind: &'static str, net: Net) -> u32 {
        self.party(label, kind, "", net)
    }

    /// A browser-like program of a campaign.
    pub(super) fn member(&mut self, kind: &'static str, campaign: &str, net: Net) -> u32 {
        self.party(Label::Masquerading, kind, campaign, net)
    }

    fn party(&mut self, label: Label, kind: &'static str, campaign: &str, net: Net) -> u32 {
        let address = self.address(net);
        self.scene.source(Party {
            address,
            label,
            campaign: campaign.to_owned(),
            kind,
        })
    }

    /// Providers are of very different sizes, so some networks are full of people and of proxies.
    fn address(&mut self, net: Net) -> u32 {
        loop {
            let (first, count, span) = match net {
                Net::Home => (0, 150, 1 << 16),
                Net::Carrier => (150, 6, 1 << 12),
                Net::Company => (60, 130, 1 << 16),
                Net::Hosting => (170, 40, 1 << 14),
            };
            let rank = rank(&mut self.random, count);
            let block = self.blocks[first + rank];
            let address = (10 << 24) | (block << 16) | self.random.below(span) as u32;
            if address & 0xff != 0 && address & 0xff != 0xff && self.taken.insert(address) {
                return address;
            }
        }
    }

    /// One request, unless the log has ended by then.
    pub(super) fn send(
        &mut self,
        client: &Client,
        at: u64,
        method: &'static str,
        target: &Rc<str>,
        answer: Answer,
        referrer: &Rc<str>,
    ) {
        if at >= END {
            return;
        }
        self.scene.request(Hit {
            at_ms: at,
            source: client.source,
            method,
            target: Rc::clone(target),
            protocol: client.protocol,
            status: answer.status,
            bytes: if method == "HEAD" { 0 } else { answer.bytes },
            referrer: Rc::clone(referrer),
            agent: Rc::clone(&client.agent),
        });
    }

    /// About so many, by a tenth more or less.
    pub(super) fn about(&mut self, count: u32) -> u32 {
        let count = f64::from(count);
        self.random
            .between(count * 0.92, count * 1.08)
            .round()
            .max(1.0) as u32
    }

    /// Moments of several visits in the order of time, which caches need.
    pub(super) fn moments(&mut self, count: u32, rhythm: Rhythm, zone: i64) -> Vec<u64> {
        let mut moments: Vec<u64> = (0..count)
            .map(|_| self.calendar.moment(&mut self.random, rhythm, zone))
            .collect();
        moments.sort_unstable();
        moments
    }

    /// Seconds with this median and a long tail, as milliseconds.
    pub(super) fn pause(&mut self, median_s: f64) -> u64 {
        (median_s * (0.8 * self.random.normal()).exp() * 1000.0) as u64
    }

    /// One and more, with this mean.
    pub(super) fn few(&mut self, mean: f64) -> u32 {
        1 + self.random.exponential((mean - 1.0).max(0.01)).round() as u32
    }
}

/// A place among `count`, the first the likeliest, as 1 through its number.
pub(super) fn rank(random: &mut Random, count: usize) -> usize {
    let place = (count as f64).powf(random.unit()) - 1.0;
    (place as usize).min(count.saturating_sub(1))
}

/// Into random order.
pub(super) fn shuffle<T>(random: &mut Random, list: &mut [T]) {
    for last in (1..list.len()).rev() {
        list.swap(last, random.below(last as u64 + 1) as usize);
    }
}

/// One of several texts.
pub(super) fn one_of(random: &mut Random, of: &[&'static str]) -> &'static str {
    of[random.below(of.len() as u64) as usize]
}
