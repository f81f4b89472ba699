//! Traps in the configuration of the repository in which the user works: settings that make the user's next git command
//! run something or talk to another server, written in every possible way.

use super::Trap;

/// A repository with a remote that has the branch `main`, and a branch that tracks it.
macro_rules! followed {
    ($($more:literal),*) => {
        concat!(
            "git init -q -b main up; git -C up commit -q --allow-empty -m x; git -C up config receive.denyCurrentBranch ignore; \
             git init -q -b main; git remote add origin ./up; git fetch -q; git checkout -q main; ",
            $($more),*
        )
    };
}

/// Replaces another file by the file `c`, in every possible way.
macro_rules! written {
    ($file:literal) => {
        concat!(
            "f=",
            $file,
            "; cp c c0; cat c > $f; cp c $f; cp c c1; mv c1 $f; ln $f l && cat c > l; ln -f c $f; ln -sf \"$PWD/c\" $f; \
             mv $f gone; rm -f $f; cp c $f; ln c $f; ln -s \"$PWD/c\" $f; truncate -s 0 $f; cat c0 >> $f; \
             dd if=c0 of=$f conv=notrunc 2>/dev/null; cp c0 $f.lock; mv $f.lock $f; \
             cp $f open; exec 8<> open; mv open $f; cat c0 >&8; exec 8>&-; \
             exec 9>> $f; cat c0 >&9; : > between; cat c0 >&9; exec 9>&-; mv .git g; cp -r g .git; rm -f $f; cp c0 $f"
        )
    };
}

/// One setting that `git config` adds, and the user's next action.
macro_rules! setting {
    ($name:literal, $setting:literal, $after:literal) => {
        Trap {
            name: $name,
            before: followed!(),
            rules: &[],
            command: concat!(
                "cp .git/config c; git config ",
                $setting,
                "; git config -f c ",
                $setting,
                "; ",
                written!(".git/config")
            ),
            after: $after,
        }
    };
}

pub(super) const TRAPS: &[Trap] = &[
    setting!("a monitor of the file system", "core.fsmonitor \"$EVIL\"", "git status"),
    setting!("an alias", "alias.lg \"!$EVIL\"", "git lg"),
    setting!("an editor", "core.editor \"$EVIL\"", "EDITOR=true git commit --allow-empty"),
    setting!(
        "a filter",
        "filter.x.clean \"$EVIL; cat\"",
        "echo '* filter=x' > .gitattributes; echo y > f; git add f"
    ),
    setting!(
        "a helper for passwords",
        "credential.helper \"!$EVIL\"",
        "printf 'protocol=https\\nhost=x.invalid\\n\\n' | GIT_TERMINAL_PROMPT=0 git credential fill"
    ),
    setting!(
        "a program for signatures",
        "gpg.program \"$PWD/evil\"",
        "printf '#!/bin/sh\\n%s\\n' \"$EVIL\" > evil; chmod +x evil; git commit -S --allow-empty -m y"
    ),
    setting!(
        "another address of the remote",
        "remote.origin.url \"ext::$EVIL\"",
        "GIT_ALLOW_PROTOCOL=ext git fetch"
    ),
    setting!(
        "an address to push to",
        "remote.origin.pushurl \"ext::$EVIL\"",
        "GIT_ALLOW_PROTOCOL=ext git push origin main"
    ),
    setting!(
        "a new remote that a branch follows",
        "branch.main.remote \"ext::$EVIL\"",
        "GIT_ALLOW_PROTOCOL=ext git fetch"
    ),
    setting!(
        "an address that a branch is pushed to",
        "branch.main.pushRemote \"ext::$EVIL\"",
        "GIT_ALLOW_PROTOCOL=ext git push"
    ),
    setting!(
        "a remote that is pushed to",
        "remote.pushDefault \"ext::$EVIL\"",
        "GIT_ALLOW_PROTOCOL=ext git push"
    ),
    setting!("a program at the other end", "remote.origin.uploadpack \"$EVIL;git-upload-pack\"", "git fetch"),
    setting!(
        "an address that stands for another",
        "url.\"ext::$EVIL \".insteadOf ./up",
        "GIT_ALLOW_PROTOCOL=ext git fetch"
    ),
    setting!(
        "options of merges",
        "branch.main.mergeOptions '-s evil'",
        "mkdir p; printf '#!/bin/sh\\n%s\\n' \"$EVIL\" > p/git-merge-evil; chmod +x p/git-merge-evil; git checkout -q -b side; git commit -q --allow-empty -m y; git checkout -q main; git commit -q --allow-empty -m z; PATH=$PWD/p:$PATH git merge --no-edit side"
    ),
    setting!(
        "a strategy of merges",
        "pull.twohead evil",
        "mkdir p; printf '#!/bin/sh\\n%s\\n' \"$EVIL\" > p/git-merge-evil; chmod +x p/git-merge-evil; git checkout -q -b side; git commit -q --allow-empty -m y; git checkout -q main; git commit -q --allow-empty -m z; PATH=$PWD/p:$PATH git merge --no-edit side"
    ),
    Trap {
        name: "threads that move, exchange and write at the same time",
        before: followed!(),
        rules: &[],
        command: "cp .git/config c; git config -f c core.fsmonitor \"$EVIL\"; $RACES swap c .git/config; cp c .git/config",
        after: "git status",
    },
    Trap {
        name: "threads that move, exchange and write a configuration of the worktree",
        before: followed!("git config extensions.worktreeConfig true"),
        rules: &[],
        command: "git config -f c core.fsmonitor \"$EVIL\"; $RACES swap c .git/config.worktree; cp c .git/config.worktree",
        after: "git status",
    },
    Trap {
        name: "hooks in another directory",
        before: followed!(),
        rules: &[],
        command: concat!(
            "mkdir h; printf '#!/bin/sh\\n%s\\n' \"$EVIL\" > h/pre-commit; chmod +x h/pre-commit; git config core.hooksPath h; \
             cp .git/config c; git config -f c core.hooksPath h; ",
            written!(".git/config")
        ),
        after: "git commit --allow-empty -m y",
    },
    Trap {
        name: "an included configuration",
        before: followed!(),
        rules: &[],
        command: concat!(
            "git config -f evil.cfg core.fsmonitor \"$EVIL\"; git config include.path ../evil.cfg; \
             git config includeIf.gitdir:/.path ../evil.cfg; cp .git/config c; git config -f c include.path ../evil.cfg; ",
            written!(".git/config")
        ),
        after: "git status",
    },
    Trap {
        name: "names in another case and other ends of lines",
        before: followed!(),
        rules: &[],
        command: concat!(
            "cp .git/config c; printf '[cORE]\\r\\n\\tFsMonitor = \"%s\"\\r\\n' \"$EVIL\" >> c; ",
            written!(".git/config")
        ),
        after: "git status",
    },
    Trap {
        name: "a setting behind a line that goes on, between comments",
        before: followed!(),
        rules: &[],
        command: concat!(
            "cp .git/config c; printf '[user]\\n\\tname = x \\\\\\n\\t[a]\\n[core] # [user]\\n\\tfsmonitor = \"%s\" ; y' \"$EVIL\" >> c; ",
            written!(".git/config")
        ),
        after: "git status",
    },
    Trap {
        name: "a remote that is removed first and added then",
        before: followed!(),
        rules: &[],
        command: "git remote remove origin; git remote add origin \"ext::$EVIL\"; git remote rename origin other; \
                  git remote add origin \"ext::$EVIL\"; git config --remove-section remote.origin; \
                  git config branch.main.remote .; git config remote.origin.url \"ext::$EVIL\"; \
                  git config branch.main.remote origin",
        after: "GIT_ALLOW_PROTOCOL=ext git fetch origin",
    },
    Trap {
        name: "a configuration of the worktree",
        before: followed!("git config extensions.worktreeConfig true"),
        rules: &[],
        command: concat!(
            "git config --worktree core.fsmonitor \"$EVIL\"; git config -f c core.fsmonitor \"$EVIL\"; ",
            written!(".git/config.worktree")
        ),
        after: "git status",
    },
    Trap {
        name: "a configuration of the worktree that is there",
        before: followed!("git config extensions.worktreeConfig true; git config --worktree a.b c"),
        rules: &[],
        command: concat!(
            "git config --worktree core.fsmonitor \"$EVIL\"; git config -f c core.fsmonitor \"$EVIL\"; ",
            written!(".git/config.worktree")
        ),
        after: "git status",
    },
    Trap {
        name: "settings of a linked worktree that the user added",
        before: followed!("git config extensions.worktreeConfig true; git worktree add -q wt"),
        rules: &[],
        command: concat!(
            "git -C wt config --worktree core.fsmonitor \"$EVIL\"; git config -f c core.fsmonitor \"$EVIL\"; ",
            written!(".git/worktrees/wt/config.worktree")
        ),
        after: "git -C wt status",
    },
    Trap {
        name: "an address that a worktree of the command's pushes to",
        before: followed!("git config extensions.worktreeConfig true"),
        rules: &[],
        command: concat!(
            "git worktree add -q wt; git -C wt config --worktree remote.origin.pushurl \"ext::$EVIL\"; \
             git config -f c remote.origin.pushurl \"ext::$EVIL\"; ",
            written!(".git/worktrees/wt/config.worktree")
        ),
        after: "GIT_ALLOW_PROTOCOL=ext git -C wt push origin HEAD",
    },
    Trap {
        name: "settings of a submodule",
        before: super::WITH_SUBMODULE,
        rules: &[],
        command: concat!(
            "git -C sub config core.fsmonitor \"$EVIL\"; cp .git/modules/sub/config c; git config -f c core.fsmonitor \"$EVIL\"; ",
            written!(".git/modules/sub/config")
        ),
        after: "git -C sub status",
    },
    Trap {
        name: "settings of a repository below the workspace that was there before",
        before: "git init -q below",
        rules: &[],
        command: "cd below; git config core.fsmonitor \"$EVIL\"; cp .git/config c; git config -f c core.fsmonitor \"$EVIL\"; \
                  cat c > .git/config; cp c .git/config; mv c .git/config; ln -f c .git/config; ln -sf \"$PWD/c\" .git/config; \
                  git config -f d core.fsmonitor \"$EVIL\"; rm -f .git/config; cp d .git/config; mv d .git/config",
        after: "git -C below status",
    },
    Trap {
        name: "another address of a repository below the workspace that was there before",
        before: "git init -q -b main below; git -C below remote add origin ../up",
        rules: &[],
        command: "cd below; git remote set-url origin \"ext::$EVIL\"; cp .git/config c; \
                  git config -f c remote.origin.url \"ext::$EVIL\"; cp c .git/config; mv c .git/config; \
                  git config -f d remote.origin.url \"ext::$EVIL\"; rm -f .git/config; mv d .git/config",
        after: "cd below; GIT_ALLOW_PROTOCOL=ext git fetch origin",
    },
    Trap {
        name: "settings of the repository around the workspace",
        before: followed!(),
        rules: &[],
        command: "mkdir -p sub; cd sub; git config core.fsmonitor \"$EVIL\"; cp ../.git/config c; \
                  git config -f c core.fsmonitor \"$EVIL\"; cp c ../.git/config; mv c ../.git/config",
        after: "git status",
    },
    Trap {
        name: "a repository where there was none",
        before: "true",
        rules: &[],
        command: "git init -q -b main; git commit -q --allow-empty -m x; printf '#!/bin/sh\\n%s\\n' \"$EVIL\" > hook; chmod +x hook; \
                  cp hook .git/hooks/pre-commit; mkdir h; cp hook h/pre-commit; mv .git/hooks .git/h2; cp -r h .git/hooks; \
                  cp hook .git/hooks/pre-commit; git config core.fsmonitor \"$EVIL\"; git config -f c core.fsmonitor \"$EVIL\"; \
                  cat c >> .git/config; cp c .git/config; mv c .git/config",
        after: "git status; git commit --allow-empty -m y",
    },
    Trap {
        name: "a repository with a template where there was none",
        before: "true",
        rules: &[],
        command: "mkdir -p t/hooks; printf '#!/bin/sh\\n%s\\n' \"$EVIL\" > t/hooks/pre-commit; chmod +x t/hooks/pre-commit; \
                  git config -f t/config core.fsmonitor \"$EVIL\"; git init -q --template=t; git init -q; cp -r t/hooks .git",
        after: "git status; git commit --allow-empty -m y",
    },
    Trap {
        name: "a repository of the user's in the place of one that is missing",
        before: "git init -q -b main ~/other; git -C ~/other commit -q --allow-empty -m x; git -C ~/other config core.fsmonitor ./watch",
        rules: &[],
        command: "printf '#!/bin/sh\\n%s\\n' \"$EVIL\" > watch; chmod +x watch; ln -s ~/other/.git .git; \
                  echo \"gitdir: $HOME/other/.git\" > .git; mkdir x; ln -s ~/other/.git x/.git; mv x/.git .git; \
                  echo \"gitdir: $HOME/other/.git\" > f; ln f .git; mv f .git",
        after: "git status",
    },
    Trap {
        name: "a new repository that shares the settings of another one of the user's",
        before: "git init -q -b main ~/other; git -C ~/other commit -q --allow-empty -m x; git -C ~/other config core.fsmonitor ./watch",
        rules: &[],
        command: "printf '#!/bin/sh\\n%s\\n' \"$EVIL\" > watch; chmod +x watch; mkdir .git; echo ref: refs/heads/main > .git/HEAD; \
                  echo ~/other/.git > c; ln -s ../c .git/commondir; ln c .git/commondir; cp c .git/commondir; mv c .git/commondir",
        after: "git status",
    },
];
