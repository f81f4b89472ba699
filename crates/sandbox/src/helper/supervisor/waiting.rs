//! Emulated calls that block, such as the open of a pipe whose other end no process has opened, or a connection to a
//! server that has not answered yet. A copy of the supervisor waits, answers and exits. If its caller ends first, the
//! copy is ended.

use crate::helper::caller::Caller;
use crate::helper::emulated::{EmulatedSyscall, Opened, Patience};
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::process::set_parent_process_death_signal;
use std::process::exit;
use windlass_sys::lockdown::notice::{Listener, Notice};
use windlass_sys::lockdown::{Twin, fork};
use windlass_sys::process::Process;
use windlass_sys::signal::Signal;

/// The waiting copies of the supervisor.
#[derive(Default)]
pub(super) struct Waiters(Vec<Waiter>);

struct Waiter {
    itself: Process,
    caller: Process,
}

/// More blocking calls than a well-behaved command has at once.
const MOST: usize = 256;

/// A blocking call and its caller.
pub(super) struct Wait<'a> {
    pub(super) listener: &'a Listener,
    pub(super) notice: &'a Notice,
    pub(super) caller: &'a Caller,
    pub(super) emulated: &'a EmulatedSyscall,
}

impl Waiters {
    pub(super) fn send(&mut self, wait: &Wait<'_>) {
        match if self.0.len() < MOST { wait.send() } else { Err(Errno::AGAIN) } {
            Ok(waiter) => self.0.push(waiter),
            // The caller is gone already.
            Err(Errno::SRCH) => {}
            Err(errno) => wait.listener.refuse(wait.notice, errno),
        }
    }

    /// The processes whose end matters: the copies and their callers.
    pub(super) fn awaited(&self) -> impl Iterator<Item = PollFd<'_>> {
        let both = self.0.iter().flat_map(|waiter| [&waiter.itself, &waiter.caller]);
        both.map(|process| PollFd::new(process, PollFlags::IN))
    }

    /// Ends the copies whose callers are gone, and forgets those that have exited.
    pub(super) fn dismiss(&mut self) {
        self.0.retain(|waiter| {
            if !waiter.caller.is_alive() {
                // A copy that has exited needs no signal.
                let _ = waiter.itself.signal(Signal::KILL);
                return false;
            }
            waiter.itself.is_alive()
        });
    }
}

impl Wait<'_> {
    fn send(&self) -> Result<Waiter, Errno> {
        let caller = Process::open(self.caller.process)?;
        match fork()? {
            Twin::Parent(itself) => Ok(Waiter { itself, caller }),
            Twin::Child => self.carry_out(),
        }
    }

    fn carry_out(&self) -> ! {
        // This copy must not outlive the supervisor.
        let _ = set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
        let answered = match self.emulated.perform(self.caller, Patience::Endless) {
            Ok(Opened::File(file, heirs)) => self.listener.give(self.notice, file, heirs),
            Ok(Opened::Nothing) => {
                self.listener.done(self.notice);
                Ok(())
            }
            Ok(Opened::Count(count)) => {
                self.listener.done_with(self.notice, count);
                Ok(())
            }
            Ok(Opened::Later | Opened::Draft(..) | Opened::Pair(_)) => Err(Errno::INVAL),
            Err(errno) => Err(errno),
        };
        if let Err(errno) = answered {
            self.listener.refuse(self.notice, errno);
        }
        exit(0)
    }
}
