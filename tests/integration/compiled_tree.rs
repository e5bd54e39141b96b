//! A compiled tree answers as the tree that it was made from.

use crate::random_tree::{random_tree, rows};
use proptest::prelude::*;
use sched_distill::model::{CompiledTree, ScoreCandidates, Tree};

fn same(tree: &Tree, x: &[f32], width: usize) {
    let fast = CompiledTree::new(tree);
    let n = x.len() / width;
    let (mut leaves, mut classes, mut scores) = (vec![0; n], vec![0; n], vec![0.0; n]);
    fast.apply_rows(x, width, &mut leaves);
    fast.predict_class_rows(x, width, &mut classes);
    fast.score_choice(x, width, &mut scores);
    for (i, row) in x.chunks_exact(width).enumerate() {
        let leaf = tree.apply(row);
        assert_eq!((fast.apply(row), leaves[i] as usize), (leaf, leaf), "{row:?}");
        // Equal bits, not numbers: linear leaves may give NaN.
        let score = tree.predict(row).to_bits();
        assert_eq!((fast.predict(row).to_bits(), scores[i].to_bits()), (score, score));
        assert_eq!(fast.predict_outputs(row), tree.predict_outputs(row));
        let class = tree.predict_class(row);
        assert_eq!((fast.predict_class(row), classes[i] as usize), (class, class));
    }
    assert_eq!(fast.size(), tree.size());
}

proptest! {
    #[test]
    fn a_compiled_tree_answers_as_the_tree_does(
        seed: u64, leaves in 1usize..60, width in 1usize..9, outputs in 1usize..4, chain in 0u8..3, linear: bool,
    ) {
        let tree = random_tree(seed, leaves, width, outputs, f64::from(chain) / 2.0, linear && outputs == 1);
        same(&tree, &rows(seed, &tree, width, 41), width);
    }
}

#[test]
fn a_chain_of_300_tests_and_a_single_leaf_are_no_exceptions() {
    let chain = random_tree(1, 301, 3, 2, 1.0, false);
    assert_eq!(chain.depth(), 300);
    same(&chain, &rows(1, &chain, 3, 4001), 3);
    let leaf = Tree::leaf(0.5, 0.0, 1, 1.0);
    same(&leaf, &[f32::NAN, 1.0], 1);
    assert_eq!(CompiledTree::new(&leaf).predict(&[]), 0.5);
}
