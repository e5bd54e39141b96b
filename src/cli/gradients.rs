//! `distill explain --gradients`: what a neural teacher itself goes by.

use super::{output::Output, table::Table};
use crate::{explainer::TeacherGradients, trace::Trace};
use anyhow::{Result, bail};

/// Integrated gradients of the decisions of a trace.
#[cfg(feature = "torch")]
pub(super) fn gradients(trace: &Trace, decisions: usize) -> Result<TeacherGradients> {
    use super::{Interrupted, STOP};
    use crate::{
        dag::network::builtin,
        network::Tensors,
        recorder::policy_source,
        spec::Spec,
        trainer::{
            RecordedLessons, TrainError, Weights,
            decima::{layout, teacher_gradients},
        },
    };
    let (driver, labeller) = (&trace.manifest.driver, &trace.manifest.labeller);
    let spec: Spec = labeller.id.parse()?;
    if spec.name != "decima" {
        bail!("--gradients: the teacher of this trace is `{}`; there are gradients of decima only", labeller.id);
    }
    if driver != labeller {
        bail!("--gradients: {} was driven by `{}`, not by its teacher", trace.dir.display(), driver.id);
    }
    if policy_source(&labeller.id, &*crate::dag::policies::open(&spec)?)? != *labeller {
        bail!("--gradients: `{}` is another network than the one that was recorded; record it again", labeller.id);
    }
    let tensors = spec.file.as_ref().map_or_else(builtin, Tensors::load)?;
    let weights = Weights::from_tensors(layout(), &tensors, &labeller.id)?;
    let recorded = RecordedLessons::open(&trace.dir)?;
    match teacher_gradients(&weights, &recorded, decisions, &STOP) {
        Err(TrainError::Interrupted) => Err(Interrupted.into()),
        other => Ok(other?),
    }
}

#[cfg(not(feature = "torch"))]
pub(super) fn gradients(_: &Trace, _: usize) -> Result<TeacherGradients> {
    bail!(
        "--gradients: this program was built without libtorch; in the source folder run `scripts/setup-libtorch.sh`, then \
         `cargo build --release --features torch` (docs/training.md)"
    )
}

pub(super) fn print(found: &TeacherGradients, output: &mut Output) -> Result<()> {
    output.text(format!(
        "\nwhat the network itself goes by: integrated gradients of {} of its decisions, sums within {:.2} %",
        found.decisions,
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
            "log-probability {:.3}, of an empty observation {:.3}, difference {:+.3}",
            q.log_prob,
            q.baseline,
            q.log_prob - q.baseline
        ))?;
    }
    Ok(())
}
