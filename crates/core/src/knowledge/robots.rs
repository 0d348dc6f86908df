//! User agents that name themselves robots: a list by name, and what a name on no list tells. Loaded as if an enemy wrote it.

use aho_corasick::AhoCorasick;
use regex::RegexBuilder;
use regex::RegexSet;
use regex::RegexSetBuilder;
use serde::Deserialize;

use super::Operator;
use super::Purpose;
use super::devices;
use super::shape::Shapes;

/// User-agent patterns of robots that name themselves.
#[derive(Debug)]
pub struct RobotList {
    robots: Vec<Robot>,
    names: AhoCorasick,
    /// Index of the robot each name in `names` belongs to.
    name_owner: Vec<u16>,
    /// Patterns that are more than a fixed text.
    patterns: RegexSet,
    /// Index of the robot each pattern belongs to.
    pattern_owner: Vec<u16>,
    /// Robots before this one are on the list; behind it stand those that are on no list, by purpose.
    listed: u16,
    shapes: Shapes,
}

/// One robot of the list.
#[derive(Debug, PartialEq, Eq)]
pub struct Robot {
    /// What to call it.
    pub name: String,
    /// What it comes for.
    pub purpose: Purpose,
    /// Who runs it: a number in the list of operators.
    pub operator: Option<u16>,
    /// Its number among the operator's robots.
    pub own: Option<u16>,
}

/// Purposes in the order in which a robot with several tags is named by one.
const TAGS: [(&str, Purpose); 12] = [
    ("social-preview", Purpose::Preview),
    ("feed-reader", Purpose::Feed),
    ("monitoring", Purpose::Monitor),
    ("search-engine", Purpose::Search),
    ("ai-crawler", Purpose::Ai),
    ("scanner", Purpose::Scanner),
    ("http-library", Purpose::Library),
    ("browser-automation", Purpose::Automation),
    ("archiver", Purpose::Archive),
    ("seo", Purpose::Seo),
    ("advertising", Purpose::Advertising),
    ("academic", Purpose::Academic),
];

/// Patterns of crawler-user-agents 1.60 that hit ordinary browsers: a messenger's built-in browser, an Android build
/// number, and a crawler's number that also ends version strings.
const HITS_BROWSERS: [&str; 3] = ["Viber", "AP3A\\.240617\\.008", "008\\/"];

/// Programs that owners run or ask for, which the list does not have or calls scanners: the site's own WordPress (its cron calls itself over
/// HTTP, and it fetches what it links to), Jetpack, Apache waking its own processes, and certificate authorities that look at a domain.
const OWNERS: [(&str, &str); 11] = [
    ("WordPress/", "WordPress"),
    ("Jetpack by WordPress.com", "Jetpack"),
    ("jetmon/", "jetmon"),
    (
        "(internal dummy connection)",
        "Apache's internal dummy connection",
    ),
    ("Let's Encrypt validation server", "Let's Encrypt"),
    ("DigiCert DCV", "DigiCert"),
    ("Sectigo DCV", "Sectigo"),
    ("COMODO DCV", "Sectigo"),
    ("Google-Certificates-Bridge", "Google Trust Services"),
    ("cert-manager-challenges/", "cert-manager"),
    ("Test Certificate Info", "Test Certificate Info"),
];

/// Purposes of robots that are on no list, in the order of their numbers behind the list's.
const UNLISTED: [Purpose; 9] = [
    Purpose::Preview,
    Purpose::Feed,
    Purpose::Monitor,
    Purpose::Scanner,
    Purpose::Automation,
    Purpose::Archive,
    Purpose::Seo,
    Purpose::Library,
    Purpose::Other,
];

/// Limits on the list: far above any real one, far below what could hurt.
const ROBOTS_MAX: usize = 20_000;
const PATTERN_BYTES_MAX: usize = 512;
const REGEX_BYTES_MAX: usize = 64 * 1024;

/// An entry of the package `crawler-user-agents`.
#[derive(Deserialize)]
struct Entry {
    pattern: String,
    #[serde(default)]
    tags: Vec<String>,
}

impl Entry {
    fn robot(&self) -> Robot {
        let purpose = TAGS
            .into_iter()
            .find(|(tag, _)| self.tags.iter().any(|given| given == tag))
            .map_or(Purpose::Other, |(_, purpose)| purpose);
        Robot {
            name: display_name(&self.pattern),
            purpose,
            operator: None,
            own: None,
        }
    }
}

impl RobotList {
    /// Loads the JSON of the registry package `crawler-user-agents`, behind the robots of the operators.
    pub fn new(json: &str, operators: &[Operator]) -> Result<RobotList, String> {
        let entries: Vec<Entry> = serde_json::from_str(json)
            .map_err(|error| format!("the robot list is not a list of patterns: {error}"))?;
        if entries.len() > ROBOTS_MAX {
            return Err(format!(
                "the robot list has {} entries, more than {ROBOTS_MAX}",
                entries.len()
            ));
        }
        // Operators come first: of several matches the first of the list counts.
        let (mut robots, mut texts) = own_robots(operators);
        let own = robots.len() as u16;
        let mut name_owner: Vec<u16> = (0..own).collect();
        let (mut patterns, mut pattern_owner) = (Vec::new(), Vec::new());
        for entry in entries
            .iter()
            .filter(|entry| !HITS_BROWSERS.contains(&entry.pattern.as_str()))
        {
            let number = robots.len() as u16;
            if entry.pattern.len() > PATTERN_BYTES_MAX {
                return Err(format!(
                    "entry {} of the robot list is longer than {PATTERN_BYTES_MAX} bytes",
                    number - own
                ));
            }
            match fixed_text(&entry.pattern) {
                Some(text) if text.len() < 3 => {
                    return Err(format!(
                        "entry {} of the robot list, '{}', would match nearly everything",
                        number - own,
                        entry.pattern
                    ));
                }
                Some(text) => {
                    texts.push(text);
                    name_owner.push(number);
                }
                None => {
                    patterns.push(entry.pattern.as_str());
                    pattern_owner.push(number);
                }
            }
            robots.push(entry.robot());
        }
        let listed = robots.len() as u16;
        robots.extend(UNLISTED.map(|purpose| Robot {
            name: "a program on no list".to_owned(),
            purpose,
            operator: None,
            own: None,
        }));
        let names = AhoCorasick::new(&texts)
            .map_err(|error| format!("the robot list cannot be compiled: {error}"))?;
        let set = compile(&patterns).map_err(|error| {
            let numbers = pattern_owner.iter().map(|number| number - own);
            culprit(&patterns, numbers, &error)
        })?;
        Ok(RobotList {
            robots,
            names,
            name_owner,
            patterns: set,
            pattern_owner,
            listed,
            shapes: Shapes::new()?,
        })
    }

    /// The robot an agent names itself as; where several match, the first of the list.
    pub fn find(&self, agent: &[u8]) -> Option<u16> {
        let text = String::from_utf8_lossy(agent);
        if devices::is_apple_program(&text.to_ascii_lowercase()) {
            return None;
        }
        if let Some(rest) = devices::without_mobile_browsers(&text) {
            return self
                .on_list(&rest)
                .or_else(|| self.unlisted(self.shapes.marked(&rest)));
        }
        let listed = self.on_list(&text);
        listed.or_else(|| match text.trim() {
            "" => None,
            _ => self.unlisted(self.shapes.program(&text)),
        })
    }

    fn on_list(&self, text: &str) -> Option<u16> {
        let named = self
            .names
            .find_overlapping_iter(text)
            .map(|found| self.name_owner[found.pattern().as_usize()])
            .min();
        let matched = self.patterns.matches(text).into_iter().next();
        let matched = matched.map(|pattern| self.pattern_owner[pattern]);
        [named, matched].into_iter().flatten().min()
    }

    fn unlisted(&self, purpose: Option<Purpose>) -> Option<u16> {
        let purpose = purpose?;
        let at = UNLISTED.iter().position(|known| *known == purpose)?;
        Some(self.listed + at as u16)
    }

    /// True for a robot with a name of its own, false for one that only the shape of its agent tells.
    pub fn is_listed(&self, number: u16) -> bool {
        number < self.listed
    }

    /// Names of all robots, in the order of their numbers.
    pub fn robot_names(&self) -> impl Iterator<Item = &str> {
        self.robots.iter().map(|robot| robot.name.as_str())
    }

    /// The robot of a number that [`RobotList::find`] gave.
    pub fn robot(&self, number: u16) -> Option<&Robot> {
        self.robots.get(usize::from(number))
    }

    /// How many robots the list holds.
    pub fn len(&self) -> usize {
        self.robots.len()
    }

    /// True for a list without robots.
    pub fn is_empty(&self) -> bool {
        self.robots.is_empty()
    }
}

/// The robots of the operators in their order and then the programs of owners, with the texts that name them.
fn own_robots(operators: &[Operator]) -> (Vec<Robot>, Vec<String>) {
    let of_operators = operators.iter().flat_map(|operator| &operator.robots);
    let texts = of_operators
        .map(|robot| robot.agent.as_str())
        .chain(OWNERS.map(|(text, _)| text));
    let of_owners = OWNERS.map(|(_, name)| Robot {
        name: name.to_owned(),
        purpose: Purpose::Monitor,
        operator: None,
        own: None,
    });
    let robots = (0..)
        .zip(operators)
        .flat_map(|(number, operator)| {
            (0..).zip(&operator.robots).map(move |(own, robot)| Robot {
                name: display_name(&robot.agent),
                purpose: robot.purpose,
                operator: Some(number),
                own: Some(own),
            })
        })
        .chain(of_owners)
        .collect();
    (robots, texts.map(str::to_owned).collect())
}

fn compile(patterns: &[&str]) -> Result<RegexSet, regex::Error> {
    let limit = REGEX_BYTES_MAX * patterns.len().max(1);
    RegexSetBuilder::new(patterns)
        .size_limit(limit)
        .nest_limit(50)
        .build()
}

/// Which pattern is to blame when all together are refused.
fn culprit(patterns: &[&str], numbers: impl Iterator<Item = u16>, error: &regex::Error) -> String {
    for (pattern, number) in patterns.iter().zip(numbers) {
        let alone = RegexBuilder::new(pattern)
            .size_limit(REGEX_BYTES_MAX)
            .nest_limit(50)
            .build();
        if let Err(error) = alone {
            let pattern = crate::text::printable(pattern.as_bytes());
            return format!("entry {number} of the robot list, '{pattern}', is refused: {error}");
        }
    }
    format!("the robot list is refused: {error}")
}

/// The text a pattern stands for when it is a plain text with escapes.
fn fixed_text(pattern: &str) -> Option<String> {
    let mut text = String::new();
    let mut chars = pattern.chars();
    while let Some(char) = chars.next() {
        match char {
            '\\' => match chars.next() {
                Some(next) if !next.is_ascii_alphanumeric() => text.push(next),
                _ => return None,
            },
            '^' | '$' | '.' | '|' | '?' | '*' | '+' | '(' | ')' | '[' | ']' | '{' | '}' => {
                return None;
            }
            _ => text.push(char),
        }
    }
    Some(text)
}

/// A pattern as a name: without escapes, classes and anchors.
fn display_name(pattern: &str) -> String {
    let first = pattern.split('|').next().unwrap_or(pattern);
    let mut name = String::new();
    let mut in_class = None;
    let text = first.replace("[\\s\\S]*", " ");
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        match (char, in_class) {
            ('\\', None) => name.extend(chars.next()),
            ('[', None) => in_class = Some(true),
            (']', Some(_)) => in_class = None,
            (_, Some(true)) if char != '^' => {
                name.push(char);
                in_class = Some(false);
            }
            (_, Some(_)) | ('^' | '$' | '(' | ')' | '?' | '*' | '+', None) => {}
            _ => name.push(char),
        }
    }
    name.trim_matches(|char: char| char == '/' || char.is_whitespace())
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = include_str!("../../../../data/crawler-user-agents.json");

    fn check(agent: &str, expected: Option<(&str, Purpose)>) {
        let list = RobotList::new(LIST, &[]).unwrap();
        let found = list
            .find(agent.as_bytes())
            .and_then(|number| list.robot(number))
            .map(|robot| (robot.name.as_str(), robot.purpose));
        assert_eq!(found, expected, "{agent}");
    }

    #[test]
    fn robots_that_name_themselves() {
        check(
            "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
            Some(("Googlebot", Purpose::Search)),
        );
        check("curl/7.88.1", Some(("curl", Purpose::Library)));
        check("Wget/1.21.3", Some(("wget", Purpose::Library)));
        check(
            "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)",
            Some(("GPTBot", Purpose::Ai)),
        );
        check(
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:128.0) Gecko/20100101 Firefox/128.0",
            None,
        );
        check(
            "Mozilla/5.0 (Linux; Android 15; Pixel 8 Build/AP3A.240617.008) AppleWebKit/537.36 Viber/1.008/x",
            None,
        );
        check(
            "HenryTheMiragoRobot (http://robot.example/)",
            Some(("a program on no list", Purpose::Other)),
        );
        check(
            "Mozilla/5.0 (Linux; Android 10; CUBOT X30) AppleWebKit/537.36 Chrome/120.0 Mobile Safari/537.36",
            None,
        );
        check("", None);
    }

    #[test]
    fn devices_of_people_are_no_robots() {
        for agent in [
            "MobileSafari/604.1 CFNetwork/1410.0.3 Darwin/22.6.0",
            "Safari/19618.2.12.11.6 CFNetwork/1496.0.7 Darwin/23.5.0",
            "com.apple.WebKit.Networking/8615.7.1.10.1 CFNetwork/1410.1 Darwin/22.6.0",
            "com.apple.Safari.SearchHelper/19618.2 CFNetwork/1496.0.7 Darwin/23.5.0",
            "WhatsApp/2.23.20 CFNetwork/1410.0.3 Darwin/22.6.0",
            "Viber/12.8.0.1 CFNetwork/1121.2.2 Darwin/19.3.0",
            "SogouMobileBrowser/5.22.8",
            "Mozilla/5.0 (Linux; Android 9; EML-AL00) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/66.0 Mobile Safari/537.36 SogouMSE,SogouMobileBrowser/5.22.8",
            "MQQBrowser/26 Mozilla/5.0 (linux; U; Android 2.3.7; zh-cn; MB200 Build/GRJ22) AppleWebKit/533.1 Version/4.0 Mobile Safari/533.1",
            "Mozilla/5.0 (Linux; Android 10; VOG-AL00) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/76.0 Mobile Safari/537.36 T7/12.16 SearchCraft/3.9.1 (Baidu; P1 10) baiduboxapp/12.16.5.10",
            "baidubrowser/7.19.13.0 (Baidu; P1 9)",
            "UCWEB/2.0 (MIDP-2.0; U; Adr 4.4.2; zh-CN) U2/1.0.0 UCBrowser/10.7.0.634 U2/1.0.0 Mobile",
        ] {
            check(agent, None);
        }
        // A robot does not hide behind such a name.
        check(
            "Mozilla/5.0 (Linux; Android 9) baiduboxapp/12.16 (compatible; Baiduspider/2.0)",
            Some(("Baiduspider", Purpose::Search)),
        );
        check(
            "Sogou web spider/4.0(+http://www.sogou.com/docs/help/webmasters.htm#07)",
            Some(("Sogou", Purpose::Search)),
        );
        check("WhatsApp/2.23.20.0 A", Some(("WhatsApp", Purpose::Preview)));
        check(
            "ExamplePods/1 CFNetwork/1410.0.3 Darwin/22.6.0",
            Some(("a program on no list", Purpose::Library)),
        );
        check(
            "UCBrowser/1.0 example crawler",
            Some(("a program on no list", Purpose::Other)),
        );
    }

    #[test]
    fn programs_of_the_owner_are_automated() {
        for (agent, name) in [
            ("WordPress/6.4; https://www.example.org", "WordPress"),
            ("Jetpack by WordPress.com", "Jetpack"),
            (
                "jetmon/1.0 (Jetpack Site Uptime Monitor by WordPress.com)",
                "jetmon",
            ),
            (
                "Apache/2.4.57 (Debian) (internal dummy connection)",
                "Apache's internal dummy connection",
            ),
            (
                "Mozilla/5.0 (compatible; Let's Encrypt validation server; +https://www.letsencrypt.org)",
                "Let's Encrypt",
            ),
            ("DigiCert DCV Bot/1.1", "DigiCert"),
        ] {
            check(agent, Some((name, Purpose::Monitor)));
            assert!(Purpose::Monitor.is_automated());
        }
    }

    #[test]
    fn a_hostile_list_is_refused_with_its_entry() {
        let refused = |pattern: &str| {
            RobotList::new(
                &serde_json::json!([{ "pattern": pattern }]).to_string(),
                &[],
            )
            .unwrap_err()
        };
        assert!(refused("(a{1000}){1000}").contains("entry 0"));
        assert!(refused("(?:x{0,9999}){0,9999}").contains("entry 0"));
        assert!(refused(&"x".repeat(1 << 20)).contains("longer than"));
        assert!(refused("a").contains("nearly everything"));
        assert!(refused("").contains("nearly everything"));
        assert!(
            RobotList::new("{}", &[])
                .unwrap_err()
                .contains("not a list")
        );
    }

    #[test]
    fn matching_takes_linear_time() {
        let list = RobotList::new(r#"[{"pattern": "(a+)+$x"}]"#, &[]).unwrap();
        let found = list.find("a".repeat(1 << 20).as_bytes());
        let robot = found.and_then(|number| list.robot(number)).unwrap();
        assert_eq!(robot.purpose, Purpose::Library, "the pattern did not match");
    }
}
