//! The table of signed-in people on the disk: it survives a restart, a crash and damage, and tells nobody who they are where the owner wants that.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use cattlegrid_worlds::forum::Forum;
use cattlegrid_worlds::forum::Links;
use cattlegrid_worlds::forum::Role;
use cattlegrid_worlds::forum::View;

use crate::harness::Gate;
use crate::harness::Wanted;
use crate::harness::wait_for;
use crate::markers::links;
use crate::preload::compiled;
use crate::skip::has;
use crate::user_paths::Browser;
use crate::user_paths::DepthFirst;
use crate::user_paths::gate;
use crate::user_paths::is_question;
use crate::user_paths::of_kinds;
use crate::user_paths::replay;
use crate::user_paths::site_of;
use crate::user_paths::tree;
use crate::user_paths::wanted;

fn now_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    u64::try_from(since.unwrap().as_millis()).unwrap()
}

/// Makes a user a suspect, and waits until that is on the disk.
fn make_suspect(gate: &Gate, user: &str) {
    let mut browser = Browser::of(gate, user);
    browser.at_ms = now_ms();
    let (_, page) = DepthFirst::new().crawl(&mut browser, 300);
    assert!(is_question(&page.unwrap()));
    wait_for("the table is saved", || table(gate).contains("\"suspect\""));
}

fn table(gate: &Gate) -> String {
    fs::read_to_string(gate.path("state/users.jsonl")).unwrap_or_default()
}

fn is_suspect(gate: &Gate, user: &str) -> bool {
    is_question(&Browser::of(gate, user).get("/p/2", None))
}

#[test]
fn a_suspect_stays_one_after_a_restart_and_a_crash() {
    let origin = tree();
    let first = gate(&origin, "", "");
    make_suspect(&first, "alice");
    assert!(table(&first).contains("\"alice\""), "{}", table(&first));
    let mode = fs::metadata(first.path("state/users.jsonl"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    // The table has a thread of its own: the gate answers before it has read the file.
    let second = first.restart();
    wait_for("the table is read", || is_suspect(&second, "alice"));
    assert!(!is_suspect(&second, "bob"));
    let third = second.crash();
    wait_for("the table is read", || is_suspect(&third, "alice"));
    // The knowledge base, which is backed up, has nothing of it.
    for name in ["kb.sqlite", "kb.sqlite-wal", "counters", "access.log"] {
        let bytes = fs::read(third.path("state").join(name)).unwrap_or_default();
        assert!(!bytes.windows(5).any(|window| window == b"alice"), "{name}");
    }
    // Who has read half a long session before the restart has read it afterwards.
    let mut bob = Browser::of(&third, "bob");
    bob.at_ms = now_ms();
    let mut crawler = DepthFirst::new();
    assert_eq!(crawler.crawl(&mut bob, 40).0, 40);
    let later = third.restart();
    let mut browser = Browser::of(&later, "bob");
    browser.at_ms = bob.at_ms;
    let (read, page) = crawler.crawl(&mut browser, 300);
    assert!(
        is_question(&page.unwrap()) && (15..40).contains(&read),
        "{read}"
    );
}

/// While a disk takes nothing, crawlers are judged as ever, and nothing is lost when it works again.
#[test]
fn a_stuck_disk_does_not_put_off_judgements() {
    if !has("cc", 1) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let stuck = folder.path().join("stuck");
    let origin = tree();
    let environment = vec![
        ("LD_PRELOAD", compiled("slow_disk.c", folder.path())),
        ("STUCK_DISK", stuck.display().to_string()),
    ];
    let wanted = Wanted {
        environment,
        ..wanted("", "")
    };
    let gate = Gate::with(&origin, wanted);
    fs::write(&stuck, "").unwrap();
    let crawl = |user: &str| {
        let mut browser = Browser::of(&gate, user);
        let (read, page) = DepthFirst::new().crawl(&mut browser, 300);
        assert!(is_question(&page.unwrap()), "{user}: {read}");
    };
    crawl("alice");
    let waiting = gate.path("state/users.jsonl.new");
    wait_for("the table is on its way", || waiting.exists());
    crawl("bob");
    assert!(waiting.exists(), "the disk has taken nothing");
    assert_eq!(table(&gate), "");
    fs::remove_file(&stuck).unwrap();
    wait_for("both are on the disk", || {
        table(&gate).matches("\"suspect\"").count() == 2
    });
}

#[test]
fn a_damaged_table_is_set_aside_and_the_gate_goes_on() {
    let origin = tree();
    let mut running = gate(&origin, "", "");
    make_suspect(&running, "alice");
    for damage in [
        "",
        "nonsense\n",
        "{\"cattlegrid_users\":1}\n{\"user\":7}\n",
        "\0\0\0",
    ] {
        let path = running.path("state/users.jsonl");
        let signal = Command::new("kill")
            .arg("-STOP")
            .arg(running.pid().to_string())
            .status();
        assert!(signal.unwrap().success());
        fs::write(&path, damage).unwrap();
        running = running.crash();
        let aside = running.path("state/users.jsonl.damaged");
        wait_for("the table is set aside", || aside.exists());
        wait_for("the owner is told", || {
            let said = running.stderr();
            said.contains("users.jsonl: line ") && said.contains("set aside as")
        });
        assert_eq!(fs::read(&aside).unwrap(), damage.as_bytes());
        fs::remove_file(&aside).unwrap();
        assert!(!is_suspect(&running, "alice"));
        make_suspect(&running, "alice");
    }
}

#[test]
fn pseudonyms_tell_nobody_who_they_are() {
    let origin = tree();
    let gate = gate(&origin, "", "pseudonyms = true\nkeep_sessions = true");
    make_suspect(&gate, "alice");
    let line = table(&gate);
    assert!(
        line.contains("\"user\":\"") && !line.contains("alice"),
        "{line}"
    );
    let list = gate.command(&["paths", "users", "--config"], "gate.toml");
    assert!(
        list.contains("suspect since") && !list.contains("alice"),
        "{list}"
    );
    let number = list
        .lines()
        .nth(1)
        .unwrap()
        .split_whitespace()
        .next()
        .unwrap();
    assert!(!gate.stderr().contains("alice"));
    gate.command(&["paths", "forgive", number, "--config"], "gate.toml");
    wait_for("alice is forgiven", || !is_suspect(&gate, "alice"));
}

/// People's long sessions are kept to learn from, those of suspects never.
#[test]
fn sessions_of_suspects_are_not_learned_from() {
    let forum = Forum::new(61, Links::Marked);
    let people = of_kinds(&forum, |role| role == Role::Person, 130);
    let views: Vec<View> = people
        .iter()
        .flat_map(|(.., views)| views.clone())
        .collect();
    let gate = gate(&site_of(&views), "", "keep_sessions = true");
    let kept = || fs::read_to_string(gate.path("state/sessions.jsonl")).unwrap_or_default();
    for (name, _, views) in &people[..2] {
        assert_eq!(replay(&gate, name, views).0, views.len());
    }
    wait_for("both have two sessions", || kept().lines().count() == 4);
    assert!(!kept().contains("member"));
    let mode = fs::metadata(gate.path("state/sessions.jsonl"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    // The second follows links of the first.
    let at_ms = people[1].2.last().unwrap().at_ms;
    let (mut first, mut second) = (
        Browser::of(&gate, &people[0].0),
        Browser::of(&gate, &people[1].0),
    );
    (first.at_ms, second.at_ms) = (at_ms, at_ms);
    let page = people[0].2.iter().find_map(|view| view.parent()).unwrap();
    let link = links(&first.get(&page, None).text()).remove(0);
    for _ in 0..30 {
        second.at_ms += 60_000;
        second.get(&link, None);
    }
    wait_for("there is a suspect", || {
        gate.metric("cattlegrid_suspect_users") == Some(1.0)
    });
    wait_for("nothing of the suspect is kept", || {
        kept().lines().count() == 2
    });
    let model = gate.path("model.json");
    let trained = Command::new(env!("CARGO_BIN_EXE_cattlegrid"))
        .args(["train", "--paths", "world:forum:1", "--out"])
        .arg(&model)
        .arg(gate.path("state/sessions.jsonl"))
        .output()
        .unwrap();
    assert!(trained.status.success(), "{trained:?}");
    let said = String::from_utf8_lossy(&trained.stdout).into_owned();
    assert!(said.contains("learned from"), "{said}");
}
