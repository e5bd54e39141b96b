//! What is to be known of choices before their rows are read.

use sched_distill::trace::{Outline, Trace, TraceError};

use super::Outcome;

#[test]
fn outlines_are_what_the_choices_are_like() -> Outcome {
    let dir = tempfile::tempdir()?;
    crate::program::record(dir.path(), "trace", "9", "train");
    let trace = Trace::open(&dir.path().join("trace"))?;
    for level in &trace.manifest.feature_set.levels {
        let table = trace.level(&level.name)?;
        let expected: Vec<Outline> = table
            .iter()
            .map(|c| Outline {
                episode: c.header.episode,
                kind: c.header.kind,
                weight: c.header.weight,
                candidates: c.len() as u32,
            })
            .collect();
        assert!(expected.len() > 100);
        assert_eq!(trace.outlines(&level.name)?, expected);
        assert_eq!(trace.rows_of(&level.name), table.rows());
    }
    assert!(matches!(trace.outlines("no level"), Err(TraceError::UnknownLevel { .. })));
    Ok(())
}
