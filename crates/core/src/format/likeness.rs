//! Texts that look like a pattern of digits and letters, such as a time stamp.

/// True for a text that begins like the pattern.
pub(super) fn looks_like(text: &[u8], pattern: &str) -> bool {
    text.len() >= pattern.len()
        && text
            .iter()
            .zip(pattern.bytes())
            .all(|(byte, wanted)| match wanted {
                b'9' => byte.is_ascii_digit(),
                b'A' => byte.is_ascii_uppercase(),
                b'a' => byte.is_ascii_alphabetic(),
                _ => *byte == wanted,
            })
}
