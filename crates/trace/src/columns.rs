//! Parquet to columns: the only file that knows how polars reads them.

use std::{
    fs::File,
    io::Cursor,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
};

use polars::{
    error::PolarsError,
    prelude::{
        ArrowDataType, BooleanType, ChunkedArray, DataFrame, Float32Type, Float64Type, PolarsNumericType,
        PolarsPhysicalType, StringType, UInt32Type, UInt64Type,
    },
};
use polars_io::{
    SerReader,
    mmap::MmapBytesReader,
    parquet::{metadata::FileMetadataRef, read::ParquetReader},
};
use polars_parquet::arrow::read::{FileMetadata, infer_schema};

use super::{encoder::Cells, error::Problems};

/// The columns of one Parquet file.
pub(super) struct Frame<'a> {
    file: &'a str,
    /// Row of the file that is the first one here.
    first_row: usize,
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

    /// Reports each cell of a column that is not sound, by its row if the first one is `first_row`; returns whether all are.
    fn check(
        file: &str,
        name: &str,
        first_row: usize,
        cells: impl Iterator<Item = Self>,
        problems: &mut Problems,
    ) -> bool {
        let before = problems.count;
        for (row, _) in (first_row..).zip(cells).filter(|(_, cell)| !cell.is_sound()) {
            problems.add(file, Some(name), Some(row), format_args!("{}", Self::COMPLAINT));
        }
        problems.count == before
    }

    /// The cells of a column if all are sound; each that is not is reported.
    fn cells(frame: &Frame<'_>, name: &str, problems: &mut Problems) -> Option<Vec<Self>> {
        let cells = Self::read(frame, name, problems)?;
        Self::check(frame.file(), name, frame.first_row, cells.iter().cloned(), problems).then_some(cells)
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
        Some(Self { file, first_row: 0, data: read(file, ParquetReader::new(Cursor::new(bytes)), problems)? })
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
                let row = self.first_row + row;
                problems.add(self.file, Some(name), Some(row), format_args!("is null, expected a value"));
            }
        }
        None
    }
}

/// Reads what a reader was told to read, in one chunk per column.
fn read<R: MmapBytesReader>(file: &str, reader: ParquetReader<R>, problems: &mut Problems) -> Option<DataFrame> {
    let mut reader = reader.set_rechunk(true);
    let mut unknown = Vec::new();
    let read = || {
        let plain = without_dictionaries(reader.get_metadata()?)?;
        if let Some(plain) = plain {
            reader.set_metadata(plain);
        }
        let schema = reader.schema()?;
        let fields = schema.iter().filter(|(_, field)| !is_plain(field.dtype()));
        unknown.extend(fields.map(|(name, field)| (name.clone(), format!("{:?}", field.dtype()))));
        // polars panics on some types that it was built without, hence the look at the types first.
        if unknown.is_empty() { reader.finish().map(Some) } else { Ok(None) }
    };
    let data = guarded(file, read, problems)?;
    for column in data.iter().flat_map(DataFrame::columns) {
        // The footer and the pages of a damaged file need not agree.
        let height = data.as_ref().map_or(0, DataFrame::height);
        if column.len() != height {
            problems.add(file, Some(column.name()), None, format_args!("has {} rows, expected {height}", column.len()));
            return None;
        }
    }
    for (name, dtype) in unknown {
        problems.add(file, Some(&name), None, format_args!("has type {dtype}, which no column of the format has"));
    }
    data
}

/// The footer of a file without what its writer said of Arrow types, where by these a column of texts is a dictionary: a kind
/// that pandas or polars wrote as categorical. Parquet itself has texts there.
fn without_dictionaries(metadata: &FileMetadataRef) -> Result<Option<FileMetadataRef>, PolarsError> {
    let is_dictionary = |dtype: &ArrowDataType| matches!(dtype, ArrowDataType::Dictionary(..));
    if !infer_schema(metadata)?.iter_values().any(|field| is_dictionary(field.dtype())) {
        return Ok(None);
    }
    let mut plain = FileMetadata::clone(metadata);
    plain.key_value_metadata = None;
    Ok(Some(plain.into()))
}

/// Whether a decoder of tables panics because it gets no memory, by what it says.
#[must_use]
pub fn lacks_memory(said: &str) -> bool {
    // Words of polars, which maps files into memory, and of zstd, which is in C.
    said.contains("OutOfMemory") || said.contains("null pointer")
}

/// Reports the damage that polars finds in a file, as an error or, for some of it, by a panic.
fn guarded<T>(file: &str, read: impl FnOnce() -> Result<T, PolarsError>, problems: &mut Problems) -> Option<T> {
    let reason = match catch_unwind(AssertUnwindSafe(read)) {
        Ok(Ok(found)) => return Some(found),
        Ok(Err(error)) => error.to_string(),
        Err(panic) => {
            let said = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
            match said.is_some_and(lacks_memory) {
                true => "there is not enough memory for it".to_owned(),
                false => "its contents are damaged".to_owned(),
            }
        }
    };
    problems.add(file, None, None, format_args!("is not a readable Parquet file: {reason}"));
    None
}

/// A Parquet file that is read some episodes at a time.
pub(super) struct FrameReader<'a> {
    file: &'a str,
    path: PathBuf,
    /// The columns to read; all if there are none.
    columns: &'static [&'static str],
    metadata: FileMetadataRef,
    /// Rows of the row groups that are still to be read.
    groups: std::vec::IntoIter<usize>,
    /// Rows read from the file.
    read: usize,
    /// Rows of the last episode read, which may go on.
    tail: Option<DataFrame>,
}

impl<'a> FrameReader<'a> {
    /// Reads the file's footer; `file` is its name in reports. Of `columns`, where there are any, `episode` must be one.
    pub(super) fn open(
        file: &'a str,
        path: &Path,
        columns: &'static [&'static str],
        problems: &mut Problems,
    ) -> Option<Self> {
        let footer = || {
            let mut reader = ParquetReader::new(File::open(path)?);
            Ok(reader.get_metadata()?.clone())
        };
        let metadata: FileMetadataRef = guarded(file, footer, problems)?;
        let groups: Vec<usize> = metadata.row_groups.iter().map(|group| group.num_rows()).collect();
        Some(Self { file, path: path.to_owned(), columns, metadata, groups: groups.into_iter(), read: 0, tail: None })
    }

    /// Rows of the whole file.
    pub(super) fn rows(&self) -> usize {
        self.metadata.row_groups.iter().map(|group| group.num_rows()).sum()
    }

    /// Rows of the pieces so far.
    pub(super) fn done(&self) -> usize {
        self.read - self.tail.as_ref().map_or(0, DataFrame::height)
    }

    /// The next piece of at least so many rows, unless the file ends; it ends where an episode does. `None` at the end, or
    /// with a problem.
    pub(super) fn next(&mut self, rows: usize, problems: &mut Problems) -> Option<Frame<'a>> {
        let first_row = self.done();
        let mut data = self.tail.take();
        loop {
            let mut more = 0;
            while more < rows
                && let Some(group) = self.groups.next()
            {
                more += group;
            }
            if more == 0 {
                return data.map(|data| Frame { file: self.file, first_row, data });
            }
            let part = self.part(more, problems)?;
            self.read += more;
            data = Some(match data {
                None => part,
                Some(before) => {
                    let whole = before.vstack(&part).map(|mut whole| {
                        whole.rechunk_mut();
                        whole
                    });
                    guarded(self.file, || whole, problems)?
                }
            });
            let height = data.as_ref().map_or(0, DataFrame::height);
            // A column that is not as it should be is reported by those who read the frame.
            let cut = data.as_ref().and_then(last_episode).unwrap_or(height);
            if cut > 0
                && let Some(data) = &data
            {
                self.tail = (cut < height).then(|| data.slice(cut as i64, height - cut));
                return Some(Frame { file: self.file, first_row, data: data.slice(0, cut) });
            }
        }
    }

    /// The next rows of the file.
    fn part(&self, rows: usize, problems: &mut Problems) -> Option<DataFrame> {
        let file = guarded(self.file, || Ok(File::open(&self.path)?), problems)?;
        let columns = (!self.columns.is_empty()).then(|| self.columns.iter().map(|&c| c.to_owned()).collect());
        let mut reader = ParquetReader::new(file).with_slice(Some((self.read, rows))).with_columns(columns);
        reader.set_metadata(self.metadata.clone());
        read(self.file, reader, problems)
    }
}

/// The row in which the last episode begins.
fn last_episode(data: &DataFrame) -> Option<usize> {
    let episodes = data.column("episode").ok()?.as_materialized_series().unpack::<UInt32Type>().ok()?;
    let episodes = episodes.cont_slice().ok()?;
    let last = *episodes.last()?;
    Some(episodes.iter().rposition(|&e| e != last).map_or(0, |row| row + 1))
}

/// Whether polars, as it is built here, reads columns of this type.
fn is_plain(dtype: &ArrowDataType) -> bool {
    use ArrowDataType::{Boolean, Float32, Float64, Int32, Int64, LargeUtf8, Null, UInt32, UInt64, Utf8, Utf8View};
    matches!(dtype, Boolean | Float32 | Float64 | Int32 | Int64 | LargeUtf8 | Null | UInt32 | UInt64 | Utf8 | Utf8View)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoder::{Encoder, schema};
    use polars::prelude::ArrowDataType;
    use polars_arrow::datatypes::IntegerType;
    use sched_distill_core::file::PendingFile;

    #[test]
    fn texts_that_were_written_as_categorical_are_read_as_texts() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("job.parquet");
        for (places, texts) in [
            (IntegerType::UInt32, ArrowDataType::Utf8View),
            (IntegerType::Int8, ArrowDataType::Utf8),
            (IntegerType::Int32, ArrowDataType::LargeUtf8),
        ] {
            let kind = ArrowDataType::Dictionary(places, Box::new(texts.clone()), false);
            let columns = [("kind", kind), ("age", ArrowDataType::Float32)].into_iter();
            let mut file = Encoder::new(PendingFile::create(&path).unwrap(), schema(columns), &[]).unwrap();
            let cells = [Cells::listed_texts(vec![1, 0, 1], &["free", "affinity"]), Cells::numbers(&[1f32, 2.0, 3.0])];
            file.write(3, cells.into_iter()).unwrap();
            file.finish().unwrap().commit().unwrap();
            let mut problems = Problems::default();
            let bytes = std::fs::read(&path).unwrap();
            let frame = Frame::decode("job.parquet", &bytes, &mut problems).unwrap();
            assert_eq!(frame.strings("kind", &mut problems).unwrap(), ["affinity", "free", "affinity"], "{texts:?}");
            assert_eq!(frame.slice::<polars::prelude::Float32Type>("age", &mut problems).unwrap(), [1.0, 2.0, 3.0]);
            let mut pieces = FrameReader::open("job.parquet", &path, &[], &mut problems).unwrap();
            assert_eq!(pieces.next(100, &mut problems).unwrap().rows(), 3);
            assert_eq!(problems.count, 0);
        }
    }
}
