//! The network as the scheduler of any scenario.

use super::{super::Tensors, Scorer, ScorerWeights};
use crate::{
    policy::{ByLevel, LevelScores, NotFinite, Policy, PolicyError, PolicyInfo, Sort, pick::Picker},
    scenario::{Questions, Said, Scenario},
    spec::{Spec, SpecError},
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// A scorer in a list of policies, the same in every scenario.
pub const SCORER: PolicyInfo = PolicyInfo::new(
    Sort::Network,
    "scorer:FILE[,mode=greedy|sample]",
    "a network over the features of the scenario, trained by `distill train scorer` (docs/scorer.md)",
);

/// The same where a checkpoint comes with the program, see [`open_scorer_or`], with the name of that network.
#[must_use]
pub const fn scorer_or(checkpoint: &'static [u8], name: &'static str) -> PolicyInfo {
    PolicyInfo::new(
        Sort::Network,
        "scorer[:FILE][,mode=greedy|sample]",
        "a network over the features of the scenario, trained by `distill train scorer`; without a file the one that comes with the program",
    )
    .with_built_in(checkpoint)
    .called(name)
}

/// What the weights that come with the program are called.
const BUILT_IN: &str = "built in";

/// Opens a scorer.
///
/// # Errors
///
/// A file that is no scorer for this scenario, or an unknown parameter.
pub fn open_scorer<S: Scenario>(spec: &Spec) -> Result<Box<dyn Policy<S>>, PolicyError> {
    let path = spec.require_file("a checkpoint written by `distill train scorer`")?;
    Ok(Box::new(ScorerPolicy::load(path, draws(spec)?)?))
}

/// Whether a spec asks for decisions to be drawn; it has no other parameter.
fn draws(spec: &Spec) -> Result<bool, SpecError> {
    let mut args = spec.args();
    let sample = args.word("mode", &["greedy", "sample"])? == "sample";
    args.finish()?;
    Ok(sample)
}

/// As [`open_scorer`]; without a file it is the network that comes with the program, `built_in`, the bytes of such a checkpoint.
///
/// # Errors
///
/// As for [`open_scorer`].
pub fn open_scorer_or<S: Scenario>(spec: &Spec, built_in: &'static [u8]) -> Result<Box<dyn Policy<S>>, PolicyError> {
    match spec.file {
        Some(_) => open_scorer(spec),
        None => Ok(Box::new(ScorerPolicy::built_in(built_in, draws(spec)?)?)),
    }
}

/// The network asked level by level, the best candidate or one drawn by its probability ([`ByLevel`]).
pub struct ScorerPolicy<S: Scenario> {
    network: Network,
    /// `None` for weights in memory.
    path: Option<PathBuf>,
    /// SHA-256 of weights that come with the program.
    built_in: Option<String>,
    picker: Picker,
    levels: ByLevel<S>,
}

/// The network, and features on their way to it.
struct Network {
    scorer: Scorer,
    x: Vec<f32>,
}

impl<S: Scenario> LevelScores<S> for Network {
    fn scores(&mut self, seen: &S::View<'_>, questions: &mut S::Questions, path: &[usize]) -> &[f32] {
        if let [.., taken] = *path {
            self.scorer.take(path.len() - 1, taken);
        }
        self.x.clear();
        match questions.rows(seen, path, false, &mut self.x) {
            0 => &[],
            _ => self.scorer.score(path.len(), &self.x),
        }
    }
}

impl<S: Scenario> ScorerPolicy<S> {
    /// Loads a checkpoint.
    ///
    /// # Errors
    ///
    /// A file that is no scorer, or one of other features than this build extracts.
    pub fn load(path: &Path, sample: bool) -> Result<Self, PolicyError> {
        let tensors = Tensors::load(path)?;
        let weights = ScorerWeights::from_tensors(&tensors, &path.display().to_string())?;
        weights.check((S::INFO.feature_set)(), &path.display().to_string())?;
        Ok(Self { path: Some(path.to_owned()), ..Self::new(Arc::new(weights), sample) })
    }

    /// The checkpoint that comes with the program.
    ///
    /// # Errors
    ///
    /// Bytes that are no scorer, or one of other features than this build extracts.
    pub fn built_in(bytes: &'static [u8], sample: bool) -> Result<Self, PolicyError> {
        let tensors = Tensors::from_bytes(bytes, BUILT_IN)?;
        let weights = ScorerWeights::from_tensors(&tensors, BUILT_IN)?;
        weights.check((S::INFO.feature_set)(), BUILT_IN)?;
        let hash = tensors.sha256().to_owned();
        Ok(Self { built_in: Some(hash), ..Self::new(Arc::new(weights), sample) })
    }

    /// A scheduler with weights in memory, of the scenario's feature set.
    #[must_use]
    pub fn new(weights: Arc<ScorerWeights>, sample: bool) -> Self {
        Self {
            network: Network { scorer: Scorer::new(weights), x: Vec::new() },
            path: None,
            built_in: None,
            picker: Picker::new(sample, "scorer"),
            levels: ByLevel::default(),
        }
    }

    /// Lets it decide as the network says even where that strands the cluster. Training needs that: the network is to see what comes
    /// of its choices.
    #[must_use]
    pub fn may_strand(self) -> Self {
        Self { levels: self.levels.may_strand(true), ..self }
    }

    /// One for another thread.
    fn copy(&self) -> Self {
        let fresh = Self::new(Arc::clone(self.weights()), !self.picker.is_greedy());
        let levels = fresh.levels.may_strand(self.levels.is_careless());
        Self { path: self.path.clone(), built_in: self.built_in.clone(), levels, ..fresh }
    }

    /// Its weights.
    #[must_use]
    pub fn weights(&self) -> &Arc<ScorerWeights> {
        self.network.scorer.weights()
    }

    /// Decides without saying how probable other decisions were.
    ///
    /// # Errors
    ///
    /// [`PolicyError::NotFinite`].
    pub fn act(&mut self, seen: &S::View<'_>) -> Result<S::Decision, PolicyError> {
        let decision = self.levels.act(seen, &mut self.network, &mut self.picker);
        decision.map_err(|NotFinite| self.not_finite(seen))
    }

    /// Candidates taken at the question that was last given to [`ScorerPolicy::act`] or [`ScorerPolicy::follow`], level by level.
    #[must_use]
    pub fn taken(&self) -> &[usize] {
        self.levels.taken()
    }

    /// Looks at the choices along the path of a decision, as somebody else takes it; `false` if it has none. [`ScorerPolicy::taken`],
    /// [`ScorerPolicy::given_at`] and [`ScorerPolicy::log_prob`] then speak of these.
    ///
    /// # Errors
    ///
    /// [`PolicyError::NotFinite`].
    pub fn follow(&mut self, seen: &S::View<'_>, decision: S::Decision) -> Result<bool, PolicyError> {
        self.levels.follow(seen, &mut self.network, decision).map_err(|NotFinite| self.not_finite(seen))
    }

    /// What the network was given at a level of that question, shape `(candidates, features)`.
    #[must_use]
    pub fn given_at(&self, level: usize) -> &[f32] {
        self.network.scorer.given(level)
    }

    /// How probable the candidates taken there were together, as the network has it.
    #[must_use]
    pub fn log_prob(&self) -> f64 {
        self.levels.log_prob()
    }

    fn not_finite(&self, seen: &S::View<'_>) -> PolicyError {
        let policy = self.path.as_ref().map_or("scorer".to_owned(), |path| format!("scorer:{}", path.display()));
        PolicyError::NotFinite { policy, time_ms: S::time_ms(seen) }
    }
}

impl<S: Scenario> Policy<S> for ScorerPolicy<S> {
    fn fresh(&self) -> Box<dyn Policy<S>> {
        Box::new(self.copy())
    }

    fn reset(&mut self, episode_seed: u64) {
        self.picker.reset(episode_seed);
    }

    fn decide(&mut self, seen: &S::View<'_>, said: &mut Said) -> Result<S::Decision, PolicyError> {
        let answer = self.levels.answer(seen, &mut self.network, &mut self.picker, said);
        answer.map_err(|NotFinite| self.not_finite(seen))
    }

    fn given(&mut self, seen: &S::View<'_>, decision: S::Decision, said: &mut Said) -> Result<(), PolicyError> {
        self.levels.given(seen, &mut self.network, decision, said).map_err(|NotFinite| self.not_finite(seen))
    }

    fn forgets(&self) -> bool {
        self.picker.is_greedy()
    }

    fn files(&self) -> Vec<PathBuf> {
        self.path.iter().cloned().collect()
    }

    fn fingerprint(&self) -> Option<(String, String)> {
        self.built_in.clone().map(|hash| ("built-in weights".to_owned(), hash))
    }
}
