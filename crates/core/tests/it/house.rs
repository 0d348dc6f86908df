//! Rules of CONTRIBUTING.md that a test can keep.

use std::fs;
use std::path::Path;
use std::path::PathBuf;

/// Modules of crates, lowest first: a module uses only those before it, so that no two use each other.
const LAYERS: [(&str, &[&str]); 5] = [
    (
        "core",
        &[
            "text",
            "request",
            "networks",
            "proxies",
            "pseudonyms",
            "format",
            "hosts",
            "knowledge",
            "profile",
            "sessions",
            "paths",
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
        ],
    ),
    (
        "gate",
        &[
            "challenge",
            "sign_in",
            "settings",
            "site",
            "state",
            "decide",
            "serve",
            "background",
            "door",
            "start",
        ],
    ),
    (
        "http1",
        &[
            "tokens",
            "chunks",
            "framing",
            "headers",
            "host",
            "target",
            "request",
            "response",
            "invariants",
        ],
    ),
    (
        "marker",
        &[
            "timing",
            "keys",
            "seal",
            "target",
            "reading",
            "charset",
            "references",
            "refresh",
            "links",
            "tag",
            "nesting",
            "raw",
            "rewrite",
            "invariants",
        ],
    ),
    (
        "cattlegrid",
        &[
            "cli",
            "files",
            "arguments",
            "table_8",
            "explain",
            "simulate",
            "lists",
            "gate_file",
            "kb",
            "model",
            "logs",
            "second",
            "incident",
            "paths",
            "feed",
            "reports",
            "inspect",
            "plan",
            "labelled",
            "report",
            "session_examples",
            "replay",
            "train_sessions",
            "evaluate_sessions",
            "path_examples",
            "train_paths",
            "evaluate_paths",
            "lessons",
            "campaign_series",
            "publish",
            "evaluate_kinds",
            "evaluate_calibration",
            "evaluate",
            "evaluate_headers",
            "train_headers",
            "evaluate_campaigns",
            "train_campaigns",
            "train",
            "follow",
            "analyze",
            "gate",
        ],
    ),
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

/// The module of a crate that a file belongs to.
fn module_of(relative: &Path) -> String {
    let first = relative.components().next().unwrap();
    let name = first.as_os_str().to_string_lossy();
    name.trim_end_matches(".rs").to_owned()
}

/// The module of its own crate that a line of code names.
fn used_in(line: &str) -> Option<&str> {
    if line.trim_start().starts_with("//") {
        return None;
    }
    let (_, rest) = line.split_once("crate::")?;
    rest.split(|char: char| !char.is_ascii_alphanumeric() && char != '_')
        .next()
}

#[test]
fn modules_use_only_those_below_them() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for (name, layers) in LAYERS {
        let src = crates.join(name).join("src");
        let mut files = Vec::new();
        sources(&src, &mut files);
        let rank = |module: &str| layers.iter().position(|layer| *layer == module);
        for path in files {
            let module = module_of(path.strip_prefix(&src).unwrap());
            if module == "lib" || module == "main" {
                continue;
            }
            let own = rank(&module);
            assert!(own.is_some(), "{module} is not in the layers of {name}");
            let text = fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap();
            for (number, line) in code.lines().enumerate() {
                let Some(used) = used_in(line).filter(|used| rank(used).is_some()) else {
                    continue;
                };
                let place = format!("{}:{}", path.display(), number + 1);
                assert!(rank(used) <= own, "{place}: {module} uses {used}");
            }
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
