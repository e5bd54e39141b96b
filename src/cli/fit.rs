//! `distill fit`: from a trace to a student.

use super::{
    Common, Verdict,
    evaluate::print_fidelity,
    files::{check_output, shown},
    front::{FRONT_CHOICES, FRONT_LEARNERS, by, gate, size},
    output::Output,
    progress::Watched,
    run_dir,
    table::Table,
};
use crate::{
    distiller::{By, Engine, FitParams, Gate, Learner, Target},
    model::{ScoreCandidates, Structure},
    pipeline::{FitPlan, Fitted, SizeChoice, fit},
};
use anyhow::Result;
use clap::{
    Args, ValueEnum,
    builder::{PossibleValuesParser, TypedValueParser},
};
use serde_json::json;
use std::path::PathBuf;

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
    /// The figure that sizes and learners are chosen by with --max-size and --min-fidelity
    #[arg(long, value_name = "FIGURE", value_parser = by(), default_value = "top1")]
    by: By,
    #[command(flatten)]
    options: FitOptions,
}

/// How a student is fitted, for every command that fits.
#[derive(Args)]
pub(super) struct FitOptions {
    /// Largest number of leaves per level, of terms for spline-logit
    #[arg(long, default_value_t = FitParams::default().max_leaf_nodes, value_name = "N")]
    max_leaves: usize,
    /// Fewest rows in a leaf
    #[arg(long, default_value_t = FitParams::default().min_samples_leaf, value_name = "N")]
    min_samples_leaf: usize,
    /// What the tree is taught about each candidate
    #[arg(long, value_enum, default_value_t = TargetArg::RelativeProbability)]
    target: TargetArg,
    /// Least share of a level's squared error that a split must take away
    #[arg(long, default_value_t = FitParams::default().min_gain, value_name = "SHARE")]
    min_gain: f64,
    /// How trees look for splits: at every gap between values, or between 255 bins per feature
    #[arg(long, value_enum, default_value_t = EngineArg::Exact)]
    engine: EngineArg,
    /// Keep thresholds in the middle between values instead of rounding them to short decimals
    #[arg(long)]
    no_rounding: bool,
    /// Cost of a leaf for cost-complexity pruning, in units of the tree's squared error
    #[arg(long, default_value_t = FitParams::default().ccp_alpha, value_name = "X")]
    ccp_alpha: f64,
    /// How far kinds of choices are balanced: 0 counts choices, 1 gives every kind the same weight
    #[arg(long, default_value_t = FitParams::default().balance, value_name = "X")]
    balance: f64,
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
    /// Penalty on the coefficients of logits, per unit of weight
    #[arg(long, default_value_t = FitParams::default().ridge, value_name = "X")]
    ridge: f64,
    /// Features that logits may use alone [default: all that differ within a choice]
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    features: Vec<String>,
    /// Products of two features for logits, repeatable: what is the same for all candidates counts as a factor
    #[arg(long = "interact", value_delimiter = ',', value_name = "A*B", value_parser = interaction)]
    interactions: Vec<Interaction>,
    /// Whether the student takes the most probable stage of the most probable job (hierarchical) or of all jobs, as Decima
    /// does (flat)
    #[arg(long, value_name = "STRUCTURE", value_parser = structure(), default_value = "hierarchical")]
    structure: Structure,
}

#[derive(Clone, Copy, ValueEnum)]
enum TargetArg {
    Probability,
    RelativeProbability,
    LogRatio,
}

#[derive(Clone, Copy, ValueEnum)]
enum EngineArg {
    Exact,
    Histogram,
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

/// Two features that are multiplied.
#[derive(Clone)]
struct Interaction([String; 2]);

fn interaction(text: &str) -> Result<Interaction, String> {
    match text.split('*').map(str::trim).collect::<Vec<_>>()[..] {
        [a, b] if !a.is_empty() && !b.is_empty() => Ok(Interaction([a.to_owned(), b.to_owned()])),
        _ => Err("expected two features with an asterisk between them".to_owned()),
    }
}

impl FitArgs {
    /// Whether models are chosen by their size.
    fn chooses(&self) -> bool {
        self.max_size.is_some() || !self.min_fidelity.is_empty()
    }

    fn plan(&self) -> FitPlan {
        let params = self.options.params();
        if !self.chooses() {
            return FitPlan { params, size: None };
        }
        let learners = if self.options.learners.is_empty() { FRONT_LEARNERS.to_vec() } else { params.learners.clone() };
        let used = learners[0].name().to_owned();
        let max_choices = params.max_choices.or(Some(FRONT_CHOICES));
        FitPlan {
            params: FitParams { learners, used, max_choices, ..params },
            size: Some(SizeChoice { most: self.max_size, by: self.by, gates: self.min_fidelity.clone() }),
        }
    }
}

impl FitOptions {
    pub(super) fn params(&self) -> FitParams {
        let learners = match self.learners.is_empty() {
            true => FitParams::default().learners,
            false => self.learners.clone(),
        };
        FitParams {
            max_leaf_nodes: self.max_leaves,
            min_samples_leaf: self.min_samples_leaf,
            target: match self.target {
                TargetArg::Probability => Target::Probability,
                TargetArg::RelativeProbability => Target::RelativeProbability,
                TargetArg::LogRatio => Target::LogRatio,
            },
            engine: match self.engine {
                EngineArg::Exact => Engine::Exact,
                EngineArg::Histogram => Engine::Histogram { max_bins: 255 },
            },
            round_thresholds: !self.no_rounding,
            ccp_alpha: self.ccp_alpha,
            balance: self.balance,
            max_choices: self.max_choices,
            min_gain: self.min_gain,
            learners: learners.clone(),
            ridge: self.ridge,
            features: self.features.clone(),
            interactions: self.interactions.iter().map(|i| i.0.clone()).collect(),
            used: self.used.clone().unwrap_or_else(|| learners[0].name().to_owned()),
            structure: self.structure,
        }
    }
}

pub(super) fn run(args: &FitArgs, common: &Common, output: &mut Output) -> Result<Verdict> {
    let plan = args.plan();
    plan.params.check()?;
    if let Some(path) = &args.output {
        check_output(path, [&*args.trace].into_iter().chain(args.validation.as_deref()))?;
    }
    args.run.as_deref().map_or(Ok(()), run_dir::check_free)?;
    let trace = common.learning_trace(&args.trace)?;
    let validation_trace = args.validation.as_deref().map(|path| common.learning_trace(path)).transpose()?;
    let Fitted { student, fidelity, left_out } =
        fit(&trace, validation_trace.as_ref(), &plan, Watched::new(output).caller())?;
    if let Some(path) = &args.output {
        student.save(path)?;
    }
    if let Some(dir) = &args.run {
        run_dir::enter(dir, &student, [&trace].into_iter().chain(&validation_trace), common.seed)?;
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
            "note: level {level}: logits leave out what never differs within a choice: {names}; --interact A*B lets it in"
        ));
    }
}
