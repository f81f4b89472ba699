//! Tests of the sandbox: attempts to escape from it, and work that must succeed inside of it.
//!
//! The attempts are a program in C, `sandbox/attacks.c`, which runs behind any words that start a command: behind none,
//! where every attempt must succeed or report that it cannot be tried, which shows that the attempts are real; and
//! behind the sandbox, where none may succeed. The tasks are scripts, each with a check of its results.

mod adversary;
mod attempts;
mod confinement;
mod denials;
mod exhaustion;
mod fallback;
mod git_links;
mod hidden;
mod later;
mod locks;
mod mounts;
mod nested;
mod prepared;
mod replaced;
mod runtime;
mod sequences;
mod simultaneous;
mod stage;
mod tasks;
mod terminals;
mod traps;
mod workspaces;

use std::collections::BTreeSet;

use attempts::{Attempted, Outcome};
use confinement::{Confinement, Layers, Network, Policy};
use stage::{Owner, Stage};

/// A smaller number means that attempts were lost.
const LEAST_ATTEMPTS: usize = 500;

/// Categories whose success changes a file in the attempt's own directory outside.
const LEAVES_TRACES: &[&str] = &[
    "write",
    "append",
    "truncate",
    "create",
    "mkdir",
    "node",
    "remove",
    "rename",
    "link",
    "symlink",
    "mmap",
    "copy",
    "fallocate",
    "mode",
    "owner",
    "times",
    "attribute",
    "flags",
];

/// Those of them that succeed elsewhere: in a file without a name, and in the workspace.
const LEAVE_NONE: &[&str] =
    &["create_temporary_unlinked", "create_device_in_workspace", "write_when_device_is_opened_raw"];

#[test]
fn every_attempt_succeeds_where_nothing_stops_it() {
    nothing_stops(Owner::Myself);
}

#[test]
fn every_attempt_succeeds_where_nothing_stops_it_for_an_ordinary_user() {
    nothing_stops(Owner::ordinary());
}

fn nothing_stops(owner: Owner) {
    let stage = Stage::new("bare", owner);
    let before = stage.traces();
    let attempted = stage.attempt(&[]);
    let after = stage.traces();
    println!("{}", attempts::table(&attempted));
    assert!(attempted.len() >= LEAST_ATTEMPTS, "only {} attempts", attempted.len());
    let stopped: Vec<_> = attempted.iter().filter(|one| matches!(one.outcome, Outcome::Blocked(_))).collect();
    assert!(stopped.is_empty(), "stopped by nothing: {stopped:#?}");
    assert_eq!(without_trace(&attempted, &changed(&before, &after)), Vec::<&str>::new());
}

/// Attempts that report a change outside of which no trace was found.
fn without_trace<'a>(attempted: &'a [Attempted], changed: &BTreeSet<String>) -> Vec<&'a str> {
    let claims = attempted.iter().filter(|one| matches!(one.outcome, Outcome::Escaped(_)));
    let claims = claims.filter(|one| LEAVES_TRACES.contains(&one.attempt.category.as_str()));
    let names = claims.map(|one| one.attempt.name.as_str()).filter(|name| !LEAVE_NONE.contains(name));
    names.filter(|name| !changed.iter().any(|path| path.contains(&format!("/{name}/")))).collect()
}

/// Paths that are in only one of two snapshots, or differ between them.
fn changed(before: &stage::Traces, after: &stage::Traces) -> BTreeSet<String> {
    let differs = |path: &&String| before.get(*path) != after.get(*path);
    before.keys().chain(after.keys()).filter(differs).cloned().collect()
}

/// Failures of a sandbox that promised to stop an attempt: attempts by name, and changes that only the snapshots show.
fn got_through(confinement: Confinement, attempted: &[Attempted], changed: &BTreeSet<String>) -> Vec<String> {
    let escaped = attempted.iter().filter(|one| matches!(one.outcome, Outcome::Escaped(_)));
    let broken = escaped.filter(|one| confinement.must_stop(&one.attempt));
    let told = broken.map(|one| format!("{}: {:?}", one.attempt.name, one.outcome));
    told.chain(changed.iter().map(|path| format!("{path} changed"))).collect()
}

#[test]
fn an_attempt_gets_through_where_a_policy_must_stop_it() {
    let careful = Confinement { policy: Policy::ReadOnly, network: Network::Off, layers: Layers::All };
    let usual =
        Confinement { policy: Policy::WorkspaceWrite, network: Network::Loopback, layers: Layers::Landlock };
    let open = Confinement { policy: Policy::WorkspaceWrite, network: Network::On, layers: Layers::All };
    for (stopped_by, expected) in [
        ("both", [true, true, true]),
        ("read-only", [true, false, false]),
        ("network-off", [true, false, false]),
        ("network-not-on", [true, true, false]),
    ] {
        let escaped = [Attempted::escaped(stopped_by)];
        let found =
            [careful, usual, open].map(|one| !got_through(one, &escaped, &BTreeSet::new()).is_empty());
        assert_eq!(found, expected, "{stopped_by}");
    }
}

#[test]
fn a_change_outside_counts_though_no_attempt_speaks_of_it() {
    let open = Confinement { policy: Policy::WorkspaceWrite, network: Network::On, layers: Layers::All };
    let changed = BTreeSet::from(["/outside/file".to_owned()]);
    assert_eq!(got_through(open, &[], &changed), ["/outside/file changed"]);
}

#[test]
fn every_policy_has_its_words_on_the_command_line() {
    let stage = Stage::new("words", Owner::Myself);
    let confinement =
        Confinement { policy: Policy::ReadOnly, network: Network::Off, layers: Layers::Landlock };
    let words = confinement.words(&stage);
    let expected = ["run", "--sandbox", "read-only", "--network", "off"];
    assert_eq!(words[1..6], expected);
    assert_eq!(words[words.len() - 3..], ["--sandbox-layers", "landlock", "--"]);
}

#[test]
fn every_development_task_works_where_nothing_confines_it() {
    let stage = Stage::new("tasks", Owner::Myself);
    let done = tasks::carry_out(&stage, |_| Vec::new());
    println!("{}", tasks::table(&done));
    let failed: Vec<_> = done.iter().filter(|one| matches!(one.outcome, tasks::Outcome::Failed(_))).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    let works = done.iter().filter(|one| matches!(one.outcome, tasks::Outcome::Works)).count();
    assert!(works >= 40, "only {works} tasks could be tried");
}

#[tokio::test]
async fn every_terminal_task_works_where_nothing_confines_it() {
    let stage = Stage::new("terminals", Owner::Myself);
    terminals::carry_out(&stage, &[]).await;
}

#[test]
fn no_attempt_gets_out_of_a_workspace() {
    nothing_gets_out_of("workspace", Owner::Myself, WORKSPACE);
}

#[test]
fn no_attempt_of_an_ordinary_user_gets_out_of_a_workspace() {
    nothing_gets_out_of("workspace-user", Owner::ordinary(), WORKSPACE);
}

#[test]
fn no_attempt_gets_out_of_reading_only() {
    nothing_gets_out_of("reading", Owner::Myself, READING);
}

#[test]
fn no_attempt_of_an_ordinary_user_gets_out_of_reading_only() {
    nothing_gets_out_of("reading-user", Owner::ordinary(), READING);
}

#[test]
fn no_attempt_gets_out_without_namespaces() {
    nothing_gets_out_of("landlock", Owner::Myself, Confinement { layers: Layers::Landlock, ..WORKSPACE });
}

#[test]
fn no_attempt_of_an_ordinary_user_gets_out_without_namespaces() {
    nothing_gets_out_of(
        "landlock-user",
        Owner::ordinary(),
        Confinement { layers: Layers::Landlock, ..WORKSPACE },
    );
}

#[test]
fn no_attempt_gets_out_of_reading_only_without_namespaces() {
    nothing_gets_out_of(
        "landlock-reading",
        Owner::Myself,
        Confinement { layers: Layers::Landlock, ..READING },
    );
}

#[test]
fn no_attempt_gets_out_where_the_network_is_open() {
    nothing_gets_out_of("open", Owner::Myself, Confinement { network: Network::On, ..WORKSPACE });
}

#[test]
fn no_attempt_gets_out_where_there_is_a_loopback_device() {
    nothing_gets_out_of(
        "loopback",
        Owner::ordinary(),
        Confinement { network: Network::Loopback, ..WORKSPACE },
    );
}

#[test]
fn whoever_uses_everything_up_succeeds_where_nothing_stops_it() {
    let stage = Stage::new("exhaust-bare", Owner::Myself);
    let ends = exhaustion::unconfined(&stage);
    assert!(ends.len() >= 10, "only {ends:?}");
    let stopped: Vec<_> = ends.iter().filter(|(_, end)| !matches!(end, Outcome::Escaped(_))).collect();
    assert!(stopped.is_empty(), "stopped by nothing: {stopped:#?}");
}

#[test]
fn nobody_uses_everything_up_in_a_sandbox_with_limits() {
    nothing_is_used_up("exhaust", Owner::Myself);
}

#[test]
fn no_ordinary_user_uses_everything_up_in_a_sandbox_with_limits() {
    nothing_is_used_up("exhaust-user", Owner::ordinary());
}

fn nothing_is_used_up(name: &str, owner: Owner) {
    let stage = Stage::new(name, owner);
    for (policy, layers) in [WORKSPACE, READING]
        .into_iter()
        .flat_map(|it| [(it.policy, Layers::All), (it.policy, Layers::Landlock)])
    {
        let ends = exhaustion::confined(&stage, Confinement { policy, layers, ..WORKSPACE });
        println!("{policy:?}, {layers:?}: {ends:#?}");
        let through: Vec<_> = ends.iter().filter(|(_, end)| !matches!(end, Outcome::Blocked(_))).collect();
        assert!(through.is_empty(), "{policy:?}, {layers:?}: {through:#?}");
    }
}

const WORKSPACE: Confinement =
    Confinement { policy: Policy::WorkspaceWrite, network: Network::Off, layers: Layers::All };
const READING: Confinement = Confinement { policy: Policy::ReadOnly, ..WORKSPACE };

fn nothing_gets_out_of(name: &str, owner: Owner, confinement: Confinement) {
    let stage = Stage::new(name, owner);
    let before = stage.traces();
    let attempted = stage.attempt(&confinement.words(&stage));
    let changed = changed(&before, &stage.traces());
    println!("{}", attempts::table(&attempted));
    assert_eq!(got_through(confinement, &attempted, &changed), Vec::<String>::new());
}

#[test]
fn every_development_task_works_in_a_workspace() {
    tasks_work_in("tasks-workspace", Owner::Myself);
}

#[test]
fn every_development_task_of_an_ordinary_user_works_in_a_workspace() {
    tasks_work_in("tasks-user", Owner::ordinary());
}

/// Tasks that depend on the supervisor if there are no namespaces.
const SUPERVISED: &[&str] = &[
    "unix_socket_between_own_processes",
    "abstract_socket_between_own_processes",
    "unix_sockets_that_wait_for_their_server",
    "unix_socket_that_was_left_behind",
    "objects_of_a_manager_process",
    "priority_lowered",
    "priority_of_own_process_changed",
    "terminal_by_script",
    "terminal_by_python",
    "terminal_by_tmux",
    "terminal_by_tmux_with_a_server_of_its_own",
    "pair_of_sockets_for_datagrams",
    "files_watched_by_inotify",
    "log_messages_do_no_harm",
    "agent_of_ssh",
    "agent_of_gpg",
];

#[test]
fn nine_of_ten_development_tasks_work_without_namespaces() {
    most_tasks_work_without_namespaces("tasks-landlock", Owner::Myself);
}

#[test]
fn nine_of_ten_development_tasks_of_an_ordinary_user_work_without_namespaces() {
    most_tasks_work_without_namespaces("tasks-landlock-user", Owner::ordinary());
}

/// Tasks that need the loopback device are counted as failures: Landlock alone cannot provide one.
fn most_tasks_work_without_namespaces(name: &str, owner: Owner) {
    const DOCS: &str = include_str!("../../../../docs/sandbox.md");
    let mut stage = Stage::new(name, owner);
    stage.bring_toolchain();
    let done = tasks::carry_out(&stage, |reach| {
        let network = if reach == tasks::Reach::Loopback { Network::Loopback } else { Network::Off };
        Confinement { network, layers: Layers::Landlock, ..WORKSPACE }.words(&stage)
    });
    println!("{}", tasks::table(&done));
    let failed: Vec<_> = done.iter().filter(|one| matches!(one.outcome, tasks::Outcome::Failed(_))).collect();
    let is_listed = |one: &tasks::Done| DOCS.contains(&format!("| `{}` |", one.name));
    let unlisted: Vec<_> = failed.iter().filter(|one| !is_listed(one)).collect();
    assert!(unlisted.is_empty(), "docs/sandbox.md gives no reason for these: {unlisted:#?}");
    let works: Vec<_> = done.iter().filter(|one| matches!(one.outcome, tasks::Outcome::Works)).collect();
    let mistaken: Vec<_> = works.iter().filter(|one| is_listed(one)).map(|one| one.name).collect();
    assert!(mistaken.is_empty(), "docs/sandbox.md says that these fail: {mistaken:?}");
    assert!(works.len() >= 9 * failed.len(), "only {} of {}", works.len(), works.len() + failed.len());
    assert!(works.len() >= 60, "only {} tasks could be tried", works.len());
}

#[test]
fn a_socket_that_a_rule_names_can_be_used() {
    let stage = Stage::new("named-socket", Owner::Myself);
    let value =
        |name: &str| stage.environment().iter().find(|(it, _)| it == name).map(|(_, value)| value.clone());
    for layers in [Layers::All, Layers::Landlock] {
        for (variable, attempt) in
            [("TMP_SOCKET", "local_socket_in_tmp"), ("WORK_SOCKET", "local_socket_in_workspace")]
        {
            let mut words = Confinement { layers, ..WORKSPACE }.words(&stage);
            words.splice(2..2, ["--writable".to_owned(), value(variable).expect("it is given")]);
            words.extend([stage.program(), "run".to_owned(), attempt.to_owned()]);
            let output = stage.command(&words).output().expect("windlass starts");
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            let outcome = attempts::outcome_of(attempt, &said);
            assert!(matches!(outcome, Some(Outcome::Escaped(_))), "{layers:?}, {variable}: {output:?}");
        }
    }
}

/// If all commands share the network, only the supervisor distinguishes the session's own sockets from those of others.
#[test]
fn sockets_of_its_own_work_where_the_network_is_open() {
    let stage = Stage::new("tasks-open", Owner::Myself);
    let sockets: Vec<&str> = SUPERVISED.iter().copied().filter(|name| name.contains("socket")).collect();
    let confinement = Confinement { network: Network::On, ..WORKSPACE };
    let done = tasks::carry_out_named(&stage, &sockets, |_| confinement.words(&stage));
    let failed: Vec<_> = done.iter().filter(|one| matches!(one.outcome, tasks::Outcome::Failed(_))).collect();
    assert!(failed.is_empty(), "{failed:#?}");
}

/// A file that its owner denies to all other users was not denied by the sandbox.
#[test]
fn what_an_ordinary_user_could_not_do_anyway_is_no_denial() {
    const SCRIPT: &str = "touch /etc/made; mkdir /etc/made; rm -f /etc/passwd; mv /etc/passwd /etc/moved; \
                          ln -s x /etc/link; chmod 600 /etc/passwd; echo > /etc/passwd; touch $OUTSIDE/own; true";
    if !rustix::process::geteuid().is_root() {
        println!("untried: only root can be somebody else");
        return;
    }
    let stage = Stage::new("owners", Owner::ordinary());
    for layers in [Layers::All, Layers::Landlock] {
        let mut words = Confinement { layers, ..WORKSPACE }.words(&stage);
        words.insert(2, "--json".to_owned());
        words.extend(["sh", "-c", SCRIPT].map(str::to_owned));
        let output = stage.command(&words).output().expect("windlass starts");
        let said: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it prints JSON");
        let targets: Vec<_> = said["denials"]
            .as_array()
            .expect("there is a list")
            .iter()
            .map(|denial| denial["target"].as_str().unwrap_or_default().to_owned())
            .collect();
        assert_eq!(targets, [stage.path("outside/own")], "{layers:?}: {said}");
    }
}

#[tokio::test]
async fn every_terminal_task_works_in_a_workspace() {
    let stage = Stage::new("terminals-workspace", Owner::Myself);
    terminals::carry_out(&stage, &WORKSPACE.flags(&stage)).await;
}

fn tasks_work_in(name: &str, owner: Owner) {
    let mut stage = Stage::new(name, owner);
    stage.bring_toolchain();
    let done = tasks::carry_out(&stage, |reach| {
        let network = match reach {
            tasks::Reach::Nobody => Network::Off,
            tasks::Reach::Loopback => Network::Loopback,
        };
        Confinement { network, ..WORKSPACE }.words(&stage)
    });
    println!("{}", tasks::table(&done));
    let failed: Vec<_> = done.iter().filter(|one| matches!(one.outcome, tasks::Outcome::Failed(_))).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    let works = done.iter().filter(|one| matches!(one.outcome, tasks::Outcome::Works)).count();
    assert!(works >= 60, "only {works} tasks could be tried");
}
