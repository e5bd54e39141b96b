//! Scenarios: the kinds of cluster there are. A scenario ties what a scheduler may know to levels, choices and
//! features.

mod catalogue;
mod one_level;
mod questions;
mod said;

pub use catalogue::{Catalogue, GuardTemplate, RuleTemplate, TermTemplate, guard, rule};
pub use one_level::{OneChoice, OneLevel};
pub use questions::{Answer, ChoiceRows, Questions};
pub use said::{Given, LEAST_LOG_PROB, Said, Told};

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
    type State: State<Scenario = Self>;
    /// An answer to a question.
    type Decision: Copy + Debug + PartialEq + Send + Sync + Serialize + DeserializeOwned;
    /// Reads questions.
    type Questions: Questions<Self>;

    /// Time of a question, ms.
    fn time_ms(seen: &Self::View<'_>) -> f64;

    /// The kind of a question, by its place in [`ScenarioInfo::kinds`].
    fn kind(seen: &Self::View<'_>) -> u8;

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

    /// The lists of [`Said`] by name, in the order in which policies are checked and compared: of what is decided first, and, where a
    /// part of what policies say is conditional on that, of the rest.
    const LISTS: &'static [&'static str];

    /// How many items [`Said::joint`] has at a question.
    fn items(seen: &Self::View<'_>) -> usize;

    /// The item of a decision; `None` if the mass that items leave over is its own.
    fn item(seen: &Self::View<'_>, decision: Self::Decision) -> Option<usize>;

    /// The place of a decision in [`Said::given`], and how many places there are at least and at most; `None` of decisions that leave
    /// nothing open once their item is known. The default is that none does.
    fn given_place(_seen: &Self::View<'_>, _decision: Self::Decision) -> Option<(usize, RangeInclusive<usize>)> {
        None
    }

    /// What the entry at a place of a list is called in messages; the default is its number.
    fn entry_name(_seen: &Self::View<'_>, _decision: Self::Decision, _list: usize, place: usize) -> String {
        format!("candidate {place}")
    }
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
    /// A scenario that says no more of itself yet. Its kinds of question, the quantity of its regimes and its figures must be filled in;
    /// everything else may be.
    #[must_use]
    pub const fn new(name: &'static str, meaning: &'static str, feature_set: fn() -> &'static FeatureSet) -> Self {
        Self {
            name,
            meaning,
            kinds: &[],
            regime: "",
            feature_set,
            words: Words::default,
            figures: &[],
            catalogue: Catalogue::EMPTY,
            lane: "machine",
            part: "run",
            parts: &[],
            may_abstain: false,
        }
    }

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
pub trait State: Clone + Debug + Send + Sync + Serialize + DeserializeOwned {
    /// The scenario whose questions it holds.
    type Scenario: Scenario;
    /// What can be told of it later without telling all of it again.
    type Change: DeserializeOwned;

    /// The same question as one that somebody else lends.
    fn of(seen: &View<'_, Self>) -> Self;

    /// The open question, if one is.
    fn view(&self) -> Option<View<'_, Self>>;

    /// Takes in an answer to the open question, with all that it leaves open filled in. Whether another question follows is then
    /// told by [`State::view`].
    ///
    /// # Errors
    ///
    /// An illegal answer; the state is as it was.
    fn answer(&mut self, decision: Decision<Self>) -> Result<Decision<Self>, Box<dyn Error + Send + Sync>>;

    /// Takes in what has changed since.
    ///
    /// # Errors
    ///
    /// What cannot be; the state is then of no use any more.
    fn change(&mut self, change: Self::Change) -> Result<(), Box<dyn Error + Send + Sync>>;

    /// About how many numbers a policy looks at, and candidates it chooses from: what its memory and time grow with.
    fn extent(&self) -> usize;
}

/// What a scheduler sees of a state.
type View<'a, W> = <<W as State>::Scenario as Scenario>::View<'a>;
/// An answer to a state's question.
type Decision<W> = <<W as State>::Scenario as Scenario>::Decision;

/// A state that schedulers see as it is (`type View<'a> = &'a Self`), and that is told anew at every question.
pub trait Whole: Clone + Debug + Send + Sync + Serialize + DeserializeOwned + 'static {
    /// The scenario whose questions it holds.
    type Scenario: for<'a> Scenario<View<'a> = &'a Self>;

    /// Whether it is a question that can be answered.
    fn is_open(&self) -> bool;

    /// Takes in an answer to the open question, as [`State::answer`].
    ///
    /// # Errors
    ///
    /// An illegal answer; the state is as it was.
    fn answer(&mut self, decision: <Self::Scenario as Scenario>::Decision) -> Result<(), Box<dyn Error + Send + Sync>>;

    /// What its memory and time grow with, as [`State::extent`].
    fn extent(&self) -> usize;
}

impl<W: Whole> State for W {
    type Scenario = W::Scenario;
    type Change = Self;

    fn of(seen: &&Self) -> Self {
        (*seen).clone()
    }

    fn view(&self) -> Option<&Self> {
        self.is_open().then_some(self)
    }

    fn answer(&mut self, decision: Decision<Self>) -> Result<Decision<Self>, Box<dyn Error + Send + Sync>> {
        Whole::answer(self, decision).map(|()| decision)
    }

    fn change(&mut self, change: Self) -> Result<(), Box<dyn Error + Send + Sync>> {
        *self = change;
        Ok(())
    }

    fn extent(&self) -> usize {
        Whole::extent(self)
    }
}
