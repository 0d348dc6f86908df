//! Whole-crate tests: detector fixtures, determinism, and the rules of the house that a test can keep.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests read files and stop at the first surprise"
)]

mod determinism;
mod fixtures;
mod gate_log;
mod house;
mod names;
mod paths;

use std::sync::Arc;

use cattlegrid_core::Analysis;
use cattlegrid_core::Report;
use cattlegrid_core::Settings;
use cattlegrid_core::analysis::Block;
use cattlegrid_core::format::Format;
use cattlegrid_core::knowledge::Knowledge;
use cattlegrid_core::knowledge::Operator;
use cattlegrid_core::networks::Documentation;

/// One operator with a published list, in networks for documentation.
fn operators() -> Vec<Operator> {
    let facts = "name = \"Example\"\n[[robots]]\nagent = \"Examplebot\"\npurpose = \"search\"\n";
    let mut operator = Operator::parse("example", facts).unwrap();
    operator
        .set_published(
            "# date 2030-01-31\n198.51.100.0/24\n",
            Documentation::Allowed,
        )
        .unwrap();
    vec![operator]
}

/// Analyses pieces of a log, each cut into blocks at these line numbers.
fn analyze(pieces: &[&[String]], settings: Settings, format: &str, block_lines: usize) -> Report {
    let knowledge = Knowledge::new(
        include_str!("../../../../data/crawler-user-agents.json"),
        operators(),
    )
    .unwrap()
    .with_rules(b"User-agent: *\nDisallow: /forbidden/\n");
    let format = Arc::new(Format::parse(format).unwrap());
    let mut analysis = Analysis::new(settings, knowledge).unwrap();
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
                    starts_file: false,
                }
            })
            .collect();
        analysis.observe(&blocks);
    }
    analysis.finish()
}
