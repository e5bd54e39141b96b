//! `distill-engine fit`: a student from traces of any size.
//!
//! Learners, sizes and terms are chosen on some of the choices, as `distill fit` chooses them; then the tree is grown, and coefficients
//! and temperatures are fitted, on all. Every pass over the traces is a question to an engine, and what comes of it depends on the
//! traces and the question alone.

mod answers;
mod level;

use crate::{
    ask::{Engine, Part},
    opened::Opened,
    work::rows::{Place, Rows},
};
use answers::Answers;
use anyhow::{Context, Result, anyhow, bail};
use level::Level;
use sched_distill_core::model::{LevelModels, Model, NamedModel, ScoreCandidates, Student};
use sched_distill_learn::{
    Drawing, Engine as Search, FitError, FitParams, Learner, Terms, Weighing, fit_temperature_by_sums,
    fit_terms_by_sums, grow_by_sums, logit_error,
};
use sched_distill_pipeline::{
    Caller, FitPlan, Fitted, Lessons, NUMBERS_TO_CHOOSE_ON, check_together, fidelity_of, first_held_out, fit_on,
};
use sched_distill_trace::{LevelTable, Trace};
use std::path::Path;
use tokio::runtime::Handle;

pub use level::Failure;

/// Learners that can be fitted beyond one machine.
pub const LEARNERS: [Learner; 4] = [Learner::Tree, Learner::Logit, Learner::SplineLogit, Learner::BoundedLogit];

/// Learners to choose from unless others are asked for.
pub const CHOSEN_FROM: [Learner; 3] = [Learner::Logit, Learner::SplineLogit, Learner::Tree];

/// Bins of a feature, unless parameters name another number.
const BINS: usize = 255;

/// Fits a student to traces and measures it on choices of `validation`, or of the last fifth of a single trace's episodes. Answers to
/// questions are kept in `work`, where an interrupted fit finds them; whoever has stored the student may
/// [forget](crate::kept::forget_in) them.
///
/// # Errors
///
/// What [`sched_distill_pipeline::fit`] objects to, a learner that this cannot fit, parts that are not what they were.
pub fn fit(
    (engine, runtime): (&Engine, &Handle),
    (traces, held_out): (&[Opened], Option<&Opened>),
    plan: &FitPlan,
    work: &Path,
    caller: Caller<'_>,
) -> Result<Fitted> {
    let plan = FitPlan { params: parameters(plan), ..plan.clone() };
    if let Some(learner) = plan.params.learners.iter().find(|learner| !LEARNERS.contains(learner)) {
        bail!(
            "learner {}: cannot be fitted beyond one machine; expected some of {}, or fit a sample by `distill fit --max-choices`",
            learner.name(),
            LEARNERS.map(Learner::name).join(", ")
        );
    }
    plan.params.check()?;
    let (first, others) = traces.split_first().context("there is no trace to learn from")?;
    let others: Vec<&Trace> = others.iter().map(|other| &other.trace).collect();
    let lessons = Lessons::new(&first.trace, &others)?;
    let validation = held_out.map(|opened| &opened.trace);
    check_together(lessons, validation, Some(&plan.params))?;
    let answers = Answers::new((engine, runtime), work, caller)?;
    let names: Vec<String> =
        lessons.first().manifest.feature_set.levels.iter().map(|level| level.name.clone()).collect();
    let mut levels = Vec::with_capacity(names.len());
    for (number, name) in names.iter().enumerate() {
        levels.push(Both::new(&answers, (traces, held_out), (number, name), &plan.params)?);
    }
    caller.watch.note("choosing terms and sizes on some of the choices");
    let [mut train, mut held] = [Vec::new(), Vec::new()];
    for level in &levels {
        train.push(level.sample(&plan.params)?);
        held.push(level.to_choose_on()?);
    }
    // What is drawn is all that terms are searched on.
    let on_sample = FitPlan { params: FitParams { max_choices: None, ..plan.params.clone() }, ..plan.clone() };
    let mut fitted = fit_on(lessons, [train, held], &on_sample, caller)?;
    let sized = plan.size.is_some();
    let mut models = Vec::with_capacity(levels.len());
    for (level, chosen) in levels.iter_mut().zip(&fitted.student.levels) {
        models.push(level.refitted(chosen, &plan.params, sized)?);
    }
    fitted.student = finished(&fitted.student, models, &plan.params);
    fitted.fidelity = fidelity_of(&fitted.student, fitted.validation());
    for row in &fitted.fidelity {
        let figure = format!("{}/{}/{}/top1", row.level, row.scorer, row.kind);
        fitted.student.provenance.fidelity.insert(figure, row.top1.value);
    }
    Ok(fitted)
}

/// The parameters of a plan as they are fitted here: by histograms.
#[must_use]
pub fn parameters(plan: &FitPlan) -> FitParams {
    let engine = match plan.params.engine {
        Search::Exact => Search::Histogram { max_bins: BINS },
        histogram => histogram,
    };
    FitParams { engine, ..plan.params.clone() }
}

/// The student of other models.
fn finished(student: &Student, levels: Vec<LevelModels>, params: &FitParams) -> Student {
    let mut student = Student { levels, ..student.clone() };
    // Plain data serialises.
    student.provenance.parameters = serde_json::to_value(params).unwrap_or_default();
    student.provenance.fidelity.clear();
    student
}

/// A level: what is learnt from, and what is chosen on.
struct Both<'a> {
    train: Level<'a>,
    held: Level<'a>,
    /// What the choices to learn from weigh; nothing where there are none.
    weighing: Option<Weighing>,
}

impl<'a> Both<'a> {
    fn new(
        answers: &'a Answers<'a>,
        (traces, held_out): (&[Opened], Option<&Opened>),
        (number, name): (usize, &str),
        params: &FitParams,
    ) -> Result<Self> {
        let first = &traces[0].trace;
        let table = first.pieces(name)?.empty();
        let hidden = params.distrusted(&first.manifest.feature_set.levels[number]);
        let cut = if held_out.is_some() { u32::MAX } else { first_held_out(first) };
        let rows = |traces: &[&Opened], episodes, usable, hidden| -> Result<(Rows, Vec<Part>)> {
            let (mut files, mut parts) = (Vec::new(), Vec::new());
            for (opened, number) in traces.iter().zip(0..) {
                for (file, place) in opened.trace.files_of(name)?.zip(0..) {
                    parts.push(Part { number: files.len() as u32, weight: file.rows as u64 });
                    files.push((number, place));
                }
            }
            let place = |opened: &&Opened| Ok(Place { at: opened.place()?, hash: opened.trace.hash.clone() });
            let traces = traces.iter().map(place).collect::<Result<_>>()?;
            let level = table.spec.clone();
            Ok((Rows { traces, level, parts: files, episodes, usable, hidden, coder: None }, parts))
        };
        let count = |traces: &[&Opened]| traces.iter().map(|opened| opened.trace.rows_of(name) as u64).sum::<u64>();
        let traces: Vec<&Opened> = traces.iter().collect();
        let train = Level::new(answers, rows(&traces, [0, cut], true, hidden)?, (table.clone(), count(&traces)))?;
        let (held, from) = held_out.map_or((traces[0], cut), |other| (other, 0));
        let held_rows = rows(&[held], [from, u32::MAX], false, Vec::new())?;
        let held = Level::new(answers, held_rows, (table, count(&[held])))?;
        let weighing = train.survey.weighing(params.balance);
        Ok(Self { train, held, weighing })
    }

    /// Choices to learn from, as many as terms are searched on.
    fn sample(&self, params: &FitParams) -> Result<LevelTable> {
        let Some(weighing) = self.weighing.clone() else { return Ok(self.train.empty.clone()) };
        let most = params.max_choices.unwrap_or(FitPlan::CHOICES) as u64;
        // The time and the memory of a search go by the numbers in its rows.
        let each = self.train.survey.rows as f64 / self.train.survey.choices as f64 * self.train.empty.width() as f64;
        let most = most.min((sched_distill_learn::Draw::MOST_NUMBERS / each) as u64).max(1);
        let most = (self.train.survey.choices > most).then_some(most);
        self.train.drawn(Drawing { weighing, most })
    }

    /// Choices to choose on and to measure on.
    fn to_choose_on(&self) -> Result<LevelTable> {
        let survey = &self.held.survey;
        let Some(weighing) = survey.weighing(0.0) else { return Ok(self.held.empty.clone()) };
        let most = (NUMBERS_TO_CHOOSE_ON / self.held.empty.width().max(1)) as u64;
        let few = (survey.rows > most).then(|| (survey.choices as f64 * most as f64 / survey.rows as f64) as u64);
        let mut table = self.held.drawn(Drawing { weighing, most: few })?;
        let weights = table.drawn.take().unwrap_or_default();
        table.choices.iter_mut().zip(weights).for_each(|(choice, weight)| choice.weight = weight as f32);
        Ok(table)
    }

    /// The level's models with the numbers that all choices give them.
    fn refitted(&mut self, chosen: &LevelModels, params: &FitParams, sized: bool) -> Result<LevelModels> {
        let Some(weighing) = self.weighing.clone() else { return Ok(chosen.clone()) };
        let mut models = Vec::with_capacity(chosen.models.len());
        for found in &chosen.models {
            let model = self.model(found, (params, sized), weighing.clone())?;
            // Without choices to judge on, a model is judged on those that it learnt.
            let judge = if self.held.survey.choices > 0 { &mut self.held } else { &mut self.train };
            judge.now(&format!("temperature of {}", found.name));
            let temperature = fit_temperature_by_sums(judge, &model)?;
            models.push(NamedModel { name: found.name.clone(), temperature, model });
        }
        Ok(LevelModels { models, ..chosen.clone() })
    }

    fn model(&mut self, found: &NamedModel, (params, sized): (&FitParams, bool), weighing: Weighing) -> Result<Model> {
        let learner = LEARNERS.into_iter().find(|learner| learner.name() == found.name);
        let spec = self.train.empty.spec.clone();
        match (&found.model, learner) {
            (Model::Tree(_), Some(Learner::Tree)) => {
                let leaves = if sized { found.model.size() } else { params.max_leaf_nodes };
                let params = FitParams { max_leaf_nodes: leaves.max(2), ..params.clone() };
                self.train.check_leaves(params.max_leaf_nodes)?;
                let Search::Histogram { max_bins } = params.engine else { bail!("the exact engine has no bins") };
                let (bins, units) = self.train.in_bins(max_bins, params.target, weighing);
                let tree = grow_by_sums(&mut self.train, &bins, units, &params);
                Ok(Model::Tree(tree.map_err(|failure| self.train.told(failure, &found.name))?))
            }
            (Model::Additive(additive), Some(learner)) => {
                let (terms, must) = Terms::of_model(additive, (learner, params), &spec, (weighing, sized));
                let start: Vec<f64> = additive.terms.iter().map(|term| term.coefficient).collect();
                let start = (start.len() == terms.terms.len()).then_some(&start[..]);
                self.train.now(&format!("coefficients of {}", found.name));
                let fitted = fit_terms_by_sums(&mut self.train, &terms, params.ridge, start, |term| must[term]);
                Ok(Model::Additive(fitted.map_err(|failure| self.train.told(failure, &found.name))?))
            }
            // At a level where there is nothing to choose.
            (model, _) => Ok(model.clone()),
        }
    }
}

impl Level<'_> {
    /// What went wrong, with names in place of numbers.
    fn told(&self, failure: Failure, learner: &str) -> anyhow::Error {
        match failure {
            Failure::Engine(error) => error,
            Failure::Tree(source) => anyhow!(FitError::Tree { level: self.empty.spec.name.clone(), source }),
            Failure::Logit(error) => anyhow!(logit_error(&error, learner, &self.empty.spec)),
        }
    }
}
