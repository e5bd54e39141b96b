//! Columns as an Arrow stream, which other libraries take without knowing this one (the Arrow PyCapsule interface).

use numpy::{Element, PyReadonlyArray1};
use polars_arrow::{
    array::{Array, BooleanArray, PrimitiveArray, StructArray, Utf8Array},
    datatypes::{ArrowDataType, Field},
    ffi::{ArrowArrayStream, export_iterator},
    types::NativeType,
};
use pyo3::{exceptions::PyTypeError, prelude::*, types::PyCapsule};

/// A stream on its way: it is used by one thread at a time.
struct Stream(#[expect(dead_code, reason = "it is read through the capsule")] ArrowArrayStream);

// SAFETY: what the stream holds are arrays in memory, shared by counted references that may go from thread to thread.
unsafe impl Send for Stream {}

fn numbers<T: NativeType + Element>(values: &Bound<'_, PyAny>) -> Option<Box<dyn Array>> {
    let values = values.extract::<PyReadonlyArray1<'_, T>>().ok()?;
    Some(PrimitiveArray::from_slice(values.as_slice().ok()?).boxed())
}

/// A column: an array of numbers or truth values, or a list of texts.
fn column(values: &Bound<'_, PyAny>) -> Option<Box<dyn Array>> {
    let truths = || {
        let values = values.extract::<PyReadonlyArray1<'_, bool>>().ok()?;
        Some(BooleanArray::from_slice(values.as_slice().ok()?).boxed())
    };
    let texts = || {
        let values = values.extract::<Vec<Option<String>>>().ok()?;
        Some(Utf8Array::<i64>::from_iter(values).boxed())
    };
    numbers::<f64>(values)
        .or_else(|| numbers::<f32>(values))
        .or_else(|| numbers::<i64>(values))
        .or_else(|| numbers::<u32>(values))
        .or_else(truths)
        .or_else(texts)
}

/// An Arrow stream of one batch with these columns.
#[pyfunction]
pub(super) fn arrow_stream<'py>(
    py: Python<'py>,
    columns: Vec<(String, Bound<'py, PyAny>)>,
) -> PyResult<Bound<'py, PyCapsule>> {
    let (mut fields, mut arrays) = (Vec::new(), Vec::new());
    for (name, values) in columns {
        let array = column(&values).ok_or_else(|| {
            PyTypeError::new_err(format!("column `{name}` is neither an array of numbers nor a list of texts"))
        })?;
        fields.push(Field::new(name.into(), array.dtype().clone(), true));
        arrays.push(array);
    }
    let rows = arrays.first().map_or(0, |array| array.len());
    let dtype = ArrowDataType::Struct(fields);
    let batch =
        StructArray::try_new(dtype.clone(), rows, arrays, None).map_err(|e| PyTypeError::new_err(e.to_string()))?;
    let batches = Box::new(std::iter::once(Ok(batch.boxed())));
    let stream = Stream(export_iterator(batches, Field::new("".into(), dtype, false)));
    PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
}
