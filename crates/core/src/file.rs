//! Files that get their name when they are complete.
//!
//! What is written goes into a file of a random name in the same folder, created exclusively, is brought to the disk, and
//! gets its name last. A full disk, an error or an interruption leaves the file that was there before, and a program that
//! was killed leaves a file that nobody takes for the real one; the next one to write that name removes it.

use sha2::{Digest, Sha256};
use std::{
    collections::BTreeSet,
    fs::{self, File},
    hash::{BuildHasher, Hasher, RandomState},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    sync::{
        LazyLock, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

/// Ending of files that are not complete yet.
const TEMPORARY: &str = ".tmp";

/// Temporary files of this program.
static PENDING: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn pending() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    // The set is sound even if a thread died with the lock: it is changed by single insertions and removals.
    PENDING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes all temporary files of this program, for one that is about to exit at once.
pub fn remove_pending() {
    // Whoever holds the lock holds it for a moment, unless it is who asks here, in the middle of something.
    for _ in 0..100 {
        if let Ok(mut pending) = PENDING.try_lock() {
            for path in std::mem::take(&mut *pending) {
                // Best effort: whoever writes the file next removes it too.
                let _ = fs::remove_file(path);
            }
            return;
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// A file being written under a temporary name. Dropped before it is complete, it leaves nothing behind.
///
/// ```
/// use sched_distill_core::file::PendingFile;
/// use std::io::Write;
///
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("rules.txt");
/// let mut file = PendingFile::create(&path)?;
/// file.write_all(b"shortest first\n")?;
/// assert!(!path.exists());
/// file.commit()?;
/// assert_eq!(std::fs::read(&path)?, b"shortest first\n");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct PendingFile {
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
    /// Begins a file that is to be called `path`.
    ///
    /// # Errors
    ///
    /// If nothing can be created in the folder.
    pub fn create(path: &Path) -> io::Result<Self> {
        let (temporary, file) = loop {
            let temporary = temporary_name(path);
            pending().insert(temporary.clone());
            let file = File::create_new(&temporary).inspect_err(|_| {
                pending().remove(&temporary);
            })?;
            // A locked file has a writer. On file systems without locks none is ever taken for abandoned.
            let _ = file.lock();
            // Between the two it may have been taken for abandoned.
            if temporary.exists() {
                break (temporary, file);
            }
            pending().remove(&temporary);
        };
        let out = BufWriter::with_capacity(1 << 16, Hashed { file, hash: Sha256::new() });
        Ok(Self { path: path.to_owned(), temporary, out })
    }

    /// Brings what was written to the disk and gives the file its name, in place of a file or link that may have it and whose
    /// permissions it takes over; returns the SHA-256 (hex) of its contents.
    ///
    /// # Errors
    ///
    /// If it cannot be written to the end, or cannot get its name.
    pub fn commit(mut self) -> io::Result<String> {
        self.sync()?;
        let folder = folder_of(&self.path).map(Path::to_owned);
        let hash = self.rename()?;
        folder.iter().for_each(|folder| sync_folder(folder));
        Ok(hash)
    }

    /// Does the same without waiting for the disk. For many files whose hashes are kept elsewhere: a file that a power failure
    /// takes is then noticed, and [`sync`] brings all of them to the disk at once.
    ///
    /// # Errors
    ///
    /// As for [`PendingFile::commit`].
    pub fn commit_soon(mut self) -> io::Result<String> {
        self.out.flush()?;
        begin_sync(&self.out.get_ref().file);
        self.rename()
    }

    /// Whether a file has what was written so far.
    ///
    /// # Errors
    ///
    /// If it cannot be written, or the other one cannot be read.
    pub fn is_same_as(&mut self, path: &Path) -> io::Result<bool> {
        self.out.flush()?;
        Ok(sha256_of(path)? == hex(self.out.get_ref().hash.clone()))
    }

    fn rename(&mut self) -> io::Result<String> {
        if let Some(before) = fs::symlink_metadata(&self.path).ok().filter(fs::Metadata::is_file) {
            self.out.get_ref().file.set_permissions(before.permissions())?;
        }
        fs::rename(&self.temporary, &self.path)?;
        Ok(hex(std::mem::take(&mut self.out.get_mut().hash)))
    }

    /// Brings what was written to the disk.
    fn sync(&mut self) -> io::Result<()> {
        self.out.flush()?;
        self.out.get_ref().file.sync_all()
    }
}

impl Drop for PendingFile {
    fn drop(&mut self) {
        // After a commit there is no such file.
        let _ = fs::remove_file(&self.temporary);
        pending().remove(&self.temporary);
        // Not left to the closing: a program that is being started elsewhere in this one holds the file, too, for a moment.
        let _ = self.out.get_ref().file.unlock();
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

/// Writes a file, complete or not at all; what killed writers of this file have left is removed. Devices, pipes and
/// terminals (`/dev/stdout`) are written to as they are.
///
/// # Errors
///
/// If it cannot be written to the end, or cannot get its name. The file that was there before then still is.
///
/// ```
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("student.json");
/// sched_distill_core::file::write(&path, b"{}")?;
/// assert!(sched_distill_core::file::write(&dir.path().join("no/such/folder"), b"").is_err());
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_together(&[(path, bytes)]).map_err(|(_, error)| error)
}

/// Writes several files, each as [`write()`] does; none gets its name before all are complete.
///
/// # Errors
///
/// The file at fault, and why it could not be written.
pub fn write_together(files: &[(impl AsRef<Path>, impl AsRef<[u8]>)]) -> Result<(), (PathBuf, io::Error)> {
    let mut pending = Vec::new();
    for (path, bytes) in files {
        let (path, bytes) = (path.as_ref(), bytes.as_ref());
        let at_fault = |error| (path.to_owned(), error);
        if is_device(path) {
            let device = File::options().write(true).open(path);
            device.and_then(|mut device| device.write_all(bytes)).map_err(at_fault)?;
            continue;
        }
        remove_abandoned(path);
        let mut file = PendingFile::create(path).map_err(at_fault)?;
        file.write_all(bytes).map_err(at_fault)?;
        pending.push(file);
    }
    for file in pending {
        let path = file.path.clone();
        file.commit().map_err(|error| (path, error))?;
    }
    Ok(())
}

/// Writes a file unless there is one of that name; returns whether it was written. Of several programs that try at a time
/// one succeeds, and nobody sees half a file.
///
/// # Errors
///
/// As for [`write()`].
pub fn write_if_absent(path: &Path, bytes: &[u8]) -> io::Result<bool> {
    remove_abandoned(path);
    loop {
        let mut file = PendingFile::create(path)?;
        file.write_all(bytes)?;
        file.sync()?;
        match fs::hard_link(&file.temporary, path) {
            Ok(()) => {
                folder_of(path).iter().for_each(|folder| sync_folder(folder));
                return Ok(true);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
            Err(_) if path.exists() => return Ok(false),
            // Where locks hold within a machine alone, another one has taken it for abandoned. It looks once, before it writes.
            Err(_) if !file.temporary.exists() => {}
            // A file system without hard links. What is lost is only the certainty about who is first.
            Err(_) => return file.commit().map(|_| true),
        }
    }
}

/// Whether [`write()`] could write a file of that name now; it is neither made nor changed.
///
/// # Errors
///
/// If it could not.
pub fn check_writable(path: &Path) -> io::Result<()> {
    match () {
        () if is_device(path) => Ok(()),
        () if path.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        () => {
            PendingFile::create(path).map(drop)?;
            // One that was killed at this very point may have left its own.
            remove_abandoned(path);
            Ok(())
        }
    }
}

/// Something that is written to and not replaced: a device, a pipe, or a link of the system to what is open, as `/dev/stdout`.
fn is_device(path: &Path) -> bool {
    let of_system = ["/dev/", "/proc/"].iter().any(|folder| path.starts_with(folder));
    let is_none_of_ours = |meta: fs::Metadata| !meta.is_file() && !meta.is_dir();
    (of_system && path.is_symlink()) || fs::metadata(path).is_ok_and(is_none_of_ours)
}

/// Removes temporary files for `path` whose writers are gone, which the lock shows. Best effort: nobody reads them.
fn remove_abandoned(path: &Path) {
    let (Some(folder), Some(name)) = (folder_of(path), path.file_name()) else { return };
    let name = name.to_string_lossy();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if name_to_be(&entry.file_name().to_string_lossy()).is_some_and(|to_be| to_be == name) {
            let _ = remove_if_abandoned(&entry.path());
        }
    }
}

/// Removes a temporary file whose writer is gone.
pub fn remove_if_abandoned(path: &Path) -> io::Result<()> {
    if !fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file()) {
        return Ok(());
    }
    // The lock is held until the file is gone, so that one whose writer is about to take it is not lost unnoticed.
    match File::open(path) {
        Ok(file) if file.try_lock().is_ok() => match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

fn folder_of(path: &Path) -> Option<&Path> {
    match path.parent()? {
        here if here.as_os_str().is_empty() => Some(Path::new(".")),
        folder => Some(folder),
    }
}

/// Lets the system write a file to the disk while the program goes on, so that there is less to wait for in [`sync`].
#[cfg(all(target_os = "linux", feature = "simulate"))]
fn begin_sync(file: &File) {
    use std::os::fd::AsRawFd;
    // SAFETY: takes an open file and numbers, and touches no memory. Best effort: what fails is left to `sync`.
    let _ = unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, libc::SYNC_FILE_RANGE_WRITE) };
}

#[cfg(not(all(target_os = "linux", feature = "simulate")))]
fn begin_sync(_file: &File) {}

/// Brings files that were committed soon to the disk, with their names.
///
/// # Errors
///
/// If one of them cannot be read, or the disk fails.
pub fn sync(paths: &[PathBuf]) -> Result<(), (PathBuf, io::Error)> {
    for path in paths {
        File::open(path).and_then(|file| file.sync_all()).map_err(|error| (path.clone(), error))?;
    }
    let folders: BTreeSet<&Path> = paths.iter().filter_map(|path| folder_of(path)).collect();
    folders.into_iter().for_each(sync_folder);
    Ok(())
}

/// Brings the names of a folder to the disk. Best effort: not every system can.
fn sync_folder(folder: &Path) {
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
}

/// SHA-256 (hex) of a file.
///
/// # Errors
///
/// If it cannot be read.
pub fn sha256_of(path: &Path) -> io::Result<String> {
    let mut hash = Sha256::new();
    io::copy(&mut File::open(path)?, &mut hash)?;
    Ok(hex(hash))
}

/// The name that a temporary file would get, `None` for a name that is not temporary.
pub fn name_to_be(name: &str) -> Option<&str> {
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
mod tests;
