//! Builtins of bash and zsh that run a command, or evaluate a text that does. Each script runs `touch P` in the shell
//! that it is for; rules that forbid `touch` forbid it or ask about it, and so do rules that allow nothing.

use windlass_exec_policy::{Rules, RulesFile, ShellKind, Verdict};

#[track_caller]
fn none_is_allowed(shell: ShellKind, scripts: &[&str]) {
    for text in ["default = \"forbid\"", "[[rule]]\ncommand = [\"touch\"]\nverdict = \"forbid\""] {
        let rules = Rules::of(RulesFile::parse(text, "rules.toml").expect("it is well formed"));
        let is_allowed = |script: &&&str| rules.judge_script(script, shell).verdict == Verdict::Allow;
        let allowed: Vec<&&str> = scripts.iter().filter(is_allowed).collect();
        assert!(allowed.is_empty(), "{text}: {} are allowed: {allowed:#?}", allowed.len());
    }
}

#[test]
fn what_bash_runs_by_its_builtins_is_found() {
    none_is_allowed(
        ShellKind::Bash,
        &[
            "history -s \"touch P\"; fc -s",
            "mapfile -C \"touch P;:\" -c1 x < /etc/passwd",
            "mapfile -tC\"touch P;:\" -c1 x < /etc/passwd",
            "mapfile -c1 -C \"touch P;:\" < /etc/passwd",
            "readarray -t -c 1 -C \"touch P;:\" < /etc/passwd",
            "compgen -C \"touch P\" x",
            "compgen -W \"\\$(touch P)\" x",
            "f() { touch P; }; compgen -F f x",
            "hash -p /bin/touch foo; foo P",
            "coproc touch P; wait",
            "coproc x { touch P; }; wait",
            "sleep 0 & wait -n -p \"x[\\$(touch P)]\"",
            "source /dev/stdin <<< \"touch P\"",
            ". /dev/fd/0 <<< \"touch P\"",
            ". <(echo touch P)",
            "shopt -s expand_aliases; alias x=\"touch P\"; eval x",
            "BASH_ALIASES[x]=\"touch P\"; shopt -s expand_aliases; eval x",
            "BASH_CMDS[foo]=/bin/touch; foo P",
            "declare BASH_CMDS[foo]=/bin/touch; foo P",
            "read BASH_CMDS[foo] <<< /bin/touch; foo P",
            "printf -v BASH_CMDS[foo] /bin/touch; foo P",
            "trap \"touch P\" EXIT",
            "trap -- \"touch P\" 0",
            "trap \"touch P\" DEBUG; :",
            "trap \"touch P\" ERR; false",
            "x=\"touch P\"; trap \"$x\" EXIT",
            "printf -v \"x[\\$(touch P)]\" y",
            "test -v \"x[\\$(touch P)]\"",
            "declare -n y=\"x[\\$(touch P)]\"; y=1",
            "declare -n y=\"x[\\$(touch P)]\"; echo $y",
            "declare -i x=\"y[\\$(touch P)]\"",
            "x=(\"\\$(touch P)\"); echo \"${x[@]@P}\"",
            "x=\"\\$(touch P)\"; echo \"${x@P}\"",
            "command_not_found_handle() { touch P; }; nosuch",
            "jobs -x touch P",
            "select x in a; do touch P; break; done <<< 1",
            "let \"x[\\$(touch P)]\"",
            "bash --rcfile <(echo touch P) -i -c exit",
            "exec -c touch P",
            "exec -la x touch P",
            "complete -C \"touch P\" x",
            "bind -x '\"a\": touch P'",
            "enable -f ./x y",
            "PROMPT_COMMAND=\"touch P\"",
            "getopts a \"x[\\$(touch P)]\" -a",
            "echo \"touch P\" | source /dev/stdin",
            "alias x=\"touch P\"",
            "fc -e \"touch P\" 1",
        ],
    );
}

#[test]
fn what_zsh_runs_by_its_builtins_is_found() {
    none_is_allowed(
        ShellKind::Zsh,
        &[
            "zmodload zsh/files; mkdir P",
            "setopt promptsubst; print -P \"\\$(touch P)\"",
            "x=\"\\$(touch P)\"; echo ${(e)x}",
            "x=\"touch P\"; echo ${(f)\"$(eval $x)\"}",
            "touch y; echo *(e:\"touch P\":)",
            "f(){touch P}; touch y; echo y(+f)",
            "read -u 0 \"x[\\$(touch P)]\"",
            "read -A \"x[\\$(touch P)]\"",
            "read -E \"x[\\$(touch P)]\" < /etc/passwd",
            "read -u0 -d: \"x[\\$(touch P)]\" < /etc/passwd",
            "printf -v \"x[\\$(touch P)]\" y",
            "print -v \"x[\\$(touch P)]\" y",
            "set -A \"x[\\$(touch P)]\" y",
            "typeset \"x[\\$(touch P)]\"=y",
            "export \"x[\\$(touch P)]\"=y",
            "zformat -f \"x[\\$(touch P)]\" a b:c",
            "zstyle -s a b \"x[\\$(touch P)]\"; zstyle -e a b \"touch P\"; zstyle -s a b c",
            "functions -M f 0 0 g; g() { touch P }; (( f() ))",
            "hash -d x=/; hash foo=/bin/touch; foo P",
            "alias -g x=\"; touch P\"; eval \"true x\"",
            "aliases[foo]=\"touch P\"; eval foo",
            "functions[foo]=\"touch P\"; foo",
            "commands[foo]=/bin/touch; foo P",
            "builtin eval \"touch P\"",
            "TRAPEXIT() { touch P }",
            "zshexit() { touch P }",
            "zshexit_functions=(f); f() { touch P }",
            "command_not_found_handler() { touch P }; nosuch",
            "source =(echo touch P)",
            "echo ${x[$(touch P)]}",
            "coproc touch P; sleep 0.2",
            "emulate -R zsh -c \"touch P\"",
            "emulate sh -c \"touch P\"",
            "noglob touch P",
            "exec -a x touch P",
            "command -p touch P",
            "echo ${(l.x[$(touch P)].)y}",
            "zregexparse \"x[\\$(touch P)]\" y z",
            "getln \"x[\\$(touch P)]\"",
            "zle -N x; bindkey -s x \"touch P\"",
            "sched +0 touch P",
            "zpty a touch P",
            "print -s \"touch P\"; fc -e -",
            "autoload -X",
            "alias -s txt=\"touch P\"",
        ],
    );
}

#[test]
fn builtins_that_run_nothing_need_no_rule() {
    let rules = Rules::of(RulesFile::parse("default = \"forbid\"", "rules.toml").expect("it is well formed"));
    for (shell, script) in [
        (ShellKind::Zsh, "read -u 3 x y"),
        (ShellKind::Zsh, "read -r -d : x"),
        (ShellKind::Zsh, "while read -r line; do echo $line; done < x"),
        (ShellKind::Bash, "read -u 3 x y"),
        (ShellKind::Bash, "mapfile -t lines < x; echo \"${#lines[@]}\""),
        (ShellKind::Bash, "printf -v x '%s' y; wait -n; getopts ab: o -a; hash -r; trap - EXIT"),
    ] {
        let judgement = rules.judge_script(script, shell);
        assert_eq!(judgement.verdict, Verdict::Allow, "{shell:?}: {script}: {:#?}", judgement.parts);
    }
}

/// Files that builtins write need a rule where commands need one.
#[test]
fn builtins_that_write_files_need_a_rule() {
    let rules = Rules::of(RulesFile::parse("default = \"forbid\"", "rules.toml").expect("it is well formed"));
    for (shell, script) in [
        (ShellKind::Bash, "history -w M"),
        (ShellKind::Bash, "history -a M"),
        (ShellKind::Bash, "history -n M"),
        (ShellKind::Bash, "exec > M"),
        (ShellKind::Bash, "exec {x}> M"),
        (ShellKind::Bash, "HISTFILE=M; set -o history"),
        (ShellKind::Zsh, "print -n x > M"),
        (ShellKind::Zsh, "print x >! M"),
        (ShellKind::Zsh, "fc -W M"),
        (ShellKind::Zsh, "fc -p M; print -s x; fc -P"),
        (ShellKind::Zsh, "zcompile M x"),
        (ShellKind::Zsh, "zmodload zsh/system; sysopen -w -o creat -u 3 M"),
        (ShellKind::Zsh, "zmodload zsh/mapfile; mapfile[M]=x"),
        (ShellKind::Zsh, "zsystem flock M"),
        (ShellKind::Zsh, "ztcp localhost 80"),
    ] {
        let judgement = rules.judge_script(script, shell);
        assert_ne!(judgement.verdict, Verdict::Allow, "{shell:?}: {script}");
    }
}
