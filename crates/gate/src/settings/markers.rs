//! The `[gate.markers]` part: markers in the links of pages that signed-in people get.

use std::sync::Arc;

use cattlegrid_marker::Ages;
use cattlegrid_marker::Name;
use cattlegrid_marker::Rules;
use cattlegrid_marker::Style;
use serde::Deserialize;
use toml::Spanned;

use super::Errors;
use super::Site;
use super::sign_in::SignInSetup;

const DAY_MINUTES: u32 = 24 * 60;
/// Ten years.
const DAYS_MAX: u32 = 3660;
/// Keys that open markers at the same time: each is looked for among all.
const KEYS_MAX: u32 = 400;

#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct MarkerOptions {
    style: StyleOption,
    name: String,
    hosts: Vec<String>,
    days: u32,
    sealed_days: u32,
    key_days: u32,
    signed: Vec<String>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum StyleOption {
    Off,
    Query,
    Path,
    Sealed,
}

impl Default for MarkerOptions {
    fn default() -> MarkerOptions {
        let ages = Ages::default();
        MarkerOptions {
            style: StyleOption::Off,
            name: "cg".to_owned(),
            hosts: Vec::new(),
            days: ages.shared_minutes / DAY_MINUTES,
            sealed_days: ages.sealed_minutes / DAY_MINUTES,
            key_days: 30,
            signed: Rules::default().signed,
        }
    }
}

/// The same, checked.
#[derive(Debug)]
pub(crate) struct MarkerSetup {
    /// Pages get markers. Where they do not, those of earlier links are still read.
    is_on: bool,
    /// The hosts whose pages get markers; none listed: all.
    hosts: Vec<String>,
    /// Which links get them, where, and under which name.
    pub(crate) rules: Arc<Rules>,
    /// For how long they open.
    pub(crate) ages: Ages,
    /// Days after which a new key is drawn.
    pub(crate) key_days: u32,
}

impl MarkerSetup {
    /// True where pages of some host get markers.
    pub(crate) fn is_on(&self) -> bool {
        self.is_on
    }

    /// True where pages of a host get markers.
    pub(crate) fn is_on_at(&self, host: &str) -> bool {
        self.is_on && (self.hosts.is_empty() || self.hosts.iter().any(|own| own == host))
    }

    /// Days for which a key must open markers after the next one has taken its place.
    pub(crate) fn days_kept(&self) -> u32 {
        self.ages.shared_minutes.max(self.ages.sealed_minutes) / DAY_MINUTES
    }
}

pub(super) fn checked(
    options: &Spanned<MarkerOptions>,
    sign_in: &SignInSetup,
    sites: &[Site],
    errors: &mut Errors<'_>,
) -> MarkerSetup {
    let at = options.span().start;
    let given = options.get_ref();
    let mut error = |what: &str| errors.at(at, format!("[gate.markers]: {what}"));
    let style = match given.style {
        StyleOption::Off => None,
        StyleOption::Query => Some(Style::Query),
        StyleOption::Path => Some(Style::Path),
        StyleOption::Sealed => Some(Style::Sealed),
    };
    let name = Name::new(&given.name).unwrap_or_else(|| {
        error("name must have 1 to 16 letters and digits, like \"cg\"");
        Name::default()
    });
    if style.is_some() && sign_in.way.is_none() {
        error(
            "only signed-in people get markers, and nothing says who is signed in: add [gate.sign_in.jwt], hmac or ask, or set style = \"off\"",
        );
    }
    check_days(given, &mut error);
    for host in &given.hosts {
        let is_served = |site: &Site| site.hosts.iter().any(|own| own == host || own == "*");
        if !sites.iter().any(is_served) {
            error(&format!(
                "no [[gate.site]] has the host \"{host}\": write it as it stands there, in lower case and without port"
            ));
        }
    }
    MarkerSetup {
        is_on: style.is_some(),
        hosts: given.hosts.clone(),
        rules: Arc::new(Rules {
            name,
            style: style.unwrap_or(Style::Query),
            signed: given.signed.clone(),
        }),
        ages: Ages {
            shared_minutes: given.days.saturating_mul(DAY_MINUTES),
            sealed_minutes: given.sealed_days.saturating_mul(DAY_MINUTES),
        },
        key_days: given.key_days.max(1),
    }
}

fn check_days(given: &MarkerOptions, error: &mut impl FnMut(&str)) {
    let days = [given.days, given.sealed_days, given.key_days];
    if !days.iter().all(|days| (1..=DAYS_MAX).contains(days)) {
        error("days, sealed_days and key_days must lie between 1 and 3660");
    } else if given.sealed_days.max(given.days) / given.key_days > KEYS_MAX {
        error("key_days is too small: more than 400 keys would have to open markers");
    }
}

#[cfg(test)]
mod tests {
    use super::super::Setup;

    fn parse(markers: &str, sign_in: &str) -> Result<Setup, Vec<String>> {
        Setup::parse(&format!(
            "[gate]\n[gate.markers]\n{markers}\n{sign_in}\n[[gate.listen]]\naddress = \"127.0.0.1:8080\"\n[[gate.site]]\nhosts = [\"www.example.org\"]\nupstream = \"http://127.0.0.1:8081\"\n"
        ))
    }

    const HMAC: &str = "[gate.sign_in.hmac]\ncookie = \"who\"\nkey_file = \"/k\"";

    #[test]
    fn markers_are_off_unless_the_owner_wants_them() {
        let off = parse("", "").unwrap().markers;
        assert!(!off.is_on() && !off.is_on_at("www.example.org"));
        let on = parse("style = \"sealed\"", HMAC).unwrap().markers;
        assert!(on.is_on_at("www.example.org"));
        let hosts = "style = \"path\"\nhosts = [\"www.example.org\"]";
        let some = parse(hosts, HMAC).unwrap().markers;
        assert!(some.is_on_at("www.example.org") && !some.is_on_at("example.org"));
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for (lines, expected) in [
            ("style = \"cookie\"", "unknown variant `cookie`"),
            ("name = \"c g\"", "name must have 1 to 16 letters"),
            ("days = 0", "must lie between 1 and 3660"),
            ("key_days = 1\nsealed_days = 3000", "key_days is too small"),
            (
                "hosts = [\"other.example\"]",
                "no [[gate.site]] has the host",
            ),
            ("age = 3", "unknown field `age`"),
        ] {
            let errors = parse(lines, HMAC).unwrap_err();
            assert!(errors[0].contains(expected), "{lines}: {errors:?}");
            assert!(errors[0].starts_with("line "), "{errors:?}");
        }
        let errors = parse("style = \"query\"", "").unwrap_err();
        assert!(errors[0].contains("nothing says who is signed in"));
    }
}
