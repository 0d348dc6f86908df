//! Model files that were cut, changed, made for something else, or made by an enemy.

use cattlegrid_learn::committee::Committee;
use cattlegrid_learn::data::Dataset;
use cattlegrid_learn::data::Example;
use cattlegrid_learn::model::BYTES_MAX;
use cattlegrid_learn::model::Model;
use cattlegrid_learn::series::PAPER_ATTRIBUTES;
use cattlegrid_learn::series::attributes;
use serde_json::Value;
use sha2::Digest;
use sha2::Sha256;

/// Two classes that a few values tell apart.
fn model() -> Model {
    let value = |at: usize, place: usize| ((at * 31 + place * 17) % 23) as f64 / 23.0;
    let example = |at: usize| Example {
        values: (0..attributes().len())
            .map(|place| match place {
                2 | 3 => (at % 4) as f64,
                5 => (at % 2) as f64,
                _ => value(at, place) + f64::from(u8::from(at.is_multiple_of(2) && place > 8)),
            })
            .collect(),
        is_positive: at.is_multiple_of(2),
        group: None,
    };
    let dataset = Dataset {
        attributes: attributes(),
        examples: (0..60).map(example).collect(),
    };
    Model {
        made_from: "sixty examples".to_owned(),
        campaign_k: 350.0,
        examples: [30, 30],
        shape: Committee::learn(&dataset, 1),
        paper: Committee::learn(&dataset.first_attributes(PAPER_ATTRIBUTES), 1),
        sessions: None,
        paths: None,
    }
}

/// The file with other content and a checksum that fits it.
fn forged(text: &str, change: impl Fn(&mut Value)) -> String {
    let mut file: Value = serde_json::from_str(text).unwrap();
    change(&mut file["model"]);
    let hash = Sha256::digest(file["model"].to_string());
    let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    file["sha256"] = hex.into();
    file.to_string()
}

#[test]
fn h077_h187_model_files() {
    let model = model();
    let text = model.to_json().unwrap();
    // The same examples give the same bytes, and reading gives back what was written.
    assert_eq!(self::model().to_json().unwrap(), text);
    assert_eq!(Model::parse(&text).unwrap(), model);
    // Nothing, and cut at any place.
    let mut refused = 0;
    for end in (0..text.len() - 1).step_by(97) {
        assert!(Model::parse(&text[..end]).is_err(), "cut at {end}");
        refused += 1;
    }
    // Any digit that is changed.
    let digits: Vec<usize> = (0..text.len())
        .filter(|at| text.as_bytes()[*at].is_ascii_digit())
        .collect();
    for at in digits.iter().step_by(digits.len() / 200 + 1) {
        let mut bytes = text.clone().into_bytes();
        bytes[*at] = if bytes[*at] == b'5' { b'6' } else { b'5' };
        match Model::parse(std::str::from_utf8(&bytes).unwrap()) {
            // The seventeenth digit of a number may say nothing.
            Ok(same) => assert_eq!(same, model, "changed at {at}"),
            Err(_) => refused += 1,
        }
    }
    println!("{refused} files refused");
    let says = |text: &str, words: &str| {
        let error = Model::parse(text).unwrap_err();
        assert!(error.contains(words), "{error}");
    };
    says(
        &text.replace("cattlegrid/model/1", "cattlegrid/model/9"),
        "train it again",
    );
    says("{\"schema\":\"cattlegrid/analyze/1\"}", "no model file");
    says(&" ".repeat(BYTES_MAX + 1), "larger than");
}

#[test]
fn h077_forged_models_are_refused() {
    let text = model().to_json().unwrap();
    assert!(Model::parse(&forged(&text, |_| {})).is_ok());
    type Change = fn(&mut Value);
    let changes: [(&str, Change); 16] = [
        ("a tree without answers", |model| {
            model["shape"]["trees"][0]["steps"] = Value::Array(Vec::new())
        }),
        ("no reach", |model| {
            model["shape"]["novelty"]["reach"] = 0.into()
        }),
        ("a reference cut short", |model| {
            model["shape"]["novelty"]["references"][0] = Value::Array(Vec::new())
        }),
        ("a negative spread", |model| {
            model["shape"]["novelty"]["scales"][0][1] = (-1).into()
        }),
        ("no vectors", |model| {
            model["shape"]["svm"]["vectors"] = Value::Array(Vec::new())
        }),
        ("a huge coefficient", |model| {
            model["shape"]["svm"]["coefficients"][0] = 1e300.into()
        }),
        ("not a number", |model| {
            model["shape"]["svm"]["rho"] = Value::Null
        }),
        ("a vector cut short", |model| {
            model["shape"]["svm"]["vectors"][0] = Value::Array(Vec::new())
        }),
        ("an attribute less", |model| {
            model["shape"]["attributes"].as_array_mut().unwrap().pop();
        }),
        ("an attribute twice", |model| {
            let first = model["shape"]["attributes"][0].clone();
            model["shape"]["attributes"]
                .as_array_mut()
                .unwrap()
                .push(first);
        }),
        ("an unknown part", |model| model["extra"] = 1.into()),
        ("votes worth too much", |model| {
            model["shape"]["worth"]["offset"] = 1e9.into()
        }),
        ("a tree that asks for what there is not", |model| {
            model["shape"]["trees"][0]["splits"][0][0] = 99.into()
        }),
        ("a tree that decides alone", |model| {
            model["shape"]["trees"][0]["steps"][0] = 1e9.into()
        }),
        ("a k that joins everybody", |model| {
            model["campaign_k"] = (-1.0).into()
        }),
        ("an origin of several lines", |model| {
            model["made_from"] = "a\nb".into()
        }),
    ];
    for (what, change) in changes {
        assert!(Model::parse(&forged(&text, change)).is_err(), "{what}");
    }
}
