//! What noting a page request in the table of signed-in users costs: time for each, and memory for each user.
//!
//! `cargo run --release -p cattlegrid-core --example users`
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a measurement needs a clock, reads a file and prints"
)]

use std::time::Instant;

use cattlegrid_core::paths::Browser;
use cattlegrid_core::paths::Judge;
use cattlegrid_core::paths::Link;
use cattlegrid_core::paths::Loaded;
use cattlegrid_core::paths::UserLimits;
use cattlegrid_core::paths::UserRequest;
use cattlegrid_core::paths::Users;
use cattlegrid_learn::model::Model;

const USERS: u64 = 100_000;
const PAGES: u64 = 59;

fn request(user: u64, step: u64) -> UserRequest {
    let mixed = (user + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ step;
    UserRequest {
        at_ms: 1_900_000_000_000 + step * (20_000 + mixed % 50_000),
        day: 1,
        user,
        page: mixed,
        link: Link::Own(mixed ^ 1),
        referrer: Some(mixed ^ 1),
        client: Browser {
            agent: user,
            session: 1,
        },
        loaded: Loaded::Page,
    }
}

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
    number.unwrap_or(0)
}

fn main() {
    let text = include_str!("../../../data/default-model.json");
    let model = Model::parse(text).expect("the built-in model is sound");
    let paths = model.paths.expect("the built-in model knows paths");
    let judge = Judge::new(paths.into()).expect("the built-in model fits");
    let mut users = Users::new(UserLimits::default());
    let before = resident_kib();
    let began = Instant::now();
    for step in 0..PAGES {
        for user in 0..USERS {
            users.observe(&request(user, step), &judge);
        }
    }
    let noted = began.elapsed().as_secs_f64() * 1e9 / (USERS * PAGES) as f64;
    let grown = resident_kib() - before;
    let began = Instant::now();
    for user in 0..2000 {
        users.observe(&request(user, PAGES), &judge);
    }
    let judged = began.elapsed().as_secs_f64() * 1e6 / 2000.0;
    let mut saved = Vec::new();
    let began = Instant::now();
    users.save(&mut saved).expect("memory can be written");
    let saving = began.elapsed().as_secs_f64();
    println!(
        "{USERS} users with {PAGES} entries each\n\
         noting a request {noted:.0} ns, the one that completes a long session {judged:.0} us\n\
         memory {grown} KiB, {:.1} KiB for each user\n\
         saved in {saving:.2} s, {} MiB",
        grown as f64 / USERS as f64,
        saved.len() >> 20
    );
}
