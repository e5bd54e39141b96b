//! `distill explain --gradients`: what a neural teacher itself goes by.

use super::{output::Output, table::Table};
use crate::{explainer::TeacherGradients, pipeline::AnyScenario, trace::Trace};
use anyhow::{Result, bail};

/// Integrated gradients of the decisions of a trace of that scenario, if it is known here.
#[cfg(feature = "torch")]
pub(super) fn gradients(
    trace: &Trace,
    scenario: Option<&dyn AnyScenario>,
    decisions: usize,
) -> Result<TeacherGradients> {
    use super::interrupt::{Interrupted, STOP};
    use crate::{
        dag::Dag,
        network::{Tensors, scorer::SCORER},
        practice::RecordedLessons,
        spec::Spec,
        trainer::{
            TrainError,
            decima::{teacher_gradients, weights},
            scorer::scorer_gradients,
        },
    };
    let (driver, labeller) = (&trace.manifest.driver, &trace.manifest.labeller);
    let spec: Spec = labeller.id.parse()?;
    let policies = scenario.map(AnyScenario::policies).unwrap_or_default();
    let known = policies.iter().find(|policy| policy.is(&spec));
    let name = known.map_or(spec.name.as_str(), |policy| policy.name);
    if name != "decima" && name != SCORER.name {
        bail!(
            "--gradients: the teacher of this trace is `{}`; there are gradients of decima and of scorer:FILE only",
            labeller.id
        );
    }
    if driver != labeller {
        bail!("--gradients: {} was driven by `{}`, not by its teacher", trace.dir.display(), driver.id);
    }
    let built_in = known.and_then(|policy| policy.built_in);
    let tensors = match (&spec.file, built_in) {
        (Some(file), _) => Tensors::load(file)?,
        (None, Some(checkpoint)) => Tensors::from_bytes(checkpoint, &labeller.id)?,
        (None, None) => bail!("--gradients: no network comes with this program for `{}`", labeller.id),
    };
    if labeller.files.values().ne([tensors.sha256()]) {
        bail!("--gradients: `{}` is another network than the one that was recorded; record it again", labeller.id);
    }
    let found = match name == SCORER.name {
        true => scorer_gradients(&tensors, trace, decisions, &STOP),
        false => {
            let weights = weights(&tensors, &labeller.id)?;
            teacher_gradients(&weights, &RecordedLessons::<Dag>::open(&trace.dir)?, decisions, &STOP)
        }
    };
    match found {
        Err(TrainError::Interrupted) => Err(Interrupted.into()),
        other => Ok(other?),
    }
}

#[cfg(not(feature = "torch"))]
pub(super) fn gradients(_: &Trace, _: Option<&dyn AnyScenario>, _: usize) -> Result<TeacherGradients> {
    bail!(
        "--gradients: this program was built without libtorch; in the source folder run `scripts/setup-libtorch.sh`, then \
         `cargo build --release --features torch` (docs/training.md)"
    )
}

pub(super) fn print(found: &TeacherGradients, output: &mut Output) -> Result<()> {
    output.text(format!(
        "\nwhat the network itself goes by: integrated gradients of {} of its decisions, beside {}; sums within {:.2} %",
        found.decisions,
        found.baseline,
        100.0 * found.gap
    ))?;
    for q in &found.questions {
        let head = format!("{} ({} decisions)", q.question, q.decisions);
        let mut table = Table::new(&[&head, "of", "mean size, nats", "mean, nats"]);
        for input in &q.inputs {
            table.row([
                input.feature.clone(),
                input.of.clone(),
                format!("{:.3}", input.size),
                format!("{:+.3}", input.mean),
            ]);
        }
        output.text(table)?;
        output.text(format!(
            "log-probability {:.3}, of what it is compared with {:.3}, difference {:+.3}",
            q.log_prob,
            q.baseline,
            q.log_prob - q.baseline
        ))?;
    }
    Ok(())
}
