//! A request boiled down to a fixed-size record: all that a profile will ever ask of it.

use aho_corasick::AhoCorasick;
use aho_corasick::AhoCorasickKind;
use rapidhash::v3::RapidSecrets;
use rapidhash::v3::rapidhash_v3_micro_inline;

use super::book::AgentBook;
use super::resource::Resource;
use super::target::Target;
use super::target::path;
use crate::knowledge::Knowledge;
use crate::request::Client;
use crate::request::Field;
use crate::request::Protocol;
use crate::request::Request;
use crate::request::Source;
use crate::request::SourceKind;

/// One request, 56 bytes, without any text.
#[derive(Debug, Clone, Copy)]
pub struct Record {
    pub(crate) source: u64,
    pub(crate) bytes: u64,
    /// Where the page stands among those of its group: its number, or the first letters of its name.
    pub(crate) order: u64,
    /// Seconds since 1970.
    pub time: u32,
    /// Hash of the target: the upper [`FOLDER_BITS`] are its folder's, so that pages can be told by folder later on.
    pub(crate) page: u32,
    /// Hash of what the page shares with its siblings: the folder, and whether they are numbered. Only neighbours are compared, so
    /// that few bits suffice.
    pub(crate) group: u16,
    /// Lower half of the hash of the page that led there.
    pub(crate) from: u16,
    /// Hash of the user agent.
    pub(crate) agent: u32,
    /// Hash of the session id.
    pub(crate) session: u32,
    /// Hash of the referrer's host.
    pub(crate) referrer_host: u16,
    /// Number of the site asked for, where each is judged for itself.
    pub(crate) host: u16,
    pub(crate) flags: u32,
    /// One more than the robot's number in the list; 0 for none.
    pub(crate) robot: u16,
    pub(crate) took: Took,
}

/// Bits of a page's hash that are its folder's.
pub(crate) const FOLDER_BITS: u32 = 8;
const PAGE_MASK: u32 = u32::MAX >> FOLDER_BITS;
/// Lower half of the start page's hash: many browsers name it instead of the page that really led somewhere.
pub(crate) const START: u16 = 1;

/// True for the hash of the start page, and of hardly another.
pub(crate) fn is_start(page: u32) -> bool {
    page as u16 == START
}

/// The folder of a page, by its hash.
pub(crate) fn folder(page: u32) -> usize {
    (page >> (32 - FOLDER_BITS)) as usize
}

/// Bits of [`Record::flags`]; the lowest two are the source's kind.
pub(crate) mod flag {
    pub(crate) const PAGE: u32 = 1 << 2;
    pub(crate) const QUERY: u32 = 1 << 3;
    pub(crate) const ROBOTS: u32 = 1 << 4;
    pub(crate) const ASSET: u32 = 1 << 5;
    pub(crate) const REFERRER_LOGGED: u32 = 1 << 6;
    pub(crate) const REFERRER_EMPTY: u32 = 1 << 7;
    pub(crate) const REFERRER_LISTING: u32 = 1 << 8;
    pub(crate) const REFERRER_OWN: u32 = 1 << 9;
    pub(crate) const SESSION_LOGGED: u32 = 1 << 10;
    pub(crate) const SESSION_EMPTY: u32 = 1 << 11;
    pub(crate) const AGENT_LOGGED: u32 = 1 << 12;
    pub(crate) const AGENT_EMPTY: u32 = 1 << 13;
    pub(crate) const BROWSER: u32 = 1 << 14;
    pub(crate) const AUTOMATED: u32 = 1 << 15;
    pub(crate) const NUMBERED: u32 = 1 << 16;
    pub(crate) const DEAD: u32 = 1 << 17;
    pub(crate) const CLIENT_ERROR: u32 = 1 << 18;
    pub(crate) const REFERRER_LINK: u32 = 1 << 19;
    pub(crate) const FORBIDDEN: u32 = 1 << 20;
    pub(crate) const TIMED: u32 = 1 << 21;
    pub(crate) const UNANSWERED: u32 = 1 << 22;
    /// A page that the site really sent: neither an error nor a redirect.
    pub(crate) const SHOWN: u32 = 1 << 23;
    /// An asset that is a picture.
    pub(crate) const IMAGE: u32 = 1 << 24;
    /// A form that was sent to a page.
    pub(crate) const POST: u32 = 1 << 25;
    /// A form that was sent to where passwords go.
    pub(crate) const LOGIN: u32 = 1 << 26;
    /// A request for a weak spot that attack tools look for.
    pub(crate) const PROBE: u32 = 1 << 27;
    /// Sent by HTTP/1.0.
    pub(crate) const OLD_PROTOCOL: u32 = 1 << 28;
    /// A referrer as no browser writes it: without the slash behind the host, or the requested page itself.
    pub(crate) const REFERRER_ODD: u32 = 1 << 29;
    /// The request line tells the version of HTTP.
    pub(crate) const PROTOCOL_LOGGED: u32 = 1 << 30;
    /// What only a browser asks for that shows the page: a font, the site's icon, or whether its copy of a part is still good.
    pub(crate) const DRAWN: u32 = 1 << 31;
}

/// How long an answer took, in two bytes: twelve bits, and how far to shift them. Counts [`Took::UNIT_US`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Took(u16);

impl Took {
    /// A quarter of a millisecond: what is shorter costs nothing.
    pub(crate) const UNIT_US: u64 = 250;

    fn of(us: u64) -> Took {
        let units = (us / Took::UNIT_US).min(0xfff << 15);
        let shift = (64 - units.leading_zeros()).saturating_sub(12);
        Took(((units >> shift) as u16) | (shift as u16) << 12)
    }

    pub(crate) fn units(self) -> u32 {
        u32::from(self.0 & 0xfff) << (self.0 >> 12)
    }
}

impl Record {
    /// Whom the request came from.
    pub fn source(&self) -> Source {
        Source {
            kind: SourceKind::from_bits((self.flags & 3) as u8),
            value: self.source,
        }
    }

    /// Takes the record out of the count.
    pub fn kill(&mut self) {
        self.flags |= flag::DEAD;
    }

    /// True for a record taken out of the count.
    pub fn is_dead(&self) -> bool {
        self.has(flag::DEAD)
    }

    /// True for a page request.
    pub fn is_page(&self) -> bool {
        self.has(flag::PAGE)
    }

    /// True for a page request that brought a session id.
    pub fn has_session(&self) -> bool {
        self.has(flag::PAGE)
            && self.flags & (flag::SESSION_LOGGED | flag::SESSION_EMPTY) == flag::SESSION_LOGGED
    }

    /// True for a style sheet, script or image that names the page it belongs to.
    pub fn is_part_of_page(&self) -> bool {
        let both = flag::ASSET | flag::REFERRER_LINK;
        self.flags & both == both
    }

    /// The host that an asset request names as its page's.
    pub fn asset_referrer(&self) -> Option<u32> {
        let named = self.flags & (flag::ASSET | flag::REFERRER_LOGGED | flag::REFERRER_EMPTY)
            == flag::ASSET | flag::REFERRER_LOGGED;
        named.then_some(u32::from(self.referrer_host))
    }

    /// The host that a page request names as that of the page before.
    pub fn page_referrer(&self) -> Option<u32> {
        let named = self.flags & (flag::PAGE | flag::REFERRER_LOGGED | flag::REFERRER_EMPTY)
            == flag::PAGE | flag::REFERRER_LOGGED;
        named.then_some(u32::from(self.referrer_host))
    }

    /// A page request of which nothing else is known.
    #[cfg(test)]
    pub(crate) fn page_for_tests(source: u64, time: u32) -> Record {
        Record {
            source,
            bytes: 0,
            order: 0,
            time,
            page: 1,
            group: 0,
            from: 0,
            agent: 0,
            session: 0,
            referrer_host: 0,
            host: 0,
            flags: flag::PAGE,
            robot: 0,
            took: Took::default(),
        }
    }

    /// A number that is spread evenly over requests and depends on nothing else: the same request has the same.
    pub(crate) fn rank(&self) -> u64 {
        // One long multiplication, whose halves are folded: enough for what is a hash already.
        let what = u64::from(self.page) << 32 | u64::from(self.time);
        let product = u128::from(self.source ^ 0x9e37_79b9_7f4a_7c15)
            * u128::from(what ^ 0xbf58_476d_1ce4_e5b9);
        product as u64 ^ (product >> 64) as u64
    }

    /// Notes the folder in the page's hash.
    fn set_folder(&mut self) {
        let folder = u32::from(self.group) << 16 & !PAGE_MASK;
        self.page = self.page & PAGE_MASK | folder;
    }

    pub(crate) fn has(&self, bits: u32) -> bool {
        self.flags & bits != 0
    }
}

/// Turns requests into records; one for all threads.
#[derive(Debug)]
pub struct Lens {
    secrets: RapidSecrets,
    listings: AhoCorasick,
}

/// What one thread gathers beside the records.
#[derive(Debug, Default)]
pub struct Gathered {
    /// Text of the user agents by hash.
    pub agents: AgentBook,
    /// Text of sources that are no addresses, by hash.
    pub tokens: Vec<(u64, Box<[u8]>)>,
    referrer: LastSite,
}

/// The site that was named last as a referrer: nearly always the next one's, too.
#[derive(Debug, Default)]
struct LastSite {
    /// Scheme, host and port as they were written; empty before the first.
    origin: Vec<u8>,
    /// Where the host begins, and its bytes.
    host: (usize, usize),
    hash: u16,
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
    fn set<'a>(&mut self, url: &'a [u8], lens: &Lens) -> &'a [u8] {
        let (host, rest) = split_url(url);
        self.origin.clear();
        self.origin
            .extend_from_slice(&url[..url.len() - rest.len()]);
        let scheme = if url.starts_with(b"https") { 8 } else { 7 };
        self.host = (scheme.min(self.origin.len()), host.len());
        self.hash = lens.hash(host) as u16;
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

impl Lens {
    /// A lens whose hashes depend on `key` and that takes referrers with one of these texts for listings.
    pub fn new(key: u64, listings: &[String]) -> Result<Lens, String> {
        let listings = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .kind(Some(AhoCorasickKind::DFA))
            .build(listings)
            .map_err(|error| format!("the listing patterns cannot be compiled: {error}"))?;
        Ok(Lens {
            secrets: RapidSecrets::seed(key),
            listings,
        })
    }

    #[inline]
    fn hash(&self, bytes: &[u8]) -> u64 {
        rapidhash_v3_micro_inline::<true, false>(bytes, &self.secrets)
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
        let target = Target::of(request.target);
        let mut record = Record {
            source: source.value,
            bytes: request.bytes,
            order: 0,
            time: request.time,
            page: 0,
            group: 0,
            from: 0,
            agent: 0,
            session: 0,
            referrer_host: 0,
            host: 0,
            flags: source.kind as u32,
            robot: 0,
            took: Took::default(),
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
        match resource {
            _ if resource.is_page(request.method) => {
                self.look_at_page(&target, &mut record);
                if matches!(request.status, 200 | 203 | 206 | 304) {
                    record.flags |= flag::SHOWN;
                }
            }
            Resource::Image => record.flags |= flag::ASSET | flag::IMAGE,
            Resource::Asset => record.flags |= flag::ASSET,
            Resource::Font => record.flags |= flag::ASSET | flag::DRAWN,
            Resource::Icon => record.flags |= flag::DRAWN,
            Resource::Robots => record.flags |= flag::ROBOTS,
            _ => {}
        }
        if request.status == 304 && record.has(flag::ASSET) {
            record.flags |= flag::DRAWN;
        }
        self.look_at_intent(request, resource, target.path, knowledge, &mut record);
        self.look_at_referrer(request, &mut gathered.referrer, &mut record);
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
        let is_usual = matches!(request.status, 200 | 304) && !path.starts_with(b"/.");
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

    fn look_at_referrer(&self, request: &Request<'_>, site: &mut LastSite, record: &mut Record) {
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
                // Browsers name a page with its path. A request that refers to itself follows no link; a form is often sent to its
                // own page.
                let is_itself = rest == request.target && !record.has(flag::POST);
                if rest.is_empty() || is_itself {
                    // Another site's start page has the same path as one's own.
                    if rest != b"/" {
                        record.flags |= flag::REFERRER_ODD;
                    }
                } else if rest != b"/robots.txt" {
                    record.flags |= flag::REFERRER_LINK;
                    // What a style sheet brings belongs to the page that brought the style sheet.
                    if !(record.has(flag::ASSET) && path(rest).ends_with(b".css")) {
                        record.from = match rest {
                            b"/" => START,
                            _ => self.hash(rest) as u16,
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
                if record.has(flag::PAGE) && self.listings.is_match(rest) {
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
                record.robot = gathered.agents.robot(hash, agent, knowledge);
                record.flags |= flag::AGENT_LOGGED;
                if agent.starts_with(b"Mozilla/") || agent.starts_with(b"Opera/") {
                    record.flags |= flag::BROWSER;
                }
                let robot = record
                    .robot
                    .checked_sub(1)
                    .and_then(|number| knowledge.robots.robot(number));
                if robot.is_some_and(|robot| robot.purpose.is_automated()) {
                    record.flags |= flag::AUTOMATED;
                }
            }
        }
    }
}

/// A page that is not there, or a request nobody can answer. Who is refused (401, 403, 407, 429) did nothing wrong by that, or a
/// source that is once denied would never come free; and 499 is a client that went away, as people do.
fn is_error(status: u16) -> bool {
    status / 100 == 4 && !matches!(status, 401 | 403 | 407 | 429 | 499)
}

/// The host of a URL, and what follows it. Text that is no URL has no host.
fn split_url(url: &[u8]) -> (&[u8], &[u8]) {
    let scheme = match url {
        [b'h', b't', b't', b'p', b's', b':', b'/', b'/', ..] => 8,
        [b'h', b't', b't', b'p', b':', b'/', b'/', ..] => 7,
        _ => return (b"", url),
    };
    let rest = &url[scheme..];
    let end = memchr::memchr3(b'/', b'?', b'#', rest).unwrap_or(rest.len());
    let host = &rest[..end];
    (without_port(host), &rest[end..])
}

fn without_port(host: &[u8]) -> &[u8] {
    let digits = host
        .iter()
        .rev()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let name = &host[..host.len() - digits];
    name.strip_suffix(b":").unwrap_or(host)
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
        let lens = Lens::new(1, &listings).unwrap();
        let request = Request {
            client: Client::Written(b"192.0.2.1"),
            method: b"GET",
            target: target.as_bytes(),
            referrer: Field::logged(referrer.as_bytes()),
            host: Field::Value(b"www.example.com"),
            ..Request::default()
        };
        lens.record(&request, &knowledge(), &mut Gathered::default())
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
