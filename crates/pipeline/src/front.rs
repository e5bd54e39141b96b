//! How much fidelity a given size buys, and which models give it.

use super::{
    AnyScenario, Caller, CompareParams, Contender, Lessons, PipelineError, SizeChoice, tables,
    tables::nothing_to_choose,
};
use rayon::prelude::*;
use sched_distill_core::{model::Student, rng::Split};
use sched_distill_judge::evaluator::{ClosedLoop, Estimate, Role};
use sched_distill_learn::{
    By, FitParams, FrontChoice, FrontLevel, FrontModel, FrontTotal, Gate, Learner, SizeFront, assemble, best_within,
    front_models, smallest_passing, within_noise,
};
use sched_distill_trace::{LevelTable, Trace};
use std::ops::ControlFlow;

/// Largest total size unless another one is asked for.
pub const MAX_SIZE: usize = 64;

/// Sizes that are tried at a level.
const SIZES: [usize; 16] = [1, 2, 4, 6, 8, 12, 16, 20, 24, 28, 32, 40, 48, 64, 96, 128];

/// Models of many sizes for all levels.
pub struct Front {
    /// Each level's name and models.
    pub levels: Vec<(String, Vec<FrontModel>)>,
    /// What they were measured on, level by level.
    pub validation: Vec<LevelTable>,
    /// Levels at which there was nothing to choose.
    pub skipped: Vec<String>,
}

impl Front {
    /// Fits all learners at all sizes that leave every other level a size of 1.
    ///
    /// # Errors
    ///
    /// As of [`super::fit`].
    pub fn fit(
        lessons: Lessons<'_>,
        validation: Option<&Trace>,
        params: &FitParams,
        most: usize,
        caller: Caller<'_>,
    ) -> Result<Self, PipelineError> {
        params.check().map_err(PipelineError::Params)?;
        Self::of_tables(lessons, tables(lessons, validation, Some(params), caller)?, params, most, caller)
    }

    /// The same on tables that were read: of each level what to learn from, and what to choose on.
    pub(super) fn of_tables(
        lessons: Lessons<'_>,
        [train, validation]: [Vec<LevelTable>; 2],
        params: &FitParams,
        most: usize,
        caller: Caller<'_>,
    ) -> Result<Self, PipelineError> {
        if most < train.len() {
            return Err(PipelineError::TooSmall { most, levels: train.len() });
        }
        let sizes: Vec<usize> = SIZES.into_iter().filter(|&n| n <= most - (train.len() - 1)).collect();
        let fitted = |level: usize, learner: Learner, sizes: &[usize]| {
            let train = &train[level];
            // Without choices to judge on, a model is judged on those that it learnt.
            let judge = if nothing_to_choose(&validation[level]) { train } else { &validation[level] };
            let models = front_models(train, judge, learner, sizes, params);
            models.map_err(|source| PipelineError::Fit { trace: lessons.first().dir.clone(), source })
        };
        let skipped: Vec<bool> = train.iter().map(nothing_to_choose).collect();
        // A level that one term answers needs no other model.
        let asked_at_once = (0..train.len()).into_par_iter().map(|level| {
            caller.check()?;
            match skipped[level] {
                true => Ok(Some(FrontModel::first())),
                false if params.learners.contains(&Learner::Logit) => {
                    Ok(fitted(level, Learner::Logit, &[1])?.into_iter().find(FrontModel::is_always_right))
                }
                false => Ok(None),
            }
        });
        let answered: Vec<Option<FrontModel>> = asked_at_once.collect::<Result<_, PipelineError>>()?;
        let open = |level: &usize| answered[*level].is_none();
        let pairs: Vec<(usize, Learner)> = (0..train.len())
            .filter(open)
            .flat_map(|level| params.learners.iter().map(move |&learner| (level, learner)))
            .collect();
        caller.watch.steps(pairs.len());
        let models = pairs.par_iter().map(|&(level, learner)| {
            caller.check()?;
            caller.watch.step(&format!("{}: {}", train[level].spec.name, learner.name()));
            fitted(level, learner, &sizes)
        });
        let models: Vec<Result<Vec<FrontModel>, PipelineError>> = models.collect();
        let mut levels: Vec<(String, Vec<FrontModel>)> =
            train.iter().zip(answered).map(|(t, model)| (t.spec.name.clone(), model.into_iter().collect())).collect();
        for ((level, _), models) in pairs.into_iter().zip(models) {
            levels[level].1.extend(models?);
        }
        if let Some((level, _)) = levels.iter().find(|(_, models)| models.is_empty()) {
            return Err(PipelineError::NoModel(level.clone()));
        }
        let skipped = levels.iter().zip(skipped).filter(|(_, skip)| *skip).map(|((name, _), _)| name.clone()).collect();
        Ok(Self { levels, validation, skipped })
    }

    /// Names and models of the levels.
    #[must_use]
    pub fn named(&self) -> Vec<(&str, &[FrontModel])> {
        self.levels.iter().map(|(level, models)| (level.as_str(), models.as_slice())).collect()
    }

    /// One model per level, by its place.
    ///
    /// # Errors
    ///
    /// Demands that name what there is not or cannot be met, and a figure that no model has.
    pub fn choose(&self, size: &SizeChoice) -> Result<Vec<usize>, PipelineError> {
        let SizeChoice { most, by, gates, .. } = size;
        let known = |g: &Gate| self.levels.iter().any(|(l, models)| *l == g.level && has_kind(models, &g.kind));
        if let Some(gate) = gates.iter().find(|g| !known(g)) {
            return Err(self.no_such_choices(gate));
        }
        let figure = by.unwrap_or(By::Top1);
        let lacks = |(_, models): &&(String, Vec<FrontModel>)| models.iter().all(|m| m.value(figure).is_none());
        if let Some((level, _)) = self.levels.iter().find(lacks) {
            return Err(PipelineError::NoFigure { level: level.clone(), figure: figure.name() });
        }
        let smallest = || smallest_passing(&self.named(), figure, gates).map_err(|gate| self.out_of_reach(gate));
        let Some(most) = *most else { return smallest() };
        match best(&self.named(), most, *by, gates) {
            Some(chosen) => Ok(chosen),
            None => smallest().and(Err(PipelineError::NoneWithin(most))),
        }
    }

    fn no_such_choices(&self, gate: &Gate) -> PipelineError {
        let levels: Vec<&str> = self.levels.iter().map(|(level, _)| level.as_str()).collect();
        let of_levels = self.levels.iter().filter_map(|(_, models)| models.first());
        let mut kinds: Vec<&str> = of_levels.flat_map(|m| &m.fidelity).map(|r| r.kind.as_str()).collect();
        kinds.sort_unstable();
        kinds.dedup();
        PipelineError::NoSuchChoices {
            level: gate.level.clone(),
            kind: gate.kind.clone(),
            levels: levels.join(", "),
            kinds: kinds.join(", "),
        }
    }

    fn out_of_reach(&self, gate: &Gate) -> PipelineError {
        let models = self.levels.iter().filter(|(l, _)| *l == gate.level).flat_map(|(_, models)| models);
        let figures = models.flat_map(|m| &m.fidelity).filter(|r| r.kind == gate.kind).filter_map(|r| gate.by.of(r));
        let better = |a: f64, b: f64| if gate.by.grows() { a.max(b) } else { a.min(b) };
        let Gate { level, kind, by, bound } = gate;
        PipelineError::OutOfReach {
            demand: format!("{level}/{kind}/{}={bound}", by.name()),
            best: figures.reduce(better).map_or("none".to_owned(), |v| format!("{v:.4}")),
        }
    }

    /// One model per level with the level's name.
    pub fn chosen<'a>(&'a self, places: &'a [usize]) -> impl Iterator<Item = (&'a str, &'a FrontModel)> {
        self.levels.iter().zip(places).map(|((level, models), &i)| (level.as_str(), &models[i]))
    }

    /// The student of these models.
    #[must_use]
    pub fn student(&self, lessons: Lessons<'_>, chosen: &[usize], params: &FitParams) -> Student {
        let models: Vec<(&str, &FrontModel)> = self.chosen(chosen).collect();
        assemble((&lessons.first().manifest).into(), &models, params, lessons.provenance())
    }
}

/// What is fitted and combined for a front.
#[derive(Clone, Debug)]
pub struct FrontParams {
    /// How models are fitted; every learner is tried at many sizes.
    pub fit: FitParams,
    /// Largest size over all levels.
    pub most: usize,
    /// The figure that decides, as [`SizeChoice::by`].
    pub by: Option<By>,
    /// Whether, and how, the students of all sizes schedule.
    pub closed_loop: Option<FrontLoop>,
}

/// How the students of a front schedule, on validation seeds.
#[derive(Clone, Debug)]
pub struct FrontLoop {
    /// The teacher that they are compared with, as a spec.
    pub teacher: String,
    /// The workload, as a spec.
    pub workload: String,
    /// Seed of the episodes.
    pub seed: u64,
    /// How many.
    pub episodes: u32,
}

/// The best student of a total size.
#[derive(Clone, Debug)]
pub struct SizedStudent {
    /// The size that it may have at most.
    pub most: usize,
    /// The place of each level's model in [`Front::levels`].
    pub chosen: Vec<usize>,
    /// The student.
    pub student: Student,
    /// Its objective against the teacher's; `None` if it stalled or did not run.
    pub to_teacher: Option<Estimate>,
}

/// Fits models of many sizes and combines them into the best student of every total size that is a power of two, and of
/// the largest.
///
/// # Errors
///
/// As of [`super::fit`] and [`super::compare`]; a figure that no combination has.
pub fn front(
    scenario: Option<&dyn AnyScenario>,
    trace: &Trace,
    validation: Option<&Trace>,
    params: &FrontParams,
    caller: Caller<'_>,
) -> Result<(Front, Vec<SizedStudent>), PipelineError> {
    let front = Front::fit(trace.into(), validation, &params.fit, params.most, caller)?;
    let mut sized: Vec<SizedStudent> = Vec::new();
    let ladder = (2..13).map(|n| 1 << n).filter(|&n| n < params.most).chain([params.most]);
    for most in ladder.filter(|&n| n >= front.levels.len()) {
        let Some(chosen) = best(&front.named(), most, params.by, &[]) else { continue };
        if sized.last().is_none_or(|last| last.chosen != chosen) {
            let student = front.student(trace.into(), &chosen, &params.fit);
            sized.push(SizedStudent { most, chosen, student, to_teacher: None });
        }
    }
    if sized.is_empty() {
        return Err(PipelineError::NoCombination(params.by.unwrap_or(By::Top1).name()));
    }
    if let Some(closed_loop) = &params.closed_loop {
        let known = scenario.ok_or_else(|| PipelineError::UnknownScenario {
            found: sized[0].student.feature_set.scenario.clone(),
            known: "none".to_owned(),
        })?;
        let result = schedule(known, &sized, Some(&closed_loop.teacher), closed_loop, caller)?;
        for (i, student) in sized.iter_mut().enumerate() {
            student.to_teacher = result.paired(&name(i), &closed_loop.teacher);
        }
    }
    Ok((front, sized))
}

/// Lets students schedule, beside their teacher or by themselves; they are called by [`name`] in the result.
pub(super) fn schedule(
    scenario: &dyn AnyScenario,
    sized: &[SizedStudent],
    beside: Option<&str>,
    closed_loop: &FrontLoop,
    caller: Caller<'_>,
) -> Result<ClosedLoop, PipelineError> {
    let teacher = beside.map(|id| Contender::Named { id: id.to_owned(), role: Some(Role::Teacher) });
    let students = sized.iter().enumerate().map(|(place, s)| Contender::Student {
        id: name(place),
        student: &s.student,
        role: Role::Student,
    });
    let params = CompareParams {
        contenders: teacher.into_iter().chain(students).collect(),
        workloads: vec![closed_loop.workload.clone()],
        seed: closed_loop.seed,
        split: Split::Validation,
        episodes: closed_loop.episodes.into(),
    };
    let mut compared = scenario.compare(&params, &mut |_| ControlFlow::Continue(()), caller)?;
    Ok(compared.remove(0).closed_loop)
}

/// What a student is called by its place.
pub(super) fn name(place: usize) -> String {
    format!("student {}", place + 1)
}

impl Front {
    /// The front as the file `front.json`; `file` says where a student stands.
    #[must_use]
    pub fn to_file(
        &self,
        trace: &Trace,
        by: By,
        sized: &[SizedStudent],
        file: impl Fn(&SizedStudent) -> String,
    ) -> SizeFront {
        let total = |s: &SizedStudent| FrontTotal {
            size: s.student.size(),
            student: file(s),
            models: self.chosen(&s.chosen).map(|(level, model)| FrontChoice::new(level, model)).collect(),
            to_teacher: s.to_teacher,
        };
        SizeFront {
            trace: trace.hash.clone(),
            by,
            levels: self.levels.iter().map(|(level, models)| FrontLevel::new(level, models, by)).collect(),
            totals: sized.iter().map(total).collect(),
        }
    }
}

/// One model per level, by its place, as good as there is within a total size; `None` if nothing is so small or passes.
fn best(levels: &[(&str, &[FrontModel])], most: usize, by: Option<By>, gates: &[Gate]) -> Option<Vec<usize>> {
    match by {
        Some(by) => best_within(levels, most, by, gates),
        None => within_noise(levels, most, gates, 1.0).into_iter().next().map(|found| found.places),
    }
}

fn has_kind(models: &[FrontModel], kind: &str) -> bool {
    models.iter().any(|m| m.fidelity.iter().any(|r| r.kind == kind))
}
