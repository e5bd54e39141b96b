//! Whoever takes a candidate of a choice, as the search for another outcome sees it.

use super::super::{error::ExplainError, path};
use sched_distill_core::{
    level::{LevelSpec, first_max},
    model::{CompiledGuards, LevelModels, Model, ScoreCandidates, Shape, Student, Tree},
};
use sched_distill_judge::evaluator::{Role, Scorer};
use sched_distill_trace::{Choice, ChoiceHeader};

/// The candidate taken of rows of features.
type Decide<'a> = Box<dyn Fn(&[f32]) -> usize + Sync + 'a>;

/// Takes a candidate of a choice, and knows where in each column its mind may change.
pub struct Decider<'a> {
    decide: Decide<'a>,
    /// Per column, the last values before some test changes, ascending.
    breaks: Vec<Vec<f32>>,
    /// Per column, differences between two candidates at which some test changes.
    differences: Vec<Vec<f32>>,
    smooth: bool,
}

impl<'a> Decider<'a> {
    /// A tree: the best first output wins, the first of equals.
    ///
    /// # Errors
    ///
    /// If the tree has linear leaves or tests a column beyond the width.
    pub fn tree(tree: &'a Tree, width: usize) -> Result<Self, ExplainError> {
        path::check(tree, width)?;
        let decide = move |x: &[f32]| {
            let mut scores = vec![0.0; x.len() / width];
            tree.score_choice(x, width, &mut scores);
            first_max(scores)
        };
        let mut found = Self::new(Box::new(decide), width);
        found.learn_tree(tree);
        Ok(found.sorted())
    }

    /// A level of a student, guards included.
    #[must_use]
    pub fn student(student: &'a Student, level: &'a LevelModels, spec: &'a LevelSpec) -> Self {
        let scorer = Scorer::student(student, level, Role::Student);
        let (width, entities) = (spec.features.len(), spec.entities.len());
        let decide = move |x: &[f32]| {
            let rows = x.len() / width;
            let header = ChoiceHeader {
                id: 0,
                episode: 0,
                step: 0,
                time_ms: 0.0,
                kind: 0,
                parent: None,
                weight: 1.0,
                first_row: 0,
            };
            let (log_prob, chosen) = (vec![f32::NAN; rows], vec![false; rows]);
            let entity = vec![0; rows * entities];
            let (log_prob, chosen, entity) = (&log_prob[..], &chosen[..], &entity[..]);
            let choice = Choice { header: &header, width, x, log_prob, chosen, entity, none: None };
            scorer.choose(&choice, &mut Vec::new())
        };
        let mut found = Self::new(Box::new(decide), width);
        found.learn(&level.scheduler().model);
        for (column, last) in CompiledGuards::new(&student.guards, spec).breaks() {
            found.breaks[column].push(last);
        }
        found.sorted()
    }

    fn new(decide: Decide<'a>, width: usize) -> Self {
        Self { decide, breaks: vec![Vec::new(); width], differences: vec![Vec::new(); width], smooth: false }
    }

    fn learn_tree(&mut self, tree: &Tree) {
        for node in (0..tree.nodes()).filter(|&node| !tree.is_leaf(node)) {
            self.breaks[tree.feature[node] as usize].push(tree.threshold[node]);
        }
        self.smooth |= tree.linear.is_some();
    }

    fn learn(&mut self, model: &Model) {
        match model {
            Model::Tree(tree) => self.learn_tree(tree),
            Model::Additive(additive) => {
                for factor in additive.terms.iter().flat_map(|t| &t.factors) {
                    self.breaks[factor.feature as usize].extend(factor.threshold);
                    self.smooth |= factor.shape != Shape::Above;
                }
            }
            Model::Pairwise(pairs) => {
                let (tree, width) = (&pairs.tree, self.breaks.len());
                for node in (0..tree.nodes()).filter(|&node| !tree.is_leaf(node)) {
                    let column = tree.feature[node] as usize;
                    match column.checked_sub(width) {
                        None => self.breaks[column].push(tree.threshold[node]),
                        Some(column) => self.differences[column].push(tree.threshold[node]),
                    }
                }
                // Not for lack of tests: where differences are rounded, the places are found by bisection.
                self.smooth = true;
            }
            Model::Regime(regime) => {
                self.learn_tree(&regime.tree);
                regime.models.iter().for_each(|m| self.learn(m));
            }
        }
    }

    fn sorted(mut self) -> Self {
        for list in self.breaks.iter_mut().chain(&mut self.differences) {
            list.sort_unstable_by(f32::total_cmp);
            list.dedup();
        }
        self
    }

    /// The candidate taken; `x` has the shape `(candidates, width)`.
    #[must_use]
    pub fn decide(&self, x: &[f32]) -> usize {
        (self.decide)(x)
    }

    /// Whether a decision may change elsewhere than at a test of a value: scores move with the features.
    #[must_use]
    pub fn is_smooth(&self) -> bool {
        self.smooth
    }

    pub(super) fn breaks(&self, column: usize) -> &[f32] {
        &self.breaks[column]
    }

    pub(super) fn differences(&self, column: usize) -> impl Iterator<Item = f32> + '_ {
        self.differences[column].iter().copied()
    }
}
