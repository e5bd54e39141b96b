//! Which candidates have a value in a column. A column holds something of every candidate; of one that has no such quantity it is
//! a filler, which says nothing of the candidate and must not be taken for a value.

use super::{LevelSpec, LevelWords, NONE_FLAG, base};
use serde::{Deserialize, Serialize};

/// Where a quantity is lacking: of candidates, or choices, whose column of that name holds this.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Filler {
    /// A column of the same level; the quantity's own if its filler is told by its size.
    pub column: String,
    /// What that column then holds.
    pub is: f32,
}

/// Tells values of a level's rows from fillers.
///
/// ```
/// use sched_distill_core::level::Values;
/// use sched_distill_dag::feature::feature_set;
///
/// let level = &feature_set().levels[0];
/// let values = Values::new(level, None);
/// let mut nobody = vec![0.0; level.features.len()];
/// nobody[values.none().ok_or("no such candidate")?] = 1.0;
/// assert!(values.is_none(&nobody) && (1..nobody.len()).all(|column| !values.has(&nobody, column)));
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Values {
    none: Option<usize>,
    /// By column: columns, and what they hold where it is lacking.
    fillers: Vec<Vec<(usize, f32)>>,
}

impl Values {
    /// Of a level, with what its words say of its quantities. Without them it is known of the candidate that gives nothing alone.
    #[must_use]
    pub fn new(spec: &LevelSpec, words: Option<&LevelWords>) -> Self {
        let place = |name: &str| spec.features.iter().position(|f| f.name == name);
        let of_column = |name: &str| {
            let quantity = words.and_then(|words| words.quantity(base(name)));
            let fillers = quantity.iter().flat_map(|quantity| &quantity.fillers);
            fillers.filter_map(|filler| Some((place(&filler.column)?, filler.is))).collect()
        };
        let fillers = spec.features.iter().map(|f| of_column(&f.name)).collect();
        Self { none: place(NONE_FLAG), fillers }
    }

    /// The column that tells the candidate that gives nothing.
    #[must_use]
    pub fn none(&self) -> Option<usize> {
        self.none
    }

    /// Whether a row is that of the candidate that gives nothing.
    #[must_use]
    pub fn is_none(&self, row: &[f32]) -> bool {
        self.none.is_some_and(|none| row[none] == 1.0)
    }

    /// Whether what a candidate's row holds in a column is a value. Of the candidate that gives nothing it is its flag alone: what it
    /// shares with all others tells it from none of them.
    #[must_use]
    pub fn has(&self, row: &[f32], column: usize) -> bool {
        if self.is_none(row) {
            return self.none == Some(column);
        }
        self.fillers.get(column).is_none_or(|fillers| fillers.iter().all(|&(other, is)| row[other] != is))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feature::{Declared, Described, Level, Measured, Quantity};

    struct Plan;

    type Q = Described<Plan>;

    impl Level for Plan {
        type Question<'a> = ();
        type Candidate<'a> = [f64; 2];

        const NAME: &'static str = "plan";
        const QUANTITIES: &'static [Quantity<Self>] = &[
            Q::flag(Measured, NONE_FLAG, "Whether none.").is_none(),
            Q::flag(Declared, "divides", "Whether it divides.").value(&|(), plan| plan[0]),
            Q::time(Declared, "price", "Price.").lacking(&[("divides", 0.0)]).ranked(&|(), plan| plan[1]),
            Q::time(Declared, "end", "End; 1e9 ms if there is none.")
                .lacking(&[("end", 1e9)])
                .value(&|(), plan| plan[1]),
        ];
    }

    #[test]
    fn fillers_are_no_values_of_a_quantity_and_its_rank() {
        let (spec, words) =
            (Plan::spec("Which?", &["plan"]), Plan::words(["plan", "prefers a plan", "picks the plan"]));
        let values = Values::new(&spec, Some(&words));
        let has = |row: [f32; 5]| [0, 1, 2, 3, 4].map(|column| values.has(&row, column));
        assert_eq!(has([0.0, 1.0, 5.0, 1.0, 5.0]), [true; 5]);
        assert_eq!(has([0.0, 0.0, 0.0, 0.0, 5.0]), [true, true, false, false, true]);
        assert_eq!(has([0.0, 1.0, 5.0, 1.0, 1e9]), [true, true, true, true, false]);
        assert_eq!(has([1.0, 0.0, 0.0, 0.0, 0.0]), [true, false, false, false, false]);
        // Who knows no words still knows who gives nothing.
        let values = Values::new(&spec, None);
        assert_eq!((values.has(&[0.0; 5], 2), values.has(&[1.0, 0.0, 0.0, 0.0, 0.0], 2)), (true, false));
    }
}
