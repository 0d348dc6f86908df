//! The forum as an access log in the combined format, with the user's name, and labels.

use std::io;
use std::io::Write;
use std::net::Ipv4Addr;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::Forum;
use super::Role;

/// User agents of browsers; crawlers here send those, too.
pub(super) const AGENTS: [&str; 4] = [
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Safari/537.36",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15",
    "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
];

impl Role {
    /// The name in labels.
    pub fn name(self) -> &'static str {
        match self {
            Role::Person => "person",
            Role::DepthFirst => "depth-first",
            Role::BreadthFirst => "breadth-first",
            Role::RandomLike => "random-like",
            Role::Shared => "shared links",
        }
    }
}

/// Writes what every account is: `user,source,label,campaign,habit`.
pub fn write_labels(forum: &Forum, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "user,source,label,campaign,habit")?;
    for account in &forum.accounts {
        let label = match account.role {
            Role::Person => "user",
            _ => "masquerading",
        };
        let source = Ipv4Addr::from(account.address);
        writeln!(
            out,
            "{},{source},{label},{},{}",
            account.name, account.campaign, account.kind
        )?;
    }
    Ok(())
}

/// Writes all page requests in order of time. Gives how many they are.
pub fn write_log(forum: &Forum, out: &mut impl Write) -> io::Result<u64> {
    let mut out = io::BufWriter::with_capacity(1 << 20, out);
    for view in &forum.views {
        let account = &forum.accounts[view.account as usize];
        let time = Timestamp::from_second((view.at_ms / 1000) as i64).unwrap_or_default();
        let time = time.to_zoned(TimeZone::UTC);
        let referrer = match view.referrer() {
            Some(target) => format!("https://forum.example{target}"),
            None => "-".to_owned(),
        };
        writeln!(
            out,
            "{} - {} [{}] \"GET {} HTTP/1.1\" 200 {} \"{referrer}\" \"{}\"",
            Ipv4Addr::from(account.address),
            account.name,
            time.strftime("%d/%b/%Y:%H:%M:%S +0000"),
            view.target(),
            9000 + view.target().len() * 137,
            account.agent
        )?;
    }
    out.flush()?;
    Ok(forum.views.len() as u64)
}
