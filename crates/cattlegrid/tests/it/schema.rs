//! Holds a document against a JSON Schema: the few keywords that ours use, and a failure for any other.
//!
//! A library for the whole standard brings as many crates as the rest of the project together and doubled the time a
//! fresh machine compiles.

use serde_json::Value;

/// What is wrong with the document, by path.
pub(crate) fn errors(schema: &Value, document: &Value) -> Vec<String> {
    let mut errors = Vec::new();
    check(schema, schema, document, "", &mut errors);
    errors
}

fn check(root: &Value, schema: &Value, value: &Value, path: &str, errors: &mut Vec<String>) {
    for (keyword, rule) in schema.as_object().unwrap() {
        let sound = match keyword.as_str() {
            "$ref" => {
                let target = root
                    .pointer(rule.as_str().unwrap().trim_start_matches('#'))
                    .unwrap();
                check(root, target, value, path, errors);
                true
            }
            "type" => match rule {
                Value::Array(kinds) => kinds.iter().any(|kind| is(kind, value)),
                kind => is(kind, value),
            },
            "const" => rule == value,
            "enum" => rule.as_array().unwrap().contains(value),
            "minimum" => value.as_f64() >= rule.as_f64(),
            "maximum" => value.as_f64() <= rule.as_f64(),
            "minItems" => length(value) >= rule.as_u64(),
            "maxItems" => length(value) <= rule.as_u64(),
            "pattern" => value.as_str().is_none_or(is_time),
            "anyOf" => rule.as_array().unwrap().iter().any(|option| {
                let mut inner = Vec::new();
                check(root, option, value, path, &mut inner);
                inner.is_empty()
            }),
            "required" => rule
                .as_array()
                .unwrap()
                .iter()
                .all(|name| value.get(name.as_str().unwrap()).is_some()),
            "items" => {
                let items = value.as_array().into_iter().flatten().enumerate();
                items.for_each(|(number, item)| {
                    check(root, rule, item, &format!("{path}/{number}"), errors)
                });
                true
            }
            "properties" => {
                for (name, rule) in rule.as_object().unwrap() {
                    if let Some(inner) = value.get(name) {
                        check(root, rule, inner, &format!("{path}/{name}"), errors);
                    }
                }
                true
            }
            "additionalProperties" => {
                let known = schema.get("properties").and_then(Value::as_object);
                let extra = value
                    .as_object()
                    .into_iter()
                    .flatten()
                    .filter(|(name, _)| known.is_none_or(|known| !known.contains_key(*name)));
                let extra: Vec<_> = extra.collect();
                if rule.is_object() {
                    extra.iter().for_each(|(name, inner)| {
                        check(root, rule, inner, &format!("{path}/{name}"), errors)
                    });
                }
                rule.is_object() || extra.is_empty()
            }
            "$schema" | "$id" | "$defs" | "title" | "description" => true,
            unknown => panic!("the schema uses {unknown}, which this check does not know"),
        };
        if !sound {
            errors.push(format!("{path}: {keyword} {rule}"));
        }
    }
}

fn length(value: &Value) -> Option<u64> {
    value.as_array().map(|items| items.len() as u64)
}

fn is(kind: &Value, value: &Value) -> bool {
    match kind.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("the schema has a type {other}"),
    }
}

/// The one pattern of the schema: RFC 3339 in UTC.
fn is_time(text: &str) -> bool {
    let shape: String = text
        .chars()
        .map(|char| if char.is_ascii_digit() { '0' } else { char })
        .collect();
    shape == "0000-00-00T00:00:00Z"
}

#[test]
fn the_check_has_teeth() {
    let schema = serde_json::json!({"type": "object", "required": ["a"], "additionalProperties": false, "properties": {"a": {"enum": [1, null]}, "b": {"type": "array", "items": {"$ref": "#/$defs/n"}}}, "$defs": {"n": {"type": "integer", "minimum": 0}}});
    let wrong = |document: Value| errors(&schema, &document).len();
    assert_eq!(wrong(serde_json::json!({"a": 1, "b": [0, 5]})), 0);
    assert_eq!(wrong(serde_json::json!({"b": []})), 1);
    assert_eq!(
        wrong(serde_json::json!({"a": 2, "b": [-1, "x"], "c": 0})),
        5
    );
}
