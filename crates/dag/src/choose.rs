//! From the scores of a network to a decision that does not strand the cluster.

use crate::{
    scenario::Probabilities,
    state::{Decision, StageRef, View},
};
use sched_distill_core::{level::log_sum_exp, policy::pick::Picker};

/// Takes a stage by the probabilities in `out`, and then an amount by those that `amounts` writes for it.
///
/// Where these two would strand the cluster ([`View::strands`]), stages to which all on offer cannot go are ruled out, and of the stage
/// that is taken then the amounts that strand. Both are taken again. Probabilities are then those of what is left, and 0 of what is ruled out: who learns from them
/// is to learn what is done, and is not to find the executed stage among others that the policy could not take. Everywhere else
/// nothing changes, draws included.
pub(crate) fn choose<E>(
    seen: &View<'_>,
    picker: &mut Picker,
    out: &mut Probabilities,
    mut amounts: impl FnMut(StageRef, &mut Vec<f64>) -> Result<(), E>,
) -> Result<Decision, E> {
    let decision = take(seen, picker, out, &mut amounts)?;
    match seen.strands(decision) && rule_out(&mut out.stage, |place| seen.strands_all(seen.schedulable()[place])) {
        true => take(seen, picker, out, &mut |stage, out: &mut Vec<f64>| {
            amounts(stage, out)?;
            rule_out(out, |place| seen.strands(Decision::Assign { stage, executors: 1 + place as u32 }));
            Ok(())
        }),
        false => Ok(decision),
    }
}

/// Takes a stage and an amount, whatever comes of it.
pub(crate) fn take<E>(
    seen: &View<'_>,
    picker: &mut Picker,
    out: &mut Probabilities,
    amounts: &mut impl FnMut(StageRef, &mut Vec<f64>) -> Result<(), E>,
) -> Result<Decision, E> {
    let stage = seen.schedulable()[picker.pick(&out.stage)];
    out.amount.clear();
    amounts(stage, &mut out.amount)?;
    Ok(Decision::Assign { stage, executors: 1 + picker.pick(&out.amount) as u32 })
}

/// Rules places out; false, and nothing is changed, if no other is left. So it may be in a state that was made by hand.
fn rule_out(log_prob: &mut [f64], out: impl Fn(usize) -> bool) -> bool {
    if (0..log_prob.len()).all(&out) {
        return false;
    }
    let places = log_prob.iter_mut().enumerate();
    places.filter(|(place, _)| out(*place)).for_each(|(_, p)| *p = f64::NEG_INFINITY);
    let total = log_sum_exp(log_prob);
    log_prob.iter_mut().for_each(|p| *p -= total);
    true
}
