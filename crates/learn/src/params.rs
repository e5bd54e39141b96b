//! What a fit is asked for, and why it may be refused.

use super::Engine;
use sched_distill_core::{
    level::{FeatureSet, FeatureSpec, LevelSpec},
    model::Structure,
};
use sched_distill_trace::LevelTable;
use serde::{Deserialize, Serialize};

/// What a model is taught about each candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// The teacher's probability.
    Probability,
    /// The probability divided by the best candidate's, so that choices among many count like choices among few.
    RelativeProbability,
    /// ln of that, not below −6.
    LogRatio,
}

/// What learns from the choices of a level; its name is the model's name in the student.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Learner {
    /// A regression tree on what [`FitParams::target`] says of each candidate.
    Tree,
    /// The same with a linear function of the tested features at each leaf.
    LinearTree,
    /// A linear regression on log-probabilities, by linfa-linear on our weighted sums.
    Linear,
    /// A conditional logit: a linear score whose softmax gives the teacher's probabilities.
    Logit,
    /// A conditional logit on steps, bends, logarithms and products that are searched for.
    SplineLogit,
    /// The same in which a feature without an upper end counts by its logarithm and steps alone, so that no term outgrows all
    /// others in states beyond those recorded.
    BoundedLogit,
    /// A tree that compares two candidates; every candidate plays every other one.
    PairwiseTree,
    /// linfa-trees, for comparison: it classifies chosen / not chosen and misplaces splits on tied features.
    LinfaTrees,
}

impl Learner {
    /// All learners.
    pub const ALL: [Self; 8] = [
        Self::Tree,
        Self::LinearTree,
        Self::Linear,
        Self::Logit,
        Self::SplineLogit,
        Self::BoundedLogit,
        Self::PairwiseTree,
        Self::LinfaTrees,
    ];

    /// Whether it is a logit, which can be told its features and gives models of all sizes at once.
    pub(super) fn is_logit(self) -> bool {
        matches!(self, Self::Logit | Self::SplineLogit | Self::BoundedLogit)
    }

    /// Its name, e.g. `spline-logit`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Tree => "tree",
            Self::LinearTree => "linear-tree",
            Self::Linear => "linear",
            Self::Logit => "logit",
            Self::SplineLogit => "spline-logit",
            Self::BoundedLogit => "bounded-logit",
            Self::PairwiseTree => "pairwise-tree",
            Self::LinfaTrees => "linfa-trees",
        }
    }
}

/// Recipe of a student. Defaults: 64 leaves per level, at least 20 rows per leaf, splits that take away 5e-4 of the error,
/// relative probabilities, kinds balanced to 0.8, a tree and a linear surrogate, ridge 1e-4 for logits, hierarchical.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FitParams {
    /// Largest number of leaves per level, of terms for spline logits.
    pub max_leaf_nodes: usize,
    /// Fewest rows in a leaf.
    pub min_samples_leaf: usize,
    /// Least share of the level's whole squared error that a split must take away; what simple policies need no leaf for
    /// is left out.
    pub min_gain: f64,
    /// How trees look for splits; pairwise trees always use histograms.
    pub engine: Engine,
    /// Whether thresholds become the shortest decimals that divide the training rows in the same way.
    pub round_thresholds: bool,
    /// Cost of a leaf for minimal cost-complexity pruning of trees, in units of their squared error; 0 does not prune.
    pub ccp_alpha: f64,
    /// What the tree is taught.
    pub target: Target,
    /// How far the kinds of choices are balanced: 0 counts choices, 1 gives every kind the same total weight. Kinds differ
    /// in number and in difficulty (easy affinity choices outnumber free ones by far), so the default lies between.
    pub balance: f64,
    /// Choices learnt from per level at most, drawn in proportion to their weights, and fewer where these have more than 13 million
    /// numbers; `None` for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_choices: Option<usize>,
    /// What is fitted, without repetition.
    pub learners: Vec<Learner>,
    /// Penalty of logits, as in [`super::LogitParams::ridge`].
    pub ridge: f64,
    /// Features that logits may use alone. At a level that has none of these: all that differ within a choice.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<String>,
    /// Pairs of features whose products logits use, at the levels that have both.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub interactions: Vec<[String; 2]>,
    /// Levels at which nothing counts that users declare; [`ALL_LEVELS`] for all of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub measured_at: Vec<String>,
    /// Name of the model that schedules, one of the learners.
    #[serde(rename = "use")]
    pub used: String,
    /// How the student asks its levels; left out where it is one after the other.
    #[serde(skip_serializing_if = "Structure::is_hierarchical")]
    pub structure: Structure,
}

impl Default for FitParams {
    fn default() -> Self {
        Self {
            max_leaf_nodes: 64,
            min_samples_leaf: 20,
            min_gain: 5e-4,
            engine: Engine::Exact,
            round_thresholds: true,
            ccp_alpha: 0.0,
            target: Target::RelativeProbability,
            balance: 0.8,
            max_choices: None,
            learners: vec![Learner::Tree, Learner::Linear],
            ridge: 1e-4,
            features: Vec::new(),
            interactions: Vec::new(),
            measured_at: Vec::new(),
            used: "tree".to_owned(),
            structure: Structure::Hierarchical,
        }
    }
}

impl FitParams {
    /// Checks every field.
    ///
    /// # Errors
    ///
    /// The first bad field with its allowed range.
    pub fn check(&self) -> Result<(), FitError> {
        let bad = |name, found: String, allowed| Err(FitError::Param { name, found, allowed });
        match self {
            p if !(2..=65_536).contains(&p.max_leaf_nodes) => {
                bad("max_leaf_nodes", p.max_leaf_nodes.to_string(), "2..=65536")
            }
            p if p.min_samples_leaf == 0 => bad("min_samples_leaf", "0".to_owned(), "at least 1"),
            p if !(0.0..=1.0).contains(&p.min_gain) => bad("min_gain", p.min_gain.to_string(), "in 0..=1"),
            p if !(p.ccp_alpha.is_finite() && p.ccp_alpha >= 0.0) => {
                bad("ccp_alpha", p.ccp_alpha.to_string(), "a number of at least 0")
            }
            p if p.ccp_alpha > 0.0 && p.learners.contains(&Learner::LinearTree) => {
                bad("ccp_alpha", p.ccp_alpha.to_string(), "0 for linear-tree")
            }
            p if (!p.features.is_empty() || !p.interactions.is_empty()) && p.learners.iter().all(|l| !l.is_logit()) => {
                bad("features", "features or interactions".to_owned(), "left out unless a logit is among the learners")
            }
            p if !(0.0..=1.0).contains(&p.balance) => bad("balance", p.balance.to_string(), "in 0..=1"),
            p if !(p.ridge.is_finite() && p.ridge >= 0.0) => {
                bad("ridge", p.ridge.to_string(), "a number of at least 0")
            }
            p if p.max_choices == Some(0) => bad("max_choices", "0".to_owned(), "at least 1"),
            p if p.learners.is_empty() => bad("learner", "none".to_owned(), "one or more"),
            p if (1..p.learners.len()).any(|i| p.learners[..i].contains(&p.learners[i])) => {
                bad("learner", self.names(), "a list without repetition")
            }
            p if p.learners.iter().all(|l| l.name() != p.used) => {
                Err(FitError::NotFitted { used: p.used.clone(), learners: self.names() })
            }
            _ => Ok(()),
        }
    }

    fn names(&self) -> String {
        let names: Vec<&str> = self.learners.iter().map(|l| l.name()).collect();
        names.join(", ")
    }

    /// The level of [`FitParams::measured_at`] that `measured` or `LEVEL=measured` speaks of.
    ///
    /// # Errors
    ///
    /// Another text.
    pub fn trust(text: &str) -> Result<String, String> {
        match text.split_once('=') {
            None if text == "measured" => Ok(ALL_LEVELS.to_owned()),
            Some((level, "measured")) if !level.is_empty() => Ok(level.to_owned()),
            _ => Err("expected measured, or LEVEL=measured as in job=measured".to_owned()),
        }
    }

    /// The features of a level that must not count, by their places.
    #[must_use]
    pub fn distrusted(&self, level: &LevelSpec) -> Vec<usize> {
        let is = |name: &String| name == ALL_LEVELS || *name == level.name;
        let declared = |(_, f): &(usize, &FeatureSpec)| f.control.is_declared() && self.measured_at.iter().any(is);
        level.features.iter().enumerate().filter(declared).map(|(column, _)| column).collect()
    }

    /// Makes features that must not count the same for all candidates, so that no learner can tell any of them apart by these.
    pub fn hide_distrusted(&self, table: &mut LevelTable) {
        let (columns, width) = (self.distrusted(&table.spec), table.spec.features.len());
        if !columns.is_empty() {
            table.x.chunks_exact_mut(width).for_each(|row| columns.iter().for_each(|&column| row[column] = 0.0));
        }
    }

    /// Checks that the features named for logits are there, and that something is left where declared ones are not to count.
    ///
    /// # Errors
    ///
    /// A feature or level that is not there, two features that no level has both, or a level all of whose features are declared.
    pub fn check_features(&self, set: &FeatureSet) -> Result<(), FitError> {
        let has = |names: &[String]| {
            let at = |level: &LevelSpec| names.iter().all(|name| level.features.iter().any(|f| f.name == *name));
            set.levels.iter().any(at)
        };
        let single = self.features.iter().map(std::slice::from_ref).find(|name| !has(name));
        if let Some(name) = single {
            let allowed = "features of a level; `distill list features` names them";
            return Err(FitError::Param { name: "features", found: format!("`{}`", name[0]), allowed });
        }
        let known = |name: &&String| *name == ALL_LEVELS || set.levels.iter().any(|level| level.name == **name);
        if let Some(name) = self.measured_at.iter().find(|name| !known(name)) {
            let allowed = "`measured`, or `LEVEL=measured` with a level of the trace";
            return Err(FitError::Param { name: "trust", found: format!("`{name}=measured`"), allowed });
        }
        let nothing = |level: &&LevelSpec| self.distrusted(level).len() == level.features.len();
        if let Some(level) = set.levels.iter().find(nothing).filter(|_| !self.measured_at.is_empty()) {
            let found =
                format!("level `{}`, whose features are all declared, or do not say who controls them", level.name);
            return Err(FitError::Param {
                name: "trust",
                found,
                allowed: "levels with measured features; record an older trace anew",
            });
        }
        match self.interactions.iter().find(|pair| !has(&pair[..])) {
            None => Ok(()),
            Some(pair) => Err(FitError::Param {
                name: "interact",
                found: format!("`{}`", pair.join("*")),
                allowed: "two features of one level; `distill list features` names them",
            }),
        }
    }
}

/// Stands for all levels in [`FitParams::measured_at`].
pub const ALL_LEVELS: &str = "*";

/// Why a student cannot be fitted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FitError {
    /// A parameter is out of range.
    #[error("{name} must be {allowed}, got {found}")]
    Param {
        /// Parameter.
        name: &'static str,
        /// Value found.
        found: String,
        /// Values allowed.
        allowed: &'static str,
    },
    /// A level has no choice to learn from.
    #[error("level `{level}`: no choice with two or more candidates to learn from; record more episodes")]
    NoChoices {
        /// The level.
        level: String,
    },
    /// A level has nothing that tells its candidates apart.
    #[error("level `{level}`: there are no features to learn from; it needs at least one")]
    NoFeatures {
        /// The level.
        level: String,
    },
    /// A feature is NaN or infinite.
    #[error("level `{level}`: feature `{feature}` is {value} at row {row}; features must be finite")]
    NotFinite {
        /// The level.
        level: String,
        /// The feature.
        feature: String,
        /// Row of the table.
        row: usize,
        /// What stands there.
        value: f32,
    },
    /// The model that should schedule is not among those fitted.
    #[error("use is `{used}`, which is not fitted; the learners are {learners}")]
    NotFitted {
        /// Model asked for.
        used: String,
        /// What is fitted.
        learners: String,
    },
    /// A rule that the level has no features for.
    #[error("{reason}")]
    Rule {
        /// Why, with the rule.
        reason: String,
    },
    /// A model of choice cannot be fitted.
    #[error("level `{level}`, {learner}: {problem}")]
    Choice {
        /// The level.
        level: String,
        /// The learner.
        learner: String,
        /// Why, with the names of features.
        problem: String,
    },
    /// The tree learner refused.
    #[error("level `{level}`: {source}")]
    Tree {
        /// The level.
        level: String,
        /// Why.
        source: super::TreeError,
    },
    /// The library that does the work refused.
    #[error("level `{level}`: {what} failed: {reason}")]
    Library {
        /// The level.
        level: String,
        /// Which part.
        what: &'static str,
        /// What it said.
        reason: String,
    },
}
