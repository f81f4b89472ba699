//! The helper: this program, started anew as a small process with one thread, which confines itself and becomes the
//! command. It finds its orders in a file that only it and the runtime have, and answers on a channel.
//!
//! What would surprise: the command is not its child but its sibling, so that the runtime itself is the command's parent
//! and is told of its end; the helper is gone by then. What stays is the watcher, which is the init of the command's own
//! process namespace where there is one, and answers for the supervised system calls.

mod caller;
mod deed;
mod draft;
mod ground;
mod judge;
mod memory;
mod place;
mod rules;
mod socket_owners;
mod view;
mod watcher;

use self::view::Underneath;
use self::watcher::Origin;
use crate::calls::Wanted;
use crate::order::{DOOR, Failure, Order, Report, Stage, Task};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, setrlimit};
use std::ffi::CString;
use std::fs::File;
use std::io::{Read, Seek};
use std::net::{Ipv4Addr, TcpListener};
use windlass_sys::channel::{self, Waiting};
use windlass_sys::descriptor;
use windlass_sys::limits::OpenFiles;
use windlass_sys::lockdown::filter::{Listening, Program};
use windlass_sys::lockdown::namespace::{self, Spaces};
use windlass_sys::lockdown::privilege::{self, Capabilities};
use windlass_sys::lockdown::unix_sockets::UnixSockets;
use windlass_sys::lockdown::{Twin, fork};
use windlass_sys::mark::Halves;
use windlass_sys::process::{Pid, Process};
use windlass_sys::spawn::{self, FIRST_PASSED, Kinship, Launch, LaunchFailure, Stdio, Step};

/// The helper's whole life, from what it was started with. Returns when the command runs, or does not.
pub fn run() {
    let Some(channel) = descriptor::inherited(FIRST_PASSED) else { return };
    // The network namespace is that of the runtime until the first task.
    let outside = UnixSockets::of_this_namespace().ok();
    let links = Links { channel: &channel, outside: outside.as_ref() };
    let report = |report: &Report, with: &[BorrowedFd<'_>]| {
        // A runtime that is gone needs no answer: its guardian ends what is left.
        let _ = channel::send(&channel, &report.write(), with, Waiting::Yes);
    };
    // It may have been started ahead of time: whoever wants it sends a message, and whoever does not hangs up.
    let mut standing = None;
    while let Some((task, orders, mut passed)) = next_task(&channel) {
        match task {
            Some(Task::Stand { filter }) => match Standing::make(filter, &mut passed, links) {
                Ok(made) => {
                    standing = Some(made);
                    continue;
                }
                Err(failure) => report(&Report::Failed { failure, uncollected: None }, &[]),
            },
            Some(Task::Confine(mut order)) => {
                let confining = Confining { links, orders: &orders, standing: standing.take() };
                match confining.confine(&mut order, passed) {
                    Ok(command) => report(&command.report(), &command.holds()),
                    Err(Stopped { failure, uncollected }) => {
                        report(&Report::Failed { failure, uncollected }, &[]);
                    }
                }
            }
            Some(Task::Ground { network, users_from_outside }) => {
                match ground::make(network, users_from_outside, &channel) {
                    Ok(made) => report(&Report::Made, &made.iter().map(AsFd::as_fd).collect::<Vec<_>>()),
                    Err(failure) => report(&Report::Failed { failure, uncollected: None }, &[]),
                }
            }
            Some(Task::Try) => match ground::try_everything() {
                Ok(()) => report(&Report::Made, &[]),
                Err(failure) => report(&Report::Failed { failure, uncollected: None }, &[]),
            },
            None => {
                let failure = Failure { stage: Stage::Order, place: String::new(), errno: Errno::INVAL };
                report(&Report::Failed { failure, uncollected: None }, &[]);
            }
        }
        return;
    }
}

/// The next thing to do, the file that says it, and what came with it. `None`: the runtime has hung up.
fn next_task(channel: &OwnedFd) -> Option<(Option<Task>, OwnedFd, Passed)> {
    let message = channel::receive(channel, Waiting::Yes).ok().filter(|message| !message.bytes.is_empty())?;
    let mut passed = Passed(message.descriptors.into_iter());
    let orders = passed.next().ok()?;
    let task = orders.try_clone().ok().and_then(read_task);
    Some((task, orders, passed))
}

/// Whether a command has a world of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum World {
    /// Namespaces, in which nobody else is.
    Own,
    /// That of everybody.
    Shared,
}

/// What a helper and its watcher have of the world outside.
#[derive(Clone, Copy)]
struct Links<'a> {
    /// To the runtime.
    channel: &'a OwnedFd,
    /// The sockets of the runtime's network namespace.
    outside: Option<&'a UnixSockets>,
}

/// What every command of one kind needs, made ahead of it.
struct Standing {
    watcher: Watcher,
    underneath: Underneath,
    filter: Filter,
}

impl Standing {
    fn make(filter: Wanted, passed: &mut Passed, links: Links<'_>) -> Result<Self, Failure> {
        enter_namespaces(filter.own_network, passed).map_err(at(Stage::Namespaces))?;
        Self::in_namespaces(filter, links)
    }

    fn in_namespaces(filter: Wanted, links: Links<'_>) -> Result<Self, Failure> {
        let underneath = view::furnish()?;
        let watcher = start_watcher(links, World::Own)?;
        Ok(Self { watcher, underneath, filter: Filter::of(filter) })
    }
}

/// A filter of system calls, and what it was made for.
struct Filter {
    wanted: Wanted,
    program: Program,
}

impl Filter {
    fn of(wanted: Wanted) -> Self {
        Self { wanted, program: wanted.program() }
    }
}

/// What came with the orders, in their order.
struct Passed(std::vec::IntoIter<OwnedFd>);

impl Passed {
    fn next(&mut self) -> Result<OwnedFd, Errno> {
        self.0.next().ok_or(Errno::BADF)
    }
}

fn read_task(file: OwnedFd) -> Option<Task> {
    let mut file = File::from(file);
    let mut bytes = Vec::new();
    file.rewind().ok()?;
    file.read_to_end(&mut bytes).ok()?;
    Task::read(&bytes)
}

/// A command that runs.
struct Running {
    command: Process,
    watcher: Option<Process>,
    door: Option<OwnedFd>,
}

impl Running {
    fn report(&self) -> Report {
        let number = |process: &Process| process.pid().get();
        let watcher = self.watcher.as_ref().map_or(0, number);
        Report::Started { pid: number(&self.command), watcher, door: self.door.is_some() }
    }

    fn holds(&self) -> Vec<BorrowedFd<'_>> {
        let processes = std::iter::once(&self.command).chain(&self.watcher).map(AsFd::as_fd);
        processes.chain(self.door.as_ref().map(AsFd::as_fd)).collect()
    }
}

/// Why there is no command.
struct Stopped {
    failure: Failure,
    uncollected: Option<u32>,
}

impl From<Failure> for Stopped {
    fn from(failure: Failure) -> Self {
        Self { failure, uncollected: None }
    }
}

/// What failed, about no place in particular.
fn at(stage: Stage) -> impl Fn(Errno) -> Failure {
    move |errno| Failure { stage, place: String::new(), errno }
}

/// One command on its way.
struct Confining<'a> {
    links: Links<'a>,
    orders: &'a OwnedFd,
    standing: Option<Standing>,
}

impl Confining<'_> {
    fn confine(self, order: &mut Order, mut passed: Passed) -> Result<Running, Stopped> {
        belong_to_session(order, self.links.channel)?;
        take_streams(&mut passed).map_err(at(Stage::Command))?;
        enter_groups(order, &mut passed).map_err(at(Stage::Group))?;
        let inherited = take_inherited(order, &mut passed).map_err(at(Stage::Command))?;
        let shared = order.shares_sockets.then(|| passed.next()).transpose().map_err(at(Stage::Order))?;
        let mut filter = None;
        let (watcher, door) = match (order.namespaces, order.supervisor) {
            (true, _) => {
                if self.standing.is_none() {
                    enter_namespaces(order.own_network, &mut passed).map_err(at(Stage::Namespaces))?;
                }
                // Before the furniture, which may lie over some of them.
                let pieces = view::copy_pieces(order)?;
                let standing = match self.standing {
                    Some(standing) => standing,
                    None => Standing::in_namespaces(order.filter(), self.links)?,
                };
                let door = open_door(order).map_err(at(Stage::Namespaces))?;
                view::build(order, pieces, &standing.underneath)?;
                filter = Some(standing.filter);
                (Some(standing.watcher), door)
            }
            (false, true) => (Some(start_watcher(self.links, World::Shared)?), None),
            (false, false) => (None, None),
        };
        name_own_tmux(order);
        let filter = filter.filter(|filter| filter.wanted == order.filter());
        let filter = filter.unwrap_or_else(|| Filter::of(order.filter()));
        lock(order, &filter, watcher.as_ref(), &[Some(self.orders), shared.as_ref()])?;
        let command = start_command(order, &inherited)?;
        Ok(Running { command, watcher: watcher.map(|watcher| watcher.process), door })
    }
}

/// From here on there is no way back.
fn lock(
    order: &Order,
    filter: &Filter,
    watcher: Option<&Watcher>,
    given: &[Option<&OwnedFd>],
) -> Result<(), Failure> {
    if let (Some(watcher), Some(mark)) = (watcher, order.mark) {
        mark.put_on(watcher.process.pid()).map_err(at(Stage::Watcher))?;
    }
    if !order.namespaces {
        // The kernel writes a core dump into the working directory itself, and asks no supervisor.
        let none = Rlimit { current: Some(0), maximum: Some(0) };
        setrlimit(Resource::Core, none).map_err(at(Stage::Privileges))?;
    }
    privilege::gain_nothing().map_err(at(Stage::Privileges))?;
    privilege::keep_only(privileges(order.world())).map_err(at(Stage::Privileges))?;
    rules::enforce_landlock(order)?;
    let listening = if order.supervisor { Listening::Yes } else { Listening::No };
    let listener = filter.program.enforce(listening).map_err(at(Stage::Filter))?;
    match watcher {
        Some(watcher) => watcher.hand_over(given, listener.as_ref()).map_err(at(Stage::Watcher)),
        None => Ok(()),
    }
}

impl Order {
    fn world(&self) -> World {
        if self.namespaces { World::Own } else { World::Shared }
    }
}

/// Takes on the session's mark. Whether the runtime is still there is asked afterwards: one that died before found nobody
/// to end, one that dies later has a guardian that finds us.
fn belong_to_session(order: &Order, channel: &OwnedFd) -> Result<(), Failure> {
    if let Some(mark) = order.mark {
        mark.take_on().map_err(at(Stage::Command))?;
    }
    if let Some(Halves { soft, hard }) = order.open_files {
        OpenFiles { soft, hard }.take_on();
    }
    let mut fds = [PollFd::new(channel, PollFlags::IN)];
    let asked = poll(&mut fds, Some(&Timespec::default()));
    match asked.is_ok() && !fds[0].revents().contains(PollFlags::HUP) {
        true => Ok(()),
        false => Err(at(Stage::Order)(Errno::PIPE)),
    }
}

fn take_streams(passed: &mut Passed) -> Result<(), Errno> {
    rustix::stdio::dup2_stdin(passed.next()?)?;
    rustix::stdio::dup2_stdout(passed.next()?)?;
    rustix::stdio::dup2_stderr(passed.next()?)
}

/// Whoever writes a zero there enters the group, and so does all that it starts.
fn enter_groups(order: &Order, passed: &mut Passed) -> Result<(), Errno> {
    for _ in 0..order.groups {
        rustix::io::write(passed.next()?, b"0")?;
    }
    Ok(())
}

fn take_inherited(order: &Order, passed: &mut Passed) -> Result<Vec<OwnedFd>, Errno> {
    (0..order.inherited).map(|_| passed.next()).collect()
}

/// The runtime passes the users, and a network if the command has its own.
fn enter_namespaces(own_network: bool, passed: &mut Passed) -> Result<(), Errno> {
    namespace::enter(passed.next()?, Spaces::USER)?;
    if own_network {
        namespace::enter(passed.next()?, Spaces::NETWORK)?;
    }
    namespace::separate(Spaces::MOUNT.and(Spaces::PROCESS).and(Spaces::IPC))
}

/// A place on the command's loopback device behind which the runtime lets through what is listed. The command is told of it.
fn open_door(order: &mut Order) -> Result<Option<OwnedFd>, Errno> {
    if order.door.is_empty() {
        return Ok(None);
    }
    let failed = |error: std::io::Error| Errno::from_io_error(&error).unwrap_or(Errno::IO);
    let door = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
    let port = door.local_addr().map_err(failed)?.port().to_string();
    for variable in std::mem::take(&mut order.door) {
        let text = variable.to_string_lossy().replace(DOOR, &port);
        // A number takes the place of a word, so there is no zero in it now either.
        order.environment.extend(CString::new(text));
    }
    Ok(Some(door.into()))
}

/// In `/tmp`, where tmux keeps its sockets by default, a command can neither reach the user's server nor start one.
fn name_own_tmux(order: &mut Order) {
    const VARIABLE: &str = "TMUX_TMPDIR=";
    let is_set = |variable: &CString| variable.as_bytes().starts_with(VARIABLE.as_bytes());
    if !order.environment.iter().any(is_set) {
        order.environment.push(c"TMUX_TMPDIR=/dev/shm".to_owned());
    }
}

/// In a namespace of its own an administrator keeps what concerns files, which its programs take for granted and which
/// reaches nothing that is not writable there. Nobody else has anything, and nobody has anything without namespaces.
fn privileges(world: World) -> Capabilities {
    let is_root = rustix::process::geteuid().is_root();
    if is_root && world == World::Own { Capabilities::OF_FILES } else { Capabilities::NONE }
}

/// The watcher as the helper knows it.
struct Watcher {
    process: Process,
    line: OwnedFd,
}

impl Watcher {
    /// From now on it answers for the calls that are asked about, by the orders that are given first.
    fn hand_over(&self, given: &[Option<&OwnedFd>], listener: Option<&OwnedFd>) -> Result<(), Errno> {
        let with: Vec<_> = given.iter().copied().flatten().chain(listener).map(AsFd::as_fd).collect();
        channel::send(&self.line, b"listen", &with, Waiting::Yes)
    }
}

fn start_watcher(links: Links<'_>, world: World) -> Result<Watcher, Failure> {
    let failed = at(Stage::Watcher);
    let (line, its_line) = channel::pair().map_err(&failed)?;
    let origin = Origin { world, helper: Pid::of_this_process() };
    match fork().map_err(&failed)? {
        Twin::Child => watcher::run(links, &its_line, origin),
        Twin::Parent(process) => {
            drop(its_line);
            let answer = channel::receive(&line, Waiting::Yes).map_err(&failed)?;
            match Report::read(&answer.bytes) {
                Some(Report::Made) => Ok(Watcher { process, line }),
                Some(Report::Failed { failure, .. }) => Err(failure),
                _ => Err(failed(Errno::IO)),
            }
        }
    }
}

fn start_command(order: &Order, inherited: &[OwnedFd]) -> Result<Process, Stopped> {
    let inherited: Vec<BorrowedFd<'_>> = inherited.iter().map(AsFd::as_fd).collect();
    let (stdin, stdout, stderr) = (rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr());
    let launch = Launch {
        program: &order.program,
        arguments: &order.arguments,
        environment: &order.environment,
        directory: &order.directory,
        stdio: if order.terminal {
            Stdio::Terminal { slave: stdin }
        } else {
            Stdio::Pipes { stdin, stdout, stderr }
        },
        mark: None,
        open_files: None,
        limits: order.limits,
        groups: &[],
        passed: &inherited,
        kinship: Kinship::Sibling,
    };
    spawn::launch(&launch).map_err(|failure| explain(order, failure))
}

fn explain(order: &Order, failure: LaunchFailure) -> Stopped {
    let stage = match failure.step {
        Step::Directory => Stage::Directory,
        Step::Execute => Stage::Execute,
        Step::Clone | Step::Session | Step::Terminal | Step::Descriptors | Step::Groups | Step::Limits => {
            Stage::Command
        }
    };
    let place = match stage {
        Stage::Directory => order.directory.to_string_lossy().into_owned(),
        Stage::Execute => order.program.to_string_lossy().into_owned(),
        _ => format!("{:?}", failure.step).to_lowercase(),
    };
    let uncollected = failure.uncollected.map(Pid::get);
    Stopped { failure: Failure { stage, place, errno: failure.errno }, uncollected }
}
