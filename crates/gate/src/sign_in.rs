//! Tokens by which signed-in people are known: what a site has signed, checked by the keys in the owner's file.
//!
//! Nothing here knows a socket or a clock. A token is either whole and signed by a key of the file, for this site and this time, or it says
//! nothing: every failure ends alike, and which one it was is for the metrics alone.

mod claims;
mod jwt;
mod keys;
mod stamp;

pub(crate) use jwt::Expected;
pub(crate) use keys::Algorithm;
pub(crate) use keys::Keys;

/// The longest token that is looked at. Browsers keep no longer cookie.
const TOKEN_MAX: usize = 4096;
/// The longest name of a person.
const NAME_MAX: usize = 256;
/// Seconds by which the clocks of site and gate may differ.
const SKEW: u64 = 120;

/// Checks tokens.
#[derive(Debug)]
pub(crate) enum Verifier {
    /// JSON Web Tokens (RFC 7519), signed as the owner says.
    Jwt(Keys, Expected),
    /// `user.expiry.mac`, with HMAC-SHA256.
    Stamp(Keys),
}

/// Why a token does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// It is longer than any that a browser keeps.
    TooLong,
    /// It is not a token.
    Malformed,
    /// It names another algorithm than the owner's.
    Algorithm,
    /// No key of the file has signed it.
    Signature,
    /// It has expired, or never does.
    Expired,
    /// It is not valid yet.
    Early,
    /// It is for another site, or from another issuer.
    OtherSite,
    /// It names nobody.
    Nameless,
    /// It was not looked at: its source has sent many that were forged.
    TooMany,
}

impl Refused {
    /// The names in metrics.
    pub(crate) const NAMES: [&str; 9] = [
        "too_long",
        "malformed",
        "algorithm",
        "signature",
        "expired",
        "early",
        "other_site",
        "nameless",
        "too_many",
    ];

    /// The name in metrics.
    pub(crate) fn name(self) -> &'static str {
        Refused::NAMES[self as usize]
    }
}

impl Verifier {
    /// The person whom a token names, for a site, at a time in seconds since 1970.
    pub(crate) fn user(&self, token: &[u8], site: &str, unix: u64) -> Result<String, Refused> {
        if token.len() > TOKEN_MAX {
            return Err(Refused::TooLong);
        }
        let token = std::str::from_utf8(token).map_err(|_| Refused::Malformed)?;
        let name = match self {
            Verifier::Jwt(keys, expected) => jwt::user(token, keys, expected, unix)?,
            Verifier::Stamp(keys) => stamp::user(token, keys, site, unix)?,
        };
        match name.len() {
            1..=NAME_MAX => Ok(name),
            _ => Err(Refused::Nameless),
        }
    }
}

/// Whether a time lies before the end of a token.
fn is_before(unix: u64, expiry: u64) -> bool {
    unix < expiry.saturating_add(SKEW)
}
