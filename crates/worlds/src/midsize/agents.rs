//! What clients of the mid-size world call themselves.

use std::rc::Rc;

use super::stage::one_of;
use crate::random::Random;

/// What somebody holds in the hands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Device {
    /// A desktop or laptop.
    Desktop,
    /// A phone or tablet.
    Phone,
}

/// Chrome's major version: most are current, a tail is not.
fn chrome_version(random: &mut Random) -> u64 {
    let share = random.unit();
    if share < 0.46 {
        141
    } else if share < 0.72 {
        140
    } else if share < 0.84 {
        142
    } else {
        139 - (random.exponential(7.0) as u64).min(60)
    }
}

/// A browser as people use it.
pub(super) fn browser(random: &mut Random, device: Device) -> Rc<str> {
    match device {
        Device::Desktop => desktop(random).into(),
        Device::Phone => phone(random).into(),
    }
}

fn desktop(random: &mut Random) -> String {
    let version = chrome_version(random);
    let system = *random.pick(&[
        "Windows NT 10.0; Win64; x64",
        "Windows NT 10.0; Win64; x64",
        "Windows NT 10.0; Win64; x64",
        "Windows NT 10.0; Win64; x64",
        "Windows NT 10.0; Win64; x64",
        "Windows NT 10.0; Win64; x64",
        "Windows NT 10.0; Win64; x64",
        "Macintosh; Intel Mac OS X 10_15_7",
        "Macintosh; Intel Mac OS X 10_15_7",
        "X11; Linux x86_64",
    ]);
    let chrome = format!(
        "Mozilla/5.0 ({system}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{version}.0.0.0 Safari/537.36"
    );
    match random.below(100) {
        0..58 => chrome,
        58..70 => format!("{chrome} Edg/{version}.0.0.0"),
        70..73 => format!("{chrome} OPR/{}.0.0.0", version - 16),
        73..88 => firefox(random, system),
        _ => {
            let minor = random.below(7);
            format!(
                "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.{minor} Safari/605.1.15"
            )
        }
    }
}

fn firefox(random: &mut Random, system: &str) -> String {
    let version = *random.pick(&[143, 143, 144, 144, 142, 140, 128, 115]);
    let system = system.replace("10_15_7", "10.15");
    format!("Mozilla/5.0 ({system}; rv:{version}.0) Gecko/20100101 Firefox/{version}.0")
}

fn phone(random: &mut Random) -> String {
    let version = chrome_version(random);
    match random.below(100) {
        0..46 => format!(
            "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{version}.0.0.0 Mobile Safari/537.36"
        ),
        46..56 => {
            let samsung = 26 + random.below(4);
            format!(
                "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/{samsung}.0 Chrome/122.0.0.0 Mobile Safari/537.36"
            )
        }
        56..61 => {
            let android = 11 + random.below(5);
            format!("Mozilla/5.0 (Android {android}; Mobile; rv:143.0) Gecko/143.0 Firefox/143.0")
        }
        _ => {
            let (major, minor) = (16 + random.below(3), random.below(7));
            format!(
                "Mozilla/5.0 (iPhone; CPU iPhone OS {major}_{minor} like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/{major}.{minor} Mobile/15E148 Safari/604.1"
            )
        }
    }
}

/// The browser inside an app of a social network.
pub(super) fn in_app(random: &mut Random) -> Rc<str> {
    let (model, version) = (phone_model(random), chrome_version(random));
    let minor = random.below(7);
    let android = format!(
        "Mozilla/5.0 (Linux; Android 14; {model} Build/UP1A.231005.007; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/{version}.0.0.0 Mobile Safari/537.36"
    );
    let iphone = format!(
        "Mozilla/5.0 (iPhone; CPU iPhone OS 18_{minor} like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/22G100"
    );
    match random.below(4) {
        0 => format!("{android} [FB_IAB/FB4A;FBAV/531.0.0.48.77;]"),
        1 => {
            format!("{iphone} [FBAN/FBIOS;FBAV/531.0.0.40.66;FBDV/iPhone14,5;FBMD/iPhone;FBSN/iOS]")
        }
        2 => format!(
            "{iphone} Instagram 398.0.0.28.72 (iPhone15,4; iOS 18_{minor}; de_DE; de; scale=3.00)"
        ),
        _ => format!("{android} Instagram 398.0.0.41.68 Android (34/14; 420dpi; {model})"),
    }
    .into()
}

/// An app that shows pages of the site in itself.
pub(super) fn web_view(random: &mut Random) -> Rc<str> {
    let (model, version) = (phone_model(random), chrome_version(random));
    if random.chance(0.6) {
        format!(
            "Mozilla/5.0 (Linux; Android 13; {model} Build/TP1A.220624.014; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/{version}.0.7390.44 Mobile Safari/537.36"
        )
    } else {
        let minor = random.below(7);
        format!("Mozilla/5.0 (iPhone; CPU iPhone OS 18_{minor} like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148")
    }
    .into()
}

fn phone_model(random: &mut Random) -> &'static str {
    one_of(
        random,
        &[
            "SM-A546B",
            "SM-S911B",
            "Pixel 7",
            "Pixel 8a",
            "2201116SG",
            "SM-A145R",
            "CPH2609",
            "M2101K6G",
        ],
    )
}

/// A browser for terminals.
pub(super) fn text_browser(random: &mut Random) -> Rc<str> {
    (*random.pick(&[
        "Lynx/2.9.0dev.12 libwww-FM/2.14 SSL-MM/1.4.1 GNUTLS/3.7.8",
        "Lynx/2.8.9rel.1 libwww-FM/2.14 SSL-MM/1.4.1 OpenSSL/1.1.1w",
        "w3m/0.5.3+git20230121",
        "Links (2.29; Linux 6.1.0-28-amd64 x86_64; GNU C 12.2; text)",
        "ELinks/0.16.1.1 (textmode; Linux 6.8.0-45-generic x86_64; 120x50-2)",
    ]))
    .into()
}

/// A device that gets no more updates.
pub(super) fn old_device(random: &mut Random) -> Rc<str> {
    (*random.pick(&[
        "Mozilla/5.0 (iPad; CPU OS 9_3_5 like Mac OS X) AppleWebKit/601.1.46 (KHTML, like Gecko) Version/9.0 Mobile/13G36 Safari/601.1",
        "Mozilla/5.0 (iPad; CPU OS 12_5_7 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/12.1.2 Mobile/15E148 Safari/604.1",
        "Mozilla/5.0 (Windows NT 6.1; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/109.0.0.0 Safari/537.36",
        "Mozilla/5.0 (Windows NT 6.1; WOW64; rv:52.0) Gecko/20100101 Firefox/52.0",
        "Mozilla/5.0 (Windows NT 10.0; WOW64; Trident/7.0; rv:11.0) like Gecko",
        "Mozilla/5.0 (Linux; Android 6.0.1; SM-G900F) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/106.0.0.0 Mobile Safari/537.36",
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_13_6) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/13.1.2 Safari/605.1.15",
    ]))
    .into()
}

/// What authors of scrapers copy out of a tutorial or a list: real browsers, of any age.
pub(super) fn copied(random: &mut Random) -> Rc<str> {
    if random.chance(0.6) {
        let device = if random.chance(0.85) {
            Device::Desktop
        } else {
            Device::Phone
        };
        return browser(random, device);
    }
    (*random.pick(&[
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/91.0.4472.124 Safari/537.36",
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36",
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/58.0.3029.110 Safari/537.3",
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/114.0.0.0 Safari/537.36",
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.0.0 Safari/537.36",
        "Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:109.0) Gecko/20100101 Firefox/115.0",
    ]))
    .into()
}

/// The few agents that nearly everybody sends: nobody is found by them.
pub(super) fn commonest(random: &mut Random) -> Rc<str> {
    let version = *random.pick(&[140, 141, 141, 141, 142]);
    match random.below(5) {
        0..2 => format!("Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{version}.0.0.0 Safari/537.36"),
        2 => format!("Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{version}.0.0.0 Mobile Safari/537.36"),
        3 => format!("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{version}.0.0.0 Safari/537.36"),
        _ => "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 Mobile/15E148 Safari/604.1"
            .to_owned(),
    }
    .into()
}
