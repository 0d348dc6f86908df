//! The logs read a second time, once the first reading has told who is who. Standard input can be read twice, too: it is kept.

use cattlegrid_core::Analysis;
use cattlegrid_core::Settings;
use cattlegrid_core::analysis::Block;
use cattlegrid_core::analysis::KeptRequests;
use cattlegrid_core::analysis::PanelSums;
use cattlegrid_core::analysis::SecondLook;
use cattlegrid_core::analysis::Seen;
use cattlegrid_core::analysis::View;
use cattlegrid_core::profile::Record;
use cattlegrid_core::settings::Keep;
use cattlegrid_input::Again;
use cattlegrid_input::Plan;
use indicatif::ProgressBar;
use rayon::ThreadPool;

use crate::cli::LogArgs;
use crate::logs;
use crate::logs::Give;
use crate::logs::Read;
use crate::logs::Room;

/// Rounds of blocks that are counted before parts of a result are added up. The more rounds, the fewer texts are new to a part; all parts
/// together hold at most the texts of these blocks.
const ROUNDS_GATHERED: usize = 8;

/// Bytes of requests that are kept instead of reading a log again: about sixteen million.
const REQUESTS_MAX: usize = 1 << 29;

/// Logs that were read once.
pub(crate) struct Second {
    again: Again,
    pool: ThreadPool,
    bar: ProgressBar,
}

/// Reads and judges the logs so that every request can be looked at again, with the verdict on its source.
pub(crate) fn read(
    arguments: &LogArgs,
    mut settings: Settings,
) -> anyhow::Result<(Read, SecondLook, Second)> {
    settings.second_look = true;
    let finish = Analysis::finish_for_look;
    let (read, look, again, pool) =
        logs::read_with(arguments, settings, take, Analysis::observe, finish)?;
    Ok((read, look, Second::new(again, pool, arguments)))
}

/// Reads and judges the logs, and counts what people asked for: in what was kept, or in the logs once more.
pub(crate) fn read_panels(arguments: &LogArgs, mut settings: Settings) -> anyhow::Result<Read> {
    settings.keep = Keep::Requests(REQUESTS_MAX);
    let (mut read, mut look, mut second) = self::read(arguments, settings)?;
    let plan = look.plan_panels(&read.report);
    let mut panels = PanelSums::default();
    match look.take_requests() {
        // In threads of the first reading, which have room left from it.
        Some(mut kept) => second
            .pool
            .install(|| panels.count(&mut kept, &look, &plan)),
        None => second.gather(&mut look, KeptRequests::see, |kept, look| {
            panels.count(kept, look, &plan);
        })?,
    }
    read.report.panels = Some(Box::new(panels.finish(&plan)));
    Ok(read)
}

/// Reads and judges the logs, and gives what is needed to read them again.
pub(crate) fn read_plain(
    arguments: &LogArgs,
    settings: Settings,
) -> anyhow::Result<(Read, Second)> {
    let finish = |analysis: Analysis| (analysis.finish(), ());
    let (read, (), again, pool) =
        logs::read_with(arguments, settings, take, Analysis::observe, finish)?;
    Ok((read, Second::new(again, pool, arguments)))
}

/// Reads and judges the logs, and once more to tell apart who shares a source.
pub(crate) fn read_hidden(arguments: &LogArgs, settings: Settings) -> anyhow::Result<Read> {
    let finish = Analysis::finish_first_reading;
    let (mut read, hidden, again, pool) =
        logs::read_with(arguments, settings, take, Analysis::observe, finish)?;
    if let Some(mut hidden) = hidden {
        let mut second = Second::new(again, pool, arguments);
        second.replay(arguments, |record| hidden.observe(record))?;
        hidden.finish(&mut read.report);
    }
    Ok(read)
}

fn take(plan: Plan, room: Room<'_>, give: Give<'_>) -> (Vec<cattlegrid_input::Problem>, Again) {
    plan.read_first(room, give)
}

impl Second {
    fn new(again: Again, pool: ThreadPool, arguments: &LogArgs) -> Second {
        let bar = logs::progress_bar(again.total_bytes, arguments);
        Second { again, pool, bar }
    }

    /// Gives every request to `each`, in several threads, with the part of the result that its block of lines makes; and these parts to
    /// `absorb`, in the order of the log. So the result is the same whatever the number of threads.
    pub(crate) fn look<Part: Default + Send>(
        &mut self,
        look: &mut SecondLook,
        each: impl Fn(&mut Part, &Seen<'_>) + Sync,
        mut absorb: impl FnMut(Vec<Part>) + Send,
    ) -> anyhow::Result<()> {
        self.pump(|blocks| absorb(look.look(blocks, &each)))
    }

    /// The same for a result that does not depend on the order of requests. `absorb` takes what all parts have counted since the last time.
    pub(crate) fn gather<Part: Default + Send>(
        &mut self,
        look: &mut SecondLook,
        each: impl Fn(&mut Part, &Seen<'_>) + Sync,
        mut absorb: impl FnMut(&mut [Part], &SecondLook) + Send,
    ) -> anyhow::Result<()> {
        let (mut parts, mut rounds) = (Vec::new(), 0);
        self.pump(|blocks| {
            look.gather(blocks, &mut parts, &each);
            rounds += 1;
            if rounds == ROUNDS_GATHERED || blocks.is_empty() {
                rounds = 0;
                absorb(&mut parts, look);
            }
        })
    }

    /// Gives all page views to `each`, in any order, where the first reading has kept them: false where it has not.
    pub(crate) fn count_views(&self, look: &mut SecondLook, each: impl FnMut(View) + Send) -> bool {
        // In a thread of the first reading, which has room left from it.
        self.pool.install(|| look.count_views(each))
    }

    /// Gives every request to `each`, one by one in the order of time.
    pub(crate) fn replay(
        &mut self,
        arguments: &LogArgs,
        mut each: impl FnMut(&Record) + Send,
    ) -> anyhow::Result<()> {
        // What there is to say was said the first time.
        let quiet = LogArgs {
            quiet: true,
            ..arguments.clone()
        };
        let mut analysis = logs::analysis(&quiet, logs::settings(&quiet)?)?;
        self.pump(|blocks| analysis.replay(blocks, &mut each))
    }

    fn pump(&mut self, work: impl FnMut(&[Block]) + Send) -> anyhow::Result<()> {
        let again = &mut self.again;
        let shown = (self.bar.clone(), again.progress.clone());
        let read = |room: Room<'_>, give: Give<'_>| again.read(room, give);
        self.pool
            .install(|| logs::pump(read, &shown, work))
            .map_err(|problem| anyhow::anyhow!("{} {}", problem.name, problem.what))
    }
}
