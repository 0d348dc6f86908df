//! What must hold for every line whatever its bytes: the bodies of the fuzz targets, also run as property tests.

use std::net::Ipv4Addr;
use std::sync::LazyLock;

use super::Cursor;
use super::DEFAULT_SESSION_COOKIES;
use super::Format;
use super::Reader;
use crate::request::Client;
use crate::request::Field;
use crate::request::Request;

/// A line of a text format with a name.
///
/// * The short way and the long way of reading agree, and the line's end is found.
/// * The client is the line's first field (after the host), whatever else the line holds.
/// * What was read, written down as a clean line, is read as the same request.
pub fn text_line(name: &str, bytes: &[u8]) {
    let format = Format::parse(name).expect("a named format");
    let (mut one, mut two) = (reader(), reader());
    let line = bytes
        .split(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    let line = line.trim_ascii_end();
    if line.is_empty() {
        return;
    }
    let text = [line, b"\nthe next line"].concat();
    let mut cursor = Cursor::new(&text);
    let mut request = Request::default();
    let short = format
        .read_next(&text, &mut cursor, &mut one, &mut request)
        .map(|()| request);
    assert_eq!(cursor.at(), line.len() + 1, "the line's end");
    let long = format.read(line, &mut two);
    assert_eq!(short.map(Plain::of), long.map(Plain::of), "both ways");
    let Ok(request) = long else { return };
    check_values(&request);
    let has_host = name.starts_with("vhost");
    let first = line
        .split(|byte| *byte == b' ')
        .nth(usize::from(has_host))
        .unwrap_or_default();
    assert_eq!(
        client(&request),
        first.to_vec(),
        "the client is the first field"
    );
    let written = write_clean(&request, has_host, name.ends_with("combined"));
    let again = format.read(written.as_slice(), &mut one).map(Plain::of);
    assert_eq!(
        again,
        Ok(Plain::of(request)),
        "{}",
        String::from_utf8_lossy(&written)
    );
}

/// A line of JSON: what was read, written as JSON of the same keys, is read as the same request.
pub fn json_line(name: &str, bytes: &[u8]) {
    let format = Format::parse(name).expect("a named format");
    let mut first = reader();
    let Ok(request) = format.read(bytes, &mut first) else {
        return;
    };
    check_values(&request);
    let (Ok(client), Ok(target), Ok(method)) = (
        String::from_utf8(client(&request)),
        std::str::from_utf8(request.target),
        std::str::from_utf8(request.method),
    ) else {
        return;
    };
    let (time, status, bytes) = (request.time, request.status, request.bytes);
    let json = match name {
        "json_nginx" => {
            serde_json::json!({"remote_addr": client, "msec": time, "request_method": method, "request_uri": target, "status": status, "body_bytes_sent": bytes})
        }
        "json_caddy" => {
            serde_json::json!({"ts": time, "request": {"client_ip": client, "method": method, "uri": target}, "status": status, "size": bytes})
        }
        "json_cattlegrid" => {
            let decision = match (request.is_refused, request.is_trap) {
                (true, _) => "own",
                (false, true) => "trap",
                (false, false) => "pass",
            };
            serde_json::json!({"time": time, "source": client, "method": method, "target": target, "status": status, "bytes": bytes, "decision": decision})
        }
        _ => {
            serde_json::json!({"ClientHost": client, "StartUTC": jiff::Timestamp::from_second(i64::from(time)).unwrap_or_default().to_string(), "RequestMethod": method, "RequestPath": target, "DownstreamStatus": status, "DownstreamContentSize": bytes})
        }
    };
    let written = json.to_string();
    let mut second = reader();
    let again = format
        .read(written.as_bytes(), &mut second)
        .map(|request| Plain::of(request).core());
    assert_eq!(again, Ok(Plain::of(request).core()), "{written}");
}

/// A line of any format with a name, which the first byte chooses, alone and with the format recognised from it: read or
/// skipped, and what was read is in range.
pub fn named_line(bytes: &[u8]) {
    let Some((first, line)) = bytes.split_first() else {
        return;
    };
    // Compiled once: the fuzzer comes here thousands of times a second.
    static FORMATS: LazyLock<Vec<Format>> = LazyLock::new(|| {
        let header = b"#Fields: date time c-ip cs-method cs-uri-stem cs-uri-query sc-status cs(User-Agent)\n";
        let mut formats = Format::known();
        formats.extend(Format::from_header(header).into_iter().flatten());
        formats
    });
    let formats = &*FORMATS;
    let number = usize::from(*first) % formats.len();
    let mut reader = reader();
    if let Ok(request) = formats[number].read(line, &mut reader) {
        check_values(&request);
    }
    if first & 15 == 0
        && let super::Detection::Found(format) = super::detect(line)
    {
        for line in line.split(|byte| *byte == b'\n') {
            if let Ok(request) = format.read(line, &mut reader) {
                check_values(&request);
            }
        }
    }
}

/// A format string and a line: refused with a message, or compiled; then every line is read or skipped.
pub fn format_string(format: &str, line: &[u8]) {
    match Format::parse(format) {
        Err(message) => assert!(!message.is_empty()),
        Ok(format) => {
            let mut reader = reader();
            if let Ok(request) = format.read(line, &mut reader) {
                check_values(&request);
            }
        }
    }
}

fn reader() -> Reader {
    Reader::new(&DEFAULT_SESSION_COOKIES.map(str::to_owned))
}

fn check_values(request: &Request<'_>) {
    assert!(
        (100..1000).contains(&request.status)
            && !request.target.is_empty()
            && !request.method.is_empty()
    );
    assert!(
        request.bytes <= 1 << 50 && request.time >= 631_152_000 && request.time < 4_102_444_800
    );
    assert!(!client(request).is_empty() && client(request).len() <= 255);
}

fn client(request: &Request<'_>) -> Vec<u8> {
    match request.client {
        Client::V4(address) => Ipv4Addr::from(address).to_string().into_bytes(),
        Client::Written(text) => text.to_vec(),
    }
}

/// A request with values of its own, to compare two that borrow from different places.
#[derive(Debug, PartialEq)]
struct Plain {
    core: (Vec<u8>, u32, Vec<u8>, Vec<u8>, u16, u64),
    fields: [Option<Option<Vec<u8>>>; 5],
}

impl Plain {
    fn of(request: Request<'_>) -> Plain {
        let field = |field: Field<'_>| match field {
            Field::NotLogged => None,
            Field::Empty => Some(None),
            Field::Value(value) => Some(Some(value.to_vec())),
        };
        Plain {
            core: (
                client(&request),
                request.time,
                request.method.to_vec(),
                request.target.to_vec(),
                request.status,
                request.bytes,
            ),
            fields: [
                request.referrer,
                request.agent,
                request.session,
                request.host,
                request.user,
            ]
            .map(field),
        }
    }

    fn core(self) -> (Vec<u8>, u32, Vec<u8>, Vec<u8>, u16, u64) {
        self.core
    }
}

fn write_clean(request: &Request<'_>, has_host: bool, has_agent: bool) -> Vec<u8> {
    let or_dash = |field: Field<'_>| field.value().unwrap_or(b"-").to_vec();
    let time = jiff::Timestamp::from_second(i64::from(request.time)).unwrap_or_default();
    let mut line = Vec::new();
    if has_host {
        line.extend([or_dash(request.host).as_slice(), b":80 "].concat());
    }
    line.extend([&client(request), b" - ".as_slice(), &or_dash(request.user)].concat());
    line.extend(
        time.strftime(" [%d/%b/%Y:%H:%M:%S +0000] \"")
            .to_string()
            .into_bytes(),
    );
    line.extend([request.method, b" ", request.target, b" HTTP/1.1\" "].concat());
    line.extend(format!("{} {}", request.status, request.bytes).into_bytes());
    if has_agent {
        line.extend(
            [
                b" \"".as_slice(),
                &or_dash(request.referrer),
                b"\" \"",
                &or_dash(request.agent),
                b"\"",
            ]
            .concat(),
        );
    }
    line
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::format::Skip;

    const TEXT: [&str; 4] = ["common", "combined", "vhost_common", "vhost_combined"];
    const JSON: [&str; 4] = [
        "json_nginx",
        "json_caddy",
        "json_traefik",
        "json_cattlegrid",
    ];

    const OTHER_LINES: [&str; 9] = [
        r#"Jan  1 00:00:00 lb haproxy[1]: 192.0.2.1:4711 [01/Jan/2030:00:00:00.000] web~ app/1 0/0/1/2/3 200 512 - - ---- 1/1/0/0/0 0/0 "GET / HTTP/1.1""#,
        r#"https 2030-01-01T00:00:00.000000Z app/my/1 192.0.2.1:4711 198.51.100.1:80 0.000 0.001 0.000 200 200 34 512 "GET https://www.example.com:443/ HTTP/1.1" "M" - -"#,
        r#"0a1b bucket [01/Jan/2030:00:00:00 +0000] 192.0.2.1 - 3E57 OP a "GET /a HTTP/1.1" 200 - 512 512 10 9 "-" "M" -"#,
        r#"[2030-01-01T00:00:00.000Z] "GET / HTTP/1.1" 200 - 0 512 3 2 "203.0.113.99, 192.0.2.1" "M" "1" "www.example.com" "-""#,
        r#"[01/Jan/2030:00:00:00 +0000] - 200 200 - GET https www.example.com "/a" [Client 192.0.2.1] [Length 512] [Gzip -] [Sent-to app] "M" "-""#,
        "2030/01/01 00:00:00 [2030-01-01 00:00:00.000000] [router:a] [origin:www.example.com] [client: 192.0.2.1] [useragent: M] GET /a 200",
        "2030-01-01\t00:00:00\tFRA2\t512\t192.0.2.1\tGET\td1.example.net\t/a\t200\t-\tMozilla/5.0%20(X11)\tq=1\t-\tHit\tid\twww.example.com\thttps\t62\t0.001\t-",
        "2030-01-01T00:00:00\t192.0.2.1\tN17\tMozilla/5.0 (X11)\t/people/a\t200\t-\tS1",
        "#Fields: date time c-ip cs-method cs-uri-stem cs-uri-query sc-status cs(User-Agent)\n2030-01-01 00:00:00 192.0.2.1 GET /a b=1 200 \"M+5\"",
    ];

    /// Lines that are nearly right: a sound one with bytes changed, doubled or cut out.
    fn nearly(line: &'static [u8]) -> impl Strategy<Value = Vec<u8>> {
        let edit = (
            0..line.len(),
            0..12_usize,
            prop::sample::select(b"\" \\[]-:/0919.\x00\xff\r?{}#A".to_vec()),
            0..3_u8,
        );
        prop::collection::vec(edit, 0..4).prop_map(move |edits| {
            let mut bytes = line.to_vec();
            for (at, length, byte, kind) in edits {
                let at = at.min(bytes.len());
                let end = (at + length).min(bytes.len());
                match kind {
                    0 => bytes.insert(at, byte),
                    1 => drop(bytes.splice(at..end, [byte])),
                    _ => drop(bytes.drain(at..end)),
                }
            }
            bytes
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        #[test]
        fn combined(line in nearly(br#"192.0.2.1 - - [01/Jan/2030:00:00:00 +0000] "GET /a?b=1 HTTP/1.1" 200 512 "http://a.example/" "Mozilla/5.0" "-""#)) {
            TEXT.iter().for_each(|name| text_line(name, &line));
        }

        #[test]
        fn vhost(line in nearly(br#"www.example.com:443 2001:db8::1 - ann lee [01/Jan/2030:00:00:00 -0330] "POST / HTTP/2" 404 - "-" "a \"b\" c""#)) {
            TEXT.iter().for_each(|name| text_line(name, &line));
        }

        #[test]
        fn nginx_json(line in nearly(br#"{"time_iso8601":"2030-01-01T00:00:00+00:00","remote_addr":"192.0.2.1","request":"GET /a\u00e9 HTTP/1.1","status":200,"body_bytes_sent":5,"args":"x"}"#)) {
            JSON.iter().for_each(|name| json_line(name, &line));
        }

        #[test]
        fn caddy_json(line in nearly(br#"{"ts":1893456000.5,"request":{"remote_ip":"192.0.2.1","method":"GET","host":"h","uri":"/a","headers":{"User-Agent":["M"]}},"size":9,"status":200}"#)) {
            JSON.iter().for_each(|name| json_line(name, &line));
        }

        #[test]
        fn cattlegrid_json(line in nearly(br#"{"time":1893456000.123,"source":"192.0.2.1","method":"GET","host":"h","target":"/a?b=c","status":200,"bytes":9,"agent":"M","decision":"pass"}"#)) {
            JSON.iter().for_each(|name| json_line(name, &line));
        }

        #[test]
        fn lines_of_other_formats(line in prop::sample::select(OTHER_LINES.to_vec()), cut in any::<prop::sample::Index>(), byte: u8, first: u8) {
            let mut bytes = line.as_bytes().to_vec();
            let at = cut.index(bytes.len());
            bytes[at] = byte;
            bytes.insert(0, first);
            named_line(&bytes);
            named_line(&bytes[..at + 1]);
        }

        #[test]
        fn any_bytes(line in prop::collection::vec(any::<u8>(), 0..200)) {
            TEXT.iter().for_each(|name| text_line(name, &line));
            JSON.iter().for_each(|name| json_line(name, &line));
        }

        #[test]
        fn strings(format in r#"([%$][a-zA-Z{}>_]{0,12}[ "\[\]-]{0,2}){0,8}"#, line in "[ -~]{0,120}") {
            format_string(&format, line.as_bytes());
        }
    }

    #[test]
    fn reasons_have_names() {
        let names: std::collections::BTreeSet<&str> =
            Skip::ALL.iter().map(|skip| skip.name()).collect();
        assert_eq!(names.len(), Skip::ALL.len());
        assert!(
            Skip::ALL
                .iter()
                .enumerate()
                .all(|(number, skip)| *skip as usize == number)
        );
    }
}
