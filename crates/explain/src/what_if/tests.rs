use super::*;
use sched_distill_core::{
    level::FeatureSet,
    model::{Guard, NamedModel, Provenance, Tree},
    rng::Stream,
};
use sched_distill_dag::feature::feature_set;
use sched_distill_trace::{ChoiceHeader, LevelTable, Sampler};

/// Choices of one to nine candidates of the level `job`, of two kinds; every tenth is of the second.
fn sample(choices: u32) -> Sample {
    let spec = feature_set().levels[0].clone();
    let mut s = Stream::new(1, "what if");
    let mut table = LevelTable::new(spec.clone(), vec!["common".to_owned(), "rare".to_owned()]);
    for i in 0..choices {
        let n = 1 + s.below(9);
        table.choices.push(ChoiceHeader {
            id: u64::from(i),
            episode: i,
            step: 0,
            time_ms: 0.0,
            kind: u8::from(i % 10 == 0),
            parent: None,
            weight: 1.0,
            first_row: table.rows(),
        });
        table.entity.extend((0..n * spec.entities.len()).map(|e| e as u32));
        table.log_prob.extend((0..n).map(|_| -(s.uniform() as f32)));
        table.chosen.extend((0..n).map(|c| c == 0));
        table.x.extend((0..n * spec.features.len()).map(|_| (s.normal() * 4.0) as f32));
    }
    let mut sampler = Sampler::new(LevelTable::new(spec, table.kinds.clone()), 100_000, 7);
    sampler.add(&table);
    sampler.finish()
}

/// A stump on the column of that name.
fn student(feature: &str) -> Student {
    let set: &FeatureSet = feature_set();
    let column = set.levels[0].features.iter().position(|f| f.name == feature).unwrap();
    let model = Model::Tree(Tree::stump(column as u32, 1.0, [0.0, 1.0]));
    let named = NamedModel { name: "tree".to_owned(), temperature: 1.0, model };
    let level = LevelModels::new("job", "tree", vec![named]);
    Student::new(set.clone(), false, vec![level], Provenance::default())
}

fn kept(student: &Student, sample: &Sample, shown: &[u64], seed: u64) -> WhatIfLevel {
    what_if(student, &student.levels[0], sample, &shown.iter().copied().collect(), seed)
}

#[test]
fn kinds_get_the_same_number_and_what_one_lacks_goes_to_the_other() {
    let student = student("age");
    let numbers = |level: &WhatIfLevel, kind: usize| level.choices.iter().filter(|c| c.kind == kind).count();
    for choices in [6_000, 900] {
        let sample = sample(choices);
        let level = kept(&student, &sample, &[], 3);
        let rare = sample.table.choices.iter().filter(|c| c.kind == 1).count().min(DRAWN / 2);
        assert_eq!((numbers(&level, 0), numbers(&level, 1)), (DRAWN - rare, rare), "{choices}");
    }
}

#[test]
fn a_draw_depends_on_the_seed_and_the_numbers_alone() {
    let (all, student) = (sample(900), student("age"));
    let json = |sample: &Sample, seed| serde_json::to_string(&kept(&student, sample, &[], seed)).unwrap();
    assert_eq!(json(&all, 3), json(&all, 3));
    assert_ne!(json(&all, 3), json(&all, 4));
    let drawn = kept(&student, &all, &[], 3);
    let without = Sample {
        table: all.table.filter(|c| c.header.id % 3 > 0 || drawn.choices.iter().any(|d| d.choice == c.header.id)),
        kinds: all.kinds.clone(),
    };
    assert!(without.table.choices.len() < all.table.choices.len());
    assert_eq!(kept(&student, &without, &[], 3), drawn);
}

#[test]
fn what_is_kept_is_what_was_recorded() {
    let (mut sample, mut student) = (sample(60), student("remaining_work_rank"));
    student.guards.push(Guard::parse("job: held_of_cluster > 50% last", &student.feature_set).unwrap());
    let (width, formed) = (sample.table.width(), ChoiceColumns::new(&sample.table.spec).unwrap());
    // Every other choice has the ranks that follow from its quantities.
    let ends: Vec<usize> = sample.table.choices.iter().map(|c| c.first_row).chain([sample.table.rows()]).collect();
    for rows in ends.windows(2).step_by(2) {
        formed.recompute(&mut sample.table.x[rows[0] * width..rows[1] * width]).unwrap();
    }
    let level = kept(&student, &sample, &[sample.table.choices[4].id], 3);
    for name in ["remaining_work", "remaining_work_rank", "held_of_cluster", "is_none"] {
        assert!(level.features.iter().any(|f| f == name), "{name}: {:?}", level.features);
    }
    assert!(!level.features.iter().any(|f| f == "remaining_work_ratio" || f == "age"));
    let follow = level.choices.iter().filter(|c| c.columns.contains(&Column::Follows)).count();
    assert!((level.choices.len() / 2..level.choices.len()).contains(&follow), "{follow}");
    let spec = &sample.table.spec;
    for choice in &level.choices {
        let recorded = sample.table.iter().find(|c| c.header.id == choice.choice).unwrap();
        assert_eq!((choice.candidates, choice.best), (recorded.len(), recorded.target()));
        let rows = level.rows(choice, spec);
        for (i, feature) in spec.features.iter().enumerate() {
            let is_kept = level.features.contains(&feature.name);
            let expected = |row: usize| if is_kept { recorded.row(row)[i] } else { 0.0 };
            assert!((0..recorded.len()).all(|row| rows[row * width + i] == expected(row)), "{}", feature.name);
        }
        let shown = choice.choice == sample.table.choices[4].id;
        assert_eq!(choice.entities.len(), usize::from(shown));
    }
}

#[test]
fn bytes_are_not_exceeded_and_small_choices_are_shown_first() {
    let (sample, student) = (sample(900), student("age"));
    let shown: Vec<u64> = sample.table.choices.iter().map(|c| c.id).collect();
    let all = kept(&student, &sample, &shown, 3);
    let mut levels = [all.clone(), WhatIfLevel { choices: all.choices[..4].to_vec(), ..all.clone() }];
    make_fit(&mut levels, Room { drawn: 6_000, shown: 9_000 }, 3);
    let [level, small] = &levels;
    assert_eq!(small.choices, all.choices[..4], "what needs little gets it");
    let size = |level: &WhatIfLevel, drawn| level.choices.iter().filter(|c| c.drawn == drawn).map(bytes).sum::<usize>();
    for (drawn, room) in [(true, 6_000), (false, 9_000)] {
        let sum = size(level, drawn) + size(small, drawn);
        assert!((room - 500..=room).contains(&sum), "{sum} of {room}");
    }
    let numbers: BTreeSet<u64> = level.choices.iter().map(|c| c.choice).collect();
    let (kept, left_out): (Vec<_>, Vec<_>) =
        all.choices.iter().filter(|c| !c.drawn).partition(|c| numbers.contains(&c.choice));
    assert!(kept.iter().map(|c| bytes(c)).max() <= left_out.iter().map(|c| bytes(c)).min());
    assert_eq!(divided(&[10, 500, 30], 100), [10, 60, 30]);
    assert_eq!(divided(&[10, 500, 300], 110), [10, 50, 50]);
}

#[test]
fn it_survives_the_file() -> Result<(), serde_json::Error> {
    let (sample, student) = (sample(40), student("age"));
    let level = kept(&student, &sample, &[sample.table.choices[0].id], 3);
    let what_if =
        WhatIf { format_version: 1, student: student.hash(), trace: "77".to_owned(), seed: 3, levels: vec![level] };
    assert_eq!(serde_json::from_str::<WhatIf>(&serde_json::to_string(&what_if)?)?, what_if);
    Ok(())
}
