//! `analyze`: logs in, verdicts out.

use std::fs::File;
use std::io;
use std::io::IsTerminal;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::Context;
use anyhow::bail;
use cattlegrid_core::Analysis;
use cattlegrid_core::Report;
use cattlegrid_core::Settings;
use cattlegrid_core::analysis::Block;
use cattlegrid_core::format::Format;
use cattlegrid_core::knowledge::Knowledge;
use cattlegrid_core::knowledge::RobotList;
use cattlegrid_core::text::printable;
use cattlegrid_core::verdict::Class;
use cattlegrid_input::BLOCK_BYTES;
use cattlegrid_input::Plan;
use cattlegrid_input::Problem;
use cattlegrid_input::plan;
use cattlegrid_report::TextOptions;
use cattlegrid_report::write_json;
use cattlegrid_report::write_text;
use indicatif::ProgressBar;
use indicatif::ProgressStyle;

use crate::cli::AnalyzeArgs;
use crate::cli::FailOn;

/// The list of robots is part of the program.
const ROBOTS: &str = include_str!("../../../data/crawler-user-agents.json");

/// Blocks that are parsed and folded together: enough to keep threads busy, few enough to stay small.
const ROUND: usize = 16;

pub(crate) fn run(arguments: &AnalyzeArgs) -> anyhow::Result<ExitCode> {
    let settings = settings(arguments)?;
    let format = arguments
        .format
        .as_deref()
        .map(Format::parse)
        .transpose()
        .map_err(anyhow::Error::msg)
        .context("--format")?;
    let knowledge = Knowledge {
        robots: RobotList::from_json(ROBOTS).map_err(anyhow::Error::msg)?,
    };
    let analysis = Analysis::new(settings, knowledge).map_err(anyhow::Error::msg)?;
    let plan = plan(&arguments.logs, format.as_ref());
    say_problems(&plan.problems);
    if plan.pieces.is_empty() {
        bail!("none of the logs could be read");
    }
    let pieces: Vec<String> = plan.pieces.iter().map(|piece| piece.name.clone()).collect();
    say_formats(&plan, arguments);
    let threads = arguments.threads.map_or(0, usize::from);
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .context("the threads could not be started")?;
    let lost_before = plan.problems.iter().any(|problem| problem.is_loss);
    let (report, problems) = pool.install(|| read(plan, analysis, arguments));
    say_problems(&problems);
    check_readable(&report, &pieces)?;
    write(&report, arguments, pieces)?;
    let failed = arguments
        .fail_on
        .is_some_and(|class| report.total(class.class()).sources > 0);
    Ok(
        match (
            failed,
            lost_before || problems.iter().any(|problem| problem.is_loss),
        ) {
            (_, true) => ExitCode::from(2),
            (true, false) => ExitCode::from(1),
            (false, false) => ExitCode::SUCCESS,
        },
    )
}

fn settings(arguments: &AnalyzeArgs) -> anyhow::Result<Settings> {
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
    if let Some(requests) = arguments.min_requests {
        settings.min_requests = requests;
    }
    Ok(settings)
}

/// One thread reads and unpacks, the pool parses, folds and judges. Buffers go round between them.
fn read(plan: Plan, mut analysis: Analysis, arguments: &AnalyzeArgs) -> (Report, Vec<Problem>) {
    let bar = progress_bar(&plan, arguments);
    let (give, take) = mpsc::sync_channel::<Block>(ROUND);
    let (give_back, take_back) = mpsc::channel::<Vec<u8>>();
    thread::scope(move |scope| {
        // Dropped when anything here panics: the reader must not wait for ever on a full channel.
        let take = take;
        let progress = plan.progress.clone();
        let reader = scope.spawn(move || {
            let room = || {
                take_back
                    .try_recv()
                    .unwrap_or_else(|_| vec![0; BLOCK_BYTES])
            };
            plan.read(room, |block| give.send(block).is_ok())
        });
        loop {
            let round: Vec<Block> = take.iter().take(ROUND).collect();
            if round.is_empty() {
                break;
            }
            analysis.observe(&round);
            bar.set_position(progress.bytes());
            // The reader may have finished: then nobody wants the buffers back.
            round
                .into_iter()
                .for_each(|block| drop(give_back.send(block.buffer)));
        }
        bar.finish_and_clear();
        let problems = reader
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (analysis.finish(), problems)
    })
}

fn progress_bar(plan: &Plan, arguments: &AnalyzeArgs) -> ProgressBar {
    if arguments.quiet || !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let known = plan.total_bytes > 0;
    let bar = if known {
        ProgressBar::new(plan.total_bytes)
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

/// A log that mostly could not be read would give a report about the rest, which nobody asked for.
fn check_readable(report: &Report, pieces: &[String]) -> anyhow::Result<()> {
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
        let piece = pieces
            .get(skipped.place.0 as usize)
            .map_or("", String::as_str);
        let place = if skipped.place.1 == 0 {
            piece.to_owned()
        } else {
            format!("{piece}:{}", skipped.place.1)
        };
        message += &format!(
            "\n  {:>9} {}: {}",
            skipped.count,
            skipped.reason.name(),
            skipped.reason
        );
        message += &format!(
            "\n            first at {}: {}",
            printable(place.as_bytes()),
            printable(&skipped.example)
        );
    }
    let example = lines
        .skipped
        .iter()
        .max_by_key(|skipped| skipped.count)
        .map(|skipped| &skipped.example);
    let suggestion = example.and_then(|line| match cattlegrid_core::format::detect(line) {
        cattlegrid_core::format::Detection::Found(format) => Some(format!(
            "\nThese lines look like --format {}.",
            format.name()
        )),
        _ => None,
    });
    message += suggestion.as_deref().unwrap_or("\nGive the log's format with --format: the format string from the server's configuration, or a name (see --help).");
    bail!(message)
}

fn write(report: &Report, arguments: &AnalyzeArgs, pieces: Vec<String>) -> anyhow::Result<()> {
    let to_stdout = arguments.json.as_deref() == Some(Path::new("-"));
    match &arguments.json {
        Some(_) if to_stdout => write_json(report, &mut io::stdout().lock())?,
        Some(path) => write_file(report, path)?,
        None => {}
    }
    if arguments.quiet || to_stdout {
        return Ok(());
    }
    let options = TextOptions {
        top: arguments.top,
        width: 110,
        pieces,
    };
    write_text(report, &options, &mut io::stdout().lock())?;
    Ok(())
}

/// A report is whole or not there: it takes its name only once it lies on the disk.
fn write_file(report: &Report, path: &Path) -> anyhow::Result<()> {
    let failed = || format!("{} cannot be written", path.display());
    // A device or a pipe has no half-written state to hide, and must not be replaced by a file.
    if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
        let mut file = File::options()
            .write(true)
            .open(path)
            .with_context(failed)?;
        return write_json(report, &mut file).with_context(failed);
    }
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let part = Path::new(&name);
    let written = File::create(part).and_then(|mut file| {
        write_json(report, &mut file)?;
        file.sync_all()
    });
    written
        .and_then(|()| std::fs::rename(part, path))
        .with_context(failed)
        .inspect_err(|_| drop(std::fs::remove_file(part)))
}

/// Says which formats were found: a wrong guess must be seen.
fn say_formats(plan: &Plan, arguments: &AnalyzeArgs) {
    if arguments.quiet || arguments.format.is_some() {
        return;
    }
    let mut names: Vec<&str> = plan
        .pieces
        .iter()
        .map(|piece| piece.format.name())
        .collect();
    names.sort_unstable();
    names.dedup();
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

fn say_problems(problems: &[Problem]) {
    for problem in problems {
        let _ = writeln!(
            io::stderr(),
            "cattlegrid: {} {}",
            printable(problem.name.as_bytes()),
            problem.what
        );
    }
}

impl FailOn {
    fn class(self) -> Class {
        match self {
            FailOn::Crawler => Class::Crawler,
            FailOn::Automated => Class::Automated,
            FailOn::Undecided => Class::Undecided,
        }
    }
}
