//! What attacks and certificates come to, in a sentence each. `tests/integration/report/gaming.rs` says what each needs.

use super::{Victim, elsewhere, share};
use crate::{
    plain::capital,
    run_dir::RunDir,
    words::{list, number, percent},
};
use sched_distill_judge::{
    attack::{ENOUGH, Judged, Method, MethodFigures},
    evaluator::{Estimate, Role},
};
use sched_distill_pipeline::CertifiedStudent;

/// Whether a user can game the student, and whether its teacher is harder or easier to game.
pub(super) fn lead(victims: &[Victim<'_>]) -> String {
    let of_role = |role| victims.iter().find(|v| v.scheduler.role == Some(role) && v.is_usual);
    let Some(student) = of_role(Role::Student) else {
        return "Whether users can game the student was not tried.".to_owned();
    };
    let episodes = student.scheduler.params.episodes;
    let Some(own) = first(student) else { return "Whether users can game the student was not tried.".to_owned() };
    if episodes < ENOUGH {
        return format!(
            "Whether users can game the student is open: {episodes} episodes tell too little, {ENOUGH} are the least."
        );
    }
    let budget = match student.scheduler.params.budgets.first().map_or(1, |budget| budget.edits) {
        1 => "one change".to_owned(),
        n => format!("{n} changes"),
    };
    let Some((random, verdict)) = random(student).and_then(|random| Some((random, Judged::of(own, random)?))) else {
        return format!(
            "Whether users can game the student is open: no random edits were made beside, to tell what chance does; by {budget} one is \
             served sooner in {} of cases.",
            share(&own.sooner)
        );
    };
    let of_how = "of how she describes her job, a user is served sooner under the student";
    let (often, chance) = (share(&own.sooner), percent(random.sooner.value));
    let mean = percent(-own.change.value);
    let said = match verdict {
        Judged::EvenByChance => format!(
            "Yes, even by chance: where the best of {} random edits is kept, a user is served sooner under the student in {} of cases, and {} \
             sooner in the mean over all cases.",
            student.scheduler.params.trials,
            share(&random.sooner),
            percent(-random.change.value)
        ),
        Judged::Gains => format!(
            "Yes: by {budget} {of_how} in {often} of cases, where chance does it in {chance}, and {mean} sooner in the mean over all cases."
        ),
        Judged::OnlyOften => format!(
            "Now and then: by {budget} {of_how} in {often} of cases, where chance does it in {chance}; the mean gain over all cases, {mean}, \
             is not for sure more than that of chance.",
        ),
        Judged::NowAndThen => format!(
            "Now and then: by {budget} {of_how} in {often} of cases, where chance does it in {chance}; in the mean over all cases nothing is \
             gained for sure.",
        ),
        Judged::No => format!(
            "Not clearly: by {budget} a user is served sooner under the student in {often} of cases, where chance does it in {chance}, and \
             the difference may be luck.",
        ),
    };
    let teacher = of_role(Role::Teacher).filter(|t| t.scheduler.params == student.scheduler.params);
    let Some(other) = teacher.and_then(first) else { return said };
    let compared = match apart(&own.sooner, &other.sooner) {
        Some(true) => "harder to game than",
        Some(false) => "easier to game than",
        None => "not clearly harder or easier to game than",
    };
    format!("{said} It is {compared} its teacher ({}).", percent(other.sooner.value))
}

/// Whether the first is clearly less than the second, or clearly more.
fn apart(a: &Estimate, b: &Estimate) -> Option<bool> {
    match (a.high < b.low, a.low > b.high) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}

/// The figures of the first budget.
fn first<'v>(victim: &'v Victim<'_>) -> Option<&'v MethodFigures> {
    victim.own().into_iter().find(|f| f.budget == 0)
}

fn random<'v>(victim: &'v Victim<'_>) -> Option<&'v MethodFigures> {
    let found = victim.of(Method::Random);
    found.into_iter().find(|f| f.budget == 0 && f.method != victim.method)
}

/// Of how many choices of the hardest kind it is proved that no other job can take them.
pub(super) fn certified(run: &RunDir) -> Option<String> {
    // Of numbers, at questions that could be made again.
    let is_meant = |c: &&CertifiedStudent| {
        let of_numbers = c.certified.shares.iter().any(|s| s.sorts.is_empty());
        run.student.has_hash(&c.student)
            && of_numbers
            && c.certified.in_boxes.is_none()
            && elsewhere(run, &c.workload).is_none()
    };
    let own = run.attacks.as_ref()?.certificates.iter().find(is_meant)?;
    let hardest = &own.certified.shares.iter().rfind(|c| c.sorts.is_empty())?.kind;
    let of: Vec<String> = own
        .certified
        .shares
        .iter()
        .filter(|c| c.kind == *hardest && c.sorts.is_empty())
        .map(|c| format!("{} of them within ±\u{a0}{}\u{a0}%", percent(c.certified.value), number(100.0 * c.share)))
        .collect();
    let contradicted: u64 = own.certified.tried.iter().map(|t| t.contradicted).sum();
    if contradicted > 0 {
        return Some(format!(
            "Certificates of the student are wrong: {contradicted} edits took choices that none should take."
        ));
    }
    let place = run.plain().place(hardest, true);
    Some(capital(&format!(
        "{place}no other job can take the choice by declaring other numbers, in that one state: proved for {}.",
        list(&of)
    )))
}
