//! From a report to changes of the base: crawlers are denied for some days, crowds of people and proven robots allowed, and what was said
//! before is looked at again. Nothing that the owner said is touched.

mod crowd;

use std::collections::BTreeMap;

use cattlegrid_core::Report;
use cattlegrid_core::policy::Action;
use cattlegrid_core::policy::DAY;
use cattlegrid_core::policy::Limits;
use cattlegrid_core::report::CampaignReport;
use cattlegrid_core::report::Crowd;
use cattlegrid_core::report::SourceReport;
use cattlegrid_core::verdict::Class;
use cattlegrid_core::verdict::Evidence;
use cattlegrid_core::verdict::Kind;
use ipnet::IpNet;

use crate::base::Change;
use crate::entry::Entry;
use crate::entry::Origin;
use crate::entry::Proof;
use crate::entry::Subject;
use crate::seal::seal;
use crowd::Gap;
use crowd::crowd_of;

/// Rules that decide by a source's user agent.
const NAMES: [&str; 2] = ["claimed_operator", "declared_robot"];
/// Reasons that are kept with an entry.
const PROOFS_MAX: usize = 5;

/// Decides what a report changes.
#[derive(Debug)]
pub struct Updater<'a> {
    /// Days and caps.
    pub limits: &'a Limits,
    /// The time it is.
    pub now: u32,
    /// Networks that are never denied by themselves, each with what it is.
    pub protected: &'a [(IpNet, String)],
}

/// What a report changes, and what it leaves alone.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The changes.
    pub changes: Vec<Change>,
    /// Sources that are denied, new or again.
    pub denied: usize,
    /// Sources that are allowed, new or again.
    pub allowed: usize,
    /// Sources of people above k2 that are not allowed: the evidence does not show a crowd.
    pub no_crowds: usize,
    /// Campaigns that are denied, new or again.
    pub campaigns: usize,
    /// Sources that joined a campaign that was known.
    pub joined: usize,
    /// Entries of before that no longer hold: what they said is no longer so.
    pub revoked: usize,
    /// Entries that have run out.
    pub expired: usize,
    /// Sources that the owner has said something about.
    pub owners: usize,
    /// Crawlers in networks that are never denied by themselves, with what these are.
    pub protected: Vec<(String, String)>,
    /// Sources that have not been seen for longer than an entry lasts: their addresses may be somebody else's by now.
    pub old: usize,
    /// Crawlers that share their address with people.
    pub mixed: usize,
    /// Crawlers that would be none without what was seen of their visits.
    pub by_visits: usize,
    /// Crawlers that name a search engine and have not proven it.
    pub unproven: usize,
    /// Crawlers by their name alone that sent few requests: whoever tries out a user agent is not denied for days.
    pub few: usize,
    /// Sources that are no addresses.
    pub nameless: usize,
}

impl Updater<'_> {
    /// What a report changes in a base with these entries.
    pub fn update(&self, report: &Report, entries: &[(u64, Entry)]) -> Outcome {
        let mut work = Work {
            updater: self,
            known: entries
                .iter()
                .map(|(_, entry)| (entry.subject.clone(), entry.clone()))
                .collect(),
            next: BTreeMap::new(),
            outcome: Outcome::default(),
        };
        work.expire();
        for source in &report.sources {
            work.source(source);
        }
        // In the order of time: what a campaign was called first stays its name.
        let mut campaigns: Vec<&CampaignReport> = report.campaigns.iter().collect();
        campaigns.sort_by_key(|campaign| campaign.start);
        let people: BTreeMap<&str, &SourceReport> = report
            .sources
            .iter()
            .map(|source| (source.source.as_str(), source))
            .collect();
        for campaign in campaigns {
            work.campaign(campaign, &people);
        }
        work.finish()
    }
}

struct Work<'a> {
    updater: &'a Updater<'a>,
    known: BTreeMap<Subject, Entry>,
    /// What is to stand in the base: nothing for what is to go.
    next: BTreeMap<Subject, Option<Entry>>,
    outcome: Outcome,
}

impl Work<'_> {
    /// What stands about somebody, with what has been decided so far.
    fn current(&self, subject: &Subject) -> Option<&Entry> {
        match self.next.get(subject) {
            Some(next) => next.as_ref(),
            None => self.known.get(subject),
        }
    }

    fn is_owners(&self, subject: &Subject) -> bool {
        let entry = self.current(subject);
        entry.is_some_and(|entry| matches!(entry.origin, Origin::Owner | Origin::List))
    }

    /// Takes out what has run out. A campaign that was denied is watched from then on: its sources have together what one source has.
    fn expire(&mut self) {
        let now = self.updater.now;
        let watched_until = now.saturating_add(self.updater.limits.allow_days * DAY);
        let expired: Vec<Entry> = self
            .known
            .values()
            .filter(|entry| entry.is_expired(now))
            .cloned()
            .collect();
        for entry in expired {
            self.outcome.expired += 1;
            let of_campaign =
                entry.campaign.is_some() || matches!(entry.subject, Subject::Campaign(_));
            let is_watched = entry.action == Action::Deny
                && entry.origin == Origin::Analysis
                && (of_campaign || entry.cap_since.is_some());
            let next = is_watched.then(|| Entry {
                action: Action::Watch,
                created: now,
                expires: Some(watched_until),
                ..entry.clone()
            });
            self.next.insert(entry.subject, next);
        }
    }

    fn source(&mut self, source: &SourceReport) {
        let Some(subject) = address(&source.source) else {
            self.outcome.nameless += 1;
            return;
        };
        if self.is_owners(&subject) {
            self.outcome.owners += 1;
            return;
        }
        match (source.class, source.kind) {
            (Class::User, _) => self.people(subject, source),
            (Class::Crawler, Some(Kind::Legitimate)) => self.allow_robot(subject, source),
            (Class::Crawler, None) => {
                self.outcome.unproven += 1;
                self.revoke(&subject);
            }
            (Class::Crawler, Some(_)) if source.mixed => {
                self.outcome.mixed += 1;
                self.revoke(&subject);
            }
            (Class::Crawler, Some(_)) if source.by_visits => {
                self.outcome.by_visits += 1;
                self.revoke_allow(&subject);
            }
            // What was denied stays so until it runs out.
            (Class::Crawler, Some(_)) if source.is_kept => self.revoke_allow(&subject),
            (Class::Crawler, Some(_)) if self.is_tried_name(source) => {
                self.outcome.few += 1;
                self.revoke_allow(&subject);
            }
            (Class::Crawler, Some(kind)) => self.deny(subject, source, kind),
            (Class::Automated | Class::Undecided, _) => self.revoke_allow(&subject),
        }
    }

    /// True for a source that only its user agent makes a crawler, below the first limit: it costs the site nothing, and the address
    /// may be that of many people.
    fn is_tried_name(&self, source: &SourceReport) -> bool {
        let by_name = source.decided_by.is_some_and(|rule| NAMES.contains(&rule));
        by_name && source.requests < u64::from(self.updater.limits.k1)
    }

    /// No longer what it was taken for. A crowd's cap is kept, in an entry that treats the source as an unknown one: otherwise a crawler
    /// could have a higher cap by losing its entry and earning another.
    fn revoke(&mut self, subject: &Subject) {
        let Some(known) = self.current(subject) else {
            return;
        };
        let has_cap = known.cap_since.is_some();
        if has_cap && known.action == Action::Watch {
            return;
        }
        let watched = has_cap.then(|| Entry {
            kind: known.kind.clone(),
            reason: format!(
                "was allowed {} pages a day as a crowd; unknown since, and another cap starts from there",
                known.cap
            ),
            ..self.entry(subject.clone(), Action::Watch, self.updater.limits.allow_days)
        });
        self.outcome.revoked += 1;
        self.next.insert(subject.clone(), watched);
    }

    /// Whom nobody can call people any more is not allowed any more; a denial runs out by itself.
    fn revoke_allow(&mut self, subject: &Subject) {
        let is_allowed = |entry: &Entry| entry.action == Action::Allow;
        if self.current(subject).is_some_and(is_allowed) {
            self.revoke(subject);
        }
    }

    /// People need no entry below k2, and above it only where they are many: one browser that asks for more solves challenges.
    fn people(&mut self, subject: Subject, source: &SourceReport) {
        let limits = self.updater.limits;
        if self.is_old(source.last_seen, limits.allow_days) {
            self.outcome.old += 1;
            return;
        }
        let found = crowd_of(source, limits);
        let found = match found {
            Ok(crowd) if self.is_old(crowd.last_seen, limits.allow_days) => Err(Gap::NotYet),
            found => found,
        };
        match found {
            Ok(crowd) => self.allow_crowd(subject, source, crowd),
            Err(gap) => {
                self.outcome.no_crowds += usize::from(daily_pages(source) > u64::from(limits.k2));
                self.lift(&subject);
                if gap == Gap::NoCrowd {
                    self.revoke_allow(&subject);
                }
            }
        }
    }

    /// Whoever is people is neither denied nor watched with others any more. What is remembered of a crowd stays, and an entry that allows
    /// it runs out by itself.
    fn lift(&mut self, subject: &Subject) {
        let is_lifted = |entry: &Entry| match entry.action {
            Action::Deny => true,
            Action::Watch => entry.campaign.is_some(),
            Action::Allow => false,
        };
        if self.current(subject).is_some_and(is_lifted) {
            self.revoke(subject);
        }
    }

    fn allow_crowd(&mut self, subject: Subject, source: &SourceReport, crowd: &Crowd) {
        let limits = self.updater.limits;
        let (cap, since) = crowd::cap(crowd, self.current(&subject), limits, self.updater.now);
        // No longer than the evidence is good for, which may be older than the last request.
        let expires = crowd.last_seen.saturating_add(limits.allow_days * DAY);
        let entry = self.allowed(subject);
        let entry = Entry {
            kind: Some("people".to_owned()),
            reason: crowd::describe(crowd),
            expires: entry.expires.map(|latest| latest.min(expires)),
            cap,
            cap_since: Some(since),
            ..entry
        };
        self.seen(entry, source);
    }

    /// A robot that its address proves.
    fn allow_robot(&mut self, subject: Subject, source: &SourceReport) {
        let limits = self.updater.limits;
        if self.is_old(source.last_seen, limits.allow_days) {
            self.outcome.old += 1;
            return;
        }
        let kind = Kind::Legitimate.name();
        let entry = Entry {
            kind: Some(kind.to_owned()),
            reason: reason(&source.evidence, kind),
            // A robot that suddenly asks for three times as much meets challenges until that is its usual.
            cap: (3 * daily_pages(source)).clamp(u64::from(limits.k2), u64::from(u32::MAX)) as u32,
            cap_since: None,
            ..self.allowed(subject)
        };
        self.seen(entry, source);
    }

    /// An entry that allows, counted as such.
    fn allowed(&mut self, subject: Subject) -> Entry {
        let was_denied = self
            .current(&subject)
            .is_some_and(|entry| entry.action != Action::Allow);
        self.outcome.revoked += usize::from(was_denied);
        self.outcome.allowed += 1;
        self.entry(subject, Action::Allow, self.updater.limits.allow_days)
    }

    fn deny(&mut self, subject: Subject, source: &SourceReport, kind: Kind) {
        let limits = self.updater.limits;
        if self.is_old(source.last_seen, limits.deny_days) {
            self.outcome.old += 1;
            return;
        }
        if self.is_protected(&subject) {
            return;
        }
        self.outcome.denied += 1;
        let entry = Entry {
            kind: Some(kind.name().to_owned()),
            reason: reason(&source.evidence, kind.name()),
            expires: self.denied_until(source.last_seen),
            ..self.entry(subject, Action::Deny, limits.deny_days)
        };
        let known = self.current(&entry.subject);
        let campaign = known.and_then(|known| known.campaign.clone());
        self.seen(Entry { campaign, ..entry }, source);
    }

    /// The end of a denial. It is counted from the last request: judging the same requests again moves nothing.
    fn denied_until(&self, last_seen: u32) -> Option<u32> {
        let days = self.updater.limits.deny_days.saturating_mul(DAY);
        Some(last_seen.min(self.updater.now).saturating_add(days))
    }

    fn is_old(&self, last_seen: u32, days: u32) -> bool {
        last_seen.saturating_add(days * DAY) <= self.updater.now
    }

    fn is_protected(&mut self, subject: &Subject) -> bool {
        let Some(network) = subject.network() else {
            return false;
        };
        let protected = self.updater.protected.iter();
        let found = protected
            .clone()
            .find(|(protected, _)| protected.contains(&network));
        if let Some((_, what)) = found {
            let told = (subject.to_string(), what.clone());
            self.outcome.protected.push(told);
        }
        found.is_some()
    }

    fn entry(&self, subject: Subject, action: Action, days: u32) -> Entry {
        let now = self.updater.now;
        let known = self.current(&subject);
        // An entry that says the same as before is as old as that.
        let created = known.filter(|known| known.action == action);
        Entry {
            created: created.map_or(now, |known| known.created),
            first_seen: known.and_then(|known| known.first_seen),
            expires: Some(now.saturating_add(days.saturating_mul(DAY))),
            // What a crowd was allowed is remembered, whatever is said of it meanwhile.
            cap: known
                .filter(|known| known.cap_since.is_some())
                .map_or(0, |known| known.cap),
            cap_since: known.and_then(|known| known.cap_since),
            ..Entry::new(subject, action, Origin::Analysis, now)
        }
    }

    fn seen(&mut self, entry: Entry, source: &SourceReport) {
        let first = entry.first_seen.unwrap_or(u32::MAX).min(source.first_seen);
        let entry = Entry {
            evidence: proofs(&source.evidence),
            first_seen: Some(first),
            last_seen: Some(source.last_seen),
            ..entry
        };
        self.next.insert(entry.subject.clone(), Some(entry));
    }

    fn campaign(&mut self, campaign: &CampaignReport, sources: &BTreeMap<&str, &SourceReport>) {
        let kind = match campaign.kind {
            Some(kind @ (Kind::Unauthorized | Kind::Masquerading)) => kind,
            _ => return,
        };
        if self.is_old(campaign.last_seen, self.updater.limits.deny_days) {
            self.outcome.old += 1;
            return;
        }
        let members: Vec<Subject> = campaign
            .members
            .iter()
            .filter_map(|name| address(name))
            .collect();
        let name = self.name(campaign, &members);
        let subject = Subject::Campaign(name.clone());
        let was_known = self.current(&subject).is_some();
        let action = match self.current(&subject) {
            Some(entry) if entry.origin == Origin::Owner => entry.action,
            _ => {
                self.outcome.campaigns += 1;
                self.deny_campaign(subject, campaign, kind);
                Action::Deny
            }
        };
        let limits = self.updater.limits;
        for member in members {
            let judged = sources.get(member.to_string().as_str());
            let is_other = judged.is_some_and(|source| {
                source.mixed || source.class == Class::User || source.kind == Some(Kind::Legitimate)
            });
            if is_other || self.is_owners(&member) || self.is_protected(&member) {
                continue;
            }
            let known = self.current(&member);
            let is_new = known.is_none_or(|known| known.campaign.as_deref() != Some(&name));
            self.outcome.joined += usize::from(was_known && is_new);
            let last_seen = judged.map_or(campaign.last_seen, |source| source.last_seen);
            if self.is_old(last_seen, limits.deny_days) {
                continue;
            }
            let entry = Entry {
                kind: Some(kind.name().to_owned()),
                expires: self.denied_until(last_seen),
                reason: format!(
                    "one of {} sources of campaign {name}",
                    campaign.members.len()
                ),
                campaign: Some(name.clone()),
                ..self.entry(member, action, limits.deny_days)
            };
            let first_seen = match judged {
                Some(source) => source.first_seen,
                None => entry.first_seen.unwrap_or(campaign.first_seen),
            };
            let entry = Entry {
                evidence: judged.map_or_else(Vec::new, |source| proofs(&source.evidence)),
                first_seen: Some(first_seen),
                last_seen: Some(last_seen),
                ..entry
            };
            self.next.insert(entry.subject.clone(), Some(entry));
        }
    }

    fn deny_campaign(&mut self, subject: Subject, campaign: &CampaignReport, kind: Kind) {
        let known = self.entry(subject, Action::Deny, self.updater.limits.deny_days);
        let first = known
            .first_seen
            .unwrap_or(u32::MAX)
            .min(campaign.first_seen);
        let entry = Entry {
            kind: Some(kind.name().to_owned()),
            reason: format!(
                "{} sources found by {}: {}",
                campaign.members.len(),
                campaign.how,
                reason(&campaign.evidence, kind.name())
            ),
            evidence: proofs(&campaign.evidence),
            expires: self.denied_until(campaign.last_seen),
            first_seen: Some(first),
            last_seen: Some(campaign.last_seen),
            ..known
        };
        self.next.insert(entry.subject.clone(), Some(entry));
    }

    /// The name of the known campaign that most of its members belong to; else one made of what they share.
    fn name(&self, campaign: &CampaignReport, members: &[Subject]) -> String {
        let mut known: BTreeMap<&str, usize> = BTreeMap::new();
        for member in members {
            let entry = self.current(member);
            if let Some(name) = entry.and_then(|entry| entry.campaign.as_deref()) {
                *known.entry(name).or_default() += 1;
            }
        }
        let best = known.into_iter().max_by_key(|(_, members)| *members);
        if let Some((name, sources)) = best
            && sources * 5 >= members.len()
        {
            return name.to_owned();
        }
        let agent = campaign.agents.first().map(|(agent, _)| agent.as_str());
        let first = members.first().map(Subject::to_string);
        let shared = match campaign.how {
            "agent" | "habit" | "cookie" => agent,
            _ => first.as_deref(),
        };
        format!("{}-{:08x}", campaign.how, seal([shared]) as u32)
    }

    fn finish(mut self) -> Outcome {
        for (subject, next) in std::mem::take(&mut self.next) {
            let change = match next {
                Some(entry) => Change::Put(Box::new(entry)),
                None => Change::Remove(subject),
            };
            self.outcome.changes.push(change);
        }
        self.outcome
    }
}

/// The subject that a report's source is, where it is an address.
fn address(name: &str) -> Option<Subject> {
    let subject: Subject = name.parse().ok()?;
    matches!(subject, Subject::Source(_)).then_some(subject)
}

/// Page requests a day, over all the time that a source was seen.
fn daily_pages(source: &SourceReport) -> u64 {
    let seconds = u64::from(source.last_seen - source.first_seen).max(u64::from(DAY));
    source.pages * u64::from(DAY) / seconds
}

fn reason(evidence: &[Evidence], otherwise: &str) -> String {
    let strongest = evidence.first();
    strongest.map_or_else(|| otherwise.to_owned(), |evidence| evidence.why.clone())
}

fn proofs(evidence: &[Evidence]) -> Vec<Proof> {
    evidence
        .iter()
        .take(PROOFS_MAX)
        .map(|evidence| Proof {
            detector: evidence.detector.to_owned(),
            weight: evidence.weight,
            why: evidence.why.clone(),
        })
        .collect()
}
