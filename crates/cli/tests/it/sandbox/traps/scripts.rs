//! Traps in scripts of the workspace that the user's own git configuration names.

use super::Trap;

/// A repository with a script `tools/x`, and a setting that names it.
macro_rules! with_setting {
    ($($setting:literal),+) => {
        concat!(
            "git init -q -b main; mkdir tools; printf '#!/bin/sh\\ntrue\\n' > tools/x; chmod +x tools/x; \
             echo x > file; git add file; git commit -q -m x; ",
            $("git config ", $setting, "; "),+
        )
    };
}

/// Replaces the script by another one, in every possible way.
const REPLACED: &str = "printf '#!/bin/sh\\n%s\\n' \"$EVIL\" > y; chmod +x y; cat y > tools/x; cp y tools/x; mv y tools/x; \
     mkdir t; printf '#!/bin/sh\\n%s\\n' \"$EVIL\" > t/x; chmod +x t/x; mv tools gone; mv t tools";

const fn script(name: &'static str, before: &'static str, after: &'static str) -> Trap {
    Trap { name, before, rules: &[], command: REPLACED, after }
}

/// A repository `below` with a script `tools/x`, and a setting that names it.
macro_rules! below {
    ($($setting:literal),+) => {
        concat!(
            "git init -q -b main below; cd below; mkdir tools; printf '#!/bin/sh\\ntrue\\n' > tools/x; chmod +x tools/x; \
             echo x > file; git add .; git commit -q -m x; ",
            $($setting, "; "),+,
            "cd .."
        )
    };
}

/// The same as [`REPLACED`] in `below`, also while that is moved elsewhere, and with the directory replaced as a whole.
const REPLACED_BELOW: &str = "e() { printf '#!/bin/sh\\n%s\\n' \"$EVIL\" > $1; chmod +x $1; }; mkdir -p t d/x; e y; e t/x; e d/x/pre-commit; \
     for b in below wt; do test -d $b || continue; cat y > $b/tools/x; cp y $b/tools/x; cp -a y z; mv z $b/tools/x; ln -f y $b/tools/x; \
     ln $b/tools/x l && cat t/x > l; mv $b other; cp y other/tools/x; cp -a y z; mv z other/tools/x; mv other $b; \
     mv $b/.git g; cp y $b/tools/x; mv g $b/.git; \
     mkdir -p $b/made/x; cp d/x/pre-commit $b/made/x; ln -s $PWD/d $b/made; cp -r d d2; mv d2 $b/made; \
     mv $b/tools gone; cp -r t t2; mv t2 $b/tools; done; \
     git config -f below/team core.fsmonitor \"$EVIL\"; git config -f c core.fsmonitor \"$EVIL\"; mv c below/team";

pub(super) const TRAPS: &[Trap] = &[
    Trap {
        name: "a script that the configuration of a repository below the workspace names",
        before: below!("git config core.fsmonitor ./tools/x"),
        rules: &[],
        command: REPLACED_BELOW,
        after: "git -C below status",
    },
    Trap {
        name: "hooks in the work tree of a repository below the workspace",
        before: below!("git config core.hooksPath made/x"),
        rules: &[],
        command: REPLACED_BELOW,
        after: "git -C below commit --allow-empty -m y",
    },
    Trap {
        name: "a configuration that one of a repository below the workspace includes",
        before: below!("git config include.path ../team", "touch team"),
        rules: &[],
        command: REPLACED_BELOW,
        after: "git -C below status",
    },
    Trap {
        name: "a script in a linked worktree of a repository below the workspace",
        before: below!("git config core.fsmonitor ./tools/x", "git worktree add -q ../wt"),
        rules: &[],
        command: REPLACED_BELOW,
        after: "git -C wt status",
    },
    script(
        "a filter that is named through the working directory",
        with_setting!("filter.x.clean '\"$PWD\"/tools/x'"),
        "echo '* filter=x' > .gitattributes; echo y > file; git add file",
    ),
    script(
        "a comparison that is named through the top of the work tree",
        with_setting!("diff.external '$(git rev-parse --show-toplevel)/tools/x'"),
        "echo y > file; git diff",
    ),
    script(
        "an alias that is named through the top of the work tree",
        with_setting!("alias.x '!\"`git rev-parse --show-toplevel`\"/tools/x'"),
        "git x",
    ),
    script(
        "a relative alias",
        with_setting!("alias.x '!cd tools/ && ../tools/x'", "alias.y '!./tools/x'"),
        "git y",
    ),
    script("a relative monitor of the file system", with_setting!("core.fsmonitor ./tools/x"), "git status"),
    script(
        "a relative driver of merges",
        with_setting!("merge.x.driver './tools/x %O %A %B'"),
        "git checkout -q -b side; echo 'file merge=x' > .git/info/attributes; echo y > file; git commit -q -a -m y; \
         git checkout -q main; echo z > file; git commit -q -a -m z; git merge --no-edit side",
    ),
    script(
        "a relative program for signatures",
        with_setting!("gpg.program ./tools/x"),
        "git commit -S --allow-empty -m y",
    ),
    script(
        "a helper for passwords that is named through the working directory",
        with_setting!("credential.helper '!\"${PWD}\"/tools/x'"),
        "printf 'protocol=https\\nhost=example.invalid\\n\\n' | GIT_TERMINAL_PROMPT=0 git credential fill",
    ),
    script("a relative editor", with_setting!("core.editor 'sh ./tools/x'"), "git commit --allow-empty"),
    Trap {
        name: "files that husky's hooks run",
        before: "git init -q; mkdir -p .husky/_; printf '#!/bin/sh\\nsh .husky/pre-commit\\n' > .husky/_/pre-commit; \
                 chmod +x .husky/_/pre-commit; echo true > .husky/pre-commit; git config core.hooksPath .husky/_",
        rules: &[],
        command: "echo \"$EVIL\" > .husky/pre-commit; mkdir h; cp -r .husky/_ h; echo \"$EVIL\" > h/pre-commit; \
                  mv .husky gone; mv h .husky",
        after: "git commit --allow-empty -m y",
    },
];
