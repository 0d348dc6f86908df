//! The robots.txt of sites, fetched now and then, with what the owner wants for robots.
//!
//! A site that says it has none gets a file of the owner's wishes. Of one that fails, the last good file stays; where there never was one, clients
//! get the site's own response, which robots read as "not now".

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;
use std::time::Instant;

use cattlegrid_core::policy::ROBOTS_TXT_MAX;
use cattlegrid_core::policy::forbid;

use crate::challenge::TRAP_FOLDER;
use crate::settings::Address;
use crate::settings::RobotsTxt;
use crate::settings::Site;
use crate::settings::TrapLinks;
use crate::state::Gate;

const TICK: Duration = Duration::from_millis(500);
/// How often a site is asked, and sooner after it has failed.
const EVERY: Duration = Duration::from_secs(300);
const RETRY_AFTER: Duration = Duration::from_secs(10);
const PATIENCE: Duration = Duration::from_secs(5);

struct Known {
    text: Option<String>,
    next: Instant,
}

/// Keeps the files of all sites until the gate ends.
pub(crate) fn keep(gate: &Arc<Gate>) {
    let mut known: BTreeMap<String, Known> = BTreeMap::new();
    while !gate.is_ending.load(Ordering::Relaxed) {
        thread::sleep(TICK);
        let live = gate.live.load();
        if live.setup.crawlers.robots_txt == RobotsTxt::Site {
            continue;
        }
        let sites = &live.setup.sites;
        known.retain(|key, _| sites.iter().any(|site| site.key() == *key));
        for site in sites {
            let key = site.key();
            let is_due = |known: &Known| known.next <= Instant::now();
            if known.get(&key).is_none_or(is_due) {
                let before = known.remove(&key).and_then(|known| known.text);
                known.insert(key, ask(site, before));
            }
        }
        let folder = format!("{}{TRAP_FOLDER}", live.setup.prefix);
        let texts = known.iter().filter_map(|(key, known)| {
            let text = known.text.as_deref()?;
            let merged = live.crawlers.robots_txt(text);
            Some((
                key.clone(),
                match live.setup.traps.links {
                    TrapLinks::Never => merged,
                    TrapLinks::Merged | TrapLinks::Always => forbid(&merged, &folder),
                },
            ))
        });
        let texts: BTreeMap<String, String> = texts.collect();
        if **gate.robots_txt.load() != texts {
            gate.robots_txt.store(Arc::new(texts));
        }
    }
}

fn ask(site: &Site, before: Option<String>) -> Known {
    let now = Instant::now();
    match fetch(site) {
        Ok(text) => Known {
            text: Some(text),
            next: now + EVERY,
        },
        Err(error) => {
            tracing::warn!(
                site = site.hosts.join(" "),
                error,
                "cannot read the site's robots.txt; the last one stays"
            );
            Known {
                text: before,
                next: now + RETRY_AFTER,
            }
        }
    }
}

/// The site's file; empty where it says that it has none (RFC 9309, 2.3.1.3).
fn fetch(site: &Site) -> Result<String, String> {
    let address = match &site.upstream {
        Some(Address::Tcp(address)) => address.to_string(),
        Some(Address::Name(name)) => name.clone(),
        Some(Address::Unix(_)) | None => return Err("it is not reached over TCP".to_owned()),
    };
    let config = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .timeout_global(Some(PATIENCE))
        .proxy(None)
        .build();
    let client = ureq::Agent::new_with_config(config);
    let mut request = client.get(format!("http://{address}/robots.txt"));
    let named = site.hosts.iter().find(|host| *host != "*");
    if let Some(host) = named {
        request = request.header("host", host);
    }
    let mut response = request.call().map_err(|error| error.to_string())?;
    match response.status().as_u16() {
        200 => {
            let body = response.body_mut().with_config();
            let text = body.limit(ROBOTS_TXT_MAX as u64).read_to_string();
            text.map_err(|error| error.to_string())
        }
        400..500 => Ok(String::new()),
        status => Err(format!("it answers with {status}")),
    }
}
