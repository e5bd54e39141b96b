//! The page decides as the program does: every kind of model, both structures, guards, missing and infinite values, ties.

use crate::{
    page::Page,
    random_student::{Given, View, feature_set, student, values},
    replay::{Question, decide, scheduler},
};
use sched_distill::{
    model::{CompiledGuards, Pick, ScoreCandidates, Student},
    rng::hash,
};
use serde_json::{Value, json};
use std::fs;

const EVALUATOR: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/crates/report/assets/page/evaluate.js"));

/// Asks the page's evaluator what a student makes of recorded questions: by decision the path, by question what the level makes of
/// its candidates. Numbers come as words, since JSON has none that are not finite.
const ASK: &str = r"((student, decisions) => decisions.map((questions) => {
    const rows = new Map(questions.map(({ path, width, bits }) => {
        const all = new Float32Array(new Uint32Array(bits).buffer);
        return [path.join(), Array.from({ length: width ? all.length / width : 0 }, (_, i) => all.slice(i * width, (i + 1) * width))];
    }));
    const rows_at = (path) => {
        if (!rows.has(path.join())) throw Error(`nobody asked for ${path}`);
        return rows.get(path.join());
    };
    const asked = questions.map(({ path }) => {
        const level = evaluator.level_of(student, student.feature_set.levels[path.length].name);
        const { scores, left, taken, probabilities } = evaluator.choose(level, rows_at(path));
        return { scores: scores.map(String), left: left.map(String), taken, sum: String(probabilities.reduce((a, b) => a + b, 0)) };
    });
    return { path: evaluator.decide(student, rows_at), asked };
}))";

/// The same number within 1e-9, and of its size where it is large.
fn close(found: &Value, expected: f64) -> bool {
    let found: f64 = found.as_str().and_then(|text| text.parse().ok()).expect("a number in words");
    found == expected
        || found.is_nan() && expected.is_nan()
        || (found - expected).abs() <= 1e-9 * expected.abs().max(1.0)
}

/// What a level makes of a question in Rust: scores, those that guards leave, and the candidate taken.
fn chosen(student: &Student, question: &Question) -> (Vec<f64>, Vec<f64>, usize) {
    let spec = &student.feature_set.levels[question.path.len()];
    let level = student.level(&spec.name).expect("a level of the student");
    let (named, width) = (level.scheduler(), spec.features.len());
    let mut scores = vec![0.0; question.candidates];
    let mut left = scores.clone();
    if question.candidates > 1 {
        named.model.score_choice(&question.rows, width, &mut scores);
        left.clone_from(&scores);
        let guards = CompiledGuards::new(&student.guards, spec);
        (0..guards.len()).for_each(|guard| guards.apply(guard, &question.rows, width, &mut left));
    }
    let taken = level.pick.of(&left, named.temperature);
    (scores, left, taken)
}

/// How many choices there were, of which sorts.
#[derive(Debug, Default)]
struct Seen {
    choices: usize,
    ruled_out: usize,
    not_numbers: usize,
    ties: usize,
    medians: usize,
}

/// Compares some decisions of a student.
fn compare(page: &Page, student: &Student, seeds: std::ops::Range<u64>, seen: &mut Seen) {
    let (mut policy, values) = (scheduler::<Given>(student, None), values(student));
    let recorded: Vec<_> =
        seeds.map(|seed| decide::<Given>(&mut policy, &View { seed: hash(&[7, seed]), values: &values }).1).collect();
    let question = |q: &Question| {
        let bits: Vec<u32> = q.rows.iter().map(|v| v.to_bits()).collect();
        json!({"path": q.path, "width": q.rows.len() / q.candidates.max(1), "bits": bits})
    };
    // Where nothing could be chosen, no level was asked.
    let of_level = |q: &&Question| q.path.len() < student.levels.len();
    let asked: Vec<Vec<Value>> =
        recorded.iter().map(|r| r.questions.iter().filter(of_level).map(question).collect()).collect();
    let found = page.eval(&format!("{ASK}({}, {})", student.to_json(), json!(asked)));
    for (i, recorded) in recorded.iter().enumerate() {
        assert_eq!(found[i]["path"], json!(recorded.path), "decision {i}");
        for (j, question) in recorded.questions.iter().filter(of_level).enumerate().filter(|(_, q)| q.candidates > 0) {
            let (scores, left, taken) = chosen(student, question);
            let found = &found[i]["asked"][j];
            let same = |name: &str, expected: &[f64]| {
                let list = found[name].as_array().expect("a list");
                list.len() == expected.len() && list.iter().zip(expected).all(|(a, &b)| close(a, b))
            };
            assert!(same("scores", &scores), "decision {i}, question {j}: {} and not {scores:?}", found["scores"]);
            assert!(same("left", &left), "decision {i}, question {j}: {} and not {left:?}", found["left"]);
            assert_eq!(found["taken"], json!(taken), "decision {i}, question {j}: {scores:?}");
            if left.iter().all(|s| s.is_finite()) {
                assert!(close(&found["sum"], 1.0), "decision {i}, question {j}: {}", found["sum"]);
            }
            if question.candidates > 1 {
                seen.choices += 1;
                seen.ruled_out += usize::from(scores.iter().zip(&left).any(|(a, b)| a.is_finite() && b.is_infinite()));
                seen.not_numbers += usize::from(scores.iter().any(|s| !s.is_finite()));
                seen.ties += usize::from(left.iter().filter(|s| **s == left[taken]).count() > 1);
                let level = student.level(&feature_set().levels[question.path.len()].name).expect("a level");
                seen.medians += usize::from(level.pick == Pick::Median);
            }
        }
    }
}

#[test]
#[cfg_attr(not(browser), ignore = "no Chromium was found; CHROMIUM may name one")]
fn it_decides_as_random_students_do() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("page.html");
    fs::write(&path, format!("<!doctype html><meta charset=utf-8><script>{EVALUATOR}</script>")).expect("a page");
    let page = Page::open(&format!("file://{}", path.display()));
    let mut seen = Seen::default();
    for seed in 0..72 {
        compare(&page, &student(500 + seed), 0..80, &mut seen);
    }
    let Seen { choices, ruled_out, not_numbers, ties, medians } = seen;
    assert!(choices >= 10_000, "{choices}");
    for (many, what) in
        [(ruled_out, "guards"), (not_numbers, "scores that are no numbers"), (ties, "ties"), (medians, "medians")]
    {
        assert!(many >= 500, "{what}: {many} of {choices}");
    }
}
