//! Named tensors of a checkpoint file.
//!
//! Two formats are read, told apart by content: safetensors, and the state dict that `torch.save` writes (a zip archive
//! with a pickle). Only float32 is accepted. Any byte string gives tensors or an error, never a panic, and memory stays
//! proportional to the file. Which tensors a network needs is checked by the network, not here.

use super::{NeuralError, archive::Archive, state_dict};
use crate::{
    file_kind::{FileKind, file_kind},
    level::sha256_hex,
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
    texts: BTreeMap<String, String>,
    sha256: String,
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
    /// anything but contiguous float32 tensors, or names a Python object that a state dict has no use for.
    pub fn from_bytes(bytes: &[u8], origin: &str) -> Result<Self, NeuralError> {
        let entries = if bytes.starts_with(b"PK\x03\x04") {
            Archive::open(bytes)
                .and_then(|archive| state_dict::read(&archive))
                .map(|entries| (entries, BTreeMap::new()))
        } else if bytes.get(8) == Some(&b'{') {
            read_safetensors(bytes)
        } else {
            Err("neither safetensors nor a PyTorch state dict (zip archive)".to_owned())
        };
        let (entries, texts) = entries.map_err(|reason| {
            let of_others = |kind: FileKind| format!("looks like {}: {}", kind.what, kind.advice);
            NeuralError::Format { origin: origin.to_owned(), reason: file_kind(bytes).map_or(reason, of_others) }
        })?;
        Ok(Self { entries, texts, sha256: sha256_hex(bytes) })
    }

    /// Tensors in memory, with texts for the header of their file.
    #[must_use]
    pub fn new(entries: BTreeMap<String, Tensor>, texts: BTreeMap<String, String>) -> Self {
        let mut tensors = Self { entries, texts, sha256: String::new() };
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

    /// SHA-256 of the whole file as lower-case hex.
    #[must_use]
    pub fn sha256(&self) -> &str {
        &self.sha256
    }
}

/// Tensors and texts.
type Content = (BTreeMap<String, Tensor>, BTreeMap<String, String>);

fn read_safetensors(bytes: &[u8]) -> Result<Content, String> {
    let damaged = |e: SafeTensorError| format!("damaged safetensors file: {e}");
    let file = SafeTensors::deserialize(bytes).map_err(damaged)?;
    let (_, header) = SafeTensors::read_metadata(bytes).map_err(damaged)?;
    let texts = header.metadata().iter().flatten().map(|(name, text)| (name.clone(), text.clone())).collect();
    let mut entries = BTreeMap::new();
    for (name, view) in file.iter() {
        if view.dtype() != Dtype::F32 {
            return Err(format!("tensor `{name}` is {}, expected F32", view.dtype()));
        }
        let tensor = Tensor { shape: view.shape().to_vec(), data: floats(view.data()) };
        entries.insert(name.to_owned(), tensor);
    }
    Ok((entries, texts))
}

/// Little-endian float32 values; bytes past a multiple of four are left out.
pub(super) fn floats(bytes: &[u8]) -> Vec<f32> {
    let (words, _) = bytes.as_chunks::<4>();
    words.iter().map(|&word| f32::from_le_bytes(word)).collect()
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
    fn other_number_types_in_safetensors_are_refused_by_name() {
        let header = br#"{"a":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}}"#;
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend_from_slice(header);
        bytes.extend_from_slice(&1f64.to_le_bytes());
        let error = Tensors::from_bytes(&bytes, "t.safetensors").unwrap_err().to_string();
        assert_eq!(error, "teacher t.safetensors: tensor `a` is F64, expected F32");
    }
}
