//! Fits of a student's rules on other draws of the training episodes, as `distill explain --train` shows them.

use super::{output::Output, table::Table};
use crate::explainer::{Extent, LevelStability};
use anyhow::Result;

pub(super) fn print(levels: &[LevelStability], output: &mut Output) -> Result<()> {
    let Some(first) = levels.first() else { return Ok(()) };
    output.text(format!(
        "\nfitted again {} times, each on {} training episodes drawn with replacement",
        first.sizes.len(),
        first.episodes
    ))?;
    let mut table = Table::new(&["level, kind", "choices", "takes the student's", "two fits agree", "size"]);
    let shown = |e: &Extent| format!("{:.3} [{:.3}, {:.3}]", e.mean, e.least, e.largest);
    for level in levels {
        let least = level.sizes.iter().min().copied().unwrap_or_default();
        let most = level.sizes.iter().max().copied().unwrap_or_default();
        for kind in &level.agreement {
            table.row([
                format!("{}, {}", level.level, kind.kind),
                kind.choices.to_string(),
                shown(&kind.student),
                shown(&kind.pairs),
                format!("{least} to {most}, student's {}", level.size),
            ]);
        }
    }
    output.text(table)?;
    output.text("means over the fits, in brackets the least and the largest")
}
