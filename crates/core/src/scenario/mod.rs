//! Scenarios: the kinds of cluster there are. A scenario ties what a scheduler may know to levels, choices and
//! features.

mod catalogue;

pub use catalogue::{Catalogue, GuardTemplate, RuleTemplate, TermTemplate, guard, rule};

use crate::{
    figure::Figure,
    level::{FeatureSet, Words},
};
use serde::{Serialize, de::DeserializeOwned};
use std::{error::Error, fmt::Debug, ops::RangeInclusive};

/// A kind of cluster, as far as deciding goes.
pub trait Scenario: Copy + Default + Debug + Send + Sync + 'static {
    /// Names, levels, and what there is for searches.
    const INFO: ScenarioInfo;

    /// What a scheduler may know at a question. It borrows from who lends it, a simulator or a state that someone
    /// keeps, and tells nothing of the future.
    type View<'a>: Copy;
    /// A question as a value of its own: what anyone can make, write down and send.
    type State: State<Self>;
    /// An answer to a question.
    type Decision: Copy + Debug + PartialEq + Send + Sync + Serialize + DeserializeOwned;
    /// What a policy says of an answer: how probable it was, and how probable others were. The default is nothing.
    type Probabilities: Default + Clone + Debug + PartialEq + Send + Sync;
    /// Reads questions.
    type Questions: Questions<Self>;

    /// Time of a question, ms.
    fn time_ms(seen: &Self::View<'_>) -> f64;

    /// The kind of a question, by its place in [`ScenarioInfo::kinds`].
    fn kind(seen: &Self::View<'_>) -> u8;

    /// Empties probabilities. Those that keep memory should keep it, so that nothing is allocated per decision; the
    /// default drops it.
    fn clear(probabilities: &mut Self::Probabilities) {
        *probabilities = Self::Probabilities::default();
    }

    /// Whether they say nothing, as those of a deterministic policy.
    fn is_silent(probabilities: &Self::Probabilities) -> bool {
        *probabilities == Self::Probabilities::default()
    }

    /// Those of a policy that is sure of one decision, where another one was carried out: what is conditional on that
    /// stays empty unless both have it in common.
    fn certain(
        seen: &Self::View<'_>,
        sure_of: Self::Decision,
        carried_out: Self::Decision,
        out: &mut Self::Probabilities,
    );

    /// Whether two decisions come to the same: the default is whether they are equal.
    fn same(_seen: &Self::View<'_>, a: Self::Decision, b: Self::Decision) -> bool {
        a == b
    }

    /// Whether a decision gives nothing where policies may differ in that ([`Policy::abstains`]).
    ///
    /// [`Policy::abstains`]: crate::policy::Policy::abstains
    fn gives_nothing(_decision: Self::Decision) -> bool {
        false
    }

    /// Whether nothing need happen any more after a legal decision, although jobs are unfinished; [`Questions::strands`] says what to
    /// leave out then. The default is that no decision does that.
    fn strands(_seen: &Self::View<'_>, _decision: Self::Decision) -> bool {
        false
    }

    /// Tells of which distributions probabilities consist, so that policies can be checked and compared: always the same
    /// ones in the same order, empty where the policy names none. The default knows of none: probabilities are then
    /// checked level by level only.
    fn distributions(
        _seen: &Self::View<'_>,
        _decision: Self::Decision,
        _probabilities: &Self::Probabilities,
        _each: &mut dyn FnMut(Distribution<'_>),
    ) {
    }
}

/// One of the distributions of which the probabilities of an answer consist.
pub struct Distribution<'a> {
    /// What it is of: "stage".
    pub of: &'static str,
    /// Log-probabilities; empty if the policy names none.
    pub log_prob: &'a [f64],
    /// How many there may be.
    pub candidates: RangeInclusive<usize>,
    /// Whether it depends on what was decided, see [`Policy::given`](crate::policy::Policy::given).
    pub conditional: bool,
    /// What the candidate at a place is called.
    pub name: &'a dyn Fn(usize) -> String,
}

/// A scenario in plain data.
#[derive(Clone, Copy, Debug)]
pub struct ScenarioInfo {
    /// What traces and students call it.
    pub name: &'static str,
    /// What kind of cluster it is.
    pub meaning: &'static str,
    /// Kinds of question.
    pub kinds: &'static [&'static str],
    /// The feature by whose size decisions are divided into regimes where the user names none; the same for all
    /// candidates.
    pub regime: &'static str,
    /// Levels and features.
    pub feature_set: fn() -> &'static FeatureSet,
    /// What kinds, levels and quantities are called in sentences for readers; [`Words::default`] if nothing has words.
    pub words: fn() -> Words,
    /// What is measured of every episode; the first is the objective.
    pub figures: &'static [Figure],
    /// Guards, orders, borders, terms and heuristics.
    pub catalogue: Catalogue,
    /// What a lane of a schedule is.
    pub lane: &'static str,
    /// What a part of a job is.
    pub part: &'static str,
    /// Names of the parts of a job in schedules; empty where they have numbers only.
    pub parts: &'static [&'static str],
    /// Whether policies differ in whether they may give nothing: that is then a last candidate of the first level, of those
    /// alone that may ([`Policy::abstains`]), told by [`NONE_FLAG`].
    ///
    /// [`Policy::abstains`]: crate::policy::Policy::abstains
    /// [`NONE_FLAG`]: crate::level::NONE_FLAG
    pub may_abstain: bool,
}

impl ScenarioInfo {
    /// The figure that schedulers are judged by.
    ///
    /// # Panics
    ///
    /// If the scenario declares none.
    #[must_use]
    pub fn objective(&self) -> &'static Figure {
        self.figures.first().expect("every scenario has an objective")
    }
}

/// The cluster at a question as a value. By serde it is what `distill serve` reads.
pub trait State<S: Scenario>: Clone + Debug + Send + Sync + Serialize + DeserializeOwned {
    /// What can be told of it later without telling all of it again.
    type Change: DeserializeOwned;

    /// The same question as one that somebody else lends.
    fn of(seen: &S::View<'_>) -> Self;

    /// The open question, if one is.
    fn view(&self) -> Option<S::View<'_>>;

    /// Takes in an answer to the open question, with all that it leaves open filled in. Whether another question follows is then
    /// told by [`State::view`].
    ///
    /// # Errors
    ///
    /// An illegal answer; the state is as it was.
    fn answer(&mut self, decision: S::Decision) -> Result<S::Decision, Box<dyn Error + Send + Sync>>;

    /// Takes in what has changed since.
    ///
    /// # Errors
    ///
    /// What cannot be; the state is then of no use any more.
    fn change(&mut self, change: Self::Change) -> Result<(), Box<dyn Error + Send + Sync>>;

    /// About how many numbers a policy looks at, and candidates it chooses from: what its memory and time grow with.
    fn extent(&self) -> usize;
}

/// Reads the cluster at a question and lists the candidates of its choices, level by level, with their features.
///
/// A choice has a *path*: the places of the candidates that are taken at the levels above it. It keeps buffers, so that
/// nothing is allocated per question.
pub trait Questions<S: Scenario>: Default + Clone + Send + Sync {
    /// Questions of which only some columns are read: those marked, level by level in the order of the feature set.
    /// What the other columns hold is not defined; the default fills them all.
    fn limited(_columns: &[&[bool]]) -> Self {
        Self::default()
    }

    /// Takes in a new question, to which the other methods then refer.
    fn update(&mut self, seen: &S::View<'_>);

    /// Appends the features of the candidates at a path, a row each, and returns their number; 0 if the path is a whole
    /// decision. `abstains` says whether to give nothing is a candidate where policies may differ in that.
    fn rows(&mut self, seen: &S::View<'_>, path: &[usize], abstains: bool, out: &mut Vec<f32>) -> usize;

    /// Whether the choice at a path is known to have one candidate, so that who does not want its features need not have them worked
    /// out. The default is that it may have several.
    fn is_settled(&self, _seen: &S::View<'_>, _path: &[usize]) -> bool {
        false
    }

    /// The decision at the end of a path.
    fn decision(&self, seen: &S::View<'_>, path: &[usize]) -> S::Decision;

    /// Whether a candidate, the last of a path, is to be left out where a policy would otherwise strand the cluster
    /// ([`Scenario::strands`]). Where all candidates of a choice are, none is left out.
    fn strands(&self, _seen: &S::View<'_>, _path: &[usize]) -> bool {
        false
    }

    /// The path of a decision, if it is one of these; `rows` is a buffer.
    fn path(&self, seen: &S::View<'_>, decision: S::Decision, rows: &mut ChoiceRows, path: &mut Vec<usize>) -> bool {
        path.clear();
        let silent = S::Probabilities::default();
        let answer = Answer { decision, probabilities: &silent };
        while self.choice(seen, path, &answer, false, rows) {
            let Some(chosen) = rows.chosen else { return false };
            path.push(chosen);
        }
        !path.is_empty()
    }

    /// Writes down what a policy that answers level by level says of the choice at a path: `log_prob` has each candidate's
    /// within the choice, and `above` that of the path. Amounts ([`LevelSpec::is_amount`]) below another level are told of along what
    /// was decided only, and before the others; all other levels at every path, those above first. The default says nothing, as if
    /// the policy were sure of what it decides.
    ///
    /// [`LevelSpec::is_amount`]: crate::level::LevelSpec::is_amount
    fn tell(&self, _seen: &S::View<'_>, _path: &[usize], _above: f64, _log_prob: &[f64], _out: &mut S::Probabilities) {}

    /// The choice at a path as an answer has it; `false` if there is none, or the answer says nothing of it.
    fn choice(
        &self,
        seen: &S::View<'_>,
        path: &[usize],
        answer: &Answer<'_, S>,
        abstains: bool,
        out: &mut ChoiceRows,
    ) -> bool;
}

/// What was decided, and what the policy says of it.
pub struct Answer<'a, S: Scenario> {
    /// The decision that was carried out.
    pub decision: S::Decision,
    /// How probable it was, and how probable others were.
    pub probabilities: &'a S::Probabilities,
}

/// One choice of one level: candidates with entities and the teacher's log-probabilities. [`Questions::rows`] gives
/// their features in the same order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChoiceRows {
    /// Entity columns, row-major.
    pub entity: Vec<u32>,
    /// Log-probabilities within the choice, NaN where unknown.
    pub log_prob: Vec<f32>,
    /// Executed candidate, if it is one of these.
    pub chosen: Option<usize>,
    /// Whether the choice is conditional on what was executed and therefore came about, however improbable that was.
    pub came_about: bool,
}

impl ChoiceRows {
    /// Forgets the choice, keeping the memory.
    pub fn clear(&mut self) {
        self.entity.clear();
        self.log_prob.clear();
        self.chosen = None;
        self.came_about = false;
    }
}

/// Smallest log-probability that is written: a candidate that the teacher rules out (an amount above its cap, say)
/// still needs a number.
pub const LEAST_LOG_PROB: f32 = -50.0;

/// What log-probabilities are conditional on: ln Σ exp of some of them, as the best and what comes on top of it. Far
/// from 0 the second would be lost in the sum of the two.
#[derive(Clone, Copy, Debug)]
pub struct Given {
    best: f64,
    rest: f64,
}

impl Given {
    /// On nothing.
    pub const ALL: Self = Self { best: 0.0, rest: 0.0 };

    /// On one of these.
    #[must_use]
    pub fn any(log_probs: impl Iterator<Item = f64> + Clone) -> Self {
        let best = log_probs.clone().fold(f64::NEG_INFINITY, f64::max);
        match best == f64::NEG_INFINITY {
            true => Self { best, rest: 0.0 },
            false => Self { best, rest: log_probs.map(|p| (p - best).exp()).sum::<f64>().ln() },
        }
    }

    /// ln Σ exp; −∞ of nothing.
    #[must_use]
    pub fn ln(self) -> f64 {
        self.best + self.rest
    }

    /// What is written of a log-probability, one of so many `candidates`.
    #[must_use]
    pub fn within(self, log_prob: f64, candidates: usize) -> f32 {
        // Nothing is known of what follows something impossible: all are alike.
        let conditional = match self.best == f64::NEG_INFINITY {
            true => -(candidates as f64).ln(),
            false => log_prob - self.best - self.rest,
        };
        (conditional as f32).clamp(LEAST_LOG_PROB, 0.0)
    }
}
