//! Which edits a method would make, the most promising first.

use super::{Asked, Method};
use sched_distill_core::{
    policy::PolicyError,
    rng::Stream,
    scenario::State,
    simulation::{Edit, EditBudget, Editable},
};

/// An edit and what its method expects of it: by how much it raises how probable it is that the job is given something, or what the
/// job is given, in the mean over questions.
pub(super) struct Promise<E> {
    pub(super) edit: E,
    pub(super) gain: f64,
}

/// A job as a method knows it.
pub(super) struct Target<'a, S: Editable> {
    pub(super) jobs: &'a [S::Job],
    pub(super) job: u32,
    /// Questions at which the job could be given something, as it was described before any edit.
    pub(super) states: &'a [S::State],
    /// Edits that are made already.
    pub(super) made: &'a [S::Edit],
}

/// Ranks all edits that a budget allows; counts in `queries` how often somebody was asked. `asked` is not asked by `random`.
pub(super) fn rank<S: Editable>(
    method: Method,
    target: &Target<'_, S>,
    budget: &EditBudget,
    asked: &mut Asked<S>,
    stream: &mut Stream,
    queries: &mut u64,
) -> Result<Vec<Promise<S::Edit>>, PolicyError> {
    let mut edits = S::edits(target.jobs, target.job, budget);
    // Where edits promise the same, chance decides, not their order.
    for i in (1..edits.len()).rev() {
        edits.swap(i, stream.below(i + 1));
    }
    if method == Method::Random {
        return Ok(edits.into_iter().map(|edit| Promise { edit, gain: 0.0 }).collect());
    }
    let mut value = |state: &S::State| -> Result<f64, PolicyError> {
        let Some(seen) = state.view() else { return Ok(0.0) };
        if !S::is_candidate(&seen, target.job) {
            return Ok(0.0);
        }
        *queries += 1;
        match method {
            Method::Query => asked.given(&seen, target.job).map(f64::from),
            _ => Ok(asked.chance(&seen, target.job)?.unwrap_or(0.0)),
        }
    };
    let clean = mean_with(target, None, &mut value)?;
    let mut slopes: Vec<([S::Edit; 2], f64)> = Vec::new();
    let mut promises = Vec::with_capacity(edits.len());
    for edit in edits {
        let gain = match edit.slope().filter(|_| method != Method::Query) {
            Some((pair, times)) => {
                let known = slopes.iter().find(|(known, _)| *known == pair).map(|(_, slope)| *slope);
                let slope = match known {
                    Some(slope) => slope,
                    None => {
                        let [up, down] = [&pair[0], &pair[1]].map(|edit| mean_with(target, Some(edit), &mut value));
                        let slope = up? - down?;
                        slopes.push((pair, slope));
                        slope
                    }
                };
                slope * times
            }
            None => mean_with(target, Some(&edit), &mut value)? - clean,
        };
        promises.push(Promise { edit, gain });
    }
    promises.sort_by(|a, b| b.gain.total_cmp(&a.gain));
    if method == Method::GradientPath {
        along_the_path(target, &mut promises);
    }
    Ok(promises)
}

/// The mean of what is asked over the questions with one edit more. An edit that cannot be made changes nothing.
fn mean_with<S: Editable>(
    target: &Target<'_, S>,
    edit: Option<&S::Edit>,
    value: &mut impl FnMut(&S::State) -> Result<f64, PolicyError>,
) -> Result<f64, PolicyError> {
    let edits: Vec<S::Edit> = target.made.iter().chain(edit).cloned().collect();
    let mut sum = 0.0;
    for state in target.states {
        if edits.is_empty() {
            sum += value(state)?;
            continue;
        }
        let all = S::edited_state(state, target.job, &edits);
        // The edit that is looked at may be one that the past rules out, or those before.
        let edited = all.or_else(|_| S::edited_state(state, target.job, target.made));
        sum += value(edited.as_ref().unwrap_or(state))?;
    }
    Ok(sum / target.states.len().max(1) as f64)
}

/// Edits on the critical path that promise a gain, in its order and the best of each place first; then all others.
fn along_the_path<S: Editable>(target: &Target<'_, S>, promises: &mut [Promise<S::Edit>]) {
    let place = |p: &Promise<S::Edit>| {
        let place = S::critical_place(target.jobs, target.job, &p.edit).filter(|_| p.gain > 0.0);
        place.unwrap_or(usize::MAX)
    };
    promises.sort_by_cached_key(place);
}
