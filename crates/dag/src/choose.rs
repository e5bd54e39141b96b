//! From the scores of a network to a decision that does not strand the cluster.

use crate::state::{Decision, StageRef, View};
use sched_distill_core::{
    level::{first_max, log_sum_exp},
    policy::pick::Picker,
    scenario::Said,
};

/// Takes a stage by the probabilities in `out`, and then an amount by those that `amounts` writes for it, so that the cluster is not
/// stranded ([`View::strands`]).
///
/// Where a stage that cannot start would do that, stages to which all on offer cannot go are ruled out, and both are taken again. Of a stage
/// that can start, amounts are spared ([`spare`]); where one is drawn all the same that strands, it is the next larger one that does not.
/// Probabilities are then those of what is left, and 0 of what is ruled out: who learns from them is to learn what is done, and
/// is not to find the executed stage among others that the policy could not take. Everywhere else nothing changes, draws included.
pub(crate) fn choose<E>(
    seen: &View<'_>,
    picker: &mut Picker,
    out: &mut Said,
    mut amounts: impl FnMut(StageRef, &mut Vec<f64>) -> Result<(), E>,
) -> Result<Decision, E> {
    let mut spared = |stage, out: &mut Vec<f64>| {
        amounts(stage, out)?;
        spare(seen, stage, out);
        Ok(())
    };
    let mut decision = take(seen, picker, out, &mut spared)?;
    let is_early = matches!(decision, Decision::Assign { stage, .. } if !seen.can_start(stage));
    if is_early
        && seen.strands(decision)
        && rule_out(&mut out.joint, |place| seen.strands_all(seen.schedulable()[place]))
    {
        decision = take(seen, picker, out, &mut spared)?;
    }
    Ok(match decision {
        Decision::Assign { stage, .. } if seen.can_start(stage) && seen.strands(decision) => {
            Decision::Assign { stage, executors: seen.least_amount(stage) }
        }
        decision => decision,
    })
}

/// Rules out the amounts for a stage that would strand the cluster, if the most probable one does and the stage can start. So it follows
/// from the question and the stage alone what the probabilities of amounts are.
pub(crate) fn spare(seen: &View<'_>, stage: StageRef, log_prob: &mut [f64]) {
    let best = first_max(log_prob.iter().map(|&p| f64::from(p as f32)));
    if seen.can_start(stage) && seen.strands(Decision::Assign { stage, executors: 1 + best as u32 }) {
        let least = seen.least_amount(stage) as usize;
        rule_out(log_prob, |place| 1 + place < least);
    }
}

/// Takes a stage and an amount, whatever comes of it.
pub(crate) fn take<E>(
    seen: &View<'_>,
    picker: &mut Picker,
    out: &mut Said,
    amounts: &mut impl FnMut(StageRef, &mut Vec<f64>) -> Result<(), E>,
) -> Result<Decision, E> {
    let stage = seen.schedulable()[picker.pick(&out.joint)];
    out.given.clear();
    amounts(stage, &mut out.given)?;
    Ok(Decision::Assign { stage, executors: 1 + picker.pick(&out.given) as u32 })
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
