//! Names of files that other programs of the user obey: shells, editors, agents, git. A command that can write one of them has
//! its own program run later, outside of the sandbox, without the user running anything of the workspace.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Names that are obeyed wherever a person, an editor or an agent works: in the directory that it is started in or opens.
///
/// Left out are files of tools that run programs of the project anyway (`.npmrc`, `.cargo/config.toml`, `package.json`), that ask
/// again after each change (`.envrc`, `.nvim.lua`) or about each command (`.dir-locals.el`), that only give advice (`.goosehints`), and
/// `.gitmodules`, which git writes in every checkout and takes no commands from.
pub(crate) const OBEYED_ANYWHERE: [&str; 47] = [
    ".agents",
    ".aider.conf.yml",
    ".amazonq",
    ".bash_aliases",
    ".bash_login",
    ".bash_logout",
    ".bash_profile",
    ".bashrc",
    ".claude",
    ".clinerules",
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
    ".helix",
    ".idea",
    ".junie",
    ".kiro",
    ".lvimrc",
    ".mcp.json",
    ".nvimrc",
    ".opencode",
    ".opencode.json",
    ".opencode.jsonc",
    ".profile",
    ".qwen",
    ".ripgreprc",
    ".roo",
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
    "opencode.json",
    "opencode.jsonc",
];

/// What is obeyed in a home directory alone, beside the start-up files of shells: files, and directories with all that is in them.
pub(crate) const OBEYED_IN_HOME: [&str; 94] = [
    ".Rprofile",
    ".asdf",
    ".aws",
    ".bash_completion",
    ".cargo/bin",
    ".cargo/config",
    ".cargo/config.toml",
    ".cargo/env",
    ".claude.json",
    ".codeium",
    ".condarc",
    ".config/Code",
    ".config/Cursor",
    ".config/VSCodium",
    ".config/autostart",
    ".config/autostart-scripts",
    ".config/bash_completion",
    ".config/containers",
    ".config/crush",
    ".config/direnv",
    ".config/elvish",
    ".config/emacs",
    ".config/environment.d",
    ".config/fish",
    ".config/gdb",
    ".config/gh",
    ".config/goose",
    ".config/helix",
    ".config/npm",
    ".config/nushell",
    ".config/nvim",
    ".config/opencode",
    ".config/pip",
    ".config/plasma-workspace",
    ".config/systemd",
    ".config/tmux",
    ".config/vim",
    ".config/xonsh",
    ".config/zed",
    ".config/zsh",
    ".copilot",
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
        ".vscode" | ".idea" | ".fleet" | ".helix" | ".zed" => {
            format!("settings of editors ({name}), which can run tasks and language servers")
        }
        ".devcontainer" | ".devcontainer.json" => {
            format!(
                "settings of development containers ({name}), which can run commands outside of the container"
            )
        }
        ".vimrc" | ".exrc" | ".nvimrc" | ".lvimrc" => format!("editors run commands from {name}"),
        ".gitconfig" => "configuration of git (.gitconfig), which can name programs to run".to_owned(),
        ".ripgreprc" => "options of ripgrep (.ripgreprc), which can name a program to run".to_owned(),
        _ if is_of_a_shell(name) => format!("start-up file of shells ({name})"),
        _ => format!("settings of agents ({name}), which can start programs"),
    }
}

fn is_of_a_shell(name: &str) -> bool {
    [".bash", ".profile", ".zlog", ".zprofile", ".zsh"].iter().any(|start| name.starts_with(start))
}

fn obeyed(part: &OsStr) -> Option<&'static str> {
    // Most names are neither hidden nor settings, and this is asked for every path that is changed.
    let bytes = part.as_encoded_bytes();
    let is_json = || [&b".json"[..], b".jsonc"].iter().any(|end| ends_with_ignoring_case(bytes, end));
    (bytes.starts_with(b".") || is_json()).then_some(())?;
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
        check("/w/package.json", None);
        check("/w/vscode/x", None);
        check("/w", None);
        check("/v/.vscode", None);
    }

    #[test]
    fn every_name_has_a_reason_that_says_which_program_obeys_it() {
        for name in OBEYED_ANYWHERE {
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
        check(&[".vscode", ".idea", ".fleet", ".helix", ".zed"], "settings of editors");
        check(&[".devcontainer", ".devcontainer.json"], "settings of development containers");
        let agents =
            [".mcp.json", ".claude", ".codex", ".agents", ".cursor", ".gemini", ".qwen", ".kiro", ".amazonq"];
        check(&agents, "settings of agents");
        let others =
            [".roo", ".clinerules", ".windsurf", ".continue", ".aider.conf.yml", ".junie", ".factory"];
        check(&others, "settings of agents");
        let files =
            ["opencode.json", "opencode.jsonc", ".opencode", ".opencode.json", "crush.json", ".crush.json"];
        check(&files, "settings of agents");
    }

    #[test]
    fn lists_are_in_order_and_name_nothing_twice() {
        assert!(OBEYED_ANYWHERE.is_sorted() && OBEYED_IN_HOME.is_sorted());
        assert!(OBEYED_IN_HOME.iter().all(|name| !OBEYED_ANYWHERE.contains(name)));
    }
}
