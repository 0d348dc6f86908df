//! Long sessions of users as points: Figures 2 and 3 of the PathMarker paper on one page.

use std::fmt::Write as _;
use std::io;
use std::io::Write;

use cattlegrid_core::paths::FEATURES;
use cattlegrid_core::paths::PathKind;

use crate::html::STYLE;
use crate::html::escape;
use crate::words::write_text_of;

/// One long session.
#[derive(Debug, Clone, Copy)]
pub struct Point {
    /// The paper's six features.
    pub features: [f64; FEATURES],
    /// What it is; `None` for a person.
    pub truth: Option<PathKind>,
    /// What it was called.
    pub called: Option<PathKind>,
}

/// Size of a picture, and the room at its left and below for numbers.
const SIZE: f64 = 560.0;
const LEFT: f64 = 52.0;
const BOTTOM: f64 = 44.0;
/// People's points in a picture at most: more hide each other, and make the page large. Misjudged ones are always drawn.
const PEOPLE_MAX: usize = 1500;

/// Writes a page with both figures.
pub fn write_figures(points: &[Point], origin: &str, out: &mut impl Write) -> io::Result<()> {
    write_text_of(out, |page| document(points, origin, page))
}

fn document(points: &[Point], origin: &str, page: &mut String) -> std::fmt::Result {
    let wrong = points.iter().filter(|point| point.is_wrong()).count();
    writeln!(
        page,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Paths of people and of crawlers</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <header><h1>Paths of people and of crawlers</h1><p class=\"soft\">{} long sessions of {}, {wrong} misjudged. \
         Circles are people, triangles depth-first, squares breadth-first and diamonds random-like crawlers; a filled shape is misjudged.</p></header>\n<main>",
        points.len(),
        escape(origin)
    )?;
    let figures = [
        (
            "Figure 2: depth and width of a long session",
            [0, 1],
            ["F1 depth rate", "F2 width rate"],
        ),
        (
            "Figure 3: difference between a long session and its longest short session",
            [3, 4],
            ["F4 difference in depth", "F5 difference in width"],
        ),
    ];
    for (title, at, axes) in figures {
        writeln!(page, "<h2>{title}</h2>\n<figure>")?;
        scatter(points, at, axes, page)?;
        writeln!(page, "</figure>")?;
    }
    writeln!(page, "</main>\n</body>\n</html>")
}

impl Point {
    fn is_wrong(&self) -> bool {
        self.truth != self.called
    }
}

/// Points over two features from 0 to 1.
fn scatter(
    points: &[Point],
    [across, up]: [usize; 2],
    [x_axis, y_axis]: [&str; 2],
    page: &mut String,
) -> std::fmt::Result {
    let x = |value: f64| LEFT + (SIZE - LEFT - 12.0) * value.clamp(0.0, 1.0);
    let y = |value: f64| (SIZE - BOTTOM) * (1.0 - value.clamp(0.0, 1.0));
    write!(
        page,
        "<svg viewBox=\"0 -8 {SIZE} {}\" role=\"img\" aria-label=\"{x_axis} and {y_axis}\" style=\"max-width:{SIZE}px\"><g class=\"axis\">",
        SIZE + 8.0
    )?;
    for quarter in 0..=4 {
        let value = f64::from(quarter) / 4.0;
        let (right, above) = (x(value), y(value));
        write!(
            page,
            "<line x1=\"{LEFT}\" x2=\"{SIZE}\" y1=\"{above:.1}\" y2=\"{above:.1}\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{value:.2}</text>\
             <text x=\"{right:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{value:.2}</text>",
            LEFT - 6.0,
            above + 4.0,
            SIZE - BOTTOM + 16.0
        )?;
    }
    write!(
        page,
        "<text x=\"{SIZE}\" y=\"{:.1}\" text-anchor=\"end\">{x_axis} to the right, {y_axis} upwards</text></g>",
        SIZE - 4.0
    )?;
    let people = points.iter().filter(|point| point.truth.is_none()).count();
    let step = people.div_ceil(PEOPLE_MAX).max(1);
    let mut seen = 0;
    // Misjudged ones on top.
    let (wrong, right): (Vec<&Point>, Vec<&Point>) =
        points.iter().partition(|point| point.is_wrong());
    for point in right.into_iter().chain(wrong) {
        if point.truth.is_none() && !point.is_wrong() {
            seen += 1;
            if seen % step != 0 {
                continue;
            }
        }
        shape(
            point,
            x(point.features[across]),
            y(point.features[up]),
            page,
        )?;
    }
    writeln!(page, "</svg>")
}

fn shape(point: &Point, x: f64, y: f64, page: &mut String) -> std::fmt::Result {
    let color = match point.truth {
        None => "people",
        Some(PathKind::DepthFirst) => "masquerading",
        Some(PathKind::BreadthFirst) => "legitimate",
        Some(PathKind::RandomLike) => "unauthorized",
    };
    let fill = match point.is_wrong() {
        true => format!("var(--{color})"),
        false => "none".to_owned(),
    };
    let style = format!("fill=\"{fill}\" stroke=\"var(--{color})\"");
    match point.truth {
        None => write!(
            page,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" {style}/>"
        ),
        Some(PathKind::BreadthFirst) => write!(
            page,
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"6\" height=\"6\" {style}/>",
            x - 3.0,
            y - 3.0
        ),
        Some(PathKind::DepthFirst) => {
            write!(page, "<path d=\"M{x:.1} {:.1}l4 7h-8z\" {style}/>", y - 4.0)
        }
        Some(PathKind::RandomLike) => {
            write!(
                page,
                "<path d=\"M{x:.1} {:.1}l4 4-4 4-4-4z\" {style}/>",
                y - 4.0
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misjudged_sessions_are_filled() {
        let point = |truth: Option<PathKind>, called: Option<PathKind>| Point {
            features: [0.5, 0.25, 1.0, 0.1, 0.1, 1.0],
            truth,
            called,
        };
        let deep = Some(PathKind::DepthFirst);
        let points = [point(None, None), point(None, deep), point(deep, deep)];
        let mut page = Vec::new();
        write_figures(&points, "a<b", &mut page).unwrap();
        let page = String::from_utf8(page).unwrap();
        assert_eq!(page.matches("<circle").count(), 4);
        assert_eq!(page.matches("fill=\"var(--people)\"").count(), 2);
        assert!(
            page.contains("a&lt;b") && page.contains("1 misjudged"),
            "{page}"
        );
    }
}
