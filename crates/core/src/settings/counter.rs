//! Which requests are usage of a library's items, for reports by the COUNTER Code of Practice.

use regex::bytes::Regex;
use serde::Deserialize;

/// `[counter]` in the settings file.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct CounterOptions {
    investigations: Vec<String>,
    requests: Vec<String>,
}

/// Patterns of the targets that are usage of items.
#[derive(Debug, Clone, Default)]
pub struct CounterSettings {
    investigations: Vec<Regex>,
    requests: Vec<Regex>,
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
    /// How a request target uses an item, and the item's name: what the pattern's first group matched, or the whole match.
    pub fn item<'a>(&self, target: &'a [u8]) -> Option<(Use, &'a [u8])> {
        let name = |pattern: &Regex| {
            let found = pattern.captures(target)?;
            found.get(1).or(found.get(0)).map(|part| part.as_bytes())
        };
        let request = self.requests.iter().find_map(name);
        let request = request.map(|item| (Use::Request, item));
        request.or_else(|| {
            let investigation = self.investigations.iter().find_map(name);
            investigation.map(|item| (Use::Investigation, item))
        })
    }

    /// True where nothing could be counted.
    pub fn is_empty(&self) -> bool {
        self.investigations.is_empty() && self.requests.is_empty()
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
    }
}

/// The section with its defaults.
pub(super) const MANUAL: &str = "\n[counter]\n\
    # For 'report --counter': request targets that are usage of items, as regular expressions. What the first group matches is the item,\n\
    # so that an abstract and a full text are known as the same: '^/article/([0-9]+)$'. A request counts as an investigation, too.\n\
    investigations = []\n\
    requests = []\n";

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
        };
        let settings = checked(&options, &mut Vec::new());
        let item = |target: &'static str| settings.item(target.as_bytes());
        assert_eq!(item("/article/7"), Some((Use::Investigation, &b"7"[..])));
        assert_eq!(item("/article/7/pdf?x"), Some((Use::Request, &b"7"[..])));
        assert_eq!(item("/b"), Some((Use::Request, &b"/b"[..])));
        assert_eq!(item("/about"), None);
        let wrong = CounterOptions {
            requests: vec!["(".to_owned()],
            ..CounterOptions::default()
        };
        let mut errors = Vec::new();
        checked(&wrong, &mut errors);
        assert!(errors[0].contains("requests: '('"), "{errors:?}");
    }
}
