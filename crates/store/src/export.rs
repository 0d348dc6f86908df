//! Deny lists for servers and firewalls: the fewest networks that hold what is denied, written as each program reads them.
//!
//! [`current`] leaves out what has expired, [`aggregate`] makes few networks of many, [`write`] writes them for a
//! [`Target`].

use ipnet::IpNet;

mod aggregate;
mod target;
mod trie;
mod write;

pub use aggregate::Aggregated;
pub use aggregate::Expiry;
pub use aggregate::aggregate;
pub use target::Target;
pub use write::write;

/// A network that is denied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Denied {
    /// The network; bits after its prefix are ignored.
    pub network: IpNet,
    /// When it is denied no longer, in seconds since 1970; `None` is never.
    pub until: Option<u32>,
}

/// The networks still denied at `now`, in seconds since 1970.
///
/// An aggregated network does not remember which of its parts had expired before, so this comes first.
pub fn current(denied: &[Denied], now: u32) -> Vec<Denied> {
    denied
        .iter()
        .filter(|denied| denied.until.is_none_or(|until| now < until))
        .copied()
        .collect()
}
