//! A cookie that a site makes in three lines of any language: `user.expiry.mac`.
//!
//! The MAC is HMAC-SHA256 over the site's first name, a line feed and `user.expiry`, in base64url without padding. The site is part of it, so
//! that a cookie of one site is worth nothing on another that has the same key.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::Refused;
use super::is_before;
use super::keys::Keys;

/// The person whom a cookie names.
pub(super) fn user(token: &str, keys: &Keys, site: &str, unix: u64) -> Result<String, Refused> {
    // Names may have dots: the last two parts are ours.
    let (text, mac) = token.rsplit_once('.').ok_or(Refused::Malformed)?;
    let (user, expiry) = text.rsplit_once('.').ok_or(Refused::Malformed)?;
    let mac = URL_SAFE_NO_PAD
        .decode(mac)
        .map_err(|_| Refused::Malformed)?;
    let is_number =
        (1..=12).contains(&expiry.len()) && expiry.bytes().all(|digit| digit.is_ascii_digit());
    let expiry: u64 = match expiry.parse() {
        Ok(expiry) if is_number => expiry,
        _ => return Err(Refused::Malformed),
    };
    if !keys.verify(None, format!("{site}\n{text}").as_bytes(), &mac) {
        return Err(Refused::Signature);
    }
    match is_before(unix, expiry) {
        true => Ok(user.to_owned()),
        false => Err(Refused::Expired),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sign_in::Verifier;

    const NOW: u64 = 1_900_000_000;

    fn keys() -> Keys {
        Keys::secret(&[b"0123456789abcdef0123456789abcdef"])
    }

    /// `printf 'www.example.org\nalice.1900003600' | openssl dgst -sha256 -hmac 0123456789abcdef0123456789abcdef -binary | basenc --base64url`
    const ALICE: &str = "alice.1900003600.Y7Q0_KDVk1qytsraopN_6EryyVQXEAveyerrFfJtl_I";
    /// The same for a name with dots.
    const DOTS: &str = "a.b@example.org.1900003600.2FQ-1FigR-K9UvJa_bnTuT5xtteFXHeftjJQHSNFYmg";

    fn check(token: &str, site: &str, now: u64) -> Result<String, Refused> {
        Verifier::Stamp(keys()).user(token.as_bytes(), site, now)
    }

    #[test]
    fn cookies_made_with_openssl() {
        let site = "www.example.org";
        assert_eq!(check(ALICE, site, NOW), Ok("alice".to_owned()));
        assert_eq!(check(DOTS, site, NOW), Ok("a.b@example.org".to_owned()));
        assert_eq!(check(ALICE, site, NOW + 3600 + 119), Ok("alice".to_owned()));
        assert_eq!(check(ALICE, site, NOW + 3600 + 120), Err(Refused::Expired));
        assert_eq!(check(ALICE, "example.org", NOW), Err(Refused::Signature));
    }

    #[test]
    fn h088_every_changed_bit_and_every_cut_is_refused() {
        let site = "www.example.org";
        for at in 0..ALICE.len() {
            for bit in 0..8 {
                let mut bytes = ALICE.as_bytes().to_vec();
                bytes[at] ^= 1 << bit;
                let got = Verifier::Stamp(keys()).user(&bytes, site, NOW);
                assert!(got.is_err(), "{at} {bit}: {got:?}");
            }
            assert!(check(&ALICE[..at], site, NOW).is_err(), "{at}");
        }
        for token in [
            "",
            ".",
            "..",
            "alice",
            "alice.1900003600",
            "alice.1900003600.",
        ] {
            assert!(check(token, site, NOW).is_err(), "{token}");
        }
        let long = format!("{}{ALICE}", "a".repeat(8192));
        assert_eq!(check(&long, site, NOW), Err(Refused::TooLong));
        // A name that moves into the expiry, and a nameless cookie.
        assert!(check(&ALICE.replacen("alice.", "alic.e", 1), site, NOW).is_err());
    }
}
