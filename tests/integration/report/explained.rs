//! The explanation of the hand-made run: invented choices, explained for real.

use super::{Outcome, fixture::estimate};
use sched_distill::{
    evaluator::{Role, Scorer},
    explainer::{
        ChoiceExplainer, Decisions, EXPLANATION_FORMAT, Explanation, InputGradient, KindAgreement, LevelExplanation,
        Likeness, QuestionGradients, RegimeLikeness, RuleException, RuleExceptions, TeacherGradients, WhatIf, WhyNot,
        WhyNotChange, explain_level, select, what_if,
    },
    level::{LevelSpec, Scope, Values},
    model::{Action, Condition, Evidence, Guard, Operator, ScoreCandidates, Student},
    rng::Stream,
    trace::{ChoiceHeader, LevelTable, Sample, Sampler},
};
use std::{fs, path::Path};

/// Choices of six episodes among two to seven candidates; the teacher's probabilities are the student's with noise.
fn choices(spec: &LevelSpec, student: &Student) -> Sample {
    let mut stream = Stream::new(5, &spec.name);
    let mut table = LevelTable::new(spec.clone(), vec!["affinity".to_owned(), "free".to_owned()]);
    let model = &student.model(&spec.name, None).expect("a model").model;
    for i in 0..300_u32 {
        let n = 2 + stream.below(6);
        let (episode, step) = (i / 50, i % 50);
        table.choices.push(ChoiceHeader {
            id: (u64::from(episode) << 32) + u64::from(step),
            episode,
            step,
            time_ms: f64::from(step) * 9_000.0,
            kind: stream.below(2) as u8,
            parent: None,
            weight: 1.0,
            first_row: table.rows(),
        });
        let value = |f: &sched_distill::level::FeatureSpec, stream: &mut Stream| match (f.scope, f.unit.as_str()) {
            (_, "0/1") => stream.below(2) as f32,
            (Scope::Rank, _) => stream.below(n) as f32,
            (Scope::Ratio, _) => stream.uniform_in(1.0, 5.0) as f32,
            (Scope::Share, _) => stream.uniform() as f32,
            (_, "ms" | "ms·tasks") => stream.exponential(900_000.0) as f32,
            _ => stream.below(30) as f32,
        };
        let x: Vec<f32> =
            (0..n).flat_map(|_| spec.features.iter().map(|f| value(f, &mut stream)).collect::<Vec<_>>()).collect();
        let mut scores = vec![0.0; n];
        model.score_choice(&x, spec.features.len(), &mut scores);
        scores.iter_mut().for_each(|s| *s = *s * 12.0 + stream.normal());
        let total = scores.iter().map(|s| s.exp()).sum::<f64>().ln();
        for (candidate, score) in scores.iter().enumerate() {
            table.log_prob.push((score - total) as f32);
            table.chosen.push(candidate == 0);
            table.entity.extend((0..spec.entities.len()).map(|e| (candidate + 3 * e) as u32));
        }
        table.x.extend(x);
    }
    let mut sampler = Sampler::new(LevelTable::new(spec.clone(), table.kinds.clone()), 100, 1);
    sampler.add(&table);
    sampler.finish()
}

fn likeness() -> Vec<Likeness> {
    let of = |kind: &str, rule: &str, meaning: &str, value: f64| Likeness {
        kind: kind.into(),
        rule: rule.into(),
        meaning: meaning.into(),
        choices: 100,
        teacher: estimate(value, 0.03),
        regret: Some(estimate(0.4 - value / 4.0, 0.02)),
        student: estimate(value + 0.02, 0.03),
        behind: None,
        regimes: vec![RegimeLikeness {
            regime: "jobs_in_system <= 4".into(),
            choices: 40,
            teacher: estimate(value, 0.08),
        }],
    };
    vec![
        of("affinity", "shortest-job", "the job with least remaining work first", 0.87),
        of("affinity", "fair", "the oldest job below its fair share first", 0.71),
        of("free", "shortest-job", "the job with least remaining work first", 0.43),
        of("free", "fair", "the oldest job below its fair share first", 0.11),
        of("free", "largest-job", "the job with most remaining work first", 0.04),
        of("free", "first-come", "the oldest job first", 0.22),
        of("free", "newest-first", "the newest job first", 0.15),
    ]
}

/// Half of the agreement that is missing comes with the one exception.
fn exceptions(spec: &LevelSpec) -> RuleExceptions {
    let agreement = |values: [f64; 2]| -> Vec<KindAgreement> {
        let of = |(kind, value): (&str, f64)| KindAgreement {
            kind: kind.into(),
            choices: 512,
            teacher: estimate(value, 0.03),
        };
        ["affinity", "free"].into_iter().zip(values).map(of).collect()
    };
    let condition = Condition { feature: spec.features[0].name.clone(), operator: Operator::Above, value: 90_000.0 };
    let guard =
        Guard { level: spec.name.clone(), when: vec![condition], action: Action::Last, evidence: Evidence::default() };
    RuleExceptions {
        rule: "shortest-job".into(),
        meaning: "the job with least remaining work first".into(),
        agreement: agreement([0.874, 0.431]),
        exceptions: vec![RuleException { guard, overrides: true, agreement: agreement([0.937, 0.716]) }],
    }
}

/// Attributions of a network, one input with a hostile name among them.
fn gradients() -> TeacherGradients {
    let input = |feature: &str, of: &str, mean: f64, size: f64| InputGradient {
        feature: feature.into(),
        of: of.into(),
        mean,
        size,
    };
    let inputs = vec![
        input("remaining_work", "its job", 0.75, 0.9),
        input("<b>room & rights of a very long name</b>", "the other jobs", -0.5, 0.6),
        input("order of stages", "its job", 0.25, 0.3),
    ];
    let question = |question: &str| QuestionGradients {
        question: question.into(),
        decisions: 280,
        log_prob: -0.5,
        baseline: -1.0,
        inputs: inputs.clone(),
    };
    TeacherGradients {
        decisions: 300,
        steps: 64,
        baseline: sched_distill::explainer::empty_observation(),
        gap: 0.008,
        questions: vec![question("which stage?"), question("how many executors?")],
    }
}

/// Writes `explanation.json`, `decisions.json` and `what_if.json` of a run directory that has its student.
pub(super) fn explain(dir: &Path) -> Outcome {
    let student = Student::load(&dir.join("student.json"))?;
    let (mut levels, mut of, mut choices_explained, mut to_try) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for level in &student.levels {
        let spec = student.feature_set.level(&level.level).ok_or("no such level")?;
        let sample = choices(spec, &student);
        let values = Values::new(spec, None);
        let explained = explain_level(&student, level, (&sample, &values), likeness(), 1)?;
        levels.extend(explained.map(|l| LevelExplanation { exceptions: Some(exceptions(spec)), ..l }));
        let explainer = ChoiceExplainer::new(&student, level, (spec, &values), &sample.table)?;
        for (place, why) in select(&sample, &Scorer::student(&student, level, Role::Student), 24, 1) {
            let choice = sample.table.choice(place);
            let mut explained =
                explainer.explain(&choice, &sample.table.kinds[choice.header.kind as usize], why, None)?;
            if explained.why_not.is_empty() {
                let change = WhyNotChange { feature: spec.features[0].name.clone(), from: 63_000.0, to: 41_000.0 };
                explained.why_not.push(WhyNot { candidate: explained.rival, changes: vec![change], exhaustive: true });
            }
            choices_explained.push(explained);
        }
        of.push(explainer.level());
        let shown = choices_explained.iter().filter(|c| c.level == level.level).map(|c| c.choice).collect();
        to_try.push(what_if(&student, level, &sample, &shown, 1));
    }
    let (hash, trace) = (student.hash(), "77".repeat(32));
    let explanation = Explanation {
        format_version: EXPLANATION_FORMAT,
        student: hash.clone(),
        trace: trace.clone(),
        teacher: "decima:model.pt".into(),
        workload: "tpch".into(),
        split: "test".into(),
        seed: 1,
        levels,
        stability: Vec::new(),
        gradients: Some(gradients()),
    };
    let what_if = WhatIf {
        format_version: EXPLANATION_FORMAT,
        student: hash.clone(),
        trace: trace.clone(),
        seed: 1,
        levels: to_try,
    };
    let decisions =
        Decisions { format_version: EXPLANATION_FORMAT, student: hash, trace, levels: of, choices: choices_explained };
    fs::write(dir.join("explanation.json"), serde_json::to_vec(&explanation)?)?;
    fs::write(dir.join("decisions.json"), serde_json::to_vec(&decisions)?)?;
    fs::write(dir.join("what_if.json"), serde_json::to_vec(&what_if)?)?;
    Ok(())
}
