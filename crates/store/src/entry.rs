//! An entry: what is known about somebody, who says so, and until when it holds.

use std::fmt;
use std::str::FromStr;

use cattlegrid_core::networks;
use cattlegrid_core::networks::network_of;
use cattlegrid_core::networks::source_of;
use cattlegrid_core::policy::Action;
use cattlegrid_core::request::Source;
use ipnet::IpNet;
use serde::Deserialize;
use serde::Serialize;

/// Whom an entry is about. Written as an address, a network, `agent:TEXT` or `campaign:NAME`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Subject {
    /// An IPv4 address or an IPv6 /64 network.
    Source(IpNet),
    /// A larger network.
    Network(IpNet),
    /// All who send a user agent.
    Agent(String),
    /// Sources that crawl as one.
    Campaign(String),
}

/// Longest name of an agent or a campaign.
const NAME_BYTES_MAX: usize = 1000;

impl Subject {
    /// What kind of subject it is, as the base writes it.
    pub fn about(&self) -> &'static str {
        match self {
            Subject::Source(_) => "source",
            Subject::Network(_) => "network",
            Subject::Agent(_) => "agent",
            Subject::Campaign(_) => "campaign",
        }
    }

    /// Its name within its kind, as the base writes it.
    pub fn name(&self) -> String {
        match self {
            Subject::Source(IpNet::V4(network)) => network.addr().to_string(),
            Subject::Source(network) | Subject::Network(network) => network.to_string(),
            Subject::Agent(name) | Subject::Campaign(name) => name.clone(),
        }
    }

    /// The source it is about, where it is one.
    pub fn source(&self) -> Option<Source> {
        match self {
            Subject::Source(network) => source_of(*network),
            _ => None,
        }
    }

    /// The addresses it is about, where it names them.
    pub fn network(&self) -> Option<IpNet> {
        match self {
            Subject::Source(network) | Subject::Network(network) => Some(*network),
            _ => None,
        }
    }

    /// The subject that a network is.
    pub fn of(network: IpNet) -> Subject {
        let network = network.trunc();
        match source_of(network).and_then(network_of) {
            Some(source) => Subject::Source(source),
            None => Subject::Network(network),
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::Agent(name) => write!(out, "agent:{name}"),
            Subject::Campaign(name) => write!(out, "campaign:{name}"),
            _ => write!(out, "{}", self.name()),
        }
    }
}

impl FromStr for Subject {
    type Err = String;

    fn from_str(text: &str) -> Result<Subject, String> {
        let named = |name: &str| match name.len() {
            0 => Err("a name is missing".to_owned()),
            1..=NAME_BYTES_MAX => Ok(name.to_owned()),
            _ => Err(format!("a name has at most {NAME_BYTES_MAX} bytes")),
        };
        if let Some(name) = text.strip_prefix("agent:") {
            return named(name).map(Subject::Agent);
        }
        if let Some(name) = text.strip_prefix("campaign:") {
            return named(name).map(Subject::Campaign);
        }
        networks::network(text)
            .map(Subject::of)
            .map_err(|error| format!("{error}; agent:TEXT and campaign:NAME are understood, too"))
    }
}

impl From<Subject> for String {
    fn from(subject: Subject) -> String {
        subject.to_string()
    }
}

impl TryFrom<String> for Subject {
    type Error = String;

    fn try_from(text: String) -> Result<Subject, String> {
        text.parse()
    }
}

/// Who made an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// `analyze --kb`.
    Analysis,
    /// The owner, by `kb allow` or `kb deny`: nobody else changes it.
    Owner,
    /// A list that was imported.
    List,
    /// The gate, while running.
    Gate,
}

impl Origin {
    /// The name in the base.
    pub fn name(self) -> &'static str {
        match self {
            Origin::Analysis => "analysis",
            Origin::Owner => "owner",
            Origin::List => "list",
            Origin::Gate => "gate",
        }
    }

    /// The origin with a name.
    pub fn parse(name: &str) -> Option<Origin> {
        [Origin::Analysis, Origin::Owner, Origin::List, Origin::Gate]
            .into_iter()
            .find(|origin| origin.name() == name)
    }
}

/// One reason, as a detector gave it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proof {
    /// The detector.
    pub detector: String,
    /// Decibans towards a crawler.
    pub weight: f64,
    /// In words.
    pub why: String,
}

/// Seconds by which clocks may differ without one being called wrong.
const CLOCK_SLACK: u32 = 120;
/// Seconds that an entry with an end holds at most: ten years.
const LIFE_MAX: u32 = 3660 * 86_400;

/// Seconds for which a denial that was taken back is not learned again: as long as a denial lasts by default.
const SPARED_SECONDS: u32 = 7 * 86_400;

/// What is known about somebody.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Whom it is about.
    pub subject: Subject,
    /// What to do.
    #[serde(with = "action")]
    pub action: Action,
    /// What they are: people, legitimate, unauthorized, masquerading.
    #[serde(default)]
    pub kind: Option<String>,
    /// Why, in a sentence.
    pub reason: String,
    /// What was found.
    #[serde(default)]
    pub evidence: Vec<Proof>,
    /// Who says so.
    pub origin: Origin,
    /// The campaign that a source belongs to: what is said of it holds for the source.
    #[serde(default)]
    pub campaign: Option<String>,
    /// First request that was seen.
    #[serde(default)]
    pub first_seen: Option<u32>,
    /// Last request that was seen.
    #[serde(default)]
    pub last_seen: Option<u32>,
    /// When the entry was made.
    pub created: u32,
    /// First second at which it no longer holds; `None` for never.
    #[serde(default)]
    pub expires: Option<u32>,
    /// Pages in a day up to which an allowed source passes; 0 for no limit.
    #[serde(default)]
    pub cap: u32,
    /// When the cap of a crowd was set or raised last. Kept where the source is no longer allowed, so that the next cap starts from this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cap_since: Option<u32>,
}

impl Entry {
    /// An entry without anything but what it says.
    pub fn new(subject: Subject, action: Action, origin: Origin, now: u32) -> Entry {
        Entry {
            subject,
            action,
            kind: None,
            reason: String::new(),
            evidence: Vec::new(),
            origin,
            campaign: None,
            first_seen: None,
            last_seen: None,
            created: now,
            expires: None,
            cap: 0,
            cap_since: None,
        }
    }

    /// An entry that takes a learned denial back for some days: the source is unknown again, and judging leaves it alone.
    pub fn spared(subject: Subject, now: u32) -> Entry {
        Entry {
            reason: "a denial was taken back; judging does not deny it again before this ends"
                .to_owned(),
            expires: Some(now.saturating_add(SPARED_SECONDS)),
            ..Entry::new(subject, Action::Watch, Origin::Owner, now)
        }
    }

    /// True for a denial that nobody but the program wrote.
    pub fn is_learned_denial(&self) -> bool {
        self.action == Action::Deny && matches!(self.origin, Origin::Analysis | Origin::Gate)
    }

    /// True for an entry that allows people by a rule of before: on one browser's behaviour, up to three times its pages.
    pub fn is_of_older_rule(&self) -> bool {
        self.action == Action::Allow
            && matches!(self.origin, Origin::Analysis | Origin::Gate)
            && self.kind.as_deref() == Some("people")
            && self.cap_since.is_none()
    }

    /// First second at which it no longer holds, by a clock that shows `now`; `None` for never.
    ///
    /// An entry from the future says that the clock was set back, or is not set at all. The entry holds, for a denial must not vanish
    /// because of that; but from now on for no longer than it was made for. It is not rewritten: a clock that is right again finds its
    /// end as it was.
    pub fn ends(&self, now: u32) -> Option<u32> {
        let expires = self.expires?;
        let life = expires.saturating_sub(self.created);
        if now.saturating_add(CLOCK_SLACK) < self.created {
            return Some(expires.min(now.saturating_add(life)));
        }
        Some(expires)
    }

    /// True at a time when it no longer holds.
    pub fn is_expired(&self, now: u32) -> bool {
        self.ends(now).is_some_and(|ends| ends <= now)
    }

    /// The entry as it is written: an end is never further away than `LIFE_MAX`, so that a slip in a number makes no endless denial.
    /// Measured from the later of both times, for a clock that runs behind must not cut off an end that is right.
    pub(crate) fn clamped(&self, now: u32) -> Entry {
        let last = self.created.max(now).saturating_add(LIFE_MAX);
        Entry {
            expires: self.expires.map(|expires| expires.min(last)),
            ..self.clone()
        }
    }
}

mod action {
    use cattlegrid_core::policy::Action;
    use serde::Deserialize;
    use serde::Deserializer;
    use serde::Serializer;
    use serde::de::Error;

    pub(super) fn serialize<S: Serializer>(
        action: &Action,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(action.name())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Action, D::Error> {
        let name = String::deserialize(deserializer)?;
        Action::parse(&name)
            .ok_or_else(|| D::Error::custom(format!("'{name}' is neither allow, deny nor watch")))
    }
}
