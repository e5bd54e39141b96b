//! A callable of Python as a scheduler: `python:NAME`.

use crate::{
    callable::{self, Asked, Callable, Choice, Question},
    running,
    scenario::Hosted,
};
use pyo3::{exceptions::PyValueError, prelude::*};
use sched_distill::{
    contract::{Inputs, Scores},
    foreign::{ForeignError, ForeignPolicy, Network},
    policy::{ByLevel, LevelScores, Policy, PolicyError, PolicyInfo, Sort, pick::Picker},
    scenario::{Questions, Said, Scenario},
    spec::Spec,
};
use std::{collections::HashMap, sync::Arc};

/// How lists of policies have it.
pub(super) const INFO: PolicyInfo = PolicyInfo::new(
    Sort::Network,
    "python:NAME[,mode=greedy|sample]",
    "a callable of Python that scores candidates, by the name under which it was kept",
);

/// Why a callable gives no answer.
#[derive(Debug)]
struct Failed {
    name: String,
    time_ms: Option<f64>,
    words: String,
}

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { name, time_ms, words } = self;
        match time_ms {
            Some(at) => write!(f, "python:{name}: at {at} ms: {words}"),
            None => write!(f, "python:{name}: {words}"),
        }
    }
}

impl std::error::Error for Failed {}

/// Opens the policy that a spec names.
pub(super) fn open<S: Hosted>(spec: &Spec) -> Result<Box<dyn Policy<S>>, PolicyError> {
    let name = spec.require("NAME", "a callable that sched_distill.Policy has kept")?.to_string_lossy().into_owned();
    let mut args = spec.args();
    let samples = args.word("mode", &["greedy", "sample"])? == "sample";
    args.finish()?;
    let callable = callable::find(&name).map_err(|known| {
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        let words = format!("no callable of that name is kept in this process; there are: {known}");
        other(Failed { name, time_ms: None, words })
    })?;
    let own = Own::new(callable).map_err(other)?;
    Ok(match own.callable.asked {
        Asked::Tables => {
            let network = ForeignPolicy::new(Box::new(own.fresh()), samples);
            Box::new(ByTables { own, network })
        }
        Asked::Choice | Asked::Batch => Box::new(ByChoices::<S>::new(own, Picker::new(samples, "python"))),
    })
}

fn other(error: impl std::error::Error + Send + Sync + 'static) -> PolicyError {
    PolicyError::Other(Box::new(error))
}

/// A copy of a callable, for one episode at a time: what its method `fresh` gives, or else the callable itself, which all share.
struct Own {
    callable: Arc<Callable>,
    function: Py<PyAny>,
    /// Why there is no copy, which the first question is answered with.
    failed: Option<String>,
}

impl Own {
    fn new(callable: Arc<Callable>) -> Result<Self, Failed> {
        let function = callable::call(|py| {
            let function = callable.function.bind(py);
            Ok(match function.getattr_opt("fresh")? {
                Some(fresh) => fresh.call0()?.unbind(),
                None => function.clone().unbind(),
            })
        });
        match function {
            Ok(function) => Ok(Self { callable, function, failed: None }),
            Err(words) => Err(Failed { name: callable.name.clone(), time_ms: None, words }),
        }
    }

    fn fresh(&self) -> Self {
        let callable = Arc::clone(&self.callable);
        Self::new(callable).unwrap_or_else(|error| {
            let function = Python::attach(|py| py.None());
            Self { callable: Arc::clone(&self.callable), function, failed: Some(error.words) }
        })
    }

    /// Tells a callable with a method `reset` that an episode begins.
    fn reset(&mut self, seed: u64) {
        let told = callable::call(|py| match self.function.bind(py).getattr_opt("reset")? {
            Some(reset) => reset.call1((seed,)).map(drop),
            None => Ok(()),
        });
        if let Err(words) = told {
            self.failed.get_or_insert(words);
        }
    }

    fn error(&self, time_ms: Option<f64>, words: String) -> Failed {
        Failed { name: self.callable.name.clone(), time_ms, words }
    }

    fn fingerprint(&self) -> Option<(String, String)> {
        Some((format!("python:{}", self.callable.name), self.callable.hash.clone()))
    }
}

impl Network for Own {
    fn name(&self) -> String {
        format!("python:{}", self.callable.name)
    }

    fn fresh(&self) -> Box<dyn Network> {
        Box::new(Own::fresh(self))
    }

    fn reset(&mut self, episode_seed: u64) {
        Own::reset(self, episode_seed);
    }

    fn scores(&mut self, inputs: &Inputs, out: &mut Scores) -> Result<(), ForeignError> {
        let answered = match self.failed.clone() {
            Some(words) => Err(words),
            None => callable::call(|py| {
                let question = Question::new(py, inputs)?;
                Question::take(py, &self.function.bind(py).call1((question,))?, out)
            }),
        };
        answered.map_err(|words| ForeignError::Other(Box::new(self.error(None, words))))
    }
}

/// One that sees the tables of the scenario's contract.
struct ByTables<S: Hosted> {
    own: Own,
    network: ForeignPolicy<S>,
}

impl<S: Hosted> Policy<S> for ByTables<S> {
    fn fresh(&self) -> Box<dyn Policy<S>> {
        self.network.fresh()
    }

    fn reset(&mut self, episode_seed: u64) {
        self.network.reset(episode_seed);
    }

    fn decide(&mut self, seen: &S::View<'_>, said: &mut Said) -> Result<S::Decision, PolicyError> {
        self.network.decide(seen, said)
    }

    fn given(&mut self, seen: &S::View<'_>, decision: S::Decision, said: &mut Said) -> Result<(), PolicyError> {
        self.network.given(seen, decision, said)
    }

    fn fingerprint(&self) -> Option<(String, String)> {
        self.own.fingerprint()
    }
}

/// One that scores the candidates of choices.
struct ByChoices<S: Scenario> {
    levels: ByLevel<S>,
    picker: Picker,
    answers: Answers,
}

/// What a callable has answered at the question at hand.
struct Answers {
    own: Own,
    /// Scores by path.
    scores: HashMap<Vec<usize>, Vec<f32>>,
    failed: Option<String>,
    /// Whether choices are asked about that are not on the way to the decision.
    asks_all: bool,
}

impl<S: Hosted> ByChoices<S> {
    fn new(own: Own, picker: Picker) -> Self {
        Self {
            levels: ByLevel::default(),
            picker,
            answers: Answers { own, scores: HashMap::new(), failed: None, asks_all: true },
        }
    }

    /// The error of a question without an answer.
    fn error(&mut self, seen: &S::View<'_>) -> PolicyError {
        let own = &self.answers.own;
        match self.answers.failed.take() {
            Some(words) => other(own.error(Some(S::time_ms(seen)), words)),
            None => PolicyError::NotFinite { policy: own.name(), time_ms: S::time_ms(seen) },
        }
    }
}

impl<S: Hosted> Policy<S> for ByChoices<S> {
    fn fresh(&self) -> Box<dyn Policy<S>> {
        Box::new(Self::new(self.answers.own.fresh(), self.picker.fresh()))
    }

    fn reset(&mut self, episode_seed: u64) {
        self.picker.reset(episode_seed);
        self.answers.own.reset(episode_seed);
    }

    fn decide(&mut self, seen: &S::View<'_>, said: &mut Said) -> Result<S::Decision, PolicyError> {
        let Self { levels, picker, answers } = self;
        answers.begin(true);
        levels.answer(seen, answers, picker, said).map_err(|_| self.error(seen))
    }

    fn act(&mut self, seen: &S::View<'_>, _: &mut Said) -> Result<S::Decision, PolicyError> {
        let Self { levels, picker, answers } = self;
        answers.begin(false);
        levels.act(seen, answers, picker).map_err(|_| self.error(seen))
    }

    fn given(&mut self, seen: &S::View<'_>, decision: S::Decision, said: &mut Said) -> Result<(), PolicyError> {
        self.levels.given(seen, &mut self.answers, decision, said).map_err(|_| self.error(seen))
    }

    fn fingerprint(&self) -> Option<(String, String)> {
        self.answers.own.fingerprint()
    }
}

impl<S: Scenario> LevelScores<S> for Answers {
    fn scores(&mut self, seen: &S::View<'_>, questions: &mut S::Questions, path: &[usize]) -> &[f32] {
        if !self.scores.contains_key(path) {
            self.ask::<S>(seen, questions, path);
        }
        &self.scores[path]
    }
}

impl Answers {
    /// Forgets the question before.
    fn begin(&mut self, asks_all: bool) {
        self.asks_all = asks_all;
        self.scores.clear();
        self.failed.clone_from(&self.own.failed);
    }

    /// Has the candidates at a path scored, and where the callable takes batches those of all other paths of that length.
    fn ask<S: Scenario>(&mut self, seen: &S::View<'_>, questions: &mut S::Questions, path: &[usize]) {
        let level = &(S::INFO.feature_set)().levels[path.len()];
        // A path that is a whole decision has no candidates, and nothing is asked about it.
        self.scores.insert(path.to_vec(), Vec::new());
        let mut paths = vec![path.to_vec()];
        // Of amounts only those of what is decided are told.
        let is_many = self.asks_all && self.own.callable.asked == Asked::Batch;
        if is_many && !path.is_empty() && !level.is_amount() {
            paths.clear();
            all_paths::<S>(seen, questions, &mut Vec::new(), path.len(), &mut paths);
        }
        let (mut rows, mut starts, mut allowed) = (Vec::new(), vec![0], Vec::new());
        for path in &mut paths {
            let (before, count) = (starts[starts.len() - 1], questions.rows(seen, path, false, &mut rows));
            running::allowed::<S>(seen, questions, path, count, &mut allowed);
            starts.push(before + count);
        }
        let candidates = starts[starts.len() - 1];
        // Where nothing is to be chosen nothing is asked.
        let is_open = starts.windows(2).any(|ends| ends[1] - ends[0] > 1);
        let mut scores = vec![0.0; candidates];
        if is_open && self.failed.is_none() {
            let about = (S::INFO.name, S::INFO.kinds[S::kind(seen) as usize], S::time_ms(seen));
            let ends = starts.iter().map(|&end| end as i64).collect();
            let answered = callable::call(|py| {
                let choice = Choice::new(py, level, about, rows, allowed, ends)?;
                let answer = self.own.function.bind(py).call1((choice,))?;
                // Who has no opinion takes the first.
                if answer.is_none() { Ok(None) } else { callable::numbers(py, &answer).map(Some) }.and_then(|answer| {
                    let found = answer.as_ref().map_or(candidates, Vec::len);
                    let wrong = || {
                        PyValueError::new_err(format!(
                            "the policy answered {found} numbers for {candidates} candidates of the level `{}`",
                            level.name
                        ))
                    };
                    if found == candidates { Ok(answer) } else { Err(wrong()) }
                })
            });
            match answered {
                Ok(answer) => scores = answer.unwrap_or(scores),
                Err(words) => self.failed = Some(words),
            }
            if self.own.callable.says_probabilities {
                // What is ruled out needs a number as well; what is no probability stays none.
                scores.iter_mut().map(|p| (p.ln(), p)).for_each(|(l, p)| *p = if l < LEAST { LEAST } else { l });
            }
        }
        if self.failed.is_some() {
            scores.fill(f32::NAN);
        }
        for (path, ends) in paths.into_iter().zip(starts.windows(2)) {
            self.scores.insert(path, scores[ends[0]..ends[1]].to_vec());
        }
    }
}

/// The logarithm of a probability of 0.
const LEAST: f32 = sched_distill::scenario::LEAST_LOG_PROB;

/// All paths of a length at which there are candidates.
fn all_paths<S: Scenario>(
    seen: &S::View<'_>,
    questions: &S::Questions,
    path: &mut Vec<usize>,
    length: usize,
    out: &mut Vec<Vec<usize>>,
) {
    let count = questions.count(seen, path, false);
    if path.len() == length {
        if count > 0 {
            out.push(path.clone());
        }
        return;
    }
    for candidate in 0..count {
        path.push(candidate);
        all_paths::<S>(seen, questions, path, length, out);
        path.pop();
    }
}
