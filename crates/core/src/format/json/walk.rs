//! One JSON line, gone through once with the map of keys beside it: only what the map names is kept.

use std::borrow::Cow;
use std::fmt;

use serde::de;
use serde::de::DeserializeSeed;
use serde::de::Deserializer as _;
use serde::de::IgnoredAny;
use serde::de::MapAccess;
use serde::de::SeqAccess;
use serde::de::Visitor;
use serde_json::Deserializer;

use super::Node;
use super::PARTS;

/// A value as it stood in the line; text that had escapes is kept in the scratch.
#[derive(Debug, Clone, Copy)]
pub(super) enum Value<'a> {
    Missing,
    Null,
    Number(f64),
    Borrowed(&'a [u8]),
    Stored { start: usize, end: usize },
}

impl<'a> Value<'a> {
    pub(super) fn is_missing(&self) -> bool {
        matches!(self, Value::Missing)
    }

    pub(super) fn or_empty(&mut self) {
        if self.is_missing() {
            *self = Value::Null;
        }
    }

    pub(super) fn number(&self) -> Option<f64> {
        if let Value::Number(number) = self {
            Some(*number)
        } else {
            None
        }
    }

    pub(super) fn text<'b>(&self, stored: &'b [u8]) -> Option<&'b [u8]>
    where
        'a: 'b,
    {
        match *self {
            Value::Borrowed(bytes) => Some(bytes),
            Value::Stored { start, end } => stored.get(start..end),
            Value::Missing | Value::Null | Value::Number(_) => None,
        }
    }
}

/// What one line held.
pub(super) struct Found<'a> {
    pub(super) values: [Value<'a>; PARTS.len()],
    ranks: [u8; PARTS.len()],
    /// Which keys of each meaning came, by rank.
    seen: [u64; PARTS.len()],
    pub(super) text: Vec<u8>,
    pub(super) duplicate: bool,
    /// The line has an object of headers: one that is absent there was empty, not left unlogged.
    pub(super) has_headers: bool,
}

impl<'a> Found<'a> {
    pub(super) fn new(text: Vec<u8>) -> Found<'a> {
        Found {
            values: [Value::Missing; PARTS.len()],
            ranks: [0; PARTS.len()],
            seen: [0; PARTS.len()],
            text,
            duplicate: false,
            has_headers: false,
        }
    }

    #[inline]
    pub(super) fn put(&mut self, node: &Node, value: Value<'a>) {
        let Some(part) = node.part else { return };
        let slot = part as usize;
        match self.seen[slot] {
            0 => {
                self.seen[slot] = 1 << node.rank;
                (self.values[slot], self.ranks[slot]) = (value, node.rank);
            }
            _ => self.put_another(node, slot, value),
        }
    }

    /// Another value of the same meaning.
    #[cold]
    fn put_another(&mut self, node: &Node, slot: usize, value: Value<'a>) {
        // The same key twice: two readers of one log could take different ones.
        let seen = &mut self.seen[slot];
        self.duplicate |= *seen >> node.rank & 1 == 1 && !node.key.ends_with('*');
        *seen |= 1 << node.rank;
        let text = &self.text;
        let is_empty = |value: &Value<'_>| {
            matches!(value, Value::Null)
                || value
                    .text(text)
                    .is_some_and(|text| text.is_empty() || text == b"-")
        };
        let (empty, had_empty) = (is_empty(&value), is_empty(&self.values[slot]));
        if !empty && (had_empty || node.rank > self.ranks[slot]) {
            self.values[slot] = value;
            self.ranks[slot] = node.rank;
        }
    }

    fn store(&mut self, text: &str) -> Value<'a> {
        let start = self.text.len();
        self.text.extend_from_slice(text.as_bytes());
        Value::Stored {
            start,
            end: self.text.len(),
        }
    }

    pub(super) fn copy_from_mended(&mut self, root: &Node, line: &str) -> serde_json::Result<()> {
        let mut mended = Found::new(std::mem::take(&mut self.text));
        let result = walk(root, line, &mut mended);
        let (values, duplicate, has_headers) =
            (mended.values, mended.duplicate, mended.has_headers);
        self.text = mended.text;
        self.duplicate = duplicate;
        self.has_headers = has_headers;
        for (slot, value) in values.into_iter().enumerate() {
            self.values[slot] = match value {
                Value::Borrowed(bytes) => {
                    let start = self.text.len();
                    self.text.extend_from_slice(bytes);
                    Value::Stored {
                        start,
                        end: self.text.len(),
                    }
                }
                Value::Missing => Value::Missing,
                Value::Null => Value::Null,
                Value::Number(number) => Value::Number(number),
                Value::Stored { start, end } => Value::Stored { start, end },
            };
        }
        result
    }
}

/// Goes through a whole line.
pub(super) fn walk<'a>(
    root: &Node,
    line: &'a str,
    found: &mut Found<'a>,
) -> serde_json::Result<()> {
    let mut deserializer = Deserializer::from_str(line);
    deserializer.deserialize_map(Walk { node: root, found })?;
    deserializer.end()
}

/// Goes through one value with the map beside it.
struct Walk<'n, 'f, 'a> {
    node: &'n Node,
    found: &'f mut Found<'a>,
}

impl<'a> DeserializeSeed<'a> for Walk<'_, '_, 'a> {
    type Value = ();

    fn deserialize<D: de::Deserializer<'a>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'a> Visitor<'a> for Walk<'_, '_, 'a> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a JSON object")
    }

    fn visit_map<M: MapAccess<'a>>(self, mut map: M) -> Result<(), M::Error> {
        self.found.has_headers |= self.node.key == "headers";
        while let Some(key) = map.next_key_seed(Key)? {
            match self.node.child(&key) {
                Some(node) => map.next_value_seed(Walk {
                    node,
                    found: self.found,
                })?,
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }

    /// Header values come as lists: the first counts.
    fn visit_seq<S: SeqAccess<'a>>(self, mut seq: S) -> Result<(), S::Error> {
        if seq
            .next_element_seed(Walk {
                node: self.node,
                found: self.found,
            })?
            .is_some()
        {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
        }
        Ok(())
    }

    fn visit_borrowed_str<E>(self, text: &'a str) -> Result<(), E> {
        self.found.put(self.node, Value::Borrowed(text.as_bytes()));
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        let value = self.found.store(text);
        self.found.put(self.node, value);
        Ok(())
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<(), E> {
        self.visit_f64(number as f64)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<(), E> {
        self.visit_f64(number as f64)
    }

    fn visit_f64<E>(self, number: f64) -> Result<(), E> {
        self.found.put(self.node, Value::Number(number));
        Ok(())
    }

    fn visit_bool<E: de::Error>(self, _: bool) -> Result<(), E> {
        self.visit_unit()
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.found.put(self.node, Value::Null);
        Ok(())
    }
}

/// An object's key, copied only where it has escapes.
struct Key;

impl<'a> DeserializeSeed<'a> for Key {
    type Value = Cow<'a, str>;

    fn deserialize<D: de::Deserializer<'a>>(
        self,
        deserializer: D,
    ) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'a> Visitor<'a> for Key {
    type Value = Cow<'a, str>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a key")
    }

    fn visit_borrowed_str<E>(self, text: &'a str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}
