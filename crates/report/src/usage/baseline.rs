//! What a page-tagging tool counted, and how it differs from the log: the study's Tables 3 and 4.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

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
    /// Months of the log that the baseline does not have.
    pub not_tagged: Vec<String>,
    /// Months of the baseline that the log does not cover whole.
    pub partly: Vec<Partly>,
    /// The baseline was made from the truth of a simulated world.
    pub is_simulated: bool,
}

/// A month that begins before the log, or ends after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partly {
    /// `2030-01`.
    pub month: String,
    /// Days of it from the log's first to its last.
    pub covered: i32,
    /// All its days.
    pub days: i32,
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
        let columns: Vec<String> = fields(header)
            .iter()
            .map(|column| column.to_ascii_lowercase().replace(' ', "_"))
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
            let (period, tagged) = row(line, columns.len(), places)
                .map_err(|what| format!("line {number}: {what}"))?;
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
                        tagged(period.truth.unwrap_or_default().people),
                    )
                })
                .collect(),
            is_simulated: true,
        }
    }

    /// Compares it with the log, whose days are those of a zone.
    pub fn compare(&self, usage: &Usage, zone: &TimeZone) -> Comparison {
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
            not_tagged: self.not_tagged(usage),
            partly: self.partly(usage, zone),
            is_simulated: self.is_simulated,
        }
    }

    /// Months of the log of which it has neither the month nor a day.
    fn not_tagged(&self, usage: &Usage) -> Vec<String> {
        let is_tagged = |month: &str| self.periods.keys().any(|name| name.starts_with(month));
        let months = usage.months.iter().map(|period| period.name.clone());
        months.filter(|month| !is_tagged(month)).collect()
    }

    /// Months that begin before the log's first day, or end after its last one.
    fn partly(&self, usage: &Usage, zone: &TimeZone) -> Vec<Partly> {
        let Some((first, last)) = usage.span else {
            return Vec::new();
        };
        let day = |time: u32| {
            let time = Timestamp::from_second(i64::from(time)).unwrap_or_default();
            time.to_zoned(zone.clone()).date()
        };
        let (first, last) = (day(first), day(last));
        let months = usage.months.iter().map(|period| &period.name);
        months
            .filter(|month| self.periods.contains_key(*month) && !self.is_simulated)
            .filter_map(|month| partly(month, first, last))
            .collect()
    }
}

fn partly(month: &str, first: Date, last: Date) -> Option<Partly> {
    let begin: Date = format!("{month}-01").parse().ok()?;
    let end = begin.last_of_month();
    let covered = (last.min(end) - first.max(begin)).get_days() + 1;
    let days = i32::from(begin.days_in_month());
    (covered < days).then(|| Partly {
        month: month.to_owned(),
        covered,
        days,
    })
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

    /// Why some numbers cannot be compared, in sentences.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if !self.missing.is_empty() {
            let missing = self.missing.join(", ");
            notes.push(format!("The log has no page views in {missing}."));
        }
        if !self.not_tagged.is_empty() {
            let months = self.not_tagged.join(", ");
            notes.push(format!(
                "The page-tagging tool has no numbers for {months}."
            ));
        }
        for partly in &self.partly {
            notes.push(format!(
                "The log covers only {} of the {} days of {}, so its numbers for that month are too low to compare. Compare days instead.",
                partly.covered, partly.days, partly.month
            ));
        }
        notes
    }

    /// Periods in which less was left of the log than the tool counted.
    pub fn negative(&self) -> Vec<&str> {
        let rows = self.rows.iter().filter(|(tagged, period)| {
            let left = period.steps[2];
            let is_whole = self.partly.iter().all(|partly| partly.month != period.name);
            is_whole && (left.views < tagged.views || left.visitors < tagged.visitors)
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

/// The fields of one line; some of them may stand in quotes.
fn fields(line: &str) -> Vec<String> {
    let mut reader = csv::ReaderBuilder::new();
    let reader = reader.has_headers(false).trim(csv::Trim::All);
    let record = reader.from_reader(line.as_bytes()).into_records().next();
    let record = record.and_then(Result::ok).unwrap_or_default();
    record.iter().map(str::to_owned).collect()
}

fn row(line: &str, columns: usize, places: [usize; 3]) -> Result<(String, Tagged), String> {
    let fields = fields(line);
    if fields.len() != columns {
        return Err(format!(
            "there are {} columns instead of {columns}",
            fields.len()
        ));
    }
    let number = |place: usize| {
        let text = &fields[place];
        text.parse::<u64>()
            .map_err(|_| format!("'{text}' is no number (write it without separators)"))
    };
    let period = &fields[places[0]];
    let shape: String = period
        .chars()
        .map(|c| if c.is_ascii_digit() { '0' } else { c })
        .collect();
    let is_date = match shape.as_str() {
        "0000-00" => format!("{period}-01").parse::<Date>().is_ok(),
        "0000-00-00" => period.parse::<Date>().is_ok(),
        _ => false,
    };
    if !is_date {
        return Err(format!(
            "'{period}' is no month like 2030-01 and no day like 2030-01-31"
        ));
    }
    let tagged = Tagged {
        views: number(places[1])?,
        visitors: number(places[2])?,
    };
    Ok((period.clone(), tagged))
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
        for (row, what) in [
            ("2015-13,1,2", "line 2: '2015-13' is no month"),
            ("2015-02-31,1,2", "line 2: '2015-02-31' is no month"),
            ("2015-05,\"1,500\",800", "line 2: '1,500' is no number"),
            (
                "2015-05,1,500,800",
                "line 2: there are 4 columns instead of 3",
            ),
        ] {
            check(&format!("period,page_views,visitors\n{row}\n"), what);
        }
        let baseline = Baseline::parse("Month,Page Views,Visitors\n2010-03,16966,6015\n").unwrap();
        assert_eq!(baseline.periods["2010-03"].views, 16_966);
    }

    #[test]
    fn months_that_the_log_covers_in_part_are_named_and_no_reason_to_warn() {
        let period = |name: &str, views| Period {
            name: name.to_owned(),
            steps: [Count {
                views,
                visitors: views,
                visits: views,
            }; 3],
            ..Period::default()
        };
        let usage = Usage {
            months: vec![period("2015-04", 10), period("2015-05", 10)],
            // From the first of April to noon of the 20th of May; on the first days nobody came.
            span: Some((1_427_846_400, 1_432_123_200)),
            days: vec![period("2015-04-03", 10), period("2015-05-20", 10)],
            ..Usage::default()
        };
        let comparison = Baseline::parse("month,views,visitors\n2015-05,50,50\n2015-07,1,1\n")
            .unwrap()
            .compare(&usage, &TimeZone::UTC);
        assert_eq!(
            comparison.notes(),
            [
                "The log has no page views in 2015-07.",
                "The page-tagging tool has no numbers for 2015-04.",
                "The log covers only 20 of the 31 days of 2015-05, so its numbers for that month are too low to compare. Compare days instead."
            ]
        );
        assert_eq!(comparison.negative(), Vec::<&str>::new());
        let whole = Baseline::parse("month,views,visitors\n2015-04,50,50\n").unwrap();
        assert_eq!(
            whole.compare(&usage, &TimeZone::UTC).negative(),
            ["2015-04"]
        );
    }

    #[test]
    fn differences_are_those_of_the_study() {
        assert_eq!(difference(20_795.0, 16_966), "+22.6 %");
        assert_eq!(difference(16_038.0, 16_480), "-2.7 %");
        assert_eq!(difference(1.0, 0), "-");
    }
}
