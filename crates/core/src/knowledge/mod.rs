//! What is known beforehand. An immutable value, loaded as if an enemy wrote it.

mod age;
mod browsers;
mod devices;
mod operators;
mod robots;
mod rules;
mod shape;
mod systems;
mod weak_spots;

pub(crate) use age::released as browser_released;
pub(crate) use browsers::Browser;
pub(crate) use browsers::Engine;
pub(crate) use browsers::System;
pub use devices::is_text_browser;
pub use operators::Claim;
pub use operators::Covered;
pub use operators::Operator;
pub use operators::OwnRobot;
pub use operators::covered;
pub use robots::Robot;
pub use robots::RobotList;
pub use rules::RobotsRules;
pub(crate) use shape::is_misspelt;
pub use systems::AutonomousSystem;
pub use systems::AutonomousSystems;
pub use weak_spots::WeakSpots;

/// Everything known before the first request.
#[derive(Debug)]
pub struct Knowledge {
    /// Robots by user agent.
    pub robots: RobotList,
    /// Who runs robots, in the order of [`Robot::operator`].
    pub operators: Vec<Operator>,
    /// The owner's robots.txt, where it was given.
    pub rules: Option<RobotsRules>,
    /// Who announces addresses, where the owner has a database of that.
    pub systems: Option<AutonomousSystems>,
    /// What attack tools ask for.
    pub weak_spots: WeakSpots,
}

impl Knowledge {
    /// Loads the list of robots and the operators' facts.
    pub fn new(robots: &str, operators: Vec<Operator>) -> Result<Knowledge, String> {
        Ok(Knowledge {
            robots: RobotList::new(robots, &operators)?,
            operators,
            rules: None,
            systems: None,
            weak_spots: WeakSpots::built_in()?,
        })
    }

    /// The same, with the owner's robots.txt.
    pub fn with_rules(mut self, text: &[u8]) -> Knowledge {
        self.rules = Some(RobotsRules::new(text, &self.robots));
        self
    }

    /// Who runs a robot.
    pub fn operator(&self, robot: &Robot) -> Option<&Operator> {
        self.operators.get(usize::from(robot.operator?))
    }
}

/// What a robot comes for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    /// Fills a search engine's index.
    Search,
    /// Gathers text for language models, or says no more than that.
    Ai,
    /// Gathers text to train language models.
    AiTraining,
    /// Fills the index from which a language model answers.
    AiSearch,
    /// Fetches what a person has just asked a program for.
    UserTriggered,
    /// Fetches images and pages for people, from its own addresses: mail readers, prefetching browsers.
    Proxy,
    /// Looks for weak spots.
    Scanner,
    /// A programming library or download tool without a name of its own.
    Library,
    /// A browser run by a program.
    Automation,
    /// Keeps copies.
    Archive,
    /// Measures links and rankings.
    Seo,
    /// Checks advertisements.
    Advertising,
    /// Studies the web.
    Academic,
    /// Makes the preview of a shared link.
    Preview,
    /// Watches whether a site is up.
    Monitor,
    /// Reads feeds for a person.
    Feed,
    /// Not said.
    Other,
}

impl Purpose {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Purpose::Search => "search engine",
            Purpose::Ai => "AI crawler",
            Purpose::AiTraining => "AI training",
            Purpose::AiSearch => "AI search",
            Purpose::UserTriggered => "fetches for a person",
            Purpose::Proxy => "proxy for people",
            Purpose::Scanner => "vulnerability scanner",
            Purpose::Library => "HTTP library or download tool",
            Purpose::Automation => "automated browser",
            Purpose::Archive => "archive",
            Purpose::Seo => "SEO crawler",
            Purpose::Advertising => "advertising crawler",
            Purpose::Academic => "research crawler",
            Purpose::Preview => "link preview",
            Purpose::Monitor => "monitor",
            Purpose::Feed => "feed reader",
            Purpose::Other => "robot",
        }
    }

    /// Automated, but no crawler: it fetches what a person or an owner asked for.
    pub fn is_automated(self) -> bool {
        matches!(
            self,
            Purpose::Preview
                | Purpose::Monitor
                | Purpose::Feed
                | Purpose::Proxy
                | Purpose::UserTriggered
        )
    }

    /// The purpose with this key in a file of facts or a report.
    pub fn from_key(key: &str) -> Option<Purpose> {
        Purpose::ALL
            .into_iter()
            .find(|purpose| purpose.key() == key)
    }

    /// All keys, for a message.
    pub fn keys() -> String {
        Purpose::ALL.map(Purpose::key).join(", ")
    }

    /// All purposes.
    pub const ALL: [Purpose; 17] = [
        Purpose::Search,
        Purpose::Ai,
        Purpose::AiTraining,
        Purpose::AiSearch,
        Purpose::UserTriggered,
        Purpose::Proxy,
        Purpose::Scanner,
        Purpose::Library,
        Purpose::Automation,
        Purpose::Archive,
        Purpose::Seo,
        Purpose::Advertising,
        Purpose::Academic,
        Purpose::Preview,
        Purpose::Monitor,
        Purpose::Feed,
        Purpose::Other,
    ];

    /// The key in files of facts and JSON reports.
    pub fn key(self) -> &'static str {
        match self {
            Purpose::Search => "search",
            Purpose::Ai => "ai",
            Purpose::AiTraining => "ai_training",
            Purpose::AiSearch => "ai_search",
            Purpose::UserTriggered => "user_triggered",
            Purpose::Proxy => "proxy",
            Purpose::Scanner => "scanner",
            Purpose::Library => "library",
            Purpose::Automation => "automation",
            Purpose::Archive => "archive",
            Purpose::Seo => "seo",
            Purpose::Advertising => "advertising",
            Purpose::Academic => "academic",
            Purpose::Preview => "preview",
            Purpose::Monitor => "monitor",
            Purpose::Feed => "feed",
            Purpose::Other => "other",
        }
    }
}
