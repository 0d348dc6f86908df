//! The `[gate.traps]` part: links that only programs follow, and the slow pages behind them.

use std::time::Duration;

use serde::Deserialize;
use toml::Spanned;

use super::Errors;

#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct TrapOptions {
    links: TrapLinks,
    delay_seconds: f64,
    slots: usize,
    source_slots: usize,
    bytes_per_second: u64,
}

impl Default for TrapOptions {
    fn default() -> TrapOptions {
        TrapOptions {
            links: TrapLinks::Merged,
            delay_seconds: 5.0,
            slots: 500,
            source_slots: 4,
            bytes_per_second: 256 * 1024,
        }
    }
}

/// Where the gate's pages have links that only programs follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TrapLinks {
    /// Nowhere, and there is nothing behind those of before.
    Never,
    /// Where the gate itself serves the robots.txt that forbids them.
    #[default]
    Merged,
    /// On all sites: the owner has the line in robots.txt.
    Always,
}

/// The same, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct TrapSetup {
    /// Where there are links.
    pub links: TrapLinks,
    /// How long a page behind them takes.
    pub delay: Duration,
    /// Pages that are waited for at one time.
    pub slots: usize,
    /// Of these, by one source.
    pub source_slots: usize,
    /// What all pages together take.
    pub bytes_per_second: u64,
}

/// A longer delay holds connections of ours as much as theirs, and front servers give up.
const DELAY_MAX: f64 = 10.0;

pub(super) fn checked(options: &Spanned<TrapOptions>, errors: &mut Errors<'_>) -> TrapSetup {
    let at = options.span().start;
    let given = options.get_ref();
    let mut check = |is_sound: bool, what: &str| {
        if !is_sound {
            errors.at(at, format!("[gate.traps]: {what}"));
        }
    };
    check(
        (0.0..=DELAY_MAX).contains(&given.delay_seconds),
        "delay_seconds must lie between 0 and 10",
    );
    check(
        (1..=10_000).contains(&given.slots),
        "slots must lie between 1 and 10000; to switch traps off, set links = \"never\"",
    );
    check(
        (1..=given.slots.max(1)).contains(&given.source_slots),
        "source_slots must lie between 1 and slots",
    );
    check(
        given.bytes_per_second >= 4096,
        "bytes_per_second must be 4096 or more, the size of one page",
    );
    TrapSetup {
        links: given.links,
        delay: Duration::try_from_secs_f64(given.delay_seconds).unwrap_or_default(),
        slots: given.slots,
        source_slots: given.source_slots,
        bytes_per_second: given.bytes_per_second,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::Setup;
    use super::TrapLinks;

    fn parse(traps: &str) -> Result<Setup, Vec<String>> {
        Setup::parse(&format!(
            "[gate]\n[gate.traps]\n{traps}\n[[gate.listen]]\naddress = \"127.0.0.1:8080\"\n[[gate.site]]\nhosts = [\"*\"]\nupstream = \"http://127.0.0.1:8081\"\n"
        ))
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        let traps = parse("").unwrap().traps;
        assert_eq!(traps.links, TrapLinks::Merged);
        assert_eq!((traps.delay, traps.slots), (Duration::from_secs(5), 500));
        for (lines, expected) in [
            (
                "delay_seconds = 10.5",
                "delay_seconds must lie between 0 and 10",
            ),
            (
                "delay_seconds = -1.0",
                "delay_seconds must lie between 0 and 10",
            ),
            ("slots = 0", "links = \"never\""),
            (
                "slots = 3\nsource_slots = 4",
                "source_slots must lie between 1 and slots",
            ),
            (
                "bytes_per_second = 100",
                "bytes_per_second must be 4096 or more",
            ),
            ("links = \"sometimes\"", "unknown variant `sometimes`"),
            ("delay = 5.0", "unknown field `delay`"),
        ] {
            let errors = parse(lines).unwrap_err();
            assert!(errors[0].contains(expected), "{lines}: {errors:?}");
            assert!(errors[0].starts_with("line "), "{errors:?}");
        }
    }
}
