//! Everything about one source as one page: its evidence, its traffic over time, autocorrelation and decomposition.

use std::fmt::Write as _;
use std::io;
use std::io::Write;

use cattlegrid_core::report::Inspection;
use cattlegrid_core::report::Moment;
use cattlegrid_core::report::ShapeInspection;
use cattlegrid_core::report::SourceReport;
use cattlegrid_core::report::WindowInspection;
use cattlegrid_core::text::printable;
use cattlegrid_core::verdict::Class;

use crate::html::STYLE;
use crate::html::escape;
use crate::words::certainty;
use crate::words::count;
use crate::words::minute;
use crate::words::size;
use crate::words::sure;
use crate::words::write_text_of;

/// Size of a chart, and the room at its left and below for numbers.
const WIDTH: f64 = 960.0;
const LEFT: f64 = 60.0;
const BOTTOM: f64 = 20.0;

/// Writes the page.
pub fn write_inspection_html(inspection: &Inspection, out: &mut impl Write) -> io::Result<()> {
    write_text_of(out, |page| document(inspection, page))
}

fn document(inspection: &Inspection, page: &mut String) -> std::fmt::Result {
    let source = &inspection.source;
    let name = escape(&source.source);
    writeln!(
        page,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{name}</title>\n<style>{STYLE}</style>\n</head>\n<body>"
    )?;
    verdict(source, &name, page)?;
    writeln!(page, "<main>")?;
    evidence(source, page)?;
    course(&inspection.course, page)?;
    for window in &inspection.windows {
        self::window(window, page)?;
    }
    writeln!(
        page,
        "<h2>First lines</h2><div class=\"frame\"><table><tbody>"
    )?;
    for line in &inspection.lines {
        writeln!(
            page,
            "<tr><td class=\"path\">{}</td></tr>",
            escape(&printable(line))
        )?;
    }
    writeln!(
        page,
        "</tbody></table></div></main>\n<footer>Made by cattlegrid from access logs. Every verdict has its reasons; none is certain.</footer>\n</body>\n</html>"
    )
}

fn verdict(source: &SourceReport, name: &str, page: &mut String) -> std::fmt::Result {
    let kind = source
        .kind
        .map_or_else(String::new, |kind| format!(", {}", kind.name()));
    writeln!(
        page,
        "<header><h1>{name}</h1><p class=\"lead\"><strong>{}{kind}</strong>, {}</p><p class=\"soft\">{} requests ({} for pages), {}, {} to {} UTC{}</p></header>",
        source.class.name(),
        certainty(source),
        count(source.requests),
        count(source.pages),
        size(source.bytes),
        minute(source.first_seen),
        minute(source.last_seen),
        source
            .agent
            .as_ref()
            .map_or_else(String::new, |agent| format!("<br>{}", escape(agent)))
    )
}

fn evidence(source: &SourceReport, page: &mut String) -> std::fmt::Result {
    writeln!(
        page,
        "<h2>Evidence, strongest first</h2><div class=\"frame\"><table><thead><tr><th class=\"n\">dB</th><th>rule</th><th>what it saw</th></tr></thead><tbody>"
    )?;
    for item in &source.evidence {
        writeln!(
            page,
            "<tr><td class=\"n\">{:+.1}</td><td>{}</td><td>{}</td></tr>",
            item.weight,
            item.detector,
            escape(&item.why)
        )?;
    }
    writeln!(
        page,
        "</tbody></table></div><p class=\"soft\">Ten decibans make a crawler ten times likelier, minus ten a person.</p>"
    )
}

/// How the verdict came about: how sure of a crawler, of a person, or of neither it was after so many requests.
fn course(course: &[Moment], page: &mut String) -> std::fmt::Result {
    if course.len() < 2 {
        return Ok(());
    }
    writeln!(
        page,
        "<h2>Verdict after the first requests</h2><div class=\"frame\"><table><thead><tr><th class=\"n\">requests</th><th>until, UTC</th><th>verdict</th><th class=\"n\">sure</th><th></th><th>by</th></tr></thead><tbody>"
    )?;
    for moment in course {
        let color = match moment.class {
            Class::User => "people",
            Class::Crawler => "masquerading",
            Class::Automated => "automated",
            Class::Undecided => "undecided",
        };
        // From even odds to certainty.
        let width = (moment.confidence - 0.5).max(0.0) * 200.0;
        let sure = match moment.class {
            Class::Undecided => String::new(),
            _ => format!("{} %", sure(moment.confidence)),
        };
        writeln!(
            page,
            "<tr><td class=\"n\">{}</td><td>{}</td><td>{}</td><td class=\"n\">{sure}</td><td style=\"width:30%\"><span class=\"bar\" style=\"width:{width:.0}%;background:var(--{color})\"></span></td><td>{}</td></tr>",
            count(moment.requests),
            minute(moment.time),
            moment.class.name(),
            moment.decided_by.unwrap_or_default()
        )?;
    }
    writeln!(page, "</tbody></table></div>")
}

fn window(window: &WindowInspection, page: &mut String) -> std::fmt::Result {
    let host = window
        .host
        .as_ref()
        .map_or_else(String::new, |host| format!(" of {}", escape(host)));
    writeln!(
        page,
        "<h2>Window from {} UTC{host}</h2>",
        minute(window.start)
    )?;
    let Some(shape) = &window.shape else {
        let counts: Vec<f64> = window
            .series
            .iter()
            .map(|count| f64::from(*count))
            .collect();
        let title =
            "Requests per half hour. The log is too short, or has too many gaps, for a shape.";
        let mut chart = Chart::new(&[&counts, &[0.0]], 160.0);
        chart.bars(&counts, "people");
        return chart.finish(title, page);
    };
    let mut chart = Chart::new(&[&shape.counts, &shape.trend, &[0.0]], 200.0);
    chart.bars(&shape.counts, "legitimate");
    chart.line(&shape.trend, "masquerading");
    chart.finish("Requests per half hour, and their trend", page)?;
    correlation(shape, page)?;
    for (values, title) in [
        (&shape.season, "Season: what comes back every day"),
        (&shape.rest, "Rest: what neither trend nor season explains"),
    ] {
        let mut chart = Chart::new(&[values], 120.0);
        chart.line(values, "legitimate");
        chart.finish(title, page)?;
    }
    values(shape, page)
}

/// Autocorrelation with the band within which it means nothing.
fn correlation(shape: &ShapeInspection, page: &mut String) -> std::fmt::Result {
    let band = |sign: f64| -> Vec<f64> {
        shape
            .errors
            .iter()
            .map(|error| sign * 2.0 * error)
            .collect()
    };
    let (above, below) = (band(1.0), band(-1.0));
    let mut chart = Chart::new(&[&shape.coefficients, &above, &below, &[1.0]], 200.0);
    chart.bars(&shape.coefficients, "people");
    chart.line(&above, "masquerading");
    chart.line(&below, "masquerading");
    chart.finish(
        "Autocorrelation at lags of up to two days (a day is 48 half hours), and twice its error",
        page,
    )
}

fn values(shape: &ShapeInspection, page: &mut String) -> std::fmt::Result {
    if let Some([bayes, rules, svm, trees]) = shape.votes {
        writeln!(
            page,
            "<p>How likely a crawler is by its shape: naive Bayes <strong>{bayes:.2}</strong>, rules <strong>{rules:.2}</strong>, support vectors <strong>{svm:.2}</strong>, trees <strong>{trees:.2}</strong>.</p>"
        )?;
    }
    writeln!(
        page,
        "<details><summary>Values of the shape</summary><div class=\"frame\"><table><tbody>"
    )?;
    for (name, value) in &shape.values {
        writeln!(
            page,
            "<tr><td>{}</td><td class=\"n\">{}</td></tr>",
            escape(name),
            escape(value)
        )?;
    }
    writeln!(
        page,
        "<tr><td>dispersion of the counts</td><td class=\"n\">{:.2}</td></tr></tbody></table></div></details>",
        shape.dispersion
    )
}

/// A picture of values side by side.
struct Chart {
    low: f64,
    high: f64,
    height: f64,
    points: usize,
    drawn: String,
}

impl Chart {
    /// A chart with room for all of these.
    fn new(all: &[&[f64]], height: f64) -> Chart {
        let values = || all.iter().copied().flatten().copied();
        let low = values().fold(f64::INFINITY, f64::min);
        let high = values().fold(f64::NEG_INFINITY, f64::max);
        Chart {
            low,
            // Something to divide by where nothing changes.
            high: if high > low { high } else { low + 1.0 },
            height,
            points: all.first().map_or(1, |values| values.len()).max(1),
            drawn: String::new(),
        }
    }

    fn y(&self, value: f64) -> f64 {
        self.height - (value - self.low) / (self.high - self.low) * (self.height - 12.0)
    }

    fn x(&self, at: usize) -> f64 {
        LEFT + (WIDTH - LEFT) * at as f64 / self.points as f64
    }

    /// A bar from zero for each value.
    fn bars(&mut self, values: &[f64], color: &str) {
        let zero = self.y(self.low.max(0.0));
        let width = (self.x(1) - self.x(0)) * 0.85;
        let mut path = String::new();
        for (at, value) in values
            .iter()
            .enumerate()
            .filter(|(_, value)| **value != 0.0)
        {
            let _ = write!(
                path,
                "M{:.1} {zero:.1}h{width:.1}V{:.1}h-{width:.1}z",
                self.x(at),
                self.y(*value)
            );
        }
        let _ = writeln!(self.drawn, "<path fill=\"var(--{color})\" d=\"{path}\"/>");
    }

    fn line(&mut self, values: &[f64], color: &str) {
        let half = (self.x(1) - self.x(0)) / 2.0;
        let points = values
            .iter()
            .enumerate()
            .map(|(at, value)| format!("{:.1},{:.1}", self.x(at) + half, self.y(*value)));
        let points: Vec<String> = points.collect();
        let _ = writeln!(
            self.drawn,
            "<polyline fill=\"none\" stroke=\"var(--{color})\" stroke-width=\"1.6\" points=\"{}\"/>",
            points.join(" ")
        );
    }

    fn finish(&self, title: &str, page: &mut String) -> std::fmt::Result {
        writeln!(
            page,
            "<figure><figcaption>{title}</figcaption><div class=\"wide\"><svg viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"{title}\">",
            self.height + BOTTOM
        )?;
        let middle = if self.low < 0.0 {
            0.0
        } else {
            (self.low + self.high) / 2.0
        };
        for value in [self.low, middle, self.high] {
            let y = self.y(value);
            let digits = if self.high - self.low < 5.0 { 2 } else { 0 };
            writeln!(
                page,
                "<line x1=\"{LEFT}\" x2=\"{WIDTH}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"var(--line)\"/><text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{value:.digits$}</text>",
                LEFT - 6.0,
                y + 4.0
            )?;
        }
        // A mark for each day.
        for day in (0..=self.points).step_by(48) {
            writeln!(
                page,
                "<text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                self.x(day),
                self.height + 15.0,
                day / 48
            )?;
        }
        writeln!(
            page,
            "{}<text x=\"{WIDTH}\" y=\"{:.1}\" text-anchor=\"end\">days</text></svg></div></figure>",
            self.drawn,
            self.height + 15.0
        )
    }
}
