//! What readers try in the page comes out as the program has it: other figures of a candidate, other numbers and guards of the student.

use crate::page::Page;
use sched_distill::{
    explainer::{ChoiceColumns, Decisions, WhatIf, WhatIfChoice, WhatIfLevel},
    level::{FeatureSpec, LevelSpec, NONE_FLAG, Scope},
    model::{CompiledGuards, Guard, Model, NamedModel, Regime, ScoreCandidates, Student},
};
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};
use tempfile::TempDir;

pub(super) const PROGRAM: &str = env!("CARGO_BIN_EXE_distill");
const WORKLOAD: &str = "builtin,jobs=6,executors=6";

/// Runs a command that must succeed.
pub(super) fn done(command: &mut Command) -> String {
    let output = command.output().expect("the program starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command:?}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A folder with a recorded trace, `test`, and a student with models of every kind, `student.json`; the same for all tests.
fn made() -> &'static Path {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    MADE.get_or_init(|| {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("what-if");
        // What an earlier run of the tests left, if one did.
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).expect("a folder");
        let program = |words: &[&str]| done(Command::new(PROGRAM).current_dir(&dir).args(words));
        for (split, episodes) in [("train", "8"), ("test", "10")] {
            let policy = "sjf-cp,temperature=0.3,mode=sample";
            program(&["record", "-p", policy, "-w", WORKLOAD, "-n", episodes, "--split", split, "-o", split]);
        }
        let learners = "tree,linear-tree,logit,spline-logit,pairwise-tree";
        program(&["fit", "train", "-o", "fitted.json", "--learner", learners, "--max-leaves", "12"]);
        let mut student = Student::load(&dir.join("fitted.json")).expect("a student");
        for i in 0..student.levels.len() {
            let spec = &student.feature_set.levels[i];
            let column = spec.features.iter().position(|f| f.name == "offered").expect("a feature of each level");
            let level = &mut student.levels[i];
            let model = |name: &str| level.models.iter().find(|m| m.name == name).expect("it was fitted").clone();
            let (below, above) = (model("tree"), model("spline-logit"));
            let regime = Model::Regime(Regime::split(column as u32, 1.0, below.model.clone(), above.model));
            level.models.push(NamedModel { name: "regime".to_owned(), model: regime, ..below });
        }
        student.save(&dir.join("student.json")).expect("a file");
        dir
    })
}

/// A run with its report.
pub(super) struct Run {
    pub(super) dir: TempDir,
    student: Student,
    what_if: WhatIf,
    decisions: Decisions,
}

/// Explains a student whose levels schedule by the models of these names, and draws the report.
pub(super) fn run(used: [&str; 3]) -> Run {
    let dir = tempfile::tempdir().expect("a folder");
    let mut student = Student::load(&made().join("student.json")).expect("the student");
    student.levels.iter_mut().zip(used).for_each(|(level, name)| name.clone_into(&mut level.used));
    for guard in ["job: remaining_work_rank > 1.5 last", "stage: remaining_tasks <= 2 first", "job: age > 20s first"] {
        student.guards.push(Guard::parse(guard, &student.feature_set).expect("a guard"));
    }
    let path = dir.path().join("student.json");
    student.save(&path).expect("a file");
    let explain = ["--run", "run", "--decisions", "90", "--choices", "300"];
    done(
        Command::new(PROGRAM)
            .current_dir(&dir)
            .args(["explain", "student.json"])
            .arg(made().join("test"))
            .args(explain),
    );
    done(Command::new(PROGRAM).current_dir(&dir).args(["report", "run", "-o", "report"]));
    let read = |name: &str| fs::read(dir.path().join("run").join(name)).expect("a file of the run");
    let student = Student::load(&path).expect("the student");
    let what_if = serde_json::from_slice(&read("what_if.json")).expect("choices");
    let decisions = serde_json::from_slice(&read("decisions.json")).expect("decisions");
    Run { dir, student, what_if, decisions }
}

/// Every kind of model, at one level or another.
pub(super) const STUDENTS: [[&str; 3]; 3] = [
    ["tree", "spline-logit", "linear-tree"],
    ["regime", "pairwise-tree", "regime"],
    ["logit", "linear-tree", "spline-logit"],
];

/// The candidate that a level takes.
fn taken(student: &Student, spec: &LevelSpec, x: &[f32]) -> usize {
    let (level, width) = (student.level(&spec.name).expect("a level"), spec.features.len());
    let mut scores = vec![0.0; x.len() / width];
    level.scheduler().model.score_choice(x, width, &mut scores);
    let guards = CompiledGuards::new(&student.guards, spec);
    (0..guards.len()).for_each(|guard| guards.apply(guard, x, width, &mut scores));
    level.pick.of(&scores, level.scheduler().temperature)
}

impl Run {
    pub(super) fn page(&self) -> Page {
        Page::open(&format!("file://{}", self.dir.path().join("report/report.html").display()))
    }

    /// The levels with their features.
    fn levels(&self) -> impl Iterator<Item = (&WhatIfLevel, &LevelSpec)> {
        self.what_if.levels.iter().map(|l| (l, self.student.feature_set.level(&l.level).expect("a level")))
    }
}

/// A candidate by its innermost entity.
fn name(spec: &LevelSpec, choice: &WhatIfChoice, candidate: usize) -> String {
    let parts = spec.entities.iter().zip(&choice.entities);
    let parts = parts.map(|(name, column)| format!("{name} {}", column.of(candidate).expect("an entity")));
    parts.collect::<Vec<_>>().into_iter().rev().collect::<Vec<_>>().join(" of ")
}

/// How many raw units are one of the page's, for a value of a feature.
fn scale(feature: &FeatureSpec, value: f64) -> f64 {
    match feature.unit.as_str() {
        "1" if feature.scope == Scope::Share => 0.01,
        unit if unit == "ms" || unit.starts_with("ms·") => match value.abs() {
            size if size < 1e3 => 1.0,
            size if size < 120e3 => 1e3,
            size if size < 7200e3 => 6e4,
            _ => 3.6e6,
        },
        _ => 1.0,
    }
}

/// By column, whether all candidates of every choice have the same there.
fn shared(level: &WhatIfLevel, spec: &LevelSpec) -> Vec<bool> {
    let width = spec.features.len();
    let rows: Vec<Vec<f32>> = level.choices.iter().map(|choice| level.rows(choice, spec)).collect();
    let same = |column: usize| rows.iter().all(|x| x.chunks_exact(width).all(|row| row[column] == x[column]));
    (0..width).map(same).collect()
}

/// Shows a decision and its candidate `candidate`, and leaves the words of the verdict.
fn open(page: &Page, id: &str, candidate: usize) {
    page.eval(&format!(
        "(() => {{
            const form = document.getElementById('decision-picker').elements;
            for (const name of ['level', 'kind', 'selection']) {{ form[name].value = ''; form[name].dispatchEvent(new Event('change')); }}
            form.decision.value = {};
            form.decision.dispatchEvent(new Event('change'));
            const pick = document.querySelector('#decision-what-if [name=candidate]');
            if (pick) {{ pick.value = '{candidate}'; pick.dispatchEvent(new Event('change')); }}
        }})()",
        json!(id)
    ));
}

/// Puts numbers into the field of a feature one after the other (or sets its box, where it is a flag), and takes all back. Returns
/// after each what the verdict is and what is said of ranks and ratios; the last is what remains in the end.
fn put(page: &Page, feature: &str, values: &[f64]) -> Vec<(String, Value)> {
    // Text contents, since words as they are shown have the browser lay out the page each time.
    let found = page.eval(&format!(
        "(() => {{
            const part = document.getElementById('decision-what-if');
            const input = part.querySelector('.figures [data-feature={feature}] input');
            const said = () => [part.querySelector('.verdict').textContent, Object.fromEntries(
                [...part.querySelectorAll('.followers [data-feature]')].map((e) => [e.dataset.feature, e.textContent]))];
            const found = {values:?}.map((value) => {{
                if (input.type === 'checkbox') {{ input.checked = value === 1; input.dispatchEvent(new Event('change')); }}
                else {{ input.value = String(value); input.dispatchEvent(new Event('input')); }}
                return said();
            }});
            part.querySelector('[name=reset]').click();
            return [...found, said()];
        }})()"
    ));
    serde_json::from_value(found).expect("words")
}

const VERDICT: &str = "#decision-what-if .verdict";

#[test]
#[cfg_attr(not(browser), ignore = "no Chromium was found; CHROMIUM may name one")]
fn other_figures_of_a_candidate_change_the_decision_when_they_change_the_programs() {
    let (mut tried, mut others, mut followed) = (0, 0, 0);
    for used in STUDENTS {
        let run = run(used);
        let page = run.page();
        for (level, spec) in run.levels() {
            let (width, columns) = (spec.features.len(), ChoiceColumns::new(spec).expect("quantities of all ranks"));
            let shared = shared(level, spec);
            let shown = run.decisions.choices.iter().filter(|c| c.level == level.level).step_by(14);
            for explained in shown {
                let choice = level.choices.iter().find(|c| c.choice == explained.choice).expect("it is kept");
                let before = level.rows(choice, spec);
                let first = taken(&run.student, spec, &before);
                for candidate in [(first + 1) % choice.candidates, first] {
                    open(&page, &format!("{}:{}", level.level, choice.choice), candidate);
                    assert!(page.text(VERDICT).contains(&format!("takes {}", name(spec, choice, first))));
                    let free = (0..width).filter(|&c| {
                        let f = &spec.features[c];
                        columns.is_base(c) && f.name != NONE_FLAG && level.features.contains(&f.name)
                    });
                    for column in free {
                        let feature = &spec.features[column];
                        let was = before[candidate * width + column];
                        let scale = scale(feature, f64::from(was));
                        // As a flag, as nothing, as another candidate has it, and twice as much.
                        let another = f64::from(before[(candidate + 1) % choice.candidates * width + column]);
                        let values = match feature.unit.as_str() {
                            "0/1" => vec![f64::from(1.0 - was)],
                            _ => vec![0.0, another / scale, (2.0 * f64::from(was) / scale).round()],
                        };
                        let said = put(&page, &feature.name, &values);
                        for (&value, (verdict, followers)) in values.iter().zip(&said) {
                            let mut x = before.clone();
                            let rows = (0..choice.candidates).filter(|&row| shared[column] || row == candidate);
                            rows.for_each(|row| x[row * width + column] = (value * scale) as f32);
                            let changed = x != before;
                            if changed {
                                columns.recompute_column(&mut x, column).expect("a quantity");
                            }
                            let now = taken(&run.student, spec, &x);
                            let (begins, ends) = match (changed, now == first) {
                                (false, _) => ("Nothing is changed: the student takes ", String::new()),
                                (true, true) => ("The student still takes ", String::new()),
                                (true, false) => {
                                    ("The student takes ", format!(" instead of {}", name(spec, choice, first)))
                                }
                            };
                            let expected = format!("{begins}{}{ends}", name(spec, choice, now));
                            let place =
                                format!("{used:?} {} {}: {value} x {scale}, was {was}", level.level, feature.name);
                            assert!(verdict.starts_with(&expected), "{place}: {verdict}, expected {expected}");
                            (tried, others) = (tried + 1, others + usize::from(now != first));
                            for (c, f) in spec.features.iter().enumerate() {
                                if f.scope != Scope::Rank || !level.features.contains(&f.name) {
                                    continue;
                                }
                                let rank = x[candidate * width + c].to_string();
                                assert_eq!(followers[&f.name], json!(rank), "{place}: {}", f.name);
                                followed += usize::from(x[candidate * width + c] != before[candidate * width + c]);
                            }
                        }
                        let (last, _) = said.last().expect("what remains");
                        assert!(last.starts_with("Nothing is changed"), "{last}");
                    }
                }
            }
        }
    }
    assert!(
        tried > 300 && others > 30 && followed > 30,
        "{tried} tried, {others} others taken, {followed} ranks moved"
    );
}

#[test]
#[cfg_attr(not(browser), ignore = "no Chromium was found; CHROMIUM may name one")]
fn the_page_says_who_is_taken_instead_and_why() {
    let run = run(STUDENTS[0]);
    let page = run.page();
    let (level, spec) = run.levels().next().expect("the first level");
    let shown = run.decisions.choices.iter().find(|c| c.level == level.level && c.candidates_in_all > 2).expect("one");
    let choice = level.choices.iter().find(|c| c.choice == shown.choice).expect("it is kept");
    open(&page, &format!("{}:{}", level.level, choice.choice), 0);
    let field = "#decision-what-if .figures [data-feature=remaining_work] input";
    let held = page.eval(&format!("document.querySelector('{field}').value"));
    page.eval(&format!("document.querySelector('{field}').value = ''"));
    page.type_into(field, "1");
    assert_eq!(page.count("#decision-what-if .changes li"), 1);
    assert!(page.text("#decision-what-if .changes").contains(&format!("{}: work left ", name(spec, choice, 0))));
    // By probability, the best first; they add up, and the table says what they were.
    let rows = page.rows("#decision-what-if table.dense");
    let percent = |cell: &str| cell.trim_end_matches('%').trim().parse::<f64>().expect("a share");
    let now: Vec<f64> = rows.iter().map(|row| percent(&row[2])).collect();
    assert!(now.is_sorted_by(|a, b| a >= b) && rows.len() == choice.candidates.min(12), "{rows:?}");
    assert!((now.iter().sum::<f64>() - 100.0).abs() < 1.0, "{rows:?}");
    assert!(page.text("#decision-what-if .outcome").contains("What tells"));
    assert!(page.count("#decision-what-if .path li") > 0, "the way through the tree");
    // Another rival of the decision above leaves the change.
    page.click("#decision-view button[aria-pressed=false]");
    assert_eq!(page.count("#decision-what-if .changes li"), 1);
    // No number at all is no change.
    page.eval(&format!(
        "(() => {{ const e = document.querySelector('{field}'); e.value = ''; e.dispatchEvent(new Event('input')) }})()"
    ));
    assert_eq!(page.eval(&format!("document.querySelector('{field}').getAttribute('aria-invalid')")), json!("true"));
    assert!(page.text(VERDICT).starts_with("Nothing is changed"));
    page.type_into(field, "3");
    page.focus("#decision-what-if [name=reset]");
    page.press("Enter");
    assert_eq!(page.eval(&format!("document.querySelector('{field}').value")), held);
    // Of a sum of terms, the bars.
    let stage = run.decisions.choices.iter().find(|c| c.level == "stage").expect("one");
    open(&page, &format!("stage:{}", stage.choice), 0);
    page.type_into("#decision-what-if .figures [data-feature=remaining_tasks] input", "900");
    assert!(page.count("#decision-what-if .waterfall rect") > 0, "{}", page.text("#decision-what-if"));
}

/// The drawn choices of a level with their rows, and the candidates that the student takes of them.
struct Drawn<'a> {
    spec: &'a LevelSpec,
    choices: Vec<(&'a WhatIfChoice, Vec<f32>)>,
    before: Vec<usize>,
}

impl<'a> Drawn<'a> {
    fn new(run: &Run, level: &'a WhatIfLevel, spec: &'a LevelSpec) -> Self {
        let drawn = level.choices.iter().filter(|c| c.drawn);
        let mut all = Self { spec, choices: drawn.map(|c| (c, level.rows(c, spec))).collect(), before: Vec::new() };
        all.before = all.taken(&run.student);
        all
    }

    fn taken(&self, student: &Student) -> Vec<usize> {
        self.choices.iter().map(|(_, x)| taken(student, self.spec, x)).collect()
    }
}

/// Carries out what a command of the page says.
fn patched(student: &Student, command: &str) -> Student {
    let words = words_of(command);
    let mut student = student.clone();
    let mut drop: Vec<usize> = after(&words, "--drop-guard").iter().map(|g| g.parse().expect("a number")).collect();
    drop.sort_unstable();
    drop.iter().rev().for_each(|&guard| _ = student.guards.remove(guard));
    for text in after(&words, "--set") {
        student.edit(&text, "by hand").unwrap_or_else(|e| panic!("{command}: {e}"));
    }
    student
}

/// The words of a command, as a shell reads them.
fn words_of(command: &str) -> Vec<String> {
    let printed = done(Command::new("sh").args(["-c", &format!("printf '%s\\n' {command}")]));
    printed.lines().map(str::to_owned).collect()
}

fn after(words: &[String], option: &str) -> Vec<String> {
    words.windows(2).filter(|pair| pair[0] == option).map(|pair| pair[1].clone()).collect()
}

/// The block of a level below the rules, opened.
fn block(page: &Page, level: usize) -> String {
    let block = format!("#rules details[data-level='{level}']");
    page.eval(&format!("document.querySelector(\"{block}\").open = true"));
    page.wait_for(&format!("document.querySelector(\"{block} form\") !== null"));
    block
}

/// A share in per cent; what lies half way between two numbers is written as the larger one, as browsers do.
fn percent(part: usize, all: usize) -> String {
    let share = 100.0 * (part as f64 / all as f64);
    let half_way = (4.0 * share).fract() == 0.0 && (2.0 * share).fract() != 0.0;
    format!("{:.1}\u{a0}%", if half_way { share.next_up() } else { share })
}

/// What a block shows after something was done to its form (`f`): the command, or nothing where nothing is changed; the result in words,
/// and the rows of its table. In one question, since the browser takes its time for each.
fn after_doing(page: &Page, block: &str, what: &str) -> (String, String, Vec<Vec<String>>) {
    let found = page.eval(&format!(
        "(() => {{
            const part = document.querySelector(\"{block}\");
            const f = part.querySelector('form').elements;
            const all = (of) => [...part.querySelectorAll(of)];
            {what};
            const rows = all('tbody tr').map((row) => [...row.cells].map((cell) => cell.textContent));
            const command = part.querySelector('pre');
            return [command.checkVisibility() ? command.textContent : '', part.querySelector('[role=status]').textContent, rows];
        }})()"
    ));
    serde_json::from_value(found).expect("words")
}

/// Whether a block shows what the program says of its command: by kind, choices, how many are decided differently, and agreement before
/// and now in per cent. Returns how many are.
fn check(
    (command, status, rows): &(String, String, Vec<Vec<String>>),
    run: &Run,
    level: &WhatIfLevel,
    of: &Drawn<'_>,
) -> usize {
    let (before, now) = (&of.before, of.taken(&patched(&run.student, command)));
    let drawn: Vec<&WhatIfChoice> = of.choices.iter().map(|c| c.0).collect();
    let figures = |kind: Option<usize>| {
        let of: Vec<usize> = (0..drawn.len()).filter(|&i| kind.is_none_or(|kind| drawn[i].kind == kind)).collect();
        let count = |holds: &dyn Fn(usize) -> bool| of.iter().filter(|&&i| holds(i)).count();
        let share = |k: usize| percent(k, of.len());
        let changed = count(&|i| before[i] != now[i]);
        let agreed = [before, &now].map(|taken| share(count(&|i| taken[i] == drawn[i].best)));
        (of.len(), changed, agreed)
    };
    let (all, changed, [was, is]) = figures(None);
    let share = percent(changed, all);
    let expected = format!(
        "The student decides differently in {changed} of {all} choices ({share}). It agrees with the teacher in {is}; before, in {was}."
    );
    assert_eq!(*status, expected, "{command}");
    for (kind, name) in level.kinds.iter().enumerate().filter(|(kind, _)| drawn.iter().any(|c| c.kind == *kind)) {
        let (n, changed, [was, is]) = figures(Some(kind));
        let row = rows.iter().find(|row| row[0] == *name).expect("a row for each kind");
        assert_eq!(row[1..], [n.to_string(), format!("{changed} of {n}"), was, is], "{command}: {name}");
    }
    changed
}

/// Moves the number of an option, by its place in the list, to where the slider stands at that share of its way.
fn moved(option: usize, share: f64) -> String {
    format!(
        "f.place.value = '{option}';
         f.place.dispatchEvent(new Event('change'));
         f.slide.value = String(Math.round({share} * Number(f.slide.max)));
         f.slide.dispatchEvent(new Event('input'))"
    )
}

#[test]
#[cfg_attr(not(browser), ignore = "no Chromium was found; CHROMIUM may name one")]
fn other_numbers_and_guards_change_as_many_decisions_as_in_the_program() {
    let (mut tried, mut changed) = (0, 0);
    for used in STUDENTS {
        let run = run(used);
        let page = run.page();
        for (i, (level, spec)) in run.levels().enumerate() {
            let (block, of) = (block(&page, i), Drawn::new(&run, level, spec));
            let act = |what: &str| after_doing(&page, &block, what);
            assert!(act("").1.starts_with("Nothing is changed."));
            let options = page.count(&format!("{block} [name=place] option")) as usize;
            assert!(options > 0, "{used:?} {}", level.level);
            for option in (0..options).step_by(options.div_ceil(16)) {
                for share in [0.2, 0.8] {
                    let shown = act(&moved(option, share));
                    // The slider may stand where it stood.
                    if !shown.0.is_empty() {
                        tried += 1;
                        changed += usize::from(check(&shown, &run, level, &of) > 0);
                    }
                }
                act("f.reset.click()");
            }
            // Two numbers at once, and guards off one after the other.
            act(&moved(0, 0.9));
            check(&act(&moved(options - 1, 0.1)), &run, level, &of);
            for guard in 0..page.count(&format!("{block} [data-guard]")) {
                check(&act(&format!("all('[data-guard]')[{guard}].click()")), &run, level, &of);
            }
            assert!(act("f.reset.click()").1.starts_with("Nothing is changed."));
        }
    }
    assert!(tried > 150 && changed > 60, "{tried} moved, {changed} change a decision");
}

#[test]
#[cfg_attr(not(browser), ignore = "no Chromium was found; CHROMIUM may name one")]
fn a_number_is_typed_a_guard_is_switched_off_and_the_program_carries_it_out() {
    let run = run(STUDENTS[0]);
    let page = run.page();
    let block = block(&page, 0);
    page.choose(&format!("{block} [name=place]"), &page.text(&format!("{block} [name=place] option")));
    page.eval(&format!("document.querySelector(\"{block} [name=value]\").value = ''"));
    page.type_into(&format!("{block} [name=value]"), "0.625");
    let first_guard = page.eval(&format!("document.querySelector(\"{block} [data-guard]\").dataset.guard"));
    assert_eq!(first_guard, json!("0"));
    page.click(&format!("{block} [data-guard='0']"));
    // A guard's number moves up behind one that is taken out.
    let value = page.eval(&format!(
        "[...document.querySelectorAll(\"{block} [name=place] option\")].findIndex((o) => o.text.startsWith('guard 2,'))"
    ));
    let option = value.as_u64().expect("a guard's number") as usize;
    let shown = after_doing(&page, &block, &moved(option, 0.5));
    let command = page.text(&format!("{block} pre"));
    assert_eq!(command, shown.0);
    assert!(
        command.starts_with("distill patch student.json --drop-guard 0 --set ") && command.ends_with(" -o new.json")
    );
    assert!(command.contains("guard[1].value="), "{command}");
    let (level, spec) = run.levels().next().expect("a level");
    check(&shown, &run, level, &Drawn::new(&run, level, spec));

    let folder = Path::new(PROGRAM).parent().expect("a folder");
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default());
    done(Command::new("sh").args(["-c", &format!("{command} -n 1 --gate 2")]).current_dir(&run.dir).env("PATH", path));
    let written = Student::load(&run.dir.path().join("new.json")).expect("the new student");
    assert_eq!(written.to_json(), patched(&run.student, &command).to_json());
    assert_ne!(written.to_json(), run.student.to_json());
}
