//! Exported students decide as the student itself: random models and rows, recorded episodes, names of every sort.

use crate::{
    random_tree::random_tree,
    replay::{Case, STRICT, check_c, check_rust, compiles, decide, rustc, scheduler, scored_rows},
};
use sched_distill::{
    level::{FeatureSet, FeatureSpec, LevelSpec, NONE_FLAG, Scope},
    model::{
        Action, Additive, Condition, Evidence, Factor, Guard, LevelModels, Model, NamedModel, Operator, Pairwise, Pick,
        Provenance, Regime, Shape, Structure, Student, Term,
        export::{Language, Target, export, export_student, parts},
    },
    rng::{Stream, hash},
    scenario::{Answer, Catalogue, ChoiceRows, Questions, Scenario, ScenarioInfo},
};
use std::{fs, process::Command, sync::LazyLock};

/// What would break out of strings, comments and identifiers.
const HOSTILE: [&str; 12] = [
    "*/ int injected = 1; /*",
    "\"; int injected = 1; //",
    "\n#error injected\n",
    "\u{202e}\u{2066}injected\u{2028} = 1;",
    "injected ??/",
    "injected \\",
    "int",
    "INT",
    "fn injected() {} //",
    "{} {injected} %s",
    "größe",
    "größe ",
];

fn feature(name: &str, i: usize) -> FeatureSpec {
    let prose = HOSTILE[i % HOSTILE.len()];
    FeatureSpec {
        name: name.to_owned(),
        unit: format!("ms{prose}"),
        meaning: format!("How. {prose}"),
        scope: Scope::Absolute,
        version: 1,
        whole: false,
    }
}

/// Three levels with hostile names; the first may give nothing.
fn feature_set() -> &'static FeatureSet {
    static SET: LazyLock<FeatureSet> = LazyLock::new(|| {
        let level = |name: &str, entity: &str, names: &[&str]| LevelSpec {
            name: name.to_owned(),
            question: format!("Which? {}", HOSTILE[0]),
            entities: vec![entity.to_owned()],
            features: names.iter().enumerate().map(|(i, name)| feature(name, i)).collect(),
        };
        let levels = vec![
            level("union", "job", &[&[NONE_FLAG][..], &HOSTILE[..6]].concat()),
            level(HOSTILE[1], "stage", &HOSTILE[5..9]),
            level("2nd */ \\", "amount", &HOSTILE[9..]),
        ];
        FeatureSet { scenario: INFO_NAME.to_owned(), levels }
    });
    &SET
}

const INFO_NAME: &str = "given \"; int injected = 1; //??/";

/// A scenario whose candidates are drawn at random, the same ones at the same path.
#[derive(Clone, Copy, Debug, Default)]
struct Given;

/// A question: what it is drawn from, and values that matter to the student.
#[derive(Clone, Copy)]
struct View<'a> {
    seed: u64,
    values: &'a [f32],
}

#[derive(Clone, Default)]
struct Draws;

impl Scenario for Given {
    const INFO: ScenarioInfo = ScenarioInfo {
        name: INFO_NAME,
        meaning: "",
        kinds: &[],
        regime: "",
        feature_set,
        figures: &[],
        catalogue: Catalogue { guards: &[], orders: &[], borders: &[], terms: &[], rules: &[] },
        workloads: &[],
        lane: "",
        part: "",
        parts: &[],
        edge_cases: &[],
    };
    type View<'a> = View<'a>;
    type State = crate::replay::Untold;
    type Decision = usize;
    type Probabilities = ();
    type Questions = Draws;

    fn time_ms(_: &View<'_>) -> f64 {
        0.0
    }

    fn kind(_: &View<'_>) -> u8 {
        0
    }

    fn certain(_: &View<'_>, _: usize, _: usize, (): &mut ()) {}
}

impl Questions<Given> for Draws {
    fn update(&mut self, _: &View<'_>) {}

    fn rows(&mut self, seen: &View<'_>, path: &[usize], abstains: bool, out: &mut Vec<f32>) -> usize {
        let Some(level) = feature_set().levels.get(path.len()) else { return 0 };
        let key: Vec<u64> =
            [seen.seed, u64::from(abstains)].into_iter().chain(path.iter().map(|&p| p as u64)).collect();
        let (mut s, mut first) = (Stream::new(hash(&key), "rows"), Stream::new(seen.seed, "candidates"));
        let at_first = 1 + [0, 2, 5, 12, 40][first.below(5)];
        let n = match path {
            [] if s.below(50) == 0 => 0,
            [] => at_first,
            // Who gives nothing comes last.
            &[job] if abstains && job == at_first => return 0,
            _ => [0, 1, 2, 3, 7][s.below(5)].max(usize::from(s.below(8) > 0)),
        };
        let width = level.features.len();
        let special = [f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 0.0, -0.0, f32::MAX, 1e-45];
        // Questions with many special values, and those with few.
        let rare = [3, 20, 1000][first.below(3)];
        for i in 0..n {
            match i > 0 && s.below(3) == 0 {
                // As another candidate, so that scores are equal.
                true => {
                    let row = out.len() - width * (1 + s.below(i));
                    out.extend_from_within(row..row + width);
                }
                false => out.extend((0..width).map(|_| match s.below(rare) {
                    0 => special[s.below(special.len())],
                    _ => {
                        let value = seen.values[s.below(seen.values.len())];
                        [value, value.next_up(), value.next_down(), (s.normal() * 4.0) as f32][s.below(4)]
                    }
                })),
            }
        }
        if !path.is_empty() || n == 0 {
            return n;
        }
        out.iter_mut().step_by(width).for_each(|flag| *flag = 0.0);
        if abstains {
            out.push(1.0);
            out.extend((1..width).map(|_| 0.0));
        }
        n + usize::from(abstains)
    }

    fn decision(&self, _: &View<'_>, path: &[usize]) -> usize {
        path.len()
    }

    fn choice(&self, _: &View<'_>, _: &[usize], _: &Answer<'_, Given>, _: bool, _: &mut ChoiceRows) -> bool {
        false
    }
}

/// A sum of terms of every shape, or of features as they are.
fn sum(s: &mut Stream, width: usize) -> Model {
    let shapes = [Shape::Linear, Shape::Log, Shape::Above, Shape::Excess];
    let linear = s.below(2) == 0;
    let factor = |s: &mut Stream| {
        let shape = if linear { Shape::Linear } else { shapes[s.below(4)] };
        let threshold = matches!(shape, Shape::Above | Shape::Excess).then(|| (s.normal() * 4.0).round() as f32 / 4.0);
        Factor { feature: s.below(width) as u32, shape, threshold }
    };
    let term = |s: &mut Stream| {
        let factors = (0..1 + s.below(2)).map(|_| factor(s)).collect();
        let coefficient = if s.below(8) == 0 { 0.0 } else { s.normal() };
        Term { factors, ..Term::linear(0, coefficient, 1.0) }
    };
    let terms = (0..s.below(6)).map(|_| term(s)).collect();
    Model::Additive(Additive { intercept: s.normal(), terms })
}

fn model(s: &mut Stream, width: usize, kind: usize) -> Model {
    let seed = s.bits();
    let leaves = 1 + s.below(30);
    match kind {
        0 => Model::Tree(random_tree(seed, leaves, width, 1, 0.2, false)),
        1 => Model::Tree(random_tree(seed, leaves, width, 1, 0.2, true)),
        2 => Model::Tree(random_tree(seed, leaves, width, 3, 0.2, false)),
        3 => sum(s, width),
        4 => Model::Pairwise(Pairwise { tree: random_tree(seed, leaves, 2 * width, 1, 0.2, false) }),
        _ => {
            let n = 1 + s.below(4);
            let mut tree = random_tree(seed, 2 * n, width, 1, 0.2, false);
            tree.value.iter_mut().for_each(|value| *value = s.below(n) as f64);
            Model::Regime(Regime {
                tree,
                models: (0..n)
                    .map(|_| {
                        let kind = s.below(5);
                        model(s, width, kind)
                    })
                    .collect(),
            })
        }
    }
}

/// A student of any models, with guards; its seed chooses kinds and structure in turn.
fn student(seed: u64) -> Student {
    let mut s = Stream::new(seed, "student");
    let set = feature_set();
    let flat = seed % 2 == 1;
    let mut kind = seed as usize;
    let mut level = |level: &LevelSpec, s: &mut Stream| {
        kind += 1;
        let mut named = |name: &str, kind: usize| NamedModel {
            name: name.to_owned(),
            temperature: 0.05 + s.uniform(),
            model: model(s, level.features.len(), kind % 6),
        };
        let models = vec![named("*/ used", kind), named("other", kind + 1)];
        let mut level_models = LevelModels::new(&level.name, "*/ used", models);
        if s.below(2) == 0 && (!flat || level.is_amount()) {
            level_models.pick = Pick::Median;
        }
        level_models
    };
    let levels = set.levels.iter().map(|l| level(l, &mut s)).collect();
    let provenance = Provenance {
        teacher: HOSTILE.concat(),
        workload: format!("x {}", HOSTILE[5]),
        trace_hash: HOSTILE[0].to_owned(),
        ..Provenance::default()
    };
    let mut student = Student::new(set.clone(), s.below(2) == 0, levels, provenance);
    if flat {
        student.structure = Structure::Flat;
    }
    student.guards = (0..s.below(6)).map(|i| guard(&mut s, i)).collect();
    student
}

fn guard(s: &mut Stream, i: usize) -> Guard {
    let level = &feature_set().levels[s.below(3)];
    let condition = |s: &mut Stream| Condition {
        feature: level.features[s.below(level.features.len())].name.clone(),
        operator: [Operator::Above, Operator::AtLeast, Operator::Below, Operator::AtMost][s.below(4)],
        value: (s.normal() * 4.0).round() as f32 / 4.0,
    };
    Guard {
        level: level.name.clone(),
        when: (0..1 + s.below(2)).map(|_| condition(s)).collect(),
        action: [Action::First, Action::Last, Action::Never][s.below(3)],
        evidence: Evidence { reason: HOSTILE[i].to_owned(), ..Evidence::default() },
    }
}

/// Values on which a student's tests turn.
fn values(student: &Student) -> Vec<f32> {
    fn of(model: &Model, out: &mut Vec<f32>) {
        match model {
            Model::Tree(tree) | Model::Pairwise(Pairwise { tree }) => out.extend(&tree.threshold),
            Model::Additive(sum) => out.extend(sum.terms.iter().flat_map(|t| &t.factors).filter_map(|f| f.threshold)),
            Model::Regime(regime) => {
                out.extend(&regime.tree.threshold);
                regime.models.iter().for_each(|model| of(model, out));
            }
        }
    }
    let mut out = vec![0.0];
    student.levels.iter().flat_map(|l| &l.models).for_each(|m| of(&m.model, &mut out));
    out.extend(student.guards.iter().flat_map(|g| &g.when).map(|c| c.value));
    out
}

const STUDENTS: u64 = 36;

/// What random students decide; every third with its other models.
fn cases(students: &[Student], decisions: u64) -> Vec<Case<'_>> {
    let case = |(i, student)| {
        let model = (i % 3 == 2).then_some("other");
        let (mut scheduler, values) = (scheduler::<Given>(student, model), values(student));
        let mut decided = |n: u64| decide::<Given>(&mut scheduler, &View { seed: hash(&[i, n]), values: &values }).1;
        Case { student, model, decisions: (0..decisions).map(&mut decided).collect() }
    };
    (0..).zip(students).map(case).collect()
}

fn rows(cases: &[Case<'_>]) -> usize {
    cases.iter().map(|case| scored_rows(&case.decisions)).sum()
}

#[test]
fn exported_c_decides_as_random_students_do() {
    let students: Vec<Student> = (0..STUDENTS).map(student).collect();
    let cases = cases(&students, 150);
    assert!(rows(&cases) >= 100_000, "{}", rows(&cases));
    check_c(&cases);
}

#[test]
fn exported_rust_decides_as_random_students_do() {
    let students: Vec<Student> = (0..STUDENTS).map(|seed| student(1000 + seed)).collect();
    let cases = cases(&students, 150);
    assert!(rows(&cases) >= 100_000, "{}", rows(&cases));
    check_rust(&cases);
}

/// Students of real clusters: fitted ones, and one with a model of every kind.
#[cfg(feature = "cli")]
#[test]
fn exports_decide_as_students_in_recorded_episodes() {
    use crate::{cli::done, replay::episodes};
    use sched_distill::{dag::Dag, training::Training};
    const DAG: &str = "builtin,jobs=4,executors=4";
    const TRAINING: &str = "builtin,nodes=12,jobs=12,rate=2,max=6";
    let dir = tempfile::tempdir().unwrap();
    let fitted = |scenario: &str, teacher: &str, workload: &str| {
        let (trace, student) = (format!("{scenario}-trace"), format!("{scenario}.json"));
        let record = ["record", "--scenario", scenario, "-p", teacher, "-w", workload, "-n", "6", "-o", &trace];
        done(dir.path(), &record);
        done(dir.path(), &["fit", &trace, "-o", &student, "--max-leaves", "12"]);
        Student::load(&dir.path().join(student)).unwrap()
    };
    let own = fitted("dag", "sjf-cp,temperature=0.3,mode=sample", DAG);
    let training = fitted("training", "drf", TRAINING);
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compat/dag/student.json");
    let every_kind = Student::load(&file).unwrap();
    let mut flat = Student { structure: Structure::Flat, ..every_kind.clone() };
    let mut regimes = Student { patches: Vec::new(), ..every_kind.clone() };
    for student in [&mut flat, &mut regimes] {
        student.levels[2].pick = Pick::Median;
    }
    regimes
        .levels
        .iter_mut()
        .filter(|l| l.models.iter().any(|m| m.name == "regime"))
        .for_each(|l| l.used = "regime".into());
    let kinds = ["tree", "linear", "linear-tree", "logit", "spline-logit", "pairwise-tree"].map(Some);

    let mut cases = Vec::new();
    for (student, models) in [(&own, &[None][..]), (&regimes, &[None]), (&every_kind, &kinds), (&flat, &kinds)] {
        let case = |&model| Case { student, model, decisions: episodes::<Dag>(student, model, DAG, 0..10) };
        cases.extend(models.iter().map(case));
    }
    let decisions = episodes::<Training>(&training, None, TRAINING, 0..10);
    cases.push(Case { student: &training, model: None, decisions });
    assert!(cases.iter().all(|case| case.decisions.len() > 100));
    check_c(&cases);
    check_rust(&cases);
}

/// The programs in the documentation, with a student of `dag`.
#[test]
fn the_documented_programs_work() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let docs = fs::read_to_string(root.join("docs/export.md")).unwrap();
    let block = |begin: &str, call: &str| {
        let mut blocks = docs.split(begin).skip(1).map(|rest| rest.split("\n```").next().unwrap());
        blocks.find(|block| block.contains(call)).unwrap().to_owned()
    };
    let student = Student::load(&root.join("tests/compat/dag/student.json")).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    for language in [Language::C, Language::Rust] {
        let text = export_student(&student, &parts(&student, None, None).unwrap(), language).unwrap();
        let made = match language {
            Language::C => {
                fs::write(dir.join("main.c"), block("```c\n", "student_decide(&choices") + "\n").unwrap();
                fs::write(dir.join("student.c"), text).unwrap();
                let mut cc = Command::new("cc");
                compiles(cc.current_dir(dir).args(STRICT).args(["main.c", "student.c", "-o", "main", "-lm"]))
            }
            Language::Rust => {
                fs::write(dir.join("main.rs"), block("```rust,ignore\n", "student::decide(") + "\n").unwrap();
                fs::write(dir.join("student.rs"), text).unwrap();
                rustc(dir, &["main.rs"])
            }
        };
        if made {
            let output = Command::new(dir.join("main")).output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            // The guard about amounts leaves 1 and 2.
            let amounts = ["executors 1\n", "executors 2\n"];
            assert!(output.status.success() && amounts.iter().any(|end| said.ends_with(end)), "{said}");
        }
    }
}

/// Source text without comments and strings.
fn code(text: &str, comment: (&str, &str)) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(c) = rest.chars().next() {
        if let Some(inside) = rest.strip_prefix(comment.0) {
            rest = inside.split_once(comment.1).unwrap_or((inside, "")).1;
            out.push(' ');
        } else if c == '"' {
            let mut escaped = false;
            let end = rest[1..].find(|c| {
                let ends = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                ends
            });
            rest = &rest[end.unwrap() + 2..];
        } else {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    out
}

#[test]
fn names_do_not_leave_comments_strings_and_identifiers() {
    let dir = tempfile::tempdir().unwrap();
    for seed in 0..12 {
        let student = student(seed);
        let parts = parts(&student, None, None).unwrap();
        for (language, comment) in [(Language::C, ("/*", "*/")), (Language::Rust, ("//", "\n"))] {
            let text = export_student(&student, &parts, language).unwrap();
            assert!(text.contains("injected") && text.contains(&student.feature_set.hash()));
            assert!(language == Language::Rust || !text.contains("??/"), "{text}");
            let code = code(&text, comment);
            let mut words = code.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            assert!(code.is_ascii() && words.all(|word| word != "injected"), "{code}");
        }
        let write = |name: &str, text: Vec<u8>| fs::write(dir.path().join(name), text).unwrap();
        let compiles = |program: &str, args: &[&str]| {
            compiles(Command::new(program).current_dir(dir.path()).args(args).args(&STRICT[1..]))
        };
        write("student.c", export_student(&student, &parts, Language::C).unwrap().into_bytes());
        compiles("c++", &["-x", "c++", "-std=c++11", "-fsyntax-only", "student.c"]);
        // The scores alone, of levels of any kind.
        write("scores.c", export(&student, &parts, Target::C).unwrap());
        compiles("cc", &["-std=c99", "-fsyntax-only", "scores.c"]);
        write("scores.rs", export(&student, &parts, Target::Rust).unwrap());
        rustc(dir.path(), &["--crate-type", "lib", "--emit", "metadata", "scores.rs"]);
    }
}

#[test]
fn logarithms_alone_need_more_than_the_language() {
    let models = |level: &LevelSpec| {
        let model = Model::Tree(random_tree(5, 9, level.features.len(), 1, 0.2, true));
        LevelModels::new(&level.name, "tree", vec![NamedModel { name: "tree".to_owned(), temperature: 0.5, model }])
    };
    let levels = feature_set().levels.iter().map(models).collect();
    let mut student = Student::new(feature_set().clone(), true, levels, Provenance::default());
    student.guards = (0..4).map(|i| guard(&mut Stream::new(1, "guards"), i)).collect();
    let text =
        |student: &Student, language| export_student(student, &parts(student, None, None).unwrap(), language).unwrap();
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("embedded.rs"), "#![no_std]\npub mod student;\n").unwrap();
    fs::write(dir.path().join("student.rs"), text(&student, Language::Rust)).unwrap();
    rustc(dir.path(), &["--crate-type", "lib", "--emit", "metadata", "embedded.rs"]);
    assert!(!text(&student, Language::C).contains("-lm"));
    student.levels[2].pick = Pick::Median;
    assert!(text(&student, Language::C).contains("Link with -lm"));
    student.levels.remove(1);
    let parts = parts(&student, None, None).unwrap();
    let refused = export_student(&student, &parts, Language::C).unwrap_err().to_string();
    assert!(refused.contains("the student has no model for level `\"; int injected"), "{refused}");
}
