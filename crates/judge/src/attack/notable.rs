//! Which attempts stand for an attack: those of one method, named beforehand, and of them the edits that brought most.

use super::{
    AttackError, Attempt, EpisodeAttempts, Method,
    episode::World,
    figures::{LITTLE, MUCH},
};
use sched_distill_core::{
    policy::Policy,
    rng::EpisodeId,
    simulation::{Editable, Simulation, Workload},
};
use sched_distill_trace::recorder::EpisodeRun;
use serde::{Deserialize, Serialize};
use std::{cell::RefCell, collections::BTreeMap, sync::atomic::AtomicBool};

/// Edits that are named.
const BEST: usize = 3;

/// What stands for an attack: the attempts of its first budget by the method that knows most.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Notable {
    /// The method.
    pub method: Method,
    /// Attempts.
    pub attempts: usize,
    /// The edits that brought most, the best first; none that brought nothing.
    pub best: Vec<BestEdit>,
    /// By the sort of edits, where each attempt made one.
    pub sorts: Vec<SortFigures>,
}

/// An edit that brought much.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BestEdit {
    /// Episode number.
    pub episode: u32,
    /// The job that was edited.
    pub job: u32,
    /// The edits in words.
    pub words: Vec<String>,
    /// Completion time of the job without and with them, ms.
    pub completion_ms: [f64; 2],
}

/// What edits of a sort came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SortFigures {
    /// The sort.
    pub sort: String,
    /// Attempts that made one.
    pub attempts: usize,
    /// Of these, how often the target's completion time fell by more than 1 %, and by more than 5 %.
    pub sooner: [usize; 2],
}

/// Of several methods the one that knows most.
#[must_use]
pub fn knows_most(methods: &[Method]) -> Option<Method> {
    let order = [Method::Gradient, Method::Query, Method::Proxy, Method::GradientPath, Method::Random];
    order.into_iter().find(|method| methods.contains(method))
}

/// What stands for an attack, and its best attempt with the episode's number; `None` if nothing was attacked.
#[must_use]
pub fn notable<'e>(
    episodes: &'e [EpisodeAttempts],
    methods: &[Method],
) -> Option<(Notable, Option<(u32, &'e Attempt)>)> {
    let method = knows_most(methods)?;
    let all = episodes.iter().flat_map(|e| e.attempts.iter().map(move |attempt| (e.episode, attempt)));
    let all: Vec<(u32, &Attempt)> = all.filter(|(_, a)| a.method == method && a.budget == 0).collect();
    let mut gained: Vec<(u32, &Attempt, f64, [f64; 2])> = all
        .iter()
        .filter_map(|&(episode, a)| Some((episode, a, a.change()?, [a.completion_ms[0]?, a.completion_ms[1]?])))
        .filter(|(_, _, change, _)| *change < 0.0)
        .collect();
    gained.sort_by(|a, b| a.2.total_cmp(&b.2));
    gained.truncate(BEST);
    let best = gained.iter().map(|&(episode, a, _, completion_ms)| BestEdit {
        episode,
        job: a.job,
        words: a.words.clone(),
        completion_ms,
    });
    let mut sorts: BTreeMap<&str, SortFigures> = BTreeMap::new();
    for (_, attempt) in &all {
        let [edit] = &attempt.edits[..] else { continue };
        let Some(sort) = edit["sort"].as_str() else { continue };
        let figures =
            sorts.entry(sort).or_insert_with(|| SortFigures { sort: sort.to_owned(), attempts: 0, sooner: [0; 2] });
        figures.attempts += 1;
        for (count, by) in figures.sooner.iter_mut().zip([LITTLE, MUCH]) {
            *count += usize::from(attempt.change().is_some_and(|change| change < -by));
        }
    }
    let first = gained.first().map(|&(episode, attempt, ..)| (episode, attempt));
    let notable = Notable { method, attempts: all.len(), best: best.collect(), sorts: sorts.into_values().collect() };
    Some((notable, first))
}

/// The episode of an attempt as it was, and with the edited job, with all that its tasks did.
///
/// # Errors
///
/// A failing episode, or edits that the job does not allow.
pub fn replay<S: Editable>(
    workload: &Workload<S>,
    victim: &dyn Policy<S>,
    id: EpisodeId,
    attempt: &Attempt,
    stop: &AtomicBool,
) -> Result<[EpisodeRun; 2], AttackError> {
    let before = workload.jobs(id);
    let mut after = before.clone();
    for edit in attempt.values::<S>()? {
        after = S::edited(&after, attempt.job, &edit)?;
    }
    let world = World { workload, victim: RefCell::new(victim.fresh()), id, stop, jobs: before.clone() };
    let run = |jobs| -> Result<EpisodeRun, AttackError> {
        let mut sim = S::start(workload, jobs, id.seed);
        sim.record_timeline();
        let sim = world.run(sim, None, &mut |_, _| ())?;
        Ok(EpisodeRun {
            episode: id.episode,
            seed: id.seed,
            outcome: sim.outcome().expect("no question is open, so the episode has ended"),
            arrivals_ms: sim.arrivals_ms(),
            sizes: sim.sizes(),
            lanes: sim.lanes(),
            timeline: sim.task_runs().to_vec(),
        })
    };
    Ok([run(before)?, run(after)?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_best_edits_are_those_of_the_method_that_knows_most() {
        let attempt = |method, sort: &str, after: f64| Attempt {
            job: 4,
            method,
            budget: 0,
            edits: vec![json!({"sort": sort})],
            words: vec![format!("{sort} {after}")],
            promised: 0.0,
            queries: 0,
            trials: 0,
            completion_ms: [Some(100.0), Some(after)],
            others_ms: [0.0; 2],
            first_minute: [0.0; 2],
        };
        let query = |sort, after| attempt(Method::Query, sort, after);
        let unfinished = Attempt { completion_ms: [Some(100.0), None], ..query("split", 0.0) };
        let second_budget = Attempt { budget: 1, ..query("edge", 1.0) };
        let episodes = [
            EpisodeAttempts {
                episode: 0,
                objective: None,
                attempts: vec![query("duration", 97.0), query("split", 110.0), attempt(Method::Random, "edge", 5.0)],
            },
            EpisodeAttempts {
                episode: 1,
                objective: None,
                attempts: vec![query("duration", 80.0), unfinished, second_budget],
            },
        ];
        let methods = [Method::Random, Method::Query];
        let (found, first) = notable(&episodes, &methods).expect("there are attempts");
        assert_eq!((found.method, found.attempts), (Method::Query, 4));
        let words: Vec<&str> = found.best.iter().map(|best| &*best.words[0]).collect();
        assert_eq!(words, ["duration 80", "duration 97"]);
        assert_eq!(first.map(|(episode, a)| (episode, a.change())), Some((1, Some(-0.2))));
        let sort = |sort: &str, attempts, sooner| SortFigures { sort: sort.to_owned(), attempts, sooner };
        assert_eq!(found.sorts, [sort("duration", 2, [2, 1]), sort("split", 2, [0, 0])]);
        assert!(notable(&episodes, &[]).is_none());
    }
}
