//! The tensors of a PyTorch archive: a pickle that describes them and one entry of numbers per storage.
//!
//! Tensors must be contiguous and lie inside their storage; all of them together may not be larger than the file.

use super::{
    archive::Archive,
    numbers::Number,
    pickle::{self, View},
    weights::{Entries, Tensor},
};

/// Reads the tensors of a state dict. The error says what is wrong.
pub(super) fn read(archive: &Archive<'_>) -> Result<Entries, String> {
    let (root, program) = archive
        .entries
        .iter()
        .find_map(|(name, program)| Some((name.strip_suffix("/data.pkl")?, *program)))
        .ok_or("zip archive without a `data.pkl`; not written by `torch.save`")?;
    if archive.entries.get(format!("{root}/byteorder").as_str()) == Some(&&b"big"[..]) {
        return Err("big-endian numbers; save the state dict on a little-endian machine".to_owned());
    }
    let found = pickle::state_dict(program)?;
    let (mut entries, mut room) = (Entries::default(), archive.file_len);
    for (name, view) in found.items {
        let read = Number::of_storage(view.storage.class)
            .and_then(|number| Ok((number, view.read(number, archive, root, &mut room)?)));
        let (number, tensor) = read.map_err(|reason| format!("tensor `{name}` {reason}"))?;
        entries.add(name, number, tensor)?;
    }
    if !found.beside.is_empty() {
        entries.notes.push(format!("left out what stands beside the model: `{}`", found.beside.join("`, `")));
    }
    Ok(entries)
}

impl View<'_> {
    /// Copies the tensor out of the archive; `room` is how many bytes may still be copied.
    fn read(&self, number: Number, archive: &Archive<'_>, root: &str, room: &mut usize) -> Result<Tensor, String> {
        let entry = format!("{root}/data/{}", self.storage.key);
        let bytes = archive
            .entries
            .get(entry.as_str())
            .ok_or_else(|| format!("needs the entry `{entry}`, which is missing"))?;
        let size = number.bytes();
        if self.storage.len.checked_mul(size) != Some(bytes.len()) {
            let (len, name, found) = (self.storage.len, number.name(), bytes.len());
            return Err(format!("needs {len} {name} numbers in `{entry}`, which has {found} bytes"));
        }
        let (count, contiguous) = self.layout().ok_or("has an impossible shape")?;
        if !contiguous {
            let (shape, stride) = (&self.shape, &self.stride);
            return Err(format!("of shape {shape:?} has strides {stride:?}; call `.contiguous()` before saving"));
        }
        // Both factors are checked: `count` numbers lie inside a storage that is no longer than the file.
        let range = self
            .offset
            .checked_add(count)
            .filter(|&end| end <= self.storage.len)
            .map(|end| size * self.offset..size * end)
            .ok_or_else(|| format!("of shape {:?} reaches past the end of `{entry}`", self.shape))?;
        *room = room
            .checked_sub(range.len())
            .ok_or("shares its storage with others: together they are larger than the file")?;
        number.tensor(self.shape.clone(), &bytes[range])
    }

    /// Number of values and whether they stand in row-major order; `None` if the number overflows.
    fn layout(&self) -> Option<(usize, bool)> {
        let (mut count, mut contiguous) = (1usize, self.shape.len() == self.stride.len());
        for (&len, &stride) in self.shape.iter().zip(&self.stride).rev() {
            contiguous &= len == 1 || stride == count;
            count = count.checked_mul(len)?;
        }
        // Strides of an empty tensor mean nothing.
        Some((count, contiguous || self.shape.contains(&0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{
        archive::tests::zip,
        pickle::tests::{dict, sample, tensor, text},
    };

    fn read_with(program: &[u8]) -> Result<Entries, String> {
        let numbers: Vec<u8> = (0..6u8).flat_map(|n| f32::from(n).to_le_bytes()).collect();
        let file = zip(&[("m/byteorder", b"little"), ("m/data.pkl", program), ("m/data/0", &numbers)]);
        read(&Archive::open(&file)?)
    }

    fn refusal(class: &str, key: &str, len: u8, offset: u8, shape: &[u8], stride: &[u8]) -> String {
        let program = dict(&[("w", tensor(class, key, len, offset, shape, stride))]);
        read_with(&program).err().unwrap_or_default()
    }

    #[test]
    fn tensors_are_read_from_their_place_in_the_storage() -> Result<(), String> {
        let found: Vec<_> = read_with(&sample())?.tensors.into_iter().map(|(n, t)| (n, t.shape, t.data)).collect();
        assert_eq!(
            found,
            [("b".to_owned(), vec![1, 2], vec![4.0, 5.0]), ("w".to_owned(), vec![2, 2], vec![0.0, 1.0, 2.0, 3.0]),]
        );
        Ok(())
    }

    #[test]
    fn lengths_and_strides_are_checked_against_the_file() {
        let float =
            |key, len, offset, shape: &[u8], stride: &[u8]| refusal("FloatStorage", key, len, offset, shape, stride);
        assert_eq!(float("0", 6, 0, &[6], &[1]), "");
        assert!(float("1", 6, 0, &[6], &[1]).contains("`m/data/1`, which is missing"));
        assert!(float("0", 7, 0, &[6], &[1]).contains("needs 7 float32 numbers in `m/data/0`, which has 24 bytes"));
        assert!(float("0", 6, 1, &[6], &[1]).contains("reaches past the end"));
        assert!(float("0", 6, 0, &[2, 3], &[1, 2]).contains("strides [1, 2]"));
        assert!(float("0", 6, 0, &[6], &[]).contains("strides []"));
        assert!(float("0", 6, 0, &[255; 8], &[1; 8]).contains("strides"));
        assert!(float("0", 6, 0, &[1; 9], &[1; 9]).contains("no use for"));
    }

    #[test]
    fn a_wrapped_state_dict_is_the_same() -> Result<(), String> {
        // The sample's program but for its protocol and its end, as an entry of another dict.
        let own = sample();
        let within = &own[2..own.len() - 1];
        let program = [b"\x80\x02}(", &text("epoch")[..], b"K\x07", &text("model_state_dict"), within, b"u."].concat();
        let (own, wrapped) = (read_with(&own)?, read_with(&program)?);
        assert_eq!(own.tensors, wrapped.tensors);
        assert!(own.notes().is_empty());
        assert_eq!(wrapped.notes(), ["left out what stands beside the model: `epoch`"]);
        Ok(())
    }

    #[test]
    fn other_numbers_are_converted_and_counted() -> Result<(), String> {
        let item = |class| tensor(class, "0", 3, 1, &[2], &[1]);
        let items = [("a", item("DoubleStorage")), ("n", tensor("LongStorage", "0", 3, 2, &[], &[]))];
        let found = read_with(&dict(&items))?;
        let bytes: Vec<u8> = (0..6u8).flat_map(|n| f32::from(n).to_le_bytes()).collect();
        let doubles: Vec<f32> = bytes[8..].as_chunks().0.iter().map(|&b| f64::from_le_bytes(b) as f32).collect();
        assert_eq!((&found.tensors["a"].data, found.tensors["n"].shape.len()), (&doubles, 0));
        assert_eq!(found.notes(), ["1 tensor of float64, converted to float32"]);
        assert!(refusal("LongStorage", "0", 3, 0, &[3], &[1]).contains("tensor `w` of shape [3] is int64"));
        assert!(refusal("ByteStorage", "0", 24, 0, &[3], &[1]).contains("tensor `w` is in a `torch.ByteStorage`"));
        Ok(())
    }

    #[test]
    fn tensors_together_cannot_outgrow_the_file() {
        let one = dict(&[("w", tensor("FloatStorage", "0", 6, 0, &[6], &[1]))]);
        // The same tensor 200 times over, through the memo: nine bytes for each 24.
        let mut program = one.strip_suffix(b"u}b.").map(<[u8]>::to_vec).unwrap_or_default();
        program.extend_from_slice(b"q\x07");
        for i in 0..200 {
            program.extend_from_slice(&text(&format!("{i}")));
            program.extend_from_slice(b"h\x07");
        }
        program.extend_from_slice(b"u.");
        let error = read_with(&program).err().unwrap_or_default();
        assert!(error.contains("larger than the file"), "{error}");
    }

    /// Cut and changed archives give tensors or an error, never a panic.
    #[test]
    fn no_byte_string_panics() {
        let file = zip(&[("m/data.pkl", &sample()), ("m/data/0", &[0; 24])]);
        let open = |file: &[u8]| Archive::open(file).and_then(|archive| read(&archive));
        assert!(open(&file).is_ok());
        for at in 0..file.len() {
            assert!(open(&file[..at]).is_err(), "cut to {at} bytes");
            for bit in 0..8 {
                let mut bad = file.clone();
                bad[at] ^= 1 << bit;
                let _ = open(&bad);
            }
        }
    }
}
