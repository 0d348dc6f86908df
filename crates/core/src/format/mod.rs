//! Log bytes to [`Request`] or [`Skip`]: which formats there are, and how one is recognised.

mod clean;
mod columns;
mod detect;
mod fields;
mod foreign;
pub mod invariants;
mod json;
mod layout;
mod likeness;
mod marks;
mod named;
mod part;
mod pattern;
mod skip;
mod time;
mod wrapper;

pub use detect::Detection;
pub use detect::detect;
pub use fields::DEFAULT_SESSION_COOKIES;
pub use fields::session;
pub use named::FORMAT_HELP;
pub use skip::Skip;

use jiff::tz::TimeZone;

use crate::request::Request;
use columns::Columns;
use fields::Scratch;
use foreign::foreign;
use json::JsonFormat;
use layout::Layout;
use marks::Marks;
use pattern::Pattern;
use wrapper::unwrap_line;

/// A log format, ready to read lines.
#[derive(Debug, Clone)]
pub struct Format {
    name: String,
    /// At least one. A log may mix several; the first that reads a line counts.
    layouts: Vec<Layout>,
    /// Something else wrote its own time and name before each line: syslog, Kubernetes, docker.
    is_wrapped: bool,
    /// The name of the field with the addresses that proxies pass on.
    forwarded: Option<String>,
}

impl Format {
    /// A format by its name or format string.
    pub fn parse(text: &str) -> Result<Format, String> {
        let text = text.trim();
        let alias = match text {
            "nginx" | "apache" => "combined",
            "iis" => "w3c",
            _ => text,
        };
        if let Some(format) = Format::named(alias) {
            return Ok(format);
        }
        let layout = if let Some(map) = text.strip_prefix("json:") {
            Layout::Json(JsonFormat::custom(map)?)
        } else if alias == "w3c" {
            return Ok(Format::of(alias, vec![Layout::Columns(Columns::w3c()?)]));
        } else if let Some(names) = text.strip_prefix("w3c:") {
            Layout::Columns(Columns::from_owner(names)?)
        } else if text.contains(['%', '$']) {
            Layout::Text(Pattern::compile(text)?)
        } else {
            return Err(format!(
                "there is no format named '{text}'. Known: {FORMAT_HELP}"
            ));
        };
        Ok(Format::of(text, vec![layout]))
    }

    fn of(name: &str, layouts: Vec<Layout>) -> Format {
        Format {
            name: name.to_owned(),
            layouts,
            is_wrapped: false,
            forwarded: None,
        }
    }

    /// The named formats, most specific first.
    pub fn known() -> Vec<Format> {
        let names = named::names();
        names.filter_map(Format::named).collect()
    }

    fn named(name: &str) -> Option<Format> {
        named::layouts(name).map(|layouts| Format::of(name, layouts))
    }

    /// The format of a W3C log whose header stands in this text. `None` where there is no header.
    pub fn from_header(text: &[u8]) -> Option<Result<Format, String>> {
        let columns = Columns::from_header(text)?;
        Some(columns.map(|columns| Format::of("w3c", vec![Layout::Columns(columns)])))
    }

    /// The format a log begins with when the owner gave this one: a W3C log names its columns itself.
    pub fn at_start(&self, text: &[u8]) -> Result<Format, String> {
        match Format::from_header(text) {
            Some(format) if self.has_header() => format,
            _ => Ok(self.clone()),
        }
    }

    /// The format after the last header in a text, where that is another one: W3C logs may change their columns.
    pub fn after(&self, text: &[u8]) -> Option<Format> {
        if !self.has_header() {
            return None;
        }
        let header = memchr::memmem::rfind_iter(text, b"#Fields:")
            .find(|at| *at == 0 || text[at - 1] == b'\n')?;
        let (line, _) = split_line(&text[header..]);
        self.with_header(line, &text[header..])
    }

    /// The format that a header line sets from here on.
    pub fn with_header(&self, line: &[u8], text: &[u8]) -> Option<Format> {
        if !self.has_header() || !columns::is_header(line) {
            return None;
        }
        // A header that lacks what a request needs leaves its lines unread, under the columns before it.
        let mut columns = Columns::from_header_line(line, text).ok()?;
        if let Some(name) = &self.forwarded {
            columns.set_forwarded(name).ok()?;
        }
        Some(Format {
            layouts: vec![Layout::Columns(columns)],
            ..self.clone()
        })
    }

    fn has_header(&self) -> bool {
        matches!(&self.layouts[0], Layout::Columns(columns) if columns.has_header())
    }

    /// Takes the field of this name as the list of addresses that proxies pass on.
    pub fn set_forwarded(&mut self, name: &str) -> Result<(), String> {
        let mut known: Vec<String> = Vec::new();
        let mut found = false;
        for layout in &mut self.layouts {
            let set = match layout {
                Layout::Named(_, pattern) | Layout::Text(pattern) => pattern.set_forwarded(name),
                Layout::Columns(columns) => columns.set_forwarded(name),
                Layout::Json(json) => {
                    json.set_forwarded(name);
                    Ok(())
                }
            };
            match set {
                Ok(()) => found = true,
                Err(names) => known.extend(names.into_iter().map(str::to_owned)),
            }
        }
        if found {
            self.forwarded = Some(name.to_owned());
            return Ok(());
        }
        let known = if known.is_empty() {
            "no other fields".to_owned()
        } else {
            known.join(", ")
        };
        Err(format!(
            "has the format {}, which has no field '{name}' (it has {known}); if the log has it, give the server's format string with --format",
            self.name
        ))
    }

    /// The name, or the format string it was made from.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Reads the line of a text at which the cursor stands, which is not the text's end, into an empty request, and moves the
    /// cursor behind it.
    #[inline(always)]
    pub fn read_next<'a>(
        &self,
        text: &'a [u8],
        cursor: &mut Cursor,
        reader: &'a mut Reader,
        request: &mut Request<'a>,
    ) -> Result<(), Skip> {
        let start = cursor.at;
        let (marks, scratch) = (&mut cursor.marks, &mut reader.scratch);
        let next = match &self.layouts[0] {
            Layout::Named(clean, _) if !self.is_wrapped => {
                clean.read(text, start, marks, scratch, request)
            }
            _ => None,
        };
        match next {
            // The line's length is bounded by where the next one starts.
            Some(next) if next - start <= LINE_BYTES_MAX => {
                cursor.at = next;
                Ok(())
            }
            _ => {
                *request = self.read_next_slowly(text, cursor, reader)?;
                Ok(())
            }
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
        if let Layout::Named(..) = self.layouts[0] {
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
        let line = self.inside(line);
        let layout = match self.layouts.as_slice() {
            [only] => only,
            layouts => Layout::best(layouts, line, &mut reader.scratch),
        };
        layout
            .read(line, &mut reader.scratch)
            .map_err(|skip| match skip {
                Skip::NoRequest | Skip::NotHttp => skip,
                _ if foreign(line).is_some() => Skip::OtherLog,
                _ => skip,
            })
    }

    /// How well the format fits a line: 2, 1 or 0.
    fn fit(&self, line: &[u8], reader: &mut Reader) -> usize {
        let line = self.inside(line);
        let scratch = &mut reader.scratch;
        self.layouts
            .iter()
            .map(|layout| layout.fit(line, scratch))
            .max()
            .unwrap_or(0)
    }

    /// The line without what a carrier wrote before it.
    fn inside<'a>(&self, line: &'a [u8]) -> &'a [u8] {
        if self.is_wrapped {
            unwrap_line(line).unwrap_or(line)
        } else {
            line
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

/// True for a line in the very form in which the gate writes it. Any other way of writing the same is read, too, at five times the cost:
/// the gate's tests hold that its lines have it.
pub fn is_gates_line(line: &[u8]) -> bool {
    json::is_own(line)
}

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

    /// Takes times that are written without a zone as times of this one.
    pub fn set_zone(&mut self, zone: &TimeZone) {
        self.scratch.dates.here = time::Here(zone.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Client;
    use crate::request::Field;
    use crate::request::Header;

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
        assert_eq!(Format::known().len(), named::names().count());
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

    /// `Sec-Fetch-Mode`, `Sec-CH-UA`, `Accept-Language` and the order of a line.
    fn headers(format: &str, line: &str) -> [String; 4] {
        let format = Format::parse(format).unwrap();
        let mut reader = Reader::new(&[]);
        let request = format.read(line.as_bytes(), &mut reader).unwrap();
        let wanted = [
            Header::FetchMode,
            Header::Brands,
            Header::Language,
            Header::Order,
        ];
        wanted.map(|header| match request.headers.get(header) {
            Field::NotLogged => "?".to_owned(),
            Field::Empty => "-".to_owned(),
            Field::Value(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        })
    }

    #[test]
    fn header_fields_of_browsers() {
        assert_eq!(headers("combined", COMBINED), ["?"; 4]);
        let format = r#"$remote_addr [$time_local] "$request" $status "$http_sec_fetch_mode" "$http_sec_ch_ua" "$http_accept_language""#;
        let line = r#"192.0.2.1 [01/Jan/2030:00:00:00 +0000] "GET /a HTTP/1.1" 200 "navigate" "\x22Chromium\x22;v=\x22131\x22" "-""#;
        let brands = r"\x22Chromium\x22;v=\x22131\x22";
        assert_eq!(headers(format, line), ["navigate", brands, "-", "?"]);
        let apache = r#"%h %t "%r" %>s "%{Sec-Fetch-Mode}i""#;
        let line = r#"192.0.2.1 [01/Jan/2030:00:00:00 +0000] "GET /a HTTP/1.1" 200 "cors""#;
        assert_eq!(headers(apache, line), ["cors", "?", "?", "?"]);
        let w3c = "w3c:date time c-ip cs-method cs-uri-stem sc-status cs(Accept-Language)";
        let line = "2030-01-01 00:00:00 192.0.2.1 GET /a 200 de";
        assert_eq!(headers(w3c, line), ["?", "?", "de", "?"]);
    }

    #[test]
    fn header_fields_of_browsers_in_json() {
        let nginx = r#"{"msec":"1893456000.1","remote_addr":"192.0.2.1","request":"GET /a HTTP/1.1","status":200,"http_sec_fetch_mode":"","http_sec_ch_ua":"\"Chromium\";v=\"131\"","http_accept_language":"de"}"#;
        let brands = r#""Chromium";v="131""#;
        assert_eq!(headers("json_nginx", nginx), ["-", brands, "de", "?"]);
        let gate = r#"{"time":1893456000.5,"source":"192.0.2.1","method":"GET","target":"/a","status":200,"decision":"pass","ua":"'Chromium';v='131'","language":"","order":"huael"}"#;
        assert_eq!(
            headers("json_cattlegrid", gate),
            ["?", "'Chromium';v='131'", "-", "huael"]
        );
        // Caddy logs all header fields. Without TLS no browser sends most of them.
        let caddy = |tls: &str, fields: &str| {
            format!(
                r#"{{"ts":1893456000.5,"request":{{"client_ip":"192.0.2.2","method":"GET","host":"h","uri":"/a","headers":{{{fields}}}{tls}}},"status":200}}"#
            )
        };
        let tls = r#","tls":{"version":772}"#;
        let sent = r#""Sec-Fetch-Mode":["navigate"],"Sec-Ch-Ua":["\"Chromium\";v=\"131\""],"Accept-Language":["de"]"#;
        assert_eq!(
            headers("json_caddy", &caddy(tls, sent)),
            ["navigate", brands, "de", "?"]
        );
        assert_eq!(headers("json_caddy", &caddy(tls, "")), ["-", "-", "-", "?"]);
        assert_eq!(headers("json_caddy", &caddy("", "")), ["?", "?", "-", "?"]);
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
