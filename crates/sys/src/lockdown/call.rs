//! System calls that have no wrapper elsewhere.

use rustix::io::Errno;

/// Calls the kernel with what it expects and turns its answer into a result.
macro_rules! call {
    ($number:expr $(, $argument:expr)* $(,)?) => {
        // The caller's SAFETY comment covers this: the macro only hands the arguments on.
        $crate::lockdown::call::answer(libc::syscall($number $(, $argument)*))
    };
}

pub(super) use call;

/// Turns the return value of a system call into a result.
pub(super) fn answer(answer: libc::c_long) -> Result<libc::c_long, Errno> {
    if answer >= 0 { Ok(answer) } else { Err(last_errno()) }
}

/// The error of this thread's last call.
pub(super) fn last_errno() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}
