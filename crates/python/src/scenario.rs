//! The scenarios as this package has them: those of the program, in which a Python callable is a policy as well.

use crate::policy;
use pyo3::prelude::*;
use sched_distill::{
    contract::Tabular,
    level::LevelSpec,
    pipeline::{AnyScenario, Attack, Entry, Registry},
    policy::PolicyInfo,
    registry::{self, Registered},
    scenario::ScenarioInfo,
    simulation::Editable,
};
use serde_json::{Value, json};
use std::sync::OnceLock;

/// What a scenario must be to be in this package.
pub(super) trait Hosted: Registered + Tabular + Editable {}

impl<S: Registered + Tabular + Editable> Hosted for S {}

/// Does something with the type of the scenario of a name; the value of `$otherwise` if there is none.
macro_rules! with_scenario {
    ($name:expr, $S:ident => $work:expr, $otherwise:expr) => {{
        use sched_distill::{dag, deadlines, preemption, serving, training};
        match $name {
            "dag" => {
                type $S = dag::Dag;
                $work
            }
            "training" => {
                type $S = training::Training;
                $work
            }
            "deadlines" => {
                type $S = deadlines::Deadlines;
                $work
            }
            "preemption" => {
                type $S = preemption::Preemption;
                $work
            }
            "serving" => {
                type $S = serving::Serving;
                $work
            }
            _ => $otherwise,
        }
    }};
}
pub(super) use with_scenario;

/// The scenario's policies, with callables beside them. The student stays the last one.
fn policies<S: Hosted>() -> Vec<PolicyInfo> {
    let mut all = (S::entry().policies)();
    all.insert(all.len().saturating_sub(1), policy::INFO);
    all
}

/// An entry of the program's, with callables beside its policies. It is made once and kept.
fn entry<S: Hosted>() -> &'static dyn AnyScenario {
    let own = S::entry();
    Box::leak(Box::new(Entry::<S> {
        teacher: own.teacher,
        baselines: own.baselines,
        policies: policies::<S>,
        open: |spec| {
            let all = policies::<S>();
            if policy::INFO.is(spec) {
                policy::open::<S>(spec)
            } else if all.iter().any(|policy| policy.is(spec)) {
                (S::entry().open)(spec)
            } else {
                let names: Vec<&str> = all.iter().map(|policy| policy.name).collect();
                Err(spec.unknown_name("policy", "policies", &names).into())
            }
        },
        attack: Some(Attack::new()),
    }))
}

/// All scenarios.
pub(super) fn registry() -> Registry {
    static ALL: OnceLock<Registry> = OnceLock::new();
    let all = || {
        let names = registry::all().names();
        let entry = |name: &str| with_scenario!(name, S => Some(entry::<S>()), None);
        Registry::new(&names.into_iter().filter_map(entry).collect::<Vec<_>>())
    };
    ALL.get_or_init(all).clone()
}

/// Names of the columns of a level that are the same for all candidates.
pub(super) fn shared<'a>(info: &ScenarioInfo, level: &'a LevelSpec) -> impl Iterator<Item = &'a str> + use<'a> {
    let words = (info.words)();
    let words = words.levels.into_iter().find(|words| words.level == level.name);
    let names: Vec<String> = words.map_or(Vec::new(), |words| {
        words.quantities.into_iter().filter(|quantity| quantity.shared).map(|quantity| quantity.feature).collect()
    });
    level.features.iter().map(|feature| feature.name.as_str()).filter(move |name| names.iter().any(|n| n == name))
}

/// What there is of a scenario, as JSON: its levels with their features, policies, workloads and figures.
#[pyfunction]
pub(super) fn describe() -> String {
    let of = |scenario: &'static dyn AnyScenario| {
        let info = scenario.info();
        let policies: Vec<&str> = scenario.policies().iter().map(|policy| policy.usage).collect();
        let workloads: Vec<&str> = scenario.workloads().iter().map(|workload| workload.usage).collect();
        let level = |level: &LevelSpec| {
            json!({"name": level.name, "question": level.question, "features": level.features,
                   "shared": shared(info, level).collect::<Vec<_>>()})
        };
        let levels: Vec<Value> = (info.feature_set)().levels.iter().map(level).collect();
        let objective = info.objective();
        json!({"name": info.name, "meaning": info.meaning, "kinds": info.kinds, "levels": levels,
               "policies": policies, "workloads": workloads, "teacher": scenario.teacher(), "baselines": scenario.baselines(),
               "objective": {"name": objective.name, "label": objective.label, "unit": objective.unit,
                             "better": objective.better}})
    };
    Value::Array(registry().iter().map(of).collect()).to_string()
}
