//! Which format a log has, told from its first lines.

use super::Format;
use super::Reader;
use super::Skip;
use crate::text::printable;

/// How many lines are looked at.
const SAMPLE_LINES: usize = 200;

/// What the first lines of a log look like.
#[derive(Debug)]
pub enum Detection {
    /// Most of them have this format.
    Found(Format),
    /// There was no line to look at.
    NoLines,
    /// No format reads even half of them. The message says what was seen and what to try.
    Unknown(String),
}

/// Finds the format that reads the most of the first lines.
pub fn detect(first_lines: &[u8]) -> Detection {
    let lines: Vec<&[u8]> = first_lines
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::trim_ascii_end)
        .filter(|line| !line.is_empty() && line[0] != b'#')
        .take(SAMPLE_LINES)
        .collect();
    if lines.is_empty() {
        return Detection::NoLines;
    }
    let mut best: Option<(usize, usize, Format)> = None;
    for format in Format::known() {
        let (read, score) = score(&format, &lines);
        if best.as_ref().is_none_or(|(_, most, _)| score > *most) {
            best = Some((read, score, format));
        }
    }
    match best {
        Some((read, _, format)) if read * 2 > lines.len() => Detection::Found(format),
        _ => Detection::Unknown(unknown(&lines)),
    }
}

/// Lines read, and a score in which a client that is an address counts double:
/// `host 192.0.2.1 - - [` fits the combined format too, with the host as client.
fn score(format: &Format, lines: &[&[u8]]) -> (usize, usize) {
    let mut reader = Reader::new(&[]);
    let (mut read, mut addresses) = (0, 0);
    for line in lines {
        match format.read(line, &mut reader) {
            Ok(request) => {
                read += 1;
                addresses += usize::from(request.client.address().is_some());
            }
            Err(Skip::NoRequest | Skip::NotHttp) => read += 1,
            Err(_) => {}
        }
    }
    (read, read + addresses)
}

/// An explanation from the first line, with the nearest thing to try.
fn unknown(lines: &[&[u8]]) -> String {
    let line = lines[0];
    let shown = printable(&line[..line.len().min(200)]);
    let hint = if line.starts_with(b"{") {
        let keys = super::json::top_keys(line);
        let keys = if keys.is_empty() {
            "none could be read".to_owned()
        } else {
            keys.join(", ")
        };
        format!(
            "it is JSON; name its keys, for instance --format json:source=KEY,time=KEY,request=KEY,status=KEY (keys in this line: {keys})"
        )
    } else if memchr::memchr(b'[', line).is_some() && memchr::memchr(b'"', line).is_some() {
        "it looks like a web server's log with fields of its own: give the server's format string, for instance \
         --format '%h %l %u %t \"%r\" %>s %b' (Apache) or '$remote_addr - $remote_user [$time_local] \"$request\" $status $body_bytes_sent' (nginx)"
            .to_owned()
    } else {
        "it does not look like a web access log; if it is one, give its format string with --format"
            .to_owned()
    };
    format!("the format of this log was not recognised. Its first line is\n    {shown}\nand {hint}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(lines: &str, expected: &str) {
        match detect(lines.as_bytes()) {
            Detection::Found(format) => assert_eq!(format.name(), expected),
            Detection::NoLines => assert_eq!(expected, "nothing"),
            Detection::Unknown(message) => assert!(message.contains(expected), "{message}"),
        }
    }

    #[test]
    fn formats_are_told_apart() {
        let combined =
            r#"192.0.2.1 - - [01/Jan/2030:00:00:00 +0000] "GET / HTTP/1.1" 200 512 "-" "M""#;
        check(combined, "combined");
        check(&format!("\n{combined} \"-\"\n"), "combined");
        check(&format!("www.example.com:80 {combined}"), "vhost_combined");
        check(&combined[..combined.len() - 8], "common");
        check(
            &format!("www.example.com:80 {}", &combined[..combined.len() - 8]),
            "vhost_common",
        );
        check(
            r#"{"time_local":"01/Jan/2030:00:00:00 +0000","remote_addr":"192.0.2.1","request":"GET / HTTP/1.1","status":"200"}"#,
            "json_nginx",
        );
        check(r#"{"ip":"192.0.2.1","ts":3}"#, "keys in this line: ip, ts");
        check("hello\nworld", "does not look like a web access log");
        check("\n\n", "nothing");
    }
}
