//! Calibration: what a model says of its own confidence, against the truth, as a table and as a picture.

use std::fmt::Write as _;

use cattlegrid_core::verdict::Weights;
use cattlegrid_learn::model::Model;
use cattlegrid_learn::series::could_be_crowd;

use crate::evaluate_kinds::place;
use crate::labelled::Examples;

/// Borders of the bins in decibans: where the detector speaks, where it decides, and its end.
const BORDERS: [f64; 8] = [-10.0, -6.0, -3.0, 0.0, 3.0, 6.0, 10.0, 12.9];
const BINS: usize = BORDERS.len() + 1;
/// As the detector caps what a crowd could send.
const CROWD_MAX: f64 = 6.0;

/// What was stated and what was true. Both classes weigh alike, as in what was learned.
#[derive(Debug, Default)]
pub(crate) struct Calibration {
    /// By bin: people, crawlers, and the sum of the stated probability of a crawler, weighted.
    bins: [Bin; BINS],
    /// Of people and crawlers by the verdict's limits, from times alone: right, undecided, wrong.
    pub(crate) said: [[u64; 3]; 2],
    /// People and crawlers whom the crowd region left undecided, who would have been called crawlers.
    pub(crate) spared: [u64; 2],
    /// People and crawlers unlike anything that was learned from.
    pub(crate) unlike: [u64; 2],
}

#[derive(Debug, Default, Clone, Copy)]
struct Bin {
    sources: [u64; 2],
    weight: [f64; 2],
    stated: f64,
}

impl Calibration {
    pub(crate) fn of(examples: &Examples, model: &Model) -> Calibration {
        let crawlers = examples.rows.iter().filter(|row| row.is_crawler()).count();
        let weights =
            [examples.rows.len() - crawlers, crawlers].map(|many| 0.5 / many.max(1) as f64);
        let limits = Weights::default();
        let mut found = Calibration::default();
        for row in &examples.rows {
            let class = usize::from(row.is_crawler());
            let judgement = model.shape.judge(&row.values);
            let mut decibans = judgement.decibans;
            found.unlike[class] += u64::from(judgement.is_unlike);
            let bin = &mut found.bins[BORDERS.iter().filter(|border| decibans >= **border).count()];
            bin.sources[class] += 1;
            bin.weight[class] += weights[class];
            bin.stated += weights[class] / (1.0 + 10_f64.powf(-decibans / 10.0));
            if decibans > CROWD_MAX && could_be_crowd(&row.values) {
                found.spared[class] += u64::from(decibans >= limits.crawler_from);
                decibans = CROWD_MAX;
            }
            found.said[class][place(decibans, row.is_crawler(), &limits)] += 1;
        }
        found
    }

    /// Stated and true share of crawlers in each bin that is not empty.
    fn points(&self) -> impl Iterator<Item = (f64, f64, &Bin)> {
        let bins = self
            .bins
            .iter()
            .map(|bin| (bin.weight.iter().sum::<f64>(), bin));
        let bins = bins.filter(|(weight, _)| *weight > 0.0);
        bins.map(|(weight, bin)| (bin.stated / weight, bin.weight[1] / weight, bin))
    }

    pub(crate) fn text(&self, page: &mut String) -> std::fmt::Result {
        let all = self.said.map(|counts| counts.iter().sum::<u64>().max(1));
        writeln!(
            page,
            "\nVerdicts from times alone (crawler from +10 decibans, user up to -6; user agents not logged)\n  {:<14}{:>8}{:>11}{:>8}{:>12}{:>10}{:>13}",
            "", "right", "undecided", "wrong", "right %", "wrong %", "unlike any"
        )?;
        for (class, who) in ["users", "crawlers"].into_iter().enumerate() {
            let [right, undecided, wrong] = self.said[class];
            let percent = |many: u64| 100.0 * many as f64 / all[class] as f64;
            writeln!(
                page,
                "  {who:<14}{right:>8}{undecided:>11}{wrong:>8}{:>12.2}{:>10.2}{:>13}",
                percent(right),
                percent(wrong),
                self.unlike[class]
            )?;
        }
        writeln!(
            page,
            "  What a large crowd could send is left undecided: {} users, and {} crawlers ({:.2} % of them)",
            self.spared[0],
            self.spared[1],
            100.0 * self.spared[1] as f64 / all[1] as f64
        )?;
        writeln!(
            page,
            "\nCalibration: stated and true share of crawlers, both classes weighing alike\n  {:>8}{:>10}{:>8}{:>11}",
            "stated", "true", "users", "crawlers"
        )?;
        for (stated, truth, bin) in self.points() {
            let [users, crawlers] = bin.sources;
            writeln!(page, "  {stated:>8.3}{truth:>10.3}{users:>8}{crawlers:>11}")?;
        }
        Ok(())
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        let point = |(stated, truth, bin): (f64, f64, &Bin)| serde_json::json!({ "stated": stated, "true": truth, "users": bin.sources[0], "crawlers": bin.sources[1] });
        serde_json::json!({
            "bins": self.points().map(point).collect::<Vec<_>>(),
            "verdicts": { "users": self.said[0], "crawlers": self.said[1] },
            "crowd_left_undecided": { "users": self.spared[0], "crawlers": self.spared[1] },
            "unlike_any": { "users": self.unlike[0], "crawlers": self.unlike[1] },
        })
    }

    /// The picture: the diagonal is what a model should be.
    pub(crate) fn svg(&self) -> String {
        const SIZE: f64 = 320.0;
        const EDGE: f64 = 40.0;
        let place = |stated: f64, truth: f64| (EDGE + SIZE * stated, EDGE + SIZE * (1.0 - truth));
        let mut marks = String::new();
        let mut line = String::new();
        for (stated, truth, bin) in self.points() {
            let (x, y) = place(stated, truth);
            let radius = 2.0 + (bin.sources.iter().sum::<u64>() as f64).log10();
            // Writing to a String cannot fail.
            let _ = write!(line, "{x:.1},{y:.1} ");
            let _ = write!(
                marks,
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\"/>"
            );
        }
        let (end, middle) = (EDGE + SIZE, EDGE + SIZE / 2.0);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 400 400\" font-family=\"sans-serif\" font-size=\"12\">\
             <rect x=\"{EDGE}\" y=\"{EDGE}\" width=\"{SIZE}\" height=\"{SIZE}\" fill=\"none\" stroke=\"#888\"/>\
             <line x1=\"{EDGE}\" y1=\"{end}\" x2=\"{end}\" y2=\"{EDGE}\" stroke=\"#888\" stroke-dasharray=\"4\"/>\
             <polyline points=\"{}\" fill=\"none\" stroke=\"#06c\"/><g fill=\"#06c\">{marks}</g>\
             <text x=\"{middle}\" y=\"390\" text-anchor=\"middle\">stated probability of a crawler</text>\
             <text x=\"14\" y=\"{middle}\" text-anchor=\"middle\" transform=\"rotate(-90 14 {middle})\">true share of crawlers</text>\
             <text x=\"{EDGE}\" y=\"{}\">0</text><text x=\"{end}\" y=\"{}\">1</text></svg>\n",
            line.trim_end(),
            end + 16.0,
            end + 16.0
        )
    }
}
