//! The first screen of every scenario that is registered: what a demo of its own network says, with the evidence of its own files.

use crate::program::done;
use rayon::prelude::*;
use sched_distill::{
    evaluator::{Evaluation, FidelityRow, RANDOM, Role, best_single_features},
    explainer::Explanation,
    level::{ALL_KINDS, LevelSpec, NONE_FLAG, Phrases, Values, Words, third_person},
    model::{Student, guard_in_words},
    pipeline::{AnyScenario, RunInfo},
    registry::all,
    trace::{LevelTable, Trace},
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::{collections::BTreeSet, fs, path::Path};

/// What a demo has left.
struct Page {
    said: String,
    html: String,
    info: RunInfo,
    evaluation: Evaluation,
    explanation: Explanation,
    test: Trace,
}

fn read<T: DeserializeOwned>(path: &Path) -> T {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn page(dir: &Path, scenario: &str) -> Page {
    let said = done(dir, &["demo", "--scenario", scenario, "--fast", "-n", "6", "-o", "run"]);
    let run = dir.join("run");
    Page {
        said: said.replace('\u{a0}', " ").split_whitespace().collect::<Vec<_>>().join(" "),
        html: fs::read_to_string(run.join("report/report.html")).unwrap(),
        info: read(&run.join("run.json")),
        evaluation: read(&run.join("evaluation.json")),
        explanation: read(&run.join("explanation.json")),
        test: Trace::open(&run.join("traces/test")).unwrap(),
    }
}

/// The text of an element, by how it begins and ends.
fn text(html: &str, [begins, ends]: [&str; 2]) -> String {
    let Some(start) = html.find(begins) else { return String::new() };
    let inner = &html[start..start + html[start..].find(ends).unwrap()];
    let mut out = String::new();
    let mut is_tag = true;
    for letter in inner.chars() {
        match letter {
            '<' => is_tag = true,
            '>' => is_tag = false,
            _ if !is_tag => out.push(letter),
            _ => {}
        }
    }
    let out = out.replace(['\u{a0}', '\n'], " ").replace("&#x27;", "'");
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn every_scenario_says_what_holds() {
    all().iter().collect::<Vec<_>>().into_par_iter().for_each(|scenario| {
        let folder = tempfile::tempdir().unwrap();
        let page = page(folder.path(), scenario.info().name);
        names_say_something(scenario, &page);
        rules_are_true(scenario, &page);
        no_filler_is_a_rule(scenario, &page.test);
        who_waits_longest_is_told(&page);
        what_choices_are_worth_is_told(scenario, &page);
    });
}

/// Every kind of choice is left to chance once, on the first episodes, and the page has them all, the costliest first.
fn what_choices_are_worth_is_told(scenario: &dyn AnyScenario, page: &Page) {
    let stakes = &page.evaluation.stakes;
    let told: BTreeSet<_> = stakes.iter().map(|s| (s.level.as_str(), s.kind.as_str())).collect();
    assert_eq!(told.len(), stakes.len());
    let chance =
        page.evaluation.fidelity.iter().filter(|r| r.scorer == RANDOM && r.kind != ALL_KINDS && r.choices > 50);
    let asked: BTreeSet<_> = chance.map(|r| (r.level.as_str(), r.kind.as_str())).collect();
    assert!(!asked.is_empty() && asked.is_subset(&told), "{asked:?} {told:?}");
    let objective = scenario.info().objective();
    let costs: Vec<f64> = stakes.iter().map(|s| objective.cost(s.objective.map(|e| e.value))).collect();
    let episodes = page.evaluation.closed_loop.as_ref().unwrap().episodes;
    assert!(stakes.iter().all(|s| s.episodes == episodes.min(12)));
    // A network that is worth explaining is better than chance at something.
    assert!(costs.iter().any(|&cost| cost > objective.cost(Some(objective.neutral())) + 0.02), "{costs:?}");
    let table = text(&page.html, ["aria-label=\"What each choice is worth\"", "</table>"]);
    assert!(table.starts_with(&objective.against("the student's own")), "{table}");
    let places = stakes.iter().zip(&costs).map(|(stake, &cost)| {
        let set = (scenario.info().feature_set)();
        (cost, table.find(set.level(&stake.level).unwrap().question.trim()).expect("its question"))
    });
    let [costliest, first] = [places.clone().max_by(|a, b| a.0.total_cmp(&b.0)), places.min_by_key(|p| p.1)];
    assert_eq!(costliest.map(|p| p.1), first.map(|p| p.1), "{table}");
}

/// The tail is that of the quantiles beside it, with intervals that hold for all looks, and stands on the page.
fn who_waits_longest_is_told(page: &Page) {
    let all = page.evaluation.closed_loop.iter().chain(&page.evaluation.other_workloads);
    for found in all {
        assert!(found.looks.as_ref().is_some_and(|looks| looks.planned.last() == Some(&(found.episodes as u32))));
        let [student, teacher] = [Role::Student, Role::Teacher].map(|role| found.first(role).unwrap());
        if student.stalled + teacher.stalled > 0 {
            continue;
        }
        let tail = found.tail_of(&student.policy, &teacher.policy).unwrap();
        let p99 = student.completion_quantiles_ms[99] / teacher.completion_quantiles_ms[99];
        assert!((tail.p99.value / p99 - 1.0).abs() < 1e-9, "{}: {tail:?}", found.workload);
    }
    let usual = page.evaluation.closed_loop.as_ref().unwrap();
    let student = usual.first(Role::Student).unwrap();
    let told = page.html.contains("<dt>Who waits longest</dt>");
    assert_eq!(told, usual.tail_of(&student.policy, &usual.policies[0].policy).is_some());
}

/// Nobody is told the name of a file format, and no sentence is broken.
fn names_say_something(scenario: &dyn AnyScenario, page: &Page) {
    let words = (scenario.info().words)();
    let network = words.network(scenario.teacher()).expect("a network comes with every scenario");
    assert_eq!(page.info.title, format!("What {} does", network.noun));
    assert_eq!(page.info.teacher_name(), network.name);
    assert_eq!(page.info.teacher.id, scenario.teacher(), "what was recorded stays");
    let verdict = text(&page.html, ["<p id=\"ruling\"", "</p>"]);
    let name = network.name.to_lowercase();
    assert!(verdict.to_lowercase().contains(&name) && !verdict.contains("scorer"), "{verdict}");
    // The terminal's verdict is the page's.
    let end = verdict.split_once(' ').map_or("", |(_, rest)| rest);
    assert!(page.said.contains(&end[end.len().saturating_sub(60)..]), "{} // {verdict}", page.said);
    let rules = text(&page.html, ["<ol id=\"five-rules\"", "</ol>"]);
    for broken in
        ["picks the job to ", "serves the job to ", " to to ", "prefers to serve a job to ", "prefers something else"]
    {
        assert!(!rules.contains(broken), "{}: {rules}", scenario.info().name);
    }
    // Differences of shares are told in points.
    let objective = scenario.info().objective();
    if objective.comparison_unit().1.is_some() {
        let cards = text(&page.html, ["<ul id=\"four-figures\"", "</ul>"]);
        assert!(cards.contains(" points "), "{cards}");
    }
}

/// What is said to be done `always`, `nearly always` or `mostly` is what teacher and, where edits overrule it, student do so often.
fn rules_are_true(scenario: &dyn AnyScenario, page: &Page) {
    let words = (scenario.info().words)();
    let set = (scenario.info().feature_set)();
    let rules = text(&page.html, ["<ol id=\"five-rules\"", "</ol>"]);
    for level in &set.levels {
        let phrases = words.phrases(set, &level.name);
        if !level.features.iter().any(|f| f.name == NONE_FLAG) {
            continue;
        }
        for most in [false, true] {
            let done =
                third_person(&phrases.extreme(NONE_FLAG, most)).expect("words of giving nothing say what is done");
            for (how, least) in [("it nearly always", 0.9), ("it mostly", 0.75), ("it always", 1.0), ("it often", 0.5)]
            {
                // Numbers have points too.
                let sentences = rules.split(". ").filter(|s| s.contains(&format!("{how} {done}")));
                for sentence in sentences {
                    assert!(is_so(page, &words, level, most, least, sentence), "{sentence} in {rules}");
                }
            }
        }
    }
}

/// Whether the files bear out that nobody (or somebody) is taken so often.
fn is_so(page: &Page, words: &Words, level: &LevelSpec, nobody: bool, least: f64, sentence: &str) -> bool {
    let named = |when: &str| sentence.to_lowercase().contains(when);
    let is_named = words.kinds.iter().any(|k| named(&k.when));
    // Of a level whose choices are of one kind, the kind is not named.
    let of_kind = |kind: &str| !is_named || words.kind(kind).is_some_and(|k| named(&k.when));
    let scorer = format!("{} {NONE_FLAG}", if nobody { "largest" } else { "smallest" });
    let by_rule = |row: &FidelityRow| {
        row.level == level.name
            && row.scorer == scorer
            && of_kind(&row.kind)
            && row.role == Role::Baseline
            && row.top1.low >= least
    };
    let explained = page.explanation.levels.iter().find(|l| l.level == level.name);
    let by_test = explained.iter().flat_map(|l| &l.abstentions).filter(|a| of_kind(&a.kind)).any(|a| {
        let sides = a.test.iter().flat_map(|test| [test.there, test.elsewhere]);
        sides.into_iter().any(|e| if nobody { e.low >= least } else { 1.0 - e.high >= least })
    });
    page.evaluation.fidelity.iter().any(by_rule) || by_test
}

/// Where nobody is ever taken, no quantity is said to tell that: each is put beside the flag alone, and before it, as the first of equals.
fn no_filler_is_a_rule(scenario: &dyn AnyScenario, test: &Trace) {
    let words = (scenario.info().words)();
    let mut planted = BTreeSet::new();
    for level in &test.manifest.feature_set.levels {
        let table = test.level(&level.name).unwrap();
        let Some(none) = level.features.iter().position(|f| f.name == NONE_FLAG) else { continue };
        for column in (0..level.features.len()).filter(|&column| column != none) {
            let table = beside_the_flag(&table, column, none);
            if table.choices.is_empty() {
                continue;
            }
            let values = Values::new(&table.spec, words.level(&level.name));
            for rule in best_single_features(&table, &values) {
                assert_eq!(
                    rule.name,
                    format!("largest {NONE_FLAG}"),
                    "{}: {}",
                    level.name,
                    level.features[column].name
                );
            }
            planted.insert(&level.name);
        }
    }
    // Where there are such levels at all, something was put to the test.
    let has_flag = |l: &&LevelSpec| l.features.iter().any(|f| f.name == NONE_FLAG);
    let there_are = test.manifest.feature_set.levels.iter().filter(has_flag).count();
    assert!(there_are == 0 || !planted.is_empty() || scenario.info().may_abstain, "{}", scenario.info().name);
}

/// The choices of a table in which nobody may be taken, with one of their columns and the flag; in all of them nobody is.
fn beside_the_flag(table: &LevelTable, column: usize, none: usize) -> LevelTable {
    let features = [column, none].map(|c| table.spec.features[c].clone()).to_vec();
    let mut found = LevelTable::new(LevelSpec { features, ..table.spec.clone() }, vec!["any".to_owned()]);
    for choice in table.iter().filter(|c| c.len() > 1) {
        let Some(nobody) = (0..choice.len()).find(|&i| choice.row(i)[none] == 1.0) else { continue };
        let mut header = *choice.header;
        (header.kind, header.first_row) = (0, found.rows());
        found.choices.push(header);
        for i in 0..choice.len() {
            found.entity.extend(&choice.entity[i * table.spec.entities.len()..][..table.spec.entities.len()]);
            found.log_prob.push(f32::NAN);
            found.chosen.push(i == nobody);
            found.x.extend([choice.row(i)[column], choice.row(i)[none]]);
        }
    }
    found
}

/// The jobs that the README says one writes in a minute.
fn jobs_of_the_readme() -> String {
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let start = readme.find("```json\n").expect("a list of jobs") + "```json\n".len();
    readme[start..start + readme[start..].find("```").unwrap()].to_owned()
}

/// Where a search finds a better schedule, all of the page and what is typed next are about the student that has it; the one without
/// edits is the comparison.
#[test]
fn a_page_is_about_one_student() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    fs::write(dir.join("jobs.json"), jobs_of_the_readme()).unwrap();
    let said = done(dir, &["demo", "-w", "json:jobs.json", "-n", "8", "-o", "run"]);
    let run = dir.join("run");
    let [taken, fitted] = ["student.json", "fitted.json"].map(|name| Student::load(&run.join(name)).unwrap());
    assert!(taken.guards.len() + taken.patches.len() > 0 && fitted.guards.is_empty() && fitted.patches.is_empty());
    assert!(taken.decides_as(&Student::load(&run.join("augmented/student.json")).unwrap()));
    let hash = taken.hash();
    for name in
        ["evaluation.json", "explanation.json", "decisions.json", "what_if.json", "attacks.json", "latency.json"]
    {
        assert_eq!(read::<Value>(&run.join(name))["student"], hash.as_str(), "{name}");
    }
    let evaluation: Evaluation = read(&run.join("evaluation.json"));
    let verdict = evaluation.verdict().unwrap();
    let own = verdict.student.to_teacher.unwrap();
    assert!(own.value < verdict.fitted.unwrap().to_teacher.unwrap().value, "the edits are what it is better by");
    let page = fs::read_to_string(run.join("report/report.html")).unwrap();
    let card = fs::read_to_string(run.join("report/model_card.md")).unwrap();
    assert!(card.contains(&hash), "{card}");
    assert!(
        [&page, &card].iter().all(|text| !text.contains(&fitted.hash())),
        "the hash of the one that is explained, alone"
    );
    let rules = text(&page, ["<ol id=\"five-rules\"", "</ol>"]);
    let words = (all().find("dag").unwrap().info().words)();
    for guard in taken.guards.iter().take(1) {
        let phrases = words.phrases(&taken.feature_set, &guard.level);
        let sentence = guard_in_words(guard, &phrases);
        assert!(rules.to_lowercase().starts_with(&sentence[..12].to_lowercase()), "{sentence}: {rules}");
    }
    let (_, next) = said.split_once("\nnext\n").expect("what comes next");
    assert!(next.contains("run/student.json") && !next.contains("fitted") && !next.contains("augmented"), "{next}");
}

#[test]
fn what_is_done_is_said_in_words_for_every_level_that_may_do_nothing() {
    for scenario in all().iter().map(|s| s.info()) {
        let (words, set) = ((scenario.words)(), (scenario.feature_set)());
        for level in set.levels.iter().filter(|l| l.features.iter().any(|f| f.name == NONE_FLAG)) {
            let phrases: Phrases<'_> = words.phrases(set, &level.name);
            let both = [false, true].map(|most| third_person(&phrases.extreme(NONE_FLAG, most)));
            assert!(both[0].is_some() && both[1].is_some() && both[0] != both[1], "{}: {both:?}", level.name);
        }
    }
}
