//! Policies of the `preemption` scenario by name.

use crate::{
    Preemption,
    heuristic::{Division, LAS_LIMIT, Order, PickyMan, Queue, Rule, Tiresias},
    state::{Decision, View},
};
#[cfg(feature = "network")]
use sched_distill_core::network::scorer::{open_scorer_or, scorer_or};
use sched_distill_core::{
    policy::{self, Policy, PolicyDef, PolicyError, of_episode, stateless},
    scenario::Said,
    spec::{Args, Spec, SpecError},
};

/// The policy to explain where the user names none.
pub const TEACHER: &str = "scorer";

/// The network that comes with the program (`data/README.md` tells how it was trained): a checkpoint of `distill train scorer`.
#[cfg(feature = "network")]
pub static BUILT_IN: &[u8] = include_bytes!("../data/preemption-builtin.safetensors");

/// Heuristics to compare it with; the first is the one that all others are measured against.
pub const BASELINES: &[&str] = &["pickyman", "srtf", "las", "lucid-like", "fifo"];

/// All policies there are.
pub static POLICIES: &[PolicyDef<Preemption>] = &[
    PolicyDef::rule("fifo", "jobs in order of arrival; nobody begins before who arrived first").is(|_| {
        Ok(stateless(|seen| Queue::Fifo.decide(seen)))
    }),
    PolicyDef::rule("sjf", "the least predicted time first, passing over jobs that do not fit; nobody is suspended")
        .is(|_| Ok(stateless(|seen| Queue::Sjf.decide(seen)))),
    PolicyDef::rule(
        "srtf[,times=predicted|true]",
        "the least time left first, by suspending who has more left, whatever that costs; with times=true clairvoyant",
    )
    .is(|args| {
        let rule =
            if args.word("times", &["predicted", "true"])? == "true" { Order::SrtfTrue } else { Order::Srtf };
        Ok(stateless(move |seen| rule.decide(seen)))
    }),
    PolicyDef::rule(
        "las[,limit=18000]",
        "Tiresias' two queues: jobs that have had less GPU time than the limit (GPU·s) first, by suspending others",
    )
    .is(|args| {
        let rule = Order::Las(1e3 * args.number("limit", LAS_LIMIT / 1e3, 0.0..=1e12)?);
        Ok(stateless(move |seen| rule.decide(seen)))
    }),
    PolicyDef::rule(
        "gittins",
        "the largest Gittins index over the GPU times of earlier jobs first, by suspending others",
    )
    .is(|_| Ok(stateless(|seen| Order::Gittins.decide(seen)))),
    PolicyDef::rule(
        "pickyman[,lend=on|off][,protect=on|off]",
        "the least time left first; whom to suspend is found by what suspending and resuming costs, and only where it pays",
    )
    .is(|args| {
        let lend = args.word("lend", &["on", "off"])? == "on";
        let rule = PickyMan { lend, protect: args.word("protect", &["on", "off"])? == "on" };
        Ok(Box::new(Picky(rule, Division::default())))
    }),
    PolicyDef::rule(
        "lucid-like",
        "the least GPU time first, as a small tree learned from earlier jobs predicts it; nobody is suspended",
    )
    .is(|_| Ok(stateless(|seen| Queue::LucidLike.decide(seen)))),
    PolicyDef::rule(
        "tiresias[,rule=fifo|fjf|sjf|shortest|shortest-gpu|dlas|dlas-gpu][,limits=3250/7200][,promote=0][,tick=0]",
        "the rules of Tiresias' simulator event by event, for workloads with free=1",
    )
    .is(|args| tiresias(args).map(|rule| of_episode::<Preemption, _>(rule, Tiresias::decide))),
    #[cfg(feature = "network")]
    PolicyDef::new(scorer_or(BUILT_IN, "preemption-net"), |spec| open_scorer_or(spec, BUILT_IN)),
    PolicyDef::student(),
];

/// Opens the policy that a spec names.
///
/// # Errors
///
/// An unknown name or parameter, or a file that cannot be used.
pub fn open(spec: &Spec) -> Result<Box<dyn Policy<Preemption>>, PolicyError> {
    policy::open(spec, POLICIES)
}

fn tiresias(args: &mut Args<'_>) -> Result<Tiresias, SpecError> {
    let name = args.word("rule", &Rule::ALL.map(|(name, _)| name))?;
    let rule = Rule::ALL.iter().find(|(known, _)| *known == name).map_or(Rule::Fifo, |(_, rule)| *rule);
    let text = args.text("limits").unwrap_or_else(|| "3250/7200".to_owned());
    let limits: Option<Vec<f64>> = text.split('/').map(|x| x.parse().ok().filter(|x| *x > 0.0)).collect();
    let Some(limits) = limits.filter(|limits| limits.is_sorted() && limits.len() <= 16) else {
        return Err(args.conflict(
            "limits",
            &text,
            "ascending positive numbers with / between them, such as 3250/7200",
        ));
    };
    let promote = args.number("promote", 0.0, 0.0..=1e9)?;
    Ok(Tiresias::new(rule, limits, promote, args.number("tick", 0.0, 0.0..=1e9)?))
}

/// PickyMan with room for its division.
struct Picky(PickyMan, Division);

impl Policy<Preemption> for Picky {
    fn fresh(&self) -> Box<dyn Policy<Preemption>> {
        Box::new(Self(self.0, Division::default()))
    }

    fn decide(&mut self, seen: &View<'_>, _: &mut Said) -> Result<Decision, PolicyError> {
        Ok(self.0.decide_with(seen, &mut self.1))
    }

    fn forgets(&self) -> bool {
        true
    }
}
