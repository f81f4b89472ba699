//! What the runtime tells the helper, and what the helper tells back: plain bytes between two processes of one program, so
//! without versions. Reading never trusts a length.

use crate::calls::{Wanted, keeps_datagrams};
use crate::denial::{Denial, Operation};
use crate::plan::{Layer, Plan, Ruling, ruling_at};
use crate::policy::{Access, Network};
use crate::protect::{Repository, Unborn};
use rustix::io::Errno;
use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use windlass_sys::limits::ProcessLimits;
use windlass_sys::mark::Halves;

/// What a helper is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// Make a place for commands of one kind of network, and hand it over.
    Ground { network: NetworkKind, users_from_outside: bool },
    /// Find out whether namespaces with a tree of their own can be had.
    Try,
    /// Make everything that commands have in common, and wait for one. The namespaces of its ground come with this. The filter
    /// is that of the previous command: the next one mostly needs the same.
    Stand { filter: Wanted },
    /// Confine a command and become it.
    Confine(Box<Order>),
}

/// Everything about one confined command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) rulings: Vec<Ruling>,
    pub(crate) unborn: Vec<Unborn>,
    pub(crate) sockets: Vec<PathBuf>,
    pub(crate) repositories: Vec<Repository>,
    /// When the runtime began, in nanoseconds since 1970: repositories that were made since are its commands' own.
    pub(crate) runtime_began: u64,
    pub(crate) readable: Option<Vec<PathBuf>>,
    pub(crate) network: NetworkKind,
    pub(crate) namespaces: bool,
    /// A network of its own came with the ground.
    pub(crate) own_network: bool,
    pub(crate) landlock: u32,
    pub(crate) supervisor: bool,
    pub(crate) program: CString,
    pub(crate) arguments: Vec<CString>,
    pub(crate) environment: Vec<CString>,
    pub(crate) directory: CString,
    pub(crate) terminal: bool,
    /// Variables that say where the door to the listed hosts is, with [`DOOR`] for its port. None: there is no door.
    pub(crate) door: Vec<CString>,
    /// The mark of the session, and the open-file limit to give back.
    pub(crate) mark: Option<Halves>,
    pub(crate) open_files: Option<Halves>,
    /// How many control groups are to be entered; what is written to for that comes first after the streams.
    pub(crate) groups: u32,
    /// How many descriptors the command inherits beside its streams; they come after those of the groups.
    pub(crate) inherited: u32,
    /// The list of sockets that sessions of this runtime have bound comes after those.
    pub(crate) shares_sockets: bool,
    /// What the kernel is to hold the command's processes to.
    pub(crate) limits: ProcessLimits,
}

impl Order {
    /// Whether files are changed, and names made, moved and removed, by the supervisor: wherever something can be written there
    /// are names that must not come into being, and places that what is around them must not be moved away with.
    pub(crate) fn keeps_names(&self) -> bool {
        self.filter().names_kept
    }

    /// The filter of system calls that the command needs.
    pub(crate) fn filter(&self) -> Wanted {
        Wanted {
            network: self.network,
            own_network: self.own_network,
            supervised: self.supervisor,
            namespaces: self.namespaces,
            names_kept: keeps_names(&self.rulings, &self.unborn),
            reads: denies(&self.rulings),
            datagrams_kept: keeps_datagrams(self.landlock),
        }
    }

    /// Whether something in a place that can be changed must stay where it is. Also what can be changed itself: the next command
    /// could otherwise change whatever is put in its place.
    pub(crate) fn is_held(&self, ruling: &Ruling) -> bool {
        let above = ruling.path.parent().and_then(|above| ruling_at(&self.rulings, above));
        above.is_some_and(|above| above.access == Access::Write)
    }
}

impl Plan {
    /// The filter of system calls that a command under this plan needs.
    pub(crate) fn filter(&self, own_network: bool) -> Wanted {
        Wanted {
            network: (&self.network).into(),
            own_network,
            supervised: self.has(Layer::Supervisor),
            namespaces: self.has(Layer::Namespaces),
            names_kept: keeps_names(&self.rulings, &self.unborn),
            reads: denies(&self.rulings),
            datagrams_kept: keeps_datagrams(self.landlock()),
        }
    }
}

fn keeps_names(rulings: &[Ruling], unborn: &[Unborn]) -> bool {
    !unborn.is_empty() || rulings.iter().any(|ruling| ruling.access == Access::Write)
}

/// Whether something must not even be read.
fn denies(rulings: &[Ruling]) -> bool {
    rulings.iter().any(|ruling| ruling.access == Access::Deny)
}

/// What stands for the port of a command's door until it is open.
pub const DOOR: &str = "{door}";

/// What of the network may be used, without the list of hosts, which concerns the runtime alone.
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

/// What a helper, or whoever it left to watch, says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Report {
    /// The command runs, and its watcher, if any, under these numbers; with this come holds on them, and its door.
    Started { pid: u32, watcher: u32, door: bool },
    /// It does not, and nothing is left of it but the remains of this process, if any, which the runtime has to collect.
    Failed { failure: Failure, uncollected: Option<u32> },
    /// The ground is made; its namespaces come with this.
    Made,
    /// The users of the ground have to be named from outside; then the same channel says so.
    NameUsers,
    /// Something was refused.
    Denied(Denial),
}

/// A start that did not happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What was being done.
    pub stage: Stage,
    /// About which place, if about one.
    pub place: String,
    /// What the kernel said.
    pub errno: Errno,
}

/// The steps of confining a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Understanding what to do.
    Order,
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
    /// The watcher.
    Watcher,
    /// Giving up privileges.
    Privileges,
    /// Landlock.
    Landlock,
    /// The filter of system calls.
    Filter,
    /// Starting the command: making its process and what belongs to it.
    Command,
    /// Entering the working directory.
    Directory,
    /// Executing the program.
    Execute,
}

const STAGES: [(Stage, &str); 14] = [
    (Stage::Order, "understand what to confine"),
    (Stage::Group, "enter the control groups of the session"),
    (Stage::Namespaces, "make namespaces"),
    (Stage::Tree, "make the tree of files read-only"),
    (Stage::Place, "put a place into the tree of files"),
    (Stage::Devices, "make devices of its own"),
    (Stage::Processes, "make a table of its processes"),
    (Stage::Watcher, "start the watcher"),
    (Stage::Privileges, "give up privileges"),
    (Stage::Landlock, "enforce the rules of Landlock"),
    (Stage::Filter, "filter system calls"),
    (Stage::Command, "start the process"),
    (Stage::Directory, "enter the working directory"),
    (Stage::Execute, "execute the program"),
];

impl Stage {
    /// As the end of a sentence that begins with "cannot".
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

impl Task {
    pub(crate) fn write(&self) -> Vec<u8> {
        let mut out = Writer::default();
        match self {
            Self::Ground { network, users_from_outside } => {
                out.byte(0);
                out.byte(network.code());
                out.flag(*users_from_outside);
            }
            Self::Try => out.byte(1),
            Self::Stand { filter } => {
                out.byte(3);
                out.byte(filter.network.code());
                for flag in filter.flags() {
                    out.flag(flag);
                }
            }
            Self::Confine(order) => {
                out.byte(2);
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
            3 => {
                let network = NetworkKind::from_code(from.byte()?)?;
                let flags =
                    [from.flag()?, from.flag()?, from.flag()?, from.flag()?, from.flag()?, from.flag()?];
                Self::Stand { filter: Wanted::from_flags(network, flags) }
            }
            2 => Self::Confine(Box::new(Order::read(&mut from)?)),
            _ => return None,
        })
    }
}

impl Order {
    fn write(&self, out: &mut Writer) {
        out.list(&self.rulings, |out, ruling| {
            out.path(&ruling.path);
            out.byte(ruling.access as u8);
            out.block(ruling.origin.as_bytes());
            out.flag(ruling.pinned);
        });
        out.list(&self.unborn, |out, unborn| {
            out.path(&unborn.path);
            out.path(&unborn.directory);
            out.block(unborn.origin.as_bytes());
        });
        out.list(&self.sockets, |out, path| out.path(path));
        out.list(&self.repositories, |out, repository| {
            out.path(&repository.git_dir);
            out.path(&repository.work_tree);
        });
        out.large(self.runtime_began);
        out.flag(self.readable.is_some());
        out.list(self.readable.as_deref().unwrap_or_default(), |out, path| out.path(path));
        out.byte(self.network.code());
        out.flag(self.namespaces);
        out.flag(self.own_network);
        out.number(self.landlock);
        out.flag(self.supervisor);
        out.block(self.program.as_bytes());
        out.list(&self.arguments, |out, text| out.block(text.as_bytes()));
        out.list(&self.environment, |out, text| out.block(text.as_bytes()));
        out.block(self.directory.as_bytes());
        out.flag(self.terminal);
        out.list(&self.door, |out, text| out.block(text.as_bytes()));
        for limit in [self.mark, self.open_files] {
            out.flag(limit.is_some());
            let Halves { soft, hard } = limit.unwrap_or(Halves { soft: 0, hard: 0 });
            out.large(soft);
            out.large(hard);
        }
        out.number(self.groups);
        out.number(self.inherited);
        out.flag(self.shares_sockets);
        let ProcessLimits { data, user_tasks, cpu_seconds, open_files, file_size } = self.limits;
        for limit in [data, user_tasks, cpu_seconds, open_files, file_size] {
            out.flag(limit.is_some());
            out.large(limit.unwrap_or(0));
        }
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        Some(Self {
            rulings: from.list(|from| {
                Some(Ruling {
                    path: from.path()?,
                    access: access_from(from.byte()?)?,
                    origin: from.text()?,
                    pinned: from.flag()?,
                })
            })?,
            unborn: from.list(|from| {
                Some(Unborn { path: from.path()?, directory: from.path()?, origin: from.text()? })
            })?,
            sockets: from.list(Reader::path)?,
            repositories: from
                .list(|from| Some(Repository { git_dir: from.path()?, work_tree: from.path()? }))?,
            runtime_began: from.large()?,
            readable: {
                let given = from.flag()?;
                Some(from.list(Reader::path)?).filter(|_| given)
            },
            network: NetworkKind::from_code(from.byte()?)?,
            namespaces: from.flag()?,
            own_network: from.flag()?,
            landlock: from.number()?,
            supervisor: from.flag()?,
            program: from.c_string()?,
            arguments: from.list(Reader::c_string)?,
            environment: from.list(Reader::c_string)?,
            directory: from.c_string()?,
            terminal: from.flag()?,
            door: from.list(Reader::c_string)?,
            mark: from.limit()?,
            open_files: from.limit()?,
            groups: from.number()?,
            inherited: from.number()?,
            shares_sockets: from.flag()?,
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
                    stage: Stage::from_code(from.byte()?)?,
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
            _ => return None,
        })
    }
}

impl NetworkKind {
    const ALL: [Self; 4] = [Self::Off, Self::Loopback, Self::Hosts, Self::On];

    fn code(self) -> u8 {
        Self::ALL.iter().position(|it| *it == self).map_or(0, |place| place as u8)
    }

    fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }
}

fn access_from(code: u8) -> Option<Access> {
    [Access::Deny, Access::Read, Access::Write].into_iter().find(|access| *access as u8 == code)
}

#[derive(Default)]
struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    fn flag(&mut self, flag: bool) {
        self.byte(u8::from(flag));
    }

    fn number(&mut self, number: u32) {
        self.bytes.extend_from_slice(&number.to_le_bytes());
    }

    fn large(&mut self, number: u64) {
        self.bytes.extend_from_slice(&number.to_le_bytes());
    }

    fn block(&mut self, block: &[u8]) {
        self.number(u32::try_from(block.len()).unwrap_or(u32::MAX));
        self.bytes.extend_from_slice(block);
    }

    fn path(&mut self, path: &Path) {
        self.block(path.as_os_str().as_bytes());
    }

    fn list<T>(&mut self, items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        self.number(u32::try_from(items.len()).unwrap_or(u32::MAX));
        for item in items {
            write(self, item);
        }
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
}

impl Reader<'_> {
    fn take(&mut self, length: usize) -> Option<&[u8]> {
        let (taken, rest) = self.bytes.split_at_checked(length)?;
        self.bytes = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|taken| taken[0])
    }

    fn flag(&mut self) -> Option<bool> {
        self.byte().map(|byte| byte != 0)
    }

    fn number(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_le_bytes)
    }

    fn limit(&mut self) -> Option<Option<Halves>> {
        let given = self.flag()?;
        let halves = Halves { soft: self.large()?, hard: self.large()? };
        Some(given.then_some(halves))
    }

    fn maybe(&mut self) -> Option<Option<u64>> {
        let given = self.flag()?;
        Some(Some(self.large()?).filter(|_| given))
    }

    fn large(&mut self) -> Option<u64> {
        self.take(8)?.try_into().ok().map(u64::from_le_bytes)
    }

    fn block(&mut self) -> Option<&[u8]> {
        let length = self.number()?;
        self.take(usize::try_from(length).ok()?)
    }

    fn text(&mut self) -> Option<String> {
        self.block().map(|block| String::from_utf8_lossy(block).into_owned())
    }

    fn path(&mut self) -> Option<PathBuf> {
        self.block().map(|block| PathBuf::from(OsStr::from_bytes(block)))
    }

    fn c_string(&mut self) -> Option<CString> {
        CString::new(self.block()?).ok()
    }

    fn list<T>(&mut self, mut read: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.number()?;
        // No room is made for a count that may be a lie: the list grows as its items are found.
        (0..count).map(|_| read(self)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn order() -> Order {
        Order {
            rulings: vec![Ruling { pinned: true, ..Ruling::new("/w", Access::Write, "the workspace") }],
            unborn: vec![Unborn {
                path: "/w/.git".into(),
                directory: "/w".into(),
                origin: "protected".into(),
            }],
            sockets: vec!["/tmp/s".into()],
            repositories: vec![Repository { git_dir: "/w/.git".into(), work_tree: "/w".into() }],
            runtime_began: 1 << 60,
            readable: Some(vec!["/usr".into()]),
            network: NetworkKind::Hosts,
            namespaces: true,
            own_network: true,
            landlock: 7,
            supervisor: true,
            program: c"/bin/true".into(),
            arguments: vec![c"true".into(), c"".into()],
            environment: vec![c"A=1".into()],
            directory: c"/w".into(),
            terminal: true,
            door: vec![c"HTTP_PROXY=http://127.0.0.1:{door}".into()],
            mark: Some(Halves { soft: 1 << 40, hard: u64::MAX }),
            open_files: None,
            groups: 2,
            inherited: 1,
            shares_sockets: true,
            limits: ProcessLimits { cpu_seconds: Some(7), ..ProcessLimits::default() },
        }
    }

    #[test]
    fn orders_and_reports_read_back_as_they_were_written() {
        let ground = Task::Ground { network: NetworkKind::Loopback, users_from_outside: true };
        let standing = Task::Stand { filter: order().filter() };
        for task in [ground, Task::Try, standing, Task::Confine(Box::new(order()))] {
            assert_eq!(Task::read(&task.write()), Some(task));
        }
        let failure = Failure { stage: Stage::Execute, place: "/x".into(), errno: Errno::NOENT };
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
            Report::Denied(denial),
        ] {
            assert_eq!(Report::read(&report.write()), Some(report));
        }
    }

    proptest! {
        #[test]
        fn bytes_that_mean_nothing_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Task::read(&bytes);
            let _ = Report::read(&bytes);
        }

        #[test]
        fn an_order_that_is_cut_is_no_order(cut in 0_usize..100) {
            let whole = Task::Confine(Box::new(order())).write();
            let length = whole.len().saturating_sub(cut + 1);
            prop_assert_eq!(Task::read(&whole[..length]), None);
        }
    }
}
