//! The same scripts played by Codex, from npm, to see where it does otherwise. Nothing here can fail because of Codex: it
//! prints, for people who want to know.

use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};
use windlass_testkit::codex::{self, Configuration};
use windlass_testkit::model::{Invariants, Model, Reply, Turn, always, call, custom, say, think};
use windlass_testkit::{Scratch, survivors};

use super::stage::{SECRETS, Stage, exec};

const PATCH: &str = "*** Begin Patch\n*** Add File: note.txt\n+added\n*** End Patch";
const RETRIES: &str = "model_providers.scripted.stream_max_retries=2";

/// A script that both can play.
struct Play {
    name: &'static str,
    turns: fn() -> Vec<Turn>,
}

const PLAYS: [Play; 9] = [
    Play {
        name: "a command",
        turns: || vec![always(think("hm").and(exec("echo seen"))), always(say("done"))],
    },
    Play { name: "a command that fails", turns: || vec![always(exec("exit 3")), always(say("done"))] },
    Play { name: "a patch", turns: || vec![always(custom("apply_patch", PATCH)), always(say("done"))] },
    Play {
        name: "a plan",
        turns: || {
            let plan = json!({ "plan": [{ "step": "dig", "status": "in_progress" }] });
            vec![always(call("update_plan", plan)), always(say("done"))]
        },
    },
    Play { name: "the environment", turns: || vec![always(exec("env")), always(say("done"))] },
    Play {
        name: "a message that was cut off",
        turns: || vec![always(say("all is well").cut_after_events(5)), always(say("all is well"))],
    },
    Play {
        name: "a failure after a call",
        turns: || {
            let failing = exec("echo once >> log").failing("server_error", "gone");
            vec![always(failing), always(say("done"))]
        },
    },
    Play { name: "no such tool", turns: || vec![always(call("nothing", json!({}))), always(say("done"))] },
    Play { name: "a wrong key", turns: || (0..7).map(|_| always(Reply::refusal(401, "who?"))).collect() },
];

/// What can be compared.
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
    for play in &PLAYS {
        let (ours, theirs) = (ours(play), theirs(play));
        let word = if ours == theirs { "the same" } else { "different" };
        println!("{}: {word}\n  windlass {ours:?}\n  codex    {theirs:?}", play.name);
    }
}

fn ours(play: &Play) -> Told {
    let model = Model::playing((play.turns)());
    let home = Scratch::new("ours");
    // A stage of its own for the surroundings; the model is this one, whose script need not be played to its end.
    let stage = Stage::playing(Vec::new());
    let address = format!("model_providers.scripted.base_url={}", model.base_url());
    let words =
        ["--json", "--dangerously-bypass-approvals-and-sandbox", "-c", &address, "-c", RETRIES, "begin"];
    let output = stage.command(&words).current_dir(home.path()).output().expect("windlass starts");
    stage.finish();
    told(&model, output.status.code(), &output.stdout)
}

fn theirs(play: &Play) -> Told {
    let model = Model::playing((play.turns)());
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
