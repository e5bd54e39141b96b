//! Questions as choices, level by level: candidates, their features, and what a policy says of them.

use super::{Given, LEAST_LOG_PROB, Said, Scenario};

/// Reads the cluster at a question and lists the candidates of its choices, level by level, with their features.
///
/// A choice has a *path*: the places of the candidates that are taken at the levels above it. It keeps buffers, so that
/// nothing is allocated per question.
pub trait Questions<S: Scenario>: Default + Clone + Send + Sync {
    /// Questions of which only some columns are read: those marked, level by level in the order of the feature set.
    /// What the other columns hold is not defined; the default fills them all.
    fn limited(_columns: &[&[bool]]) -> Self {
        Self::default()
    }

    /// Takes in a new question, to which the other methods then refer.
    fn update(&mut self, seen: &S::View<'_>);

    /// How many candidates there are at a path; 0 if the path is a whole decision. `abstains` says whether to give nothing is a
    /// candidate where policies may differ in that.
    fn count(&self, seen: &S::View<'_>, path: &[usize], abstains: bool) -> usize;

    /// Appends the features of the candidates at a path, a row each, and returns their number, [`Questions::count`].
    fn rows(&mut self, seen: &S::View<'_>, path: &[usize], abstains: bool, out: &mut Vec<f32>) -> usize;

    /// Appends what a candidate is, the last of a path: its numbers by [`LevelSpec::entities`](crate::level::LevelSpec::entities).
    fn entity(&self, seen: &S::View<'_>, path: &[usize], out: &mut Vec<u32>);

    /// Whether the choice at a path is known to have one candidate, so that who does not want its features need not have them worked
    /// out. The default is that it may have several.
    fn is_settled(&self, _seen: &S::View<'_>, _path: &[usize]) -> bool {
        false
    }

    /// The decision at the end of a path.
    fn decision(&self, seen: &S::View<'_>, path: &[usize]) -> S::Decision;

    /// The candidate at a path by which a decision goes on, if it leads through the path: beyond the others that of giving nothing, whether it
    /// is one or not.
    fn place(&self, seen: &S::View<'_>, path: &[usize], decision: S::Decision) -> Option<usize>;

    /// Whether a candidate, the last of a path, is to be left out where a policy would otherwise strand the cluster
    /// ([`Scenario::strands`]). Where all candidates of a choice are, none is left out.
    fn strands(&self, _seen: &S::View<'_>, _path: &[usize]) -> bool {
        false
    }

    /// The item that a candidate is, the last of a path, in [`Said::joint`]; `None` of one that several items lie below, or that has what
    /// items leave over. The default is that of scenarios whose first candidates are the items.
    fn item(&self, _seen: &S::View<'_>, path: &[usize]) -> Option<usize> {
        match *path {
            [candidate] => Some(candidate),
            _ => None,
        }
    }

    /// Whether policies say of the choice at a path by [`Said::given`]: along what was decided alone. The default is that of none.
    fn is_given(&self, _path: &[usize]) -> bool {
        false
    }

    /// How probable a candidate of the first level is that has, or loses, what items leave over of a sum of 1. The default is that none
    /// does.
    fn log_prob_left(&self, _seen: &S::View<'_>, _candidate: usize, _joint: &[f64]) -> Option<f64> {
        None
    }

    /// The path of a decision, if it is one of these.
    fn path(&self, seen: &S::View<'_>, decision: S::Decision, path: &mut Vec<usize>) -> bool {
        path.clear();
        loop {
            match (self.count(seen, path, false), self.place(seen, path, decision)) {
                (0, _) => return !path.is_empty(),
                (count, Some(chosen)) if chosen < count => path.push(chosen),
                _ => return false,
            }
        }
    }

    /// Writes down what a policy that answers level by level says of the choice at a path: `log_prob` has each candidate's
    /// within the choice, and `above` that of the path. Choices that are conditional ([`Questions::is_given`]) are told of along what
    /// was decided only; all others at every path, those above first.
    fn tell(&self, seen: &S::View<'_>, path: &[usize], above: f64, log_prob: &[f64], out: &mut Said) {
        if self.is_given(path) {
            out.given.clear();
            out.given.extend_from_slice(log_prob);
            return;
        }
        if path.is_empty() {
            out.joint.clear();
            out.joint.resize(S::items(seen), f64::NEG_INFINITY);
        }
        let mut at = Place::below(path);
        if at.is_below_item(self, seen) {
            return;
        }
        for (candidate, within) in log_prob.iter().enumerate() {
            let item = self.item(seen, at.of(candidate).path());
            if let Some(joint) = item.and_then(|item| out.joint.get_mut(item)) {
                *joint = above + within;
            }
        }
    }

    /// The choice at a path as an answer has it; `false` if there is none, or the answer says nothing of it.
    fn choice(
        &self,
        seen: &S::View<'_>,
        path: &[usize],
        answer: &Answer<'_, S>,
        abstains: bool,
        out: &mut ChoiceRows,
    ) -> bool {
        let Answer { decision, said } = *answer;
        out.clear();
        let is_given = self.is_given(path);
        if is_given && !(leads(self, seen, path, decision) && (said.is_silent() || !said.given.is_empty())) {
            // Who names probabilities of items but none of what this one leaves open was not asked about it.
            return false;
        }
        let count = self.count(seen, path, abstains);
        if count == 0 {
            return false;
        }
        let mut at = Place::below(path);
        (0..count).for_each(|candidate| self.entity(seen, at.of(candidate).path(), &mut out.entity));
        out.chosen = self.place(seen, path, decision).filter(|&chosen| chosen < count);
        out.came_about = is_given;
        if said.is_silent() {
            out.log_prob.resize(count, f32::NAN);
        } else if is_given {
            out.log_prob.extend((0..count).map(|place| within_given(&said.given, place, count)));
        } else if path.is_empty() {
            for candidate in 0..count {
                let left = self.log_prob_left(seen, candidate, &said.joint);
                let log_prob = left.unwrap_or_else(|| mass(self, seen, at.of(candidate), &said.joint));
                out.log_prob.push(Given::ALL.within(log_prob, 1));
            }
        } else if at.is_below_item(self, seen) {
            // What is an item already has one way to go on.
            out.log_prob.resize(count, 0.0);
        } else {
            out.masses.extend((0..count).map(|candidate| mass(self, seen, at.of(candidate), &said.joint)));
            let given = Given::any(out.masses.iter().copied());
            out.log_prob.extend(out.masses.iter().map(|&mass| given.within(mass, count)));
        }
        true
    }
}

/// Whether a decision goes along a path.
fn leads<S: Scenario, Q: Questions<S>>(
    questions: &Q,
    seen: &S::View<'_>,
    path: &[usize],
    decision: S::Decision,
) -> bool {
    // From the end: most paths differ there from what was decided, and a short choice tells.
    (0..path.len()).rev().all(|level| questions.place(seen, &path[..level], decision) == Some(path[level]))
}

/// What is written of the entry at a place of so many. There may be more entries than candidates, which count for the last one, or
/// fewer: the rest is ruled out.
fn within_given(given: &[f64], place: usize, count: usize) -> f32 {
    match given.get(place..) {
        None | Some([]) => LEAST_LOG_PROB,
        Some(rest) if place + 1 == count => Given::ALL.within(Given::any(rest.iter().copied()).ln(), 1),
        Some(rest) => Given::ALL.within(rest[0], 1),
    }
}

/// Log-probability of what lies at a place, an item or several.
fn mass<S: Scenario, Q: Questions<S>>(questions: &Q, seen: &S::View<'_>, at: &Place, joint: &[f64]) -> f64 {
    match questions.item(seen, at.path()) {
        Some(item) => joint.get(item).copied().unwrap_or(f64::NAN),
        None => {
            let first = Place { level: at.level + 1, ..*at };
            let below = |candidate| mass(questions, seen, first.clone().of(candidate), joint);
            Given::any((0..questions.count(seen, at.path(), false)).map(below)).ln()
        }
    }
}

/// Most levels of a scenario.
const LEVELS: usize = 8;

/// The path of a candidate, without memory of its own.
#[derive(Clone)]
struct Place {
    path: [usize; LEVELS],
    level: usize,
}

impl Place {
    /// The first candidate of the choice at a path.
    fn below(path: &[usize]) -> Self {
        let mut place = Self { path: [0; LEVELS], level: path.len() };
        place.path.iter_mut().zip(path).for_each(|(to, from)| *to = *from);
        place
    }

    /// Another candidate of the same choice.
    #[inline]
    fn of(&mut self, candidate: usize) -> &Self {
        self.path[self.level] = candidate;
        self
    }

    #[inline]
    fn path(&self) -> &[usize] {
        &self.path[..=self.level]
    }

    /// Whether a candidate of the levels above is an item.
    fn is_below_item<S: Scenario, Q: Questions<S>>(&self, questions: &Q, seen: &S::View<'_>) -> bool {
        (1..=self.level).any(|level| questions.item(seen, &self.path[..level]).is_some())
    }
}

/// What was decided, and what the policy says of it.
#[derive(Clone, Copy)]
pub struct Answer<'a, S: Scenario> {
    /// The decision that was carried out.
    pub decision: S::Decision,
    /// How probable it was, and how probable others were.
    pub said: &'a Said,
}

/// One choice of one level: candidates with entities and the teacher's log-probabilities. [`Questions::rows`] gives
/// their features in the same order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChoiceRows {
    /// Entity columns, row-major.
    pub entity: Vec<u32>,
    /// Log-probabilities within the choice, NaN where unknown.
    pub log_prob: Vec<f32>,
    /// Executed candidate, if it is one of these.
    pub chosen: Option<usize>,
    /// Whether the choice is conditional on what was executed and therefore came about, however improbable that was.
    pub came_about: bool,
    /// Log-probabilities of what lies at each candidate, on the way to those within the choice.
    masses: Vec<f64>,
}

impl ChoiceRows {
    /// Forgets the choice, keeping the memory.
    pub fn clear(&mut self) {
        self.entity.clear();
        self.log_prob.clear();
        self.masses.clear();
        self.chosen = None;
        self.came_about = false;
    }
}
