//! One judged source as the report lists it.

use super::Court;
use super::Trial;
use crate::knowledge::Robot;
use crate::report::CURVE_STEPS;
use crate::report::SourceReport;
use crate::report::Totals;
use crate::report::WindowReport;
use crate::request::Source;
use crate::text::printable;

/// Requests from which a source has a curve.
const CURVE_REQUESTS_MIN: u64 = 20;

impl Court<'_> {
    /// A source with the verdict of its decisive window.
    pub(super) fn describe(
        &self,
        source: Source,
        trials: &mut Vec<Trial>,
        decisive: usize,
        totals: Totals,
    ) -> SourceReport {
        let busiest = trials.iter().max_by_key(|trial| trial.totals.requests);
        let agent = busiest
            .and_then(|trial| trial.agent)
            .and_then(|agent| self.agents.text(agent))
            .map(printable);
        let agents = busiest.map_or(0, |trial| trial.agents);
        let crowd = trials
            .iter()
            .rev()
            .find_map(|trial| trial.crowd)
            .map(Box::new);
        let windows = trials
            .iter()
            .map(|trial| self.describe_window(trial))
            .collect();
        let first_seen = trials
            .iter()
            .map(|trial| trial.seen.0)
            .min()
            .unwrap_or_default();
        let last_seen = trials
            .iter()
            .map(|trial| trial.seen.1)
            .max()
            .unwrap_or_default();
        let mut verdict = trials.swap_remove(decisive).verdict;
        // Most have one piece of evidence, in room for four; a fleet may have a million members.
        verdict.evidence.shrink_to_fit();
        SourceReport {
            source: self.name(source),
            requests: totals.requests,
            pages: totals.pages,
            bytes: totals.bytes,
            ms: totals.ms,
            first_seen,
            last_seen,
            agent,
            agents,
            class: verdict.class,
            kind: verdict.kind,
            confidence: verdict.confidence(),
            decided_by: verdict.decided_by,
            evidence: verdict.evidence,
            mixed: false,
            by_visits: verdict.by_visits,
            is_kept: verdict.is_kept,
            campaign: None,
            crowd,
            cause: verdict.cause,
            windows,
            robot: None,
            curve: Vec::new(),
        }
    }

    /// The robot that decided a trial by its name.
    pub(super) fn robot(&self, trial: &Trial) -> Option<&Robot> {
        let by_name = ["declared_robot", "claimed_operator"];
        trial
            .verdict
            .decided_by
            .filter(|rule| by_name.contains(rule))?;
        self.knowledge.robots.robot(trial.robot?)
    }

    /// The shape of a source's traffic over the log's span, where there is enough of it to have one.
    pub(super) fn curve(&self, busy: &[(u32, u32)], requests: u64) -> Vec<u32> {
        if requests < CURVE_REQUESTS_MIN {
            return Vec::new();
        }
        let (first, last) = self.span;
        let step = (last - first) / CURVE_STEPS as u32 + 1;
        let mut curve = vec![0_u32; CURVE_STEPS];
        for (time, count) in busy {
            let at = (time.saturating_sub(first) / step) as usize;
            curve[at.min(CURVE_STEPS - 1)] += count;
        }
        curve
    }

    fn describe_window(&self, trial: &Trial) -> WindowReport {
        let (start, end) = self.clock.span(trial.window);
        let verdict = &trial.verdict;
        WindowReport {
            start,
            end,
            host: self.host(trial.window),
            requests: trial.totals.requests,
            pages: trial.totals.pages,
            class: verdict.class,
            kind: verdict.kind,
            decibans: verdict.decibans,
            confidence: verdict.confidence(),
            decided_by: verdict.decided_by,
            votes: verdict.votes,
            cause: verdict.cause,
            shape: trial.shape.clone(),
            lesson: trial.lesson.clone().map(Box::new),
        }
    }
}
