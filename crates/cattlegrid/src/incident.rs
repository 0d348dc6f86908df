//! `incident`: why a visitor was refused, by the number on the page, and how to let that visitor in.

use std::io;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use anyhow::bail;
use cattlegrid_core::text::printable;
use cattlegrid_input::BLOCK_BYTES;
use cattlegrid_input::Looking;
use cattlegrid_input::plan;
use cattlegrid_store::Base;
use cattlegrid_store::Entry;
use cattlegrid_store::Origin;
use serde::Deserialize;

use crate::cli::IncidentArgs;
use crate::gate_file;
use crate::gate_file::Places;
use crate::kb;
use crate::logs;

/// A line of the gate's log, as far as it tells why.
#[derive(Debug, Deserialize)]
struct Line {
    time: f64,
    source: String,
    method: String,
    host: Option<String>,
    target: String,
    status: u16,
    reason: String,
    entry: Option<u64>,
}

/// All lines with a number.
#[derive(Debug, Default)]
struct Found {
    first: f64,
    last: Option<Line>,
    many: u64,
}

pub(crate) fn run(arguments: &IncidentArgs) -> anyhow::Result<ExitCode> {
    let number = number(&arguments.number).with_context(|| {
        format!(
            "'{}' is not an incident number: eight letters and digits, like K7QX-29FM",
            printable(arguments.number.as_bytes())
        )
    })?;
    let places = places(arguments.config.as_deref())?;
    let logs = match arguments.logs.as_slice() {
        [] => vec![format!("{}*", places.log.display())],
        logs => logs.to_vec(),
    };
    let found = search(&number, &logs);
    let Some(last) = &found.last else {
        bail!(
            "no refusal with the number {number} in {}; if logs are rotated to another place, name them behind the number",
            logs.join(", ")
        );
    };
    let mut page = io::stdout().lock();
    writeln!(
        page,
        "Incident {number}: {} refused {} times from {} to {} UTC",
        printable(last.source.as_bytes()),
        found.many,
        kb::time(found.first as u32),
        kb::time(last.time as u32)
    )?;
    let host = last.host.as_deref().unwrap_or_default();
    let target = [host, &last.target].concat();
    writeln!(
        page,
        "  last request: {} {} ({})",
        printable(last.method.as_bytes()),
        printable(target.as_bytes()),
        last.status
    )?;
    let entry = entry(last, &places.knowledge_base)?;
    let base = match &arguments.config {
        Some(config) => format!("--config {}", config.display()),
        None => format!("--kb {}", places.knowledge_base.display()),
    };
    for line in explain(last, entry.as_ref(), &base) {
        writeln!(page, "  {line}")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Where the gate with this settings file, or without one, keeps things.
fn places(config: Option<&Path>) -> anyhow::Result<Places> {
    if let Some(config) = config {
        return gate_file::places(config);
    }
    let places = gate_file::default_places().filter(|places| places.state.exists());
    places.context(
        "no gate was started here without a settings file; name the gate's settings file with --config FILE",
    )
}

/// The number as the log has it: people read 0 and O, 1, I and L as the same, and leave out the hyphen.
fn number(text: &str) -> Option<String> {
    let letters: String = text
        .trim()
        .chars()
        .filter(|letter| *letter != '-')
        .map(|letter| match letter.to_ascii_uppercase() {
            'O' => '0',
            'I' | 'L' => '1',
            letter => letter,
        })
        .collect();
    let is_sound = letters.len() == 8
        && letters
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() && letter != 'U');
    let (first, second) = letters.split_at_checked(4).filter(|_| is_sound)?;
    Some(format!("{first}-{second}"))
}

fn search(number: &str, names: &[String]) -> Found {
    let mut found = Found::default();
    let wanted = format!("\"incident\":\"{number}\"");
    let finder = memchr::memmem::Finder::new(&wanted);
    let plan = plan(names, &Looking::default());
    logs::say_problems(&plan.problems);
    let problems = plan.read(
        || vec![0; BLOCK_BYTES],
        |block| {
            let bytes = &block.buffer[..block.length];
            for at in finder.find_iter(bytes) {
                let start = memchr::memrchr(b'\n', &bytes[..at]).map_or(0, |end| end + 1);
                let line = bytes[start..].split(|byte| *byte == b'\n').next();
                let line = line.and_then(|line| serde_json::from_slice::<Line>(line).ok());
                if let Some(line) = line {
                    found.add(line);
                }
            }
            true
        },
    );
    logs::say_problems(&problems);
    found
}

impl Found {
    fn add(&mut self, line: Line) {
        self.first = match self.many {
            0 => line.time,
            _ => self.first.min(line.time),
        };
        self.many += 1;
        if self.last.as_ref().is_none_or(|last| last.time <= line.time) {
            self.last = Some(line);
        }
    }
}

/// The entry that refused, if it is still there.
fn entry(line: &Line, base: &Path) -> anyhow::Result<Option<Entry>> {
    let Some(number) = line.entry else {
        return Ok(None);
    };
    let entries = Base::open(base)?.entries()?;
    let found = entries.into_iter().find(|(id, _)| *id == number);
    Ok(found.map(|(_, entry)| entry))
}

/// Why, and what the owner can do about it.
fn explain(line: &Line, entry: Option<&Entry>, base: &str) -> Vec<String> {
    let kb = |command: &str, subject: &str| {
        let subject = printable(subject.as_bytes());
        format!("cattlegrid kb {command} {subject} {base}")
    };
    let why = |text: &str| vec![format!("why: {text}")];
    match (line.reason.as_str(), entry) {
        ("owners_rule", _) => {
            why("a [[gate.rule]] of the settings file blocks it; change or remove that rule")
        }
        ("declared", _) => why(
            "its user agent names a robot that [gate.crawlers] refuses; a person who sends such a user agent can be allowed by address",
        ),
        ("owners_entry" | "entry", None) => {
            why("an entry of the knowledge base that no longer exists; nothing refuses it now")
        }
        ("owners_entry" | "entry", Some(entry)) => {
            let reason = printable(entry.reason.as_bytes());
            let (subject, end) = (entry.subject.to_string(), kb::holds(entry, kb::now()));
            let who = entry.origin.name();
            let mut lines = vec![
                format!("why: the entry {subject} ({who}, {end}): {reason}"),
                "to let this visitor in:".to_owned(),
            ];
            lines.push(format!("  {}   # always", kb("allow", &line.source)));
            let forgotten = match entry.origin {
                Origin::Owner | Origin::List => "an entry about this address alone is removed",
                Origin::Analysis | Origin::Gate => "unknown again, and not denied again for 7 days",
            };
            lines.push(format!("  {}   # {forgotten}", kb("forget", &line.source)));
            if subject != line.source {
                lines.push(format!(
                    "that entry is also about others; '{}' takes it back for all of them",
                    kb("forget", &subject)
                ));
            }
            lines
        }
        _ if line.status >= 500 => why(
            "the site behind the gate did not respond, or not in time; nobody is refused for that",
        ),
        _ => why("more requests than one client may send; it passes again by itself when it waits"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_people_write_them() {
        for text in ["K7QX-29FM", "k7qx29fm", " K7QX-29FM\n"] {
            assert_eq!(number(text).as_deref(), Some("K7QX-29FM"), "{text}");
        }
        assert_eq!(number("oiL0-0000").as_deref(), Some("0110-0000"));
        for text in [
            "",
            "K7QX",
            "K7QX-29FM-1",
            "K7QX-29F\"",
            "K7QX-29FU",
            "ß7QX-29F",
        ] {
            assert_eq!(number(text), None, "{text}");
        }
    }
}
