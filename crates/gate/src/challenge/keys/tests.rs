//! Tests of the keys and their file.

use std::fs;

use tempfile::TempDir;

use super::*;

const NOW: u64 = 1_893_456_000;

fn place() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys");
    (folder, path)
}

fn write(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
    }
}

fn signed(keys: &Keys, unix: u64) -> (u8, [u8; MAC_BYTES]) {
    let id = keys.signing(unix);
    (id, keys.sign(id, Purpose::Clearance, [b"message", b""]))
}

fn accepts(keys: &Keys, signed: (u8, [u8; MAC_BYTES])) -> bool {
    keys.is_genuine(signed.0, Purpose::Clearance, [b"mess", b"age"], &signed.1)
}

#[test]
fn h109_a_missing_file_is_drawn_and_kept() {
    let (folder, path) = place();
    let first = Keys::open(&path, NOW).unwrap();
    let second = Keys::open(&path, NOW + 9).unwrap();
    assert!(accepts(&second, signed(&first, NOW)));
    assert_eq!(first.fingerprint(), second.fingerprint());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o7777,
            0o600
        );
    }
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        1,
        "nothing is left beside it"
    );
    let (_other, path) = place();
    assert!(
        !accepts(&Keys::open(&path, NOW).unwrap(), signed(&first, NOW)),
        "each site draws its own"
    );
}

#[test]
fn h109_key_bytes_appear_nowhere() {
    let (_folder, path) = place();
    let keys = Keys::open(&path, NOW).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let hex = text.split(' ').nth(1).unwrap().to_owned();
    let mut shown = format!("{keys:?} {}", keys.fingerprint());
    for damaged in [
        text.replace("active", "aktiv"),
        text.replace("active", "old"),
        text.replace("1 ", "256 "),
        format!("1 {hex}"),
        format!("1 {hex}0 active"),
        format!("1 {hex} active 5 6"),
        format!("1 {hex} active x"),
        format!("{hex} {hex} active"),
        format!("{text}{text}"),
        format!("# {hex}\n"),
    ] {
        write(&path, &damaged);
        let fault = Keys::open(&path, NOW).unwrap_err();
        assert!(fault.to_string().contains("keys:"), "{fault}");
        assert!(fault.to_string().contains("; "), "a cure: {fault}");
        shown.push_str(&format!("{fault} {fault:?}"));
    }
    let bytes = format!("{:?}", file::from_hex(&hex).unwrap().as_slice());
    assert!(
        !shown.contains(&hex[..8]) && !shown.contains(&bytes[1..12]),
        "{shown}"
    );
}

#[cfg(unix)]
#[test]
fn h109_a_file_open_to_others_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let (_folder, path) = place();
    Keys::open(&path, NOW).unwrap();
    for mode in [0o640, 0o604, 0o620, 0o602, 0o666] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let fault = Keys::open(&path, NOW).unwrap_err().to_string();
        assert!(fault.contains("chmod 600"), "{fault}");
        assert!(Keys::rotate(&path, NOW, 60).is_err());
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
    Keys::open(&path, NOW).unwrap();
}

#[test]
fn faults_say_what_where_and_the_cure() {
    let (folder, path) = place();
    let missing = folder.path().join("no/such/folder/keys");
    let fault = Keys::open(&missing, NOW).unwrap_err().to_string();
    assert!(
        fault.contains("cannot be written") && fault.contains("name a file"),
        "{fault}"
    );
    for text in ["", "# only a remark\n", "\0\0", &"x".repeat(70_000)] {
        write(&path, text);
        let fault = Keys::open(&path, NOW).unwrap_err().to_string();
        assert!(
            fault.contains("keys:1: ") && fault.contains("remove the file"),
            "{fault}"
        );
    }
    let many: String = (0..17)
        .map(|id| format!("{id} {} active\n", "ab".repeat(32)))
        .collect();
    write(&path, &many);
    assert!(
        Keys::open(&path, NOW)
            .unwrap_err()
            .to_string()
            .contains("keys:17: more keys than 16")
    );
    write(
        &path,
        &format!("7 {} active\r\n\n# kept by hand\n", "AB".repeat(32)),
    );
    assert_eq!(Keys::open(&path, NOW).unwrap().signing(NOW), 7);
}

#[test]
fn h108_rotation_loses_nobody_within_the_grace() {
    const DAY: u64 = 86_400;
    let (_folder, path) = place();
    let first = Keys::open(&path, NOW).unwrap();
    let old = signed(&first, NOW);
    // Two nodes learn of the new key a minute apart: what the first signs in that minute the second can check.
    let second = Keys::rotate(&path, NOW + DAY, DAY).unwrap();
    let meanwhile = signed(&second, NOW + DAY + 60);
    assert!(accepts(&first, meanwhile) && accepts(&second, meanwhile));
    let after = signed(&second, NOW + DAY + LEAD_SECONDS);
    assert_ne!(after.0, meanwhile.0);
    assert!(accepts(&second, after) && accepts(&second, old));
    // The next rotation within the grace keeps the first key, one after it does not.
    let third = Keys::rotate(&path, NOW + DAY + DAY / 2, DAY).unwrap();
    assert!(accepts(&third, old) && accepts(&third, after));
    let fourth = Keys::rotate(&path, NOW + 2 * DAY + 10, DAY).unwrap();
    assert!(!accepts(&fourth, old) && accepts(&fourth, after));
    // A leaked key goes at once.
    let alone = Keys::rotate(&path, NOW + 3 * DAY, 0).unwrap();
    assert!(!accepts(&alone, after));
    assert_eq!(alone.keys.len(), 1);
    assert!(accepts(
        &Keys::open(&path, NOW).unwrap(),
        signed(&alone, NOW + 3 * DAY)
    ));
}

#[test]
fn h108_a_rotation_soon_after_the_first_key_loses_nobody() {
    let (_folder, path) = place();
    let first = Keys::open(&path, NOW).unwrap();
    let second = Keys::rotate(&path, NOW + 5, 86_400).unwrap();
    // A node that has not read the new key yet, by a right clock and by one that is behind.
    for unix in [NOW - 86_400, NOW + 5, NOW + LEAD_SECONDS] {
        assert!(accepts(&first, signed(&second, unix)), "{unix}");
    }
    let after = signed(&second, NOW + 5 + LEAD_SECONDS);
    assert!(accepts(&second, after) && !accepts(&first, after));
}

#[test]
fn many_rotations_stay_readable() {
    let (_folder, path) = place();
    Keys::open(&path, NOW).unwrap();
    let mut last = 1;
    for round in 1..600 {
        let keys = Keys::rotate(&path, NOW + round, u64::MAX).unwrap();
        let id = keys.keys.last().unwrap().id;
        assert_ne!(id, last);
        last = id;
        assert!(keys.keys.len() <= KEYS_MAX);
        assert!(keys.keys.iter().filter(|key| key.may_sign).count() <= 2);
    }
    Keys::open(&path, NOW).unwrap();
}

#[test]
fn h110_some_key_signs_at_any_time() {
    let (_folder, path) = place();
    Keys::open(&path, NOW).unwrap();
    let keys = Keys::rotate(&path, NOW + 1000, 86_400).unwrap();
    for unix in [
        0,
        NOW - 3600,
        NOW,
        NOW + 1000,
        NOW + 1120,
        NOW + 30 * 86_400,
        u64::MAX,
    ] {
        assert!(accepts(&keys, signed(&keys, unix)));
    }
}

#[test]
fn what_is_signed_for_one_purpose_is_void_for_another() {
    let (_folder, path) = place();
    let keys = Keys::open(&path, NOW).unwrap();
    let signature = keys.sign(1, Purpose::Challenge, [b"message", b""]);
    assert!(keys.is_genuine(1, Purpose::Challenge, [b"message", b""], &signature));
    for purpose in [Purpose::Asker, Purpose::Clearance] {
        assert!(!keys.is_genuine(1, purpose, [b"message", b""], &signature));
    }
    for length in 0..MAC_BYTES {
        assert!(!keys.is_genuine(
            1,
            Purpose::Challenge,
            [b"message", b""],
            &signature[..length]
        ));
    }
}
