//! The keys of markers: a file of their own in the gate's folder, and a new key from time to time.
//!
//! Invariant: without readable keys there are no markers, and everything else works.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use cattlegrid_marker::Key;
use cattlegrid_marker::Keyring;
use zeroize::Zeroize;
use zeroize::Zeroizing;

use crate::challenge::KeyFault;
use crate::challenge::key_file;
use crate::settings::markers::MarkerSetup;
use crate::state::Gate;

/// The file in the gate's folder.
const FILE: &str = "marker_keys";
/// A new key seals only after this time, so that other gates with the same file know it by then.
const LEAD_SECONDS: u64 = 2 * 3600;
const DAY_SECONDS: u64 = 24 * 3600;

const NUMBER: &str = "the number of a key must lie between 0 and 65535 and occur once";
const LINE: &str =
    "a line must be 'names HEX' or 'NUMBER HEX SECONDS', with 64 hex digits and seconds since 1970";
const INCOMPLETE: &str = "one line 'names HEX' and a line of a key are needed";

/// What the file says. The secrets are wiped when this is dropped.
struct Kept {
    names: [u8; 32],
    /// Each with the second from which it seals.
    keys: Vec<(Key, u64)>,
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.names.zeroize();
        self.keys
            .iter_mut()
            .for_each(|(key, _)| key.secret.zeroize());
    }
}

impl Gate {
    /// Reads the keys of markers, and draws a new one where it is time. What is known stays in force where that fails.
    pub(crate) fn renew_marker_keys(&self) {
        let live = self.live.load();
        let path = live.setup.state.join(FILE);
        let unix = self.clock.now_ms() / 1000;
        match open(&path, unix, &live.setup.markers) {
            Ok(ring) => {
                self.metrics.marker_keys_failed.set(0);
                self.markers.store(ring.map(Arc::new));
            }
            Err(what) => {
                self.metrics.marker_keys_failed.set(1);
                let without = match self.markers.load().is_some() {
                    true => "the keys read before stay in force",
                    false => "pages get no markers, and markers of earlier links are not removed",
                };
                tracing::error!(
                    "{}: {what}; {without}. Restore the file from a backup and reload, or remove it: the gate then draws new keys, and sealed links of earlier pages lead nowhere",
                    path.display()
                );
            }
        }
    }
}

/// The keys in a file. Where there is none it is made, if markers are on.
fn open(path: &Path, unix: u64, setup: &MarkerSetup) -> Result<Option<Keyring>, String> {
    let short = |fault: KeyFault| fault.in_short();
    let text = match key_file::read(path) {
        Err(fault) if fault.is_missing() && !setup.is_on() => return Ok(None),
        Err(fault) if fault.is_missing() => {
            let text = first(path, unix).map_err(short)?;
            key_file::create(path, &text).map_err(short)?;
            tracing::info!("drew the first key of markers");
            // Another gate may have been faster.
            key_file::read(path).map_err(short)?
        }
        read => read.map_err(short)?,
    };
    let kept = parse(&text)?;
    let kept = match next(&text, &kept, path, unix, setup).map_err(short)? {
        Some(text) if setup.is_on() => {
            key_file::replace(path, &text).map_err(short)?;
            tracing::info!("drew a new key of markers");
            parse(&text)?
        }
        _ => kept,
    };
    let keys: Vec<Key> = kept.keys.iter().map(|(key, _)| key.clone()).collect();
    let ring = Keyring::new(&keys, &kept.names);
    ring.map(Some).ok_or_else(|| INCOMPLETE.to_owned())
}

fn first(path: &Path, unix: u64) -> Result<Zeroizing<String>, KeyFault> {
    let (names, key) = (key_file::draw(path)?, key_file::draw(path)?);
    let mut text = Zeroizing::new(String::with_capacity(256));
    // Writing to a text cannot fail.
    let _ = writeln!(text, "names {}\n1 {} {unix}", names.as_str(), key.as_str());
    Ok(text)
}

/// The file with a new key, and without those that need not open markers any longer; nothing while the newest key is new enough.
fn next(
    text: &str,
    kept: &Kept,
    path: &Path,
    unix: u64,
    setup: &MarkerSetup,
) -> Result<Option<Zeroizing<String>>, KeyFault> {
    let newest = kept.keys.iter().max_by_key(|(_, since)| *since);
    let Some((last, since)) = newest else {
        return Ok(None);
    };
    let key_seconds = u64::from(setup.key_days) * DAY_SECONDS;
    // With a clock that was wrong once, a key from the future would seal for ever.
    let is_due = since + key_seconds <= unix + LEAD_SECONDS || *since > unix + key_seconds;
    if !is_due {
        return Ok(None);
    }
    let kept_seconds = u64::from(setup.days_kept()) * DAY_SECONDS;
    let mut next = Zeroizing::new(String::with_capacity(text.len() + 128));
    for line in text.lines() {
        let since = key_line(line).map(|(_, _, since)| since);
        let successor = since.and_then(|since| replaced_at(kept, since));
        let is_dead = successor.is_some_and(|second| second + kept_seconds < unix);
        if !is_dead {
            let _ = writeln!(next, "{line}");
        }
    }
    let is_free = |id: &u16| kept.keys.iter().all(|(key, _)| key.id != *id);
    let ids = (1..=u16::MAX).map(|step| last.id.wrapping_add(step));
    let id = ids.into_iter().find(is_free).unwrap_or(0);
    let drawn = key_file::draw(path)?;
    let _ = writeln!(next, "{id} {} {}", drawn.as_str(), unix + LEAD_SECONDS);
    Ok(Some(next))
}

/// When the key that seals from a second on was replaced by the next.
fn replaced_at(kept: &Kept, since: u64) -> Option<u64> {
    let later = kept.keys.iter().map(|(_, other)| *other);
    later.filter(|other| *other > since).min()
}

/// Number, digits and second of a line.
fn key_line(line: &str) -> Option<(&str, &str, u64)> {
    let mut words = line.split_ascii_whitespace();
    match (words.next(), words.next(), words.next(), words.next()) {
        (Some(number), Some(digits), Some(since), None) => {
            Some((number, digits, since.parse().ok()?))
        }
        _ => None,
    }
}

fn parse(text: &str) -> Result<Kept, String> {
    let mut kept = Kept {
        names: [0; 32],
        keys: Vec::new(),
    };
    let mut has_names = false;
    let is_content = |line: &&str| !line.trim().is_empty() && !line.starts_with('#');
    for (index, line) in text
        .lines()
        .enumerate()
        .filter(|(_, line)| is_content(line))
    {
        let fault = |what| format!("line {}: {what}", index + 1);
        if let Some(digits) = line.strip_prefix("names ") {
            let names = key_file::from_hex(digits.trim())
                .ok_or(LINE)
                .map_err(fault)?;
            kept.names = *names;
            has_names = true;
            continue;
        }
        let (number, digits, since) = key_line(line).ok_or(LINE).map_err(fault)?;
        let id = number.parse().map_err(|_| fault(NUMBER))?;
        if kept.keys.iter().any(|(key, _)| key.id == id) {
            return Err(fault(NUMBER));
        }
        let secret = key_file::from_hex(digits).ok_or(LINE).map_err(fault)?;
        let key = Key {
            id,
            secret: *secret,
            since_minutes: u32::try_from(since / 60).unwrap_or(u32::MAX),
        };
        kept.keys.push((key, since));
    }
    match has_names && !kept.keys.is_empty() {
        true => Ok(kept),
        false => Err(INCOMPLETE.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::settings::Setup;

    const NOW: u64 = 1_800_000_000;

    fn setup(style: &str) -> MarkerSetup {
        let text = format!(
            "[gate]\n[gate.markers]\nstyle = \"{style}\"\nkey_days = 10\ndays = 5\nsealed_days = 20\n[gate.sign_in.hmac]\ncookie = \"who\"\nkey_file = \"/k\"\n[[gate.listen]]\naddress = \"127.0.0.1:8080\"\n[[gate.site]]\nhosts = [\"*\"]\nupstream = \"http://127.0.0.1:8081\"\n"
        );
        Setup::parse(&text).unwrap().markers
    }

    fn numbers(path: &Path) -> Vec<String> {
        let text = fs::read_to_string(path).unwrap();
        let first = |line: &str| line.split(' ').next().unwrap().to_owned();
        text.lines().map(first).collect()
    }

    #[test]
    fn h118_keys_are_drawn_replaced_and_dropped_in_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        assert!(open(&path, NOW, &setup("off")).unwrap().is_none());
        assert!(!path.exists());
        let on = setup("query");
        assert!(open(&path, NOW, &on).unwrap().is_some());
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let day = |days: u64| NOW + days * DAY_SECONDS;
        for (days, expected) in [
            (9, &["names", "1"][..]),
            (10, &["names", "1", "2"]),
            (11, &["names", "1", "2"]),
            (20, &["names", "1", "2", "3"]),
            (31, &["names", "2", "3", "4"]),
        ] {
            open(&path, day(days), &on).unwrap().unwrap();
            assert_eq!(numbers(&path), expected, "day {days}");
        }
        // Markers that were switched off are still read, and no key is drawn for them.
        assert!(open(&path, day(100), &setup("off")).unwrap().is_some());
        assert_eq!(numbers(&path), ["names", "2", "3", "4"]);
    }

    #[test]
    fn h118_a_damaged_file_is_an_error_that_names_the_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        let hex = "0f".repeat(32);
        for (text, expected) in [
            ("", "one line 'names HEX'"),
            (&format!("names {hex}\n"), "one line 'names HEX'"),
            (&format!("names {hex}\n1 {hex}\n"), "line 2: a line must be"),
            (
                &format!("names {hex}\n1 {hex} x\n"),
                "line 2: a line must be",
            ),
            (
                &format!("names {hex}\n70000 {hex} 1\n"),
                "line 2: the number",
            ),
            (
                &format!("names {hex}\n1 {hex} 1\n1 {hex} 2\n"),
                "line 3: the number",
            ),
            ("names 0f\n", "line 1: a line must be"),
        ] {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
            let fault = open(&path, NOW, &setup("path")).unwrap_err();
            assert!(fault.contains(expected), "{text}: {fault}");
            assert!(!fault.contains(&hex), "{fault}");
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let fault = open(&path, NOW, &setup("path")).unwrap_err();
        assert!(fault.contains("chmod 600"), "{fault}");
    }
}
