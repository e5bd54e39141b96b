//! What the borders between crates cannot say: the order of the modules within a crate, and what a module must not know.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// Crates below `crates`, and the ones of them that each stands on.
const CRATES: [(&str, &[&str]); 19] = [
    ("histories", &[]),
    ("core", &["histories"]),
    ("dag", &["core", "histories"]),
    ("training", &["core"]),
    ("deadlines", &["core"]),
    ("preemption", &["core"]),
    ("serving", &["core", "histories"]),
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
    // It stands on the root, as programs of others do.
    ("python", &[]),
];

/// Modules of a crate in order; each may import those before it, less the bans below.
const ORDER: [(&str, &[&str]); 11] = [
    (
        "core",
        &[
            "file",
            "file_kind",
            "nearest",
            "elementary",
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
            "policy",
            "simulation",
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
            "event_log",
            "replay",
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
            "replay",
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
            "replay",
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
    ("foreign", &["error", "script", "onnx", "torchscript", "policies", "batch_model", "profile"]),
    (
        "report",
        &[
            "words",
            "glossary",
            "goal",
            "svg",
            "output",
            "closest",
            "plain",
            "line_chart",
            "dot_chart",
            "tree",
            "run_checks",
            "explanation_checks",
            "run_dir",
            "scorecard",
            "coefficients",
            "outline",
            "augmented",
            "departures",
            "fidelity",
            "likeness",
            "learning_curve",
            "matters",
            "size_front",
            "decision",
            "what_if",
            "rules",
            "holds_up",
            "gaming",
            "summary",
            "lead",
            "model_card",
            "first_screen",
            "history",
            "live",
            "students",
            "page",
        ],
    ),
    (
        "trainer",
        &[
            "adam",
            "libtorch",
            "metrics",
            "returns",
            "schedule",
            "weights",
            "update",
            "checkpoint",
            "session",
            "method",
            "integrated",
            "scorer",
            "decima",
            "dl2",
        ],
    ),
    ("batcher", &["models", "metrics", "accelerator", "scheduler", "pages", "http", "load"]),
];

/// What commands of the program share, in order; each may import those before it. All other modules of `src/cli` are commands, and import
/// nothing but these.
const SHARED: &[&str] = &[
    "advice",
    "decode",
    "host",
    "interrupt",
    "memory",
    "parts",
    "help",
    "common",
    "scenario",
    "log",
    "files",
    "inputs",
    "words",
    "output",
    "progress",
    "reading",
    "table",
    "history",
    "looks",
    "verdict",
    "compare",
    "fidelity",
    "fit_options",
    "disagreement",
    "gradients",
    "stability",
    "certify",
    "gamed",
    "augmented",
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

/// The source files of a module in that folder, with what leads from them to the modules beside it: `super::`, once for each folder
/// that a file is in.
fn sources(folder: &Path, module: &str) -> Vec<(String, String)> {
    fn collect(path: &Path, depth: usize, found: &mut Vec<(String, String)>) {
        // What only tests import does not matter.
        if path.file_stem().is_some_and(|name| name == "tests") {
        } else if path.is_dir() {
            for entry in fs::read_dir(path).unwrap() {
                let path = entry.unwrap().path();
                let depth = if path.ends_with("mod.rs") { depth } else { depth + 1 };
                collect(&path, depth, found);
            }
        } else if path.extension().is_some_and(|e| e == "rs") {
            let text = fs::read_to_string(path).unwrap();
            let code = text.split("\nmod tests {").next().unwrap_or_default();
            found.push((code.to_owned(), "super::".repeat(depth)));
        }
    }
    let mut found = Vec::new();
    // What stands in for a module that a build does not have begins with `no_`.
    for name in [module.to_owned(), format!("{module}.rs"), format!("no_{module}.rs")] {
        let path = folder.join(name);
        if path.exists() {
            collect(&path, 1, &mut found);
        }
    }
    assert!(!found.is_empty(), "{module} has sources");
    found
}

/// What a module imports of those beside it, named from the top by `root` or from where it is.
fn imports_of(folder: &Path, module: &str, root: &str) -> BTreeSet<String> {
    let of = |(text, up): &(String, String)| imports(text, root).into_iter().chain(imports(text, up));
    sources(folder, module).iter().flat_map(of).collect()
}

/// The modules that a file declares, but for those of tests.
fn modules(file: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(file).unwrap();
    let named = |l: &str| Some(l.strip_prefix("pub ").unwrap_or(l).strip_prefix("mod ")?.strip_suffix(';')?.to_owned());
    text.lines().filter_map(named).filter(|module| !matches!(&module[..], "testing" | "tests")).collect()
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
        let named = order.iter().map(|&module| module.to_owned()).collect();
        assert_eq!(modules(&src.join("lib.rs")), named, "the table names the modules of {name}");
        let place: BTreeMap<&str, usize> = order.iter().enumerate().map(|(i, m)| (*m, i)).collect();
        for &module in order {
            let own = imports_of(&src, module, "crate::");
            for import in &own {
                let Some(&at) = place.get(import.as_str()) else { continue };
                assert!(at <= place[module], "{name}: `{module}` imports `{import}`, which comes after it");
            }
            let all: BTreeSet<String> =
                own.into_iter().chain(imports_of(&src, module, "sched_distill_core::")).collect();
            for (_, who, what) in BANS.iter().filter(|(of, ..)| *of == name) {
                for import in all.iter().filter(|_| who.contains(&module)) {
                    assert!(!what.contains(&import.as_str()), "{name}: `{module}` must not import `{import}`");
                }
            }
        }
    }
}

#[test]
fn commands_import_only_what_they_share() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/cli");
    let modules = modules(&folder.join("mod.rs"));
    let unknown: Vec<&&str> = SHARED.iter().filter(|&&shared| !modules.contains(shared)).collect();
    assert!(unknown.is_empty(), "no modules of src/cli: {unknown:?}");
    for module in &modules {
        let before = SHARED.iter().position(|shared| shared == module).unwrap_or(SHARED.len());
        for import in imports_of(&folder, module, "cli::") {
            let may = import == *module || import == "super" || SHARED[..before].contains(&&*import);
            assert!(may, "src/cli: `{module}` imports `{import}`, which is no module that comes before it");
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
