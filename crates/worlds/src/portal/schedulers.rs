//! What starts and stops a crawler's loop: cron, quotas, windows, tables, and people who operate it by hand.

use crate::random::Random;

use super::crawl::END_S;
use super::crawl::Loop;
use super::crawl::Pause;
use super::crawl::Run;
use super::setting::Setting;
use super::setting::any_country;
use super::setting::local_midnight;
use super::site::DAYS;

/// What starts and stops the loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scheduler {
    Always,
    Night,
    Office,
    Quota,
    Cron,
    Spells,
    Table,
}

impl Scheduler {
    pub(super) fn kind(self) -> &'static str {
        match self {
            Scheduler::Always => "steady loop",
            Scheduler::Night => "night window",
            Scheduler::Office => "operated by hand",
            Scheduler::Quota => "daily quota",
            Scheduler::Cron => "cron batches",
            Scheduler::Spells => "spells and pauses",
            Scheduler::Table => "hourly table",
        }
    }

    pub(super) fn draw(random: &mut Random) -> Scheduler {
        match random.below(100) {
            0..26 => Scheduler::Always,
            26..38 => Scheduler::Night,
            38..52 => Scheduler::Office,
            52..66 => Scheduler::Quota,
            66..80 => Scheduler::Cron,
            80..92 => Scheduler::Spells,
            _ => Scheduler::Table,
        }
    }
}

fn run(from: f64, to: f64) -> Run {
    Run {
        from,
        to,
        quota: u32::MAX,
    }
}

/// Somebody starts the program at work and stops it before going home; sometimes they forget.
fn operated(setting: &Setting, random: &mut Random) -> Vec<Run> {
    let country = any_country(random);
    let weekend = if random.chance(0.4) { 0.8 } else { 0.1 };
    let (comes, goes) = (random.between(7.5, 12.0), random.between(15.5, 23.0));
    let forgets = random.between(0.0, 0.2);
    let mut runs: Vec<Run> = Vec::new();
    for day in -1..=DAYS as i64 {
        if setting.free(country, day) && !random.chance(weekend) {
            continue;
        }
        let midnight = local_midnight(country, day) / 3600.0;
        let from = midnight + comes + 0.5 * random.normal();
        let late = if random.chance(forgets) { 10.0 } else { 0.0 };
        let to = midnight + goes + 0.7 * random.normal() + late;
        let noon = midnight + 12.5 + 0.4 * random.normal();
        if random.chance(0.35) && from < noon - 0.5 {
            // Looks at the results over lunch and starts it again.
            runs.push(run(from * 3600.0, noon * 3600.0));
            runs.push(run((noon + random.between(0.3, 1.5)) * 3600.0, to * 3600.0));
        } else {
            runs.push(run(from * 3600.0, to * 3600.0));
        }
    }
    runs
}

fn spells(random: &mut Random) -> Vec<Run> {
    let on = random.between(0.5, 9.0) * 3600.0;
    let off = on * random.between(0.15, 1.2);
    let mut runs = Vec::new();
    let mut at_s = -random.exponential(on);
    while at_s < END_S {
        let to = at_s + random.exponential(on) + 600.0;
        runs.push(run(at_s, to));
        at_s = to + random.exponential(off) + 300.0;
    }
    runs
}

/// Runs with a quota, at the same times each day. Most crontabs name a full hour.
fn batches(every_h: f64, peak: f64, random: &mut Random) -> Vec<Run> {
    let minute = if random.chance(0.6) {
        0.0
    } else {
        random.below(60) as f64
    };
    let first = (random.between(0.0, every_h).floor() * 60.0 + minute) * 60.0;
    let quota = (peak * every_h / 24.0).ceil();
    let mut runs = Vec::new();
    let mut at_s = first - every_h * 3600.0;
    let varies = random.between(0.0, 0.25);
    while at_s < END_S {
        // How much there is to fetch varies from run to run.
        let quota = quota * (1.0 + varies * random.normal()).max(0.2);
        runs.push(Run {
            from: at_s + random.exponential(8.0),
            to: at_s + every_h * 3600.0,
            quota: quota as u32,
        });
        at_s += every_h * 3600.0;
    }
    runs
}

/// Slow by night and fast by day, in the zone of whoever wrote the table: steps, not a curve.
fn table(random: &mut Random) -> [f64; 24] {
    let (zone, night, noon) = (
        random.below(24) as usize,
        random.between(0.05, 0.5),
        random.between(0.6, 1.0),
    );
    std::array::from_fn(|hour| match (hour + zone) % 24 {
        0..7 => night,
        7..9 => 0.6,
        12 => noon,
        22.. => 0.5,
        _ => 1.0,
    })
}

/// A loop under a scheduler that reaches about so many pages on its busiest day.
pub(super) fn program(
    scheduler: Scheduler,
    peak: f64,
    setting: &Setting,
    random: &mut Random,
) -> Loop {
    let mut speedup = 1.0;
    let runs = match scheduler {
        Scheduler::Always | Scheduler::Table => vec![run(0.0, END_S)],
        Scheduler::Night => {
            let (from, hours) = (random.between(0.0, 24.0), random.between(4.0, 9.0));
            let nights = (-1..=DAYS as i64)
                .map(|day| (day as f64 * 24.0 + from + 0.02 * random.unit()) * 3600.0);
            nights
                .map(|from| run(from, from + hours * 3600.0))
                .collect()
        }
        Scheduler::Office => operated(setting, random),
        Scheduler::Spells => spells(random),
        Scheduler::Quota => {
            speedup = random.between(1.1, 6.0);
            batches(24.0, peak, random)
        }
        Scheduler::Cron => {
            speedup = random.between(1.05, 5.0);
            batches(*random.pick(&[1.0, 2.0, 3.0, 4.0, 6.0, 12.0]), peak, random)
        }
    };
    let pause = match random.below(100) {
        0..24 => Pause::Fixed,
        24..48 => Pause::Uniform,
        48..62 => Pause::Exponential,
        62..76 => Pause::Polite,
        76..88 => Pause::Reading,
        _ => Pause::Batches(10 + random.below(90) as u32),
    };
    let crash = if random.chance(0.35) {
        (
            random.between(0.2, 2.0) / peak,
            random.between(600.0, 14_000.0),
        )
    } else {
        (0.0, 0.0)
    };
    let workers = if random.chance(0.6) {
        1
    } else {
        2 + random.below(6) as usize
    };
    let table = (scheduler == Scheduler::Table).then(|| table(random));
    let mut program = Loop {
        runs,
        workers,
        pause,
        mean_s: 1.0,
        table,
        crash,
    };
    program.aim(peak, speedup);
    begin_and_end(&mut program, random);
    program
}

/// Some crawls begin after the first day or end before the last; all last three days.
fn begin_and_end(program: &mut Loop, random: &mut Random) {
    let from = if random.chance(0.2) {
        random.between(0.0, 1.4) * 86_400.0
    } else {
        -1e9
    };
    let to = if random.chance(0.2) {
        END_S - random.between(0.0, 0.9) * 86_400.0
    } else {
        1e9
    };
    for run in &mut program.runs {
        run.from = run.from.max(from);
        run.to = run.to.min(to);
    }
    program.runs.retain(|run| run.from < run.to);
}
