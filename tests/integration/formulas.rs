//! Ranks and ratios, worked out from the formulas that exports and lists print, are those that each scenario records.

use crate::program::done;
use sched_distill::{
    level::{FeatureSpec, LevelSpec, NONE_FLAG, Scope, base},
    model::{
        LevelModels, Model, NamedModel, Provenance, Student, Tree,
        export::{Language, Target, export, export_student, parts},
    },
    registry,
    trace::{Choice, Trace},
};
use serde_json::Value;

/// Small workloads, and a policy that names much.
const SMALL: [(&str, &str, &str); 5] = [
    ("dag", "builtin,executors=3,jobs=6", "random"),
    ("training", "builtin,jobs=8", "optimus"),
    ("deadlines", "builtin,node-cores=16,jobs=15", "qos"),
    ("preemption", "builtin,nodes=4,jobs=30,load=1.5", "pickyman"),
    ("serving", "builtin,seconds=0.4", "dybatch"),
];

/// A formula as it is printed, with the values of the one quantity that it is of.
struct Printed<'a> {
    rest: &'a str,
    name: &'a str,
    own: f64,
    all: &'a [f64],
}

impl Printed<'_> {
    fn takes(&mut self, token: &str) -> bool {
        self.rest = self.rest.trim_start();
        let rest = self.rest.strip_prefix(token);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn must(&mut self, token: &str) {
        assert!(self.takes(token), "{token} expected before `{}`", self.rest);
    }

    fn value(&mut self) -> f64 {
        let mut value = self.part();
        loop {
            if self.takes("+") {
                value += self.part();
            } else if self.takes("/") {
                value /= self.part();
            } else {
                return value;
            }
        }
    }

    fn part(&mut self) -> f64 {
        if self.takes("max(") {
            let a = self.value();
            self.must(",");
            let b = self.value();
            self.must(")");
            a.max(b)
        } else if self.takes("min(") {
            self.must(self.name);
            self.must(")");
            self.all.iter().copied().fold(f64::INFINITY, f64::min)
        } else if self.takes("count(") {
            self.must(self.name);
            self.must("< own)");
            self.all.iter().filter(|other| **other < self.own).count() as f64
        } else if self.takes("(") {
            let value = self.value();
            self.must(")");
            value
        } else if self.takes(self.name) {
            self.own
        } else {
            let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
            let (number, rest) = self.rest.split_at(end);
            self.rest = rest;
            number.parse().unwrap_or_else(|_| panic!("`{number}{rest}` is no number"))
        }
    }
}

/// What a formula gives a candidate.
fn worked_out(formula: &str, name: &str, own: f64, all: &[f64]) -> f64 {
    let mut printed = Printed { rest: formula, name, own, all };
    let value = printed.value();
    assert_eq!(printed.rest.trim(), "", "{formula}");
    value
}

/// The formula at the end of the first line of a text for which something holds.
fn at_the_end(text: &str, is_it: impl Fn(&str) -> bool) -> &str {
    let line = text.lines().find(|line| is_it(line)).unwrap_or_else(|| panic!("no such line in {text}"));
    line.rsplit_once(": ").and_then(|(_, formula)| formula.strip_suffix('.')).unwrap_or_else(|| panic!("{line}"))
}

/// Compares the derived columns of a choice.
fn compare(choice: &Choice<'_>, spec: &LevelSpec, formula: impl Fn(&FeatureSpec) -> String) -> usize {
    let column = |name: &str| spec.features.iter().position(|f| f.name == name);
    let is_none = |row: &[f32]| column(NONE_FLAG).is_some_and(|flag| row[flag] == 1.0);
    let rows: Vec<&[f32]> = (0..choice.len()).map(|i| choice.row(i)).collect();
    assert!(rows.concat().iter().all(|value| value.is_finite()));
    let mut compared = 0;
    for (place, feature) in
        spec.features.iter().enumerate().filter(|(_, f)| matches!(f.scope, Scope::Rank | Scope::Ratio))
    {
        let (name, formula) = (base(&feature.name), formula(feature));
        let of = column(name).expect("the quantity stands before its rank and ratio");
        let all: Vec<f64> = rows.iter().filter(|row| !is_none(row)).map(|row| f64::from(row[of])).collect();
        for row in &rows {
            let found = f64::from(row[place]);
            if is_none(row) {
                assert_eq!(found, 0.0, "{}", feature.name);
                continue;
            }
            let expected = worked_out(&formula, name, f64::from(row[of]), &all);
            // Files hold quantities in 32 bits: what differs beyond that may be in another order.
            let equals = all.iter().filter(|other| **other == f64::from(row[of])).count() as f64 - 1.0;
            let close = match feature.scope {
                Scope::Rank => {
                    found >= expected && found <= expected + if spec.features[of].whole { 0.0 } else { equals }
                }
                _ => (found - expected).abs() <= 1e-5 * (1.0 + expected.abs()),
            };
            assert!(close, "{} {}: {found}, but {formula} is {expected}", spec.name, feature.name);
            compared += 1;
        }
    }
    compared
}

#[test]
fn ranks_and_ratios_are_what_the_printed_formulas_say() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    for scenario in registry::all().iter() {
        let (name, set) = (scenario.info().name, (scenario.info().feature_set)());
        let (_, workload, policy) =
            SMALL.iter().find(|small| small.0 == name).expect("every scenario has a workload here");
        done(dir, &["record", "--scenario", name, "-p", policy, "-w", workload, "-n", "2", "-q", "-o", name]);
        let listed = done(dir, &["list", "features", "--scenario", name]);
        let lines = done(dir, &["--json", "list", "features", "--scenario", name]);
        let listed_json: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let leaf = |name: &str| {
            let model = Model::Tree(Tree::leaf(0.5, 0.0, 1, 1.0));
            LevelModels::new(name, "tree", vec![NamedModel { name: "tree".to_owned(), temperature: 1.0, model }])
        };
        // What an earlier version said of ratios.
        let mut earlier = set.clone();
        let ratios = earlier.levels.iter_mut().flat_map(|l| &mut l.features).filter(|f| f.scope == Scope::Ratio);
        ratios.for_each(|f| f.meaning = "How many times the smallest among the candidates.".to_owned());
        let levels = set.levels.iter().map(|l| leaf(&l.name)).collect();
        let student = Student::new(earlier, true, levels, Provenance::default());
        let parts = parts(&student, None, None).unwrap();
        let sources = [Language::C, Language::Rust].map(|l| export_student(&student, &parts, l).unwrap());
        for text in [&listed, &sources[0], &sources[1]] {
            let words = text.replace("\n * ", " ").replace("\n//! ", " ").replace('\n', " ");
            for part in
                ["equals share the lowest place", "A candidate that gives nothing (is_none is 1) is none of these"]
            {
                assert!(words.contains(part), "{name}: {part} not in {words}");
            }
            assert!(set.levels.iter().all(|l| !l.candidates.is_empty() && text.contains(&l.candidates)), "{name}");
            assert!(!text.contains("how many times the smallest"));
        }
        let trace = Trace::open(&dir.join(name)).unwrap();
        let mut compared = 0;
        for (level, part) in set.levels.iter().zip(&parts) {
            // Every column that a text names has its unit and formula there.
            let onnx = export(&student, std::slice::from_ref(part), Target::Onnx).unwrap();
            let onnx = String::from_utf8_lossy(&onnx).into_owned();
            let sections: Vec<&str> =
                sources.iter().map(|text| after(text, &format!("Level {}: ", level.name))).collect();
            let formula = |f: &FeatureSpec| {
                let listed = at_the_end(after(&listed, &format!("{} level: ", level.name)), |line| {
                    line.starts_with(&format!("{} ", f.name))
                })
                .to_owned();
                for section in &sections {
                    assert_eq!(
                        at_the_end(section, |line| line.contains(&format!("] {} [{}] ", f.name, f.unit))),
                        listed
                    );
                }
                let json = listed_json.iter().find(|l| l["level"] == *level.name && l["feature"]["name"] == *f.name);
                assert_eq!(json.map(|line| &line["formula"]), Some(&Value::from(listed.clone())));
                assert!(onnx.contains(&format!(": {listed}.\"")), "{onnx}");
                listed
            };
            let formulas: Vec<String> = level
                .features
                .iter()
                .map(|f| if matches!(f.scope, Scope::Rank | Scope::Ratio) { formula(f) } else { String::new() })
                .collect();
            let of = |f: &FeatureSpec| {
                level.features.iter().position(|g| g.name == f.name).map_or(String::new(), |i| formulas[i].clone())
            };
            compared +=
                trace.level(&level.name).unwrap().iter().map(|choice| compare(&choice, level, of)).sum::<usize>();
        }
        assert!(compared > 2_000, "{name}: {compared}");
    }
}

/// The text from a place on.
fn after<'t>(text: &'t str, start: &str) -> &'t str {
    let at = text.find(start).unwrap_or_else(|| panic!("no `{start}`"));
    &text[at..]
}
