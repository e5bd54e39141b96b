//! Whether users can game the schedulers of the run: a look at it; `distill attack --run` looks closer.

use super::{Demo, hint_force};
use crate::{
    attack::{AttackParams, Method},
    cli::{output::Output, progress::Watched},
    evaluator::Role,
    model::Student,
    pipeline::{AttackRequest, AttackedScheduler, CertifiedStudent, CertifyRequest, PipelineError, RunDir},
    policy::{PolicyInfo, Sort},
    rng::Split,
    simulation::EditBudget,
    spec::Spec,
    trace::Trace,
};
use anyhow::Result;

/// By how much of themselves declared numbers may change where nothing can be taken.
const SHARE: f64 = 0.1;

impl Demo<'_> {
    /// Attacks teacher, student and augmented student, and certifies the student at the questions of a trace.
    pub(super) fn game(&self, student: &Student, test: &Trace, output: &Output) -> Result<()> {
        if self.scenario.edits().is_empty() {
            return Ok(());
        }
        if self.args.output.to_str().is_none() {
            output.note(
                "note: the folder's name is not UTF-8 and cannot name a policy: whether users can game it is not tried",
            );
            return Ok(());
        }
        let run = RunDir::of(&self.args.output, student);
        let mut found = Vec::new();
        for (policy, role) in run.parties()?.policies {
            // A process, or somebody else's program, answers too slowly for all the questions that an attack asks.
            let is_slow = |p: &PolicyInfo| p.sort == Sort::Network && !p.is_in_a_file();
            let spec = policy.parse::<Spec>();
            let is_slow = spec.is_ok_and(|spec| self.scenario.policies().iter().any(|p| p.is(&spec) && is_slow(p)));
            if role == Role::Heuristic || is_slow {
                continue;
            }
            let dir = self.args.output.join("attacks").join(role.name());
            let params = AttackParams {
                seed: self.common.seed,
                split: Split::Test,
                episodes: self.extent.gamed,
                targets: self.extent.targets,
                methods: vec![Method::Gradient, Method::Query, Method::Random],
                budgets: vec![EditBudget::default()],
                trials: 1,
                questions: 16,
            };
            let request = AttackRequest {
                policy: policy.clone(),
                proxy: None,
                found: None,
                workload: self.args.workload.clone(),
                strongest: true,
                params: params.clone(),
                dir,
                force: self.args.force,
            };
            let attacked = self.scenario.attack(&request, Watched::new(output).caller());
            let attacked = attacked.map_err(|e| hint_force(e, self.args.force))?;
            let params = serde_json::from_value(attacked.plan["params"].clone())?;
            found.push(AttackedScheduler::new((&policy, Some(role)), &self.args.workload, params, attacked));
        }
        let certified = self.certified(student, test, output)?;
        let (objective, beliefs) = (self.scenario.info().objective(), self.scenario.beliefs());
        run.add_attacks(found, certified.into_iter().collect(), objective, beliefs)?;
        Ok(())
    }

    /// What is proved of the student; `None` of one of which nothing can be, or in a hurry.
    fn certified(&self, student: &Student, test: &Trace, output: &Output) -> Result<Option<CertifiedStudent>> {
        if self.args.fast {
            return Ok(None);
        }
        let request = CertifyRequest {
            student,
            trace: test,
            shares: vec![SHARE],
            sorts: Vec::new(),
            tries: 0,
            seed: self.common.seed,
        };
        match self.scenario.certify(&request, Watched::new(output).caller()) {
            Ok(certified) => {
                let name = self.args.output.join("student.json").display().to_string();
                Ok(Some(CertifiedStudent::new(name, student, test, certified)))
            }
            Err(PipelineError::Refused(_)) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }
}
