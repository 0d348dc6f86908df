//! One spelling for the name of a site: rules, cookies, counters and sites must never see two.

use std::borrow::Cow;

/// The longest name of a host.
const HOST_MAX: usize = 253;

/// A host name without port and final dot, in small letters; `None` for what is none.
///
/// Letters beyond ASCII and percent signs are refused: a browser never sends them, and two readers may decode them differently.
pub(crate) fn canonical(text: &[u8]) -> Option<Cow<'_, str>> {
    let text = std::str::from_utf8(text).ok()?;
    let name = without_port(text)?;
    if let Some(inner) = name.strip_prefix('[') {
        let address: std::net::Ipv6Addr = inner.strip_suffix(']')?.parse().ok()?;
        return Some(Cow::Owned(format!("[{address}]")));
    }
    let name = name.strip_suffix('.').unwrap_or(name);
    let is_sound =
        |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_' || byte == b'.';
    if name.is_empty() || name.len() > HOST_MAX || !name.bytes().all(is_sound) {
        return None;
    }
    if name.starts_with('.') || name.contains("..") {
        return None;
    }
    Some(match name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        true => Cow::Owned(name.to_ascii_lowercase()),
        false => Cow::Borrowed(name),
    })
}

/// The name before a port, if what follows it is one.
fn without_port(text: &str) -> Option<&str> {
    let from = text.rfind(']').map_or(0, |bracket| bracket + 1);
    match text[from..].find(':') {
        None => Some(text),
        Some(colon) => {
            let port = &text[from + colon + 1..];
            (port.len() <= 5 && port.bytes().all(|byte| byte.is_ascii_digit()))
                .then(|| &text[..from + colon])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_site_has_one_name() {
        for text in [
            "shop.example",
            "SHOP.example",
            "shop.example.",
            "shop.example:80",
            "shop.example.:80",
        ] {
            assert_eq!(
                canonical(text.as_bytes()).as_deref(),
                Some("shop.example"),
                "{text}"
            );
        }
        assert_eq!(canonical(b"[::1]:80").as_deref(), Some("[::1]"));
        assert_eq!(canonical(b"192.0.2.1:8080").as_deref(), Some("192.0.2.1"));
        let long = "a".repeat(300);
        for text in [
            "",
            ":80",
            ".",
            "a@b",
            "a,b",
            "a b",
            "[::1%25lo]",
            "a%2eb",
            "ａ.example",
            "a/b",
            "a..b",
            "a:b",
            "a:80:80",
            &long,
        ] {
            assert_eq!(canonical(text.as_bytes()), None, "{text}");
        }
    }
}
