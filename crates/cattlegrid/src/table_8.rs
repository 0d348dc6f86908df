//! Table 8 of the PubCrawl paper: campaigns of a world, and how many of their sources are found together.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fmt::Write as _;

use cattlegrid_learn::cluster::MEMBERS_MIN;
use serde_json::Value;
use serde_json::json;

/// A row of the paper: campaign, clusters, class-C networks, addresses, requests a day (not given for Feedfetcher).
type PaperRow = (&'static str, u32, u32, u32, Option<u32>);

const PAPER: [PaperRow; 17] = [
    ("Bingbot", 5, 11, 211, Some(6_000_000)),
    ("Googlebot", 5, 2, 42, Some(4_000_000)),
    ("Feedfetcher", 4, 4, 65, None),
    ("Yahoo Slurp", 4, 9, 71, Some(500_000)),
    ("Baiduspider", 1, 1, 23, Some(50_000)),
    ("Voilabot", 3, 3, 20, Some(19_000)),
    ("facebookexternalhit", 1, 1, 8, Some(14_000)),
    ("empty agent", 2, 16, 22, Some(330_000)),
    ("Python-urllib", 2, 51, 54, Some(140_000)),
    ("ICS", 1, 10, 10, Some(70_000)),
    ("EventMachine", 1, 3, 3, Some(3_000)),
    ("Gogospider", 1, 2, 3, Some(2_000)),
    ("Gecko/200805906", 1, 10, 73, Some(350_000)),
    ("Gecko/20100101", 9, 12, 25, Some(60_000)),
    ("TencentTraveler", 1, 1, 30, Some(7_000)),
    ("Mac OS X", 1, 1, 4, Some(8_000)),
    ("false googlebot", 1, 1, 4, Some(1_000)),
];

/// A member of a campaign, as the world has it.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    /// The campaign with the number of the schedule: `Bingbot 2`.
    pub(crate) campaign: String,
    /// Its /24 or /48.
    pub(crate) network: u64,
    /// Requests on an average day.
    pub(crate) daily: f64,
}

/// The name of a campaign without the number of its schedule.
fn name(campaign: &str) -> &str {
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    match campaign.rsplit_once(' ') {
        Some((name, number)) if is_number(number) => name,
        _ => campaign,
    }
}

/// What one campaign has, and what was found of it.
#[derive(Debug, Clone, Default)]
struct Row {
    schedules: BTreeSet<(usize, String)>,
    networks: BTreeSet<(usize, u64)>,
    addresses: usize,
    daily: f64,
    found_clusters: usize,
    found_addresses: usize,
}

/// Campaigns over all worlds.
#[derive(Debug, Default)]
pub(crate) struct Table8 {
    rows: BTreeMap<String, Row>,
    worlds: usize,
}

impl Table8 {
    /// Adds a world: everybody whose times were compared, and the number of the cluster that each was put into.
    pub(crate) fn add(&mut self, members: &[Option<Member>], clusters: &[u32]) {
        let world = self.worlds;
        self.worlds += 1;
        let mut by_cluster: BTreeMap<u32, Vec<Option<&str>>> = BTreeMap::new();
        for (member, cluster) in members.iter().zip(clusters) {
            let campaign = member.as_ref().map(|member| name(&member.campaign));
            by_cluster.entry(*cluster).or_default().push(campaign);
        }
        for member in members.iter().flatten() {
            let row = self.rows.entry(name(&member.campaign).to_owned());
            let row = row.or_default();
            row.schedules.insert((world, member.campaign.clone()));
            row.networks.insert((world, member.network));
            row.addresses += 1;
            row.daily += member.daily;
        }
        for names in by_cluster
            .values()
            .filter(|names| names.len() >= MEMBERS_MIN)
        {
            // A cluster is the campaign's that more than half of its members belong to.
            for (campaign, row) in &mut self.rows {
                let own = names
                    .iter()
                    .filter(|name| **name == Some(campaign.as_str()))
                    .count();
                if own * 2 > names.len() {
                    row.found_clusters += 1;
                    row.found_addresses += own;
                }
            }
        }
    }

    pub(crate) fn text(&self, page: &mut String) -> std::fmt::Result {
        writeln!(
            page,
            "\nCampaigns (Table 8), mean of {} worlds or windows: schedules, networks, addresses and requests a day as they are; clusters and addresses found by our \
             rule with agents; the paper's clusters, networks, addresses and requests a day",
            self.worlds
        )?;
        writeln!(
            page,
            "  {:<20}{:>10}{:>7}{:>11}{:>14} |{:>9}{:>11}{:>8} |{:>9}{:>7}{:>11}{:>14}",
            "",
            "schedules",
            "/24",
            "addresses",
            "requests/day",
            "clusters",
            "addresses",
            "%",
            "clusters",
            "/24",
            "addresses",
            "requests/day"
        )?;
        let mean = |count: usize| count as f64 / self.worlds.max(1) as f64;
        for (campaign, row) in self.sorted() {
            write!(
                page,
                "  {campaign:<20}{:>10.1}{:>7.1}{:>11.1}{:>14.0} |{:>9.1}{:>11.1}{:>8.1} |",
                mean(row.schedules.len()),
                mean(row.networks.len()),
                mean(row.addresses),
                row.daily / self.worlds.max(1) as f64,
                mean(row.found_clusters),
                mean(row.found_addresses),
                100.0 * row.found_addresses as f64 / row.addresses.max(1) as f64
            )?;
            match PAPER.iter().find(|paper| paper.0 == campaign) {
                Some((_, clusters, networks, addresses, daily)) => {
                    let daily = daily.map_or_else(|| "-".to_owned(), |daily| daily.to_string());
                    writeln!(page, "{clusters:>9}{networks:>7}{addresses:>11}{daily:>14}")?;
                }
                None => writeln!(page)?,
            }
        }
        Ok(())
    }

    /// In the paper's order, others after that.
    fn sorted(&self) -> Vec<(&str, &Row)> {
        let mut rows: Vec<(&str, &Row)> = self
            .rows
            .iter()
            .map(|(campaign, row)| (campaign.as_str(), row))
            .collect();
        let place = |campaign: &str| {
            let at = PAPER.iter().position(|paper| paper.0 == campaign);
            at.unwrap_or(PAPER.len())
        };
        rows.sort_by_key(|(campaign, _)| place(campaign));
        rows
    }

    pub(crate) fn json(&self) -> Value {
        let row = |(campaign, row): (&str, &Row)| json!({ "campaign": campaign, "worlds": self.worlds, "schedules": row.schedules.len(), "networks": row.networks.len(), "addresses": row.addresses, "requests_per_day": row.daily.round(), "found_clusters": row.found_clusters, "found_addresses": row.found_addresses });
        Value::Array(self.sorted().into_iter().map(row).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_counts_for_the_campaign_of_most_of_its_members() {
        let member = |campaign: &str, network: u64| {
            Some(Member {
                campaign: campaign.to_owned(),
                network,
                daily: 10.0,
            })
        };
        let members = [
            member("Bingbot 1", 1),
            member("Bingbot 1", 1),
            member("Bingbot 2", 300),
            None,
            member("ICS 1", 4),
        ];
        let mut table = Table8::default();
        table.add(&members, &[0, 0, 0, 0, 9]);
        let bingbot = &table.rows["Bingbot"];
        assert_eq!((bingbot.schedules.len(), bingbot.networks.len()), (2, 2));
        assert_eq!((bingbot.found_clusters, bingbot.found_addresses), (1, 3));
        assert_eq!(table.rows["ICS"].found_addresses, 0);
    }
}
