//! What the policy does, in at most five rules that need no figures.

use crate::{
    plain::capital,
    run_dir::RunDir,
    summary::{habits, hardest_explained},
};
use sched_distill_core::level::ALL_KINDS;
use sched_distill_judge::evaluator::Stake;

/// Rules at most, guards among them.
const MOST: usize = 5;
/// Guards that are put in words there.
const GUARDS: usize = 2;

/// The rules, level by level in the order in which a decision is made: of all that can be said, what decides most.
pub(super) fn rules(run: &RunDir) -> Vec<String> {
    let (told, plain) = (run.told(), run.plain());
    let rows = &told[..];
    let mut said: Vec<String> = Vec::new();
    // What comes before the models, and overrules them.
    let guards = &run.student.guards;
    said.extend(guards.iter().take(GUARDS).map(|guard| format!("{}.", capital(&plain.guard(guard)))));
    match guards.len().saturating_sub(GUARDS) {
        0 => {}
        1 => said.push("One more guard comes before all else: see \"Guards and edits\".".to_owned()),
        more => said.push(format!("{more} more guards come before all else: see \"Guards and edits\".")),
    }
    let levels = run.explanation.iter().flat_map(|e| &e.levels);
    let explained = levels.filter_map(|level| Some((level, hardest_explained(level, rows)?)));
    let habits = explained
        .flat_map(|(level, kind)| habits(level, kind, rows, plain).into_iter().map(move |habit| (level, habit)))
        .map(|(level, habit)| (stake(run, &level.level, habit.kind), habit.text));
    said.extend(worth_most(habits.collect(), MOST - said.len()));
    said
}

/// Those with the highest stakes, the first of equals, in the order in which they came.
fn worth_most(said: Vec<(f64, String)>, most: usize) -> impl Iterator<Item = String> {
    let mut by_stake: Vec<_> = said.into_iter().enumerate().collect();
    by_stake.sort_by(|(_, (a, _)), (_, (b, _))| b.total_cmp(a));
    by_stake.truncate(most);
    by_stake.sort_by_key(|&(place, _)| place);
    by_stake.into_iter().map(|(_, (_, text))| text)
}

/// What leaving a kind of a level's choices to chance costs; where that is not known all are alike. Of all kinds together the most.
fn stake(run: &RunDir, level: &str, kind: &str) -> f64 {
    let objective = run.evaluation.closed_loop.as_ref().map_or(&run.info.objective, |c| c.objective());
    let of_kind = |stake: &&Stake| stake.level == level && (stake.kind == kind || kind == ALL_KINDS);
    let costs = run.evaluation.stakes.iter().filter(of_kind).map(|s| objective.cost(s.objective.map(|e| e.value)));
    costs.max_by(f64::total_cmp).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::worth_most;

    #[test]
    fn what_is_worth_most_is_said_in_the_order_of_the_levels() {
        let said = |stakes: &[f64], most| -> String {
            worth_most(stakes.iter().zip('a'..).map(|(&stake, c)| (stake, c.to_string())).collect(), most).collect()
        };
        assert_eq!(said(&[0.3, 0.0, 0.05, 1.2, 0.02], 3), "acd");
        // What stalls without them is worth most; without stakes the first are said.
        assert_eq!(said(&[0.3, 0.1, f64::INFINITY], 2), "ac");
        assert_eq!((said(&[0.0; 4], 2), said(&[0.1, 0.2], 5), said(&[0.1], 0)), ("ab".into(), "ab".into(), "".into()));
    }
}
