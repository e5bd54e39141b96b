//! The directory of a loop: what is finished, and whether it belongs to the same plan.

use super::{LoopError, LoopPlan};
use sched_distill_core::file::{self, name_to_be};
use sched_distill_trace::difference;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::{
    error::Error,
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

const PLAN: &str = "loop-plan.json";

/// A loop's directory. Each file gets its name when it is complete.
pub(super) struct Store {
    dir: PathBuf,
}

impl Store {
    /// Opens a directory that is new, empty, or holds a loop with the same plan.
    pub(super) fn open<E: Error>(dir: &Path, plan: &LoopPlan, force: bool) -> Result<Self, LoopError<E>> {
        let store = Self { dir: dir.to_owned() };
        fs::create_dir_all(dir).map_err(io(dir, "created"))?;
        let ours = serde_json::to_value(plan).unwrap_or_default();
        match store.read::<Value>(PLAN) {
            Some(theirs) if theirs == ours => return Ok(store),
            Some(_) if force => store.clear()?,
            Some(theirs) => {
                let difference = difference("", &theirs, &ours).unwrap_or_default();
                return Err(LoopError::PlanDiffers { dir: dir.to_owned(), difference });
            }
            None => {
                // A plan that was being written when its program was killed is nobody's.
                let found = entries(dir)?.into_iter().find(|name| name_to_be(name) != Some(PLAN));
                if let Some(found) = found {
                    return Err(LoopError::NotALoop { dir: dir.to_owned(), found });
                }
            }
        }
        store.write(PLAN, &ours)?;
        Ok(store)
    }

    /// Removes what a loop leaves; other files stay. The plan goes last, so that an interrupted removal can be repeated.
    fn clear<E: Error>(&self) -> Result<(), LoopError<E>> {
        let is_ours = |name: &str| {
            let number = name.strip_prefix("iteration-");
            name == "teacher-validation" || number.is_some_and(|n| n.parse::<u32>().is_ok())
        };
        for name in entries(&self.dir)?.iter().filter(|name| is_ours(name)) {
            let path = self.dir.join(name);
            fs::remove_dir_all(&path).map_err(io(&path, "removed"))?;
        }
        for name in ["results.json", "student.json", PLAN] {
            let path = self.dir.join(name);
            match fs::remove_file(&path) {
                Err(e) if e.kind() != ErrorKind::NotFound => return Err(io(&path, "removed")(e)),
                _ => {}
            }
        }
        Ok(())
    }

    /// Makes a folder in the directory.
    pub(super) fn folder<E: Error>(&self, name: &str) -> Result<(), LoopError<E>> {
        let path = self.dir.join(name);
        fs::create_dir_all(&path).map_err(io(&path, "created"))
    }

    /// A file's contents; `None` if there is no such file, or not one of this form.
    pub(super) fn read<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        serde_json::from_slice(&fs::read(self.dir.join(name)).ok()?).ok()
    }

    /// A file's contents if it is there; otherwise what `make` gives, which is then written.
    pub(super) fn read_or<T: Serialize + DeserializeOwned, E: Error>(
        &self,
        name: &str,
        make: impl FnOnce() -> Result<T, LoopError<E>>,
    ) -> Result<T, LoopError<E>> {
        if let Some(value) = self.read(name) {
            return Ok(value);
        }
        let value = make()?;
        self.write(name, &value)?;
        Ok(value)
    }

    /// Writes JSON, complete or not at all.
    pub(super) fn write<E: Error>(&self, name: &str, value: &impl Serialize) -> Result<(), LoopError<E>> {
        let path = self.dir.join(name);
        let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
        text.push('\n');
        file::write(&path, text.as_bytes()).map_err(io(&path, "written"))
    }
}

fn io<E: Error>(path: &Path, action: &'static str) -> impl FnOnce(std::io::Error) -> LoopError<E> {
    move |source| LoopError::Io { path: path.to_owned(), action, source }
}

fn entries<E: Error>(dir: &Path) -> Result<Vec<String>, LoopError<E>> {
    let names = fs::read_dir(dir).and_then(|entries| {
        entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect::<Result<Vec<_>, _>>()
    });
    let mut names = names.map_err(io(dir, "read"))?;
    names.sort_unstable();
    Ok(names)
}
