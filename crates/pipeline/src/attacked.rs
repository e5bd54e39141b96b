//! Attacks on the schedulers of a run, side by side, for its report (`attacks.json`).

#[cfg(doc)]
use super::AnyScenario;
use super::{Attacked, Certified, PipelineError, RunDir};
use sched_distill_core::{figure::Figure, model::Student, spec::Spec};
use sched_distill_judge::{
    attack::{AttackParams, MethodFigures, Notable},
    evaluator::{ClosedLoop, Estimate, PolicyOutcome, Role, Schedule, paired},
};
use sched_distill_trace::Trace;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, path::Path};

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
    /// Files that it and the workload were read from, with their SHA-256.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// What was attacked how.
    pub params: AttackParams,
    /// By budget and method.
    pub figures: Vec<MethodFigures>,
    /// What stands for the attack.
    pub notable: Option<Notable>,
    /// By episode, the objective without edits; `None` if the episode was not completed.
    pub objective: Vec<Option<f64>>,
    /// The same compared with the run's teacher in the same episodes of the run's workload; `None` where that was not attacked in them, or
    /// others were run.
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
    /// SHA-256 of the trace whose questions were looked at.
    pub trace: String,
    /// The workload of the trace.
    pub workload: String,
    /// What was found.
    pub certified: Certified,
}

impl AttackedScheduler {
    /// What came of an attack on a scheduler.
    #[must_use]
    pub fn new((policy, role): (&str, Option<Role>), workload: &str, params: AttackParams, found: Attacked) -> Self {
        let files = serde_json::from_value(found.plan["files"].clone()).unwrap_or_default();
        let Attacked { figures, notable, objective, example, .. } = found;
        Self {
            policy: policy.to_owned(),
            role,
            workload: workload.to_owned(),
            files,
            params,
            figures,
            notable,
            objective,
            to_teacher: None,
            example,
        }
    }

    /// Whether both ran the same episodes, whatever schedulers were told of their jobs.
    fn same_episodes(&self, other: &Self, beliefs: &[&str]) -> bool {
        let of = |s: &Self| {
            let mut workload = s.workload.parse::<Spec>().ok()?;
            workload.params.retain(|name, _| !beliefs.contains(&name.as_str()));
            Some((s.params.seed, s.params.split, s.objective.len(), workload.to_string()))
        };
        of(self).is_some() && of(self) == of(other)
    }

    /// Whether what is known of one is to be replaced by what is known of the other.
    fn same_place(&self, other: &Self) -> bool {
        let unique = |role: &Role| matches!(role, Role::Teacher | Role::Student | Role::Augmented);
        let same_role = self.role.filter(unique).is_some() && self.role == other.role;
        self.workload == other.workload && (same_role || self.policy == other.policy)
    }
}

impl CertifiedStudent {
    /// What a student's choices in a trace came to.
    #[must_use]
    pub fn new(name: String, student: &Student, trace: &Trace, certified: Certified) -> Self {
        let workload = trace.manifest.workload.id.clone();
        Self { name, student: student.hash(), trace: trace.hash.clone(), workload, certified }
    }

    /// What was asked of whom.
    fn asked(&self) -> (&str, &str, Vec<(u64, &[String])>) {
        let shares = self.certified.shares.iter().map(|s| (s.share.to_bits(), &s.sorts[..]));
        (&self.student, &self.trace, shares.collect())
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

    /// Adds what attacks and certificates came to; what was known of the same scheduler on the same workload, or of the same student at
    /// the same questions, is replaced. `beliefs` are as of [`AnyScenario::beliefs`]. Returns all that is known then.
    ///
    /// # Errors
    ///
    /// A file that is damaged or cannot be written.
    pub fn add_attacks(
        &self,
        schedulers: Vec<AttackedScheduler>,
        certificates: Vec<CertifiedStudent>,
        objective: &Figure,
        beliefs: &[&str],
    ) -> Result<Attacks, PipelineError> {
        let mut all = self.attacks()?;
        for found in schedulers {
            match all.schedulers.iter_mut().find(|s| s.same_place(&found)) {
                Some(known) => *known = found,
                None => all.schedulers.push(found),
            }
        }
        for found in certificates {
            match all.certificates.iter_mut().find(|c| c.asked() == found.asked()) {
                Some(known) => *known = found,
                None => all.certificates.push(found),
            }
        }
        let usual = self.info()?.workload;
        let teacher = all.schedulers.iter().find(|s| s.role == Some(Role::Teacher) && s.workload == usual).cloned();
        for scheduler in &mut all.schedulers {
            let teacher = teacher.as_ref().filter(|teacher| teacher.same_episodes(scheduler, beliefs));
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

    fn scheduler(policy: &str, role: Option<Role>, workload: &str, objective: Vec<Option<f64>>) -> AttackedScheduler {
        let params = AttackParams {
            seed: 0,
            split: sched_distill_core::rng::Split::Test,
            episodes: 2,
            targets: 1,
            methods: Vec::new(),
            budgets: Vec::new(),
            trials: 1,
            questions: 1,
        };
        AttackedScheduler {
            policy: policy.to_owned(),
            role,
            workload: workload.to_owned(),
            files: BTreeMap::new(),
            params,
            figures: Vec::new(),
            notable: None,
            objective,
            to_teacher: None,
            example: None,
        }
    }

    #[test]
    fn only_the_same_episodes_are_compared_and_a_role_has_one_place() {
        let jct = |workload: &str, role| scheduler("p", role, workload, vec![Some(1.0), Some(2.0)]);
        let usual = jct("builtin,jobs=5", Some(Role::Teacher));
        let beliefs = ["durations", "parts"];
        assert!(usual.same_episodes(&jct("builtin,durations=median,jobs=5,parts=merged", None), &beliefs));
        assert!(!usual.same_episodes(&jct("builtin,jobs=5,rate=1e-5", None), &beliefs));
        assert!(!usual.same_episodes(&jct("builtin,durations=median,jobs=5", None), &[]));
        // A student is the run's student wherever its file is said to lie; heuristics are told apart by name.
        let at = |policy: &str, role| scheduler(policy, Some(role), "builtin", Vec::new());
        assert!(at("student:a/student.json", Role::Student).same_place(&at("student:./a/student.json", Role::Student)));
        assert!(!at("fair", Role::Heuristic).same_place(&at("fifo", Role::Heuristic)));
        assert!(!at("x", Role::Student).same_place(&at("y", Role::Augmented)));
    }
}
