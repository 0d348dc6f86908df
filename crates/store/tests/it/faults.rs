//! A disk that is full or does not confirm: nothing is called written that is not, and nothing that was confirmed is lost.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::process::Stdio;

use cattlegrid_store::Base;

use crate::child;
use crate::child::Server;
use crate::place;
use crate::programs::skipped;
use crate::recording::Shim;
use crate::recording::shim;

fn served(shim: &Shim, path: &Path) -> Server {
    let mut command = child::command("serve", path);
    command
        .env("LD_PRELOAD", &shim.library)
        .env("SHIM_FOLDER", path.parent().unwrap())
        .env("SHIM_BUDGET", shim.folder.path().join("budget"))
        .env("SHIM_EIO", shim.folder.path().join("eio"));
    Server::start(&mut command)
}

/// Puts entries from a number on until one is refused: gives how many are there, and why the last was refused.
fn put_until_refused(server: &mut Server, from: usize, most: usize) -> (usize, String) {
    for number in from..most {
        let answer = server.ask(&format!("put {}", address(number)));
        if !answer.is_empty() {
            return (number, answer);
        }
    }
    (most, String::new())
}

fn address(number: usize) -> String {
    format!("10.0.{}.{}", number / 250, number % 250)
}

/// Sees that a base holds these entries and no others.
fn verify(path: &Path, addresses: &[usize]) {
    let base = Base::open(path).unwrap();
    let entries = base.entries().unwrap();
    let mut there: Vec<_> = entries.into_iter().map(|(_, entry)| entry).collect();
    let mut expected: Vec<_> = addresses
        .iter()
        .map(|number| child::large(&address(*number)))
        .collect();
    there.sort_by_key(|entry| entry.subject.clone());
    expected.sort_by_key(|entry| entry.subject.clone());
    assert!(there == expected, "{} of {}", there.len(), expected.len());
}

/// What happens on a disk that gets full and has space again, whoever makes it so.
fn fill(server: &mut Server, path: &Path, free: impl FnOnce()) {
    let (many, why) = put_until_refused(server, 0, 2000);
    assert_eq!(why, "full", "after {many}");
    assert!(many > 10, "{many}");
    for _ in 0..3 {
        assert_eq!(server.ask(&format!("put {}", address(many))), "full");
    }
    // What is there can be read; half a copy does not take the last space.
    assert_eq!(server.ask("count"), many.to_string());
    assert_eq!(server.ask("copy"), "full");
    let files = fs::read_dir(path.parent().unwrap()).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let parts: Vec<String> = names.filter(|name| name.contains(".part")).collect();
    assert!(parts.is_empty(), "{parts:?}");
    assert_eq!(server.ask("check"), "");
    free();
    for number in many..many + 20 {
        assert_eq!(server.ask(&format!("put {}", address(number))), "");
    }
    assert_eq!(server.ask("check"), "");
    assert_eq!(server.ask("copy"), "");
    assert_eq!(server.ask("reopen"), "");
    assert_eq!(server.ask("count"), (many + 20).to_string());
    println!("full after {many} entries of 10 KB, 20 more once there was space");
}

/// H137. Fails where `Fault::of` does not know a full disk, and where `copy_to` leaves half a copy behind.
#[test]
fn h137_a_full_disk_refuses_writes_and_goes_on_once_there_is_space() {
    let Some(shim) = shim() else { return };
    // Full while the log grows, and full while the log is taken over into the base.
    for budget in [1_000_000, 6_000_000] {
        let (_folder, path) = place();
        let control = shim.folder.path().join("budget");
        fs::write(&control, budget.to_string()).unwrap();
        let mut server = served(&shim, &path);
        fill(&mut server, &path, || fs::remove_file(&control).unwrap());
        let many: usize = server.ask("count").parse().unwrap();
        server.kill();
        verify(&path, &(0..many).collect::<Vec<_>>());
    }
}

/// H137 on a real file system of 8 MiB.
#[test]
fn h137_a_real_file_system_gets_full() {
    let (folder, path) = place();
    let mount = "mount -t tmpfs -o size=8m none \"$0\"";
    let may_mount = Command::new("unshare")
        .args(["-rm", "sh", "-c", mount])
        .arg(folder.path())
        .stderr(Stdio::null())
        .status();
    if !may_mount.is_ok_and(|status| status.success()) {
        skipped(1, "the kernel permits no mount in a user namespace");
        return;
    }
    // Other processes reach into what is mounted for one alone through its working folder.
    let plain = child::command("serve", &path);
    let mut command = Command::new("unshare");
    let run = format!("{mount} && cd \"$0\" && head -c 4500000 /dev/zero > ballast && exec \"$@\"");
    command
        .args(["-rm", "sh", "-c", &run])
        .arg(folder.path())
        .arg(plain.get_program())
        .args(plain.get_args())
        .envs(
            plain
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut server = Server::start(&mut command);
    assert_eq!(server.ask("count"), "0");
    let inside = Path::new("/proc").join(server.id().to_string()).join("cwd");
    fill(&mut server, &inside.join("kb.sqlite"), || {
        fs::remove_file(inside.join("ballast")).unwrap();
    });
    server.kill();
}

/// H138. Fails where `Base::write` does not look at `is_broken`: the next write is called confirmed.
#[test]
fn h138_after_a_flush_that_failed_nothing_is_written_until_opened_again() {
    let Some(shim) = shim() else { return };
    let (_folder, path) = place();
    let eio = shim.folder.path().join("eio");
    let mut server = served(&shim, &path);
    assert_eq!(put_until_refused(&mut server, 0, 30).0, 30);
    fs::write(&eio, "-wal").unwrap();
    let refused = format!("put {}", address(30));
    assert_eq!(server.ask(&refused), "unconfirmed");
    assert!(!eio.exists(), "the flush has not failed");
    for _ in 0..3 {
        assert_eq!(server.ask(&refused), "unconfirmed");
    }
    assert_eq!(server.ask("count"), "30");
    assert_eq!(server.ask("reopen"), "");
    assert_eq!(server.ask("check"), "");
    let (_, why) = put_until_refused(&mut server, 31, 40);
    assert_eq!(why, "");
    server.kill();
    let there: Vec<usize> = (0..40).filter(|number| *number != 30).collect();
    verify(&path, &there);
}

/// H138 where the log is taken over into the base: what was confirmed lies in the log, and stays confirmed. A copy that is not
/// confirmed is none, and the one before it stays.
#[test]
fn h138_a_flush_of_the_base_or_a_copy_that_fails_loses_nothing() {
    let Some(shim) = shim() else { return };
    let (folder, path) = place();
    let eio = shim.folder.path().join("eio");
    let mut server = served(&shim, &path);
    assert_eq!(put_until_refused(&mut server, 0, 30).0, 30);
    assert_eq!(server.ask("copy"), "");
    fs::write(&eio, ".part").unwrap();
    assert_ne!(server.ask("copy"), "");
    assert!(!eio.exists(), "the flush has not failed");
    verify(
        &folder.path().join("kb.sqlite.backup"),
        &(0..30).collect::<Vec<_>>(),
    );
    fs::write(&eio, "kb.sqlite").unwrap();
    let (many, why) = put_until_refused(&mut server, 30, 600);
    assert_eq!((many, why.as_str()), (600, ""));
    assert!(!eio.exists(), "the flush has not failed");
    server.kill();
    verify(&path, &(0..600).collect::<Vec<_>>());
}
