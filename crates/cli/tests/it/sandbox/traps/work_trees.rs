//! Traps in files that the user's configuration names by relative paths: in worktrees that a command adds, and in other
//! directories whose `.git` leads to the user's repository.

use super::Trap;

/// A repository whose hooks are in the work tree, and a program in `evil` that replaces them in every possible way.
macro_rules! hooked {
    () => {
        "git init -q -b main; git config core.hooksPath tools/hooks; mkdir -p tools/hooks src; \
         printf '#!/bin/sh\\ntrue\\n' > tools/hooks/pre-commit; chmod +x tools/hooks/pre-commit; touch src/x; git add .; \
         git -c core.hooksPath=/dev/null commit -q -m x"
    };
}

/// Creates `h`, a directory with a hook.
macro_rules! evil {
    () => {
        "mkdir -p h t; printf '#!/bin/sh\\n%s\\n' \"$EVIL\" > h/pre-commit; chmod +x h/pre-commit; cp -r h t/hooks; "
    };
}

/// Puts the hook into a work tree.
macro_rules! planted {
    ($work_tree:literal) => {
        concat!(
            "w=",
            $work_tree,
            "; mkdir -p $w/tools/hooks; cp h/pre-commit $w/tools/hooks/pre-commit; cat h/pre-commit > $w/tools/hooks/pre-commit; \
             ln $w/tools/hooks/pre-commit l && cat h/pre-commit > l; cp -a h/pre-commit one; mv one $w/tools/hooks/pre-commit; ln h/pre-commit $w/tools/hooks/pre-commit; \
             ln -f h/pre-commit $w/tools/hooks/pre-commit; ln -sf $PWD/h/pre-commit $w/tools/hooks/pre-commit; \
             mv $w/tools/hooks gone; cp -r h new; mv new $w/tools/hooks; ln -s $PWD/h $w/tools/hooks; \
             mv $w/tools gone2; cp -r t new2; mv new2 $w/tools; ln -s $PWD/t $w/tools; mkdir -p $w/tools/hooks; \
             cp h/pre-commit $w/tools/hooks/; chmod +x $w/tools/hooks/pre-commit"
        )
    };
}

pub(super) const TRAPS: &[Trap] = &[
    Trap {
        name: "hooks in a worktree that the command adds",
        before: hooked!(),
        rules: &[],
        command: concat!(evil!(), "git worktree add -q -b side wt; ", planted!("wt")),
        after: "git -C wt commit --allow-empty -m y",
    },
    Trap {
        name: "hooks of a branch that the command checks out in a worktree",
        before: hooked!(),
        rules: &[],
        command: concat!(
            evil!(),
            "export GIT_INDEX_FILE=$PWD/.git/beside; git read-tree HEAD; \
             git update-index --add --cacheinfo 100755,$(git hash-object -w h/pre-commit),tools/hooks/pre-commit; \
             c=$(git commit-tree -m y -p HEAD $(git write-tree)); unset GIT_INDEX_FILE; git branch side $c; \
             git worktree add -q wt side"
        ),
        after: "git -C wt commit --allow-empty -m y",
    },
    Trap {
        name: "hooks in a directory with a .git file",
        before: hooked!(),
        rules: &[],
        command: concat!(evil!(), "echo \"gitdir: $PWD/.git\" > src/.git; ", planted!("src")),
        after: "git -C src commit --allow-empty -m y",
    },
    Trap {
        name: "a .git file in a directory with hooks",
        before: hooked!(),
        rules: &[],
        command: concat!(
            evil!(),
            planted!("src"),
            "; echo \"gitdir: $PWD/.git\" > src/.git; echo \"gitdir: $PWD/.git\" > g; mv g src/.git; ln g src/.git; ln -s $PWD/.git src/.git"
        ),
        after: "git -C src commit --allow-empty -m y",
    },
    Trap {
        name: "a directory of hooks that a link leads to later",
        before: hooked!(),
        rules: &[],
        command: concat!(
            evil!(),
            "mkdir d; ln -s $PWD/later d/tools; echo \"gitdir: $PWD/.git\" > d/.git; ln -s $PWD/.git d/.git; cp -r t later"
        ),
        after: "git -C d commit --allow-empty -m y",
    },
    Trap {
        name: "a .git file that leads to the user's repository later",
        before: hooked!(),
        rules: &[],
        command: concat!(
            evil!(),
            "git init -q --separate-git-dir=gd d; ",
            planted!("d"),
            "; mv gd old; ln -s $PWD/.git gd"
        ),
        after: "git -C d commit --allow-empty -m y",
    },
    Trap {
        name: "a repository that gets its settings from the user's",
        before: hooked!(),
        rules: &[],
        command: concat!(evil!(), "git init -q d; ", planted!("d"), "; echo $PWD/.git > d/.git/commondir"),
        after: "git -C d commit --allow-empty -m y",
    },
    Trap {
        name: "a repository that gets its settings from the user's, moved into a directory with hooks",
        before: hooked!(),
        rules: &[],
        command: concat!(
            evil!(),
            "git init -q g; echo $PWD/.git > g/.git/commondir; mkdir d; ",
            planted!("d"),
            "; mv g/.git d/.git"
        ),
        after: "git -C d commit --allow-empty -m y",
    },
    Trap {
        name: "a filter in a worktree that the command adds",
        before: "git init -q -b main; git config filter.x.clean './tools/clean %f'; mkdir tools; printf '#!/bin/sh\\ncat\\n' > tools/clean; \
                 chmod +x tools/clean; echo '*.x filter=x' > .gitattributes; git add .; git commit -q -m x",
        rules: &[],
        command: "printf '#!/bin/sh\\n%s\\n' \"$EVIL\" > c; chmod +x c; git worktree add -q wt; cat c > wt/tools/clean; cp c wt/tools/clean; \
                  mv c wt/tools/clean",
        after: "echo x > wt/a.x; git -C wt add a.x",
    },
];
