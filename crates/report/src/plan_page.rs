//! A rehearsed containment as one page: the curves of Figures 6 and 7, the limits drawn over them, and who would have met them.

use std::fmt::Write as _;
use std::io;
use std::io::Write;

use cattlegrid_core::rehearsal::Advice;
use cattlegrid_core::rehearsal::K1;
use cattlegrid_core::rehearsal::K2;
use cattlegrid_core::rehearsal::Plan;
use cattlegrid_core::rehearsal::Volumes;
use cattlegrid_core::report::Band;

use crate::html::STYLE;
use crate::html::escape;
use crate::plan::CRAWLERS;
use crate::plan::PAPER;
use crate::plan::PEOPLE;
use crate::words::count;
use crate::words::share;
use crate::words::write_text_of;

/// Size of a chart, and the room at its left and below for numbers.
const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 280.0;
const LEFT: f64 = 52.0;
const BOTTOM: f64 = 36.0;
/// Powers of ten that a chart covers.
const DECADES: u32 = 6;

/// Who is drawn, with the color.
const CURVES: [(&str, &str, &[Band]); 3] = [
    ("all", "unproven", &Band::ALL),
    ("people, as far as decided", "people", &PEOPLE),
    ("crawlers nobody asked for", "masquerading", &CRAWLERS),
];

/// Writes the page.
pub fn write_plan_html(plan: &Plan, out: &mut impl Write) -> io::Result<()> {
    write_text_of(out, |page| document(plan, page))
}

fn document(plan: &Plan, page: &mut String) -> std::fmt::Result {
    let (sources, requests) = plan.requests.all(&Band::ALL);
    let Advice { k1, k2, .. } = plan.advice;
    let caution = match plan.advice.is_kept() {
        true => "",
        false => {
            " No limits of the table leave nearly all people alone here: look at the heaviest of them first."
        }
    };
    writeln!(
        page,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Containment, rehearsed</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <header><h1>Containment, rehearsed</h1><p class=\"soft\">{} days, {} requests of {} sources, each counted once a day</p>\n\
         <p class=\"lead\">This log speaks for <strong>k1 = {k1}</strong> and <strong>k2 = {k2}</strong> pages a day.{caution} Drawn and counted below: k1 = {}, k2 = {}.</p></header>\n<main>",
        plan.days,
        count(requests),
        count(sources),
        plan.limits.k1,
        plan.limits.k2
    )?;
    fates(plan, page)?;
    writeln!(
        page,
        "<h2>Sources by what they send on a day (Figure 6)</h2>"
    )?;
    chart(
        plan,
        &plan.requests,
        |volumes, bands, volume| volumes.share_of_sources(bands, 0, volume),
        page,
    )?;
    writeln!(
        page,
        "<h2>Requests by what their source sends on a day (Figure 7)</h2>"
    )?;
    chart(
        plan,
        &plan.requests,
        |volumes, bands, volume| volumes.share_of_requests(bands, 0, volume),
        page,
    )?;
    table(
        "Requests of sources between k1 and k2, in brackets the paper's (Table 9)",
        |row, column, k1, k2| {
            let value = 100.0 * plan.requests.share_of_requests(&Band::ALL, k1, k2);
            format!(
                "{value:.2} <span class=\"soft\">({:.2})</span>",
                PAPER[row][column]
            )
        },
        page,
    )?;
    table(
        "People's pages between k1 and k2: what would have met a challenge",
        |_, _, k1, k2| {
            format!(
                "{:.2}",
                100.0 * plan.pages.share_of_requests(&PEOPLE, k1, k2)
            )
        },
        page,
    )?;
    stopped(plan, page)?;
    writeln!(
        page,
        "</main>\n<footer>Made by cattlegrid from access logs. People are taken to solve challenges and crawlers not to; who is who is what an analysis of the same log says.</footer>\n</body>\n</html>"
    )
}

fn fates(plan: &Plan, page: &mut String) -> std::fmt::Result {
    writeln!(
        page,
        "<h2>Who would have met it</h2><div class=\"frame\"><table><thead><tr><th></th><th class=\"n\">sources</th><th class=\"n\">challenged</th><th class=\"n\">refused</th><th class=\"n\">pages</th><th class=\"n\">passed</th><th class=\"n\">held</th><th class=\"n\">blocked</th><th class=\"n\">challenges solved</th></tr></thead><tbody>"
    )?;
    for band in Band::ALL {
        let fate = plan.fates[band as usize];
        writeln!(
            page,
            "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
            band.name(),
            count(fate.sources),
            count(fate.challenged),
            count(fate.refused),
            count(fate.pages),
            share(fate.passed, fate.pages),
            count(fate.held),
            count(fate.blocked),
            count(fate.solved)
        )?;
    }
    writeln!(page, "</tbody></table></div>")
}

/// Where a volume stands from left to right: powers of ten are equally far from each other.
fn x(volume: f64) -> f64 {
    LEFT + (WIDTH - LEFT) * volume.max(1.0).log10() / f64::from(DECADES)
}

fn y(share: f64) -> f64 {
    (HEIGHT - BOTTOM) * (1.0 - share)
}

fn chart(
    plan: &Plan,
    volumes: &Volumes,
    value: impl Fn(&Volumes, &[Band], u32) -> f64,
    page: &mut String,
) -> std::fmt::Result {
    write!(
        page,
        "<figure><div class=\"wide\"><svg viewBox=\"0 -8 {WIDTH} {}\" role=\"img\" aria-label=\"share up to each volume\"><g class=\"axis\">",
        HEIGHT + 8.0
    )?;
    for tenth in [0, 25, 50, 75, 100] {
        let at = y(f64::from(tenth) / 100.0);
        write!(
            page,
            "<line x1=\"{LEFT}\" x2=\"{WIDTH}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{tenth} %</text>",
            LEFT - 6.0,
            at + 4.0
        )?;
    }
    for decade in 0..=DECADES {
        let volume = 10_u64.pow(decade);
        write!(
            page,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{}\">{}</text>",
            x(volume as f64),
            HEIGHT - BOTTOM + 16.0,
            if decade == DECADES { "end" } else { "middle" },
            count(volume)
        )?;
    }
    write!(
        page,
        "<text x=\"{WIDTH}\" y=\"{:.1}\" text-anchor=\"end\">requests of a source on one day</text></g>",
        HEIGHT - 4.0
    )?;
    for (name, limit) in [("k1", plan.limits.k1), ("k2", plan.limits.k2)] {
        let at = x(f64::from(limit));
        write!(
            page,
            "<line x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"0\" y2=\"{:.1}\" stroke=\"currentColor\" stroke-dasharray=\"4 4\"/><text x=\"{:.1}\" y=\"{:.1}\" style=\"font-size:12px\">{name} = {}</text>",
            HEIGHT - BOTTOM,
            at + 5.0,
            HEIGHT - BOTTOM - 6.0,
            count(u64::from(limit))
        )?;
    }
    for (_, color, bands) in CURVES {
        write!(
            page,
            "<polyline fill=\"none\" stroke=\"var(--{color})\" stroke-width=\"2\" points=\""
        )?;
        for step in 0..=DECADES * 20 {
            let volume = 10_f64.powf(f64::from(step) / 20.0);
            let share = value(volumes, bands, volume as u32);
            write!(page, "{:.1},{:.1} ", x(volume), y(share))?;
        }
        write!(page, "\"/>")?;
    }
    writeln!(page, "</svg></div><ul class=\"legend\">")?;
    for (name, color, _) in CURVES {
        writeln!(
            page,
            "<li><i style=\"--band:var(--{color})\"></i>{name}</li>"
        )?;
    }
    writeln!(page, "</ul></figure>")
}

fn table(
    title: &str,
    value: impl Fn(usize, usize, u32, u32) -> String,
    page: &mut String,
) -> std::fmt::Result {
    write!(
        page,
        "<h2>{title}, in percent</h2><div class=\"frame\"><table><thead><tr><th>k1 \\ k2</th>"
    )?;
    for k2 in K2 {
        write!(page, "<th class=\"n\">{}</th>", count(u64::from(k2)))?;
    }
    write!(page, "</tr></thead><tbody>")?;
    for (row, k1) in K1.into_iter().enumerate() {
        write!(page, "<tr><td>{k1}</td>")?;
        for (column, k2) in K2.into_iter().enumerate() {
            write!(page, "<td class=\"n\">{}</td>", value(row, column, k1, k2))?;
        }
        write!(page, "</tr>")?;
    }
    writeln!(page, "</tbody></table></div>")
}

fn stopped(plan: &Plan, page: &mut String) -> std::fmt::Result {
    if plan.stopped.is_empty() {
        return Ok(());
    }
    writeln!(
        page,
        "<h2>Neither people nor crawlers for sure, and would have lost pages</h2><p class=\"soft\">Allow those you want: cattlegrid kb allow ADDRESS.</p><div class=\"frame\"><table><tbody>"
    )?;
    for (source, band, pages) in &plan.stopped {
        writeln!(
            page,
            "<tr><td>{}</td><td>{}</td><td class=\"n\">{}</td></tr>",
            escape(&source.to_string()),
            band.name(),
            count(u64::from(*pages))
        )?;
    }
    writeln!(page, "</tbody></table></div>")
}
