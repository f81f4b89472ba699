//! Traps in repositories that a command creates or replaces, and that the user's git enters later.

use super::Trap;

/// `evil`, a repository with a program in its configuration, written in every possible way.
macro_rules! evil {
    ($rest:literal) => {
        concat!(
            "git init -q evil; echo x > evil/x; git -C evil add x; git -C evil commit -q -m x; \
             git -C evil config core.fsmonitor \"$EVIL\"; git config -f c core.fsmonitor \"$EVIL\"; \
             ln evil/.git/config l; cat c >> l; cat c >> evil/.git/config; mv evil/.git/config evil/.git/c2; \
             ln -s ../../c evil/.git/config; ln c evil/.git/config; cp c evil/.git/config; mv c evil/.git/config; ",
            $rest
        )
    };
}

/// A branch `trap` with a gitlink to `evil`, created beside the index that is in use.
macro_rules! branch_with_gitlink {
    () => {
        "export GIT_INDEX_FILE=$PWD/.git/beside; git read-tree HEAD; \
         git update-index --add --cacheinfo 160000,$(git -C evil rev-parse HEAD),evil; tree=$(git write-tree); \
         unset GIT_INDEX_FILE; git branch trap $(git commit-tree -m trap -p HEAD $tree); "
    };
}

/// A repository with one commit.
const PLAIN: &str = "git init -q -b main; echo x > file; git add file; git commit -q -m x";

/// `git a` is this alias, in a repository that the command creates. `x` is a program there, and so is the one that git
/// looks for if an alias is the path `./x`. The repository has a submodule, three commits, and a branch that conflicts.
macro_rules! alias {
    ($name:literal, $alias:literal, $after:literal) => {
        Trap {
            name: $name,
            before: "mkdir w",
            rules: &[],
            command: concat!(
                "git init -q m; git -C m commit -q --allow-empty -m m; git init -q -b main r; cd r; mkdir git-.; \
                 printf '#!/bin/sh\\n%s\\n' \"$EVIL\" > x; chmod +x x; cp x git-./x; \
                 for i in 1 2 3; do echo $i > file; git add file; git commit -q -m $i; done; \
                 git -c protocol.file.allow=always submodule --quiet add \"$PWD/../m\" sub; git commit -q -m sub; \
                 git checkout -q -b side HEAD~1; echo s > file; git commit -q -a -m side; git checkout -q main; \
                 echo n > file; git commit -q -a -m n; git config alias.a '",
                $alias,
                "'"
            ),
            after: concat!("cd r; ", $after),
        }
    };
}

/// Aliases without `!` that run a program by their operands.
pub(super) const ALIASES: &[Trap] = &[
    alias!("an alias whose operand is a program", "bisect run ./x", "git bisect start HEAD HEAD~2; git a"),
    alias!("an alias that runs a program in each submodule", "submodule foreach ../x", "git a"),
    alias!("an alias that is the path of a program", "./x", "git a"),
    alias!("an alias that sets what git runs", "config core.fsmonitor ./x", "git a; git status"),
    alias!("an alias that names a merge program", "merge-index ./x file", "git merge -q side; git a"),
    Trap {
        name: "an alias of a repository that overrides one of the user's",
        before: "git config --global alias.st status",
        rules: &[],
        command: "git init -q r; cd r; echo x > f; git add f; git commit -q -m x; git config alias.st 'reset --hard'; \
                  printf '[alias]\\n\\tst = reset --hard\\n' >> .git/config",
        after: "cd r; echo mine > f; git st; grep -q mine f || $EVIL",
    },
    Trap {
        name: "an alias of the user's repository that overrides one of the user's",
        before: "git config --global alias.st status; git init -q; echo x > f; git add f; git commit -q -m x",
        rules: &[],
        command: "git config alias.st 'reset --hard'; printf '[alias]\\n\\tst = reset --hard\\n' >> .git/config",
        after: "echo mine > f; git st; grep -q mine f || $EVIL",
    },
    Trap {
        name: "a credential helper that writes the user's password to a file",
        before: "true",
        rules: &[],
        command: "git init -q r; git -C r config credential.helper store",
        after: "printf 'protocol=https\\nhost=h\\nusername=u\\npassword=p\\n\\n' | git -C r credential approve; \
                test ! -e ~/.git-credentials || $EVIL",
    },
];

pub(super) const TRAPS: &[Trap] = &[
    Trap {
        name: "a section with a dot beside a subsection",
        before: "mkdir x",
        rules: &[],
        command: "git init -q r; cd r; echo t > t; git add t; cp .git/config c; \
                  printf '[filter.x \"y\"]\\n\\tclean = %s; cat\\n' \"$EVIL\" >> c; cp c .git/config; cp c d; mv d .git/config; \
                  echo '* filter=x.y' > .git/info/attributes; echo u > t",
        after: "cd r; git status",
    },
    Trap {
        name: "a common directory without HEAD",
        before: "mkdir x",
        rules: &[],
        command: "git init -q r; mkdir -p r/A/objects r/A/refs; git config -f c core.fsmonitor \"$EVIL\"; cp c r/A/config; \
                  echo ../A > r/.git/commondir; mkdir -p r/A/hooks; cp c r/A/config; mv c r/A/config",
        after: "cd r; git status",
    },
    Trap {
        name: "a common directory that gets its configuration first",
        before: "mkdir x",
        rules: &[],
        command: "git init -q r; mkdir -p r/A; git config -f r/A/config core.fsmonitor \"$EVIL\"; mkdir -p r/A/refs r/A/objects; \
                  mkdir B; git config -f B/config core.fsmonitor \"$EVIL\"; mkdir B/refs B/objects; mv B r/A; \
                  echo ../A > r/.git/commondir",
        after: "cd r; git status",
    },
    Trap {
        name: "settings by which git writes or runs what another setting says",
        before: "mkdir x",
        rules: &[],
        command: "git init -q -b main r; cd r; git commit -q --allow-empty -m x; git checkout -q -b side; \
                  git commit -q --allow-empty -m y; git checkout -q main; git commit -q --allow-empty -m z; \
                  git config rebase.instructionFormat \"%s%nexec $EVIL\"; \
                  git config alias.st \"-c core.fsmonitor='$EVIL' status\"; git checkout -q side",
        after: "cd r; git st; git rebase main",
    },
    Trap {
        name: "files that are checked out elsewhere",
        before: "mkdir x",
        rules: &[],
        command: "git init -q -b main r; cd r; git commit -q --allow-empty -m x; git checkout -q -b side; \
                  echo \"$EVIL\" > .bash_aliases; git add -f .bash_aliases; git commit -q -m y; git checkout -q main; \
                  git config core.worktree \"$HOME\"",
        after: "cd r; git checkout -q side; test -e ~/.bash_aliases && sh ~/.bash_aliases",
    },
    Trap {
        name: "a branch with a gitlink, and a repository at its path",
        before: PLAIN,
        rules: &[],
        command: concat!(evil!(""), branch_with_gitlink!()),
        after: "git checkout -q trap; git status",
    },
    Trap {
        name: "a branch with a gitlink that the user merges",
        before: PLAIN,
        rules: &[],
        command: concat!(evil!(""), branch_with_gitlink!()),
        after: "echo y > y; git add y; git commit -q -m y; git merge -q --no-edit trap; git status",
    },
    Trap {
        name: "a hook of a repository that a branch makes a submodule",
        before: PLAIN,
        rules: &[],
        command: concat!(
            "git init -q evil; echo x > evil/x; git -C evil add x; git -C evil commit -q -m x; touch -d '1 hour ago' evil/x; \
             printf '#!/bin/sh\\n%s\\n' \"$EVIL\" > hook; chmod +x hook; mkdir h; cp hook h/post-index-change; \
             cd evil/.git; ln -s ../../../hook hooks/post-index-change; ln ../../hook hooks/post-index-change; \
             cp ../../hook hooks/post-index-change; mv ../../hook hooks/post-index-change; \
             cp ../../h/post-index-change hooks/x.sample; mv hooks/x.sample hooks/post-index-change; \
             mv hooks h2; ln -s ../../h hooks; mv ../../h hooks; mv h2 hooks; cd ../..; ",
            branch_with_gitlink!()
        ),
        after: "git checkout -q trap; git status",
    },
    Trap {
        name: "a .git file that leads to a repository in the temporary directory",
        before: PLAIN,
        rules: &[],
        command: concat!(
            "t=/tmp/${STAGE##*/}; rm -rf $t; git init -q --separate-git-dir $t evil; \
             git -C evil commit -q --allow-empty -m x; git config -f $t/config core.fsmonitor \"$EVIL\"; \
             git config -f $t/c core.fsmonitor \"$EVIL\"; cat $t/c >> $t/config; ",
            branch_with_gitlink!()
        ),
        after: "git checkout -q trap; git status; rm -rf /tmp/${STAGE##*/}",
    },
    Trap {
        name: "a repository for a submodule that the user sets up",
        before: PLAIN,
        rules: &[],
        command: concat!(
            evil!("git clone -q --bare evil .git/modules/evil; "),
            "git -C .git/modules/evil config core.bare false; git -C .git/modules/evil config core.worktree ../../../evil; \
             git config -f .git/modules/evil/config core.fsmonitor \"$EVIL\"; \
             git config -f c core.fsmonitor \"$EVIL\"; cat c >> .git/modules/evil/config; \
             printf '[submodule \"evil\"]\\npath = evil\\nurl = ./evil\\n' > .gitmodules; git add .gitmodules; \
             git commit -q -m modules; ",
            branch_with_gitlink!(),
            "rm -rf evil"
        ),
        after: "git checkout -q trap; git submodule --quiet update --init; git status",
    },
    Trap {
        name: "another repository in the place of a worktree",
        before: "git init -q -b main; git commit -q --allow-empty -m x; git worktree add -q wt",
        rules: &[],
        command: evil!("mv wt old; rm -rf wt; mv evil wt"),
        after: "git -C wt status",
    },
    Trap {
        name: "a link in the place of a worktree",
        before: "git init -q -b main; git commit -q --allow-empty -m x; git worktree add -q wt",
        rules: &[],
        command: "t=/tmp/${STAGE##*/}; rm -rf $t; git init -q $t; git -C $t config core.fsmonitor \"$EVIL\"; \
                  git config -f c core.fsmonitor \"$EVIL\"; cat c >> $t/.git/config; mv wt old; rm -rf wt; ln -s $t wt",
        after: "git -C wt status; rm -rf /tmp/${STAGE##*/}",
    },
    Trap {
        name: "another repository in the place of one below the workspace",
        before: "git init -q below",
        rules: &[],
        command: evil!("mv below old; rm -rf below; mv evil below"),
        after: "git -C below status",
    },
    Trap {
        name: "another directory in the place of one with a repository in it",
        before: "mkdir p; git init -q p/below",
        rules: &[],
        command: evil!("mkdir q; mv evil q/below; mv p old; mv q p"),
        after: "git -C p/below status",
    },
    Trap {
        name: "hooks of a bare repository that was there before",
        before: "git init -q -b main --bare bare; git clone -q bare clone; git -C clone commit -q --allow-empty -m x",
        rules: &[],
        command: "printf '#!/bin/sh\\n%s\\n' \"$EVIL\" > hook; chmod +x hook; cp hook bare/hooks/post-receive; \
                  mkdir h; cp hook h/post-receive; mv bare/hooks bare/h; mv h bare/hooks; \
                  mv bare/HEAD bare/H; cp hook bare/hooks/post-receive; mv bare/H bare/HEAD; \
                  mv bare b; cp -r b b2; cp hook b2/hooks/post-receive; mv b2 bare",
        after: "git -C clone push -q \"$PWD/bare\" HEAD",
    },
    Trap {
        name: "a directory that becomes a repository itself",
        before: "mkdir src",
        rules: &[],
        command: "git init -q --bare t; git -C t config core.bare false; git -C t config core.worktree \"$PWD\"; \
                  cp t/config c; git config -f c core.fsmonitor \"$EVIL\"; cp c src/config; cp -r t/objects t/refs src; \
                  cp t/HEAD src; ln t/HEAD src/HEAD; ln -s ../t/HEAD src/HEAD; mv t/HEAD src/HEAD",
        after: "cd src; git status",
    },
    Trap {
        name: "a configuration that is still open when its directory becomes a repository",
        before: "true",
        rules: &[],
        command: "git init -q --bare t; mkdir -p x/.git; git config -f c core.fsmonitor \"$EVIL\"; exec 9> x/.git/config; \
                  mv t/objects t/refs t/HEAD x/.git; cat c >&9",
        after: "git -C x status",
    },
    Trap {
        name: "a repository without objects of its own",
        before: "true",
        rules: &[],
        command: "git init -q t; mkdir -p x/.git; echo \"$PWD/t/.git\" > x/.git/commondir; cp t/.git/HEAD x/.git; \
                  git config -f t/.git/config core.fsmonitor \"$EVIL\"; git -C t config extensions.worktreeConfig true; \
                  git config -f c core.fsmonitor \"$EVIL\"; mv c x/.git/config.worktree",
        after: "git -C x status",
    },
];
