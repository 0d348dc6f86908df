//! The user table as lines of JSON, and long sessions to learn from. What is read back may have been written by anybody.

use std::collections::hash_map::Entry as Place;
use std::io;
use std::io::BufRead;
use std::io::Read;
use std::io::Write;

use serde::Deserialize;
use serde::Serialize;

use super::Entry;
use super::Oddity;
use super::PathKind;
use super::users::Cause;
use super::users::User;
use super::users::UserLimits;
use super::users::UserStanding;
use super::users::Users;

/// The first line of a table.
const HEAD: &str = "{\"cattlegrid_users\":1}";
/// The longest line: a long session, and a name.
const LINE_MAX: u64 = 1 << 20;
/// Entries of a user that wait: fewer than any long session.
const PENDING_MAX: usize = 10_000;
/// The longest name of a user.
const NAME_MAX: usize = 256;

const ODDITIES: &str = "oddities";

/// A user, as a line has it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct UserLine {
    user: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    name: String,
    standing: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cause: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    suspected: Option<u64>,
    blamed: [u32; Oddity::ALL.len()],
    last: u64,
    day: u32,
    requests: u32,
    unmarked: u32,
    odd: [u32; Oddity::ALL.len()],
    entries: Vec<Step>,
}

/// The last line: how many there are.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct End {
    users: usize,
}

/// A long session, as a line has it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SessionLine {
    user: String,
    entries: Vec<Step>,
}

/// Time, page and parent.
type Step = (u64, u64, Option<u64>);

fn step(entry: &Entry) -> Step {
    (entry.at_ms, entry.page, entry.parent)
}

fn entries(user: u64, steps: &[Step], now_ms: u64) -> Vec<Entry> {
    let entry = |(at_ms, page, parent): &Step| Entry {
        at_ms: (*at_ms).min(now_ms),
        user,
        page: *page,
        parent: *parent,
    };
    steps.iter().map(entry).collect()
}

fn hexadecimal(text: &str) -> Result<u64, String> {
    let is_plain = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let number = is_plain.then(|| u64::from_str_radix(text, 16).ok());
    number
        .flatten()
        .ok_or_else(|| "a user must have 16 hexadecimal digits".to_owned())
}

fn cause_name(cause: Cause) -> &'static str {
    match cause {
        Cause::Path(kind) => kind.name(),
        Cause::Oddities => ODDITIES,
    }
}

impl Cause {
    /// The word for it in logs, files and metrics.
    pub fn name(self) -> &'static str {
        cause_name(self)
    }

    fn named(name: &str) -> Option<Cause> {
        let mut kinds = PathKind::ALL.into_iter();
        match name {
            ODDITIES => Some(Cause::Oddities),
            name => kinds.find(|kind| kind.name() == name).map(Cause::Path),
        }
    }
}

impl UserLine {
    fn of(number: u64, user: &User) -> UserLine {
        let (standing, cause) = match user.standing {
            UserStanding::Normal => ("normal", None),
            UserStanding::Suspect(cause) => ("suspect", Some(cause)),
            UserStanding::Throttled(cause) => ("throttled", Some(cause)),
        };
        UserLine {
            user: format!("{number:016x}"),
            name: user.name.clone(),
            standing: standing.to_owned(),
            cause: cause.map(|cause| cause.name().to_owned()),
            suspected: user.suspected_ms,
            blamed: user.blamed,
            last: user.last_ms,
            day: user.day.number,
            requests: user.day.requests,
            unmarked: user.day.unmarked,
            odd: user.day.counts,
            entries: user.pending.iter().map(step).collect(),
        }
    }

    /// The user, if the line makes sense. A time that has not come yet is taken for now: a clock may have been wrong.
    fn user(self, now_ms: u64) -> Result<(u64, User), String> {
        let number = hexadecimal(&self.user)?;
        let cause = self.cause.as_deref().map(Cause::named);
        let standing = match (self.standing.as_str(), cause, self.suspected) {
            ("normal", None, _) => UserStanding::Normal,
            ("suspect", Some(Some(cause)), Some(_)) => UserStanding::Suspect(cause),
            ("throttled", Some(Some(cause)), Some(_)) => UserStanding::Throttled(cause),
            _ => return Err("a standing without its cause or time".to_owned()),
        };
        if self.name.len() > NAME_MAX || self.entries.len() > PENDING_MAX {
            return Err("a name or a list of entries is too long".to_owned());
        }
        let mut user = User::new();
        user.name = self.name;
        user.standing = standing;
        user.suspected_ms = self.suspected.map(|at_ms| at_ms.min(now_ms));
        user.blamed = self.blamed;
        user.last_ms = self.last.min(now_ms);
        user.pending = entries(number, &self.entries, now_ms);
        user.day.number = self.day;
        // Sums of what an enemy wrote must not overflow.
        user.day.requests = self.requests.min(u32::MAX / 2);
        user.day.unmarked = self.unmarked.min(u32::MAX / 2);
        user.day.counts = self.odd.map(|count| count.min(1 << 20));
        Ok((number, user))
    }
}

impl Users {
    /// Writes the table.
    pub fn save(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "{HEAD}")?;
        let mut numbers: Vec<u64> = self.users.keys().copied().collect();
        numbers.sort_unstable();
        for number in &numbers {
            if let Some(user) = self.users.get(number) {
                serde_json::to_writer(&mut *out, &UserLine::of(*number, user))?;
                out.write_all(b"\n")?;
            }
        }
        let users = numbers.len();
        serde_json::to_writer(&mut *out, &End { users })?;
        out.write_all(b"\n")
    }

    /// Reads a table. An error names the line.
    pub fn restore(
        limits: UserLimits,
        input: &mut impl BufRead,
        now_ms: u64,
    ) -> Result<Users, String> {
        let mut users = Users::new(limits);
        let mut line = Vec::new();
        for number in 1.. {
            let at = |what: String| format!("line {number}: {what}");
            line.clear();
            let read = input.by_ref().take(LINE_MAX).read_until(b'\n', &mut line);
            read.map_err(|error| at(error.to_string()))?;
            if line.pop() != Some(b'\n') {
                return Err(at("the line is cut off or too long".to_owned()));
            }
            match number {
                1 if line == HEAD.as_bytes() => {}
                1 => return Err(at("this is no user table of this version".to_owned())),
                _ if line.starts_with(b"{\"users\"") => {
                    let end: End =
                        serde_json::from_slice(&line).map_err(|error| at(error.to_string()))?;
                    return match end.users == users.len() {
                        true => Ok(users),
                        false => Err(at(format!("{} users are missing", end.users))),
                    };
                }
                _ => users.add(&line, now_ms).map_err(at)?,
            }
        }
        Err("the table has no end".to_owned())
    }

    fn add(&mut self, line: &[u8], now_ms: u64) -> Result<(), String> {
        let line: UserLine = serde_json::from_slice(line).map_err(|error| error.to_string())?;
        let (number, user) = line.user(now_ms)?;
        if self.users.len() >= self.limits.users.max(1) {
            return Err(format!("more than {} users", self.limits.users));
        }
        match self.users.entry(number) {
            Place::Occupied(_) => Err("a user stands there twice".to_owned()),
            Place::Vacant(place) => {
                place.insert(user);
                Ok(())
            }
        }
    }
}

/// Writes a long session as a line.
pub fn write_session(entries: &[Entry], out: &mut impl Write) -> io::Result<()> {
    let user = entries.first().map_or(0, |entry| entry.user);
    let line = SessionLine {
        user: format!("{user:016x}"),
        entries: entries.iter().map(step).collect(),
    };
    serde_json::to_writer(&mut *out, &line)?;
    out.write_all(b"\n")
}

/// Reads a long session from a line.
pub fn read_session(line: &[u8]) -> Result<Vec<Entry>, String> {
    let line: SessionLine = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    let user = hexadecimal(&line.user)?;
    let mut entries = entries(user, &line.entries, u64::MAX);
    entries.sort_by_key(|entry| entry.at_ms);
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::paths::Browser;
    use crate::paths::Link;
    use crate::paths::Loaded;
    use crate::paths::UserRequest;

    const NOW: u64 = 1_900_000_000_000;

    /// A table with a suspect, somebody throttled, and a normal user with entries.
    fn table() -> Users {
        let mut users = Users::new(UserLimits::default());
        for (number, standing) in [
            (1, UserStanding::Suspect(Cause::Oddities)),
            (2, UserStanding::Throttled(Cause::Path(PathKind::ALL[1]))),
            (3, UserStanding::Normal),
        ] {
            let mut user = User::new();
            user.standing = standing;
            user.suspected_ms = (number < 3).then_some(NOW - number);
            user.last_ms = NOW - number;
            user.blamed = [1, 2, 3, 4, 5, 6];
            let request = UserRequest {
                at_ms: NOW,
                day: 7,
                user: number,
                page: u64::MAX,
                link: Link::Own(8),
                referrer: None,
                client: Browser {
                    agent: 1,
                    session: 1,
                },
                loaded: Loaded::Page,
            };
            user.day.observe(&request, &users.limits.oddities);
            user.pending.push(request.entry());
            users.users.insert(number, user);
        }
        users.introduce(3, "J\u{f6}rg \"x\"\n");
        users
    }

    fn saved(users: &Users) -> Vec<u8> {
        let mut out = Vec::new();
        users.save(&mut out).unwrap();
        out
    }

    fn restore(text: &[u8]) -> Result<Users, String> {
        Users::restore(UserLimits::default(), &mut &*text, NOW)
    }

    #[test]
    fn a_table_comes_back_as_it_was() {
        let text = saved(&table());
        let restored = restore(&text).unwrap();
        assert_eq!(
            String::from_utf8_lossy(&saved(&restored)),
            String::from_utf8_lossy(&text)
        );
        assert_eq!(restored.suspects(), table().suspects());
        assert_eq!(restored.named("J\u{f6}rg \"x\"\n"), Some(3));
    }

    #[test]
    fn what_is_damaged_is_refused() {
        let text = saved(&table());
        for length in 0..text.len() {
            restore(&text[..length]).unwrap_err();
        }
        let text = String::from_utf8(text).unwrap();
        for (from, to) in [
            ("cattlegrid_users", "cattlegrid_uses"),
            ("\"users\":3", "\"users\":4"),
            ("0000000000000002", "0000000000000001"),
            ("0000000000000002", "+000000000000002"),
            ("suspect\"", "suspicious\""),
            ("oddities", "reasons"),
            ("\"last\"", "\"first\""),
        ] {
            assert!(text.contains(from), "{from}");
            restore(text.replacen(from, to, 1).as_bytes()).unwrap_err();
        }
        let few = UserLimits {
            users: 2,
            ..UserLimits::default()
        };
        Users::restore(few, &mut text.as_bytes(), NOW).unwrap_err();
        let late = restore(text.as_bytes()).unwrap().suspects();
        assert!(late.iter().all(|listed| listed.since_ms <= NOW));
    }

    #[test]
    fn sessions_come_back() {
        let mut line = Vec::new();
        let users = table();
        write_session(&users.users[&3].pending, &mut line).unwrap();
        assert_eq!(read_session(&line).unwrap(), users.users[&3].pending);
        read_session(b"{}").unwrap_err();
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(at in 0_usize..800, bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let mut text = saved(&table());
            let at = at.min(text.len());
            text.splice(at..(at + bytes.len()).min(saved(&table()).len()), bytes);
            if let Ok(users) = restore(&text) {
                prop_assert!(users.len() <= UserLimits::default().users);
            }
        }
    }
}
