//! The solver that browsers run, run by Node where it is installed.

use std::process::Command;

use super::*;

/// The numbers that the page's solver finds, in a form's spelling; `None` where there is no Node.
fn solved_by_node(seed: &str, bits: u8) -> Option<String> {
    let script = "const solve = require(process.argv[1]); const [seed, bits] = process.argv.slice(2);\
                  console.log([...Array(16).keys()].map((part) => solve(seed, Number(bits), part)).join('.'));";
    let solver = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/solver.js");
    let run = Command::new("node")
        .args(["-e", script, solver, seed, &bits.to_string()])
        .output();
    let output = match run {
        Err(_) => {
            eprintln!("SKIPPED: no node here, so the page's solver is not run");
            return None;
        }
        Ok(output) => output,
    };
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Some(String::from_utf8(output.stdout).unwrap().trim().to_owned())
}

#[test]
fn what_the_page_solves_the_gate_accepts() {
    let (gate, mut jar) = (gate(), Jar::default());
    for bits in [0, 4, 5, 12, 16] {
        jar.ask(&gate, &visitor(), "/", NOW);
        let puzzle = gate.mint(
            &visitor(),
            b"/",
            Terms {
                bits: bits,
                ..TERMS
            },
            [&jar.header()[..]],
            NOW,
        );
        let Some(work) = solved_by_node(&puzzle.seed, puzzle.bits) else {
            return;
        };
        let body = format!("token={}&work={work}", puzzle.token);
        jar.send(&gate, &visitor(), &body, NOW).unwrap();
        // Both look from 0 upwards, so they find the same numbers.
        assert_eq!(body, solution(&puzzle), "{bits} bits");
    }
}
