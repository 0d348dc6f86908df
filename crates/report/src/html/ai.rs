//! Robots of language models: what they come for, whether their names are true, what they took, and which visits assistants sent back.

use std::fmt::Write as _;

use cattlegrid_core::Report;
use cattlegrid_core::report::AiRobot;
use cattlegrid_core::report::Name;
use cattlegrid_core::report::Panels;

use super::escape;
use super::people;
use crate::words::count;
use crate::words::day;
use crate::words::size;

pub(super) fn html(report: &Report, page: &mut String) -> std::fmt::Result {
    let Some(panels) = &report.panels else {
        return Ok(());
    };
    if panels.ai.is_empty() && panels.sent_back.is_empty() {
        return Ok(());
    }
    let sent: u64 = panels.sent_back.iter().map(|row| row.requests).sum();
    let taken: u64 = panels.ai.iter().map(|robot| robot.pages).sum();
    writeln!(
        page,
        "<h2 id=\"ai\">Robots of language models</h2><p class=\"soft\">They took {} pages; assistants sent people back for {} page views, as far as referrers show. \
         A proven name comes from an address that the operator publishes or that name servers confirm; a borrowed one is disproved by the address; a claimed one is neither.</p>",
        count(taken),
        count(sent)
    )?;
    robots(report, &panels.ai, page)?;
    trend(panels, page)?;
    writeln!(page, "<div class=\"panels\">")?;
    for (purpose, pages) in &panels.ai_pages {
        people::top(
            &format!("Pages for: {}", escape(purpose)),
            "page",
            "requests",
            pages,
            page,
        )?;
    }
    let sent_back = cattlegrid_core::report::Top {
        rows: panels.sent_back.clone(),
        requests: sent,
        missed: 0,
    };
    people::top(
        "Sent back by assistants",
        "assistant",
        "views",
        &sent_back,
        page,
    )?;
    writeln!(page, "</div>")
}

fn robots(report: &Report, robots: &[AiRobot], page: &mut String) -> std::fmt::Result {
    if robots.is_empty() {
        return Ok(());
    }
    writeln!(
        page,
        "<div class=\"frame\"><table><thead><tr><th>robot</th><th>comes for</th><th class=\"n\">requests</th><th class=\"n\">pages</th><th class=\"n\">traffic</th><th class=\"n\">proven</th><th class=\"n\">claimed</th><th class=\"n\">borrowed</th></tr></thead><tbody>"
    )?;
    for robot in robots {
        writeln!(
            page,
            "<tr><td>{}{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>",
            escape(&robot.robot.name),
            robot
                .robot
                .operator
                .as_ref()
                .map_or_else(String::new, |operator| format!(" of {}", escape(operator))),
            robot.robot.purpose.name(),
            count(robot.requests),
            count(robot.pages),
            size(robot.bytes)
        )?;
        for name in [Name::Proven, Name::Claimed, Name::Borrowed] {
            let rows = report.manners.iter();
            let of_these =
                rows.filter(|row| row.robot.name == robot.robot.name && row.name == name);
            let requests = of_these.map(|row| row.manners.totals.requests).sum();
            writeln!(page, "<td class=\"n\">{}</td>", count(requests))?;
        }
        writeln!(page, "</tr>")?;
    }
    writeln!(page, "</tbody></table></div>")
}

/// Requests by day, one chart for each purpose.
fn trend(panels: &Panels, page: &mut String) -> std::fmt::Result {
    let all = || {
        panels
            .ai_days
            .values()
            .flat_map(|days| days.keys().copied())
    };
    let (Some(first), Some(last)) = (all().min(), all().max()) else {
        return Ok(());
    };
    if first == last {
        return Ok(());
    }
    let names: Vec<String> = (first..=last).map(day).collect();
    for (purpose, days) in &panels.ai_days {
        let bars: Vec<u64> = (first..=last)
            .map(|day| days.get(&day).copied().unwrap_or(0))
            .collect();
        people::chart(
            &format!("requests per day for: {}", escape(purpose)),
            &bars,
            &names,
            "automated",
            page,
        )?;
    }
    Ok(())
}
