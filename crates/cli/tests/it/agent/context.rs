//! The context of an agent before its task: instructions, skills and settings; and what is left out of it.

use std::process::Command;

use windlass_testkit::model::{always, say, turn};

use super::stage::{BOTH, Stage, exec};

#[test]
fn a_projects_instructions_are_read_only_once_it_is_trusted() {
    for dialect in BOTH {
        let mut stage = Stage::speaking(
            dialect,
            vec![
                turn(|request| {
                    assert!(!request.text().contains("use tabs here"), "{}", request.text());
                    assert!(request.text().contains("be brief everywhere"), "{}", request.text());
                    say("untrusted")
                }),
                turn(|request| {
                    let text = request.text();
                    let (home, project) = (text.find("be brief everywhere"), text.find("use tabs here"));
                    assert!(home.is_some() && home < project, "{text}");
                    say("trusted")
                }),
                turn(|request| {
                    assert!(!request.text().contains("use tabs here"), "{}", request.text());
                    say("untrusted again")
                }),
            ],
        );
        stage.write("config/windlass/AGENTS.md", "be brief everywhere\n");
        stage.write("work/AGENTS.md", "use tabs here\n");
        stage.write("work/.git/HEAD", "ref: refs/heads/main\n");
        let first = stage.run(&["go"]).well();
        assert!(first.stderr.contains("not trusted") && first.stderr.contains("AGENTS.md"), "{first:?}");
        trust(&mut stage, &[]);
        let second = stage.run(&["go"]).well();
        assert!(!second.stderr.contains("not trusted"), "{second:?}");
        trust(&mut stage, &["--revoke"]);
        stage.run(&["go"]).well();
        stage.finish();
    }
}

/// Decides whether the project is trusted. The program writes the decision into the settings, which the stage writes
/// anew for each run.
fn trust(stage: &mut Stage, words: &[&str]) {
    stage.run(&[&["trust"], words].concat()).well();
    let told = stage.read("config/windlass/config.toml");
    stage.take_settings(&told);
}

#[test]
fn a_skill_is_listed_and_brought_when_it_is_named() {
    let skill = "---\nname: deploy\ndescription: how to deploy\n---\nPush the red button.\n";
    let mut stage = Stage::playing(vec![
        turn(|request| {
            assert!(request.text().contains("deploy: how to deploy"), "{}", request.text());
            assert!(!request.text().contains("Push the red button."), "{}", request.text());
            say("listed")
        }),
        turn(|request| {
            assert!(request.is_asked("Push the red button."), "{}", request.text());
            assert!(request.is_asked("please $deploy now"), "{}", request.text());
            say("brought")
        }),
    ]);
    stage.write(".agents/skills/deploy/SKILL.md", skill);
    stage.run(&["what can you do?"]).well();
    stage.run(&["please $deploy now"]).well();
    stage.finish();
}

#[test]
fn a_setting_that_nobody_knows_is_refused_with_the_nearest_one() {
    let mut stage = Stage::playing(Vec::new());
    stage.run(&["-c", "modle=x", "go"]).badly(1, "`model`");
    let mut stage = finished(stage).with("sandbox_mod = \"read-only\"");
    stage.run(&["go"]).badly(1, "sandbox_mode");
    stage.finish();
}

fn finished(stage: Stage) -> Stage {
    stage.finish();
    Stage::playing(Vec::new())
}

#[test]
fn a_profile_and_further_instructions_are_heeded() {
    let mut stage = Stage::playing(vec![turn(|request| {
        assert_eq!(request.body()["model"], "small");
        assert!(request.text().contains("speak like a pirate"), "{}", request.text());
        assert!(request.text().contains("<environment_context>"), "{}", request.text());
        say("arr")
    })])
    .with("developer_instructions = \"speak like a pirate\"")
    .with("profiles.quick.model = \"small\"");
    stage.run(&["-p", "quick", "go"]).well();
    stage.finish();
}

#[test]
fn tools_that_are_switched_off_are_not_offered() {
    let mut stage = Stage::playing(vec![turn(|request| {
        for tool in ["update_plan", "view_image", "read_file", "spawn_agent"] {
            assert!(!request.offers(tool), "{tool} is offered");
        }
        say("little to do")
    })])
    .with("tools.update_plan = false")
    .with("tools.files = false")
    .with("tools.agents = false");
    stage.run(&["go"]).well();
    stage.finish();
}

#[test]
fn the_environment_of_commands_is_set_as_the_settings_say() {
    let mut stage = Stage::playing(vec![
        always(exec("echo \"<$COLOUR|$SECOND|$WINDLASS_TEST_QUARTERS>\"")),
        turn(|request| {
            assert!(request.last_result().contains("<red||>"), "{}", request.last_result());
            say("red")
        }),
    ])
    .with("shell_environment_policy.set.COLOUR = \"red\"")
    .with("shell_environment_policy.exclude = [\"SEC*\", \"WINDLASS_*\"]");
    let mut command = stage.command(&["look"]);
    command.env("SECOND", "blue");
    stage.start_command(&mut command).end(&mut stage).well();
    stage.finish();
}

#[test]
fn a_conversation_is_not_kept_where_the_settings_say_so() {
    let mut stage = Stage::playing(vec![always(say("forget me"))]).with("history.persistence = \"none\"");
    stage.run(&["go"]).well();
    assert!(stage.threads().is_empty());
    stage.finish();
}

#[test]
fn the_settings_of_codex_are_read_where_that_is_asked_for() {
    let mut stage = Stage::playing(vec![turn(|request| {
        assert_eq!(request.body()["reasoning"]["effort"], "low");
        say("as usual")
    })]);
    stage.write(".codex/config.toml", "model = \"another\"\nmodel_reasoning_effort = \"low\"\n");
    stage.run(&["--import-codex", "go"]).well();
    for request in stage.finish() {
        // The user's own settings take precedence over the imported ones.
        assert_eq!(request.body()["model"], "scripted");
    }
}

#[test]
fn the_model_is_told_the_network_that_commands_have_and_the_same_twice() {
    for (mode, setting, expected) in [
        ("read-only", "true", "off"),
        ("workspace-write", "false", "off"),
        ("workspace-write", "true", "on"),
        ("workspace-write", "[\"example.org\"]", "example.org"),
        ("external", "false", "on"),
        ("danger-full-access", "false", "on"),
    ] {
        let mut stage = Stage::playing(vec![turn(move |request| {
            let text = request.text();
            let told = format!("(network: {expected})");
            assert!(text.contains(&told), "{mode}, {setting}: {told} is not in {text}");
            let told = format!("<network>{expected}</network>");
            assert!(text.contains(&told), "{mode}, {setting}: {told} is not in {text}");
            say("understood")
        })])
        .with(&format!("sandbox_mode = {mode:?}"))
        .with(&format!("sandbox_workspace_write.network_access = {setting}"));
        stage.run(&["go"]).well();
        stage.finish();
    }
}

#[test]
fn the_date_is_the_one_of_the_time_zone_that_is_named_beside_it() {
    // The two zones are 26 hours apart, so at any moment at least one of them has a different date from UTC.
    for zone in ["AAA-14", "BBB+12"] {
        let date = || {
            let printed =
                Command::new("date").arg("+%Y-%m-%d").env("TZ", zone).output().expect("date starts");
            String::from_utf8_lossy(&printed.stdout).trim().to_owned()
        };
        let before = date();
        let mut stage = Stage::playing(vec![always(say("understood"))]);
        let mut command = stage.command(&["go"]);
        stage.start_command(command.env("TZ", zone)).end(&mut stage).well();
        let (after, requests) = (date(), stage.finish());
        let text = requests[0].text();
        assert!(text.contains(&format!("<timezone>{zone}</timezone>")), "{text}");
        // Midnight may pass meanwhile.
        let told = |date: &str| text.contains(&format!("<current_date>{date}</current_date>"));
        assert!(told(&before) || told(&after), "{zone}: {before} is not in {text}");
    }
}
