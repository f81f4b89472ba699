//! Everyday work of developers and agents, which must succeed in a sandbox with a writable workspace.
//!
//! A task is a script, run in a directory of its own below the workspace, and a check of its results, run outside. The
//! tables are in `tasks/`, by subject.

mod files;
mod git;
mod languages;
mod packages;
mod system;

use std::fmt::Write;
use std::process::Stdio;

use super::stage::Stage;

/// The network that a task needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// No network.
    Nobody,
    /// A server and its client, both of them in the same session.
    Loopback,
}

/// One task.
#[derive(Debug)]
pub(crate) struct Task {
    pub(crate) name: &'static str,
    /// Programs without which the task cannot be tried.
    pub(crate) needs: &'static [&'static str],
    pub(crate) reach: Reach,
    /// A script for bash, too, run outside of the sandbox before the task; mostly empty.
    pub(crate) before: &'static str,
    /// A script for bash, with `-eu` and `pipefail`.
    pub(crate) script: &'static str,
    /// A script for sh, with `-eu`, in the same directory, outside of the sandbox.
    pub(crate) check: &'static str,
}

/// A task that needs no network.
const fn task(
    name: &'static str,
    needs: &'static [&'static str],
    script: &'static str,
    check: &'static str,
) -> Task {
    Task { name, needs, reach: Reach::Nobody, before: "", script, check }
}

/// The result of a task.
#[derive(Debug)]
pub(crate) enum Outcome {
    Works,
    Failed(String),
    Untried(String),
}

/// A task and its result.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) name: &'static str,
    pub(crate) outcome: Outcome,
}

/// All tasks, in an order in which none disturbs another.
pub(crate) fn all() -> impl Iterator<Item = &'static Task> {
    git::TASKS.iter().chain(languages::TASKS).chain(packages::TASKS).chain(files::TASKS).chain(system::TASKS)
}

/// Runs all tasks, each behind the words for the network that it needs. Tasks of one chain use the same repository or
/// home directory one after the other; the chains share nothing and run in parallel.
pub(crate) fn carry_out(stage: &Stage, words: impl Fn(Reach) -> Vec<String>) -> Vec<Done> {
    let chains: [&[&[Task]]; 3] =
        [&[git::TASKS], &[languages::TASKS, packages::TASKS], &[files::TASKS, system::TASKS]];
    // Computed before the threads start: the program for an ordinary user is copied when its words are first computed.
    let [nowhere, loopback] = [Reach::Nobody, Reach::Loopback].map(words);
    let prefix = |reach| if reach == Reach::Nobody { &nowhere } else { &loopback };
    let one = |task: &Task| Done { name: task.name, outcome: outcome(stage, prefix(task.reach), task) };
    std::thread::scope(|scope| {
        let chains =
            chains.map(|chain| scope.spawn(move || chain.iter().copied().flatten().map(one).collect()));
        chains.into_iter().flat_map(|chain| -> Vec<Done> { chain.join().expect("no task panics") }).collect()
    })
}

/// Runs some tasks in the same way.
pub(crate) fn carry_out_named(
    stage: &Stage,
    names: &[&str],
    words: impl Fn(Reach) -> Vec<String>,
) -> Vec<Done> {
    let named = |name: &&str| all().find(|task| task.name == *name);
    let tasks = names.iter().map(|name| named(name).unwrap_or_else(|| panic!("no task is called {name}")));
    tasks.map(|task| Done { name: task.name, outcome: outcome(stage, &words(task.reach), task) }).collect()
}

fn outcome(stage: &Stage, prefix: &[String], task: &Task) -> Outcome {
    if let Some(missing) = task.needs.iter().find(|program| !is_here(stage, program)) {
        return Outcome::Untried(format!("no {missing}"));
    }
    let here = stage.directory(&["work", "tasks", task.name]);
    let bash = |script: &str| ["bash", "-eu", "-o", "pipefail", "-c", script].map(str::to_owned);
    if let Err(why) = succeeds(stage, &here, &bash(task.before)) {
        return Outcome::Failed(format!("it could not be prepared: {why}"));
    }
    let words: Vec<_> = prefix.iter().cloned().chain(bash(task.script)).collect();
    if let Err(why) = succeeds(stage, &here, &words) {
        return Outcome::Failed(why);
    }
    match succeeds(stage, &here, &["sh", "-eu", "-c", task.check].map(str::to_owned)) {
        Ok(()) => Outcome::Works,
        Err(why) => Outcome::Failed(format!("it did not do what it should: {why}")),
    }
}

fn is_here(stage: &Stage, program: &str) -> bool {
    let script = format!("command -v {program}");
    let mut command = stage.command(&["sh", "-c", &script].map(str::to_owned));
    command.output().is_ok_and(|output| output.status.success())
}

fn succeeds(stage: &Stage, here: &str, words: &[String]) -> Result<(), String> {
    let mut command = stage.command(words);
    let output =
        command.current_dir(here).stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Err(format!("{}\n{}{}", output.status, text(&output.stdout), text(&output.stderr)))
}

/// A line for each task.
pub(crate) fn table(done: &[Done]) -> String {
    let mut text = String::new();
    for Done { name, outcome } in done {
        let word = match outcome {
            Outcome::Works => "works".to_owned(),
            Outcome::Failed(why) => format!("FAILED: {why}"),
            Outcome::Untried(reason) => format!("untried: {reason}"),
        };
        let _ = writeln!(text, "{name:32} {word}");
    }
    text
}
