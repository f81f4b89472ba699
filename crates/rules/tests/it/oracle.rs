//! The rules are compared with a real bash. A generator makes a few thousand small scripts of constructs that can hide a
//! command; bash runs each in an empty directory where the only programs are stubs that log their names. A script that ran a
//! stub or wrote a file must not have been judged harmless, and every program that ran must be among the commands found.
//!
//! The scripts reach bash through a pipe, so bash ends with the test. The seed is fixed: a failure can be repeated.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use windlass_rules::{Judgement, Reason, Rules, RulesFile, ShellKind, Verdict};

const SCRIPTS: usize = 2500;

/// Programs that only log that they ran.
const STUBS: [&str; 3] = ["cmd", "prog", "tool"];
/// Real programs that run others. Those that are missing here are left out.
const CARRIERS: [&str; 7] = ["bash", "sh", "env", "xargs", "find", "nice", "sed"];

/// Reads scripts from its input, each ended by a NUL, and runs each in a subshell of its own.
const DRIVER: &str = r#"
ulimit -t 60
n=0
while IFS= read -r -d '' script; do
    (
        cd "$ORACLE/work/$n" || exit
        export ORACLE_LOG="$ORACLE/log/$n"
        unset n
        eval "$script"
        wait
    ) </dev/null >/dev/null 2>&1
    n=$((n + 1))
done
"#;

const STUB: &str = "#!/bin/sh\nprintf '%s\\n' \"${0##*/}\" >> \"$ORACLE_LOG\"\n";

/// What bash did with a script.
struct Observed {
    /// The stubs that ran.
    ran: Vec<String>,
    /// Whether a file was made.
    wrote: bool,
}

/// A directory that is removed with the test.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _gone_already = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn no_script_that_runs_a_program_or_writes_a_file_is_judged_harmless() {
    let scripts = generate();
    let observed = observe(&scripts);
    let nothing = rules("default = \"forbid\"");
    let all_but_one = rules("[[rule]]\ncommand = [\"cmd\"]\nverdict = \"forbid\"");
    let (mut active, mut harmless) = (0, 0);
    let mut wrong = Vec::new();
    for (script, observed) in scripts.iter().zip(&observed) {
        let strict = nothing.judge_script(script, ShellKind::Bash);
        active += usize::from(!observed.ran.is_empty());
        harmless += usize::from(strict.verdict == Verdict::Allow);
        if strict.verdict == Verdict::Allow && !observed.ran.is_empty() {
            wrong.push(format!("ran {:?}, judged harmless: {script}", observed.ran));
        }
        if strict.verdict == Verdict::Allow && observed.wrote {
            wrong.push(format!("wrote a file, judged harmless: {script}"));
        }
        let lax = all_but_one.judge_script(script, ShellKind::Bash);
        if observed.ran.iter().any(|name| name == "cmd") && lax.verdict == Verdict::Allow {
            wrong.push(format!("ran the forbidden command: {script}"));
        }
        for name in observed.ran.iter().filter(|name| !is_found(name, &lax)) {
            wrong.push(format!("{name} is not among the commands of: {script}"));
        }
    }
    wrong.sort_by_key(String::len);
    let shown = wrong[..wrong.len().min(40)].join("\n");
    assert!(wrong.is_empty(), "{} of {SCRIPTS}:\n{shown}", wrong.len());
    // The generator must not degenerate: scripts of both kinds are there in numbers.
    assert!(active > SCRIPTS / 5, "only {active} scripts ran a program");
    assert!(harmless > SCRIPTS / 20, "only {harmless} scripts were judged harmless");
}

fn rules(text: &str) -> Rules {
    Rules::of(RulesFile::parse(text, "rules.toml").expect("it is well formed"))
}

/// Whether a program is among the commands that were found, or the script is asked about anyway.
fn is_found(name: &str, judgement: &Judgement) -> bool {
    judgement.parts.iter().any(|part| {
        // The text of a part is as it stands in the script, quotes and broken lines included.
        let text = part.text.replace("\\ ", "").replace(['\'', '"', '\\'], "");
        let program = text.split(' ').next().unwrap_or_default();
        program.rsplit('/').next() == Some(name) || matches!(part.reason, Reason::Doubt(_))
    })
}

fn observe(scripts: &[String]) -> Vec<Observed> {
    let scratch = Scratch(std::env::temp_dir().join(format!("windlass-rules-oracle-{}", std::process::id())));
    let root = &scratch.0;
    for directory in ["bin", "log", "work"] {
        fs::create_dir_all(root.join(directory)).expect("the scratch directory is ours");
    }
    for place in 0..scripts.len() {
        fs::create_dir(root.join(format!("work/{place}"))).expect("the scratch directory is empty");
    }
    install(&root.join("bin"));
    let mut bash = Command::new("bash")
        .args(["--norc", "--noprofile", "-c", DRIVER])
        .env_clear()
        .env("PATH", root.join("bin"))
        .env("ORACLE", root)
        .current_dir(root)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("bash is installed");
    let mut input = bash.stdin.take().expect("its input is a pipe");
    for script in scripts {
        input.write_all(script.as_bytes()).and_then(|()| input.write_all(b"\0")).expect("bash reads on");
    }
    drop(input);
    let status = bash.wait().expect("bash ends");
    assert!(status.success(), "{status}");
    (0..scripts.len()).map(|place| observed(root, place)).collect()
}

fn install(bin: &Path) {
    for name in STUBS {
        let path = bin.join(name);
        fs::write(&path, STUB).expect("the stub is written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("the stub is ours");
    }
    for name in CARRIERS {
        let real = ["/bin", "/usr/bin"].map(|directory| Path::new(directory).join(name));
        if let Some(real) = real.iter().find(|path| path.exists()) {
            symlink(real, bin.join(name)).expect("the link is new");
        }
    }
}

fn observed(root: &Path, place: usize) -> Observed {
    let log = fs::read_to_string(root.join(format!("log/{place}"))).unwrap_or_default();
    let mut made = fs::read_dir(root.join(format!("work/{place}"))).expect("the directory is there");
    let ran: BTreeSet<String> = log.lines().map(str::to_owned).collect();
    Observed { ran: ran.into_iter().collect(), wrote: made.next().is_some() }
}

fn generate() -> Vec<String> {
    let mut runner = TestRunner::deterministic();
    let strategy = script();
    (0..SCRIPTS)
        .map(|_| strategy.new_tree(&mut runner).expect("the strategy rejects nothing").current())
        .collect()
}

/// A script: where a value comes from, what evaluates it, and what stands around that.
fn script() -> impl Strategy<Value = String> {
    let plain = (source(), sink(), value()).prop_map(|(source, sink, value)| {
        let direct = sink.replace("{E}", &value);
        let reference = |name: &str| sink.replace("{E}", name);
        source
            .replace("{Q}", &value)
            .replace("{DIRECT}", &direct)
            .replace("{BARE}", &reference("x"))
            .replace("{QUOTED}", &reference("\"$x\""))
            .replace("{SPLIT}", &reference("$x"))
            .replace("{FIRST}", &reference("$1"))
    });
    let statement = prop_oneof![4 => plain, 1 => command()];
    let wrapped = (statement, prop::collection::vec(wrapper(), 0..3)).prop_map(|(statement, wrappers)| {
        wrappers.iter().fold(statement, |inner, wrapper| match wrapper.strip_prefix("quoted:") {
            Some(wrapper) => wrapper.replace("{}", &format!("'{}'", inner.replace('\'', "'\\''"))),
            None => wrapper.replace("{}", &inner),
        })
    });
    prop::collection::vec(wrapped, 1..3).prop_map(|statements| statements.join("\n"))
}

fn one_of(choices: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop::sample::select(choices).prop_map(str::to_owned)
}

/// A word that may hide a command, quoted in one of the ways there are.
fn value() -> impl Strategy<Value = String> {
    let hidden = one_of(&[
        "a[$(P)]",
        "a[`P`]",
        "b[$(P)]",
        "1+a[$(P)]",
        "-va[$(P)]",
        "-pa[$(P)]",
        "($(P))",
        "([$(P)]=1)",
        "$(P)",
        "PATH[$(P)]",
        "-v",
        "1",
        "3",
        "0x10",
        "y",
        "1+2",
        "name",
        "*",
    ]);
    let command = one_of(&["cmd", "cmd", "prog", "cmd a"]);
    (hidden, command, 0..4_u8).prop_map(|(hidden, command, quotes)| {
        let text = hidden.replace('P', &command).replace("cmdATH", "PATH").replace("progATH", "PATH");
        match quotes {
            0 | 1 => format!("'{text}'"),
            2 => format!("\"{}\"", text.replace('$', "\\$").replace('`', "\\`")),
            _ => format!("$'{}'", text.replace('$', "\\x24")),
        }
    })
}

/// How a value gets to where it is evaluated.
fn source() -> impl Strategy<Value = String> {
    one_of(&[
        "{DIRECT}",
        "{DIRECT}",
        "x={Q}; {BARE}",
        "x={Q}; {QUOTED}",
        "x={Q}; {SPLIT}",
        "x=5; {BARE}",
        "x=5; {SPLIT}",
        "x=1; x+={Q}; {BARE}",
        "if false; then x=1; fi; {BARE}",
        "a=(1 2); {DIRECT}",
        "c=({Q}); x=${c[0]}; {SPLIT}",
        "read x <<< {Q}; {BARE}",
        "read -r x y <<E\n1 2\nE\n{BARE}",
        "printf -v x %s {Q}; {SPLIT}",
        "for x in {Q}; do {BARE}; done",
        "for x in 1 2; do {BARE}; done",
        "for x in {1..3}; do {SPLIT}; done",
        "select x in {Q}; do {BARE}; break; done <<< 1",
        "set -- {Q}; {FIRST}",
        "declare x={Q}; {BARE}",
        "declare -i x; x={Q}",
        "declare -i x={Q}",
        "declare -n x={Q}; {BARE}; x=1",
        "export x={Q}; {QUOTED}",
        ": \"${x:={Q}}\"; {BARE}",
        "x=$(echo {Q}); {SPLIT}",
        "mapfile -t x <<< {Q}; {BARE}",
        "f() { local x=$1; {BARE}; }; f {Q}",
        "f() { {FIRST}; }; f {Q}",
        "f() { local -i x=$1; }; f {Q}",
        "x=1; f() { x={Q}; }; f; {BARE}",
        ": {Q}; x=$_; {BARE}",
        "RANDOM={Q}",
        "OPTIND={Q}; SECONDS={Q}",
        "x={Q}; y=x; (( y ))",
        "[[ {Q} =~ (.*) ]]; x=${BASH_REMATCH[1]}; {BARE}",
        "getopts x: o -x {Q}; x=$OPTARG; {BARE}",
        "PS4={Q}; set -x; :",
        "unset x; {BARE}",
    ])
}

/// What may evaluate `{E}`, a word.
fn sink() -> impl Strategy<Value = String> {
    one_of(&[
        "echo {E}",
        ": {E}",
        "printf '%s' {E}",
        "printf {E} y",
        "printf -v {E} y",
        "printf -v y {E}",
        "printf '%d' {E}",
        "read {E} <<< 1",
        "read -a {E} <<< 1",
        "read -u {E} y",
        "unset {E}",
        "let {E}",
        "let y={E}",
        "test {E}",
        "test -n {E}",
        "test -v {E}",
        "test {E} = 1",
        "test {E} -eq 1",
        "[ {E} -lt 3 ]",
        "[ -f {E} ]",
        "[ ! -v {E} ]",
        "[ {E} a ]",
        "[ a = a -a {E} b ]",
        "[[ {E} ]]",
        "[[ -v {E} ]]",
        "[[ {E} -eq 1 ]]",
        "[[ 1 -lt {E} ]]",
        "[[ {E} == 1 ]]",
        "[[ a =~ {E} ]]",
        "(( x ))",
        "(( $x ))",
        "(( y = x + 1 ))",
        "echo $(( x ))",
        "echo \"$(( $x + 1 ))\"",
        "echo ${PATH:x:1}",
        "echo \"${PATH:0:$x}\"",
        "echo \"${@:x}\"",
        "echo ${a[x]}",
        "echo ${a[$x]}",
        "echo ${#a[x]}",
        "echo ${!x}",
        "echo ${x@P}",
        "echo ${x@Q}",
        "echo ${x:-{E}}",
        "a[x]=1",
        "a=([x]=1)",
        "a=({E})",
        "y=({E} z)",
        "y={E}",
        "for ((y = x; y < 3; y++)); do :; done",
        "case $((x)) in 1) ;; esac",
        "case {E} in 1) ;; esac",
        "declare {E}",
        "declare y={E}",
        "declare -a y={E}",
        "declare -A y={E}",
        "declare -i y={E}",
        "declare a={E}",
        "typeset {E}=1",
        "export {E}",
        "export y={E}",
        "readonly -a y={E}",
        "command declare y={E}",
        "shift {E}",
        "exit {E}",
        "set -- {E}",
        "set {E}",
        "shopt -s {E}",
        "sleep 0 & wait -n {E}",
        "sleep 0 & wait -n -p {E}",
        "getopts a {E} -a",
        "mapfile -t {E} <<< 1",
        "mapfile -C {E} -c 1 y <<< 1",
        "trap {E} EXIT",
        "eval {E}",
        "eval y={E}",
        "umask {E}",
        "ulimit -c {E}",
        "hash {E}",
        "type {E}",
        "cd {E}",
        "pushd {E}",
        "history -s {E}",
        "compgen -W {E}",
        "exec {a[x]}>/dev/null",
        "exec {y}>/dev/null",
        ": {E} > file",
        ": > {E}",
        ": <<< {E}",
        ": <<E\n$((x))\nE",
        "bash -c {E}",
        "bash -c 'echo $((x))'",
        "bash -c 'echo $(($1))' _ {E}",
        "x={E} bash -c '((x))'",
        "env x={E} bash -c '[[ x -eq 1 ]]'",
        "echo {E} | xargs echo",
        "printf -v y '%b' {E}; ((y))",
    ])
}

/// Commands that run or write something openly.
fn command() -> impl Strategy<Value = String> {
    one_of(&[
        "cmd",
        "prog a b",
        "$(echo cmd)",
        "x=cmd; $x",
        "echo $(cmd)",
        "echo `prog`",
        "cat() { cmd; }; cat",
        "cmd() { :; }; cmd",
        "cmd() { :; }; command cmd",
        "cmd() { :; }; unset -f cmd; cmd",
        "(cmd() { :; }); cmd",
        "if false; then prog() { :; }; fi; prog",
        "true | tool() { :; }; tool",
        "false && tool() { :; }; tool",
        "tool() { :; } & tool",
        "prog() { :; }; prog",
        "command -p cmd; command -v cmd",
        "builtin echo x",
        "exec cmd",
        "exec > file",
        "> file",
        "{ :; } > file",
        "[[ a ]] > file",
        "(( 1 )) > file",
        "for y in a; do z=1; done >> file",
        "f() { z=1; } > file; f",
        "echo a >&file",
        "echo a &> file",
        "echo a 1<> file",
        "echo a > /dev/null 2>&1",
        "trap cmd EXIT",
        "trap 'echo $(cmd)' DEBUG; :",
        "env cmd",
        "env -S 'cmd a'",
        "nice -n 1 cmd",
        "echo a | xargs cmd",
        "echo cmd | xargs -I{} {} b",
        "find . -exec cmd {} \\;",
        "find . -maxdepth 0 -fprint file",
        "bash -c cmd",
        "sh -c 'cmd; prog'",
        "bash <<< cmd",
        "echo cmd | bash",
        "sed -n 1ecmd <<< x",
        "sed -n --expression=1ecmd <<< x",
        "sed -n -f /dev/stdin <<< 1ecmd",
        "sed -n 'w file' <<< x",
        "coproc cmd",
        "time cmd",
        "! cmd",
        "if cmd; then prog; else tool; fi",
        "case $(cmd) in *) prog;; esac",
        "while cmd; do break; done",
        "cmd <(prog) > >(tool)",
        "echo <<E\n$(cmd)\nE",
        "echo <<'E'\n$(cmd)\nE",
        "\\cmd",
        "c'm'd",
        "c\\\nmd",
        "alias ls=cmd; ls",
        "hash -p ./x prog; prog",
        "{a[0]}>/dev/null cmd",
        "echo ${x:-$(cmd)}",
        "echo \"${x:+$(cmd)}\" 'cmd'",
        "echo cmd prog",
        "cmd=1; echo $cmd",
        "cd . && pwd",
        "y=3; echo $((y * 2))",
        "set -k; cmd x=1",
        "enable -n echo; echo a",
        "history -s x; history -w file",
        "jobs -x cmd",
        "disown -a; times; umask",
        "PATH=. cmd",
        "BASH_ENV=x bash -c :",
        "local x=1",
        "return 3",
    ])
}

/// What may stand around a script.
fn wrapper() -> impl Strategy<Value = String> {
    one_of(&[
        "{}",
        "{}",
        "{ {}\n}",
        "({}\n)",
        "if :; then {}\nfi",
        "if {}\nthen :; fi",
        "while {}\ndo break; done",
        "for z in 1; do {}\ndone",
        "case a in a) {}\n;; esac",
        "g() { {}\n}; g",
        "g() { {}\n}",
        "function h { {}\n}; h a",
        ": && {}",
        ": || {}",
        "! {}",
        "time {}",
        "{} &",
        "{} | :",
        ": | {}",
        "echo $({}\n)",
        "echo \"$({}\n)\"",
        "z=$({}\n)",
        "echo <({}\n)",
        "{} 2>/dev/null",
        "{} >/dev/null",
        "{} > file",
        "{ {}\n} > file",
        "set -e; {}",
        "x=3; {}",
        "a=(1); {}",
        "# comment\n{}",
        "quoted:eval {}",
        "quoted:trap {} EXIT",
        "quoted:bash -c {}",
        "quoted:sh -c {} _ a",
        "quoted:bash <<< {}",
        "quoted:env y=1 bash -c {}",
        "quoted:echo {}",
    ])
}
