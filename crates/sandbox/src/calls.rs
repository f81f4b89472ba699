//! The system calls that a confined command may not make, and those that the supervisor decides about before they are
//! carried out.

mod refused;

pub(crate) use self::refused::{Refused, refused};

use crate::denial::Operation;
use crate::machine::LANDLOCK_FOR_SOCKETS;
use crate::request::NetworkKind;
use rustix::io::Errno;
use windlass_sys::lockdown::filter::{FilterAction, Program, Rule, Test};
use windlass_sys::lockdown::number as n;

/// The object of a supervised call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallSubject {
    /// A file that is opened. `flags` says where the flags of the open are: they may forbid that a link is followed.
    Opened { place: PathArgument, flags: Flags },
    /// An existing file or directory.
    Object { place: PathArgument, links: Links },
    /// A name in a directory that the call creates.
    NewEntry { place: PathArgument },
    /// A name in a directory that the call removes.
    OldEntry { place: PathArgument },
    /// A name that the call removes, and one that it creates.
    Moved { from: PathArgument, to: PathArgument },
    /// A file that gets one more name.
    Linked { from: PathArgument, to: PathArgument },
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
    /// Two connected unix sockets for datagrams, and the address to which their numbers are written.
    DatagramPair,
    /// A program that is executed.
    Executed { place: PathArgument },
    /// The number of a process or thread.
    Process { argument: usize },
    /// An instance of inotify.
    Inotify,
}

/// The position of a path in the arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PathArgument {
    /// The argument with the descriptor of the directory at which it begins, if not the working directory.
    pub(crate) directory: Option<usize>,
    /// The argument that points at the text.
    pub(crate) path: usize,
}

/// The position of the flags of an open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flags {
    /// In this argument.
    In(usize),
    /// The flags of `creat`.
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

/// A supervised call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SupervisedCall {
    pub(crate) number: i64,
    pub(crate) operation: Operation,
    pub(crate) subject: CallSubject,
}

const fn at(directory: usize, path: usize) -> PathArgument {
    PathArgument { directory: Some(directory), path }
}

const fn here(path: usize) -> PathArgument {
    PathArgument { directory: None, path }
}

const fn supervised_calls(number: i64, operation: Operation, subject: CallSubject) -> SupervisedCall {
    SupervisedCall { number, operation, subject }
}

/// Opening.
const OPENS: &[SupervisedCall] = &[
    supervised_calls(
        n::OPENAT,
        Operation::Write,
        CallSubject::Opened { place: at(0, 1), flags: Flags::In(2) },
    ),
    #[cfg(target_arch = "x86_64")]
    supervised_calls(n::OPEN, Operation::Write, CallSubject::Opened { place: here(0), flags: Flags::In(1) }),
    #[cfg(target_arch = "x86_64")]
    supervised_calls(
        n::CREAT,
        Operation::Create,
        CallSubject::Opened { place: here(0), flags: Flags::Creat },
    ),
];

/// Everything else that changes files.
const CHANGES: &[SupervisedCall] = &[
    supervised_calls(n::MKDIRAT, Operation::MakeDirectory, CallSubject::NewEntry { place: at(0, 1) }),
    supervised_calls(n::MKNODAT, Operation::MakeNode, CallSubject::NewEntry { place: at(0, 1) }),
    supervised_calls(n::SYMLINKAT, Operation::Link, CallSubject::NewEntry { place: at(1, 2) }),
    supervised_calls(n::LINKAT, Operation::Link, CallSubject::Linked { from: at(0, 1), to: at(2, 3) }),
    supervised_calls(n::UNLINKAT, Operation::Remove, CallSubject::OldEntry { place: at(0, 1) }),
    supervised_calls(n::RENAMEAT2, Operation::Rename, CallSubject::Moved { from: at(0, 1), to: at(2, 3) }),
    supervised_calls(
        n::TRUNCATE,
        Operation::Truncate,
        CallSubject::Object { place: here(0), links: Links::Followed },
    ),
    supervised_calls(n::FCHMOD, Operation::ChangeMode, CallSubject::Descriptor { argument: 0 }),
    supervised_calls(
        n::FCHMODAT,
        Operation::ChangeMode,
        CallSubject::Object { place: at(0, 1), links: Links::Followed },
    ),
    supervised_calls(
        n::FCHMODAT2,
        Operation::ChangeMode,
        CallSubject::Object { place: at(0, 1), links: Links::FollowedUnless(3) },
    ),
    supervised_calls(n::FCHOWN, Operation::ChangeOwner, CallSubject::Descriptor { argument: 0 }),
    supervised_calls(
        n::FCHOWNAT,
        Operation::ChangeOwner,
        CallSubject::Object { place: at(0, 1), links: Links::FollowedUnless(4) },
    ),
    supervised_calls(
        n::UTIMENSAT,
        Operation::ChangeTimes,
        CallSubject::Object { place: at(0, 1), links: Links::FollowedUnless(3) },
    ),
    supervised_calls(
        n::SETXATTR,
        Operation::ChangeAttributes,
        CallSubject::Object { place: here(0), links: Links::Followed },
    ),
    supervised_calls(
        n::LSETXATTR,
        Operation::ChangeAttributes,
        CallSubject::Object { place: here(0), links: Links::Kept },
    ),
    supervised_calls(n::FSETXATTR, Operation::ChangeAttributes, CallSubject::Descriptor { argument: 0 }),
    supervised_calls(
        n::REMOVEXATTR,
        Operation::ChangeAttributes,
        CallSubject::Object { place: here(0), links: Links::Followed },
    ),
    supervised_calls(
        n::LREMOVEXATTR,
        Operation::ChangeAttributes,
        CallSubject::Object { place: here(0), links: Links::Kept },
    ),
    supervised_calls(n::FREMOVEXATTR, Operation::ChangeAttributes, CallSubject::Descriptor { argument: 0 }),
    supervised_calls(
        n::SETXATTRAT,
        Operation::ChangeAttributes,
        CallSubject::Object { place: at(0, 1), links: Links::FollowedUnless(2) },
    ),
    supervised_calls(
        n::REMOVEXATTRAT,
        Operation::ChangeAttributes,
        CallSubject::Object { place: at(0, 1), links: Links::FollowedUnless(2) },
    ),
    supervised_calls(
        n::FILE_SETATTR,
        Operation::ChangeAttributes,
        CallSubject::Object { place: at(0, 1), links: Links::FollowedUnless(4) },
    ),
];

#[cfg(target_arch = "x86_64")]
const OLD_CHANGES: &[SupervisedCall] = &[
    supervised_calls(n::MKDIR, Operation::MakeDirectory, CallSubject::NewEntry { place: here(0) }),
    supervised_calls(n::MKNOD, Operation::MakeNode, CallSubject::NewEntry { place: here(0) }),
    supervised_calls(n::SYMLINK, Operation::Link, CallSubject::NewEntry { place: here(1) }),
    supervised_calls(n::LINK, Operation::Link, CallSubject::Linked { from: here(0), to: here(1) }),
    supervised_calls(n::UNLINK, Operation::Remove, CallSubject::OldEntry { place: here(0) }),
    supervised_calls(n::RMDIR, Operation::Remove, CallSubject::OldEntry { place: here(0) }),
    supervised_calls(n::RENAME, Operation::Rename, CallSubject::Moved { from: here(0), to: here(1) }),
    supervised_calls(n::RENAMEAT, Operation::Rename, CallSubject::Moved { from: at(0, 1), to: at(2, 3) }),
    supervised_calls(
        n::CHMOD,
        Operation::ChangeMode,
        CallSubject::Object { place: here(0), links: Links::Followed },
    ),
    supervised_calls(
        n::CHOWN,
        Operation::ChangeOwner,
        CallSubject::Object { place: here(0), links: Links::Followed },
    ),
    supervised_calls(
        n::LCHOWN,
        Operation::ChangeOwner,
        CallSubject::Object { place: here(0), links: Links::Kept },
    ),
    supervised_calls(
        n::UTIME,
        Operation::ChangeTimes,
        CallSubject::Object { place: here(0), links: Links::Followed },
    ),
    supervised_calls(
        n::UTIMES,
        Operation::ChangeTimes,
        CallSubject::Object { place: here(0), links: Links::Followed },
    ),
    supervised_calls(
        n::FUTIMESAT,
        Operation::ChangeTimes,
        CallSubject::Object { place: at(0, 1), links: Links::Followed },
    ),
];
#[cfg(not(target_arch = "x86_64"))]
const OLD_CHANGES: &[SupervisedCall] = &[];

/// The network, where addresses are looked at.
const ADDRESSES: &[SupervisedCall] = &[
    supervised_calls(n::CONNECT, Operation::Connect, CallSubject::Connected),
    supervised_calls(n::SENDTO, Operation::Send, CallSubject::Sent),
    supervised_calls(n::BIND, Operation::MakeNode, CallSubject::Bound),
];
/// Priorities and processors of a process by its number, where processes of others have numbers, too. Refusals are not
/// reported: the kernel would say the same of most of them.
const PRIORITIES: &[SupervisedCall] = &[
    supervised_calls(n::SETPRIORITY, Operation::ChangeAttributes, CallSubject::Process { argument: 1 }),
    supervised_calls(n::IOPRIO_SET, Operation::ChangeAttributes, CallSubject::Process { argument: 1 }),
    supervised_calls(
        n::SCHED_SETSCHEDULER,
        Operation::ChangeAttributes,
        CallSubject::Process { argument: 0 },
    ),
    supervised_calls(n::SCHED_SETPARAM, Operation::ChangeAttributes, CallSubject::Process { argument: 0 }),
    supervised_calls(n::SCHED_SETATTR, Operation::ChangeAttributes, CallSubject::Process { argument: 0 }),
    supervised_calls(n::SCHED_SETAFFINITY, Operation::ChangeAttributes, CallSubject::Process { argument: 0 }),
];
/// Instances of inotify, where no namespace limits them.
const WATCHES: &[SupervisedCall] = &[
    supervised_calls(n::INOTIFY_INIT1, Operation::Watch, CallSubject::Inotify),
    #[cfg(target_arch = "x86_64")]
    supervised_calls(n::INOTIFY_INIT, Operation::Watch, CallSubject::Inotify),
];
/// Execution, where files are denied. The kernel refuses it by itself; the supervisor only reports it.
const EXECUTIONS: &[SupervisedCall] = &[
    supervised_calls(n::EXECVE, Operation::Execute, CallSubject::Executed { place: here(0) }),
    supervised_calls(n::EXECVEAT, Operation::Execute, CallSubject::Executed { place: at(0, 1) }),
];
const SOCKETS: &[SupervisedCall] = &[
    supervised_calls(n::SOCKET, Operation::Socket, CallSubject::Socket),
    supervised_calls(n::SOCKETPAIR, Operation::Socket, CallSubject::DatagramPair),
];

/// The meaning of a supervised call.
pub(crate) fn meaning(number: i64) -> Option<&'static SupervisedCall> {
    let lists = [OPENS, CHANGES, OLD_CHANGES, ADDRESSES, PRIORITIES, WATCHES, EXECUTIONS, SOCKETS];
    lists.into_iter().flatten().find(|told| told.number == number)
}

/// The facts that decide which calls are refused and supervised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FilterOptions {
    pub(crate) network: NetworkKind,
    /// Whether the command has its own network namespace.
    pub(crate) own_network: bool,
    pub(crate) supervised: bool,
    /// Whether opens for reading are supervised as well.
    pub(crate) reads: bool,
    /// Whether the command has namespaces of its own, in which there are no processes of others.
    pub(crate) namespaces: bool,
    /// Whether there are names that must not be created.
    pub(crate) names_kept: bool,
    /// Whether the kernel keeps messages of unix sockets from programs outside, also those with an address (see
    /// [`keeps_datagrams`]).
    pub(crate) datagrams_kept: bool,
}

/// Whether unix sockets for datagrams reach no programs outside with this version of Landlock: it then checks the
/// address of every message (`LANDLOCK_ACCESS_FS_RESOLVE_UNIX`).
pub(crate) fn keeps_datagrams(landlock: u32) -> bool {
    landlock >= LANDLOCK_FOR_SOCKETS
}

impl FilterOptions {
    /// The action that refuses a call: the supervisor refuses and reports it; where there is none, the filter refuses
    /// it with this error.
    fn refusal(&self, errno: Errno) -> FilterAction {
        if self.supervised { FilterAction::Tell } else { FilterAction::Fail(errno) }
    }

    /// The filter, as the kernel takes it.
    pub(crate) fn program(self) -> Program {
        Program::of(&rules(self))
    }
}

/// The rules of the filter.
pub(crate) fn rules(wanted: FilterOptions) -> Vec<Rule> {
    let mut rules = Vec::new();
    refused::add(wanted, &mut rules);
    add_network(wanted, &mut rules);
    if wanted.supervised {
        add_carried_out(wanted, &mut rules);
        add_told(wanted, &mut rules);
    }
    rules
}

/// A call that the supervisor carries out in the caller's place is not bound by the Landlock rules that the caller has
/// set for itself. So the caller may set none: it gets an error instead of a false success. Recent calls that the
/// supervisor does not carry out fail as on an older kernel: programs then use older calls that it does carry out.
fn add_carried_out(wanted: FilterOptions, rules: &mut Vec<Rule>) {
    const BINDING: [i64; 3] = [n::LANDLOCK_CREATE_RULESET, n::LANDLOCK_ADD_RULE, n::LANDLOCK_RESTRICT_SELF];
    const RECENT: [i64; 3] = [n::SETXATTRAT, n::REMOVEXATTRAT, n::FILE_SETATTR];
    let not_there = |number| Rule::always(number, FilterAction::Fail(Errno::NOSYS));
    if wanted.names_kept || !wanted.namespaces {
        rules.extend(BINDING.into_iter().chain(RECENT).map(not_there));
    }
}

/// The family of sockets between processes of one machine.
pub(crate) const UNIX: u32 = 1;

/// The families of the internet.
pub(crate) const INTERNET: [u32; 2] = [2, 10];

/// Protocols of the internet: the usual one, ICMP for ping, TCP, UDP, ICMP of IPv6, and TCP over several paths.
pub(crate) const PROTOCOLS: [u32; 6] = [0, 1, 6, 17, 58, 262];

fn add_network(wanted: FilterOptions, rules: &mut Vec<Rule>) {
    /// The bit that numbers of this kind of socket have, and those of streams do not. The kernel makes one of this kind
    /// for `SOCK_RAW`, too.
    const DATAGRAM: u32 = 2;
    const NETLINK: u32 = 16;
    const ROUTES: u32 = 0;
    let family = |family| Test::Is { argument: 0, value: family };
    let reachable = wanted.own_network || wanted.network == NetworkKind::On;
    let asked = wanted.refusal(Errno::ACCESS);
    if !wanted.datagrams_kept {
        // `sendmsg` takes the address of a message from memory, and supervising every message of every socket would be
        // slow. So no socket may exist that could send to an address: through a socket for datagrams a command could
        // reach programs outside without the supervisor.
        let datagrams = [family(UNIX), Test::HasAny { argument: 1, bits: DATAGRAM }];
        for call in [n::SOCKET, n::SOCKETPAIR] {
            rules.push(Rule::when(call, datagrams, asked));
        }
    }
    rules.push(Rule::when(n::SOCKET, [family(UNIX)], FilterAction::Allow));
    // A route socket in the machine's network would show a command that may not reach it how that network looks.
    if reachable {
        let routes = Test::Is { argument: 2, value: ROUTES };
        rules.push(Rule::when(n::SOCKET, [family(NETLINK), routes], FilterAction::Allow));
    }
    let internet = if reachable { FilterAction::Allow } else { asked };
    for number in INTERNET {
        for protocol in PROTOCOLS {
            let protocol = Test::Is { argument: 2, value: protocol };
            rules.push(Rule::when(n::SOCKET, [family(number), protocol], internet));
        }
        rules.push(Rule::when(n::SOCKET, [family(number)], wanted.refusal(Errno::PROTONOSUPPORT)));
    }
    // Programs begin to look up a name with such a socket, and go on without it.
    rules.push(Rule::when(n::SOCKET, [family(NETLINK)], FilterAction::Fail(Errno::AFNOSUPPORT)));
    rules.push(Rule::always(n::SOCKET, wanted.refusal(Errno::AFNOSUPPORT)));
    rules.push(Rule::when(
        n::SOCKETPAIR,
        [Test::IsNot { argument: 0, value: UNIX }],
        FilterAction::Fail(Errno::AFNOSUPPORT),
    ));
    if wanted.supervised {
        rules.push(Rule::always(n::CONNECT, FilterAction::Tell));
        rules.push(Rule::always(n::BIND, FilterAction::Tell));
        rules.push(Rule::when(n::SENDTO, [Test::IsGiven { argument: 4 }], FilterAction::Tell));
    }
}

fn add_told(wanted: FilterOptions, rules: &mut Vec<Rule>) {
    for told in OPENS {
        let tests = match told.subject {
            CallSubject::Opened { flags: Flags::In(argument), .. } if !wanted.reads => {
                vec![Test::HasAny { argument: argument as u8, bits: WRITING }]
            }
            _ => Vec::new(),
        };
        rules.push(Rule::when(told.number, tests, FilterAction::Tell));
    }
    let executions = if wanted.reads { EXECUTIONS } else { &[] };
    for told in CHANGES.iter().chain(OLD_CHANGES).chain(executions) {
        rules.push(Rule::always(told.number, FilterAction::Tell));
    }
}

/// Flags of an open that makes a file where there is none: `O_CREAT` and `O_TMPFILE`.
const MAKES: u32 = 0o100 | 0o20_000_000;

/// Flags of an open that is for more than reading what is there: `O_WRONLY`, `O_RDWR`, `O_CREAT`, `O_TRUNC` and the bit
/// of `O_TMPFILE` that `O_DIRECTORY` does not have.
pub(crate) const WRITING: u32 = 0o1 | 0o2 | 0o100 | 0o1000 | 0o20_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(network: NetworkKind, own_network: bool) -> FilterOptions {
        FilterOptions {
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
                let [own_network, supervised, reads, namespaces, names_kept, datagrams_kept] = flags;
                let wanted = FilterOptions {
                    network,
                    own_network,
                    supervised,
                    reads,
                    namespaces,
                    names_kept,
                    datagrams_kept,
                };
                let length = wanted.program().length();
                // The kernel takes 4096.
                assert!(length < 1024, "{length}: {network:?}, {flags:?}");
            }
        }
    }

    #[test]
    fn everything_that_is_asked_about_has_a_meaning() {
        for own_network in [false, true] {
            for rule in rules(wanted(NetworkKind::Off, own_network)) {
                let is_known = meaning(rule.number).is_some() || refused::is_named(rule.number);
                assert!(rule.verdict != FilterAction::Tell || is_known, "{rule:?}");
            }
        }
    }

    #[test]
    fn a_socket_that_could_send_to_any_address_is_asked_about_unless_the_kernel_judges_addresses() {
        let verdicts = |wanted: FilterOptions| -> Vec<FilterAction> {
            let is_datagram = |rule: &&Rule| rule.tests.contains(&Test::HasAny { argument: 1, bits: 2 });
            rules(wanted).iter().filter(is_datagram).map(|rule| rule.verdict).collect()
        };
        for own_network in [false, true] {
            let asked = wanted(NetworkKind::Off, own_network);
            assert_eq!(verdicts(asked), [FilterAction::Tell; 2]);
            let unsupervised = FilterOptions { supervised: false, ..asked };
            assert_eq!(verdicts(unsupervised), [FilterAction::Fail(Errno::ACCESS); 2]);
            assert_eq!(verdicts(FilterOptions { datagrams_kept: true, ..asked }), []);
        }
        assert!(!keeps_datagrams(8) && keeps_datagrams(9));
    }

    #[test]
    fn without_a_supervisor_nothing_is_asked() {
        let wanted = FilterOptions { supervised: false, ..wanted(NetworkKind::Off, false) };
        assert!(rules(wanted).iter().all(|rule| rule.verdict != FilterAction::Tell));
    }
}
