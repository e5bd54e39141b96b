//! What an exported Java class may be called.

use super::{ExportError, identifier};
use crate::model::Student;
use std::fmt;

/// Words of the language, and those that mean something where a type is named.
const RESERVED: &str = " \
    _ abstract assert boolean break byte case catch char class const continue default do double else enum exports \
    extends false final finally float for goto if implements import instanceof int interface long module native new \
    null opens package permits private protected provides public record requires return sealed short static strictfp \
    super switch synchronized this throw throws to transient transitive true try uses var void volatile when while with \
    yield ";

/// What the class itself names: classes of the language, and the package `java`.
const NAMED: &str = " Double Float IndexOutOfBoundsException String System java ";

/// What an exported Java class is called: an identifier of ASCII that means nothing else in the file.
///
/// ```
/// # use sched_distill_core::model::export::ClassName;
/// assert_eq!(ClassName::new("Scheduler2")?.as_str(), "Scheduler2");
/// assert!(["2nd", "my-class", "int", "String", ""].iter().all(|name| ClassName::new(name).is_err()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassName(String);

impl ClassName {
    /// A class of this name.
    ///
    /// # Errors
    ///
    /// [`ExportError::ClassName`] if none can be called so.
    pub fn new(name: &str) -> Result<Self, ExportError> {
        let letter = |c: char| c.is_ascii_alphabetic() || c == '_' || c == '$';
        let is_identifier = name.starts_with(letter) && name.chars().all(|c| letter(c) || c.is_ascii_digit());
        // Those within it begin so.
        let is_inner = name.starts_with("Tree_") || name.starts_with("Terms_");
        let is_word = [RESERVED, NAMED].iter().any(|words| words.contains(&format!(" {name} ")));
        match is_identifier && !is_inner && !is_word {
            true => Ok(Self(name.to_owned())),
            false => Err(ExportError::ClassName(name.to_owned())),
        }
    }

    /// That of the scores of one level, where each has a file of its own.
    #[must_use]
    pub fn of_level(student: &Student, level: &str) -> Self {
        let place = student.feature_set.levels.iter().position(|l| l.name == level);
        let name = place.and_then(|place| identifier::words(student).into_iter().nth(place)).unwrap_or_default();
        Self::new(&name).unwrap_or_else(|_| Self(format!("Level{name}")))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for ClassName {
    fn default() -> Self {
        Self("Student".to_owned())
    }
}

impl fmt::Display for ClassName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
