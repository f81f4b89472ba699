//! The meaning of rules: beginnings of commands, the strictest match, defaults, and commands that need no rule.

use windlass_exec_policy::Verdict::{Allow, Ask, Forbid};
use windlass_exec_policy::{Reason, Rules, RulesFile, ShellKind, Verdict};

fn rules(text: &str) -> Rules {
    Rules::of(RulesFile::parse(text, "rules.toml").unwrap_or_else(|faults| panic!("{faults:?}")))
}

#[track_caller]
fn check(text: &str, cases: &[(&str, Verdict)]) {
    let rules = rules(text);
    for (script, expected) in cases {
        let judgement = rules.judge_script(script, ShellKind::Bash);
        assert_eq!(judgement.verdict, *expected, "{script}: {:#?}", judgement.parts);
    }
}

const CAREFUL: &str = r#"
default = "ask"
[[rule]]
command = ["git", ["status", "log", "diff"]]
verdict = "allow"
[[rule]]
command = ["cargo"]
verdict = "allow"
[[rule]]
command = ["cargo", "publish"]
verdict = "forbid"
[[rule]]
command = ["./run.sh"]
verdict = "allow"
[[rule]]
command = ["sudo"]
verdict = "ask"
[[rule]]
command = ["python3", "-c"]
verdict = "allow"
[[rule]]
command = ["git", "lfs"]
verdict = "allow"
[[rule]]
command = ["ls"]
verdict = "allow"
"#;

#[test]
fn a_rule_speaks_of_commands_that_begin_with_its_words() {
    check(
        CAREFUL,
        &[
            ("git status", Allow),
            ("git status --short", Allow),
            ("git log -5 | ls", Allow),
            ("git commit", Ask),
            ("git", Ask),
            ("git statusx", Ask),
            ("cargo build && cargo test", Allow),
            ("cargo publish", Forbid),
            ("cargo build && cargo publish", Forbid),
            ("cargo +nightly publish", Forbid),
            ("cargo --quiet publish", Forbid),
            ("cargo --config x publish", Forbid),
        ],
    );
}

#[test]
fn an_allowing_rule_must_be_met_exactly() {
    check(
        CAREFUL,
        &[
            ("git \"$x\"", Ask),
            ("git sta*", Ask),
            ("git -C sub status", Allow),
            ("git --surprise status", Ask),
            ("/usr/bin/git status", Allow),
            ("/tmp/git status", Ask),
            ("./git status", Ask),
            ("~/bin/git status", Ask),
            ("./run.sh --fast", Allow),
            ("run.sh", Ask),
            ("$cargo test", Ask),
            ("cargo test \"$filter\" *.rs", Allow),
            ("git lfs pull", Allow),
            ("git flow init", Ask),
        ],
    );
}

#[test]
fn what_only_carries_a_command_needs_no_rule() {
    check(
        CAREFUL,
        &[
            ("env A=b git status", Allow),
            ("timeout 5 cargo test", Allow),
            ("bash -c 'git status; ls'", Allow),
            ("git log | xargs ls", Allow),
            ("time cargo build", Allow),
            ("command git status", Allow),
            ("./env git status", Ask),
            ("env id", Ask),
            ("sudo git status", Ask),
            ("ssh host git status", Ask),
            ("find . -exec ls {} +", Ask),
        ],
    );
}

#[test]
fn what_changes_nothing_outside_the_shell_needs_no_rule() {
    check(
        CAREFUL,
        &[
            ("cd sub && git status", Allow),
            ("if [ -f x ]; then echo yes; else exit 1; fi", Allow),
            ("x=$(git log -1); echo \"$x\"", Allow),
            ("echo x > file", Ask),
            ("{ echo x; } >> file", Ask),
            ("echo x > /dev/null 2>&1", Allow),
            ("f() { git status; }; f", Allow),
            ("f() { id; }; f", Ask),
            ("g", Ask),
        ],
    );
}

#[test]
fn code_of_other_languages_is_asked_about_unless_a_rule_names_it() {
    check(CAREFUL, &[("python3 -c 'print(1)'", Allow), ("python3 x.py", Ask), ("perl -e 1", Ask)]);
    let lax = "[[rule]]\ncommand = [\"python3\"]\nverdict = \"allow\"\n";
    check(lax, &[("python3 -c 1", Allow), ("perl -e 1", Allow), ("node x.js", Allow)]);
    let strict = format!("{lax}[[rule]]\ncommand = [\"rm\"]\nverdict = \"ask\"\n");
    check(&strict, &[("python3 -c 1", Ask), ("python3 x.py", Allow), ("perl -e 1", Ask), ("make", Allow)]);
}

#[test]
fn a_default_may_forbid() {
    let text = "default = \"forbid\"\n[[rule]]\ncommand = [\"ls\"]\nverdict = \"allow\"\n";
    check(
        text,
        &[("ls -l", Allow), ("id", Forbid), ("ls; id", Forbid), ("$x", Forbid), ("ls $(id)", Forbid)],
    );
}

#[test]
fn without_a_default_everything_else_is_allowed() {
    check(
        "[[rule]]\ncommand = [\"rm\"]\nverdict = \"ask\"\n",
        &[("ls", Allow), ("rm x", Ask), ("/bin/rm x", Ask)],
    );
    check("", &[("ls", Allow), ("$x", Ask), ("python3 -c 1", Allow)]);
}

#[test]
fn every_part_says_who_spoke() {
    let text = "\n[[rule]]\ncommand = [\"git\", \"push\"]\nverdict = \"ask\"\nwhy = \"pushes need a person's word\"\n";
    let judgement = rules(text).judge_script("cd x && sudo git push origin", ShellKind::Bash);
    let shown: Vec<String> = judgement.parts.iter().map(ToString::to_string).collect();
    assert_eq!(
        shown,
        [
            "`cd x`: it changes nothing outside the shell",
            "`sudo git push origin`: no rule speaks of it",
            "`git push origin` (in sudo): rule `git push` at rules.toml:2: pushes need a person's word",
        ]
    );
    assert_eq!(judgement.explanation(), shown[2]);
    let Reason::Rule(speaker) = &judgement.parts[2].reason else { panic!("{judgement:?}") };
    assert_eq!((speaker.line, speaker.command.as_str()), (2, "`git push`"));
}

#[test]
fn what_is_shown_of_a_command_is_bounded() {
    let script = format!("echo {} && git push", "x".repeat(10_000));
    let judgement = rules("").judge_script(&script, ShellKind::Bash);
    assert!(judgement.parts.iter().all(|part| part.text.chars().count() <= 201), "{judgement:?}");
}
