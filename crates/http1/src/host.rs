//! Host names in one spelling: rules, cookies, counters and sites never see two.

use std::borrow::Cow;

/// The longest name of a host.
const HOST_MAX: usize = 253;

/// A host name without port and final dot, in small letters; `None` for an invalid one.
///
/// Letters beyond ASCII and percent signs are refused: browsers never send them, and two readers may decode them differently.
pub fn canonical(text: &[u8]) -> Option<Cow<'_, str>> {
    if text.first() == Some(&b'[') {
        return bracketed(text).map(Cow::Owned);
    }
    let (mut is_capital, mut before) = (false, b'.');
    let mut length = 0;
    // One pass: every request pays for it.
    for byte in text {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' => {}
            b'A'..=b'Z' => is_capital = true,
            // An empty label is invalid.
            b'.' if before != b'.' => {}
            _ => break,
        }
        before = *byte;
        length += 1;
    }
    let (name, rest) = text.split_at(length);
    let name = name.strip_suffix(b".").unwrap_or(name);
    if name.is_empty() || name.len() > HOST_MAX || !is_port(rest) {
        return None;
    }
    let name = std::str::from_utf8(name).ok()?;
    Some(match is_capital {
        true => Cow::Owned(name.to_ascii_lowercase()),
        false => Cow::Borrowed(name),
    })
}

/// An address of IPv6, which stands in brackets.
fn bracketed(text: &[u8]) -> Option<String> {
    let end = memchr::memchr(b']', text)?;
    let address = std::str::from_utf8(&text[1..end]).ok()?;
    let address: std::net::Ipv6Addr = address.parse().ok()?;
    is_port(&text[end + 1..]).then(|| format!("[{address}]"))
}

/// True for what may follow a name: nothing, or a port.
fn is_port(rest: &[u8]) -> bool {
    match rest.split_first() {
        None => true,
        Some((colon, port)) => {
            *colon == b':' && port.len() <= 5 && port.iter().all(u8::is_ascii_digit)
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
