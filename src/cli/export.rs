//! `distill export`: a student in other languages.

use super::{
    common::{Common, Verdict},
    files::{check_kept, check_no_input, check_output},
    inputs::Inputs,
    output::Output,
};
use crate::{
    file::write_together,
    model::{
        Student,
        export::{
            ClassName, ExportError, Language, Part, Target, export, export_java, export_java_student, export_rules,
            export_student, parts,
        },
    },
    pipeline::AnyScenario,
};
use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Write a student as source code, its models as rules, drawings or ONNX
#[derive(Args)]
#[command(
    after_help = "Examples:\n  distill export runs/demo/student.json --to rules\n  \
distill export runs/demo/student.json --to c -o scheduler.c",
    after_long_help = "Examples:\n  distill export runs/demo/student.json --to rules\n  \
distill export runs/demo/student.json --to c -o scheduler.c\n  \
distill export student.json --to dot --level job -o job.dot\n  \
distill export student.json --to c --level job\n  \
distill export student.json --to java -o src/Scheduler.java\n  \
distill export student.json --to go -o student/student.go\n  \
distill export student.json --to onnx -o models\n  \
distill export student.json --to rust --model linear\n\n\
Source code (Rust, C, Java, Go) holds the whole student, guards included, rows of candidates in and a decision out, unless a \
level is chosen: then it holds its scores. ONNX is one file per level. Without -o text goes to stdout. Where -o is a folder (it \
exists as one, or its name has no extension) every level gets a file of its own, a whole student in source code one file: \
student.rs, student.c, Student.java or student.go. A Java class is called as its file, on stdout Student; a Go package is \
always called student (docs/export.md)."
)]
pub(super) struct ExportArgs {
    /// Student file
    #[arg(help_heading = "Input")]
    student: PathBuf,
    /// Format
    #[arg(long, value_name = "FORMAT", help_heading = "What")]
    to: To,
    /// Only this level, its scores alone [default: all]
    #[arg(long, value_name = "LEVEL", help_heading = "What")]
    level: Option<String>,
    /// This model of the level [default: the one that schedules]
    #[arg(long, value_name = "MODEL", help_heading = "What")]
    model: Option<String>,
    /// File or folder [default: stdout]
    #[arg(short, long, value_name = "PATH", help_heading = "Output")]
    output: Option<PathBuf>,
    /// Replace files with other content
    #[arg(long, help_heading = "Output")]
    force: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum To {
    /// Text to read: guards as sentences, then one line per leaf or term
    Rules,
    /// Graphviz drawing
    Dot,
    /// Rust source, no dependencies; the whole student, or the scores of a level
    Rust,
    /// C99 source, no dependencies; the whole student, or the scores of a level
    C,
    /// Java source (11 or later), no dependencies; the whole student, or the scores of a level
    Java,
    /// Go source (1.19 or later), no dependencies; the whole student, or the scores of a level
    Go,
    /// ONNX, one file per level
    Onnx,
    /// A student file with the chosen models only
    Json,
}

impl From<To> for Target {
    fn from(to: To) -> Self {
        match to {
            To::Rules => Self::Rules,
            To::Dot => Self::Dot,
            To::Rust => Self::Rust,
            To::C => Self::C,
            To::Java => Self::Java,
            To::Go => Self::Go,
            To::Onnx => Self::Onnx,
            To::Json => Self::Json,
        }
    }
}

impl ExportArgs {
    /// What it reads.
    pub(super) fn inputs(&self) -> Inputs {
        Inputs::default().students([&self.student])
    }
}

pub(super) fn run(args: &ExportArgs, common: &Common, output: &mut Output) -> Result<Verdict> {
    let target = Target::from(args.to);
    let mut student = common.student(&args.student)?;
    let known = common.registry.iter().map(AnyScenario::info);
    let info = known.into_iter().find(|info| (info.feature_set)().difference(&student.feature_set).is_none());
    // A file of an earlier version says less of its features, and of some it said what is wrong.
    if let Some(info) = info.filter(|_| target != Target::Json) {
        student.feature_set = (info.feature_set)().clone();
    }
    let words = info.map(|info| (info.words)()).unwrap_or_default();
    let parts = parts(&student, args.level.as_deref(), args.model.as_deref())?;
    let levels: Vec<&str> = parts.iter().map(|p| p.spec.name.as_str()).collect();
    let class = match target {
        Target::Java => class_of(args.output.as_deref())?,
        _ => ClassName::default(),
    };
    // A student that lacks models of a level decides nothing, but has scores.
    let whole = match (args.level.is_none(), target.language()) {
        (true, Some(language)) => match in_language(&student, &parts, language, &class) {
            Err(ExportError::Incomplete(level)) => {
                output
                    .warn(format!("note: the student has no model for level `{level}`; the export gives scores alone"));
                None
            }
            text => Some(text?),
        },
        _ => None,
    };
    let guards = student.guards.iter().filter(|guard| levels.contains(&guard.level.as_str())).count();
    if guards > 0 && !matches!(target, Target::Json | Target::Rules) && whole.is_none() {
        output.warn(format!(
            "note: {} no part of the export, which gives scores alone; what it does may differ from the student's decisions \
             (`--to json` keeps guards)",
            if guards == 1 { "1 guard is".to_owned() } else { format!("{guards} guards are") }
        ));
    }
    let of_parts = |parts: &[Part<'_>], class: &ClassName| match target {
        Target::Rules => export_rules(&student, parts, &words).map(String::into_bytes),
        Target::Java => export_java(&student, parts, class).map(String::into_bytes),
        _ => export(&student, parts, target),
    };
    let of_all = || match &whole {
        Some(text) => Ok(text.clone().into_bytes()),
        None => of_parts(&parts, &class),
    };
    // Everything is made before anything is written, so that an error leaves no half of an export.
    let mut files = Vec::new();
    match &args.output {
        None if !target.is_text() => bail!("an ONNX file is no text: name a file or folder with -o"),
        None => {
            let text = String::from_utf8(of_all()?).context("the export is no text")?;
            output.text(text.trim_end_matches('\n'))?;
            output.json("export", &json!({"levels": levels, "text": text}))?;
            return Ok(Verdict::Done);
        }
        Some(path) if is_folder(path) => {
            if whole.is_some() {
                let name = if target == Target::Java { class.as_str() } else { "student" };
                files.push((path.join(format!("{name}.{}", target.extension())), of_all()?));
            }
            for part in parts.iter().filter(|_| whole.is_none()) {
                let class = ClassName::of_level(&student, &part.spec.name);
                let name = if target == Target::Java { class.as_str() } else { &part.spec.name };
                let name = format!("{name}.{}", target.extension());
                if Path::new(&name).components().count() != 1 {
                    bail!("level `{}` cannot be the name of a file; name a file with -o and choose it", part.spec.name);
                }
                files.push((path.join(name), of_parts(std::slice::from_ref(part), &class)?));
            }
            std::fs::create_dir_all(path).with_context(|| format!("{}: cannot create the folder", path.display()))?;
        }
        Some(path) => {
            check_output(path, [&*args.student])?;
            files.push((path.clone(), of_all()?));
        }
    }
    files.iter().try_for_each(|(path, _)| check_no_input(path, [&*args.student]))?;
    files.iter().try_for_each(|(path, bytes)| check_kept(path, bytes, args.force))?;
    if let Err((path, error)) = write_together(&files) {
        return Err(error).with_context(|| format!("{}: cannot write", path.display()));
    }
    for (path, _) in &files {
        output.text(path.display())?;
    }
    let paths: Vec<String> = files.iter().map(|(path, _)| path.display().to_string()).collect();
    output.json("export", &json!({"levels": levels, "files": paths}))?;
    Ok(Verdict::Done)
}

/// A whole student in a language; in Java its class is called so.
fn in_language(
    student: &Student,
    parts: &[Part<'_>],
    language: Language,
    class: &ClassName,
) -> Result<String, ExportError> {
    match language {
        Language::Java => export_java_student(student, parts, class),
        Language::Rust | Language::C | Language::Go => export_student(student, parts, language),
    }
}

/// What a Java class is called: as its file, if there is one of a name.
fn class_of(output: Option<&Path>) -> Result<ClassName> {
    match output.filter(|path| !is_folder(path)) {
        Some(path) => {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            ClassName::new(&stem).with_context(|| format!("{}: a Java class is called as its file", path.display()))
        }
        None => Ok(ClassName::default()),
    }
}

/// Whether a path means a folder: it is one, or its name has no extension.
fn is_folder(path: &Path) -> bool {
    path.is_dir() || (path.extension().is_none() && !path.exists())
}
