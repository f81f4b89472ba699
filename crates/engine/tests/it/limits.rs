//! Runaways: each crosses its limit, is ended with that cause, and disturbs no other session. Every one runs twice,
//! with control groups where this user may make them and with sampling alone; and all of them once more as an ordinary
//! user.

use crate::rig::{options, printed, puppet, receipt, run, sh, tagged, with_stdin};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};
use windlass_engine::{
    Amount, Bytes, BytesPerSecond, Cause, Cgroups, CommandSpec, Count, Crossed, Engine, EngineOptions, Exit,
    LimitMechanism, Limits, Receipt, Resource, RuntimeLimits, Scope, Stdin, Watching,
};
use windlass_testkit::{Scratch, survivors};

const MIB: u64 = 1 << 20;

fn engine_with(cgroups: Cgroups) -> Engine {
    Engine::new(EngineOptions { cgroups, ..options() }).expect("an engine can be made")
}

/// Runs a runaway beside a session that is used meanwhile and afterwards, and returns the limit that ended it.
async fn crossed_beside_another(cgroups: Cgroups, spec: CommandSpec) -> (Crossed, Receipt) {
    let token = survivors::token("limits");
    let engine = engine_with(cgroups);
    let neighbour = engine.start(with_stdin(sh("exec cat"), Stdin::Open)).unwrap();
    let runaway = engine.start(tagged(spec, &token)).unwrap();
    for line in ["one", "two"] {
        neighbour.write(format!("{line}\n")).await.unwrap();
        printed(&neighbour, line).await;
    }
    let receipt = receipt(&runaway).await;
    neighbour.write("three\n").await.unwrap();
    printed(&neighbour, "three").await;
    assert_eq!(survivors::bearing(&token), Vec::<String>::new());
    engine.shutdown().await;
    assert_eq!(groups_left(), Vec::<String>::new());
    let Cause::Limit(crossed) = receipt.cause else { panic!("it ended by {:?}: {receipt:?}", receipt.cause) };
    assert!(receipt.enforced.iter().any(|it| it.resource == crossed.resource), "{receipt:?}");
    (crossed, receipt)
}

/// Control groups that this very process made.
fn groups_left() -> Vec<String> {
    let own = format!("windlass-{}-", std::process::id());
    let mut found = Vec::new();
    find_groups(Path::new("/sys/fs/cgroup"), &own, &mut found);
    found
}

fn find_groups(directory: &Path, name: &str, found: &mut Vec<String>) {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        if entry.file_name().to_string_lossy().starts_with(name) {
            found.push(entry.path().display().to_string());
        }
        find_groups(&entry.path(), name, found);
    }
}

/// The same with every mechanism. The kernel lets no process far beyond a limit; where only sampling enforces it, the
/// culprit is ended before it has the `most` that it wants, however late the sample comes on a busy machine.
async fn check(spec: impl Fn() -> CommandSpec, resource: Resource, limit: u64, most: u64) {
    for cgroups in [Cgroups::OfThisProcess, Cgroups::Unused] {
        let (crossed, receipt) = crossed_beside_another(cgroups.clone(), spec()).await;
        assert_eq!((crossed.resource, crossed.scope), (resource, Scope::Session), "{cgroups:?} {receipt:?}");
        assert_eq!(crossed.limit, Amount(limit), "{cgroups:?}");
        let is_kept_by_kernel = matches!(crossed.means, LimitMechanism::CgroupV1 | LimitMechanism::CgroupV2);
        let at_most = if is_kept_by_kernel { most.min(4 * limit) } else { most };
        assert!(
            crossed.peak >= Amount(limit - limit / 16) && crossed.peak <= Amount(at_most),
            "{cgroups:?} {crossed}"
        );
        assert!(cgroups != Cgroups::Unused || !is_kept_by_kernel, "{crossed:?}");
    }
}

fn limited(mut spec: CommandSpec, limits: Limits) -> CommandSpec {
    spec.limits = limits;
    spec
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_memory_hog_is_ended_at_its_limit() {
    let limits = Limits { memory: Some(Bytes(96 * MIB)), ..Limits::default() };
    check(|| limited(puppet(&["hog", "4096"]), limits), Resource::Memory, 96 * MIB, 4095 * MIB).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hog_below_a_shell_ends_the_session_and_is_named() {
    let limits = Limits { memory: Some(Bytes(96 * MIB)), ..Limits::default() };
    let script = format!("{} hog 4096; sleep 100", windlass_testkit::puppet().display());
    check(|| limited(sh(&script), limits), Resource::Memory, 96 * MIB, 4095 * MIB).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fork_bomb_is_ended_whatever_it_does() {
    let limits = Limits { processes: Some(Count(40)), ..Limits::default() };
    check(|| limited(puppet(&["bomb", "11"]), limits), Resource::Processes, 40, 4096).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cpu_time_is_counted_over_the_whole_tree() {
    let limits = Limits { cpu_time: Some(Duration::from_millis(400)), ..Limits::default() };
    let puppet = windlass_testkit::puppet().display().to_string();
    let script = format!("{puppet} burn 30 & {puppet} burn 30 & wait");
    check(|| limited(sh(&script), limits), Resource::CpuTime, 400_000_000, 59_000_000_000).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hoarder_of_files_is_ended() {
    let limits = Limits { open_files: Some(Count(64)), ..Limits::default() };
    check(|| limited(puppet(&["files", "5000"]), limits), Resource::OpenFiles, 64, 64 + 32).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_is_ended_after_so_many_bytes() {
    let limits = Limits { output: Some(Bytes(8 * MIB)), ..Limits::default() };
    let flood = || limited(puppet(&["fill", "x", "10000000000"]), limits);
    check(flood, Resource::Output, 8 * MIB, 1 << 40).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_prints_too_fast_for_too_long_is_ended() {
    let limits = Limits { output_rate: Some(BytesPerSecond(4 * MIB)), ..Limits::default() };
    let flood = || limited(puppet(&["fill", "x", "10000000000"]), limits);
    check(flood, Resource::OutputRate, 4 * MIB, 1 << 40).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_writer_is_ended_when_the_disk_got_too_much() {
    let scratch = Scratch::new("limits-disk");
    std::fs::set_permissions(scratch.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let limits = Limits { disk: Some(Bytes(32 * MIB)), ..Limits::default() };
    let directory = scratch.path().display().to_string();
    let writer = || limited(puppet(&["write", &directory, "1024"]), limits);
    check(writer, Resource::Disk, 32 * MIB, 1024 * MIB).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_stays_within_its_limits_is_left_alone_and_measured() {
    let limits = Limits {
        memory: Some(Bytes(512 * MIB)),
        processes: Some(Count(50)),
        cpu_time: Some(Duration::from_secs(50)),
        open_files: Some(Count(100)),
        output: Some(Bytes(MIB)),
        output_rate: Some(BytesPerSecond(MIB)),
        disk: Some(Bytes(100 * MIB)),
        wall: Some(Duration::from_secs(50)),
    };
    for cgroups in [Cgroups::OfThisProcess, Cgroups::Unused] {
        let engine = engine_with(cgroups);
        let (printed, receipt) = run(&engine, limited(sh("ulimit -n; exit 3"), limits)).await;
        assert_eq!((receipt.exit, receipt.cause), (Exit::Code(3), Cause::Itself));
        assert_eq!(printed, "132\n");
        assert_eq!(receipt.peaks.of(Resource::Output), Some(Amount(4)));
        let kept: Vec<Resource> = receipt.enforced.iter().map(|it| it.resource).collect();
        assert!(Resource::ALL.iter().all(|resource| kept.contains(resource)), "{kept:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limits_of_an_engine_hold_for_sessions_that_ask_for_more_or_for_nothing() {
    let each =
        Limits { output: Some(Bytes(1000)), wall: Some(Duration::from_millis(300)), ..Limits::default() };
    let engine = Engine::new(EngineOptions { each, ..options() }).unwrap();
    let generous = Limits { output: Some(Bytes(MIB)), ..Limits::default() };
    for limits in [Limits::default(), generous] {
        let flood = limited(puppet(&["fill", "x", "1000000"]), limits);
        let (_, receipt) = run(&engine, flood).await;
        let Cause::Limit(crossed) = receipt.cause else { panic!("{receipt:?}") };
        assert_eq!((crossed.resource, crossed.limit), (Resource::Output, Amount(1000)));
    }
    let (_, receipt) = run(&engine, sh("sleep 100")).await;
    assert_eq!(receipt.cause, Cause::Timeout(Duration::from_millis(300)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_sessions_together_have_limits_and_the_largest_goes() {
    for cgroups in [Cgroups::OfThisProcess, Cgroups::Unused] {
        let limits = Limits { processes: Some(Count(60)), memory: Some(Bytes(1 << 30)), ..Limits::default() };
        let together = RuntimeLimits { limits, watching: Watching::WhereNeeded };
        let engine = Engine::new(EngineOptions { together, cgroups, ..options() }).unwrap();
        let neighbour = engine.start(with_stdin(sh("exec cat"), Stdin::Open)).unwrap();
        let bomb = engine.start(puppet(&["bomb", "10"])).unwrap();
        let receipt = receipt(&bomb).await;
        let Cause::Limit(crossed) = receipt.cause else { panic!("{receipt:?}") };
        assert_eq!((crossed.resource, crossed.scope), (Resource::Processes, Scope::Runtime), "{receipt:?}");
        neighbour.write("still here\n").await.unwrap();
        printed(&neighbour, "still here").await;
        engine.shutdown().await;
        assert_eq!(groups_left(), Vec::<String>::new());
    }
}

/// The session that prints most of it is ended, and the one that prints little stays.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_all_sessions_print_in_a_second_has_a_limit_together() {
    let limits = Limits { output_rate: Some(BytesPerSecond(MIB)), ..Limits::default() };
    let together = RuntimeLimits { limits, watching: Watching::WhereNeeded };
    let engine = Engine::new(EngineOptions { together, ..options() }).unwrap();
    let quiet = engine.start(with_stdin(sh("exec cat"), Stdin::Open)).unwrap();
    let slow = engine.start(puppet(&["fill", "x", "1000000"])).unwrap();
    assert_eq!(receipt(&slow).await.cause, Cause::Itself);
    let flood = engine.start(puppet(&["fill", "x", "100000000000"])).unwrap();
    let receipt = receipt(&flood).await;
    let Cause::Limit(crossed) = receipt.cause else { panic!("{receipt:?}") };
    assert_eq!((crossed.resource, crossed.scope), (Resource::OutputRate, Scope::Runtime), "{receipt:?}");
    assert!(crossed.limit == Amount(MIB) && crossed.peak > Amount(MIB), "{receipt:?}");
    quiet.write("still here\n").await.unwrap();
    printed(&quiet, "still here").await;
    engine.shutdown().await;
}

/// Without any limit: the disk is not filled, and another session replies at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_gigabytes_of_output_do_not_hold_up_another_session() {
    let engine = engine_with(Cgroups::OfThisProcess);
    let flood = engine.start(puppet(&["fill", "x", "10000000000"])).unwrap();
    let neighbour = engine.start(with_stdin(sh("exec cat"), Stdin::Open)).unwrap();
    printed(&flood, "xxx").await;
    let begun = Instant::now();
    for place in 0..20 {
        neighbour.write(format!("line {place}\n")).await.unwrap();
        printed(&neighbour, &format!("line {place}\n")).await;
    }
    // Generous: the reply takes a millisecond, and machines are busy.
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    assert!(flood.receipt().is_none());
    flood.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn groups_that_cannot_be_used_give_way_to_the_next_means() {
    // A tree of version 2 that is not the kernel's: its files accept writes, which have no effect.
    let scratch = Scratch::new("limits-tree");
    let tree = scratch.path();
    std::fs::write(tree.join("cgroup.controllers"), "memory pids\n").unwrap();
    std::fs::write(tree.join("cgroup.type"), "domain\n").unwrap();
    std::fs::write(tree.join("cgroup.procs"), "1\n").unwrap();
    let cgroups = Cgroups::At(windlass_sys::cgroup::Hierarchies::at(tree));
    let engine = Engine::new(EngineOptions { cgroups, ..options() }).unwrap();
    let limits = Limits { processes: Some(Count(20)), ..Limits::default() };
    let (_, receipt) = run(&engine, limited(puppet(&["bomb", "9"]), limits)).await;
    let Cause::Limit(crossed) = receipt.cause else { panic!("{receipt:?}") };
    assert_eq!((crossed.resource, crossed.means), (Resource::Processes, LimitMechanism::Watcher));
    let trouble = engine.limits_trouble().expect("it is said");
    assert!(trouble.contains("holds other processes"), "{trouble}");
}

/// On a machine where version 2 has no controllers, its groups still count CPU time: entered, read and removed for
/// real.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_group_of_version_2_is_entered_counts_and_is_removed() {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap();
    let unified: String = groups.lines().filter(|line| line.starts_with("0::")).collect();
    let hierarchies = windlass_sys::cgroup::Hierarchies::from_text(&unified, &mounts);
    let cpu_time = Some(Duration::from_millis(300));
    let limits = Limits { cpu_time, ..Limits::default() };
    let script = format!("cat /proc/self/cgroup; {} burn 30", windlass_testkit::puppet().display());
    let engine = engine_with(Cgroups::At(hierarchies));
    let (said, receipt) = run(&engine, limited(sh(&script), limits)).await;
    let Cause::Limit(crossed) = receipt.cause else { panic!("{receipt:?}") };
    assert_eq!(crossed.resource, Resource::CpuTime);
    if engine.limits_trouble().is_none_or(|trouble| !trouble.contains("Cpu")) {
        assert!(said.lines().any(|line| line.starts_with("0::") && line.contains("/leaf-")), "{said}");
    }
    engine.shutdown().await;
    assert_eq!(groups_left(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limited_sessions_one_after_the_other_leave_no_group_and_no_descriptor() {
    let engine = engine_with(Cgroups::OfThisProcess);
    let limits = Limits { memory: Some(Bytes(256 * MIB)), processes: Some(Count(50)), ..Limits::default() };
    run(&engine, limited(sh("true"), limits)).await;
    for _ in 0..20 {
        let (said, receipt) = run(&engine, limited(sh("echo hi"), limits)).await;
        assert_eq!((said.as_str(), receipt.cause), ("hi\n", Cause::Itself));
    }
    engine.shutdown().await;
    assert_eq!(groups_left(), Vec::<String>::new());
    assert_eq!(survivors::zombies(), Vec::<u32>::new());
}

/// Root may make control groups and is not bound by the limit on a user's processes: for an ordinary user both are
/// reversed.
#[test]
fn an_ordinary_user_is_protected_without_control_groups() {
    let scratch = Scratch::new("limits-user");
    let program = scratch.path().join("test");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    std::fs::copy(windlass_testkit::puppet(), scratch.path().join("windlass-puppet")).unwrap();
    for path in [scratch.path(), &program, &scratch.path().join("windlass-puppet")] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    if !rustix::process::geteuid().is_root() {
        // The tests above were run by an ordinary user.
        return;
    }
    let mut command = std::process::Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&program);
    let tests = [
        "limits::a_memory_hog_is_ended_at_its_limit",
        "limits::a_hog_below_a_shell_ends_the_session_and_is_named",
        "limits::a_fork_bomb_is_ended_whatever_it_does",
        "limits::cpu_time_is_counted_over_the_whole_tree",
        "limits::a_hoarder_of_files_is_ended",
        "limits::a_flood_is_ended_after_so_many_bytes",
        "limits::who_prints_too_fast_for_too_long_is_ended",
        "limits::a_writer_is_ended_when_the_disk_got_too_much",
        "limits::all_sessions_together_have_limits_and_the_largest_goes",
    ];
    command.args(tests).args(["--exact", "--test-threads=1"]);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains(&format!("{} passed", tests.len())), "{said}");
}
