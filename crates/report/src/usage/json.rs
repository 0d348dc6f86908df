//! The usage of a site as JSON (docs/schema/report.json).

use std::io;
use std::io::Write;

use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use super::Count;
use super::Estimate;
use super::Period;
use super::Step;
use super::Usage;
use super::counter::METRICS;
use super::heaviest::Heavy;

/// Writes everything.
pub fn write_usage_json(usage: &Usage, out: &mut impl Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &document(usage))?;
    writeln!(out)
}

fn document(usage: &Usage) -> Value {
    let comparison = usage.comparison.as_ref().map(|comparison| {
        let rows = comparison.rows.iter().map(|(tagged, period)| {
            json!({
                "period": period.name,
                "tagged": {"page_views": tagged.views, "visitors": tagged.visitors},
                "after_step_one": differences(period.steps[1], tagged.views, tagged.visitors),
                "after_step_two": differences(period.steps[2], tagged.views, tagged.visitors),
            })
        });
        json!({
            "is_simulated": comparison.is_simulated,
            "periods": rows.collect::<Vec<_>>(),
            "missing": comparison.missing,
            "not_tagged": comparison.not_tagged,
            "partly_covered": comparison.partly.iter().map(|partly| json!({"period": partly.month, "days_in_log": partly.covered, "days": partly.days})).collect::<Vec<_>>(),
            "negative": comparison.negative(),
        })
    });
    let counter = usage.counter.as_ref().map(|counter| {
        let rows = counter.months.iter().map(|month| {
            let metrics = METRICS.into_iter().zip(month.metrics());
            let mut row: Map<String, Value> = metrics
                .map(|(name, number)| (name.to_owned(), number.into()))
                .collect();
            row.insert("month".to_owned(), month.month.as_str().into());
            row
        });
        rows.collect::<Vec<_>>()
    });
    let removed = usage.removed.iter().map(|removed| {
        json!({"step": removed.step, "by": removed.by, "sources": removed.sources, "removed": number(removed.count)})
    });
    let thresholds = usage.thresholds.iter();
    let doubtful = usage.doubtful.iter().map(|source| {
        json!({"source": source.source, "by": source.by, "page_views": source.views, "person": rounded(source.person)})
    });
    let list = |periods: &[Period]| periods.iter().map(period).collect::<Vec<_>>();
    json!({
        "schema": "cattlegrid/report/1",
        "span": usage.span.map(|(first, last)| json!({"first": time(first), "last": time(last)})),
        "lines": usage.lines.0,
        "unreadable_lines": usage.lines.1,
        "visit_minutes": usage.silence / 60,
        "all": period(&usage.all),
        "months": list(&usage.months),
        "days": list(&usage.days),
        "calls": usage.calls.iter().map(|(path, requests)| json!({"path": path, "requests": requests})).collect::<Vec<_>>(),
        "blacklisted_sources": usage.blacklisted,
        "removed": removed.collect::<Vec<_>>(),
        "thresholds": thresholds.map(|moved| json!({"what": moved.what, "left": number(moved.count)})).collect::<Vec<_>>(),
        "heaviest": heaviest(usage),
        "most_like_people": doubtful.collect::<Vec<_>>(),
        "crawler_from_decibans": usage.crawler_from,
        "unlabelled_visitors": usage.all.truth.map(|_| usage.unlabelled),
        "comparison": comparison,
        "counter": counter,
        "counter_without_agent": usage.counter.as_ref().map(|counter| counter.without_agent),
        "counter_left_out": usage.counter.as_ref().map(|counter| counter.by_robots),
    })
}

fn heaviest(usage: &Usage) -> Value {
    let heaviest = &usage.heaviest;
    let months = heaviest.months.iter().map(|(month, sources)| {
        json!({"month": month, "sources": sources.iter().map(heavy).collect::<Vec<_>>()})
    });
    json!({
        "sources": heaviest.sources,
        "crawlers": heaviest.crawlers,
        "crawlers_in_several_months": heaviest.repeated,
        "visitors_after_step_one": heaviest.visitors,
        "months": months.collect::<Vec<_>>(),
    })
}

fn heavy(heavy: &Heavy) -> Value {
    let removed_by = match heavy.step {
        Step::One(by) | Step::Two(by) => Some(by),
        Step::Kept(_) | Step::Rest => None,
    };
    let kept_by = match heavy.step {
        Step::Kept(by) => Some(by),
        _ => None,
    };
    json!({
        "source": heavy.source,
        "page_views": heavy.views,
        "class": heavy.class.name(),
        "removed_by": removed_by,
        "kept_by": kept_by,
        "person": rounded(heavy.person),
        "agent": heavy.agent,
        "why": heavy.why,
    })
}

fn time(seconds: u32) -> String {
    let time = jiff::Timestamp::from_second(i64::from(seconds));
    time.unwrap_or_default().to_string()
}

fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

fn number(count: Count) -> Value {
    json!({"page_views": count.views, "visitors": count.visitors, "visits": count.visits})
}

fn estimate(estimate: Estimate) -> Value {
    json!({"value": estimate.value.round() as u64, "low": estimate.low.round() as u64, "high": estimate.high.round() as u64})
}

fn period(period: &Period) -> Value {
    let [all, one, two] = period.steps.map(number);
    json!({
        "period": period.name,
        "all": all,
        "after_step_one": one,
        "after_step_two": two,
        "people": {"page_views": estimate(period.views), "visitors": estimate(period.visitors)},
        "truth": period.truth.map(|truth| number(truth.people)),
    })
}

/// What is left, and the difference to what was tagged in hundredths.
fn differences(count: Count, views: u64, visitors: u64) -> Value {
    let percent = |ours: u64, theirs: u64| {
        let difference = 100.0 * (ours as f64 / theirs as f64 - 1.0);
        (theirs > 0).then(|| (difference * 10.0).round() / 10.0)
    };
    json!({
        "page_views": count.views,
        "visitors": count.visitors,
        "page_views_percent": percent(count.views, views),
        "visitors_percent": percent(count.visitors, visitors),
    })
}
