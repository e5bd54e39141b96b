//! The few pickle instructions that a state dict needs.
//!
//! A pickle is a program that may call any Python function. This reader has no functions: the names that it knows are constants
//! that build a dict or a tensor description, and every other name, and whatever comes of it, is only remembered as that name.
//! It may stand beside the state dict, as an optimiser's state does, but not in it. Values live in one list and refer to each
//! other by index, so that nothing a file says can recurse or multiply. Whether the descriptions fit the file is not checked here.

mod root;

pub(super) use root::StateDict;
use std::{collections::BTreeMap, fmt};

/// Most dimensions of a tensor: keeps descriptions small that share one long tuple.
const MAX_RANK: usize = 8;

/// Index into [`Machine::values`].
type Id = usize;

enum Value<'a> {
    /// A number, a list, a truth value, nothing: what no tensor is described by.
    Other,
    Int(usize),
    Text(&'a str),
    Tuple(Vec<Id>),
    Dict(Vec<(Id, Id)>),
    /// A Python object, or what would come of it: neither is made.
    Object(Name<'a>),
    Storage(Storage<'a>),
    Tensor(View<'a>),
}

/// Module and name of a Python object.
#[derive(Clone, Copy, PartialEq)]
struct Name<'a>(&'a str, &'a str);

const ORDERED_DICT: Name<'_> = Name("collections", "OrderedDict");
const REBUILD_TENSOR: Name<'_> = Name("torch._utils", "_rebuild_tensor_v2");
const REBUILD_PARAMETER: Name<'_> = Name("torch._utils", "_rebuild_parameter");

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

/// A run of numbers in the archive's entry `data/KEY`.
#[derive(Clone, Copy)]
pub(super) struct Storage<'a> {
    /// Its class in the module `torch`, which says what numbers they are.
    pub(super) class: &'a str,
    pub(super) key: &'a str,
    pub(super) len: usize,
}

/// A tensor's place in a storage; offset and strides count numbers.
#[derive(Clone)]
pub(super) struct View<'a> {
    pub(super) storage: Storage<'a>,
    pub(super) offset: usize,
    pub(super) shape: Vec<usize>,
    pub(super) stride: Vec<usize>,
}

/// Runs a pickle and returns the state dict that it builds. The error says what is wrong.
pub(super) fn state_dict(program: &[u8]) -> Result<StateDict<'_>, String> {
    let mut machine = Machine { program, ..Machine::default() };
    let root = machine.run().map_err(|reason| format!("{reason}, at byte {} of the pickle", machine.at))?;
    machine.find(root)
}

/// The state of a pickle program.
#[derive(Default)]
struct Machine<'a> {
    program: &'a [u8],
    at: usize,
    values: Vec<Value<'a>>,
    stack: Vec<Id>,
    marks: Vec<usize>,
    memo: BTreeMap<u32, Id>,
}

const EMPTY: &str = "the pickle takes a value from an empty stack";

impl<'a> Machine<'a> {
    /// Runs to the end and returns what the program leaves.
    fn run(&mut self) -> Result<Id, String> {
        loop {
            let op = self.byte()?;
            if let Some(value) = self.literal(op)? {
                self.push(value);
                continue;
            }
            match op {
                0x80 => {
                    let version = self.byte()?;
                    if version != 2 {
                        return Err(format!("pickle protocol {version}; `torch.save` writes 2 unless told otherwise"));
                    }
                }
                b'.' => return self.pop(),
                b'(' => self.marks.push(self.stack.len()),
                b'q' => {
                    let key = self.byte()?;
                    self.memorise(key.into())?;
                }
                b'r' => {
                    let key = self.long()?;
                    self.memorise(key)?;
                }
                b'h' => {
                    let key = self.byte()?;
                    self.recall(key.into())?;
                }
                b'j' => {
                    let key = self.long()?;
                    self.recall(key)?;
                }
                b'a' => {
                    self.pop()?;
                    self.is_built(|value| matches!(value, Value::Other | Value::Object(_)))?;
                }
                b'e' => {
                    let from = self.mark()?;
                    self.stack.truncate(from);
                    self.is_built(|value| matches!(value, Value::Other | Value::Object(_)))?;
                }
                op @ 0x85..=0x87 => {
                    let from = self.stack.len().checked_sub(usize::from(op - 0x84)).ok_or(EMPTY)?;
                    self.tuple(from);
                }
                b't' => {
                    let from = self.mark()?;
                    self.tuple(from);
                }
                b's' => {
                    let from = self.stack.len().checked_sub(2).ok_or(EMPTY)?;
                    self.set_items(from)?;
                }
                b'u' => {
                    let from = self.mark()?;
                    self.set_items(from)?;
                }
                b'Q' => {
                    let id = self.pop()?;
                    let storage = self.storage(id).ok_or("a storage description that is not PyTorch's")?;
                    self.push(Value::Storage(storage));
                }
                b'R' | 0x81 => {
                    let (arguments, function) = (self.pop()?, self.pop()?);
                    let made = self.call(function, arguments).ok_or("a call that a state dict has no use for")?;
                    self.push(made);
                }
                b'b' => {
                    // The state of the state dict is the modules' version numbers: not needed.
                    self.pop()?;
                    self.is_built(|value| matches!(value, Value::Dict(_) | Value::Object(_)))?;
                }
                op => {
                    return Err(format!("pickle instruction {op:#04x}, which a state dict has no use for"));
                }
            }
        }
    }

    /// The value that an instruction spells out; `None` if it does something else.
    fn literal(&mut self, op: u8) -> Result<Option<Value<'a>>, String> {
        Ok(Some(match op {
            b'N' | 0x88 | 0x89 | b']' => Value::Other,
            b'G' => {
                self.bytes(8)?;
                Value::Other
            }
            b'K' => {
                let n = self.byte()?;
                Value::Int(n.into())
            }
            b'M' => {
                let n = u16::from_le_bytes(self.array()?);
                Value::Int(n.into())
            }
            b'J' => {
                let n = i32::from_le_bytes(self.array()?);
                usize::try_from(n).map_or(Value::Other, Value::Int)
            }
            0x8a => {
                let len = self.byte()?;
                let bytes = self.bytes(len.into())?;
                let mut word = [0; 8];
                let fits = bytes.len() <= 8 && bytes.last().is_none_or(|&high| high < 0x80);
                word.iter_mut().zip(bytes).for_each(|(to, &byte)| *to = byte);
                let n = usize::try_from(u64::from_le_bytes(word)).ok().filter(|_| fits);
                n.map_or(Value::Other, Value::Int)
            }
            b'X' => {
                let len = self.long()? as usize;
                let text = str::from_utf8(self.bytes(len)?).map_err(|_| "text that is not UTF-8")?;
                Value::Text(text)
            }
            b'c' => Value::Object(Name(self.line()?, self.line()?)),
            b')' => Value::Tuple(Vec::new()),
            b'}' => Value::Dict(Vec::new()),
            _ => return Ok(None),
        }))
    }

    fn push(&mut self, value: Value<'a>) {
        self.stack.push(self.values.len());
        self.values.push(value);
    }

    /// Takes the top value, never past the last mark.
    fn pop(&mut self) -> Result<Id, String> {
        let floor = self.marks.last().copied().unwrap_or(0);
        let id = if self.stack.len() > floor { self.stack.pop() } else { None };
        id.ok_or_else(|| EMPTY.to_owned())
    }

    /// Removes the last mark and returns the height of the stack under it.
    fn mark(&mut self) -> Result<usize, String> {
        let height = self.marks.pop().filter(|&height| height <= self.stack.len());
        height.ok_or_else(|| "the end of a list that was never begun".to_owned())
    }

    fn tuple(&mut self, from: usize) {
        let items = self.stack.split_off(from);
        self.push(Value::Tuple(items));
    }

    fn set_items(&mut self, from: usize) -> Result<(), String> {
        let items = self.stack.split_off(from);
        let (pairs, rest) = items.as_chunks::<2>();
        let dict = *self.stack.last().ok_or(EMPTY)?;
        match &mut self.values[dict] {
            Value::Dict(dict) if rest.is_empty() => dict.extend(pairs.iter().map(|&[key, value]| (key, value))),
            Value::Object(_) if rest.is_empty() => {}
            _ => return Err("items for something that is not a dict".to_owned()),
        }
        Ok(())
    }

    /// Checks that what an instruction adds to is of the right sort.
    fn is_built(&self, of: fn(&Value<'a>) -> bool) -> Result<(), String> {
        let top = self.stack.last().ok_or(EMPTY)?;
        if of(&self.values[*top]) { Ok(()) } else { Err("something added to what takes nothing".to_owned()) }
    }

    fn memorise(&mut self, key: u32) -> Result<(), String> {
        let id = *self.stack.last().ok_or(EMPTY)?;
        self.memo.insert(key, id);
        Ok(())
    }

    fn recall(&mut self, key: u32) -> Result<(), String> {
        let id = *self.memo.get(&key).ok_or_else(|| format!("memo {key}, which was never set"))?;
        self.stack.push(id);
        Ok(())
    }

    fn text(&self, id: Id) -> Option<&'a str> {
        match self.values[id] {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    fn tuple_of(&self, id: Id) -> Option<&[Id]> {
        match &self.values[id] {
            Value::Tuple(items) => Some(items),
            _ => None,
        }
    }

    fn int(&self, id: Id) -> Option<usize> {
        match self.values[id] {
            Value::Int(n) => Some(n),
            _ => None,
        }
    }

    /// `("storage", torch.FloatStorage, key, device, length)`; the device does not matter here.
    fn storage(&self, id: Id) -> Option<Storage<'a>> {
        let &[tag, class, key, _, len] = self.tuple_of(id)? else {
            return None;
        };
        match (&self.values[tag], &self.values[class], &self.values[key]) {
            (Value::Text("storage"), Value::Object(Name("torch", class)), Value::Text(key)) => {
                Some(Storage { class, key, len: self.int(len)? })
            }
            _ => None,
        }
    }

    /// `OrderedDict()`, `_rebuild_tensor_v2(storage, offset, shape, strides, requires_grad, hooks)`,
    /// `_rebuild_parameter(tensor, requires_grad, hooks)`; of other objects only the name is kept.
    fn call(&self, function: Id, arguments: Id) -> Option<Value<'a>> {
        let Value::Object(name) = self.values[function] else {
            return None;
        };
        Some(match (name, self.tuple_of(arguments)?) {
            (ORDERED_DICT, []) => Value::Dict(Vec::new()),
            (REBUILD_TENSOR, &[storage, offset, shape, stride, _, _]) => {
                let Value::Storage(storage) = self.values[storage] else {
                    return None;
                };
                let ints = |id| {
                    let items = self.tuple_of(id).filter(|items| items.len() <= MAX_RANK)?;
                    items.iter().map(|&n| self.int(n)).collect::<Option<Vec<_>>>()
                };
                Value::Tensor(View { storage, offset: self.int(offset)?, shape: ints(shape)?, stride: ints(stride)? })
            }
            (REBUILD_PARAMETER, &[tensor, _, _]) => match &self.values[tensor] {
                Value::Tensor(view) => Value::Tensor(view.clone()),
                _ => return None,
            },
            (ORDERED_DICT | REBUILD_TENSOR | REBUILD_PARAMETER, _) => return None,
            (name, _) => Value::Object(name),
        })
    }

    fn bytes(&mut self, len: usize) -> Result<&'a [u8], String> {
        let program: &'a [u8] = self.program;
        let end = self.at.checked_add(len).filter(|&end| end <= program.len());
        let end = end.ok_or_else(|| "the pickle is cut off".to_owned())?;
        let bytes = &program[self.at..end];
        self.at = end;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let bytes = self.bytes(N)?;
        Ok(*bytes.as_array().expect("`bytes` returns as many as asked for"))
    }

    fn byte(&mut self) -> Result<u8, String> {
        self.array::<1>().map(|[byte]| byte)
    }

    fn long(&mut self) -> Result<u32, String> {
        self.array().map(u32::from_le_bytes)
    }

    /// Text up to the end of the line.
    fn line(&mut self) -> Result<&'a str, String> {
        let rest = &self.program[self.at..];
        let len = rest.iter().position(|&byte| byte == b'\n').ok_or("the pickle is cut off")?;
        let line = self.bytes(len)?;
        self.at += 1;
        str::from_utf8(line).map_err(|_| "text that is not UTF-8".to_owned())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::rng::Stream;

    pub(in crate::network) fn text(text: &str) -> Vec<u8> {
        [b"X", &(text.len() as u32).to_le_bytes()[..], text.as_bytes()].concat()
    }

    fn tuple(numbers: &[u8]) -> Vec<u8> {
        let items: Vec<u8> = numbers.iter().flat_map(|&n| [b'K', n]).collect();
        [b"(", &items[..], b"t"].concat()
    }

    /// Pickle of one tensor: storage of `len` numbers in entry `key`, with an unused memo as PyTorch writes it.
    pub(in crate::network) fn tensor(
        class: &str,
        key: &str,
        len: u8,
        offset: u8,
        shape: &[u8],
        stride: &[u8],
    ) -> Vec<u8> {
        let storage =
            [&b"(X\x07\0\0\0storageq\x01ctorch\n"[..], class.as_bytes(), b"\n", &text(key), b"X\x03\0\0\0cpu"];
        let rest = [&[b'K', len, b't', b'Q', b'K', offset][..], &tuple(shape), &tuple(stride)];
        let ordered = b"\x89ccollections\nOrderedDict\n)RtR";
        [&b"ctorch._utils\n_rebuild_tensor_v2\n("[..], &storage.concat(), &rest.concat(), ordered].concat()
    }

    pub(in crate::network) fn dict(items: &[(&str, Vec<u8>)]) -> Vec<u8> {
        let items: Vec<u8> = items.iter().flat_map(|(name, value)| [text(name), value.clone()].concat()).collect();
        [b"\x80\x02ccollections\nOrderedDict\n)Rr\x05\0\0\0(", &items[..], b"u}b."].concat()
    }

    pub(in crate::network) fn sample() -> Vec<u8> {
        let whole = tensor("FloatStorage", "0", 6, 0, &[2, 2], &[2, 1]);
        dict(&[("w", whole), ("b", tensor("FloatStorage", "0", 6, 4, &[1, 2], &[9, 1]))])
    }

    /// A dict within a program.
    fn inner(items: &[(&str, Vec<u8>)]) -> Vec<u8> {
        let items: Vec<u8> = items.iter().flat_map(|(name, value)| [text(name), value.clone()].concat()).collect();
        [b"}(", &items[..], b"u"].concat()
    }

    fn refusal(program: &[u8]) -> String {
        state_dict(program).err().unwrap_or_default()
    }

    #[test]
    fn foreign_objects_are_refused_by_name() {
        let error = refusal(b"\x80\x02cposix\nsystem\n(X\x02\0\0\0lstR.");
        assert!(error.contains("`posix.system`, which is refused"), "{error}");
        let error = refusal(&dict(&[("w", b"cnet\nModel\n)\x81}X\x01\0\0\0aK\x01sb".to_vec())]));
        assert!(error.contains("entry `w` is the Python object `net.Model`, which is refused"), "{error}");
        assert!(refusal(b"\x80\x02c__torch__\nNet\n)\x81.").contains("`torchscript:`"));
        assert!(refusal(b"\x80\x04}.").contains("protocol 4"));
        let error = refusal(&dict(&[("epoch", vec![b'K', 3])]));
        assert!(error.contains("entry `epoch` is not a tensor"), "{error}");
    }

    /// What programs write beside a state dict: an optimiser's lists and numbers, objects, a large and a negative number.
    #[test]
    fn a_state_dict_is_found_beside_other_things() -> Result<(), String> {
        let tensor = || tensor("FloatStorage", "0", 6, 0, &[6], &[1]);
        let parameter = [b"ctorch._utils\n_rebuild_parameter\n(", &tensor()[..], b"\x88}tR"].concat();
        let model = || inner(&[("w", tensor()), ("v", parameter.clone())]);
        let optimiser = inner(&[
            ("lr", b"G\0\0\0\0\0\0\0\0".to_vec()),
            ("params", b"](K\0K\x01e".to_vec()),
            ("betas", b"]K\x01a".to_vec()),
            ("exp_avg", tensor()),
        ]);
        let beside = [
            ("optimizer_state_dict", optimiser),
            ("args", b"cargparse\nNamespace\n)\x81}X\x01\0\0\0aNsb".to_vec()),
            ("counts", b"ccollections\ndefaultdict\nc__builtin__\nlist\n\x85RX\x01\0\0\0a]s".to_vec()),
            ("epoch", b"J\xff\xff\xff\xff".to_vec()),
            ("seed", b"\x8a\x05\0\0\0\0\x01".to_vec()),
        ];
        for under in ["state_dict", "model_state_dict", "actor"] {
            for program in [
                dict(&[&beside[..2], &[(under, model())], &beside[2..]].concat()),
                dict(&[("state_dict", inner(&[&beside[..], &[(under, model())]].concat()))]),
            ] {
                let found = state_dict(&program)?;
                let names: Vec<&str> = found.items.iter().map(|(name, _)| *name).collect();
                assert_eq!(names, ["w", "v"]);
                assert_eq!(found.beside, ["optimizer_state_dict", "args", "counts", "epoch", "seed"]);
            }
        }
        let error = refusal(&dict(&[("actor", model()), ("policy", model())]));
        assert!(error.contains("several models, `actor`, `policy`"), "{error}");
        // A dict that is in itself.
        let error = refusal(b"\x80\x02}q\x01X\x05\0\0\0modelh\x01s.");
        assert!(error.contains("within 4 others or more"), "{error}");
        Ok(())
    }

    /// Cut and changed programs give items or an error, never a panic.
    #[test]
    fn no_program_panics() {
        let wrapped =
            dict(&[("model", inner(&[("w", tensor("LongStorage", "0", 6, 0, &[], &[]))])), ("args", vec![b'N'])]);
        for good in [sample(), wrapped] {
            assert!(state_dict(&good).is_ok());
            for len in 0..good.len() {
                assert!(state_dict(&good[..len]).is_err(), "cut to {len} bytes");
            }
            let mut stream = Stream::new(1, "pickle");
            for at in 0..good.len() {
                for _ in 0..40 {
                    let mut bad = good.clone();
                    bad[at] = stream.bits() as u8;
                    let other = stream.below(bad.len());
                    bad[other] ^= 1 << stream.below(8);
                    let _ = state_dict(&bad);
                }
            }
        }
    }
}
