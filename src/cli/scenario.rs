//! Which kind of cluster a command is about.

use super::{common::Common, memory};
use crate::{
    level::FeatureSet,
    model::Student,
    pipeline::{AnyScenario, PipelineError, Visit},
    policy::{PolicyInfo, STUDENT},
    spec::Spec,
    trace::Trace,
};
use anyhow::{Context, Result, bail};
use std::path::Path;

impl Common {
    /// The scenario that the user names, or the first one.
    ///
    /// # Errors
    ///
    /// A program without scenarios.
    pub(super) fn scenario(&self) -> Result<&'static dyn AnyScenario> {
        let named = self.scenario.as_ref().and_then(|name| self.registry.find(name));
        named.or_else(|| self.registry.iter().next()).context("no scenario is registered")
    }

    /// Whether there is a policy of this name that is in a file, or a workload of this name, in the scenario that the user names or in any.
    pub(super) fn is_in_a_file(&self, name: &str) -> bool {
        let meant = |s: &&'static dyn AnyScenario| self.scenario.as_ref().is_none_or(|asked| *asked == s.info().name);
        self.registry.iter().filter(meant).any(|s| {
            // What a script names is a command.
            let is_meant = |p: &PolicyInfo| p.names().contains(&Some(name)) && p.is_in_a_file();
            s.policies().iter().any(is_meant) || s.workloads().iter().any(|w| w.name == name)
        })
    }

    /// The scenario that the user names, or that of the student that schedules, or the first one.
    ///
    /// # Errors
    ///
    /// A spec or student that cannot be read, or a student of another scenario than the user names.
    pub(super) fn scenario_of_policy(&self, id: &str) -> Result<&'static dyn AnyScenario> {
        match self.student_of_policy(id)? {
            Some(student) => Ok(self.registry.of(&student.feature_set)?),
            None => self.scenario(),
        }
    }

    /// The student that a policy is; `None` for another policy.
    ///
    /// # Errors
    ///
    /// A spec or student that cannot be read, or a student of another scenario than the user names.
    pub(super) fn student_of_policy(&self, id: &str) -> Result<Option<Student>> {
        let spec: Spec = id.parse()?;
        let is_student = spec.name == STUDENT.name;
        is_student.then(|| self.student(spec.require_file("a student written by `distill fit`")?)).transpose()
    }

    /// Refuses a scenario that is not the one of `what`.
    ///
    /// # Errors
    ///
    /// Another scenario that the user names.
    #[cfg(feature = "torch")]
    pub(super) fn require<S: crate::scenario::Scenario>(&self, what: &str) -> Result<()> {
        match &self.scenario {
            Some(asked) if asked != S::INFO.name => {
                bail!("--scenario {asked}: {what} is of the scenario `{}`", S::INFO.name)
            }
            _ => Ok(()),
        }
    }

    /// Opens a trace.
    ///
    /// # Errors
    ///
    /// One that cannot be read, or of another scenario than the user names.
    pub(super) fn trace(&self, path: &Path) -> Result<Trace> {
        self.open(path, "")
    }

    /// As [`Self::trace`], for a command that learns from as many of its choices as `--max-choices` lets it.
    pub(super) fn learning_trace(&self, path: &Path) -> Result<Trace> {
        self.open(path, "let fewer choices be taken with --max-choices, or ")
    }

    fn open(&self, path: &Path, advice: &str) -> Result<Trace> {
        let mut trace = Trace::open(path)?;
        self.allow(path, &trace.manifest.feature_set)?;
        // Logs of shadows of earlier versions say so in every scenario.
        let scenario = self.registry.find(&trace.manifest.scenario);
        trace.manifest.abstains &= scenario.is_none_or(|scenario| scenario.info().may_abstain);
        let levels = trace.manifest.feature_set.levels.iter().map(|level| (trace.rows_of(&level.name), &level.name));
        if let Some((rows, name)) = levels.max() {
            memory::doing(format!(
                " for {}, whose level `{name}` has {rows} rows; {advice}allow more memory",
                path.display()
            ));
        }
        Ok(trace)
    }

    /// Loads a student.
    ///
    /// # Errors
    ///
    /// One that cannot be read, or of another scenario than the user names.
    pub(super) fn student(&self, path: &Path) -> Result<Student> {
        let student = Student::load(path)?;
        self.allow(path, &student.feature_set)?;
        Ok(student)
    }

    /// Refuses a file of another scenario than the user names.
    ///
    /// # Errors
    ///
    /// Such a file, named.
    pub(super) fn allow(&self, path: &Path, set: &FeatureSet) -> Result<()> {
        match &self.scenario {
            Some(asked) if *asked != set.scenario => {
                bail!("--scenario {asked}: {} is of the scenario `{}`", path.display(), set.scenario)
            }
            _ => Ok(()),
        }
    }

    /// The scenario of a student or trace.
    ///
    /// # Errors
    ///
    /// One that this program does not have.
    pub(super) fn scenario_of(&self, set: &FeatureSet) -> Result<&'static dyn AnyScenario, PipelineError> {
        self.registry.of(set)
    }

    /// Who comes into the run directory of a student.
    pub(super) fn visit<'a>(&self, student: &Student, command: &'a str) -> Visit<'a> {
        Visit { scenario: self.known_scenario(&student.feature_set), seed: self.seed, command }
    }

    /// The scenario of a student or trace, if this program has it: traces of others can be learned from.
    pub(super) fn known_scenario(&self, set: &FeatureSet) -> Option<&'static dyn AnyScenario> {
        self.registry.find(&set.scenario)
    }
}
