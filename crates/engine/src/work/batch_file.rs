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
    io::{BufReader, BufWriter},
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
    // Whatever else may have happened to it, it is made anew.
    let Ok(reader) = open() else { return write(&place, schema, compression, make, send) };
    for batch in reader {
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
    if number.is_multiple_of(256) {
        kept::forget_unread(&kept::batches()?);
    }
    let unfinished = place.with_extension(format!("{}-{number}.tmp", std::process::id()));
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
        file.sync_all().and_then(|()| fs::rename(&unfinished, place)).map_err(|error| cannot(error.into()))
    };
    written().inspect_err(|_| _ = fs::remove_file(&unfinished))
}
