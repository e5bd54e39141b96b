//! The numbers of a model that may be changed one by one: thresholds, leaf values, coefficients.

use super::{Additive, LinearLeaves, Model, Pairwise, Term, Tree};

/// Where a number of a model stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Slot {
    /// Threshold of an inner node of a tree.
    Threshold {
        /// The node.
        node: usize,
    },
    /// Value of a leaf; its intercept where leaves are linear.
    Value {
        /// The leaf.
        node: usize,
    },
    /// Coefficient of a linear leaf.
    LeafTerm {
        /// The leaf.
        node: usize,
        /// The feature's column.
        column: usize,
    },
    /// Coefficient of a feature as it is, in a sum of terms.
    Feature {
        /// The feature's column.
        column: usize,
    },
    /// Coefficient of another term of such a sum.
    Term {
        /// Its number.
        term: usize,
    },
    /// Threshold of the tree of a regime.
    Border {
        /// The inner node.
        node: usize,
    },
    /// Where a factor of a term steps or bends.
    Knot {
        /// The term.
        term: usize,
        /// The factor, from 0.
        factor: usize,
    },
}

impl Model {
    /// The numbers of the model: all thresholds, leaf values and coefficients. Of a regime, its own borders only.
    #[must_use]
    pub fn slots(&self) -> Vec<Slot> {
        match self {
            Model::Tree(tree) => tree_slots(tree),
            Model::Pairwise(pairwise) => tree_slots(&pairwise.tree),
            Model::Additive(m) => additive_slots(m),
            Model::Regime(m) => {
                let inner = (0..m.tree.nodes()).filter(|&node| !m.tree.is_leaf(node));
                inner.map(|node| Slot::Border { node }).collect()
            }
        }
    }

    /// The number at a slot; `None` if the model has no such slot. A feature that a leaf or a sum does not have has the coefficient 0.
    #[must_use]
    pub fn number(&self, slot: Slot) -> Option<f64> {
        match (self, slot) {
            (Model::Tree(tree), slot) => tree_number(tree, slot),
            // The leaves of a pairwise tree are numbers.
            (Model::Pairwise(_), Slot::LeafTerm { .. }) => None,
            (Model::Pairwise(pairwise), slot) => tree_number(&pairwise.tree, slot),
            (Model::Additive(m), Slot::Feature { .. }) => Some(m.term_at(slot).map_or(0.0, |t| t.coefficient)),
            (Model::Additive(m), Slot::Term { .. }) => m.term_at(slot).map(|t| t.coefficient),
            (Model::Additive(m), Slot::Knot { term, factor }) => {
                m.terms.get(term)?.factors.get(factor)?.threshold.map(f64::from)
            }
            (Model::Regime(m), Slot::Border { node }) => tree_number(&m.tree, Slot::Threshold { node }),
            _ => None,
        }
    }

    /// Changes the number at a slot; `false` if the model has no such slot. Thresholds become the nearest 32-bit float.
    pub fn set_number(&mut self, slot: Slot, value: f64) -> bool {
        if self.number(slot).is_none() {
            return false;
        }
        match (self, slot) {
            (Model::Tree(tree), slot) => set_tree_number(tree, slot, value),
            (Model::Regime(m), Slot::Border { node }) => set_tree_number(&mut m.tree, Slot::Threshold { node }, value),
            (Model::Pairwise(Pairwise { tree }), slot) => set_tree_number(tree, slot, value),
            (Model::Additive(m), Slot::Feature { column }) => m.set_feature(column, value),
            (Model::Additive(m), Slot::Term { term }) => m.terms[term].coefficient = value,
            (Model::Additive(m), Slot::Knot { term, factor }) => {
                m.terms[term].factors[factor].threshold = Some(value as f32);
            }
            _ => {}
        }
        true
    }
}

impl Additive {
    /// The slot of a term's coefficient: its feature's where it is the term of a feature as it is.
    #[must_use]
    pub fn slot(&self, term: usize) -> Slot {
        let column = self.terms.get(term).and_then(Term::feature).map(|feature| feature as usize);
        match column.filter(|&column| self.feature_term(column) == Some(term)) {
            Some(column) => Slot::Feature { column },
            None => Slot::Term { term },
        }
    }

    /// The term whose coefficient stands at a slot.
    #[must_use]
    pub fn term_at(&self, slot: Slot) -> Option<&Term> {
        match slot {
            Slot::Feature { column } => self.feature_term(column).map(|term| &self.terms[term]),
            Slot::Term { term } => self.terms.get(term),
            _ => None,
        }
    }

    /// The first term that is this feature as it is.
    fn feature_term(&self, column: usize) -> Option<usize> {
        self.terms.iter().position(|t| t.feature() == Some(column as u32))
    }

    /// Sets the coefficient of a feature as it is. Nothing is known of the deviation of a term that comes in this way; it goes with its
    /// coefficient if it is the last one, so that terms keep their numbers.
    fn set_feature(&mut self, column: usize, value: f64) {
        match self.feature_term(column) {
            Some(term) if value == 0.0 && term + 1 == self.terms.len() && self.terms[term].sd == 0.0 => {
                self.terms.pop();
            }
            Some(term) => self.terms[term].coefficient = value,
            None if value != 0.0 => self.terms.push(Term::linear(column as u32, value, 0.0)),
            None => {}
        }
    }
}

fn additive_slots(additive: &Additive) -> Vec<Slot> {
    let of_term = |(term, t): (usize, &Term)| {
        let knots = (0..t.factors.len()).filter(|&factor| t.factors[factor].threshold.is_some());
        let knots = knots.map(|factor| Slot::Knot { term, factor }).collect::<Vec<_>>();
        std::iter::once(additive.slot(term)).chain(knots)
    };
    additive.terms.iter().enumerate().flat_map(of_term).collect()
}

fn tree_slots(tree: &Tree) -> Vec<Slot> {
    let mut slots = Vec::new();
    for node in 0..tree.nodes() {
        if !tree.is_leaf(node) {
            slots.push(Slot::Threshold { node });
            continue;
        }
        slots.push(Slot::Value { node });
        if let Some(linear) = &tree.linear {
            slots.extend(linear.terms(node).map(|(column, _)| Slot::LeafTerm { node, column }));
        }
    }
    slots
}

fn tree_number(tree: &Tree, slot: Slot) -> Option<f64> {
    match slot {
        Slot::Threshold { node } if node < tree.nodes() && !tree.is_leaf(node) => Some(f64::from(tree.threshold[node])),
        Slot::Value { node } if node < tree.nodes() && tree.is_leaf(node) => match &tree.linear {
            Some(linear) => Some(linear.intercept[node]),
            None => Some(tree.value[node * tree.outputs]),
        },
        Slot::LeafTerm { node, column } if node < tree.nodes() && tree.is_leaf(node) && tree.outputs == 1 => {
            let found = tree.linear.iter().flat_map(|l| l.terms(node)).find(|(c, _)| *c == column);
            Some(found.map_or(0.0, |(_, coefficient)| coefficient))
        }
        _ => None,
    }
}

fn set_tree_number(tree: &mut Tree, slot: Slot, value: f64) {
    match slot {
        Slot::Threshold { node } => tree.threshold[node] = value as f32,
        Slot::Value { node } => {
            tree.value[node * tree.outputs] = value;
            if let Some(linear) = &mut tree.linear {
                linear.intercept[node] = value;
            }
        }
        Slot::LeafTerm { node, column } => {
            let nodes = tree.nodes();
            let constant = || LinearLeaves {
                intercept: tree.value.clone(),
                start: vec![0; nodes + 1],
                feature: Vec::new(),
                coefficient: Vec::new(),
            };
            let mut linear = tree.linear.take().unwrap_or_else(constant);
            linear.set_term(node, column, value);
            tree.linear = Some(linear);
        }
        Slot::Feature { .. } | Slot::Term { .. } | Slot::Knot { .. } | Slot::Border { .. } => {}
    }
}

impl LinearLeaves {
    /// Sets the coefficient of a leaf's column; 0 takes the term away.
    fn set_term(&mut self, leaf: usize, column: usize, value: f64) {
        let (from, to) = (self.start[leaf] as usize, self.start[leaf + 1] as usize);
        let at = from + self.feature[from..to].partition_point(|&f| (f as usize) < column);
        let there = at < to && self.feature[at] as usize == column;
        match (there, value != 0.0) {
            (true, true) => self.coefficient[at] = value,
            (true, false) => {
                self.feature.remove(at);
                self.coefficient.remove(at);
                self.start[leaf + 1..].iter_mut().for_each(|s| *s -= 1);
            }
            (false, true) => {
                self.feature.insert(at, column as u32);
                self.coefficient.insert(at, value);
                self.start[leaf + 1..].iter_mut().for_each(|s| *s += 1);
            }
            (false, false) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Factor, LEAF, ScoreCandidates, Shape};

    /// x0 <= 1 ? 10 : 20
    fn stump() -> Tree {
        let mut tree = Tree::empty(1);
        tree.push_test(0, 1.0, [1, 2], true);
        tree.push_test(0, 0.0, [LEAF; 2], true);
        tree.push_test(0, 0.0, [LEAF; 2], true);
        tree.value = vec![15.0, 10.0, 20.0];
        (tree.impurity, tree.n_samples, tree.weight) = (vec![0.0; 3], vec![1; 3], vec![1.0; 3]);
        tree
    }

    fn scores(model: &Model) -> Vec<f64> {
        let mut scores = vec![0.0; 2];
        model.score_choice(&[0.5, 3.0, 2.0, 4.0], 2, &mut scores);
        scores
    }

    #[test]
    fn every_number_can_be_read_and_set() {
        let mut model = Model::Tree(stump());
        assert_eq!(model.slots(), [Slot::Threshold { node: 0 }, Slot::Value { node: 1 }, Slot::Value { node: 2 }]);
        assert_eq!(scores(&model), [10.0, 20.0]);
        assert!(model.set_number(Slot::Threshold { node: 0 }, 2.5));
        assert_eq!(scores(&model), [10.0, 10.0]);
        // A term makes leaves linear; the others keep their values.
        assert!(model.set_number(Slot::LeafTerm { node: 1, column: 1 }, 0.5));
        assert_eq!((scores(&model), model.size()), (vec![11.5, 12.0], 2));
        assert!(model.set_number(Slot::LeafTerm { node: 1, column: 0 }, -1.0));
        assert_eq!(scores(&model), [11.0, 10.0]);
        assert!(model.set_number(Slot::Value { node: 1 }, 0.0));
        assert!(model.set_number(Slot::LeafTerm { node: 1, column: 1 }, 0.0));
        assert_eq!(scores(&model), [-0.5, -2.0]);
        assert!(model.set_number(Slot::Threshold { node: 0 }, 1.0));
        assert_eq!(scores(&model), [-0.5, 20.0]);
        let missing =
            [Slot::Value { node: 0 }, Slot::Threshold { node: 1 }, Slot::Value { node: 9 }, Slot::Term { term: 0 }];
        assert!(missing.into_iter().all(|slot| !model.set_number(slot, 1.0)));
        let Model::Tree(tree) = &model else { unreachable!() };
        assert_eq!(tree.check(2), Ok(()));
    }

    #[test]
    fn a_sum_of_terms_has_coefficients_and_knots() {
        let factor = |feature, shape, threshold| Factor { feature, shape, threshold };
        let factors = vec![factor(0, Shape::Linear, None), factor(1, Shape::Excess, Some(3.0))];
        let terms = vec![Term::linear(0, 2.0, 1.0), Term { factors, ..Term::linear(0, 1.0, 1.0) }];
        let mut model = Model::Additive(Additive { intercept: 0.0, terms });
        let knot = Slot::Knot { term: 1, factor: 1 };
        assert_eq!(model.slots(), [Slot::Feature { column: 0 }, Slot::Term { term: 1 }, knot]);
        assert_eq!(scores(&model), [1.0, 6.0]);
        assert!(model.set_number(knot, 2.0) && model.set_number(Slot::Term { term: 0 }, 0.0));
        assert_eq!((scores(&model), model.number(knot)), (vec![0.5, 4.0], Some(2.0)));
        assert!(!model.set_number(Slot::Knot { term: 1, factor: 0 }, 2.0));
    }

    #[test]
    fn a_feature_comes_and_goes_with_its_coefficient() {
        let fitted = Model::Additive(Additive::linear(&[0.0, 2.0], &[1.0; 2]));
        let (mut model, [new, old]) = (fitted.clone(), [0, 1].map(|column| Slot::Feature { column }));
        assert_eq!((model.slots(), model.number(new)), (vec![old], Some(0.0)));
        assert!(model.set_number(new, 4.0) && !model.set_number(Slot::Term { term: 2 }, 4.0));
        assert_eq!((scores(&model), model.number(new), model.slots()), (vec![8.0, 16.0], Some(4.0), vec![old, new]));
        assert!(model.set_number(new, 0.0));
        assert_eq!(model, fitted);
        // What the fit knows of a term is kept.
        assert!(model.set_number(old, 0.0) && model.set_number(old, 2.0));
        assert_eq!(model, fitted);
    }
}
