//! Long sessions of simulated forums, measured, with what each account is; and those of people that a gate has kept.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use anyhow::Context;
use anyhow::bail;
use anyhow::ensure;
use cattlegrid_core::paths::Cut;
use cattlegrid_core::paths::Entry;
use cattlegrid_core::paths::Measures;
use cattlegrid_core::paths::Parents;
use cattlegrid_core::paths::PathKind;
use cattlegrid_core::paths::VALUE_NAMES;
use cattlegrid_core::paths::page_key;
use cattlegrid_core::paths::read_session;
use cattlegrid_learn::path_model::PathExample;
use cattlegrid_worlds::forum::Forum;
use cattlegrid_worlds::forum::Links;
use cattlegrid_worlds::forum::Role;
use rayon::prelude::*;

use crate::labelled::kind_and_seeds;

/// One long session with its truth.
#[derive(Debug, Clone)]
pub(crate) struct PathSession {
    /// World and account, as in `50 member012`.
    pub(crate) account: String,
    /// Which of the account's long sessions, from 1.
    pub(crate) number: usize,
    /// Accounts of one crawler are one group.
    pub(crate) group: u32,
    pub(crate) role: Role,
    /// The kind of reader or crawler.
    pub(crate) kind: &'static str,
    pub(crate) measures: Measures,
}

impl PathSession {
    /// What the path is: `None` if a person's. Accounts that share links take them without regard to where they stand, as far as one account shows.
    pub(crate) fn truth(&self) -> Option<PathKind> {
        match self.role {
            Role::Person => None,
            Role::DepthFirst => Some(PathKind::DepthFirst),
            Role::BreadthFirst => Some(PathKind::BreadthFirst),
            Role::RandomLike | Role::Shared => Some(PathKind::RandomLike),
        }
    }

    pub(crate) fn example(&self) -> PathExample {
        PathExample {
            values: self.measures.values.to_vec(),
            kind: self.truth().map(|kind| kind.number() - 1),
            group: self.group,
        }
    }
}

/// Names of the values as a model file has them.
pub(crate) fn value_names() -> Vec<String> {
    VALUE_NAMES.map(str::to_owned).to_vec()
}

/// All long sessions of the worlds that are named, as their parents are known from markers or from referrers.
pub(crate) fn collect(
    worlds: &[String],
    parents: Parents,
    cut: &Cut,
) -> anyhow::Result<Vec<PathSession>> {
    let mut seeds = Vec::new();
    let mut kept = Vec::new();
    for name in worlds {
        match name.ends_with(SESSIONS) {
            // They have no referrers.
            true if parents == Parents::Referrers => {}
            true => kept.extend(of_file(name, cut)?),
            false => seeds.extend(seeds_of(name)?),
        }
    }
    let sessions: Vec<Vec<PathSession>> = (0..)
        .zip(&seeds)
        .collect::<Vec<(u32, &u64)>>()
        .into_par_iter()
        .map(|(world, seed)| of_world(world, *seed, parents, cut))
        .collect();
    Ok(sessions.into_iter().flatten().chain(kept).collect())
}

/// How files of a gate with sessions of people end.
const SESSIONS: &str = ".jsonl";

/// The sessions of people in a file of a gate; one of another length than those that are learned from is left out.
fn of_file(name: &str, cut: &Cut) -> anyhow::Result<Vec<PathSession>> {
    let text = std::fs::read(name).with_context(|| format!("{name} cannot be read"))?;
    let mut numbers: BTreeMap<u64, usize> = BTreeMap::new();
    let mut sessions = Vec::new();
    let lines = text.split(|byte| *byte == b'\n');
    for (at, line) in lines.enumerate().filter(|(_, line)| !line.is_empty()) {
        let entries = read_session(line).map_err(anyhow::Error::msg);
        let entries = entries.with_context(|| format!("{name}: line {}", at + 1))?;
        let Some(user) = entries.first().map(|entry| entry.user) else {
            continue;
        };
        if entries.len() != cut.entries {
            continue;
        }
        let number = numbers.entry(user).or_default();
        *number += 1;
        sessions.push(PathSession {
            account: format!("{user:016x}"),
            number: *number,
            // Groups of worlds have small numbers.
            group: 1 << 31 | user as u32,
            role: Role::Person,
            kind: "kept by a gate",
            measures: Measures::of(&entries, cut),
        });
    }
    Ok(sessions)
}

fn seeds_of(name: &str) -> anyhow::Result<RangeInclusive<u64>> {
    ensure!(
        name.starts_with("world:"),
        "'{name}': paths are learned from and tested on simulated forums: world:forum:1-19"
    );
    let (kind, seeds) = kind_and_seeds(name)?;
    if kind != "forum" {
        bail!("there are no signed-in users in a world '{kind}'; there are in world:forum:1-19");
    }
    Ok(seeds)
}

/// Accounts of a world at most: groups of different worlds do not meet.
const GROUPS: u32 = 1000;

fn of_world(world: u32, seed: u64, parents: Parents, cut: &Cut) -> Vec<PathSession> {
    let links = match parents {
        Parents::Markers => Links::Marked,
        Parents::Referrers => Links::Plain,
    };
    let forum = Forum::new(seed, links);
    let mut of_account: Vec<Vec<Entry>> = vec![Vec::new(); forum.accounts.len()];
    for view in &forum.views {
        let (at_ms, parent) = match parents {
            Parents::Markers => (view.at_ms, view.parent()),
            // A log has whole seconds.
            Parents::Referrers => (view.at_ms / 1000 * 1000, view.referrer()),
        };
        of_account[view.account as usize].push(Entry {
            at_ms,
            user: u64::from(view.account),
            page: page_key(view.target().as_bytes()),
            parent: parent.map(|parent| page_key(parent.as_bytes())),
        });
    }
    let mut groups: BTreeMap<&str, u32> = BTreeMap::new();
    let mut sessions = Vec::new();
    for ((number, account), entries) in (0..).zip(&forum.accounts).zip(&of_account) {
        let group = match account.campaign.as_str() {
            "" => number,
            campaign => *groups.entry(campaign).or_insert(number),
        };
        for (at, long) in cut.long_sessions(entries).enumerate() {
            sessions.push(PathSession {
                account: format!("{seed} {}", account.name),
                number: at + 1,
                group: GROUPS * world + group,
                role: account.role,
                kind: account.kind,
                measures: Measures::of(long, cut),
            });
        }
    }
    sessions
}
