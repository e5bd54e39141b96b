//! Paired comparison of policies that ran on the same episodes.

use super::{
    ClosedLoop, Estimate, Estimates, Floor, IdleSpell, PairedFigures, PolicyOutcome, Role,
    interval::{bootstrap, exponential},
    looks::{Looks, held},
    size::by_size,
    tail::{Times, completed, paired_tail},
};
use rayon::prelude::*;
use sched_distill_core::figure::{Compared, Figure};
use sched_distill_trace::EpisodeFigures;
use std::collections::BTreeMap;

/// What was run on which episodes.
#[derive(Clone, Copy, Debug)]
pub struct Runs<'a> {
    /// Workload as named by the user.
    pub workload: &'a str,
    /// Split of the episodes' seeds.
    pub split: &'a str,
    /// What the scenario measures; the first is the objective.
    pub figures: &'a [Figure],
    /// What the size of a job is, and its unit; `None` if the scenario knows none.
    pub size: Option<(&'static str, &'static str)>,
    /// After how many episodes it was to be looked; `None` if their number was given.
    pub looks: Option<&'a Looks>,
    /// Policies as (name, role, figures by episode), on the same episodes.
    pub policies: &'a [(String, Role, Vec<EpisodeFigures>)],
}

/// Compares policies on the same episodes, every policy with every baseline, with intervals that resample episodes.
///
/// A stalled episode is a failure and is never dropped from a comparison: there is none then. An episode in which no job arrived says
/// nothing of policies: it is left out of comparisons, for all alike, and of the means of figures that it does not have, and counted.
#[must_use]
pub fn compare(runs: Runs<'_>, baselines: &[String], seed: u64) -> ClosedLoop {
    let Runs { workload, split, figures, size, looks, policies } = runs;
    let episodes = policies.first().map_or(0, |(_, _, runs)| runs.len());
    let alike = |runs: &[EpisodeFigures]| runs.windows(2).all(|pair| pair[0] == pair[1]);
    let identical_episodes = episodes > 1 && policies.iter().all(|(_, _, runs)| alike(runs));
    // Of episodes that are one, one counts, and there is nothing to resample.
    let counted = |runs: &'_ [EpisodeFigures]| runs.len().min(if identical_episodes { 1 } else { usize::MAX });
    let by_name = |estimate: &(dyn Fn(usize, &Figure) -> Option<Estimate> + Sync)| -> Estimates {
        let of = |(i, figure): (usize, &Figure)| (figure.name.to_string(), estimate(i, figure));
        figures.par_iter().enumerate().map(of).collect()
    };
    let outcome = |(policy, role, runs): &(String, Role, Vec<EpisodeFigures>)| PolicyOutcome {
        policy: policy.clone(),
        role: *role,
        figures: by_name(&|place, _| {
            let values: Vec<f64> = runs[..counted(runs)].iter().filter_map(|run| run.of(place)).collect();
            (!values.is_empty()).then(|| held(looks, mean(&values, seed), values.len()))
        }),
        stalled: runs.iter().filter(|run| run.stall.is_some()).count(),
        stalls: reasons(runs),
        empty: runs.iter().filter(|run| run.empty).count(),
        rejected: runs.iter().map(|run| run.rejected).sum(),
        longest_idle: longest_idle(runs),
        episode_objective: runs.iter().map(|run| run.of(0)).collect(),
        completion_quantiles_ms: quantiles(runs.iter().flat_map(completed).collect()),
    };
    // They have the same jobs.
    let empty_episodes: Vec<usize> =
        policies.first().map_or(Vec::new(), |(_, _, runs)| (0..runs.len()).filter(|&i| runs[i].empty).collect());
    let times: Vec<Option<Times>> =
        policies.par_iter().map(|(_, _, runs)| Times::new(&runs[..counted(runs)], seed)).collect();
    let place = |name: &String| policies.iter().position(|(policy, _, _)| policy == name);
    let pairs = baselines.iter().filter_map(place).flat_map(|base| (0..policies.len()).map(move |own| [own, base]));
    let pairs: Vec<[usize; 2]> = pairs.filter(|[own, base]| own != base).collect();
    let pair = |&[own, base]: &[usize; 2]| {
        let runs = [own, base].map(|place| &policies[place].2[..]);
        let tail = times[own].as_ref().zip(times[base].as_ref()).and_then(|(of_own, of_base)| {
            let each = runs[0].iter().zip(runs[1]).enumerate();
            let each = each.filter_map(|(episode, (own, base))| Some((episode, own.of(0)?, base.of(0)?)));
            paired_tail([of_own, of_base], (figures.first()?, each), (looks, seed))
        });
        let counted = runs.map(|runs| &runs[..counted(runs)]);
        PairedFigures {
            policy: policies[own].0.clone(),
            baseline: policies[base].0.clone(),
            figures: by_name(&|place, figure| {
                let of = |runs: &[EpisodeFigures]| {
                    runs.iter().filter(|run| !run.empty).map(|run| run.of(place)).collect::<Vec<_>>()
                };
                paired_held(figure.compared, [&of(counted[0]), &of(counted[1])], (looks, seed))
            }),
            by_size: size
                .filter(|_| tail.is_some() && base == 0)
                .and_then(|size| by_size(size, counted, (looks, seed))),
            tail,
        }
    };
    let comparisons = pairs.par_iter().map(pair).collect();
    ClosedLoop {
        workload: workload.to_owned(),
        split: split.to_owned(),
        episodes,
        looks: looks.cloned(),
        identical_episodes,
        empty_episodes,
        figures: figures.to_vec(),
        policies: policies.iter().map(outcome).collect(),
        comparisons,
        floor: None,
    }
}

/// The longest of all spells in which the cluster idled beside work; the first of equals. A cluster that stalled may idle for ever, which
/// is no spell: it counts as stalled.
fn longest_idle(runs: &[EpisodeFigures]) -> Option<IdleSpell> {
    let ended = runs.iter().enumerate().filter(|(_, run)| run.stall.is_none());
    let spells = ended.filter_map(|(episode, run)| Some(IdleSpell { ms: run.longest_idle_ms?, episode }));
    spells.reduce(|longest, spell| if spell.ms > longest.ms { spell } else { longest })
}

/// Stalled episodes by their reason.
fn reasons(runs: &[EpisodeFigures]) -> BTreeMap<String, usize> {
    let mut reasons = BTreeMap::new();
    for stall in runs.iter().filter_map(|run| run.stall) {
        *reasons.entry(stall.name().to_owned()).or_default() += 1;
    }
    reasons
}

impl ClosedLoop {
    /// Whether no job arrived in any episode, so that nothing can be said of policies.
    #[must_use]
    pub fn no_job_arrived(&self) -> bool {
        self.episodes > 0 && self.empty_episodes.len() == self.episodes
    }

    /// A policy's objective by episode, without those in which no job arrived: `None` is then a stall, or no number.
    #[must_use]
    pub fn told(&self, objective: &[Option<f64>]) -> Vec<Option<f64>> {
        let of = objective.iter().enumerate();
        of.filter(|(i, _)| !self.empty_episodes.contains(i)).map(|(_, value)| *value).collect()
    }

    /// The objective of a policy against that of another one, from their episodes, whether or not the two were compared;
    /// `None` if one of them stalled or did not take part.
    #[must_use]
    pub fn objective_against(&self, policy: &str, baseline: &str, seed: u64) -> Option<Estimate> {
        let of = |name: &str| self.policies.iter().find(|p| p.policy == name).map(|p| &p.episode_objective);
        let [own, base] = [self.told(of(policy)?), self.told(of(baseline)?)];
        paired_held(self.objective().compared, [&own, &base], (self.looks.as_ref(), seed))
    }

    /// The same company with another student in place of those that took part. It must have run the same episodes; only its
    /// objective is compared.
    #[must_use]
    pub fn with_student(&self, student: PolicyOutcome, seed: u64) -> Self {
        let stays = |name: &str| {
            self.policies
                .iter()
                .any(|p| p.policy == name && !matches!(p.role, Role::Student | Role::Augmented | Role::Fitted))
        };
        let objective = self.objective();
        let mut comparisons: Vec<PairedFigures> = self.comparisons.clone();
        comparisons.retain(|pair| stays(&pair.policy) && stays(&pair.baseline));
        let mut policies: Vec<PolicyOutcome> = self.policies.iter().filter(|p| stays(&p.policy)).cloned().collect();
        if let Some(teacher) = policies.iter().find(|p| p.role == Role::Teacher) {
            let [own, theirs] = [&student, teacher].map(|policy| self.told(&policy.episode_objective));
            let found = paired_held(objective.compared, [&own, &theirs], (self.looks.as_ref(), seed));
            let figures = [(objective.name.to_string(), found)].into();
            // Of one that took part in another role more is known.
            let known = self.compared(&student.policy, &teacher.policy).cloned();
            comparisons.push(PairedFigures {
                policy: student.policy.clone(),
                baseline: teacher.policy.clone(),
                figures,
                tail: known.as_ref().and_then(|known| known.tail.clone()),
                by_size: known.and_then(|known| known.by_size),
            });
        }
        policies.insert(1.min(policies.len()), student);
        Self { policies, comparisons, ..self.clone() }
    }
}

/// What no scheduler can be better than, from its objective in each episode and the first policy's.
#[must_use]
pub fn floor(
    objective: &[f64],
    compared: Compared,
    first: &[Option<f64>],
    (looks, seed): (Option<&Looks>, u64),
) -> Option<Floor> {
    let floors: Vec<Option<f64>> = objective.iter().copied().map(Some).collect();
    (!objective.is_empty()).then(|| Floor {
        objective: held(looks, mean(objective, seed), objective.len()),
        compared: paired_held(compared, [&floors, first], (looks, seed)),
    })
}

/// The quantiles 0, 1/100, ..., 1, interpolated between neighbours: quantile q of n values in order is the one at place
/// q (n - 1), counted from 0. Empty if there are no values.
fn quantiles(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let Some(last) = values.len().checked_sub(1) else { return Vec::new() };
    let at = |percent: usize| {
        let (below, rest) = (last * percent / 100, (last * percent % 100) as f64 / 100.0);
        values[below] + rest * (values[(below + 1).min(last)] - values[below])
    };
    (0..=100).map(at).collect()
}

fn weighted_mean(values: impl Iterator<Item = f64>, counts: &[u32]) -> f64 {
    let sum: f64 = values.zip(counts).map(|(v, &c)| v * f64::from(c)).sum();
    sum / f64::from(counts.iter().sum::<u32>())
}

pub(super) fn mean(values: &[f64], seed: u64) -> Estimate {
    bootstrap(values.len(), seed, |counts| weighted_mean(values.iter().copied(), counts))
}

/// Compares paired episodes; `None` if one of them has no value, or a ratio is not finite, as of completion times of 0.
#[must_use]
pub fn paired(compared: Compared, values: &[Option<f64>], base: &[Option<f64>], seed: u64) -> Option<Estimate> {
    paired_held(compared, [values, base], (None, seed))
}

/// The same, with the interval of a comparison with looks; one that is planned makes it wide enough for few episodes.
#[must_use]
pub fn paired_held(
    compared: Compared,
    [values, base]: [&[Option<f64>]; 2],
    (looks, seed): (Option<&Looks>, u64),
) -> Option<Estimate> {
    let of_episode = |(a, b): (&Option<f64>, &Option<f64>)| -> Option<f64> {
        let (a, b) = ((*a)?, (*b)?);
        let difference = match compared {
            Compared::Ratio => (a / b).ln(),
            Compared::Difference => a - b,
        };
        difference.is_finite().then_some(difference)
    };
    let differences: Vec<f64> = values.iter().zip(base).map(of_episode).collect::<Option<_>>()?;
    if differences.is_empty() {
        return None;
    }
    let e = held(looks, mean(&differences, seed), differences.len());
    Some(match compared {
        Compared::Ratio => exponential(e),
        Compared::Difference => e,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_distill_core::simulation::Stall;

    const FIGURES: [Figure; 2] = [
        Figure::ratio("mean_jct_ms", "mean JCT", "ms").less("Mean completion time."),
        Figure::difference("utilisation", "busy", "share").more("Share in use."),
    ];

    fn figures(jct: &[Option<f64>]) -> Vec<EpisodeFigures> {
        let figure = |&mean_jct_ms: &Option<f64>| EpisodeFigures {
            figures: vec![mean_jct_ms, Some(0.5 + mean_jct_ms.unwrap_or(0.0) / 100.0)],
            stall: mean_jct_ms.is_none().then_some(Stall::Stranded),
            empty: false,
            rejected: 1,
            longest_idle_ms: Some(mean_jct_ms.unwrap_or(9.0)),
            completion_times_ms: vec![mean_jct_ms],
            sizes: Vec::new(),
        };
        jct.iter().map(figure).collect()
    }

    fn compared(policies: &[(String, Role, Vec<EpisodeFigures>)], baselines: &[String]) -> ClosedLoop {
        compare(
            Runs { workload: "w", split: "test", figures: &FIGURES, size: None, looks: None, policies },
            baselines,
            1,
        )
    }

    #[test]
    fn episodes_that_are_one_have_no_intervals() {
        let policy = |name: &str, jct: f64| (name.to_owned(), Role::Heuristic, figures(&[Some(jct); 7]));
        let mut policies = vec![policy("base", 144.891), policy("other", 97.3)];
        let found = compared(&policies, &["base".to_owned()]);
        assert!(found.identical_episodes);
        let ratio = found.paired("other", "base").unwrap();
        let jct = *found.policies[1].figure("mean_jct_ms").unwrap();
        assert!((ratio.value, jct.value) == (97.3 / 144.891, 97.3) || (ratio.value - 97.3 / 144.891).abs() < 1e-12);
        assert!(ratio.low == ratio.high && jct.low == jct.high && ratio.is_exact() && jct.is_exact());
        // One policy that is at luck's mercy is enough for episodes to differ; one episode is not several alike.
        policies[1].2[3] = figures(&[Some(98.0)]).remove(0);
        let found = compared(&policies, &["base".to_owned()]);
        assert!(!found.identical_episodes && !found.paired("other", "base").unwrap().is_exact());
        let one = [("base".to_owned(), Role::Heuristic, figures(&[Some(2.0)]))];
        assert!(!compared(&one, &[]).identical_episodes);
    }

    #[test]
    fn a_floor_is_compared_episode_by_episode() {
        let floor = |objective: &[f64], first: &[Option<f64>]| floor(objective, Compared::Ratio, first, (None, 1));
        let found = floor(&[5.0, 10.0], &[Some(10.0), Some(40.0)]).expect("two episodes");
        assert_eq!(found.objective.value, 7.5);
        assert!((found.compared.expect("completed").value - 0.125_f64.sqrt()).abs() < 1e-12);
        assert_eq!(floor(&[5.0, 10.0], &[Some(1.0), None]).and_then(|f| f.compared), None);
        assert_eq!(floor(&[], &[]), None);
    }

    #[test]
    fn quantiles_lie_between_neighbours_and_pool_all_episodes() {
        assert_eq!(quantiles(Vec::new()), Vec::<f64>::new());
        assert_eq!(quantiles(vec![7.0]), vec![7.0; 101]);
        let of_three = quantiles(vec![9.0, 1.0, 3.0]);
        let at = |i: usize| of_three[i];
        assert_eq!((of_three.len(), at(0), at(25), at(50), at(75), at(100)), (101, 1.0, 2.0, 3.0, 6.0, 9.0));
        let runs = ("p".to_owned(), Role::Teacher, figures(&[Some(4.0), None, Some(2.0)]));
        let found = compared(&[runs], &[]);
        assert_eq!((found.policies[0].completion_quantiles_ms[50], found.policies[0].rejected), (3.0, 3));
    }

    #[test]
    fn figures_are_paired_as_declared_and_never_drop_a_stall() {
        let policy = |name: &str, jct: &[Option<f64>]| (name.to_owned(), Role::Heuristic, figures(jct));
        let policies = [
            policy("base", &[Some(1.0), Some(10.0), Some(4.0)]),
            policy("twice", &[Some(2.0), Some(20.0), Some(8.0)]),
            policy("mixed", &[Some(2.0), Some(5.0), Some(4.0)]),
            policy("stuck", &[Some(0.1), None, Some(0.1)]),
        ];
        let result = compared(&policies, &["base".to_owned()]);
        let ratio = |name: &str| result.paired(name, "base");
        let twice = ratio("twice").unwrap();
        assert!((twice.value - 2.0).abs() < 1e-12 && (twice.high - twice.low).abs() < 1e-12);
        assert!((ratio("mixed").unwrap().value - 1.0).abs() < 1e-12);
        let busy = |name: &str| result.compared(name, "base").unwrap().figure("utilisation").copied();
        assert!((busy("twice").unwrap().value - 0.05).abs() < 1e-12, "a mean of differences");
        assert_eq!((ratio("stuck"), busy("stuck")), (None, None));
        assert_eq!(result.policies[3].stalled, 1);
        assert_eq!(result.policies[3].stalls, [("stranded".to_owned(), 1)].into());
        let idle = |policy: usize| result.policies[policy].longest_idle.map(|spell| (spell.ms, spell.episode));
        assert_eq!((idle(0), idle(3)), (Some((10.0, 1)), Some((0.1, 0))), "of those that ended");
        assert_eq!(result.policies[3].figure("mean_jct_ms").map(|e| e.value), Some(0.1), "of those that ended");
        let none = compared(&[policy("stuck", &[None, None])], &[]);
        assert_eq!((none.policies[0].figure("mean_jct_ms"), none.policies[0].stalled), (None, 2));
    }

    #[test]
    fn episodes_without_jobs_are_left_out_and_counted() {
        let policy = |name: &str, jct: &[f64]| {
            let mut runs: Vec<EpisodeFigures> = Vec::new();
            for value in jct {
                // Half of a figure of jobs and one that is 0 where none came.
                let one = figures(&[Some(*value)]).remove(0);
                let none = EpisodeFigures {
                    figures: vec![None, Some(0.0)],
                    empty: true,
                    rejected: 0,
                    longest_idle_ms: None,
                    completion_times_ms: Vec::new(),
                    ..one.clone()
                };
                runs.extend([one, none]);
            }
            (name.to_owned(), Role::Heuristic, runs)
        };
        let policies = [policy("base", &[1.0, 10.0]), policy("twice", &[2.0, 20.0])];
        let found = compared(&policies, &["base".to_owned()]);
        assert_eq!((found.empty_episodes.as_slice(), found.policies[1].empty), ([1, 3].as_slice(), 2));
        assert_eq!((found.policies[1].stalled, found.policies[1].stalls.len()), (0, 0));
        assert_eq!(found.policies[1].episode_objective, [Some(2.0), None, Some(20.0), None]);
        let mean = |policy: usize, name: &str| found.policies[policy].figure(name).map(|e| e.value);
        assert_eq!((mean(0, "mean_jct_ms"), mean(1, "mean_jct_ms")), (Some(5.5), Some(11.0)));
        assert!((mean(0, "utilisation").unwrap() - (0.51 + 0.6) / 4.0).abs() < 1e-12, "of all four");
        let ratio = found.paired("twice", "base").unwrap();
        assert!((ratio.value - 2.0).abs() < 1e-12);
        assert_eq!(found.objective_against("twice", "base", 1), Some(ratio));
        let busy = found.compared("twice", "base").unwrap().figure("utilisation").unwrap().value;
        assert!((busy - (0.01 + 0.1) / 2.0).abs() < 1e-12, "{busy}");
        // A stall is still never left out.
        let mut stuck = policies.clone();
        stuck[1].2[0] = figures(&[None]).remove(0);
        assert_eq!(compared(&stuck, &["base".to_owned()]).paired("twice", "base"), None);
        // Nothing but empty episodes: nothing is compared, and nothing has stalled.
        let empty = policies.clone().map(|(name, role, runs)| (name, role, vec![runs[1].clone()]));
        let found = compared(&empty, &["base".to_owned()]);
        assert_eq!((found.paired("twice", "base"), found.policies[0].stalled, found.policies[0].empty), (None, 0, 1));
    }
}
