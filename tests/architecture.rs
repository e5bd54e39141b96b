//! The structure of the crate: who may import whom.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

/// Modules in order; each may import those before it, less the bans below.
const ORDER: [&str; 19] = [
    "file",
    "rng",
    "level",
    "spec",
    "workload",
    "simulator",
    "feature",
    "model",
    "scenario",
    "policy",
    "trace",
    "evaluator",
    "recorder",
    "distiller",
    "augment",
    "explainer",
    "trainer",
    "reporter",
    "cli",
];

/// What knows levels and choices only must not learn of clusters and policies; models stay embeddable.
const BANS: [(&[&str], &[&str]); 2] = [
    (
        &["trace", "evaluator", "distiller", "explainer", "reporter"],
        &["workload", "simulator", "feature", "scenario", "policy", "recorder"],
    ),
    (&["model"], &["workload", "simulator", "feature", "spec"]),
];

/// Crate modules named in a source text, comments and the tests at its foot left out.
fn imports(source: &str) -> BTreeSet<String> {
    let code = source.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let code: String = code.lines().map(|l| l.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n");
    let mut found = BTreeSet::new();
    let name = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
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
        found.push_str(text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default());
    }
}

#[test]
fn modules_import_only_what_comes_before_them() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let lib = fs::read_to_string(src.join("lib.rs")).unwrap();
    let modules: BTreeSet<&str> = lib.lines().filter_map(|l| l.strip_prefix("pub mod ")?.strip_suffix(';')).collect();
    assert_eq!(modules, BTreeSet::from(ORDER), "the table names the crate's modules");
    let place: BTreeMap<&str, usize> = ORDER.iter().enumerate().map(|(i, m)| (*m, i)).collect();
    for module in ORDER {
        let mut text = String::new();
        for path in [src.join(module), src.join(format!("{module}.rs"))] {
            if path.exists() {
                sources(&path, &mut text);
            }
        }
        assert!(!text.is_empty(), "{module} has sources");
        for import in imports(&text) {
            let Some(&at) = place.get(import.as_str()) else { continue };
            assert!(at <= place[module], "`{module}` imports `{import}`, which comes after it");
            for (who, what) in BANS {
                assert!(
                    !(who.contains(&module) && what.contains(&import.as_str())),
                    "`{module}` must not import `{import}`"
                );
            }
        }
    }
}

#[test]
fn the_scanner_sees_every_form_of_import() {
    let source = "use crate::{a::{b, c}, d,\n  e::F};\n// crate::no\nfn f() -> crate::g::H {}\n#[cfg(test)]\nmod tests { use crate::t; }";
    let expected = ["a", "d", "e", "g"].map(str::to_owned);
    assert_eq!(imports(source), BTreeSet::from(expected));
}

#[test]
fn what_knows_levels_and_choices_only_names_no_cluster() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut seen = 0;
    for module in ["distiller", "evaluator", "explainer", "reporter"] {
        let mut open = vec![src.join(module)];
        while let Some(path) = open.pop() {
            if path.is_dir() {
                open.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
                continue;
            }
            let text = fs::read_to_string(&path).unwrap().to_lowercase();
            let words = text.split(|c: char| !c.is_ascii_alphanumeric());
            let named: Vec<&str> = words.filter(|w| ["spark", "decima", "dl2", "gpu", "gpus"].contains(w)).collect();
            assert!(named.is_empty(), "{}: {named:?}", path.display());
            seen += 1;
        }
    }
    assert!(seen > 100, "{seen} files");
}
