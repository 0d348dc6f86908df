//! The owner's rules: what happens to paths, methods, agents, networks and headers before anything else is looked at.

use cattlegrid_core::networks::network;
use cattlegrid_core::policy::Decision;
use cattlegrid_core::request::Source;
use cattlegrid_http1::Headers;
use cattlegrid_http1::Method;
use cattlegrid_http1::Name;
use ipnet::IpNet;
use regex::bytes::Regex;
use regex::bytes::RegexBuilder;
use serde::Deserialize;
use smallvec::smallvec;

use super::defence::Defence;
use super::defence::Defences;
use super::spelling;

/// A rule as the file has it. All its conditions must hold.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RuleOptions {
    /// Exactly this path, or with `*` at the end all that begin so.
    path: Option<String>,
    /// Paths in which this pattern is found.
    pattern: Option<String>,
    methods: Vec<String>,
    /// A pattern found in the user agent.
    agent: Option<String>,
    networks: Vec<String>,
    /// A header with a value.
    header: Option<HeaderOptions>,
    action: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct HeaderOptions {
    name: String,
    value: String,
}

#[derive(Debug)]
struct Rule {
    path: Option<PathRule>,
    pattern: Option<Regex>,
    methods: Vec<Method>,
    agent: Option<Regex>,
    networks: Vec<IpNet>,
    header: Option<(String, Vec<u8>)>,
    decision: Decision,
}

#[derive(Debug)]
enum PathRule {
    Exactly(String),
    Begins(String),
}

/// Memory for one compiled pattern: large ones are refused when the file is read.
const PATTERN_BYTES_MAX: usize = 1 << 20;
const PATTERN_LENGTH_MAX: usize = 4096;
const RULES_MAX: usize = 10_000;

/// What a rule looks at.
#[derive(Debug)]
pub struct Subject<'a> {
    /// The path as sent, without query.
    pub path: &'a str,
    /// A query follows it.
    pub has_query: bool,
    /// The method.
    pub method: &'a Method,
    /// All headers.
    pub headers: &'a Headers<'a>,
    /// Who asks.
    pub source: Source,
}

/// What rules say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ruled {
    /// A rule of the owner.
    Owners(Decision),
    /// A shipped rule lets it pass, unless its source is denied.
    Shipped,
}

/// All rules, in the order of the file. The first that fits decides.
#[derive(Debug)]
pub struct Rules {
    rules: Vec<Rule>,
    has_defaults: bool,
}

impl Rules {
    /// No rules yet, but for the shipped ones, which come last.
    pub(crate) fn new(has_defaults: bool) -> Rules {
        Rules {
            rules: Vec::new(),
            has_defaults,
        }
    }

    /// Adds a rule behind the others.
    pub(crate) fn add(&mut self, options: RuleOptions) -> Result<(), String> {
        if self.rules.len() == RULES_MAX {
            return Err(format!("more than {RULES_MAX} rules"));
        }
        let decision = match options.action.as_deref() {
            Some("pass") => Decision::Pass,
            Some("throttle") => Decision::Throttle,
            Some("challenge") => Decision::Challenge,
            Some("block") => Decision::Block,
            Some(other) => {
                return Err(format!(
                    "action = '{other}' is none of pass, throttle, challenge, block"
                ));
            }
            None => {
                return Err("a rule needs an action: pass, throttle, challenge or block".to_owned());
            }
        };
        let path = options.path.map(path_rule).transpose()?;
        let mut methods = Vec::new();
        for method in &options.methods {
            methods.push(
                Method::from_bytes(method.as_bytes())
                    .map_err(|_| format!("'{method}' is no method"))?,
            );
        }
        let networks: Result<Vec<IpNet>, String> =
            options.networks.iter().map(|text| network(text)).collect();
        let header = options
            .header
            .map(|header| {
                http::HeaderName::from_bytes(header.name.as_bytes())
                    .map(|name| (name.as_str().to_owned(), header.value.into_bytes()))
                    .map_err(|_| format!("'{}' is no header", header.name))
            })
            .transpose()?;
        let rule = Rule {
            path,
            pattern: options.pattern.map(|text| pattern(&text)).transpose()?,
            methods,
            agent: options.agent.map(|text| pattern(&text)).transpose()?,
            networks: networks?,
            header,
            decision,
        };
        let says_something = rule.path.is_some()
            || rule.pattern.is_some()
            || rule.agent.is_some()
            || rule.header.is_some()
            || !rule.methods.is_empty()
            || !rule.networks.is_empty();
        if !says_something {
            return Err("a rule without path, pattern, methods, agent, networks or header would hold for everything".to_owned());
        }
        self.rules.push(rule);
        Ok(())
    }

    /// What the rules say about a request.
    ///
    /// A path that can be read in several ways gets the strictest of what its readings get: a rule that lets pass must hold for all of
    /// them, one that stops for a single one.
    pub fn decide(&self, subject: &Subject<'_>, defences: &Defences) -> Option<Ruled> {
        let readings = match defences.has(Defence::Spellings) {
            true => spelling::readings(subject.path),
            false => smallvec![subject.path.into()],
        };
        let found = readings
            .iter()
            .map(|path| self.of_reading(path, subject, defences));
        // No rule at all lies between passing and stopping.
        let strictness = |ruled: &Option<Ruled>| match ruled {
            Some(Ruled::Owners(Decision::Pass)) => 0,
            Some(Ruled::Shipped) => 1,
            None => 2,
            Some(Ruled::Owners(Decision::Throttle)) => 3,
            Some(Ruled::Owners(Decision::Challenge)) => 4,
            Some(Ruled::Owners(Decision::Block)) => 5,
        };
        found.max_by_key(strictness).flatten()
    }

    fn of_reading(&self, path: &str, subject: &Subject<'_>, defences: &Defences) -> Option<Ruled> {
        let rule = self
            .rules
            .iter()
            .find(|rule| rule.holds(path, subject, defences));
        if let Some(rule) = rule {
            return Some(Ruled::Owners(rule.decision));
        }
        // Some programs put the address of a site with its slash before a path that has one.
        let path = spelling::joined(path);
        (self.has_defaults && !subject.has_query && is_open(&path)).then_some(Ruled::Shipped)
    }
}

/// Paths that pass for everybody who is not denied, without a query: what robots and programs are meant to fetch.
fn is_open(path: &str) -> bool {
    let is_file = matches!(
        path,
        "/robots.txt"
            | "/favicon.ico"
            | "/sitemap.xml"
            | "/feed"
            | "/feed/"
            | "/feed.xml"
            | "/rss"
            | "/rss/"
            | "/rss.xml"
            | "/atom.xml"
            | "/index.xml"
    );
    is_file || path.starts_with("/.well-known/")
}

fn path_rule(text: String) -> Result<PathRule, String> {
    if !text.starts_with('/') {
        return Err(format!("path = '{text}' must begin with '/'"));
    }
    Ok(match text.strip_suffix('*') {
        Some(start) => PathRule::Begins(start.to_owned()),
        None => PathRule::Exactly(text),
    })
}

fn pattern(text: &str) -> Result<Regex, String> {
    if text.len() > PATTERN_LENGTH_MAX {
        return Err(format!(
            "a pattern of {} bytes; at most {PATTERN_LENGTH_MAX} are taken",
            text.len()
        ));
    }
    // Bytes and not letters: paths and agents are, and (?i) needs no tables for that.
    RegexBuilder::new(text)
        .unicode(false)
        .size_limit(PATTERN_BYTES_MAX)
        .dfa_size_limit(PATTERN_BYTES_MAX)
        .nest_limit(50)
        .build()
        .map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => format!(
                "the pattern '{}' is too large when compiled",
                text.chars().take(60).collect::<String>()
            ),
            error => error.to_string(),
        })
}

impl Rule {
    fn holds(&self, path: &str, subject: &Subject<'_>, defences: &Defences) -> bool {
        self.holds_for_path(path)
            && (self.methods.is_empty() || self.methods.contains(subject.method))
            && self.holds_for_agents(subject.headers)
            && (self.networks.is_empty() || self.holds_for_network(subject.source))
            && self.holds_for_header(subject.headers, defences)
    }

    /// A rule that lets pass must hold for every value that was sent, one that stops for a single one: which of them the site reads is
    /// not known.
    fn holds_for_values(&self, mut values: impl Iterator<Item = bool>) -> bool {
        match self.decision {
            Decision::Pass => values.all(|holds| holds),
            Decision::Throttle | Decision::Challenge | Decision::Block => values.any(|holds| holds),
        }
    }

    /// A pattern without any agent header is compared with nothing at all, so that `^$` finds those who send none.
    fn holds_for_agents(&self, headers: &Headers<'_>) -> bool {
        let Some(agent) = &self.agent else {
            return true;
        };
        let sent = headers.all(Name::UserAgent);
        match headers.has(Name::UserAgent) {
            true => self.holds_for_values(sent.map(|value| agent.is_match(value))),
            false => agent.is_match(b""),
        }
    }

    /// The values of a header count one by one, however they are sent: in several headers or in a list.
    fn holds_for_header(&self, headers: &Headers<'_>, defences: &Defences) -> bool {
        let Some((name, wanted)) = &self.header else {
            return true;
        };
        let Some(first) = headers.all_named(name).next() else {
            return false;
        };
        if !defences.has(Defence::EachValue) {
            return first == wanted;
        }
        let is_wanted = |value: &[u8]| value.trim_ascii().eq_ignore_ascii_case(wanted);
        self.holds_for_values(headers.all_named(name).map(|value| {
            let parts = value.split(|byte| *byte == b',');
            is_wanted(value) || self.holds_for_values(parts.map(is_wanted))
        }))
    }

    fn holds_for_path(&self, path: &str) -> bool {
        let is_path = match &self.path {
            None => true,
            Some(PathRule::Exactly(exactly)) => path == exactly,
            Some(PathRule::Begins(start)) => path.starts_with(start.as_str()),
        };
        is_path
            && self
                .pattern
                .as_ref()
                .is_none_or(|pattern| pattern.is_match(path.as_bytes()))
    }

    fn holds_for_network(&self, source: Source) -> bool {
        let of_source = cattlegrid_core::networks::network_of(source);
        of_source.is_some_and(|of_source| {
            self.networks
                .iter()
                .any(|network| network.contains(&of_source))
        })
    }
}
