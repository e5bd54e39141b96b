//! Policies of the `training` scenario by name.

use super::{Drf, Fifo, Optimus, Srtf, Tetris, TrueSrtf};
use crate::{
    policy::{Policies, Policy, PolicyError, PolicyInfo, STUDENT, Sort, open_student},
    scenario::{Training, training::Probabilities},
    simulator::training::{Decision, Observation},
    spec::Spec,
};

/// All policies there are.
pub const POLICIES: [PolicyInfo; 7] = [
    heuristic("drf", "dominant resource fairness: a worker and a server for the job with the smallest dominant share"),
    heuristic("fifo", "jobs in order of arrival, each as many workers and servers as allowed"),
    heuristic(
        "srtf",
        "as fifo, by the remaining share of epochs, as the DL2 simulator has it; nearly first in, first out",
    ),
    heuristic("srtf-time", "as fifo, by the time that a job still needs at its best speed"),
    heuristic("tetris", "node after node, the job whose request fits the free slots best and that has much left"),
    heuristic(
        "optimus",
        "one worker or server at a time, where it saves most remaining time; closes the slot when none saves any",
    ),
    STUDENT,
];

const fn heuristic(name: &'static str, meaning: &'static str) -> PolicyInfo {
    PolicyInfo { name, sort: Sort::Heuristic, usage: name, meaning }
}

impl Policies for Training {
    const POLICIES: &'static [PolicyInfo] = &POLICIES;
    const TEACHER: &'static str = "optimus";
    const BASELINES: &'static [&'static str] = &["drf", "fifo", "srtf-time", "tetris", "optimus"];

    fn open(spec: &Spec) -> Result<Box<dyn Policy<Self>>, PolicyError> {
        open(spec)
    }
}

/// Opens the policy that a spec names.
///
/// # Errors
///
/// An unknown name or parameter, or a file that cannot be used.
pub fn open(spec: &Spec) -> Result<Box<dyn Policy<Training>>, PolicyError> {
    if spec.name == STUDENT.name {
        return open_student(spec);
    }
    let policy: Box<dyn Policy<Training>> = match spec.name.as_str() {
        "drf" => Box::new(Drf),
        "fifo" => Box::new(Fifo),
        "srtf" => Box::new(Srtf),
        "srtf-time" => Box::new(TrueSrtf),
        "tetris" => Box::new(Tetris::default()),
        "optimus" => Box::new(Optimus::default()),
        _ => return Err(spec.unknown_name("policy", "policies", &POLICIES.map(|p| p.name)).into()),
    };
    spec.refuse_file()?;
    spec.args().finish()?;
    Ok(policy)
}

/// A heuristic as a policy: it begins each episode anew, and is sure of what it does.
macro_rules! deterministic {
    ($($heuristic:ty),*) => {
        $(impl Policy<Training> for $heuristic {
            fn fresh(&self) -> Box<dyn Policy<Training>> {
                Box::new(Self::default())
            }

            fn reset(&mut self, _: u64) {
                *self = Self::default();
            }

            fn decide(&mut self, seen: &Observation<'_>, _: &mut Probabilities) -> Result<Decision, PolicyError> {
                Ok(self.decide(seen))
            }
        })*
    };
}

deterministic!(Drf, Fifo, Srtf, TrueSrtf, Tetris, Optimus);
