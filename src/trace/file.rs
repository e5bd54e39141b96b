//! Files that get their name when they are complete.

use std::fs::{self, File};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use sha2::{Digest, Sha256};

use super::error::TraceError;

/// Ending of files that are not complete yet.
const TEMPORARY: &str = ".tmp";

/// A file being written under a temporary name. Dropped before it is complete, it leaves nothing behind.
#[derive(Debug)]
pub(super) struct PendingFile {
    path: PathBuf,
    temporary: PathBuf,
    out: BufWriter<Hashed>,
}

/// A file and the hash of what was written to it.
#[derive(Debug)]
struct Hashed {
    file: File,
    hash: Sha256,
}

impl PendingFile {
    pub(super) fn create(path: PathBuf) -> Result<Self, TraceError> {
        let temporary = temporary_name(&path);
        let file = File::create_new(&temporary).map_err(TraceError::io(&temporary, "created"))?;
        Ok(Self { path, temporary, out: BufWriter::with_capacity(1 << 16, Hashed { file, hash: Sha256::new() }) })
    }

    /// Gives the file its name, in place of a file that may have it; returns the SHA-256 (hex) of its contents.
    pub(super) fn commit(mut self) -> Result<String, TraceError> {
        self.out.flush().map_err(TraceError::io(&self.temporary, "written"))?;
        fs::rename(&self.temporary, &self.path).map_err(TraceError::io(&self.path, "written"))?;
        Ok(hex(std::mem::take(&mut self.out.get_mut().hash)))
    }
}

impl Drop for PendingFile {
    fn drop(&mut self) {
        // After a commit there is no such file. What cannot be removed is ignored by everybody.
        let _ = fs::remove_file(&self.temporary);
    }
}

impl Write for PendingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Write for Hashed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.hash.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Writes a file under a temporary name and renames it. Several programs may write the same bytes at a time.
pub(crate) fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), TraceError> {
    let mut file = PendingFile::create(path.to_owned())?;
    file.write_all(bytes).map_err(TraceError::io(path, "written"))?;
    match file.commit() {
        // Another recorder was first and has cleaned up.
        Err(_) if fs::read(path).is_ok_and(|theirs| theirs == bytes) => Ok(()),
        committed => committed.map(drop),
    }
}

/// Writes a file unless there is one of that name; returns whether it was written. Of several programs that try at a
/// time one succeeds, and nobody sees half a file, not even after a power failure.
pub(super) fn write_if_absent(path: &Path, bytes: &[u8]) -> Result<bool, TraceError> {
    let mut file = PendingFile::create(path.to_owned())?;
    let written = file.write_all(bytes).and_then(|()| file.flush()).and_then(|()| file.out.get_ref().file.sync_all());
    written.map_err(TraceError::io(path, "written"))?;
    match fs::hard_link(&file.temporary, path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        // A file system without hard links. What is lost is only the certainty about who is first.
        Err(_) if path.exists() => Ok(false),
        Err(_) => file.commit().map(|_| true),
    }
}

/// SHA-256 (hex) of a file.
pub(super) fn sha256_of(path: &Path) -> io::Result<String> {
    let mut hash = Sha256::new();
    io::copy(&mut File::open(path)?, &mut hash)?;
    Ok(hex(hash))
}

/// The name that a temporary file would get, `None` for a name that is not temporary.
pub(super) fn name_to_be(name: &str) -> Option<&str> {
    let (name, unique) = name.strip_suffix(TEMPORARY)?.rsplit_once('.')?;
    let (process, number) = unique.split_once('-')?;
    let is_hex = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_hexdigit());
    (process.len() == 16 && is_hex(process) && is_hex(number)).then_some(name)
}

/// A name beside `path` that no other process has, on whatever machine, and no other file of this process.
fn temporary_name(path: &Path) -> PathBuf {
    static PROCESS: LazyLock<u64> = LazyLock::new(|| RandomState::new().build_hasher().finish());
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{:016x}-{:x}{TEMPORARY}", *PROCESS, NUMBER.fetch_add(1, Ordering::Relaxed)));
    name.into()
}

fn hex(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::level::sha256_hex;

    #[test]
    fn a_file_has_its_name_when_it_is_complete_and_its_hash() -> Result<(), Box<dyn std::error::Error>> {
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("job.parquet");
        let mut files = [PendingFile::create(path.clone())?, PendingFile::create(path.clone())?];
        for file in &mut files {
            let name = file.temporary.file_name().and_then(|n| n.to_str()).map(str::to_owned);
            assert_eq!(name_to_be(&name.unwrap_or_default()), Some("job.parquet"));
            (0..50_000u32).try_for_each(|i| file.write_all(&i.to_le_bytes()))?;
        }
        assert!(!path.exists());
        let [dropped, committed] = files;
        drop(dropped);
        let hash = committed.commit()?;
        assert_eq!(fs::read_dir(dir.path())?.count(), 1);
        assert_eq!((sha256_of(&path)?, sha256_hex(&fs::read(&path)?)), (hash.clone(), hash));
        Ok(())
    }

    #[test]
    fn the_first_of_several_writers_wins() -> Result<(), Box<dyn std::error::Error>> {
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("plan.json");
        let write = |i: u8| write_if_absent(&path, &[i; 10_000]);
        let wins: Vec<bool> = std::thread::scope(|scope| {
            let running: Vec<_> = (0..8).map(|i| scope.spawn(move || write(i))).collect();
            running.into_iter().map(|thread| thread.join().expect("no panic").expect("written")).collect()
        });
        assert_eq!(wins.iter().filter(|&&win| win).count(), 1);
        let winner = wins.iter().position(|&win| win).unwrap_or(9) as u8;
        assert_eq!(fs::read(&path)?, [winner; 10_000]);
        assert_eq!(fs::read_dir(dir.path())?.count(), 1);
        Ok(())
    }

    #[test]
    fn only_names_that_this_program_gives_are_temporary() {
        assert_eq!(name_to_be("part-00001.json.0123456789abcdef-1f.tmp"), Some("part-00001.json"));
        for name in ["part-00001.json", "notes.tmp", "a.b.tmp", "x.0123456789abcdef.tmp", "x.0123456789abcdeg-1.tmp"] {
            assert_eq!(name_to_be(name), None, "{name}");
        }
    }
}
