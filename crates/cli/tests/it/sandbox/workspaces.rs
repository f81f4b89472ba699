//! Workspaces of every shape: commands start in each of them and work.

use std::process::{Output, Stdio};

use serde_json::json;

use super::stage::{Owner, Stage};
use crate::mcp::Served;

const LAYERS: [&str; 2] = ["all", "landlock"];
/// Variables without which git makes no commits.
const IDENTITY: [&str; 4] =
    ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"];

/// A workspace and a command in it.
struct Shape {
    name: &'static str,
    /// A script of the user that creates it, in an empty directory.
    before: &'static str,
    /// The directory in which the command runs, below that one.
    workspace: &'static str,
    /// Options of `windlass run`, beside the policy.
    rules: &'static [&'static str],
    /// The command, which must succeed.
    command: &'static str,
    /// The expected remark of `windlass run`.
    remark: &'static str,
    /// A script of the user that succeeds if the command did its work.
    check: &'static str,
}

const SHAPES: &[Shape] = &[
    Shape {
        name: "a subdirectory of a repository",
        before: "git init -q -b main .; mkdir sub; git commit -q --allow-empty -m first",
        workspace: "sub",
        rules: &[],
        command: "echo x > x; git add x; git commit -q -m inside; ! touch ../outside 2>/dev/null; \
                  ! touch ../.git/hooks/pre-commit 2>/dev/null; git branch -q --track other main; git config user.name me; \
                  ! git config core.editor ./x 2>/dev/null; echo '[x' >> ../.git/config; : > between",
        remark: "",
        check: "test \"$(git log -1 --format=%s)\" = inside; ! test -e outside; test \"$(git config user.name)\" = me; \
                test \"$(git config branch.other.merge)\" = refs/heads/main; ! git config core.editor",
    },
    Shape {
        name: "a linked worktree",
        before: "git init -q -b main main; cd main; git commit -q --allow-empty -m first; git worktree add -q -b tree ../tree",
        workspace: "tree",
        rules: &[],
        command: "echo x > x; git add x; git commit -q -m 'in a tree'; git stash list; git branch -q --track other main; \
                  git branch -m other another; ! git remote add x ../x 2>/dev/null; ! touch ../main/file 2>/dev/null; ! touch ../main/.git/hooks/pre-commit 2>/dev/null",
        remark: "remote.x.url is the user's setting; change it outside of the sandbox",
        check: "test \"$(git -C main log -1 --format=%s tree)\" = 'in a tree'; ! test -e main/file; \
                test \"$(git -C main config branch.another.remote)\" = .; ! git -C main remote | grep x",
    },
    Shape {
        name: "a .git file of a command's own opens nothing",
        before: "mkdir -p work other/objects; printf 'gitdir: ../other\\n' > work/.git",
        workspace: "work",
        rules: &[],
        command: "! touch ../other/file 2>/dev/null",
        remark: "",
        check: "! test -e other/file",
    },
    Shape {
        name: "repositories below the workspace, of the user and of the command",
        before: "git init -q below; git -C below commit -q --allow-empty -m first; git clone -q below gone",
        workspace: "",
        rules: &[],
        command: "cd below; echo x > x; git add x; git commit -q -m inside; ! git config a.b c 2>/dev/null; \
                  git config user.name me; git branch -q --track other; cd ..; \
                  git clone -q below clone; git -C clone config a.b c; rm -rf gone; ! touch clone/.git/hooks/post-commit; \
                  ! git -C clone config core.editor ./x; git -C clone worktree add -q ../linked; \
                  git init -q --bare bare; git -C clone push -q ../bare HEAD; cp -a bare copy; \
                  cp -r clone clone2; git -C clone2 status; git -C clone config core.hooksPath /dev/null; \
                  mv clone/.git x; mv x clone/.git; git -C clone gc -q",
        remark: "",
        check: "test \"$(git -C below log -1 --format=%s)\" = inside; test \"$(git -C clone config a.b)\" = c; ! test -e gone; \
                test \"$(git -C linked log -1 --format=%s)\" = inside; git -C copy log > /dev/null",
    },
    Shape {
        name: "a repository where there was none",
        before: "mkdir work; git init -q --bare up",
        workspace: "work",
        rules: &[],
        command: "git init -q -b main; echo x > x; git add x; git commit -q -m made; git config a.b c; \
                  git remote add origin ../up; git branch -q --track side main; ! touch .git/hooks/post-commit 2>/dev/null; \
                  ! git config core.editor ./x 2>/dev/null; mv .git g; ! mv g .git 2>/dev/null; cp -r g .git; rm -rf g",
        remark: "",
        check: "cd work; test \"$(git log -1 --format=%s)\" = made; test \"$(git config a.b)\" = c; git remote | grep -qx origin",
    },
    Shape {
        name: "a repository from a template where there was none",
        before: "mkdir -p template/hooks work; echo x > template/hooks/pre-commit.sample; echo x > template/file",
        workspace: "work",
        rules: &[],
        command: "git init -q --template=../template; git init -q --template=../template; git status",
        remark: "",
        check: "test -e work/.git/file; test -e work/.git/hooks/pre-commit.sample",
    },
    Shape {
        name: "a repository that is cloned to the top",
        before: "mkdir work; git init -q up; git -C up commit -q --allow-empty -m first",
        workspace: "work",
        rules: &[],
        command: "git clone -q ../up .; git commit -q --allow-empty -m second",
        remark: "",
        check: "test \"$(git -C work log -1 --format=%s)\" = second",
    },
    Shape {
        name: "a directory whose repositories a rule leaves to the command",
        before: "mkdir own",
        workspace: "",
        rules: &["--writable", "own"],
        command: "git init -q own/a; touch own/a/.git/hooks/post-commit; git -C own/a config core.editor ./x; \
                  git init -q b; ! touch b/.git/hooks/post-commit",
        remark: "",
        check: "test -e own/a/.git/hooks/post-commit",
    },
    Shape {
        name: "named pipes outside are not written",
        before: "mkdir work; mkfifo outside work/own; sh -c 'exec 3<> outside'",
        workspace: "work",
        rules: &[],
        command: "exec 4<> own; ! (exec 3<> ../outside) 2>/dev/null",
        remark: "",
        check: "true",
    },
    Shape {
        name: "a writable place behind a link that commands can make",
        before: "mkdir work home; ln -s ../home work/cache",
        workspace: "work",
        rules: &["--writable", "cache"],
        command: "! touch ../home/file 2>/dev/null",
        remark: "leads through a link that commands can make",
        check: "! test -e home/file",
    },
    Shape {
        name: "a rule that names a protected file",
        before: "git init -q",
        workspace: "",
        rules: &["--writable", ".git/config"],
        command: "git config a.b c; ! touch .git/hooks/pre-commit 2>/dev/null",
        remark: "",
        check: "test \"$(git config a.b)\" = c",
    },
    Shape {
        name: "clones, packages and homes of tests bring files that editors and shells obey",
        before: "git init -q .; mkdir -p older/.vscode; touch older/.vscode/settings.json older/.mcp.json",
        workspace: "",
        rules: &[],
        command: "mkdir -p node_modules/p/.vscode; echo x > node_modules/p/.vscode/settings.json; git init -q clone; \
                  mkdir clone/.idea; echo x > clone/.mcp.json; mv clone/.mcp.json clone/.idea/; \
                  mkdir home; HOME=$PWD/home git config --global a.b c; echo x > home/.bashrc; mv home home2; \
                  HOME=/tmp git config --global a.b c; rm -f /tmp/.gitconfig; rm -rf older; echo x > .envrc; echo x > .npmrc",
        remark: "",
        check: "test -e clone/.idea/.mcp.json; test -e home2/.gitconfig; ! test -e older",
    },
    Shape {
        name: "a rule that names a directory that editors obey",
        before: "mkdir .vscode",
        workspace: "",
        rules: &["--writable", ".vscode"],
        command: "echo x > .vscode/settings.json; ! mkdir .idea 2>/dev/null",
        remark: "settings of editors (.idea)",
        check: "test -e .vscode/settings.json",
    },
    Shape {
        name: "a rule that names a protected file which is not there yet",
        before: "git init -q",
        workspace: "",
        rules: &["--writable", ".vscode", "--writable", ".mcp.json"],
        command: "mkdir .vscode; echo x > .vscode/settings.json; echo x > .mcp.json; ! mkdir .idea 2>/dev/null",
        remark: "",
        check: "test -e .vscode/settings.json; test -e .mcp.json",
    },
    Shape {
        name: "branches that differ in a file that editors obey",
        before: "git init -q -b main; mkdir .vscode; echo x > .vscode/settings.json; git add .; git commit -q -m x; \
                 git switch -q -c other; echo y > .vscode/settings.json; git commit -q -a -m y; git switch -q main",
        workspace: "",
        rules: &[],
        command: "git checkout -q other; test \"$(git status --porcelain)\" = ' M .vscode/settings.json'; \
                  git worktree add -q tree main; cd tree; echo y > .vscode/settings.json; \
                  git commit -q -a -m z; cd ..; git worktree remove tree",
        remark: "settings of editors (.vscode), which can run tasks",
        check: "test \"$(cat .vscode/settings.json)\" = x; test \"$(git show main:.vscode/settings.json)\" = y",
    },
    Shape {
        name: "branches that differ in a file that editors obey, with a rule that names it",
        before: "git init -q -b main; mkdir .vscode; echo x > .vscode/settings.json; git add .; git commit -q -m x; \
                 git switch -q -c other; echo y > .vscode/settings.json; git commit -q -a -m y; git switch -q main",
        workspace: "",
        rules: &["--writable", ".vscode"],
        command: "git checkout -q other",
        remark: "",
        check: "test \"$(cat .vscode/settings.json)\" = y",
    },
    Shape {
        name: "a writable root that is missing",
        before: "mkdir work",
        workspace: "work",
        rules: &["--writable", "../not-there-yet"],
        command: "echo x > x",
        remark: "`../not-there-yet` was to be writable, but there is no",
        check: "test -e work/x",
    },
    Shape {
        name: "thousands of directories where submodules are",
        before: "git init -q; mkdir -p .git/modules; cd .git/modules; seq -f 'm%g' 3000 | xargs mkdir; \
                 seq -f 'm%g/HEAD' 3000 | xargs touch",
        workspace: "",
        rules: &[],
        command: "echo x > x; git add x; git commit -q -m x; ! touch .git/modules/m1/config 2>/dev/null",
        remark: ".git/modules has more than",
        check: "git log -1 > /dev/null",
    },
];

pub(super) struct Scene<'a> {
    pub(super) stage: &'a Stage,
    pub(super) directory: String,
}

impl Scene<'_> {
    pub(super) fn run(&self, below: &str, words: &[String]) -> Output {
        let mut command = self.stage.command(words);
        for variable in IDENTITY {
            command.env(variable, "stage@example.invalid");
        }
        command.current_dir(format!("{}/{below}", self.directory)).output().expect("it starts")
    }

    pub(super) fn plainly(&self, script: &str) {
        let output = self.run("", &["sh", "-ec", script].map(str::to_owned));
        assert!(output.status.success(), "{script}: {output:?}");
    }

    pub(super) fn confined(&self, below: &str, words: &[&str], script: &str) -> Output {
        let policy = ["run", "--sandbox", "workspace-write"];
        let words = [&policy[..], words, &["--", "sh", "-ec", script]].concat();
        let words = words.into_iter().map(str::to_owned);
        self.run(below, &[self.stage.windlass()].into_iter().chain(words).collect::<Vec<_>>())
    }

    pub(super) fn clear(&self) {
        self.plainly("chmod -R u+rwx .; find . -mindepth 1 -delete");
    }
}

pub(super) fn both(name: &str, check: impl Fn(&Scene<'_>, &str)) {
    for (owner, whose) in [(Owner::Myself, ""), (Owner::ordinary(), "-user")] {
        let stage = Stage::new(&format!("{name}{whose}"), owner);
        let directory = stage.directory(&["shapes"]);
        let scene = Scene { stage: &stage, directory };
        for layers in LAYERS {
            check(&scene, layers);
            scene.clear();
        }
    }
}

#[test]
fn commands_work_in_workspaces_of_every_shape() {
    both("shapes", |scene, layers| {
        for shape in SHAPES {
            scene.plainly(shape.before);
            let words = [&["--sandbox-layers", layers], shape.rules].concat();
            let output = scene.confined(shape.workspace, &words, shape.command);
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{} ({layers}): {output:?}", shape.name);
            assert!(said.contains(shape.remark), "{} ({layers}): {said}", shape.name);
            scene.plainly(shape.check);
            scene.clear();
        }
    });
}

#[test]
fn a_policy_in_the_workspace_stays_as_it_is() {
    both("policy", |scene, layers| {
        scene.plainly("echo 'base = \"workspace-write\"' > policy.toml");
        let script = "echo x > x; ! (echo 'network = \"on\"' >> policy.toml) 2>/dev/null; ! mv policy.toml old 2>/dev/null; \
                      ! mv x policy.toml 2>/dev/null";
        let windlass = scene.stage.windlass();
        let words = [
            &windlass,
            "run",
            "--sandbox-layers",
            layers,
            "--sandbox",
            "./policy.toml",
            "--",
            "sh",
            "-ec",
            script,
        ];
        let output = scene.run("", &words.map(str::to_owned));
        assert!(output.status.success(), "{layers}: {output:?}");
        scene.plainly("test \"$(cat policy.toml)\" = 'base = \"workspace-write\"'; test -e x");
    });
}

/// Root can read it all the same, and finds everything protected as usual.
#[test]
fn a_repository_that_is_shut_keeps_no_command_from_starting() {
    both("shut", |scene, layers| {
        scene.plainly("git init -q; chmod 000 .git");
        let script = "echo ran; chmod 755 .git 2>/dev/null; touch .git/hooks/pre-commit 2>/dev/null && echo PLANTED; true";
        let output = scene.confined("", &["--sandbox-layers", layers], script);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "ran\n", "{layers}: {output:?}");
    });
}

#[test]
fn removing_a_worktree_is_reported_without_denials() {
    both("removed", |scene, layers| {
        for before in ["git worktree add -q other", "mkdir .git/worktrees"] {
            scene.plainly(&format!("git init -q -b main; git commit -q --allow-empty -m first; {before}"));
            let script = "git worktree add -q tree; git worktree remove tree; ! test -e tree";
            let output = scene.confined("", &["--sandbox-layers", layers], script);
            assert!(output.status.success(), "{layers}: {output:?}");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(!said.contains("refused"), "{layers}: {said}");
            scene.clear();
        }
    });
}

/// `cp` and shells write in place: harmless settings take effect, and the others are reported and do not appear. The
/// creation of `between` makes the supervisor judge the content that was written before it.
#[test]
fn a_configuration_that_is_written_in_place_is_judged_by_its_content() {
    both("drafts", |scene, layers| {
        let script = "git init -q a; printf '[x]\\ny = z\\n' >> a/.git/config; : > between; git -C a config x.y; \
                      printf '[core]\\nfsmonitor = ./evil\\n' >> a/.git/config; : > between; \
                      git -C a config core.fsmonitor || echo none";
        let output = scene.confined("", &["--sandbox-layers", layers], script);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "z\nnone\n", "{layers}: {output:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("refused: write") && said.contains("core.fsmonitor"), "{layers}: {said}");
    });
}

/// `git commit` copies files that `MERGE_RR` lists into `rr-cache`, where a command can read them.
#[test]
fn the_users_git_copies_no_file_that_a_command_must_not_read() {
    both("resolutions", |scene, layers| {
        let id = "1".repeat(40);
        let list = |path: &str| {
            format!(
                "mkdir -p .git/rr-cache/{id}; echo x > .git/rr-cache/{id}/preimage; ln -sf $PWD/secret link; m=.git/MERGE_RR; \
                 printf '{id}\\t{path}\\0' > m; ln m l; cat m > $m; cp m n; mv n $m; ln -f m $m; rm -f $m; ln -s $PWD/m $m; \
                 rm -f $m; : > e; mv e $m; cp m $m; cp m n; mv n $m; true"
            )
        };
        let commit = "echo y > f; git commit -q -a -m y";
        for path in ["link", "$PWD/secret"] {
            let list = list(path).replace("'", "\"");
            let made = "git init -q; echo x > f; git add f; git commit -q -m x; echo key > secret";
            scene.plainly(&format!(
                "{made}; set +e; {list}; {commit}; grep -q key .git/rr-cache/{id}/postimage"
            ));
            scene.clear();
            scene.plainly(made);
            let words = ["--sandbox-layers", layers, "--deny-read", "secret"];
            let output = scene.confined("", &words, &format!("set +e; {list}"));
            assert!(output.status.success(), "{layers}: {output:?}");
            scene.plainly(&format!("{commit}; ! test -e .git/rr-cache/{id}/postimage"));
            let output = scene.confined(
                "",
                &words,
                "git config rerere.enabled true; echo z > f; git commit -q -a -m z",
            );
            assert!(output.status.success(), "{layers}: {output:?}");
            scene.clear();
        }
    });
}

/// `git commit` also writes remembered resolutions into the files that `MERGE_RR` lists.
#[test]
fn the_users_git_overwrites_no_file_for_a_command() {
    both("overwritten", |scene, layers| {
        let id = "1".repeat(40);
        let list = format!(
            "git config rerere.enabled true; r=.git/rr-cache/{id}; mkdir -p $r; m=.git/MERGE_RR; \
             printf 'top\\n<<<<<<<\\nA\\n=======\\nB\\n>>>>>>>\\nend\\n' > $r/preimage; printf 'top\\nX\\nend\\n' > $r/postimage; \
             printf '{id}\\t%s\\0' \"$PWD/outside\" > l; cat l > $m; cp l n; mv n $m; true"
        );
        // An absolute path stands for a file outside of the workspace.
        let made = "git init -q; echo x > f; git add f; git commit -q -m x; \
                    printf 'top\\n<<<<<<< a\\nA\\n=======\\nB\\n>>>>>>> b\\nend\\n' > outside";
        let commit = "echo y > f; git commit -q -a -m y";
        scene.plainly(&format!("{made}; {list}; {commit}; grep -q X outside"));
        scene.clear();
        scene.plainly(made);
        let output = scene.confined("", &["--sandbox-layers", layers], &format!("set +e; {list}"));
        assert!(output.status.success(), "{layers}: {output:?}");
        scene.plainly(&format!("{commit}; ! grep -q X outside"));
        scene.clear();
    });
}

/// With `rerere.enabled`, git writes the list whenever there is a conflict.
#[test]
fn a_merge_with_conflicts_works_where_git_remembers_resolutions() {
    both("remembering", |scene, layers| {
        scene.plainly(
            "git init -q -b main; git config rerere.enabled true; echo x > f; git add f; git commit -q -m x; \
             git checkout -q -b side; echo y > f; git commit -q -a -m y; git checkout -q main; echo z > f; git commit -q -a -m z",
        );
        for words in
            [&["--sandbox-layers", layers][..], &["--sandbox-layers", layers, "--deny-read", "secret"]]
        {
            let merge = "git merge side && exit 7; grep -q '<<<' f || exit 8; echo m > f; git add f; git commit -q -m m; \
                         git reset -q --hard HEAD~1";
            let output = scene.confined("", words, merge);
            assert!(output.status.success(), "{layers}: {output:?}");
        }
        scene.clear();
    });
}

/// Git can check hooks out only with the content that they have in the user's work tree. Where a branch differs, they
/// stay empty.
#[test]
fn a_worktree_of_a_repository_with_hooks_in_its_work_tree_is_added() {
    both("hooked", |scene, layers| {
        scene.plainly(
            "git init -q -b main; git config core.hooksPath .githooks; mkdir .githooks; echo true > .githooks/pre-commit; \
             chmod +x .githooks/pre-commit; seq 100000 > .githooks/long; git add .; git commit -q -m first; \
             git switch -q -c other; echo false > .githooks/pre-commit; git commit -q -a -m second --no-verify; git switch -q main",
        );
        let script = "git worktree add -q -b side wt; cd wt; git status --porcelain; echo x > x; git add x; git commit -q -m third; \
                      mkdir ../plain; cp -r .githooks ../plain; echo y > ../plain/.githooks/pre-commit; git status --porcelain; \
                      cd ..; git worktree move wt wt2; git worktree add -q wt3 other";
        let output = scene.confined("", &["--sandbox-layers", layers], script);
        assert!(output.status.success() && output.stdout.is_empty(), "{layers}: {output:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        let (first, second) =
            said.split_once("it can only be a copy of").unwrap_or_else(|| panic!("{layers}: {said}"));
        assert!(
            first.contains("wt3/.githooks/pre-commit") && !second.contains("refused"),
            "{layers}: {said}"
        );
        scene.plainly(
            "cmp .githooks/long wt2/.githooks/long; cmp .githooks/pre-commit wt2/.githooks/pre-commit; test -x wt2/.githooks/pre-commit; \
             test -z \"$(git -C wt2 status --porcelain)\"; ! test -s wt3/.githooks/pre-commit; test -f wt3/.githooks/pre-commit",
        );
    });
}

/// Git creates the repository first and then adds it to the index. The first step is already denied, so nothing is left
/// that no command can remove.
#[test]
fn a_submodule_that_is_refused_leaves_nothing_behind() {
    both("submodule", |scene, layers| {
        scene.plainly("git init -q up; git -C up commit -q --allow-empty -m x; git init -q; git commit -q --allow-empty -m x");
        for name in ["sub", "libs/sub"] {
            let script = format!("git -c protocol.file.allow=always submodule add ./up {name}");
            let output = scene.confined("", &["--sandbox-layers", layers], &script);
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(said.contains("submodules are added outside of the sandbox"), "{layers}: {said}");
            let output = scene.confined("", &["--sandbox-layers", layers], "rm -rf sub libs .gitmodules");
            assert!(output.status.success(), "{layers}: {output:?}");
            scene.plainly("test \"$(git status --porcelain)\" = '?? up/'; ! test -e .git/modules; ! git config --get-regexp submodule");
        }
        // Work in an existing one goes on.
        scene.plainly(
            "git -c protocol.file.allow=always submodule --quiet add ./up sub; git commit -q -m sub",
        );
        let script = "cd sub; echo x > x; git add x; git commit -q -m inside; git worktree add -q ../tree; cd ..; git commit -q -a -m moved";
        let output = scene.confined("", &["--sandbox-layers", layers], script);
        assert!(output.status.success(), "{layers}: {output:?}");
        scene.plainly("git submodule status | grep -q '^ '");
    });
}

/// Windlass as an MCP server: its calls are commands of one runtime.
pub(super) fn served(scene: &Scene<'_>, layers: &str) -> Served {
    let words = [&scene.stage.windlass(), "mcp", "--sandbox", "workspace-write", "--sandbox-layers", layers];
    let mut command = scene.stage.command(&words.map(str::to_owned));
    for variable in IDENTITY {
        command.env(variable, "stage@example.invalid");
    }
    let mut served = Served::of(command.current_dir(&scene.directory).stderr(Stdio::null()));
    served.greet();
    served
}

/// The output of a call.
pub(super) fn called(served: &mut Served, script: &str) -> String {
    let arguments = json!({ "cmd": script, "shell": "bash", "yield_time_ms": 60_000 });
    let reply = served.ask("exec", "tools/call", &json!({ "name": "exec_command", "arguments": arguments }));
    reply.to_string()
}

#[test]
fn a_worktree_that_one_command_added_is_removed_by_the_next() {
    both("worktrees", |scene, layers| {
        scene.plainly("git init -q -b main; git commit -q --allow-empty -m first; git worktree add -q old");
        let mut served = served(scene, layers);
        let added = called(
            &mut served,
            "git worktree add -q new && git worktree add -q lost && rm -rf lost && echo added",
        );
        assert!(added.contains("added"), "{layers}: {added}");
        let removed = called(
            &mut served,
            "touch .git/worktrees/new/hooks/pre-commit; mkdir .git/worktrees/new/hooks; echo x > .git/worktrees/new/hooks/pre-commit; \
             git worktree remove --force new && git worktree prune && echo removed; ls .git/worktrees",
        );
        assert!(removed.contains("removed"), "{layers}: {removed}");
        scene.plainly("test \"$(ls .git/worktrees)\" = old; ! test -e new");
        // The user's own directory stays, with all files that git obeys in it.
        called(
            &mut served,
            "rm -rf .git/worktrees/old; echo x > .git/worktrees/old/commondir; mv .git/worktrees/old x; true",
        );
        scene.plainly(
            "test \"$(cat .git/worktrees/old/commondir)\" = ../..; test -e .git/worktrees/old/gitdir",
        );
    });
}

/// It cannot write to the directory with the outer one's records.
#[test]
fn a_second_windlass_inside_has_a_state_directory_of_its_own() {
    both("second", |scene, layers| {
        let inner = scene.stage.windlass();
        let script = format!(
            "'{inner}' run -- echo inside; '{inner}' ps --all; '{inner}' run --detach --name web -- sleep 600; '{inner}' stop web"
        );
        let output = scene.confined("", &["--sandbox-layers", layers], &script);
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{layers}: {output:?}");
        assert!(said.starts_with("inside\n") && said.contains("echo inside"), "{layers}: {output:?}");
        scene.plainly("rm -rf /tmp/windlass-inside-$(id -u)");
    });
}
