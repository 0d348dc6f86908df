//! User agents that COUNTER requires to be left out of its reports (section 7.8.1), whatever the two steps say about their sources.

use cattlegrid_core::request::Field;
use regex::bytes::Regex;
use regex::bytes::RegexBuilder;

/// COUNTER's list of robots.
#[derive(Debug, Clone)]
pub struct CounterRobots {
    /// All patterns as one: nobody asks which of them matched.
    agents: Regex,
}

impl CounterRobots {
    /// Loads the list: a regular expression on each line. Case does not matter, as the list's maintainers advise.
    pub fn new(list: &str) -> Result<CounterRobots, String> {
        let patterns = list.lines().filter(|line| !line.is_empty());
        let patterns: Vec<String> = patterns.map(|line| format!("(?:{line})")).collect();
        // User agents are bytes: `.` is any of them.
        let agents = RegexBuilder::new(&patterns.join("|"))
            .case_insensitive(true)
            .unicode(false)
            .build();
        let agents = agents.map_err(|error| format!("COUNTER's list of robots: {error}"))?;
        Ok(CounterRobots { agents })
    }

    /// True for a user agent on the list. An empty one is; where none is logged, nothing is known.
    pub fn has(&self, agent: Field<'_>) -> bool {
        match agent {
            Field::NotLogged => false,
            Field::Empty => self.agents.is_match(b""),
            Field::Value(agent) => self.agents.is_match(agent),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_matches_as_its_maintainers_mean_it() {
        let list = include_str!("../../../../data/counter-robots.txt");
        assert_eq!(list.lines().count(), 327);
        let robots = CounterRobots::new(list).unwrap();
        let check = |agent: &str, expected: bool| {
            assert_eq!(
                robots.has(Field::logged(agent.as_bytes())),
                expected,
                "{agent}"
            );
        };
        check(
            "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
            true,
        );
        check("SOMEBOT/1", true);
        check("curl/8.5.0", true);
        check("破解后的", true);
        check("-", true);
        check(
            "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
            false,
        );
        check(
            "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1",
            false,
        );
        assert!(!robots.has(Field::NotLogged));
        assert!(!robots.has(Field::Value(b"\xff\xfe browser")));
        assert!(CounterRobots::new("(").unwrap_err().contains("COUNTER"));
    }
}
