//! What the borders between crates cannot say: the order of the modules within a crate, and what a module must not know.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// Crates below `crates`, and the ones of them that each stands on.
const CRATES: [(&str, &[&str]); 17] = [
    ("core", &[]),
    ("dag", &["core"]),
    ("training", &["core"]),
    ("deadlines", &["core"]),
    ("preemption", &["core"]),
    ("serving", &["core"]),
    ("trace", &["core"]),
    ("judge", &["core", "trace"]),
    ("learn", &["core", "judge", "trace"]),
    ("explain", &["core", "judge", "learn", "trace"]),
    ("serve", &["core", "explain", "trace"]),
    ("pipeline", &["core", "explain", "judge", "learn", "serve", "trace"]),
    ("foreign", &["core"]),
    ("scenarios", &["core", "dag", "deadlines", "foreign", "pipeline", "preemption", "serving", "training"]),
    ("report", &["core", "explain", "judge", "learn", "pipeline", "trace"]),
    ("trainer", &["core", "dag", "explain", "judge", "pipeline", "trace", "training"]),
    ("batcher", &["core", "foreign", "serving"]),
];

/// Modules of a crate in order; each may import those before it, less the bans below.
const ORDER: [(&str, &[&str]); 8] = [
    (
        "core",
        &[
            "file",
            "file_kind",
            "nearest",
            "text",
            "rng",
            "figure",
            "level",
            "spec",
            "feature",
            "workload",
            "model",
            "state",
            "scenario",
            "simulation",
            "policy",
            "contract",
            "network",
        ],
    ),
    (
        "dag",
        &[
            "graph",
            "edit",
            "intake",
            "state",
            "feature",
            "catalogue",
            "workload",
            "scenario",
            "choose",
            "contract",
            "simulator",
            "simulated",
            "heuristic",
            "network",
            "policies",
        ],
    ),
    (
        "training",
        &[
            "cluster",
            "state",
            "feature",
            "catalogue",
            "workload",
            "scenario",
            "contract",
            "simulator",
            "simulated",
            "heuristic",
            "network",
            "policies",
        ],
    ),
    (
        "deadlines",
        &[
            "law",
            "prediction",
            "cluster",
            "state",
            "heuristic",
            "feature",
            "catalogue",
            "workload",
            "scenario",
            "simulator",
            "simulated",
            "policies",
        ],
    ),
    (
        "preemption",
        &[
            "database",
            "history",
            "counter",
            "cluster",
            "state",
            "heuristic",
            "feature",
            "catalogue",
            "workload",
            "scenario",
            "simulator",
            "simulated",
            "policies",
        ],
    ),
    (
        "serving",
        &[
            "law",
            "server",
            "state",
            "heuristic",
            "feature",
            "catalogue",
            "workload",
            "scenario",
            "simulator",
            "simulated",
            "policies",
        ],
    ),
    ("judge", &["sealed", "evaluator", "practice", "attack", "augment", "conformance"]),
    ("batcher", &["models", "metrics", "accelerator", "scheduler", "pages", "http", "load"]),
];

/// Modules of a crate, and what they must not import of it and of `core`: models stay embeddable, and figures are about levels and
/// choices only.
const BANS: [(&str, &[&str], &[&str]); 2] =
    [("judge", &["evaluator"], CLUSTERS), ("core", &["model"], &["workload", "simulation", "feature", "spec"])];

/// What of `core` those must not learn of who know levels and choices only.
const CLUSTERS: &[&str] = &["workload", "simulation", "feature", "scenario", "policy", "recorder"];

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("crates").join(name)
}

/// Modules of a crate (`crate::` or its name with `::`) that are named in a source text, comments and the tests at its foot left out.
fn imports(source: &str, root: &str) -> BTreeSet<String> {
    let code = source.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let code: String = code.lines().map(|l| l.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n");
    let mut found = BTreeSet::new();
    let name = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    for (at, _) in code.match_indices(root) {
        let rest = &code[at + root.len()..];
        if let Some(group) = rest.strip_prefix('{') {
            let mut depth = 0;
            let mut start = true;
            for (i, c) in group.char_indices() {
                match c {
                    '{' => depth += 1,
                    '}' if depth == 0 => break,
                    '}' => depth -= 1,
                    ',' if depth == 0 => start = true,
                    c if start && !c.is_whitespace() => {
                        found.insert(name(&group[i..]));
                        start = false;
                    }
                    _ => {}
                }
            }
        } else {
            found.insert(name(rest));
        }
    }
    found
}

fn sources(path: &Path, found: &mut String) {
    if path.is_dir() {
        let mut entries: Vec<_> = fs::read_dir(path).unwrap().map(|e| e.unwrap().path()).collect();
        entries.sort();
        entries.iter().for_each(|p| sources(p, found));
    } else if path.extension().is_some_and(|e| e == "rs") {
        let text = fs::read_to_string(path).unwrap();
        // Each file's tests are at its foot, so files are cut before they are joined.
        found.push_str(text.split("\nmod tests").next().unwrap_or_default());
    }
}

#[test]
fn crates_stand_on_those_below_them() {
    for (name, below) in CRATES {
        let manifest = fs::read_to_string(folder(name).join("Cargo.toml")).unwrap();
        let dependencies = manifest.split("[dependencies]").nth(1).unwrap().split("\n[").next().unwrap();
        let own = dependencies.lines().filter_map(|line| line.strip_prefix("sched-distill-")?.split([' ', '.']).next());
        assert_eq!(own.collect::<BTreeSet<_>>(), BTreeSet::from_iter(below.iter().copied()), "{name}");
    }
}

#[test]
fn modules_import_only_what_comes_before_them() {
    for (name, order) in ORDER {
        let src = folder(name).join("src");
        let lib = fs::read_to_string(src.join("lib.rs")).unwrap();
        let modules: BTreeSet<&str> = lib
            .lines()
            .filter_map(|l| l.strip_prefix("pub ").unwrap_or(l).strip_prefix("mod ")?.strip_suffix(';'))
            .filter(|&m| m != "testing")
            .collect();
        assert_eq!(modules, BTreeSet::from_iter(order.iter().copied()), "the table names the modules of {name}");
        let place: BTreeMap<&str, usize> = order.iter().enumerate().map(|(i, m)| (*m, i)).collect();
        for &module in order {
            let mut text = String::new();
            for path in [src.join(module), src.join(format!("{module}.rs"))] {
                if path.exists() {
                    sources(&path, &mut text);
                }
            }
            assert!(!text.is_empty(), "{module} has sources");
            let own = imports(&text, "crate::");
            for import in &own {
                let Some(&at) = place.get(import.as_str()) else { continue };
                assert!(at <= place[module], "{name}: `{module}` imports `{import}`, which comes after it");
            }
            let all: BTreeSet<String> = own.into_iter().chain(imports(&text, "sched_distill_core::")).collect();
            for (_, who, what) in BANS.iter().filter(|(of, ..)| *of == name) {
                for import in all.iter().filter(|_| who.contains(&module)) {
                    assert!(!what.contains(&import.as_str()), "{name}: `{module}` must not import `{import}`");
                }
            }
        }
    }
}

#[test]
fn the_scanner_sees_every_form_of_import() {
    let source = "use crate::{a::{b, c}, d,\n  e::F};\n// crate::no\nfn f() -> crate::g::H {}\n#[cfg(test)]\nmod tests { use crate::t; }";
    let expected = ["a", "d", "e", "g"].map(str::to_owned);
    assert_eq!(imports(source, "crate::"), BTreeSet::from(expected));
}

/// Files of what knows levels and choices only.
fn without_clusters() -> Vec<PathBuf> {
    let mut open = ["trace", "learn", "explain"].map(|name| folder(name).join("src")).to_vec();
    open.push(folder("judge").join("src/evaluator"));
    let mut files = Vec::new();
    while let Some(path) = open.pop() {
        match path.is_dir() {
            true if path.ends_with("recorder") => {}
            true => open.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path())),
            false => files.push(path),
        }
    }
    files
}

#[test]
fn what_knows_levels_and_choices_only_learns_of_no_cluster() {
    let files = without_clusters();
    for path in &files {
        let text = fs::read_to_string(path).unwrap();
        let found = imports(&text, "sched_distill_core::");
        let named: Vec<&String> = found.iter().filter(|import| CLUSTERS.contains(&import.as_str())).collect();
        assert!(named.is_empty() || path.ends_with("tests.rs"), "{}: {named:?}", path.display());
    }
    assert!(files.len() > 100, "{} files", files.len());
}

#[test]
fn what_knows_levels_and_choices_only_names_no_cluster() {
    let mut open = ["learn", "explain", "report"].map(|name| folder(name).join("src")).to_vec();
    open.push(folder("judge").join("src/evaluator"));
    let mut seen = 0;
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        if path.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap().to_lowercase();
        let words = text.split(|c: char| !c.is_ascii_alphanumeric());
        let named: Vec<&str> = words.filter(|w| ["spark", "decima", "dl2", "gpu", "gpus"].contains(w)).collect();
        assert!(named.is_empty(), "{}: {named:?}", path.display());
        seen += 1;
    }
    assert!(seen > 100, "{seen} files");
}
