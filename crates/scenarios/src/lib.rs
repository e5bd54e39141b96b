//! Which scenarios there are, and the policies of each by name: the one place that knows them all, and where what holds for any
//! scenario is made for each.
//!
//! One more scenario is one more [`Entry`] here, or in a program of one's own that begins with [`all`]
//! (`docs/new-scenario.md`).

use sched_distill_core::{
    policy::{Policy, PolicyError},
    simulation::Simulated,
    spec::Spec,
};
use sched_distill_dag::{self as dag, Dag};
use sched_distill_deadlines::{self as deadlines, Deadlines};
use sched_distill_foreign as foreign;
use sched_distill_pipeline::{Attack, Entry, Registry};
use sched_distill_preemption::{self as preemption, Preemption};
use sched_distill_serving::{self as serving, Serving};
use sched_distill_training::{self as training, Training};

/// Spark-like jobs.
pub static DAG: Entry<Dag> = Entry {
    teacher: dag::policies::TEACHER,
    baselines: dag::policies::BASELINES,
    policies: || foreign::policies::beside(dag::policies::POLICIES),
    open: |spec| foreign::policies::open_beside(spec, dag::policies::POLICIES),
    attack: Some(Attack::new()),
};

/// Deep-learning training jobs.
pub static TRAINING: Entry<Training> = Entry {
    teacher: training::policies::TEACHER,
    baselines: training::policies::BASELINES,
    policies: || foreign::policies::beside(training::policies::POLICIES),
    open: |spec| foreign::policies::open_beside(spec, training::policies::POLICIES),
    attack: Some(Attack::new()),
};

/// Elastic training jobs with deadlines.
pub static DEADLINES: Entry<Deadlines> = Entry {
    teacher: deadlines::policies::TEACHER,
    baselines: deadlines::policies::BASELINES,
    policies: || foreign::policies::beside(deadlines::policies::POLICIES),
    open: |spec| foreign::policies::open_beside(spec, deadlines::policies::POLICIES),
    attack: Some(Attack::new()),
};

/// Training jobs on GPUs that are suspended and resumed at a price.
pub static PREEMPTION: Entry<Preemption> = Entry {
    teacher: preemption::policies::TEACHER,
    baselines: preemption::policies::BASELINES,
    policies: || foreign::policies::beside(preemption::policies::POLICIES),
    open: |spec| foreign::policies::open_beside(spec, preemption::policies::POLICIES),
    attack: Some(Attack::new()),
};

/// Inference requests in batches on accelerators that applications share.
pub static SERVING: Entry<Serving> = Entry {
    teacher: serving::policies::TEACHER,
    baselines: serving::policies::BASELINES,
    policies: || foreign::policies::beside(serving::policies::POLICIES),
    open: |spec| foreign::policies::open_beside(spec, serving::policies::POLICIES),
    attack: Some(Attack::new()),
};

/// All scenarios there are.
#[must_use]
pub fn all() -> Registry {
    Registry::new(&[&DAG, &TRAINING, &DEADLINES, &PREEMPTION, &SERVING])
}

/// A scenario that is registered here, by its type.
pub trait Registered: Simulated {
    /// Its entry.
    fn entry() -> &'static Entry<Self>;

    /// Opens the policy that a spec names.
    ///
    /// # Errors
    ///
    /// An unknown name or parameter, or a file that cannot be used.
    fn open(spec: &Spec) -> Result<Box<dyn Policy<Self>>, PolicyError> {
        (Self::entry().open)(spec)
    }
}

impl Registered for Dag {
    fn entry() -> &'static Entry<Self> {
        &DAG
    }
}

impl Registered for Deadlines {
    fn entry() -> &'static Entry<Self> {
        &DEADLINES
    }
}

impl Registered for Preemption {
    fn entry() -> &'static Entry<Self> {
        &PREEMPTION
    }
}

impl Registered for Serving {
    fn entry() -> &'static Entry<Self> {
        &SERVING
    }
}

impl Registered for Training {
    fn entry() -> &'static Entry<Self> {
        &TRAINING
    }
}
