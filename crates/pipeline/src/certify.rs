//! Certificates of a student on the questions of a trace, which are made again from what its manifest says.

use super::{Caller, Entry, PipelineError, measure::check_features};
use rayon::prelude::*;
use sched_distill_core::{
    model::Student,
    rng::{Stream, hash},
    scenario::State as _,
    simulation::{EditError, Editable},
};
use sched_distill_judge::attack::certify::{
    BoxCertifier, CertifiedShare, Certifier, ChoiceCertificate, Tried, shares, try_boxes, try_edits,
};
use sched_distill_trace::{
    Manifest, Trace,
    recorder::{EpisodeId, run_episode},
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Whose choices are certified, and where.
#[derive(Clone, Debug)]
pub struct CertifyRequest<'a> {
    /// The student.
    pub student: &'a Student,
    /// Whose questions are looked at; they are made again from the policy, the workload and the seeds that it names, if these are there.
    pub trace: &'a Trace,
    /// By how much of themselves declared numbers may change, one after the other.
    pub shares: Vec<f64>,
    /// Sorts of edits that are no numbers, of which one is made; none are looked at if it is empty.
    pub sorts: Vec<String>,
    /// Edits of each job of each choice that are tried, to contradict certificates.
    pub tries: u32,
    /// Seed of these edits and of intervals.
    pub seed: u64,
}

/// What certificates come to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Certified {
    /// By share and kind of choice.
    pub shares: Vec<CertifiedShare>,
    /// By share, what was tried against them; nothing where the student was asked about every edit.
    pub tried: Vec<Tried>,
    /// Why the questions could not be made again, where they could not: then declared quantities of recorded rows are taken to lie
    /// anywhere within the share.
    #[serde(default)]
    pub in_boxes: Option<String>,
}

/// Certifies the choices among jobs at the questions of a trace.
///
/// # Errors
///
/// A student without certificates, a trace of another scenario or one that cannot be made again, a failing episode, an interruption.
pub fn certify<S: Editable>(
    scenario: &Entry<S>,
    request: &CertifyRequest<'_>,
    caller: Caller<'_>,
) -> Result<Certified, PipelineError> {
    let refused = |e: &dyn std::fmt::Display| PipelineError::Refused(e.to_string());
    let here = (S::INFO.feature_set)();
    if let Some(difference) = request.student.feature_set.difference(here) {
        return Err(refused(&format!("the student was fitted on other features than this build has: {difference}")));
    }
    check_features(request.student, request.trace)?;
    let abstains = request.trace.abstains();
    if request.student.abstains != abstains {
        let of = |abstains| if abstains { "may give nothing" } else { "always gives something" };
        return Err(refused(&format!(
            "the student {}, who decides in the trace {}: other candidates than it has",
            of(request.student.abstains),
            of(abstains)
        )));
    }
    // Whether it can be certified at all is said before any work.
    Certifier::<S>::new(request.student).map_err(|e| refused(&e))?;
    let Manifest { driver, workload, seed, split, episodes, first_episode, .. } = &request.trace.manifest;
    let again = scenario.policy(&driver.id).and_then(|policy| Ok((policy, scenario.workload(&workload.id)?)));
    let (policy, opened) = match again {
        Ok(again) => again,
        Err(why) => return in_boxes(request, S::LOOSE, &why, caller),
    };
    let mut found = Certified::default();
    let numbers = request.shares.iter().map(|share| Some(*share));
    for share in numbers.chain((!request.sorts.is_empty()).then_some(None)) {
        let what = share.map_or_else(|| request.sorts.join(", "), |share| format!("at {share}"));
        caller.watch.episodes(&format!("certifying {what}"), u64::from(*episodes));
        let one = |number: u32| -> Result<(Vec<ChoiceCertificate>, Tried), PipelineError> {
            caller.check()?;
            let mut certifier = Certifier::<S>::new(request.student).map_err(|e| refused(&e))?;
            let id = EpisodeId::new(*seed, *split, first_episode + number);
            let bits = share.unwrap_or_default().to_bits();
            let mut stream = Stream::new(hash(&[request.seed, u64::from(number), bits]), "certificates");
            let (mut choices, mut tried, mut failed) = (Vec::new(), Tried::default(), None::<EditError>);
            let run = run_episode(&opened, &mut *policy.fresh(), id, |seen, _, _| {
                if failed.is_some() || caller.check().is_err() {
                    return;
                }
                let state = S::State::of(seen);
                let mut look = || {
                    let Some(share) = share else {
                        choices.extend(certifier.one_edit(&state, &request.sorts, caller.stop)?);
                        return Ok(());
                    };
                    let Some(choice) = certifier.choice(&state, share)? else { return Ok(()) };
                    try_edits(&mut certifier, &state, &choice, (share, request.tries), &mut stream, &mut tried)?;
                    choices.push(choice);
                    Ok(())
                };
                failed = look().err();
            });
            caller.check()?;
            if let Some(error) = failed {
                return Err(refused(&error));
            }
            run.map_err(|e| PipelineError::Attack(e.into()))?;
            caller.watch.episode(choices.len() as u64);
            Ok((choices, tried))
        };
        let all: Vec<(Vec<ChoiceCertificate>, Tried)> =
            (0..*episodes).into_par_iter().map(one).collect::<Result<_, _>>()?;
        caller.watch.done();
        let (choices, tried): (Vec<Vec<ChoiceCertificate>>, Vec<Tried>) = all.into_iter().unzip();
        let (of, sorts) = share.map_or((0.0, &request.sorts[..]), |share| (share, &[]));
        found.shares.extend(shares((of, sorts), &choices, S::INFO.kinds, request.seed));
        if share.is_none() {
            continue;
        }
        found.tried.push(tried.into_iter().fold(Tried::default(), Tried::and));
    }
    Ok(found)
}

/// Certifies recorded choices as they stand in the trace.
fn in_boxes(
    request: &CertifyRequest<'_>,
    loose: &'static [(&'static str, &'static str)],
    why: &PipelineError,
    caller: Caller<'_>,
) -> Result<Certified, PipelineError> {
    let refused = |e: &dyn std::fmt::Display| PipelineError::Refused(e.to_string());
    if !request.sorts.is_empty() {
        let sorts = request.sorts.join(", ");
        return Err(refused(&format!(
            "{sorts}: rows do not tell what such edits do, and the questions cannot be made again: {why}"
        )));
    }
    let certifier = BoxCertifier::new(request.student, loose).map_err(|e| refused(&e))?;
    let table = request.trace.level(&request.student.feature_set.levels[0].name)?;
    let kinds: Vec<&str> = table.kinds.iter().map(String::as_str).collect();
    let mut found = Certified { in_boxes: Some(error_chain(why)), ..Certified::default() };
    for &share in &request.shares {
        let mut stream = Stream::new(hash(&[request.seed, share.to_bits()]), "boxes");
        let mut tried = Tried::default();
        let mut by_episode: BTreeMap<u32, Vec<ChoiceCertificate>> = BTreeMap::new();
        for i in 0..table.choices.len() {
            caller.check()?;
            let choice = table.choice(i);
            let Some(own) = certifier.choice(choice, share) else { continue };
            tried = tried.and(try_boxes(&certifier, choice, &own, (share, request.tries), &mut stream));
            by_episode.entry(choice.header.episode).or_default().push(own);
        }
        let choices: Vec<Vec<ChoiceCertificate>> = by_episode.into_values().collect();
        found.shares.extend(shares((share, &[]), &choices, &kinds, request.seed));
        found.tried.push(tried);
    }
    Ok(found)
}

/// An error with its causes.
fn error_chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |e| e.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
