//! Control groups: a made-up tree of version 2 to check which files are written, and the machine's own groups to check
//! the effect.

use proptest::prelude::*;
use std::fs;
use std::path::Path;
use windlass_sys::cgroup::{
    Controller, Hierarchies, RuntimeCgroup, RuntimeCgroupName, Unusable, Version, remove_abandoned,
};
use windlass_testkit::Scratch;

const BOTH: [Controller; 2] = [Controller::Memory, Controller::Pids];

/// A group as the kernel would show it, with these processes in it.
fn group(scratch: &Scratch, processes: &[u32]) -> Hierarchies {
    let write = |file: &str, text: String| fs::write(scratch.path().join(file), text).unwrap();
    write("cgroup.controllers", "cpuset cpu io memory pids\n".into());
    write("cgroup.subtree_control", String::new());
    write("cgroup.type", "domain\n".into());
    write("cgroup.procs", processes.iter().map(|pid| format!("{pid}\n")).collect());
    Hierarchies::at(scratch.path())
}

fn text(path: impl AsRef<Path>) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| error.to_string())
}

/// The folder of the nest, and that of the runtime itself if it moved.
fn folders(scratch: &Scratch) -> Vec<String> {
    scratch.names().into_iter().filter(|name| name.starts_with("windlass-")).collect()
}

#[test]
fn in_a_delegated_group_the_runtime_moves_aside_and_divides_it() {
    let scratch = Scratch::new("cgroup-delegated");
    let hierarchies = group(&scratch, &[std::process::id()]);
    if rustix::process::geteuid().is_root()
        && rustix::fs::setxattr(scratch.path(), "user.delegate", b"1", rustix::fs::XattrFlags::empty())
            .is_err()
    {
        // This file system has no extended attributes, and only one can show that a group of root's was delegated.
        return;
    }
    let (nest, refusals) = RuntimeCgroup::make(&hierarchies, RuntimeCgroupName::new(7), &BOTH);
    assert!(refusals.is_empty(), "{refusals:?}");
    let nest = nest.unwrap();
    assert_eq!(nest.version(Controller::Memory), Some(Version::V2));
    assert_eq!(nest.version(Controller::Cpu), None);
    let [own, aside] = folders(&scratch).try_into().unwrap();
    assert_eq!(aside, format!("{own}-runtime"));
    let at = |path: &str| text(scratch.path().join(path));
    assert_eq!(at(&format!("{aside}/cgroup.procs")), std::process::id().to_string());
    assert_eq!(at("cgroup.subtree_control"), "+pids");
    assert_eq!(at(&format!("{own}/cgroup.subtree_control")), "+pids");

    let leaf = nest.leaf(&BOTH).unwrap();
    leaf.limit_memory(Some(512 << 20)).unwrap();
    leaf.limit_processes(Some(64)).unwrap();
    let of_leaf = |file: &str| at(&format!("{own}/leaf-1/{file}"));
    assert_eq!(of_leaf("memory.max"), "536870912");
    assert_eq!((of_leaf("memory.swap.max"), of_leaf("memory.oom.group")), ("0".into(), "1".into()));
    assert_eq!(of_leaf("pids.max"), "64");
    leaf.limit_processes(None).unwrap();
    assert_eq!(of_leaf("pids.max"), "max");
    assert_eq!(leaf.entries().len(), 1, "one hierarchy has both");
}

#[test]
fn what_a_leaf_of_version_2_counts_is_read_from_its_files() {
    let scratch = Scratch::new("cgroup-counts");
    let hierarchies = group(&scratch, &[]);
    fs::write(scratch.path().join("cpu.stat"), "usage_usec 0\n").unwrap();
    let (nest, refusals) = RuntimeCgroup::make(&hierarchies, RuntimeCgroupName::new(8), &Controller::ALL);
    assert!(refusals.is_empty(), "{refusals:?}");
    let leaf = nest.as_ref().unwrap().leaf(&Controller::ALL).unwrap();
    let [own] = folders(&scratch).try_into().unwrap();
    let write = |file: &str, text: &str| {
        fs::write(scratch.path().join(&own).join("leaf-1").join(file), text).unwrap();
    };
    assert_eq!((leaf.memory(), leaf.peak_memory(), leaf.killed_for_memory()), (None, None, 0));
    write("memory.current", "1000\n");
    write("memory.peak", "2000\n");
    write("memory.events", "low 0\nhigh 0\nmax 9\noom 2\noom_kill 3\noom_group_kill 1\n");
    write("pids.current", "5\n");
    write("pids.peak", "6\n");
    write("pids.events", "max 7\n");
    write("cpu.stat", "usage_usec 1500\nuser_usec 1000\nsystem_usec 500\n");
    write("cgroup.procs", "11\n12\n");
    assert_eq!((leaf.memory(), leaf.peak_memory(), leaf.killed_for_memory()), (Some(1000), Some(2000), 3));
    assert_eq!((leaf.processes(), leaf.peak_processes(), leaf.forks_refused()), (Some(5), Some(6), 7));
    assert_eq!(leaf.cpu(), Some(std::time::Duration::from_micros(1500)));
    assert_eq!(leaf.members().len(), 2);
}

#[test]
fn a_group_that_holds_others_or_was_not_delegated_is_left_alone() {
    for processes in [vec![1], vec![std::process::id(), 1]] {
        let scratch = Scratch::new("cgroup-shared");
        let hierarchies = group(&scratch, &processes);
        let before = text(scratch.path().join("cgroup.procs"));
        let (nest, refusals) = RuntimeCgroup::make(&hierarchies, RuntimeCgroupName::new(9), &BOTH);
        assert!(nest.is_none());
        assert!(refusals.iter().all(|it| matches!(it.reason, Unusable::Shared { .. })), "{refusals:?}");
        assert_eq!(text(scratch.path().join("cgroup.procs")), before);
        assert_eq!(text(scratch.path().join("cgroup.subtree_control")), "");
        assert_eq!(folders(&scratch), Vec::<String>::new());
    }
}

#[test]
fn a_hierarchy_without_the_controllers_is_no_use() {
    let scratch = Scratch::new("cgroup-empty");
    let hierarchies = group(&scratch, &[]);
    fs::write(scratch.path().join("cgroup.controllers"), "hugetlb\n").unwrap();
    let (nest, refusals) = RuntimeCgroup::make(&hierarchies, RuntimeCgroupName::new(10), &Controller::ALL);
    assert!(nest.is_none());
    assert!(refusals.iter().all(|it| matches!(it.reason, Unusable::Absent)), "{refusals:?}");
}

/// The kernel's own files do not prevent the removal of a group, but those of a made-up group would: so only
/// directories are made here.
#[test]
fn nests_of_runtimes_that_are_gone_are_removed_and_no_others() {
    let scratch = Scratch::new("cgroup-abandoned");
    let hierarchies = group(&scratch, &[]);
    let own = RuntimeCgroupName::new(11).to_string();
    let gone = ["windlass-1073741823-5-6", "windlass-1073741823-5-6-runtime"];
    let others = ["windlass-x-y-z", "windlass-1073741823-5-6-7", "somebody"];
    for name in gone.iter().chain(&others).copied().chain([own.as_str()]) {
        fs::create_dir(scratch.path().join(name)).unwrap();
    }
    fs::create_dir(scratch.path().join(gone[0]).join("leaf-1")).unwrap();
    assert_eq!(remove_abandoned(&hierarchies), 3);
    let left: Vec<String> = scratch.names().into_iter().filter(|name| !name.starts_with("cgroup.")).collect();
    let mut expected: Vec<String> = others.iter().map(ToString::to_string).chain([own]).collect();
    expected.sort();
    assert_eq!(left, expected);
}

#[test]
fn groups_of_this_machine_can_be_made_limited_and_removed_or_say_why_not() {
    let (nest, refusals) =
        RuntimeCgroup::make(&Hierarchies::of_this_process(), RuntimeCgroupName::new(12), &BOTH);
    for refusal in &refusals {
        assert!(!refusal.reason.to_string().is_empty());
    }
    let Some(nest) = nest else { return };
    let leaf = nest.leaf(&BOTH).unwrap();
    leaf.limit_memory(Some(64 << 20)).unwrap();
    leaf.limit_processes(Some(3)).unwrap();
    assert!(leaf.members().is_empty());
    nest.take_back(leaf);
    let again = nest.leaf(&BOTH).unwrap();
    assert_eq!((again.killed_for_memory(), again.forks_refused()), (0, 0));
    nest.take_back(again);
    nest.remove_empty();
    let (second, _) = RuntimeCgroup::make(&Hierarchies::of_this_process(), RuntimeCgroupName::new(12), &BOTH);
    assert!(second.is_some(), "the name is free again");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Parts of the text in these files come from other programs: names of groups and of mount points.
    #[test]
    fn any_text_is_read_as_a_map_or_as_nothing(
        groups in "([0-9]{0,2}:[a-z,=]{0,12}:/?[ -~é\n]{0,20}\n?){0,4}",
        mounts in "([0-9 ]{0,6}[0-9:]{0,4} /[ -~\\\\]{0,12} /[ -~\\\\é0-7]{0,16}( - cgroup2? [a-z]{0,8} [a-z,]{0,12})?\n?){0,4}",
        noise in any::<String>(),
    ) {
        let read = Hierarchies::from_text(&groups, &mounts);
        prop_assert_eq!(&read, &Hierarchies::from_text(&groups, &mounts));
        Hierarchies::from_text(&noise, &mounts);
        Hierarchies::from_text(&groups, &noise);
        // A tree that does not exist has no controllers, and no group is made.
        let (nest, refusals) = RuntimeCgroup::make(&Hierarchies::from_text(&noise, &noise), RuntimeCgroupName::new(13), &BOTH);
        prop_assert!(nest.is_none());
        prop_assert_eq!(refusals.len(), 2);
    }
}
