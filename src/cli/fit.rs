//! `distill fit`: from a trace to a student.

use super::{
    Common, Verdict, check_interrupt,
    evaluate::print_fidelity,
    files::{check_output, shown},
    front::{DEFAULT_MOST, FRONT_CHOICES, FRONT_LEARNERS, Front, by, gate, size},
    output::Output,
    run_dir,
    table::Table,
};
use crate::{
    distiller::{By, Draw, Engine, FitParams, Gate, Learner, Target, fit_student, is_usable},
    evaluator::{Role, Scorer, fidelity},
    model::{Model, Provenance, ScoreCandidates, Structure, Student},
    trace::{Choice, LevelTable, Trace},
};
use anyhow::{Context, Result, bail};
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

    fn params(&self) -> FitParams {
        let params = self.options.params();
        match (self.chooses(), self.options.learners.is_empty()) {
            (false, _) => params,
            (true, none) => {
                let learners = if none { FRONT_LEARNERS.to_vec() } else { params.learners.clone() };
                let used = learners[0].name().to_owned();
                let max_choices = params.max_choices.or(Some(FRONT_CHOICES));
                FitParams { learners, used, max_choices, ..params }
            }
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
    let params = args.params();
    params.check()?;
    if let Some(path) = &args.output {
        check_output(path, [&*args.trace].into_iter().chain(args.validation.as_deref()))?;
    }
    args.run.as_deref().map_or(Ok(()), run_dir::check_free)?;
    let trace = common.learning_trace(&args.trace)?;
    let validation_trace = args.validation.as_deref().map(|path| common.learning_trace(path)).transpose()?;
    let (student, validation) = match args.chooses() {
        true => {
            let front =
                Front::fit(&trace, validation_trace.as_ref(), &params, args.max_size.unwrap_or(DEFAULT_MOST), output)?;
            let chosen = front.choose(args.max_size, args.by, &args.min_fidelity)?;
            let student = front.student(&trace, &chosen, &params);
            (student, front.validation)
        }
        false => fit_traces(&trace, validation_trace.as_ref(), &params, output)?,
    };
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
    let mut rows = Vec::new();
    for (level, table) in student.levels.iter().zip(&validation) {
        let scorers: Vec<Scorer<'_>> = level.models.iter().map(|m| Scorer::model(m, Role::Student)).collect();
        rows.extend(fidelity(table, &scorers, 0));
    }
    note_left_out(&student, output);
    output.text("fidelity on the validation choices")?;
    print_fidelity(&rows, output)?;
    // One of the two is there.
    let path = args.output.clone().or_else(|| Some(args.run.as_ref()?.join("student.json"))).unwrap_or_default();
    output.text(format!("\n{} (trace {})", path.display(), trace.hash))?;
    output.json(
        "fit",
        &json!({"student": shown(&path), "hash": student.hash(), "size": student.size(), "fidelity": rows}),
    )?;
    Ok(Verdict::Done)
}

/// Says which features logits could not judge, and how they can have a say.
fn note_left_out(student: &Student, output: &Output) {
    for level in &student.levels {
        let logit = level.models.iter().find_map(|m| match &m.model {
            Model::ChoiceLogit(logit) => Some(logit),
            _ => None,
        });
        let Some((logit, spec)) = logit.zip(student.feature_set.level(&level.level)) else { continue };
        let names: Vec<&str> = (0..spec.features.len())
            .filter(|&column| logit.feature_sd[column] == 0.0)
            .filter(|&column| logit.interactions.iter().flatten().all(|&c| c as usize != column))
            .map(|column| spec.features[column].name.as_str())
            .collect();
        if !names.is_empty() {
            let names = names.join(", ");
            output.note(format!(
                "note: level {}: logits leave out what never differs within a choice: {names}; --interact A*B lets it in",
                level.level
            ));
        }
    }
}

/// Fits on a trace; returns the student and the validation tables.
pub(super) fn fit_traces(
    trace: &Trace,
    validation: Option<&Trace>,
    params: &FitParams,
    output: &Output,
) -> Result<(Student, Vec<LevelTable>)> {
    let (train_tables, validation_tables) = load(trace, validation, Some(params), output)?;
    let student = fit_student((&trace.manifest).into(), (&train_tables, &validation_tables), params, provenance(trace))
        .with_context(|| format!("{}: cannot fit", trace.dir.display()))?;
    Ok((student, validation_tables))
}

/// Where a student fitted on a trace comes from.
pub(super) fn provenance(trace: &Trace) -> Provenance {
    Provenance {
        trace_hash: trace.hash.clone(),
        teacher: trace.manifest.labeller.id.clone(),
        workload: trace.manifest.workload.id.clone(),
        ..Provenance::default()
    }
}

/// The tables of all levels to train on, and those to choose on: of `validation`, or of the last fifth of the episodes. With
/// the parameters of a fit, the former hold no more than the fit takes.
pub(super) fn load(
    trace: &Trace,
    validation: Option<&Trace>,
    learning: Option<&FitParams>,
    output: &Output,
) -> Result<(Vec<LevelTable>, Vec<LevelTable>)> {
    let set = &trace.manifest.feature_set;
    if let Some(difference) = validation.and_then(|v| v.manifest.feature_set.difference(set)) {
        bail!("the validation trace has other features than the training trace: {difference}");
    }
    let drawn = |t: &Trace| (t.manifest.seed, t.manifest.split, t.manifest.workload.clone());
    let range = |t: &Trace| (t.manifest.first_episode, t.manifest.first_episode + t.manifest.episodes);
    let overlap = |v: &Trace| {
        let ((from, to), (first, end)) = (range(v), range(trace));
        drawn(v) == drawn(trace) && from < end && first < to
    };
    if validation.is_some_and(|v| v.hash == trace.hash || overlap(v)) {
        bail!("the validation trace has the same episodes as the training trace; record another split");
    }
    if validation.is_none() && trace.manifest.episodes < 2 {
        bail!("one episode cannot be divided into training and validation; record more, or give --validation");
    }
    output.note(format!("fitting {} levels on {}", set.levels.len(), trace.dir.display()));
    let manifest = &trace.manifest;
    let first_held_out = manifest.first_episode + manifest.episodes - manifest.episodes.div_ceil(5);
    let (mut train_tables, mut validation_tables) = (Vec::new(), Vec::new());
    for level in &set.levels {
        let name = level.name.as_str();
        // Beside a trace to choose on, all of this one is to learn from.
        let first_held_out = if validation.is_some() { u32::MAX } else { first_held_out };
        train_tables.push(to_learn_from(trace, name, first_held_out, learning)?);
        let (held_out, from) = validation.map_or((trace, first_held_out), |other| (other, 0));
        validation_tables.push(kept(held_out, name, |choice| choice.header.episode >= from)?);
    }
    Ok((train_tables, validation_tables))
}

/// Rows of a level up to which choices are drawn from all of them in memory: reading them twice would take longer.
const FEW_ROWS: usize = 200_000;

/// The choices of a level before an episode, those alone that a fit with these parameters takes.
fn to_learn_from(trace: &Trace, level: &str, before: u32, learning: Option<&FitParams>) -> Result<LevelTable> {
    let is_early = |choice: &Choice<'_>| choice.header.episode < before;
    let Some(params) = learning else { return kept(trace, level, is_early) };
    if params.max_choices.is_none() || trace.rows_of(level) <= FEW_ROWS {
        return kept(trace, level, |choice| is_early(choice) && is_usable(choice));
    }
    // Which choices are drawn shows when all are known: their weights are read first, and then the rows of those drawn.
    let mut draw = Draw::default();
    trace.outlines(level)?.iter().filter(|choice| choice.episode < before).for_each(|choice| draw.add(choice));
    let Some(weights) = draw.weights(params.balance, params.max_choices) else {
        return Ok(trace.pieces(level)?.empty());
    };
    let mut weight = weights.iter();
    let mut table = kept(trace, level, |choice| is_early(choice) && weight.next().is_some_and(|&w| w > 0.0))?;
    table.drawn = Some(weights.into_iter().filter(|&w| w > 0.0).collect());
    Ok(table)
}

/// The choices of a level that are to be kept, asked in order.
fn kept(trace: &Trace, level: &str, mut keep: impl FnMut(&Choice<'_>) -> bool) -> Result<LevelTable> {
    let pieces = trace.pieces(level)?;
    let mut table = pieces.empty();
    for piece in pieces {
        check_interrupt()?;
        let piece = piece?;
        piece.iter().filter(|choice| keep(choice)).for_each(|choice| table.push(&choice));
    }
    Ok(table)
}
