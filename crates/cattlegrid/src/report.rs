//! `report`: page views, visitors and visits of people, after robots are removed in two steps.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::io::BufWriter;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use anyhow::bail;
use anyhow::ensure;
use cattlegrid_core::Report;
use cattlegrid_core::Settings;
use cattlegrid_core::analysis::SecondLook;
use cattlegrid_core::request::Source;
use cattlegrid_core::settings::Keep;
use cattlegrid_core::text::printable;
use cattlegrid_report::usage::Baseline;
use cattlegrid_report::usage::Beside;
use cattlegrid_report::usage::CounterRules;
use cattlegrid_report::usage::Counting;
use cattlegrid_report::usage::Steps;
use cattlegrid_report::usage::Usage;
use cattlegrid_report::usage::UsageOptions;
use cattlegrid_report::usage::Views;
use cattlegrid_report::usage::Word;
use cattlegrid_report::usage::write_usage;
use cattlegrid_report::usage::write_usage_html;
use cattlegrid_report::usage::write_usage_json;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::cli::LogArgs;
use crate::cli::ReportArgs;
use crate::cli::SimulateArgs;
use crate::files::is_stdout;
use crate::files::without_mark;
use crate::files::write_whole;
use crate::labelled::Truthful;
use crate::labelled::read_labels;
use crate::lists;
use crate::logs;
use crate::second;
use crate::second::Second;
use crate::simulate;

pub(crate) fn run(arguments: &ReportArgs) -> anyhow::Result<ExitCode> {
    let Some(world) = arguments
        .log
        .logs
        .iter()
        .find_map(|log| log.strip_prefix("world:"))
    else {
        return of_log(arguments, &arguments.log, arguments.labels.as_deref());
    };
    ensure!(
        arguments.log.logs.len() == 1 && arguments.labels.is_none(),
        "a world comes alone, and brings its own labels"
    );
    let folder = Folder::new()?;
    simulate::run(&simulated(world, &folder.0)?)?;
    let log = LogArgs {
        logs: vec![folder.0.join("access.log").display().to_string()],
        ..arguments.log.clone()
    };
    of_log(arguments, &log, Some(&folder.0.join("labels.csv")))
}

fn simulated(world: &str, folder: &Path) -> anyhow::Result<SimulateArgs> {
    let (name, seed) = world.split_once(':').unwrap_or((world, "1"));
    let seed = seed.parse().with_context(|| {
        format!("'world:{world}' should be world:NAME:SEED, like world:midsize:91")
    })?;
    Ok(SimulateArgs {
        world: name.to_owned(),
        seed,
        out: folder.to_owned(),
        common: false,
        quiet: true,
    })
}

/// A folder that is gone when the program ends.
struct Folder(PathBuf);

impl Folder {
    fn new() -> anyhow::Result<Folder> {
        let path = std::env::temp_dir().join(format!("cattlegrid-world-{}", std::process::id()));
        std::fs::create_dir(&path)
            .with_context(|| format!("the folder {} cannot be made", path.display()))?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn of_log(
    arguments: &ReportArgs,
    log: &LogArgs,
    labels: Option<&Path>,
) -> anyhow::Result<ExitCode> {
    let mut settings = logs::settings(log)?;
    // The heaviest are described by what the report lists.
    settings.min_requests = settings.min_requests.min(20);
    ensure!(
        !arguments.counter || !settings.counter.is_empty(),
        "--counter: which requests are usage of items must be known: give patterns in the settings file, [counter] ('cattlegrid config show')"
    );
    let words = arguments
        .judged
        .as_deref()
        .map(judged)
        .transpose()?
        .unwrap_or_default();
    let labels = labels.map(truth).transpose()?;
    let baseline = arguments.baseline.as_deref().map(baseline).transpose()?;
    let job = Job::new(arguments, &settings)?;
    if !arguments.counter && arguments.write_human_log.is_none() {
        settings.keep = Keep::Views(VIEWS_MAX);
    }
    let (read, mut look, mut second) = second::read(log, settings)?;
    let first = read.report.span.unwrap_or_default().0;
    let (words, labels) = (
        by_source(words, &look),
        labels.map(|labels| by_source(labels, &look)),
    );
    if let Some([one, other]) = &words.contradicting {
        bail!(
            "--judged: '{}' and '{}' name one source, and the judgements contradict each other; remove one of them",
            printable(one.as_bytes()),
            printable(other.as_bytes())
        );
    }
    let steps = Steps::new(&look, first, words.what);
    let beside = Beside {
        truth: labels.map(|labels| labels.what),
        baseline,
    };
    let mut usage = job.count(&mut look, &mut second, &steps, &read.report, &beside)?;
    if !log.quiet {
        say_unknown(&words.names, &look);
    }
    match (&beside.truth, &arguments.labels) {
        (Some(truth), Some(_)) => {
            let mut sources = look.judged().iter();
            ensure!(
                sources.any(|(source, _)| truth.contains_key(&source)),
                "--labels: none of its sources is in the log"
            );
        }
        // Of a simulated world everything is known.
        (Some(_), None) if usage.comparison.is_none() => {
            usage.comparison = Some(Baseline::simulated(&usage).compare(&usage, &job.options.zone));
        }
        _ => {}
    }
    write(&usage, arguments)?;
    Ok(ExitCode::from(if read.is_incomplete { 2 } else { 0 }))
}

/// What was said of sources, which may have several names: those of one /64 of IPv6 are one source.
struct Said<T> {
    what: BTreeMap<Source, T>,
    names: BTreeMap<Source, String>,
    /// Names of a source of which two things were said. Then nothing was said of it.
    contradicting: Option<[String; 2]>,
}

fn by_source<T: PartialEq>(said: BTreeMap<String, T>, look: &SecondLook) -> Said<T> {
    let (mut what, mut names) = (BTreeMap::new(), BTreeMap::new());
    let mut contradicting = BTreeMap::new();
    for (name, of_it) in said {
        let source = look.source(&name);
        if what.get(&source).is_some_and(|before| *before != of_it) {
            contradicting.insert(source, name);
        } else {
            what.insert(source, of_it);
            names.insert(source, name);
        }
    }
    for source in contradicting.keys() {
        what.remove(source);
    }
    let mut pairs = contradicting.into_iter();
    let pairs = pairs.find_map(|(source, other)| Some([names.get(&source)?.clone(), other]));
    Said {
        what,
        names,
        contradicting: pairs,
    }
}

/// Judged sources that are not in the log: so many are listed.
const UNKNOWN_MAX: usize = 5;

/// A judgement that changes nothing may be misspelt.
fn say_unknown(names: &BTreeMap<Source, String>, look: &SecondLook) {
    let known: BTreeSet<Source> = look.judged().iter().map(|(source, _)| source).collect();
    let unknown = names.iter().filter(|(source, _)| !known.contains(source));
    let unknown: Vec<String> = unknown
        .map(|(_, name)| printable(name.as_bytes()))
        .collect();
    if unknown.is_empty() {
        return;
    }
    let rest = match unknown.len().saturating_sub(UNKNOWN_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let shown = &unknown[..unknown.len().min(UNKNOWN_MAX)];
    let _ = writeln!(
        io::stderr(),
        "cattlegrid: --judged: {} of {} sources are not in the log: {}{rest}. Write sources exactly as the report prints them",
        unknown.len(),
        names.len(),
        shown.join(", ")
    );
}

/// Bytes of page views that are kept instead of reading the log again: sixteen million.
const VIEWS_MAX: usize = 1 << 28;

/// What the second look does.
struct Job<'a> {
    arguments: &'a ReportArgs,
    options: UsageOptions,
    counter: Option<CounterRules>,
}

/// What one block of lines adds.
#[derive(Default)]
struct Part {
    views: Vec<(Source, u32)>,
    calls: Vec<(Source, usize)>,
    lines: Vec<u8>,
    counting: Counting,
}

impl<'a> Job<'a> {
    fn new(arguments: &'a ReportArgs, settings: &Settings) -> anyhow::Result<Job<'a>> {
        let counter = match arguments.counter {
            true => Some(CounterRules {
                items: settings.counter.clone(),
                robots: lists::counter_robots()?,
            }),
            false => None,
        };
        Ok(Job {
            arguments,
            options: UsageOptions {
                zone: settings.reading.zone.clone(),
                silence: settings.visit_silence,
                heaviest: usize::from(arguments.heaviest),
                crawler_from: settings.weights.crawler_from,
            },
            counter,
        })
    }

    /// Counts everything, and writes the log of people on the way.
    fn count(
        &self,
        look: &mut SecondLook,
        second: &mut Second,
        steps: &Steps,
        report: &Report,
        beside: &Beside,
    ) -> anyhow::Result<Usage> {
        let mut views = Views::new(self.options.clone());
        let mut counting = Counting::default();
        let Some(path) = &self.arguments.write_human_log else {
            let is_counted = second.count_views(look, |view| match view.call {
                None => views.add(view.source, view.time),
                Some(call) => views.add_call(view.source, call),
            });
            if !is_counted {
                let counts = (&mut views, &mut counting);
                self.look(look, second, steps, counts, &mut io::sink())?;
            }
            return Ok(self.finish(views, counting, report, look, steps, beside));
        };
        let state = RefCell::new((&mut views, &mut counting, look, second));
        let failed = RefCell::new(None);
        let written = write_whole(path, |file| {
            let (views, counting, look, second) = &mut *state.borrow_mut();
            let lines = BufWriter::with_capacity(1 << 16, file);
            let done = match path.extension().is_some_and(|ending| ending == "gz") {
                false => {
                    let mut lines = lines;
                    let done = self.look(look, second, steps, (views, counting), &mut lines);
                    lines.flush()?;
                    done
                }
                true => {
                    let mut packed = GzEncoder::new(lines, Compression::default());
                    let done = self.look(look, second, steps, (views, counting), &mut packed);
                    packed.finish()?.flush()?;
                    done
                }
            };
            done.map_err(|error| {
                *failed.borrow_mut() = Some(error);
                io::Error::other("see above")
            })
        });
        if let Some(error) = failed.into_inner() {
            return Err(error);
        }
        written?;
        let (_, _, look, _) = state.into_inner();
        Ok(self.finish(views, counting, report, look, steps, beside))
    }

    /// Reads everything once more.
    fn look(
        &self,
        look: &mut SecondLook,
        second: &mut Second,
        steps: &Steps,
        (views, counting): (&mut Views, &mut Counting),
        lines: &mut (impl Write + Send),
    ) -> anyhow::Result<()> {
        let is_written = self.arguments.write_human_log.is_some();
        let mut failed = Ok(());
        second.look(
            look,
            |part: &mut Part, seen| {
                if seen.is_view() {
                    part.views.push((seen.glance.source, seen.request.time));
                }
                part.calls
                    .extend(seen.call.map(|call| (seen.glance.source, call)));
                if (is_written || self.counter.is_some())
                    && let Some(judged) = seen.judged()
                    && steps.of(seen.glance.source, judged).is_kept()
                {
                    if is_written {
                        part.lines.extend_from_slice(seen.line);
                    }
                    if let Some(rules) = &self.counter {
                        part.counting.observe(seen, rules);
                    }
                }
            },
            |parts| {
                for part in parts {
                    part.views
                        .iter()
                        .for_each(|(source, time)| views.add(*source, *time));
                    part.calls
                        .iter()
                        .for_each(|(source, call)| views.add_call(*source, *call));
                    counting.absorb(part.counting);
                    if failed.is_ok() {
                        failed = lines.write_all(&part.lines);
                    }
                }
            },
        )?;
        failed.context("the log of people cannot be written")
    }

    fn finish(
        &self,
        views: Views,
        counting: Counting,
        report: &Report,
        look: &SecondLook,
        steps: &Steps,
        beside: &Beside,
    ) -> Usage {
        let usage = views.finish(report, look, steps, beside);
        Usage {
            counter: self
                .counter
                .as_ref()
                .map(|_| counting.finish(&self.options.zone)),
            ..usage
        }
    }
}

fn write(usage: &Usage, arguments: &ReportArgs) -> anyhow::Result<()> {
    if let Some(path) = &arguments.html {
        write_whole(path, |file| write_usage_html(usage, file))?;
    }
    match &arguments.json {
        Some(path) if is_stdout(path) => write_usage_json(usage, &mut io::stdout().lock())?,
        other => {
            if let Some(path) = other {
                write_whole(path, |file: &mut File| write_usage_json(usage, file))?;
            }
            if !arguments.log.quiet {
                write_usage(usage, &mut io::stdout().lock())?;
            }
        }
    }
    Ok(())
}

fn text_of(path: &Path, flag: &str) -> anyhow::Result<String> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("{flag}: {} cannot be read", path.display()))?;
    Ok(without_mark(text))
}

fn baseline(path: &Path) -> anyhow::Result<Baseline> {
    let text = text_of(path, "--baseline")?;
    Baseline::parse(&text).map_err(|what| anyhow::anyhow!("--baseline: {}: {what}", path.display()))
}

/// Judgements of a person: `SOURCE,crawler` or `SOURCE,person`, and anything behind that.
fn judged(path: &Path) -> anyhow::Result<BTreeMap<String, Word>> {
    let mut words = BTreeMap::new();
    for (number, line) in (1..).zip(text_of(path, "--judged")?.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') || line == "source,verdict" {
            continue;
        }
        let mut fields = line.split(',').map(str::trim);
        let word = match (fields.next(), fields.next()) {
            (Some(source), Some("crawler")) => (source, Word::Crawler),
            (Some(source), Some("person")) => (source, Word::Person),
            _ => bail!(
                "--judged: {}: line {number}: '{line}' should be SOURCE,crawler or SOURCE,person",
                path.display()
            ),
        };
        let before = words.insert(word.0.to_owned(), word.1);
        ensure!(
            before.is_none_or(|before| before == word.1),
            "--judged: {}: line {number}: '{}' contradicts an earlier line; remove one of them",
            path.display(),
            printable(word.0.as_bytes())
        );
    }
    ensure!(
        !words.is_empty(),
        "--judged: {} is empty; it needs lines like SOURCE,crawler or SOURCE,person",
        path.display()
    );
    Ok(words)
}

/// What sources are: true for people.
fn truth(path: &Path) -> anyhow::Result<BTreeMap<String, bool>> {
    let labels = read_labels(path).context("--labels")?;
    let is_person = |(source, known): (String, Truthful)| (source, known.label == "user");
    Ok(labels.into_iter().map(is_person).collect())
}
