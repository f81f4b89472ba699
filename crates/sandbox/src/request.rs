//! The messages between the runtime and the helper: plain bytes between two processes of one program, so without
//! versions. Reading never trusts a length.

pub(crate) mod bytes;

use self::bytes::{Reader, Writer};
use crate::confinement::{Confinement, Preparation, StreamKind};
use crate::denial::{Denial, Operation};
use crate::policy::Network;
use rustix::io::Errno;
use std::ffi::CString;
use windlass_sys::directory::DirectoryIdentity;
use windlass_sys::limits::ProcessLimits;
use windlass_sys::mark::Halves;

/// A request to a helper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HelperRequest {
    /// Create the namespaces for commands with one kind of network, and send them to the runtime.
    Ground { network: NetworkKind, users_from_outside: bool },
    /// Try whether namespaces with a tree of their own are possible.
    Try,
    /// Enter the passed namespaces, make the parts that all commands have in common, and wait.
    Stand { own_network: bool },
    /// Do everything that confines the next command, as far as it can be done before the command is known, and wait for
    /// it. Only for a helper that has done [`HelperRequest::Stand`].
    Prepare(Box<Preparation>),
    /// Start a command in the prepared sandbox.
    Start(Box<LaunchRequest>),
    /// Confine a command and start it.
    Confine { confinement: Box<Confinement>, order: Box<LaunchRequest> },
}

/// A command to start, without its confinement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LaunchRequest {
    pub(crate) program: CString,
    pub(crate) arguments: Vec<CString>,
    pub(crate) environment: Vec<CString>,
    pub(crate) directory: CString,
    pub(crate) identity: Option<DirectoryIdentity>,
    pub(crate) terminal: bool,
    /// Variables that contain the address of the egress listener, with [`DOOR`] for its port.
    pub(crate) door: Vec<CString>,
    /// The mark of the session, and the open-file limit to give back.
    pub(crate) mark: Option<Halves>,
    pub(crate) open_files: Option<Halves>,
    /// The number of control groups to enter; their entry files come first after the streams.
    pub(crate) groups: u32,
    /// How many descriptors the command inherits beside its streams; they come after those of the groups.
    pub(crate) inherited: u32,
    /// The limits that the kernel enforces on the command's processes.
    pub(crate) limits: ProcessLimits,
}

/// The text that stands for the port of a command's egress listener until the listener is open.
pub const DOOR: &str = "{door}";

/// The kind of network that a command may use, without the list of hosts, which concerns the runtime alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum NetworkKind {
    Off,
    Loopback,
    Hosts,
    On,
}

impl From<&Network> for NetworkKind {
    fn from(network: &Network) -> Self {
        match network {
            Network::Off => Self::Off,
            Network::Loopback => Self::Loopback,
            Network::Hosts(_) => Self::Hosts,
            Network::On => Self::On,
        }
    }
}

/// A message from a helper or its supervisor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Report {
    /// The command runs. `pid` and `watcher` are the numbers of the command and of its supervisor, if any; the message
    /// carries pidfds of both, and the egress listener.
    Started { pid: u32, watcher: u32, door: bool },
    /// The command does not run, and no process of it is left except, perhaps, a dead one with this number, which the
    /// runtime has to collect.
    Failed { failure: Failure, uncollected: Option<u32> },
    /// The namespaces were created; they come with this message.
    Made,
    /// The users of the new namespace must be mapped from outside; the runtime answers with this same message when it
    /// has done so.
    NameUsers,
    /// Everything but the command is ready; the supervisor has this number.
    Prepared { watcher: u32 },
    /// An operation was denied.
    Denied(Denial),
}

/// A start that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The step that failed.
    pub stage: ConfineStep,
    /// The path that it concerned, if any.
    pub place: String,
    /// The kernel's error.
    pub errno: Errno,
}

/// The steps of confining a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfineStep {
    /// Reading the request.
    Order,
    /// Using a sandbox that was prepared before the command was known: it no longer fits the tree of files.
    Prepared,
    /// Entering the control groups of the session.
    Group,
    /// Entering or making namespaces.
    Namespaces,
    /// Making the tree read-only.
    Tree,
    /// Putting a writable, read-only or hidden place into it.
    Place,
    /// Devices and terminals of its own.
    Devices,
    /// The table of its processes.
    Processes,
    /// Starting the supervisor.
    Watcher,
    /// Giving up privileges.
    Privileges,
    /// Landlock.
    Landlock,
    /// The filter of system calls.
    Filter,
    /// Starting the command: creating its process and what belongs to it.
    Command,
    /// Entering the working directory.
    Directory,
    /// Executing the program.
    Execute,
}

const STAGES: [(ConfineStep, &str); 15] = [
    (ConfineStep::Order, "understand what to confine"),
    (ConfineStep::Prepared, "use a sandbox that was prepared ahead"),
    (ConfineStep::Group, "enter the control groups of the session"),
    (ConfineStep::Namespaces, "make namespaces"),
    (ConfineStep::Tree, "make the tree of files read-only"),
    (ConfineStep::Place, "put a place into the tree of files"),
    (ConfineStep::Devices, "make devices of its own"),
    (ConfineStep::Processes, "make a table of its processes"),
    (ConfineStep::Watcher, "start the watcher"),
    (ConfineStep::Privileges, "give up privileges"),
    (ConfineStep::Landlock, "enforce the rules of Landlock"),
    (ConfineStep::Filter, "filter system calls"),
    (ConfineStep::Command, "start the process"),
    (ConfineStep::Directory, "enter the working directory"),
    (ConfineStep::Execute, "execute the program"),
];

impl ConfineStep {
    /// The step as the end of a sentence that begins with "cannot".
    pub fn text(self) -> &'static str {
        STAGES.iter().find(|(stage, _)| *stage == self).map_or("", |(_, text)| text)
    }

    fn code(self) -> u8 {
        STAGES.iter().position(|(stage, _)| *stage == self).map_or(0, |place| place as u8)
    }

    fn from_code(code: u8) -> Option<Self> {
        STAGES.get(usize::from(code)).map(|(stage, _)| *stage)
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.stage.text())?;
        if !self.place.is_empty() {
            write!(f, " ({})", self.place)?;
        }
        write!(f, ": {}", self.errno)
    }
}

impl HelperRequest {
    pub(crate) fn write(&self) -> Vec<u8> {
        let mut out = Writer::default();
        match self {
            Self::Ground { network, users_from_outside } => {
                out.byte(0);
                out.byte(network.code());
                out.flag(*users_from_outside);
            }
            Self::Try => out.byte(1),
            Self::Confine { confinement, order } => {
                out.byte(2);
                confinement.write(&mut out);
                order.write(&mut out);
            }
            Self::Stand { own_network } => {
                out.byte(3);
                out.flag(*own_network);
            }
            Self::Prepare(preparation) => {
                out.byte(4);
                out.flag(preparation.streams == StreamKind::Terminal);
                preparation.confinement.write(&mut out);
            }
            Self::Start(order) => {
                out.byte(5);
                order.write(&mut out);
            }
        }
        out.bytes
    }

    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let mut from = Reader { bytes };
        Some(match from.byte()? {
            0 => Self::Ground {
                network: NetworkKind::from_code(from.byte()?)?,
                users_from_outside: from.flag()?,
            },
            1 => Self::Try,
            2 => Self::Confine {
                confinement: Box::new(Confinement::read(&mut from)?),
                order: Box::new(LaunchRequest::read(&mut from)?),
            },
            3 => Self::Stand { own_network: from.flag()? },
            4 => Self::Prepare(Box::new(Preparation {
                streams: if from.flag()? { StreamKind::Terminal } else { StreamKind::Pipes },
                confinement: Confinement::read(&mut from)?,
            })),
            5 => Self::Start(Box::new(LaunchRequest::read(&mut from)?)),
            _ => return None,
        })
    }
}

impl LaunchRequest {
    fn write(&self, out: &mut Writer) {
        out.block(self.program.as_bytes());
        out.list(&self.arguments, |out, text| out.block(text.as_bytes()));
        out.list(&self.environment, |out, text| out.block(text.as_bytes()));
        out.block(self.directory.as_bytes());
        out.flag(self.identity.is_some());
        let DirectoryIdentity { device, inode } = self.identity.unwrap_or_default();
        out.large(device);
        out.large(inode);
        out.flag(self.terminal);
        out.list(&self.door, |out, text| out.block(text.as_bytes()));
        for limit in [self.mark, self.open_files] {
            out.limit(limit);
        }
        out.number(self.groups);
        out.number(self.inherited);
        let ProcessLimits { data, user_tasks, cpu_seconds, open_files, file_size } = self.limits;
        for limit in [data, user_tasks, cpu_seconds, open_files, file_size] {
            out.flag(limit.is_some());
            out.large(limit.unwrap_or(0));
        }
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        Some(Self {
            program: from.c_string()?,
            arguments: from.list(Reader::c_string)?,
            environment: from.list(Reader::c_string)?,
            directory: from.c_string()?,
            identity: from.identity()?,
            terminal: from.flag()?,
            door: from.list(Reader::c_string)?,
            mark: from.limit()?,
            open_files: from.limit()?,
            groups: from.number()?,
            inherited: from.number()?,
            limits: ProcessLimits {
                data: from.maybe()?,
                user_tasks: from.maybe()?,
                cpu_seconds: from.maybe()?,
                open_files: from.maybe()?,
                file_size: from.maybe()?,
            },
        })
    }
}

impl Report {
    pub(crate) fn write(&self) -> Vec<u8> {
        let mut out = Writer::default();
        match self {
            Self::Started { pid, watcher, door } => {
                out.byte(0);
                out.number(*pid);
                out.number(*watcher);
                out.flag(*door);
            }
            Self::Failed { failure, uncollected } => {
                out.byte(1);
                out.byte(failure.stage.code());
                out.block(failure.place.as_bytes());
                out.number(failure.errno.raw_os_error().unsigned_abs());
                out.number(uncollected.unwrap_or(0));
            }
            Self::Made => out.byte(2),
            Self::NameUsers => out.byte(3),
            Self::Prepared { watcher } => {
                out.byte(5);
                out.number(*watcher);
            }
            Self::Denied(denial) => {
                out.byte(4);
                out.byte(denial.operation.code());
                out.block(denial.target.as_bytes());
                out.block(denial.rule.as_bytes());
                out.number(denial.times);
            }
        }
        out.bytes
    }

    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let mut from = Reader { bytes };
        Some(match from.byte()? {
            0 => Self::Started { pid: from.number()?, watcher: from.number()?, door: from.flag()? },
            1 => Self::Failed {
                failure: Failure {
                    stage: ConfineStep::from_code(from.byte()?)?,
                    place: from.text()?,
                    errno: Errno::from_raw_os_error(i32::try_from(from.number()?).ok()?),
                },
                uncollected: Some(from.number()?).filter(|pid| *pid != 0),
            },
            2 => Self::Made,
            3 => Self::NameUsers,
            4 => Self::Denied(Denial {
                operation: Operation::from_code(from.byte()?)?,
                target: from.text()?,
                rule: from.text()?,
                times: from.number()?,
            }),
            5 => Self::Prepared { watcher: from.number()? },
            _ => return None,
        })
    }
}

/// The first message to a supervisor, when its command begins: the mark of the session.
pub(crate) fn mark_to_bytes(mark: Option<Halves>) -> Vec<u8> {
    let mut out = Writer::default();
    out.limit(mark);
    out.bytes
}

/// `None`: these bytes are not a mark's message.
pub(crate) fn mark_from_bytes(bytes: &[u8]) -> Option<Option<Halves>> {
    Reader { bytes }.limit()
}

impl NetworkKind {
    const ALL: [Self; 4] = [Self::Off, Self::Loopback, Self::Hosts, Self::On];

    pub(crate) fn code(self) -> u8 {
        Self::ALL.iter().position(|it| *it == self).map_or(0, |place| place as u8)
    }

    pub(crate) fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::confinement;
    use proptest::prelude::*;

    fn order() -> LaunchRequest {
        LaunchRequest {
            program: c"/bin/true".into(),
            arguments: vec![c"true".into(), c"".into()],
            environment: vec![c"A=1".into()],
            directory: c"/w".into(),
            identity: Some(DirectoryIdentity { device: 1, inode: 2 }),
            terminal: true,
            door: vec![c"HTTP_PROXY=http://127.0.0.1:{door}".into()],
            mark: Some(Halves { soft: 1 << 40, hard: u64::MAX }),
            open_files: None,
            groups: 2,
            inherited: 1,
            limits: ProcessLimits { cpu_seconds: Some(7), ..ProcessLimits::default() },
        }
    }

    fn confine() -> HelperRequest {
        HelperRequest::Confine {
            confinement: Box::new(confinement::tests::sample()),
            order: Box::new(order()),
        }
    }

    #[test]
    fn orders_and_reports_read_back_as_they_were_written() {
        let ground = HelperRequest::Ground { network: NetworkKind::Loopback, users_from_outside: true };
        let preparation =
            Preparation { confinement: confinement::tests::sample(), streams: StreamKind::Terminal };
        let prepare = HelperRequest::Prepare(Box::new(preparation));
        let start = HelperRequest::Start(Box::new(order()));
        let stand = HelperRequest::Stand { own_network: true };
        for task in [ground, HelperRequest::Try, stand, prepare, start, confine()] {
            assert_eq!(HelperRequest::read(&task.write()), Some(task));
        }
        let failure = Failure { stage: ConfineStep::Execute, place: "/x".into(), errno: Errno::NOENT };
        let denial = Denial {
            operation: Operation::Connect,
            target: "1.2.3.4:80".into(),
            rule: "network off".into(),
            times: 3,
        };
        for report in [
            Report::Started { pid: 77, watcher: 78, door: true },
            Report::Failed { failure, uncollected: Some(5) },
            Report::Made,
            Report::NameUsers,
            Report::Prepared { watcher: 79 },
            Report::Denied(denial),
        ] {
            assert_eq!(Report::read(&report.write()), Some(report));
        }
    }

    proptest! {
        #[test]
        fn bytes_that_mean_nothing_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = HelperRequest::read(&bytes);
            let _ = Report::read(&bytes);
        }

        #[test]
        fn an_order_that_is_cut_is_no_order(cut in 0_usize..100) {
            let whole = confine().write();
            let length = whole.len().saturating_sub(cut + 1);
            prop_assert_eq!(HelperRequest::read(&whole[..length]), None);
        }
    }
}
