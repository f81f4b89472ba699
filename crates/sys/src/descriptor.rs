//! Helpers for file descriptors that several modules need.

use rustix::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use rustix::fs::{MemfdFlags, SeekFrom, memfd_create, seek};
use rustix::io::{Errno, fcntl_dupfd_cloexec};

/// Moves a descriptor above 2. A runtime started with its own stdin closed would otherwise be handed 0, 1 or 2 for a
/// pipe, and the child's `dup2` onto those numbers would overwrite it.
pub(crate) fn above_stdio(fd: OwnedFd) -> Result<OwnedFd, Errno> {
    if fd.as_raw_fd() > 2 { Ok(fd) } else { fcntl_dupfd_cloexec(&fd, 3) }
}

/// Appends up to `count` bytes of a file, from an offset on, to `into`; returns how many there were. That memory is not
/// filled with zeroes first.
pub fn read_more_at(
    file: impl AsFd,
    into: &mut Vec<u8>,
    (offset, count): (u64, usize),
) -> Result<usize, Errno> {
    into.reserve(count);
    let mut read = 0;
    while read < count {
        let room = &mut into.spare_capacity_mut()[..count - read];
        let filled = match rustix::io::pread(&file, room, offset + read as u64) {
            Ok((filled, _)) => filled.len(),
            Err(Errno::INTR) => continue,
            Err(errno) => return Err(errno),
        };
        if filled == 0 {
            break;
        }
        read += filled;
        // SAFETY: room for that many bytes after the present length was reserved, and the kernel has just filled it.
        unsafe { into.set_len(into.len() + filled) };
    }
    Ok(read)
}

/// A file in memory that holds these bytes, positioned at its beginning. It can be sealed.
pub fn in_memory(name: &str, bytes: &[u8]) -> Result<OwnedFd, Errno> {
    let file = memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    let mut rest = bytes;
    while !rest.is_empty() {
        rest = &rest[rustix::io::write(&file, rest)?..];
    }
    seek(&file, SeekFrom::Start(0))?;
    Ok(file)
}

/// Takes over a descriptor that this process inherited, by its number; `None`: there is none. To be called once for
/// each number, before any other file is opened. The descriptor closes when another program is executed.
pub fn inherited(number: i32) -> Option<OwnedFd> {
    // SAFETY: the call looks at a number and closes nothing.
    let set = unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) };
    // SAFETY: it is open, and no code in this process has opened it: it was inherited at the start.
    (set == 0).then(|| unsafe { OwnedFd::from_raw_fd(number) })
}

/// Closes every descriptor of this process but these. No other descriptor may be used or dropped afterwards: this is
/// for a process that has just been forked and never returns.
pub fn keep_only(kept: &[&OwnedFd]) {
    let mut numbers: Vec<u32> = kept.iter().filter_map(|fd| u32::try_from(fd.as_raw_fd()).ok()).collect();
    numbers.sort_unstable();
    let mut first = 0;
    for number in numbers {
        if first < number {
            close_between(first, number - 1);
        }
        first = number + 1;
    }
    close_between(first, u32::MAX);
}

fn close_between(first: u32, last: u32) {
    // SAFETY: closing numbers changes no memory; the caller vouches that their owners are never used again.
    unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_holds_is_added_to_what_is_there() {
        let path = std::env::temp_dir().join(format!("windlass-read-more-{}", std::process::id()));
        std::fs::write(&path, "0123456789").unwrap();
        let file = std::fs::File::open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let mut bytes = b"before ".to_vec();
        assert_eq!(read_more_at(&file, &mut bytes, (2, 3)), Ok(3));
        assert_eq!(bytes, b"before 234");
        assert_eq!(read_more_at(&file, &mut bytes, (8, 100)), Ok(2));
        assert_eq!(bytes, b"before 23489");
        assert_eq!(read_more_at(&file, &mut bytes, (10, 1)), Ok(0));
        assert_eq!(read_more_at(&file, &mut bytes, (0, 0)), Ok(0));
        assert_eq!(bytes, b"before 23489");
    }
}
