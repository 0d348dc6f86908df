//! A rehearsed containment as text and JSON: what limits would have cost people and stopped of crawlers.

use std::fmt::Write as _;
use std::io;
use std::io::Write;

use cattlegrid_core::rehearsal::Fate;
use cattlegrid_core::rehearsal::K1;
use cattlegrid_core::rehearsal::K2;
use cattlegrid_core::rehearsal::Plan;
use cattlegrid_core::rehearsal::Stability;
use cattlegrid_core::rehearsal::Volumes;
use cattlegrid_core::report::Band;
use serde_json::Value;
use serde_json::json;

use crate::json::rounded;
use crate::words::count;
use crate::words::share;
use crate::words::write_text_of;

/// Table 9 of the paper, in percent of all requests.
pub(crate) const PAPER: [[f64; 6]; 6] = [
    [1.49, 2.95, 3.75, 4.82, 6.27, 7.88],
    [1.20, 2.66, 3.46, 4.53, 5.98, 7.58],
    [0.99, 2.44, 3.24, 4.32, 5.77, 7.37],
    [0.81, 2.27, 3.07, 4.14, 5.59, 7.19],
    [0.37, 1.83, 2.63, 3.70, 5.15, 6.75],
    [0.00, 1.46, 2.26, 3.33, 4.78, 6.38],
];
/// Volumes at which distributions are shown.
pub(crate) const VOLUMES: [u32; 19] = [
    1,
    2,
    3,
    5,
    10,
    15,
    20,
    25,
    50,
    100,
    200,
    500,
    1000,
    2000,
    5000,
    10_000,
    100_000,
    1_000_000,
    u32::MAX,
];
/// Addresses of an attacker.
const ADDRESSES: [u64; 5] = [1, 10, 100, 1000, 10_000];

/// Those who are people.
pub(crate) const PEOPLE: [Band; 1] = [Band::People];
/// Those who may be: most visitors ask for too few pages to be judged.
const MAYBE: [Band; 2] = [Band::People, Band::Undecided];
/// Those whom nobody asked to come.
pub(crate) const CRAWLERS: [Band; 2] = [Band::Unauthorized, Band::Masquerading];

/// Writes a plan for people.
pub fn write_plan(plan: &Plan, out: &mut impl Write) -> io::Result<()> {
    write_text_of(out, |page| text(plan, page))
}

fn text(plan: &Plan, page: &mut String) -> std::fmt::Result {
    let (sources, requests) = plan.requests.all(&Band::ALL);
    writeln!(
        page,
        "Containment, rehearsed on {} days: {} requests of {} sources (each counted once a day)\n",
        plan.days,
        count(requests),
        count(sources)
    )?;
    advice(plan, page)?;
    writeln!(
        page,
        "Requests (%) of sources that send more than k1 and at most k2 requests a day; below, the paper's (PubCrawl, Table 9)"
    )?;
    grid(page, |k1, k2| {
        100.0 * plan.requests.share_of_requests(&Band::ALL, k1, k2)
    })?;
    paper(page)?;
    writeln!(page, "\nSources (%) between k1 and k2 (Figure 6)")?;
    grid(page, |k1, k2| {
        100.0 * plan.requests.share_of_sources(&Band::ALL, k1, k2)
    })?;
    distribution(plan, page)?;
    writeln!(
        page,
        "\nBy pages, as the gate counts: people (%) who ask for more than k1 pages on a day, the same of all who may be people (few pages tell too little to decide), and people's pages (%) between k1 and k2"
    )?;
    people(&plan.pages, page)?;
    fates(plan, page)?;
    stability(plan, page)?;
    attacker(plan, page)
}

fn advice(plan: &Plan, page: &mut String) -> std::fmt::Result {
    let advice = plan.advice;
    writeln!(
        page,
        "Advice for this site: k1 = {}, k2 = {}. On a day {:.3} % of those who may be people ask for more than k1 pages, and {:.1} % of their pages would have been challenged.",
        advice.k1,
        advice.k2,
        100.0 * advice.touched,
        100.0 * advice.challenged
    )?;
    let what = match advice.is_kept() {
        true => {
            "It is the smallest k1 with at most 0.1 % of them, and the largest k2 up to 1,000 with at most 5 % of their pages.\n"
        }
        false => {
            "No limits of the table keep these below 0.1 % and 5 %: people are among the heavy visitors here. Look at the heaviest of them ('cattlegrid analyze') and allow shared addresses before you enforce limits.\n"
        }
    };
    writeln!(page, "{what}")
}

fn head(page: &mut String) -> std::fmt::Result {
    write!(page, "  k1\\k2 ")?;
    for k2 in K2 {
        write!(page, "{k2:>8}")?;
    }
    writeln!(page)
}

fn grid(page: &mut String, value: impl Fn(u32, u32) -> f64) -> std::fmt::Result {
    head(page)?;
    for k1 in K1 {
        write!(page, "  {k1:>5} ")?;
        for k2 in K2 {
            let value = value(k1, k2);
            match value {
                value if value > 0.0 && value < 0.005 => write!(page, "{value:>8.4}")?,
                value => write!(page, "{value:>8.2}")?,
            }
        }
        writeln!(page)?;
    }
    Ok(())
}

fn paper(page: &mut String) -> std::fmt::Result {
    writeln!(page, "  the paper")?;
    for (k1, row) in K1.into_iter().zip(PAPER) {
        write!(page, "  {k1:>5} ")?;
        row.iter()
            .try_for_each(|value| write!(page, "{value:>8.2}"))?;
        writeln!(page)?;
    }
    Ok(())
}

fn distribution(plan: &Plan, page: &mut String) -> std::fmt::Result {
    writeln!(
        page,
        "\nUp to so many requests a day: sources (%, Figure 6), and all that they send (%, Figure 7)"
    )?;
    for (volume, sources, requests) in plan.requests.distribution(&Band::ALL, &VOLUMES) {
        let volume = match volume {
            u32::MAX => "any".to_owned(),
            volume => count(u64::from(volume)),
        };
        writeln!(
            page,
            "  {volume:>9}  {:>8.3}  {:>7.2}",
            100.0 * sources,
            100.0 * requests
        )?;
    }
    Ok(())
}

fn people(pages: &Volumes, page: &mut String) -> std::fmt::Result {
    write!(page, "  k1\\k2   people  may be")?;
    for k2 in K2 {
        write!(page, "{k2:>8}")?;
    }
    writeln!(page)?;
    for k1 in K1 {
        let touched = 100.0 * pages.share_of_sources(&PEOPLE, k1, u32::MAX);
        let maybe = 100.0 * pages.share_of_sources(&MAYBE, k1, u32::MAX);
        write!(page, "  {k1:>5} {touched:>8.3}{maybe:>8.3}")?;
        for k2 in K2 {
            let value = 100.0 * pages.share_of_requests(&PEOPLE, k1, k2);
            write!(page, "{value:>8.2}")?;
        }
        writeln!(page)?;
    }
    Ok(())
}

fn fates(plan: &Plan, page: &mut String) -> std::fmt::Result {
    writeln!(
        page,
        "\nThe whole policy with k1 = {}, k2 = {}: people solve challenges, nobody else does; above k2 the verdicts of this log are known a second later; robots with a proof pass",
        plan.limits.k1, plan.limits.k2
    )?;
    writeln!(
        page,
        "  {:34}{:>10}{:>12}{:>12}{:>9}{:>11}{:>11}{:>9}",
        "", "sources", "challenged", "pages", "passed", "held", "blocked", "solved"
    )?;
    for band in Band::ALL {
        let fate = plan.fates[band as usize];
        if fate.sources == 0 {
            continue;
        }
        writeln!(
            page,
            "  {:34}{:>10}{:>12}{:>12}{:>9}{:>11}{:>11}{:>9}",
            band.name(),
            count(fate.sources),
            count(fate.challenged),
            count(fate.pages),
            share(fate.passed, fate.pages),
            count(fate.held),
            count(fate.blocked),
            count(fate.solved)
        )?;
    }
    if !plan.stopped.is_empty() {
        writeln!(
            page,
            "  neither people nor crawlers for sure, and would have lost pages: allow those you want ('cattlegrid kb allow')"
        )?;
    }
    for (source, band, pages) in plan.stopped.iter().take(10) {
        writeln!(
            page,
            "    {source} ({}): {} pages",
            band.name(),
            count(u64::from(*pages))
        )?;
    }
    Ok(())
}

fn stability(plan: &Plan, page: &mut String) -> std::fmt::Result {
    let Some([people, crawlers]) = plan.stability else {
        return Ok(());
    };
    let told = |found: Stability| match found.heavy {
        0 => "none".to_owned(),
        heavy => format!("{} of {}", share(found.stay, heavy), count(heavy)),
    };
    writeln!(
        page,
        "\nHeavy sources (over 1,000 requests on a day) of the first half of the log that are heavy in the second: people {}, crawlers {} (the paper, a month apart: 81.8 % and 66.9 %)",
        told(people),
        told(crawlers)
    )
}

fn attacker(plan: &Plan, page: &mut String) -> std::fmt::Result {
    writeln!(
        page,
        "\nPages a day that an attacker gets who solves no challenge, with so many addresses: each in a network of its own; all in networks of 256; as a campaign that is watched"
    )?;
    for addresses in ADDRESSES {
        let [alone, together, watched] = taken(plan, addresses);
        writeln!(
            page,
            "  {:>6}  {:>9}  {:>9}  {:>4}",
            count(addresses),
            count(alone),
            count(together),
            count(watched)
        )?;
    }
    Ok(())
}

/// Pages a day of an attacker with so many addresses.
fn taken(plan: &Plan, addresses: u64) -> [u64; 3] {
    let limits = &plan.limits;
    let k1 = u64::from(limits.k1);
    let networks = addresses.div_ceil(256);
    [
        addresses * k1,
        (addresses * k1).min(networks * u64::from(limits.network_pages)),
        k1,
    ]
}

/// Writes a plan for programs.
pub fn write_plan_json(plan: &Plan, out: &mut impl Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &value(plan))?;
    writeln!(out)
}

fn value(plan: &Plan) -> Value {
    let (sources, requests) = plan.requests.all(&Band::ALL);
    let advice = plan.advice;
    let fates: serde_json::Map<String, Value> = Band::ALL
        .into_iter()
        .map(|band| (band.key().to_owned(), fate(plan.fates[band as usize])))
        .collect();
    json!({
        "schema": "cattlegrid/plan/1",
        "days": plan.days,
        "requests": requests,
        "source_days": sources,
        "k1": plan.limits.k1,
        "k2": plan.limits.k2,
        "table_9": cells(|k1, k2| plan.requests.share_of_requests(&Band::ALL, k1, k2)),
        "sources_between": cells(|k1, k2| plan.requests.share_of_sources(&Band::ALL, k1, k2)),
        "peoples_pages_between": cells(|k1, k2| plan.pages.share_of_requests(&PEOPLE, k1, k2)),
        "people_above": K1.map(|k1| json!({
            "k1": k1,
            "people": rounded(plan.pages.share_of_sources(&PEOPLE, k1, u32::MAX)),
            "may_be_people": rounded(plan.pages.share_of_sources(&MAYBE, k1, u32::MAX)),
        })),
        "distribution": plan.requests.distribution(&Band::ALL, &VOLUMES).into_iter().map(|(volume, sources, requests)| json!({
            "requests_a_day": (volume != u32::MAX).then_some(volume),
            "sources": rounded(sources),
            "requests": rounded(requests),
        })).collect::<Vec<_>>(),
        "fates": fates,
        "stability": plan.stability.map(|[people, crawlers]| json!({
            "people": { "heavy": people.heavy, "stay": people.stay },
            "crawlers": { "heavy": crawlers.heavy, "stay": crawlers.stay },
        })),
        "attacker": ADDRESSES.map(|addresses| {
            let [alone, together, watched] = taken(plan, addresses);
            json!({ "addresses": addresses, "pages_alone": alone, "pages_in_networks": together, "pages_watched": watched })
        }),
        "stopped": plan.stopped.iter().map(|(source, band, pages)| json!({
            "source": source.to_string(), "band": band.key(), "pages": pages,
        })).collect::<Vec<_>>(),
        "advice": {
            "k1": advice.k1,
            "k2": advice.k2,
            "may_be_people_above_k1": rounded(advice.touched),
            "pages_challenged": rounded(advice.challenged),
            "is_kept": advice.is_kept(),
        },
        "forgotten": plan.forgotten,
    })
}

fn cells(value: impl Fn(u32, u32) -> f64) -> Vec<Value> {
    K1.into_iter()
        .flat_map(|k1| K2.map(|k2| (k1, k2)))
        .map(|(k1, k2)| json!({ "k1": k1, "k2": k2, "share": rounded(value(k1, k2)) }))
        .collect()
}

fn fate(fate: Fate) -> Value {
    json!({
        "sources": fate.sources,
        "challenged": fate.challenged,
        "refused": fate.refused,
        "pages": fate.pages,
        "passed": fate.passed,
        "held": fate.held,
        "blocked": fate.blocked,
        "solved": fate.solved,
    })
}
