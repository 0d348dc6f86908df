//! The visitor's language, from the `Accept-Language` header.

/// What browsers send is far shorter; the rest of a longer header is not read.
const HEADER_BYTES_MAX: usize = 512;
const RANGES_MAX: usize = 24;

/// A language the pages are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Language {
    /// Where nothing else fits.
    #[default]
    English,
    /// Deutsch.
    German,
    /// Français.
    French,
    /// Español.
    Spanish,
    /// Italiano.
    Italian,
    /// Nederlands.
    Dutch,
    /// Polski.
    Polish,
    /// Português.
    Portuguese,
    /// Čeština.
    Czech,
    /// Русский.
    Russian,
    /// 日本語.
    Japanese,
    /// 中文.
    Chinese,
}

impl Language {
    /// All of them.
    pub const ALL: [Language; 12] = [
        Language::English,
        Language::German,
        Language::French,
        Language::Spanish,
        Language::Italian,
        Language::Dutch,
        Language::Polish,
        Language::Portuguese,
        Language::Czech,
        Language::Russian,
        Language::Japanese,
        Language::Chinese,
    ];

    /// Its code for the page's `lang` attribute.
    pub fn code(self) -> &'static str {
        match self {
            Language::English => "en",
            Language::German => "de",
            Language::French => "fr",
            Language::Spanish => "es",
            Language::Italian => "it",
            Language::Dutch => "nl",
            Language::Polish => "pl",
            Language::Portuguese => "pt",
            Language::Czech => "cs",
            Language::Russian => "ru",
            Language::Japanese => "ja",
            Language::Chinese => "zh",
        }
    }

    /// The language a visitor likes best among ours, if the header names one.
    pub fn accepted(header: &[u8]) -> Option<Language> {
        let header = &header[..header.len().min(HEADER_BYTES_MAX)];
        let mut best = None;
        for range in header.split(|&byte| byte == b',').take(RANGES_MAX) {
            let mut parts = range.split(|&byte| byte == b';').map(<[u8]>::trim_ascii);
            let tag = parts.next().unwrap_or_default();
            let weight = parts.next().map_or(Some(1000), weight).unwrap_or(0);
            // Of two that are liked equally the first counts.
            if let Some(language) = Language::named(tag)
                && weight > best.map_or(0, |(_, weight)| weight)
            {
                best = Some((language, weight));
            }
        }
        best.map(|(language, _)| language)
    }

    fn named(tag: &[u8]) -> Option<Language> {
        let primary = tag.split(|&byte| byte == b'-').next()?;
        Language::ALL
            .into_iter()
            .find(|language| primary.eq_ignore_ascii_case(language.code().as_bytes()))
    }
}

/// Thousandths of a weight as RFC 9110 writes it, `q=0.8`: no sign, no exponent, nothing that is not a number.
fn weight(text: &[u8]) -> Option<u32> {
    let number = text
        .strip_prefix(b"q=")
        .or_else(|| text.strip_prefix(b"Q="))?;
    let (&whole, fraction) = number.split_first()?;
    let digits = match fraction {
        [] => fraction,
        [b'.', digits @ ..] if digits.len() <= 3 => digits,
        _ => return None,
    };
    let mut thousandths = 0;
    for place in 0..3 {
        let digit = digits.get(place).copied().unwrap_or(b'0');
        thousandths = 10 * thousandths + char::from(digit).to_digit(10)?;
    }
    match whole {
        b'0' => Some(thousandths),
        b'1' if thousandths == 0 => Some(1000),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;
    use std::time::Instant;

    use proptest::prelude::*;

    use super::*;

    fn check(header: &str, expected: &str) {
        let found = Language::accepted(header.as_bytes()).map_or("-", Language::code);
        assert_eq!(found, expected, "{header}");
    }

    #[test]
    fn the_language_liked_best_is_found() {
        check("de-AT,de;q=0.9,en;q=0.8", "de");
        check("ko, fr-CA;q=0.7, es;q=0.8", "es");
        check("zh-CN,zh;q=0.9,en;q=0.8", "zh");
        check("cs-CZ, ru;q=0.9, ja;q=0.8", "cs");
        check("EN-gb", "en");
        check("xx;q=1, pt-BR; q=0.001", "pt");
        check("en;q=0.5,nl;q=0.500,it", "it");
        check("pl;q=1.000,de;q=1", "pl");
        check("de;q=0, fr;q=0.1", "fr");
    }

    /// Headers in which no language of ours is named as browsers do it.
    const ODD: [&str; 15] = [
        "",
        "und",
        "*",
        "*;q=NaN",
        "de;q=1e309",
        "de;q=-1",
        "de;q=2",
        "de;q=1.1",
        "de;q=0.0001",
        "de;q=",
        ";;;,,,;q=1",
        "d",
        "deu",
        "de_DE",
        "\u{202e}de",
    ];

    #[test]
    fn h023_odd_headers_give_the_default_at_once() {
        ODD.iter().for_each(|header| check(header, "-"));
        let many = "xx-YY;q=0.5,".repeat(10_000);
        let long = "a".repeat(8192);
        let before = Instant::now();
        check(&many, "-");
        check(&long, "-");
        assert!(before.elapsed() < Duration::from_millis(2));
    }

    #[test]
    fn h023_a_naive_reader_would_be_noticed() {
        // Weights as the language reads numbers, tags by their beginning, and the best one is taken for granted.
        let naive = |header: &str| {
            let ranges = header.split(',').map(|range| {
                let (tag, weight) = range.split_once(";q=").unwrap_or((range, "1"));
                (tag.to_owned(), weight.parse::<f64>().unwrap())
            });
            let best = ranges.max_by(|one, other| one.1.partial_cmp(&other.1).unwrap());
            let (tag, _) = best.unwrap();
            let mut all = Language::ALL.into_iter();
            all.find(|language| tag.starts_with(language.code()))
        };
        let fails = |header: &&&str| {
            let read = std::panic::catch_unwind(|| naive(header));
            read.is_err() || read.is_ok_and(|language| language.is_some())
        };
        let failed = ODD.iter().filter(fails).count();
        assert!(failed >= 8, "{failed}");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(header in prop::collection::vec(any::<u8>(), 0..600), text in "[a-z;=q0-9., *-]{0,200}") {
            Language::accepted(&header);
            Language::accepted(text.as_bytes());
        }
    }
}
