//! Passes events in, and compares the permanent lines and the work in progress as text.

use std::time::Duration;

use windlass_agent::StepState;

use super::*;

const WIDTH: usize = 60;

struct Stage {
    view: View,
    began: Instant,
    stays: Vec<String>,
}

impl Stage {
    fn new() -> Self {
        let prices = Prices { input: 1.0, cached_input: 0.5, output: 10.0 };
        let view = View::new((root(), "/src/project".into()), "scripted".into(), Some(prices));
        Self { view, began: Instant::now(), stays: Vec::new() }
    }

    fn at(&mut self, second: u64, agent: &ThreadId, kind: EventKind) -> &mut Self {
        let event = AgentEvent { agent: agent.clone(), kind };
        let lines = self.view.take(&event, self.began + Duration::from_secs(second));
        self.stays.extend(lines.iter().map(Line::text));
        self
    }

    fn tells(&mut self, kind: EventKind) -> &mut Self {
        self.at(0, &root(), kind)
    }

    fn under_way(&self, second: u64, most: usize) -> Vec<String> {
        let rows = self.view.under_way(self.began + Duration::from_secs(second), WIDTH, most);
        rows.iter().map(Line::text).collect()
    }

    fn status(&self, second: u64) -> String {
        self.view.status(self.began + Duration::from_secs(second), WIDTH).text()
    }
}

fn root() -> ThreadId {
    ThreadId::parse("00000000-0000-7000-8000-000000000000").expect("an id")
}

fn child() -> ThreadId {
    ThreadId::parse("00000000-0000-7000-8000-000000000001").expect("an id")
}

fn call(tool: &str) -> CallNote {
    CallNote { id: "c1".into(), tool: tool.into(), about: "src/main.rs".into() }
}

fn command() -> CommandNote {
    CommandNote { id: "c1".into(), script: "cargo test\n--all".into() }
}

fn progress(tail: &[&str]) -> EventKind {
    let tail = tail.iter().map(|line| (*line).to_owned()).collect();
    EventKind::CallProgress { call: "c1".into(), tail, elapsed: Duration::ZERO }
}

fn ended(outcome: CommandOutcome, output: &str) -> EventKind {
    EventKind::CommandEnded { command: command(), outcome, output: output.into() }
}

#[test]
fn a_command_is_one_row_with_its_last_lines_while_it_runs() {
    let mut stage = Stage::new();
    stage.tells(EventKind::TurnStarted).tells(EventKind::CallStarted(call("exec_command")));
    stage.tells(EventKind::CommandStarted(command()));
    // A second later the output is a hundred lines longer: the screen shows its end, not one line of each moment.
    for tail in [&["1", "2", "3"][..], &["two", "three", "four"]] {
        stage.tells(progress(tail));
    }
    assert_eq!(
        stage.under_way(12, 9),
        ["• 12 s $ cargo test … (+1 line)", "    two", "    three", "    four"]
    );
    assert_eq!(stage.under_way(12, 2), ["• 12 s $ cargo test … (+1 line)", "    two"]);
    stage.at(65, &root(), ended(CommandOutcome::Exited(1), "a\nb\n"));
    let note = EventKind::CallEnded {
        call: call("exec_command"),
        ok: true,
        wall: Duration::ZERO,
        answer: String::new(),
    };
    stage.tells(note);
    assert_eq!(stage.stays, ["", "$ cargo test … (+1 line)  exited with 1  1 min 05 s", "  a", "  b"]);
    assert_eq!(stage.under_way(66, 9), Vec::<String>::new());
}

#[test]
fn a_command_that_outlives_its_call_stays_in_sight() {
    let mut stage = Stage::new();
    stage.tells(EventKind::CallStarted(call("exec_command"))).tells(EventKind::CommandStarted(command()));
    let answer = String::new();
    stage.tells(EventKind::CallEnded { call: call("exec_command"), ok: true, wall: Duration::ZERO, answer });
    assert_eq!(stage.under_way(3, 9), ["• 3 s $ cargo test … (+1 line)  in the background"]);
    stage.tells(EventKind::TurnCompleted { turn: Usage::default(), thread: Usage::default() });
    assert_eq!(stage.under_way(3, 9).len(), 1);
    stage.tells(ended(CommandOutcome::Ended, ""));
    assert_eq!(stage.under_way(3, 9).len(), 0);
}

#[test]
fn files_calls_plans_and_warnings_each_leave_their_lines() {
    let mut stage = Stage::new();
    let change = FileChange { path: "/src/project/src/a.rs".into(), kind: "update", added: 3, removed: 1 };
    stage.tells(EventKind::CallStarted(call("apply_patch")));
    stage.tells(EventKind::FilesChanged { call: "c1".into(), changes: vec![change], ok: true });
    let ended = |ok, answer: &str| EventKind::CallEnded {
        call: call("read_file"),
        ok,
        wall: Duration::ZERO,
        answer: answer.into(),
    };
    stage.tells(EventKind::CallStarted(call("read_file"))).tells(ended(true, "text"));
    stage.tells(EventKind::CallStarted(call("read_file"))).tells(ended(false, "no such file\nmore"));
    let step = |text: &str, state| PlanStep { text: text.into(), state };
    stage.tells(EventKind::Plan(vec![
        step("look", StepState::Completed),
        step("do", StepState::InProgress),
        step("check", StepState::Pending),
    ]));
    stage.tells(EventKind::Warning("trying again".into()));
    assert_eq!(
        stage.stays,
        [
            "",
            "update src/a.rs  +3 -1",
            "read_file src/main.rs",
            "read_file src/main.rs  failed: no such file",
            "",
            "[x] look",
            "[>] do",
            "[ ] check",
            "trying again",
        ]
    );
    assert!(stage.status(0).contains("plan 1/3"), "{}", stage.status(0));
}

#[test]
fn words_are_shown_while_they_come_and_stay_once() {
    let mut stage = Stage::new();
    stage.tells(EventKind::TurnStarted).tells(EventKind::Thought("hm, let me see".into()));
    assert_eq!(stage.under_way(0, 9), ["hm, let me see"]);
    stage.tells(EventKind::Text("first line\nand a ".into())).tells(EventKind::Text("second".into()));
    assert_eq!(stage.under_way(0, 9), ["and a second"]);
    assert_eq!(stage.stays, ["", "first line"]);
    stage.tells(EventKind::Message("first line\nand a second".into()));
    assert_eq!(stage.stays, ["", "first line", "and a second"]);
    assert_eq!(stage.under_way(0, 9), Vec::<String>::new());
}

#[test]
fn a_stream_that_breaks_leaves_what_came_and_begins_again() {
    let mut stage = Stage::new();
    stage.tells(EventKind::Text("half".into())).tells(EventKind::Warning("trying again".into()));
    stage.tells(EventKind::Text("whole".into())).tells(EventKind::Message("whole".into()));
    assert_eq!(stage.stays, ["", "half", "trying again", "", "whole"]);
}

#[test]
fn sub_agents_are_named_and_their_state_is_kept() {
    let mut stage = Stage::new();
    let born = EventKind::Born { parent: Some(root()), nickname: "Ada".into(), task: "count files".into() };
    stage.at(0, &child(), born);
    assert_eq!(stage.under_way(0, 9), ["Ada  count files"]);
    assert_eq!(stage.status(0), "1 agent at work, Esc interrupts · scripted");
    stage.at(0, &child(), EventKind::Message("there are\nseven".into()));
    let usage = Usage { input: 1000, output: 100, ..Usage::default() };
    stage.at(0, &child(), EventKind::TurnCompleted { turn: usage, thread: usage });
    assert_eq!(stage.stays, ["", "[Ada] started: count files", "[Ada] there are"]);
    assert_eq!(stage.under_way(0, 9), Vec::<String>::new());
    assert_eq!(stage.view.agents()[0].text(), "Ada  done  count files");
    assert!(stage.status(0).ends_with("100 out, $0.0020"), "{}", stage.status(0));
}

#[test]
fn the_status_says_how_long_it_works_and_for_whom_it_waits() {
    let mut stage = Stage::new();
    assert_eq!(stage.status(0), "ready · scripted");
    stage.tells(EventKind::TurnStarted);
    assert_eq!(stage.status(7), "working 7 s, Esc interrupts · scripted");
    stage.tells(EventKind::Waiting(vec!["agent Ada".into()]));
    assert_eq!(stage.status(8), "waiting for agent Ada 8 s, Esc interrupts · scripted");
    stage.tells(EventKind::TurnInterrupted);
    assert_eq!(stage.status(9), "ready · scripted");
    assert_eq!(stage.stays, ["", "interrupted"]);
}
