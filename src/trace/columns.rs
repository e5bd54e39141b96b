//! Columns in memory and in Parquet: the only file that knows how polars stores them.

use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};

use polars::prelude::{
    ArrowDataType, ChunkedArray, Column, DataFrame, NamedFrom, PolarsNumericType, PolarsPhysicalType, Series,
};
use polars::prelude::{BooleanType, Float32Type, Float64Type, StringType, UInt32Type, UInt64Type};
use polars_io::SerReader;
use polars_io::parquet::{read::ParquetReader, write::KeyValueMetadata, write::ParquetWriter};

use super::error::Problems;

/// The columns of one Parquet file.
pub(super) struct Frame<'a> {
    file: &'a str,
    data: DataFrame,
}

/// Columns as the bytes of a Parquet file (zstd, row groups of 2¹⁸ rows) with `facts` in its footer. The columns must be
/// equally long. Equal columns give equal bytes.
pub(super) fn encode(columns: Vec<Column>, facts: &[(&str, String)]) -> Result<Vec<u8>, String> {
    let facts = facts.iter().map(|(key, value)| (format!("distill.{key}"), value.clone())).collect();
    let mut data = DataFrame::new_infer_height(columns).map_err(|e| e.to_string())?;
    let mut bytes = Vec::new();
    ParquetWriter::new(&mut bytes)
        .with_row_group_size(Some(1 << 18))
        .set_parallel(false) // Parts are what runs in parallel.
        .with_key_value_metadata(Some(KeyValueMetadata::from_static(facts)))
        .finish(&mut data)
        .map_err(|e| e.to_string())?;
    Ok(bytes)
}

/// A column from values.
pub(super) fn column<C, T>(name: &str, values: C) -> Column
where
    C: AsRef<T>,
    T: ?Sized,
    Series: NamedFrom<C, T>,
{
    Series::new(name.into(), values).into()
}

/// What a cell of a table may be.
pub(super) trait Cell: Sized {
    /// A column of such cells.
    fn column(name: &str, cells: Vec<Self>) -> Column;
    /// The cells of a column; `None`, with the reasons reported, if the column is missing or of another type, or a cell
    /// is null or NaN (or infinite, in f64) where it must not be.
    fn cells(frame: &Frame<'_>, name: &str, problems: &mut Problems) -> Option<Vec<Self>>;
}

/// Implements [`Cell`]: Rust type, how its cells are read.
macro_rules! cell {
    ($type:ty, |$frame:ident, $name:ident, $problems:ident| $cells:expr) => {
        impl Cell for $type {
            fn column(name: &str, cells: Vec<Self>) -> Column {
                column(name, cells)
            }
            fn cells($frame: &Frame<'_>, $name: &str, $problems: &mut Problems) -> Option<Vec<Self>> {
                $cells
            }
        }
    };
}

cell!(u32, |frame, name, problems| Some(frame.slice::<UInt32Type>(name, problems)?.to_vec()));
cell!(u64, |frame, name, problems| Some(frame.slice::<UInt64Type>(name, problems)?.to_vec()));
cell!(Option<u32>, |frame, name, problems| Some(frame.typed::<UInt32Type>(name, problems)?.iter().collect()));
cell!(bool, |frame, name, problems| Some(frame.full::<BooleanType>(name, problems)?.iter().flatten().collect()));
cell!(String, |frame, name, problems| Some(frame.strings(name, problems)?.into_iter().map(str::to_owned).collect()));
cell!(f32, |frame, name, problems| Some(frame.slice::<Float32Type>(name, problems)?.to_vec()));
cell!(f64, |frame, name, problems| {
    let cells = frame.slice::<Float64Type>(name, problems)?.to_vec();
    frame.without(name, cells, |x| !x.is_finite(), "is NaN or infinite, expected a finite number", problems)
});
cell!(Option<f64>, |frame, name, problems| {
    let cells = frame.typed::<Float64Type>(name, problems)?.iter().collect();
    frame.without(
        name,
        cells,
        |x| x.is_some_and(|x| !x.is_finite()),
        "is NaN or infinite, expected a finite number or null",
        problems,
    )
});
cell!(Option<f32>, |frame, name, problems| {
    let cells = frame.typed::<Float32Type>(name, problems)?.iter().collect();
    frame.without(name, cells, |x| x.is_some_and(f32::is_nan), "is NaN, expected a number or null", problems)
});

impl<'a> Frame<'a> {
    /// Decodes the bytes of a Parquet file; `file` is its name in reports.
    pub(super) fn decode(file: &'a str, bytes: &[u8], problems: &mut Problems) -> Option<Self> {
        let mut reader = ParquetReader::new(Cursor::new(bytes)).set_rechunk(true);
        let mut unknown = Vec::new();
        let read = || {
            let schema = reader.schema()?;
            let fields = schema.iter().filter(|(_, field)| !is_plain(field.dtype()));
            unknown.extend(fields.map(|(name, field)| (name.clone(), format!("{:?}", field.dtype()))));
            // polars panics on some types that it was built without, hence the look at the types first.
            if unknown.is_empty() { reader.finish().map(Some) } else { Ok(None) }
        };
        // polars reports most damage as an error, but some of it by a panic.
        let reason = match catch_unwind(AssertUnwindSafe(read)) {
            Ok(Ok(Some(data))) => return Some(Self { file, data }),
            Ok(Ok(None)) => {
                for (name, dtype) in unknown {
                    let message = format_args!("has type {dtype}, which no column of the format has");
                    problems.add(file, Some(&name), None, message);
                }
                return None;
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => "its contents are damaged".to_owned(),
        };
        problems.add(file, None, None, format_args!("is not a readable Parquet file: {reason}"));
        None
    }

    /// Name of the file, for reports.
    pub(super) fn file(&self) -> &'a str {
        self.file
    }

    /// Number of rows.
    pub(super) fn rows(&self) -> usize {
        self.data.height()
    }

    /// Reports columns that are not among `names`.
    pub(super) fn check_names<'n>(&self, names: impl Iterator<Item = &'n str> + Clone, problems: &mut Problems) {
        for name in self.data.get_column_names() {
            if !names.clone().any(|n| n == name.as_str()) {
                let message = format_args!("is not in the format; drop it, or add it to the manifest's features");
                problems.add(self.file, Some(name), None, message);
            }
        }
    }

    /// Values of a number column without nulls; `None`, with the reasons reported, otherwise.
    pub(super) fn slice<T: PolarsNumericType>(&self, name: &str, problems: &mut Problems) -> Option<&[T::Native]> {
        // Nulls are excluded and the frame was rechunked, so the values are one slice.
        Some(self.full::<T>(name, problems)?.cont_slice().expect("one chunk without nulls"))
    }

    /// Values of a text column without nulls; `None`, with the reasons reported, otherwise.
    pub(super) fn strings(&self, name: &str, problems: &mut Problems) -> Option<Vec<&str>> {
        Some(self.full::<StringType>(name, problems)?.iter().flatten().collect())
    }

    /// A column of this type; `None`, with the reason reported, otherwise.
    fn typed<T: PolarsPhysicalType>(&self, name: &str, problems: &mut Problems) -> Option<&ChunkedArray<T>> {
        let Ok(column) = self.data.column(name) else {
            problems.add(self.file, Some(name), None, format_args!("is missing"));
            return None;
        };
        let cells = column.as_materialized_series().unpack::<T>();
        if cells.is_err() {
            let (found, expected) = (column.dtype(), T::get_static_dtype());
            let message = format_args!("has type {found}, expected {expected}");
            problems.add(self.file, Some(name), None, message);
        }
        cells.ok()
    }

    /// The same without nulls; each null is reported.
    fn full<T: PolarsPhysicalType>(&self, name: &str, problems: &mut Problems) -> Option<&ChunkedArray<T>> {
        let cells = self.typed::<T>(name, problems)?;
        if cells.null_count() == 0 {
            return Some(cells);
        }
        for (row, null) in cells.is_null().iter().enumerate() {
            if null == Some(true) {
                problems.add(self.file, Some(name), Some(row), format_args!("is null, expected a value"));
            }
        }
        None
    }

    /// `cells`, unless one is `bad`; each bad one gets the complaint.
    fn without<T>(
        &self,
        name: &str,
        cells: Vec<T>,
        bad: impl Fn(&T) -> bool,
        complaint: &str,
        problems: &mut Problems,
    ) -> Option<Vec<T>> {
        let before = problems.count;
        for (row, _) in cells.iter().enumerate().filter(|(_, cell)| bad(cell)) {
            problems.add(self.file, Some(name), Some(row), format_args!("{complaint}"));
        }
        (problems.count == before).then_some(cells)
    }
}

/// Whether polars, as it is built here, reads columns of this type.
fn is_plain(dtype: &ArrowDataType) -> bool {
    use ArrowDataType::{Boolean, Float32, Float64, Int32, Int64, LargeUtf8, Null, UInt32, UInt64, Utf8, Utf8View};
    matches!(dtype, Boolean | Float32 | Float64 | Int32 | Int64 | LargeUtf8 | Null | UInt32 | UInt64 | Utf8 | Utf8View)
}
