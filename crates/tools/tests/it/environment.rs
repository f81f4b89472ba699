//! The environment of commands.

use crate::workbench::{bench, bench_with, output, session};
use serde_json::json;
use windlass_tools::{EnvironmentPolicy, Inherit, SecretVariables, ToolboxOptions, VariablePatterns};

const SHOW: &str =
    "for name in TERM PAGER GIT_PAGER GH_PAGER NO_COLOR LANG; do eval \"echo $name=\\${$name-unset}\"; done";

#[test]
fn pagers_colours_terminal_and_locale_are_set_for_readers() {
    bench(async |bench| {
        for (tty, expected) in [
            (false, "TERM=dumb\nPAGER=cat\nGIT_PAGER=cat\nGH_PAGER=cat\nNO_COLOR=1\nLANG=C.UTF-8\n"),
            (
                true,
                "TERM=xterm-256color\nPAGER=cat\nGIT_PAGER=cat\nGH_PAGER=cat\nNO_COLOR=unset\nLANG=C.UTF-8\n",
            ),
        ] {
            let reply = bench.run(json!({ "cmd": SHOW, "tty": tty })).await;
            assert_eq!(output(&reply), expected);
        }
    });
}

#[test]
fn the_session_finds_its_own_id() {
    bench(async |bench| {
        for tty in [false, true] {
            let reply = bench.run(json!({ "cmd": "echo $WINDLASS_SESSION", "tty": tty })).await;
            assert_eq!(output(&reply).trim(), session(&reply).to_string());
        }
    });
}

fn secrets(options: &mut ToolboxOptions) {
    for (name, value) in
        [("API_KEY", "k"), ("my_secret_thing", "s"), ("GH_TOKEN", "t"), ("PGPASSWORD", "p"), ("EDITOR", "vi")]
    {
        options.environment.push((name.into(), value.into()));
    }
}

const SECRETS: &str =
    "echo ${API_KEY-unset} ${my_secret_thing-unset} ${GH_TOKEN-unset} ${PGPASSWORD-unset} ${EDITOR-unset}";

#[test]
fn by_default_everything_is_inherited_but_secrets() {
    bench_with(secrets, async |bench| {
        assert_eq!(output(&bench.exec(SECRETS).await), "unset unset unset unset vi\n");
    });
}

#[test]
fn an_explicit_env_entry_wins_over_the_filter() {
    bench_with(secrets, async |bench| {
        let reply = bench.run(json!({ "cmd": SECRETS, "env": { "API_KEY": "given" } })).await;
        assert_eq!(output(&reply), "given unset unset unset vi\n");
        let listed = bench.listed(session(&reply)).await;
        assert_eq!(listed["removed_variables"], json!(["GH_TOKEN", "PGPASSWORD", "my_secret_thing"]));
    });
}

#[test]
fn the_policy_inherits_all_the_core_or_nothing_excludes_and_sets() {
    for (inherit, expected) in
        [(Inherit::All, "vi home\n"), (Inherit::Core, "unset home\n"), (Inherit::None, "unset unset\n")]
    {
        let change = |options: &mut ToolboxOptions| {
            secrets(options);
            options.policy.inherit = inherit;
        };
        bench_with(change, async |bench| {
            let reply =
                bench.exec("echo ${EDITOR-unset} ${HOME:+home}${HOME-unset} | sed \"s,home/.*,home,\"").await;
            assert_eq!(output(&reply), expected, "{inherit:?}");
        });
    }
    let change = |options: &mut ToolboxOptions| {
        secrets(options);
        let set = vec![("PAGER".into(), "less".into()), ("EXTRA".into(), "yes".into())];
        let (secrets, exclude) = (SecretVariables::PassedOn, VariablePatterns::parse(["ED*"]).unwrap());
        options.policy = EnvironmentPolicy { secrets, exclude, set, ..EnvironmentPolicy::default() };
    };
    bench_with(change, async |bench| {
        let reply = bench.exec("echo ${EDITOR-unset} $API_KEY $PAGER $EXTRA").await;
        assert_eq!(output(&reply), "unset k less yes\n");
    });
}

#[test]
fn the_script_itself_is_not_in_the_environment_of_what_it_starts() {
    bench(async |bench| {
        let reply = bench.exec("env | grep WINDLASS_ | sed 's/=.*//'").await;
        assert_eq!(output(&reply), "WINDLASS_SESSION\n");
    });
}

/// A program with plain words alone is started without a shell, and must not notice a difference.
#[test]
fn a_program_alone_sees_what_it_would_see_behind_a_shell() {
    bench(async |bench| {
        for (shell, workdir) in [("bash", "/usr"), ("sh", "/usr"), ("bash", "")] {
            let ask = |cmd: &str| json!({ "cmd": cmd, "shell": shell, "workdir": workdir });
            let lines = |reply: &windlass_tools::Reply| {
                let kept = output(reply)
                    .lines()
                    .filter(|line| !line.starts_with("WINDLASS_SESSION=") && !line.starts_with("_="));
                kept.map(str::to_owned).collect::<std::collections::BTreeSet<_>>()
            };
            let alone = bench.run(ask("/usr/bin/env")).await;
            let behind = bench.run(ask(":; exec /usr/bin/env")).await;
            assert_eq!(lines(&alone), lines(&behind), "{shell} in {workdir:?}");
            assert!(lines(&alone).len() > 5, "{alone:?}");
        }
    });
}

#[test]
fn a_program_alone_is_started_by_the_runtime_itself() {
    bench(async |bench| {
        let length = format!("1000.{}", std::process::id());
        let reply = bench.run(json!({ "cmd": format!("sleep {length}"), "yield_time_ms": 1 })).await;
        let parents = std::fs::read_dir("/proc").unwrap().flatten().filter_map(|process| {
            let words = std::fs::read(process.path().join("cmdline")).ok()?;
            let is_it = words == format!("sleep\0{length}\0").as_bytes();
            let stat = is_it.then(|| std::fs::read_to_string(process.path().join("stat")).ok()).flatten()?;
            stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse::<u32>().ok()
        });
        assert_eq!(parents.collect::<Vec<_>>(), [std::process::id()]);
        bench.stop(session(&reply)).await;
    });
}

#[test]
fn where_a_program_alone_does_not_start_the_shell_says_why() {
    bench(async |bench| {
        for (name, text) in [("lost", "#!/nowhere/interpreter\n"), ("broken", "\u{7f}ELF and nothing")] {
            bench.write(name, text);
            let made = bench.exec(&format!("chmod +x {name}")).await;
            assert_eq!(made.structured["exit_code"], 0, "{made:?}");
            let reply = bench.exec(&format!("./{name}")).await;
            assert!(matches!(reply.structured["exit_code"].as_i64(), Some(126 | 127)), "{reply:?}");
            assert!(output(&reply).contains(&format!("line 1: ./{name}: cannot execute")), "{reply:?}");
        }
    });
}
