//! What the policy does, in at most five rules that need no figures.

use crate::{
    run_dir::RunDir,
    summary::{habits, hardest_explained},
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
    for level in run.explanation.iter().flat_map(|e| &e.levels) {
        let Some(kind) = hardest_explained(level, rows) else { continue };
        said.extend(habits(level, kind, rows, plain));
    }
    said.truncate(MOST);
    said
}
