//! A bit that a disk has turned: noticed, or of no matter. Never an entry that says something else than was written.

use std::fs;

use cattlegrid_core::policy::Action;
use cattlegrid_store::Base;
use cattlegrid_store::Change;
use cattlegrid_store::ChangeRecord;
use cattlegrid_store::Entry;
use cattlegrid_store::Fault;
use cattlegrid_store::Proof;

use crate::Dice;
use crate::NOW;
use crate::deny;
use crate::place;
use crate::put;
use crate::seed;
use crate::times;

type Content = (Vec<(u64, Entry)>, Vec<ChangeRecord>);

fn all(base: &Base) -> Result<Content, Fault> {
    Ok((base.entries()?, base.changes(1_000_000)?))
}

/// A base of entries of all kinds with a past: changed, removed, undone.
fn write(base: &mut Base) {
    let entry = |name: String, number: usize| Entry {
        action: [Action::Deny, Action::Allow, Action::Watch][number % 3],
        campaign: number
            .is_multiple_of(4)
            .then(|| format!("agent-{}", number % 7)),
        reason: format!("{number} pages in a day"),
        evidence: vec![Proof {
            detector: "breadth".to_owned(),
            weight: number as f64 / 8.0,
            why: format!("{number} pages"),
        }],
        cap: number as u32,
        ..deny(&name)
    };
    for part in 0..10 {
        let changes: Vec<Change> = (0..30)
            .map(|number| match number % 5 {
                0 => format!("10.{part}.{number}.0/24"),
                1 => format!("agent:Scraper/{part}.{number}"),
                2 => format!("2001:db8:{part}:{number}::/64"),
                _ => format!("10.{part}.{number}.7"),
            })
            .enumerate()
            .map(|(number, name)| put(entry(name, 30 * part + number)))
            .collect();
        let applied = base.apply(&changes, "a test", NOW).unwrap();
        if part % 3 == 0 {
            let undone = base.undo(applied.batch, "undo", NOW).unwrap();
            base.undo(undone.batch, "undo", NOW).unwrap();
        }
        let removed: Vec<Change> = changes[..3]
            .iter()
            .map(|change| Change::Remove(change.subject().clone()))
            .collect();
        base.apply(&removed, "a test", NOW).unwrap();
    }
}

/// H139. Fails without seals (`read_entry` and `read_change` not comparing them): an address, an action or an end that is another one is
/// believed.
#[test]
fn h139_a_turned_bit_is_noticed_or_changes_nothing() {
    let flips = times("CATTLEGRID_FLIPS", 1000);
    let (_folder, path) = place();
    let mut base = Base::open_or_create(&path).unwrap();
    write(&mut base);
    let written = all(&base).unwrap();
    // Closed, so that all is in the one file.
    drop(base);
    let sound = fs::read(&path).unwrap();
    let mut dice = Dice(seed());
    let (mut at_opening, mut at_reading, mut harmless) = (0, 0, 0);
    for _ in 0..flips {
        let (at, bit) = (dice.below(sound.len()), dice.below(8));
        let mut bytes = sound.clone();
        bytes[at] ^= 1 << bit;
        fs::write(&path, &bytes).unwrap();
        let Ok(base) = Base::open(&path) else {
            at_opening += 1;
            continue;
        };
        match all(&base) {
            Err(_) => at_reading += 1,
            Ok(read) => {
                assert!(read == written, "bit {bit} of byte {at} was believed");
                harmless += 1;
            }
        }
    }
    println!(
        "{flips} bits of {} bytes turned: {at_opening} noticed at opening, {at_reading} at reading, {harmless} harmless",
        sound.len()
    );
    assert!(at_opening > harmless);
}
