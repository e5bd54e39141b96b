//! How good a network is on episodes that it does not learn from.

use sched_distill_core::{
    figure::{Compared, Figure},
    policy::Policy,
    simulation::{JobEnd, Outcome, Simulated, Workload},
};
use sched_distill_trace::recorder::{Episodes, RolloutError, rollouts};
use serde::{Deserialize, Serialize};
use std::sync::atomic::AtomicBool;

/// Which of the two modes a checkpoint is judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Judge {
    /// The mean of both (of the logarithms where figures are compared by ratios).
    Both,
    /// The most probable decision.
    Greedy,
    /// Decisions drawn by their probabilities.
    Sampled,
}

/// One mode of a network on the validation episodes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModeResult {
    /// The objective beside the reference's on the same episodes, as the scenario compares it: the geometric mean of ratios, or the
    /// mean of differences; of each workload over the episodes that were completed, and then of all workloads alike.
    pub compared: Option<f64>,
    /// Episodes in which the network stranded the cluster.
    pub stalled: u32,
    /// Jobs that it turned away.
    pub rejected: u64,
}

impl ModeResult {
    /// The comparison, if no cluster was stranded.
    #[must_use]
    pub fn sound(&self) -> Option<f64> {
        self.compared.filter(|_| self.stalled == 0)
    }
}

/// Both modes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Validation {
    /// Always the most probable decision.
    pub greedy: ModeResult,
    /// Decisions drawn by their probabilities.
    pub sampled: ModeResult,
}

impl Validation {
    /// What decides, as a comparison with the reference by `figure`; `None` where the network strands the cluster in a mode that
    /// counts.
    #[must_use]
    pub fn score(&self, judge: Judge, figure: &Figure) -> Option<f64> {
        match judge {
            Judge::Greedy => self.greedy.sound(),
            Judge::Sampled => self.sampled.sound(),
            Judge::Both => mean(figure, &[self.greedy.sound()?, self.sampled.sound()?]),
        }
    }
}

/// The mean of comparisons.
fn mean(figure: &Figure, compared: &[f64]) -> Option<f64> {
    let n = compared.len() as f64;
    match figure.compared {
        _ if compared.is_empty() => None,
        Compared::Ratio => Some((compared.iter().map(|ratio| ratio.ln()).sum::<f64>() / n).exp()),
        Compared::Difference => Some(compared.iter().sum::<f64>() / n),
    }
}

/// The episodes of all workloads, and what the reference came to in them.
pub struct Validator<'a, S: Simulated> {
    workloads: &'a [Workload<S>],
    episodes: Episodes,
    reference: Vec<Vec<Option<f64>>>,
}

impl<'a, S: Simulated> Validator<'a, S> {
    /// Runs the reference, which errors call by its name, on these episodes of each workload.
    ///
    /// # Errors
    ///
    /// A failing episode, or an interruption.
    pub fn new(
        workloads: &'a [Workload<S>],
        (name, reference): (&str, &dyn Policy<S>),
        episodes: Episodes,
        stop: &AtomicBool,
    ) -> Result<Self, RolloutError> {
        let run = |(w, workload): (usize, &Workload<S>)| -> Result<Vec<Option<f64>>, RolloutError> {
            let runs = rollouts::<S>(workload, name, reference, episodes, &(), stop)?;
            let values: Vec<Option<f64>> = runs.iter().map(|run| run.outcome.objective()).collect();
            match values.iter().any(Option::is_some) {
                true => Ok(values),
                false => Err(RolloutError::NoReference {
                    policy: name.to_owned(),
                    workload: 1 + w,
                    episodes: episodes.count,
                }),
            }
        };
        let reference = workloads.iter().enumerate().map(run).collect::<Result<_, _>>()?;
        Ok(Self { workloads, episodes, reference })
    }

    /// One mode of the network.
    ///
    /// # Errors
    ///
    /// A failing episode, or an interruption.
    pub fn judge(&self, network: &dyn Policy<S>, stop: &AtomicBool) -> Result<ModeResult, RolloutError> {
        let figure = const { &S::INFO }.objective();
        let (mut by_workload, mut stalled, mut rejected) = (Vec::new(), 0, 0);
        for (workload, reference) in self.workloads.iter().zip(&self.reference) {
            let runs = rollouts::<S>(workload, "the network", network, self.episodes, &(), stop)?;
            let pairs = runs.iter().zip(reference);
            let compared: Vec<f64> =
                pairs.filter_map(|(run, r)| figure.pair(run.outcome.objective()?, (*r)?)).collect();
            by_workload.push(mean(figure, &compared));
            stalled += runs.iter().filter(|run| run.outcome.stalled()).count() as u32;
            rejected += runs.iter().map(|run| turned_away(&run.outcome)).sum::<u64>();
        }
        // A workload of which it completes nothing counts too: there is no figure then.
        let all: Option<Vec<f64>> = by_workload.into_iter().collect();
        Ok(ModeResult { compared: all.and_then(|all| mean(figure, &all)), stalled, rejected })
    }
}

fn turned_away(outcome: &Outcome) -> u64 {
    outcome.jobs.iter().filter(|end| matches!(end, JobEnd::Rejected(_))).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_distill_core::figure::COMPLETION_FIGURES;
    use sched_distill_dag::{Dag, policies, workload};

    const JCT: &Figure = &COMPLETION_FIGURES[0];
    const BUSY: &Figure = &COMPLETION_FIGURES[2];

    fn mode(compared: f64, stalled: u32) -> ModeResult {
        ModeResult { compared: Some(compared), stalled, rejected: 0 }
    }

    #[test]
    fn a_network_that_strands_the_cluster_has_no_score() {
        let good = Validation { greedy: mode(0.5, 0), sampled: mode(0.72, 0) };
        assert_eq!(good.score(Judge::Greedy, JCT), Some(0.5));
        assert_eq!(good.score(Judge::Sampled, JCT), Some(0.72));
        assert!((good.score(Judge::Both, JCT).unwrap() - 0.6).abs() < 1e-12);
        assert!((good.score(Judge::Both, BUSY).unwrap() - 0.61).abs() < 1e-12, "differences have another mean");
        let stranding = Validation { greedy: mode(0.5, 1), ..good };
        assert_eq!((stranding.score(Judge::Greedy, JCT), stranding.score(Judge::Both, JCT)), (None, None));
        assert_eq!(stranding.score(Judge::Sampled, JCT), Some(0.72));
    }

    #[test]
    fn all_workloads_count_alike() -> Result<(), Box<dyn std::error::Error>> {
        let stop = AtomicBool::new(false);
        let open = |specs: &[&str]| {
            specs.iter().map(|spec| workload::open(&spec.parse().unwrap()).unwrap()).collect::<Vec<_>>()
        };
        let (fifo, sjf) = (policies::open(&"fifo".parse()?)?, policies::open(&"sjf".parse()?)?);
        let judge = |specs: &[&str]| -> Result<f64, Box<dyn std::error::Error>> {
            let workloads = open(specs);
            let episodes = Episodes {
                seed: 1,
                split: sched_distill_core::rng::Split::Validation,
                first: 0,
                count: 3,
                timelines: 0,
            };
            let validator = Validator::<Dag>::new(&workloads, ("fifo", &*fifo), episodes, &stop)?;
            Ok(validator.judge(&*sjf, &stop)?.compared.ok_or("all are completed")?)
        };
        let [one, other] = ["builtin,jobs=8,executors=4", "builtin,jobs=12,executors=2,rate=1e-3"];
        let (a, b, both) = (judge(&[one])?, judge(&[other])?, judge(&[one, other])?);
        assert!((a - b).abs() > 0.01, "{a} {b}");
        assert!((both - (a * b).sqrt()).abs() < 1e-12, "{a} {b} {both}");
        Ok(())
    }
}
