use super::*;
use crate::level::sha256_hex;
use std::error::Error;

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).expect("the folder is there").flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_file_that_is_done_is_not_locked_by_a_program_that_is_being_started() -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("plan.json");
    let file = PendingFile::create(&path)?;
    // As a fork has it, until it starts its program.
    let _held = file.out.get_ref().file.try_clone()?;
    file.commit()?;
    File::open(&path)?.try_lock()?;
    Ok(())
}

#[test]
fn a_file_has_its_name_when_it_is_complete_and_its_hash() -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("job.parquet");
    let mut files = [PendingFile::create(&path)?, PendingFile::create(&path)?];
    for file in &mut files {
        let name = file.temporary.file_name().and_then(|n| n.to_str()).map(str::to_owned);
        assert_eq!(name_to_be(&name.unwrap_or_default()), Some("job.parquet"));
        (0..50_000u32).try_for_each(|i| file.write_all(&i.to_le_bytes()))?;
    }
    assert!(!path.exists());
    let [dropped, committed] = files;
    drop(dropped);
    let hash = committed.commit()?;
    assert_eq!(names(dir.path()), ["job.parquet"]);
    assert_eq!((sha256_of(&path)?, sha256_hex(&fs::read(&path)?)), (hash.clone(), hash));
    Ok(())
}

#[test]
fn the_first_of_several_writers_wins() -> Result<(), Box<dyn Error>> {
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
    assert_eq!(names(dir.path()), ["plan.json"]);
    Ok(())
}

#[test]
fn a_writer_whose_file_another_machine_takes_for_abandoned_writes_again() -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("plan.json");
    let removed = std::thread::scope(|scope| {
        // Another machine, which does not see the lock.
        let other = scope.spawn(|| {
            let mut removed = 0;
            while removed < 3 && !path.exists() {
                for name in names(dir.path()).iter().filter(|name| name_to_be(name).is_some()) {
                    removed += u32::from(fs::remove_file(dir.path().join(name)).is_ok());
                }
            }
            removed
        });
        let written = write_if_absent(&path, &[7; 1 << 22]);
        (other.join().expect("no panic"), written)
    });
    assert!(removed.0 > 0 && removed.1?, "{}", removed.0);
    assert_eq!(fs::read(&path)?, [7; 1 << 22]);
    assert_eq!(names(dir.path()), ["plan.json"]);
    Ok(())
}

#[test]
fn what_a_killed_writer_has_left_is_removed_and_what_another_one_writes_is_not() -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("student.json");
    fs::write(dir.path().join("student.json.0123456789abcdef-1.tmp"), "half")?;
    fs::write(dir.path().join("other.json.0123456789abcdef-1.tmp"), "half")?;
    fs::write(dir.path().join("new.0123456789abcdef-1.tmp"), "")?;
    check_writable(&dir.path().join("new"))?;
    let mut at_work = PendingFile::create(&path)?;
    write(&path, b"first")?;
    assert_eq!(names(dir.path()).len(), 3, "{:?}", names(dir.path()));
    at_work.write_all(b"second")?;
    at_work.commit()?;
    assert_eq!(names(dir.path()), ["other.json.0123456789abcdef-1.tmp", "student.json"]);
    assert_eq!(fs::read(&path)?, b"second");
    Ok(())
}

#[test]
fn a_failure_leaves_what_was_there() -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    fs::create_dir(dir.path().join("folder"))?;
    assert!(write(&dir.path().join("folder"), b"text").is_err());
    assert!(check_writable(&dir.path().join("folder")).is_err());
    assert!(check_writable(&dir.path().join("no folder/x")).is_err());
    check_writable(&dir.path().join("x"))?;
    assert_eq!(names(dir.path()), ["folder"]);
    Ok(())
}

#[cfg(unix)]
#[test]
fn links_are_replaced_and_permissions_kept() -> Result<(), Box<dyn Error>> {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let dir = tempfile::tempdir()?;
    let (victim, path) = (dir.path().join("victim"), dir.path().join("out.json"));
    fs::write(&victim, "precious")?;
    symlink(&victim, &path)?;
    symlink(&victim, dir.path().join("out.json.tmp"))?;
    write(&path, b"new")?;
    assert_eq!((fs::read(&victim)?, fs::read(&path)?), (b"precious".to_vec(), b"new".to_vec()));
    assert!(fs::symlink_metadata(&path)?.is_file());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640))?;
    write(&path, b"newer")?;
    assert_eq!(fs::metadata(&path)?.permissions().mode() & 0o777, 0o640);
    write(Path::new("/dev/null"), b"lost")?;
    assert!(!fs::metadata("/dev/null")?.is_file());
    // Files in memory are files.
    if let Ok(memory) = tempfile::tempdir_in("/dev/shm") {
        write(&memory.path().join("new"), b"text")?;
        assert_eq!(names(memory.path()), ["new"]);
    }
    Ok(())
}

#[test]
fn only_names_that_this_program_gives_are_temporary() {
    assert_eq!(name_to_be("part-00001.json.0123456789abcdef-1f.tmp"), Some("part-00001.json"));
    for name in ["part-00001.json", "notes.tmp", "a.b.tmp", "x.0123456789abcdef.tmp", "x.0123456789abcdeg-1.tmp"] {
        assert_eq!(name_to_be(name), None, "{name}");
    }
}
