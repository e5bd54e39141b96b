//! From a recording to a report as a library: what `distill record`, `fit`, `evaluate`, `explain` and `report` do.
//!
//! ```sh
//! cargo run --release --example pipeline -- runs/pipeline
//! ```

use sched_distill::{
    pipeline::{
        Caller, ClosedLoopParams, Contender, EvaluateParams, ExplainParams, FitPlan, RecordParams, RunDir, Visit,
        evaluate, explain, fit, report,
    },
    registry,
    rng::Split,
    trace::{Shard, Trace},
};
use std::{error::Error, ops::ControlFlow::Continue, path::PathBuf, sync::atomic::AtomicBool};

const WORKLOAD: &str = "builtin,jobs=20";

fn main() -> Result<(), Box<dyn Error>> {
    let dir = PathBuf::from(std::env::args().nth(1).ok_or("give a folder for the run")?);
    // `()` watches in silence; a progress bar is another `Watch`. Setting the flag ends the step at hand.
    let caller = Caller { watch: &(), stop: &AtomicBool::new(false) };
    let registry = registry::all();
    let scenario = registry.find("dag").ok_or("no such scenario")?;

    let record = |split: Split, episodes| -> Result<Trace, Box<dyn Error>> {
        let (policy, workload, dir) = (scenario.teacher().into(), WORKLOAD.into(), dir.join(split.name()));
        let shard = Shard::WHOLE;
        let (teacher, first_episode, force) = (None, 0, false);
        let params =
            RecordParams { policy, teacher, workload, seed: 1, split, first_episode, episodes, shard, force, dir };
        scenario.record(&params, caller)?;
        Ok(Trace::open(&params.dir)?)
    };
    let (train, test) = (record(Split::Train, 10)?, record(Split::Test, 5)?);

    let student = fit((&train).into(), None, &FitPlan::default(), caller)?.student;
    let visit = Visit { scenario: Some(scenario), seed: 1, command: "cargo run --example pipeline" };
    let run = RunDir::enter(&dir, &student, [&train, &test], visit)?;

    let closed_loop = ClosedLoopParams {
        teacher: scenario.teacher().into(),
        student: "student".into(),
        beside: None,
        others: scenario.baselines().iter().map(|id| Contender::named(id)).collect(),
        workloads: vec![WORKLOAD.into()],
        split: Split::Test,
        episodes: 10.into(),
    };
    let params = EvaluateParams { trace: Some(&test), closed_loop: Some(closed_loop), seed: 1, ..Default::default() };
    run.write_evaluation(&evaluate(Some(scenario), &student, &params, &mut |_| Continue(()), caller)?)?;

    let info = Some(scenario.info());
    let params = ExplainParams { scenario: info, choices: 500, decisions: 60, seed: 1, ..Default::default() };
    let explained = explain(&student, &test, &params, caller)?;
    run.write_explanation(&explained)?;

    println!("{}", report(&dir, &dir.join("report"))?.page.display());
    Ok(())
}
