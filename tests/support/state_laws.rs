//! What holds of the states of every scenario, for tests of each: a question as a value, also one that was written down and read again,
//! says what the simulator's says, and answers to it lead to the simulator's next question.

use sched_distill_core::{
    scenario::{Questions, State},
    simulation::{Simulated, Simulation},
};
use serde::Serialize;
use serde_json::Value;

/// Everything that a view says, as JSON has it.
pub(crate) fn said(view: &impl Serialize) -> Value {
    serde_json::to_value(view).unwrap()
}

/// The features of all candidates of all levels, as bits; `questions` may have been asked others before.
pub(crate) fn features<S: Simulated>(questions: &mut S::Questions, view: &S::View<'_>) -> Vec<u32> {
    fn below<S: Simulated>(questions: &mut S::Questions, view: &S::View<'_>, path: &mut Vec<usize>, x: &mut Vec<f32>) {
        for candidate in 0..questions.rows(view, path, true, x) {
            path.push(candidate);
            below::<S>(questions, view, path, x);
            path.pop();
        }
    }
    questions.update(view);
    let mut x = Vec::new();
    below::<S>(questions, view, &mut Vec::new(), &mut x);
    x.into_iter().map(f32::to_bits).collect()
}

/// Compares two questions.
pub(crate) fn same<S: Simulated>(view: &S::View<'_>, seen: &S::View<'_>)
where
    for<'a> S::View<'a>: Serialize,
{
    assert_eq!(said(view), said(seen));
    let [mut there, mut here] = [S::Questions::default(), S::Questions::default()];
    assert_eq!(features::<S>(&mut there, view), features::<S>(&mut here, seen));
}

/// Plays episodes of a workload, each for so many questions at most, and compares all with states. Calls `each` with what a question
/// says, a state of it, and that state read again. Tells how many questions were reached by answers to states.
pub(crate) fn states_keep_questions<S: Simulated>(
    workload: &str,
    seeds: impl IntoIterator<Item = u64>,
    most: usize,
    mut decide: impl FnMut(&S::View<'_>) -> S::Decision,
    mut each: impl FnMut(&Value, [&S::State; 2]),
) -> usize
where
    for<'a> S::View<'a>: Serialize,
{
    let workload = S::open_workload(&workload.parse().unwrap()).unwrap();
    let mut reached = 0;
    for seed in seeds {
        let mut sim = S::start(&workload, workload.jobs(seed), seed);
        let mut own = None::<S::State>;
        for _ in 0..most {
            let Some(seen) = sim.view() else { break };
            let state = S::State::of(&seen);
            let read: S::State = serde_json::from_str(&serde_json::to_string(&state).unwrap()).unwrap();
            [&state, &read].into_iter().for_each(|state| same::<S>(&state.view().unwrap(), &seen));
            each(&said(&seen), [&state, &read]);
            // Answers lead from question to question within a moment.
            if let Some(view) = own.as_ref().and_then(State::view)
                && S::time_ms(&view) == S::time_ms(&seen)
            {
                same::<S>(&view, &seen);
                reached += 1;
            }
            let decision = decide(&seen);
            let mut next = read;
            next.answer(decision).unwrap();
            own = Some(next);
            sim.step(decision).unwrap();
        }
    }
    reached
}
