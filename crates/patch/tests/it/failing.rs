//! A disk that fails at any moment, and the state of the files afterwards.

use std::cell::Cell;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use windlass_patch::{ApplyError, Condition, Disk, Like, LocalDisk, Patch};

use crate::workspace::{Workspace, patch};

/// The real disk, which fails at the operations with these numbers.
pub(crate) struct FailingDisk<F> {
    disk: LocalDisk,
    count: Cell<usize>,
    fails: F,
}

impl<F: Fn(usize) -> bool> FailingDisk<F> {
    pub(crate) fn when(fails: F) -> Self {
        Self { disk: LocalDisk::default(), count: Cell::new(0), fails }
    }

    fn step(&self) -> io::Result<()> {
        self.count.set(self.count.get() + 1);
        if (self.fails)(self.count.get()) { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }
}

impl<F: Fn(usize) -> bool> Disk for FailingDisk<F> {
    fn create_directory(&self, path: &Path) -> io::Result<()> {
        self.step()?;
        self.disk.create_directory(path)
    }

    fn create_file(&self, path: &Path, contents: &[u8], like: Like<'_>) -> io::Result<()> {
        self.step()?;
        self.disk.create_file(path, contents, like)
    }

    fn exchange(&self, one: &Path, other: &Path) -> io::Result<()> {
        self.step()?;
        self.disk.exchange(one, other)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step()?;
        self.disk.rename(from, to)
    }

    fn overwrite(&self, path: &Path, contents: &[u8]) -> io::Result<()> {
        // Simulates a full disk: half of the text is written.
        self.step()
            .inspect_err(|_| fs::write(path, &contents[..contents.len() / 2]).expect("half is written"))?;
        self.disk.overwrite(path, contents)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.step()?;
        self.disk.remove_file(path)
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        self.step()?;
        self.disk.remove_directory(path)
    }
}

/// Sections of every kind: files added in new directories, replaced, moved over another, deleted, with several hard
/// links.
const SECTIONS: &str = "*** Add File: new/deep/x.txt\n+x\n*** Update File: a.txt\n@@\n-one\n+uno\n*** Delete File: b.txt\n\
    *** Update File: c.txt\n*** Move to: d.txt\n@@\n-c\n+C\n*** Update File: twin.txt\n@@\n-twin\n+zwilling\n\
    *** Add File: e.txt\n+e\n*** Update File: f.txt\n*** Move to: new/f.txt\n@@\n f";

fn workspace() -> Workspace {
    let workspace = Workspace::with(&[
        ("a.txt", "one\r\ntwo"),
        ("b.txt", "b\n"),
        ("c.txt", "c\n"),
        ("d.txt", "d\n"),
        ("twin.txt", "twin\n"),
        ("e.txt", "old e\n"),
        ("f.txt", "f\n"),
    ]);
    fs::hard_link(workspace.path("twin.txt"), workspace.path("other.txt"))
        .expect("a second name can be made");
    fs::set_permissions(workspace.path("a.txt"), Permissions::from_mode(0o751)).expect("they can be set");
    workspace
}

#[test]
fn a_failure_at_any_moment_leaves_every_file_as_it_was() {
    let mut failures = 0;
    loop {
        let workspace = workspace();
        let before = workspace.tree();
        let disk = FailingDisk::when(|count| count == failures + 1);
        let plan = workspace.verify(SECTIONS).expect("it fits");
        match plan.apply_on(&disk) {
            Err(ApplyError::Write { path, .. }) => {
                assert_eq!(workspace.tree(), before, "after failure {failures}, of {path}");
                failures += 1;
            }
            // From here on every file is in its place, and only old files are still to be removed.
            Ok(report) => break assert_eq!(report.warnings.len(), 1, "{:?}", report.warnings),
            Err(other) => panic!("{other}"),
        }
    }
    assert_eq!(failures, 2 + 6 + 8, "directories, new texts, and each put into its place");
}

#[test]
fn a_late_failure_is_told_with_its_file() {
    let workspace = workspace();
    let plan = workspace.verify(SECTIONS).expect("it fits");
    let error = plan.apply_on(&FailingDisk::when(|count| count == 1)).expect_err("the disk is full");
    assert_eq!(
        error.to_string(),
        "Failed to write file new/deep/x.txt: no storage space\nNothing was changed: every file is as it was before."
    );
}

#[test]
fn old_files_that_cannot_be_removed_are_named_with_the_success() {
    let workspace = Workspace::with(&[("a.txt", "one\n")]);
    let plan = workspace.verify("*** Update File: a.txt\n@@\n-one\n+uno").expect("it fits");
    let report = plan.apply_on(&FailingDisk::when(|count| count == 3)).expect("it is applied");
    assert_eq!(workspace.read("a.txt"), "uno\n");
    let text = report.to_string();
    assert!(text.contains("Warning: the temporary file ") && text.contains("could not be removed"), "{text}");
}

#[test]
fn when_taking_back_fails_too_the_state_of_every_file_is_told() {
    let workspace = Workspace::with(&[("a.txt", "one\n"), ("b.txt", "two\n"), ("c.txt", "three\n")]);
    let sections = "*** Update File: a.txt\n@@\n-one\n+uno\n*** Delete File: b.txt\n*** Update File: c.txt\n@@\n-three\n+tre\n\
                    *** Add File: d.txt\n+d";
    let plan = workspace.verify(sections).expect("it fits");
    // Three texts are written, a is exchanged, b set aside, c exchanged; the disk fails from then on.
    let error = plan.apply_on(&FailingDisk::when(|count| count > 6)).expect_err("the disk failed");
    let ApplyError::Stuck { files, stuck, .. } = &error else { panic!("{error}") };
    let conditions: Vec<(&str, Condition)> =
        files.iter().map(|file| (file.path.as_str(), file.condition)).collect();
    assert_eq!(
        conditions,
        [
            ("a.txt", Condition::AsPatched),
            ("b.txt", Condition::AsPatched),
            ("c.txt", Condition::AsPatched),
            ("d.txt", Condition::AsBefore)
        ]
    );
    let texts: Vec<String> = stuck.iter().filter_map(|(path, _)| fs::read_to_string(path).ok()).collect();
    assert!(
        ["one\n", "two\n", "three\n"].iter().all(|old| texts.iter().any(|text| text == old)),
        "{texts:?}"
    );
    let text = error.to_string();
    assert!(text.starts_with("Failed to write file d.txt: no storage space\n"), "{text}");
    assert!(text.contains("\na.txt: as the patch wants it\nb.txt: as the patch wants it\n"), "{text}");
    assert!(text.contains("\nleft at "), "{text}");
}

#[test]
fn a_file_of_which_half_is_written_is_told_to_be_neither() {
    let workspace = Workspace::with(&[("a.txt", "one\n")]);
    fs::hard_link(workspace.path("a.txt"), workspace.path("b.txt")).expect("a second name can be made");
    let plan = workspace.verify("*** Update File: a.txt\n@@\n-one\n+eins zwei").expect("it fits");
    let error = plan.apply_on(&FailingDisk::when(|_| true)).expect_err("the disk failed");
    let ApplyError::Stuck { files, .. } = &error else { panic!("{error}") };
    assert_eq!(files[0].condition, Condition::Neither);
}

#[test]
fn files_that_are_written_in_place_come_last() {
    let workspace = Workspace::with(&[("twin.txt", "twin\n"), ("a.txt", "one\n")]);
    fs::hard_link(workspace.path("twin.txt"), workspace.path("other.txt"))
        .expect("a second name can be made");
    let sections = "*** Update File: twin.txt\n@@\n-twin\n+zwilling\n*** Update File: a.txt\n@@\n-one\n+uno";
    let plan = workspace.verify(sections).expect("it fits");
    // The disk fails for good once the new text of the other file is staged.
    plan.apply_on(&FailingDisk::when(|count| count > 1)).expect_err("the disk failed");
    assert_eq!((workspace.read("twin.txt"), workspace.read("a.txt")), ("twin\n".into(), "one\n".into()));
}

/// Another process does something just before the operation with this number.
fn apply_beside(
    sections: &str,
    number: usize,
    happening: fn(&Workspace),
) -> (Workspace, Result<(), ApplyError>) {
    let workspace = Workspace::with(&[("a.txt", "one\n")]);
    let plan = workspace.verify(sections).expect("it fits");
    let disk = FailingDisk::when(|count| {
        if count == number {
            happening(&workspace);
        }
        false
    });
    let outcome = plan.apply_on(&disk).map(drop);
    (workspace, outcome)
}

#[test]
fn what_somebody_writes_at_the_last_moment_is_not_lost() {
    let precious = |workspace: &Workspace| workspace.write("a.txt", b"precious\n");
    for (sections, number) in [("*** Update File: a.txt\n@@\n-one\n+uno", 2), ("*** Delete File: a.txt", 1)] {
        let (workspace, outcome) = apply_beside(sections, number, precious);
        let error = outcome.expect_err("it changed");
        assert!(matches!(error, ApplyError::Changed { .. }), "{error}");
        assert_eq!(workspace.read("a.txt"), "precious\n");
        assert_eq!(workspace.tree().len(), 1);
    }
    let (workspace, outcome) =
        apply_beside("*** Add File: b.txt\n+b", 2, |workspace| workspace.write("b.txt", b"precious\n"));
    let error = outcome.expect_err("it is there").to_string();
    assert!(error.starts_with("Failed to write file b.txt: File exists"), "{error}");
    assert_eq!((workspace.read("b.txt").as_str(), workspace.tree().len()), ("precious\n", 2));
}

#[test]
fn a_directory_that_somebody_else_makes_meanwhile_will_do() {
    let make = |workspace: &Workspace| fs::create_dir(workspace.path("d")).expect("it can be made");
    let (workspace, outcome) = apply_beside("*** Add File: d/b.txt\n+b", 1, make);
    outcome.expect("it applies");
    assert_eq!(workspace.read("d/b.txt"), "b\n");
}

#[test]
fn a_directory_that_somebody_else_uses_by_then_stays() {
    let workspace = Workspace::with(&[]);
    let plan = workspace.verify("*** Add File: d/b.txt\n+b").expect("it fits");
    let disk = FailingDisk::when(|count| {
        if count == 2 {
            workspace.write("d/theirs.txt", b"theirs\n");
        }
        count == 2
    });
    let error = plan.apply_on(&disk).expect_err("the disk is full");
    assert!(matches!(error, ApplyError::Write { .. }), "{error}");
    assert_eq!((workspace.read("d/theirs.txt").as_str(), workspace.tree().len()), ("theirs\n", 2));
}

/// The variable that tells a child process where its workspace is.
const CHILD: &str = "WINDLASS_PATCH_TEST_WORKSPACE";

/// A test whose middle part must run as a user without root's rights.
struct Ordinary<'a> {
    /// The test's full name.
    test: &'a str,
    prepare: &'a dyn Fn() -> Workspace,
    work: &'a dyn Fn(&Path),
    check: &'a dyn Fn(&Workspace),
}

impl Ordinary<'_> {
    /// If this user has all rights, the middle part runs in a child process of another user.
    fn run(&self) {
        if let Some(root) = std::env::var_os(CHILD) {
            return (self.work)(&PathBuf::from(root));
        }
        let workspace = (self.prepare)();
        if rustix::process::geteuid().is_root() {
            self.run_child(workspace.root());
        } else {
            (self.work)(workspace.root());
        }
        (self.check)(&workspace);
        set_mode(&workspace, "closed", 0o755);
    }

    fn run_child(&self, root: &Path) {
        let mut child = Command::new("/proc/self/exe");
        child.args(["--exact", self.test, "--nocapture"]).env(CHILD, root).uid(65534).gid(65534);
        let output = child.output().expect("the test can be run again");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "the child ran the test");
    }
}

/// A directory that all users may write and one that none may, each with a file of these permissions.
fn half_closed(mode: u32) -> Workspace {
    let workspace = Workspace::with(&[("open/a.txt", "one\n"), ("closed/b.txt", "two\n")]);
    set_mode(&workspace, "open", 0o777);
    set_mode(&workspace, "open/a.txt", mode);
    set_mode(&workspace, "closed/b.txt", mode);
    set_mode(&workspace, "closed", 0o555);
    workspace
}

fn check_untouched(workspace: &Workspace) {
    assert_eq!(
        (workspace.read("open/a.txt"), workspace.read("closed/b.txt")),
        ("one\n".into(), "two\n".into())
    );
    assert_eq!(workspace.tree().len(), 4);
}

fn apply_in(root: &Path, sections: &str) -> Result<(), String> {
    let patch = Patch::parse(&patch(sections)).expect("it is a patch");
    let plan = patch.verify(&windlass_patch::Directory::at(root)).map_err(|error| error.to_string())?;
    plan.apply().map(drop).map_err(|error| error.to_string())
}

fn set_mode(workspace: &Workspace, path: &str, mode: u32) {
    fs::set_permissions(workspace.path(path), Permissions::from_mode(mode)).expect("permissions can be set");
}

#[test]
fn a_directory_that_may_not_be_written_fails_before_anything_is_written() {
    let work = |root: &Path| {
        let update = "*** Update File: open/a.txt\n@@\n-one\n+uno\n";
        for (section, path) in [
            ("*** Add File: closed/new.txt\n+x", "closed/new.txt"),
            ("*** Add File: closed/x/y/new.txt\n+x", "closed/x/y/new.txt"),
            ("*** Delete File: closed/b.txt", "closed/b.txt"),
        ] {
            let error = apply_in(root, &format!("{update}{section}")).expect_err("it is closed");
            assert_eq!(error, format!("Failed to write file {path}: Permission denied (os error 13)"));
        }
    };
    Ordinary {
        test: "failing::a_directory_that_may_not_be_written_fails_before_anything_is_written",
        prepare: &|| half_closed(0o666),
        work: &work,
        check: &check_untouched,
    }
    .run();
}

#[test]
fn a_file_that_may_not_be_written_is_not_replaced_either() {
    let work = |root: &Path| {
        let sections = "*** Update File: open/a.txt\n@@\n-one\n+uno";
        let error = apply_in(root, sections).expect_err("it may not be written");
        assert_eq!(error, "Failed to write file open/a.txt: Permission denied (os error 13)");
    };
    Ordinary {
        test: "failing::a_file_that_may_not_be_written_is_not_replaced_either",
        prepare: &|| half_closed(0o444),
        work: &work,
        check: &check_untouched,
    }
    .run();
}

#[test]
fn a_writable_file_in_a_closed_directory_is_written_in_place() {
    let work = |root: &Path| {
        let sections =
            "*** Update File: closed/b.txt\n@@\n-two\n+due\n*** Update File: open/a.txt\n@@\n-one\n+uno";
        apply_in(root, sections).expect("the files themselves may be written");
    };
    let check = |workspace: &Workspace| {
        assert_eq!(
            (workspace.read("open/a.txt"), workspace.read("closed/b.txt")),
            ("uno\n".into(), "due\n".into())
        );
    };
    Ordinary {
        test: "failing::a_writable_file_in_a_closed_directory_is_written_in_place",
        prepare: &|| half_closed(0o666),
        work: &work,
        check: &check,
    }
    .run();
}

#[test]
fn a_failure_is_taken_back_also_where_files_belong_to_somebody_else() {
    let work = |root: &Path| {
        let sections =
            "*** Update File: closed/b.txt\n@@\n-two\n+due\n*** Update File: open/a.txt\n@@\n-one\n+uno";
        let plan = Patch::parse(&patch(sections)).expect("it is a patch");
        let plan = plan.verify(&windlass_patch::Directory::at(root)).expect("it fits");
        let failing = FailingDisk::when(|count| count == 4);
        let error = plan.apply_on(&failing).expect_err("the disk is full");
        assert!(matches!(error, ApplyError::Write { .. }), "{error}");
    };
    Ordinary {
        test: "failing::a_failure_is_taken_back_also_where_files_belong_to_somebody_else",
        prepare: &|| half_closed(0o666),
        work: &work,
        check: &check_untouched,
    }
    .run();
}
