//! Links in git directories, apart from traps: everyday git needs none, the user's own stay, and files of a work tree
//! may be links wherever the work tree is.

use super::workspaces::both;

/// Everyday work with git. Local clones share objects by hard links, by a list, or by reference.
const EVERY_DAY: &[&str] = &[
    "git init -q -b main a; git init -q a; git init -q --bare b.git; git init -q --separate-git-dir \"$PWD/c.git\" c; git -C c status",
    "git clone -q . clone; git clone -q --shared . shared; git clone -q --reference . file://\"$PWD\" referred; git clone -q --bare . bare; \
     git clone -q --mirror . mirror; git clone -q --separate-git-dir \"$PWD/apart.git\" . apart; git -C clone fsck; \
     git -C shared repack -q -a -d; git -C referred log -1; git -C apart log -1",
    "cd clone; ln -s file leads; git add leads; git commit -q -m link; git checkout -q HEAD~1; git checkout -q main; test -L leads; \
     git branch -m main other; git mv leads led; git commit -q -m moved; git stash list; echo x >> file; git stash -q; git stash pop -q; \
     git reset -q --hard; git gc -q; git repack -q -a -d; git pack-refs --all; git reflog expire --all; git prune; git clean -fdxq",
    "cd clone; git worktree add -q ../wt; cd ../wt; git worktree move . ../wt2; cd ../wt2; echo y > y; git add y; git commit -q -m y; \
     cd ../clone; git worktree remove ../wt2; git worktree prune",
    "cd clone; git bisect start HEAD HEAD~2; git bisect run true; git bisect reset; git notes add -m note; git replace -l; \
     GIT_SEQUENCE_EDITOR=true git rebase -q -i HEAD~1; git cherry-pick -n HEAD; git reset -q; git tag -a t -m t; git fetch -q origin",
    "mkdir s; cd s; git init -q -b main; git -c protocol.file.allow=always submodule --quiet add \"$PWD/../clone\" sub; git commit -q -m s; \
     git -C sub commit -q --allow-empty -m in; git clone -q . ../s2; cd ../s2; git -c protocol.file.allow=always submodule --quiet update --init",
    "cp -r clone copy; git -C copy commit -q --allow-empty -m copied; mv copy copy2; git -C copy2 status; tar c copy2 | (mkdir t; tar x -C t); \
     git -C t/copy2 fsck; rm -rf copy2 t",
];

#[test]
fn git_of_every_day_puts_no_link_into_a_repository() {
    both("everyday", |scene, layers| {
        scene.plainly("git init -q -b main; echo x > file; git add file; git commit -q -m 1; git commit -q --allow-empty -m 2");
        for script in EVERY_DAY {
            let output = scene.confined("", &["--sandbox-layers", layers], script);
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{layers}: {script}: {said}");
            assert!(!said.contains("a link, pipe or device"), "{layers}: {script}: {said}");
        }
        // The probe of `git init` finds that links are supported.
        scene.plainly("! git -C a config core.symlinks; ! git -C c config core.symlinks; test -z \"$(find . -name 't??????' -type l)\"");
    });
}

/// Git reports that it goes on without the link.
#[test]
fn a_symbolic_reference_that_should_be_a_link_becomes_a_file() {
    both("symbolic", |scene, layers| {
        scene.plainly("git init -q -b main; git commit -q --allow-empty -m x; git branch side");
        let script = "git -c core.preferSymlinkRefs=true symbolic-ref HEAD refs/heads/side; git commit -q --allow-empty -m y";
        let output = scene.confined("", &["--sandbox-layers", layers], script);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.contains("protected: git would follow"), "{layers}: {said}");
        scene.plainly("! test -L .git/HEAD; test \"$(git log -1 --format=%s side)\" = y");
    });
}

#[test]
fn links_that_the_user_has_in_a_repository_go_on_working() {
    both("own-links", |scene, layers| {
        scene.plainly(
            "git init -q -b main; git commit -q --allow-empty -m x; mkdir kept; mv .git/logs kept; ln -s ../kept/logs .git/logs; \
             git -c core.preferSymlinkRefs=true symbolic-ref HEAD refs/heads/main; test -L .git/HEAD; \
             git init -q --bare -b main r.git; git init -q shell; mv shell/.git/objects kept; ln -s ../../kept/objects shell/.git/objects",
        );
        let script = "git commit -q --allow-empty -m y; git -C shell commit -q --allow-empty -m z; test -L .git/HEAD; git switch -q -c side";
        let output = scene.confined("", &["--sandbox-layers", layers], script);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && !said.contains("refused"), "{layers}: {said}");
        // A command can remove a link, and cannot change its target.
        let script = "ln -sfn ../other .git/logs && exit 1; ln -s x l; mv -T l .git/logs && exit 1; mv .git/HEAD l; rm l; cp .git/logs/HEAD h; rm .git/logs; ls";
        let output = scene.confined("", &["--sandbox-layers", layers], script);
        assert!(output.status.success(), "{layers}: {output:?}");
        scene.plainly("! test -L .git/logs; grep -q 'commit: y' h");
    });
}

#[test]
fn work_trees_in_a_bare_repository_may_have_links() {
    both("bare-links", |scene, layers| {
        scene.plainly("git init -q -b main o; git -C o commit -q --allow-empty -m x; git clone -q --bare o r.git; mkdir free");
        let words = ["--sandbox-layers", layers, "--writable", "free"];
        let script = "cd r.git; git worktree add -q main; mkdir -p main/node_modules/.bin; ln -s ../x main/node_modules/.bin/x; \
             git worktree add -q -b a/b feature/b; ln -s x feature/b/l; mkfifo feature/b/p; cd ..; mv r.git q.git; mv q.git r.git; \
             cd free; git init -q l; ln -s x l/.git/l";
        let output = scene.confined("", &words, script);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && !said.contains("refused"), "{layers}: {said}");
        for name in ["r.git/l", "r.git/logs/main/l", "r.git/worktrees/main/l"] {
            let script =
                format!("mkdir -p {name}.d; touch {name}.d/.git; ln -s x {name}.d/l || ln -s x {name}");
            let output = scene.confined("", &words, &script);
            let is_beside = name == "r.git/l";
            assert_eq!(output.status.success(), is_beside, "{layers}: {name}: {output:?}");
        }
        scene.plainly("ln -s x r.git/l && rm r.git/l");
    });
}
