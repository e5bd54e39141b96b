//! Who is asked what an edit would change.

use sched_distill_core::{
    level::log_sum_exp,
    policy::{Policy, PolicyError, StudentPolicy},
    scenario::{Said, Scenario},
    simulation::Editable,
};

/// A policy that can be asked how probable it is that a job is given something next.
pub enum Asked<S: Scenario> {
    /// By what it says itself; deterministic policies say nothing.
    Policy(Box<dyn Policy<S>>),
    /// By the temperatures of a student's models.
    Student(StudentPolicy<S>),
}

/// Probabilities put together: the job's, and all others'.
struct Sides {
    /// Whether the most probable is taken, rather than drawn.
    greedy: bool,
    own: f64,
    others: f64,
}

impl Sides {
    fn add(&mut self, is_own: bool, log_prob: f64) {
        let side = if is_own { &mut self.own } else { &mut self.others };
        *side = if self.greedy { side.max(log_prob) } else { log_sum_exp(&[*side, log_prob]) };
    }
}

impl<S: Editable> Asked<S> {
    /// One for another thread.
    #[must_use]
    pub fn fresh(&self) -> Self {
        match self {
            Self::Policy(policy) => Self::Policy(policy.fresh()),
            Self::Student(student) => Self::Student(student.copy()),
        }
    }

    /// How probable it is that a job is given something next. Of who takes what is most probable only the best candidates count, the
    /// job's and that of all others: there several candidates do not help a job together. `None` of a policy that names no
    /// probabilities.
    ///
    /// # Errors
    ///
    /// A policy that cannot answer.
    pub fn chance(&mut self, seen: &S::View<'_>, job: u32) -> Result<Option<f64>, PolicyError> {
        let nothing = f64::NEG_INFINITY;
        let sides = match self {
            Self::Policy(policy) => {
                let mut probabilities = Said::default();
                policy.decide(seen, &mut probabilities)?;
                if probabilities.is_silent() {
                    return Ok(None);
                }
                let mut sides = Sides { greedy: policy.forgets(), own: nothing, others: nothing };
                S::log_probabilities(seen, &probabilities, &mut |of, log_prob| sides.add(of == Some(job), log_prob));
                sides
            }
            Self::Student(student) => {
                let mut sides = Sides { greedy: true, own: nothing, others: nothing };
                student.chances(seen, S::JOB_LEVEL, &mut |decision, chance| {
                    sides.add(S::given(decision, job) > 0, chance.ln());
                });
                sides
            }
        };
        let ratio = if sides.others == nothing { 0.0 } else { (sides.others - sides.own).exp() };
        Ok(Some(1.0 / (1.0 + ratio)))
    }

    /// How much a job is given by what is decided.
    ///
    /// # Errors
    ///
    /// A policy that cannot answer.
    pub fn given(&mut self, seen: &S::View<'_>, job: u32) -> Result<u32, PolicyError> {
        let mut probabilities = Said::default();
        let decision = match self {
            Self::Policy(policy) => policy.decide(seen, &mut probabilities)?,
            Self::Student(student) => student.decide(seen, &mut probabilities)?,
        };
        Ok(S::given(decision, job))
    }
}
