//! What a file of others looks like, and which way in there is, for errors that would otherwise say what it is not.

/// A sort of file that people take for something that is read here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileKind {
    /// What it looks like, with an article: "a Keras model".
    pub what: &'static str,
    /// What to do with it: "export its policy as ONNX ...".
    pub advice: &'static str,
}

const NETWORK: &str = "export its policy as ONNX (`onnx:FILE`), or let it answer from Python (`script:COMMAND`; \
                       docs/foreign-policies.md)";

/// A way to tell a sort of file: how it begins, and what stands somewhere within.
type Mark = (&'static [u8], &'static [u8], FileKind);

const ZIP: &[u8] = b"PK\x03\x04";
/// So many bytes the names in a zip archive may take.
const NAMES: usize = 1 << 20;

/// The first that fits names the file.
const MARKS: [Mark; 13] = [
    (ZIP, b"_stable_baselines3_version", kind("a model that Stable-Baselines3 saved", NETWORK)),
    (ZIP, b"pytorch_variables.pth", kind("a model that Stable-Baselines3 saved", NETWORK)),
    (ZIP, b"model.weights.h5", kind("a Keras model", NETWORK)),
    (
        ZIP,
        b"constants.pkl",
        kind("a TorchScript module", "name it `torchscript:FILE` (docs/foreign-policies.md), or save its state dict"),
    ),
    (ZIP, b".npy", kind("an archive of NumPy arrays", "save the weights as safetensors or as a PyTorch state dict")),
    (b"\x89HDF\r\n", b"", kind("a Keras or other HDF5 file", NETWORK)),
    // The number that PyTorch before 1.6 begins with.
    (
        b"\x80",
        b"\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19",
        kind("a checkpoint of PyTorch before 1.6", "load it in PyTorch and save it again"),
    ),
    (
        b"\x80",
        b"",
        kind("a pickle of Python objects (joblib, scikit-learn), which may hold code and is not read", NETWORK),
    ),
    (
        b"PAR1",
        b"",
        kind("a Parquet file", "the tables of a trace stand in a folder with a manifest (docs/trace-format.md)"),
    ),
    (b"\x08", b"onnx", kind("an ONNX model", "name it `onnx:FILE` (docs/foreign-policies.md)")),
    (b"\x08", b"pytorch", kind("an ONNX model", "name it `onnx:FILE` (docs/foreign-policies.md)")),
    (b"\x1f\x8b", b"", kind("a file that gzip has packed", "unpack it first")),
    (b"\x28\xb5\x2f\xfd", b"", kind("a file that zstd has packed", "unpack it first")),
];

const fn kind(what: &'static str, advice: &'static str) -> FileKind {
    FileKind { what, advice }
}

/// What a file looks like by its bytes; `None` if that is not known.
///
/// ```
/// use sched_distill_core::file_kind::file_kind;
/// assert_eq!(file_kind(b"\x89HDF\r\n\x1a\n").map(|kind| kind.what), Some("a Keras or other HDF5 file"));
/// assert_eq!(file_kind(b"nothing known"), None);
/// ```
#[must_use]
pub fn file_kind(bytes: &[u8]) -> Option<FileKind> {
    // The names in a zip archive are at its end; what is before that may hold any bytes by chance.
    let end = if bytes.starts_with(ZIP) { bytes.len().saturating_sub(NAMES) } else { 0 };
    let has = |within: &[u8]| within.is_empty() || bytes[end..].windows(within.len()).any(|window| window == within);
    let found = MARKS.iter().find(|(start, within, _)| bytes.starts_with(start) && has(within));
    found.map(|(_, _, kind)| *kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_others_are_told_by_what_is_in_them() {
        for (bytes, what) in [
            (&b"PK\x03\x04..policy.pth..pytorch_variables.pth"[..], "a model that Stable-Baselines3 saved"),
            (b"PK\x03\x04..config.json..model.weights.h5", "a Keras model"),
            (b"PK\x03\x04..net/code/x.py..net/constants.pkl", "a TorchScript module"),
            (b"PK\x03\x04..w.npy", "an archive of NumPy arrays"),
            (b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.", "a checkpoint of PyTorch before 1.6"),
            (
                b"\x80\x04csklearn.tree",
                "a pickle of Python objects (joblib, scikit-learn), which may hold code and is not read",
            ),
            (b"\x08\x08\x12\x07pytorch", "an ONNX model"),
            (b"PAR1....PAR1", "a Parquet file"),
        ] {
            assert_eq!(file_kind(bytes).map(|kind| kind.what), Some(what));
        }
        // A state dict, safetensors, JSON.
        for bytes in [&b"PK\x03\x04..archive/data.pkl..archive/data/0"[..], b"\x10\0\0\0\0\0\0\0{}", b"{\"a\": 1}"] {
            assert_eq!(file_kind(bytes), None);
        }
    }
}
