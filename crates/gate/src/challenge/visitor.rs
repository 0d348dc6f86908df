//! Who asks, and when: what tokens and cookies are bound to.

use cattlegrid_core::request::Source;
use sha2::Digest;
use sha2::Sha256;

/// Agents are longer only to cost us time; the rest of such a one is not looked at.
const AGENT_BYTES_MAX: usize = 512;

/// A moment by both clocks of the process. Nothing in this module reads a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// Seconds since 1970. Cookies and keys outlive the process, so they need it.
    pub unix: u64,
    /// Milliseconds of a clock that never steps, since any fixed moment of this process. Challenges do not outlive the
    /// process, so a change of the system's clock does not touch them.
    pub steady_ms: u64,
}

/// The sender of one request.
#[derive(Debug, Clone, Copy)]
pub struct Visitor<'a> {
    /// Whom the request counts for.
    pub source: Source,
    /// The `User-Agent` header, empty where there is none.
    pub agent: &'a [u8],
    /// The site's name as the gate's settings or the `Host` header tell it. What is issued for one is void on another.
    pub site: &'a str,
    /// Whether the visitor's browser speaks https, to us or to the server before us.
    pub is_secure: bool,
}

impl Visitor<'_> {
    /// Hash of what stays the same while a person reads one site with one browser.
    ///
    /// The address is not part of it: a browser with IPv4 and IPv6 fetches over one and posts over the other, and phones
    /// change networks between the two. `network` adds it where the owner wants that.
    pub(super) fn binding(&self, network: Option<Source>) -> [u8; 32] {
        let agent = &self.agent[..self.agent.len().min(AGENT_BYTES_MAX)];
        let mut hash = Sha256::new();
        hash.update((self.site.len() as u64).to_be_bytes());
        hash.update(self.site.as_bytes());
        hash.update((agent.len() as u64).to_be_bytes());
        hash.update(agent);
        if let Some(network) = network {
            hash.update([1 + network.kind as u8]);
            hash.update(network.value.to_be_bytes());
        }
        hash.finalize().into()
    }
}
