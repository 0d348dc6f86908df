//! What was learned, as a file that says what it was made from. It is read as if an enemy had written it.

use serde::Deserialize;
use serde::Serialize;
use sha2::Digest;
use sha2::Sha256;

use crate::committee::Committee;
use crate::data::Attribute;
use crate::data::Classifier;
use crate::data::Dataset;
use crate::data::Kind;
use crate::forest::Forest;
use crate::forest::Growth;
use crate::path_model::PathModel;
use crate::series::PAPER_ATTRIBUTES;
use crate::series::attributes;
use crate::tree::Size;
use crate::tree::Tree;
use crate::trees::Trees;

/// The files this program reads.
pub const SCHEMA: &str = "cattlegrid/model/1";
/// A larger file is no model of ours.
pub const BYTES_MAX: usize = 8 << 20;
/// Bytes of the text about the origin.
const ORIGIN_MAX: usize = 2000;

/// What was learned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// What it was made from, in words.
    pub made_from: String,
    /// Crawlers and users it learned from.
    pub examples: [u64; 2],
    /// The k of the paper's Algorithm 1, which finds campaigns: for comparison.
    pub campaign_k: f64,
    /// Looks at all values of a series.
    pub shape: Committee,
    /// Looks at the values of the paper's Table 1 alone: for comparison.
    pub paper: Committee,
    /// Looks at sessions while they go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions: Option<SessionModel>,
    /// Looks at the paths of signed-in users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paths: Option<PathModel>,
}

/// What was learned of sessions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionModel {
    /// What it was made from, in words.
    pub made_from: String,
    /// Sessions of robots and of people it learned from.
    pub examples: [u64; 2],
    /// Names of the values it looks at, in their order.
    pub values: Vec<String>,
    /// The paper's tree with the paper's cuts.
    pub paper: Tree,
    /// The paper's values with learned cuts.
    pub cuts: Tree,
    /// All values, one tree that a person can read.
    pub all: Tree,
    /// All values, many trees: the most exact.
    pub best: Ensemble,
}

/// Many trees, of the make that suits the number of examples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Ensemble {
    /// From thousands of examples.
    Trees(Trees),
    /// From dozens.
    Forest(Forest),
}

/// Examples below which a forest learns better.
const MANY: usize = 5000;
/// A forest for some dozens of examples.
const SMALL: Growth = Growth {
    trees: 300,
    tree: Size { depth: 8, leaf: 1 },
    examples: 2000,
};

impl Ensemble {
    /// The probability, or a small one where it is soon clear that it is small.
    pub fn probability_unless_small(&self, values: &[f64]) -> f64 {
        match self {
            Ensemble::Trees(trees) => trees.probability_unless_small(values),
            Ensemble::Forest(forest) => forest.probability(values),
        }
    }

    /// Learns from examples; the same seed gives the same.
    pub fn learn(dataset: &Dataset, seed: u64) -> Ensemble {
        match dataset.examples.len() < MANY {
            true => Ensemble::Forest(Forest::learn(dataset, SMALL, seed)),
            false => Ensemble::Trees(Trees::learn(dataset)),
        }
    }

    fn check(&self, attributes: &[Attribute]) -> Result<(), String> {
        match self {
            Ensemble::Trees(trees) => trees.check(attributes),
            Ensemble::Forest(forest) => forest.check(attributes.len()),
        }
    }
}

impl Classifier for Ensemble {
    fn probability(&self, values: &[f64]) -> f64 {
        match self {
            Ensemble::Trees(trees) => trees.probability(values),
            Ensemble::Forest(forest) => forest.probability(values),
        }
    }
}

/// Values of a session at most.
const VALUES_MAX: usize = 200;

impl SessionModel {
    /// The attributes of its examples.
    pub fn attributes(values: &[String]) -> Vec<Attribute> {
        let attribute = |name: &String| Attribute {
            name: name.clone(),
            kind: Kind::Continuous,
        };
        values.iter().map(attribute).collect()
    }

    fn check(&self) -> Result<(), String> {
        check_origin(&self.made_from)?;
        if self.values.len() > VALUES_MAX {
            return Err("a session has too many values".to_owned());
        }
        for tree in [&self.paper, &self.cuts, &self.all] {
            tree.check(self.values.len())?;
        }
        self.best.check(&SessionModel::attributes(&self.values))
    }
}

fn check_origin(text: &str) -> Result<(), String> {
    match text.len() > ORIGIN_MAX || text.chars().any(char::is_control) {
        true => Err("the text about its origin is not one line".to_owned()),
        false => Ok(()),
    }
}

/// The model with what tells that it is one, and whole.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    schema: String,
    sha256: String,
    model: serde_json::Value,
}

impl Model {
    /// The text of the file.
    pub fn to_json(&self) -> serde_json::Result<String> {
        let model = serde_json::to_value(self)?;
        let file = File {
            schema: SCHEMA.to_owned(),
            sha256: hash(&model),
            model,
        };
        Ok(serde_json::to_string(&file)? + "\n")
    }

    /// Reads a file. Says what is wrong with it, and what to do.
    pub fn parse(text: &str) -> Result<Model, String> {
        if text.len() > BYTES_MAX {
            return Err(format!(
                "it is larger than {} MiB, which no model is",
                BYTES_MAX >> 20
            ));
        }
        let file: File = serde_json::from_str(text).map_err(|error| {
            format!("it is no model file: {error}; make one with 'cattlegrid train'")
        })?;
        if file.schema != SCHEMA {
            return Err(format!(
                "it is a '{}', this program reads '{SCHEMA}'; train it again",
                file.schema.chars().take(60).collect::<String>()
            ));
        }
        if hash(&file.model) != file.sha256 {
            return Err("its content does not fit its checksum: it was changed or cut; take the original, or train it again".to_owned());
        }
        let model: Model = serde_json::from_value(file.model)
            .map_err(|error| format!("it does not fit this program: {error}; train it again"))?;
        model
            .check()
            .map_err(|error| format!("it does not fit this program: {error}; train it again"))?;
        Ok(model)
    }

    fn check(&self) -> Result<(), String> {
        check_origin(&self.made_from)?;
        if !(1e-6..=1e9).contains(&self.campaign_k) {
            return Err("the k of campaigns is out of range".to_owned());
        }
        let all = attributes();
        self.shape.check(&all)?;
        self.paper.check(&all[..PAPER_ATTRIBUTES])?;
        if let Some(paths) = &self.paths {
            check_origin(&paths.made_from)?;
            paths.check()?;
        }
        self.sessions.as_ref().map_or(Ok(()), SessionModel::check)
    }
}

/// Hash of the value as this program writes it: spaces in the file do not matter.
fn hash(model: &serde_json::Value) -> String {
    let bytes = Sha256::digest(model.to_string());
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
