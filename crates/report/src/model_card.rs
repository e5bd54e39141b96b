//! The model card: what the student is, how it was made and measured, and where it does not hold, in one Markdown file whose
//! front matter programs can read.

use super::{
    goal,
    holds_up::{no_figure, stalled},
    run_dir::RunDir,
    summary::Sentence,
    words::{count, interval, list, percent},
};
use sched_distill_core::{
    level::ALL_KINDS,
    model::ScoreCandidates,
    text::{acts, one_line},
};
use sched_distill_judge::evaluator::{ClosedLoop, Estimate, FidelityRow, Role};
use sched_distill_pipeline::SplitInfo;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Kinds of choices on which fewer of the teacher's choices are met than this are named as weak.
const WEAK: f64 = 0.8;

/// The card; `support` says how well the rules are supported.
pub(super) fn card(run: &RunDir, verdict: &str, what_was_run: &str, summary: &[Sentence], support: &str) -> String {
    let mut text = format!("---\n{}---\n\n# {}\n", yaml(&front_matter(run)), plain(&run.info.title));
    let mut section = |title: &str, lines: Vec<String>| {
        // Writing to a String cannot fail.
        let _ = write!(text, "\n## {title}\n\n{}\n", lines.join("\n"));
    };
    let said = summary.iter().map(|s| format!("- **{}** {}", plain(s.question), plain(&s.text)));
    section("Verdict", vec![plain(verdict)]);
    section("What it does", [plain(what_was_run), String::new()].into_iter().chain(said).collect());
    section("Intended use", intended_use(run));
    section("How it was made", making(run));
    section("Measured", measured(run));
    section("Limits", limits(run, support));
    text
}

fn front_matter(run: &RunDir) -> Value {
    let (info, student) = (&run.info, &run.student);
    let files: Vec<Value> = info.teacher.files.iter().map(|f| json!({"path": f.path, "sha256": f.sha256})).collect();
    let levels = student.levels.iter().map(|l| {
        let named = l.scheduler();
        json!({"level": l.level, "model": named.name, "size": named.model.size()})
    });
    let mut matter = json!({
        "title": info.title,
        "created_by": info.created_by,
        "teacher": info.teacher.id,
        "workload": info.workload,
        "scenario": student.scenario,
        "seed": info.seed,
        "student_sha256": student.file_hash(),
        "size": student.size(),
        "structure": student.structure.name(),
        "levels": levels.collect::<Vec<Value>>(),
        "metrics": metrics(run),
    });
    let trace = &student.provenance.trace_hash;
    for (key, value) in [("training_trace_sha256", json!(trace)), ("teacher_files", json!(files))] {
        let empty = value.as_str().is_some_and(str::is_empty) || value.as_array().is_some_and(Vec::is_empty);
        if !empty {
            matter[key] = value;
        }
    }
    matter
}

fn metrics(run: &RunDir) -> Vec<Value> {
    let fidelity = students(run).map(|r| {
        json!({"metric": "top-1 fidelity", "level": r.level, "kind": r.kind, "choices": r.choices, "episodes": r.episodes,
            "value": r.top1.value, "low": r.top1.low, "high": r.top1.high})
    });
    let compared = loops(run).map(|result| {
        let mut metric = json!({"metric": to_teacher(result), "workload": result.workload,
            "split": result.split, "episodes": result.episodes});
        match against_teacher(result) {
            Ok(e) => (metric["value"], metric["low"], metric["high"]) = (json!(e.value), json!(e.low), json!(e.high)),
            Err(why) => metric["none"] = json!(why),
        }
        metric
    });
    fidelity.chain(compared).collect()
}

/// Fidelity of the models that schedule.
fn students(run: &RunDir) -> impl Iterator<Item = &FidelityRow> {
    run.evaluation.fidelity.iter().filter(|r| r.role == Role::Student)
}

fn loops(run: &RunDir) -> impl Iterator<Item = &ClosedLoop> {
    run.evaluation.closed_loop.iter().chain(&run.evaluation.other_workloads)
}

/// What is compared, e.g. `mean JCT, ratio to the teacher`.
fn to_teacher(result: &ClosedLoop) -> String {
    format!("{}, {} to the teacher", result.objective().label, goal::comparison(result.objective()))
}

/// The student's objective against the teacher's, or why there is no comparison.
fn against_teacher(result: &ClosedLoop) -> Result<Estimate, String> {
    let (Some(student), Some(teacher)) = (result.first(Role::Student), result.first(Role::Teacher)) else {
        return Err("not compared".to_owned());
    };
    result.paired(&student.policy, &teacher.policy).ok_or_else(|| {
        let of = |p, name| stalled(p, result.episodes).map(|s| format!("the {name} {s} episodes"));
        of(student, "student").or_else(|| of(teacher, "teacher")).unwrap_or_else(|| no_figure(result, "not compared"))
    })
}

fn intended_use(run: &RunDir) -> Vec<String> {
    let teacher = plain(&run.info.teacher.id);
    vec![
        format!("- To read how {teacher} schedules, and to check its habits against what an operator expects."),
        "- To schedule in its place (`distill export` writes rules, C, Rust and ONNX) where the figures below were measured on \
         work like yours; elsewhere measure first, with `distill evaluate`."
            .to_owned(),
        "- Not to say what is optimal: it imitates its teacher, mistakes included.".to_owned(),
    ]
}

fn making(run: &RunDir) -> Vec<String> {
    let (info, provenance) = (&run.info, &run.student.provenance);
    let mut lines = vec![format!(
        "- Teacher: {}, workload: {}, seed {}.",
        plain(&info.teacher.id),
        plain(&info.workload),
        info.seed
    )];
    let split = |s: &SplitInfo| {
        format!("{} ({} episodes, {} decisions)", plain(&s.split), count(s.episodes), count(s.decisions))
    };
    if !info.splits.is_empty() {
        let splits: Vec<String> = info.splits.iter().map(split).collect();
        lines.push(format!("- Recorded: {}. No two splits share an episode.", list(&splits)));
    }
    if !provenance.parameters.is_null() {
        lines.push(format!("- Parameters of the fit: {}", plain(&provenance.parameters.to_string())));
    }
    let (guards, patches) = (run.student.guards.len(), run.student.patches.len());
    if guards + patches > 0 {
        lines.push(format!("- Edited after the fit: {guards} guards, {patches} patches."));
    }
    if !info.commands.is_empty() {
        lines.extend(["- Commands:".to_owned(), String::new()]);
        // Indented by as much as a list item's code needs, so that nothing in them is markup.
        lines.extend(info.commands.iter().map(|c| format!("      {}", one_line(c))));
    }
    lines
}

fn measured(run: &RunDir) -> Vec<String> {
    let mut lines = Vec::new();
    if students(run).next().is_some() {
        lines.push("| level | kind | choices | teacher's first choice met |\n| --- | --- | ---: | ---: |".to_owned());
        lines.extend(students(run).map(|r| {
            let share = interval(&r.top1, percent);
            format!("| {} | {} | {} | {share} |", plain(&r.level), plain(&r.kind), count(r.choices as u64))
        }));
    }
    if let Some(first) = loops(run).next() {
        let head = format!("| workload | episodes | {} |\n| --- | ---: | ---: |", to_teacher(first));
        lines.extend([String::new(), head]);
        lines.extend(loops(run).map(|result| {
            let said = against_teacher(result).map_or_else(|why| why, |e| goal::measured(result.objective(), &e));
            format!("| {} | {} {} | {said} |", plain(&result.workload), result.episodes, plain(&result.split))
        }));
    }
    match lines.is_empty() {
        true => vec!["Nothing was measured; `distill evaluate` does.".to_owned()],
        false => {
            lines.extend([
                String::new(),
                "In brackets intervals, resampled by episode; with 95 % all that the verdict goes by hold.".to_owned(),
            ]);
            lines
        }
    }
}

fn limits(run: &RunDir, support: &str) -> Vec<String> {
    let mut said: Vec<String> = run.info.notes.iter().map(|note| plain(note)).collect();
    let weak: Vec<String> = students(run)
        .filter(|r| r.kind != ALL_KINDS && r.top1.value < WEAK)
        .map(|r| format!("{} choices of level {} ({})", plain(&r.kind), plain(&r.level), percent(r.top1.value)))
        .collect();
    if !weak.is_empty() {
        said.push(format!(
            "Weak on {}: there it meets fewer than {} of the teacher's first choices.",
            list(&weak),
            percent(WEAK)
        ));
    }
    let ran: Vec<String> = loops(run).map(|result| plain(&result.workload)).collect();
    said.push(match ran.is_empty() {
        true => format!("It was not run as a scheduler, on {} or anything else.", plain(&run.info.workload)),
        false => format!("Run as a scheduler on {} only; what it does on other workloads is not known.", list(&ran)),
    });
    said.push(format!("Rules with little support: {}", plain(support)));
    let stability = run.explanation.as_ref().map_or(&[][..], |e| &e.stability);
    said.extend(stability.iter().filter_map(|level| {
        let all = level.agreement.last()?;
        Some(format!(
            "Level {}: fitted again on other draws of the training episodes, the rules make the same choice in {} of cases on \
             average, at worst in {}.",
            plain(&level.level),
            percent(all.student.mean),
            percent(all.student.least)
        ))
    }));
    said.into_iter().map(|line| format!("- {line}")).collect()
}

/// A map as YAML, one entry a line; lists hold one map a line in flow style. Keys are ours; scalars are JSON, which is YAML.
fn yaml(map: &Value) -> String {
    let mut text = String::new();
    for (key, value) in map.as_object().into_iter().flatten() {
        match value.as_array() {
            None => text += &format!("{key}: {}\n", scalar(value)),
            Some(list) if list.is_empty() => text += &format!("{key}: []\n"),
            Some(list) => {
                text += &format!("{key}:\n");
                list.iter().for_each(|item| text += &format!("  - {}\n", flow(item)));
            }
        }
    }
    text
}

fn flow(item: &Value) -> String {
    let entries = item.as_object().into_iter().flatten();
    let entries: Vec<String> = entries.map(|(key, value)| format!("{key}: {}", scalar(value))).collect();
    format!("{{{}}}", entries.join(", "))
}

/// A scalar as JSON. What JSON allows in a string and some readers of YAML do not, such as line separators, is escaped.
fn scalar(value: &Value) -> String {
    let odd = |c: char| acts(c) || matches!(c, '\u{feff}' | '\u{fffe}' | '\u{ffff}');
    let escape = |c: char| if odd(c) { format!("\\u{:04x}", c as u32) } else { c.to_string() };
    value.to_string().chars().map(escape).collect()
}

/// Text that Markdown shows as it is: no markup, no HTML, no links, no cells of tables.
fn plain(text: &str) -> String {
    let text = one_line(text);
    let mut shown = String::new();
    let mut next = text.chars().peekable();
    while let Some(c) = next.next() {
        let link = c == ']' && matches!(next.peek(), Some('(' | '[' | ':'));
        let leading = shown.is_empty() && matches!(c, '#' | '+' | '-' | '=' | '>' | '~');
        if link || leading || matches!(c, '\\' | '`' | '*' | '_' | '<' | '&' | '|') {
            shown.push('\\');
        }
        shown.push(c);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_front_matter_is_a_key_and_a_scalar() {
        let evil = "a: b\n---\n\"'#\u{2028}\u{85}\\ \u{1f600}";
        let text = yaml(&json!({"title": evil, "none": [], "levels": [{"level": evil, "size": 3}], "size": 0.5}));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 5, "{text}");
        assert!(text.chars().all(|c| c == '\n' || !c.is_control() && c != '\u{2028}'), "{text:?}");
        let title = text.lines().find_map(|l| l.strip_prefix("title: ")).unwrap();
        assert_eq!(serde_json::from_str::<String>(title).unwrap(), evil);
        let level = text.lines().find_map(|l| l.strip_prefix("  - {level: ")).unwrap();
        let level = level.strip_suffix(", size: 3}").unwrap();
        assert_eq!(serde_json::from_str::<String>(level).unwrap(), evil);
        assert!(lines.contains(&"none: []") && lines.contains(&"size: 0.5"));
    }

    #[test]
    fn text_stays_text() {
        assert_eq!(plain("<b>[x](y) *a* `b` | c_d\n# e"), "\\<b>[x\\](y) \\*a\\* \\`b\\` \\| c\\_d\\\\u{a}# e");
        assert_eq!(plain("# no heading"), "\\# no heading");
        assert_eq!(plain("71.4 % [70.0, 72.8]"), "71.4 % [70.0, 72.8]");
    }
}
