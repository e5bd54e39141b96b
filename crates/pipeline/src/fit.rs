//! From a trace to a student.

use super::{
    AnyScenario, Caller, Front, FrontLoop, Lessons, MAX_SIZE, PipelineError, SizedStudent,
    front::{name, schedule},
    tables,
    tables::nothing_to_choose,
};
use sched_distill_core::{
    level::ALL_KINDS,
    model::{LevelModels, Model, Structure, Student},
};
use sched_distill_judge::evaluator::{Estimate, FidelityRow, PolicyOutcome, Role, Scorer, fidelity};
use sched_distill_learn::{By, FitParams, FrontModel, Gate, Learner, fit_student, left_out, within_noise};
use sched_distill_trace::{LevelTable, Trace};

/// Size of a student unless another one is asked for.
pub const USUAL_SIZE: usize = 32;

/// How a student is fitted.
#[derive(Clone, Debug)]
pub struct FitPlan {
    /// What is fitted. Where a size is asked for, every learner is tried at many sizes.
    pub params: FitParams,
    /// How learners and sizes are chosen; `None` for what the parameters say.
    pub size: Option<SizeChoice>,
}

impl Default for FitPlan {
    /// Learners and sizes chosen for [`USUAL_SIZE`], among [`FitPlan::LEARNERS`].
    fn default() -> Self {
        let size = SizeChoice { most: Some(USUAL_SIZE), by: None, gates: Vec::new(), ladder: true };
        let params = FitParams {
            learners: Self::LEARNERS.to_vec(),
            used: Self::LEARNERS[0].name().to_owned(),
            max_choices: Some(Self::CHOICES),
            ..FitParams::default()
        };
        Self { params, size: Some(size) }
    }
}

impl FitPlan {
    /// Learners to choose from unless others are asked for.
    pub const LEARNERS: [Learner; 5] =
        [Learner::Logit, Learner::SplineLogit, Learner::Tree, Learner::LinearTree, Learner::PairwiseTree];

    /// The same where students are chosen by how they schedule. In states that no teacher led to, sums without bounds can go far
    /// astray, which fidelity does not show and schedules do.
    #[must_use]
    pub fn judged_by_schedules(mut self) -> Self {
        self.params.learners.push(Learner::BoundedLogit);
        self
    }

    /// Choices learnt from per level where every learner is fitted at many sizes.
    pub const CHOICES: usize = 30_000;
}

/// How learners and sizes are chosen, level by level, on the validation choices.
#[derive(Clone, Debug)]
pub struct SizeChoice {
    /// Largest size over all levels; `None` for the smallest models that meet the demands.
    pub most: Option<usize>,
    /// The figure to go by; `None` for the least regret among those that agree with the teacher as often as the best, up to
    /// one standard error.
    pub by: Option<By>,
    /// Demands on single levels and kinds.
    pub gates: Vec<Gate>,
    /// Whether twice the size is looked at too, to tell what that would bring.
    pub ladder: bool,
}

impl SizeChoice {
    /// The same with the names that levels have in a trace.
    fn for_levels_of(&self, trace: &Trace) -> Self {
        let mut choice = self.clone();
        choice.gates.iter_mut().for_each(|gate| _ = trace.manifest.feature_set.rename(&mut gate.level));
        choice
    }
}

/// A student, and how faithful it is.
#[derive(Clone, Debug)]
pub struct Fitted {
    /// The student.
    pub student: Student,
    /// Fidelity of all its models on the validation choices.
    pub fidelity: Vec<FidelityRow>,
    /// By level, the features that are no part of the logit, where one was fitted with all that it could use: those
    /// that are the same for all candidates in every choice that it was fitted on.
    pub left_out: Vec<(String, Vec<String>)>,
    /// Levels at which there was nothing to choose: the student takes the first candidate.
    pub skipped: Vec<String>,
    /// What other sizes come to, where the size was chosen.
    pub ladder: Option<Ladder>,
    /// The students that are as faithful up to two standard errors, the least regret first, each in both structures; none where no size was
    /// chosen.
    pub finalists: Vec<SizedStudent>,
    /// What they are measured on.
    validation: Vec<LevelTable>,
}

/// How often students of several sizes agree with the teacher where that is hardest.
#[derive(Clone, Debug, PartialEq)]
pub struct Ladder {
    /// The first level at which no model is always right, and the kind of its choices that the student knows least.
    pub level: String,
    /// That kind.
    pub kind: String,
    /// Size and top-1 agreement on the validation choices, the smallest first.
    pub rungs: Vec<(usize, Estimate)>,
}

/// Fits a student to one trace or several, and measures it on the choices of `validation`, or of the last fifth of a single
/// trace's episodes.
///
/// # Errors
///
/// Parameters out of range, traces that cannot be used together, a fit that fails, demands that cannot be met.
pub fn fit(
    lessons: Lessons<'_>,
    validation: Option<&Trace>,
    plan: &FitPlan,
    caller: Caller<'_>,
) -> Result<Fitted, PipelineError> {
    plan.params.check().map_err(PipelineError::Params)?;
    fit_on(lessons, tables(lessons, validation, Some(&plan.params), caller)?, plan, caller)
}

/// The same on tables that were read: of each level what to learn from, and what to choose on.
///
/// # Errors
///
/// Parameters out of range, a fit that fails, demands that cannot be met.
pub fn fit_on(
    lessons: Lessons<'_>,
    [train, validation]: [Vec<LevelTable>; 2],
    plan: &FitPlan,
    caller: Caller<'_>,
) -> Result<Fitted, PipelineError> {
    plan.params.check().map_err(PipelineError::Params)?;
    let trace = lessons.first();
    let Some(size) = &plan.size else {
        let from = (&trace.manifest).into();
        let student = fit_student(from, (&train, &validation), &plan.params, lessons.provenance());
        let failed = |source| PipelineError::Fit { trace: trace.dir.clone(), source };
        let student = student.map_err(failed)?;
        let chosen: Vec<&LevelTable> = train.iter().filter(|t| !nothing_to_choose(t)).collect();
        let logit =
            |table: &&&LevelTable| match &student.model(&table.spec.name, Some(Learner::Logit.name())).ok()?.model {
                Model::Additive(logit) => Some((table.spec.name.clone(), left_out(&table.spec, logit))),
                _ => None,
            };
        // Where features are named, those that are not are left out as asked.
        let all = plan.params.features.is_empty();
        return Ok(Fitted {
            left_out: chosen.iter().filter(|_| all).filter_map(|table| logit(&table)).collect(),
            fidelity: fidelity_of(&student, &validation),
            student,
            skipped: train.iter().filter(|t| nothing_to_choose(t)).map(|t| t.spec.name.clone()).collect(),
            ladder: None,
            finalists: Vec::new(),
            validation,
        });
    };
    let size = size.for_levels_of(trace);
    let most = size.most.unwrap_or(MAX_SIZE);
    let levels = trace.manifest.feature_set.levels.len();
    if most < levels {
        return Err(PipelineError::TooSmall { most, levels });
    }
    let looked_at = if size.ladder && size.most.is_some() { 2 * most } else { most };
    let front = Front::of_tables(lessons, [train, validation], &plan.params, looked_at, caller)?;
    let chosen = front.choose(&size)?;
    let student = front.student(lessons, &chosen, &plan.params);
    let others = match (size.most, size.by) {
        (Some(most), None) => within_noise(&front.named(), most, &size.gates, JUDGED_BY_SCHEDULES),
        _ => Vec::new(),
    };
    // Which structure schedules better shows in schedules alone.
    let structures = if levels > 1 { &Structure::ALL[..] } else { &[Structure::Hierarchical] };
    let finalist = |places: Vec<usize>| {
        let student = front.student(lessons, &places, &plan.params);
        structures.iter().map(move |&structure| {
            let student = Student { structure, ..student.clone() };
            SizedStudent { most: student.size(), student, chosen: places.clone(), to_teacher: None }
        })
    };
    Ok(Fitted {
        fidelity: fidelity_of(&student, &front.validation),
        student,
        left_out: Vec::new(),
        skipped: front.skipped.clone(),
        ladder: size.most.filter(|_| size.ladder).and_then(|most| ladder(&front, &chosen, most, &size)),
        finalists: others.into_iter().take(FINALISTS).flat_map(|c| finalist(c.places)).collect(),
        validation: front.validation,
    })
}

/// Combinations that may schedule, in each structure, for the choice of one of them.
const FINALISTS: usize = 12;

/// How many standard errors of agreement the finalists may be behind: what they are worth as schedulers shows, so that more of
/// them may be looked at than where agreement is all that is known.
const JUDGED_BY_SCHEDULES: f64 = 2.0;

/// How many of the students that are equally faithful go into the second round of schedules.
const RUNNERS_UP: usize = 3;

/// How many times as many episodes this round has: differences of a per cent show in some hundred episodes only.
const SECOND_ROUND: u32 = 4;

/// Lets the students that are equally faithful up to noise schedule beside their teacher, on validation episodes, and takes
/// the one that does best: the best few schedule once more, on four times as many episodes.
///
/// # Errors
///
/// As of [`super::compare`].
pub fn prefer_the_best_schedule(
    scenario: &dyn AnyScenario,
    fitted: &mut Fitted,
    closed_loop: &FrontLoop,
    caller: Caller<'_>,
) -> Result<(), PipelineError> {
    let objective = scenario.info().objective();
    // A stable sort: of equals the one with less regret.
    let best_first = |finalists: &mut Vec<SizedStudent>, costs: Vec<f64>| {
        let mut ranked: Vec<_> = costs.into_iter().zip(finalists.drain(..)).collect();
        ranked.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        finalists.extend(ranked.into_iter().map(|(_, student)| student));
    };
    let finalists = &mut fitted.finalists;
    if finalists.len() < 2 {
        return Ok(());
    }
    let teacher = &closed_loop.teacher;
    let found = schedule(scenario, finalists, Some(teacher), closed_loop, caller)?;
    let ratio = |place| found.paired(&name(place), teacher).map(|e| e.value);
    best_first(finalists, (0..finalists.len()).map(|place| objective.cost(ratio(place))).collect());
    finalists.truncate(RUNNERS_UP);
    let episodes = closed_loop.episodes.saturating_mul(SECOND_ROUND);
    let found = schedule(scenario, finalists, None, &FrontLoop { episodes, ..closed_loop.clone() }, caller)?;
    let mean_cost = |p: &PolicyOutcome| {
        found.told(&p.episode_objective).into_iter().map(|value| objective.cost(value)).sum::<f64>()
    };
    best_first(finalists, found.policies.iter().map(mean_cost).collect());
    if let Some(best) = fitted.finalists.first().filter(|best| best.student != fitted.student) {
        fitted.fidelity = fidelity_of(&best.student, &fitted.validation);
        fitted.student = best.student.clone();
    }
    Ok(())
}

impl Fitted {
    /// What it was measured on, level by level.
    #[must_use]
    pub fn validation(&self) -> &[LevelTable] {
        &self.validation
    }
}

/// Fidelity of all of a student's models on tables of its levels.
#[must_use]
pub fn fidelity_of(student: &Student, validation: &[LevelTable]) -> Vec<FidelityRow> {
    let of_level = |(level, table): (&LevelModels, &LevelTable)| {
        let scorers: Vec<Scorer> = level.models.iter().map(|m| Scorer::model(m, Role::Student)).collect();
        fidelity(table, &scorers, 0)
    };
    student.levels.iter().zip(validation).flat_map(of_level).collect()
}

/// What a quarter and twice the size come to; `None` where nothing is hard.
fn ladder(front: &Front, chosen: &[usize], most: usize, size: &SizeChoice) -> Option<Ladder> {
    let hard = |(_, model): &(&str, &FrontModel)| !model.fidelity.is_empty() && !model.is_always_right();
    let (level, model) = front.chosen(chosen).find(hard)?;
    let kinds = model.fidelity.iter().filter(|r| r.kind != ALL_KINDS);
    let kind = &kinds.min_by(|a, b| a.top1.value.total_cmp(&b.top1.value))?.kind;
    let agreement = |places: &[usize]| {
        let (_, model) = front.chosen(places).find(|(name, _)| *name == level)?;
        model.fidelity.iter().find(|r| r.kind == *kind).map(|r| r.top1)
    };
    let total = |places: &[usize]| front.chosen(places).map(|(_, m)| m.size).sum::<usize>();
    let mut rungs: Vec<(usize, Estimate)> = Vec::new();
    for (wanted, places) in [(most / 4, None), (most, Some(chosen.to_vec())), (2 * most, None)] {
        let places = places.or_else(|| front.choose(&SizeChoice { most: Some(wanted), ..size.clone() }).ok());
        let Some(rung) = places.and_then(|places| Some((total(&places), agreement(&places)?))) else { continue };
        if rungs.iter().all(|(size, _)| *size != rung.0) {
            rungs.push(rung);
        }
    }
    rungs.sort_by_key(|(size, _)| *size);
    Some(Ladder { level: level.to_owned(), kind: kind.clone(), rungs })
}
