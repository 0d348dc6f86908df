//! JSON Web Tokens in compact form (RFC 7515, RFC 7519), signed by the one algorithm that the owner names (RFC 8725, 3.1).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

use super::Refused;
use super::SKEW;
use super::claims::Claims;
use super::is_before;
use super::keys::Keys;

/// What the owner wants a token to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Expected {
    /// The claim that names the person.
    pub(crate) user: String,
    /// What `iss` must be.
    pub(crate) issuer: Option<String>,
    /// What must be among `aud`.
    pub(crate) audience: Option<String>,
}

/// The person whom a token names.
pub(super) fn user(
    token: &str,
    keys: &Keys,
    expected: &Expected,
    unix: u64,
) -> Result<String, Refused> {
    let (signed, signature) = token.rsplit_once('.').ok_or(Refused::Malformed)?;
    let (header, payload) = signed.split_once('.').ok_or(Refused::Malformed)?;
    // Without padding and with nothing in the bits that no byte needs: a token has one spelling.
    let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).map_err(|_| Refused::Malformed);
    let (header, payload, signature) = (decode(header)?, decode(payload)?, decode(signature)?);
    let header = Claims::read(&header).ok_or(Refused::Malformed)?;
    let key_id = key_id(&header, keys)?;
    if !keys.verify(key_id, signed.as_bytes(), &signature) {
        return Err(Refused::Signature);
    }
    // Nothing but the header is read before the signature has been checked.
    let claims = Claims::read(&payload).ok_or(Refused::Malformed)?;
    check(&claims, expected, unix)?;
    claims.name(&expected.user).ok_or(Refused::Nameless)
}

/// The key that a header names. A name only selects among the keys of the file.
fn key_id<'a>(header: &'a Claims, keys: &Keys) -> Result<Option<&'a str>, Refused> {
    let algorithm = header.get("alg").and_then(Value::as_str);
    // Extensions that must be understood are not (RFC 7515, 4.1.11).
    if algorithm != Some(keys.algorithm().name()) || header.get("crit").is_some() {
        return Err(Refused::Algorithm);
    }
    match header.get("kid") {
        None => Ok(None),
        Some(Value::String(id)) => Ok(Some(id)),
        Some(_) => Err(Refused::Malformed),
    }
}

fn check(claims: &Claims, expected: &Expected, unix: u64) -> Result<(), Refused> {
    match claims.moment("exp") {
        Some(expiry) if is_before(unix, expiry) => {}
        _ => return Err(Refused::Expired),
    }
    if claims.get("nbf").is_some() {
        match claims.moment("nbf") {
            Some(begin) if begin <= unix.saturating_add(SKEW) => {}
            _ => return Err(Refused::Early),
        }
    }
    let is_wanted = |name: &str, wanted: &Option<String>| {
        wanted
            .as_deref()
            .is_none_or(|wanted| claims.names(name, wanted))
    };
    match is_wanted("iss", &expected.issuer) && is_wanted("aud", &expected.audience) {
        true => Ok(()),
        false => Err(Refused::OtherSite),
    }
}

#[cfg(test)]
mod tests;
