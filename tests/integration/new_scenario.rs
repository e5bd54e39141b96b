//! A scenario that the crates know nothing of goes all the way: recorded, distilled, measured by its own figure,
//! explained, reported, searched for a better student, and served by networks of others.

#[path = "../../examples/new_scenario.rs"]
#[allow(dead_code)]
mod example;

pub(crate) use example::{MACHINE, Machine};

use sched_distill::{
    augment::AugmentParams,
    distiller::{LoopSettings, Weighting},
    evaluator::Role,
    pipeline::{
        AnyScenario, AugmentRequest, Caller, CheckParams, ClosedLoopParams, Contender, EvaluateParams, ExplainParams,
        FitPlan, Gates, LoopParams, RecordParams, RunDir, Visit, evaluate, explain, fit, known_rules, report,
    },
    registry,
    rng::Split,
    scenario::{Said, Scenario as _},
    simulation::{Simulated as _, Simulation as _},
    trace::{Shard, Trace},
};
use std::{error::Error, ops::ControlFlow, path::Path, sync::atomic::AtomicBool};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

static STOP: AtomicBool = AtomicBool::new(false);

const CALLER: Caller<'static> = Caller { watch: &(), stop: &STOP };

fn record(scenario: &dyn AnyScenario, policy: &str, split: Split, episodes: u32, dir: &Path) -> Outcome<Trace> {
    let params = RecordParams {
        policy: policy.into(),
        teacher: None,
        workload: "builtin".into(),
        seed: 1,
        split,
        first_episode: 0,
        episodes,
        shard: Shard::WHOLE,
        force: false,
        dir: dir.join(split.name()),
    };
    scenario.record(&params, CALLER)?;
    Ok(Trace::open(&params.dir)?)
}

#[test]
fn another_scenario_is_one_more_entry() -> Outcome {
    let dir = tempfile::tempdir()?;
    let dir = dir.path();
    let registry = registry::all().with(&MACHINE);
    assert_eq!(registry.names(), ["dag", "training", "deadlines", "preemption", "serving", "machine"]);
    let scenario = registry.find("machine").unwrap();
    let train = record(scenario, scenario.teacher(), Split::Train, 30, dir)?;
    let test = record(scenario, scenario.teacher(), Split::Test, 10, dir)?;
    assert!(known_rules(&test, Some(scenario.info()), &[])?.len() == 3, "the scenario's own rules");

    let student = fit((&train).into(), None, &FitPlan::default(), CALLER)?.student;
    let visit = Visit { scenario: Some(scenario), seed: 1, command: "test" };
    let run = RunDir::enter(dir, &student, [&train, &test], visit)?;
    let closed_loop = ClosedLoopParams {
        teacher: scenario.teacher().into(),
        student: "student".into(),
        beside: None,
        others: scenario.baselines().iter().map(|id| Contender::named(id)).collect(),
        workloads: vec!["builtin".into()],
        split: Split::Test,
        episodes: 40.into(),
    };
    let params = EvaluateParams { trace: Some(&test), closed_loop: Some(closed_loop), seed: 1, ..Default::default() };
    let evaluated = evaluate(Some(scenario), &student, &params, &mut |_| ControlFlow::Continue(()), CALLER)?;
    let compared = evaluated.evaluation.closed_loop.as_ref().unwrap();
    assert_eq!(compared.objective().name, "on_time");
    // More is better here, and differences are compared: the student is as good as its teacher, whose rule it has found, and
    // ahead of the earliest deadline.
    let to = |baseline: &str| compared.paired("student", baseline).unwrap().value;
    assert!((-0.01..=0.01).contains(&to(scenario.teacher())), "{}", to(scenario.teacher()));
    assert!(to("edf") > 0.2, "{}", to("edf"));
    let gates = |objective| Gates { fidelity: None, objective: Some(objective) };
    assert_eq!(gates(-0.2).missed(&evaluated.evaluation), [""; 0]);
    assert!(gates(0.05).missed(&evaluated.evaluation)[0].contains("share on time − teacher"));
    let top1 = |role| {
        let rows = evaluated.evaluation.fidelity.iter().filter(|r| r.role == role && r.kind == "some-late");
        rows.map(|r| r.top1.value).fold(0.0, f64::max)
    };
    assert!(top1(Role::Student) > top1(Role::Heuristic), "{} {}", top1(Role::Student), top1(Role::Heuristic));
    run.write_evaluation(&evaluated)?;

    let params =
        ExplainParams { scenario: Some(scenario.info()), choices: 300, decisions: 20, seed: 1, ..Default::default() };
    let explained = explain(&student, &test, &params, CALLER)?;
    run.write_explanation(&explained)?;
    let written = report(dir, &dir.join("report"))?;
    let page = std::fs::read_to_string(written.page)?;
    assert!(page.contains("share on time") && !page.contains("JCT"), "the page speaks of the scenario's own figure");
    Ok(())
}

#[test]
fn searches_and_loops_go_by_its_own_figure() -> Outcome {
    let dir = tempfile::tempdir()?;
    let registry = registry::all().with(&MACHINE);
    let scenario = registry.find("machine").unwrap();
    let train = record(scenario, "edf", Split::Train, 10, dir.path())?;
    let student = fit((&train).into(), None, &FitPlan::default(), CALLER)?.student;
    let request = AugmentRequest {
        search: AugmentParams {
            budget: 600,
            validation: 20,
            polish: 0.3,
            min_agreement: 0.0,
            ..AugmentParams::default()
        },
        workloads: vec!["builtin".into()],
        others: Vec::new(),
        episodes: 40,
        trace: None,
        under_attack: None,
        seed: 1,
        dir: dir.path().join("augment"),
        force: false,
    };
    std::fs::create_dir(&request.dir)?;
    let found = scenario.augment(&student, &request, &mut (), CALLER)?;
    assert!(found.student.guards.iter().any(|guard| guard.to_string().contains("late")), "{:?}", found.student.guards);
    let gain = found.closed_loops[0].paired("augmented", "before").unwrap();
    assert!(gain.low > 0.1, "{gain:?}");

    let params = LoopParams {
        teacher: "moore,temperature=0.2".into(),
        workload: "builtin".into(),
        settings: LoopSettings {
            seed: 1,
            iterations: 1,
            episodes: 5,
            validation_episodes: 10,
            beta: 0.0,
            weighting: Weighting::Even,
            fit: Default::default(),
        },
        dir: dir.path().join("loop"),
        force: false,
    };
    let result = scenario.run_loop(&params, &mut |_| {}, CALLER)?;
    let best = &result.iterations[result.best as usize];
    let of = |i: usize| result.iterations[i].to_teacher.unwrap().value;
    assert_eq!(best.to_teacher.unwrap().value, of(0).max(of(1)), "more is better");
    Ok(())
}

/// Costs add up to the jobs that are not on time, whatever is decided.
#[test]
fn its_cost_is_its_objective() {
    let workload = Machine::open_workload(&"builtin,jobs=40".parse().unwrap()).unwrap();
    for name in ["edf", "fifo", "moore"] {
        let mut policy = (MACHINE.open)(&name.parse().unwrap()).unwrap();
        let mut run = Machine::start(&workload, workload.jobs(3), 3);
        let (mut cost, mut since) = (0.0, 0.0);
        while let Some(seen) = run.view() {
            let now = Machine::time_ms(&seen);
            cost += run.cost(since, now);
            since = now;
            let job = policy.decide(&seen, &mut Said::default()).unwrap();
            assert!(run.check(1000).is_err());
            run.step(job).unwrap();
        }
        let outcome = run.outcome().unwrap();
        cost += run.cost(since, f64::INFINITY);
        let late = 40.0 * (1.0 - outcome.objective().unwrap());
        assert!((cost - late).abs() < 1e-9, "{name}: {cost} and {late}");
    }
}

/// The least slack goes first.
const SCRIPT: &str = r#"
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        assert message["scenario"] == "machine" and list(message["columns"]) == ["job"]
        slack = message["columns"]["job"].index("slack")
        print('{"protocol": 1}', flush=True)
    elif message["type"] == "question":
        print(json.dumps({"job_scores": [-job[slack] / 6e4 for job in message["job"]]}), flush=True)
"#;

#[test]
#[cfg_attr(not(python), ignore = "needs python3")]
fn networks_of_others_serve_for_it() -> Outcome {
    let dir = tempfile::tempdir()?;
    let script = dir.path().join("policy.py");
    std::fs::write(&script, SCRIPT)?;
    let policy = format!("script:python3 {}", script.display());
    let params = |policy: &str| CheckParams {
        policy: policy.into(),
        against: None,
        workloads: Vec::new(),
        seed: 1,
        episodes: 1,
        decisions: 60,
    };
    let checked = MACHINE.check_policy(&params(&policy), CALLER)?;
    assert_eq!(checked.workloads, ["builtin"]);
    assert!(checked.found.passed() && checked.found.decisions == 60, "{checked:?}");
    let trace = record(&MACHINE, &format!("{policy},mode=sample"), Split::Train, 2, dir.path())?;
    assert!(trace.rows_of("job") > 100);
    for own in ["moore", "moore,temperature=0.2"] {
        let found = MACHINE.check_policy(&params(own), CALLER)?.found;
        assert!(found.passed(), "{own}: {found:?}");
    }
    Ok(())
}
