//! Features of the kernel that only a trial system call can detect.

use crate::lockdown::unix_sockets::UnixSockets;

/// The version of Landlock's interface, if the kernel has Landlock and it is switched on.
pub fn landlock_version() -> Option<u32> {
    const VERSION: libc::c_uint = 1;
    // SAFETY: with this flag the kernel takes no attributes, so the pointer is null and the size zero; it makes nothing
    // and returns a number.
    let answer =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0_usize, VERSION) };
    u32::try_from(answer).ok()
}

/// Whether the kernel lists unix sockets (`CONFIG_UNIX_DIAG`).
pub fn lists_unix_sockets() -> bool {
    UnixSockets::of_this_namespace().and_then(|sockets| sockets.list()).is_ok()
}

/// Whether the kernel filters system calls.
pub fn has_filters() -> bool {
    has_filter_action(libc::SECCOMP_RET_ERRNO)
}

/// Whether a filter can ask a listener.
pub fn has_filter_listeners() -> bool {
    has_filter_action(libc::SECCOMP_RET_USER_NOTIF)
}

fn has_filter_action(action: u32) -> bool {
    let operation = libc::SECCOMP_GET_ACTION_AVAIL;
    // SAFETY: the kernel reads one number and changes nothing.
    unsafe { libc::syscall(libc::SYS_seccomp, operation, 0, &raw const action) == 0 }
}
