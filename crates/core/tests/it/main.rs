//! Whole-crate tests: detector fixtures, determinism, and the rules of the house that a test can keep.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests read files and stop at the first surprise"
)]

mod determinism;
mod fixtures;
mod house;

use std::sync::Arc;

use cattlegrid_core::Analysis;
use cattlegrid_core::Report;
use cattlegrid_core::Settings;
use cattlegrid_core::analysis::Block;
use cattlegrid_core::format::Format;
use cattlegrid_core::knowledge::Knowledge;
use cattlegrid_core::knowledge::RobotList;

/// Analyses pieces of a log, each cut into blocks at these line numbers.
fn analyze(pieces: &[&[String]], settings: Settings, format: &str, block_lines: usize) -> Report {
    let robots =
        RobotList::from_json(include_str!("../../../../data/crawler-user-agents.json")).unwrap();
    let format = Arc::new(Format::parse(format).unwrap());
    let mut analysis = Analysis::new(settings, Knowledge { robots }).unwrap();
    for (number, piece) in pieces.iter().enumerate() {
        let blocks: Vec<Block> = piece
            .chunks(block_lines)
            .map(|lines| {
                let buffer = (lines.join("\n") + "\n").into_bytes();
                Block {
                    piece: number as u32,
                    format: Arc::clone(&format),
                    length: buffer.len(),
                    buffer,
                    long_lines: (0, Vec::new()),
                }
            })
            .collect();
        analysis.observe(&blocks);
    }
    analysis.finish()
}
