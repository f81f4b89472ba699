//! Rebases, cherry-picks and reverts that stop on the way. `git rebase --continue` runs the steps that are recorded in
//! the repository, so commands cannot change those of the user, and steps of a command can be continued by any later
//! command.

use super::workspaces::{both, called, served};

/// Three commits, and a rebase that stops at the second.
const COMMITS: &str =
    "git init -q -b main; for i in 1 2 3; do echo $i > f; git add f; git commit -q -m $i; done";
const BEGIN: &str = "GIT_SEQUENCE_EDITOR='sed -i 1s/pick/edit/' git rebase -q -i HEAD~2";

/// All ways in which a command can change the steps of a sequence in `$S`, or replace them by others.
const ATTACK: &str = "echo \"exec touch $PWD/sprung\" > s; cat $S/git-rebase-todo >> s; cp -a $S copy; cp s copy/git-rebase-todo; \
     cat s > $S/git-rebase-todo; cp s x; mv x $S/git-rebase-todo; ln $S/git-rebase-todo l && cat s > l; \
     printf 'x/run' > $S/strategy; mv $S aside; rm -rf $S; \
     case $S in *worktrees*) mv ${S%/*} old; cp -r old ${S%/*}; cp s $S/git-rebase-todo;; esac; \
     python3 -c 'import os, sys; os.setxattr(sys.argv[1], \"user.windlass.sequence\", b\"\")' $S; \
     mkdir $S; cp -r copy/. $S; mv copy $S; mv -T copy $S; ln -s $PWD/copy $S; cat s > $S/git-rebase-todo; cp s $S/git-rebase-todo; true";

fn attack(directory: &str) -> String {
    format!("S={directory}; {ATTACK}")
}

#[test]
fn steps_of_a_rebase_that_the_user_begins_while_a_server_runs_stay_as_they_are() {
    both("sequences", |scene, layers| {
        let cases = [
            ("true", ".", ".git/rebase-merge"),
            ("git worktree add -q -b side wt main", "wt", ".git/worktrees/wt/rebase-merge"),
            ("git clone -q . below", "below", "below/.git/rebase-merge"),
        ];
        for (before, work_tree, sequence) in cases {
            let begin = format!("cd {work_tree}; {BEGIN}");
            let continued = format!("git -C {work_tree} rebase --continue || true");
            // Without a sandbox, commands can do this.
            scene.plainly(&format!("{COMMITS}; {before}; {begin}"));
            scene.plainly(&format!("set +e; {}", attack(sequence)));
            scene.plainly(&format!("{continued}; test -e sprung"));
            scene.clear();

            scene.plainly(COMMITS);
            let mut served = served(scene, layers);
            called(&mut served, "true");
            scene.plainly(&format!("{before}; {begin}"));
            let said = called(&mut served, &attack(sequence));
            assert!(
                said.contains("you began it; continue or abort it outside"),
                "{layers}, {sequence}: {said}"
            );
            drop(served);
            scene.plainly(&format!("{continued}; ! test -e sprung; ! test -e {sequence}"));
            scene.clear();
        }
    });
}

#[test]
fn a_rebase_that_one_command_began_is_continued_by_a_command_of_another_runtime() {
    both("continued", |scene, layers| {
        let words = ["--sandbox-layers", layers];
        let run = |script: &str| {
            let output = scene.confined("", &words, script);
            assert!(output.status.success(), "{layers}: {script}: {output:?}");
            assert!(!String::from_utf8_lossy(&output.stderr).contains("refused"), "{layers}: {output:?}");
        };
        scene.plainly(&format!("{COMMITS}; git worktree add -q -b side wt main"));
        run(BEGIN);
        run("echo changed >> g; git add g; git commit -q --amend --no-edit");
        run("git rebase --continue");
        scene.plainly(
            "test \"$(git log -1 --format=%s)\" = 3; git show HEAD~1:g; ! test -e .git/rebase-merge",
        );
        run(BEGIN);
        run("git rebase --abort");
        run(&format!("cd wt; {BEGIN}"));
        run("cd wt; git rebase --continue");
        scene.plainly("! test -e .git/rebase-merge; ! test -e .git/worktrees/wt/rebase-merge");
        // A cherry-pick of several commits, and patches.
        run(
            "git switch -q -c pick HEAD~2; echo own > f; git commit -q -a -m own; git cherry-pick main~1 main && exit 1; test -d .git/sequencer",
        );
        run("git cherry-pick --abort");
        run("git format-patch -q -2 main; git am *.patch && exit 1; test -d .git/rebase-apply");
        run("git am --abort");
        scene.plainly("! test -e .git/sequencer; ! test -e .git/rebase-apply");
    });
}

/// A copy of the directory does not count as created by the command, and no command can set the mark of directories
/// that commands created.
#[test]
fn no_command_sets_the_mark_of_directories_that_commands_made() {
    both("marks", |scene, layers| {
        let set = "python3 -c 'import os; os.setxattr(\"x\", \"user.windlass.sequence\", b\"\")'";
        let clear =
            "python3 -c 'import os; os.removexattr(\".git/rebase-merge\", \"user.windlass.sequence\")'";
        let other = "python3 -c 'import os; os.setxattr(\"x\", \"user.other\", b\"\")'";
        scene.plainly(COMMITS);
        let script = format!(
            "mkdir x; {set} 2>/dev/null && echo SET; {other}; {BEGIN}; {clear} 2>/dev/null && echo CLEARED; cp -a .git/rebase-merge y; \
             python3 -c 'import os; print(os.listxattr(\"y\"))'; git rebase --continue; echo ended"
        );
        let output = scene.confined("", &["--sandbox-layers", layers], &script);
        let printed = String::from_utf8_lossy(&output.stdout);
        assert_eq!(printed, "[]\nended\n", "{layers}: {output:?}");
    });
}
