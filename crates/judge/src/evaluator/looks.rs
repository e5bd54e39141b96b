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
        let tail = found.tail_of(&student.policy, &teacher.policy);
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
