//! Certificates: choices of which no edit of a job's declared numbers can take what the student gives to another job.
//!
//! Sound, not exact: each number of a candidate lies between what it is with all declared numbers of the attacked job at their least and
//! at their most, since it rises or falls with each of them; scores lie between bounds that follow from that. Where the bounds of the
//! attacked job's score stay below those of another candidate, no edit within the budget lets it be taken there.

mod bounds;
mod boxes;

pub use boxes::{BoxCertifier, try_boxes};

use crate::evaluator::{Estimate, bootstrap};
use bounds::{Between, Range};
use sched_distill_core::{
    level::{LevelSpec, log_sum_exp},
    model::{CompiledGuards, Guard, Model, NamedModel, ScoreCandidates, Student},
    policy::{Policy, StudentPolicy},
    rng::Stream,
    scenario::{Questions, Said, State},
    simulation::{EditError, Editable},
};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicBool, Ordering};

/// Scores closer than this share of their size are not told apart: sums are rounded.
const ROUNDING: f64 = 1e-9;
/// Edits of a job that are tried out to know what one of them can take.
const MOST_EDITS: usize = 20_000;
/// By so much of itself a quotient of two sums may be off, since it is rounded.
const QUOTIENT: f32 = 1e-6;

/// Who scores the candidates of a level.
struct Judge<'a> {
    spec: &'a LevelSpec,
    model: &'a Model,
    temperature: f64,
    guards: Vec<&'a Guard>,
    compiled: CompiledGuards,
    /// As of [`Editable::LOOSE`].
    loose: &'static [(&'static str, &'static str)],
}

/// Between what the numbers of all candidates lie.
struct Ends<'a> {
    low: &'a [f32],
    high: &'a [f32],
    width: usize,
}

/// A student whose choices at the level of jobs are to be certified.
pub struct Certifier<'a, S: Editable> {
    judge: Judge<'a>,
    /// What is decided together with the job.
    below: Option<Below<'a>>,
    abstains: bool,
    questions: S::Questions,
    policy: StudentPolicy<S>,
}

/// The level that a student which decides several at once chooses on together with the job.
struct Below<'a> {
    model: &'a Model,
    temperature: f64,
    guards: CompiledGuards,
}

/// What is known of one choice.
#[derive(Clone, Debug, PartialEq)]
pub struct ChoiceCertificate {
    /// Kind of the choice, by its place in the scenario's.
    pub kind: u8,
    /// The candidate that the student takes.
    pub taken: usize,
    /// For each other candidate that is a job, whether it can be shown never to be taken.
    pub safe: Vec<(usize, bool)>,
}

impl ChoiceCertificate {
    /// Whether no other candidate can be taken.
    #[must_use]
    pub fn is_certified(&self) -> bool {
        self.safe.iter().all(|(_, safe)| *safe)
    }
}

/// The candidates of a choice: their features, and the jobs that they are.
struct Rows {
    x: Vec<f32>,
    width: usize,
    jobs: Vec<Option<u32>>,
    /// Logarithm of how probable the best way on from each candidate is: 0 where the job alone is chosen.
    onward: Vec<f64>,
}

impl<'a, S: Editable> Certifier<'a, S> {
    /// Of a student's first level, that of jobs.
    ///
    /// # Errors
    ///
    /// A scenario whose jobs have no level of their own at first, a student that decides more than two levels at once, or one whose
    /// model compares candidates.
    pub fn new(student: &'a Student) -> Result<Self, EditError> {
        let refused = |why: &str| EditError(format!("no certificates: {why}"));
        if S::JOB_LEVEL != 0 {
            return Err(refused("in this scenario jobs are not chosen first"));
        }
        let judge = Judge::new(student, S::JOB_LEVEL, S::LOOSE)?;
        let together: Vec<&LevelSpec> =
            student.feature_set.levels.iter().skip(1).take_while(|level| !level.is_amount()).collect();
        let below = match (student.structure.is_hierarchical(), &together[..]) {
            (true, _) | (false, []) => None,
            (false, [level]) => student.level(&level.name).map(|models| {
                let NamedModel { model, temperature, .. } = models.scheduler();
                Below { model, temperature: *temperature, guards: CompiledGuards::new(&student.guards, level) }
            }),
            _ => return Err(refused("the student decides more than two levels at once")),
        };
        Ok(Self {
            judge,
            below,
            abstains: student.abstains,
            questions: S::Questions::default(),
            policy: StudentPolicy::new(student, "student".as_ref(), None).map_err(|e| EditError(e.to_string()))?,
        })
    }

    /// What is known of the choice among jobs at a question, where declared numbers of one job may change by a share of
    /// themselves; `None` if no other job is a candidate.
    ///
    /// # Errors
    ///
    /// A scenario without bounds.
    pub fn choice(&mut self, state: &S::State, share: f64) -> Result<Option<ChoiceCertificate>, EditError> {
        let Some(seen) = state.view() else { return Ok(None) };
        let clean = self.rows(&seen);
        if clean.jobs.len() < 2 {
            return Ok(None);
        }
        let job = self.taken(state)?;
        let taken = clean.jobs.iter().position(|j| *j == job).unwrap_or_default();
        let mut safe = Vec::new();
        for (candidate, job) in clean.jobs.iter().enumerate() {
            let Some(job) = job.filter(|_| candidate != taken) else { continue };
            // Where nothing counts that the job declares, it is the same question whatever that is.
            let is_safe = S::extremes(state, job, share)?.is_none_or(|ends| {
                let ends = ends.map(|s| s.view().map(|seen| self.rows(&seen)));
                // A question that an edit makes go away is not known to be safe.
                matches!(&ends, [Some(least), Some(most)] if self.is_safe(candidate, least, most))
            });
            safe.push((candidate, is_safe));
        }
        Ok((!safe.is_empty()).then(|| ChoiceCertificate { kind: S::kind(&seen), taken, safe }))
    }

    /// What is known of the choice where one edit of one job is made, of sorts that are no numbers; exactly, as all of them are made and
    /// the student is asked. `None` if no other job is a candidate.
    ///
    /// # Errors
    ///
    /// A student that cannot answer.
    pub fn one_edit(
        &mut self,
        state: &S::State,
        sorts: &[String],
        stop: &AtomicBool,
    ) -> Result<Option<ChoiceCertificate>, EditError> {
        let Some(seen) = state.view() else { return Ok(None) };
        let (_, jobs) = self.candidates(&seen);
        if jobs.len() < 2 {
            return Ok(None);
        }
        let job = self.taken(state)?;
        let taken = jobs.iter().position(|j| *j == job).unwrap_or_default();
        let mut safe = Vec::new();
        for (candidate, job) in jobs.iter().enumerate() {
            let Some(job) = job.filter(|_| candidate != taken) else { continue };
            let edits: Vec<S::Edit> = sorts.iter().flat_map(|sort| S::all_edits(state, job, sort)).collect();
            let mut is_safe = edits.len() <= MOST_EDITS;
            for edit in if is_safe { edits } else { Vec::new() } {
                if stop.load(Ordering::Relaxed) {
                    return Err(EditError("interrupted".to_owned()));
                }
                // What the past rules out cannot have been said.
                let Ok(edited) = S::edited_state(state, job, std::slice::from_ref(&edit)) else { continue };
                if self.takes(&edited, job)? {
                    is_safe = false;
                    break;
                }
            }
            safe.push((candidate, is_safe));
        }
        Ok((!safe.is_empty()).then(|| ChoiceCertificate { kind: S::kind(&seen), taken, safe }))
    }

    /// The job to which the student gives something at a question; `None` if there is none.
    ///
    /// # Errors
    ///
    /// A student that cannot answer.
    pub fn taken(&mut self, state: &S::State) -> Result<Option<u32>, EditError> {
        let Some(seen) = state.view() else { return Ok(None) };
        let decision = self.policy.decide(&seen, &mut Said::default());
        let decision = decision.map_err(|e| EditError(e.to_string()))?;
        let (_, jobs) = self.candidates(&seen);
        Ok(jobs.into_iter().flatten().find(|&job| S::given(decision, job) > 0))
    }

    /// Whether the student gives something to a job at a question.
    fn takes(&mut self, state: &S::State, job: u32) -> Result<bool, EditError> {
        let Some(seen) = state.view() else { return Ok(false) };
        let decision = self.policy.decide(&seen, &mut Said::default());
        Ok(S::given(decision.map_err(|e| EditError(e.to_string()))?, job) > 0)
    }

    /// The features of the candidates, and the jobs that they are.
    fn candidates(&mut self, seen: &S::View<'_>) -> (Vec<f32>, Vec<Option<u32>>) {
        self.questions.update(seen);
        let mut x = Vec::new();
        let n = self.questions.rows(seen, &[], self.abstains, &mut x);
        let jobs = (0..n).map(|candidate| S::candidate_job(&self.questions, seen, candidate)).collect();
        (x, jobs)
    }

    fn rows(&mut self, seen: &S::View<'_>) -> Rows {
        let (x, jobs) = self.candidates(seen);
        let onward = (0..jobs.len()).map(|candidate| self.onward(seen, candidate)).collect();
        Rows { width: x.len() / jobs.len().max(1), x, jobs, onward }
    }

    fn onward(&mut self, seen: &S::View<'_>, candidate: usize) -> f64 {
        let Some(below) = &self.below else { return 0.0 };
        let mut x = Vec::new();
        let n = self.questions.rows(seen, &[candidate], self.abstains, &mut x);
        if n < 2 {
            return 0.0;
        }
        let (width, mut scores) = (x.len() / n, vec![0.0; n]);
        below.model.score_choice(&x, width, &mut scores);
        (0..below.guards.len()).for_each(|guard| below.guards.apply(guard, &x, width, &mut scores));
        scores.iter_mut().for_each(|score| *score /= below.temperature);
        scores.iter().copied().fold(f64::NEG_INFINITY, f64::max) - log_sum_exp(&scores)
    }

    /// Whether a candidate that is edited between two extremes always has somebody before it.
    fn is_safe(&self, edited: usize, least: &Rows, most: &Rows) -> bool {
        let (mut low, mut high) = (least.x.clone(), least.x.clone());
        for (i, &other) in most.x.iter().enumerate() {
            (low[i], high[i]) = (low[i].min(other), high[i].max(other));
        }
        // Where more is decided together, the job is worth its score and the best way on, which at best is sure. The probability of
        // all jobs together is the same for each of them.
        let onward = |other: usize| least.onward[other].min(most.onward[other]);
        let ends = Ends { low: &low, high: &high, width: least.width };
        self.judge.is_safe(edited, &ends, &least.x, &onward)
    }
}

impl<'a> Judge<'a> {
    /// Of a level of a student.
    fn new(
        student: &'a Student,
        level: usize,
        loose: &'static [(&'static str, &'static str)],
    ) -> Result<Self, EditError> {
        let refused = |why: &str| EditError(format!("no certificates: {why}"));
        let spec = &student.feature_set.levels[level];
        let models =
            student.level(&spec.name).ok_or_else(|| refused("the student has no model of the level of jobs"))?;
        let NamedModel { model, temperature, .. } = models.scheduler();
        let compares = |m: &Model| matches!(m, Model::Pairwise(_));
        if compares(model) || matches!(model, Model::Regime(r) if r.models.iter().any(compares)) {
            return Err(refused("the student's model compares candidates, so no score is its own"));
        }
        Ok(Self {
            spec,
            model,
            temperature: *temperature,
            guards: student.guards.iter().filter(|g| g.level == spec.name).collect(),
            compiled: CompiledGuards::new(&student.guards, spec),
            loose,
        })
    }

    /// Whether a candidate always has somebody before it, wherever all numbers lie between `ends`. `x` are numbers that they may have,
    /// `onward` the least that the best way on from another candidate is worth.
    fn is_safe(&self, edited: usize, ends: &Ends<'_>, x: &[f32], onward: &dyn Fn(usize) -> f64) -> bool {
        let n = x.len() / ends.width.max(1);
        let (mut low, mut high) = (ends.low.to_vec(), ends.high.to_vec());
        for (column, feature) in self.spec.features.iter().enumerate() {
            for candidate in 0..n {
                let row = candidate * ends.width;
                let loose = self.loosened(feature.name.as_str(), candidate == edited, n, &low, &high, row);
                if let Some((least, most)) = loose {
                    let i = row + column;
                    (low[i], high[i]) = (low[i].min(least), high[i].max(most));
                }
            }
        }
        for (i, (low, high)) in low.iter_mut().zip(&mut high).enumerate() {
            // A quotient of two sums is rounded.
            if !self.spec.features[i % ends.width].whole && low < high {
                (*low, *high) = (*low - QUOTIENT * low.abs(), *high + QUOTIENT * high.abs());
            }
        }
        let between = |candidate: usize| {
            let at = candidate * ends.width..(candidate + 1) * ends.width;
            Between { low: &low[at.clone()], high: &high[at] }
        };
        let Some(out) = self.ruled_out(n, (x, ends.width), &between) else { return false };
        if out[edited] {
            return true;
        }
        let of = |candidate| bounds::score(self.model, between(candidate), between(0));
        let Some((_, reach)) = of(edited) else { return false };
        let reach = reach / self.temperature;
        let beats = |other: usize, (low, _): Range| {
            low / self.temperature + onward(other) > reach + ROUNDING * (1.0 + reach.abs())
        };
        (0..n).any(|other| other != edited && !out[other] && of(other).is_some_and(|range| beats(other, range)))
    }

    /// Between what a feature lies that need not rise or fall with declared numbers, whatever it is at the extremes. `row` is where the
    /// candidate's row begins.
    fn loosened(&self, name: &str, own: bool, n: usize, low: &[f32], high: &[f32], row: usize) -> Option<(f32, f32)> {
        let column = |name: &str| self.spec.features.iter().position(|f| f.name == name);
        let (base, most) = self.loose.iter().find(|(base, _)| name.starts_with(base))?;
        let limit = column(most).map(|c| high[row + c])?;
        let here = column(name)?;
        Some(match name.strip_prefix(base)? {
            "" if own => (0.0, limit),
            "_rank" if own => (0.0, n as f32 - 1.0),
            // One other candidate may pass.
            "_rank" => ((low[row + here] - 1.0).max(0.0), (high[row + here] + 1.0).min(n as f32 - 1.0)),
            // Against a least that may be as small as 0.
            "_ratio" if own => (1.0, limit + 1.0),
            "_ratio" => (1.0, column(base).map(|c| high[row + c] + 1.0)?),
            _ => return None,
        })
    }

    /// Candidates that guards rule out; `None` where that depends on the edit.
    fn ruled_out<'r>(
        &self,
        n: usize,
        (x, width): (&[f32], usize),
        between: &impl Fn(usize) -> Between<'r>,
    ) -> Option<Vec<bool>> {
        let conditions = self.guards.iter().flat_map(|g| &g.when);
        for condition in conditions {
            let column = self.spec.features.iter().position(|f| f.name == condition.feature)?;
            for candidate in 0..n {
                let row = between(candidate);
                let holds = |x: f32| condition.operator.holds(x, condition.value);
                if holds(row.low[column]) != holds(row.high[column]) {
                    return None;
                }
            }
        }
        let mut scores = vec![0.0; n];
        (0..self.compiled.len()).for_each(|guard| self.compiled.apply(guard, x, width, &mut scores));
        Some(scores.into_iter().map(|s| s == f64::NEG_INFINITY).collect())
    }
}

/// What certificates come to, of one kind of choice and one share. Intervals are resampled by episode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CertifiedShare {
    /// By how much of themselves declared numbers may change; 0 where none may.
    pub share: f64,
    /// Sorts of edits of which one may be made, where no number may change.
    #[serde(default)]
    pub sorts: Vec<String>,
    /// Kind of choice.
    pub kind: String,
    /// Choices with several candidates.
    pub choices: usize,
    /// Share of them that no edit of another job can take.
    pub certified: Estimate,
    /// The same of pairs of a choice and another job.
    pub pairs: Estimate,
}

/// Edits that were tried at the same questions, to contradict certificates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tried {
    /// Edits of jobs that can be shown never to be taken.
    pub of_safe: u64,
    /// Of these, edits after which the job was taken: a certificate is wrong.
    pub contradicted: u64,
    /// Edits of all other jobs.
    pub of_others: u64,
    /// Of these, edits after which the job was taken.
    pub taken: u64,
}

impl Tried {
    /// What both of them tried.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            of_safe: self.of_safe + other.of_safe,
            contradicted: self.contradicted + other.contradicted,
            of_others: self.of_others + other.of_others,
            taken: self.taken + other.taken,
        }
    }
}

/// The shares by kind of the choices of episodes, each with its certificate.
#[must_use]
pub fn shares(
    (share, sorts): (f64, &[String]),
    episodes: &[Vec<ChoiceCertificate>],
    kinds: &[&str],
    seed: u64,
) -> Vec<CertifiedShare> {
    let of = |(kind, name): (usize, &&str)| {
        let own: Vec<Vec<&ChoiceCertificate>> =
            episodes.iter().map(|e| e.iter().filter(|c| usize::from(c.kind) == kind).collect()).collect();
        let choices: usize = own.iter().map(Vec::len).sum();
        let mean = |counts: &[u32], of: &dyn Fn(&ChoiceCertificate) -> (usize, usize)| {
            let mut sums = (0.0, 0.0);
            for (choices, &count) in own.iter().zip(counts) {
                for (part, whole) in choices.iter().map(|c| of(c)) {
                    sums = (sums.0 + f64::from(count) * part as f64, sums.1 + f64::from(count) * whole as f64);
                }
            }
            sums.0 / sums.1
        };
        let whole = |c: &ChoiceCertificate| (usize::from(c.is_certified()), 1);
        let pairs = |c: &ChoiceCertificate| (c.safe.iter().filter(|(_, safe)| *safe).count(), c.safe.len());
        (choices > 0).then(|| CertifiedShare {
            share,
            sorts: sorts.to_vec(),
            kind: (*name).to_owned(),
            choices,
            certified: bootstrap(own.len(), seed, |counts| mean(counts, &whole)),
            pairs: bootstrap(own.len(), seed, |counts| mean(counts, &pairs)),
        })
    };
    kinds.iter().enumerate().filter_map(of).collect()
}

/// Tries random edits of all jobs of a choice that are not taken: each declared number by itself anywhere within the share, or at one
/// of its ends.
///
/// # Errors
///
/// A scenario without bounds.
pub fn try_edits<S: Editable>(
    certifier: &mut Certifier<'_, S>,
    state: &S::State,
    found: &ChoiceCertificate,
    (share, times): (f64, u32),
    stream: &mut Stream,
    tried: &mut Tried,
) -> Result<(), EditError> {
    let Some(seen) = state.view() else { return Ok(()) };
    let (_, jobs) = certifier.candidates(&seen);
    for &(candidate, safe) in &found.safe {
        let Some(job) = jobs[candidate] else { continue };
        for _ in 0..times {
            let edited = S::somewhere(state, job, share, stream)?;
            let is_taken = certifier.takes(&edited, job)?;
            let (all, hits) = match safe {
                true => (&mut tried.of_safe, &mut tried.contradicted),
                false => (&mut tried.of_others, &mut tried.taken),
            };
            (*all, *hits) = (*all + 1, *hits + u64::from(is_taken));
        }
    }
    Ok(())
}
