//! System calls that are refused whatever their object. Where there is a supervisor, it refuses them and reports them;
//! the deciding arguments are in registers, so they cannot change before its answer.

use super::{FilterOptions, MAKES, PRIORITIES, WATCHES};
use rustix::io::Errno;
use windlass_sys::lockdown::filter::{FilterAction, Rule, Test};
use windlass_sys::lockdown::number as n;

/// Adds the rules.
pub(super) fn add(wanted: FilterOptions, rules: &mut Vec<Rule>) {
    add_everywhere(wanted, rules);
    if !wanted.namespaces {
        add_among_others(wanted, rules);
    }
}

/// A system call that is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) errno: Errno,
    /// The operation that was tried, in words.
    pub(crate) what: String,
    pub(crate) rule: &'static str,
}

/// The refusal of a supervised call that is refused whatever its object; `None`: the decision depends on the object.
pub(crate) fn refused(number: i64, arguments: &[u64; 6]) -> Option<Refused> {
    let of = |errno, what: &str, rule| Some(Refused { errno, what: what.to_owned(), rule });
    if let Some((_, name)) = FORBIDDEN.iter().find(|(it, _)| *it == number) {
        return of(Errno::PERM, name, "a sandbox changes nothing of the system");
    }
    if let Some((_, name)) = SHARED.iter().find(|(it, _)| *it == number) {
        return of(Errno::ACCESS, name, "without namespaces it is shared with programs outside");
    }
    match number {
        n::CLONE | n::UNSHARE => of(Errno::PERM, "new namespaces", "a sandbox makes none inside"),
        n::IOCTL => {
            of(Errno::PERM, command_name(arguments[1] as u32), "a sandbox changes nothing of the system")
        }
        n::FCNTL => of(Errno::ACCESS, "a lease on a file", "other users of the file would have to wait"),
        n::PRLIMIT64 => of(Errno::PERM, "limits of another process", "a command changes its own only"),
        _ if runs_as_owner(number, arguments) => of(
            Errno::PERM,
            "a file that runs as its owner (setuid)",
            "it would run as the user outside of the sandbox",
        ),
        _ => None,
    }
}

/// Whether a call with some arguments is refused whatever its object.
#[cfg(test)]
pub(super) fn is_named(number: i64) -> bool {
    refused(number, &[0; 6]).is_some()
}

fn runs_as_owner(number: i64, arguments: &[u64; 6]) -> bool {
    let has = |argument: u8, bits: u32| arguments[usize::from(argument)] as u32 & bits != 0;
    let mode = MODES.iter().find(|(it, _)| *it == number);
    mode.is_some_and(|(_, mode)| has(*mode, RUNS_AS_OWNER))
        && open_flags(number).is_none_or(|flags| has(flags, MAKES))
}

fn command_name(command: u32) -> &'static str {
    match command {
        TIOCSTI => "ioctl TIOCSTI: typing into a terminal",
        TIOCLINUX | TIOCSETD => "ioctl: changing a terminal",
        _ if SUBVOLUMES.contains(&command) => "ioctl: making a volume",
        _ => "ioctl: changing a file or volume that is open for reading",
    }
}

/// The argument with the flags of an open. A program that opens an existing file may leave any value in the register of
/// the mode, so the mode counts only if the flags create a file.
fn open_flags(number: i64) -> Option<u8> {
    match number {
        n::OPENAT => Some(2),
        #[cfg(target_arch = "x86_64")]
        n::OPEN => Some(1),
        _ => None,
    }
}

/// Calls that change the system itself, or bypass the filter.
const FORBIDDEN: &[(i64, &str)] = &[
    (n::SETNS, "setns"),
    (n::MOUNT, "mount"),
    (n::UMOUNT2, "umount2"),
    (n::PIVOT_ROOT, "pivot_root"),
    (n::CHROOT, "chroot"),
    (n::OPEN_TREE, "open_tree"),
    (n::OPEN_TREE_ATTR, "open_tree_attr"),
    (n::MOVE_MOUNT, "move_mount"),
    (n::FSOPEN, "fsopen"),
    (n::FSCONFIG, "fsconfig"),
    (n::FSMOUNT, "fsmount"),
    (n::FSPICK, "fspick"),
    (n::MOUNT_SETATTR, "mount_setattr"),
    (n::KEYCTL, "keyctl"),
    (n::ADD_KEY, "add_key"),
    (n::REQUEST_KEY, "request_key"),
    (n::BPF, "bpf"),
    (n::PERF_EVENT_OPEN, "perf_event_open"),
    (n::USERFAULTFD, "userfaultfd"),
    (n::INIT_MODULE, "init_module"),
    (n::FINIT_MODULE, "finit_module"),
    (n::DELETE_MODULE, "delete_module"),
    (n::KEXEC_LOAD, "kexec_load"),
    (n::REBOOT, "reboot"),
    (n::SWAPON, "swapon"),
    (n::SWAPOFF, "swapoff"),
    (n::ACCT, "acct"),
    (n::QUOTACTL, "quotactl"),
    (n::QUOTACTL_FD, "quotactl_fd"),
    (n::SYSLOG, "syslog"),
    (n::SETHOSTNAME, "sethostname"),
    (n::SETDOMAINNAME, "setdomainname"),
    (n::OPEN_BY_HANDLE_AT, "open_by_handle_at"),
    (n::FANOTIFY_INIT, "fanotify_init"),
    (n::VHANGUP, "vhangup"),
    (n::SETTIMEOFDAY, "settimeofday"),
    (n::CLOCK_SETTIME, "clock_settime"),
    #[cfg(target_arch = "x86_64")]
    (n::KEXEC_FILE_LOAD, "kexec_file_load"),
    #[cfg(target_arch = "x86_64")]
    (n::IOPL, "iopl"),
    #[cfg(target_arch = "x86_64")]
    (n::IOPERM, "ioperm"),
    #[cfg(target_arch = "x86_64")]
    (n::MODIFY_LDT, "modify_ldt"),
    #[cfg(target_arch = "x86_64")]
    (n::USELIB, "uselib"),
];

/// System calls for objects that all processes without an IPC namespace of their own share by number or name.
const SHARED: [(i64, &str); 13] = [
    (n::SHMGET, "shmget"),
    (n::SHMAT, "shmat"),
    (n::SHMCTL, "shmctl"),
    (n::SEMGET, "semget"),
    (n::SEMOP, "semop"),
    (n::SEMTIMEDOP, "semtimedop"),
    (n::SEMCTL, "semctl"),
    (n::MSGGET, "msgget"),
    (n::MSGSND, "msgsnd"),
    (n::MSGRCV, "msgrcv"),
    (n::MSGCTL, "msgctl"),
    (n::MQ_OPEN, "mq_open"),
    (n::MQ_UNLINK, "mq_unlink"),
];

const RUNS_AS_OWNER: u32 = 0o4000;

/// Calls with a mode, and the argument that holds it.
const MODES: &[(i64, u8)] = &[
    (n::FCHMOD, 1),
    (n::FCHMODAT, 2),
    (n::FCHMODAT2, 2),
    (n::OPENAT, 3),
    (n::MKNODAT, 2),
    #[cfg(target_arch = "x86_64")]
    (n::CHMOD, 1),
    #[cfg(target_arch = "x86_64")]
    (n::OPEN, 2),
    #[cfg(target_arch = "x86_64")]
    (n::CREAT, 1),
    #[cfg(target_arch = "x86_64")]
    (n::MKNOD, 1),
];

fn add_everywhere(wanted: FilterOptions, rules: &mut Vec<Rule>) {
    // `openat2` keeps its mode and flags in memory, where no filter can look. Memory from `memfd_secret` cannot be read
    // by the supervisor either, so a caller could hide the path of a call there.
    const NOT_THERE: [i64; 6] =
        [n::CLONE3, n::OPENAT2, n::MEMFD_SECRET, n::IO_URING_SETUP, n::IO_URING_ENTER, n::IO_URING_REGISTER];
    let perm = wanted.refusal(Errno::PERM);
    // Programs that find these missing do without; if the error says that they are forbidden, some programs give up.
    rules.extend(NOT_THERE.map(|number| Rule::always(number, FilterAction::Fail(Errno::NOSYS))));
    rules.extend(FORBIDDEN.iter().map(|(number, _)| Rule::always(*number, perm)));
    rules.push(Rule::when(n::CLONE, [Test::HasAny { argument: 0, bits: NEW_SPACES }], perm));
    rules.push(Rule::when(n::UNSHARE, [Test::HasAny { argument: 0, bits: NEW_SPACES | NEW_TIME }], perm));
    let terminals = [TIOCSTI, TIOCLINUX, TIOCSETD];
    for command in terminals.into_iter().chain(SUBVOLUMES) {
        rules.push(Rule::when(n::IOCTL, [Test::Is { argument: 1, value: command }], perm));
    }
    // Programs try this to have a file stored in another way, and go on without: the refusal is not reported.
    for command in ATTRIBUTES {
        let attributes = [Test::Is { argument: 1, value: command }];
        rules.push(Rule::when(n::IOCTL, attributes, FilterAction::Fail(Errno::PERM)));
    }
    // A lease on a file outside makes its other users wait, for most of a minute each time.
    for command in [SET_LEASE, SET_DELEGATION] {
        let lease = [Test::Is { argument: 1, value: command }];
        rules.push(Rule::when(n::FCNTL, lease, wanted.refusal(Errno::ACCESS)));
    }
    // The session's mark, by which its processes are found. A Windlass inside tries to set one for each of its own
    // sessions, so this is not reported.
    let marks = [Test::Is { argument: 1, value: RLIMIT_LOCKS }, Test::IsGiven { argument: 2 }];
    rules.push(Rule::when(n::PRLIMIT64, marks, FilterAction::Fail(Errno::PERM)));
    #[cfg(target_arch = "x86_64")]
    rules.push(Rule::when(
        n::SETRLIMIT,
        [Test::Is { argument: 0, value: RLIMIT_LOCKS }],
        FilterAction::Fail(Errno::PERM),
    ));
    // Limits of other processes: a process could lower the supervisor's limits, so that the supervisor can no longer
    // read its callers.
    let others = [Test::IsNot { argument: 0, value: 0 }, Test::IsGiven { argument: 2 }];
    rules.push(Rule::when(n::PRLIMIT64, others, perm));
    add_modes(wanted, rules);
    add_personalities(rules);
}

/// Refuses calls that reach processes of others by number, and objects shared with them by number, where such processes
/// are visible.
fn add_among_others(wanted: FilterOptions, rules: &mut Vec<Rule>) {
    /// The kinds of number that stand for one process.
    const ONE_PROCESS: [(i64, u32); 2] = [(n::SETPRIORITY, 0), (n::IOPRIO_SET, 1)];
    /// The argument that names the process concerned; 0 is the caller itself.
    const ABOUT: [(i64, u8); 9] = [
        (n::SETPRIORITY, 1),
        (n::SCHED_SETSCHEDULER, 0),
        (n::SCHED_SETPARAM, 0),
        (n::SCHED_SETATTR, 0),
        (n::SCHED_SETAFFINITY, 0),
        (n::IOPRIO_SET, 1),
        (n::MIGRATE_PAGES, 0),
        (n::MOVE_PAGES, 0),
        (n::PROCESS_MADVISE, 0),
    ];
    rules.extend(SHARED.map(|(number, _)| Rule::always(number, wanted.refusal(Errno::ACCESS))));
    for (number, argument) in ABOUT {
        let others = Test::IsNot { argument, value: 0 };
        if wanted.supervised && PRIORITIES.iter().any(|told| told.number == number) {
            let kind = ONE_PROCESS.iter().find(|(it, _)| *it == number);
            let kind = kind.map(|(_, value)| Test::Is { argument: 0, value: *value });
            rules.push(Rule::when(
                number,
                [others].into_iter().chain(kind).collect::<Vec<_>>(),
                FilterAction::Tell,
            ));
        }
        rules.push(Rule::when(number, [others], FilterAction::Fail(Errno::PERM)));
    }
    if wanted.supervised {
        rules.extend(WATCHES.iter().map(|told| Rule::always(told.number, FilterAction::Tell)));
    }
    // All processes of a user, which may be others' too.
    for (number, user) in [(n::SETPRIORITY, 2), (n::IOPRIO_SET, 3)] {
        rules.push(Rule::when(
            number,
            [Test::Is { argument: 0, value: user }],
            FilterAction::Fail(Errno::PERM),
        ));
    }
    for command in FILE_SYSTEM_COMMANDS {
        rules.push(Rule::when(
            n::IOCTL,
            [Test::Is { argument: 1, value: command }],
            wanted.refusal(Errno::PERM),
        ));
    }
    // The supervisor must read its callers' memory, so no caller may hide it.
    const DUMPABLE: u32 = 4;
    let hides = [Test::Is { argument: 0, value: DUMPABLE }, Test::Is { argument: 1, value: 0 }];
    rules.push(Rule::when(n::PRCTL, hides, FilterAction::Fail(Errno::PERM)));
}

/// Refuses setuid and setgid bits: a program outside that executes such a file would run as the command's user, outside
/// the sandbox.
fn add_modes(wanted: FilterOptions, rules: &mut Vec<Rule>) {
    for (number, argument) in MODES {
        let mut tests = vec![Test::HasAny { argument: *argument, bits: RUNS_AS_OWNER }];
        // A program that opens an existing file may leave any value in the register of the mode.
        if let Some(flags) = open_flags(*number) {
            tests.push(Test::HasAny { argument: flags, bits: MAKES });
        }
        rules.push(Rule::when(*number, tests, wanted.refusal(Errno::PERM)));
    }
}

/// Refuses personalities that emulate other systems, which have security holes of their own. Flags about the layout of
/// addresses stay allowed: debuggers need them.
fn add_personalities(rules: &mut Vec<Rule>) {
    const QUESTION: u32 = u32::MAX;
    const SYSTEM: u32 = 0xff;
    rules.push(Rule::when(n::PERSONALITY, [Test::Is { argument: 0, value: QUESTION }], FilterAction::Allow));
    let another = Test::HasAny { argument: 0, bits: SYSTEM };
    rules.push(Rule::when(n::PERSONALITY, [another], FilterAction::Fail(Errno::PERM)));
}

const NEW_SPACES: u32 = 0x7e02_0000;
const NEW_TIME: u32 = 0x80;
const TIOCSTI: u32 = 0x5412;
const TIOCLINUX: u32 = 0x541c;
const TIOCSETD: u32 = 0x5423;
const RLIMIT_LOCKS: u32 = 10;
/// Attributes of files such as "immutable", which can be set through a descriptor that is open for reading only.
/// `FS_IOC_SETFLAGS`, `FS_IOC_FSSETXATTR`, `FS_IOC_SETVERSION` and that of ext4, `FS_IOC_ENABLE_VERITY`,
/// `FS_IOC_SET_ENCRYPTION_POLICY`, `BTRFS_IOC_SUBVOL_SETFLAGS`.
const ATTRIBUTES: [u32; 7] =
    [0x4008_6602, 0x401c_5820, 0x4008_7602, 0x4008_6604, 0x4080_6685, 0x800c_6613, 0x4008_941a];
const SET_LEASE: u32 = 1024;
const SET_DELEGATION: u32 = 1040;
/// Commands of file systems that change a file or a volume which is only open for reading, where a read-only mount
/// would refuse them: removing, marking and choosing volumes of btrfs, attributes of FAT, and the way in which ext4
/// stores a file.
const FILE_SYSTEM_COMMANDS: [u32; 9] = [
    0x5000_940f,
    0x5000_943f,
    0xc0c8_9425,
    0xc0c0_9425,
    0x4008_941a,
    0x4008_9413,
    0x4004_7211,
    0x6609,
    0x660c,
];
/// Commands that create volumes within a volume of btrfs or bcachefs. They make directories whose names are in memory,
/// so the filter would let them pass without asking the supervisor.
const SUBVOLUMES: [u32; 5] = [0x5000_9401, 0x5000_940e, 0x5000_9417, 0x5000_9418, 0x4020_bc10];
