//! Equal logs give equal bytes, however they come.

use std::process::Output;

use tempfile::TempDir;

use crate::gzip;
use crate::log_bytes;
use crate::run;
use crate::run_with_input;
use crate::stderr;
use crate::write;

fn json(output: &Output) -> Vec<u8> {
    assert!(output.status.success(), "{}", stderr(output));
    assert!(output.stdout.len() > 10_000);
    output.stdout.clone()
}

const ALL: [&str; 5] = ["analyze", "--json", "-", "--min-requests", "1"];

#[test]
fn threads_pieces_order_and_compression_do_not_show() {
    let folder = TempDir::new().unwrap();
    // Larger than a block, so that threads really share it.
    let log = log_bytes(30_000, 3);
    assert!(log.len() > 4 << 20);
    let whole = write(folder.path(), "whole.log", &log);
    let expected = json(&run(&[&ALL[..], &[&whole, "--threads", "1"]].concat()));
    for threads in ["2", "3"] {
        assert!(
            expected == json(&run(&[&ALL[..], &[&whole, "--threads", threads]].concat())),
            "{threads} threads"
        );
    }
    let packed = write(folder.path(), "whole.gz", &gzip(&log));
    assert!(
        expected == json(&run(&[&ALL[..], &[&packed]].concat())),
        "gzip"
    );
    assert!(
        expected == json(&run_with_input(&[&ALL[..], &["-"]].concat(), &log)),
        "standard input"
    );

    let lines: Vec<&[u8]> = log.split_inclusive(|byte| *byte == b'\n').collect();
    let pieces = TempDir::new().unwrap();
    let mut paths: Vec<String> = lines
        .chunks(lines.len().div_ceil(20))
        .enumerate()
        .map(|(number, piece)| {
            // Every third piece is compressed, as rotation leaves them.
            let bytes = if number % 3 == 0 {
                gzip(&piece.concat())
            } else {
                piece.concat()
            };
            write(pieces.path(), &format!("access.log.{number}"), &bytes)
        })
        .collect();
    assert_eq!(paths.len(), 20);
    for round in 0..3 {
        let length = paths.len();
        (0..length).for_each(|at| paths.swap(at, (at * 7 + round * 5 + 3) % length));
        let arguments: Vec<&str> = ALL
            .iter()
            .copied()
            .chain(paths.iter().map(String::as_str))
            .collect();
        assert!(
            expected == json(&run(&arguments)),
            "20 pieces in shuffled order"
        );
    }
    assert!(
        expected
            == json(&run(
                &[&ALL[..], &[pieces.path().to_str().unwrap()]].concat()
            )),
        "a folder"
    );
}

#[test]
fn the_example_is_what_the_generator_makes() {
    let shipped = std::fs::read(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/access.log"
    ))
    .unwrap();
    assert!(
        shipped == log_bytes(3000, 1),
        "run: cargo run --release --example make_log > examples/access.log"
    );
}
