//! `train --headers`: thresholds of H1 to H7, each alone as in the PubCrawl paper, and weights of all findings, from supplied labels.
//!
//! The paper says that thresholds were set one by one on its training set, not how. Here each has the highest balanced accuracy: the
//! mean of crawlers recognised and users not accused, since crawlers can be seven of eight sources.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::io::Write;
use std::process::ExitCode;

use anyhow::bail;
use cattlegrid_core::detectors::Family;
use cattlegrid_core::detectors::SPECS;
use cattlegrid_core::evidence::Side;
use cattlegrid_core::evidence::Toward;
use cattlegrid_core::verdict::Weights;
use cattlegrid_core::verdict::is_graded;
use cattlegrid_learn::data::Dataset;
use cattlegrid_learn::data::Example;
use cattlegrid_learn::folds::Confusion;
use cattlegrid_learn::folds::parts;
use cattlegrid_learn::logistic;
use cattlegrid_learn::logistic::Found;
use cattlegrid_learn::logistic::Prior;
use cattlegrid_learn::threshold;

use crate::cli::TrainArgs;
use crate::files::write_whole;
use crate::lessons::HEURISTICS;
use crate::lessons::Judged;
use crate::lessons::Lessons;
use crate::lessons::collect;
use crate::lessons::place;

/// Parts of the cross-validation, as in the paper.
const PARTS: usize = 5;
/// The same labels give the same parts.
const SEED: u64 = 1;
/// Sources of each class below which nothing can be learned.
const SOURCES_MIN: usize = 20;
/// The most that a finding can be learned to be worth: more would rest on what was never seen, and one rule must not decide beyond
/// its family's bound.
const WEIGHT_MAX: f64 = 14.0;
/// The most that a detector's own grades can be multiplied with, as settings allow it.
const GRADE_MAX: f64 = 2.0;
/// How hard weights are held to those that are shipped: as by so many examples.
const PENALTY: f64 = 4.0;

pub(crate) fn run(arguments: &TrainArgs) -> anyhow::Result<ExitCode> {
    let lessons = collect(
        &arguments.log,
        arguments.truth.truth(),
        arguments.truth.day_requests,
    )?;
    let crawlers = lessons.rows.iter().filter(|row| row.is_crawler()).count();
    let users = lessons.rows.len() - crawlers;
    if crawlers.min(users) < SOURCES_MIN {
        bail!(
            "{crawlers} crawlers and {users} users have labels and enough requests; it takes {SOURCES_MIN} of each (--day-requests lowers what is enough)"
        );
    }
    let all: Vec<&Judged> = lessons.rows.iter().collect();
    let thresholds = Thresholds::learn(&all);
    let weights = learn_weights(&all);
    let tested = Tested::of(&lessons);
    let mut page = format!(
        "Learned from {crawlers} crawlers and {users} users ({})\n",
        lessons.origin.join("; ")
    );
    // Writing to a String cannot fail.
    let _ = tested.text(&all, &thresholds, &weights, &mut page);
    io::stdout().lock().write_all(page.as_bytes())?;
    if let Some(path) = &arguments.out_settings {
        let settings = settings(&thresholds, &weights, &lessons);
        write_whole(path, |file| file.write_all(settings.as_bytes()))?;
        writeln!(
            io::stdout().lock(),
            "\nwritten to {}; use it with --config {0}",
            path.display()
        )?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What a heuristic measured by one setting: where crawlers lie, and each value with whether it is a crawler's.
type Measured = (Side, Vec<(f64, bool)>);

/// What was learned for each setting of a heuristic: the threshold, and its balanced accuracy on what it was learned from.
struct Thresholds(BTreeMap<(&'static str, &'static str), threshold::Threshold>);

impl Thresholds {
    fn learn(rows: &[&Judged]) -> Thresholds {
        let mut values: BTreeMap<(&str, &str), Measured> = BTreeMap::new();
        for row in rows {
            for heuristic in HEURISTICS {
                for measure in row.measures(heuristic) {
                    let known = values.entry((heuristic, measure.setting));
                    let (_, known) = known.or_insert((measure.side, Vec::new()));
                    known.push((measure.value, row.is_crawler()));
                }
            }
        }
        let best = values.into_iter().filter_map(|(key, (side, values))| {
            let side = match side {
                Side::Above => threshold::Side::Above,
                Side::Below => threshold::Side::Below,
            };
            let found = threshold::best(values.into_iter(), side)?;
            // What tells no better than chance must not accuse anybody: the shipped value stays.
            (found.accuracy > 0.5).then_some((key, found))
        });
        Thresholds(best.collect())
    }

    /// Whether a heuristic is triggered; `None` where it abstained, or nothing was learned for it.
    fn is_triggered(&self, heuristic: &'static str, row: &Judged) -> Option<bool> {
        let mut answer = None;
        for measure in row.measures(heuristic) {
            if let Some(found) = self.0.get(&(heuristic, measure.setting)) {
                answer = Some(answer.unwrap_or(false) || measure.is_hit(found.at));
            }
        }
        answer
    }

    /// Each heuristic alone, then former, new and combined: a majority of those that did not abstain.
    fn answers(&self, row: &Judged) -> [bool; ANSWERS.len()] {
        let triggered = HEURISTICS.map(|heuristic| self.is_triggered(heuristic, row));
        let majority = |of: &[Option<bool>]| {
            let votes = of.iter().flatten().count();
            of.iter().flatten().filter(|hit| **hit).count() * 2 > votes
        };
        let mut answers = [false; ANSWERS.len()];
        for (answer, hit) in answers.iter_mut().zip(triggered) {
            *answer = hit.unwrap_or(false);
        }
        answers[7..].copy_from_slice(&[
            majority(&triggered[..4]),
            majority(&triggered[4..]),
            majority(&triggered),
        ]);
        answers
    }
}

const ANSWERS: [&str; 10] = [
    "H1", "H2", "H3", "H4", "H5", "H6", "H7", "former", "new", "combined",
];

/// Findings that can be learned, as numbers: of each detector towards a crawler, then towards people. Names decide by themselves, and
/// what shapes and campaigns are worth was learned where they were found.
fn number(detector: &str, toward: Toward) -> Option<usize> {
    let place = place(detector)?;
    let is_fixed = SPECS[place].family == Family::Identity
        || ["campaign_member", "traffic_shape"].contains(&detector);
    // Of a detector that grades its findings one factor is learned, whichever way a finding points.
    let side = usize::from(toward == Toward::User && !is_graded(&SPECS[place]));
    (!is_fixed).then_some(2 * place + side)
}

/// A finding by its number, and how much of it there is: for one that is graded, what it claims to be worth.
fn amount((detector, toward, weight): &(&'static str, Toward, f64)) -> Option<(usize, f64)> {
    let number = number(detector, *toward)?;
    match is_graded(&SPECS[number / 2]) {
        true => Some((number, weight / logistic::DECIBANS)),
        false => Some((number, 1.0)),
    }
}

/// The findings of one family: each family is calibrated for itself, as another may have nothing to say.
fn found(row: &Judged, family: Family) -> Found {
    let of_family = |detector: &str| place(detector).is_some_and(|at| SPECS[at].family == family);
    let findings = row.lesson.findings.iter();
    Found {
        findings: findings
            .filter(|(detector, _, _)| of_family(detector))
            .filter_map(amount)
            .collect(),
        is_positive: row.is_crawler(),
    }
}

/// What is known of the weights of a detector, or of its factor, before any example.
fn priors(at: usize, (crawler, people): (f64, f64)) -> [Prior; 2] {
    let fixed = Prior {
        usual: 0.0,
        low: 0.0,
        high: 0.0,
    };
    if is_graded(&SPECS[at]) {
        // A factor in units of the learner's decibans.
        let factor = |grade: f64| grade * logistic::DECIBANS;
        let prior = Prior {
            usual: factor(1.0),
            low: 0.0,
            high: factor(GRADE_MAX),
        };
        return [prior, fixed];
    }
    // A side that is shipped as worth nothing is so for a reason that labels of one site cannot know.
    let most = |weight: f64| match weight == 0.0 {
        true => 0.0,
        false => weight.abs().max(WEIGHT_MAX),
    };
    [
        Prior {
            usual: crawler,
            low: 0.0,
            high: most(crawler),
        },
        Prior {
            usual: people,
            low: -most(people),
            high: 0.0,
        },
    ]
}

/// What is shipped, as learning sees it.
fn shipped_priors() -> Vec<Prior> {
    let shipped = Weights::default();
    let detectors = shipped.detectors.into_iter().enumerate();
    detectors
        .flat_map(|(at, weights)| priors(at, weights))
        .collect()
}

fn learn_weights(rows: &[&Judged]) -> Vec<f64> {
    let priors = shipped_priors();
    let mut weights: Vec<f64> = priors.iter().map(|prior| prior.usual).collect();
    for family in [Family::Headers, Family::Shape] {
        let examples: Vec<Found> = rows.iter().map(|row| found(row, family)).collect();
        let learned = logistic::learn(&examples, &priors, PENALTY);
        for (at, spec) in SPECS.iter().enumerate() {
            if spec.family == family {
                weights[2 * at] = learned[2 * at];
                weights[2 * at + 1] = learned[2 * at + 1];
            }
        }
    }
    weights
}

/// The sum for a source, with the bound of each family.
fn sum(row: &Judged, weights: &[f64], bound: f64) -> f64 {
    let mut families = [0.0_f64; 5];
    for finding in &row.lesson.findings {
        let (detector, _, weight) = finding;
        let Some(place) = place(detector) else {
            continue;
        };
        let family = SPECS[place].family;
        if family != Family::Identity {
            families[family as usize] +=
                amount(finding).map_or(*weight, |(number, much)| weights[number] * much);
        }
    }
    families.iter().map(|sum| sum.clamp(-bound, bound)).sum()
}

/// Right, undecided and wrong answers for users and crawlers.
type Said = [[u64; 3]; 2];

/// What parts that were held back showed.
struct Tested {
    votes: [Confusion; ANSWERS.len()],
    /// The sum by learned weights, and by those that are shipped.
    said: [Said; 2],
    /// Thresholds of each part: how far they move.
    moved: BTreeMap<(&'static str, &'static str), Vec<f64>>,
}

impl Tested {
    fn of(lessons: &Lessons) -> Tested {
        let of = parts(&groups(lessons), PARTS, SEED);
        let mut tested = Tested {
            votes: [Confusion::default(); ANSWERS.len()],
            said: Default::default(),
            moved: BTreeMap::new(),
        };
        for part in 0..PARTS {
            let rows = lessons.rows.iter().zip(&of);
            let known: Vec<&Judged> = rows
                .clone()
                .filter(|(_, of)| **of != part)
                .map(|(row, _)| row)
                .collect();
            let held: Vec<&Judged> = rows
                .filter(|(_, of)| **of == part)
                .map(|(row, _)| row)
                .collect();
            tested.test(&known, &held);
        }
        tested
    }

    fn test(&mut self, known: &[&Judged], held: &[&Judged]) {
        let thresholds = Thresholds::learn(known);
        for (key, found) in &thresholds.0 {
            self.moved.entry(*key).or_default().push(found.at);
        }
        let learned = learn_weights(known);
        let shipped = Weights::default();
        let by_hand = shipped_priors().into_iter().map(|prior| prior.usual);
        let by_hand: Vec<f64> = by_hand.collect();
        for row in held {
            let answers = thresholds.answers(row);
            for (table, answer) in self.votes.iter_mut().zip(answers) {
                table.add(row.is_crawler(), answer);
            }
            for (said, weights) in self.said.iter_mut().zip([&learned, &by_hand]) {
                let sum = sum(row, weights, shipped.family_max);
                let answer = match sum {
                    _ if sum >= shipped.crawler_from => Some(true),
                    _ if sum <= shipped.user_to => Some(false),
                    _ => None,
                };
                let at = match answer {
                    None => 1,
                    Some(answer) if answer == row.is_crawler() => 0,
                    Some(_) => 2,
                };
                said[usize::from(row.is_crawler())][at] += 1;
            }
        }
    }

    fn text(
        &self,
        all: &[&Judged],
        thresholds: &Thresholds,
        weights: &[f64],
        page: &mut String,
    ) -> std::fmt::Result {
        writeln!(
            page,
            "\nThresholds, each alone, by the highest balanced accuracy (mean of crawlers recognised and users not accused)\n  {:<24}{:<16}{:>11}{:>10}   in {PARTS} parts",
            "detector", "setting", "threshold", "accuracy"
        )?;
        for ((heuristic, setting), found) in &thresholds.0 {
            let moved = self.moved.get(&(*heuristic, *setting));
            let moved = moved.map_or(&[][..], Vec::as_slice);
            let low = moved.iter().copied().fold(f64::INFINITY, f64::min);
            let high = moved.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            writeln!(
                page,
                "  {heuristic:<24}{setting:<16}{:>11.4}{:>10.2}   {low:.4} to {high:.4}",
                found.at,
                100.0 * found.accuracy
            )?;
        }
        let mut known = [Confusion::default(); ANSWERS.len()];
        for row in all {
            for (table, answer) in known.iter_mut().zip(thresholds.answers(row)) {
                table.add(row.is_crawler(), answer);
            }
        }
        self.votes_text(&known, page)?;
        self.weights_text(weights, page)
    }

    fn votes_text(
        &self,
        known: &[Confusion; ANSWERS.len()],
        page: &mut String,
    ) -> std::fmt::Result {
        writeln!(
            page,
            "\nRight answers in percent; the paper's training set: crawlers 41.32, 82.31, 75.54, users 100.00, 84.00, 96.00"
        )?;
        write!(page, "  {:<42}", "")?;
        for answer in ANSWERS {
            write!(page, "{answer:>9}")?;
        }
        writeln!(page)?;
        for (how, tables) in [
            ("learned from", known),
            ("held back, five parts in turn", &self.votes),
        ] {
            let crawlers = tables.iter().map(Confusion::positives);
            rates(page, &format!("crawlers, {how}"), crawlers)?;
            let users = tables.iter().map(Confusion::negatives);
            rates(page, &format!("users, {how}"), users)?;
        }
        Ok(())
    }

    fn weights_text(&self, weights: &[f64], page: &mut String) -> std::fmt::Result {
        writeln!(
            page,
            "\nWeights in decibans towards a crawler and towards people, or the factor of detectors that grade their findings themselves (logistic regression, each family alone, both classes count the same, near the shipped weights)\n  {:<10}{:<26}{:>16}{:>18}",
            "family", "detector", "learned", "shipped"
        )?;
        for (at, (spec, shipped)) in SPECS.iter().zip(Weights::default().detectors).enumerate() {
            let (family, name) = (spec.family.name(), spec.name);
            if is_graded(spec) {
                let factor = weights[2 * at] / logistic::DECIBANS;
                let (learned, own) = (format!("x {factor:.2}"), "its own");
                writeln!(page, "  {family:<10}{name:<26}{learned:>16}{own:>18}")?;
            } else if number(name, Toward::Crawler).is_some() {
                writeln!(
                    page,
                    "  {family:<10}{name:<26}{:>8.1}{:>8.1}{:>10.1}{:>8.1}",
                    weights[2 * at],
                    weights[2 * at + 1],
                    shipped.0,
                    shipped.1
                )?;
            }
        }
        writeln!(
            page,
            "\nThe sum of all families without names, on parts held back\n  {:<32}{:>8}{:>11}{:>8}",
            "", "right", "undecided", "wrong"
        )?;
        for (how, said) in ["learned weights", "shipped weights"].iter().zip(self.said) {
            for (who, [right, undecided, wrong]) in ["users", "crawlers"].iter().zip(said) {
                let row = format!("{who}, {how}");
                writeln!(page, "  {row:<32}{right:>8}{undecided:>11}{wrong:>8}")?;
            }
        }
        Ok(())
    }
}

/// Windows of one source stay in one part, and so do the sources of one campaign.
fn groups(lessons: &Lessons) -> Dataset {
    let mut numbers: BTreeMap<(&str, &str), u32> = BTreeMap::new();
    let mut examples = Vec::new();
    for row in &lessons.rows {
        let name = match row.truth.campaign.is_empty() {
            true => &row.source,
            false => &row.truth.campaign,
        };
        let next = numbers.len() as u32;
        examples.push(Example {
            values: Vec::new(),
            is_positive: row.is_crawler(),
            group: Some(*numbers.entry((&row.set, name)).or_insert(next)),
        });
    }
    Dataset {
        attributes: Vec::new(),
        examples,
    }
}

/// A settings file with what was learned.
fn settings(thresholds: &Thresholds, weights: &[f64], lessons: &Lessons) -> String {
    let mut out = format!(
        "# Learned by 'cattlegrid train --headers' from {}.\n",
        lessons.origin.join("; ").replace(char::is_control, " ")
    );
    let mut last = "";
    for ((heuristic, setting), found) in &thresholds.0 {
        if last != *heuristic {
            out += &format!("\n[detectors.{heuristic}]\n");
            last = heuristic;
        }
        out += &format!("{setting} = {:.6}\n", found.at);
    }
    out += "\n[weights]\n";
    for (at, spec) in SPECS.iter().enumerate() {
        if number(spec.name, Toward::Crawler).is_some() && !is_graded(spec) {
            let (crawler, people) = (weights[2 * at], weights[2 * at + 1]);
            // Rounded first, so that nothing is written as '-0.0'.
            let tenths = |weight: f64| (10.0 * weight).round() / 10.0 + 0.0;
            out += &format!(
                "{} = [{:.1}, {:.1}]\n",
                spec.name,
                tenths(crawler),
                tenths(people)
            );
        }
    }
    out += "\n[grades]\n";
    for (at, spec) in SPECS.iter().enumerate().filter(|(_, spec)| is_graded(spec)) {
        let grade = weights[2 * at] / logistic::DECIBANS;
        out += &format!("{} = {grade:.2}\n", spec.name);
    }
    out
}

/// A row of shares in percent.
fn rates(
    page: &mut String,
    title: &str,
    rates: impl Iterator<Item = Option<f64>>,
) -> std::fmt::Result {
    write!(page, "  {title:<42}")?;
    for rate in rates {
        write!(page, "{:>9.2}", 100.0 * rate.unwrap_or(0.0))?;
    }
    writeln!(page)
}
