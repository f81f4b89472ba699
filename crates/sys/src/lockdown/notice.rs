//! Supervised system calls (`SECCOMP_RET_USER_NOTIF`): reading which process wants to do what, and answering.
//!
//! While a call is pending, the thread that made it stands still, but other threads of its process do not: the memory
//! behind its pointers may change after it was read, and so may the tree of files. An answer that refuses is therefore
//! sound, and so is one that returns the result of the call after the supervisor carried it out; one that lets a call
//! go on is only an opinion.

use super::call::{call, last_errno};
use crate::process::Pid;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use std::sync::OnceLock;

/// The listener of a filter, which receives the supervised calls.
#[derive(Debug)]
pub struct Listener(OwnedFd);

/// A system call that waits for the supervisor's answer.
#[derive(Clone, Copy, Debug)]
pub struct Notice {
    id: u64,
    /// The thread that makes the call, by its number as this process sees it.
    pub pid: Pid,
    /// The number of the call.
    pub number: i64,
    /// Its arguments, as they are in the registers.
    pub arguments: [u64; 6],
}

/// How long the caller keeps a descriptor that it receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DescriptorScope {
    /// Also the program that the caller executes next.
    Programs,
    /// Not even the executed program: the descriptor is closed on `exec`.
    Nobody,
}

/// The answer to a call.
#[derive(Clone, Copy)]
enum NoticeReply {
    GoOn,
    Value(i64),
    Error(Errno),
}

impl From<OwnedFd> for Listener {
    fn from(fd: OwnedFd) -> Self {
        Self(fd)
    }
}

impl Listener {
    /// Receives the next supervised call. `None`: the call that woke this process was cancelled meanwhile.
    pub fn next(&self) -> Result<Option<Notice>, Errno> {
        // SAFETY: the structure is plain data that the kernel wants to be all zeroes, and fills.
        let (answer, notice) = unsafe {
            let mut notice: libc::seccomp_notif = std::mem::zeroed();
            let answer = libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut notice);
            (answer, notice)
        };
        match (answer, last_errno()) {
            (0, _) => Ok(Some(Notice {
                id: notice.id,
                pid: Pid::new(notice.pid),
                number: i64::from(notice.data.nr),
                arguments: notice.data.args,
            })),
            (_, Errno::NOENT | Errno::INTR) => Ok(None),
            (_, errno) => Err(errno),
        }
    }

    /// Answers that the kernel carries the call out.
    pub fn go_on(&self, notice: &Notice) {
        self.answer(notice, NoticeReply::GoOn);
    }

    /// Answers that the call was carried out, and returned zero.
    pub fn done(&self, notice: &Notice) {
        self.done_with(notice, 0);
    }

    /// Answers that the call was carried out, and returned this number.
    pub fn done_with(&self, notice: &Notice, value: usize) {
        self.answer(notice, NoticeReply::Value(i64::try_from(value).unwrap_or(i64::MAX)));
    }

    /// Answers that a file was opened for the caller, who gets it under a number of its own. Our descriptor is closed
    /// before the caller goes on: otherwise a program that the caller wrote could not be executed, and the end of a
    /// pipe would not be seen. Refused with the caller's reason, such as `MFILE`; then the call still waits for an
    /// answer.
    pub fn give(&self, notice: &Notice, file: OwnedFd, heirs: DescriptorScope) -> Result<(), Errno> {
        let separately = only_death_interrupts();
        let flags = if separately { 0 } else { libc::SECCOMP_ADDFD_FLAG_SEND as u32 };
        let number = self.add(notice, (&file, heirs), flags)?;
        drop(file);
        if separately {
            self.answer(notice, NoticeReply::Value(i64::from(number)));
        }
        Ok(())
    }

    /// Puts a file into the caller, which still waits for an answer, and returns the number of the descriptor there.
    pub fn put(&self, notice: &Notice, file: &OwnedFd, heirs: DescriptorScope) -> Result<i32, Errno> {
        self.add(notice, (file, heirs), 0)
    }

    fn add(
        &self,
        notice: &Notice,
        (file, heirs): (&OwnedFd, DescriptorScope),
        flags: u32,
    ) -> Result<i32, Errno> {
        let gift = libc::seccomp_notif_addfd {
            id: notice.id,
            flags,
            srcfd: file.as_raw_fd().unsigned_abs(),
            newfd: 0,
            newfd_flags: match heirs {
                DescriptorScope::Programs => 0,
                DescriptorScope::Nobody => libc::O_CLOEXEC.unsigned_abs(),
            },
        };
        // SAFETY: the structure is complete, and the kernel only reads it.
        let number =
            unsafe { libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ADDFD, &raw const gift) };
        if number < 0 { Err(last_errno()) } else { Ok(number) }
    }

    /// Answers that the call fails with this error.
    pub fn refuse(&self, notice: &Notice, errno: Errno) {
        self.answer(notice, NoticeReply::Error(errno));
    }

    /// Whether the caller still waits in the same call: then the memory that was read before is its own and not that of
    /// another process with its number.
    pub fn still_asks(&self, notice: &Notice) -> bool {
        // SAFETY: the kernel reads one number.
        let answer = unsafe {
            libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ID_VALID, &raw const notice.id)
        };
        answer == 0
    }

    fn answer(&self, notice: &Notice, answer: NoticeReply) {
        let nothing = libc::seccomp_notif_resp { id: notice.id, val: 0, error: 0, flags: 0 };
        let answer = match answer {
            NoticeReply::GoOn => {
                libc::seccomp_notif_resp { flags: libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32, ..nothing }
            }
            NoticeReply::Value(value) => libc::seccomp_notif_resp { val: value, ..nothing },
            NoticeReply::Error(errno) => libc::seccomp_notif_resp { error: -errno.raw_os_error(), ..nothing },
        };
        // A caller that was killed meanwhile needs no answer.
        // SAFETY: the structure is complete, and the kernel only reads it.
        let _ = unsafe { libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw const answer) };
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Whether only death can interrupt a caller that waits. Before Linux 5.19 every signal interrupts it: between
/// receiving a file and the answer it could keep the file and make the call again. On those kernels both happen in one
/// step, and the file stays open here for a moment.
fn only_death_interrupts() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| rustix::system::uname().release().to_str().is_ok_and(is_new_enough))
}

fn is_new_enough(release: &str) -> bool {
    let mut numbers = release.split(|char: char| !char.is_ascii_digit()).map_while(|word| word.parse().ok());
    let version: (u32, u32) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    version >= (5, 19)
}

/// Reads another process's memory; returns how many bytes could be read.
pub fn read_memory(pid: Pid, address: u64, into: &mut [u8]) -> Result<usize, Errno> {
    let local = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let remote = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: into.len() };
    // The last argument is passed on the stack, where a narrower type would leave the upper half undefined.
    let (one, no_flags): (libc::c_ulong, libc::c_ulong) = (1, 0);
    // SAFETY: the local piece is ours and of that length; the remote address is only ever used in the other process.
    let read = unsafe {
        let (local, remote) = (&raw const local, &raw const remote);
        call!(libc::SYS_process_vm_readv, pid.raw(), local, one, remote, one, no_flags)
    }?;
    Ok(usize::try_from(read).unwrap_or(0))
}

/// Writes all of these bytes into another process's memory.
pub fn write_memory(pid: Pid, address: u64, bytes: &[u8]) -> Result<(), Errno> {
    let local = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    let remote = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: bytes.len() };
    // As above: the last argument is passed on the stack.
    let (one, no_flags): (libc::c_ulong, libc::c_ulong) = (1, 0);
    // SAFETY: the local piece is ours and of that length, and is only read; the remote address is only ever used in the
    // other process, where the kernel checks it.
    let written = unsafe {
        let (local, remote) = (&raw const local, &raw const remote);
        call!(libc::SYS_process_vm_writev, pid.raw(), local, one, remote, one, no_flags)
    }?;
    if usize::try_from(written) == Ok(bytes.len()) { Ok(()) } else { Err(Errno::FAULT) }
}

#[cfg(test)]
mod tests {
    use super::is_new_enough;

    #[test]
    fn kernels_are_told_apart_by_their_release() {
        for (release, expected) in [
            ("6.18.44-fc", true),
            ("5.19.0", true),
            ("5.15.0-91-generic", false),
            ("4.19", false),
            ("odd", false),
        ] {
            assert_eq!(is_new_enough(release), expected, "{release}");
        }
    }
}
