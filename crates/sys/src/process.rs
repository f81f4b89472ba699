//! One process: its id, its exit, and the facts that the kernel shows about it.

use crate::signal::Signal;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fmt;
use std::io::Read;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

/// A process id. Only a process that is not reaped yet may be signalled by number; all other code uses a pidfd.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pid(u32);

impl Pid {
    /// Wraps a number that the kernel gave.
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// The number itself.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The calling process.
    pub fn of_this_process() -> Self {
        Self(std::process::id())
    }

    pub(crate) fn raw(self) -> i32 {
        i32::try_from(self.0).unwrap_or(i32::MAX)
    }

    fn to_rustix(self) -> Option<rustix::process::Pid> {
        rustix::process::Pid::from_raw(self.raw())
    }
}

/// Hides this process's environment, memory and descriptors from other processes of the same user, as `/proc` and
/// debuggers show them. Root and processes with `CAP_SYS_PTRACE` can read them all the same. Programs that this process
/// executes are as open as ever, and this process dumps no core.
pub fn hide_from_others() -> Result<(), Errno> {
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)
}

/// Overwrites the values of variables in the environment that the kernel gave this process, which `/proc` shows to root
/// and `ps e` prints. `std::env` finds those variables empty afterwards, so the environment must have been copied
/// before.
///
/// Does nothing in a process with several threads: another one could be reading the environment.
pub fn erase_variables(is_secret: impl Fn(&OsStr, &OsStr) -> bool) {
    unsafe extern "C" {
        static environ: *const *mut libc::c_char;
    }
    if !crate::lockdown::has_one_thread() {
        return;
    }
    // SAFETY: no other thread exists that could read or change the environment. `environ` is null or an array that ends
    // with a null, of strings that end with a zero and are this process's own to write; none becomes longer, and the
    // zero stays.
    unsafe {
        let mut variable = environ;
        while !variable.is_null() && !(*variable).is_null() {
            let text = *variable;
            let length = libc::strlen(text);
            let bytes = std::slice::from_raw_parts_mut(text.cast::<u8>(), length);
            if let Some(equals) = bytes.iter().position(|byte| *byte == b'=')
                && is_secret(OsStr::from_bytes(&bytes[..equals]), OsStr::from_bytes(&bytes[equals + 1..]))
            {
                bytes[equals + 1..].fill(0);
            }
            variable = variable.add(1);
        }
    }
}

impl fmt::Display for Pid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A process held by a pidfd: as long as this exists, the process is not mistaken for another one with the same number.
#[derive(Debug)]
pub struct Process {
    pid: Pid,
    pidfd: OwnedFd,
}

impl Process {
    pub(crate) fn from_parts(pid: Pid, pidfd: OwnedFd) -> Self {
        Self { pid, pidfd }
    }

    /// A process to which other code opened a pidfd, under the number that it has here.
    pub fn held(pid: Pid, pidfd: OwnedFd) -> Self {
        Self::from_parts(pid, pidfd)
    }

    /// Opens a pidfd for a process by number. `SRCH`: there is no such process. Any other error: it could not be
    /// opened.
    pub fn open(pid: Pid) -> Result<Self, Errno> {
        let number = pid.to_rustix().ok_or(Errno::SRCH)?;
        let pidfd = rustix::process::pidfd_open(number, rustix::process::PidfdFlags::empty())?;
        Ok(Self { pid, pidfd })
    }

    /// A second pidfd for the same process.
    pub fn try_clone(&self) -> Result<Self, Errno> {
        let pidfd = rustix::io::fcntl_dupfd_cloexec(&self.pidfd, 3)?;
        Ok(Self { pid: self.pid, pidfd })
    }

    /// Its number.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// Sends a signal to exactly this process.
    pub fn signal(&self, signal: Signal) -> Result<(), Errno> {
        rustix::process::pidfd_send_signal(&self.pidfd, signal.to_rustix())
    }

    /// Sends a signal to its process group. Only for an unreaped child of this process that leads its own group.
    pub fn signal_group(&self, signal: Signal) -> Result<(), Errno> {
        match self.pid.to_rustix() {
            Some(group) => rustix::process::kill_process_group(group, signal.to_rustix()),
            None => Err(Errno::SRCH),
        }
    }

    /// Whether any of its threads still runs. A zombie is not alive.
    pub fn is_alive(&self) -> bool {
        let mut fds = [PollFd::new(&self.pidfd, PollFlags::IN)];
        loop {
            match poll(&mut fds, Some(&Timespec::default())) {
                // Even a poll that does not wait is interrupted, and where many children die at once, it often is.
                Err(Errno::INTR) => {}
                // Without an answer the process may live, and must not be forgotten.
                answer => return answer.unwrap_or(0) == 0,
            }
        }
    }

    /// Collects the exit of a child of this process, if it has exited. Returns it once.
    pub fn reap(&self) -> Result<Option<Ended>, Errno> {
        wait_for(&self.pidfd, libc::WNOHANG)
    }

    /// Waits, blocking, until a child of this process has exited, and collects it. For bare programs and failed starts.
    pub fn reap_blocking(&self) -> Result<Ended, Errno> {
        wait_for(&self.pidfd, 0)?.ok_or(Errno::CHILD)
    }
}

impl AsFd for Process {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }
}

impl AsRawFd for Process {
    fn as_raw_fd(&self) -> i32 {
        self.pidfd.as_raw_fd()
    }
}

/// A child's exit, and the resources that it used.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// Its code or signal.
    pub how: How,
    /// CPU time in user mode, with descendants it waited for.
    pub cpu_user: Duration,
    /// CPU time in the kernel, likewise.
    pub cpu_system: Duration,
    /// Peak resident bytes as the kernel counts them: never below the spawning process's own peak.
    pub peak_memory: u64,
}

/// An exit code or a signal, never mixed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// The process called `exit`.
    Exited(i32),
    /// A signal ended the process.
    Signalled(Signal),
    /// Other code collected the child, and its exit status with it.
    Unknown,
}

impl Ended {
    /// The end of a child that other code collected.
    pub const UNKNOWN: Self =
        Self { how: How::Unknown, cpu_user: Duration::ZERO, cpu_system: Duration::ZERO, peak_memory: 0 };
}

/// The raw call, because it alone returns the usage of this one child together with its status.
fn wait_for(pidfd: &OwnedFd, options: i32) -> Result<Option<Ended>, Errno> {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    loop {
        // SAFETY: both pointers are to zeroed structures of the right type that outlive the call.
        let answer = unsafe {
            libc::syscall(
                libc::SYS_waitid,
                libc::P_PIDFD,
                pidfd.as_raw_fd(),
                info.as_mut_ptr(),
                libc::WEXITED | options,
                usage.as_mut_ptr(),
            )
        };
        if answer == 0 {
            break;
        }
        match Errno::from_io_error(&std::io::Error::last_os_error()) {
            Some(Errno::INTR) => {}
            other => return Err(other.unwrap_or(Errno::CHILD)),
        }
    }
    // SAFETY: zeroed memory is a valid value of both structures, and the kernel may have filled them since.
    let (info, usage) = unsafe { (info.assume_init(), usage.assume_init()) };
    // SAFETY: for a waitid answer (or the zeroes of "nothing yet") the pid and status fields are the active ones.
    let (pid, status) = unsafe { (info.si_pid(), info.si_status()) };
    if pid == 0 {
        return Ok(None);
    }
    let how =
        if info.si_code == libc::CLD_EXITED { How::Exited(status) } else { How::Signalled(status.into()) };
    Ok(Some(Ended {
        how,
        cpu_user: duration(usage.ru_utime),
        cpu_system: duration(usage.ru_stime),
        peak_memory: u64::try_from(usage.ru_maxrss).unwrap_or(0) * 1024,
    }))
}

fn duration(time: libc::timeval) -> Duration {
    let micros = u64::try_from(time.tv_usec).unwrap_or(0);
    Duration::from_secs(u64::try_from(time.tv_sec).unwrap_or(0)) + Duration::from_micros(micros)
}

/// Collects a dead child by number: only for orphans that the kernel reparented to this process, for which no other
/// code waits.
pub fn reap_orphan(pid: Pid) {
    let Some(pid) = pid.to_rustix() else { return };
    let options = rustix::process::WaitIdOptions::EXITED | rustix::process::WaitIdOptions::NOHANG;
    // An error means that it is not our child or is already gone: nothing to do in either case.
    let _ = rustix::process::waitid(rustix::process::WaitId::Pid(pid), options);
}

/// Waits for an exiting child, and collects it: for one that another process started as our child.
pub fn reap_exiting(pid: Pid) {
    let Some(pid) = pid.to_rustix() else { return };
    let wait =
        || rustix::process::waitid(rustix::process::WaitId::Pid(pid), rustix::process::WaitIdOptions::EXITED);
    while let Err(Errno::INTR) = wait().map(drop) {}
}

/// The longest command line we repeat.
const COMMAND_LENGTH: usize = 160;

/// The command line of a process, or its kernel name in brackets; `None` once it is gone.
pub fn command_line(pid: Pid) -> Option<String> {
    let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let words: Vec<_> =
        bytes.split(|b| *b == 0).filter(|w| !w.is_empty()).map(String::from_utf8_lossy).collect();
    if words.is_empty() {
        let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
        return Some(format!("[{}]", name.trim_end()));
    }
    let mut line = words.join(" ").replace(|c: char| c.is_control(), " ");
    if let Some((cut, _)) = line.char_indices().nth(COMMAND_LENGTH) {
        line.truncate(cut);
        line.push('…');
    }
    Some(line)
}

/// When a process started, in clock ticks since boot: with its number, this names one process for ever.
pub fn start_ticks(pid: Pid) -> Option<u64> {
    // The file reports the size 0, so reading it whole would need six calls, at every start of a session.
    let mut stat = [0; 512];
    let length = std::fs::File::open(format!("/proc/{pid}/stat")).ok()?.read(&mut stat).ok()?;
    let stat = &stat[..length];
    // The name in brackets may hold anything, spaces and brackets too: the fields count from the last bracket.
    let fields = &stat[stat.iter().rposition(|byte| *byte == b')')? + 1..];
    std::str::from_utf8(fields).ok()?.split_whitespace().nth(19)?.parse().ok()
}

/// Whether a process is stopped (`SIGSTOP`) or held by a debugger. One that is gone is not.
pub fn is_stopped(pid: Pid) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let state = status.lines().find_map(|line| line.strip_prefix("State:"));
    state.is_some_and(|state| matches!(state.trim_start().chars().next(), Some('T' | 't')))
}

/// The number of a process in its own process namespace, where that is not the namespace of this process.
pub fn number_inside(pid: Pid) -> Option<Pid> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    // The first is the one by which this process knows it.
    numbers.split_whitespace().skip(1).last()?.parse().ok().map(Pid::new)
}

/// The parent of a process, if there is such a process.
pub fn parent_of(pid: Pid) -> Option<Pid> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
    line.trim().parse().ok().map(Pid)
}

/// The leader of the session (`setsid`) that it is in, if there is such a process. No other process can get that number
/// as long as the session has a member, even if the leader is long gone.
pub fn session_of(pid: Pid) -> Option<Pid> {
    // SAFETY: takes a number and gives one.
    let leader = unsafe { libc::getsid(pid.raw()) };
    numbered(leader)
}

/// The process group it is in, if there is such a process.
pub fn group_of(pid: Pid) -> Option<Pid> {
    // SAFETY: takes a number and gives one.
    let group = unsafe { libc::getpgid(pid.raw()) };
    numbered(group)
}

/// Kernel threads are in session and group 0, which is no process; rustix takes that for impossible.
fn numbered(answer: libc::pid_t) -> Option<Pid> {
    u32::try_from(answer).ok().filter(|number| *number > 0).map(Pid)
}

#[cfg(test)]
mod tests {
    use super::{Pid, Process, command_line, group_of, start_ticks};
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn this_process_is_alive_and_has_a_command_line_and_a_start() {
        let me = Pid::of_this_process();
        assert!(Process::open(me).unwrap().is_alive());
        assert!(!command_line(me).unwrap().is_empty());
        assert!(start_ticks(me).unwrap() > 0);
        assert!(group_of(me).is_some());
    }

    /// A regression: a thousand sessions were ended at once, and six of them lived on, because the signal of another
    /// child's death had interrupted the poll that asked whether they were alive.
    #[test]
    fn a_signal_in_the_middle_of_the_question_does_not_make_a_process_dead() {
        static HEARD: AtomicU32 = AtomicU32::new(0);
        const ENOUGH: u32 = 20_000;
        extern "C" fn hear(_: libc::c_int) {
            HEARD.fetch_add(1, Ordering::Relaxed);
        }
        // SAFETY: the handler adds to an atomic number, so it may run anywhere.
        let asking = unsafe {
            libc::signal(libc::SIGURG, hear as *const () as libc::sighandler_t);
            libc::pthread_self()
        };
        let me = Process::open(Pid::of_this_process()).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                while HEARD.load(Ordering::Relaxed) < ENOUGH {
                    // SAFETY: the thread that is asking waits for this one at the end of the scope.
                    unsafe { libc::pthread_kill(asking, libc::SIGURG) };
                }
            });
            while HEARD.load(Ordering::Relaxed) < ENOUGH {
                assert!(me.is_alive());
            }
        });
    }

    #[test]
    fn a_process_that_does_not_exist_is_nothing() {
        let nobody = Pid::new(0x3fff_ffff);
        assert_eq!(Process::open(nobody).unwrap_err(), rustix::io::Errno::SRCH);
        assert_eq!(command_line(nobody), None);
        assert_eq!(start_ticks(nobody), None);
    }
}
