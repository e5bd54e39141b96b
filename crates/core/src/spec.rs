//! Names with parameters: `fair`, `decima:model.pt,mode=sample`, `builtin,executors=10,rate=4e-5`.
//!
//! Policies and workloads are written this way everywhere: on the command line, in manifests and in reports. A file whose name
//! has a comma stands in double quotes: `decima:"a,b.pt",mode=sample`.

mod names;

pub use names::{brief, short_names, workload_names};

use crate::nearest::edit_distance;
use std::{
    borrow::Cow,
    collections::BTreeMap,
    fmt,
    ops::RangeInclusive,
    path::{Path, PathBuf},
    str::FromStr,
};

/// Why a spec cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SpecError {
    /// The text does not have the form `NAME[:FILE][,KEY=VALUE]...`.
    #[error("`{text}`: {found}; expected NAME, NAME:FILE or NAME:FILE,key=value,...{}", comma_advice(text))]
    Form {
        /// What was written.
        text: String,
        /// What is wrong with it.
        found: String,
    },
    /// Nothing has this name.
    #[error("unknown {kind} `{name}`{hint}; there are {known} (see `distill list {list}`)")]
    UnknownName {
        /// `policy` or `workload`.
        kind: &'static str,
        /// The same in the plural, as `distill list` takes it.
        list: &'static str,
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
        /// A suggestion, or nothing.
        hint: String,
    },
    /// A value is outside what is allowed.
    #[error("`{spec}`: {key} must be {allowed}, got `{value}`")]
    Value {
        /// The spec as written.
        spec: String,
        /// Parameter name.
        key: String,
        /// What was found.
        value: String,
        /// What is allowed.
        allowed: String,
    },
    /// A parameter that the thing does not have.
    #[error("`{spec}`: unknown parameter `{key}`; it takes {allowed}")]
    Unknown {
        /// The spec as written.
        spec: String,
        /// Parameter name.
        key: String,
        /// The parameters there are.
        allowed: String,
    },
    /// A file is needed, or given where none is taken.
    #[error("`{spec}`: {problem}")]
    File {
        /// The spec as written.
        spec: String,
        /// What is wrong.
        problem: String,
    },
}

/// What to do about a comma that may belong to the name of a file.
fn comma_advice(text: &str) -> String {
    let Some((name, rest)) = text.split_once(':').filter(|(_, rest)| rest.contains(',')) else { return String::new() };
    // What follows the name of the file has an `=`, what belongs to it has none.
    let end = rest.rsplit_once('=').and_then(|(before, _)| before.rfind(','));
    let (file, params) = rest.split_at(end.unwrap_or(rest.len()));
    match file.contains(',') {
        true => format!("; a file whose name has a comma stands in double quotes: '{name}:\"{file}\"{params}'"),
        false => String::new(),
    }
}

/// Divides what follows the colon of a spec: the file, without the quotes that a comma in its name needs, and what follows it
/// from the comma on.
fn split_file(rest: &str) -> (String, &str) {
    if let Some((file, after)) = rest.strip_prefix('"').and_then(quoted_file)
        && file.contains(',')
    {
        return (file, after);
    }
    let end = rest.find(',').unwrap_or(rest.len());
    (rest[..end].to_owned(), &rest[end..])
}

/// A file up to its closing quote, in which a quote is doubled, and what follows, which is nothing or begins with a comma.
fn quoted_file(rest: &str) -> Option<(String, &str)> {
    let mut from = 0;
    loop {
        let end = from + rest[from..].find('"')?;
        match rest[end + 1..].chars().next() {
            None | Some(',') => return Some((rest[..end].replace("\"\"", "\""), &rest[end + 1..])),
            Some('"') => from = end + 2,
            Some(_) => return None,
        }
    }
}

/// The name of a file as it stands in a spec.
fn in_quotes(file: &str) -> Cow<'_, str> {
    match file.contains(',') {
        true => format!("\"{}\"", file.replace('"', "\"\"")).into(),
        false => file.into(),
    }
}

/// A parsed `NAME[:FILE][,KEY=VALUE]...`.
///
/// ```
/// use sched_distill_core::spec::Spec;
/// let spec: Spec = "tpch:profiles.json.gz,jobs=50".parse()?;
/// let mut args = spec.args();
/// assert_eq!(args.number("jobs", 200.0, 1.0..=1e6)?, 50.0);
/// assert_eq!(args.number("rate", 4e-5, 0.0..=1.0)?, 4e-5);
/// args.finish()?;
/// # Ok::<(), sched_distill_core::spec::SpecError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// The name before the first colon or comma.
    pub name: String,
    /// The file after the colon.
    pub file: Option<PathBuf>,
    /// Parameters in key order.
    pub params: BTreeMap<String, String>,
}

/// The name that a usage begins with, up to its file and its parameters.
///
/// ```
/// # use sched_distill_core::spec::name_of;
/// assert_eq!(["fair", "sjf[,temperature=T]", "json:FILE"].map(name_of), ["fair", "sjf", "json"]);
/// ```
#[must_use]
pub const fn name_of(usage: &'static str) -> &'static str {
    let mut end = 0;
    while end < usage.len() && !matches!(usage.as_bytes()[end], b'[' | b':' | b',') {
        end += 1;
    }
    usage.split_at(end).0
}

impl FromStr for Spec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let form = |found: &str| SpecError::Form { text: text.to_owned(), found: found.to_owned() };
        let end = text.find([':', ',']).unwrap_or(text.len());
        let (name, rest) = text.split_at(end);
        let (file, rest) = match rest.strip_prefix(':').map(split_file) {
            Some((file, _)) if file.is_empty() => return Err(form("no file after the colon")),
            Some((file, rest)) => (Some(PathBuf::from(file)), rest),
            None => (None, rest),
        };
        if name.is_empty() {
            return Err(form("no name"));
        }
        let mut params = BTreeMap::new();
        for piece in rest.split(',').skip(1) {
            let (key, value) = piece.split_once('=').ok_or_else(|| form(&format!("`{piece}` has no `=`")))?;
            if params.insert(key.trim().to_owned(), value.trim().to_owned()).is_some() {
                return Err(form(&format!("`{key}` is given twice")));
            }
        }
        Ok(Self { name: name.to_owned(), file, params })
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if let Some(file) = &self.file {
            write!(f, ":{}", in_quotes(&file.to_string_lossy()))?;
        }
        self.params.iter().try_for_each(|(key, value)| write!(f, ",{key}={value}"))
    }
}

impl Spec {
    /// Reads the parameters one by one; [`Args::finish`] then rejects what was not asked for.
    #[must_use]
    pub fn args(&self) -> Args<'_> {
        Args { spec: self, known: Vec::new() }
    }

    /// The file, or an error that says what it should be.
    pub fn require_file(&self, what: &str) -> Result<&Path, SpecError> {
        self.require("FILE", what)
    }

    /// What stands after the colon where that is not a file but, say, a `COMMAND`.
    pub fn require(&self, kind: &str, what: &str) -> Result<&Path, SpecError> {
        self.file.as_deref().ok_or_else(|| SpecError::File {
            spec: self.to_string(),
            problem: format!("needs a {}: {}:{kind} ({what})", kind.to_lowercase(), self.name),
        })
    }

    /// The error that nothing has the spec's name. `kind` is what was looked for, `list` the word after `distill list`.
    #[must_use]
    pub fn unknown_name(&self, kind: &'static str, list: &'static str, known: &[&str]) -> SpecError {
        let name = self.name.clone();
        let hint = nearest(&name, known.iter().copied());
        let hint = hint.map_or(String::new(), |n| format!(" (did you mean `{n}`?)"));
        SpecError::UnknownName { kind, list, name, known: known.join(", "), hint }
    }

    /// An error if a file is given.
    pub fn refuse_file(&self) -> Result<(), SpecError> {
        match &self.file {
            None => Ok(()),
            Some(file) => Err(SpecError::File {
                spec: self.to_string(),
                problem: format!("`{}` takes no file, got `{}`", self.name, file.display()),
            }),
        }
    }
}

/// Typed access to a spec's parameters.
#[derive(Debug)]
pub struct Args<'a> {
    spec: &'a Spec,
    known: Vec<&'static str>,
}

impl Args<'_> {
    fn get(&mut self, key: &'static str) -> Option<&str> {
        self.known.push(key);
        self.spec.params.get(key).map(String::as_str)
    }

    fn bad(&self, key: &str, value: &str, allowed: String) -> SpecError {
        SpecError::Value { spec: self.spec.to_string(), key: key.to_owned(), value: value.to_owned(), allowed }
    }

    /// A number within a closed range.
    pub fn number(&mut self, key: &'static str, default: f64, allowed: RangeInclusive<f64>) -> Result<f64, SpecError> {
        Ok(self.optional_number(key, allowed)?.unwrap_or(default))
    }

    /// A number within a closed range, or `None` if not given.
    pub fn optional_number(
        &mut self,
        key: &'static str,
        allowed: RangeInclusive<f64>,
    ) -> Result<Option<f64>, SpecError> {
        self.optional(key, "a number", allowed)
    }

    /// A whole number within a closed range.
    pub fn count(&mut self, key: &'static str, default: u32, allowed: RangeInclusive<u32>) -> Result<u32, SpecError> {
        Ok(self.optional_count(key, allowed)?.unwrap_or(default))
    }

    /// A whole number within a closed range, or `None` if not given.
    pub fn optional_count(
        &mut self,
        key: &'static str,
        allowed: RangeInclusive<u32>,
    ) -> Result<Option<u32>, SpecError> {
        self.optional(key, "a whole number", allowed)
    }

    fn optional<T: FromStr + PartialOrd + fmt::Display>(
        &mut self,
        key: &'static str,
        what: &str,
        allowed: RangeInclusive<T>,
    ) -> Result<Option<T>, SpecError> {
        let Some(text) = self.text(key) else { return Ok(None) };
        match text.parse::<T>() {
            Ok(v) if allowed.contains(&v) => Ok(Some(v)),
            _ => Err(self.bad(key, &text, format!("{what} in {}..={}", allowed.start(), allowed.end()))),
        }
    }

    /// One of several words; the first is the default.
    pub fn word(&mut self, key: &'static str, allowed: &[&'static str]) -> Result<&'static str, SpecError> {
        let Some(text) = self.get(key).map(str::to_owned) else {
            return Ok(allowed[0]);
        };
        match allowed.iter().find(|&&w| w == text) {
            Some(word) => Ok(word),
            None => Err(self.bad(key, &text, format!("one of {}", allowed.join(", ")))),
        }
    }

    /// The error for a value that does not go with the other parameters.
    #[must_use]
    pub fn conflict(&self, key: &str, value: &str, allowed: &str) -> SpecError {
        self.bad(key, value, allowed.to_owned())
    }

    /// A time with its unit, such as `90s`, `10m`, `2h` or `1d`, in ms; `None` if not given.
    ///
    /// ```
    /// # use sched_distill_core::spec::Spec;
    /// let spec: Spec = "history,window=90m".parse()?;
    /// assert_eq!(spec.args().time_ms("window")?, Some(5.4e6));
    /// # Ok::<(), sched_distill_core::spec::SpecError>(())
    /// ```
    pub fn time_ms(&mut self, key: &'static str) -> Result<Option<f64>, SpecError> {
        const UNITS: [(&str, f64); 5] = [("ms", 1.0), ("s", 1e3), ("m", 6e4), ("h", 3.6e6), ("d", 86.4e6)];
        let Some(text) = self.text(key) else { return Ok(None) };
        let value = UNITS.iter().find_map(|(unit, ms)| Some(text.strip_suffix(unit)?.parse::<f64>().ok()? * ms));
        match value.filter(|ms| (0.0..=1e15).contains(ms)) {
            Some(ms) => Ok(Some(ms)),
            None => Err(self.bad(key, &text, "a time with its unit: 500ms, 90s, 10m, 2h, 1d".to_owned())),
        }
    }

    /// Any text, or `None` if not given.
    pub fn text(&mut self, key: &'static str) -> Option<String> {
        self.get(key).map(str::to_owned)
    }

    /// Rejects parameters that nobody asked for.
    pub fn finish(self) -> Result<(), SpecError> {
        match self.spec.params.keys().find(|key| !self.known.contains(&key.as_str())) {
            None => Ok(()),
            Some(key) => Err(SpecError::Unknown {
                spec: self.spec.to_string(),
                key: key.clone(),
                allowed: if self.known.is_empty() { "none".to_owned() } else { self.known.join(", ") },
            }),
        }
    }
}

/// The candidates most like `word`, for "did you mean" (edit distance at most a third of the word, rounded up).
fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = word.chars().count().div_ceil(3);
    candidates.into_iter().map(|c| (edit_distance(word, c), c)).filter(|&(d, _)| d <= limit).min().map(|(_, c)| c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spec_prints_as_it_was_read() {
        for text in ["fair", "decima:a/b.pt", "decima:b.pt,mode=sample", "weighted-fair,alpha=-1"] {
            assert_eq!(text.parse::<Spec>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_file_with_a_comma_stands_in_quotes() {
        for (text, file, mode) in [
            ("net:\"my model,v2.pt\"", "my model,v2.pt", None),
            ("net:\"a/b,c.pt\",mode=sample", "a/b,c.pt", Some("sample")),
            ("net:\"a \"\"b\"\",c\",mode=x", "a \"b\",c", Some("x")),
            // Quotes that no comma needs belong to the name or the command.
            ("script:\"my prog\" --x,mode=sample", "\"my prog\" --x", Some("sample")),
            ("script:\"my prog\"", "\"my prog\"", None),
        ] {
            let spec: Spec = text.parse().unwrap();
            assert_eq!(spec.file.as_deref(), Some(Path::new(file)), "{text}");
            assert_eq!(spec.params.get("mode").map(String::as_str), mode, "{text}");
            assert_eq!(spec.to_string(), text);
        }
        assert_eq!(brief("net:\"a,1/b,c.pt\",mode=x"), "net:\"b,c.pt\",mode=x");
        assert_eq!(brief("net:\"a,1/b.pt\",mode=x"), "net:b.pt,mode=x");
        let advice = |text: &str| text.parse::<Spec>().unwrap_err().to_string();
        assert!(advice("decima:my model,v2.pt").ends_with("'decima:\"my model,v2.pt\"'"));
        assert!(advice("decima:a,b.pt,mode=sample").ends_with("'decima:\"a,b.pt\",mode=sample'"));
        assert!(advice("net:\"a,b.pt").contains("`b.pt` has no `=`"));
    }

    #[test]
    fn mistakes_name_the_place_and_what_is_allowed() {
        assert!(":x".parse::<Spec>().is_err());
        assert!("x:".parse::<Spec>().is_err());
        assert!("x,y".parse::<Spec>().unwrap_err().to_string().contains("`y` has no `=`"));
        let spec: Spec = "x,cap=9,mode=z,foo=1".parse().unwrap();
        let mut args = spec.args();
        assert!(args.number("cap", 1.0, 0.0..=2.0).unwrap_err().to_string().contains("0..=2"));
        assert!(args.word("mode", &["a", "b"]).unwrap_err().to_string().contains("one of a, b"));
        assert!(args.finish().unwrap_err().to_string().contains("unknown parameter `foo`; it takes cap, mode"));
    }

    #[test]
    fn a_typing_slip_is_recognised() {
        assert_eq!(nearest("fiar", ["fair", "fifo"]), Some("fair"));
        assert_eq!(nearest("fairr", ["fair", "fifo"]), Some("fair"));
        assert_eq!(nearest("dceima", ["decima", "fair"]), Some("decima"));
        assert_eq!(nearest("quite-else", ["decima", "fair"]), None);
    }
}
