//! Additions to an agent's task: skills that the task names, changes since it last worked, and the messages of its
//! scripts; also the argument of the user's `notify` program.

use serde_json::{Value, json};
use windlass_testkit::model::{Invariants, Model, Request, always, custom, say, turn};

use crate::workbench::{More, SECRET, Workbench};

const SKILL: &str = "---\nname: deploy\ndescription: ships it\n---\nFirst ring the bell.\n";

#[test]
fn a_skill_that_the_task_names_comes_whole_before_it() {
    let model = Model::playing(vec![always(say("done")), always(say("done"))]);
    let bench = Workbench::new("told-skill", &model, &More::default());
    bench.write(".agents/skills/deploy/SKILL.md", SKILL);
    assert_eq!(bench.agent(&["please $deploy it for $5"]).code, 0);
    assert_eq!(bench.agent(&["please deploy it"]).code, 0);
    let requests = model.finish();
    let users: Vec<Vec<String>> = requests.iter().map(Request::user_texts).collect();
    let [.., skill, task] = users[0].as_slice() else { panic!("{users:?}") };
    assert!(skill.starts_with("<skill>") && skill.contains("First ring the bell."), "{skill}");
    assert_eq!(task, "please $deploy it for $5");
    assert!(!users[1].iter().any(|text| text.contains("ring the bell")), "{users:?}");
}

#[test]
fn a_conversation_that_goes_on_elsewhere_hears_what_changed_at_its_end() {
    let model = Model::playing(vec![always(say("one")), always(say("two")), always(say("three"))]);
    let bench = Workbench::new("told-resume", &model, &More::default());
    assert_eq!(bench.agent(&["-s", "read-only", "first"]).code, 0);
    assert_eq!(bench.agent(&["resume", "--last", "-s", "workspace-write", "second"]).code, 0);
    assert_eq!(bench.agent(&["resume", "--last", "-s", "workspace-write", "third"]).code, 0);
    let requests = model.finish();
    Invariants::strict().check(&requests);
    let users = requests[1].user_texts();
    let [.., changed, task] = users.as_slice() else { panic!("{users:?}") };
    assert_eq!(task, "second");
    assert!(changed.contains("<permissions>workspace-write</permissions>"), "{changed}");
    assert!(!changed.contains("<cwd>"), "only what changed: {changed}");
    let users = requests[2].user_texts();
    assert_eq!(users[users.len() - 2..], ["second", "third"], "nothing changed since");
}

#[test]
fn what_a_script_says_on_the_way_reaches_the_model_with_the_next_request() {
    let model = Model::playing(vec![
        always(custom("exec", "notify('half way'); text('the end');")),
        turn(|request: &Request| {
            let told = request.user_texts().last().cloned().unwrap_or_default();
            say(&format!("{told} after {}", request.last_result()))
        }),
    ]);
    let more = More { tables: "[tools]\ncode_mode = true\n", ..More::default() };
    let bench = Workbench::new("told-notice", &model, &more);
    let seen = bench.agent(&["run it"]);
    assert_eq!(seen.code, 0, "{seen:?}");
    assert!(
        seen.stdout.contains("<script_notification>\nhalf way\n</script_notification> after"),
        "{seen:?}"
    );
    assert!(seen.stdout.contains("the end"), "{seen:?}");
    Invariants::strict().check(&model.finish());
}

#[test]
fn the_users_own_program_is_told_of_a_turn_that_is_over_and_gets_no_key() {
    let model = Model::playing(vec![always(say("all \"done\""))]);
    // It runs in an empty directory, because the project is not trusted.
    let script = "printf '%s' \"$1\" > ~/told.json; env > ~/told.env; ls > ~/told.files";
    let keys = format!("notify = [\"/bin/sh\", \"-c\", {script:?}, \"notify\"]\n");
    let bench = Workbench::new("told-program", &model, &More { keys: &keys, ..More::default() });
    let seen = bench.agent(&["do it"]);
    assert_eq!((seen.code, seen.stdout.as_str()), (0, "all \"done\"\n"), "{seen:?}");
    let told: Value = serde_json::from_str(&bench.read("told.json")).expect("one JSON argument");
    assert_eq!(told["type"], "agent-turn-complete");
    assert_eq!(told["last-assistant-message"], "all \"done\"");
    assert_eq!(told["cwd"], json!(bench.work()));
    let environment = bench.read("told.env");
    assert_eq!(bench.read("told.files"), "");
    assert!(environment.contains("HOME=") && !environment.contains(SECRET), "{environment}");
    model.finish();
}

#[test]
fn a_program_that_is_not_there_is_said_and_nothing_fails() {
    let model = Model::playing(vec![always(say("done"))]);
    let more = More { keys: "notify = [\"/no/such/program\"]\n", ..More::default() };
    let bench = Workbench::new("told-nobody", &model, &more);
    let seen = bench.agent(&["do it"]);
    assert_eq!((seen.code, seen.stdout.as_str()), (0, "done\n"), "{seen:?}");
    assert!(seen.stderr.contains("the program in `notify` cannot be started"), "{seen:?}");
}

#[test]
fn a_file_for_the_answer_that_cannot_be_written_is_refused_before_the_model_is_asked() {
    let model = Model::playing(Vec::new());
    let bench = Workbench::new("told-output-file", &model, &More::default());
    for (path, reason) in [("missing/answer", "there is no directory missing"), (".", "this is a directory")]
    {
        let seen = bench.agent(&["-o", path, "go"]);
        assert_eq!((seen.code, seen.stdout.as_str()), (2, ""), "{seen:?}");
        assert!(seen.stderr.contains(reason), "{seen:?}");
    }
    assert_eq!(model.finish().len(), 0, "no request was made");
}

#[test]
fn a_command_behind_options_is_not_sent_to_the_model_as_a_task() {
    let model = Model::playing(Vec::new());
    let bench = Workbench::new("told-misplaced", &model, &More::default());
    for command in ["threads", "config", "resume", "fork", "trust"] {
        let seen = bench.agent(&["-m", "other", command]);
        assert_eq!((seen.code, seen.stdout.as_str()), (2, ""), "{seen:?}");
        assert!(seen.stderr.contains(&format!("windlass agent {command} [OPTIONS]")), "{seen:?}");
    }
    assert_eq!(model.finish().len(), 0, "no request was made");
}

#[test]
fn settings_are_printed_as_json_for_programs() {
    let model = Model::playing(Vec::new());
    let tables = "[model_providers.it.http_headers]\nauthorization = \"Bearer very-secret-0123456789\"\n";
    let more = More { keys: "sandbox_mode = \"read-only\"\n", tables };
    let bench = Workbench::new("told-config-json", &model, &more);
    let seen = bench.agent(&["config", "--json", "-c", "tool_output_token_limit=5"]);
    assert_eq!(seen.code, 0, "{seen:?}");
    let printed: Value =
        serde_json::from_str(&seen.stdout).unwrap_or_else(|error| panic!("{error}: {seen:?}"));
    let settings = &printed["settings"];
    assert_eq!(settings["sandbox_mode"]["value"], "read-only", "{printed}");
    assert_eq!(settings["tool_output_token_limit"]["value"], 5, "{printed}");
    assert_eq!(settings["tool_output_token_limit"]["origin"], "command line", "{printed}");
    let hidden = &settings["model_providers.it.http_headers.authorization"];
    assert_eq!((&hidden["value"], &hidden["secret"]), (&Value::Null, &json!(true)), "{printed}");
    assert!(!seen.stdout.contains("very-secret"), "{seen:?}");
    assert_eq!(printed["project"]["trusted"], false, "{printed}");
}

#[test]
fn settings_are_shown_in_tables_with_where_they_come_from_and_no_secret() {
    let model = Model::playing(Vec::new());
    let tables = "[model_providers.it.http_headers]\nauthorization = \"Bearer very-secret-0123456789\"\n";
    let more = More { keys: "sandbox_mode = \"read-only\"\n", tables };
    let bench = Workbench::new("told-config", &model, &more);
    let seen = bench.agent(&["config", "-c", "tool_output_token_limit=5"]);
    assert_eq!(seen.code, 0, "{seen:?}");
    let line = |begins: &str| {
        let found = seen.stdout.lines().find(|line| line.starts_with(begins));
        found.unwrap_or_else(|| panic!("no {begins}: {seen:?}")).to_owned()
    };
    assert!(line("sandbox_mode = \"read-only\"").contains("config.toml:3"), "{seen:?}");
    assert!(line("tool_output_token_limit = 5").contains("command line"), "{seen:?}");
    assert!(line("approval_policy").contains("built in"), "{seen:?}");
    assert!(seen.stdout.contains("\n[model_providers.it]\n"), "{seen:?}");
    assert!(line("authorization = \"(not shown)\"").contains("config.toml"), "{seen:?}");
    assert!(!seen.stdout.contains("very-secret"), "{seen:?}");
    assert!(seen.stdout.contains("# The project "), "{seen:?}");
}
