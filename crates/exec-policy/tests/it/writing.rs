//! A builtin whose output goes into a file, or that writes a file itself, needs a rule: in every construct.

use windlass_exec_policy::{Rules, RulesFile, ShellKind, Verdict};

#[track_caller]
fn check(default: &str, scripts: &[&str], allowed: bool) {
    let text = format!("default = \"{default}\"");
    let rules = Rules::of(RulesFile::parse(&text, "rules.toml").expect("it is well formed"));
    for script in scripts {
        let judgement = rules.judge_script(script, ShellKind::Bash);
        assert_eq!(
            judgement.verdict == Verdict::Allow,
            allowed,
            "{default}: {script}: {:#?}",
            judgement.parts
        );
    }
}

const WRITING: &[&str] = &[
    "> file",
    ">> file",
    ">| file",
    "&> file",
    "&>> file",
    "<> file",
    "2> file",
    ">& file",
    "{fd}> file",
    "x=1 > file",
    "> \"$file\"",
    "> $(echo file)",
    ": > file",
    "echo x >file",
    "echo x >&file",
    "echo x 1<>file",
    "echo x >&$fd",
    "[[ a ]] > file",
    "(( 1 )) > file",
    "{ x=1; } > file",
    "( x=1 ) > file",
    "{ :; } > file",
    "if :; then :; fi > file",
    "if x=1; then y=1; fi > file",
    "for x in a; do y=$x; done > file",
    "for ((;;)); do break; done > file",
    "while false; do :; done > file",
    "while x=; do y=; done > file",
    "until x=1; do y=1; done > file",
    "case x in x) ;; esac > file",
    "case x in x) y=1;; esac > file",
    "f() { x=1; } > file; f",
    "f() [[ a ]] > file",
    "function f { x=1; } > file",
    "exec > file",
    "exec 3> file",
    "exec {fd}> file",
    "exec 3<> file",
    "select x in a; do y=1; done > file",
    "time x=1 > file",
    "! x=1 > file",
    "coproc x { y=1; } > file",
    "echo $(> file)",
    "x=$(: > file)",
    "cat() { :; } > file",
    ": < /dev/tcp/example.com/80",
    "exec 3<> /dev/tcp/example.com/80",
    "exec 3< /dev/udp/example.com/53",
    "read x < \"$file\"",
    "echo x > /dev/tcp/example.com/80",
    "x=1 < /dev/tcp/example.com/80",
    "{ x=1; } < /dev/tcp/example.com/80",
    "history -w",
    "history -w file",
    "history -a file",
    "history -r file",
    "history -s 'x'",
    "fc -l",
    "command echo x > file",
    "builtin echo x > file",
    "eval 'echo x > file'",
    "eval 'x=1' > file",
    "trap 'echo x > file' EXIT",
    "command -v git > file",
    "bash -c ': > file'",
    "bash -c 'x=1' > file",
    "timeout 5 echo x > file",
    "env > file",
    "GIT_TRACE=/tmp/file :",
    "export GIT_TRACE2_EVENT=/tmp/file",
];

#[test]
fn what_writes_a_file_needs_a_rule() {
    check("ask", WRITING, false);
    check("forbid", WRITING, false);
}

#[test]
fn zsh_writes_a_file_where_bash_moves_a_descriptor() {
    let rules = Rules::of(RulesFile::parse("default = \"forbid\"", "rules.toml").expect("it is well formed"));
    for (shell, allowed) in [(ShellKind::Bash, true), (ShellKind::Zsh, false), (ShellKind::Posix, false)] {
        let judgement = rules.judge_script(": 3>&1-", shell);
        assert_eq!(judgement.verdict == Verdict::Allow, allowed, "{shell:?}: {:#?}", judgement.parts);
    }
}

#[test]
fn what_writes_nowhere_needs_none() {
    let harmless = [
        ": > /dev/null",
        "echo x >&2",
        "echo x 2>&1 >/dev/null",
        "echo x >/dev/stderr 2>/dev/stdout",
        "exec 2>&1",
        "exec 3>&-",
        "{ echo x; } 2>/dev/null",
        "for x in a; do y=$x; done >/dev/null 2>&1",
        "read x < file",
        "while read -r x; do echo \"$x\"; done < list.txt",
        "[[ a ]] 2>/dev/null",
        "&>/dev/null :",
        "cd x >/dev/null && pwd",
        "GIT_TRACE=1 :",
    ];
    check("ask", &harmless, true);
    check("forbid", &harmless, true);
}

#[test]
fn where_everything_is_allowed_files_may_be_written() {
    let asked = ["fc -l"];
    let scripts: Vec<&str> = WRITING.iter().copied().filter(|script| !asked.contains(script)).collect();
    check("allow", &scripts, true);
}
