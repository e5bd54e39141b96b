//! Text as programs of others write it.

/// The mark that some editors and shells put before a text in UTF-8.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The text without the byte-order mark that it may begin with, which JSON does not have.
///
/// ```
/// use sched_distill_core::text::without_mark;
/// assert_eq!(without_mark("\u{feff}{}".as_bytes()), b"{}");
/// assert_eq!(without_mark(b"{}"), b"{}");
/// ```
#[must_use]
pub fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text)
}
