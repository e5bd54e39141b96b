//! SHAP values of a sum of trees.

use super::{
    super::error::{ExplainError, expect_length, rows_of},
    ShapValues, TreeShap,
    sum::TABLE_ROOM,
};
use rayon::prelude::*;
use sched_distill_core::model::Tree;

/// Numbers that the tables of all trees together may hold (256 MiB).
const ROOM: usize = 8 * TABLE_ROOM;

/// Explains rows by the SHAP values of a sum of trees: forests, boosted trees. They are the sums of the trees' own
/// ([`TreeShap`]), which see to exactness and to the same bytes for any number of threads.
///
/// Trees either have all outputs of the sum, or one number that is added to one of them.
#[derive(Debug)]
pub struct EnsembleShap {
    /// Trees with the output that they add to; `None` for all.
    trees: Vec<(Option<usize>, TreeShap)>,
    width: usize,
    base_value: Vec<f64>,
}

impl EnsembleShap {
    /// For rows of `width` columns. Path-dependent values without `background`, which has the shape `(rows, width)`, and
    /// interventional ones with it.
    ///
    /// # Errors
    ///
    /// As of [`TreeShap::path_dependent`] and [`TreeShap::interventional`]; a tree with another number of outputs, or for an
    /// output that there is not.
    pub fn new(
        trees: &[(&Tree, Option<usize>)],
        outputs: usize,
        width: usize,
        background: Option<&[f32]>,
    ) -> Result<Self, ExplainError> {
        let room = TABLE_ROOM.min(ROOM / trees.len().max(1));
        let explain = |&(tree, output): &(&Tree, Option<usize>)| {
            if let Some(output) = output.filter(|&output| output >= outputs) {
                return Err(ExplainError::NoSuchOutput { output, outputs });
            }
            expect_length("outputs of a tree", tree.outputs, if output.is_some() { 1 } else { outputs })?;
            let shap = match background {
                None => TreeShap::by_paths(tree, width, room),
                Some(rows) => TreeShap::against(tree, width, (rows, None), room),
            };
            // The only output is all of them.
            Ok((output.filter(|_| outputs > 1), shap?))
        };
        let trees: Vec<_> = trees.par_iter().map(explain).collect::<Result<_, _>>()?;
        let mut base_value = vec![0.0; outputs];
        for (output, shap) in &trees {
            let first = output.unwrap_or(0);
            base_value[first..].iter_mut().zip(shap.base_value()).for_each(|(sum, base)| *sum += base);
        }
        Ok(Self { trees, width, base_value })
    }

    /// What the trees say together when nothing is known, one number per output.
    #[must_use]
    pub fn base_value(&self) -> &[f64] {
        &self.base_value
    }

    /// Explains rows, shape `(rows, width)`, row-major.
    ///
    /// # Errors
    ///
    /// If the length is no multiple of the width.
    pub fn explain(&self, x: &[f32]) -> Result<ShapValues, ExplainError> {
        let (features, outputs) = (self.width, self.base_value.len());
        let rows = rows_of("x", x, features)?;
        let mut values = vec![0.0; rows * features * outputs];
        let mut of_output = Vec::new();
        for output in 0..outputs {
            let mut trees = self.trees.iter().filter(|(of, _)| *of == Some(output)).peekable();
            if trees.peek().is_none() {
                continue;
            }
            of_output.clear();
            of_output.resize(rows * features, 0.0);
            trees.for_each(|(_, shap)| shap.add(x, &mut of_output));
            let places = values.iter_mut().skip(output).step_by(outputs);
            places.zip(&of_output).for_each(|(value, add)| *value += add);
        }
        self.trees.iter().filter(|(of, _)| of.is_none()).for_each(|(_, shap)| shap.add(x, &mut values));
        Ok(ShapValues { rows, features, outputs, base_value: self.base_value.clone(), values })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: [f32; 6] = [0.0, 1.0, 2.0, 0.0, 3.0, 3.0];

    #[test]
    fn values_of_a_sum_are_the_sum_of_the_values() {
        let (a, b, c) =
            (Tree::stump(0, 0.5, [1.0, -2.0]), Tree::stump(1, 0.5, [0.0, 4.0]), Tree::stump(0, 2.5, [3.0, 0.0]));
        for background in [None, Some(&ROWS[..4])] {
            let sum = EnsembleShap::new(&[(&a, Some(1)), (&b, Some(0)), (&c, Some(1))], 2, 2, background).unwrap();
            let found = sum.explain(&ROWS).unwrap();
            let alone = |tree| {
                let shap = match background {
                    None => TreeShap::path_dependent(tree, 2),
                    Some(rows) => TreeShap::interventional(tree, 2, rows, None),
                };
                shap.unwrap().explain(&ROWS).unwrap()
            };
            let (a, b, c) = (alone(&a), alone(&b), alone(&c));
            assert_eq!(found.base_value, [b.base_value[0], a.base_value[0] + c.base_value[0]]);
            for (row, feature) in (0..3).flat_map(|row| [(row, 0), (row, 1)]) {
                let of = |values: &ShapValues| values.value(row, feature, 0);
                assert_eq!(found.value(row, feature, 0), of(&b));
                assert_eq!(found.value(row, feature, 1), of(&a) + of(&c));
            }
        }
    }

    #[test]
    fn trees_must_fit_the_outputs() {
        let tree = Tree::stump(0, 0.5, [1.0, -2.0]);
        let refused = EnsembleShap::new(&[(&tree, None)], 2, 1, None).unwrap_err();
        assert!(matches!(refused, ExplainError::Length { found: 1, expected: 2, .. }));
        let refused = EnsembleShap::new(&[(&tree, Some(2))], 2, 1, None).unwrap_err();
        assert!(matches!(refused, ExplainError::NoSuchOutput { output: 2, outputs: 2 }));
        let only = EnsembleShap::new(&[(&tree, Some(0)), (&tree, None)], 1, 1, None).unwrap();
        assert_eq!(only.explain(&[0.0]).unwrap().values, [3.0]);
    }
}
