//! The `[gate.sign_in]` part: how the gate knows signed-in people, in one of four ways.

use std::path::PathBuf;
use std::time::Duration;

use cattlegrid_http1::headers::is_hop_by_hop;
use serde::Deserialize;
use toml::Spanned;

use super::Errors;
use super::Site;
use super::trust::Peer;
use super::trust::Trust;
use crate::sign_in::Algorithm;
use crate::sign_in::Expected;

#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct SignInOptions {
    too_fast: TooFastOption,
    slow_seconds: f64,
    slowed_max: usize,
    jwt: Option<Spanned<JwtOptions>>,
    hmac: Option<Spanned<HmacOptions>>,
    ask: Option<Spanned<AskOptions>>,
    header: Option<Spanned<HeaderOptions>>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum TooFastOption {
    Throttle,
    Slow,
}

impl Default for SignInOptions {
    fn default() -> SignInOptions {
        SignInOptions {
            too_fast: TooFastOption::Throttle,
            slow_seconds: SLOW_SECONDS_MAX,
            slowed_max: 256,
            jwt: None,
            hmac: None,
            ask: None,
            header: None,
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct JwtOptions {
    cookie: Option<String>,
    #[serde(default)]
    bearer: bool,
    algorithm: Algorithm,
    key_file: PathBuf,
    #[serde(default = "JwtOptions::user")]
    user: String,
    issuer: Option<String>,
    audience: Option<String>,
}

impl JwtOptions {
    fn user() -> String {
        "sub".to_owned()
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct HmacOptions {
    cookie: String,
    key_file: PathBuf,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct HeaderOptions {
    field: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AskOptions {
    path: String,
    cookies: Vec<String>,
    user_header: Option<String>,
    #[serde(default = "AskOptions::seconds")]
    seconds: u32,
    #[serde(default = "AskOptions::refused_seconds")]
    refused_seconds: u32,
    #[serde(default = "AskOptions::wait")]
    wait: f64,
    #[serde(default = "AskOptions::in_flight")]
    in_flight: usize,
}

impl AskOptions {
    fn seconds() -> u32 {
        60
    }

    fn refused_seconds() -> u32 {
        10
    }

    fn wait() -> f64 {
        1.0
    }

    fn in_flight() -> usize {
        32
    }
}

/// Seconds for which a request is held back at most: browsers and servers before the gate wait for longer than that.
const SLOW_SECONDS_MAX: f64 = 10.0;

/// How signed-in people are known, and what happens to those who ask too fast.
#[derive(Debug)]
pub(crate) struct SignInSetup {
    pub(crate) way: Option<Way>,
    pub(crate) too_fast: TooFast,
}

/// How they are known.
#[derive(Debug)]
pub(crate) enum Way {
    /// By a token that the gate checks.
    Token(TokenSetup),
    /// By asking the site.
    Ask(AskSetup),
    /// By this header field of a trusted proxy.
    Header(String),
}

/// Where tokens are, and what they must be.
#[derive(Debug)]
pub(crate) struct TokenSetup {
    /// The name of the cookie.
    pub(crate) cookie: Option<String>,
    /// `Authorization: Bearer` is looked at, too.
    pub(crate) is_bearer: bool,
    pub(crate) key_file: PathBuf,
    pub(crate) algorithm: Algorithm,
    /// What a JSON Web Token must say; none for the cookie with a plain HMAC.
    pub(crate) expected: Option<Expected>,
}

/// How the site is asked.
#[derive(Debug)]
pub(crate) struct AskSetup {
    pub(crate) path: String,
    /// The names of the cookies that are sent.
    pub(crate) cookies: Vec<String>,
    /// The field of the response that names the person.
    pub(crate) user_header: String,
    /// For how long the site's word is taken: that somebody is signed in, and that nobody is.
    pub(crate) good_for: Duration,
    pub(crate) refused_for: Duration,
    /// How long a request waits for it.
    pub(crate) wait: Duration,
    /// Requests to sites under way at the same time.
    pub(crate) in_flight: usize,
}

/// What happens to signed-in people who ask too fast.
#[derive(Debug, Clone, Copy)]
pub(crate) enum TooFast {
    /// They are told when to come again.
    Throttle,
    /// They wait for so long at most, and so many at the same time.
    Slow { longest: Duration, most: usize },
}

pub(super) fn checked(
    options: Spanned<SignInOptions>,
    sites: &[Site],
    trust: &Trust,
    errors: &mut Errors<'_>,
) -> SignInSetup {
    let at = options.span().start;
    let options = options.into_inner();
    if !(0.1..=SLOW_SECONDS_MAX).contains(&options.slow_seconds)
        || !(1..=100_000).contains(&options.slowed_max)
    {
        errors.at(
            at,
            "[gate.sign_in]: slow_seconds must lie between 0.1 and 10, slowed_max between 1 and 100000",
        );
    }
    let ways = [
        options.jwt.is_some(),
        options.hmac.is_some(),
        options.ask.is_some(),
        options.header.is_some(),
    ];
    if ways.iter().filter(|is_set| **is_set).count() > 1 {
        errors.at(
            at,
            "[gate.sign_in]: jwt, hmac, ask and header are four ways to know the same people; keep one of them",
        );
    }
    let header = options
        .header
        .map(|header| Way::Header(checked_header(header, trust, errors)));
    let way = match (options.jwt, options.hmac, options.ask) {
        (Some(jwt), ..) => Some(Way::Token(checked_jwt(jwt, errors))),
        (None, Some(hmac), _) => Some(Way::Token(checked_hmac(hmac, errors))),
        (None, None, Some(ask)) => Some(Way::Ask(checked_ask(ask, sites, errors))),
        (None, None, None) => header,
    };
    SignInSetup {
        way,
        too_fast: match options.too_fast {
            TooFastOption::Throttle => TooFast::Throttle,
            TooFastOption::Slow => TooFast::Slow {
                longest: Duration::try_from_secs_f64(options.slow_seconds).unwrap_or_default(),
                most: options.slowed_max,
            },
        },
    }
}

fn checked_header(
    options: Spanned<HeaderOptions>,
    trust: &Trust,
    errors: &mut Errors<'_>,
) -> String {
    let (at, field) = (options.span().start, options.into_inner().field);
    if !is_token(&field) || is_hop_by_hop(field.as_bytes()) {
        errors.at(
            at,
            format!(
                "[gate.sign_in.header]: field = '{field}' is no header field, like X-Remote-User"
            ),
        );
    }
    if !trust.has_proxies() && !trust.trusts(Peer::Unix) {
        errors.at(
            at,
            "[gate.sign_in.header] is believed from trusted proxies alone: name the server before the gate in trusted_proxies, like [\"127.0.0.1\"]",
        );
    }
    field
}

fn checked_jwt(options: Spanned<JwtOptions>, errors: &mut Errors<'_>) -> TokenSetup {
    let at = options.span().start;
    let options = options.into_inner();
    if options.cookie.is_none() && !options.bearer {
        errors.at(
            at,
            "[gate.sign_in.jwt] needs cookie = \"NAME\", or bearer = true for Authorization: Bearer: where the token is",
        );
    }
    if options.user.is_empty() {
        errors.at(
            at,
            "[gate.sign_in.jwt]: user must be the claim that names the person, like \"sub\"",
        );
    }
    if let Some(cookie) = &options.cookie {
        check_cookie(at, "jwt", cookie, errors);
    }
    TokenSetup {
        cookie: options.cookie,
        is_bearer: options.bearer,
        key_file: options.key_file,
        algorithm: options.algorithm,
        expected: Some(Expected {
            user: options.user,
            issuer: options.issuer,
            audience: options.audience,
        }),
    }
}

fn checked_hmac(options: Spanned<HmacOptions>, errors: &mut Errors<'_>) -> TokenSetup {
    let at = options.span().start;
    let options = options.into_inner();
    check_cookie(at, "hmac", &options.cookie, errors);
    TokenSetup {
        cookie: Some(options.cookie),
        is_bearer: false,
        key_file: options.key_file,
        algorithm: Algorithm::Hs256,
        expected: None,
    }
}

fn checked_ask(options: Spanned<AskOptions>, sites: &[Site], errors: &mut Errors<'_>) -> AskSetup {
    let at = options.span().start;
    let options = options.into_inner();
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"\"#<>\\^`{|}".contains(&byte);
    if !options.path.starts_with('/') || !options.path.bytes().all(is_plain) {
        errors.at(
            at,
            format!(
                "[gate.sign_in.ask]: path = '{}' is no path of the site, like /whoami",
                options.path
            ),
        );
    }
    if options.cookies.is_empty() || options.cookies.len() > 8 {
        errors.at(
            at,
            "[gate.sign_in.ask]: cookies must name one to eight session cookies, like [\"sessionid\"]",
        );
    }
    for cookie in &options.cookies {
        check_cookie(at, "ask", cookie, errors);
    }
    let named = options.user_header.clone().unwrap_or_default();
    if named.is_empty() {
        errors.at(
            at,
            "[gate.sign_in.ask] needs user_header: the response header field in which the site names the person, such as \"X-User\"",
        );
    } else if !is_token(&named) || is_hop_by_hop(named.as_bytes()) {
        errors.at(
            at,
            format!("[gate.sign_in.ask]: user_header = '{named}' is no header field, like X-User"),
        );
    }
    check_ask_numbers(at, &options, errors);
    if let Some(site) = sites.iter().find(|site| site.upstream.is_none()) {
        errors.at(
            at,
            format!(
                "[gate.sign_in.ask] asks the site, and the site of {} has no upstream; add [[gate.site]] with hosts and upstream = \"http://127.0.0.1:8081\", or use jwt or hmac",
                site.hosts.join(", ")
            ),
        );
    }
    AskSetup {
        path: options.path,
        cookies: options.cookies,
        user_header: named,
        good_for: Duration::from_secs(options.seconds.into()),
        refused_for: Duration::from_secs(options.refused_seconds.into()),
        wait: Duration::try_from_secs_f64(options.wait).unwrap_or_default(),
        in_flight: options.in_flight,
    }
}

fn check_ask_numbers(at: usize, options: &AskOptions, errors: &mut Errors<'_>) {
    let is_sound = (1..=3600).contains(&options.seconds)
        && (1..=600).contains(&options.refused_seconds)
        // Web servers take a gate for dead after two seconds.
        && (0.05..=1.5).contains(&options.wait)
        && (2..=1024).contains(&options.in_flight);
    if !is_sound {
        errors.at(
            at,
            "[gate.sign_in.ask]: seconds must lie between 1 and 3600, refused_seconds between 1 and 600, wait between 0.05 and 1.5, in_flight between 2 and 1024",
        );
    }
}

/// The name of a cookie of the site: the gate's own cookies are not for this.
fn check_cookie(at: usize, way: &str, name: &str, errors: &mut Errors<'_>) {
    let bare = name.strip_prefix("__Host-").unwrap_or(name);
    if !is_token(name) || bare.starts_with("cattlegrid") {
        errors.at(
            at,
            format!("[gate.sign_in.{way}]: '{name}' is no name of a cookie of the site"),
        );
    }
}

/// True for what names cookies and header fields (RFC 9110, 5.6.2).
fn is_token(text: &str) -> bool {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.len() <= 128 && text.bytes().all(is_token)
}

#[cfg(test)]
mod tests {
    use super::super::Setup;

    const NEEDED: &str = "[gate]\n[[gate.listen]]\naddress = \"127.0.0.1:8080\"\n[[gate.site]]\nhosts = [\"*\"]\nupstream = \"http://127.0.0.1:8081\"\n";

    fn check(part: &str, expected: &str) {
        let errors = Setup::parse(&format!("{NEEDED}{part}")).map(drop);
        match (errors, expected) {
            (Ok(()), "") => {}
            (Ok(()), expected) => panic!("{part}: {expected} is missing"),
            (Err(errors), expected) => assert!(
                !expected.is_empty() && errors[0].contains(expected),
                "{part}: {errors:?}"
            ),
        }
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_the_cure() {
        let jwt = "[gate.sign_in.jwt]\nalgorithm = \"ES256\"\nkey_file = \"/k\"\n";
        let hmac = "[gate.sign_in.hmac]\ncookie = \"who\"\nkey_file = \"/k\"\n";
        let bare = "[gate.sign_in.ask]\npath = \"/whoami\"\ncookies = [\"sid\"]\n";
        let ask = &format!("{bare}user_header = \"X-User\"\n");
        check(hmac, "");
        check(ask, "");
        check(bare, "needs user_header");
        check(&format!("{jwt}bearer = true\n"), "");
        check(jwt, "needs cookie");
        check(&format!("{hmac}{ask}"), "keep one of them");
        let header = "[gate.sign_in.header]\nfield = \"X-Remote-User\"\n";
        check(header, "trusted proxies alone");
        check(&format!("{header}{hmac}"), "keep one of them");
        let behind = "[gate]\ntrusted_proxies = [\"192.0.2.1\"]\n[[gate.listen]]\naddress = \"127.0.0.1:8080\"\n[[gate.site]]\nhosts = [\"*\"]\nupstream = \"http://127.0.0.1:8081\"\n";
        Setup::parse(&format!("{behind}{header}")).unwrap();
        let errors = header.replace("X-Remote-User", "Connection");
        let errors = Setup::parse(&format!("{behind}{errors}")).unwrap_err();
        assert!(errors[0].contains("no header field"), "{errors:?}");
        check(&format!("{jwt}cookie = \"a b\"\n"), "no name of a cookie");
        check(
            &hmac.replace("who", "__Host-cattlegrid"),
            "no name of a cookie",
        );
        check(&jwt.replace("ES256", "none"), "unknown variant `none`");
        check(&format!("{jwt}secret = \"s\"\n"), "unknown field `secret`");
        check(&ask.replace("/whoami", "whoami"), "is no path");
        check(&ask.replace("[\"sid\"]", "[]"), "one to eight");
        check(&format!("{ask}wait = 2.0\n"), "wait between");
        check(&ask.replace("X-User", "Connection"), "no header field");
        check(
            "[gate.sign_in]\nslow_seconds = 30.0\n",
            "slow_seconds must lie",
        );
        check(
            "[gate.sign_in]\ntoo_fast = \"block\"\n",
            "unknown variant `block`",
        );
        let front = "[gate]\ntrusted_proxies = [\"127.0.0.1\"]\n[[gate.listen]]\naddress = \"127.0.0.1:8080\"\nrole = \"forward_auth\"\n";
        let errors = Setup::parse(&format!("{front}{ask}")).unwrap_err();
        assert!(errors[0].contains("has no upstream"), "{errors:?}");
        Setup::parse(&format!("{front}{hmac}")).unwrap();
    }

    /// Each way is shown behind `#`, and only one of them can be in force.
    #[test]
    fn the_ways_in_the_manual_are_sound() {
        for way in ["jwt", "hmac", "ask", "header"] {
            let begin = format!("#[gate.sign_in.{way}]");
            let shown = Setup::manual().lines().skip_while(|line| *line != begin);
            let shown = shown.take_while(|line| line.starts_with('#') && !line.starts_with("# "));
            let part: String = shown.map(|line| format!("{}\n", &line[1..])).collect();
            assert!(part.contains('='), "{way}");
            check(
                &part,
                if way == "header" {
                    "trusted proxies alone"
                } else {
                    ""
                },
            );
        }
    }
}
