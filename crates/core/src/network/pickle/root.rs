//! Where in a pickle the state dict is.

use super::{Id, Machine, Name, Value, View};

/// Under what programs keep a state dict, beside an optimiser's state, an epoch and the like.
const KEPT_UNDER: [&str; 7] =
    ["state_dict", "model_state_dict", "model", "policy_state_dict", "policy", "actor_state_dict", "actor"];

/// Most dicts in each other: a dict may be said to be in itself.
const MAX_DEPTH: usize = 4;

/// A state dict as a file holds it.
pub(in crate::network) struct StateDict<'a> {
    /// Its tensors, in its order.
    pub(in crate::network) items: Vec<(&'a str, View<'a>)>,
    /// What stands beside it, or beside what it is in.
    pub(in crate::network) beside: Vec<&'a str>,
}

impl<'a> Machine<'a> {
    /// The state dict in what the program leaves: that itself, or what it keeps under a name of [`KEPT_UNDER`].
    pub(super) fn find(&self, root: Id) -> Result<StateDict<'a>, String> {
        let (mut dict, mut beside) = (root, Vec::new());
        for _ in 0..MAX_DEPTH {
            let items = match &self.values[dict] {
                Value::Dict(items) => items,
                Value::Object(name) => return Err(refused(*name)),
                _ => return Err("the pickle holds something else than a state dict".to_owned()),
            };
            let kept = |&&(key, value): &&(Id, Id)| {
                let known = self.text(key).is_some_and(|key| KEPT_UNDER.contains(&key));
                known && matches!(self.values[value], Value::Dict(_) | Value::Object(_))
            };
            let kept: Vec<&(Id, Id)> = items.iter().filter(kept).collect();
            match kept[..] {
                [] => return Ok(StateDict { items: self.tensors(items)?, beside }),
                [&(under, found)] => {
                    beside.extend(items.iter().filter(|(key, _)| *key != under).filter_map(|&(key, _)| self.text(key)));
                    dict = found;
                }
                [..] => {
                    let names: Vec<&str> = kept.iter().filter_map(|(key, _)| self.text(*key)).collect();
                    return Err(format!(
                        "holds several models, `{}`; save one's `state_dict()` alone",
                        names.join("`, `")
                    ));
                }
            }
        }
        Err(format!("a state dict within {MAX_DEPTH} others or more"))
    }

    /// The items of a state dict.
    fn tensors(&self, items: &[(Id, Id)]) -> Result<Vec<(&'a str, View<'a>)>, String> {
        let tensor = |&(key, value): &(Id, Id)| {
            let name = self.text(key).ok_or("a key of the state dict is not a string")?;
            match &self.values[value] {
                Value::Tensor(view) => Ok((name, view.clone())),
                Value::Object(object) => Err(format!("entry `{name}` is {}", refused(*object))),
                _ => Err(format!("entry `{name}` is not a tensor; save the model's `state_dict()` alone")),
            }
        };
        items.iter().map(tensor).collect()
    }
}

/// What is said of an object where tensors should be.
fn refused(name: Name<'_>) -> String {
    let advice = match name.0.starts_with("__torch__") {
        true => "this is a TorchScript file, which `torchscript:` runs",
        false => "nothing of a file is run: save the model's `state_dict()`",
    };
    format!("the Python object `{name}`, which is refused; {advice}")
}
