//! The one `git` that the agent runs for its user: `/diff`. A repository can name programs that git runs (filters, monitors, hooks,
//! pagers), and commands of the session write repositories. So this git runs like a command, confined, and may change nothing.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use windlass_engine::sandbox::{Access, Base, Confined, Plan, Policy};
use windlass_engine::{CommandSpec, Engine, Keeping, Lifetime, Offset, Piece, Span, Stream};
use windlass_tools::Variables;

use super::context::Configured;
use super::tools;
use crate::config::Config;
use crate::confinement;

/// The longest that git may take.
const BOUND: Duration = Duration::from_secs(60);

/// Bytes of its output that are read.
const MOST: usize = 4 << 20;

/// What every call of git begins with: nothing is written for it, and nothing is run or fetched that a repository names.
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

/// Of a submodule, only the commit is compared: looking for changes in it means to run what it configures.
const DIFF: [&str; 6] =
    ["diff", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=dirty", "HEAD"];

const VARIABLES: [(&str, &str); 5] = [
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_PAGER", "cat"),
    // Its complaints are read.
    ("LC_ALL", "C"),
];

/// What differs from the last commit, as git prints it; or why it cannot be said.
pub(super) async fn difference(
    configured: &Configured,
    config: &Config,
    engine: &Engine,
) -> Result<String, String> {
    let mut spec = CommandSpec::new(HARDENED.into_iter().chain(DIFF), &configured.directory);
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
            Piece::Bytes { stream, bytes, .. } if *stream == wanted => Some(&bytes[..]),
            _ => None,
        });
        String::from_utf8_lossy(&bytes.collect::<Vec<_>>().concat()).into_owned()
    };
    if receipt.exit.code() == 0 {
        Ok(printed(Stream::Stdout))
    } else {
        Err(complaint(&printed(Stream::Stderr), &configured.directory))
    }
}

/// What git complains about. Outside of a repository it explains how to compare any two files, which is not what was asked for.
fn complaint(told: &str, directory: &Path) -> String {
    if told.to_ascii_lowercase().contains("not a git repository") {
        return format!("{} is in no git repository: there is nothing to compare with", directory.display());
    }
    told.trim().to_owned()
}

/// The session's policy without anything that may be written or reached. Where commands may do everything, git is confined as
/// far as the machine can do that.
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

/// Nobody's choice of programs, such as `GIT_EXTERNAL_DIFF`, gets through.
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
