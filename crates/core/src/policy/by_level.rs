//! Deciding level by level: who scores the candidates of a choice is a scheduler.

use super::pick::{Picker, log_softmax};
use crate::{
    level::log_sum_exp,
    scenario::{Questions, Said, Scenario},
};

/// Scores candidates.
pub trait LevelScores<S: Scenario> {
    /// Scores of the candidates at a path, a logit each; none if the path is a whole decision. The levels above were asked for before
    /// along this path, so that they may be taken into account.
    fn scores(&mut self, seen: &S::View<'_>, questions: &mut S::Questions, path: &[usize]) -> &[f32];
}

/// Scores too far apart for finite probabilities, or no numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotFinite;

/// Takes a candidate of every level by its scores, the best one or one drawn by its probability, and says how probable the others were.
///
/// A decision that would strand the cluster ([`Scenario::strands`]) is not taken: all levels are asked again, candidates that lead
/// there ([`Questions::strands`]) ruled out. Probabilities are then those of what is left.
pub struct ByLevel<S: Scenario> {
    questions: S::Questions,
    /// See [`ByLevel::may_strand`].
    may_strand: bool,
    /// Candidates taken so far, level by level.
    taken: Vec<usize>,
    /// Log-probabilities of the candidates looked at last, by level, each within its choice.
    log_prob: Vec<Vec<f64>>,
    /// Levels that are told of only along what was decided: amounts.
    conditional: Vec<bool>,
    /// Whether candidates that would strand the cluster are ruled out at the question at hand.
    wary: bool,
    /// The path of a decision of somebody else.
    found: Vec<usize>,
}

impl<S: Scenario> Default for ByLevel<S> {
    fn default() -> Self {
        let levels = &(S::INFO.feature_set)().levels;
        Self {
            questions: S::Questions::default(),
            may_strand: false,
            taken: Vec::new(),
            log_prob: vec![Vec::new(); levels.len()],
            conditional: levels.iter().enumerate().map(|(i, level)| i > 0 && level.is_amount()).collect(),
            wary: false,
            found: Vec::new(),
        }
    }
}

impl<S: Scenario> ByLevel<S> {
    /// Lets it decide as scores say even where that strands the cluster.
    #[must_use]
    pub fn may_strand(self, may_strand: bool) -> Self {
        Self { may_strand, ..self }
    }

    /// Whether it does.
    #[must_use]
    pub fn is_careless(&self) -> bool {
        self.may_strand
    }

    /// Candidates taken at the last question, level by level.
    #[must_use]
    pub fn taken(&self) -> &[usize] {
        &self.taken
    }

    /// How probable these were together.
    #[must_use]
    pub fn log_prob(&self) -> f64 {
        self.taken.iter().zip(&self.log_prob).map(|(&taken, log_prob)| log_prob[taken]).sum()
    }

    /// Takes in a question, which [`ByLevel::answer`] and its kin do themselves.
    pub fn update(&mut self, seen: &S::View<'_>) -> &mut S::Questions {
        self.questions.update(seen);
        &mut self.questions
    }

    /// Decides, without saying how probable other decisions were.
    ///
    /// # Errors
    ///
    /// Scores without probabilities.
    pub fn act(
        &mut self,
        seen: &S::View<'_>,
        scores: &mut impl LevelScores<S>,
        picker: &mut Picker,
    ) -> Result<S::Decision, NotFinite> {
        self.decide(seen, scores, picker, None)
    }

    /// Decides and says how probable all decisions were; `said` is empty on entry.
    ///
    /// # Errors
    ///
    /// Scores without probabilities.
    pub fn answer(
        &mut self,
        seen: &S::View<'_>,
        scores: &mut impl LevelScores<S>,
        picker: &mut Picker,
        said: &mut Said,
    ) -> Result<S::Decision, NotFinite> {
        let decision = self.decide(seen, scores, picker, Some(said))?;
        self.tell_all(seen, scores, said)?;
        Ok(decision)
    }

    /// Makes what was said at the last question speak of another decision.
    ///
    /// # Errors
    ///
    /// Scores without probabilities.
    pub fn given(
        &mut self,
        seen: &S::View<'_>,
        scores: &mut impl LevelScores<S>,
        decision: S::Decision,
        said: &mut Said,
    ) -> Result<(), NotFinite> {
        said.clear();
        // Without a path the levels from the first on are all there is to tell of.
        if self.questions.path(seen, decision, &mut self.found) {
            self.walk(seen, scores, Some(said))?;
        }
        self.tell_all(seen, scores, said)
    }

    /// Looks at the choices along the path of a decision, as somebody else takes it; `false` if it has none. [`ByLevel::taken`] and
    /// [`ByLevel::log_prob`] then speak of these.
    ///
    /// # Errors
    ///
    /// Scores without probabilities.
    pub fn follow(
        &mut self,
        seen: &S::View<'_>,
        scores: &mut impl LevelScores<S>,
        decision: S::Decision,
    ) -> Result<bool, NotFinite> {
        self.questions.update(seen);
        self.wary = false;
        let found = self.questions.path(seen, decision, &mut self.found);
        if found {
            self.walk(seen, scores, None)?;
        }
        Ok(found)
    }

    /// Scores the candidates at the present path; their number, 0 if the path is a whole decision.
    fn score(&mut self, seen: &S::View<'_>, scores: &mut impl LevelScores<S>) -> Result<usize, NotFinite> {
        let level = self.taken.len();
        if level == self.log_prob.len() {
            return Ok(0);
        }
        let scores = scores.scores(seen, &mut self.questions, &self.taken);
        if !scores.is_empty() {
            let log_prob = &mut self.log_prob[level];
            log_prob.clear();
            if !log_softmax(scores, log_prob) {
                return Err(NotFinite);
            }
            if self.wary {
                self.rule_out(seen);
            }
        }
        Ok(scores.len())
    }

    /// Rules out candidates of the present path that would strand the cluster, if others are left.
    fn rule_out(&mut self, seen: &S::View<'_>) {
        let Self { questions, taken, log_prob, .. } = self;
        let log_prob = &mut log_prob[taken.len()];
        let mut strands = |candidate: usize| {
            taken.push(candidate);
            let strands = questions.strands(seen, taken);
            taken.pop();
            strands
        };
        if (0..log_prob.len()).all(&mut strands) {
            return;
        }
        (0..log_prob.len()).filter(|&candidate| strands(candidate)).for_each(|c| log_prob[c] = f64::NEG_INFINITY);
        let total = log_sum_exp(log_prob);
        log_prob.iter_mut().for_each(|p| *p -= total);
    }

    /// Asks all levels, and again without what strands where that is what they say.
    fn decide(
        &mut self,
        seen: &S::View<'_>,
        scores: &mut impl LevelScores<S>,
        picker: &mut Picker,
        mut said: Option<&mut Said>,
    ) -> Result<S::Decision, NotFinite> {
        self.questions.update(seen);
        self.wary = false;
        let decision = self.choose(seen, scores, picker, said.as_deref_mut())?;
        if self.may_strand || !S::strands(seen, decision) {
            return Ok(decision);
        }
        self.wary = true;
        if let Some(said) = said.as_deref_mut() {
            said.clear();
        }
        self.choose(seen, scores, picker, said)
    }

    /// Takes a candidate of every level; probabilities of conditional levels are told on the way.
    fn choose(
        &mut self,
        seen: &S::View<'_>,
        scores: &mut impl LevelScores<S>,
        picker: &mut Picker,
        mut said: Option<&mut Said>,
    ) -> Result<S::Decision, NotFinite> {
        self.taken.clear();
        while let n @ 1.. = self.score(seen, scores)? {
            self.tell_conditional(seen, said.as_deref_mut());
            let log_prob = &self.log_prob[self.taken.len()];
            self.taken.push(if n == 1 { 0 } else { picker.pick(log_prob) });
        }
        Ok(self.questions.decision(seen, &self.taken))
    }

    /// Takes the candidates of the path that was found.
    fn walk(
        &mut self,
        seen: &S::View<'_>,
        scores: &mut impl LevelScores<S>,
        mut said: Option<&mut Said>,
    ) -> Result<(), NotFinite> {
        self.taken.clear();
        for level in 0..self.found.len() {
            self.score(seen, scores)?;
            self.tell_conditional(seen, said.as_deref_mut());
            self.taken.push(self.found[level]);
        }
        Ok(())
    }

    fn tell_conditional(&self, seen: &S::View<'_>, said: Option<&mut Said>) {
        let level = self.taken.len();
        if let Some(said) = said.filter(|_| self.conditional[level]) {
            self.questions.tell(seen, &self.taken, 0.0, &self.log_prob[level], said);
        }
    }

    /// Tells of the levels from the first on, which was looked at already.
    fn tell_all(
        &mut self,
        seen: &S::View<'_>,
        scores: &mut impl LevelScores<S>,
        said: &mut Said,
    ) -> Result<(), NotFinite> {
        self.taken.clear();
        self.tell(seen, scores, 0.0, said)
    }

    /// Tells of the choice at the present path, which was looked at last, and of all below that are not conditional.
    fn tell(
        &mut self,
        seen: &S::View<'_>,
        scores: &mut impl LevelScores<S>,
        above: f64,
        said: &mut Said,
    ) -> Result<(), NotFinite> {
        let level = self.taken.len();
        self.questions.tell(seen, &self.taken, above, &self.log_prob[level], said);
        if self.conditional.get(level + 1) == Some(&false) {
            for candidate in 0..self.log_prob[level].len() {
                self.taken.push(candidate);
                if self.score(seen, scores)? > 0 {
                    self.tell(seen, scores, above + self.log_prob[level][candidate], said)?;
                }
                self.taken.pop();
            }
        }
        Ok(())
    }
}
