//! Shells evaluate some texts twice: a subscript, a number or the name of a variable may hold a command substitution
//! that runs although it stands in quotes. Nothing of that kind is harmless, whichever builtin does it.

use windlass_exec_policy::{Rules, RulesFile, ShellKind, Verdict};

fn rules(text: &str) -> Rules {
    Rules::of(RulesFile::parse(text, "rules.toml").unwrap_or_else(|faults| panic!("{faults:?}")))
}

/// Nothing is allowed but what is harmless by itself.
fn nothing() -> Rules {
    rules("default = \"forbid\"")
}

/// Everything is allowed but this one command.
fn all_but_one() -> Rules {
    rules("[[rule]]\ncommand = [\"git\", \"push\"]\nverdict = \"forbid\"")
}

/// Scripts that run `@@` in bash although the text that holds it is quoted.
const EVALUATED: &[&str] = &[
    "[[ 'a[$(@@)]' -eq 0 ]]",
    "[[ 1 -lt 'a[$(@@)]' ]]",
    "[[ -v 'a[$(@@)]' ]]",
    "[[ ! -v 'a[$(@@)]' ]]",
    "test -v 'a[$(@@)]'",
    "[ -v 'a[$(@@)]' ]",
    "[ ! -v 'a[$(@@)]' ]",
    "[ a = a -a -v 'a[$(@@)]' ]",
    "x=-v; [ \"$x\" 'a[$(@@)]' ]",
    "x=-v; [ a = a -a \"$x\" 'a[$(@@)]' ]",
    "test -R 'a[$(@@)]'",
    "printf -v 'a[$(@@)]' x",
    "printf '-va[$(@@)]' x",
    "command printf -v 'a[$(@@)]' x",
    "builtin printf -v 'a[$(@@)]' x",
    "x='-va[$(@@)]'; printf \"$x\" y",
    "read 'a[$(@@)]' <<< x",
    "read -r x 'a[$(@@)]' <<< 'x y'",
    "a=(1); unset 'a[$(@@)]'",
    "a=(1); unset -v 'a[$(@@)]'",
    "let 'a[$(@@)]'",
    "let x=1 'a[$(@@)]=1'",
    "declare -i x='a[$(@@)]'",
    "declare -i x; x='a[$(@@)]'",
    "declare -i x; read x <<< 'a[$(@@)]'",
    "declare -i x; for x in 'a[$(@@)]'; do :; done",
    "declare -i x; printf -v x %s 'a[$(@@)]'",
    "declare -ri x='a[$(@@)]'",
    "declare -i x=1; eval \"x='a[\\$(@@)]'\"",
    "typeset -i x='a[$(@@)]'",
    "f() { local -i x=$1; }; f 'a[$(@@)]'",
    "declare -n x='a[$(@@)]'; : $x",
    "declare -n r='a[$(@@)]'; r=1",
    "declare -n r=x; declare -i x; r='a[$(@@)]'",
    "typeset 'a[$(@@)]=1'",
    "declare 'a[$(@@)]=1'",
    "f() { local 'a[$(@@)]=1'; }; f",
    "export 'a[$(@@)]=1'",
    "readonly 'a[$(@@)]=1'",
    "declare -a x='($(@@))'",
    "declare -a 'x=($(@@))'",
    "y='($(@@))'; declare -a x=\"$y\"",
    "x=(); declare x='($(@@))'",
    "x=(); y='($(@@))'; declare x=\"$y\"",
    "f() { local -a x='($(@@))'; }; f",
    "readonly -a x='($(@@))'",
    "declare -A x='([$(@@)]=1)'",
    "x='y a[$(@@)]=1'; command declare b=$x",
    "x='y a[$(@@)]=1'; builtin declare b=$x",
    "x='a[$(@@)]'; : ${PATH:x:1}",
    "x='a[$(@@)]'; : \"${PATH:0:x}\"",
    "x='a[$(@@)]'; : \"${@:x}\"",
    "x='a[$(@@)]'; : \"${*:x:1}\"",
    "x='a[$(@@)]'; : ${1:x}",
    "x='a[$(@@)]'; ((x))",
    "x='a[$(@@)]'; ((y = x + 1))",
    "x='a[$(@@)]'; : $((x))",
    "x='a[$(@@)]'; : \"$((x))\"",
    "x='a[$(@@)]'; : $(($x))",
    "x='a[$(@@)]'; : ${a[x]}",
    "x='a[$(@@)]'; : ${a[$x]}",
    "x='a[$(@@)]'; a[x]=1",
    "x='a[$(@@)]'; a=([x]=1)",
    "x='a[$(@@)]'; for ((x;0;)); do :; done",
    "x='a[$(@@)]'; : ${!x}",
    "x='a[$(@@)]'; [[ x -lt 1 ]]",
    "x='a[$(@@)]'; [[ $x -lt 1 ]]",
    "x='a[$(@@)]'; case y in $((x))) ;; esac",
    "x='a[$(@@)]'; exec {a[x]}>/dev/null",
    "x='a[$(@@)]'; : <<E\n$((x))\nE",
    "x='a[$(@@)]'; : <<< $((x))",
    "x='a[$(@@)]'; x=1 : ; if false; then x=1; fi; ((x))",
    "x='a[$(@@)]' bash -c '((x))'",
    "export x='a[$(@@)]'; bash -c 'if false; then x=1; fi; ((x))'",
    "env x='a[$(@@)]' bash -c '((x))'",
    "x='$(@@)'; : ${x@P}",
    "x='$(@@)'; : \"${x@P}\"",
    "sleep 0 & wait -n -p 'a[$(@@)]'",
    "x='-pa[$(@@)]'; sleep 0 & wait -n \"$x\"",
    "getopts ab 'a[$(@@)]' -a",
    "RANDOM='a[$(@@)]'",
    "OPTIND='a[$(@@)]'",
    "HISTCMD='a[$(@@)]'",
    "SRANDOM='a[$(@@)]'",
    "read RANDOM <<< 'a[$(@@)]'",
    "for RANDOM in 'a[$(@@)]'; do :; done",
    ": 'a[$(@@)]'; (( _ ))",
    "PS4='$(@@)'; set -x; :",
    "PROMPT_COMMAND='@@'",
    "select x in 'a[$(@@)]'; do ((x)); done <<< 1",
    "for x in 'a[$(@@)]'; do ((x)); done",
    "f() { : $(($1)); }; f 'a[$(@@)]'",
    "set -- 'a[$(@@)]'; : $(($1))",
    "read x <<< 'a[$(@@)]'; ((x))",
    "mapfile x <<< 'a[$(@@)]'; ((x))",
    "x=$(echo 'a[$(@@)]'); ((x))",
    "printf -v x 'a[\\044(@@)]'; ((x))",
    "printf -v x '%s' 'a[$(@@)]'; ((x))",
    ": \"${x:='a[$(@@)]'}\"; ((x))",
    "x=1; x+='+a[$(@@)]'; ((x))",
    "mapfile -C '@@' -c 1 x <<< y",
    "readarray -c1 -C'@@' x <<< y",
    "trap '@@' EXIT",
    "trap -- '@@' DEBUG; :",
    "compgen -W '$(@@)'",
    "compgen -C '@@'",
    "complete -C '@@' x",
    "complete -F @@ x",
    "bind -x '\"a\":@@'",
    "enable -f ./x.so y",
    "coproc @@",
    "exec {x}> >(@@)",
    ": > >(@@)",
    ": < <(@@)",
    ": <<E\n$(@@)\nE",
    ": <<< \"$(@@)\"",
    "git() { :; }; unset -f git; @@",
    "git() { :; }; command @@",
    "(git() { :; }); @@",
    "if false; then git() { :; }; fi; @@",
    "@@; git() { :; }",
    "git=1; BASH_CMDS[git]=./evil; git push",
    "declare -A BASH_ALIASES=([1]=x)",
    "ls=1; BASH_CMDS[ls]='@@'",
    "read 'BASH_CMDS[ls]' <<< x",
    "declare 'PROMPT_COMMAND[0]=@@'",
    "jobs -lx @@",
    "set -o history; set -H; echo x; !!",
    "eval() { :; }; eval @@",
    "bash -c 'git() { :; }'; @@",
];

#[test]
fn what_evaluates_a_text_twice_is_not_harmless() {
    let rules = nothing();
    let allowed: Vec<&str> = EVALUATED
        .iter()
        .copied()
        .filter(|script| {
            let script = script.replace("@@", "git push");
            rules.judge_script(&script, ShellKind::Bash).verdict == Verdict::Allow
        })
        .collect();
    assert!(allowed.is_empty(), "{} are allowed: {allowed:#?}", allowed.len());
}

#[test]
fn a_command_in_a_text_that_is_evaluated_is_not_run_silently_though_all_else_is_allowed() {
    let rules = all_but_one();
    let allowed: Vec<&str> = EVALUATED
        .iter()
        .copied()
        .filter(|script| {
            let script = script.replace("@@", "git push");
            rules.judge_script(&script, ShellKind::Bash).verdict == Verdict::Allow
        })
        .filter(|script| *script != "enable -f ./x.so y")
        .collect();
    assert!(allowed.is_empty(), "{} are allowed: {allowed:#?}", allowed.len());
}

#[test]
fn other_shells_evaluate_more() {
    let rules = nothing();
    for script in [
        "[ 'path[$(@@)]' -eq 0 ]",
        "test 1 -lt 'path[$(@@)]'",
        "printf '%d' 'path[$(@@)]'",
        "exit 'path[$(@@)]'",
        "shift 'path[$(@@)]'",
        "read -t 'path[$(@@)]' x",
        "emulate sh -c '@@'",
        "print -v 'path[$(@@)]' x",
        "print -P '$(@@)'",
        "setopt promptsubst",
        "setopt globsubst; x='*(e:\"@@\":)'; : $x",
        "x='$(@@)'; : ${(e)x}",
        "x='path[$(@@)]'; : $path[x]",
        "set -A 'path[$(@@)]' x",
        "integer x='path[$(@@)]'",
        "float x='path[$(@@)]'",
        "repeat 'path[$(@@)]' :",
        "SHLVL='path[$(@@)]'",
        "NULLCMD=@@; < file",
        "ulimit -c 'path[$(@@)]'",
        "eval '=git push'",
        "functions[f]='@@'; :",
        "f=1; functions[f]='@@'",
        "commands[1]=x",
        "typeset 'aliases[1]=@@'",
        "x='*(e:git\\ push:)'; : $~x",
        "x='*(e:git\\ push:)'; : \"${~x}\"",
    ] {
        let script = script.replace("@@", "git push");
        let judgement = rules.judge_script(&script, ShellKind::Zsh);
        assert!(judgement.verdict > Verdict::Allow, "{script}");
    }
}

#[test]
fn what_is_provably_a_number_or_a_name_stays_harmless() {
    let rules = nothing();
    for script in [
        "for i in 1 2 3; do echo $((i * 2)); done",
        "for i in {1..10}; do (( i > 3 )) && echo \"$i\"; done",
        "for ((i = 0; i < 3; i++)); do echo $i; done",
        "i=0; while [ \"$i\" -lt 3 ]; do i=$((i + 1)); done",
        "x=5; y=x; echo $((y + 0x1f))",
        "n=${#PATH}; [[ $n -gt 0 ]] && echo ${PATH:0:3}",
        "[[ $# -gt 1 ]] && shift",
        "f() { local x=\"$1\"; echo \"${x:-none}\" \"${x:0:1}\"; }; f a",
        "x=$?; exit $x",
        "a=(1 2 3); echo \"${a[@]}\" ${a[0]} ${#a[@]} \"${a[@]:1:2}\"",
        "let 1+2",
        "declare -i n=3; n=4; echo $n",
        "declare -r x=1; export y=2; readonly z",
        "read -r line; read -p 'name: ' -t 5 a b",
        "[ -f x ] && [ \"$x\" = y ] && test -n \"$y\"",
        "printf '%s\\n' \"$x\"; printf -v y %d 3",
        "unset x y; unset -f g",
        "set -euo pipefail; set -- a b; shopt -s nullglob",
        "sleep 0 & p=$!; wait $p; wait -n",
        "trap : EXIT; trap - INT",
        "getopts ab: opt; history; history 5; umask 022; ulimit -n 1024; ulimit -c unlimited",
        "x='costs $5'; echo \"$x\"",
        "RANDOM=3; OPTIND=1",
        "echo x 2>&1 >/dev/null 3>&- 4<&0",
        "cd /tmp && pwd; pushd x; popd; dirs; type ls; hash -r; jobs -l; times",
    ] {
        let judgement = rules.judge_script(script, ShellKind::Bash);
        assert_eq!(judgement.verdict, Verdict::Allow, "{script}: {:#?}", judgement.parts);
    }
}
