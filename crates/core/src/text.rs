//! Showing text that strangers wrote: nothing in it may act on a terminal or a page.

use std::fmt::Write;

/// The bytes as one line of harmless text: control characters, direction marks and broken UTF-8 become visible escapes.
pub fn printable(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for char in chunk.valid().chars() {
            push(char, &mut out);
        }
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out
}

fn push(char: char, out: &mut String) {
    match char {
        '\t' => out.push_str("\\t"),
        '\r' => out.push_str("\\r"),
        '\n' => out.push_str("\\n"),
        _ if char.is_ascii_control() => {
            let _ = write!(out, "\\x{:02x}", u32::from(char));
        }
        _ if char.is_control() || is_invisible(char) => {
            let _ = write!(out, "\\u{{{:x}}}", u32::from(char));
        }
        _ => out.push(char),
    }
}

/// Characters that change how others are shown: direction marks, joiners, line separators, tags, the byte order mark.
pub fn is_invisible(char: char) -> bool {
    matches!(char, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// At most `max` characters, with an ellipsis where something was cut.
pub fn shorten(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        None => text.to_owned(),
        Some(_) => text
            .chars()
            .take(max.saturating_sub(1))
            .chain(['…'])
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_acts_on_a_terminal() {
        assert_eq!(printable(b"\x1b]0;x\x07\x1b[2J"), "\\x1b]0;x\\x07\\x1b[2J");
        assert_eq!(
            printable("a\u{9b}b\u{202e}c".as_bytes()),
            "a\\u{9b}b\\u{202e}c"
        );
        assert_eq!(printable(b"\xff\xc3\xa9\x00"), "\\xffé\\x00");
        assert_eq!(printable(b"<script>"), "<script>");
    }

    #[test]
    fn shortening_counts_characters() {
        assert_eq!(shorten("ééé", 3), "ééé");
        assert_eq!(shorten("éééé", 3), "éé…");
    }
}
