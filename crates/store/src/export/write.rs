//! Deny lists as each program reads them. An empty list is a valid file that denies nobody.

use std::io;
use std::io::BufWriter;
use std::io::Write;

use ipnet::IpNet;
use jiff::Timestamp;

use super::Denied;
use super::Target;
use super::aggregate::Expiry;
use super::aggregate::disjoint;
use super::current;

/// The longest timeout that ipset takes, in seconds: 24 days.
const IPSET_TIMEOUT_MAX: u32 = 2_147_483;

/// Networks on one line for Apache. It starts in a time that grows with the square of the lines (1.6 s for 20,000, two
/// minutes were not enough for 200,000; with a hundred to a line, 0.3 s), and older ones read no line over 8 KiB.
const APACHE_PER_LINE: usize = 100;

const NGINX_DENY: &[&str] = &[
    "Include it in http, server or location (a location with deny or allow lines of its own needs it again):",
    "    include /etc/nginx/cattlegrid-deny.conf;",
    "Check and load: nginx -t && nginx -s reload",
    "nginx tries these lines one after the other; for more than a thousand use the target nginx-map.",
];
const NGINX_MAP: &[&str] = &[
    "Include it in http, and ask for the variable in each server:",
    "    include /etc/nginx/cattlegrid-map.conf;",
    "    if ($cattlegrid_denied) { return 403; }",
    "Check and load: nginx -t && nginx -s reload",
];
const APACHE: &[&str] = &[
    "Include it for the whole site. Without AuthMerging it would open what other sections close:",
    "    <Location \"/\">",
    "        AuthMerging And",
    "        Include /etc/apache2/cattlegrid-deny.conf",
    "    </Location>",
    "Check and load: apachectl configtest && apachectl graceful",
];
const CADDY: &[&str] = &[
    "Import the file at the top of the Caddyfile, and the snippet first in each site, and in each handle and route there:",
    "    import /etc/caddy/cattlegrid.caddy",
    "    example.org { import cattlegrid … }",
    "Check and load: caddy validate && caddy reload. Behind a proxy write client_ip for remote_ip (Caddy 2.7).",
];
const HAPROXY: &[&str] = &[
    "Ask for it in each frontend:",
    "    http-request deny deny_status 403 if { src,map_ip(/etc/haproxy/cattlegrid.map) -m found }",
    "Check and load: haproxy -c -f /etc/haproxy/haproxy.cfg && systemctl reload haproxy",
];
const NFTABLES: &[&str] = &[
    "It is a table of its own, with its rules. Loading it replaces the old one in one step:",
    "    nft -f cattlegrid.nft",
    "To load it at boot: include \"/etc/cattlegrid.nft\" in /etc/nftables.conf",
    "To take it out: nft delete table inet cattlegrid",
];
const IPSET: &[&str] = &[
    "Loading it replaces the old sets in one step: ipset restore < cattlegrid.ipset",
    "Once, the rules that use them:",
    "    iptables  -I INPUT -p tcp -m multiport --dports 80,443 -m set --match-set cattlegrid4 src -j DROP",
    "    ip6tables -I INPUT -p tcp -m multiport --dports 80,443 -m set --match-set cattlegrid6 src -j DROP",
];

/// Writes a list for a target, as of `now` in seconds since 1970: without what has expired, in order and without
/// overlaps, whatever the order given.
pub fn write(
    target: Target,
    denied: &[Denied],
    now: u32,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let expiry = Expiry::of(target);
    let denied: Vec<Denied> = disjoint(&current(denied, now), expiry)
        .into_iter()
        .flat_map(in_halves)
        .collect();
    let mut out = BufWriter::new(out);
    let text = &mut out;
    match target {
        Target::NginxDeny => nginx_deny(text, &denied, now)?,
        Target::NginxMap => nginx_map(text, &denied, now)?,
        Target::Apache => apache(text, &denied, now)?,
        Target::Caddy => caddy(text, &denied, now)?,
        Target::Haproxy => haproxy(text, &denied, now)?,
        Target::Nftables => nftables(text, &denied, now)?,
        Target::Ipset => ipset(text, &denied, now)?,
        Target::Cidr => lines(text, "", &denied, "")?,
        Target::Json => json(text, &denied, now)?,
    }
    out.flush()
}

/// A network of all addresses as two: Apache and ipset refuse a prefix of no bits.
fn in_halves(denied: Denied) -> Vec<Denied> {
    let Denied { network, until } = denied;
    match network.subnets(1) {
        Ok(halves) if network.prefix_len() == 0 => {
            halves.map(|network| Denied { network, until }).collect()
        }
        _ => vec![denied],
    }
}

/// A time as RFC 3339 has it.
fn time(seconds: u32) -> Timestamp {
    // Every 32-bit second lies in the years that the calendar knows.
    Timestamp::from_second(i64::from(seconds)).unwrap_or_default()
}

fn heading(out: &mut impl Write, denied: &[Denied], now: u32, how: &[&str]) -> io::Result<()> {
    let (count, s) = (denied.len(), if denied.len() == 1 { "" } else { "s" });
    let made = time(now);
    writeln!(
        out,
        "# Made by `cattlegrid kb export` at {made}: {count} network{s}."
    )?;
    for line in how {
        writeln!(out, "# {line}")?;
    }
    Ok(())
}

fn lines(out: &mut impl Write, before: &str, denied: &[Denied], after: &str) -> io::Result<()> {
    for Denied { network, .. } in denied {
        writeln!(out, "{before}{network}{after}")?;
    }
    Ok(())
}

fn nginx_deny(out: &mut impl Write, denied: &[Denied], now: u32) -> io::Result<()> {
    heading(out, denied, now, NGINX_DENY)?;
    lines(out, "deny ", denied, ";")
}

fn nginx_map(out: &mut impl Write, denied: &[Denied], now: u32) -> io::Result<()> {
    heading(out, denied, now, NGINX_MAP)?;
    writeln!(out, "geo $cattlegrid_denied {{\n    default 0;")?;
    lines(out, "    ", denied, " 1;")?;
    writeln!(out, "}}")
}

fn apache(out: &mut impl Write, denied: &[Denied], now: u32) -> io::Result<()> {
    heading(out, denied, now, APACHE)?;
    writeln!(out, "<RequireAll>\n    Require all granted")?;
    for denied in denied.chunks(APACHE_PER_LINE) {
        write!(out, "    Require not ip")?;
        for Denied { network, .. } in denied {
            write!(out, " {network}")?;
        }
        writeln!(out)?;
    }
    writeln!(out, "</RequireAll>")
}

fn caddy(out: &mut impl Write, denied: &[Denied], now: u32) -> io::Result<()> {
    heading(out, denied, now, CADDY)?;
    writeln!(out, "(cattlegrid) {{")?;
    if !denied.is_empty() {
        // The route keeps the matcher's name to itself, so that the snippet can be imported more than once in a site.
        writeln!(out, "\troute {{\n\t\t@cattlegrid_denied {{")?;
        lines(out, "\t\t\tremote_ip ", denied, "")?;
        writeln!(out, "\t\t}}\n\t\trespond @cattlegrid_denied 403\n\t}}")?;
    }
    writeln!(out, "}}")
}

fn haproxy(out: &mut impl Write, denied: &[Denied], now: u32) -> io::Result<()> {
    heading(out, denied, now, HAPROXY)?;
    lines(out, "", denied, " 1")
}

/// The denied networks of either family, which firewalls keep apart.
fn by_family(denied: &[Denied]) -> (&[Denied], &[Denied]) {
    denied.split_at(denied.partition_point(|denied| matches!(denied.network, IpNet::V4(_))))
}

fn nftables(out: &mut impl Write, denied: &[Denied], now: u32) -> io::Result<()> {
    heading(out, denied, now, NFTABLES)?;
    // A table must be there to be deleted. The whole file is one transaction, so no packet meets an empty table.
    writeln!(
        out,
        "table inet cattlegrid\ndelete table inet cattlegrid\ntable inet cattlegrid {{"
    )?;
    let (v4, v6) = by_family(denied);
    for (set, kind, denied) in [("denied4", "ipv4_addr", v4), ("denied6", "ipv6_addr", v6)] {
        writeln!(
            out,
            "    set {set} {{\n        type {kind}\n        flags interval, timeout"
        )?;
        if !denied.is_empty() {
            writeln!(out, "        elements = {{")?;
            for Denied { network, until } in denied {
                match until {
                    Some(until) => {
                        writeln!(out, "            {network} timeout {}s,", until - now)?
                    }
                    None => writeln!(out, "            {network},")?,
                }
            }
            writeln!(out, "        }}")?;
        }
        writeln!(out, "    }}")?;
    }
    // UDP is HTTP/3, without which a denied client would just come that way.
    out.write_all(
        b"    chain input {
        type filter hook input priority -10; policy accept;
        tcp dport { 80, 443 } ip saddr @denied4 drop
        tcp dport { 80, 443 } ip6 saddr @denied6 drop
        udp dport 443 ip saddr @denied4 drop
        udp dport 443 ip6 saddr @denied6 drop
    }
}
",
    )
}

fn ipset(out: &mut impl Write, denied: &[Denied], now: u32) -> io::Result<()> {
    heading(out, denied, now, IPSET)?;
    let (v4, v6) = by_family(denied);
    for (set, family, denied) in [("cattlegrid4", "inet", v4), ("cattlegrid6", "inet6", v6)] {
        // The same limit every time, as an existing set must be the very same; room is only used when it is needed.
        for name in [set, &format!("{set}-new")] {
            writeln!(
                out,
                "create {name} hash:net family {family} maxelem 16777216 timeout 0 -exist"
            )?;
        }
        // What an interrupted load has left.
        writeln!(out, "flush {set}-new")?;
        for Denied { network, until } in denied {
            // 0 is never.
            let timeout = until.map_or(0, |until| (until - now).min(IPSET_TIMEOUT_MAX));
            writeln!(out, "add {set}-new {network} timeout {timeout}")?;
        }
        writeln!(out, "swap {set}-new {set}\ndestroy {set}-new")?;
    }
    Ok(())
}

fn json(out: &mut impl Write, denied: &[Denied], now: u32) -> io::Result<()> {
    // Networks and times hold nothing that JSON must escape.
    let made = time(now);
    write!(
        out,
        "{{\n\"schema\": \"cattlegrid/kb-export/1\",\n\"made\": \"{made}\",\n\"networks\": ["
    )?;
    for (number, Denied { network, until }) in denied.iter().enumerate() {
        let comma = if number == 0 { "" } else { "," };
        let until = until.map_or("null".to_owned(), |until| format!("\"{}\"", time(until)));
        write!(
            out,
            "{comma}\n{{\"network\": \"{network}\", \"until\": {until}}}"
        )?;
    }
    writeln!(out, "\n]\n}}")
}
