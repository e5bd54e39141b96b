//! Logs of clusters on the command line: what they are, as workloads, and what their owners are told.

use crate::program::{done, refused};
use sched_distill::{pipeline::RunInfo, registry::all};
use serde_json::Value;
use std::{fs, path::Path};

/// Writes the log of an episode as a cluster leaves it.
fn log(dir: &Path, policy: &str, workload: &str, to: &str) -> String {
    done(dir, &["simulate", "-p", policy, "-w", workload, "-n", "1", "--event-log", to]);
    format!("{to}/{policy}-test-0")
}

/// The first line of JSON that a command prints.
fn json(dir: &Path, args: &[&str]) -> Value {
    let printed = done(dir, &[&["--json"], args].concat());
    serde_json::from_str(printed.lines().next().unwrap_or_default()).unwrap_or_else(|e| panic!("{e}: {printed}"))
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("a number, not {value}"))
}

#[test]
fn a_log_is_inspected_imported_and_scheduled() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let log = log(dir, "fair", "builtin,jobs=12,executors=6,rate=1e-4", "logs");
    let said = done(dir, &["inspect", &log]);
    for words in
        ["history, as a workload of `dag`: spark:logs/fair-test-0", "jobs ", "12 in ", "6 executors", "stages "]
    {
        assert!(said.contains(words), "{said}");
    }
    // The command that it says runs.
    let simulate = said.lines().find_map(|line| line.trim().strip_prefix("distill ")).unwrap();
    done(dir, &[&simulate.split(' ').collect::<Vec<_>>()[..], &["-n", "2"]].concat());
    let found = json(dir, &["inspect", "--replay", &log]);
    assert_eq!((&found["scenario"], number(&found["survey"]["jobs"])), (&"dag".into(), 12.0));
    // The order is the recorded one; draws of durations and executors that need not move are what differs.
    assert!((0.0..0.5).contains(&number(&found["replay"]["median"])), "{}", found["replay"]);
    // A folder of logs, and the workload by its name.
    assert!(done(dir, &["inspect", "logs"]).contains("12 in "));
    for named in [format!("spark:{log},executors=3"), format!("{log},executors=3")] {
        assert!(done(dir, &["inspect", &named]).contains("3 executors"), "{named}");
    }
    refused(
        dir,
        &["inspect", &format!("{log},executors")],
        &["fair-test-0,executors: expected PATH or PATH,key=value"],
    );
    // On one executor, the work of six is more than it can do.
    let is_left = "some of it is left at the end, whoever schedules";
    assert!(done(dir, &["inspect", &format!("spark:{log},executors=1")]).contains(is_left));
    assert!(!said.contains(is_left), "{said}");

    for file in ["jobs.json", "jobs.json.gz"] {
        let said = done(dir, &["import", &log, "-o", file]);
        assert!(said.contains(&format!("{file}: 12 jobs; schedule them with:")), "{said}");
        let simulated = |workload: String| {
            json(dir, &["simulate", "-p", "fair", "-p", "fifo", "-n", "2", "-w", &workload])["policies"].clone()
        };
        assert_eq!(simulated(format!("spark:{log}")), simulated(format!("json:{file}")));
        // What is recorded of it has come along.
        let again = json(dir, &["inspect", "--replay", &format!("json:{file}")]);
        assert_eq!(again["replay"], found["replay"]);
    }
    refused(
        dir,
        &["import", &log, "-o", "logs/../jobs.json", "--scenario", "serving"],
        &["is read by the scenario dag, not by `serving`"],
    );
    fs::write(dir.join("jobs.json"), "{}").unwrap();
    refused(dir, &["import", &log, "-o", "jobs.json"], &["jobs.json: already exists with other content"]);
    refused(dir, &["import", "jobs.json", "-o", "other.json"], &["jobs.json: no log of a cluster that is read here"]);
    refused(dir, &["inspect", "--replay", "jobs.json"], &["jobs.json: no log of a cluster that is read here"]);
    refused(dir, &["simulate", "--scenario", "serving", "-p", "fifo", "--event-log", "x"], &["leave no log"]);
}

#[test]
fn a_history_that_is_too_short_is_refused_before_any_work() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let log = log(dir, "fair", "builtin,jobs=12,executors=6,rate=1e-4", "logs");
    for command in
        [&["advise", &log, "-o", "run"][..], &["demo", "-w", &format!("spark:{log},split=time"), "-o", "run"]]
    {
        refused(
            dir,
            command,
            &["is too short to be cut by time: it has 12 jobs in", "windows of at least 5 jobs take 267"],
        );
        assert!(!dir.join("run/traces").exists());
    }
}

/// The figures of the closing period, the sentences, and the gates of belief.
#[test]
fn the_owner_of_a_history_is_told_what_was_measured_on_its_last_period() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let log = log(dir, "fifo", "builtin,jobs=300,executors=8,rate=1e-5", "logs");
    let said = done(dir, &["advise", &log, "--fast", "-o", "run"]);
    let advice: Value = serde_json::from_slice(&fs::read(dir.join("run/advice.json")).unwrap()).unwrap();
    let closing = &advice["closed_loop"];
    assert_eq!((&closing["split"], &closing["policies"][0]["policy"]), (&"final".into(), &"as recorded".into()));
    let page = fs::read_to_string(dir.join("run/report/report.html")).unwrap();
    let told = said
        .split("\nhistory ")
        .nth(1)
        .and_then(|rest| rest.split("\nverdict").next())
        .unwrap_or_else(|| panic!("{said}"));
    let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
    // Of whom: the jobs of the last windows, which are in no other period.
    let jobs = number(&advice["period"]["jobs"]);
    assert!(
        told.contains(&format!(" of the history ({jobs} jobs, on which nothing was chosen) this student, of ")),
        "{told}"
    );
    assert!((20.0..60.0).contains(&jobs), "{jobs}");
    // By how much: the student against the recorded order.
    let student = closing["policies"][1]["policy"].as_str().unwrap();
    let pairs = closing["comparisons"].as_array().unwrap();
    let pair = pairs.iter().find(|pair| pair["policy"] == student && pair["baseline"] == "as recorded").unwrap();
    let ratio = &pair["figures"]["mean_jct_ms"];
    let [value, low, high] = ["value", "low", "high"].map(|end| number(&ratio[end]));
    let written: f64 = told
        .split("brings the mean completion time to ")
        .nth(1)
        .and_then(|rest| rest.split(' ').next())
        .unwrap()
        .parse()
        .unwrap();
    assert!((written - value).abs() < 0.01 * value.max(0.5), "{written} {value}");
    // How far it is to be believed.
    let error = number(&advice["replay"]["median"]);
    let believed = told.split("believe differences above ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    assert!((believed.parse::<f64>().unwrap() / 100.0 - error).abs() < 0.02 * error + 1e-4, "{told} {error}");
    assert_eq!(
        told.contains("no difference to rely on"),
        (high < 1.0 || low > 1.0) && (value - 1.0).abs() <= error,
        "{told}"
    );
    let is_open = low <= 1.0 && 1.0 <= high;
    assert_eq!(told.contains("leaves open which of them is better"), is_open && high - low >= 1e-3, "{told}");
    assert_eq!(told.contains("which is no difference"), is_open && high - low < 1e-3, "{told}");
    assert_eq!(told.contains("which is worse"), low > 1.0 && value - 1.0 > error, "{told}");
    // Who gains and who loses: by more than the simulator is off by.
    let halves = pair["by_size"]["halves"].as_array().unwrap();
    let side = |half: &Value| {
        let [value, low, high] = ["value", "low", "high"].map(|end| number(&half["time"][end]));
        [high < 1.0 && 1.0 - value > error, low > 1.0 && value - 1.0 > error]
    };
    let [gains, loses] = [0, 1].map(|of| halves.iter().filter(|half| side(half)[of]).count());
    assert_eq!(told.contains("ho gains: "), gains == 1, "{told} {halves:?}");
    assert_eq!(told.contains("ho loses: "), loses == 1, "{told} {halves:?}");
    assert_eq!(told.contains("are known to gain or to lose"), gains + loses == 0, "{told} {halves:?}");
    // The rule beside the student: better or worse where their intervals show it.
    let rules = closing["policies"].as_array().unwrap().iter().skip(1).filter(|p| p["role"] == "heuristic");
    let against = |p: &Value| {
        pairs.iter().find(|pair| pair["policy"] == p["policy"] && pair["baseline"] == "as recorded").unwrap()["figures"]
            ["mean_jct_ms"]
            .clone()
    };
    let best = rules.map(against).min_by(|a, b| number(&a["value"]).total_cmp(&number(&b["value"]))).unwrap();
    assert_eq!(told.contains("is better than the student"), number(&best["high"]) < low, "{told}");
    assert_eq!(told.contains("is worse than the student"), high < number(&best["low"]), "{told}");
    assert!(page.contains("<title>Would another scheduler have served fifo-test-0 better?</title>"));
    // Pictures of it, and their numbers.
    for name in ["history-load", "history-replay", "history-schedulers"] {
        assert!(page.contains(&format!("id=\"{name}")), "{name}");
        assert!(dir.join(format!("run/report/charts/{name}.png")).exists(), "{name}");
    }
    assert!(page.contains("id=\"advice\""));
    assert!(fs::read_to_string(dir.join("run/run.json")).unwrap().contains("distill advise --scenario dag"));
}

#[test]
fn a_history_without_starts_is_known_to_check_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let log = log(dir.path(), "fair", "builtin,jobs=12,executors=6,rate=1e-4", "logs");
    let table = dir.path().join("jobs.csv");
    fs::write(&table, "in,took,gpus\n0,60,1\n30,90,2\n").unwrap();
    let table = format!("csv:{},submit=in,duration=took,gpus=gpus,size=8,split=none", table.display());
    let jobs = dir.path().join("jobs.json").display().to_string();
    done(dir.path(), &["import", &log, "-o", &jobs]);
    let log = format!("spark:{}", dir.path().join(&log).display());
    for (scenario, workload, is_unchecked) in [
        ("preemption", &*table, true),
        ("training", &table, true),
        ("dag", &log, false),
        ("dag", &format!("json:{jobs}"), false),
        ("dag", "builtin", false),
    ] {
        let info = RunInfo::new(all().find(scenario), "fifo", workload, 0);
        assert_eq!(info.simulated_only, is_unchecked, "{scenario} {workload}");
    }
    let said = done(dir.path(), &["inspect", "--replay", "--scenario", "preemption", &table]);
    assert!(said.contains("no schedule is recorded that could be carried out again"), "{said}");
}

/// A log in the Standard Workload Format of jobs that were served in order of arrival on eight cores; of the first ones the start is not
/// known.
fn swf(jobs: u32, unknown: u32) -> String {
    let (mut ends, mut earliest) = ([0; 8], 0);
    let mut text = "; MaxNodes: 1\n; MaxProcs: 8\n".to_owned();
    for i in 0..jobs {
        let (submit, cores, takes) = (30 * i, 1 << (i % 4), 60 + 97 * (i % 7));
        ends.sort_unstable();
        // Nobody begins before who arrived first.
        let start = submit.max(earliest).max(ends[cores as usize - 1]);
        ends[..cores as usize].fill(start + takes);
        earliest = start;
        let wait = if i < unknown { "-1".to_owned() } else { (start - submit).to_string() };
        text += &format!("{} {submit} {wait} {takes} {cores} -1 -1 {cores} -1 -1 1 1 1 1 1 -1 -1 -1\n", i + 1);
    }
    text
}

#[test]
fn a_schedule_by_the_rules_of_the_simulator_is_replayed_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let replay = |text: String| {
        fs::write(dir.join("log.swf"), text).unwrap();
        let workload = "swf:log.swf,split=none,noise=0,spread=0";
        json(dir, &["inspect", "--replay", "--scenario", "deadlines", workload])["replay"].clone()
    };
    for unknown in [0, 1] {
        let found = replay(swf(60, unknown));
        assert_eq!(number(&found["jobs"]), f64::from(60 - unknown));
        // What a job takes here is a law of whole iterations, which comes that near to what is recorded.
        assert!(number(&found["median"]) < 1e-3 && number(&found["p90"]) < 2e-3, "{found}");
    }
    // Of seven in sixty there is no schedule to speak of.
    assert_eq!(replay(swf(60, 7)), Value::Null);
}

/// The table of Philly's jobs is a history once it is known how large the cluster was.
#[test]
fn a_table_of_philly_is_known_by_its_columns() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let row = |i: u32| format!("{},{},{},a\n", 120 * i, 300 + 40 * (i % 9), 1 << (i % 3));
    let rows: String = (0..600).map(row).collect();
    fs::write(dir.join("jobs.csv"), format!("submit_s,duration_s,num_gpus,vc\n{rows}")).unwrap();
    for command in ["inspect", "advise"] {
        refused(dir, &[command, "jobs.csv"], &["jobs.csv: does not say how large the cluster was", "add `size=N`"]);
    }
    for scenario in ["training", "deadlines", "preemption"] {
        let found = json(dir, &["inspect", "jobs.csv,size=16", "--scenario", scenario]);
        assert_eq!(number(&found["survey"]["jobs"]), 600.0, "{scenario}");
    }
    // Drawn from, it says so.
    let said = done(dir, &["inspect", "philly:jobs.csv", "--scenario", "preemption"]);
    assert!(said.contains("an episode has 150 rows in a row, drawn from 600 in 20 h"), "{said}");
}

/// What is recorded of the jobs comes along: they are cut, scheduled and replayed as those of the log.
#[test]
fn a_log_becomes_a_workload_file_of_each_scenario_that_reads_it() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    fs::write(dir.join("log.swf"), swf(300, 1)).unwrap();
    for scenario in ["preemption", "deadlines", "training"] {
        let of = |words: &[&str]| json(dir, &[words, &["--scenario", scenario]].concat());
        let file = format!("{scenario}.json.gz");
        let found = of(&["import", "swf:log.swf", "-o", &file]);
        assert_eq!((&found["scenario"], number(&found["jobs"])), (&scenario.into(), 300.0));
        for cut in ["split=none", "split=time"] {
            let simulated = |name: &str| {
                of(&["simulate", "-p", "fifo", "-n", "2", "-w", &format!("{name},{cut}")])["policies"].clone()
            };
            assert_eq!(simulated("swf:log.swf"), simulated(&format!("json:{file}")), "{scenario} {cut}");
        }
        let replay = |name: &str| of(&["inspect", "--replay", name])["replay"].clone();
        let replayed = replay("swf:log.swf");
        assert_eq!(replayed, replay(&format!("json:{file}")), "{scenario}");
        // That of training cannot be carried out again.
        assert_eq!(replayed.is_null(), scenario == "training", "{replayed}");
    }
}
