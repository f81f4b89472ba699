//! Records as text: blocks of `key=value` lines, each closed by `end`. Pure: nothing here opens a file.
//!
//! ```text
//! windlass session 1          receipt              forgotten            resized
//! id=1001                     id=1001              id=1001              id=1001
//! name=build                  exit=code 0          end                  at=40960
//! arg=cargo                   cause=itself                              rows=40
//! arg=build                   wall=1203044871                           columns=132
//! ...                         ...                                       end
//! end                         end
//! ```
//!
//! A session's first block is written when it starts, its second when it ends, a third when it is pruned; between them
//! one for each size of its terminal that is not the usual one, with the first byte that was printed at it, and one
//! titled `degraded` when the disk refuses output: readers in other processes have no receipt that says so while the
//! session runs. The blocks of several sessions may follow one another in any order. A block without its `end` was torn
//! and does not count; unknown keys are skipped, so that a field can be added without a new version. Bytes outside
//! printable ASCII, and the backslash, are written `\xNN`: any argument, directory or name reads back as it was. Times
//! are nanoseconds.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::limits::{
    crossed_from, crossed_text, enforced_from, enforced_text, limits_from, limits_lines, peaks_from,
};
use super::record::{PidScope, ProcessKey, SessionRecord, StartRecord};
use crate::{
    Amount, Cause, Degraded, Exit, Lifetime, Offset, PeakMemory, ProcessLine, Receipt, SessionId,
    StreamBytes, TerminalSizes,
};
use windlass_sandbox::{Denial, Operation};
use windlass_sys::mark::Mark;
use windlass_sys::pty::Size;

pub(super) const VERSION: u32 = 1;

const TITLE: &str = "windlass session ";
const RECEIPT: &str = "receipt";
const FORGOTTEN: &str = "forgotten";
const RESIZED: &str = "resized";
const DEGRADED: &str = "degraded";
const END: &str = "end";

/// The parsed contents of a ledger.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Records {
    pub(super) sessions: BTreeMap<SessionId, SessionRecord>,
    /// Sessions that were in it and have been pruned.
    pub(super) forgotten: BTreeSet<SessionId>,
    /// A block was torn.
    pub(super) is_torn: bool,
    /// A later Windlass wrote in it: its version.
    pub(super) unknown: Option<u32>,
}

/// Begins with an empty line, as all blocks do, so that it stands alone even after the rest of a torn one.
pub(super) fn start_block(start: &StartRecord) -> Vec<u8> {
    let mut block = Block::new(&format!("\n{TITLE}{VERSION}"));
    block.line("id", start.id.to_string().as_bytes());
    if let Some(name) = &start.name {
        block.line("name", name.as_bytes());
    }
    for argument in &start.argv {
        block.line("arg", argument.as_bytes());
    }
    if let Some(script) = &start.script {
        block.line("script", script.as_bytes());
    }
    for name in &start.withheld {
        block.line("withheld", name.as_bytes());
    }
    if let Some(owner) = &start.owner {
        block.line("owner", owner.as_bytes());
    }
    block.line("cwd", start.cwd.as_os_str().as_bytes());
    block.line("terminal", if start.terminal { b"yes" } else { b"no" });
    block.line("lifetime", start.lifetime.name().as_bytes());
    if let Some(sandbox) = &start.sandbox {
        block.line("sandbox", sandbox.as_bytes());
    }
    block.line("started", nanos_since_epoch(start.started).to_string().as_bytes());
    block.line("runtime", key_text(start.runtime).as_bytes());
    block.line("root", key_text(start.root).as_bytes());
    if let Some(scope) = start.runtime.scope {
        block.line("scope", format!("{:032x} {}", scope.boot, scope.pid_namespace).as_bytes());
    }
    if let Some(mark) = start.mark {
        block.line("mark", mark.bits().to_string().as_bytes());
    }
    for line in limits_lines(&start.limits) {
        block.line("limit", line.as_bytes());
    }
    block.finish()
}

pub(super) fn receipt_block(id: SessionId, receipt: &Receipt) -> Vec<u8> {
    let mut block = Block::new(&format!("\n{RECEIPT}"));
    block.line("id", id.to_string().as_bytes());
    block.line("exit", exit_text(receipt.exit).as_bytes());
    block.line("cause", cause_text(receipt.cause).as_bytes());
    block.line("wall", nanos_text(receipt.wall).as_bytes());
    block.line("cpu_user", nanos_text(receipt.cpu_user).as_bytes());
    block.line("cpu_system", nanos_text(receipt.cpu_system).as_bytes());
    block.line("peak_memory", memory_text(receipt.peak_memory).as_bytes());
    block.line("stdout", receipt.bytes.stdout.to_string().as_bytes());
    block.line("stderr", receipt.bytes.stderr.to_string().as_bytes());
    block.line("terminal", receipt.bytes.terminal.to_string().as_bytes());
    if receipt.cut_off {
        block.line("cut_off", b"yes");
    }
    if let Some(degraded) = &receipt.degraded {
        block.degraded(degraded);
    }
    block.line("undelivered_input", receipt.undelivered_input.to_string().as_bytes());
    for denial in &receipt.denials {
        block.line("denied", denial_text(denial).as_bytes());
    }
    block.processes("left_running", &receipt.left_running);
    block.processes("ended", &receipt.ended);
    block.processes("remaining", &receipt.remaining);
    for (resource, Amount(peak)) in receipt.peaks.iter() {
        block.line("peak", format!("{} {peak}", resource.name()).as_bytes());
    }
    for enforced in &receipt.enforced {
        block.line("enforced", enforced_text(enforced).as_bytes());
    }
    block.finish()
}

pub(super) fn forgotten_block(id: SessionId) -> Vec<u8> {
    let mut block = Block::new(&format!("\n{FORGOTTEN}"));
    block.line("id", id.to_string().as_bytes());
    block.finish()
}

pub(super) fn size_block(id: SessionId, at: Offset, size: Size) -> Vec<u8> {
    let mut block = Block::new(&format!("\n{RESIZED}"));
    block.line("id", id.to_string().as_bytes());
    block.line("at", at.to_string().as_bytes());
    block.line("rows", size.rows.to_string().as_bytes());
    block.line("columns", size.cols.to_string().as_bytes());
    block.finish()
}

pub(super) fn degraded_block(id: SessionId, degraded: &Degraded) -> Vec<u8> {
    let mut block = Block::new(&format!("\n{DEGRADED}"));
    block.line("id", id.to_string().as_bytes());
    block.degraded(degraded);
    block.finish()
}

pub(super) fn parse(text: &[u8]) -> Records {
    let mut records = Records::default();
    let mut lines = text.split(|byte| *byte == b'\n');
    while let Some(line) = lines.next() {
        match Title::of(line) {
            Some(Title::Unknown(version)) => records.unknown = Some(version),
            // The lines of a torn block are looked at again: another block may begin among them.
            Some(title) => match Fields::until_end(&mut lines.clone()) {
                Some(fields) => records.add(title, &fields),
                None => records.is_torn = true,
            },
            // Lines of blocks already read, the empty ones between them, and the remains of torn ones.
            None => {}
        }
    }
    records
}

impl Records {
    fn add(&mut self, title: Title, fields: &Fields) {
        let added = match title {
            Title::Session => fields.start().map(|start| {
                self.sessions.insert(
                    start.id,
                    SessionRecord {
                        start,
                        receipt: None,
                        sizes: TerminalSizes::default(),
                        degraded: None,
                        unreadable: None,
                    },
                );
            }),
            Title::Resized => fields.id().zip(fields.size()).map(|(id, (at, size))| {
                if let Some(session) = self.sessions.get_mut(&id) {
                    session.sizes.change(at, size);
                }
            }),
            Title::Degraded => fields.id().zip(fields.degraded()).map(|(id, degraded)| {
                if let Some(session) = self.sessions.get_mut(&id) {
                    session.degraded.get_or_insert(degraded);
                }
            }),
            Title::Receipt => fields.id().zip(fields.receipt()).map(|(id, receipt)| {
                if let Some(session) = self.sessions.get_mut(&id) {
                    session.receipt = Some(receipt);
                }
            }),
            Title::Forgotten => fields.id().map(|id| {
                self.sessions.remove(&id);
                self.forgotten.insert(id);
            }),
            Title::Unknown(_) => None,
        };
        self.is_torn |= added.is_none();
    }
}

/// The line a block begins with.
#[derive(Clone, Copy)]
enum Title {
    Session,
    Receipt,
    Forgotten,
    Resized,
    Degraded,
    Unknown(u32),
}

impl Title {
    fn of(line: &[u8]) -> Option<Self> {
        match version(line) {
            Some(VERSION) => Some(Self::Session),
            Some(version) if version > VERSION => Some(Self::Unknown(version)),
            _ if line == RECEIPT.as_bytes() => Some(Self::Receipt),
            _ if line == FORGOTTEN.as_bytes() => Some(Self::Forgotten),
            _ if line == RESIZED.as_bytes() => Some(Self::Resized),
            _ if line == DEGRADED.as_bytes() => Some(Self::Degraded),
            _ => None,
        }
    }
}

fn version(title: &[u8]) -> Option<u32> {
    std::str::from_utf8(title).ok()?.strip_prefix(TITLE)?.parse().ok()
}

/// Lines being written.
struct Block {
    text: Vec<u8>,
}

impl Block {
    fn new(title: &str) -> Self {
        Self { text: format!("{title}\n").into_bytes() }
    }

    fn line(&mut self, key: &str, value: &[u8]) {
        self.text.extend_from_slice(key.as_bytes());
        self.text.push(b'=');
        escape(value, &mut self.text);
        self.text.push(b'\n');
    }

    fn degraded(&mut self, Degraded { at, reason }: &Degraded) {
        self.line("degraded_at", at.get().to_string().as_bytes());
        self.line("degraded", reason.as_bytes());
    }

    fn processes(&mut self, key: &str, processes: &[ProcessLine]) {
        for process in processes {
            self.line(key, process.to_string().as_bytes());
        }
    }

    fn finish(mut self) -> Vec<u8> {
        self.text.extend_from_slice(END.as_bytes());
        self.text.push(b'\n');
        self.text
    }
}

/// Lines that were read, in order, values unescaped.
struct Fields {
    lines: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Fields {
    /// The lines up to `end`; `None` if it never comes or another block begins first. The last piece of a split text
    /// has no newline after it and so proves nothing, not even if it reads `end`.
    fn until_end<'a>(lines: &mut (impl Iterator<Item = &'a [u8]> + Clone)) -> Option<Self> {
        let mut fields = Vec::new();
        while let Some(line) = lines.next() {
            if line == END.as_bytes() {
                let is_whole = lines.clone().next().is_some();
                return is_whole.then_some(Self { lines: fields });
            }
            if Title::of(line).is_some() {
                return None;
            }
            fields.extend(key_and_value(line));
        }
        None
    }

    fn id(&self) -> Option<SessionId> {
        self.number("id").map(SessionId::new)
    }

    fn size(&self) -> Option<(Offset, Size)> {
        let number = |key| self.number(key).and_then(|number| u16::try_from(number).ok());
        Some((Offset::new(self.number("at")?), Size { rows: number("rows")?, cols: number("columns")? }))
    }

    fn start(&self) -> Option<StartRecord> {
        Some(StartRecord {
            id: self.id()?,
            name: self.value("name").and_then(|name| String::from_utf8(name.to_vec()).ok()),
            argv: self.values("arg").map(|argument| OsString::from_vec(argument.to_vec())).collect(),
            script: self.value("script").and_then(|script| String::from_utf8(script.to_vec()).ok()),
            withheld: self
                .values("withheld")
                .map(|name| String::from_utf8_lossy(name).into_owned())
                .collect(),
            owner: self.value("owner").map(|owner| String::from_utf8_lossy(owner).into_owned()),
            cwd: PathBuf::from(OsStr::from_bytes(self.value("cwd")?)),
            terminal: self.text("terminal")? == "yes",
            lifetime: Lifetime::from_name(self.text("lifetime")?)?,
            sandbox: self.value("sandbox").map(|text| String::from_utf8_lossy(text).into_owned()),
            started: time_at(self.text("started")?.parse().ok()?)?,
            runtime: self.key("runtime")?,
            root: self.key("root")?,
            mark: self.number("mark").and_then(Mark::from_bits),
            limits: limits_from(self.texts("limit")),
        })
    }

    fn receipt(&self) -> Option<Receipt> {
        Some(Receipt {
            exit: exit_from(self.text("exit")?)?,
            cause: cause_from(self.text("cause")?)?,
            wall: self.nanos("wall")?,
            cpu_user: self.nanos("cpu_user")?,
            cpu_system: self.nanos("cpu_system")?,
            peak_memory: memory_from(self.text("peak_memory")?)?,
            bytes: StreamBytes {
                stdout: self.number("stdout")?,
                stderr: self.number("stderr")?,
                terminal: self.number("terminal")?,
            },
            cut_off: self.value("cut_off").is_some(),
            degraded: self.degraded(),
            undelivered_input: self.number("undelivered_input")?,
            denials: self.values("denied").filter_map(denial_from).collect(),
            left_running: self.processes("left_running")?,
            ended: self.processes("ended")?,
            remaining: self.processes("remaining")?,
            peaks: peaks_from(self.texts("peak")),
            enforced: self.texts("enforced").filter_map(enforced_from).collect(),
        })
    }

    fn degraded(&self) -> Option<Degraded> {
        let reason = String::from_utf8_lossy(self.value("degraded")?).into_owned();
        Some(Degraded { at: Offset::new(self.number("degraded_at")?), reason })
    }

    fn values<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a [u8]> {
        let matching = self.lines.iter().filter(move |(name, _)| name == key.as_bytes());
        matching.map(|(_, value)| value.as_slice())
    }

    fn texts<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a str> {
        self.values(key).filter_map(|value| std::str::from_utf8(value).ok())
    }

    fn value(&self, key: &str) -> Option<&[u8]> {
        self.lines.iter().find(|(name, _)| name == key.as_bytes()).map(|(_, value)| value.as_slice())
    }

    fn text(&self, key: &str) -> Option<&str> {
        std::str::from_utf8(self.value(key)?).ok()
    }

    fn number(&self, key: &str) -> Option<u64> {
        self.text(key)?.parse().ok()
    }

    /// A process. The scope is a line of its own, the same for all of a session, so that earlier versions read the
    /// rest.
    fn key(&self, key: &str) -> Option<ProcessKey> {
        let (pid, start_ticks) = self.text(key)?.split_once(' ')?;
        let scope = self.text("scope").and_then(scope_from);
        Some(ProcessKey { pid: pid.parse().ok()?, start_ticks: start_ticks.parse().ok()?, scope })
    }

    fn nanos(&self, key: &str) -> Option<Duration> {
        nanos_from(self.text(key)?)
    }

    fn processes(&self, key: &str) -> Option<Vec<ProcessLine>> {
        self.values(key).map(process_from).collect()
    }
}

fn key_and_value(line: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let equals = line.iter().position(|byte| *byte == b'=')?;
    Some((line[..equals].to_vec(), unescape(&line[equals + 1..])?))
}

fn escape(value: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for &byte in value {
        match byte {
            b'\\' | 0..=0x1f | 0x7f.. => {
                out.extend_from_slice(&[
                    b'\\',
                    b'x',
                    DIGITS[usize::from(byte >> 4)],
                    DIGITS[usize::from(byte & 15)],
                ]);
            }
            plain => out.push(plain),
        }
    }
}

fn unescape(mut escaped: &[u8]) -> Option<Vec<u8>> {
    let mut value = Vec::with_capacity(escaped.len());
    while let Some((&byte, rest)) = escaped.split_first() {
        escaped = rest;
        if byte != b'\\' {
            value.push(byte);
            continue;
        }
        let (digits, rest) = escaped.strip_prefix(b"x")?.split_at_checked(2)?;
        value.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
        escaped = rest;
    }
    Some(value)
}

fn key_text(key: ProcessKey) -> String {
    format!("{} {}", key.pid, key.start_ticks)
}

fn scope_from(text: &str) -> Option<PidScope> {
    let (boot, pid_namespace) = text.split_once(' ')?;
    Some(PidScope { boot: u128::from_str_radix(boot, 16).ok()?, pid_namespace: pid_namespace.parse().ok()? })
}

/// Count, operation, target and rule of a denial, with tabs between them; none of them contains a tab.
fn denial_text(denial: &Denial) -> String {
    let plain = |text: &str| text.replace('\t', " ");
    let (target, rule) = (plain(&denial.target), plain(&denial.rule));
    format!("{}\t{}\t{target}\t{rule}", denial.times, denial.operation.name())
}

fn denial_from(text: &[u8]) -> Option<Denial> {
    let text = String::from_utf8_lossy(text);
    let mut parts = text.splitn(4, '\t');
    Some(Denial {
        times: parts.next()?.parse().ok()?,
        operation: Operation::from_name(parts.next()?)?,
        target: parts.next()?.to_owned(),
        rule: parts.next()?.to_owned(),
    })
}

fn exit_text(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("code {code}"),
        Exit::Signal(signal) => format!("signal {signal}"),
        Exit::Unknown => "unknown".into(),
    }
}

fn exit_from(text: &str) -> Option<Exit> {
    if text == "unknown" {
        return Some(Exit::Unknown);
    }
    match text.split_once(' ')? {
        ("code", code) => code.parse().ok().map(Exit::Code),
        ("signal", signal) => signal.parse().ok().map(Exit::Signal),
        _ => None,
    }
}

fn cause_text(cause: Cause) -> String {
    match cause {
        Cause::Itself => "itself".into(),
        Cause::Timeout(after) => format!("timeout {}", after.as_nanos()),
        Cause::Stopped => "stopped".into(),
        Cause::Limit(crossed) => format!("limit {}", crossed_text(&crossed)),
        Cause::Shutdown => "shutdown".into(),
        Cause::Evicted => "evicted".into(),
        Cause::Dropped => "dropped".into(),
    }
}

fn cause_from(text: &str) -> Option<Cause> {
    match text {
        "itself" => Some(Cause::Itself),
        "stopped" => Some(Cause::Stopped),
        "shutdown" => Some(Cause::Shutdown),
        "evicted" => Some(Cause::Evicted),
        "dropped" => Some(Cause::Dropped),
        _ => match text.split_once(' ')? {
            ("timeout", after) => nanos_from(after).map(Cause::Timeout),
            ("limit", crossed) => crossed_from(crossed).map(Cause::Limit),
            _ => None,
        },
    }
}

fn memory_text(memory: PeakMemory) -> String {
    match memory {
        PeakMemory::Exactly(bytes) => format!("exactly {bytes}"),
        PeakMemory::AtMost(bytes) => format!("at-most {bytes}"),
    }
}

fn memory_from(text: &str) -> Option<PeakMemory> {
    match text.split_once(' ')? {
        ("exactly", bytes) => bytes.parse().ok().map(PeakMemory::Exactly),
        ("at-most", bytes) => bytes.parse().ok().map(PeakMemory::AtMost),
        _ => None,
    }
}

fn process_from(line: &[u8]) -> Option<ProcessLine> {
    let (pid, command) = std::str::from_utf8(line).ok()?.split_once(' ')?;
    Some(ProcessLine { pid: pid.parse().ok()?, command: command.to_string() })
}

fn nanos_text(duration: Duration) -> String {
    duration.as_nanos().to_string()
}

fn nanos_from(text: &str) -> Option<Duration> {
    let nanos: u128 = text.parse().ok()?;
    let seconds = u64::try_from(nanos / 1_000_000_000).ok()?;
    Some(Duration::new(seconds, u32::try_from(nanos % 1_000_000_000).ok()?))
}

/// Negative before 1970: a wrong clock must not lose a record.
fn nanos_since_epoch(time: SystemTime) -> i128 {
    let signed = |duration: Duration| i128::try_from(duration.as_nanos()).unwrap_or(i128::MAX);
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => signed(after),
        Err(before) => -signed(before.duration()),
    }
}

fn time_at(nanos: i128) -> Option<SystemTime> {
    let distance = nanos_from(&nanos.unsigned_abs().to_string())?;
    if nanos < 0 { UNIX_EPOCH.checked_sub(distance) } else { UNIX_EPOCH.checked_add(distance) }
}
