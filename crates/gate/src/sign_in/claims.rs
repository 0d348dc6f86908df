//! A JSON object in which no key stands twice: of two readers of such an object each may take the other value.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::Deserializer;
use serde::de;
use serde::de::MapAccess;
use serde::de::Visitor;
use serde_json::Value;

/// The members of an object.
#[derive(Debug)]
pub(super) struct Claims(BTreeMap<String, Value>);

impl Claims {
    pub(super) fn read(text: &[u8]) -> Option<Claims> {
        serde_json::from_slice(text).ok()
    }

    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// A moment in seconds since 1970; a fraction of a second does not matter.
    pub(super) fn moment(&self, name: &str) -> Option<u64> {
        let seconds = self.get(name)?.as_f64()?;
        (0.0..=1e15).contains(&seconds).then_some(seconds as u64)
    }

    /// A name: a text, or a number as many databases have them.
    pub(super) fn name(&self, name: &str) -> Option<String> {
        match self.get(name)? {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) if !number.is_f64() => Some(number.to_string()),
            _ => None,
        }
    }

    /// True where a claim is this text, or a list that has it.
    pub(super) fn names(&self, name: &str, wanted: &str) -> bool {
        match self.get(name) {
            Some(Value::String(text)) => text == wanted,
            Some(Value::Array(all)) => all.iter().any(|one| one.as_str() == Some(wanted)),
            _ => false,
        }
    }
}

impl<'de> Deserialize<'de> for Claims {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Claims, D::Error> {
        struct Members;

        impl<'de> Visitor<'de> for Members {
            type Value = Claims;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Claims, M::Error> {
                let mut members = BTreeMap::new();
                while let Some((name, value)) = map.next_entry::<String, Value>()? {
                    if members.insert(name, value).is_some() {
                        return Err(de::Error::custom("a member stands twice"));
                    }
                }
                Ok(Claims(members))
            }
        }

        from.deserialize_map(Members)
    }
}
