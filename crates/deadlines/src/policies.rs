//! Policies of the `deadlines` scenario by name.

use crate::{
    Deadlines,
    heuristic::{EdfTest, Hpa, Order, Qos, Queue, Vpa},
};
#[cfg(feature = "network")]
use sched_distill_core::network::scorer::{open_scorer_or, scorer_or};
use sched_distill_core::{
    policy::{self, Policy, PolicyDef, PolicyError, of_episode, stateless},
    spec::{Args, Spec, SpecError},
};

/// The policy to explain where the user names none.
pub const TEACHER: &str = "scorer";

/// The network that comes with the program (`data/README.md` tells how it was trained): a checkpoint of `distill train scorer`.
#[cfg(feature = "network")]
pub static BUILT_IN: &[u8] = include_bytes!("../data/deadlines-builtin.safetensors");

/// Heuristics to compare it with; the first is the one that all others are measured against.
pub const BASELINES: &[&str] = &["qos", "edf-test", "fifo", "hpa"];

/// All policies there are.
pub static POLICIES: &[PolicyDef<Deadlines>] = &[
    PolicyDef::rule(
        "fifo",
        "jobs in order of arrival with the cores that users request, passing over those that do not fit",
    )
    .is(|_| Ok(stateless(|seen| Queue::Fifo.decide(seen)))),
    PolicyDef::rule("edf", "as fifo, the earliest deadline first").is(|_| {
        Ok(stateless(|seen| Queue::Edf.decide(seen)))
    }),
    PolicyDef::rule("least-slack", "as fifo, the least predicted time to spare first").is(|_| {
        Ok(stateless(|seen| Queue::LeastSlack.decide(seen)))
    }),
    PolicyDef::rule(
        "edf-test[,refuse=0|1]",
        "as edf; the deadline of a job that will be late with what its user requests is given up",
    )
    .is(|args| {
        let rule = EdfTest { refuse: args.word("refuse", &["0", "1"])? == "1" };
        Ok(stateless(move |seen| rule.decide(seen)))
    }),
    PolicyDef::rule(
        "qos[,order=deadline|slack|work][,size=fewest|widest][,autoscale=on|off][,refuse=0|1]",
        "earliest deadline first, each job with the fewest cores that suffice; late jobs grow, those with time to spare shrink, hopeless ones are given up",
    )
    .is(|args| qos(args).map(|rule| stateless(move |seen| rule.decide(seen)))),
    PolicyDef::rule(
        "hpa",
        "as fifo; at checks each job's cores follow their use, as in Kubernetes' horizontal autoscaler",
    )
    .is(|_| Ok(of_episode::<Deadlines, _>(Hpa::default(), Hpa::decide))),
    PolicyDef::rule("vpa", "as fifo with requests from what earlier jobs used, as in Kubernetes' vertical autoscaler")
        .is(|_| Ok(stateless(|seen| Vpa.decide(seen)))),
    #[cfg(feature = "network")]
    PolicyDef::new(scorer_or(BUILT_IN, "deadlines-net"), |spec| open_scorer_or(spec, BUILT_IN)),
    PolicyDef::student(),
];

/// Opens the policy that a spec names.
///
/// # Errors
///
/// An unknown name or parameter, or a file that cannot be used.
pub fn open(spec: &Spec) -> Result<Box<dyn Policy<Deadlines>>, PolicyError> {
    policy::open(spec, POLICIES)
}

fn qos(args: &mut Args<'_>) -> Result<Qos, SpecError> {
    Ok(Qos {
        order: match args.word("order", &["deadline", "slack", "work"])? {
            "slack" => Order::Slack,
            "work" => Order::Work,
            _ => Order::Deadline,
        },
        widest: args.word("size", &["fewest", "widest"])? == "widest",
        autoscale: args.word("autoscale", &["on", "off"])? == "on",
        refuse: args.word("refuse", &["0", "1"])? == "1",
    })
}
