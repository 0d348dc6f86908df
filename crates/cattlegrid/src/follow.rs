//! `analyze --follow`: the same report again and again while the log grows.

use std::io;
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc;
use std::sync::mpsc::Receiver;
use std::sync::mpsc::Sender;
use std::thread;

use anyhow::Context;
use anyhow::bail;
use cattlegrid_core::Analysis;
use cattlegrid_core::Report;
use cattlegrid_core::analysis::Block;
use cattlegrid_core::policy::Limits;
use cattlegrid_core::profile::BIN_SECONDS;
use cattlegrid_core::text::printable;
use cattlegrid_input::Event;
use cattlegrid_report::Told;
use signal_hook::consts::SIGINT;
use signal_hook::consts::SIGTERM;

use crate::cli::AnalyzeArgs;
use crate::kb;
use crate::logs;
use crate::logs::Prepared;
use crate::logs::ROUND;
use crate::reports;

/// Judges what is there, then again after every half hour of the log's time, until a signal ends it.
pub(crate) fn run(
    arguments: &AnalyzeArgs,
    prepared: Prepared,
    limits: Limits,
) -> anyhow::Result<ExitCode> {
    let Prepared {
        plan,
        analysis,
        looking,
        pool,
        pieces,
    } = prepared;
    if !plan.can_follow() {
        bail!(
            "none of these logs can be followed: name the file that the server writes to, not packed or rotated away"
        );
    }
    let lost_before = logs::is_loss(&plan.problems);
    let stop = stop_by_signal()?;
    let (give, take) = mpsc::sync_channel::<Event>(ROUND);
    let (give_back, take_back) = mpsc::channel::<Vec<u8>>();
    let reader = thread::spawn(move || {
        plan.follow(
            || logs::room(&take_back),
            |event| give.send(event).is_ok(),
            &looking,
            &stop,
        )
    });
    let mut follower = Follower {
        arguments,
        analysis,
        pieces,
        told: Told::default(),
        judged: None,
        limits,
    };
    pool.install(|| follower.take(take, give_back))?;
    let problems = reader
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    logs::say_problems(&problems);
    let report = pool.install(|| follower.finish())?;
    Ok(reports::exit_code(
        &report,
        arguments,
        lost_before || logs::is_loss(&problems),
    ))
}

/// Set by the first signal to end; the second ends at once.
fn stop_by_signal() -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 2, Arc::clone(&stop))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&stop)))
            .context("signals cannot be waited for")?;
    }
    Ok(stop)
}

struct Follower<'a> {
    arguments: &'a AnalyzeArgs,
    analysis: Analysis,
    pieces: Vec<String>,
    told: Told,
    /// Time of the log up to which it was judged; `None` until all that was there has been read.
    judged: Option<u32>,
    /// How long entries of the knowledge base last.
    limits: Limits,
}

impl Follower<'_> {
    /// Takes in what the reader brings, until it ends.
    fn take(&mut self, take: Receiver<Event>, give_back: Sender<Vec<u8>>) -> anyhow::Result<()> {
        while let Ok(first) = take.recv() {
            let mut blocks = Vec::new();
            let mut caught_up = false;
            for event in std::iter::once(first).chain(take.try_iter().take(ROUND - 1)) {
                match event {
                    Event::Block(block) => blocks.push(block),
                    Event::CaughtUp => caught_up = true,
                    Event::Found(name, format) => {
                        self.note(&format!("reading {name}, format {}", format.name()));
                        self.pieces.push(name);
                    }
                    Event::Note(note) => self.note(&note),
                }
            }
            self.observe(blocks, &give_back);
            if caught_up || self.judged.is_some() {
                self.analysis.settle();
            }
            if caught_up {
                self.begin()?;
            }
            self.judge_when_due()?;
        }
        Ok(())
    }

    fn observe(&mut self, blocks: Vec<Block>, give_back: &Sender<Vec<u8>>) {
        self.analysis.observe(&blocks);
        // The reader may have finished: then nobody wants the buffers back.
        blocks
            .into_iter()
            .for_each(|block| drop(give_back.send(block.buffer)));
    }

    /// The first report: what was there when following began.
    fn begin(&mut self) -> anyhow::Result<()> {
        let report = self.analysis.judge();
        logs::check_readable(&report, &self.pieces, &[])?;
        logs::say_crowd(&report, &self.arguments.log);
        reports::write(&report, self.arguments, self.pieces.clone())?;
        self.learn(&report)?;
        self.told.tell(&report);
        self.judged = Some(self.analysis.last_time().unwrap_or(0));
        self.note("following; changed verdicts are shown here, Ctrl-C ends it");
        Ok(())
    }

    fn judge_when_due(&mut self) -> anyhow::Result<()> {
        let (Some(judged), Some(now)) = (self.judged, self.analysis.last_time()) else {
            return Ok(());
        };
        if now < judged.saturating_add(BIN_SECONDS) {
            return Ok(());
        }
        self.judged = Some(now);
        self.analysis.forget_old_windows();
        let report = self.analysis.judge();
        publish(&report, self.arguments, &mut self.told)?;
        self.learn(&report)
    }

    /// Brings the knowledge base up to what was found; from then on its refusals are no evidence.
    fn learn(&mut self, report: &Report) -> anyhow::Result<()> {
        kb::update(report, self.arguments, &self.limits)?;
        if let Some(path) = &self.arguments.log.kb
            && let Some(standing) = kb::standing(path, &self.analysis)?
        {
            self.analysis.set_standing(standing);
        }
        Ok(())
    }

    /// The last report.
    fn finish(mut self) -> anyhow::Result<Report> {
        let report = self.analysis.finish();
        publish(&report, self.arguments, &mut self.told)?;
        kb::update(&report, self.arguments, &self.limits)?;
        Ok(report)
    }

    fn note(&self, what: &str) {
        if !self.arguments.log.quiet {
            let _ = writeln!(io::stderr(), "cattlegrid: {}", printable(what.as_bytes()));
        }
    }
}

/// Replaces the files and shows what changed.
fn publish(report: &Report, arguments: &AnalyzeArgs, told: &mut Told) -> anyhow::Result<()> {
    reports::write_files(report, arguments)?;
    if !arguments.log.quiet {
        told.write_changes(report, &mut io::stdout().lock())?;
    }
    Ok(())
}
