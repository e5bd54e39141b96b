//! What things are called in plain sentences: data of a scenario, for who writes for readers and knows no scenario.

use super::Filler;
use serde::{Deserialize, Serialize};

/// Words for kinds, levels and quantities. What has none is called by its name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Words {
    /// By kind of choice.
    #[serde(default)]
    pub kinds: Vec<KindWords>,
    /// By level.
    #[serde(default)]
    pub levels: Vec<LevelWords>,
    /// Policies as (name, what it does): `("fifo", "first come, first served")`.
    #[serde(default)]
    pub policies: Vec<(String, String)>,
    /// Networks that come with the program.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub networks: Vec<NetworkWords>,
    /// Edge cases as (name, what completes "where ..."): `("giant", "one giant job shares the cluster")`.
    #[serde(default)]
    pub edge_cases: Vec<(String, String)>,
    /// Figures as (name, what people call it): `("mean_jct_ms", "mean completion time")`.
    #[serde(default)]
    pub figures: Vec<(String, String)>,
    /// Figures that are shares as (name, what there is more or less of): `("on_time", "jobs on time")`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shares: Vec<(String, String)>,
}

/// A network that comes with the program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkWords {
    /// The policy that it is without a file: `scorer`.
    pub policy: String,
    /// Its own name: "serving-net". It names the policy, too.
    pub name: String,
    /// What it is, in a title: "the built-in network for serving".
    pub noun: String,
}

/// A kind of choice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KindWords {
    /// Kind, e.g. `free`.
    pub kind: String,
    /// What completes "when ...": "any job may get them".
    pub when: String,
}

/// A level: words that come before those of a quantity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LevelWords {
    /// Level, e.g. `job`.
    pub level: String,
    /// What a candidate is: "job".
    pub candidate: String,
    /// "prefers a job", before what the job has more or less of.
    pub prefers: String,
    /// "picks the job", before what the job has most or least of.
    pub picks: String,
    /// By quantity.
    #[serde(default)]
    pub quantities: Vec<QuantityWords>,
}

/// A quantity of a candidate, its rank and ratio included.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuantityWords {
    /// Feature, e.g. `remaining_work`.
    pub feature: String,
    /// "work left"
    pub noun: String,
    /// "with less work left"; of what is so or not, that it is not: "that did not free the executors".
    pub less: String,
    /// "with more work left"
    pub more: String,
    /// "with the least work left"; left out where that follows from `less`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least: Option<String>,
    /// "with the most work left"; left out where that follows from `more`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<String>,
    /// Whether all candidates of a choice have it in common. Of what is so or not, `less` and `more` are then clauses: "the job waits".
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shared: bool,
    /// Who has no such quantity.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fillers: Vec<Filler>,
}

impl Words {
    /// Whether nothing has words.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What a policy does, by its name without parameters.
    #[must_use]
    pub fn policy(&self, name: &str) -> Option<&str> {
        find(&self.policies, name)
    }

    /// The network that a policy of this name is without a file; `None` if none comes with the program.
    #[must_use]
    pub fn network(&self, policy: &str) -> Option<&NetworkWords> {
        self.networks.iter().find(|network| [&network.policy, &network.name].iter().any(|name| *name == policy))
    }

    /// When an edge case is met.
    #[must_use]
    pub fn edge_case(&self, name: &str) -> Option<&str> {
        find(&self.edge_cases, name)
    }

    /// What people call a figure.
    #[must_use]
    pub fn figure(&self, name: &str) -> Option<&str> {
        find(&self.figures, name)
    }

    /// What there is more or less of where a share is larger or smaller.
    #[must_use]
    pub fn share(&self, figure: &str) -> Option<&str> {
        find(&self.shares, figure)
    }

    /// Those of a kind.
    #[must_use]
    pub fn kind(&self, kind: &str) -> Option<&KindWords> {
        self.kinds.iter().find(|k| k.kind == kind)
    }

    /// Those of a level.
    #[must_use]
    pub fn level(&self, level: &str) -> Option<&LevelWords> {
        self.levels.iter().find(|l| l.level == level)
    }
}

fn find<'a>(pairs: &'a [(String, String)], name: &str) -> Option<&'a str> {
    pairs.iter().find(|(of, _)| of == name).map(|(_, words)| words.as_str())
}

/// Pairs from text.
#[must_use]
pub fn pairs(all: &[(&str, &str)]) -> Vec<(String, String)> {
    all.iter().map(|(name, words)| ((*name).to_owned(), (*words).to_owned())).collect()
}

impl NetworkWords {
    /// From the policy that it is without a file, its own name, and what it is.
    #[must_use]
    pub fn new(policy: &str, name: &str, noun: &str) -> Self {
        let [policy, name, noun] = [policy, name, noun].map(str::to_owned);
        Self { policy, name, noun }
    }
}

impl KindWords {
    /// From a kind and what completes "when ...".
    #[must_use]
    pub fn new(kind: &str, when: &str) -> Self {
        Self { kind: kind.to_owned(), when: when.to_owned() }
    }
}

impl LevelWords {
    /// Words of a quantity.
    #[must_use]
    pub fn quantity(&self, feature: &str) -> Option<&QuantityWords> {
        self.quantities.iter().find(|q| q.feature == feature)
    }
}

impl QuantityWords {
    /// From the feature, its noun, and in one what a candidate with less and with more of it is: `with {less|more} work left`.
    #[must_use]
    pub fn new(feature: &str, noun: &str, less_more: &str) -> Self {
        let [less, more] = alternatives(less_more).unwrap_or_else(|| [less_more.to_owned(), less_more.to_owned()]);
        Self {
            feature: feature.to_owned(),
            noun: noun.to_owned(),
            less,
            more,
            least: None,
            most: None,
            shared: false,
            fillers: Vec::new(),
        }
    }
}

/// Both of what words in braces stand for, and what is around them.
fn alternatives(words: &str) -> Option<[String; 2]> {
    let (before, rest) = words.split_once('{')?;
    let (either, after) = rest.split_once('}')?;
    let (one, other) = either.split_once('|')?;
    Some([one, other].map(|words| format!("{before}{words}{after}")))
}
