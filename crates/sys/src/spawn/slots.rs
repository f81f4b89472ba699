//! Low numbers for a child's descriptors: without them, a process with thousands of descriptors hands a copy of each to
//! every child, which then closes them all again. That would be most of the time of a start, where many sessions run.
//!
//! A few numbers are reserved when a thread starts its first child, usually early, and kept. The child's descriptors
//! have these numbers until the child has its own copies; the child copies those numbers and none above.

use std::cell::RefCell;

use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use rustix::io::{DupFlags, Errno};
use rustix::pipe::PipeFlags;

/// Higher than every number under which a child gets a descriptor: otherwise one could overwrite another.
const LOWEST: RawFd = super::FIRST_PASSED + super::MOST_PASSED as RawFd;

thread_local! {
    /// One set for each thread that starts children; the thread stands still until its child has its descriptors.
    static SLOTS: RefCell<Option<Slots>> = const { RefCell::new(None) };
}

/// The low numbers for a child's descriptors.
pub(super) struct Low<'a> {
    /// The numbers, in the order of the given descriptors.
    pub(super) numbers: &'a [RawFd],
    /// How the child gets a table of its own.
    pub(super) table: Table,
}

/// How a child gets a descriptor table of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Table {
    /// It shares our table at first and copies the part that it needs.
    CopiesBeginning,
    /// It starts with a copy, because this kernel (before 5.9) or a filter around us allows no other way.
    CopiedWhole,
}

/// Numbers that belong to one thread.
struct Slots {
    table: Table,
    /// The descriptor that occupies the numbers between starts: one whose closing no process waits for.
    nothing: OwnedFd,
    places: Vec<OwnedFd>,
}

/// Runs a function while these descriptors have low numbers as well, and passes it those numbers.
///
/// Where descriptors have run out, or fewer are allowed than once were, there may be no such numbers. A child that gets
/// nothing but its own three can do with those that they have.
pub(super) fn with_low_numbers<T>(
    given: &[BorrowedFd<'_>],
    work: impl FnOnce(Low<'_>) -> T,
) -> Result<T, Errno> {
    SLOTS.with_borrow_mut(|slots| {
        let slots = match slots {
            Some(slots) => slots,
            none => none.insert(Slots::new()?),
        };
        let (numbers, filled) = match slots.fill(given) {
            Ok(numbers) => (numbers, given.len()),
            Err(_) if given.len() == super::OWN => (given.iter().map(AsRawFd::as_raw_fd).collect(), 0),
            Err(_) => return Err(Errno::MFILE),
        };
        let done = work(Low { numbers: &numbers, table: slots.table });
        slots.empty(filled);
        Ok(done)
    })
}

impl Table {
    fn here() -> Self {
        // SAFETY: an empty range in the wrong order, of which nothing comes but the answer whether there is such a
        // call.
        let answer = unsafe { libc::syscall(libc::SYS_close_range, 1, 0, libc::CLOSE_RANGE_UNSHARE) };
        if answer < 0 && super::last_errno() == Errno::INVAL {
            Self::CopiesBeginning
        } else {
            Self::CopiedWhole
        }
    }
}

impl Slots {
    fn new() -> Result<Self, Errno> {
        // A pipe whose other end is closed: a process that starts children from inside a sandbox may not be allowed to
        // open any file.
        let (nothing, _) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
        Ok(Self { table: Table::here(), nothing, places: Vec::new() })
    }

    fn fill(&mut self, given: &[BorrowedFd<'_>]) -> Result<Vec<RawFd>, Errno> {
        while self.places.len() < given.len() {
            self.places.push(rustix::io::fcntl_dupfd_cloexec(&self.nothing, LOWEST)?);
        }
        let fill = |(place, given): (&mut OwnedFd, &BorrowedFd<'_>)| {
            rustix::io::dup3(given, place, DupFlags::CLOEXEC)?;
            Ok(place.as_raw_fd())
        };
        let filled: Result<Vec<RawFd>, Errno> = self.places.iter_mut().zip(given).map(fill).collect();
        filled.inspect_err(|_| self.empty(given.len()))
    }

    /// Frees the numbers: a remaining copy of the child's end of a pipe would keep that pipe open. A number that is no
    /// longer allowed is given up.
    fn empty(&mut self, count: usize) {
        let nothing = self.nothing.as_fd();
        let mut places = 0;
        self.places.retain_mut(|place| {
            places += 1;
            places > count || rustix::io::dup3(nothing, place, DupFlags::CLOEXEC).is_ok()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_lies_there_only_for_as_long_as_it_is_needed() {
        let (reader, writer) = rustix::pipe::pipe().expect("a pipe");
        for _ in 0..3 {
            with_low_numbers(&[writer.as_fd(), writer.as_fd()], |Low { numbers, .. }| {
                assert_eq!(numbers.len(), 2);
                assert!(numbers.iter().all(|number| *number >= LOWEST), "{numbers:?}");
                assert_ne!(numbers[0], numbers[1]);
            })
            .expect("there are descriptors");
        }
        drop(writer);
        assert_eq!(rustix::io::read(&reader, &mut [0; 1]), Ok(0), "nobody holds the other end");
    }
}
