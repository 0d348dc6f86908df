//! The file: opened with care, written in whole transactions, checked row by row.

mod backup;
mod open;
mod rows;

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::path::Path;
use std::path::PathBuf;

use cattlegrid_core::policy::Ruling;
use cattlegrid_core::policy::Standing;
use cattlegrid_core::text::printable;
use rusqlite::Connection;
use rusqlite::Transaction;
use rusqlite::TransactionBehavior;

use crate::entry::Entry;
use crate::entry::Origin;
use crate::entry::Subject;
use crate::fault::Fault;
use crate::seal::Total;
use open::READ_PATIENCE;
use open::WRITE_PATIENCE;
use rows::Numbered;

/// Days for which changes are kept to be looked at and undone.
pub(crate) const CHANGES_DAYS: u32 = 90;

/// A change to the base.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// An entry, in place of any other about the same.
    Put(Box<Entry>),
    /// No entry about this any more.
    Remove(Subject),
}

impl Change {
    /// True where what is written will be read as the same: what is not would be taken for damage.
    fn is_sound(&self) -> bool {
        let subject = self.subject();
        let is_named = subject.to_string().parse().as_ref() == Ok(subject);
        let is_finite = match self {
            Change::Put(entry) => entry.evidence.iter().all(|proof| proof.weight.is_finite()),
            Change::Remove(_) => true,
        };
        is_named && is_finite
    }

    /// Whom it is about.
    pub fn subject(&self) -> &Subject {
        match self {
            Change::Put(entry) => &entry.subject,
            Change::Remove(subject) => subject,
        }
    }
}

/// What became of some changes: they are on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Applied {
    /// Their number, to undo them by; 0 where nothing changed.
    pub batch: i64,
    /// Entries that are new.
    pub added: usize,
    /// Entries that are not as they were.
    pub changed: usize,
    /// Entries that are gone.
    pub removed: usize,
}

/// One change of the past.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangeRecord {
    /// Changes that were made together.
    pub batch: i64,
    /// When.
    pub time: u32,
    /// By whom: a command, the gate.
    pub by: String,
    /// About whom.
    pub subject: Subject,
    /// What was there before.
    pub before: Option<Entry>,
    /// What is there since.
    pub after: Option<Entry>,
    /// The batch that has undone it.
    pub undone_by: Option<i64>,
}

/// An open knowledge base.
#[derive(Debug)]
pub struct Base {
    path: PathBuf,
    connection: Connection,
    /// The disk has not confirmed a write: nothing is written any more.
    is_broken: bool,
}

impl Base {
    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All entries with their numbers, by kind and name.
    pub fn entries(&self) -> Result<Vec<(u64, Entry)>, Fault> {
        let rows = rows::entries(&self.connection).map_err(|error| self.fault(&error))?;
        Ok(rows.into_iter().map(Numbered::split).collect())
    }

    /// The entry about somebody, with its number.
    pub fn find(&self, subject: &Subject) -> Result<Option<(u64, Entry)>, Fault> {
        rows::find(&self.connection, subject)
            .map(|found| found.map(Numbered::split))
            .map_err(|error| self.fault(&error))
    }

    /// The latest changes, newest first.
    pub fn changes(&self, most: usize) -> Result<Vec<ChangeRecord>, Fault> {
        rows::changes(&self.connection, None, most).map_err(|error| self.fault(&error))
    }

    /// All changes about somebody, newest first.
    pub fn changes_about(&self, subject: &Subject) -> Result<Vec<ChangeRecord>, Fault> {
        rows::changes(&self.connection, Some(subject), 1000).map_err(|error| self.fault(&error))
    }

    /// Makes some changes, all or none. They lie on the disk when this returns.
    pub fn apply(&mut self, changes: &[Change], by: &str, now: u32) -> Result<Applied, Fault> {
        if let Some(change) = changes.iter().find(|change| !change.is_sound()) {
            return Err(Fault::Refused(format!(
                "an entry about '{}' cannot be written so that it can be read again; nothing was changed",
                printable(change.subject().to_string().as_bytes())
            )));
        }
        self.write(|transaction| {
            let mut session = Session::begin(transaction, by, now)?;
            for change in changes {
                session.make(change)?;
            }
            session.forget_old()?;
            session.end()
        })
    }

    /// Takes back the changes that were made together. Refused where one of those entries has changed since.
    pub fn undo(&mut self, batch: i64, by: &str, now: u32) -> Result<Applied, Fault> {
        self.undo_by(batch, by, now, |record| match record.before {
            Some(entry) => Change::Put(Box::new(entry)),
            None => Change::Remove(record.subject),
        })
    }

    /// The same for an owner: a learned denial would be learned again at the next judging, so its source is spared for some days.
    pub fn take_back(&mut self, batch: i64, by: &str, now: u32) -> Result<Applied, Fault> {
        let denies = |entry: &Option<Entry>| entry.as_ref().is_some_and(Entry::is_learned_denial);
        self.undo_by(batch, by, now, |record| match record.before {
            before if denies(&record.after) && !denies(&before) => {
                Change::Put(Box::new(Entry::spared(record.subject, now)))
            }
            Some(entry) => Change::Put(Box::new(entry)),
            None => Change::Remove(record.subject),
        })
    }

    fn undo_by(
        &mut self,
        batch: i64,
        by: &str,
        now: u32,
        undone: impl Fn(ChangeRecord) -> Change,
    ) -> Result<Applied, Fault> {
        // Looked at and taken back in one transaction: nobody else's change can come in between.
        let written = self.write(|transaction| {
            let made = rows::of_batch(transaction, batch)?;
            if let Some(why) = objection(transaction, batch, &made)? {
                return Ok(Err(why));
            }
            let mut session = Session::begin(transaction, by, now)?;
            for record in made.into_iter().rev() {
                session.make(&undone(record))?;
            }
            session.mark_undone(batch)?;
            session.end().map(Ok)
        })?;
        written.map_err(Fault::Refused)
    }

    fn write<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, Fault> {
        if self.is_broken {
            return Err(Fault::Unconfirmed(self.path.clone()));
        }
        let written = self
            .connection
            .busy_timeout(WRITE_PATIENCE)
            .and_then(|()| {
                self.connection
                    .transaction_with_behavior(TransactionBehavior::Immediate)
            })
            .and_then(|transaction| {
                let done = work(&transaction)?;
                transaction.commit()?;
                Ok(done)
            });
        // It never fails for a connection that is open.
        let _ = self.connection.busy_timeout(READ_PATIENCE);
        written.map_err(|error| {
            let fault = self.fault(&error);
            self.is_broken |= matches!(fault, Fault::Unconfirmed(_));
            fault
        })
    }

    /// What all entries that hold say, for requests to look into. `agent` is the hash of a user agent.
    pub fn standing(&self, now: u32, agent: impl Fn(&[u8]) -> u32) -> Result<Standing, Fault> {
        self.rulings(Some(now), agent)
    }

    /// What all entries say, also those that have ended: for requests of the past.
    pub fn history(&self, agent: impl Fn(&[u8]) -> u32) -> Result<Standing, Fault> {
        self.rulings(None, agent)
    }

    fn rulings(&self, now: Option<u32>, agent: impl Fn(&[u8]) -> u32) -> Result<Standing, Fault> {
        Ok(standing_of(&self.entries()?, now, agent))
    }

    fn fault(&self, error: &rusqlite::Error) -> Fault {
        Fault::of(&self.path, error)
    }
}

/// What entries say at a time, or at any time: also what those said that have ended.
pub fn standing_of(
    entries: &[(u64, Entry)],
    now: Option<u32>,
    agent: impl Fn(&[u8]) -> u32,
) -> Standing {
    let is_over = |entry: &Entry| now.is_some_and(|now| entry.is_expired(now));
    let current = || entries.iter().filter(|(_, entry)| !is_over(entry));
    let ends = |entry: &Entry| match now {
        Some(now) => entry.ends(now),
        None => entry.expires,
    };
    let ruling = |id: u64, entry: &Entry| Ruling {
        action: entry.action,
        is_owners: entry.origin == Origin::Owner,
        is_learned: matches!(entry.origin, Origin::Analysis | Origin::Gate),
        cap: entry.cap,
        since: entry.created,
        until: ends(entry).unwrap_or(u32::MAX),
        entry: id,
    };
    let campaigns: BTreeMap<&str, Ruling> = current()
        .filter_map(|(id, entry)| match &entry.subject {
            Subject::Campaign(name) => Some((name.as_str(), ruling(*id, entry))),
            _ => None,
        })
        .collect();
    let mut standing = Standing::default();
    for (id, entry) in current() {
        // What is said of a campaign holds for its sources, unless the owner has said something of the source itself.
        let of_campaign = entry
            .campaign
            .as_deref()
            .and_then(|name| campaigns.get(name));
        let own = ruling(*id, entry);
        let ruling = of_campaign.filter(|_| !own.is_owners).unwrap_or(&own);
        match &entry.subject {
            Subject::Source(network) => match entry.subject.source() {
                Some(source) => standing.add_source(source, *ruling),
                None => standing.add_network(*network, *ruling),
            },
            Subject::Network(network) => standing.add_network(*network, *ruling),
            Subject::Agent(name) => standing.add_agent(agent(name.as_bytes()), *ruling),
            Subject::Campaign(_) => {}
        }
    }
    standing
}

/// Why changes cannot be undone.
fn objection(
    transaction: &Transaction<'_>,
    batch: i64,
    made: &[ChangeRecord],
) -> rusqlite::Result<Option<String>> {
    if made.is_empty() {
        return Ok(Some(format!(
            "there are no changes {batch} that could be undone; 'cattlegrid kb log' lists them"
        )));
    }
    // Where something was changed twice, only what it was in the end can still be there.
    let mut seen = BTreeSet::new();
    for record in made.iter().rev() {
        if !seen.insert(&record.subject) {
            continue;
        }
        let now = rows::find(transaction, &record.subject)?.map(|known| known.entry);
        if now != record.after {
            return Ok(Some(format!(
                "{} has been changed since; undo that first ('cattlegrid kb show {0}')",
                record.subject
            )));
        }
    }
    Ok(None)
}

/// Changes that are being made together.
struct Session<'a> {
    transaction: &'a Transaction<'a>,
    by: &'a str,
    now: u32,
    applied: Applied,
    entries: Total,
    changes: Total,
}

impl<'a> Session<'a> {
    fn begin(
        transaction: &'a Transaction<'a>,
        by: &'a str,
        now: u32,
    ) -> rusqlite::Result<Session<'a>> {
        Ok(Session {
            transaction,
            by,
            now,
            applied: Applied {
                batch: rows::next_batch(transaction)?,
                ..Applied::default()
            },
            entries: rows::total(transaction, "entries")?,
            changes: rows::total(transaction, "changes")?,
        })
    }

    fn make(&mut self, change: &Change) -> rusqlite::Result<()> {
        let known = rows::find(self.transaction, change.subject())?;
        let before = known.as_ref().map(|known| &known.entry);
        let clamped = match change {
            Change::Put(entry) => Some(entry.clamped(self.now)),
            Change::Remove(_) => None,
        };
        let after = clamped.as_ref();
        if before == after {
            return Ok(());
        }
        match (before, after) {
            (None, _) => self.applied.added += 1,
            (Some(_), None) => self.applied.removed += 1,
            (Some(_), Some(_)) => self.applied.changed += 1,
        }
        if let Some(known) = &known {
            self.entries.remove(known.seal);
        }
        match after {
            Some(entry) => self.entries.add(rows::put(self.transaction, entry)?),
            None => rows::remove(self.transaction, change.subject())?,
        }
        let record = ChangeRecord {
            batch: self.applied.batch,
            time: self.now,
            by: self.by.to_owned(),
            subject: change.subject().clone(),
            before: before.cloned(),
            after: after.cloned(),
            undone_by: None,
        };
        self.changes.add(rows::note(self.transaction, &record)?);
        Ok(())
    }

    fn forget_old(&mut self) -> rusqlite::Result<()> {
        let oldest = self.now.saturating_sub(CHANGES_DAYS * 86_400);
        for seal in rows::forget_changes(self.transaction, oldest)? {
            self.changes.remove(seal);
        }
        Ok(())
    }

    fn mark_undone(&mut self, batch: i64) -> rusqlite::Result<()> {
        for (old, new) in rows::mark_undone(self.transaction, batch, self.applied.batch)? {
            self.changes.remove(old);
            self.changes.add(new);
        }
        Ok(())
    }

    fn end(mut self) -> rusqlite::Result<Applied> {
        rows::set_total(self.transaction, "entries", self.entries)?;
        rows::set_total(self.transaction, "changes", self.changes)?;
        let Applied {
            added,
            changed,
            removed,
            ..
        } = self.applied;
        if added + changed + removed == 0 {
            self.applied.batch = 0;
        }
        Ok(self.applied)
    }
}
