//! What the scheduler does, how far the rules can be trusted, and what that costs, in a few sentences made from the figures
//! alone.

use super::{
    departures::{conditions, instead},
    fidelity::{best_heuristic, best_rule, kinds, levels},
    goal,
    holds_up::{spoken, stalled},
    likeness::closest,
    rules,
    run_dir::{RunDir, brief},
    words::{count, interval, list, percent},
};
use sched_distill_core::{
    figure::Figure,
    level::{ALL_KINDS, FLAG},
    model::Student,
};
use sched_distill_toolkit::{
    evaluator::{ClosedLoop, Estimate, FidelityRow, Role, hardest_kind},
    explainer::{LevelExplanation, Weight},
};
use serde::Serialize;

/// Families that are named.
const NAMED: usize = 3;

/// A sentence and the section that has its evidence.
#[derive(Debug, Serialize)]
pub(super) struct Sentence {
    /// What it answers.
    pub(super) question: &'static str,
    pub(super) text: String,
    anchor: &'static str,
}

/// The head of the report: one paragraph for each of a reader's first questions.
pub(super) fn sentences(run: &RunDir, sections: &[rules::Section]) -> Vec<Sentence> {
    let rows = &run.evaluation.fidelity;
    let explained = run.explanation.as_ref().map_or(&[][..], |e| &e.levels);
    let say = |question, anchor, text: String| Sentence { question, text, anchor };
    let mut said = Vec::new();
    let preferences: Vec<String> = explained.iter().filter_map(|l| preference(l, rows, &run.student)).collect();
    let preferences = if preferences.is_empty() { the_rules(sections).into_iter().collect() } else { preferences };
    said.extend(joined(preferences).map(|text| say("What goes first, and why?", "importance", text)));
    let alike: Vec<String> = explained.iter().take(1).filter_map(|l| likeness(l, rows)).collect();
    said.extend(joined(alike).map(|text| say("Is it just a known heuristic?", "likeness", text)));
    let trust = levels(rows).into_iter().filter_map(|level| {
        let rows: Vec<&FidelityRow> = rows.iter().filter(|r| r.level == level).collect();
        fidelity(level, &rows)
    });
    said.extend(joined(trust.collect()).map(|text| say("How far can the rules be trusted?", "trust", text)));
    said.extend(wrong(run).map(|text| say("Where are they wrong, and what does it cost?", "trust", text)));
    let schedules = match &run.evaluation.closed_loop {
        Some(result) => scheduling(result),
        None => vec!["The student was not run as a scheduler.".to_owned()],
    };
    said.extend(joined(schedules).map(|text| say("Does it hold up as a scheduler?", "holds-up", text)));
    said
}

fn joined(sentences: Vec<String>) -> Option<String> {
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

/// What was watched, for the line above the sentences.
pub(super) fn what_was_run(run: &RunDir) -> String {
    let splits: Vec<String> = run
        .info
        .splits
        .iter()
        .map(|s| format!("{} decisions of {} {} episodes", count(s.decisions), count(s.episodes), s.split))
        .collect();
    let amount = if splits.is_empty() { String::new() } else { format!(" over {}", list(&splits)) };
    format!(
        "The scheduler {} was watched on the workload {}{amount}; what it did was put into {} of {} terms in all.",
        brief(&run.info.teacher.id),
        brief(&run.info.workload),
        if run.student.levels.len() == 1 { "one model" } else { "one model per level" },
        run.student.size()
    )
}

/// The kind of choice of an explained level in which the scheduler really chooses.
fn hardest_explained<'a>(level: &'a LevelExplanation, rows: &[FidelityRow]) -> Option<&'a str> {
    let of_level: Vec<&FidelityRow> = rows.iter().filter(|r| r.level == level.level).collect();
    let kinds = level.sample.iter().filter(|k| k.choices > 0).map(|k| k.kind.as_str());
    hardest_kind(kinds, &of_level, |kind| closest(level, kind).map_or(0.0, |l| l.teacher.value))
}

/// `At level job, on free choices, what counts in a candidate's favour is small remaining work (52 %), ...`: the parts in what
/// moves scores.
fn preference(level: &LevelExplanation, rows: &[FidelityRow], student: &Student) -> Option<String> {
    let kind = hardest_explained(level, rows)?;
    let of = |f: &'_ Weight| f.by_kind.iter().find(|k| k.kind == kind).cloned();
    let total: f64 = level.families.iter().filter_map(of).map(|k| k.share).sum();
    let mut families: Vec<_> =
        level.families.iter().filter_map(|f| Some((f, of(f)?))).filter(|(_, k)| k.share > 0.0).collect();
    families.sort_by(|a, b| b.1.share.total_cmp(&a.1.share));
    let spec = student.feature_set.level(&level.level)?;
    let named: Vec<String> = families
        .iter()
        .take(NAMED)
        .map(|(family, k)| {
            let name = family.name.replace('_', " ");
            let flag = spec.features.iter().any(|f| f.name == family.name && f.unit == FLAG);
            let share = percent(k.share / total);
            // Nearer to the mean than this, it is a matter of the other features.
            match k.teacher {
                v if flag && v > 0.1 => format!("that \u{201c}{name}\u{201d} is true ({share})"),
                v if flag && v < -0.1 => format!("that \u{201c}{name}\u{201d} is false ({share})"),
                v if v < -0.1 => format!("small {name} ({share})"),
                v if v > 0.1 => format!("large {name} ({share})"),
                _ => format!("{name}, now small, now large ({share})"),
            }
        })
        .collect();
    let kinds = level.sample.iter().filter(|k| k.choices > 0).count();
    let place = if kinds > 1 { format!(", on {kind} choices") } else { String::new() };
    (!named.is_empty())
        .then(|| format!("At level {}{place}, what counts in a candidate's favour is {}.", level.level, list(&named)))
}

/// Heuristics that are named behind the closest one.
const NEXT_CLOSEST: usize = 3;

/// Whether a heuristic says it all.
fn likeness(level: &LevelExplanation, rows: &[FidelityRow]) -> Option<String> {
    let kind = hardest_explained(level, rows)?;
    let best = closest(level, kind)?;
    let mine = rows.iter().find(|r| r.level == level.level && r.kind == kind && r.role == Role::Student);
    let verdict = match (mine, best.teacher) {
        (Some(r), e) if e.low > r.top1.high => "Yes, and closer than the rules found here:",
        (Some(r), e) if e.high >= r.top1.low => "Nearly:",
        (_, e) if e.value >= 0.9 => "Nearly:",
        _ => "No:",
    };
    let rules = mine.map_or(String::new(), |r| format!("; the rules found here do in {}", interval(&r.top1, percent)));
    let mut others: Vec<_> = level.likeness.iter().filter(|l| l.kind == kind && l.rule != best.rule).collect();
    others.sort_by(|a, b| b.teacher.value.total_cmp(&a.teacher.value));
    let others: Vec<String> =
        others.iter().take(NEXT_CLOSEST).map(|l| format!("{} in {}", l.rule, percent(l.teacher.value))).collect();
    let others = if others.is_empty() { String::new() } else { format!(" ({})", others.join(", ")) };
    Some(format!(
        "{verdict} on {kind} choices of level {} the closest known heuristic, {} ({}), makes the teacher's choice in {}{others}{rules}.",
        level.level,
        best.rule,
        best.meaning,
        interval(&best.teacher, percent)
    ))
}

/// What is lost where the student departs, and where most of it is.
fn wrong(run: &RunDir) -> Option<String> {
    let mut said = Vec::new();
    if let Some(departures) = &run.evaluation.departures {
        let worst = departures.rows.iter().max_by(|a, b| a.share.value.total_cmp(&b.share.value));
        let mut text = format!("{} of whole decisions come out as the teacher's", interval(&departures.joint, percent));
        if let Some(worst) = worst.filter(|w| w.share.value > 0.0) {
            text += &format!(
                "; most departures begin at level {} ({} choices): {} of all decisions",
                worst.level,
                worst.kind,
                percent(worst.share.value)
            );
        }
        said.push(text + ".");
    }
    let costly = run.evaluation.disagreement.iter().filter_map(|d| Some((d, d.regions.first()?, d.regret?)));
    let most = |r: &Estimate| r.value;
    if let Some((d, region, regret)) = costly.max_by(|a, b| most(&a.2).total_cmp(&most(&b.2))) {
        let share =
            region.share_of_regret.map_or(String::new(), |e| format!(", which holds {} of the loss", percent(e.value)));
        let spec = run.student.feature_set.level(&d.level);
        let takes =
            region.instead.as_ref().map_or(String::new(), |i| format!("; it takes {} instead", instead(i, spec)));
        said.push(format!(
            "At level {} a choice gives away {} of the teacher's probability on average. The costliest region{share}: {}{takes}.",
            d.level,
            interval(&regret, percent),
            conditions(&region.conditions, spec)
        ));
    }
    joined(said)
}

fn the_rules(sections: &[rules::Section]) -> Option<String> {
    let trees: Vec<String> = sections
        .iter()
        .flat_map(|s| s.trees.iter().map(move |tree| (s, tree)))
        .map(|(s, tree)| {
            let leaves = if tree.leaves == 1 { "1 leaf".to_owned() } else { format!("{} leaves", tree.leaves) };
            let first = tree
                .first
                .as_ref()
                .map_or(String::new(), |i| format!("; {} matters most, {}", i.feature, percent(i.share)));
            let place = tree.place.as_ref().map_or(String::new(), |place| format!(", {place}"));
            format!("{}{place} ({leaves}{first})", s.level)
        })
        .collect();
    let total: usize = sections.iter().flat_map(|s| &s.trees).map(|t| t.leaves).sum();
    let trees_word = if trees.len() == 1 { "tree" } else { "trees" };
    (!trees.is_empty()).then(|| {
        format!("Its choices were put into {} {trees_word} with {total} leaves in all: {}.", trees.len(), list(&trees))
    })
}

/// Speaks of the kind where the best simple rule does worst, since the others say little about the student.
fn fidelity(level: &str, rows: &[&FidelityRow]) -> Option<String> {
    let of_kinds = kinds(rows);
    let kind =
        hardest_kind(of_kinds.iter().copied().filter(|&k| k != ALL_KINDS || of_kinds.len() == 1), rows, |_| 0.0)?;
    let hardest = rows.iter().find(|r| r.kind == kind && r.role == Role::Student)?;
    let kind = match (hardest.kind.as_str(), kinds(rows).len()) {
        (ALL_KINDS, _) | (_, 1) => String::new(),
        (kind, _) => format!("{kind} "),
    };
    let mut said = format!(
        "At level {level}, on {} {kind}choices: the student makes the teacher's first choice in {}",
        count(hardest.choices as u64),
        interval(&hardest.top1, percent)
    );
    if let Some(rule) = best_rule(rows, &hardest.kind) {
        said += &format!(", the best rule on one feature ({}) in {}", rule.scorer, percent(rule.top1.value));
    }
    if let Some(rule) = best_heuristic(rows, &hardest.kind) {
        said += &format!(", the closest named heuristic ({}) in {}", rule.scorer, percent(rule.top1.value));
    }
    if let Some(random) = rows.iter().find(|r| r.kind == hardest.kind && r.scorer == "random") {
        said += &format!(", a random pick in {}", percent(random.top1.value));
    }
    Some(said + ".")
}

fn scheduling(result: &ClosedLoop) -> Vec<String> {
    let Some(student) = result.first(Role::Student) else {
        return Vec::new();
    };
    let mut said = Vec::new();
    let place = format!("{} {} episodes of {}", result.episodes, result.split, result.workload);
    if let Some(stall) = stalled(student, result.episodes) {
        said.push(format!("Run as the scheduler on {place}, the student {stall}: it left jobs unfinished."));
        return said;
    }
    let goal = result.objective();
    let mut text = format!(
        "Run as the scheduler on {place}, the student's {} is {}",
        goal.label,
        student.figure(&goal.name).map_or_else(|| "nothing".to_owned(), |e| interval(e, goal::amount(goal)))
    );
    let of_student = result.comparisons.iter().filter(|pair| pair.policy == student.policy);
    let compared: Vec<String> = of_student
        .map(|pair| match pair.figure(&goal.name) {
            Some(e) => verdict(goal, &spoken(result, &pair.baseline), e),
            None => format!("not compared with {}, which stalled", spoken(result, &pair.baseline)),
        })
        .collect();
    if !compared.is_empty() {
        text += &format!("; that is {}", compared.join("; "));
    }
    said.push(text + ".");
    let stalled: Vec<String> = result
        .policies
        .iter()
        .filter_map(|p| stalled(p, result.episodes).map(|s| format!("{} {s} episodes", p.policy)))
        .collect();
    if !stalled.is_empty() {
        said.push(format!("Some policies did not finish: {}.", list(&stalled)));
    }
    said
}

/// A comparison in plain words, no stronger than its interval.
fn verdict(goal: &Figure, baseline: &str, e: &Estimate) -> String {
    let words = match [e.low, e.high].map(|end| goal.favours(end)) {
        [true, true] => "better than",
        // Neither end may be what two equal policies come to.
        [false, false] if ![e.low, e.high].contains(&goal.neutral()) => "worse than",
        _ => "not clearly different from that",
    };
    format!("{words} under {baseline} ({} {})", goal::comparison(goal), interval(e, goal::versus(goal)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_distill_core::figure::COMPLETION_FIGURES;

    #[test]
    fn a_verdict_is_no_stronger_than_its_interval() {
        let of = |name: &str, value, low, high| {
            let figure = COMPLETION_FIGURES.iter().find(|f| f.name == name).unwrap();
            verdict(figure, "fair", &Estimate { value, low, high })
        };
        let jct = |value, low, high| of("mean_jct_ms", value, low, high);
        assert!(jct(1.02, 0.99, 1.05).contains("not clearly different"));
        assert!(jct(1.0, 1.0, 1.0).contains("not clearly different"));
        assert!(jct(1.02, 1.01, 1.05).contains("worse"));
        assert!(jct(0.8, 0.7, 0.9).contains("better than under fair (ratio 0.800"));
        assert!(of("utilisation", 0.1, 0.05, 0.2).contains("better than under fair (difference +0.100"));
        assert!(of("utilisation", -0.1, -0.2, -0.05).contains("worse"));
        assert!(of("utilisation", 0.1, -0.2, 0.2).contains("not clearly different"));
    }
}
