//! The few pickle instructions that a state dict needs.
//!
//! A pickle is a program that may call any Python function. This reader has no functions: the three names of [`Global`]
//! are constants that build a dict, a storage or a tensor description, and every other name is refused. Values live in one
//! list and refer to each other by index, so that nothing a file says can recurse or multiply. Whether the descriptions
//! fit the file is not checked here.

use std::collections::BTreeMap;

/// The Python names that a state dict of float32 tensors uses.
#[derive(Clone, Copy)]
enum Global {
    OrderedDict,
    RebuildTensor,
    FloatStorage,
}

const GLOBALS: [(&str, Global); 3] = [
    ("collections.OrderedDict", Global::OrderedDict),
    ("torch._utils._rebuild_tensor_v2", Global::RebuildTensor),
    ("torch.FloatStorage", Global::FloatStorage),
];

/// Most dimensions of a tensor: keeps descriptions small that share one long tuple.
const MAX_RANK: usize = 8;

/// Index into [`Machine::values`].
type Id = usize;

enum Value<'a> {
    None,
    Bool,
    Int(usize),
    Text(&'a str),
    Tuple(Vec<Id>),
    Dict(Vec<(Id, Id)>),
    Global(Global),
    Storage(Storage<'a>),
    Tensor(View<'a>),
}

/// A run of numbers in the archive's entry `data/KEY`.
#[derive(Clone, Copy)]
pub(super) struct Storage<'a> {
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

/// Runs a pickle and returns the items of the state dict that it builds, in its order. The error says what is wrong.
pub(super) fn items(program: &[u8]) -> Result<Vec<(&str, View<'_>)>, String> {
    let mut machine = Machine { program, ..Machine::default() };
    let items = machine.run().map_err(|reason| format!("{reason}, at byte {} of the pickle", machine.at))?;
    let read = |(key, value): (Id, Id)| {
        let Value::Text(name) = machine.values[key] else {
            return Err("a key of the state dict is not a string".to_owned());
        };
        match &machine.values[value] {
            Value::Tensor(view) => Ok((name, view.clone())),
            _ => Err(format!("entry `{name}` is not a tensor; save the model's `state_dict()` alone")),
        }
    };
    items.into_iter().map(read).collect()
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
    /// Runs to the end and returns the items of the dict that the program leaves.
    fn run(&mut self) -> Result<Vec<(Id, Id)>, String> {
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
                b'.' => break,
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
                b'R' => {
                    let (arguments, function) = (self.pop()?, self.pop()?);
                    let made = self.call(function, arguments).ok_or("a call that a state dict has no use for")?;
                    self.push(made);
                }
                b'b' => {
                    // The state of the state dict is the modules' version numbers: not needed.
                    self.pop()?;
                    if !matches!(self.stack.last().map(|&id| &self.values[id]), Some(Value::Dict(_))) {
                        return Err("a state that does not belong to a dict".to_owned());
                    }
                }
                op => {
                    return Err(format!("pickle instruction {op:#04x}, which a state dict has no use for"));
                }
            }
        }
        let root = self.pop()?;
        match &self.values[root] {
            Value::Dict(items) => Ok(items.clone()),
            _ => Err("the pickle holds something else than a state dict".to_owned()),
        }
    }

    /// The value that an instruction spells out; `None` if it does something else.
    fn literal(&mut self, op: u8) -> Result<Option<Value<'a>>, String> {
        Ok(Some(match op {
            b'N' => Value::None,
            0x88 | 0x89 => Value::Bool,
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
                let n = usize::try_from(n).map_err(|_| format!("the negative number {n}"))?;
                Value::Int(n)
            }
            b'X' => {
                let len = self.long()? as usize;
                let text = str::from_utf8(self.bytes(len)?).map_err(|_| "text that is not UTF-8")?;
                Value::Text(text)
            }
            b'c' => {
                let name = format!("{}.{}", self.line()?, self.line()?);
                let known = GLOBALS.iter().find(|(known, _)| *known == name);
                let (_, global) = known.ok_or_else(|| {
                    let allowed = GLOBALS.map(|(known, _)| known).join("`, `");
                    format!("the Python object `{name}`, which is refused; a float32 state dict needs only `{allowed}`")
                })?;
                Value::Global(*global)
            }
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
            _ => return Err("items for something that is not a dict".to_owned()),
        }
        Ok(())
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
            (Value::Text("storage"), Value::Global(Global::FloatStorage), Value::Text(key)) => {
                Some(Storage { key, len: self.int(len)? })
            }
            _ => None,
        }
    }

    /// `OrderedDict()` or `_rebuild_tensor_v2(storage, offset, shape, strides, requires_grad, hooks)`.
    fn call(&self, function: Id, arguments: Id) -> Option<Value<'a>> {
        match (&self.values[function], self.tuple_of(arguments)?) {
            (Value::Global(Global::OrderedDict), []) => Some(Value::Dict(Vec::new())),
            (Value::Global(Global::RebuildTensor), &[storage, offset, shape, stride, _, _]) => {
                let Value::Storage(storage) = self.values[storage] else {
                    return None;
                };
                let ints = |id| {
                    let items = self.tuple_of(id).filter(|items| items.len() <= MAX_RANK)?;
                    items.iter().map(|&n| self.int(n)).collect::<Option<Vec<_>>>()
                };
                Some(Value::Tensor(View {
                    storage,
                    offset: self.int(offset)?,
                    shape: ints(shape)?,
                    stride: ints(stride)?,
                }))
            }
            _ => None,
        }
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

    fn refusal(program: &[u8]) -> String {
        items(program).err().unwrap_or_default()
    }

    #[test]
    fn foreign_objects_and_number_types_are_refused_by_name() {
        let error = refusal(b"\x80\x02cposix\nsystem\n(X\x02\0\0\0lstR.");
        assert!(error.contains("`posix.system`, which is refused"), "{error}");
        let error = refusal(&dict(&[("w", tensor("DoubleStorage", "0", 6, 0, &[6], &[1]))]));
        assert!(error.contains("`torch.DoubleStorage`, which is refused"), "{error}");
        assert!(refusal(b"\x80\x04}.").contains("protocol 4"));
        let error = refusal(&dict(&[("epoch", vec![b'K', 3])]));
        assert!(error.contains("entry `epoch` is not a tensor"), "{error}");
    }

    /// Cut and changed programs give items or an error, never a panic.
    #[test]
    fn no_program_panics() {
        let good = sample();
        assert!(items(&good).is_ok());
        for len in 0..good.len() {
            assert!(items(&good[..len]).is_err(), "cut to {len} bytes");
        }
        let mut stream = Stream::new(1, "pickle");
        for at in 0..good.len() {
            for _ in 0..40 {
                let mut bad = good.clone();
                bad[at] = stream.bits() as u8;
                let other = stream.below(bad.len());
                bad[other] ^= 1 << stream.below(8);
                let _ = items(&bad);
            }
        }
    }
}
