//! A made-up trace: choices whose answer is known up to noise.

use anyhow::Result;
use sched_distill_core::{
    level::{Control, FeatureSet, FeatureSpec, LevelSpec, Scope},
    rng::Stream,
};
use sched_distill_trace::{ChoiceHeader, EpisodeRow, LevelTable, Manifest, RecordPlan, Shard, Source, TraceWriter};
use std::path::Path;

/// Episodes of a part, and choices of an episode.
const EPISODES: u32 = 3;

fn level() -> LevelSpec {
    let feature = |name: &str| FeatureSpec {
        name: name.to_owned(),
        unit: "1".to_owned(),
        meaning: String::new(),
        scope: Scope::Absolute,
        version: 1,
        whole: false,
        control: Control::Declared,
    };
    LevelSpec {
        name: "job".to_owned(),
        question: "Which job?".to_owned(),
        candidates: "jobs".to_owned(),
        entities: vec!["job".to_owned()],
        features: ["flag", "grade", "size"].map(feature).to_vec(),
    }
}

/// The choices of an episode. A feature of two values, one of nine and one of as many as there are rows.
fn episode(number: u32, choices: u32, seed: u64) -> LevelTable {
    let mut s = Stream::new(seed + u64::from(number), "made-up");
    let mut table = LevelTable::new(level(), vec!["free".to_owned(), "affinity".to_owned()]);
    for i in 0..choices {
        let candidates = 1 + s.below(6);
        table.choices.push(ChoiceHeader {
            id: u64::from(number) << 32 | u64::from(i),
            episode: number,
            step: i,
            time_ms: f64::from(i),
            kind: u8::from(i % 3 == 0),
            parent: None,
            weight: 1.0,
            first_row: table.rows(),
        });
        let rows: Vec<[f32; 3]> =
            (0..candidates).map(|_| [s.below(2) as f32, s.below(9) as f32 / 4.0, s.normal() as f32]).collect();
        let score = |r: &[f32; 3]| f64::from(2.0 * r[2].min(0.5) - 0.7 * r[0] + 0.4 * r[1] * r[0]);
        let scores: Vec<f64> = rows.iter().map(|r| score(r) + 0.1 * s.normal()).collect();
        let whole = scores.iter().map(|v| v.exp()).sum::<f64>().ln();
        let best = sched_distill_core::level::first_max(scores.iter().copied());
        for (j, row) in rows.iter().enumerate() {
            table.entity.push(j as u32);
            table.log_prob.push((scores[j] - whole) as f32);
            table.chosen.push(j == best);
            table.x.extend(row);
        }
    }
    table
}

/// Writes a trace of so many parts; of each, the episodes have so many choices.
pub fn write_trace(dir: &Path, parts: u32, choices: u32, seed: u64) -> Result<()> {
    let source = |id: &str| Source { id: id.to_owned(), ..Source::default() };
    let features = FeatureSet { scenario: "dag".to_owned(), levels: vec![level()] };
    let manifest = Manifest {
        seed,
        episodes: parts * EPISODES,
        kinds: vec!["free".to_owned(), "affinity".to_owned()],
        ..Manifest::new(features, source("made-up"), source("made-up"), source("made-up"))
    };
    let figures = manifest.figures.len();
    let writer = TraceWriter::create(dir, RecordPlan { manifest, parts, open_ended: false }, false)?;
    for part in writer.missing_parts(Shard::WHOLE) {
        let mut file = writer.part(part)?;
        for number in part * EPISODES..(part + 1) * EPISODES {
            file.write_level(0, &episode(number, choices, seed))?;
            let row = EpisodeRow {
                episode: number,
                seed: u64::from(number),
                split: "train".to_owned(),
                policy: "made-up".to_owned(),
                outcome: "completed".to_owned(),
                decisions: choices,
                events: u64::from(choices),
                figures: vec![Some(1.0); figures],
            };
            file.add_episode(row, [], []);
        }
        file.finish()?;
    }
    writer.finish()?;
    Ok(())
}
