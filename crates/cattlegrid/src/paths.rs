//! `paths`: the ways of users through a site: how long their sessions are, who crawls, and what sealed links do to crawlers.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use anyhow::ensure;
use cattlegrid_core::analysis::Block;
use cattlegrid_core::format::Reader;
use cattlegrid_core::format::split_line;
use cattlegrid_core::paths::Cause;
use cattlegrid_core::paths::Cut;
use cattlegrid_core::paths::Entry;
use cattlegrid_core::paths::Judge;
use cattlegrid_core::paths::Lengths;
use cattlegrid_core::paths::Listed;
use cattlegrid_core::paths::LogUsers;
use cattlegrid_core::paths::Oddity;
use cattlegrid_core::paths::Parents;
use cattlegrid_core::paths::PathKind;
use cattlegrid_core::paths::UserStanding;
use cattlegrid_core::paths::Users;
use cattlegrid_core::request::Request;
use cattlegrid_core::text::printable;
use cattlegrid_report::suppression::Suppression;
use cattlegrid_worlds::suppression::Figures;
use cattlegrid_worlds::suppression::Plan;

use crate::cli::ForgiveArgs;
use crate::cli::JudgeArgs;
use crate::cli::LogArgs;
use crate::cli::MeasureArgs;
use crate::cli::PathsCommand;
use crate::cli::SuppressionArgs;
use crate::cli::UsersArgs;
use crate::files::is_stdout;
use crate::files::write_whole;
use crate::gate_file;
use crate::logs;
use crate::model;

pub(crate) fn run(command: &PathsCommand) -> anyhow::Result<ExitCode> {
    match command {
        PathsCommand::Measure(arguments) => measure(arguments),
        PathsCommand::Judge(arguments) => judge(arguments),
        PathsCommand::Users(arguments) => list_users(arguments),
        PathsCommand::Forgive(arguments) => forgive(arguments),
        PathsCommand::Suppression(arguments) => suppress(arguments),
    }
}

/// Gives every page request of the logs to `each`, as an entry, in order of the lines.
fn read_entries(
    log: &LogArgs,
    mut each: impl FnMut(&Request<'_>, Entry) + Send,
) -> anyhow::Result<LogUsers> {
    let settings = logs::settings(log)?;
    let (zone, span) = (settings.reading.zone.clone(), settings.reading.span.clone());
    let mut reader = Reader::new(&settings.session_cookies);
    reader.set_zone(&zone);
    let mut users = LogUsers::default();
    let mut read_block = |block: &Block| {
        let mut rest = block.lines();
        while !rest.is_empty() {
            let (line, next) = split_line(rest);
            rest = next;
            let Ok(request) = block.format.read(line, &mut reader) else {
                continue;
            };
            if span.contains(&request.time)
                && let Some(entry) = users.entry(&request)
            {
                each(&request, entry);
            }
        }
    };
    logs::read_again(log, settings, |_, blocks| {
        blocks.iter().for_each(&mut read_block)
    })?;
    let pages = users.named + users.by_cookie + users.by_source;
    ensure!(
        pages > 0,
        "the log has no readable page request; --format sets its format"
    );
    Ok(users)
}

fn say_users(users: &LogUsers, out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "page requests by user: {} named by the log, {} by session cookie, {} by source and user agent alone",
        users.named, users.by_cookie, users.by_source
    )
}

fn measure(arguments: &MeasureArgs) -> anyhow::Result<ExitCode> {
    let cut = Cut {
        gap_ms: u64::from(arguments.gap) * 60_000,
        ..Cut::default()
    };
    let mut lengths = Lengths::new(&cut);
    let users = read_entries(&arguments.log, |_, entry| {
        lengths.observe(entry.user, entry.at_ms);
    })?;
    let longest = lengths.longest(arguments.active);
    let mut out = io::stdout().lock();
    say_users(&users, &mut out)?;
    writeln!(
        out,
        "{} users, {} of them with {} page requests or more",
        lengths.users(),
        longest.len(),
        arguments.active
    )?;
    let at = |part: usize| longest.get((longest.len().max(1) - 1) * part / 100);
    let (Some(low), Some(middle), Some(high)) = (at(25), at(50), at(75)) else {
        writeln!(
            out,
            "too few to propose a length: --active lowers the number of requests"
        )?;
        return Ok(ExitCode::SUCCESS);
    };
    writeln!(
        out,
        "longest short session (gap of {} minutes): median {middle} page requests, half of the users from {low} to {high} (paper: most 20 to 30)\n\
         proposed long session, twice the median: {} page requests (paper: 60)",
        arguments.gap,
        2 * middle
    )?;
    Ok(ExitCode::SUCCESS)
}

/// One user of a log.
#[derive(Debug, Default)]
struct User {
    name: String,
    /// Entries of the long session that is not complete.
    pending: Vec<Entry>,
    sessions: u32,
    /// Sessions called a crawler's, by kind.
    called: BTreeMap<PathKind, u32>,
    score_max: f64,
}

/// Users that are followed at most.
const USERS_MAX: usize = 200_000;

fn judge(arguments: &JudgeArgs) -> anyhow::Result<ExitCode> {
    let model = model::load(arguments.log.model.as_deref())?;
    let judge = model::paths(&model)?;
    let mut users: BTreeMap<u64, User> = BTreeMap::new();
    let mut unfollowed = 0_u64;
    let named = read_entries(&arguments.log, |request, entry| {
        if users.len() >= USERS_MAX && !users.contains_key(&entry.user) {
            unfollowed += 1;
            return;
        }
        let user = users.entry(entry.user).or_insert_with(|| User {
            name: name(request),
            ..User::default()
        });
        user.observe(entry, &judge);
    })?;
    let mut out = io::stdout().lock();
    say_users(&named, &mut out)?;
    if unfollowed > 0 {
        writeln!(
            out,
            "left out: {unfollowed} page requests of users beyond the first {USERS_MAX}"
        )?;
    }
    list(users.into_values().collect(), arguments.top, &mut out)?;
    Ok(ExitCode::SUCCESS)
}

/// How a user is listed.
fn name(request: &Request<'_>) -> String {
    let known = request.user.value().or(request.session.value());
    match (known, request.client.address()) {
        (Some(name), _) => printable(name).to_string(),
        (None, Some(source)) => source.to_string(),
        (None, None) => "unnamed".to_owned(),
    }
}

impl User {
    fn observe(&mut self, entry: Entry, judge: &Judge) {
        self.pending.push(entry);
        if self.pending.len() < judge.cut().entries {
            return;
        }
        // Lines of one log may be a little out of order.
        self.pending.sort_by_key(|entry| entry.at_ms);
        if let Some(verdict) = judge.judge(&self.pending, Parents::Referrers) {
            self.sessions += 1;
            if let Some(kind) = verdict.kind {
                *self.called.entry(kind).or_default() += 1;
                self.score_max = self.score_max.max(verdict.score);
            }
        }
        self.pending.clear();
    }

    fn suspicious(&self) -> u32 {
        self.called.values().sum()
    }
}

fn list(users: Vec<User>, top: usize, out: &mut impl Write) -> io::Result<()> {
    let judged = users.iter().filter(|user| user.sessions > 0).count();
    let mut suspects: Vec<&User> = users.iter().filter(|user| user.suspicious() > 0).collect();
    suspects.sort_by(|a, b| {
        let most = b.suspicious().cmp(&a.suspicious());
        most.then(b.score_max.total_cmp(&a.score_max))
            .then_with(|| a.name.cmp(&b.name))
    });
    writeln!(
        out,
        "{} users, {judged} with a complete long session, {} of them with a path like a crawler's\n\
         Parents come from referrers, which clients can withhold or forge: weaker than markers, and a reason to look closer, not a verdict.",
        users.len(),
        suspects.len()
    )?;
    for user in suspects.iter().take(top) {
        let kinds: Vec<String> = user
            .called
            .iter()
            .map(|(kind, many)| format!("{many} {}", kind.name()))
            .collect();
        writeln!(
            out,
            "  {:<32}{} of {} long sessions: {}",
            user.name,
            user.suspicious(),
            user.sessions,
            kinds.join(", ")
        )?;
    }
    Ok(())
}

/// The users of the gate with this settings file.
fn users_of(config: &Path) -> anyhow::Result<(PathBuf, Users)> {
    let state = gate_file::places(config)?.state;
    let users = cattlegrid_gate::read_users(&state, u64::MAX).map_err(anyhow::Error::msg)?;
    let users = users.with_context(|| {
        format!(
            "{} has no users.jsonl: no gate with markers and [gate.paths] has run there yet",
            state.display()
        )
    })?;
    Ok((state, users))
}

fn list_users(arguments: &UsersArgs) -> anyhow::Result<ExitCode> {
    let (_, users) = users_of(&arguments.config)?;
    let suspects = users.suspects();
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "{} users, {} of them suspects or throttled",
        users.len(),
        suspects.len()
    )?;
    for suspect in &suspects {
        let (word, cause) = match suspect.standing {
            UserStanding::Normal => continue,
            UserStanding::Suspect(cause) => ("suspect", cause),
            UserStanding::Throttled(cause) => ("throttled", cause),
        };
        let seconds = i64::try_from(suspect.since_ms / 1000).unwrap_or(0);
        let since = jiff::Timestamp::from_second(seconds).unwrap_or_default();
        let why = match cause {
            Cause::Path(kind) => format!("a path like that of a {} crawler", kind.name()),
            Cause::Oddities => format!("odd requests: {}", odd(&suspect.odd)),
        };
        let name = match suspect.name.as_str() {
            "" => String::new(),
            name => format!(" {}", printable(name.as_bytes())),
        };
        writeln!(
            out,
            "  {:016x}{name}  {word} since {since}: {why}",
            suspect.user
        )?;
    }
    Ok(ExitCode::SUCCESS)
}

/// How many of each kind.
fn odd(counts: &[u32; Oddity::ALL.len()]) -> String {
    let kinds = Oddity::ALL.iter().zip(counts);
    let told = kinds.filter(|(_, count)| **count > 0);
    let told: Vec<String> = told
        .map(|(kind, count)| format!("{count} {}", kind.name()))
        .collect();
    told.join(", ")
}

fn forgive(arguments: &ForgiveArgs) -> anyhow::Result<ExitCode> {
    let (state, users) = users_of(&arguments.config)?;
    let given = arguments.user.as_str();
    let numbered = |listed: &Listed| format!("{:016x}", listed.user) == given.to_ascii_lowercase();
    let suspects = users.suspects();
    let number = suspects.iter().find(|listed| numbered(listed));
    let number = number.map(|listed| listed.user).or(users.named(given));
    let user = number.with_context(|| {
        format!("no user '{given}' is a suspect: 'cattlegrid paths users --config FILE' lists them")
    })?;
    let path = state.join(cattlegrid_gate::FORGIVEN_FILE);
    let mut options = OpenOptions::new();
    // The gate may run as another user, and numbers tell nothing.
    let opened = options.create(true).append(true).open(&path);
    let mut file = opened.with_context(|| format!("cannot write {}", path.display()))?;
    file.write_all(format!("{user:016x}\n").as_bytes())?;
    writeln!(
        io::stdout(),
        "user {user:016x} will be a normal user within a second, or when the gate starts"
    )?;
    Ok(ExitCode::SUCCESS)
}

fn suppress(arguments: &SuppressionArgs) -> anyhow::Result<ExitCode> {
    let figures = Figures::new(Plan::PAPER, arguments.seed, arguments.runs);
    let suppression = Suppression {
        runs: figures.runs,
        efficiency: &figures.efficiency,
        work: &figures.work,
    };
    if let Some(path) = &arguments.html {
        write_whole(path, |file| suppression.write_html(file))?;
    }
    match &arguments.json {
        Some(path) if is_stdout(path) => suppression.write_json(&mut io::stdout().lock())?,
        json => {
            if let Some(path) = json {
                write_whole(path, |file| suppression.write_json(file))?;
            }
            let mut out = io::stdout().lock();
            suppression.write(&mut out)?;
            out.flush()?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
