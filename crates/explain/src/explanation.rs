//! What an explanation holds, as plain data (`explanation.json`).

use super::{Direction, TeacherGradients};
use sched_distill_core::model::Guard;
use sched_distill_judge::evaluator::Estimate;
use sched_distill_trace::KindSample;
use serde::{Deserialize, Serialize};

/// Version of `explanation.json`, `decisions.json` and `what_if.json` that this build writes and reads.
pub const EXPLANATION_FORMAT: u32 = 1;

/// What a student goes by on a recorded trace, level by level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Explanation {
    /// Always [`EXPLANATION_FORMAT`].
    pub format_version: u32,
    /// SHA-256 of the student.
    pub student: String,
    /// Hash of the trace.
    pub trace: String,
    /// The policy that gave the probabilities of the trace.
    pub teacher: String,
    /// Workload of the trace.
    pub workload: String,
    /// Split of the trace's episodes.
    pub split: String,
    /// Seed of everything drawn.
    pub seed: u64,
    /// Levels in the student's order; those without a choice between candidates are left out.
    pub levels: Vec<LevelExplanation>,
    /// What came of fits on other draws of the training episodes; empty if none was made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stability: Vec<LevelStability>,
    /// What a neural teacher itself goes by; `None` if it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gradients: Option<TeacherGradients>,
}

/// One level. Every figure is of a sample of its choices, weighted so that it stands for all of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LevelExplanation {
    /// Level, e.g. `job`.
    pub level: String,
    /// The model that schedules.
    pub model: String,
    /// What the sample stands for, by kind.
    pub sample: Vec<KindSample>,
    /// Candidates in it.
    pub rows: usize,
    /// Families of features, the one with the largest share first; those that the model does not use come last.
    pub families: Vec<Weight>,
    /// Single features, likewise.
    pub features: Vec<Weight>,
    /// Some candidates with what the most important features add to their scores.
    pub points: Points,
    /// What the most important features do to the score, one by one.
    pub effects: Vec<Effect>,
    /// Facts at the nodes of the tree that schedules, by node; empty for other models.
    pub nodes: Vec<NodeFacts>,
    /// Agreement with named heuristics, the best of each kind first.
    pub likeness: Vec<Likeness>,
    /// The closest heuristic and its exceptions; `None` where no heuristic is known, or there are too few episodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exceptions: Option<RuleExceptions>,
    /// When nobody is taken, by kind; empty where that is no candidate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub abstentions: Vec<Abstention>,
}

/// How often a scheduler gives nothing on a kind of choice where it may.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Abstention {
    /// Kind.
    pub kind: String,
    /// Choices of the sample.
    pub choices: usize,
    /// Share of them in which the teacher gives nothing.
    pub teacher: f64,
    /// The same of the student.
    pub student: f64,
    /// What tells best when the teacher does; `None` if nothing tells much.
    pub test: Option<AbstentionTest>,
}

/// A question about a choice that tells whether the teacher gives nothing: found on every other episode, measured on the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AbstentionTest {
    /// Quantity.
    pub feature: String,
    /// Whether all candidates have it in common; else it is asked whether one of them, but for giving nothing, is so.
    pub shared: bool,
    /// Whether more than the threshold is asked for; else at most as much.
    pub above: bool,
    /// Threshold.
    pub threshold: f32,
    /// Share of the choices for which that holds in which the teacher gives nothing.
    pub there: Estimate,
    /// The same of the others.
    pub elsewhere: Estimate,
}

/// How much a feature or family matters at a level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Weight {
    /// Feature, or the quantity that a family is named after.
    pub name: String,
    /// Features that belong to it; one for a feature.
    pub features: Vec<String>,
    /// By kind, in the order of the sample; then `all`. A kind without choices is left out.
    pub by_kind: Vec<KindWeight>,
}

/// The same on one kind of choice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KindWeight {
    /// Kind, or `all`.
    pub kind: String,
    /// Mean over candidates of the absolute share in the difference between their score and the mean of their choice, in
    /// units of the score ([`super::Preference::within`]).
    pub share: f64,
    /// By how much agreement with the teacher falls if its values are shuffled: among the candidates of a choice, or, where
    /// they have it in common, among choices. Families only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drop: Option<Estimate>,
    /// Where the teacher's candidate stands among the candidates of its choice: deviations from their mean, in standard
    /// deviations; 0 where all are equal.
    pub teacher: f64,
    /// Where the student's candidate stands.
    pub student: f64,
    /// Which way it counts; `None` if it adds nothing or too little is known. Families only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tendency: Option<Tendency>,
}

/// Which way a family counts among the candidates of a choice.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tendency {
    /// In the student's model: how the shares of its columns together go with the quantity's value.
    pub student: Direction,
    /// By how much more of what it moves in the student's model, two candidates compared, goes up with the value than down: from −1,
    /// always down, to 1, always up.
    pub one_way: f64,
    /// In the teacher's choices: by how much the log-probability of the candidate with the largest value is above that of the one
    /// with the smallest, by least squares on the places in the order of values, with the other important families held. `None` for
    /// families that are not among the six that matter most, and where it cannot be told from those.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub teacher: Option<Estimate>,
}

impl Tendency {
    /// Whether the teacher's choices go the student's way beyond doubt.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        let sign = self.student.sign();
        sign != 0.0 && self.teacher_goes(sign)
    }

    /// Whether the teacher's choices go the other way beyond doubt.
    #[must_use]
    pub fn is_contrary(&self) -> bool {
        let sign = self.student.sign();
        sign != 0.0 && self.teacher_goes(-sign)
    }

    /// Whether the teacher's choices go the way of a sign beyond doubt.
    fn teacher_goes(&self, sign: f64) -> bool {
        self.teacher.is_some_and(|e| (e.low * sign).min(e.high * sign) > 0.0)
    }
}

/// Some candidates, drawn from the sample.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Points {
    /// The most important features.
    pub features: Vec<String>,
    /// Values, shape `(features, candidates)`; `None` of a candidate that has no such quantity.
    pub values: Vec<Vec<Option<f32>>>,
    /// Shares in the score, like those of [`KindWeight::share`] but with their sign, shape `(features, candidates)`.
    pub shares: Vec<Vec<f64>>,
}

/// What a feature does to the score.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Effect {
    /// Feature.
    pub feature: String,
    /// Values, ascending.
    pub grid: Vec<f32>,
    /// Accumulated local effect at each of them ([`super::accumulated_effects`]), in units of the score.
    pub accumulated: Vec<f64>,
    /// Partial dependence at each ([`super::partial_dependence`]), less its mean over the candidates.
    pub partial: Vec<f64>,
}

/// What reaches a node of a tree.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeFacts {
    /// Share of all candidates.
    pub rows: f64,
    /// Share of the choices that have a candidate here.
    pub choices: f64,
    /// Share of its candidates that the student takes.
    pub taken: f64,
    /// Share of its candidates that the teacher finds best.
    pub best: f64,
    /// Share of its candidates by the teacher's probability: below 1 %, to 10 %, to 50 %, to 90 %, above. Empty if the
    /// teacher gives none.
    pub probability: Vec<f64>,
    /// Candidates of the sample, counted.
    pub sampled: usize,
}

/// Borders of [`NodeFacts::probability`].
pub const PROBABILITY_BORDERS: [f64; 4] = [0.01, 0.1, 0.5, 0.9];

/// Agreement with one heuristic on the choices of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Likeness {
    /// Kind.
    pub kind: String,
    /// Heuristic.
    pub rule: String,
    /// What it does, in words.
    pub meaning: String,
    /// Choices counted.
    pub choices: usize,
    /// Share of choices in which it takes what the teacher finds best.
    pub teacher: Estimate,
    /// What following it costs in the teacher's probability; `None` where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regret: Option<Estimate>,
    /// Share of choices in which it takes what the student takes.
    pub student: Estimate,
    /// By how much it agrees less with the teacher than the closest heuristic of the kind, on the same choices; 0 for that one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind: Option<Estimate>,
    /// Agreement with the teacher by the state of the cluster.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub regimes: Vec<RegimeLikeness>,
}

/// Agreement in one regime.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegimeLikeness {
    /// Regime, e.g. `jobs_in_system <= 4`.
    pub regime: String,
    /// Choices counted.
    pub choices: usize,
    /// Share of choices in which it takes what the teacher finds best.
    pub teacher: Estimate,
}

/// The heuristic of a level that is closest to the teacher, and what has to be said beside it ([`super::exceptions`]). All
/// figures are of choices that neither the heuristic nor an exception was chosen on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleExceptions {
    /// Heuristic.
    pub rule: String,
    /// What it does, in words.
    pub meaning: String,
    /// Agreement of the heuristic alone.
    pub agreement: Vec<KindAgreement>,
    /// Exceptions, the most important one first.
    pub exceptions: Vec<RuleException>,
}

/// An exception to a heuristic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleException {
    /// Which candidates are treated differently, and how.
    pub guard: Guard,
    /// Whether it comes before the heuristic's own conditions, not behind them.
    pub overrides: bool,
    /// Agreement of the heuristic with the exceptions up to this one.
    pub agreement: Vec<KindAgreement>,
}

/// Agreement with the teacher on one kind of choice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KindAgreement {
    /// Kind.
    pub kind: String,
    /// Choices counted.
    pub choices: usize,
    /// Share of choices in which the teacher's best candidate comes first.
    pub teacher: Estimate,
}

/// How alike the models of several fits are at one level ([`super::stability`]).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LevelStability {
    /// Level, e.g. `job`.
    pub level: String,
    /// The learner that was run again.
    pub model: String,
    /// Training episodes; every fit draws so many with replacement.
    pub episodes: usize,
    /// Size of the student's model.
    pub size: usize,
    /// Sizes of the models of the fits, in the order of the fits.
    pub sizes: Vec<usize>,
    /// By kind of choice, then `all`. A kind without choices in the sample is left out.
    pub agreement: Vec<KindStability>,
    /// Families of features that the student or one of the fits uses, the one that most fits use first.
    pub families: Vec<FamilyStability>,
}

/// How often models of several fits take the same candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KindStability {
    /// Kind, or `all`.
    pub kind: String,
    /// Choices of the sample.
    pub choices: usize,
    /// Share of choices in which a fit takes the student's candidate.
    pub student: Extent,
    /// Share of choices in which two fits take the same candidate.
    pub pairs: Extent,
}

/// A figure over several fits, or pairs of them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Extent {
    /// Mean.
    pub mean: f64,
    /// The least.
    pub least: f64,
    /// The largest.
    pub largest: f64,
}

/// How many fits go by a family of features.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FamilyStability {
    /// The quantity that the family is named after.
    pub name: String,
    /// Whether the student's model uses it.
    pub student: bool,
    /// Share of fits whose model uses it.
    pub used: f64,
    /// Of trees: the share of fits that ask about it first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<f64>,
}
