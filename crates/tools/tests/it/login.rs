//! The login environment: captured once, kept until a start-up file changes, and never in the way.

use crate::workbench::{Workbench, bench, bench_with, object, output};
use serde_json::{Value, json};
use std::time::Duration;
use windlass_tools::{Call, Toolbox};

/// Counts the logins in a file.
const COUNTS: &str = "echo login >> logins\n";

fn logins(bench: &Workbench) -> usize {
    bench.contents("logins").lines().count()
}

#[test]
fn the_login_environment_is_captured_once_and_reused_for_every_call() {
    bench(async |bench| {
        bench.write(".bash_profile", &format!("{COUNTS}export FLAVOUR=salty\n"));
        for _ in 0..5 {
            assert_eq!(output(&bench.exec("echo $FLAVOUR").await), "salty\n");
        }
        assert_eq!(logins(bench), 1);
    });
}

#[test]
fn sixteen_calls_at_once_log_in_once() {
    bench(async |bench| {
        bench.write(".bash_profile", &format!("{COUNTS}export FLAVOUR=salty\n"));
        let call = || {
            let toolbox = Toolbox::clone(bench);
            let arguments = object(json!({ "cmd": "echo $FLAVOUR", "until": { "exit": true } }));
            tokio::spawn(async move { toolbox.call(Call::new("exec_command", arguments)).await.unwrap() })
        };
        for call in (0..16).map(|_| call()).collect::<Vec<_>>() {
            assert_eq!(output(&call.await.unwrap()), "salty\n");
        }
        assert_eq!(logins(bench), 1);
    });
}

#[test]
fn preparing_logs_in_ahead_of_the_first_command() {
    bench(async |bench| {
        bench.write(".bash_profile", COUNTS);
        bench.prepare().await;
        assert_eq!(logins(bench), 1);
        bench.exec("true").await;
        assert_eq!(logins(bench), 1);
    });
}

#[test]
fn exported_variables_additions_to_the_path_and_functions_arrive() {
    bench(async |bench| {
        std::fs::create_dir(bench.home().join("bin")).unwrap();
        bench.write("bin/mytool", "#!/bin/sh\necho tool\n");
        assert_eq!(
            bench.run(json!({ "cmd": "chmod +x bin/mytool", "login": false })).await.structured["exit_code"],
            0
        );
        let profile = "export LINES_IN='a\nb=c'\nPATH=\"$HOME/bin:$PATH\"\nhidden=yes\n\
                       greet() { echo \"hello $1\"; }\nexport -f greet\n";
        for (shell, file) in [("bash", ".bash_profile"), ("zsh", ".zprofile"), ("sh", ".profile")] {
            let profile =
                if shell == "bash" { profile.to_owned() } else { profile.replace("export -f greet\n", "") };
            bench.write(file, &(profile + if shell == "sh" { "export PATH\nunset -f greet\n" } else { "" }));
            let cmd = "mytool; echo \"$LINES_IN\"; echo ${hidden-unset}";
            let reply = bench.run(json!({ "cmd": cmd, "shell": shell })).await;
            // Only the environment of a POSIX shell is restored.
            let hidden = if shell == "sh" { "unset" } else { "yes" };
            assert_eq!(output(&reply), format!("tool\na\nb=c\n{hidden}\n"), "{shell}: {}", reply.text);
            if shell != "sh" {
                let reply =
                    bench.run(json!({ "cmd": "greet you; greet \"$0\" > /dev/null", "shell": shell })).await;
                assert_eq!(output(&reply), "hello you\n", "{shell}");
            }
        }
    });
}

#[test]
fn a_changed_start_up_file_is_read_again() {
    bench(async |bench| {
        bench.write(".bash_profile", &format!("{COUNTS}export FLAVOUR=salty\n"));
        assert_eq!(output(&bench.exec("echo $FLAVOUR").await), "salty\n");
        bench.write(".bash_profile", &format!("{COUNTS}export FLAVOUR=sweet now\n"));
        assert_eq!(output(&bench.exec("echo $FLAVOUR").await), "sweet\n");
        assert_eq!(output(&bench.exec("echo $FLAVOUR").await), "sweet\n");
        assert_eq!(logins(bench), 2);
    });
}

#[test]
fn without_login_no_start_up_file_is_read() {
    bench(async |bench| {
        bench.write(".bash_profile", &format!("{COUNTS}export FLAVOUR=salty\n"));
        let reply = bench.run(json!({ "cmd": "echo ${FLAVOUR-unset}", "login": false })).await;
        assert_eq!((output(&reply), logins(bench)), ("unset\n", 0));
    });
}

#[test]
fn a_start_up_file_that_hangs_costs_one_bounded_wait_and_is_reported_once() {
    bench_with(
        |options| options.login_bound = Duration::from_millis(700),
        async |bench| {
            bench.write(".bash_profile", &format!("{COUNTS}sleep 61\n"));
            let reply = bench.exec("echo works").await;
            assert_eq!(output(&reply), "works\n");
            let note = reply.structured["notes"][0].as_str().unwrap();
            assert!(note.contains("did not finish within 0.7 s") && note.contains("login=false"), "{note}");
            for _ in 0..3 {
                let reply = bench.exec("echo works").await;
                assert_eq!((output(&reply), &reply.structured["notes"]), ("works\n", &json!([])));
            }
            assert_eq!(logins(bench), 1);
            // Mended, it is used.
            bench.write(".bash_profile", "export FLAVOUR=salty\n");
            assert_eq!(output(&bench.exec("echo $FLAVOUR").await), "salty\n");
        },
    );
}

#[test]
fn a_start_up_file_has_three_seconds_by_default() {
    let options = windlass_tools::ToolboxOptions::new("/", Vec::new());
    assert_eq!(options.login_bound, Duration::from_secs(3));
}

#[test]
fn a_start_up_file_that_prints_exits_execs_or_fails_does_no_harm() {
    bench(async |bench| {
        for (profile, used) in [
            ("echo welcome; echo oops >&2; export FLAVOUR=salty", true),
            ("export FLAVOUR=salty; false; set +e; nosuchcommand", true),
            ("export FLAVOUR=salty; exit 3", false),
            ("export FLAVOUR=salty; exec true", false),
            ("export FLAVOUR=salty; kill -9 $$", false),
            ("export FLAVOUR=salty; exec sh -c 'echo $FLAVOUR'", false),
            ("export FLAVOUR=salty; exec < /dev/null > /dev/null", false),
            ("syntax error ( here\nexport FLAVOUR=salty", false),
            ("export FLAVOUR=salty; (sleep 61 &)", true),
            ("export FLAVOUR=salty; read x", true),
        ] {
            bench.write(".bash_profile", &format!("{profile}\n"));
            let reply = bench.exec("echo ${FLAVOUR-unset}").await;
            let expected = if used { "salty\n" } else { "unset\n" };
            let harmless = output(&reply) == expected || profile.starts_with("syntax");
            assert!(harmless && reply.structured["exit_code"] == 0, "{profile}: {}", reply.text);
            let notes = reply.structured["notes"].as_array().unwrap().len();
            assert_eq!(
                notes,
                usize::from(output(&reply) == "unset\n" && !profile.starts_with("syntax")),
                "{profile}: {}",
                reply.text
            );
        }
    });
}

#[test]
fn zsh_reads_its_start_up_files_once_too() {
    bench(async |bench| {
        bench.write(".zshenv", &format!("{COUNTS}export FLAVOUR=salty\n"));
        bench.write(".zprofile", "greet() { print hello $1 }\n");
        for _ in 0..3 {
            let reply = bench.run(json!({ "cmd": "echo $FLAVOUR; greet you", "shell": "zsh" })).await;
            assert_eq!(output(&reply), "salty\nhello you\n", "{}", reply.text);
        }
        assert_eq!(logins(bench), 1);
    });
}

#[test]
fn the_login_is_no_session_of_the_callers() {
    bench(async |bench| {
        bench.write(".bash_profile", COUNTS);
        bench.exec("true").await;
        let list = bench.ask("list_sessions", json!({})).await;
        assert_eq!(list.structured["sessions"].as_array().map(Vec::len), Some(1));
        assert_eq!(list.structured["sessions"][0]["session"], Value::from(1001));
    });
}

/// Start-up files of which only exported variables and functions arrived.
const PROFILE: &str = "umask 027\nulimit -n 321\nplain='it'\\''s \"$HOME\" here'\ntwo=$'a\nb'\nlist=(one 'two three')\n\
    DEPLOY_TOKEN=hush\nalias greet='echo hello'\nset -o noclobber\nIFS=:\n";

#[test]
fn the_umask_limits_options_aliases_and_variables_of_a_login_arrive() {
    let cmd = "umask\nulimit -S -n\necho \"$plain\"\necho \"$two\"\necho \"${list[@]}\"\n\
        echo ${DEPLOY_TOKEN-withheld}\ngreet you\nset -o | grep noclobber\necho \"$IFS\"\nenv | grep -c plain=\n";
    bench(async |bench| {
        for (shell, file, more, special) in [
            (
                "bash",
                ".bash_profile",
                "shopt -s expand_aliases extglob\ncut() { echo ${1##+(0)}; }\n",
                "shopt -p extglob; cut 007",
            ),
            (
                "zsh",
                ".zprofile",
                "setopt extendedglob\ncut() { echo ${1##0#} }\n",
                "setopt | grep extendedglob; cut 007",
            ),
        ] {
            bench.write(file, &format!("{PROFILE}{more}"));
            let reply = bench.run(json!({ "cmd": format!("{cmd}{special}"), "shell": shell })).await;
            let umask = if shell == "bash" { "0027" } else { "027" };
            let noclobber =
                output(&reply).lines().find(|line| line.starts_with("noclobber")).map(str::to_owned);
            let noclobber = noclobber.filter(|line| line.ends_with("on")).unwrap_or_default();
            let expected = [
                umask,
                "321",
                "it's \"$HOME\" here",
                "a",
                "b",
                "one two three",
                "withheld",
                "hello you",
                &noclobber,
                ":",
                "0",
                if shell == "bash" { "shopt -s extglob" } else { "extendedglob" },
                "7",
                "",
            ];
            assert_eq!(output(&reply), expected.join("\n"), "{shell}: {}", reply.text);
            // A caller's own variable wins, and a program that needs no shell has the umask, too.
            let own = json!({ "cmd": "echo $plain", "shell": shell, "env": { "plain": "mine" } });
            assert_eq!(output(&bench.run(own).await), "mine\n", "{shell}");
            bench.run(json!({ "cmd": format!("touch made-{shell}"), "shell": shell })).await;
            let mode = std::fs::metadata(bench.home().join(format!("made-{shell}"))).unwrap().permissions();
            assert_eq!(std::os::unix::fs::PermissionsExt::mode(&mode) & 0o777, 0o640, "{shell}");
        }
    });
}

#[test]
fn an_option_of_a_login_holds_for_the_script_and_not_for_what_reads_it() {
    bench(async |bench| {
        for (shell, file) in [("bash", ".bash_profile"), ("zsh", ".zprofile")] {
            for (option, cmd, expected) in [
                ("set -x", "echo hi", "hi\n"),
                ("set -e", "false\necho on", ""),
                ("set -u", "echo a$unset; echo on", ""),
                ("set -eux", "echo hi 2>&1", "hi\n"),
            ] {
                bench.write(file, &format!("{option}\n"));
                let reply = bench.run(json!({ "cmd": cmd, "shell": shell })).await;
                let told = output(&reply);
                let traced: Vec<&str> = told.lines().filter(|line| line.starts_with('+')).collect();
                let printed: String =
                    told.lines().filter(|line| *line == "hi").map(|line| format!("{line}\n")).collect();
                assert_eq!(printed, expected, "{shell}, {option}: {told}");
                assert_eq!(traced.len(), usize::from(option.contains('x')), "{shell}, {option}: {told}");
                let expected = if shell == "bash" { "+ echo hi" } else { "echo hi" };
                assert!(traced.iter().all(|line| line.ends_with(expected)), "{shell}, {option}: {told}");
                assert!(!traced.iter().any(|line| line.starts_with("++")), "{shell}, {option}: {told}");
                assert_eq!(reply.structured["notes"], json!([]), "{shell}, {option}: {}", reply.text);
            }
        }
    });
}

#[test]
fn bash_traces_a_script_that_asks_for_it_with_one_plus_and_nothing_of_the_runtime() {
    bench(async |bench| {
        for profile in ["", "plain=kept\nset -o noclobber\n", "set -x\n"] {
            bench.write(".bash_profile", profile);
            let cmd = "set -x\necho $LINENO \"$0\" ${plain-none}\nls -l /proc/self/fd/3 2>&1 | grep -c memfd\nfalse";
            let reply = bench.run(json!({ "cmd": cmd, "shell": "bash" })).await;
            let told = output(&reply);
            let traced: Vec<&str> = told.lines().filter(|line| line.starts_with('+')).collect();
            let plain = if profile.starts_with("plain") { "kept" } else { "none" };
            let echoed = told.lines().find(|line| line.starts_with("2 /") && line.ends_with(plain));
            assert!(echoed.is_some_and(|line| line.contains("/bash ")), "{profile}: {told}");
            assert!(traced.iter().all(|line| line.starts_with("+ ")), "{profile}: {told}");
            assert!(!told.contains("windlass") && !told.contains("exec"), "{profile}: {told}");
            assert_eq!(traced.last(), Some(&"+ false"), "{profile}: {told}");
            assert_eq!(reply.structured["exit_code"], 1, "{profile}: {told}");
            assert!(told.lines().any(|line| line == "0"), "a child inherits the script, {profile}: {told}");
        }
    });
}

#[test]
fn the_prompts_and_paths_of_a_zsh_login_arrive() {
    bench(async |bench| {
        bench.write(".zprofile", "PS4='trace> '\nfpath=(/opt/mine $fpath)\nlast=here\n");
        let cmd = "echo $PS4; echo $fpath[1]; echo $last; echo ${#IFS}";
        let reply = bench.run(json!({ "cmd": cmd, "shell": "zsh" })).await;
        assert_eq!(output(&reply), "trace> \n/opt/mine\nhere\n4\n", "{}", reply.text);
    });
}

#[test]
fn an_environment_that_bash_prints_itself_is_the_one_that_a_program_gets() {
    let options = |options: &mut windlass_tools::ToolboxOptions| {
        options.environment.push(("a-b".into(), "kept".into()));
    };
    bench_with(options, async |bench| {
        let profile = "export two='x\ny'\nlist=(1 2)\nexport empty= list\nset -a\nlate=1\n";
        for (shell, file) in [("bash", ".bash_profile"), ("zsh", ".zprofile")] {
            let mut seen = Vec::new();
            // With a function, a program prints the environment.
            for more in ["", "greet() { :; }\n"] {
                bench.write(file, &format!("{more}{profile}"));
                let cmd = "set +a; env -0 | sort -z | tr '\\0' '|' | sed 's/WINDLASS_SESSION=[^|]*//'";
                seen.push(output(&bench.run(json!({ "cmd": cmd, "shell": shell })).await).to_owned());
            }
            assert_eq!(seen[0], seen[1], "{shell}");
            for expected in ["a-b=kept|", "two=x\ny|", "empty=|", "late=1|"] {
                assert!(seen[0].contains(expected), "{shell}, {expected}: {}", seen[0]);
            }
            assert!(!seen[0].contains("windlass_") && !seen[0].contains("list="), "{shell}: {}", seen[0]);
        }
    });
}

#[test]
fn functions_that_are_too_long_to_restore_are_named_in_a_note() {
    bench(async |bench| {
        let body = "echo a word that is long enough\n".repeat(3000);
        bench.write(".bash_profile", &format!("long() {{\n{body}}}\nplain=kept\n"));
        let reply = bench.exec("echo $plain; type -t long").await;
        assert_eq!(output(&reply), "kept\n", "{}", reply.text);
        let notes = reply.structured["notes"].to_string();
        assert!(notes.contains("functions") && notes.contains("64 KiB"), "{notes}");
    });
}
