//! The end of a search: edits that bring nothing go, and what the others do is measured and said.

use super::{Found, Search, agreements};
use crate::augment::{
    AugmentError, Edits, Paired,
    edits::{self, does_nothing, measured, without_each},
    moves,
    plan::{self, COUNTED},
    reason::{self, Measured},
};
use sched_distill_core::{model::Student, rng::Split, simulation::Simulated};

/// Passes over the edits.
const PASSES: u32 = 2;

impl<S: Simulated> Search<'_, '_, S> {
    /// Takes out edits that bring nothing: of those without which some episodes got no slower the half that brings
    /// least, if the student without them does no worse on others, otherwise half as many, and so on, since edits may
    /// stand in for each other.
    pub(super) fn prune(&mut self) -> Result<(), AugmentError> {
        for _ in 0..PASSES {
            let mut useless = self.useless()?;
            useless.truncate(useless.len().div_ceil(2));
            let mut kept = false;
            while !useless.is_empty() && !kept {
                kept = self.leave_out(&useless)?;
                useless.truncate(useless.len() / 2);
            }
            if !kept {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Edits without which validation episodes do not get slower, the least useful first; none where there is no budget
    /// to find out.
    fn useless(&mut self) -> Result<Vec<usize>, AugmentError> {
        let (edits, validation) = (measured(&self.best), self.params.validation);
        let cost = plan::pruning(edits, validation) + plan::evidence(edits, validation);
        if edits == 0 || self.arena.spent() + cost > self.params.budget {
            return Ok(Vec::new());
        }
        let without = without_each(&self.best);
        let first = self.next_validation;
        self.next_validation += validation;
        let students: Vec<&Student> = std::iter::once(&self.best).chain(&without).collect();
        let scores = self.arena.run(&students, Split::Validation, first..self.next_validation)?;
        // Numbers that were patched before are what the student is; its guards may have had their day.
        let old = self.best.guards.len()..self.best.guards.len() + self.before.patches.len();
        let loss = |i: usize| match does_nothing(&self.best, &without[i]) {
            true => f64::INFINITY,
            false => Paired::new(&scores[0], &scores[i + 1]).mean,
        };
        let mut useless: Vec<(usize, f64)> = (0..edits).filter(|i| !old.contains(i)).map(|i| (i, loss(i))).collect();
        useless.retain(|&(_, loss)| loss >= 0.0);
        useless.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        Ok(useless.into_iter().map(|(i, _)| i).collect())
    }

    /// Leaves out some edits, unless the student without them does worse or is too far from the one to begin with.
    fn leave_out(&mut self, edits: &[usize]) -> Result<bool, AugmentError> {
        let (block, params) = (self.params.validation, self.params);
        let fewer = edits::without(&self.best, self.before, edits);
        let cost = plan::confirming(block) + plan::evidence(measured(&self.best), block);
        if self.arena.spent() + cost > params.budget {
            return Ok(false);
        }
        let agreement = agreements(self.arena, self.before, &[&fewer])?[0];
        let first = self.next_validation;
        self.next_validation += block;
        let scores = self.arena.run(&[&fewer, &self.best], Split::Validation, first..self.next_validation)?;
        let paired = Paired::new(&scores[0], &scores[1]);
        let few = Edits::between(self.before, &fewer).total() <= params.max_edits;
        let kept = few && agreement >= params.min_agreement && paired.mean <= 0.0;
        let what = match edits.len() {
            1 => "without an edit that brings nothing".to_owned(),
            n => format!("without {n} edits that bring nothing"),
        };
        self.step(&what, None, paired, kept, agreement);
        if kept {
            self.best = fewer;
        }
        Ok(kept)
    }

    /// Measures what each edit does, gain and firing rate, and says so in words.
    pub(super) fn end(mut self) -> Result<Found, AugmentError> {
        let without = without_each(&self.best);
        let first = self.next_validation;
        self.next_validation += self.params.validation;
        let counted = first..first + COUNTED.min(self.params.validation);
        let departures = self.arena.departures(self.before, &[&self.best], Split::Validation, counted.clone())?;
        if !without.is_empty() {
            let others: Vec<&Student> = without.iter().collect();
            let students: Vec<&Student> = std::iter::once(&self.best).chain(&without).collect();
            let scores = self.arena.run(&students, Split::Validation, first..self.next_validation)?;
            let rates = self.arena.departures(&self.best, &others, Split::Validation, counted)?;
            let measured = (0..without.len()).map(|i| {
                (!does_nothing(&self.best, &without[i])).then(|| Measured {
                    gain: Paired::new(&scores[0], &scores[i + 1]),
                    firing_rate: rates[i],
                    counted: COUNTED.min(self.params.validation),
                    kept_for: self.kept.iter().rfind(|kept| kept.brought(&self.best, i)).map(|kept| kept.paired),
                })
            });
            let measured: Vec<Option<Measured>> = measured.collect();
            reason::explain(&mut self.best, self.before, (S::INFO.objective(), &(S::INFO.words)()), &measured);
        }
        let agreement = moves::round(1.0 - departures[0]);
        let (too_far, spent) = (self.too_far, self.arena.spent());
        Ok(Found { student: self.best, steps: self.steps, agreement, too_far, spent })
    }
}
