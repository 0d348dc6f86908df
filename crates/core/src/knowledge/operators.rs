//! Who runs a robot, and which networks are the operator's: a claim to be somebody's robot is proven, disproved, or neither.

use ipnet::IpNet;
use jiff::civil::Date;
use prefix_trie::joint::JointPrefixSet;
use serde::Deserialize;

use super::Purpose;
use crate::networks::network_of;
use crate::networks::networks;
use crate::request::Source;

/// Facts about one operator.
#[derive(Debug)]
pub struct Operator {
    /// Its short name: that of its file.
    pub key: String,
    /// What to call it.
    pub name: String,
    /// Texts in the user agents of its robots.
    pub robots: Vec<OwnRobot>,
    /// Names that its addresses have in reverse DNS.
    pub reverse_dns: Vec<String>,
    /// Where it publishes its networks.
    pub sources: Vec<String>,
    networks: JointPrefixSet<IpNet>,
    /// The day of a published list; without one the networks are some of the operator's.
    published: Option<Date>,
}

/// A robot of an operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnRobot {
    /// A text in its user agent.
    pub agent: String,
    /// What it comes for.
    pub purpose: Purpose,
}

/// What an address says about a claim to be an operator's robot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// The address lies in the operator's networks.
    Proven,
    /// The operator publishes its networks, and the address lies in none of them.
    Disproved,
    /// Neither.
    Open,
}

/// A file of facts.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    #[serde(default)]
    reverse_dns: Vec<String>,
    #[serde(default)]
    sources: Vec<String>,
    #[serde(default)]
    networks: Vec<String>,
    #[serde(default)]
    robots: Vec<FileRobot>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileRobot {
    agent: String,
    purpose: String,
}

/// The shortest text that may name a robot: a shorter one stands in agents by chance.
const AGENT_BYTES_MIN: usize = 5;
/// A published list disproves claims in logs this many days around its date: networks come and go.
const LIST_DAYS: i32 = 400;

impl Operator {
    /// Reads a file of facts.
    pub fn parse(key: &str, text: &str) -> Result<Operator, String> {
        let file: File = toml::from_str(text).map_err(|error| error.message().to_owned())?;
        let mut robots = Vec::new();
        for robot in file.robots {
            let purpose = Purpose::from_key(&robot.purpose).ok_or_else(|| {
                format!(
                    "'{}' is no purpose; known: {}",
                    robot.purpose,
                    Purpose::keys()
                )
            })?;
            if robot.agent.len() < AGENT_BYTES_MIN || robot.agent.len() > 200 {
                return Err(format!(
                    "the agent '{}' is too short or too long to name a robot",
                    robot.agent
                ));
            }
            robots.push(OwnRobot {
                agent: robot.agent,
                purpose,
            });
        }
        Ok(Operator {
            key: key.to_owned(),
            name: file.name,
            robots,
            reverse_dns: file.reverse_dns,
            sources: file.sources,
            networks: networks(file.networks.iter().map(String::as_str))?,
            published: None,
        })
    }

    /// Takes over a list that the operator published: one network a line, the day in a comment `# date 2030-01-31`.
    pub fn set_published(&mut self, text: &str) -> Result<(), String> {
        let day = text
            .lines()
            .find_map(|line| line.strip_prefix("# date "))
            .and_then(|day| day.trim().parse::<Date>().ok())
            .ok_or("it lacks the line '# date YYYY-MM-DD'")?;
        let lines = text
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with('#'));
        let networks = networks(lines)?;
        if networks.is_empty() {
            return Err("it holds no network".to_owned());
        }
        self.networks = networks;
        self.published = Some(day);
        Ok(())
    }

    /// What a source says about its claim to be one of this operator's robots, at a time.
    pub fn claim(&self, source: Source, time: u32) -> Claim {
        let Some(network) = network_of(source) else {
            return Claim::Open;
        };
        if self.networks.get_lpm(&network).is_some() {
            return Claim::Proven;
        }
        let is_near = |day: Date| {
            let seconds = i64::from(time);
            let at = jiff::Timestamp::from_second(seconds)
                .map(|at| at.to_zoned(jiff::tz::TimeZone::UTC).date());
            at.and_then(|at| at.since(day))
                .is_ok_and(|span| span.get_days().abs() <= LIST_DAYS)
        };
        match self.published {
            Some(day) if is_near(day) => Claim::Disproved,
            _ => Claim::Open,
        }
    }

    /// How many networks of the operator are known.
    pub fn networks(&self) -> usize {
        self.networks.len()
    }

    /// These networks.
    pub fn list(&self) -> impl Iterator<Item = IpNet> + '_ {
        self.networks.iter()
    }

    /// True for one that runs a search engine.
    pub fn is_search_engine(&self) -> bool {
        let robots = self.robots.iter();
        robots
            .map(|robot| robot.purpose)
            .any(|purpose| purpose == Purpose::Search)
    }

    /// The day of its published list, where there is one.
    pub fn published(&self) -> Option<Date> {
        self.published
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "name = \"Example\"\nnetworks = [\"192.0.2.0/24\", \"2001:db8:1::/48\"]\n[[robots]]\nagent = \"ExampleBot\"\npurpose = \"search\"\n";

    fn source(text: &str) -> Source {
        Source::from_address(text.as_bytes()).unwrap()
    }

    #[test]
    fn claims() {
        let mut operator = Operator::parse("example", FILE).unwrap();
        let time = 1_893_456_000; // 2030-01-01
        assert_eq!(operator.claim(source("192.0.2.7"), time), Claim::Proven);
        assert_eq!(
            operator.claim(source("2001:db8:1:2::3"), time),
            Claim::Proven
        );
        assert_eq!(operator.claim(source("203.0.113.7"), time), Claim::Open);
        operator
            .set_published("# date 2030-01-31\n198.51.100.0/24\n")
            .unwrap();
        assert_eq!(operator.claim(source("198.51.100.9"), time), Claim::Proven);
        assert_eq!(
            operator.claim(source("203.0.113.7"), time),
            Claim::Disproved
        );
        // Long before the list was made nobody knows.
        assert_eq!(
            operator.claim(source("203.0.113.7"), 1_262_304_000),
            Claim::Open
        );
    }

    #[test]
    fn hostile_files_are_refused() {
        let bad = |from: &str, to: &str| Operator::parse("x", &FILE.replace(from, to)).unwrap_err();
        assert!(bad("192.0.2.0/24", "0.0.0.0/0").contains("larger than any"));
        assert!(bad("192.0.2.0/24", "nonsense").contains("network 1"));
        assert!(bad("ExampleBot", "Mo").contains("too short"));
        assert!(bad("search", "evil").contains("is no purpose"));
        assert!(bad("name =", "nom =").contains("unknown field"));
        let mut operator = Operator::parse("example", FILE).unwrap();
        assert!(operator.set_published("").is_err());
        assert!(
            operator
                .set_published("# date 2030-01-01\n")
                .unwrap_err()
                .contains("no network")
        );
        assert!(operator.set_published("# date 2030-01-01\n::/0\n").is_err());
        assert_eq!(
            operator.claim(source("192.0.2.7"), 1_893_456_000),
            Claim::Proven,
            "nothing was lost"
        );
    }
}
