//! What formats other than a student file know of a model.

use super::{ExportError, Part, Target};
use crate::{
    level::LevelSpec,
    model::{Additive, Model, Pairwise, Pick, Tree},
};
use std::borrow::Cow;

/// A model that is a tree or a sum, and what it is there for.
pub(super) struct Piece<'a> {
    /// The level; of a pairwise model, with the columns of a pair.
    pub(super) spec: Cow<'a, LevelSpec>,
    pub(super) name: &'a str,
    pub(super) temperature: f64,
    pub(super) form: Form<'a>,
    /// Which candidate is taken, in words.
    pub(super) taken: &'static str,
    pub(super) role: Role,
    /// Its place among the models that a regime chooses from.
    pub(super) place: Option<usize>,
}

pub(super) enum Form<'a> {
    Tree(&'a Tree),
    Additive(&'a Additive),
}

/// What a row is, and what is said of it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// A candidate, which gets a score.
    Score,
    /// A pair of candidates, of which the first has a chance to win.
    Pair,
    /// The first candidate of a choice, which says what model scores them all.
    Regime,
}

/// How a tree over pairs gives scores.
pub(super) const PAIRS: &str = "compares two candidates: a row holds the candidate's features, then their differences \
                                to the opponent's, and the value is the chance to win; a candidate's score is the sum \
                                over its opponents";

impl<'a> Piece<'a> {
    /// The pieces of a model: source code gives a regime's tree and its models functions of their own, other formats
    /// have no place for them.
    pub(super) fn of(part: &Part<'a>, target: Target) -> Result<Vec<Self>, ExportError> {
        match &part.named.model {
            Model::Regime(regime) if target.language().is_some() => {
                let chooses = Self::new(part, Form::Tree(&regime.tree), Role::Regime, None);
                let models = regime.models.iter().enumerate();
                let models = models.map(|(place, model)| Self::single(part, model, Some(place), target));
                std::iter::once(Ok(chooses)).chain(models).collect()
            }
            model => Ok(vec![Self::single(part, model, None, target)?]),
        }
    }

    /// The sum of terms, if it is one.
    pub(super) fn additive(&self) -> Option<&'a Additive> {
        match self.form {
            Form::Tree(_) => None,
            Form::Additive(additive) => Some(additive),
        }
    }

    fn single(part: &Part<'a>, model: &'a Model, place: Option<usize>, target: Target) -> Result<Self, ExportError> {
        match model {
            Model::Tree(tree) => Ok(Self::new(part, Form::Tree(tree), Role::Score, place)),
            Model::Pairwise(Pairwise { tree }) => Ok(Self::new(part, Form::Tree(tree), Role::Pair, place)),
            Model::Additive(additive) => Ok(Self::new(part, Form::Additive(additive), Role::Score, place)),
            Model::Regime(_) => Err(ExportError::Unsupported {
                level: part.spec.name.clone(),
                what: "a choice of models by regime",
                target: target.extension(),
                instead: "choose another model, or `rust`, `c`, `java`, `go` or `json`",
            }),
        }
    }

    fn new(part: &Part<'a>, form: Form<'a>, role: Role, place: Option<usize>) -> Self {
        let &Part { spec, named, pick } = part;
        let taken = match pick {
            Pick::Mode => "the highest wins, the first of equals",
            Pick::Median => "the candidate at the median of softmax(score / temperature) is taken",
        };
        let spec = if role == Role::Pair { Cow::Owned(Pairwise::level(spec)) } else { Cow::Borrowed(spec) };
        Self { spec, name: &named.name, temperature: named.temperature, form, taken, role, place }
    }
}
