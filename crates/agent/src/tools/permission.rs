//! `request_permissions`: the model asks for the network or for more paths. The grants hold from then on for the
//! commands and patches of its agent.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::json;
use windlass_llm::{Call, ToolSpec};
use windlass_tools::{Access, Detail, Emphasis, Network, Pattern, Policy, ResolvedPath, Shown};

use super::ToolContext;
use crate::thread::ThreadId;
use crate::tool::{Output, Pace, Tool, ToolFuture, typed};
use crate::user_prompter::{Approval, Decision, Lasting, UserPrompter};

/// How many bytes of the model's reason the user is shown.
const MOST_REASON: usize = 2_000;

/// The access that the commands of one agent have: the policy and the user's grants.
pub(crate) struct Grants {
    policy: Mutex<Policy>,
}

impl Grants {
    pub(super) fn new(policy: Policy) -> Self {
        Self { policy: Mutex::new(policy) }
    }

    /// The policy with all grants so far.
    pub(super) fn policy(&self) -> Policy {
        self.policy.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn add(&self, asked: &Permissions) {
        let mut policy = self.policy.lock().unwrap_or_else(PoisonError::into_inner);
        // Without enforcement there is nothing to widen.
        let Policy::Confined(mut confined) = policy.clone() else { return };
        if asked.network.as_ref().is_some_and(|network| network.enabled) {
            confined = confined.with_network(Network::On);
        }
        let files = asked.file_system.clone().unwrap_or_default();
        for path in &files.read {
            confined = confined.with(Pattern::new(path), Access::Read);
        }
        for path in &files.write {
            // Resolved now, so that a command that later puts a link in place of the approved directory does not
            // redirect the grant.
            confined = confined.with(Pattern::new(path).resolved(Path::new("/"), None), Access::Write);
        }
        *policy = Policy::Confined(confined);
    }
}

#[derive(Deserialize)]
struct Arguments {
    #[serde(default)]
    reason: Option<String>,
    permissions: Permissions,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Permissions {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    network: Option<NetworkPermission>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file_system: Option<FilePermission>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct NetworkPermission {
    enabled: bool,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct FilePermission {
    #[serde(default)]
    read: Vec<String>,
    #[serde(default)]
    write: Vec<String>,
}

impl Permissions {
    /// The grants that are asked for, one line each, with links resolved.
    fn shown(&self) -> Option<Shown> {
        let mut lines = Vec::new();
        if self.network.as_ref().is_some_and(|network| network.enabled) {
            lines.push(Shown::whole("use the network"));
        }
        let files = self.file_system.clone().unwrap_or_default();
        for (verb, paths) in [("read", &files.read), ("write", &files.write)] {
            let path = |path: &String| Shown::beside(verb, &ResolvedPath::of(path.into()).shown());
            lines.extend(paths.iter().map(path));
        }
        (!lines.is_empty()).then(|| Shown::joined(lines))
    }

    /// The same with links resolved as they are now: a link that is changed later grants nothing else. A pattern stays
    /// as it is, because it is not a path.
    fn resolved(&self) -> Self {
        let resolve = |path: &String| match path.contains(['*', '?', '[', '{']) {
            true => path.clone(),
            false => ResolvedPath::of(path.into()).path().to_str().unwrap_or(path).to_owned(),
        };
        let files = self.file_system.as_ref().map(|files| FilePermission {
            read: files.read.iter().map(resolve).collect(),
            write: files.write.iter().map(resolve).collect(),
        });
        Self { network: self.network.clone(), file_system: files }
    }

    fn relative(&self) -> Option<&String> {
        let files = self.file_system.as_ref()?;
        files.read.iter().chain(&files.write).find(|path| !Path::new(path).is_absolute())
    }
}

pub(super) struct RequestPermissions {
    me: ThreadId,
    prompter: Option<Arc<dyn UserPrompter>>,
    grants: Arc<Grants>,
}

impl RequestPermissions {
    pub(super) fn new(around: &ToolContext, grants: &Arc<Grants>) -> Self {
        let (me, prompter) = (around.me.clone(), around.deps.prompter.clone());
        Self { me, prompter, grants: Arc::clone(grants) }
    }
}

impl Tool for RequestPermissions {
    fn name(&self) -> &str {
        "request_permissions"
    }

    fn spec(&self) -> ToolSpec {
        let paths = json!({ "type": "array", "items": { "type": "string" } });
        ToolSpec::Function {
            name: "request_permissions".into(),
            description: "Asks the user to let commands use the network or touch more places than the sandbox allows. What \
                          is granted holds for later commands: call this first, then run the command again."
                .into(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "reason": { "type": "string", "description": "what for, in one sentence" },
                    "permissions": {
                        "type": "object",
                        "properties": {
                            "network": {
                                "type": "object",
                                "properties": { "enabled": { "type": "boolean" } },
                                "required": ["enabled"]
                            },
                            "file_system": {
                                "type": "object",
                                "properties": { "read": paths, "write": paths },
                                "description": "absolute paths"
                            }
                        }
                    }
                },
                "required": ["permissions"],
                "additionalProperties": false
            }),
        }
    }

    fn pace(&self, _call: &Call) -> Pace {
        Pace::Alone
    }

    fn call(&self, call: Call) -> ToolFuture {
        let (me, prompter, grants) = (self.me.clone(), self.prompter.clone(), Arc::clone(&self.grants));
        Box::pin(async move {
            let Arguments { reason, permissions } = match typed(&call) {
                Ok(arguments) => arguments,
                Err(refusal) => return refusal,
            };
            if let Some(path) = permissions.relative() {
                return Output::refused(format!("{path} is no absolute path; nothing was granted"));
            }
            let Some(text) = permissions.shown() else {
                return Output::refused("nothing is asked for: name the network, or paths to read or write");
            };
            let resolved = permissions.resolved();
            let Some(prompter) = prompter else {
                return Output::refused("nobody is there to grant permissions");
            };
            let why = reason.unwrap_or_else(|| "the model gives no reason".into());
            let holds = "for every command and patch of this agent, until it ends";
            let fact = |label, text, emphasis| Detail { label, text, emphasis };
            let details = vec![
                fact("commands may", text, Emphasis::Subject),
                fact("holds", Shown::whole(holds), Emphasis::Warning),
                self::reason(&why),
            ];
            let asked = Approval { agent: me, details, lasting: Lasting::No };
            match prompter.approve(asked).await {
                Decision::Yes | Decision::Always => {
                    grants.add(&resolved);
                    Output::json(&json!({ "permissions": permissions, "scope": "session" }))
                }
                Decision::No(reason) => Output::refused(declined(&reason)),
            }
        })
    }
}

/// The reason for a question, as the user reads it.
pub(super) fn reason(why: &str) -> Detail {
    Detail { label: "why", text: Shown::within(why, MOST_REASON), emphasis: Emphasis::Plain }
}

/// The message to the model when the user declines.
pub(super) fn declined(reason: &str) -> String {
    match reason.trim() {
        "" => "the user declined; do not look for a way around, say what you need instead".into(),
        reason => format!("the user declined: {reason}"),
    }
}
