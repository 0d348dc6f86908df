//! Evidence to verdict: the only place where weights are added up.

mod bounds;
mod votes;
mod weights;

use crate::detectors::Detector;
use crate::detectors::Family;
use crate::detectors::SPECS;
use crate::detectors::Spec;
use crate::evidence::Context;
use crate::evidence::Outcome;
use crate::evidence::Toward;
use crate::knowledge::Claim;
use crate::knowledge::Purpose;
use crate::profile::Profile;
use bounds::explain_by_links;
use bounds::header_signs;
use bounds::take_back_rhythm;
use bounds::weigh_cheap_signs;
use bounds::weigh_copied_rhythm;
use bounds::weigh_header_signs;
use bounds::weigh_missing_referrers_once;
use bounds::weigh_shape_once;
use votes::Ballots;
pub use votes::Votes;
pub use weights::Weights;
pub use weights::is_graded;

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
    /// It would be no crawler without what was seen of its visits: that is shown, and nobody is denied for it.
    pub by_visits: bool,
    /// It is a crawler only because it was one at the judgement before: that is shown, and nobody is denied for it.
    pub is_kept: bool,
    /// Why it is undecided.
    pub cause: Option<Cause>,
    /// Decibans of signs of people beyond what the verdict allows for signs that programs can copy. Only the estimate of usage by people
    /// counts them.
    pub withheld: f64,
}

#[cfg(test)]
impl Verdict {
    /// A verdict without evidence.
    pub(crate) fn bare(class: Class, decibans: f64) -> Verdict {
        Verdict {
            class,
            kind: None,
            decibans,
            decided_by: None,
            evidence: Vec::new(),
            votes: Votes::default(),
            mixed: false,
            by_visits: false,
            is_kept: false,
            cause: None,
            withheld: 0.0,
        }
    }
}

impl Verdict {
    /// How sure the class is, from 0.5 to 1: the logistic of the sum. Undecided has the confidence of its leaning.
    pub fn confidence(&self) -> f64 {
        1.0 / (1.0 + 10_f64.powf(-self.decibans.abs() / 10.0))
    }
}

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
const NOT_FOR_GROUPS: [&str; 18] = [
    "accept_language",
    "agents_of_one_page",
    "client_hints",
    "clockwork_visits",
    "even_pace",
    "fetch_metadata",
    "fetched_robots_txt",
    "followed_trap",
    "header_order",
    "high_page_rate",
    "ignored_robots_txt",
    "indiscriminate_download",
    "partial_pages",
    "skipped_page_parts",
    "unbalanced_traffic",
    "unnamed_links",
    "unread_referrers",
    "visit_manner",
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
    let mut families = [0.0_f64; 5];
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
    weigh_header_signs(&mut evidence, &mut families);
    weigh_missing_referrers_once(&mut evidence, &mut families);
    explain_by_links(&mut evidence, &mut families);
    let came = (profile, context.busy_days(profile));
    let withheld = weigh_cheap_signs(came, &mut evidence, &mut families);
    weigh_copied_rhythm(&mut evidence, &mut families);
    if !by_rhythm {
        take_back_rhythm(&mut evidence, &mut families);
    }
    evidence.sort_by(|a, b| b.weight.abs().total_cmp(&a.weight.abs()));
    let verdict = Verdict {
        class: Class::Undecided,
        kind: None,
        decibans: 0.0,
        decided_by: None,
        votes: ballots.votes(),
        mixed: profile.is_mixed(),
        by_visits: false,
        is_kept: false,
        cause: None,
        withheld,
        evidence,
    };
    let mut verdict = by_name(profile, context, weights, verdict).unwrap_or_else(|verdict| {
        families[Family::Identity as usize] = weak_name(&verdict.evidence);
        let max = weights.family_max;
        let sum = |family: Family| (family, families[family as usize].clamp(-max, max));
        by_sum(profile, FAMILIES.map(sum), &bars(context, weights), verdict)
    });
    if verdict.class == Class::Undecided {
        verdict.cause = Some(cause(&verdict.evidence, &ballots));
    }
    verdict
}

/// Families whose sum decides. Of equally strong ones the first is named.
const FAMILIES: [Family; 5] = [
    Family::Headers,
    Family::Shape,
    Family::Campaign,
    Family::Visits,
    Family::Identity,
];

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

/// Decibans by which less is enough to stay a crawler. What a source is compared with changes from hour to hour, and findings of two
/// decibans come and go with it.
///
/// Only crawlers stay what they were: a good past must buy nothing. And who only stays one is not denied anew.
pub(crate) const STAY_DECIBANS: f64 = 3.0;

/// Sums that make a crawler, or a person.
struct Bars {
    crawler_from: f64,
    user_to: f64,
    /// From here on it stays a crawler.
    stays_from: f64,
}

fn bars(context: &Context<'_>, weights: &Weights) -> Bars {
    Bars {
        crawler_from: weights.crawler_from,
        user_to: weights.user_to,
        stays_from: match context.was_crawler {
            true => weights.crawler_from - STAY_DECIBANS,
            false => weights.crawler_from,
        },
    }
}

/// Otherwise the families' sum decides, if it is far enough from nothing.
fn by_sum(
    profile: &Profile,
    families: [(Family, f64); FAMILIES.len()],
    bars: &Bars,
    mut verdict: Verdict,
) -> Verdict {
    let sum: f64 = families.iter().map(|(_, decibans)| decibans).sum();
    verdict.decibans = sum;
    // Header fields are no verdict by themselves, and do not keep one up.
    let lasting = sum - header_signs(&verdict.evidence);
    verdict.is_kept = sum < bars.crawler_from && lasting >= bars.stays_from;
    let is_crawler = sum >= bars.crawler_from || verdict.is_kept;
    if !is_crawler && sum > bars.user_to {
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
        let visits = families
            .iter()
            .find(|(family, _)| *family == Family::Visits);
        verdict.by_visits =
            visits.is_some_and(|(_, visits)| *visits > 0.0 && sum - visits < bars.crawler_from);
        let is_browser = profile.browsers > profile.agents_logged / 2;
        verdict.kind = Some(if is_browser {
            Kind::Masquerading
        } else {
            Kind::Unauthorized
        });
    }
    verdict
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
