//! The programs that a deny list can be written for.

/// What a deny list is written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// `deny` lines of nginx.
    NginxDeny,
    /// A `geo` block of nginx that sets a variable.
    NginxMap,
    /// `Require not ip` lines of Apache.
    Apache,
    /// A snippet for a Caddyfile.
    Caddy,
    /// A map file of HAProxy.
    Haproxy,
    /// A table of nftables, with its own rules.
    Nftables,
    /// Sets for `ipset restore`.
    Ipset,
    /// One network a line and nothing else.
    Cidr,
    /// JSON for programs.
    Json,
}

impl Target {
    /// All targets, in the order they are told of.
    pub const ALL: [Target; 9] = [
        Target::NginxDeny,
        Target::NginxMap,
        Target::Apache,
        Target::Caddy,
        Target::Haproxy,
        Target::Nftables,
        Target::Ipset,
        Target::Cidr,
        Target::Json,
    ];

    /// The target of a name.
    pub fn parse(name: &str) -> Option<Target> {
        Target::ALL.into_iter().find(|target| target.name() == name)
    }

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Target::NginxDeny => "nginx-deny",
            Target::NginxMap => "nginx-map",
            Target::Apache => "apache",
            Target::Caddy => "caddy",
            Target::Haproxy => "haproxy",
            Target::Nftables => "nftables",
            Target::Ipset => "ipset",
            Target::Cidr => "cidr",
            Target::Json => "networks",
        }
    }

    /// Whether what is written says when each network is denied no longer. Elsewhere a network is denied until the list
    /// is written anew.
    pub fn has_expiry(self) -> bool {
        match self {
            Target::Nftables | Target::Ipset | Target::Json => true,
            Target::NginxDeny
            | Target::NginxMap
            | Target::Apache
            | Target::Caddy
            | Target::Haproxy
            | Target::Cidr => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Target;

    #[test]
    fn every_name_is_read_back() {
        for target in Target::ALL {
            assert_eq!(Target::parse(target.name()), Some(target));
        }
        assert_eq!(Target::parse("iptables"), None);
    }
}
