//! What a detector says about one source, and what it may look at.

use std::cell::RefCell;
use std::fmt;

use cattlegrid_learn::model::Model;
use cattlegrid_learn::series::Scratch;

use crate::knowledge::Claim;
use crate::knowledge::Knowledge;
use crate::knowledge::Robot;
use crate::knowledge::is_text_browser;
use crate::profile::AgentIndex;
use crate::profile::Profile;
use crate::request::Source;
use crate::site::Site;

/// What evidence points to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Toward {
    /// People.
    User,
    /// A crawler.
    Crawler,
    /// A program that is no crawler: monitor, preview, feed reader.
    Automated,
}

impl Toward {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Toward::User => "user",
            Toward::Crawler => "crawler",
            Toward::Automated => "automated",
        }
    }
}

/// A detector's answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It cannot say anything: neither guilty nor innocent.
    Abstain(Gap),
    /// It measured nothing remarkable.
    Clear(f64),
    /// It found something.
    Finding(Finding),
}

/// Something a detector found.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// Which way it points.
    pub toward: Toward,
    /// A sentence the owner can check against the log.
    pub why: String,
    /// The measured numbers.
    pub values: Vec<(&'static str, f64)>,
    /// A weight of its own in decibans, positive towards a crawler, where it was learned or depends on what was measured.
    pub learned: Option<f64>,
}

impl Outcome {
    /// A finding with its numbers.
    pub fn finding(toward: Toward, why: String, values: &[(&'static str, f64)]) -> Outcome {
        Outcome::Finding(Finding {
            toward,
            why,
            values: values.to_vec(),
            learned: None,
        })
    }

    /// A finding whose weight was learned, or depends on what was measured.
    pub fn learned(decibans: f64, why: String, values: &[(&'static str, f64)]) -> Outcome {
        Outcome::Finding(Finding {
            toward: if decibans > 0.0 {
                Toward::Crawler
            } else {
                Toward::User
            },
            why,
            values: values.to_vec(),
            learned: Some(decibans),
        })
    }

    /// True where the detector points at a crawler.
    pub fn is_hit(&self) -> bool {
        matches!(
            self,
            Outcome::Finding(Finding {
                toward: Toward::Crawler | Toward::Automated,
                ..
            })
        )
    }
}

/// A number that a heuristic compares with one of its settings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measure {
    /// The setting, a key of the detector's table in the settings file.
    pub setting: &'static str,
    /// What the source has.
    pub value: f64,
    /// On which side of the setting it points to a crawler.
    pub side: Side,
}

/// Where a measure points to a crawler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Above its setting.
    Above,
    /// Below its setting.
    Below,
}

impl Measure {
    /// Points to a crawler above its setting.
    pub fn above(setting: &'static str, value: f64) -> Measure {
        Measure {
            setting,
            value,
            side: Side::Above,
        }
    }

    /// Points to a crawler below its setting.
    pub fn below(setting: &'static str, value: f64) -> Measure {
        Measure {
            setting,
            value,
            side: Side::Below,
        }
    }

    /// True where it points to a crawler, with this value of its setting.
    pub fn is_hit(&self, threshold: f64) -> bool {
        match self.side {
            Side::Above => self.value > threshold,
            Side::Below => self.value < threshold,
        }
    }
}

/// Why a detector abstains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gap {
    /// Not enough of something.
    TooFew {
        /// Of what.
        what: &'static str,
        /// How many there are.
        have: u32,
        /// How many it takes.
        need: u32,
    },
    /// A field the log does not have.
    NotLogged(&'static str),
    /// The site as a whole gives nothing to compare with.
    NoContrast(&'static str),
    /// Nobody has told what it would take.
    NotKnown(&'static str),
}

impl fmt::Display for Gap {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Gap::TooFew { what, have, need } => write!(out, "only {have} {what}, it takes {need}"),
            Gap::NotLogged(field) => write!(out, "{field} not logged"),
            Gap::NoContrast(what) | Gap::NotKnown(what) => out.write_str(what),
        }
    }
}

/// What a campaign says of each of its members.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Membership {
    /// In words.
    pub why: String,
    /// Sources that belong to it.
    pub sources: u32,
    /// What the campaign as a whole is worth, in decibans towards a crawler.
    pub decibans: f64,
}

/// What a detector may look at beside the profile.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// Totals of the log in this window.
    pub site: &'a Site,
    /// What is known beforehand.
    pub knowledge: &'a Knowledge,
    /// The texts of user agents.
    pub agents: &'a AgentIndex,
    /// Who is judged.
    pub source: Source,
    /// How many sources the profile stands for: more than one where a group is judged by its sum.
    pub sources: u32,
    /// Busy days in all windows, where the profile is their sum: its half hours lie on top of each other.
    pub days: Option<u32>,
    /// What was learned from examples.
    pub model: Option<&'a Model>,
    /// Room for the shape of series.
    pub scratch: &'a RefCell<Scratch>,
    /// The campaign it belongs to.
    pub campaign: Option<&'a Membership>,
    /// It was a crawler in this window at the judgement before, where a log is judged again and again.
    pub was_crawler: bool,
}

impl<'a> Context<'a> {
    /// The days on which most requests of a profile came, at least one.
    pub(crate) fn busy_days(&self, profile: &Profile) -> u32 {
        let days = self.days.unwrap_or_else(|| profile.bins.busy_days());
        days.max(1)
    }

    /// The robot that most of the source's requests name.
    pub fn robot(&self, profile: &Profile) -> Option<&'a Robot> {
        self.knowledge.robots.robot(self.robot_number(profile)?)
    }

    /// The text of the agent that a source uses most, where it is known.
    pub(crate) fn top_agent(&self, profile: &Profile) -> Option<&'a [u8]> {
        profile
            .agents
            .top()
            .and_then(|agent| self.agents.text(agent))
    }

    /// True for who uses a browser that shows text alone.
    pub(crate) fn has_text_browser(&self, profile: &Profile) -> bool {
        self.top_agent(profile).is_some_and(is_text_browser)
    }

    /// Its number in the list.
    pub fn robot_number(&self, profile: &Profile) -> Option<u16> {
        // Most sources name none, and need no look at the agents.
        let first = profile.robot.checked_sub(1)?;
        let top = profile.agents.top();
        Some(
            top.and_then(|agent| self.agents.robot(agent))
                .unwrap_or(first),
        )
    }

    /// Whether the source is the robot it names. `None` where nobody is known to run that robot.
    pub fn claim(&self, profile: &Profile) -> Option<Claim> {
        let robot = self.robot(profile)?;
        let claim = self
            .knowledge
            .operator(robot)?
            .claim(self.source, profile.last_seen);
        // Telephones fetch previews from home addresses, under the names of their apps.
        Some(match claim {
            Claim::Disproved if robot.purpose.is_automated() => Claim::Open,
            _ => claim,
        })
    }
}
