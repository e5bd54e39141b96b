//! `distill features`: which features earn their place?

use super::{
    common::{Common, Verdict},
    inputs::Inputs,
    interrupt::check_interrupt,
    output::Output,
    progress::StepBar,
    table::Table,
};
use crate::distiller::{Contribution, FitParams, SelectionParams, Spread, select_families};
use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::json;
use std::path::PathBuf;

/// Say what every feature and family of features adds
#[derive(Args)]
#[command(
    after_help = "Examples:\n  distill features runs/demo/traces/train\n  \
distill features runs/demo/traces/train --level stage --families 12",
    after_long_help = "Examples:\n  distill features runs/demo/traces/train\n  \
distill features runs/demo/traces/train --level stage --families 12\n\n\
All figures are under cross-validation by episode. A family is a base quantity with its rank and ratio. Families enter a conditional logit one by one, the one that lowers the \
cross-entropy on the episodes held out most first, until none lowers it by more than its standard error; then each is left \
out once. Changes are mean and standard error over folds. `distill fit --learner logit --features ...` takes the list."
)]
pub(super) struct FeaturesArgs {
    /// Trace to learn from
    #[arg(help_heading = "Input")]
    trace: PathBuf,
    /// Levels, comma-separated [default: all]
    #[arg(long = "level", value_delimiter = ',', value_name = "NAME", help_heading = "Selection")]
    levels: Vec<String>,
    /// Most families that may enter
    #[arg(long, default_value_t = 8, value_name = "N", help_heading = "Selection")]
    families: usize,
    /// Parts that the episodes are divided into
    #[arg(
        long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=50),
        help_heading = "Selection"
    )]
    folds: u32,
    /// Choices per fold at most, drawn by their weights
    #[arg(long, default_value_t = 5_000, value_name = "N", help_heading = "Selection")]
    max_choices: usize,
    /// How far kinds of choices are balanced: 0 counts choices, 1 gives every kind the same weight
    #[arg(
        long, default_value_t = FitParams::default().balance, value_name = "X", help_heading = "Selection",
        hide_short_help = true
    )]
    balance: f64,
}

impl FeaturesArgs {
    /// What it reads.
    pub(super) fn inputs(&self) -> Inputs {
        Inputs::default().traces([&self.trace])
    }
}

pub(super) fn run(args: &FeaturesArgs, common: &Common, output: &mut Output) -> Result<Verdict> {
    let trace = common.learning_trace(&args.trace)?;
    let set = &trace.manifest.feature_set;
    let known: Vec<&str> = set.levels.iter().map(|l| l.name.as_str()).collect();
    let asked: Vec<&str> = args.levels.iter().map(|level| set.name_of(level)).collect();
    if let Some(level) = asked.iter().find(|level| !known.contains(level)) {
        bail!("{}: no level `{level}`; it has {}", args.trace.display(), known.join(", "));
    }
    if trace.manifest.episodes < args.folds {
        let episodes = trace.manifest.episodes;
        bail!(
            "{}: {episodes} episodes cannot be divided into {} folds; record more, or lower --folds",
            args.trace.display(),
            args.folds
        );
    }
    if args.max_choices == 0 {
        bail!("--max-choices must be at least 1, got 0");
    }
    let wanted = known.iter().filter(|&&l| asked.is_empty() || asked.contains(&l));
    for level in wanted {
        check_interrupt()?;
        let table = trace.level(level)?;
        let bar = StepBar::new(args.families + 1, &output.notes());
        let tick = |what: String| {
            bar.begin(what);
            bar.step();
        };
        let params = SelectionParams {
            folds: args.folds,
            families: args.families,
            max_choices: args.max_choices,
            balance: args.balance,
            ridge: FitParams::default().ridge,
        };
        let found = select_families(&table, params, &tick)
            .with_context(|| format!("{}: cannot select", args.trace.display()))?;
        drop(bar);
        for (title, list) in [
            ("by itself", &found.alone),
            ("enters", &found.forward),
            ("family left out", &found.without_family),
            ("feature left out", &found.without_feature),
        ] {
            output.text(format!("{}\n", contributions(&format!("level {level}: {title}"), list)))?;
        }
        output.text(format!("--features {}\n", found.features.join(",")))?;
        output.json("features", &json!({"level": level, "folds": args.folds, "selection": found}))?;
    }
    Ok(Verdict::Done)
}

fn contributions(title: &str, list: &[Contribution]) -> Table {
    let mut table = Table::new(&[title, "top-1", "regret", "cross-entropy", "Δ top-1", "Δ regret", "Δ cross-entropy"])
        .without_if_wide(&["regret", "top-1"]);
    let change = |s: &Spread| format!("{:+.4} ± {:.4}", s.mean, s.se);
    for c in list {
        table.row([
            c.name.clone(),
            format!("{:.3}", c.figures.top1.mean),
            format!("{:.4}", c.figures.regret.mean),
            format!("{:.4}", c.figures.cross_entropy.mean),
            change(&c.change.top1),
            change(&c.change.regret),
            change(&c.change.cross_entropy),
        ]);
    }
    table
}
