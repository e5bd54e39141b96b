//! What tasks are like, in a few words.

use super::ServingTask;
use std::collections::BTreeMap;

/// How many tasks applications are asked for, and their sizes, in words.
pub(crate) fn shapes(tasks: &[ServingTask]) -> Vec<(&'static str, String)> {
    let mut by_application: BTreeMap<u32, usize> = BTreeMap::new();
    for task in tasks {
        *by_application.entry(task.application).or_default() += 1;
    }
    let counts: Vec<String> = by_application.values().map(usize::to_string).collect();
    let mut sizes: Vec<u32> = tasks.iter().map(|task| task.size).collect();
    sizes.sort_unstable();
    let (median, most) = (sizes.get(sizes.len() / 2).copied(), sizes.last().copied());
    let understated = tasks.iter().filter(|task| task.declared_size < task.size).count();
    let mut said = vec![
        ("applications", format!("{}, asked for {} tasks", by_application.len(), counts.join(", "))),
        ("size", format!("median {}, at most {}", median.unwrap_or_default(), most.unwrap_or_default())),
    ];
    if understated > 0 {
        said.push(("understated", format!("{understated} tasks declare less than their size")));
    }
    said
}
