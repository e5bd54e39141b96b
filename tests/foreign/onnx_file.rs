//! The small network as an ONNX file, written field by field (`onnx.proto3`).

use super::{
    network::{WIDTH, Weights, columns},
    network_training::{TYPES, Weights as TrainingWeights},
    protobuf::Message,
};
use sched_distill::{
    contract::{Contract, Dtype, Input, Tabular as _},
    dag::Dag,
    training::Training,
};

pub(super) const FLOAT: i64 = 1;
const INT64: i64 = 7;
const BOOL: i64 = 9;

/// What may be wrong with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flaw {
    None,
    /// The nodes have another name.
    InputName,
    /// The nodes are 64-bit integers.
    InputType,
    /// The scores of amounts have another name.
    OutputName,
    /// The scores of stages are a column.
    OutputShape,
    /// An operator that nobody knows.
    Operator,
    /// None, but the jobs' terms come to the nodes by a product with a one-hot matrix, which tract makes for given
    /// sizes only.
    OneHot,
}

pub(super) fn node(kind: &str, inputs: &[&str], output: &str) -> Message {
    let node = inputs.iter().fold(Message::default(), |node, input| node.bytes(1, input));
    node.bytes(2, output).bytes(3, output).bytes(4, kind)
}

fn with_int(node: Message, name: &str, value: i64) -> Message {
    node.bytes(5, Message::default().bytes(1, name).int(20, 2).int(3, value))
}

pub(super) fn floats(name: &str, shape: &[usize], values: &[f32]) -> Message {
    let dims: Vec<i64> = shape.iter().map(|&d| d as i64).collect();
    Message::default().ints(1, &dims).int(2, FLOAT).floats(4, values).bytes(8, name)
}

pub(super) fn ints(name: &str, shape: &[usize], values: &[i64]) -> Message {
    let dims: Vec<i64> = shape.iter().map(|&d| d as i64).collect();
    Message::default().ints(1, &dims).int(2, INT64).ints(7, values).bytes(8, name)
}

/// A named input or output; sizes that differ between questions have names.
pub(super) fn value(name: &str, dtype: i64, dims: &[&str]) -> Message {
    let shape = dims.iter().fold(Message::default(), |shape, dim| {
        let dim = match dim.parse::<i64>() {
            Ok(size) => Message::default().int(1, size),
            Err(_) => Message::default().bytes(2, dim),
        };
        shape.bytes(1, dim)
    });
    Message::default()
        .bytes(1, name)
        .bytes(2, Message::default().bytes(1, Message::default().int(1, dtype).bytes(2, shape)))
}

pub(super) fn input(contract: &Contract, input: &Input, flaw: Flaw) -> Message {
    let dtype = match input.dtype {
        Dtype::I64 => INT64,
        Dtype::Bool => BOOL,
        Dtype::F32 if input.name == "nodes" && flaw == Flaw::InputType => INT64,
        Dtype::F32 => FLOAT,
    };
    let shape = contract.shape_of_input(input);
    let dims: Vec<&str> = shape.trim_matches(['(', ')']).split(", ").collect();
    // A sum is no name of a size.
    let dims: Vec<&str> = dims.into_iter().map(|d| if d.contains('+') { "ends" } else { d }).collect();
    value(if input.name == "nodes" && flaw == Flaw::InputName { "features" } else { input.name }, dtype, &dims)
}

/// A model with these operators, constants, inputs and outputs.
pub(super) fn model(
    operators: Vec<Message>,
    constants: Vec<Message>,
    inputs: Vec<Message>,
    outputs: Vec<Message>,
) -> Vec<u8> {
    let add = |graph: Message, field, parts: Vec<Message>| {
        parts.into_iter().fold(graph, |graph, part| graph.bytes(field, part))
    };
    let graph = add(add(Message::default(), 1, operators).bytes(2, "small"), 5, constants);
    let graph = add(add(graph, 11, inputs), 12, outputs);
    let opset = Message::default().bytes(1, "").int(2, 16);
    Message::default().int(1, 8).bytes(2, "test").bytes(7, graph).bytes(8, opset).into_bytes()
}

fn times(values: &[f32]) -> Vec<f32> {
    values.iter().map(|v| 8.0 * v).collect()
}

/// The network for the scenario `training`.
pub(super) fn small_training() -> Vec<u8> {
    let w = TrainingWeights::new();
    let operators = vec![
        node("Abs", &["jobs"], "jobs_abs"),
        node("Add", &["jobs_abs", "one"], "jobs_1"),
        node("Log", &["jobs_1"], "jobs_log"),
        node("MatMul", &["jobs_log", "job"], "jobs_product"),
        node("Add", &["jobs_product", "bias"], "jobs_bias"),
        node("Gather", &["kind", "job_type"], "of_type"),
        node("Add", &["jobs_bias", "of_type"], "jobs_sum"),
        node("Tanh", &["jobs_sum"], "h"),
        with_int(node("ReduceSum", &["h", "axis_0"], "total"), "keepdims", 1),
        node("Abs", &["cluster"], "cluster_abs"),
        node("Add", &["cluster_abs", "one"], "cluster_1"),
        node("Log", &["cluster_1"], "cluster_log"),
        node("MatMul", &["cluster_log", "cluster_weights"], "cluster_product"),
        node("MatMul", &["total", "pool"], "pooled"),
        node("Add", &["pooled", "cluster_product"], "cluster_sum"),
        node("Tanh", &["cluster_sum"], "c"),
        node("MatMul", &["h", "own"], "own_product"),
        node("Add", &["own_product", "c"], "z_sum"),
        node("Tanh", &["z_sum"], "z"),
        node("MatMul", &["z", "task"], "task_scores"),
        node("MatMul", &["c", "close"], "close_row"),
        node("Squeeze", &["close_row", "axis_0"], "close_score"),
    ];
    let constants = vec![
        floats("one", &[], &[1.0]),
        ints("axis_0", &[1], &[0]),
        floats("job", &[columns::<Training>("jobs"), WIDTH], &w.job),
        floats("bias", &[WIDTH], &w.bias),
        floats("kind", &[TYPES, WIDTH], &w.kind),
        floats("pool", &[WIDTH, WIDTH], &w.pool),
        floats("cluster_weights", &[columns::<Training>("cluster"), WIDTH], &w.cluster),
        floats("own", &[WIDTH, WIDTH], &w.own),
        floats("task", &[WIDTH, 3], &times(&w.task)),
        floats("close", &[WIDTH, 1], &times(&w.close)),
    ];
    let contract = Training::contract();
    let used = contract.inputs.iter().filter(|input| input.name != "mask");
    let inputs = used.map(|info| input(contract, info, Flaw::None)).collect();
    let outputs = vec![value("task_scores", FLOAT, &["jobs", "3"]), value("close_score", FLOAT, &["1"])];
    model(operators, constants, inputs, outputs)
}

/// The file. As exporters do, it leaves out inputs that the network does not use.
pub(super) fn small(flaw: Flaw) -> Vec<u8> {
    let w = Weights::new();
    let (nodes, jobs) = (columns::<Dag>("nodes"), columns::<Dag>("jobs"));
    let nodes_input = if flaw == Flaw::InputName { "features" } else { "nodes" };
    let scatter = node("ScatterND", &["zeros", "parents_column", "of_children"], "below");
    let scatter = scatter.bytes(5, Message::default().bytes(1, "reduction").int(20, 3).bytes(4, "add"));
    let tanh = if flaw == Flaw::Operator { "Tangens" } else { "Tanh" };
    let stage_output = if flaw == Flaw::OutputShape { "stage_column" } else { "stage_scores" };
    let amount_output = if flaw == Flaw::OutputName { "executor_scores" } else { "amount_scores" };
    let mut operators = vec![
        node("Add", &[nodes_input, "one"], "nodes_1"),
        node("Log", &["nodes_1"], "nodes_log"),
        node("MatMul", &["nodes_log", "node"], "nodes_product"),
        node("Add", &["nodes_product", "bias"], "nodes_sum"),
        node(tanh, &["nodes_sum"], "h"),
        node("Gather", &["edges", "first"], "parents"),
        node("Gather", &["edges", "second"], "children"),
        node("Gather", &["h", "children"], "of_children"),
        node("Mul", &["h", "zero"], "zeros"),
        node("Unsqueeze", &["parents", "axis_1"], "parents_column"),
        scatter,
        node("Add", &["jobs", "one"], "jobs_1"),
        node("Log", &["jobs_1"], "jobs_log"),
        node("MatMul", &["jobs_log", "job"], "jobs_product"),
        node("Tanh", &["jobs_product"], "g"),
        node("Gather", &["g", "node_job"], "job_of_node"),
        node("MatMul", &["h", "own"], "z_own"),
        node("MatMul", &["below", "child"], "z_child"),
        node("Add", &["z_own", "z_child"], "z_nodes"),
        node("Add", &["z_nodes", "job_of_node"], "z_sum"),
        node("Tanh", &["z_sum"], "z"),
        node("MatMul", &["z", "stage"], "stage_column"),
        node("Squeeze", &["stage_column", "axis_1"], "stage_scores"),
        with_int(node("Gather", &["cluster", "first"], "executors"), "axis", 0),
        node("Div", &["amounts", "executors"], "shares"),
        node("Unsqueeze", &["shares", "axes_0_2"], "shares_cube"),
        node("Mul", &["shares_cube", "amount"], "amount_terms"),
        node("Unsqueeze", &["g", "axis_1"], "g_cube"),
        node("Add", &["amount_terms", "g_cube"], "t_sum"),
        node("Tanh", &["t_sum"], "t"),
        node("MatMul", &["t", "score"], "amount_cube"),
        node("Squeeze", &["amount_cube", "axis_2"], amount_output),
    ];
    if flaw == Flaw::OutputShape {
        // The column itself is the output.
        operators.retain(|node| !node.as_ref().windows(12).any(|w| w == b"stage_scores"));
        operators.push(node("Identity", &[stage_output], "stage_scores"));
    }
    if flaw == Flaw::OneHot {
        let gather = operators.iter().position(|node| node.as_ref().windows(11).any(|w| w == b"job_of_node")).unwrap();
        let one_hot = [
            node("Shape", &["jobs"], "jobs_shape"),
            node("Gather", &["jobs_shape", "first"], "num_jobs"),
            with_int(node("OneHot", &["node_job", "num_jobs", "off_on"], "one_hot"), "axis", -1),
            node("MatMul", &["one_hot", "g"], "job_of_node"),
        ];
        operators.splice(gather..=gather, one_hot);
    }
    let constants = vec![
        floats("one", &[], &[1.0]),
        floats("zero", &[], &[0.0]),
        ints("first", &[], &[0]),
        ints("second", &[], &[1]),
        ints("axis_1", &[1], &[1]),
        ints("axis_2", &[1], &[2]),
        ints("axes_0_2", &[2], &[0, 2]),
        floats("off_on", &[2], &[0.0, 1.0]),
        floats("node", &[nodes, WIDTH], &w.node),
        floats("bias", &[WIDTH], &w.bias),
        floats("job", &[jobs, WIDTH], &w.job),
        floats("own", &[WIDTH, WIDTH], &w.own),
        floats("child", &[WIDTH, WIDTH], &w.child),
        floats("stage", &[WIDTH, 1], &times(&w.stage)),
        floats("amount", &[WIDTH], &times(&w.amount)),
        floats("score", &[WIDTH, 1], &times(&w.score)),
    ];
    let contract = Dag::contract();
    let used = contract.inputs.iter().filter(|input| !["job_ptr", "mask"].contains(&input.name));
    let inputs = used.map(|info| input(contract, info, flaw)).collect();
    let outputs = vec![value("stage_scores", FLOAT, &["nodes"]), value(amount_output, FLOAT, &["jobs", "offered"])];
    model(operators, constants, inputs, outputs)
}
