//! Which commands a script can run: every one of them is found, and nothing that is only data.

use windlass_exec_policy::{Judgement, Reason, Rules, ShellKind};

fn judge(script: &str, shell: ShellKind) -> Judgement {
    Rules::default().judge_script(script, shell)
}

/// The commands of a script, in order, with their wrappers; `?` before a command that is not understood.
fn parts(script: &str, shell: ShellKind) -> Vec<String> {
    let shown = |part: &windlass_exec_policy::JudgedCommand| {
        let doubt = if matches!(part.reason, Reason::Doubt(_)) { "?" } else { "" };
        let within: String = part.within.iter().map(|carrier| format!("{carrier} > ")).collect();
        format!("{doubt}{within}{}", part.text)
    };
    judge(script, shell).parts.iter().map(shown).collect()
}

#[track_caller]
fn check_all(cases: &[(&str, &[&str])]) {
    for (script, expected) in cases {
        assert_eq!(parts(script, ShellKind::Bash), *expected, "{script}");
    }
}

#[test]
fn lists_and_pipelines_are_split() {
    check_all(&[
        ("", &[]),
        ("   \n\n # only a comment", &[]),
        ("ls", &["ls"]),
        ("ls -l /tmp", &["ls -l /tmp"]),
        ("ls; pwd", &["ls", "pwd"]),
        ("ls\npwd\n", &["ls", "pwd"]),
        ("ls & pwd &", &["ls", "pwd"]),
        ("ls && pwd || id", &["ls", "pwd", "id"]),
        ("ls &&\n\n pwd", &["ls", "pwd"]),
        ("ls | grep x | wc -l", &["ls", "grep x", "wc -l"]),
        ("ls |& wc", &["ls", "wc"]),
        ("ls |\n  wc", &["ls", "wc"]),
        ("! ls", &["ls"]),
        ("time ls", &["ls"]),
        ("time -p ls | wc", &["ls", "wc"]),
        ("ls # a; b && c", &["ls"]),
        ("echo a#b", &["echo a#b"]),
        ("ls \\\n  -l", &["ls -l"]),
        ("coproc ls", &["ls"]),
        ("coproc NAME { ls; }", &["ls"]),
    ]);
}

#[test]
fn compound_commands_are_looked_into() {
    check_all(&[
        ("(ls; pwd)", &["ls", "pwd"]),
        ("{ ls; pwd; }", &["ls", "pwd"]),
        ("{ ls; } > out 2>&1", &["ls"]),
        ("if test -f x; then ls; fi", &["test -f x", "ls"]),
        ("if a; then b; elif c; then d; else e; fi", &["a", "b", "c", "d", "e"]),
        ("while read x; do ls; done < f", &["read x", "ls"]),
        ("until a\ndo\nb\ndone", &["a", "b"]),
        ("for x in a b c; do ls $x; done", &["ls $x"]),
        ("for x; do ls; done", &["ls"]),
        ("for x in $(cat list)\ndo ls\ndone", &["cat list", "ls"]),
        ("for ((i=0; i<3; i++)); do ls; done", &["ls"]),
        ("select x in a b; do ls; break; done", &["ls", "break"]),
        ("case $x in a) ls;; b|c) pwd;; *) id; esac", &["ls", "pwd", "id"]),
        ("case x in (a) ls ;& b) pwd ;;& esac", &["ls", "pwd"]),
        ("case \"$(uname)\" in Linux) ls;; esac", &["uname", "ls"]),
        ("f() { ls; }; f", &["ls", "f"]),
        ("function f { ls; }", &["ls"]),
        ("function f() ( ls )", &["ls"]),
        ("f() if a; then b; fi", &["a", "b"]),
        ("[[ -f x && $y == z* ]] && ls", &["ls"]),
        ("[[ $x =~ ^(a|b)+$ ]] && ls", &["ls"]),
        ("[[ \"$(git branch)\" == main ]] || ls", &["git branch", "ls"]),
        ("(( x > 3 )) && ls", &["ls"]),
        ("if (a); then { b; }; fi", &["a", "b"]),
        ("for x in a; { ls; }", &["ls"]),
    ]);
}

#[test]
fn substitutions_are_looked_into_wherever_they_stand() {
    check_all(&[
        ("echo $(ls)", &["echo $(ls)", "ls"]),
        ("echo \"a $(ls -l) b\"", &["echo \"a $(ls -l) b\"", "ls -l"]),
        ("echo `ls`", &["echo `ls`", "ls"]),
        ("echo \"`ls \\`pwd\\``\"", &["echo \"`ls \\`pwd\\``\"", "ls `pwd`", "pwd"]),
        ("echo '$(ls)'", &["echo '$(ls)'"]),
        ("echo \\$(ls)", &["echo \\$", "?echo \\$(ls)"]),
        ("x=$(ls)", &["ls"]),
        ("x=$(ls) pwd", &["ls", "pwd"]),
        ("x=(a $(ls) b)", &["ls"]),
        ("diff <(ls a) <(ls b)", &["diff <(ls a) <(ls b)", "ls a", "ls b"]),
        ("ls > >(tee log)", &["ls", "tee log"]),
        ("ls > $(mktemp)", &["ls", "mktemp"]),
        ("echo $((1 + $(ls)))", &["echo $((1 + $(ls)))", "ls"]),
        ("echo ${x:-$(ls)}", &["echo ${x:-$(ls)}", "ls"]),
        ("echo \"${x:-$(ls \"a b\")}\"", &["echo \"${x:-$(ls \"a b\")}\"", "ls \"a b\""]),
        ("echo ${x//a/$(ls)}", &["echo ${x//a/$(ls)}", "ls"]),
        ("echo $(case x in x) ls;; esac)", &["echo $(case x in x) ls;; esac)", "ls"]),
        ("echo $(ls # it's\n)", &["echo $(ls # it's )", "ls"]),
        ("cat <<EOF\n$(ls) and `pwd`\nEOF", &["cat", "ls", "pwd"]),
        ("cat <<'EOF'\n$(ls)\nEOF", &["cat"]),
        ("cat <<-EOF\n\t$(ls)\n\tEOF\npwd", &["cat", "ls", "pwd"]),
        ("cat <<A; cat <<B\n$(ls)\nA\n$(pwd)\nB\nid", &["cat", "cat", "ls", "pwd", "id"]),
        ("cat <<< \"$(ls)\"", &["cat", "ls"]),
        (
            "git commit -m \"$(cat <<'EOF'\nit's \"done\"\nEOF\n)\"",
            &["git commit -m \"$(cat <<'EOF' it's \"done\" EOF )\"", "cat"],
        ),
        ("[[ $(ls) ]]", &["ls"]),
        ("for x in `ls`; do :; done", &["ls", ":"]),
    ]);
}

#[test]
fn data_is_not_taken_for_commands() {
    check_all(&[
        ("echo 'a; b' \"c && d\" e\\;f", &["echo 'a; b' \"c && d\" e\\;f"]),
        ("cat > f <<'EOF'\nrm -rf /\ngit push\nEOF", &["cat"]),
        ("x='a b'; y=1", &[]),
        ("a[1]=x b+=y ls", &["ls"]),
        ("ls > out 2> err < in >> more 3<&0 {fd}> x", &["ls"]),
        ("> empty", &[]),
        ("echo {} HEAD@{1}", &["echo {} HEAD@{1}"]),
        ("echo $'a\\'b' c", &["echo $'a\\'b' c"]),
        ("declare -A m=([a]=b [c]=d)", &["declare -A m="]),
    ]);
}

#[test]
fn what_is_not_understood_is_said_with_its_line() {
    for (script, line, what) in [
        ("ls\necho 'open", 2, "a single quote is not closed"),
        ("echo \"open\nmore", 1, "a double quote is not closed"),
        ("ls\n(pwd", 2, "it ends too early"),
        ("if ls; then", 1, "it ends too early"),
        ("ls )", 1, "`)` is not expected here"),
        ("done", 1, "`d` is not expected here"),
        ("ls;; pwd", 1, "`;` is not expected here"),
        ("ls && ", 1, "it ends too early"),
        ("cat <<EOF\nnever", 1, "no line `EOF` ends the here-document"),
        ("echo `ls", 1, "a backquote is not closed"),
        ("echo ${x", 1, "`${` is not closed"),
        ("echo $((1+2", 1, "arithmetic is not closed"),
        ("a\nb\nf(x) y", 3, "`(` is not expected here"),
        ("echo @(a|b)", 1, "`(` is not expected here"),
        ("ls\0", 1, "it contains a NUL byte"),
        ("x=${ ls; }", 1, "this kind of `${` is not understood"),
    ] {
        let judgement = judge(script, ShellKind::Bash);
        let doubts: Vec<String> = judgement.parts.iter().map(|part| part.reason.to_string()).collect();
        let expected = format!("not understood at line {line}: {what}");
        assert!(doubts.contains(&expected), "{script}: {doubts:?}");
        assert_eq!(judgement.verdict, windlass_exec_policy::Verdict::Ask);
    }
}

#[test]
fn what_shells_disagree_about_is_not_understood_for_any_shell() {
    for script in ["echo &>f git push", "[[ a && b ]]", "((git push))", "echo $'\\x67it'"] {
        assert_eq!(judge(script, ShellKind::Posix).verdict, windlass_exec_policy::Verdict::Ask, "{script}");
        assert_eq!(judge(script, ShellKind::Bash).verdict, windlass_exec_policy::Verdict::Allow, "{script}");
    }
    for script in ["=git push", "ls >! f git push", "{ ls } always { pwd }", "for x (a b) ls"] {
        assert_eq!(judge(script, ShellKind::Zsh).verdict, windlass_exec_policy::Verdict::Ask, "{script}");
    }
}
