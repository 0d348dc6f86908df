//! Evidence to verdict: the only place where weights are added up.

use crate::detectors::Detector;
use crate::detectors::Family;
use crate::detectors::SPECS;
use crate::detectors::Spec;
use crate::detectors::VoteSet;
use crate::evidence::Context;
use crate::evidence::Gap;
use crate::evidence::Outcome;
use crate::evidence::Toward;
use crate::knowledge::Claim;
use crate::knowledge::Purpose;
use crate::profile::Profile;

/// What a source is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// A person, or people behind one address.
    User,
    /// Walks through the site for somebody's own ends.
    Crawler,
    /// A program that fetches what a person or an owner asked for: monitor, preview, feed reader.
    Automated,
    /// The evidence does not suffice.
    Undecided,
}

impl Class {
    /// All classes, in the order they are listed.
    pub const ALL: [Class; 4] = [
        Class::User,
        Class::Crawler,
        Class::Automated,
        Class::Undecided,
    ];

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Class::User => "user",
            Class::Crawler => "crawler",
            Class::Automated => "automated",
            Class::Undecided => "undecided",
        }
    }
}

/// What kind of crawler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Proven to be who it says, and welcome.
    Legitimate,
    /// Says that it is a robot, or sends no browser's agent.
    Unauthorized,
    /// Crawls under a browser's agent.
    Masquerading,
}

impl Kind {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Legitimate => "legitimate",
            Kind::Unauthorized => "unauthorized",
            Kind::Masquerading => "masquerading",
        }
    }
}

/// One detector's finding with its weight.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    /// The detector's name.
    pub detector: &'static str,
    /// Which way it points.
    pub toward: Toward,
    /// Decibans: +10 makes a crawler ten times likelier, −10 a person.
    pub weight: f64,
    /// A sentence the owner can check against the log.
    pub why: String,
    /// The measured numbers.
    pub values: Vec<(&'static str, f64)>,
}

/// Why a source is undecided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// It sent too few page requests for any rule.
    TooFewPages,
    /// The rules that could speak found nothing remarkable.
    NothingRemarkable,
    /// There is some evidence, but not enough.
    TooWeak,
    /// Evidence for and against cancels out.
    Contradictory,
}

impl Cause {
    /// All causes, in the order they are listed.
    pub const ALL: [Cause; 4] = [
        Cause::TooFewPages,
        Cause::NothingRemarkable,
        Cause::TooWeak,
        Cause::Contradictory,
    ];

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Cause::TooFewPages => "too_few_pages",
            Cause::NothingRemarkable => "nothing_remarkable",
            Cause::TooWeak => "too_weak",
            Cause::Contradictory => "contradictory",
        }
    }

    /// The cause in words, with what would decide.
    pub fn explain(self) -> &'static str {
        match self {
            Cause::TooFewPages => "too few page requests for any rule; a longer log may tell",
            Cause::NothingRemarkable => {
                "enough requests, nothing remarkable; logging referrer and session cookie would tell more"
            }
            Cause::TooWeak => {
                "some evidence, not enough; a longer log, or logging the session cookie, may tell"
            }
            Cause::Contradictory => "evidence for and against cancels out; look at it by hand",
        }
    }
}

/// How a set of heuristics voted: a majority of those that did not abstain. `None` where all abstained.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Votes {
    /// H1 to H4.
    pub former: Option<bool>,
    /// H5 to H7.
    pub new: Option<bool>,
    /// H1 to H7.
    pub combined: Option<bool>,
}

/// What a source is in one window, with all reasons.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// What it is.
    pub class: Class,
    /// What kind of crawler.
    pub kind: Option<Kind>,
    /// Sum of the families in decibans, positive towards a crawler.
    pub decibans: f64,
    /// The rule or the strongest family that decided.
    pub decided_by: Option<&'static str>,
    /// All findings, strongest first.
    pub evidence: Vec<Evidence>,
    /// The votes of the header heuristics.
    pub votes: Votes,
    /// People and a crawler share this source.
    pub mixed: bool,
    /// Why it is undecided.
    pub cause: Option<Cause>,
}

impl Verdict {
    /// How sure the class is, from 0.5 to 1: the logistic of the sum. Undecided has the confidence of its leaning.
    pub fn confidence(&self) -> f64 {
        1.0 / (1.0 + 10_f64.powf(-self.decibans.abs() / 10.0))
    }
}

/// Weights and thresholds of the verdict, in decibans.
#[derive(Debug, Clone, PartialEq)]
pub struct Weights {
    /// Sum from which a source is a crawler.
    pub crawler_from: f64,
    /// Sum up to which a source is a user.
    pub user_to: f64,
    /// The most that one family can say either way.
    pub family_max: f64,
    /// By detector in the order of [`SPECS`]: towards a crawler, towards people.
    pub detectors: [(f64, f64); SPECS.len()],
    /// By detector, what the weight is multiplied with that it gives a finding itself.
    pub grades: [f64; SPECS.len()],
}

/// True for a detector that grades each finding itself, so that only a factor can be learned for it. A name decides by itself; what a
/// shape or a campaign is worth was learned where it was found.
pub fn is_graded(spec: &Spec) -> bool {
    let is_fixed = spec.family == Family::Identity
        || ["campaign_member", "traffic_shape"].contains(&spec.name);
    !is_fixed && SHIPPED.iter().all(|(name, _, _)| *name != spec.name)
}

/// What detectors are worth as shipped: towards a crawler, towards people. Those that are missing weigh their findings themselves.
///
/// A weight of 10 says: ten times as likely on a crawler as on a person. The first values followed from the published rates and from
/// what the rule can mistake. Several were changed after errors were seen in simulated worlds and in the real logs of docs/limits.md,
/// so that the results on those logs are not independent of them:
///
/// * An empty referrer or an error rate above a third is common among crawlers and happens to few people: about 6 to 1.
/// * Hardly any revisits, or no parameters, happens to many readers of few pages: 2 to 1.
/// * One agent in a hundred others: PubCrawl names it suspicious, updates of a browser explain some: 3 to 1.
/// * A page whose parts come under other agents than itself is no browser's, unless two people read it at once: 16 to 1.
/// * Visits by the clock, at night too, are a program's, if not a page that was left open: 16 to 1.
/// * Loading a page's parts is what browsers are for, and what few crawlers pay for: 5 to 1 for people; and following links, 4 to 1.
///   Both are cheap to copy: [`CHEAP_MAX`] and [`CHEAP_AGAINST_ACTS`] bound what they are worth together.
/// * People do not ask for robots.txt, nor take what it forbids after reading it: 15 and 10 to 1 beside each other.
/// * A third of a large site, each page once, is no reading: 10 to 1. Three hundred pages in half an hour may be many people: 2.5 to 1.
/// * A source that is as busy at night as by day may be a gateway of phones: 2.5 to 1.
/// * Counts steadier than chance allows are a clock's: 6 to 1.
/// * A browser that drops every session is rare where a site hands them out: 10 to 1.
const SHIPPED: [(&str, f64, f64); 14] = [
    ("agents_of_one_page", 12.0, 0.0),
    // An address proves or disproves a name.
    ("claimed_operator", 40.0, 0.0),
    ("clockwork_visits", 12.0, 0.0),
    // Decides by itself; a name on no list weighs by its requests.
    ("declared_robot", 30.0, 0.0),
    ("fetched_robots_txt", 12.0, 0.0),
    ("ignored_cookies", 10.0, -6.0),
    ("ignored_robots_txt", 10.0, 0.0),
    ("indiscriminate_download", 10.0, 0.0),
    ("low_page_revisit", 2.0, -3.0),
    ("low_parameter_usage", 2.0, -2.0),
    ("no_daily_rhythm", 4.0, 0.0),
    ("regular_counts", 8.0, 0.0),
    ("suspicious_referrer", 8.0, 0.0),
    ("unbalanced_traffic", 5.0, -3.0),
];

impl Default for Weights {
    fn default() -> Weights {
        let weight = |spec: &Spec| {
            let shipped = SHIPPED.iter().find(|(name, _, _)| *name == spec.name);
            shipped.map_or((0.0, 0.0), |(_, crawler, people)| (*crawler, *people))
        };
        Weights {
            crawler_from: 10.0,
            user_to: -6.0,
            family_max: 20.0,
            detectors: std::array::from_fn(|at| weight(&SPECS[at])),
            grades: [1.0; SPECS.len()],
        }
    }
}

/// Signs of people that a program can copy for little: a few style sheets, a referrer, a page fetched twice.
const CHEAP: [&str; 4] = [
    "followed_links",
    "loaded_page_parts",
    "low_page_revisit",
    "low_parameter_usage",
];
/// What the cheap signs are worth together at most.
const CHEAP_MAX: f64 = -10.0;
/// What only a program does. A program that does it can just as well load a style sheet, so that cheap signs do not excuse it.
const ACTS: [&str; 10] = [
    "agents_of_one_page",
    "borrowed_referrer",
    "clockwork_visits",
    "forged_referrer",
    "hammered_login",
    "high_page_rate",
    "old_protocol",
    "posted_blindly",
    "probed_weak_spots",
    "suspicious_sequence",
];
/// What cheap signs are worth at most beside such an act, and from a browser with more pages a day than anybody reads.
const CHEAP_AGAINST_ACTS: f64 = -2.0;
/// What a program leaves out that copies a browser in part.
const SKIPS: [&str; 2] = ["partial_pages", "skipped_page_parts"];
/// What people's rhythm is worth at most beside such an act, or to a source that never loads a part of a page.
const RHYTHM_AGAINST_ACTS: f64 = -2.0;
/// Pages under one user agent on a day on which it comes, beyond which nobody reads them. A class room has one agent, too, and some 400.
const BROWSER_PAGES_MAX: f64 = 500.0;
/// Decibans of [`followed_links`](crate::detectors) from which links explain the order of pages.
const FOLLOWS: f64 = -5.0;
/// Decibans from which an act is one.
const ACT_MIN: f64 = 9.0;
/// Decibans of [`traffic_shape`](crate::detectors) from which its times are a machine's whatever else it does. Shift work and gateways
/// that never sleep come close, and stay below.
const MACHINES_TIMES_MIN: f64 = 12.5;

/// Judges one profile.
pub fn judge(
    profile: &Profile,
    context: &Context<'_>,
    detectors: &[Box<dyn Detector>],
    weights: &Weights,
) -> Verdict {
    weigh(profile, context, detectors, weights, Scope::Window)
}

/// Judges all windows of one source together, by what does not depend on when requests came.
pub fn judge_whole(
    profile: &Profile,
    context: &Context<'_>,
    detectors: &[Box<dyn Detector>],
    weights: &Weights,
) -> Verdict {
    weigh(profile, context, detectors, weights, Scope::Whole)
}

/// Whose requests a profile has.
enum Scope {
    /// One source's in one window.
    Window,
    /// One source's in all windows, whose half hours lie on top of each other.
    Whole,
    /// Those of many sources in one window.
    Group(Together),
}

impl Scope {
    /// Whether a detector has something to say about it.
    fn asks(&self, spec: &Spec) -> bool {
        match self {
            Scope::Window => true,
            Scope::Whole => {
                let needs_time = ["campaign_member", "high_page_rate"];
                spec.family != Family::Shape && !needs_time.contains(&spec.name)
            }
            Scope::Group(_) => !NOT_FOR_GROUPS.contains(&spec.name),
        }
    }
}

/// Rules that say nothing about many sources together: what one of them does is not the others' doing, and what is much for one is
/// not for all.
const NOT_FOR_GROUPS: [&str; 9] = [
    "agents_of_one_page",
    "clockwork_visits",
    "fetched_robots_txt",
    "high_page_rate",
    "ignored_robots_txt",
    "indiscriminate_download",
    "partial_pages",
    "skipped_page_parts",
    "unbalanced_traffic",
];

/// How many sources are judged as one.
#[derive(Debug)]
pub struct Together {
    /// What only shows in all of them.
    pub evidence: Vec<Evidence>,
    /// The rhythm of people speaks for them. It does not for sources that merely share an agent or a network: home computers that
    /// somebody else has taken over are on when people are.
    pub by_rhythm: bool,
}

/// Judges the sum of many sources.
pub fn judge_group(
    profile: &Profile,
    context: &Context<'_>,
    detectors: &[Box<dyn Detector>],
    weights: &Weights,
    together: Together,
) -> Verdict {
    weigh(profile, context, detectors, weights, Scope::Group(together))
}

fn weigh(
    profile: &Profile,
    context: &Context<'_>,
    detectors: &[Box<dyn Detector>],
    weights: &Weights,
    mut scope: Scope,
) -> Verdict {
    let (by_rhythm, mut evidence) = match &mut scope {
        Scope::Group(together) => (together.by_rhythm, std::mem::take(&mut together.evidence)),
        Scope::Window | Scope::Whole => (true, Vec::new()),
    };
    let mut ballots = Ballots::default();
    let mut families = [0.0_f64; 4];
    families[Family::Campaign as usize] = evidence.iter().map(|item| item.weight).sum();
    let weights_of = weights.detectors.iter().zip(weights.grades);
    for ((spec, detector), (weight, grade)) in SPECS.iter().zip(detectors).zip(weights_of) {
        if !scope.asks(spec) {
            continue;
        }
        let outcome = detector.evaluate(profile, context);
        if let Some(set) = spec.vote {
            ballots.cast(set, &outcome);
        }
        ballots.note_gap(&outcome);
        let Outcome::Finding(finding) = outcome else {
            continue;
        };
        let weight = match (finding.learned, finding.toward) {
            (Some(learned), _) => learned * grade,
            (None, Toward::User) => weight.1,
            (None, _) => weight.0,
        };
        families[spec.family as usize] += weight;
        evidence.push(Evidence {
            detector: spec.name,
            toward: finding.toward,
            weight,
            why: finding.why,
            values: finding.values,
        });
    }
    weigh_shape_once(&mut evidence, &mut families);
    explain_by_links(&mut evidence, &mut families);
    weigh_cheap_signs(profile, &mut evidence, &mut families);
    weigh_copied_rhythm(&mut evidence, &mut families);
    if !by_rhythm && families[Family::Shape as usize] < 0.0 {
        families[Family::Shape as usize] = 0.0;
        let shape = evidence.iter_mut();
        let shape = shape.filter(|item| item.detector == "traffic_shape");
        shape.for_each(|item| item.weight = 0.0);
    }
    evidence.sort_by(|a, b| b.weight.abs().total_cmp(&a.weight.abs()));
    let by_family =
        |family: Family| families[family as usize].clamp(-weights.family_max, weights.family_max);
    let verdict = Verdict {
        class: Class::Undecided,
        kind: None,
        decibans: 0.0,
        decided_by: None,
        votes: ballots.votes(),
        mixed: profile.is_mixed(),
        cause: None,
        evidence,
    };
    let families = [Family::Headers, Family::Shape, Family::Campaign]
        .map(|family| (family, by_family(family)));
    let mut verdict = by_name(profile, context, weights, verdict).unwrap_or_else(|verdict| {
        let [headers, shape, campaign] = families;
        let name = (Family::Identity, weak_name(&verdict.evidence));
        by_sum(profile, [headers, shape, campaign, name], weights, verdict)
    });
    if verdict.class == Class::Undecided {
        verdict.cause = Some(cause(&verdict.evidence, &ballots));
    }
    verdict
}

/// What a name weighs that does not decide by itself.
fn weak_name(evidence: &[Evidence]) -> f64 {
    let mut named = evidence.iter();
    let named = named.find(|item| item.detector == "declared_robot");
    named.map_or(0.0, |item| item.weight)
}

/// Who names itself a robot is one, unless it did so once or twice under a name on no list. Others come back as they were.
fn by_name(
    profile: &Profile,
    context: &Context<'_>,
    weights: &Weights,
    verdict: Verdict,
) -> Result<Verdict, Verdict> {
    let mut named = verdict.evidence.iter();
    let Some(item) = named.find(|item| item.detector == "declared_robot") else {
        return Err(verdict);
    };
    let (class, decibans) = match item.toward {
        Toward::Automated => (Class::Automated, item.weight),
        _ if item.weight < weights.crawler_from => return Err(verdict),
        _ => (Class::Crawler, item.weight),
    };
    Ok(Verdict {
        class,
        kind: declared_kind(profile, context, class),
        decibans,
        decided_by: Some(naming_rule(&verdict.evidence)),
        ..verdict
    })
}

/// Otherwise the families' sum decides, if it is far enough from nothing.
fn by_sum(
    profile: &Profile,
    families: [(Family, f64); 4],
    weights: &Weights,
    mut verdict: Verdict,
) -> Verdict {
    let sum: f64 = families.iter().map(|(_, decibans)| decibans).sum();
    verdict.decibans = sum;
    let is_crawler = sum >= weights.crawler_from;
    if !is_crawler && sum > weights.user_to {
        return verdict;
    }
    verdict.class = if is_crawler {
        Class::Crawler
    } else {
        Class::User
    };
    // Of equals the first.
    let mut strongest = families[0];
    for family in &families[1..] {
        if family.1 * sum > strongest.1 * sum {
            strongest = *family;
        }
    }
    verdict.decided_by = Some(strongest.0.name());
    if is_crawler {
        let is_browser = profile.browsers > profile.agents_logged / 2;
        verdict.kind = Some(if is_browser {
            Kind::Masquerading
        } else {
            Kind::Unauthorized
        });
    }
    verdict
}

/// What was learned of the whole shape has seen what the single rules about it say: then they count nothing. Only where it has seen
/// nothing like the source, a rate that is kept day and night says more than it can.
fn weigh_shape_once(evidence: &mut [Evidence], families: &mut [f64]) {
    const SINGLE: [&str; 3] = ["clockwork_visits", "no_daily_rhythm", "regular_counts"];
    const OF_RATE: [&str; 2] = ["no_daily_rhythm", "regular_counts"];
    let shape = |item: &Evidence| item.detector == "traffic_shape";
    let Some(weight) = evidence
        .iter()
        .find(|item| shape(item))
        .map(|item| item.weight)
    else {
        return;
    };
    let of_rate = evidence
        .iter()
        .filter(|item| OF_RATE.contains(&item.detector));
    let rate: f64 = of_rate.map(|item| item.weight).sum();
    let by_rate = weight > 0.0 && rate > weight;
    for item in evidence.iter_mut() {
        let is_out = match by_rate {
            true => shape(item) || item.detector == "clockwork_visits",
            false => SINGLE.contains(&item.detector),
        };
        if is_out {
            item.weight = 0.0;
        }
    }
    families[Family::Shape as usize] = if by_rate { rate } else { weight };
}

/// Who reads a long text by its links goes upwards, never comes back and uses no parameters: nothing of that is a sign then.
fn explain_by_links(evidence: &mut [Evidence], families: &mut [f64]) {
    let reads = |item: &Evidence| item.detector == "followed_links" && item.weight <= FOLLOWS;
    let in_order = |item: &Evidence| item.detector == "suspicious_sequence";
    let explained: &[&str] = match evidence.iter().any(reads) {
        true => &[
            "low_page_revisit",
            "low_parameter_usage",
            "suspicious_sequence",
        ],
        // Pages in order are not seen twice.
        false if evidence.iter().any(in_order) => &["low_page_revisit", "low_parameter_usage"],
        false => return,
    };
    // Hundreds of steps without exception are explained by nothing.
    let is_explained = |item: &&mut Evidence| {
        (0.0..ACT_MIN).contains(&item.weight) && explained.contains(&item.detector)
    };
    for item in evidence.iter_mut().filter(is_explained) {
        families[Family::Headers as usize] -= item.weight;
        item.weight = 0.0;
    }
}

/// True for what only a program does, or leaves out.
fn is_programs(item: &Evidence) -> bool {
    let names = ACTS.iter().chain(&SKIPS);
    item.weight >= ACT_MIN && names.into_iter().any(|name| *name == item.detector)
}

/// True for times that leave no doubt to any classifier.
fn is_machines_times(item: &Evidence) -> bool {
    item.detector == "traffic_shape" && item.weight >= MACHINES_TIMES_MIN
}

/// Pages that each browser of a source fetches on a day on which it comes; none where agents are not logged.
fn pages_of_a_browser(profile: &Profile) -> f64 {
    let agents = profile.agents.count() as f64;
    if agents == 0.0 {
        return 0.0;
    }
    f64::from(profile.pages) / agents / f64::from(profile.bins.busy_days().max(1))
}

/// Bounds what signs of people are worth that a program can copy for little.
fn weigh_cheap_signs(profile: &Profile, evidence: &mut [Evidence], families: &mut [f64]) {
    // Who asks for fonts and the icon has a browser that shows pages to somebody, at whatever hours.
    let shows = profile.images > 0 && profile.drawn > 0;
    let is_machine = |item: &Evidence| is_programs(item) || !shows && is_machines_times(item);
    let acts = evidence.iter().any(is_machine);
    let is_reader = pages_of_a_browser(profile) <= BROWSER_PAGES_MAX;
    let most = match is_reader && !acts {
        true => CHEAP_MAX,
        false => CHEAP_AGAINST_ACTS,
    };
    // Several browsers in equal parts are a list that a program draws from, once it is one.
    let is_copied = |name: &str| CHEAP.contains(&name) || acts && name == "unbalanced_traffic";
    let is_cheap = |item: &Evidence| item.weight < 0.0 && is_copied(item.detector);
    let cheap = evidence.iter().filter(|item| is_cheap(item));
    let sum: f64 = cheap.map(|item| item.weight).sum();
    if sum < most {
        families[Family::Headers as usize] += most - sum;
        let cheap = evidence.iter_mut().filter(|item| is_cheap(item));
        cheap.for_each(|item| item.weight *= most / sum);
    }
}

/// Bounds what the rhythm of people is worth to a source that does what only a program does: a timetable is copied for little.
fn weigh_copied_rhythm(evidence: &mut [Evidence], families: &mut [f64]) {
    if !evidence.iter().any(is_programs) {
        return;
    }
    let mut shape = evidence.iter_mut();
    let shape = shape.find(|item| item.detector == "traffic_shape");
    if let Some(item) = shape.filter(|item| item.weight < RHYTHM_AGAINST_ACTS) {
        families[Family::Shape as usize] = RHYTHM_AGAINST_ACTS;
        item.weight = RHYTHM_AGAINST_ACTS;
    }
}

/// Which rule decided about a source that names itself: the check of its name, where there was one.
fn naming_rule(evidence: &[Evidence]) -> &'static str {
    let names = ["claimed_operator", "declared_robot"];
    names
        .into_iter()
        .find(|name| evidence.iter().any(|item| item.detector == *name))
        .unwrap_or("declared_robot")
}

/// What a robot is that names itself: a name alone proves nothing, and search engines are left without a kind until their
/// networks are known.
fn declared_kind(profile: &Profile, context: &Context<'_>, class: Class) -> Option<Kind> {
    if class != Class::Crawler {
        return None;
    }
    match context.claim(profile) {
        Some(Claim::Proven) => Some(Kind::Legitimate),
        Some(Claim::Disproved) => Some(Kind::Masquerading),
        Some(Claim::Open) | None => {
            let purpose = context.robot(profile).map(|robot| robot.purpose);
            (purpose != Some(Purpose::Search)).then_some(Kind::Unauthorized)
        }
    }
}

fn cause(evidence: &[Evidence], ballots: &Ballots) -> Cause {
    let toward = |wanted: Toward| {
        evidence
            .iter()
            .any(|item| item.toward == wanted && item.weight != 0.0)
    };
    match (toward(Toward::Crawler), toward(Toward::User)) {
        (true, true) => Cause::Contradictory,
        (true, false) | (false, true) => Cause::TooWeak,
        (false, false) if ballots.spoke => Cause::NothingRemarkable,
        (false, false) => Cause::TooFewPages,
    }
}

/// Votes as they come in.
#[derive(Debug, Default)]
struct Ballots {
    /// (hits, votes) of the former and the new set.
    sets: [(u32, u32); 2],
    /// Some rule other than that on names had enough to go on.
    spoke: bool,
}

impl Ballots {
    fn cast(&mut self, set: VoteSet, outcome: &Outcome) {
        if matches!(outcome, Outcome::Abstain(_)) {
            return;
        }
        self.spoke = true;
        let (hits, votes) = &mut self.sets[set as usize];
        *hits += u32::from(outcome.is_hit());
        *votes += 1;
    }

    fn note_gap(&mut self, outcome: &Outcome) {
        // Something missing in the whole log is not the source's silence.
        self.spoke |= matches!(outcome, Outcome::Abstain(Gap::NoContrast(_)));
    }

    fn votes(&self) -> Votes {
        // A tie is 'user'.
        let majority = |hits: u32, votes: u32| (votes > 0).then_some(hits * 2 > votes);
        let [former, new] = self.sets;
        Votes {
            former: majority(former.0, former.1),
            new: majority(new.0, new.1),
            combined: majority(former.0 + new.0, former.1 + new.1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn votes(former: (u32, u32), new: (u32, u32)) -> Votes {
        Ballots {
            sets: [former, new],
            spoke: true,
        }
        .votes()
    }

    #[test]
    fn every_weight_belongs_to_a_detector() {
        for (name, _, _) in SHIPPED {
            assert!(SPECS.iter().any(|spec| spec.name == name), "{name}");
        }
    }

    #[test]
    fn a_vote_needs_more_than_half_of_those_that_spoke() {
        assert_eq!(
            votes((2, 4), (0, 0)),
            Votes {
                former: Some(false),
                new: None,
                combined: Some(false)
            }
        );
        assert_eq!(
            votes((3, 4), (0, 3)),
            Votes {
                former: Some(true),
                new: Some(false),
                combined: Some(false)
            }
        );
        assert_eq!(
            votes((1, 1), (1, 2)),
            Votes {
                former: Some(true),
                new: Some(false),
                combined: Some(true)
            }
        );
        assert_eq!(votes((0, 0), (0, 0)), Votes::default());
    }
}
