//! Tokens (RFC 9110, 5.6.2) and lists of them.

/// True for a byte of a token.
pub(crate) const fn is_token(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z')
        || matches!(byte, b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.' | b'^'..=b'`' | b'|' | b'~')
}

/// The same for every byte: the reader asks about each byte of each field name.
pub(crate) static TOKENS: [bool; 256] = {
    let mut tokens = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        tokens[byte] = is_token(byte as u8);
        byte += 1;
    }
    tokens
};

/// The elements of a comma-separated list.
pub(crate) fn elements(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii)
}

/// True where a list has an element, in any letters.
pub(crate) fn has_element(value: &[u8], element: &[u8]) -> bool {
    elements(value).any(|part| part.eq_ignore_ascii_case(element))
}
