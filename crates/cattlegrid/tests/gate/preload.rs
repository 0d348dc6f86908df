//! Libraries in C that change what the system tells a program they are preloaded into.

use std::path::Path;
use std::process::Command;

/// Compiles one of them into a folder. Its path goes into `LD_PRELOAD`.
pub(crate) fn compiled(source: &str, folder: &Path) -> String {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gate/preload");
    let library = folder.join(source).with_extension("so");
    let status = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-Wall", "-o"])
        .arg(&library)
        .arg(sources.join(source))
        .status()
        .unwrap();
    assert!(status.success(), "cc: {status}");
    library.into_os_string().into_string().unwrap()
}
