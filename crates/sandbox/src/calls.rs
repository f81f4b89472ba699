//! Which system calls a confined command may not make, and which are asked about before they are carried out.

use crate::denial::Operation;
use crate::machine::LANDLOCK_FOR_SOCKETS;
use crate::order::NetworkKind;
use rustix::io::Errno;
use windlass_sys::lockdown::filter::{Program, Rule, Test, Verdict};
use windlass_sys::lockdown::number as n;

/// What a call that is asked about is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// A file that is opened, flags in this argument; nobody follows a link where they say so.
    Opened { place: Place, flags: Flags },
    /// A file or directory that is there.
    Object { place: Place, links: Links },
    /// A name in a directory that is to be made.
    NewEntry { place: Place },
    /// A name in a directory that is to go.
    OldEntry { place: Place },
    /// A name that goes, and one that comes.
    Moved { from: Place, to: Place },
    /// A file that gets one more name.
    Linked { from: Place, to: Place },
    /// A file that is open already.
    Descriptor { argument: usize },
    /// A socket, and the address that it is connected to.
    Connected,
    /// A socket, and the address that a message is sent to.
    Sent,
    /// A socket, and the address that it gets.
    Bound,
    /// A kind of socket.
    Socket,
    /// Two unix sockets for datagrams that are connected to each other, and where their numbers are to be written.
    DatagramPair,
    /// The number of a process or thread.
    Process { argument: usize },
    /// An instance of inotify.
    Inotify,
}

/// Where a path is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The argument that holds the directory it begins at, if not the working directory.
    pub(crate) directory: Option<usize>,
    /// The argument that points at the text.
    pub(crate) path: usize,
}

/// Where the flags of an open are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flags {
    /// In this argument.
    In(usize),
    /// Those of `creat`.
    Creat,
}

/// Whether a link at the end of a path is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Links {
    Followed,
    Kept,
    /// Unless this argument says otherwise (`AT_SYMLINK_NOFOLLOW`).
    FollowedUnless(usize),
}

/// A call that is asked about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Told {
    pub(crate) number: i64,
    pub(crate) operation: Operation,
    pub(crate) subject: Subject,
}

const fn at(directory: usize, path: usize) -> Place {
    Place { directory: Some(directory), path }
}

const fn here(path: usize) -> Place {
    Place { directory: None, path }
}

const fn told(number: i64, operation: Operation, subject: Subject) -> Told {
    Told { number, operation, subject }
}

/// Opening.
const OPENS: &[Told] = &[
    told(n::OPENAT, Operation::Write, Subject::Opened { place: at(0, 1), flags: Flags::In(2) }),
    #[cfg(target_arch = "x86_64")]
    told(n::OPEN, Operation::Write, Subject::Opened { place: here(0), flags: Flags::In(1) }),
    #[cfg(target_arch = "x86_64")]
    told(n::CREAT, Operation::Create, Subject::Opened { place: here(0), flags: Flags::Creat }),
];

/// Everything else that changes files.
const CHANGES: &[Told] = &[
    told(n::MKDIRAT, Operation::MakeDirectory, Subject::NewEntry { place: at(0, 1) }),
    told(n::MKNODAT, Operation::MakeNode, Subject::NewEntry { place: at(0, 1) }),
    told(n::SYMLINKAT, Operation::Link, Subject::NewEntry { place: at(1, 2) }),
    told(n::LINKAT, Operation::Link, Subject::Linked { from: at(0, 1), to: at(2, 3) }),
    told(n::UNLINKAT, Operation::Remove, Subject::OldEntry { place: at(0, 1) }),
    told(n::RENAMEAT2, Operation::Rename, Subject::Moved { from: at(0, 1), to: at(2, 3) }),
    told(n::TRUNCATE, Operation::Truncate, Subject::Object { place: here(0), links: Links::Followed }),
    told(n::FCHMOD, Operation::ChangeMode, Subject::Descriptor { argument: 0 }),
    told(n::FCHMODAT, Operation::ChangeMode, Subject::Object { place: at(0, 1), links: Links::Followed }),
    told(
        n::FCHMODAT2,
        Operation::ChangeMode,
        Subject::Object { place: at(0, 1), links: Links::FollowedUnless(3) },
    ),
    told(n::FCHOWN, Operation::ChangeOwner, Subject::Descriptor { argument: 0 }),
    told(
        n::FCHOWNAT,
        Operation::ChangeOwner,
        Subject::Object { place: at(0, 1), links: Links::FollowedUnless(4) },
    ),
    told(
        n::UTIMENSAT,
        Operation::ChangeTimes,
        Subject::Object { place: at(0, 1), links: Links::FollowedUnless(3) },
    ),
    told(
        n::SETXATTR,
        Operation::ChangeAttributes,
        Subject::Object { place: here(0), links: Links::Followed },
    ),
    told(n::LSETXATTR, Operation::ChangeAttributes, Subject::Object { place: here(0), links: Links::Kept }),
    told(n::FSETXATTR, Operation::ChangeAttributes, Subject::Descriptor { argument: 0 }),
    told(
        n::REMOVEXATTR,
        Operation::ChangeAttributes,
        Subject::Object { place: here(0), links: Links::Followed },
    ),
    told(
        n::LREMOVEXATTR,
        Operation::ChangeAttributes,
        Subject::Object { place: here(0), links: Links::Kept },
    ),
    told(n::FREMOVEXATTR, Operation::ChangeAttributes, Subject::Descriptor { argument: 0 }),
    told(
        n::SETXATTRAT,
        Operation::ChangeAttributes,
        Subject::Object { place: at(0, 1), links: Links::FollowedUnless(2) },
    ),
    told(
        n::REMOVEXATTRAT,
        Operation::ChangeAttributes,
        Subject::Object { place: at(0, 1), links: Links::FollowedUnless(2) },
    ),
    told(
        n::FILE_SETATTR,
        Operation::ChangeAttributes,
        Subject::Object { place: at(0, 1), links: Links::FollowedUnless(4) },
    ),
];

#[cfg(target_arch = "x86_64")]
const OLD_CHANGES: &[Told] = &[
    told(n::MKDIR, Operation::MakeDirectory, Subject::NewEntry { place: here(0) }),
    told(n::MKNOD, Operation::MakeNode, Subject::NewEntry { place: here(0) }),
    told(n::SYMLINK, Operation::Link, Subject::NewEntry { place: here(1) }),
    told(n::LINK, Operation::Link, Subject::Linked { from: here(0), to: here(1) }),
    told(n::UNLINK, Operation::Remove, Subject::OldEntry { place: here(0) }),
    told(n::RMDIR, Operation::Remove, Subject::OldEntry { place: here(0) }),
    told(n::RENAME, Operation::Rename, Subject::Moved { from: here(0), to: here(1) }),
    told(n::RENAMEAT, Operation::Rename, Subject::Moved { from: at(0, 1), to: at(2, 3) }),
    told(n::CHMOD, Operation::ChangeMode, Subject::Object { place: here(0), links: Links::Followed }),
    told(n::CHOWN, Operation::ChangeOwner, Subject::Object { place: here(0), links: Links::Followed }),
    told(n::LCHOWN, Operation::ChangeOwner, Subject::Object { place: here(0), links: Links::Kept }),
    told(n::UTIME, Operation::ChangeTimes, Subject::Object { place: here(0), links: Links::Followed }),
    told(n::UTIMES, Operation::ChangeTimes, Subject::Object { place: here(0), links: Links::Followed }),
    told(n::FUTIMESAT, Operation::ChangeTimes, Subject::Object { place: at(0, 1), links: Links::Followed }),
];
#[cfg(not(target_arch = "x86_64"))]
const OLD_CHANGES: &[Told] = &[];

/// The network, where addresses are looked at.
const ADDRESSES: &[Told] = &[
    told(n::CONNECT, Operation::Connect, Subject::Connected),
    told(n::SENDTO, Operation::Send, Subject::Sent),
    told(n::BIND, Operation::MakeNode, Subject::Bound),
];
/// Priorities and processors of a process by its number, where processes of others have numbers, too. Refusals are not reported:
/// the kernel would say the same of most of them.
const PRIORITIES: &[Told] = &[
    told(n::SETPRIORITY, Operation::ChangeAttributes, Subject::Process { argument: 1 }),
    told(n::IOPRIO_SET, Operation::ChangeAttributes, Subject::Process { argument: 1 }),
    told(n::SCHED_SETSCHEDULER, Operation::ChangeAttributes, Subject::Process { argument: 0 }),
    told(n::SCHED_SETPARAM, Operation::ChangeAttributes, Subject::Process { argument: 0 }),
    told(n::SCHED_SETATTR, Operation::ChangeAttributes, Subject::Process { argument: 0 }),
    told(n::SCHED_SETAFFINITY, Operation::ChangeAttributes, Subject::Process { argument: 0 }),
];
/// Instances of inotify, where no namespace limits them.
const WATCHES: &[Told] = &[
    told(n::INOTIFY_INIT1, Operation::Watch, Subject::Inotify),
    #[cfg(target_arch = "x86_64")]
    told(n::INOTIFY_INIT, Operation::Watch, Subject::Inotify),
];
const SOCKETS: &[Told] = &[
    told(n::SOCKET, Operation::Socket, Subject::Socket),
    told(n::SOCKETPAIR, Operation::Socket, Subject::DatagramPair),
];

/// What a call that was asked about means.
pub(crate) fn meaning(number: i64) -> Option<&'static Told> {
    let lists = [OPENS, CHANGES, OLD_CHANGES, ADDRESSES, PRIORITIES, WATCHES, SOCKETS];
    lists.into_iter().flatten().find(|told| told.number == number)
}

/// What decides which calls are refused and asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) network: NetworkKind,
    /// Whether the network is a namespace of its own.
    pub(crate) own_network: bool,
    pub(crate) supervised: bool,
    /// Whether opening for reading is asked about as well.
    pub(crate) reads: bool,
    /// Whether there are namespaces, in which nobody else's processes are.
    pub(crate) namespaces: bool,
    /// Whether there are names that must not come into being.
    pub(crate) names_kept: bool,
    /// Whether the kernel keeps messages of unix sockets from programs outside, also those with an address.
    pub(crate) datagrams_kept: bool,
}

/// Whether unix sockets for datagrams reach no programs outside with this version of Landlock, which judges the address of every
/// message then (`LANDLOCK_ACCESS_FS_RESOLVE_UNIX`).
pub(crate) fn keeps_datagrams(landlock: u32) -> bool {
    landlock >= LANDLOCK_FOR_SOCKETS
}

impl Wanted {
    pub(crate) fn flags(&self) -> [bool; 6] {
        [self.own_network, self.supervised, self.reads, self.namespaces, self.names_kept, self.datagrams_kept]
    }

    pub(crate) fn from_flags(network: NetworkKind, flags: [bool; 6]) -> Self {
        let [own_network, supervised, reads, namespaces, names_kept, datagrams_kept] = flags;
        Self { network, own_network, supervised, reads, namespaces, names_kept, datagrams_kept }
    }

    /// The filter, as the kernel takes it.
    pub(crate) fn program(self) -> Program {
        Program::of(&rules(self))
    }
}

/// The rules of the filter.
pub(crate) fn rules(wanted: Wanted) -> Vec<Rule> {
    let mut rules = Vec::new();
    add_refused(&mut rules);
    if !wanted.namespaces {
        add_refused_among_others(wanted, &mut rules);
    }
    add_network(wanted, &mut rules);
    if wanted.supervised {
        add_carried_out(wanted, &mut rules);
        add_told(wanted, &mut rules);
    }
    rules
}

/// Calls that are carried out in the caller's place are not bound by what it binds itself by. It is told that it cannot,
/// rather than that it has. Calls that nobody carries out have older ones that somebody does.
fn add_carried_out(wanted: Wanted, rules: &mut Vec<Rule>) {
    const BINDING: [i64; 3] = [n::LANDLOCK_CREATE_RULESET, n::LANDLOCK_ADD_RULE, n::LANDLOCK_RESTRICT_SELF];
    const RECENT: [i64; 3] = [n::SETXATTRAT, n::REMOVEXATTRAT, n::FILE_SETATTR];
    let not_there = |number| Rule::always(number, Verdict::Fail(Errno::NOSYS));
    if wanted.names_kept || !wanted.namespaces {
        rules.extend(BINDING.into_iter().chain(RECENT).map(not_there));
    }
}

fn add_refused(rules: &mut Vec<Rule>) {
    // `openat2` keeps its mode and flags in memory, where no filter can look.
    // Memory that not even the supervisor can read hides what a call is about.
    const NOT_THERE: [i64; 6] =
        [n::CLONE3, n::OPENAT2, n::MEMFD_SECRET, n::IO_URING_SETUP, n::IO_URING_ENTER, n::IO_URING_REGISTER];
    const FORBIDDEN: &[i64] = &[
        n::SETNS,
        n::MOUNT,
        n::UMOUNT2,
        n::PIVOT_ROOT,
        n::CHROOT,
        n::OPEN_TREE,
        n::OPEN_TREE_ATTR,
        n::MOVE_MOUNT,
        n::FSOPEN,
        n::FSCONFIG,
        n::FSMOUNT,
        n::FSPICK,
        n::MOUNT_SETATTR,
        n::KEYCTL,
        n::ADD_KEY,
        n::REQUEST_KEY,
        n::BPF,
        n::PERF_EVENT_OPEN,
        n::USERFAULTFD,
        n::INIT_MODULE,
        n::FINIT_MODULE,
        n::DELETE_MODULE,
        n::KEXEC_LOAD,
        n::REBOOT,
        n::SWAPON,
        n::SWAPOFF,
        n::ACCT,
        n::QUOTACTL,
        n::QUOTACTL_FD,
        n::SYSLOG,
        n::SETHOSTNAME,
        n::SETDOMAINNAME,
        n::OPEN_BY_HANDLE_AT,
        n::FANOTIFY_INIT,
        n::VHANGUP,
        n::SETTIMEOFDAY,
        n::CLOCK_SETTIME,
        #[cfg(target_arch = "x86_64")]
        n::KEXEC_FILE_LOAD,
        #[cfg(target_arch = "x86_64")]
        n::IOPL,
        #[cfg(target_arch = "x86_64")]
        n::IOPERM,
        #[cfg(target_arch = "x86_64")]
        n::MODIFY_LDT,
        #[cfg(target_arch = "x86_64")]
        n::USELIB,
    ];
    const PERM: Verdict = Verdict::Fail(Errno::PERM);
    // Programs that find these missing do without; told that they are forbidden, some give up.
    rules.extend(NOT_THERE.map(|number| Rule::always(number, Verdict::Fail(Errno::NOSYS))));
    rules.extend(FORBIDDEN.iter().map(|number| Rule::always(*number, PERM)));
    rules.push(Rule::when(n::CLONE, [Test::HasAny { argument: 0, bits: NEW_SPACES }], PERM));
    rules.push(Rule::when(n::UNSHARE, [Test::HasAny { argument: 0, bits: NEW_SPACES | NEW_TIME }], PERM));
    let terminals = [TIOCSTI, TIOCLINUX, TIOCSETD];
    for command in terminals.into_iter().chain(ATTRIBUTES).chain(SUBVOLUMES) {
        rules.push(Rule::when(n::IOCTL, [Test::Is { argument: 1, value: command }], PERM));
    }
    // A lease on a file outside makes its other users wait, for most of a minute each time.
    for command in [SET_LEASE, SET_DELEGATION] {
        let lease = [Test::Is { argument: 1, value: command }];
        rules.push(Rule::when(n::FCNTL, lease, Verdict::Fail(Errno::ACCESS)));
    }
    // Limits of others: whoever lowers the watcher's makes it blind.
    let others = [Test::IsNot { argument: 0, value: 0 }, Test::IsGiven { argument: 2 }];
    rules.push(Rule::when(n::PRLIMIT64, others, PERM));
    add_refused_modes(rules);
    add_refused_personalities(rules);
    // The session's mark, by which its processes are found.
    rules.push(Rule::when(
        n::PRLIMIT64,
        [Test::Is { argument: 1, value: RLIMIT_LOCKS }, Test::IsGiven { argument: 2 }],
        PERM,
    ));
    #[cfg(target_arch = "x86_64")]
    rules.push(Rule::when(n::SETRLIMIT, [Test::Is { argument: 0, value: RLIMIT_LOCKS }], PERM));
}

/// Where processes of others are in sight, calls that reach them by number, and what is shared with them by number.
fn add_refused_among_others(wanted: Wanted, rules: &mut Vec<Rule>) {
    const SHARED: [i64; 13] = [
        n::SHMGET,
        n::SHMAT,
        n::SHMCTL,
        n::SEMGET,
        n::SEMOP,
        n::SEMTIMEDOP,
        n::SEMCTL,
        n::MSGGET,
        n::MSGSND,
        n::MSGRCV,
        n::MSGCTL,
        n::MQ_OPEN,
        n::MQ_UNLINK,
    ];
    /// Which kind of number stands for one process.
    const ONE_PROCESS: [(i64, u32); 2] = [(n::SETPRIORITY, 0), (n::IOPRIO_SET, 1)];
    /// The argument that says whom it is about; 0 is the caller itself.
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
    rules.extend(SHARED.map(|number| Rule::always(number, Verdict::Fail(Errno::ACCESS))));
    for (number, argument) in ABOUT {
        let others = Test::IsNot { argument, value: 0 };
        if wanted.supervised && PRIORITIES.iter().any(|told| told.number == number) {
            let kind = ONE_PROCESS.iter().find(|(it, _)| *it == number);
            let kind = kind.map(|(_, value)| Test::Is { argument: 0, value: *value });
            rules.push(Rule::when(
                number,
                [others].into_iter().chain(kind).collect::<Vec<_>>(),
                Verdict::Tell,
            ));
        }
        rules.push(Rule::when(number, [others], Verdict::Fail(Errno::PERM)));
    }
    if wanted.supervised {
        rules.extend(WATCHES.iter().map(|told| Rule::always(told.number, Verdict::Tell)));
    }
    // All processes of a user, which may be others' too.
    for (number, user) in [(n::SETPRIORITY, 2), (n::IOPRIO_SET, 3)] {
        rules.push(Rule::when(number, [Test::Is { argument: 0, value: user }], Verdict::Fail(Errno::PERM)));
    }
    for command in FILE_SYSTEM_COMMANDS {
        rules.push(Rule::when(
            n::IOCTL,
            [Test::Is { argument: 1, value: command }],
            Verdict::Fail(Errno::PERM),
        ));
    }
    // A process that cannot be looked into cannot be judged either.
    const DUMPABLE: u32 = 4;
    let hides = [Test::Is { argument: 0, value: DUMPABLE }, Test::Is { argument: 1, value: 0 }];
    rules.push(Rule::when(n::PRCTL, hides, Verdict::Fail(Errno::PERM)));
}

/// A file that makes whoever runs it its owner would carry the command's user out of the sandbox.
fn add_refused_modes(rules: &mut Vec<Rule>) {
    const RUNS_AS_OWNER: u32 = 0o4000;
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
    for (number, argument) in MODES {
        let mut tests = vec![Test::HasAny { argument: *argument, bits: RUNS_AS_OWNER }];
        // Whoever opens a file that is there leaves anything at all where the mode would be.
        if let Some(flags) = [
            (n::OPENAT, 2),
            #[cfg(target_arch = "x86_64")]
            (n::OPEN, 1),
        ]
        .into_iter()
        .find(|(it, _)| it == number)
        {
            tests.push(Test::HasAny { argument: flags.1, bits: MAKES });
        }
        rules.push(Rule::when(*number, tests, Verdict::Fail(Errno::PERM)));
    }
}

/// Other systems' behaviour brings other systems' holes. How addresses are laid out is a debugger's business.
fn add_refused_personalities(rules: &mut Vec<Rule>) {
    const QUESTION: u32 = u32::MAX;
    const SYSTEM: u32 = 0xff;
    rules.push(Rule::when(n::PERSONALITY, [Test::Is { argument: 0, value: QUESTION }], Verdict::Allow));
    let another = Test::HasAny { argument: 0, bits: SYSTEM };
    rules.push(Rule::when(n::PERSONALITY, [another], Verdict::Fail(Errno::PERM)));
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
/// Commands of file systems that change a file or a volume which is only open for reading; a read-only mount would refuse them:
/// removing, marking and choosing volumes of btrfs, attributes of FAT, and how ext4 stores a file.
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
/// Making volumes within a volume of btrfs and bcachefs: directories whose names are in memory, and nobody would be asked.
const SUBVOLUMES: [u32; 5] = [0x5000_9401, 0x5000_940e, 0x5000_9417, 0x5000_9418, 0x4020_bc10];

/// The family of sockets between processes of one machine.
pub(crate) const UNIX: u32 = 1;

fn add_network(wanted: Wanted, rules: &mut Vec<Rule>) {
    /// Set in the number of this kind of socket, and not in those of streams. The kernel makes one of this kind for `SOCK_RAW`, too.
    const DATAGRAM: u32 = 2;
    const INTERNET: [u32; 2] = [2, 10];
    const NETLINK: u32 = 16;
    const ROUTES: u32 = 0;
    /// The usual one, ICMP for ping, TCP, UDP, ICMP of IPv6, and TCP over several paths.
    const PROTOCOLS: [u32; 6] = [0, 1, 6, 17, 58, 262];
    let family = |family| Test::Is { argument: 0, value: family };
    let reachable = wanted.own_network || wanted.network == NetworkKind::On;
    let asked = if wanted.supervised { Verdict::Tell } else { Verdict::Fail(Errno::ACCESS) };
    if !wanted.datagrams_kept {
        // `sendmsg` takes the address of a message from memory, and asking about every message of every socket would be slow. So
        // there is no socket that could send to an address: a socket for datagrams could reach programs outside unseen.
        let datagrams = [family(UNIX), Test::HasAny { argument: 1, bits: DATAGRAM }];
        for call in [n::SOCKET, n::SOCKETPAIR] {
            rules.push(Rule::when(call, datagrams, asked));
        }
    }
    rules.push(Rule::when(n::SOCKET, [family(UNIX)], Verdict::Allow));
    // Of a network that is not its own, it would only be told what the machine's looks like.
    if reachable {
        let routes = Test::Is { argument: 2, value: ROUTES };
        rules.push(Rule::when(n::SOCKET, [family(NETLINK), routes], Verdict::Allow));
    }
    let internet = if reachable { Verdict::Allow } else { asked };
    for number in INTERNET {
        for protocol in PROTOCOLS {
            let protocol = Test::Is { argument: 2, value: protocol };
            rules.push(Rule::when(n::SOCKET, [family(number), protocol], internet));
        }
        rules.push(Rule::when(n::SOCKET, [family(number)], Verdict::Fail(Errno::PROTONOSUPPORT)));
    }
    rules.push(Rule::always(n::SOCKET, Verdict::Fail(Errno::AFNOSUPPORT)));
    rules.push(Rule::when(
        n::SOCKETPAIR,
        [Test::IsNot { argument: 0, value: UNIX }],
        Verdict::Fail(Errno::AFNOSUPPORT),
    ));
    if wanted.supervised {
        rules.push(Rule::always(n::CONNECT, Verdict::Tell));
        rules.push(Rule::always(n::BIND, Verdict::Tell));
        rules.push(Rule::when(n::SENDTO, [Test::IsGiven { argument: 4 }], Verdict::Tell));
    }
}

fn add_told(wanted: Wanted, rules: &mut Vec<Rule>) {
    for told in OPENS {
        let tests = match told.subject {
            Subject::Opened { flags: Flags::In(argument), .. } if !wanted.reads => {
                vec![Test::HasAny { argument: argument as u8, bits: WRITING }]
            }
            _ => Vec::new(),
        };
        rules.push(Rule::when(told.number, tests, Verdict::Tell));
    }
    for told in CHANGES.iter().chain(OLD_CHANGES) {
        rules.push(Rule::always(told.number, Verdict::Tell));
    }
}

/// Flags of an open that makes a file where there is none: `O_CREAT` and `O_TMPFILE`.
const MAKES: u32 = 0o100 | 0o20_000_000;

/// Flags of an open that is for more than reading what is there: `O_WRONLY`, `O_RDWR`, `O_CREAT`, `O_TRUNC` and, told from
/// `O_DIRECTORY`, `O_TMPFILE`.
pub(crate) const WRITING: u32 = 0o1 | 0o2 | 0o100 | 0o1000 | 0o20_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(network: NetworkKind, own_network: bool) -> Wanted {
        Wanted {
            network,
            own_network,
            supervised: true,
            reads: true,
            namespaces: own_network,
            names_kept: true,
            datagrams_kept: false,
        }
    }

    #[test]
    fn every_filter_fits_into_the_kernel_with_room_to_spare() {
        for network in [NetworkKind::Off, NetworkKind::Loopback, NetworkKind::Hosts, NetworkKind::On] {
            for number in 0..1_u8 << 6 {
                let flags = std::array::from_fn(|bit| number >> bit & 1 == 1);
                let length = Wanted::from_flags(network, flags).program().length();
                // The kernel takes 4096.
                assert!(length < 1024, "{length}: {network:?}, {flags:?}");
            }
        }
    }

    #[test]
    fn everything_that_is_asked_about_has_a_meaning() {
        for own_network in [false, true] {
            for rule in rules(wanted(NetworkKind::Off, own_network)) {
                assert!(rule.verdict != Verdict::Tell || meaning(rule.number).is_some(), "{rule:?}");
            }
        }
    }

    #[test]
    fn a_socket_that_could_send_to_any_address_is_asked_about_unless_the_kernel_judges_addresses() {
        let verdicts = |wanted: Wanted| -> Vec<Verdict> {
            let is_datagram = |rule: &&Rule| rule.tests.contains(&Test::HasAny { argument: 1, bits: 2 });
            rules(wanted).iter().filter(is_datagram).map(|rule| rule.verdict).collect()
        };
        for own_network in [false, true] {
            let asked = wanted(NetworkKind::Off, own_network);
            assert_eq!(verdicts(asked), [Verdict::Tell; 2]);
            let unsupervised = Wanted { supervised: false, ..asked };
            assert_eq!(verdicts(unsupervised), [Verdict::Fail(Errno::ACCESS); 2]);
            assert_eq!(verdicts(Wanted { datagrams_kept: true, ..asked }), []);
        }
        assert!(!keeps_datagrams(8) && keeps_datagrams(9));
    }

    #[test]
    fn without_a_supervisor_nothing_is_asked() {
        let wanted = Wanted { supervised: false, ..wanted(NetworkKind::Off, false) };
        assert!(rules(wanted).iter().all(|rule| rule.verdict != Verdict::Tell));
    }
}
