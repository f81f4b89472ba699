//! Finds a user's global git excludes file. The caller passes the home directory: nothing here reads the environment.

use std::fs;
use std::path::{Path, PathBuf};

/// The file of patterns that git ignores in every repository: the one that `core.excludesFile` names, or `git/ignore`
/// in the configuration directory. `configuration` is `$XDG_CONFIG_HOME`, `None` for its default. `None` if there is no
/// such file.
pub fn git_excludes(home: &Path, configuration: Option<&Path>) -> Option<PathBuf> {
    let configuration = configuration.map_or_else(|| home.join(".config"), Path::to_owned);
    // The later file wins, as with git itself.
    let files = [home.join(".gitconfig"), configuration.join("git/config")];
    let named = files.iter().find_map(|file| excludes_file(&beginning_of(file)?, home));
    Some(named.unwrap_or_else(|| configuration.join("git/ignore"))).filter(|path| path.is_file())
}

/// The text of a git configuration. Real ones are small, so a longer file is ignored.
fn beginning_of(file: &Path) -> Option<String> {
    const LONGEST: u64 = 1 << 20;
    let length = fs::metadata(file).ok().filter(fs::Metadata::is_file)?.len();
    if length > LONGEST {
        return None;
    }
    Some(String::from_utf8_lossy(&fs::read(file).ok()?).into_owned())
}

/// The last `excludesFile` in a section `[core]`.
fn excludes_file(text: &str, home: &Path) -> Option<PathBuf> {
    let mut in_core = false;
    let mut found = None;
    for line in text.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[') {
            in_core = section.split(']').next().is_some_and(|name| name.trim().eq_ignore_ascii_case("core"));
        } else if let Some((key, value)) = line.split_once('=').filter(|_| in_core)
            && key.trim().eq_ignore_ascii_case("excludesfile")
        {
            found = Some(value.trim().trim_matches('"'));
        }
    }
    let path = found.filter(|path| !path.is_empty())?;
    Some(path.strip_prefix("~/").map_or_else(|| PathBuf::from(path), |rest| home.join(rest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_excludes_file_of_the_core_section_counts() {
        for (text, expected) in [
            ("", None),
            ("[core]\n\texcludesFile = ~/ignored\n", Some("/h/a/ignored")),
            ("[Core]\nexcludesfile=/etc/ignored", Some("/etc/ignored")),
            ("[core]\nexcludesfile = \"/a b/c\"", Some("/a b/c")),
            ("[user]\nexcludesfile = /a", None),
            ("[core]\nexcludesfile = /a\n[user]\nname = b\n[core]\nexcludesfile = /c", Some("/c")),
            ("[core]\nexcludesfile =", None),
        ] {
            assert_eq!(excludes_file(text, Path::new("/h/a")).as_deref(), expected.map(Path::new), "{text}");
        }
    }
}
