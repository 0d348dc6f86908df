//! Lines over named places, as SVG.

use std::fmt::Write as _;

use crate::words::count;

/// Size of a chart, and the room at its left and below for numbers.
const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 280.0;
const LEFT: f64 = 52.0;
const BOTTOM: f64 = 44.0;

/// One line of a chart: shares at the places of its axis.
pub(crate) struct Line {
    /// Empty for one that goes with the line before it.
    pub(crate) name: &'static str,
    pub(crate) color: &'static str,
    pub(crate) is_dashed: bool,
    pub(crate) points: Vec<f64>,
}

/// Shares from 0 to the largest (1 for 100 %) over named places.
pub(crate) fn chart(
    axis: &str,
    most: f64,
    places: &[String],
    lines: &[Line],
    page: &mut String,
) -> std::fmt::Result {
    let x = |at: usize| {
        let step = (WIDTH - LEFT - 40.0) / (places.len().max(2) - 1) as f64;
        LEFT + 20.0 + step * at as f64
    };
    let y = |share: f64| (HEIGHT - BOTTOM) * (1.0 - share / most);
    write!(
        page,
        "<div class=\"wide\"><svg viewBox=\"0 -8 {WIDTH} {}\" role=\"img\" aria-label=\"shares by {axis}\"><g class=\"axis\">",
        HEIGHT + 8.0
    )?;
    for quarter in 0..=4 {
        let value = most * f64::from(quarter) / 4.0;
        let (at, hundredths) = (y(value), count((100.0 * value) as u64));
        write!(
            page,
            "<line x1=\"{LEFT}\" x2=\"{WIDTH}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{hundredths} %</text>",
            LEFT - 6.0,
            at + 4.0
        )?;
    }
    for (at, place) in places.iter().enumerate() {
        write!(
            page,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{place}</text>",
            x(at),
            HEIGHT - BOTTOM + 16.0
        )?;
    }
    write!(
        page,
        "<text x=\"{WIDTH}\" y=\"{:.1}\" text-anchor=\"end\">{axis}</text></g>",
        HEIGHT - 4.0
    )?;
    let mut left = LEFT;
    for line in lines {
        let dashes = if line.is_dashed {
            " stroke-dasharray=\"5 5\""
        } else {
            ""
        };
        write!(
            page,
            "<polyline fill=\"none\" stroke=\"var(--{})\" stroke-width=\"2\"{dashes} points=\"",
            line.color
        )?;
        for (at, share) in line.points.iter().enumerate() {
            write!(page, "{:.1},{:.1} ", x(at), y(*share))?;
        }
        write!(page, "\"/>")?;
        if !line.name.is_empty() {
            write!(
                page,
                "<text x=\"{left:.1}\" y=\"{:.1}\" style=\"fill:var(--{});font-size:13px\">— {}</text>",
                HEIGHT - 4.0,
                line.color,
                line.name
            )?;
            left += 40.0 + 7.5 * line.name.len() as f64;
        }
    }
    writeln!(page, "</svg></div>")
}
