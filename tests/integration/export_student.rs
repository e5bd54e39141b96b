//! Exported students decide as the student itself: random models and rows, recorded episodes, names of every sort.

use crate::{
    random_student::{Given, View, feature_set, guard, student, values},
    random_tree::random_tree,
    replay::{Case, STRICT, check_c, check_rust, compiles, decide, rustc, scheduler, scored_rows},
};
use sched_distill::{
    level::LevelSpec,
    model::{
        LevelModels, Model, NamedModel, Pick, Provenance, Structure, Student,
        export::{Language, Target, export, export_student, parts},
    },
    rng::{Stream, hash},
};
use std::{fs, process::Command};

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
    use crate::{program::done, replay::episodes};
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
