//! What went wrong on one line, in the words of who types commands: libraries know parameters, the program has options.

use crate::{
    augment::AugmentError,
    distiller::LoopError,
    model::export::ExportError,
    pipeline::PipelineError,
    recorder::{RecordError, RolloutError},
    serve::{AddressError, ServeError},
    trace::TraceError,
};
use std::error::Error;

/// The chain of causes on one line, without repeating what a cause already says.
pub(super) fn one_line(error: &anyhow::Error) -> String {
    let mut line = String::new();
    for cause in error.chain() {
        let text = with_options(cause);
        if !line.contains(&text) {
            if !line.is_empty() {
                line.push_str(": ");
            }
            line.push_str(&text);
        }
    }
    line
}

/// The text of a cause with the options that it is about.
fn with_options(cause: &(dyn Error + 'static)) -> String {
    let text = cause.to_string();
    let options = None
        .or_else(|| cause.downcast_ref().and_then(of_step))
        .or_else(|| cause.downcast_ref().and_then(of_loop))
        .or_else(|| cause.downcast_ref().and_then(of_search))
        .or_else(|| cause.downcast_ref().and_then(of_trace))
        .or_else(|| cause.downcast_ref().and_then(of_address))
        .or_else(|| cause.downcast_ref().and_then(of_export));
    match options {
        None => text,
        Some(Options::After(more)) => text + &more,
        Some(Options::Within(words, option)) => format!("--{}", text.replacen(&words, &option, 1)),
        Some(Options::Named(parameter)) => {
            format!("--{}{}", parameter.replace('_', "-"), text.strip_prefix(parameter).unwrap_or_default())
        }
    }
}

/// Where the options stand that belong to a text.
enum Options {
    After(String),
    /// Before all of it, and in place of some words.
    Within(String, String),
    /// In place of the parameter that it begins with.
    Named(&'static str),
}

fn after(text: impl Into<String>) -> Option<Options> {
    Some(Options::After(text.into()))
}

// What is transparent has the text of what it holds, which is no cause of its own.
fn of_step(error: &PipelineError) -> Option<Options> {
    use PipelineError as E;
    match error {
        E::NoValidation(_) | E::OneEpisode => after(" (--validation)"),
        E::OutOfReach { .. } | E::NoneWithin(_) => after(" (--max-size)"),
        E::NoCombination(_) => after(" with --by"),
        E::NoRule(_) => after(" with --rule NAME=RULE"),
        E::OtherSearch(_) | E::OtherAttack(_) => after("; give --force to replace it, or -o for another folder"),
        E::AttackedEpisode { resumed: true, .. } => after(" (--force: all of them)"),
        E::AttackedEpisode { resumed: false, .. } => after(" with --force"),
        E::NotMeasured(run) => {
            after(format!("; `distill evaluate STUDENT TRACE -t TEACHER --run {}` does that", run.display()))
        }
        E::NoRegions(_) => Some(Options::Named("disagreement")),
        E::Parameter { parameter, .. } => Some(Options::Named(parameter)),
        E::Trace(error) | E::Record(RecordError::Trace(error)) => of_trace(error),
        E::Loop(error) => of_loop(error),
        E::Augment(error) => of_search(error),
        E::Rollout(RolloutError::NoReference { .. }) => after(" (--reference)"),
        E::Serve(ServeError::Address(error)) => of_address(error),
        _ => None,
    }
}

fn of_loop(error: &LoopError<RecordError>) -> Option<Options> {
    match error {
        LoopError::PlanDiffers { .. } => after(", or pass --force"),
        LoopError::Trace(error) | LoopError::Rollouts(RecordError::Trace(error)) => of_trace(error),
        _ => None,
    }
}

fn of_search(error: &AugmentError) -> Option<Options> {
    match error {
        AugmentError::Budget { validation, .. } => Some(Options::Within(
            format!("{validation} validation episodes"),
            format!("--validation-episodes {validation}"),
        )),
        AugmentError::Journal { .. } => after(" (--force)"),
        _ => None,
    }
}

fn of_trace(error: &TraceError) -> Option<Options> {
    match error {
        TraceError::PlanDiffers { .. } => after(" or pass --force to record over it"),
        _ => None,
    }
}

fn of_address(error: &AddressError) -> Option<Options> {
    match error {
        AddressError::Remote { .. } => after(" (--allow-remote, with --token-file)"),
        AddressError::Open { .. } => after(" (--token-file)"),
        _ => None,
    }
}

fn of_export(error: &ExportError) -> Option<Options> {
    match error {
        ExportError::Unsupported { what: "a guard", .. } => after(" (`distill patch --drop-guard` takes it out)"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;

    #[test]
    fn options_stand_where_they_belong() {
        let said = |error: PipelineError| one_line(&anyhow::Error::from(error));
        let why = "there is no rule `x`".to_owned();
        let parameter = |parameter, given| PipelineError::Parameter { parameter, given, why: why.clone() };
        assert_eq!(said(parameter("why_not", Some("7".to_owned()))), "--why-not 7: there is no rule `x`");
        assert_eq!(said(parameter("exceptions", None)), "--exceptions: there is no rule `x`");
        assert!(said(PipelineError::OneEpisode).ends_with("or give a validation trace (--validation)"));
        assert!(said(PipelineError::NoRegions("a".into())).starts_with("--disagreement needs two episodes"));
        let plan = || TraceError::PlanDiffers { dir: "a".into(), difference: "`seed`".to_owned() };
        for nested in [
            PipelineError::Trace(plan()),
            PipelineError::Record(RecordError::Trace(plan())),
            PipelineError::Loop(LoopError::Rollouts(RecordError::Trace(plan()))),
        ] {
            assert!(said(nested).ends_with("`seed`; remove it or pass --force to record over it"));
        }
        let chain = Err::<(), _>(plan()).context("the demo").unwrap_err();
        assert!(one_line(&chain).starts_with("the demo: a: holds") && one_line(&chain).ends_with("over it"));
    }
}
