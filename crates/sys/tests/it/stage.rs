//! A program on a terminal or on pipes, watched from outside. All processes that it started are gone when the test is
//! over.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;

use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock};
use std::time::Instant;
use windlass_sys::evidence::{InputState, Watch};
use windlass_sys::mark::{Fate, Mark, RuntimeTag};
use windlass_sys::process::{Pid, Process, reap_orphan};
use windlass_sys::signal::Signal;
use windlass_sys::spawn::{Kinship, Launch, Stdio, launch};
use windlass_sys::{pipes, pty, tree};
use windlass_testkit::{Scratch, hang_deadline};

/// How a program is started.
pub(crate) struct Play {
    words: Vec<CString>,
    environment: Vec<CString>,
    directory: PathBuf,
}

impl Play {
    /// The program is looked up in the usual directories.
    pub(crate) fn new<S: AsRef<OsStr>>(words: impl IntoIterator<Item = S>) -> Self {
        let words: Vec<_> = words.into_iter().map(|word| text(word.as_ref())).collect();
        let usual = [
            "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "TERM=xterm",
            "LANG=C.UTF-8",
        ];
        let environment = usual.iter().map(|word| text(OsStr::new(word))).collect();
        Self { words, environment, directory: "/".into() }
    }

    pub(crate) fn shell(script: &str) -> Self {
        Self::new(["/bin/sh", "-c", script])
    }

    /// Sets the directory, which is also its home.
    pub(crate) fn within(mut self, directory: &Path) -> Self {
        self.directory = directory.into();
        self.with(&format!("HOME={}", directory.display()))
    }

    /// Adds `NAME=value` to the environment.
    pub(crate) fn with(mut self, variable: &str) -> Self {
        self.environment.push(text(OsStr::new(variable)));
        self
    }
}

/// A running program.
pub(crate) struct Stage {
    process: Process,
    input: Option<OwnedFd>,
    output: OwnedFd,
    runtime_tag: RuntimeTag,
    mark: Mark,
    /// Everything it printed that was read.
    printed: Vec<u8>,
    watch: Mutex<Watch>,
}

impl Stage {
    pub(crate) fn on_terminal(play: &Play) -> Self {
        let pty = pty::open(pty::Size::default()).expect("a terminal can be opened");
        let (process, runtime_tag, mark) = start(play, Stdio::Terminal { slave: pty.slave.as_fd() });
        Self::new(process, None, pty.master, (runtime_tag, mark))
    }

    pub(crate) fn on_pipes(play: &Play) -> Self {
        let (input, output) = (pipes::to_child().unwrap(), pipes::from_child().unwrap());
        let stdio = Stdio::Pipes {
            stdin: input.theirs.as_fd(),
            stdout: output.theirs.as_fd(),
            stderr: output.theirs.as_fd(),
        };
        let (process, runtime_tag, mark) = start(play, stdio);
        Self::new(process, Some(input.ours), output.ours, (runtime_tag, mark))
    }

    fn new(
        process: Process,
        input: Option<OwnedFd>,
        output: OwnedFd,
        (runtime_tag, mark): (RuntimeTag, Mark),
    ) -> Self {
        let (printed, watch) = (Vec::new(), Mutex::new(Watch::default()));
        Self { process, input, output, runtime_tag, mark, printed, watch }
    }

    pub(crate) fn pid(&self) -> Pid {
        self.process.pid()
    }

    pub(crate) fn process(&self) -> &Process {
        &self.process
    }

    /// The terminal's master, or the read end of the pipe.
    pub(crate) fn output(&self) -> BorrowedFd<'_> {
        self.output.as_fd()
    }

    /// Looks once.
    pub(crate) fn reading(&self) -> InputState {
        let mut watch = self.watch.lock().unwrap();
        watch.note_output(self.printed.len() as u64);
        match &self.input {
            Some(stdin) => watch.pipe(stdin.as_fd(), self.pid()),
            None => watch.terminal(self.output.as_fd(), self.pid()),
        }
    }

    pub(crate) fn is_waiting(&self) -> bool {
        matches!(self.reading(), InputState::Waiting { .. })
    }

    /// Looks, and reads the output, until a process waits for input; returns that process.
    pub(crate) fn wait_until_waiting(&mut self) -> Pid {
        self.try_until_waiting().unwrap_or_else(|last| panic!("nobody waits: {last:?}\n{}", self.text()))
    }

    pub(crate) fn try_until_waiting(&mut self) -> Result<Pid, InputState> {
        let deadline = hang_deadline();
        loop {
            match self.reading() {
                InputState::Waiting { pid } | InputState::Probably { pid, .. } => return Ok(pid),
                last if Instant::now() > deadline => return Err(last),
                // timer: a thread that blocks announces that to no process, so this can only look again.
                last => {
                    if self.read_within(Timespec { tv_sec: 0, tv_nsec: 1_000_000 }) == Progress::End {
                        return Err(last);
                    }
                }
            }
        }
    }

    /// Reads until a text was printed.
    pub(crate) fn wait_for(&mut self, marker: &str) {
        assert!(self.try_wait_for(marker), "{marker:?} was never printed:\n{}", self.text());
    }

    pub(crate) fn try_wait_for(&mut self, marker: &str) -> bool {
        let deadline = hang_deadline();
        while !self.text().contains(marker) {
            if Instant::now() > deadline
                || self.read_within(Timespec { tv_sec: 1, tv_nsec: 0 }) == Progress::End
            {
                return self.text().contains(marker);
            }
        }
        true
    }

    /// Lets a millisecond pass, or less if the program prints something, which is read.
    pub(crate) fn pause(&mut self) {
        // timer: looks must be spread over the program's work, and no event announces that work.
        let _ = self.read_within(Timespec { tv_sec: 0, tv_nsec: 1_000_000 });
    }

    /// Types, or writes into the pipe.
    pub(crate) fn send(&self, bytes: &[u8]) {
        let fd = self.input.as_ref().unwrap_or(&self.output);
        assert_eq!(rustix::io::write(fd, bytes), Ok(bytes.len()));
    }

    /// Reads all available output, without waiting, and returns it.
    pub(crate) fn drain(&mut self) -> Vec<u8> {
        let before = self.printed.len();
        while self.read_once() == Progress::Some {}
        self.printed[before..].to_vec()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.printed).into_owned()
    }

    pub(crate) fn members(&self) -> Vec<Pid> {
        tree::members(self.runtime_tag, |mark| mark == self.mark).iter().map(Process::pid).collect()
    }

    fn read_within(&mut self, time: Timespec) -> Progress {
        let mut fds = [PollFd::new(&self.output, PollFlags::IN)];
        let _ = poll(&mut fds, Some(&time));
        self.read_once()
    }

    fn read_once(&mut self) -> Progress {
        let mut chunk = [0; 4096];
        match rustix::io::read(&self.output, &mut chunk) {
            Ok(0) | Err(Errno::IO) => Progress::End,
            Ok(count) => {
                self.printed.extend_from_slice(&chunk[..count]);
                Progress::Some
            }
            Err(_) => Progress::None,
        }
    }
}

/// The result of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    Some,
    None,
    End,
}

impl Drop for Stage {
    fn drop(&mut self) {
        loop {
            let members = tree::members(self.runtime_tag, |mark| mark == self.mark);
            if members.is_empty() {
                break;
            }
            for member in members {
                let _ = member.signal(Signal::KILL);
                let mut fds = [PollFd::new(&member, PollFlags::IN)];
                let _ = poll(&mut fds, None);
                if member.pid() != self.process.pid() {
                    reap_orphan(member.pid());
                }
            }
        }
        let _ = self.process.reap_blocking();
    }
}

fn start(play: &Play, stdio: Stdio<'_>) -> (Process, RuntimeTag, Mark) {
    static ADOPTION: OnceLock<tree::Adoption> = OnceLock::new();
    ADOPTION.get_or_init(tree::adopt_orphans);
    let runtime_tag = RuntimeTag::generate();
    let mark = runtime_tag.mark(1, Fate::WithRuntime);
    let program = find(&play.words[0]);
    let directory = text(play.directory.as_os_str());
    let launched = launch(&Launch {
        program: &program,
        arguments: &play.words,
        environment: &play.environment,
        directory: &directory,
        identity: None,
        stdio,
        mark: Some((runtime_tag, mark)),
        open_files: None,
        limits: windlass_sys::limits::ProcessLimits::default(),
        groups: &[],
        passed: &[],
        kinship: Kinship::Child,
    });
    (launched.unwrap_or_else(|failure| panic!("{program:?}: {failure}")), runtime_tag, mark)
}

fn find(name: &CString) -> CString {
    let name = Path::new(OsStr::from_bytes(name.as_bytes()));
    // The system's own programs, not those that a version manager put in front of them.
    let directories = ["/usr/bin", "/bin", "/usr/sbin", "/sbin", "/usr/local/bin"].map(Path::new);
    let found = directories.iter().map(|directory| directory.join(name)).find(|path| path.exists());
    text(found.as_deref().unwrap_or(name).as_os_str())
}

/// The program that waits in every possible way, compiled once per test.
pub(crate) fn reader(scratch: &Scratch) -> PathBuf {
    compile_reader(scratch, "reader", &[])
}

/// The same program with the note by which programs of Go are known.
pub(crate) fn reader_of_go(scratch: &Scratch) -> PathBuf {
    compile_reader(scratch, "reader-of-go", &["-DWITH_NOTE_OF_GO"])
}

fn compile_reader(scratch: &Scratch, name: &str, options: &[&str]) -> PathBuf {
    let (source, program) = (scratch.path().join("reader.c"), scratch.path().join(name));
    std::fs::write(&source, include_str!("reader.c")).unwrap();
    let mut compiler = Command::new("gcc");
    let compiled =
        compiler.args(["-Wall", "-pthread"]).args(options).arg("-o").args([&program, &source]).status();
    assert!(compiled.is_ok_and(|status| status.success()), "a C compiler (gcc) compiles the reader");
    program
}

fn text(text: &OsStr) -> CString {
    CString::new(text.as_bytes()).expect("no zero byte in a word")
}
