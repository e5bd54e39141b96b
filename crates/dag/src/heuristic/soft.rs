//! Scored rules, plain or soft: `sjf`, `sjf-cp` and `srpt-fair`.
//!
//! The plain form takes the best score. With a temperature T the same scores become a stochastic policy, softmax(score/T),
//! which stands in for a trained network where none is at hand.

use crate::{
    Dag,
    heuristic::plain::{find, remaining_tasks, remaining_work_ms, stages_of, whole_up},
    state::{Decision, StageRef, View},
};
use sched_distill_core::{
    level::{first_max, log_sum_exp},
    policy::{Policy, PolicyError, pick::draw},
    rng::Stream,
    scenario::Said,
    spec::{Args, SpecError},
};

/// How far a class of jobs (source, below its cap, above it) stands from the next, in units of ln(work).
const CLASS_GAP: f64 = 60.0;

/// Which scores.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rule {
    /// Job: least remaining work, or fewest tasks not launched, after the source's if `source_first`. Stage: the reference's rule.
    /// Amount: all on offer.
    Sjf { source_first: bool, by_tasks: bool },
    /// Job: least remaining work. Stage: longest remaining critical path. Amount: all on offer.
    SjfCp,
    /// Job: the source's first, then least remaining work among those with supply below ceil(cap · N / J), then any. Stage:
    /// the reference's rule. Amount: all on offer for the source's job, else up to the cap, else one.
    SrptFair { cap: f64 },
}

/// How a soft rule acts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Softness {
    /// `None` for the plain rule.
    temperature: Option<f64>,
    sample: bool,
}

impl Softness {
    pub(crate) fn from_args(args: &mut Args<'_>) -> Result<Self, SpecError> {
        let temperature = args.optional_number("temperature", 1e-3..=1e3)?;
        let sample = args.word("mode", &["greedy", "sample"])? == "sample";
        if sample && temperature.is_none() {
            return Err(args.conflict(
                "mode",
                "sample",
                "`greedy` unless there is a temperature, e.g. temperature=0.2",
            ));
        }
        Ok(Self { temperature, sample })
    }
}

/// A scored rule.
#[derive(Clone, Debug)]
pub(crate) struct Soft {
    rule: Rule,
    softness: Softness,
    stream: Stream,
    scores: Vec<f64>,
    /// By stage of the job at hand: remaining work on the longest chain from there on, ms.
    paths: Vec<f64>,
}

impl Soft {
    pub(crate) fn new(rule: Rule, softness: Softness) -> Self {
        Self { rule, softness, stream: Stream::new(0, "soft rule"), scores: Vec::new(), paths: Vec::new() }
    }

    /// Score of a job; the same for all its stages.
    fn job_score(&self, seen: &View<'_>, job: u32) -> f64 {
        let left = match self.rule {
            Rule::Sjf { by_tasks: true, .. } => f64::from(remaining_tasks(seen, job)),
            _ => remaining_work_ms(seen, job),
        };
        let short = -left.max(1.0).ln();
        match self.rule {
            Rule::SjfCp => short,
            Rule::Sjf { source_first: true, .. } if seen.source_job() == Some(job) => short + CLASS_GAP,
            Rule::Sjf { .. } => short,
            Rule::SrptFair { .. } if seen.source_job() == Some(job) => short + 2.0 * CLASS_GAP,
            Rule::SrptFair { cap } if seen.job(job).supply() < fair_cap(seen, cap) => short + CLASS_GAP,
            Rule::SrptFair { .. } => short,
        }
    }

    /// Score of a stage within its job, which [`Soft::enter`] was called for.
    fn stage_score(&self, seen: &View<'_>, stage: StageRef) -> f64 {
        match self.rule {
            Rule::SjfCp => self.paths[stage.stage as usize].max(1.0).ln(),
            Rule::Sjf { .. } | Rule::SrptFair { .. } => f64::from(u8::from(find(seen, stage.job) == Some(stage))),
        }
    }

    fn amount(&self, seen: &View<'_>, job: u32) -> u32 {
        let offered = seen.committable();
        match self.rule {
            Rule::Sjf { .. } | Rule::SjfCp => offered,
            Rule::SrptFair { .. } if seen.source_job() == Some(job) => offered,
            Rule::SrptFair { cap } => fair_cap(seen, cap).saturating_sub(seen.job(job).supply()).clamp(1, offered),
        }
    }
}

/// ceil(cap · N / J).
fn fair_cap(seen: &View<'_>, cap: f64) -> u32 {
    whole_up(cap * f64::from(seen.num_executors()) / seen.active_jobs().len() as f64)
}

impl Soft {
    /// Takes in the job whose stages are scored next.
    fn enter(&mut self, seen: &View<'_>, job: u32) {
        if !matches!(self.rule, Rule::SjfCp) {
            return;
        }
        let job = seen.job(job);
        let graph = job.graph();
        self.paths.clear();
        self.paths.resize(graph.stages().len(), 0.0);
        for &stage in graph.topological().iter().rev() {
            let below = graph.children(stage).iter().map(|&child| self.paths[child as usize]);
            self.paths[stage as usize] = job.stage(stage).work_ms() + below.fold(0.0, f64::max);
        }
    }
}

impl Policy<Dag> for Soft {
    fn fresh(&self) -> Box<dyn Policy<Dag>> {
        Box::new(Self::new(self.rule, self.softness))
    }

    fn reset(&mut self, episode_seed: u64) {
        self.stream = Stream::new(episode_seed, "soft rule");
    }

    fn decide(&mut self, seen: &View<'_>, p: &mut Said) -> Result<Decision, PolicyError> {
        let Softness { temperature, sample } = self.softness;
        if let Some(t) = temperature {
            self.scores.clear();
            for stages in seen.schedulable().chunk_by(|a, b| a.job == b.job) {
                // The job's score is that of its summed probability; its stages share it by their own scores.
                let (job, from) = (self.job_score(seen, stages[0].job), self.scores.len());
                self.enter(seen, stages[0].job);
                for &stage in stages {
                    self.scores.push(self.stage_score(seen, stage) / t);
                }
                let total = log_sum_exp(&self.scores[from..]);
                self.scores[from..].iter_mut().for_each(|s| *s += job / t - total);
            }
            p.joint.extend(log_softmax(&self.scores));
        }
        let stage = match sample && temperature.is_some() {
            true => seen.schedulable()[draw(&p.joint, self.stream.uniform())],
            false => self.best(seen),
        };
        let wanted = self.amount(seen, stage.job);
        let Some(t) = temperature else { return Ok(Decision::Assign { stage, executors: wanted }) };
        self.soft_amounts(seen, stage.job, t, &mut p.given);
        let offered = p.given.len() as u32;
        let executors = if sample { 1 + draw(&p.given, self.stream.uniform()) as u32 } else { wanted.min(offered) };
        Ok(Decision::Assign { stage, executors })
    }

    fn forgets(&self) -> bool {
        !self.softness.sample
    }

    fn given(&mut self, seen: &View<'_>, decision: Decision, p: &mut Said) -> Result<(), PolicyError> {
        p.given.clear();
        if let (Some(t), Decision::Assign { stage, .. }) = (self.softness.temperature, decision) {
            self.soft_amounts(seen, stage.job, t, &mut p.given);
        }
        Ok(())
    }
}

impl Soft {
    /// Amounts for a job: they lose probability with their distance from the wanted one, relative to it.
    fn soft_amounts(&mut self, seen: &View<'_>, job: u32, t: f64, out: &mut Vec<f64>) {
        let (wanted, offered) = (f64::from(self.amount(seen, job)), seen.room(job).max(1));
        self.scores.clear();
        self.scores.extend((1..=offered).map(|k| -(f64::from(k) - wanted).abs() / (t * wanted)));
        out.extend(log_softmax(&self.scores));
    }

    /// The stage that the plain rule takes: the best job's best stage, the first of equals.
    fn best(&mut self, seen: &View<'_>) -> StageRef {
        let jobs = || seen.schedulable().chunk_by(|a, b| a.job == b.job).map(|stages| stages[0].job);
        let place = first_max(jobs().map(|job| self.job_score(seen, job)));
        // A question always offers a stage, so the place is there.
        let job = jobs().nth(place).unwrap_or_default();
        self.enter(seen, job);
        let stages = stages_of(seen, job);
        stages[first_max(stages.iter().map(|&s| self.stage_score(seen, s)))]
    }
}

fn log_softmax(values: &[f64]) -> impl Iterator<Item = f64> {
    let total = log_sum_exp(values);
    values.iter().map(move |v| v - total)
}
