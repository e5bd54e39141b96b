//! Edits: other descriptions of a job, which change nothing of what it computes.

use super::Simulated;
use crate::{rng::Stream, scenario::Said};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{
    collections::BTreeMap,
    fmt::{Debug, Display},
    str::FromStr,
};

/// A kind of cluster whose users describe their jobs, and may describe them differently. The luck stays: whatever a job is said to
/// be, its tasks take what they take.
pub trait Editable: Simulated {
    /// One change of a description.
    type Edit: Edit<Scenario = Self>;
    /// Parameters of workloads that say what a cluster believes of what users declare: they change nothing of what happens, but what
    /// schedulers see.
    const BELIEFS: &'static [&'static str] = &[];
    /// The level whose candidates are jobs, by its place in the feature set.
    const JOB_LEVEL: usize;

    /// [`Edit::all`].
    fn edits(jobs: &[Self::Job], job: u32, budget: &EditBudget) -> Vec<Self::Edit> {
        Self::Edit::all(jobs, job, budget)
    }

    /// [`Edit::edited`].
    ///
    /// # Errors
    ///
    /// As there.
    fn edited(jobs: &[Self::Job], job: u32, edit: &Self::Edit) -> Result<Vec<Self::Job>, EditError> {
        edit.edited(jobs, job)
    }

    /// [`Edit::undone`].
    ///
    /// # Errors
    ///
    /// As there.
    fn undone(jobs: &[Self::Job], job: u32, edit: &Self::Edit) -> Result<Vec<Self::Job>, EditError> {
        edit.undone(jobs, job)
    }

    /// Where on the job's critical path an edit is made, from its beginning; `None` elsewhere, or where there is no such path.
    fn critical_place(_jobs: &[Self::Job], _job: u32, _edit: &Self::Edit) -> Option<usize> {
        None
    }

    /// A question as it would be if the job had been described so, by edits one after the other: in this one state, with everything that
    /// has happened left as it is. Tasks of a stage in parts are taken to have been launched and completed in order.
    ///
    /// # Errors
    ///
    /// An edit that the job, as it is described, does not allow, or a job that is not there.
    fn edited_state(state: &Self::State, job: u32, edits: &[Self::Edit]) -> Result<Self::State, EditError>;

    /// An episode in which the job has not arrived yet, with it described as in `jobs`.
    fn described(episode: &Self::Simulator, jobs: &[Self::Job], job: u32) -> Self::Simulator;

    /// Whether a job could be given something at a question.
    fn is_candidate(seen: &Self::View<'_>, job: u32) -> bool;

    /// How much a decision gives to a job, in executors or what else there is.
    fn given(decision: Self::Decision, job: u32) -> u32;

    /// Features of the level of jobs that need not rise or fall with declared numbers, each with one that it never exceeds. All others
    /// must do one or the other, for every candidate and whichever job's numbers change: [`Editable::extremes`] bounds them.
    const LOOSE: &'static [(&'static str, &'static str)] = &[];

    /// A question with all declared numbers of a job that still count less by a share of themselves, and with all of them more; `None`
    /// where none counts.
    ///
    /// # Errors
    ///
    /// A scenario in which that bounds nothing, which is the default, or a job that is not there.
    fn extremes(_state: &Self::State, _job: u32, _share: f64) -> Result<Option<[Self::State; 2]>, EditError> {
        Err(EditError("no certificates: this scenario does not say what declared numbers can come to".to_owned()))
    }

    /// The same with each of these numbers anywhere between, as `stream` has it.
    ///
    /// # Errors
    ///
    /// As of [`Editable::extremes`].
    fn somewhere(state: &Self::State, job: u32, share: f64, _stream: &mut Stream) -> Result<Self::State, EditError> {
        Ok(Self::extremes(state, job, share)?.map_or_else(|| state.clone(), |[least, _]| least))
    }

    /// All edits of a sort that are made or not, of a job at a question: every one that a user could make, of which searches try some.
    /// By default there are none.
    fn all_edits(_state: &Self::State, _job: u32, _sort: &str) -> Vec<Self::Edit> {
        Vec::new()
    }

    /// The job that a candidate of the first level is; `None` for another one. `questions` has taken in the question.
    fn candidate_job(questions: &Self::Questions, seen: &Self::View<'_>, candidate: usize) -> Option<u32>;

    /// Log-probabilities of what could be done next, each with the job that it would give something to, if it would give any.
    fn log_probabilities(seen: &Self::View<'_>, said: &Said, each: &mut dyn FnMut(Option<u32>, f64));
}

/// A job of those that are edited.
type Job<E> = <<E as Edit>::Scenario as Simulated>::Job;

/// One change of a description: what it says, what it makes of jobs, and what it costs.
pub trait Edit: Clone + Debug + Display + PartialEq + Serialize + DeserializeOwned + Send + Sync {
    /// Whose jobs are edited.
    type Scenario: Simulated;

    /// The sorts of edits that there are.
    fn sorts() -> Vec<EditInfo>;

    /// All edits of a job that a budget allows, in an order that depends on the job alone; none if there is no such job.
    fn all(jobs: &[Job<Self>], job: u32, budget: &EditBudget) -> Vec<Self>;

    /// The jobs with one of them edited.
    ///
    /// # Errors
    ///
    /// An edit that the job, as it is described, does not allow, or a job that is not there.
    fn edited(&self, jobs: &[Job<Self>], job: u32) -> Result<Vec<Job<Self>>, EditError>;

    /// The jobs before the edit that was made last of all edits of the job: what [`Edit::edited`] began with.
    ///
    /// # Errors
    ///
    /// An edit that has not been made.
    fn undone(&self, jobs: &[Job<Self>], job: u32) -> Result<Vec<Job<Self>>, EditError>;

    /// Which of [`Edit::sorts`] it is.
    fn sort(&self) -> &'static str;

    /// How far it goes: for a number the share by which it changes, for all others 1.
    fn cost(&self) -> f64;

    /// For an edit of a number: two small edits of the same number, the one that makes it larger first, and how many times the
    /// difference between them this edit is. `None` for edits that are made or not.
    fn slope(&self) -> Option<([Self; 2], f64)> {
        None
    }
}

/// A sort of edits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EditInfo {
    /// What the user calls it.
    pub name: &'static str,
    /// What it does.
    pub meaning: &'static str,
    /// Whether it is among those that are tried where the user names none.
    pub usual: bool,
    /// Whether it changes a number, by how much of it a budget says.
    pub is_number: bool,
}

/// Why an edit cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct EditError(pub String);

/// By how much of itself a number may change where a budget does not say.
const USUAL_SHARE: f64 = 0.5;

/// How far a number is moved to find the slope there.
const STEP: f64 = 0.01;

/// Two small factors of a number, the larger one first, and how many times the difference between them a factor is: what
/// [`Edit::slope`] is made of.
#[must_use]
pub fn small_steps(factor: f64) -> ([f64; 2], f64) {
    ([1.0 + STEP, 1.0 - STEP], (factor - 1.0) / (2.0 * STEP))
}

/// How much may be edited: how many edits, and how far a number may be moved.
///
/// ```
/// use sched_distill_core::simulation::EditBudget;
/// let budget: EditBudget = "edits=2,duration=0.25".parse()?;
/// assert_eq!((budget.edits, budget.share("duration"), budget.share("epochs")), (2, 0.25, 0.5));
/// assert_eq!(budget.to_string(), "edits=2,duration=0.25");
/// assert!("edits=0".parse::<EditBudget>().is_err());
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EditBudget {
    /// Edits of a job, at least 1.
    pub edits: u32,
    /// By sort of edits by how much of itself a number may change, in `0..=0.5`; 0.5 where nothing is said.
    pub shares: BTreeMap<String, f64>,
    /// The sorts of edits that may be made; empty for the usual ones.
    pub sorts: Vec<String>,
}

impl Default for EditBudget {
    fn default() -> Self {
        Self { edits: 1, shares: BTreeMap::new(), sorts: Vec::new() }
    }
}

impl EditBudget {
    /// By how much of itself a number of this sort may change.
    #[must_use]
    pub fn share(&self, sort: &str) -> f64 {
        self.shares.get(sort).copied().unwrap_or(USUAL_SHARE)
    }

    /// Times what it was a number of this sort may be made, from the least to the most.
    #[must_use]
    pub fn factors(&self, sort: &str) -> [f64; 4] {
        let most = self.share(sort);
        [1.0 - most, 1.0 - most / 2.0, 1.0 + most / 2.0, 1.0 + most]
    }

    /// Whether edits of a sort may be made.
    #[must_use]
    pub fn allows(&self, info: &EditInfo) -> bool {
        if self.sorts.is_empty() { info.usual } else { self.sorts.iter().any(|s| s == info.name) }
    }

    /// Checks that a scenario has all sorts that are named.
    ///
    /// # Errors
    ///
    /// The first that it does not have, with those that it has.
    pub fn check(&self, known: &[EditInfo]) -> Result<(), EditError> {
        let names = |numbers: bool| {
            let of = known.iter().filter(|info| info.is_number || !numbers).map(|info| info.name);
            of.collect::<Vec<_>>().join(", ")
        };
        let is_known = |name: &str, numbers: bool| known.iter().any(|i| i.name == name && (i.is_number || !numbers));
        if let Some(found) = self.sorts.iter().find(|s| !is_known(s, false)) {
            return Err(EditError(format!("`{found}` is no sort of edits; there are {}", names(false))));
        }
        match self.shares.keys().find(|s| !is_known(s, true)) {
            Some(found) => Err(EditError(format!(
                "a budget says `edits`, and for edits of a number how far it may be moved ({}); it does not say `{found}`",
                names(true)
            ))),
            None => Ok(()),
        }
    }
}

impl FromStr for EditBudget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut budget = Self::default();
        for part in text.split(',') {
            let (name, value) =
                part.split_once('=').ok_or_else(|| format!("`{part}` is not NAME=VALUE, as edits=1"))?;
            if name == "edits" {
                budget.edits = value
                    .parse()
                    .ok()
                    .filter(|n| (1..=16).contains(n))
                    .ok_or_else(|| format!("edits={value}: a whole number in 1..=16 is needed"))?;
                continue;
            }
            let share: f64 = value.parse().ok().filter(|v| *v > 0.0 && *v <= USUAL_SHARE).ok_or_else(|| {
                format!(
                    "{name}={value}: a number above 0 and up to {USUAL_SHARE} is needed, such as 0.25 for a quarter"
                )
            })?;
            budget.shares.insert(name.to_owned(), share);
        }
        Ok(budget)
    }
}

impl Display for EditBudget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "edits={}", self.edits)?;
        self.shares.iter().try_for_each(|(name, share)| write!(f, ",{name}={share}"))
    }
}
