//! What the scheduler does, how far the rules can be trusted, and what that costs, in a few sentences made from the figures
//! alone. Every sentence is a claim: what it needs stands beside the function that says it.

mod abstention;
mod preference;
mod schedule;
mod trust;

pub(crate) use preference::{habits, most_important};

use super::{
    closest::levels,
    glossary::{Part, explained},
    likeness, rules,
    run_dir::RunDir,
    words::{count, list, percent},
};
use sched_distill_core::spec::brief;
use sched_distill_explain::LevelExplanation;
use sched_distill_judge::evaluator::{FidelityRow, hardest_choices, hardest_kind};
use serde::Serialize;

/// A sentence and the section that has its evidence.
#[derive(Debug, Serialize)]
pub(super) struct Sentence {
    /// What it answers.
    pub(super) question: &'static str,
    pub(super) text: String,
    /// The text in pieces, for explanations of words.
    parts: Vec<Part>,
    anchor: &'static str,
}

/// The head of the report: one paragraph for each of a reader's first questions.
pub(super) fn sentences(run: &RunDir, sections: &[rules::Section]) -> Vec<Sentence> {
    let (rows, plain) = (&run.evaluation.fidelity, run.plain());
    let levels_explained = run.explanation.as_ref().map_or(&[][..], |e| &e.levels);
    let mut said = Vec::new();
    let mut say = |question, anchor, texts: Vec<String>| {
        if !texts.is_empty() {
            let text = texts.join(" ");
            said.push(Sentence { question, parts: explained(&text), text, anchor });
        }
    };
    let told = run.told();
    let of_level = |l: &LevelExplanation| preference::preference(l, hardest_explained(l, rows)?, &told, plain);
    let preferences: Vec<String> = levels_explained.iter().filter_map(of_level).collect();
    let preferences = if preferences.is_empty() { the_rules(sections).into_iter().collect() } else { preferences };
    say("What goes first, and why?", "importance", preferences);
    // Of the level at which the scheduler really chooses: elsewhere nearly all heuristics are alike.
    let hardest = hardest_choices(rows).map(|(student, _)| student.level.as_str());
    let compared = || levels_explained.iter().filter(|l| !l.likeness.is_empty());
    let asked = compared().find(|l| Some(l.level.as_str()) == hardest).or(compared().next());
    let alike = asked.and_then(|l| likeness::verdict(l, hardest_explained(l, rows)?, rows, plain));
    say("Is it just a known heuristic?", "likeness", alike.into_iter().collect());
    let trust = levels(rows).into_iter().filter_map(|level| trust::fidelity(level, rows, plain)).collect();
    say("How far can the rules be trusted?", "trust", trust);
    say("Where are they wrong, and what does it cost?", "trust", trust::wrong(&run.evaluation, plain));
    let found = run.evaluation.verdict();
    let best = found.as_ref().and_then(|v| Some((brief(v.heuristic.as_ref()?.policy), v.student.to_heuristic?)));
    let schedules = match &run.evaluation.closed_loop {
        Some(result) => schedule::scheduling(result, best.as_ref().map(|(name, ratio)| (&**name, *ratio))),
        None => vec!["The student was not run as a scheduler.".to_owned()],
    };
    say("Does it hold up as a scheduler?", "holds-up", schedules);
    said
}

/// What was watched, for the line above the sentences.
pub(super) fn what_was_run(run: &RunDir) -> String {
    let splits: Vec<String> = run
        .info
        .splits
        .iter()
        .map(|s| format!("{} decisions of {} episodes ({})", count(s.decisions), count(s.episodes), s.split))
        .collect();
    let amount = if splits.is_empty() { String::new() } else { format!(" over {}", list(&splits)) };
    format!(
        "The scheduler {} was watched on the workload {}{amount}; what it did was put into {} of {} terms in all.",
        run.info.teacher_name(),
        brief(&run.info.workload),
        if run.student.levels.len() == 1 { "one model" } else { "one model per level" },
        run.student.size()
    )
}

/// The kind of choice of an explained level in which the scheduler really chooses.
pub(crate) fn hardest_explained<'a>(level: &'a LevelExplanation, rows: &[FidelityRow]) -> Option<&'a str> {
    let of_level: Vec<&FidelityRow> = rows.iter().filter(|r| r.level == level.level).collect();
    let kinds = level.sample.iter().filter(|k| k.choices > 0).map(|k| k.kind.as_str());
    hardest_kind(kinds, &of_level, |kind| likeness::closest(level, kind).map_or(0.0, |l| l.teacher.value))
}

/// How large the rules are, where nothing is known of what matters.
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
