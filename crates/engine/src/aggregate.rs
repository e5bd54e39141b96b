//! The aggregate function `distill_sums`: the answer to a question about all rows.
//!
//! The question is part of the function, not an argument: `DataFusion` would turn a literal argument into an array of
//! as many copies as a batch has rows.

use crate::{
    failure::WorkFailure,
    work::{self, Sums},
};
use arrow::{
    array::{ArrayRef, AsArray},
    datatypes::DataType,
};
use datafusion::{
    common::{Result, ScalarValue},
    logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Signature, Volatility, function::AccumulatorArgs},
};
use std::{
    fmt,
    hash::{Hash, Hasher},
    sync::Arc,
};

/// The function's name in plans.
pub const NAME: &str = "distill_sums";

/// `distill_sums` of one question. Its arguments are the columns of the table, its state and its result bytes.
pub struct DistillSums {
    /// Or why it cannot be answered here.
    question: Result<Arc<[u8]>, String>,
    signature: Signature,
}

impl DistillSums {
    /// The function for a question.
    #[must_use]
    pub fn answering(question: Arc<[u8]>) -> AggregateUDF {
        Self::of(Ok(question))
    }

    /// The function of a question that cannot be answered here. It fails with this text when it is run.
    #[must_use]
    pub fn refusing(text: String) -> AggregateUDF {
        Self::of(Err(text))
    }

    fn of(question: Result<Arc<[u8]>, String>) -> AggregateUDF {
        AggregateUDF::from(Self { question, signature: Signature::variadic_any(Volatility::Immutable) })
    }

    /// The question.
    ///
    /// # Errors
    ///
    /// If it cannot be answered here.
    pub fn question(&self) -> Result<&Arc<[u8]>> {
        self.question.as_ref().map_err(|text| WorkFailure::text(text.clone()))
    }
}

/// Without the question, which may be of many megabytes.
impl fmt::Debug for DistillSums {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DistillSums").field("question", &self.question.as_ref().map(|bytes| bytes.len())).finish()
    }
}

impl PartialEq for DistillSums {
    fn eq(&self, other: &Self) -> bool {
        self.question == other.question
    }
}

impl Eq for DistillSums {}

/// By its length alone: plans are hashed often, and never hold two questions.
impl Hash for DistillSums {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.question.as_ref().map_or(0, |bytes| bytes.len()).hash(state);
    }
}

impl AggregateUDFImpl for DistillSums {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        // Its one state has the same type, by the trait's default.
        Ok(DataType::Binary)
    }

    fn accumulator(&self, _arguments: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Answer { question: self.question()?.clone(), sums: None }))
    }
}

/// The sums of one partition, or of all.
#[derive(Debug)]
struct Answer {
    question: Arc<[u8]>,
    /// None before the first use, so that a partition which waits for its turn takes no memory.
    sums: Option<Box<dyn Sums>>,
}

impl Answer {
    fn sums(&mut self) -> Result<&mut Box<dyn Sums>> {
        let sums = match self.sums.take() {
            Some(sums) => sums,
            None => work::start(&self.question).map_err(|failure| WorkFailure::wrap(&failure))?,
        };
        Ok(self.sums.insert(sums))
    }

    fn written(&mut self) -> Result<ScalarValue> {
        let bytes = self.sums()?.to_bytes().map_err(|failure| WorkFailure::wrap(&failure))?;
        Ok(ScalarValue::Binary(Some(bytes)))
    }
}

impl Accumulator for Answer {
    fn update_batch(&mut self, columns: &[ArrayRef]) -> Result<()> {
        self.sums()?.add(columns).map_err(|failure| WorkFailure::wrap(&failure))
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let states = states[0].as_binary::<i32>();
        let sums = self.sums()?;
        for state in states.iter() {
            let state = state.ok_or_else(|| WorkFailure::text("a partition sent no sums".to_owned()))?;
            sums.merge(state).map_err(|failure| WorkFailure::wrap(&failure))?;
        }
        Ok(())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.written()?])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.written()
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.sums.as_ref().map_or(0, |sums| sums.size())
    }
}
