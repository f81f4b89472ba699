//! A sandbox that is ready before its command is known: the mounts are in place and the helper is locked in, so that
//! only the command itself has to be started. The runtime uses it for a command whose confinement is equal.
//!
//! One thing may surprise: equal confinements are not enough. Mounts lie over files and directories, not over names,
//! and processes outside replace those. So the helper looks at every mount again before it starts a command, and
//! refuses if one has moved.

use super::view::{self, Console, MountIds, Underneath};
use super::{
    Given, Links, Passed, RunningCommand, Standing, Stopped, SupervisorProcess, at,
    check_that_runtime_is_there, lock, name_door, name_own_tmux, open_door, start_command, take_over,
};
use crate::confinement::{Confinement, Preparation, StreamKind};
use crate::request::{ConfineStep, Failure, LaunchRequest};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use windlass_sys::process::Pid;

/// A sandbox that lacks nothing but its command.
pub(super) struct Prepared {
    confinement: Confinement,
    watcher: SupervisorProcess,
    underneath: Underneath,
    mounts_outside: MountChanges,
    mounts: MountIds,
    door: Option<OwnedFd>,
    lock: Lock,
}

/// Whether a helper has confined itself already.
enum Lock {
    Closed,
    /// It waits for a terminal, which has to be mounted first.
    Open(Given),
}

impl Prepared {
    pub(super) fn make(
        preparation: Preparation,
        given: Given,
        standing: Standing,
        mounts_outside: MountChanges,
    ) -> Result<Self, Failure> {
        let Preparation { confinement, streams } = preparation;
        let Standing { watcher, underneath } = standing;
        view::build(&confinement, view::copy_pieces(&confinement)?, None)?;
        let mounts = MountIds::now(&confinement);
        let door = open_door(&confinement).map_err(at(ConfineStep::Namespaces))?;
        let lock = match streams {
            StreamKind::Terminal => Lock::Open(given),
            StreamKind::Pipes => {
                lock(&confinement, Some(&watcher), &given)?;
                Lock::Closed
            }
        };
        Ok(Self { confinement, watcher, underneath, mounts_outside, mounts, door, lock })
    }

    pub(super) fn watcher(&self) -> Pid {
        self.watcher.process.pid()
    }

    /// Starts the command. The runtime has put the session's mark on this process and on the supervisor, because a
    /// filter may forbid this process to do so by now.
    pub(super) fn start(
        self,
        order: &mut LaunchRequest,
        mut passed: Passed,
        links: Links<'_>,
    ) -> Result<RunningCommand, Stopped> {
        self.check_that_it_still_fits()?;
        check_that_runtime_is_there(links.channel)?;
        let inherited = take_over(order, &mut passed)?;
        if let Lock::Open(given) = &self.lock {
            if let Some(console) = Console::of(&self.underneath) {
                console.put()?;
            }
            lock(&self.confinement, Some(&self.watcher), given)?;
        }
        name_door(order, self.door.as_ref()).map_err(at(ConfineStep::Command))?;
        name_own_tmux(order, &self.confinement);
        self.watcher.begin(order.mark).map_err(at(ConfineStep::Watcher))?;
        let command = start_command(order, &inherited)?;
        Ok(RunningCommand { command, watcher: Some(self.watcher.process), door: self.door })
    }

    /// The plan is still the same, but the files below mounts may have been replaced, and so may mounts outside.
    fn check_that_it_still_fits(&self) -> Result<(), Failure> {
        let fits = !self.mounts_outside.happened() && MountIds::now(&self.confinement) == self.mounts;
        if fits { Ok(()) } else { Err(at(ConfineStep::Prepared)(Errno::STALE)) }
    }
}

/// Detects mounts and unmounts in the first mount namespace of this process.
pub(super) struct MountChanges(OwnedFd);

impl MountChanges {
    pub(super) fn from_now() -> Result<Self, Errno> {
        open("/proc/self/mountinfo", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).map(Self)
    }

    pub(super) fn happened(&self) -> bool {
        let mut fds = [PollFd::new(&self.0, PollFlags::PRI)];
        let asked = poll(&mut fds, Some(&Timespec::default()));
        asked.is_err() || fds[0].revents().intersects(PollFlags::PRI | PollFlags::ERR)
    }
}
