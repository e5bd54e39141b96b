//! What a neural teacher itself goes by: integrated gradients of its own decisions, as plain data.

use serde::{Deserialize, Serialize};

/// Attributions of a teacher's log-probabilities to its inputs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TeacherGradients {
    /// Decisions looked at, spread evenly over the trace.
    pub decisions: usize,
    /// Most steps along the way from the baseline that a decision needed.
    pub steps: u32,
    /// Largest gap between the sum of a decision's attributions and the difference that they explain, relative to it.
    pub gap: f64,
    /// What decisions are compared with, in words.
    #[serde(default = "empty_observation")]
    pub baseline: String,
    /// One per question that the network answers.
    pub questions: Vec<QuestionGradients>,
}

/// What is meant where a file does not say it, which was so when there was nothing else.
#[must_use]
pub fn empty_observation() -> String {
    "an observation in which every number is 0 and no stage waits for another".to_owned()
}

/// One question, e.g. which stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuestionGradients {
    /// The question in words.
    pub question: String,
    /// Decisions with more than one answer to it.
    pub decisions: usize,
    /// Mean log-probability of the answer, nats.
    pub log_prob: f64,
    /// The same for what it is compared with.
    pub baseline: f64,
    /// What the difference is put down to, the largest first.
    pub inputs: Vec<InputGradient>,
}

/// One input, summed over the places where the network reads it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InputGradient {
    /// The feature, by the name that it has in a trace where it is there too.
    pub feature: String,
    /// Whose: the chosen stage's, its job's, the other jobs'.
    pub of: String,
    /// Mean attribution, nats; the inputs of a question add up to `log_prob - baseline`.
    pub mean: f64,
    /// Mean of its absolute value per decision, nats.
    pub size: f64,
}
