//! What the gate counts about itself, as Prometheus reads it. Every label is one of a few fixed words.

use cattlegrid_core::policy::Decision;
use cattlegrid_core::policy::Reason;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::histogram::exponential_buckets;
use prometheus_client::registry::Registry;

type Labels = [(&'static str, &'static str); 1];

/// All counts.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    decisions: [Counter; 4],
    would: [Counter; 4],
    reasons: Vec<Counter>,
    statuses: [Counter; 6],
    pub(crate) own: Counter,
    pub(crate) refused: Family<Labels, Counter>,
    pub(crate) upstream_failures: Family<Labels, Counter>,
    pub(crate) challenges: Counter,
    pub(crate) solved: Counter,
    pub(crate) answers_refused: Family<Labels, Counter>,
    pub(crate) panics: Counter,
    pub(crate) connections: Gauge,
    pub(crate) connections_refused: Counter,
    pub(crate) log_lines_lost: Counter,
    pub(crate) learned_lines_lost: Counter,
    pub(crate) log_failed: Gauge,
    pub(crate) sources: Gauge,
    pub(crate) sources_forgotten: Counter,
    pub(crate) counters_forgotten: Gauge,
    pub(crate) entries: Gauge,
    pub(crate) base_failed: Gauge,
    pub(crate) judged: Counter,
    pub(crate) judged_at: Gauge,
    pub(crate) reload_failed: Gauge,
    pub(crate) reloads: Counter,
    pub(crate) snapshot_failed: Gauge,
    duration: Histogram,
}

const DECISIONS: [Decision; 4] = [
    Decision::Pass,
    Decision::Throttle,
    Decision::Challenge,
    Decision::Block,
];

impl Default for Metrics {
    fn default() -> Metrics {
        let mut registry = Registry::with_prefix("cattlegrid");
        let decisions: Family<Labels, Counter> = Family::default();
        let would: Family<Labels, Counter> = Family::default();
        let reasons: Family<Labels, Counter> = Family::default();
        let statuses: Family<Labels, Counter> = Family::default();
        let of = |family: &Family<Labels, Counter>, name, value| {
            family.get_or_create(&[(name, value)]).clone()
        };
        let metrics = Metrics {
            decisions: DECISIONS.map(|decision| of(&decisions, "decision", decision.name())),
            would: DECISIONS.map(|decision| of(&would, "decision", decision.name())),
            reasons: Reason::ALL
                .iter()
                .map(|reason| of(&reasons, "reason", reason.name()))
                .collect(),
            statuses: ["other", "1xx", "2xx", "3xx", "4xx", "5xx"]
                .map(|class| of(&statuses, "class", class)),
            own: Counter::default(),
            refused: Family::default(),
            upstream_failures: Family::default(),
            challenges: Counter::default(),
            solved: Counter::default(),
            answers_refused: Family::default(),
            panics: Counter::default(),
            connections: Gauge::default(),
            connections_refused: Counter::default(),
            log_lines_lost: Counter::default(),
            learned_lines_lost: Counter::default(),
            log_failed: Gauge::default(),
            sources: Gauge::default(),
            sources_forgotten: Counter::default(),
            counters_forgotten: Gauge::default(),
            entries: Gauge::default(),
            base_failed: Gauge::default(),
            judged: Counter::default(),
            judged_at: Gauge::default(),
            reload_failed: Gauge::default(),
            reloads: Counter::default(),
            snapshot_failed: Gauge::default(),
            duration: Histogram::new(exponential_buckets(0.0005, 2.0, 16)),
            registry: Registry::default(),
        };
        registry.register(
            "requests",
            "Requests by decision; in shadow mode all pass",
            decisions,
        );
        registry.register(
            "would",
            "Requests in shadow mode by what would have been decided",
            would,
        );
        registry.register("reasons", "Requests by the reason of the decision", reasons);
        registry.register("answers", "Answers by class of status", statuses);
        metrics.register(&mut registry);
        Metrics {
            registry,
            ..metrics
        }
    }
}

impl Metrics {
    fn register(&self, registry: &mut Registry) {
        registry.register("own", "Requests for the gate's own pages", self.own.clone());
        registry.register(
            "refused",
            "Requests refused because they can be read in two ways",
            self.refused.clone(),
        );
        registry.register(
            "upstream_failures",
            "Requests that the site did not answer",
            self.upstream_failures.clone(),
        );
        registry.register("challenges", "Challenges shown", self.challenges.clone());
        registry.register("solved", "Challenges solved", self.solved.clone());
        registry.register(
            "answers_refused",
            "Answers to challenges that did not count",
            self.answers_refused.clone(),
        );
        registry.register(
            "panics",
            "Requests during which the gate had an error of its own; each was challenged",
            self.panics.clone(),
        );
        registry.register(
            "connections",
            "Connections of clients",
            self.connections.clone(),
        );
        registry.register(
            "connections_refused",
            "Connections closed because there were too many",
            self.connections_refused.clone(),
        );
        registry.register(
            "log_lines_lost",
            "Lines of the access log that found no room",
            self.log_lines_lost.clone(),
        );
        registry.register(
            "learned_lines_lost",
            "Requests that were not learned from because learning was behind",
            self.learned_lines_lost.clone(),
        );
        registry.register(
            "log_failed",
            "1 while the access log cannot be written",
            self.log_failed.clone(),
        );
        registry.register("sources", "Sources that are profiled", self.sources.clone());
        registry.register(
            "sources_forgotten",
            "Sources that were forgotten to keep within profiles_max",
            self.sources_forgotten.clone(),
        );
        registry.register(
            "counters_forgotten",
            "Counters that were forgotten within their day to keep within sources_max",
            self.counters_forgotten.clone(),
        );
        registry.register(
            "entries",
            "Entries of the knowledge base in force",
            self.entries.clone(),
        );
        registry.register(
            "base_failed",
            "1 while the knowledge base cannot be read or written; what was known stays in force",
            self.base_failed.clone(),
        );
        registry.register(
            "judged",
            "Times all sources were judged",
            self.judged.clone(),
        );
        registry.register(
            "judged_at_seconds",
            "When sources were judged last, since 1970",
            self.judged_at.clone(),
        );
        registry.register(
            "reload_failed",
            "1 when the last reload was refused; the old settings stay",
            self.reload_failed.clone(),
        );
        registry.register(
            "reloads",
            "Reloads that were carried out",
            self.reloads.clone(),
        );
        registry.register(
            "snapshot_failed",
            "1 while counters cannot be saved",
            self.snapshot_failed.clone(),
        );
        registry.register(
            "duration_seconds",
            "Time until the answer ended",
            self.duration.clone(),
        );
    }

    /// Counts a decision.
    pub(crate) fn decided(&self, decision: Decision, reason: Reason) {
        self.decisions[decision as usize].inc();
        self.reasons[reason as usize].inc();
    }

    /// Counts what would have been decided.
    pub(crate) fn would(&self, decision: Decision) {
        self.would[decision as usize].inc();
    }

    /// Counts an answer.
    pub(crate) fn answered(&self, status: u16, seconds: f64) {
        let class = usize::from(status / 100);
        self.statuses[if class > 5 { 0 } else { class }].inc();
        self.duration.observe(seconds);
    }

    /// The text of `/metrics`.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        // Writing into memory cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}
