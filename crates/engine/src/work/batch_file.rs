//! Files of batches that are written in the first pass that wants them and read in every later one.
//!
//! They are on the disk of whoever reads the part. What is there depends on the part and on what is asked for alone; so a file can be
//! lost at any time, and is made again by whoever needs it.

use crate::kept;
use anyhow::{Context, Result};
use arrow::{
    array::RecordBatch,
    datatypes::SchemaRef,
    error::ArrowError,
    ipc::{
        CompressionType, MetadataVersion,
        reader::FileReader,
        writer::{FileWriter, IpcWriteOptions},
    },
};
use std::{
    fs::{self, File},
    hash::{BuildHasher, Hasher, RandomState},
    io::{BufReader, BufWriter, ErrorKind},
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
    time::SystemTime,
};

/// Takes batches, one after the other.
pub(super) type Send<'a> = &'a mut dyn FnMut(RecordBatch) -> Result<()>;

/// Sends the batches of a file by its name; where there is none, those that `make` makes, which are written meanwhile.
pub(super) fn send_once_made(
    name: &str,
    schema: &SchemaRef,
    compression: Option<CompressionType>,
    make: impl FnOnce(Send<'_>) -> Result<()>,
    send: Send<'_>,
) -> Result<()> {
    let place = kept::batches()?.join(format!("{name}.arrow"));
    let open = || -> Result<_> {
        let file = File::open(&place)?;
        // For whoever deletes what nobody reads.
        let _ = file.set_modified(SystemTime::now());
        Ok(FileReader::try_new(BufReader::with_capacity(1 << 20, file), None)?)
    };
    // What is no file of batches, as one that lacks its end, is made anew.
    let Ok(mut reader) = open() else { return write(&place, schema, compression, make, send) };
    // A reader may trust lengths that were damaged, and panic.
    let mut next = || {
        catch_unwind(AssertUnwindSafe(|| reader.next().transpose()))
            .unwrap_or_else(|_| Err(ArrowError::IpcError("is not what was written".to_owned())))
    };
    while let Some(batch) = next().transpose() {
        let whole = batch.inspect_err(|_| _ = fs::remove_file(&place));
        send(whole.with_context(|| {
            format!("{}: was damaged, and is deleted; run the same command again", place.display())
        })?)?;
    }
    Ok(())
}

/// Writes batches, under another name until the file is whole and on the disk, and sends them.
fn write(
    place: &Path,
    schema: &SchemaRef,
    compression: Option<CompressionType>,
    make: impl FnOnce(Send<'_>) -> Result<()>,
    send: Send<'_>,
) -> Result<()> {
    // Others may be at the same file, in this process and elsewhere: a task that was given up here may still run.
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    if let Some(folder) = place.parent().filter(|_| number.is_multiple_of(256)) {
        kept::forget_unread(folder);
    }
    let unfinished = place.with_extension(format!("{:016x}-{number}.tmp", RandomState::new().build_hasher().finish()));
    let cannot =
        |error: ArrowError| anyhow::Error::new(error).context(format!("{}: cannot be written", place.display()));
    let written = || -> Result<()> {
        let options = IpcWriteOptions::try_new(64, false, MetadataVersion::V5)?.try_with_compression(compression)?;
        let file = File::create(&unfinished).map_err(|error| cannot(error.into()))?;
        let file = BufWriter::with_capacity(1 << 20, file);
        let mut writer = FileWriter::try_new_with_options(file, schema, options).map_err(cannot)?;
        make(&mut |batch| {
            writer.write(&batch).map_err(cannot)?;
            send(batch)
        })?;
        writer.finish().map_err(cannot)?;
        let file =
            writer.into_inner().map_err(cannot)?.into_inner().map_err(|error| cannot(error.into_error().into()))?;
        // A file that is there by its name is taken for whole, also after a power cut.
        match file.sync_all().and_then(|()| fs::rename(&unfinished, place)) {
            // Somebody else has tidied up; all batches were sent.
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            kept => kept.map_err(|error| cannot(error.into())),
        }
    };
    written().inspect_err(|_| _ = fs::remove_file(&unfinished))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::{
        array::{AsArray, Int64Array},
        datatypes::{DataType, Field, Int64Type, Schema},
    };
    use std::{cell::Cell, path::PathBuf, sync::Arc};

    #[test]
    fn what_is_made_once_is_read_and_what_is_damaged_is_made_again() -> Result<()> {
        let dir = tempfile::tempdir()?;
        kept::keep_in(dir.path());
        let schema = Arc::new(Schema::new(vec![Field::new("n", DataType::Int64, false)]));
        let made = Cell::new(0);
        let numbers = || -> Result<Vec<i64>> {
            let make = |put: Send<'_>| {
                made.set(made.get() + 1);
                let batch =
                    |from: i64| Int64Array::from_iter_values((from..from + 2000).map(|n| n.wrapping_mul(n * n)));
                (0..3).try_for_each(|i| put(RecordBatch::try_new(schema.clone(), vec![Arc::new(batch(i * 2000))])?))
            };
            let mut found = Vec::new();
            send_once_made("test", &schema, Some(CompressionType::LZ4_FRAME), make, &mut |batch| {
                found.extend_from_slice(batch.column(0).as_primitive::<Int64Type>().values());
                Ok(())
            })?;
            Ok(found)
        };
        let expected = numbers()?;
        assert_eq!((numbers()?, made.get()), (expected.clone(), 1));
        let place: PathBuf = kept::batches()?.join("test.arrow");
        let whole = fs::read(&place)?;
        // One that lacks its end is not taken for whole.
        fs::write(&place, &whole[..whole.len() / 2])?;
        assert_eq!((numbers()?, made.get()), (expected.clone(), 2));
        // Of one whose middle is something else batches were sent already.
        let mut damaged = whole.clone();
        let (from, to) = (whole.len() / 3, whole.len() * 3 / 4);
        damaged[from..to].fill(0xFF);
        fs::write(&place, damaged)?;
        let said = format!("{:#}", numbers().expect_err("a damaged file"));
        assert!(said.contains("test.arrow") && said.contains("run the same command again"), "{said}");
        assert_eq!((numbers()?, made.get()), (expected, 3));
        assert_eq!(fs::read_dir(kept::batches()?)?.count(), 1, "nothing unfinished is left");
        Ok(())
    }

    #[test]
    fn a_file_that_is_taken_away_while_it_is_made_is_not_missed() -> Result<()> {
        let dir = tempfile::tempdir()?;
        let schema = Arc::new(Schema::new(vec![Field::new("n", DataType::Int64, false)]));
        let make = |put: Send<'_>| {
            put(RecordBatch::try_new(schema.clone(), vec![Arc::new(Int64Array::from(vec![1]))])?)?;
            fs::read_dir(dir.path())?.try_for_each(|file| Ok(fs::remove_file(file?.path())?))
        };
        let mut sent = 0;
        write(&dir.path().join("a.arrow"), &schema, None, make, &mut |batch| {
            sent += batch.num_rows();
            Ok(())
        })?;
        assert_eq!(sent, 1);
        Ok(())
    }

    #[test]
    fn what_is_not_made_to_its_end_is_not_kept() -> Result<()> {
        let dir = tempfile::tempdir()?;
        let place = dir.path().join("a.arrow");
        let schema = Arc::new(Schema::new(vec![Field::new("n", DataType::Int64, false)]));
        let make = |put: Send<'_>| {
            put(RecordBatch::try_new(schema.clone(), vec![Arc::new(Int64Array::from(vec![1]))])?)?;
            anyhow::bail!("the part is damaged")
        };
        let said = write(&place, &schema, None, make, &mut |_| Ok(())).expect_err("it is damaged");
        assert_eq!(said.to_string(), "the part is damaged");
        assert_eq!(fs::read_dir(dir.path())?.count(), 0);
        Ok(())
    }
}
