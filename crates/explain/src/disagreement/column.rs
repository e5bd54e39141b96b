//! What the tree may ask about a choice.

use super::Case;
use sched_distill_core::level::{FLAG, FeatureSpec, Values};
use sched_distill_judge::evaluator::Condition;
use sched_distill_trace::{Choice, LevelTable};

/// One question about a choice, with a number for an answer.
pub(super) struct Column {
    what: What,
    /// Name in files.
    name: String,
    /// What is written where the answer is at most, or above, a bound.
    form: Form,
    /// The answer where there is no such quantity, which is below all others; `None` where there always is one.
    lacking: Option<f32>,
}

#[derive(Clone, Copy)]
enum What {
    /// Whether the choice is of this kind.
    Kind(u8),
    Candidates,
    /// A feature that the candidates have in common.
    Common(usize),
    /// The same of the teacher's candidate.
    Teacher(usize),
}

enum Form {
    /// Words for no and for yes.
    Flag([String; 2]),
    /// Words for a quantity, and for its unit.
    Quantity(String, &'static str),
}

/// The questions, in the order in which their answers are best read: kind, number of candidates, what they have in
/// common, what the teacher's candidate is.
pub(super) fn columns(table: &LevelTable, values: &Values, cases: &[Case<'_>]) -> Vec<Column> {
    // The flag of the candidate that gives nothing tells it from the others, which stand before it.
    let mut common: Vec<bool> = (0..table.width()).map(|column| Some(column) != values.none()).collect();
    for case in cases {
        let first = case.choice.row(0);
        for row in real_rows(&case.choice, values) {
            common.iter_mut().zip(first.iter().zip(row)).for_each(|(common, (a, b))| *common &= a == b);
        }
    }
    let kinds = table.kinds.iter().enumerate();
    // One of two kinds says it all, and a single one nothing.
    let kinds =
        kinds.take(if table.kinds.len() <= 2 { table.kinds.len().saturating_sub(1) } else { table.kinds.len() });
    let mut columns: Vec<Column> = kinds
        .map(|(kind, name)| {
            let no = if table.kinds.len() == 2 { table.kinds[1].clone() } else { format!("not {name}") };
            let form = Form::Flag([no, name.clone()]);
            Column { what: What::Kind(kind as u8), name: format!("kind={name}"), form, lacking: None }
        })
        .collect();
    columns.push(Column {
        what: What::Candidates,
        name: "candidates".to_owned(),
        form: Form::Quantity("candidates".to_owned(), ""),
        lacking: None,
    });
    let features = || table.spec.features.iter().enumerate();
    for (i, spec) in features().filter(|(i, _)| common[*i]) {
        let (what, form) = (What::Common(i), Form::new("", spec));
        columns.push(Column { what, name: spec.name.clone(), form, lacking: lacking(what, values, cases) });
    }
    for (i, spec) in features().filter(|(i, _)| !common[*i]) {
        let name = format!("teacher.{}", spec.name);
        let (what, form) = (What::Teacher(i), Form::new("teacher's ", spec));
        columns.push(Column { what, name, form, lacking: lacking(what, values, cases) });
    }
    columns
}

/// What stands for a quantity that some cases lack: less than all others have. What it is, as in words, must not be told from a value.
fn lacking(what: What, values: &Values, cases: &[Case<'_>]) -> Option<f32> {
    let answer =
        |case: &Case<'_>| what.feature(case).and_then(|(row, column)| values.has(row, column).then(|| row[column]));
    let has = cases.iter().map(answer);
    let least = has.clone().flatten().fold(f32::INFINITY, f32::min);
    let least = if least.is_finite() { least } else { 0.0 };
    has.clone().any(|answer| answer.is_none()).then(|| least - least.abs().max(1.0))
}

/// The rows of a choice but for one that stands for giving nothing.
fn real_rows<'a>(choice: &Choice<'a>, values: &Values) -> impl Iterator<Item = &'a [f32]> {
    let choice = *choice;
    (0..choice.len()).map(move |i| choice.row(i)).filter(|row| !values.is_none(row))
}

impl What {
    /// The row and the column that the answer stands in, if it is a feature.
    fn feature<'a>(self, case: &Case<'a>) -> Option<(&'a [f32], usize)> {
        match self {
            Self::Kind(_) | Self::Candidates => None,
            Self::Common(column) => Some((case.choice.row(0), column)),
            Self::Teacher(column) => Some((case.choice.row(case.target), column)),
        }
    }
}

impl Form {
    fn new(whose: &str, spec: &FeatureSpec) -> Self {
        let name = format!("{whose}{}", spec.name);
        match spec.unit.as_str() {
            FLAG => Self::Flag([format!("{name} = 0"), format!("{name} = 1")]),
            "ms" => Self::Quantity(name, " ms"),
            _ => Self::Quantity(name, ""),
        }
    }
}

impl Column {
    pub(super) fn value(&self, case: &Case<'_>, values: &Values) -> f32 {
        match (self.what, self.what.feature(case)) {
            (What::Kind(kind), _) => f32::from(u8::from(case.choice.header.kind == kind)),
            (_, Some((row, column))) => match self.lacking {
                Some(lacking) if !values.has(row, column) => lacking,
                _ => row[column],
            },
            (_, None) => case.choice.len() as f32,
        }
    }

    /// Whether a case without the quantity is within bounds.
    fn takes_lacking(&self, lo: f32, hi: f32) -> bool {
        self.lacking.is_some() && !lo.is_finite() && hi.is_finite()
    }

    /// Bounds as plain data; `lo` is NaN and `hi` infinite where there is none.
    pub(super) fn condition(&self, lo: f32, hi: f32) -> Condition {
        let [above, at_most] = [lo, hi].map(|bound| bound.is_finite().then_some(bound));
        Condition { column: self.name.clone(), above, at_most, or_none: self.takes_lacking(lo, hi) }
    }

    /// The same in words.
    pub(super) fn words(&self, lo: f32, hi: f32) -> String {
        let or_none = if self.takes_lacking(lo, hi) { " or none" } else { "" };
        let said = match (&self.form, lo.is_finite(), hi.is_finite()) {
            (Form::Flag(words), lower, _) => words[usize::from(lower)].clone(),
            (Form::Quantity(name, unit), true, true) => format!("{lo}{unit} < {name} <= {hi}{unit}"),
            (Form::Quantity(name, unit), true, false) => format!("{name} > {lo}{unit}"),
            (Form::Quantity(name, unit), ..) => format!("{name} <= {hi}{unit}"),
        };
        said + or_none
    }
}
