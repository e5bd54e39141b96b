//! What there is to be seen in a scenario's episodes, before a network has learned anything: how large features are, and how long
//! things take.

use super::PracticeError;
use rayon::prelude::*;
use sched_distill_core::{
    network::scorer::squash,
    policy::Policy,
    rng::{EpisodeId, Split},
    scenario::{Questions, Said},
    simulation::{JobEnd, Simulated, Simulation, Workload},
};
use sched_distill_trace::recorder::{EpisodeCause, EpisodeError, RolloutError};
use std::sync::atomic::{AtomicBool, Ordering};

/// Means and scales by level, and units of time and cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Survey {
    /// By level.
    pub levels: Vec<LevelNorm>,
    /// Mean time from a job's arrival to its end, ms.
    pub stay_ms: f64,
    /// What a time of that length costs on average, in the unit of [`Simulation::cost`].
    pub cost: f64,
}

/// Means and scales of a level's features, after [`squash`].
#[derive(Clone, Debug, PartialEq)]
pub struct LevelNorm {
    /// Mean by feature.
    pub mean: Vec<f32>,
    /// Standard deviation by feature; 1 where all values are the same.
    pub scale: Vec<f32>,
}

/// Sums of some episodes.
#[derive(Clone, Debug, Default)]
struct Seen {
    /// By level: rows, sums and sums of squares.
    levels: Vec<(f64, Vec<[f64; 2]>)>,
    episodes: f64,
    jobs: f64,
    stays_ms: f64,
    cost: f64,
    time_ms: f64,
}

impl Seen {
    fn new(widths: impl Iterator<Item = usize>) -> Self {
        Self { levels: widths.map(|width| (0.0, vec![[0.0; 2]; width])).collect(), ..Self::default() }
    }

    fn add_rows(&mut self, level: usize, rows: &[f32]) {
        let (count, sums) = &mut self.levels[level];
        for row in rows.chunks_exact(sums.len()) {
            *count += 1.0;
            for ([sum, square], &x) in sums.iter_mut().zip(row) {
                let x = f64::from(squash(x));
                (*sum, *square) = (*sum + x, *square + x * x);
            }
        }
    }

    fn add(&mut self, other: &Self) {
        for ((count, sums), (more, others)) in self.levels.iter_mut().zip(&other.levels) {
            *count += more;
            sums.iter_mut().zip(others).for_each(|(a, b)| *a = [a[0] + b[0], a[1] + b[1]]);
        }
        self.episodes += other.episodes;
        self.jobs += other.jobs;
        self.stays_ms += other.stays_ms;
        self.cost += other.cost;
        self.time_ms += other.time_ms;
    }

    fn norm((count, sums): &(f64, Vec<[f64; 2]>)) -> LevelNorm {
        let count = count.max(1.0);
        let (mut mean, mut scale) = (Vec::new(), Vec::new());
        for [sum, square] in sums {
            let m = sum / count;
            let deviation = (square / count - m * m).max(0.0).sqrt();
            mean.push(m as f32);
            scale.push(if deviation > 1e-4 { deviation as f32 } else { 1.0 });
        }
        LevelNorm { mean, scale }
    }
}

/// Looks at what a policy meets in the first training episodes of each workload.
pub(super) fn survey<S: Simulated>(
    workloads: &[Workload<S>],
    policy: &dyn Policy<S>,
    (seed, episodes): (u64, u32),
    stop: &AtomicBool,
) -> Result<Survey, PracticeError> {
    let widths = || (S::INFO.feature_set)().levels.iter().map(|level| level.features.len());
    let all: Vec<(usize, u32)> = (0..workloads.len()).flat_map(|w| (0..episodes).map(move |e| (w, e))).collect();
    let found: Vec<Result<Seen, PracticeError>> = all
        .into_par_iter()
        .map(|(w, episode)| {
            if stop.load(Ordering::Relaxed) {
                return Err(RolloutError::Interrupted.into());
            }
            let mut seen = Seen::new(widths());
            look::<S>(&workloads[w], &mut *policy.fresh(), EpisodeId::new(seed, Split::Train, episode), &mut seen)?;
            Ok(seen)
        })
        .collect();
    let mut sums = Seen::new(widths());
    for seen in found {
        sums.add(&seen?);
    }
    // Where no job ever ends, time is counted in episodes.
    let stay_ms =
        if sums.stays_ms > 0.0 { sums.stays_ms / sums.jobs.max(1.0) } else { sums.time_ms / sums.episodes.max(1.0) };
    let stay_ms = stay_ms.max(1.0);
    let cost = stay_ms * sums.cost / sums.time_ms.max(1.0);
    let cost = if cost.is_finite() && cost > 0.0 { cost } else { 1.0 };
    Ok(Survey { levels: sums.levels.iter().map(Seen::norm).collect(), stay_ms, cost })
}

fn look<S: Simulated>(
    workload: &Workload<S>,
    policy: &mut dyn Policy<S>,
    id: EpisodeId,
    out: &mut Seen,
) -> Result<(), EpisodeError> {
    let EpisodeId { seed, episode } = id;
    let mut sim = S::start(workload, workload.jobs(id), seed);
    policy.reset(seed);
    let (mut questions, mut probabilities) = (S::Questions::default(), Said::default());
    let (mut path, mut x, mut step) = (Vec::new(), Vec::new(), 0);
    let fail = |step, cause| EpisodeError { episode, seed, step, source: Box::new(cause) };
    while let Some(seen) = sim.view() {
        probabilities.clear();
        let decision = policy.decide(&seen, &mut probabilities).map_err(|e| fail(step, e.into()))?;
        questions.update(&seen);
        questions.path(&seen, decision, &mut path);
        for level in 0..path.len().max(1) {
            x.clear();
            questions.rows(&seen, &path[..level], false, &mut x);
            out.add_rows(level, &x);
        }
        sim.step(decision).map_err(|e| fail(step, EpisodeCause::illegal(e)))?;
        step += 1;
    }
    let outcome = sim.outcome().expect("no question is open, so the episode has ended");
    for (end, arrival_ms) in outcome.jobs.iter().zip(sim.arrivals_ms()) {
        if let JobEnd::Completed(ms) | JobEnd::Rejected(ms) = end {
            out.jobs += 1.0;
            out.stays_ms += ms - arrival_ms;
        }
    }
    out.episodes += 1.0;
    out.cost += sim.cost(0.0, outcome.final_time_ms);
    out.time_ms += outcome.final_time_ms;
    Ok(())
}
