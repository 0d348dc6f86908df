//! The long tail of a large site beside the paper's: Table 9 and points of Figures 6 and 7, straight from the volumes of the world.
//! Run with `cargo run --release -p cattlegrid-worlds --example long_tail -- containment 1`.
#![allow(clippy::print_stdout, reason = "a program of its own")]

use cattlegrid_worlds::World;
use cattlegrid_worlds::volumes::TABLE_9;
use cattlegrid_worlds::volumes::TABLE_9_K1;
use cattlegrid_worlds::volumes::TABLE_9_K2;
use cattlegrid_worlds::world::Kind;

/// Points of the figures: requests a day, and what the paper says of sources and of requests in percent.
const POINTS: [(u32, &str, &str); 10] = [
    (1, "> 98.7", "a little over 40"),
    (2, "", ""),
    (5, "", ""),
    (10, "", ""),
    (50, "", ""),
    (100, "99.98", "roughly 45"),
    (1000, "", ""),
    (10_000, "", ""),
    (100_000, "", ""),
    (1_000_000, "", "100"),
];

fn main() {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_else(|| "containment".to_owned());
    let seed = arguments.next().and_then(|seed| seed.parse().ok());
    let Some(kind) = Kind::ALL.into_iter().find(|kind| kind.name() == name) else {
        println!("there is no world '{name}'");
        return;
    };
    let world = World::new(kind, seed.unwrap_or(1));
    let volumes = world.volumes();
    println!(
        "{name}, seed {}: {} requests, {} sources on all days together, {} sources in all, the heaviest sends {} in a day",
        world.seed,
        volumes.requests(),
        volumes.sources(),
        world.actors.len() + world.crowd_sources().len(),
        volumes.heaviest()
    );
    println!("\nTable 9, percent of requests between k1 and k2, (the paper's)");
    print!("{:>7}", "k1/k2");
    TABLE_9_K2.iter().for_each(|k2| print!("{k2:>16}"));
    println!();
    for (k1, row) in TABLE_9_K1.into_iter().zip(TABLE_9) {
        print!("{k1:>7}");
        for (k2, paper) in TABLE_9_K2.into_iter().zip(row) {
            print!("{:>9.2} ({paper:.2})", volumes.requests_between(k1, k2));
        }
        println!();
    }
    println!(
        "\nFigures 6 and 7, percent of sources and of requests up to a volume (the paper's words)"
    );
    for (volume, sources, requests) in POINTS {
        println!(
            "{volume:>9} {:>9.3} {sources:<8} {:>8.2} {requests}",
            volumes.sources_up_to(volume),
            volumes.requests_up_to(volume)
        );
    }
}
