//! Structured fields (RFC 9651) as far as signatures need them: dictionaries of lists, texts and bytes. Strict: what is not in the one
//! spelling that signers write has no reading. A member keeps its text as sent, which is what a signature covers.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Members of one field, and parameters or items of one member, that are read.
const MEMBERS_MAX: usize = 16;

/// A value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Item {
    Text(String),
    Number(i64),
    Token(String),
    Bytes(Vec<u8>),
    True,
    /// Texts with their parameters.
    List(Vec<(String, Vec<(String, Item)>)>),
}

/// A member of a dictionary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) key: String,
    pub(super) value: Item,
    pub(super) parameters: Vec<(String, Item)>,
    /// Value and parameters as sent.
    pub(super) text: String,
}

impl Member {
    pub(super) fn parameter(&self, key: &str) -> Option<&Item> {
        let mut found = self.parameters.iter();
        found.find(|(known, _)| known == key).map(|(_, item)| item)
    }

    pub(super) fn text_of(&self, key: &str) -> Option<&str> {
        match self.parameter(key)? {
            Item::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn number_of(&self, key: &str) -> Option<i64> {
        match self.parameter(key)? {
            Item::Number(number) => Some(*number),
            _ => None,
        }
    }
}

/// Reads a dictionary. None where it is broken, too long, or has a key twice.
pub(super) fn dictionary(text: &str) -> Option<Vec<Member>> {
    let mut reader = Reader { text, at: 0 };
    let mut members: Vec<Member> = Vec::new();
    reader.skip(" ");
    while reader.at < text.len() {
        let key = reader.key()?;
        reader.take('=')?;
        let start = reader.at;
        let value = match reader.peek()? {
            '(' => reader.list()?,
            _ => reader.item()?,
        };
        let parameters = reader.parameters()?;
        if members.len() == MEMBERS_MAX || members.iter().any(|known| known.key == key) {
            return None;
        }
        members.push(Member {
            key,
            value,
            parameters,
            text: text[start..reader.at].to_owned(),
        });
        reader.skip(" \t");
        if reader.at < text.len() {
            reader.take(',')?;
            reader.skip(" \t");
            reader.peek()?;
        }
    }
    Some(members)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn take(&mut self, wanted: char) -> Option<()> {
        (self.peek()? == wanted).then(|| self.at += wanted.len_utf8())
    }

    fn skip(&mut self, any: &str) {
        while self.peek().is_some_and(|char| any.contains(char)) {
            self.at += 1;
        }
    }

    fn while_is(&mut self, is: impl Fn(char) -> bool) -> &'a str {
        let rest = &self.text[self.at..];
        let end = rest.find(|char| !is(char)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn key(&mut self) -> Option<String> {
        if !matches!(self.peek()?, 'a'..='z' | '*') {
            return None;
        }
        let is = |char: char| matches!(char, 'a'..='z' | '0'..='9' | '_' | '-' | '.' | '*');
        Some(self.while_is(is).to_owned())
    }

    fn item(&mut self) -> Option<Item> {
        match self.peek()? {
            '"' => self.string().map(Item::Text),
            ':' => {
                self.take(':')?;
                let inner = self.while_is(|char| char != ':');
                self.take(':')?;
                STANDARD.decode(inner).ok().map(Item::Bytes)
            }
            '?' => {
                self.take('?')?;
                self.take('1')?;
                Some(Item::True)
            }
            '-' | '0'..='9' => {
                let digits = self.while_is(|char| char == '-' || char.is_ascii_digit());
                (digits.len() <= 16).then(|| digits.parse().ok().map(Item::Number))?
            }
            'a'..='z' | 'A'..='Z' | '*' => {
                let is =
                    |char: char| char.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~:/".contains(char);
                Some(Item::Token(self.while_is(is).to_owned()))
            }
            _ => None,
        }
    }

    fn string(&mut self) -> Option<String> {
        self.take('"')?;
        let mut text = String::new();
        loop {
            let char = self.peek()?;
            self.at += char.len_utf8();
            match char {
                '"' => return Some(text),
                '\\' => {
                    let next = self.peek().filter(|next| matches!(next, '"' | '\\'))?;
                    self.at += 1;
                    text.push(next);
                }
                ' '..='~' => text.push(char),
                _ => return None,
            }
        }
    }

    fn parameters(&mut self) -> Option<Vec<(String, Item)>> {
        let mut parameters: Vec<(String, Item)> = Vec::new();
        while self.peek() == Some(';') {
            self.take(';')?;
            let key = self.key()?;
            let value = match self.peek() {
                Some('=') => {
                    self.take('=')?;
                    self.item()?
                }
                _ => Item::True,
            };
            if parameters.len() == MEMBERS_MAX || parameters.iter().any(|(known, _)| *known == key)
            {
                return None;
            }
            parameters.push((key, value));
        }
        Some(parameters)
    }

    fn list(&mut self) -> Option<Item> {
        self.take('(')?;
        let mut items = Vec::new();
        loop {
            if self.peek()? == ')' {
                self.take(')')?;
                return Some(Item::List(items));
            }
            if !items.is_empty() {
                self.take(' ')?;
            }
            if items.len() == MEMBERS_MAX {
                return None;
            }
            items.push((self.string()?, self.parameters()?));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_signature_input() {
        let text = r#"sig1=("@authority" "signature-agent";key="sig1");created=1700000000;keyid="a\"b";tag="web-bot-auth", sig2=:AAEC:"#;
        let members = dictionary(text).unwrap();
        assert_eq!(members.len(), 2);
        assert_eq!(members[0].number_of("created"), Some(1_700_000_000));
        assert_eq!(members[0].text_of("keyid"), Some("a\"b"));
        assert!(members[0].text.starts_with("(\"@authority\""));
        assert!(members[0].text.ends_with("\"web-bot-auth\""));
        assert_eq!(members[1].value, Item::Bytes(vec![0, 1, 2]));
        for broken in [
            "sig1",
            "sig1=",
            "Sig1=1",
            "a=1,",
            "a=1, a=2",
            "a=\"é\"",
            "a=\"x",
            "a=(\"x\"  \"y\")",
            "a=:%%:",
            "a=1 b=2",
        ] {
            assert_eq!(dictionary(broken), None, "{broken}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[a-z0-9=();:\", \\\\é?*-]{0,80}") {
            if let Some(members) = dictionary(&text) {
                for member in members {
                    prop_assert!(text.contains(&member.text));
                }
            }
        }
    }
}
