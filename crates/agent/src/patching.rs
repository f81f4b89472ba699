//! Patches in a process of their own. Under a sandbox, a copy of this program verifies and applies a patch, confined by
//! the same sandbox as the commands: whatever a command does to the files meanwhile, the patch writes nothing that the
//! command could not write itself. The copy reads a task on standard input and prints the result, both as JSON.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use windlass_patch::{Change, Directory, Kind, Patch, VerifyError, WriteDenied};
use windlass_tools::{ConfinedReply, HelperProgram, PathAccess, Toolbox, path_from_json, path_to_json};

use crate::event::FileChange;

/// A patch and the directory in which it is applied.
#[derive(Clone, Debug)]
pub(crate) struct PatchTask {
    pub(crate) text: String,
    /// The directory to which the patch's paths are relative. Absolute.
    pub(crate) directory: PathBuf,
    /// Paths outside of the policy that the user let this patch write, with links resolved.
    pub(crate) approved: Vec<PathBuf>,
}

/// The result of a patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Patched {
    /// The patch is applied; the text is for the model.
    Applied { text: String, changes: Vec<FileChange> },
    /// The patch was verified, but could not be applied.
    Broken { text: String, changes: Vec<FileChange> },
    /// The policy denies writing some of its paths.
    Refused { text: String, places: Vec<PathBuf> },
    /// The patch does not match the files.
    Misfit { text: String },
}

impl PatchTask {
    /// Verifies and applies the patch in this process. Blocks.
    pub(crate) fn carry_out(&self, reach: &PathAccess) -> Patched {
        let patch = match Patch::parse(&self.text) {
            Ok(patch) => patch,
            Err(error) => return Patched::Misfit { text: error.to_string() },
        };
        let refusal = if reach.is_read_only() { WriteDenied::ReadOnly } else { WriteDenied::OutsideProject };
        let may_write =
            |path: &Path| reach.may_write(path) || self.approved.iter().any(|place| place == path);
        let may_read = |path: &Path| reach.may_read(path);
        let directory = Directory::at(&self.directory).allowing(&may_write, refusal).reading(&may_read);
        let plan = match patch.verify(&directory) {
            Ok(plan) => plan,
            Err(error) => return refused(error),
        };
        let changes = plan.changes().iter().map(told).collect();
        match plan.apply() {
            Ok(report) => Patched::Applied { text: report.to_string(), changes },
            Err(error) => Patched::Broken { text: error.to_string(), changes },
        }
    }

    /// Verifies and applies the patch in a copy of this program, confined by the sandbox that enforces the path access.
    /// Blocks.
    pub(crate) fn carry_out_confined(
        &self,
        reach: &PathAccess,
        toolbox: &Toolbox,
        helper: &HelperProgram,
    ) -> Result<Patched, String> {
        let ConfinedReply { output, denials } =
            toolbox.run_confined(reach, helper, self.to_json(reach).to_string().as_bytes())?;
        let reply = serde_json::from_slice(&output).ok().and_then(|value| Patched::from_json(&value));
        let patched = reply.ok_or("the confined process that applies patches gave no answer")?;
        Ok(patched.with_denials(&denials))
    }

    fn to_json(&self, reach: &PathAccess) -> Value {
        json!({
            "patch": self.text,
            "directory": path_to_json(&self.directory),
            "approved": paths_to_json(&self.approved),
            "reach": reach.to_json(),
        })
    }

    fn from_json(value: &Value) -> Option<(Self, PathAccess)> {
        let task = Self {
            text: value["patch"].as_str()?.to_owned(),
            directory: path_from_json(&value["directory"])?,
            approved: paths_from_json(&value["approved"])?,
        };
        Some((task, PathAccess::from_json(value.get("reach")?)?))
    }
}

/// The main function of the copy of this program that applies a patch.
///
/// # Errors
/// If there is no task on standard input, or the result cannot be printed.
pub fn run_patch_helper() -> io::Result<()> {
    let mut task = Vec::new();
    io::stdin().lock().read_to_end(&mut task)?;
    let (task, reach) =
        PatchTask::from_json(&serde_json::from_slice(&task)?).ok_or(io::ErrorKind::InvalidData)?;
    let mut output = io::stdout().lock();
    output.write_all(task.carry_out(&reach).to_json().to_string().as_bytes())?;
    output.flush()
}

fn refused(error: VerifyError) -> Patched {
    let text = error.to_string();
    match error {
        VerifyError::Refused { paths, .. } => Patched::Refused { text, places: paths },
        _ => Patched::Misfit { text },
    }
}

impl Patched {
    /// Adds the sandbox's denials to the result, unless the patch was applied in spite of them.
    fn with_denials(mut self, denials: &[String]) -> Self {
        if let Self::Broken { text, .. } | Self::Misfit { text } = &mut self {
            denials.iter().for_each(|denial| *text += &format!("\nDenied: {denial}"));
        }
        self
    }

    fn to_json(&self) -> Value {
        match self {
            Self::Applied { text, changes } => {
                json!({ "became": "applied", "text": text, "changes": changes_to_json(changes) })
            }
            Self::Broken { text, changes } => {
                json!({ "became": "broken", "text": text, "changes": changes_to_json(changes) })
            }
            Self::Refused { text, places } => {
                json!({ "became": "refused", "text": text, "places": paths_to_json(places) })
            }
            Self::Misfit { text } => json!({ "became": "misfit", "text": text }),
        }
    }

    fn from_json(value: &Value) -> Option<Self> {
        let text = value["text"].as_str()?.to_owned();
        let changes =
            || value["changes"].as_array()?.iter().map(change_from_json).collect::<Option<Vec<_>>>();
        Some(match value["became"].as_str()? {
            "applied" => Self::Applied { text, changes: changes()? },
            "broken" => Self::Broken { text, changes: changes()? },
            "refused" => Self::Refused { text, places: paths_from_json(&value["places"])? },
            "misfit" => Self::Misfit { text },
            _ => return None,
        })
    }
}

fn paths_to_json(paths: &[PathBuf]) -> Value {
    paths.iter().map(|path| path_to_json(path)).collect()
}

fn paths_from_json(value: &Value) -> Option<Vec<PathBuf>> {
    value.as_array()?.iter().map(path_from_json).collect()
}

const KINDS: [&str; 3] = ["add", "delete", "update"];

fn changes_to_json(changes: &[FileChange]) -> Value {
    let change = |change: &FileChange| {
        let FileChange { path, kind, added, removed } = change;
        json!({ "path": path_to_json(path), "kind": kind, "added": added, "removed": removed })
    };
    changes.iter().map(change).collect()
}

fn change_from_json(value: &Value) -> Option<FileChange> {
    let count = |name: &str| value[name].as_u64().and_then(|count| usize::try_from(count).ok());
    Some(FileChange {
        path: path_from_json(&value["path"])?,
        kind: KINDS.into_iter().find(|kind| value["kind"] == **kind)?,
        added: count("added")?,
        removed: count("removed")?,
    })
}

fn told(change: &Change) -> FileChange {
    let kind = match change.kind {
        Kind::Add => "add",
        Kind::Delete => "delete",
        Kind::Update => "update",
    };
    let path = change.moved_to.as_ref().unwrap_or(&change.path).clone();
    let (added, removed) = lines_changed(change.old.as_deref(), change.new.as_deref());
    FileChange { path, kind, added, removed }
}

/// The number of added and of removed lines. Lines that only moved count as neither, which is enough for a summary.
fn lines_changed(old: Option<&str>, new: Option<&str>) -> (usize, usize) {
    let mut balance: HashMap<&str, i64> = HashMap::new();
    new.unwrap_or_default().lines().for_each(|line| *balance.entry(line).or_default() += 1);
    old.unwrap_or_default().lines().for_each(|line| *balance.entry(line).or_default() -= 1);
    let sum = |sign: i64| balance.values().map(|count| (count * sign).max(0) as usize).sum();
    (sum(1), sum(-1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_came_and_went_are_counted() {
        let check = |old, new, expected| assert_eq!(lines_changed(old, new), expected);
        check(None, Some("a\nb\n"), (2, 0));
        check(Some("a\nb\n"), None, (0, 2));
        check(Some("a\nb\nb\n"), Some("a\nb\nc\nd\n"), (2, 1));
        check(Some("a\nb\n"), Some("b\na\n"), (0, 0));
    }

    #[test]
    fn a_task_and_what_became_of_it_are_the_same_in_another_process() {
        let task =
            PatchTask { text: "*** Begin".into(), directory: "/w".into(), approved: vec!["/x".into()] };
        let reach = PathAccess::from_json(&Value::Null).expect("null is everything");
        let (other, _) = PatchTask::from_json(&task.to_json(&reach)).expect("it is a task");
        assert_eq!((other.text, other.directory, other.approved), (task.text, task.directory, task.approved));
        let change = FileChange { path: "/w/a".into(), kind: "update", added: 2, removed: 1 };
        for patched in [
            Patched::Applied { text: "done".into(), changes: vec![change.clone()] },
            Patched::Broken { text: "full".into(), changes: vec![change] },
            Patched::Refused { text: "no".into(), places: vec!["/y".into()] },
            Patched::Misfit { text: "where".into() },
        ] {
            assert_eq!(Patched::from_json(&patched.to_json()), Some(patched));
        }
        assert_eq!(Patched::from_json(&json!({ "became": "applied", "text": "x" })), None);
    }
}
