//! Nanoseconds that one request takes through its session and the trees: `session_speed LOG` (combined format).
#![allow(
    clippy::print_stdout,
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "an example that measures time and prints it"
)]

use std::sync::Arc;
use std::time::Instant;

use cattlegrid_core::Analysis;
use cattlegrid_core::Settings;
use cattlegrid_core::analysis::Block;
use cattlegrid_core::format::Format;
use cattlegrid_core::knowledge::Knowledge;
use cattlegrid_core::profile::Record;
use cattlegrid_core::sessions::Sessions;
use cattlegrid_learn::data::Classifier;
use cattlegrid_learn::model::Model;

const MODEL: &str = include_str!("../../../data/default-model.json");
/// Page requests of a session from which on it is judged.
const PAGES_MIN: u16 = 5;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("which log?")?;
    let records = records(&std::fs::read(path)?)?;
    let model = Model::parse(MODEL)?;
    let model = model.sessions.ok_or("the model knows no sessions")?;
    let nothing = time(&records, |_, _| 0.0);
    tell("the clock alone", &nothing);
    let mut sessions = Sessions::new(1 << 20, 1800);
    let update = time(&records, |record, _| {
        f64::from(sessions.observe(record).session.pages)
    });
    tell("session", &update);
    for (name, judge) in [
        ("session and one tree", &model.all as &dyn Classifier),
        ("session and all trees", &model.best),
    ] {
        let mut sessions = Sessions::new(1 << 20, 1800);
        let mut judged = Vec::new();
        let all = time(&records, |record, at| {
            let ongoing = sessions.observe(record);
            if !record.is_page() || ongoing.session.pages < PAGES_MIN {
                return 0.0;
            }
            judged.push(at);
            judge.probability(&ongoing.values())
        });
        tell(name, &all);
        let judged: Vec<u64> = judged.iter().map(|at| all[*at]).collect();
        tell(&format!("{name}, where it is judged"), &judged);
    }
    Ok(())
}

fn records(text: &[u8]) -> Result<Vec<Record>, Box<dyn std::error::Error>> {
    let knowledge = Knowledge::new("[]", Vec::new())?;
    let mut analysis = Analysis::new(Settings::default(), knowledge)?;
    let block = Block {
        piece: 0,
        starts_file: true,
        format: Arc::new(Format::parse("combined")?),
        buffer: text.to_vec(),
        length: text.len(),
        long_lines: (0, Vec::new()),
    };
    let mut records = Vec::new();
    analysis.replay(&[block], |record| records.push(*record));
    Ok(records)
}

/// Nanoseconds of each request.
fn time(records: &[Record], mut work: impl FnMut(&Record, usize) -> f64) -> Vec<u64> {
    let timed = records.iter().enumerate().map(|(at, record)| {
        let began = Instant::now();
        std::hint::black_box(work(record, at));
        began.elapsed().as_nanos() as u64
    });
    timed.collect()
}

fn tell(name: &str, times: &[u64]) {
    let mut times = times.to_vec();
    times.sort_unstable();
    let at = |hundredths: usize| {
        times
            .get(times.len() * hundredths / 100)
            .copied()
            .unwrap_or(0)
    };
    let sum: u64 = times.iter().sum();
    println!(
        "{name:<40} {:>9} requests, median {:>6} ns, 90 % {:>6}, 99 % {:>6}, mean {:>6}",
        times.len(),
        at(50),
        at(90),
        at(99),
        sum / times.len().max(1) as u64
    );
}
