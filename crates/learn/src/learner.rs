//! Everything that can learn from choices, behind one trait, so that an evaluator compares it on equal terms.

use super::{
    Constant, Engine, FitError, FitParams, Leaf, Learner, LogitError, LogitParams, SplineParams, Target, Targets,
    TreeData, TreeError, TreeParams,
    back_end::fit_linfa_tree,
    choice::{self, MOST_PAIRS, fit_logit},
    linear::fit_linear,
    spline::spline_path,
    target,
    temperature::fit_temperature,
    tree::fit_tree_sizes,
};
use linfa::ParamGuard;
use sched_distill_core::{
    level::LevelSpec,
    model::{Additive, Model, NamedModel, Pairwise, Shape, Term, Tree},
};
use sched_distill_trace::LevelTable;

/// Turns the choices of a level into a model that scores candidates.
///
/// Whatever it is, it gives each choice the same total weight, that of the choice.
pub trait ChoiceLearner: Send + Sync {
    /// Name of the model in a student and in tables of fidelity.
    fn name(&self) -> &str;

    /// Learns from all choices of a table with two or more candidates.
    ///
    /// # Errors
    ///
    /// A table without such choices, features that are not finite, and what the learner itself objects to.
    fn fit(&self, table: &LevelTable) -> Result<Model, FitError>;

    /// Learns models of several sizes, at most one for each of `sizes` (leaves or coefficients, increasing); one that has no
    /// size to choose gives a single model, which may be larger.
    ///
    /// # Errors
    ///
    /// As [`ChoiceLearner::fit`].
    fn fit_sizes(&self, table: &LevelTable, sizes: &[usize]) -> Result<Vec<Model>, FitError> {
        let _ = sizes;
        self.fit(table).map(|model| vec![model])
    }
}

/// Fits every learner on `train` and its temperature on `validation`, a table of the same level with other episodes.
///
/// # Errors
///
/// The first error of a learner.
pub fn fit_level(
    train: &LevelTable,
    validation: &LevelTable,
    learners: &[Box<dyn ChoiceLearner>],
) -> Result<Vec<NamedModel>, FitError> {
    let mut models = Vec::with_capacity(learners.len());
    for learner in learners {
        let model = learner.fit(train)?;
        let temperature = fit_temperature(&model, validation);
        models.push(NamedModel { name: learner.name().to_owned(), temperature, model });
    }
    Ok(models)
}

/// The features of a level that are in no term of a logit which may use them all: those that are the same for all
/// candidates in every choice that it was fitted on, and in no product that lets them in. From choice to choice they
/// may differ.
#[must_use]
pub fn left_out(spec: &LevelSpec, logit: &Additive) -> Vec<String> {
    let mut used = vec![false; spec.features.len()];
    let columns = logit.terms.iter().flat_map(|term| &term.factors).map(|factor| factor.feature as usize);
    columns.for_each(|column| used[column] = true);
    spec.features.iter().zip(used).filter(|(_, used)| !used).map(|(feature, _)| feature.name.clone()).collect()
}

impl Learner {
    /// The learner with the settings of a fit.
    #[must_use]
    pub fn with(self, params: &FitParams) -> Box<dyn ChoiceLearner> {
        let params = params.clone();
        match self {
            Self::Tree => Box::new(OwnTree { name: self.name(), leaf: Leaf::Constant, params }),
            Self::LinearTree => {
                Box::new(OwnTree { name: self.name(), leaf: Leaf::Linear { ridge: LEAF_RIDGE }, params })
            }
            Self::Linear => Box::new(OwnLinear(params)),
            Self::Logit => Box::new(OwnLogit(params)),
            Self::SplineLogit | Self::BoundedLogit => Box::new(OwnSpline { learner: self, params }),
            Self::PairwiseTree => Box::new(PairwiseTree(params)),
            Self::LinfaTrees => Box::new(LinfaTrees(params)),
        }
    }
}

/// A regression tree per candidate.
struct OwnTree {
    name: &'static str,
    leaf: Leaf,
    params: FitParams,
}

/// Penalty of linear leaves: strong enough that leaves of few rows stay near their means.
const LEAF_RIDGE: f64 = 1e-2;

impl OwnTree {
    fn trees(&self, table: &LevelTable, sizes: &[usize]) -> Result<Vec<Model>, FitError> {
        if sizes.is_empty() {
            return Ok(Vec::new());
        }
        let rows = target::rows(table, self.params.target, self.params.balance, self.params.max_choices)?;
        let data = TreeData {
            x: &rows.x,
            width: table.width(),
            targets: Targets::Values(&rows.y),
            weight: Some(&rows.weight),
        };
        let recipe = recipe(&self.params, rows.variance()).engine(self.params.engine).leaf(self.leaf);
        grow(data, &recipe, table, sizes, Model::Tree)
    }
}

impl ChoiceLearner for OwnTree {
    fn name(&self) -> &str {
        self.name
    }

    fn fit(&self, table: &LevelTable) -> Result<Model, FitError> {
        self.trees(table, &[self.params.max_leaf_nodes]).map(only)
    }

    fn fit_sizes(&self, table: &LevelTable, sizes: &[usize]) -> Result<Vec<Model>, FitError> {
        self.trees(table, &of_trees(sizes))
    }
}

/// The sizes that trees have: a single leaf tells nothing apart.
fn of_trees(sizes: &[usize]) -> Vec<usize> {
    sizes.iter().copied().filter(|&n| n > 1).collect()
}

fn only(models: Vec<Model>) -> Model {
    models.into_iter().next().expect("a tree for each size")
}

/// The recipe of a regression tree on a target of some variance.
pub(super) fn recipe(params: &FitParams, variance: f64) -> TreeParams {
    TreeParams::default()
        .max_leaf_nodes(params.max_leaf_nodes)
        .min_samples_leaf(params.min_samples_leaf)
        .min_impurity_decrease(params.min_gain * variance)
        .ccp_alpha(params.ccp_alpha)
        .round_thresholds(params.round_thresholds)
}

/// Trees of several sizes, ascending.
fn grow(
    data: TreeData<'_>,
    recipe: &TreeParams,
    table: &LevelTable,
    sizes: &[usize],
    model: impl Fn(Tree) -> Model,
) -> Result<Vec<Model>, FitError> {
    let trees = fit_tree_sizes(data, recipe, sizes);
    let trees = trees.map_err(|source: TreeError| FitError::Tree { level: table.spec.name.clone(), source })?;
    Ok(trees.into_iter().map(model).collect())
}

/// A linear regression per candidate, on log-probabilities.
struct OwnLinear(FitParams);

impl ChoiceLearner for OwnLinear {
    fn name(&self) -> &str {
        Learner::Linear.name()
    }

    fn fit(&self, table: &LevelTable) -> Result<Model, FitError> {
        let rows = target::rows(table, Target::LogRatio, self.0.balance, self.0.max_choices)?;
        fit_linear(&rows, table.width(), &table.spec.name).map(Model::Additive)
    }
}

/// A conditional logit.
struct OwnLogit(FitParams);

impl ChoiceLearner for OwnLogit {
    fn name(&self) -> &str {
        Learner::Logit.name()
    }

    fn fit(&self, table: &LevelTable) -> Result<Model, FitError> {
        let choices = target::choices(table, self.0.balance, self.0.max_choices)?;
        let fitted = fit_logit(&choices.data(), &logit_params(&self.0, &table.spec));
        fitted.map(Model::Additive).map_err(|e| logit_error(&e, self.name(), &table.spec))
    }

    fn fit_sizes(&self, table: &LevelTable, sizes: &[usize]) -> Result<Vec<Model>, FitError> {
        // The coefficients of a logit are read as the teacher's own, so its probabilities stay as they are.
        let linear =
            SplineParams { shapes: vec![Shape::Linear], products: false, sharpness: 1.0, ..SplineParams::default() };
        let mut path = additive_models(self.name(), table, &self.0, sizes, linear)?;
        // In the order of the features, as a logit of all of them.
        path.iter_mut().for_each(|m| m.terms.sort_by_key(Term::feature));
        Ok(path.into_iter().map(Model::Additive).collect())
    }
}

/// What a logit may use at a level: the features and interactions asked for that the level has; without any, all features
/// that differ within a choice.
fn logit_params(params: &FitParams, spec: &LevelSpec) -> LogitParams {
    let (columns, interactions) = logit_columns(params, spec);
    let recipe = LogitParams::default().ridge(params.ridge).interactions(interactions);
    match columns.is_empty() {
        true => recipe.constant(Constant::LeaveOut),
        false => recipe.columns(columns),
    }
}

/// The columns and the pairs of them asked for that a level has.
pub(super) fn logit_columns(params: &FitParams, spec: &LevelSpec) -> (Vec<u32>, Vec<[u32; 2]>) {
    let column = |name: &String| spec.features.iter().position(|f| f.name == *name).map(|c| c as u32);
    let pair = |[a, b]: &[String; 2]| Some([column(a)?, column(b)?]);
    (params.features.iter().filter_map(column).collect(), params.interactions.iter().filter_map(pair).collect())
}

/// What is wrong with a logit, with the names of features.
#[must_use]
pub fn logit_error(error: &LogitError, learner: &str, spec: &LevelSpec) -> FitError {
    let names: Vec<&str> = spec.features.iter().map(|f| f.name.as_str()).collect();
    FitError::Choice { level: spec.name.clone(), learner: learner.to_owned(), problem: error.named(&names) }
}

/// A tree on pairs of candidates.
struct PairwiseTree(FitParams);

impl PairwiseTree {
    fn trees(&self, table: &LevelTable, sizes: &[usize]) -> Result<Vec<Model>, FitError> {
        if sizes.is_empty() {
            return Ok(Vec::new());
        }
        let choices = target::choices(table, self.0.balance, self.0.max_choices)?;
        let pairs = choice::pairs(&choices.data(), MOST_PAIRS);
        let width = 2 * table.width();
        let data = TreeData { x: &pairs.x, width, targets: Targets::Values(&pairs.y), weight: Some(&pairs.weight) };
        // Differences have so many values that looking at every gap would cost much and tell little.
        let recipe = recipe(&self.0, target::variance(&pairs.y, &pairs.weight));
        let recipe = recipe.engine(Engine::Histogram { max_bins: 255 });
        grow(data, &recipe, table, sizes, |tree| Model::Pairwise(Pairwise { tree }))
    }
}

impl ChoiceLearner for PairwiseTree {
    fn name(&self) -> &str {
        Learner::PairwiseTree.name()
    }

    fn fit(&self, table: &LevelTable) -> Result<Model, FitError> {
        self.trees(table, &[self.0.max_leaf_nodes]).map(only)
    }

    fn fit_sizes(&self, table: &LevelTable, sizes: &[usize]) -> Result<Vec<Model>, FitError> {
        self.trees(table, &of_trees(sizes))
    }
}

/// A conditional logit whose terms are searched for.
struct OwnSpline {
    /// [`Learner::SplineLogit`] or [`Learner::BoundedLogit`].
    learner: Learner,
    params: FitParams,
}

impl OwnSpline {
    fn recipe(&self) -> SplineParams {
        SplineParams { bounded: self.learner == Learner::BoundedLogit, ..SplineParams::default() }
    }
}

/// Choices that coefficients of searched terms are fitted on unless another number is asked for.
const SPLINE_CHOICES: usize = 30_000;

impl Learner {
    /// Choices that it learns from at most, also where a size is asked for; `None` for all.
    pub(super) fn most_choices(self, params: &FitParams, sized: bool) -> Option<usize> {
        let searched = matches!(self, Self::SplineLogit | Self::BoundedLogit) || (sized && self == Self::Logit);
        params.max_choices.or(searched.then_some(SPLINE_CHOICES))
    }
}

impl ChoiceLearner for OwnSpline {
    fn name(&self) -> &str {
        self.learner.name()
    }

    fn fit(&self, table: &LevelTable) -> Result<Model, FitError> {
        let sizes = [self.params.max_leaf_nodes];
        let mut path = additive_models(self.name(), table, &self.params, &sizes, self.recipe())?;
        Ok(Model::Additive(path.pop().unwrap_or(Additive { intercept: 0.0, terms: Vec::new() })))
    }

    fn fit_sizes(&self, table: &LevelTable, sizes: &[usize]) -> Result<Vec<Model>, FitError> {
        let path = additive_models(self.name(), table, &self.params, sizes, self.recipe())?;
        Ok(path.into_iter().map(Model::Additive).collect())
    }
}

/// Models of these numbers of terms.
fn additive_models(
    name: &str,
    table: &LevelTable,
    params: &FitParams,
    sizes: &[usize],
    recipe: SplineParams,
) -> Result<Vec<Additive>, FitError> {
    let most = params.max_choices.or(Some(SPLINE_CHOICES));
    let choices = target::choices(table, params.balance, most)?;
    let columns = logit_params(params, &table.spec).check_ref().ok().and_then(|p| p.columns().map(<[u32]>::to_vec));
    let max_terms = sizes.iter().copied().max().unwrap_or(1);
    // An amount may be the median of its probabilities, so that all of them matter and not the best one alone.
    let sharpness = if table.spec.is_amount() { 1.0 } else { recipe.sharpness };
    let recipe = SplineParams { max_terms, ridge: params.ridge, columns, sharpness, ..recipe };
    spline_path(&choices.data(), &recipe, sizes).map_err(|e| logit_error(&e, name, &table.spec))
}

/// A classification tree by linfa-trees.
struct LinfaTrees(FitParams);

impl ChoiceLearner for LinfaTrees {
    fn name(&self) -> &str {
        Learner::LinfaTrees.name()
    }

    fn fit(&self, table: &LevelTable) -> Result<Model, FitError> {
        let rows = target::rows(table, self.0.target, self.0.balance, self.0.max_choices)?;
        fit_linfa_tree(&rows, table.width(), &self.0, &table.spec.name).map(Model::Tree)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tiny::feature;
    use sched_distill_core::rng::Stream;
    use sched_distill_judge::evaluator::{Role, Scorer, fidelity};
    use sched_distill_trace::ChoiceHeader;

    /// A teacher that scores 2 a − b; the feature `load` is the same for all candidates. Without probabilities it always
    /// takes the best candidate.
    fn table(episodes: u32, probabilities: bool) -> LevelTable {
        let spec = LevelSpec {
            name: "job".to_owned(),
            question: String::new(),
            candidates: String::new(),
            entities: Vec::new(),
            features: vec![feature("a"), feature("b"), feature("load")],
        };
        let mut table = LevelTable::new(spec, vec!["x".to_owned(), "y".to_owned()]);
        let mut s = Stream::new(u64::from(episodes), "learners");
        for i in 0..episodes * 20 {
            let (n, load) = (1 + s.below(5), s.uniform() as f32);
            table.choices.push(ChoiceHeader {
                id: u64::from(i),
                episode: i / 20,
                step: i % 20,
                time_ms: 0.0,
                kind: u8::from(i % 4 == 0),
                parent: None,
                weight: 1.0 + s.below(3) as f32,
                first_row: table.rows(),
            });
            let x: Vec<[f32; 3]> = (0..n).map(|_| [s.normal() as f32, s.normal() as f32, load]).collect();
            let score: Vec<f64> = x.iter().map(|r| f64::from(2.0 * r[0] - r[1])).collect();
            let total = score.iter().map(|v| v.exp()).sum::<f64>().ln();
            let best = sched_distill_core::level::first_max(score.iter().copied());
            for (j, row) in x.iter().enumerate() {
                table.log_prob.push(if probabilities { (score[j] - total) as f32 } else { f32::NAN });
                table.chosen.push(j == best);
                table.x.extend(row);
            }
        }
        table
    }

    #[test]
    fn logits_come_in_the_sizes_asked_for_and_thinned_choices_keep_their_weight() {
        let (train, params) = (table(40, true), FitParams::default());
        for learner in [Learner::Logit, Learner::SplineLogit] {
            let models = learner.with(&params).fit_sizes(&train, &[1, 2]).unwrap();
            assert_eq!(models.iter().map(sched_distill_core::model::ScoreCandidates::size).collect::<Vec<_>>(), [1, 2]);
        }
        let weight = |most| target::choices(&train, 0.5, most).unwrap().data().weight.to_vec();
        let (all, some) = (weight(None), weight(Some(100)));
        assert!(some.len() <= 100 && some.len() > 80, "{}", some.len());
        assert!((some.iter().sum::<f64>() / all.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        assert_eq!(weight(Some(all.len())), all);
    }

    #[test]
    fn every_learner_follows_a_soft_and_a_deterministic_teacher() {
        let params = FitParams { max_leaf_nodes: 32, learners: Learner::ALL.to_vec(), ..FitParams::default() };
        let learners: Vec<_> = Learner::ALL.iter().map(|l| l.with(&params)).collect();
        for probabilities in [true, false] {
            let (train, test) = (table(40, probabilities), table(30, probabilities));
            let models = fit_level(&train, &test, &learners).unwrap();
            for (model, learner) in models.iter().zip(Learner::ALL) {
                assert_eq!(model.name, learner.name());
                let top1 = fidelity(&test, &[Scorer::model(model, Role::Student)], 0)[2].top1.value;
                let least = match learner {
                    Learner::Logit => 0.97,
                    // 32 terms for what two can say.
                    Learner::SplineLogit => 0.96,
                    Learner::PairwiseTree => 0.85,
                    _ => 0.75,
                };
                assert!(top1 > least, "{} {top1}, probabilities {probabilities}", model.name);
            }
            let named = models.iter().find(|m| m.name == "logit").unwrap();
            let Model::Additive(logit) = &named.model else { panic!("{named:?}") };
            let features: Vec<_> = logit.terms.iter().map(Term::feature).collect();
            assert_eq!(features, [Some(0), Some(1)], "the load cannot be judged");
            assert_eq!(left_out(&train.spec, logit), ["load"]);
            let differs = |x: &[f32]| x.iter().skip(2).step_by(3).any(|load| *load != x[2]);
            assert!((0..train.choices.len()).all(|c| !differs(train.choice(c).x)), "the same within each choice");
            assert!(differs(&train.x), "but not from choice to choice");
            if probabilities {
                assert!((logit.terms[0].coefficient - 2.0).abs() < 0.01 && (named.temperature - 1.0).abs() < 0.02);
            }
        }
    }

    #[test]
    fn choices_weigh_the_same_for_all_models() {
        for probabilities in [true, false] {
            let table = table(10, probabilities);
            let rows = target::rows(&table, Target::LogRatio, 0.5, None).unwrap();
            let choices = target::choices(&table, 0.5, None).unwrap();
            let data = choices.data();
            let pairs = choice::pairs(&data, MOST_PAIRS);
            assert_eq!(data.bounds, rows.bounds);
            for (c, bounds) in rows.bounds.windows(2).enumerate() {
                let sum: f64 = rows.weight[bounds[0]..bounds[1]].iter().sum();
                assert!((data.weight[c] - sum).abs() < 1e-12);
                let p = &data.probability[bounds[0]..bounds[1]];
                assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-6);
                assert!(probabilities || p.contains(&1.0));
            }
            assert!((pairs.weight.iter().sum::<f64>() - data.weight.iter().sum::<f64>()).abs() < 1e-9);
        }
    }

    #[test]
    fn features_and_interactions_are_those_of_the_level() {
        let table = table(40, true);
        let names = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect();
        let pair = |a: &str, b: &str| [a.to_owned(), b.to_owned()];
        let interactions = vec![pair("a", "load"), pair("a", "elsewhere")];
        let params = FitParams { features: names(&["b", "elsewhere"]), interactions, ..FitParams::default() };
        let Model::Additive(logit) = Learner::Logit.with(&params).fit(&table).unwrap() else { panic!() };
        let words: Vec<String> = logit.terms.iter().map(|t| t.words(&table.spec)).collect();
        assert_eq!(words, ["b", "a * load"]);
        assert!(left_out(&table.spec, &logit).is_empty(), "the product lets it in");
        assert!(logit.terms[1].coefficient > 1.0, "the product stands in for a");
        let params = FitParams { features: names(&["load"]), ..FitParams::default() };
        let refused = Learner::Logit.with(&params).fit(&table).unwrap_err().to_string();
        assert!(refused.starts_with("level `job`, logit: `load` never differs"), "{refused}");
    }
}
