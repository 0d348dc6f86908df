//! Which browser a user agent claims to be, as far as its header fields are known: its engine, its version and its system.

/// What renders pages, and so decides which header fields are sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Engine {
    /// No browser, one that is not known well enough, or an app that shows web pages and may set header fields itself.
    #[default]
    Unknown,
    /// Chrome, Edge, and all that call themselves nothing but Chrome.
    Chromium,
    /// Firefox, and all that call themselves nothing but Firefox.
    Gecko,
    /// Safari.
    WebKit,
}

/// The system that an agent names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum System {
    #[default]
    Other,
    Windows,
    Mac,
    Android,
    Linux,
}

/// What a user agent claims.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Browser {
    pub(crate) engine: Engine,
    /// The major version; of Safari with one more digit: 164 is 16.4.
    pub(crate) version: u16,
    pub(crate) system: System,
    pub(crate) is_mobile: bool,
    /// It says that nobody sees its pages.
    pub(crate) is_headless: bool,
}

impl Browser {
    /// The browser of an agent. Whoever adds a name of its own (an app, another browser) is not known.
    pub(crate) fn of(agent: &[u8]) -> Browser {
        if !agent.starts_with(b"Mozilla/5.0 (") || has(agent, b"; wv)") {
            return Browser::default();
        }
        let Some((engine, version)) = chromium(agent)
            .or_else(|| gecko(agent))
            .or_else(|| webkit(agent))
        else {
            return Browser::default();
        };
        Browser {
            engine,
            version,
            system: System::of(agent),
            is_mobile: has(agent, b"Mobile"),
            is_headless: has(agent, b"HeadlessChrome/"),
        }
    }

    /// All of it in 23 bits, for [`Browser::unpack`].
    pub(crate) fn pack(self) -> u64 {
        u64::from(self.version)
            | (self.engine as u64) << 16
            | (self.system as u64) << 18
            | u64::from(self.is_mobile) << 21
            | u64::from(self.is_headless) << 22
    }

    /// What [`Browser::pack`] has put into bits.
    pub(crate) fn unpack(bits: u64) -> Browser {
        const ENGINES: [Engine; 4] = [
            Engine::Unknown,
            Engine::Chromium,
            Engine::Gecko,
            Engine::WebKit,
        ];
        const SYSTEMS: [System; 5] = [
            System::Other,
            System::Windows,
            System::Mac,
            System::Android,
            System::Linux,
        ];
        Browser {
            engine: ENGINES[(bits >> 16 & 3) as usize],
            version: bits as u16,
            system: SYSTEMS[(bits >> 18 & 7).min(4) as usize],
            is_mobile: bits >> 21 & 1 == 1,
            is_headless: bits >> 22 & 1 == 1,
        }
    }

    /// It sends `Sec-Fetch-Site`, `-Mode` and `-Dest` with every request over TLS, by the browsers' release notes.
    pub(crate) fn sends_fetch_metadata(&self) -> bool {
        match self.engine {
            Engine::Unknown => false,
            Engine::Chromium => self.version >= 80,
            Engine::Gecko => self.version >= 90,
            Engine::WebKit => self.version >= 164,
        }
    }

    /// It sends `Sec-CH-UA` with every navigation over TLS.
    pub(crate) fn sends_client_hints(&self) -> bool {
        self.engine == Engine::Chromium && self.version >= 89
    }
}

impl System {
    fn of(agent: &[u8]) -> System {
        // Android names Linux, too.
        let systems = [
            (&b"Windows NT"[..], System::Windows),
            (b"Macintosh;", System::Mac),
            (b"Android", System::Android),
            (b"X11; Linux", System::Linux),
        ];
        let named = systems.iter().find(|(name, _)| has(agent, name));
        named.map_or(System::Other, |(_, system)| *system)
    }
}

fn has(agent: &[u8], text: &[u8]) -> bool {
    memchr::memmem::find(agent, text).is_some()
}

/// What follows the first of these texts.
fn behind<'a>(agent: &'a [u8], text: &[u8]) -> Option<&'a [u8]> {
    let at = memchr::memmem::find(agent, text)?;
    Some(&agent[at + text.len()..])
}

/// A version, and what follows it.
fn version(text: &[u8]) -> Option<(u16, &[u8])> {
    let end = text
        .iter()
        .position(|byte| !byte.is_ascii_digit() && *byte != b'.')
        .unwrap_or(text.len());
    let (version, rest) = text.split_at(end);
    let major = version.split(|byte| *byte == b'.').next()?;
    let major = std::str::from_utf8(major).ok()?.parse().ok()?;
    Some((major, rest))
}

fn chromium(agent: &[u8]) -> Option<(Engine, u16)> {
    let named = behind(agent, b"like Gecko) Chrome/");
    let named = named.or_else(|| behind(agent, b"like Gecko) HeadlessChrome/"))?;
    let (version, rest) = version(named)?;
    let rest = rest.strip_prefix(b" Mobile").unwrap_or(rest);
    let rest = rest.strip_prefix(b" Safari/537.36")?;
    let is_plain = rest.is_empty() || rest.starts_with(b" Edg/") || rest.starts_with(b" EdgA/");
    is_plain.then_some((Engine::Chromium, version))
}

fn gecko(agent: &[u8]) -> Option<(Engine, u16)> {
    let (version, rest) = version(behind(agent, b" Firefox/")?)?;
    let is_plain = rest.is_empty() && has(agent, b" Gecko/");
    is_plain.then_some((Engine::Gecko, version))
}

fn webkit(agent: &[u8]) -> Option<(Engine, u16)> {
    let of_others = [&b"Android"[..], b"Chrome/", b"CriOS", b"FxiOS", b"EdgiOS"];
    if of_others.iter().any(|name| has(agent, name)) {
        return None;
    }
    let text = behind(agent, b" Version/")?;
    let (major, _) = version(text)?;
    let minor = text.split(|byte| *byte == b'.').nth(1)?.first()?;
    let (_, rest) = version(behind(agent, b" Safari/")?)?;
    let is_plain = rest.is_empty() && minor.is_ascii_digit();
    is_plain.then(|| {
        let version = major.saturating_mul(10) + u16::from(minor - b'0');
        (Engine::WebKit, version)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(agent: &str, engine: Engine, version: u16, system: System) {
        let browser = Browser::of(agent.as_bytes());
        assert_eq!(
            (browser.engine, browser.version, browser.system),
            (engine, version, system),
            "{agent}"
        );
        assert_eq!(Browser::unpack(browser.pack()), browser);
    }

    #[test]
    fn browsers_by_their_agents() {
        check(
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36",
            Engine::Chromium,
            131,
            System::Windows,
        );
        check(
            "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Mobile Safari/537.36 EdgA/131.0.0.0",
            Engine::Chromium,
            131,
            System::Android,
        );
        check(
            "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
            Engine::Gecko,
            140,
            System::Linux,
        );
        check(
            "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/16.4 Safari/605.1.15",
            Engine::WebKit,
            164,
            System::Mac,
        );
    }

    #[test]
    fn apps_and_other_browsers_are_not_known() {
        for agent in [
            "",
            "curl/8.0",
            "Mozilla/5.0 (Linux; Android 14; K; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/131.0.0.0 Mobile Safari/537.36",
            "Mozilla/5.0 (Linux; Android 14; K) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/25.0 Chrome/121.0.0.0 Mobile Safari/537.36",
            "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36 OPR/115.0.0.0",
            "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/131.0 Mobile/15E148 Safari/604.1",
            "Mozilla/5.0 (X11; Linux x86_64; rv:68.0) Goanna/6.0 Firefox/68.0 PaleMoon/33.0",
            "Mozilla/5.0 (Linux; U; Android 4.0) AppleWebKit/534.30 (KHTML, like Gecko) Version/4.0 Mobile Safari/534.30",
            "Mozilla/5.0 (X) Chrome/99999999.0 Safari/537.36",
            "Mozilla/5.0 (X) Version/. Safari/1",
        ] {
            check(agent, Engine::Unknown, 0, System::Other);
        }
    }
}
