//! Deny lists held against a count of every address, and against the programs that read them.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests stop at the first surprise and show what they measured"
)]

use cattlegrid_store::export::Denied;

mod aggregate;
mod export;
mod programs;
mod serving;

/// Noon of 1 January 2030.
const NOW: u32 = 1_893_499_200;
const DAY: u32 = 86_400;

fn denied(network: &str) -> Denied {
    Denied {
        network: network.parse().unwrap(),
        until: None,
    }
}

fn denied_until(network: &str, until: u32) -> Denied {
    Denied {
        until: Some(until),
        ..denied(network)
    }
}
