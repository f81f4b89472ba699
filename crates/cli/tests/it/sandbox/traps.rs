//! Traps: a confined command leaves something behind, and then the user works as usual, without a sandbox. Nothing that
//! the command left may run then.

mod indexes;
mod links;
mod names;
mod repositories;
mod scripts;
mod settings;
mod work_trees;

use std::process::Output;

use super::simultaneous::RACES;
use super::stage::{Owner, Stage};

/// The user's files, the command, and the user's next action.
struct Trap {
    name: &'static str,
    /// A script of the user that runs before the command.
    before: &'static str,
    /// Options of `windlass run`, beside the policy.
    rules: &'static [&'static str],
    /// The command. If it succeeds, `$EVIL` runs in the next script.
    command: &'static str,
    /// A script of the user that runs after the command.
    after: &'static str,
}

/// A repository with a submodule, as `git submodule add` makes one.
const WITH_SUBMODULE: &str = "git init -q sub-origin; git -C sub-origin commit -q --allow-empty -m x; git init -q; \
     git -c protocol.file.allow=always submodule --quiet add ./sub-origin sub; git commit -q -m x";

const TRAPS: &[Trap] = &[
    Trap {
        name: "a repository whose objects are a socket",
        before: "true",
        rules: &[],
        command: "mkdir -p .git/refs; printf '[core]\\n\\tfsmonitor=%s\\n' \"$EVIL\" > .git/config; \
                  echo 'ref: refs/heads/m' > .git/HEAD; cd .git; \
                  python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"objects\")'",
        after: "git status",
    },
    Trap {
        name: "a hook that is a link to a script of the work tree",
        before: "git init -q; mkdir scripts; printf '#!/bin/sh\\ntrue\\n' > scripts/check; chmod +x scripts/check; \
                 ln -s ../../scripts/check .git/hooks/pre-commit; git commit -q --allow-empty -m x",
        rules: &[],
        command: "printf '#!/bin/sh\\n%s\\n' \"$EVIL\" > evil; chmod +x evil; cp evil scripts/check; mv evil scripts/check; \
                  mv scripts s2; mkdir scripts; cp s2/check scripts",
        after: "git commit --allow-empty -m y",
    },
    Trap {
        name: "a gitlink to a repository with a file system monitor",
        before: "git init -q; git commit -q --allow-empty -m x",
        rules: &[],
        command: "git init -q evil; git -C evil commit -q --allow-empty -m x; git -C evil config core.fsmonitor \"$EVIL\"; \
                  git add evil || git update-index --add --cacheinfo 160000,$(git -C evil rev-parse HEAD),evil",
        after: "git status",
    },
    Trap {
        name: "a gitlink first, the repository behind it",
        before: "git init -q; git commit -q --allow-empty -m x; mkdir evil",
        rules: &[],
        command: "git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),evil; git init -q evil; \
                  git -C evil commit -q --allow-empty -m x; git -C evil config core.fsmonitor \"$EVIL\"",
        after: "git status",
    },
    Trap {
        name: "an index that is written after it was moved",
        before: "git init -q; git commit -q --allow-empty -m x",
        rules: &[],
        command: "git init -q evil; git -C evil commit -q --allow-empty -m x; git -C evil config core.fsmonitor \"$EVIL\"; \
                  cp -r .git other; GIT_DIR=$PWD/other git update-index --add --cacheinfo \
                  160000,$(git -C evil rev-parse HEAD),evil; \
                  echo x > x; GIT_DIR=$PWD/.git GIT_INDEX_FILE=$PWD/plain git add x; \
                  exec 9<> plain; mv plain .git/index; cat other/index >&9; cp other/index .git/index; \
                  ln other/index .git/index.2; mv .git/index.2 .git/index",
        after: "git status",
    },
    Trap {
        name: "the .git file of a submodule leads elsewhere",
        before: WITH_SUBMODULE,
        rules: &[],
        command: "cp -r .git/modules/sub elsewhere; git config -f elsewhere/config core.fsmonitor \"$EVIL\"; \
                  git config -f elsewhere/config core.worktree ../sub; \
                  echo 'gitdir: ../elsewhere' > sub/.git; echo 'gitdir: ../elsewhere' > g; mv g sub/.git",
        after: "git status",
    },
    Trap {
        name: "hooks of the work tree",
        before: "git init -q; git config core.hooksPath .husky; mkdir .husky; git commit -q --allow-empty -m x",
        rules: &[],
        command: "printf '#!/bin/sh\\n%s\\n' \"$EVIL\" > .husky/pre-commit; chmod +x .husky/pre-commit; \
                  mkdir h; cp .husky/pre-commit h 2>/dev/null; mv .husky gone; mv h .husky",
        after: "git commit --allow-empty -m y",
    },
    Trap {
        name: "hooks that are not there yet",
        before: "git init -q; git config core.hooksPath .husky; git commit -q --allow-empty -m x",
        rules: &[],
        command: "mkdir .husky h; printf '#!/bin/sh\\n%s\\n' \"$EVIL\" | tee h/pre-commit > .husky/pre-commit; \
                  chmod +x h/pre-commit .husky/pre-commit; mv h .husky",
        after: "git commit --allow-empty -m y",
    },
    Trap {
        name: "an included configuration",
        before: "git init -q; git config include.path ../team.cfg; touch team.cfg; git commit -q --allow-empty -m x",
        rules: &[],
        command: "git config -f team.cfg core.fsmonitor \"$EVIL\"; \
                  git config -f t2.cfg core.fsmonitor \"$EVIL\"; mv t2.cfg team.cfg",
        after: "git status",
    },
    Trap {
        name: "a repository below the workspace that was there before",
        before: "git init -q below; git -C below commit -q --allow-empty -m x",
        rules: &[],
        command: "printf '#!/bin/sh\\n%s\\n' \"$EVIL\" > hook; chmod +x hook; cp hook below/.git/hooks/pre-commit; \
                  mkdir h; cp hook h/pre-commit; mv below/.git/hooks below/.git/h; mv h below/.git/hooks; \
                  cp hook pre-commit; git -C below config core.hooksPath \"$PWD\"; \
                  cp -r below/.git g; cp hook g/hooks/pre-commit; mv below/.git old; mv g below/.git",
        after: "git -C below commit --allow-empty -m y",
    },
    Trap {
        name: "a repository that is moved to where the index has a gitlink",
        before: "git init -q; git commit -q --allow-empty -m x",
        rules: &[],
        command: "git init -q z; git -C z commit -q --allow-empty -m x; git -C z config core.fsmonitor \"$EVIL\"; \
                  git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),y; mv z y",
        after: "git status",
    },
    Trap {
        name: "a directory with a repository in it that is moved around a gitlink",
        before: "git init -q; git commit -q --allow-empty -m x",
        rules: &[],
        command: "mkdir x; git init -q x/y; git -C x/y commit -q --allow-empty -m x; \
                  git -C x/y config core.fsmonitor \"$EVIL\"; \
                  git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),a/y; mv x a",
        after: "git status",
    },
    Trap {
        name: "another repository in the place of a submodule",
        before: WITH_SUBMODULE,
        rules: &[],
        command: "git init -q evil; git -C evil commit -q --allow-empty -m x; git -C evil config core.fsmonitor \"$EVIL\"; \
                  mv sub old; mv evil sub",
        after: "git status",
    },
    Trap {
        name: "a workspace that becomes a repository itself",
        before: "true",
        rules: &[],
        command: "mkdir wt; git init -q --bare t; git -C t config core.bare false; git -C t config core.fsmonitor \"$EVIL\"; \
                  git -C t config core.worktree \"$PWD\"; mv t/* .; rmdir t",
        after: "git status",
    },
    Trap {
        name: "the steps of a rebase that the user has begun",
        before: "git init -q; for i in 1 2 3; do echo $i > f; git add f; git commit -q -m $i; done; \
                 GIT_SEQUENCE_EDITOR='sed -i 1s/pick/edit/' git rebase -q -i HEAD~2",
        rules: &[],
        command: "echo \"exec $EVIL\" > s; cat .git/rebase-merge/git-rebase-todo >> s; \
                  cat s > .git/rebase-merge/git-rebase-todo; mv s .git/rebase-merge/git-rebase-todo",
        after: "git rebase --continue",
    },
    Trap {
        name: "the configuration of windlass in a subdirectory",
        before: "mkdir src",
        rules: &[],
        command: "mkdir -p src/.windlass; echo \"$EVIL\" > src/.windlass/config.toml; \
                  mkdir w; echo \"$EVIL\" > w/config.toml; mv w src/.windlass; \
                  mkdir -p a/.WINDLASS; mv a/.WINDLASS src/.windlass",
        after: "sh src/.windlass/config.toml",
    },
    Trap {
        name: "a configuration of windlass that is there",
        before: "mkdir -p src/.windlass; touch src/.windlass/config.toml",
        rules: &[],
        command: "echo \"$EVIL\" > c; cat c > src/.windlass/config.toml; cp c src/.windlass/config.toml; \
                  mv c src/.windlass/config.toml; ln src/.windlass/config.toml l && echo \"$EVIL\" > l; \
                  mv src/.windlass x; mkdir src/.windlass; echo \"$EVIL\" > src/.windlass/config.toml",
        after: "sh src/.windlass/config.toml",
    },
    Trap {
        name: "start-up files of shells in a home that can be written",
        before: "touch \"$HOME/.bashrc\"",
        rules: &["--writable", "~"],
        command: "for file in .bash_profile .bashrc .profile .zshenv; do echo \"$EVIL\" >> ~/$file; done; \
                  echo \"$EVIL\" > ~/f; mv ~/f ~/.bash_profile",
        after: "cat ~/.bash_profile ~/.bashrc ~/.profile ~/.zshenv | sh",
    },
    Trap {
        name: "what editors and agents obey, at the top of the workspace",
        before: "mkdir .vscode; touch .vscode/tasks.json",
        rules: &[],
        command: "echo \"$EVIL\" > e; mkdir -p .idea .claude .cursor; for file in .vscode/tasks.json .vscode/settings.json .idea/x \
                  .mcp.json .claude/settings.json .cursor/mcp.json .vimrc .ripgreprc; do cp e $file; done; \
                  mkdir v; cp e v/tasks.json; mv .vscode old; rm -rf .vscode; mv v .vscode; ln -s v .idea; mv e .MCP.json",
        after: "cat .vscode/* .idea/* .mcp.json .MCP.json .claude/* .cursor/* .vimrc .ripgreprc | sh",
    },
    Trap {
        name: "settings by which other editors and agents run programs",
        before: "mkdir -p src .zed",
        rules: &[],
        command: "echo \"$EVIL\" > e; for d in . src; do for file in .zed/settings.json .helix/languages.toml .fleet/run.json \
                  .devcontainer/devcontainer.json .opencode/plugin/x.js .kiro/settings/mcp.json .roo/mcp.json .windsurf/hooks.json \
                  .continue/mcpServers/x .amazonq/mcp.json .clinerules/hooks/x .junie/mcp/mcp.json .factory/mcp.json .qwen/settings.json; \
                  do mkdir -p $d/${file%/*}; cp e $d/$file; done; for file in .aider.conf.yml .devcontainer.json opencode.json \
                  opencode.jsonc .opencode.json .crush.json crush.json; do cp e $d/$file; done; done",
        after: "rm e; find . -type f -exec cat {} + | sh",
    },
    Trap {
        name: "what editors and agents obey, in directories that were there before",
        before: "mkdir -p src/.vscode lib/deep; touch src/.vscode/tasks.json lib/.mcp.json",
        rules: &[],
        command: "echo \"$EVIL\" > e; cp e src/.vscode/tasks.json; cp e src/.vscode/settings.json; cp e lib/.mcp.json; \
                  mv e lib/deep/.mcp.json; mkdir v; echo \"$EVIL\" > v/tasks.json; mv src/.vscode x; rm -rf src/.vscode; \
                  mv v src/.vscode; ln -s \"$PWD\"/v lib/deep/.idea",
        after: "cat src/.vscode/* lib/.mcp.json lib/deep/.mcp.json lib/deep/.idea/* | sh",
    },
    Trap {
        name: "what programs of the user obey in a home that can be written",
        before: "mkdir -p ~/.ssh ~/.config/nvim ~/.local/bin; touch ~/.ssh/config ~/.npmrc",
        rules: &["--writable", "~"],
        command: "echo \"$EVIL\" > ~/f; for file in .ssh/config .ssh/rc .vimrc .npmrc .gitconfig .tmux.conf .mcp.json .claude.json \
                  .config/nvim/init.vim .config/systemd/user/x.service .config/autostart/x.desktop .config/fish/config.fish \
                  .local/bin/ls .cargo/config.toml .config/git/config; \
                  do mkdir -p $(dirname ~/$file); cp ~/f ~/$file; done; \
                  mkdir -p ~/f.d/user ~/f.d/systemd/user; cp ~/f ~/f.d/systemd/user/y.service; mv ~/.ssh ~/.s; mv ~/f.d ~/.ssh; \
                  mv ~/.config ~/.c; mv ~/f.d ~/.config",
        after: "cd ~; cat .ssh/* .vimrc .npmrc .gitconfig .tmux.conf .mcp.json .claude.json .config/nvim/* .config/systemd/user/* \
                .config/autostart/* .config/fish/* .local/bin/* .cargo/config.toml .config/git/config | sh",
    },
    Trap {
        name: "git's configuration of the user, in a directory that is a link into the workspace",
        before: "mkdir cfg; ln -s \"$PWD/cfg\" ~/.config",
        rules: &[],
        command: "mkdir -p cfg/git; git config -f cfg/git/config core.fsmonitor \"$EVIL\"; git config -f x core.fsmonitor \"$EVIL\"; \
                  mkdir g; cp x g/config; mv g cfg/git",
        after: "cd ~; git init -q r; git -C r status",
    },
    Trap {
        name: "git's configuration of the user, a link into the workspace",
        before: "touch gc; mkdir -p ~/.config/git; ln -s \"$PWD/gc\" ~/.config/git/config",
        rules: &[],
        command: "git config -f gc core.fsmonitor \"$EVIL\"; git config -f x core.fsmonitor \"$EVIL\"; cp x gc; mv x gc",
        after: "cd ~; git init -q r; git -C r status",
    },
    Trap {
        name: "compiled start-up files and those of other shells in a home that can be written",
        before: "touch ~/.zshrc",
        rules: &["--writable", "~"],
        command: "for file in .zshrc.zwc .zshenv.zwc .cshrc .kshrc .inputrc; do echo \"$EVIL\" > ~/$file; done",
        after: "cd ~; cat .zshrc.zwc .zshenv.zwc .cshrc .kshrc .inputrc | sh",
    },
    Trap {
        name: "the configuration of windlass in a home that can be written",
        before: "mkdir -p \"$HOME/.config/windlass\"; touch \"$HOME/.config/windlass/rules.toml\"",
        rules: &["--writable", "~"],
        command: "echo \"$EVIL\" > ~/.config/windlass/rules.toml; echo \"$EVIL\" > ~/.config/windlass/config.toml; \
                  mv ~/.config/windlass ~/.config/w; mkdir ~/.config/windlass; echo \"$EVIL\" > ~/.config/windlass/rules.toml",
        after: "cat ~/.config/windlass/* | sh",
    },
];

impl Trap {
    /// Whether the trap was run.
    fn springs(&self, stage: &Stage, confined: Option<&str>) -> bool {
        let work = stage.directory(&["traps"]);
        let evidence = stage.path("sprung");
        let evil = format!("touch {evidence}");
        let run = |words: &[String]| -> Output {
            let mut command = stage.command(words);
            for variable in
                ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"]
            {
                command.env(variable, "stage@example.invalid");
            }
            command
                .current_dir(&work)
                .env("EVIL", &evil)
                .env("PATH", with_own_directories(&work, stage))
                .env("RACES", stage.path("settings_races"))
                .output()
                .expect("it starts")
        };
        let plainly = |script: &str| run(&["sh", "-c", script].map(str::to_owned));
        let before = plainly(&format!("set -e; {}", self.before));
        assert!(before.status.success(), "{}: {before:?}", self.name);
        match confined {
            None => plainly(self.command),
            Some(layers) => {
                let policy = ["run", "--sandbox", "workspace-write", "--sandbox-layers", layers];
                let words = [&policy[..], self.rules, &["--", "sh", "-c", self.command]].concat();
                let words = words.into_iter().map(str::to_owned);
                run(&[stage.windlass()].into_iter().chain(words).collect::<Vec<_>>())
            }
        };
        plainly(self.after);
        let sprung = std::fs::remove_file(&evidence).is_ok();
        let cleaned = plainly(
            "chmod -R u+rwx .; find . -mindepth 1 -delete; \
             cd ~ && find . -mindepth 1 -maxdepth 1 ! -name state ! -name .cargo ! -name .npm ! -name .cache -exec rm -rf {} +; \
             rm -f ~/.cargo/config.toml",
        );
        assert!(cleaned.status.success(), "{}: {cleaned:?}", self.name);
        sprung
    }
}

/// The `PATH` of a user who has own directories on it.
fn with_own_directories(work: &str, stage: &Stage) -> String {
    let path = std::env::var("PATH").expect("there is a path");
    format!("{path}:{work}/on-path:{work}/later-on-path:{}", stage.path("home/own"))
}

#[test]
fn nothing_that_a_command_leaves_behind_runs_when_the_user_goes_on() {
    check(&Stage::new("traps", Owner::Myself), TRAPS);
}

#[test]
fn nothing_that_a_command_of_an_ordinary_user_leaves_behind_runs_when_the_user_goes_on() {
    check(&Stage::new("traps-user", Owner::ordinary()), TRAPS);
}

#[test]
fn no_name_that_programs_of_the_user_obey_is_taken_by_a_command() {
    check(&Stage::new("trap-names", Owner::Myself), names::TRAPS);
}

#[test]
fn no_name_that_programs_of_the_user_obey_is_taken_by_a_command_of_an_ordinary_user() {
    check(&Stage::new("trap-names-user", Owner::ordinary()), names::TRAPS);
}

#[test]
fn no_repository_that_a_command_makes_runs_programs_for_the_user() {
    check(&Stage::new("trap-repositories", Owner::Myself), repositories::TRAPS);
}

#[test]
fn no_repository_that_a_command_of_an_ordinary_user_makes_runs_programs_for_the_user() {
    check(&Stage::new("trap-repositories-user", Owner::ordinary()), repositories::TRAPS);
}

#[test]
fn no_command_changes_scripts_that_the_configuration_of_git_names() {
    check(&Stage::new("trap-scripts", Owner::Myself), scripts::TRAPS);
}

#[test]
fn no_command_of_an_ordinary_user_changes_scripts_that_the_configuration_of_git_names() {
    check(&Stage::new("trap-scripts-user", Owner::ordinary()), scripts::TRAPS);
}

#[test]
fn no_command_changes_files_that_git_obeys_in_other_work_trees() {
    check(&Stage::new("trap-work-trees", Owner::Myself), work_trees::TRAPS);
}

#[test]
fn no_command_of_an_ordinary_user_changes_files_that_git_obeys_in_other_work_trees() {
    check(&Stage::new("trap-work-trees-user", Owner::ordinary()), work_trees::TRAPS);
}

#[test]
fn no_index_that_a_command_writes_makes_git_write_elsewhere() {
    check(&Stage::new("trap-indexes", Owner::Myself), indexes::TRAPS);
}

#[test]
fn no_index_that_a_command_of_an_ordinary_user_writes_makes_git_write_elsewhere() {
    check(&Stage::new("trap-indexes-user", Owner::ordinary()), indexes::TRAPS);
}

#[test]
fn no_link_that_a_command_leaves_in_a_repository_leads_git_elsewhere() {
    check(&Stage::new("trap-links", Owner::Myself), links::TRAPS);
}

#[test]
fn no_link_that_a_command_of_an_ordinary_user_leaves_in_a_repository_leads_git_elsewhere() {
    check(&Stage::new("trap-links-user", Owner::ordinary()), links::TRAPS);
}

#[test]
fn no_link_that_a_command_leaves_in_another_repository_leads_git_elsewhere() {
    check(&Stage::new("trap-links-elsewhere", Owner::Myself), links::TRAPS_ELSEWHERE);
}

#[test]
fn no_link_that_a_command_of_an_ordinary_user_leaves_in_another_repository_leads_git_elsewhere() {
    check(&Stage::new("trap-links-elsewhere-user", Owner::ordinary()), links::TRAPS_ELSEWHERE);
}

#[test]
fn no_alias_that_a_command_makes_runs_its_operand() {
    check(&Stage::new("trap-aliases", Owner::Myself), repositories::ALIASES);
}

#[test]
fn no_alias_that_a_command_of_an_ordinary_user_makes_runs_its_operand() {
    check(&Stage::new("trap-aliases-user", Owner::ordinary()), repositories::ALIASES);
}

#[test]
fn no_command_gives_settings_to_the_repository_that_the_user_works_in() {
    check_settings(&Stage::new("trap-settings", Owner::Myself));
}

#[test]
fn no_command_of_an_ordinary_user_gives_settings_to_the_repository_that_the_user_works_in() {
    check_settings(&Stage::new("trap-settings-user", Owner::ordinary()));
}

fn check_settings(stage: &Stage) {
    stage.compile_also("settings_races", RACES);
    check(stage, settings::TRAPS);
}

fn check(stage: &Stage, traps: &[Trap]) {
    let mut wrong = Vec::new();
    for trap in traps {
        let sprung = ["all", "landlock"].into_iter().filter(|layers| trap.springs(stage, Some(layers)));
        wrong.extend(sprung.map(|layers| format!("{} ({layers})", trap.name)));
        // Unconfined, the same command must succeed.
        if !trap.springs(stage, None) {
            wrong.push(format!("{} is no trap", trap.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
