//! What a decision of an exported student costs in every language, beside the loaded one, the rows being given:
//! `time_exports STUDENT WORKLOAD DECISIONS ROUNDS [MODEL]`.
//!
//! The student decides in simulated episodes of `dag`, and what it is asked is written down. Then all programs decide the same again, each round
//! all decisions one after the other on one core; the least time of the rounds counts. The JVM has half of the rounds before that to
//! compile what it finds worth it. Needs `cc`, `rustc`, `javac`, `java` and `go`.
//!
//! ```sh
//! distill record -p sjf-cp,temperature=0.3,mode=sample -w builtin,jobs=20,executors=10 -n 40 -o trace
//! distill fit trace -o student.json --learner tree,linear --max-leaves 64
//! cargo run --release --example time_exports -- student.json builtin,jobs=20,executors=10 2000 40
//! ```

#[expect(dead_code, reason = "the tests need more")]
#[path = "../../tests/support/replay.rs"]
mod replay;

use replay::{Question, Recorded, Untold, episodes, scored_rows};
use sched_distill::{
    dag::Dag,
    model::{
        Student,
        export::{Language, export_student, parts},
    },
    policy::{Policy as _, StudentPolicy},
    scenario::{Questions, Said, Scenario, ScenarioInfo},
};
use std::{error::Error, fs, path::Path, process::Command, time::Instant};

const HARNESSES: [(&str, &str); 4] = [
    ("main.c", include_str!("harness.c")),
    ("main.rs", include_str!("harness.rs")),
    ("Main.java", include_str!("harness.java")),
    ("main.go", include_str!("harness.go")),
];

/// A scenario whose candidates are those that were written down.
#[derive(Clone, Copy, Debug, Default)]
struct Replayed;

/// The next of a decision's questions.
#[derive(Clone, Default)]
struct Next(usize);

impl Scenario for Replayed {
    const INFO: ScenarioInfo = Dag::INFO;
    type View<'a> = &'a [Question];
    type State = Untold<Self>;
    type Decision = usize;
    type Questions = Next;

    fn time_ms(_: &&[Question]) -> f64 {
        0.0
    }

    fn kind(_: &&[Question]) -> u8 {
        0
    }

    const LISTS: &'static [&'static str] = &["decision"];

    fn items(_: &&[Question]) -> usize {
        0
    }

    fn item(_: &&[Question], _: usize) -> Option<usize> {
        None
    }
}

impl Questions<Replayed> for Next {
    fn update(&mut self, _: &&[Question]) {
        self.0 = 0;
    }

    fn rows(&mut self, seen: &&[Question], _: &[usize], _: bool, out: &mut Vec<f32>) -> usize {
        let Some(question) = seen.get(self.0) else { return 0 };
        self.0 += 1;
        out.extend_from_slice(&question.rows);
        question.candidates
    }

    fn decision(&self, _: &&[Question], path: &[usize]) -> usize {
        path.iter().sum()
    }

    fn count(&self, _: &&[Question], _: &[usize], _: bool) -> usize {
        0
    }

    fn entity(&self, _: &&[Question], _: &[usize], _: &mut Vec<u32>) {}

    fn place(&self, _: &&[Question], _: &[usize], _: usize) -> Option<usize> {
        None
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [file, workload, decisions, rounds, model @ ..] = &args[..] else {
        return Err("expected STUDENT WORKLOAD DECISIONS ROUNDS [MODEL]".into());
    };
    let (decisions, rounds): (usize, usize) = (decisions.parse()?, rounds.parse()?);
    let model = model.first().map(String::as_str);
    let student = Student::load(file.as_ref())?;
    let mut recorded = Vec::new();
    for seed in 0.. {
        recorded.extend(episodes::<Dag>(&student, model, workload, seed..seed + 1));
        if recorded.len() >= decisions {
            break;
        }
    }
    recorded.truncate(decisions);
    println!("{} decisions, {} scored rows", recorded.len(), scored_rows(&recorded));
    let expected: usize = recorded.iter().flat_map(|r| &r.path).sum();

    let mut scheduler = StudentPolicy::<Replayed>::load(file.as_ref(), model)?;
    let mut least = f64::INFINITY;
    for _ in 0..rounds {
        let (start, mut sum) = (Instant::now(), 0);
        for Recorded { questions, .. } in &recorded {
            sum += scheduler.decide(&&questions[..], &mut Said::default())?;
        }
        least = least.min(start.elapsed().as_nanos() as f64 / recorded.len() as f64);
        assert_eq!(sum, expected, "the loaded student decides otherwise");
    }
    println!("{:<8}{least:>8.0} ns a decision", "loaded");

    let dir = tempfile::tempdir()?;
    let dir = dir.path();
    let parts = parts(&student, None, model)?;
    fs::create_dir(dir.join("student"))?;
    fs::write(dir.join("go.mod"), "module scheduler\n\ngo 1.19\n")?;
    for (name, text) in HARNESSES {
        fs::write(dir.join(name), text)?;
    }
    for (language, name) in [
        (Language::C, "student.c"),
        (Language::Rust, "student.rs"),
        (Language::Java, "Student.java"),
        (Language::Go, "student/student.go"),
    ] {
        fs::write(dir.join(name), export_student(&student, &parts, language)?)?;
    }
    // The C file is out of the way of the Go module.
    let c = dir.join("c");
    fs::create_dir(&c)?;
    for name in ["main.c", "student.c"] {
        fs::rename(dir.join(name), c.join(name))?;
    }
    fs::write(dir.join("recording"), recording(&recorded))?;
    let rounds = rounds.to_string();
    for (language, build, run) in [
        ("C", "cd c && cc -std=c11 -O2 -ffp-contract=off main.c student.c -o main", "c/main"),
        ("Rust", "rustc --edition 2021 -O main.rs -o main-rust", "./main-rust"),
        ("Java", "javac Main.java Student.java", "java -XX:+UseSerialGC Main"),
        ("Go", "go build -o main-go .", "./main-go"),
    ] {
        shell(dir, build)?;
        let said = shell(dir, &format!("{run} recording {rounds}"))?;
        let (least, sum) = said.trim().split_once(' ').ok_or("two numbers were expected")?;
        assert_eq!(sum.parse::<usize>()?, expected, "{language} decides otherwise");
        println!("{language:<8}{:>8.0} ns a decision", least.parse::<f64>()?);
    }
    Ok(())
}

/// Decisions as words: how many, and of each its questions: candidates, numbers, and these.
fn recording(recorded: &[Recorded]) -> Vec<u8> {
    let mut words = vec![recorded.len() as u32];
    for Recorded { questions, .. } in recorded {
        words.push(questions.len() as u32);
        for Question { candidates, rows, .. } in questions {
            words.extend([*candidates as u32, rows.len() as u32]);
            words.extend(rows.iter().map(|v| v.to_bits()));
        }
    }
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn shell(dir: &Path, command: &str) -> Result<String, Box<dyn Error>> {
    let output = Command::new("sh").args(["-c", command]).current_dir(dir).output()?;
    match output.status.success() {
        true => Ok(String::from_utf8(output.stdout)?),
        false => Err(format!("{command}: {}", String::from_utf8_lossy(&output.stderr)).into()),
    }
}
