//! Traces on disk: what is written is read back, interrupted recordings go on, unsound traces are described.

use std::{collections::BTreeMap, error::Error, fs, ops::Range, path::Path};

use proptest::prelude::*;
use sched_distill::{
    level::{Control, FeatureSet, FeatureSpec, LevelSpec, Scope},
    rng::{Split, Stream},
    trace::{
        ChoiceHeader, EpisodeRow, ItemRow, LevelTable, Manifest, RecordPlan, Shard, Source, TimelineRow, Trace,
        TraceError, TraceWriter, inspect, seal,
    },
};

use crate::common::files;

mod foreign;
#[cfg(feature = "cli")]
mod outline;

type Outcome = Result<(), Box<dyn Error>>;

fn feature(name: &str) -> FeatureSpec {
    FeatureSpec {
        name: name.into(),
        unit: "ms".into(),
        meaning: format!("The {name}."),
        scope: Scope::Absolute,
        version: 1,
        whole: false,
        control: Control::Declared,
    }
}

fn feature_set() -> FeatureSet {
    let level = |name: &str, entities: &[&str], features: &[&str]| LevelSpec {
        name: name.into(),
        question: format!("Which {name}?"),
        candidates: String::new(),
        entities: entities.iter().map(|&e| e.into()).collect(),
        features: features.iter().map(|&f| feature(f)).collect(),
    };
    FeatureSet {
        scenario: "dag".into(),
        levels: vec![level("job", &["job"], &["work", "age", "tasks"]), level("stage", &["job", "stage"], &["work"])],
    }
}

fn plan(episodes: u32, parts: u32) -> RecordPlan {
    let source = |id: &str| Source { id: id.into(), files: BTreeMap::from([(format!("{id}.pt"), "00ff".into())]) };
    RecordPlan {
        manifest: Manifest {
            seed: 3,
            split: Split::Train,
            episodes,
            kinds: vec!["affinity".into(), "free".into()],
            ..Manifest::new(feature_set(), source("decima"), source("decima"), source("tpch"))
        },
        parts,
        open_ended: false,
    }
}

/// Adds a choice of `n` random candidates.
fn add_choice(table: &mut LevelTable, random: &mut Stream, mut header: ChoiceHeader, n: usize, labelled: bool) {
    header.first_row = table.rows();
    header.kind = random.below(2) as u8;
    table.choices.push(header);
    let raw: Vec<f64> = (0..n).map(|_| 0.01 + random.uniform()).collect();
    let chosen = random.below(n);
    for (i, p) in raw.iter().enumerate() {
        let p = (p / raw.iter().sum::<f64>()).ln() as f32;
        table.log_prob.push(if labelled { p } else { f32::NAN });
        table.chosen.push(i == chosen);
    }
    table.entity.extend((0..n * table.spec.entities.len()).map(|_| random.below(1000) as u32));
    table.x.extend((0..n * table.width()).map(|_| random.normal() as f32));
}

/// What a recorder hands over for some episodes.
#[derive(Clone, Default)]
struct Part {
    tables: Vec<LevelTable>,
    episodes: Vec<EpisodeRow>,
    items: Vec<ItemRow>,
    timeline: Vec<TimelineRow>,
}

/// Episodes with a job choice per step and a stage choice per candidate job.
fn part(seed: u64, episodes: Range<u32>, labelled: bool) -> Part {
    let kinds = plan(0, 1).manifest.kinds;
    let mut part = Part {
        tables: feature_set().levels.into_iter().map(|spec| LevelTable::new(spec, kinds.clone())).collect(),
        ..Part::default()
    };
    for episode in episodes {
        let random = &mut Stream::new(seed + u64::from(episode), "part");
        let (steps, mut stages) = (random.below(5) as u32, 0);
        for step in 0..steps {
            let n = 1 + random.below(6);
            let header = ChoiceHeader {
                id: (u64::from(episode) << 32) + u64::from(step),
                episode,
                step,
                time_ms: f64::from(step) * 17.5,
                kind: 0,
                parent: None,
                weight: 1.0,
                first_row: 0,
            };
            add_choice(&mut part.tables[0], random, header, n, labelled);
            for parent in 0..n as u32 {
                let header = ChoiceHeader {
                    id: (u64::from(episode) << 32) + stages,
                    parent: Some(parent),
                    weight: 0.25,
                    ..header
                };
                stages += 1;
                let n = 1 + random.below(3);
                add_choice(&mut part.tables[1], random, header, n, labelled);
                if parent > 0 {
                    let rows = part.tables[1].rows();
                    part.tables[1].chosen[rows - n..].fill(false);
                }
            }
        }
        part.episodes.push(EpisodeRow {
            episode,
            seed: random.bits(),
            split: "train".into(),
            policy: "decima".into(),
            outcome: if steps > 0 { "completed" } else { "stalled" }.into(),
            decisions: steps,
            events: 1 << 40,
            figures: vec![(steps > 0).then(|| random.uniform()), Some(random.uniform()), Some(0.5), Some(2.5)],
        });
        part.items.push(ItemRow { episode, item: 0, arrival_ms: 0.0, completion_ms: (steps > 0).then_some(9.0) });
        part.timeline.push(TimelineRow { episode, lane: 1, item: 0, part: 2, start_ms: 0.5, end_ms: 4.5 });
    }
    part
}

/// The parts of a recording of six episodes.
fn parts() -> Vec<Part> {
    vec![part(1, 0..2, true), part(1, 2..5, true), part(1, 5..6, true)]
}

/// The choices of a table in tables of at least so many rows each (but for the last).
fn groups(table: &LevelTable, rows: usize) -> Vec<LevelTable> {
    let mut groups = vec![LevelTable::new(table.spec.clone(), table.kinds.clone())];
    for choice in table.iter() {
        if groups.last().is_some_and(|group| group.rows() >= rows) {
            groups.push(LevelTable::new(table.spec.clone(), table.kinds.clone()));
        }
        let group = groups.last_mut().unwrap();
        group.choices.push(ChoiceHeader { first_row: group.rows(), ..*choice.header });
        group.entity.extend_from_slice(choice.entity);
        group.log_prob.extend_from_slice(choice.log_prob);
        group.chosen.extend_from_slice(choice.chosen);
        group.x.extend_from_slice(choice.x);
    }
    groups
}

/// Writes a part with whole tables as row groups.
fn write_part(writer: &TraceWriter, index: u32, part: &Part) -> Result<(), TraceError> {
    let tables = part.tables.iter().enumerate().map(|(level, table)| (level, table.clone()));
    write_groups(writer, index, part, tables)
}

/// Writes a part with these tables, by number of the level, as row groups.
fn write_groups(
    writer: &TraceWriter,
    index: u32,
    part: &Part,
    groups: impl Iterator<Item = (usize, LevelTable)>,
) -> Result<(), TraceError> {
    let mut file = writer.part(index)?;
    for (level, group) in groups {
        file.write_level(level, &group)?;
    }
    for row in &part.episodes {
        let items = part.items.iter().filter(|item| item.episode == row.episode).cloned();
        let timeline = part.timeline.iter().filter(|bar| bar.episode == row.episode).cloned();
        file.add_episode(row.clone(), items, timeline);
    }
    file.finish()
}

fn record(dir: &Path, plan: RecordPlan, parts: &[Part]) -> Result<Manifest, TraceError> {
    let writer = TraceWriter::create(dir, plan, false)?;
    for index in writer.missing_parts(Shard::WHOLE) {
        write_part(&writer, index, &parts[index as usize])?;
    }
    writer.finish()
}

/// A table as text in which NaN equals NaN.
fn text(table: &LevelTable) -> String {
    format!("{table:?}")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn what_is_written_is_read_back(
        seed: u32,
        cuts in proptest::collection::vec(0u32..4, 1..4),
        labelled: bool,
        rows in 1usize..20,
    ) {
        let dir = tempfile::tempdir()?;
        let (mut parts, mut next) = (Vec::new(), 0);
        for cut in cuts {
            parts.push(part(u64::from(seed), next..next + cut, labelled));
            next += cut;
        }
        let writer = TraceWriter::create(dir.path(), plan(next, parts.len() as u32), false)?;
        for (index, part) in (0..).zip(&parts) {
            let tables = part.tables.iter().enumerate();
            let row_groups = tables.flat_map(|(level, table)| groups(table, rows).into_iter().map(move |g| (level, g)));
            write_groups(&writer, index, part, row_groups)?;
        }
        let manifest = writer.finish()?;
        let trace = Trace::open(dir.path())?;
        prop_assert_eq!(&trace.hash, &manifest.hash());
        prop_assert_eq!(&trace.manifest, &manifest);
        let whole = part(u64::from(seed), 0..next, labelled);
        for table in &whole.tables {
            prop_assert_eq!(text(&trace.level(&table.spec.name)?), text(table));
        }
        prop_assert_eq!(trace.episodes()?, whole.episodes);
        prop_assert_eq!(trace.items()?, whole.items);
        prop_assert_eq!(trace.timeline()?, whole.timeline);
        let inspection = inspect(dir.path());
        prop_assert_eq!(inspection.problems, vec![]);
        for (summary, table) in inspection.levels.iter().zip(&whole.tables) {
            let mut sizes: Vec<usize> = table.iter().map(|c| c.len()).collect();
            sizes.sort_unstable();
            prop_assert_eq!((summary.rows, summary.choices), (table.rows(), table.choices.len()));
            prop_assert_eq!(summary.median_candidates, if sizes.is_empty() { 0 } else { sizes[(sizes.len() - 1) / 2] });
            prop_assert_eq!(summary.max_candidates, sizes.last().copied().unwrap_or(0));
            prop_assert_eq!(summary.kinds.iter().map(|k| k.1).sum::<usize>(), sizes.len());
            let forced = sizes.iter().filter(|&&n| n == 1).count();
            prop_assert!((summary.forced_share * sizes.len() as f64 - forced as f64).abs() < 1e-9);
        }
    }
}

#[test]
fn bytes_do_not_depend_on_order_or_threads() -> Outcome {
    let (one, other) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let parts = parts();
    record(one.path(), plan(6, 3), &parts)?;
    let writer = TraceWriter::create(other.path(), plan(6, 3), false)?;
    let write = |index: usize| write_part(&writer, index as u32, &parts[index]);
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..3).rev().map(|index| scope.spawn(move || write(index))).collect();
        running.into_iter().try_for_each(|thread| thread.join().unwrap())
    })?;
    writer.finish()?;
    assert_eq!(files(one.path()), files(other.path()));
    Ok(())
}

#[test]
fn a_killed_recording_goes_on_at_the_missing_parts() -> Outcome {
    let (whole, killed) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let (dir, parts) = (killed.path(), parts());
    record(whole.path(), plan(6, 3), &parts)?;
    let writer = TraceWriter::create(dir, plan(6, 3), false)?;
    write_part(&writer, 0, &parts[0])?;
    write_part(&writer, 2, &parts[2])?;
    assert_eq!(writer.missing_parts(Shard::WHOLE), [1]);
    // Killed amid part 1: a complete table, a temporary one, no marker.
    let temporary = "stage/part-00001.parquet.0123456789abcdef-2.tmp";
    fs::write(dir.join("job/part-00001.parquet"), b"of another run")?;
    fs::write(dir.join(temporary), b"PAR1 half")?;
    let incomplete = "incomplete: 2 of 3 parts; run the same `distill record` command again to complete it";
    assert!(writer.finish().unwrap_err().to_string().contains(incomplete));
    assert!(Trace::open(dir).unwrap_err().to_string().contains(incomplete));
    assert!(inspect(dir).problems[0].message.contains(incomplete));
    assert!(seal(dir).unwrap_err().to_string().contains(incomplete));

    // The disk lost the tail of a file whose marker is there.
    let lost = dir.join("items/part-00002.parquet");
    fs::write(&lost, &fs::read(&lost)?[..40])?;
    let writer = TraceWriter::create(dir, plan(6, 3), false)?;
    assert_eq!(writer.missing_parts(Shard::WHOLE), [1, 2]);
    drop(writer);
    record(dir, plan(6, 3), &parts)?;
    let mut expected = Trace::open(whole.path())?;
    expected.dir = dir.into();
    assert_eq!(Trace::open(dir)?, expected);
    assert_eq!(files(dir), files(whole.path()), "temporary files are gone");

    // Killed before the manifest: nothing is missing, only the end.
    fs::remove_file(dir.join("manifest.json"))?;
    let writer = TraceWriter::create(dir, plan(6, 3), false)?;
    assert_eq!(writer.missing_parts(Shard::WHOLE), [0u32; 0]);
    writer.finish()?;
    assert_eq!(files(dir), files(whole.path()));
    Ok(())
}

#[test]
fn a_complete_trace_is_not_rewritten() -> Outcome {
    let dir = tempfile::tempdir()?;
    let manifest = record(dir.path(), plan(6, 3), &parts())?;
    let times = || -> Result<Vec<_>, std::io::Error> {
        let names = files(dir.path()).into_keys();
        names.map(|name| fs::metadata(dir.path().join(name))?.modified()).collect()
    };
    let before = times()?;
    let writer = TraceWriter::create(dir.path(), plan(6, 3), false)?;
    assert_eq!(writer.missing_parts(Shard::WHOLE), [0u32; 0]);
    write_part(&writer, 0, &part(99, 0..2, true))?;
    assert_eq!(writer.finish()?, manifest);
    assert_eq!(times()?, before);
    Ok(())
}

#[test]
fn another_plan_is_refused_by_its_first_difference() -> Outcome {
    let dir = tempfile::tempdir()?;
    record(dir.path(), plan(6, 3), &parts())?;
    let before = files(dir.path());
    let mut seed = plan(6, 3);
    seed.manifest.seed = 4;
    let mut feature = plan(6, 3);
    feature.manifest.feature_set.levels[1].features[0].version = 2;
    feature.manifest.feature_set_hash = feature.manifest.feature_set.hash();
    for (other, difference) in [
        (seed, "`manifest.seed` is 3 there and 4 now; remove it"),
        (feature, "`manifest.feature_set.levels[1].features[0].version` is 1 there and 2 now"),
        (plan(6, 2), "`parts` is 3 there and 2 now"),
    ] {
        let error = TraceWriter::create(dir.path(), other, false).unwrap_err();
        assert!(matches!(error, TraceError::PlanDiffers { .. }), "{error}");
        assert!(error.to_string().contains(difference), "{error}");
    }
    assert_eq!(files(dir.path()), before);
    Ok(())
}

#[test]
fn force_removes_the_old_trace_and_nothing_else() -> Outcome {
    let (dir, fresh) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let mut old = plan(6, 3);
    old.manifest.feature_set.levels[1].name = "phase".into();
    old.manifest.feature_set_hash = old.manifest.feature_set.hash();
    let mut old_parts = parts();
    for part in &mut old_parts {
        part.tables[1].spec.name = "phase".into();
    }
    record(dir.path(), old, &old_parts)?;
    for (name, bytes) in [("notes.txt", "mine"), ("job/readme", "mine"), ("parts.json", "mine")] {
        fs::write(dir.path().join(name), bytes)?;
    }
    fs::write(dir.path().join("job/part-00007.parquet.0123456789abcdef-2.tmp"), "half")?;
    let writer = TraceWriter::create(dir.path(), plan(6, 3), true)?;
    assert_eq!(writer.missing_parts(Shard::WHOLE), [0, 1, 2]);
    drop(writer);
    record(dir.path(), plan(6, 3), &parts())?;
    record(fresh.path(), plan(6, 3), &parts())?;
    let mut left = files(dir.path());
    for name in ["notes.txt", "job/readme", "parts.json"] {
        assert_eq!(left.remove(name).as_deref(), Some(&b"mine"[..]), "{name}");
    }
    assert_eq!(left, files(fresh.path()));
    assert!(!dir.path().join("phase").exists());
    Ok(())
}

#[test]
fn a_directory_with_something_else_is_refused_even_with_force() -> Outcome {
    let dir = tempfile::tempdir()?;
    fs::write(dir.path().join("plan.json"), r#"{"terraform": true}"#)?;
    for force in [false, true] {
        let error = TraceWriter::create(dir.path(), plan(6, 3), force).unwrap_err();
        assert!(matches!(error, TraceError::NotATrace { .. }), "{error}");
    }
    assert_eq!(files(dir.path()).len(), 1);

    let file = dir.path().join("file");
    fs::write(&file, "")?;
    let error = TraceWriter::create(&file.join("trace"), plan(6, 3), false).unwrap_err();
    assert!(matches!(error, TraceError::Io { .. }), "{error}");
    assert!(matches!(Trace::open(&dir.path().join("none")).unwrap_err(), TraceError::Io { .. }));
    assert_eq!(inspect(&dir.path().join("none")).problem_count, 1);
    Ok(())
}

#[test]
fn what_could_not_be_read_is_not_written() -> Outcome {
    let dir = tempfile::tempdir()?;
    let writer = TraceWriter::create(dir.path(), plan(6, 3), false)?;
    let sound = part(1, 0..4, true);
    let refused = |change: &dyn Fn(&mut Part), expected: &str| {
        let mut part = sound.clone();
        change(&mut part);
        let error = write_part(&writer, 0, &part).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    refused(&|p| p.tables[0].x[4] = f32::NAN, "job/part-00000.parquet: column `age`, row 1: is NaN");
    refused(&|p| p.tables[1].choices[0].weight = 0.0, "column `weight`, row 0: is 0, expected a positive");
    let jobs = &sound.tables[0].choices;
    let at = (1..jobs.len()).find(|&i| jobs[i].episode == jobs[i - 1].episode).expect("an episode of two steps");
    let (row, id) = (jobs[at].first_row, jobs[at - 1].id);
    refused(
        &|p| p.tables[0].choices[at].id = id,
        &format!("job/part-00000.parquet: column `choice`, row {row}: is {id} after {id}, expected increasing"),
    );
    refused(&|p| p.tables[0].x.truncate(5), "`x` has 5 values");
    refused(&|p| p.tables[0].choices[0].first_row = 1, "`first_row`");
    refused(
        &|p| p.tables[0].choices[0].kind = 9,
        "choice 0 has kind number 9, expected the place of one of affinity, free",
    );
    refused(
        &|p| p.tables.swap(0, 1),
        "job/part-00000.parquet: is level `stage`, which differs from level `job` of the plan",
    );
    refused(&|p| p.episodes.swap(0, 1), "column `episode`, row 1: is 0 after 1");
    refused(
        &|p| p.episodes[2].figures[1] = Some(f64::INFINITY),
        "column `makespan_ms`, row 2: is NaN or infinite, expected a finite number",
    );
    refused(&|p| p.episodes[0].outcome = "won".into(), "column `outcome`, row 0: is `won`");
    assert!(matches!(write_part(&writer, 3, &sound).unwrap_err(), TraceError::UnknownPart { .. }));
    refused(&|p| p.tables.push(p.tables[0].clone()), "has 2 levels, part 0 has level number 2");
    assert_eq!(writer.missing_parts(Shard::WHOLE), [0, 1, 2]);
    assert_eq!(files(dir.path()).into_keys().collect::<Vec<_>>(), ["plan.json"], "what is refused leaves nothing");
    // Six episodes were planned.
    for index in 0..3 {
        write_part(&writer, index, &part(1, index..index + 1, true))?;
    }
    let error = writer.finish().unwrap_err().to_string();
    assert!(error.contains("`episodes` is 6 but table `episodes` has 3 rows"), "{error}");
    Ok(())
}

#[test]
fn rules_hold_from_row_group_to_row_group() -> Outcome {
    let dir = tempfile::tempdir()?;
    let writer = TraceWriter::create(dir.path(), plan(6, 3), false)?;
    let sound = part(1, 0..4, true);
    let refused = |change: &dyn Fn(&mut Vec<LevelTable>), expected: &str| {
        let mut row_groups = groups(&sound.tables[0], 8);
        assert!(row_groups.len() > 2);
        change(&mut row_groups);
        let written = write_groups(&writer, 0, &sound, row_groups.into_iter().map(|group| (0, group)));
        let error = written.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}\n{expected}");
    };
    let starts: Vec<usize> = groups(&sound.tables[0], 8)
        .iter()
        .scan(0, |start, group| Some(std::mem::replace(start, *start + group.rows())))
        .collect();
    refused(&|g| g.swap(0, 1), &format!("column `choice`, row {}: is 0 after", groups(&sound.tables[0], 8)[1].rows()));
    let first = groups(&sound.tables[0], 8)[0].choices.last().map(|c| c.id).unwrap_or_default();
    refused(&|g| g[1].choices[0].id = first, &format!("column `choice`, row {}: is {first}", starts[1]));
    refused(&|g| g[2].x[4] = f32::INFINITY, &format!("column `age`, row {}: is inf", starts[2] + 1));
    refused(&|g| g[2].log_prob[0] = 1.0, &format!("column `log_prob`, row {}: ", starts[2]));
    Ok(())
}

#[test]
fn parents_allow_choices_that_were_not_executed() -> Outcome {
    let dir = tempfile::tempdir()?;
    record(dir.path(), plan(6, 3), &parts())?;
    let stage = Trace::open(dir.path())?.level("stage")?;
    let executed = |c: &sched_distill::trace::Choice<'_>| c.chosen.iter().any(|&chosen| chosen);
    assert!(stage.iter().any(|c| !executed(&c)) && stage.iter().any(|c| executed(&c)));
    Ok(())
}
