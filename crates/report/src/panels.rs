//! What people and robots of language models asked for, as JSON.

use std::collections::BTreeMap;

use cattlegrid_core::report::PanelDay;
use cattlegrid_core::report::Panels;
use cattlegrid_core::report::Row;
use cattlegrid_core::report::Top;
use serde_json::Value;
use serde_json::json;

use crate::words::day;

/// The `panels` of the report.
pub(crate) fn json(panels: &Panels) -> Value {
    let people = &panels.people;
    json!({
        "people": {
            "days": people.days.iter().map(of_day).collect::<Vec<_>>(),
            "hours": people.hours,
            "statuses": statuses(&people.statuses),
            "pages": top(&people.pages),
            "files": top(&people.files),
            "not_found": top(&people.not_found),
            "referrers": rows(&people.referrers),
            "searches": rows(&people.searches),
            "browsers": rows(&people.browsers),
            "systems": rows(&people.systems),
            "hosts": rows(&people.hosts),
            "own_hosts": people.own_hosts,
            "missed": people.missed,
        },
        "ai": {
            "robots": panels.ai.iter().map(|robot| json!({
                "name": robot.robot.name,
                "operator": robot.robot.operator,
                "purpose": robot.robot.purpose.name(),
                "requests": robot.requests,
                "pages": robot.pages,
                "bytes": robot.bytes,
            })).collect::<Vec<_>>(),
            "purposes": panels.ai_days.iter().map(|(purpose, days)| json!({
                "purpose": purpose,
                "days": days.iter().map(|(number, requests)| json!({"day": day(*number), "requests": requests})).collect::<Vec<_>>(),
                "pages": panels.ai_pages.get(purpose).map(top),
            })).collect::<Vec<_>>(),
            "sent_back": rows(&panels.sent_back),
        },
        "sources": panels.sources.iter().map(|(source, panel)| json!({
            "source": source,
            "statuses": statuses(&panel.statuses),
            "pages": top(&panel.pages),
        })).collect::<Vec<_>>(),
    })
}

fn of_day((number, of_day): (&u32, &PanelDay)) -> Value {
    json!({
        "day": day(*number),
        "visitors": of_day.visitors,
        "views": of_day.views,
        "requests": of_day.requests,
        "bytes": of_day.bytes,
    })
}

fn statuses(statuses: &BTreeMap<u16, u64>) -> Vec<Value> {
    let each = |(status, requests)| json!({"status": status, "requests": requests});
    statuses.iter().map(each).collect()
}

fn top(top: &Top) -> Value {
    json!({"rows": rows(&top.rows), "requests": top.requests, "missed": top.missed})
}

fn rows(rows: &[Row]) -> Vec<Value> {
    let each = |row: &Row| json!({"text": row.text, "requests": row.requests, "bytes": row.bytes});
    rows.iter().map(each).collect()
}
