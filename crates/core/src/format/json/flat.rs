//! The usual line is one flat object without blanks and escapes: it is read without the JSON library, in a third of the time. Whatever
//! is otherwise, or wrong, is left to the library.

use super::Node;
use super::walk::Found;
use super::walk::Value;
use crate::format::marks::Marks;

/// Digits of a number that is read here: all of them fit, so that none is rounded twice.
const DIGITS_MAX: usize = 15;

/// Reads a line; `None` where that is not for us to do. What was found until then is void.
pub(super) fn read<'a>(root: &Node, line: &'a str, found: &mut Found<'a>) -> Option<()> {
    let bytes = line.as_bytes();
    // Nothing below a blank may stand in JSON text. Without a way out in the middle many bytes are looked at together.
    let has_control = bytes
        .iter()
        .fold(false, |found, byte| found | (*byte < b' '));
    if has_control || memchr::memchr(b'\\', bytes).is_some() {
        return None;
    }
    let mut marks = Marks::default();
    marks.seek(bytes, 0);
    let (mut at, mut expected) = (0, 0);
    let mut before = b'{';
    loop {
        if *bytes.get(at)? != before {
            return None;
        }
        let (key, after) = text(bytes, at + 1, &mut marks)?;
        if *bytes.get(after)? != b':' {
            return None;
        }
        let node = member(root, key, &mut expected);
        let (value, after) = value(bytes, after + 1, &mut marks)?;
        if let Some(node) = node {
            found.put(node, value);
        }
        if &bytes[after..] == b"}" {
            return Some(());
        }
        (at, before) = (after, b',');
    }
}

/// The node of a key. The lines of a log have their keys in one order: the next is where the last one was not.
#[inline]
fn member<'n>(root: &'n Node, key: &[u8], expected: &mut usize) -> Option<&'n Node> {
    if !root.has_patterns
        && let Some(next) = root.children.get(*expected)
        && next.key.as_bytes() == key
    {
        *expected += 1;
        return Some(next);
    }
    let at = root.position_from(key, *expected)?;
    *expected = at + 1;
    root.children.get(at)
}

/// The text in the quotes that begin here, and where it goes on behind them.
#[inline]
fn text<'a>(bytes: &'a [u8], open: usize, marks: &mut Marks) -> Option<(&'a [u8], usize)> {
    if marks.next(bytes)? != open {
        return None;
    }
    let close = marks.next(bytes)?;
    Some((&bytes[open + 1..close], close + 1))
}

/// The text, number or word that begins here, and where it goes on behind it.
#[inline]
fn value<'a>(bytes: &'a [u8], at: usize, marks: &mut Marks) -> Option<(Value<'a>, usize)> {
    let behind = |rest: &[u8]| bytes.len() - rest.len();
    match bytes.get(at)? {
        b'"' => {
            let (text, after) = text(bytes, at, marks)?;
            Some((Value::Borrowed(text), after))
        }
        b'0'..=b'9' => number(&bytes[at..]).map(|(number, rest)| (number, behind(rest))),
        _ => [&b"null"[..], b"true", b"false"]
            .into_iter()
            .find_map(|word| bytes[at..].strip_prefix(word))
            .map(|rest| (Value::Null, behind(rest))),
    }
}

/// A number without sign and exponent.
pub(super) fn number(bytes: &[u8]) -> Option<(Value<'_>, &[u8])> {
    let (whole, digits, rest) = digits(bytes, 0)?;
    let is_padded = digits > 1 && bytes[0] == b'0';
    let (number, digits, rest) = match rest.strip_prefix(b".") {
        None => (whole as f64, digits, rest),
        Some(rest) => {
            let (all, behind, rest) = self::digits(rest, whole)?;
            // Both are exact, so the quotient is the number nearest to what is written.
            let quotient = all as f64 / POWERS[behind.min(DIGITS_MAX)];
            (quotient, digits + behind, rest)
        }
    };
    let is_ours = digits <= DIGITS_MAX && !is_padded && !matches!(rest.first(), Some(b'e' | b'E'));
    is_ours.then_some((Value::Number(number), rest))
}

/// Digits behind a number, how many, and what follows them.
fn digits(bytes: &[u8], before: u64) -> Option<(u64, usize, &[u8])> {
    let (mut number, mut length) = (before, 0);
    while let Some(digit @ b'0'..=b'9') = bytes.get(length) {
        number = number
            .wrapping_mul(10)
            .wrapping_add(u64::from(digit - b'0'));
        length += 1;
    }
    (1..=DIGITS_MAX)
        .contains(&length)
        .then(|| (number, length, &bytes[length..]))
}

const POWERS: [f64; DIGITS_MAX + 1] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::JsonFormat;
    use super::super::walk::walk;
    use super::*;

    /// Parts that lines are put together from: as the gate writes them, and what is left to the library.
    const MEMBERS: [&str; 30] = [
        r#""time":1893456000.123"#,
        r#""time":1893456000"#,
        r#""time":"01/Jan/2030""#,
        r#""source":"192.0.2.1""#,
        r#""source":"""#,
        r#""source":null"#,
        r#""method":"GET""#,
        r#""target":"/a?b=c""#,
        r#""target":"/ä""#,
        r#""target":"/\u00e4""#,
        "\"target\":\"/\t\"",
        r#""status":200"#,
        r#""status":0200"#,
        r#""status":2e2"#,
        r#""status":-1"#,
        r#""status":123456789012345678"#,
        r#""status":1."#,
        r#""status":true"#,
        r#""bytes":0.000001"#,
        r#""agent":{"a":1}"#,
        r#""agent":["a"]"#,
        r#""other":"x""#,
        r#""other":falsehood"#,
        r#""\u0074ime":1"#,
        r#" "status":200"#,
        r#""status" :200"#,
        r#""status":200 "#,
        r#""decision":"pass""#,
        r#""cookie_a":"1""#,
        "",
    ];

    fn told(result: Option<()>, found: &Found<'_>) -> Option<String> {
        result?;
        Some(format!("{:?} {}", found.values, found.duplicate))
    }

    proptest! {
        #[test]
        fn what_is_read_here_the_library_reads_alike(
            members in prop::collection::vec(prop::sample::select(&MEMBERS[..]), 0..8),
            end in prop::sample::select(&["}", "", "}}", "} ", ",}"][..]),
            map in prop::sample::select(&["json_cattlegrid", "json_nginx"][..]),
        ) {
            let line = format!("{{{}{end}", members.join(","));
            let format = JsonFormat::named(map).unwrap();
            let mut ours = Found::new(Vec::new());
            let result = read(&format.root, &line, &mut ours);
            let mut theirs = Found::new(Vec::new());
            let expected = walk(&format.root, &line, &mut theirs).ok();
            if result.is_some() {
                prop_assert_eq!(told(result, &ours), told(expected, &theirs));
            }
        }
    }

    #[test]
    fn the_gates_lines_are_read_here() {
        let format = JsonFormat::named("json_cattlegrid").unwrap();
        let line = r#"{"time":1893456000.123,"source":"192.0.2.1","method":"GET","host":"www.example.org","target":"/a","status":200,"bytes":1024,"referrer":"","agent":"Firefox/ä","session":"","duration":0.001234,"decision":"pass","reason":"under_k1"}"#;
        let mut found = Found::new(Vec::new());
        assert_eq!(read(&format.root, line, &mut found), Some(()));
        for line in [
            "",
            "{",
            "{}",
            r#"{"a":1"#,
            r#"{"a":1}x"#,
            r#"{"a":"\"}"#,
            r#"{"a":01}"#,
        ] {
            assert_eq!(read(&format.root, line, &mut found), None, "{line}");
        }
    }
}
