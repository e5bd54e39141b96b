//! `distill shadow`: what a policy would have done beside a present scheduler, and whether the cluster is the one it was made for.

use super::{
    common::{Common, Verdict},
    disagreement::print_regions,
    inputs::Inputs,
    output::Output,
    parts::count,
    progress::Watched,
    table::{Table, interval},
};
use crate::{
    evaluator::{Drift, DriftWords, Estimate, FeatureDrift, Read, Stability},
    level::sha256_hex,
    pipeline::{ShadowReport, reads, shadow_report},
    policy::STUDENT,
    spec::Spec,
    trace::{Trace, bring_up_to_date},
};
use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::json;
use std::path::PathBuf;

/// Report a shadow's log: agreement with the present scheduler, and drift
#[derive(Args)]
#[command(
    after_help = "Examples:\n  distill shadow log --train runs/demo/traces/train\n  \
distill shadow log --train runs/demo/traces/train --max-drift 0.25",
    after_long_help = "Examples:\n  distill shadow log --train runs/demo/traces/train\n  \
distill shadow log --train runs/demo/traces/train --max-drift 0.25\n\n\
A server writes the log, and it can be read at any time:\n  \
distill serve -p student:runs/demo/student.json --listen unix:d.sock --shadow log\n\n\
Drift is told in words, of the quantities that the student reads. Its figure is the population stability index: below 0.1 stable, \
from 0.25 on large, and only what is beyond chance counts (docs/serve.md)."
)]
pub(super) struct ShadowArgs {
    /// Log that `distill serve --shadow` has written
    #[arg(help_heading = "Input")]
    log: PathBuf,
    /// Trace that the policy was fitted on
    #[arg(long, value_name = "TRACE", help_heading = "Drift")]
    train: Option<PathBuf>,
    /// Student that the log is of; drift is told of what it reads [default: the one that the log names, if its file is there]
    #[arg(long, value_name = "STUDENT", requires = "train", help_heading = "Drift")]
    student: Option<PathBuf>,
    /// Gate: the largest index that a feature may have, where it is beyond chance
    #[arg(long, value_name = "X", requires = "train", help_heading = "Drift")]
    max_drift: Option<f64>,
    /// Most regions of choices that are shown per level; 0 for none
    #[arg(long, default_value_t = 4, value_name = "N", help_heading = "Agreement")]
    max_regions: usize,
}

/// Features that are shown at least.
const SHOWN: usize = 10;

impl ShadowArgs {
    /// What it reads.
    pub(super) fn inputs(&self) -> Inputs {
        Inputs::default().traces([&self.log].into_iter().chain(&self.train)).students(&self.student)
    }
}

pub(super) fn run(args: &ShadowArgs, common: &Common, output: &mut Output) -> Result<Verdict> {
    if let Some(most) = args.max_drift.filter(|most| !(most.is_finite() && *most >= 0.0)) {
        bail!("--max-drift must be a number of at least 0, got {most}");
    }
    if !bring_up_to_date(&args.log)? {
        bail!(
            "{}: nothing is in the log yet; an episode is written a minute after its client has reset or gone, and at the server's \
             end",
            args.log.display()
        );
    }
    let log = common.trace(&args.log)?;
    let training = args.train.as_ref().map(|path| common.trace(path)).transpose()?;
    let watched = Watched::new(output);
    let found = shadow_report(&log, training.as_ref(), args.max_regions, common.seed, watched.caller())?;
    drop(watched);
    let beyond = match (args.max_drift, &found.drift) {
        (Some(_), Some(Drift { unknown: Some(why), .. })) => bail!("--max-drift cannot be judged: {why}"),
        (Some(most), Some(drift)) => drift.beyond(most).count(),
        _ => 0,
    };
    let passed = beyond == 0;
    let reads = if training.is_some() { what_it_reads(args, &log, common, output)? } else { None };
    let set = &log.manifest.feature_set;
    let words = common.known_scenario(set).map(|scenario| (scenario.info().words)()).unwrap_or_default();
    let in_words = found.drift.as_ref().map(|drift| drift.in_words(set, &words, reads.as_deref()));
    output.json(
        "shadow",
        &json!({"log": args.log.display().to_string(), "policy": log.manifest.labeller, "report": found,
            "drift_words": in_words, "max_drift": args.max_drift, "beyond": beyond, "passed": passed}),
    )?;
    print(&found, &log, output)?;
    match (&found.drift, in_words, args.train.as_ref()) {
        (Some(drift), Some(words), Some(path)) => {
            print_drift(drift, &words, reads.as_deref(), &path.display().to_string(), output)?;
        }
        _ => output.text("\nno drift is measured without --train, the trace that the policy was fitted on")?,
    }
    if let Some(most) = args.max_drift {
        output.text(match beyond {
            0 => format!("\npassed: no index is beyond {most} and beyond chance"),
            n => format!("\nFAILED: the index of {} is beyond {most} and beyond chance", count(n, "feature")),
        })?;
    }
    Ok(if passed { Verdict::Done } else { Verdict::GateFailed })
}

fn print(found: &ShadowReport, log: &Trace, output: &mut Output) -> Result<()> {
    let policy = &log.manifest.labeller.id;
    // One or two episodes tell nothing of how others would differ.
    let few = log.manifest.episodes < 3;
    let share = |e: &Estimate| if few { format!("{:.3}", e.value) } else { interval(e, 3) };
    let Some(decisions) = &found.decisions else { return output.text("the log has no decisions") };
    output.text(format!(
        "{} in {} of the log, beside {policy}:\nthe policy would have decided as the present scheduler did in {} of them",
        count(decisions.decisions, "decision"),
        count(log.manifest.episodes as usize, "episode"),
        share(&decisions.joint)
    ))?;
    let mut table = Table::new(&["level", "kind", "choices", "the same candidate"]);
    for row in &found.agreement {
        table.row([row.level.clone(), row.kind.clone(), row.choices.to_string(), share(&row.top1)]);
    }
    output.text(format!("\n{table}"))?;
    if few {
        output.text("  no intervals: they are over episodes, of which the log has too few")?;
    }
    for level in &found.regions {
        let mut level = level.clone();
        // Regions know a teacher; here that is the policy.
        level.regions.iter_mut().for_each(|region| region.rule = region.rule.replace("teacher's ", "policy's "));
        print_regions(&level, "the present scheduler", output)?;
    }
    Ok(())
}

/// What the student of a log reads; `None` if it is not a student, or not known.
fn what_it_reads(args: &ShadowArgs, log: &Trace, common: &Common, output: &mut Output) -> Result<Option<Vec<Read>>> {
    let labeller = &log.manifest.labeller;
    let spec = labeller.id.parse::<Spec>().ok().filter(|spec| spec.name == STUDENT.name);
    let Some(path) = args.student.clone().or_else(|| spec.as_ref()?.file.clone()) else { return Ok(None) };
    let bytes = std::fs::read(&path);
    let is_its_own = bytes.is_ok_and(|bytes| labeller.files.values().any(|hash| *hash == sha256_hex(&bytes)));
    if !is_its_own && args.student.is_none() {
        output.warn(format!(
            "note: {} is not the student of the log, or is not there: drift is told of all features, read or not; --student \
             names its file",
            path.display()
        ));
        return Ok(None);
    }
    let student = common.student(&path)?;
    if let Some(difference) = log.manifest.feature_set.difference(&student.feature_set) {
        bail!("--student {}: the features of the log are others: {difference}", path.display());
    }
    if !is_its_own {
        output.warn(format!("note: {} is not the student that the log names, {}", path.display(), labeller.id));
    }
    let model = spec.as_ref().filter(|_| is_its_own).and_then(|spec| spec.params.get("model"));
    let read = reads(&student, model.map(String::as_str)).with_context(|| path.display().to_string())?;
    Ok(Some(read))
}

fn print_drift(
    drift: &Drift,
    words: &DriftWords,
    reads: Option<&[Read]>,
    training: &str,
    output: &mut Output,
) -> Result<()> {
    output.text(format!("\n{}", words.sentences.join("\n")))?;
    let student = if reads.is_some() { " that the student reads" } else { "" };
    match words.others {
        0 => {}
        1 => output.text(format!("and 1 more quantity drifts{student}; the table has it"))?,
        n => output.text(format!("and {n} more quantities drift{student}; the table has them"))?,
    }
    match words.unread {
        None | Some(0) => {}
        Some(1) => output.text("and 1 more feature drifts that the student does not read; --json has it")?,
        Some(n) => {
            output.text(format!("and {n} more features drift that the student does not read; --json has them"))?
        }
    }
    let [of_training, now] = drift.episodes;
    output.text(format!(
        "\nin figures, against {training}: {} of the log, {} of training; {:.1} % of the decisions have a candidate outside the \
         range of training",
        count(now, "episode"),
        count(of_training, "episode"),
        100.0 * drift.outside
    ))?;
    let is_read =
        |f: &&FeatureDrift| reads.is_none_or(|all| all.iter().any(|r| r.level == f.level && r.feature == f.feature));
    let (read, others): (Vec<&FeatureDrift>, Vec<&FeatureDrift>) = drift.features.iter().partition(is_read);
    let drifts = |all: &[&FeatureDrift]| all.iter().filter(|f| f.stability > Stability::Stable).count();
    let shown = SHOWN.max(drifts(&read));
    let mut table =
        Table::new(&["feature", "index", "chance", "outside", "median then", "now", "unit", "drift"]).with_words(2);
    for f in read.iter().take(shown) {
        table.row([
            format!("{}.{}", f.level, f.feature),
            format!("{:.3}", f.psi),
            f.chance.map_or_else(|| "-".to_owned(), |chance| format!("{chance:.3}")),
            format!("{:.1} %", 100.0 * f.outside),
            number(f.medians[0]),
            number(f.medians[1]),
            f.unit.clone(),
            if drift.unknown.is_some() { "-" } else { f.stability.name() }.to_owned(),
        ]);
    }
    output.text(format!("\n{table}"))?;
    let left = read.len().saturating_sub(shown);
    let unread = match others.len() {
        0 => String::new(),
        n => format!(", nor are {n} that the student does not read"),
    };
    let drifting = match (&drift.unknown, drifts(&read)) {
        (Some(_), _) => return output.text(format!("{left} more features are not shown{unread}")),
        (None, 0) => format!("no feature{student} drifts"),
        (None, 1) => format!("1 feature{student} drifts"),
        (None, n) => format!("{n} features{student} drift"),
    };
    output.text(format!("{drifting} (an index of 0.1 or more, and beyond chance); {left} more are not shown{unread}"))
}

/// Four digits, whatever the size.
fn number(value: f32) -> String {
    match value.abs() {
        size if size >= 1e5 || (size > 0.0 && size < 1e-3) => format!("{value:.2e}"),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}
