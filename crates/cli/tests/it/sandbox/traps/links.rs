//! Traps in git directories: links, pipes and hard links at paths that the user's next git command writes or reads.

use super::{Trap, WITH_SUBMODULE};

/// `lead NAME TARGET` replaces a file or directory by a link to the target, by every call that could.
macro_rules! lead {
    ($rest:literal) => {
        concat!(
            r#"exchange() { python3 -c 'import ctypes, sys
a, b = (name.encode() for name in sys.argv[1:])
sys.exit(ctypes.CDLL(None).renameat2(-100, a, -100, b, 2) != 0)' $1 $2; }
lead() { rm -rf $1; ln -s $2 $1; rm -f l; ln -s $2 l; ln -P l $1; cp -P l $1; mv -fT l $1; \
test -L $1 || { rm -rf $1; : > $1; ln -s $2 l; exchange l $1 || exchange $1 l; }; }
"#,
            $rest
        )
    };
}

const fn link(name: &'static str, before: &'static str, command: &'static str, after: &'static str) -> Trap {
    Trap { name, before, rules: &[], command, after }
}

/// A repository with a commit, and an empty file of the user that no command can write.
const PLAIN: &str = "git init -q -b main; git commit -q --allow-empty -m x; touch ~/mine; mkdir ~/theirs";
/// The user commits; this checks whether the user's file was written.
const COMMITS: &str = "git commit -q --allow-empty -m y; test -s ~/mine && eval \"$EVIL\"";

/// In repositories other than that of the workspace.
pub(super) const TRAPS_ELSEWHERE: &[Trap] = &[
    link(
        "a link in a repository that the command makes",
        "touch ~/mine",
        lead!(
            "git init -q r; git -C r commit -q --allow-empty -m x; lead r/.git/COMMIT_EDITMSG ~/mine; lead r/.git/logs/HEAD ~/mine"
        ),
        "cd r; git commit -q --allow-empty -m y; test -s ~/mine && eval \"$EVIL\"",
    ),
    link(
        "a directory with a link becomes a repository",
        "touch ~/mine",
        "mkdir -p a/.git; ln -s ~/mine a/.git/COMMIT_EDITMSG; git init -q a; \
         mkdir b b.git; ln -s ~/mine b.git/COMMIT_EDITMSG; git init -q --separate-git-dir \"$PWD/b.git\" b; \
         git init -q --bare t; mkdir c d; ln -s ~/mine d/COMMIT_EDITMSG; cp -r t/* d; git -C d config core.bare false; mv d c/.git; \
         mkdir d; ln -s ~/mine d/COMMIT_EDITMSG; mv t/objects d; mv t/refs d; mv t/HEAD d; mkdir e; echo \"gitdir: $PWD/d\" > e/.git",
        "for r in a b c e; do git -C $r commit -q --allow-empty -m y; done; test -s ~/mine && eval \"$EVIL\"",
    ),
    link(
        "a part with a link makes a directory a repository",
        "touch ~/mine",
        "git init -q --bare t; mkdir -p r/.git; mv t/HEAD r/.git; rm -rf t/refs; mkdir -p s/heads; ln -s ~/mine s/heads/x; \
         mkdir -p r/.git/logs; mv s r/.git/refs; mv t/objects r/.git",
        "test -L r/.git/refs/heads/x && git -C r rev-parse --git-dir && eval \"$EVIL\"",
    ),
    link(
        "a repository whose parts are links",
        "touch ~/mine; mkdir ~/theirs",
        "git init -q --bare t; mkdir -p r/.git; ln -s ~/theirs r/.git/objects; ln -s ../../t/refs r/.git/refs; cp t/HEAD r/.git; \
         cp -r t/refs r/.git; ln -s ../../t/HEAD r/.git/HEAD",
        "echo x | git -C r hash-object -w --stdin; ls ~/theirs | grep . && eval \"$EVIL\"",
    ),
    link(
        "a directory with links that the user makes a repository",
        "touch ~/mine",
        "mkdir -p r/.git; ln -s ~/mine r/.git/COMMIT_EDITMSG; test -L r/.git/COMMIT_EDITMSG || rm -rf r/.git; \
         mkdir d; ln -s ~/mine d/COMMIT_EDITMSG; mv -T d r/.git",
        "git init -q r; cd r; git commit -q --allow-empty -m y; test -s ~/mine && eval \"$EVIL\"",
    ),
    link(
        "a link in a bare repository that was there before",
        "git init -q -b main; git commit -q --allow-empty -m x; git clone -q --bare . bare; touch ~/mine",
        lead!(
            "lead bare/FETCH_HEAD ~/mine; mv bare/HEAD H; mv bare/refs R; lead bare/FETCH_HEAD ~/mine; mv H bare/HEAD; mv R bare/refs"
        ),
        "git -C bare fetch -q \"$PWD\" main; test -s ~/mine && eval \"$EVIL\"",
    ),
    link(
        "a link in what git keeps about a worktree",
        "git init -q -b main; git commit -q --allow-empty -m x; git worktree add -q wt; touch ~/mine",
        lead!("lead .git/worktrees/wt/COMMIT_EDITMSG ~/mine; lead .git/worktrees/wt/logs/HEAD ~/mine"),
        "cd wt; git commit -q --allow-empty -m y; test -s ~/mine && eval \"$EVIL\"",
    ),
    link(
        "a link in the repository of a submodule",
        WITH_SUBMODULE,
        lead!("lead .git/modules/sub/COMMIT_EDITMSG ~/mine; lead .git/modules/sub/logs/HEAD ~/mine"),
        "cd sub; git commit -q --allow-empty -m y; test -s ~/mine && eval \"$EVIL\"",
    ),
];

/// In the repository of the workspace.
pub(super) const TRAPS: &[Trap] = &[
    link(
        "the message of a commit leads to a start-up file",
        "git init -q; git commit -q --allow-empty -m x; touch ~/.bashrc",
        lead!("lead .git/COMMIT_EDITMSG ~/.bashrc"),
        "git commit -q --allow-empty -m \"$EVIL\"; sh ~/.bashrc",
    ),
    link(
        "the message of a commit leads to the configuration",
        "git init -q; git commit -q --allow-empty -m x",
        lead!("lead .git/COMMIT_EDITMSG config; lead .git/COMMIT_EDITMSG ../.git/config"),
        "git commit -q --allow-empty -m \"$(printf '[core]\\nfsmonitor = \"%s\"' \"$EVIL\")\"; git status",
    ),
    Trap {
        name: "the message of a merge leads to a denied file",
        before: "git init -q; git commit -q --allow-empty -m x; echo \"$EVIL\" > ~/secret",
        rules: &["--deny-read", "~/secret"],
        command: lead!("lead .git/MERGE_MSG ~/secret"),
        after: "git commit -q --allow-empty --no-edit; git log -1 --format=%B | sh",
    },
    Trap {
        name: "the message of a merge is a second name of a denied file",
        before: "git init -q; git commit -q --allow-empty -m x; echo \"$EVIL\" > secret",
        rules: &["--deny-read", "secret"],
        command: "ln secret .git/MERGE_MSG; ln secret l; mv l .git/MERGE_MSG; \
                  mkdir d; ln secret d/MERGE_MSG; cp -rl d/. .git; mv secret .git/MERGE_MSG",
        after: "git commit -q --allow-empty --no-edit; git log -1 --format=%B | sh",
    },
    link(
        "the message of a commit is a second name of a protected file",
        "git init -q; git commit -q --allow-empty -m x; mkdir .vscode; echo true > .vscode/tasks.json",
        "rm -f .git/COMMIT_EDITMSG; ln .vscode/tasks.json .git/COMMIT_EDITMSG; ln .git/config .git/COMMIT_EDITMSG",
        "git commit -q --allow-empty -m \"$EVIL\"; sh .vscode/tasks.json",
    ),
    link("the log of HEAD leads elsewhere", PLAIN, lead!("lead .git/logs/HEAD ~/mine"), COMMITS),
    link(
        "the log of a branch leads elsewhere",
        PLAIN,
        lead!("lead .git/logs/refs/heads/main ~/mine"),
        COMMITS,
    ),
    link(
        "logs are elsewhere",
        PLAIN,
        lead!("lead .git/logs ~/theirs"),
        "git commit -q --allow-empty -m y; test -s ~/theirs/HEAD && eval \"$EVIL\"",
    ),
    link(
        "objects are elsewhere",
        PLAIN,
        lead!("cp -r .git/objects o; lead .git/objects ~/theirs; cp -r o .git/objects"),
        "echo x | git hash-object -w --stdin; ls ~/theirs | grep . && eval \"$EVIL\"",
    ),
    link(
        "a list of fetched branches leads elsewhere",
        PLAIN,
        lead!("lead .git/FETCH_HEAD ~/mine"),
        "git fetch -q . main; test -s ~/mine && eval \"$EVIL\"",
    ),
    link(
        "packed references lead elsewhere",
        PLAIN,
        lead!("lead .git/packed-refs ~/mine"),
        "git pack-refs --all; test -s ~/mine && eval \"$EVIL\"",
    ),
    link(
        "the index leads elsewhere",
        "git init -q; echo x > x; git add x; git commit -q -m x; rm -f ~/mine",
        lead!("lead .git/index ~/mine"),
        "git add x; test -s ~/mine && eval \"$EVIL\"",
    ),
    link(
        "patterns of a sparse checkout lead elsewhere",
        PLAIN,
        lead!("lead .git/info/sparse-checkout ~/mine; lead .git/info ~/theirs"),
        "git sparse-checkout set x; test -s ~/mine -o -s ~/theirs/sparse-checkout && eval \"$EVIL\"",
    ),
    link(
        "a step of a rebase leads elsewhere",
        "git init -q; for i in 1 2 3; do echo $i > f; git add f; git commit -q -m $i; done; touch ~/mine",
        lead!(
            "GIT_SEQUENCE_EDITOR='sed -i 1s/pick/edit/' git rebase -q -i HEAD~2; lead .git/rebase-merge/done ~/mine"
        ),
        "git rebase --continue; test -s ~/mine && eval \"$EVIL\"",
    ),
    link(
        "a directory with a link is moved into the repository",
        PLAIN,
        "mkdir d; ln -s ~/mine d/HEAD; rm -rf .git/logs; mv -T d .git/logs",
        COMMITS,
    ),
    link(
        "a directory with a link deep in it is moved into the repository",
        PLAIN,
        "mkdir -p d/refs/heads; ln -s ~/mine d/refs/heads/main; rm -rf .git/logs; mv -T d .git/logs; mkdir .git/logs; mv d/refs .git/logs",
        COMMITS,
    ),
    link(
        "a directory with a link is exchanged for one of the repository",
        PLAIN,
        lead!("mkdir d; ln -s ~/mine d/HEAD; exchange d .git/logs || exchange .git/logs d"),
        COMMITS,
    ),
    link(
        "a link beside what would make it part of a work tree",
        PLAIN,
        lead!("mkdir -p .git/logs/.git; touch .git/logs/refs/.git; lead .git/logs/HEAD ~/mine"),
        COMMITS,
    ),
    link(
        "a pipe for which git would wait",
        PLAIN,
        "rm -f .git/COMMIT_EDITMSG; mkfifo .git/COMMIT_EDITMSG; mkfifo p; mv p .git/MERGE_MSG; mkfifo p; ln p .git/SQUASH_MSG; \
         mkdir d; mv p d; mv d .git/info",
        "find .git -type p | grep . && eval \"$EVIL\"",
    ),
];
