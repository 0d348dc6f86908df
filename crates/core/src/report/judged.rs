//! The verdict on one source in short, for a second look at its requests.

use super::Band;
use crate::verdict::Cause;
use crate::verdict::Class;
use crate::verdict::Verdict;

/// What one source was found to be, and by what.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// Its class.
    pub class: Class,
    /// Its class and kind as charts show them.
    pub band: Band,
    /// Sum of the evidence in decibans, positive towards a crawler.
    pub decibans: f32,
    /// The rule or family that decided.
    pub decided_by: Option<&'static str>,
    /// Why it is undecided.
    pub cause: Option<Cause>,
    /// People and a crawler share this source.
    pub mixed: bool,
    /// The detectors that found something, with their weights in decibans, strongest first.
    pub findings: Box<[(&'static str, f32)]>,
}

impl Judged {
    /// The short form of the verdict that is the source's.
    pub(crate) fn of(verdict: &Verdict) -> Judged {
        let findings = verdict.evidence.iter();
        Judged {
            class: verdict.class,
            band: Band::of(verdict.class, verdict.kind),
            decibans: verdict.decibans as f32,
            decided_by: verdict.decided_by,
            cause: verdict.cause,
            mixed: verdict.mixed,
            findings: findings
                .map(|item| (item.detector, item.weight as f32))
                .collect(),
        }
    }

    /// What its detector `name` found, in decibans; 0 where it found nothing.
    pub fn weight(&self, name: &str) -> f32 {
        let mut findings = self.findings.iter();
        let found = findings.find(|(detector, _)| *detector == name);
        found.map_or(0.0, |(_, weight)| *weight)
    }
}
