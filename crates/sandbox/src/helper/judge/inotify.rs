//! Instances of inotify where there is no user namespace to limit them. Each user has a few (128 by default), and a
//! command that takes them all leaves none for editors and file managers of the same user.
//!
//! The processes of a session may hold half of them, as with namespaces. Descriptors can be hidden from the count: on
//! their way through a socket, or in a process that cannot be inspected; and several sessions may run at once. So
//! whatever the count says, some must also be left for others; the judge checks that by opening them for a moment.

use super::{CallDecision, Judge, Judged};
use crate::denial::{Denial, Operation};
use crate::helper::emulated::EmulatedSyscall;
use rustix::fs::inotify::{self, CreateFlags};
use rustix::io::Errno;
use std::path::Path;
use windlass_sys::lockdown::notice::Notice;
use windlass_sys::lockdown::number::INOTIFY_INIT1;
use windlass_sys::mark::Halves;
use windlass_sys::process::Pid;

/// The kernel's limit of instances for each user.
const LIMIT: &str = "/proc/sys/fs/inotify/max_user_instances";

impl Judge<'_> {
    pub(super) fn inotify(&self, notice: &Notice, operation: Operation) -> Judged {
        let flags = if notice.number == INOTIFY_INIT1 { notice.arguments[0] as u32 } else { 0 };
        let flags = CreateFlags::from_bits(flags).ok_or(Errno::INVAL)?;
        let Some(limit) = limit() else {
            return Ok(CallDecision::carry_out(EmulatedSyscall::Inotify(flags)));
        };
        let most = limit / 2;
        if self.mark.is_none_or(|mark| held_by(mark, most) < most) && can_be_had(limit / 8) {
            return Ok(CallDecision::carry_out(EmulatedSyscall::Inotify(flags)));
        }
        let target = "an inotify instance".to_owned();
        let rule = format!("half of the user's {limit} instances are left for programs outside");
        Ok(CallDecision::Refuse(Errno::MFILE, Denial { operation, target, rule, times: 1 }))
    }
}

fn limit() -> Option<usize> {
    std::fs::read_to_string(LIMIT).ok()?.trim().parse().ok()
}

/// The number of inotify descriptors of a session's processes, up to this many. Copies of one count each.
fn held_by(mark: Halves, most: usize) -> usize {
    let is_of_session = |pid: &Pid| *pid != Pid::of_this_process() && Halves::on(*pid) == Some(mark);
    let numbers = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.map(Pid::new).filter(is_of_session).flat_map(instances).take(most).count()
}

fn instances(pid: Pid) -> impl Iterator<Item = ()> {
    let is_instance =
        |link: &Path| std::fs::read_link(link).is_ok_and(|to| to == Path::new("anon_inode:inotify"));
    let descriptors = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    descriptors.filter(move |descriptor| is_instance(&descriptor.path())).map(drop)
}

/// Whether the user can still open one more than this many.
fn can_be_had(reserve: usize) -> bool {
    let taken: Result<Vec<_>, _> = (0..=reserve).map(|_| inotify::init(CreateFlags::CLOEXEC)).collect();
    taken.is_ok()
}
