//! A scenario as a scorer sees it that is trained: tables, costs and figures, whatever its types.

use super::{
    Clock, Lessons, LessonsError, ModeResult, Practice, Replay, Survey, Validator,
    play::{Driver, play},
    survey::survey,
};
use sched_distill_core::{
    figure::Figure,
    level::FeatureSet,
    network::scorer::{ScorerPolicy, ScorerWeights},
    policy::Policy,
    rng::EpisodeId,
    simulation::{Simulated, Workload},
};
use sched_distill_trace::{
    Source,
    recorder::{EpisodeError, Episodes, RecordError, RolloutError, policy_source, workload_source},
};
use std::sync::{Arc, atomic::AtomicBool};

/// Why there is nothing to practise on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PracticeError {
    /// An episode failed.
    #[error("a practice episode failed")]
    Episode(#[from] EpisodeError),
    /// A validation failed, or was interrupted.
    #[error(transparent)]
    Rollout(#[from] RolloutError),
    /// The trace to learn from does not fit.
    #[error(transparent)]
    Lessons(#[from] LessonsError),
    /// A file that a policy or workload names cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),
}

/// Who plays a practice episode, and which one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Turn {
    /// What is to be learned: what the network does itself, or what the teacher of the lessons does; in the second case, whether it also
    /// schedules.
    pub taught: Option<bool>,
    /// Where it comes from: workloads come in turn, by this number.
    pub workload: u32,
    /// The episode; those of a trace come in turn, by its number.
    pub episode: EpisodeId,
    /// The seed of the network's draws.
    pub draws: u64,
}

/// [`Ground`], whatever its types.
pub trait AnyGround: Sync {
    /// Levels and features.
    fn feature_set(&self) -> &'static FeatureSet;

    /// What schedulers are judged by.
    fn objective(&self) -> &'static Figure;

    /// How many workloads there are.
    fn workloads(&self) -> usize;

    /// Whether there is somebody to imitate.
    fn has_lessons(&self) -> bool;

    /// What validations compare with.
    fn reference(&self) -> &str;

    /// What makes this ground this one.
    ///
    /// # Errors
    ///
    /// A file that cannot be read.
    fn sources(&self) -> Result<GroundSources, PracticeError>;

    /// Means, scales and units, from the first training episodes of each workload under the policy of the lessons, else under the
    /// reference.
    ///
    /// # Errors
    ///
    /// A failing episode, or an interruption.
    fn survey(&self, seed: u64, episodes: u32, stop: &AtomicBool) -> Result<Survey, PracticeError>;

    /// Plays an episode with these weights.
    ///
    /// # Errors
    ///
    /// A failing episode.
    fn play(&self, weights: &Arc<ScorerWeights>, turn: Turn, clock: Clock) -> Result<Practice, PracticeError>;

    /// Gets ready to judge networks by these episodes of each workload.
    ///
    /// # Errors
    ///
    /// A failing episode, or an interruption.
    fn examiner<'a>(&'a self, episodes: Episodes, stop: &'a AtomicBool) -> Result<Box<Examiner<'a>>, PracticeError>;
}

/// What makes a ground what it is, with the hashes of all files.
#[derive(Clone, Debug, PartialEq)]
pub struct GroundSources {
    /// By workload.
    pub workloads: Vec<Source>,
    /// Whom validations compare with.
    pub reference: Source,
    /// Whom to imitate: a policy, or the folder of a trace with its hash.
    pub teacher: Option<Source>,
}

/// Judges a network, greedy or sampling.
pub type Examiner<'a> = dyn Fn(&Arc<ScorerWeights>, bool) -> Result<ModeResult, PracticeError> + Sync + 'a;

/// Workloads, whom to imitate, and whom to compare with.
pub struct Ground<S: Simulated> {
    /// The workloads with their specs.
    pub workloads: (Vec<String>, Vec<Workload<S>>),
    /// The reference with its spec.
    pub reference: (String, Box<dyn Policy<S>>),
    /// Whom to imitate, and its spec or folder.
    pub lessons: Option<(String, Lessons<S>)>,
}

impl<S: Simulated> AnyGround for Ground<S> {
    fn feature_set(&self) -> &'static FeatureSet {
        (S::INFO.feature_set)()
    }

    fn objective(&self) -> &'static Figure {
        const { &S::INFO }.objective()
    }

    fn workloads(&self) -> usize {
        self.workloads.1.len()
    }

    fn has_lessons(&self) -> bool {
        self.lessons.is_some()
    }

    fn reference(&self) -> &str {
        &self.reference.0
    }

    fn sources(&self) -> Result<GroundSources, PracticeError> {
        let named = self.workloads.0.iter().zip(&self.workloads.1);
        let teacher = self.lessons.as_ref().map(|(id, lessons)| lessons.source(id));
        Ok(GroundSources {
            workloads: named.map(|(id, workload)| workload_source::<S>(id, workload)).collect::<Result<_, _>>()?,
            reference: policy_source(&self.reference.0, &*self.reference.1)?,
            teacher: teacher.transpose()?,
        })
    }

    fn survey(&self, seed: u64, episodes: u32, stop: &AtomicBool) -> Result<Survey, PracticeError> {
        let policy = match &self.lessons {
            Some((_, Lessons::Policy(teacher))) => &**teacher,
            _ => &*self.reference.1,
        };
        survey::<S>(&self.workloads.1, policy, (seed, episodes), stop)
    }

    fn play(&self, weights: &Arc<ScorerWeights>, turn: Turn, clock: Clock) -> Result<Practice, PracticeError> {
        let mut network = ScorerPolicy::<S>::new(Arc::clone(weights), true).may_strand();
        let workload = &self.workloads.1[turn.workload as usize % self.workloads.1.len()];
        let id = (turn.episode, turn.draws);
        Ok(match (turn.taught, &self.lessons) {
            (Some(schedules), Some((_, Lessons::Policy(teacher)))) => {
                let mut teacher = teacher.fresh();
                let driver = if schedules { Driver::Taught(&mut *teacher) } else { Driver::Watched(&mut *teacher) };
                play::<S>(workload, &mut network, driver, id, clock)?
            }
            (Some(_), Some((_, Lessons::Trace(recorded)))) => {
                let episode = &recorded.episodes[turn.episode.episode as usize % recorded.episodes.len()];
                let mut replay = Replay::new(episode);
                let id = (episode.id, turn.draws);
                play::<S>(&recorded.workload, &mut network, Driver::Taught(&mut replay), id, clock)?
            }
            _ => play::<S>(workload, &mut network, Driver::Own, id, clock)?,
        })
    }

    fn examiner<'a>(&'a self, episodes: Episodes, stop: &'a AtomicBool) -> Result<Box<Examiner<'a>>, PracticeError> {
        let (name, reference) = &self.reference;
        let validator = Validator::<S>::new(&self.workloads.1, (name, &**reference), episodes, stop)?;
        Ok(Box::new(move |weights, sample| {
            // As it will schedule: what strands the cluster is not done.
            let network = ScorerPolicy::<S>::new(Arc::clone(weights), sample);
            Ok(validator.judge(&network, stop)?)
        }))
    }
}
