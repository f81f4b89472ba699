//! Kernel evidence against real processes: every call it decodes, every state that looks like waiting and is not.

use crate::stage::{Play, Stage, reader, reader_of_go};
use rustix::fd::AsFd;
use rustix::io::Errno;
use std::path::Path;
use std::time::{Duration, Instant};
use windlass_sys::evidence::{Doubt, InputKind, InputState, Watch, input_kind, listening};
use windlass_sys::signal::Signal;
use windlass_testkit::{Scratch, hang_deadline};

/// The number of looks in which a verdict must hold.
const LOOKS: u32 = 200;

const WAYS: &[&str] = &[
    "read",
    "readv",
    "pselect6",
    "ppoll",
    "epoll_pwait",
    "epoll_pwait2",
    #[cfg(target_arch = "x86_64")]
    "select",
    #[cfg(target_arch = "x86_64")]
    "poll",
    #[cfg(target_arch = "x86_64")]
    "epoll_wait",
    "thread",
    "child",
];

const OTHER_WAYS: &[&str] = &[
    "poll for output",
    "poll switched off",
    "select for exceptions",
    "epoll for exceptions",
    "select another",
    "another terminal",
    "nothing",
];

fn program_of(program: &Path, way: &str) -> Play {
    Play::new([program.as_os_str(), way.as_ref()])
}

fn stays_waiting(stage: &mut Stage, what: &str) {
    stage.wait_until_waiting();
    for _ in 0..LOOKS {
        assert!(stage.is_waiting(), "{what}: {:?}", stage.reading());
    }
}

/// Ways that give up after a minute: a reader of lines may then print, and one of keys draws again.
const TIMED_WAYS: &[&str] = &[
    "pselect6, a minute",
    "ppoll, a minute",
    #[cfg(target_arch = "x86_64")]
    "poll, a minute",
];

fn stays_probable(stage: &mut Stage, what: &str, expected: Doubt) {
    stage.wait_until_waiting();
    for _ in 0..LOOKS {
        let reading = stage.reading();
        assert!(
            matches!(reading, InputState::Probably { doubt, .. } if doubt == expected),
            "{what}: {reading:?}"
        );
    }
}

fn stays_busy(stage: &mut Stage, what: &str) {
    stage.wait_for("ready");
    for _ in 0..LOOKS {
        assert_eq!(stage.reading(), InputState::Busy, "{what}");
        std::thread::yield_now();
    }
}

#[test]
fn every_way_to_wait_for_a_terminal_is_seen() {
    let scratch = Scratch::new("evidence");
    let program = reader(&scratch);
    for name in WAYS.iter().chain(&["orphan", "new session"]) {
        let mut stage = Stage::on_terminal(&program_of(&program, name));
        stage.wait_for("ready");
        stays_waiting(&mut stage, name);
        stage.send(b"x\n");
    }
}

/// The doubt about a reader that waits in this way, behind these words of a shell; `None` if it waits for sure.
fn doubt_of(program: &Path, name: &str, shell: &str) -> Option<Doubt> {
    let script = format!("{shell} exec {} '{name}'", program.display());
    let mut stage = Stage::on_terminal(&Play::shell(&script));
    stage.wait_for("ready");
    let deadline = hang_deadline();
    loop {
        match stage.reading() {
            InputState::Waiting { .. } => return None,
            InputState::Probably { doubt, .. } => return Some(doubt),
            reading => assert!(Instant::now() < deadline, "{name}: {reading:?}"),
        }
        stage.pause();
    }
}

/// The other waits of a reader and of its threads, and the reason that each gives.
#[test]
fn a_reader_in_doubt_is_probable_and_the_reason_is_told() {
    let scratch = Scratch::new("evidence");
    let program = reader(&scratch);
    let check = |name: &str, shell: &str, expected: Option<Doubt>| {
        let found = doubt_of(&program, name, shell);
        assert_eq!(found, expected, "{name} {shell}");
    };
    let (lines, keys) = ("", "stty -icanon -echo;");
    for name in ["idle timer", "listener", "pair of sockets"] {
        check(name, lines, None);
        check(name, keys, None);
    }
    for name in TIMED_WAYS {
        check(name, lines, Some(Doubt::Timer));
        check(name, keys, None);
        check(name, "stty -echo;", None);
    }
    check("armed timer", lines, Some(Doubt::Timer));
    check("armed timer", keys, None);
    check("connection", lines, Some(Doubt::Connection));
    check("connection", keys, Some(Doubt::Connection));
    check("sleeping thread", lines, Some(Doubt::ThreadTimer));
    for name in ["spare thread", "spare thread of Go"] {
        check(name, lines, Some(Doubt::ThreadTimer));
        check(name, keys, None);
    }
    assert_eq!(doubt_of(&reader_of_go(&scratch), "spare thread of Go", lines), None);
    assert_eq!(doubt_of(&reader_of_go(&scratch), "spare thread", lines), Some(Doubt::ThreadTimer));
    check("main thread that gives up", lines, Some(Doubt::ThreadTimer));
    check("sleeping main thread", keys, Some(Doubt::ThreadTimer));
    let mut stage = Stage::on_terminal(&program_of(&program, "sleeping main thread"));
    stays_busy(&mut stage, "a main thread that sleeps beside a reader of lines");
}

/// A regression: a thread or a process that is started between two steps of a look was once missed, because the look
/// had counted the threads and children before, and found the reader alone.
#[test]
fn threads_and_children_that_start_during_a_look_are_seen() {
    const ROUNDS: u32 = 150;
    let scratch = Scratch::new("evidence");
    let program = reader(&scratch);
    for name in ["sleeping thread", "forked child that polls"] {
        for round in 0..ROUNDS {
            let stage = Stage::on_terminal(&program_of(&program, name));
            let deadline = hang_deadline();
            // Without a pause, so that looks fall between any two system calls of the program.
            loop {
                match stage.reading() {
                    InputState::Probably { .. } | InputState::Undecided { .. } => break,
                    InputState::Waiting { .. } => panic!("{name}, round {round}: said to wait"),
                    reading => assert!(Instant::now() < deadline, "{name}: {reading:?}"),
                }
            }
        }
    }
}

/// `timeout --foreground` ends its command, and other parents print when their time is over.
#[test]
fn a_clock_of_the_readers_parent_is_a_doubt() {
    let scratch = Scratch::new("evidence");
    let program = reader(&scratch);
    let check = |name: &str, shell: &str, expected: Option<Doubt>| {
        let found = doubt_of(&program, name, shell);
        assert_eq!(found, expected, "{name} {shell}");
    };
    let (lines, keys) = ("", "stty -icanon -echo;");
    check("child", lines, None);
    check("parent with an alarm", lines, Some(Doubt::ParentTimer));
    check("parent with an alarm", keys, Some(Doubt::ParentTimer));
    for name in ["parent that polls", "parent with a timed lock"] {
        check(name, lines, Some(Doubt::ParentTimer));
        check(name, keys, None);
    }
}

#[test]
fn a_process_that_left_the_job_is_a_doubt_where_it_may_print() {
    let scratch = Scratch::new("evidence");
    let program = reader(&scratch);
    let check = |name: &str, shell: &str, expected: Option<Doubt>| {
        let found = doubt_of(&program, name, shell);
        assert_eq!(found, expected, "{name} {shell}");
    };
    let (lines, keys) = ("", "stty -icanon -echo;");
    for name in ["child that left its session", "child that left its group", "child that left, with a pipe"] {
        check(name, lines, Some(Doubt::LeftJob));
        check(name, keys, None);
    }
    for name in ["child that left, with other output", "child that left, and waits", "job of a shell"] {
        check(name, lines, None);
    }
}

/// Signals and children that may make a reader of lines print by the clock.
#[test]
fn a_clock_beside_a_reader_is_a_doubt_where_it_may_make_it_print() {
    let scratch = Scratch::new("evidence");
    let program = reader(&scratch);
    let check = |name: &str, shell: &str, expected: Option<Doubt>| {
        let found = doubt_of(&program, name, shell);
        assert_eq!(found, expected, "{name} {shell}");
    };
    let (lines, keys, hidden) = ("", "stty -icanon -echo;", "stty -echo;");
    for name in ["handler", "handlers of a shell"] {
        check(name, lines, None);
    }
    for name in ["alarm", "posix timer"] {
        check(name, lines, Some(Doubt::Alarm));
        check(name, keys, None);
        check(name, hidden, None);
    }
    for shell in [lines, keys, hidden] {
        check("forked child that polls", shell, Some(Doubt::ProcessTimer));
    }
    check("forked child with other output", lines, None);
    check("forked child that sleeps", keys, Some(Doubt::ProcessTimer));
    let mut stage = Stage::on_terminal(&program_of(&program, "forked child that sleeps"));
    stage.wait_for("ready");
    let deadline = hang_deadline();
    // The looks must happen while both exist.
    while stage.members().len() < 2 {
        assert!(Instant::now() < deadline, "the child was started");
    }
    stays_busy(&mut stage, "a forked child that sleeps beside a reader of lines");
}

#[test]
fn a_terminal_under_its_other_name_is_the_same_terminal() {
    let scratch = Scratch::new("evidence");
    let program = reader(&scratch);
    for name in ["read", "pselect6", "ppoll"] {
        let mut stage =
            Stage::on_terminal(&Play::new([program.as_os_str(), name.as_ref(), "/dev/tty".as_ref()]));
        stays_waiting(&mut stage, name);
    }
}

#[test]
fn every_way_to_wait_for_a_pipe_is_seen() {
    let scratch = Scratch::new("evidence");
    let program = reader(&scratch);
    for name in WAYS.iter().chain(&["splice", "new session"]) {
        let mut stage = Stage::on_pipes(&program_of(&program, name));
        stage.wait_for("ready");
        stays_waiting(&mut stage, name);
        stage.send(b"x");
    }
}

#[test]
fn waiting_for_anything_else_is_busy() {
    let scratch = Scratch::new("evidence");
    let program = reader(&scratch);
    for name in OTHER_WAYS {
        stays_busy(&mut Stage::on_terminal(&program_of(&program, name)), name);
        stays_busy(&mut Stage::on_pipes(&program_of(&program, name)), name);
    }
}

/// The kernel hands typed bytes over in a work queue of its own. Without flushing it, a reader that is about to be
/// woken looks like one that waits.
#[test]
fn nobody_is_said_to_wait_before_the_answer_to_the_last_input_is_there() {
    let mut stage = Stage::on_terminal(&Play::new(["cat"]));
    stage.wait_until_waiting();
    stage.drain();
    let mut looks = 0;
    for round in 0..3000 {
        let line = format!("round {round}");
        stage.send(format!("{line}\n").as_bytes());
        let deadline = hang_deadline();
        while !stage.is_waiting() {
            looks += 1;
            assert!(Instant::now() < deadline, "{line}: {:?}", stage.reading());
        }
        let printed = String::from_utf8(stage.drain()).unwrap();
        assert_eq!(printed, format!("{line}\r\n{line}\r\n"), "echo and copy");
    }
    println!("{looks} looks found the reader busy");
}

#[test]
fn nobody_is_said_to_wait_before_a_pipe_was_answered() {
    let mut stage = Stage::on_pipes(&Play::new(["cat"]));
    stage.wait_until_waiting();
    for round in 0..3000 {
        let line = format!("round {round}\n");
        stage.send(line.as_bytes());
        let deadline = hang_deadline();
        while !stage.is_waiting() {
            assert!(Instant::now() < deadline, "{line}: {:?}", stage.reading());
        }
        assert_eq!(String::from_utf8(stage.drain()).unwrap(), line);
    }
}

/// Each keystroke of these is handled by a program, some of them start others, and some have a dozen threads.
#[test]
fn a_conversation_is_in_step() {
    let rounds = |start: &str, prompt: &str, question: &dyn Fn(u32) -> String| {
        let scratch = Scratch::new("conversation");
        let mut stage = Stage::on_terminal(&Play::shell(start).within(scratch.path()));
        stage.wait_for(prompt);
        stage.wait_until_waiting();
        for round in 0..100 {
            stage.drain();
            let said = stage.text().len();
            stage.send(format!("{}\r", question(round)).as_bytes());
            stage.wait_until_waiting();
            stage.drain();
            let (text, answer) = (stage.text(), format!("<{}>", round + 1000));
            assert!(text[said..].contains(&answer), "{start}: {answer} is not in {:?}", &text[said..]);
        }
    };
    let with_shell = |round| format!("echo \"<$(({round} + 1000))>\"");
    rounds("PS1='prompt> ' exec dash -i", "prompt> ", &with_shell);
    rounds("PS1='prompt> ' exec bash --norc -i", "prompt> ", &with_shell);
    let with_child = |round| format!("/bin/echo \"<$(({round} + 1000))>\" | cat");
    rounds("PS1='prompt> ' exec bash --norc -i", "prompt> ", &with_child);
    let python = |round| format!("print(f'<{{{round} + 1000}}>')");
    rounds("exec python3 -q -i", ">>> ", &python);
    let node = |round| format!("'<' + ({round} + 1000) + '>'");
    rounds("exec node", "> ", &node);
}

/// `script` makes a terminal for the program behind it and always reads its own.
#[test]
fn a_relay_waits_when_the_program_behind_it_does() {
    let relay = |command: &str| Stage::on_terminal(&Play::new(["script", "-qec", command, "/dev/null"]));
    stays_busy(&mut relay("echo ready; sleep 1000; :"), "nobody reads behind the relay");
    let mut stage = relay("echo ready; stty -echo; script -qec cat /dev/null");
    stage.wait_for("ready");
    let reader = stage.wait_until_waiting();
    assert_ne!(reader, stage.pid(), "the reader is behind two relays");
    stage.drain();
    for round in 0..300 {
        stage.send(format!("round {round}\r").as_bytes());
        stage.wait_until_waiting();
        stage.drain();
        let expected = format!("round {round}\r\nround {round}\r\n");
        assert!(stage.text().ends_with(&expected), "{:?} does not end with {expected:?}", stage.text());
    }
}

#[test]
fn input_that_nobody_took_is_not_waited_for() {
    let mut stage = Stage::on_terminal(&Play::shell("echo ready; sleep 1000; cat"));
    stage.wait_for("ready");
    stage.send(b"typed ahead\n");
    for _ in 0..LOOKS {
        assert_eq!(stage.reading(), InputState::Busy);
    }
}

#[test]
fn half_a_line_leaves_its_reader_waiting() {
    let mut stage = Stage::on_terminal(&Play::new(["cat"]));
    stage.wait_until_waiting();
    stage.send(b"half a li");
    stays_waiting(&mut stage, "half a line");
    stage.send(b"ne\n");
    stage.wait_for("half a line\r\nhalf a line\r\n");
}

#[test]
fn the_kind_of_input_follows_the_terminal() {
    let check = |script: &str, expected| {
        let mut stage = Stage::on_terminal(&Play::shell(script));
        stage.wait_for("ready");
        stage.wait_until_waiting();
        assert_eq!(input_kind(stage.output()), Ok(expected), "{script}");
    };
    check("echo ready; cat", InputKind::Line);
    check("stty -echo; echo ready; cat", InputKind::Hidden);
    check("stty raw -echo; echo ready; cat", InputKind::FullScreen);
    check("stty -icanon; echo ready; cat", InputKind::Line);
}

/// Calls that a stop does not end go on afterwards, one of them under another name.
#[test]
fn a_stopped_reader_does_not_wait_until_it_is_continued() {
    let scratch = Scratch::new("evidence");
    let program = reader(&scratch);
    let older: &[&str] = if cfg!(target_arch = "x86_64") { &["select", "poll"] } else { &[] };
    for name in ["read", "pselect6", "ppoll"].iter().chain(older).chain(TIMED_WAYS) {
        let mut stage = Stage::on_terminal(&program_of(&program, name));
        stage.wait_until_waiting();
        stage.process().signal(Signal::STOP).unwrap();
        let deadline = hang_deadline();
        while stage.reading() != InputState::Busy {
            assert!(Instant::now() < deadline, "the signal has stopped it");
        }
        for _ in 0..LOOKS {
            assert_eq!(stage.reading(), InputState::Busy, "{name}");
        }
        stage.process().signal(Signal::CONT).unwrap();
        if TIMED_WAYS.contains(name) {
            stays_probable(&mut stage, name, Doubt::Timer);
        } else {
            stays_waiting(&mut stage, name);
        }
    }
}

#[test]
fn a_sleep_that_was_continued_is_still_a_sleep() {
    for command in ["sleep 1000", "python3 -c 'import threading as t; t.Event().wait(1000)'"] {
        let mut stage = Stage::on_terminal(&Play::shell(&format!("echo ready; exec {command}")));
        stage.wait_for("ready");
        for _ in 0..10 {
            stage.process().signal(Signal::STOP).unwrap();
            stage.process().signal(Signal::CONT).unwrap();
            stays_busy(&mut stage, command);
        }
    }
}

#[test]
fn a_job_of_a_shell_reads_in_its_place() {
    let mut stage = Stage::on_terminal(&Play::new(["bash", "--norc", "-i"]).with("PS1=prompt>"));
    stage.wait_for("prompt>");
    let shell = stage.wait_until_waiting();
    assert_eq!(shell, stage.pid());
    stage.send(b"echo begin; cat\r");
    stage.wait_for("begin\r\n");
    let deadline = hang_deadline();
    let job = loop {
        match stage.wait_until_waiting() {
            // Before it starts the job, the shell itself may read once more.
            pid if pid == shell => assert!(Instant::now() < deadline),
            job => break job,
        }
    };
    assert_ne!(job, shell);
    stage.send(b"\x03");
    stage.wait_for("^C");
    while stage.wait_until_waiting() != shell {
        assert!(Instant::now() < deadline);
    }
}

/// More children than fit into one small read of the kernel's list.
#[test]
fn a_reader_is_found_among_hundreds_of_siblings() {
    let script =
        "i=0; while [ $i -lt 300 ]; do sleep 1000 & i=$((i + 1)); done; echo ready; sh -c 'cat; :'; :";
    let mut stage = Stage::on_terminal(&Play::shell(script));
    stage.wait_for("ready");
    let reader = stage.wait_until_waiting();
    assert_ne!(reader, stage.pid());
    assert!(stage.members().contains(&reader));
}

/// A look holds the terminal's far end for a moment. It must neither hide the end of the terminal nor undo it.
#[test]
fn looking_does_not_change_how_a_terminal_ends() {
    for round in 0..200 {
        let mut stage = Stage::on_terminal(&Play::shell("echo last words"));
        while stage.process().is_alive() {
            stage.reading();
        }
        stage.drain();
        assert_eq!(stage.text(), "last words\r\n", "round {round}");
        for _ in 0..3 {
            assert_eq!(rustix::io::read(stage.output(), &mut [0; 16]), Err(Errno::IO), "round {round}");
            assert_eq!(stage.reading(), InputState::Busy);
        }
    }
}

#[test]
fn looking_leaves_no_descriptor_open() {
    let mut stage = Stage::on_terminal(&Play::new(["cat"]));
    stage.wait_until_waiting();
    let before = windlass_testkit::survivors::open_descriptors();
    for _ in 0..LOOKS {
        stage.reading();
    }
    assert_eq!(windlass_testkit::survivors::open_descriptors(), before);
}

#[test]
fn what_a_session_listens_on_is_found_in_all_its_processes() {
    let scratch = Scratch::new("listening");
    let script = r#"
import os, socket, sys
def bound(family, address):
    s = socket.socket(family, socket.SOCK_STREAM)
    s.bind(address)
    return s
four = bound(socket.AF_INET, ("127.0.0.1", 0)); four.listen()
only_bound = bound(socket.AF_INET, ("127.0.0.1", 0))
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); udp.bind(("127.0.0.1", 0))
client = socket.create_connection(four.getsockname())
print("four", four.getsockname()[1], flush=True)
os.set_inheritable(four.fileno(), True)
if os.fork() == 0:
    four.close()
    if os.fork() == 0:
        six = bound(socket.AF_INET6, ("::1", 0)); six.listen()
        path = bound(socket.AF_UNIX, sys.argv[1]); path.listen()
        abstract = bound(socket.AF_UNIX, "\0" + sys.argv[2]); abstract.listen()
        print("six", six.getsockname()[1], flush=True)
        print("ready", flush=True)
    sys.stdin.read()
sys.stdin.read()
"#;
    let socket = scratch.path().join("a socket");
    let name = windlass_testkit::survivors::token("abstract");
    let play =
        Play::new(["python3".as_ref(), "-c".as_ref(), script.as_ref(), socket.as_os_str(), name.as_ref()]);
    let mut stage = Stage::on_terminal(&play);
    stage.wait_for("ready");
    let port = |word: &str| {
        let text = stage.text();
        let line = text.lines().find_map(|line| line.strip_prefix(word).map(str::trim)).unwrap().to_owned();
        line.parse::<u16>().unwrap()
    };
    let expected = [
        format!("127.0.0.1:{}", port("four")),
        format!("[::1]:{}", port("six")),
        format!("unix:{}", socket.display()),
        format!("unix:@{name}"),
    ];
    let mut found: Vec<_> = listening(&stage.members()).iter().map(ToString::to_string).collect();
    found.sort();
    let mut expected = expected.to_vec();
    expected.sort();
    assert_eq!(found, expected);
    assert_eq!(listening(&[]), []);
}

#[test]
fn who_cannot_be_inspected_is_unknown() {
    let scratch = Scratch::new("evidence");
    let program = reader(&scratch);
    for mut stage in [
        Stage::on_terminal(&program_of(&program, "undumpable")),
        Stage::on_pipes(&program_of(&program, "undumpable")),
    ] {
        stage.wait_for("ready");
        let unknown = InputState::Unknown { pid: stage.pid() };
        assert_eq!(without_rights(|| stage.reading()), unknown);
        // Unread input is proof enough, without a look at any process.
        stage.process().signal(Signal::STOP).unwrap();
        stage.send(b"x\n");
        assert_eq!(without_rights(|| stage.reading()), InputState::Busy);
    }
}

/// Does the work in a thread that has given up root's rights, where it has any: the kernel keeps them per thread.
fn without_rights<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    const NOBODY: libc::uid_t = 65534;
    let thread = || {
        if rustix::process::geteuid().is_root() {
            // SAFETY: the raw call takes three numbers and changes this thread alone, which ends here.
            let answer = unsafe { libc::syscall(libc::SYS_setresuid, NOBODY, NOBODY, NOBODY) };
            assert_eq!(answer, 0, "root may become nobody");
        }
        work()
    };
    std::thread::scope(|scope| scope.spawn(thread).join().expect("the work does not fail"))
}

#[test]
fn a_terminal_nobody_lives_on_has_no_reader() {
    let pty = windlass_sys::pty::open(windlass_sys::pty::Size::default()).unwrap();
    let me = windlass_sys::process::Pid::of_this_process();
    assert_eq!(Watch::default().terminal(pty.master.as_fd(), me), InputState::Busy);
    drop(pty.slave);
    assert_eq!(Watch::default().terminal(pty.master.as_fd(), me), InputState::Busy);
}

/// The CPU time of this thread: that of other programs on the machine does not count.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).expect("time does not run backwards")
}

/// Printed, not judged: machines differ.
#[test]
fn the_price_of_a_look_is_known() {
    let mut stage = Stage::on_terminal(&Play::new(["cat"]));
    stage.wait_until_waiting();
    let price = |what: &str, stage: &Stage| {
        let begin = processor_time();
        let count = (0..LOOKS).filter(|_| stage.is_waiting()).count();
        println!("{what}: {:?} a look ({count} of {LOOKS} waiting)", (processor_time() - begin) / LOOKS);
        count
    };
    assert_eq!(price("waiting on a terminal", &stage), LOOKS as usize);
    let mut busy = Stage::on_terminal(&Play::shell("echo ready; sleep 1000; :"));
    busy.wait_for("ready");
    assert_eq!(price("busy on a terminal", &busy), 0);
    let many = "i=0; while [ $i -lt 100 ]; do sleep 1000 & i=$((i + 1)); done; echo ready; wait";
    let mut many = Stage::on_terminal(&Play::shell(many));
    many.wait_for("ready");
    assert_eq!(price("busy, 101 processes", &many), 0);
    let threads = "import threading as t; e = t.Event(); n = [t.Thread(target=e.wait) for _ in range(100)]
for one in n: one.start()
print('ready', flush=True); e.wait()";
    let mut threads = Stage::on_terminal(&Play::new(["python3", "-c", threads]));
    threads.wait_for("ready");
    assert_eq!(price("busy, 101 threads", &threads), 0);
    let reads = "import threading as t; e = t.Event(); n = [t.Thread(target=e.wait) for _ in range(100)]
for one in n: one.start()
input('ready')";
    let mut reads = Stage::on_terminal(&Play::new(["python3", "-c", reads]));
    reads.wait_until_waiting();
    assert_eq!(price("waiting, 101 threads", &reads), LOOKS as usize);
    let mut pipe = Stage::on_pipes(&Play::new(["cat"]));
    pipe.wait_until_waiting();
    assert_eq!(price("waiting on a pipe", &pipe), LOOKS as usize);
}
