//! User agents: browsers of many versions and devices, and the names that programs give themselves.

use std::rc::Rc;

use crate::random::Random;

const NEWEST: u64 = 138;

const PHONES: [&str; 12] = [
    "SM-A536B",
    "SM-S911B",
    "SM-G991B",
    "SM-A146P",
    "Pixel 7",
    "Pixel 8a",
    "Redmi Note 12",
    "M2101K6G",
    "CPH2451",
    "moto g54 5G",
    "2201117TY",
    "V2206",
];

/// What sort of device somebody has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Device {
    /// A computer.
    Desktop,
    /// A phone or tablet.
    Mobile,
}

/// Most have one of the newest two versions; a tail never updates.
fn version(random: &mut Random) -> u64 {
    match random.below(10) {
        0..=4 => NEWEST,
        5..=7 => NEWEST - 1,
        8 => NEWEST - 2 - random.below(6),
        _ => NEWEST - 8 - random.below(45),
    }
}

/// A browser on a device.
pub(super) fn browser(device: Device, random: &mut Random) -> Rc<str> {
    match device {
        Device::Desktop => desktop(random),
        Device::Mobile => mobile(random),
    }
}

fn desktop(random: &mut Random) -> Rc<str> {
    let platform = match random.below(20) {
        0..=13 => "Windows NT 10.0; Win64; x64",
        14..=17 => "Macintosh; Intel Mac OS X 10_15_7",
        18 => "X11; Linux x86_64",
        _ => "X11; CrOS x86_64 14541.0.0",
    };
    let version = version(random);
    match random.below(20) {
        0..=3 => {
            let platform = if platform.starts_with("Mac") {
                "Macintosh; Intel Mac OS X 10.15"
            } else {
                platform
            };
            format!("Mozilla/5.0 ({platform}; rv:{version}.0) Gecko/20100101 Firefox/{version}.0")
                .into()
        }
        4..=6 => edge(platform, version),
        7..=8 => {
            let (major, minor) = (15 + random.below(4), random.below(7));
            format!(
                "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/{major}.{minor} \
                 Safari/605.1.15"
            )
            .into()
        }
        9 => format!("{} OPR/{}.0.0.0", chrome(platform, version), version - 16).into(),
        _ => chrome(platform, version),
    }
}

/// Chrome on a platform.
pub(super) fn chrome(platform: &str, version: u64) -> Rc<str> {
    format!("Mozilla/5.0 ({platform}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{version}.0.0.0 Safari/537.36").into()
}

fn edge(platform: &str, version: u64) -> Rc<str> {
    format!("{} Edg/{version}.0.0.0", chrome(platform, version)).into()
}

fn mobile(random: &mut Random) -> Rc<str> {
    let (version, phone) = (version(random), random.pick(&PHONES));
    let android = 10 + random.below(6);
    let (major, minor) = (15 + random.below(4), random.below(7));
    let apple = format!(
        "Mozilla/5.0 (iPhone; CPU iPhone OS {major}_{minor} like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)"
    );
    match random.below(20) {
        0..=6 => format!("{apple} Version/{major}.{minor} Mobile/15E148 Safari/604.1").into(),
        7 => format!("{apple} CriOS/{version}.0.6778.73 Mobile/15E148 Safari/604.1").into(),
        8 => format!("{apple} Mobile/15E148 [FBAN/FBIOS;FBAV/4{}.0.0.34.109;FBDV/iPhone14,5;FBMD/iPhone;FBSN/iOS]", 30 + minor).into(),
        9..=14 => format!(
            "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{version}.0.0.0 Mobile Safari/537.36"
        )
        .into(),
        15..=16 => format!(
            "Mozilla/5.0 (Linux; Android {android}; {phone}) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/{}.0 \
             Chrome/{version}.0.0.0 Mobile Safari/537.36",
            20 + minor
        )
        .into(),
        17 => format!("Mozilla/5.0 (Android {android}; Mobile; rv:{version}.0) Gecko/{version}.0 Firefox/{version}.0").into(),
        // The market's own app is a web view with a name at the end.
        _ => format!(
            "Mozilla/5.0 (Linux; Android {android}; {phone} Build/TP1A.220624.014; wv) AppleWebKit/537.36 (KHTML, like Gecko) \
             Version/4.0 Chrome/{version}.0.6778.135 Mobile Safari/537.36 FlohbasarApp/7.{minor}"
        )
        .into(),
    }
}

/// What a crawler's author copied from somewhere: often old, sometimes fresh.
pub(super) fn copied(random: &mut Random) -> Rc<str> {
    let stale = NEWEST - random.below(60);
    match random.below(12) {
        0..=3 => chrome("Windows NT 10.0; Win64; x64", stale),
        4 => chrome("X11; Linux x86_64", stale),
        5 => chrome("Macintosh; Intel Mac OS X 10_15_7", stale),
        6 => format!(
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{}.0.{}.{} Safari/537.36",
            58 + random.below(40),
            3029 + random.below(1500),
            random.below(200)
        )
        .into(),
        7 => format!("Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:{stale}.0) Gecko/20100101 Firefox/{stale}.0").into(),
        _ => browser(if random.chance(0.7) { Device::Desktop } else { Device::Mobile }, random),
    }
}

/// Programs that name themselves and were not asked.
pub(super) const TOOLS: [&str; 20] = [
    "python-requests/2.31.0",
    "python-requests/2.28.1",
    "Scrapy/2.11.0 (+https://scrapy.org)",
    "Go-http-client/1.1",
    "Go-http-client/2.0",
    "curl/8.4.0",
    "Wget/1.21.3",
    "Java/17.0.9",
    "okhttp/4.12.0",
    "axios/1.6.7",
    "node-fetch/1.0 (+https://github.com/bitinn/node-fetch)",
    "aiohttp/3.9.1 Python/3.11",
    "Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)",
    "Mozilla/5.0 (compatible; SemrushBot/7~bl; +http://www.semrush.com/bot.html)",
    "Mozilla/5.0 (compatible; MJ12bot/v1.4.8; http://mj12bot.com/)",
    "Mozilla/5.0 (compatible; DotBot/1.2; +https://opensiteexplorer.org/dotbot; help@moz.com)",
    "Mozilla/5.0 (Linux; Android 5.0) AppleWebKit/537.36 (KHTML, like Gecko) Mobile Safari/537.36 (compatible; Bytespider; \
     spider-feedback@bytedance.com)",
    "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)",
    "CCBot/2.0 (https://commoncrawl.org/faq/)",
    "Mozilla/5.0 (compatible; HTTrack 3.0x; Windows 98)",
];

/// Search engines.
pub(super) const ENGINES: [&str; 9] = [
    "Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.7204.92 Mobile \
     Safari/537.36 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm) \
     Chrome/116.0.1938.76 Safari/537.36",
    "Mozilla/5.0 (compatible; YandexBot/3.0; +http://yandex.com/bots)",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_5) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/13.1.1 Safari/605.1.15 \
     (Applebot/0.1; +http://www.apple.com/go/applebot)",
    "Mozilla/5.0 (compatible; Baiduspider/2.0; +http://www.baidu.com/search/spider.html)",
    "Mozilla/5.0 (compatible; SeznamBot/4.0; +https://o-seznam.cz/napoveda/vyhledavani/en/seznambot-crawler/)",
    "Mozilla/5.0 (compatible; PetalBot;+https://webmaster.petalsearch.com/site/petalbot)",
    "DuckDuckBot/1.1; (+http://duckduckgo.com/duckduckbot.html)",
];
