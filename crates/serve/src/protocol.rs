//! The lines of `distill serve`, as `docs/serve.md` describes them: one JSON object each.

use serde::{Deserialize, Serialize, de::IgnoredAny};
use serde_json::Value;

/// Version of the protocol.
pub const SERVE_PROTOCOL: u32 = 1;

/// A line from a client. Which fields go with which type is checked by [`Session`](crate::Session).
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Request<State, Change, Decision> {
    /// What it is; a question where that is left out.
    #[serde(default, rename = "type")]
    pub(super) kind: Kind,
    /// `hello`: version of the protocol that the client speaks.
    pub(super) protocol: Option<u32>,
    /// `hello`: what a client has to know; who asks for it has looked at it by then.
    pub(super) token: Option<IgnoredAny>,
    /// `hello`, `reset`: seed of the episode that begins.
    pub(super) seed: Option<u64>,
    /// `question`: given back with the answer.
    pub(super) id: Option<u64>,
    /// `question`: the cluster.
    pub(super) state: Option<State>,
    /// `question`: what has changed in the cluster since the last one.
    pub(super) change: Option<Change>,
    /// `question`: most decisions wanted.
    pub(super) most: Option<u32>,
    /// `question`: whether the answer says how the candidates were scored.
    pub(super) scores: Option<bool>,
    /// `question`: whether the answer says why.
    pub(super) why: Option<bool>,
    /// `question` to a shadow: what was done in this round, in order.
    pub(super) did: Option<Vec<Decision>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kind {
    Hello,
    Reset,
    #[default]
    Question,
}

/// What of a line tells that it greets, whatever protocol it speaks.
#[derive(Deserialize)]
pub(super) struct Greeting {
    #[serde(rename = "type")]
    kind: Value,
    token: Option<Value>,
}

impl Greeting {
    /// Reads a line that may greet.
    pub(super) fn read(line: &[u8]) -> Option<Self> {
        serde_json::from_slice::<Self>(line).ok().filter(|greeting| greeting.kind == "hello")
    }

    /// The token that it has.
    pub(super) fn token(&self) -> Option<&str> {
        self.token.as_ref()?.as_str()
    }
}

/// Whether a line can be an object at all.
pub(super) fn begins_object(line: &[u8]) -> bool {
    line.trim_ascii_start().starts_with(b"{")
}

/// The answer to `hello`.
#[derive(Serialize)]
#[serde(tag = "type", rename = "ready")]
pub(super) struct Ready<'a> {
    pub(super) protocol: u32,
    pub(super) version: &'a str,
    pub(super) scenario: &'a str,
    pub(super) policy: &'a str,
    /// SHA-256 of what defines the policy, by name.
    pub(super) files: &'a std::collections::BTreeMap<String, String>,
    /// Hash of the feature set.
    pub(super) features: &'a str,
    /// Whether the policy answers, or a shadow only notes.
    pub(super) shadow: bool,
}

/// The answer to a question.
#[derive(Serialize)]
#[serde(tag = "type", rename = "answer")]
pub(super) struct Answered<'a, Decision> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<u64>,
    /// In the order in which they are to be carried out; none if there is nothing to decide.
    pub(super) decisions: &'a [Decision],
    /// By decision and level.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) levels: Option<&'a [Vec<super::LevelScores>]>,
}

/// The answer of a shadow.
#[derive(Serialize)]
#[serde(tag = "type", rename = "noted")]
pub(super) struct Noted {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<u64>,
}

/// What is wrong with a line, or with the policy.
#[derive(Serialize)]
#[serde(tag = "type", rename = "error")]
pub(super) struct Refused<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<u64>,
    pub(super) error: &'a str,
}

/// Appends an object as a line.
pub(super) fn write(line: &impl Serialize, out: &mut Vec<u8>) {
    serde_json::to_writer(&mut *out, line).expect("plain data goes into memory");
    out.push(b'\n');
}

/// The `id` of a line that is refused for something else.
pub(super) fn id_of(line: &[u8]) -> Option<u64> {
    #[derive(Deserialize)]
    struct Only {
        id: Option<u64>,
    }
    serde_json::from_slice::<Only>(line).ok()?.id
}

/// What is shown of a text of any length.
pub(super) fn cut(text: &str) -> String {
    const SHOWN: usize = 600;
    match text.char_indices().nth(SHOWN) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}... ({} bytes)", &text[..end], text.len()),
    }
}
