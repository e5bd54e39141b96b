//! Every sentence that the summary can say: what it needs, and where it must not be said.
//!
//! A generated sentence is a claim. Each pattern stands here once, with the evidence that it needs (`given`) and a change of the
//! evidence after which it must be gone (`but`). All start from the hand-made run directory.

use super::{
    Outcome,
    evidence::{Files, estimate, list},
    report,
};
use rayon::prelude::*;
use serde_json::{Value, json};
use std::error::Error;

type Edit = fn(&mut Files);

/// A sentence of the summary.
struct Pattern {
    /// Words of it.
    says: &'static str,
    /// What it needs, in words.
    needs: &'static str,
    given: Edit,
    /// One case in which it must not be said.
    but: Edit,
}

/// Shortest job first took part, and took so long where the student took 1 and the teacher 2.
fn with_sjf(files: &mut Files, time: f64) {
    let policies = list(&mut files.evaluation["closed_loop"]["policies"]);
    policies.retain(|p| p["policy"] != "sjf");
    let mut sjf = policies.iter().find(|p| p["policy"] == "fair").cloned().unwrap_or_default();
    sjf["policy"] = json!("sjf");
    policies.push(sjf);
    for policy in policies {
        let time = match policy["role"].as_str() {
            Some("student") => 1.0,
            Some("teacher") => 2.0,
            _ => time,
        };
        list(&mut policy["episode_objective"]).fill(json!(time));
    }
}

/// What the student does and what the teacher does with the others held.
fn tendency(student: Value, teacher: [f64; 3]) -> Value {
    json!({"student": student, "one_way": -0.9, "teacher": estimate(teacher)})
}

/// The words of a section without markup.
pub(super) fn section(html: &str, id: &str) -> String {
    let start = html.find(&format!("<section id=\"{id}\"")).unwrap_or(0);
    let end = html[start..].find("</section>").map_or(html.len(), |end| start + end);
    let mut words = String::new();
    for piece in html[start..end].split('<') {
        words += piece.split_once('>').map_or(piece, |(_, text)| text);
    }
    let entities = [("&#x27;", "'"), ("&#x2f;", "/"), ("&quot;", "\""), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")];
    let words = entities.iter().fold(words, |text, (entity, letter)| text.replace(entity, letter));
    words.split_whitespace().collect::<Vec<_>>().join(" ").replace('\u{a0}', " ")
}

fn down(files: &mut Files) {
    files
        .quantities(&[("remaining_work", 3.0, tendency(json!("down"), [-2.0, -3.0, -1.0])), ("age", 1.0, Value::Null)]);
}

fn unclear(files: &mut Files) {
    files.quantities(&[("remaining_work", 3.0, tendency(json!("down"), [-2.0, -5.0, 1.0])), ("age", 1.0, Value::Null)]);
}

fn contrary(files: &mut Files) {
    files.quantities(&[("remaining_work", 3.0, tendency(json!("down"), [2.0, 1.0, 3.0])), ("age", 1.0, Value::Null)]);
}

fn both_ways(files: &mut Files) {
    files.quantities(&[("remaining_work", 3.0, tendency(json!("both"), [-2.0, -3.0, -1.0]))]);
}

fn bent(files: &mut Files) {
    files.quantities(&[("remaining_work", 3.0, tendency(json!({"down_to": 600_000.0}), [-2.0, -3.0, -1.0]))]);
}

fn unmeasured(files: &mut Files) {
    files.quantities(&[("remaining_work", 3.0, Value::Null)]);
}

/// One rule is right wherever it was asked.
fn always(files: &mut Files) {
    executed(files, 1.0);
    files.rows(|row| {
        if row["level"] == "job" && row["scorer"] == "smallest remaining_work" {
            row["top1"] = estimate([1.0; 3]);
        }
    });
}

/// What was carried out agrees with every scorer so often.
fn executed(files: &mut Files, share: f64) {
    files.rows(|row| row["executed"] = estimate([share; 3]));
}

fn almost_always(files: &mut Files) {
    executed(files, 1.0);
    files.rows(|row| {
        if row["level"] == "job" && row["scorer"] == "smallest remaining_work" {
            row["top1"] = estimate([0.997, 0.995, 0.999]);
        }
    });
}

/// A simple rule on the kind of choice that is not spoken of otherwise.
fn with_affinity(files: &mut Files, top1: [f64; 3]) {
    down(files);
    executed(files, 1.0);
    files.rows(|row| {
        if row["level"] == "job" && row["kind"] == "affinity" && row["scorer"] == "smallest remaining_work" {
            row["top1"] = estimate(top1);
        }
    });
}

fn not_on_free_choices(files: &mut Files) {
    files.rows(|row| {
        if row["level"] == "job" && row["kind"] == "free" && row["role"] == "baseline" {
            row["top1"] = estimate([0.99, 0.98, 1.0]);
        }
    });
}

fn wrong(files: &mut Files) {
    let row = |level: &str, share: f64| json!({"level": level, "kind": "free", "decisions": 100, "departures": 10, "share": estimate([share, share, share])});
    files.evaluation["departures"] = json!({"structure": "hierarchical", "decisions": 100,
        "joint": estimate([0.8, 0.7, 0.9]), "executed": estimate([0.8, 0.7, 0.9]),
        "rows": [row("job", 0.05), row("stage", 0.15)]});
    let region = json!({"rule": "", "conditions": [{"column": "teacher.remaining_tasks", "at_most": 8.0}], "choices": 50,
        "share": estimate([0.2, 0.1, 0.3]), "disagree": estimate([0.9, 0.8, 1.0]), "regret": estimate([0.5, 0.4, 0.6]),
        "share_of_disagreement": estimate([0.3, 0.2, 0.4]), "share_of_regret": estimate([0.334, 0.2, 0.5]),
        "instead": {"feature": "remaining_tasks", "more": true, "share": estimate([0.92, 0.85, 0.97])}});
    files.evaluation["disagreement"] = json!([{"level": "stage", "by": "regret", "found_on": 5, "measured_on": 5,
        "choices": 500, "disagree": estimate([0.2, 0.1, 0.3]), "regret": estimate([0.05, 0.04, 0.06]), "regions": [region]}]);
}

fn region(files: &mut Files) -> &mut Value {
    &mut files.evaluation["disagreement"][0]["regions"][0]
}

const TIED: [f64; 3] = [0.001, -0.004, 0.006];

const PATTERNS: [Pattern; 32] = [
    Pattern {
        says: "it prefers a job with less work left (75.0 %).",
        needs: "a direction of the student's, and the teacher's choices going the same way beyond doubt",
        given: down,
        but: unclear,
    },
    Pattern {
        says: "the student prefers a job with less work left (75.0 %), which the teacher does not clearly do.",
        needs: "a direction of the student's alone",
        given: unclear,
        but: down,
    },
    Pattern {
        says: "the student prefers a job with less work left (75.0 %), where the teacher goes the other way.",
        needs: "a direction of the student's, and the teacher's choices going the other way beyond doubt",
        given: contrary,
        but: unclear,
    },
    Pattern {
        says: "with less work left (what is above 10 min·tasks makes no difference) (100.0 %)",
        needs: "a bend",
        given: bent,
        but: down,
    },
    Pattern {
        says: "what matters to the student, but not one way only: work left (100.0 %).",
        needs: "a measured direction that is neither",
        given: both_ways,
        but: down,
    },
    Pattern {
        says: "what matters most to the student: work left (100.0 %).",
        needs: "shares without directions, as earlier versions wrote them",
        given: unmeasured,
        but: both_ways,
    },
    Pattern {
        says: "When any job may get the executors, it prefers",
        needs: "several kinds of choice, and words for the kind",
        given: down,
        but: |files| files.run["words"] = json!({}),
    },
    Pattern {
        says: "On free choices, it prefers a candidate with smaller remaining work (75.0 %).",
        needs: "several kinds of choice, and no words",
        given: |files| {
            down(files);
            files.run["words"] = json!({});
        },
        but: |files| files.run["words"] = json!({"kinds": [{"kind": "free", "when": "any may"}]}),
    },
    Pattern {
        says: "It always picks the job with the least work left (in all 14,403 choices).",
        needs: "one rule that is right in every choice of every kind",
        given: always,
        but: almost_always,
    },
    Pattern {
        says: "When the job that freed the executors could keep them, it nearly always picks the job with the least work left \
               (right in 95.0 % [93.0, 97.0]).",
        needs: "a rule that is right in nine of ten choices of another kind beyond doubt",
        given: |files| with_affinity(files, [0.95, 0.93, 0.97]),
        but: |files| with_affinity(files, [0.95, 0.89, 0.97]),
    },
    Pattern {
        says: "When the job that freed the executors could keep them, it mostly picks the job with the least work left (right in \
               85.0 % [80.0, 88.0]).",
        needs: "a rule that is right in three of four choices of another kind beyond doubt",
        given: |files| with_affinity(files, [0.85, 0.80, 0.88]),
        but: |files| with_affinity(files, [0.85, 0.74, 0.88]),
    },
    Pattern {
        says: "It almost always picks the job with the least work left (in 99.7 % of 14,403 choices).",
        needs: "one rule that is right in 99 of 100 choices of every kind beyond doubt",
        given: almost_always,
        but: not_on_free_choices,
    },
    Pattern {
        says: "What it finds most probable is always the job with the least work left (in all 14,403 choices).",
        needs: "such a rule, and a teacher that draws its actions and takes others as well",
        given: |files| {
            always(files);
            executed(files, 0.7);
        },
        but: |files| executed(files, 1.0),
    },
    Pattern {
        says: "Its choices were put into 3 trees with 56 leaves in all",
        needs: "trees, and no explanation",
        given: |files| files.explanation = Value::Null,
        but: |files| *files = Files::new().expect("as before"),
    },
    Pattern {
        says: "No: over “Which job gets the executors?”, when any job may get the executors, the closest known heuristic is \
               shortest-job (",
        needs: "a known heuristic that is closest beyond doubt",
        given: |files| files.heuristics(&[("shortest-job", 0.4, [0.0; 3]), ("fair", 0.3, [0.1, 0.05, 0.15])]),
        but: |files| files.heuristics(&[("shortest-job", 0.4, [0.0; 3]), ("fair", 0.4, TIED)]),
    },
    Pattern {
        says: "the closest are fair and shortest-job, which cannot be told apart and make the teacher's choice in up to 40.0 %",
        needs: "two to four heuristics whose difference to the closest one may be none",
        given: |files| files.heuristics(&[("fair", 0.4, [0.0; 3]), ("shortest-job", 0.399, TIED)]),
        but: |files| files.heuristics(&[("fair", 0.4, [0.0; 3]), ("shortest-job", 0.39, [0.01, 0.004, 0.02])]),
    },
    Pattern {
        says: "the closest are 5 of the 6 known heuristics, which cannot be told apart",
        needs: "more than four such heuristics",
        given: |files| {
            let tied = ["a", "b", "c", "d"].map(|name| (name, 0.399, TIED));
            let far = ("f", 0.1, [0.3, 0.2, 0.4]);
            files.heuristics(&[&[("fair", 0.4, [0.0; 3])], &tied[..], &[far]].concat());
        },
        but: |files| files.heuristics(&[("fair", 0.4, [0.0; 3]), ("f", 0.399, TIED)]),
    },
    Pattern {
        says: "No, but a known one comes as close as the rules found here: over “Which job gets the executors?”",
        needs: "a heuristic that reaches the student's interval",
        given: |files| files.heuristics(&[("fair", 0.75, [0.0; 3])]),
        but: |files| files.heuristics(&[("fair", 0.5, [0.0; 3])]),
    },
    Pattern {
        says: "Nearly: over “Which job gets the executors?”",
        needs: "nine of ten choices, and the student's interval not below",
        given: |files| {
            files.heuristics(&[("fair", 0.92, [0.0; 3])]);
            files.student_agrees([0.93, 0.92, 0.94]);
        },
        but: |files| files.heuristics(&[("fair", 0.75, [0.0; 3])]),
    },
    Pattern {
        says: "Yes, and closer than the rules found here: over “Which job gets the executors?”",
        needs: "a heuristic above the student's interval",
        given: |files| files.heuristics(&[("fair", 0.97, [0.0; 3])]),
        but: |files| files.heuristics(&[("fair", 0.77, [0.0; 3])]),
    },
    Pattern {
        says: "When any job may get the executors, the student makes the teacher's choice in 74.5 % [71.4, 77.6] (1,802 choices); the \
               best rule on one feature (the job with the least work left) in",
        needs: "the student's fidelity where simple rules do worst",
        given: |_| (),
        but: |files| {
            let all = list(&mut files.evaluation["fidelity"]);
            all.retain(|row| row["role"] != "student");
        },
    },
    Pattern {
        says: "Which job gets the executors? One rule is always right, the student in 74.5 % or more.",
        needs: "one rule that is right in every choice of every kind",
        given: always,
        but: not_on_free_choices,
    },
    Pattern {
        says: "The student takes 80.0 % [70.0, 90.0] of whole decisions as the teacher would; most of the others first go wrong over \
               “Which stage of that job?”: 15.0 % of all decisions.",
        needs: "half of the decisions that go wrong going wrong there first",
        given: wrong,
        but: |files| {
            for (row, share) in list(&mut files.evaluation["departures"]["rows"]).iter_mut().zip([0.05, 0.09]) {
                row["share"] = estimate([share; 3]);
            }
        },
    },
    Pattern {
        says: "It costs most over “Which stage of that job?”: what the student takes is on average 5 points [4, 6] less probable",
        needs: "a loss of the teacher's probability beyond doubt",
        given: wrong,
        but: |files| files.evaluation["disagreement"][0]["regret"] = estimate([0.01, 0.0, 0.02]),
    },
    Pattern {
        says: "A third of that is lost in 20.0 % of the choices, where this holds: the teacher's stage: tasks left ≤ 8 tasks",
        needs: "a region with a share of the loss beyond doubt",
        given: wrong,
        but: |files| region(files)["share_of_regret"] = estimate([0.334, 0.0, 0.6]),
    },
    Pattern {
        says: "is lost in",
        needs: "a region that loses half as much again as its share of the choices",
        given: wrong,
        but: |files| region(files)["share"] = estimate([0.3, 0.2, 0.4]),
    },
    Pattern {
        says: "there the student picks a stage with more tasks left than the teacher's (in 92.0 % of the choices that go wrong).",
        needs: "most of the region's choices that go wrong doing so, beyond doubt",
        given: wrong,
        but: |files| region(files)["instead"]["share"] = estimate([0.55, 0.45, 0.65]),
    },
    Pattern {
        says: "that is better than under the teacher (ratio 0.900 [0.800, 0.950])",
        needs: "an interval of the comparison on the better side",
        given: |files| files.closed_loop([0.9, 0.8, 0.95]),
        but: |files| files.closed_loop([0.9, 0.8, 1.01]),
    },
    Pattern {
        says: "that is worse than under the teacher (ratio 1.100 [1.050, 1.150])",
        needs: "an interval of the comparison on the worse side",
        given: |files| files.closed_loop([1.1, 1.05, 1.15]),
        but: |files| files.closed_loop([1.1, 0.99, 1.15]),
    },
    Pattern {
        says: "that is not clearly different from that under the teacher (ratio 1.000 [0.990, 1.010])",
        needs: "an interval of the comparison that holds no difference",
        given: |files| files.closed_loop([1.0, 0.99, 1.01]),
        but: |files| files.closed_loop([1.02, 1.01, 1.03]),
    },
    Pattern {
        says: "better than under the best heuristic tried, sjf (ratio 0.667",
        needs: "a heuristic that does better than all others and is no baseline",
        given: |files| with_sjf(files, 1.5),
        but: |files| with_sjf(files, 150.0),
    },
    Pattern {
        says: "The student was not run as a scheduler.",
        needs: "no closed loop",
        given: |files| drop(files.evaluation.as_object_mut().map(|o| o.remove("closed_loop"))),
        but: |files| *files = Files::new().expect("as before"),
    },
];

#[test]
fn every_sentence_is_said_with_its_evidence_and_not_without() -> Outcome {
    // A thread that waits for its share of the first one may take up a pattern, which would wait for the first one.
    Files::new()?;
    let wrong: Vec<String> = PATTERNS.par_iter().filter_map(|pattern| pattern.check().err()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    Ok(())
}

impl Pattern {
    fn check(&self) -> Result<(), String> {
        let Self { says, needs, given, but } = self;
        let in_words = |e: Box<dyn Error>| format!("{says}: {e}");
        let mut files = Files::new().map_err(in_words)?;
        given(&mut files);
        let said = files.summary().map_err(in_words)?;
        if !said.contains(says) {
            return Err(format!("not said: {says}\nneeds {needs}\n{said}"));
        }
        but(&mut files);
        let said = files.summary().map_err(in_words)?;
        if said.contains(says) {
            return Err(format!("said without {needs}: {says}\n{said}"));
        }
        Ok(())
    }
}

#[test]
fn words_of_the_project_are_explained_where_they_first_come() -> Outcome {
    let files = Files::new()?;
    files.summary()?;
    let (html, _) = report(files.dir.path(), "support")?;
    let tip = "<span class=\"term\" tabindex=\"0\" data-tip=\"the policy of readable models";
    assert!(html.contains(tip), "what a student is");
    Ok(())
}

/// Below the summary: the share of what moves scores that users control is that of the quantities which they declare.
#[test]
fn what_users_declare_is_the_share_of_their_quantities() -> Outcome {
    let said = |quantities: &[(&str, f64, Value)]| -> Result<String, Box<dyn Error>> {
        let mut files = Files::new()?;
        files.quantities(quantities);
        files.words_of("importance")
    };
    let of = |name, share| (name, share, Value::Null);
    let both = said(&[of("remaining_work", 3.0), of("age", 1.0)])?;
    assert!(
        both.contains("Users declare 75.0 % of what moves these scores: work left. distill attack tries"),
        "{both}"
    );
    let measured = said(&[of("age", 1.0)])?;
    assert!(measured.contains("Nothing that users declare moves these scores."), "{measured}");
    assert!(!measured.contains("Users declare") && !measured.contains("distill attack"), "{measured}");
    Ok(())
}
