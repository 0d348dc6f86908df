//! Which format a log has, told from its first lines.

use super::Format;
use super::Reader;
use super::foreign::foreign;
use super::wrapper::unwrap_line;
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
    /// No format reads even half of them. The message says so of the log, what was seen and what to try.
    Unknown(String),
    /// The same, and no server writes its requests like this: an error log, or some other file. The message says so.
    Foreign(String),
}

/// Finds the format that reads the most of the first lines.
pub fn detect(first_lines: &[u8]) -> Detection {
    let lines: Vec<&[u8]> = first_lines
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::trim_ascii_end)
        .filter(|line| !line.is_empty() && line[0] != b'#')
        .take(SAMPLE_LINES)
        .collect();
    let header = Format::from_header(first_lines);
    if let Some(Err(message)) = header {
        return Detection::Unknown(format!("is not read: {message}"));
    }
    if lines.is_empty() {
        return Detection::NoLines;
    }
    let wrapped = lines
        .iter()
        .filter(|line| unwrap_line(line).is_some())
        .count();
    let is_wrapped = wrapped * 2 > lines.len();
    let mut formats: Vec<Format> = header.into_iter().flatten().collect();
    formats.extend(Format::known());
    formats
        .iter_mut()
        .for_each(|format| format.is_wrapped = is_wrapped);
    let mut format = best(&formats, &lines);
    add_others(&mut format, &formats, &lines);
    // Lines of an error log in between say nothing about the format.
    let fits = fits(&format, &lines);
    let read = fits.iter().filter(|fit| **fit > 0).count();
    let others = lines
        .iter()
        .zip(&fits)
        .filter(|(line, fit)| **fit == 0 && foreign(line).is_some())
        .count();
    if read * 2 > lines.len() - others {
        Detection::Found(format)
    } else {
        unknown(&lines)
    }
}

/// The format that fits best; among equals the first.
fn best(formats: &[Format], lines: &[&[u8]]) -> Format {
    let mut best = (0, &formats[0]);
    for format in formats {
        let fit: usize = fits(format, lines).into_iter().sum();
        if fit > best.0 {
            best = (fit, format);
        }
    }
    best.1.clone()
}

/// How well a format fits each line.
fn fits(format: &Format, lines: &[&[u8]]) -> Vec<usize> {
    let mut reader = Reader::new(&[]);
    lines
        .iter()
        .map(|line| format.fit(line, &mut reader))
        .collect()
}

/// Other formats in one log that are looked for.
const OTHERS_MAX: usize = 3;

/// A log may change its format, or two servers may write one: a format that fits one in twenty of the lines, and better
/// than those before it, is read too.
fn add_others(format: &mut Format, formats: &[Format], lines: &[&[u8]]) {
    for _ in 0..OTHERS_MAX {
        let unsure: Vec<&[u8]> = lines
            .iter()
            .zip(fits(format, lines))
            .filter_map(|(line, fit)| (fit < 2).then_some(*line))
            .collect();
        if unsure.is_empty() {
            return;
        }
        let other = best(formats, &unsure);
        let better = fits(&other, &unsure)
            .into_iter()
            .zip(fits(format, &unsure))
            .filter(|(other, one)| other > one)
            .count();
        if better == 0 || better * 20 < lines.len() {
            return;
        }
        format.name = format!("{} and {}", format.name, other.name);
        format.layouts.extend(other.layouts);
    }
}

/// An explanation from the first line, with the nearest thing to try.
fn unknown(lines: &[&[u8]]) -> Detection {
    let line = lines[0];
    let shown = printable(&line[..line.len().min(200)]);
    if let Some(name) = lines.iter().find_map(|line| foreign(line)) {
        return Detection::Foreign(format!(
            "is no access log: it looks like {name}. Its first line is\n    {shown}\nGive the log in which the server writes its requests (often access.log)."
        ));
    }
    let says = |hint: &str| {
        format!("has a format that was not recognised. Its first line is\n    {shown}\nand {hint}")
    };
    if line.starts_with(b"{") {
        let keys = super::json::top_keys(line);
        let keys = if keys.is_empty() {
            "none could be read".to_owned()
        } else {
            keys.join(", ")
        };
        Detection::Unknown(says(&format!(
            "it is JSON; name its keys, for instance --format json:source=KEY,time=KEY,request=KEY,status=KEY (keys in this line: {keys})"
        )))
    } else if memchr::memchr(b'[', line).is_some() && memchr::memchr(b'"', line).is_some() {
        Detection::Unknown(says(
            "it looks like a web server's log with fields of its own: give the server's format string, for instance \
             --format '%h %l %u %t \"%r\" %>s %b' (Apache) or '$remote_addr - $remote_user [$time_local] \"$request\" $status $body_bytes_sent' (nginx)",
        ))
    } else {
        Detection::Foreign(says(
            "it does not look like a web access log; if it is one, give its format string with --format",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(lines: &str, expected: &str) {
        match detect(lines.as_bytes()) {
            Detection::Found(format) => assert_eq!(format.name(), expected),
            Detection::NoLines => assert_eq!(expected, "nothing"),
            Detection::Unknown(message) | Detection::Foreign(message) => {
                assert!(message.contains(expected), "{message}");
            }
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
        let own = r#"{"time":1893456000.1,"source":"192.0.2.1","method":"GET","target":"/","status":200,"decision":"challenge"}"#;
        check(own, "json_cattlegrid");
        // Keys of these names may stand in anybody's log; the decision is ours.
        check(
            &own.replace("decision", "verdict"),
            "keys in this line: method",
        );
        check(r#"{"ip":"192.0.2.1","ts":3}"#, "keys in this line: ip, ts");
        check("hello\nworld", "does not look like a web access log");
        check("\n\n", "nothing");
    }
}
