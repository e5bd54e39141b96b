//! How logs may be packed and split, and what is said of what is no log.

mod support;

use flate2::{Compression, write::GzEncoder};
use sched_distill_histories::spark::Application;
use std::{
    error::Error,
    fs,
    io::{self, Write},
    path::Path,
};
use support::{Outcome, adaptive, read, read_one, whole};

/// Blocks as `LZ4BlockOutputStream` of lz4-java writes them, packed or, where that does not help, as they are; then the empty one.
fn lz4_blocks(text: &[u8], length: usize) -> io::Result<Vec<u8>> {
    let level = length.next_power_of_two().trailing_zeros().max(10) as u8 - 10;
    let mut out = Vec::new();
    let mut block = |method: u8, packed: &[u8], original: usize, checksum: u32| {
        out.extend_from_slice(b"LZ4Block");
        out.push(method | level);
        out.extend_from_slice(&(packed.len() as u32).to_le_bytes());
        out.extend_from_slice(&(original as u32).to_le_bytes());
        out.extend_from_slice(&checksum.to_le_bytes());
        out.extend_from_slice(packed);
    };
    for part in text.chunks(length) {
        let checksum = xxhash_rust::xxh32::xxh32(part, 0x9747_b28c) & 0x0fff_ffff;
        let packed = lz4::block::compress(part, None, false)?;
        match packed.len() < part.len() {
            true => block(0x20, &packed, part.len(), checksum),
            false => block(0x10, part, part.len(), checksum),
        }
    }
    block(0x10, &[], 0, 0);
    Ok(out)
}

/// A stream as `SnappyOutputStream` of snappy-java writes it.
fn snappy_blocks(text: &[u8], length: usize) -> Result<Vec<u8>, snap::Error> {
    let mut out = b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01".to_vec();
    for part in text.chunks(length) {
        let packed = snap::raw::Encoder::new().compress_vec(part)?;
        out.extend_from_slice(&(packed.len() as u32).to_be_bytes());
        out.extend_from_slice(&packed);
    }
    Ok(out)
}

fn gzip(text: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text)?;
    encoder.finish()
}

fn zstd(text: &[u8]) -> io::Result<Vec<u8>> {
    zstd::encode_all(text, 3)
}

/// An application without what depends on how its log was written.
fn content(mut application: Application) -> Application {
    application.files.clear();
    application.reading.bytes = 0;
    application
}

fn halves(text: &str) -> [&[u8]; 2] {
    let (first, second) = text.as_bytes().split_at(text.len() / 2);
    [first, second]
}

#[test]
fn every_packing_gives_the_same() -> Outcome {
    let text = adaptive();
    let plain = text.as_bytes();
    let [first, second] = halves(&text);
    let dir = tempfile::tempdir()?;
    let read_as = |name: &str, bytes: &[u8]| -> Result<Application, Box<dyn Error>> {
        let path = dir.path().join(name);
        fs::write(&path, bytes)?;
        Ok(content(read_one(&path)?))
    };
    let expected = read_as("log", plain)?;
    let incompressible: Vec<u8> = (0..900u32).flat_map(|i| i.wrapping_mul(2_654_435_761).to_be_bytes()).collect();
    assert!(lz4_blocks(&incompressible, 1000)?.len() > incompressible.len());
    for (name, bytes) in [
        ("a.zstd", zstd(plain)?),
        ("frames.zstd", [zstd(first)?, zstd(b"")?, zstd(second)?].concat()),
        // As `flush` leaves a file of a running application, and one that was renamed.
        ("zstd-without-name", zstd(plain)?),
        ("a.gz", gzip(plain)?),
        ("members.gz", [gzip(first)?, gzip(second)?].concat()),
        ("a.lz4", lz4_blocks(plain, 1 << 15)?),
        ("small.lz4", lz4_blocks(plain, 64)?),
        ("streams.lz4", [lz4_blocks(first, 1000)?, lz4_blocks(second, 1 << 20)?].concat()),
        ("a.snappy", snappy_blocks(plain, 1 << 15)?),
        ("small.snappy", snappy_blocks(plain, 7)?),
        ("streams.snappy", [snappy_blocks(first, 1000)?, snappy_blocks(second, 1000)?].concat()),
        ("not-packed.zstd", plain.to_vec()),
        ("marked", ["\u{feff}".as_bytes(), plain].concat()),
        ("crlf", text.replace('\n', "\r\n").into_bytes()),
        ("no-last-newline", text.trim_end().as_bytes().to_vec()),
        ("empty-lines", text.replace('\n', "\n\n \n").into_bytes()),
    ] {
        assert_eq!(read_as(name, &bytes)?, expected, "{name}");
    }
    Ok(())
}

#[test]
fn logs_may_be_split_as_spark_and_databricks_do() -> Outcome {
    let text = adaptive();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let (first, second) = (lines[..9].concat(), lines[9..].concat());
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("log");
    fs::write(&path, &text)?;
    let expected = content(read_one(&path)?);

    let rolling = dir.path().join("eventlog_v2_local-1");
    fs::create_dir(&rolling)?;
    fs::write(rolling.join("appstatus_local-1.inprogress"), "")?;
    fs::write(rolling.join("events_10_local-1.zstd"), zstd(second.as_bytes())?)?;
    fs::write(rolling.join("events_9_local-1"), &first)?;
    let mut read = read_one(&rolling)?;
    assert_eq!(read.files, ["events_9_local-1", "events_10_local-1.zstd"].map(|name| rolling.join(name)));
    assert!(read.notes()[0].ends_with("events_1 and 7 files after it are missing"), "{:?}", read.notes());
    read.reading.cuts.clear();
    assert_eq!(content(read), expected);

    let databricks = dir.path().join("databricks");
    fs::create_dir(&databricks)?;
    fs::write(databricks.join("eventlog"), &second)?;
    fs::write(databricks.join("eventlog-2024-08-13--18-10.gz"), gzip(first.as_bytes())?)?;
    assert_eq!(content(read_one(&databricks)?), expected);

    // Together they are a folder of applications, beside which other files may lie.
    fs::write(dir.path().join("notes.txt"), "hello")?;
    fs::write(dir.path().join("._SUCCESS.crc"), "")?;
    fs::create_dir(dir.path().join("folder"))?;
    let log = support::read(dir.path())?;
    assert_eq!(log.applications.len(), 3);
    let left_out: Vec<_> = log.left_out.iter().map(|(path, _)| path.strip_prefix(dir.path()).unwrap()).collect();
    assert_eq!(left_out, [Path::new("folder"), Path::new("notes.txt")]);
    assert_eq!(log.attempts(), [("local-1", vec!["1", "1", "1"])]);
    Ok(())
}

#[test]
fn progress_ends_with_all_that_there_is() -> Outcome {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("log");
    fs::write(&path, adaptive() + &"{\"Event\":\"Other\"}\n".repeat(1 << 18))?;
    let size = fs::metadata(&path)?.len();
    let mut told = Vec::new();
    sched_distill_histories::spark::read(&path, &mut |read, of| told.push((read, of)))?;
    assert!(told.len() > 2 && told.is_sorted() && told.iter().all(|&(_, of)| of == size), "{told:?}");
    assert_eq!(told.last(), Some(&(size, size)));
    Ok(())
}

#[test]
fn what_is_cut_or_damaged_gives_what_comes_before() -> Outcome {
    let text = adaptive();
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("log");
    let read_as = |bytes: &[u8]| -> Result<Application, Box<dyn Error>> {
        fs::write(&path, bytes)?;
        read_one(&path)
    };
    let of = |bytes: &[u8], says: &str| -> Outcome {
        let application = read_as(bytes)?;
        let notes = application.notes();
        assert!(notes[0].contains("log: is cut or damaged after line ") && notes[0].contains(says), "{notes:?}");
        assert!(notes[1].contains("the log ends before the application did, with 1 jobs running"), "{notes:?}");
        assert_eq!((application.reading.malformed, application.jobs.len()), (0, 2));
        Ok(())
    };
    let most = text.len() - 300;
    of(&text.as_bytes()[..most], "it ends within a line")?;
    let mut packed = lz4_blocks(text.as_bytes(), 64)?;
    packed.truncate(packed.len() * 9 / 10);
    of(&packed, "it ends within a block")?;
    let mut packed = lz4_blocks(text.as_bytes(), 64)?;
    let at = packed.len() * 9 / 10;
    packed[at] ^= 1;
    of(&packed, "a block ")?;
    let mut packed = snappy_blocks(text.as_bytes(), 64)?;
    packed.truncate(packed.len() * 9 / 10);
    of(&packed, "it ends within a block")?;
    let halves = [zstd(&text.as_bytes()[..most])?, zstd(&text.as_bytes()[most..])?];
    of(&[&halves[0][..], &halves[1][..halves[1].len() - 4]].concat(), "incomplete frame")?;
    of(&[&halves[0][..], b"nonsense"].concat(), "")?;
    let halves = [gzip(&text.as_bytes()[..most])?, gzip(&text.as_bytes()[most..])?];
    of(&[&halves[0][..], &halves[1][..20]].concat(), "")?;

    // Of two applications in one log, the first is read.
    let second = text.replace("local-1", "local-2").replace("query", "other");
    let application = read_as(&[text.as_bytes(), second.as_bytes()].concat())?;
    assert_eq!(application.id.as_deref(), Some("local-1"));
    assert!(application.notes()[0].contains("line 20: another application begins"), "{:?}", application.notes());
    Ok(())
}

#[test]
fn what_is_no_log_is_one_clear_error() -> Outcome {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("log");
    let says = |bytes: &[u8], expected: &str| -> Outcome {
        fs::write(&path, bytes)?;
        let message = whole(&read(&path).expect_err("it is no log"));
        assert!(message.starts_with(&path.display().to_string()) && message.contains(expected), "{message}");
        assert!(!message.contains(char::is_control), "{message}");
        Ok(())
    };
    says(b"", "is empty; a Spark event log has a JSON object with an `Event` in each line: give a file")?;
    says(b"\n\n", "has no event of Spark in 0 lines")?;
    says(
        b"24/01/01 INFO Driver: \x1b[31mhello\nworld\n",
        "in 2 lines, of which the first is \"24/01/01 INFO Driver: \\u{1b}[31mhello\"",
    )?;
    says(b"{\"jobs\": []}\n", "in 1 lines, of which the first is \"{\\\"jobs\\\": []}\"")?;
    says(b"{\"Event\":\"com.example.Other\"}\n", "has no event of Spark in 1 lines")?;
    says(&zstd(b"")?, "is empty")?;
    says(&zstd(adaptive().as_bytes())?[..30], "incomplete frame")?;
    says(
        b"ZV\x01\0\x05\0\x05hello",
        "is packed as lzf, which is not read: set spark.eventLog.compression.codec to zstd",
    )?;
    let message = whole(&read(&dir.path().join("nothing")).expect_err("there is none"));
    assert!(message.contains("nothing: cannot read: No such file"), "{message}");
    let empty = dir.path().join("empty");
    fs::create_dir(&empty)?;
    let message = whole(&read(&empty).expect_err("it is empty"));
    assert!(message.contains("is a folder without files; give an event log, a folder `eventlog_v2_*`"), "{message}");
    fs::write(empty.join("a"), "hello")?;
    fs::write(empty.join("b"), "hello")?;
    let message = whole(&read(&empty).expect_err("it has no log"));
    assert!(
        message.contains("none of 2 entries is an event log (the first: ") && message.contains("\"hello\""),
        "{message}"
    );
    Ok(())
}

#[test]
fn a_line_without_end_takes_no_memory() -> Outcome {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("bomb.zstd");
    let text = adaptive();
    let (head, tail) = text.split_at(text.find('\n').map_or(0, |at| at + 1));
    let mut packed = zstd::stream::write::Encoder::new(fs::File::create(&path)?, 1)?;
    packed.write_all(head.as_bytes())?;
    let zeros = vec![b'0'; 1 << 20];
    packed.write_all(b"{\"Event\":\"SparkListenerTaskEnd\",\"Stage ID\":")?;
    (0..200).try_for_each(|_| packed.write_all(&zeros))?;
    packed.write_all(b"\n")?;
    packed.write_all(tail.as_bytes())?;
    packed.finish()?.sync_all()?;
    assert!(fs::metadata(&path)?.len() < 1 << 20);
    let application = read_one(&path)?;
    assert_eq!((application.reading.malformed, application.tasks.len()), (1, 3));
    assert!(
        application.notes()[0].contains("line 2 cannot be read and is left out: has 2097152"),
        "{:?}",
        application.notes()
    );
    Ok(())
}
