//! One decision explained: who was there, who was taken and why, what would have changed it.

mod selection;

pub use selection::{Selection, select};

use super::{
    ChoiceColumns, ChoiceGoal, ChoiceSearch, Constraints, Decider, ExplainError, Preference, choice_counterfactual,
    level::{columns_read, digits},
};
use sched_distill_core::{
    level::{LevelSpec, Values},
    model::{CompiledGuards, LevelModels, Model, Operator, ScoreCandidates, Student, Tree},
};
use sched_distill_judge::evaluator::{Role, Scorer};
use sched_distill_trace::{Choice, LevelTable};
use serde::{Deserialize, Serialize};

/// Choices put before the reader (`decisions.json`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decisions {
    /// Always [`EXPLANATION_FORMAT`](super::EXPLANATION_FORMAT).
    pub format_version: u32,
    /// SHA-256 of the student.
    pub student: String,
    /// Hash of the trace.
    pub trace: String,
    /// What candidates are called and described by, level by level.
    pub levels: Vec<DecisionLevel>,
    /// The choices, level by level.
    pub choices: Vec<ExplainedChoice>,
}

/// What the candidates of a level are called and described by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DecisionLevel {
    /// Level, e.g. `job`.
    pub level: String,
    /// Names of what identifies a candidate, e.g. `["job", "stage"]`.
    pub entities: Vec<String>,
    /// Features that are shown: those that the scheduling model reads.
    pub features: Vec<String>,
}

/// A choice and what a student makes of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExplainedChoice {
    /// Level, e.g. `job`.
    pub level: String,
    /// Number of the choice in the trace.
    pub choice: u64,
    /// Episode.
    pub episode: u32,
    /// Decision within the episode.
    pub step: u32,
    /// Simulated time, ms.
    pub time_ms: f64,
    /// Kind, e.g. `free`.
    pub kind: String,
    /// Why it is shown.
    pub selection: Selection,
    /// Candidates of the choice; more than those listed where there are many.
    pub candidates_in_all: usize,
    /// The candidates: those that matter first to the teacher, the student or what was executed, in the choice's order.
    pub candidates: Vec<Candidate>,
    /// Place in `candidates` of the one that the teacher finds best.
    pub best: usize,
    /// Place of the one that the student takes.
    pub taken: usize,
    /// Place of the one that was executed, if any was.
    pub executed: Option<usize>,
    /// The teacher's probability of its best candidate less that of the student's; `None` if it gives none.
    pub regret: Option<f64>,
    /// Place of the candidate that the student's is held against: the teacher's best, or the next best of the student.
    pub rival: usize,
    /// Tests that lead the student's candidate to its score; empty if no tree schedules.
    pub path: Vec<PathStep>,
    /// Number of tests after which the rival goes another way; `None` if it does not, or no tree schedules.
    pub parts_after: Option<usize>,
    /// Guards that rule out a candidate here, by their place in the student, each with the places of those it rules out.
    pub guards: Vec<(usize, Vec<usize>)>,
    /// What would have made other candidates the student's.
    pub why_not: Vec<WhyNot>,
}

/// A candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Candidate {
    /// Its place in the choice.
    pub candidate: usize,
    /// What it is: a job, a stage of a job, an amount.
    pub entity: Vec<u32>,
    /// The teacher's probability; `None` if it gives none.
    pub teacher: Option<f64>,
    /// The student's probability, guards included.
    pub student: f64,
    /// Score of the student's model.
    pub score: f64,
    /// Values of the level's features that are shown.
    pub values: Vec<f32>,
    /// What each of them adds to the score above the mean of the choice ([`Preference::within`]); the difference of two
    /// candidates' rows adds up to the difference of their scores.
    pub shares: Vec<f64>,
}

/// A test on the way down a tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathStep {
    /// Node of the tree.
    pub node: usize,
    /// Feature.
    pub feature: String,
    /// `<=` or `>`, as it holds.
    pub operator: Operator,
    /// What it is compared with.
    pub threshold: f32,
    /// The candidate's value.
    pub value: f32,
}

impl PathStep {
    /// The tests on the way of a row of a level's features.
    #[must_use]
    pub fn along(tree: &Tree, spec: &LevelSpec, row: &[f32]) -> Vec<Self> {
        let nodes: Vec<usize> = tree.decision_path(row).collect();
        let step = |pair: &[usize]| {
            let column = tree.feature[pair[0]] as usize;
            let left = tree.left[pair[0]] as usize == pair[1];
            Self {
                node: pair[0],
                feature: spec.features[column].name.clone(),
                operator: if left { Operator::AtMost } else { Operator::Above },
                threshold: tree.threshold[pair[0]],
                value: row[column],
            }
        };
        nodes.windows(2).map(step).collect()
    }
}

/// The nearest change that makes a candidate the student's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WhyNot {
    /// Place of the candidate in the list.
    pub candidate: usize,
    /// What would have to be different about it; ranks and ratios follow. Empty if nothing in reach would do.
    pub changes: Vec<WhyNotChange>,
    /// Whether no smaller change of at most two quantities exists.
    pub exhaustive: bool,
}

/// A quantity that would have to be different.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WhyNotChange {
    /// Feature.
    pub feature: String,
    /// Its value.
    pub from: f32,
    /// The value asked for.
    pub to: f32,
}

/// Candidates listed of a choice at most.
const LISTED: usize = 12;
/// Candidates asked what would have made them the student's.
const ASKED: usize = 4;

/// Explains choices of one level of a student.
pub struct ChoiceExplainer<'a> {
    student: &'a Student,
    spec: &'a LevelSpec,
    values: &'a Values,
    level: &'a LevelModels,
    scorer: Scorer,
    preference: Preference<'a>,
    decider: Decider<'a>,
    /// Ranks and ratios that can be made again; `None` if some feature has no quantity to be formed from.
    columns: Option<ChoiceColumns>,
    scales: Constraints,
    /// Columns that are shown.
    shown: Vec<usize>,
}

impl<'a> ChoiceExplainer<'a> {
    /// For one level; the spread of the features in `sample` tells what counts as a small change.
    ///
    /// # Errors
    ///
    /// If the level's model does not fit its features.
    pub fn new(
        student: &'a Student,
        level: &'a LevelModels,
        (spec, values): (&'a LevelSpec, &'a Values),
        sample: &LevelTable,
    ) -> Result<Self, ExplainError> {
        let read = columns_read(student, &level.scheduler().model, spec);
        Ok(Self {
            student,
            spec,
            values,
            level,
            scorer: Scorer::student(student, level, Role::Student),
            preference: Preference::new(&level.scheduler().model, spec.features.len())?,
            decider: Decider::student(student, level, spec),
            columns: ChoiceColumns::new(spec).ok(),
            scales: Constraints::for_level(spec).with_negatives(&sample.x).scaled_by(&sample.x),
            shown: (0..read.len()).filter(|&column| read[column]).collect(),
        })
    }

    /// What candidates are called and described by.
    #[must_use]
    pub fn level(&self) -> DecisionLevel {
        DecisionLevel {
            level: self.spec.name.clone(),
            entities: self.spec.entities.clone(),
            features: self.shown.iter().map(|&c| self.spec.features[c].name.clone()).collect(),
        }
    }

    /// Explains a choice. `ask` names a candidate besides those that are asked anyway what would have made it the student's.
    ///
    /// # Errors
    ///
    /// If the choice has other features.
    pub fn explain(
        &self,
        choice: &Choice<'_>,
        kind: &str,
        selection: Selection,
        ask: Option<usize>,
    ) -> Result<ExplainedChoice, ExplainError> {
        let (n, header) = (choice.len(), choice.header);
        let mut scores = vec![0.0; n];
        self.level.scheduler().model.score_choice(choice.x, choice.width, &mut scores);
        let log_probs = self.scorer.log_probs(choice);
        let shares = self.preference.within(choice.x)?;
        let (best, taken) = (choice.target(), self.scorer.choose(choice, &mut Vec::new()));
        let executed = choice.chosen.iter().position(|&c| c);
        let runner_up =
            (0..n).filter(|&i| i != taken).max_by(|&a, &b| log_probs[a].total_cmp(&log_probs[b]).then(b.cmp(&a)));
        let rival = if best == taken { runner_up.unwrap_or(taken) } else { best };
        let teacher = |i: usize| choice.has_probabilities().then(|| f64::from(choice.log_prob[i]).exp());

        let must = [Some(best), Some(taken), executed, Some(rival), ask];
        let listed = listed(n, &must, |i| log_probs[i].exp().max(teacher(i).unwrap_or(0.0)));
        let place = |candidate: usize| listed.iter().position(|&i| i == candidate).unwrap_or(0);
        let width = choice.width;
        let candidate = |&i: &usize| Candidate {
            candidate: i,
            entity: choice.entity[i * self.spec.entities.len()..][..self.spec.entities.len()].to_vec(),
            teacher: teacher(i).map(brief),
            student: brief(log_probs[i].exp()),
            score: digits(scores[i]),
            values: self.shown.iter().map(|&c| choice.row(i)[c]).collect(),
            shares: self.shown.iter().map(|&c| digits(shares[i * width + c])).collect(),
        };
        let (path, parts_after) = match self.tree(choice) {
            Some(tree) => self.path(tree, choice.row(taken), choice.row(rival)),
            None => (Vec::new(), None),
        };
        let mut asked: Vec<usize> = vec![rival];
        asked.extend(ask);
        asked.extend(executed);
        let mut others: Vec<usize> = listed.clone();
        others.sort_by(|&a, &b| log_probs[b].total_cmp(&log_probs[a]).then(a.cmp(&b)));
        asked.extend(others);
        asked.retain(|&i| i != taken);
        let mut why_not: Vec<WhyNot> = Vec::new();
        for i in asked {
            if why_not.len() < ASKED && why_not.iter().all(|w| w.candidate != place(i)) {
                why_not.extend(self.why_not(choice, i)?.map(|w| WhyNot { candidate: place(i), ..w }));
            }
        }
        Ok(ExplainedChoice {
            level: self.spec.name.clone(),
            choice: header.id,
            episode: header.episode,
            step: header.step,
            time_ms: header.time_ms,
            kind: kind.to_owned(),
            selection,
            candidates_in_all: n,
            candidates: listed.iter().map(candidate).collect(),
            best: place(best),
            taken: place(taken),
            executed: executed.map(place),
            regret: teacher(best).zip(teacher(taken)).map(|(best, taken)| brief(best - taken)),
            rival: place(rival),
            path,
            parts_after,
            guards: self.guards(choice, &listed),
            why_not,
        })
    }

    /// The tree that scores a choice, if one does.
    fn tree(&self, choice: &Choice<'_>) -> Option<&'a Tree> {
        match &self.level.scheduler().model {
            Model::Tree(tree) => Some(tree),
            Model::Regime(regime) => match &regime.models[regime.tree.predict(choice.row(0)) as usize] {
                Model::Tree(tree) => Some(tree),
                _ => None,
            },
            _ => None,
        }
    }

    fn path(&self, tree: &Tree, row: &[f32], rival: &[f32]) -> (Vec<PathStep>, Option<usize>) {
        let nodes: Vec<usize> = tree.decision_path(row).collect();
        let theirs: Vec<usize> = tree.decision_path(rival).collect();
        let parts = nodes.iter().zip(&theirs).position(|(a, b)| a != b);
        (PathStep::along(tree, self.spec, row), parts)
    }

    /// The guards that rule out candidates here, one after the other as they apply.
    fn guards(&self, choice: &Choice<'_>, listed: &[usize]) -> Vec<(usize, Vec<usize>)> {
        let compiled = CompiledGuards::new(&self.student.guards, self.spec);
        let mut scores = vec![0.0; choice.len()];
        let places = self.student.guards.iter().enumerate().filter(|(_, g)| g.level == self.spec.name).map(|(i, _)| i);
        let mut found = Vec::new();
        for (number, guard) in places.enumerate() {
            let before = scores.clone();
            compiled.apply(number, choice.x, choice.width, &mut scores);
            let out = |&i: &usize| before[i] == 0.0 && scores[i] != 0.0;
            if (0..choice.len()).any(|i| out(&i)) {
                found.push((guard, (0..listed.len()).filter(|&place| out(&listed[place])).collect()));
            }
        }
        found
    }

    /// The nearest change that makes a candidate the student's; `None` where nothing can be asked: amounts are not
    /// described by quantities of their own, nor is the candidate that gives nothing.
    fn why_not(&self, choice: &Choice<'_>, candidate: usize) -> Result<Option<WhyNot>, ExplainError> {
        let (values, row) = (self.values, choice.row(candidate));
        let asked = !self.spec.is_amount() && !values.is_none(row);
        let Some(columns) = self.columns.as_ref().filter(|_| asked) else {
            return Ok(None);
        };
        // What candidates share, the one that gives nothing need not have; and nothing can be other than it is where there is nothing.
        let real: Vec<f32> =
            choice.x.chunks_exact(choice.width).filter(|row| !values.is_none(row)).flatten().copied().collect();
        let mut constraints = self.scales.clone().with_common_fixed(&real);
        constraints.fixed.iter_mut().enumerate().for_each(|(column, fixed)| *fixed |= !values.has(row, column));
        let search = ChoiceSearch { pairs: !self.decider.is_smooth(), tries: 2_000 };
        let found = choice_counterfactual(
            &self.decider,
            columns,
            choice.x,
            candidate,
            ChoiceGoal::Chosen,
            &constraints,
            search,
        )?;
        let change = |c: super::ChoiceChange| WhyNotChange {
            feature: self.spec.features[c.feature].name.clone(),
            from: c.from,
            to: c.to,
        };
        Ok(Some(match found {
            Some(found) => WhyNot {
                candidate,
                changes: found.changes.into_iter().map(change).collect(),
                exhaustive: found.exhaustive,
            },
            None => WhyNot { candidate, changes: Vec::new(), exhaustive: false },
        }))
    }
}

/// The candidates that are listed: those that must be, then the most probable, in the choice's order.
fn listed(n: usize, must: &[Option<usize>], probability: impl Fn(usize) -> f64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&a, &b| {
        let first = |i: usize| must.contains(&Some(i));
        first(b).cmp(&first(a)).then(probability(b).total_cmp(&probability(a))).then(a.cmp(&b))
    });
    order.truncate(LISTED.max(must.iter().flatten().count()));
    order.sort_unstable();
    order
}

/// Six digits after the point are enough for a probability, and keep files small.
fn brief(probability: f64) -> f64 {
    (probability * 1e6).round() / 1e6
}
