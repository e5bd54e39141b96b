//! What the tree may ask about a choice.

use super::Case;
use sched_distill_core::level::{FLAG, FeatureSpec, NONE_FLAG};
use sched_distill_judge::evaluator::Condition;
use sched_distill_trace::{Choice, LevelTable};

/// One question about a choice, with a number for an answer.
pub(super) struct Column {
    what: What,
    /// Name in files.
    name: String,
    /// What is written where the answer is at most, or above, a bound.
    form: Form,
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
pub(super) fn columns(table: &LevelTable, cases: &[Case<'_>]) -> Vec<Column> {
    let none = table.spec.features.iter().position(|f| f.name == NONE_FLAG);
    // The flag of the candidate that gives nothing tells it from the others, which stand before it.
    let mut common: Vec<bool> = (0..table.width()).map(|column| Some(column) != none).collect();
    for case in cases {
        let first = case.choice.row(0);
        for row in real_rows(&case.choice, none) {
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
            Column { what: What::Kind(kind as u8), name: format!("kind={name}"), form }
        })
        .collect();
    columns.push(Column {
        what: What::Candidates,
        name: "candidates".to_owned(),
        form: Form::Quantity("candidates".to_owned(), ""),
    });
    let features = || table.spec.features.iter().enumerate();
    for (i, spec) in features().filter(|(i, _)| common[*i]) {
        columns.push(Column { what: What::Common(i), name: spec.name.clone(), form: Form::new("", spec) });
    }
    for (i, spec) in features().filter(|(i, _)| !common[*i]) {
        let name = format!("teacher.{}", spec.name);
        columns.push(Column { what: What::Teacher(i), name, form: Form::new("teacher's ", spec) });
    }
    columns
}

/// The rows of a choice but for one that stands for giving nothing, all of whose features are 0.
fn real_rows<'a>(choice: &Choice<'a>, none: Option<usize>) -> impl Iterator<Item = &'a [f32]> {
    let choice = *choice;
    (0..choice.len()).map(move |i| choice.row(i)).filter(move |row| none.is_none_or(|flag| row[flag] == 0.0))
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
    pub(super) fn value(&self, case: &Case<'_>) -> f32 {
        match self.what {
            What::Kind(kind) => f32::from(u8::from(case.choice.header.kind == kind)),
            What::Candidates => case.choice.len() as f32,
            What::Common(column) => case.choice.row(0)[column],
            What::Teacher(column) => case.choice.row(case.target)[column],
        }
    }

    /// Bounds as plain data; `lo` is NaN and `hi` infinite where there is none.
    pub(super) fn condition(&self, lo: f32, hi: f32) -> Condition {
        let [above, at_most] = [lo, hi].map(|bound| bound.is_finite().then_some(bound));
        Condition { column: self.name.clone(), above, at_most }
    }

    /// The same in words.
    pub(super) fn words(&self, lo: f32, hi: f32) -> String {
        match (&self.form, lo.is_finite(), hi.is_finite()) {
            (Form::Flag(words), lower, _) => words[usize::from(lower)].clone(),
            (Form::Quantity(name, unit), true, true) => format!("{lo}{unit} < {name} <= {hi}{unit}"),
            (Form::Quantity(name, unit), true, false) => format!("{name} > {lo}{unit}"),
            (Form::Quantity(name, unit), ..) => format!("{name} <= {hi}{unit}"),
        }
    }
}
