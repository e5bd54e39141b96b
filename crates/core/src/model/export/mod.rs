//! Models in other languages: rules to read, drawings, source code, ONNX.
//!
//! Every export answers as the model itself does, missing values included; where a format cannot (ONNX gives 32-bit
//! outputs) or is to be read (rules have rounded figures), it says so. `docs/export.md` describes the formats.

mod c;
mod c_student;
mod class_name;
mod decider;
mod dot;
mod go;
mod go_student;
mod identifier;
mod java;
mod java_student;
mod math;
mod onnx;
mod onnx_terms;
mod piece;
mod protobuf;
mod rules;
mod rust;
mod rust_student;
mod source;
mod words;

use super::{Guard, NamedModel, Pick, Structure, Student, StudentError};
use crate::level::{HOW_COLUMNS_ARE_FORMED, LevelSpec, Words};
pub use class_name::ClassName;
use decider::Decider;
use piece::Piece;
use words::{kind, number, number32, percent, plain, rounded, rows, sum};

/// What a model can be written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// One line of text per leaf.
    Rules,
    /// A drawing for Graphviz.
    Dot,
    /// A Rust function without dependencies, for `no_std` too.
    Rust,
    /// A C99 function without dependencies.
    C,
    /// A Java class without dependencies, called [`ClassName::default`].
    Java,
    /// A Go package without dependencies.
    Go,
    /// An ONNX model; one per file.
    Onnx,
    /// A student file with the chosen levels and models only.
    Json,
}

impl Target {
    /// What file names end with.
    #[must_use]
    pub fn extension(self) -> &'static str {
        match self {
            Self::Rules => "txt",
            Self::Dot => "dot",
            Self::Rust => "rs",
            Self::C => "c",
            Self::Java => "java",
            Self::Go => "go",
            Self::Onnx => "onnx",
            Self::Json => "json",
        }
    }

    /// The language, of those that a whole student can be written in.
    #[must_use]
    pub fn language(self) -> Option<Language> {
        match self {
            Self::Rust => Some(Language::Rust),
            Self::C => Some(Language::C),
            Self::Java => Some(Language::Java),
            Self::Go => Some(Language::Go),
            Self::Rules | Self::Dot | Self::Onnx | Self::Json => None,
        }
    }

    /// Whether the export is text, and may hold several levels.
    #[must_use]
    pub fn is_text(self) -> bool {
        self != Self::Onnx
    }
}

/// A programming language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Rust, of the edition of 2021 or later.
    Rust,
    /// C99.
    C,
    /// Java 11 or later.
    Java,
    /// Go 1.19 or later.
    Go,
}

/// Why a model cannot be exported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The format has no words for this model.
    #[error("level `{level}`: {what} cannot be written as {target}; {instead}")]
    Unsupported {
        /// The level.
        level: String,
        /// Kind of model.
        what: &'static str,
        /// The format.
        target: &'static str,
        /// What can be done.
        instead: &'static str,
    },
    /// A level has no model, so that there is no whole student.
    #[error("the student has no model for level `{0}`: it is no whole one, whose decisions could be exported")]
    Incomplete(String),
    /// No Java class is called so.
    #[error(
        "`{0}` cannot be the name of the Java class: that has letters (A to Z, a to z), digits, `_` and `$`, does not begin with \
         a digit, and is neither a word of the language nor a name that the class needs itself (such as `String`)"
    )]
    ClassName(String),
    /// An ONNX file holds one model.
    #[error("an ONNX file holds one model, not {0}; export to a folder, or choose a level")]
    Several(usize),
}

/// One model of a student with the description of its level.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// The level: its question and features.
    pub spec: &'a LevelSpec,
    /// The model.
    pub named: &'a NamedModel,
    /// What its level takes of the probabilities.
    pub pick: Pick,
}

/// The models of a student to export: of all levels or one, those that schedule or those of a name.
///
/// # Errors
///
/// [`StudentError::Missing`] if there is no such level or model.
pub fn parts<'a>(
    student: &'a Student,
    level: Option<&str>,
    model: Option<&str>,
) -> Result<Vec<Part<'a>>, StudentError> {
    let all = || student.levels.iter().map(|l| l.level.as_str());
    let names: Vec<&str> = match level {
        Some(name) => vec![name],
        None => all().collect(),
    };
    let part = |name: &str| {
        let named = student.model(name, model)?;
        let missing = || StudentError::Missing {
            what: "level",
            name: name.to_owned(),
            known: all().collect::<Vec<_>>().join(", "),
        };
        let pick = student.level(name).map(|l| l.pick).unwrap_or_default();
        Ok(Part { spec: student.feature_set.level(name).ok_or_else(missing)?, named, pick })
    };
    names.into_iter().map(part).collect()
}

/// Writes models of a student in a format.
///
/// ```
/// use sched_distill_core::model::export::{export, parts, Target};
/// # use sched_distill_dag::feature::feature_set;
/// # use sched_distill_core::model::*;
/// # let models = LevelModels::new("job", "tree", vec![NamedModel {
/// #     name: "tree".into(), temperature: 1.0, model: Model::Tree(Tree::leaf(0.5, 0.0, 1, 1.0)) }]);
/// # let student = Student::new(feature_set().clone(), false, vec![models], Provenance::default());
/// let text = export(&student, &parts(&student, Some("job"), None)?, Target::Rules)?;
/// assert!(String::from_utf8(text)?.ends_with("leaf 0: always score 0.5 # weight 100 %, 1 row\n"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the format cannot express a model, or holds one model only.
pub fn export(student: &Student, parts: &[Part<'_>], target: Target) -> Result<Vec<u8>, ExportError> {
    let pieces = match target {
        Target::Json => Vec::new(),
        _ => pieces(parts, target)?,
    };
    Ok(match target {
        Target::Rules => rules::export(student, &pieces, &Words::default()).into_bytes(),
        Target::Dot => dot::export(student, &pieces)?.into_bytes(),
        Target::Rust => rust::export(student, &pieces).into_bytes(),
        Target::C => c::export(student, &pieces).into_bytes(),
        Target::Java => java::export(student, &pieces, &ClassName::default()).into_bytes(),
        Target::Go => go::export(student, &pieces).into_bytes(),
        Target::Onnx => match &pieces[..] {
            [piece] if student.guards.iter().any(|g| g.level == piece.spec.name) => {
                return Err(ExportError::Unsupported {
                    level: piece.spec.name.clone(),
                    what: "a guard",
                    target: target.extension(),
                    instead: "take it out, or choose `rules` or `json`",
                });
            }
            [piece] => onnx::export(student, piece)?,
            _ => return Err(ExportError::Several(pieces.len())),
        },
        Target::Json => json(student, parts).into_bytes(),
    })
}

/// [`export`] as [`Target::Rules`], with the guards and behind each line the same in the words of the student's scenario.
///
/// # Errors
///
/// If rules cannot express a model.
pub fn export_rules(student: &Student, parts: &[Part<'_>], words: &Words) -> Result<String, ExportError> {
    Ok(rules::export(student, &pieces(parts, Target::Rules)?, words))
}

/// [`export`] as [`Target::Java`], the class called so.
///
/// # Errors
///
/// None: it has a place for every model.
pub fn export_java(student: &Student, parts: &[Part<'_>], class: &ClassName) -> Result<String, ExportError> {
    Ok(java::export(student, &pieces(parts, Target::Java)?, class))
}

/// Writes a whole student: the functions of all levels, and one that decides as the student does, with its guards, its
/// structure and what it takes of the probabilities. There is to be a part for every level of the feature set.
///
/// ```
/// use sched_distill_core::model::export::{Language, export_student, parts};
/// # use sched_distill_dag::feature::feature_set;
/// # use sched_distill_core::model::*;
/// # let level = |level: &str| LevelModels::new(level, "tree", vec![NamedModel {
/// #     name: "tree".into(), temperature: 1.0, model: Model::Tree(Tree::leaf(0.5, 0.0, 1, 1.0)) }]);
/// # let levels = ["job", "stage", "amount"].map(level);
/// # let student = Student::new(feature_set().clone(), false, levels.to_vec(), Provenance::default());
/// let text = export_student(&student, &parts(&student, None, None)?, Language::C)?;
/// assert!(text.contains("student_decide(const struct student_choices *choices, size_t path[STUDENT_LEVELS])"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`ExportError::Incomplete`] if a level has no part.
pub fn export_student(student: &Student, parts: &[Part<'_>], language: Language) -> Result<String, ExportError> {
    whole(student, parts, language, &ClassName::default())
}

/// [`export_student`] in Java, the class called so.
///
/// # Errors
///
/// [`ExportError::Incomplete`] if a level has no part.
pub fn export_java_student(student: &Student, parts: &[Part<'_>], class: &ClassName) -> Result<String, ExportError> {
    whole(student, parts, Language::Java, class)
}

fn whole(student: &Student, parts: &[Part<'_>], language: Language, class: &ClassName) -> Result<String, ExportError> {
    let target = match language {
        Language::Rust => Target::Rust,
        Language::C => Target::C,
        Language::Java => Target::Java,
        Language::Go => Target::Go,
    };
    let mut all = Vec::new();
    for spec in &student.feature_set.levels {
        let part = parts.iter().find(|part| part.spec.name == spec.name);
        all.push(*part.ok_or_else(|| ExportError::Incomplete(spec.name.clone()))?);
    }
    let pieces = pieces(&all, target)?;
    let decider = Decider::new(student, &all, &pieces, language);
    Ok(match language {
        Language::Rust => rust_student::export(&decider),
        Language::C => c_student::export(&decider),
        Language::Java => java_student::export(&decider, class),
        Language::Go => go_student::export(&decider),
    })
}

fn pieces<'a>(parts: &[Part<'a>], target: Target) -> Result<Vec<Piece<'a>>, ExportError> {
    let pieces: Vec<_> = parts.iter().map(|part| Piece::of(part, target)).collect::<Result<_, _>>()?;
    Ok(pieces.into_iter().flatten().collect())
}

/// The student less the levels and models left out, and less what guards and patches say of them.
fn json(student: &Student, parts: &[Part<'_>]) -> String {
    let mut student = student.clone();
    let stays = |level: &str| parts.iter().any(|p| p.spec.name == level);
    student.guards.retain(|g| stays(&g.level));
    let scheduled: Vec<String> = student
        .levels
        .iter()
        .filter(|l| parts.iter().any(|p| p.spec.name == l.level && p.named.name == l.used))
        .map(|l| format!("{}.", l.level))
        .collect();
    for patch in &mut student.patches {
        patch.changes.retain(|c| scheduled.iter().any(|level| c.place.starts_with(level)));
    }
    student.patches.retain(|p| !p.changes.is_empty());
    student.levels.retain_mut(|level| {
        let Some(part) = parts.iter().find(|p| p.spec.name == level.level) else { return false };
        level.used.clone_from(&part.named.name);
        level.models.retain(|m| m.name == part.named.name);
        true
    });
    student.to_json()
}

/// Lines about the student that open every text export.
fn origin(student: &Student) -> Vec<String> {
    let p = &student.provenance;
    let mut lines =
        vec![format!("Exported by distill {} from a student of scenario {}.", version(), plain(&student.scenario))];
    for (what, value) in [("Teacher", &p.teacher), ("Workload", &p.workload), ("Training trace", &p.trace_hash)] {
        if !value.is_empty() {
            lines.push(format!("{what}: {}", plain(value)));
        }
    }
    lines.push(format!("Feature set: {}", plain(&student.feature_set_hash)));
    if student.structure == Structure::Flat {
        let names: Vec<&str> = student.levels.iter().map(|l| l.level.as_str()).collect();
        lines.push(format!(
            "Flat: of the levels {} those above the amount are asked at once. The path through them is taken whose \
             log-probabilities, ln softmax(score / temperature) at each level, have the largest sum.",
            plain(&names.join(", "))
        ));
    }
    lines
}

/// Lines on how the columns are formed that compare candidates with each other.
fn columns_are_formed() -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in HOW_COLUMNS_ARE_FORMED.iter().flat_map(|sentence| sentence.split(' ')) {
        match lines.last_mut() {
            Some(line) if line.chars().count() + word.chars().count() < 118 => {
                *line += if line.is_empty() { "" } else { " " };
                *line += word;
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// A line about who a level's candidates are, if it says it.
fn candidates(spec: &LevelSpec) -> Option<String> {
    (!spec.candidates.is_empty()).then(|| format!("Candidates: {}", plain(&spec.candidates)))
}

/// A column with its unit and meaning.
fn feature(spec: &LevelSpec, column: usize) -> String {
    let feature = &spec.features[column];
    format!("{} [{}] {}", plain(&feature.name), plain(&feature.unit), plain(&spec.meaning(column)))
}

/// Lines on the candidates, and on the features that a model reads, for formats that do not list all of them.
fn described(piece: &Piece<'_>) -> Vec<String> {
    let columns: std::collections::BTreeSet<u32> = match piece.form {
        piece::Form::Tree(tree) => tree.columns().collect(),
        piece::Form::Additive(sum) => sum.terms.iter().flat_map(|t| &t.factors).map(|f| f.feature).collect(),
    };
    let features = columns.into_iter().map(|column| feature(&piece.spec, column as usize));
    candidates(&piece.spec).into_iter().chain(features).collect()
}

/// Lines about the guards, where scores alone are exported.
fn guards_left_out(student: &Student) -> impl Iterator<Item = String> + '_ {
    let line = |guard: &Guard| format!("Guard above the scores, not part of them: {}", plain(&guard.to_string()));
    student.guards.iter().map(line)
}

fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        model::{LEAF, LevelModels, Model, Pairwise, Provenance, Regime, Tree},
        testing::feature_set,
    };

    fn exported(model: Model, target: Target) -> Result<String, ExportError> {
        let models = vec![NamedModel { name: "model".to_owned(), temperature: 0.5, model }];
        let level = LevelModels::new("job", "model", models);
        let student = Student::new(feature_set().clone(), false, vec![level], Provenance::default());
        let parts = parts(&student, None, None).unwrap();
        export(&student, &parts, target).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    #[test]
    fn guards_are_stated_or_refused_and_leave_with_their_level() {
        let models = |level: &str| {
            let model = Model::Tree(Tree::leaf(0.5, 0.0, 1, 1.0));
            LevelModels::new(level, "tree", vec![NamedModel { name: "tree".to_owned(), temperature: 1.0, model }])
        };
        let levels = vec![models("job"), models("stage")];
        let mut student = Student::new(feature_set().clone(), false, levels, Provenance::default());
        student.guards.push(Guard::parse("age > 300s first", &student.feature_set).unwrap());
        student.edit("job.node[0].value=0.25", "by hand").unwrap();
        let of = |level: &str, target| export(&student, &parts(&student, Some(level), None).unwrap(), target);
        for target in [Target::Rust, Target::C, Target::Java, Target::Go, Target::Dot] {
            let text = String::from_utf8(of("job", target).unwrap()).unwrap();
            assert!(text.contains("Guard above the scores, not part of them: job: age > 300000 first"), "{text}");
        }
        let refused = of("job", Target::Onnx).unwrap_err().to_string();
        assert!(refused.contains("a guard cannot be written as onnx"), "{refused}");
        assert!(of("stage", Target::Onnx).is_ok());
        let text = |level| String::from_utf8(of(level, Target::Json).unwrap()).unwrap();
        let student: Student = serde_json::from_str(&text("stage")).unwrap();
        assert_eq!((student.guards.len(), student.patches.len(), student.check_patches()), (0, 0, Ok(())));
        let student: Student = serde_json::from_str(&text("job")).unwrap();
        assert_eq!((student.guards.len(), student.patches.len(), student.check_patches()), (1, 1, Ok(())));
    }

    fn width() -> usize {
        feature_set().level("job").unwrap().features.len()
    }

    #[test]
    fn a_pairwise_tree_is_a_tree_over_the_columns_of_a_pair() {
        let mut tree = Tree::empty(1);
        tree.push_test(width() as u32 + 2, 1.5, [1, 2], true);
        tree.push_test(0, 0.0, [LEAF; 2], true);
        tree.push_test(0, 0.0, [LEAF; 2], true);
        (tree.value, tree.impurity) = (vec![0.5, 0.25, 0.75], vec![0.0; 3]);
        (tree.n_samples, tree.weight) = (vec![2, 1, 1], vec![2.0, 1.0, 1.0]);
        let name = format!("Δ{}", feature_set().level("job").unwrap().features[2].name);
        for (target, expected) in [
            (Target::Rules, "compares two candidates".to_owned()),
            (Target::Rules, format!("{name} <= 1.5")),
            (Target::Dot, format!("{name} <= 1.5")),
            (Target::C, "double beats_job(const float *x)".to_owned()),
            (Target::Rust, format!("pub fn beats_job(x: &[f32; {}]) -> f64", 2 * width())),
            (Target::Java, "public static double beatsJob(float[] x, int at)".to_owned()),
            (Target::Go, "func BeatsJob(x []float32) float64".to_owned()),
            (Target::Onnx, name.clone()),
        ] {
            let text = exported(Model::Pairwise(Pairwise { tree: tree.clone() }), target).unwrap();
            assert!(text.contains(&expected), "{expected} not in {text}");
        }
    }

    #[test]
    fn a_regime_is_a_function_that_chooses_and_those_that_it_chooses_from() {
        let leaf = |value| Model::Tree(Tree::leaf(value, 0.0, 1, 1.0));
        let regime = || Model::Regime(Regime::split(2, 1.5, leaf(1.0), leaf(2.0)));
        let c = exported(regime(), Target::C).unwrap();
        for function in ["int regime_job(const float *x)", "double score0_job(const", "double score1_job(const"] {
            assert!(c.contains(function), "{c}");
        }
        let rust = exported(regime(), Target::Rust).unwrap();
        let signature = format!("pub fn regime_job(x: &[f32; {}]) -> usize", width());
        assert!(rust.contains(&signature) && rust.contains("Model `model`, number 1 of its regimes: tree of 1 leaves"));
        for target in [Target::Rules, Target::Dot, Target::Onnx] {
            let refused = exported(regime(), target).unwrap_err().to_string();
            assert!(refused.contains("a choice of models by regime cannot be written as"), "{refused}");
        }
    }
}
