//! Programs that are on no list, by the shape of their user agent.
//!
//! A browser's agent begins with `Mozilla/` (or `Opera/`), names a system that people use, and speaks of nothing but browsers, systems
//! and devices. Programs give an address where to complain, a name for what they do, or nothing but a name and a number.

use aho_corasick::AhoCorasick;

use super::Purpose;

/// Words that tell what a program comes for; the first row that fits counts. A word matches at the beginning of a word of the agent, with
/// a star before it anywhere.
const WORDS: [(Purpose, &str); 8] = [
    (
        Purpose::Preview,
        "qt/ *wkhtmlto *cutycapt *mshots *preview *unfurl *cardyb *thumb *screenshot *browsershots *snapshot *favicon *linkexpander *weblight *transcoder link_resolver",
    ),
    (
        Purpose::Feed,
        "*feed *rss/ rss *podcast *subscriber *bloglovin *inoreader *liferea *akregator *pubsub *newsreader *reader/ reader",
    ),
    (
        Purpose::Monitor,
        "*monitor *uptime *health *probe *pingdom ping/ *statuscake *synthetic *gomezagent *dejaclick *observatory page_speed *pagespeed \
         *insights *lighthouse *gtmetrix *webpagetest *nagios *zabbix *site24x7 *watchdog *httpmon hobbit *catchpoint *alertsite",
    ),
    (
        Purpose::Scanner,
        "*scan *nikto *sqlmap *nessus *burpcollaborator *zgrab *nmap *fuzz *exploit *pentest *clamav *vulner *jorgee *whatcms *inspect (select sleep(",
    ),
    (
        Purpose::Automation,
        "*headless *phantomjs *selenium *webdriver *puppeteer *playwright cypress/ *slimerjs *htmlunit *mechanize *jsdom *testcafe",
    ),
    (
        Purpose::Archive,
        "*archiver archive *archive.org *wayback *httrack *heritrix *webcopier *webzip *collage",
    ),
    (Purpose::Seo, "*seo/ *seo- seo *backlink *pagerank *serp"),
    (
        Purpose::Other,
        "*crawl *spider *scrap *slurp *fetch *indexer index *search *harvest *extract *exract *grab *collect *download *getter *leech \
         check *checker *valid *verif *analy *classif *semantic *detect *robot *worm *catalog *parser *bbtest *survey *research \
         *curl *wget http *-http *http/ *httpclient *python java/ *jakarta php *perl ruby *golang go-http go_1 go-resty *libwww lwp *okhttp \
         *axios node- node.js rest *grpc client *library sdk api *postman *winhttp *cryptoapi *aria2 hydra dcv cron cloudflare cloud- \
         *agent/ *agent_ *daum *ezooms facebookplatform facebookcatalog *dataprovider google- google_ *-google google_search google_web google_page googlemess \
         *advisor cursor/ claude- *gptbot *openai *anthropic *perplexity *mixnode *medusa *hwcdn *cloudcdn cdn",
    ),
];

/// Names of people's browsers, apps and devices that hold one of the words above.
const PEOPLES: [&str; 20] = [
    "cubot",
    "camscanner",
    "hisearch",
    "inapp; search",
    "checkout",
    "research in motion",
    "searchcraft",
    "google pixel",
    "googletv",
    "google tv",
    "mozacfetch",
    "linespider",
    "samsungbrowser",
    "facebookexternal",
    "com.facebook",
    "adobe reader",
    "microsoft office",
    "opera mini",
    "java platform",
    "yasearchbrowser",
];

/// Systems that people use, as they stand in the first bracket of a browser's agent.
const SYSTEMS: [&str; 59] = [
    "crkey",
    "windows",
    "macintosh",
    "mac os",
    "mac_powerpc",
    "macppc",
    "x11",
    "linux",
    "android",
    "iphone",
    "ipad",
    "ipod",
    "ios ",
    "mobile;",
    "tablet;",
    "cros",
    "playstation",
    "nintendo",
    "wii",
    "xbox",
    "symbian",
    "series60",
    "series40",
    "blackberry",
    "bb10",
    "playbook",
    "webos",
    "web0s",
    "smart-tv",
    "smarttv",
    "tizen",
    "kaios",
    "freebsd",
    "openbsd",
    "netbsd",
    "dragonfly",
    "sunos",
    "os/2",
    "amiga",
    "haiku",
    "beos",
    "maemo",
    "meego",
    "bada",
    "hpwos",
    "msie",
    "konqueror",
    "fuchsia",
    "harmonyos",
    "openharmony",
    "syllable",
    "risc os",
    "morphos",
    "irix",
    "hp-ux",
    "aix",
    "osf1",
    "palm",
    "darwin",
];

/// The words of [`WORDS`], ready to be looked for.
#[derive(Debug)]
pub(super) struct Shapes {
    automaton: AhoCorasick,
    /// For each word its row in [`WORDS`], and whether it may stand inside a word.
    rows: Vec<(usize, bool)>,
}

/// Bytes of an agent that are looked at.
const AGENT_BYTES_MAX: usize = 1024;

impl Shapes {
    pub(super) fn new() -> Result<Shapes, String> {
        let (mut texts, mut rows) = (Vec::new(), Vec::new());
        for (row, (_, words)) in WORDS.iter().enumerate() {
            for word in words.split_ascii_whitespace() {
                let bare = word.strip_prefix('*');
                texts.push(bare.unwrap_or(word).replace('_', " "));
                rows.push((row, bare.is_some()));
            }
        }
        let automaton = AhoCorasick::new(&texts)
            .map_err(|error| format!("the words of programs cannot be compiled: {error}"))?;
        Ok(Shapes { automaton, rows })
    }

    /// What a program comes for that says so: by a word, by an address where to complain, by calling itself a bot.
    pub(super) fn marked(&self, agent: &str) -> Option<Purpose> {
        let agent = &agent[..agent.floor_char_boundary(AGENT_BYTES_MAX)];
        let bare = without_peoples(&agent.to_ascii_lowercase());
        let by_word = self.purpose(&bare);
        let is_marked = gives_an_address(&bare) || has_word_bot(&bare);
        by_word.or(is_marked.then_some(Purpose::Other))
    }

    /// What a program comes for whose agent is on no list. `None` for what may be a person's browser or app.
    pub(super) fn program(&self, agent: &str) -> Option<Purpose> {
        let agent = &agent[..agent.floor_char_boundary(AGENT_BYTES_MAX)];
        let lower = agent.to_ascii_lowercase();
        let bare = without_peoples(&lower);
        let by_word = self.purpose(&bare);
        let is_marked = by_word.is_some() || gives_an_address(&bare) || has_word_bot(&bare);
        let is_browser = lower.starts_with("mozilla/") || lower.starts_with("opera/");
        let is_suspect = if is_browser {
            is_marked
                || !names_a_system(&lower)
                || is_compatible_with_nothing(&lower)
                || is_misspelt(&lower)
        } else {
            // Apps of telephones name the device, and text browsers themselves. Whatever else does not claim to be a browser
            // is a program, and so is what puts a name before a browser's.
            let is_app = names_a_device(&lower) && agent.contains(['/', '(']);
            let is_text_browser = TEXT_BROWSERS.iter().any(|name| lower.starts_with(name));
            !is_text_browser && (is_marked || !is_app || lower.contains("mozilla/"))
        };
        let otherwise = if is_browser {
            Purpose::Other
        } else {
            Purpose::Library
        };
        is_suspect.then(|| by_word.unwrap_or(otherwise))
    }

    fn purpose(&self, agent: &str) -> Option<Purpose> {
        let rows = self
            .automaton
            .find_overlapping_iter(agent)
            .filter_map(|found| {
                let (row, anywhere) = self.rows[found.pattern().as_usize()];
                let before = &agent[..found.start()];
                let starts = !before.ends_with(|char: char| char.is_ascii_alphanumeric());
                (anywhere || starts).then_some(row)
            });
        rows.min().map(|row| WORDS[row].0)
    }
}

fn without_peoples(lower: &str) -> String {
    PEOPLES
        .iter()
        .fold(lower.to_owned(), |text, word| text.replace(word, " "))
}

const TEXT_BROWSERS: [&str; 8] = [
    "lynx/",
    "links (",
    "elinks",
    "w3m/",
    "ncsa_mosaic/",
    "dillo/",
    "netsurf/",
    "ibrowse/",
];

/// A place to complain: browsers give none.
fn gives_an_address(agent: &str) -> bool {
    let is_host = |text: &str| {
        let host = text
            .split([' ', ')', ';', ',', '/'])
            .next()
            .unwrap_or_default();
        host.rsplit_once('.').is_some_and(|(name, last)| {
            !name.is_empty()
                && last.len() >= 2
                && last.chars().all(|char| char.is_ascii_alphabetic())
        })
    };
    let has_mail = agent.match_indices('@').any(|(at, _)| {
        agent[..at].ends_with(|char: char| char.is_ascii_alphanumeric())
            && is_host(&agent[at + 1..])
    });
    has_mail
        || [
            "http:", "https:", "www.", ".com/", ".com)", ".com;", ".org/", ".net/", ".com ",
            " at ", "[at]",
        ]
        .iter()
        .any(|text| agent.contains(text))
        || agent.ends_with(".com")
}

/// `bot` at the end of a word.
fn has_word_bot(agent: &str) -> bool {
    agent.match_indices("bot").any(|(at, _)| {
        let after = agent[at + 3..]
            .strip_prefix('s')
            .unwrap_or(&agent[at + 3..]);
        !after.starts_with(|char: char| char.is_ascii_alphabetic())
    })
}

/// What somebody wrote who copied a browser's agent badly: without its blanks, cut off, with letters or a version that no browser has.
pub(crate) fn is_misspelt(agent: &str) -> bool {
    const WRONG: [&str; 8] = [
        ",gzip(gfe)",
        "mozilla/5.0(",
        "gecko)'",
        "likegecko",
        "mozlila",
        "moblie",
        "bulid",
        "firefox/x",
    ];
    // Longer ones may have been cut by the server.
    let is_cut = agent.len() < 200
        && agent.starts_with("mozilla/5.0 (")
        && agent.matches('(').count() != agent.matches(')').count();
    is_cut
        || WRONG.iter().any(|text| agent.contains(text))
        || has_odd_firefox(agent)
        || has_odd_chrome(agent)
}

/// Since its fifth version Firefox names itself by a whole number.
fn has_odd_firefox(agent: &str) -> bool {
    let Some((_, version)) = agent.split_once("firefox/") else {
        return false;
    };
    let (whole, rest) = version.split_once('.').unwrap_or((version, "0"));
    let is_later = whole.parse().is_ok_and(|whole: u32| whole >= 5);
    is_later && !rest.starts_with('0')
}

/// Since its fifth version the second number of Chrome's is 0.
fn has_odd_chrome(agent: &str) -> bool {
    let Some((_, version)) = agent.split_once(" chrome/") else {
        return false;
    };
    let mut numbers = version.split(|char: char| !char.is_ascii_digit());
    let first = numbers.next().and_then(|number| number.parse().ok());
    let second = numbers.next().filter(|number| !number.is_empty());
    first.is_some_and(|first: u32| first >= 5) && second.is_some_and(|second| second != "0")
}

fn names_a_system(agent: &str) -> bool {
    SYSTEMS.iter().any(|system| agent.contains(system))
}

/// A device, or a system that has apps; the bare network library of Apple's systems is none.
fn names_a_device(agent: &str) -> bool {
    const DEVICES: [&str; 34] = [
        "android",
        "iphone",
        "ipad",
        "ios/",
        "ios ",
        "dalvik",
        "windows phone",
        "midp",
        "symbian",
        "series60",
        "blackberry",
        "nokia",
        "samsung",
        "sonyericsson",
        "lg-",
        "lge-",
        "mot-",
        "ucweb",
        "j2me",
        "tizen",
        "roku",
        "appletv",
        "watchos",
        "mac os x",
        "macos",
        "windows nt",
        "windows 1",
        "opentv",
        "hbbtv",
        "netcast",
        "bravia",
        "fban/",
        "amiga",
        "applewebkit/",
    ];
    DEVICES.iter().any(|device| agent.contains(device))
}

/// `(compatible; Name …)` stands in agents of robots, and of few browsers.
fn is_compatible_with_nothing(agent: &str) -> bool {
    agent.contains("compatible;")
        && ![
            "msie ",
            "konqueror",
            "windows phone",
            "abrowse",
            "trident",
            "googletoolbar",
            "netfront",
            "amiga",
            "beos",
            "haiku",
        ]
        .iter()
        .any(|browser| agent.contains(browser))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browsers_and_apps_are_not_programs() {
        for agent in [
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36",
            "Mozilla/5.0 (Linux; Android 10; CUBOT X20 PRO) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Mobile Safari/537.36",
            "Mozilla/5.0 (compatible; MSIE 9.0; Windows NT 6.1; Trident/5.0)",
            "Opera/9.80 (Windows NT 6.1) Presto/2.12.388 Version/12.16",
            "ExampleApp/1 iPhone5,2 iOS/10_1 CFNetwork/808.3 Darwin/16.3.0",
        ] {
            assert_eq!(Shapes::new().unwrap().program(agent), None, "{agent}");
        }
    }

    #[test]
    fn programs_tell_by_word_address_or_missing_system() {
        for (agent, purpose) in [
            ("example/1.0", Purpose::Library),
            ("Mozilla/5.0", Purpose::Other),
            ("Mozilla/5.0 (compatible; Example/2.0)", Purpose::Other),
            (
                "Mozilla/5.0 (X11; Linux x86_64; ops@example.com)",
                Purpose::Other,
            ),
            (
                "Mozilla/5.0 (X11; Linux x86_64) Example monitoring",
                Purpose::Monitor,
            ),
            ("ExampleFeeds/1.0 (12 subscribers)", Purpose::Feed),
        ] {
            assert_eq!(
                Shapes::new().unwrap().program(agent),
                Some(purpose),
                "{agent}"
            );
        }
    }

    #[test]
    fn agents_that_no_browser_writes() {
        for (agent, expected) in [
            (
                "mozilla/5.0(windowsnt6.3)applewebkit/537.36(khtml,likegecko)chrome/85.0.4183.83safari/537.36",
                true,
            ),
            (
                "mozilla/5.0 (windows nt 10.0) applewebkit/537.36 (khtml, like gecko)' chrome/59.0.3071.115 safari/537.36",
                true,
            ),
            (
                "mozilla/5.0 (windows nt 6.3) applewebkit/534.06 (khtml, like gecko) chrome/57.5.9405.4133 safari/534.45",
                true,
            ),
            (
                "mozilla/5.0 (windows nt 5.0; rv:52.46.93) gecko/20134834 firefox/52.46.93",
                true,
            ),
            (
                "mozilla/5.0 (windows nt 10.0; win64; x64) applewebkit/537.36 (khtml, like gecko) chrome/141.0.0.0 safari/537.36",
                false,
            ),
            (
                "mozilla/5.0 (x11; u; linux i686) applewebkit/532.5 (khtml, like gecko) chrome/4.1.249.1025 safari/532.5",
                false,
            ),
            (
                "mozilla/5.0 (linux; android 14) applewebkit/537.36 (khtml, like gecko) chrome/141 mobile safari/537.36",
                false,
            ),
            (
                "mozilla/5.0 (x11; linux x86_64; rv:140.0) gecko/20100101 firefox/140.0",
                false,
            ),
        ] {
            assert_eq!(is_misspelt(agent), expected, "{agent}");
        }
    }
}
