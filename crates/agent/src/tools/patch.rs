//! `apply_patch`: changes files, all of a patch or nothing. Only where commands may write too, unless a person says so.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use serde::Deserialize;
use serde_json::json;
use windlass_model::{Call, Grammar, Input, ToolSpec};
use windlass_patch::{Change, Directory, Kind, Patch, Plan, Refusal, VerifyError, render_failure};
use windlass_tools::{Detail, Emphasis, Policy, Reach, ResolvedPath, Shown, Toolbox};

use super::Surroundings;
use super::permission::{Grants, declined, reason};
use crate::attendant::{Approval, Attendant, Decision, Lasting};
use crate::crew::ApprovalMode;
use crate::event::{EventKind, FileChange, Reporter};
use crate::thread::ThreadId;
use crate::tool::{Output, Pace, Running, Tool, shortened, typed};

/// How much of a patch is shown to a person who is asked about it.
const MOST_PATCH: usize = 16_000;

/// Applies patches for one agent, whichever way they come.
pub(super) struct Patcher {
    me: ThreadId,
    directory: PathBuf,
    toolbox: Toolbox,
    grants: Arc<Grants>,
    attendant: Option<Arc<dyn Attendant>>,
    mode: ApprovalMode,
    report: Reporter,
}

impl Patcher {
    pub(super) fn new(around: &Surroundings, grants: &Arc<Grants>) -> Self {
        Self {
            me: around.me.clone(),
            directory: around.crew.manners.directory.clone(),
            toolbox: around.toolbox.clone(),
            grants: Arc::clone(grants),
            attendant: around.crew.attendant.clone(),
            mode: around.crew.manners.approval,
            report: around.report.clone(),
        }
    }

    /// What may be touched now.
    pub(super) fn policy(&self) -> Policy {
        self.grants.policy()
    }

    /// Applies a patch whose paths begin in this directory, which itself begins in the agent's.
    pub(super) async fn apply(&self, call: &str, text: String, directory: &Path) -> Output {
        let began = Instant::now();
        let failed = |error: &dyn std::fmt::Display| Output::refused(render_failure(error, began.elapsed()));
        let plan = match self.verified(text, self.directory.join(directory)).await {
            Ok(plan) => plan,
            Err(error) => return failed(&error),
        };
        let changes = plan.changes().iter().flat_map(told).collect();
        // Applying waits for disks, and must not be left halfway by somebody who stops waiting.
        let applied = tokio::task::spawn_blocking(move || plan.apply()).await;
        let ok = matches!(applied, Ok(Ok(_)));
        self.report.tell(EventKind::FilesChanged { call: call.to_owned(), changes, ok }).await;
        match applied {
            Ok(Ok(report)) => Output::text(report.render(began.elapsed())),
            Ok(Err(error)) => failed(&error),
            Err(error) => failed(&error),
        }
    }

    /// The plan of a patch that may be applied.
    async fn verified(&self, text: String, directory: PathBuf) -> Result<Plan, String> {
        let patch = Patch::parse(&text).map_err(|error| error.to_string())?;
        let reach = self.toolbox.reach(&self.policy())?;
        match checked(patch.clone(), directory.clone(), reach).await? {
            Ok(plan) => Ok(plan),
            Err(refusal @ VerifyError::Refused { .. }) => {
                self.allowed((&patch, &text), &directory, &refusal).await?;
                let everywhere = self.toolbox.reach(&Policy::FullAccess)?;
                checked(patch, directory, everywhere).await?.map_err(|error| error.to_string())
            }
            Err(error) => Err(error.to_string()),
        }
    }

    /// Asks a person about a patch that would write where commands may not.
    async fn allowed(
        &self,
        (patch, text): (&Patch, &str),
        directory: &Path,
        refusal: &VerifyError,
    ) -> Result<(), String> {
        let asks = self.mode != ApprovalMode::Never;
        let Some(attendant) = self.attendant.as_ref().filter(|_| asks) else {
            return Err(refusal.to_string());
        };
        let paths = resolved(patch, directory);
        let fact = |label, text, emphasis| Detail { label, text, emphasis };
        let links =
            if paths.iter().any(ResolvedPath::is_link) { Emphasis::Warning } else { Emphasis::Subject };
        let details = vec![
            fact("change", Shown::joined(paths.iter().map(ResolvedPath::shown)), links),
            fact("patch", Shown::within(text, MOST_PATCH), Emphasis::Plain),
            reason(&refusal.to_string()),
        ];
        let asked = Approval { agent: self.me.clone(), details, lasting: Lasting::No };
        match attendant.approve(asked).await {
            Decision::Yes | Decision::Always if resolved(patch, directory) != paths => {
                Err(format!("{refusal}; a link on the way was changed after the user had approved the patch"))
            }
            Decision::Yes | Decision::Always => Ok(()),
            Decision::No(reason) => Err(format!("{refusal}; {}", declined(&reason))),
        }
    }
}

/// Where the paths of a patch lead.
fn resolved(patch: &Patch, directory: &Path) -> Vec<ResolvedPath> {
    patch.paths().iter().map(|path| ResolvedPath::of(directory.join(path))).collect()
}

/// Holds a patch against the files, beside everything else: files may be large and disks slow.
async fn checked(
    patch: Patch,
    directory: PathBuf,
    reach: Reach,
) -> Result<Result<Plan, VerifyError>, String> {
    let check = move || {
        let refusal = if reach.is_read_only() { Refusal::ReadOnly } else { Refusal::OutsideProject };
        let may_write = |path: &Path| reach.may_write(path);
        patch.verify(&Directory::at(directory).allowing(&may_write, refusal))
    };
    tokio::task::spawn_blocking(check).await.map_err(|error| error.to_string())
}

fn told(change: &Change) -> Vec<FileChange> {
    let kind = match change.kind {
        Kind::Add => "add",
        Kind::Delete => "delete",
        Kind::Update => "update",
    };
    let path = change.moved_to.as_ref().unwrap_or(&change.path).clone();
    let (added, removed) = lines_changed(change.old.as_deref(), change.new.as_deref());
    vec![FileChange { path, kind, added, removed }]
}

/// How many lines came and went. Lines that only moved count as neither, which is all that a summary needs.
fn lines_changed(old: Option<&str>, new: Option<&str>) -> (usize, usize) {
    let mut balance: HashMap<&str, i64> = HashMap::new();
    new.unwrap_or_default().lines().for_each(|line| *balance.entry(line).or_default() += 1);
    old.unwrap_or_default().lines().for_each(|line| *balance.entry(line).or_default() -= 1);
    let sum = |sign: i64| balance.values().map(|count| (count * sign).max(0) as usize).sum();
    (sum(1), sum(-1))
}

/// The tool.
pub(super) struct ApplyPatch {
    patcher: Arc<Patcher>,
    free_text: bool,
}

#[derive(Deserialize)]
struct Arguments {
    #[serde(alias = "patch")]
    input: String,
}

impl ApplyPatch {
    pub(super) fn new(patcher: &Arc<Patcher>, free_text: bool) -> Self {
        Self { patcher: Arc::clone(patcher), free_text }
    }
}

impl Tool for ApplyPatch {
    fn name(&self) -> &str {
        "apply_patch"
    }

    fn spec(&self) -> ToolSpec {
        if self.free_text {
            let grammar = Grammar { syntax: "lark".into(), definition: windlass_patch::grammar().into() };
            return ToolSpec::Custom {
                name: "apply_patch".into(),
                description: windlass_patch::description().into(),
                grammar: Some(grammar),
                as_function: windlass_patch::function_description().into(),
            };
        }
        ToolSpec::Function {
            name: "apply_patch".into(),
            description: windlass_patch::function_description().into(),
            parameters: json!({
                "type": "object",
                "properties": { "input": { "type": "string", "description": "the whole patch" } },
                "required": ["input"],
                "additionalProperties": false
            }),
        }
    }

    fn pace(&self) -> Pace {
        Pace::Alone
    }

    fn about(&self, call: &Call) -> String {
        let text = patch_text(call).unwrap_or_default();
        let paths = Patch::parse(&text).map(|patch| patch.paths().join(", ")).unwrap_or(text);
        shortened(&paths, 120)
    }

    fn call(&self, call: Call) -> Running {
        let patcher = Arc::clone(&self.patcher);
        Box::pin(async move {
            match patch_text(&call) {
                Ok(text) => patcher.apply(&call.id.0, text, Path::new("")).await,
                Err(refusal) => refusal,
            }
        })
    }
}

/// The patch, whether it comes as free text or in an argument; some models send bare text where an object is asked for.
fn patch_text(call: &Call) -> Result<String, Output> {
    match &call.input {
        Input::Text(text) if !text.trim_start().starts_with('{') => Ok(text.clone()),
        Input::Arguments(text) if text.trim_start().starts_with("*** Begin") => Ok(text.clone()),
        _ => typed::<Arguments>(call).map(|arguments| arguments.input),
    }
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
}
