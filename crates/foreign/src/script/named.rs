//! Commands that have a name, `script:NAME=COMMAND`: what is written into files and told to clients is the name and a hash,
//! `script:NAME,command=HASH`, while the command stays with the process that was given it.

use super::words;
use sched_distill_core::{file::sha256_of, level::sha256_hex, spec::Spec};
use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// The policy whose file is a command.
const SCRIPT: &str = "script";
/// The parameter that stands for the command.
pub(crate) const HASH: &str = "command";
/// Digits of a hash.
const DIGITS: usize = 12;
/// What the name of a secret often has.
const SECRETS: [&str; 8] = ["token", "secret", "passw", "api-key", "api_key", "apikey", "credential", "private"];

/// Commands by name and hash.
static COMMANDS: Mutex<BTreeMap<(String, String), String>> = Mutex::new(BTreeMap::new());

fn commands() -> MutexGuard<'static, BTreeMap<(String, String), String>> {
    // Single insertions keep it sound.
    COMMANDS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps the command of a spec `script:NAME=COMMAND[,...]` for as long as this process lives; the spec by which it is called from
/// then on, `script:NAME,command=HASH[,...]`. The hash is of the command and of the files that it names. `None` for a spec of
/// another form.
///
/// ```
/// use sched_distill_foreign::name_command;
/// let named = name_command("script:mine=python3 policy.py --token=hidden,timeout=20").expect("it has a name");
/// assert!(named.starts_with("script:mine,command=") && named.ends_with(",timeout=20") && !named.contains("hidden"));
/// assert_eq!(name_command("script:python3 policy.py"), None);
/// ```
#[must_use]
pub fn name_command(spec: &str) -> Option<String> {
    let mut spec: Spec = spec.parse().ok().filter(|spec: &Spec| spec.name == SCRIPT)?;
    let file = spec.file?;
    let (name, command) = split(file.to_str()?)?;
    let hash = hash(command);
    commands().insert((name.to_owned(), hash.clone()), command.to_owned());
    spec.file = Some(PathBuf::from(name));
    spec.params.insert(HASH.to_owned(), hash);
    Some(spec.to_string())
}

/// The command of that name and hash, if this process was given it.
pub(crate) fn command(name: &str, hash: &str) -> Option<String> {
    commands().get(&(name.to_owned(), hash.to_owned())).cloned()
}

/// The part of an unnamed command that looks like a secret, by its name.
///
/// ```
/// use sched_distill_foreign::secret_in;
/// assert_eq!(secret_in("script:python3 p.py --token=abc").as_deref(), Some("--token"));
/// assert_eq!(secret_in("script:mine,command=0123456789ab"), None);
/// ```
#[must_use]
pub fn secret_in(spec: &str) -> Option<String> {
    let spec: Spec = spec.parse().ok().filter(|spec: &Spec| spec.name == SCRIPT)?;
    let command = spec.file.filter(|_| !spec.params.contains_key(HASH))?;
    let words = words(&command.to_string_lossy())?;
    let names = words.iter().map(|word| word.split_once('=').map_or(word.as_str(), |(name, _)| name));
    let suspicious = |name: &&str| {
        let name = name.to_lowercase();
        !name.contains(['/', '\\']) && SECRETS.iter().any(|secret| name.contains(secret))
    };
    names.into_iter().find(suspicious).map(str::to_owned)
}

/// Name and command.
pub(crate) fn split(file: &str) -> Option<(&str, &str)> {
    let (name, command) = file.split_once('=')?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let named = name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(plain);
    named.then_some((name, command))
}

/// Of a command and the content of the files that it names, so that another version of a script is another scheduler.
fn hash(command: &str) -> String {
    let mut all = command.to_owned();
    for file in words(command).unwrap_or_default().iter().map(PathBuf::from).filter(|path| path.is_file()) {
        // A file that cannot be read cannot be run either, which is said then.
        all += &sha256_of(&file).unwrap_or_default();
    }
    sha256_hex(all.as_bytes())[..DIGITS].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_for_its_command_and_the_files_of_it() {
        let dir = tempfile::tempdir().unwrap();
        let script = dir.path().join("p.py");
        std::fs::write(&script, "1").unwrap();
        let spec = format!("script:mine=python3 {} --token=hidden,mode=sample", script.display());
        let first = name_command(&spec).unwrap();
        let parsed: Spec = first.parse().unwrap();
        assert_eq!(parsed.file, Some(PathBuf::from("mine")));
        let kept = command("mine", &parsed.params[HASH]).unwrap();
        assert_eq!(kept, format!("python3 {} --token=hidden", script.display()));
        assert_eq!(name_command(&spec).unwrap(), first, "the same command has the same hash");
        std::fs::write(&script, "2").unwrap();
        assert_ne!(name_command(&spec).unwrap(), first, "another script is another scheduler");
        assert_eq!(command("mine", "000000000000"), None);
        for other in ["script:python3 a=b.py", "script:./my=prog", "fair", "decima:a=b.pt", "script:a"] {
            assert_eq!(name_command(other), None, "{other}");
        }
    }

    #[test]
    fn what_looks_like_a_secret_is_told_by_its_name() {
        for (spec, found) in [
            ("script:python3 p.py --api-key abc", Some("--api-key")),
            ("script:env PASSWORD=x python3 p.py", Some("PASSWORD")),
            ("script:python3 /home/token/p.py", None),
            ("script:python3 p.py --steps=3", None),
            ("decima:token.pt", None),
        ] {
            assert_eq!(secret_in(spec).as_deref(), found, "{spec}");
        }
    }
}
