//! Servers, as clients and those who start them meet them.

mod answers;
mod client;
mod program;
