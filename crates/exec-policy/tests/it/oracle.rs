//! The rules are compared with a real bash. A generator makes a few thousand small scripts of constructs that can hide
//! a command; bash runs each in a directory of its own, where the programs are stubs that log their names and a few
//! real ones. A script that ran a stub or changed a file must not have been judged harmless, neither alone nor where
//! the real programs are allowed by their names, and every program that ran must be among the commands found.
//!
//! Directories that `PATH` may come to name by a number hold stubs with the names of the real programs. The scripts
//! reach bash through a pipe, so bash ends with the test. The seed is fixed: a failure can be repeated.

#[path = "oracle/scripts.rs"]
mod scripts;
#[path = "oracle/tools.rs"]
mod tools;
#[path = "oracle/traced.rs"]
mod traced;

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use windlass_exec_policy::{Judgement, Reason, Rules, RulesFile, ShellKind, Verdict};

const SCRIPTS: usize = 2500;
/// How many of them `sh` runs, too.
const SCRIPTS_OF_SH: usize = 500;

/// How many command lines of programs that can write files or run others are compared.
const COMMAND_LINES: usize = 1500;

/// Programs that only log that they ran.
const STUBS: [&str; 3] = ["cmd", "prog", "tool"];
/// Real programs that run others.
const CARRIERS: [&str; 10] =
    ["bash", "sh", "env", "xargs", "nice", "timeout", "stdbuf", "nohup", "setsid", "flock"];
/// Real programs that a list of harmless ones allows by their names.
const LISTED: [&str; 6] = ["cat", "sort", "uniq", "sed", "find", "shuf"];
/// Real programs that write files.
const WRITING: [&str; 2] = ["tee", "split"];

/// The line that a stub in the place of a listed program logs.
const HIJACKED: &str = "hijacked";
/// Numbers that `PATH` may become: by arithmetic, as a descriptor, as one of a coprocess.
const NUMBERED: [&str; 4] = ["1", "10", "63", "60"];
/// The contents of the file in every directory.
const CONTENT: &str = "b\na\na\n";

/// Reads scripts from its input, each ended by a NUL, and runs each in a subshell of its own, or in the shell that it
/// is given.
const DRIVER: &str = r#"
ulimit -t 60
n=0
while IFS= read -r -d '' script; do
    (
        cd "$ORACLE/work/$n" || exit
        export ORACLE_LOG="$ORACLE/log/$n"
        unset n
        if [[ $1 ]]; then "$1" -c "$script"; else eval "$script"; fi
        wait
    ) </dev/null >/dev/null 2>&1
    n=$((n + 1))
done
"#;

const STUB: &str = "#!/bin/sh\nprintf '%s\\n' \"${0##*/}\" >> \"$ORACLE_LOG\"\n";
const HIJACKING_STUB: &str = "#!/bin/sh\nprintf '%s\\n' hijacked >> \"$ORACLE_LOG\"\n";

/// The effects of a script when bash ran it.
struct Observed {
    /// The stubs that ran.
    ran: Vec<String>,
    /// Whether a stub ran in the place of a listed program.
    hijacked: bool,
    /// Whether a file was made, changed or removed.
    wrote: bool,
}

/// A directory that is removed with the test.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _gone_already = fs::remove_dir_all(&self.0);
    }
}

/// The rules that scripts are judged by.
struct Policies {
    shell: ShellKind,
    /// Only harmless commands are allowed.
    nothing: Rules,
    /// The real programs are allowed by their names, and nothing else.
    listed: Rules,
    /// Everything is allowed but `cmd`.
    all_but_one: Rules,
}

#[test]
fn no_script_that_runs_a_program_or_writes_a_file_is_judged_harmless() {
    let scripts = scripts::generate(SCRIPTS);
    let observed = observe(&scripts, "");
    let policies = Policies::new(ShellKind::Bash);
    policies.agree(&scripts, &observed);
    assert_kinds(&scripts, &observed, &policies);
}

#[test]
fn sh_agrees_whichever_shell_it_is() {
    let scripts = scripts::generate(SCRIPTS_OF_SH);
    let observed = observe(&scripts, "sh");
    Policies::new(ShellKind::Posix).agree(&scripts, &observed);
    assert!(observed.iter().any(|observed| !observed.ran.is_empty()), "no script ran a program");
}

/// Every program is allowed by its name alone.
#[test]
fn no_program_that_is_allowed_by_its_name_writes_or_runs_silently() {
    let lines = tools::generate(COMMAND_LINES);
    let observed = observe(&lines, "");
    let policies = Policies::allowing(ShellKind::Bash, &tools::names().chain(LISTED).collect::<Vec<_>>());
    policies.agree(&lines, &observed);
    let is_allowed =
        |line: &&String| policies.listed.judge_script(line, ShellKind::Bash).verdict == Verdict::Allow;
    let allowed = lines.iter().filter(is_allowed).count();
    let wrote = observed.iter().filter(|observed| observed.wrote).count();
    let ran = observed.iter().filter(|observed| !observed.ran.is_empty()).count();
    assert!(allowed > COMMAND_LINES / 8, "only {allowed} command lines were allowed");
    assert!(wrote > COMMAND_LINES / 16, "only {wrote} command lines wrote a file");
    assert!(ran > COMMAND_LINES / 64, "only {ran} command lines ran a program");
}

/// The generator must not degenerate: scripts of every kind are there in numbers.
fn assert_kinds(scripts: &[String], observed: &[Observed], policies: &Policies) {
    let allowed = |rules: &Rules| {
        let is_allowed =
            |script: &&String| rules.judge_script(script, policies.shell).verdict == Verdict::Allow;
        scripts.iter().filter(is_allowed).count()
    };
    let did = |what: fn(&Observed) -> bool| observed.iter().filter(|observed| what(observed)).count();
    let (harmless, listed) = (allowed(&policies.nothing), allowed(&policies.listed));
    assert!(harmless > SCRIPTS / 20, "only {harmless} scripts were judged harmless");
    assert!(listed > harmless + SCRIPTS / 50, "only {listed} scripts were allowed by the list");
    for (what, count, least) in [
        ("ran a program", did(|observed| !observed.ran.is_empty()), SCRIPTS / 5),
        ("ran another program", did(|observed| observed.hijacked), SCRIPTS / 50),
        ("wrote a file", did(|observed| observed.wrote), SCRIPTS / 20),
    ] {
        assert!(count > least, "only {count} scripts {what}");
    }
}

impl Policies {
    fn new(shell: ShellKind) -> Self {
        Self::allowing(shell, &LISTED)
    }

    /// The programs of these names are allowed.
    fn allowing(shell: ShellKind, names: &[&str]) -> Self {
        let names = names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
        let rule = format!("[[rule]]\ncommand = [[{names}]]\nverdict = \"allow\"");
        Self {
            shell,
            nothing: rules("default = \"forbid\""),
            listed: rules(&format!("default = \"forbid\"\n{rule}")),
            all_but_one: rules("[[rule]]\ncommand = [\"cmd\"]\nverdict = \"forbid\""),
        }
    }

    #[track_caller]
    fn agree(&self, scripts: &[String], observed: &[Observed]) {
        let each = scripts.iter().zip(observed);
        let mut wrong: Vec<String> =
            each.flat_map(|(script, observed)| self.disagreements(script, observed)).collect();
        wrong.sort_by_key(String::len);
        let shown = wrong[..wrong.len().min(40)].join("\n");
        assert!(wrong.is_empty(), "{} of {}:\n{shown}", wrong.len(), scripts.len());
    }

    /// Effects of a script that was judged to have none.
    fn disagreements(&self, script: &str, observed: &Observed) -> Vec<String> {
        let mut wrong = Vec::new();
        let did_nothing = observed.ran.is_empty() && !observed.hijacked && !observed.wrote;
        for (name, rules) in [("harmless", &self.nothing), ("allowed by the list", &self.listed)] {
            let verdict = rules.judge_script(script, self.shell).verdict;
            if verdict == Verdict::Allow && !did_nothing {
                wrong.push(format!("judged {name}, {observed}: {script}"));
            }
        }
        let lax = self.all_but_one.judge_script(script, self.shell);
        let forbidden = observed.hijacked || observed.ran.iter().any(|name| name == "cmd");
        if forbidden && lax.verdict == Verdict::Allow {
            wrong.push(format!("allowed, {observed}: {script}"));
        }
        for name in observed.ran.iter().filter(|name| !is_found(name, &lax)) {
            wrong.push(format!("{name} is not among the commands of: {script}"));
        }
        wrong
    }
}

impl fmt::Display for Observed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ran, hijacked, wrote } = self;
        write!(f, "ran {ran:?}, hijacked: {hijacked}, wrote: {wrote}")
    }
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

/// A directory with the programs that scripts find, and a directory of its own for each of them.
fn prepared(name: &str, scripts: usize) -> Scratch {
    let name = format!("windlass-exec-policy-oracle-{name}-{scripts}-{}", std::process::id());
    let scratch = Scratch(std::env::temp_dir().join(name));
    let root = &scratch.0;
    for directory in ["bin", "hijack", "log", "work"] {
        fs::create_dir_all(root.join(directory)).expect("the scratch directory is ours");
    }
    for place in 0..scripts {
        furnish(&root.join(format!("work/{place}")));
    }
    install(&root.join("bin"));
    for name in LISTED {
        make_stub(&root.join("hijack").join(name), HIJACKING_STUB);
    }
    scratch
}

/// Runs scripts in bash itself, or in a shell that it starts.
fn observe(scripts: &[String], shell: &str) -> Vec<Observed> {
    let scratch = prepared(shell, scripts.len());
    let root = &scratch.0;
    let mut bash = Command::new("bash")
        .args(["--norc", "--noprofile", "-c", DRIVER, "oracle", shell])
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
        make_stub(&bin.join(name), STUB);
    }
    for name in CARRIERS.iter().chain(&LISTED).chain(&WRITING) {
        let real = ["/bin", "/usr/bin"].map(|directory| Path::new(directory).join(name));
        let real =
            real.iter().find(|path| path.exists()).unwrap_or_else(|| panic!("{name} is not installed"));
        symlink(real, bin.join(name)).expect("the link is new");
    }
    for name in tools::names().chain(["diff", "diff3"]) {
        let real = Path::new("/usr/bin").join(name);
        assert!(real.exists(), "{name} is not installed");
        // Some of these names exist already.
        if !bin.join(name).exists() {
            symlink(real, bin.join(name)).expect("the link is new");
        }
    }
}

fn make_stub(path: &Path, script: &str) {
    fs::write(path, script).expect("the stub is written");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("the stub is ours");
}

/// A directory for one script: a file, and stubs in the place of programs for a `PATH` that is a number, or none.
fn furnish(directory: &Path) {
    fs::create_dir(directory).expect("the scratch directory is empty");
    fs::write(directory.join("x"), CONTENT).expect("the directory is ours");
    for number in NUMBERED {
        symlink("../../hijack", directory.join(number)).expect("the link is new");
    }
    for name in LISTED {
        symlink(Path::new("../../hijack").join(name), directory.join(name)).expect("the link is new");
    }
}

fn observed(root: &Path, place: usize) -> Observed {
    let log = fs::read_to_string(root.join(format!("log/{place}"))).unwrap_or_default();
    let mut ran: BTreeSet<String> = log.lines().map(str::to_owned).collect();
    let hijacked = ran.remove(HIJACKED);
    let directory = root.join(format!("work/{place}"));
    let count = fs::read_dir(&directory).expect("the directory is there").count();
    let is_same = fs::read_to_string(directory.join("x")).is_ok_and(|content| content == CONTENT);
    let wrote = count != 1 + NUMBERED.len() + LISTED.len() || !is_same;
    Observed { ran: ran.into_iter().collect(), hijacked, wrote }
}
