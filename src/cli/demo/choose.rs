//! Whether the student with the edits that a search found takes the place of the one that was fitted: by validation episodes, since
//! test episodes are what is told of the one that is taken.

use super::Demo;
use crate::{
    cli::{output::Output, progress::Watched},
    evaluator::{ClosedLoop, EpisodeCount, Gate, Role, VerdictGates},
    model::Student,
    pipeline::{CompareParams, Contender, with_edge_cases},
    rng::Split,
};
use anyhow::Result;
use std::ops::ControlFlow;

/// Validation episodes of the usual workload for each that a fit is chosen on, and of every edge case.
const USUAL: u32 = 2;
const EDGE: u32 = 6;
/// The same where edits did too badly in those.
const MORE: u32 = 30;

/// The student of a run, and the other version of it.
pub(super) struct Chosen {
    pub(super) student: Student,
    /// What it is held against: without the edits, or with edits that are not surely better.
    pub(super) beside: Option<(Role, Student)>,
}

impl Demo<'_> {
    /// Chooses between a student as it was fitted and with edits.
    pub(super) fn choose(&self, fitted: Student, edited: Option<Student>, output: &Output) -> Result<Chosen> {
        let Some(edited) = edited.filter(|edited| !edited.decides_as(&fitted)) else {
            return Ok(Chosen { student: fitted, beside: None });
        };
        Ok(match self.is_surely_better(&fitted, &edited, output)? {
            true => Chosen { student: edited, beside: Some((Role::Fitted, fitted)) },
            false => Chosen { student: fitted, beside: Some((Role::Augmented, edited)) },
        })
    }

    /// Whether the edited student is surely better on the usual workload, and elsewhere within its limit or no worse.
    fn is_surely_better(&self, fitted: &Student, edited: &Student, output: &Output) -> Result<bool> {
        let [teacher, before, after] = [self.teacher, Role::Fitted.name(), Role::Augmented.name()];
        let listed = |role: Role, student| Contender::Student { id: role.name().to_owned(), student, role };
        // On the usual workload the two are held against each other; the teacher, which may be slow, has no part in that.
        let both = || vec![listed(Role::Fitted, fitted), listed(Role::Augmented, edited)];
        let beside_teacher = || {
            let teacher = Contender::Named { id: teacher.to_owned(), role: Some(Role::Teacher) };
            std::iter::once(teacher).chain(both()).collect()
        };
        let compared = |contenders, workloads, episodes| -> Result<Vec<ClosedLoop>> {
            let (seed, split, episodes) = (self.common.seed, Split::Validation, EpisodeCount::from(episodes));
            let params = CompareParams { contenders, workloads, seed, split, episodes };
            let caller = Watched::new(output);
            let found = self.scenario.compare(&params, &mut |_| ControlFlow::Continue(()), caller.caller())?;
            Ok(found.into_iter().map(|comparison| comparison.closed_loop).collect())
        };
        let usual = vec![self.args.workload.clone()];
        let elsewhere = with_edge_cases(self.scenario, &usual).unwrap_or_default().into_iter().skip(1).collect();
        let seed = self.common.seed;
        let better = |found: &ClosedLoop| {
            let objective = found.objective();
            let gain = found.objective_against(after, before, seed);
            // Nor may it be bought with what those wait who wait longest, whether or not there is a gate for that.
            let tail = found.tail_of(after, before);
            gain.is_some_and(|e| objective.favours(e.low) && objective.favours(e.high))
                && tail.is_none_or(|tail| tail.p99.value <= VerdictGates::P99)
        };
        if !compared(both(), usual, USUAL * self.extent.choosing)?.iter().all(better) {
            return Ok(false);
        }
        let holds = |found: &ClosedLoop| {
            let objective = found.objective();
            let limit = VerdictGates::default().limit(Gate::Elsewhere, objective);
            let of = |policy| found.objective_against(policy, teacher, seed).map(|e| e.value);
            let stalls = |policy: &str| found.policies.iter().any(|p| p.policy == policy && p.stalled > 0);
            let keeps = of(after).is_some_and(|value| objective.passes(value, limit));
            // Where the teacher strands the cluster, nothing is to be kept.
            !stalls(after) && (stalls(teacher) || keeps || objective.cost(of(after)) <= objective.cost(of(before)))
        };
        // Few episodes may speak against edits by chance: there they are tried again in more.
        let tried = compared(beside_teacher(), elsewhere, EDGE)?;
        let doubtful: Vec<String> = tried.iter().filter(|found| !holds(found)).map(|f| f.workload.clone()).collect();
        Ok(doubtful.is_empty() || compared(beside_teacher(), doubtful, MORE)?.iter().all(holds))
    }
}
