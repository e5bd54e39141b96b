//! A whole student as exported source code has it, whatever the language: what scores each level, what stands above the
//! scores, and how levels are asked.

use super::{
    Language, Part, identifier,
    math::Needed,
    origin,
    piece::{Form, Piece, Role},
    plain, source,
};
use crate::{
    level::{FeatureSpec, LevelSpec},
    model::{CompiledGuards, Pick, Structure, Student, guard::CompiledGuard},
};

pub(super) struct Decider<'a> {
    pub(super) student: &'a Student,
    /// Trees and sums of all levels.
    pub(super) pieces: &'a [Piece<'a>],
    /// Names of their functions.
    pub(super) names: Vec<String>,
    /// From the first question to the last.
    pub(super) levels: Vec<Level<'a>>,
    /// Levels that are searched at once: of a flat student those above the amount, else none.
    pub(super) searched: usize,
}

/// How a level chooses.
pub(super) struct Level<'a> {
    pub(super) spec: &'a LevelSpec,
    /// Its name as an identifier.
    pub(super) name: String,
    pub(super) scores: Scores,
    /// With what is to be said of each.
    pub(super) guards: Vec<(String, CompiledGuard)>,
    pub(super) pick: Pick,
    pub(super) temperature: f64,
    /// By column, whether anything reads it.
    read: Vec<bool>,
}

/// What gives the candidates of a choice their scores, by name of function.
pub(super) enum Scores {
    /// A function that scores a row.
    Row(String),
    /// A function that writes so many outputs; the first is the score.
    Outputs(String, usize),
    /// A function that compares two candidates.
    Pairs(String),
    /// A function that is asked about the first candidate and says which of the others scores.
    Regime(String, Vec<Scores>),
}

impl Scores {
    fn of(pieces: &[(&Piece<'_>, &String)]) -> Self {
        let single = |(piece, name): &(&Piece<'_>, &String)| match &piece.form {
            _ if piece.role == Role::Pair => Self::Pairs((*name).clone()),
            Form::Tree(tree) if tree.outputs > 1 => Self::Outputs((*name).clone(), tree.outputs),
            Form::Tree(_) | Form::Additive(_) => Self::Row((*name).clone()),
        };
        match pieces {
            [(chooses, name), models @ ..] if chooses.role == Role::Regime => {
                Self::Regime((*name).clone(), models.iter().map(single).collect())
            }
            _ => single(&pieces[0]),
        }
    }
}

impl<'a> Decider<'a> {
    /// `parts` are the levels in order, `pieces` those of all parts.
    pub(super) fn new(student: &'a Student, parts: &[Part<'a>], pieces: &'a [Piece<'a>], language: Language) -> Self {
        let (names, identifiers) = match language {
            Language::C | Language::Rust => (identifier::functions(student, pieces), identifier::levels(student)),
            Language::Java | Language::Go => (identifier::methods(student, pieces), identifier::words(student)),
        };
        let level = |(part, name): (&Part<'a>, String)| {
            let &Part { spec, named, pick } = part;
            let own: Vec<_> = pieces.iter().zip(&names).filter(|(piece, _)| piece.spec.name == spec.name).collect();
            let compiled = CompiledGuards::new(&student.guards, spec);
            let mut read = vec![false; spec.features.len()];
            named.model.mark_columns(&mut read);
            compiled.mark_columns(&mut read);
            // What is multiplied by 0 is read as well: missing and infinite values make it NaN.
            for sum in own.iter().filter_map(|(piece, _)| piece.additive()) {
                sum.terms.iter().flat_map(|t| &t.factors).for_each(|f| read[f.feature as usize] = true);
            }
            let words = student.guards.iter().filter(|guard| guard.level == spec.name).map(|guard| {
                let reason = &guard.evidence.reason;
                plain(&if reason.is_empty() { guard.to_string() } else { format!("{guard} ({reason})") })
            });
            Level {
                spec,
                name,
                scores: Scores::of(&own),
                guards: words.zip(compiled.guards).collect(),
                pick,
                temperature: named.temperature,
                read,
            }
        };
        let levels: Vec<_> = parts.iter().zip(identifiers).map(level).collect();
        let above = levels.iter().take_while(|level| !level.spec.is_amount()).count();
        let searched = if student.structure == Structure::Flat { above } else { 0 };
        Self { student, pieces, names, levels, searched }
    }

    /// Lines for the top of the file; `call` is what there is to say of calling it in the language.
    pub(super) fn preface(&self, call: &str) -> Vec<String> {
        let mut lines = origin(self.student);
        lines.extend([String::new(), "The levels, from the first question to the last:".to_owned()]);
        for (place, Level { spec, guards, pick, .. }) in self.levels.iter().enumerate() {
            let pick = match pick {
                _ if place < self.searched => "searched with the other levels above the amount",
                Pick::Mode => "the highest score is taken, the first of equals",
                Pick::Median => "the candidate at the median of the probabilities is taken",
            };
            let guards = match guards.len() {
                0 => String::new(),
                1 => ", 1 guard".to_owned(),
                n => format!(", {n} guards"),
            };
            let (name, question, width) = (plain(&spec.name), plain(&spec.question), spec.features.len());
            lines.push(format!("  {place} {name}: {question} {width} features{guards}; {pick}."));
        }
        lines.push(match self.student.abstains {
            true => "To give nothing is a candidate of the first level, as the scenario has it.".to_owned(),
            false => "To give nothing is no candidate where policies may differ in that.".to_owned(),
        });
        lines.push(String::new());
        lines.extend(call.trim_matches('\n').lines().map(str::to_owned));
        lines.extend(source::tables());
        lines
    }

    /// What is to be said of a level's columns: unit, and whether anything reads it.
    pub(super) fn about_columns<'l>(&self, level: &'l Level<'_>) -> impl Iterator<Item = String> + 'l {
        let about =
            |(f, read): (&FeatureSpec, &bool)| format!("[{}]{}", plain(&f.unit), if *read { "" } else { ", not read" });
        level.spec.features.iter().zip(&level.read).map(about)
    }

    pub(super) fn has_guards(&self) -> bool {
        self.levels.iter().any(|level| !level.guards.is_empty())
    }

    pub(super) fn has_medians(&self) -> bool {
        self.levels.iter().any(|level| level.pick == Pick::Median)
    }

    pub(super) fn has_pairs(&self) -> bool {
        self.pieces.iter().any(|piece| piece.role == Role::Pair)
    }

    /// What is needed of exponentials and logarithms.
    pub(super) fn math(&self) -> Needed {
        Needed::by(self.pieces).and(self.has_medians(), self.searched > 0)
    }
}
