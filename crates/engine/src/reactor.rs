//! Registering descriptors with the reactor, in one place.

use rustix::fd::{AsFd, AsRawFd};
use rustix::io::Errno;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Registers a descriptor with the reactor. On failure the value comes back, so that its owner decides what to do with
/// it.
///
/// The replacement that tokio offers is `unsafe`, because it cannot know that a value's descriptor stays the same.
/// Every value given here owns one descriptor for life, which satisfies its contract.
#[expect(
    deprecated,
    reason = "sound for values that own one descriptor; the unsafe form is closed to this crate"
)]
pub(crate) fn watch<T: AsFd + AsRawFd>(value: T, interest: Interest) -> Result<AsyncFd<T>, (T, Errno)> {
    AsyncFd::try_with_interest(value, interest).map_err(|failure| {
        let (value, cause) = failure.into_parts();
        (value, Errno::from_io_error(&cause).unwrap_or(Errno::IO))
    })
}
