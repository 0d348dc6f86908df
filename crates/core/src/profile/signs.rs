//! What the header fields of a page request say about the browser that its user agent claims to be: decided when the record is made,
//! while their texts are there, and counted in the profile.
//!
//! The rules were checked with Chromium 156 and Firefox 153 (navigations, reloads, going back, restored sessions, redirects, frames,
//! forms, fetch, XHR, service workers). Service workers and scripts send page requests with other fields than navigations, so those are
//! not judged.

use crate::knowledge::Browser;
use crate::knowledge::Engine;
use crate::knowledge::System;
use crate::request::Field;
use crate::request::Header;
use crate::request::HeaderFields;

/// What `Sec-Fetch-Site`, `-Mode` and `-Dest` say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fetch {
    /// Not logged, or not sent by this browser.
    NotJudged,
    /// Sent, and in agreement with the rest.
    Sent,
    /// Not sent by a browser that always does over TLS.
    Missing,
    /// No page led there, beside a referrer of the same site.
    NoSite,
    /// A page of this site led there, beside another site's referrer.
    OtherSite,
    /// A mode and a destination that do not go together.
    Destination,
}

/// What `Sec-CH-UA`, `-Mobile` and `-Platform` say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hints {
    /// Not logged, or not sent by this browser.
    NotJudged,
    /// Sent, and in agreement with the agent.
    Sent,
    /// Not sent by a browser that always does over TLS.
    Missing,
    /// Another version than the agent's.
    Version,
    /// Sent under the agent of a browser that has no such fields.
    Engine,
    /// Another system than the agent's.
    System,
    /// A browser whose pages nobody sees, under an agent that conceals it.
    Headless,
}

/// What the order of header fields says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Not logged, or of a browser whose order is not known.
    NotJudged,
    /// That of the browser.
    Usual,
    /// Another.
    Other,
}

/// What the header fields of one request say, in 13 bits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Signs(u16);

const HINTS_AT: u16 = 3;
const ORDER_AT: u16 = 6;
const LANGUAGE_AT: u16 = 8;
/// Of the language: not sent; smaller is not logged, larger a hash.
const UNSENT: u8 = 1;
const LANGUAGES: u8 = 30;
/// Bytes of a language's tag that count, before its region.
const LANGUAGE_MAX: usize = 16;

/// A request with its header fields, and what else they are compared with.
pub(crate) struct Sent<'a> {
    pub(crate) fields: HeaderFields<'a>,
    pub(crate) browser: Browser,
    /// The host of the referrer, where there is one.
    pub(crate) referrer: Option<&'a [u8]>,
    /// The host asked for.
    pub(crate) host: Option<&'a [u8]>,
}

/// Which header fields of one page request contradict the browser that it claims to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Contradictions(u8);

impl Contradictions {
    /// None at all.
    pub const NONE: Contradictions = Contradictions(0);
    const NAMES: [&str; 4] = ["fetch", "hints", "order", "language"];

    /// True where none does.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Their names, separated by commas: `fetch` for `Sec-Fetch-*`, `hints` for `Sec-CH-UA*`, `order` for the order of fields, `language`
    /// for a missing `Accept-Language`.
    pub fn words(self) -> String {
        let names = Contradictions::NAMES.iter().enumerate();
        let named = names.filter(|(at, _)| self.0 >> at & 1 == 1);
        let named: Vec<&str> = named.map(|(_, name)| *name).collect();
        named.join(",")
    }
}

impl Signs {
    /// What a page request's header fields say; nothing where the browser is not known.
    pub(crate) fn of(sent: &Sent<'_>, hash: impl Fn(&[u8]) -> u64) -> Signs {
        if sent.browser.engine == Engine::Unknown {
            return Signs::default();
        }
        let loading = Loading::of(&sent.fields);
        let fetch = sent.fetch(loading);
        if loading == Loading::Other {
            return Signs(fetch as u16);
        }
        let (hints, order) = (sent.hints() as u16, sent.order() as u16);
        let language = u16::from(sent.language(hash));
        Signs(fetch as u16 | hints << HINTS_AT | order << ORDER_AT | language << LANGUAGE_AT)
    }

    /// How many bits hold them.
    pub(super) const BITS: u32 = 13;

    pub(super) fn bits(self) -> u16 {
        self.0
    }

    #[inline]
    pub(super) fn from_bits(bits: u16) -> Signs {
        Signs(bits)
    }

    #[inline]
    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Which of the fields contradict the browser.
    pub(crate) fn contradictions(self) -> Contradictions {
        let found = [
            self.fetch() > Fetch::Sent as usize,
            self.hints() > Hints::Sent as usize,
            self.order() == Order::Other as usize,
            self.language() == UNSENT,
        ];
        let bits = found.iter().enumerate();
        Contradictions(bits.fold(0, |bits, (at, is)| bits | u8::from(*is) << at))
    }

    fn fetch(self) -> usize {
        usize::from(self.0 & 7)
    }

    fn hints(self) -> usize {
        usize::from(self.0 >> HINTS_AT & 7)
    }

    fn order(self) -> usize {
        usize::from(self.0 >> ORDER_AT & 3)
    }

    /// A few bits of the preferred language's hash; 0 where it is not known, 1 where none was sent.
    #[inline]
    pub(super) fn language(self) -> u8 {
        (self.0 >> LANGUAGE_AT & 31) as u8
    }
}

/// What a page request was sent for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Loading {
    /// To show a page, in a window or a frame.
    Navigation,
    /// By a script or a service worker.
    Other,
    /// It does not say.
    Unknown,
}

impl Loading {
    fn of(fields: &HeaderFields<'_>) -> Loading {
        let dest = fields[Header::FetchDest as usize];
        let is_document = matches!(
            dest,
            Field::NotLogged
                | Field::Value(b"document" | b"iframe" | b"frame" | b"nested-document")
        );
        match fields[Header::FetchMode as usize] {
            Field::Value(b"navigate") if is_document => Loading::Navigation,
            Field::Value(_) => Loading::Other,
            Field::NotLogged | Field::Empty if dest.value().is_none() => Loading::Unknown,
            Field::NotLogged | Field::Empty => match is_document {
                true => Loading::Navigation,
                false => Loading::Other,
            },
        }
    }
}

impl<'a> Sent<'a> {
    fn field(&self, header: Header) -> Field<'a> {
        self.fields[header as usize]
    }

    fn fetch(&self, loading: Loading) -> Fetch {
        let [site, mode, dest] = [Header::FetchSite, Header::FetchMode, Header::FetchDest]
            .map(|header| self.field(header));
        let all = [site, mode, dest];
        if all.iter().all(|field| *field == Field::NotLogged) {
            return Fetch::NotJudged;
        }
        if all.iter().all(|field| field.value().is_none()) {
            return match self.browser.sends_fetch_metadata() {
                true => Fetch::Missing,
                false => Fetch::NotJudged,
            };
        }
        if contradict(mode.value(), dest.value()) {
            return Fetch::Destination;
        }
        if loading != Loading::Navigation {
            return Fetch::NotJudged;
        }
        match (site.value(), self.referrer, self.host) {
            // Safari keeps the referrer of a page that is loaded again by other means.
            (Some(b"none"), Some(referrer), Some(host))
                if self.browser.engine != Engine::WebKit && referrer.eq_ignore_ascii_case(host) =>
            {
                Fetch::NoSite
            }
            // The reverse, this site's referrer beside `cross-site`, follows from a redirect through another site.
            (Some(b"same-origin" | b"same-site"), Some(referrer), Some(host))
                if are_two_sites(referrer, host) =>
            {
                Fetch::OtherSite
            }
            _ => Fetch::Sent,
        }
    }

    fn hints(&self) -> Hints {
        let [brands, mobile, platform] =
            [Header::Brands, Header::Mobile, Header::Platform].map(|header| self.field(header));
        let browser = self.browser;
        let Field::Value(brands) = brands else {
            return match brands == Field::Empty && browser.sends_client_hints() {
                true => Hints::Missing,
                false => Hints::NotJudged,
            };
        };
        if browser.engine != Engine::Chromium {
            return Hints::Engine;
        }
        if has(brands, b"HeadlessChrome") && !browser.is_headless {
            return Hints::Headless;
        }
        if brand_version(brands).is_some_and(|version| version != browser.version) {
            return Hints::Version;
        }
        let is_other_kind = match mobile.value() {
            // The desktop view of telephones names Linux.
            Some(b"?1") => !browser.is_mobile && browser.system != System::Linux,
            Some(b"?0") => browser.is_mobile,
            _ => false,
        };
        let platform = platform.value().map(unquoted);
        match is_other_kind || platform.is_some_and(|name| is_other_system(browser.system, name)) {
            true => Hints::System,
            false => Hints::Sent,
        }
    }

    fn order(&self) -> Order {
        let Field::Value(order) = self.field(Header::Order) else {
            return Order::NotJudged;
        };
        // Chrome before version 50 or so sent Accept before User-Agent.
        let usual: &[u8] = match self.browser.engine {
            Engine::Chromium if self.browser.version >= 80 => b"uael",
            Engine::Gecko if self.browser.version >= 60 => b"uale",
            _ => return Order::NotJudged,
        };
        let place = |letter: &u8| order.iter().position(|sent| sent == letter);
        let places = || usual.iter().filter_map(place);
        match places().count() {
            0..=2 => Order::NotJudged,
            _ if places().is_sorted() => Order::Usual,
            _ => Order::Other,
        }
    }

    /// The language that is preferred: its region and those after it say little.
    fn language(&self, hash: impl Fn(&[u8]) -> u64) -> u8 {
        match self.field(Header::Language) {
            Field::NotLogged => 0,
            Field::Empty => UNSENT,
            Field::Value(languages) => {
                let end = languages.iter().position(|byte| b",;-".contains(byte));
                let first = &languages[..end.unwrap_or(languages.len())];
                // Without a copy on the heap: tags of languages are short.
                let mut small = [0; LANGUAGE_MAX];
                let length = first.len().min(LANGUAGE_MAX);
                small[..length].copy_from_slice(&first[..length]);
                small.make_ascii_lowercase();
                let hash = hash(&small[..length]);
                UNSENT + 1 + (hash % u64::from(LANGUAGES)) as u8
            }
        }
    }
}

/// A mode and a destination that no browser sends together. Chromium's service workers navigate to `empty`.
fn contradict(mode: Option<&[u8]>, dest: Option<&[u8]>) -> bool {
    matches!(
        (mode, dest),
        (
            Some(b"navigate"),
            Some(b"image" | b"style" | b"script" | b"font" | b"audio" | b"video" | b"track"),
        ) | (Some(b"no-cors" | b"cors" | b"websocket"), Some(b"document"))
    )
}

/// True for hosts of two sites: their last two labels differ. Addresses and single words are no sites.
fn are_two_sites(one: &[u8], other: &[u8]) -> bool {
    fn site(host: &[u8]) -> Option<&[u8]> {
        let last = memchr::memrchr(b'.', host)?;
        let is_name = host.get(last + 1)?.is_ascii_alphabetic();
        let before = memchr::memrchr(b'.', &host[..last]).map_or(0, |dot| dot + 1);
        is_name.then_some(&host[before..])
    }
    match (site(one), site(other)) {
        (Some(one), Some(other)) => !one.eq_ignore_ascii_case(other),
        _ => false,
    }
}

fn has(text: &[u8], part: &[u8]) -> bool {
    memchr::memmem::find(text, part).is_some()
}

/// Quotes as clients write them, and as logs do.
const QUOTES: [&[u8]; 4] = [br"\x22", br#"\""#, b"\"", b"'"];

fn behind_quote(text: &[u8]) -> &[u8] {
    let mut quotes = QUOTES.iter();
    quotes
        .find_map(|quote| text.strip_prefix(*quote))
        .unwrap_or(text)
}

fn unquoted(text: &[u8]) -> &[u8] {
    let text = behind_quote(text);
    let mut quotes = QUOTES.iter();
    quotes
        .find_map(|quote| text.strip_suffix(*quote))
        .unwrap_or(text)
}

/// The version in `"Chromium";v="131"`.
fn brand_version(brands: &[u8]) -> Option<u16> {
    let at = memchr::memmem::find(brands, b"Chromium")? + b"Chromium".len();
    let version = behind_quote(&brands[at..]).strip_prefix(b";v=")?;
    let version = behind_quote(version);
    let digits = version.iter().take_while(|byte| byte.is_ascii_digit());
    let length = digits.count();
    std::str::from_utf8(&version[..length]).ok()?.parse().ok()
}

/// True for a platform that an agent with this system does not have. The desktop view of telephones names Linux in the agent.
fn is_other_system(system: System, platform: &[u8]) -> bool {
    const KNOWN: [&[u8]; 4] = [b"Windows", b"macOS", b"Android", b"Linux"];
    let expected: &[&[u8]] = match system {
        System::Windows => &[b"Windows"],
        System::Mac => &[b"macOS"],
        System::Android => &[b"Android"],
        System::Linux => &[b"Linux", b"Android"],
        System::Other => return false,
    };
    KNOWN.contains(&platform) && !expected.contains(&platform)
}

/// What the header fields of a source's page requests say, by how many say it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SignCounts {
    fetch: [u32; 8],
    hints: [u32; 8],
    order: [u32; 4],
    /// Page requests whose language was logged.
    pub languages: u32,
    /// Of these, the ones without one.
    pub languages_missing: u32,
    /// Links followed with the language of the page before.
    pub languages_kept: u32,
    /// Links followed with another.
    pub languages_changed: u32,
}

impl SignCounts {
    /// Page requests of which `Sec-Fetch-*` say this.
    pub fn fetch(&self, sign: Fetch) -> u32 {
        self.fetch[sign as usize]
    }

    /// Page requests of which `Sec-CH-UA*` say this.
    pub fn hints(&self, sign: Hints) -> u32 {
        self.hints[sign as usize]
    }

    /// Page requests of which the order of fields says this.
    pub fn order(&self, sign: Order) -> u32 {
        self.order[sign as usize]
    }

    /// True where no header field was logged.
    pub fn is_empty(&self) -> bool {
        *self == SignCounts::default()
    }

    /// Page requests whose `Sec-Fetch-*` could be judged.
    pub fn fetch_judged(&self) -> u32 {
        self.fetch.iter().skip(1).sum()
    }

    /// Page requests whose `Sec-CH-UA*` could be judged.
    pub fn hints_judged(&self) -> u32 {
        self.hints.iter().skip(1).sum()
    }

    /// Page requests whose order of fields could be judged.
    pub fn order_judged(&self) -> u32 {
        self.order.iter().skip(1).sum()
    }

    pub(super) fn observe(&mut self, signs: Signs) {
        self.fetch[signs.fetch()] += 1;
        self.hints[signs.hints()] += 1;
        self.order[signs.order()] += 1;
        self.languages += u32::from(signs.language() > 0);
        self.languages_missing += u32::from(signs.language() == UNSENT);
    }

    /// Notes the languages of a page and of the one to which a link there led.
    pub(super) fn compare_languages(&mut self, before: u8, now: u8) {
        if before > UNSENT && now > UNSENT {
            let count = match before == now {
                true => &mut self.languages_kept,
                false => &mut self.languages_changed,
            };
            *count += 1;
        }
    }

    pub(super) fn absorb(&mut self, other: &SignCounts) {
        let add = |mine: &mut [u32], theirs: &[u32]| {
            let pairs = mine.iter_mut().zip(theirs);
            pairs.for_each(|(mine, theirs)| *mine = mine.saturating_add(*theirs));
        };
        add(&mut self.fetch, &other.fetch);
        add(&mut self.hints, &other.hints);
        add(&mut self.order, &other.order);
        let sums = [
            (&mut self.languages, other.languages),
            (&mut self.languages_missing, other.languages_missing),
            (&mut self.languages_kept, other.languages_kept),
            (&mut self.languages_changed, other.languages_changed),
        ];
        for (mine, theirs) in sums {
            *mine = mine.saturating_add(theirs);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Headers;

    const CHROME: &str = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36";
    const FIREFOX: &str =
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:133.0) Gecko/20100101 Firefox/133.0";
    const BRANDS: &str = r#""Google Chrome";v="131", "Chromium";v="131", "Not_A Brand";v="24""#;

    /// Signs of a request for www.example.org with these header fields.
    fn signs(agent: &str, referrer: Option<&str>, fields: &[(Header, &str)]) -> Signs {
        let mut text = Vec::new();
        for (header, value) in fields {
            Headers::write(*header, value.as_bytes(), &mut text);
        }
        let sent = Sent {
            fields: Headers::of(&text).all(),
            browser: Browser::of(agent.as_bytes()),
            referrer: referrer.map(str::as_bytes),
            host: Some(b"www.example.org"),
        };
        Signs::of(&sent, |bytes| {
            bytes.iter().map(|byte| u64::from(*byte)).sum()
        })
    }

    fn check_fetch(agent: &str, referrer: Option<&str>, values: [&str; 3], expected: Fetch) {
        let names = [Header::FetchSite, Header::FetchMode, Header::FetchDest];
        let fields: Vec<(Header, &str)> = names.into_iter().zip(values).collect();
        let found = signs(agent, referrer, &fields).fetch();
        assert_eq!(found, expected as usize, "{referrer:?} {values:?}");
    }

    #[test]
    fn fetch_metadata() {
        let (own, other) = (Some("www.example.org"), Some("www.example.net"));
        let page = |site| [site, "navigate", "document"];
        check_fetch(CHROME, None, page("none"), Fetch::Sent);
        check_fetch(CHROME, own, page("same-origin"), Fetch::Sent);
        check_fetch(CHROME, other, page("cross-site"), Fetch::Sent);
        // A redirect through another site.
        check_fetch(CHROME, own, page("cross-site"), Fetch::Sent);
        check_fetch(CHROME, own, page("none"), Fetch::NoSite);
        // An app that opens a link.
        check_fetch(CHROME, other, page("none"), Fetch::Sent);
        check_fetch(FIREFOX, other, page("same-origin"), Fetch::OtherSite);
        check_fetch(
            CHROME,
            Some("m.example.org"),
            page("same-site"),
            Fetch::Sent,
        );
        check_fetch(CHROME, Some("192.0.2.1"), page("same-origin"), Fetch::Sent);
        let check =
            |site, mode, dest, expected| check_fetch(CHROME, own, [site, mode, dest], expected);
        check("same-origin", "navigate", "image", Fetch::Destination);
        check("same-origin", "no-cors", "document", Fetch::Destination);
        // A service worker, a script, and a picture whose address looks like a page's.
        check("same-origin", "navigate", "empty", Fetch::NotJudged);
        check("same-origin", "cors", "empty", Fetch::NotJudged);
        check("same-origin", "no-cors", "image", Fetch::NotJudged);
        check("", "", "", Fetch::Missing);
        let old = CHROME.replace("131", "79");
        check_fetch(&old, None, ["", "", ""], Fetch::NotJudged);
        check_fetch("curl/8.0", None, ["", "", ""], Fetch::NotJudged);
    }

    fn check_hints(agent: &str, values: [&str; 3], expected: Hints) {
        let names = [Header::Brands, Header::Mobile, Header::Platform];
        let fields: Vec<(Header, &str)> = names.into_iter().zip(values).collect();
        let found = signs(agent, None, &fields).hints();
        assert_eq!(found, expected as usize, "{agent} {values:?}");
    }

    #[test]
    fn client_hints() {
        check_hints(CHROME, [BRANDS, "?0", "\"Windows\""], Hints::Sent);
        // As the gate, nginx and Apache write it.
        for quote in ["'", r"\x22", r#"\""#] {
            let [brands, windows, linux] =
                [BRANDS, "\"Windows\"", "\"Linux\""].map(|text| text.replace('"', quote));
            check_hints(CHROME, [&brands, "?0", &windows], Hints::Sent);
            check_hints(CHROME, [&brands, "?0", &linux], Hints::System);
            let brands = brands.replace("131", "120");
            check_hints(CHROME, [&brands, "?0", &windows], Hints::Version);
        }
        check_hints(CHROME, ["", "", ""], Hints::Missing);
        check_hints(CHROME, [BRANDS, "?1", "Windows"], Hints::System);
        check_hints(FIREFOX, [BRANDS, "?0", "Windows"], Hints::Engine);
        check_hints(FIREFOX, ["", "", ""], Hints::NotJudged);
        let headless = BRANDS.replace("Google Chrome", "HeadlessChrome");
        check_hints(CHROME, [&headless, "?0", "Windows"], Hints::Headless);
        let honest = CHROME.replace("Chrome/", "HeadlessChrome/");
        check_hints(&honest, [&headless, "?0", "Windows"], Hints::Sent);
        // The desktop view of a telephone.
        let desktop = CHROME.replace("Windows NT 10.0; Win64; x64", "X11; Linux x86_64");
        check_hints(&desktop, [BRANDS, "?1", "Android"], Hints::Sent);
        check_hints(&desktop, [BRANDS, "?0", "Windows"], Hints::System);
    }

    #[test]
    fn the_order_of_fields() {
        let check = |agent: &str, order: &str, expected: Order| {
            let found = signs(agent, None, &[(Header::Order, order)]).order();
            assert_eq!(found, expected as usize, "{order}");
        };
        check(CHROME, "huael", Order::Usual);
        check(CHROME, "huae", Order::Usual);
        check(CHROME, "huale", Order::Other);
        check(FIREFOX, "huale", Order::Usual);
        check(FIREFOX, "huael", Order::Other);
        // curl, Go and Python with the fields of a browser.
        check(CHROME, "hulae", Order::Other);
        check(CHROME, "hueal", Order::Other);
        check(CHROME, "hua", Order::NotJudged);
        check(&CHROME.replace("131", "49"), "haue", Order::NotJudged);
    }

    #[test]
    fn languages_are_told_apart_where_a_browser_sends_them() {
        let language =
            |agent: &str, text| signs(agent, None, &[(Header::Language, text)]).language();
        assert_eq!(language(CHROME, "en-US,en;q=0.9"), language(CHROME, "EN"));
        assert_ne!(language(CHROME, "en-US,en;q=0.9"), language(CHROME, "de"));
        assert_eq!(language(CHROME, ""), UNSENT);
        assert_eq!(language("curl/8.0", "en"), 0);
        assert_eq!(signs(CHROME, None, &[]), Signs::default());
    }
}
