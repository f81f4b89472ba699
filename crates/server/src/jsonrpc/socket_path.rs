//! A unix socket at a path: accessible to its owner only, never taken from a live server, and removed with this one.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, Mode};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use tokio::net::{UnixListener, UnixStream};

/// The backlog of the socket.
const BACKLOG: i32 = 1024;

/// The interval and the number of attempts to lock the directory of a socket.
const TRY_AGAIN: Duration = Duration::from_millis(10);
const TRIES: usize = 200;

/// Why a path cannot hold a socket.
#[derive(Debug, thiserror::Error)]
pub enum SocketPathError {
    /// A file of another kind is there.
    #[error("{} is there already and is no socket; name another path", path.display())]
    NotASocket {
        /// The path.
        path: PathBuf,
    },
    /// Another server listens there.
    #[error("somebody listens at {} already; name another path, or end that server", path.display())]
    Taken {
        /// The path.
        path: PathBuf,
    },
    /// The system refuses.
    #[error("cannot listen at {}: {error}", path.display())]
    Refused {
        /// The path.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
}

/// A listening unix socket at a path.
#[derive(Debug)]
pub(crate) struct SocketPath {
    listener: UnixListener,
    path: PathBuf,
    /// Device and inode of the socket: another process may have put another file in its place.
    identity: (u64, u64),
}

impl SocketPath {
    /// Listens at a path. A socket that a dead server left there is replaced.
    pub(crate) async fn take(path: &Path) -> Result<Self, SocketPathError> {
        let refused = |error| SocketPathError::Refused { path: path.to_owned(), error };
        let path = std::path::absolute(path).map_err(refused)?;
        // The lock keeps a second server from finding the same socket dead and removing it after this one has replaced
        // it.
        let _turn = turn(&path).await.map_err(refused)?;
        clear(&path).await?;
        let listener = bind(&path).map_err(|error| match error.kind() {
            // Another server was faster.
            io::ErrorKind::AddrInUse => SocketPathError::Taken { path: path.clone() },
            _ => refused(error),
        })?;
        let identity = identity(&path).map_err(refused)?;
        Ok(Self { listener, path, identity })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) async fn accept(&self) -> io::Result<UnixStream> {
        self.listener.accept().await.map(|(stream, _)| stream)
    }
}

impl Drop for SocketPath {
    fn drop(&mut self) {
        if identity(&self.path).is_ok_and(|identity| identity == self.identity) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Waits until no other server takes a path in the same directory, which takes one milliseconds. A lock that is held
/// for longer does not belong to a server: every process that can read the directory can lock it, a confined command
/// too. In that case two servers that start at the same moment can each take the other's socket for dead; that is
/// better than no server at all.
async fn turn(path: &Path) -> io::Result<File> {
    let (directory, _) = parted(path)?;
    for _ in 0..TRIES {
        match rustix::fs::flock(&directory, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => {}
            // A file system without locks offers nothing safer.
            Ok(()) | Err(_) => return Ok(directory),
        }
        // timer: the release of the lock causes no event, and a lock that is never released must not stop the start.
        tokio::time::sleep(TRY_AGAIN).await;
    }
    Ok(directory)
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    std::fs::symlink_metadata(path).map(|metadata| (metadata.dev(), metadata.ino()))
}

/// Removes the socket that a dead server left at a path.
async fn clear(path: &Path) -> Result<(), SocketPathError> {
    let refused = |error| SocketPathError::Refused { path: path.to_owned(), error };
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(refused(error)),
        Ok(there) if !there.file_type().is_socket() => {
            return Err(SocketPathError::NotASocket { path: path.to_owned() });
        }
        Ok(_) => {}
    }
    match connect(path).await {
        Ok(_) => Err(SocketPathError::Taken { path: path.to_owned() }),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            std::fs::remove_file(path).map_err(refused)
        }
        Err(error) => Err(refused(error)),
    }
}

/// Connects to a socket at a path of any length.
pub(crate) async fn connect(path: &Path) -> io::Result<UnixStream> {
    let (directory, name) = parted(path)?;
    UnixStream::connect(short(&directory, &name)).await
}

/// Binds and listens. No other user can connect at any moment: the file has its mode from the beginning.
fn bind(path: &Path) -> io::Result<UnixListener> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    rustix::fs::fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    let (directory, name) = parted(path)?;
    rustix::net::bind(&socket, &SocketAddrUnix::new(short(&directory, &name))?)?;
    rustix::net::listen(&socket, BACKLOG)?;
    UnixListener::from_std(std::os::unix::net::UnixListener::from(socket))
}

fn parted(path: &Path) -> io::Result<(File, PathBuf)> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok((File::open(directory)?, name.into()))
}

/// The address of a socket is limited to about a hundred bytes, which a path easily exceeds; a path through an open
/// directory rarely does.
fn short(directory: &File, name: &Path) -> PathBuf {
    Path::new("/proc/self/fd").join(directory.as_raw_fd().to_string()).join(name)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use windlass_testkit::Scratch;

    use super::*;

    #[tokio::test]
    async fn a_socket_is_for_its_owner_only_and_gone_with_us() {
        let scratch = Scratch::new("place-owner");
        // Far beyond the limit of a socket's address.
        let directory = scratch.path().join("d".repeat(120));
        std::fs::create_dir(&directory).expect("a directory");
        let path = directory.join("s");
        let place = SocketPath::take(&path).await.expect("a place");
        let mode = std::fs::metadata(&path).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let (_client, accepted) = tokio::join!(connect(&path), place.accept());
        accepted.expect("somebody came");
        drop(place);
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn what_a_dead_server_left_is_replaced_and_nothing_else_is() {
        let scratch = Scratch::new("place-stale");
        let stale = scratch.path().join("stale");
        drop(std::os::unix::net::UnixListener::bind(&stale).expect("a socket"));
        assert!(stale.exists());
        let alive = SocketPath::take(&stale).await.expect("nobody listens there");
        assert!(
            matches!(SocketPath::take(&stale).await, Err(SocketPathError::Taken { path }) if path == stale)
        );
        let file = scratch.path().join("file");
        std::fs::write(&file, "precious").expect("a file");
        assert!(
            matches!(SocketPath::take(&file).await, Err(SocketPathError::NotASocket { path }) if path == file)
        );
        let nowhere = scratch.path().join("no/such");
        assert!(matches!(SocketPath::take(&nowhere).await, Err(SocketPathError::Refused { .. })));
        drop(alive);
        assert_eq!(std::fs::read_to_string(&file).expect("still there"), "precious");
    }

    #[tokio::test]
    async fn only_one_at_a_time_decides_what_is_dead() {
        let scratch = Scratch::new("place-turn");
        let path = scratch.path().join("s");
        drop(std::os::unix::net::UnixListener::bind(&path).expect("a socket"));
        let left = identity(&path).expect("it is there");
        let other = turn(&path).await.expect("nobody else is there");
        let mut taking = std::pin::pin!(SocketPath::take(&path));
        tokio::select! {
            biased;
            _ = &mut taking => panic!("it is not its turn"),
            () = tokio::task::yield_now() => {}
        }
        assert_eq!(identity(&path).expect("it is still there"), left);
        drop(other);
        taking.await.expect("a place");
    }

    #[tokio::test]
    async fn a_folder_that_stays_locked_keeps_no_server_from_starting() {
        let scratch = Scratch::new("place-locked");
        let held = File::open(scratch.path()).expect("a folder");
        rustix::fs::flock(&held, FlockOperation::LockExclusive).expect("a lock");
        SocketPath::take(&scratch.path().join("s")).await.expect("a place");
    }

    #[tokio::test]
    async fn what_somebody_put_in_its_place_stays() {
        let scratch = Scratch::new("place-replaced");
        let path = scratch.path().join("s");
        let place = SocketPath::take(&path).await.expect("a place");
        std::fs::remove_file(&path).expect("it can be removed");
        std::fs::write(&path, "other").expect("a file");
        drop(place);
        assert!(path.exists());
    }
}
