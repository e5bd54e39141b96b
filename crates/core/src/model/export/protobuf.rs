//! As much of the protocol buffers' wire format as an ONNX file needs.

/// A message under construction: fields in the order in which they are added.
#[derive(Default)]
pub(super) struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    /// An integer, also a negative one, or an enum's value.
    pub(super) fn int(mut self, field: u32, value: i64) -> Self {
        self.varint(u64::from(field) << 3);
        self.varint(value as u64);
        self
    }

    /// A string, bytes, a message, or packed numbers.
    pub(super) fn bytes(mut self, field: u32, value: impl AsRef<[u8]>) -> Self {
        let value = value.as_ref();
        self.varint(u64::from(field) << 3 | 2);
        self.varint(value.len() as u64);
        self.0.extend(value);
        self
    }

    /// A list of floats, packed.
    pub(super) fn floats(self, field: u32, values: &[f32]) -> Self {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.bytes(field, bytes)
    }

    /// A list of integers, packed.
    pub(super) fn ints(self, field: u32, values: &[i64]) -> Self {
        let mut packed = Self::default();
        values.iter().for_each(|&v| packed.varint(v as u64));
        self.bytes(field, packed)
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

impl AsRef<[u8]> for Message {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// An attribute of an operator, of that kind of value and without one yet.
pub(super) fn attribute(name: &str, kind: i64) -> Message {
    Message::default().bytes(1, name).int(20, kind)
}

/// An attribute that is an integer.
pub(super) fn int(name: &str, value: i64) -> Message {
    attribute(name, 2).int(3, value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_specification_come_out() {
        // protobuf.dev/programming-guides/encoding
        assert_eq!(Message::default().int(1, 150).into_bytes(), [0x08, 0x96, 0x01]);
        assert_eq!(Message::default().bytes(2, "testing").into_bytes(), b"\x12\x07testing");
        assert_eq!(Message::default().ints(6, &[3, 270, 86942]).into_bytes(), b"\x32\x06\x03\x8e\x02\x9e\xa7\x05");
        let minus_two = [0x08, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        assert_eq!(Message::default().int(1, -2).into_bytes(), minus_two);
        assert_eq!(Message::default().floats(2, &[1.0]).into_bytes(), [0x12, 4, 0, 0, 0x80, 0x3f]);
    }
}
