//! Variables on which it depends what later commands run, set in ways that are not assignments: by arithmetic,
//! descriptors, coprocesses, references and builtins.

use windlass_exec_policy::{Rules, RulesFile, ShellKind, Verdict};

/// A number is a directory too: with `PATH=1`, programs are looked for below `./1`.
const ASSIGNING: &[&str] = &[
    "((PATH=1)); cat x",
    "(( PATH = 1 )); cat x",
    "((PATH+=1)); cat x",
    "((PATH++)); cat x",
    "((++PATH)); cat x",
    "((x = PATH = 1)); cat x",
    "((1 ? PATH=1 : 0)); cat x",
    "((PATH[0]=1)); cat x",
    "((\"PATH\"=1)); cat x",
    "x=; ((PATH$x=1)); cat x",
    "echo $((PATH=1)); cat x",
    "echo \"$((PATH=1))\"; cat x",
    "cat x$((PATH=1)) y; cat x",
    "echo $[PATH=1]; cat x",
    "let PATH=1; cat x",
    "let 'x=PATH=1'; cat x",
    "let PATH++; cat x",
    "let ++PATH; cat x",
    "let 'PATH |= 1'; cat x",
    "for ((PATH=1; 0; )); do :; done; cat x",
    "for ((i=0; i<1; i+=PATH=1)); do cat x; done",
    "x=abc; echo ${x:PATH=1}; cat x",
    "x=abc; echo ${x:0:PATH=1}; cat x",
    "x=abc; echo \"${x: PATH=1}\"; cat x",
    "a=(1 2); echo ${a[PATH=1]}; cat x",
    "a[PATH=1]=2; cat x",
    "a=([PATH=1]=2); cat x",
    "[[ PATH=1 -eq 1 ]]; cat x",
    "[[ 1 -eq 'PATH=1' ]]; cat x",
    "[[ -v 'a[PATH=1]' ]]; cat x",
    "test -v 'a[PATH=1]'; cat x",
    "printf -v 'a[PATH=1]' x; cat x",
    "unset 'a[PATH=1]'; cat x",
    "read 'a[PATH=1]' <<< x; cat x",
    "declare -i x='PATH=1'; cat x",
    "declare -i x; x=PATH=1; cat x",
    "RANDOM='PATH=1'; cat x",
    "x='PATH=1'; ((x)); cat x",
    "x=PATH; (($x=1)); cat x",
    "cat <<E\n$((PATH=1))\nE\ncat x",
    "cat <<< $((PATH=1)); cat x",
    "case $((PATH=1)) in *) cat x;; esac",
    "f() { ((PATH=1)); }; f; cat x",
    "((IFS=1)); cat x",
    "((BASH_ENV=1)); bash -c :",
    "((LD_PRELOAD=1)); cat x",
    "((LD_LIBRARY_PATH=1)); cat x",
    "((HOME=1)); cat ~/x",
    "((GIT_PAGER=1)); git log",
    "{PATH}>/dev/null :; cat x",
    "exec {PATH}>/dev/null; cat x",
    "exec {PATH}<&0; cat x",
    "coproc PATH { :; }; cat x",
    "coproc PATH (:); cat x",
    "sleep 0 & wait -n -p PATH; cat x",
    "sleep 0 & wait -npPATH; cat x",
    "printf -vPATH 1; cat x",
    "read -aPATH <<< 1; cat x",
    "read -raPATH <<< 1; cat x",
    "mapfile -t PATH <<< 1; cat x",
    "getopts a PATH -a; cat x",
    "select PATH in 1; do break; done <<< 1; cat x",
    "unset PATH; cat x",
    "unset -v PATH; cat x",
    "f() { local PATH; cat x; }; f",
    "declare -n r=PATH; r=1; cat x",
    "typeset -n r=PATH; ((r=1)); cat x",
    ": ${BASH_ENV[0]:=x}; bash -c :",
    "r=BASH_ENV; : ${!r:=x}; bash -c :",
    "echo x | xargs --process-slot-var=PATH cat",
];

#[track_caller]
fn none_is_allowed(rules: &str) {
    let rules = Rules::of(RulesFile::parse(rules, "rules.toml").expect("it is well formed"));
    let allowed: Vec<&str> = ASSIGNING
        .iter()
        .copied()
        .filter(|script| rules.judge_script(script, ShellKind::Bash).verdict == Verdict::Allow)
        .collect();
    assert!(allowed.is_empty(), "{} are allowed: {allowed:#?}", allowed.len());
}

#[test]
fn what_later_commands_run_is_not_changed_where_a_few_programs_are_allowed() {
    let listed =
        ["cat", "git", "bash"].map(|name| format!("[[rule]]\ncommand = [\"{name}\"]\nverdict = \"allow\"\n"));
    none_is_allowed(&format!("default = \"forbid\"\n{}", listed.concat()));
}

#[test]
fn what_later_commands_run_is_not_changed_where_most_commands_are_allowed() {
    none_is_allowed("[[rule]]\ncommand = [\"git\", \"push\"]\nverdict = \"forbid\"");
}

#[test]
fn numbers_may_be_assigned_to_other_variables() {
    let text = "default = \"forbid\"\n[[rule]]\ncommand = [\"cat\"]\nverdict = \"allow\"\n";
    let rules = Rules::of(RulesFile::parse(text, "rules.toml").expect("it is well formed"));
    for script in [
        "i=0; ((i++)); ((i += 2)); echo $((i = i * 2)) ${#PATH} ${PATH:i:1}; cat x",
        "i=1; x=(1 2); echo ${x[i=0]}; [[ $i -eq 1 ]] && cat x",
        "exec {fd}>/dev/null; echo x >&2; coproc X { cat; }; sleep 0 & wait -n -p pid",
        "unset x GIT_DIR LD_PRELOAD; export PATH; declare -i n=3; cat x",
        "while ((i <= 3)); do ((i++)); done",
    ] {
        let judgement = rules.judge_script(script, ShellKind::Bash);
        assert_eq!(judgement.verdict, Verdict::Allow, "{script}: {:#?}", judgement.parts);
    }
}
