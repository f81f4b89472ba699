//! Work with git in the workspace's own repository. Objects, references and the index must stay writable.

use super::{Reach, Task, task};

pub(super) const TASKS: &[Task] = &[
    task(
        "git_commit",
        &["git"],
        r#"cd "$WORK"; echo one > one.txt; git add one.txt; git commit -q -m 'a commit'; git status --porcelain"#,
        r#"git -C "$WORK" log -1 --format=%s | grep -qx 'a commit'; git -C "$WORK" show HEAD:one.txt | grep -qx one"#,
    ),
    task(
        "git_amend",
        &["git"],
        r#"cd "$WORK"; echo more >> one.txt; git commit -q -a --amend -m 'a better commit'"#,
        r#"git -C "$WORK" log -1 --format=%s | grep -qx 'a better commit'"#,
    ),
    task(
        "git_branch",
        &["git"],
        r#"cd "$WORK"; git branch side; git switch -q side; git switch -q main; git branch --list > /dev/null"#,
        r#"test "$(git -C "$WORK" branch --show-current)" = main; git -C "$WORK" rev-parse -q --verify side"#,
    ),
    task(
        "git_branch_renamed_and_removed",
        &["git"],
        r#"cd "$WORK"; git branch -m side aside; git rev-parse -q --verify aside; git branch -q -D aside"#,
        r#"! git -C "$WORK" rev-parse -q --verify side; ! git -C "$WORK" rev-parse -q --verify aside"#,
    ),
    Task {
        name: "git_branches_that_follow_a_remote",
        needs: &["git"],
        reach: Reach::Nobody,
        before: r#"git init -q --bare -b main up; cd "$WORK"; git remote add up "$OLDPWD/up"; git push -q up main main:side; git fetch -q up"#,
        script: r#"cd "$WORK"; git checkout -q -b followed up/side; git branch -m followed renamed
           git branch -q --set-upstream-to up/main renamed; git branch -q --unset-upstream renamed; git branch -q -u up/side renamed
           git switch -q main; git push -q -u up main; git pull -q --ff-only; git switch -q -c local --track main; git switch -q main
           git branch -q -d local; git switch -q side 2> /dev/null || git switch -q -c side --track up/side; git switch -q main
           git branch -q -D side; GIT_EDITOR='echo about it >' git branch --edit-description renamed"#,
        check: r#"cd "$WORK"; test "$(git config branch.renamed.description)" = 'about it'
           test "$(git config branch.renamed.merge)" = refs/heads/side; test "$(git config branch.main.remote)" = up
           ! git config branch.followed.remote; ! git config branch.local.remote; test "$(git config core.filemode)" = true
           git branch -q -D renamed"#,
    },
    task(
        "git_settings_of_every_day",
        &["git"],
        r#"cd "$WORK"; git config user.name Other; git config user.email other@example.invalid; git config pull.rebase true
           git config --unset pull.rebase; git config advice.detachedHead false; git config color.ui auto
           git config --remove-section color; git commit -q --allow-empty -m 'by another'; git config user.name Stage
           git config user.email stage@example.invalid; git init -q --template="#,
        r#"cd "$WORK"; test "$(git log -1 --format=%an)" = Other; test "$(git config user.name)" = Stage
           test "$(git config advice.detachedHead)" = false; ! git config color.ui; test "$(git config core.filemode)" = true"#,
    ),
    task(
        "git_merge",
        &["git"],
        r#"cd "$WORK"; git switch -q -c merged; echo m > m.txt; git add m.txt; git commit -q -m m; git switch -q main
           echo n > n.txt; git add n.txt; git commit -q -m n; git merge -q --no-edit merged"#,
        r#"cd "$WORK"; test "$(git log -1 --format=%P | wc -w)" = 2; test -f m.txt; test -f n.txt"#,
    ),
    task(
        "git_rebase",
        &["git"],
        r#"cd "$WORK"; git switch -q -c rebased HEAD~1; echo r > r.txt; git add r.txt; git commit -q -m r; git rebase -q main
           git switch -q main; git merge -q --ff-only rebased"#,
        r#"cd "$WORK"; test -f r.txt; test "$(git log -1 --format=%s)" = r"#,
    ),
    task(
        "git_stash",
        &["git"],
        r#"cd "$WORK"; echo changed >> tracked; git stash -q; grep -qv changed tracked; git stash pop -q"#,
        r#"cd "$WORK"; grep -q changed tracked; test -z "$(git stash list)"; git checkout -q tracked"#,
    ),
    task(
        "git_cherry_pick_and_revert",
        &["git"],
        r#"cd "$WORK"; git switch -q -c picked; echo p > p.txt; git add p.txt; git commit -q -m p; git switch -q main
           git cherry-pick picked > /dev/null; git revert --no-edit HEAD > /dev/null"#,
        r#"cd "$WORK"; ! test -e p.txt; git log -1 --format=%s | grep -q '^Revert'"#,
    ),
    task(
        "git_tag_and_describe",
        &["git"],
        r#"cd "$WORK"; git tag -a v1 -m 'version 1'; git describe"#,
        r#"test "$(git -C "$WORK" describe)" = v1"#,
    ),
    task(
        "git_diff_and_apply",
        &["git"],
        r#"cd "$WORK"; echo patched >> tracked; git diff > tasks/change.patch; git checkout -q tracked; git apply tasks/change.patch"#,
        r#"cd "$WORK"; tail -1 tracked | grep -qx patched; git checkout -q tracked"#,
    ),
    task(
        "git_worktree",
        &["git"],
        r#"here=$PWD; cd "$WORK"; git worktree add -q -b tree "$here/tree"; cd "$here/tree"; echo t > t.txt; git add t.txt
           git commit -q -m 'in a tree'; cd "$WORK"; git worktree remove "$here/tree""#,
        r#"cd "$WORK"; test "$(git log -1 --format=%s tree)" = 'in a tree'; test "$(git worktree list | wc -l)" = 1"#,
    ),
    Task {
        name: "git_commit_in_a_submodule",
        needs: &["git"],
        reach: Reach::Nobody,
        before: r#"git init -q -b main origin; cd origin; git config user.name o; git config user.email o@example.invalid
           git commit -q --allow-empty -m first; cd "$WORK"
           git -c protocol.file.allow=always submodule --quiet add "$OLDPWD" tasks-submodule; git commit -q -m 'a submodule'
           git -C tasks-submodule config user.name s; git -C tasks-submodule config user.email s@example.invalid"#,
        script: r#"cd "$WORK/tasks-submodule"; echo s > s.txt; git add s.txt; git commit -q -m 'in a submodule'; cd ..
           git add tasks-submodule; git commit -q -m 'a newer submodule'; git status --porcelain > /dev/null"#,
        check: r#"cd "$WORK"; test "$(git log -1 --format=%s)" = 'a newer submodule'
           test "$(git -C tasks-submodule log -1 --format=%s)" = 'in a submodule'"#,
    },
    task(
        "git_collect_garbage",
        &["git"],
        r#"cd "$WORK"; git gc -q; git fsck --no-progress"#,
        r#"ls "$WORK"/.git/objects/pack/*.pack > /dev/null; git -C "$WORK" fsck --no-progress"#,
    ),
    task(
        "git_grep_blame_and_bisect",
        &["git"],
        r#"cd "$WORK"; git grep -q tracked; git blame tracked > /dev/null
           git bisect start HEAD HEAD~2 > /dev/null; git bisect run true > /dev/null; git bisect reset > /dev/null 2>&1"#,
        r#"test "$(git -C "$WORK" branch --show-current)" = main"#,
    ),
    task(
        "git_clone_from_the_workspace",
        &["git"],
        r#"git clone -q "$WORK" clone; cd clone; git config user.name c; git config user.email c@example.invalid
           echo c > c.txt; git add c.txt; git commit -q -m cloned; git push -q origin HEAD:cloned"#,
        r#"test "$(git -C "$WORK" log -1 --format=%s cloned)" = cloned"#,
    ),
];
