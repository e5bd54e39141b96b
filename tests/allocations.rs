//! Nothing is allocated per event or per decision once buffers have grown.

#[path = "support/random_scorer.rs"]
mod random_scorer;
#[path = "support/random_tree.rs"]
mod random_tree;

use sched_distill::{
    contract::{Inputs, Scores},
    dag::Dag,
    deadlines::Deadlines,
    foreign::{ForeignError, ForeignPolicy, Network},
    level::{FeatureSet, LevelSpec},
    model::{
        Additive, CompiledTree, Factor, LEAF, LevelModels, Model, NamedModel, Pairwise, Provenance, Regime,
        ScoreCandidates, Shape, Structure, Student, Term, Tree,
    },
    network::scorer::{ScorerPolicy, ScorerWeights},
    policy::{Policy, StudentPolicy},
    preemption::Preemption,
    registry::Registered as _,
    scenario::{Questions, Said},
    serving::Serving,
    simulation::{Simulated, Simulation, Workload},
    training::Training,
};
use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    path::{Path, PathBuf},
    sync::Arc,
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
struct Runner<S: Simulated> {
    policy: Box<dyn Policy<S>>,
    probabilities: Said,
    questions: S::Questions,
    path: Vec<usize>,
    rows: Vec<f32>,
}

impl<S: Simulated> Runner<S> {
    fn new(policy: Box<dyn Policy<S>>) -> Self {
        Self {
            policy,
            probabilities: Said::default(),
            questions: S::Questions::default(),
            path: Vec::new(),
            rows: Vec::new(),
        }
    }

    /// Runs an episode with features of all levels; allocations from the first question on, and decisions.
    fn run(&mut self, workload: &Workload<S>) -> (u64, u64) {
        let mut sim = S::start(workload, workload.jobs(1), 1);
        self.policy.reset(1);
        let before = ALLOCATIONS.get();
        while let Some(seen) = sim.view() {
            self.probabilities.clear();
            let decision = self.policy.decide(&seen, &mut self.probabilities).unwrap();
            self.rows.clear();
            self.questions.update(&seen);
            self.look(&seen);
            sim.step(decision).unwrap();
        }
        let allocations = ALLOCATIONS.get() - before;
        let outcome = sim.outcome().unwrap();
        assert!(!outcome.stalled());
        (allocations, outcome.decisions)
    }

    /// Features of the first level, of the second below each candidate, and of the third at one place.
    fn look(&mut self, seen: &S::View<'_>) {
        let Self { questions, path, rows, .. } = self;
        path.clear();
        for first in 0..questions.rows(seen, &[], true, rows) {
            path.push(first);
            if questions.rows(seen, path, true, rows) > 0 && first == 0 {
                path.push(0);
                questions.rows(seen, path, true, rows);
            }
            path.clear();
        }
    }
}

/// The second time round the policy and the features allocate nothing; what is left are the few lists of a new simulator,
/// which double until they are as long as the cluster is busy.
fn check_in<S: Simulated>(name: &str, policy: Box<dyn Policy<S>>, workload: &str) {
    let workload = S::open_workload(&workload.parse().unwrap()).unwrap();
    let mut runner = Runner::new(policy);
    let (first, _) = runner.run(&workload);
    let (allocations, decisions) = runner.run(&workload);
    println!("{name}: {allocations} allocations (the first time {first}) in {decisions} decisions");
    assert!(decisions > 1_000, "{name}: {decisions} decisions");
    assert!(allocations < 40, "{name}: {allocations} allocations in {decisions} decisions");
}

fn check(name: &str, policy: Box<dyn Policy<Dag>>) {
    check_in(name, policy, "builtin,jobs=120,executors=20,rate=1e-4");
}

fn check_training(name: &str, policy: Box<dyn Policy<Training>>) {
    for speed in ["formula", "analytic"] {
        check_in(name, policy.fresh(), &format!("builtin,nodes=24,jobs=60,max=6,speed={speed}"));
    }
}

#[test]
fn heuristics_allocate_nothing() {
    for name in ["fair", "fifo", "random", "weighted-fair", "sjf", "sjf-cp,temperature=0.3,mode=sample", "srpt-fair"] {
        check(name, Dag::open(&name.parse().unwrap()).unwrap());
    }
}

#[test]
fn schedulers_of_training_jobs_allocate_nothing() {
    for name in ["drf", "fifo", "srtf", "srtf-time", "tetris", "optimus", "dl2", "dl2,mode=sample"] {
        check_training(name, Training::open(&name.parse().unwrap()).unwrap());
    }
}

fn check_deadlines(name: &str, policy: Box<dyn Policy<Deadlines>>) {
    check_in(name, policy, "builtin,nodes=2,node-cores=16,jobs=150");
}

#[test]
fn schedulers_of_jobs_with_deadlines_allocate_nothing() {
    for name in ["fifo", "edf", "least-slack", "edf-test", "qos", "qos,order=work", "hpa", "vpa"] {
        check_deadlines(name, Deadlines::open(&name.parse().unwrap()).unwrap());
    }
}

fn check_preemption(name: &str, policy: Box<dyn Policy<Preemption>>) {
    check_in(name, policy, "builtin,jobs=600,nodes=4");
}

#[test]
fn schedulers_of_jobs_that_can_be_suspended_allocate_nothing() {
    for name in ["fifo", "sjf", "lucid-like", "srtf", "las", "gittins", "pickyman"] {
        check_preemption(name, Preemption::open(&name.parse().unwrap()).unwrap());
    }
}

fn check_serving(name: &str, policy: Box<dyn Policy<Serving>>) {
    check_in(name, policy, "builtin,seconds=3");
}

#[test]
fn schedulers_of_batches_allocate_nothing() {
    for name in ["tf-serving", "tf-serving,timeout=5", "triton", "clipper", "lazy", "dybatch", "best-batch"] {
        check_serving(name, Serving::open(&name.parse().unwrap()).unwrap());
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
        let (nodes, jobs, offered) = (inputs.size("nodes"), inputs.size("jobs"), inputs.size("offered"));
        let stages = out.output("stage_scores");
        stages
            .values
            .extend(inputs.floats("nodes").chunks(inputs.floats("nodes").len() / nodes).map(|row| -1e-2 * row[0]));
        stages.shape.push(nodes);
        let amounts = out.output("amount_scores");
        (0..jobs).for_each(|_| amounts.values.extend_from_slice(inputs.floats("amounts")));
        amounts.shape.extend([jobs, offered]);
        Ok(())
    }
}

/// A network that prefers workers, for jobs that have few, and closes the slot only where nothing fits.
struct FewWorkers;

impl Network for FewWorkers {
    fn name(&self) -> String {
        "few workers".to_owned()
    }

    fn fresh(&self) -> Box<dyn Network> {
        Box::new(FewWorkers)
    }

    fn scores(&mut self, inputs: &Inputs, out: &mut Scores) -> Result<(), ForeignError> {
        let jobs = inputs.size("jobs");
        let tasks = out.output("task_scores");
        for row in inputs.floats("jobs").chunks(inputs.floats("jobs").len() / jobs) {
            tasks.values.extend([-row[3], -row[4], 0.5 - row[3]]);
        }
        tasks.shape.extend([jobs, 3]);
        let close = out.output("close_score");
        close.values.push(-50.0);
        close.shape.push(1);
        Ok(())
    }
}

#[test]
fn what_surrounds_a_foreign_network_allocates_nothing() {
    for sample in [false, true] {
        check("foreign", Box::new(ForeignPolicy::new(Box::new(FewTasks), sample)));
        check_training("foreign", Box::new(ForeignPolicy::new(Box::new(FewWorkers), sample)));
    }
}

#[cfg(feature = "toolkit")]
#[test]
fn a_choice_log_allocates_nothing() {
    use sched_distill::{dag::simulator::Simulator, recorder::ChoiceLog, scenario::Said};

    let workload =
        sched_distill::dag::workload::open(&"builtin,jobs=120,executors=20,rate=1e-4".parse().unwrap()).unwrap();
    let mut policy = Dag::open(&"sjf,temperature=0.3".parse().unwrap()).unwrap();
    let (mut log, mut probabilities) = (ChoiceLog::<Dag>::new(false), Said::default());
    let mut counts = [0; 2];
    for (episode, count) in (0u32..).zip(&mut counts) {
        let mut sim = Simulator::new(*workload.cluster(), workload.jobs(1), 1);
        policy.reset(1);
        let mut step = 0;
        while let Some(seen) = sim.view() {
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

/// Prefers large values of the first column, or small ones: `sign` is 1 or -1.
fn models(width: usize, sign: f64) -> [Model; 3] {
    // The first difference decides.
    let tree = Tree {
        feature: vec![width as u32, 0, 0],
        threshold: vec![0.0; 3],
        left: vec![1, LEAF, LEAF],
        right: vec![2, LEAF, LEAF],
        default_left: vec![true; 3],
        value: vec![0.5, 0.5 - 0.25 * sign, 0.5 + 0.25 * sign],
        impurity: vec![0.0; 3],
        n_samples: vec![2, 1, 1],
        weight: vec![2.0, 1.0, 1.0],
        ..Tree::leaf(0.5, 0.0, 1, 1.0)
    };
    let factor = |shape, threshold| Factor { feature: 0, shape, threshold };
    let factors = vec![factor(Shape::Log, None), factor(Shape::Excess, Some(0.5))];
    let bent = Term { factors, ..Term::linear(0, sign, 1.0) };
    let additive = Model::Additive(Additive { intercept: 0.0, terms: vec![Term::linear(0, sign, 1.0), bent] });
    let regime = Regime::split(0, 0.5, additive.clone(), additive.clone());
    [additive, Model::Regime(regime), Model::Pairwise(Pairwise { tree })]
}

/// A student whose levels go by their first columns, with models of a kind.
fn student(features: &FeatureSet, signs: [f64; 3], kind: usize) -> Student {
    let level = |(level, sign): (&LevelSpec, f64)| {
        let model = models(level.features.len(), sign)[kind].clone();
        let named = NamedModel { name: "model".to_owned(), temperature: 1.0, model };
        LevelModels::new(&level.name, "model", vec![named])
    };
    let levels = features.levels.iter().zip(signs).map(level).collect();
    Student::new(features.clone(), false, levels, Provenance::default())
}

#[test]
fn a_student_allocates_nothing() {
    for kind in 0..3 {
        // Amounts are the first column of their level.
        let mut student = student(sched_distill::dag::feature::feature_set(), [1.0; 3], kind);
        for structure in [Structure::Hierarchical, Structure::Flat] {
            student.structure = structure;
            check("student", Box::new(StudentPolicy::<Dag>::new(&student, Path::new("student.json"), None).unwrap()));
        }
    }
}

#[test]
fn a_student_of_training_jobs_allocates_nothing() {
    for kind in 0..3 {
        // The first column of the first level tells closing the slot from going on.
        let student = student(sched_distill::training::feature::feature_set(), [-1.0, 1.0, 1.0], kind);
        let policy = StudentPolicy::<Training>::new(&student, Path::new("student.json"), None).unwrap();
        check_training("student", Box::new(policy));
    }
}

#[test]
fn a_student_of_jobs_with_deadlines_allocates_nothing() {
    for kind in 0..3 {
        // The first columns tell starting none, a size of one's own, and numbers of cores.
        let student = student(sched_distill::deadlines::feature::feature_set(), [-1.0, 1.0, 1.0], kind);
        let policy = StudentPolicy::<Deadlines>::new(&student, Path::new("student.json"), None).unwrap();
        check_deadlines("student", Box::new(policy));
    }
}

#[test]
fn a_student_of_jobs_that_can_be_suspended_allocates_nothing() {
    for kind in 0..3 {
        // The first columns tell serving and suspending none.
        let student = student(sched_distill::preemption::feature::feature_set(), [-1.0, -1.0, 1.0], kind);
        let policy = StudentPolicy::<Preemption>::new(&student, Path::new("student.json"), None).unwrap();
        check_preemption("student", Box::new(policy));
    }
}

#[test]
fn a_student_of_batches_allocates_nothing() {
    for kind in 0..3 {
        // The first columns tell serving none and closing the batch.
        let student = student(sched_distill::serving::feature::feature_set(), [-1.0, -1.0, 1.0], kind);
        let policy = StudentPolicy::<Serving>::new(&student, Path::new("student.json"), None).unwrap();
        check_serving("student", Box::new(policy));
    }
}

#[test]
fn a_scorer_allocates_nothing() {
    fn policy<S: Simulated>(sample: bool) -> Box<dyn Policy<S>> {
        let tensors = random_scorer::random_scorer((S::INFO.feature_set)(), 1);
        let weights = ScorerWeights::from_tensors(&tensors, "random").unwrap();
        Box::new(ScorerPolicy::<S>::new(Arc::new(weights), sample))
    }
    for sample in [false, true] {
        check("scorer", policy(sample));
        check_in("scorer", policy::<Training>(sample), "builtin,nodes=24,jobs=60,max=6");
        check_deadlines("scorer", policy(sample));
        check_in("scorer", policy::<Preemption>(sample), "builtin,jobs=250,nodes=4");
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
        check("decima", Dag::open(&spec.parse().unwrap()).unwrap());
    }
}
