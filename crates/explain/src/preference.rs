//! Why a model prefers one candidate of a choice to another, feature by feature.
//!
//! Only differences of scores within a choice decide anything. So the question is put as a game between two candidates:
//! beginning with the features of the one, those of the other are put in their place one after the other, in every order;
//! a feature's share is what it changes on average. These are Shapley values with a single baseline (Sundararajan and Najmi, *The
//! Many Shapley Values for Model Explanation*, 2020); their mean over all candidates of the choice as baselines are
//! interventional SHAP values with the choice as background.

use super::{
    error::{ExplainError, rows_of},
    path,
    shap::TreeShap,
};
use sched_distill_core::model::{Additive, Model, Pairwise, Regime, Tree, pair_column};

/// Explains the preferences of a model; made once, used for any number of choices.
///
/// Exact for every model, rounding aside: shares add up to the difference of the scores. A pairwise tree is the one whose
/// shares have another meaning: they are path-dependent SHAP values of its comparisons, added up over all opponents, and those
/// of a feature and of its difference to the opponent's are one share.
///
/// ```
/// use sched_distill_explain::Preference;
/// use sched_distill_core::model::{Additive, Model};
///
/// let model = Model::Additive(Additive::linear(&[2.0, -1.0], &[1.0; 2]));
/// let choice = [1.0, 4.0, 0.0, 1.0]; // two candidates of two features
/// let preference = Preference::new(&model, 2)?;
/// assert_eq!(preference.between(&choice, 0, 1)?, [2.0, -3.0]); // the scores are −2 and −1
/// assert_eq!(preference.within(&choice)?, [1.0, -1.5, -1.0, 1.5]);
/// # Ok::<(), sched_distill_explain::ExplainError>(())
/// ```
#[derive(Debug)]
pub struct Preference<'a> {
    width: usize,
    game: Game<'a>,
}

#[derive(Debug)]
enum Game<'a> {
    Tree(&'a Tree),
    Additive(&'a Additive),
    Pairwise(Box<TreeShap>),
    Regime(&'a Regime, Vec<Preference<'a>>),
}

impl<'a> Preference<'a> {
    /// For a model whose rows have `width` columns.
    ///
    /// # Errors
    ///
    /// If a tree tests a column beyond the width.
    pub fn new(model: &'a Model, width: usize) -> Result<Self, ExplainError> {
        let game = match model {
            Model::Tree(tree) => {
                path::check_columns(tree, width)?;
                Game::Tree(tree)
            }
            Model::Additive(additive) => Game::Additive(additive),
            Model::Pairwise(Pairwise { tree }) => Game::Pairwise(Box::new(TreeShap::path_dependent(tree, 2 * width)?)),
            Model::Regime(regime) => {
                let models = regime.models.iter().map(|m| Self::new(m, width)).collect::<Result<_, _>>()?;
                Game::Regime(regime, models)
            }
        };
        Ok(Self { width, game })
    }

    /// What each feature adds to score(`a`) − score(`b`), shape `(width,)`. `x` holds the choice, shape `(candidates, width)`.
    ///
    /// # Errors
    ///
    /// If the length is no multiple of the width, or there is no such candidate.
    pub fn between(&self, x: &[f32], a: usize, b: usize) -> Result<Vec<f64>, ExplainError> {
        let rows = rows_of("x", x, self.width)?;
        if let Some(&candidate) = [a, b].iter().find(|&&c| c >= rows) {
            return Err(ExplainError::NoSuchCandidate { candidate, rows });
        }
        let mut shares = vec![0.0; self.width];
        self.add(x, a, b, 1.0, &mut shares);
        Ok(shares)
    }

    /// What each feature adds to the difference between a candidate's score and the mean score of its choice, shape
    /// `(candidates, width)`: the mean of [`between`](Self::between) over all candidates as `b`; in a choice of more than 256
    /// over so many of them, evenly spaced, since work grows with the square.
    ///
    /// # Errors
    ///
    /// If the length is no multiple of the width.
    pub fn within(&self, x: &[f32]) -> Result<Vec<f64>, ExplainError> {
        let (rows, width) = (rows_of("x", x, self.width)?, self.width);
        let mut shares = vec![0.0; x.len()];
        if let Game::Pairwise(shap) = &self.game {
            // Values of one candidate do not depend on a second one: the mean is taken off once.
            for (a, shares) in shares.chunks_exact_mut(width).enumerate() {
                add_comparisons(shap, x, width, (a, opponents(rows)), 1.0, shares);
                // Those left out count as those that are there do.
                let left_out = rows as f64 / opponents(rows).len() as f64;
                shares.iter_mut().for_each(|share| *share *= left_out);
            }
            for column in 0..width {
                let mean = (0..rows).map(|row| shares[row * width + column]).sum::<f64>() / rows as f64;
                (0..rows).for_each(|row| shares[row * width + column] -= mean);
            }
            return Ok(shares);
        }
        let opponents = opponents(rows);
        for (a, shares) in shares.chunks_exact_mut(width).enumerate() {
            for b in opponents.clone().filter(|&b| b != a) {
                self.add(x, a, b, 1.0 / opponents.len() as f64, shares);
            }
        }
        Ok(shares)
    }

    /// Adds `weight` times the shares of the preference of `a` to `b`.
    fn add(&self, x: &[f32], a: usize, b: usize, weight: f64, shares: &mut [f64]) {
        let row = |i: usize| &x[i * self.width..][..self.width];
        let (ours, theirs) = (row(a), row(b));
        match &self.game {
            Game::Tree(tree) => Walk { tree, ours, theirs, weight, shares, from: Vec::new() }.descend(0),
            Game::Additive(additive) => {
                for term in &additive.terms {
                    let both = |i: usize| {
                        let factor = &term.factors[i];
                        let column = factor.feature as usize;
                        (column, [factor.of(ours[column]), factor.of(theirs[column])])
                    };
                    let (f, of_f) = both(0);
                    match term.factors.len() {
                        1 => shares[f] += weight * term.coefficient * (of_f[0] - of_f[1]),
                        _ => {
                            let (g, of_g) = both(1);
                            product([f, g], of_f, of_g, weight * term.coefficient, shares);
                        }
                    }
                }
            }
            Game::Pairwise(shap) => {
                let all = 0..x.len() / self.width;
                add_comparisons(shap, x, self.width, (a, all.clone()), weight, shares);
                add_comparisons(shap, x, self.width, (b, all), -weight, shares);
            }
            Game::Regime(regime, models) => {
                models[regime.tree.predict(row(0)) as usize].add(x, a, b, weight, shares);
            }
        }
    }
}

/// Shares of two columns in a product of a function of each, whose values are those of the two candidates.
fn product([f, g]: [usize; 2], of_f: [f64; 2], of_g: [f64; 2], weight: f64, shares: &mut [f64]) {
    shares[f] += weight * (of_f[0] - of_f[1]) * (of_g[0] + of_g[1]) / 2.0;
    shares[g] += weight * (of_g[0] - of_g[1]) * (of_f[0] + of_f[1]) / 2.0;
}

/// Most candidates of a choice that one candidate is compared with.
const MOST_OPPONENTS: usize = 256;

/// The candidates that each candidate of a choice is compared with.
fn opponents(rows: usize) -> impl ExactSizeIterator<Item = usize> + Clone {
    let most = rows.min(MOST_OPPONENTS);
    (0..most).map(move |i| i * rows / most)
}

/// Adds the values of a candidate's comparisons with others; a feature's own column and its difference go to the feature.
fn add_comparisons(
    shap: &TreeShap,
    x: &[f32],
    width: usize,
    (candidate, opponents): (usize, impl Iterator<Item = usize>),
    weight: f64,
    shares: &mut [f64],
) {
    let row = |i: usize| &x[i * width..][..width];
    let mut pairs = Vec::new();
    for opponent in opponents.filter(|&o| o != candidate) {
        pairs.extend((0..2 * width).map(|column| pair_column(row(candidate), row(opponent), column)));
    }
    let mut values = vec![0.0; pairs.len()];
    // The lengths fit by construction.
    if shap.explain_into(&pairs, &mut values).is_ok() {
        for pair in values.chunks_exact(2 * width) {
            let (own, differences) = pair.split_at(width);
            own.iter().zip(differences).zip(shares.iter_mut()).for_each(|((a, b), share)| *share += weight * (a + b));
        }
    }
}

/// Whose value a column has on the way to a leaf.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    Ours,
    Theirs,
}

/// A walk through all leaves that a mixture of two rows can reach. A leaf asks for our value in some columns (n of them) and
/// for theirs in others (m): in the orders of all columns, the last of ours to come brings its value with probability
/// (n−1)! m! / (n+m)!, and the first of the others to come takes it away with probability n! (m−1)! / (n+m)!.
struct Walk<'w> {
    tree: &'w Tree,
    ours: &'w [f32],
    theirs: &'w [f32],
    weight: f64,
    shares: &'w mut [f64],
    from: Vec<(usize, Side)>,
}

impl Walk<'_> {
    fn descend(&mut self, node: usize) {
        if self.tree.is_leaf(node) {
            self.leaf(node);
            return;
        }
        let column = self.tree.feature[node] as usize;
        let to = |row: &[f32]| self.tree.child(node, |column| row[column]);
        let (ours, theirs) = (to(self.ours), to(self.theirs));
        if ours == theirs {
            return self.descend(ours);
        }
        match self.from.iter().find(|f| f.0 == column).map(|f| f.1) {
            Some(Side::Ours) => self.descend(ours),
            Some(Side::Theirs) => self.descend(theirs),
            None => {
                for (side, child) in [(Side::Ours, ours), (Side::Theirs, theirs)] {
                    self.from.push((column, side));
                    self.descend(child);
                    self.from.pop();
                }
            }
        }
    }

    fn leaf(&mut self, leaf: usize) {
        let tree = self.tree;
        let mut always = tree.value[leaf * tree.outputs];
        if let Some(linear) = &tree.linear {
            always = linear.intercept[leaf];
            for (column, coefficient) in linear.terms(leaf) {
                let (ours, theirs) = (f64::from(self.ours[column]), f64::from(self.theirs[column]));
                match self.from.iter().find(|f| f.0 == column).map(|f| f.1) {
                    Some(Side::Ours) => always += coefficient * ours,
                    Some(Side::Theirs) => always += coefficient * theirs,
                    None => {
                        // Theirs until ours comes: a second game, which asks for our value of this column too.
                        always += coefficient * theirs;
                        self.from.push((column, Side::Ours));
                        self.credit(coefficient * (ours - theirs));
                        self.from.pop();
                    }
                }
            }
        }
        self.credit(always);
    }

    fn credit(&mut self, value: f64) {
        let n = self.from.iter().filter(|f| f.1 == Side::Ours).count();
        let m = self.from.len() - n;
        // n! m! / (n+m)!
        let orders: f64 = (1..=m).map(|i| i as f64 / (n + i) as f64).product();
        for &(column, side) in &self.from {
            self.shares[column] += self.weight
                * value
                * match side {
                    Side::Ours => orders / n as f64,
                    Side::Theirs => -orders / m as f64,
                };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_distill_core::{
        model::{Factor, LEAF, LinearLeaves, ScoreCandidates, Shape, Term},
        rng::Stream,
    };

    const WIDTH: usize = 4;

    /// A full tree of depth 4 with random tests and values.
    fn tree(s: &mut Stream) -> Tree {
        let mut tree = Tree::empty(1);
        let inner = 15;
        for node in 0..31u32 {
            let children = if node < inner { [2 * node + 1, 2 * node + 2] } else { [LEAF; 2] };
            tree.push_test(s.below(WIDTH) as u32, s.below(4) as f32 + 0.5, children, true);
        }
        tree.value = (0..31).map(|_| s.normal()).collect();
        tree.impurity = vec![0.0; 31];
        tree.n_samples = vec![1; 31];
        tree.weight = vec![1.0; 31];
        tree
    }

    /// Shapley values by all orders of the columns.
    fn brute_force(score: &dyn Fn(&[f32]) -> f64, ours: &[f32], theirs: &[f32]) -> Vec<f64> {
        fn orders(left: &[usize]) -> Vec<Vec<usize>> {
            if left.is_empty() {
                return vec![Vec::new()];
            }
            let with_first = |&first: &usize| {
                let rest: Vec<usize> = left.iter().copied().filter(|&c| c != first).collect();
                orders(&rest).into_iter().map(move |o| [vec![first], o].concat())
            };
            left.iter().flat_map(with_first).collect()
        }
        let all = orders(&(0..WIDTH).collect::<Vec<_>>());
        let mut shares = vec![0.0; WIDTH];
        for order in &all {
            let mut row = theirs.to_vec();
            for &column in order {
                let before = score(&row);
                row[column] = ours[column];
                shares[column] += (score(&row) - before) / all.len() as f64;
            }
        }
        shares
    }

    fn close(a: &[f64], b: &[f64]) {
        for (a, b) in a.iter().zip(b) {
            assert!((a - b).abs() < 1e-12, "{a} {b}");
        }
    }

    fn models() -> Vec<Model> {
        let mut s = Stream::new(5, "preference");
        let mut with_leaves = tree(&mut s);
        let terms: Vec<(u32, f64)> = (0..16).flat_map(|_| [(0, 0.5), (s.below(3) as u32 + 1, s.normal())]).collect();
        with_leaves.linear = Some(LinearLeaves {
            intercept: (0..31).map(|_| s.normal()).collect(),
            start: (0..32).map(|node: u32| 2 * node.saturating_sub(15)).collect(),
            feature: terms.iter().map(|t| t.0).collect(),
            coefficient: terms.iter().map(|t| t.1).collect(),
        });
        let factor = |feature, shape, threshold| Factor { feature, shape, threshold };
        let term =
            |coefficient, factors: &[Factor]| Term { factors: factors.to_vec(), ..Term::linear(0, coefficient, 1.0) };
        let linear = |feature| factor(feature, Shape::Linear, None);
        let additive = Additive {
            intercept: 1.0,
            terms: vec![
                term(1.0, &[linear(0)]),
                term(0.75, &[linear(1), linear(3)]),
                term(2.0, &[factor(0, Shape::Log, None)]),
                term(-3.0, &[factor(0, Shape::Above, Some(1.0)), factor(1, Shape::Excess, Some(0.5))]),
                term(0.25, &[linear(2), factor(2, Shape::Above, Some(2.0))]),
            ],
        };
        let plain = Model::Tree(tree(&mut s));
        let regime = Regime::split(3, 1.5, plain.clone(), Model::Additive(additive.clone()));
        vec![plain, Model::Tree(with_leaves), Model::Additive(additive), Model::Regime(regime)]
    }

    #[test]
    fn shares_are_those_of_all_orders_and_add_up() {
        for model in models() {
            let preference = Preference::new(&model, WIDTH).unwrap();
            let mut s = Stream::new(6, "rows");
            for _ in 0..50 {
                let x: Vec<f32> = (0..3 * WIDTH).map(|_| s.below(5) as f32).collect();
                let row = |i: usize| &x[i * WIDTH..][..WIDTH];
                let mut scores = [0.0; 3];
                model.score_choice(&x, WIDTH, &mut scores);
                let shares = preference.between(&x, 2, 1).unwrap();
                assert!((shares.iter().sum::<f64>() - (scores[2] - scores[1])).abs() < 1e-12);
                // The regime of a choice is that of its first candidate and no part of the game.
                let part = match &model {
                    Model::Regime(r) => &r.models[r.tree.predict(row(0)) as usize],
                    other => other,
                };
                let score = |row: &[f32]| {
                    let mut score = [0.0];
                    part.score_choice(row, WIDTH, &mut score);
                    score[0]
                };
                close(&shares, &brute_force(&score, row(2), row(1)));
                let within = preference.within(&x).unwrap();
                let mean: Vec<f64> = (0..WIDTH)
                    .map(|c| (0..3).map(|b| preference.between(&x, 1, b).unwrap()[c]).sum::<f64>() / 3.0)
                    .collect();
                close(&within[WIDTH..2 * WIDTH], &mean);
            }
        }
    }

    #[test]
    fn a_pairwise_tree_adds_up_over_its_opponents() {
        let mut s = Stream::new(7, "pairs");
        let mut pairs = tree(&mut s);
        pairs.feature.iter_mut().for_each(|f| *f = (*f * 3) % (2 * WIDTH as u32));
        let model = Model::Pairwise(Pairwise { tree: pairs });
        let preference = Preference::new(&model, WIDTH).unwrap();
        let x: Vec<f32> = (0..5 * WIDTH).map(|_| s.below(5) as f32).collect();
        let mut scores = [0.0; 5];
        model.score_choice(&x, WIDTH, &mut scores);
        let between = preference.between(&x, 4, 0).unwrap();
        assert!((between.iter().sum::<f64>() - (scores[4] - scores[0])).abs() < 1e-12);
        let (within, mean) = (preference.within(&x).unwrap(), scores.iter().sum::<f64>() / 5.0);
        for (row, score) in within.chunks_exact(WIDTH).zip(scores) {
            assert!((row.iter().sum::<f64>() - (score - mean)).abs() < 1e-12);
        }
    }

    #[test]
    fn a_large_choice_is_compared_with_evenly_spaced_candidates() {
        assert!(opponents(256).eq(0..256));
        assert!(opponents(1024).eq((0..256).map(|i| 4 * i)));
        let mut s = Stream::new(9, "large");
        for model in models() {
            let x: Vec<f32> = (0..1000 * WIDTH).map(|_| s.below(5) as f32).collect();
            let mut scores = vec![0.0; 1000];
            model.score_choice(&x, WIDTH, &mut scores);
            let within = Preference::new(&model, WIDTH).unwrap().within(&x).unwrap();
            // One number is off for all candidates alike: the mean of those that were compared with for that of all.
            let off: Vec<f64> =
                within.chunks_exact(WIDTH).zip(&scores).map(|(row, score)| row.iter().sum::<f64>() - score).collect();
            assert!(off.iter().all(|o| (o - off[0]).abs() < 1e-9), "{model:?}");
        }
    }

    #[test]
    fn candidates_that_are_not_there_are_refused() {
        let models = models();
        let preference = Preference::new(&models[0], WIDTH).unwrap();
        assert_eq!(
            preference.between(&[0.0; WIDTH], 0, 1),
            Err(ExplainError::NoSuchCandidate { candidate: 1, rows: 1 })
        );
        assert!(matches!(preference.within(&[0.0; 5]), Err(ExplainError::Ragged { .. })));
    }
}
