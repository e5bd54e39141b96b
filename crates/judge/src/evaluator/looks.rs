//! How many episodes a comparison needs: it is looked at after some, and goes on where it is not clear.
//!
//! A group-sequential design. The numbers of episodes after which it is looked are fixed beforehand, so a run stops after the same
//! number for any number of threads. Every interval that is printed holds at all looks and for all comparisons together with at least
//! 95 %: the 5 % are divided by the number of looks times the number of comparisons (Bonferroni), whatever depends on what.

use super::{ClosedLoop, Estimate, Gate, Role, VerdictGates, verdict::is_same};
use sched_distill_core::figure::Figure;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// After how many episodes a comparison was to be looked at, for intervals that hold at all looks.
///
/// ```
/// use sched_distill_judge::evaluator::Looks;
/// let looks = Looks { planned: vec![40, 80, 160, 320], comparisons: 5 };
/// assert_eq!(looks.level(), 0.9975);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Looks {
    /// Numbers of episodes, ascending. The comparison ended after the first at which all was clear, else after the last.
    pub planned: Vec<u32>,
    /// Comparisons whose intervals hold together.
    pub comparisons: usize,
}

impl Looks {
    /// Episodes of the last look.
    #[must_use]
    pub fn most(&self) -> u32 {
        self.planned.last().copied().unwrap_or(0)
    }

    /// The same where there are only so many episodes: the last look is then at all of them.
    ///
    /// ```
    /// use sched_distill_judge::evaluator::Looks;
    /// let looks = Looks { planned: vec![40, 80, 160, 320], comparisons: 5 };
    /// assert_eq!(looks.clone().up_to(100).planned, [40, 80, 100]);
    /// assert_eq!(looks.clone().up_to(12).planned, [12]);
    /// assert_eq!(looks.clone().up_to(400), looks);
    /// ```
    #[must_use]
    pub fn up_to(mut self, episodes: u32) -> Self {
        if episodes < self.most() {
            self.planned.retain(|&look| look < episodes);
            self.planned.push(episodes);
        }
        self
    }

    /// How sure each interval is for all of them to hold with 95 % at all looks.
    #[must_use]
    pub fn level(&self) -> f64 {
        1.0 - 0.05 / (self.planned.len() * self.comparisons).max(1) as f64
    }

    /// A 95 % interval of so many resampled episodes, made as wide as is needed. It keeps its form: both sides grow by the ratio of
    /// the quantiles. Student's t for the normal distribution, and n - 1 for n, make up for what resampling few episodes falls short
    /// of (Hesterberg 2015, section 5.2).
    pub(super) fn widen(&self, e: Estimate, episodes: usize) -> Estimate {
        if episodes < 2 || e.is_exact() {
            return e;
        }
        let n = episodes as f64;
        let Ok(student) = StudentsT::new(0.0, 1.0, n - 1.0) else { return e };
        let usual = Normal::standard().inverse_cdf(0.975);
        let factor = student.inverse_cdf(0.5 + 0.5 * self.level()) / usual * (n / (n - 1.0)).sqrt();
        Estimate { low: e.value - factor * (e.value - e.low), high: e.value + factor * (e.high - e.value), ..e }
    }
}

/// An interval as a comparison with these looks has it.
pub(super) fn held(looks: Option<&Looks>, e: Estimate, episodes: usize) -> Estimate {
    looks.map_or(e, |looks| looks.widen(e, episodes))
}

/// How many episodes a comparison has.
#[derive(Clone, Debug, PartialEq)]
pub enum EpisodeCount {
    /// So many of every workload.
    Exactly(u32),
    /// As many as it takes to be clear of these limits.
    UntilClear(Stopping),
}

impl From<u32> for EpisodeCount {
    fn from(episodes: u32) -> Self {
        Self::Exactly(episodes)
    }
}

/// After how many episodes it is looked whether a student's figures are clear of its limits, the first workload being the usual one.
#[derive(Clone, Debug, PartialEq)]
pub struct Stopping {
    /// Looks on the usual workload, ascending.
    pub usual: Vec<u32>,
    /// Looks on each of the others.
    pub elsewhere: Vec<u32>,
    /// The limits.
    pub gates: VerdictGates,
}

impl Default for Stopping {
    /// 40 episodes and three times twice as many on the usual workload, 20 and twice twice as many on the others.
    fn default() -> Self {
        Self { usual: vec![40, 80, 160, 320], elsewhere: vec![20, 40, 80], gates: VerdictGates::default() }
    }
}

impl Stopping {
    /// The looks on a workload by its place among `workloads`, for these roles of those that take part.
    ///
    /// On the usual workload what the verdict says goes by the student and every heuristic against the teacher, the student against
    /// every heuristic, and the student's tail; on the others by the student against the teacher, over all workloads.
    #[must_use]
    pub fn looks(&self, place: usize, workloads: usize, roles: impl Iterator<Item = Role>) -> Looks {
        let heuristics = roles.filter(|role| *role == Role::Heuristic).count();
        match place {
            0 => Looks { planned: self.usual.clone(), comparisons: 2 * heuristics + 2 },
            _ => Looks { planned: self.elsewhere.clone(), comparisons: workloads.saturating_sub(1) },
        }
    }

    /// Whether more episodes would decide nothing: no interval that a gate goes by has its limit inside, none of the usual workload
    /// leaves open who is better, unless both are the same but for 1 %; or it cannot be compared, as of a student that stalls.
    #[must_use]
    pub fn is_clear(&self, place: usize, found: &ClosedLoop) -> bool {
        let objective = found.objective();
        let (Some(teacher), Some(student)) = (found.first(Role::Teacher), found.first(Role::Student)) else {
            return true;
        };
        if found.identical_episodes || found.no_job_arrived() || student.stalled > 0 {
            return !found.no_job_arrived();
        }
        let limit = |gate| self.gates.limit(gate, objective);
        let beside = |baseline: &str| found.objective_of(&student.policy, baseline);
        let Some(to_teacher) = beside(&teacher.policy) else { return true };
        if place > 0 {
            return is_clear_of(&to_teacher, limit(Gate::Elsewhere));
        }
        let best = found.best_heuristic(&teacher.policy);
        let to_best = best.and_then(|best| beside(&best.policy));
        let tail = found.tail_of(&student.policy, &teacher.policy).filter(|_| self.gates.has(Gate::Tail, objective));
        is_clear_of(&to_teacher, limit(Gate::Teacher))
            && [Some(to_teacher), to_best].into_iter().flatten().all(|e| is_ranked(&e, objective))
            && tail.is_none_or(|tail| is_clear_of(&tail.p99, limit(Gate::Tail)))
    }
}

fn is_clear_of(e: &Estimate, limit: f64) -> bool {
    e.high < limit || e.low > limit || e.is_exact()
}

/// Whether it is known who is better, or that nobody is by more than a little.
fn is_ranked(e: &Estimate, objective: &Figure) -> bool {
    is_clear_of(e, objective.neutral()) || is_same(e, objective)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluator::{Runs, compare};
    use sched_distill_core::{figure::COMPLETION_FIGURES, rng::Stream};
    use sched_distill_trace::EpisodeFigures;

    /// An episode with so long a mean completion time.
    fn run(jct: f64) -> EpisodeFigures {
        EpisodeFigures {
            figures: COMPLETION_FIGURES.iter().map(|_| Some(jct)).collect(),
            stall: None,
            empty: false,
            rejected: 0,
            longest_idle_ms: None,
            completion_times_ms: Vec::new(),
            sizes: Vec::new(),
        }
    }

    /// Goes on until all is clear, as closed loops do: teacher, student and heuristic differ by a factor that is drawn by episode.
    fn ended(stopping: &Stopping, factors: [f64; 2], noise: &mut dyn FnMut() -> f64) -> ClosedLoop {
        let names = [("net", Role::Teacher), ("tree", Role::Student), ("fair", Role::Heuristic)];
        let mut policies = names.map(|(name, role)| (name.to_owned(), role, Vec::new()));
        let looks = stopping.looks(0, 1, names.iter().map(|(_, role)| *role));
        for &end in &looks.planned {
            while policies[0].2.len() < end as usize {
                policies[0].2.push(run(1.0));
                policies[1].2.push(run(factors[0] * noise()));
                policies[2].2.push(run(factors[1] * noise()));
            }
            let runs = Runs {
                workload: "w",
                split: "test",
                figures: COMPLETION_FIGURES,
                size: None,
                looks: Some(&looks),
                policies: &policies,
            };
            let found = compare(runs, &["net".to_owned()], 1);
            if stopping.is_clear(0, &found) || Some(&end) == looks.planned.last() {
                return found;
            }
        }
        unreachable!("the last look ends it")
    }

    /// Intervals at the episode at which it ended, over all that the verdict goes by: of skewed draws with mean 0, on edges that are
    /// hard to be clear of.
    #[test]
    fn intervals_hold_together_where_it_ends() {
        let stopping = Stopping { usual: vec![20, 40, 80], ..Stopping::default() };
        let (mut missed, mut ends) = (0, std::collections::BTreeSet::new());
        const TRIALS: u64 = 400;
        for trial in 0..TRIALS {
            let mut stream = Stream::new(trial, "looks");
            // Of mean 0 and standard deviation 0.12 in logarithms, and skewed as waiting times are.
            let mut noise = || (0.12 * (stream.exponential(1.0) - 1.0)).exp();
            let truth = [[1.02, 1.05], [1.05, 1.0], [1.0, 1.2]][(trial % 3) as usize];
            let found = ended(&stopping, truth, &mut noise);
            ends.insert(found.episodes);
            let holds = |policy: &str, baseline: &str, truth: f64| {
                let e = found.objective_of(policy, baseline).unwrap();
                e.low <= truth && truth <= e.high
            };
            let all = [
                holds("tree", "net", truth[0]),
                holds("fair", "net", truth[1]),
                holds("tree", "fair", truth[0] / truth[1]),
            ];
            missed += u64::from(!all.into_iter().all(|holds| holds));
        }
        assert_eq!(ends.len(), 3, "it ends at every look: {ends:?}");
        assert!(missed * 20 <= TRIALS, "{missed} of {TRIALS}, at most 5 % may");
        // With 95 % intervals it would not do: the same trials miss several times as often.
        let looks = Looks { planned: vec![20, 40, 80], comparisons: 1 };
        assert!(looks.level() < stopping.looks(0, 1, [Role::Heuristic].into_iter()).level());
    }

    #[test]
    fn what_is_clear_ends_it_and_what_is_open_goes_on() {
        let stopping = Stopping::default();
        let end = |factors, spread: f64| {
            let mut stream = Stream::new(7, "looks");
            ended(&stopping, factors, &mut || 1.0 + spread * (stream.uniform() - 0.5)).episodes
        };
        assert_eq!(end([0.9, 1.2], 0.1), 40, "better than both");
        assert_eq!(end([1.0, 1.2], 0.02), 40, "the same but for a little");
        assert_eq!(end([1.05, 1.2], 0.4), 320, "on the limit");
        assert!((80..320).contains(&end([1.02, 1.2], 0.25)), "between equality and the limit");
    }

    #[test]
    fn an_interval_grows_as_the_quantiles_do() {
        let looks = Looks { planned: vec![40, 80, 160, 320], comparisons: 5 };
        let e = looks.widen(Estimate { value: 1.0, low: 0.9, high: 1.3 }, 40);
        // Student's t at 0.99875 with 39 degrees of freedom is 3.2322.
        let factor = 3.232_16 / 1.959_96 * (40.0_f64 / 39.0).sqrt();
        assert!((e.low - (1.0 - 0.1 * factor)).abs() < 1e-4 && (e.high - (1.0 + 0.3 * factor)).abs() < 1e-4, "{e:?}");
        let exact = Estimate { value: 1.0, low: 1.0, high: 1.0 };
        assert_eq!(looks.widen(exact, 40), exact);
    }

    #[test]
    fn a_student_that_stalls_ends_it() {
        let of = |role, stalls: bool| {
            let mut runs = vec![run(1.0); 40];
            runs[0].stall = stalls.then_some(sched_distill_core::figure::Stall::Stranded);
            (format!("{role}"), role, runs)
        };
        let policies = [of(Role::Teacher, false), of(Role::Student, true)];
        let runs = Runs {
            workload: "w",
            split: "test",
            figures: COMPLETION_FIGURES,
            size: None,
            looks: None,
            policies: &policies,
        };
        assert!(Stopping::default().is_clear(0, &compare(runs, &["teacher".to_owned()], 1)));
    }
}
