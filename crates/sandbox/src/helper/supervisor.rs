//! The supervisor: the part of a helper that stays beside the command. In a process namespace of its own it is the
//! init, which inherits orphans and whose end ends every process there; everywhere it answers supervised calls.
//!
//! It holds none of the command's descriptors, has one thread, cannot be inspected, and exits by itself when no process
//! is left that could call. It refuses a call, leaves it to the kernel, or carries it out in the caller's place and
//! with the caller's rights; it never blocks for anything but the next call.

mod waiting;

use self::waiting::{Wait, Waiters};
use super::at;
use super::caller::Caller;
use super::draft::{Draft, MOST_DRAFTS};
use super::emulated::{EmulatedSyscall, Opened, Patience};
use super::judge::{CallDecision, FoldedRules, Judge, OwnTerminals, ReadIndexes};
use super::socket_owners::{Namespaces, SocketOwners};
use super::{Links, NamespaceScope};
use crate::denial::{Denial, Operation};
use crate::request::{self, ConfineStep, Failure, HelperRequest, Report};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::inotify;
use rustix::io::Errno;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::process::exit;
use windlass_sys::channel::{self, Waiting};
use windlass_sys::descriptor;
use windlass_sys::lockdown::filter::{FilterAction, Listening, Program, Rule};
use windlass_sys::lockdown::mount;
use windlass_sys::lockdown::notice::{Listener, Notice};
use windlass_sys::lockdown::number as n;
use windlass_sys::lockdown::privilege::{self, Capabilities};
use windlass_sys::lockdown::unix_sockets::UnixSockets;
use windlass_sys::process::Pid;
use windlass_sys::signal::{self, Signal};

/// Runs the supervisor to its end.
pub(super) fn run(Links { channel, outside }: Links<'_>, line: &OwnedFd, from: SupervisorOrigin) -> ! {
    let kept: Vec<&OwnedFd> =
        [channel, line].into_iter().chain(outside.map(UnixSockets::descriptor)).collect();
    descriptor::keep_only(&kept);
    signal::ignore(&[Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT, Signal::PIPE, Signal::CHLD]);
    let (ready, first) = match prepare(from) {
        Ok(first) => (Report::Made, first),
        Err(failure) => (Report::Failed { failure, uncollected: None }, Pid::new(0)),
    };
    if channel::send(line, &ready.write(), &[], Waiting::Yes).is_err() || ready != Report::Made {
        exit(1);
    }
    let Ok(message) = channel::receive(line, Waiting::Yes) else { exit(1) };
    if message.bytes.is_empty() {
        // The helper has given up.
        exit(1);
    }
    let mut descriptors = message.descriptors.into_iter();
    let confinement = match descriptors.next().and_then(super::read_task) {
        Some(HelperRequest::Confine { confinement, .. }) => *confinement,
        Some(HelperRequest::Prepare(preparation)) => preparation.confinement,
        _ => exit(1),
    };
    let shared = if confinement.shares_sockets { descriptors.next() } else { None };
    let listener = descriptors.next();
    let namespaces = Namespaces {
        own: UnixSockets::of_this_namespace().ok(),
        outside: outside.filter(|_| confinement.own_network),
    };
    let sockets = SocketOwners::new(namespaces, shared, &confinement.authority);
    // A prepared helper waits for its command here, as long as it takes.
    let Ok(begin) = channel::receive(line, Waiting::Yes) else { exit(1) };
    let Some(mark) = request::mark_from_bytes(&begin.bytes) else { exit(1) };
    match listener {
        Some(listener) => {
            let judge = Judge {
                order: &confinement,
                mark,
                first,
                indexes: ReadIndexes::default(),
                sockets,
                terminals: OwnTerminals::default(),
                folded: FoldedRules::default(),
            };
            Watch::new(judge, channel, listener.into()).run();
        }
        // No call is supervised: the process only has to exist until it is killed.
        None => loop {
            let _ = poll(&mut [], None);
        },
    }
    exit(0);
}

/// The circumstances in which a supervisor is started.
pub(super) struct SupervisorOrigin {
    /// Whether it has namespaces of its own.
    pub(super) world: NamespaceScope,
    /// The number that the helper has outside.
    pub(super) helper: Pid,
}

/// Returns the number of the command, where it has namespaces of its own.
fn prepare(SupervisorOrigin { world, helper }: SupervisorOrigin) -> Result<Pid, Failure> {
    let mut first = Pid::new(0);
    if world == NamespaceScope::Own {
        put_process_table().map_err(at(ConfineStep::Processes))?;
        first = count_from(helper);
        keep_settings().map_err(at(ConfineStep::Processes))?;
    }
    privilege::hide_memory().map_err(at(ConfineStep::Watcher))?;
    privilege::gain_nothing().map_err(at(ConfineStep::Watcher))?;
    if world != NamespaceScope::Own {
        // A server outside sees this process where it connects in the command's place, and recognises a confined caller
        // by the number of its filters. The supervisor starts no programs, so a filter that forbids that costs it
        // nothing.
        let starts =
            [n::EXECVE, n::EXECVEAT].map(|number| Rule::always(number, FilterAction::Fail(Errno::PERM)));
        Program::of(&starts).enforce(Listening::No).map_err(at(ConfineStep::Watcher))?;
    }
    let kept = super::privileges(world).and(Capabilities::OF_LOOKING);
    privilege::keep_only(kept).map_err(at(ConfineStep::Privileges))?;
    Ok(first)
}

/// Kernel settings that root may write, in whatever namespace.
const SETTINGS: [&std::ffi::CStr; 5] =
    [c"/proc/sys", c"/proc/sysrq-trigger", c"/proc/irq", c"/proc/bus", c"/proc/fs"];

fn put_process_table() -> Result<(), Errno> {
    mount::process_table()?.put_at(c"/proc")
}

/// Makes the kernel give the next process the number that the helper has outside, and returns the number that it will
/// really get. If the numbers of all commands began at the same value, commands would choose the same names for
/// temporary files, in a directory that many of them share.
fn count_from(helper: Pid) -> Pid {
    const LAST: &str = "/proc/sys/kernel/ns_last_pid";
    // A kernel without this file counts from the supervisor, which is process 1.
    let _ = std::fs::write(LAST, (helper.get() - 1).to_string());
    let last = std::fs::read_to_string(LAST).ok().and_then(|text| text.trim().parse().ok());
    Pid::new(last.unwrap_or(1_u32) + 1)
}

fn keep_settings() -> Result<(), Errno> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    for path in SETTINGS {
        match mount::copy(path) {
            Ok(piece) => {
                piece.set_writing(mount::Writing::Refused)?;
                piece.put_at(path)?;
            }
            Err(Errno::NOENT) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// The loop that answers one command's supervised calls.
struct Watch<'a> {
    judge: Judge<'a>,
    channel: &'a OwnedFd,
    listener: Listener,
    births: Option<OwnedFd>,
    /// The index of the protected name that an inotify watch is for, by the watch's number.
    cradles: HashMap<i32, usize>,
    /// How often each operation was refused, by operation, target and rule.
    told: HashMap<(u8, String, String), Count>,
    /// The number of refusals after the list is full.
    beyond: Count,
    waiters: Waiters,
    /// Files that are being written, by their inotify watches.
    drafts: Vec<(i32, Draft)>,
}

/// The count of a repeated refusal.
#[derive(Default)]
struct Count {
    times: u32,
    told: u32,
}

impl Count {
    /// The count, if it is worth a message: a few are counted exactly, many to a sixteenth.
    fn one_more(&mut self) -> Option<u32> {
        self.times = self.times.saturating_add(1);
        (self.times - self.told > self.told / 16).then(|| {
            self.told = self.times;
            self.told
        })
    }
}

/// Whether an emulated call was completed.
enum Carried {
    Out,
    /// The call has to be judged again.
    Not,
}

/// A call is judged at most so often. If its name changes each time before it is opened, the caller gets `ELOOP`.
const MOST_JUDGEMENTS: usize = 16;
/// More different denials than a reader needs; later ones are only counted.
const MOST_TOLD: usize = 256;
/// A denial must fit into one message.
const LONGEST_TARGET: usize = 1500;

impl<'a> Watch<'a> {
    fn new(judge: Judge<'a>, channel: &'a OwnedFd, listener: Listener) -> Self {
        let order = judge.order;
        // The runtime reads only when a caller asks for denials. Until then every message has to fit; the kernel grants
        // less than this.
        let _ = rustix::net::sockopt::set_socket_send_buffer_size(channel, 1 << 20);
        let births = inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK).ok();
        let mut cradles = HashMap::new();
        for (place, must_not_exist) in order.must_not_exist.iter().enumerate() {
            let flags = inotify::WatchFlags::CREATE | inotify::WatchFlags::MOVED_TO;
            let watch =
                births.as_ref().map(|births| inotify::add_watch(births, &must_not_exist.directory, flags));
            if let Some(Ok(watch)) = watch {
                cradles.insert(watch, place);
            }
        }
        Self {
            judge,
            channel,
            listener,
            births,
            cradles,
            told: HashMap::new(),
            beyond: Count::default(),
            waiters: Waiters::default(),
            drafts: Vec::new(),
        }
    }

    /// Runs until no process is left that could call.
    fn run(mut self) {
        loop {
            let mut fds = vec![PollFd::new(&self.listener, PollFlags::IN)];
            fds.extend(self.births.as_ref().map(|births| PollFd::new(births, PollFlags::IN)));
            fds.extend(self.waiters.awaited());
            match poll(&mut fds, None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => return,
            }
            let asked = fds[0].revents();
            let born = self.births.is_some() && fds[1].revents().contains(PollFlags::IN);
            self.waiters.dismiss();
            if asked.contains(PollFlags::IN) {
                self.answer();
            } else if asked.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
                return self.settle_drafts();
            }
            if born {
                self.look_at_births();
            }
        }
    }

    fn answer(&mut self) {
        let Ok(Some(notice)) = self.listener.next() else { return };
        self.settle_drafts();
        for _ in 0..MOST_JUDGEMENTS {
            match self.judge.answer(&notice) {
                CallDecision::GoOn => return self.listener.go_on(&notice),
                // The caller no longer waits: another process may have its number by now, and the bytes may have been
                // read from that one.
                _ if !self.listener.still_asks(&notice) => return,
                CallDecision::Refuse(errno, denial) => {
                    self.tell(denial);
                    return self.listener.refuse(&notice, errno);
                }
                CallDecision::Fail(errno) => return self.listener.refuse(&notice, errno),
                CallDecision::CarryOut(emulated) => {
                    if let Carried::Out = self.carry_out(&notice, *emulated) {
                        return;
                    }
                }
            }
        }
        self.listener.refuse(&notice, Errno::LOOP);
    }

    fn carry_out(&mut self, notice: &Notice, emulated: EmulatedSyscall) -> Carried {
        let done = Caller::of(notice.pid)
            .and_then(|caller| Ok((caller, emulated.perform(&caller, Patience::None)?)));
        if done.is_ok() {
            let late = self.judge.remove_late_links(&emulated);
            late.into_iter().for_each(|denial| self.tell(denial));
        }
        match (done, emulated) {
            (Ok((_, Opened::Nothing)), _) => self.listener.done(notice),
            (Ok((_, Opened::Count(count))), _) => self.listener.done_with(notice, count),
            (Ok((_, Opened::File(file, heirs))), _) => {
                if !self.judge.order.namespaces {
                    self.judge.terminals.note(&file);
                }
                if let Err(errno) = self.listener.give(notice, file, heirs) {
                    self.listener.refuse(notice, errno);
                }
            }
            (Ok((_, Opened::Draft(file, heirs, draft))), _) => {
                let given = self.keep_draft(*draft).and_then(|()| self.listener.give(notice, file, heirs));
                if let Err(errno) = given {
                    self.listener.refuse(notice, errno);
                }
            }
            (Ok((_, Opened::Pair(pair))), _) => pair.give(&self.listener, notice),
            (Ok((caller, Opened::Later)), emulated) => {
                self.waiters.send(&Wait {
                    listener: &self.listener,
                    notice,
                    caller: &caller,
                    emulated: &emulated,
                });
            }
            // The name has become a link after it was judged.
            (Err(Errno::LOOP), EmulatedSyscall::Open(_)) => return Carried::Not,
            (Err(errno), _) => self.listener.refuse(notice, errno),
        }
        Carried::Out
    }

    fn keep_draft(&mut self, draft: Draft) -> Result<(), Errno> {
        let births = self.births.as_ref().filter(|_| self.drafts.len() < MOST_DRAFTS).ok_or(Errno::MFILE)?;
        let watch = inotify::add_watch(births, draft.link(), inotify::WatchFlags::CLOSE_WRITE)?;
        self.drafts.push((watch, draft));
        Ok(())
    }

    /// Judges the written drafts and puts them in place.
    fn settle_drafts(&mut self) {
        let refused: Vec<Denial> = self.drafts.iter_mut().filter_map(|(_, draft)| draft.settle()).collect();
        for denial in refused {
            self.tell(denial);
        }
    }

    /// Reports a denial to the runtime before the caller gets its answer: so the runtime has every denial when the
    /// command has ended. A repeated denial is reported every time at first, and then less and less often.
    fn tell(&mut self, denial: Denial) {
        let key = (denial.operation.code(), denial.target.clone(), denial.rule.clone());
        if self.told.len() >= MOST_TOLD && !self.told.contains_key(&key) {
            if let Some(times) = self.beyond.one_more() {
                self.report(Denial::more(times));
            }
            return;
        }
        if let Some(times) = self.told.entry(key).or_default().one_more() {
            let target: String = denial.target.chars().take(LONGEST_TARGET).collect();
            self.report(Denial { times, target, ..denial });
        }
    }

    fn report(&self, denial: Denial) {
        // The channel is full: the runtime does not read now, and the supervisor must not wait for it.
        let _ = channel::send(self.channel.as_fd(), &Report::Denied(denial).write(), &[], Waiting::No);
    }

    /// A protected name was created although no call was allowed to create it: by a process outside, or by one inside
    /// that bound a socket to it in a race. It is reported and left alone.
    fn look_at_births(&mut self) {
        let Some(births) = &self.births else { return };
        let mut space = [MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(births, &mut space);
        let (mut born, mut closed) = (Vec::new(), Vec::new());
        while let Ok(event) = reader.next() {
            closed.push(event.wd());
            let Some(place) = self.cradles.get(&event.wd()) else { continue };
            let directory = &self.judge.order.must_not_exist[*place].directory;
            let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes())).unwrap_or_default();
            let path = directory.join(name);
            let found = self.judge.order.must_not_exist.iter().find(|it| it.path == path);
            born.extend(found.map(|must_not_exist| Denial {
                operation: Operation::Create,
                target: path.display().to_string(),
                rule: format!(
                    "{}; it has come into being all the same, from outside or as a socket",
                    must_not_exist.origin
                ),
                times: 1,
            }));
        }
        self.settle_drafts();
        self.drafts.retain(|(watch, _)| !closed.contains(watch));
        for denial in born {
            self.tell(denial);
        }
    }
}
