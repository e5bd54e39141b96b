//! Exported students decide as the student itself: random models and rows, recorded episodes, names of every sort.

use crate::{
    random_student::{Given, View, feature_set, guard, student, values},
    random_tree::random_tree,
    replay::{
        Case, STRICT, check_c, check_go, check_java, check_rust, compiles, decide, go_builds, java, javac, rustc,
        scheduler, scored_rows,
    },
};
use sched_distill::{
    level::LevelSpec,
    model::{
        Additive, Factor, LevelModels, Model, NamedModel, Pick, Provenance, Shape, Structure, Student, Term,
        export::{ClassName, Language, Target, export, export_java, export_student, parts},
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

#[test]
fn exported_java_decides_as_random_students_do() {
    let students: Vec<Student> = (0..STUDENTS).map(|seed| student(2000 + seed)).collect();
    let cases = cases(&students, 150);
    assert!(rows(&cases) >= 100_000, "{}", rows(&cases));
    check_java(&cases);
}

#[test]
fn exported_go_decides_as_random_students_do() {
    let students: Vec<Student> = (0..STUDENTS).map(|seed| student(3000 + seed)).collect();
    let cases = cases(&students, 150);
    assert!(rows(&cases) >= 100_000, "{}", rows(&cases));
    check_go(&cases);
}

/// Students of real clusters: fitted ones, and one with a model of every kind.
#[cfg(feature = "cli")]
#[test]
fn exports_decide_as_students_in_recorded_episodes() {
    use crate::{program::done, replay::episodes};
    use sched_distill::{dag::Dag, deadlines::Deadlines, preemption::Preemption, serving::Serving, training::Training};
    const DAG: &str = "builtin,jobs=4,executors=4";
    const TRAINING: &str = "builtin,nodes=12,jobs=12,rate=2,max=6";
    const DEADLINES: &str = "builtin,node-cores=16,jobs=15";
    const PREEMPTION: &str = "builtin,nodes=4,jobs=30,load=1.5";
    const SERVING: &str = "builtin,seconds=0.4";
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
    let deadlines = fitted("deadlines", "qos", DEADLINES);
    let preemption = fitted("preemption", "srtf", PREEMPTION);
    let serving = fitted("serving", "dybatch", SERVING);
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
    for (student, decisions) in [
        (&training, episodes::<Training>(&training, None, TRAINING, 0..10)),
        (&deadlines, episodes::<Deadlines>(&deadlines, None, DEADLINES, 0..10)),
        (&preemption, episodes::<Preemption>(&preemption, None, PREEMPTION, 0..10)),
        (&serving, episodes::<Serving>(&serving, None, SERVING, 0..10)),
    ] {
        cases.push(Case { student, model: None, decisions });
    }
    assert!(cases.iter().all(|case| case.decisions.len() > 100));
    check_c(&cases);
    check_rust(&cases);
    check_java(&cases);
    check_go(&cases);
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
    for language in [Language::C, Language::Rust, Language::Java, Language::Go] {
        let text = export_student(&student, &parts(&student, None, None).unwrap(), language).unwrap();
        let made = match language {
            Language::C => {
                fs::write(dir.join("main.c"), block("```c\n", "student_decide(&choices") + "\n").unwrap();
                fs::write(dir.join("student.c"), text).unwrap();
                let mut cc = Command::new("cc");
                compiles(cc.current_dir(dir).args(STRICT).args(["main.c", "student.c", "-o", "main"]))
            }
            Language::Rust => {
                fs::write(dir.join("main.rs"), block("```rust,ignore\n", "student::decide(") + "\n").unwrap();
                fs::write(dir.join("student.rs"), text).unwrap();
                rustc(dir, &["main.rs"])
            }
            Language::Java => {
                fs::write(dir.join("Main.java"), block("```java\n", "Student.decide(") + "\n").unwrap();
                fs::write(dir.join("Student.java"), text).unwrap();
                javac(dir, ["Main", "Student"].into_iter())
            }
            Language::Go => {
                fs::create_dir_all(dir.join("go/student")).unwrap();
                fs::write(dir.join("go/main.go"), block("```go\n", "student.Decide(") + "\n").unwrap();
                fs::write(dir.join("go/student/student.go"), text).unwrap();
                go_builds(&dir.join("go"))
            }
        };
        if made {
            let mut program = match language {
                Language::Java => java(dir, "Main"),
                Language::Go => Command::new(dir.join("go/main")),
                Language::C | Language::Rust => Command::new(dir.join("main")),
            };
            let output = program.output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            // The guard about amounts leaves 1 and 2.
            let amounts = ["executors 1\n", "executors 2\n"];
            assert!(output.status.success() && amounts.iter().any(|end| said.ends_with(end)), "{said}");
        }
    }
}

/// Source text without comments and strings.
fn code(text: &str, comments: &[(&str, &str)]) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(c) = rest.chars().next() {
        let comment = comments.iter().find_map(|(begin, end)| Some((rest.strip_prefix(begin)?, end)));
        if let Some((inside, end)) = comment {
            rest = inside.split_once(*end).unwrap_or((inside, "")).1;
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
    const BLOCK: (&str, &str) = ("/*", "*/");
    const LINE: (&str, &str) = ("//", "\n");
    let dir = tempfile::tempdir().unwrap();
    let students: Vec<Student> = (0..12).map(student).collect();
    let (mut classes, mut packages) = (Vec::new(), 0);
    for student in &students {
        let parts = parts(student, None, None).unwrap();
        for (language, comments) in [
            (Language::C, &[BLOCK][..]),
            (Language::Rust, &[LINE]),
            (Language::Java, &[BLOCK, LINE]),
            (Language::Go, &[LINE]),
        ] {
            let text = export_student(student, &parts, language).unwrap();
            assert!(text.contains("injected") && text.contains(&student.feature_set.hash()));
            assert!(language != Language::C || !text.contains("??/"), "{text}");
            // Java reads characters by their number before anything else, ends of lines too; of those there is none.
            assert!(language != Language::Java || (text.is_ascii() && !text.contains("\\u000a")), "{text}");
            let code = code(&text, comments);
            let mut words = code.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            assert!(code.is_ascii() && words.all(|word| word != "injected"), "{code}");
        }
        let write = |name: &str, text: Vec<u8>| fs::write(dir.path().join(name), text).unwrap();
        let compiles = |program: &str, args: &[&str]| {
            compiles(Command::new(program).current_dir(dir.path()).args(args).args(&STRICT[1..]))
        };
        write("student.c", export_student(student, &parts, Language::C).unwrap().into_bytes());
        compiles("c++", &["-x", "c++", "-std=c++11", "-fsyntax-only", "student.c"]);
        // The scores alone, of levels of any kind.
        write("scores.c", export(student, &parts, Target::C).unwrap());
        compiles("cc", &["-std=c99", "-fsyntax-only", "scores.c"]);
        write("scores.rs", export(student, &parts, Target::Rust).unwrap());
        rustc(dir.path(), &["--crate-type", "lib", "--emit", "metadata", "scores.rs"]);
        let class = format!("Scores{}", classes.len());
        write(&format!("{class}.java"), export_java(student, &parts, &ClassName::new(&class).unwrap()).unwrap().into());
        classes.push(class);
        fs::create_dir_all(dir.path().join(format!("go/scores{packages}"))).unwrap();
        write(&format!("go/scores{packages}/student.go"), export(student, &parts, Target::Go).unwrap());
        packages += 1;
    }
    javac(dir.path(), classes.iter().map(String::as_str));
    fs::write(dir.path().join("go/main.go"), "package main\n\nfunc main() {\n}\n").unwrap();
    go_builds(&dir.path().join("go"));
}

#[test]
fn nothing_needs_more_than_the_language() {
    let models = |level: &LevelSpec| {
        let model = Model::Tree(random_tree(5, 9, level.features.len(), 1, 0.2, true));
        LevelModels::new(&level.name, "tree", vec![NamedModel { name: "tree".to_owned(), temperature: 0.5, model }])
    };
    let levels = feature_set().levels.iter().map(models).collect();
    let mut student = Student::new(feature_set().clone(), true, levels, Provenance::default());
    student.guards = (0..4).map(|i| guard(&mut Stream::new(1, "guards"), i)).collect();
    let text =
        |student: &Student, language| export_student(student, &parts(student, None, None).unwrap(), language).unwrap();
    assert!(!text(&student, Language::C).contains("distill_exp"), "what is not needed is not there");
    student.structure = Structure::Flat;
    student.levels[2].pick = Pick::Median;
    let logarithm = Factor { feature: 0, shape: Shape::Log, threshold: None };
    let term = Term { factors: vec![logarithm], ..Term::linear(0, 0.5, 1.0) };
    student.levels[1].models[0].model = Model::Additive(Additive { intercept: 0.0, terms: vec![term] });
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("embedded.rs"), "#![no_std]\npub mod student;\n").unwrap();
    fs::write(dir.path().join("student.rs"), text(&student, Language::Rust)).unwrap();
    rustc(dir.path(), &["--crate-type", "lib", "--emit", "metadata", "embedded.rs"]);
    // It links without a library of mathematics, whatever the compiler makes of it.
    let main = "\nint main(void) { return student_decide(0, 0) != 0; }\n";
    fs::write(dir.path().join("student.c"), text(&student, Language::C) + main).unwrap();
    let mut cc = Command::new("cc");
    compiles(cc.current_dir(dir.path()).args(STRICT).args(["-O2", "-fno-builtin", "student.c", "-o", "main"]));
    student.levels.remove(1);
    let parts = parts(&student, None, None).unwrap();
    let refused = export_student(&student, &parts, Language::C).unwrap_err().to_string();
    assert!(refused.contains("the student has no model for level `\"; int injected"), "{refused}");
}

#[test]
fn a_java_class_is_called_as_java_allows() {
    let name = |name: &str| ClassName::new(name).map_err(|e| e.to_string());
    for good in ["Student", "scheduler", "_S1", "S$1", "Tree", "Record"] {
        assert_eq!(name(good).unwrap().as_str(), good);
    }
    for bad in ["", "1st", "my-class", "größe", "a b", "class", "record", "_", "true", "String", "Tree_0", "Terms_1_0"]
    {
        assert!(name(bad).unwrap_err().contains("cannot be the name of the Java class"), "{bad}");
    }
}
