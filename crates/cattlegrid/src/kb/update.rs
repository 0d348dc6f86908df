//! What `analyze --kb` writes, and what it reads before.

use std::io;
use std::io::Write;
use std::path::Path;

use cattlegrid_core::Analysis;
use cattlegrid_core::Report;
use cattlegrid_core::policy::Limits;
use cattlegrid_core::policy::Standing;
use cattlegrid_store::Base;
use cattlegrid_store::Change;
use cattlegrid_store::Fault;
use cattlegrid_store::Outcome;
use cattlegrid_store::Updater;

use super::now;
use super::protected::Protected;
use super::shown;
use crate::cli::AnalyzeArgs;

/// What a base said at any time, for leaving out what it refused; nothing where there is no base yet.
pub(crate) fn standing(path: &Path, analysis: &Analysis) -> anyhow::Result<Option<Standing>> {
    match Base::open(path) {
        // Entries that have ended by now count, too: the log may be older.
        Ok(base) => Ok(Some(base.history(|text| analysis.agent(text))?)),
        Err(Fault::Missing(_)) => Ok(None),
        Err(fault) => Err(fault.into()),
    }
}

/// Brings the base up to a report, or says what it would do.
pub(crate) fn update(
    report: &Report,
    arguments: &AnalyzeArgs,
    limits: &Limits,
) -> anyhow::Result<()> {
    let Some(path) = &arguments.log.kb else {
        return Ok(());
    };
    let entries = match Base::open(path) {
        Ok(base) => base.entries()?,
        Err(Fault::Missing(_)) => Vec::new(),
        Err(fault) => return Err(fault.into()),
    };
    let protected = Protected::load(&arguments.log.trusted_proxy)?;
    let updater = Updater {
        limits,
        now: arguments.kb_time.unwrap_or_else(now),
        protected: &protected.0,
    };
    let outcome = updater.update(report, &entries);
    if arguments.kb_dry_run {
        let mut page = io::stdout().lock();
        for change in &outcome.changes {
            show(change, &mut page)?;
        }
        tell(&outcome, path, &mut page)?;
        writeln!(page, "nothing was written (--kb-dry-run)")?;
        return Ok(());
    }
    let mut base = Base::open_or_create(path)?;
    let applied = base.apply(&outcome.changes, "analyze --kb", updater.now)?;
    if applied.batch > 0 {
        super::keep_copy(&base)?;
    }
    // Who follows a log hears of changes alone.
    if !arguments.log.quiet && (applied.batch > 0 || !arguments.follow) {
        let mut page = io::stderr().lock();
        tell(&outcome, path, &mut page)?;
        if applied.batch > 0 {
            writeln!(
                page,
                "  {} entries added, {} changed, {} removed; 'cattlegrid kb undo {} --kb {}' takes all of it back",
                applied.added,
                applied.changed,
                applied.removed,
                applied.batch,
                path.display()
            )?;
        }
    }
    Ok(())
}

fn show(change: &Change, page: &mut impl Write) -> io::Result<()> {
    match change {
        Change::Put(entry) => writeln!(
            page,
            "{:6} {}: {}",
            entry.action.name(),
            shown(&entry.subject),
            cattlegrid_core::text::printable(entry.reason.as_bytes())
        ),
        Change::Remove(subject) => writeln!(page, "forget {}", shown(subject)),
    }
}

fn tell(outcome: &Outcome, path: &Path, page: &mut impl Write) -> io::Result<()> {
    writeln!(
        page,
        "Knowledge base {}: {} sources denied, {} allowed, {} campaigns denied ({} sources joined a known one)",
        path.display(),
        outcome.denied,
        outcome.allowed,
        outcome.campaigns,
        outcome.joined
    )?;
    let left = [
        (
            outcome.revoked,
            "entries taken back: what they said is no longer so",
        ),
        (outcome.expired, "entries have run out"),
        (
            outcome.no_crowds,
            "sources of people above k2 pages a day got no allow entry: a crowd on three days was not shown; they pass by solving challenges",
        ),
        (outcome.owners, "sources left to what you said of them"),
        (
            outcome.mixed,
            "crawlers share their address with people: not denied",
        ),
        (
            outcome.by_visits,
            "crawlers would not be crawlers without the evidence of their visits: not denied; the gate challenges them",
        ),
        (
            outcome.few,
            "crawlers sent fewer than k1 requests and are crawlers by their user agent alone: not denied",
        ),
        (
            outcome.unproven,
            "crawlers name a search engine and could not be proven: not denied; 'cattlegrid lists update' may help",
        ),
        (
            outcome.old,
            "sources were last seen longer ago than an entry lasts: nothing is said of them (--kb-time sets another time)",
        ),
        (outcome.nameless, "sources are no addresses"),
        (
            outcome.protected.len(),
            "crawlers are in networks that are never denied by themselves",
        ),
    ];
    for (number, what) in left.into_iter().filter(|(number, _)| *number > 0) {
        writeln!(page, "  {number} {what}")?;
    }
    for (source, what) in outcome.protected.iter().take(5) {
        writeln!(page, "    {source}: {what}")?;
    }
    Ok(())
}
