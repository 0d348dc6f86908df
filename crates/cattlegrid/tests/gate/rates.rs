//! How fast a cleared client may ask, and how soon a source above k2 is judged.

use std::fs;
use std::fs::File;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;
use std::time::Instant;

use crate::challenge::must;
use crate::challenge::withstands;
use crate::harness::Gate;
use crate::harness::Origin;
use crate::harness::PATIENCE;
use crate::harness::Wanted;
use crate::harness::get_from;
use crate::harness::say;
use crate::harness::wait_for;
use crate::preload::compiled;
use crate::skip::has;
use crate::solve::Browser;
use crate::solve::Puzzle;

/// A proxy that names its clients: addresses of this machine are never denied.
const PROXY: &str = "127.0.0.77";

fn limits(policy: &str) -> Wanted {
    Wanted {
        parts: format!("[gate.challenge]\nbits = 4\n[policy]\n{policy}\n"),
        ..Wanted::default()
    }
}

/// A crawler that solves whatever it must. Gives the pages it got, the refusals, and how long it took.
fn crawl(gate: &Gate, source: &str, pages: usize) -> Result<(usize, usize, Duration), String> {
    let mut crawler = Browser::new(source, gate.address);
    let began = Instant::now();
    let (mut got, mut refused) = (0, 0);
    for page in 0..pages {
        let answer = crawler.get(&format!("/page/{page}"));
        if Puzzle::of(&answer.text()).is_some() {
            crawler.clear(&answer)?;
        }
        got += usize::from(answer.status == 200);
        refused += usize::from(answer.status == 429);
    }
    Ok((got, refused, began.elapsed()))
}

#[test]
fn h201_a_cleared_client_has_a_rate() {
    let origin = Origin::start();
    let mut gate = Gate::with(&origin, limits("k1 = 5"));
    withstands(&mut gate, |gate| {
        let (got, refused, took) = crawl(gate, "127.0.80.1", 400)?;
        say(&format!(
            "a solver that asks for 400 pages at once: {got} in {took:?}, {refused} refused"
        ));
        let most = 5 + 40 + 2 * (2 + took.as_secs() as usize);
        must(
            got <= most && refused > 0,
            &format!("{got} of at most {most}"),
        )
    });
}

#[test]
fn h201_who_is_too_fast_is_told_when_to_come_again_and_then_goes_on() {
    let origin = Origin::start();
    let gate = Gate::with(&origin, limits("k1 = 5"));
    let mut person = Browser::new("127.0.80.2", gate.address).with("Accept-Language", "en");
    // Forty tabs at once are nothing unusual.
    for page in 0..45 {
        assert_eq!(person.open(&format!("/page/{page}")).status, 200, "{page}");
    }
    let mut refused = person.get("/page/next");
    let deadline = Instant::now() + Duration::from_secs(5);
    while refused.status == 200 && Instant::now() < deadline {
        refused = person.get("/page/next");
    }
    assert_eq!(refused.status, 429);
    let seconds: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=3).contains(&seconds), "{seconds}");
    assert!(refused.text().contains("<h1>"), "{}", refused.text());
    assert_eq!(refused.header("cache-control").unwrap(), "no-store");
    // Parts of pages that are open come all the same.
    assert_eq!(person.part("/picture.png").status, 200);
    let began = Instant::now();
    wait_for("the next page comes", || {
        person.get("/page/next").status == 200
    });
    assert!(began.elapsed() < Duration::from_secs(seconds + 1));
    assert_eq!(person.solved, 1, "no further challenge");
}

/// How long the disk of a gate took at most to take one file, while something was done.
fn slowest_sync<T>(gate: &Gate, case: impl FnOnce() -> T) -> (T, Duration) {
    let path = gate.path("state/sync");
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let syncs = scope.spawn(|| {
            let started = Instant::now();
            let mut slowest = Duration::ZERO;
            // What is done gives up by then, if only by a panic.
            while !is_over.load(Ordering::Relaxed) && started.elapsed() < 3 * PATIENCE {
                let file = File::create(&path).unwrap();
                let began = Instant::now();
                file.sync_all().unwrap();
                slowest = slowest.max(began.elapsed());
                thread::sleep(Duration::from_millis(20));
            }
            slowest
        });
        let done = case();
        is_over.store(true, Ordering::Relaxed);
        (done, syncs.join().unwrap())
    })
}

/// A source crawls until it is denied. Gives the pages it got, and how long that took since it crossed k2.
fn denied_after(gate: &Gate, source: &str) -> Result<(usize, Duration), String> {
    let mut crawler = Browser::new(PROXY, gate.address).with("X-Forwarded-For", source);
    let (mut got, mut crossed) = (0, None);
    for page in 0..100_000 {
        let answer = crawler.get(&format!("/page/{page}"));
        if Puzzle::of(&answer.text()).is_some() {
            crawler.clear(&answer)?;
        } else if answer.status == 403 {
            break;
        }
        got += usize::from(answer.status == 200);
        if page == 300 {
            crossed = Some(Instant::now());
        }
        let is_late = crossed.is_some_and(|at: Instant| at.elapsed() >= PATIENCE);
        must(!is_late, "it is not denied")?;
    }
    let took = crossed.ok_or("never crossed")?.elapsed();
    Ok((got, took))
}

/// Settings of a gate whose k2 is soon crossed, behind a proxy.
fn soon_crossed() -> Wanted {
    let policy = "k1 = 20\nk2 = 300\nclearance_rate = 1000.0\nclearance_burst = 10000";
    Wanted {
        gate: format!("trusted_proxies = [\"{PROXY}\"]"),
        ..limits(policy)
    }
}

#[test]
fn h201_a_source_is_judged_within_a_second_of_crossing_k2() {
    let origin = Origin::start();
    let mut gate = Gate::with(&origin, soon_crossed());
    // There is a knowledge base, as on every day but the first.
    gate.kb(&["deny", "192.0.2.1"]);
    withstands(&mut gate, |gate| {
        let (denied, slowest) = slowest_sync(gate, || denied_after(gate, "198.18.7.9"));
        let (got, took) = denied?;
        say(&format!(
            "denied {took:?} after crossing k2, the disk took up to {slowest:?}; {got} pages"
        ));
        // The verdict is on the disk before it is in force.
        let most = Duration::from_millis(2500) + 4 * slowest;
        must(took < most, &format!("{took:?} of {most:?}"))
    });
}

/// A verdict does not wait for its backup, nor the next judgement for twenty times what the disk takes.
#[test]
fn h201_a_slow_disk_does_not_put_off_verdicts() {
    if !has("cc", 1) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let origin = Origin::start();
    let environment = vec![
        ("LD_PRELOAD", compiled("slow_disk.c", folder.path())),
        ("DISK_MS", "700".to_owned()),
    ];
    let wanted = Wanted {
        environment,
        ..soon_crossed()
    };
    let gate = Gate::with(&origin, wanted);
    gate.kb(&["deny", "192.0.2.1"]);
    let (_, first) = denied_after(&gate, "198.18.7.9").unwrap();
    // The disk is still busy with the backup.
    let (_, second) = denied_after(&gate, "198.18.8.9").unwrap();
    say(&format!(
        "denied {first:?} and {second:?} after crossing k2, with a disk that takes 0.7 s"
    ));
    let two_syncs = Duration::from_millis(1400);
    assert!(two_syncs < first, "{first:?}: the disk is not slow");
    assert!(first < Duration::from_millis(6500), "{first:?}");
    assert!(second < Duration::from_secs(18), "{second:?}");
}

/// The alarm of a backup that failed is not over because the base could be read.
#[test]
fn h201_the_alarm_of_a_failed_backup_lasts_until_one_is_kept() {
    let origin = Origin::start();
    let gate = Gate::with(&origin, soon_crossed());
    let failed = || gate.metric("cattlegrid_base_failed");
    // The name of half a backup is taken.
    let part = gate.path("state/kb.sqlite.backup.part");
    fs::create_dir_all(&part).unwrap();
    denied_after(&gate, "198.18.7.9").unwrap();
    wait_for("the alarm is raised", || failed() == Some(1.0));
    fs::remove_dir(&part).unwrap();
    gate.kb(&["deny", "127.0.80.66", "--yes"]);
    wait_for("the base is read again", || {
        get_from("127.0.80.66", gate.address, "/page/1", &[]).status == 403
    });
    assert_eq!(failed(), Some(1.0));
    denied_after(&gate, "198.18.8.9").unwrap();
    wait_for("the alarm is over", || failed() == Some(0.0));
}
