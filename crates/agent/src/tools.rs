//! The tools of an agent, one file for each kind, and the choice of those that an agent gets.

mod collaboration;
mod files;
mod foreign;
mod patch;
mod permission;
mod plan;
mod process;
mod question;
mod script;

use std::sync::{Arc, Mutex};

use windlass_llm::{Call, ToolSpec};
use windlass_tools::Toolbox;

use crate::deps::AgentDeps;
use crate::event::Reporter;
use crate::history::HistoryEntry;
use crate::notices::Notices;
use crate::team::Team;
use crate::thread::ThreadId;
use crate::tool::{Output, Tool, ToolFuture};
use crate::worker::Commands;

/// The context from which the tools of one agent are made.
pub(crate) struct ToolContext {
    pub(crate) me: ThreadId,
    pub(crate) deps: Arc<AgentDeps>,
    pub(crate) team: Team,
    pub(crate) toolbox: Toolbox,
    pub(crate) commands: Arc<Commands>,
    pub(crate) report: Reporter,
    /// The number of agents above this one.
    pub(crate) depth: u32,
    /// The messages of its conversation so far.
    pub(crate) heard: Arc<Mutex<Vec<HistoryEntry>>>,
    /// The notices that the agent reads at the next boundary.
    pub(crate) notices: Notices,
}

/// The tools of an agent. The order never changes.
pub(crate) fn build(around: &ToolContext) -> Vec<Arc<dyn Tool>> {
    let config = &around.deps.config;
    let grants = Arc::new(permission::Grants::new(config.sandbox.clone()));
    let patches = Arc::new(patch::Patcher::new(around, &grants));
    let mut tools = process::tools(around, &patches);
    tools.push(Arc::new(patch::ApplyPatch::new(&patches, config.free_text)));
    if config.plans {
        tools.push(Arc::new(plan::UpdatePlan::new(around.report.clone())));
    }
    if config.looks_at_files {
        tools.extend(files::tools(around, &grants));
    }
    if around.deps.prompter.is_some() && around.depth == 0 {
        tools.push(Arc::new(question::RequestUserInput::new(around)));
        tools.push(Arc::new(permission::RequestPermissions::new(around, &grants)));
    }
    if around.depth < config.team.most_depth {
        tools.extend(collaboration::tools(around));
    }
    tools.extend(foreign::tools(around));
    if config.code_mode {
        let cells = script::tools(&tools, around);
        tools.extend(cells);
    }
    if config.web_search {
        tools.push(Arc::new(WebSearch));
    }
    tools
}

/// A search that the provider makes by itself. A call of it gets an error that says so.
struct WebSearch;

impl Tool for WebSearch {
    fn name(&self) -> &str {
        "web_search"
    }

    fn spec(&self) -> ToolSpec {
        ToolSpec::WebSearch
    }

    fn call(&self, _call: Call) -> ToolFuture {
        let words = "web_search is carried out by the provider itself, which this provider did not do";
        Box::pin(async move { Output::refused(words) })
    }
}
