//! A sum of any terms as ONNX operators: every factor of every term at once, in 64 bits.
//!
//! A term has one or two factors. For each of the two places the features are gathered, one column per term; `Where` chooses among
//! the shapes, so that a missing or infinite value goes the way that [`Factor::of`](crate::model::Factor::of) has it and no other
//! shape's value is mixed in. Products, coefficients and the sum follow.

use super::protobuf::{Message, int};
use crate::model::{Additive, Factor, Shape};

const FLOAT: i64 = 1;
const INT64: i64 = 7;
const BOOL: i64 = 9;
const DOUBLE: i64 = 11;

/// Operators and constants under construction.
#[derive(Default)]
struct Graph {
    nodes: Vec<Message>,
    constants: Vec<Message>,
}

impl Graph {
    /// Adds an operator of the standard domain; its output is called as given.
    fn node(&mut self, kind: &str, inputs: &[&str], output: &str, attributes: impl IntoIterator<Item = Message>) {
        let node = inputs.iter().fold(Message::default(), |node, input| node.bytes(1, input));
        let node = node.bytes(2, output).bytes(3, output).bytes(4, kind);
        self.nodes.push(attributes.into_iter().fold(node, |node, a| node.bytes(5, a)));
    }

    fn constant(&mut self, name: &str, kind: i64, dims: &[usize], bytes: Vec<u8>) {
        let tensor = dims.iter().fold(Message::default(), |t, &dim| t.int(1, dim as i64));
        self.constants.push(tensor.int(2, kind).bytes(8, name).bytes(9, bytes));
    }

    fn doubles(&mut self, name: &str, dims: &[usize], values: impl IntoIterator<Item = f64>) {
        self.constant(name, DOUBLE, dims, values.into_iter().flat_map(f64::to_le_bytes).collect());
    }

    /// The factors at one place of all terms, as `factor0` or `factor1`; terms that have none there get 1.
    fn factors(&mut self, place: usize, all: &[Option<Factor>]) {
        let name = |what: &str| format!("{what}{place}");
        let terms = [all.len()];
        let columns = all.iter().flat_map(|f| i64::from(f.map_or(0, |f| f.feature)).to_le_bytes()).collect();
        self.constant(&name("columns"), INT64, &terms, columns);
        self.doubles(&name("threshold"), &terms, all.iter().map(|f| f.and_then(|f| f.threshold).unwrap_or(0.0).into()));
        self.node("Gather", &["x64", &name("columns")], &name("value"), [int("axis", 1)]);
        self.node("Greater", &[&name("value"), &name("threshold")], &name("is_above"), []);
        self.node("Cast", &[&name("is_above")], &name("above"), [int("to", DOUBLE)]);
        // What is not above 0, also if it is no number, counts as 0.
        self.node("Sub", &[&name("value"), &name("threshold")], &name("over"), []);
        self.node("Where", &[&name("is_above"), &name("over"), "zero"], &name("excess"), []);
        self.node("Greater", &[&name("value"), "zero"], &name("is_positive"), []);
        self.node("Where", &[&name("is_positive"), &name("value"), "zero"], &name("positive"), []);
        self.node("Add", &[&name("positive"), "one"], &name("one_more"), []);
        self.node("Log", &[&name("one_more")], &name("log"), []);
        let mut rest = "one".to_owned();
        let shapes =
            [(Shape::Excess, "excess"), (Shape::Above, "above"), (Shape::Log, "log"), (Shape::Linear, "value")];
        for (i, (shape, value)) in shapes.into_iter().enumerate() {
            let (mask, output) = (name(&format!("is_{value}_shape")), name(&format!("chosen{i}_")));
            let is = all.iter().map(|f| u8::from(f.is_some_and(|f| f.shape == shape))).collect();
            self.constant(&mask, BOOL, &terms, is);
            self.node("Where", &[&mask, &name(value), &rest], &output, []);
            rest = output;
        }
        self.node("Identity", &[&rest], &name("factor"), []);
    }
}

/// The operators from `x` to `score`, and their constants.
pub(super) fn operators(additive: &Additive) -> (Vec<Message>, Vec<Message>) {
    let mut graph = Graph::default();
    graph.doubles("zero", &[], [0.0]);
    graph.doubles("one", &[], [1.0]);
    graph.node("Cast", &["x"], "x64", [int("to", DOUBLE)]);
    for place in 0..2 {
        let factors: Vec<Option<Factor>> = additive.terms.iter().map(|t| t.factors.get(place).copied()).collect();
        graph.factors(place, &factors);
    }
    graph.node("Mul", &["factor0", "factor1"], "product", []);
    graph.doubles("coefficient", &[additive.terms.len(), 1], additive.terms.iter().map(|t| t.coefficient));
    graph.node("MatMul", &["product", "coefficient"], "sum", []);
    graph.doubles("intercept", &[], [additive.intercept]);
    graph.node("Add", &["sum", "intercept"], "score64", []);
    graph.node("Cast", &["score64"], "score", [int("to", FLOAT)]);
    (graph.nodes, graph.constants)
}
