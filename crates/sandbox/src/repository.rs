//! The repository that a workspace belongs to, where it lies outside of the workspace: above it, or, for a linked
//! worktree or a submodule, where its `.git` file says. Commits write there.
//!
//! A command can write a `.git` file that names any directory. So a file is believed only where the directory that it
//! names leads back to the workspace, which only git itself arranges.

use crate::files::{Files, Kind};
use crate::git_config;
use std::path::{Path, PathBuf};

/// The directories that commits in a workspace write to, as far as they lie outside of it. Without links.
pub(crate) fn outside_of(workspace: &Path, files: &dyn Files) -> Vec<PathBuf> {
    let Some(top) = workspace.ancestors().find(|above| files.kind(&above.join(".git")).is_some()) else {
        return Vec::new();
    };
    let git = top.join(".git");
    let found = match files.kind(&git) {
        Some(Kind::Directory) => vec![git],
        Some(Kind::File) => named_by_file(&git, top, files),
        Some(Kind::Link) | None => Vec::new(),
    };
    found.into_iter().filter(|directory| !directory.starts_with(workspace)).collect()
}

fn named_by_file(file: &Path, top: &Path, files: &dyn Files) -> Vec<PathBuf> {
    let text = files.text(file).unwrap_or_default();
    let named = text.strip_prefix("gitdir:").map(str::trim).map(|named| top.join(named));
    let Some(git_dir) = named.and_then(|named| files.real(&named)) else { return Vec::new() };
    if is_submodule(&git_dir, top, files) {
        return vec![git_dir];
    }
    common_directory(&git_dir, file, files).into_iter().collect()
}

/// A submodule's repository says where its files are checked out.
fn is_submodule(git_dir: &Path, top: &Path, files: &dyn Files) -> bool {
    let config = files.text(&git_dir.join("config")).unwrap_or_default();
    let work_tree = git_config::named(&config).work_tree;
    work_tree.and_then(|work_tree| files.real(&git_dir.join(work_tree))).is_some_and(|real| real == top)
}

/// A linked worktree has a directory of its own in `worktrees` of the repository, which names the worktree's `.git`
/// file.
fn common_directory(git_dir: &Path, file: &Path, files: &dyn Files) -> Option<PathBuf> {
    let back = files.text(&git_dir.join("gitdir"))?;
    let leads_back = files.real(Path::new(back.trim())).is_some_and(|real| real == file);
    let worktrees = git_dir.parent().filter(|worktrees| worktrees.ends_with("worktrees"))?;
    let common = worktrees.parent()?;
    let is_repository = files.kind(&common.join("objects")) == Some(Kind::Directory);
    (leads_back && is_repository).then(|| common.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::Tree;

    fn check(workspace: &str, lines: &[&str], expected: &[&str]) {
        let expected: Vec<PathBuf> = expected.iter().map(PathBuf::from).collect();
        assert_eq!(outside_of(Path::new(workspace), &Tree::of(lines)), expected, "{lines:?}");
    }

    #[test]
    fn a_workspace_in_a_repository_commits_above() {
        check("/r/sub/deep", &["/r/.git/HEAD", "/r/sub/deep/"], &["/r/.git"]);
        check("/r", &["/r/.git/HEAD"], &[]);
        check("/r", &["/r/file"], &[]);
    }

    #[test]
    fn a_linked_worktree_and_a_submodule_commit_where_their_repository_is() {
        let worktree = [
            "/m/.git/objects/",
            "/m/.git/worktrees/w/gitdir = /w/.git\n",
            "/w/.git = gitdir: /m/.git/worktrees/w\n",
        ];
        check("/w", &worktree, &["/m/.git"]);
        let submodule = [
            "/m/.git/modules/s/config = [core]\n\tworktree = ../../../s\n",
            "/m/s/.git = gitdir: ../.git/modules/s\n",
        ];
        check("/m/s", &submodule, &["/m/.git/modules/s"]);
    }

    #[test]
    fn a_file_that_a_command_wrote_opens_nothing() {
        check("/w", &["/h/.ssh/", "/w/.git = gitdir: /h/.ssh"], &[]);
        let other = ["/m/.git/objects/", "/m/.git/worktrees/w/gitdir = /v/.git\n", "/v/.git = x"];
        let other = [&other[..], &["/w/.git = gitdir: /m/.git/worktrees/w"]].concat();
        check("/w", &other, &[]);
        check("/w", &["/h/objects/", "/h/x/gitdir = /w/.git", "/w/.git = gitdir: /h/x"], &[]);
        check("/w", &["/w/.git -> /h/.ssh", "/h/.ssh/"], &[]);
    }
}
