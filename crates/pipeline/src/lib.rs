//! The steps from a recording to a report as functions: plain parameters, typed results, one way to show progress and
//! one to stop. The command line parses, calls them and prints.

mod advice;
mod as_recorded;
mod attack;
mod attacked;
mod augment;
mod beside;
mod certify;
mod chance;
mod check;
mod compare;
mod edit;
mod entry;
mod error;
mod evaluate;
mod exceptions;
mod explain;
mod files;
mod fit;
mod front;
mod history;
mod identify;
mod latency;
mod live;
mod loops;
mod measure;
mod practice;
mod record;
mod registry;
mod rules;
mod run_dir;
mod serve;
mod shadow;
mod stability;
mod stand_in;
mod tables;

pub use advice::{Advice, Belief, Period};
pub use attack::{Attack, AttackRequest, Attacked, OnStudent, attack};
pub use attacked::{AttackedScheduler, Attacks, CertifiedStudent, Parties};
pub use augment::{AugmentRequest, Augmented, Hear, augment};
pub use beside::{Compared, Measurements, beside, beside_in_loops, write_compared};
pub use certify::{Certified, CertifyRequest, certify};
pub use check::{CheckParams, Checked, check_policy};
pub use compare::{AS_RECORDED, CompareParams, Comparison, Contender, best_heuristic, compare, with_edge_cases};
pub use edit::{FidelityChange, agreement_of, fidelity_change};
pub use entry::Entry;
pub use error::PipelineError;
pub use evaluate::{ClosedLoopParams, EvaluateParams, Evaluated, Gates, Part, evaluate};
pub use exceptions::{LevelRule, RulesWithExceptions, with_exceptions};
pub use explain::{ExplainParams, Explained, OneChoice, explain, explain_choice};
pub use fit::{FitPlan, Fitted, Ladder, SizeChoice, USUAL_SIZE, fidelity_of, fit, fit_on, prefer_the_best_schedule};
pub use front::{Front, FrontLoop, FrontParams, MAX_SIZE, SizedStudent, front};
pub use history::{LogParams, ReplayError, Survey};
pub use identify::{Identities, Identity, InRegime, identify, regime_of};
pub use latency::{DecisionTime, Latency};
pub use live::{Live, LiveCell, LiveKind, LivePolicy, LiveRun};
pub use loops::{LoopParams, run_loop};
pub use measure::{MeasureParams, Measured, measure, whole_decisions};
pub use practice::{PracticeParams, ground, practice};
pub use record::{RecordParams, record};
pub use registry::{AnyScenario, Registry};
pub use rules::{KnownRule, known_rules};
pub use run_dir::{FileHash, Known, RUN_FORMAT, RunDir, RunInfo, SplitInfo, TeacherInfo, Visit, command_line, quoted};
pub use serve::{Pipes, ServeParams, serve};
pub use shadow::{ShadowReport, reads, shadow_report};
pub use stability::{Resampling, resampled};
pub use tables::{Lessons, NUMBERS_TO_CHOOSE_ON, check_together, first_held_out, tables};

use sched_distill_trace::recorder::Progress;
use std::{
    ops::ControlFlow,
    sync::atomic::{AtomicBool, Ordering},
};

/// Is told what goes on. Every method may do nothing, as those of `()` do.
pub trait Watch: Progress {
    /// A line for people.
    fn note(&self, _line: &str) {}

    /// So many steps follow.
    fn steps(&self, _count: usize) {}

    /// One of the steps begins; the one before is done.
    fn step(&self, _what: &str) {}

    /// So many episodes follow, each of which is told by [`Progress::episode`].
    fn episodes(&self, _what: &str, _count: u64) {}

    /// So many rows are read now, in one pass over the traces.
    fn pass(&self, _what: &str, _rows: u64) {}

    /// The steps, the episodes or the pass are done.
    fn done(&self) {}
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

/// Whether a step goes on after somebody heard of a part of it.
fn go_on(heard: ControlFlow<()>) -> Result<(), PipelineError> {
    match heard {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(PipelineError::Interrupted),
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use sched_distill_core::rng::Split;
    use sched_distill_dag::{policies, workload};
    use sched_distill_learn::{By, FitParams, Gate, Learner, is_usable};
    use sched_distill_trace::{
        LevelTable, Outline, Shard, Trace,
        recorder::{RecordRequest, record},
    };
    use std::{path::Path, sync::Mutex};

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    fn trace(dir: &Path, seed: u64) -> Result<Trace, Box<dyn std::error::Error>> {
        let (policy_id, workload_id) = ("sjf-cp,temperature=0.3", "builtin,jobs=6,executors=4,rate=2e-4");
        let request = RecordRequest {
            policy_id,
            policy: &*policies::open(&policy_id.parse()?)?,
            labeller: None,
            workload_id,
            workload: &workload::open(&workload_id.parse()?)?,
            seed,
            split: Split::Train,
            first_episode: 0,
            episodes: 6,
            shard: Shard::WHOLE,
            force: false,
        };
        record(dir, &request, &(), &AtomicBool::new(false))?;
        Ok(Trace::open(dir)?)
    }

    #[test]
    fn several_traces_are_learnt_from_as_if_they_were_one() -> Outcome {
        let dir = tempfile::tempdir()?;
        let of = |seed: u64| trace(&dir.path().join(seed.to_string()), seed);
        let (a, b, held) = (of(1)?, of(2)?, of(3)?);
        let others = [&b];
        let both = Lessons::new(&a, &others)?;
        let caller = Caller { watch: &(), stop: &AtomicBool::new(false) };
        let [train, validation] = tables(both, Some(&held), None, caller)?;
        for (i, level) in a.manifest.feature_set.levels.iter().enumerate() {
            let mut all = a.level(&level.name)?;
            all.append(b.level(&level.name)?);
            assert_eq!(train[i], all);
            assert_eq!(both.outlines(&level.name)?, all.iter().map(|c| Outline::of(&c)).collect::<Vec<_>>());
            assert_eq!(validation[i], held.level(&level.name)?);
        }
        let plan = FitPlan { params: FitParams { max_leaf_nodes: 4, ..FitParams::default() }, size: None };
        let student = fit(both, Some(&held), &plan, caller)?.student;
        assert_eq!(student.provenance.trace_hash, both.hash());
        assert_ne!(both.hash(), Lessons::from(&a).hash());
        assert_eq!(Lessons::from(&a).hash(), a.hash);
        // Fitted again on what it was fitted on, and on that alone.
        let params = Resampling { resamples: 2, choices: 50, seed: 1 };
        assert!(!resampled(&student, both, &held, params, caller)?.is_empty());
        assert!(resampled(&student, (&a).into(), &held, params, caller)?.is_empty());
        Ok(())
    }

    #[test]
    fn of_many_rows_to_choose_on_choices_are_drawn_that_stand_for_all() -> Outcome {
        let dir = tempfile::tempdir()?;
        let held = trace(dir.path(), 3)?;
        let caller = Caller { watch: &(), stop: &AtomicBool::new(false) };
        let read = |from, most| tables::to_choose_on(&held, "stage", (from, most), caller);
        let all = held.level("stage")?;
        assert_eq!(read(0, all.rows())?, all);
        let late = all.select(|episode| episode >= 4);
        assert_eq!(read(4, late.rows())?, late);
        let few = read(4, late.rows() / 3)?;
        assert!(few.choices.len() * 3 <= late.choices.len(), "{} of {}", few.choices.len(), late.choices.len());
        let weight =
            |table: &LevelTable| -> f64 { table.iter().filter(is_usable).map(|c| f64::from(c.header.weight)).sum() };
        assert!((weight(&few) / weight(&late) - 1.0).abs() < 1e-4, "{} of {}", weight(&few), weight(&late));
        for choice in few.iter() {
            let there = late.iter().find(|c| c.header.id == choice.header.id).ok_or("drawn from elsewhere")?;
            assert!(is_usable(&there) && there.x == choice.x && there.log_prob == choice.log_prob);
        }
        Ok(())
    }

    #[test]
    fn traces_that_do_not_belong_together_are_refused() -> Outcome {
        let dir = tempfile::tempdir()?;
        let a = trace(&dir.path().join("a"), 1)?;
        let mut of_another = a.clone();
        (of_another.hash, of_another.manifest.labeller.id) = ("other".to_owned(), "fifo".to_owned());
        let refused = |other: &Trace| Lessons::new(&a, &[other]).unwrap_err().to_string();
        assert!(refused(&a).ends_with("not to be learnt from together: they are the same trace"), "{}", refused(&a));
        assert!(refused(&of_another).contains("the second by fifo or another file of this name"));
        let b = trace(&dir.path().join("b"), 2)?;
        let others = [&b];
        let both = Lessons::new(&a, &others)?;
        let caller = Caller { watch: &(), stop: &AtomicBool::new(false) };
        let refused = |validation| fit(both, validation, &FitPlan::default(), caller).unwrap_err().to_string();
        assert_eq!(refused(None), "which episodes of 2 traces to choose on is not clear; give a trace of others");
        assert!(refused(Some(&b)).contains("has the same episodes as the training trace"));
        Ok(())
    }

    /// Writes down what it is told, and stops after so many steps.
    struct Told {
        lines: Mutex<Vec<String>>,
        stop: AtomicBool,
        patience: usize,
    }

    impl Progress for Told {
        fn episode(&self, _: u64) {}
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
        let size = SizeChoice { most: Some(12), by: Some(By::Top1), gates: Vec::new(), ladder: true };
        let plan = FitPlan { params, size: Some(size) };
        let told = |patience| Told { lines: Mutex::default(), stop: AtomicBool::new(false), patience };
        // One thread: several tell of their steps in the order in which they come to them.
        let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
        let fit_told = |told: &Told| {
            one_thread.install(|| fit((&trace).into(), None, &plan, Caller { watch: told, stop: &told.stop }))
        };
        let all = told(usize::MAX);
        let fitted = fit_told(&all)?;
        assert!((3..=12).contains(&fitted.student.size()), "{}", fitted.student.size());
        assert!(fitted.fidelity.iter().any(|row| row.level == "job" && row.choices > 0));
        assert_eq!(all.lines.into_inner()?, ["3 steps", "job: tree", "stage: tree", "amount: tree"]);
        let some = told(1);
        let ended = fit_told(&some);
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
            fit((&trace).into(), validation, plan, caller).err().map(|e| e.to_string()).unwrap_or_default()
        };
        let plain = FitPlan::default();
        assert!(refused(Some(&trace), &plain).contains("has the same episodes as the training trace"));
        let sized = |most, bound| {
            let gate = Gate { level: "job".into(), kind: "all".into(), by: By::Top1, bound };
            FitPlan { size: Some(SizeChoice { most, by: None, gates: vec![gate], ladder: true }), ..FitPlan::default() }
        };
        assert_eq!(
            refused(None, &sized(Some(2), 0.0)),
            "a size of 2 is too small: 3 levels need a size of at least 1 each"
        );
        let found = refused(None, &sized(None, 1.5));
        assert!(found.starts_with("job/all/top1=1.5 is out of reach: the best of all sizes is "), "{found}");
        Ok(())
    }
}
