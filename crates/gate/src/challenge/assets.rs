//! The files that the pages load, from the gate's own prefix and from nowhere else.

use std::sync::LazyLock;

use sha2::Digest;
use sha2::Sha256;

/// A file as it is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asset {
    /// The `content-type` header. Send `x-content-type-options: nosniff` with it.
    pub content_type: &'static str,
    /// The `cache-control` header.
    pub cache_control: &'static str,
    /// The file.
    pub bytes: &'static [u8],
}

struct File {
    stem: &'static str,
    extension: &'static str,
    content_type: &'static str,
    bytes: &'static [u8],
    hash: String,
}

static FILES: LazyLock<[File; 3]> = LazyLock::new(|| {
    [
        File::new(
            "challenge",
            "js",
            "text/javascript; charset=utf-8",
            include_bytes!("../../assets/challenge.js"),
        ),
        File::new(
            "solver",
            "js",
            "text/javascript; charset=utf-8",
            include_bytes!("../../assets/solver.js"),
        ),
        File::new(
            "style",
            "css",
            "text/css; charset=utf-8",
            include_bytes!("../../assets/style.css"),
        ),
    ]
});

/// The file with this name behind the gate's prefix.
///
/// A name carries a hash of its content, so it can be kept for ever. A page of another version of the gate asks by another
/// hash: it gets the file we have, not to be kept.
pub fn find(name: &str) -> Option<Asset> {
    let (stem, rest) = name.split_once('.')?;
    let (hash, extension) = rest.split_once('.')?;
    let file = FILES
        .iter()
        .find(|file| file.stem == stem && file.extension == extension)?;
    Some(Asset {
        content_type: file.content_type,
        cache_control: match file.hash == hash {
            true => "public, max-age=31536000, immutable",
            false => "no-store",
        },
        bytes: file.bytes,
    })
}

/// The name under which a file is served.
pub(super) fn name(stem: &str) -> String {
    let file = FILES.iter().find(|file| file.stem == stem);
    file.map(|file| format!("{}.{}.{}", file.stem, file.hash, file.extension))
        .unwrap_or_default()
}

impl File {
    fn new(
        stem: &'static str,
        extension: &'static str,
        content_type: &'static str,
        bytes: &'static [u8],
    ) -> File {
        let digest = Sha256::digest(bytes);
        File {
            stem,
            extension,
            content_type,
            bytes,
            hash: digest
                .iter()
                .take(8)
                .map(|byte| format!("{byte:02x}"))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_by_name_and_hash() {
        for stem in ["challenge", "solver", "style"] {
            let asset = find(&name(stem)).unwrap();
            assert!(
                asset.cache_control.contains("immutable") && asset.bytes.len() < 8192,
                "{stem}"
            );
        }
        assert_eq!(
            find("challenge.0123456789abcdef.js").unwrap().cache_control,
            "no-store"
        );
        for unknown in [
            "",
            ".",
            "..",
            "challenge.js",
            "style.x.js",
            "../style.x.css",
            "other.x.js",
            "style.x.y.css",
        ] {
            assert_eq!(find(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn files_load_nothing_from_elsewhere() {
        for file in FILES.iter() {
            let text = str::from_utf8(file.bytes).unwrap();
            for foreign in [
                "http:",
                "https:",
                "\"//",
                "url(",
                "@import",
                "eval(",
                "innerHTML",
                "document.write",
            ] {
                assert!(!text.contains(foreign), "{} has {foreign}", file.stem);
            }
        }
    }
}
