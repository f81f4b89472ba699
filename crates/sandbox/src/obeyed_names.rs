//! Names of files that other programs of the user obey: shells, editors, agents, git. A command that can write one of them has
//! its own program run later, outside of the sandbox, without the user running anything of the workspace.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Names that are obeyed wherever a person, an editor or an agent works: in the directory that it is started in or opens.
///
/// Left out are files of tools that run programs of the project anyway (`.npmrc`, `.cargo/config.toml`, `package.json`), that ask
/// again after each change (`.envrc`), and `.gitmodules`, which git writes in every checkout and takes no commands from.
pub(crate) const OBEYED_ANYWHERE: [&str; 25] = [
    ".agents",
    ".bash_aliases",
    ".bash_login",
    ".bash_logout",
    ".bash_profile",
    ".bashrc",
    ".claude",
    ".codex",
    ".cursor",
    ".exrc",
    ".gemini",
    ".gitconfig",
    ".idea",
    ".lvimrc",
    ".mcp.json",
    ".nvimrc",
    ".profile",
    ".ripgreprc",
    ".vimrc",
    ".vscode",
    ".zlogin",
    ".zlogout",
    ".zprofile",
    ".zshenv",
    ".zshrc",
];

/// What is obeyed in a home directory alone, beside the start-up files of shells: files, and directories with all that is in them.
pub(crate) const OBEYED_IN_HOME: [&str; 88] = [
    ".Rprofile",
    ".asdf",
    ".aws",
    ".bash_completion",
    ".cargo/bin",
    ".cargo/config",
    ".cargo/config.toml",
    ".cargo/env",
    ".claude.json",
    ".condarc",
    ".config/Code",
    ".config/Cursor",
    ".config/VSCodium",
    ".config/autostart",
    ".config/autostart-scripts",
    ".config/bash_completion",
    ".config/containers",
    ".config/direnv",
    ".config/elvish",
    ".config/emacs",
    ".config/environment.d",
    ".config/fish",
    ".config/gdb",
    ".config/gh",
    ".config/helix",
    ".config/npm",
    ".config/nushell",
    ".config/nvim",
    ".config/pip",
    ".config/plasma-workspace",
    ".config/systemd",
    ".config/tmux",
    ".config/vim",
    ".config/xonsh",
    ".config/zsh",
    ".cshrc",
    ".curlrc",
    ".direnvrc",
    ".docker",
    ".elvish",
    ".emacs",
    ".emacs.d",
    ".gdbinit",
    ".gnupg",
    ".gradle/init.d",
    ".gradle/init.gradle",
    ".gvimrc",
    ".inputrc",
    ".irbrc",
    ".kshrc",
    ".kube",
    ".lldbinit",
    ".local/bin",
    ".local/lib",
    ".local/share/applications",
    ".local/share/bash-completion",
    ".local/share/dbus-1",
    ".local/share/nvim",
    ".local/share/systemd",
    ".login",
    ".logout",
    ".mailcap",
    ".mkshrc",
    ".npmrc",
    ".nvm",
    ".oh-my-zsh",
    ".pam_environment",
    ".pip",
    ".psqlrc",
    ".pyenv",
    ".rustup",
    ".screenrc",
    ".sqliterc",
    ".ssh",
    ".tcshrc",
    ".tmux.conf",
    ".vim",
    ".xinitrc",
    ".xonshrc",
    ".xprofile",
    ".xsession",
    ".xsessionrc",
    ".zlogin.zwc",
    ".zlogout.zwc",
    ".zprofile.zwc",
    ".zshenv.zwc",
    ".zshrc.zwc",
    "bin",
];

/// The first name of a path below a writable place that is obeyed anywhere, and the directory that it is in.
pub(crate) struct ObeyedName {
    pub(crate) name: &'static str,
    pub(crate) directory: PathBuf,
}

impl ObeyedName {
    /// Looks at what of a path lies below a place. Names are compared without case, as some file systems do.
    pub(crate) fn in_path(path: &Path, place: &Path) -> Option<Self> {
        let mut directory = place.to_owned();
        for part in path.strip_prefix(place).ok()? {
            if let Some(name) = obeyed(part) {
                return Some(Self { name, directory });
            }
            directory.push(part);
        }
        None
    }
}

/// Why a name of [`OBEYED_ANYWHERE`] is protected.
pub(crate) fn reason(name: &str) -> String {
    match name {
        ".vscode" | ".idea" => format!("settings of editors ({name}), which can run tasks"),
        ".vimrc" | ".exrc" | ".nvimrc" | ".lvimrc" => format!("editors run commands from {name}"),
        ".mcp.json" | ".claude" | ".codex" | ".agents" | ".cursor" | ".gemini" => {
            format!("settings of agents ({name}), which can start programs")
        }
        ".gitconfig" => "configuration of git (.gitconfig), which can name programs to run".to_owned(),
        ".ripgreprc" => "options of ripgrep (.ripgreprc), which can name a program to run".to_owned(),
        _ => format!("start-up file of shells ({name})"),
    }
}

fn obeyed(part: &OsStr) -> Option<&'static str> {
    // Most names are not hidden, and this is asked for every path that is changed.
    part.as_encoded_bytes().starts_with(b".").then_some(())?;
    OBEYED_ANYWHERE.into_iter().find(|name| part.eq_ignore_ascii_case(name))
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
        check("/w/vscode/x", None);
        check("/w", None);
        check("/v/.vscode", None);
    }

    #[test]
    fn every_name_has_a_reason_that_says_which_program_obeys_it() {
        for name in OBEYED_ANYWHERE {
            let reason = reason(name);
            assert!(reason.contains(name), "{reason}");
            let is_of_a_shell = [".bash", ".z", ".profile"].iter().any(|start| name.starts_with(start));
            assert_eq!(reason.starts_with("start-up file of shells"), is_of_a_shell, "{reason}");
        }
    }

    #[test]
    fn lists_are_in_order_and_name_nothing_twice() {
        assert!(OBEYED_ANYWHERE.is_sorted() && OBEYED_IN_HOME.is_sorted());
        assert!(OBEYED_IN_HOME.iter().all(|name| !OBEYED_ANYWHERE.contains(name)));
    }
}
