//! The numbers of one question.

use super::{Contract, Dtype, Input, SizeInfo};

/// The values of an input, row-major.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Of [`Dtype::F32`].
    F32(Vec<f32>),
    /// Of [`Dtype::I64`].
    I64(Vec<i64>),
    /// Of [`Dtype::Bool`].
    Bool(Vec<bool>),
}

impl Values {
    fn new(dtype: Dtype) -> Self {
        match dtype {
            Dtype::F32 => Self::F32(Vec::new()),
            Dtype::I64 => Self::I64(Vec::new()),
            Dtype::Bool => Self::Bool(Vec::new()),
        }
    }

    fn clear(&mut self) {
        match self {
            Self::F32(values) => values.clear(),
            Self::I64(values) => values.clear(),
            Self::Bool(values) => values.clear(),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::F32(values) => values.len(),
            Self::I64(values) => values.len(),
            Self::Bool(values) => values.len(),
        }
    }
}

/// A question in numbers: raw counts and times, for the network to scale as it was trained.
#[derive(Clone, Debug)]
pub struct Inputs {
    contract: &'static Contract,
    sizes: Vec<usize>,
    values: Vec<Values>,
}

impl Inputs {
    /// Buffers for questions of a contract.
    #[must_use]
    pub fn new(contract: &'static Contract) -> Self {
        let values = contract.inputs.iter().map(|input| Values::new(input.dtype)).collect();
        Self { contract, sizes: vec![0; contract.sizes.len()], values }
    }

    /// Whose questions these are.
    #[must_use]
    pub fn contract(&self) -> &'static Contract {
        self.contract
    }

    /// Forgets everything but the buffers.
    pub fn clear(&mut self) {
        self.sizes.fill(0);
        self.values.iter_mut().for_each(Values::clear);
    }

    /// All inputs, in the order of the contract.
    #[must_use]
    pub fn values(&self) -> &[Values] {
        &self.values
    }

    /// The same to be written to.
    pub fn values_mut(&mut self) -> &mut [Values] {
        &mut self.values
    }

    /// Says what the sizes of the contract are at this question.
    ///
    /// # Panics
    ///
    /// If these are not as many as the contract has.
    pub fn set_sizes(&mut self, sizes: &[usize]) {
        self.sizes.copy_from_slice(sizes);
    }

    /// The sizes of the contract at this question.
    #[must_use]
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// The same in words, as `3 nodes, 2 edges`.
    #[must_use]
    pub fn sizes_in_words(&self) -> String {
        let named = |(size, number): (&SizeInfo, &usize)| format!("{number} {}", size.name);
        self.contract.sizes.iter().zip(&self.sizes).map(named).collect::<Vec<_>>().join(", ")
    }

    /// A size by name.
    ///
    /// # Panics
    ///
    /// If the contract has none of that name.
    #[must_use]
    pub fn size(&self, name: &str) -> usize {
        let place = self.contract.sizes.iter().position(|size| size.name == name);
        self.sizes[place.unwrap_or_else(|| panic!("the contract has no size `{name}`"))]
    }

    /// The values of a table or list of numbers.
    ///
    /// # Panics
    ///
    /// If the contract has no such input of [`Dtype::F32`].
    #[must_use]
    pub fn floats(&self, name: &str) -> &[f32] {
        match self.named(name) {
            Some(Values::F32(values)) => values,
            _ => panic!("the contract has no float32 input `{name}`"),
        }
    }

    /// The values of a list of indices.
    ///
    /// # Panics
    ///
    /// If the contract has no such input of [`Dtype::I64`].
    #[must_use]
    pub fn integers(&self, name: &str) -> &[i64] {
        match self.named(name) {
            Some(Values::I64(values)) => values,
            _ => panic!("the contract has no int64 input `{name}`"),
        }
    }

    /// The values of a mask.
    ///
    /// # Panics
    ///
    /// If the contract has no such input of [`Dtype::Bool`].
    #[must_use]
    pub fn flags(&self, name: &str) -> &[bool] {
        match self.named(name) {
            Some(Values::Bool(values)) => values,
            _ => panic!("the contract has no bool input `{name}`"),
        }
    }

    fn named(&self, name: &str) -> Option<&Values> {
        self.contract.input(name).map(|place| &self.values[place])
    }

    /// The shape of an input at this question.
    pub fn shape<'a>(&'a self, input: &'a Input) -> impl ExactSizeIterator<Item = usize> {
        input.shape_by(|place| self.sizes[place])
    }

    /// Whether every input has as many values as its shape says.
    #[must_use]
    pub fn are_whole(&self) -> bool {
        let mut all = self.contract.inputs.iter().zip(&self.values);
        all.all(|(input, values)| self.shape(input).product::<usize>() == values.len())
    }
}
