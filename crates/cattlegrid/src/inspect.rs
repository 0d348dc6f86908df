//! `inspect`: everything about one source.

use std::io;
use std::process::ExitCode;

use anyhow::bail;
use cattlegrid_core::Analysis;
use cattlegrid_core::analysis::Block;
use cattlegrid_core::report::Moment;
use cattlegrid_core::report::SourceReport;
use cattlegrid_report::write_inspection;
use cattlegrid_report::write_inspection_html;
use cattlegrid_report::write_inspection_json;

use crate::cli::InspectArgs;
use crate::files::is_stdout;
use crate::files::write_whole;
use crate::logs;

/// Requests of the source after which it is judged on the way. Each takes a judgement of all.
const LOOKS: [u64; 12] = [
    5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 100_000,
];

/// What the source was called on the way.
#[derive(Default)]
struct Course {
    /// Its requests so far.
    seen: u64,
    /// The next look.
    next: usize,
    moments: Vec<Moment>,
}

impl Course {
    fn observe(&mut self, analysis: &mut Analysis, blocks: &[Block]) {
        let Some(focus) = analysis.focus() else {
            return analysis.observe(blocks);
        };
        analysis.observe_in_steps(blocks, 1, |analysis, records| {
            // What was seen before these requests has been taken in.
            let looks = LOOKS[self.next..].iter();
            let due = looks.take_while(|look| **look <= self.seen).count();
            self.next += due;
            if due > 0
                && let Some(inspection) = analysis.report().inspection
            {
                self.moments.push(moment(&inspection.source));
            }
            let own = records.iter().filter(|record| record.source() == focus);
            self.seen += own.count() as u64;
        });
    }

    /// All moments, and the end.
    fn finish(mut self, last: &SourceReport) -> Vec<Moment> {
        let last = moment(last);
        self.moments
            .retain(|moment| moment.requests < last.requests);
        self.moments.push(last);
        self.moments
    }
}

fn moment(source: &SourceReport) -> Moment {
    Moment {
        time: source.last_seen,
        requests: source.requests,
        class: source.class,
        confidence: source.confidence,
        decided_by: source.decided_by,
    }
}

pub(crate) fn run(arguments: &InspectArgs) -> anyhow::Result<ExitCode> {
    let mut settings = logs::settings(&arguments.log)?;
    settings.focus = Some(arguments.source.clone());
    let mut course = Course::default();
    let mut read = logs::read_by(&arguments.log, settings, |analysis, blocks| {
        course.observe(analysis, blocks);
    })?;
    if let Some(inspection) = &mut read.report.inspection {
        inspection.course = course.finish(&inspection.source);
    }
    let Some(inspection) = &read.report.inspection else {
        bail!(
            "there is no request from {} among the {} in these logs; give the source as 'analyze' prints it (an IPv6 address stands for its /64 network)",
            cattlegrid_core::text::printable(arguments.source.as_bytes()),
            read.report.lines.parsed
        );
    };
    if let Some(path) = &arguments.html {
        write_whole(path, |file| write_inspection_html(inspection, file))?;
    }
    match &arguments.json {
        Some(path) if is_stdout(path) => {
            write_inspection_json(inspection, &mut io::stdout().lock())?;
        }
        other => {
            if let Some(path) = other {
                write_whole(path, |file| write_inspection_json(inspection, file))?;
            }
            write_inspection(inspection, &mut io::stdout().lock())?;
        }
    }
    Ok(ExitCode::from(if read.is_incomplete { 2 } else { 0 }))
}
