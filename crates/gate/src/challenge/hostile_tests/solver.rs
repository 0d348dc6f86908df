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
            Terms { bits, ..TERMS },
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

/// Nanoseconds of a processor for a walk in the page's solver, the best of some challenges; `None` where there is no Node.
fn walk_of_node() -> Option<f64> {
    let script = "const solve = require(process.argv[1]); let best = Infinity;\
                  for (let round = 0; round < 12; round++) {\
                    const seed = (0xabcdef12 + round).toString(16).padStart(32, '7');\
                    const began = process.cpuUsage().user; let walks = 0;\
                    for (let part = 0; part < 16; part++) walks += solve(seed, 15, part) + 1;\
                    best = Math.min(best, (process.cpuUsage().user - began) * 1e3 / walks);\
                  } console.log(best);";
    let solver = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/solver.js");
    let run = Command::new("node").args(["-e", script, solver]).output();
    match run {
        Err(_) => {
            eprintln!("SKIPPED: no node here, so the page's solver is not timed");
            None
        }
        Ok(output) => Some(
            String::from_utf8(output.stdout)
                .unwrap()
                .trim()
                .parse()
                .unwrap(),
        ),
    }
}

#[test]
fn h202_a_native_solver_is_at_most_five_times_as_fast_as_the_page() {
    let Some(page) = walk_of_node() else {
        return;
    };
    let native = work::native_walk_ns();
    eprintln!("a walk: {page:.0} ns in the page's solver, {native:.0} ns here");
    assert!(page < 5.0 * native, "{page} {native}");
}
