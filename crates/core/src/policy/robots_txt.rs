//! What the owner wants for robots in the words of robots.txt (RFC 9309): groups for robots that are refused, the tokens that only
//! robots.txt knows, and preferences for the use of content (`Content-Usage`, draft-ietf-aipref-attach), merged with the site's own file.

use std::collections::BTreeSet;

use super::crawlers::Crawlers;
use super::crawlers::ROBOTS_TXT_ONLY;
use super::crawlers::Treatment;
use crate::knowledge::Purpose;

/// Bytes of a site's file that are taken: robots read no more of it.
pub const ROBOTS_TXT_MAX: usize = 500 * 1024;

/// A line of a file, as far as it matters here.
enum Line<'a> {
    /// `User-agent:`, with its token.
    Agent(&'a str),
    /// A rule of a group.
    Rule(&'a str),
    /// Everything else: comments, `Sitemap:`, empty lines.
    Other,
}

fn read(line: &str) -> Line<'_> {
    let bare = line.split('#').next().unwrap_or_default();
    let Some((key, value)) = bare.split_once(':') else {
        return Line::Other;
    };
    let key = key.trim();
    let is = |name: &str| key.eq_ignore_ascii_case(name);
    match () {
        () if is("user-agent") => Line::Agent(value.trim()),
        () if is("sitemap") || is("host") => Line::Other,
        () => Line::Rule(key),
    }
}

/// A group of a file: its agents, and the lines behind them.
#[derive(Default)]
struct Group<'a> {
    agents: Vec<&'a str>,
    lines: Vec<&'a str>,
}

impl Group<'_> {
    /// Only rules end the list of agents; comments, sitemaps and blank lines do not.
    fn has_rules(&self) -> bool {
        self.has_rule("allow") || self.has_rule("disallow")
    }

    fn has_rule(&self, name: &str) -> bool {
        self.lines
            .iter()
            .any(|line| matches!(read(line), Line::Rule(known) if known.eq_ignore_ascii_case(name)))
    }
}

/// The groups of a file. What stands before the first is a group without agents.
fn groups(text: &str) -> Vec<Group<'_>> {
    let mut groups = vec![Group::default()];
    for line in text.lines() {
        match (read(line), groups.last_mut()) {
            (Line::Agent(agent), Some(last)) if !last.agents.is_empty() && !last.has_rules() => {
                last.agents.push(agent);
            }
            (Line::Agent(agent), _) => groups.push(Group {
                agents: vec![agent],
                lines: Vec::new(),
            }),
            (_, Some(last)) => last.lines.push(line),
            (_, None) => {}
        }
    }
    groups
}

/// A file with a folder that nobody may fetch from. Each group says so: a robot reads only the one that names it.
pub fn forbid(text: &str, folder: &str) -> String {
    let mut forbidding = String::with_capacity(text.len() + 64);
    let mut has_all = false;
    for group in groups(text) {
        for agent in &group.agents {
            forbidding += &format!("User-agent: {agent}\n");
        }
        if !group.agents.is_empty() {
            forbidding += &format!("Disallow: {folder}\n");
        }
        has_all |= group.agents.contains(&"*");
        for line in &group.lines {
            forbidding += &format!("{line}\n");
        }
    }
    if !has_all {
        forbidding += &format!("\nUser-agent: *\nDisallow: {folder}\n");
    }
    forbidding
}

impl Crawlers {
    /// The site's robots.txt with what the owner wants for robots. Robots that the owner refuses leave the site's groups: where a file
    /// allows and disallows the same, robots take the word that allows.
    pub fn robots_txt(&self, site: &str) -> String {
        let (refused, usage) = (self.refused_tokens(), self.content_usage());
        let is_refused = |agent: &&str| {
            refused
                .iter()
                .any(|token| token.eq_ignore_ascii_case(agent))
        };
        let mut text = String::new();
        let mut is_said = usage.is_empty();
        for group in groups(site) {
            let had_agents = !group.agents.is_empty();
            let agents: Vec<&str> = group
                .agents
                .iter()
                .copied()
                .filter(|agent| !is_refused(agent))
                .collect();
            let is_dropped = had_agents && agents.is_empty();
            for agent in &agents {
                text += &format!("User-agent: {agent}\n");
            }
            if agents.contains(&"*") && !is_said {
                is_said = true;
                // The site's own word about it counts.
                if !group.has_rule("content-usage") {
                    text += &format!("Content-Usage: / {usage}\n");
                }
            }
            for line in &group.lines {
                if !is_dropped || matches!(read(line), Line::Other) {
                    text += &format!("{line}\n");
                }
            }
            // Or the agents would join those of the next group.
            if !agents.is_empty() && !group.has_rules() {
                text += "Allow: /\n";
            }
        }
        if !is_said {
            text += &format!("\nUser-agent: *\nContent-Usage: / {usage}\nAllow: /\n");
        }
        if !refused.is_empty() {
            text.push('\n');
            for token in &refused {
                text += &format!("User-agent: {token}\n");
            }
            text += "Disallow: /\n";
        }
        text
    }

    /// Names under which refused robots look for themselves.
    fn refused_tokens(&self) -> BTreeSet<String> {
        let is_token = |name: &str| {
            let is_sound = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
            !name.is_empty() && name.bytes().all(is_sound)
        };
        let named = self.named_with(Treatment::Refuse);
        let mut tokens: BTreeSet<String> = named
            .filter(|name| is_token(name))
            .map(str::to_owned)
            .collect();
        if self.of_purpose(Purpose::AiTraining) == Treatment::Refuse {
            tokens.extend(ROBOTS_TXT_ONLY.map(|(token, _)| token.to_owned()));
        }
        tokens
    }

    /// Preferences for all robots: only what the owner refuses is said.
    fn content_usage(&self) -> String {
        let wishes = [
            ("train-ai", Purpose::AiTraining),
            ("search", Purpose::Search),
        ];
        let refused = wishes
            .into_iter()
            .filter(|(_, purpose)| self.of_purpose(*purpose) == Treatment::Refuse);
        let said: Vec<String> = refused.map(|(name, _)| format!("{name}=n")).collect();
        said.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_forbidden_to_everybody() {
        let check = |text: &str, expected: &str| assert_eq!(forbid(text, "/t/"), expected);
        check("", "\nUser-agent: *\nDisallow: /t/\n");
        check(
            "# ours\nUser-agent: *\nDisallow: /a\n\nSitemap: https://www.example.org/s.xml\n",
            "# ours\nUser-agent: *\nDisallow: /t/\nDisallow: /a\n\nSitemap: https://www.example.org/s.xml\n",
        );
        check(
            "User-agent: one\nUser-agent: two\nAllow: /\nUser-agent: three\nDisallow: /\n",
            "User-agent: one\nUser-agent: two\nDisallow: /t/\nAllow: /\nUser-agent: three\nDisallow: /t/\nDisallow: /\n\nUser-agent: *\nDisallow: /t/\n",
        );
        let twice = forbid(&forbid("User-agent: *\n", "/t/"), "/t/");
        assert_eq!(twice, "User-agent: *\nDisallow: /t/\nDisallow: /t/\n");
    }
}
