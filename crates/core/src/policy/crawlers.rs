//! Robots that name themselves: what the owner wants for each, and whether one is who it says.

use std::collections::BTreeMap;
use std::hash::BuildHasher;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

use foldhash::fast::FixedState;
use serde::Deserialize;

use super::Proof;
use crate::knowledge::Claim;
use crate::knowledge::Knowledge;
use crate::knowledge::Operator;
use crate::knowledge::Purpose;
use crate::knowledge::Robot;
use crate::request::Source;

/// What the owner wants for a robot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Treatment {
    /// It passes once it is proven, up to a daily cap. One that cannot be proven is limited.
    Allow,
    /// It is counted like an unknown visitor.
    Visitor,
    /// It may read a few pages a day, and these as often as it likes; more gets 429.
    Limit,
    /// It is challenged from the first page.
    Challenge,
    /// It is refused from the first page.
    Refuse,
}

/// What the owner wants for robots, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Preset {
    /// Search, AI search and fetchers for people pass; training and SEO are limited.
    #[default]
    Standard,
    /// All robots that can be proven pass.
    Open,
    /// As standard, but training is refused.
    NoTraining,
    /// Search passes; everything for language models is refused.
    SearchOnly,
    /// Crawlers are challenged; feed readers, previews and monitors are limited.
    Closed,
}

impl Preset {
    /// What it means for a purpose.
    pub fn treatment(self, purpose: Purpose) -> Treatment {
        use Purpose::*;
        use Treatment::*;
        match (self, purpose) {
            (Preset::Closed, Preview | Monitor | Feed | Proxy) => Limit,
            (Preset::Closed, _) => Challenge,
            (_, Scanner | Library | Automation | Other) => Visitor,
            (_, Search | Preview | Monitor | Feed | Proxy | Advertising) => Allow,
            (Preset::Open, _) => Allow,
            (Preset::SearchOnly, Ai | AiTraining | AiSearch) => Refuse,
            (Preset::SearchOnly, UserTriggered | Archive | Seo | Academic) => Limit,
            (Preset::NoTraining, Ai | AiTraining) => Refuse,
            (_, AiSearch | UserTriggered | Archive) => Allow,
            (_, Ai | AiTraining | Seo | Academic) => Limit,
        }
    }
}

/// The `[gate.crawlers]` part of the settings, as far as the policy knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wishes {
    /// What holds where nothing else is said.
    pub preset: Preset,
    /// By purpose.
    pub purposes: BTreeMap<String, Treatment>,
    /// By operator or robot, which goes before the purpose.
    pub robots: BTreeMap<String, Treatment>,
    /// Pages in a day of one proven robot.
    pub pages: u32,
    /// The same for one that fetches on behalf of others: anybody can send it.
    pub fetched_pages: u32,
}

impl Default for Wishes {
    fn default() -> Wishes {
        Wishes {
            preset: Preset::default(),
            purposes: BTreeMap::new(),
            robots: BTreeMap::new(),
            pages: 100_000,
            fetched_pages: 5_000,
        }
    }
}

/// What was found out about an address off the request path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Looked {
    /// Not asked yet, or the name server does not answer.
    #[default]
    Unknown,
    /// Its name is the operator's, and leads back to the address.
    Confirmed,
    /// It has no such name.
    Denied,
}

/// A published list disproves a live claim for this many days: operators add networks every few weeks.
const LIST_DAYS: i32 = 60;

/// Agents of programs that are neither browsers nor crawlers and that no challenge must stop: package managers, git, federated servers,
/// senders of webhooks. A name is no proof: they are limited.
const TOOLS: [&str; 38] = [
    "git/",
    "JGit/",
    "go-git/",
    "git-lfs/",
    "npm/",
    "pnpm/",
    "yarn/",
    "bun/",
    "pip/",
    "uv/",
    "poetry/",
    "cargo/",
    "cargo ",
    "rustup/",
    "bundler/",
    "RubyGems/",
    "Ruby, RubyGems/",
    "Composer/",
    "Apache-Maven/",
    "Gradle/",
    "NuGet",
    "Debian APT",
    "libdnf ",
    "Homebrew/",
    "docker/",
    "containerd/",
    "Helm/",
    "GoModuleMirror/",
    "Mastodon/",
    "http.rb/",
    "Pleroma ",
    "Akkoma ",
    "Misskey/",
    "Lemmy/",
    "Friendica ",
    "GitHub-Hookshot/",
    "GitLab/",
    "Stripe/",
];

/// Robots by their names, and what the owner wants for each.
#[derive(Debug)]
pub struct Crawlers {
    knowledge: Knowledge,
    /// One for each robot of the list.
    treatments: Vec<Treatment>,
    wishes: Wishes,
    agents: Agents,
}

/// Which robot an agent names, or a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named {
    /// The robot of this number.
    Robot(u16),
    /// A program that is neither browser nor crawler.
    Tool,
}

impl Crawlers {
    /// Robots with what the owner wants for them. The seed keys the table of agents.
    pub fn new(knowledge: Knowledge, wishes: Wishes, seed: u64) -> Result<Crawlers, Vec<String>> {
        let errors = check(&knowledge, &wishes);
        if !errors.is_empty() {
            return Err(errors);
        }
        let robots = (0..knowledge.robots.len() as u16).map_while(|at| knowledge.robots.robot(at));
        let treatments = robots
            .map(|robot| treatment(&knowledge, &wishes, robot))
            .collect();
        Ok(Crawlers {
            knowledge,
            treatments,
            wishes,
            agents: Agents::new(seed),
        })
    }

    /// The robot that an agent names.
    pub fn named(&self, agent: &[u8]) -> Option<Named> {
        let agent = &agent[..agent.len().min(AGENT_BYTES_MAX)];
        self.agents.find(agent, || {
            match TOOLS.iter().any(|tool| agent.starts_with(tool.as_bytes())) {
                true => Some(Named::Tool),
                false => self.knowledge.robots.find(agent).map(Named::Robot),
            }
        })
    }

    fn robot(&self, number: u16) -> Option<(&Robot, Treatment)> {
        let treatment = self.treatments.get(usize::from(number))?;
        Some((self.knowledge.robots.robot(number)?, *treatment))
    }

    /// True for a robot of a known operator: an address or a name server may still prove it.
    pub fn has_operator(&self, number: u16) -> bool {
        let robot = self.knowledge.robots.robot(number);
        robot.is_some_and(|robot| self.knowledge.operator(robot).is_some())
    }

    /// What a robot is called.
    pub fn name(&self, number: u16) -> &str {
        let robot = self.knowledge.robots.robot(number);
        robot.map_or("", |robot| robot.name.as_str())
    }

    /// The names of all robots with a treatment.
    pub(super) fn named_with(&self, wanted: Treatment) -> impl Iterator<Item = &str> {
        let all = self.knowledge.robots.robot_names().zip(&self.treatments);
        all.filter(move |(_, treatment)| **treatment == wanted)
            .map(|(name, _)| name)
    }

    /// What the owner wants for a purpose.
    pub(super) fn of_purpose(&self, purpose: Purpose) -> Treatment {
        let said = self.wishes.purposes.get(purpose.key()).copied();
        said.unwrap_or_else(|| self.wishes.preset.treatment(purpose))
    }

    /// What its address says about a robot, without asking anybody.
    fn claim(&self, robot: &Robot, source: Source, time: u32) -> Claim {
        let operator = self.knowledge.operator(robot);
        operator.map_or(Claim::Open, |operator| {
            operator.claim_within(source, time, LIST_DAYS)
        })
    }

    /// The domains one of which the name of a robot's address must lie in, where the address alone does not say enough and the answer
    /// matters.
    pub fn domains(&self, number: u16, source: Source, time: u32) -> &[String] {
        let Some((robot, treatment)) = self.robot(number) else {
            return &[];
        };
        let is_decided = matches!(treatment, Treatment::Challenge | Treatment::Refuse);
        if is_decided || self.claim(robot, source, time) == Claim::Proven {
            return &[];
        }
        let operator = self.knowledge.operator(robot);
        operator.map_or(&[], |operator| operator.domains(robot))
    }

    /// Whether a source is the robot that it names.
    pub fn proof(&self, number: u16, source: Source, time: u32, looked: Looked) -> Proof {
        let Some((robot, treatment)) = self.robot(number) else {
            return Proof::None;
        };
        match treatment {
            Treatment::Challenge | Treatment::Refuse => return Proof::Declared(treatment),
            Treatment::Visitor if robot.operator.is_none() => return Proof::None,
            _ => {}
        }
        let operator = self.knowledge.operator(robot);
        let domains = operator.map_or(&[][..], |operator| operator.domains(robot));
        match (self.claim(robot, source, time), looked) {
            (Claim::Proven, _) | (_, Looked::Confirmed) => self.proven(number, robot, treatment),
            // Telephones fetch previews from home addresses, under the names of their apps.
            (Claim::Disproved, _) | (_, Looked::Denied) if robot.purpose.is_automated() => {
                Proof::Declared(Treatment::Limit)
            }
            (_, Looked::Denied) => Proof::Disproved,
            // A new network of the operator's may not be on the list yet: its name decides.
            (_, Looked::Unknown) if !domains.is_empty() => Proof::None,
            (Claim::Disproved, _) => Proof::Disproved,
            (Claim::Open, _) if treatment == Treatment::Visitor => Proof::None,
            (Claim::Open, _) => Proof::Declared(Treatment::Limit),
        }
    }

    /// A robot that has proven who it is.
    fn proven(&self, number: u16, robot: &Robot, treatment: Treatment) -> Proof {
        let is_sent = matches!(
            robot.purpose,
            Purpose::UserTriggered | Purpose::Proxy | Purpose::Preview
        );
        match treatment {
            Treatment::Visitor => Proof::None,
            Treatment::Allow => Proof::Proven {
                crawler: u64::from(number),
                pages: match is_sent {
                    true => self.wishes.fetched_pages,
                    false => self.wishes.pages,
                },
            },
            Treatment::Limit | Treatment::Challenge | Treatment::Refuse => {
                Proof::Declared(treatment)
            }
        }
    }
}

fn treatment(knowledge: &Knowledge, wishes: &Wishes, robot: &Robot) -> Treatment {
    let by_name = |name: &str| wishes.robots.get(name).copied();
    let operator = knowledge.operator(robot);
    by_name(&robot.name)
        .or_else(|| operator.and_then(|operator| by_name(&operator.key)))
        .or_else(|| wishes.purposes.get(robot.purpose.key()).copied())
        .unwrap_or_else(|| wishes.preset.treatment(robot.purpose))
}

/// Tokens of robots.txt that no agent ever shows: what they say is said there alone.
pub const ROBOTS_TXT_ONLY: [(&str, &str); 2] = [
    ("Google-Extended", "Googlebot"),
    ("Applebot-Extended", "Applebot"),
];

/// Purposes and names that nobody has.
fn check(knowledge: &Knowledge, wishes: &Wishes) -> Vec<String> {
    let is_no_purpose = |key: &&String| Purpose::from_key(key).is_none();
    let purposes = wishes.purposes.keys().filter(is_no_purpose).map(|key| {
        format!(
            "[gate.crawlers.purposes]: '{key}' is no purpose; known: {}",
            Purpose::keys()
        )
    });
    let is_known = |name: &str| {
        let is_operator = |operator: &Operator| operator.key == name;
        knowledge.operators.iter().any(is_operator)
            || knowledge.robots.robot_names().any(|known| known == name)
    };
    let robots = wishes.robots.keys().filter_map(|name| {
        let only = ROBOTS_TXT_ONLY.iter().find(|(token, _)| token == name);
        if let Some((token, agent)) = only {
            return Some(format!(
                "[gate.crawlers.robots]: '{token}' is a token of robots.txt and no robot: its pages are fetched by {agent}, so only robots.txt can say it ('User-agent: {token}', 'Disallow: /')"
            ));
        }
        (!is_known(name)).then(|| {
            format!("[gate.crawlers.robots]: '{name}' is neither an operator nor a robot; 'cattlegrid lists show' lists them")
        })
    });
    purposes.chain(robots).collect()
}

/// Which agents name which robot, for those seen lately: a table of fixed size that threads share without locks.
#[derive(Debug)]
struct Agents {
    /// 47 bits of an agent's keyed hash, and what it names: 0 for a place never used.
    slots: Vec<AtomicU64>,
    hasher: FixedState,
}

/// Bytes of an agent that are looked at: no robot's name stands further behind, and every new agent of any length would cost its time.
const AGENT_BYTES_MAX: usize = 512;
/// Agents that are remembered: a large site sees some thousands a day.
const AGENTS: usize = 1 << 13;
/// What an agent names, in the lower bits: nobody, a tool, or a robot from here on.
const NOBODY: u64 = 1;
const TOOL: u64 = 2;
const FIRST: u64 = 3;
const WHAT: u64 = (1 << 17) - 1;

impl Agents {
    fn new(seed: u64) -> Agents {
        Agents {
            slots: (0..AGENTS).map(|_| AtomicU64::new(0)).collect(),
            hasher: FixedState::with_seed(seed),
        }
    }

    fn find(&self, agent: &[u8], ask: impl FnOnce() -> Option<Named>) -> Option<Named> {
        let hash = self.hasher.hash_one(agent);
        let slot = &self.slots[hash as usize % AGENTS];
        // The lower bits have chosen the slot.
        let mark = hash & !WHAT;
        let known = slot.load(Ordering::Relaxed);
        if known & !WHAT == mark && known & WHAT != 0 {
            return match known & WHAT {
                NOBODY => None,
                TOOL => Some(Named::Tool),
                number => Some(Named::Robot((number - FIRST) as u16)),
            };
        }
        let named = ask();
        let what = match named {
            None => NOBODY,
            Some(Named::Tool) => TOOL,
            Some(Named::Robot(number)) => u64::from(number) + FIRST,
        };
        slot.store(mark | what, Ordering::Relaxed);
        named
    }
}

#[cfg(test)]
mod tests;
