//! The same fit on other episodes: would they give the same rules?

use super::{Draw, FitError, FitParams, Learner};
use sched_distill_core::{
    model::{LevelModels, NamedModel, ScoreCandidates, Student},
    rng::{Stream, hash},
};
use sched_distill_trace::{LevelTable, Outline};
use std::collections::{BTreeMap, BTreeSet};

/// Why a student cannot be fitted again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NoRefit {
    /// Guards and patches do not come out of a fit.
    #[error("it was edited after its fit, and edits do not come out of a fit")]
    Edited,
    /// The parameters are not ours.
    #[error("the parameters of its fit cannot be read back ({0})")]
    Parameters(#[source] serde_json::Error),
    /// Written by hand, or a choice of models.
    #[error("the model of level `{level}`, `{model}`, is not of one of the learners")]
    NoLearner {
        /// The level.
        level: String,
        /// The model that schedules there.
        model: String,
    },
}

/// How the models that schedule were fitted, so that they can be fitted again.
#[derive(Clone, Debug)]
pub struct Refit {
    levels: Vec<Recipe>,
}

#[derive(Clone, Debug)]
struct Recipe {
    level: String,
    /// Numbers of a row of the level.
    width: usize,
    learner: Learner,
    params: FitParams,
    /// Size of a model that was chosen by its size.
    size: Option<usize>,
    /// Of the student's model; a refit has no validation choices of its own.
    temperature: f64,
}

impl Refit {
    /// Reads a student's recipe back: at each level the learner of the model that schedules, with the parameters of the fit.
    /// A model that was chosen from several sizes is fitted with its own.
    ///
    /// # Errors
    ///
    /// [`NoRefit`].
    pub fn of(student: &Student) -> Result<Self, NoRefit> {
        if !(student.guards.is_empty() && student.patches.is_empty()) {
            return Err(NoRefit::Edited);
        }
        let params: FitParams =
            serde_json::from_value(student.provenance.parameters.clone()).map_err(NoRefit::Parameters)?;
        let recipe = |level: &LevelModels| {
            let named = level.scheduler();
            let learner = Learner::ALL.into_iter().find(|l| l.name() == named.name);
            let missing = || NoRefit::NoLearner { level: level.level.clone(), model: named.name.clone() };
            let size = named.model.size();
            let chosen = named.name != params.used
                || level.models.len() != params.learners.len()
                || (learner.is_some_and(searched) && size > params.max_leaf_nodes);
            let learner = learner.ok_or_else(missing)?;
            let params = FitParams { learners: vec![learner], used: learner.name().to_owned(), ..params.clone() };
            let level = level.level.clone();
            let of_level = student.feature_set.levels.iter().find(|spec| spec.name == level);
            let width = of_level.map_or(0, |spec| spec.features.len());
            Ok(Recipe { level, width, learner, params, size: chosen.then_some(size), temperature: named.temperature })
        };
        Ok(Self { levels: student.levels.iter().map(recipe).collect::<Result<_, _>>()? })
    }

    /// Draws as many episodes as there are, with replacement: a choice of an episode that was drawn twice counts twice. Which
    /// episodes are drawn depends on `seed`, `number` and the episodes alone. Per level, the weights with which a fit takes the
    /// choices, 0 for those that it does not take ([`LevelTable::drawn`]): of what these are like no rows need to be known. Levels
    /// are the student's, in order.
    ///
    /// # Errors
    ///
    /// A level without choices in the episodes drawn.
    pub fn draw(&self, choices: &[Vec<Outline>], seed: u64, number: u64) -> Result<Vec<Vec<f64>>, FitError> {
        let times = draw(&episodes(choices), seed, number);
        self.levels.iter().zip(choices).map(|(recipe, choices)| recipe.draw(choices, &times)).collect()
    }

    /// Fits the model of a level again, which is given by its place among the student's.
    ///
    /// # Errors
    ///
    /// What a learner objects to.
    pub fn fit(&self, level: usize, train: &LevelTable) -> Result<NamedModel, FitError> {
        self.levels[level].fit(train)
    }
}

/// Whether a learner stops at the largest number of leaves or terms.
fn searched(learner: Learner) -> bool {
    !matches!(learner, Learner::Linear | Learner::Logit)
}

impl Recipe {
    fn draw(&self, choices: &[Outline], times: &BTreeMap<u32, f32>) -> Result<Vec<f64>, FitError> {
        let mut draw = Draw::of_rows(self.width);
        for choice in choices {
            let times = times.get(&choice.episode).copied().unwrap_or(0.0);
            draw.add(&Outline { weight: choice.weight * times, ..*choice });
        }
        let weights = draw.weights(self.params.balance, self.learner.most_choices(&self.params, self.size.is_some()));
        weights.ok_or_else(|| FitError::NoChoices { level: self.level.clone() })
    }

    fn fit(&self, table: &LevelTable) -> Result<NamedModel, FitError> {
        let learner = self.learner.with(&self.params);
        let sized = match self.size {
            Some(size) => learner.fit_sizes(table, &[size])?.pop(),
            None => None,
        };
        let model = sized.map_or_else(|| learner.fit(table), Ok)?;
        Ok(NamedModel { name: learner.name().to_owned(), temperature: self.temperature, model })
    }
}

/// The episodes of all levels, ascending.
#[must_use]
pub fn episodes(choices: &[Vec<Outline>]) -> Vec<u32> {
    let all: BTreeSet<u32> = choices.iter().flatten().map(|c| c.episode).collect();
    all.into_iter().collect()
}

/// How often each episode was drawn; those that were not are left out.
fn draw(episodes: &[u32], seed: u64, number: u64) -> BTreeMap<u32, f32> {
    let mut stream = Stream::new(hash(&[seed, number]), "resampled episodes");
    let mut times = BTreeMap::new();
    for _ in episodes {
        *times.entry(episodes[stream.below(episodes.len())]).or_insert(0.0) += 1.0;
    }
    times
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tiny;
    use crate::{Subject, fit_student};
    use sched_distill_core::{
        level::{FeatureSet, LevelSpec},
        model::{Model, Provenance},
    };

    /// Choices whose first feature decides; the second is noise.
    fn table(episodes: u32) -> LevelTable {
        let mut s = Stream::new(5, "refit");
        let choices: Vec<_> = (0..episodes * 20)
            .map(|i| {
                let rows: Vec<[f32; 2]> = (0..4).map(|_| [s.uniform() as f32, s.uniform() as f32]).collect();
                let least = (0..4).min_by(|&a, &b| rows[a][0].total_cmp(&rows[b][0])).unwrap();
                (i / 20, 0, rows, least)
            })
            .collect();
        tiny::table("job", &choices)
    }

    fn outlines(table: &LevelTable) -> Vec<Outline> {
        table.iter().map(|choice| Outline::of(&choice)).collect()
    }

    /// What a fit takes with these weights.
    fn drawn(table: &LevelTable, weights: &[f64]) -> LevelTable {
        LevelTable { drawn: Some(weights.to_vec()), ..table.clone() }
    }

    fn student(table: &LevelTable, params: &FitParams) -> Student {
        let spec: LevelSpec = table.spec.clone();
        let set = FeatureSet { scenario: "dag".to_owned(), levels: vec![spec] };
        let tables = std::slice::from_ref(table);
        let subject = Subject { feature_set: &set, abstains: false };
        fit_student(subject, (tables, tables), params, Provenance::default()).unwrap()
    }

    #[test]
    fn episodes_are_drawn_whole_and_as_many_as_there_are() {
        let table = table(12);
        let choices = [outlines(&table)];
        let times = draw(&episodes(&choices), 3, 0);
        assert_eq!(times.values().sum::<f32>(), 12.0);
        assert!(times.len() < 12 && times.values().any(|&n| n > 1.0), "{times:?}");
        let refit = Refit::of(&student(&table, &FitParams::default())).unwrap();
        let weights = refit.draw(&choices, 3, 0).unwrap();
        for (choice, weight) in table.choices.iter().zip(&weights[0]) {
            assert_eq!(*weight, times.get(&choice.episode).copied().map_or(0.0, f64::from));
        }
        assert_ne!(times, draw(&episodes(&choices), 3, 1));
        // Fewer are drawn as a fit draws them.
        let few = student(&table, &FitParams { max_choices: Some(50), ..FitParams::default() });
        let weights = Refit::of(&few).unwrap().draw(&choices, 3, 0).unwrap();
        assert!(weights[0].iter().filter(|w| **w > 0.0).count() <= 50);
        assert!((weights[0].iter().sum::<f64>() - 240.0).abs() < 1e-9);
    }

    /// Each episode once is the fit itself.
    #[test]
    fn a_refit_on_the_same_episodes_is_the_student() {
        let table = table(12);
        let params = FitParams { max_leaf_nodes: 6, ..FitParams::default() };
        let student = student(&table, &params);
        let refit = Refit::of(&student).unwrap();
        let choices = [outlines(&table)];
        let once = refit.levels[0].draw(&choices[0], &(0..12).map(|e| (e, 1.0)).collect()).unwrap();
        assert_eq!(refit.levels[0].fit(&drawn(&table, &once)).unwrap(), *student.levels[0].scheduler());
        let [one, same, other] = [(1, 0), (1, 0), (1, 1)].map(|(seed, number)| {
            let weights = refit.draw(&choices, seed, number).unwrap();
            refit.fit(0, &drawn(&table, &weights[0])).unwrap()
        });
        assert_eq!(one, same);
        assert_ne!(one, other);
    }

    #[test]
    fn a_model_chosen_by_its_size_is_fitted_with_that_size() {
        let table = table(12);
        let mut student = student(&table, &FitParams { max_leaf_nodes: 3, ..FitParams::default() });
        let large =
            FitParams { learners: vec![Learner::Linear, Learner::Tree, Learner::Logit], ..FitParams::default() };
        student.provenance.parameters = serde_json::to_value(FitParams { used: "linear".to_owned(), ..large }).unwrap();
        let model = Refit::of(&student).unwrap().fit(0, &table).unwrap();
        assert!(matches!(&model.model, Model::Tree(tree) if tree.leaves() == 3));
    }

    #[test]
    fn what_does_not_come_out_of_a_fit_is_refused() {
        let fitted = student(&table(6), &FitParams::default());
        let mut student = fitted.clone();
        student.provenance.parameters = serde_json::json!({"depth": 3});
        assert!(matches!(Refit::of(&student), Err(NoRefit::Parameters(_))));
        let mut student = fitted.clone();
        student.levels[0].used = "mine".to_owned();
        student.levels[0].models[0].name = "mine".to_owned();
        let said = Refit::of(&student).unwrap_err().to_string();
        assert_eq!(said, "the model of level `job`, `mine`, is not of one of the learners");
    }
}
