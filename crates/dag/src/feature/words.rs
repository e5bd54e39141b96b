//! What the `dag` scenario calls things in sentences for readers.

use sched_distill_core::level::{KindWords, LevelWords, Words, pairs};

/// Words for the kinds, levels and quantities of the `dag` scenario.
#[must_use]
pub fn words() -> Words {
    Words {
        kinds: vec![
            KindWords::new("affinity", "the job that freed the executors could keep them"),
            KindWords::new("free", "any job may get the executors"),
        ],
        levels: vec![job(), stage(), amount()],
        policies: pairs(&[
            ("random", "any job at random"),
            ("fifo", "first come, first served"),
            ("fair", "a fair share each, in order of arrival"),
            ("weighted-fair", "shares by the work that is left"),
            ("sjf", "least work left first"),
            ("sjf-cp", "least work left first, its longest chain first"),
            ("srpt-fair", "least work left first, up to a fair share each"),
        ]),
        edge_cases: pairs(&[
            ("giant", "one giant job shares the cluster"),
            ("bursts", "jobs arrive in bursts of ten"),
            ("wide", "jobs have many stages side by side"),
            ("chains", "jobs are long chains of stages"),
            ("long-tail", "half of a job's work is in its last few tasks"),
            ("double-rate", "jobs arrive twice as fast"),
            ("half-executors", "there are half as many executors"),
            ("mix", "small, large, wide and chained jobs mix"),
        ]),
        figures: pairs(&[("mean_jct_ms", "mean completion time")]),
    }
}

fn job() -> LevelWords {
    let quantities = [
        ["is_none", "giving nothing", "rather than give nothing", "less readily than give nothing"],
        [
            "is_source",
            "having freed the executors",
            "that did not free the executors",
            "that freed the executors itself",
        ],
        ["remaining_work", "work left", "with less work left", "with more work left"],
        ["remaining_tasks", "tasks left", "with fewer tasks left", "with more tasks left"],
        ["remaining_stages", "stages left", "with fewer stages left", "with more stages left"],
        [
            "critical_path",
            "work on its longest chain of stages",
            "with less work on its longest chain of stages",
            "with more work on its longest chain of stages",
        ],
        [
            "critical_path_tasks",
            "tasks on its longest chain of stages",
            "with fewer tasks on its longest chain of stages",
            "with more tasks on its longest chain of stages",
        ],
        [
            "smallest_ready_stage",
            "work in its smallest stage that can run",
            "with less work in its smallest stage that can run",
            "with more work in its smallest stage that can run",
        ],
        ["ready_work", "work that can run now", "with less work that can run now", "with more work that can run now"],
        [
            "ready_tasks",
            "tasks that can run now",
            "with fewer tasks that can run now",
            "with more tasks that can run now",
        ],
        [
            "ready_stages",
            "stages that can run now",
            "with fewer stages that can run now",
            "with more stages that can run now",
        ],
        ["executors_held", "executors held", "that holds fewer executors", "that holds more executors"],
        [
            "held_of_fair_share",
            "executors held, against a fair share",
            "that holds less against a fair share of the executors",
            "that holds more against a fair share of the executors",
        ],
        [
            "held_of_cluster",
            "share of the cluster held",
            "that holds fewer of the cluster's executors",
            "that holds more of the cluster's executors",
        ],
        ["running_tasks", "tasks running", "with fewer tasks running", "with more tasks running"],
        ["room", "executors it may get", "that may get fewer executors", "that may get more executors"],
        [
            "headroom",
            "executors its stages want",
            "whose stages want fewer executors",
            "whose stages want more executors",
        ],
        ["age", "time since it arrived", "that arrived later", "that arrived earlier"],
        ["arrival_order", "place by arrival", "that arrived earlier", "that arrived later"],
        [
            "progress",
            "share of its tasks launched",
            "with fewer of its tasks launched",
            "with more of its tasks launched",
        ],
        ["mean_task_duration", "length of its tasks", "with shorter tasks", "with longer tasks"],
        ["jobs_in_system", "jobs in the cluster", "among fewer jobs", "among more jobs"],
        ["offered", "executors on offer", "when fewer executors are on offer", "when more executors are on offer"],
        ["work_share", "share of all work left", "with less of all the work left", "with more of all the work left"],
    ];
    LevelWords::new(["job", "job", "prefers a job", "picks the job"], &quantities).ends(
        "is_source",
        "that did not free them",
        "that freed them",
    )
}

fn stage() -> LevelWords {
    let quantities = [
        ["remaining_tasks", "tasks left", "with fewer tasks left", "with more tasks left"],
        ["task_duration", "length of its tasks", "with shorter tasks", "with longer tasks"],
        ["remaining_work", "work left", "with less work left", "with more work left"],
        ["demand", "executors it wants", "that wants fewer executors", "that wants more executors"],
        ["descendants", "stages waiting for it", "with fewer stages waiting for it", "with more stages waiting for it"],
        [
            "descendants_work",
            "work in the stages waiting for it",
            "with less work waiting for it",
            "with more work waiting for it",
        ],
        [
            "critical_path",
            "work from it to the end of the job",
            "with less work from it to the end of the job",
            "with more work from it to the end of the job",
        ],
        [
            "critical_path_tasks",
            "tasks from it to the end of the job",
            "with fewer tasks from it to the end of the job",
            "with more tasks from it to the end of the job",
        ],
        [
            "depth",
            "stages before it",
            "with fewer stages in the chain before it",
            "with more stages in the chain before it",
        ],
        ["children", "children", "with fewer children", "with more children"],
        [
            "children_unlocked",
            "children that wait for it alone",
            "with fewer children that wait for it alone",
            "with more children that wait for it alone",
        ],
        [
            "unfinished_parents",
            "unfinished stages it waits for",
            "that waits for fewer unfinished stages",
            "that waits for more unfinished stages",
        ],
        ["executors_on_it", "executors on it", "with fewer executors on it", "with more executors on it"],
        ["running_tasks", "tasks running", "with fewer tasks running", "with more tasks running"],
        ["stage_order", "place in the job", "that comes earlier in the job", "that comes later in the job"],
        [
            "on_critical_path",
            "being on the longest chain",
            "off the job's longest chain of work",
            "on the job's longest chain of work",
        ],
        ["is_last", "being the last stage", "that is not the job's last", "that is the job's last"],
        ["work_of_job", "share of the job's work", "with less of the job's work", "with more of the job's work"],
        [
            "job_is_source",
            "its job having freed the executors",
            "of a job that did not free the executors",
            "of the job that freed the executors",
        ],
        [
            "job_executors_held",
            "executors its job holds",
            "of a job with fewer executors",
            "of a job with more executors",
        ],
        ["job_remaining_work", "work left in its job", "of a job with less work left", "of a job with more work left"],
        ["offered", "executors on offer", "when fewer executors are on offer", "when more executors are on offer"],
    ];
    LevelWords::new(["stage", "stage", "prefers a stage", "picks the stage"], &quantities).ends(
        "stage_order",
        "that comes first in the job",
        "that comes last in the job",
    )
}

fn amount() -> LevelWords {
    let quantities = [
        ["executors_given", "executors given", "fewer executors", "more executors"],
        [
            "amount_of_cap",
            "share of the executors allowed",
            "fewer of the executors allowed",
            "more of the executors allowed",
        ],
        [
            "amount_of_fair_share",
            "executors given, against a fair share",
            "fewer executors against a fair share",
            "more executors against a fair share",
        ],
        [
            "held_after_of_fair_share",
            "executors held then, against a fair share",
            "so few that its job holds less against a fair share",
            "so many that its job holds more against a fair share",
        ],
        [
            "amount_of_demand",
            "share of what the stage wants",
            "less of what the stage wants",
            "more of what the stage wants",
        ],
        [
            "amount_of_tasks",
            "executors for each task left",
            "fewer executors for each task left",
            "more executors for each task left",
        ],
        ["offered", "executors on offer", "", ""],
        ["job_is_source", "its job having freed the executors", "", ""],
        ["job_executors_held", "executors its job holds", "", ""],
        ["fair_share", "executors in a fair share", "", ""],
        ["stage_demand", "executors the stage wants", "", ""],
        ["job_remaining_tasks", "tasks left in its job", "", ""],
        ["job_remaining_work", "work left in its job", "", ""],
        ["jobs_in_system", "jobs in the cluster", "", ""],
        ["ready_stages", "stages that can run now", "", ""],
        ["executors_free", "share of the executors that is free", "", ""],
        ["executors_moving", "share of the executors on their way to a job", "", ""],
        ["utilisation", "share of the executors at work", "", ""],
        ["outstanding_work", "work left in all jobs", "", ""],
        ["work_spread", "spread of the work left in jobs", "", ""],
        ["arrival_rate", "rate at which jobs arrive", "", ""],
    ];
    let few = "a single executor";
    let all = "as many executors as allowed";
    LevelWords::new(["amount", "amount", "gives", "gives"], &quantities)
        .ends("executors_given", few, all)
        .ends("amount_of_cap", few, all)
        .ends("amount_of_fair_share", few, all)
        .ends("held_after_of_fair_share", few, all)
        .ends("amount_of_demand", few, all)
        .ends("amount_of_tasks", few, all)
}

#[cfg(all(test, feature = "simulate"))]
mod tests {
    use super::*;

    #[test]
    fn policies_and_edge_cases_have_words_and_no_others_do() {
        let words = words();
        let heuristics = crate::policies::POLICIES
            .iter()
            .map(|p| p.info)
            .filter(|p| p.sort == sched_distill_core::policy::Sort::Heuristic);
        let named: Vec<&str> = words.policies.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(named, heuristics.map(|p| p.name).collect::<Vec<_>>());
        let named: Vec<&str> = words.edge_cases.iter().map(|(name, _)| name.as_str()).collect();
        assert!(named.into_iter().eq(crate::workload::EDGE_CASES.iter().map(|(name, _)| *name)));
    }
}
