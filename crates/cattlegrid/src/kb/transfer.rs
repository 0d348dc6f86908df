//! Out of the base, for servers, firewalls and other bases; and in again.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::io::Read;
use std::io::Write;
use std::path::Path;

use anyhow::Context;
use anyhow::bail;
use cattlegrid_core::networks::network;
use cattlegrid_core::policy::Action;
use cattlegrid_core::policy::DAY;
use cattlegrid_core::policy::Ruling;
use cattlegrid_store::Base;
use cattlegrid_store::Change;
use cattlegrid_store::Entry;
use cattlegrid_store::Fault;
use cattlegrid_store::Origin;
use cattlegrid_store::Subject;
use cattlegrid_store::export;
use cattlegrid_store::export::Denied;
use cattlegrid_store::export::Expiry;
use cattlegrid_store::export::Target;
use ipnet::IpNet;
use serde::Deserialize;
use serde::Serialize;

use super::change;
use super::now;
use super::protected::Protected;
use crate::cli::ExportArgs;
use crate::cli::ImportArgs;
use crate::files::is_stdout;
use crate::files::without_mark;
use crate::files::write_whole;

const SCHEMA: &str = "cattlegrid/kb/1";
/// Larger than any base that is passed on.
const FILE_BYTES_MAX: u64 = 512 << 20;
const ENTRIES_MAX: usize = 2_000_000;

/// A whole base as a file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Whole {
    schema: String,
    entries: Vec<Entry>,
}

/// What a file would bring in.
#[derive(Default)]
struct Offer {
    entries: Vec<Entry>,
    /// The line of each entry; empty where the file is no list.
    lines: Vec<usize>,
    /// How many entries of an older rule are left out.
    refused: usize,
}

pub(super) fn export(path: &Path, what: &ExportArgs) -> anyhow::Result<()> {
    let base = Base::open(path)?;
    let entries: Vec<Entry> = base
        .entries()?
        .into_iter()
        .map(|(_, entry)| entry)
        .collect();
    if what.target == "json" {
        let whole = Whole {
            schema: SCHEMA.to_owned(),
            entries,
        };
        return write(what, |out| {
            serde_json::to_writer_pretty(&mut *out, &whole)?;
            writeln!(out)
        });
    }
    let Some(target) = Target::parse(&what.target) else {
        let names: Vec<&str> = Target::ALL.iter().map(|target| target.name()).collect();
        bail!(
            "'{}' is no target; known: json (the whole base), {}",
            what.target,
            names.join(", ")
        );
    };
    let now = now();
    let standing = base.standing(now, |_| 0)?;
    let (mut denied, mut allowed, mut agents) = (Vec::new(), Vec::new(), 0);
    for entry in entries.iter().filter(|entry| !entry.is_expired(now)) {
        let Some(network) = entry.subject.network() else {
            agents += usize::from(matches!(entry.subject, Subject::Agent(_)));
            continue;
        };
        // What the owner says of a campaign or of the network around it is over what the entry says.
        let ruling = match entry.subject.source() {
            Some(source) => standing.ruling(source, 0, now),
            None => standing.of_network(&network, now).copied(),
        };
        match ruling.map_or(entry.action, |ruling| ruling.action) {
            Action::Deny => denied.push(Denied {
                network,
                until: denied_until(entry, ruling),
            }),
            Action::Allow => allowed.push(network),
            Action::Watch => {}
        }
    }
    let before = denied.len();
    let list = aggregated(&denied, &allowed, what.budget, target, now);
    write(what, |out| export::write(target, &list.networks, now, out))?;
    if !what.output.as_deref().is_none_or(is_stdout) {
        writeln!(
            io::stderr(),
            "cattlegrid: {before} denied sources and networks became {} networks with {} addresses that nobody denied{}",
            list.networks.len(),
            list.extra,
            match agents {
                0 => String::new(),
                agents => format!("; {agents} entries about user agents cannot be exported"),
            }
        )?;
    }
    Ok(())
}

/// When a denial ends: with what denies now, or later where the entry itself denies for longer. An entry that allows says nothing about it.
fn denied_until(entry: &Entry, ruling: Option<Ruling>) -> Option<u32> {
    let own = match entry.action {
        Action::Deny => Some(entry.expires.unwrap_or(u32::MAX)),
        Action::Allow | Action::Watch => None,
    };
    let of_ruling = ruling.map(|ruling| ruling.until);
    own.max(of_ruling).filter(|until| *until != u32::MAX)
}

fn aggregated(
    denied: &[Denied],
    allowed: &[IpNet],
    budget: u64,
    target: Target,
    now: u32,
) -> export::Aggregated {
    let denied = export::current(denied, now);
    export::aggregate(&denied, allowed, budget, Expiry::of(target))
}

fn write(what: &ExportArgs, fill: impl Fn(&mut dyn Write) -> io::Result<()>) -> anyhow::Result<()> {
    match &what.output {
        Some(path) if !is_stdout(path) => write_whole(path, |file| {
            let mut out = io::BufWriter::new(file);
            fill(&mut out)?;
            out.flush()
        }),
        _ => Ok(fill(&mut io::BufWriter::new(io::stdout().lock()))?),
    }
}

pub(super) fn import(path: &Path, what: &ImportArgs) -> anyhow::Result<()> {
    let text = read(&what.file)?;
    let is_base = text.trim_start().starts_with('{');
    let offer = match is_base {
        true => whole(&text, what)?,
        false => list(&text, what)?,
    };
    if offer.refused > 0 {
        writeln!(
            io::stderr(),
            "cattlegrid: {} allow entries of an older rule were left out: they were made without evidence of a crowd; 'kb allow' allows a source whatever it shows",
            offer.refused
        )?;
    }
    if offer.entries.len() > ENTRIES_MAX {
        bail!("it has more than {ENTRIES_MAX} entries; nothing was imported");
    }
    refuse_what_nobody_means(&offer, what)?;
    let known = match Base::open(path) {
        Ok(base) => base.entries()?,
        Err(Fault::Missing(_)) => Vec::new(),
        Err(fault) => return Err(fault.into()),
    };
    let owners: std::collections::BTreeSet<&Subject> = known
        .iter()
        .filter(|(_, entry)| entry.origin == Origin::Owner)
        .map(|(_, entry)| &entry.subject)
        .collect();
    let mut entries = offer.entries;
    let all = entries.len();
    entries.retain(|entry| what.mine || !owners.contains(&entry.subject));
    let kept = all - entries.len();
    let changes: Vec<Change> = entries
        .into_iter()
        .map(|entry| Change::Put(Box::new(entry)))
        .collect();
    let mut page = io::stdout().lock();
    if what.dry_run {
        writeln!(
            page,
            "{} entries would be imported, {kept} left to what you said of them; nothing was written (--dry-run)",
            changes.len()
        )?;
        return Ok(());
    }
    let mut base = Base::open_or_create(path)?;
    let by = format!("kb import {}", what.file.display());
    let applied = change(&mut base, &changes, &by)?;
    writeln!(
        page,
        "{} entries added, {} changed, {kept} left to what you said of them; 'cattlegrid kb undo {}' takes it back",
        applied.added, applied.changed, applied.batch
    )?;
    Ok(())
}

fn read(path: &Path) -> anyhow::Result<String> {
    let failed = || format!("{} cannot be read", path.display());
    let mut text = String::new();
    let file: Box<dyn Read> = match is_stdout(path) {
        true => Box::new(io::stdin()),
        false => Box::new(File::open(path).with_context(failed)?),
    };
    file.take(FILE_BYTES_MAX + 1)
        .read_to_string(&mut text)
        .with_context(failed)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        bail!(
            "{} is longer than 512 MiB; nothing was imported",
            path.display()
        );
    }
    Ok(without_mark(text))
}

/// The file of another base. What its owner said is a list to us, unless it is our own file.
fn whole(text: &str, what: &ImportArgs) -> anyhow::Result<Offer> {
    let whole: Whole = serde_json::from_str(text).with_context(|| {
        format!(
            "{} is no export of a knowledge base ('kb export --as json'); nothing was imported",
            what.file.display()
        )
    })?;
    if whole.schema != SCHEMA {
        bail!(
            "its schema is '{}', not {SCHEMA}; nothing was imported",
            whole.schema
        );
    }
    let latest = now().saturating_add(DAY);
    if let Some(entry) = whole.entries.iter().find(|entry| entry.created > latest) {
        bail!(
            "the entry about {} comes from the future; nothing was imported",
            super::shown(&entry.subject)
        );
    }
    let all = whole.entries.len();
    let entries: Vec<Entry> = whole
        .entries
        .into_iter()
        .filter(|entry| !entry.is_of_older_rule())
        .map(|entry| match what.mine {
            true => entry,
            false => Entry {
                origin: Origin::List,
                ..entry
            },
        })
        .collect();
    Ok(Offer {
        refused: all - entries.len(),
        entries,
        lines: Vec::new(),
    })
}

/// A list of addresses and networks, one a line. What stands there more than once is one entry.
fn list(text: &str, what: &ImportArgs) -> anyhow::Result<Offer> {
    let Some(action) = what.action.as_deref().and_then(Action::parse) else {
        bail!("it is a list of networks: say --as allow or --as deny");
    };
    let now = now();
    let expires = what.days.map(|days| now.saturating_add(days * DAY));
    let mut seen = HashSet::new();
    let mut offer = Offer::default();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let network = network(line).map_err(|error| {
            anyhow::anyhow!(
                "{}:{number}: {error}; nothing was imported",
                what.file.display()
            )
        })?;
        let subject = Subject::of(network);
        if !seen.insert(subject.clone()) {
            continue;
        }
        offer.lines.push(number);
        offer.entries.push(Entry {
            reason: format!("on the list {}", what.file.display()),
            expires,
            ..Entry::new(subject, action, Origin::List, now)
        });
    }
    // A file that was emptied on its way must not look like one that was imported.
    if offer.entries.is_empty() {
        bail!(
            "{} holds no address and no network; nothing was imported",
            what.file.display()
        );
    }
    Ok(offer)
}

/// A list that would shut out everybody, ourselves or a search engine is refused as a whole.
fn refuse_what_nobody_means(offer: &Offer, what: &ImportArgs) -> anyhow::Result<()> {
    if what.yes {
        return Ok(());
    }
    let protected = Protected::load(&what.trusted_proxy)?;
    for (index, entry) in offer.entries.iter().enumerate() {
        let objection = entry
            .subject
            .network()
            .and_then(|network| protected.objection(network, entry.action));
        if let Some(why) = objection {
            // A network may be written with host bits, so that only its line finds it.
            let place = offer.lines.get(index).map_or_else(String::new, |number| {
                format!("{}:{number}: ", what.file.display())
            });
            bail!(
                "{place}{} {why}; nothing was imported. Say --yes if you mean it",
                entry.subject
            );
        }
    }
    Ok(())
}
