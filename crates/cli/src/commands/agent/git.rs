//! The `git` that the agent runs for its user: `/diff`. A repository can name programs that git runs (filters,
//! monitors, hooks, pagers), and commands of the session write repositories. So this git runs confined, like a command,
//! and may change nothing.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use windlass_engine::sandbox::{Access, Base, Confined, Plan, Policy};
use windlass_engine::{CommandSpec, Engine, JournalPiece, Keeping, Lifetime, Offset, Span, Stream};
use windlass_tools::Variables;

use super::context::Configured;
use super::tools;
use crate::config::Config;
use crate::confinement;

/// The longest time that git may take.
const BOUND: Duration = Duration::from_secs(60);

/// The most bytes of git's output that are read.
const MOST: usize = 4 << 20;

/// The arguments with which every call of git begins: git writes nothing, and runs or fetches nothing that a repository
/// names.
const HARDENED: [&str; 9] = [
    "git",
    "--no-pager",
    "--no-optional-locks",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "protocol.allow=never",
];

/// Of a submodule only the commit is compared: looking for changes inside it would run the programs that it configures.
const DIFF: [&str; 6] =
    ["diff", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=dirty", "HEAD"];

const VARIABLES: [(&str, &str); 5] = [
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_PAGER", "cat"),
    // This file parses git's error messages.
    ("LC_ALL", "C"),
];

/// Lists new files that no pattern of the repository ignores.
const NEW_FILES: [&str; 4] = ["ls-files", "--others", "--exclude-standard", "-z"];

/// Compares a new file with nothing. Unlike `git add --intent-to-add`, this leaves the user's index as it is.
const ADDITION: [&str; 7] =
    ["diff", "--no-index", "--no-ext-diff", "--no-textconv", "--no-color", "--", "/dev/null"];

/// The exit code of `git diff --no-index` if the files differ.
const DIFFERENT: i32 = 1;

/// The most new files that are shown completely; git is started for each of them.
const MOST_NEW_FILES: usize = 50;

/// The differences from the last commit, including new files, as git prints them; or the reason why git failed.
pub(super) async fn difference(
    configured: &Configured,
    config: &Config,
    engine: &Engine,
) -> Result<String, String> {
    let git = Git { configured, config, engine };
    let here = &configured.directory;
    let diff = git.run(&DIFF, None, here).await?.successful(here)?;
    let top = git.run(&["rev-parse", "--show-toplevel"], None, here).await?.successful(here)?;
    let top = PathBuf::from(OsString::from_vec(top.strip_suffix(b"\n").unwrap_or(&top).to_vec()));
    let new_files = git.run(&NEW_FILES, None, &top).await?.successful(here)?;
    let mut shown = String::from_utf8_lossy(&diff).into_owned();
    let new_files: Vec<&[u8]> = new_files.split(|byte| *byte == 0).filter(|name| !name.is_empty()).collect();
    for name in new_files.iter().take(MOST_NEW_FILES) {
        shown += &git.addition(name, &top).await?;
    }
    let names = new_files.iter().skip(MOST_NEW_FILES).map(|name| only_named(name));
    Ok(shown + &names.collect::<String>())
}

/// A line that only names a new file, without its content.
fn only_named(name: &[u8]) -> String {
    format!("new, not shown: {}\n", String::from_utf8_lossy(name))
}

struct Git<'a> {
    configured: &'a Configured,
    config: &'a Config,
    engine: &'a Engine,
}

impl Git<'_> {
    /// A new file as an addition. A nested repository, which git lists with a slash, is only named.
    async fn addition(&self, name: &[u8], top: &Path) -> Result<String, String> {
        if name.ends_with(b"/") {
            return Ok(only_named(name));
        }
        let printed = self.run(&ADDITION, Some(OsStr::from_bytes(name)), top).await?;
        // If a file was removed meanwhile or may not be read, only that file is missing from the result.
        Ok(match printed.code {
            0 | DIFFERENT if !printed.stdout.is_empty() => {
                String::from_utf8_lossy(&printed.stdout).into_owned()
            }
            _ => only_named(name),
        })
    }

    async fn run(&self, words: &[&str], last: Option<&OsStr>, directory: &Path) -> Result<Printed, String> {
        let Self { configured, config, engine } = *self;
        let words = HARDENED.iter().chain(words).map(OsStr::new).chain(last);
        let mut spec = CommandSpec::new(words, directory);
        spec.environment = environment(configured, config).map_err(|error| format!("{error:#}"))?;
        spec.keeping = Keeping::Memory;
        spec.lifetime = Lifetime::Call;
        spec.timeout = Some(BOUND);
        spec.sandbox = plan(configured, config, engine)?;
        let session = engine.start(spec).map_err(|error| format!("git cannot be run: {error}"))?;
        let receipt = session.exited().await.map_err(|error| error.to_string())?;
        let journal = session.journal();
        let reading = journal.read(Span::new(Offset::ZERO, journal.end()), MOST);
        let printed = |wanted: Stream| {
            let bytes = reading.pieces.iter().filter_map(|piece| match piece {
                JournalPiece::Bytes { stream, bytes, .. } if *stream == wanted => Some(&bytes[..]),
                _ => None,
            });
            bytes.collect::<Vec<_>>().concat()
        };
        let (stdout, stderr) = (printed(Stream::Stdout), printed(Stream::Stderr));
        Ok(Printed { code: receipt.exit.code(), stdout, stderr })
    }
}

/// The output of a git process that has exited.
struct Printed {
    code: i32,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl Printed {
    /// Returns the standard output, or git's error message.
    fn successful(self, directory: &Path) -> Result<Vec<u8>, String> {
        match self.code {
            0 => Ok(self.stdout),
            _ => Err(complaint(&String::from_utf8_lossy(&self.stderr), directory)),
        }
    }
}

/// The error message of git. Outside of a repository git explains how to compare any two files, which does not help the
/// user.
fn complaint(told: &str, directory: &Path) -> String {
    if told.to_ascii_lowercase().contains("not a git repository") {
        return format!("{} is in no git repository: there is nothing to compare with", directory.display());
    }
    told.trim().to_owned()
}

/// The session's policy without write and network access. If commands are not confined, git is confined as far as the
/// machine can do that.
fn plan(configured: &Configured, config: &Config, engine: &Engine) -> Result<Option<Arc<Plan>>, String> {
    let policy = tools::sandbox(configured);
    let surroundings = confinement::surroundings(configured.directory.clone(), config);
    match engine.confine(&reading_only(&policy), &surroundings) {
        Err(error) if matches!(policy, Policy::Confined(_)) => Err(error.to_string()),
        plan => Ok(plan.unwrap_or_default()),
    }
}

fn reading_only(policy: &Policy) -> Policy {
    let mut confined = Confined::new(Base::ReadOnly);
    if let Policy::Confined(of_session) = policy {
        let denied = of_session.rules.iter().filter(|rule| rule.access == Access::Deny);
        confined.rules = denied.cloned().collect();
    }
    Policy::Confined(confined)
}

/// The environment for git, without variables that choose programs, such as `GIT_EXTERNAL_DIFF`.
fn environment(configured: &Configured, config: &Config) -> anyhow::Result<Variables> {
    let is_gits = |name: &OsString| name.as_encoded_bytes().starts_with(b"GIT_");
    let inherited = tools::harmless_environment(configured, config)?.into_iter();
    let ours = VARIABLES.map(|(name, value)| (name.into(), value.into()));
    Ok(inherited.filter(|(name, _)| !is_gits(name) && name != "LC_ALL").chain(ours).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_engine::sandbox::{Network, Pattern};

    #[test]
    fn outside_of_a_repository_the_complaint_says_so_and_not_how_git_is_used() {
        let usage = "warning: Not a git repository. Use --no-index to compare two paths outside a working tree\nusage: git diff";
        let told = complaint(usage, Path::new("/w"));
        assert_eq!(told, "/w is in no git repository: there is nothing to compare with");
        assert_eq!(complaint("fatal: bad revision 'HEAD'\n", Path::new("/w")), "fatal: bad revision 'HEAD'");
    }

    #[test]
    fn git_may_read_what_the_session_may_and_change_nothing() {
        let session = Confined::new(Base::WorkspaceWrite)
            .with(Pattern::new("/more"), Access::Write)
            .with(Pattern::new("~/.ssh"), Access::Deny)
            .with_network(Network::On);
        let expected = Confined::new(Base::ReadOnly).with(Pattern::new("~/.ssh"), Access::Deny);
        assert_eq!(reading_only(&Policy::Confined(session)), Policy::Confined(expected));
        assert_eq!(reading_only(&Policy::FullAccess), Policy::Confined(Confined::new(Base::ReadOnly)));
    }
}
