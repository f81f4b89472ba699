//! The scripts that bash and the rules are compared by: constructs that can hide a command, set a variable or write a
//! file, put together at random.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

/// Scripts, always the same.
pub(super) fn generate(count: usize) -> Vec<String> {
    let mut runner = TestRunner::deterministic();
    let strategy = script();
    (0..count)
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
    let statement = prop_oneof![6 => plain, 2 => command(), 2 => hijack(), 2 => redirected(), 2 => carried()];
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

/// Scripts that may evaluate `{E}`, a word.
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

/// A variable that is set to a number, or removed, and a listed program behind it: with `PATH=1` it is looked for below
/// `./1`.
fn hijack() -> impl Strategy<Value = String> {
    let setting = one_of(&[
        "(({V}=1))",
        "(( {V} = 1 + 0 ))",
        "((z = {V} = 1))",
        "((1 ? {V}=1 : 0))",
        "(({V}[0]=1))",
        "(({V}=0, ++{V}))",
        "((\"{V}\"=1))",
        "z=; (({V}$z=1))",
        "z={V}; (($z=1))",
        "z='{V}=1'; ((z))",
        "echo $(({V}=1))",
        ": \"$(({V}=1))\"",
        ": $[{V}=1]",
        "let {V}=1",
        "let 'z={V}=1'",
        "let {V}=0 {V}++",
        "for (({V}=1; 0; )); do :; done",
        "z=abc; : ${z:{V}=1}",
        "z=abc; : \"${z:0:{V}=1}\"",
        ": ${z[{V}=1]}",
        "z[{V}=1]=2",
        "z=([{V}=1]=2)",
        "[[ {V}=1 -eq 1 ]]",
        "[[ 1 -le '{V}=1' ]]",
        "[[ -v 'z[{V}=1]' ]]",
        "test -v 'z[{V}=1]'",
        "printf -v 'z[{V}=1]' x",
        "read 'z[{V}=1]' <<< x",
        "z=(1); unset 'z[{V}=1]'",
        "declare -i z='{V}=1'",
        "declare -i z; z={V}=1",
        "RANDOM='{V}=1'",
        ": <<E\n$(({V}=1))\nE",
        "case $(({V}=1)) in *) ;; esac",
        "f() { (({V}=1)); }; f",
        "{{V}}>/dev/null :",
        "exec {{V}}</dev/null",
        "coproc {V} { :; }",
        "printf -v{V} 1",
        "printf -v {V} %s 1",
        "read {V} <<< 1",
        "read -ra{V} <<< 1",
        "mapfile -t {V} <<< 1",
        "getopts 1 {V} -1",
        "select {V} in 1; do break; done <<< 1",
        "for {V} in 1; do :; done",
        "unset {V}",
        "unset -v {V}",
        "declare -n r={V}; r=1",
        "export {V}=1",
        "declare {V}=1",
        "unset -n {V}",
    ]);
    let variable = one_of(&["PATH", "PATH", "PATH", "PATH", "x", "IFS"]);
    let later =
        one_of(&["cat x", "sort x", "uniq < x", "echo x | cat", "z=$(cat x)", "bash -c 'cat x'", "(cat x)"]);
    let between = one_of(&["; ", "\n", " && ", " || "]);
    (setting, variable, between, later).prop_map(|(setting, variable, between, later)| {
        format!("{}{between}{later}", setting.replace("{V}", &variable))
            .replace("\nE && ", "\nE\n")
            .replace("\nE || ", "\nE\n")
            .replace("\nE; ", "\nE\n")
    })
}

/// A listed program or a builtin with a redirection.
fn redirected() -> impl Strategy<Value = String> {
    let command = one_of(&[
        "cat x",
        "echo a",
        ":",
        "sort x",
        "exec",
        "",
        "{ cat x; }",
        "while read -r y; do cat; done",
        "nice cat x",
    ]);
    let redirection = one_of(&[
        "> file",
        ">> file",
        "<> file",
        "3<> file",
        "1<>file",
        ">& file",
        ">&file",
        ">& -5",
        ">& 5-x",
        "&> file",
        "&>> file",
        ">| file",
        "2> file",
        "{fd}> file",
        "{fd}<> file",
        "{fd}>&1",
        "> ./file",
        "> \"$PWD\"/file",
        "> /proc/self/cwd/file",
        "> x",
        "> \"x\"",
        "> f{il,}e",
        ">$(echo file)",
        "> /dev/null",
        "> /dev/stdout",
        "> /dev/fd/1",
        "2>&1",
        ">&2",
        "3>&1-",
        "3>&-",
        "< x",
        "<&0",
        "< /dev/null",
        "> /dev/null/../file",
        "> /dev/stdout/../file",
    ]);
    (command, prop::collection::vec(redirection, 1..3), any::<bool>()).prop_map(
        |(command, redirections, first)| {
            let redirections = redirections.join(" ");
            // Redirections stand before simple commands, too.
            let is_simple = !command.starts_with(['{', 'w']);
            if first && is_simple {
                format!("{redirections} {command}")
            } else {
                format!("{command} {redirections}")
            }
        },
    )
}

/// A program behind others that run it, or that runs or writes something by an option.
fn carried() -> impl Strategy<Value = String> {
    let carrier = one_of(&[
        "nice",
        "nice -n 1",
        "env",
        "env -i PATH=\"$PATH\" ORACLE_LOG=\"$ORACLE_LOG\"",
        "env -u y",
        "timeout 5",
        "timeout -s KILL 5",
        "stdbuf -oL",
        "nohup",
        "setsid -w",
        "command",
        "builtin command",
        "time",
        "exec",
        "xargs -n 1",
        "xargs -I{} ",
        "find . -maxdepth 0 -exec",
        "flock -n x",
    ]);
    let program = one_of(&[
        "cmd",
        "prog a",
        "cat x",
        "cmd {} ;",
        "cat x ;",
        "sort -o file x",
        "sort x -uofile",
        "sort --outp=file x",
        "uniq x file",
        "uniq -c x file",
        "uniq -- x file",
        "uniq x",
        "sed -i s/a/b/ x",
        "sed -n --in-pl p x",
        "sed -n 'w file' x",
        "sed 's/a/b/w file' x",
        "sed 1ecmd x",
        "sed --expr='1e cmd' x",
        "sed -n p x",
        "find . -fprint file",
        "find . -name x -delete",
        "find . -name x -exec cmd {} ;",
        "find . -name x",
        "shuf -o file x",
        "shuf --out file -e a",
        "split x",
        "tee file",
        "sh -c cmd",
        "bash -c 'cat x > file'",
        "bash -c 'cat x'",
    ]);
    let quote = |program: String| program.replace(" ;", " \\;");
    (prop::collection::vec(carrier, 0..3), program).prop_map(move |(carriers, program)| {
        format!("echo a | {} {}", carriers.join(" "), quote(program)).replace("|  ", "| ")
    })
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

/// Constructs that may stand around a script.
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
