//! Sources that crawl as one: found by their times, their agent or their network, added up, and judged together.
//!
//! Two walks over the tables: the first counts who shares what, and takes the fingerprints of heavier sources; the second adds up
//! those who share something. Nobody is called anything for what he shares: the sum is judged by the same rules as a source.

mod by_paper;
mod found;
mod pool;
mod shared;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::collections::BTreeSet;

use cattlegrid_learn::cluster;
use cattlegrid_learn::cluster::Fingerprint;
use cattlegrid_learn::cluster::MEMBERS_MIN;
use cattlegrid_learn::cluster::Rule;
use cattlegrid_learn::cluster::Signs;
use cattlegrid_learn::series::POINTS_MIN;
use cattlegrid_learn::series::Scratch;
use rayon::prelude::*;

use crate::evidence::Context;
use crate::evidence::Toward;
use crate::knowledge::AutonomousSystem;
use crate::knowledge::Knowledge;
use crate::knowledge::is_text_browser;
use crate::profile::AgentIndex;
use crate::profile::Profile;
use crate::request::Source;
use crate::request::SourceKind;
use crate::settings::CampaignSettings;
use crate::settings::Settings;
use crate::site::Site;
use crate::table::Clock;
use crate::table::Table;
use crate::table::Window;
use crate::text::printable;
use crate::verdict::Class;
use crate::verdict::Evidence;
use crate::verdict::STAY_DECIBANS;
use crate::verdict::Together;
use crate::verdict::Verdict;
use crate::verdict::judge_group;
pub use by_paper::ByPaper;
pub use by_paper::PaperCluster;
pub use found::Campaign;
pub use found::Campaigns;
pub use found::How;
pub use found::Judged;
use found::settle;
use pool::Sums;
use shared::Group;
pub use shared::Key;
use shared::Manner;
use shared::Print;
use shared::Seen;
use shared::Sizes;
use shared::keys;
use shared::tells;

/// What shows only in many sources together.
const TOGETHER: [&str; 4] = [
    "alike_members",
    "divided_pages",
    "no_links",
    "no_page_parts",
];
/// What does not follow from habits of single sources.
const NOT_HABITS: [&str; 6] = [
    "alike_members",
    "divided_pages",
    "no_daily_rhythm",
    "regular_counts",
    "same_every_day",
    "traffic_shape",
];

/// Everything that finding campaigns needs.
#[derive(Debug)]
pub struct Finder<'a> {
    /// All profiles.
    pub tables: &'a [Table],
    /// Where times fall.
    pub clock: &'a Clock,
    /// Totals by window.
    pub sites: &'a BTreeMap<Window, Site>,
    /// What is known beforehand.
    pub knowledge: &'a Knowledge,
    /// The texts of user agents.
    pub agents: &'a AgentIndex,
    /// Thresholds, rules, weights and the model.
    pub settings: &'a Settings,
    /// What campaigns were found by at the judgement before: a little less is enough for these.
    pub before: &'a BTreeSet<Key>,
}

impl Finder<'_> {
    /// Finds all campaigns.
    pub fn find(&self) -> Campaigns {
        let sizes = Sizes::default();
        let seen = self.first_walk(&sizes);
        let clusters = self.clusters(&seen);
        let groups = self.second_walk(&seen, &sizes, &clusters);
        let mut found = Campaigns {
            requests: seen.requests.clone(),
            ..Campaigns::default()
        };
        // In the order of keys: what is found by an agent explains what is found by a habit or a network.
        for (key, group) in groups {
            let nobody = Sums::default();
            let everybody = seen.everybody.get(&key.window).unwrap_or(&nobody);
            self.convict(key, group, everybody, &mut found);
        }
        self.join(&seen, &mut found);
        settle(&mut found);
        for campaign in &mut found.all {
            campaign.systems = self.systems(&campaign.members);
        }
        found
    }

    /// Joins fleets that were found by different agents and are one: they come at the same times, behave alike, and divide the pages
    /// between them.
    fn join(&self, seen: &Seen, found: &mut Campaigns) {
        const JOINED_MAX: usize = 200;
        let mut signs: BTreeMap<usize, Signs> = BTreeMap::new();
        let prints: Vec<Fingerprint> = found
            .all
            .iter()
            .take(JOINED_MAX)
            .map(|campaign| {
                let counts = self.sites[&campaign.window].covered_counts(&campaign.profile);
                let signs = signs
                    .entry(counts.len())
                    .or_insert_with(|| Signs::new(counts.len()));
                Fingerprint::of(&counts, signs)
            })
            .collect();
        let mut into: Vec<usize> = (0..found.all.len()).collect();
        for later in 1..prints.len() {
            let is_one = |earlier: &usize| {
                let (a, b) = (&found.all[*earlier], &found.all[later]);
                // What tells these has nothing to do with agents.
                let alone = [How::Times, How::Login, How::Form, How::Manner];
                if a.window != b.window || alone.contains(&a.how) || alone.contains(&b.how) {
                    return false;
                }
                let likeness = prints[*earlier].likeness(&prints[later]);
                let in_common = a.sums.pages_in_common(&b.sums, &seen.everybody[&a.window]);
                let is_alike = likeness.chance >= Rule::default().chance_min_kin
                    && likeness.alike >= Rule::default().alike_min
                    && a.sums.is_like(&b.sums);
                if !is_alike {
                    return false;
                }
                match a.shared_members(b) {
                    0 => in_common.is_none_or(|share| share < 0.1),
                    // Found twice, by what the same sources have in common: by their agent and by their cookies, say.
                    shared => shared * 10 >= b.members.len() * 8,
                }
            };
            if let Some(earlier) = (0..later).find(|at| into[*at] == *at && is_one(at)) {
                into[later] = earlier;
            }
        }
        self.merge(&into, found);
    }

    /// Adds campaigns to those that they belong to.
    fn merge(&self, into: &[usize], found: &mut Campaigns) {
        let mut slots: Vec<Option<Campaign>> = std::mem::take(&mut found.all)
            .into_iter()
            .map(Some)
            .collect();
        for (at, target) in into.iter().enumerate().filter(|(at, target)| at != *target) {
            if let Some(other) = slots[at].take()
                && let Some(campaign) = &mut slots[*target]
            {
                campaign.absorb(other, self.clock.bins as usize);
            }
        }
        found.all = slots.into_iter().flatten().collect();
    }

    /// The autonomous systems of a campaign's sources.
    fn systems(&self, members: &[Source]) -> Vec<(AutonomousSystem, u32)> {
        let Some(systems) = &self.knowledge.systems else {
            return Vec::new();
        };
        let mut found: BTreeMap<u32, (AutonomousSystem, u32)> = BTreeMap::new();
        for system in members.iter().filter_map(|member| systems.of(*member)) {
            let (_, sources) = found.entry(system.number).or_insert((system, 0));
            *sources += 1;
        }
        let mut found: Vec<(AutonomousSystem, u32)> = found.into_values().collect();
        found.sort_by_key(|(system, sources)| (std::cmp::Reverse(*sources), system.number));
        found
    }

    fn options(&self) -> &CampaignSettings {
        &self.settings.campaigns
    }

    fn first_walk(&self, sizes: &Sizes) -> Seen {
        let signs: BTreeMap<Window, Signs> = self
            .sites
            .iter()
            .filter(|(_, site)| site.covered().len() >= POINTS_MIN)
            .map(|(window, site)| (*window, Signs::new(site.covered().len())))
            .collect();
        let systems = self.knowledge.systems.as_ref();
        // What each table has is added at once and let go: there may be millions of agents.
        let walked = self.tables.par_iter().map(|table| {
            let mut seen = Seen::default();
            table.for_each(self.clock, |source, window, profile| {
                let mut shared = keys(source, window, profile, systems);
                shared.retain(|key| self.may_share(key, profile));
                let telling = shared.iter().filter(|key| tells(key, profile));
                telling.for_each(|key| sizes.add(key));
                seen.count(source, window, profile);
                if let Some(print) = self.print(source, window, profile, &signs) {
                    seen.prints.push(print);
                }
            });
            seen
        });
        let mut whole = walked.reduce(Seen::default, |mut whole, part| {
            whole.absorb(part);
            whole
        });
        // Heaviest first, so that founders of clusters are the ones with least noise.
        whole.prints.sort_unstable_by(|a, b| {
            let by_requests = b.requests.cmp(&a.requests);
            (a.window.cmp(&b.window)).then(by_requests.then(a.source.cmp(&b.source)))
        });
        whole
    }

    fn print(
        &self,
        source: Source,
        window: Window,
        profile: &Profile,
        signs: &BTreeMap<Window, Signs>,
    ) -> Option<Print> {
        if profile.requests < self.options().series_requests_min || profile.is_mixed() {
            return None;
        }
        let is_busy = profile.bins.busy() >= self.options().half_hours_min;
        let signs = signs.get(&window).filter(|_| is_busy)?;
        let counts = self.sites[&window].covered_counts(profile);
        Some(Print {
            window,
            requests: profile.requests,
            source,
            agent: profile.agents.top(),
            print: Fingerprint::of(&counts, signs),
        })
    }

    /// Sources that come at the same times, with the number of their cluster.
    fn clusters(&self, seen: &Seen) -> BTreeMap<(Source, Window), u64> {
        let mut of = BTreeMap::new();
        for part in seen.prints.chunk_by(|a, b| a.window == b.window) {
            let kin: Vec<Option<u64>> = part
                .iter()
                .map(|print| {
                    let agent = print.agent?;
                    // An agent that people use says nothing about who belongs together.
                    let count = seen.agents.get(&(print.window, agent));
                    let is_odd = count.is_none_or(|count| count.people * 20 <= count.sources);
                    is_odd.then_some(u64::from(agent))
                })
                .collect();
            let prints: Vec<&Fingerprint> = part.iter().map(|print| &print.print).collect();
            let mut founders = cluster::cluster(&prints, &kin, Rule::default());
            if self.options().shifted_hours > 0 {
                let band = 2 * self.options().shifted_hours as usize;
                cluster::join_shifted(&prints, &mut founders, band, Rule::default());
            }
            let mut sizes: BTreeMap<u32, usize> = BTreeMap::new();
            for founder in &founders {
                *sizes.entry(*founder).or_default() += 1;
            }
            for (print, founder) in part.iter().zip(founders) {
                if sizes[&founder] >= MEMBERS_MIN {
                    of.insert((print.source, print.window), u64::from(founder));
                }
            }
        }
        of
    }

    /// Adds up all groups that are large enough.
    fn second_walk(
        &self,
        seen: &Seen,
        sizes: &Sizes,
        clusters: &BTreeMap<(Source, Window), u64>,
    ) -> BTreeMap<Key, Group> {
        let bins = self.clock.bins as usize;
        let large = sizes.large(self.options().sources_min);
        let systems = self.knowledge.systems.as_ref();
        // Every part has most groups: as few parts as there are threads.
        let tables = self.tables.len().div_ceil(rayon::current_num_threads());
        let parts: Vec<BTreeMap<Key, Group>> = self
            .tables
            .par_chunks(tables.max(1))
            .map(|tables| {
                let mut groups: BTreeMap<Key, Group> = BTreeMap::new();
                let mut add = |source: Source, window: Window, profile: &Profile| {
                    // Most sources are too light for a fingerprint, and so for a look.
                    let has_print = profile.requests >= self.options().series_requests_min;
                    let cluster = has_print.then(|| clusters.get(&(source, window)));
                    let cluster = cluster.flatten().map(|value| Key {
                        window,
                        how: How::Times,
                        value: *value,
                    });
                    let shared = keys(source, window, profile, systems);
                    let shared = shared.into_iter().filter(|key| {
                        large.contains(key)
                            && !seen.is_of_people(key)
                            && self.may_share(key, profile)
                    });
                    for key in cluster.into_iter().chain(shared) {
                        groups.entry(key).or_default().add(source, profile, bins);
                    }
                };
                for table in tables {
                    table.for_each(self.clock, &mut add);
                }
                groups
            })
            .collect();
        let mut whole: BTreeMap<Key, Group> = BTreeMap::new();
        for (key, group) in parts.into_iter().flatten() {
            whole.entry(key).or_default().absorb(group, bins);
        }
        whole
    }

    /// False for the manner of a text browser: that is no sign of a program.
    fn may_share(&self, key: &Key, profile: &Profile) -> bool {
        if key.how != How::Manner {
            return true;
        }
        let top = profile.agents.top();
        let agent = top.and_then(|agent| self.agents.text(agent));
        !agent.is_some_and(is_text_browser)
    }

    /// Judges a group as one, and keeps it if it crawls.
    fn convict(&self, key: Key, mut group: Group, everybody: &Sums, found: &mut Campaigns) {
        group.members.sort_unstable();
        // A cell may have been shared by several keys.
        let is_small = group.members.len() < self.options().sources_min as usize;
        if key.how != How::Times && is_small {
            return;
        }
        // What text browsers do not load says nothing, however many people use one.
        let agent = key.agent().and_then(|agent| self.agents.text(agent));
        if agent.is_some_and(is_text_browser) || self.is_explained(key, &group, found) {
            return;
        }
        let verdict = self.judge(key, &group, everybody);
        let is_campaign = verdict.class == Class::Crawler && self.is_enough(key, &verdict);
        let shared = self.tell(key, group.members[0]);
        let told = format!("{shared}{}", reason(&verdict));
        found.note(Judged {
            window: key.window,
            how: key.how,
            shared,
            member: group.members[0],
            sources: group.members.len() as u32,
            requests: group.pool.profile.requests,
            pages: group.pool.profile.pages,
            verdict: verdict.clone(),
            is_campaign,
        });
        if is_campaign {
            // The number of a cluster is another cluster's at the next judgement.
            if key.how != How::Times {
                found.keys.insert(key);
            }
            found.add(key, group, verdict, told);
        }
    }

    fn judge(&self, key: Key, group: &Group, everybody: &Sums) -> Verdict {
        let scratch = RefCell::new(Scratch::default());
        let context = Context {
            site: &self.sites[&key.window],
            knowledge: self.knowledge,
            agents: self.agents,
            source: group.members[0],
            sources: group.members.len() as u32,
            days: None,
            model: self.settings.model.as_deref(),
            scratch: &scratch,
            campaign: None,
            was_crawler: false,
        };
        let together = Together {
            evidence: match key.how {
                How::Times => vec![same_times(group)],
                How::Login | How::Form => vec![attack(key.how, group)],
                How::Manner => group.pool.sums.evidence_beside_habits(everybody),
                _ => group.pool.sums.evidence(everybody),
            },
            by_rhythm: key.how == How::Times && self.is_busy_as_a_crowd(key, group),
        };
        judge_group(
            &group.pool.profile,
            &context,
            &self.settings.detectors,
            &self.settings.weights,
            together,
        )
    }

    /// True where sources that come at the same times are there most of the time, as the gateways of a provider are. Single persons come
    /// and go, but not together.
    fn is_busy_as_a_crowd(&self, key: Key, group: &Group) -> bool {
        let covered = self.sites[&key.window].covered().len();
        group.pool.profile.bins.busy() as usize * 2 >= covered
    }

    /// Whether what was found is more than what the group was chosen by.
    fn is_enough(&self, key: Key, verdict: &Verdict) -> bool {
        let stays = match self.before.contains(&key) {
            true => STAY_DECIBANS,
            false => 0.0,
        };
        let decibans_min = self.options().decibans_min - stays;
        let sum = |of: &dyn Fn(&str) -> bool| -> f64 {
            let evidence = verdict.evidence.iter();
            let counted = evidence.filter(|item| of(item.detector));
            counted.map(|item| item.weight).sum()
        };
        match key.how {
            // Times that others do not share are enough to look; the verdict says what they are. A form that many come for and
            // nothing else is an attack.
            How::Times | How::Login | How::Form => true,
            How::Agent | How::Session | How::Network | How::System => {
                verdict.decibans >= decibans_min && sum(&|name| TOGETHER.contains(&name)) > 0.0
            }
            // Who was chosen for dropping cookies cannot be found by that, either.
            How::Cookie => {
                sum(&|name| name != "ignored_cookies") >= decibans_min
                    && sum(&|name| TOGETHER.contains(&name)) > 0.0
            }
            // Who was chosen for following no links cannot be found by that.
            How::Habit => sum(&|name| NOT_HABITS.contains(&name)) >= decibans_min,
            // Strangers who came in one manner have pages in common, and come for few or for many.
            How::Manner => {
                verdict.decibans >= decibans_min
                    && sum(&|name| name == "divided_pages") > 0.0
                    && sum(&|name| name == "alike_members") > 0.0
            }
        }
    }

    /// True for a group whose sources nearly all belong to one campaign already.
    fn is_explained(&self, key: Key, group: &Group, found: &Campaigns) -> bool {
        let mut known: BTreeMap<u32, usize> = BTreeMap::new();
        for member in &group.members {
            if let Some(number) = found.number(*member, key.window) {
                *known.entry(number).or_default() += 1;
            }
        }
        known
            .values()
            .any(|count| count * 10 >= group.members.len() * 8)
    }

    /// What its members share.
    fn tell(&self, key: Key, member: Source) -> String {
        let agent = key.agent().and_then(|agent| self.agents.text(agent));
        let agent = agent.map_or_else(|| "(unknown)".to_owned(), printable);
        match key.how {
            How::Times => "come at the same times".to_owned(),
            How::Login => {
                "send passwords to one log-in form and do hardly anything else".to_owned()
            }
            How::Form => "send one form and do hardly anything else".to_owned(),
            How::Agent => format!("share the agent '{agent}'"),
            How::Habit => format!(
                "use the agent '{agent}' without following links or loading what belongs to pages"
            ),
            How::Manner if key.value == Manner::Bare as u64 => {
                "visit once for a few pages, follow no link between them and load no style sheet, script or image"
                    .to_owned()
            }
            How::Manner => {
                "visit once for a few pages, load style sheets but no image, font or icon, and forge their referrers"
                    .to_owned()
            }
            How::Session => "send the same session cookie".to_owned(),
            How::Cookie => format!(
                "use the agent '{agent}' and drop their session cookie after {} pages or so",
                key.pages_of_session()
            ),
            How::Network => format!("share the network {}", self.network_name(member)),
            How::System => {
                let systems = self.knowledge.systems.as_ref();
                let system = systems.and_then(|systems| systems.of(member));
                let name = system.map_or_else(String::new, |system| system.name);
                format!("share the autonomous system AS{} {name}", key.value)
            }
        }
    }

    fn network_name(&self, member: Source) -> String {
        if let Some(pseudonyms) = &self.settings.pseudonyms {
            return format!("of {}", pseudonyms.name(member));
        }
        let network = member.network().unwrap_or(member).to_string();
        let address = network.split('/').next().unwrap_or_default();
        match member.kind {
            SourceKind::V4 => format!("{address}/24"),
            _ => format!("{address}/48"),
        }
    }
}

/// Times that are nobody else's say something by themselves; people behind the addresses of one provider come at the same times, too, and
/// then their rhythm and their pages speak for them.
fn same_times(group: &Group) -> Evidence {
    let sources = group.members.len();
    Evidence {
        detector: "same_times",
        toward: Toward::Crawler,
        weight: SAME_TIMES_DECIBANS,
        why: format!("{sources} sources come at the same times, which others do not share"),
        values: vec![("sources", sources as f64)],
    }
}

/// What it is worth to come at the same odd times.
const SAME_TIMES_DECIBANS: f64 = 5.0;

/// What a form that many sources came for says of them.
fn attack(how: How, group: &Group) -> Evidence {
    let odd = group.pool.profile.oddities();
    let sources = group.members.len();
    let (detector, why, sent) = match how {
        How::Login => (
            "spread_login",
            format!(
                "{sources} sources sent {} passwords to one log-in form, loaded nothing that belongs to its page and asked for hardly anything else",
                odd.logins
            ),
            odd.logins,
        ),
        _ => (
            "spread_form",
            format!(
                "{sources} sources sent one form {} times, loaded nothing that belongs to its page and asked for hardly anything else",
                odd.posts
            ),
            odd.posts,
        ),
    };
    Evidence {
        detector,
        toward: Toward::Crawler,
        weight: ATTACK_DECIBANS,
        why,
        values: vec![("sources", sources as f64), ("sent", f64::from(sent))],
    }
}

/// What it is worth that ten sources or more come for one form and for nothing else. One person may do so, with a form that was open
/// from the day before.
const ATTACK_DECIBANS: f64 = 18.0;

/// The strongest reason why a group crawls.
fn reason(verdict: &Verdict) -> String {
    let strongest = verdict.evidence.iter().find(|item| item.weight > 0.0);
    strongest.map_or_else(String::new, |item| format!("; together: {}", item.why))
}
