//! Translates the permissions in the dialect into a policy, and a policy into a plan.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_engine::Engine;
use windlass_engine::sandbox::{
    Access, Base, Confined, Network, Pattern, Plan, Policy, PolicyContext, Temporary,
};
use windlass_protocol::app::{AbsolutePath, CommandExecParams, SandboxPolicy};

use super::AppOptions;
use super::start::variable;

/// A policy and the directory to which it applies.
#[derive(Clone, Debug)]
pub(super) struct Permissions {
    policy: Policy,
    workspace: PathBuf,
}

impl Permissions {
    /// The permissions of a process, which a client cannot choose: those that the server's operator chose.
    pub(super) fn of_a_process(options: &AppOptions) -> Self {
        Self { policy: options.process_sandbox.clone(), workspace: options.directory.clone() }
    }

    /// The permissions of a command: those that its client names, or else those that the server's operator chose. A
    /// policy applies to the server's own directory, a profile to the command's.
    pub(super) fn of(
        params: &CommandExecParams,
        directory: &Path,
        options: &AppOptions,
    ) -> Result<Self, String> {
        if let Some(profile) = &params.permission_profile {
            let policy = profile_of(profile).map_err(|why| format!("invalid permission profile: {why}"))?;
            return Ok(Self { policy, workspace: directory.to_owned() });
        }
        let policy = params.sandbox_policy.as_ref().map(policy_of);
        let policy = policy.unwrap_or_else(|| options.sandbox.clone());
        Ok(Self { policy, workspace: options.directory.clone() })
    }

    /// Computes the plan for this machine. A policy that cannot be enforced is an error: running without it would be a
    /// lie.
    pub(super) fn plan(&self, engine: &Engine, options: &AppOptions) -> Result<Option<Arc<Plan>>, String> {
        let path = |name: &str| variable(options, name).map(PathBuf::from).filter(|path| path.is_absolute());
        let surroundings = PolicyContext {
            workspace: self.workspace.clone(),
            temporary: path("TMPDIR"),
            home: path("HOME"),
            kept: vec![options.state_directory.clone()],
            doors: vec![options.state_directory.join(crate::shim::DOORS)],
            ..PolicyContext::default()
        };
        engine.confine(&self.policy, &surroundings).map_err(|error| error.to_string())
    }
}

fn policy_of(policy: &SandboxPolicy) -> Policy {
    let network = |access: &bool| if *access { Network::On } else { Network::Off };
    match policy {
        SandboxPolicy::DangerFullAccess => Policy::FullAccess,
        SandboxPolicy::ExternalSandbox { .. } => Policy::External,
        SandboxPolicy::ReadOnly { network_access } => {
            Policy::Confined(Confined::new(Base::ReadOnly).with_network(network(network_access)))
        }
        SandboxPolicy::WorkspaceWrite {
            writable_roots,
            network_access,
            exclude_tmpdir_env_var,
            exclude_slash_tmp,
        } => {
            let mut confined = Confined::new(Base::WorkspaceWrite).with_network(network(network_access));
            confined.temporary = Temporary { common: !exclude_slash_tmp, own: !exclude_tmpdir_env_var };
            // A root that does not exist grants nothing: where it could be created, its parent is writable already.
            let is_there = |root: &PathBuf| root.symlink_metadata().is_ok();
            for root in writable_roots.iter().map(AbsolutePath::to_path).filter(is_there) {
                confined = confined.with(Pattern::plain(&root), Access::Write);
            }
            Policy::Confined(confined)
        }
    }
}

fn profile_of(profile: &str) -> Result<Policy, String> {
    match profile {
        ":danger-full-access" => Ok(Policy::FullAccess),
        ":read-only" => Ok(Policy::Confined(Confined::new(Base::ReadOnly))),
        ":workspace" => Ok(Policy::Confined(Confined::new(Base::WorkspaceWrite))),
        built_in if built_in.starts_with(':') => {
            Err(format!("default_permissions refers to unknown built-in profile `{built_in}`"))
        }
        _ => Err("default_permissions requires a `[permissions]` table".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_writable_root_that_is_not_there_opens_nothing_and_is_no_reason_to_refuse() {
        let with = |roots: &[&str]| {
            let policy = json!({ "type": "workspaceWrite", "writableRoots": roots });
            format!("{:?}", policy_of(&serde_json::from_value(policy).expect("a policy")))
        };
        assert_eq!(with(&["/nowhere/at/all"]), with(&[]));
        assert_eq!(with(&["/nowhere/at/all", "/var/tmp"]), with(&["/var/tmp"]));
        assert_ne!(with(&["/var/tmp"]), with(&[]));
    }
}
