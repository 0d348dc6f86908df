//! The `[gate]` part of the settings file: what it says ([`Options`]), and the checked values the gate runs with ([`Setup`]).

mod crawlers;
pub(crate) mod defence;
mod manual;
pub(crate) mod markers;
pub(crate) mod paths;
mod places;
pub(crate) mod rules;
pub(crate) mod sign_in;
pub(crate) mod spelling;
mod traps;
pub(crate) mod trust;

use std::fmt;
use std::net::IpAddr;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use cattlegrid_http1::Headers;
use serde::Deserialize;
use toml::Spanned;

use self::crawlers::CrawlerOptions;
pub use self::crawlers::CrawlerSetup;
pub use self::crawlers::Resolver;
pub use self::crawlers::RobotsTxt;
pub use self::crawlers::SignedAgent;
pub(crate) use self::crawlers::agent_origin;
#[cfg(debug_assertions)]
use self::defence::Defence;
use self::defence::Defences;
use self::markers::MarkerOptions;
use self::markers::MarkerSetup;
use self::paths::PathOptions;
use self::paths::PathSetup;
use self::rules::RuleOptions;
use self::rules::Rules;
use self::sign_in::SignInOptions;
use self::sign_in::SignInSetup;
pub use self::traps::TrapLinks;
use self::traps::TrapOptions;
pub use self::traps::TrapSetup;
use self::trust::Peer;
use self::trust::Trust;

/// The file: other parts belong to others and are checked by them.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct File {
    gate: Option<Spanned<Options>>,
}

#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Options {
    mode: Mode,
    state: PathBuf,
    log: Option<PathBuf>,
    admin: Spanned<String>,
    workers: usize,
    prefix: Spanned<String>,
    contact: String,
    template: Option<PathBuf>,
    trusted_proxies: Spanned<Vec<String>>,
    trust_everybody: bool,
    sources_max: Spanned<usize>,
    profiles_max: Spanned<usize>,
    judge_minutes: Spanned<f64>,
    connections_max: usize,
    timeouts: Spanned<Timeouts>,
    challenge: Spanned<ChallengeOptions>,
    crawlers: Spanned<CrawlerOptions>,
    traps: Spanned<TrapOptions>,
    sign_in: Spanned<SignInOptions>,
    markers: Spanned<MarkerOptions>,
    paths: Spanned<PathOptions>,
    listen: Vec<Spanned<ListenOptions>>,
    site: Vec<Spanned<SiteOptions>>,
    default_rules: bool,
    rule: Vec<Spanned<RuleOptions>>,
    without: Spanned<Vec<String>>,
    clock: Option<Spanned<TestClock>>,
}

impl Default for Options {
    fn default() -> Options {
        let none = 0..0;
        Options {
            mode: Mode::Shadow,
            state: PathBuf::from("/var/lib/cattlegrid"),
            log: None,
            admin: Spanned::new(none.clone(), "127.0.0.1:9180".to_owned()),
            workers: 0,
            prefix: Spanned::new(none.clone(), "/.cattlegrid/".to_owned()),
            contact: String::new(),
            template: None,
            trusted_proxies: Spanned::new(none.clone(), Vec::new()),
            trust_everybody: false,
            sources_max: Spanned::new(none.clone(), 1_000_000),
            profiles_max: Spanned::new(none.clone(), 200_000),
            judge_minutes: Spanned::new(none.clone(), 30.0),
            connections_max: 8192,
            timeouts: Spanned::new(none.clone(), Timeouts::default()),
            challenge: Spanned::new(none.clone(), ChallengeOptions::default()),
            crawlers: Spanned::new(none.clone(), CrawlerOptions::default()),
            traps: Spanned::new(none.clone(), TrapOptions::default()),
            sign_in: Spanned::new(none.clone(), SignInOptions::default()),
            markers: Spanned::new(none.clone(), MarkerOptions::default()),
            paths: Spanned::new(none.clone(), PathOptions::default()),
            listen: Vec::new(),
            site: Vec::new(),
            default_rules: true,
            rule: Vec::new(),
            without: Spanned::new(none, Vec::new()),
            clock: None,
        }
    }
}

/// Whether decisions are carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Everything passes; what would have happened is written down.
    Shadow,
    /// Decisions are carried out.
    Enforce,
}

/// Seconds after which the gate stops waiting.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Timeouts {
    header: f64,
    idle: f64,
    body: f64,
    write: f64,
    connect: f64,
    answer: f64,
    websocket: f64,
    stop: f64,
}

impl Default for Timeouts {
    fn default() -> Timeouts {
        Timeouts {
            header: 10.0,
            idle: 60.0,
            body: 30.0,
            write: 30.0,
            connect: 2.0,
            answer: 30.0,
            websocket: 900.0,
            stop: 20.0,
        }
    }
}

/// Web servers ask their questions below this path; the gate's own prefix cannot lie there.
pub(crate) const QUERIES: &str = "/auth";

/// How long the gate waits, at every stage.
#[derive(Debug, Clone)]
pub struct Waits {
    /// For a whole request head, from its first byte; also for the TLS handshake and the PROXY header.
    pub header: Duration,
    /// For the next request on a connection that is kept.
    pub idle: Duration,
    /// For the next bytes of a body, from either side.
    pub body: Duration,
    /// For a client to take what was written.
    pub write: Duration,
    /// For a connection to the site.
    pub connect: Duration,
    /// For the site's answer to begin.
    pub answer: Duration,
    /// For the next bytes of a websocket, from either side.
    pub websocket: Duration,
    /// For requests under way, when the gate stops.
    pub stop: Duration,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ChallengeOptions {
    seconds: u32,
    bits: u8,
    binding: Binding,
}

impl Default for ChallengeOptions {
    fn default() -> ChallengeOptions {
        ChallengeOptions {
            seconds: 300,
            bits: 15,
            binding: Binding::Agent,
        }
    }
}

/// A clock for tests.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TestClock {
    /// Where it starts, in seconds since 1970.
    #[serde(default)]
    pub start: u32,
    /// How many times too fast it runs.
    #[serde(default)]
    pub speed: u32,
    /// A file that says what time it is, in milliseconds since 1970, whenever the gate looks.
    pub file: Option<PathBuf>,
}

/// What a clearance is tied to, beside the site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Binding {
    /// The browser: it may change networks. Its pages are counted together wherever they are asked from.
    Agent,
    /// The browser and the network it was earned in.
    Network,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ListenOptions {
    address: Spanned<String>,
    #[serde(default)]
    role: Role,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
    #[serde(default)]
    proxy_protocol: bool,
}

/// What a listener is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Browsers: requests are decided about and passed on to the site.
    #[default]
    Proxy,
    /// A web server that asks about each request.
    ForwardAuth,
    /// Envoy's external authorization over gRPC.
    Envoy,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SiteOptions {
    hosts: Spanned<Vec<String>>,
    upstream: Option<Spanned<String>>,
}

/// Where something listens, or is reached.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Address {
    /// An address with a port.
    Tcp(SocketAddr),
    /// A name with a port, asked for at each connection.
    Name(String),
    /// A socket in the file system.
    Unix(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp(address) => write!(out, "{address}"),
            Address::Name(name) => write!(out, "{name}"),
            Address::Unix(path) => write!(out, "unix:{}", path.display()),
        }
    }
}

/// One listener.
#[derive(Debug, Clone)]
pub struct Listen {
    /// Where the file names it.
    pub line: usize,
    /// Where.
    pub address: Address,
    /// TLS: certificate and key.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// A PROXY header comes first.
    pub proxy_protocol: bool,
    /// What it is for.
    pub role: Role,
}

impl PartialEq for Listen {
    /// A listener stays the same when lines before it change.
    fn eq(&self, other: &Listen) -> bool {
        let Listen {
            line: _,
            address,
            tls,
            proxy_protocol,
            role,
        } = self;
        *address == other.address
            && *tls == other.tls
            && *proxy_protocol == other.proxy_protocol
            && *role == other.role
    }
}

/// One site.
#[derive(Debug, Clone)]
pub struct Site {
    /// Its names, canonical; `*` stands for all others.
    pub hosts: Vec<String>,
    /// Where it is; none where another server forwards.
    pub upstream: Option<Address>,
}

impl Site {
    /// By which its people are known, and what their cookies are made for: the first of its names.
    pub(crate) fn name(&self) -> &str {
        self.hosts.first().map_or("*", String::as_str)
    }

    /// By which its robots.txt is known: it stays the same when lines before it change.
    pub(crate) fn key(&self) -> String {
        let upstream = self.upstream.as_ref().map(Address::to_string);
        format!("{} {}", self.hosts.join(" "), upstream.unwrap_or_default())
    }
}

/// All of the `[gate]` part, checked.
#[derive(Debug)]
pub struct Setup {
    /// Whether decisions are carried out.
    pub mode: Mode,
    /// Folder of the knowledge base, the key and the counters.
    pub state: PathBuf,
    /// The access log.
    pub log: PathBuf,
    /// Listener of metrics and health.
    pub admin: Option<SocketAddr>,
    /// Threads that serve; 0 for one per core.
    pub workers: usize,
    /// Where the gate's own pages are.
    pub prefix: String,
    /// How to reach the owner, for the pages.
    pub contact: String,
    /// An HTML file: the owner's frame around the pages.
    pub template: Option<PathBuf>,
    /// Whose word about a client is taken.
    pub trust: Trust,
    /// The same, as written.
    pub trusted_proxies: Vec<String>,
    /// Sources that are counted.
    pub sources_max: usize,
    /// Sources that are profiled.
    pub profiles_max: usize,
    /// How often sources are judged.
    pub judge_every: Duration,
    /// Connections of clients at one time.
    pub connections_max: usize,
    /// How long the gate waits.
    pub waits: Waits,
    /// Seconds for which a challenge can be answered.
    pub challenge_seconds: u32,
    /// Work of a first challenge, in bits.
    pub challenge_bits: u8,
    /// What a clearance is tied to.
    pub binding: Binding,
    /// What the owner wants for robots.
    pub crawlers: CrawlerSetup,
    /// Links that only programs follow.
    pub traps: TrapSetup,
    /// How signed-in people are known.
    pub(crate) sign_in: SignInSetup,
    /// Markers in the links of signed-in people.
    pub(crate) markers: MarkerSetup,
    /// What is noted of the paths of signed-in people.
    pub(crate) paths: PathSetup,
    /// The listeners.
    pub listen: Vec<Listen>,
    /// The sites.
    pub sites: Vec<Site>,
    /// The owner's rules.
    pub rules: Rules,
    /// Defences that are on: all, but in tests.
    pub defences: Defences,
    /// The clock of a test.
    pub clock: Option<TestClock>,
}

/// Collects errors, each with its line.
struct Errors<'a> {
    text: &'a str,
    all: Vec<String>,
}

impl Errors<'_> {
    fn line(&self, offset: usize) -> usize {
        let before = &self.text[..offset.min(self.text.len())];
        1 + before.matches('\n').count()
    }

    fn at(&mut self, offset: usize, what: impl fmt::Display) {
        let line = self.line(offset);
        self.all.push(format!("line {line}: {what}"));
    }
}

impl Setup {
    /// The documented defaults, as a part of the settings file.
    pub fn manual() -> &'static str {
        manual::MANUAL
    }

    /// Reads the `[gate]` part of a settings file. All errors are collected, each as `line N: what`.
    pub fn parse(text: &str) -> Result<Setup, Vec<String>> {
        let mut errors = Errors {
            text,
            all: Vec::new(),
        };
        let file: File = match toml::from_str(text) {
            Ok(file) => file,
            Err(error) => {
                errors.at(error.span().map_or(0, |span| span.start), error.message());
                return Err(errors.all);
            }
        };
        let Some(options) = file.gate else {
            return Err(vec![
                "there is no [gate] part: it needs at least a listener and a site; see docs/gate.md"
                    .to_owned(),
            ]);
        };
        let start = options.span().start;
        let setup = checked(options.into_inner(), start, &mut errors);
        match errors.all.is_empty() {
            true => Ok(setup),
            false => Err(errors.all),
        }
    }

    /// The client behind a peer.
    pub(crate) fn client(&self, peer: Peer, headers: &Headers<'_>) -> Option<IpAddr> {
        #[cfg(debug_assertions)]
        if !self.defences.has(Defence::Trust) {
            return trust::believing(headers);
        }
        self.trust.client(peer, headers)
    }

    /// The owner's model of paths, in the place of the one that is built in.
    pub fn path_model(&self) -> Option<&std::path::Path> {
        self.paths.model.as_deref()
    }

    /// Addresses of this machine, as far as listeners name them.
    pub fn own_addresses(&self) -> impl Iterator<Item = IpAddr> + '_ {
        let listeners = self.listen.iter();
        let named = listeners.filter_map(|listen| match &listen.address {
            Address::Tcp(address) => Some(address.ip()),
            _ => None,
        });
        let all = named.chain(self.admin.map(|admin| admin.ip()));
        all.filter(|address| !address.is_unspecified())
    }

    /// The site with a name.
    pub fn site(&self, host: &str) -> Option<usize> {
        let named = |name: &str| {
            self.sites
                .iter()
                .position(|site| site.hosts.iter().any(|host| host == name))
        };
        named(host).or_else(|| named("*"))
    }
}

/// A PROXY header is taken from trusted proxies alone: without one, a listener that waits for it would drop every connection.
fn check_proxy_headers(listen: &[Listen], trust: &Trust, at: usize, errors: &mut Errors<'_>) {
    for listen in listen.iter().filter(|listen| listen.proxy_protocol) {
        let (is_trusted, example) = match listen.address {
            Address::Unix(_) => (trust.trusts(Peer::Unix), "unix"),
            _ => (trust.has_proxies(), "192.0.2.1"),
        };
        if !is_trusted {
            errors.at(
                at,
                format!(
                    "{}: proxy_protocol = true needs the load balancer in trusted_proxies, like [\"{example}\"]: a PROXY header of anybody else is refused, and every connection would be closed",
                    listen.address
                ),
            );
        }
    }
}

fn checked(options: Options, start: usize, errors: &mut Errors<'_>) -> Setup {
    let waits = checked_waits(&options.timeouts, errors);
    let challenge = options.challenge.get_ref().clone();
    check_numbers(&options, errors);
    let listen = places::listeners(&options, start, errors);
    let needs_trust = listen.iter().any(|listen| listen.role != Role::Proxy);
    let span = options.trusted_proxies.span().start;
    let at = if span == 0 { start } else { span };
    let trust = match Trust::new(
        options.trusted_proxies.get_ref(),
        options.trust_everybody,
        needs_trust,
    ) {
        Ok(trust) => {
            check_proxy_headers(&listen, &trust, at, errors);
            trust
        }
        Err(error) => {
            errors.at(at, error);
            Trust::default()
        }
    };
    let sites = places::sites(&options, &listen, start, errors);
    let sign_in = sign_in::checked(options.sign_in, &sites, &trust, errors);
    let markers = markers::checked(&options.markers, &sign_in, &sites, errors);
    let rules = checked_rules(options.rule, Rules::new(options.default_rules), errors);
    let defences = checked_defences(&options.without, errors);
    Setup {
        mode: options.mode,
        log: options
            .log
            .unwrap_or_else(|| options.state.join("access.log")),
        state: options.state,
        admin: checked_admin(&options.admin, errors),
        workers: options.workers,
        prefix: checked_prefix(&options.prefix, errors),
        contact: options.contact,
        template: options.template,
        trust,
        trusted_proxies: options
            .trusted_proxies
            .into_inner()
            .into_iter()
            .filter(|name| name != "unix")
            .collect(),
        sources_max: options.sources_max.into_inner(),
        profiles_max: options.profiles_max.into_inner(),
        judge_every: Duration::try_from_secs_f64(60.0 * options.judge_minutes.into_inner())
            .unwrap_or_default(),
        connections_max: options.connections_max.max(1),
        waits,
        challenge_seconds: challenge.seconds,
        challenge_bits: challenge.bits,
        binding: challenge.binding,
        crawlers: crawlers::checked(options.crawlers, errors),
        traps: traps::checked(&options.traps, errors),
        paths: paths::checked(&options.paths, &markers, errors),
        markers,
        sign_in,
        listen,
        sites,
        rules,
        defences,
        clock: checked_clock(options.clock, errors),
    }
}

/// The owner's rules, in their order.
fn checked_rules(
    given: Vec<Spanned<RuleOptions>>,
    mut rules: Rules,
    errors: &mut Errors<'_>,
) -> Rules {
    for rule in given {
        let at = rule.span().start;
        if let Err(error) = rules.add(rule.into_inner()) {
            errors.at(at, format!("[[gate.rule]]: {error}"));
        }
    }
    rules
}

/// Which defences are on: all, but in tests.
fn checked_defences(without: &Spanned<Vec<String>>, errors: &mut Errors<'_>) -> Defences {
    Defences::without(without.get_ref()).unwrap_or_else(|error| {
        errors.at(without.span().start, error);
        Defences::default()
    })
}

/// A clock of its own is for tests alone.
fn checked_clock(given: Option<Spanned<TestClock>>, errors: &mut Errors<'_>) -> Option<TestClock> {
    let given = given?;
    if cfg!(not(debug_assertions)) {
        errors.at(given.span().start, "'clock' is for tests alone: remove it");
    }
    Some(given.into_inner())
}

/// Numbers that cannot be meant.
fn check_numbers(options: &Options, errors: &mut Errors<'_>) {
    let challenge = options.challenge.get_ref();
    if !(10..=86_400).contains(&challenge.seconds) || !(1..=24).contains(&challenge.bits) {
        errors.at(
            options.challenge.span().start,
            "[gate.challenge]: seconds must lie between 10 and 86400, bits between 1 and 24",
        );
    }
    for (value, name, min, max) in [
        (&options.sources_max, "sources_max", 1000, 100_000_000),
        (&options.profiles_max, "profiles_max", 1000, 10_000_000),
    ] {
        if !(min..=max).contains(value.get_ref()) {
            errors.at(
                value.span().start,
                format!("{name} must lie between {min} and {max}"),
            );
        }
    }
    if !(0.001..=1440.0).contains(options.judge_minutes.get_ref()) {
        errors.at(
            options.judge_minutes.span().start,
            "judge_minutes must lie between 0.001 and 1440",
        );
    }
}

fn checked_waits(options: &Spanned<Timeouts>, errors: &mut Errors<'_>) -> Waits {
    let given = options.get_ref();
    let mut seconds = |name: &str, value: f64| {
        if !(0.05..=86_400.0).contains(&value) {
            errors.at(
                options.span().start,
                format!("[gate.timeouts]: {name} must lie between 0.05 and 86400 seconds"),
            );
        }
        Duration::try_from_secs_f64(value).unwrap_or_default()
    };
    Waits {
        header: seconds("header", given.header),
        idle: seconds("idle", given.idle),
        body: seconds("body", given.body),
        write: seconds("write", given.write),
        connect: seconds("connect", given.connect),
        answer: seconds("answer", given.answer),
        websocket: seconds("websocket", given.websocket),
        stop: seconds("stop", given.stop),
    }
}

fn checked_admin(given: &Spanned<String>, errors: &mut Errors<'_>) -> Option<SocketAddr> {
    match given.get_ref().as_str() {
        "" | "off" => None,
        text => match text.parse() {
            Ok(address) => Some(address),
            Err(_) => {
                errors.at(
                    given.span().start,
                    format!("admin = '{text}' is not ADDRESS:PORT (and 'off' for none)"),
                );
                None
            }
        },
    }
}

fn checked_prefix(given: &Spanned<String>, errors: &mut Errors<'_>) -> String {
    let prefix = given.get_ref();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte);
    let is_sound = prefix.len() > 2
        && prefix.starts_with('/')
        && prefix.ends_with('/')
        && prefix.bytes().all(is_plain)
        && !prefix.contains("//")
        && !prefix.contains("/../")
        && !prefix.contains("/./")
        && !prefix.starts_with(QUERIES);
    if !is_sound {
        errors.at(
            given.span().start,
            format!("prefix = '{prefix}' must be a folder of the site that nothing else uses, like /.cattlegrid/ (and not /auth, where servers ask)"),
        );
    }
    prefix.clone()
}
