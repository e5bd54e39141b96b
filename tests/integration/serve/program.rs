//! The program itself: pipes, signals, messages, and the clients of `examples` in other languages.

use super::{agreement, by_student, guarded};
use crate::program::{command, done};
use sched_distill::{
    dag::Dag,
    model::{Additive, LevelModels, Model, NamedModel, Provenance, Structure, Student, Term, Tree},
    registry::Registered,
    simulation::Simulated,
    training::Training,
};
use serde_json::Value;
use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// All questions of ten episodes over the program's pipes.
fn over_pipes<S: Registered>(workload: &str, driver: &str, guard: &str) {
    let workload = S::open_workload(&workload.parse().unwrap()).unwrap();
    let student = guarded::<S>(&workload, driver, guard, Structure::Flat);
    let dir = tempfile::tempdir().unwrap();
    student.save(&dir.path().join("student.json")).unwrap();
    let episodes = agreement::recorded(&workload, driver, &by_student::<S>(&student));
    let mut child = command(dir.path(), &[]);
    let child = child.args(["-q", "serve", "-p", "student:student.json"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = child.spawn().unwrap();
    let (mut write, read) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let lines: Vec<String> = episodes.iter().flat_map(agreement::lines).collect();
    let writer = thread::spawn(move || lines.iter().for_each(|line| writeln!(write, "{line}").unwrap()));
    let mut answers = BufReader::new(read).lines().map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    for episode in &episodes {
        agreement::compare(episode, answers.by_ref().take(episode.answers.len()));
    }
    assert!(answers.next().is_none());
    writer.join().unwrap();
    assert!(child.wait().unwrap().success());
}

#[test]
fn pipes_answer_dag_as_in_process() {
    over_pipes::<Dag>("builtin,jobs=6,executors=5,rate=2e-4", "sjf-cp,temperature=0.3", "age > 60s first");
}

#[test]
fn pipes_answer_training_as_in_process() {
    over_pipes::<Training>("builtin,nodes=4,jobs=5,max=3", "optimus", "job: stay > 3 first");
}

/// The program at a socket, once it listens, and where it listens over TCP.
fn listening(dir: &Path, more: &[&str]) -> (Child, String) {
    let mut child = command(dir, &[]);
    child.args(["serve", "-p", "srpt-fair", "--listen", "unix:d.sock", "--listen", "tcp:localhost:0"]).args(more);
    let mut child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let tcp = line.trim_end().strip_prefix("listening on unix:d.sock, tcp:").unwrap_or_else(|| panic!("{line}"));
    (child, tcp.to_owned())
}

fn end(mut child: Child) -> String {
    // SAFETY: takes two numbers and keeps nothing.
    unsafe { libc::kill(child.id() as i32, libc::SIGTERM) };
    let end = Instant::now() + Duration::from_secs(120);
    while child.try_wait().unwrap().is_none() {
        assert!(Instant::now() < end, "it does not end");
        thread::sleep(Duration::from_millis(10));
    }
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    said
}

#[test]
fn a_signal_ends_it_in_good_order() {
    let dir = tempfile::tempdir().unwrap();
    let (child, _) = listening(dir.path(), &[]);
    let mut client = std::os::unix::net::UnixStream::connect(dir.path().join("d.sock")).unwrap();
    client.write_all(b"{\"state\":{\"num_executors\":1,\"jobs\":[]}}\n").unwrap();
    let mut line = String::new();
    BufReader::new(&client).read_line(&mut line).unwrap();
    assert_eq!(line, "{\"type\":\"answer\",\"decisions\":[]}\n");
    assert_eq!(end(child), "1 client, 1 line\n");
    assert!(!dir.path().join("d.sock").exists());
    // And where it waits for a line of a pipe.
    let mut child = command(dir.path(), &[]);
    let child = child.args(["serve", "-p", "fair"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = child.spawn().unwrap();
    writeln!(child.stdin.as_mut().unwrap(), "{{\"type\":\"hello\",\"protocol\":1}}").unwrap();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let open = child.stdin.take();
    assert_eq!(end(child), "1 client, 1 line\n");
    drop(open);
}

#[test]
fn errors_that_clients_were_told_are_counted() {
    let dir = tempfile::tempdir().unwrap();
    let lines = "\u{feff}{\"state\":5}\nnonsense\n{\"state\":{\"num_executors\":1,\"jobs\":[]}}\n{\"type\":\"hello\",\"protocol\":2}\nmore\n";
    std::fs::write(dir.path().join("lines"), lines).unwrap();
    for (more, words) in [
        (&["serve"][..], "1 client, 4 lines, 3 errors (-v counts them by kind)\n"),
        (&["-v", "serve"], "1 client, 4 lines, 3 errors: no JSON object 1, refused hello 1, refused line 1\n"),
    ] {
        let input = std::fs::File::open(dir.path().join("lines")).unwrap();
        let output = command(dir.path(), more).args(["-p", "fair"]).stdin(input).output().unwrap();
        let (said, told) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert!(output.status.success() && told.ends_with(words), "{told}");
        let types: Vec<Value> =
            said.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["type"].take()).collect();
        assert_eq!(types, ["error", "error", "answer", "error"], "nothing is read behind the end: {said}");
    }
}

#[test]
fn what_cannot_be_served_is_said() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("empty"), "\n").unwrap();
    std::fs::write(dir.path().join("token"), "0123456789abcdef").unwrap();
    let remote = ["serve", "-p", "fair", "--listen", "tcp:0.0.0.0:0", "--allow-remote"];
    let local = |file| ["serve", "-p", "fair", "--listen", "tcp:127.0.0.1:0", "--token-file", file];
    for (args, words) in [
        (&["serve", "-p", "nobody"][..], "unknown policy `nobody`"),
        (&["serve", "-p", "student:missing.json"], "missing.json"),
        (&["serve", "-p", "fair", "--listen", "tcp:0.0.0.0:0"], "--allow-remote"),
        (&["serve", "-p", "fair", "--listen", "unix:no/such/folder.sock"], "cannot listen"),
        (&["serve", "-p", "fair", "--listen", "7400"], "is no address"),
        (&["serve", "-p", "fair", "--max-clients", "0"], "at least 1"),
        (&remote, "(--token-file)"),
        (&local("missing"), "missing: cannot read"),
        (&local("empty"), "empty: is empty; a token is a line of 16 to 4096 characters"),
        (&["serve", "-p", "fair", "--listen", "unix:d.sock", "--token-file", "token"], "there is no --listen tcp:..."),
    ] {
        let output = command(dir.path(), &[]).args(args).stdin(Stdio::null()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && said.contains(words), "{args:?}: {said}");
    }
}

/// Runs a client of `examples` against the program; skipped, with a word, where its language is not installed.
fn client(interpreter: &str, file: &str) {
    let known = Command::new(interpreter).arg("--version").output();
    if known.is_err() {
        assert!(std::env::var_os("CI").is_none() || interpreter != "python3", "python3 is missing");
        eprintln!("skipped: {interpreter} is not installed");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let secret = dir.path().join("token");
    std::fs::write(&secret, "0123456789abcdef\n").unwrap();
    std::fs::set_permissions(&secret, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    let (child, tcp) = listening(dir.path(), &["--token-file", "token"]);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(file);
    for words in [&["d.sock"][..], &[&tcp, "token"]] {
        let output = Command::new(interpreter).arg(&path).args(words).current_dir(dir.path()).output().unwrap();
        let (said, wrong) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert!(output.status.success(), "{said}{wrong}");
        assert_eq!(
            said,
            "asked srpt-fair of dag\n6 executors for stage 0 of job 7\n3 executors for stage 1 of job 7\nnothing to decide\n"
        );
    }
    let said = end(child);
    assert!(said.contains("others may read or write it; chmod 600 token") && !said.contains("0123"), "{said}");
}

#[test]
fn the_client_in_python_is_answered() {
    client("python3", "serve_client.py");
}

#[test]
fn the_client_in_java_is_answered() {
    client("java", "ServeClient.java");
}

#[test]
fn the_commands_of_the_documentation_work() {
    let dir = tempfile::tempdir().unwrap();
    let help = done(dir.path(), &["serve", "--help-all"]);
    assert!(help.contains("docs/serve.md") && help.contains("--listen"));
}

/// Tells a shadow what a heuristic does on a workload.
fn tell(socket: &Path, workload: &str, driver: &str) {
    use sched_distill::{
        recorder::{EpisodeId, run_episode},
        rng::Split,
        scenario::{Scenario, State},
    };
    let stream = std::os::unix::net::UnixStream::connect(socket).unwrap();
    let (mut write, mut reader) = (stream.try_clone().unwrap(), BufReader::new(stream));
    let workload = Dag::open_workload(&workload.parse().unwrap()).unwrap();
    let mut driver = Dag::open(&driver.parse().unwrap()).unwrap();
    for episode in 0..6 {
        writeln!(write, "{{\"type\":\"reset\",\"seed\":{episode}}}").unwrap();
        let id = EpisodeId::new(77, Split::Test, episode);
        run_episode(&workload, &mut *driver, id, |seen, decision, _| {
            let state = <Dag as Scenario>::State::of(seen);
            writeln!(write, "{}", serde_json::json!({"state": state, "did": [decision]})).unwrap();
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            assert_eq!(line, "{\"type\":\"noted\"}\n");
        })
        .unwrap();
    }
}

/// A log of what a student's shadow saw of a heuristic on a workload.
fn watched(dir: &Path, log: &str, workload: &str, driver: &str) {
    let mut child = command(dir, &["serve", "-p", "student:student.json", "--listen", "unix:d.sock", "--shadow", log]);
    let mut child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut String::new()).unwrap();
    tell(&dir.join("d.sock"), workload, driver);
    let said = end(child);
    assert!(said.contains("6 episodes noted in") && said.contains("next: distill shadow"), "{said}");
}

#[test]
fn a_shadow_is_reported_and_a_workload_that_has_changed_is_flagged() {
    const WORKLOAD: &str = "builtin,jobs=8,executors=5,rate=5e-5";
    const DRIVER: &str = "sjf-cp,temperature=0.3";
    let dir = tempfile::tempdir().unwrap();
    done(dir.path(), &["record", "-p", DRIVER, "-w", WORKLOAD, "-n", "24", "-o", "train"]);
    done(dir.path(), &["fit", "train", "-o", "student.json"]);
    for (log, workload, code, words) in [
        ("same", WORKLOAD, 0, "passed: no index is beyond 0.25"),
        ("other", "builtin,jobs=8,executors=5,rate=1e-3", 1, "is beyond 0.25 and beyond chance"),
    ] {
        watched(dir.path(), log, workload, DRIVER);
        let gate = ["shadow", log, "--train", "train", "--max-drift", "0.25"];
        let output = command(dir.path(), &gate).output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains(words) && said.contains("decisions in 6 episodes of the log"), "{said}");
        let json = done(dir.path(), &["--json", "shadow", log, "--train", "train"]);
        let found: Value = serde_json::from_str(&json).unwrap();
        let features = found["report"]["drift"]["features"].as_array().unwrap();
        assert!(features.len() > 60 && found["passed"] == true, "{}", features.len());
        let joint = found["report"]["decisions"]["joint"]["value"].as_f64().unwrap();
        assert!((0.3..=1.0).contains(&joint), "{joint}");
        assert_eq!(done(dir.path(), &["inspect", log]).lines().last(), Some("sound"));
    }
    let said = command(dir.path(), &["shadow", "same", "--max-drift", "0.1"]).output().unwrap();
    assert_eq!(said.status.code(), Some(2));
    let bad = command(dir.path(), &["shadow", "same", "--train", "train", "--max-drift", "-1"]).output().unwrap();
    assert_eq!(bad.status.code(), Some(2));
}

/// A student that goes by the work left in jobs, and else takes the first candidate.
fn by_work_left() -> Student {
    let set = sched_distill::dag::feature::feature_set();
    let work = set.levels[0].features.iter().position(|f| f.name == "remaining_work").unwrap();
    let of = |level: &str, model: Model| {
        LevelModels::new(level, "model", vec![NamedModel { name: "model".to_owned(), temperature: 1.0, model }])
    };
    let least = Additive { intercept: 0.0, terms: vec![Term::linear(u32::try_from(work).unwrap(), -1.0, 1.0)] };
    let first = || Model::Tree(Tree::leaf(0.0, 0.0, 1, 1.0));
    let levels = vec![of("job", Model::Additive(least)), of("stage", first()), of("amount", first())];
    Student::new(set.clone(), false, levels, Provenance::default())
}

#[test]
fn a_shadow_says_in_words_how_jobs_have_changed() {
    const WORKLOAD: &str = "builtin,jobs=8,executors=5,rate=5e-5";
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    by_work_left().save(&dir.join("student.json")).unwrap();
    done(dir, &["record", "-p", "fair", "-w", WORKLOAD, "-n", "24", "-o", "train"]);
    // Jobs as many at a time, of tasks that take 40 ms.
    let job = |i: u32| {
        let stages = [8, 4].map(|tasks| serde_json::json!({"num_tasks": tasks + i % 3, "durations": 40}));
        serde_json::json!({"arrival_ms": 50 * i, "edges": [[0, 1]], "stages": stages})
    };
    let jobs = serde_json::json!({"num_executors": 5, "jobs": (0..60).map(job).collect::<Vec<_>>()});
    std::fs::write(dir.join("small.json"), jobs.to_string()).unwrap();
    watched(dir, "same", WORKLOAD, "fair");
    watched(dir, "small", &format!("json:{}", dir.join("small.json").display()), "fair");

    let said = done(dir, &["shadow", "same", "--train", "train"]);
    let line = |said: &str, begin: &str| said.lines().find(|line| line.starts_with(begin)).map(str::to_owned);
    let nothing = line(&said, "Nothing that the student reads drifts in 6 episodes with ").expect(&said);
    assert!(nothing.ends_with(" decisions."), "{nothing}");

    let said = done(dir, &["shadow", "small", "--train", "train"]);
    let json: Value = serde_json::from_str(&done(dir, &["--json", "shadow", "small", "--train", "train"])).unwrap();
    let features = json["report"]["drift"]["features"].as_array().unwrap();
    let of = |level: &str, feature: &str| {
        let found = features.iter().find(|f| f["level"] == level && f["feature"] == feature).unwrap();
        (&found["medians"], &found["stability"])
    };
    let (medians, _) = of("job", "remaining_work");
    let [was, now] = [0, 1].map(|i| medians[i].as_f64().unwrap());
    assert!(now < 1000.0 && was > 20.0 * now, "what was planted: {was} {now}");
    let less = line(&said, "Jobs have ").expect(&said);
    let times: f64 = less.split(' ').nth(2).unwrap().replace(',', "").parse().unwrap();
    assert!((times / (was / now) - 1.0).abs() < 0.05, "{less}: {was} {now}");
    assert!(less.contains(" times less work left than in training (median ") && !less.contains("more"), "{less}");
    // What has changed more, and is not read, comes after it and in a line of its own.
    let words = &json["drift_words"];
    assert_eq!(words["sentences"][0], less);
    let unread = words["unread"].as_u64().unwrap();
    assert!(unread > 10 && said.contains(&format!("and {unread} more features drift that the student does not read")));
    assert!(said.find(&less) < said.find("index") && !said.contains("job.remaining_tasks"), "{said}");
    let all = words["sentences"].as_array().unwrap();
    assert!(all.iter().all(|s| !s.as_str().unwrap().contains("tasks left")), "{all:?}");

    // Where the student is not the one of the log, all features are told, and it can be named.
    std::fs::rename(dir.join("student.json"), dir.join("moved.json")).unwrap();
    let output = command(dir, &["shadow", "small", "--train", "train"]).output().unwrap();
    let [told, notes] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert!(notes.contains("student.json is not the student of the log, or is not there"), "{notes}");
    assert!(!told.contains("the student reads") && told.contains("drift; the table has them"), "{told}");
    assert_eq!(done(dir, &["shadow", "small", "--train", "train", "--student", "moved.json"]), said);

    // Of too little nothing is said.
    done(dir, &["record", "-p", "fair", "-w", WORKLOAD, "-n", "4", "-o", "few"]);
    let said = done(dir, &["shadow", "small", "--train", "few", "--student", "moved.json"]);
    let unknown = "Nothing is known of drift: the training trace has 4 episodes, at least 8 are needed.";
    assert!(said.lines().any(|line| line == unknown) && !said.contains("than in training"), "{said}");
}
