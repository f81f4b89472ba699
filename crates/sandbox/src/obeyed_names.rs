//! Names of files that other programs of the user obey: shells, editors, agents, git. A command that can write such a
//! file gets a program of its own run later, outside the sandbox, without the user running any program of the
//! workspace.

use std::ffi::OsStr;
use std::path::{Iter, Path, PathBuf};

/// Names that are obeyed wherever a person, an editor or an agent works: in the directory that it is started in or
/// opens.
///
/// mise trusts a file by its path and runs its hooks when a shell enters the directory, whatever is in the file by
/// then; in `.tool-versions`, `path:` makes any directory the one that a program is run from.
///
/// Left out are files of tools that run programs of the project anyway (`.npmrc`, `.cargo/config.toml`,
/// `rust-toolchain.toml`, `package.json`, `.pre-commit-config.yaml`), that ask again after each change (`.envrc`,
/// `.nvim.lua`) or about each command (`.dir-locals.el`), that only name versions (`.nvmrc`) or give advice
/// (`.goosehints`), and `.gitmodules`, which git writes in every checkout and takes no commands from. `.husky` is
/// protected where the configuration of git names it.
pub(crate) const OBEYED_ANYWHERE: [&str; 70] = [
    ".agents",
    ".aider.conf.yml",
    ".amazonq",
    ".amp",
    ".augment",
    ".bash_aliases",
    ".bash_login",
    ".bash_logout",
    ".bash_profile",
    ".bashrc",
    ".claude",
    ".clinerules",
    ".codebuddy",
    ".codex",
    ".continue",
    ".crush.json",
    ".cursor",
    ".devcontainer",
    ".devcontainer.json",
    ".exrc",
    ".factory",
    ".fleet",
    ".gemini",
    ".gitconfig",
    ".grok",
    ".helix",
    ".idea",
    ".iflow",
    ".junie",
    ".kilocode",
    ".kiro",
    ".lapce",
    ".lvimrc",
    ".mcp.json",
    ".mise",
    ".mise.local.toml",
    ".mise.toml",
    ".nova",
    ".nvimrc",
    ".opencode",
    ".opencode.json",
    ".opencode.jsonc",
    ".openhands",
    ".pi",
    ".profile",
    ".qoder",
    ".qwen",
    ".ripgreprc",
    ".roo",
    ".rovodev",
    ".run",
    ".theia",
    ".tool-versions",
    ".trae",
    ".vibe",
    ".vim",
    ".vimrc",
    ".vscode",
    ".windsurf",
    ".zed",
    ".zlogin",
    ".zlogout",
    ".zprofile",
    ".zshenv",
    ".zshrc",
    "crush.json",
    "mise.local.toml",
    "mise.toml",
    "opencode.json",
    "opencode.jsonc",
];

/// The same, in directories whose other files commands may change: a commit with Mercurial or Jujutsu writes beside
/// them.
///
/// Subversion has no such file: a working copy (`.svn`) names no programs.
pub(crate) const OBEYED_BELOW: [&str; 12] = [
    ".config/mise",
    ".config/mise.local.toml",
    ".config/mise.toml",
    ".github/hooks",
    ".hg/hgrc",
    ".hg/hgrc-not-shared",
    ".hg/sharedpath",
    ".jj/repo/config.toml",
    ".jj/workspace-config.toml",
    ".pijul/config",
    ".sl/config",
    ".sl/sharedpath",
];

/// What is obeyed in a home directory alone, beside the start-up files of shells: files, and directories with all that is in them.
pub(crate) const OBEYED_IN_HOME: [&str; 277] = [
    ".Rprofile",
    ".alacritty.toml",
    ".ansible.cfg",
    ".antigen",
    ".asdf",
    ".aws",
    ".azure",
    ".bash_completion",
    ".bash_it",
    ".bashrc.d",
    ".bazelrc",
    ".bun/bin",
    ".bundle",
    ".bunfig.toml",
    ".byobu",
    ".cabal/bin",
    ".cargo/bin",
    ".cargo/config",
    ".cargo/config.toml",
    ".cargo/env",
    ".claude.json",
    ".cline",
    ".codeium",
    ".composer",
    ".condarc",
    ".config/Antigravity",
    ".config/Code",
    ".config/Code - Insiders",
    ".config/Code - OSS",
    ".config/Cursor",
    ".config/JetBrains",
    ".config/Kiro",
    ".config/Trae",
    ".config/VSCodium",
    ".config/Windsurf",
    ".config/alacritty",
    ".config/amp",
    ".config/autostart",
    ".config/autostart-scripts",
    ".config/awesome",
    ".config/bash_completion",
    ".config/bat",
    ".config/bspwm",
    ".config/byobu",
    ".config/composer",
    ".config/containers",
    ".config/crush",
    ".config/dconf",
    ".config/direnv",
    ".config/doom",
    ".config/elvish",
    ".config/emacs",
    ".config/environment.d",
    ".config/fish",
    ".config/foot",
    ".config/gcloud",
    ".config/gdb",
    ".config/gh",
    ".config/ghostty",
    ".config/github-copilot",
    ".config/go",
    ".config/goose",
    ".config/helix",
    ".config/hg",
    ".config/husky/init.sh",
    ".config/hypr",
    ".config/i3",
    ".config/jj",
    ".config/kak",
    ".config/kglobalshortcutsrc",
    ".config/kitty",
    ".config/labwc",
    ".config/lazygit",
    ".config/leftwm",
    ".config/lesskey",
    ".config/lf",
    ".config/micro",
    ".config/mimeapps.list",
    ".config/mpv",
    ".config/mutt",
    ".config/nano",
    ".config/neomutt",
    ".config/niri",
    ".config/npm",
    ".config/nushell",
    ".config/nvim",
    ".config/openbox",
    ".config/opencode",
    ".config/pijul",
    ".config/pip",
    ".config/plasma-workspace",
    ".config/pnpm",
    ".config/polybar",
    ".config/powershell",
    ".config/pypoetry",
    ".config/qtile",
    ".config/qutebrowser",
    ".config/ranger",
    ".config/river",
    ".config/rofi",
    ".config/sapling",
    ".config/starship.toml",
    ".config/sublime-text",
    ".config/sway",
    ".config/sxhkd",
    ".config/systemd",
    ".config/tmux",
    ".config/tmuxinator",
    ".config/user-dirs.dirs",
    ".config/uv",
    ".config/vim",
    ".config/waybar",
    ".config/wezterm",
    ".config/xfce4",
    ".config/xmonad",
    ".config/xonsh",
    ".config/yarn",
    ".config/yazi",
    ".config/zed",
    ".config/zellij",
    ".config/zsh",
    ".copilot",
    ".cshrc",
    ".curlrc",
    ".cursor-server",
    ".deno/bin",
    ".direnvrc",
    ".docker",
    ".doom.d",
    ".dotnet/tools",
    ".elvish",
    ".emacs",
    ".emacs.d",
    ".emacs.el",
    ".erlang",
    ".fnm",
    ".forward",
    ".foundry/bin",
    ".fzf",
    ".fzf.bash",
    ".fzf.zsh",
    ".gdbinit",
    ".gem",
    ".gemrc",
    ".ghci",
    ".ghcup/bin",
    ".gnomerc",
    ".gnupg",
    ".goenv",
    ".gradle/gradle.properties",
    ".gradle/init.d",
    ".gradle/init.gradle",
    ".gvimrc",
    ".hgrc",
    ".huskyrc",
    ".iex.exs",
    ".inputrc",
    ".ipython",
    ".irbrc",
    ".jenv",
    ".jjconfig.toml",
    ".julia/config",
    ".juliaup/bin",
    ".jupyter",
    ".kimi",
    ".krew/bin",
    ".kshrc",
    ".kube",
    ".lessfilter",
    ".lesskey",
    ".lldbinit",
    ".local/bin",
    ".local/lib",
    ".local/pipx",
    ".local/share/JetBrains",
    ".local/share/applications",
    ".local/share/bash-completion",
    ".local/share/claude",
    ".local/share/cursor-agent",
    ".local/share/dbus-1",
    ".local/share/elvish",
    ".local/share/fish",
    ".local/share/flatpak",
    ".local/share/fnm",
    ".local/share/gh/extensions",
    ".local/share/gnome-shell",
    ".local/share/mise",
    ".local/share/nautilus",
    ".local/share/nushell",
    ".local/share/nvim",
    ".local/share/pipx",
    ".local/share/plasma",
    ".local/share/pnpm",
    ".local/share/systemd",
    ".local/share/thumbnailers",
    ".local/share/uv",
    ".local/share/zed",
    ".local/share/zinit",
    ".local/state/nix",
    ".login",
    ".logout",
    ".luarocks/bin",
    ".m2/settings.xml",
    ".mailcap",
    ".makepkg.conf",
    ".mavenrc",
    ".mkshrc",
    ".muttrc",
    ".nanorc",
    ".netrc",
    ".nimble/bin",
    ".nix-profile",
    ".nodenv",
    ".npm-global",
    ".npmrc",
    ".nvm",
    ".ocamlinit",
    ".oh-my-zsh",
    ".opam",
    ".p10k.zsh",
    ".pam_environment",
    ".pdbrc",
    ".pip",
    ".pixi/bin",
    ".procmailrc",
    ".proto",
    ".pryrc",
    ".psqlrc",
    ".pyenv",
    ".pypirc",
    ".rbenv",
    ".rhosts",
    ".rustup",
    ".rvm",
    ".rye",
    ".sbclrc",
    ".screenrc",
    ".sdkman",
    ".shosts",
    ".shrc",
    ".spacemacs",
    ".spacemacs.d",
    ".sqliterc",
    ".ssh",
    ".subversion",
    ".tcshrc",
    ".terraformrc",
    ".tmux",
    ".tmux.conf",
    ".volta",
    ".vscode-insiders",
    ".vscode-server",
    ".wezterm.lua",
    ".wgetrc",
    ".xbindkeysrc",
    ".xinitrc",
    ".xmonad",
    ".xonshrc",
    ".xprofile",
    ".xsession",
    ".xsessionrc",
    ".yarn/bin",
    ".yarnrc",
    ".yarnrc.yml",
    ".yash_profile",
    ".yashrc",
    ".zinit",
    ".zlogin.zwc",
    ".zlogout.zwc",
    ".zplug",
    ".zprezto",
    ".zpreztorc",
    ".zprofile.zwc",
    ".zshenv.zwc",
    ".zshrc.zwc",
    "bin",
    "go/bin",
];

/// The first name of a path below a writable place that is obeyed anywhere, and the directory that it is in.
pub(crate) struct ObeyedName {
    pub(crate) name: &'static str,
    pub(crate) directory: PathBuf,
}

impl ObeyedName {
    /// Looks at the part of a path below a place. Names are compared without case, as some file systems do.
    pub(crate) fn in_path(path: &Path, place: &Path) -> Option<Self> {
        let mut directory = place.to_owned();
        let mut rest = path.strip_prefix(place).ok()?.iter();
        loop {
            let here = rest.clone();
            let part = rest.next()?;
            if let Some((name, leading)) =
                (directory == place).then(|| obeyed_from_inside(place, here.clone())).flatten()
            {
                return Some(Self { name, directory: place.ancestors().nth(leading)?.to_owned() });
            }
            if let Some(name) = obeyed(part).or_else(|| obeyed_below(part, here)) {
                return Some(Self { name, directory });
            }
            directory.push(part);
        }
    }
}

/// A file of [`OBEYED_BELOW`] that a directory of this path could bring with it.
pub(crate) struct ObeyedInside {
    pub(crate) obeyed: ObeyedName,
    /// The file, from the directory on.
    pub(crate) inside: PathBuf,
}

impl ObeyedInside {
    pub(crate) fn of(path: &Path) -> Vec<Self> {
        let mut found = Vec::new();
        // This runs for every name that is created or moved: last names are compared first, because walking a path
        // takes longer.
        let last = path.file_name().unwrap_or_default();
        let is_last =
            |leading: &str| leading.rsplit('/').next().is_some_and(|it| last.eq_ignore_ascii_case(it));
        for name in OBEYED_BELOW {
            for (end, _) in name.match_indices('/').filter(|(end, _)| is_last(&name[..*end])) {
                let (leading, inside) = (Path::new(&name[..end]), &name[end + 1..]);
                let directory = path.ancestors().nth(leading.iter().count());
                let is_at_end = |directory: &&Path| {
                    path.strip_prefix(directory)
                        .is_ok_and(|end| end.as_os_str().eq_ignore_ascii_case(leading))
                };
                let obeyed =
                    directory.filter(is_at_end).map(|it| ObeyedName { name, directory: it.to_owned() });
                found.extend(obeyed.map(|obeyed| Self { obeyed, inside: inside.into() }));
            }
        }
        found
    }
}

/// Why a name of [`OBEYED_ANYWHERE`] is protected.
pub(crate) fn reason(name: &str) -> String {
    match name {
        ".vscode" | ".idea" | ".fleet" | ".helix" | ".lapce" | ".nova" | ".run" | ".theia" | ".zed" => {
            format!("settings of editors ({name}), which can run tasks and language servers")
        }
        ".devcontainer" | ".devcontainer.json" => {
            format!(
                "settings of development containers ({name}), which can run commands outside of the container"
            )
        }
        ".vim" | ".vimrc" | ".exrc" | ".nvimrc" | ".lvimrc" => format!("editors run commands from {name}"),
        ".gitconfig" => "configuration of git (.gitconfig), which can name programs to run".to_owned(),
        ".ripgreprc" => "options of ripgrep (.ripgreprc), which can name a program to run".to_owned(),
        ".tool-versions" => format!("it says which programs a version manager runs ({name})"),
        _ if name.contains("mise") => format!("settings of mise ({name}), which runs programs in shells"),
        _ if is_of_a_repository(name) => {
            format!("configuration of a repository ({name}), which can name programs to run")
        }
        _ if is_of_a_shell(name) => format!("start-up file of shells ({name})"),
        _ => format!("settings of agents ({name}), which can start programs"),
    }
}

fn is_of_a_shell(name: &str) -> bool {
    [".bash", ".profile", ".zlog", ".zprofile", ".zsh"].iter().any(|start| name.starts_with(start))
}

fn is_of_a_repository(name: &str) -> bool {
    [".hg/", ".jj/", ".pijul/", ".sl/"].iter().any(|start| name.starts_with(start))
}

/// A name of [`OBEYED_BELOW`] that begins with the last names of a place (`.config/mise` in a place `.config`), and how many these are.
fn obeyed_from_inside(place: &Path, here: Iter<'_>) -> Option<(&'static str, usize)> {
    let last =
        place.file_name().filter(|last| OBEYED_BELOW.iter().any(|name| is_directory_of(name, last)))?;
    OBEYED_BELOW.into_iter().filter(|name| is_directory_of(name, last)).find_map(|name| {
        let parts: Vec<&str> = name.split('/').collect();
        let is_at = |leading: &usize| {
            let (outside, inside) = parts.split_at(*leading);
            let mut above = place.iter().rev();
            let mut below = here.clone();
            outside.iter().rev().all(|it| above.next().is_some_and(|name| name.eq_ignore_ascii_case(it)))
                && inside.iter().all(|it| below.next().is_some_and(|name| name.eq_ignore_ascii_case(it)))
        };
        (1..parts.len()).find(is_at).map(|leading| (name, leading))
    })
}

fn is_directory_of(name: &str, last: &OsStr) -> bool {
    let directories = name.rsplit_once('/').map_or("", |(directories, _)| directories);
    directories.split('/').any(|directory| last.eq_ignore_ascii_case(directory))
}

fn obeyed_below(first: &OsStr, here: Iter<'_>) -> Option<&'static str> {
    first.as_encoded_bytes().starts_with(b".").then_some(())?;
    let is_at = |name: &&str| {
        let mut parts = here.clone();
        name.split('/').all(|wanted| parts.next().is_some_and(|part| part.eq_ignore_ascii_case(wanted)))
    };
    OBEYED_BELOW.into_iter().find(is_at)
}

fn obeyed(part: &OsStr) -> Option<&'static str> {
    // Most names are neither hidden nor settings, and this runs for every path that is changed.
    let bytes = part.as_encoded_bytes();
    let is_settings =
        || [&b".json"[..], b".jsonc", b".toml"].iter().any(|end| ends_with_ignoring_case(bytes, end));
    (bytes.starts_with(b".") || is_settings()).then_some(())?;
    OBEYED_ANYWHERE.into_iter().find(|name| part.eq_ignore_ascii_case(name))
}

fn ends_with_ignoring_case(name: &[u8], end: &[u8]) -> bool {
    name.len() >= end.len() && name[name.len() - end.len()..].eq_ignore_ascii_case(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_at_any_depth_below_its_place() {
        let check = |path: &str, expected: Option<(&str, &str)>| {
            let found = ObeyedName::in_path(Path::new(path), Path::new("/w"));
            let found = found.map(|found| (found.name, found.directory));
            assert_eq!(found, expected.map(|(name, directory)| (name, directory.into())), "{path}");
        };
        check("/w/.vscode/tasks.json", Some((".vscode", "/w")));
        check("/w/a/b/.MCP.json", Some((".mcp.json", "/w/a/b")));
        check("/w/a/.vscode/.idea", Some((".vscode", "/w/a")));
        check("/w/a/OpenCode.JSON", Some(("opencode.json", "/w/a")));
        check("/w/a/mise.toml", Some(("mise.toml", "/w/a")));
        check("/w/.hg/HGRC", Some((".hg/hgrc", "/w")));
        check("/w/a/.jj/repo/config.toml", Some((".jj/repo/config.toml", "/w/a")));
        check("/w/.github/hooks/x.json", Some((".github/hooks", "/w")));
        for path in [
            "/w/.hg/dirstate",
            "/w/.hg",
            "/w/hgrc",
            "/w/.jj/repo/store",
            "/w/.github/workflows/x",
            "/w/Cargo.toml",
        ] {
            check(path, None);
        }
        check("/w/package.json", None);
        check("/w/vscode/x", None);
        check("/w", None);
        check("/v/.vscode", None);
    }

    #[test]
    fn a_name_is_found_also_where_its_place_is_a_directory_of_the_name() {
        let check = |path: &str, place: &str, expected: Option<(&str, &str)>| {
            let found = ObeyedName::in_path(Path::new(path), Path::new(place));
            let found = found.map(|found| (found.name, found.directory));
            assert_eq!(found, expected.map(|(name, directory)| (name, directory.into())), "{path}");
        };
        check("/h/.config/mise/config.toml", "/h/.config", Some((".config/mise", "/h")));
        check("/h/.Config/MISE", "/h/.Config", Some((".config/mise", "/h")));
        check("/w/.jj/repo/config.toml", "/w/.jj/repo", Some((".jj/repo/config.toml", "/w")));
        check("/w/.jj/repo/config.toml", "/w/.jj", Some((".jj/repo/config.toml", "/w")));
        check("/w/.jj/repo/store", "/w/.jj", None);
        check("/w/repo/config.toml", "/w/repo", None);
        check("/h/.config/mise/config.toml", "/h/.config/mise", None);
        check("/h/.config/other/mise", "/h/.config", None);
    }

    #[test]
    fn a_directory_brings_what_is_obeyed_in_it() {
        let check = |path: &str, expected: &[(&str, &str)]| {
            let found = ObeyedInside::of(Path::new(path));
            let found: Vec<_> =
                found.iter().map(|it| (it.obeyed.directory.to_str(), it.inside.to_str())).collect();
            let expected: Vec<_> =
                expected.iter().map(|(above, inside)| (Some(*above), Some(*inside))).collect();
            assert_eq!(found, expected, "{path}");
        };
        check("/w/.hg", &[("/w", "hgrc"), ("/w", "hgrc-not-shared"), ("/w", "sharedpath")]);
        check("/w/a/.JJ", &[("/w/a", "repo/config.toml"), ("/w/a", "workspace-config.toml")]);
        check("/w/a/.jj/repo", &[("/w/a", "config.toml")]);
        check("/w/.hg/store", &[]);
        check("/w/repo", &[]);
        check("/", &[]);
    }

    #[test]
    fn every_name_has_a_reason_that_says_which_program_obeys_it() {
        for name in OBEYED_ANYWHERE.into_iter().chain(OBEYED_BELOW) {
            let reason = reason(name);
            assert!(reason.contains(name), "{reason}");
        }
    }

    #[test]
    fn settings_by_which_editors_and_agents_run_programs_are_protected() {
        let check = |names: &[&str], kind: &str| {
            for name in names {
                let found = ObeyedName::in_path(&Path::new("/w").join(name), Path::new("/w"));
                assert_eq!(found.map(|found| found.name), Some(*name));
                assert!(reason(name).starts_with(kind), "{}", reason(name));
            }
        };
        check(&[".bashrc", ".profile", ".zshenv", ".zlogin"], "start-up file of shells");
        check(&[".vscode", ".idea", ".fleet", ".helix", ".run", ".zed"], "settings of editors");
        check(&["mise.toml", ".mise.toml", ".config/mise.toml"], "settings of mise");
        check(&[".hg/hgrc", ".jj/repo/config.toml", ".sl/config"], "configuration of a repository");
        check(&[".devcontainer", ".devcontainer.json"], "settings of development containers");
        let agents =
            [".mcp.json", ".claude", ".codex", ".agents", ".cursor", ".gemini", ".qwen", ".kiro", ".amazonq"];
        check(&agents, "settings of agents");
        let others =
            [".roo", ".clinerules", ".windsurf", ".continue", ".aider.conf.yml", ".junie", ".factory"];
        check(&others, "settings of agents");
        check(&[".kilocode", ".pi", ".openhands", ".trae", ".github/hooks"], "settings of agents");
        let files =
            ["opencode.json", "opencode.jsonc", ".opencode", ".opencode.json", "crush.json", ".crush.json"];
        check(&files, "settings of agents");
    }

    #[test]
    fn lists_are_in_order_and_name_nothing_twice() {
        assert!(OBEYED_ANYWHERE.is_sorted() && OBEYED_BELOW.is_sorted() && OBEYED_IN_HOME.is_sorted());
        assert!(OBEYED_IN_HOME.iter().all(|name| !OBEYED_ANYWHERE.contains(name)));
    }
}
