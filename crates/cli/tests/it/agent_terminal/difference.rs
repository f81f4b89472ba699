//! `/diff`: git shows the changes, and nothing that a repository configures runs outside of the sandbox for it.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Person, Stage};

fn git(directory: &Path, words: &[&str]) -> String {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=Stage", "-c", "user.email=stage@example.invalid"]);
    git.args(["-c", "protocol.file.allow=always"]).args(words).current_dir(directory);
    let ran = git.env("GIT_CONFIG_GLOBAL", "/dev/null").output().expect("git starts");
    assert!(ran.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8_lossy(&ran.stdout).into_owned()
}

/// A repository with one committed file.
fn repository(directory: &Path) {
    std::fs::create_dir_all(directory).expect("a directory can be made");
    git(directory, &["init", "-q", "-b", "main", "."]);
    std::fs::write(directory.join("file.txt"), "before\n").expect("a file can be written");
    git(directory, &["add", "file.txt"]);
    git(directory, &["commit", "-q", "-m", "first"]);
}

/// Makes git run a program for every file that it compares; the program creates this file.
fn plant_filter(directory: &Path, planted: &Path) {
    let clean = format!("touch {}; cat", planted.display());
    git(directory, &["config", "filter.x.clean", &clean]);
    let info = PathBuf::from(git(directory, &["rev-parse", "--absolute-git-dir"]).trim()).join("info");
    std::fs::create_dir_all(&info).expect("a directory can be made");
    std::fs::write(info.join("attributes"), "* filter=x\n").expect("a file can be written");
    // Of the same size: git reads a file of a submodule only if nothing else shows that it was changed.
    std::fs::write(directory.join("file.txt"), "after1\n").expect("a file can be written");
}

/// As the user that runs the tests and as an ordinary one.
async fn diff_runs_nothing(name: &str, words: &[&str], filtered: fn(&Stage) -> PathBuf) {
    diff_runs_nothing_for(name, filtered, |stage| stage.open(words)).await;
    diff_runs_nothing_for(&format!("{name}-user"), filtered, |stage| stage.open_as_ordinary(words)).await;
}

async fn diff_runs_nothing_for(
    name: &str,
    filtered: fn(&Stage) -> PathBuf,
    open: impl FnOnce(&Stage) -> Person,
) {
    let stage = Stage::new(name, Vec::new());
    std::fs::remove_dir_all(stage.work(".git")).expect("it was there");
    let (work, library) = (stage.work(""), stage.scratch.path().join("library"));
    repository(&work);
    repository(&library);
    git(&work, &["submodule", "--quiet", "add", library.to_str().expect("a text"), "below"]);
    git(&work, &["commit", "-q", "-m", "second"]);
    std::fs::write(work.join("file.txt"), "changed\n").expect("a file can be written");
    let planted = stage.scratch.path().join("planted");
    plant_filter(&filtered(&stage), &planted);
    // The behaviour of git outside of windlass.
    git(&work, &["diff", "HEAD"]);
    assert!(planted.exists(), "the attack works where nothing stops it");
    std::fs::remove_file(&planted).expect("it is there");

    let person = open(&stage);
    person.sees("/help").await;
    person.types("/diff\r").await;
    person.sees("file.txt").await;
    assert_eq!(person.leaves().await, 0);
    assert!(!planted.exists(), "a program of the repository ran outside of the sandbox");
}

#[tokio::test]
async fn a_filter_of_a_submodule_does_not_run_outside_for_a_diff() {
    diff_runs_nothing("diff-submodule", &[], |stage| stage.work("below")).await;
}

#[tokio::test]
async fn a_filter_of_the_repository_does_not_run_outside_for_a_diff() {
    diff_runs_nothing("diff-repository", &[], |stage| stage.work("")).await;
}

#[tokio::test]
async fn a_filter_does_not_run_outside_for_a_diff_where_commands_may_do_everything() {
    let words = ["--dangerously-bypass-approvals-and-sandbox"];
    diff_runs_nothing("diff-open", &words, |stage| stage.work("below")).await;
}

#[tokio::test]
async fn a_diff_shows_new_files_as_additions_and_leaves_the_index_alone() {
    let stage = Stage::new("diff-new", Vec::new());
    std::fs::remove_dir_all(stage.work(".git")).expect("it was there");
    let work = stage.work("");
    repository(&work);
    std::fs::write(work.join(".gitignore"), "ignored\n").expect("a file can be written");
    std::fs::create_dir(work.join("folder")).expect("a directory can be made");
    for (name, text) in
        [("folder/a new\\file", "added line\n"), ("ignored", "not shown\n"), ("file.txt", "after\n")]
    {
        std::fs::write(work.join(name), text).expect("a file can be written");
    }
    let index = std::fs::read(work.join(".git/index")).expect("there is an index");
    let person = stage.open(&[]);
    person.sees("/help").await;
    person.types("/diff\r").await;
    person.sees("+after").await;
    person.sees("+added line").await;
    assert!(!person.screen().contains("not shown"), "ignored files stay out");
    assert_eq!(person.leaves().await, 0);
    assert_eq!(std::fs::read(work.join(".git/index")).expect("there is an index"), index);
}

#[tokio::test]
async fn a_filter_does_not_run_outside_for_a_diff_without_namespaces() {
    let words = ["--sandbox-layers", "landlock"];
    diff_runs_nothing("diff-landlock-submodule", &words, |stage| stage.work("below")).await;
    diff_runs_nothing("diff-landlock-repository", &words, |stage| stage.work("")).await;
}
