//! What a level of a student goes by, on a sample of recorded choices.

mod abstention;
mod effect;
mod nodes;
mod tendency;
mod weight;

use super::{ExplainError, Family, LevelExplanation, Likeness, Points, Preference, families};
use rayon::prelude::*;
use sched_distill_core::{
    level::{ALL_KINDS, LevelSpec, Values},
    model::{CompiledGuards, LevelModels, Model, Student},
    rng::Stream,
};
use sched_distill_judge::evaluator::{Role, Scorer};
use sched_distill_trace::{Choice, Sample};

/// Features in the plots of points, and of effects.
const POINT_FEATURES: usize = 10;
const EFFECTS: usize = 6;
/// Candidates in the plots of points.
const POINTS: usize = 250;

/// A choice of the sample with what the student makes of it.
struct Case<'a> {
    choice: Choice<'a>,
    /// Weight of the choice times what it stands for.
    weight: f64,
    /// The teacher's candidate.
    target: usize,
    /// The student's candidate.
    taken: usize,
    /// Shape `(candidates, width)`; see [`Preference::within`].
    shares: Vec<f64>,
}

/// A sample as a student sees it.
struct Sampled<'a> {
    sample: &'a Sample,
    /// Who has which quantity.
    values: &'a Values,
    scorer: &'a Scorer,
    cases: Vec<Case<'a>>,
}

impl<'a> Sampled<'a> {
    fn new(
        (sample, values): (&'a Sample, &'a Values),
        scorer: &'a Scorer,
        preference: &Preference<'_>,
    ) -> Result<Self, ExplainError> {
        let choices: Vec<Choice<'a>> = sample.table.iter().collect();
        let case = |scores: &mut Vec<f64>, choice: Choice<'a>| {
            let kind = &sample.kinds[choice.header.kind as usize];
            Ok(Case {
                weight: f64::from(choice.header.weight) * kind.factor(),
                target: choice.target(),
                taken: scorer.choose(&choice, scores),
                shares: preference.within(choice.x)?,
                choice,
            })
        };
        let cases = choices.into_par_iter().map_init(Vec::new, case).collect::<Result<_, ExplainError>>()?;
        Ok(Self { sample, values, scorer, cases })
    }

    /// The kinds with their names, and all together.
    fn kinds(&self) -> impl Iterator<Item = (Option<u8>, &'a str)> {
        let kinds = &self.sample.table.kinds;
        kinds.iter().enumerate().map(|(i, k)| (Some(i as u8), k.as_str())).chain([(None, ALL_KINDS)])
    }
}

/// Explains the model that schedules at a level on a sample of its choices, in which `values` tells who has which quantity; `likeness` is what was found about heuristics.
/// `None` if there is no choice between candidates.
///
/// # Errors
///
/// If the model does not fit the sample's features.
pub fn explain_level(
    student: &Student,
    level: &LevelModels,
    (sample, values): (&Sample, &Values),
    likeness: Vec<Likeness>,
    seed: u64,
) -> Result<Option<LevelExplanation>, ExplainError> {
    if sample.table.choices.is_empty() {
        return Ok(None);
    }
    let (spec, scheduler) = (&sample.table.spec, level.scheduler());
    let scorer = Scorer::student(student, level, Role::Student);
    let preference = Preference::new(&scheduler.model, spec.features.len())?;
    let sampled = Sampled::new((sample, values), &scorer, &preference)?;
    let uses = columns_read(student, &scheduler.model, spec);
    let alone = |(column, f): (usize, &sched_distill_core::level::FeatureSpec)| Family {
        name: f.name.clone(),
        columns: vec![column],
    };
    let singles: Vec<Family> = spec.features.iter().enumerate().map(alone).collect();
    let features = weight::weights(&sampled, &singles, &uses, false, seed);
    let column = |name: &str| spec.features.iter().position(|f| f.name == name);
    let important: Vec<usize> = features
        .iter()
        .filter(|w| w.by_kind.last().is_some_and(|k| k.share > 0.0))
        .filter_map(|w| column(&w.name))
        .collect();
    let first = |most: usize| &important[..most.min(important.len())];
    let mut families = weight::weights(&sampled, &families(spec), &uses, true, seed);
    tendency::add(&sampled, &mut families, seed);
    Ok(Some(LevelExplanation {
        level: level.level.clone(),
        model: scheduler.name.clone(),
        sample: sample.kinds.clone(),
        rows: sample.table.rows(),
        families,
        points: points(&sampled, first(POINT_FEATURES), seed),
        effects: effect::effects(&sampled, &scheduler.model, first(EFFECTS), seed)?,
        nodes: match &scheduler.model {
            Model::Tree(tree) => nodes::nodes(&sampled, tree),
            _ => Vec::new(),
        },
        features,
        likeness,
        exceptions: None,
        abstentions: abstention::abstentions(&sampled, seed),
    }))
}

/// The columns that a level of a student reads, guards included.
pub(super) fn columns_read(student: &Student, model: &Model, spec: &LevelSpec) -> Vec<bool> {
    let mut read = vec![false; spec.features.len()];
    model.mark_columns(&mut read);
    CompiledGuards::new(&student.guards, spec).mark_columns(&mut read);
    read
}

/// Candidates drawn from the sample, each with the same chance whatever its choice stands for.
fn points(sampled: &Sampled<'_>, columns: &[usize], seed: u64) -> Points {
    let mut places: Vec<(usize, usize)> =
        sampled.cases.iter().enumerate().flat_map(|(c, case)| (0..case.choice.len()).map(move |i| (c, i))).collect();
    draw(&mut places, POINTS, Stream::new(seed, "points"));
    let width = sampled.sample.table.width();
    let of = |column: usize| {
        let value = |&(c, i): &(usize, usize)| {
            let row = sampled.cases[c].choice.row(i);
            sampled.values.has(row, column).then(|| row[column])
        };
        let share = |&(c, i): &(usize, usize)| digits(sampled.cases[c].shares[i * width + column]);
        (places.iter().map(value).collect(), places.iter().map(share).collect())
    };
    let (values, shares) = columns.iter().map(|&c| of(c)).unzip();
    let name = |&c: &usize| sampled.sample.table.spec.features[c].name.clone();
    Points { features: columns.iter().map(name).collect(), values, shares }
}

/// Keeps at most so many elements, drawn at random.
fn draw<T>(list: &mut Vec<T>, most: usize, mut stream: Stream) {
    let most = list.len().min(most);
    for i in 0..most {
        let other = i + stream.below(list.len() - i);
        list.swap(i, other);
    }
    list.truncate(most);
}

/// A number with its first seven digits, which keeps files small.
pub(super) fn digits(value: f64) -> f64 {
    format!("{value:.6e}").parse().unwrap_or(value)
}
