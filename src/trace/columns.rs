//! Parquet to columns: the only file that knows how polars reads them.

use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};

use polars::prelude::{ArrowDataType, ChunkedArray, DataFrame, PolarsNumericType, PolarsPhysicalType};
use polars::prelude::{BooleanType, Float32Type, Float64Type, StringType, UInt32Type, UInt64Type};
use polars_io::SerReader;
use polars_io::parquet::read::ParquetReader;

use super::encoder::Cells;
use super::error::Problems;

/// The columns of one Parquet file.
pub(super) struct Frame<'a> {
    file: &'a str,
    data: DataFrame,
}

/// What a cell of a table may be.
pub(super) trait Cell: Clone {
    /// The Arrow type of a column of such cells.
    const TYPE: ArrowDataType;
    /// What is wrong with a cell that is not sound.
    const COMPLAINT: &'static str = "";

    /// A column of such cells, to be written.
    fn column(cells: Vec<Self>) -> Cells;

    /// The cells of a column, sound or not; `None`, with the reasons reported, if the column is missing or of another
    /// type, or a cell is null where it must not be.
    fn read(frame: &Frame<'_>, name: &str, problems: &mut Problems) -> Option<Vec<Self>>;

    /// Whether the cell may be in a trace.
    fn is_sound(&self) -> bool {
        true
    }

    /// Reports each cell of a column that is not sound; returns whether all are.
    fn check(file: &str, name: &str, cells: impl Iterator<Item = Self>, problems: &mut Problems) -> bool {
        let before = problems.count;
        for (row, _) in cells.enumerate().filter(|(_, cell)| !cell.is_sound()) {
            problems.add(file, Some(name), Some(row), format_args!("{}", Self::COMPLAINT));
        }
        problems.count == before
    }

    /// The cells of a column if all are sound; each that is not is reported.
    fn cells(frame: &Frame<'_>, name: &str, problems: &mut Problems) -> Option<Vec<Self>> {
        let cells = Self::read(frame, name, problems)?;
        Self::check(frame.file(), name, cells.iter().cloned(), problems).then_some(cells)
    }
}

/// Implements [`Cell`]: Rust and Arrow type, how cells are written and read, which are sound and what others are.
macro_rules! cell {
    ($type:ty, $arrow:ident, |$cells:ident| $write:expr, |$frame:ident, $name:ident, $problems:ident| $read:expr
     $(, |$cell:ident| $sound:expr, $complaint:expr)?) => {
        impl Cell for $type {
            const TYPE: ArrowDataType = ArrowDataType::$arrow;
            $(const COMPLAINT: &'static str = $complaint;)?
            fn column($cells: Vec<Self>) -> Cells {
                $write
            }
            fn read($frame: &Frame<'_>, $name: &str, $problems: &mut Problems) -> Option<Vec<Self>> {
                Some($read)
            }
            $(fn is_sound(&self) -> bool {
                let $cell = self;
                $sound
            })?
        }
    };
}

cell!(u32, UInt32, |cells| Cells::numbers(&cells), |frame, name, problems| {
    frame.slice::<UInt32Type>(name, problems)?.to_vec()
});
cell!(u64, UInt64, |cells| Cells::numbers(&cells), |frame, name, problems| {
    frame.slice::<UInt64Type>(name, problems)?.to_vec()
});
cell!(Option<u32>, UInt32, |cells| Cells::nullable(cells), |frame, name, problems| {
    frame.typed::<UInt32Type>(name, problems)?.iter().collect()
});
cell!(bool, Boolean, |cells| Cells::flags(&cells), |frame, name, problems| {
    frame.full::<BooleanType>(name, problems)?.iter().flatten().collect()
});
cell!(String, Utf8View, |cells| Cells::texts(&cells), |frame, name, problems| {
    frame.strings(name, problems)?.into_iter().map(str::to_owned).collect()
});
cell!(
    f64,
    Float64,
    |cells| Cells::numbers(&cells),
    |frame, name, problems| frame.slice::<Float64Type>(name, problems)?.to_vec(),
    |cell| cell.is_finite(),
    "is NaN or infinite, expected a finite number"
);
cell!(
    Option<f64>,
    Float64,
    |cells| Cells::nullable(cells),
    |frame, name, problems| frame.typed::<Float64Type>(name, problems)?.iter().collect(),
    |cell| cell.is_none_or(f64::is_finite),
    "is NaN or infinite, expected a finite number or null"
);
cell!(
    Option<f32>,
    Float32,
    |cells| Cells::nullable(cells),
    |frame, name, problems| frame.typed::<Float32Type>(name, problems)?.iter().collect(),
    |cell| cell.is_none_or(|x| !x.is_nan()),
    "is NaN, expected a number or null"
);

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
}

/// Whether polars, as it is built here, reads columns of this type.
fn is_plain(dtype: &ArrowDataType) -> bool {
    use ArrowDataType::{Boolean, Float32, Float64, Int32, Int64, LargeUtf8, Null, UInt32, UInt64, Utf8, Utf8View};
    matches!(dtype, Boolean | Float32 | Float64 | Int32 | Int64 | LargeUtf8 | Null | UInt32 | UInt64 | Utf8 | Utf8View)
}
