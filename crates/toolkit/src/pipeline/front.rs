//! How much fidelity a given size buys, and which models give it.

use super::{Caller, PipelineError, SizeChoice, provenance, tables};
use crate::{
    distiller::{FitParams, FrontModel, Gate, assemble, best_within, front_models, smallest_passing},
    trace::{LevelTable, Trace},
};
use sched_distill_core::model::Student;

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
}

impl Front {
    /// Fits all learners at all sizes that leave every other level a size of 1.
    ///
    /// # Errors
    ///
    /// As of [`super::fit`].
    pub fn fit(
        trace: &Trace,
        validation: Option<&Trace>,
        params: &FitParams,
        most: usize,
        caller: Caller<'_>,
    ) -> Result<Self, PipelineError> {
        params.check().map_err(PipelineError::Params)?;
        let [train, validation] = tables(trace, validation, Some(params), caller)?;
        if most < train.len() {
            return Err(PipelineError::TooSmall { most, levels: train.len() });
        }
        let sizes: Vec<usize> = SIZES.into_iter().filter(|&n| n <= most - (train.len() - 1)).collect();
        caller.watch.steps(train.len() * params.learners.len());
        let mut levels = Vec::new();
        for (train, validation) in train.iter().zip(&validation) {
            let mut models = Vec::new();
            for &learner in &params.learners {
                caller.check()?;
                caller.watch.step(&format!("{}: {}", train.spec.name, learner.name()));
                let fitted = front_models(train, validation, learner, &sizes, params);
                models.extend(fitted.map_err(|source| PipelineError::Fit { trace: trace.dir.clone(), source })?);
            }
            if models.is_empty() {
                return Err(PipelineError::NoModel(train.spec.name.clone()));
            }
            levels.push((train.spec.name.clone(), models));
        }
        Ok(Self { levels, validation })
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
        let SizeChoice { most, by, gates } = size;
        let known = |g: &Gate| self.levels.iter().any(|(l, models)| *l == g.level && has_kind(models, &g.kind));
        if let Some(gate) = gates.iter().find(|g| !known(g)) {
            return Err(self.no_such_choices(gate));
        }
        let lacks = |(_, models): &&(String, Vec<FrontModel>)| models.iter().all(|m| m.value(*by).is_none());
        if let Some((level, _)) = self.levels.iter().find(lacks) {
            return Err(PipelineError::NoFigure { level: level.clone(), figure: by.name() });
        }
        let smallest = || smallest_passing(&self.named(), *by, gates).map_err(|gate| self.out_of_reach(gate));
        let Some(most) = *most else { return smallest() };
        match best_within(&self.named(), most, *by, gates) {
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
    pub fn student(&self, trace: &Trace, chosen: &[usize], params: &FitParams) -> Student {
        let models: Vec<(&str, &FrontModel)> = self.chosen(chosen).collect();
        assemble((&trace.manifest).into(), &models, params, provenance(trace))
    }
}

fn has_kind(models: &[FrontModel], kind: &str) -> bool {
    models.iter().any(|m| m.fidelity.iter().any(|r| r.kind == kind))
}
