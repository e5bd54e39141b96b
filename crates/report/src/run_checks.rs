//! Whether the figures of a run directory make sense: what is wrong, in words that name the place.

use sched_distill_core::{
    figure::{Compared, Figure},
    model::Student,
};
use sched_distill_judge::{
    augment::Step,
    evaluator::{ClosedLoop, Departures, Disagreement, Estimate, Estimates, Evaluation, FidelityRow, Lead, Schedule},
};
use sched_distill_learn::SizeFront;
use sched_distill_pipeline::{Advice, Attacks, Latency, Live, LivePolicy};

/// Beyond this, differences of figures overflow or lose all digits.
pub(super) const HUGE: f64 = 1e15;

/// Quantiles of a distribution: 0, 1/100, ..., 1.
const QUANTILES: usize = 101;

/// A figure must be finite and lie in its interval.
pub(super) fn estimate(place: &str, figure: &str, e: &Estimate) -> Result<(), String> {
    let fine = |v: f64| v.abs() <= HUGE;
    if fine(e.value) && fine(e.low) && fine(e.high) && e.low <= e.high {
        return Ok(());
    }
    Err(format!("{place}: {figure} is {} [{}, {}], expected a finite figure with low <= high", e.value, e.low, e.high))
}

/// Checks the named figures that there are.
fn estimates(place: &str, figures: &[(&str, Option<&Estimate>)]) -> Result<(), String> {
    figures.iter().try_for_each(|(name, figure)| figure.map_or(Ok(()), |e| estimate(place, name, e)))
}

/// Checks an evaluation of the run's student.
///
/// # Errors
///
/// The first figure that makes no sense.
pub(super) fn evaluation(evaluation: &Evaluation, student: &Student) -> Result<(), String> {
    if !evaluation.student.is_empty() && !student.has_hash(&evaluation.student) {
        return Err(format!(
            "it is about the student with SHA-256 {}, but student.json has {}; evaluate that one with `distill evaluate`",
            evaluation.student,
            student.file_hash()
        ));
    }
    figures(evaluation)
}

/// Figures of whichever student.
pub(super) fn figures(evaluation: &Evaluation) -> Result<(), String> {
    evaluation.fidelity.iter().try_for_each(fidelity)?;
    evaluation.leads.iter().try_for_each(lead)?;
    evaluation.departures.iter().try_for_each(departures)?;
    evaluation.disagreement.iter().try_for_each(disagreement)?;
    evaluation.closed_loop.iter().chain(&evaluation.other_workloads).try_for_each(closed_loop)
}

/// Checks what the owner of a history is told.
///
/// # Errors
///
/// The first figure that makes no sense.
pub(super) fn advice(advice: &Advice) -> Result<(), String> {
    let shares = advice.replay.iter().flat_map(|replay| [replay.median, replay.p90]);
    if let Some(share) = shares.into_iter().find(|share| !(0.0..=HUGE).contains(share)) {
        return Err(format!("the error of a replay is {share}, expected a share of at least 0"));
    }
    if !(0.0..=HUGE).contains(&advice.period.span_ms) {
        return Err(format!("the last period takes {} ms, expected a time of at least 0", advice.period.span_ms));
    }
    closed_loop(&advice.closed_loop)
}

/// Checks what was measured in an engine: schedulers of a load were met by the same queries, and all times are some.
///
/// # Errors
///
/// The first thing that makes no sense.
pub(super) fn live(live: &Live) -> Result<(), String> {
    if live.format_version != Live::FORMAT {
        return Err(format!(
            "format version {} is not supported (this build reads {})",
            live.format_version,
            Live::FORMAT
        ));
    }
    for cell in &live.cells {
        let Some(first) = cell.policies.first().filter(|p| p.runs.iter().any(|run| !run.queries.is_empty())) else {
            return Err(format!("cell `{}` has no run, expected some of each scheduler", cell.name));
        };
        let place = |policy: &LivePolicy| format!("cell `{}`, {}", cell.name, policy.name);
        for policy in &cell.policies {
            let alike = policy.runs.len() == first.runs.len()
                && policy.runs.iter().zip(&first.runs).all(|(run, other)| {
                    run.seed == other.seed && run.queries.iter().map(|q| &q.0).eq(other.queries.iter().map(|q| &q.0))
                });
            if !alike {
                return Err(format!(
                    "{}: its runs are not those of {}, expected the same seeds and queries",
                    place(policy),
                    first.name
                ));
            }
            for run in &policy.runs {
                let simulated = run.simulated_ms.as_deref().unwrap_or_default();
                if run.simulated_ms.is_some() && simulated.len() != run.queries.len() {
                    let (found, wanted) = (simulated.len(), run.queries.len());
                    return Err(format!(
                        "{}, seed {}: {found} simulated times for {wanted} queries",
                        place(policy),
                        run.seed
                    ));
                }
                let times = run.queries.iter().map(|(_, ms)| ms).chain(simulated);
                if let Some(ms) = times.into_iter().find(|ms| !(0.0..=HUGE).contains(*ms)) {
                    return Err(format!(
                        "{}, seed {}: a query takes {ms} ms, expected a time of at least 0",
                        place(policy),
                        run.seed
                    ));
                }
            }
        }
    }
    Ok(())
}

fn fidelity(r: &FidelityRow) -> Result<(), String> {
    let place = format!("fidelity of `{}` at level `{}`, kind `{}`", r.scorer, r.level, r.kind);
    let figures = [
        ("top1", Some(&r.top1)),
        ("top2", Some(&r.top2)),
        ("top3", Some(&r.top3)),
        ("regret", r.regret.as_ref()),
        ("cross_entropy", r.cross_entropy.as_ref()),
        ("kendall", r.kendall.as_ref()),
        ("executed", r.executed.as_ref()),
        ("amount_error", r.amount_error.as_ref()),
    ];
    estimates(&place, &figures)
}

fn lead(r: &Lead) -> Result<(), String> {
    let place = format!("lead over `{}` at level `{}`, kind `{}`", r.over, r.level, r.kind);
    estimates(&place, &[("top1", Some(&r.top1)), ("top3", Some(&r.top3)), ("regret", r.regret.as_ref())])
}

fn departures(d: &Departures) -> Result<(), String> {
    estimates("departures", &[("joint", Some(&d.joint)), ("executed", Some(&d.executed))])?;
    d.rows.iter().try_for_each(|r| {
        let place = format!("departures at level `{}`, kind `{}`", r.level, r.kind);
        estimates(&place, &[("share", Some(&r.share))])
    })
}

fn disagreement(d: &Disagreement) -> Result<(), String> {
    let place = format!("disagreement at level `{}`", d.level);
    estimates(&place, &[("disagree", Some(&d.disagree)), ("regret", d.regret.as_ref())])?;
    d.regions.iter().try_for_each(|r| {
        let figures = [
            ("share", Some(&r.share)),
            ("disagree", Some(&r.disagree)),
            ("regret", r.regret.as_ref()),
            ("share_of_disagreement", r.share_of_disagreement.as_ref()),
            ("share_of_regret", r.share_of_regret.as_ref()),
            ("instead", r.instead.as_ref().map(|i| &i.share)),
        ];
        estimates(&format!("{place}, region `{}`", r.rule), &figures)
    })
}

fn closed_loop(result: &ClosedLoop) -> Result<(), String> {
    for p in &result.policies {
        let place = format!("policy `{}`", p.policy);
        named(&place, &result.figures, &p.figures)?;
        // Figures of which there are ratios are not negative.
        let least = if result.objective().compared == Compared::Ratio { 0.0 } else { -HUGE };
        if let Some(bad) = p.episode_objective.iter().flatten().find(|value| !(least..=HUGE).contains(*value)) {
            return Err(format!("{place}: episode_objective holds {bad}, expected numbers from {least} to {HUGE:e}"));
        }
        let time = |t: &f64| (0.0..=HUGE).contains(t);
        let q = &p.completion_quantiles_ms;
        if !(q.is_empty() || q.len() == QUANTILES && q.iter().all(time) && q.is_sorted()) {
            return Err(format!(
                "{place}: completion_quantiles_ms holds {} numbers, expected 0 or {QUANTILES} times in order",
                q.len()
            ));
        }
    }
    result
        .comparisons
        .iter()
        .try_for_each(|c| named(&format!("`{}` compared with `{}`", c.policy, c.baseline), &result.figures, &c.figures))
}

/// Checks estimates by name: they are of figures that the comparison declares.
fn named(place: &str, declared: &[Figure], found: &Estimates) -> Result<(), String> {
    if let Some(name) = found.keys().find(|name| declared.iter().all(|f| f.name != **name)) {
        let names: Vec<&str> = declared.iter().map(|f| &*f.name).collect();
        return Err(format!("{place}: figure `{name}` is not declared; declared are {}", names.join(", ")));
    }
    let figures: Vec<(&str, Option<&Estimate>)> = found.iter().map(|(name, e)| (&**name, e.as_ref())).collect();
    estimates(place, &figures)
}

/// Times are numbers that are not negative.
pub(super) fn latency(latency: &Latency) -> Result<(), String> {
    match latency.policies.iter().find(|p| !p.median_us.is_finite() || p.median_us < 0.0) {
        Some(p) => Err(format!("policy {}: a median of {} µs; a number from 0 is needed", p.policy, p.median_us)),
        None => Ok(()),
    }
}

/// Checks schedules: runs within their lanes, all of the same episode.
///
/// # Errors
///
/// The first one that makes no sense.
pub(super) fn schedules(schedules: &[Schedule]) -> Result<(), String> {
    for s in schedules {
        for (i, r) in s.runs.iter().enumerate() {
            if !(0.0 <= r.start_ms && r.start_ms <= r.end_ms && r.end_ms <= HUGE && r.lane < s.lanes) {
                return Err(format!(
                    "policy `{}`: run {i} is in lane {} from {} to {} ms, expected 0 <= start <= end and a lane below {}",
                    s.policy, r.lane, r.start_ms, r.end_ms, s.lanes
                ));
            }
        }
    }
    if let Some(other) = schedules.iter().find(|s| s.episode != schedules[0].episode) {
        return Err(format!(
            "policy `{}` ran episode {}, but `{}` ran episode {}; schedules are compared on the same episode",
            other.policy, other.episode, schedules[0].policy, schedules[0].episode
        ));
    }
    Ok(())
}

/// Checks attacks: figures that make sense, and budgets that they are of.
///
/// # Errors
///
/// The first one that does not.
pub(super) fn attacks(attacks: &Attacks) -> Result<(), String> {
    for s in &attacks.schedulers {
        let place = format!("attack on `{}`", s.policy);
        estimates(&place, &[("to_teacher", s.to_teacher.as_ref())])?;
        for f in &s.figures {
            if f.budget >= s.params.budgets.len() {
                return Err(format!("{place}: budget {} is not among the {} of it", f.budget, s.params.budgets.len()));
            }
            let net = |i: usize| f.net.as_ref().map(|net| &net[i]);
            let figures = [
                ("sooner", Some(&f.sooner)),
                ("much_sooner", Some(&f.much_sooner)),
                ("change", Some(&f.change)),
                ("change_if_sooner", f.change_if_sooner.as_ref()),
                ("net", net(0)),
                ("net", net(1)),
                ("net", net(2)),
                ("others", f.others.as_ref()),
                ("first_minute", Some(&f.first_minute)),
            ];
            estimates(&place, &figures)?;
        }
        schedules(s.example.as_ref().map_or(&[][..], |example| example))?;
    }
    for c in &attacks.certificates {
        let place = format!("certificates of {}", c.name);
        let shares = c.certified.shares.iter();
        shares
            .map(|s| [("certified", Some(&s.certified)), ("pairs", Some(&s.pairs))])
            .try_for_each(|all| estimates(&place, &all))?;
    }
    Ok(())
}

/// Checks a front: sizes of 1 or more and figures that make sense.
///
/// # Errors
///
/// The first one that does not.
pub(super) fn front(front: &SizeFront) -> Result<(), String> {
    for level in &front.levels {
        for model in &level.models {
            if model.size == 0 {
                return Err(format!(
                    "level `{}`: a model of `{}` has size 0, expected 1 or more",
                    level.level, model.learner
                ));
            }
            model.fidelity.iter().try_for_each(fidelity)?;
        }
    }
    front.totals.iter().try_for_each(|t| {
        if t.size == 0 {
            return Err(format!("`{}` has size 0, expected 1 or more", t.student));
        }
        estimates(&format!("student of size {}", t.size), &[("to_teacher", t.to_teacher.as_ref())])
    })
}

/// Checks the steps of a search: gains are shares of a time taken away, so at most 1.
///
/// # Errors
///
/// The first one that makes no sense.
pub(super) fn steps(steps: &[Step]) -> Result<(), String> {
    let share = |v: f64| (-HUGE..=1.0).contains(&v);
    for (i, s) in steps.iter().enumerate() {
        let fine =
            share(s.validation_gain) && s.train_gain.is_none_or(share) && (0.0..=HUGE).contains(&s.standard_error);
        if !fine {
            return Err(format!(
                "step {i}, `{}`: gain {} with standard error {}, expected a gain of at most 1 and an error of 0 or more",
                s.what, s.validation_gain, s.standard_error
            ));
        }
    }
    Ok(())
}
