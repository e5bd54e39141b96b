//! What may be wrong with what clients say, by kind: a server counts it, and says so at its end.

use std::fmt;

/// A kind of error that a client is answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// A line that is no JSON object.
    NoObject,
    /// A `hello` that cannot be.
    Hello,
    /// A first line without the right token.
    Token,
    /// A JSON object that says what cannot be.
    Line,
    /// A line beyond the limit.
    TooLong,
    /// A line whose rest did not come in time.
    Unfinished,
    /// A question that the policy failed on, or a log that could not be written: not the client's fault.
    Server,
}

impl Fault {
    /// All kinds, in the order in which they are numbered.
    pub(super) const ALL: [Self; 7] =
        [Self::NoObject, Self::Hello, Self::Token, Self::Line, Self::TooLong, Self::Unfinished, Self::Server];
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoObject => "no JSON object",
            Self::Hello => "refused hello",
            Self::Token => "no right token",
            Self::Line => "refused line",
            Self::TooLong => "line too long",
            Self::Unfinished => "line not finished in time",
            Self::Server => "policy or log failed",
        })
    }
}
