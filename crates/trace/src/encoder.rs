//! Columns to Parquet, row group by row group: the only file that knows how polars writes them.
//!
//! Most columns are numbers without nulls. Their pages are put together here, as plain values, since that is a copy of
//! memory: what makes them small is zstd, which finds that candidates look much as they did at the decision before. The
//! dictionaries that polars would build from them hide this (files are a third larger) and take most of its time.

use polars::error::PolarsError;
use polars_arrow::{
    array::{Array, BooleanArray, DictionaryArray, PrimitiveArray, Utf8ViewArray},
    datatypes::{ArrowDataType, ArrowSchema, Field, IntegerType},
    types::NativeType,
};
use polars_parquet::{
    parquet::{
        CowBuffer,
        error::ParquetError,
        metadata::Descriptor,
        page::{DataPage, DataPageHeader, DataPageHeaderV1},
    },
    write::{
        CompressionOptions, Compressor, DynIter, DynStreamingIterator, Encoding, FallibleStreamingIterator, FileWriter,
        KeyValue, Page, ParquetType, StatisticsOptions, Version, WriteOptions, ZstdLevel, array_to_columns,
        schema_to_metadata_key, write_def_levels,
    },
};

use sched_distill_core::file::PendingFile;

/// Level 3, the default of zstd, takes more than twice the time for files that are 2 % smaller.
const ZSTD_LEVEL: i32 = 1;

/// Most rows of a row group. Parquet counts the bytes of a page in an i32, and a column is one page here.
const MOST_ROWS: usize = 1 << 27;

/// A Parquet file under way. Equal calls give equal bytes. No call waits for another thread.
pub(super) struct Encoder {
    writer: FileWriter<PendingFile>,
    footer: Vec<KeyValue>,
    rows: usize,
}

/// Names and types of the columns of a file. All may be null as far as Parquet is concerned.
pub(super) fn schema<'a>(columns: impl Iterator<Item = (&'a str, ArrowDataType)>) -> ArrowSchema {
    columns.map(|(name, dtype)| (name.into(), Field::new(name.into(), dtype, true))).collect()
}

impl Encoder {
    /// A file with these columns and `facts` in its footer.
    pub(super) fn new(file: PendingFile, schema: ArrowSchema, facts: &[(&str, String)]) -> Result<Self, String> {
        let facts = facts.iter().map(|(key, value)| (format!("distill.{key}"), Some(value.clone())));
        let facts = facts.map(|(key, value)| KeyValue { key, value });
        let footer = [schema_to_metadata_key(&schema)].into_iter().chain(facts).collect();
        let level = ZstdLevel::try_new(ZSTD_LEVEL).map_err(|e| said(&e))?;
        let options = WriteOptions {
            statistics: StatisticsOptions::empty(),
            version: Version::V1,
            compression: CompressionOptions::Zstd(Some(level)),
            data_page_size: None,
        };
        let writer = FileWriter::try_new(file, schema, options).map_err(|e| said(&e))?;
        Ok(Self { writer, footer, rows: 0 })
    }

    /// Number of rows so far.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Appends a row group of so many rows; none if there are none. There must be cells for each column of the schema, in
    /// order; a column is asked for when the one before has been written.
    pub(super) fn write(
        &mut self,
        rows: usize,
        columns: impl Iterator<Item = Cells> + Send + Sync,
    ) -> Result<(), String> {
        if rows == 0 {
            return Ok(());
        }
        if rows > MOST_ROWS {
            return Err(format!("{rows} rows at a time, expected at most {MOST_ROWS}"));
        }
        let options = self.writer.options();
        let types = self.writer.parquet_schema().fields().to_vec();
        let columns = columns.zip(types).map(|(cells, column)| {
            let pages = cells.pages(column, options)?.map(|page| page.map_err(ParquetError::from));
            let pages = Compressor::new(pages, options.compression, Vec::new());
            Ok(DynStreamingIterator::new(pages.map_err(PolarsError::from)))
        });
        self.writer.write(rows as u64, DynIter::new(columns)).map_err(|e| said(&e))?;
        self.rows += rows;
        Ok(())
    }

    /// Writes the footer and hands the file back.
    pub(super) fn finish(mut self) -> Result<PendingFile, String> {
        self.writer.end(Some(std::mem::take(&mut self.footer))).map_err(|e| said(&e))?;
        Ok(self.writer.into_inner())
    }
}

/// What went wrong. That a disk is full reaches us as a file out of specification.
fn said(error: &dyn std::fmt::Display) -> String {
    let text = error.to_string();
    text.split_once("underlying IO error: ").map_or(text.clone(), |(_, cause)| format!("cannot be written: {cause}"))
}

/// The cells of one column of a row group.
pub(super) enum Cells {
    /// Numbers without nulls: how many, and their bytes.
    Numbers(usize, Vec<u8>),
    /// Anything else.
    Array(Box<dyn Array>, Encoding),
}

impl Cells {
    /// Numbers without nulls.
    pub(super) fn numbers<T: NativeType>(values: &[T]) -> Self {
        let mut bytes = vec![0; size_of_val(values)];
        for (bytes, value) in bytes.chunks_exact_mut(size_of::<T>()).zip(values) {
            bytes.copy_from_slice(value.to_le_bytes().as_ref());
        }
        Self::Numbers(values.len(), bytes)
    }

    /// Numbers with nulls.
    pub(super) fn nullable<T: NativeType>(values: Vec<Option<T>>) -> Self {
        Self::Array(PrimitiveArray::from(values).boxed(), Encoding::RleDictionary)
    }

    /// Texts.
    pub(super) fn texts(values: &[String]) -> Self {
        Self::Array(Utf8ViewArray::from_slice_values(values).boxed(), Encoding::RleDictionary)
    }

    /// Texts, given by their places in a list.
    pub(super) fn listed_texts(places: Vec<u32>, list: &[&str]) -> Self {
        let list = Utf8ViewArray::from_slice_values(list).boxed();
        let dtype = ArrowDataType::Dictionary(IntegerType::UInt32, Box::new(list.dtype().clone()), false);
        let texts = DictionaryArray::try_new(dtype, PrimitiveArray::from_vec(places), list);
        Self::Array(texts.expect("places are below the length of the list").boxed(), Encoding::RleDictionary)
    }

    /// Flags.
    pub(super) fn flags(values: &[bool]) -> Self {
        Self::Array(BooleanArray::from_slice(values).boxed(), Encoding::Plain)
    }

    /// The pages of a column that has no columns within.
    fn pages(
        self,
        column: ParquetType,
        options: WriteOptions,
    ) -> Result<DynIter<'static, Result<Page, PolarsError>>, PolarsError> {
        match (self, column) {
            (Self::Numbers(rows, values), ParquetType::PrimitiveType(primitive_type)) => {
                let mut bytes = Vec::with_capacity(values.len() + 16);
                write_def_levels(&mut bytes, true, None, rows, options.version)?;
                bytes.extend(values);
                let header = DataPageHeaderV1 {
                    num_values: rows as i32,
                    encoding: Encoding::Plain.into(),
                    definition_level_encoding: Encoding::Rle.into(),
                    repetition_level_encoding: Encoding::Rle.into(),
                    statistics: None,
                };
                let descriptor = Descriptor { primitive_type, max_def_level: 1, max_rep_level: 0 };
                let page = DataPage::new(DataPageHeader::V1(header), CowBuffer::Owned(bytes), descriptor, rows);
                Ok(DynIter::new(std::iter::once(Ok(Page::Data(page)))))
            }
            (Self::Array(array, encoding), column) => {
                Ok(array_to_columns(array, column, options, &[encoding])?.swap_remove(0))
            }
            (Self::Numbers(..), ParquetType::GroupType { field_info, .. }) => {
                Err(PolarsError::ComputeError(format!("column `{}` is not one of numbers", field_info.name).into()))
            }
        }
    }
}
