//! The pages behind a trap: endless, each made from its address alone, small and cheap.
//!
//! The first one says to a person what it is. The others hold words without a meaning, and links to more of them.

use std::fmt::Write as _;

use super::assets;
use super::language::Language;
use super::pages::Page;
use super::pages::escape;
use super::texts::Texts;
use super::trap::FOLDER;
use super::trap::Trap;

/// Nothing is loaded but the style sheet, and no page of another site may show it.
const POLICY: &str = "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'none'";

const ADJECTIVES: [&str; 32] = [
    "old", "quiet", "narrow", "green", "early", "plain", "distant", "heavy", "open", "broken",
    "warm", "hollow", "northern", "steady", "painted", "empty", "common", "sudden", "gentle",
    "rusty", "late", "woven", "silver", "low", "bright", "outer", "dry", "double", "slow", "round",
    "wooden", "pale",
];
const NOUNS: [&str; 64] = [
    "river", "garden", "ladder", "window", "harbour", "letter", "basket", "meadow", "bridge",
    "lantern", "orchard", "kettle", "valley", "market", "pillow", "station", "feather", "barrel",
    "chapel", "island", "candle", "saddle", "winter", "cellar", "mirror", "engine", "pasture",
    "copper", "shutter", "tunnel", "blanket", "harvest", "anchor", "corner", "thread", "hammer",
    "village", "cotton", "journal", "ferry", "granite", "needle", "parcel", "quarry", "ribbon",
    "shelter", "timber", "violin", "wagon", "beacon", "canvas", "drawer", "furnace", "gravel",
    "hedge", "ledger", "mortar", "nursery", "oven", "pebble", "rafter", "sickle", "trellis",
    "workshop",
];
const VERBS: [&str; 16] = [
    "follows",
    "carries",
    "borders",
    "answers",
    "covers",
    "crosses",
    "repairs",
    "remembers",
    "divides",
    "supports",
    "measures",
    "replaces",
    "surrounds",
    "collects",
    "describes",
    "outlasts",
];
const PLACES: [&str; 8] = [
    "behind", "beside", "under", "above", "near", "beyond", "inside", "against",
];

/// Writes the pages behind traps.
#[derive(Debug)]
pub struct Maze<'a> {
    /// The gate's own paths begin with it; it ends with a slash.
    pub prefix: &'a str,
    /// For the page that says what it is.
    pub language: Language,
}

/// Numbers that follow from an address (SplitMix64): the same page is the same whenever it is asked for.
struct Numbers(u64);

impl Numbers {
    fn of(trap: Trap<'_>) -> Numbers {
        // FNV-1a. Nothing depends on who could foresee it.
        let bytes = trap.token.bytes().chain(trap.page.unwrap_or("").bytes());
        let add = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        Numbers(bytes.fold(0xcbf2_9ce4_8422_2325, add))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.next() % (most - least + 1)
    }

    fn word<const N: usize>(&mut self, words: &[&'static str; N]) -> &'static str {
        words[self.next() as usize % N]
    }
}

impl Maze<'_> {
    /// The page at an address.
    pub fn page(&self, trap: Trap<'_>) -> Page {
        let mut numbers = Numbers::of(trap);
        let mut body = String::with_capacity(3 * 1024);
        match trap.page {
            None => self.first(&mut body),
            Some(_) => begin(&mut numbers, &mut body),
        }
        for _ in 0..numbers.between(2, 3) {
            paragraph(&mut numbers, &mut body);
        }
        body.push_str("<ul>\n");
        for _ in 0..numbers.between(4, 7) {
            self.link(trap, &mut numbers, &mut body);
        }
        body.push_str("</ul>\n</main>\n</body>\n</html>\n");
        let code = match trap.page {
            None => self.language.code(),
            Some(_) => Language::English.code(),
        };
        Page {
            status: 200,
            headers: Vec::with_capacity(8),
            body: body.into(),
        }
        .with("content-type", "text/html; charset=utf-8")
        .with("content-language", code)
        .with("cache-control", "no-store")
        .with("vary", "*")
        .with("x-content-type-options", "nosniff")
        .with("referrer-policy", "same-origin")
        .with("x-robots-tag", "noindex, nofollow")
        .with("content-security-policy", POLICY)
    }

    /// The beginning of the first page: what it is.
    fn first(&self, body: &mut String) {
        let texts = Texts::of(self.language);
        let style = format!("{}{}", self.prefix, assets::name("style"));
        head(self.language.code(), texts.trap_title, body);
        // Writing into memory cannot fail, here and below.
        let _ = write!(
            body,
            "<link rel=\"stylesheet\" href=\"{}\">\n</head>\n<body>\n<main>\n<h1>{}</h1>\n<p>{}</p>\n<p><a href=\"/\">{}</a></p>\n",
            escape(&style),
            escape(texts.trap_title),
            escape(texts.trap_why),
            escape(texts.trap_back),
        );
    }

    fn link(&self, trap: Trap<'_>, numbers: &mut Numbers, body: &mut String) {
        let (adjective, noun) = (numbers.word(&ADJECTIVES), numbers.word(&NOUNS));
        let (prefix, token, other) = (self.prefix, trap.token, numbers.word(&NOUNS));
        // The prefix and a token hold nothing that would have to be escaped.
        let _ = writeln!(
            body,
            "<li><a href=\"{prefix}{FOLDER}{token}/{adjective}-{noun}-{other}\" rel=\"nofollow\">{adjective} {noun}</a></li>"
        );
    }
}

fn head(code: &str, title: &str, body: &mut String) {
    let _ = write!(
        body,
        "<!doctype html>\n<html lang=\"{code}\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"robots\" content=\"noindex, nofollow\">\n<title>{}</title>\n",
        escape(title)
    );
}

/// The beginning of a later page.
fn begin(numbers: &mut Numbers, body: &mut String) {
    let title = format!("The {} {}", numbers.word(&ADJECTIVES), numbers.word(&NOUNS));
    head(Language::English.code(), &title, body);
    let _ = write!(body, "</head>\n<body>\n<main>\n<h1>{title}</h1>\n");
}

fn paragraph(numbers: &mut Numbers, body: &mut String) {
    body.push_str("<p>");
    for _ in 0..numbers.between(3, 5) {
        let words = [
            "The",
            numbers.word(&ADJECTIVES),
            numbers.word(&NOUNS),
            numbers.word(&VERBS),
            "the",
            numbers.word(&NOUNS),
            numbers.word(&PLACES),
            "a",
            numbers.word(&ADJECTIVES),
            numbers.word(&NOUNS),
        ];
        for (at, word) in words.iter().enumerate() {
            if at > 0 {
                body.push(' ');
            }
            body.push_str(word);
        }
        body.push_str(". ");
    }
    body.push_str("</p>\n");
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::time::Instant;

    use super::*;

    const TOKEN: &str = "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789-_AB";

    fn page(name: &str) -> Page {
        let maze = Maze {
            prefix: "/.cattlegrid/",
            language: Language::German,
        };
        maze.page(Trap::of(name).unwrap())
    }

    fn links(page: &Page) -> Vec<&str> {
        let parts = page.body.split("href=\"/.cattlegrid/").skip(1);
        let names = parts.map(|part| part.split('"').next().unwrap());
        names.filter(|name| name.starts_with(FOLDER)).collect()
    }

    #[test]
    fn pages_are_small_endless_and_the_same_each_time() {
        let first = format!("{FOLDER}{TOKEN}");
        let mut known: HashSet<String> = HashSet::from([first.clone()]);
        let mut next = vec![first];
        let mut bytes = 0;
        while known.len() < 2000 {
            let name = next.remove(0);
            let found = page(&name);
            assert_eq!(found, page(&name));
            assert!(
                (900..=3072).contains(&found.body.len()),
                "{}",
                found.body.len()
            );
            assert!((4..=7).contains(&links(&found).len()));
            assert_eq!(found.header("x-robots-tag"), Some("noindex, nofollow"));
            assert!(found.body.contains("content=\"noindex, nofollow\""));
            bytes += found.body.len();
            for link in links(&found) {
                assert!(Trap::of(link).is_some(), "{link}");
                if known.insert(link.to_owned()) {
                    next.push(link.to_owned());
                }
            }
        }
        assert!(bytes > 0);
    }

    #[test]
    fn the_first_page_says_what_it_is() {
        let first = page(&format!("{FOLDER}{TOKEN}"));
        assert!(first.body.contains("<html lang=\"de\">"), "{}", first.body);
        assert!(first.body.contains("robots.txt missachten"));
        assert!(first.body.contains("<a href=\"/\">"));
        let later = page(&format!("{FOLDER}{TOKEN}/old-river-garden"));
        assert!(!later.body.contains("robots.txt"), "{}", later.body);
    }

    #[test]
    fn a_page_costs_microseconds() {
        let name = format!("{FOLDER}{TOKEN}/old-river-garden");
        let started = Instant::now();
        let bytes: usize = (0..2000).map(|_| page(&name).body.len()).sum();
        let each = started.elapsed() / 2000;
        // In a build for tests; one for release is some ten times as fast.
        assert!(each.as_micros() < 1000, "{each:?}");
        assert!(bytes < 2000 * 3072);
    }
}
