//! How students are fitted: the options of every command that fits.

use crate::{
    distiller::{FitParams, Learner},
    model::Structure,
    text::without_mark,
};
use anyhow::{Context, Result};
use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use std::path::{Path, PathBuf};

/// How a student is fitted, for every command that fits.
#[derive(Args)]
pub(super) struct FitOptions {
    /// Models to fit, e.g. tree,spline-logit (docs/learner.md)
    #[arg(
        long = "learner", value_parser = learner(), value_delimiter = ',', value_name = "NAME", hide_possible_values = true,
        long_help = learner_help(), help_heading = "Models"
    )]
    learners: Vec<Learner>,
    /// Largest number of leaves per level, of terms for spline-logit [default: 64]
    #[arg(long, value_name = "N", help_heading = "Models")]
    max_leaves: Option<usize>,
    /// Choices learnt from per level at most, drawn by their weights [default: all]
    #[arg(long, value_name = "N", help_heading = "Models", hide_short_help = true)]
    max_choices: Option<usize>,
    /// Which of the fitted models schedules [default: the first learner]
    #[arg(long = "use", value_name = "NAME", help_heading = "Models", hide_short_help = true)]
    used: Option<String>,
    /// Features that logits may use alone [default: all that differ within a choice]
    #[arg(long, value_delimiter = ',', value_name = "NAME", help_heading = "Models", hide_short_help = true)]
    features: Vec<String>,
    /// Whom to trust: `measured` leaves out what users declare, `LEVEL=measured` at that level [default: all]
    ///
    /// Who controls a feature says `distill list features`.
    #[arg(long, value_name = "TRUST", value_parser = FitParams::trust, value_delimiter = ',', help_heading = "Models", hide_short_help = true)]
    trust: Vec<String>,
    /// Whether the student takes the most probable stage of the most probable job (hierarchical) or of all jobs, as
    /// Decima does (flat) [default: hierarchical]
    #[arg(long, value_name = "STRUCTURE", value_parser = structure(), help_heading = "Models", hide_short_help = true)]
    structure: Option<Structure>,
    /// JSON file with what studies vary besides: target, engine, min_gain, balance, ridge, interactions and others
    /// (docs/learner.md)
    #[arg(long, value_name = "FILE", help_heading = "Models", hide_short_help = true)]
    params: Option<PathBuf>,
}

/// What there is to fit.
pub(super) fn learner_help() -> String {
    let names = Learner::ALL.map(Learner::name).join(", ");
    format!(
        "Models to fit, comma-separated or repeated (docs/learner.md): {names}. Those of linfa are there for comparison."
    )
}

/// Parses the name of a learner.
pub(super) fn learner() -> impl TypedValueParser<Value = Learner> {
    let named = |name: String| Learner::ALL.into_iter().find(|l| l.name() == name);
    PossibleValuesParser::new(Learner::ALL.map(Learner::name))
        .map(move |name| named(name).expect("the parser lets no other names through"))
}

/// Parses the name of a structure.
pub(super) fn structure() -> impl TypedValueParser<Value = Structure> {
    let named = |name: String| Structure::ALL.into_iter().find(|s| s.name() == name);
    PossibleValuesParser::new(Structure::ALL.map(Structure::name))
        .map(move |name| named(name).expect("the parser lets no other names through"))
}

/// Parses a total size.
pub(super) fn size(text: &str) -> Result<usize, String> {
    let found: Option<usize> = text.parse().ok();
    found.filter(|n| (1..=4096).contains(n)).ok_or_else(|| "expected a number from 1 to 4096".to_owned())
}

/// Parameters, and whether learners, the one that schedules, and a number of leaves were named.
#[derive(Default)]
pub(super) struct Asked {
    pub(super) params: FitParams,
    pub(super) learners: bool,
    pub(super) used: bool,
    pub(super) leaves: bool,
}

impl FitOptions {
    /// What the file says, or else the defaults, with the options above.
    pub(super) fn params(&self) -> Result<FitParams> {
        Ok(self.asked()?.params)
    }

    /// The same, and what of it was named.
    pub(super) fn asked(&self) -> Result<Asked> {
        let mut asked = self.params.as_deref().map(from_file).transpose()?.unwrap_or_default();
        if !self.learners.is_empty() {
            asked.params.learners.clone_from(&self.learners);
            (asked.learners, asked.used) = (true, false);
        }
        let params = &mut asked.params;
        if !self.features.is_empty() {
            params.features.clone_from(&self.features);
        }
        if !self.trust.is_empty() {
            params.measured_at.clone_from(&self.trust);
        }
        params.max_leaf_nodes = self.max_leaves.unwrap_or(params.max_leaf_nodes);
        asked.leaves |= self.max_leaves.is_some();
        params.max_choices = self.max_choices.or(params.max_choices);
        params.structure = self.structure.unwrap_or(params.structure);
        if let Some(used) = &self.used {
            params.used.clone_from(used);
            asked.used = true;
        } else if let (true, false, Some(first)) = (asked.learners, asked.used, params.learners.first()) {
            params.used = first.name().to_owned();
        }
        Ok(asked)
    }

    /// Files that it reads.
    pub(super) fn files(&self) -> impl Iterator<Item = &Path> {
        self.params.as_deref().into_iter()
    }

    /// The file with parameters, if there is one.
    pub(super) fn params_file(&self) -> Option<&PathBuf> {
        self.params.as_ref()
    }
}

fn from_file(path: &Path) -> Result<Asked> {
    let text = std::fs::read(path).with_context(|| format!("{}: cannot read", path.display()))?;
    let none = || format!("{}: not parameters of a fit (docs/learner.md)", path.display());
    // An object first, since a list would be taken for the parameters in order.
    let fields: serde_json::Map<String, serde_json::Value> =
        serde_json::from_slice(without_mark(&text)).with_context(none)?;
    let [learners, used, leaves] = ["learners", "use", "max_leaf_nodes"].map(|name| fields.contains_key(name));
    let params = serde_json::from_value(fields.into()).with_context(none)?;
    Ok(Asked { params, learners, used, leaves })
}
