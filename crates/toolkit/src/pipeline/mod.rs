//! The steps from a recording to a report as functions: plain parameters, typed results, one way to show progress and one to
//! stop. The command line parses, calls them and prints.

mod fit;
mod front;
mod tables;

pub use fit::{FitPlan, Fitted, SizeChoice, fit};
pub use front::{Front, MAX_SIZE};
pub use tables::{provenance, tables};

use crate::{distiller::FitError, trace::TraceError};
use sched_distill_core::rng::Split;
use std::{
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
};

/// Is told what goes on. Every method may do nothing, as those of `()` do.
pub trait Watch: Sync {
    /// A line for people.
    fn note(&self, _line: &str) {}

    /// So many steps follow.
    fn steps(&self, _count: usize) {}

    /// One of the steps begins; the one before is done.
    fn step(&self, _what: &str) {}
}

impl Watch for () {}

/// Who a step works for: who is told what goes on, and may stop it.
#[derive(Clone, Copy)]
pub struct Caller<'a> {
    /// Is told what goes on.
    pub watch: &'a dyn Watch,
    /// Once this is true, the step ends with [`PipelineError::Interrupted`].
    pub stop: &'a AtomicBool,
}

impl Caller<'_> {
    /// # Errors
    ///
    /// [`PipelineError::Interrupted`] once the caller wants the step to end.
    pub fn check(&self) -> Result<(), PipelineError> {
        match self.stop.load(Ordering::Relaxed) {
            true => Err(PipelineError::Interrupted),
            false => Ok(()),
        }
    }
}

/// Why a step has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PipelineError {
    /// The caller wanted it to end.
    #[error("interrupted")]
    Interrupted,
    /// A trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A parameter that no fit can have.
    #[error(transparent)]
    Params(FitError),
    /// A fit failed.
    #[error("{}: cannot fit", trace.display())]
    Fit {
        /// Directory of the trace.
        trace: PathBuf,
        /// The cause.
        #[source]
        source: FitError,
    },
    /// Traces that do not belong together.
    #[error("the validation trace has other features than the training trace: {0}")]
    OtherFeatures(String),
    /// Models would be chosen on what they were fitted on.
    #[error("the validation trace has the same episodes as the training trace; record another split ({} was recorded)", .0.name())]
    SameEpisodes(Split),
    /// Nothing is left to choose on.
    #[error("one episode cannot be divided into training and validation; record more, or give a validation trace")]
    OneEpisode,
    /// Too little for one model per level.
    #[error("a size of {most} is too small: {levels} levels need a size of at least 1 each")]
    TooSmall {
        /// The size that was allowed.
        most: usize,
        /// Number of levels.
        levels: usize,
    },
    /// A level is left without a model.
    #[error("level `{0}`: none of the learners found a model; add the learner `tree`")]
    NoModel(String),
    /// A demand on choices that there are none of.
    #[error("no choices of level `{level}`, kind `{kind}`; levels are {levels}, kinds {kinds}")]
    NoSuchChoices {
        /// Level that was named.
        level: String,
        /// Kind that was named.
        kind: String,
        /// Levels that there are.
        levels: String,
        /// Kinds that there are.
        kinds: String,
    },
    /// Models are to be chosen by a figure that none of them has.
    #[error(
        "no model of level `{level}` has the figure {figure}, which needs a teacher with probabilities; choose top1 or top3"
    )]
    NoFigure {
        /// Level.
        level: String,
        /// The figure.
        figure: &'static str,
    },
    /// A demand that no model meets.
    #[error("{demand} is out of reach: the best of all sizes is {best}; lower it, or raise the size (--max-size)")]
    OutOfReach {
        /// The demand, e.g. `job/free/top1=0.9`.
        demand: String,
        /// What the best model comes to.
        best: String,
    },
    /// Demands that can be met, but not within the size.
    #[error(
        "no models of total size {0} or less meet all demands and have a figure to go by; allow a larger size (--max-size)"
    )]
    NoneWithin(usize),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        distiller::{By, FitParams, Gate, Learner},
        recorder::{RecordRequest, record},
        trace::{Shard, Trace},
    };
    use sched_distill_dag::{policies, workload};
    use std::{path::Path, sync::Mutex};

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    fn trace(dir: &Path, seed: u64) -> Result<Trace, Box<dyn std::error::Error>> {
        let (policy_id, workload_id) = ("sjf-cp,temperature=0.3", "builtin,jobs=6,executors=4,rate=2e-4");
        let request = RecordRequest {
            policy_id,
            policy: &*policies::open(&policy_id.parse()?)?,
            workload_id,
            workload: &*workload::open(&workload_id.parse()?)?,
            seed,
            split: Split::Train,
            episodes: 6,
            shard: Shard::WHOLE,
            force: false,
        };
        record(dir, &request, &(), &AtomicBool::new(false))?;
        Ok(Trace::open(dir)?)
    }

    /// Writes down what it is told, and stops after so many steps.
    struct Told {
        lines: Mutex<Vec<String>>,
        stop: AtomicBool,
        patience: usize,
    }

    impl Watch for Told {
        fn steps(&self, count: usize) {
            self.lines.lock().unwrap().push(format!("{count} steps"));
        }

        fn step(&self, what: &str) {
            let mut lines = self.lines.lock().unwrap();
            lines.push(what.to_owned());
            self.stop.store(lines.len() > self.patience, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_fit_by_size_tells_its_steps_and_ends_when_it_is_to_end() -> Outcome {
        let dir = tempfile::tempdir()?;
        let trace = trace(dir.path(), 1)?;
        let params = FitParams { learners: vec![Learner::Tree], used: "tree".into(), ..FitParams::default() };
        let size = SizeChoice { most: Some(12), by: By::Top1, gates: Vec::new() };
        let plan = FitPlan { params, size: Some(size) };
        let told = |patience| Told { lines: Mutex::default(), stop: AtomicBool::new(false), patience };
        let all = told(usize::MAX);
        let fitted = fit(&trace, None, &plan, Caller { watch: &all, stop: &all.stop })?;
        assert!((3..=12).contains(&fitted.student.size()), "{}", fitted.student.size());
        assert!(fitted.fidelity.iter().any(|row| row.level == "job" && row.choices > 0));
        assert_eq!(all.lines.into_inner()?, ["3 steps", "job: tree", "stage: tree", "amount: tree"]);
        let some = told(1);
        let ended = fit(&trace, None, &plan, Caller { watch: &some, stop: &some.stop });
        assert!(matches!(ended, Err(PipelineError::Interrupted)), "{ended:?}");
        assert_eq!(some.lines.into_inner()?, ["3 steps", "job: tree"]);
        Ok(())
    }

    #[test]
    fn what_cannot_be_is_refused_in_words() -> Outcome {
        let dir = tempfile::tempdir()?;
        let trace = trace(dir.path(), 1)?;
        let stop = AtomicBool::new(false);
        let refused = |validation, plan: &FitPlan| {
            let caller = Caller { watch: &(), stop: &stop };
            fit(&trace, validation, plan, caller).err().map(|e| e.to_string()).unwrap_or_default()
        };
        let plain = FitPlan::default();
        assert!(refused(Some(&trace), &plain).contains("has the same episodes as the training trace"));
        let sized = |most, bound| {
            let gate = Gate { level: "job".into(), kind: "all".into(), by: By::Top1, bound };
            FitPlan { size: Some(SizeChoice { most, by: By::Top1, gates: vec![gate] }), ..FitPlan::default() }
        };
        assert_eq!(
            refused(None, &sized(Some(2), 0.0)),
            "a size of 2 is too small: 3 levels need a size of at least 1 each"
        );
        let found = refused(None, &sized(None, 1.5));
        assert!(found.starts_with("job/all/top1=1.5 is out of reach: the best of all sizes is 0."), "{found}");
        Ok(())
    }
}
