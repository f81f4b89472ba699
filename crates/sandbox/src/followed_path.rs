//! Resolves a path and records the links and directories that it passes. A rule about a path holds only while the path
//! leads to the same place: a process that exchanges a link on the way, or creates a missing part, makes the rule apply
//! to something else.

use crate::files::{Files, Kind};
use crate::protect::MustNotExist;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// The kernel follows no more links than this either.
const MOST_LINKS: usize = 40;

/// A path, followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FollowedPath {
    /// The end of the path, or of the part of it that exists. Without links.
    pub(crate) end: PathBuf,
    /// The missing part, relative to `end`. Empty if the whole path exists.
    missing: PathBuf,
    /// The links that it goes through, and the directories that it only enters to leave them again. The path above each
    /// is without links.
    passed: Vec<PathBuf>,
}

impl FollowedPath {
    /// Resolves an absolute path as it is now.
    pub(crate) fn of(path: &Path, files: &dyn Files) -> Self {
        if files.real(path).is_some_and(|real| real == path) {
            return Self { end: path.to_owned(), missing: PathBuf::new(), passed: Vec::new() };
        }
        let mut way = Self { end: PathBuf::from("/"), missing: PathBuf::new(), passed: Vec::new() };
        let (mut steps, mut followed) = (Steps::of(path), 0);
        while let Some(step) = steps.next() {
            let Some(name) = step.name() else {
                way.leave();
                continue;
            };
            let next = way.end.join(name);
            match files.kind(&next) {
                Some(Kind::Directory) => way.end = next,
                Some(Kind::File) if steps.is_over() => way.end = next,
                Some(Kind::Link) if followed < MOST_LINKS => {
                    let Some(target) = files.target(&next) else { return way.without(name, &steps) };
                    followed += 1;
                    way.passed.push(next);
                    if target.is_absolute() {
                        way.end = PathBuf::from("/");
                    }
                    steps.first_go(&target);
                }
                Some(Kind::File | Kind::Link) | None => return way.without(name, &steps),
            }
        }
        way
    }

    /// Resolves a name in a directory that exists and is without links: one look, unless the name is a link.
    pub(crate) fn to(name: &str, directory: &Path, files: &dyn Files) -> Self {
        let path = directory.join(name);
        match files.kind(&path) {
            Some(Kind::Directory | Kind::File) => {
                Self { end: path, missing: PathBuf::new(), passed: Vec::new() }
            }
            Some(Kind::Link) => Self::of(&path, files),
            None => Self { end: directory.to_owned(), missing: PathBuf::from(name), passed: Vec::new() },
        }
    }

    /// Whether there is something at the path.
    pub(crate) fn leads_somewhere(&self) -> bool {
        self.missing.as_os_str().is_empty()
    }

    /// The missing part, as a path.
    pub(crate) fn missing(&self) -> Option<PathBuf> {
        (!self.leads_somewhere()).then(|| self.end.join(&self.missing))
    }

    /// The links that it goes through.
    pub(crate) fn links(&self) -> &[PathBuf] {
        &self.passed
    }

    /// The links on the way and the missing part: as long as no command creates or removes one of them, the path leads
    /// to the same place.
    pub(crate) fn kept(&self, origin: &str) -> Vec<MustNotExist> {
        let kept = |directory: &Path, path: PathBuf| MustNotExist {
            directory: directory.to_owned(),
            path,
            origin: origin.to_owned(),
        };
        let passed = self.passed.iter().filter_map(|passed| Some(kept(passed.parent()?, passed.clone())));
        let missing = self.missing().map(|missing| kept(&self.end, missing));
        passed.chain(missing).collect()
    }

    /// Goes up.
    fn leave(&mut self) {
        if self.end.parent().is_some() {
            self.passed.push(self.end.clone());
            self.end.pop();
        }
    }

    /// Ends the path before this name. A path that goes up again from a missing directory leads nowhere as long as its
    /// first name is missing.
    fn without(mut self, name: &OsString, steps: &Steps) -> Self {
        self.missing.push(name);
        if steps.only_go_down() {
            self.missing.extend(steps.left.iter().rev().filter_map(PathStep::name));
        }
        self
    }
}

/// The remaining steps of a path, the next step last.
struct Steps {
    left: Vec<PathStep>,
}

enum PathStep {
    Down(OsString),
    Up,
}

impl PathStep {
    fn name(&self) -> Option<&OsString> {
        match self {
            Self::Down(name) => Some(name),
            Self::Up => None,
        }
    }
}

impl Steps {
    fn of(path: &Path) -> Self {
        let mut steps = Self { left: Vec::new() };
        steps.first_go(path);
        steps
    }

    fn first_go(&mut self, path: &Path) {
        let step = |component| match component {
            Component::Normal(name) => Some(PathStep::Down(name.to_owned())),
            Component::ParentDir => Some(PathStep::Up),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
        };
        self.left.extend(path.components().rev().filter_map(step));
    }

    fn next(&mut self) -> Option<PathStep> {
        self.left.pop()
    }

    fn is_over(&self) -> bool {
        self.left.is_empty()
    }

    fn only_go_down(&self) -> bool {
        self.left.iter().all(|step| step.name().is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::Tree;

    fn check(path: &str, lines: &[&str], (end, missing): (&str, &str), links: &[&str]) {
        let way = FollowedPath::of(Path::new(path), &Tree::of(lines));
        assert_eq!((way.end.to_str(), way.missing.to_str()), (Some(end), Some(missing)), "{path}");
        assert_eq!(way.passed, links.iter().map(PathBuf::from).collect::<Vec<_>>(), "{path}");
    }

    #[test]
    fn the_way_to_a_name_is_the_same_at_one_look() {
        let tree = Tree::of(&["/w/a/", "/w/file", "/w/link -> a", "/w/nowhere -> gone"]);
        for name in ["a", "file", "link", "nowhere", "missing"] {
            let directory = Path::new("/w");
            assert_eq!(
                FollowedPath::to(name, directory, &tree),
                FollowedPath::of(&directory.join(name), &tree),
                "{name}"
            );
        }
    }

    #[test]
    fn a_way_ends_where_the_kernel_would_end_up() {
        let lines = [
            "/w/a/b/file",
            "/w/link -> a",
            "/w/a/up -> ../../h",
            "/w/far -> /h/far",
            "/h/far -> near",
            "/h/near/x",
            "/w/round -> round",
            "/w/nowhere -> gone/for/good",
        ];
        check("/w/a/b/file", &lines, ("/w/a/b/file", ""), &[]);
        check("/w/link/b/file", &lines, ("/w/a/b/file", ""), &["/w/link"]);
        check("/w/link/up/near", &lines, ("/h/near", ""), &["/w/link", "/w/a/up", "/w/a", "/w"]);
        check("/w/far/x", &lines, ("/h/near/x", ""), &["/w/far", "/h/far"]);
        check("/w/a/../a/b", &lines, ("/w/a/b", ""), &["/w/a"]);
        check("/w/a/c/d", &lines, ("/w/a", "c/d"), &[]);
        check("/w/a/b/file/d", &lines, ("/w/a/b", "file/d"), &[]);
        check("/w/a/c/../b", &lines, ("/w/a", "c"), &[]);
        check("/w/nowhere/x", &lines, ("/w", "gone/for/good/x"), &["/w/nowhere"]);
        check("/", &lines, ("/", ""), &[]);
        let round = FollowedPath::of(Path::new("/w/round"), &Tree::of(&lines));
        assert!(!round.leads_somewhere() && round.passed.len() == MOST_LINKS);
    }
}
