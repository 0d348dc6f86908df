//! Where a visitor goes after the challenge: to a page of the same site, whatever the request asked for.

/// Longer targets are led to the start page; the token that carries the target has a limit.
pub(super) const RETURN_BYTES_MAX: usize = 2048;
/// Where anything doubtful leads.
const START: &str = "/";

/// The target itself where it surely is a page of this site and none of the gate's own, else `/`.
///
/// Browsers take `//host`, `/\host` and both with tabs and line ends between for another site, and some servers decode
/// before they look; so everything that could become one of these in any reading is refused, and so are dot segments,
/// which browsers resolve before they ask.
pub fn return_to<'a>(target: &'a [u8], prefix: &str) -> &'a str {
    match str::from_utf8(target) {
        Ok(text) if is_local(target, prefix) => text,
        _ => START,
    }
}

fn is_local(target: &[u8], prefix: &str) -> bool {
    let is_plain = target
        .iter()
        .all(|&byte| byte.is_ascii_graphic() && byte != b'\\');
    let Some(path) = target.strip_prefix(b"/") else {
        return false;
    };
    if !is_plain || target.len() > RETURN_BYTES_MAX {
        return false;
    }
    let path = path
        .split(|&byte| byte == b'?' || byte == b'#')
        .next()
        .unwrap_or_default();
    // Twice, for `%252f` is a slash to whoever decodes twice.
    let once = decoded(path);
    [path, &once, &decoded(&once)]
        .into_iter()
        .all(|reading| is_harmless(reading, prefix))
}

/// Whether a path without its first slash stays on the site, in one reading.
fn is_harmless(path: &[u8], prefix: &str) -> bool {
    let leads_away = path
        .first()
        .is_some_and(|&byte| byte == b'/' || byte == b'\\' || byte == b' ');
    let has_controls = path.iter().any(|byte| byte.is_ascii_control());
    let is_slash = |&byte: &u8| byte == b'/' || byte == b'\\';
    let has_dots = path
        .split(is_slash)
        .any(|part| part == b"." || part == b"..");
    let prefix = prefix.trim_matches('/').as_bytes();
    let is_ours = path
        .get(..prefix.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(prefix))
        && path.get(prefix.len()).is_none_or(is_slash)
        && !prefix.is_empty();
    !(leads_away || has_controls || has_dots || is_ours)
}

/// Percent signs with two hex digits behind them resolved, everything else as it is.
fn decoded(path: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(path.len());
    let mut rest = path;
    while let [first, behind @ ..] = rest {
        rest = behind;
        plain.push(*first);
        if let (b'%', [high, low, after @ ..]) = (first, behind)
            && let (Some(high), Some(low)) = (
                char::from(*high).to_digit(16),
                char::from(*low).to_digit(16),
            )
        {
            plain.pop();
            plain.push((high << 4 | low) as u8);
            rest = after;
        }
    }
    plain
}

#[cfg(test)]
mod tests;
