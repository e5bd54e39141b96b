//! Certificates of recorded choices whose questions cannot be made again: over boxes of what users declare.
//!
//! What a user declares of a job is taken to move each declared quantity of its row by a share of itself, each by itself, and with it
//! ranks and ratios of all candidates and shares of totals. That is more than an edit can do: what the past has settled is not known, and
//! neither is what hangs together.

use super::{ChoiceCertificate, Ends, Judge};
use sched_distill_core::{
    level::{FeatureSpec, LevelSpec, Scope, first_max},
    model::{ScoreCandidates, Student},
    rng::Stream,
    simulation::EditError,
};
use sched_distill_trace::Choice;

/// The column that marks the candidate which is no job.
const NO_CANDIDATE: &str = "is_none";

/// A student whose recorded choices among jobs are to be certified.
pub struct BoxCertifier<'a> {
    judge: Judge<'a>,
}

impl<'a> BoxCertifier<'a> {
    /// Of a student's first level, that of jobs; `loose` as of [`LOOSE`](sched_distill_core::simulation::Editable::LOOSE).
    ///
    /// # Errors
    ///
    /// A student that decides several levels at once, or whose model compares candidates.
    pub fn new(student: &'a Student, loose: &'static [(&'static str, &'static str)]) -> Result<Self, EditError> {
        let judge = Judge::new(student, 0, loose)?;
        match student.structure.is_hierarchical() {
            true => Ok(Self { judge }),
            false => Err(EditError(
                "no certificates: the student decides job and stage together, of which rows do not tell enough"
                    .to_owned(),
            )),
        }
    }

    /// What is known of a recorded choice, where what is declared of one job may change by a share of itself; `None` if no other
    /// job is a candidate.
    #[must_use]
    pub fn choice(&self, choice: Choice<'_>, share: f64) -> Option<ChoiceCertificate> {
        let n = choice.x.len() / choice.width.max(1);
        if n < 2 {
            return None;
        }
        let taken = self.taken(choice.x, choice.width);
        let none = self.judge.spec.features.iter().position(|f| f.name == NO_CANDIDATE);
        let is_job = |candidate: usize| none.is_none_or(|c| choice.x[candidate * choice.width + c] == 0.0);
        let others = (0..n).filter(|&candidate| candidate != taken && is_job(candidate));
        let safe = others.map(|edited| {
            let (low, high) = bounds(self.judge.spec, choice, (edited, n), share);
            let ends = Ends { low: &low, high: &high, width: choice.width };
            (edited, self.judge.is_safe(edited, &ends, choice.x, &|_| 0.0))
        });
        let safe: Vec<(usize, bool)> = safe.collect();
        (!safe.is_empty()).then_some(ChoiceCertificate { kind: choice.header.kind, taken, safe })
    }

    /// The candidate that the student takes.
    fn taken(&self, x: &[f32], width: usize) -> usize {
        let mut scores = vec![0.0; x.len() / width];
        self.judge.model.score_choice(x, width, &mut scores);
        (0..self.judge.compiled.len()).for_each(|guard| self.judge.compiled.apply(guard, x, width, &mut scores));
        first_max(scores)
    }
}

/// Between what all numbers of a choice lie.
fn bounds(spec: &LevelSpec, choice: Choice<'_>, (edited, n): (usize, usize), share: f64) -> (Vec<f32>, Vec<f32>) {
    let ends = [1.0 - share, 1.0 + share].map(|factor| with(spec, choice, (edited, n), &|_| factor));
    let least = |a: &f32, b: &f32| a.min(*b);
    let most = |a: &f32, b: &f32| a.max(*b);
    let [first, last] = &ends;
    let low = first.iter().zip(last).map(|(a, b)| least(a, b)).collect();
    let high = first.iter().zip(last).map(|(a, b)| most(a, b)).collect();
    (low, high)
}

/// The rows with each declared quantity of a candidate times a factor, by column; shares of totals of all others shrink or grow with it.
fn with(spec: &LevelSpec, choice: Choice<'_>, (edited, n): (usize, usize), factor: &dyn Fn(usize) -> f64) -> Vec<f32> {
    let (mut x, width) = (choice.x.to_vec(), choice.width);
    let none = spec.features.iter().position(|f| f.name == NO_CANDIDATE);
    let jobs: Vec<usize> = (0..n).filter(|&job| none.is_none_or(|c| choice.x[job * width + c] == 0.0)).collect();
    for (column, feature) in spec.features.iter().enumerate().filter(|(_, f)| f.control.is_declared()) {
        let by = factor(column);
        let at = |job: usize| job * width + column;
        match feature.scope {
            Scope::Absolute => x[at(edited)] = (f64::from(x[at(edited)]) * by) as f32,
            Scope::Share => {
                for &job in &jobs {
                    let by = if job == edited { by } else { 1.0 / by };
                    x[at(job)] = (f64::from(x[at(job)]) * by) as f32;
                }
            }
            Scope::Rank | Scope::Ratio => {}
        }
    }
    for (column, feature) in spec.features.iter().enumerate().filter(|(_, f)| f.control.is_declared()) {
        let Some(base) = base(spec, feature) else { continue };
        let values: Vec<f32> = jobs.iter().map(|job| x[job * width + base]).collect();
        let least = values.iter().copied().fold(f32::INFINITY, f32::min);
        for (&job, &value) in jobs.iter().zip(&values) {
            x[job * width + column] = match (feature.scope, spec.features[base].whole) {
                (Scope::Rank, _) => values.iter().filter(|other| **other < value).count() as f32,
                (_, true) => (value + 1.0) / (least + 1.0),
                (_, false) => value / least.max(1.0),
            };
        }
    }
    x
}

/// The column that a rank or ratio is of.
fn base(spec: &LevelSpec, feature: &FeatureSpec) -> Option<usize> {
    let name = match feature.scope {
        Scope::Rank => feature.name.strip_suffix("_rank"),
        Scope::Ratio => feature.name.strip_suffix("_ratio"),
        Scope::Absolute | Scope::Share => None,
    }?;
    spec.features.iter().position(|f| f.name == name)
}

/// Tries to contradict certificates: moves declared quantities of candidates within the box at random; how often a candidate that is
/// certified never to be taken was, and how often another one.
#[must_use]
pub fn try_boxes(
    certifier: &BoxCertifier<'_>,
    choice: Choice<'_>,
    found: &ChoiceCertificate,
    (share, times): (f64, u32),
    stream: &mut Stream,
) -> super::Tried {
    let mut tried = super::Tried::default();
    let n = choice.x.len() / choice.width.max(1);
    for &(edited, safe) in &found.safe {
        for _ in 0..times {
            let factors: Vec<f64> = (0..choice.width).map(|_| stream.uniform_in(1.0 - share, 1.0 + share)).collect();
            let moved = with(certifier.judge.spec, choice, (edited, n), &|column| factors[column]);
            let is_taken = u64::from(certifier.taken(&moved, choice.width) == edited);
            match safe {
                true => (tried.of_safe, tried.contradicted) = (tried.of_safe + 1, tried.contradicted + is_taken),
                false => (tried.of_others, tried.taken) = (tried.of_others + 1, tried.taken + is_taken),
            }
        }
    }
    tried
}
