//! The network as the scheduler of any scenario.

use super::{super::Tensors, Scorer, ScorerWeights};
use crate::{
    level::log_sum_exp,
    policy::{
        Policy, PolicyError, PolicyInfo, Sort,
        pick::{Picker, log_softmax},
    },
    scenario::{ChoiceRows, Questions, Scenario},
    spec::{Spec, SpecError},
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// A scorer in a list of policies, the same in every scenario.
pub const SCORER: PolicyInfo = PolicyInfo {
    name: "scorer",
    sort: Sort::Network,
    usage: "scorer:FILE[,mode=greedy|sample]",
    meaning: "a network over the features of the scenario, trained by `distill train scorer` (docs/scorer.md)",
};

/// The same where a network comes with the program, see [`open_scorer_or`].
pub const SCORER_OR_BUILT_IN: PolicyInfo = PolicyInfo {
    usage: "scorer[:FILE][,mode=greedy|sample]",
    meaning: "a network over the features of the scenario, trained by `distill train scorer`; without a file the one that comes with the program",
    ..SCORER
};

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

/// The network asked level by level, the best candidate or one drawn by its probability.
///
/// A decision that would strand the cluster ([`Scenario::strands`]) is not taken: all levels are asked again, candidates that lead
/// there ([`Questions::strands`]) ruled out. Probabilities are then those of what is left.
pub struct ScorerPolicy<S: Scenario> {
    scorer: Scorer,
    /// `None` for weights in memory.
    path: Option<PathBuf>,
    /// SHA-256 of weights that come with the program.
    built_in: Option<String>,
    picker: Picker,
    /// See [`ScorerPolicy::may_strand`].
    may_strand: bool,
    questions: S::Questions,
    x: Vec<f32>,
    /// Candidates taken so far, level by level.
    taken: Vec<usize>,
    /// Log-probabilities of the candidates looked at last, by level, each within its choice.
    log_prob: Vec<Vec<f64>>,
    /// Levels that are told of only along what was decided: amounts.
    conditional: Vec<bool>,
    /// Whether candidates that would strand the cluster are ruled out at the question at hand.
    wary: bool,
    /// The path of a decision of somebody else, and a buffer for finding it.
    path_found: Vec<usize>,
    rows: ChoiceRows,
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
        let levels = &(S::INFO.feature_set)().levels;
        Self {
            scorer: Scorer::new(weights),
            path: None,
            built_in: None,
            picker: Picker::new(sample, "scorer"),
            may_strand: false,
            questions: S::Questions::default(),
            x: Vec::new(),
            taken: Vec::new(),
            log_prob: vec![Vec::new(); levels.len()],
            conditional: levels.iter().enumerate().map(|(i, level)| i > 0 && level.is_amount()).collect(),
            wary: false,
            path_found: Vec::new(),
            rows: ChoiceRows::default(),
        }
    }

    /// Lets it decide as the network says even where that strands the cluster. Training needs that: the network is to see what comes
    /// of its choices.
    #[must_use]
    pub fn may_strand(self) -> Self {
        Self { may_strand: true, ..self }
    }

    /// One for another thread.
    fn copy(&self) -> Self {
        let fresh = Self::new(Arc::clone(self.scorer.weights()), !self.picker.is_greedy());
        Self { path: self.path.clone(), built_in: self.built_in.clone(), may_strand: self.may_strand, ..fresh }
    }

    /// Its weights.
    #[must_use]
    pub fn weights(&self) -> &Arc<ScorerWeights> {
        self.scorer.weights()
    }

    /// Decides without saying how probable other decisions were.
    ///
    /// # Errors
    ///
    /// [`PolicyError::NotFinite`].
    pub fn act(&mut self, seen: &S::View<'_>) -> Result<S::Decision, PolicyError> {
        self.answer(seen, None)
    }

    /// Candidates taken at the question that was last given to [`ScorerPolicy::act`] or [`ScorerPolicy::follow`], level by level.
    #[must_use]
    pub fn taken(&self) -> &[usize] {
        &self.taken
    }

    /// Looks at the choices along the path of a decision, as somebody else takes it; `false` if it has none. [`ScorerPolicy::taken`],
    /// [`ScorerPolicy::given_at`] and [`ScorerPolicy::log_prob`] then speak of these.
    ///
    /// # Errors
    ///
    /// [`PolicyError::NotFinite`].
    pub fn follow(&mut self, seen: &S::View<'_>, decision: S::Decision) -> Result<bool, PolicyError> {
        self.questions.update(seen);
        self.wary = false;
        let found = self.find(seen, decision);
        if found {
            self.walk(seen, None)?;
        }
        Ok(found)
    }

    /// What the network was given at a level of that question, shape `(candidates, features)`.
    #[must_use]
    pub fn given_at(&self, level: usize) -> &[f32] {
        self.scorer.given(level)
    }

    /// How probable the candidates taken there were together, as the network has it.
    #[must_use]
    pub fn log_prob(&self) -> f64 {
        self.taken.iter().zip(&self.log_prob).map(|(&taken, log_prob)| log_prob[taken]).sum()
    }

    /// Scores the candidates at the present path; their number, 0 if the path is a whole decision.
    fn score(&mut self, seen: &S::View<'_>) -> Result<usize, PolicyError> {
        let level = self.taken.len();
        if level == self.log_prob.len() {
            return Ok(0);
        }
        self.x.clear();
        let n = self.questions.rows(seen, &self.taken, false, &mut self.x);
        if n > 0 {
            let (scores, log_prob) = (self.scorer.score(level, &self.x), &mut self.log_prob[level]);
            log_prob.clear();
            if !log_softmax(scores, log_prob) {
                return Err(self.not_finite(seen));
            }
            if self.wary {
                self.rule_out(seen, n);
            }
        }
        Ok(n)
    }

    /// Rules out candidates of the present path that would strand the cluster, if others are left.
    fn rule_out(&mut self, seen: &S::View<'_>, n: usize) {
        let Self { questions, taken, log_prob, .. } = self;
        let log_prob = &mut log_prob[taken.len()];
        let mut strands = |candidate: usize| {
            taken.push(candidate);
            let strands = questions.strands(seen, taken);
            taken.pop();
            strands
        };
        if (0..n).all(&mut strands) {
            return;
        }
        (0..n).filter(|&candidate| strands(candidate)).for_each(|c| log_prob[c] = f64::NEG_INFINITY);
        let total = log_sum_exp(log_prob);
        log_prob.iter_mut().for_each(|p| *p -= total);
    }

    /// Asks all levels, and again without what strands where that is what they say.
    fn answer(
        &mut self,
        seen: &S::View<'_>,
        mut out: Option<&mut S::Probabilities>,
    ) -> Result<S::Decision, PolicyError> {
        self.questions.update(seen);
        self.wary = false;
        let decision = self.choose(seen, out.as_deref_mut())?;
        if self.may_strand || !S::strands(seen, decision) {
            return Ok(decision);
        }
        self.wary = true;
        if let Some(out) = out.as_deref_mut() {
            S::clear(out);
        }
        self.choose(seen, out)
    }

    /// Takes a candidate of every level; probabilities of conditional levels are told on the way.
    fn choose(
        &mut self,
        seen: &S::View<'_>,
        mut out: Option<&mut S::Probabilities>,
    ) -> Result<S::Decision, PolicyError> {
        self.taken.clear();
        while let n @ 1.. = self.score(seen)? {
            self.tell_conditional(seen, out.as_deref_mut());
            let log_prob = &self.log_prob[self.taken.len()];
            let taken = if n == 1 { 0 } else { self.picker.pick(log_prob) };
            self.scorer.take(self.taken.len(), taken);
            self.taken.push(taken);
        }
        Ok(self.questions.decision(seen, &self.taken))
    }

    /// Finds the path of a decision; `false` if it has none.
    fn find(&mut self, seen: &S::View<'_>, decision: S::Decision) -> bool {
        self.questions.path(seen, decision, &mut self.rows, &mut self.path_found)
    }

    /// Takes the candidates of the path that was found.
    fn walk(&mut self, seen: &S::View<'_>, mut out: Option<&mut S::Probabilities>) -> Result<(), PolicyError> {
        self.taken.clear();
        for level in 0..self.path_found.len() {
            self.score(seen)?;
            self.tell_conditional(seen, out.as_deref_mut());
            let taken = self.path_found[level];
            self.scorer.take(level, taken);
            self.taken.push(taken);
        }
        Ok(())
    }

    fn tell_conditional(&self, seen: &S::View<'_>, out: Option<&mut S::Probabilities>) {
        let level = self.taken.len();
        if let Some(out) = out.filter(|_| self.conditional[level]) {
            self.questions.tell(seen, &self.taken, 0.0, &self.log_prob[level], out);
        }
    }

    /// Tells of the choice at the present path, which was looked at last, and of all below that are not conditional.
    fn tell(&mut self, seen: &S::View<'_>, above: f64, out: &mut S::Probabilities) -> Result<(), PolicyError> {
        let level = self.taken.len();
        self.questions.tell(seen, &self.taken, above, &self.log_prob[level], out);
        if self.conditional.get(level + 1) == Some(&false) {
            for candidate in 0..self.log_prob[level].len() {
                self.scorer.take(level, candidate);
                self.taken.push(candidate);
                if self.score(seen)? > 0 {
                    self.tell(seen, above + self.log_prob[level][candidate], out)?;
                }
                self.taken.pop();
            }
        }
        Ok(())
    }

    /// Tells of the levels from the first on, which was looked at already.
    fn tell_all(&mut self, seen: &S::View<'_>, out: &mut S::Probabilities) -> Result<(), PolicyError> {
        self.taken.clear();
        self.tell(seen, 0.0, out)
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

    fn decide(&mut self, seen: &S::View<'_>, out: &mut S::Probabilities) -> Result<S::Decision, PolicyError> {
        let decision = self.answer(seen, Some(out))?;
        self.tell_all(seen, out)?;
        Ok(decision)
    }

    fn given(
        &mut self,
        seen: &S::View<'_>,
        decision: S::Decision,
        out: &mut S::Probabilities,
    ) -> Result<(), PolicyError> {
        S::clear(out);
        // Without a path the levels from the first on are all there is to tell of.
        if self.find(seen, decision) {
            self.walk(seen, Some(out))?;
        }
        self.tell_all(seen, out)
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
