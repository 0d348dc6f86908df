//! What a browser sends back, and why it may be refused.

use super::token::TEXT_BYTES_MAX;
use super::work::PARTS;

/// A token, sixteen numbers of ten digits, and names.
pub(super) const BODY_BYTES_MAX: usize = TEXT_BYTES_MAX + 512;

/// Why an answer was not accepted. The effect is always the same: a new challenge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Not what our page sends.
    Malformed,
    /// Not signed by this gate, or with a key that is gone.
    Forged,
    /// Minted before this process started: it may have been spent then.
    Restarted,
    /// Too late.
    Expired,
    /// Minted later than now.
    Early,
    /// The browser sent no cookie that tells it was asked.
    NoCookie,
    /// Another browser, agent or site was asked.
    OtherVisitor,
    /// The work was not done.
    TooEasy,
    /// Answered before.
    Spent,
}

impl Refusal {
    /// The word for it in logs, figures and answers.
    pub fn name(self) -> &'static str {
        match self {
            Refusal::Malformed => "malformed",
            Refusal::Forged => "forged",
            Refusal::Restarted => "restarted",
            Refusal::Expired => "expired",
            Refusal::Early => "early",
            Refusal::NoCookie => "no_cookie",
            Refusal::OtherVisitor => "other_visitor",
            Refusal::TooEasy => "too_easy",
            Refusal::Spent => "spent",
        }
    }

    /// Whether our page in an honest browser never causes it. The others are bad luck: a slow phone, a restart, a key that
    /// was replaced, several tabs, cookies switched off.
    pub fn is_evidence(self) -> bool {
        matches!(self, Refusal::Malformed | Refusal::TooEasy | Refusal::Spent)
    }
}

/// An answer as our page sends it: `token=…&work=1.2.…`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer<'a> {
    pub(super) token: &'a [u8],
    pub(super) found: [u32; PARTS],
}

impl<'a> Answer<'a> {
    pub(super) fn parse(body: &'a [u8]) -> Option<Answer<'a>> {
        Some(Answer {
            token: field(body, b"token")?,
            found: numbers(field(body, b"work")?)?,
        })
    }
}

/// The only field of this name in a form. All values of ours are the same encoded and plain.
pub(super) fn field<'a>(body: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    if body.len() > BODY_BYTES_MAX {
        return None;
    }
    let pairs = body.trim_ascii_end().split(|&byte| byte == b'&');
    let mut values = pairs.filter_map(|pair| pair.strip_prefix(name)?.strip_prefix(b"="));
    let value = values.next()?;
    values.next().is_none().then_some(value)
}

/// The only field of this name in a form, as a visitor typed it; nothing where that is no text, or long.
pub(super) fn text(body: &[u8], name: &[u8]) -> Option<String> {
    const BYTES_MAX: usize = 256;
    let sent = field(body, name).filter(|sent| sent.len() <= BYTES_MAX)?;
    let mut bytes = Vec::with_capacity(sent.len());
    let mut rest = sent;
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        match (first, after) {
            (b'+', _) => bytes.push(b' '),
            (b'%', [high, low, after @ ..]) => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                bytes.push((16 * digit(*high)? + digit(*low)?) as u8);
                rest = after;
            }
            (b'%', _) => return None,
            (byte, _) => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).ok()
}

fn numbers(text: &[u8]) -> Option<[u32; PARTS]> {
    let mut found = [0; PARTS];
    let mut words = text.split(|&byte| byte == b'.');
    for number in &mut found {
        let word = words.next()?;
        // `parse` would take a sign and any number of zeros.
        if !(1..=10).contains(&word.len()) || !word.iter().all(u8::is_ascii_digit) {
            return None;
        }
        *number = str::from_utf8(word).ok()?.parse().ok()?;
    }
    words.next().is_none().then_some(found)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_what_our_page_sends_is_read() {
        let work = ["4294967295"; PARTS].join(".");
        let good = format!("work={work}&token=abc\n");
        assert_eq!(Answer::parse(good.as_bytes()).unwrap().token, b"abc");
        for bad in [
            String::new(),
            "token=abc".to_owned(),
            format!("token=abc&work={work}.1"),
            format!("token=abc&token=abc&work={work}"),
            format!("token=abc&work={}", ["1"; PARTS - 1].join(".")),
            format!("token=abc&work={}", ["+1"; PARTS].join(".")),
            format!("token=abc&work={}", ["-1"; PARTS].join(".")),
            format!("token=abc&work={}", ["1e3"; PARTS].join(".")),
            format!("token=abc&work={}", ["4294967296"; PARTS].join(".")),
            format!("token=abc&work={}", ["00000000001"; PARTS].join(".")),
            format!("token=abc&work={work}{}", " ".repeat(BODY_BYTES_MAX)),
        ] {
            assert_eq!(Answer::parse(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn typed_text_is_decoded() {
        let check = |sent: &str, expected: Option<&str>| {
            let body = format!("token=x&answer={sent}");
            assert_eq!(
                super::text(body.as_bytes(), b"answer").as_deref(),
                expected,
                "{sent}"
            );
        };
        check("19", Some("19"));
        check("%EF%BC%91+2", Some("１ 2"));
        check("", Some(""));
        check("a%26b", Some("a&b"));
        check("%", None);
        check("%4", None);
        check("%zz", None);
        check("%FF", None);
        check("1&answer=2", None);
        check(&"1".repeat(257), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(body in prop::collection::vec(any::<u8>(), 0..300), text in "(token=|work=|[0-9.&=%+]){0,40}") {
            Answer::parse(&body);
            Answer::parse(text.as_bytes());
            super::text(&body, b"");
            super::text(text.as_bytes(), b"token");
        }
    }
}
