//! Starting a process without copying the runtime: `clone` with `CLONE_VM | CLONE_VFORK`, as `posix_spawn` does it, but
//! with a pidfd from the first moment, a controlling terminal, limits, and the step that failed.
//!
//! Until `exec` the child borrows our memory while the calling thread stands still. It therefore makes system calls
//! only: no allocation, no lock, nothing that another thread could hold.

mod slots;

use self::slots::{Low, Table};
use crate::directory::DirectoryIdentity;
use crate::limits::{Bound, OpenFiles, ProcessLimits};
use crate::mark::{Halves, Mark, RuntimeTag};
use crate::process::{Pid, Process};
use rustix::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use rustix::io::Errno;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;

/// The parameters of a start. The child inherits nothing else: no descriptor, no signal setting, no variable.
#[derive(Debug)]
pub struct Launch<'a> {
    /// The path of the file to execute, already found.
    pub program: &'a CStr,
    /// The arguments, beginning with the name under which the program sees itself.
    pub arguments: &'a [CString],
    /// The whole environment, `NAME=value`.
    pub environment: &'a [CString],
    /// The working directory.
    pub directory: &'a CStr,
    /// Which directory that must be. Another one in its place is refused with `ESTALE`.
    pub identity: Option<DirectoryIdentity>,
    /// Descriptors 0, 1 and 2: borrowed, so the caller closes its copies of the child's ends when it sees fit.
    pub stdio: Stdio<'a>,
    /// The session's mark, where it can be set.
    pub mark: Option<(RuntimeTag, Mark)>,
    /// The open-file limit to give back.
    pub open_files: Option<OpenFiles>,
    /// The limits that the kernel enforces on each of its processes.
    pub limits: ProcessLimits,
    /// The control groups that it enters before it executes the program, by their entry files, see
    /// [`crate::cgroup::SessionCgroup::entries`].
    pub groups: &'a [BorrowedFd<'a>],
    /// Further descriptors, which the child finds from [`FIRST_PASSED`] on, in this order.
    pub passed: &'a [BorrowedFd<'a>],
    /// The process whose child it becomes.
    pub kinship: Kinship,
}

/// The number under which a child finds the first of the descriptors that were passed to it.
pub const FIRST_PASSED: i32 = 3;
/// The most descriptors that can be passed.
pub const MOST_PASSED: usize = 5;

/// The parent of a new process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kinship {
    /// The process that starts it.
    #[default]
    Child,
    /// The parent of the process that starts it: only that parent can then wait for it.
    Sibling,
}

/// The child's standard streams.
#[derive(Clone, Copy, Debug)]
pub enum Stdio<'a> {
    /// Three separate ends.
    Pipes {
        /// Descriptor 0.
        stdin: BorrowedFd<'a>,
        /// Descriptor 1.
        stdout: BorrowedFd<'a>,
        /// Descriptor 2.
        stderr: BorrowedFd<'a>,
    },
    /// One terminal for all three, which becomes the controlling terminal.
    Terminal {
        /// The terminal's far end.
        slave: BorrowedFd<'a>,
    },
}

/// The step at which a start failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum SpawnStep {
    /// Creating the process: fails at the limit on processes, or for lack of memory.
    Clone,
    /// Creating a session of its own.
    Session,
    /// Taking the controlling terminal.
    Terminal,
    /// Setting up descriptors 0 to 2.
    Descriptors,
    /// Entering the working directory.
    Directory,
    /// Setting limits and the mark.
    Limits,
    /// Entering its control groups.
    Groups,
    /// Executing the program.
    Execute,
}

/// A start that failed. Nothing is left of the child, unless `uncollected` names it.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("{step:?} failed: {errno}")]
pub struct LaunchFailure {
    /// The failed step.
    pub step: SpawnStep,
    /// The kernel's error.
    pub errno: Errno,
    /// The number of a sibling that has exited and that only the common parent can collect.
    pub uncollected: Option<Pid>,
}

impl LaunchFailure {
    fn before_the_child(step: SpawnStep, errno: Errno) -> Self {
        Self { step, errno, uncollected: None }
    }
}

/// Starts the child: leader of its own session and process group, signals at their defaults, none blocked, no core
/// dumps. Returns when the program runs or its start has failed.
pub fn launch(launch: &Launch<'_>) -> Result<Process, LaunchFailure> {
    if launch.passed.len() > MOST_PASSED {
        return Err(LaunchFailure::before_the_child(SpawnStep::Descriptors, Errno::TOOBIG));
    }
    let stdio = launch.stdio.ends();
    let given: Vec<BorrowedFd<'_>> = stdio.iter().chain(launch.passed).copied().collect();
    slots::with_low_numbers(&given, |low| launch_with(launch, &low))
        .unwrap_or_else(|errno| Err(LaunchFailure::before_the_child(SpawnStep::Descriptors, errno)))
}

/// The same with low numbers for the child's descriptors, its own three first.
fn launch_with(launch: &Launch<'_>, low: &Low<'_>) -> Result<Process, LaunchFailure> {
    let arguments = pointers(launch.arguments);
    let environment = pointers(launch.environment);
    let number = |place: usize| low.numbers.get(place).copied().unwrap_or(-1);
    let mut order = ChildSetup {
        program: launch.program.as_ptr(),
        arguments: arguments.as_ptr(),
        environment: environment.as_ptr(),
        directory: launch.directory.as_ptr(),
        identity: launch.identity,
        descriptors: std::array::from_fn(number),
        controlling_terminal: matches!(launch.stdio, Stdio::Terminal { .. }),
        passed: std::array::from_fn(|place| number(OWN + place)),
        table: low.table,
        beyond: low.numbers.iter().max().map_or(0, |highest| highest + 1),
        kinship: launch.kinship,
        mark: launch.mark.and_then(|(runtime_tag, mark)| runtime_tag.halves(mark)),
        open_files: launch.open_files,
        limits: launch.limits.bounds(),
        groups: (launch.groups.as_ptr(), launch.groups.len()),
        failed: None,
    };
    let process = with_signals_blocked(|| clone_and_run(&mut order))?;
    match order.failed {
        None => Ok(process),
        Some((step, errno)) => {
            // The child has exited already; collecting it here leaves no zombie of a failed start. A sibling is left to
            // the parent.
            let uncollected = process.reap_blocking().is_err().then_some(process.pid());
            Err(LaunchFailure { step, errno: Errno::from_raw_os_error(errno), uncollected })
        }
    }
}

/// The number of descriptors that every child has.
const OWN: usize = 3;

impl<'a> Stdio<'a> {
    fn ends(&self) -> [BorrowedFd<'a>; OWN] {
        match *self {
            Self::Pipes { stdin, stdout, stderr } => [stdin, stdout, stderr],
            Self::Terminal { slave } => [slave; OWN],
        }
    }
}

/// The parameters that the child reads from our memory, and the one field that it writes.
struct ChildSetup<'a> {
    program: *const c_char,
    arguments: *const *const c_char,
    environment: *const *const c_char,
    directory: *const c_char,
    identity: Option<DirectoryIdentity>,
    descriptors: [c_int; OWN],
    controlling_terminal: bool,
    passed: [c_int; MOST_PASSED],
    table: Table,
    /// The first number above all of the child's descriptors.
    beyond: c_int,
    kinship: Kinship,
    mark: Option<Halves>,
    open_files: Option<OpenFiles>,
    limits: [Option<Bound>; ProcessLimits::COUNT],
    groups: (*const BorrowedFd<'a>, usize),
    failed: Option<(SpawnStep, c_int)>,
}

fn pointers(strings: &[CString]) -> Vec<*const c_char> {
    strings.iter().map(|string| string.as_ptr()).chain([ptr::null()]).collect()
}

/// The child's stack: it makes a dozen system calls through thin wrappers.
const STACK: usize = 32 * 1024;

thread_local! {
    /// One stack for each thread that starts children: the thread stands still while a child uses it, so it is never
    /// used twice at once.
    static CHILD_STACK: RefCell<Vec<u128>> = const { RefCell::new(Vec::new()) };
}

fn clone_and_run(order: &mut ChildSetup<'_>) -> Result<Process, LaunchFailure> {
    CHILD_STACK.with_borrow_mut(|stack| {
        if stack.is_empty() {
            stack.reserve_exact(STACK / size_of::<u128>());
        }
        let mut pidfd: c_int = -1;
        let kinship = if order.kinship == Kinship::Sibling { libc::CLONE_PARENT } else { 0 };
        let table = if order.table == Table::CopiesBeginning { libc::CLONE_FILES } else { 0 };
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PIDFD | libc::SIGCHLD | kinship | table;
        // SAFETY: the stack holds STACK bytes and is not used by any other code until the child execs or exits, because
        // CLONE_VFORK suspends this thread until then and the borrow is exclusive. `order` outlives the call for the
        // same reason. `run_in_child` makes system calls only. With CLONE_PIDFD the fifth argument receives the pidfd.
        let pid = unsafe {
            let top = stack.as_mut_ptr().add(STACK / size_of::<u128>());
            libc::clone(run_in_child, top.cast(), flags, ptr::from_mut(order).cast(), &raw mut pidfd)
        };
        if pid < 0 {
            return Err(LaunchFailure::before_the_child(SpawnStep::Clone, last_errno()));
        }
        // SAFETY: the kernel stored a new descriptor there, which has no other owner.
        let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
        Ok(Process::from_parts(Pid::new(pid.unsigned_abs()), pidfd))
    })
}

/// Runs `work` with all signals blocked: none of our handlers may run in the child while it shares our memory.
fn with_signals_blocked<T>(work: impl FnOnce() -> T) -> T {
    // SAFETY: both sets are initialised by the calls before they are used; the mask of this thread is put back below.
    let before = unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, &raw mut before);
        before
    };
    let answer = work();
    // SAFETY: `before` was filled by the call above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, ptr::null_mut()) };
    answer
}

/// Runs in the child, from its first instruction to `exec`.
extern "C" fn run_in_child(argument: *mut c_void) -> c_int {
    // SAFETY: the parent passed its `ChildSetup` and stands still, so this is the only reference in use.
    let order = unsafe { &mut *argument.cast::<ChildSetup<'_>>() };
    if let Err(step) = become_the_program(order) {
        order.failed = Some((step, last_errno().raw_os_error()));
    }
    // SAFETY: ends this process without running the parent's exit handlers.
    unsafe { libc::_exit(127) }
}

/// Returns only on failure, with `errno` as the failed call left it.
fn become_the_program(order: &ChildSetup<'_>) -> Result<(), SpawnStep> {
    // SAFETY: only system calls on values that the parent prepared; see the module's description.
    unsafe {
        default_signals();
        // The mark comes first: as long as this child holds a copy of the pipe to the guardian, the guardian waits, and
        // afterwards it finds the mark.
        check(set_limits(order), SpawnStep::Limits)?;
        check(enter_groups(order), SpawnStep::Groups)?;
        check(libc::setsid(), SpawnStep::Session)?;
        check(own_descriptors(order), SpawnStep::Descriptors)?;
        if order.controlling_terminal {
            check(libc::ioctl(order.descriptors[0], libc::TIOCSCTTY, 0), SpawnStep::Terminal)?;
        }
        for (target, source) in (0..).zip(order.descriptors) {
            check(libc::dup2(source, target), SpawnStep::Descriptors)?;
        }
        let mut first_unused = FIRST_PASSED;
        for source in order.passed.into_iter().take_while(|source| *source >= 0) {
            check(libc::dup2(source, first_unused), SpawnStep::Descriptors)?;
            first_unused += 1;
        }
        // All our descriptors close on exec anyway; this closes those that an embedding program left open. A kernel
        // before 5.9 does not have the call, and then they stay open.
        libc::syscall(libc::SYS_close_range, first_unused, libc::c_uint::MAX, 0);
        check(libc::chdir(order.directory), SpawnStep::Directory)?;
        check(is_wanted_directory(order.identity), SpawnStep::Directory)?;
        unblock_signals();
        libc::execve(order.program, order.arguments, order.environment);
    }
    Err(SpawnStep::Execute)
}

/// Gives the child a descriptor table of its own; until now it shares that of the runtime. The table is a copy of the
/// beginning: descriptors beyond are neither copied nor closed, however many there are.
///
/// # Safety
/// Only in the child.
unsafe fn own_descriptors(order: &ChildSetup<'_>) -> c_int {
    match order.table {
        Table::CopiedWhole => 0,
        // SAFETY: only this process's descriptor table changes, and the process needs no descriptor from this number
        // on.
        Table::CopiesBeginning => unsafe {
            let unshare = libc::CLOSE_RANGE_UNSHARE;
            let answer = libc::syscall(libc::SYS_close_range, order.beyond, libc::c_uint::MAX, unshare);
            if answer < 0 { -1 } else { 0 }
        },
    }
}

/// Whether the directory that was entered is the wanted one: a link or another directory can have taken its place. Looked at
/// after it was entered, so that nothing can be exchanged any more.
///
/// # Safety
/// Only in the child.
unsafe fn is_wanted_directory(wanted: Option<DirectoryIdentity>) -> c_int {
    let Some(wanted) = wanted else { return 0 };
    // SAFETY: the kernel fills the structure, which any bytes are a value of; `errno` is this thread's.
    unsafe {
        let mut about: libc::stat = std::mem::zeroed();
        if libc::stat(c".".as_ptr(), &raw mut about) < 0 {
            return -1;
        }
        if about.st_dev == wanted.device && about.st_ino == wanted.inode {
            return 0;
        }
        *libc::__errno_location() = libc::ESTALE;
    }
    -1
}

fn check(answer: c_int, step: SpawnStep) -> Result<(), SpawnStep> {
    if answer < 0 { Err(step) } else { Ok(()) }
}

/// # Safety
/// Only in the child, with all signals blocked.
unsafe fn default_signals() {
    /// The kernel's own layout, all zeroes: SIG_DFL, no flags, an empty mask. The wrapper of libc refuses the two
    /// signals it uses itself, which an ancestor may have left ignored.
    const DEFAULT: [u64; 4] = [0; 4];
    const SET_SIZE: usize = 8;
    for signal in 1..=64 {
        // SAFETY: SIG_DFL runs no code. KILL and STOP are refused and stay as they are, which is what we want.
        unsafe {
            libc::syscall(libc::SYS_rt_sigaction, signal, DEFAULT.as_ptr(), ptr::null::<u64>(), SET_SIZE);
        }
    }
}

/// # Safety
/// Only in the child, after [`default_signals`].
unsafe fn unblock_signals() {
    // SAFETY: the set is initialised before use.
    unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut());
    }
}

/// # Safety
/// Only in the child.
unsafe fn set_limits(order: &ChildSetup<'_>) -> c_int {
    // SAFETY: every structure is complete before its call.
    unsafe {
        let mut core: libc::rlimit64 = std::mem::zeroed();
        libc::getrlimit64(libc::RLIMIT_CORE, &raw mut core);
        core.rlim_cur = 0;
        let mut answer = libc::setrlimit64(libc::RLIMIT_CORE, &raw const core);
        if let Some(files) = order.open_files {
            let limit = libc::rlimit64 { rlim_cur: files.soft, rlim_max: files.hard };
            answer |= libc::setrlimit64(libc::RLIMIT_NOFILE, &raw const limit);
        }
        if let Some(mark) = order.mark {
            let limit = libc::rlimit64 { rlim_cur: mark.soft, rlim_max: mark.hard };
            answer |= libc::setrlimit64(libc::RLIMIT_LOCKS, &raw const limit);
        }
        for bound in order.limits.iter().flatten() {
            let mut limit: libc::rlimit64 = std::mem::zeroed();
            libc::getrlimit64(bound.resource, &raw mut limit);
            limit.rlim_cur = bound.soft.min(limit.rlim_cur);
            limit.rlim_max = bound.hard.min(limit.rlim_max);
            answer |= libc::setrlimit64(bound.resource, &raw const limit);
        }
        answer
    }
}

/// Enters the control groups before `exec`: all processes that the child starts begin in its groups, so none can be
/// missed.
///
/// # Safety
/// Only in the child.
unsafe fn enter_groups(order: &ChildSetup<'_>) -> c_int {
    let (first, count) = order.groups;
    for place in 0..count {
        // SAFETY: the parent passed that many open descriptors and stands still; the text is static.
        let written = unsafe { libc::write((*first.add(place)).as_raw_fd(), c"0".as_ptr().cast(), 1) };
        if written < 0 {
            return -1;
        }
    }
    0
}

fn last_errno() -> Errno {
    // SAFETY: the location is this thread's own; in the child it is the suspended parent thread's, which is as good.
    Errno::from_raw_os_error(unsafe { *libc::__errno_location() })
}
