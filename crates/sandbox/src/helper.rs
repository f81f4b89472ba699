//! The helper: this program, started anew as a small process with one thread, which confines itself and becomes the
//! command. It reads its request from a file that only it and the runtime have, and answers on a channel.
//!
//! Two things may surprise. The command is not the helper's child but its sibling, so that the runtime itself is the
//! command's parent and learns of its exit; the helper is gone by then. And the supervisor stays beside the command: it
//! is the init of the command's own process namespace where there is one, and answers the supervised system calls.

mod caller;
mod draft;
mod emulated;
mod judge;
mod memory;
mod namespaces;
mod place;
mod prepared;
mod process_links;
mod rules;
mod socket_owners;
mod supervisor;
mod view;

use self::prepared::{MountChanges, Prepared};
use self::supervisor::SupervisorOrigin;
use self::view::{Console, Underneath};
use crate::confinement::Confinement;
use crate::plan::{ruling_at, tmux_directory};
use crate::policy::Access;
use crate::request::{self, ConfineStep, DOOR, Failure, HelperRequest, LaunchRequest, NetworkKind, Report};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, setrlimit};
use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io::{Read, Seek};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use windlass_sys::channel::{self, Waiting};
use windlass_sys::descriptor;
use windlass_sys::limits::OpenFiles;
use windlass_sys::lockdown::filter::Listening;
use windlass_sys::lockdown::namespace::{self, Spaces};
use windlass_sys::lockdown::privilege::{self, Capabilities};
use windlass_sys::lockdown::unix_sockets::UnixSockets;
use windlass_sys::lockdown::{Twin, fork};
use windlass_sys::mark::Halves;
use windlass_sys::process::{Pid, Process};
use windlass_sys::spawn::{self, FIRST_PASSED, Kinship, Launch, LaunchFailure, SpawnStep, Stdio};

/// Runs the helper to its end, given its channel. Returns when the command runs, or could not be started.
pub fn run() {
    let Some(channel) = descriptor::inherited(FIRST_PASSED) else { return };
    // Until the first request, this process is in the runtime's network namespace.
    let outside = UnixSockets::of_this_namespace().ok();
    let mut helper =
        Helper { links: Links { channel: &channel, outside: outside.as_ref() }, readiness: Readiness::Fresh };
    // The helper may have been started ahead of time: to use it the runtime sends a message, and to end it the runtime
    // closes the channel.
    while let Some((task, file, passed)) = next_task(&channel) {
        let done = match task {
            Some(task) => helper.carry_out(task, file, passed),
            None => Err(at(ConfineStep::Order)(Errno::INVAL).into()),
        };
        match done {
            Ok(Next::Wait) => {}
            Ok(Next::Exit) => return,
            Err(Stopped { failure, uncollected }) => {
                return helper.links.report(&Report::Failed { failure, uncollected }, &[]);
            }
        }
    }
}

/// The state of a helper after a request.
enum Next {
    Wait,
    Exit,
}

struct Helper<'a> {
    links: Links<'a>,
    readiness: Readiness,
}

/// How far a helper has got before its command is known.
enum Readiness {
    Fresh,
    /// In namespaces of its own; mounts outside may have changed since.
    Standing(Standing, MountChanges),
    Prepared(Box<Prepared>),
}

impl Helper<'_> {
    fn carry_out(&mut self, task: HelperRequest, file: OwnedFd, mut passed: Passed) -> Result<Next, Stopped> {
        let readiness = std::mem::replace(&mut self.readiness, Readiness::Fresh);
        match (task, readiness) {
            (HelperRequest::Ground { network, users_from_outside }, _) => {
                let made = namespaces::make(network, users_from_outside, self.links.channel)?;
                self.links.report(&Report::Made, &made.iter().map(AsFd::as_fd).collect::<Vec<_>>());
            }
            (HelperRequest::Try, _) => {
                namespaces::try_everything()?;
                self.links.report(&Report::Made, &[]);
            }
            (HelperRequest::Stand { own_network }, _) => {
                let mounts_outside = MountChanges::from_now().map_err(at(ConfineStep::Namespaces))?;
                enter_namespaces(own_network, &mut passed).map_err(at(ConfineStep::Namespaces))?;
                self.readiness = Readiness::Standing(Standing::in_namespaces(self.links)?, mounts_outside);
                return Ok(Next::Wait);
            }
            (HelperRequest::Prepare(preparation), Readiness::Standing(standing, mounts_outside)) => {
                let given = Given::take(&preparation.confinement, file, &mut passed)?;
                let prepared = Prepared::make(*preparation, given, standing, mounts_outside)?;
                self.links.report(&Report::Prepared { watcher: prepared.watcher().get() }, &[]);
                self.readiness = Readiness::Prepared(Box::new(prepared));
                return Ok(Next::Wait);
            }
            (HelperRequest::Start(mut order), Readiness::Prepared(prepared)) => {
                let command = prepared.start(&mut order, passed, self.links)?;
                self.links.report(&command.report(), &command.holds());
            }
            (HelperRequest::Confine { confinement, mut order }, readiness) => {
                let standing = match readiness {
                    Readiness::Standing(standing, mounts_outside) if !mounts_outside.happened() => {
                        Some(standing)
                    }
                    Readiness::Fresh => None,
                    _ => return Err(at(ConfineStep::Prepared)(Errno::STALE).into()),
                };
                let confining = Confining { links: self.links, confinement: &confinement, standing };
                let command = confining.confine(&mut order, file, passed)?;
                self.links.report(&command.report(), &command.holds());
            }
            _ => return Err(at(ConfineStep::Order)(Errno::INVAL).into()),
        }
        Ok(Next::Exit)
    }
}

/// The next request, the file that contains it, and the descriptors that came with it. `None`: the runtime has closed
/// the channel.
fn next_task(channel: &OwnedFd) -> Option<(Option<HelperRequest>, OwnedFd, Passed)> {
    let message = channel::receive(channel, Waiting::Yes).ok().filter(|message| !message.bytes.is_empty())?;
    let mut passed = Passed(message.descriptors.into_iter());
    let orders = passed.next().ok()?;
    let task = orders.try_clone().ok().and_then(read_task);
    Some((task, orders, passed))
}

/// Whether a command has namespaces of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NamespaceScope {
    /// Namespaces of its own, in which there are no processes of others.
    Own,
    /// The namespaces of the runtime.
    Shared,
}

/// The connections of a helper and its supervisor to the outside.
#[derive(Clone, Copy)]
struct Links<'a> {
    /// The channel to the runtime.
    channel: &'a OwnedFd,
    /// The sockets of the runtime's network namespace.
    outside: Option<&'a UnixSockets>,
}

impl Links<'_> {
    fn report(self, report: &Report, with: &[BorrowedFd<'_>]) {
        // A runtime that is gone needs no answer: its guardian ends what is left.
        let _ = channel::send(self.channel, &report.write(), with, Waiting::Yes);
    }
}

/// The parts that every command with the same kind of network needs, made before the command is known.
struct Standing {
    watcher: SupervisorProcess,
    underneath: Underneath,
}

impl Standing {
    fn in_namespaces(links: Links<'_>) -> Result<Self, Failure> {
        let underneath = view::furnish()?;
        let watcher = start_watcher(links, NamespaceScope::Own)?;
        Ok(Self { watcher, underneath })
    }
}

/// The descriptors for the supervisor: the file with the confinement, and the list of sockets that sessions of this
/// runtime have bound.
struct Given {
    file: OwnedFd,
    sockets: Option<OwnedFd>,
}

impl Given {
    fn take(confinement: &Confinement, file: OwnedFd, passed: &mut Passed) -> Result<Self, Failure> {
        let sockets = confinement.shares_sockets.then(|| passed.next()).transpose();
        Ok(Self { file, sockets: sockets.map_err(at(ConfineStep::Order))? })
    }
}

/// The descriptors that came with the request, in its order.
struct Passed(std::vec::IntoIter<OwnedFd>);

impl Passed {
    fn next(&mut self) -> Result<OwnedFd, Errno> {
        self.0.next().ok_or(Errno::BADF)
    }
}

fn read_task(file: OwnedFd) -> Option<HelperRequest> {
    let mut file = File::from(file);
    let mut bytes = Vec::new();
    file.rewind().ok()?;
    file.read_to_end(&mut bytes).ok()?;
    HelperRequest::read(&bytes)
}

/// A command that runs.
struct RunningCommand {
    command: Process,
    watcher: Option<Process>,
    door: Option<OwnedFd>,
}

impl RunningCommand {
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

/// The reason why the command did not start.
struct Stopped {
    failure: Failure,
    uncollected: Option<u32>,
}

impl From<Failure> for Stopped {
    fn from(failure: Failure) -> Self {
        Self { failure, uncollected: None }
    }
}

/// The failure of a step that concerns no particular path.
fn at(stage: ConfineStep) -> impl Fn(Errno) -> Failure {
    move |errno| Failure { stage, place: String::new(), errno }
}

/// The start of one command for which nothing was prepared.
struct Confining<'a> {
    links: Links<'a>,
    confinement: &'a Confinement,
    standing: Option<Standing>,
}

impl Confining<'_> {
    fn confine(
        self,
        order: &mut LaunchRequest,
        file: OwnedFd,
        mut passed: Passed,
    ) -> Result<RunningCommand, Stopped> {
        let Self { links, confinement, standing } = self;
        belong_to_session(order, links.channel)?;
        let inherited = take_over(order, &mut passed)?;
        let given = Given::take(confinement, file, &mut passed)?;
        let (watcher, door) = match (confinement.namespaces, confinement.supervisor) {
            (true, _) => {
                if standing.is_none() {
                    enter_namespaces(confinement.own_network, &mut passed)
                        .map_err(at(ConfineStep::Namespaces))?;
                }
                // Before the devices and directories of its own are mounted, which may cover some of these places.
                let pieces = view::copy_pieces(confinement)?;
                let Standing { watcher, underneath } = match standing {
                    Some(standing) => standing,
                    None => Standing::in_namespaces(links)?,
                };
                let console = if order.terminal { Console::of(&underneath) } else { None };
                view::build(confinement, pieces, console)?;
                (Some(watcher), open_door(confinement).map_err(at(ConfineStep::Namespaces))?)
            }
            (false, true) => (Some(start_watcher(links, NamespaceScope::Shared)?), None),
            (false, false) => (None, None),
        };
        name_door(order, door.as_ref()).map_err(at(ConfineStep::Command))?;
        name_own_tmux(order, confinement);
        if let (Some(watcher), Some(mark)) = (&watcher, order.mark) {
            mark.put_on(watcher.process.pid()).map_err(at(ConfineStep::Watcher))?;
        }
        lock(confinement, watcher.as_ref(), &given)?;
        if let Some(watcher) = &watcher {
            watcher.begin(order.mark).map_err(at(ConfineStep::Watcher))?;
        }
        let command = start_command(order, &inherited)?;
        Ok(RunningCommand { command, watcher: watcher.map(|watcher| watcher.process), door })
    }
}

/// Locks the helper in; this cannot be undone. From now on the supervisor answers supervised calls.
fn lock(
    confinement: &Confinement,
    watcher: Option<&SupervisorProcess>,
    given: &Given,
) -> Result<(), Failure> {
    if !confinement.namespaces {
        // The kernel itself writes a core dump into the working directory, without asking the supervisor.
        let none = Rlimit { current: Some(0), maximum: Some(0) };
        setrlimit(Resource::Core, none).map_err(at(ConfineStep::Privileges))?;
    }
    privilege::gain_nothing().map_err(at(ConfineStep::Privileges))?;
    privilege::keep_only(privileges(confinement.world())).map_err(at(ConfineStep::Privileges))?;
    rules::enforce_landlock(confinement)?;
    let listening = if confinement.supervisor { Listening::Yes } else { Listening::No };
    let listener = confinement.filter().program().enforce(listening).map_err(at(ConfineStep::Filter))?;
    match watcher {
        Some(watcher) => watcher.hand_over(given, listener.as_ref()).map_err(at(ConfineStep::Watcher)),
        None => Ok(()),
    }
}

impl Confinement {
    fn world(&self) -> NamespaceScope {
        if self.namespaces { NamespaceScope::Own } else { NamespaceScope::Shared }
    }
}

/// Takes on the session's mark, and checks afterwards that the runtime is still there. If the runtime died before the
/// mark was set, its guardian did not find this process, and the check fails; if it dies later, the guardian finds this
/// process by the mark.
fn belong_to_session(order: &LaunchRequest, channel: &OwnedFd) -> Result<(), Failure> {
    if let Some(mark) = order.mark {
        mark.take_on().map_err(at(ConfineStep::Command))?;
    }
    check_that_runtime_is_there(channel)
}

fn check_that_runtime_is_there(channel: &OwnedFd) -> Result<(), Failure> {
    let mut fds = [PollFd::new(channel, PollFlags::IN)];
    let asked = poll(&mut fds, Some(&Timespec::default()));
    match asked.is_ok() && !fds[0].revents().contains(PollFlags::HUP) {
        true => Ok(()),
        false => Err(at(ConfineStep::Order)(Errno::PIPE)),
    }
}

/// Takes over the command's limit of open files, its streams and its control groups. Returns the further descriptors
/// that the command inherits.
fn take_over(order: &LaunchRequest, passed: &mut Passed) -> Result<Vec<OwnedFd>, Failure> {
    if let Some(Halves { soft, hard }) = order.open_files {
        OpenFiles { soft, hard }.take_on();
    }
    take_streams(passed).map_err(at(ConfineStep::Command))?;
    enter_groups(order, passed).map_err(at(ConfineStep::Group))?;
    (0..order.inherited).map(|_| passed.next()).collect::<Result<_, _>>().map_err(at(ConfineStep::Command))
}

fn take_streams(passed: &mut Passed) -> Result<(), Errno> {
    rustix::stdio::dup2_stdin(passed.next()?)?;
    rustix::stdio::dup2_stdout(passed.next()?)?;
    rustix::stdio::dup2_stderr(passed.next()?)
}

/// Enters the control groups: a process that writes a zero to such a file enters the group, with all that it starts.
fn enter_groups(order: &LaunchRequest, passed: &mut Passed) -> Result<(), Errno> {
    for _ in 0..order.groups {
        rustix::io::write(passed.next()?, b"0")?;
    }
    Ok(())
}

/// The runtime passes the user namespace, and a network namespace if the command has its own.
fn enter_namespaces(own_network: bool, passed: &mut Passed) -> Result<(), Errno> {
    namespace::enter(passed.next()?, Spaces::USER)?;
    if own_network {
        namespace::enter(passed.next()?, Spaces::NETWORK)?;
    }
    namespace::separate(Spaces::MOUNT.and(Spaces::PROCESS).and(Spaces::IPC))
}

/// Opens the egress listener: a listening socket on the command's loopback device, where the runtime's proxy lets
/// connections to the listed hosts through.
fn open_door(confinement: &Confinement) -> Result<Option<OwnedFd>, Errno> {
    if confinement.network != NetworkKind::Hosts {
        return Ok(None);
    }
    let door = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|error| errno(&error))?;
    Ok(Some(door.into()))
}

/// Puts the port of the egress listener into the command's environment.
fn name_door(order: &mut LaunchRequest, door: Option<&OwnedFd>) -> Result<(), Errno> {
    let Some(door) = door else { return Ok(()) };
    let listener = TcpListener::from(door.try_clone().map_err(|error| errno(&error))?);
    let port = listener.local_addr().map_err(|error| errno(&error))?.port().to_string();
    for variable in std::mem::take(&mut order.door) {
        let text = variable.to_string_lossy().replace(DOOR, &port);
        // Digits replace another text in the variable, so it still contains no zero byte.
        order.environment.extend(CString::new(text));
    }
    Ok(())
}

fn errno(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

/// In `/tmp`, where tmux keeps its sockets by default, a command can neither reach the user's server nor start one. So
/// the command gets another directory for tmux, and does not see the user's tmux session in which the runtime may have
/// been started.
fn name_own_tmux(order: &mut LaunchRequest, confinement: &Confinement) {
    let value = |variable: &CString, name: &str| {
        Some(PathBuf::from(OsStr::from_bytes(variable.as_bytes().strip_prefix(name.as_bytes())?)))
    };
    let is_reached = |socket: &Path| {
        // `TMUX` is the socket, the number of the server and that of the session.
        let text = socket.to_string_lossy();
        let path = Path::new(text.split(',').next().unwrap_or_default());
        confinement.rulings.iter().any(|ruling| ruling.path == path && ruling.access == Access::Write)
    };
    let outer = order.environment.iter().find_map(|variable| value(variable, "TMUX="));
    if outer.is_some_and(|socket| !is_reached(&socket)) {
        let is_outer =
            |variable: &CString| ["TMUX=", "TMUX_PANE="].iter().any(|it| value(variable, it).is_some());
        order.environment.retain(|variable| !is_outer(variable));
    }
    let is_usable = |directory: &Path| {
        let own = directory.join(tmux_directory(rustix::process::getuid()));
        let is_kept =
            confinement.must_not_exist.iter().any(|must_not_exist| own.starts_with(&must_not_exist.path));
        !own.is_absolute()
            || !is_kept
                && ruling_at(&confinement.rulings, &own).is_some_and(|ruling| ruling.access == Access::Write)
    };
    let named = order.environment.iter().find_map(|variable| value(variable, "TMUX_TMPDIR="));
    if named.is_none_or(|directory| !is_usable(&directory)) {
        order.environment.retain(|variable| value(variable, "TMUX_TMPDIR=").is_none());
        order.environment.push(c"TMUX_TMPDIR=/dev/shm".to_owned());
    }
}

/// In a namespace of its own, root keeps the capabilities over files, on which an administrator's programs rely: they
/// reach no file that is not writable there. All other users, and commands without namespaces, get no capability.
fn privileges(world: NamespaceScope) -> Capabilities {
    let is_root = rustix::process::geteuid().is_root();
    if is_root && world == NamespaceScope::Own { Capabilities::OF_FILES } else { Capabilities::NONE }
}

/// The supervisor, as the helper sees it.
struct SupervisorProcess {
    process: Process,
    line: OwnedFd,
}

impl SupervisorProcess {
    /// Sends the supervisor its confinement and the listener of the filter.
    fn hand_over(&self, given: &Given, listener: Option<&OwnedFd>) -> Result<(), Errno> {
        let with: Vec<_> =
            [Some(&given.file), given.sockets.as_ref(), listener].into_iter().flatten().collect();
        let with: Vec<_> = with.into_iter().map(AsFd::as_fd).collect();
        channel::send(&self.line, b"listen", &with, Waiting::Yes)
    }

    /// Tells the supervisor that the command of the session with this mark is about to run.
    fn begin(&self, mark: Option<Halves>) -> Result<(), Errno> {
        channel::send(&self.line, &request::mark_to_bytes(mark), &[], Waiting::Yes)
    }
}

fn start_watcher(links: Links<'_>, world: NamespaceScope) -> Result<SupervisorProcess, Failure> {
    let failed = at(ConfineStep::Watcher);
    let (line, its_line) = channel::pair().map_err(&failed)?;
    let origin = SupervisorOrigin { world, helper: Pid::of_this_process() };
    match fork().map_err(&failed)? {
        Twin::Child => supervisor::run(links, &its_line, origin),
        Twin::Parent(process) => {
            drop(its_line);
            let answer = channel::receive(&line, Waiting::Yes).map_err(&failed)?;
            match Report::read(&answer.bytes) {
                Some(Report::Made) => Ok(SupervisorProcess { process, line }),
                Some(Report::Failed { failure, .. }) => Err(failure),
                _ => Err(failed(Errno::IO)),
            }
        }
    }
}

fn start_command(order: &LaunchRequest, inherited: &[OwnedFd]) -> Result<Process, Stopped> {
    let inherited: Vec<BorrowedFd<'_>> = inherited.iter().map(AsFd::as_fd).collect();
    let (stdin, stdout, stderr) = (rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr());
    let launch = Launch {
        program: &order.program,
        arguments: &order.arguments,
        environment: &order.environment,
        directory: &order.directory,
        identity: order.identity,
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

fn explain(order: &LaunchRequest, failure: LaunchFailure) -> Stopped {
    let stage = match failure.step {
        SpawnStep::Directory => ConfineStep::Directory,
        SpawnStep::Execute => ConfineStep::Execute,
        SpawnStep::Clone
        | SpawnStep::Session
        | SpawnStep::Terminal
        | SpawnStep::Descriptors
        | SpawnStep::Groups
        | SpawnStep::Limits => ConfineStep::Command,
    };
    let place = match stage {
        ConfineStep::Directory => order.directory.to_string_lossy().into_owned(),
        ConfineStep::Execute => order.program.to_string_lossy().into_owned(),
        _ => format!("{:?}", failure.step).to_lowercase(),
    };
    let uncollected = failure.uncollected.map(Pid::get);
    Stopped { failure: Failure { stage, place, errno: failure.errno }, uncollected }
}
