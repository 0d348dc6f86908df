//! Networks that nobody denies without meaning it: everything, ourselves, our proxies, search engines.

use cattlegrid_core::networks::network;
use cattlegrid_core::policy::Action;
use ipnet::IpNet;

use crate::lists;

/// Networks of one's own house, where proxies and monitors stand.
const PRIVATE: [(&str, &str); 10] = [
    ("127.0.0.0/8", "this machine itself"),
    ("::1/128", "this machine itself"),
    ("::/64", "this machine itself"),
    (
        "10.0.0.0/8",
        "a private network, where your own proxies may stand",
    ),
    (
        "172.16.0.0/12",
        "a private network, where your own proxies may stand",
    ),
    (
        "192.168.0.0/16",
        "a private network, where your own proxies may stand",
    ),
    (
        "169.254.0.0/16",
        "a private network, where your own proxies may stand",
    ),
    (
        "fc00::/7",
        "a private network, where your own proxies may stand",
    ),
    (
        "fe80::/10",
        "a private network, where your own proxies may stand",
    ),
    (
        "100.64.0.0/10",
        "addresses that providers share among their customers",
    ),
];

/// Nobody denies or allows more than this at once without meaning it.
const PREFIX_V4_MIN: u8 = 8;
const PREFIX_V6_MIN: u8 = 20;

/// Networks that nobody denies without meaning it, with what they are; proxies are added to them.
pub(crate) fn protected(proxies: &[String]) -> anyhow::Result<Vec<(IpNet, String)>> {
    Ok(Protected::load(proxies)?.0)
}

/// Networks with what they are.
pub(super) struct Protected(pub(super) Vec<(IpNet, String)>);

impl Protected {
    /// What is known beforehand, and the owner's proxies.
    pub(super) fn load(proxies: &[String]) -> anyhow::Result<Protected> {
        let mut all = Vec::new();
        for (text, what) in PRIVATE {
            all.push((own(text)?, what.to_owned()));
        }
        for text in proxies {
            all.push((own(text)?, "one of your proxies".to_owned()));
        }
        let knowledge = lists::knowledge(lists::default_folder().as_deref())?;
        let engines = knowledge.operators.iter();
        for operator in engines.filter(|operator| operator.is_search_engine()) {
            let what = format!(
                "{}: without it your site leaves that search engine",
                operator.name
            );
            all.extend(operator.list().map(|network| (network, what.clone())));
        }
        Ok(Protected(all))
    }

    /// Why somebody may not mean to say this of a network.
    pub(super) fn objection(&self, wanted: IpNet, action: Action) -> Option<String> {
        let min = match wanted {
            IpNet::V4(_) => PREFIX_V4_MIN,
            IpNet::V6(_) => PREFIX_V6_MIN,
        };
        if wanted.prefix_len() < min {
            return Some("is a large part of all addresses there are".to_owned());
        }
        if action != Action::Deny {
            return None;
        }
        let touches = |network: &IpNet| network.contains(&wanted) || wanted.contains(network);
        let found = self.0.iter().find(|(network, _)| touches(network));
        found.map(|(network, what)| format!("touches {network} ({what})"))
    }
}

fn own(text: &str) -> anyhow::Result<IpNet> {
    network(text).map_err(anyhow::Error::msg)
}
