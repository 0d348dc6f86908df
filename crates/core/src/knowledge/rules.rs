//! The owner's robots.txt: what each robot was asked not to fetch.

use robotxt::Agent;
use robotxt::Robots;

use super::RobotList;

/// A robots.txt, read for every robot that is known by name.
#[derive(Debug)]
pub struct RobotsRules {
    /// The rules of each group that speaks to somebody; the first are those for everybody else.
    groups: Vec<Robots>,
    /// The group of each robot, by its number.
    group_of: Vec<u16>,
}

impl RobotsRules {
    /// Reads the file. Lines that mean nothing are passed over, as robots do.
    pub fn new(text: &[u8], robots: &RobotList) -> RobotsRules {
        let mut groups = vec![Robots::parse(text, "*")];
        let group_of = robots
            .robot_names()
            .map(|name| {
                let rules = Robots::parse(text, Agent::Prefix(name));
                let same = |group: &Robots| group.user_agent() == rules.user_agent();
                let at = groups.iter().position(same).unwrap_or_else(|| {
                    groups.push(rules);
                    groups.len() - 1
                });
                u16::try_from(at).unwrap_or(0)
            })
            .collect();
        RobotsRules { groups, group_of }
    }

    /// True where nobody is asked to keep away from anything.
    pub fn allow_everything(&self) -> bool {
        self.groups
            .iter()
            .all(|group| group.rules().iter().all(|rule| rule.is_allow()))
    }

    /// True where a robot of this number, or one without a name, was asked not to fetch this.
    pub fn forbid(&self, robot: Option<u16>, target: &[u8]) -> bool {
        let group = robot
            .and_then(|number| self.group_of.get(usize::from(number)))
            .map_or(0, |at| usize::from(*at));
        !self.groups[group].is_allowed(&String::from_utf8_lossy(target))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_robot_has_the_rules_of_its_own_group() {
        let list = r#"[{"pattern": "Examplebot", "url": "", "instances": []}, {"pattern": "Otherbot", "url": "", "instances": []}]"#;
        let robots = RobotList::new(list, &[]).unwrap();
        let text = b"User-agent: *\nDisallow: /private/\n\nUser-agent: examplebot\nDisallow: /\nAllow: /open/\n";
        let rules = RobotsRules::new(text, &robots);
        let number = |agent: &[u8]| robots.find(agent);
        let (example, other) = (number(b"Examplebot/1.0"), number(b"Otherbot/1.0"));
        assert!(example.is_some() && other.is_some());
        assert!(rules.forbid(example, b"/page") && !rules.forbid(example, b"/open/page"));
        assert!(!rules.forbid(other, b"/page") && rules.forbid(other, b"/private/x"));
        assert!(rules.forbid(None, b"/private/x") && !rules.forbid(None, b"/\xff"));
        assert!(!rules.allow_everything());
        assert!(RobotsRules::new(b"User-agent: *\nDisallow:\n", &robots).allow_everything());
    }
}
