//! `distill fit`: from a trace to a student.

use super::{
    Common, Verdict,
    evaluate::print_fidelity,
    files::{check_output, command, shown},
    front::{FRONT_CHOICES, FRONT_LEARNERS, gate, size},
    output::Output,
    progress::Watched,
    table::Table,
};
use crate::{
    distiller::{By, FitParams, Gate, Learner},
    model::{ScoreCandidates, Structure},
    pipeline::{FitPlan, Fitted, RunDir, SizeChoice, fit},
};
use anyhow::{Context, Result, bail};
use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Fit a decision tree, a linear surrogate and other models per level of a trace
#[derive(Args)]
#[command(
    after_help = "Examples:\n  distill fit trace -o student.json\n  distill fit trace -o small.json --max-leaves 16\n  distill fit trace -o logit.json --learner \
tree,logit,pairwise-tree --use logit\n  \
distill fit trace -o small.json --max-size 64\n  distill fit trace -o flat.json --learner spline-logit --structure flat\n  \
distill fit trace -o small.json --min-fidelity job/free/top1=0.7,stage/all/regret=0.02\n  \
distill fit trace -o student.json --validation other-trace\n\nTemperatures are fitted, and the printed fidelity measured, on the \
validation choices: by default the last fifth of the\ntrace's episodes, which the models do not see."
)]
pub(super) struct FitArgs {
    /// Trace to learn from
    trace: PathBuf,
    /// Student file to write
    #[arg(short, long, value_name = "FILE", required_unless_present = "run")]
    output: Option<PathBuf>,
    /// Trace with other episodes to choose and measure on [default: the last fifth of TRACE]
    #[arg(long, value_name = "TRACE")]
    validation: Option<PathBuf>,
    /// Run directory to put the student into, with how it was made; the report is drawn from it
    #[arg(long, value_name = "DIR")]
    run: Option<PathBuf>,
    /// Largest size over all levels, leaves and coefficients together: learners and sizes are chosen per level
    #[arg(long, value_name = "N", value_parser = size, conflicts_with = "used")]
    max_size: Option<usize>,
    /// Fidelity on the validation choices that a level must reach, repeatable: the smallest models that do are taken
    #[arg(long, value_name = "LEVEL/KIND/FIGURE=X", value_delimiter = ',', value_parser = gate, conflicts_with = "used")]
    min_fidelity: Vec<Gate>,
    #[command(flatten)]
    options: FitOptions,
}

/// How a student is fitted, for every command that fits.
#[derive(Args)]
pub(super) struct FitOptions {
    /// Largest number of leaves per level, of terms for spline-logit [default: 64]
    #[arg(long, value_name = "N")]
    max_leaves: Option<usize>,
    /// Choices learnt from per level at most, drawn in proportion to their weights [default: all]
    #[arg(long, value_name = "N")]
    max_choices: Option<usize>,
    /// Models to fit, comma-separated or repeated; those of linfa are there for comparison [default: tree,linear; with
    /// --max-size or --min-fidelity: tree,linear-tree,logit,spline-logit,pairwise-tree]
    #[arg(long = "learner", value_parser = learner(), value_delimiter = ',', value_name = "NAME")]
    learners: Vec<Learner>,
    /// Which of the fitted models schedules [default: the first learner]
    #[arg(long = "use", value_name = "NAME")]
    used: Option<String>,
    /// Features that logits may use alone [default: all that differ within a choice]
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    features: Vec<String>,
    /// Whether the student takes the most probable stage of the most probable job (hierarchical) or of all jobs, as
    /// Decima does (flat) [default: hierarchical]
    #[arg(long, value_name = "STRUCTURE", value_parser = structure())]
    structure: Option<Structure>,
    /// JSON file with what studies vary besides: target, engine, min_gain, balance, ridge, interactions and others
    /// (docs/learner.md)
    #[arg(long, value_name = "FILE")]
    params: Option<PathBuf>,
}

/// Parses the name of a learner.
pub(super) fn learner() -> impl TypedValueParser<Value = Learner> {
    let named = |name: String| Learner::ALL.into_iter().find(|l| l.name() == name);
    PossibleValuesParser::new(Learner::ALL.map(Learner::name))
        .map(move |name| named(name).expect("the parser lets no other names through"))
}

/// Parses the name of a structure.
pub(super) fn structure() -> impl TypedValueParser<Value = Structure> {
    let named = |name: String| Structure::ALL.into_iter().find(|s| s.name() == name);
    PossibleValuesParser::new(Structure::ALL.map(Structure::name))
        .map(move |name| named(name).expect("the parser lets no other names through"))
}

impl FitArgs {
    /// Whether models are chosen by their size.
    fn chooses(&self) -> bool {
        self.max_size.is_some() || !self.min_fidelity.is_empty()
    }

    fn plan(&self) -> Result<FitPlan> {
        let Asked { params, learners, used } = self.options.asked()?;
        params.check()?;
        if !self.chooses() {
            return Ok(FitPlan { params, size: None });
        }
        if used {
            bail!("`use` in --params: with --max-size and --min-fidelity the models that schedule are chosen");
        }
        let learners = if learners { params.learners.clone() } else { FRONT_LEARNERS.to_vec() };
        let used = learners[0].name().to_owned();
        let max_choices = params.max_choices.or(Some(FRONT_CHOICES));
        Ok(FitPlan {
            params: FitParams { learners, used, max_choices, ..params },
            size: Some(SizeChoice { most: self.max_size, by: By::Top1, gates: self.min_fidelity.clone() }),
        })
    }
}

/// Parameters, and whether learners and the one that schedules were named.
#[derive(Default)]
struct Asked {
    params: FitParams,
    learners: bool,
    used: bool,
}

impl FitOptions {
    /// What the file says, or else the defaults, with the options above.
    pub(super) fn params(&self) -> Result<FitParams> {
        Ok(self.asked()?.params)
    }

    fn asked(&self) -> Result<Asked> {
        let mut asked = self.params.as_deref().map(from_file).transpose()?.unwrap_or_default();
        if !self.learners.is_empty() {
            asked.params.learners.clone_from(&self.learners);
            (asked.learners, asked.used) = (true, false);
        }
        let params = &mut asked.params;
        if !self.features.is_empty() {
            params.features.clone_from(&self.features);
        }
        params.max_leaf_nodes = self.max_leaves.unwrap_or(params.max_leaf_nodes);
        params.max_choices = self.max_choices.or(params.max_choices);
        params.structure = self.structure.unwrap_or(params.structure);
        if let Some(used) = &self.used {
            params.used.clone_from(used);
        } else if let (true, false, Some(first)) = (asked.learners, asked.used, params.learners.first()) {
            params.used = first.name().to_owned();
        }
        Ok(asked)
    }

    /// Files that it reads.
    pub(super) fn files(&self) -> impl Iterator<Item = &Path> {
        self.params.as_deref().into_iter()
    }
}

fn from_file(path: &Path) -> Result<Asked> {
    let text = std::fs::read(path).with_context(|| format!("{}: cannot read", path.display()))?;
    let none = || format!("{}: not parameters of a fit (docs/learner.md)", path.display());
    // An object first, since a list would be taken for the parameters in order.
    let fields: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(&text).with_context(none)?;
    let [learners, used] = ["learners", "use"].map(|name| fields.contains_key(name));
    let params = serde_json::from_value(fields.into()).with_context(none)?;
    Ok(Asked { params, learners, used })
}

pub(super) fn run(args: &FitArgs, common: &Common, output: &mut Output) -> Result<Verdict> {
    let plan = args.plan()?;
    if let Some(path) = &args.output {
        let traces = [&*args.trace].into_iter().chain(args.validation.as_deref());
        check_output(path, traces.chain(args.options.files()))?;
    }
    args.run.as_deref().map_or(Ok(()), RunDir::check_free)?;
    let trace = common.learning_trace(&args.trace)?;
    let validation_trace = args.validation.as_deref().map(|path| common.learning_trace(path)).transpose()?;
    let Fitted { student, fidelity, left_out } =
        fit(&trace, validation_trace.as_ref(), &plan, Watched::new(output).caller())?;
    if let Some(path) = &args.output {
        student.save(path)?;
    }
    if let Some(dir) = &args.run {
        let traces = [&trace].into_iter().chain(&validation_trace);
        RunDir::enter(dir, &student, traces, common.visit(&student, &command()))?;
    }
    let mut table = Table::new(&["level", "model", "size", "temperature"]);
    for level in &student.levels {
        for m in &level.models {
            table.row([
                level.level.clone(),
                m.name.clone(),
                m.model.size().to_string(),
                format!("{:.3}", m.temperature),
            ]);
        }
    }
    output.text(format!("{}\n", table))?;
    note_left_out(&left_out, output);
    output.text("fidelity on the validation choices")?;
    print_fidelity(&fidelity, output)?;
    // One of the two is there.
    let path = args.output.clone().or_else(|| Some(args.run.as_ref()?.join("student.json"))).unwrap_or_default();
    output.text(format!("\n{} (trace {})", path.display(), trace.hash))?;
    output.json(
        "fit",
        &json!({"student": shown(&path), "hash": student.hash(), "size": student.size(), "fidelity": fidelity}),
    )?;
    Ok(Verdict::Done)
}

/// Says which features logits could not judge, and how they can have a say.
fn note_left_out(left_out: &[(String, Vec<String>)], output: &Output) {
    for (level, names) in left_out.iter().filter(|(_, names)| !names.is_empty()) {
        let names = names.join(", ");
        output.note(format!(
            "note: level {level}: logits leave out what never differs within a choice: {names}; `interactions` in --params lets it in"
        ));
    }
}
