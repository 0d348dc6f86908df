//! Log bytes to [`Request`] or [`Skip`]: which formats there are, and how one is recognised.

mod clean;
mod detect;
mod fields;
pub mod invariants;
mod json;
mod marks;
mod pattern;
mod time;

use std::fmt;

pub use detect::Detection;
pub use detect::detect;
pub use fields::DEFAULT_SESSION_COOKIES;

use crate::request::Request;
use clean::Clean;
use fields::Scratch;
use json::JsonFormat;
use marks::Marks;
use pattern::Pattern;

/// Why a line was not counted. Each is a name in the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Skip {
    /// The line does not have the format's fields and separators.
    Shape,
    /// A quoted field never ends.
    OpenQuote,
    /// Nothing, or `-`, stands where the client should be.
    NoSource,
    /// The client field is longer than any address or host name.
    LongSource,
    /// The time cannot be read.
    BadTime,
    /// The time is before 1990 or after 2100.
    TimeOutOfRange,
    /// A day or more away from the lines before and after it.
    TimeJump,
    /// The connection brought no request: the request field is empty.
    NoRequest,
    /// The request field is not `METHOD target`: TLS bytes on a plain port, probes.
    NotHttp,
    /// The status is not a number from 100 to 999.
    BadStatus,
    /// The size is neither a number nor `-`.
    BadBytes,
    /// Not a JSON object, or nested deeper than 64.
    BadJson,
    /// A JSON line names its client, time or request twice.
    DuplicateKey,
    /// A JSON line lacks its client, time, request or status.
    MissingKey,
    /// Longer than the longest line that is read.
    LongLine,
    /// A comment or header line.
    Comment,
}

impl Skip {
    /// All reasons, in the order of their numbers.
    pub const ALL: [Skip; 16] = [
        Skip::Shape,
        Skip::OpenQuote,
        Skip::NoSource,
        Skip::LongSource,
        Skip::BadTime,
        Skip::TimeOutOfRange,
        Skip::TimeJump,
        Skip::NoRequest,
        Skip::NotHttp,
        Skip::BadStatus,
        Skip::BadBytes,
        Skip::BadJson,
        Skip::DuplicateKey,
        Skip::MissingKey,
        Skip::LongLine,
        Skip::Comment,
    ];

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Skip::Shape => "wrong_shape",
            Skip::OpenQuote => "open_quote",
            Skip::NoSource => "no_source",
            Skip::LongSource => "long_source",
            Skip::BadTime => "bad_time",
            Skip::TimeOutOfRange => "time_out_of_range",
            Skip::TimeJump => "time_jump",
            Skip::NoRequest => "no_request",
            Skip::NotHttp => "not_http",
            Skip::BadStatus => "bad_status",
            Skip::BadBytes => "bad_bytes",
            Skip::BadJson => "bad_json",
            Skip::DuplicateKey => "duplicate_key",
            Skip::MissingKey => "missing_key",
            Skip::LongLine => "long_line",
            Skip::Comment => "comment",
        }
    }

    /// The reason in words.
    pub fn explain(self) -> &'static str {
        match self {
            Skip::Shape => "does not have the fields of this format",
            Skip::OpenQuote => "a quoted field never ends",
            Skip::NoSource => "names no client",
            Skip::LongSource => "the client field is longer than a host name can be",
            Skip::BadTime => "the time cannot be read",
            Skip::TimeOutOfRange => "the time is before 1990 or after 2100",
            Skip::TimeJump => "a day or more away from the lines around it",
            Skip::NoRequest => "the connection brought no request",
            Skip::NotHttp => "the request is not HTTP (TLS bytes on a plain port, probes)",
            Skip::BadStatus => "the status is not a number from 100 to 999",
            Skip::BadBytes => "the size is not a number",
            Skip::BadJson => "not a JSON object, or nested too deep",
            Skip::DuplicateKey => "a field that decides who or when stands there twice",
            Skip::MissingKey => "client, time, request or status is missing",
            Skip::LongLine => "longer than the longest line that is read (64 KiB)",
            Skip::Comment => "a comment",
        }
    }

    /// True where the line is a sound log line of something that was no HTTP request.
    pub fn is_sound(self) -> bool {
        matches!(self, Skip::NoRequest | Skip::NotHttp | Skip::Comment)
    }
}

impl fmt::Display for Skip {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.explain())
    }
}

/// A log format, ready to read lines.
#[derive(Debug, Clone)]
pub struct Format {
    name: String,
    layout: Layout,
}

#[derive(Debug, Clone)]
enum Layout {
    /// A named format: clean lines have a short way.
    Named(Clean, Pattern),
    Text(Pattern),
    Json(JsonFormat),
}

/// Formats that have a name of their own, with their spelling as a format string.
const NAMED_TEXT: [(&str, Clean, &str); 4] = [
    (
        "vhost_combined",
        Clean {
            has_host: true,
            has_agent: true,
        },
        r#"%v %h %l %u %t "%r" %>s %O "%{Referer}i" "%{User-Agent}i""#,
    ),
    (
        "combined",
        Clean {
            has_host: false,
            has_agent: true,
        },
        r#"%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i""#,
    ),
    (
        "vhost_common",
        Clean {
            has_host: true,
            has_agent: false,
        },
        r#"%v %h %l %u %t "%r" %>s %O"#,
    ),
    (
        "common",
        Clean {
            has_host: false,
            has_agent: false,
        },
        r#"%h %l %u %t "%r" %>s %b"#,
    ),
];

/// What `--format` accepts, for messages.
pub const FORMAT_HELP: &str = "common, combined, vhost_common, vhost_combined, json_nginx, json_caddy, json_traefik, \
json:source=KEY,time=KEY,… for other JSON lines, or the format string from the server's configuration \
(Apache: '%h %l %u %t \"%r\" %>s %b', nginx: '$remote_addr - $remote_user [$time_local] \"$request\" …')";

impl Format {
    /// A format by name or by format string.
    pub fn parse(text: &str) -> Result<Format, String> {
        let text = text.trim();
        let alias = if text == "nginx" || text == "apache" {
            "combined"
        } else {
            text
        };
        if let Some(format) = Format::named(alias) {
            return Ok(format);
        }
        if let Some(map) = text.strip_prefix("json:") {
            return Ok(Format {
                name: text.to_owned(),
                layout: Layout::Json(JsonFormat::custom(map)?),
            });
        }
        if !text.contains(['%', '$']) {
            return Err(format!(
                "there is no format named '{text}'. Known: {FORMAT_HELP}"
            ));
        }
        Ok(Format {
            name: text.to_owned(),
            layout: Layout::Text(Pattern::compile(text)?),
        })
    }

    /// The named formats, most specific first.
    pub fn known() -> Vec<Format> {
        let names = NAMED_TEXT
            .iter()
            .map(|(name, _, _)| *name)
            .chain(json::NAMED);
        names.filter_map(Format::named).collect()
    }

    fn named(name: &str) -> Option<Format> {
        let text = NAMED_TEXT.iter().find(|(known, _, _)| *known == name);
        let layout = match text {
            Some((_, clean, pattern)) => Layout::Named(*clean, Pattern::compile(pattern).ok()?),
            None => Layout::Json(JsonFormat::named(name)?),
        };
        Some(Format {
            name: name.to_owned(),
            layout,
        })
    }

    /// The name, or the format string it was made from.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Reads the line of a text at which the cursor stands, which is not the text's end, and moves the cursor behind it.
    #[inline(always)]
    pub fn read_next<'a>(
        &self,
        text: &'a [u8],
        cursor: &mut Cursor,
        reader: &'a mut Reader,
    ) -> Result<Request<'a>, Skip> {
        let start = cursor.at;
        let clean = match &self.layout {
            Layout::Named(clean, _) => {
                clean.read(text, start, &mut cursor.marks, &mut reader.scratch)
            }
            _ => None,
        };
        match clean {
            // The line's length is bounded by where the next one starts.
            Some((request, next)) if next - start <= LINE_BYTES_MAX => {
                cursor.at = next;
                Ok(request)
            }
            _ => self.read_next_slowly(text, cursor, reader),
        }
    }

    #[cold]
    #[inline(never)]
    fn read_next_slowly<'a>(
        &self,
        text: &'a [u8],
        cursor: &mut Cursor,
        reader: &'a mut Reader,
    ) -> Result<Request<'a>, Skip> {
        let (line, next) = split_line(&text[cursor.at..]);
        cursor.at = text.len() - next.len();
        if let Layout::Named(..) = self.layout {
            cursor.marks.seek(text, cursor.at);
        }
        self.read(line, reader)
    }

    /// Reads one line (without its newline).
    pub fn read<'a>(&self, line: &'a [u8], reader: &'a mut Reader) -> Result<Request<'a>, Skip> {
        if line.len() > LINE_BYTES_MAX {
            return Err(Skip::LongLine);
        }
        if line.starts_with(b"#") {
            return Err(Skip::Comment);
        }
        match &self.layout {
            Layout::Named(_, pattern) | Layout::Text(pattern) => {
                pattern.read(line, &mut reader.scratch)
            }
            Layout::Json(json) => json.read(line, &mut reader.scratch),
        }
    }
}

/// A place in a text that is read line by line.
#[derive(Debug)]
pub struct Cursor {
    /// Where the next line begins.
    at: usize,
    marks: Marks,
}

impl Cursor {
    /// The beginning of a text.
    pub fn new(text: &[u8]) -> Cursor {
        let mut marks = Marks::default();
        marks.seek(text, 0);
        Cursor { at: 0, marks }
    }

    /// Where the next line begins.
    pub fn at(&self) -> usize {
        self.at
    }
}

/// The longest line that is read, with its newline.
pub const LINE_BYTES_MAX: usize = 64 << 10;

/// The first line of a text without its end, and what follows.
pub fn split_line(text: &[u8]) -> (&[u8], &[u8]) {
    let end = memchr::memchr(b'\n', text).unwrap_or(text.len());
    let line = &text[..end];
    (
        line.strip_suffix(b"\r").unwrap_or(line),
        &text[text.len().min(end + 1)..],
    )
}

/// What reading keeps between lines of one thread: the cached date, room for unescaped text.
#[derive(Debug)]
pub struct Reader {
    scratch: Scratch,
}

impl Reader {
    /// A reader that takes the session id from the first of these cookies.
    pub fn new(session_cookies: &[String]) -> Reader {
        Reader {
            scratch: Scratch::new(session_cookies),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Client;
    use crate::request::Field;

    fn client(client: Client<'_>) -> String {
        match client {
            Client::V4(address) => std::net::Ipv4Addr::from(address).to_string(),
            Client::Written(text) => String::from_utf8_lossy(text).into_owned(),
        }
    }

    fn read(format: &str, line: &str) -> String {
        let format = Format::parse(format).unwrap();
        let names: Vec<String> = DEFAULT_SESSION_COOKIES
            .iter()
            .map(|name| (*name).to_owned())
            .collect();
        let mut reader = Reader::new(&names);
        let show = |field: Field<'_>| match field {
            Field::NotLogged => "?".to_owned(),
            Field::Empty => "-".to_owned(),
            Field::Value(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        };
        match format.read(line.as_bytes(), &mut reader) {
            Err(skip) => skip.name().to_owned(),
            Ok(request) => format!(
                "{} {} {} {} {} {} ref={} agent={} session={} host={} user={} us={:?}",
                client(request.client),
                request.time,
                String::from_utf8_lossy(request.method),
                String::from_utf8_lossy(request.target),
                request.status,
                request.bytes,
                show(request.referrer),
                show(request.agent),
                show(request.session),
                show(request.host),
                show(request.user),
                request.duration_us
            ),
        }
    }

    const COMBINED: &str = r#"192.0.2.1 - ann [01/Jan/2030:00:00:00 +0100] "GET /a?b=1 HTTP/1.1" 200 512 "-" "Mozilla/5.0""#;

    #[test]
    fn every_name_has_a_format() {
        assert_eq!(Format::known().len(), NAMED_TEXT.len() + json::NAMED.len());
    }

    #[test]
    fn named_formats() {
        assert_eq!(
            read("common", COMBINED),
            "192.0.2.1 1893452400 GET /a?b=1 200 512 ref=? agent=? session=? host=? user=ann us=None"
        );
        assert_eq!(
            read("combined", COMBINED),
            "192.0.2.1 1893452400 GET /a?b=1 200 512 ref=- agent=Mozilla/5.0 session=? host=? user=ann us=None"
        );
        assert_eq!(
            read("vhost_combined", &format!("www.example.com:443 {COMBINED}")),
            "192.0.2.1 1893452400 GET /a?b=1 200 512 ref=- agent=Mozilla/5.0 session=? host=www.example.com user=ann us=None"
        );
    }

    #[test]
    fn format_strings_of_apache_and_nginx() {
        let line = r#"192.0.2.1 - - [01/Jan/2030:00:00:00 +0000] "GET / HTTP/1.1" 200 - "-" "a \"b\" c" "x=1; PHPSESSID=abc" 0.250"#;
        let expected = r#"192.0.2.1 1893456000 GET / 200 0 ref=- agent=a \"b\" c session=abc host=? user=- us=Some(250000)"#;
        assert_eq!(
            read(
                r#"%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i" "%{Cookie}i" %{s}T"#,
                line
            ),
            expected
        );
        assert_eq!(
            read(
                r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" "$http_cookie" $request_time"#,
                line
            ),
            expected
        );
        assert_eq!(
            read(
                r#"$time_iso8601|$remote_addr|$request_method|$uri|$args|$status|$cookie_sid"#,
                "2030-01-01T01:00:00+01:00|192.0.2.9|GET|/x|y=2|404|s1"
            ),
            "192.0.2.9 1893456000 GET /x?y=2 404 0 ref=? agent=? session=s1 host=? user=? us=None"
        );
        assert_eq!(
            read(
                "%{%Y-%m-%d %H:%M:%S}t %a %m %U%q %s",
                "2030-01-01 00:00:01 192.0.2.9 GET /x?z 200"
            ),
            "192.0.2.9 1893456001 GET /x?z 200 0 ref=? agent=? session=? host=? user=? us=None"
        );
    }

    #[test]
    fn json_lines() {
        let nginx = r#"{"time_iso8601":"2030-01-01T00:00:00+00:00","remote_addr":"192.0.2.1","request":"GET /a HTTP/1.1","status":200,"body_bytes_sent":5,"request_time":0.003,"http_referer":"","http_user_agent":"a \"b\"","host":"h","cookie_sid":"s"}"#;
        assert_eq!(
            read("json_nginx", nginx),
            r#"192.0.2.1 1893456000 GET /a 200 5 ref=- agent=a "b" session=s host=h user=? us=Some(3000)"#
        );
        let caddy = r#"{"ts":1893456000.5,"request":{"remote_ip":"192.0.2.1","client_ip":"192.0.2.2","method":"GET","host":"h","uri":"/a","headers":{"User-Agent":["M"],"Referer":["r"]}},"duration":0.5,"size":9,"status":200}"#;
        assert_eq!(
            read("json_caddy", caddy),
            "192.0.2.2 1893456000 GET /a 200 9 ref=r agent=M session=- host=h user=? us=Some(500000)"
        );
        let traefik = r#"{"ClientHost":"192.0.2.1","RequestMethod":"GET","RequestPath":"/a","RequestHost":"h","DownstreamStatus":200,"DownstreamContentSize":9,"StartUTC":"2030-01-01T00:00:00.1Z","Duration":2000000,"request_User-Agent":"M"}"#;
        assert_eq!(
            read("json_traefik", traefik),
            "192.0.2.1 1893456000 GET /a 200 9 ref=? agent=M session=? host=h user=? us=Some(2000)"
        );
        let own = r#"{"ip":"192.0.2.1","when":"01/Jan/2030:00:00:00 +0000","req":{"line":"GET /a HTTP/1.1"},"code":"200"}"#;
        assert_eq!(
            read("json:source=ip,time=when,request=req.line,status=code", own),
            "192.0.2.1 1893456000 GET /a 200 0 ref=? agent=? session=? host=? user=? us=None"
        );
    }

    #[test]
    fn odd_lines_have_named_reasons() {
        let with = |from: &str, to: &str| read("combined", &COMBINED.replace(from, to));
        assert_eq!(with("GET /a?b=1 HTTP/1.1", "-"), "no_request");
        assert_eq!(with("GET /a?b=1 HTTP/1.1", r"\x16\x03\x01"), "not_http");
        assert_eq!(with(" 200 ", " 99999 "), "bad_status");
        assert_eq!(with(" 200 ", " -1 "), "bad_status");
        assert_eq!(with(" 512 ", " 18446744073709551616 "), "bad_bytes");
        assert_eq!(with("01/Jan/2030", "30/Feb/2030"), "bad_time");
        assert_eq!(with("2030", "0000"), "time_out_of_range");
        assert_eq!(with("2030", "9999"), "time_out_of_range");
        assert_eq!(with("Mozilla/5.0\"", "Mozilla/5.0"), "open_quote");
        assert_eq!(with("192.0.2.1", "-"), "no_source");
        assert_eq!(read("combined", ""), "wrong_shape");
        assert_eq!(read("json_nginx", "{"), "bad_json");
        assert_eq!(
            read(
                "json_nginx",
                r#"{"remote_addr":"192.0.2.1","remote_addr":"192.0.2.2"}"#
            ),
            "duplicate_key"
        );
        assert_eq!(
            read("json_nginx", r#"{"remote_addr":"192.0.2.1"}"#),
            "missing_key"
        );
    }

    #[test]
    fn a_wrong_format_string_says_what_is_wrong() {
        assert!(
            Format::parse("combinde")
                .unwrap_err()
                .contains("no format named 'combinde'")
        );
        assert!(Format::parse("%h %Q").unwrap_err().contains("%Q"));
        assert!(
            Format::parse("$remote_addr$status")
                .unwrap_err()
                .contains("nothing between")
        );
        assert!(
            Format::parse("$remote_addr $status")
                .unwrap_err()
                .contains("time")
        );
    }
}
