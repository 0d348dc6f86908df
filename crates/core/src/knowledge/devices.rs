//! Agents of people's devices that look like a program's: the network process of Apple's browsers, messengers on telephones, and mobile
//! browsers that carry the name of a search engine.

/// Programs of Apple's systems that fetch what a person looks at, as they begin an agent with `CFNetwork/` and `Darwin/`: browsers and the
/// processes that fetch for them, and messengers. Other apps may be podcast players and feed readers, and stay programs.
const APPLE_PROGRAMS: [&str; 33] = [
    "mobilesafari/",
    "safari/",
    "safari%20technology%20preview/",
    "safariviewservice/",
    "com.apple.webkit.",
    "com.apple.safari.",
    "networkingextension/",
    "webkit.networking/",
    "springboard/",
    "chrome/",
    "firefox/",
    "fxios/",
    "duckduckgo/",
    "brave/",
    "opera/",
    "edge/",
    "mobilemail/",
    "mail/",
    "messages/",
    "messagesnotificationextension/",
    "com.apple.mobilesms.",
    "com.apple.messages.",
    "whatsapp/",
    "viber/",
    "telegram/",
    "signal/",
    "messenger/",
    "line/",
    "kakaotalk/",
    "wechat/",
    "skype/",
    "discord/",
    "slack/",
];

/// Names of mobile browsers and of apps with one, some of which hold a search engine's name.
const BROWSERS: [&str; 12] = [
    "sogoumobilebrowser",
    "sogousearch",
    "sogoumse",
    "metasr",
    "mqqbrowser",
    "qqbrowser",
    "baiduboxapp",
    "baidubrowser",
    "bidubrowser",
    "ucbrowser",
    "ucweb",
    " t7/",
];

/// True for Apple's network library in the hands of a browser or a messenger.
pub(super) fn is_apple_program(lower: &str) -> bool {
    lower.contains(" cfnetwork/")
        && lower.contains(" darwin/")
        && APPLE_PROGRAMS.iter().any(|name| lower.starts_with(name))
}

/// The agent of a mobile browser without the browsers' names, to look for a robot's in what is left. `None` where it names no such browser.
pub(super) fn without_mobile_browsers(agent: &str) -> Option<String> {
    // Of the same length as the agent, so that places in one are places in the other.
    let lower = agent.to_ascii_lowercase();
    let found = |name: &&&str| lower.contains(**name);
    BROWSERS.iter().find(found)?;
    let mut rest = agent.to_owned();
    for name in BROWSERS {
        while let Some(at) = rest.to_ascii_lowercase().find(name) {
            rest.replace_range(at..at + name.len(), " ");
        }
    }
    Some(rest)
}

/// Browsers that show text alone.
const TEXT_BROWSERS: [&[u8]; 6] = [
    b"Lynx/",
    b"w3m/",
    b"Links (",
    b"ELinks/",
    b"Dillo/",
    b"URL/Emacs",
];

/// True for the agent of a browser that shows text alone, and loads nothing else.
pub fn is_text_browser(agent: &[u8]) -> bool {
    TEXT_BROWSERS.iter().any(|name| agent.starts_with(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_browsers_are_taken_out_wherever_they_stand() {
        let check = |agent: &str, expected: Option<&str>| {
            assert_eq!(without_mobile_browsers(agent).as_deref(), expected);
        };
        check("Mozilla/5.0 (Linux; Android 9)", None);
        check("SogouMobileBrowser/5.2", Some(" /5.2"));
        check(
            "x MQQBrowser/6 \u{1F404} T7/9 UCBrowser/1",
            Some("x  /6 \u{1F404} 9  /1"),
        );
    }
}
