//! What a page-tagging tool counted, and how it differs from the log: the study's Tables 3 and 4.

use std::collections::BTreeMap;

use super::Count;
use super::Period;
use super::Usage;
use crate::words::count;

/// Page views and visitors by period: `2030-01` or `2030-01-31`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Baseline {
    /// By period.
    pub periods: BTreeMap<String, Tagged>,
    /// It was made from the truth of a simulated world.
    pub is_simulated: bool,
}

/// What a page-tagging tool counted in one period.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tagged {
    /// Page views.
    pub views: u64,
    /// Visitors.
    pub visitors: u64,
}

/// The differences.
#[derive(Debug, Clone, Default)]
pub struct Comparison {
    /// By period: what the tool counted, and the log's numbers.
    pub rows: Vec<(Tagged, Period)>,
    /// Periods of the baseline that the log does not have.
    pub missing: Vec<String>,
    /// The baseline was made from the truth of a simulated world.
    pub is_simulated: bool,
}

/// In a hundred visitors of a simulated site, so many block the tags; and of a hundred views, so many come from browsers' caches, where
/// only tags see them.
const BLOCKING: u64 = 4;
const CACHED: u64 = 3;

impl Baseline {
    /// Reads a table with the columns `period` (or `month`), `page_views` and `visitors`.
    pub fn parse(text: &str) -> Result<Baseline, String> {
        let mut lines = text
            .lines()
            .enumerate()
            .map(|(number, line)| (number + 1, line.trim()));
        let (_, header) = lines.next().unwrap_or_default();
        let columns: Vec<String> = header
            .split(',')
            .map(|column| {
                column
                    .trim()
                    .trim_matches('"')
                    .to_ascii_lowercase()
                    .replace(' ', "_")
            })
            .collect();
        let column = |names: &[&str]| {
            let found = columns
                .iter()
                .position(|column| names.contains(&column.as_str()));
            found.ok_or_else(|| format!("line 1: there is no column '{}'; the columns are period, page_views and visitors", names[0]))
        };
        let places = [
            column(&["period", "month", "day", "date"])?,
            column(&["page_views", "views", "pageviews"])?,
            column(&["visitors", "users"])?,
        ];
        let mut baseline = Baseline::default();
        for (number, line) in lines.filter(|(_, line)| !line.is_empty()) {
            let (period, tagged) =
                row(line, places).map_err(|what| format!("line {number}: {what}"))?;
            if baseline.periods.insert(period.clone(), tagged).is_some() {
                return Err(format!("line {number}: {period} stands there twice"));
            }
        }
        match baseline.periods.is_empty() {
            true => Err("there is no period in it".to_owned()),
            false => Ok(baseline),
        }
    }

    /// What a page-tagging tool would have counted on a site whose people are known, day by day.
    pub fn simulated(usage: &Usage) -> Baseline {
        let tagged = |truth: Count| Tagged {
            views: truth.views * (100 - BLOCKING) * (100 + CACHED) / 10_000,
            visitors: truth.visitors * (100 - BLOCKING) / 100,
        };
        let periods = usage.months.iter().chain(&usage.days);
        Baseline {
            periods: periods
                .map(|period| {
                    (
                        period.name.clone(),
                        tagged(period.truth.unwrap_or_default()),
                    )
                })
                .collect(),
            is_simulated: true,
        }
    }

    /// Compares it with the log.
    pub fn compare(&self, usage: &Usage) -> Comparison {
        let periods = usage.months.iter().chain(&usage.days);
        let known: BTreeMap<&str, &Period> = periods
            .map(|period| (period.name.as_str(), period))
            .collect();
        let (mut rows, mut missing) = (Vec::new(), Vec::new());
        for (name, tagged) in &self.periods {
            match known.get(name.as_str()) {
                Some(period) => rows.push((*tagged, (*period).clone())),
                None => missing.push(name.clone()),
            }
        }
        Comparison {
            rows,
            missing,
            is_simulated: self.is_simulated,
        }
    }
}

impl Comparison {
    /// Whose numbers the log is compared with.
    pub(crate) fn whose(&self) -> &'static str {
        match self.is_simulated {
            true => "a simulated page-tagging tool",
            false => "the page-tagging tool",
        }
    }

    /// For each period, page views and visitors that a step left, those that the tool counted, and the differences.
    pub(crate) fn cells(&self, step: usize) -> impl Iterator<Item = (&str, [String; 6])> {
        self.rows.iter().map(move |(tagged, period)| {
            let left = period.steps[step];
            let cells = [
                count(left.views),
                count(left.visitors),
                count(tagged.views),
                count(tagged.visitors),
                difference(left.views as f64, tagged.views),
                difference(left.visitors as f64, tagged.visitors),
            ];
            (period.name.as_str(), cells)
        })
    }

    /// Periods in which less was left of the log than the tool counted.
    pub fn negative(&self) -> Vec<&str> {
        let rows = self.rows.iter().filter(|(tagged, period)| {
            let left = period.steps[2];
            left.views < tagged.views || left.visitors < tagged.visitors
        });
        rows.map(|(_, period)| period.name.as_str()).collect()
    }
}

/// A difference in hundredths of the baseline.
pub(crate) fn difference(ours: f64, theirs: u64) -> String {
    match theirs {
        0 => "-".to_owned(),
        theirs => format!("{:+.1} %", 100.0 * (ours / theirs as f64 - 1.0)),
    }
}

fn row(line: &str, places: [usize; 3]) -> Result<(String, Tagged), String> {
    let fields: Vec<&str> = line
        .split(',')
        .map(|field| field.trim().trim_matches('"'))
        .collect();
    let field = |place: usize| {
        let found = fields.get(place).copied();
        found.ok_or_else(|| format!("there are {} columns, which is too few", fields.len()))
    };
    let number = |place: usize| {
        let text = field(place)?;
        text.parse::<u64>()
            .map_err(|_| format!("'{text}' is no number (write it without separators)"))
    };
    let period = field(places[0])?;
    let shape: String = period
        .chars()
        .map(|c| if c.is_ascii_digit() { '0' } else { c })
        .collect();
    if !["0000-00", "0000-00-00"].contains(&shape.as_str()) {
        return Err(format!(
            "'{period}' is no month like 2030-01 and no day like 2030-01-31"
        ));
    }
    let tagged = Tagged {
        views: number(places[1])?,
        visitors: number(places[2])?,
    };
    Ok((period.to_owned(), tagged))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_line() {
        let check = |text: &str, expected: &str| {
            let error = Baseline::parse(text).unwrap_err();
            assert!(error.contains(expected), "{error}");
        };
        check("", "line 1: there is no column 'period'");
        check("month,views\n", "no column 'visitors'");
        check("month,views,visitors\n", "no period");
        check(
            "month,views,visitors\n2010-03,1,2\n\n2010-4,1,2\n",
            "line 4: '2010-4'",
        );
        check(
            "month,views,visitors\n2010-03,\"1 000\",2\n",
            "line 2: '1 000' is no number",
        );
        check(
            "month,views,visitors\n2010-03,1\n",
            "line 2: there are 2 columns",
        );
        check(
            "month,views,visitors\n2010-03,1,1\n2010-03,1,1",
            "line 3: 2010-03 stands there twice",
        );
        let baseline = Baseline::parse("Month,Page Views,Visitors\n2010-03,16966,6015\n").unwrap();
        assert_eq!(baseline.periods["2010-03"].views, 16_966);
    }

    #[test]
    fn differences_are_those_of_the_study() {
        assert_eq!(difference(20_795.0, 16_966), "+22.6 %");
        assert_eq!(difference(16_038.0, 16_480), "-2.7 %");
        assert_eq!(difference(1.0, 0), "-");
    }
}
