//! Keys of agents that sign their requests: read from a file, or fetched from the agent's directory. Only agents that the owner has listed
//! are ever asked, never on behalf of a request, and never at an address inside.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;
use std::time::Instant;

use cattlegrid_core::networks::Documentation;
use cattlegrid_core::networks::special_purpose;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::resolver::ResolvedSocketAddrs;
use ureq::unversioned::resolver::Resolver;
use ureq::unversioned::transport::DefaultConnector;
use ureq::unversioned::transport::NextTimeout;

use crate::settings::SignedAgent;
use crate::state::Gate;
use crate::state::keyring::Key;
use crate::state::keyring::Keyring;
use crate::state::keyring::read_directory;

/// Where agents have their keys.
const WELL_KNOWN: &str = "/.well-known/http-message-signatures-directory";
const TICK: Duration = Duration::from_millis(300);
/// How often keys are read: a file is near, and a directory that failed is asked again soon.
const FILE_EVERY: Duration = Duration::from_secs(2);
const DIRECTORY_EVERY: Duration = Duration::from_secs(3600);
const RETRY_AFTER: Duration = Duration::from_secs(60);
/// Keys that could not be read again are good for this long.
const KEPT: Duration = Duration::from_secs(86_400);
const DIRECTORY_BYTES_MAX: u64 = 64 * 1024;
const PATIENCE: Duration = Duration::from_secs(3);

struct Known {
    keys: Vec<Key>,
    read: Instant,
    next: Instant,
    error: Option<String>,
}

/// Keeps the keys of listed agents until the gate ends.
pub(crate) fn keep(gate: &Arc<Gate>) {
    let mut known: BTreeMap<String, Known> = BTreeMap::new();
    while !gate.is_ending.load(Ordering::Relaxed) {
        let listed = gate.live.load().setup.crawlers.signed.clone();
        known.retain(|agent, _| listed.iter().any(|listed| listed.agent == *agent));
        for agent in &listed {
            let is_due = |known: &Known| known.next <= Instant::now();
            if known.get(&agent.agent).is_none_or(is_due) {
                let before = known.remove(&agent.agent);
                known.insert(agent.agent.clone(), read(agent, before));
            }
        }
        let keys = known
            .iter()
            .map(|(agent, known)| (agent.clone(), known.keys.clone()));
        let keyring: Keyring = keys.filter(|(_, keys)| !keys.is_empty()).collect();
        if **gate.keyring.load() != keyring {
            gate.keyring.store(Arc::new(keyring));
        }
        thread::sleep(TICK);
    }
}

fn read(agent: &SignedAgent, before: Option<Known>) -> Known {
    let (found, every) = match &agent.keys {
        Some(path) => (
            fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display())),
            FILE_EVERY,
        ),
        None => (fetch(&agent.agent), DIRECTORY_EVERY),
    };
    let now = Instant::now();
    match found.and_then(|text| read_directory(&text)) {
        Ok(keys) => {
            if before.as_ref().is_none_or(|before| before.keys != keys) {
                tracing::info!(
                    agent = agent.agent,
                    keys = keys.len(),
                    "read the keys of a signing agent"
                );
            }
            Known {
                keys,
                read: now,
                next: now + every,
                error: None,
            }
        }
        Err(error) => {
            let is_new = before
                .as_ref()
                .is_none_or(|before| before.error.as_ref() != Some(&error));
            if is_new {
                tracing::warn!(
                    agent = agent.agent,
                    error,
                    "cannot read the keys of a signing agent"
                );
            }
            let kept = before.filter(|before| before.read.elapsed() < KEPT);
            Known {
                read: kept.as_ref().map_or(now, |kept| kept.read),
                keys: kept.map(|kept| kept.keys).unwrap_or_default(),
                next: now + every.min(RETRY_AFTER),
                error: Some(error),
            }
        }
    }
}

/// Fetches a directory: over TLS, from a public address, without redirects, a small one, soon.
fn fetch(agent: &str) -> Result<String, String> {
    let config = ureq::Agent::config_builder()
        .https_only(true)
        .max_redirects(0)
        .timeout_global(Some(PATIENCE))
        // A proxy would look up names itself.
        .proxy(None)
        .build();
    let client =
        ureq::Agent::with_parts(config, DefaultConnector::default(), PublicOnly::default());
    let mut response = client
        .get(format!("{agent}{WELL_KNOWN}"))
        .call()
        .map_err(|error| error.to_string())?;
    if response.status() != 200 {
        return Err(format!("its directory answers with {}", response.status()));
    }
    let body = response.body_mut().with_config();
    let text = body.limit(DIRECTORY_BYTES_MAX).read_to_string();
    text.map_err(|error| error.to_string())
}

/// Looks up names, and knows no address that is not public: a directory must not lead into the owner's network.
#[derive(Debug, Default)]
struct PublicOnly(DefaultResolver);

impl Resolver for PublicOnly {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        // The connection goes to the addresses that were checked; the name is not asked for again.
        let found = self.0.resolve(uri, config, timeout)?;
        let is_inside = |address: &std::net::SocketAddr| {
            let network = address.ip().to_canonical().into();
            special_purpose(network, Documentation::Refused).is_some()
        };
        match found.iter().any(is_inside) {
            true => Err(ureq::Error::Other(
                "its directory is at an address inside".into(),
            )),
            false => Ok(found),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_inside_are_never_asked() {
        for host in [
            "127.0.0.1:1",
            "[::1]:1",
            "10.0.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "[::ffff:127.0.0.1]:1",
            "localhost:1",
            "0.0.0.0:1",
            "192.0.2.1",
        ] {
            let refused = fetch(&format!("https://{host}")).unwrap_err();
            assert!(refused.contains("address inside"), "{host}: {refused}");
        }
        let plain = fetch("http://192.0.2.1").unwrap_err();
        assert!(!plain.is_empty());
    }
}
