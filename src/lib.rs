//! Turn a black-box deep-RL cluster scheduler into rules that a person can read, check, edit and deploy.
//!
//! ```text
//! workload ──jobs──▶ simulator ──View──▶ policy ──Decision──▶ simulator
//!                       │                          │ probabilities
//!                       └────────▶ recorder ◀──────┘
//!                                     │ one row per candidate, per level
//!                                     ▼
//!                               trace (Parquet + manifest)
//!                      ┌──────────────┼───────────────┐
//!                      ▼              ▼               ▼
//!                  distiller ──▶ evaluator       explainer
//!                      │ Student      └───────┬───────┘
//!                      ▼                      ▼
//!            scheduler (policy)            reporter ──▶ HTML, PNG, JSON
//! ```
//!
//! The words: a *level* is one question that a decision answers (which job? which stage? how many executors?); a
//! *choice* is one level of one decision, a set of *candidates* with features and the teacher's probabilities; a
//! *student* has one model per level that scores candidates. Everything right of the trace sees levels and choices
//! only. `docs/glossary.md` has all words.
//!
//! # Features of the crate
//!
//! * none (`--no-default-features`): the embeddable scheduler. Cluster states, features, models, heuristics and students.
//! * `simulate`: workloads and simulators.
//! * `network`: Decima and DL2.
//! * `toolkit`: traces, recorder, evaluator, distiller, explainer.
//! * `report`: charts and the HTML report.
//! * `cli` (default): the `distill` program.
//! * `torch`: training of neural schedulers, TorchScript files, gradients, by libtorch.
//! * `onnx`: neural schedulers from ONNX files.
//!
//! # Examples
//!
//! Let a policy schedule a cluster of one's own, without any simulator (`examples/embed.rs` does it with a student and
//! a guard):
//!
//! ```
//! use sched_distill::dag::{ClusterState, Decision, JobGraph, Source, StageRef, StageSpec, policies};
//!
//! let mut cluster = ClusterState::new(10)?;
//! let scan = StageSpec { num_tasks: 8, rough_ms: 1500.0 };
//! cluster.add_job(0, 0.0, JobGraph::new("scan", vec![scan], &[])?)?;
//! let mut scheduler = policies::open(&"fair".parse()?)?; // or student:FILE
//! let view = cluster.offer(Source::Common, 6)?.expect("a stage wants executors");
//! let decision = scheduler.decide(&view, &mut Default::default())?;
//! assert_eq!(decision, Decision::Assign { stage: StageRef { job: 0, stage: 0 }, executors: 6 });
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Record a soft heuristic, distil it, and let the student schedule:
//!
//! ```
//! # #[cfg(feature = "toolkit")] {
//! use sched_distill::{
//!     dag::{self, Dag}, distiller::{FitParams, Subject, fit_student}, model::Provenance, policy::StudentPolicy,
//!     recorder::{ChoiceLog, EpisodeId, run_episode}, rng::Split,
//! };
//!
//! let workload = dag::workload::open(&"builtin,jobs=8,executors=5".parse()?)?;
//! let teacher = dag::policies::open(&"sjf,temperature=0.5,mode=sample".parse()?)?;
//! let record = |split, episodes| -> Result<_, Box<dyn std::error::Error>> {
//!     let mut log = ChoiceLog::<Dag>::new(teacher.abstains());
//!     for episode in 0..episodes {
//!         let mut step = 0;
//!         let id = EpisodeId::new(1, split, episode);
//!         run_episode(&workload, &mut *teacher.fresh(), id, |seen, decision, p| {
//!             log.push(episode, step, seen, decision, p);
//!             step += 1;
//!         })?;
//!     }
//!     Ok(log.into_tables())
//! };
//! let (train, validation) = (record(Split::Train, 4)?, record(Split::Validation, 2)?);
//! let params = FitParams { max_leaf_nodes: 8, ..FitParams::default() };
//! let subject = Subject { feature_set: dag::feature::feature_set(), abstains: teacher.abstains() };
//! let student = fit_student(subject, (&train, &validation), &params, Provenance::default())?;
//!
//! let mut scheduler = StudentPolicy::<Dag>::new(&student, "in memory".as_ref(), None)?;
//! let id = EpisodeId::new(1, Split::Test, 0);
//! let run = run_episode(&workload, &mut scheduler, id, |_, _, _| {})?;
//! assert!(!run.outcome.stalled());
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(feature = "cli")]
pub mod cli;

#[cfg(feature = "network")]
pub use sched_distill_core::network;
pub use sched_distill_core::{
    contract, elementary, feature, figure, file, file_kind, level, model, policy, rng, scenario, simulation, spec,
    state, text, workload,
};
pub use sched_distill_dag as dag;
pub use sched_distill_deadlines as deadlines;
#[cfg(feature = "toolkit")]
pub use sched_distill_explain as explainer;
#[cfg(feature = "toolkit")]
pub use sched_distill_foreign as foreign;
#[cfg(feature = "toolkit")]
pub use sched_distill_judge::{attack, augment, conformance, evaluator, practice};
#[cfg(feature = "toolkit")]
pub use sched_distill_learn as distiller;
pub use sched_distill_preemption as preemption;
#[cfg(feature = "report")]
pub use sched_distill_report as report;
#[cfg(feature = "toolkit")]
pub use sched_distill_scenarios as registry;
#[cfg(feature = "toolkit")]
pub use sched_distill_serve as serve;
pub use sched_distill_serving as serving;
#[cfg(feature = "toolkit")]
pub use sched_distill_trace::{self as trace, recorder};
#[cfg(feature = "torch")]
pub use sched_distill_trainer as trainer;
pub use sched_distill_training as training;

/// What a scenario of one's own is made of: `examples/new_scenario.rs`, `docs/new-scenario.md`.
#[cfg(feature = "toolkit")]
pub mod prelude {
    pub use crate::{
        contract::{LevelTables, Tabular},
        feature::{Described, Level, Measured, Quantity},
        figure::Figure,
        level::FeatureSet,
        network::scorer::{SCORER, open_scorer},
        pipeline::Entry,
        policy::{PolicyDef, least},
        rng::Stream,
        scenario::{Catalogue, OneChoice, OneLevel, Scenario, ScenarioInfo, State, Whole, guard, rule},
        simulation::{JobEnd, Outcome, Simulated, Simulation, Workload, WorkloadDef},
        spec::Spec,
        workload::WorkloadError,
    };
}

/// The steps from a recording to a report as functions ([`sched_distill_pipeline`]), and
/// [`report`](pipeline::report), which draws what they measured.
#[cfg(feature = "toolkit")]
pub mod pipeline {
    pub use sched_distill_pipeline::*;
    #[cfg(feature = "report")]
    pub use sched_distill_report::write_report as report;
}
