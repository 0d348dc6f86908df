//! User agents: what browsers of many ages and devices send, and what crawlers copy from lists.

use std::rc::Rc;

use crate::random::Random;

/// The devices behind a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Devices {
    /// Everybody brings their own.
    Own,
    /// Nearly all are telephones.
    Phones,
    /// One image for all machines; some have not had the latest update.
    Managed,
    /// Computers that people chose themselves.
    Desks,
}

/// The browsers in use in the world.
#[derive(Debug)]
pub(super) struct Agents {
    desks: Vec<Rc<str>>,
    phones: Vec<Rc<str>>,
}

const LATEST: u64 = 143;

/// Most browsers update by themselves; a tail never does.
fn version(random: &mut Random) -> u64 {
    if random.chance(0.07) {
        return *random.pick(&[109, 109, 103, 115, 119, 96, 122, 126]);
    }
    LATEST - (random.exponential(1.6) as u64).min(30)
}

fn firefox_version(random: &mut Random) -> u64 {
    if random.chance(0.2) {
        *random.pick(&[115, 128, 140, 102])
    } else {
        version(random).max(115) + 2
    }
}

/// The agent of one computer.
pub(super) fn desk_agent(random: &mut Random) -> String {
    let platform = match random.below(100) {
        0..70 => "Windows NT 10.0; Win64; x64",
        70..73 => "Windows NT 6.1; Win64; x64",
        73..88 => "Macintosh; Intel Mac OS X 10_15_7",
        88..94 => "X11; Linux x86_64",
        _ => "X11; CrOS x86_64 14541.0.0",
    };
    let number = version(random);
    let chrome = format!(
        "Mozilla/5.0 ({platform}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{number}.0.0.0 Safari/537.36"
    );
    match random.below(100) {
        0..58 => chrome,
        _ if platform.contains("CrOS") => chrome,
        58..76 if platform.starts_with("Windows NT 10") => format!("{chrome} Edg/{number}.0.0.0"),
        76..79 => format!("{chrome} OPR/{}.0.0.0", number - 15),
        79..90 if platform.starts_with("Mac") => {
            let number = random.below(5);
            let major = 16 + random.below(3);
            format!(
                "Mozilla/5.0 ({platform}) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/{major}.{number} Safari/605.1.15"
            )
        }
        _ => {
            let number = firefox_version(random);
            let platform = platform.replace("Intel Mac OS X 10_15_7", "Intel Mac OS X 10.15");
            format!("Mozilla/5.0 ({platform}; rv:{number}.0) Gecko/20100101 Firefox/{number}.0")
        }
    }
}

/// The agent of one telephone or tablet.
pub(super) fn phone_agent(random: &mut Random) -> String {
    let number = version(random);
    let webkit = "AppleWebKit/605.1.15 (KHTML, like Gecko)";
    match random.below(100) {
        0..36 => {
            let (major, minor) = (*random.pick(&[18, 18, 18, 17, 17, 16, 15]), random.below(7));
            let device = if random.chance(0.12) {
                "iPad; CPU OS"
            } else {
                "iPhone; CPU iPhone OS"
            };
            format!(
                "Mozilla/5.0 ({device} {major}_{minor} like Mac OS X) {webkit} Version/{major}.{minor} Mobile/15E148 Safari/604.1"
            )
        }
        36..40 => format!(
            "Mozilla/5.0 (iPhone; CPU iPhone OS 18_{} like Mac OS X) {webkit} GSA/380.0.7 Mobile/15E148 Safari/604.1",
            random.below(7)
        ),
        40..48 => {
            let samsung = 23 + random.below(6);
            format!(
                "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/{samsung}.0 Chrome/{}.0.0.0 Mobile Safari/537.36",
                samsung * 4 + 20
            )
        }
        48..54 => {
            // Browsers inside applications still name the model.
            let model = *random.pick(&[
                "SM-A145R",
                "SM-A546E",
                "Redmi Note 12",
                "CPH2473",
                "V2206",
                "moto g54",
                "TECNO KJ5",
                "Infinix X6525",
            ]);
            let android = 11 + random.below(5);
            format!(
                "Mozilla/5.0 (Linux; Android {android}; {model} Build/{}; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/{number}.0.0.0 Mobile Safari/537.36",
                random.pick(&["TP1A.220624.014", "UP1A.231005.007", "SP1A.210812.016"])
            )
        }
        54..57 => format!(
            "Mozilla/5.0 (Android {}; Mobile; rv:{number}.0) Gecko/{number}.0 Firefox/{number}.0",
            12 + random.below(4)
        ),
        57..60 => format!(
            "Opera/9.80 (Android; Opera Mini/{}.0.2254/191.{}; U; en) Presto/2.12.423 Version/12.16",
            60 + random.below(22),
            random.below(300)
        ),
        _ => format!(
            "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{number}.0.0.0 Mobile Safari/537.36"
        ),
    }
}

impl Agents {
    pub(super) fn new(random: &mut Random) -> Agents {
        Agents {
            desks: (0..420).map(|_| desk_agent(random).into()).collect(),
            phones: (0..520).map(|_| phone_agent(random).into()).collect(),
        }
    }

    pub(super) fn desk(&self, random: &mut Random) -> Rc<str> {
        random.pick(&self.desks).clone()
    }

    pub(super) fn phone(&self, random: &mut Random) -> Rc<str> {
        random.pick(&self.phones).clone()
    }

    /// The images that an organisation has on its machines; empty where people choose for themselves.
    pub(super) fn images(&self, devices: Devices, random: &mut Random) -> Vec<Rc<str>> {
        let count = if devices == Devices::Managed {
            1 + random.below(4)
        } else {
            0
        };
        (0..count).map(|_| self.desk(random)).collect()
    }

    /// The agent of one more person, and whether it is a telephone.
    pub(super) fn person(
        &self,
        devices: Devices,
        images: &[Rc<str>],
        random: &mut Random,
    ) -> (Rc<str>, bool) {
        let phone = match devices {
            Devices::Own => random.chance(0.48),
            Devices::Phones => random.chance(0.93),
            Devices::Managed => random.chance(0.02),
            Devices::Desks => random.chance(0.06),
        };
        if phone {
            return (self.phone(random), true);
        }
        if images.is_empty() {
            return (self.desk(random), false);
        }
        // The first image is the common one.
        let image = if random.chance(0.6) {
            &images[0]
        } else {
            random.pick(images)
        };
        (image.clone(), false)
    }
}

/// What a crawler sends that wants to look like a browser: from a list on the web, so often out of date.
pub(super) fn copied_agent(random: &mut Random) -> Rc<str> {
    if random.chance(0.62) {
        let agent = if random.chance(0.85) {
            desk_agent(random)
        } else {
            phone_agent(random)
        };
        return agent.into();
    }
    let number = 70 + random.below(60);
    let build = 3000 + number * 31 % 2900;
    let platform = *random.pick(&[
        "Windows NT 10.0; Win64; x64",
        "Macintosh; Intel Mac OS X 10_14_6",
        "X11; Linux x86_64",
        "Windows NT 6.3; Win64; x64",
    ]);
    format!("Mozilla/5.0 ({platform}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{number}.0.{build}.{} Safari/537.36", 40 + random.below(120)).into()
}

/// Named search engines.
pub(super) const ENGINES: [&str; 9] = [
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    "Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/143.0.7499.40 Mobile Safari/537.36 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm) Chrome/116.0.1938.76 Safari/537.36",
    "Mozilla/5.0 (compatible; YandexBot/3.0; +http://yandex.com/bots)",
    "Mozilla/5.0 (compatible; Baiduspider/2.0; +http://www.baidu.com/search/spider.html)",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Safari/605.1.15 (Applebot/0.1; +http://www.apple.com/go/applebot)",
    "DuckDuckBot/1.1; (+http://duckduckgo.com/duckduckbot.html)",
    "Mozilla/5.0 (compatible; SeznamBot/4.0; +https://o-seznam.cz/napoveda/vyhledavani/en/seznambot-crawler/)",
    "Mozilla/5.0 (compatible; Qwantbot/1.0; +https://help.qwant.com/bot/)",
];

/// Tools that name themselves.
pub(super) const TOOLS: [&str; 18] = [
    "python-requests/2.32.3",
    "python-requests/2.25.1",
    "Scrapy/2.11.2 (+https://scrapy.org)",
    "curl/8.5.0",
    "Wget/1.21.4",
    "Go-http-client/2.0",
    "Go-http-client/1.1",
    "okhttp/4.12.0",
    "Java/17.0.10",
    "Apache-HttpClient/4.5.14 (Java/11.0.22)",
    "aiohttp/3.9.5 Python/3.11",
    "axios/1.7.2",
    "Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)",
    "Mozilla/5.0 (compatible; SemrushBot/7~bl; +http://www.semrush.com/bot.html)",
    "Mozilla/5.0 (compatible; MJ12bot/v1.4.8; http://mj12bot.com/)",
    "CCBot/2.0 (https://commoncrawl.org/faq/)",
    "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)",
    "Mozilla/5.0 (compatible; HTTrack 3.49-2; Windows 10)",
];
