//! The browser and the operating system that a user agent names. Who forges one is no person in most cases, so that names suffice here.

/// Signs of browsers: many name another browser too, so the first sign that is found counts.
const BROWSERS: [(&str, &str); 18] = [
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("OPiOS/", "Opera"),
    ("Opera", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("YaBrowser/", "Yandex Browser"),
    ("Vivaldi/", "Vivaldi"),
    ("UCBrowser/", "UC Browser"),
    ("FBAN/", "Facebook app"),
    ("Instagram", "Instagram app"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Chromium/", "Chromium"),
    ("Chrome/", "Chrome"),
    ("Trident/", "Internet Explorer"),
    ("MSIE ", "Internet Explorer"),
    ("Safari/", "Safari"),
];

const SYSTEMS: [(&str, &str); 11] = [
    ("Windows Phone", "Windows Phone"),
    ("Windows", "Windows"),
    ("Android", "Android"),
    ("iPhone", "iOS"),
    ("iPad", "iOS"),
    ("iPod", "iOS"),
    ("Mac OS X", "macOS"),
    ("Macintosh", "macOS"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
    ("BSD", "BSD"),
];

pub(super) fn browser(agent: &str) -> &'static str {
    named(&BROWSERS, agent)
}

pub(super) fn system(agent: &str) -> &'static str {
    named(&SYSTEMS, agent)
}

fn named(signs: &[(&str, &'static str)], agent: &str) -> &'static str {
    let found = signs.iter().find(|(sign, _)| agent.contains(sign));
    found.map_or("other", |(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_browsers_and_systems() {
        for (agent, is_browser, is_system) in [
            (
                "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36 Edg/120.0.0.0",
                "Edge",
                "Windows",
            ),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 17_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.1 Mobile/15E148 Safari/604.1",
                "Safari",
                "iOS",
            ),
            (
                "Mozilla/5.0 (X11; Linux x86_64; rv:109.0) Gecko/20100101 Firefox/119.0",
                "Firefox",
                "Linux",
            ),
            (
                "Mozilla/5.0 (Linux; Android 13; SM-S911B) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/23.0 Chrome/115.0.0.0 Mobile Safari/537.36",
                "Samsung Internet",
                "Android",
            ),
            ("", "other", "other"),
        ] {
            assert_eq!((browser(agent), system(agent)), (is_browser, is_system));
        }
    }
}
