//! Logs in columns: W3C extended logs, whose header names the columns, and tables without a header.

use super::Skip;
use super::fields;
use super::fields::Scratch;
use super::part::Part;
use super::time;
use crate::request::Headers;
use crate::request::Request;

/// A table's columns, in their order.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Columns {
    columns: Vec<Column>,
    separator: Separator,
    origin: Origin,
}

/// Where the names of the columns come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// A header in the log, which may change there.
    Header,
    /// All columns are known.
    All,
    /// The first columns are known; there may be more behind them.
    First,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Separator {
    /// One tab: fields may be empty and hold blanks.
    Tab,
    /// Blanks; fields with blanks stand in quotes.
    Blanks,
}

#[derive(Debug, Clone, PartialEq)]
enum Column {
    Part(Part),
    /// `2030-01-01`
    Date,
    /// `00:00:00`
    Clock,
}

/// The columns of CloudFront's standard log, which its copies in other places have without their header.
const CLOUDFRONT: &str = "date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) \
cs(User-Agent) cs-uri-query cs(Cookie) x-edge-result-type x-edge-request-id x-host-header cs-protocol cs-bytes time-taken x-forwarded-for";

/// The columns that IIS writes unless told otherwise.
const IIS: &str = "date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) cs(Referer) sc-status \
sc-substatus sc-win32-status time-taken";

/// The columns of the logs in the paper 'PubCrawl': client and network may be opaque tokens.
const PUBCRAWL: [Part; 8] = [
    Part::Time(time::TimeStyle::Any),
    Part::Source,
    Part::Ignored,
    Part::Agent,
    Part::Target,
    Part::Status,
    Part::Referrer,
    Part::Session,
];

/// Tables that have a name.
pub(super) const NAMED: [&str; 2] = ["cloudfront", "pubcrawl"];

impl Columns {
    /// A table that is known by name.
    pub(super) fn named(name: &str) -> Option<Columns> {
        let columns = match name {
            "cloudfront" => {
                return Columns::from_names(CLOUDFRONT, Separator::Tab, Origin::First).ok();
            }
            "pubcrawl" => PUBCRAWL.map(Column::Part).to_vec(),
            _ => return None,
        };
        Some(Columns {
            columns,
            separator: Separator::Tab,
            origin: Origin::All,
        })
    }

    /// The columns that a W3C header names. `None` where the text has no header.
    pub(super) fn from_header(text: &[u8]) -> Option<Result<Columns, String>> {
        let line = text
            .split(|byte| *byte == b'\n')
            .find(|line| is_header(line))?;
        Some(Columns::from_header_line(line, text))
    }

    /// The columns of a header line; how they are separated is told from the lines around it.
    pub(super) fn from_header_line(line: &[u8], text: &[u8]) -> Result<Columns, String> {
        let names = String::from_utf8_lossy(&line[HEADER.len()..]).into_owned();
        let first = text
            .split(|byte| *byte == b'\n')
            .find(|line| !line.trim_ascii().is_empty() && !line.starts_with(b"#"));
        let separator = match first {
            Some(line) if line.contains(&b'\t') => Separator::Tab,
            _ => Separator::Blanks,
        };
        Columns::from_names(&names, separator, Origin::Header)
    }

    /// True where a header in the log names the columns.
    pub(super) fn has_header(&self) -> bool {
        self.origin == Origin::Header
    }

    /// A W3C log until its header comes.
    pub(super) fn w3c() -> Result<Columns, String> {
        Columns::from_owner(IIS)
    }

    /// Columns written out by the owner, for a log whose header is lost.
    pub(super) fn from_owner(names: &str) -> Result<Columns, String> {
        Columns::from_names(names, Separator::Blanks, Origin::Header)
    }

    fn from_names(names: &str, separator: Separator, origin: Origin) -> Result<Columns, String> {
        let columns: Vec<Column> = names.split_ascii_whitespace().map(column).collect();
        let has = |wanted: Column| columns.contains(&wanted);
        let whole_time = columns
            .iter()
            .any(|column| matches!(column, Column::Part(Part::Time(_))));
        let missing: Vec<&str> = [
            ("c-ip", has(Column::Part(Part::Source))),
            ("date", whole_time || has(Column::Date)),
            ("time", whole_time || has(Column::Clock)),
            ("cs-uri-stem", has(Column::Part(Part::Target))),
            ("sc-status", has(Column::Part(Part::Status))),
        ]
        .into_iter()
        .filter_map(|(name, present)| (!present).then_some(name))
        .collect();
        if missing.is_empty() {
            Ok(Columns {
                columns,
                separator,
                origin,
            })
        } else {
            Err(format!(
                "its header does not name the columns {}; without them it is no log of web requests",
                missing.join(", ")
            ))
        }
    }

    /// Takes the column of this name as the address that proxies pass on.
    pub(super) fn set_forwarded(&mut self, name: &str) -> Result<(), Vec<&str>> {
        let parts = self.columns.iter_mut().filter_map(|column| match column {
            Column::Part(part) => Some(part),
            Column::Date | Column::Clock => None,
        });
        Part::set_forwarded(parts, name)
    }

    /// Reads one line.
    pub(super) fn read<'a>(
        &self,
        line: &'a [u8],
        scratch: &'a mut Scratch,
    ) -> Result<Request<'a>, Skip> {
        let mut request = Request::default();
        let (mut date, mut clock): (&[u8], &[u8]) = (b"", b"");
        let (mut query, mut agent): (&[u8], &[u8]) = (b"", b"");
        let mut rest = Some(line);
        let mut fault = None;
        scratch.headers.clear();
        for column in &self.columns {
            let value;
            (value, rest) = rest
                .and_then(|rest| self.separator.next(rest))
                .ok_or(Skip::Shape)?;
            match column {
                Column::Date => date = value,
                Column::Clock => clock = value,
                Column::Part(Part::Query) => query = value,
                Column::Part(part) => {
                    if *part == Part::Agent {
                        agent = value;
                    }
                    if let Err(skip) = part.fill(value, &mut request, scratch) {
                        fault = Some(skip.or_worse(fault));
                    }
                }
            }
        }
        let is_end = rest.is_none_or(|rest| rest.trim_ascii().is_empty());
        if !is_end && self.origin != Origin::First {
            return Err(Skip::Shape);
        }
        if let Some(skip) = fault {
            return Err(skip);
        }
        if !date.is_empty() {
            time::date_and_clock(date, clock, &mut scratch.dates)?.fill(&mut request);
        }
        if request.method.is_empty() {
            request.method = b"GET";
        }
        fields::split_host(&mut request);
        request.headers = Headers::of(&scratch.headers);
        // Blanks in an agent are written as + or %20; the query is a column of its own.
        let text = &mut scratch.text;
        text.clear();
        let has_query = !matches!(query, b"" | b"-");
        if has_query {
            text.extend_from_slice(request.target);
            text.push(b'?');
            text.extend_from_slice(query);
        }
        let middle = text.len();
        let is_encoded = !agent.contains(&b' ') && agent.iter().any(|byte| b"+%".contains(byte));
        if is_encoded {
            decode(agent, text);
        }
        if has_query {
            request.target = &text[..middle];
        }
        if is_encoded {
            request.agent = crate::request::Field::logged(&text[middle..]);
        }
        fields::check_request(&request)?;
        Ok(request)
    }
}

const HEADER: &[u8] = b"#Fields:";

/// True for the line that names the columns.
pub(super) fn is_header(line: &[u8]) -> bool {
    line.len() > HEADER.len() && line[..HEADER.len()].eq_ignore_ascii_case(HEADER)
}

fn column(name: &str) -> Column {
    // Some servers write invisible marks between names.
    let name: String = name.chars().filter(char::is_ascii_graphic).collect();
    let part = match name.to_ascii_lowercase().as_str() {
        "date" | "date-local" | "date-utc" => return Column::Date,
        "time" | "time-local" | "time-utc" => return Column::Clock,
        "c-ip" => Part::Source,
        "cs-username" => Part::User,
        "cs-host" | "cs(host)" => Part::Host,
        "cs-method" => Part::Method,
        "cs-uri-stem" | "cs-uri" => Part::Target,
        "cs-uri-query" => Part::Query,
        "sc-status" | "c-status" => Part::Status,
        "sc-bytes" => Part::Bytes,
        "cs(referer)" | "cs(referrer)" => Part::Referrer,
        "cs(user-agent)" => Part::Agent,
        "cs(cookie)" => Part::Cookie,
        "time-taken" | "timetakenms" => Part::TimeTaken,
        _ => Part::other(&name),
    };
    Column::Part(part)
}

impl Separator {
    /// The next field, and what follows it unless it was the last.
    fn next(self, rest: &[u8]) -> Option<(&[u8], Option<&[u8]>)> {
        match self {
            Separator::Tab => {
                let end = memchr::memchr(b'\t', rest).unwrap_or(rest.len());
                Some((&rest[..end], rest.get(end + 1..)))
            }
            Separator::Blanks => match rest.trim_ascii_start() {
                [] => None,
                [b'"', inside @ ..] => {
                    let end = closing(inside)?;
                    Some((&inside[..end], Some(&inside[end + 1..])))
                }
                rest => {
                    let end = memchr::memchr2(b' ', b'\t', rest).unwrap_or(rest.len());
                    Some((&rest[..end], Some(&rest[end..])))
                }
            },
        }
    }
}

/// The quote that ends a field: one with a blank or nothing behind it.
fn closing(inside: &[u8]) -> Option<usize> {
    memchr::memchr_iter(b'"', inside)
        .find(|at| matches!(inside.get(at + 1), None | Some(b' ' | b'\t')))
}

/// Undoes `+` and `%20`, and `%2520`, which CloudFront writes too.
fn decode(value: &[u8], out: &mut Vec<u8>) {
    let digit = |byte: &u8| (*byte as char).to_digit(16);
    let mut rest = value;
    while let [first, after @ ..] = rest {
        let escape = match after {
            [b'2', b'5', high, low, ..] if *first == b'%' => Some((high, low, 4)),
            [high, low, ..] if *first == b'%' => Some((high, low, 2)),
            _ => None,
        };
        let decoded = escape.and_then(|(high, low, length)| {
            Some(((digit(high)? << 4 | digit(low)?) as u8, length))
        });
        match decoded {
            Some((byte, length)) => {
                out.push(byte);
                rest = &after[length..];
            }
            None => {
                out.push(if *first == b'+' { b' ' } else { *first });
                rest = after;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_are_decoded() {
        let check = |value: &str, expected: &str| {
            let mut out = Vec::new();
            decode(value.as_bytes(), &mut out);
            assert_eq!(String::from_utf8_lossy(&out), expected);
        };
        check("Mozilla/5.0+(X11;+U)", "Mozilla/5.0 (X11; U)");
        check("Mozilla/5.0%20(X11)", "Mozilla/5.0 (X11)");
        check("Mozilla/5.0%2520(X11)", "Mozilla/5.0 (X11)");
        check("100%", "100%");
        check("%zz%2", "%zz%2");
    }
}
