//! Model files that are none, or not of the contract.

#[cfg(any(feature = "onnx", feature = "torch"))]
use super::open;
use super::refused;
#[cfg(any(feature = "onnx", feature = "torch"))]
use sched_distill::dag::Dag;

#[test]
fn a_file_is_needed() {
    refused("onnx", &["needs a file: onnx:FILE"]);
    refused("torchscript", &["needs a file: torchscript:FILE"]);
}

#[test]
#[cfg(not(feature = "onnx"))]
fn a_build_without_onnx_says_how_to_get_it() {
    refused("onnx:model.onnx", &["onnx:model.onnx: this build", "--features onnx"]);
}

#[test]
#[cfg(not(feature = "torch"))]
fn a_build_without_torch_says_how_to_get_it() {
    refused("torchscript:model.pt", &["torchscript:model.pt: this build", "--features torch", "setup-libtorch.sh"]);
}

#[test]
#[cfg(feature = "onnx")]
fn onnx_files_that_do_not_fit_are_refused() {
    use super::onnx_file::{Flaw, small};
    let dir = tempfile::tempdir().unwrap();
    let spec = |flaw: Flaw| {
        let path = dir.path().join(format!("{flaw:?}.onnx"));
        std::fs::write(&path, small(flaw)).unwrap();
        format!("onnx:{}", path.display())
    };
    refused(
        &spec(Flaw::InputName),
        &["unknown input `features`; there are nodes, edges, job_ptr", "foreign-policies.md"],
    );
    refused(&spec(Flaw::InputType), &["input `nodes` is I64, it must be float32"]);
    refused(&spec(Flaw::OutputName), &["no output `amount_scores`; its outputs are stage_scores, executor_scores"]);
    refused(&spec(Flaw::OutputShape), &["stage_scores of shape (", ", 1)", "one per node"]);
    refused(&spec(Flaw::Operator), &["cannot load the model", "Tangens"]);

    super::refused_in::<sched_distill::training::Training>(
        &spec(Flaw::None),
        &["unknown input `nodes`; there are jobs, job_type, mask, cluster"],
    );

    let garbage = dir.path().join("garbage.onnx");
    std::fs::write(&garbage, b"no model at all").unwrap();
    refused(&format!("onnx:{}", garbage.display()), &["cannot load the model"]);
    let missing = dir.path().join("missing.onnx");
    refused(&format!("onnx:{}", missing.display()), &["cannot read the file"]);
    // A file may be cut off anywhere.
    let whole = small(Flaw::None);
    for length in (0..whole.len()).step_by(97) {
        std::fs::write(&garbage, &whole[..length]).unwrap();
        assert!(open::<Dag>(&format!("onnx:{}", garbage.display())).is_err(), "{length} of {} bytes", whole.len());
    }
}

#[test]
#[cfg(feature = "torch")]
fn torchscript_files_that_do_not_fit_are_refused() {
    use super::torchscript_file::{Flaw, save};
    let dir = tempfile::tempdir().unwrap();
    let spec = |flaw: Flaw| {
        let path = dir.path().join(format!("{flaw:?}.pt"));
        save(&path, flaw);
        format!("torchscript:{}", path.display())
    };
    refused(&spec(Flaw::OneOutput), &["`forward` returned one tensor", "(stage_scores, amount_scores)"]);
    refused(&spec(Flaw::OutputShape), &["stage_scores of shape (", ", 1)", "one per node"]);
    refused(&spec(Flaw::Columns), &["the model failed on a question with", "nodes", "mat1 and mat2"]);

    let garbage = dir.path().join("garbage.pt");
    std::fs::write(&garbage, b"no model at all").unwrap();
    refused(&format!("torchscript:{}", garbage.display()), &["cannot load the model", "torch.jit.save"]);
    refused("torchscript:missing.pt", &["cannot load the model"]);
    assert!(open::<Dag>(&spec(Flaw::None)).unwrap().files()[0].ends_with("None.pt"));
}
