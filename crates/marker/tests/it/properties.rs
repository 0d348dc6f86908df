//! What must hold for any bytes, on generated targets and pages. Fuzzing calls the same functions.

use cattlegrid_marker::invariants;
use proptest::prelude::*;

fn target() -> impl Strategy<Value = Vec<u8>> {
    let marker = format!("cg={}", "A".repeat(68));
    let short = format!("cg={}", "A".repeat(67));
    let sealed = format!("cg:{}", "A".repeat(111));
    let pieces: Vec<String> = [
        "/",
        "?",
        "&",
        ";",
        "#",
        "=",
        "cg",
        "cg=",
        "cg:",
        "-",
        "a",
        "%2f",
        "%23",
        "..",
        &marker,
        &short,
        &sealed,
        &invariants::marker(),
    ]
    .map(str::to_owned)
    .to_vec();
    let piece = prop_oneof![
        8 => prop::sample::select(pieces).prop_map(String::into_bytes),
        1 => any::<u8>().prop_map(|byte| vec![byte]),
    ];
    prop::collection::vec(piece, 0..16).prop_map(|pieces| [vec![b'/'], pieces.concat()].concat())
}

fn page() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        12 => prop::sample::select(invariants::PIECES.to_vec()).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => any::<u8>().prop_map(|byte| vec![byte]),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn stripping_undoes_marking(target in target()) {
        invariants::targets(&target);
    }

    #[test]
    fn unmarking_undoes_rewriting_however_a_page_is_cut(seed in any::<[u8; 4]>(), page in page()) {
        invariants::pages(&[&seed[..], &page].concat());
    }
}
