//! Records what a student is asked and decides, and lets exported programs decide the same again.

use sched_distill::{
    model::{
        Student,
        export::{ClassName, Language, export_java_student, export_student, parts},
    },
    policy::{Policy, StudentPolicy},
    scenario::{Questions, Said, Scenario, ScenarioInfo, State},
};
use serde::{Deserialize, Serialize};
use std::{
    cell::RefCell,
    error::Error,
    fs,
    marker::PhantomData,
    path::{Path, PathBuf},
    process::Command,
};

/// A choice that a student was asked about.
#[derive(Clone)]
pub(crate) struct Question {
    pub(crate) path: Vec<usize>,
    pub(crate) candidates: usize,
    pub(crate) rows: Vec<f32>,
}

/// A decision: what was asked for it, in order, and its path.
#[derive(Clone, Default)]
pub(crate) struct Recorded {
    pub(crate) questions: Vec<Question>,
    pub(crate) path: Vec<usize>,
}

thread_local! {
    static LOG: RefCell<Recorded> = RefCell::default();
}

/// For scenarios whose questions nobody tells as values.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(bound = "")]
pub(crate) struct Untold<S>(PhantomData<S>);

impl<S: Scenario> State for Untold<S> {
    type Scenario = S;
    type Change = ();

    fn of(_: &S::View<'_>) -> Self {
        Self(PhantomData)
    }

    fn view(&self) -> Option<S::View<'_>> {
        None
    }

    fn answer(&mut self, decision: S::Decision) -> Result<S::Decision, Box<dyn Error + Send + Sync>> {
        Ok(decision)
    }

    fn change(&mut self, (): ()) -> Result<(), Box<dyn Error + Send + Sync>> {
        Ok(())
    }

    fn extent(&self) -> usize {
        0
    }
}

/// A scenario whose questions are written down.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Logged<S>(PhantomData<S>);

#[derive(Clone, Default)]
pub(crate) struct LoggedQuestions<S: Scenario>(S::Questions);

impl<S: Scenario> Scenario for Logged<S> {
    const INFO: ScenarioInfo = S::INFO;
    type View<'a> = S::View<'a>;
    type State = Untold<Self>;
    type Decision = S::Decision;
    type Questions = LoggedQuestions<S>;

    fn time_ms(seen: &S::View<'_>) -> f64 {
        S::time_ms(seen)
    }

    fn kind(seen: &S::View<'_>) -> u8 {
        S::kind(seen)
    }

    const LISTS: &'static [&'static str] = S::LISTS;

    fn items(seen: &S::View<'_>) -> usize {
        S::items(seen)
    }

    fn item(seen: &S::View<'_>, decision: S::Decision) -> Option<usize> {
        S::item(seen, decision)
    }
}

impl<S: Scenario> Questions<Logged<S>> for LoggedQuestions<S> {
    fn limited(columns: &[&[bool]]) -> Self {
        Self(S::Questions::limited(columns))
    }

    fn update(&mut self, seen: &S::View<'_>) {
        LOG.take();
        self.0.update(seen);
    }

    fn rows(&mut self, seen: &S::View<'_>, path: &[usize], abstains: bool, out: &mut Vec<f32>) -> usize {
        let begin = out.len();
        let candidates = self.0.rows(seen, path, abstains, out);
        let question = Question { path: path.to_vec(), candidates, rows: out[begin..].to_vec() };
        LOG.with_borrow_mut(|log| log.questions.push(question));
        candidates
    }

    fn decision(&self, seen: &S::View<'_>, path: &[usize]) -> S::Decision {
        LOG.with_borrow_mut(|log| log.path = path.to_vec());
        self.0.decision(seen, path)
    }

    fn count(&self, seen: &S::View<'_>, path: &[usize], abstains: bool) -> usize {
        self.0.count(seen, path, abstains)
    }

    fn entity(&self, seen: &S::View<'_>, path: &[usize], out: &mut Vec<u32>) {
        self.0.entity(seen, path, out);
    }

    fn place(&self, seen: &S::View<'_>, path: &[usize], decision: S::Decision) -> Option<usize> {
        self.0.place(seen, path, decision)
    }
}

/// A student, loaded from its file.
pub(crate) fn scheduler<S: Scenario>(student: &Student, model: Option<&str>) -> StudentPolicy<Logged<S>> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("student.json");
    student.save(&path).unwrap();
    StudentPolicy::load(&path, model).unwrap()
}

/// One decision.
pub(crate) fn decide<S: Scenario>(
    scheduler: &mut StudentPolicy<Logged<S>>,
    seen: &S::View<'_>,
) -> (S::Decision, Recorded) {
    let decision = scheduler.decide(seen, &mut Said::default()).unwrap();
    (decision, LOG.take())
}

/// All decisions of some simulated episodes.
#[cfg(feature = "cli")]
pub(crate) fn episodes<S: sched_distill::simulation::Simulated>(
    student: &Student,
    model: Option<&str>,
    workload: &str,
    seeds: std::ops::Range<u64>,
) -> Vec<Recorded> {
    use sched_distill::simulation::Simulation as _;
    let workload = S::open_workload(&workload.parse().unwrap()).unwrap();
    let mut scheduler = scheduler::<S>(student, model);
    let mut all = Vec::new();
    for seed in seeds {
        let mut run = S::start(&workload, workload.jobs(seed), seed);
        while let Some(seen) = run.view() {
            let (decision, recorded) = decide::<S>(&mut scheduler, &seen);
            all.push(recorded);
            assert!(run.step(decision).is_ok());
        }
    }
    all
}

/// Rows of choices with more than one candidate.
pub(crate) fn scored_rows(decisions: &[Recorded]) -> usize {
    let questions = decisions.iter().flat_map(|d| &d.questions);
    questions.map(|q| q.candidates).filter(|&n| n > 1).sum()
}

/// A student with a model of it, what it decided, and where its programs are made.
pub(crate) struct Case<'a> {
    pub(crate) student: &'a Student,
    pub(crate) model: Option<&'a str>,
    pub(crate) decisions: Vec<Recorded>,
}

impl Case<'_> {
    fn export(&self, language: Language) -> String {
        let parts = parts(self.student, None, self.model).unwrap();
        export_student(self.student, &parts, language).unwrap()
    }

    /// Writes the recording.
    fn write(&self, path: &Path) {
        let mut words = vec![self.decisions.len() as u32];
        for Recorded { questions, .. } in &self.decisions {
            words.push(questions.len() as u32);
            for Question { path, candidates, rows } in questions {
                words.push(path.len() as u32);
                words.extend(path.iter().map(|&place| place as u32));
                words.extend([*candidates as u32, rows.len() as u32]);
                words.extend(rows.iter().map(|v| v.to_bits()));
            }
        }
        fs::write(path, words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>()).unwrap();
    }

    /// Compares the paths that a program prints, one a line.
    fn check<'a>(&self, mut lines: impl Iterator<Item = &'a str>, what: &str) {
        for (i, Recorded { path, questions }) in self.decisions.iter().enumerate() {
            let found: Vec<usize> =
                lines.next().unwrap_or("").split_whitespace().map(|word| word.parse().unwrap()).collect();
            let asked: Vec<_> = questions.iter().map(|q| (&q.path, q.candidates)).collect();
            assert_eq!(&found, path, "{what}, decision {i}: {asked:?}");
        }
    }
}

fn support(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/replay").join(name)
}

/// Runs a program; what it prints.
pub(crate) fn printed(program: &mut Command) -> String {
    let output = program.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program:?}: {} {said}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

/// Writes the recordings of all; their files.
fn recordings(dir: &Path, cases: &[Case<'_>]) -> Vec<PathBuf> {
    let files: Vec<PathBuf> = (0..cases.len()).map(|i| dir.join(format!("recording{i}"))).collect();
    files.iter().zip(cases).for_each(|(file, case)| case.write(file));
    files
}

/// Compares what one program prints of all recordings.
fn check_all(printed: &str, cases: &[Case<'_>], language: &str) {
    let mut lines = printed.lines();
    for (i, case) in cases.iter().enumerate() {
        case.check(lines.by_ref().take(case.decisions.len()), &format!("student {i} in {language}"));
    }
}

/// Runs a compiler; false if there is none, which is a failure where tests must be complete.
pub(crate) fn compiles(command: &mut Command) -> bool {
    match command.output() {
        Ok(output) => {
            assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
            true
        }
        Err(e) => {
            assert!(std::env::var_os("CI").is_none(), "{command:?}: {e}");
            eprintln!("skipped: {command:?}: {e}");
            false
        }
    }
}

pub(crate) const STRICT: [&str; 6] = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off"];

/// The exported C decides as the student did: alone, called through its declarations, and in one piece, optimised.
pub(crate) fn check_c(cases: &[Case<'_>]) {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    for (i, case) in cases.iter().enumerate() {
        let recording = dir.join("recording");
        case.write(&recording);
        fs::write(dir.join("student.c"), case.export(Language::C)).unwrap();
        for how in [&["-O0", "-DSTUDENT_DECLARATIONS_ONLY"][..], &["-O2"]] {
            let mut cc = Command::new("cc");
            cc.current_dir(dir).args(STRICT).args(["-I.", "-DSTUDENT=\"student.c\"", "-o", "main"]).args(how);
            cc.arg(support("replay.c"));
            if how.len() > 1 {
                // The functions are those of a file of their own.
                let mut alone = Command::new("cc");
                alone.current_dir(dir).args(STRICT).args(["-O0", "-c", "student.c"]);
                if !compiles(&mut alone) {
                    return;
                }
                cc.arg("student.o");
            }
            if !compiles(&mut cc) {
                return;
            }
            let printed = printed(Command::new(dir.join("main")).arg(&recording));
            case.check(printed.lines(), &format!("student {i} in C, {how:?}"));
        }
    }
}

/// The exported Rust decides as the student did.
pub(crate) fn check_rust(cases: &[Case<'_>]) {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let mut main = fs::read_to_string(support("replay.rs")).unwrap();
    let mut body = String::new();
    for (i, case) in cases.iter().enumerate() {
        fs::write(dir.join(format!("s{i}.rs")), case.export(Language::Rust)).unwrap();
        main += &format!("mod s{i};\n");
        body += &format!("    replay!(s{i}, &words({}));\n", i + 1);
    }
    fs::write(dir.join("main.rs"), format!("{main}fn main() {{\n{body}}}\n")).unwrap();
    if rustc(dir, &["-O", "main.rs"]) {
        let printed = printed(Command::new(dir.join("main")).args(recordings(dir, cases)));
        check_all(&printed, cases, "Rust");
    }
}

/// The exported Java decides as the student did, called by name, and allocates nothing.
pub(crate) fn check_java(cases: &[Case<'_>]) {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let classes: Vec<String> = (0..cases.len()).map(|i| format!("S{i}")).collect();
    fs::copy(support("Replay.java"), dir.join("Replay.java")).unwrap();
    for (class, case) in classes.iter().zip(cases) {
        let parts = parts(case.student, None, case.model).unwrap();
        let text = export_java_student(case.student, &parts, &ClassName::new(class).unwrap()).unwrap();
        fs::write(dir.join(format!("{class}.java")), text).unwrap();
    }
    let files = classes.iter().map(String::as_str).chain(["Replay"]);
    if javac(dir, files) {
        let mut java = java(dir, "Replay");
        check_all(&printed(java.args(&classes).args(recordings(dir, cases))), cases, "Java");
    }
}

/// The exported Go decides as the student did, in packages each, and allocates nothing.
pub(crate) fn check_go(cases: &[Case<'_>]) {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let (mut imports, mut body) = (String::new(), String::new());
    for (i, case) in cases.iter().enumerate() {
        fs::create_dir(dir.join(format!("s{i}"))).unwrap();
        fs::write(dir.join(format!("s{i}/student.go")), case.export(Language::Go)).unwrap();
        imports += &format!("import s{i} \"scheduler/s{i}\"\n");
        body += &format!(
            "\trun({}, s{i}.Levels, func(candidates func(path []int) []float32, scores []float64, path []int) int {{\n\
             \t\treturn s{i}.Decide(candidates, scores, (*[s{i}.Levels]int)(path))\n\t}})\n",
            i + 1
        );
    }
    fs::copy(support("replay.go"), dir.join("main.go")).unwrap();
    fs::write(dir.join("all.go"), format!("package main\n\n{imports}\nfunc all() {{\n{body}}}\n")).unwrap();
    if go_builds(dir) {
        let mut main = Command::new(dir.join("main"));
        check_all(&printed(main.args(recordings(dir, cases))), cases, "Go");
    }
}

/// Compiles these classes with all warnings, as for the oldest Java that they are for.
pub(crate) fn javac<'a>(dir: &Path, classes: impl Iterator<Item = &'a str>) -> bool {
    let mut javac = Command::new("javac");
    // Compilers of one file each come to no end otherwise: it is a JVM's start that takes time, and its second processor.
    javac.current_dir(dir).args([
        "-J-XX:+UseSerialGC",
        "-J-XX:TieredStopAtLevel=1",
        "--release",
        "11",
        "-encoding",
        "US-ASCII",
    ]);
    compiles(javac.args(["-Xlint:all", "-Werror"]).args(classes.map(|class| format!("{class}.java"))))
}

/// What runs a class.
pub(crate) fn java(dir: &Path, class: &str) -> Command {
    let mut java = Command::new("java");
    java.args(["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp"]).arg(dir).arg(class);
    java
}

/// Builds `main` of the packages in a folder, which are as the language's own tools want them: in its format, and with nothing that
/// is suspicious.
pub(crate) fn go_builds(dir: &Path) -> bool {
    fs::write(dir.join("go.mod"), "module scheduler\n\ngo 1.19\n").unwrap();
    let go = |args: &[&str]| {
        let mut go = Command::new("go");
        go.current_dir(dir).args(args).envs([("GO111MODULE", "on"), ("GOFLAGS", "-mod=mod"), ("GOPROXY", "off")]);
        go
    };
    let mut format = Command::new("gofmt");
    format.current_dir(dir).args(["-d", "."]);
    if !compiles(&mut go(&["vet", "./..."]))
        || !compiles(&mut go(&["build", "-o", "main", "."]))
        || !compiles(&mut format)
    {
        return false;
    }
    // What the tests themselves write is not looked at.
    let changes = printed(&mut format);
    let badly =
        changes.split("diff ").find(|file| file.lines().next().is_some_and(|line| line.ends_with("student.go")));
    assert_eq!(badly, None, "not as gofmt has it");
    true
}

pub(crate) fn rustc(dir: &Path, args: &[&str]) -> bool {
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or("rustc".into()));
    compiles(rustc.current_dir(dir).args(["--edition", "2021", "-D", "warnings"]).args(args))
}
