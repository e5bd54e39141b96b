//! Policies of the `deadlines` scenario by name.

use crate::{
    Deadlines, Probabilities,
    heuristic::{EdfTest, Hpa, Order, Qos, Queue, Vpa},
    state::{Decision, View},
};
#[cfg(feature = "network")]
use sched_distill_core::network::scorer::{SCORER_OR_BUILT_IN, open_scorer_or};
use sched_distill_core::{
    policy::{self, Policy, PolicyError, PolicyInfo, STUDENT, Sort, open_student},
    spec::Spec,
};

/// The policy to explain where the user names none.
pub const TEACHER: &str = "scorer";

/// The network that comes with the program (`data/README.md` tells how it was trained): a checkpoint of `distill train scorer`.
#[cfg(feature = "network")]
pub static BUILT_IN: &[u8] = include_bytes!("../../../data/deadlines-builtin.safetensors");

/// Heuristics to compare it with; the first is the one that all others are measured against.
pub const BASELINES: &[&str] = &["qos", "edf-test", "fifo", "hpa"];

/// All policies there are.
pub const POLICIES: &[PolicyInfo] = &[
    heuristic(
        "fifo",
        "fifo",
        "jobs in order of arrival with the cores that users request, passing over those that do not fit",
    ),
    heuristic("edf", "edf", "as fifo, the earliest deadline first"),
    heuristic("least-slack", "least-slack", "as fifo, the least predicted time to spare first"),
    heuristic(
        "edf-test",
        "edf-test[,refuse=0|1]",
        "as edf; the deadline of a job that will be late with what its user requests is given up",
    ),
    heuristic(
        "qos",
        "qos[,order=deadline|slack|work][,size=fewest|widest][,autoscale=on|off][,refuse=0|1]",
        "earliest deadline first, each job with the fewest cores that suffice; late jobs grow, those with time to spare shrink, hopeless ones are given up",
    ),
    heuristic(
        "hpa",
        "hpa",
        "as fifo; at checks each job's cores follow their use, as in Kubernetes' horizontal autoscaler",
    ),
    heuristic("vpa", "vpa", "as fifo with requests from what earlier jobs used, as in Kubernetes' vertical autoscaler"),
    #[cfg(feature = "network")]
    SCORER_OR_BUILT_IN,
    STUDENT,
];

const fn heuristic(name: &'static str, usage: &'static str, meaning: &'static str) -> PolicyInfo {
    PolicyInfo { name, sort: Sort::Heuristic, usage, meaning }
}

/// Opens the policy that a spec names.
///
/// # Errors
///
/// An unknown name or parameter, or a file that cannot be used.
pub fn open(spec: &Spec) -> Result<Box<dyn Policy<Deadlines>>, PolicyError> {
    let takes_file = matches!(spec.name.as_str(), "scorer" | "student");
    if !takes_file && POLICIES.iter().any(|p| p.name == spec.name) {
        spec.refuse_file()?;
    }
    let mut args = spec.args();
    let policy: Box<dyn Policy<Deadlines>> = match spec.name.as_str() {
        "fifo" => Box::new(Queue::Fifo),
        "edf" => Box::new(Queue::Edf),
        "least-slack" => Box::new(Queue::LeastSlack),
        "edf-test" => Box::new(EdfTest { refuse: args.word("refuse", &["0", "1"])? == "1" }),
        "qos" => Box::new(Qos {
            order: match args.word("order", &["deadline", "slack", "work"])? {
                "slack" => Order::Slack,
                "work" => Order::Work,
                _ => Order::Deadline,
            },
            widest: args.word("size", &["fewest", "widest"])? == "widest",
            autoscale: args.word("autoscale", &["on", "off"])? == "on",
            refuse: args.word("refuse", &["0", "1"])? == "1",
        }),
        "hpa" => Box::new(Hpa::default()),
        "vpa" => Box::new(Vpa),
        #[cfg(feature = "network")]
        "scorer" => return open_scorer_or(spec, BUILT_IN),
        "student" => return open_student(spec),
        _ => return Err(spec.unknown_name("policy", "policies", &policy::names(POLICIES)).into()),
    };
    args.finish()?;
    Ok(policy)
}

/// A heuristic as a policy that needs the question alone.
macro_rules! stateless {
    ($($heuristic:ty),*) => {
        $(impl Policy<Deadlines> for $heuristic {
            fn fresh(&self) -> Box<dyn Policy<Deadlines>> {
                Box::new(*self)
            }

            fn decide(&mut self, seen: &View<'_>, _: &mut Probabilities) -> Result<Decision, PolicyError> {
                Ok((*self).decide(seen))
            }

            fn forgets(&self) -> bool {
                true
            }
        })*
    };
}

stateless!(Queue, EdfTest, Qos, Vpa);

impl Policy<Deadlines> for Hpa {
    fn fresh(&self) -> Box<dyn Policy<Deadlines>> {
        Box::new(Self::default())
    }

    fn reset(&mut self, _: u64) {
        *self = Self::default();
    }

    fn decide(&mut self, seen: &View<'_>, _: &mut Probabilities) -> Result<Decision, PolicyError> {
        Ok(self.decide(seen))
    }
}
