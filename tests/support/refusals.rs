//! Descriptions in JSON with one thing that cannot be, for tests of what is refused.

use serde::de::DeserializeOwned;
use serde_json::Value;

/// Reads `sound` with another value at a path.
pub(crate) fn read_with<T: DeserializeOwned>(sound: &Value, path: &str, value: &Value) -> Result<T, String> {
    let mut changed = sound.clone();
    *changed.pointer_mut(path).unwrap() = value.clone();
    serde_json::from_value(changed).map_err(|e| e.to_string())
}

/// Checks that each value at its path is refused, and that the error says this.
pub(crate) fn refused<'a, T: DeserializeOwned>(
    sound: &Value,
    cases: impl IntoIterator<Item = (&'a str, Value, &'a str)>,
) {
    for (path, value, says) in cases {
        let Err(message) = read_with::<T>(sound, path, &value) else { panic!("{path} {value} is taken") };
        assert!(message.contains(says), "{path} {value}: {message}");
    }
}
