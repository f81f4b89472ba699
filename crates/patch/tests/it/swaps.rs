//! A directory is exchanged with a link to elsewhere while a patch is verified or applied. Nothing is read or written
//! behind the link, and the patch is still applied completely or not at all.

use std::cell::Cell;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use windlass_patch::{Disk, Like, LocalDisk, Patch};

use crate::workspace::{Workspace, patch};

const FILES: [(&str, &str); 6] = [
    ("a.txt", "one\ntwo\n"),
    ("b.txt", "b\n"),
    ("c.txt", "c\n"),
    ("d.txt", "d\n"),
    ("twin.txt", "twin\n"),
    ("deep/e.txt", "e\n"),
];

/// Sections of every kind, all below `work/dir`.
const SECTIONS: &str = "*** Add File: dir/new/x.txt\n+x\n*** Update File: dir/a.txt\n@@\n-one\n+uno\n*** Delete File: dir/b.txt\n\
    *** Update File: dir/c.txt\n*** Move to: dir/d.txt\n@@\n-c\n+C\n*** Update File: dir/twin.txt\n@@\n-twin\n+zwilling\n\
    *** Update File: dir/deep/e.txt\n@@\n-e\n+E\n*** Add File: dir/f.txt\n+f";

/// The real disk; before each operation for which `swaps` returns true, `work/dir` and the link `work/link` are
/// exchanged.
struct SwappingDisk<F> {
    disk: LocalDisk,
    work: PathBuf,
    count: Cell<usize>,
    swaps: F,
}

impl<F: Fn(usize) -> bool> SwappingDisk<F> {
    fn step(&self) {
        self.count.set(self.count.get() + 1);
        if (self.swaps)(self.count.get()) {
            swap(&self.work);
        }
    }
}

fn swap(work: &Path) {
    renameat_with(CWD, work.join("dir"), CWD, work.join("link"), RenameFlags::EXCHANGE)
        .expect("two names can change places");
}

impl<F: Fn(usize) -> bool> Disk for SwappingDisk<F> {
    fn create_directory(&self, path: &Path) -> io::Result<()> {
        self.step();
        self.disk.create_directory(path)
    }

    fn create_file(&self, path: &Path, contents: &[u8], like: Like<'_>) -> io::Result<()> {
        self.step();
        self.disk.create_file(path, contents, like)
    }

    fn exchange(&self, one: &Path, other: &Path) -> io::Result<()> {
        self.step();
        self.disk.exchange(one, other)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step();
        self.disk.rename(from, to)
    }

    fn overwrite(&self, path: &Path, contents: &[u8]) -> io::Result<()> {
        self.step();
        self.disk.overwrite(path, contents)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.step();
        self.disk.remove_file(path)
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        self.step();
        self.disk.remove_directory(path)
    }
}

/// The same files in `work/dir` and in `outside`, where `work/link` leads.
fn workspace() -> Workspace {
    let workspace = Workspace::with(&[]);
    for (name, text) in FILES {
        workspace.write(&format!("work/dir/{name}"), text.as_bytes());
        workspace.write(&format!("outside/{name}"), text.as_bytes());
    }
    for place in ["work/dir", "outside"] {
        let name = |name: &str| workspace.path(place).join(name);
        fs::hard_link(name("twin.txt"), name("other.txt")).expect("a second name can be made");
    }
    symlink(workspace.path("outside"), workspace.path("work/link")).expect("a link can be made");
    workspace
}

/// The files of the directory that was `work/dir` at first, under either name.
fn inside(workspace: &Workspace) -> Vec<(PathBuf, Vec<u8>)> {
    let name = if workspace.path("work/dir").is_symlink() { "work/link" } else { "work/dir" };
    files(&workspace.path(name))
}

fn files(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(&next).expect("a directory can be listed").flatten() {
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push(path);
                continue;
            }
            let bytes = fs::read(&path).expect("a file can be read");
            found.push((path.strip_prefix(directory).expect("it is below").to_owned(), bytes));
        }
    }
    found.sort();
    found
}

/// Applies the patch while names are exchanged at the moments that `swaps` selects, and returns the number of
/// operations.
fn apply_while(swaps: impl Fn(usize) -> bool + Copy, moment: usize) -> usize {
    let workspace = workspace();
    let patched = {
        let other = self::workspace();
        let work = other.path("work");
        let parsed = Patch::parse(&patch(SECTIONS)).expect("it is a patch");
        let plan = parsed.verify(&windlass_patch::Directory::at(&work)).expect("it fits");
        plan.apply().expect("nothing is in its way");
        inside(&other)
    };
    let (outside, before) = (files(&workspace.path("outside")), inside(&workspace));
    let work = workspace.path("work");
    let parsed = Patch::parse(&patch(SECTIONS)).expect("it is a patch");
    let plan = parsed.verify(&windlass_patch::Directory::at(&work)).expect("it fits");
    let disk = SwappingDisk { disk: LocalDisk::default(), work, count: Cell::new(0), swaps };
    let applied = plan.apply_on(&disk);
    assert_eq!(files(&workspace.path("outside")), outside, "swapped at {moment}: {applied:?}");
    let now = inside(&workspace);
    let expected = if applied.is_ok() { &patched } else { &before };
    assert_eq!(&now, expected, "swapped at {moment}: {applied:?}");
    disk.count.get()
}

#[test]
fn a_directory_that_becomes_a_link_at_any_moment_leads_no_write_elsewhere() {
    let operations = apply_while(|_| false, 0);
    for moment in 1..=operations {
        apply_while(move |count| count == moment, moment);
    }
}

#[test]
fn a_directory_that_becomes_a_link_for_one_operation_leads_no_write_elsewhere() {
    let operations = apply_while(|_| false, 0);
    for moment in 1..=operations {
        apply_while(move |count| count == moment || count == moment + 1, moment);
    }
}

#[test]
fn a_directory_that_becomes_a_link_after_the_permission_was_asked_for_is_neither_read_nor_written_through() {
    let workspace = workspace();
    workspace.write("outside/a.txt", b"one\nsecret\n");
    let work = workspace.path("work");
    // The permission is checked for each path in turn; the exchange follows the last check.
    for last in 1..40 {
        let asked = Cell::new(0);
        let may_write = |path: &Path| {
            asked.set(asked.get() + 1);
            let verdict = path.starts_with(&work);
            if asked.get() == last {
                swap(&work);
            }
            verdict
        };
        let directory = windlass_patch::Directory::at(&work)
            .allowing(&may_write, windlass_patch::WriteDenied::OutsideProject);
        let parsed =
            Patch::parse(&patch("*** Update File: dir/a.txt\n@@\n-one\n+uno\n two")).expect("a patch");
        let before = files(&workspace.path("outside"));
        if let Err(error) = parsed.verify(&directory) {
            assert!(!error.to_string().contains("secret"), "{error}");
        }
        assert_eq!(files(&workspace.path("outside")), before);
        if work.join("dir").is_symlink() {
            swap(&work);
        }
    }
}

#[test]
fn the_text_behind_a_link_that_may_not_be_read_does_not_get_into_a_file() {
    let workspace = Workspace::with(&[("secret", "secret\n"), ("work/a.txt", "a\n")]);
    symlink(workspace.path("secret"), workspace.path("work/link")).expect("a link can be made");
    let may_read = |path: &Path| path.file_name().is_some_and(|name| name != "secret");
    let directory = windlass_patch::Directory::at(workspace.path("work")).reading(&may_read);
    let sections = "*** Update File: link\n*** Move to: copy\n@@\n secret";
    let error =
        Patch::parse(&patch(sections)).expect("a patch").verify(&directory).expect_err("it is refused");
    assert!(error.to_string().contains("which may not be read"), "{error}");
}
