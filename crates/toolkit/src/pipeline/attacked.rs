//! Attacks on the schedulers of a run, side by side, for its report (`attacks.json`).

use super::{Attacked, Certified, PipelineError, RunDir};
use crate::{
    attack::{AttackParams, MethodFigures, Notable},
    evaluator::{ClosedLoop, Estimate, PolicyOutcome, Role, Schedule, paired},
};
use sched_distill_core::figure::Figure;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// All that is known of how a run's schedulers can be gamed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attacks {
    /// SHA-256 of the student of the run.
    pub student: String,
    /// By scheduler, in the order in which they were attacked first.
    #[serde(default)]
    pub schedulers: Vec<AttackedScheduler>,
    /// By student.
    #[serde(default)]
    pub certificates: Vec<CertifiedStudent>,
}

/// A scheduler that was attacked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttackedScheduler {
    /// As the user named it.
    pub policy: String,
    /// What it is in the run; `None` of others.
    pub role: Option<Role>,
    /// As the user named it.
    pub workload: String,
    /// What was attacked how.
    pub params: AttackParams,
    /// By budget and method.
    pub figures: Vec<MethodFigures>,
    /// What stands for the attack.
    pub notable: Option<Notable>,
    /// By episode, the objective without edits; `None` if the episode was not completed.
    pub objective: Vec<Option<f64>>,
    /// The same compared with the run's teacher in the same episodes of the run's workload; `None` where that was not attacked in them.
    pub to_teacher: Option<Estimate>,
    /// What ran while the job of the best edit was there, without and with it.
    pub example: Option<[Schedule; 2]>,
}

/// A student whose choices were certified.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CertifiedStudent {
    /// Its file.
    pub name: String,
    /// SHA-256 of it.
    pub student: String,
    /// What was found.
    pub certified: Certified,
}

impl AttackedScheduler {
    /// What came of an attack on a scheduler.
    #[must_use]
    pub fn new((policy, role): (&str, Option<Role>), workload: &str, params: AttackParams, found: Attacked) -> Self {
        let Attacked { figures, notable, objective, example, .. } = found;
        Self {
            policy: policy.to_owned(),
            role,
            workload: workload.to_owned(),
            params,
            figures,
            notable,
            objective,
            to_teacher: None,
            example,
        }
    }

    /// Whether both ran the same episodes, whatever was made known of their jobs.
    fn same_episodes(&self, other: &Self) -> bool {
        let of = |s: &Self| (s.params.seed, s.params.split, s.objective.len());
        of(self) == of(other)
    }
}

/// Whom to attack in a run where the user names nobody, and on what.
#[derive(Clone, Debug, PartialEq)]
pub struct Parties {
    /// Teacher, student and augmented student of the run, and the two heuristics with the best objective in its closed loop.
    pub policies: Vec<(String, Role)>,
    /// The run's workload.
    pub workload: String,
}

impl RunDir {
    /// Whom to attack, and on what.
    ///
    /// # Errors
    ///
    /// A file that is missing or damaged.
    pub fn parties(&self) -> Result<Parties, PipelineError> {
        let (info, closed_loop) = (self.info()?, self.closed_loop()?);
        let policies = policies(self.path(), &info.teacher.id, closed_loop.as_ref());
        Ok(Parties { policies, workload: info.workload })
    }

    /// Adds what attacks and certificates came to; what was known of the same scheduler on the same workload, or of the same student,
    /// is replaced. Returns all that is known then.
    ///
    /// # Errors
    ///
    /// A file that is damaged or cannot be written.
    pub fn add_attacks(
        &self,
        schedulers: Vec<AttackedScheduler>,
        certificates: Vec<CertifiedStudent>,
        objective: &Figure,
    ) -> Result<Attacks, PipelineError> {
        let mut all = self.attacks()?;
        for found in schedulers {
            match all.schedulers.iter_mut().find(|s| (&s.policy, &s.workload) == (&found.policy, &found.workload)) {
                Some(known) => *known = found,
                None => all.schedulers.push(found),
            }
        }
        for found in certificates {
            match all.certificates.iter_mut().find(|c| c.student == found.student) {
                Some(known) => *known = found,
                None => all.certificates.push(found),
            }
        }
        let teacher = all.schedulers.iter().find(|s| s.role == Some(Role::Teacher)).cloned();
        for scheduler in &mut all.schedulers {
            let teacher = teacher.as_ref().filter(|teacher| teacher.same_episodes(scheduler));
            scheduler.to_teacher = teacher.and_then(|teacher| {
                paired(objective.compared, &scheduler.objective, &teacher.objective, scheduler.params.seed)
            });
        }
        self.write_attacks(&all)?;
        Ok(all)
    }
}

fn policies(run_dir: &Path, teacher: &str, closed_loop: Option<&ClosedLoop>) -> Vec<(String, Role)> {
    const HEURISTICS: usize = 2;
    let student = |file: &Path| format!("student:{}", file.display());
    let own = student(&run_dir.join("student.json"));
    let mut all = vec![(teacher.to_owned(), Role::Teacher), (own, Role::Student)];
    let augmented = run_dir.join("augmented").join("student.json");
    if augmented.is_file() && closed_loop.is_some_and(|c| c.first(Role::Augmented).is_some()) {
        all.push((student(&augmented), Role::Augmented));
    }
    if let Some(found) = closed_loop {
        let objective = found.objective();
        let of_heuristics = found.policies.iter().filter(|p| p.role == Role::Heuristic && p.policy != teacher);
        let figure = |p: &PolicyOutcome| p.figure(&objective.name).filter(|_| p.stalled == 0).map(|e| e.value);
        let mut heuristics: Vec<(f64, &str)> = of_heuristics.map(|p| (objective.cost(figure(p)), &*p.policy)).collect();
        heuristics.sort_by(|a, b| a.0.total_cmp(&b.0));
        all.extend(heuristics.into_iter().take(HEURISTICS).map(|(_, id)| (id.to_owned(), Role::Heuristic)));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_scheduled_nothing_has_its_teacher_and_student_attacked() {
        let found = policies(Path::new("runs/mine"), "decima", None);
        let student = Path::new("runs/mine").join("student.json");
        let expected =
            [("decima".to_owned(), Role::Teacher), (format!("student:{}", student.display()), Role::Student)];
        assert_eq!(found, expected);
    }
}
