//! How far can the rules be trusted, where are they wrong, and what does it cost?

use crate::{
    closest::{best_heuristic, best_rule, kinds},
    departures::instead,
    plain::{Plain, capital, part},
    words::{count, interval, percent, points},
};
use sched_distill_core::level::{ALL_KINDS, third_person};
use sched_distill_judge::evaluator::{Evaluation, FidelityRow, RANDOM, Region, Role, hardest_kind};

/// How many times its share of the choices a region must lose to be named.
const STANDS_OUT: f64 = 1.5;

/// How often the student makes the teacher's choice at a level, on the kind of choice where simple rules do worst, since the
/// others say little about the student: needs the student's figures there. Where one rule is always right there is nothing to
/// compare.
pub(super) fn fidelity(level: &str, rows: &[FidelityRow], plain: Plain<'_>) -> Option<String> {
    let of_level: Vec<&FidelityRow> = rows.iter().filter(|r| r.level == level).collect();
    let of_kinds = kinds(&of_level);
    let own: Vec<&str> = of_kinds.iter().copied().filter(|&k| k != ALL_KINDS || of_kinds.len() == 1).collect();
    let kind = hardest_kind(own.iter().copied(), &of_level, |_| 0.0)?;
    let hardest = of_level.iter().find(|r| r.kind == kind && r.role == Role::Student)?;
    let question = plain.question(level);
    if let Some(settled) = plain.settled(level, rows) {
        let students: Vec<&&FidelityRow> = of_level.iter().filter(|r| r.role == Role::Student).collect();
        let least = students.iter().map(|r| r.top1.value).fold(1.0, f64::min);
        // What it ranks first need not be what it takes: an amount may be a mean.
        let costs = students.iter().any(|r| r.regret.is_some_and(|e| e.value > 0.0));
        let student = match (least, costs) {
            (1.0, false) => "and so is the student".to_owned(),
            (1.0, true) => "the student ranks the same first and does not always take it".to_owned(),
            _ => format!("the student in {} or more", percent(least)),
        };
        return Some(format!("{question} One rule is {} right, {student}.", settled.how_often()));
    }
    let place = plain.place(kind, own.len() > 1);
    let mut said = format!(
        "{question} {} the teacher's choice in {} ({} choices)",
        capital(&format!("{place}the student makes")),
        interval(&hardest.top1, percent),
        count(hardest.choices as u64)
    );
    let rule = best_rule(&of_level, kind).map(|rule| {
        let name = plain.rule(level, &rule.scorer).unwrap_or_else(|| rule.scorer.clone());
        format!("the best rule on one feature ({name}) in {}", percent(rule.top1.value))
    });
    let heuristic = best_heuristic(&of_level, kind);
    let heuristic = heuristic.map(|rule| format!("the closest heuristic in {}", percent(rule.top1.value)));
    let random = of_level.iter().find(|r| r.kind == kind && r.scorer == RANDOM);
    let random = random.map(|random| format!("a random pick in {}", percent(random.top1.value)));
    let others: Vec<String> = rule.into_iter().chain(heuristic).chain(random).collect();
    if !others.is_empty() {
        said += &format!("; {}", others.join(", "));
    }
    Some(said + ".")
}

/// Where whole decisions go wrong first, what that costs, and where most of the cost is.
pub(super) fn wrong(evaluation: &Evaluation, plain: Plain<'_>) -> Vec<String> {
    whole(evaluation, plain).into_iter().chain(costliest(evaluation, plain)).collect()
}

/// Needs departures. "Most" needs half of the decisions that go wrong.
fn whole(evaluation: &Evaluation, plain: Plain<'_>) -> Option<String> {
    let departures = evaluation.departures.as_ref()?;
    let mut text =
        format!("The student takes {} of whole decisions as the teacher would", interval(&departures.joint, percent));
    let worst = departures.rows.iter().max_by(|a, b| a.share.value.total_cmp(&b.share.value));
    if let Some(worst) = worst.filter(|w| w.share.value > 0.0) {
        let wrong = 1.0 - departures.joint.value;
        let most =
            if worst.share.value >= 0.5 * wrong { "most of the others" } else { "of the others, more than elsewhere" };
        let several = departures.rows.iter().filter(|r| r.level == worst.level).count() > 1;
        let place = plain.place(&worst.kind, several);
        text += &format!(
            "; {most} first go wrong over \u{201c}{}\u{201d} {}: {} of all decisions",
            plain.question(&worst.level),
            place.trim_end_matches(", "),
            percent(worst.share.value)
        );
        text = text.replace("\u{201d} :", "\u{201d}:");
    }
    Some(text + ".")
}

/// Needs regions, and a loss beyond doubt; what is taken instead must be so in most of the choices that go wrong there.
fn costliest(evaluation: &Evaluation, plain: Plain<'_>) -> Option<String> {
    let found = evaluation.disagreement.iter().filter_map(|d| Some((d, d.regret?)));
    let (d, regret) = found.max_by(|a, b| a.1.value.total_cmp(&b.1.value)).filter(|(_, e)| e.low > 0.0)?;
    let mut text = format!(
        "It costs most over \u{201c}{}\u{201d}: what the student takes is on average {} less probable to the teacher than \
         its best candidate",
        plain.question(&d.level),
        interval(&regret, points)
    );
    // A region that loses no more than its share of the choices is no place where it goes wrong.
    let stands_out = |r: &&Region| {
        !r.conditions.is_empty()
            && r.share_of_regret.is_some_and(|e| e.low > 0.0 && e.value >= STANDS_OUT * r.share.value)
    };
    if let Some((region, share)) = d.regions.iter().find(stands_out).and_then(|r| Some((r, r.share_of_regret?))) {
        let takes = region.instead.as_ref().filter(|i| i.share.low > 0.5);
        let takes = takes.map_or(String::new(), |i| {
            let takes = instead(i, &d.level, plain);
            let does = third_person(&takes).unwrap_or_else(|| format!("{} {takes}", plain.level(&d.level).verb()));
            format!("; there the student {does}")
        });
        text += &format!(
            ". {} of that is lost in {} of the choices, where this holds: {}{takes}",
            capital(&part(share.value)),
            percent(region.share.value),
            plain.conditions(&d.level, &region.conditions)
        );
    }
    Some(text + ".")
}
