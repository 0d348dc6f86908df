//! Addresses that attack tools try on any site, and those to which passwords are sent: `data/weak-spots.txt`.

use aho_corasick::AhoCorasick;
use aho_corasick::AhoCorasickKind;

/// The list that is built in.
const LIST: &str = include_str!("../../../../data/weak-spots.txt");

/// What attack tools ask for.
#[derive(Debug)]
pub struct WeakSpots {
    /// All probes, then those that count only where they are missing.
    probes: AhoCorasick,
    /// How many of the patterns count wherever they are asked for.
    always: usize,
    /// Ends of paths, in small letters, sorted.
    logins: Vec<&'static [u8]>,
}

impl WeakSpots {
    /// The list that is built in.
    pub(crate) fn built_in() -> Result<WeakSpots, String> {
        let [always, missing, logins] = ["[probes]", "[missing]", "[logins]"].map(section);
        let patterns = always.iter().chain(&missing);
        let probes = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .kind(Some(AhoCorasickKind::DFA))
            .build(patterns)
            .map_err(|error| format!("the list of weak spots cannot be compiled: {error}"))?;
        Ok(WeakSpots {
            probes,
            always: always.len(),
            logins: logins.into_iter().map(str::as_bytes).collect(),
        })
    }

    /// True where the target is a weak spot that is looked for. Some are only where the site answered that it is not there.
    pub(crate) fn is_probe(&self, target: &[u8], status: u16) -> bool {
        let is_missing = matches!(status, 404 | 410);
        self.probes
            .find_overlapping_iter(target)
            .any(|found| is_missing || found.pattern().as_usize() < self.always)
    }

    /// True for a path to which passwords are sent.
    pub(crate) fn is_login(&self, path: &[u8]) -> bool {
        self.logins.iter().any(|login| {
            path.len()
                .checked_sub(login.len())
                .is_some_and(|at| path[at..].eq_ignore_ascii_case(login))
        })
    }
}

/// The lines of one section.
fn section(heading: &str) -> Vec<&'static str> {
    LIST.lines()
        .map(str::trim)
        .skip_while(|line| *line != heading)
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_probed() {
        let spots = WeakSpots::built_in().unwrap();
        for (target, status, expected) in [
            ("/.env", 200, true),
            ("/blog/WP-INCLUDES/wlwmanifest.xml", 200, true),
            ("/index.php?s=/invokefunction", 200, true),
            ("/user/password?name[%23post_render][0]=passthru", 200, true),
            ("/?id=1%20UNION%20ALL%20SELECT%201", 200, true),
            ("/web.config", 404, true),
            ("/wp-login.php", 200, false),
            ("/wp-login.php", 404, true),
            ("/", 404, false),
            ("/environment", 404, false),
            ("/article/old-town", 404, false),
        ] {
            assert_eq!(
                spots.is_probe(target.as_bytes(), status),
                expected,
                "{target}"
            );
        }
    }

    #[test]
    fn where_passwords_go() {
        let spots = WeakSpots::built_in().unwrap();
        for (path, expected) in [
            ("/blog/wp-login.php", true),
            ("/Login", true),
            ("/users/sign_in", true),
            ("/wp-comments-post.php", false),
            ("/contact", false),
            ("/blogin", false),
        ] {
            assert_eq!(spots.is_login(path.as_bytes()), expected, "{path}");
        }
    }
}
