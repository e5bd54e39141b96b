//! Which choices matter: what it costs to leave each of them to chance.

use crate::{goal, plain::capital, run_dir::RunDir};
use sched_distill_judge::evaluator::Stake;
use serde::Serialize;

/// What each kind of choice is worth, a row each.
#[derive(Debug, Serialize)]
pub(crate) struct Section {
    /// What is compared with what, and on which episodes.
    caption: String,
    rows: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct Row {
    /// Which choice: the question of its level.
    question: String,
    /// When it is asked; empty if a level's choices are all of one kind.
    when: String,
    /// The objective against the student's own with its interval, or that it stalls.
    worth: String,
}

/// The stakes of a run, the largest first; `None` if they were not measured.
pub(crate) fn section(run: &RunDir) -> Option<Section> {
    let objective = run.evaluation.closed_loop.as_ref()?.objective();
    let plain = run.plain();
    let mut stakes: Vec<&Stake> = run.evaluation.stakes.iter().collect();
    let cost = |stake: &Stake| objective.cost(stake.objective.map(|e| e.value));
    stakes.sort_by(|a, b| cost(b).total_cmp(&cost(a)));
    let several = |level: &str| stakes.iter().filter(|stake| stake.level == level).count() > 1;
    let row = |stake: &&Stake| Row {
        question: plain.question(&stake.level),
        when: capital(plain.place(&stake.kind, several(&stake.level)).trim_end_matches(", ")),
        worth: match &stake.objective {
            Some(found) => goal::measured(objective, found),
            None => "not all jobs end".to_owned(),
        },
    };
    let episodes = stakes.first()?.episodes;
    let against = objective.against("the student's own");
    Some(Section {
        caption: format!("{against}, in the first {episodes} episodes of the closed loop"),
        rows: stakes.iter().map(row).collect(),
    })
}
