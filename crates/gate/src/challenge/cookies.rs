//! Our cookies among a request's cookies: how they are named, written, found and taken out.

use std::borrow::Cow;
use std::sync::LazyLock;

use cattlegrid_core::request::SourceKind;
use memchr::memmem::Finder;

use super::challenger::Binding;
use super::defence::Defence;
use super::defence::Guards;
use super::visitor::Visitor;

/// Cookies of one name that are looked at: sibling sites can set many, and each costs a check.
pub(super) const TRIED_MAX: usize = 8;

/// Name of the clearance cookie. Browsers keep names that begin with `__Host-` from sibling sites, but only on https.
///
/// Where clearances are bound to a network a browser has one for each family of addresses, so that neither takes the
/// other's place.
pub(super) fn clearance_name(
    visitor: &Visitor<'_>,
    binding: Binding,
    guards: Guards,
) -> &'static str {
    match (is_prefixed(visitor, guards), binding, visitor.source.kind) {
        (true, Binding::Network, SourceKind::V4) => "__Host-cattlegrid-4",
        (true, Binding::Network, SourceKind::V6) => "__Host-cattlegrid-6",
        (true, ..) => "__Host-cattlegrid",
        (false, Binding::Network, SourceKind::V4) => "cattlegrid-4",
        (false, Binding::Network, SourceKind::V6) => "cattlegrid-6",
        (false, ..) => "cattlegrid",
    }
}

/// Name of the cookie that tells which browser was asked.
pub(super) fn asker_name(visitor: &Visitor<'_>, guards: Guards) -> &'static str {
    match is_prefixed(visitor, guards) {
        true => "__Host-cattlegrid-ask",
        false => "cattlegrid-ask",
    }
}

fn is_prefixed(visitor: &Visitor<'_>, guards: Guards) -> bool {
    visitor.is_secure && guards.has(Defence::CookieAttributes)
}

/// A `Set-Cookie` value. `Max-Age` and not `Expires`, for the visitor's clock may be wrong.
pub(super) fn set(
    name: &str,
    value: &str,
    seconds: u64,
    visitor: &Visitor<'_>,
    guards: Guards,
) -> String {
    if !guards.has(Defence::CookieAttributes) {
        return format!("{name}={value}; Max-Age={seconds}");
    }
    let secure = if visitor.is_secure { "; Secure" } else { "" };
    format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}")
}

/// False where a `Cookie` header has none of our cookies for certain: few requests have one, and every request is asked.
pub(super) fn may_have_ours(header: &[u8]) -> bool {
    static OURS: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("cattlegrid"));
    OURS.find(header).is_some()
}

/// The values of all cookies with a name, over all `Cookie` headers.
pub fn named<'a>(
    headers: impl IntoIterator<Item = &'a [u8]>,
    name: &str,
) -> impl Iterator<Item = &'a [u8]> {
    let pairs = headers
        .into_iter()
        .flat_map(|header| header.split(|&byte| byte == b';'));
    pairs.filter_map(move |pair| {
        let rest = pair
            .trim_ascii()
            .strip_prefix(name.as_bytes())?
            .trim_ascii_start();
        Some(rest.strip_prefix(b"=")?.trim_ascii_start())
    })
}

/// A `Cookie` header without our cookies, for the site behind the gate has no use for them. All other bytes stay as they
/// are. Where nothing is left the header is better not sent.
pub fn strip(header: &[u8]) -> Cow<'_, [u8]> {
    if !may_have_ours(header) {
        return Cow::Borrowed(header);
    }
    let mut rest = Vec::with_capacity(header.len());
    let mut has_first = false;
    let mut has_ours = false;
    for pair in header.split(|&byte| byte == b';') {
        if is_ours(pair) {
            has_ours = true;
            continue;
        }
        if has_first {
            rest.push(b';');
            rest.extend_from_slice(pair);
        } else {
            // The blank behind the separator that went with our cookie.
            rest.extend_from_slice(if has_ours {
                pair.trim_ascii_start()
            } else {
                pair
            });
        }
        has_first = true;
    }
    match has_ours {
        true => Cow::Owned(rest),
        false => Cow::Borrowed(header),
    }
}

fn is_ours(pair: &[u8]) -> bool {
    let name = pair
        .split(|&byte| byte == b'=')
        .next()
        .unwrap_or_default()
        .trim_ascii();
    let name = name.strip_prefix(b"__Host-").unwrap_or(name);
    matches!(
        name,
        b"cattlegrid" | b"cattlegrid-4" | b"cattlegrid-6" | b"cattlegrid-ask"
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use memchr::memmem;

    use super::*;

    fn check(header: &str, expected: &str) {
        let stripped = strip(header.as_bytes());
        assert_eq!(str::from_utf8(&stripped).unwrap(), expected, "{header}");
    }

    #[test]
    fn only_ours_are_taken_out() {
        check("", "");
        check("a=1; b=2", "a=1; b=2");
        check("__Host-cattlegrid=x", "");
        check("__Host-cattlegrid=x; a=1", "a=1");
        check("a=1; __Host-cattlegrid=x", "a=1");
        check(
            "a=1; cattlegrid-4=x;b= \"2\" ; __Host-cattlegrid-ask=y;;c",
            "a=1;b= \"2\" ;;c",
        );
        check("cattlegrid = x; cattlegrid-6; cattlegrid=", "");
        check(
            "my-cattlegrid=x; cattlegrids=1; a=cattlegrid=2",
            "my-cattlegrid=x; cattlegrids=1; a=cattlegrid=2",
        );
    }

    #[test]
    fn h022_cookies_are_found_in_any_header() {
        let headers = [
            &b"a=1; cattlegrid=one"[..],
            b"cattlegridx=no;cattlegrid=two ; b",
            b" cattlegrid =three",
        ];
        let found: Vec<&[u8]> = named(headers, "cattlegrid").collect();
        assert_eq!(found, [&b"one"[..], b"two", b"three"]);
    }

    proptest! {
        #[test]
        fn stripping_keeps_the_rest(pairs in prop::collection::vec("[a-z]{1,3}=[ -:<-~]{0,6}", 0..6), at in 0_usize..7) {
            let plain = pairs.join("; ");
            let mut with = pairs.clone();
            with.insert(at.min(pairs.len()), "__Host-cattlegrid=abc".to_owned());
            let with = with.join("; ");
            prop_assert_eq!(strip(with.as_bytes()), plain.as_bytes());
            prop_assert_eq!(strip(plain.as_bytes()), plain.as_bytes());
        }

        #[test]
        fn any_bytes_are_read(header in prop::collection::vec(any::<u8>(), 0..200), cut in 0_usize..20) {
            let mut ours = header.clone();
            ours.splice(cut.min(header.len()).., *b"; cattlegrid=x");
            prop_assert!(memmem::find(&strip(&ours), b"; cattlegrid=x").is_none());
            named([&header[..], &ours], "cattlegrid").for_each(drop);
        }
    }
}
