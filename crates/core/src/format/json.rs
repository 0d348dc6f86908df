//! JSON lines: which keys of which server mean what, and the request they make. [`walk`] goes through a line.

mod flat;
mod own;
mod walk;

use super::Skip;
use super::fields;
use super::fields::Scratch;
use super::time;
use super::time::TimeStyle;
use crate::request::Client;
use crate::request::Field;
use crate::request::Header;
use crate::request::Headers;
use crate::request::Request;
use walk::Found;
use walk::Value;
use walk::walk;

/// The deepest nesting that is read.
const DEPTH_MAX: usize = 64;

/// A map from keys to what they mean.
#[derive(Debug, Clone)]
pub(super) struct JsonFormat {
    root: Node,
    duration_unit_us: f64,
    /// The map names what a gate decided: a line without it is none of that gate's.
    has_decision: bool,
    /// The map names header fields in which browsers and programs differ.
    has_headers: bool,
    /// The lines are our own gate's.
    is_own: bool,
}

/// One key, with what it means and the keys below it.
#[derive(Debug, Clone, Default)]
struct Node {
    key: String,
    part: Option<Part>,
    /// Among keys of one meaning the later in the map wins (`client_ip` over `remote_ip`).
    rank: u8,
    children: Vec<Node>,
    /// One of their keys ends with a star.
    has_patterns: bool,
}

/// What a key means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
enum Part {
    Source,
    Time,
    Request,
    Method,
    Target,
    Query,
    Status,
    Bytes,
    Referrer,
    Agent,
    Cookie,
    Session,
    Host,
    User,
    Duration,
    Forwarded,
    Decision,
    /// Set where the request came by TLS.
    Tls,
    FetchSite,
    FetchMode,
    FetchDest,
    Brands,
    Mobile,
    Platform,
    Language,
    Order,
}

/// The keys of header fields, in the order of [`Header::ALL`].
const HEADERS: [Part; Header::ALL.len()] = [
    Part::FetchSite,
    Part::FetchMode,
    Part::FetchDest,
    Part::Brands,
    Part::Mobile,
    Part::Platform,
    Part::Language,
    Part::Order,
];
/// The first so many of them are sent over TLS only.
const OF_TLS: usize = 6;

const PARTS: [(&str, Part); 26] = [
    ("source", Part::Source),
    ("time", Part::Time),
    ("request", Part::Request),
    ("method", Part::Method),
    ("target", Part::Target),
    ("query", Part::Query),
    ("status", Part::Status),
    ("bytes", Part::Bytes),
    ("referrer", Part::Referrer),
    ("agent", Part::Agent),
    ("cookie", Part::Cookie),
    ("session", Part::Session),
    ("host", Part::Host),
    ("user", Part::User),
    ("duration", Part::Duration),
    ("forwarded", Part::Forwarded),
    ("decision", Part::Decision),
    ("tls", Part::Tls),
    ("fetch_site", Part::FetchSite),
    ("fetch_mode", Part::FetchMode),
    ("fetch_dest", Part::FetchDest),
    ("ua", Part::Brands),
    ("ua_mobile", Part::Mobile),
    ("ua_platform", Part::Platform),
    ("language", Part::Language),
    ("order", Part::Order),
];

/// Servers whose JSON is known by name.
pub(super) const NAMED: [&str; 7] = [
    "json_nginx",
    "json_caddy",
    "json_traefik",
    "json_envoy",
    "json_matomo",
    "json_cloudflare",
    "json_cattlegrid",
];

const NGINX: &str = "source=remote_addr,time=msec,time=time_local,time=time_iso8601,request=request,method=request_method,target=uri,target=request_uri,\
query=args,status=status,bytes=bytes_sent,bytes=body_bytes_sent,referrer=http_referer,referrer=http_referrer,agent=http_user_agent,\
cookie=http_cookie,session=cookie_*,host=server_name,host=http_host,host=host,user=remote_user,duration=request_time,\
fetch_site=http_sec_fetch_site,fetch_mode=http_sec_fetch_mode,fetch_dest=http_sec_fetch_dest,ua=http_sec_ch_ua,ua_mobile=http_sec_ch_ua_mobile,\
ua_platform=http_sec_ch_ua_platform,language=http_accept_language";
const CADDY: &str = "source=request.remote_ip,source=request.client_ip,time=ts,method=request.method,target=request.uri,status=status,bytes=size,\
referrer=request.headers.Referer,agent=request.headers.User-Agent,cookie=request.headers.Cookie,host=request.host,user=user_id,duration=duration,\
tls=request.tls.version,fetch_site=request.headers.Sec-Fetch-Site,fetch_mode=request.headers.Sec-Fetch-Mode,fetch_dest=request.headers.Sec-Fetch-Dest,\
ua=request.headers.Sec-Ch-Ua,ua_mobile=request.headers.Sec-Ch-Ua-Mobile,ua_platform=request.headers.Sec-Ch-Ua-Platform,language=request.headers.Accept-Language";
const TRAEFIK: &str = "source=ClientAddr,source=ClientHost,time=time,time=StartUTC,method=RequestMethod,target=RequestPath,status=OriginStatus,\
status=DownstreamStatus,bytes=DownstreamContentSize,referrer=request_Referer,agent=request_User-Agent,cookie=request_Cookie,\
host=RequestHost,user=ClientUsername,duration=Duration";

const ENVOY: &str = "source=downstream_direct_remote_address,source=downstream_remote_address,time=start_time,method=method,target=path,target=x-envoy-original-path,\
target=x-envoy-origin-path,status=response_code,bytes=bytes_sent,referrer=referer,agent=user_agent,agent=user-agent,cookie=cookie,\
host=authority,host=:authority,duration=duration";
/// What the log analytics of Matomo reads.
const MATOMO: &str = "source=ip,time=date,target=path,status=status,bytes=length,referrer=referrer,agent=user_agent,host=host,user=userid,\
duration=generation_time_milli";
/// Logpush of Cloudflare, its data set of HTTP requests.
const CLOUDFLARE: &str = "source=ClientIP,time=EdgeEndTimestamp,time=EdgeStartTimestamp,method=ClientRequestMethod,target=ClientRequestPath,target=ClientRequestURI,\
status=OriginResponseStatus,status=EdgeResponseStatus,bytes=EdgeResponseBodyBytes,bytes=EdgeResponseBytes,referrer=ClientRequestReferer,agent=ClientRequestUserAgent,\
host=ClientRequestHost,duration=EdgeTimeToFirstByteMs";
/// What our own gate writes, in its order.
const CATTLEGRID: &str = "time=time,source=source,method=method,host=host,target=target,status=status,bytes=bytes,referrer=referrer,agent=agent,\
session=session,duration=duration,decision=decision,fetch_site=fetch_site,fetch_mode=fetch_mode,fetch_dest=fetch_dest,ua=ua,\
ua_mobile=ua_mobile,ua_platform=ua_platform,language=language,order=order,user=user";
/// The decision after which the site answered.
const PASS: &[u8] = b"pass";
/// The decision for who has followed a trap.
const TRAP: &[u8] = b"trap";

impl JsonFormat {
    /// The map of a server that is known by name.
    pub(super) fn named(name: &str) -> Option<JsonFormat> {
        let (map, duration_unit_us) = match name {
            "json_nginx" => (NGINX, 1e6),
            "json_caddy" => (CADDY, 1e6),
            "json_traefik" => (TRAEFIK, 1e-3),
            "json_envoy" => (ENVOY, 1e3),
            "json_matomo" => (MATOMO, 1e3),
            "json_cloudflare" => (CLOUDFLARE, 1e3),
            "json_cattlegrid" => (CATTLEGRID, 1e6),
            _ => return None,
        };
        let format = JsonFormat::custom(map).ok()?;
        Some(JsonFormat {
            duration_unit_us,
            is_own: name == "json_cattlegrid",
            ..format
        })
    }

    /// A map written as `source=ip,time=ts,…`; a dot goes into an object.
    pub(super) fn custom(map: &str) -> Result<JsonFormat, String> {
        let mut root = Node::default();
        let mut seen = [0_u8; PARTS.len()];
        for pair in map.split(',') {
            let (name, path) = pair
                .split_once('=')
                .ok_or_else(|| format!("'{pair}' is not MEANING=KEY"))?;
            let names = || PARTS.map(|(name, _)| name).join(", ");
            let (_, part) = PARTS
                .into_iter()
                .find(|(known, _)| *known == name.trim())
                .ok_or_else(|| format!("'{name}' is no meaning; known: {}", names()))?;
            seen[part as usize] += 1;
            if seen[part as usize] > 40 {
                return Err(format!("more than 40 keys for '{name}'"));
            }
            root.insert(path.trim(), part, seen[part as usize]);
        }
        for part in [Part::Source, Part::Time, Part::Status] {
            if seen[part as usize] == 0 {
                return Err(format!("the JSON map lacks {}=KEY", PARTS[part as usize].0));
            }
        }
        if seen[Part::Request as usize] == 0 && seen[Part::Target as usize] == 0 {
            return Err("the JSON map lacks request=KEY or target=KEY".to_owned());
        }
        Ok(JsonFormat {
            root,
            duration_unit_us: 1e6,
            has_decision: seen[Part::Decision as usize] > 0,
            has_headers: HEADERS.iter().any(|part| seen[*part as usize] > 0),
            is_own: false,
        })
    }

    /// Takes the key of this name as the list of addresses that proxies pass on.
    pub(super) fn set_forwarded(&mut self, key: &str) {
        self.root.insert(key, Part::Forwarded, 1);
        self.is_own = false;
    }

    /// Reads one line.
    pub(super) fn read<'a>(
        &self,
        line: &'a [u8],
        scratch: &'a mut Scratch,
    ) -> Result<Request<'a>, Skip> {
        if self.is_own
            && let Some(mut request) = own::read(line, &mut scratch.headers)
        {
            request.headers = Headers::of(&scratch.headers);
            return Ok(request);
        }
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        let text = std::str::from_utf8(line);
        scratch.text.clear();
        let mut found = Found::new(std::mem::take(&mut scratch.text));
        let is_read = text.is_ok_and(|line| flat::read(&self.root, line, &mut found).is_some());
        if !is_read {
            found = Found::new(found.text);
            if too_deep(line) {
                scratch.text = found.text;
                return Err(Skip::BadJson);
            }
        }
        let result = match text {
            Ok(_) if is_read => Ok(()),
            Ok(line) => walk(&self.root, line, &mut found),
            // nginx leaves bytes above 127 as they came. The values are copied, so nothing borrows the mended line.
            Err(_) => found.copy_from_mended(&self.root, &String::from_utf8_lossy(line)),
        };
        let (mut values, duplicate) = (found.values, found.duplicate);
        if found.has_headers {
            let headers = [Part::Referrer, Part::Agent, Part::Cookie];
            headers
                .iter()
                .for_each(|part| values[*part as usize].or_empty());
            if self.has_headers {
                note_unsent(&mut values);
            }
        }
        scratch.text = found.text;
        if duplicate {
            return Err(Skip::DuplicateKey);
        }
        result.map_err(|_| Skip::BadJson)?;
        self.build(&values, scratch)
    }

    fn build<'a>(
        &self,
        values: &[Value<'a>; PARTS.len()],
        scratch: &'a mut Scratch,
    ) -> Result<Request<'a>, Skip> {
        let mut request = Request::default();
        if values[Part::Request as usize].text(&scratch.text).is_none() {
            join_query(values, &mut scratch.text);
        }
        scratch.headers.clear();
        if self.has_headers {
            write_headers(values, &scratch.text, &mut scratch.headers);
        }
        stamp(&values[Part::Time as usize], scratch)?.fill(&mut request);
        // From here on the scratch is only read.
        let scratch: &'a Scratch = scratch;
        let text = |part: Part| values[part as usize].text(&scratch.text);
        let field = |part: Part| match values[part as usize] {
            Value::Missing => Field::NotLogged,
            value => value
                .text(&scratch.text)
                .map_or(Field::Empty, Field::logged),
        };
        request.client =
            Client::Written(fields::source(text(Part::Source).ok_or(Skip::MissingKey)?)?);
        if let Some(line) = text(Part::Request) {
            fields::request_line(line, &mut request)?;
        } else {
            request.method = text(Part::Method).unwrap_or(b"GET");
            request.target = if values[Part::Query as usize].is_missing() {
                text(Part::Target)
            } else {
                joined(values, &scratch.text)
            }
            .ok_or(Skip::MissingKey)?;
            fields::check_request(&request)?;
        }
        let status = &values[Part::Status as usize];
        request.status = match (status.number(), text(Part::Status)) {
            (Some(number), _) => fields::status_number(number as u64)?,
            (None, Some(text)) => fields::status(text)?,
            (None, None) => return Err(Skip::MissingKey),
        };
        let bytes = &values[Part::Bytes as usize];
        request.bytes = match (bytes.number(), text(Part::Bytes)) {
            (Some(number), _) if number < 0.0 => return Err(Skip::BadBytes),
            (Some(number), _) => fields::bytes_number(number as u64)?,
            (None, Some(text)) => fields::bytes(text)?,
            (None, None) => 0,
        };
        request.referrer = field(Part::Referrer);
        request.agent = field(Part::Agent);
        request.host = text(Part::Host).map_or(Field::NotLogged, fields::host);
        request.user = field(Part::User);
        request.forwarded = field(Part::Forwarded);
        request.headers = Headers::of(&scratch.headers);
        request.session = match text(Part::Cookie) {
            Some(header) => fields::session(header, &scratch.session_cookies),
            None if !values[Part::Cookie as usize].is_missing() => Field::Empty,
            None => field(Part::Session),
        };
        if self.has_decision {
            let decision = text(Part::Decision).ok_or(Skip::MissingKey)?;
            request.is_trap = decision == TRAP;
            request.is_refused = decision != PASS && !request.is_trap;
            // The gate writes nobody's name there but of those whom it has checked.
            request.is_signed_in = matches!(request.user, Field::Value(_));
        }
        let duration = &values[Part::Duration as usize];
        request.duration_us = match duration.number() {
            Some(number) => fields::duration_number(number, self.duration_unit_us),
            None => text(Part::Duration)
                .and_then(|text| fields::duration_us(text, self.duration_unit_us)),
        };
        Ok(request)
    }
}

/// True for a line in the form of our own gate.
pub(super) fn is_own(line: &[u8]) -> bool {
    own::read(line, &mut Vec::new()).is_some()
}

/// When a request came: a number since 1970, or a text.
fn stamp(time: &Value<'_>, scratch: &mut Scratch) -> Result<time::Stamp, Skip> {
    match (time.number(), time.text(&scratch.text)) {
        (Some(number), _) => time::epoch_number(number),
        (None, Some(text)) => TimeStyle::Any.read(text, &mut scratch.dates),
        (None, None) => Err(Skip::MissingKey),
    }
}

/// Header fields that are absent from a line with all headers were not sent. Without TLS no browser sends most of them.
fn note_unsent(values: &mut [Value<'_>; PARTS.len()]) {
    values[Part::Language as usize].or_empty();
    if !values[Part::Tls as usize].is_missing() {
        HEADERS[..OF_TLS]
            .iter()
            .for_each(|part| values[*part as usize].or_empty());
    }
}

fn write_headers(values: &[Value<'_>; PARTS.len()], text: &[u8], out: &mut Vec<u8>) {
    for (header, part) in Header::ALL.into_iter().zip(HEADERS) {
        let value = &values[part as usize];
        if !value.is_missing() {
            Headers::write(header, value.text(text).unwrap_or_default(), out);
        }
    }
}

/// Path and query logged apart are put together behind whatever text is already stored.
fn join_query(values: &[Value<'_>; PARTS.len()], text: &mut Vec<u8>) {
    if values[Part::Query as usize].is_missing() {
        return;
    }
    let path = values[Part::Target as usize]
        .text(text)
        .unwrap_or_default()
        .to_vec();
    let query = values[Part::Query as usize]
        .text(text)
        .unwrap_or_default()
        .to_vec();
    text.extend_from_slice(&path);
    // $request_uri already holds the query that $args repeats.
    if !query.is_empty() && query != b"-" && !path.contains(&b'?') {
        text.push(b'?');
        text.extend_from_slice(&query);
    }
}

fn joined<'a>(values: &[Value<'_>; PARTS.len()], text: &'a [u8]) -> Option<&'a [u8]> {
    let path = values[Part::Target as usize].text(text)?;
    let query = values[Part::Query as usize].text(text).unwrap_or_default();
    let separate = !query.is_empty() && query != b"-" && !path.contains(&b'?');
    let length = path.len() + if separate { 1 + query.len() } else { 0 };
    text.get(text.len().checked_sub(length)?..)
}

impl Node {
    fn insert(&mut self, path: &str, part: Part, rank: u8) {
        let (head, tail) = path
            .split_once('.')
            .map_or((path, None), |(head, tail)| (head, Some(tail)));
        let at = self
            .children
            .iter()
            .position(|child| child.key == head)
            .unwrap_or_else(|| {
                self.has_patterns |= head.ends_with('*');
                self.children.push(Node {
                    key: head.to_owned(),
                    ..Node::default()
                });
                self.children.len() - 1
            });
        match tail {
            Some(tail) => self.children[at].insert(tail, part, rank),
            None => (self.children[at].part, self.children[at].rank) = (Some(part), rank),
        }
    }

    fn child(&self, key: &str) -> Option<&Node> {
        self.position(key.as_bytes()).map(|at| &self.children[at])
    }

    fn position(&self, key: &[u8]) -> Option<usize> {
        let is_it = |child: &Node| child.key.as_bytes() == key;
        if !self.has_patterns {
            return self.children.iter().position(is_it);
        }
        self.children
            .iter()
            .position(|child| match child.key.strip_suffix('*') {
                None => is_it(child),
                Some(prefix) => key.starts_with(prefix.as_bytes()),
            })
    }

    /// The same, for a key that probably stands behind this place of the map.
    fn position_from(&self, key: &[u8], place: usize) -> Option<usize> {
        let behind = self.children.get(place..).filter(|_| !self.has_patterns);
        let mut behind = behind.unwrap_or_default().iter();
        let found = behind.position(|child| child.key.as_bytes() == key);
        found.map(|at| place + at).or_else(|| self.position(key))
    }
}

/// Counts nesting only where there are brackets enough for it to matter.
fn too_deep(line: &[u8]) -> bool {
    if memchr::memchr2_iter(b'{', b'[', line)
        .nth(DEPTH_MAX)
        .is_none()
    {
        return false;
    }
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    for byte in line {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'{' | b'[' if !in_text => depth += 1,
            b'}' | b']' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEPTH_MAX {
            return true;
        }
    }
    false
}

/// The keys of a line's outermost object, for a message.
pub(super) fn top_keys(line: &[u8]) -> Vec<String> {
    let object: Option<serde_json::Map<String, serde_json::Value>> = if too_deep(line) {
        None
    } else {
        serde_json::from_slice(line).ok()
    };
    object
        .into_iter()
        .flat_map(|object| {
            object
                .into_iter()
                .map(|(key, _)| crate::text::printable(key.as_bytes()))
        })
        .take(20)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(client: Client<'_>) -> String {
        if let Client::Written(text) = client {
            String::from_utf8_lossy(text).into_owned()
        } else {
            String::new()
        }
    }

    fn read(line: &[u8]) -> Result<String, Skip> {
        let format = JsonFormat::named("json_nginx").unwrap();
        let mut scratch = Scratch::default();
        format.read(line, &mut scratch).map(|request| {
            format!(
                "{} {}",
                show(request.client),
                String::from_utf8_lossy(request.target)
            )
        })
    }

    const REST: &str = r#""time_local":"01/Jan/2030:00:00:00 +0000","status":200"#;

    #[test]
    fn hostile_lines() {
        let deep = format!(
            r#"{{"x":{}{},{REST}}}"#,
            "[".repeat(30_000),
            "]".repeat(30_000)
        );
        assert_eq!(read(deep.as_bytes()), Err(Skip::BadJson));
        assert_eq!(read(br#"{"status":1e999999999}"#), Err(Skip::BadJson));
        assert_eq!(read(br#"{"remote_addr":"\ud800"}"#), Err(Skip::BadJson));
        assert_eq!(read(b"[]"), Err(Skip::BadJson));
        assert_eq!(read(b"\xef\xbb\xbf{}"), Err(Skip::MissingKey));
        let many: String = (0..5000)
            .map(|number| format!(r#""k{number}":1,"#))
            .collect();
        assert_eq!(
            read(
                format!(
                    r#"{{{many}"remote_addr":"192.0.2.1","request":"GET /a HTTP/1.1",{REST}}}"#
                )
                .as_bytes()
            ),
            Ok("192.0.2.1 /a".into())
        );
    }

    #[test]
    fn odd_values_and_any_order_of_keys() {
        let line = |more: &str| read(format!(r#"{{{more},{REST}}}"#).as_bytes());
        for request in ["null", "5", "true", "\"\""] {
            let found = line(&format!(
                r#""remote_addr":"192.0.2.1","request":{request},"uri":"/a","args":"b=1""#
            ));
            assert!(
                found == Ok("192.0.2.1 /a?b=1".into()) || found == Err(Skip::NoRequest),
                "{request}: {found:?}"
            );
        }
        let caddy = JsonFormat::named("json_caddy").unwrap();
        let mut scratch = Scratch::default();
        let order = br#"{"ts":1893456000,"request":{"client_ip":"","remote_ip":"192.0.2.1","method":"GET","uri":"/","headers":{}},"status":200}"#;
        let request = caddy.read(order, &mut scratch).unwrap();
        assert_eq!(
            (
                show(request.client).as_str(),
                request.referrer,
                request.agent,
                request.session
            ),
            ("192.0.2.1", Field::Empty, Field::Empty, Field::Empty)
        );
    }

    #[test]
    fn the_gates_own_lines() {
        let format = JsonFormat::named("json_cattlegrid").unwrap();
        let check = |more: &str, expected: Result<bool, Skip>| {
            let line = format!(
                r#"{{"time":1893456000.123,"source":"192.0.2.1","method":"GET","target":"/a","status":200{more}}}"#
            );
            let mut scratch = Scratch::default();
            let read = format.read(line.as_bytes(), &mut scratch);
            assert_eq!(read.map(|request| request.is_refused), expected, "{more}");
        };
        check(r#","decision":"pass","would":"challenge""#, Ok(false));
        for decision in ["throttle", "challenge", "block", "own", "", "PASS"] {
            check(&format!(r#","decision":"{decision}""#), Ok(true));
        }
        check(r#","decision":"trap""#, Ok(false));
        let line = r#"{"time":1893456000.123,"source":"192.0.2.1","method":"GET","target":"/a","status":200,"decision":"pass","user":"0123456789abcdef"}"#;
        let mut scratch = Scratch::default();
        let read = format.read(line.as_bytes(), &mut scratch).unwrap();
        assert!(read.is_signed_in && !read.is_refused);
        check("", Err(Skip::MissingKey));
        check(r#","decision":null"#, Err(Skip::MissingKey));
        check(
            r#","decision":"block","decision":"pass""#,
            Err(Skip::DuplicateKey),
        );
        check(
            r#","source":"192.0.2.2","decision":"pass""#,
            Err(Skip::DuplicateKey),
        );
    }

    #[test]
    fn bytes_above_127_do_not_lose_the_line() {
        let mut line =
            format!(r#"{{"remote_addr":"192.0.2.1","request":"GET /?HTTP/1.1",{REST}}}"#)
                .into_bytes();
        let at = line.iter().position(|byte| *byte == b'?').unwrap();
        line.splice(at..=at, *b"\xe9\xff ");
        assert_eq!(read(&line), Ok("192.0.2.1 /\u{fffd}\u{fffd}".into()));
    }

    #[test]
    fn path_and_query_logged_apart_are_one_target() {
        let line = |more: &str| format!(r#"{{"remote_addr":"192.0.2.1",{more},{REST}}}"#);
        assert_eq!(
            read(line(r#""uri":"/a","args":"b=1""#).as_bytes()),
            Ok("192.0.2.1 /a?b=1".into())
        );
        assert_eq!(
            read(line(r#""uri":"/a","request_uri":"/a?b=1","args":"b=1""#).as_bytes()),
            Ok("192.0.2.1 /a?b=1".into())
        );
        assert_eq!(
            read(line(r#""uri":"/a","args":"""#).as_bytes()),
            Ok("192.0.2.1 /a".into())
        );
        assert_eq!(
            read(line(r#""uri":"/a","args":"b=\"1""#).as_bytes()),
            Ok("192.0.2.1 /a?b=\"1".into())
        );
    }
}
