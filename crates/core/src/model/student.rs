//! The student file: one or more models per level, and where they come from.

use super::{Guard, Model, Patch, Pick, ScoreCandidates};
use crate::{
    file,
    level::{FeatureSet, sha256_hex},
    text::without_mark,
};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// Version of the file format that this build writes and reads.
const FORMAT_VERSION: u32 = 1;

/// Why a student cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StudentError {
    /// The file cannot be read or written.
    #[error("{path}: cannot {action} student")]
    Io {
        /// The file.
        path: PathBuf,
        /// `read` or `write`.
        action: &'static str,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// The file is no student, or a broken one.
    #[error("{path}: not a valid student file: {problem}")]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What is wrong and what was expected.
        problem: String,
    },
    /// Written by another version of the format.
    #[error(
        "{path}: student format version {found} is not supported (this build reads {FORMAT_VERSION}); fit it again"
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// Version in the file.
        found: u64,
    },
    /// There is no such level or model.
    #[error("the student has no {what} `{name}`; it has {known}")]
    Missing {
        /// `level` or `model`.
        what: &'static str,
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
}

/// A model under a name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedModel {
    /// `tree`, `linear`, ...
    pub name: String,
    /// Softmax temperature that turns scores into probabilities, fitted on validation choices.
    pub temperature: f64,
    /// The model.
    pub model: Model,
}

/// How a student asks its levels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Structure {
    /// One after the other: each level is asked about the candidate that the level above has taken.
    #[default]
    Hierarchical,
    /// Those above the amount at once: of all paths through them (a job and a stage of it) the one whose log-probabilities
    /// have the largest sum is taken, the first of equals. So does a teacher that takes the most probable stage of all jobs:
    /// the job of that stage need not be the most probable job.
    Flat,
}

impl Structure {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Hierarchical, Self::Flat];

    /// Whether levels are asked one after the other.
    #[must_use]
    pub fn is_hierarchical(&self) -> bool {
        *self == Self::Hierarchical
    }

    /// As it is written.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Hierarchical => "hierarchical",
            Self::Flat => "flat",
        }
    }
}

/// The models of one level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LevelModels {
    /// Level, as in the feature set.
    pub level: String,
    /// Name of the model that schedules.
    #[serde(rename = "use")]
    pub used: String,
    /// What it takes of the probabilities; left out of files where it is the most probable.
    #[serde(default, skip_serializing_if = "Pick::is_mode")]
    pub pick: Pick,
    /// All models of the level.
    pub models: Vec<NamedModel>,
}

/// Where a student comes from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// SHA-256 of the training trace's manifest.
    pub trace_hash: String,
    /// The policy whose decisions were recorded.
    pub teacher: String,
    /// The workload they were recorded on.
    pub workload: String,
    /// Version of the crate that fitted it.
    pub crate_version: String,
    /// Parameters of the fit.
    pub parameters: serde_json::Value,
    /// Figures on the validation choices at fit time, e.g. `job/free/top1`.
    pub fidelity: BTreeMap<String, f64>,
}

/// A file that a student was read from and would not be written as again: one of an earlier version, or one laid out by
/// another program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherFile {
    /// SHA-256 of the file.
    sha256: String,
    /// [`Student::hash`] of the student as it was read.
    student: String,
}

/// A distilled policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Student {
    /// Version of this format.
    pub format_version: u32,
    /// Scenario it schedules.
    pub scenario: String,
    /// Whether "give nothing" is a candidate at the first level.
    pub abstains: bool,
    /// Hash of the feature set.
    pub feature_set_hash: String,
    /// The features that the models read, in column order.
    pub feature_set: FeatureSet,
    /// How the levels are asked; left out of files where it is one after the other.
    #[serde(default, skip_serializing_if = "Structure::is_hierarchical")]
    pub structure: Structure,
    /// Models by level, first question first.
    pub levels: Vec<LevelModels>,
    /// Rules above the models, in the order in which they are applied; left out of files where there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guards: Vec<Guard>,
    /// Changes made to the models after the fit, in order; left out of files where there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub patches: Vec<Patch>,
    /// Where it comes from.
    pub provenance: Provenance,
    /// The file that it was read from, where that has another hash than the student's own.
    #[serde(skip)]
    pub read_from: Option<OtherFile>,
}

impl Student {
    /// Whether it and another one are the same policy, wherever they come from: they have the same models and guards.
    #[must_use]
    pub fn decides_as(&self, other: &Self) -> bool {
        let policy = |s: &Self| (s.feature_set_hash.clone(), s.structure, s.abstains);
        policy(self) == policy(other) && self.levels == other.levels && self.guards == other.guards
    }

    /// A hierarchical student of the current format version.
    #[must_use]
    pub fn new(feature_set: FeatureSet, abstains: bool, levels: Vec<LevelModels>, provenance: Provenance) -> Self {
        Self {
            format_version: FORMAT_VERSION,
            scenario: feature_set.scenario.clone(),
            abstains,
            feature_set_hash: feature_set.hash(),
            feature_set,
            structure: Structure::Hierarchical,
            levels,
            guards: Vec::new(),
            patches: Vec::new(),
            provenance,
            read_from: None,
        }
    }

    /// Reads and checks a student file.
    ///
    /// # Errors
    ///
    /// A missing file, another format version, unknown or missing fields, broken models.
    pub fn load(path: &Path) -> Result<Self, StudentError> {
        let io = |source| StudentError::Io { path: path.to_owned(), action: "read", source };
        Self::read(&std::fs::read(path).map_err(io)?, path)
    }

    /// Reads and checks the content of a student file; `path` names it in errors.
    ///
    /// # Errors
    ///
    /// As of [`Student::load`].
    pub fn read(bytes: &[u8], path: &Path) -> Result<Self, StudentError> {
        let invalid = |problem: String| StudentError::Invalid { path: path.to_owned(), problem };
        let text = without_mark(bytes);
        let value: serde_json::Value = serde_json::from_slice(text).map_err(|e| invalid(e.to_string()))?;
        // The version first: fields of another version would only confuse the message.
        match value.get("format_version").and_then(serde_json::Value::as_u64) {
            None => return Err(invalid("`format_version` is missing; `distill fit` writes students".to_owned())),
            Some(found) if found != u64::from(FORMAT_VERSION) => {
                return Err(StudentError::Version { path: path.to_owned(), found });
            }
            Some(_) => {}
        }
        let mut student: Self = serde_json::from_slice(text).map_err(|e| invalid(e.to_string()))?;
        student.rename_levels();
        student.check().map_err(invalid)?;
        let (sha256, own) = (sha256_hex(bytes), student.hash());
        student.read_from = (sha256 != own).then_some(OtherFile { sha256, student: own });
        Ok(student)
    }

    /// Writes the student, complete or not at all.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), StudentError> {
        let io = |source| StudentError::Io { path: path.to_owned(), action: "write", source };
        file::write(path, self.to_json().as_bytes()).map_err(io)
    }

    /// The file's text; equal students have equal bytes.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Plain data with string keys always serialises.
        serde_json::to_string_pretty(self).expect("a student serialises") + "\n"
    }

    /// SHA-256 of the text that [`Student::save`] writes.
    #[must_use]
    pub fn hash(&self) -> String {
        sha256_hex(self.to_json().as_bytes())
    }

    /// SHA-256 of the file that it was read from; of a student that was made or changed since, [`Student::hash`].
    #[must_use]
    pub fn file_hash(&self) -> String {
        let own = self.hash();
        match &self.read_from {
            Some(file) if file.student == own => file.sha256.clone(),
            _ => own,
        }
    }

    /// Whether a hash that a file names is this student's: what an earlier version measured of it names the hash of
    /// the file as it was then.
    #[must_use]
    pub fn has_hash(&self, hash: &str) -> bool {
        hash == self.hash() || hash == self.file_hash()
    }

    /// Gives levels that a file names as an earlier version called them their present names, as its features have them.
    fn rename_levels(&mut self) {
        let set = &self.feature_set;
        let levels = self.levels.iter_mut().map(|l| &mut l.level).chain(self.guards.iter_mut().map(|g| &mut g.level));
        levels.for_each(|level| _ = set.rename(level));
        self.patches.iter_mut().flat_map(|p| &mut p.changes).for_each(|c| c.place = set.place_of(&c.place));
        let fidelity = std::mem::take(&mut self.provenance.fidelity);
        self.provenance.fidelity = fidelity.into_iter().map(|(figure, v)| (set.place_of(&figure), v)).collect();
    }

    fn check(&self) -> Result<(), String> {
        if !self.feature_set.has_hash(&self.feature_set_hash) {
            let expected = self.feature_set.hash();
            return Err(format!("feature_set_hash is {}, but the features give {expected}", self.feature_set_hash));
        }
        if self.scenario != self.feature_set.scenario {
            return Err(format!("scenario is `{}`, the features' is `{}`", self.scenario, self.feature_set.scenario));
        }
        for level in &self.levels {
            let at = |problem: String| format!("level `{}`: {problem}", level.level);
            let spec = self.feature_set.level(&level.level).ok_or_else(|| at("not in the feature set".to_owned()))?;
            if !level.models.iter().any(|m| m.name == level.used) {
                return Err(at(format!("`use` names model `{}`, which is not there", level.used)));
            }
            if self.structure == Structure::Flat && level.pick == Pick::Median && !spec.is_amount() {
                return Err(at(
                    "a flat student takes the most probable path, and the median only of amounts".to_owned()
                ));
            }
            for m in &level.models {
                let width = spec.features.len();
                m.model.check(width).map_err(|problem| at(format!("model `{}`: {problem}", m.name)))?;
                if !(m.temperature.is_finite() && m.temperature > 0.0) {
                    return Err(at(format!("model `{}`: temperature must be positive, got {}", m.name, m.temperature)));
                }
            }
        }
        for (i, guard) in self.guards.iter().enumerate() {
            guard.check(&self.feature_set).map_err(|problem| format!("guard {i}: {problem}"))?;
        }
        self.check_patches()
    }

    /// The models of a level.
    #[must_use]
    pub fn level(&self, name: &str) -> Option<&LevelModels> {
        let name = self.feature_set.name_of(name);
        self.levels.iter().find(|l| l.level == name)
    }

    /// The model of a level by name; the one that schedules if `model` is `None`.
    ///
    /// # Errors
    ///
    /// If there is no such level or model.
    pub fn model(&self, level: &str, model: Option<&str>) -> Result<&NamedModel, StudentError> {
        let missing = |what, name: &str, known: Vec<&str>| StudentError::Missing {
            what,
            name: name.to_owned(),
            known: known.join(", "),
        };
        let found = self.level(level);
        let found =
            found.ok_or_else(|| missing("level", level, self.levels.iter().map(|l| l.level.as_str()).collect()))?;
        let name = model.unwrap_or(&found.used);
        let named = found.models.iter().find(|m| m.name == name);
        named.ok_or_else(|| missing("model", name, found.models.iter().map(|m| m.name.as_str()).collect()))
    }

    /// Replaces the model that schedules at the level of place `level`; what patches say of the old one is taken out.
    pub fn set_scheduler(&mut self, level: usize, model: Model) {
        let models = &mut self.levels[level];
        let prefix = format!("{}.", models.level);
        if let Some(m) = models.models.iter_mut().find(|m| m.name == models.used) {
            m.model = model;
        }
        self.patches.iter_mut().for_each(|p| p.changes.retain(|c| !c.place.starts_with(&prefix)));
        self.patches.retain(|p| !p.changes.is_empty());
    }

    /// Leaves and coefficients of the scheduling models of all levels.
    #[must_use]
    pub fn size(&self) -> usize {
        self.levels.iter().map(|l| l.scheduler().model.size()).sum()
    }
}

impl LevelModels {
    /// Models of which `used` schedules by its most probable candidate.
    #[must_use]
    pub fn new(level: &str, used: &str, models: Vec<NamedModel>) -> Self {
        Self { level: level.to_owned(), used: used.to_owned(), pick: Pick::Mode, models }
    }

    /// The model that schedules.
    #[must_use]
    pub fn scheduler(&self) -> &NamedModel {
        let used = self.models.iter().find(|m| m.name == self.used);
        used.expect("a student is checked when it is loaded, and built with a model to use")
    }

    /// The model that schedules, to be changed.
    pub fn scheduler_mut(&mut self) -> &mut Model {
        let used = self.models.iter_mut().find(|m| m.name == self.used);
        &mut used.expect("a student is checked when it is loaded, and built with a model to use").model
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{model::Tree, testing::feature_set};

    fn student() -> Student {
        let features = feature_set();
        let models = |level: &str| {
            let model = Model::Tree(Tree::leaf(0.1 + 0.2, 1e-300, 3, 3.0));
            LevelModels::new(level, "tree", vec![NamedModel { name: "tree".to_owned(), temperature: 0.1, model }])
        };
        let levels = ["job", "stage", "amount"].map(models).to_vec();
        Student::new(features.clone(), false, levels, Provenance::default())
    }

    #[test]
    fn a_student_survives_the_file_bit_for_bit() -> Result<(), Box<dyn std::error::Error>> {
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("student.json");
        student().save(&path)?;
        let back = Student::load(&path)?;
        assert_eq!(back, student());
        assert_eq!(back.to_json(), std::fs::read_to_string(&path)?);
        Ok(())
    }

    #[test]
    fn a_student_is_known_by_the_hash_of_its_file_until_it_is_changed() -> Result<(), Box<dyn std::error::Error>> {
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("student.json");
        let text = serde_json::to_string(&student())?;
        std::fs::write(&path, &text)?;
        let (file, own) = (sha256_hex(text.as_bytes()), student().hash());
        let mut read = Student::load(&path)?;
        assert_eq!((read.file_hash(), read.hash()), (file.clone(), own.clone()));
        assert!(read.has_hash(&file) && read.has_hash(&own) && file != own);
        read.abstains = true;
        assert!(!read.has_hash(&file) && !read.has_hash(&own) && read.has_hash(&read.hash()));
        read.abstains = false;
        read.save(&path)?;
        let again = Student::load(&path)?;
        assert!(again.read_from.is_none() && again.has_hash(&own) && !again.has_hash(&file));
        Ok(())
    }

    #[test]
    fn every_bit_of_a_coefficient_survives_the_file() -> Result<(), serde_json::Error> {
        let mut stream = crate::rng::Stream::new(1, "coefficients");
        let coefficient: Vec<f64> =
            (0..5000).map(|_| stream.normal() * 10f64.powf(stream.uniform_in(-9.0, 9.0))).collect();
        let back: Vec<f64> = serde_json::from_str(&serde_json::to_string(&coefficient)?)?;
        assert_eq!(back, coefficient);
        Ok(())
    }

    #[test]
    fn broken_files_say_what_is_wrong() -> Result<(), Box<dyn std::error::Error>> {
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("student.json");
        let text = student().to_json();
        let hash = feature_set().hash();
        for (from, to, expected) in [
            ("\"format_version\": 1", "\"format_version\": 9", "version 9 is not supported"),
            ("\"format_version\": 1,", "", "`format_version` is missing"),
            (hash.as_str(), "0123", "feature_set_hash is 0123"),
            ("\"use\": \"tree\"", "\"use\": \"bush\"", "names model `bush`"),
            ("\"abstains\"", "\"colour\"", "unknown field `colour`"),
            ("\"temperature\": 0.1", "\"temperature\": 0.0", "temperature must be positive"),
            ("}", "", "not a valid student file"),
        ] {
            assert!(text.contains(from), "{from}");
            std::fs::write(&path, text.replacen(from, to, 1))?;
            let message = Student::load(&path).unwrap_err().to_string();
            assert!(message.contains("student.json") && message.contains(expected), "{message}");
        }
        Ok(())
    }
}
