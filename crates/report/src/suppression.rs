//! What sealed links cost a distributed crawler: Figures 4 and 5 of the PathMarker paper as text, JSON and one page.

use std::fmt::Write as _;
use std::io;
use std::io::Write;

use serde_json::json;

use crate::chart::Line;
use crate::chart::chart;
use crate::html::STYLE;
use crate::json::rounded;
use crate::words::count;
use crate::words::write_text_of;

/// The points of both figures.
#[derive(Debug, Clone, Copy)]
pub struct Suppression<'a> {
    /// Runs behind each point.
    pub runs: u32,
    /// For each number of workers, the share of downloads that brought a new page, up to the first hundred new pages.
    pub efficiency: &'a [(u32, f64)],
    /// For each share of the site, what ten workers download for it, in multiples of its pages.
    pub work: &'a [(f64, f64)],
}

/// What the paper says: one worker's duplicates, and the additional downloads of ten workers for shares of the site.
const DUPLICATES: f64 = 0.082;
const MORE: [(f64, f64); 2] = [(0.5, 1.43), (0.95, 27.81)];

/// The largest multiple in the picture of Figure 5.
const WORK_DRAWN: f64 = 32.0;

/// The paper's multiple for a share, where it gives one.
fn of_paper(share: f64) -> Option<f64> {
    let known = MORE
        .into_iter()
        .find(|(known, _)| (known - share).abs() < 0.001);
    known.map(|(_, more)| 1.0 + more)
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// Downloads as the paper counts them: 100 % is one for each page.
fn times(work: f64) -> String {
    format!("{} %", count((100.0 * work).round() as u64))
}

impl Suppression<'_> {
    /// The efficiency of one worker.
    fn alone(&self) -> f64 {
        self.efficiency.first().map_or(1.0, |(_, share)| *share)
    }

    /// Writes both figures as text.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(
            out,
            "Sealed links: a worker sees where a link leads only after it has downloaded the page. Means of {} sites.\n",
            self.runs
        )?;
        writeln!(
            out,
            "Figure 4: downloads that bring a new page, up to the first 100 new pages"
        )?;
        writeln!(
            out,
            "  workers  efficiency  relative to one   (paper: one worker {}, 100 workers less than half of that)",
            percent(1.0 - DUPLICATES)
        )?;
        for (workers, share) in self.efficiency {
            writeln!(
                out,
                "  {workers:>7}  {:>10}  {:>15}",
                percent(*share),
                percent(share / self.alone())
            )?;
        }
        writeln!(
            out,
            "\nFigure 5: downloads of ten workers for a share of the site (100 % is one for each page)"
        )?;
        writeln!(out, "  share  downloads  wasted    paper")?;
        for (share, work) in self.work {
            let paper = of_paper(*share).map_or_else(String::new, times);
            writeln!(
                out,
                "  {:>3.0} %  {:>9}  {:>6}  {paper:>7}",
                100.0 * share,
                times(*work),
                percent(1.0 - 1.0 / work)
            )?;
        }
        Ok(())
    }

    /// Writes both figures as JSON.
    pub fn write_json(&self, out: &mut impl Write) -> io::Result<()> {
        let efficiency = self
            .efficiency
            .iter()
            .map(|(workers, share)| json!({ "workers": workers, "efficiency": rounded(*share) }));
        let work = self.work.iter().map(|(share, work)| {
            json!({ "share": rounded(*share), "downloads": rounded(*work), "wasted": rounded(1.0 - 1.0 / work), "paper": of_paper(*share) })
        });
        let value = json!({
            "schema": "cattlegrid/suppression/1",
            "runs": self.runs,
            "figure_4": efficiency.collect::<Vec<_>>(),
            "figure_5": work.collect::<Vec<_>>(),
        });
        serde_json::to_writer_pretty(&mut *out, &value)?;
        writeln!(out)
    }

    /// Writes a page with both pictures.
    pub fn write_html(&self, out: &mut impl Write) -> io::Result<()> {
        write_text_of(out, |page| self.document(page))
    }

    fn document(&self, page: &mut String) -> std::fmt::Result {
        writeln!(
            page,
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Sealed links against distributed crawlers</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
             <header><h1>Sealed links against distributed crawlers</h1><p class=\"soft\">A worker sees where a link leads only after it has downloaded the page. Means of {} sites.</p></header>\n<main>\n\
             <h2>Figure 4: downloads that bring a new page, up to the first 100 new pages</h2>\n<figure>",
            self.runs
        )?;
        figure(
            ("efficiency", "people"),
            ("workers", 1.0),
            self.efficiency
                .iter()
                .map(|(workers, share)| (workers.to_string(), *share)),
            page,
        )?;
        writeln!(
            page,
            "</figure>\n<h2>Figure 5: downloads of ten workers for a share of the site</h2>\n<figure>"
        )?;
        figure(
            ("downloads, 100 % is one for each page", "masquerading"),
            ("of the site", WORK_DRAWN),
            self.work
                .iter()
                .map(|(share, work)| (format!("{:.0} %", 100.0 * share), *work)),
            page,
        )?;
        writeln!(
            page,
            "</figure>\n</main>\n<footer>The paper: one worker wastes {} of its downloads; half the site takes {} and 95 % of it {}.</footer>\n</body>\n</html>",
            percent(DUPLICATES),
            times(1.0 + MORE[0].1),
            times(1.0 + MORE[1].1)
        )
    }
}

/// One line over its places.
fn figure(
    (name, color): (&'static str, &'static str),
    (axis, most): (&str, f64),
    points: impl Iterator<Item = (String, f64)>,
    page: &mut String,
) -> std::fmt::Result {
    let (places, points): (Vec<String>, Vec<f64>) = points.unzip();
    let line = Line {
        name,
        color,
        is_dashed: false,
        points,
    };
    chart(axis, most, &places, &[line], page)
}
