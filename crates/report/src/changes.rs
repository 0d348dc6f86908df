//! What changed since the last judgement, a line for each source.

use std::collections::BTreeMap;
use std::io;
use std::io::Write;

use cattlegrid_core::Report;
use cattlegrid_core::report::SourceReport;
use cattlegrid_core::verdict::Class;
use cattlegrid_core::verdict::Kind;

use crate::words::minute;
use crate::words::sure;

/// The verdicts that were told, by source.
#[derive(Debug, Default)]
pub struct Told {
    verdicts: BTreeMap<String, (Class, Option<Kind>)>,
}

impl Told {
    /// Takes the verdicts of a report as told.
    pub fn tell(&mut self, report: &Report) {
        self.verdicts = report
            .sources
            .iter()
            .map(|source| (source.source.clone(), (source.class, source.kind)))
            .collect();
    }

    /// Writes a line for every source whose verdict is another than was told, then takes them as told. People who are new
    /// are no news.
    pub fn write_changes(&mut self, report: &Report, out: &mut impl Write) -> io::Result<()> {
        let at = report.span.map_or(0, |(_, last)| last);
        for source in &report.sources {
            let before = self.verdicts.get(&source.source);
            let is_news = match before {
                Some(before) => *before != (source.class, source.kind),
                None => !matches!(source.class, Class::User | Class::Undecided),
            };
            if is_news {
                let before = before.map_or("new", |(class, _)| class.name());
                writeln!(out, "{}  {}", minute(at), line(source, before))?;
            }
        }
        self.tell(report);
        out.flush()
    }
}

fn line(source: &SourceReport, before: &str) -> String {
    let kind = source
        .kind
        .map_or_else(String::new, |kind| format!(", {}", kind.name()));
    let why = source
        .evidence
        .first()
        .map_or_else(String::new, |evidence| format!(": {}", evidence.why));
    format!(
        "{:<24} {before} -> {}{kind}, {} % sure{why}",
        source.source,
        source.class.name(),
        sure(source.confidence)
    )
}
