//! `apply_patch`: applies a whole patch or nothing of it. It writes only where commands may write, unless the user
//! approves more.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use serde::Deserialize;
use serde_json::json;
use windlass_llm::{Call, Grammar, Input, ToolSpec};
use windlass_patch::{Patch, render_failure, render_success};
use windlass_tools::{Detail, Emphasis, HelperProgram, PathAccess, Policy, ResolvedPath, Shown, Toolbox};

use super::ToolContext;
use super::permission::{Grants, declined, reason};
use crate::deps::ApprovalMode;
use crate::event::{EventKind, Reporter};
use crate::patching::{PatchTask, Patched};
use crate::thread::ThreadId;
use crate::tool::{Output, Pace, Tool, ToolFuture, shortened, typed};
use crate::user_prompter::{Approval, Decision, Lasting, UserPrompter};

/// How many bytes of a patch the user is shown in a request for approval.
const MOST_PATCH: usize = 16_000;

/// Applies the patches of one agent, from `apply_patch` and from commands alike.
pub(super) struct Patcher {
    me: ThreadId,
    directory: PathBuf,
    toolbox: Toolbox,
    helper: Option<HelperProgram>,
    grants: Arc<Grants>,
    prompter: Option<Arc<dyn UserPrompter>>,
    mode: ApprovalMode,
    report: Reporter,
}

impl Patcher {
    pub(super) fn new(around: &ToolContext, grants: &Arc<Grants>) -> Self {
        Self {
            me: around.me.clone(),
            directory: around.deps.config.directory.clone(),
            toolbox: around.toolbox.clone(),
            helper: around.deps.config.patch_helper.clone(),
            grants: Arc::clone(grants),
            prompter: around.deps.prompter.clone(),
            mode: around.deps.config.approval,
            report: around.report.clone(),
        }
    }

    /// The policy that holds now.
    pub(super) fn policy(&self) -> Policy {
        self.grants.policy()
    }

    /// Applies a patch whose paths are relative to this directory, which is itself relative to the agent's.
    pub(super) async fn apply(&self, call: &str, text: String, directory: &Path) -> Output {
        let began = Instant::now();
        let patched = match self.patched(text, self.directory.join(directory)).await {
            Ok(patched) => patched,
            Err(error) => return Output::refused(render_failure(&error, began.elapsed())),
        };
        let ok = matches!(patched, Patched::Applied { .. });
        if let Patched::Applied { changes, .. } | Patched::Broken { changes, .. } = &patched {
            let (call, changes) = (call.to_owned(), changes.clone());
            self.report.tell(EventKind::FilesChanged { call, changes, ok }).await;
        }
        match patched {
            Patched::Applied { text, .. } => Output::text(render_success(&text, began.elapsed())),
            Patched::Broken { text, .. } | Patched::Refused { text, .. } | Patched::Misfit { text } => {
                Output::refused(render_failure(&text, began.elapsed()))
            }
        }
    }

    /// Applies a patch. If it would write where commands may not, it is applied once more with the paths that the user
    /// approves.
    async fn patched(&self, text: String, directory: PathBuf) -> Result<Patched, String> {
        let patch = Patch::parse(&text).map_err(|error| error.to_string())?;
        let reach = self.toolbox.reach(&self.policy())?;
        let task = PatchTask { text, directory, approved: Vec::new() };
        let first = self.carried_out(task.clone(), reach.clone()).await?;
        let Patched::Refused { text, places } = first else { return Ok(first) };
        self.allowed((&patch, &task.text), &task.directory, &text).await?;
        // In this process and not in a sandbox, because a plan cannot allow the writing of one single file. Beside the
        // sandbox's paths, only those that the user was shown are written, through open directories and without
        // following links.
        carried_out_here(PatchTask { approved: places, ..task }, reach).await
    }

    /// Verifies and applies a patch, in a sandbox if there is one.
    async fn carried_out(&self, task: PatchTask, reach: PathAccess) -> Result<Patched, String> {
        if !reach.is_enforced() {
            return carried_out_here(task, reach).await;
        }
        let helper =
            self.helper.clone().ok_or("patches cannot be applied: there is no helper for sandboxes")?;
        let toolbox = self.toolbox.clone();
        let work = move || task.carry_out_confined(&reach, &toolbox, &helper);
        tokio::task::spawn_blocking(work).await.map_err(|error| error.to_string())?
    }

    /// Asks the user about a patch that would write where commands may not.
    async fn allowed(
        &self,
        (patch, text): (&Patch, &str),
        directory: &Path,
        refusal: &str,
    ) -> Result<(), String> {
        let asks = self.mode != ApprovalMode::Never;
        let Some(prompter) = self.prompter.as_ref().filter(|_| asks) else {
            return Err(refusal.to_owned());
        };
        let paths = resolved(patch, directory);
        let fact = |label, text, emphasis| Detail { label, text, emphasis };
        let links =
            if paths.iter().any(ResolvedPath::is_link) { Emphasis::Warning } else { Emphasis::Subject };
        let details = vec![
            fact("change", Shown::joined(paths.iter().map(ResolvedPath::shown)), links),
            fact("patch", Shown::within(text, MOST_PATCH), Emphasis::Plain),
            reason(refusal),
        ];
        let asked = Approval { agent: self.me.clone(), details, lasting: Lasting::No };
        match prompter.approve(asked).await {
            Decision::Yes | Decision::Always if resolved(patch, directory) != paths => {
                Err(format!("{refusal}; a link on the way was changed after the user had approved the patch"))
            }
            Decision::Yes | Decision::Always => Ok(()),
            Decision::No(reason) => Err(format!("{refusal}; {}", declined(&reason))),
        }
    }
}

/// The paths of a patch, with links resolved.
fn resolved(patch: &Patch, directory: &Path) -> Vec<ResolvedPath> {
    patch.paths().iter().map(|path| ResolvedPath::of(directory.join(path))).collect()
}

/// Verifies and applies a patch on a blocking thread, because files may be large and disks slow. It is completed even
/// if the future that waits for it is dropped.
async fn carried_out_here(task: PatchTask, reach: PathAccess) -> Result<Patched, String> {
    tokio::task::spawn_blocking(move || task.carry_out(&reach)).await.map_err(|error| error.to_string())
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

    fn pace(&self, _call: &Call) -> Pace {
        Pace::Alone
    }

    fn about(&self, call: &Call) -> String {
        let text = patch_text(call).unwrap_or_default();
        let paths = Patch::parse(&text).map(|patch| patch.paths().join(", ")).unwrap_or(text);
        shortened(&paths, 120)
    }

    fn call(&self, call: Call) -> ToolFuture {
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
