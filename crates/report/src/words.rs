//! Numbers and times as people read them, and texts written whole.

use std::fmt;
use std::io;
use std::io::Write;

use cattlegrid_core::report::SourceReport;
use cattlegrid_core::report::WindowReport;
use cattlegrid_core::verdict::Class;
use jiff::Timestamp;

/// Writes a text that is put together first: that cannot fail, and writing it out can.
pub(crate) fn write_text_of(
    out: &mut impl Write,
    fill: impl FnOnce(&mut String) -> fmt::Result,
) -> io::Result<()> {
    let mut page = String::new();
    let _ = fill(&mut page);
    out.write_all(page.as_bytes())
}

/// A number with separators.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A part of a whole in hundredths.
pub(crate) fn share(part: u64, whole: u64) -> String {
    if whole == 0 {
        String::new()
    } else {
        format!("{:.1} %", 100.0 * part as f64 / whole as f64)
    }
}

/// Round numbers from 0 to the first one that is no less than the largest, at most so many steps.
pub(crate) fn round_steps(largest: u64, steps: usize) -> Vec<u64> {
    let mut unit = 1;
    loop {
        for times in [1, 2, 5] {
            let step = unit * times;
            let many = largest.div_ceil(step);
            if many as usize <= steps {
                return (0..=many).map(|at| at * step).collect();
            }
        }
        unit *= 10;
    }
}

/// A day since 1970 as year, month and day.
pub(crate) fn day(number: u32) -> String {
    let mut name = minute(number.saturating_mul(86_400));
    name.truncate("2000-01-01".len());
    name
}

/// Bytes in the unit that fits.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "kB", "MB", "GB", "TB"];
    let mut size = bytes as f64;
    let mut unit = 0;
    while size >= 1000.0 && unit + 1 < UNITS.len() {
        size /= 1000.0;
        unit += 1;
    }
    format!("{size:.1} {}", UNITS[unit])
}

/// Milliseconds in the unit that fits.
pub(crate) fn span(ms: u64) -> String {
    match ms {
        0..1000 => format!("{ms} ms"),
        1000..60_000 => format!("{:.1} s", ms as f64 / 1e3),
        60_000..3_600_000 => format!("{:.1} min", ms as f64 / 6e4),
        _ => format!("{:.1} h", ms as f64 / 3.6e6),
    }
}

/// How sure a verdict is, in hundredths; rounded down, because none is certain.
pub(crate) fn sure(confidence: f64) -> u64 {
    (confidence * 100.0).floor() as u64
}

/// How sure the verdict on a source is; of one that could not be judged, where it leans.
pub(crate) fn certainty(source: &SourceReport) -> String {
    let percent = sure(source.confidence);
    if source.class != Class::Undecided {
        return format!("{percent} % sure");
    }
    let decibans: f64 = source.evidence.iter().map(|item| item.weight).sum();
    match percent {
        50 => "leaning neither way".to_owned(),
        _ if decibans > 0.0 => format!("leaning to a crawler ({percent} %)"),
        _ => format!("leaning to a person ({percent} %)"),
    }
}

/// The window whose figures the evidence of a source has, where that is not all that was seen of it.
pub(crate) fn window_of_evidence(source: &SourceReport) -> Option<String> {
    let is_of_verdict = |window: &&WindowReport| {
        window.class == source.class && window.decided_by == source.decided_by
    };
    let window = source.windows.iter().rfind(is_of_verdict)?;
    (window.requests < source.requests).then(|| {
        format!(
            "figures of its {} requests from {} to {}",
            count(window.requests),
            minute(window.start),
            minute(window.end)
        )
    })
}

/// A time to the minute, UTC.
pub(crate) fn minute(seconds: u32) -> String {
    Timestamp::from_second(i64::from(seconds)).map_or_else(
        |_| String::new(),
        |time| time.strftime("%Y-%m-%d %H:%M").to_string(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_easy_to_read() {
        assert_eq!(
            [count(0), count(999), count(1000), count(1_234_567)],
            ["0", "999", "1,000", "1,234,567"]
        );
        assert_eq!(
            [size(999), size(1000), size(2_500_000_000)],
            ["999.0 B", "1.0 kB", "2.5 GB"]
        );
        assert_eq!(share(1, 3), "33.3 %");
        assert_eq!(
            [span(999), span(1500), span(90_000), span(5_400_000)],
            ["999 ms", "1.5 s", "1.5 min", "1.5 h"]
        );
    }
}
