//! Some of the choices, drawn in proportion to their weights: those on which terms are searched and models measured.

use super::Weighing;
use sched_distill_core::rng::hash;
use sched_distill_trace::{ChoiceHeader, LevelTable};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How choices are drawn, each by itself: by its part and number alone, so that it does not matter who draws.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Drawing {
    /// What the choices weigh.
    pub weighing: Weighing,
    /// About so many are drawn; `None` for all.
    pub most: Option<u64>,
}

impl Drawing {
    /// With what weight a choice is drawn; 0 if it is not.
    fn weight(&self, part: u32, header: &ChoiceHeader) -> f64 {
        let weight = f64::from(header.weight) * self.weighing.lift[usize::from(header.kind)];
        let Some(most) = self.most else { return weight };
        let each = self.weighing.total / most as f64;
        let uniform = hash(&[u64::from(part), header.id]) as f64 / 2f64.powi(64);
        // A heavy one stands for several.
        (weight / each + uniform).floor() * each
    }
}

/// The choices drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct DrawnChoices {
    drawing: Drawing,
    parts: BTreeMap<u32, LevelTable>,
}

impl DrawnChoices {
    /// None yet.
    #[must_use]
    pub fn new(drawing: Drawing) -> Self {
        Self { drawing, parts: BTreeMap::new() }
    }

    /// Draws from choices of a part.
    pub fn add(&mut self, part: u32, table: &LevelTable) {
        let drawn = self.parts.entry(part).or_insert_with(|| {
            let mut none =
                LevelTable { drawn: Some(Vec::new()), ..LevelTable::new(table.spec.clone(), table.kinds.clone()) };
            none.none = table.none;
            none
        });
        for choice in table.iter() {
            let weight = self.drawing.weight(part, choice.header);
            if weight > 0.0 {
                drawn.push(&choice);
                drawn.drawn.get_or_insert_default().push(weight);
            }
        }
    }

    /// The choices by part, to be sent.
    #[must_use]
    pub fn parts(&self) -> &BTreeMap<u32, LevelTable> {
        &self.parts
    }

    /// Takes in what was drawn of another part.
    pub fn merge(&mut self, part: u32, table: LevelTable) {
        self.parts.insert(part, table);
    }

    /// All that were drawn, in the order of the parts, with the weights that a fit takes; `empty` is a table of the level.
    #[must_use]
    pub fn table(self, empty: LevelTable) -> LevelTable {
        let (mut all, mut weights) = (empty, Vec::new());
        for mut table in self.parts.into_values() {
            weights.extend(table.drawn.take().unwrap_or_default());
            all.append(table);
        }
        all.drawn = Some(weights);
        all
    }
}
