//! Forward-confirmed reverse DNS: an address is an operator's where one of its names lies in the operator's domain and leads back to it.

use std::net::IpAddr;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use cattlegrid_core::policy::Looked;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::settings::Resolver;
use crate::settings::defence::Defence;
use crate::settings::defence::Defences;
use crate::site::dns;
use crate::site::dns::Kind;
use crate::site::dns::Record;
use crate::state::Gate;
use crate::state::names::Lookup;
use crate::state::names::STALE;

/// Lookups under way. Each has one query at a time.
const IN_FLIGHT: usize = 64;
/// Names of one address that are followed.
const NAMES_MAX: usize = 8;
/// How long one lookup may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often the thread looks whether the gate ends.
const TICK: Duration = Duration::from_millis(200);

/// Seconds for which answers are good: a name server that failed is asked again soon.
const FAILED: u32 = 60;
const DENIED: u32 = 1800;
const CONFIRMED_MIN: u32 = 300;
/// A name that is looked up again counts a little longer: 24 hours in all.
const CONFIRMED_MAX: u32 = 86_400 - STALE;

/// Looks up addresses until the gate ends.
pub(crate) fn look_up(gate: &Arc<Gate>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    match runtime {
        Ok(runtime) => runtime.block_on(look_up_all(gate)),
        Err(error) => {
            tracing::error!(%error, "robots are not verified by DNS: cannot start the thread")
        }
    }
}

async fn look_up_all(gate: &Arc<Gate>) {
    let Some(mut lookups) = gate.names.lookups() else {
        return;
    };
    let at_once = match defences(gate).has(Defence::Lookups) {
        true => IN_FLIGHT,
        false => Semaphore::MAX_PERMITS,
    };
    let room = Arc::new(Semaphore::new(at_once));
    while !gate.is_ending.load(Ordering::Relaxed) {
        let Ok(Some(lookup)) = timeout(TICK, lookups.recv()).await else {
            continue;
        };
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else {
            return;
        };
        let gate = Arc::clone(gate);
        tokio::spawn(async move {
            let _permit = permit;
            let (looked, seconds) = settled(&gate, &lookup).await;
            let until = gate.clock.now().saturating_add(seconds);
            gate.metrics.looked_up(looked);
            gate.names.settle(&lookup, looked, until);
        });
    }
}

fn defences(gate: &Gate) -> Defences {
    gate.live.load().setup.defences
}

/// What there is to know about an address, and for how many seconds.
async fn settled(gate: &Gate, lookup: &Lookup) -> (Looked, u32) {
    let server = match gate.live.load().setup.crawlers.resolver {
        Resolver::Off => None,
        Resolver::System => dns::system_server(),
        Resolver::At(server) => Some(server),
    };
    let defences = defences(gate);
    let failed = match defences.has(Defence::Lookups) {
        true => FAILED,
        false => 0,
    };
    let Some(server) = server else {
        return (Looked::Unknown, failed);
    };
    let confirmed = confirm(server, lookup, &defences);
    match timeout(PATIENCE, confirmed).await {
        Ok(Ok(Some(ttl))) => (Looked::Confirmed, ttl.clamp(CONFIRMED_MIN, CONFIRMED_MAX)),
        Ok(Ok(None)) => (Looked::Denied, DENIED),
        Ok(Err(dns::Failed::Server)) | Err(_) => (Looked::Unknown, failed),
    }
}

/// For how long an address is confirmed, or that it is not.
async fn confirm(
    server: SocketAddr,
    lookup: &Lookup,
    defences: &Defences,
) -> Result<Option<u32>, dns::Failed> {
    let address = lookup.address;
    let reverse = dns::ask(server, &dns::reverse_name(address), Kind::Ptr).await?;
    let names = reverse.records.iter().filter_map(|record| match record {
        Record::Name(name) => Some(name),
        Record::Address(_) => None,
    });
    let lies_in = |name: &str, domain: &str| match defences.has(Defence::WholeLabels) {
        true => dns::lies_in(name, domain),
        false => name.ends_with(domain),
    };
    let domains = &lookup.domains;
    let is_own = |name: &&String| domains.iter().any(|domain| lies_in(name, domain));
    let kind = match address {
        IpAddr::V4(_) => Kind::A,
        IpAddr::V6(_) => Kind::Aaaa,
    };
    let mut failed = None;
    for name in names.filter(is_own).take(NAMES_MAX) {
        if !defences.has(Defence::ForwardDns) {
            return Ok(Some(reverse.ttl));
        }
        match dns::ask(server, name, kind).await {
            Ok(forward) if forward.records.contains(&Record::Address(address)) => {
                return Ok(Some(reverse.ttl.min(forward.ttl)));
            }
            Ok(_) => {}
            Err(error) => failed = Some(error),
        }
    }
    // One of its names may have been the right one.
    failed.map_or(Ok(None), Err)
}
