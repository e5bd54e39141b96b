//! Trees and rows at random, with everything that could go wrong in them.

use sched_distill::{
    model::{LEAF, LinearLeaves, Tree},
    rng::Stream,
};

/// A random tree: `shape` is 0 for bushy ones, 1 for chains.
pub(crate) fn random_tree(seed: u64, leaves: usize, width: usize, outputs: usize, shape: f64, linear: bool) -> Tree {
    let mut s = Stream::new(seed, "random tree");
    let mut below = vec![None::<(usize, usize)>];
    let mut last = 0;
    for _ in 1..leaves {
        let open: Vec<usize> = (0..below.len()).filter(|&n| below[n].is_none()).collect();
        let node = if s.uniform() < shape { last } else { open[s.below(open.len())] };
        below[node] = Some((below.len(), below.len() + 1));
        last = below.len() + usize::from(s.uniform() < 0.5);
        below.extend([None, None]);
    }
    let mut tree = Tree::empty(outputs);
    let special = [0.0, -0.0, 1.0, -1.0, f32::MAX, f32::MIN, f32::MIN_POSITIVE, -f32::MIN_POSITIVE, 1e-45, -1e-45];
    // Pre-order, as trees are.
    let mut stack = vec![(0, None::<(usize, bool)>)];
    while let Some((node, parent)) = stack.pop() {
        let place = tree.feature.len();
        match parent {
            Some((above, true)) => tree.left[above] = place as u32,
            Some((above, false)) => tree.right[above] = place as u32,
            None => {}
        }
        let inner = below[node].is_some();
        tree.feature.push(if inner { s.below(width) as u32 } else { 0 });
        tree.threshold.push(match inner {
            true if s.uniform() < 0.3 => special[s.below(special.len())],
            true => (s.normal() * 4.0).round() as f32 / 4.0,
            false => 0.0,
        });
        tree.left.push(LEAF);
        tree.right.push(LEAF);
        tree.default_left.push(s.uniform() < 0.5);
        tree.value.extend((0..outputs).map(|_| (s.uniform() * 4.0).floor() / 4.0));
        tree.impurity.push(0.0);
        tree.n_samples.push(1);
        tree.weight.push(s.uniform());
        if let Some((left, right)) = below[node] {
            stack.extend([(right, Some((place, false))), (left, Some((place, true)))]);
        }
    }
    if linear {
        let nodes = tree.nodes();
        tree.linear = Some(LinearLeaves {
            intercept: (0..nodes).map(|_| s.normal()).collect(),
            start: (0..=nodes as u32).collect(),
            feature: (0..nodes).map(|_| s.below(width) as u32).collect(),
            coefficient: (0..nodes).map(|_| s.normal()).collect(),
        });
    }
    tree
}

/// Rows at random, on thresholds, beside them, missing and infinite.
pub(crate) fn rows(seed: u64, tree: &Tree, width: usize, n: usize) -> Vec<f32> {
    let mut s = Stream::new(seed, "rows");
    let nan = [f32::NAN, -f32::NAN, f32::from_bits(0x7f80_0001), f32::from_bits(0xff80_0001)];
    let holes = s.uniform() < 0.5;
    let mut value = || {
        let t = tree.threshold[s.below(tree.nodes())];
        match s.below(8) {
            0 => t,
            1 => t.next_up(),
            2 => t.next_down(),
            3 => [f32::INFINITY, f32::NEG_INFINITY, 0.0, -0.0][s.below(4)],
            4 if holes => nan[s.below(4)],
            _ => (s.normal() * 4.0) as f32,
        }
    };
    (0..n * width).map(|_| value()).collect()
}
