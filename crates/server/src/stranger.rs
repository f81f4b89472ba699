//! Who may call at a socket of ours: not a command in a sandbox, for which anything could be done that it may not do itself.
//! A socket cannot be hidden from whoever can see its directory, but its caller can be looked at.

use std::os::unix::fs::MetadataExt;

use tokio::net::{UnixListener, UnixStream};

/// The next caller that is none of those. Others find the line dead.
pub(crate) async fn accept(listener: &UnixListener) -> std::io::Result<UnixStream> {
    loop {
        let (stream, _) = listener.accept().await?;
        if shares_our_users(&stream) {
            return Ok(stream);
        }
    }
}

/// Whether the caller is in the same namespace of users. One that is gone, or that we cannot see, is not.
fn shares_our_users(stream: &UnixStream) -> bool {
    let users = |process: &str| std::fs::metadata(format!("/proc/{process}/ns/user")).map(|it| it.ino()).ok();
    let caller = stream.peer_cred().ok().and_then(|credentials| credentials.pid()).filter(|pid| *pid != 0);
    let theirs = caller.and_then(|pid| users(&pid.to_string()));
    theirs.is_some() && theirs == users("self")
}
