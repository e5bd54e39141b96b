//! What jobs are like, in a few words.

use super::JobArrival;

/// Stages, edges, tasks and durations of jobs, in words.
pub(crate) fn shapes(jobs: &[JobArrival]) -> Vec<(&'static str, String)> {
    let graphs = || jobs.iter().map(|job| job.template.graph());
    let stages: Vec<f64> = graphs().map(|graph| graph.stages().len() as f64).collect();
    let edges: Vec<f64> = graphs().map(|graph| graph.edges().count() as f64).collect();
    let tasks: Vec<f64> = jobs.iter().map(|job| job.template.tasks() as f64).collect();
    let single = stages.iter().filter(|&&n| n == 1.0).count();
    let share = 100.0 * single as f64 / jobs.len().max(1) as f64;
    let means = jobs.iter().flat_map(|job| job.template.tables()).map(|table| table.mean() / 1e3).collect();
    vec![
        ("stages", format!("{}; {share:.0} % of the jobs have one", spread(stages))),
        ("edges", spread(edges)),
        ("tasks", spread(tasks)),
        ("s a task", spread_of(means, 2)),
    ]
}

/// A sum, with what is usual.
fn spread(of: Vec<f64>) -> String {
    let sum: f64 = of.iter().sum();
    format!("{sum:.0}: {}", spread_of(of, 0))
}

fn spread_of(mut of: Vec<f64>, decimals: usize) -> String {
    of.sort_by(f64::total_cmp);
    let median = of.get(of.len() / 2).copied().unwrap_or_default();
    let most = of.last().copied().unwrap_or_default();
    format!("median {median:.decimals$}, at most {most:.decimals$}")
}
