//! Traps: links on the gate's pages that no person meets and that robots.txt forbids, each bound to the visitor it was shown to.
//!
//! A trap is a number, the hour at which it ends, and a signature over both with the source and the site. The agent is no part of it: who
//! shares the source can send any agent, and many crawlers send another one with each request. So nothing is remembered for a link, and
//! one that somebody else is led to is void.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::challenger::Challenger;
use super::keys::MAC_BYTES;
use super::keys::Purpose;
use super::visitor::Visitor;

/// The folder of all pages behind traps, below the gate's prefix: what robots.txt forbids.
pub const FOLDER: &str = "more/";

/// Hours for which a link is good.
const HOURS: u64 = 24;
const VERSION: u8 = 1;
const HEAD_BYTES: usize = 14;
const TOKEN_BYTES: usize = HEAD_BYTES + MAC_BYTES;
const TEXT_BYTES: usize = (TOKEN_BYTES * 4).div_ceil(3);
/// The longest name of a page.
const NAME_BYTES_MAX: usize = 64;

/// The address of a page behind a trap, read but not checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trap<'a> {
    /// What the link was signed with.
    pub(super) token: &'a str,
    /// Which page; none for the first one.
    pub(super) page: Option<&'a str>,
}

impl<'a> Trap<'a> {
    /// Reads the name of an own page. Nothing else is one: other servers let such paths pass to the gate, and no other path may look like it.
    pub fn of(name: &'a str) -> Option<Trap<'a>> {
        let rest = name.strip_prefix(FOLDER)?;
        let (token, page) = match rest.split_once('/') {
            Some((token, page)) => (token, Some(page)),
            None => (rest, None),
        };
        let is_token = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let is_page = |byte: u8| byte.is_ascii_lowercase() || byte == b'-';
        let is_sound = token.len() == TEXT_BYTES
            && token.bytes().all(is_token)
            && page.is_none_or(|page| {
                (1..=NAME_BYTES_MAX).contains(&page.len()) && page.bytes().all(is_page)
            });
        is_sound.then_some(Trap { token, page })
    }
}

impl Challenger {
    /// A new trap for a visitor: what follows [`FOLDER`] in its address. Costs no memory, however many are minted.
    pub fn trap(&self, visitor: &Visitor<'_>, unix: u64) -> String {
        let keys = self.keys();
        let hour = u32::try_from(unix / 3600 + HOURS).unwrap_or(u32::MAX);
        let mut bytes = [0; TOKEN_BYTES];
        let (head, signature) = bytes.split_at_mut(HEAD_BYTES);
        head[0] = VERSION;
        head[1] = keys.signing(unix);
        head[2..6].copy_from_slice(&hour.to_be_bytes());
        head[6..].copy_from_slice(&(self.random.draw() as u64).to_be_bytes());
        let message = message(head, visitor);
        let message = [&message[..], visitor.site.as_bytes()];
        signature.copy_from_slice(&keys.sign(head[1], Purpose::Trap, message));
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// True for a trap that was shown to this visitor within the last day.
    pub fn has_trapped(&self, trap: Trap<'_>, visitor: &Visitor<'_>, unix: u64) -> bool {
        let mut bytes = [0; TOKEN_BYTES + 2];
        let decoded = URL_SAFE_NO_PAD.decode_slice(trap.token, &mut bytes);
        if decoded != Ok(TOKEN_BYTES) {
            return false;
        }
        let (head, rest) = bytes.split_at(HEAD_BYTES);
        let signature = &rest[..MAC_BYTES];
        let hour = u32::from_be_bytes([head[2], head[3], head[4], head[5]]);
        let message = message(head, visitor);
        let message = [&message[..], visitor.site.as_bytes()];
        head[0] == VERSION
            && unix / 3600 < u64::from(hour)
            && self
                .keys()
                .is_genuine(head[1], Purpose::Trap, message, signature)
    }
}

/// What is signed, before the site.
fn message(head: &[u8], visitor: &Visitor<'_>) -> [u8; HEAD_BYTES + 9] {
    let mut message = [0; HEAD_BYTES + 9];
    message[..HEAD_BYTES].copy_from_slice(head);
    message[HEAD_BYTES] = visitor.source.kind as u8;
    message[HEAD_BYTES + 1..].copy_from_slice(&visitor.source.value.to_be_bytes());
    message
}

#[cfg(test)]
mod tests {
    use cattlegrid_core::request::Source;

    use super::*;
    use crate::challenge::Keys;
    use crate::challenge::Settings;

    const NOW: u64 = 1_900_000_000;

    fn challenger() -> Challenger {
        let folder = tempfile::tempdir().unwrap();
        let keys = Keys::open(&folder.path().join("keys"), NOW).unwrap();
        Challenger::new(keys, Settings::default()).unwrap()
    }

    fn visitor<'a>(address: &str, agent: &'a str, site: &'a str) -> Visitor<'a> {
        Visitor {
            source: Source::from_address(address.as_bytes()).unwrap(),
            agent: agent.as_bytes(),
            site,
            is_secure: true,
        }
    }

    #[test]
    fn h072_a_trap_is_the_visitors_own_for_a_day() {
        let challenger = challenger();
        let own = visitor("192.0.2.7", "one", "www.example.org");
        let token = challenger.trap(&own, NOW);
        let address = format!("{FOLDER}{token}/old-river");
        let trap = Trap::of(&address).unwrap();
        let has = |visitor: &Visitor<'_>, unix| challenger.has_trapped(trap, visitor, unix);
        assert!(has(&own, NOW) && has(&own, NOW + 23 * 3600));
        assert!(!has(&own, NOW + 24 * 3600));
        assert!(has(&visitor("192.0.2.7", "two", "www.example.org"), NOW));
        assert!(!has(&visitor("192.0.2.8", "one", "www.example.org"), NOW));
        assert!(!has(&visitor("192.0.2.7", "one", "example.org"), NOW));
        assert_ne!(token, challenger.trap(&own, NOW));
        let other = self::challenger();
        assert!(!other.has_trapped(trap, &own, NOW), "another gate's");
        for at in 0..token.len() {
            let mut forged = address.clone().into_bytes();
            let byte = &mut forged[FOLDER.len() + at];
            *byte = if *byte == b'A' { b'B' } else { b'A' };
            let forged = String::from_utf8(forged).unwrap();
            let forged = Trap::of(&forged).unwrap();
            assert!(!challenger.has_trapped(forged, &own, NOW), "{at}");
        }
    }

    #[test]
    fn nothing_else_looks_like_the_address_of_a_trap() {
        let token = "A".repeat(TEXT_BYTES);
        assert!(Trap::of(&format!("more/{token}")).is_some_and(|trap| trap.page.is_none()));
        assert!(Trap::of(&format!("more/{token}/a-b")).is_some());
        let long = "a".repeat(65);
        for name in [
            "more/".to_owned(),
            format!("more/{token}/"),
            format!("more/{token}A"),
            format!("more/{token}/../page"),
            format!("more/{token}/a/b"),
            format!("more/{token}/%2e%2e"),
            format!("more/{token}/A"),
            format!("more/{token}/{long}"),
            format!("more/../{token}"),
            format!("less/{token}"),
        ] {
            assert_eq!(Trap::of(&name), None, "{name}");
        }
    }
}
