//! Every kind of network decides the same.

use super::{Tested, network, network_training, open, python, python_of};
#[cfg(feature = "onnx")]
use sched_distill::contract::Tabular as _;
use sched_distill::{
    conformance::{Conformance, ConformanceRequest, check_policy},
    dag::Dag,
    foreign::ForeignPolicy,
    policy::Policy,
    training::Training,
};
use std::sync::atomic::AtomicBool;

/// Checks a policy on every built-in workload, beside another one.
pub(super) fn check<S: Tested>(policy: &dyn Policy<S>, against: &dyn Policy<S>, decisions: u32) -> Conformance {
    let workloads = S::battery().unwrap();
    let request =
        ConformanceRequest { policy, against: Some(against), workloads: &workloads, seed: 5, episodes: 2, decisions };
    check_policy(&request, &AtomicBool::new(false), |_| ()).unwrap()
}

fn by_formula() -> ForeignPolicy<Dag> {
    ForeignPolicy::new(Box::new(network::Small(network::Weights::new())), false)
}

fn training_by_formula() -> ForeignPolicy<Training> {
    ForeignPolicy::new(Box::new(network_training::Small(network_training::Weights::new())), false)
}

/// Asserts that a policy keeps the contract and does as the formulas do, on every decision.
fn agrees_in<S: Tested>(spec: &str, by_formula: &dyn Policy<S>, decisions: u32) {
    let found = check(&*open::<S>(spec).unwrap(), by_formula, decisions);
    assert!(found.passed(), "{spec}: {found:?}");
    let concordance = found.concordance.as_ref().unwrap();
    assert!(concordance.holds(1e-5), "{spec}: {concordance:?}");
    let compared = concordance.log_probs.iter().all(|(_, apart)| apart.is_some());
    assert!(concordance.questions >= 12 * u64::from(decisions) && compared, "{spec}: {concordance:?}");
    println!("{spec}: {concordance:?}, median {} ms", found.median_ms);
}

fn agrees(spec: &str, decisions: u32) {
    agrees_in(spec, &by_formula(), decisions);
}

fn agrees_in_training(spec: &str, decisions: u32) {
    agrees_in(spec, &training_by_formula(), decisions);
}

#[test]
#[cfg_attr(not(python), ignore = "needs python3")]
fn a_process_decides_as_the_formulas_do() {
    // Python takes its time.
    agrees(&python(""), 25);
    agrees_in_training(&python_of::<Training>(""), 25);
}

#[test]
#[cfg(feature = "onnx")]
fn an_onnx_file_decides_as_the_formulas_do() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("small.onnx");
    std::fs::write(&path, super::onnx_file::small(super::onnx_file::Flaw::None)).unwrap();
    agrees(&format!("onnx:{}", path.display()), 250);
    assert!(sched_distill::foreign::OnnxNetwork::load(&path, Dag::contract()).unwrap().is_general());
    std::fs::write(&path, super::onnx_file::small_training()).unwrap();
    agrees_in_training(&format!("onnx:{}", path.display()), 150);
    assert!(sched_distill::foreign::OnnxNetwork::load(&path, Training::contract()).unwrap().is_general());
}

/// tract cannot plan this graph for all sizes at once.
#[test]
#[cfg(feature = "onnx")]
fn an_onnx_file_may_be_planned_size_by_size() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("one-hot.onnx");
    std::fs::write(&path, super::onnx_file::small(super::onnx_file::Flaw::OneHot)).unwrap();
    assert!(!sched_distill::foreign::OnnxNetwork::load(&path, Dag::contract()).unwrap().is_general());
    agrees(&format!("onnx:{}", path.display()), 25);
}

#[test]
#[cfg(feature = "torch")]
fn a_torchscript_file_decides_as_the_formulas_do() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("small.pt");
    super::torchscript_file::save(&path, super::torchscript_file::Flaw::None);
    agrees(&format!("torchscript:{}", path.display()), 250);
    super::torchscript_file::save_training(&path);
    agrees_in_training(&format!("torchscript:{}", path.display()), 150);
}

#[test]
#[cfg(all(feature = "onnx", feature = "torch"))]
#[cfg_attr(not(python), ignore = "needs python3")]
fn the_three_kinds_decide_alike_when_they_sample() {
    use super::{onnx_file, torchscript_file};
    fn alike<S: Tested>(onnx: Vec<u8>, save: impl Fn(&std::path::Path)) {
        let dir = tempfile::tempdir().unwrap();
        let (onnx_path, torch_path) = (dir.path().join("small.onnx"), dir.path().join("small.pt"));
        std::fs::write(&onnx_path, onnx).unwrap();
        save(&torch_path);
        let specs = [
            python_of::<S>(""),
            format!("onnx:{}", onnx_path.display()),
            format!("torchscript:{}", torch_path.display()),
        ];
        let [script, onnx, torch] = specs.map(|spec| open::<S>(&format!("{spec},mode=sample")).unwrap());
        for (a, b) in [(&script, &onnx), (&onnx, &torch)] {
            let found = check(&**a, &**b, 20);
            assert!(found.passed() && found.concordance.as_ref().unwrap().holds(1e-5), "{found:?}");
        }
    }
    let none = torchscript_file::Flaw::None;
    alike::<Dag>(onnx_file::small(onnx_file::Flaw::None), |path| torchscript_file::save(path, none));
    alike::<Training>(onnx_file::small_training(), torchscript_file::save_training);
}

#[test]
fn another_network_is_told_apart() {
    let mut weights = network::Weights::new();
    weights.stage[0] += 0.5;
    let dag = check(&ForeignPolicy::new(Box::new(network::Small(weights)), false), &by_formula(), 50);
    let mut weights = network_training::Weights::new();
    weights.task.reverse();
    let other = ForeignPolicy::new(Box::new(network_training::Small(weights)), false);
    let training = check(&other, &training_by_formula(), 50);
    for found in [dag, training] {
        let concordance = found.concordance.as_ref().unwrap();
        assert!(found.passed() && !concordance.holds(1e-5) && concordance.differing > 10, "{concordance:?}");
        assert!(concordance.first.as_ref().unwrap().contains("most probable"), "{concordance:?}");
    }
}

#[test]
fn rules_keep_the_contract_too() {
    fn keeps<S: Tested>(spec: &str) {
        let found = check(&*open::<S>(spec).unwrap(), &*open::<S>(spec).unwrap(), 120);
        assert!(found.passed() && found.concordance.as_ref().unwrap().holds(0.0), "{spec}: {found:?}");
    }
    for spec in ["fifo", "fair", "random", "sjf-cp,temperature=0.5,mode=sample", "srpt-fair,temperature=0.3", "decima"]
    {
        keeps::<Dag>(spec);
    }
    for spec in ["drf", "fifo", "srtf", "srtf-time", "tetris", "optimus", "dl2", "dl2,mode=sample"] {
        keeps::<Training>(spec);
    }
}
