//! Nothing is allocated per event or per decision once buffers have grown.

#[path = "support/random_tree.rs"]
mod random_tree;

use sched_distill::{
    feature::dag::{Extractor, feature_set},
    model::{
        ChoiceLogit, CompiledTree, Factor, LEAF, LevelModels, Linear, Model, NamedModel, Pairwise, Provenance,
        ScoreCandidates, Shape, SplineLogit, SplineTerm, Structure, Student, Tree,
    },
    policy::{
        self, Policy, StudentPolicy,
        foreign::{ForeignError, ForeignPolicy, Inputs, NODE_COLUMNS, Network, Scores},
    },
    scenario::{Dag, dag::Probabilities},
    simulator::dag::{Decision, Simulator},
    workload,
};
use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    path::{Path, PathBuf},
};

/// The system's allocator, with a count per thread.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    // A thread that is being torn down has no counter any more, and no test to count for.
    let _ = ALLOCATIONS.try_with(|n| n.set(n.get() + 1));
}

// SAFETY: every call is handed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        unsafe { System.realloc(memory, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What one thread needs to run episodes and look at them.
struct Runner {
    policy: Box<dyn Policy>,
    probabilities: Probabilities,
    extractor: Extractor,
    rows: Vec<f32>,
}

impl Runner {
    fn new(policy: Box<dyn Policy>) -> Self {
        Self { policy, probabilities: Probabilities::default(), extractor: Extractor::default(), rows: Vec::new() }
    }

    /// Runs an episode with all features of all levels; allocations, events and decisions from the first question on.
    fn run(&mut self, jobs: u32) -> (u64, u64, u64) {
        let spec = format!("builtin,jobs={jobs},executors=20,rate=1e-4").parse().unwrap();
        let workload = workload::dag::open(&spec).unwrap();
        let mut sim = Simulator::new(workload.cluster(), workload.jobs(1), 1);
        let Self { policy, probabilities, extractor, rows } = self;
        policy.reset(1);
        let before = ALLOCATIONS.get();
        while let Some(seen) = sim.observation() {
            probabilities.clear();
            let decision = policy.decide(&seen, probabilities).unwrap();
            rows.clear();
            extractor.update(&seen);
            extractor.job_rows(&seen, true, rows);
            let candidates = extractor.snapshot().candidate_jobs().len();
            (0..candidates).for_each(|candidate| extractor.stage_rows(&seen, candidate, rows));
            if let Decision::Assign { stage, .. } = decision {
                extractor.amount_rows(&seen, stage, rows);
            }
            sim.step(decision).unwrap();
        }
        let allocations = ALLOCATIONS.get() - before;
        let outcome = sim.outcome().unwrap();
        assert!(outcome.completed);
        (allocations, outcome.events, outcome.decisions)
    }
}

/// The second time round the policy and the extractor allocate nothing; what is left are the few lists of a new simulator,
/// which double until they are as long as the cluster is busy.
fn check(name: &str, policy: Box<dyn Policy>) {
    let mut runner = Runner::new(policy);
    let (first, ..) = runner.run(120);
    let (allocations, events, decisions) = runner.run(120);
    println!("{name}: {allocations} allocations (the first time {first}) in {events} events, {decisions} decisions");
    assert!(events > 20_000 && decisions > 1_000, "{name}: {events} events, {decisions} decisions");
    assert!(allocations < 40, "{name}: {allocations} allocations in {events} events and {decisions} decisions");
}

#[test]
fn heuristics_allocate_nothing() {
    for name in ["fair", "fifo", "random", "weighted-fair", "sjf", "sjf-cp,temperature=0.3,mode=sample", "srpt-fair"] {
        check(name, policy::dag::open(&name.parse().unwrap()).unwrap());
    }
}

/// A network that prefers stages with few tasks left, and many executors.
struct FewTasks;

impl Network for FewTasks {
    fn name(&self) -> String {
        "few tasks".to_owned()
    }

    fn fresh(&self) -> Box<dyn Network> {
        Box::new(FewTasks)
    }

    fn scores(&mut self, inputs: &Inputs, out: &mut Scores) -> Result<(), ForeignError> {
        out.stage.extend(inputs.nodes.chunks(NODE_COLUMNS.len()).map(|row| -1e-2 * row[0]));
        out.stage_shape.push(inputs.num_nodes());
        (0..inputs.num_jobs()).for_each(|_| out.amount.extend_from_slice(&inputs.amounts));
        out.amount_shape.extend([inputs.num_jobs(), inputs.offered()]);
        Ok(())
    }
}

#[test]
fn what_surrounds_a_foreign_network_allocates_nothing() {
    for sample in [false, true] {
        check("foreign", Box::new(ForeignPolicy::new(Box::new(FewTasks), sample)));
    }
}

#[cfg(feature = "toolkit")]
#[test]
fn a_choice_log_allocates_nothing() {
    use sched_distill::recorder::ChoiceLog;

    let workload = workload::dag::open(&"builtin,jobs=120,executors=20,rate=1e-4".parse().unwrap()).unwrap();
    let mut policy = policy::dag::open(&"sjf,temperature=0.3".parse().unwrap()).unwrap();
    let (mut log, mut probabilities) = (ChoiceLog::<Dag>::new(false), Probabilities::default());
    let mut counts = [0; 2];
    for (episode, count) in (0u32..).zip(&mut counts) {
        let mut sim = Simulator::new(workload.cluster(), workload.jobs(1), 1);
        policy.reset(1);
        let mut step = 0;
        while let Some(seen) = sim.observation() {
            probabilities.clear();
            let decision = policy.decide(&seen, &mut probabilities).unwrap();
            let before = ALLOCATIONS.get();
            log.push(episode, step, &seen, decision, &probabilities);
            log.flush(1 << 12, |_, _| Ok::<(), std::convert::Infallible>(())).unwrap();
            *count += ALLOCATIONS.get() - before;
            sim.step(decision).unwrap();
            step += 1;
        }
        assert!(step > 1_000, "{step} decisions");
        log.flush(1, |_, _| Ok::<(), std::convert::Infallible>(())).unwrap();
    }
    let [first, second] = counts;
    println!("choice log: {second} allocations (the first time {first})");
    assert_eq!(second, 0);
}

/// Prefers large values of the first column, which at the last level is the number of executors.
fn models(width: usize) -> [Model; 4] {
    let mut coefficient = vec![0.0; width];
    coefficient[0] = 1.0;
    let feature_sd = vec![0.0; width];
    let linear = Linear { coefficient: coefficient.clone(), intercept: 0.0, feature_sd: feature_sd.clone() };
    coefficient.push(1e-9);
    let feature_sd = [feature_sd, vec![0.0]].concat();
    let logit = ChoiceLogit { coefficient, standard_error: None, feature_sd, interactions: vec![[0, 1]] };
    // The first difference decides.
    let tree = Tree {
        feature: vec![width as u32, 0, 0],
        threshold: vec![0.0; 3],
        left: vec![1, LEAF, LEAF],
        right: vec![2, LEAF, LEAF],
        default_left: vec![true; 3],
        value: vec![0.5, 0.25, 0.75],
        impurity: vec![0.0; 3],
        n_samples: vec![2, 1, 1],
        weight: vec![2.0, 1.0, 1.0],
        ..Tree::leaf(0.5, 0.0, 1, 1.0)
    };
    let factor = |shape, threshold| Factor { feature: 0, shape, threshold };
    let factors = vec![factor(Shape::Log, None), factor(Shape::Excess, Some(0.5))];
    let spline = SplineLogit { terms: vec![SplineTerm { coefficient: 1.0, factors, sd: 1.0, standard_error: None }] };
    [Model::Linear(linear), Model::ChoiceLogit(logit), Model::SplineLogit(spline), Model::Pairwise(Pairwise { tree })]
}

#[test]
fn a_student_allocates_nothing() {
    for kind in 0..4 {
        let features = feature_set();
        let levels = ["job", "stage", "cluster"].map(|level| {
            let model = models(features.level(level).unwrap().features.len())[kind].clone();
            let named = NamedModel { name: "model".to_owned(), temperature: 1.0, model };
            LevelModels::new(level, "model", vec![named])
        });
        let mut student = Student::new(features.clone(), false, levels.to_vec(), Provenance::default());
        for structure in [Structure::Hierarchical, Structure::Flat] {
            student.structure = structure;
            check("student", Box::new(StudentPolicy::<Dag>::new(&student, Path::new("student.json"), None).unwrap()));
        }
    }
}

#[test]
fn predictions_of_a_tree_allocate_nothing() {
    let tree = random_tree::random_tree(1, 200, 24, 8, 0.0, false);
    let x = random_tree::rows(1, &tree, 24, 101);
    let (fast, mut scores, mut classes) = (CompiledTree::new(&tree), [0.0; 101], [0; 101]);
    let before = ALLOCATIONS.get();
    fast.score_choice(&x, 24, &mut scores);
    fast.predict_class_rows(&x, 24, &mut classes);
    for row in x.chunks_exact(24) {
        std::hint::black_box((fast.apply(row), fast.predict(row), fast.predict_class(row), fast.predict_outputs(row)));
    }
    assert_eq!(ALLOCATIONS.get(), before);
}

#[test]
#[cfg_attr(not(reference_data), ignore = "needs the reference data in ../shared")]
fn decima_allocates_nothing() {
    let weights = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/decima-model/model.pt");
    for mode in ["greedy", "sample"] {
        let spec = format!("decima:{},mode={mode}", weights.display());
        check("decima", policy::dag::open(&spec.parse().unwrap()).unwrap());
    }
}
