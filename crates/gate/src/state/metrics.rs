//! What the gate counts about itself, as Prometheus reads it. Every label is one of a few fixed words.

use cattlegrid_core::paths::Cause;
use cattlegrid_core::paths::Oddity;
use cattlegrid_core::paths::PathKind;
use cattlegrid_core::policy::Decision;
use cattlegrid_core::policy::Looked;
use cattlegrid_core::policy::Reason;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::histogram::exponential_buckets;
use prometheus_client::registry::Registry;

use crate::sign_in::Refused;

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
    pub(crate) questions_answered: Counter,
    answers_refused: Family<Labels, Counter>,
    pub(crate) panics: Counter,
    pub(crate) connections: Gauge,
    pub(crate) connections_refused: Counter,
    pub(crate) log_lines_lost: Counter,
    pub(crate) learned_lines_lost: Counter,
    pub(crate) log_failed: Gauge,
    pub(crate) sources: Gauge,
    pub(crate) sources_forgotten: Counter,
    pub(crate) suspects: Gauge,
    pub(crate) counters_forgotten: Gauge,
    pub(crate) groups_over_limit: Gauge,
    pub(crate) entries: Gauge,
    pub(crate) base_failed: Gauge,
    pub(crate) judged: Counter,
    pub(crate) judged_at: Gauge,
    pub(crate) reload_failed: Gauge,
    pub(crate) reloads: Counter,
    pub(crate) snapshot_failed: Gauge,
    lookups: Family<Labels, Counter>,
    pub(crate) trap_links: Counter,
    pub(crate) trap_pages: Counter,
    traps_refused: Family<Labels, Counter>,
    pub(crate) trap_slots: Gauge,
    sign_ins_refused: Family<Labels, Counter>,
    sign_ins_asked: Family<Labels, Counter>,
    pub(crate) sign_in_cached: Counter,
    pub(crate) slowed: Counter,
    markers_read: Family<Labels, Counter>,
    pub(crate) marked_pages: Counter,
    pub(crate) marked_links: Counter,
    unmarked: Family<Labels, Counter>,
    pub(crate) marker_keys_failed: Gauge,
    suspicions: Family<Labels, Counter>,
    odd_requests: Family<Labels, Counter>,
    pub(crate) users: Gauge,
    pub(crate) suspect_users: Gauge,
    pub(crate) throttled_users: Gauge,
    pub(crate) user_requests_waiting: Gauge,
    pub(crate) user_requests_lost: Counter,
    pub(crate) users_failed: Gauge,
    duration: Histogram,
}

const DECISIONS: [Decision; 4] = [
    Decision::Pass,
    Decision::Throttle,
    Decision::Challenge,
    Decision::Block,
];

/// Why requests are refused, how sites fail, and why answers to challenges do not count.
const REFUSED: [&str; 7] = [
    "length",
    "host",
    "target",
    "method",
    "expectation",
    "head_size",
    "question",
];
const FAILURES: [&str; 3] = ["unreachable", "broken", "late"];
const REFUSALS: [&str; 11] = [
    "malformed",
    "forged",
    "restarted",
    "expired",
    "early",
    "no_cookie",
    "other_visitor",
    "too_easy",
    "spent",
    "wrong",
    "too_soon",
];

/// What name servers say about the addresses of robots.
const LOOKUPS: [&str; 3] = ["confirmed", "denied", "failed"];

/// Why pages behind traps are refused.
const TRAPS_REFUSED: [&str; 6] = [
    "not_shown",
    "led",
    "slots",
    "source_slots",
    "bytes",
    "connections",
];
/// What came of asking a site who is signed in: two of the answers, no answer, none in time, and too many questions.
const ASKED: [&str; 5] = ["signed_in", "refused", "failed", "late", "limited"];

/// What markers in requests of signed-in people are.
const MARKERS: [&str; 3] = ["own", "other", "broken"];
/// Why pages of signed-in people have no markers, or not everywhere.
const UNMARKED: [&str; 9] = [
    "content_encoding",
    "charset",
    "plaintext",
    "frameset",
    "select",
    "foreign",
    "template",
    "too_long",
    "corrupt",
];

/// Makes metrics, each under its name.
struct Making(Registry);

impl Making {
    fn counter(&mut self, name: &str, help: &str) -> Counter {
        let counter = Counter::default();
        self.0.register(name, help, counter.clone());
        counter
    }

    fn gauge(&mut self, name: &str, help: &str) -> Gauge {
        let gauge = Gauge::default();
        self.0.register(name, help, gauge.clone());
        gauge
    }

    fn family(&mut self, name: &str, help: &str) -> Family<Labels, Counter> {
        let family: Family<Labels, Counter> = Family::default();
        self.0.register(name, help, family.clone());
        family
    }

    /// A family whose members are shown from the start: what has not happened yet is 0, and not missing.
    fn known(
        &mut self,
        name: &str,
        help: &str,
        label: &'static str,
        values: &[&'static str],
    ) -> Family<Labels, Counter> {
        let family = self.family(name, help);
        for value in values {
            drop(family.get_or_create(&[(label, *value)]));
        }
        family
    }
}

impl Default for Metrics {
    #[rustfmt::skip]
    fn default() -> Metrics {
        let mut make = Making(Registry::with_prefix("cattlegrid"));
        let decisions = make.family("requests", "Requests by decision; in shadow mode all pass");
        let would = make.family("would", "Requests in shadow mode by what would have been decided");
        let reasons = make.family("reasons", "Requests by the reason of the decision");
        let statuses = make.family("answers", "Answers by class of status");
        let duration = Histogram::new(exponential_buckets(0.0005, 2.0, 16));
        make.0.register("duration_seconds", "Time until the answer ended", duration.clone());
        let of = |family: &Family<Labels, Counter>, name, value| family.get_or_create(&[(name, value)]).clone();
        Metrics {
            decisions: DECISIONS.map(|decision| of(&decisions, "decision", decision.name())),
            would: DECISIONS.map(|decision| of(&would, "decision", decision.name())),
            reasons: Reason::ALL.iter().map(|reason| of(&reasons, "reason", reason.name())).collect(),
            statuses: ["other", "1xx", "2xx", "3xx", "4xx", "5xx"].map(|class| of(&statuses, "class", class)),
            duration,
            own: make.counter("own", "Requests for the gate's own pages"),
            refused: make.known("refused", "Requests refused because they can be read in two ways", "reason", &REFUSED),
            upstream_failures: make.known("upstream_failures", "Requests that the site did not answer", "kind", &FAILURES),
            challenges: make.counter("challenges", "Challenges shown"),
            solved: make.counter("solved", "Challenges solved"),
            questions_answered: make.counter("questions_answered", "Challenges solved by answering a question, without JavaScript"),
            answers_refused: make.known("answers_refused", "Answers to challenges that did not count", "reason", &REFUSALS),
            panics: make.counter("panics", "Requests during which the gate had an error of its own; each was challenged"),
            connections: make.gauge("connections", "Connections of clients"),
            connections_refused: make.counter("connections_refused", "Connections closed because there were too many"),
            log_lines_lost: make.counter("log_lines_lost", "Lines of the access log that found no room"),
            learned_lines_lost: make.counter("learned_lines_lost", "Requests that were not learned from because learning was behind"),
            log_failed: make.gauge("log_failed", "1 while the access log cannot be written"),
            sources: make.gauge("sources", "Sources that are profiled"),
            suspects: make.gauge("suspects", "Clients that are challenged because of their active visit"),
            sources_forgotten: make.counter("sources_forgotten", "Sources that were forgotten to keep within profiles_max"),
            counters_forgotten: make.gauge("counters_forgotten", "Counters that were forgotten within their day to keep within sources_max"),
            groups_over_limit: make.gauge("groups_over_limit", "Groups of clients that load pages without their parts and are over group_pages"),
            entries: make.gauge("entries", "Entries of the knowledge base in force"),
            base_failed: make.gauge("base_failed", "1 while the knowledge base cannot be read or written; what was known stays in force"),
            judged: make.counter("judged", "Times all sources were judged"),
            judged_at: make.gauge("judged_at_seconds", "When sources were judged last, since 1970"),
            reload_failed: make.gauge("reload_failed", "1 when the last reload was refused; the old settings stay"),
            reloads: make.counter("reloads", "Reloads that were carried out"),
            snapshot_failed: make.gauge("snapshot_failed", "1 while counters cannot be saved"),
            lookups: make.known("lookups", "Addresses of robots that name servers were asked about", "result", &LOOKUPS),
            trap_links: make.counter("trap_links", "Pages of the gate with a link that only programs follow"),
            trap_pages: make.counter("trap_pages", "Pages behind such links that were begun"),
            traps_refused: make.known("traps_refused", "Requests for such pages that were refused, and count for nothing", "reason", &TRAPS_REFUSED),
            trap_slots: make.gauge("trap_slots", "Clients that wait for such a page now"),
            sign_ins_refused: make.known("sign_in_refused", "Requests with tokens of which none proves who is signed in", "kind", &Refused::NAMES),
            sign_ins_asked: make.known("sign_in_asked", "Questions to sites whether somebody is signed in", "result", &ASKED),
            sign_in_cached: make.counter("sign_in_cached", "Requests for which an earlier answer of the site said who is signed in"),
            slowed: make.counter("slowed", "Times that a request of a signed-in person was held back"),
            markers_read: make.known("markers_read", "Requests of signed-in people with a marker, by whether it opens and is theirs", "kind", &MARKERS),
            marked_pages: make.counter("marked_pages", "Pages for signed-in people whose links got markers"),
            marked_links: make.counter("marked_links", "Links with a marker in these pages"),
            unmarked: make.known("unmarked", "Pages for signed-in people that passed without markers, from some place on, or with a tag or link too long for one", "reason", &UNMARKED),
            marker_keys_failed: make.gauge("marker_keys_failed", "1 while the keys of markers cannot be read or written"),
            suspicions: make.known("user_suspicions", "Times that a signed-in person became a suspect, by the cause", "cause", &causes()),
            odd_requests: make.known("user_odd_requests", "Requests of signed-in people that links do not explain, by kind", "kind", &Oddity::ALL.map(Oddity::name)),
            users: make.gauge("users", "Signed-in people whose paths are followed"),
            suspect_users: make.gauge("suspect_users", "Signed-in people who must answer a question"),
            throttled_users: make.gauge("throttled_users", "Signed-in people who were suspects twice and are throttled"),
            user_requests_waiting: make.gauge("user_requests_waiting", "What the table of signed-in people has not noted yet: page requests, and names"),
            user_requests_lost: make.counter("user_requests_lost", "Requests of signed-in people that were not noted because the table was behind"),
            users_failed: make.gauge("users_failed", "1 while the table of signed-in people cannot be saved"),
            registry: make.0,
        }
    }
}

/// The causes of suspicions.
fn causes() -> [&'static str; 4] {
    let [first, second, third] = PathKind::ALL.map(PathKind::name);
    [first, second, third, Cause::Oddities.name()]
}

impl Metrics {
    /// Counts a suspicion.
    pub(crate) fn suspected(&self, cause: Cause) {
        let labels = [("cause", cause.name())];
        self.suspicions.get_or_create(&labels).inc();
    }

    /// Counts what is odd about a request.
    pub(crate) fn odd_request(&self, oddity: Oddity) {
        let labels = [("kind", oddity.name())];
        self.odd_requests.get_or_create(&labels).inc();
    }

    /// Counts a decision.
    pub(crate) fn decided(&self, decision: Decision, reason: Reason) {
        self.decisions[decision as usize].inc();
        self.reasons[reason as usize].inc();
    }

    /// Counts an answer to a challenge that did not count.
    pub(crate) fn answer_refused(&self, reason: &'static str) {
        self.answers_refused
            .get_or_create(&[("reason", reason)])
            .inc();
    }

    /// Counts a page behind a trap that was refused.
    pub(crate) fn trap_refused(&self, reason: &'static str) {
        self.traps_refused
            .get_or_create(&[("reason", reason)])
            .inc();
    }

    /// Counts what would have been decided.
    pub(crate) fn would(&self, decision: Decision) {
        self.would[decision as usize].inc();
    }

    /// Counts a lookup of a robot's address.
    pub(crate) fn looked_up(&self, looked: Looked) {
        let result = match looked {
            Looked::Confirmed => "confirmed",
            Looked::Denied => "denied",
            Looked::Unknown => "failed",
        };
        self.lookups.get_or_create(&[("result", result)]).inc();
    }

    /// Counts a request whose tokens do not count.
    pub(crate) fn sign_in_refused(&self, why: Refused) {
        let labels = [("kind", why.name())];
        self.sign_ins_refused.get_or_create(&labels).inc();
    }

    /// Counts what came of asking a site who is signed in.
    pub(crate) fn sign_in_asked(&self, result: &'static str) {
        let labels = [("result", result)];
        self.sign_ins_asked.get_or_create(&labels).inc();
    }

    /// Counts a marker in a request of a signed-in person.
    pub(crate) fn marker_read(&self, kind: &'static str) {
        self.markers_read.get_or_create(&[("kind", kind)]).inc();
    }

    /// Counts a page that has no markers, or not everywhere.
    pub(crate) fn unmarked(&self, reason: &'static str) {
        self.unmarked.get_or_create(&[("reason", reason)]).inc();
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
