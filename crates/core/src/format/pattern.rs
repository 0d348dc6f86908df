//! Text formats: a format string of Apache or nginx, compiled to a few steps that walk a line once.

use super::Skip;
use super::fields;
use super::fields::Scratch;
use super::part::Part;
use super::time::TimeStyle;
use crate::request::Field;
use crate::request::Headers;
use crate::request::Request;

/// A compiled format string.
#[derive(Debug, Clone)]
pub(super) struct Pattern {
    /// The text before the first field.
    start: Vec<u8>,
    steps: Vec<Step>,
}

/// Take one field, then match the text that follows it.
#[derive(Debug, Clone)]
struct Step {
    part: Part,
    end: End,
    /// The text between this field and the next.
    after: Vec<u8>,
}

/// Where a field ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// At this byte, the first of the text that follows.
    Byte(u8),
    /// At this byte, after having passed it so often: a time that itself holds spaces.
    Nth(u8, usize),
    /// At a quote that no backslash escapes.
    Quote,
    /// Where the whole following text stands: a user name may hold a space, `" ["` ends it.
    Text,
    /// At a blank or the end of the line.
    Word,
    /// At the end of the line.
    Line,
}

impl Pattern {
    /// Compiles a format string; `%` makes it Apache's, `$` nginx's.
    pub(super) fn compile(text: &str) -> Result<Pattern, String> {
        let tokens = if text.contains('$') {
            nginx(text)?
        } else {
            apache(text)?
        };
        Pattern::build(tokens)
    }

    fn build(tokens: Vec<Token>) -> Result<Pattern, String> {
        let mut tokens = tokens.into_iter().peekable();
        let mut steps = Vec::new();
        let start = take_text(&mut tokens);
        let mut before = start.clone();
        while let Some(Token::Part(part)) = tokens.next() {
            // %U%q has nothing between: the query brings its own '?'.
            let joined = part == Part::Target
                && tokens
                    .next_if(|token| *token == Token::Part(Part::Query))
                    .is_some();
            let after = take_text(&mut tokens);
            if after.is_empty() && tokens.peek().is_some() {
                return Err("two fields with nothing between them cannot be told apart".to_owned());
            }
            let end = match after.first() {
                // An agent holds blanks.
                None if part == Part::Agent => End::Line,
                None => End::Word,
                Some(byte) if part.inner(*byte) > 0 => End::Nth(*byte, part.inner(*byte)),
                Some(b'"') if before.ends_with(b"\"") => End::Quote,
                Some(byte) if after.len() == 1 || !part.may_hold_blanks() => End::Byte(*byte),
                Some(_) => End::Text,
            };
            before.clone_from(&after);
            steps.push(Step {
                part: if joined { Part::Target } else { part },
                end,
                after,
            });
        }
        let has = |wanted: fn(&Part) -> bool| steps.iter().any(|step| wanted(&step.part));
        let missing: Vec<&str> = [
            (
                "the client (%h or $remote_addr)",
                has(|part| matches!(part, Part::Source | Part::Chain)),
            ),
            (
                "the time (%t or $time_local)",
                has(|part| matches!(part, Part::Time(_))),
            ),
            (
                "the request (%r or $request)",
                has(|part| matches!(part, Part::Request | Part::RequestUrl | Part::Target)),
            ),
            (
                "the status (%>s or $status)",
                has(|part| *part == Part::Status),
            ),
        ]
        .into_iter()
        .filter_map(|(name, present)| (!present).then_some(name))
        .collect();
        if missing.is_empty() {
            Ok(Pattern { start, steps })
        } else {
            Err(format!("the format string lacks {}", missing.join(", ")))
        }
    }

    /// Takes the field of this name as the address that proxies pass on.
    pub(super) fn set_forwarded(&mut self, name: &str) -> Result<(), Vec<&str>> {
        Part::set_forwarded(self.steps.iter_mut().map(|step| &mut step.part), name)
    }

    /// Reads one line. What follows the last field is left alone: servers append fields of their own.
    pub(super) fn read<'a>(
        &self,
        line: &'a [u8],
        scratch: &'a mut Scratch,
    ) -> Result<Request<'a>, Skip> {
        let mut request = Request::default();
        let mut query: &[u8] = b"";
        let mut fault = None;
        scratch.headers.clear();
        let mut rest = line
            .strip_prefix(self.start.as_slice())
            .ok_or(Skip::Shape)?;
        for step in &self.steps {
            let at = step.end.find(rest, &step.after)?;
            let value = &rest[..at];
            rest = rest[at..]
                .strip_prefix(step.after.as_slice())
                .ok_or(Skip::Shape)?;
            if step.part == Part::Query {
                query = value;
            } else if let Err(skip) = step.part.fill(value, &mut request, scratch) {
                fault = Some(skip.or_worse(fault));
            }
        }
        // After a last quoted field only a separator may follow: a quote inside the field has not been escaped.
        let last_quoted = self.steps.last().is_some_and(|step| step.end == End::Quote);
        if last_quoted && !matches!(rest.first(), None | Some(b' ' | b'\t' | b',' | b';')) {
            return Err(Skip::OpenQuote);
        }
        // A value is only wrong in a line that has the shape.
        if let Some(skip) = fault {
            return Err(skip);
        }
        if let Field::Value(query) = Field::logged(query) {
            scratch.text.clear();
            scratch.text.extend_from_slice(request.target);
            if query[0] != b'?' {
                scratch.text.push(b'?');
            }
            scratch.text.extend_from_slice(query);
            request.target = &scratch.text;
        }
        request.headers = Headers::of(&scratch.headers);
        if request.method.is_empty() {
            request.method = b"GET";
        }
        fields::check_request(&request)?;
        Ok(request)
    }
}

impl End {
    fn find(self, rest: &[u8], after: &[u8]) -> Result<usize, Skip> {
        match self {
            End::Byte(byte) => memchr::memchr(byte, rest).ok_or(Skip::Shape),
            End::Quote => closing_quote(rest).ok_or(Skip::OpenQuote),
            End::Text => memchr::memchr_iter(after[0], rest)
                .find(|at| rest[*at..].starts_with(after))
                .ok_or(Skip::Shape),
            End::Nth(byte, passed) => memchr::memchr_iter(byte, rest)
                .nth(passed)
                .ok_or(Skip::Shape),
            End::Word => Ok(memchr::memchr2(b' ', b'\t', rest).unwrap_or(rest.len())),
            End::Line => Ok(rest.len()),
        }
    }
}

/// The first quote that an even number of backslashes stands before.
fn closing_quote(text: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from + memchr::memchr(b'"', &text[from..])?;
        let backslashes = text[..at]
            .iter()
            .rev()
            .take_while(|byte| **byte == b'\\')
            .count();
        if backslashes % 2 == 0 {
            return Some(at);
        }
        from = at + 1;
    }
}

/// A format string's pieces: plain text, and fields.
#[derive(Debug, PartialEq)]
enum Token {
    Text(Vec<u8>),
    Part(Part),
}

fn take_text(tokens: &mut std::iter::Peekable<impl Iterator<Item = Token>>) -> Vec<u8> {
    let mut text = Vec::new();
    while let Some(Token::Text(more)) = tokens.next_if(|token| matches!(token, Token::Text(_))) {
        text.extend(more);
    }
    text
}

fn apache(text: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '%' => {
                while chars
                    .next_if(|char| matches!(char, '<' | '>' | '!' | ',' | '0'..='9'))
                    .is_some()
                {}
                let argument: Option<String> = chars
                    .next_if_eq(&'{')
                    .map(|_| chars.by_ref().take_while(|char| *char != '}').collect());
                let directive = chars
                    .next()
                    .ok_or("the format string ends in the middle of a directive")?;
                tokens.extend(apache_directive(directive, argument.as_deref())?);
            }
            // Configuration files escape quotes and tabs.
            '\\' => match chars.next() {
                Some('t') => tokens.push(Token::Text(vec![b'\t'])),
                Some(other) => tokens.push(Token::Text(other.to_string().into_bytes())),
                None => return Err("the format string ends in a backslash".to_owned()),
            },
            _ => tokens.push(Token::Text(char.to_string().into_bytes())),
        }
    }
    Ok(tokens)
}

fn apache_directive(directive: char, argument: Option<&str>) -> Result<Vec<Token>, String> {
    let lower = argument.map(str::to_ascii_lowercase);
    let part = match (directive, lower.as_deref()) {
        ('%', _) => return Ok(vec![Token::Text(vec![b'%'])]),
        ('h' | 'a', _) => Part::Source,
        ('u', _) => Part::User,
        ('v' | 'V', _) | ('i', Some("host")) => Part::Host,
        ('t', None) => {
            let text = |byte| Token::Text(vec![byte]);
            return Ok(vec![
                text(b'['),
                Token::Part(Part::Time(TimeStyle::Clf)),
                text(b']'),
            ]);
        }
        ('t', Some("sec" | "msec" | "usec")) => Part::Time(TimeStyle::Any),
        ('t', Some(_)) => Part::Time(TimeStyle::Strftime(argument.unwrap_or_default().to_owned())),
        ('r', _) => Part::Request,
        ('m', _) => Part::Method,
        ('U', _) => Part::Target,
        ('q', _) => Part::Query,
        ('s', _) => Part::Status,
        ('b' | 'B' | 'O', _) => Part::Bytes,
        ('D', _) | ('T', Some("us")) => Part::Duration { unit_us: 1.0 },
        ('T', Some("ms")) => Part::Duration { unit_us: 1e3 },
        ('T', _) => Part::Duration { unit_us: 1e6 },
        ('i', Some("referer")) => Part::Referrer,
        ('i', Some("user-agent")) => Part::Agent,
        ('i', Some("cookie")) => Part::Cookie,
        ('C', Some(_)) => Part::Session,
        ('i', Some(name)) => Part::other(name),
        (
            'l' | 'p' | 'P' | 'k' | 'X' | 'I' | 'S' | 'H' | 'L' | 'R' | 'f' | 'A' | 'i' | 'o' | 'n'
            | 'e' | 'x',
            _,
        ) => Part::Ignored,
        _ => {
            return Err(format!(
                "the format string has %{directive}, which is no directive of Apache's LogFormat"
            ));
        }
    };
    Ok(vec![Token::Part(part)])
}

fn nginx(text: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(dollar) = rest.find('$') {
        tokens.push(Token::Text(rest.as_bytes()[..dollar].to_vec()));
        rest = &rest[dollar + 1..];
        let braced = rest.strip_prefix('{');
        rest = braced.unwrap_or(rest);
        let end = rest
            .find(|char: char| !char.is_ascii_alphanumeric() && char != '_')
            .unwrap_or(rest.len());
        if end == 0 {
            return Err("the format string has a '$' without a variable's name".to_owned());
        }
        tokens.push(Token::Part(nginx_variable(&rest[..end])));
        rest = &rest[end..];
        if braced.is_some() {
            rest = rest
                .strip_prefix('}')
                .ok_or("the format string has '${' without '}'")?;
        }
    }
    tokens.push(Token::Text(rest.as_bytes().to_vec()));
    tokens.retain(|token| *token != Token::Text(Vec::new()));
    Ok(tokens)
}

fn nginx_variable(name: &str) -> Part {
    match name {
        "remote_addr" => Part::Source,
        "remote_user" => Part::User,
        "host" | "http_host" | "server_name" => Part::Host,
        "time_local" => Part::Time(TimeStyle::Clf),
        "time_iso8601" => Part::Time(TimeStyle::Iso),
        "msec" => Part::Time(TimeStyle::Epoch),
        "time_short" => Part::Time(TimeStyle::Short),
        "request" => Part::Request,
        "request_with_url" => Part::RequestUrl,
        "request_method" => Part::Method,
        "request_uri" | "uri" | "document_uri" => Part::Target,
        "args" | "query_string" => Part::Query,
        "status" => Part::Status,
        "body_bytes_sent" | "bytes_sent" => Part::Bytes,
        "http_referer" => Part::Referrer,
        "http_user_agent" => Part::Agent,
        "http_cookie" => Part::Cookie,
        "request_time" => Part::Duration { unit_us: 1e6 },
        "request_time_ms" => Part::Duration { unit_us: 1e3 },
        "proxy_chain" => Part::Chain,
        _ if name.starts_with("cookie_") => Part::Session,
        // Any variable can stand in a format; the ones above are those we use.
        _ => Part::other(name),
    }
}
