//! Named tensors of a checkpoint file.
//!
//! Two formats are read, told apart by content: safetensors, and the state dict that `torch.save` writes (a zip archive
//! with a pickle). Numbers of other precision become float32, which is noted. Any byte string gives tensors or an error, never a panic, and memory stays
//! proportional to the file. Which tensors a network needs is checked by the network, not here.

use super::{NeuralError, archive::Archive, numbers::Number, state_dict};
use crate::{
    file_kind::{FileKind, file_kind},
    level::sha256_hex,
    text::one_line,
};
use safetensors::{Dtype, SafeTensorError, SafeTensors, tensor::TensorView};
use std::{collections::BTreeMap, path::Path};

/// One float32 tensor in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// Length of each dimension; empty for a scalar.
    pub shape: Vec<usize>,
    /// Values, as many as the product of `shape`.
    pub data: Vec<f32>,
}

/// The tensors of one checkpoint, in order of their names.
///
/// ```
/// use sched_distill_core::network::Tensors;
/// // A safetensors file: length of the header, header, numbers.
/// let header = br#"{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#;
/// let mut file = (header.len() as u64).to_le_bytes().to_vec();
/// file.extend_from_slice(header);
/// file.extend([1.5f32, -2.0].iter().flat_map(|v| v.to_le_bytes()));
/// let tensors = Tensors::from_bytes(&file, "example")?;
/// assert_eq!(tensors.get("w").map(|w| &w.data[..]), Some(&[1.5, -2.0][..]));
/// # Ok::<(), sched_distill_core::network::NeuralError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Tensors {
    pub(super) entries: BTreeMap<String, Tensor>,
    pub(super) texts: BTreeMap<String, String>,
    pub(super) sha256: String,
    pub(super) notes: Vec<String>,
}

impl Tensors {
    /// Reads a checkpoint file; the extension of its name does not matter.
    ///
    /// # Errors
    ///
    /// [`NeuralError::Read`] if the file cannot be read, else as [`Tensors::from_bytes`].
    pub fn load(path: impl AsRef<Path>) -> Result<Self, NeuralError> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(|source| NeuralError::Read { path: path.to_owned(), source })?;
        Self::from_bytes(&bytes, &path.display().to_string())
    }

    /// Reads the content of a checkpoint file; `origin` names it in errors.
    ///
    /// # Errors
    ///
    /// [`NeuralError::Format`] if it is neither safetensors nor a zipped PyTorch state dict, if it is damaged, holds
    /// anything but contiguous tensors of floats (and counters, single whole numbers), or names a Python object that a state dict
    /// has no use for.
    pub fn from_bytes(bytes: &[u8], origin: &str) -> Result<Self, NeuralError> {
        let is_safetensors = bytes.get(8) == Some(&b'{');
        let entries = if bytes.starts_with(b"PK\x03\x04") {
            Archive::open(bytes).and_then(|archive| state_dict::read(&archive))
        } else if is_safetensors {
            read_safetensors(bytes)
        } else {
            Err("neither safetensors nor a PyTorch state dict (zip archive)".to_owned())
        };
        let entries = entries.map_err(|reason| {
            let of_others = |kind: FileKind| format!("looks like {}: {}", kind.what, kind.advice);
            // What is safetensors is not looked at as something else, whatever its first bytes, a length, may be.
            let kind = if is_safetensors { None } else { file_kind(bytes) };
            NeuralError::Format { origin: origin.to_owned(), reason: kind.map_or(reason, of_others) }
        })?;
        let notes = entries.notes();
        Ok(Self { entries: entries.tensors, texts: entries.texts, sha256: sha256_hex(bytes), notes })
    }

    /// Tensors in memory, with texts for the header of their file.
    #[must_use]
    pub fn new(entries: BTreeMap<String, Tensor>, texts: BTreeMap<String, String>) -> Self {
        let mut tensors = Self { entries, texts, sha256: String::new(), notes: Vec::new() };
        tensors.sha256 = tensors.to_safetensors().map(|bytes| sha256_hex(&bytes)).unwrap_or_default();
        tensors
    }

    /// The bytes of a safetensors file with these tensors and texts.
    ///
    /// # Errors
    ///
    /// A tensor that has another number of values than its shape says.
    pub fn to_safetensors(&self) -> Result<Vec<u8>, NeuralError> {
        let bytes = |t: &Tensor| t.data.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
        let data: Vec<(&str, &Tensor, Vec<u8>)> = self.iter().map(|(name, t)| (name, t, bytes(t))).collect();
        let views =
            data.iter().map(|(name, t, bytes)| Ok((*name, TensorView::new(Dtype::F32, t.shape.clone(), bytes)?)));
        let damaged =
            |e: SafeTensorError| NeuralError::Format { origin: "in memory".to_owned(), reason: e.to_string() };
        let views: Vec<_> = views.collect::<Result<_, SafeTensorError>>().map_err(damaged)?;
        let texts = self.texts.iter().map(|(name, text)| (name.clone(), text.clone()));
        safetensors::serialize(views, (!self.texts.is_empty()).then(|| texts.collect())).map_err(damaged)
    }

    /// The tensor of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Tensor> {
        self.entries.get(name)
    }

    /// The text of that name in the header of a safetensors file.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.texts.get(name).map(String::as_str)
    }

    /// All tensors in order of their names.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Tensor)> {
        self.entries.iter().map(|(name, tensor)| (name.as_str(), tensor))
    }

    /// Checks that these are the tensors of a network: all of them, no other, each of the right shape and finite. `origin` names
    /// the checkpoint in errors.
    ///
    /// # Errors
    ///
    /// [`NeuralError::Missing`], [`NeuralError::Shape`], [`NeuralError::NotFinite`] or [`NeuralError::Extra`], naming the first
    /// offending tensor.
    pub fn expect(&self, network: &[(String, Vec<usize>)], origin: &str) -> Result<(), NeuralError> {
        for (name, shape) in network {
            let tensor = self.get(name).ok_or_else(|| NeuralError::Missing {
                origin: origin.to_owned(),
                tensor: name.clone(),
                expected: shape.clone(),
            })?;
            if tensor.shape != *shape {
                return Err(NeuralError::Shape {
                    origin: origin.to_owned(),
                    tensor: name.clone(),
                    expected: shape.clone(),
                    found: tensor.shape.clone(),
                });
            }
            if let Some(index) = tensor.data.iter().position(|v| !v.is_finite()) {
                return Err(NeuralError::NotFinite {
                    origin: origin.to_owned(),
                    tensor: name.clone(),
                    index,
                    value: tensor.data[index],
                });
            }
        }
        if let Some((name, tensor)) = self.iter().find(|(name, _)| network.iter().all(|(n, _)| n != name)) {
            return Err(NeuralError::Extra {
                origin: origin.to_owned(),
                tensor: name.to_owned(),
                found: tensor.shape.clone(),
                expected: network.len(),
            });
        }
        Ok(())
    }

    /// What was done with the file besides reading it: numbers that were converted, parts that were left out.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// SHA-256 of the whole file as lower-case hex.
    #[must_use]
    pub fn sha256(&self) -> &str {
        &self.sha256
    }
}

/// What a file holds.
#[derive(Default)]
pub(super) struct Entries {
    pub(super) tensors: BTreeMap<String, Tensor>,
    texts: BTreeMap<String, String>,
    /// Tensors of each sort of numbers.
    numbers: BTreeMap<Number, usize>,
    pub(super) notes: Vec<String>,
}

impl Entries {
    /// Adds a tensor of such numbers.
    pub(super) fn add(&mut self, name: &str, number: Number, tensor: Tensor) -> Result<(), String> {
        *self.numbers.entry(number).or_default() += 1;
        match self.tensors.insert(name.to_owned(), tensor) {
            None => Ok(()),
            Some(_) => Err(format!("tensor `{name}` appears twice")),
        }
    }

    /// The notes, with what was converted.
    pub(super) fn notes(&self) -> Vec<String> {
        let converted = self.numbers.iter().filter(|(number, _)| !matches!(number, Number::Float32 | Number::Int64));
        let converted = converted.map(|(number, count)| {
            let s = if *count == 1 { "" } else { "s" };
            format!("{count} tensor{s} of {}, converted to float32", number.name())
        });
        self.notes.iter().map(|note| one_line(note).into_owned()).chain(converted).collect()
    }
}

fn read_safetensors(bytes: &[u8]) -> Result<Entries, String> {
    let damaged = |e: SafeTensorError| format!("damaged safetensors file: {e}");
    let file = SafeTensors::deserialize(bytes).map_err(damaged)?;
    let (_, header) = SafeTensors::read_metadata(bytes).map_err(damaged)?;
    let texts = header.metadata().iter().flatten().map(|(name, text)| (name.clone(), text.clone())).collect();
    let mut entries = Entries { texts, ..Entries::default() };
    for (name, view) in file.iter() {
        let read = Number::of_dtype(view.dtype())
            .and_then(|number| Ok((number, number.tensor(view.shape().to_vec(), view.data())?)));
        let (number, tensor) = read.map_err(|reason| format!("tensor `{name}` {reason}"))?;
        entries.add(name, number, tensor)?;
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_is_told_by_content_and_other_content_is_named() {
        let reason = |bytes: &[u8]| Tensors::from_bytes(bytes, "f").unwrap_err().to_string();
        assert!(reason(b"").contains("neither safetensors nor"));
        assert!(reason(b"\x80\x02}.").contains("a pickle of Python objects"));
        assert!(reason(b"PK\x03\x04").contains("zip"));
        assert!(reason(b"\x02\0\0\0\0\0\0\0{").contains("damaged safetensors"));
    }

    #[test]
    fn other_numbers_in_safetensors_are_converted_and_counted_or_refused_by_name() {
        let file = |dtype: &str, data: &[u8]| {
            let header = format!(r#"{{"a":{{"dtype":"{dtype}","shape":[1],"data_offsets":[0,{}]}}}}"#, data.len());
            // The length of the header then begins like a pickle.
            let header = format!("{header:128}");
            let bytes = [&(header.len() as u64).to_le_bytes(), header.as_bytes(), data].concat();
            Tensors::from_bytes(&bytes, "t.safetensors").map_err(|e| e.to_string())
        };
        for (dtype, data, name) in [
            ("F64", &1.5f64.to_le_bytes()[..], "float64"),
            ("F16", &[0x00, 0x3e], "float16"),
            ("BF16", &[0xc0, 0x3f], "bfloat16"),
        ] {
            let found = file(dtype, data).unwrap();
            assert_eq!(found.get("a").map(|a| &a.data[..]), Some(&[1.5][..]), "{dtype}");
            assert_eq!(found.notes(), [format!("1 tensor of {name}, converted to float32")]);
        }
        assert!(file("F32", &1.5f32.to_le_bytes()).unwrap().notes().is_empty());
        let error = file("U8", &[1]).unwrap_err();
        assert!(error.starts_with("teacher t.safetensors: tensor `a` is U8; allowed are float32"), "{error}");
    }
}
