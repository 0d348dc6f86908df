//! What is known beforehand. An immutable value, loaded as if an enemy wrote it.

mod robots;
mod shape;

pub use robots::Robot;
pub use robots::RobotList;

/// Everything known before the first request.
#[derive(Debug)]
pub struct Knowledge {
    /// Robots by user agent.
    pub robots: RobotList,
}

/// What a robot comes for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    /// Fills a search engine's index.
    Search,
    /// Gathers text for language models.
    Ai,
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
        matches!(self, Purpose::Preview | Purpose::Monitor | Purpose::Feed)
    }
}
