//! Messages for a wrong command line or a wrong command, and the help.

use crate::rig::Home;

fn check(words: &[&str], code: i32, said: &[&str]) {
    let seen = Home::new("usage").seen(words);
    assert_eq!(seen.code, code, "{words:?} {seen:?}");
    assert_eq!(seen.stdout, "", "{words:?}");
    for text in said {
        assert!(seen.stderr.contains(text), "{words:?} does not say {text:?}: {}", seen.stderr);
    }
}

#[test]
fn a_wrong_argument_is_named_with_exit_2() {
    check(&["run", "--timeout", "5x", "true"], 2, &["windlass: ", "`5x` is not a time", "--timeout"]);
    check(&["run", "--idle", "-1", "true"], 2, &["-1"]);
    check(&["run", "--until", "(", "true"], 2, &["not a regular expression", "unclosed group"]);
    check(&["run", "--tty", "--size", "big", "true"], 2, &["`big` is not a size", "24x80"]);
    check(&["run", "--env", "=x", "true"], 2, &["`=x` has no name"]);
    check(&["run", "--name", "1001", "true"], 2, &["`1001` is not a name"]);
    check(&["run", "--max-tokens", "many", "true"], 2, &["many"]);
    check(&["run", "--view", "colour", "true"], 2, &["colour", "text, raw, screen"]);
    check(&["run", "--no-such-option", "true"], 2, &["--no-such-option"]);
    check(&["run"], 2, &["COMMAND"]);
    check(&["walk"], 2, &["walk"]);
    check(&["log", "1", "--lines", "9..3"], 2, &["9..3"]);
    check(&["log", "1", "--span", "x"], 2, &["`x` is not a span"]);
    check(&["log", "1", "--lines", "1", "--tail", "1"], 2, &["--lines", "--tail"]);
}

#[test]
fn values_that_cannot_work_are_named_with_what_can() {
    check(&["run", "--memory", "1K", "true"], 2, &["`1K` of memory is too little", "the least is 1M"]);
    check(&["mcp", "--total", "memory=9", "--http", "0"], 2, &["the least is 1M"]);
    check(&["mcp", "--http", "nowhere"], 2, &["`nowhere` is not an address", "127.0.0.1:8787", "or a port"]);
    check(&["mcp", "--http", "0.0.0.0:0"], 1, &["can be reached from other machines"]);
    let run = |option: &str, value: &str, said: &[&str]| {
        check(
            &["run", "--sandbox", "read-only", option, value, "--", "true"],
            2,
            &[said, &[option]].concat(),
        );
    };
    run("--network", "off,example.com", &["`off` stands alone"]);
    run("--network", "", &["off, loopback, on, or hosts"]);
    run("--network", "localhost", &["`loopback`", "`localhost:PORT`"]);
    run("--writable", "", &["it is empty"]);
    run("--deny-read", "", &["it is empty"]);
    check(&["run", "--sandbox", "", "--", "true"], 2, &["--sandbox is empty", "workspace-write"]);
}

#[test]
fn options_about_connections_are_refused_where_there_are_none() {
    for server in ["app-server", "exec-server"] {
        for option in [&["--insecure-loopback"][..], &["--allow-remote"], &["--host", "box"]] {
            for listen in [&[][..], &["--stdio"], &["--listen", "stdio://"]] {
                check(&[&[server], listen, option].concat(), 2, &[option[0], "goes with --listen ws://"]);
            }
        }
    }
}

#[test]
fn options_that_do_not_go_together_say_so() {
    check(&["run", "--view", "screen", "true"], 2, &["--view screen needs --tty"]);
    for option in ["--until=x", "--idle=1s", "--max-tokens=9", "--view=text", "--tokenizer=bytes4"] {
        let name = option.split('=').next().unwrap_or_default();
        check(&["run", "--detach", option, "true"], 2, &[name, "--detach"]);
    }
    check(&["run", "--detach", "--stdin", "inherit", "true"], 2, &["--stdin inherit", "--detach"]);
    check(&["run", "--size", "24x80", "true"], 2, &["--tty"]);
    let home = Home::new("usage-log");
    home.seen(&["run", "--", "true"]);
    let seen = home.seen(&["log", "1001", "--view", "screen"]);
    assert_eq!(seen.code, 2);
    assert!(seen.stderr.contains("session 1001 has no screen"), "{seen:?}");
}

#[test]
fn a_command_that_cannot_start_has_the_codes_shells_use_and_a_hint() {
    check(
        &["run", "--", "no-such-program"],
        127,
        &["windlass: program not found: no-such-program", "hint: "],
    );
    check(&["run", "--", "/etc/passwd"], 126, &["/etc/passwd", "hint: "]);
    check(&["run", "--cwd", "/no/such/directory", "--", "true"], 125, &["/no/such/directory", "hint: "]);
}

/// A code of 1 would be taken for the command's own.
#[test]
fn a_run_that_fails_for_a_reason_of_its_own_exits_with_125() {
    check(&["run", "--sandbox", "/no/policy.toml", "--", "true"], 125, &["/no/policy.toml"]);
    let unknown = ["run", "--sandbox", "read-only", "--deny-read", "~other/x", "--", "true"];
    check(&unknown, 125, &["~other/x"]);
    // A value that no machine could enforce is an error in the use of the option.
    let hosts = ["run", "--sandbox", "read-only", "--network", "a..b:x", "--", "true"];
    check(&hosts, 2, &["--network a..b:x"]);
    let home = ["run", "--sandbox", "read-only", "--writable", "/", "--", "true"];
    check(&home, 125, &["cannot make / writable"]);
    check(
        &["run", "--detach", "--sandbox", "read-only", "--writable", "/", "--", "true"],
        125,
        &["writable"],
    );
    let token = ["run", "--server", "unix:///nowhere", "--token-file", "/nowhere", "--", "true"];
    check(&token, 125, &["cannot read the token in /nowhere"]);
}

#[test]
fn a_sandbox_says_what_of_the_words_about_it_has_no_effect() {
    let home = Home::new("usage-sandbox");
    let run = |words: &[&str]| home.seen(&[&["run", "--sandbox"], words].concat());
    let seen = run(&["read-only", "--writable", "zzz*", "--", "true"]);
    assert!(
        seen.code == 0 && seen.stderr.contains("`zzz*` was to be writable, but nothing matches"),
        "{seen:?}"
    );
    let seen = run(&["read-only", "--deny-read", "/etc/shaddow", "--deny-read", "**/.envv", "--", "true"]);
    for remark in [
        "`/etc/shaddow` was to be hidden, but there is no /etc/shaddow",
        "`**/.envv` was to be hidden, but nothing",
    ] {
        assert!(seen.code == 0 && seen.stderr.contains(remark), "{seen:?}");
    }
    let seen = run(&["read-only", "--deny-read", "/etc/passwd", "--", "true"]);
    assert_eq!((seen.code, seen.stderr.as_str()), (0, ""), "{seen:?}");
    let seen = run(&["read-only", "--network", "localhost:1", "--", "true"]);
    assert!(seen.stderr.contains("reached as localhost; 127.0.0.1 or ::1 is the sandbox's own"), "{seen:?}");
    let seen = run(&["read-only", "--deny-read", "/usr/bin/true", "--", "true"]);
    assert!(seen.code == 126 && seen.stderr.contains("the sandbox does not let"), "{seen:?}");
    assert!(seen.stderr.contains("deny /usr/bin/true") && !seen.stderr.contains("chmod"), "{seen:?}");
    // The name in Codex and in the protocols.
    assert_eq!(run(&["danger-full-access", "--", "true"]).code, 0);
}

#[test]
fn help_has_examples() {
    let home = Home::new("help");
    for verb in ["", "run", "log", "ps", "stop", "mcp", "mcp install", "doctor"] {
        let words: Vec<&str> = verb.split_whitespace().chain(["--help"]).collect();
        let seen = home.seen(&words);
        assert_eq!(seen.code, 0);
        assert!(seen.stdout.contains("Examples:\n  windlass "), "{words:?} {}", seen.stdout);
    }
    assert!(home.seen(&["--version"]).stdout.starts_with("windlass "));
}

#[test]
fn completions_know_the_verbs() {
    let home = Home::new("completions");
    for shell in ["bash", "zsh", "fish"] {
        let seen = home.seen(&["completions", shell]);
        assert!(seen.stdout.contains("--max-tokens") || seen.stdout.contains("max-tokens"), "{shell}");
        assert!(!seen.stdout.contains("guardian"), "{shell}");
    }
}

#[test]
fn a_slip_in_the_words_of_a_sandbox_is_named_with_what_to_write() {
    let home = Home::new("slips");
    for (words, expected) in [
        (&["sandbox", "explain", "workspace-write"][..], "write --policy workspace-write"),
        (&["sandbox", "explain", "-C", "/no/such/place"], "/no/such/place: there is no such directory"),
        (&["sandbox", "explain", "--network", "https://x.y"], "`https://x.y` cannot be listed: it is a URL"),
        (&["run", "--sandbox", "workspace", "--", "true"], "did you mean `workspace-write`?"),
        (&["run", "--sandbox-layers", "landlock", "--", "true"], "--sandbox <POLICY>"),
        (&["run", "--sandbox", "external", "--network", "off", "--", "true"], "leave --network out"),
    ] {
        let seen = home.seen(words);
        assert_eq!(seen.code, 2, "{words:?}: {seen:?}");
        assert!(seen.stderr.contains(expected), "{words:?}: {seen:?}");
    }
}

/// They were once listed under the heading of `--portable`, the option before them.
#[test]
fn options_of_the_agent_are_not_listed_as_settings_to_take_along() {
    let home = Home::new("usage-headings");
    let told = home.seen(&["agent", "-h"]).stdout;
    let (before, after) = told.split_once("Settings to take along:").expect("a heading");
    for option in ["-m, --model", "-c, --config", "-s, --sandbox"] {
        assert!(before.contains(option) && !after.contains(option), "{option}: {told}");
    }
    assert!(after.contains("--portable"), "{told}");
}
