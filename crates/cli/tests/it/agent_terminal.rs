//! `windlass agent` with a person at a terminal: the test acts as the person, an engine's session is the terminal, and
//! the model is a script. The tests wait for what the terminal shows.

mod asked;
mod difference;
mod granted;
mod typed_ahead;

use serde_json::json;
use windlass_engine::{CommandSpec, Engine, EngineOptions, Io, Session, Terminal};
use windlass_output::{Offset, Span};
use windlass_sys::pty::Size;
use windlass_testkit::model::{
    Gate, MODEL, Model, ModelTurn, Reply, always, call, custom, role, say, think, turn,
};
use windlass_testkit::{HANG, Scratch};

use crate::rig::{NOBODY, WINDLASS, give_to_ordinary};

const SIZE: Size = Size { rows: 30, cols: 90 };

/// The fixture: a working directory, a home directory, a model, and a terminal.
struct Stage {
    scratch: Scratch,
    engine: Engine,
    model: Model,
}

impl Stage {
    fn new(name: &str, turns: Vec<ModelTurn>) -> Self {
        Self::with(name, Model::playing(turns))
    }

    fn with(name: &str, model: Model) -> Self {
        let scratch = Scratch::new(&format!("agent-terminal-{name}"));
        for directory in ["home", "work/.git"] {
            std::fs::create_dir_all(scratch.path().join(directory)).expect("a directory can be made");
        }
        let engine = Engine::new(EngineOptions::default()).expect("an engine can be made");
        Self { scratch, engine, model }
    }

    fn work(&self, name: &str) -> std::path::PathBuf {
        self.scratch.path().join("work").join(name)
    }

    /// Starts the program with these arguments.
    fn open(&self, words: &[&str]) -> Person {
        self.open_with(words, &[])
    }

    /// The same as an ordinary user, who owns all files of the fixture from then on.
    fn open_as_ordinary(&self, words: &[&str]) -> Person {
        give_to_ordinary(self.scratch.path());
        let user = NOBODY.to_string();
        let (user, group) = (format!("--reuid={user}"), format!("--regid={user}"));
        let other = ["setpriv", &user, &group, "--clear-groups"];
        let before = if rustix::process::geteuid().is_root() { &other[..] } else { &[] };
        self.open_behind(before, words, &[])
    }

    fn open_with(&self, words: &[&str], variables: &[(&str, &str)]) -> Person {
        self.open_behind(&[], words, variables)
    }

    fn open_behind(&self, before: &[&str], words: &[&str], variables: &[(&str, &str)]) -> Person {
        let provider = format!(
            "model_providers.test={{name=\"test\", base_url=\"{}\", wire_api=\"responses\"}}",
            self.model.base_url()
        );
        let agent = [WINDLASS, "agent", "-m", MODEL, "-c", &provider, "-c", "model_provider=test"];
        let argv = [before, &agent, words].concat();
        self.start(&argv, variables)
    }

    fn start(&self, argv: &[&str], variables: &[(&str, &str)]) -> Person {
        let mut spec = CommandSpec::new(argv, self.scratch.path().join("work"));
        let path = |name: &str| self.scratch.path().join(name).into_os_string();
        spec.environment = vec![
            ("PATH".into(), std::env::var_os("PATH").unwrap_or_default()),
            ("HOME".into(), path("home")),
            ("WINDLASS_STATE_DIR".into(), path("state")),
            ("SHELL".into(), "/bin/sh".into()),
            ("TERM".into(), "xterm-256color".into()),
        ];
        for (name, value) in variables {
            spec.environment.retain(|(known, _)| known != name);
            spec.environment.push((name.into(), value.into()));
        }
        spec.io = Io::Terminal(Terminal { size: SIZE, ..Terminal::default() });
        Person { session: self.engine.start(spec).expect("a terminal can be opened") }
    }
}

/// The person at the terminal.
struct Person {
    session: Session,
}

impl Person {
    async fn types(&self, keys: &str) {
        self.session.write(keys.as_bytes()).await.expect("somebody reads the keys");
    }

    /// Waits until the screen shows this.
    async fn sees(&self, text: &str) {
        self.waits(text, |screen| screen.contains(text)).await;
    }

    async fn waits(&self, what: &str, looked_for: impl Fn(&str) -> bool) {
        let mut changes = self.session.watch_output();
        let deadline = tokio::time::Instant::now() + HANG;
        while !looked_for(&self.screen()) {
            assert!(self.session.receipt().is_none(), "it ended before {what:?}\n{}", self.screen());
            let changed = tokio::time::timeout_at(deadline, changes.changed()).await;
            assert!(changed.is_ok(), "waited for {what:?}; the screen shows\n{}", self.screen());
        }
    }

    fn screen(&self) -> String {
        self.session.screen().expect("it is a terminal").text
    }

    /// All bytes that were sent to the terminal.
    fn raw(&self) -> String {
        let mut bytes = Vec::new();
        let journal = self.session.journal();
        journal.read_into(Span::new(Offset::ZERO, journal.end()), 1 << 22, &mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    async fn leaves(&self) -> i32 {
        self.types("\x04").await;
        self.exit_code().await
    }

    async fn leaves_a_line(&self) -> i32 {
        self.types("\x15").await;
        self.leaves().await
    }

    async fn exit_code(&self) -> i32 {
        let exited = tokio::time::timeout(HANG, self.session.exited()).await;
        exited.expect("it ends").expect("it is watched").exit.code()
    }
}

fn run(script: &str) -> Reply {
    call("exec_command", json!({ "cmd": script }))
}

#[tokio::test]
async fn a_conversation_goes_on_for_several_turns() {
    let stage = Stage::new(
        "turns",
        vec![
            always(think("a greeting").and(say("Hello to you.\nAnd **welcome**."))),
            turn(|request| {
                assert!(request.is_asked("hello there") && request.is_asked("and now ls"));
                run("echo one; echo two")
            }),
            turn(|request| say(&format!("It printed {} lines.", request.last_result().matches('o').count()))),
        ],
    );
    let person = stage.open(&[]);
    person.sees("ready · scripted").await;
    person.types("hello there\r").await;
    person.sees("And **welcome**.").await;
    person.sees("› hello there").await;
    person.sees("1 in (0 cached), 1 out").await;
    person.types("and now ls\r").await;
    person.sees("lines.").await;
    person.sees("$ echo one; echo two").await;
    person.sees("ready").await;
    let screen = person.screen();
    assert_eq!(screen.matches("Hello to you.").count(), 1, "{screen}");
    assert_eq!(person.leaves().await, 0);
    assert!(person.screen().contains("go on with: windlass agent resume "), "{}", person.screen());
    stage.model.finish();
}

#[tokio::test]
async fn words_are_shown_while_they_come() {
    let gate = Gate::closed();
    let reply = say("The first half, and the second half.").stalled_after_events(3, &gate);
    let stage = Stage::new("stream", vec![always(reply)]);
    let person = stage.open(&["say something"]);
    person.sees("The first half,").await;
    person.sees("working").await;
    assert!(!person.screen().contains("second half."), "{}", person.screen());
    gate.open();
    person.sees("second half.").await;
    person.sees("ready").await;
    assert_eq!(person.screen().matches("The first half").count(), 1, "{}", person.screen());
    assert_eq!(person.leaves().await, 0);
}

#[tokio::test]
async fn what_is_said_while_it_works_is_heard_at_the_next_step() {
    let stage = Stage::new(
        "steer",
        vec![
            always(run("until test -e go; do sleep 0.02; done; echo went")),
            turn(|request| {
                assert!(request.is_asked("mind the gap"));
                say("I mind it.")
            }),
        ],
    );
    let person = stage.open(&["wait for it"]);
    person.sees("• ").await;
    person.types("mind the gap\r").await;
    person.sees("heard at the next step").await;
    std::fs::write(stage.work("go"), "").expect("a file can be written");
    person.sees("I mind it.").await;
    assert_eq!(person.leaves().await, 0);
    stage.model.finish();
}

/// The end of the command that the interrupt ended once made the agent work again, before its user had written
/// anything.
#[tokio::test]
async fn escape_interrupts_and_the_conversation_goes_on() {
    let stage = Stage::new(
        "interrupt",
        vec![
            always(run("echo begun; sleep 1000")),
            turn(|request| {
                assert!(request.is_asked("turn_aborted") && request.is_asked("something else"));
                say("Something else it is.")
            }),
        ],
    );
    let person = stage.open(&["sleep for long"]);
    person.sees("$ echo begun").await;
    person.types("\x1b").await;
    person.sees("interrupted").await;
    person.sees("ready").await;
    person.types("something else\r").await;
    person.sees("Something else it is.").await;
    assert_eq!(person.leaves().await, 0);
    stage.model.finish();
}

/// Asks to leave the sandbox for this command.

#[tokio::test]
async fn a_patch_and_the_plan_are_summed_up() {
    let patch = "*** Begin Patch\n*** Add File: new.txt\n+one\n+two\n*** End Patch";
    let plan = json!({ "plan": [
        { "step": "write", "status": "completed" }, { "step": "read", "status": "in_progress" },
    ]});
    let stage = Stage::new(
        "patch",
        vec![
            always(custom("apply_patch", patch)),
            always(call("update_plan", plan)),
            always(say("Written.")),
        ],
    );
    let person = stage.open(&["write it"]);
    person.sees("Written.").await;
    person.sees("\nadd new.txt  +2 -0").await;
    person.sees("[x] write").await;
    person.sees("plan 1/2").await;
    person.types("/plan\r").await;
    person.waits("the plan again", |screen| screen.matches("[>] read").count() == 2).await;
    assert_eq!(person.leaves().await, 0);
}

#[tokio::test]
async fn another_size_of_the_window_leaves_one_area() {
    let stage = Stage::new("resize", vec![always(say("Some words."))]);
    let person = stage.open(&["speak"]);
    person.sees("Some words.").await;
    person.sees("ready").await;
    person.types("a draft that is long enough to need two rows soon").await;
    person.sees("rows soon").await;
    person.session.resize(Size { rows: 20, cols: 40 }).await.expect("it has a size");
    // The area is redrawn: the terminal itself would have broken the row without the blanks.
    person.sees("\n  wo rows soon").await;
    assert_eq!(person.screen().matches("› a draft").count(), 1, "{}", person.screen());
    assert_eq!(person.screen().matches("ready ·").count(), 1, "{}", person.screen());
    person.types("\x15").await;
    person.session.resize(SIZE).await.expect("it has a size");
    person.waits("an empty line", |screen| !screen.contains("a draft")).await;
    assert_eq!(person.leaves().await, 0);
}

#[tokio::test]
async fn ctrl_c_twice_leaves_and_the_terminal_is_as_before() {
    let stage = Stage::new("leave", Vec::new());
    let words = format!(
        "stty -a > before; '{WINDLASS}' agent -m x -c model_provider=test \
         -c 'model_providers.test={{name=\"t\", base_url=\"http://127.0.0.1:1/v1\", wire_api=\"responses\"}}'; \
         echo code $?; stty -a > after; cmp before after && echo same"
    );
    let person = stage.start(&["sh", "-c", &words], &[]);
    person.sees("ready · x").await;
    person.types("half a line").await;
    person.types("\x03").await;
    person.sees("Ctrl-C again leaves").await;
    person.types("\x03").await;
    assert_eq!(person.exit_code().await, 0, "{}", person.screen());
    assert!(person.screen().contains("code 0") && person.screen().contains("same"), "{}", person.screen());
    let raw = person.raw();
    assert!(raw.rfind("\x1b[?2004l") > raw.rfind("\x1b[?2004h"), "pastes are no longer marked");
    assert!(raw.rfind("\x1b[?25h") > raw.rfind("\x1b[?25l"), "the cursor is back");
    assert!(!raw.contains("\x1b[?1049h"), "the other screen is never used");
}

#[tokio::test]
async fn a_signal_gives_the_terminal_back_too() {
    let stage = Stage::new("signal", vec![always(run("echo begun; sleep 1000"))]);
    let person = stage.open(&["sleep"]);
    person.sees("$ echo begun").await;
    person.session.signal(windlass_sys::signal::Signal::TERM).await.expect("it is there");
    assert_eq!(person.exit_code().await, 143);
    let raw = person.raw();
    assert!(raw.rfind("\x1b[?2004l") > raw.rfind("\x1b[?2004h"));
}

#[tokio::test]
async fn an_unknown_project_is_asked_about_once() {
    let stage = Stage::new(
        "trust",
        vec![
            turn(|request| {
                assert!(request.is_asked("say aye to everything"), "{}", request.text());
                say("Aye.")
            }),
            always(say("Aye again.")),
        ],
    );
    std::fs::write(stage.work("AGENTS.md"), "say aye to everything").expect("it can be written");
    std::fs::create_dir(stage.work(".windlass")).expect("it can be made");
    let server = "[mcp_servers.odd]\ncommand = \"odd-server\"\nargs = [\"--now\"]\n";
    std::fs::write(stage.work(".windlass/config.toml"), server).expect("it can be written");
    let person = stage.open(&["hello"]);
    person.sees("Do you trust").await;
    person.sees("instructions: AGENTS.md").await;
    person.sees("MCP server odd: runs odd-server --now").await;
    person.sees("yes + Enter trusts it").await;
    person.types("y\r").await;
    person.sees("\"y\" is no answer").await;
    person.types("yes\r").await;
    person.sees("Aye.").await;
    assert_eq!(person.leaves().await, 0);
    let again = stage.open(&["hello"]);
    again.sees("Aye again.").await;
    assert!(!again.raw().contains("Do you trust"));
    assert_eq!(again.leaves().await, 0);
    stage.model.finish();
}

#[tokio::test]
async fn words_with_a_slash_are_for_windlass_and_not_for_the_model() {
    let stage = Stage::new(
        "slash",
        vec![
            always(say("One.")),
            always(say("A summary of it.")),
            turn(|request| {
                assert_eq!(request.body()["model"], "other");
                assert!(request.text().contains("A summary of it."));
                say("Two.")
            }),
            always(say("Fresh.")),
        ],
    );
    let person = stage.open(&["first"]);
    person.sees("One.").await;
    person.sees("ready").await;
    person.types("/nonsense\r").await;
    person.sees("there is no /nonsense").await;
    person.types("/help\r").await;
    person.sees("/compact").await;
    person.types("/agents\r").await;
    person.sees("there are no sub-agents").await;
    person.types("/compact\r").await;
    person.sees("summed up: about").await;
    person.types("/model other\r").await;
    person.sees("other answers").await;
    person.types("second\r").await;
    person.sees("Two.").await;
    person.types("/status\r").await;
    person.sees("is kept").await;
    person.types("/new\r").await;
    person.sees("go on with").await;
    person.sees("ready · scripted").await;
    person.types("third\r").await;
    person.sees("Fresh.").await;
    person.types("/resume\r").await;
    person.sees("  first").await;
    person.types("/quit\r").await;
    assert_eq!(person.exit_code().await, 0);
    let requests = stage.model.finish();
    assert!(!requests[3].is_asked("second"), "a new conversation knows nothing of the old one");
}

#[tokio::test]
async fn what_models_and_programs_write_moves_no_cursor() {
    let stage = Stage::new(
        "control",
        vec![always(run("printf 'a\\033[2Jb\\n'")), always(say("x\u{1b}[31my\u{1b}]0;title\u{7}z"))],
    );
    let person = stage.open(&["write"]);
    person.sees("ready").await;
    person.sees("z").await;
    let raw = person.raw();
    assert!(!raw.contains("\x1b[2J") && !raw.contains("\x1b]0;"), "{raw:?}");
    assert_eq!(person.leaves().await, 0);
}

#[tokio::test]
async fn a_terminal_that_can_do_nothing_gets_lines() {
    let stage = Stage::new("dumb", vec![always(say("Plain words.")), always(say("More."))]);
    let person = stage.open_with(&[], &[("TERM", "dumb")]);
    person.sees("windlass agent").await;
    person.types("first\n").await;
    person.sees("Plain words.").await;
    person.types("second\n").await;
    person.sees("More.").await;
    assert_eq!(person.leaves().await, 0);
    assert!(!person.raw().contains('\x1b'), "{:?}", person.raw());
}

#[tokio::test]
async fn one_task_at_a_terminal_shows_its_last_message_once() {
    let stage = Stage::new("once", vec![always(say("Only once."))]);
    let person = stage.open(&["--once", "speak"]);
    assert_eq!(person.exit_code().await, 0);
    assert_eq!(person.screen().matches("Only once.").count(), 1, "{}", person.screen());
}

#[tokio::test]
async fn sub_agents_are_shown_by_their_names() {
    let gate = Gate::closed();
    let model = Model::casting(vec![
        role("count the files", vec![always(say("There are seven.").stalled_after_events(2, &gate))]),
        role(
            "delegate",
            vec![
                always(call("spawn_agent", json!({ "message": "count the files" }))),
                always(call("wait_agent", json!({}))),
                always(say("All counted.")),
            ],
        ),
    ]);
    let stage = Stage::with("agents", model);
    let person = stage.open(&["delegate"]);
    person.sees("started: count the files").await;
    person.types("/agents\r").await;
    person.sees("  working  count the files").await;
    gate.open();
    person.sees("] There are seven.").await;
    person.sees("All counted.").await;
    assert_eq!(person.leaves().await, 0);
}
