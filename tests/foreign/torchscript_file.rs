//! The small network as a TorchScript file: the archive that `torch.jit.save` would write, with the module's source in
//! it.

use super::{
    network::{WIDTH, Weights},
    network_training::Weights as TrainingWeights,
};
use sched_distill::{
    contract::{Contract, Tabular as _},
    dag::Dag,
    training::Training,
};
use std::path::Path;

/// What may be wrong with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flaw {
    None,
    /// One tensor instead of two.
    OneOutput,
    /// The scores of stages are a column.
    OutputShape,
    /// The network was made for other columns.
    Columns,
}

/// A matrix as a nested list, whose numbers are exact in decimals.
pub(super) fn list(values: &[f32], columns: usize, factor: f32) -> String {
    let row = |row: &[f32]| row.iter().map(|v| format!("{:?}", v * factor)).collect::<Vec<_>>().join(", ");
    let rows: Vec<String> = values.chunks(columns).map(|values| format!("[{}]", row(values))).collect();
    format!("torch.tensor([{}])", rows.join(", "))
}

/// The module's source, as TorchScript prints it.
fn source(flaw: Flaw) -> String {
    let w = Weights::new();
    let node = if flaw == Flaw::Columns { &w.own } else { &w.node };
    let (result, type_) = match flaw {
        Flaw::OneOutput => ("amount_scores", "Tensor"),
        Flaw::OutputShape => ("(stage_column, amount_scores)", "Tuple[Tensor, Tensor]"),
        Flaw::None | Flaw::Columns => ("(stage_scores, amount_scores)", "Tuple[Tensor, Tensor]"),
    };
    let lines = [
        format!(
            "h = torch.tanh(torch.add(torch.matmul(torch.log1p(nodes), {}), {}))",
            list(node, WIDTH, 1.0),
            list(&w.bias, WIDTH, 1.0)
        ),
        "parents = torch.select(edges, 0, 0)".to_owned(),
        "children = torch.select(edges, 0, 1)".to_owned(),
        "below = torch.index_add(torch.zeros_like(h), 0, parents, torch.index_select(h, 0, children))".to_owned(),
        format!("g = torch.tanh(torch.matmul(torch.log1p(jobs), {}))", list(&w.job, WIDTH, 1.0)),
        format!("own = torch.matmul(h, {})", list(&w.own, WIDTH, 1.0)),
        format!("child = torch.matmul(below, {})", list(&w.child, WIDTH, 1.0)),
        "z = torch.tanh(torch.add(torch.add(own, child), torch.index_select(g, 0, node_job)))".to_owned(),
        format!("stage_column = torch.matmul(z, {})", list(&w.stage, 1, 8.0)),
        "stage_scores = torch.squeeze(stage_column, 1)".to_owned(),
        "shares = torch.unsqueeze(torch.unsqueeze(torch.div(amounts, torch.select(cluster, 0, 0)), 0), 2)".to_owned(),
        format!("terms = torch.mul(shares, {})", list(&w.amount, WIDTH, 8.0)),
        "t = torch.tanh(torch.add(terms, torch.unsqueeze(g, 1)))".to_owned(),
        format!("amount_scores = torch.squeeze(torch.matmul(t, {}), 2)", list(&w.score, 1, 8.0)),
        format!("return {result}"),
    ];
    module(Dag::contract(), type_, &lines)
}

/// What an input is called in Python, which keeps a word for itself.
pub(super) fn argument(input: &str) -> &str {
    if input == "class" { "class_" } else { input }
}

/// A module whose `forward` takes the inputs of a contract.
pub(super) fn module(contract: &Contract, type_: &str, lines: &[String]) -> String {
    let arguments: Vec<String> =
        contract.inputs.iter().map(|input| format!("    {}: Tensor", argument(input.name))).collect();
    format!(
        "class Small(Module):\n  __parameters__ = []\n  __buffers__ = []\n  training : bool\n  def forward(self: \
         __torch__.Small,\n{}) -> {type_}:\n    {}\n",
        arguments.join(",\n"),
        lines.join("\n    ")
    )
}

/// The source of the network for the scenario `training`.
fn source_training() -> String {
    let w = TrainingWeights::new();
    let lines = [
        format!("product = torch.matmul(torch.log1p(torch.abs(jobs)), {})", list(&w.job, WIDTH, 1.0)),
        format!("of_type = torch.index_select({}, 0, job_type)", list(&w.kind, WIDTH, 1.0)),
        format!("h = torch.tanh(torch.add(torch.add(product, {}), of_type))", list(&w.bias, WIDTH, 1.0)),
        format!("pooled = torch.matmul(torch.sum(h, [0], True), {})", list(&w.pool, WIDTH, 1.0)),
        format!("numbers = torch.matmul(torch.log1p(torch.abs(cluster)), {})", list(&w.cluster, WIDTH, 1.0)),
        "c = torch.tanh(torch.add(pooled, numbers))".to_owned(),
        format!("z = torch.tanh(torch.add(torch.matmul(h, {}), c))", list(&w.own, WIDTH, 1.0)),
        format!("task_scores = torch.matmul(z, {})", list(&w.task, 3, 8.0)),
        format!("close_score = torch.squeeze(torch.matmul(c, {}), 0)", list(&w.close, 1, 8.0)),
        "return (task_scores, close_score)".to_owned(),
    ];
    module(Training::contract(), "Tuple[Tensor, Tensor]", &lines)
}

/// A stored zip archive.
fn zip(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in entries {
        let mut crc = flate2::Crc::new();
        crc.update(content);
        let (at, size) = (file.len() as u32, (content.len() as u32).to_le_bytes());
        // Version, flags, method, time, date; checksum, sizes, length of the name.
        let header = [&[20, 0, 0, 0, 0, 0, 0, 0, 0, 0][..], &crc.sum().to_le_bytes(), &size, &size].concat();
        let header = [&header[..], &(name.len() as u16).to_le_bytes()].concat();
        file.extend([b"PK\x03\x04", &header[..], &[0; 2], name.as_bytes(), content].concat());
        directory.extend([b"PK\x01\x02\x14\0", &header[..], &[0; 12], &at.to_le_bytes(), name.as_bytes()].concat());
    }
    let at = (file.len() as u32).to_le_bytes();
    let (count, length) = ((entries.len() as u16).to_le_bytes(), (directory.len() as u32).to_le_bytes());
    file.extend([&directory[..], b"PK\x05\x06\0\0\0\0", &count, &count, &length, &at, &[0; 2]].concat());
    file
}

/// Writes the file.
pub(super) fn save(path: &Path, flaw: Flaw) {
    write(path, &source(flaw));
}

/// Writes the file of the network for the scenario `training`.
pub(super) fn save_training(path: &Path) {
    write(path, &source_training());
}

pub(super) fn write(path: &Path, code: &str) {
    // Pickles: an object of the class with `training` false; an empty tuple.
    let object = b"\x80\x02c__torch__\nSmall\n)\x81}(X\x08\0\0\0training\x89ub.";
    let entries: [(&str, &[u8]); 4] = [
        ("small/data.pkl", object),
        ("small/code/__torch__.py", code.as_bytes()),
        ("small/constants.pkl", b"\x80\x02)."),
        ("small/version", b"3\n"),
    ];
    std::fs::write(path, zip(&entries)).unwrap();
}
