//! Scenarios that schedulers of others see level by level: one contract, made of the features, for all of them.

#[cfg(feature = "toolkit")]
use super::agreement::check;
use super::{Tested, network::product, network::tanh, network::weights, open, refused_in};
use sched_distill::{
    contract::{Dtype, Inputs, Scores, Size},
    deadlines::Deadlines,
    foreign::{ForeignError, ForeignPolicy, Network},
    preemption::Preemption,
    scenario::{Questions as _, Scenario},
    serving::Serving,
    simulation::Simulation as _,
};
use std::{marker::PhantomData, path::Path};

const NETWORK: &str = "network_levels.py";
const EXAMPLE: &str = "script_policy_levels.py";

impl Tested for Deadlines {
    const ARGS: &'static [&'static str] = &["--scenario", "deadlines"];
    const NETWORK: &'static str = NETWORK;
    const EXAMPLE: &'static str = EXAMPLE;
    const WORKLOAD: &'static str = "builtin,jobs=6,node-cores=8";
}

impl Tested for Preemption {
    const ARGS: &'static [&'static str] = &["--scenario", "preemption"];
    const NETWORK: &'static str = NETWORK;
    const EXAMPLE: &'static str = EXAMPLE;
    const WORKLOAD: &'static str = "builtin,jobs=30,nodes=2,load=3";
}

impl Tested for Serving {
    const ARGS: &'static [&'static str] = &["--scenario", "serving"];
    const NETWORK: &'static str = NETWORK;
    const EXAMPLE: &'static str = EXAMPLE;
    const WORKLOAD: &'static str = "builtin,seconds=0.1";
}

/// Levels by name with their numbers of columns.
fn levels<S: Scenario>() -> impl Iterator<Item = (&'static str, usize)> {
    (S::INFO.feature_set)().levels.iter().map(|level| (level.name.as_str(), level.features.len()))
}

/// The first layer of a level, and the last one.
fn layers(columns: usize) -> [Vec<f32>; 2] {
    let first = weights(columns, columns, super::network::WIDTH).iter().map(|w| w / 16.0).collect();
    [first, weights(columns + 1, super::network::WIDTH, 1)]
}

/// A network that scores every candidate by itself; in Python it is `network_levels.py`.
struct Small<S>(PhantomData<S>);

impl<S: Scenario> Network for Small<S> {
    fn name(&self) -> String {
        "small".to_owned()
    }

    fn fresh(&self) -> Box<dyn Network> {
        Box::new(Self(PhantomData))
    }

    fn scores(&mut self, inputs: &Inputs, out: &mut Scores) -> Result<(), ForeignError> {
        for (level, columns) in levels::<S>() {
            let [first, last] = layers(columns);
            let output = out.output(&format!("{level}_scores"));
            for row in inputs.floats(level).chunks(columns) {
                let logs: Vec<f32> = row.iter().map(|x| x.abs().ln_1p()).collect();
                output.values.push(2.0 * product(&tanh(&[&product(&logs, &first)]), &last)[0]);
            }
            output.shape.push(output.values.len());
        }
        Ok(())
    }
}

/// The same as an ONNX file.
#[cfg(feature = "onnx")]
fn onnx<S: Tested>() -> Vec<u8> {
    use super::onnx_file::{Flaw, floats, input, ints, model, node, value};
    let (mut operators, mut constants, mut outputs) = (Vec::new(), Vec::new(), Vec::new());
    constants.push(floats("one", &[], &[1.0]));
    constants.push(ints("axis_1", &[1], &[1]));
    for (level, columns) in levels::<S>() {
        let [first, last] = layers(columns);
        let named = |part: &str| format!("{level}_{part}");
        let mut then = |operator: &str, from: &[&str], to: &str| operators.push(node(operator, from, &named(to)));
        then("Abs", &[level], "abs");
        then("Add", &[&named("abs"), "one"], "1");
        then("Log", &[&named("1")], "log");
        then("MatMul", &[&named("log"), &named("first")], "sum");
        then("Tanh", &[&named("sum")], "h");
        then("MatMul", &[&named("h"), &named("last")], "column");
        then("Squeeze", &[&named("column"), "axis_1"], "scores");
        constants.push(floats(&named("first"), &[columns, super::network::WIDTH], &first));
        let last: Vec<f32> = last.iter().map(|w| 2.0 * w).collect();
        constants.push(floats(&named("last"), &[super::network::WIDTH, 1], &last));
        outputs.push(value(&named("scores"), 1, &[level]));
    }
    let contract = S::contract();
    let tables = contract.inputs.iter().filter(|input| !input.columns.is_empty());
    model(operators, constants, tables.map(|table| input(contract, table, Flaw::None)).collect(), outputs)
}

/// The same as the source of a TorchScript file.
#[cfg(feature = "torch")]
fn torchscript<S: Tested>() -> String {
    use super::torchscript_file::{argument, list, module};
    let mut lines = Vec::new();
    for (level, columns) in levels::<S>() {
        let [first, last] = layers(columns);
        let (first, last) = (list(&first, super::network::WIDTH, 1.0), list(&last, 1, 2.0));
        let rows = argument(level);
        lines.push(format!("{level}_h = torch.tanh(torch.matmul(torch.log1p(torch.abs({rows})), {first}))"));
        lines.push(format!("{level}_scores = torch.squeeze(torch.matmul({level}_h, {last}), 1)"));
    }
    let names: Vec<String> = levels::<S>().map(|(level, _)| format!("{level}_scores")).collect();
    lines.push(format!("return ({})", names.join(", ")));
    module(S::contract(), &format!("Tuple[{}]", vec!["Tensor"; names.len()].join(", ")), &lines)
}

/// Every kind of network does as the formulas do, and keeps the contract.
#[cfg(feature = "toolkit")]
fn agree<S: Tested>(dir: &Path) {
    let mut specs = Vec::new();
    if cfg!(python) {
        specs.push(super::python_of::<S>(""));
    }
    #[cfg(feature = "onnx")]
    {
        let path = dir.join(format!("{}.onnx", S::INFO.name));
        std::fs::write(&path, onnx::<S>()).unwrap();
        assert!(sched_distill::foreign::OnnxNetwork::load(&path, S::contract()).unwrap().is_general());
        specs.push(format!("onnx:{}", path.display()));
    }
    #[cfg(feature = "torch")]
    {
        let path = dir.join(format!("{}.pt", S::INFO.name));
        super::torchscript_file::write(&path, &torchscript::<S>());
        specs.push(format!("torchscript:{}", path.display()));
    }
    let _ = dir;
    for spec in specs {
        for (mode, sample) in [("", false), (",mode=sample", true)] {
            // What is ruled out because it would strand the cluster depends on what is drawn: both draw.
            let by_formula = ForeignPolicy::<S>::new(Box::new(Small::<S>(PhantomData)), sample);
            let found = check(&*open::<S>(&format!("{spec}{mode}")).unwrap(), &by_formula, 30);
            assert!(found.passed(), "{spec}{mode}: {found:?}");
            let concordance = found.concordance.as_ref().unwrap();
            assert!(concordance.holds(1e-5) && concordance.questions > 100, "{spec}{mode}: {concordance:?}");
            assert!(concordance.log_probs.iter().all(|(_, apart)| apart.is_some()), "{spec}{mode}: {concordance:?}");
        }
    }
}

#[test]
#[cfg(feature = "toolkit")]
fn every_kind_of_network_decides_as_the_formulas_do() {
    let dir = tempfile::tempdir().unwrap();
    agree::<Deadlines>(dir.path());
    agree::<Preemption>(dir.path());
    agree::<Serving>(dir.path());
}

/// Tables hold the rows of all choices, and where each begins.
fn reads<S: Tested>() {
    use sched_distill::contract::Tables as _;
    let contract = S::contract();
    assert!(std::ptr::eq(contract, S::contract()), "it is made once");
    assert_eq!(contract.scenario, Some(S::INFO.name));
    for (level, input) in contract.inputs.iter().filter(|input| input.dtype == Dtype::F32).enumerate() {
        let spec = &(S::INFO.feature_set)().levels[level];
        let columns = input.columns.iter().map(|column| (column.name, column.unit, column.meaning));
        assert!(columns.eq(spec.features.iter().map(|f| (f.name.as_str(), f.unit.as_str(), f.meaning.as_str()))));
        assert_eq!((input.name, input.shape), (spec.name.as_str(), &[Size::Of(level), Size::Columns][..]));
    }
    let workload = S::open_workload(&S::WORKLOAD.parse().unwrap()).unwrap();
    let mut policy = S::open(&S::entry().baselines[0].parse().unwrap()).unwrap();
    let (mut sim, mut tables, mut inputs) =
        (S::start(&workload, workload.jobs(1), 1), S::Tables::default(), Inputs::new(contract));
    let (mut questions, mut deepest) = (S::Questions::default(), 0);
    while let Some(seen) = sim.view() {
        inputs.clear();
        tables.read(&seen, &mut inputs);
        assert!(inputs.are_whole());
        questions.update(&seen);
        // Level by level, a choice after the other.
        let mut paths = vec![Vec::new()];
        for (level, (name, _)) in levels::<S>().enumerate() {
            let (mut rows, mut ends, mut below) = (Vec::new(), vec![0], Vec::new());
            for path in &paths {
                let count = questions.rows(&seen, path, false, &mut rows);
                ends.push(ends[ends.len() - 1] + count as i64);
                below.extend((0..count).map(|candidate| [&path[..], &[candidate]].concat()));
            }
            assert_eq!((inputs.floats(name), inputs.size(name)), (&rows[..], below.len()));
            if level > 0 {
                assert_eq!(inputs.integers(&format!("{name}_ptr")), ends);
            }
            deepest = deepest.max(if below.is_empty() { 0 } else { level });
            paths = below;
        }
        let decision = policy.decide(&seen, &mut Default::default()).unwrap();
        sim.step(decision).unwrap();
    }
    assert_eq!(deepest + 1, (S::INFO.feature_set)().levels.len());
}

#[test]
fn tables_hold_the_rows_of_all_choices() {
    reads::<Deadlines>();
    reads::<Preemption>();
    reads::<Serving>();
}

#[test]
#[cfg_attr(not(python), ignore = "needs python3")]
fn what_is_no_answer_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("wrong.py");
    for (scores, words) in [
        ("{'application_scores': [0.0], 'task_scores': [0.0]}", &["application_scores of shape (1); it must be ("][..]),
        (
            "{'application_scores': [None] * len(message['application']), 'task_scores': [0.0] * len(message['task'])}",
            &["application_scores[0] is NaN; all scores must be finite"],
        ),
        ("{'application_scores': [0.0]}", &["there are no `task_scores`"]),
        ("{'scores': [0.0]}", &["it may have id, application_scores, task_scores and error, and no other key"]),
    ] {
        let script = format!(
            "import json, sys\nfor line in sys.stdin:\n    message = json.loads(line)\n    if message['type'] == 'hello':\n        \
             print('{{\"protocol\": 1}}', flush=True)\n    elif message['type'] == 'question':\n        \
             print(json.dumps({scores}), flush=True)\n"
        );
        std::fs::write(&path, script).unwrap();
        refused_in::<Serving>(&format!("script:python3 {}", path.display()), words);
    }
}
