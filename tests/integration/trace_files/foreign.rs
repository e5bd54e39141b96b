//! Traces that another program wrote: sealed if they are sound, described if they are not.

use std::{fs, path::Path};

use polars::prelude::{Column, DataFrame, NamedFrom, Series};
use polars_io::parquet::write::ParquetWriter;
use sched_distill::{
    rng::Stream,
    trace::{Trace, TraceError, TraceWriter, inspect, seal},
};

use super::{Outcome, feature_set, plan};

fn column<T: AsRef<S>, S: ?Sized>(name: &str, values: T) -> Column
where
    Series: NamedFrom<T, S>,
{
    Series::new(name.into(), values).into()
}

/// Columns as a Python program would write them: two job choices of 2 and 1 candidates.
fn foreign_columns() -> Vec<Column> {
    vec![
        column("choice", [0u64, 0, 1]),
        column("episode", [0u32, 0, 0]),
        column("step", [0u32, 0, 1]),
        column("time_ms", [0.0f64, 0.0, 5.0]),
        column("kind", ["free", "free", "affinity"]),
        column("candidate", [0u32, 1, 0]),
        column("parent", [None::<u32>; 3]),
        column("log_prob", [Some(0.25f32.ln()), Some(0.75f32.ln()), None]),
        column("chosen", [false, true, true]),
        column("weight", [1.0f32; 3]),
        column("job", [4u32, 5, 5]),
        column("age", [1.0f32, 2.0, 3.0]),
        column("work", [1.5f32, 2.5, 3.5]),
    ]
}

fn write_foreign(dir: &Path, columns: Vec<Column>) -> Outcome {
    let mut level = feature_set().levels.remove(0);
    level.features.truncate(2);
    let manifest = serde_json::json!({
        "format_version": 1,
        "scenario": "dag",
        "driver": {"id": "their scheduler"},
        "labeller": {"id": "their scheduler"},
        "workload": {"id": "their jobs"},
        "seed": 0,
        "split": "train",
        "episodes": 1,
        "kinds": ["affinity", "free"],
        "abstains": false,
        "feature_set": {"scenario": "dag", "levels": [level]},
    });
    fs::create_dir_all(dir)?;
    fs::write(dir.join("manifest.json"), manifest.to_string())?;
    let mut frame = DataFrame::new_infer_height(columns)?;
    ParquetWriter::new(fs::File::create(dir.join("job.parquet"))?).finish(&mut frame)?;
    Ok(())
}

#[test]
fn a_foreign_trace_is_sealed_and_read() -> Outcome {
    let dir = tempfile::tempdir()?;
    write_foreign(dir.path(), foreign_columns())?;
    let error = Trace::open(dir.path()).unwrap_err().to_string();
    assert!(error.contains("distill inspect --seal"), "{error}");
    let problems = inspect(dir.path()).problems;
    assert!(problems.len() == 1 && problems[0].message.contains("distill inspect --seal"), "{problems:?}");
    let manifest = seal(dir.path())?;
    let trace = Trace::open(dir.path())?;
    assert_eq!((&trace.manifest, &trace.hash), (&manifest, &manifest.hash()));
    assert_eq!((manifest.tables.len(), manifest.tables[0].rows), (1, 3));
    let table = trace.level("job")?;
    assert_eq!(table.x, [1.5, 1.0, 2.5, 2.0, 3.5, 3.0]);
    assert_eq!(table.iter().map(|c| c.target()).collect::<Vec<_>>(), [1, 0]);
    assert_eq!(trace.episodes()?, []);
    assert_eq!(inspect(dir.path()).problem_count, 0);
    assert_eq!(seal(dir.path())?, manifest);
    assert!(matches!(trace.level("stage").unwrap_err(), TraceError::UnknownLevel { .. }));
    let error = TraceWriter::create(dir.path(), plan(6, 3), false).unwrap_err();
    assert!(matches!(error, TraceError::PlanDiffers { .. }), "{error}");
    TraceWriter::create(dir.path(), plan(6, 3), true)?;
    assert!(!dir.path().join("job.parquet").exists());
    Ok(())
}

#[test]
fn an_unsound_table_is_described_by_column_and_row() -> Outcome {
    let dir = tempfile::tempdir()?;
    let list = || Series::new("".into(), ["free"]);
    let cases: Vec<(Column, &str)> = vec![
        (column("age", [1.0f64, 2.0, 3.0]), "column `age`: has type f64, expected f32"),
        (column("kind", [1u32, 1, 1]), "column `kind`: has type u32, expected str"),
        (Series::new("kind".into(), [list(), list(), list()]).into(), "column `kind`: has type LargeList"),
        (column("age", [1.0f32, f32::NAN, 3.0]), "column `age`, row 1: is NaN, expected a finite number"),
        (column("work", [1.0f32, 1.0, f32::INFINITY]), "column `work`, row 2: is inf, expected a finite number"),
        (column("age", [Some(1.0f32), None, None]), "column `age`, row 1: is null, expected a value"),
        (column("Age", [1.0f32; 3]), "column `Age`: is not in the format"),
        (column("candidate", [0u32, 0, 0]), "column `candidate`, row 1: is 0, expected 1"),
        (column("candidate", [1u32, 2, 0]), "column `candidate`, row 0: is 1, expected 0"),
        (column("choice", [1u64, 1, 0]), "column `choice`, row 2: is 0 after 1"),
        (column("choice", [0u64, 0, 1 << 32]), "column `choice`, row 2: is 4294967296, expected 0·2³²"),
        (column("step", [1u32, 1, 0]), "column `step`, row 2: is 0 after 1"),
        (column("step", [0u32, 1, 1]), "column `step`, row 1: differs from row 0"),
        (column("time_ms", [0.0f64, 0.0, f64::NAN]), "column `time_ms`, row 2: is NaN"),
        (column("kind", ["free", "free", "Free"]), "column `kind`, row 2: is `Free`, expected one of affinity, free"),
        (column("parent", [None, None, Some(0u32)]), "column `parent`, row 2: is set, expected null"),
        (
            column("log_prob", [-1.0f32, -1.0, 0.0]),
            "column `log_prob`, row 0: gives probabilities that add up to 0.7358",
        ),
        (column("log_prob", [Some(0.0f32), None, None]), "column `log_prob`, row 0: is set, but null"),
        (column("log_prob", [f32::NAN, 0.0, 0.0]), "column `log_prob`, row 0: is NaN, expected a number or null"),
        (column("chosen", [true, true, true]), "column `chosen`, row 0: is true for 2 candidates"),
        (column("chosen", [true, false, false]), "column `chosen`, row 2: is true for 0 candidates"),
        (column("weight", [1.0f32, 1.0, -1.0]), "column `weight`, row 2: is -1, expected a positive"),
    ];
    for (change, expected) in cases {
        let mut columns = foreign_columns();
        match columns.iter_mut().find(|c| c.name() == change.name()) {
            Some(column) => *column = change,
            None => columns.push(change),
        }
        write_foreign(dir.path(), columns)?;
        let expected = format!("job.parquet: {expected}");
        let error = seal(dir.path()).unwrap_err().to_string();
        assert!(error.contains(&expected), "{error}\n{expected}");
        let problems = inspect(dir.path()).problems;
        assert!(problems.iter().any(|p| p.to_string().contains(&expected)), "{problems:?}\n{expected}");
    }
    for missing in foreign_columns() {
        let columns = foreign_columns().into_iter().filter(|c| c.name() != missing.name()).collect();
        write_foreign(dir.path(), columns)?;
        let error = seal(dir.path()).unwrap_err().to_string();
        assert!(error.contains(&format!("column `{}`: is missing", missing.name())), "{error}");
    }
    Ok(())
}

#[test]
fn damaged_files_are_described() -> Outcome {
    let dir = tempfile::tempdir()?;
    write_foreign(dir.path(), foreign_columns())?;
    let (unsealed, table) = (fs::read(dir.path().join("manifest.json"))?, dir.path().join("job.parquet"));
    let whole = fs::read(&table)?;
    for keep in [0, 3, 4, 100, whole.len() / 2, whole.len() - 9, whole.len() - 1] {
        fs::write(&table, &whole[..keep])?;
        let error = seal(dir.path()).unwrap_err().to_string();
        assert!(error.contains("job.parquet: is not a readable Parquet file"), "{keep}: {error}");
        assert!(inspect(dir.path()).problem_count > 0);
    }
    fs::write(&table, &whole)?;
    seal(dir.path())?;
    let trace = Trace::open(dir.path())?;
    let mut random = Stream::new(1, "damage");
    let flipped = (0..40).map(|_| {
        let mut bytes = whole.clone();
        bytes[random.below(whole.len())] ^= 1 << random.below(8);
        bytes
    });
    for bytes in flipped.chain([whole[..50].to_vec(), [&whole[..], b"x"].concat()]) {
        fs::write(&table, bytes)?;
        let error = trace.level("job").unwrap_err().to_string();
        assert!(error.contains("job.parquet: has SHA-256"), "{error}");
        assert!(seal(dir.path()).is_err(), "a hash that is there is not replaced");
    }
    fs::remove_file(&table)?;
    assert!(trace.level("job").unwrap_err().to_string().contains("job.parquet: cannot be read"));

    let text = String::from_utf8(unsealed)?;
    for (from, to, expected) in [
        ("\"format_version\":1", "\"format_version\":2", "trace format version 2 is not supported"),
        ("\"seed\":0", "\"sed\":0", "unknown field `sed`"),
        ("\"seed\":0", "\"seed\":", "expected value"),
    ] {
        fs::write(dir.path().join("manifest.json"), text.replace(from, to))?;
        let problem = inspect(dir.path()).problems.remove(0).to_string();
        assert!(problem.contains("manifest.json") && problem.contains(expected), "{problem}");
        assert!(Trace::open(dir.path()).is_err());
    }
    Ok(())
}

#[test]
fn a_candidate_may_have_probability_zero() -> Outcome {
    let dir = tempfile::tempdir()?;
    let mut columns = foreign_columns();
    columns.retain(|c| c.name() != "log_prob");
    columns.push(column("log_prob", [Some(f32::NEG_INFINITY), Some(0.0), None]));
    write_foreign(dir.path(), columns)?;
    seal(dir.path())?;
    let table = Trace::open(dir.path())?.level("job")?;
    assert_eq!(table.log_prob[..2], [f32::NEG_INFINITY, 0.0]);
    assert!(!table.choice(1).has_probabilities());
    Ok(())
}
