//! What the policy does, in at most five rules that need no figures.

use crate::{
    plain::capital,
    run_dir::RunDir,
    summary::{Detail, MOSTLY, NEARLY, habits, hardest_explained},
};

/// Rules at most.
const MOST: usize = 5;
/// Guards that are put in words there.
const GUARDS: usize = 2;

/// The rules, level by level in the order in which a decision is made.
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
