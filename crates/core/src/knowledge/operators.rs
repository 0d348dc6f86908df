//! Who runs a robot, and which networks are the operator's: a claim to be somebody's robot is proven, disproved, or neither.

use ipnet::IpNet;
use jiff::civil::Date;
use prefix_trie::joint::JointPrefixSet;
use serde::Deserialize;

use super::Purpose;
use super::Robot;
use crate::networks::Documentation;
use crate::networks::Largest;
use crate::networks::network_of;
use crate::networks::networks;
use crate::networks::special_purpose;
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
    /// Names that its addresses have in reverse DNS, where they are not those of all the operator's robots.
    pub reverse_dns: Option<Vec<String>>,
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
    reverse_dns: Option<Vec<String>>,
}

/// The shortest text that may name a robot: a shorter one stands in agents by chance.
const AGENT_BYTES_MIN: usize = 5;
/// A published list disproves claims in logs this many days around its date: networks come and go.
const LIST_DAYS: i32 = 400;

/// How much of the internet some networks cover, each counted for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Covered {
    /// IPv4 addresses.
    pub v4: u64,
    /// IPv6 networks of the size that one visitor has (/64).
    pub v6: u64,
}

/// A published list covers less: as much as an IPv4 /8 or an IPv6 /24.
const COVERED_MAX: Covered = Covered {
    v4: 1 << 24,
    v6: 1 << 40,
};

/// How much some networks cover.
pub fn covered(networks: impl Iterator<Item = IpNet>) -> Covered {
    networks.fold(Covered::default(), |mut sum, network| {
        match network {
            IpNet::V4(network) => sum.v4 += 1 << (32 - network.prefix_len()),
            IpNet::V6(network) => sum.v6 += 1 << 64_u8.saturating_sub(network.prefix_len()).min(63),
        }
        sum
    })
}

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
                reverse_dns: robot.reverse_dns,
            });
        }
        Ok(Operator {
            key: key.to_owned(),
            name: file.name,
            robots,
            reverse_dns: file.reverse_dns,
            sources: file.sources,
            networks: networks(file.networks.iter().map(String::as_str), Largest::OF_FACTS)?,
            published: None,
        })
    }

    /// Takes over a list that the operator published: one network a line, the day in a comment `# date 2030-01-31`.
    ///
    /// Refused where it holds networks that no robot comes from: too large ones, and those of a special purpose.
    pub fn set_published(
        &mut self,
        text: &str,
        documentation: Documentation,
    ) -> Result<(), String> {
        let day = text
            .lines()
            .find_map(|line| line.strip_prefix("# date "))
            .and_then(|day| day.trim().parse::<Date>().ok())
            .ok_or("it lacks the line '# date YYYY-MM-DD'")?;
        let lines = text
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with('#'));
        let networks = networks(lines, Largest::OF_PUBLISHED)?;
        if networks.is_empty() {
            return Err("it holds no network".to_owned());
        }
        for network in networks.iter() {
            if let Some(what) = special_purpose(network, documentation) {
                return Err(format!(
                    "{network} is of a special purpose ({what}): no operator's robot comes from there"
                ));
            }
        }
        let covered = covered(networks.iter());
        if covered.v4 > COVERED_MAX.v4 || covered.v6 > COVERED_MAX.v6 {
            return Err("its networks together are larger than any operator's".to_owned());
        }
        self.networks = networks;
        self.published = Some(day);
        Ok(())
    }

    /// What a source says about its claim to be one of this operator's robots, at a time.
    pub fn claim(&self, source: Source, time: u32) -> Claim {
        self.claim_within(source, time, LIST_DAYS)
    }

    /// The same, where a published list disproves claims this many days around its date.
    pub(crate) fn claim_within(&self, source: Source, time: u32, days: i32) -> Claim {
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
                .is_ok_and(|span| span.get_days().abs() <= days)
        };
        match self.published {
            Some(day) if is_near(day) => Claim::Disproved,
            _ => Claim::Open,
        }
    }

    /// The domains in which the names of a robot's addresses lie.
    pub(crate) fn domains(&self, robot: &Robot) -> &[String] {
        let own = robot.own.and_then(|at| self.robots.get(usize::from(at)));
        let own = own.and_then(|own| own.reverse_dns.as_deref());
        own.unwrap_or(&self.reverse_dns)
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
            .set_published(
                "# date 2030-01-31\n198.51.100.0/24\n",
                Documentation::Allowed,
            )
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
        assert!(operator.set_published("", Documentation::Allowed).is_err());
        assert!(
            operator
                .set_published("# date 2030-01-01\n", Documentation::Allowed)
                .unwrap_err()
                .contains("no network")
        );
        assert!(
            operator
                .set_published("# date 2030-01-01\n::/0\n", Documentation::Allowed)
                .is_err()
        );
        let refused = |list: &str| {
            let mut operator = Operator::parse("example", FILE).unwrap();
            let list = format!("# date 2030-01-01\n{list}\n");
            let refused = operator.set_published(&list, Documentation::Refused);
            refused.unwrap_err()
        };
        assert!(refused("44.0.0.0/11").contains("larger than any operator's"));
        assert!(refused("2600::/27").contains("larger than any operator's"));
        assert!(refused("127.0.0.0/16").contains("loopback"));
        assert!(refused("192.0.2.0/24").contains("documentation"));
        let many: Vec<String> = (0..17)
            .map(|net| format!("{}.0.0.0/12", 40 + net))
            .collect();
        assert!(refused(&many.join("\n")).contains("together are larger"));
        assert_eq!(
            operator.claim(source("192.0.2.7"), 1_893_456_000),
            Claim::Proven,
            "nothing was lost"
        );
    }
}
