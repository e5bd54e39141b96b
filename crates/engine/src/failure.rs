//! Failures of the work, whose text must arrive at the one who asked.

use datafusion::error::DataFusionError;
use std::{any::Any, error::Error, fmt};

/// Marks where the text of a failure begins. `Ballista` sends failures as text and puts its own words around it.
const BEGIN: &str = "\u{27e6}";
/// Marks where it ends.
const END: &str = "\u{27e7}";

/// A failure of the work itself. Never worth another try: the same part would fail the same way.
pub struct WorkFailure(String);

impl WorkFailure {
    /// As an error of `DataFusion`.
    #[must_use]
    pub fn wrap(failure: &anyhow::Error) -> DataFusionError {
        Self::text(format!("{failure:#}"))
    }

    /// The same, of a text.
    #[must_use]
    pub fn text(text: String) -> DataFusionError {
        DataFusionError::External(Box::new(Self(text)))
    }

    /// The same, of what a panic left behind.
    #[must_use]
    pub fn panicked(place: &str, payload: &(dyn Any + Send)) -> DataFusionError {
        let said = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let said = said.or_else(|| payload.downcast_ref::<String>().cloned());
        Self::text(format!("{place} panicked: {}", said.as_deref().unwrap_or("it left no text")))
    }
}

impl fmt::Display for WorkFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{BEGIN}{}{END}", self.0)
    }
}

/// `Ballista` sends the debug form, in which a derived one would escape quotes and line breaks.
impl fmt::Debug for WorkFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for WorkFailure {}

/// What to tell the one who asked: the text of the work's own failure if there is one, else all of it.
#[must_use]
pub fn told(failure: &DataFusionError) -> anyhow::Error {
    let all = failure.to_string();
    let own = all.split_once(BEGIN).and_then(|(_, rest)| rest.split_once(END)).map(|(text, _)| text.to_owned());
    anyhow::Error::msg(own.unwrap_or(all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_arrives_as_it_was() {
        let text = "part 3: \"x\" is no number\ndo this";
        let failure = WorkFailure::wrap(&anyhow::anyhow!("{text}"));
        assert_eq!(told(&failure).to_string(), text);
        let sent = DataFusionError::Execution(format!("Job 1 failed: {failure:?} in stage 1"));
        assert_eq!(told(&sent).to_string(), text);
        assert_eq!(told(&DataFusionError::Execution("x".into())).to_string(), "Execution error: x");
    }
}
