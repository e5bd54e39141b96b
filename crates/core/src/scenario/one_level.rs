//! Scenarios in which a decision is one candidate of one level.

use super::{Questions, Scenario};
use crate::feature::{Columns, Level};
use std::fmt::Debug;

/// A scenario that asks one thing at a time, "which of the waiting jobs runs next?": a decision is one of the candidates, and these
/// are the items of what policies say. It says who they are, and [`OneChoice`] reads its questions.
pub trait OneLevel:
    Scenario<Questions = OneChoice<Self>>
    + for<'a> Level<Question<'a> = <Self as Scenario>::View<'a>, Candidate<'a> = <Self as OneLevel>::Item>
{
    /// What is known of a candidate; it borrows nothing.
    type Item: Clone + Debug + Send + Sync + 'static;

    /// The candidate at a place below [`Scenario::items`].
    fn candidate(seen: <Self as Scenario>::View<'_>, place: usize) -> Self::Item;

    /// What is decided if it is taken.
    fn decision(seen: <Self as Scenario>::View<'_>, place: usize) -> <Self as Scenario>::Decision;

    /// The number that it has in traces, by the entity column of the level.
    fn entity(seen: <Self as Scenario>::View<'_>, place: usize) -> u32;
}

/// The questions of a scenario with one level.
#[derive(Clone, Debug)]
pub struct OneChoice<S: OneLevel>(Columns<S>);

impl<S: OneLevel> Default for OneChoice<S> {
    fn default() -> Self {
        Self(Columns::default())
    }
}

impl<S: OneLevel> Questions<S> for OneChoice<S> {
    fn limited(columns: &[&[bool]]) -> Self {
        Self(Columns::limited(columns[0]))
    }

    fn update(&mut self, _: &S::View<'_>) {}

    fn count(&self, seen: &S::View<'_>, path: &[usize], _: bool) -> usize {
        if path.is_empty() { S::items(seen) } else { 0 }
    }

    fn rows(&mut self, seen: &S::View<'_>, path: &[usize], abstains: bool, out: &mut Vec<f32>) -> usize {
        let count = self.count(seen, path, abstains);
        self.0.write(seen, (0..count).map(|place| S::candidate(*seen, place)), false, out)
    }

    fn entity(&self, seen: &S::View<'_>, path: &[usize], out: &mut Vec<u32>) {
        out.push(S::entity(*seen, path[0]));
    }

    fn decision(&self, seen: &S::View<'_>, path: &[usize]) -> S::Decision {
        S::decision(*seen, path[0])
    }

    fn place(&self, seen: &S::View<'_>, path: &[usize], decision: S::Decision) -> Option<usize> {
        S::item(seen, decision).filter(|_| path.is_empty())
    }
}
