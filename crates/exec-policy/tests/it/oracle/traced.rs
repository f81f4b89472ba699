//! The same comparison with a trace of system calls: every program that a script really starts, stub or not, must be
//! among the commands that were found, and a script that was judged harmless starts none and opens no file for writing,
//! wherever it is.

use std::path::Path;
use std::process::{Command, Stdio};

use windlass_exec_policy::{ShellKind, Verdict};

use super::{CARRIERS, LISTED, Policies, is_found, prepared, scripts};

/// How many scripts are traced; each has a bash and a tracer of its own.
const TRACED: usize = 500;

/// The facts in the trace of a script.
struct Traced {
    /// Names of programs that were started, in order, without bash itself.
    started: Vec<String>,
    /// Files that were opened for writing.
    written: Vec<String>,
}

impl Traced {
    fn parse(trace: &str, root: &Path) -> Self {
        let succeeded = trace.lines().filter(|line| !line.contains(") = -1 ") && !line.contains("= ?"));
        let (mut started, mut written) = (Vec::new(), Vec::new());
        for line in succeeded {
            let path = || line.split('"').nth(1).unwrap_or_default().to_owned();
            let writes =
                ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "creat("].iter().any(|it| line.contains(it));
            if line.contains("execve(") {
                started.push(path());
            } else if writes {
                written.push(path());
            }
        }
        // The first is bash itself. Stubs write to their log, and nothing is kept of what is written to a device.
        started.drain(..started.len().min(1));
        let log = root.join("log").display().to_string();
        written.retain(|path| !path.starts_with(&log) && !path.starts_with("/dev/"));
        Self { started, written }
    }
}

fn trace(root: &Path, place: usize, script: &str) -> Traced {
    let output = root.join(format!("trace-{place}"));
    let mut strace = Command::new("strace");
    strace
        .args(["-f", "-qq", "-s", "4096", "-e", "trace=execve,execveat,open,openat,creat", "-o"])
        .arg(&output);
    strace.args(["/usr/bin/timeout", "20", "/bin/bash", "--norc", "--noprofile", "-c", script]).env_clear();
    strace.env("PATH", root.join("bin")).env("ORACLE_LOG", root.join(format!("log/{place}")));
    strace.current_dir(root.join(format!("work/{place}")));
    let quiet = strace.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // The exit of a script means nothing here.
    quiet.status().expect("strace starts");
    let text = std::fs::read(&output).expect("strace leaves a trace");
    let text = String::from_utf8_lossy(&text);
    // The first line is about `timeout`.
    Traced::parse(text.split_once('\n').map_or("", |(_, rest)| rest), root)
}

#[test]
fn every_program_that_a_trace_shows_is_among_the_commands_found() {
    let all = scripts::generate(2500);
    // From all over the generator's range.
    let scripts: Vec<String> = all.into_iter().step_by(2500 / TRACED).take(TRACED).collect();
    let scratch = prepared("traced", scripts.len());
    let policies = Policies::new(ShellKind::Bash);
    let carried = [&CARRIERS[..], &LISTED].concat();
    let (mut wrong, mut started, mut written) = (Vec::new(), 0, 0);
    for (place, script) in scripts.iter().enumerate() {
        let traced = trace(&scratch.0, place, script);
        (started, written) = (started + traced.started.len(), written + traced.written.len());
        let lax = policies.all_but_one.judge_script(script, ShellKind::Bash);
        for program in &traced.started {
            let name = program.rsplit('/').next().unwrap_or_default();
            if !is_found(name, &lax) {
                wrong.push(format!("{program} is not among the commands of: {script}"));
            }
        }
        // A wrapper is judged by the commands that it runs.
        for (rules, allowed) in [(&policies.nothing, &CARRIERS[..]), (&policies.listed, &carried)] {
            let is_other = |path: &String| !allowed.contains(&path.rsplit('/').next().unwrap_or_default());
            let is_allowed = rules.judge_script(script, ShellKind::Bash).verdict == Verdict::Allow;
            if is_allowed && (traced.started.iter().any(is_other) || !traced.written.is_empty()) {
                let Traced { started, written } = &traced;
                wrong.push(format!("allowed, starts {started:?}, writes {written:?}: {script}"));
            }
        }
    }
    println!("{} scripts, {started} programs, {written} files, {} violations", scripts.len(), wrong.len());
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), scripts.len(), wrong.join("\n"));
    assert!(started > TRACED / 5, "only {started} programs were started");
    assert!(written > TRACED / 20, "only {written} files were written");
}
