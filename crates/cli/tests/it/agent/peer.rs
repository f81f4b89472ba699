//! Runs the same scripts with Codex, from npm, to show how it differs. Nothing here can fail because of Codex: it
//! prints the differences for people who want to know them.

use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};
use windlass_testkit::codex::{self, Configuration};
use windlass_testkit::model::{
    Invariants, Model, ModelTurn, Reply, always, call, call_verbatim, custom, say, think,
};
use windlass_testkit::{Scratch, survivors};

use super::stage::{SECRETS, Stage, exec};

const PATCH: &str = "*** Begin Patch\n*** Add File: note.txt\n+added\n*** End Patch";
const RETRIES: &str = "model_providers.scripted.stream_max_retries=2";

/// A script that both agents can run.
type Play = (&'static str, fn() -> Vec<ModelTurn>);

/// A script that ends successfully.
fn then_done(replies: Vec<Reply>) -> Vec<ModelTurn> {
    replies.into_iter().chain([say("done")]).map(always).collect()
}

fn plan(steps: &Value) -> Reply {
    call("update_plan", json!({ "plan": steps }))
}

/// A command whose reply comes after a moment, even if it still runs.
fn briefly(script: &str, tty: bool) -> Reply {
    call("exec_command", json!({ "cmd": script, "tty": tty, "yield_time_ms": 250 }))
}

fn refused(count: usize, status: u16) -> Vec<ModelTurn> {
    (0..count).map(|_| always(Reply::refusal(status, "no"))).collect()
}

const PLAYS: &[Play] = &[
    ("an answer", || then_done(Vec::new())),
    ("a thought and a command", || then_done(vec![think("hm").and(exec("echo seen"))])),
    ("a command that fails", || then_done(vec![exec("exit 3")])),
    ("a command that does not exist", || then_done(vec![exec("no-such-program-at-all")])),
    ("a command that is killed", || then_done(vec![exec("kill -9 $$")])),
    ("two commands in one answer", || then_done(vec![exec("echo one").and(exec("echo two"))])),
    ("two commands one after the other", || then_done(vec![exec("echo one"), exec("echo two")])),
    ("words before a command", || then_done(vec![say("first a look").and(exec("echo seen"))])),
    ("much output", || then_done(vec![exec("seq 100000")])),
    ("output that is no text", || then_done(vec![exec("head -c 2000 /dev/urandom")])),
    ("a command on a terminal", || {
        then_done(vec![call("exec_command", json!({ "cmd": "test -t 1 && echo yes", "tty": true }))])
    }),
    ("a command that goes on and ends", || then_done(vec![briefly("sleep 1; echo late", false)])),
    ("the environment", || then_done(vec![exec("env")])),
    ("a patch", || then_done(vec![custom("apply_patch", PATCH)])),
    ("a patch that does not fit", || {
        let patch = "*** Begin Patch\n*** Update File: missing.txt\n@@\n-a\n+b\n*** End Patch";
        then_done(vec![custom("apply_patch", patch)])
    }),
    ("a patch in a shell", || then_done(vec![exec(&format!("apply_patch <<'EOF'\n{PATCH}\nEOF"))])),
    ("a plan", || then_done(vec![plan(&json!([{ "step": "dig", "status": "in_progress" }]))])),
    ("a plan that changes", || {
        let step = |status: &str| plan(&json!([{ "step": "dig", "status": status }]));
        then_done(vec![step("in_progress"), step("completed")])
    }),
    ("an image that is not there", || then_done(vec![call("view_image", json!({ "path": "missing.png" }))])),
    ("no such tool", || then_done(vec![call("nothing", json!({}))])),
    ("arguments that are no JSON", || then_done(vec![call_verbatim("exec_command", "{\"cmd\": ")])),
    ("arguments that are missing", || then_done(vec![call("exec_command", json!({}))])),
    ("a message that was cut off", || {
        vec![always(say("all is well").cut_after_events(5)), always(say("all is well"))]
    }),
    ("a call that was cut off", || {
        vec![
            always(exec("echo once >> log").cut_after_events(6)),
            always(exec("cat log")),
            always(say("done")),
        ]
    }),
    ("a failure after a call", || then_done(vec![exec("echo once >> log").failing("server_error", "gone")])),
    ("bytes one by one", || vec![always(say("all is well").dribbled())]),
    ("garbage in between", || vec![always(say("all is well").with_garbage())]),
    ("nobody there for a moment", || then_done(vec![Reply::hang_up()])),
    ("too many requests for a moment", || {
        then_done(vec![Reply::refusal(429, "slowly").with_header("retry-after", "0")])
    }),
    ("a server that stumbles", || then_done(vec![Reply::refusal(500, "ouch")])),
    ("an answer that is not complete", || vec![always(say("half").incomplete("max_output_tokens"))]),
    ("a wrong key", || refused(7, 401)),
    ("a bad request", || refused(7, 400)),
    ("no such model", || refused(7, 404)),
];

/// The results that can be compared.
#[derive(Debug, PartialEq, Eq)]
struct Told {
    code: Option<i32>,
    requests: usize,
    events: Vec<String>,
    faults: Vec<String>,
    secrets: Vec<&'static str>,
}

#[test]
#[ignore = "compares with Codex and prints; run it with --ignored --no-capture after `cargo xtask peers`"]
fn codex_plays_the_same_scripts_and_where_it_differs_is_printed() {
    let mut alike = 0;
    for (name, turns) in PLAYS {
        let (ours, theirs) = (ours(turns()), theirs(turns()));
        alike += usize::from(ours == theirs);
        let word = if ours == theirs { "the same" } else { "different" };
        println!("{name}: {word}\n  windlass {ours:?}\n  codex    {theirs:?}");
    }
    println!("{alike} of {} the same", PLAYS.len());
}

fn ours(turns: Vec<ModelTurn>) -> Told {
    let model = Model::playing(turns);
    let home = Scratch::new("ours");
    // The stage provides only the directories; the model is this one, whose script need not be used up.
    let stage = Stage::playing(Vec::new());
    let address = format!("model_providers.scripted.base_url={}", model.base_url());
    let words =
        ["--json", "--dangerously-bypass-approvals-and-sandbox", "-c", &address, "-c", RETRIES, "begin"];
    let output = stage.command(&words).current_dir(home.path()).output().expect("windlass starts");
    stage.finish();
    told(&model, output.status.code(), &output.stdout)
}

fn theirs(turns: Vec<ModelTurn>) -> Told {
    let model = Model::playing(turns);
    let home = Scratch::new("theirs");
    let configuration = Configuration { model: &model.base_url(), features: "", more: "" };
    configuration.write(home.path()).expect("the configuration can be written");
    let output = codex_exec(home.path()).output().expect("codex starts");
    told(&model, output.status.code(), &output.stdout)
}

fn codex_exec(home: &Path) -> std::process::Command {
    let mut command = codex::command(home);
    let key = format!("model_providers.scripted.env_key={}", SECRETS[0].0);
    command.args(["exec", "--json", "--skip-git-repo-check", "-c", RETRIES, "-c", &key, "begin"]);
    command.envs(SECRETS).env("WINDLASS_TEST_QUARTERS", survivors::token("peer")).stdin(Stdio::null());
    command
}

fn told(model: &Model, code: Option<i32>, stdout: &[u8]) -> Told {
    let requests = model.requests();
    let lines = String::from_utf8_lossy(stdout);
    let events = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let word = |event: Value| {
        let item = event["item"]["type"].as_str().map(|kind| format!(" {kind}")).unwrap_or_default();
        format!("{}{item}", event["type"].as_str().unwrap_or_default())
    };
    let seen = |secret: &str| requests.iter().any(|request| request.text().contains(secret));
    Told {
        code,
        requests: requests.len(),
        // Codex warns that it does not know the model.
        events: events.map(word).filter(|word| word != "item.completed error").collect(),
        faults: Invariants::strict().faults(&requests),
        secrets: SECRETS.iter().filter(|(_, secret)| seen(secret)).map(|(name, _)| *name).collect(),
    }
}
