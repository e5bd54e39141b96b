//! The tree learner: exact or by histograms, weighted, best first, and the same for any number of threads.
//!
//! Gains that differ by less than 1e-10 of the node's weighted impurity are tied; then the lowest feature wins, then the
//! lowest threshold, then missing values on the right. Sums run in the order of rows or values within one feature, and each
//! feature is one thread's work, so the number of threads cannot change a bit.
//!
//! Differences to scikit-learn 1.9, whose words are used: ties are decided as above rather than by a random order of the
//! features; values closer than 1e-7 are told apart; thresholds are 32-bit floats. Rows of weight 0 are left out, as there.

mod absolute;
mod by_sums;
mod classes;
mod column;
mod criterion;
mod data;
mod field;
mod grow;
mod linear_leaf;
mod linfa;
mod outputs;
mod params;
mod prune;
mod search;
pub(super) mod threshold;

pub use by_sums::{Cell, CodedRows, Coder, Finish, FinishSums, Layout, NodeSource, NodeSums, Sketch, grow_by_sums};
pub use column::FeatureBins;
pub(crate) use column::{SAMPLE, key, value_of};
pub use data::{Targets, TreeData};
pub use linfa::{MultiOutputTree, TreeClassifier, TreeRegressor, TreeTargets};
pub use params::{Criterion, Engine, Leaf, Missing, TreeError, TreeParams, ValidTreeParams};
pub use prune::{PruningStep, prune, pruning_path};

use ::linfa::ParamGuard;
use absolute::AbsoluteError;
use classes::{Classes, Entropy, Gini};
use criterion::SquaredError;
use data::Rows;
use grow::{Grower, Node, State};
use outputs::SquaredErrors;
use sched_distill_core::model::{LEAF, Tree};

/// Grows a tree. Nodes of the result are in pre-order.
///
/// # Errors
///
/// A parameter out of range or not fit for the data, lists of other lengths than the features, numbers that are not finite,
/// more than 255 classes, no row of positive weight.
///
/// ```
/// use sched_distill_learn::{Targets, TreeData, TreeParams, fit_tree};
/// let x = [1.2, 1.8, 2.4, 10.0];
/// let data = TreeData { x: &x, width: 1, targets: Targets::Values(&[0.0, 0.0, 1.0, 1.0]), weight: None };
/// let tree = fit_tree(data, &TreeParams::default())?;
/// assert_eq!((tree.leaves(), tree.threshold[0]), (2, 2.0));
/// assert_eq!(tree.predict(&[1.9]), 0.0);
/// # Ok::<(), sched_distill_learn::TreeError>(())
/// ```
pub fn fit_tree(data: TreeData<'_>, params: &TreeParams) -> Result<Tree, TreeError> {
    fit_valid(data, params.check_ref()?)
}

/// Grows one tree and keeps it at several numbers of leaves, ascending: each is the tree that [`fit_tree`] grows with that limit
/// instead of the parameters' own.
///
/// # Errors
///
/// As of [`fit_tree`], and sizes that are 0 or do not ascend: a tree does not shrink.
pub fn fit_tree_sizes(data: TreeData<'_>, params: &TreeParams, sizes: &[usize]) -> Result<Vec<Tree>, TreeError> {
    if sizes.contains(&0) || !sizes.is_sorted() {
        let found = format!("{sizes:?}");
        return Err(TreeError::Param { name: "sizes", found, allowed: "at least 1 and ascending" });
    }
    fit_valid_sizes(data, params.check_ref()?, (sizes, None))
}

/// Grows a tree by a histogram whose bins are given, one list for each feature, in place of those that it would draw itself.
///
/// # Errors
///
/// As of [`fit_tree`], another number of lists than of features, and the exact engine, which has no bins.
pub fn fit_tree_in_bins(data: TreeData<'_>, bins: &[FeatureBins], params: &TreeParams) -> Result<Tree, TreeError> {
    let params = params.check_ref()?;
    if params.engine == Engine::Exact {
        return Err(TreeError::Param { name: "engine", found: "exact".to_owned(), allowed: "histogram in given bins" });
    }
    if bins.len() != data.width {
        return Err(TreeError::Shape { what: "the list of bins", found: bins.len(), expected: data.width });
    }
    let trees = fit_valid_sizes(data, params, (&[params.max_leaf_nodes], Some(bins)))?;
    Ok(trees.into_iter().next().expect("a tree for each size"))
}

fn fit_valid(data: TreeData<'_>, params: &ValidTreeParams) -> Result<Tree, TreeError> {
    let trees = fit_valid_sizes(data, params, (&[params.max_leaf_nodes], None))?;
    Ok(trees.into_iter().next().expect("a tree for each size"))
}

/// Sizes, and bins where these are given.
type Asked<'a> = (&'a [usize], Option<&'a [FeatureBins]>);

fn fit_valid_sizes(data: TreeData<'_>, params: &ValidTreeParams, asked: Asked<'_>) -> Result<Vec<Tree>, TreeError> {
    // All of it on one of the pool's threads: a visitor from outside would be put to sleep and woken at every node.
    rayon::scope(|_| fit_in_pool(data, params, asked))
}

fn fit_in_pool(data: TreeData<'_>, params: &ValidTreeParams, asked: Asked<'_>) -> Result<Vec<Tree>, TreeError> {
    let rows = Rows::new(data, params)?;
    let how = (params, asked);
    Ok(match (rows.targets, rows.criterion) {
        (Targets::Values(y), Criterion::AbsoluteError) => grow(&rows, &AbsoluteError::new(&rows, y), how),
        (Targets::Values(y), _) => grow(&rows, &SquaredError::new(&rows, y), how),
        (Targets::Outputs { values, outputs }, _) => grow(&rows, &SquaredErrors::new(&rows, values, outputs), how),
        (Targets::Classes { class, classes }, Criterion::Entropy) => {
            grow(&rows, &Classes::<Entropy>::new(&rows, class, classes), how)
        }
        (Targets::Classes { class, classes }, _) => grow(&rows, &Classes::<Gini>::new(&rows, class, classes), how),
    })
}

fn grow<C: criterion::Criterion>(
    rows: &Rows<'_>,
    criterion: &C,
    (params, (sizes, bins)): (&ValidTreeParams, Asked<'_>),
) -> Vec<Tree> {
    let max_bins = match params.engine {
        Engine::Exact => 255,
        Engine::Histogram { max_bins } => max_bins,
    };
    let columns = match bins {
        Some(bins) => column::columns_in(rows, bins),
        None => column::columns(rows, max_bins),
    };
    let mut grower = Grower::new(rows, criterion, columns, params);
    let of_size = |&leaves: &usize| {
        grower.grow(leaves);
        let State { nodes, .. } = &grower.state;
        let (mut tree, grown) = assemble(nodes, criterion, (rows.scale, rows.targets.outputs()), params);
        if let (Leaf::Linear { ridge }, Targets::Values(y)) = (params.leaf, rows.targets) {
            tree.linear = Some(linear_leaf::fit(&tree, &grown, &grower.state, y, ridge));
        }
        if params.ccp_alpha > 0.0 { prune(&tree, params.ccp_alpha) } else { tree }
    };
    sizes.iter().map(of_size).collect()
}

/// The grown nodes as a tree in pre-order, and the grown node of each of its nodes.
fn assemble<C: criterion::Criterion>(
    nodes: &[Node<C::Totals>],
    criterion: &C,
    (scale, outputs): (f64, usize),
    params: &ValidTreeParams,
) -> (Tree, Vec<usize>) {
    let mut place = vec![LEAF; nodes.len()];
    let mut order = Vec::with_capacity(nodes.len());
    let mut stack = vec![0];
    while let Some(node) = stack.pop() {
        place[node] = order.len() as u32;
        order.push(node);
        if let Some(split) = &nodes[node].split {
            stack.extend([split.children[1], split.children[0]]);
        }
    }
    let mut tree = Tree::empty(outputs);
    for &node in &order {
        let totals = &nodes[node].totals;
        criterion.value(totals, &mut tree.value);
        tree.impurity.push(criterion.impurity(totals));
        tree.n_samples.push(u32::try_from(nodes[node].range.len()).unwrap_or(u32::MAX));
        tree.weight.push(criterion.weight(totals) / scale);
        let Some(split) = &nodes[node].split else {
            tree.push_test(0, 0.0, [LEAF; 2], true);
            continue;
        };
        let [low, high] = split.gap;
        let threshold = match high {
            f32::INFINITY => f32::MAX,
            _ if params.round_thresholds => threshold::shortest(low, high),
            _ => threshold::middle(low, high),
        };
        let heavier = || {
            let [left, right] = split.children.map(|child| criterion.weight(&nodes[child].totals));
            left >= right
        };
        let children = split.children.map(|child| place[child]);
        tree.push_test(split.feature as u32, threshold, children, split.missing_left.unwrap_or_else(heavier));
    }
    (tree, order)
}

#[cfg(test)]
mod tests;
