//! Who may come in over TCP, where no file's mode keeps others out.

use sha2::{Digest, Sha256};
use std::{
    fmt,
    fs::File,
    hint::black_box,
    io::{self, Read},
    path::{Path, PathBuf},
    sync::Arc,
};

/// Who may come in over TCP. By default whoever is on this machine, without a token.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Access {
    /// Whether other machines may. They need a token.
    pub remote: bool,
    /// What clients have to know.
    pub token: Option<Arc<Token>>,
}

/// A secret that clients have to know. What is kept of it is a hash, so that nothing can tell it.
#[derive(Clone)]
pub struct Token {
    hash: [u8; 32],
    is_exposed: bool,
}

/// Why a file has no token.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The file cannot be read.
    #[error("{}: cannot read", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// What is in it is no token.
    #[error(
        "{}: {found}; a token is a line of {LEAST} to {MOST} characters without spaces (`openssl rand -hex 32` writes one)", .path.display()
    )]
    Form {
        /// The file.
        path: PathBuf,
        /// What is in it, without its words.
        found: String,
    },
}

/// Shorter ones could be guessed, longer ones are some other file.
const LEAST: usize = 16;
const MOST: usize = 4096;

impl Token {
    /// The token of a file; space around it is not part of it.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, or that has none.
    pub fn load(path: &Path) -> Result<Self, TokenError> {
        let io = |source| TokenError::Io { path: path.to_owned(), source };
        let file = File::open(path).map_err(io)?;
        let is_exposed = is_exposed(&file).map_err(io)?;
        let mut bytes = Vec::new();
        // Room for the end of the line.
        file.take(MOST as u64 + 3).read_to_end(&mut bytes).map_err(io)?;
        let form = |found: &str| TokenError::Form { path: path.to_owned(), found: found.to_owned() };
        let text = str::from_utf8(&bytes).map_err(|_| form("is no text"))?;
        let text = text.trim_start_matches('\u{feff}').trim();
        match text.chars().count() {
            0 => Err(form("is empty")),
            n if n < LEAST => Err(form(&format!("has {n} characters"))),
            n if n > MOST => Err(form("is longer")),
            _ if text.contains(|c: char| c.is_whitespace() || c.is_control()) => Err(form("has several words")),
            _ => Ok(Self { is_exposed, ..Self::of(text) }),
        }
    }

    fn of(text: &str) -> Self {
        Self { hash: Sha256::digest(text).into(), is_exposed: false }
    }

    /// Whether others than its owner may read its file or write it.
    #[must_use]
    pub fn is_exposed(&self) -> bool {
        self.is_exposed
    }

    /// Whether a text is it, in a time that tells nothing of how near it is.
    pub(super) fn is(&self, text: &str) -> bool {
        *self == Self::of(text)
    }
}

impl PartialEq for Token {
    fn eq(&self, other: &Self) -> bool {
        self.hash.iter().zip(&other.hash).fold(0, |all, (a, b)| black_box(all | (a ^ b))) == 0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

#[cfg(unix)]
fn is_exposed(file: &File) -> io::Result<bool> {
    use std::os::unix::fs::PermissionsExt as _;
    Ok(file.metadata()?.permissions().mode() & 0o077 != 0)
}

/// Who may read it cannot be told here.
#[cfg(not(unix))]
fn is_exposed(_: &File) -> io::Result<bool> {
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &[u8]) -> Result<Token, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        std::fs::write(&path, text).unwrap();
        Token::load(&path).map_err(|e| e.to_string())
    }

    #[test]
    fn a_token_is_what_its_file_says_and_nothing_near_it() {
        let token = load("\u{feff} 0123456789abcdef\r\n".as_bytes()).unwrap();
        assert!(token.is("0123456789abcdef"));
        for other in ["", "0123456789abcdeF", "0123456789abcde", "0123456789abcdef ", "1123456789abcdef"] {
            assert!(!token.is(other), "{other}");
        }
        assert_eq!(format!("{token:?}"), "Token");
        assert!(load(&[b'x'; MOST]).is_ok());
    }

    #[test]
    fn files_without_a_token_are_refused_and_what_they_say_is_not_said() {
        let long = [b'x'; MOST + 1];
        for (text, words) in [
            (&b""[..], "is empty"),
            (b" \n", "is empty"),
            (b"secret", "has 6 characters"),
            (b"0123456789abcdef\nsecret", "several words"),
            (b"\xff\xfe0123456789abcdef", "no text"),
            (&long, "is longer"),
        ] {
            let said = load(text).unwrap_err();
            assert!(said.contains(words) && !said.contains("secret"), "{said}");
        }
        assert!(Token::load(Path::new("no/such/file")).unwrap_err().to_string().contains("no/such/file: cannot read"));
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_may_read_is_told() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        std::fs::write(&path, "0123456789abcdef").unwrap();
        for (mode, is_exposed) in [(0o600, false), (0o400, false), (0o640, true), (0o604, true)] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(Token::load(&path).unwrap().is_exposed(), is_exposed, "{mode:o}");
        }
    }
}
