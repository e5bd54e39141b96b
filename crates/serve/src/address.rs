//! Where a server listens: paths of Unix sockets and TCP addresses, loopback ones unless more is allowed.

use super::Access;
use std::{
    fmt, io,
    net::{SocketAddr, TcpListener, ToSocketAddrs},
    path::PathBuf,
    str::FromStr,
};

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A socket in the file system, for the user alone.
    Unix(PathBuf),
    /// A TCP address, `HOST:PORT`; port 0 takes any that is free.
    Tcp(String),
}

/// Why nobody can listen there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// Neither form.
    #[error("`{0}` is no address; write unix:PATH, or tcp:HOST:PORT such as tcp:127.0.0.1:7400")]
    Form(String),
    /// Others than this machine could connect.
    #[error("{address}: {found} can be reached from other machines; listen on 127.0.0.1 or [::1], or allow it")]
    Remote {
        /// What was asked for.
        address: Address,
        /// What it stands for.
        found: SocketAddr,
    },
    /// Others than this machine could connect, and anybody would be answered.
    #[error(
        "{address}: other machines may reach {found}, and whoever does would be answered; give a token that they have to know"
    )]
    Open {
        /// What was asked for.
        address: Address,
        /// What it stands for.
        found: SocketAddr,
    },
    /// Something else is there.
    #[error("{0}: {1}")]
    Taken(Address, &'static str),
    /// The system refuses.
    #[error("{address}: cannot listen")]
    Io {
        /// What was asked for.
        address: Address,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        match text.split_once(':') {
            Some(("unix", path)) if !path.is_empty() => Ok(Self::Unix(path.into())),
            Some(("tcp", address)) if address.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok()) => {
                Ok(Self::Tcp(address.to_owned()))
            }
            _ => Err(AddressError::Form(text.to_owned())),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Tcp(address) => write!(f, "tcp:{address}"),
        }
    }
}

impl Address {
    pub(super) fn io(&self) -> impl Fn(io::Error) -> AddressError + '_ {
        |source| AddressError::Io { address: self.clone(), source }
    }

    pub(super) fn listen_tcp(&self, host: &str, access: &Access) -> Result<TcpListener, AddressError> {
        let found: Vec<SocketAddr> = host.to_socket_addrs().map_err(self.io())?.collect();
        if let Some(&found) = found.iter().find(|found| !found.ip().is_loopback()) {
            let address = self.clone();
            match access {
                Access { remote: false, .. } => return Err(AddressError::Remote { address, found }),
                Access { token: None, .. } => return Err(AddressError::Open { address, found }),
                Access { .. } => {}
            }
        }
        let listener = TcpListener::bind(&found[..]).map_err(self.io())?;
        #[cfg(unix)]
        unix::let_many_wait(&listener).map_err(self.io())?;
        Ok(listener)
    }
}

#[cfg(unix)]
pub(super) mod unix {
    //! A socket in the file system that nobody else may use, and room for many who come at once.

    use super::{Address, AddressError};
    use std::{
        fs, io,
        net::TcpListener,
        os::{
            fd::AsRawFd,
            unix::{
                fs::{FileTypeExt, MetadataExt},
                net::{UnixListener, UnixStream},
            },
        },
        path::{Path, PathBuf},
        sync::Mutex,
    };

    /// The socket's file goes when this is dropped, if it still is the same.
    #[derive(Debug)]
    pub(crate) struct SocketFile {
        path: PathBuf,
        identity: (u64, u64),
    }

    impl Drop for SocketFile {
        fn drop(&mut self) {
            if identity(&self.path).is_ok_and(|found| found == self.identity) {
                // Whoever has removed it meanwhile has done the same.
                let _ = fs::remove_file(&self.path);
            }
        }
    }

    fn identity(path: &Path) -> io::Result<(u64, u64)> {
        fs::symlink_metadata(path).map(|file| (file.dev(), file.ino()))
    }

    pub(crate) fn listen(address: &Address, path: &Path) -> Result<(UnixListener, SocketFile), AddressError> {
        if let Ok(there) = fs::symlink_metadata(path) {
            if !there.file_type().is_socket() {
                return Err(AddressError::Taken(address.clone(), "there is a file that is no socket"));
            }
            match UnixStream::connect(path) {
                Ok(_) => return Err(AddressError::Taken(address.clone(), "another server answers there")),
                // A server that was killed has left it behind.
                Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => {
                    fs::remove_file(path).map_err(address.io())?;
                }
                // Somebody else's, or a server that is busy.
                Err(source) => return Err(AddressError::Io { address: address.clone(), source }),
            }
        }
        let listener = bind(path).map_err(address.io())?;
        let identity = identity(path).map_err(address.io())?;
        Ok((listener, SocketFile { path: path.to_owned(), identity }))
    }

    /// Lets many wait to be let in, as Unix sockets do: whoever finds no room there tries again a second later.
    pub(super) fn let_many_wait(listener: &TcpListener) -> io::Result<()> {
        const MANY: i32 = 4096;
        // SAFETY: takes two numbers.
        match unsafe { libc::listen(listener.as_raw_fd(), MANY) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Binds with mode 0600 from the first moment on: the mask belongs to the process, so one at a time.
    fn bind(path: &Path) -> io::Result<UnixListener> {
        static MASK: Mutex<()> = Mutex::new(());
        let _one = MASK.lock();
        // SAFETY: takes and gives a number.
        let before = unsafe { libc::umask(0o177) };
        let listener = UnixListener::bind(path);
        // SAFETY: as above.
        unsafe { libc::umask(before) };
        listener
    }
}

#[cfg(test)]
mod tests {
    use super::{super::Token, *};
    use std::sync::Arc;

    #[test]
    fn addresses_are_read_as_they_are_written() -> Result<(), AddressError> {
        for text in ["unix:/run/distill.sock", "tcp:127.0.0.1:7400", "tcp:[::1]:0", "tcp:localhost:7400"] {
            assert_eq!(text.parse::<Address>()?.to_string(), text);
        }
        for text in ["", "7400", "unix:", "tcp:7400", "tcp:127.0.0.1", "http:127.0.0.1:80", "tcp:127.0.0.1:99999"] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
        Ok(())
    }

    #[test]
    fn other_machines_are_kept_out_unless_allowed_and_known() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        std::fs::write(&path, "0123456789abcdef").unwrap();
        let token = Some(Arc::new(Token::load(&path).unwrap()));
        let listen = |host: &str, remote, token: &Option<Arc<Token>>| {
            let access = Access { remote, token: token.clone() };
            Address::Tcp(host.to_owned()).listen_tcp(host, &access).map_err(|e| e.to_string())
        };
        assert!(listen("127.0.0.1:0", false, &None).is_ok());
        for (remote, token, words) in
            [(false, &None, "or allow it"), (false, &token, "or allow it"), (true, &None, "give a token")]
        {
            let said = listen("0.0.0.0:0", remote, token).unwrap_err();
            assert!(said.contains(words), "{said}");
        }
        assert!(listen("0.0.0.0:0", true, &token).is_ok());
    }
}
