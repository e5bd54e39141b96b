//! What the policy does, in at most five rules that need no figures.

use crate::{
    run_dir::RunDir,
    summary::{Detail, MOSTLY, NEARLY, habits, hardest_explained},
};

/// Rules at most.
const MOST: usize = 5;

/// The rules, level by level in the order in which a decision is made.
pub(super) fn rules(run: &RunDir) -> Vec<String> {
    let (rows, plain) = (&run.evaluation.fidelity, run.plain());
    let mut said: Vec<String> = Vec::new();
    let edits = run.student.guards.len();
    if edits > 0 {
        let guards = if edits == 1 { "One guard comes".to_owned() } else { format!("{edits} guards come") };
        said.push(format!("{guards} before all else: see the augmented policy."));
    }
    let of_levels = |least: f64, common_kinds: bool| -> Vec<String> {
        let levels = run.explanation.iter().flat_map(|e| &e.levels);
        let explained = levels.filter_map(|level| Some((level, hardest_explained(level, rows)?)));
        explained.flat_map(|(l, kind)| habits(l, kind, rows, plain, Detail { least, common_kinds })).collect()
    };
    // Where that is too much, it is said more briefly before a level is left out.
    let tries = [(MOSTLY, true), (MOSTLY, false), (NEARLY, false)].map(|(least, common)| of_levels(least, common));
    let [.., briefest] = &tries;
    said.extend_from_slice(tries.iter().find(|t| said.len() + t.len() <= MOST).unwrap_or(briefest));
    said.truncate(MOST);
    said
}
