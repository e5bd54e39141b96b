//! One level of a trace in memory: choices, and one row per candidate.

use sched_distill_core::level::{LevelSpec, NONE_FLAG, first_max};
use serde::{Deserialize, Serialize};

/// What the rows of one choice have in common.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChoiceHeader {
    /// `episode · 2³² + ordinal in the episode`, unique within a level whatever the sharding.
    pub id: u64,
    /// Episode number.
    pub episode: u32,
    /// Decision number within the episode.
    pub step: u32,
    /// Simulated time, ms.
    pub time_ms: f64,
    /// Index into the manifest's list of kinds.
    pub kind: u8,
    /// Candidate of the level above on which this choice is conditional.
    pub parent: Option<u32>,
    /// Importance of the choice; positive.
    pub weight: f32,
    /// First row of this choice; the choice ends where the next one begins.
    pub first_row: usize,
}

/// One level of a trace. Rows of a choice are contiguous and in candidate order.
#[derive(Clone, Debug, PartialEq)]
pub struct LevelTable {
    /// The level's description; `x` has one column per feature of it.
    pub spec: LevelSpec,
    /// Names of the kinds that [`ChoiceHeader::kind`] indexes.
    pub kinds: Vec<String>,
    /// Choices in order of `id`.
    pub choices: Vec<ChoiceHeader>,
    /// Entity columns, shape `(rows, entities)`, row-major.
    pub entity: Vec<u32>,
    /// The teacher's log-probability within the choice, shape `(rows,)`; NaN stands for null.
    pub log_prob: Vec<f32>,
    /// Whether the candidate was executed, shape `(rows,)`.
    pub chosen: Vec<bool>,
    /// Feature values, shape `(rows, features)`, row-major.
    pub x: Vec<f32>,
    /// By choice, the weights that a fit takes as they are, where the choices were drawn for it from more.
    pub drawn: Option<Vec<f64>>,
    /// The feature that marks the candidate which gives nothing, where some policies have it and others do not
    /// ([`Self::with_none`]).
    pub none: Option<usize>,
}

/// One choice of a [`LevelTable`].
#[derive(Clone, Copy, Debug)]
pub struct Choice<'a> {
    /// What the rows have in common.
    pub header: &'a ChoiceHeader,
    /// Number of features per row.
    pub width: usize,
    /// Feature values, shape `(candidates, width)`, row-major.
    pub x: &'a [f32],
    /// Log-probabilities, NaN for null, shape `(candidates,)`.
    pub log_prob: &'a [f32],
    /// Executed flags, shape `(candidates,)`.
    pub chosen: &'a [bool],
    /// Entity columns, shape `(candidates, entities)`, row-major.
    pub entity: &'a [u32],
    /// [`LevelTable::none`].
    pub none: Option<usize>,
}

impl LevelTable {
    /// A table without rows.
    #[must_use]
    pub fn new(spec: LevelSpec, kinds: Vec<String>) -> Self {
        Self {
            spec,
            kinds,
            choices: Vec::new(),
            entity: Vec::new(),
            log_prob: Vec::new(),
            chosen: Vec::new(),
            x: Vec::new(),
            drawn: None,
            none: None,
        }
    }

    /// The same table if `there` is false, else one in whose choices to give nothing is a candidate of those policies that may:
    /// the one that has [`NONE_FLAG`]. A level without such a feature has no such candidate.
    #[must_use]
    pub fn with_none(mut self, there: bool) -> Self {
        self.none = self.spec.features.iter().position(|f| there && f.name == NONE_FLAG);
        self
    }

    /// The choices as a policy that always gives something has them: without the candidate that gives nothing, and without
    /// those of which that is the label. Who was executed is not known where nobody was.
    #[must_use]
    pub fn without_none(self) -> Self {
        if self.none.is_none() {
            return self;
        }
        let mut kept = Self { none: None, ..self.filter(|_| false) };
        for (i, choice) in self.iter().enumerate() {
            let none = choice.none();
            if none == Some(choice.target()) {
                continue;
            }
            kept.choices.push(ChoiceHeader { first_row: kept.rows(), ..*choice.header });
            for candidate in (0..choice.len()).filter(|&candidate| Some(candidate) != none) {
                kept.entity.extend_from_slice(choice.entities(candidate));
                kept.log_prob.push(choice.log_prob[candidate]);
                kept.chosen.push(choice.chosen[candidate]);
                kept.x.extend_from_slice(choice.row(candidate));
            }
            if let (Some(kept), Some(drawn)) = (&mut kept.drawn, &self.drawn) {
                kept.push(drawn[i]);
            }
        }
        kept
    }

    /// Number of rows (candidates).
    #[inline]
    #[must_use]
    pub fn rows(&self) -> usize {
        self.log_prob.len()
    }

    /// Number of features per row.
    #[inline]
    #[must_use]
    pub fn width(&self) -> usize {
        self.spec.features.len()
    }

    /// Removes all choices; the memory stays for those to come.
    pub fn clear(&mut self) {
        self.choices.clear();
        self.entity.clear();
        self.log_prob.clear();
        self.chosen.clear();
        self.x.clear();
        self.drawn = None;
    }

    /// Adds the choices of `later`, a table of the same level, behind those of `self`.
    pub fn append(&mut self, later: LevelTable) {
        if self.choices.is_empty() {
            *self = later;
            return;
        }
        let rows = self.rows();
        self.choices.extend(
            later.choices.into_iter().map(|choice| ChoiceHeader { first_row: choice.first_row + rows, ..choice }),
        );
        self.entity.extend(later.entity);
        self.log_prob.extend(later.log_prob);
        self.chosen.extend(later.chosen);
        self.x.extend(later.x);
    }

    /// Adds a choice of a table of the same level.
    pub fn push(&mut self, choice: &Choice<'_>) {
        self.choices.push(ChoiceHeader { first_row: self.rows(), ..*choice.header });
        self.entity.extend_from_slice(choice.entity);
        self.log_prob.extend_from_slice(choice.log_prob);
        self.chosen.extend_from_slice(choice.chosen);
        self.x.extend_from_slice(choice.x);
    }

    /// Some of the choices, in the same order.
    #[must_use]
    pub fn filter(&self, mut keep: impl FnMut(&Choice<'_>) -> bool) -> Self {
        let mut kept = Self::new(self.spec.clone(), self.kinds.clone());
        kept.none = self.none;
        kept.drawn = self.drawn.as_ref().map(|_| Vec::new());
        for (i, choice) in self.iter().enumerate().filter(|(_, c)| keep(c)) {
            kept.push(&choice);
            if let (Some(kept), Some(drawn)) = (&mut kept.drawn, &self.drawn) {
                kept.push(drawn[i]);
            }
        }
        kept
    }

    /// The choices of some episodes, in the same order.
    #[must_use]
    pub fn select(&self, keep: impl Fn(u32) -> bool) -> Self {
        self.filter(|c| keep(c.header.episode))
    }

    /// Choice number `i`, in table order.
    ///
    /// # Panics
    ///
    /// If `i` is not below `choices.len()`.
    #[inline]
    #[must_use]
    pub fn choice(&self, i: usize) -> Choice<'_> {
        let header = &self.choices[i];
        let end = self.choices.get(i + 1).map_or(self.rows(), |next| next.first_row);
        let (rows, width, entities) = (header.first_row..end, self.width(), self.spec.entities.len());
        Choice {
            header,
            width,
            x: &self.x[rows.start * width..rows.end * width],
            log_prob: &self.log_prob[rows.clone()],
            chosen: &self.chosen[rows.clone()],
            entity: &self.entity[rows.start * entities..rows.end * entities],
            none: self.none,
        }
    }

    /// All choices in table order.
    #[inline]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Choice<'_>> + Clone {
        (0..self.choices.len()).map(|i| self.choice(i))
    }
}

impl<'a> Choice<'a> {
    /// Number of candidates.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.log_prob.len()
    }

    /// Whether there is no candidate (never so in a valid trace).
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.log_prob.is_empty()
    }

    /// A choice with one candidate decides nothing and is left out of fidelity.
    #[must_use]
    pub fn is_forced(&self) -> bool {
        self.len() <= 1
    }

    /// Whether the teacher's probabilities are known.
    #[must_use]
    pub fn has_probabilities(&self) -> bool {
        self.log_prob.iter().all(|p| !p.is_nan())
    }

    /// The features of candidate `i`.
    #[inline]
    #[must_use]
    pub fn row(&self, i: usize) -> &'a [f32] {
        &self.x[i * self.width..(i + 1) * self.width]
    }

    /// The entities of candidate `i`.
    #[must_use]
    pub fn entities(&self, i: usize) -> &'a [u32] {
        let width = self.entity.len() / self.len();
        &self.entity[i * width..(i + 1) * width]
    }

    /// The candidate that gives nothing, where some policies have it and others do not.
    #[must_use]
    pub fn none(&self) -> Option<usize> {
        self.none.and_then(|column| (0..self.len()).find(|&candidate| self.row(candidate)[column] > 0.5))
    }

    /// The candidate that a student should pick: the most probable one (the first of equals), or the executed one where
    /// probabilities are unknown.
    #[must_use]
    pub fn target(&self) -> usize {
        if self.has_probabilities() {
            first_max(self.log_prob.iter().map(|&p| f64::from(p)))
        } else {
            self.chosen.iter().position(|&c| c).unwrap_or(0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tiny;

    #[test]
    fn who_always_gives_something_has_no_candidate_that_gives_nothing() {
        // The second feature marks that candidate; it is the label of the third choice.
        let rows = vec![[3.0, 0.0], [4.0, 0.0], [0.0, 1.0]];
        let choices = [(0, 0, rows.clone(), 1), (0, 1, vec![[5.0, 0.0], [0.0, 1.0]], 0), (1, 0, rows, 2)];
        let mut table = tiny::table("job", &choices);
        table.spec.features[1].name = NONE_FLAG.to_owned();
        assert_eq!(
            table.clone().without_none().x,
            table.x,
            "where no policy may give nothing it is a candidate as any other"
        );
        let with = table.with_none(true);
        assert_eq!(with.iter().map(|c| c.none()).collect::<Vec<_>>(), [Some(2), Some(1), Some(2)]);
        let without = with.without_none();
        assert_eq!(
            without.iter().map(|c| (c.header.id, c.len(), c.target())).collect::<Vec<_>>(),
            [(0, 2, 1), (1, 1, 0)]
        );
        assert_eq!(without.x, [3.0, 0.0, 4.0, 0.0, 5.0, 0.0]);
        assert_eq!((without.entity, without.none), (vec![0, 1, 0], None));
    }
}
