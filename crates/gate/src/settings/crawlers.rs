//! The `[gate.crawlers]` part: what the owner wants for robots, and how they prove who they are.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::net::SocketAddr;
use std::path::PathBuf;

use cattlegrid_core::policy::Preset;
use cattlegrid_core::policy::Treatment;
use cattlegrid_core::policy::Wishes;
use cattlegrid_http1::host;
use serde::Deserialize;
use toml::Spanned;

use super::Errors;

#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct CrawlerOptions {
    preset: Preset,
    pages: u32,
    fetched_pages: u32,
    purposes: BTreeMap<String, Treatment>,
    robots: BTreeMap<String, Treatment>,
    resolver: Spanned<String>,
    signed: Vec<Spanned<SignedOptions>>,
    robots_txt: RobotsTxt,
}

/// Whose robots.txt clients get.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RobotsTxt {
    /// The site's.
    #[default]
    Site,
    /// The site's, with what the owner wants for robots.
    Merged,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SignedOptions {
    agent: String,
    keys: Option<PathBuf>,
    #[serde(default = "SignedOptions::treatment")]
    treatment: Treatment,
}

impl SignedOptions {
    fn treatment() -> Treatment {
        Treatment::Allow
    }
}

impl Default for CrawlerOptions {
    fn default() -> CrawlerOptions {
        let wishes = Wishes::default();
        CrawlerOptions {
            preset: wishes.preset,
            pages: wishes.pages,
            fetched_pages: wishes.fetched_pages,
            purposes: wishes.purposes,
            robots: wishes.robots,
            resolver: Spanned::new(0..0, "system".to_owned()),
            signed: Vec::new(),
            robots_txt: RobotsTxt::Site,
        }
    }
}

/// Which name server says whose an address is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolver {
    /// None: names of addresses prove nothing.
    Off,
    /// The first one in `/etc/resolv.conf`.
    System,
    /// This one.
    At(SocketAddr),
}

/// The same, checked as far as it can be without the lists.
#[derive(Debug, Clone)]
pub struct CrawlerSetup {
    /// What the owner wants for robots.
    pub wishes: Wishes,
    /// Which name server is asked about addresses.
    pub resolver: Resolver,
    /// Agents that sign their requests.
    pub signed: Vec<SignedAgent>,
    /// Whose robots.txt clients get.
    pub robots_txt: RobotsTxt,
}

/// An agent that signs its requests, and whose directory says with which keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedAgent {
    /// Its origin, as [`agent_origin`] spells it.
    pub agent: String,
    /// Its keys, where they are not fetched.
    pub keys: Option<PathBuf>,
    /// What the owner wants for it.
    pub treatment: Treatment,
}

/// The origin of an agent, in one spelling: `https://`, a host in small letters, a port that is not the usual one.
pub(crate) fn agent_origin(text: &str) -> Option<String> {
    let rest = text.strip_prefix("https://")?;
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    let name = host::canonical(rest.as_bytes())?;
    let port = match rest.rsplit_once(':') {
        Some((_, port)) if !port.ends_with(']') && port != "443" => Some(port.parse::<u16>().ok()?),
        _ => None,
    };
    Some(match port {
        Some(port) => format!("https://{name}:{port}"),
        None => format!("https://{name}"),
    })
}

pub(super) fn checked(options: Spanned<CrawlerOptions>, errors: &mut Errors<'_>) -> CrawlerSetup {
    let at = options.span().start;
    let options = options.into_inner();
    if options.pages == 0 || options.fetched_pages == 0 {
        errors.at(
            at,
            "[gate.crawlers]: pages and fetched_pages must be 1 or more; to stop robots, set preset, purposes or robots",
        );
    }
    CrawlerSetup {
        wishes: Wishes {
            preset: options.preset,
            purposes: options.purposes,
            robots: options.robots,
            pages: options.pages,
            fetched_pages: options.fetched_pages,
        },
        resolver: checked_resolver(&options.resolver, errors),
        signed: checked_signed(options.signed, errors),
        robots_txt: options.robots_txt,
    }
}

fn checked_signed(given: Vec<Spanned<SignedOptions>>, errors: &mut Errors<'_>) -> Vec<SignedAgent> {
    let mut agents: Vec<SignedAgent> = Vec::new();
    for signed in given {
        let at = signed.span().start;
        let signed = signed.into_inner();
        let Some(agent) = agent_origin(&signed.agent) else {
            errors.at(
                at,
                format!(
                    "[[gate.crawlers.signed]]: agent = '{}' is not https://HOST, as robots send it in Signature-Agent",
                    signed.agent
                ),
            );
            continue;
        };
        if agents.iter().any(|known| known.agent == agent) {
            errors.at(
                at,
                format!("[[gate.crawlers.signed]]: {agent} is listed twice"),
            );
        }
        agents.push(SignedAgent {
            agent,
            keys: signed.keys,
            treatment: signed.treatment,
        });
    }
    agents
}

fn checked_resolver(given: &Spanned<String>, errors: &mut Errors<'_>) -> Resolver {
    let text = given.get_ref().as_str();
    let address = || {
        let bare = text.parse::<IpAddr>().ok();
        bare.map(|address| SocketAddr::new(address, 53))
            .or_else(|| text.parse().ok())
    };
    match text {
        "system" => Resolver::System,
        "off" => Resolver::Off,
        _ => match address() {
            Some(address) => Resolver::At(address),
            None => {
                errors.at(
                    given.span().start,
                    format!("resolver = '{text}' is none of system, off, ADDRESS and ADDRESS:PORT"),
                );
                Resolver::Off
            }
        },
    }
}
