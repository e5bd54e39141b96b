//! Which DAGs logs are made into, where each line is known.

mod support;

use sched_distill_histories::spark::{JobResult, Locality, Wave};
use support::{Ended, Info, Outcome, adaptive, application, job, job_end, of_text};

#[test]
fn what_is_kept_is_what_was_written() -> Outcome {
    let app = of_text(&adaptive())?;
    assert_eq!(
        (app.name.as_deref(), app.id.as_deref(), app.user.as_deref()),
        (Some("test"), Some("local-1"), Some("me"))
    );
    assert_eq!((app.spark_version.as_deref(), app.start_ms, app.end_ms), (Some("3.5.3"), Some(1), Some(40)));
    assert_eq!(app.most_executors(), (1, 2));
    assert_eq!(app.sql_executions[0].description.as_deref(), Some("query 7"));
    let second = &app.jobs[1];
    assert_eq!((second.id, second.submission_ms, second.completion_ms), (1, Some(25), Some(32)));
    assert_eq!((&*second.stage_ids, second.sql_execution), (&[1, 2][..], Some(7)));
    assert_eq!(second.result, Some(JobResult::Succeeded));
    let stage = &app.stages[2];
    assert_eq!((stage.id, &*stage.name, stage.final_rdd), (2, "stage 2 at Test.scala:1", Some(9)));
    assert_eq!((stage.submission_ms, stage.completion_ms, stage.job), (Some(26), Some(31), Some(1)));
    assert!(stage.has_succeeded() && !app.stages[1].was_submitted);
    let task = app.tasks.iter().nth(1).ok_or("a second task")?;
    assert_eq!((task.id, task.index, task.duration_ms(), task.run_time_ms), (1, 1, 10, 9));
    assert_eq!((task.locality, task.is_shuffle_map), (Locality::Node, true));
    assert_eq!((app.reading.lines, app.reading.malformed, app.reading.tasks_started), (18, 0, 1));
    assert!(app.notes().is_empty());
    let totals = app.stage_totals()[&(0, 0)];
    assert_eq!((totals.num_tasks, totals.duration_sum_ms, totals.duration_max_ms), (2, 18, 10));
    assert_eq!(app.job_totals()[&0], totals);
    Ok(())
}

#[test]
fn a_stage_that_is_listed_again_is_the_one_that_ran() -> Outcome {
    let queries = of_text(&adaptive())?.queries();
    let [dag] = &*queries.jobs else { panic!("{} DAGs", queries.jobs.len()) };
    assert_eq!((&*dag.name, dag.sql_execution, &*dag.job_ids), ("query 7", Some(7), &[0, 1][..]));
    assert_eq!((dag.submission_ms, dag.completion_ms, dag.is_complete), (10, Some(32), true));
    assert_eq!(dag.stages.iter().map(|stage| (stage.id, stage.num_tasks)).collect::<Vec<_>>(), [(0, 2), (2, 1)]);
    assert_eq!((&*dag.edges, &*dag.assumed_edges), (&[[0, 1]][..], &[][..]));
    assert_eq!(
        (queries.rebuilding.skipped_stages, queries.rebuilding.matched_stages, queries.rebuilding.passed_stages),
        (1, 1, 0)
    );
    assert_eq!(dag.stages[0].durations().fresh, [8.0, 10.0]);
    assert_eq!(dag.stages[1].durations().first, [3.0]);
    let launches: Vec<Vec<_>> =
        dag.stages.iter().map(|stage| stage.runs.iter().map(|run| (run.launch_ms, run.wave)).collect()).collect();
    assert_eq!(launches, [vec![(12, Wave::Fresh); 2], vec![(27, Wave::First)]]);
    // The second stage is submitted at 26, the first one is completed at 23.
    assert_eq!((queries.rebuilding.submissions, queries.rebuilding.submissions_ms), (1, 3));
    assert!(queries.rebuilding.notes().is_empty());
    Ok(())
}

#[test]
fn what_leaves_no_edge_is_ordered_by_time_and_said_so() -> Outcome {
    // Two tables are broadcast at a time, then a third one that waits for nobody knows what, then the join.
    let stages = [Info(0, 0, &[], 1, 1), Info(1, 0, &[], 2, 1), Info(2, 0, &[], 3, 1), Info(3, 0, &[], 4, 1)];
    let times = [(10, 20), (11, 30), (31, 40), (41, 50)];
    let mut text = application();
    for ((stage, (from, to)), id) in stages.iter().zip(times).zip(0..) {
        text += &job(id, from, true, &[*stage]);
        text += &stage.submitted(from);
        text += &Ended::new(i64::from(id), id, 0, from, to).json();
        text += &(stage.completed(from, to, None) + &job_end(id, to));
    }
    let queries = of_text(&text)?.queries();
    assert_eq!(queries.jobs[0].edges, [] as [[u32; 2]; 0]);
    assert_eq!(queries.jobs[0].assumed_edges, [[0, 2], [1, 2], [2, 3]]);
    assert_eq!(queries.jobs[0].all_edges(), [[0, 2], [1, 2], [2, 3]]);
    // At 31 after 30, and at 41 after 40.
    assert_eq!((queries.rebuilding.submissions, queries.rebuilding.submissions_ms), (2, 2));
    assert!(
        queries.rebuilding.notes()[0].starts_with("3 edges in 1 jobs are assumed by time beside the 0"),
        "{:?}",
        queries.rebuilding.notes()
    );
    // Jobs of no query are DAGs of their own.
    let queries = of_text(&text.replace("spark.sql.execution.id", "x"))?.queries();
    assert_eq!(queries.jobs.iter().map(|dag| dag.assumed_edges.len()).collect::<Vec<_>>(), [0; 4]);
    assert_eq!(queries.jobs[3].name, "stage 3 at Test.scala:1");
    Ok(())
}

#[test]
fn what_a_parent_waited_for_is_not_assumed_again() -> Outcome {
    // A table is broadcast, then another one shuffled, then the result of both read in a third job, as adaptive execution has it.
    let [broadcast, shuffled] = [Info(0, 0, &[], 1, 1), Info(1, 0, &[], 2, 1)];
    let [again, last] = [Info(2, 0, &[], 2, 1), Info(3, 0, &[2], 3, 1)];
    let mut text = application();
    for (id, listed, stage, from) in
        [(0, &[broadcast][..], broadcast, 10), (1, &[shuffled], shuffled, 20), (2, &[again, last], last, 30)]
    {
        text += &job(id, from, true, listed);
        text += &stage.submitted(from);
        text += &Ended::new(i64::from(id), stage.0, 0, from, from + 9).json();
        text += &(stage.completed(from, from + 9, None) + &job_end(id, from + 9));
    }
    let queries = of_text(&text)?.queries();
    assert_eq!((&*queries.jobs[0].edges, &*queries.jobs[0].assumed_edges), (&[[1, 2]][..], &[[0, 1]][..]));
    Ok(())
}

#[test]
fn of_attempts_and_copies_the_first_success_counts() -> Outcome {
    let (first, second) = (Info(0, 0, &[], 1, 2), Info(0, 1, &[], 1, 1));
    let copy = Ended { is_speculative: true, ..Ended::new(3, 0, 0, 14, 19) };
    let text = [
        application(),
        job(0, 10, false, &[first]),
        first.submitted(11),
        // The copy is faster, the original ends all the same; of another task one copy is killed and one fails.
        copy.json(),
        Ended::new(0, 0, 0, 12, 20).json(),
        Ended { reason: "TaskKilled", ..Ended::new(1, 0, 1, 20, 21) }.json(),
        Ended { reason: "FetchFailed", ..Ended::new(2, 0, 1, 21, 25) }.json(),
        // That its output is lost is no run.
        Ended { reason: "Resubmitted", ..copy }.json(),
        first.completed(11, 25, Some("lost\\nmore")),
        second.submitted(26),
        Ended { stage: (0, 1), ..Ended::new(4, 0, 0, 27, 30) }.json(),
        second.completed(26, 31, None),
        job_end(0, 32),
    ]
    .concat();
    let app = of_text(&text)?;
    assert_eq!(app.stages[0].failure.as_deref(), Some("lost"));
    assert_eq!(app.stage_totals()[&(0, 0)].num_tasks, 4);
    let queries = app.queries();
    let [dag] = &*queries.jobs else { panic!("{} DAGs", queries.jobs.len()) };
    let stage = &dag.stages[0];
    assert_eq!((stage.num_tasks, stage.durations().len(), stage.attempts), (2, 2, 2));
    assert_eq!((stage.failed_tasks, stage.killed_tasks, stage.copies), (1, 1, 1));
    assert_eq!((stage.submission_ms, stage.completion_ms, stage.is_complete), (11, Some(31), true));
    assert_eq!((&*stage.durations().fresh, &*stage.durations().rest), (&[5.0][..], &[3.0][..]));
    let counts: Vec<_> = stage.runs.iter().map(|run| (run.launch_ms, run.counts)).collect();
    assert_eq!(counts, [(12, false), (14, true), (20, false), (21, false), (27, true)]);
    assert_eq!(dag.pool.as_deref(), Some("fair"));
    let notes = queries.rebuilding.notes();
    assert_eq!(notes[0], "1 stages ran in several attempts, all of which count");
    assert!(notes[1].contains("1 failed, 1 were killed, 1 were copies or repeated"), "{notes:?}");
    Ok(())
}

#[test]
fn parents_that_ran_nowhere_are_passed() -> Outcome {
    let stages = [Info(0, 0, &[], 1, 1), Info(1, 0, &[0], 2, 1), Info(2, 0, &[1], 3, 1), Info(3, 0, &[2, 0], 4, 1)];
    let [first, _, _, last] = stages;
    let text = [
        application(),
        job(0, 10, false, &stages),
        first.submitted(11),
        Ended::new(0, 0, 0, 12, 20).json(),
        first.completed(11, 20, None),
        last.submitted(21),
        Ended::new(1, 3, 0, 22, 30).json(),
        last.completed(21, 30, None),
        job_end(0, 32),
    ]
    .concat();
    let queries = of_text(&text)?.queries();
    assert_eq!(queries.jobs[0].edges, [[0, 1]]);
    assert_eq!(
        (queries.rebuilding.passed_stages, queries.rebuilding.skipped_stages, queries.rebuilding.matched_stages),
        (1, 2, 0)
    );
    assert!(queries.jobs[0].is_complete);
    Ok(())
}

#[test]
fn stages_that_have_only_tasks_ran() -> Outcome {
    let stages = [Info(0, 0, &[], 1, 1), Info(1, 0, &[0], 2, 1)];
    let tasks =
        [Ended::new(0, 0, 0, 12, 20).json(), Ended::new(1, 1, 0, 22, 30).json(), Ended::new(2, 9, 0, 22, 30).json()];
    let app = of_text(&(application() + &job(0, 10, false, &stages) + &tasks.concat()))?;
    let queries = app.queries();
    assert_eq!((queries.rebuilding.skipped_stages, queries.rebuilding.outside_runs, queries.jobs.len()), (0, 1, 1));
    assert_eq!(queries.jobs[0].edges, [[0, 1]]);
    assert_eq!(queries.jobs[0].stages[1].submission_ms, 22);
    assert!(!queries.jobs[0].is_complete);
    Ok(())
}

#[test]
fn edges_never_make_a_cycle() -> Outcome {
    // Each names the other as its parent, and itself.
    let stages = [Info(0, 0, &[1, 0], 1, 1), Info(1, 0, &[0, 1, 0], 2, 1)];
    let mut text = application() + &job(0, 10, false, &stages);
    for stage in stages {
        text += &(stage.submitted(11) + &Ended::new(0, stage.0, 0, 12, 20).json() + &stage.completed(11, 20, None));
    }
    let queries = of_text(&text)?.queries();
    assert_eq!(queries.jobs[0].edges, [[0, 1]]);
    assert_eq!(queries.rebuilding.odd_edges, 1);
    assert_eq!((queries.jobs[0].is_complete, queries.jobs[0].completion_ms), (false, None));
    Ok(())
}

#[test]
fn made_up_logs_take_no_quadratic_time_or_memory() -> Outcome {
    // Thousands of stages wait for thousands through one that ran nowhere.
    let n = 6000;
    let parents: Vec<u32> = (0..n).collect();
    let first: Vec<Info<'_>> = parents.iter().map(|&id| Info(id, 0, &[], id + 1, 1)).collect();
    let between = Info(n, 0, &parents, n + 1, 1);
    let last: Vec<Info<'_>> = (n + 1..2 * n).map(|id| Info(id, 0, &[6000], id + 1, 1)).collect();
    let mut text = application() + &job(0, 10, false, &[&first[..], &[between], &last].concat());
    for (stage, id) in first.iter().chain(&last).zip(0..) {
        text += &Ended::new(id, stage.0, 0, 10 + id, 11 + id).json();
    }
    let queries = of_text(&text)?.queries();
    assert!(queries.rebuilding.cut_searches > 1000 && queries.jobs[0].edges.len() <= 5_000_000);
    assert!(
        queries.rebuilding.notes().iter().any(|note| note.contains("not searched to the end")),
        "{:?}",
        queries.rebuilding.notes()
    );

    // Thousands of jobs of one query begin when thousands have ended.
    let mut text = application();
    for id in 0..2000 {
        let (stage, from_ms) = (Info(id, 0, &[], id + 1, 1), 10 + 100 * i64::from(id / 1000));
        text += &job(id, from_ms, true, &[stage]);
        text += &Ended::new(id.into(), id, 0, from_ms, from_ms + 50).json();
        text += &(stage.completed(from_ms, from_ms + 50, None) + &job_end(id, from_ms + 50));
    }
    let queries = of_text(&text)?.queries();
    assert_eq!((queries.rebuilding.unordered_jobs, queries.jobs[0].assumed_edges.len()), (1, 0));
    assert!(
        queries.rebuilding.notes().iter().any(|note| note.contains("too many edges would be assumed")),
        "{:?}",
        queries.rebuilding.notes()
    );
    Ok(())
}
