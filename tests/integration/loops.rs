//! Loops that go back to the simulator: the same bytes for any number of threads, and after interruptions.

use crate::common::files;
use sched_distill::{
    dag::Dag,
    distiller::{FitParams, LoopError, LoopPlan, LoopResult, LoopSettings, Weighting, run_loop},
    recorder::{LabelledRollouts, Progress, RecordError},
    registry::Registered as _,
    trace::{WhatIf, inspect},
};
use std::{
    error::Error,
    path::Path,
    sync::atomic::{AtomicBool, AtomicU32, Ordering},
};

type Outcome = Result<(), Box<dyn Error>>;

const TEACHER: &str = "srpt-fair,temperature=0.5,mode=sample";
const WORKLOAD: &str = "builtin,jobs=4,executors=4,rate=1e-4";

/// Stops the run after some episodes.
struct Patience<'a> {
    episodes: AtomicU32,
    stop: &'a AtomicBool,
}

impl Progress for Patience<'_> {
    fn episode(&self, _decisions: u64) {
        if self.episodes.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}

/// Runs a loop that is interrupted after some episodes.
fn run(dir: &Path, weighting: Weighting, seed: u64, force: bool, episodes: u32) -> Result<LoopResult, Box<dyn Error>> {
    let (teacher, workload) = (Dag::open(&TEACHER.parse()?)?, sched_distill::dag::workload::open(&WORKLOAD.parse()?)?);
    let stop = AtomicBool::new(false);
    let rollouts = LabelledRollouts {
        teacher_id: TEACHER,
        teacher: &*teacher,
        workload_id: WORKLOAD,
        workload: &workload,
        seed,
        progress: &Patience { episodes: AtomicU32::new(episodes), stop: &stop },
        stop: &stop,
    };
    let (teacher, workload) = rollouts.sources()?;
    let settings = LoopSettings {
        seed,
        iterations: 2,
        episodes: 6,
        validation_episodes: 5,
        beta: 0.5,
        weighting,
        fit: FitParams { max_leaf_nodes: 6, min_samples_leaf: 5, ..FitParams::default() },
    };
    let plan = LoopPlan { format_version: 1, teacher, workload, settings };
    let mut seen = Vec::new();
    let result = run_loop(dir, &plan, &rollouts, force, &mut |r| seen.push(r.clone()))?;
    assert_eq!(result.iterations, seen);
    Ok(result)
}

#[test]
fn threads_and_interruptions_do_not_change_a_loop() -> Outcome {
    for weighting in [Weighting::Even, Weighting::Gap, Weighting::Regret(WhatIf { states: 20, horizon_ms: 2e5 })] {
        let dir = tempfile::tempdir()?;
        let (one, two, resumed) = (dir.path().join("one"), dir.path().join("two"), dir.path().join("resumed"));
        let threads = |n| rayon::ThreadPoolBuilder::new().num_threads(n).build();
        let text = |e: Box<dyn Error>| e.to_string();
        let whole = threads(1)?.install(|| run(&one, weighting, 3, false, u32::MAX).map_err(text))?;
        threads(2)?.install(|| run(&two, weighting, 3, false, u32::MAX).map_err(text))?;
        assert!(files(&one) == files(&two), "{weighting:?}");
        // Each attempt ends after nine episodes at most; parts have four.
        let mut attempts = 0;
        let result = loop {
            attempts += 1;
            match run(&resumed, weighting, 3, false, 9) {
                Ok(result) => break result,
                Err(error) => match error.downcast::<LoopError<RecordError>>()?.as_ref() {
                    LoopError::Rollouts(RecordError::Interrupted) if attempts < 50 => {}
                    other => return Err(other.to_string().into()),
                },
            }
        };
        assert!(attempts > 3);
        assert_eq!(result, whole);
        assert!(files(&one) == files(&resumed), "{weighting:?}: after {attempts} attempts");

        assert_eq!(whole.iterations.iter().map(|r| r.teacher_episodes).collect::<Vec<_>>(), [6, 3, 1]);
        let last = &whole.iterations[2];
        assert_eq!(last.differing.is_some(), matches!(weighting, Weighting::Regret(_)));
        assert!(last.to_teacher.is_some() && last.on_own_states.iter().any(|r| r.level == "amount"));
        for trace in ["teacher-validation", "iteration-0/train", "iteration-2/train", "iteration-1/validation"] {
            assert_eq!(inspect(&one.join(trace)).problem_count, 0, "{trace}");
        }
    }
    Ok(())
}

#[test]
fn other_arguments_and_other_directories_are_refused() -> Outcome {
    let dir = tempfile::tempdir()?;
    let own = dir.path().join("loop");
    run(&own, Weighting::Even, 3, false, u32::MAX)?;
    let before = files(&own);
    let said = run(&own, Weighting::Even, 4, false, u32::MAX).unwrap_err().to_string();
    assert!(said.contains("`seed` is 3 there and 4 now") && said.contains("remove it to begin anew"), "{said}");
    assert!(files(&own) == before);
    std::fs::write(own.join("notes.txt"), "mine")?;
    run(&own, Weighting::Even, 4, true, u32::MAX)?;
    let mut after = files(&own);
    assert!(after.remove("notes.txt").is_some());
    assert!(after != before);
    run(&own, Weighting::Even, 3, true, u32::MAX)?;
    after = files(&own);
    after.remove("notes.txt");
    assert!(after == before);

    std::fs::create_dir(dir.path().join("other"))?;
    std::fs::write(dir.path().join("other/thesis.tex"), "mine")?;
    for force in [false, true] {
        let said = run(&dir.path().join("other"), Weighting::Even, 3, force, 1).unwrap_err().to_string();
        assert!(said.contains("is not a loop") && said.contains("thesis.tex"), "{said}");
    }
    Ok(())
}
