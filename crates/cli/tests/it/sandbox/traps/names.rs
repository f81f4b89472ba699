//! Names of files and directories that the user's programs obey, in the workspace and in a writable home directory.

use super::Trap;

pub(super) const TRAPS: &[Trap] = &[
    Trap {
        name: "the configuration of repositories of other kinds",
        before: "mkdir -p .hg/store src/.hg src/.jj/repo .jj/repo; touch src/.hg/hgrc",
        rules: &[],
        command: "echo \"$EVIL\" > e; for d in . src; do for file in .hg/hgrc .hg/hgrc-not-shared .jj/repo/config.toml \
                  .jj/workspace-config.toml .sl/config .pijul/config .github/hooks/x.json; \
                  do mkdir -p $d/${file%/*}; cp e $d/$file; done; done",
        after: "rm e; find . -type f -exec cat {} + | sh",
    },
    Trap {
        name: "a directory of another kind of repository that is moved or linked into its place",
        before: "mkdir -p src/.hg .jj/repo",
        rules: &[],
        command: "mkdir -p r/repo; echo \"$EVIL\" | tee r/hgrc r/config > r/repo/config.toml; cp -r r r2; cp -r r r3; cp -r r r4; \
                  mv r2 .hg; ln -s r .sl; mv src/.hg old; mv r3 src/.hg; mv .jj/repo x; mv r4/repo .jj/repo; \
                  mv .jj x2; mv r4 .jj",
        after: "cat .hg/hgrc .sl/config src/.hg/hgrc .jj/repo/config.toml | sh",
    },
    Trap {
        name: "a file that leads to a repository of jj elsewhere",
        before: "mkdir .jj",
        rules: &[],
        command: "mkdir r; echo \"$EVIL\" > r/config.toml; echo ../r > .jj/repo; echo ../r > f; mv f .jj/repo",
        after: "cat .jj/$(cat .jj/repo)/config.toml | sh",
    },
    Trap {
        name: "settings of version managers, run configurations and further agents",
        before: "mkdir src; touch mise.toml",
        rules: &[],
        command: "echo \"$EVIL\" > e; for d in . src; do mkdir -p $d/.config/mise $d/.mise; for file in mise.toml .mise.toml \
                  mise.local.toml .config/mise.toml .config/mise/config.toml .mise/config.toml .tool-versions; do cp e $d/$file; done; \
                  for dir in .run .kilocode .pi .openhands .trae .amp .vibe .vim .lapce; do mkdir $d/$dir; cp e $d/$dir/x; done; done; \
                  mv e MISE.toml",
        after: "rm e; find . -type f -exec cat {} + | sh",
    },
    Trap {
        name: "directories on the PATH of the user, in a home and a workspace that can be written",
        before: "mkdir -p on-path ~/go/bin",
        rules: &["--writable", "~"],
        command: "for d in on-path later-on-path ~/go/bin ~/.bun/bin ~/.deno/bin ~/.volta/bin ~/.local/share/mise/shims ~/own; do mkdir -p $d; \
                  printf '#!/bin/sh\\n%s\\n' \"$EVIL\" > $d/tool; chmod +x $d/tool; done; mv on-path t; mkdir t2; mv t2 on-path",
        after: "PATH=$PWD/on-path:$PWD/later-on-path:$HOME/go/bin:$HOME/.bun/bin:$HOME/.deno/bin:$HOME/.volta/bin:$HOME/own:$PATH; tool",
    },
    Trap {
        name: "more that programs of the user obey in a home that can be written",
        before: "mkdir -p ~/.config/kitty",
        rules: &["--writable", "~"],
        command: "echo \"$EVIL\" > ~/f; for file in .config/kitty/kitty.conf .config/wezterm/wezterm.lua .config/alacritty/alacritty.toml \
                  .config/go/env .config/mimeapps.list .config/sway/config .config/jj/config.toml .config/starship.toml .hgrc .yarnrc.yml \
                  .shrc .yashrc .tcshrc .local/share/fish/vendor_conf.d/x.fish .local/share/nushell/vendor/autoload/x.nu \
                  .config/mise/config.toml .ipython/profile_default/startup/x.py; do mkdir -p $(dirname ~/$file); cp ~/f ~/$file; done",
        after: "cd ~; rm f; find .config .hgrc .yarnrc.yml .shrc .yashrc .tcshrc .local .ipython -type f -exec cat {} + | sh",
    },
    Trap {
        name: "settings that are not there yet in a writable part of a home",
        before: "mkdir -p ~/.config ~/.local/share",
        rules: &["--writable", "~/.config", "--writable", "~/.local/share"],
        command: "echo \"$EVIL\" > e; for file in mise/config.toml mise.toml husky/init.sh powershell/profile.ps1 xmonad/xmonad.hs \
                  user-dirs.dirs ../.local/share/gh/extensions/gh-x/gh-x; do f=~/.config/$file; mkdir -p $(dirname $f); cp e $f; done; \
                  mkdir m; cp e m/config.toml; mv m ~/.config/mise",
        after: "cd ~/.config; cat mise/config.toml mise.toml husky/init.sh powershell/profile.ps1 xmonad/xmonad.hs user-dirs.dirs \
                ../.local/share/gh/extensions/gh-x/gh-x | sh",
    },
    Trap {
        name: "the configuration of a repository of another kind whose directory a rule names",
        before: "mkdir -p .jj/store .hg/store",
        rules: &["--writable", ".jj", "--writable", ".hg"],
        command: "mkdir -p .jj/repo r; echo \"$EVIL\" | tee .hg/hgrc r/config.toml > .jj/repo/config.toml; rmdir .jj/repo; mv r .jj/repo",
        after: "cat .hg/hgrc .jj/repo/config.toml | sh",
    },
];
