//! Names of tensors without what programs put around them.

use super::{NeuralError, Tensors};
use crate::text::one_line;
use std::collections::{BTreeMap, BTreeSet};

/// What PyTorch puts into names wherever a module is wrapped: for several devices, and for compilation.
const WRAPPED: [&str; 2] = ["module", "_orig_mod"];
/// Prefixes of what decides, where a file holds several networks of the same form.
const DECIDES: [&str; 3] = ["actor", "policy", "model"];

impl Tensors {
    /// The tensors of a network by its own names. `blocks` are beginnings of these names. What stands before them in the file, such
    /// as `module.` or `actor.`, is dropped, and so are the tensors that do not stand under the same prefix; where nothing stands before
    /// them, none are. [`Tensors::notes`] tells of both.
    ///
    /// # Errors
    ///
    /// [`NeuralError::Format`] if the file holds several such networks or a name twice.
    pub fn unwrapped(&self, blocks: &[&str], origin: &str) -> Result<Self, NeuralError> {
        let fail = |reason: String| NeuralError::Format { origin: origin.to_owned(), reason };
        let mut names = BTreeMap::new();
        for (name, _) in self.iter() {
            if let Some(other) = names.insert(bare(name), name) {
                return Err(fail(format!("tensors `{other}` and `{name}` have the same name but for what wraps them")));
            }
        }
        let prefixes: BTreeSet<&str> = names.keys().filter_map(|name| prefix(name, blocks)).collect();
        let deciding: Vec<&str> = prefixes.iter().copied().filter(|prefix| decides(prefix)).collect();
        let prefix = match (prefixes.len(), &deciding[..]) {
            (0, _) => "",
            (1, _) => prefixes.first().copied().unwrap_or_default(),
            (_, [only]) => only,
            _ => {
                let found: Vec<String> = prefixes.iter().map(|prefix| format!("`{prefix}`")).collect();
                return Err(fail(format!("holds several networks, under {}; save one alone", found.join(", "))));
            }
        };
        let (mut entries, mut notes, mut others) = (BTreeMap::new(), self.notes.clone(), Vec::new());
        for (bare, name) in &names {
            match (bare.strip_prefix(prefix), self.get(name)) {
                (Some(own), Some(tensor)) => drop(entries.insert(own.to_owned(), tensor.clone())),
                _ => others.push(*name),
            }
        }
        let own = |(bare, name): (&String, &&str)| Some((bare.strip_prefix(prefix)?.to_owned(), (*name).to_owned()));
        if let Some((own, name)) = names.iter().filter_map(own).find(|(own, name)| own != name) {
            notes.push(one_line(&format!("names without what wraps them: `{name}` is `{own}`")).into_owned());
        }
        if let [first, ..] = others[..] {
            let left_out = format!("left out what is not under `{prefix}`: {} tensors, `{first}` first", others.len());
            notes.push(one_line(&left_out).into_owned());
        }
        Ok(Self { entries, texts: self.texts.clone(), sha256: self.sha256.clone(), notes })
    }
}

/// A name without the parts that say only how its module was run.
fn bare(name: &str) -> String {
    let parts: Vec<&str> = name.split('.').filter(|part| !WRAPPED.contains(part)).collect();
    parts.join(".")
}

/// What stands before the network's own name: nothing, or parts that end in a dot.
fn prefix<'a>(name: &'a str, blocks: &[&str]) -> Option<&'a str> {
    let before = blocks.iter().filter_map(|block| Some(&name[..name.find(block)?]));
    before.filter(|before| before.is_empty() || before.ends_with('.')).min_by_key(|before| before.len())
}

fn decides(prefix: &str) -> bool {
    prefix.split_terminator('.').all(|part| DECIDES.contains(&part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Tensor;

    fn unwrapped(names: &[&str]) -> Result<(Vec<String>, Vec<String>), String> {
        let tensor = || Tensor { shape: vec![1], data: vec![0.5] };
        let entries = names.iter().map(|name| ((*name).to_owned(), tensor())).collect();
        let tensors = Tensors::new(entries, BTreeMap::new()).unwrapped(&["enc.a", "head"], "f");
        let tensors = tensors.map_err(|e| e.to_string())?;
        Ok((tensors.iter().map(|(name, _)| name.to_owned()).collect(), tensors.notes().to_vec()))
    }

    #[test]
    fn prefixes_are_dropped_and_other_networks_left_out() -> Result<(), String> {
        let own = ["enc.a.0.weight", "head.0.bias"].map(str::to_owned).to_vec();
        assert_eq!(unwrapped(&["enc.a.0.weight", "head.0.bias"])?, (own.clone(), Vec::new()));
        for names in [
            ["module.enc.a.0.weight", "module.head.0.bias"],
            ["policy.module.enc.a.0.weight", "policy.module.head.0.bias"],
            ["_orig_mod.enc._orig_mod.a.0.weight", "_orig_mod.head.0.bias"],
            ["module.actor._orig_mod.enc.a.0.weight", "actor.head.0.bias"],
            ["some.thing.enc.a.0.weight", "some.thing.head.0.bias"],
        ] {
            let (found, notes) = unwrapped(&names)?;
            assert_eq!(found, own);
            assert_eq!(notes, [format!("names without what wraps them: `{}` is `enc.a.0.weight`", names[0])]);
        }
        let (found, notes) = unwrapped(&[
            "actor.enc.a.0.weight",
            "actor.head.0.bias",
            "critic.enc.a.0.weight",
            "critic.out.bias",
            "log_std",
        ])?;
        assert_eq!((found, notes.len()), (own, 2));
        assert_eq!(notes[1], "left out what is not under `actor.`: 3 tensors, `critic.enc.a.0.weight` first");
        // What stands beside a network without a prefix may be part of it.
        assert_eq!(unwrapped(&["enc.a.0.weight", "log_std"])?.0.len(), 2);
        Ok(())
    }

    #[test]
    fn who_is_meant_is_not_guessed() {
        let error = unwrapped(&["left.enc.a.0.weight", "right.enc.a.0.weight"]).unwrap_err();
        assert_eq!(error, "teacher f: holds several networks, under `left.`, `right.`; save one alone");
        let error = unwrapped(&["module.enc.a.0.weight", "enc.a.0.weight"]).unwrap_err();
        assert!(error.contains("`enc.a.0.weight` and `module.enc.a.0.weight` have the same name"), "{error}");
    }
}
