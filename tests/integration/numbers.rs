//! Numbers of workloads, of any size: whatever they are, a workload is refused in words, or its episodes end, and soon.

use crate::{
    other_numbers::{each_with_other_numbers, limited, seed, until_the_time_is_over},
    random_scorer::random_scorer,
};
use sched_distill::{
    dag::Dag,
    deadlines::Deadlines,
    policy::{Policy, Sort},
    preemption::Preemption,
    registry::Registered,
    rng::Stream,
    scenario::Said,
    serving::Serving,
    simulation::{Outcome, Simulation as _, Workload},
    training::Training,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

/// Episodes that need more events are not run here: unoptimised programs are slow.
const FEW: f64 = 1000.0;

/// What became of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    Refused,
    NotRun,
    Ended,
    Stalled,
}

/// A scenario with policies that decide in it by turns.
struct Ground<S: Registered> {
    policies: Vec<(String, Box<dyn Policy<S>>)>,
    turn: usize,
}

impl<S: Registered> Ground<S> {
    /// The heuristics, and one that decides at random, by a network of random weights.
    fn new(dir: &Path) -> Self {
        let entry = S::entry();
        let path = dir.join(format!("{}.safetensors", S::INFO.name));
        fs::write(&path, random_scorer((S::INFO.feature_set)(), 1).to_safetensors().unwrap()).unwrap();
        let heuristics =
            (entry.policies)().into_iter().filter(|p| p.sort == Sort::Heuristic).map(|p| p.name.to_owned());
        let random = format!("scorer:{},mode=sample", path.display());
        let names = heuristics.chain([random.clone(), random]);
        let policies: Vec<_> = names.filter_map(|name| entry.policy(&name).ok().map(|policy| (name, policy))).collect();
        assert!(policies.len() > 4, "{}", policies.len());
        Self { policies, turn: 0 }
    }

    /// Opens a workload, and runs an episode if that is short.
    fn try_out(&mut self, spec: &str) -> Fate {
        let workload = match S::entry().workload(spec) {
            Ok(workload) => workload,
            Err(error) => {
                let said = words(&error);
                assert!(!said.contains('\n') && said.len() < 1500, "{spec}: {said}");
                return Fate::Refused;
            }
        };
        let work = workload.work();
        assert_eq!(work.too_much(), None, "{spec}");
        if work.events > FEW || work.jobs > FEW {
            return Fate::NotRun;
        }
        self.turn += 1;
        let turn = self.turn % self.policies.len();
        let (name, policy) = &mut self.policies[turn];
        let outcome = run::<S>(&workload, &mut **policy);
        for (figure, value) in &outcome.figures {
            assert!(value.is_none_or(f64::is_finite), "{spec} under {name}: {figure} is {value:?}");
        }
        assert_eq!(outcome.stall.is_some(), outcome.stalled(), "{spec} under {name}");
        if outcome.stalled() { Fate::Stalled } else { Fate::Ended }
    }
}

fn words(error: &dyn std::error::Error) -> String {
    let mut said = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        said += &format!(": {error}");
        cause = error.source();
    }
    said
}

fn run<S: Registered>(workload: &Workload<S>, policy: &mut dyn Policy<S>) -> Outcome {
    let mut sim = S::start(workload, workload.jobs(1), 1);
    policy.reset(1);
    while let Some(seen) = sim.view() {
        let mut probabilities = Said::default();
        let decision = policy.decide(&seen, &mut probabilities).unwrap();
        sim.step(decision).unwrap();
    }
    sim.outcome().unwrap()
}

/// All five.
struct Grounds {
    dag: Ground<Dag>,
    training: Ground<Training>,
    deadlines: Ground<Deadlines>,
    preemption: Ground<Preemption>,
    serving: Ground<Serving>,
}

impl Grounds {
    fn new(dir: &Path) -> Self {
        Self {
            dag: Ground::new(dir),
            training: Ground::new(dir),
            deadlines: Ground::new(dir),
            preemption: Ground::new(dir),
            serving: Ground::new(dir),
        }
    }

    /// What is said of a workload that is refused.
    fn refused(&mut self, scenario: &str, spec: &str) -> String {
        assert_eq!(self.try_out(scenario, spec), Fate::Refused, "{spec}");
        let registry = sched_distill::registry::all();
        let any = registry.find(scenario).unwrap();
        words(&any.same_jobs(spec).unwrap_err())
    }

    fn try_out(&mut self, scenario: &str, spec: &str) -> Fate {
        match scenario {
            "dag" => self.dag.try_out(spec),
            "training" => self.training.try_out(spec),
            "deadlines" => self.deadlines.try_out(spec),
            "preemption" => self.preemption.try_out(spec),
            "serving" => self.serving.try_out(spec),
            other => panic!("{other}"),
        }
    }
}

/// A file of each kind of workload: its scenario, how it is named (`FILE` is where it is), and what stands in it.
pub(crate) fn files() -> Vec<(&'static str, &'static str, String)> {
    let stage =
        r#"{"num_tasks": 2, "first_wave": [[5, [1.5, 2]]], "rest_wave": [[5, [1]]], "fresh_durations": [[5, [3]]]}"#;
    let tpch = format!(
        r#"{{"format": "tpch-stage-profiles-v1", "jobs": [{{"query": 1, "size": "2g", "edges": [[0, 1]], "stages": [{stage}, {stage}]}}]}}"#
    );
    let history = "submit_s,duration_s,num_gpus,vc\n50,600,4,a\n10,0.5,1,b\n70,7200,2,a\n";
    let table = "in,from,to,gpus,due\n50,60,600,4,900\n10,10,11.5,1,70\n70,100,7200,2,8000\n";
    let swf = "; MaxNodes: 2\n; MaxProcs: 16\n1 10 5 100 4 -1 -1 8 200 -1 1 3 1 -1 2 -1 -1 -1\n2 12 0 500 2 -1 -1 8 200 -1 1 3 1 -1 2 -1 -1 -1\n";
    let models = r#"{"models": [{"name": "a", "law": {"measured": {"sizes": [8, 64], "batches": [1, 16], "ms": [[0.06, 0.41], [0.82, 6.3]]}}, "sizes": [8, 64], "most": 16},
        {"name": "b", "law": {"padded": {"alpha_ms": 3, "beta_ms": 0.03}}, "sizes": [1, 9], "most": 4}]}"#;
    let all = [
        (
            "dag",
            "json:FILE",
            r#"{"num_executors": 3, "moving_delay_ms": 100, "warmup_ms": 5, "jobs": [
            {"arrival_ms": 5, "stages": [{"num_tasks": 4, "durations": 7}]},
            {"arrival_ms": 0, "edges": [[0, 1], [0, 2], [1, 2]], "stages": [
            {"num_tasks": 2, "durations": [1, 2]}, {"num_tasks": 3, "durations": 4.5},
            {"num_tasks": 2, "rough_ms": 9, "durations": {"fresh": 3, "rest": [1, 1]}}]}]}"#,
        ),
        (
            "dag",
            "spark:FILE",
            r#"{"Event":"SparkListenerLogStart","Spark Version":"3.5.3"}
{"Event":"SparkListenerApplicationStart","App Name":"a","App ID":"local-1","Timestamp":5,"User":"u"}
{"Event":"SparkListenerExecutorAdded","Timestamp":5,"Executor ID":"1","Executor Info":{"Host":"h","Total Cores":2}}
{"Event":"SparkListenerJobStart","Job ID":0,"Submission Time":6,"Stage Infos":[{"Stage ID":0,"Stage Attempt ID":0,"Stage Name":"s","Number of Tasks":2,"RDD Info":[],"Parent IDs":[]}],"Stage IDs":[0]}
{"Event":"SparkListenerTaskEnd","Stage ID":0,"Stage Attempt ID":0,"Task Type":"ResultTask","Task End Reason":{"Reason":"Success"},"Task Info":{"Task ID":0,"Index":0,"Attempt":0,"Launch Time":7,"Executor ID":"1","Finish Time":19}}
{"Event":"SparkListenerTaskEnd","Stage ID":0,"Stage Attempt ID":0,"Task Type":"ResultTask","Task End Reason":{"Reason":"Success"},"Task Info":{"Task ID":1,"Index":1,"Attempt":0,"Launch Time":7,"Executor ID":"1","Finish Time":33}}
{"Event":"SparkListenerJobEnd","Job ID":0,"Completion Time":34,"Job Result":{"Result":"JobSucceeded"}}
"#,
        ),
        (
            "dag",
            "alibaba:FILE",
            "M1,4,j_1,1,Terminated,110,120,100,0.2\nR2_1,3,j_1,1,Terminated,120,150,50,0.2\nM1,1,j_2,1,Terminated,115,116,100,0.2\n",
        ),
        (
            "dag",
            "wfcommons:FILE,jobs=3",
            r#"{"name": "w", "schemaVersion": "1.5", "workflow": {"specification": {"tasks": [{"id": "a", "children": ["b"]}, {"id": "b", "parents": ["a"]}]},
            "execution": {"tasks": [{"id": "a", "runtimeInSeconds": 1.5, "coreCount": 4}, {"id": "b", "runtimeInSeconds": 20}]}}}"#,
        ),
        ("dag", "shapes:FILE,jobs=3", r#"{"jobs": [[[[1, 1.5], [4, 2]], [[0, 1]]], [[[2, 3]], []]]}"#),
        ("dag", "tpch:FILE,jobs=3", &tpch),
        ("dag", "tpch:FILE,jobs=3,edge=long-tail,durations=median", &tpch),
        ("dag", "tpch:FILE,jobs=3,edge=giant", &tpch),
        (
            "training",
            "json:FILE",
            r#"{"nodes": 4, "node_slots": [8, 8], "slot_s": 600, "max_workers": 4, "max_servers": 3, "speed_error": 0.1,
            "types": [{"name": "m", "epoch_size": 115, "worker": [2, 4], "server": [2, 0], "formula": {"batch": 32, "a": 0.004, "b": 0.013, "c": 0.013, "d": 0.0002, "e": 0}}],
            "jobs": [{"type": "m", "arrival_slot": 0, "epochs": 5}, {"type": "m", "arrival_slot": 2, "epochs": 3, "real_epochs": 4}]}"#,
        ),
        (
            "training",
            "json:FILE",
            r#"{"nodes": 4, "slot_s": 60, "max_workers": 4, "max_servers": 3, "speed": "analytic",
            "types": [{"name": "m", "epoch_size": 30, "worker": [2, 4], "server": [2, 0], "analytic": {"compute_s": 0.1, "model_mb": 50, "inter_mb_s": 1000, "intra_mb_s": 5000}}],
            "jobs": [{"type": "m", "arrival_slot": 0, "epochs": 50}]}"#,
        ),
        (
            "training",
            "builtin,jobs=4,max=2,epochs=20,types=1,speed=FILE",
            r#"{"format": "dl2-speed-grid/1", "grid": {"resnet-50": [[1, 2.5, 4], [3, 4, 9], [1, 2, 3]], "vgg-16": [[1, 2.5, 4], [3, 4, 9], [1, 2, 3]],
            "resnext-110": [[1, 2.5, 4], [3, 4, 9], [1, 2, 3]], "inception-bn": [[1, 2.5, 4], [3, 4, 9], [1, 2, 3]], "seq2seq": [[1, 2.5, 4], [3, 4, 9], [1, 2, 3]],
            "cnn-text-classification": [[1, 2.5, 4], [3, 4, 9], [1, 2, 3]], "dssm": [[1, 2.5, 4], [3, 4, 9], [1, 2, 3]], "wlm": [[1, 2.5, 4], [3, 4, 9], [1, 2, 3]]}}"#,
        ),
        ("training", "builtin,jobs=4,arrivals=FILE", "id,submit_s\n1,0\n2,2500.5\n3,2100\n4,1e4\n"),
        (
            "deadlines",
            "json:FILE",
            r#"{"nodes": 1, "node_cores": 8, "check_ms": 60000, "restart_ms": 10000, "window": 20, "noise": 0.05, "may_refuse": true,
            "models": [{"name": "m", "earlier_jobs": [[[1, 950], [4, 240]]], "cores_used": [2]}],
            "jobs": [{"model": "m", "arrival_ms": 5, "deadline_ms": 90000, "iterations": 300, "requested": 4, "threads": 2, "largest": 8,
            "law": {"serial_ms": 10, "parallel_ms": 900, "overhead_ms": 0.5}, "declared_deadline_ms": 90000, "declared_iterations": 30, "bias": 1},
            {"model": "m", "arrival_ms": 5000, "deadline_ms": 95000, "iterations": 130, "requested": 4, "threads": 2, "largest": 8,
            "law": {"serial_ms": 10, "parallel_ms": 900}}]}"#,
        ),
        ("deadlines", "philly:FILE,nodes=1", history),
        ("deadlines", "csv:FILE,submit=in,start=from,end=to,gpus=gpus,deadline=due,split=none", table),
        ("training", "csv:FILE,submit=in,start=from,end=to,gpus=gpus,split=none", table),
        ("training", "swf:FILE,split=none", swf),
        ("deadlines", "builtin,jobs=4,arrivals=FILE", "running_gpu_jobs,pending_gpu_jobs\n1,2\n0,0\n5,1\n3,3\n"),
        (
            "preemption",
            "json:FILE",
            r#"{"cluster": {"nodes": 2, "node_gpus": 4, "storage_gbps": 2, "link_gbps": 1, "cache_gb": 60, "spread_slowdown": 0.2, "check_ms": 60000, "observe": 2,
            "start_noise": 0.1, "placement": "packed", "free": false, "mtbf_ms": 5000000, "repair_ms": 600000,
            "earlier": [{"gpus": 1, "epochs": 5, "epoch_ms": 60000, "ran_ms": 310000}],
            "models": [{"name": "m", "container_ms": 9000, "warm_ms": 3000, "profiles": [{"gpus": 1, "batch": 32, "samples": 50000, "epoch_ms": 61000}]}]},
            "jobs": [{"model": "m", "arrival_ms": 0, "gpus": 8, "samples": 40000, "batch": 64, "epochs": 7, "epoch_ms": 55000, "data_gb": 20, "checkpoint_gb": 7,
            "declared_epochs": 9, "counter_ms": 54000, "bias": 1}, {"model": "m", "arrival_ms": 1000, "gpus": 1, "samples": 40000, "batch": 64, "epochs": 9,
            "epoch_ms": 55000, "data_gb": 1, "checkpoint_gb": 7}]}"#,
        ),
        (
            "preemption",
            "json:FILE",
            r#"{"cluster": {"nodes": 1, "node_gpus": 1, "storage_gbps": 2, "link_gbps": 1, "cache_gb": 60, "check_ms": 60000, "observe": 2, "free": true,
            "models": [{"name": "m", "container_ms": 9000, "warm_ms": 3000}]},
            "jobs": [{"model": "m", "arrival_ms": 0, "gpus": 1, "samples": 40000, "batch": 64, "epochs": 7, "epoch_ms": 55000, "data_gb": 1e3, "checkpoint_gb": 7},
            {"model": "m", "arrival_ms": 1000, "gpus": 1, "samples": 40000, "batch": 64, "epochs": 9, "epoch_ms": 55000, "data_gb": 1, "checkpoint_gb": 7}]}"#,
        ),
        ("preemption", "philly:FILE,nodes=2,mtbf=4000", history),
        ("preemption", "csv:FILE,submit=in,start=from,end=to,gpus=gpus,split=none", table),
        ("preemption", "swf:FILE,split=none", swf),
        (
            "serving",
            "json:FILE",
            r#"{"server": {"accelerators": 1, "half_life_ms": 500, "applications": [
            {"name": "text", "law": {"padded": {"alpha_ms": 3, "beta_ms": 0.03}}, "objective_ms": 60, "weight": 1, "timeout_ms": 5, "most": 16, "shapes": [4, 16], "most_units": 1000, "queue": 10000},
            {"name": "tree", "law": {"dynamic": {"alpha_ms": 6, "beta_ms": 0.08, "parallel": 4}}, "objective_ms": 100},
            {"name": "own", "law": {"measured": {"sizes": [16, 64], "batches": [1, 16], "ms": [[5.1, 9.0], [12.5, 41.0]]}}, "objective_ms": 90}]},
            "horizon_ms": 1000, "tasks": [{"application": 0, "arrival_ms": 0.5, "size": 17, "declared_size": 20}, {"application": 2, "arrival_ms": 1.5, "size": 40},
            {"application": 1, "arrival_ms": 1.5, "size": 4}, {"application": 0, "arrival_ms": 2.5, "size": 7}]}"#,
        ),
        ("serving", "models:FILE,seconds=0.05", models),
        (
            "serving",
            "azure:FILE,seconds=0.02,applications=2",
            "arrival_s,context_tokens,generated_tokens\n0,64,2\n1,300,0\n2.5,64,1\n3,900,5\n4,10,10\n900,10,10\n",
        ),
        (
            "serving",
            "mooncake:FILE,seconds=0.02,applications=2",
            "{\"timestamp\": 0, \"input_length\": 64, \"output_length\": 2, \"hash_ids\": [1]}\n{\"timestamp\": 2500, \"input_length\": 300, \"output_length\": 0}\n\
             {\"timestamp\": 4000, \"input_length\": 900, \"output_length\": 5}\n{\"timestamp\": 900000, \"input_length\": 10, \"output_length\": 10}\n",
        ),
    ];
    all.into_iter().map(|(scenario, spec, text)| (scenario, spec, text.to_owned())).collect()
}

/// How many came to which end, for people.
fn tell(fates: &BTreeMap<(&str, Fate), u64>) {
    fates.iter().for_each(|((scenario, fate), count)| println!("{scenario}: {count} {fate:?}"));
}

#[test]
fn workloads_of_any_numbers_are_refused_or_end() {
    let dir = tempfile::tempdir().unwrap();
    let mut grounds = Grounds::new(dir.path());
    let (files, mut fates) = (files(), BTreeMap::new());
    let named: Vec<String> = (0..files.len())
        .map(|i| {
            let end = if files[i].2.starts_with('{') { "json" } else { "csv" };
            dir.path().join(format!("{i}.{end}")).display().to_string()
        })
        .collect();
    let mut try_one = |which: usize, text: &str| {
        let (scenario, spec, _) = files[which];
        fs::write(&named[which], text).unwrap();
        let fate = grounds.try_out(scenario, &spec.replace("FILE", &named[which]));
        *fates.entry((scenario, fate)).or_insert(0) += 1;
        fate
    };
    for (which, (scenario, spec, text)) in files.iter().enumerate() {
        let fate = try_one(which, text);
        assert!(matches!(fate, Fate::Ended | Fate::Stalled), "{scenario} {spec}: {fate:?}");
    }
    let texts: Vec<String> = files.iter().map(|(_, _, text)| text.clone()).collect();
    let count = each_with_other_numbers(&texts, 0.5, |which, text| {
        try_one(which, text);
    });
    tell(&fates);
    assert!(count > 0);
}

/// The parameters of a generated workload with what they may be: the ends of their range, or their words.
fn parameters<S: Registered>() -> Vec<(String, Vec<String>)> {
    let info = S::WORKLOADS.iter().map(|def| def.info).find(|info| info.name == "builtin").unwrap();
    let names = info.usage.split("[,").skip(1).filter_map(|part| part.split_once('=')).map(|(name, _)| name);
    let allowed = |name: &str| {
        let refused = S::entry().workload(&format!("builtin,{name}=?")).err().unwrap();
        let said = words(&refused);
        let (_, said) = said.split_once(" must be ").unwrap_or_else(|| panic!("{name}: {said}"));
        let said = said.split(", got `?`").next().unwrap();
        match (said.split_once(" in "), said.strip_prefix("one of ")) {
            (Some((_, range)), _) => range.split("..=").map(str::to_owned).collect(),
            (_, Some(all)) => all.split(", ").filter(|word| !word.contains(' ')).map(str::to_owned).collect(),
            _ => vec!["1/2/4/8/4096".to_owned()],
        }
    };
    names.map(|name| (name.to_owned(), allowed(name))).collect()
}

/// A value: an end of the range or a word, or what lies between two ends.
fn value(allowed: &[String], stream: &mut Stream) -> String {
    let ends: Option<Vec<f64>> = allowed.iter().map(|word| word.parse().ok()).collect();
    match ends.as_deref() {
        Some(&[low, high]) if stream.below(2) == 0 => {
            let between = low.max(1e-3) * (high.max(1e-3) / low.max(1e-3)).powf(stream.uniform());
            let is_whole = low.fract() == 0.0 && low >= 1.0;
            if is_whole { format!("{}", between.round()) } else { format!("{between}") }
        }
        _ => allowed[stream.below(allowed.len())].clone(),
    }
}

#[test]
fn parameters_at_their_bounds_are_refused_together_or_end() {
    let dir = tempfile::tempdir().unwrap();
    let mut grounds = Grounds::new(dir.path());
    let all = [
        ("dag", parameters::<Dag>(), "jobs"),
        ("training", parameters::<Training>(), "jobs"),
        ("deadlines", parameters::<Deadlines>(), "jobs"),
        ("preemption", parameters::<Preemption>(), "jobs"),
        ("serving", parameters::<Serving>(), "seconds"),
    ];
    // Each alone, at each end; with few jobs, most run.
    for (scenario, parameters, least) in &all {
        let (_, range) = parameters.iter().find(|(name, _)| name == least).unwrap();
        for (name, allowed) in parameters {
            for value in allowed {
                let few = if name == least { String::new() } else { format!(",{least}={}", range[0]) };
                let spec = format!("builtin,{name}={value}{few}");
                limited(&spec, || grounds.try_out(scenario, &spec));
            }
        }
    }
    let mut stream = Stream::new(seed(), "parameters");
    let mut fates = BTreeMap::new();
    until_the_time_is_over(0.5, |count| {
        let (scenario, parameters, least) = &all[count as usize % all.len()];
        let mut spec = "builtin".to_owned();
        // Of few jobs episodes can be run.
        let few = stream.below(4) > 0;
        for (name, allowed) in parameters {
            if name == least && few {
                spec += &format!(",{name}={}", allowed[0]);
            } else if stream.below(3) == 0 && (few || name != "durations") {
                // A history is read when the workload is opened: of many jobs that takes its time.
                spec += &format!(",{name}={}", value(allowed, &mut stream));
            }
        }
        let fate = limited(&spec, || grounds.try_out(scenario, &spec));
        *fates.entry((*scenario, fate)).or_insert(0) += 1;
    });
    tell(&fates);
}

/// What an episode may come to, as the docs have it: the workload of each row is refused, and says which bound it meets.
#[test]
fn the_bounds_of_the_docs_are_met_by_their_examples() {
    let docs = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/safety.md")).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let mut grounds = Grounds::new(dir.path());
    let all = files();
    let mut found = BTreeSet::new();
    for row in docs.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<String> = row.split('|').map(|cell| cell.trim().replace('`', "")).collect();
        let [_, scenario, workload, _, example, bound, _] = &cells[..] else { continue };
        // A row may be of several workloads; its example is of the first.
        let names = || workload.split(", ").map(|one| one.split_once(':').map_or(one, |(name, _)| name));
        found.extend(names().map(|name| (scenario.to_owned(), name.to_owned())));
        let name = names().next().unwrap_or_default();
        let file = all.iter().find(|(of, spec, _)| *of == scenario && spec.starts_with(&format!("{name}:")));
        let path = dir.path().join("file");
        if let Some((_, _, text)) = file {
            fs::write(&path, text).unwrap();
        }
        // What an example changes in a file stands behind it.
        let (spec, change) = example.split_once(" with ").unwrap_or((example, ""));
        if let Some((to, from)) = change.split_once(" for ") {
            let text = fs::read_to_string(&path).unwrap();
            assert!(text.contains(from), "{row}: {text}");
            fs::write(&path, text.replace(from, to)).unwrap();
        }
        let spec = spec.replace("FILE", &path.display().to_string());
        let said = grounds.refused(scenario, &spec);
        assert!(said.contains(bound.as_str()), "{row}: {said}");
    }
    // No workload is left out.
    for scenario in sched_distill::registry::all().iter() {
        let name = scenario.info().name;
        for info in scenario.workloads() {
            assert!(found.contains(&(name.to_owned(), info.name.to_owned())), "{name} {}", info.name);
        }
    }
}
