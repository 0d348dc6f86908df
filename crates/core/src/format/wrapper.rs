//! What carries log lines from place to place and writes its own words before each: syslog, Kubernetes, docker.

use super::likeness::looks_like;

/// The line inside. `None` where nothing is wrapped around it.
pub(super) fn unwrap_line(line: &[u8]) -> Option<&[u8]> {
    kubernetes(line)
        .or_else(|| syslog(line))
        .or_else(|| docker(line))
}

/// `2030-01-01T00:00:00.000000000Z stdout F …`
fn kubernetes(line: &[u8]) -> Option<&[u8]> {
    if !looks_like(line, "9999-99-99T99:99:99") {
        return None;
    }
    let after = after_blank(line)?;
    let after = after
        .strip_prefix(b"stdout ")
        .or_else(|| after.strip_prefix(b"stderr "))?;
    after
        .strip_prefix(b"F ")
        .or_else(|| after.strip_prefix(b"P "))
}

/// `Jan  1 00:00:00 host nginx[123]: …`, `2030-01-01T00:00:00+00:00 host nginx: …`, `<190>…` before either.
fn syslog(line: &[u8]) -> Option<&[u8]> {
    let line = match line {
        [b'<', rest @ ..] => {
            let end = rest.iter().take(4).position(|byte| *byte == b'>')?;
            &rest[end + 1..]
        }
        _ => line,
    };
    let after_time = if looks_like(line, "Aaa 99 99:99:99 ") || looks_like(line, "Aaa  9 99:99:99 ")
    {
        &line[16..]
    } else if looks_like(line, "9999-99-99T99:99:99") {
        after_blank(line)?
    } else if let Some(rest) = line.strip_prefix(b"1 ") {
        return syslog_5424(rest);
    } else {
        return None;
    };
    let after_host = after_blank(after_time)?;
    let colon = after_host
        .iter()
        .take(80)
        .position(|byte| matches!(byte, b':' | b' '))?;
    after_host[colon..].strip_prefix(b": ")
}

/// `2030-01-01T00:00:00Z host nginx 123 - - …`, without structured data.
fn syslog_5424(line: &[u8]) -> Option<&[u8]> {
    if !looks_like(line, "9999-99-99T99:99:99") {
        return None;
    }
    let after_id = (0..5).try_fold(line, |rest, _| after_blank(rest))?;
    after_id.strip_prefix(b"- ")
}

/// `web-1  | …`
fn docker(line: &[u8]) -> Option<&[u8]> {
    let bar = line.iter().take(80).position(|byte| *byte == b'|')?;
    let name = line[..bar].trim_ascii_end();
    let is_name = !name.is_empty()
        && name.len() < bar
        && name
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte));
    line[bar + 1..].strip_prefix(b" ").filter(|_| is_name)
}

fn after_blank(text: &[u8]) -> Option<&[u8]> {
    memchr::memchr(b' ', text).map(|at| &text[at + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_inside_is_found() {
        for before in [
            "Jan  1 00:00:00 www nginx[123]: ",
            "<190>Jan 11 00:00:00 www nginx: ",
            "2030-01-01T00:00:00.123+01:00 www haproxy[1]: ",
            "<134>1 2030-01-01T00:00:00Z www nginx 123 - - ",
            "2030-01-01T00:00:00.123456789Z stdout F ",
            "web-1  | ",
        ] {
            let line = format!("{before}192.0.2.1 - - [x");
            assert_eq!(
                unwrap_line(line.as_bytes()),
                Some(b"192.0.2.1 - - [x".as_slice()),
                "{line}"
            );
        }
        for line in [
            "",
            "192.0.2.1 - - [x: y",
            "Jan  1 00:00:00 www",
            "a|b",
            "<",
            "<12345>x",
        ] {
            assert_eq!(unwrap_line(line.as_bytes()), None, "{line}");
        }
    }
}
