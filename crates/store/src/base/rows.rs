//! Rows of the base as they are written and read.

use cattlegrid_core::policy::Action;
use rusqlite::Connection;
use rusqlite::OptionalExtension;
use rusqlite::Row;
use rusqlite::params;
use rusqlite::types::Type;

use super::ChangeRecord;
use crate::entry::Entry;
use crate::entry::Origin;
use crate::entry::Subject;
use crate::seal::Total;
use crate::seal::seal;

/// The first layout. Texts are readable, so that `sqlite3` shows what is in the base; times are seconds since 1970.
pub(super) const LAYOUT_1: &str = "
CREATE TABLE entries (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    about TEXT NOT NULL,
    name TEXT NOT NULL,
    action TEXT NOT NULL,
    kind TEXT,
    reason TEXT NOT NULL,
    evidence TEXT NOT NULL,
    origin TEXT NOT NULL,
    campaign TEXT,
    first_seen INTEGER,
    last_seen INTEGER,
    created INTEGER NOT NULL,
    expires INTEGER,
    cap INTEGER NOT NULL,
    seal INTEGER NOT NULL,
    UNIQUE (about, name)
) STRICT;
CREATE INDEX entries_by_campaign ON entries (campaign) WHERE campaign IS NOT NULL;
CREATE TABLE changes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    batch INTEGER NOT NULL,
    time INTEGER NOT NULL,
    by TEXT NOT NULL,
    subject TEXT NOT NULL,
    before TEXT,
    after TEXT,
    undone_by INTEGER,
    seal INTEGER NOT NULL
) STRICT;
CREATE INDEX changes_by_batch ON changes (batch);
CREATE INDEX changes_by_subject ON changes (subject);
CREATE TABLE totals (what TEXT PRIMARY KEY, rows INTEGER NOT NULL, sum INTEGER NOT NULL) STRICT;
INSERT INTO totals VALUES ('entries', 0, 0), ('changes', 0, 0);
";

/// The second layout remembers since when a crowd has its cap.
pub(super) const LAYOUT_2: &str = "ALTER TABLE entries ADD COLUMN cap_since INTEGER;";

/// An entry with its number and its seal as it was read.
pub(super) struct Numbered {
    pub(super) id: i64,
    pub(super) entry: Entry,
    pub(super) seal: i64,
}

impl Numbered {
    pub(super) fn split(self) -> (u64, Entry) {
        (self.id as u64, self.entry)
    }
}

const ENTRY_COLUMNS: &str = "id, about, name, action, kind, reason, evidence, origin, campaign, first_seen, last_seen, created, expires, cap, seal, cap_since";

/// What cannot have been written by us.
fn not_ours(column: usize, what: &str) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, what.to_owned().into())
}

fn text_of<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

fn value_of<T: serde::de::DeserializeOwned>(column: usize, text: &str) -> rusqlite::Result<T> {
    serde_json::from_str(text).map_err(|error| not_ours(column, &error.to_string()))
}

/// The seal of an entry: of everything it says, as it is written.
fn entry_seal(entry: &Entry, evidence: &str) -> i64 {
    let number = |value: Option<u32>| value.map(|value| value.to_string());
    let numbers = [
        number(entry.first_seen),
        number(entry.last_seen),
        number(Some(entry.created)),
        number(entry.expires),
        number(Some(entry.cap)),
    ];
    let name = entry.subject.name();
    let texts = [
        Some(entry.subject.about()),
        Some(&name),
        Some(entry.action.name()),
        entry.kind.as_deref(),
        Some(&entry.reason),
        Some(evidence),
        Some(entry.origin.name()),
        entry.campaign.as_deref(),
    ];
    // Only where there is one: entries of the first layout keep their seals.
    let since = number(entry.cap_since);
    seal(
        texts
            .into_iter()
            .chain(numbers.iter().map(Option::as_deref))
            .chain(since.as_deref().map(Some)),
    )
}

fn read_entry(row: &Row<'_>) -> rusqlite::Result<Numbered> {
    let about: String = row.get(1)?;
    let name: String = row.get(2)?;
    let written = match about.as_str() {
        "agent" | "campaign" => format!("{about}:{name}"),
        _ => name,
    };
    let subject: Subject = written
        .parse()
        .map_err(|error: String| not_ours(2, &error))?;
    let action: String = row.get(3)?;
    let evidence: String = row.get(6)?;
    let origin: String = row.get(7)?;
    let entry = Entry {
        subject,
        action: Action::parse(&action).ok_or_else(|| not_ours(3, "an unknown action"))?,
        kind: row.get(4)?,
        reason: row.get(5)?,
        evidence: value_of(6, &evidence)?,
        origin: Origin::parse(&origin).ok_or_else(|| not_ours(7, "an unknown origin"))?,
        campaign: row.get(8)?,
        first_seen: row.get(9)?,
        last_seen: row.get(10)?,
        created: row.get(11)?,
        expires: row.get(12)?,
        cap: row.get(13)?,
        cap_since: row.get(15)?,
    };
    let seal: i64 = row.get(14)?;
    if seal != entry_seal(&entry, &evidence) || about != entry.subject.about() {
        return Err(not_ours(
            14,
            "a row does not have the content it was sealed with",
        ));
    }
    Ok(Numbered {
        id: row.get(0)?,
        entry,
        seal,
    })
}

pub(super) fn entries(connection: &Connection) -> rusqlite::Result<Vec<Numbered>> {
    let query = format!("SELECT {ENTRY_COLUMNS} FROM entries ORDER BY about, name");
    let mut statement = connection.prepare(&query)?;
    let rows = statement.query_map([], read_entry)?;
    rows.collect()
}

pub(super) fn find(
    connection: &Connection,
    subject: &Subject,
) -> rusqlite::Result<Option<Numbered>> {
    let query = format!("SELECT {ENTRY_COLUMNS} FROM entries WHERE about = ? AND name = ?");
    connection
        .prepare_cached(&query)?
        .query_row(params![subject.about(), subject.name()], read_entry)
        .optional()
}

/// Writes an entry and gives its seal.
pub(super) fn put(connection: &Connection, entry: &Entry) -> rusqlite::Result<i64> {
    let evidence = text_of(&entry.evidence);
    let seal = entry_seal(entry, &evidence);
    connection
        .prepare_cached(
            "INSERT INTO entries (about, name, action, kind, reason, evidence, origin, campaign, first_seen, last_seen, created, expires, cap, seal, cap_since)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
             ON CONFLICT (about, name) DO UPDATE SET action = excluded.action, kind = excluded.kind, reason = excluded.reason,
             evidence = excluded.evidence, origin = excluded.origin, campaign = excluded.campaign, first_seen = excluded.first_seen,
             last_seen = excluded.last_seen, created = excluded.created, expires = excluded.expires, cap = excluded.cap, seal = excluded.seal,
             cap_since = excluded.cap_since",
        )?
        .execute(params![
            entry.subject.about(),
            entry.subject.name(),
            entry.action.name(),
            entry.kind,
            entry.reason,
            evidence,
            entry.origin.name(),
            entry.campaign,
            entry.first_seen,
            entry.last_seen,
            entry.created,
            entry.expires,
            entry.cap,
            seal,
            entry.cap_since,
        ])?;
    Ok(seal)
}

pub(super) fn remove(connection: &Connection, subject: &Subject) -> rusqlite::Result<()> {
    connection
        .prepare_cached("DELETE FROM entries WHERE about = ? AND name = ?")?
        .execute(params![subject.about(), subject.name()])?;
    Ok(())
}

pub(super) fn next_batch(connection: &Connection) -> rusqlite::Result<i64> {
    // The number of its first change: never used again, also where old changes are forgotten.
    connection.query_row(
        "SELECT coalesce(max(seq), 0) + 1 FROM sqlite_sequence WHERE name = 'changes'",
        [],
        |row| row.get(0),
    )
}

/// The seal of a change: of everything it says, as it is written.
fn change_seal(record: &ChangeRecord, before: Option<&str>, after: Option<&str>) -> i64 {
    let (batch, time) = (record.batch.to_string(), record.time.to_string());
    let subject = record.subject.to_string();
    let undone_by = record.undone_by.map(|batch| batch.to_string());
    let fields = [&batch, &time, &record.by, &subject];
    seal(fields.map(|field| Some(field.as_str())).into_iter().chain([
        before,
        after,
        undone_by.as_deref(),
    ]))
}

/// Writes down a change and gives its seal.
pub(super) fn note(connection: &Connection, record: &ChangeRecord) -> rusqlite::Result<i64> {
    let before = record.before.as_ref().map(text_of);
    let after = record.after.as_ref().map(text_of);
    let seal = change_seal(record, before.as_deref(), after.as_deref());
    connection
        .prepare_cached(
            "INSERT INTO changes (batch, time, by, subject, before, after, seal) VALUES (?, ?, ?, ?, ?, ?, ?)",
        )?
        .execute(params![
            record.batch,
            record.time,
            record.by,
            record.subject.to_string(),
            before,
            after,
            seal
        ])?;
    Ok(seal)
}

fn read_change(row: &Row<'_>) -> rusqlite::Result<(ChangeRecord, i64)> {
    let subject: String = row.get(3)?;
    let before: Option<String> = row.get(4)?;
    let after: Option<String> = row.get(5)?;
    let entry = |column: usize, text: &Option<String>| {
        let text = text.as_deref();
        text.map(|text| value_of(column, text)).transpose()
    };
    let record = ChangeRecord {
        batch: row.get(0)?,
        time: row.get(1)?,
        by: row.get(2)?,
        subject: subject
            .parse()
            .map_err(|error: String| not_ours(3, &error))?,
        before: entry(4, &before)?,
        after: entry(5, &after)?,
        undone_by: row.get(6)?,
    };
    let seal: i64 = row.get(7)?;
    if seal != change_seal(&record, before.as_deref(), after.as_deref()) {
        return Err(not_ours(
            7,
            "a change does not have the content it was sealed with",
        ));
    }
    Ok((record, seal))
}

const CHANGE_COLUMNS: &str = "batch, time, by, subject, before, after, undone_by, seal";

/// The latest changes, about one subject or all.
pub(super) fn changes(
    connection: &Connection,
    subject: Option<&Subject>,
    most: usize,
) -> rusqlite::Result<Vec<ChangeRecord>> {
    let query = format!(
        "SELECT {CHANGE_COLUMNS} FROM changes WHERE ?1 IS NULL OR subject = ?1 ORDER BY id DESC LIMIT ?2"
    );
    let subject = subject.map(Subject::to_string);
    let mut statement = connection.prepare(&query)?;
    let rows = statement.query_map(params![subject, most as i64], read_change)?;
    rows.map(|row| row.map(|(record, _)| record)).collect()
}

/// True where a change is among those that are kept, whether it was undone or not.
pub(super) fn knows(connection: &Connection, change: &ChangeRecord) -> rusqlite::Result<bool> {
    connection.query_row(
        "SELECT EXISTS (SELECT 1 FROM changes WHERE batch = ? AND time = ? AND by = ? AND subject = ?)",
        params![change.batch, change.time, change.by, change.subject.to_string()],
        |row| row.get(0),
    )
}

/// Changes that were made together and not undone, in their order.
pub(super) fn of_batch(connection: &Connection, batch: i64) -> rusqlite::Result<Vec<ChangeRecord>> {
    let query = format!(
        "SELECT {CHANGE_COLUMNS} FROM changes WHERE batch = ? AND undone_by IS NULL ORDER BY id"
    );
    let mut statement = connection.prepare(&query)?;
    let rows = statement.query_map([batch], read_change)?;
    rows.map(|row| row.map(|(record, _)| record)).collect()
}

/// Notes that changes were undone, and by which; gives the seals that they had and have.
pub(super) fn mark_undone(
    connection: &Connection,
    batch: i64,
    undone_by: i64,
) -> rusqlite::Result<Vec<(i64, i64)>> {
    let query =
        format!("SELECT {CHANGE_COLUMNS}, id FROM changes WHERE batch = ? AND undone_by IS NULL");
    let mut statement = connection.prepare(&query)?;
    let undone = statement.query_map([batch], |row| {
        let (record, old) = read_change(row)?;
        let record = ChangeRecord {
            undone_by: Some(undone_by),
            ..record
        };
        let (before, after): (Option<String>, Option<String>) = (row.get(4)?, row.get(5)?);
        let new = change_seal(&record, before.as_deref(), after.as_deref());
        Ok((row.get(8)?, old, new))
    })?;
    let undone: Vec<(i64, i64, i64)> = undone.collect::<rusqlite::Result<_>>()?;
    let mut update =
        connection.prepare("UPDATE changes SET undone_by = ?, seal = ? WHERE id = ?")?;
    for (id, _, new) in &undone {
        update.execute([undone_by, *new, *id])?;
    }
    Ok(undone.into_iter().map(|(_, old, new)| (old, new)).collect())
}

/// Forgets changes before a time and gives their seals.
pub(super) fn forget_changes(connection: &Connection, before: u32) -> rusqlite::Result<Vec<i64>> {
    let mut statement =
        connection.prepare_cached("DELETE FROM changes WHERE time < ? RETURNING seal")?;
    let rows = statement.query_map([before], |row| row.get(0))?;
    rows.collect()
}

pub(super) fn total(connection: &Connection, what: &str) -> rusqlite::Result<Total> {
    connection.query_row(
        "SELECT rows, sum FROM totals WHERE what = ?",
        [what],
        |row| {
            Ok(Total {
                rows: row.get(0)?,
                sum: row.get(1)?,
            })
        },
    )
}

pub(super) fn set_total(connection: &Connection, what: &str, total: Total) -> rusqlite::Result<()> {
    connection.execute(
        "UPDATE totals SET rows = ?, sum = ? WHERE what = ?",
        params![total.rows, total.sum, what],
    )?;
    Ok(())
}

/// Reads every row, and adds up the seals of both tables.
pub(super) fn count_all(connection: &Connection) -> rusqlite::Result<[Total; 2]> {
    let mut totals = [Total::default(); 2];
    for numbered in entries(connection)? {
        totals[0].add(numbered.seal);
    }
    let query = format!("SELECT {CHANGE_COLUMNS} FROM changes");
    let mut statement = connection.prepare(&query)?;
    for change in statement.query_map([], read_change)? {
        totals[1].add(change?.1);
    }
    Ok(totals)
}
