//! Every kind of network decides the same.

use super::{
    network::{Small, Weights},
    open, python,
};
use sched_distill::{
    dag::Dag,
    foreign::{
        ForeignPolicy,
        conformance::{Conformance, ConformanceRequest, battery, check_policy},
    },
    policy::Policy,
};
use std::sync::atomic::AtomicBool;

/// Checks a policy on every built-in workload, beside another one.
fn check(policy: &dyn Policy<Dag>, against: &dyn Policy<Dag>, decisions: u32) -> Conformance {
    let workloads = battery().unwrap();
    let request =
        ConformanceRequest { policy, against: Some(against), workloads: &workloads, seed: 5, episodes: 2, decisions };
    check_policy(&request, &AtomicBool::new(false), |_| ()).unwrap()
}

fn by_formula() -> ForeignPolicy {
    ForeignPolicy::new(Box::new(Small(Weights::new())), false)
}

/// Asserts that a policy keeps the contract and does as the formulas do, on every decision.
fn agrees(spec: &str, decisions: u32) {
    let found = check(&*open(spec).unwrap(), &by_formula(), decisions);
    assert!(found.passed(), "{spec}: {found:?}");
    let concordance = found.concordance.as_ref().unwrap();
    assert!(concordance.holds(1e-5), "{spec}: {concordance:?}");
    assert!(
        concordance.questions >= 12 * u64::from(decisions) && concordance.amount_log_prob.is_some(),
        "{spec}: {concordance:?}"
    );
    println!("{spec}: {concordance:?}, median {} ms", found.median_ms);
}

#[test]
#[cfg_attr(not(python), ignore = "needs python3")]
fn a_process_decides_as_the_formulas_do() {
    // Python takes its time.
    agrees(&python(""), 25);
}

#[test]
#[cfg(feature = "onnx")]
fn an_onnx_file_decides_as_the_formulas_do() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("small.onnx");
    std::fs::write(&path, super::onnx_file::small(super::onnx_file::Flaw::None)).unwrap();
    agrees(&format!("onnx:{}", path.display()), 250);
    assert!(sched_distill::foreign::OnnxNetwork::load(&path).unwrap().is_general());
}

/// tract cannot plan this graph for all sizes at once.
#[test]
#[cfg(feature = "onnx")]
fn an_onnx_file_may_be_planned_size_by_size() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("one-hot.onnx");
    std::fs::write(&path, super::onnx_file::small(super::onnx_file::Flaw::OneHot)).unwrap();
    assert!(!sched_distill::foreign::OnnxNetwork::load(&path).unwrap().is_general());
    agrees(&format!("onnx:{}", path.display()), 25);
}

#[test]
#[cfg(feature = "torch")]
fn a_torchscript_file_decides_as_the_formulas_do() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("small.pt");
    super::torchscript_file::save(&path, super::torchscript_file::Flaw::None);
    agrees(&format!("torchscript:{}", path.display()), 250);
}

#[test]
#[cfg(all(feature = "onnx", feature = "torch"))]
#[cfg_attr(not(python), ignore = "needs python3")]
fn the_three_kinds_decide_alike_when_they_sample() {
    let dir = tempfile::tempdir().unwrap();
    let (onnx, torch) = (dir.path().join("small.onnx"), dir.path().join("small.pt"));
    std::fs::write(&onnx, super::onnx_file::small(super::onnx_file::Flaw::None)).unwrap();
    super::torchscript_file::save(&torch, super::torchscript_file::Flaw::None);
    let [script, onnx, torch] =
        [python(""), format!("onnx:{}", onnx.display()), format!("torchscript:{}", torch.display())]
            .map(|spec| open(&format!("{spec},mode=sample")).unwrap());
    for (a, b) in [(&script, &onnx), (&onnx, &torch)] {
        let found = check(&**a, &**b, 20);
        assert!(found.passed() && found.concordance.as_ref().unwrap().holds(1e-5), "{found:?}");
    }
}

#[test]
fn another_network_is_told_apart() {
    let mut weights = Weights::new();
    weights.stage[0] += 0.5;
    let found = check(&ForeignPolicy::new(Box::new(Small(weights)), false), &by_formula(), 50);
    let concordance = found.concordance.as_ref().unwrap();
    assert!(found.passed() && !concordance.holds(1e-5) && concordance.differing > 10, "{concordance:?}");
    assert!(concordance.first.as_ref().unwrap().contains("most probable"), "{concordance:?}");
}

/// What is no answer to the contract is found, in a process that runs.
#[test]
#[cfg_attr(not(python), ignore = "needs python3")]
fn a_process_that_remembers_other_episodes_is_found() {
    let found = check(&*open(&python("remembers")).unwrap(), &by_formula(), 20);
    let failed: Vec<&str> = found.checks.iter().filter(|c| c.failed > 0).map(|c| c.name).collect();
    assert!(failed.contains(&"a copy decides the same again after `reset`"), "{failed:?}");
}

#[test]
fn rules_keep_the_contract_too() {
    for spec in ["fifo", "fair", "random", "sjf-cp,temperature=0.5,mode=sample", "srpt-fair,temperature=0.3"] {
        let found = check(&*open(spec).unwrap(), &*open(spec).unwrap(), 120);
        assert!(found.passed() && found.concordance.as_ref().unwrap().holds(0.0), "{spec}: {found:?}");
    }
}
