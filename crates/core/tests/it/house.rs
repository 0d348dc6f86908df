//! Rules of CONTRIBUTING.md that a test can keep.

use std::fs;
use std::path::Path;
use std::path::PathBuf;

/// Modules of the crate, lowest first: a module uses only those above it.
const LAYERS: [&str; 20] = [
    "text",
    "request",
    "networks",
    "proxies",
    "pseudonyms",
    "format",
    "hosts",
    "knowledge",
    "profile",
    "site",
    "table",
    "evidence",
    "detectors",
    "verdict",
    "policy",
    "report",
    "settings",
    "campaigns",
    "rehearsal",
    "analysis",
];

fn sources(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, out);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            out.push(path);
        }
    }
}

#[test]
fn modules_use_only_those_below_them() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&src, &mut files);
    let rank = |module: &str| LAYERS.iter().position(|layer| *layer == module);
    for path in files {
        let relative = path.strip_prefix(&src).unwrap();
        let module = relative
            .components()
            .next()
            .unwrap()
            .as_os_str()
            .to_string_lossy()
            .trim_end_matches(".rs")
            .to_owned();
        if module == "lib" {
            continue;
        }
        let own = rank(&module).unwrap_or_else(|| panic!("{module} is not in the list of layers"));
        let text = fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        for (number, line) in code.lines().enumerate() {
            let used = line.split("crate::").nth(1).map(|rest| {
                rest.split(|char: char| !char.is_ascii_alphanumeric() && char != '_')
                    .next()
                    .unwrap()
            });
            let Some(used) =
                used.filter(|used| !line.trim_start().starts_with("//") && rank(used).is_some())
            else {
                continue;
            };
            assert!(
                rank(used) <= Some(own),
                "{}:{}: {module} uses {used}",
                path.display(),
                number + 1
            );
        }
    }
}

#[test]
fn every_file_says_what_it_owns() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    sources(crates, &mut files);
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        assert!(
            text.starts_with("//! "),
            "{} does not open with //!",
            path.display()
        );
    }
}

#[test]
fn data_files_are_what_their_notice_says() {
    use sha2::Digest;
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data");
    let notice = fs::read_to_string(data.join("NOTICE.md")).unwrap();
    let mut checked = 0;
    for line in notice.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line
            .split('|')
            .map(|cell| cell.trim().trim_matches('`'))
            .collect();
        let hash: String = sha2::Sha256::digest(fs::read(data.join(cells[1])).unwrap())
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert_eq!(cells[4], hash, "{}", cells[1]);
        checked += 1;
    }
    assert!(checked > 0);
}
