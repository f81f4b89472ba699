//! The block that describes the working environment to the model. A pure function of its values. After the first block
//! only changes are sent, so that earlier messages never have to be rewritten.

use std::fmt::Write;
use std::path::PathBuf;

use crate::choices::SandboxMode;
use crate::settings::{NetworkAccess, Settings};

/// The working environment of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Environment {
    /// The working directory.
    pub cwd: PathBuf,
    /// The name of the shell, such as `bash`.
    pub shell: Option<String>,
    /// The date, as `2026-01-31`.
    pub current_date: Option<String>,
    /// The time zone, as `Europe/Berlin`.
    pub timezone: Option<String>,
    /// The access that commands have.
    pub filesystem: Filesystem,
}

/// The access that commands have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filesystem {
    /// The directories in which commands may write, if they may write in some only.
    pub workspace_roots: Vec<PathBuf>,
    /// The sandbox mode.
    pub sandbox_mode: SandboxMode,
    /// The network access of commands.
    pub network_access: NetworkAccess,
}

impl Environment {
    /// The whole block.
    pub fn render(&self) -> String {
        block(&self.lines())
    }

    /// A block with the differences from an earlier environment; `None` without any. A value that is no longer known is
    /// given as `unknown`.
    pub fn changes_since(&self, before: &Self) -> Option<String> {
        let (now, then) = (self.lines(), before.lines());
        let mut changed: Vec<(&str, String)> =
            now.iter().filter(|line| !then.contains(line)).cloned().collect();
        let gone = then.iter().filter(|(name, _)| !now.iter().any(|(still, _)| still == name));
        changed.extend(gone.map(|(name, _)| (*name, UNKNOWN.to_owned())));
        (!changed.is_empty()).then(|| block(&changed))
    }

    /// A block with the differences from the blocks of a conversation, given in their order; other texts are skipped.
    /// Without earlier blocks it contains everything.
    pub fn changes_since_told<'t>(&self, told: impl IntoIterator<Item = &'t str>) -> Option<String> {
        let mut then: Vec<(&str, &str)> = Vec::new();
        for text in told.into_iter().filter(|text| text.starts_with(BEGINNING)) {
            for name in NAMES {
                let Some(value) = element(text, name) else { continue };
                then.retain(|(known, _)| *known != name);
                then.push((name, value));
            }
        }
        let now = self.lines();
        let last = |name: &str| then.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
        let mut changed: Vec<(&str, String)> =
            now.iter().filter(|(name, value)| last(name) != Some(value.as_str())).cloned().collect();
        let gone = then
            .iter()
            .filter(|(name, value)| *value != UNKNOWN && !now.iter().any(|(still, _)| still == name));
        changed.extend(gone.map(|(name, _)| (*name, UNKNOWN.to_owned())));
        (!changed.is_empty()).then(|| block(&changed))
    }

    fn lines(&self) -> Vec<(&'static str, String)> {
        let mut lines = vec![("cwd", escape(&self.cwd.to_string_lossy()))];
        let texts =
            [("shell", &self.shell), ("current_date", &self.current_date), ("timezone", &self.timezone)];
        for (name, text) in texts {
            lines.extend(text.as_ref().map(|text| (name, escape(text))));
        }
        lines.push(("filesystem", self.filesystem.render()));
        lines
    }
}

impl Filesystem {
    /// The access under these settings, for a workspace of these directories.
    pub fn of(settings: &Settings, workspace: &[PathBuf]) -> Self {
        let sandbox_mode = settings.sandbox_mode;
        let workspace_roots = match sandbox_mode {
            SandboxMode::WorkspaceWrite => workspace.to_vec(),
            SandboxMode::ReadOnly | SandboxMode::External | SandboxMode::FullAccess => Vec::new(),
        };
        Self { workspace_roots, sandbox_mode, network_access: settings.effective_network() }
    }

    fn render(&self) -> String {
        let mut text = String::from("\n");
        for root in &self.workspace_roots {
            // Writing to a string cannot fail.
            let _ =
                writeln!(text, "    <workspace_root>{}</workspace_root>", escape(&root.to_string_lossy()));
        }
        let network = escape(&self.network_access.words());
        let _ = writeln!(text, "    <permissions>{}</permissions>", self.sandbox_mode);
        let _ = write!(text, "    <network>{network}</network>\n  ");
        text
    }
}

/// The first line of a block.
const BEGINNING: &str = "<environment_context>\n";
/// The value of something that is no longer known.
const UNKNOWN: &str = "unknown";
/// The elements of a block.
const NAMES: [&str; 5] = ["cwd", "shell", "current_date", "timezone", "filesystem"];

/// The value of an element in a block. Values are escaped, so the first closing tag ends the element.
fn element<'t>(block: &'t str, name: &str) -> Option<&'t str> {
    let (_, rest) = block.split_once(&format!("\n  <{name}>"))?;
    rest.split_once(&format!("</{name}>")).map(|(value, _)| value)
}

fn block(lines: &[(&str, String)]) -> String {
    let mut text = String::from(BEGINNING);
    for (name, value) in lines {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  <{name}>{value}</{name}>");
    }
    text.push_str("</environment_context>");
    text
}

/// Escapes a value so that it cannot close its element: the name of a directory may contain anything.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Environment {
        Environment {
            cwd: "/w".into(),
            shell: Some("bash".into()),
            current_date: Some("2026-01-31".into()),
            timezone: None,
            filesystem: Filesystem {
                workspace_roots: vec!["/w".into()],
                sandbox_mode: SandboxMode::WorkspaceWrite,
                network_access: NetworkAccess::Off,
            },
        }
    }

    #[test]
    fn the_block_tells_everything_that_is_known() {
        let expected = "<environment_context>\n  <cwd>/w</cwd>\n  <shell>bash</shell>\n  \
            <current_date>2026-01-31</current_date>\n  <filesystem>\n    <workspace_root>/w</workspace_root>\n    \
            <permissions>workspace-write</permissions>\n    <network>off</network>\n  </filesystem>\n\
            </environment_context>";
        assert_eq!(sample().render(), expected);
    }

    #[test]
    fn what_commands_may_touch_follows_the_settings() {
        for (sandbox_mode, roots, network) in [
            (SandboxMode::ReadOnly, vec![], NetworkAccess::Off),
            (SandboxMode::WorkspaceWrite, vec!["/w", "/more"], NetworkAccess::Off),
            (SandboxMode::External, vec![], NetworkAccess::On),
            (SandboxMode::FullAccess, vec![], NetworkAccess::On),
        ] {
            let settings = Settings { sandbox_mode, ..Settings::default() };
            let found = Filesystem::of(&settings, &["/w".into(), "/more".into()]);
            let workspace_roots = roots.iter().map(PathBuf::from).collect();
            assert_eq!(found, Filesystem { workspace_roots, sandbox_mode, network_access: network });
        }
    }

    #[test]
    fn what_was_told_last_is_what_counts() {
        let (before, mut now) = (sample(), sample());
        let told = before.render();
        assert_eq!(now.changes_since_told([told.as_str()]), None);
        assert_eq!(now.changes_since_told(["hello", "<other>"]), Some(told.clone()));
        now.cwd = "/a<b".into();
        now.shell = None;
        let change = now.changes_since_told(["hello", told.as_str()]);
        assert_eq!(change, now.changes_since(&before));
        let change = change.unwrap_or_default();
        assert_eq!(now.changes_since_told([told.as_str(), change.as_str()]), None);
        let back = before.changes_since_told([told.as_str(), change.as_str()]);
        assert_eq!(back, before.changes_since(&now));
        now.filesystem.network_access = NetworkAccess::On;
        let wider = now.changes_since_told([told.as_str(), change.as_str()]).unwrap_or_default();
        assert!(wider.contains("<network>on</network>") && !wider.contains("<cwd>"), "{wider}");
    }

    proptest::proptest! {
        #[test]
        fn whatever_was_told_what_is_told_now_is_not_told_again(
            told in proptest::collection::vec("(<environment_context>\n)?(  <(cwd|shell|filesystem)>.{0,9}(</cwd>)?\n){0,3}", 0..4),
            cwd in "/.{0,12}",
        ) {
            let now = Environment { cwd: cwd.into(), ..sample() };
            let mut told = told;
            told.extend(now.changes_since_told(told.iter().map(String::as_str)));
            proptest::prop_assert_eq!(now.changes_since_told(told.iter().map(String::as_str)), None);
        }
    }

    #[test]
    fn only_what_changed_is_told_again() {
        let before = sample();
        assert_eq!(before.changes_since(&before), None);
        let after = Environment { cwd: "/a<b".into(), shell: None, ..sample() };
        let expected =
            "<environment_context>\n  <cwd>/a&lt;b</cwd>\n  <shell>unknown</shell>\n</environment_context>";
        assert_eq!(after.changes_since(&before).as_deref(), Some(expected));
    }
}
