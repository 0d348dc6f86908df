//! Which requests are usage of a library's items, for reports by the COUNTER Code of Practice.

use regex::bytes::Regex;
use serde::Deserialize;

/// `[counter]` in the settings file.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct CounterOptions {
    investigations: Vec<String>,
    requests: Vec<String>,
    linkouts: Vec<String>,
}

/// Patterns of the targets that are usage of items.
#[derive(Debug, Clone, Default)]
pub struct CounterSettings {
    investigations: Vec<Regex>,
    requests: Vec<Regex>,
    linkouts: Vec<Regex>,
}

/// How an item was used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Use {
    /// Something about the item: its abstract, its record.
    Investigation,
    /// The item itself. It counts as an investigation, too.
    Request,
}

impl CounterSettings {
    /// How a request target uses an item, and the item's name: what the pattern's first group matched, or the whole match. By section
    /// 7.1, the status must be 200 or 304. A redirect counts only if it leads a user to another place that has the item, and the 200 of
    /// the same interaction must not count then: so targets of such redirects have patterns of their own.
    pub fn item<'a>(&self, target: &'a [u8], status: u16) -> Option<(Use, &'a [u8])> {
        let name = |pattern: &Regex| {
            let found = pattern.captures(target)?;
            found.get(1).or(found.get(0)).map(|part| part.as_bytes())
        };
        let investigations = match status {
            200 | 304 => {
                if let Some(item) = self.requests.iter().find_map(name) {
                    return Some((Use::Request, item));
                }
                &self.investigations
            }
            301 | 302 | 303 | 307 | 308 => &self.linkouts,
            _ => return None,
        };
        let item = investigations.iter().find_map(name)?;
        Some((Use::Investigation, item))
    }

    /// True where nothing could be counted.
    pub fn is_empty(&self) -> bool {
        self.investigations.is_empty() && self.requests.is_empty() && self.linkouts.is_empty()
    }
}

pub(super) fn checked(options: &CounterOptions, errors: &mut Vec<String>) -> CounterSettings {
    let mut compile = |key: &str, patterns: &[String]| {
        let mut compiled = Vec::new();
        for pattern in patterns {
            match Regex::new(pattern) {
                Ok(regex) => compiled.push(regex),
                Err(error) => errors.push(format!(
                    "[counter]: {key}: '{pattern}' is no regular expression: {error}"
                )),
            }
        }
        compiled
    };
    CounterSettings {
        investigations: compile("investigations", &options.investigations),
        requests: compile("requests", &options.requests),
        linkouts: compile("linkouts", &options.linkouts),
    }
}

/// The section with its defaults.
pub(super) const MANUAL: &str = "\n[counter]\n\
    # For 'report --counter': request targets that are usage of items, as regular expressions. What the first group matches is the item,\n\
    # so that an abstract and a full text are known as the same: '^/article/([0-9]+)$'. A request counts as an investigation, too.\n\
    investigations = []\n\
    requests = []\n\
    # Targets whose redirect leads to an item in another place, as resolvers' do. The redirect counts as an investigation.\n\
    linkouts = []\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_is_named_by_the_group() {
        let options = CounterOptions {
            investigations: vec!["^/article/([0-9]+)$".to_owned()],
            requests: vec![
                "^/article/([0-9]+)/(?:pdf|full)".to_owned(),
                "^/b$".to_owned(),
            ],
            linkouts: vec!["^/away/([0-9]+)".to_owned()],
        };
        let settings = checked(&options, &mut Vec::new());
        let check = |target: &str, status: u16, expected: Option<(Use, &str)>| {
            let expected = expected.map(|(how, item)| (how, item.as_bytes()));
            let item = settings.item(target.as_bytes(), status);
            assert_eq!(item, expected, "{target} {status}");
        };
        check("/article/7", 200, Some((Use::Investigation, "7")));
        check("/article/7/pdf?x", 304, Some((Use::Request, "7")));
        check("/b", 200, Some((Use::Request, "/b")));
        check("/about", 200, None);
        check("/article/7", 404, None);
        check("/article/7", 206, None);
        // A redirect of an article leads to its page, which counts itself; one to another site is all there is.
        check("/article/7", 302, None);
        check("/away/7", 302, Some((Use::Investigation, "7")));
        check("/away/7", 200, None);
        let wrong = CounterOptions {
            requests: vec!["(".to_owned()],
            ..CounterOptions::default()
        };
        let mut errors = Vec::new();
        checked(&wrong, &mut errors);
        assert!(errors[0].contains("requests: '('"), "{errors:?}");
    }
}
