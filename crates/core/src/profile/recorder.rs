//! Requests to records.

use aho_corasick::AhoCorasick;
use aho_corasick::AhoCorasickKind;
use rapidhash::v3::RapidSecrets;
use rapidhash::v3::rapidhash_v3_micro_inline;

use super::agent_texts::AgentTexts;
use super::record::Answer;
use super::record::MADE_UP;
use super::record::PAGE_MASK;
use super::record::Record;
use super::record::START;
use super::record::Status;
use super::record::Took;
use super::record::flag;
use super::resource::Resource;
use super::signs;
use super::signs::Signs;
use super::target::Target;
use super::target::path;
use crate::knowledge::Browser;
use crate::knowledge::Knowledge;
use crate::request::Client;
use crate::request::Field;
use crate::request::Protocol;
use crate::request::Request;
use crate::request::Source;
use crate::request::SourceKind;

/// Turns requests into records; one for all threads.
#[derive(Debug)]
pub struct Recorder {
    secrets: RapidSecrets,
    listings: AhoCorasick,
}

/// What one thread gathers beside the records.
#[derive(Debug, Default)]
pub struct Gathered {
    /// Text of the user agents by hash.
    pub agents: AgentTexts,
    /// Text of sources that are no addresses, by hash.
    pub tokens: Vec<(u64, Box<[u8]>)>,
    referrer: LastSite,
    listings: Listed,
}

/// Which pages that led somewhere are listings, by hash, of those named lately: a search for all texts of listings in each takes as long as
/// reading the rest of the referrer.
#[derive(Debug)]
struct Listed(Vec<u64>);

/// Pages that are remembered; a later one takes the place of an earlier one.
const LISTED: usize = 2048;

impl Default for Listed {
    fn default() -> Listed {
        Listed(vec![0; LISTED])
    }
}

impl Listed {
    /// Whether the page with this hash is a listing: remembered in the lowest bit of the hash, or from `look`.
    #[inline]
    fn is_match(&mut self, hash: u64, look: impl FnOnce() -> bool) -> bool {
        let place = &mut self.0[(hash >> 1) as usize % LISTED];
        if (*place ^ hash) >> 1 != 0 {
            *place = hash & !1 | u64::from(look());
        }
        *place & 1 == 1
    }
}

/// The site that was named last as a referrer: nearly always the next one's, too.
#[derive(Debug, Default)]
struct LastSite {
    /// Scheme, host and port as they were written; empty before the first.
    origin: Vec<u8>,
    /// Where the host begins, and its bytes.
    host: (usize, usize),
    hash: u16,
    /// Written as no browser writes it: without a scheme, or with the port that everybody knows.
    is_made_up: bool,
}

impl LastSite {
    /// What follows the host of a URL that names this site again.
    #[inline]
    fn rest<'a>(&self, url: &'a [u8]) -> Option<&'a [u8]> {
        let rest = url.strip_prefix(self.origin.as_slice())?;
        let is_whole = matches!(rest, [] | [b'/' | b'?' | b'#', ..]);
        (is_whole && !self.origin.is_empty()).then_some(rest)
    }

    /// Takes a URL apart. Gives what follows its host.
    fn set<'a>(&mut self, url: &'a [u8], recorder: &Recorder) -> &'a [u8] {
        let Url {
            scheme,
            host,
            port,
            rest,
        } = Url::of(url);
        self.origin.clear();
        self.origin
            .extend_from_slice(&url[..url.len() - rest.len()]);
        self.host = (scheme.len(), host.len());
        let is_needless = matches!(
            (scheme, port),
            (b"http://", b":80") | (b"https://", b":443")
        );
        // Early telephones left the capitals of a link.
        let has_capitals = host.iter().any(u8::is_ascii_uppercase);
        self.is_made_up = is_needless || scheme.is_empty() && !host.is_empty();
        self.hash = match has_capitals {
            true => recorder.hash(&host.to_ascii_lowercase()) as u16,
            false => recorder.hash(host) as u16,
        };
        rest
    }

    fn host(&self) -> &[u8] {
        &self.origin[self.host.0..][..self.host.1]
    }
}

/// Texts on the way to which a listing or search page of a site is recognised.
pub const DEFAULT_LISTINGS: [&str; 16] = [
    "/search",
    "?q=",
    "&q=",
    "?s=",
    "?search",
    "?query=",
    "/category",
    "/categories",
    "/tag/",
    "/tags/",
    "/directory",
    "/browse",
    "/listing",
    "/list/",
    "page=",
    "/page/",
];

/// True for an answer that brings the page.
pub(super) fn is_shown(status: u16) -> bool {
    matches!(status, 200 | 203 | 206 | 304)
}

impl Recorder {
    /// A recorder whose hashes depend on `key` and that takes referrers with one of these texts for listings.
    pub fn new(key: u64, listings: &[String]) -> Result<Recorder, String> {
        let listings = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .kind(Some(AhoCorasickKind::DFA))
            .build(listings)
            .map_err(|error| format!("the listing patterns cannot be compiled: {error}"))?;
        Ok(Recorder {
            secrets: RapidSecrets::seed(key),
            listings,
        })
    }

    #[inline]
    pub(super) fn hash(&self, bytes: &[u8]) -> u64 {
        rapidhash_v3_micro_inline::<true, false>(bytes, &self.secrets)
    }

    /// Half of the hash of a path.
    #[inline]
    pub(crate) fn path_hash(&self, path: &[u8]) -> u32 {
        self.hash(path) as u32
    }

    /// One of so many cells, a power of two, by the hash of a path.
    pub(crate) fn path_cell(&self, path: &[u8], cells: usize) -> usize {
        self.hash(path) as usize & (cells - 1)
    }

    /// The hash of a user agent in records.
    pub fn agent(&self, text: &[u8]) -> u32 {
        self.hash(text) as u32
    }

    /// The source of this name in records.
    pub fn source(&self, name: &str) -> Source {
        let bare = name.strip_suffix("/64").unwrap_or(name);
        Source::from_address(bare.as_bytes()).unwrap_or_else(|| Source {
            kind: SourceKind::Token,
            value: self.hash(name.as_bytes()),
        })
    }

    /// Boils one request down.
    pub fn record(
        &self,
        request: &Request<'_>,
        knowledge: &Knowledge,
        gathered: &mut Gathered,
    ) -> Record {
        let source = request
            .client
            .address()
            .unwrap_or_else(|| self.token(&request.client, gathered));
        if request.is_trap {
            return self.trap(request, source, knowledge, gathered);
        }
        let target = Target::of(request.target);
        let mut record = Record {
            source: source.value,
            time: request.time,
            flags: source.kind as u32,
            ..Record::default()
        };
        if let Some(us) = request.duration_us {
            record.flags |= flag::TIMED;
            record.took = Took::of(us);
        }
        if is_error(request.status) {
            record.flags |= flag::CLIENT_ERROR;
        } else if request.status < 200 {
            // A gate that another server asks does not learn how the site answered (101 is a websocket, and no page).
            record.flags |= flag::UNANSWERED;
        }
        record.flags |= match request.protocol {
            Protocol::NotLogged => 0,
            Protocol::Http10 => flag::PROTOCOL_LOGGED | flag::OLD_PROTOCOL,
            Protocol::Later => flag::PROTOCOL_LOGGED,
        };
        let resource = Resource::of(&target);
        record.answer = answer(request, resource, &target);
        self.look_at_resource(request, resource, &target, &mut record);
        self.look_at_intent(request, resource, target.path, knowledge, &mut record);
        // Any page can hold an image with the address of somebody else's robots.txt or weak spot.
        if request.headers.is_led() {
            record.flags &= !(flag::ROBOTS | flag::PROBE | flag::POST | flag::LOGIN);
        }
        if is_redirect(request.status) && record.has(flag::PAGE | flag::POST) {
            record.flags |= flag::MOVED;
        }
        self.look_at_referrer(request, gathered, &mut record);
        self.look_at_agent(request, knowledge, gathered, &mut record);
        if let Some(rules) = &knowledge.rules
            && rules.forbid(record.robot.checked_sub(1), request.target)
        {
            record.flags |= flag::FORBIDDEN;
        }
        match request.session {
            Field::NotLogged => {}
            Field::Empty => record.flags |= flag::SESSION_LOGGED | flag::SESSION_EMPTY,
            Field::Value(id) => {
                record.flags |= flag::SESSION_LOGGED;
                record.session = self.hash(id) as u32;
            }
        }
        record
    }

    /// A page behind a trap is the gate's, and how it looks says nothing about the site: what counts is who came there.
    #[cold]
    fn trap(
        &self,
        request: &Request<'_>,
        source: Source,
        knowledge: &Knowledge,
        gathered: &mut Gathered,
    ) -> Record {
        let mut record = Record {
            source: source.value,
            time: request.time,
            page: self.hash(path(request.target)) as u32,
            flags: source.kind as u32 | flag::TRAP,
            ..Record::default()
        };
        self.look_at_agent(request, knowledge, gathered, &mut record);
        record
    }

    /// Whether it is a page or a part of one, and whether the site sent it.
    fn look_at_resource(
        &self,
        request: &Request<'_>,
        resource: Resource,
        target: &Target<'_>,
        record: &mut Record,
    ) {
        match resource {
            _ if resource.is_page(request.method) => {
                self.look_at_page(target, record);
                if is_shown(request.status) {
                    record.flags |= flag::SHOWN;
                }
            }
            // A browser asks again where it is sent to: only then it has the part.
            Resource::Image | Resource::Asset | Resource::Font if is_redirect(request.status) => {}
            Resource::Image => record.flags |= flag::ASSET | flag::IMAGE,
            Resource::Asset => record.flags |= flag::ASSET,
            Resource::Font => record.flags |= flag::ASSET | flag::DRAWN,
            Resource::Icon => record.flags |= flag::DRAWN,
            Resource::Robots => record.flags |= flag::ROBOTS,
            _ => {}
        }
        if matches!(resource, Resource::Asset | Resource::Font | Resource::Icon) {
            record.order = self.hash(target.path);
        }
        if request.status == 304 && record.has(flag::ASSET) {
            record.flags |= flag::DRAWN;
        }
    }

    /// Forms that are sent, and weak spots that are looked for.
    fn look_at_intent(
        &self,
        request: &Request<'_>,
        resource: Resource,
        path: &[u8],
        knowledge: &Knowledge,
        record: &mut Record,
    ) {
        let is_post = request.method == b"POST";
        if is_post && matches!(resource, Resource::Page) {
            record.flags |= flag::POST;
            record.page = self.hash(path) as u32;
        }
        if is_post && knowledge.weak_spots.is_login(path) {
            record.flags |= flag::POST | flag::LOGIN;
            record.page = self.hash(path) as u32;
        }
        // What a site really has is seldom looked for in vain: most requests need no look at the list.
        // Attacks on programs that exist are long: their text stands in the query.
        let is_usual = matches!(request.status, 200 | 304)
            && !path.starts_with(b"/.")
            && request.target.len() - path.len() < QUERY_LONG;
        let is_part = matches!(resource, Resource::Asset | Resource::Font | Resource::Image);
        if (!is_usual || is_post)
            && !is_part
            && knowledge
                .weak_spots
                .is_probe(request.target, request.status)
        {
            record.flags |= flag::PROBE;
        }
    }

    /// Makes equal pages of two hosts two pages.
    pub fn tell_hosts_apart(&self, host: &[u8], record: &mut Record) {
        // The lower half stays: by it a page is known again that is named as the one that led elsewhere.
        record.page ^= self.hash(host) as u32 & PAGE_MASK & !0xffff;
    }

    #[cold]
    fn token(&self, client: &Client<'_>, gathered: &mut Gathered) -> Source {
        let Client::Written(text) = *client else {
            unreachable!("an address was read")
        };
        let value = self.hash(text);
        if gathered
            .tokens
            .last()
            .is_none_or(|(last, _)| *last != value)
        {
            gathered.tokens.push((value, text.into()));
        }
        Source {
            kind: SourceKind::Token,
            value,
        }
    }

    /// Page order: pages of one folder, by number where the last part of the path or query is one, else by name.
    #[inline]
    fn look_at_page(&self, target: &Target<'_>, record: &mut Record) {
        let Target { text, path, .. } = *target;
        record.flags |= flag::PAGE;
        record.page = self.hash(text) as u32;
        if text == b"/" {
            record.page = record.page & !0xffff | u32::from(START);
        }
        let has_query = path.len() < text.len();
        if has_query {
            record.flags |= flag::QUERY;
        }
        // A query names the page where it ends in a value: index.php?id=17.
        let whole = if has_query {
            text
        } else {
            path.strip_suffix(b"/").unwrap_or(path)
        };
        let cut = target.number(whole.len());
        if let Some(number) = number(&whole[cut..]) {
            record.flags |= flag::NUMBERED;
            record.order = number;
            // Apart from the named pages of the same folder.
            record.group = !self.hash(&whole[..cut]) as u16;
            record.set_folder();
            return;
        }
        let cut = target.value(cut);
        record.order = letters(whole, cut);
        record.group = self.hash(&whole[..cut]) as u16;
        record.set_folder();
    }

    fn look_at_referrer(
        &self,
        request: &Request<'_>,
        gathered: &mut Gathered,
        record: &mut Record,
    ) {
        let site = &mut gathered.referrer;
        match request.referrer {
            Field::NotLogged => {}
            Field::Empty => record.flags |= flag::REFERRER_LOGGED | flag::REFERRER_EMPTY,
            Field::Value(referrer) => {
                record.flags |= flag::REFERRER_LOGGED;
                // Only pages and what browsers fetch for them tell whose site a referrer is.
                if !record.has(flag::PAGE | flag::ASSET | flag::POST) {
                    return;
                }
                let rest = match site.rest(referrer) {
                    Some(rest) => rest,
                    None => site.set(referrer, self),
                };
                record.referrer_host = site.hash;
                let hash = self.hash(rest);
                // Browsers name a page with its path. A request that refers to itself follows no link; a form is often sent to its
                // own page.
                let is_itself = rest == request.target && !record.has(flag::POST);
                if rest.is_empty() || site.is_made_up {
                    record.flags |= flag::REFERRER_ODD;
                    record.from = if record.is_page() { MADE_UP } else { 0 };
                } else if is_itself {
                    // Another site's start page has the same path as one's own.
                    if rest != b"/" {
                        record.flags |= flag::REFERRER_ODD;
                    }
                    record.from = if record.is_page() {
                        record.page as u16
                    } else {
                        0
                    };
                } else if rest != b"/robots.txt" {
                    record.flags |= flag::REFERRER_LINK;
                    // What a style sheet brings belongs to the page that brought the style sheet.
                    if !(record.has(flag::ASSET) && path(rest).ends_with(b".css")) {
                        record.from = match rest {
                            b"/" => START,
                            _ => hash as u16,
                        };
                    }
                }
                if request
                    .host
                    .value()
                    .is_some_and(|own| own.eq_ignore_ascii_case(site.host()))
                {
                    record.flags |= flag::REFERRER_OWN;
                }
                let look = || self.listings.is_match(rest);
                if record.has(flag::PAGE) && gathered.listings.is_match(hash, look) {
                    record.flags |= flag::REFERRER_LISTING;
                }
            }
        }
    }

    fn look_at_agent(
        &self,
        request: &Request<'_>,
        knowledge: &Knowledge,
        gathered: &mut Gathered,
        record: &mut Record,
    ) {
        match request.agent {
            Field::NotLogged => {}
            Field::Empty => record.flags |= flag::AGENT_LOGGED | flag::AGENT_EMPTY,
            Field::Value(agent) => {
                let hash = self.hash(agent);
                record.agent = hash as u32;
                let known = gathered.agents.known(hash, agent, knowledge);
                record.robot = known.robot;
                record.flags |= flag::AGENT_LOGGED | known.flags;
                if !request.headers.is_empty() && record.is_page() {
                    let signs = self.signs(request, known.browser, &gathered.referrer);
                    record.answer = record.answer.with_signs(signs);
                }
            }
        }
    }

    /// What the header fields of a page request say about the browser it claims.
    #[cold]
    fn signs(&self, request: &Request<'_>, browser: Browser, site: &LastSite) -> Signs {
        // The site is that of this request's referrer, if it has one.
        let referrer = request.referrer.value().map(|_| site.host());
        let sent = signs::Sent {
            fields: request.headers.all(),
            browser,
            referrer: referrer.filter(|host| !host.is_empty()),
            host: request.host.value(),
        };
        Signs::of(&sent, |bytes| self.hash(bytes))
    }
}

/// What the site answered, as sessions ask.
fn answer(request: &Request<'_>, resource: Resource, target: &Target<'_>) -> Answer {
    let file = resource.file(target);
    let answer = Answer::new(request.bytes, Status::of(request.status), file).at(request.tick);
    match request.method {
        b"HEAD" => answer.to_head(),
        _ => answer,
    }
}

/// A page that is not there, or a request nobody can answer. Who is refused (401, 403, 407, 429) did nothing wrong by that, or a
/// source that is once denied would never come free; and 499 is a client that went away, as people do.
fn is_error(status: u16) -> bool {
    status / 100 == 4 && !matches!(status, 401 | 403 | 407 | 429 | 499)
}

/// Bytes of a query from which it may hold an attack.
const QUERY_LONG: usize = 60;

fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

/// A URL in parts. Text that is none has neither scheme nor host.
struct Url<'a> {
    scheme: &'a [u8],
    host: &'a [u8],
    /// With its colon.
    port: &'a [u8],
    rest: &'a [u8],
}

impl<'a> Url<'a> {
    fn of(url: &'a [u8]) -> Url<'a> {
        let scheme = match url {
            [b'h', b't', b't', b'p', b's', b':', b'/', b'/', ..] => 8,
            [b'h', b't', b't', b'p', b':', b'/', b'/', ..] => 7,
            _ => 0,
        };
        let (scheme, all) = url.split_at(scheme);
        let end = memchr::memchr3(b'/', b'?', b'#', all).unwrap_or(all.len());
        let (site, rest) = all.split_at(end);
        let (host, port) = site.split_at(site.len() - port(site));
        if scheme.is_empty() && !is_name(host) {
            return Url {
                scheme,
                host: b"",
                port: b"",
                rest: url,
            };
        }
        Url {
            scheme,
            host,
            port,
            rest,
        }
    }
}

/// The host of a URL; empty where it has none.
pub(crate) fn host_of(url: &[u8]) -> &[u8] {
    Url::of(url).host
}

/// Bytes of the port at the end of a host, with its colon.
fn port(site: &[u8]) -> usize {
    let digits = site
        .iter()
        .rev()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    match site[..site.len() - digits].last() {
        Some(b':') => digits + 1,
        _ => 0,
    }
}

/// True for a host's name that stands for itself: `www.example.com`.
fn is_name(text: &[u8]) -> bool {
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
    text.contains(&b'.') && text.iter().all(is_letter)
}

/// The first eight letters from `start` on, as a number that sorts like them.
#[inline]
fn letters(text: &[u8], start: usize) -> u64 {
    let name = &text[start..];
    if let Some(eight) = name.first_chunk() {
        return u64::from_be_bytes(*eight);
    }
    // The last eight of the text end in those that are wanted.
    if let Some(eight) = text.last_chunk() {
        return u64::from_be_bytes(*eight).unbounded_shl(8 * (8 - name.len() as u32));
    }
    let mut letters = [0; 8];
    letters[..name.len()].copy_from_slice(name);
    u64::from_be_bytes(letters)
}

/// A number, with at most an extension behind it: `17`, `17.html`.
fn number(text: &[u8]) -> Option<u64> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let sound = (1..=18).contains(&digits) && (digits == text.len() || text[digits] == b'.');
    sound.then(|| {
        text[..digits]
            .iter()
            .fold(0, |number, digit| number * 10 + u64::from(digit - b'0'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn knowledge() -> Knowledge {
        Knowledge::new("[]", Vec::new()).unwrap()
    }

    fn record(target: &str, referrer: &str) -> Record {
        let listings: Vec<String> = DEFAULT_LISTINGS
            .iter()
            .map(|text| (*text).to_owned())
            .collect();
        let recorder = Recorder::new(1, &listings).unwrap();
        let request = Request {
            client: Client::Written(b"192.0.2.1"),
            method: b"GET",
            target: target.as_bytes(),
            referrer: Field::logged(referrer.as_bytes()),
            host: Field::Value(b"www.example.com"),
            ..Request::default()
        };
        recorder.record(&request, &knowledge(), &mut Gathered::default())
    }

    #[test]
    fn siblings_are_ordered_by_number_or_name() {
        let ascending = |first: &str, second: &str| {
            let (first, second) = (record(first, "-"), record(second, "-"));
            (first.group == second.group).then_some(first.order < second.order)
        };
        assert_eq!(ascending("/product/9", "/product/10"), Some(true));
        assert_eq!(
            ascending("/product/10.html", "/product/9.html"),
            Some(false)
        );
        assert_eq!(ascending("/index.php?id=9", "/index.php?id=10"), Some(true));
        assert_eq!(ascending("/people/anna/", "/people/bert/"), Some(true));
        assert_eq!(ascending("/people/anna", "/places/bert"), None);
        assert_eq!(ascending("/people/7", "/people/anna"), None);
    }

    #[test]
    fn times_fit_two_bytes() {
        let ms = |us: u64| f64::from(Took::of(us).units()) * Took::UNIT_US as f64 / 1000.0;
        assert_eq!(
            [ms(0), ms(249), ms(1000), ms(750_000)],
            [0.0, 0.0, 1.0, 750.0]
        );
        for us in [2_000_000, 65_000_000, 3_600_000_000_u64] {
            let wanted = us as f64 / 1000.0;
            assert!((ms(us) / wanted - 1.0).abs() < 0.001, "{us}: {}", ms(us));
        }
        assert_eq!(Took::of(u64::MAX).units(), 0xfff << 15);
    }

    #[test]
    fn referrers() {
        let kinds = |referrer: &str| {
            let record = record("/x", referrer);
            [
                flag::REFERRER_EMPTY,
                flag::REFERRER_OWN,
                flag::REFERRER_LISTING,
            ]
            .map(|bit| record.has(bit))
        };
        assert_eq!(kinds("-"), [true, false, false]);
        assert_eq!(
            kinds("https://www.example.com/search?q=a"),
            [false, true, true]
        );
        assert_eq!(
            kinds("https://www.example.com:8443/about"),
            [false, true, false]
        );
        assert_eq!(kinds("https://search.example.net/"), [false, false, false]);
        assert_eq!(kinds("nonsense"), [false, false, false]);
    }
}
