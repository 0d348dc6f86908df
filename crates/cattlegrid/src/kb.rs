//! `kb`: look at the knowledge base, change it, undo, export, import.

mod protected;
mod transfer;
mod update;

pub(crate) use protected::protected;
pub(crate) use update::standing;
pub(crate) use update::update;

use std::io;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use anyhow::bail;
use cattlegrid_core::policy::Action;
use cattlegrid_core::policy::DAY;
use cattlegrid_core::text::printable;
use cattlegrid_store::Applied;
use cattlegrid_store::Base;
use cattlegrid_store::Change;
use cattlegrid_store::ChangeRecord;
use cattlegrid_store::Entry;
use cattlegrid_store::Origin;
use cattlegrid_store::Subject;
use jiff::Timestamp;

use crate::cli::KbArgs;
use crate::cli::KbCommand;
use crate::cli::SayArgs;
use protected::Protected;

pub(crate) fn run(arguments: &KbArgs) -> anyhow::Result<ExitCode> {
    let path = match (&arguments.config, &arguments.kb) {
        (Some(config), _) => crate::gate_file::places(config)?.knowledge_base,
        (None, Some(path)) => path.clone(),
        (None, None) => default_path()?,
    };
    let path = path.as_path();
    match &arguments.command {
        KbCommand::List(wanted) => list(path, wanted)?,
        KbCommand::Show { subject } => show(path, subject)?,
        KbCommand::Allow(what) => say(path, Action::Allow, what)?,
        KbCommand::Deny(what) => say(path, Action::Deny, what)?,
        KbCommand::Forget { subject } => forget(path, subject)?,
        KbCommand::Log { top } => log(path, *top)?,
        KbCommand::Undo { batch } => undo(path, *batch)?,
        KbCommand::Export(what) => transfer::export(path, what)?,
        KbCommand::Import(what) => transfer::import(path, what)?,
        KbCommand::Check => check(path)?,
        KbCommand::Restore => restore(path)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Where the base is unless told otherwise: in the home folder, or where a gate without a settings file keeps its own.
fn default_path() -> anyhow::Result<PathBuf> {
    let folder = crate::lists::data_folder().context(
        "there is no home folder to keep the knowledge base in; say where with --kb FILE",
    )?;
    let of_gate = crate::gate_file::default_places().map(|places| places.knowledge_base);
    let of_gate = of_gate.filter(|path| path.exists());
    let own = folder.join("kb.sqlite");
    // One that is lost, and has a backup, is not forgotten for another.
    let has_own = own.exists() || Base::backup(&own).exists();
    Ok(match (has_own, of_gate) {
        (false, Some(of_gate)) => of_gate,
        _ => own,
    })
}

/// The time it is, in seconds since 1970.
pub(crate) fn now() -> u32 {
    u32::try_from(Timestamp::now().as_second()).unwrap_or(0)
}

fn subject(text: &str) -> anyhow::Result<Subject> {
    text.parse().map_err(anyhow::Error::msg)
}

/// Makes changes that the owner asked for, keeps a sound copy, and tells.
fn change(base: &mut Base, changes: &[Change], by: &str) -> anyhow::Result<Applied> {
    let applied = base.apply(changes, by, now())?;
    if applied.batch > 0 {
        keep_copy(base)?;
    }
    Ok(applied)
}

/// Keeps a backup, and says where one of another base went.
fn keep_copy(base: &Base) -> anyhow::Result<()> {
    if let Some(aside) = base.keep_copy()? {
        writeln!(
            io::stderr(),
            "cattlegrid: the backup beside {} is not of this base; it is kept as {}",
            base.path().display(),
            aside.display()
        )?;
    }
    Ok(())
}

fn say(path: &Path, action: Action, what: &SayArgs) -> anyhow::Result<()> {
    let subject = subject(&what.subject)?;
    if !what.yes
        && let Some(network) = subject.network()
        && let Some(why) = Protected::load(&what.trusted_proxy)?.objection(network, action)
    {
        bail!("{subject} {why}; nothing was changed. Say --yes if you mean it");
    }
    if let Subject::Source(network) = &subject
        && network.prefix_len() == 64
        && !what.subject.contains("/64")
    {
        writeln!(
            io::stderr(),
            "cattlegrid: {} stands for its network {subject}: one visitor has all of it",
            printable(what.subject.as_bytes())
        )?;
    }
    if let Subject::Agent(text) = &subject {
        writeln!(
            io::stderr(),
            "cattlegrid: this is about clients whose whole User-Agent header is '{}'; a rule in the gate's settings can match a part of it",
            printable(text.as_bytes())
        )?;
    }
    if matches!(subject, Subject::Campaign(_)) && Base::open(path)?.find(&subject)?.is_none() {
        bail!(
            "there is no {}; 'cattlegrid kb list --about campaign' lists them",
            shown(&subject)
        );
    }
    let mut base = Base::open_or_create(path)?;
    let known = base.find(&subject)?.map(|(_, entry)| entry);
    let now = now();
    let entry = Entry {
        kind: known.as_ref().and_then(|entry| entry.kind.clone()),
        evidence: known
            .as_ref()
            .map_or_else(Vec::new, |entry| entry.evidence.clone()),
        campaign: known.as_ref().and_then(|entry| entry.campaign.clone()),
        first_seen: known.as_ref().and_then(|entry| entry.first_seen),
        last_seen: known.as_ref().and_then(|entry| entry.last_seen),
        reason: what
            .reason
            .clone()
            .unwrap_or_else(|| "the owner said so".to_owned()),
        expires: what.days.map(|days| now.saturating_add(days * DAY)),
        cap: what.cap.unwrap_or(0),
        ..Entry::new(subject.clone(), action, Origin::Owner, now)
    };
    let changes = [Change::Put(Box::new(entry))];
    let applied = change(&mut base, &changes, &format!("kb {}", action.name()))?;
    let until = what.days.map_or_else(
        || "until you say otherwise".to_owned(),
        |days| format!("for {days} days"),
    );
    writeln!(
        io::stdout().lock(),
        "{} {until}: {}, in {}; {}",
        match action {
            Action::Allow => "allowed",
            Action::Deny => "denied",
            Action::Watch => "watched",
        },
        shown(&subject),
        path.display(),
        how_to_undo(applied.batch)
    )?;
    Ok(())
}

fn how_to_undo(batch: i64) -> String {
    match batch {
        0 => "the entry was already there, and nothing has changed".to_owned(),
        batch => format!("'cattlegrid kb undo {batch}' takes it back"),
    }
}

fn forget(path: &Path, text: &str) -> anyhow::Result<()> {
    let subject = subject(text)?;
    let mut base = Base::open(path)?;
    let is_meant = |entry: &Entry| match &subject {
        Subject::Campaign(name) if entry.campaign.as_deref() == Some(name) => {
            entry.origin != Origin::Owner
        }
        subject => entry.subject == *subject,
    };
    let now = now();
    let changes: Vec<Change> = base
        .entries()?
        .into_iter()
        .map(|(_, entry)| entry)
        .filter(is_meant)
        .map(
            |entry| match entry.is_learned_denial() && !entry.is_expired(now) {
                true => Change::Put(Box::new(Entry::spared(entry.subject, now))),
                false => Change::Remove(entry.subject),
            },
        )
        .collect();
    if changes.is_empty() {
        bail!("there is no entry about {}", shown(&subject));
    }
    let applied = change(&mut base, &changes, "kb forget")?;
    let spared = match applied.changed {
        0 => String::new(),
        some => format!(
            "; {some} of them were denied by their traffic and will not be denied again for 7 days (forget them again to end that)"
        ),
    };
    writeln!(
        io::stdout().lock(),
        "{} entries forgotten{spared}; 'cattlegrid kb undo {}' brings them back",
        applied.removed + applied.changed,
        applied.batch
    )?;
    Ok(())
}

fn undo(path: &Path, batch: i64) -> anyhow::Result<()> {
    let mut base = Base::open(path)?;
    let applied = base.take_back(batch, &format!("kb undo {batch}"), now())?;
    keep_copy(&base)?;
    writeln!(
        io::stdout().lock(),
        "undone: {} entries are back or as they were, {} are gone; sources that were denied by their traffic are not denied again for 7 days; 'cattlegrid kb undo {}' does it again",
        applied.added + applied.changed,
        applied.removed,
        applied.batch
    )?;
    Ok(())
}

fn check(path: &Path) -> anyhow::Result<()> {
    let base = Base::open(path)?;
    let entries = base.entries()?;
    writeln!(
        io::stdout().lock(),
        "{} is sound: {} entries",
        path.display(),
        entries.len()
    )?;
    Ok(())
}

fn restore(path: &Path) -> anyhow::Result<()> {
    let (base, kept) = Base::restore(path).context("the backup cannot be restored")?;
    let kept = kept.map_or_else(
        || "there was no base in its place".to_owned(),
        |kept| format!("what was there is kept as {}", kept.display()),
    );
    writeln!(
        io::stdout().lock(),
        "{} is restored from its backup, with {} entries; {kept}",
        path.display(),
        base.entries()?.len()
    )?;
    Ok(())
}

/// A subject as it may be shown: names of agents come from strangers.
fn shown(subject: &Subject) -> String {
    printable(subject.to_string().as_bytes())
}

pub(crate) fn time(seconds: u32) -> String {
    Timestamp::from_second(i64::from(seconds)).map_or_else(
        |_| String::new(),
        |time| time.strftime("%Y-%m-%d %H:%M").to_string(),
    )
}

/// What holds, in words.
pub(crate) fn holds(entry: &Entry, now: u32) -> String {
    match entry.expires {
        None => "no end".to_owned(),
        Some(expires) if expires <= now => format!("ended {}", time(expires)),
        Some(expires) => format!("until {}", time(expires)),
    }
}

fn list(path: &Path, wanted: &crate::cli::KbListArgs) -> anyhow::Result<()> {
    let base = Base::open(path)?;
    let entries = base.entries()?;
    let now = now();
    let is_wanted = |entry: &Entry| {
        let about = wanted
            .about
            .as_deref()
            .is_none_or(|about| entry.subject.about() == about);
        let action = wanted
            .action
            .as_deref()
            .is_none_or(|action| entry.action.name() == action);
        let campaign = wanted.campaign.is_none() || entry.campaign == wanted.campaign;
        let member =
            wanted.campaign.is_some() || wanted.about.is_some() || entry.campaign.is_none();
        about && action && campaign && member
    };
    let chosen: Vec<&Entry> = entries
        .iter()
        .map(|(_, entry)| entry)
        .filter(|entry| is_wanted(entry))
        .collect();
    let mut page = io::stdout().lock();
    for entry in chosen.iter().take(wanted.top) {
        let members = match &entry.subject {
            Subject::Campaign(name) => {
                let of = |entry: &&(u64, Entry)| entry.1.campaign.as_deref() == Some(name);
                format!(" ({} sources)", entries.iter().filter(of).count())
            }
            _ => String::new(),
        };
        writeln!(
            page,
            "{:5}  {}{members}  {}  {}, {}: {}",
            entry.action.name(),
            shown(&entry.subject),
            entry.kind.as_deref().unwrap_or("-"),
            entry.origin.name(),
            holds(entry, now),
            printable(entry.reason.as_bytes())
        )?;
    }
    if chosen.len() > wanted.top {
        writeln!(
            page,
            "… {} more; --top N shows more",
            chosen.len() - wanted.top
        )?;
    }
    let members = entries.iter().filter(|(_, entry)| entry.campaign.is_some());
    let members = members.count();
    if members > 0 && wanted.campaign.is_none() && wanted.about.is_none() {
        writeln!(
            page,
            "and {members} sources of campaigns; 'kb list --campaign NAME' lists them"
        )?;
    }
    if entries.is_empty() {
        writeln!(page, "the knowledge base is empty")?;
    }
    Ok(())
}

/// An entry by its subject, or by the number that a block page shows.
fn show(path: &Path, text: &str) -> anyhow::Result<()> {
    let base = Base::open(path)?;
    let entries = base.entries()?;
    let wanted = match text.strip_prefix('#').map(str::parse::<u64>) {
        Some(Ok(number)) => {
            let found = entries.iter().find(|(id, _)| *id == number);
            found
                .map(|(_, entry)| entry.subject.clone())
                .with_context(|| format!("there is no entry #{number} (any more)"))?
        }
        _ => subject(text)?,
    };
    let mut page = io::stdout().lock();
    let network = wanted.network();
    let around = entries.iter().filter(|(_, entry)| {
        let about = entry.subject.network();
        let contains = about
            .zip(network)
            .is_some_and(|(outer, inner)| outer.contains(&inner));
        entry.subject == wanted || contains
    });
    let mut found = 0;
    for (id, entry) in around {
        found += 1;
        show_entry(*id, entry, &mut page)?;
        if let Some(name) = &entry.campaign {
            let campaign = Subject::Campaign(name.clone());
            if let Some((id, campaign)) = base.find(&campaign)? {
                show_entry(id, &campaign, &mut page)?;
            }
        }
    }
    if found == 0 {
        writeln!(page, "nothing is known of {}", shown(&wanted))?;
    }
    let changes = base.changes_about(&wanted)?;
    if !changes.is_empty() {
        writeln!(page, "\nchanges, newest first")?;
    }
    for change in changes {
        show_change(&change, &mut page)?;
    }
    Ok(())
}

fn show_entry(id: u64, entry: &Entry, page: &mut impl Write) -> io::Result<()> {
    writeln!(
        page,
        "#{id} {}: {}{}",
        shown(&entry.subject),
        entry.action.name(),
        entry
            .kind
            .as_deref()
            .map_or_else(String::new, |kind| format!(", {kind}"))
    )?;
    writeln!(page, "  why:    {}", printable(entry.reason.as_bytes()))?;
    writeln!(
        page,
        "  by:     {}, since {}, {}",
        entry.origin.name(),
        time(entry.created),
        holds(entry, now())
    )?;
    if let (Some(first), Some(last)) = (entry.first_seen, entry.last_seen) {
        writeln!(page, "  seen:   {} to {} UTC", time(first), time(last))?;
    }
    if entry.cap > 0 {
        writeln!(page, "  cap:    {} pages a day", entry.cap)?;
    }
    for proof in &entry.evidence {
        writeln!(
            page,
            "  {:+5.1} dB  {} ({})",
            proof.weight,
            printable(proof.why.as_bytes()),
            printable(proof.detector.as_bytes())
        )?;
    }
    Ok(())
}

fn show_change(change: &ChangeRecord, page: &mut impl Write) -> io::Result<()> {
    let said = |entry: &Option<Entry>| {
        let entry = entry.as_ref();
        entry.map_or("nothing", |entry| entry.action.name())
    };
    writeln!(
        page,
        "  {:>5}  {}  {}: {} -> {} ({}){}",
        change.batch,
        time(change.time),
        shown(&change.subject),
        said(&change.before),
        said(&change.after),
        printable(change.by.as_bytes()),
        change
            .undone_by
            .map_or_else(String::new, |batch| format!(", undone by {batch}"))
    )
}

fn log(path: &Path, top: usize) -> anyhow::Result<()> {
    let base = Base::open(path)?;
    let mut page = io::stdout().lock();
    for change in base.changes(top)? {
        show_change(&change, &mut page)?;
    }
    Ok(())
}
