//! Requests over time as stacked bars, with round numbers at the axes.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use cattlegrid_core::report::Band;
use cattlegrid_core::report::Timeline;

use crate::words::count;
use crate::words::minute;
use crate::words::round_steps;

/// Bars of the chart.
const BARS_MAX: usize = 240;
/// Lines across the chart, and times under it.
const LINES_MAX: usize = 5;
const TIMES_MAX: usize = 9;
/// Size of the chart, and the room for numbers at its left and below.
const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 260.0;
const TOP: f64 = 30.0;
const LEFT: f64 = 60.0;
const BOTTOM: f64 = 22.0;

const HOUR: u32 = 3600;
const DAY: u32 = 24 * HOUR;
/// Spans of one bar that have a name, from short to long.
const BARS: [(u32, &str); 11] = [
    (HOUR / 2, "half hour"),
    (HOUR, "hour"),
    (2 * HOUR, "2 hours"),
    (3 * HOUR, "3 hours"),
    (6 * HOUR, "6 hours"),
    (12 * HOUR, "12 hours"),
    (DAY, "day"),
    (2 * DAY, "2 days"),
    (7 * DAY, "week"),
    (14 * DAY, "2 weeks"),
    (28 * DAY, "4 weeks"),
];

/// Steps put together so that no more than [`BARS_MAX`] are drawn, and what a bar spans in words.
struct Bars {
    start: u32,
    step: u32,
    name: String,
    bands: Vec<[u64; Band::ALL.len()]>,
}

impl Bars {
    fn of(timeline: &Timeline) -> Bars {
        let steps = timeline.bands[0].len();
        // Without requests there are no steps.
        let one = timeline.step.max(1);
        let seconds = one * steps as u32;
        let named = BARS
            .iter()
            .find(|(bar, _)| bar.is_multiple_of(one) && (seconds / bar) as usize <= BARS_MAX);
        let (step, name) = match named {
            Some((step, name)) => (*step, (*name).to_owned()),
            None => {
                let step = one * steps.div_ceil(BARS_MAX).max(1) as u32;
                (step, format!("{} days", step.div_ceil(DAY)))
            }
        };
        let together = (step / one) as usize;
        let bands = (0..steps.div_ceil(together))
            .map(|bar| {
                let range = bar * together..((bar + 1) * together).min(steps);
                std::array::from_fn(|band| timeline.bands[band][range.clone()].iter().sum())
            })
            .collect();
        Bars {
            start: timeline.start,
            step,
            name,
            bands,
        }
    }

    fn most(&self) -> u64 {
        let sums = self.bands.iter().map(|bar| bar.iter().sum());
        sums.max().unwrap_or(0)
    }

    fn width(&self) -> f64 {
        (WIDTH - LEFT) / self.bands.len().max(1) as f64
    }

    /// Where a time stands.
    fn x(&self, time: u32) -> f64 {
        LEFT + f64::from(time - self.start) / f64::from(self.step) * self.width()
    }

    fn end(&self) -> u32 {
        self.start + self.step * self.bands.len() as u32
    }
}

pub(super) fn chart(timeline: &Timeline, page: &mut String) -> std::fmt::Result {
    let bars = Bars::of(timeline);
    let lines = round_steps(bars.most(), LINES_MAX);
    let Some(top) = lines.last().copied().filter(|top| *top > 0) else {
        return Ok(());
    };
    let height = |requests: u64| requests as f64 / top as f64 * (HEIGHT - TOP);
    writeln!(
        page,
        "<h2>Traffic over time</h2><figure><div class=\"wide\"><svg viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"Requests over time, from people, automated programs and crawlers; the table below has the numbers\">\
         <text x=\"0\" y=\"12\">requests per {}</text>",
        HEIGHT + BOTTOM,
        bars.name
    )?;
    for line in &lines {
        let y = HEIGHT - height(*line);
        writeln!(
            page,
            "<line x1=\"{LEFT}\" x2=\"{WIDTH}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"var(--line)\"/><text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 6.0,
            y + 4.0,
            count(*line)
        )?;
    }
    for band in Band::ALL {
        let path = shape(&bars, band, height)?;
        if !path.is_empty() {
            writeln!(
                page,
                "<path fill=\"var(--{})\" d=\"{path}\"><title>{}</title></path>",
                band.key(),
                band.name()
            )?;
        }
    }
    time_axis(&bars, page)?;
    writeln!(page, "</svg></div><ul class=\"legend\">")?;
    for band in Band::ALL {
        writeln!(
            page,
            "<li><i style=\"--band:var(--{})\"></i>{}</li>",
            band.key(),
            band.name()
        )?;
    }
    writeln!(page, "</ul>")?;
    chart_table(timeline, page)?;
    writeln!(page, "</figure>")
}

/// The parts of all bars that belong to a band.
fn shape(bars: &Bars, band: Band, height: impl Fn(u64) -> f64) -> Result<String, std::fmt::Error> {
    let mut path = String::new();
    let width = bars.width();
    for (at, bar) in bars.bands.iter().enumerate() {
        let below = height(bar[..band as usize].iter().sum());
        let own = height(bar[band as usize]);
        if own > 0.0 {
            write!(
                path,
                "M{:.1} {:.1}h{width:.1}v-{own:.1}h-{width:.1}z",
                LEFT + at as f64 * width,
                HEIGHT - below
            )?;
        }
    }
    Ok(path)
}

/// Round times under the chart: hours, days, Mondays, firsts of a month or of a year.
fn time_axis(bars: &Bars, page: &mut String) -> std::fmt::Result {
    let mut last = f64::MIN;
    for (time, name) in round_times(bars.start, bars.end()) {
        let x = bars.x(time);
        writeln!(
            page,
            "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{HEIGHT}\" y2=\"{}\" stroke=\"var(--soft)\"/>",
            HEIGHT + 4.0
        )?;
        // A name that would run into the one before it, or out of the picture, is left out.
        if x - last < 84.0 || x > WIDTH - 30.0 {
            continue;
        }
        last = x;
        writeln!(
            page,
            "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{name}</text>",
            HEIGHT + 17.0
        )?;
    }
    Ok(())
}

/// Round times between two others, no more than [`TIMES_MAX`], each with its name.
fn round_times(start: u32, end: u32) -> Vec<(u32, String)> {
    // The epoch was a Thursday: four days later it was Monday.
    let monday = 4 * DAY;
    let even = [HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY];
    for step in even {
        let shift = if step == 7 * DAY { monday } else { 0 };
        let first = (start.saturating_sub(shift)).div_ceil(step) * step + shift;
        if ((end.saturating_sub(first)) / step) as usize >= TIMES_MAX {
            continue;
        }
        let times = (first..=end).step_by(step as usize);
        return times
            .map(|time| {
                let name = minute(time);
                let (day, clock) = name.split_once(' ').unwrap_or((&name, ""));
                match step < DAY && clock != "00:00" {
                    true => (time, clock.to_owned()),
                    false => (time, day.to_owned()),
                }
            })
            .collect();
    }
    let firsts: Vec<(u32, String)> = (start.div_ceil(DAY)..=end / DAY)
        .map(|day| (day * DAY, minute(day * DAY)))
        .filter_map(|(time, name)| Some((time, name.split_once("-01 ")?.0.to_owned())))
        .collect();
    // Every month, every third, or every January.
    for (months, kept) in [(1, 12), (3, 4), (12, 1)] {
        let of_these = |name: &str| {
            let month: usize = name
                .get(5..)
                .and_then(|month| month.parse().ok())
                .unwrap_or(1);
            (month - 1).is_multiple_of(months)
        };
        if firsts.len() * kept / 12 <= TIMES_MAX || months == 12 {
            return firsts
                .into_iter()
                .filter(|(_, name)| of_these(name))
                .collect();
        }
    }
    Vec::new()
}

/// The chart's numbers by day, for those who cannot see it.
fn chart_table(timeline: &Timeline, page: &mut String) -> std::fmt::Result {
    let mut days: BTreeMap<u32, [u64; Band::ALL.len()]> = BTreeMap::new();
    for (number, requests) in timeline.bands.iter().enumerate() {
        for (step, requests) in requests.iter().enumerate() {
            let day = (timeline.start + step as u32 * timeline.step) / 86_400;
            days.entry(day).or_default()[number] += requests;
        }
    }
    // Months of a long log, so that the table stays readable.
    if days.len() > 120 {
        return writeln!(
            page,
            "<p class=\"soft\">The numbers by time are in the JSON report.</p>"
        );
    }
    writeln!(
        page,
        "<details><summary>The same by day, as a table</summary><div class=\"frame\"><table><thead><tr><th>day (UTC)</th>"
    )?;
    for band in Band::ALL {
        writeln!(page, "<th class=\"n\">{}</th>", band.name())?;
    }
    writeln!(page, "</tr></thead><tbody>")?;
    for (day, requests) in days {
        let name = minute(day * 86_400);
        writeln!(
            page,
            "<tr><td>{}</td>",
            name.split(' ').next().unwrap_or_default()
        )?;
        for requests in requests {
            writeln!(page, "<td class=\"n\">{}</td>", count(requests))?;
        }
        writeln!(page, "</tr>")?;
    }
    writeln!(page, "</tbody></table></div></details>")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(start: u32, seconds: u32) -> Vec<String> {
        let times = round_times(start, start + seconds);
        times.into_iter().map(|(_, name)| name).collect()
    }

    #[test]
    fn times_are_round() {
        // 2025-01-29 10:17 UTC, a Wednesday.
        let start = 1_738_145_820;
        assert_eq!(names(start, 4 * HOUR), ["11:00", "12:00", "13:00", "14:00"]);
        assert_eq!(
            names(start, DAY)[..5],
            ["12:00", "15:00", "18:00", "21:00", "2025-01-30"]
        );
        assert_eq!(names(start, 4 * DAY)[0], "12:00");
        assert_eq!(names(start, 9 * DAY)[0], "2025-01-30");
        assert_eq!(names(start, 40 * DAY)[..2], ["2025-02-03", "2025-02-10"]);
        assert_eq!(names(start, 200 * DAY)[..2], ["2025-02", "2025-03"]);
        assert_eq!(names(start, 700 * DAY)[..2], ["2025-04", "2025-07"]);
        assert_eq!(names(start, 4000 * DAY)[..2], ["2026-01", "2027-01"]);
        for days in 1..2000 {
            assert!(names(start, days * DAY).len() <= TIMES_MAX + 1, "{days}");
        }
    }

    #[test]
    fn bars_span_times_with_a_name() {
        for (days, name) in [
            (1, "half hour"),
            (7, "hour"),
            (30, "3 hours"),
            (365, "2 days"),
            (4000, "4 weeks"),
        ] {
            let timeline = Timeline {
                start: 0,
                step: HOUR / 2,
                bands: std::array::from_fn(|_| vec![1; 48 * days]),
            };
            let bars = Bars::of(&timeline);
            assert_eq!(bars.name, name, "{days}");
            let sum: u64 = bars.bands.iter().flatten().sum();
            assert_eq!(sum, 7 * 48 * days as u64);
        }
    }
}
