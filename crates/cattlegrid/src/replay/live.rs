//! A log through all that serves live traffic: the analysis, the policy, and the judgements between them.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::time::Duration;
use std::time::Instant;

use cattlegrid_core::Analysis;
use cattlegrid_core::analysis::Block;
use cattlegrid_core::policy::Limits;
use cattlegrid_core::policy::Proof;
use cattlegrid_core::profile::Record;
use cattlegrid_core::rehearsal::Gate;
use cattlegrid_core::rehearsal::Habit;
use cattlegrid_core::rehearsal::Steadiness;
use cattlegrid_core::rehearsal::Treated;
use cattlegrid_core::rehearsal::Watcher;
use cattlegrid_core::request::Source;
use cattlegrid_store::Change;
use cattlegrid_store::Entry;
use cattlegrid_store::Subject;
use cattlegrid_store::Updater;
use cattlegrid_store::standing_of;

use crate::cli::ReplayArgs;
use crate::cli::Solvers;
use crate::session_examples::KnownSources;
use crate::session_examples::Role;

/// Seconds of the log that a gate learns from at once: so long its lines may take to be learned from.
const STEP: u32 = 1;
/// Seconds of the log between two judgements at least, where sources pass the second limit.
const PAUSE: u32 = 600;

/// Seconds by which a request may be older than those before it: lines are not always in order.
const LATE: u32 = 3600;

/// A gate before a log, and what becomes of those who are known.
pub(super) struct Live {
    gate: Gate,
    solvers: Solvers,
    /// Seconds of the log between two judgements.
    judge_every: u32,
    /// When sources were last judged.
    judged: Option<u32>,
    /// A source has passed the second limit since.
    has_crossed: bool,
    profiles_max: usize,
    /// Whether they are people, and what became of them.
    treated: HashMap<Source, (Role, Treated)>,
    entries: BTreeMap<Subject, (u64, Entry)>,
    /// The largest number of an entry so far.
    numbered: u64,
    /// Time of the latest request.
    latest: u32,
    watcher: Watcher,
    pub(super) told: Told,
}

/// What is told beside what became of each source.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// Page requests of sources of which nothing is known, and those that passed.
    pub(super) unknown: (u64, u64),
    pub(super) requests: u64,
    pub(super) forgotten: u64,
    /// Requests that are much older than those before them.
    pub(super) late: u64,
    /// How long the replay took, and the judgements in it.
    pub(super) took: Duration,
    pub(super) judging: Duration,
}

impl Told {
    /// Adds what another set told.
    pub(super) fn add(&mut self, other: &Told) {
        self.unknown.0 += other.unknown.0;
        self.unknown.1 += other.unknown.1;
        self.requests += other.requests;
        self.forgotten += other.forgotten;
        self.late += other.late;
        self.took += other.took;
        self.judging += other.judging;
    }
}

impl Live {
    pub(super) fn new(limits: Limits, truth: &KnownSources, arguments: &ReplayArgs) -> Live {
        let sources = truth.sources.iter();
        Live {
            gate: Gate::new(limits, arguments.profiles_max),
            solvers: arguments.solvers,
            judge_every: arguments.judge_every.saturating_mul(60),
            judged: None,
            has_crossed: false,
            profiles_max: arguments.profiles_max,
            treated: sources
                .map(|(source, known)| (*source, (known.role(), Treated::default())))
                .collect(),
            entries: BTreeMap::new(),
            numbered: 0,
            latest: 0,
            watcher: Watcher::default(),
            told: Told::default(),
        }
    }

    /// Takes in blocks as a gate does, and gives their requests in the order in which they were asked about.
    pub(super) fn observe(&mut self, analysis: &mut Analysis, blocks: &[Block]) -> Vec<Record> {
        let mut asked = Vec::new();
        analysis.observe_in_steps(blocks, STEP, |analysis, records| {
            let suspects = analysis.suspects(self.gate.policy.limits.suspect_from);
            if !suspects.is_empty() {
                self.gate.suspects.add(&suspects);
            }
            self.judge_in_time(analysis, records[0].time);
            records.iter().for_each(|record| self.ask(record));
            asked.extend_from_slice(records);
        });
        self.told.forgotten += analysis.keep_heaviest(self.profiles_max);
        asked
    }

    fn ask(&mut self, record: &Record) {
        self.told.requests += 1;
        self.told.late += u64::from(record.time.saturating_add(LATE) < self.latest);
        self.latest = self.latest.max(record.time);
        self.watcher.note(record.source());
        let known = self.treated.get_mut(&record.source());
        let role = known.as_ref().map(|(role, _)| *role);
        let answered = self
            .gate
            .ask(record, Proof::None, habit(self.solvers, role));
        let limits = &self.gate.policy.limits;
        self.has_crossed |= answered.decided.is_to_be_judged_now(limits);
        if !record.is_page() {
            return;
        }
        match known {
            Some((_, treated)) => treated.note(&answered),
            None => {
                self.told.unknown.0 += 1;
                self.told.unknown.1 += u64::from(answered.has_passed);
            }
        }
    }

    /// Judges all sources where it is time to.
    fn judge_in_time(&mut self, analysis: &mut Analysis, now: u32) {
        let judged = *self.judged.get_or_insert(now);
        let since = now.saturating_sub(judged);
        if since >= self.judge_every || self.has_crossed && since >= PAUSE {
            self.judge(analysis, now);
        }
    }

    /// Judges all sources as the gate does, and keeps what it would write into its knowledge base.
    fn judge(&mut self, analysis: &mut Analysis, now: u32) {
        let began = Instant::now();
        (self.judged, self.has_crossed) = (Some(now), false);
        analysis.forget_old_windows();
        let report = analysis.judge();
        self.watcher.observe(&report.bands, now);
        self.watcher.keep(&report.bands, self.profiles_max);
        let updater = Updater {
            limits: &self.gate.policy.limits,
            now,
            protected: &[],
        };
        let entries: Vec<(u64, Entry)> = self.entries.values().cloned().collect();
        for change in updater.update(&report, &entries).changes {
            match change {
                Change::Put(entry) => {
                    let known = self.entries.get(&entry.subject);
                    let number = known.map_or(self.numbered + 1, |(number, _)| *number);
                    self.numbered = self.numbered.max(number);
                    self.entries.insert(entry.subject.clone(), (number, *entry));
                }
                Change::Remove(subject) => drop(self.entries.remove(&subject)),
            }
        }
        let entries: Vec<(u64, Entry)> = self.entries.values().cloned().collect();
        self.gate.standing = standing_of(&entries, Some(now), |text| analysis.agent(text));
        self.gate.forget_ended(now);
        self.told.judging += began.elapsed();
    }

    /// What became of each source that is known, and how steady verdicts were.
    pub(super) fn finish(self) -> (HashMap<Source, Treated>, Steadiness, Told) {
        let treated = self.treated.into_iter();
        let treated = treated.map(|(source, (_, treated))| (source, treated));
        (treated.collect(), self.watcher.finish(), self.told)
    }
}

/// Who solves challenges.
fn habit(solvers: Solvers, role: Option<Role>) -> Habit {
    let solves = match solvers {
        Solvers::People => role == Some(Role::Person),
        Solvers::Everyone => true,
        Solvers::Nobody => false,
    };
    if solves { Habit::Solves } else { Habit::Fails }
}
