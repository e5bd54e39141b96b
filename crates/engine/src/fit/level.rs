//! A level of some traces, of which an engine forms sums.

use super::answers::Answers;
use crate::{
    ask::Part,
    work::{
        cells::unpacked,
        question::{About, Question, decoded, drawn},
        rows::Rows,
    },
};
use anyhow::{Result, anyhow, ensure};
use sched_distill_core::model::Model;
use sched_distill_learn::{
    ByPart, Cell, Coder, Drawing, DrawnChoices, FeatureBins, Finish, Layout, LogitError, NewtonAt, NodeSource, Sketch,
    SoftnessSource, SoftnessSums, Survey, Target, TermSource, Terms, TreeError, Weighing,
};
use sched_distill_trace::LevelTable;
use serde::de::DeserializeOwned;

/// Why a model is not fitted.
#[derive(Debug)]
pub enum Failure {
    /// An engine had no answer.
    Engine(anyhow::Error),
    /// There is no such tree.
    Tree(TreeError),
    /// There is no such logit.
    Logit(LogitError),
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::Engine(error)
    }
}

impl From<TreeError> for Failure {
    fn from(error: TreeError) -> Self {
        Self::Tree(error)
    }
}

impl From<LogitError> for Failure {
    fn from(error: LogitError) -> Self {
        Self::Logit(error)
    }
}

impl From<Failure> for anyhow::Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Engine(error) => error,
            Failure::Tree(error) => error.into(),
            Failure::Logit(error) => error.into(),
        }
    }
}

/// A level, and what is known of it.
pub(super) struct Level<'a> {
    answers: &'a Answers<'a>,
    rows: Rows,
    /// The same in bins.
    coded: Option<Rows>,
    /// The parts that have any of its choices.
    parts: Vec<Part>,
    /// A table without choices.
    pub(super) empty: LevelTable,
    pub(super) survey: Survey,
    /// What is being done.
    doing: String,
    rounds: usize,
}

impl<'a> Level<'a> {
    /// A level whose files have so many rows.
    pub(super) fn new(
        answers: &'a Answers<'a>,
        (rows, parts): (Rows, Vec<Part>),
        (empty, count): (LevelTable, u64),
    ) -> Result<Self> {
        let survey = Survey::new(empty.width(), empty.kinds.len(), count);
        let doing = String::new();
        let mut level = Self { answers, rows, coded: None, parts, empty, survey, doing, rounds: 0 };
        level.survey = level.ask(About::Survey { rows: count })?;
        let there: Vec<u32> = level.survey.parts().collect();
        level.parts.retain(|part| there.binary_search(&part.number).is_ok());
        Ok(level)
    }

    /// Says what comes now.
    pub(super) fn now(&mut self, doing: &str) {
        (self.doing, self.rounds) = (doing.to_owned(), 0);
    }

    /// Some of the choices, with the weights that a fit takes.
    pub(super) fn drawn(&self, drawing: Drawing) -> Result<LevelTable> {
        let mut all = DrawnChoices::new(drawing.clone());
        let answer = self.of(&self.rows, About::Draw(drawing))?;
        drawn(&answer, &self.empty)?.into_iter().for_each(|(part, table)| all.merge(part, table));
        Ok(all.table(self.empty.clone()))
    }

    /// Refuses a tree whose last pass could not be answered: three numbers for each leaf of each part, in one value of an engine.
    pub(super) fn check_leaves(&self, leaves: usize) -> Result<()> {
        let (parts, most) = (self.parts.len(), i32::MAX as usize / 24);
        // Beside the numbers of parts and what stands before each.
        let most = (most / parts.max(1)).saturating_sub(1);
        ensure!(
            leaves <= most,
            "level {}: a tree of {leaves} leaves over {parts} parts; expected at most {most} leaves (--max-leaves), or a trace in fewer parts",
            self.empty.spec.name
        );
        Ok(())
    }

    /// Has rows read in bins from now on; returns these and the units of their sums.
    pub(super) fn in_bins(
        &mut self,
        most: usize,
        target: Target,
        weighing: Weighing,
    ) -> (Vec<FeatureBins>, (f64, f64)) {
        let Weighing { lift, total } = weighing;
        let coder = Coder { bins: self.survey.bins(most), target, lift, total };
        let (bins, units) = (coder.bins.clone(), (coder.scale(), coder.unit()));
        self.coded = Some(Rows { coder: Some(coder), ..self.rows.clone() });
        self.now("tree");
        (bins, units)
    }

    fn question(&self, about: About) -> Question {
        let LevelTable { spec, kinds, none, .. } = &self.empty;
        Question { level: spec.clone(), kinds: kinds.clone(), none: *none, about }
    }

    /// Asks of the choices.
    fn ask<T: DeserializeOwned>(&self, about: About) -> Result<T> {
        decoded(&self.of(&self.rows, about)?)
    }

    fn of(&self, rows: &Rows, about: About) -> Result<Vec<u8>> {
        let Self { doing, rounds, .. } = self;
        let what = match &about {
            About::Survey { .. } => "weights, values and bins".to_owned(),
            About::Draw(_) => "some choices".to_owned(),
            About::Nodes { .. } => format!("{doing}, round {rounds}"),
            About::Finish { .. } => format!("{doing}: thresholds and leaves"),
            About::Spread(_) => format!("{doing}: how much terms differ"),
            About::Newton(..) | About::Softness { .. } => format!("{doing}, step {rounds}"),
            About::Clusters(..) => format!("{doing}: standard errors"),
        };
        let side = if self.rows.usable { "" } else { ", validation" };
        let what = format!("level {}{side}: {what}", self.empty.spec.name);
        // Until they are counted: all rows of the files.
        let count = match self.survey.rows {
            0 => self.parts.iter().map(|part| part.weight).sum(),
            counted => counted,
        };
        self.answers.ask(rows, &self.parts, &self.question(about), (&what, count))
    }
}

impl NodeSource for Level<'_> {
    type Error = Failure;

    fn cells(&mut self, sketch: &Sketch, wanted: &[u32]) -> Result<Vec<Cell>, Failure> {
        self.rounds += 1;
        let rows = self.coded.as_ref().unwrap_or(&self.rows);
        let layout = Layout::of(rows.coder.as_ref().map_or(&[][..], |coder| &coder.bins));
        let count = wanted.len() * layout.cells();
        let about = About::Nodes { layout, sketch: sketch.clone(), wanted: wanted.to_vec() };
        Ok(unpacked(&self.of(rows, about)?, count)?)
    }

    fn finish(&mut self, sketch: &Sketch, next: &[u8], means: &[f64]) -> Result<Finish, Failure> {
        let Some(coder) = self.coded.as_ref().and_then(|rows| rows.coder.clone()) else {
            return Err(anyhow!("level {}: there are no bins", self.empty.spec.name).into());
        };
        Ok(self.ask(About::Finish { coder, sketch: sketch.clone(), next: next.to_vec(), means: means.to_vec() })?)
    }
}

impl TermSource for Level<'_> {
    type Error = Failure;

    fn spread(&mut self, terms: &Terms) -> Result<(ByPart, Vec<f64>), Failure> {
        Ok(self.ask(About::Spread(terms.clone()))?)
    }

    fn newton(&mut self, terms: &Terms, at: &NewtonAt) -> Result<ByPart, Failure> {
        self.rounds += 1;
        Ok(self.ask(About::Newton(terms.clone(), at.clone()))?)
    }

    fn clusters(&mut self, terms: &Terms, at: &NewtonAt) -> Result<ByPart, Failure> {
        Ok(self.ask(About::Clusters(terms.clone(), at.clone()))?)
    }
}

impl SoftnessSource for Level<'_> {
    type Error = Failure;

    fn numbers(&mut self, model: &Model, inverse: f64) -> Result<[f64; 4], Failure> {
        self.rounds += 1;
        let mut sums = SoftnessSums::default();
        sums.merge(self.ask(About::Softness { model: model.clone(), inverse })?);
        Ok(sums.numbers())
    }
}
