//! Which kind of cluster a command is about.

use super::{Common, memory};
use crate::{level::FeatureSet, model::Student, registry::SCENARIOS, scenario::ScenarioInfo, trace::Trace};
use anyhow::{Result, bail};
use clap::ValueEnum;
use std::path::Path;

/// Scenarios as values of `--scenario`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ScenarioName {
    /// Jobs of stages on executors, as in Spark
    Dag,
    /// Deep-learning jobs with workers and parameter servers, as in DL2
    Training,
}

impl ScenarioName {
    pub(super) fn info(self) -> &'static ScenarioInfo {
        &SCENARIOS[self as usize]
    }
}

impl Common {
    /// The scenario that the user names, or the first one.
    pub(super) fn scenario(&self) -> ScenarioName {
        self.scenario.unwrap_or(ScenarioName::Dag)
    }

    /// Refuses a scenario that is not the one of `what`.
    ///
    /// # Errors
    ///
    /// Another scenario that the user names.
    #[cfg(feature = "torch")]
    pub(super) fn require<S: crate::scenario::Scenario>(&self, what: &str) -> Result<()> {
        match self.scenario.map(ScenarioName::info) {
            Some(asked) if asked.name != S::INFO.name => {
                bail!("--scenario {}: {what} is of the scenario `{}`", asked.name, S::INFO.name)
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
        let trace = Trace::open(path)?;
        self.allow(path, &trace.manifest.feature_set)?;
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
        match self.scenario.map(ScenarioName::info) {
            Some(asked) if asked.name != set.scenario => {
                bail!("--scenario {}: {} is of the scenario `{}`", asked.name, path.display(), set.scenario)
            }
            _ => Ok(()),
        }
    }

    /// The scenario of a student or trace.
    ///
    /// # Errors
    ///
    /// One that this program does not have.
    pub(super) fn scenario_of(&self, set: &FeatureSet) -> Result<ScenarioName> {
        let found = &set.scenario;
        let Some(&name) = ScenarioName::value_variants().iter().find(|name| name.info().name == found) else {
            let known: Vec<&str> = SCENARIOS.iter().map(|info| info.name).collect();
            bail!("the file is of the scenario `{found}`; this program has {}", known.join(" and "));
        };
        Ok(name)
    }
}

/// Evaluates an expression with the type `$scenario` standing for the scenario of a name.
macro_rules! with_scenario {
    ($name:expr, $scenario:ident => $call:expr) => {
        match $name {
            $crate::cli::scenario::ScenarioName::Dag => {
                type $scenario = $crate::dag::Dag;
                $call
            }
            $crate::cli::scenario::ScenarioName::Training => {
                type $scenario = $crate::training::Training;
                $call
            }
        }
    };
}
pub(super) use with_scenario;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_on_the_command_line_are_those_of_the_scenarios() {
        let names: Vec<String> = ScenarioName::value_variants()
            .iter()
            .filter_map(|name| Some(name.to_possible_value()?.get_name().to_owned()))
            .collect();
        assert!(names.iter().map(String::as_str).eq(SCENARIOS.iter().map(|info| info.name)));
    }
}
