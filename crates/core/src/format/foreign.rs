//! Logs that are no access logs, by how their lines begin: a file of them is named, a line among requests is no error.

use super::likeness::looks_like;

/// Beginnings of lines: `9` stands for a digit, `A` for a capital, `a` for a letter.
const BEGINNINGS: [(&str, &str); 9] = [
    ("9999/99/99 99:99:99 [a", "an error log of nginx"),
    ("[Aaa Aaa 99 99:99:99", "an error log of Apache"),
    ("9999-99-99 99:99:99.999999 [A", "an error log of LiteSpeed"),
    ("[9999-99-99 99:99:99] a", "an event log of a PHP program"),
    (
        "[9999-99-99T99:99:99.999999+99:99] a",
        "an event log of a PHP program",
    ),
    ("99-Aaa-9999 99:99:99.999 A", "a log of a Java server"),
    ("9999-99-99T99:99:99,999", "a log of a Java program"),
    ("<Event ", "an event log of Windows in XML"),
    ("{\"level\":", "a log of a program, in JSON"),
];

/// What kind of log the line is from, if not one of requests.
pub(super) fn foreign(line: &[u8]) -> Option<&'static str> {
    let line = super::wrapper::unwrap_line(line).unwrap_or(line);
    if is_failed_connection(line) {
        return Some("a log of failed connections of HAProxy");
    }
    BEGINNINGS
        .iter()
        .find(|(beginning, _)| looks_like(line, beginning))
        .map(|(_, name)| *name)
}

/// `192.0.2.1:50033 [01/Jan/2030:00:00:00.000] frontend/1: SSL handshake failure`
fn is_failed_connection(line: &[u8]) -> bool {
    let Some(bracket) = line.iter().take(60).position(|byte| *byte == b'[') else {
        return false;
    };
    let rest = &line[bracket..];
    looks_like(rest, "[99/Aaa/9999:99:99:99.999] ")
        && rest[27..]
            .split(|byte| *byte == b' ')
            .next()
            .is_some_and(|word| word.ends_with(b":"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_of_other_things_are_named() {
        let check = |line: &str, expected: Option<&str>| {
            assert_eq!(foreign(line.as_bytes()), expected, "{line}");
        };
        check(
            "2030/01/01 00:00:00 [error] 1#1: *1 open() failed",
            Some("an error log of nginx"),
        );
        check(
            "192.0.2.1:50033 [01/Jan/2030:00:00:00.000] web/1: SSL handshake failure",
            Some("a log of failed connections of HAProxy"),
        );
        check(
            "192.0.2.1:50033 [01/Jan/2030:00:00:00.000] web~ app/1 0/0/0/1/1 200",
            None,
        );
        check("192.0.2.1 - - [01/Jan/2030:00:00:00 +0000]", None);
        check("", None);
    }
}
