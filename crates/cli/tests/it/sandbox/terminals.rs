//! Work at a terminal, as a table of key strokes and expected output, run through `windlass run --tty`.

use windlass_engine::{CommandSpec, Engine, EngineOptions, Io, Met, PatternText, Session, Terminal, Until};
use windlass_output::{Offset, Pattern, Span, settle};
use windlass_sys::pty::Size;
use windlass_testkit::HANG;

use super::stage::Stage;

/// An action of a person at a terminal.
#[derive(Debug)]
enum Step {
    /// Types these bytes.
    Send(&'static str),
    /// Waits until this pattern is printed, after the match of the previous one.
    Expect(&'static str),
    /// Changes the size of the window.
    Resize(Size),
}
use Step::{Expect, Resize, Send};

/// A task that needs a terminal.
#[derive(Debug)]
struct TerminalTask {
    name: &'static str,
    /// The program and its arguments; without the program the task is skipped.
    command: &'static [&'static str],
    steps: &'static [Step],
}

const TASKS: &[TerminalTask] = &[
    TerminalTask {
        name: "job_control",
        command: &["bash", "--norc", "--noprofile", "-i"],
        steps: &[
            Expect("[$#] "),
            Send("PS1='rea''dy> '\n"),
            Expect("ready> "),
            // The shell reads everything that is typed before it has released the terminal.
            Send("echo u''p; cat\n"),
            Expect("up"),
            Send("hello\n"),
            Expect(r"hello\s+hello"),
            Send("\x1a"),
            Expect("Stopped"),
            Expect("ready> "),
            Send("echo ba''ck; fg\n"),
            // The shell names the job when it hands the terminal over; input before that is lost.
            Expect(r"back\s+cat"),
            Send("again\n"),
            Expect(r"again\s+again"),
            Send("\x04"),
            Expect("ready> "),
            Send("exit 0\n"),
        ],
    },
    TerminalTask {
        name: "interrupt_reaches_the_foreground_only",
        command: &["bash", "--norc", "--noprofile", "-i"],
        steps: &[
            Expect("[$#] "),
            Send("PS1='rea''dy> '\n"),
            Expect("ready> "),
            // Only a program that has answered can certainly be interrupted: a shell that is just starting a child may
            // miss the signal.
            Send("echo be''gun; cat\n"),
            Expect("begun"),
            Send("hello\n"),
            Expect(r"hello\s+hello"),
            Send("\x03"),
            Expect("ready> "),
            Send("echo code $?; exit 0\n"),
            Expect("code 130"),
        ],
    },
    TerminalTask {
        name: "interrupt_in_python",
        command: &["python3", "-q"],
        steps: &[
            Expect(">>> "),
            // One long sleep would miss an interrupt that comes just before it: Python looks for interrupts between
            // steps.
            Send("import time; print('be' + 'gun'); any(time.sleep(0.02) for _ in iter(int, 1))\n"),
            Expect("begun"),
            Send("\x03"),
            Expect("KeyboardInterrupt"),
            Expect(">>> "),
            Send("print(6 * 7)\n"),
            Expect("42"),
            Send("exit()\n"),
        ],
    },
    TerminalTask {
        name: "window_size",
        command: &[
            "sh",
            "-c",
            "stty size; trap 'stty size; exit 0' WINCH; echo ready; while :; do sleep 0.02; done",
        ],
        steps: &[Expect("30 90"), Expect("ready"), Resize(Size { rows: 40, cols: 100 }), Expect("40 100")],
    },
    TerminalTask {
        name: "own_terminal",
        command: &[
            "sh",
            "-c",
            "tty; test -t 0; echo direct > /dev/tty; stty -echo; read -r x; stty echo; echo got $x",
        ],
        steps: &[Expect("/dev/pts/|/dev/console"), Expect("direct"), Send("typed\n"), Expect("got typed")],
    },
    TerminalTask {
        name: "edit_in_vim",
        command: &["vim", "-u", "NONE", "-n", "edited-in-vim"],
        steps: &[Expect("New"), Send("iwritten\x1b:wq\r")],
    },
    TerminalTask {
        name: "page_in_less",
        command: &["less", "tracked"],
        steps: &[Expect("tracked"), Send("q")],
    },
    TerminalTask {
        name: "node_read_eval_print",
        command: &["node"],
        steps: &[Expect("> "), Send("40 + 2\n"), Expect("42"), Send(".exit\n")],
    },
    TerminalTask {
        name: "terminal_in_terminal",
        command: &["script", "-qec", "sh -c 'tty; read -r x; echo inner $x'", "/dev/null"],
        steps: &[Expect("/dev/pts/"), Send("typed\n"), Expect("inner typed")],
    },
    TerminalTask {
        name: "tmux",
        command: &["env", "TMUX_TMPDIR=tasks", "tmux", "-f", "/dev/null", "-L", "task", "new-session", "sh"],
        steps: &[Expect(r"\[0\]"), Send("echo in''side; exit\n"), Expect("inside"), Expect("exited")],
    },
];

/// Runs all of them under `windlass run --tty`, with these additional flags.
pub(crate) async fn carry_out(stage: &Stage, flags: &[String]) {
    let engine = Engine::new(EngineOptions::default()).expect("an engine can be made");
    std::fs::create_dir_all(stage.path("work/tasks")).expect("a directory for tasks can be made");
    for task in TASKS {
        let program = ["sh", "-c", "command -v \"$0\"", task.command[0]].map(str::to_owned);
        if !stage.command(&program).output().is_ok_and(|output| output.status.success()) {
            println!("{:40} untried: no {}", task.name, task.command[0]);
            continue;
        }
        let session = begin(&engine, stage, flags, task);
        carry_out_one(&session, task).await;
        println!("{:40} works", task.name);
    }
    let edited = std::fs::read_to_string(stage.path("work/edited-in-vim"));
    assert!(edited.is_err() || edited.is_ok_and(|text| text == "written\n"), "vim wrote something else");
}

fn begin(engine: &Engine, stage: &Stage, flags: &[String], task: &TerminalTask) -> Session {
    let mut words = vec![stage.windlass(), "run".to_owned(), "--tty".to_owned()];
    words.extend(flags.iter().cloned());
    words.push("--".to_owned());
    words.extend(task.command.iter().map(|&word| word.to_owned()));
    let mut spec = CommandSpec::new(&words, stage.path("work"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    // Newer Pythons colour their prompt; the plain one is the same everywhere.
    let plain = [("TERM", "xterm-256color"), ("INPUTRC", "/dev/null"), ("PYTHON_BASIC_REPL", "1")];
    let own =
        plain.map(|(name, value)| (name.into(), value.into())).into_iter().chain([("PATH".into(), path)]);
    let staged = stage.environment().iter().map(|(name, value)| (name.into(), value.into()));
    spec.environment = own.chain(staged).collect();
    spec.io = Io::Terminal(Terminal { size: Size { rows: 30, cols: 90 }, ..Terminal::default() });
    engine.start(spec).expect("a terminal can be opened")
}

async fn carry_out_one(session: &Session, task: &TerminalTask) {
    let mut from = Offset::ZERO;
    for step in task.steps {
        match step {
            Send(keys) => {
                session.write(keys.as_bytes().to_vec()).await.expect("keys can be typed");
            }
            Resize(size) => session.resize(*size).await.expect("the window can be resized"),
            Expect(expression) => from = printed(session, task, (expression, from)).await,
        }
    }
    let receipt = tokio::time::timeout(HANG, session.exited()).await;
    let receipt = receipt.unwrap_or_else(|_| panic!("{} does not end\n{}", task.name, text(session)));
    let code = receipt.expect("it is watched").exit.code();
    assert_eq!(code, 0, "{}\n{}", task.name, text(session));
}

/// Waits for a pattern in the bytes from this offset on, and returns the end of the match.
async fn printed(session: &Session, task: &TerminalTask, (expression, from): (&str, Offset)) -> Offset {
    let pattern = Pattern::new(expression).expect("the pattern is one");
    let until = Until { from, text: PatternText::Raw, ..Until::pattern(pattern) };
    let met = tokio::time::timeout(HANG, session.wait(&until)).await;
    match met {
        Ok(Met::Pattern(found)) => found.raw.to(),
        other => panic!("{}: waited for {expression:?}, got {other:?}\n{}", task.name, text(session)),
    }
}

fn text(session: &Session) -> String {
    let mut bytes = Vec::new();
    let journal = session.journal();
    journal.read_into(Span::new(Offset::ZERO, journal.end()), 1 << 20, &mut bytes);
    settle(&bytes, Offset::ZERO).into_text()
}
