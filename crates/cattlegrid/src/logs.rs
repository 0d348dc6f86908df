//! From the flags of a log command to a [`Report`]: settings, formats, reading with progress, and what went wrong.

use std::fs::File;
use std::io;
use std::io::IsTerminal;
use std::io::Write;
use std::path::Path;
use std::sync::mpsc;
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::Duration;

use anyhow::Context;
use anyhow::bail;
use cattlegrid_core::Analysis;
use cattlegrid_core::Report;
use cattlegrid_core::Settings;
use cattlegrid_core::analysis::Block;
use cattlegrid_core::format::Format;
use cattlegrid_core::knowledge::AutonomousSystems;
use cattlegrid_core::knowledge::RobotsRules;
use cattlegrid_core::proxies::Proxies;
use cattlegrid_core::report::HostReport;
use cattlegrid_core::settings::Reading;
use cattlegrid_core::text::printable;
use cattlegrid_input::BLOCK_BYTES;
use cattlegrid_input::Looking;
use cattlegrid_input::Plan;
use cattlegrid_input::Problem;
use cattlegrid_input::Progress;
use cattlegrid_input::plan;
use indicatif::ProgressBar;
use indicatif::ProgressStyle;
use jiff::Timestamp;
use jiff::fmt::temporal::DateTimeParser;
use jiff::tz::TimeZone;
use rayon::ThreadPool;

use crate::cli::LogArgs;
use crate::cli::span_days;
use crate::kb;
use crate::lists;
use crate::model;

/// Blocks that are parsed and folded together: enough to keep threads busy, few enough to stay small.
pub(crate) const ROUND: usize = 16;

/// Logs that were read.
pub(crate) struct Read {
    pub(crate) report: Report,
    /// Names of the inputs, in the order they were read.
    pub(crate) pieces: Vec<String>,
    /// An input, or a part of one, could not be read.
    pub(crate) is_incomplete: bool,
}

/// Logs that were looked at, and all that is needed to judge them.
pub(crate) struct Prepared {
    pub(crate) plan: Plan,
    pub(crate) analysis: Analysis,
    pub(crate) looking: Looking,
    pub(crate) pool: ThreadPool,
    /// Names of the inputs, in the order they are read.
    pub(crate) pieces: Vec<String>,
}

/// Reads and judges the logs that the flags name.
pub(crate) fn read(arguments: &LogArgs, settings: Settings) -> anyhow::Result<Read> {
    read_by(arguments, settings, Analysis::observe)
}

/// The same, with another way to take in blocks.
pub(crate) fn read_by(
    arguments: &LogArgs,
    settings: Settings,
    observe: impl FnMut(&mut Analysis, &[Block]) + Send,
) -> anyhow::Result<Read> {
    let take = |plan: Plan, room: Room<'_>, give: Give<'_>| (plan.read(room, give), ());
    let finish = |analysis: Analysis| (analysis.finish(), ());
    let (read, (), (), _) = read_with(arguments, settings, take, observe, finish)?;
    Ok(read)
}

/// Reads the logs through `take`, which may keep what it needs beside the problems, and judges them through `finish`.
pub(crate) fn read_with<T: Send, K: Send>(
    arguments: &LogArgs,
    settings: Settings,
    take: impl FnOnce(Plan, Room<'_>, Give<'_>) -> (Vec<Problem>, K) + Send,
    mut observe: impl FnMut(&mut Analysis, &[Block]) + Send,
    finish: impl FnOnce(Analysis) -> (Report, T) + Send,
) -> anyhow::Result<(Read, T, K, ThreadPool)> {
    let Prepared {
        plan,
        mut analysis,
        pool,
        pieces,
        ..
    } = prepare(arguments, settings, false)?;
    check_pieces(&plan)?;
    let lost_before = is_loss(&plan.problems);
    let bar = progress_bar(plan.total_bytes, arguments);
    let progress = plan.progress.clone();
    let ((report, rest), (problems, kept)) = pool.install(|| {
        let taken = pump(
            |room, give| take(plan, room, give),
            &(bar, progress),
            |round| observe(&mut analysis, round),
        );
        (finish(analysis), taken)
    });
    say_problems(&problems);
    let misread = match arguments.format {
        Some(_) => arguments.logs.as_slice(),
        None => &[],
    };
    check_readable(&report, &pieces, misread)?;
    say_crowd(&report, arguments);
    say_no_host(&report, arguments);
    let read = Read {
        report,
        pieces,
        is_incomplete: lost_before || is_loss(&problems),
    };
    Ok((read, rest, kept, pool))
}

/// Looks at the logs that the flags name.
pub(crate) fn prepare(
    arguments: &LogArgs,
    settings: Settings,
    follow: bool,
) -> anyhow::Result<Prepared> {
    let format = arguments
        .format
        .as_deref()
        .map(Format::parse)
        .transpose()
        .map_err(anyhow::Error::msg)
        .context("--format")?;
    let looking = Looking {
        format,
        source_field: arguments.source_field.clone(),
        zone: Some(settings.reading.zone.clone()),
        follow,
    };
    let analysis = analysis(arguments, settings)?;
    let plan = plan(&arguments.logs, &looking);
    say_problems(&plan.problems);
    if !plan.pieces.is_empty() {
        say_formats(&plan, arguments);
    }
    let threads = arguments.threads.map_or(0, usize::from);
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .context("the threads could not be started")?;
    Ok(Prepared {
        pieces: plan.pieces.iter().map(|piece| piece.name.clone()).collect(),
        plan,
        analysis,
        looking,
        pool,
    })
}

/// An analysis with all that is known beforehand.
pub(crate) fn analysis(arguments: &LogArgs, settings: Settings) -> anyhow::Result<Analysis> {
    let folder = arguments.lists.clone().or_else(lists::default_folder);
    let mut knowledge = lists::knowledge(folder.as_deref())?;
    if let Some(path) = &arguments.robots {
        knowledge = knowledge.with_rules(&robots_txt(path)?);
        if knowledge
            .rules
            .as_ref()
            .is_some_and(RobotsRules::allow_everything)
            && !arguments.quiet
        {
            let _ = writeln!(
                io::stderr(),
                "cattlegrid: {} forbids nothing",
                path.display()
            );
        }
    }
    if let Some(path) = &arguments.asn {
        knowledge.systems = Some(autonomous_systems(path)?);
    }
    let mut analysis = Analysis::new(settings, knowledge).map_err(anyhow::Error::msg)?;
    if let Some(path) = &arguments.kb
        && let Some(standing) = kb::standing(path, &analysis)?
    {
        analysis.set_standing(standing);
    }
    Ok(analysis)
}

/// Larger than any database of autonomous systems.
const SYSTEMS_BYTES_MAX: u64 = 1 << 30;

fn autonomous_systems(path: &Path) -> anyhow::Result<AutonomousSystems> {
    let failed = || format!("--asn: {} cannot be read", path.display());
    let length = std::fs::metadata(path).with_context(failed)?.len();
    if length > SYSTEMS_BYTES_MAX {
        bail!("--asn: {} is larger than 1 GiB", path.display());
    }
    let bytes = std::fs::read(path).with_context(failed)?;
    AutonomousSystems::new(bytes)
        .map_err(|error| anyhow::anyhow!("--asn: {}: {error}", path.display()))
}

/// Robots read no more of a robots.txt than this, and a longer file is something else.
const ROBOTS_TXT_BYTES_MAX: u64 = 500 << 10;

fn robots_txt(path: &Path) -> anyhow::Result<Vec<u8>> {
    let failed = || format!("--robots: {} cannot be read", path.display());
    let mut text = Vec::new();
    File::open(path)
        .and_then(|file| {
            io::Read::read_to_end(
                &mut io::Read::take(file, ROBOTS_TXT_BYTES_MAX + 1),
                &mut text,
            )
        })
        .with_context(failed)?;
    if text.len() as u64 > ROBOTS_TXT_BYTES_MAX {
        bail!(
            "--robots: {} is longer than 500 KiB, more than robots read of a robots.txt",
            path.display()
        );
    }
    Ok(text)
}

/// True where an input, or a part of one, was not read.
pub(crate) fn is_loss(problems: &[Problem]) -> bool {
    problems.iter().any(|problem| problem.is_loss)
}

/// The settings of a run: the file, and the flags over it.
pub(crate) fn settings(arguments: &LogArgs) -> anyhow::Result<Settings> {
    let mut settings = match &arguments.config {
        None => Settings::default(),
        Some(path) => {
            let text = std::fs::read_to_string(path)
                .with_context(|| format!("the settings file {} cannot be read", path.display()))?;
            let all = |errors: Vec<String>| {
                errors
                    .iter()
                    .map(|error| format!("\n  {}: {error}", path.display()))
                    .collect::<String>()
            };
            Settings::parse(&text)
                .map_err(|errors| anyhow::anyhow!("the settings file has errors:{}", all(errors)))?
        }
    };
    if let Some(days) = arguments.window {
        settings.window_seconds = Settings::parse(&format!("window_days = {days:?}"))
            .map_err(|errors| anyhow::anyhow!("--window: {}", errors.join(", ")))?
            .window_seconds;
    }
    settings.reading = reading(arguments)?;
    settings.model = Some(model::load(arguments.model.as_deref())?);
    Ok(settings)
}

fn reading(arguments: &LogArgs) -> anyhow::Result<Reading> {
    let zone = zone(arguments)?;
    let at = |text: &Option<String>, otherwise: u32, flag: &'static str| match text {
        None => Ok(otherwise),
        Some(text) => moment(text, &zone).context(flag),
    };
    let span = at(&arguments.since, 0, "--since")?..at(&arguments.until, u32::MAX, "--until")?;
    if span.is_empty() {
        bail!("--since is not before --until, so no request could count");
    }
    anyhow::ensure!(
        arguments.trusted_proxy.is_empty()
            || arguments.source_field.is_some()
            || arguments.kb.is_some(),
        "--trusted-proxy says whose word is believed: name the field with that word, too (--source-field)"
    );
    let proxies = Proxies::new(&arguments.trusted_proxy)
        .map_err(anyhow::Error::msg)
        .context("--trusted-proxy")?;
    Ok(Reading {
        zone,
        proxies,
        span,
        by_host: arguments.by_host,
    })
}

fn zone(arguments: &LogArgs) -> anyhow::Result<TimeZone> {
    let Some(name) = &arguments.tz else {
        return Ok(TimeZone::UTC);
    };
    if name == "local" {
        return Ok(TimeZone::system());
    }
    let offset = || {
        DateTimeParser::new()
            .parse_time_zone(name)
            .or_else(|_| TimeZone::get(name))
    };
    offset().map_err(|_| {
        anyhow::anyhow!("--tz: there is no time zone '{name}'; give one like Europe/Vienna, +02:00, UTC or local")
    })
}

/// A point in time: a date, a date and a time, or so long before now.
fn moment(text: &str, zone: &TimeZone) -> anyhow::Result<u32> {
    if text.ends_with(['d', 'h'])
        && let Ok(days) = span_days(text)
    {
        let now = Timestamp::now().as_second();
        return Ok((now - (days * 86_400.0) as i64).clamp(0, i64::from(u32::MAX)) as u32);
    }
    let parser = DateTimeParser::new();
    let seconds = match parser.parse_timestamp(text) {
        Ok(timestamp) => timestamp.as_second(),
        Err(_) => parser
            .parse_datetime(text)
            .and_then(|civil| civil.to_zoned(zone.clone()))
            .map_err(|_| {
                anyhow::anyhow!(
                    "'{text}' is no time; give one like 2030-01-31, '2030-01-31 12:00' or 7d"
                )
            })?
            .timestamp()
            .as_second(),
    };
    u32::try_from(seconds).context("before 1970 or after 2100 there are no logs")
}

/// Room for a block: a buffer that came back, or a new one.
pub(crate) fn room(take_back: &Receiver<Vec<u8>>) -> Vec<u8> {
    take_back
        .try_recv()
        .unwrap_or_else(|_| vec![0; BLOCK_BYTES])
}

/// Reads the logs once more, and leaves what is done with them to `work`. Gives the analysis that it worked with.
pub(crate) fn read_again(
    arguments: &LogArgs,
    settings: Settings,
    mut work: impl FnMut(&mut Analysis, &[Block]) + Send,
) -> anyhow::Result<Analysis> {
    let again = LogArgs {
        quiet: true,
        ..arguments.clone()
    };
    let Prepared {
        plan,
        mut analysis,
        pool,
        ..
    } = prepare(&again, settings, false)?;
    check_pieces(&plan)?;
    let bar = progress_bar(plan.total_bytes, arguments);
    let progress = plan.progress.clone();
    pool.install(|| {
        let read = |room: Room<'_>, give: Give<'_>| plan.read(room, give);
        pump(read, &(bar, progress), |round| work(&mut analysis, round))
    });
    Ok(analysis)
}

/// Why each log could not be read was said when it was opened.
fn check_pieces(plan: &Plan) -> anyhow::Result<()> {
    anyhow::ensure!(!plan.pieces.is_empty(), "none of the logs could be read");
    Ok(())
}

/// Where a reader gets buffers, and where it puts the blocks that it made of them.
pub(crate) type Room<'a> = &'a mut dyn FnMut() -> Vec<u8>;
pub(crate) type Give<'a> = &'a mut dyn FnMut(Block) -> bool;

/// One thread reads and unpacks, the pool does the work. Buffers go round between them. At the end there is work with no blocks.
pub(crate) fn pump<T: Send>(
    read: impl FnOnce(Room<'_>, Give<'_>) -> T + Send,
    (bar, progress): &(ProgressBar, Progress),
    mut work: impl FnMut(&[Block]),
) -> T {
    let (give, take) = mpsc::sync_channel::<Block>(ROUND);
    let (give_back, take_back) = mpsc::channel::<Vec<u8>>();
    thread::scope(move |scope| {
        // Dropped when anything here panics: the reader must not wait for ever on a full channel.
        let take = take;
        let reader = scope.spawn(move || {
            read(&mut || room(&take_back), &mut |block| {
                give.send(block).is_ok()
            })
        });
        loop {
            let round: Vec<Block> = take.iter().take(ROUND).collect();
            work(&round);
            if round.is_empty() {
                break;
            }
            bar.set_position(progress.bytes());
            // The reader may have finished: then nobody wants the buffers back.
            round
                .into_iter()
                .for_each(|block| drop(give_back.send(block.buffer)));
        }
        bar.finish_and_clear();
        reader
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

pub(crate) fn progress_bar(total_bytes: u64, arguments: &LogArgs) -> ProgressBar {
    if arguments.quiet || !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let known = total_bytes > 0;
    let bar = if known {
        ProgressBar::new(total_bytes)
    } else {
        ProgressBar::new_spinner()
    };
    let template = if known {
        "{bar:40} {percent:>3} %  {bytes_per_sec}  {eta} left"
    } else {
        "{spinner} {bytes} {bytes_per_sec}"
    };
    bar.enable_steady_tick(Duration::from_millis(200));
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// A log that mostly could not be read would give a report about the rest, which nobody asked for. `misread` are logs that were read with
/// --format, which may be wrong.
pub(crate) fn check_readable(
    report: &Report,
    pieces: &[String],
    misread: &[String],
) -> anyhow::Result<()> {
    let lines = &report.lines;
    let unreadable = lines.unreadable();
    if unreadable * 2 <= lines.read - lines.blank {
        return Ok(());
    }
    let mut message = format!(
        "{unreadable} of {} lines could not be read, so the result would mean little:",
        lines.read - lines.blank
    );
    for skipped in lines
        .skipped
        .iter()
        .filter(|skipped| !skipped.reason.is_sound())
    {
        message += &format!(
            "\n  {:>9} {}: {}",
            skipped.count,
            skipped.reason.name(),
            skipped.reason
        );
        message += &format!(
            "\n            first at {}: {}",
            skipped.place_in(pieces),
            printable(&skipped.example)
        );
    }
    let suggestion = recognised(misread).or_else(|| {
        let example = lines.skipped.iter().max_by_key(|skipped| skipped.count)?;
        match cattlegrid_core::format::detect(&example.example) {
            cattlegrid_core::format::Detection::Found(format) => Some(format.name().to_owned()),
            _ => None,
        }
    });
    let suggestion = suggestion.map(|name| format!("\nThese lines look like --format {name}."));
    message += suggestion.as_deref().unwrap_or("\nGive the log's format with --format: the format string from the server's configuration, or a name (see --help).");
    bail!(message)
}

/// The format that is recognised in the logs, if it is one.
fn recognised(logs: &[String]) -> Option<String> {
    // Standard input is read already.
    let files: Vec<String> = logs.iter().filter(|log| *log != "-").cloned().collect();
    let plan = plan(&files, &Looking::default());
    match format_names(&plan).as_slice() {
        [name] => Some((*name).to_owned()),
        _ => None,
    }
}

/// The formats of the logs, each once.
fn format_names(plan: &Plan) -> Vec<&str> {
    let mut names: Vec<&str> = plan
        .pieces
        .iter()
        .map(|piece| piece.format.name())
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Behind a proxy every visitor has the proxy's address, and no verdict means anything.
pub(crate) fn say_crowd(report: &Report, arguments: &LogArgs) {
    if let (Some(sources), false) = (report.crowd(), arguments.quiet) {
        let they = match sources {
            1 => "1 address that shows".to_owned(),
            _ => format!("{sources} addresses that each show"),
        };
        let _ = writeln!(
            io::stderr(),
            "cattlegrid: most requests come from {they} many user agents, as behind a CDN or proxy. If so, let the server log the \
             real client, or name the field that has it: --source-field X-Forwarded-For --trusted-proxy NETWORK"
        );
    }
}

/// Asked for hosts in a log that names none, the answer is one host without a name.
fn say_no_host(report: &Report, arguments: &LogArgs) {
    let is_named = report.hosts.iter().any(HostReport::is_named);
    if arguments.by_host && !arguments.quiet && !is_named {
        let _ = writeln!(
            io::stderr(),
            "cattlegrid: --by-host has no effect: no line of the log names its host. Log it (%v in Apache, $server_name in nginx), \
             or name its field with --format"
        );
    }
}

/// Says which formats were found: a wrong guess must be seen.
fn say_formats(plan: &Plan, arguments: &LogArgs) {
    if arguments.quiet || arguments.format.is_some() {
        return;
    }
    let names = format_names(plan);
    let files = if plan.pieces.len() == 1 {
        "1 log".to_owned()
    } else {
        format!("{} logs", plan.pieces.len())
    };
    let _ = writeln!(
        io::stderr(),
        "reading {files}, format {} (recognised; --format sets it)",
        names.join(" and ")
    );
}

pub(crate) fn say_problems(problems: &[Problem]) {
    for problem in problems {
        let _ = writeln!(
            io::stderr(),
            "cattlegrid: {} {}",
            printable(problem.name.as_bytes()),
            problem.what
        );
    }
}
