//! Translates the permissions in this dialect into a plan. Permissions without an equivalent are rejected: a process
//! with more access than its client believes is worse than none.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use windlass_engine::sandbox::{Access, Base, Confined, Network, Pattern, Plan, Policy, PolicyContext};
use windlass_protocol::envelope::{INVALID_REQUEST, Refusal};
use windlass_protocol::exec::{
    ExecParams, ManagedFileSystem, ManagedNetwork, MissingPath, NetworkPermission, PathUri, PermissionAccess,
    PermissionEntry, PermissionPath, Permissions, SandboxContext, SpecialPath,
};

use super::{ExecEnvironment, Shared};

/// The plan of a process; `None` if it is not confined.
pub(super) fn plan(server: &Shared, params: &ExecParams) -> Result<Option<Arc<Plan>>, Refusal> {
    let refused = |why: String| Refusal::new(INVALID_REQUEST, format!("sandbox: {why}"));
    let network = managed_network(params).map_err(refused)?;
    let Some(context) = params.sandbox.as_ref().filter(|context| !context.is_full_access()) else {
        return match network {
            None => Ok(None),
            Some(_) => Err(refused(NETWORK_ALONE.to_owned())),
        };
    };
    let directory = context.cwd.as_ref().unwrap_or(&params.cwd).path();
    let confined = confined(context, directory, &server.place).map_err(refused)?;
    let confined = confined.with_network(network.unwrap_or_else(|| network_of(context)));
    let surroundings = surroundings(directory, &server.place);
    let plan = server.engine.confine(&Policy::Confined(confined), &surroundings);
    plan.map_err(|error| refused(error.to_string()))
}

/// The plan of a file operation; `None` if it is not confined.
pub(super) fn for_files(
    server: &Shared,
    context: Option<SandboxContext>,
) -> Result<Option<Arc<Plan>>, Refusal> {
    let Some(context) = context.filter(|context| !context.is_full_access_to_files()) else { return Ok(None) };
    let refused = |why: String| Refusal::new(INVALID_REQUEST, format!("sandbox: {why}"));
    let directory = context.cwd.as_ref().map_or(server.place.directory.as_path(), PathUri::path);
    let confined = confined(&context, directory, &server.place).map_err(refused)?;
    let surroundings = surroundings(directory, &server.place);
    let plan = server.engine.confine(&Policy::Confined(confined.with_network(Network::Off)), &surroundings);
    plan.map_err(|error| refused(error.to_string()))
}

const NETWORK_ALONE: &str = "a process's network is controlled here only together with its files: send a `sandbox` with \
                             restricted permissions";
const EVERYTHING: &str = "it is not enforced here that everything may be changed and the network not be used: send a \
                          `sandbox` that lists what may be changed";
const WRITABLE_ROOT: &str = "what may be changed is listed here, and these permissions let the root be written: list what may \
                             be changed, or restrict no files";
const PARTLY_READABLE: &str = "here everything can be read that is not denied, and these permissions do not let the root \
                               be read: add an entry that does, and deny what must not be read";

fn surroundings(directory: &Path, place: &ExecEnvironment) -> PolicyContext {
    PolicyContext {
        workspace: directory.to_owned(),
        temporary: None,
        home: place.home.clone(),
        kept: vec![place.state_directory.clone()],
        doors: vec![place.state_directory.join(crate::shim::DOORS)],
        ..PolicyContext::default()
    }
}

/// The managed network, if the client asked for one beside the permissions.
fn managed_network(params: &ExecParams) -> Result<Option<Network>, String> {
    if params.network_proxy.is_some() {
        return Err("no proxy is started for a process here: send no networkProxy".to_owned());
    }
    match &params.managed_network {
        None if params.enforce_managed_network => Ok(Some(Network::Off)),
        None => Ok(None),
        Some(ManagedNetwork { loopback_ports, .. }) if !loopback_ports.is_empty() => {
            Err("a process's network is its own here, and no port of this machine can be reached from it: send no \
                 loopbackPorts"
                .to_owned())
        }
        Some(managed) if managed.dangerously_allow_all_unix_sockets || !managed.allow_unix_sockets.is_empty() => {
            Err("sockets at paths cannot be allowed one by one here: send no allowUnixSockets".to_owned())
        }
        Some(ManagedNetwork { allow_local_binding: true, .. }) => Ok(Some(Network::Loopback)),
        Some(_) => Ok(Some(Network::Off)),
    }
}

fn network_of(context: &SandboxContext) -> Network {
    match context.permissions {
        Permissions::Managed { network: NetworkPermission::Restricted, .. } => Network::Off,
        _ => Network::On,
    }
}

fn confined(context: &SandboxContext, directory: &Path, place: &ExecEnvironment) -> Result<Confined, String> {
    let Permissions::Managed { file_system: ManagedFileSystem::Restricted { entries }, .. } =
        &context.permissions
    else {
        return Err(EVERYTHING.to_owned());
    };
    let is_root =
        |entry: &&PermissionEntry| entry.path == PermissionPath::Special { value: SpecialPath::Root };
    match entries.iter().filter(is_root).map(|entry| entry.access).max() {
        Some(PermissionAccess::Read) => {}
        Some(PermissionAccess::Write) => return Err(WRITABLE_ROOT.to_owned()),
        Some(PermissionAccess::Deny) | None => return Err(PARTLY_READABLE.to_owned()),
    }
    let mut sorted: Vec<&PermissionEntry> = entries.iter().filter(|entry| !is_root(entry)).collect();
    // Of two entries for one path the later one applies.
    sorted.sort_by_key(|entry| entry.access);
    let roots = Roots { context, directory, place };
    sorted.into_iter().try_fold(Confined::new(Base::ReadOnly), |confined, entry| roots.add(confined, entry))
}

/// Resolves special paths.
struct Roots<'a> {
    context: &'a SandboxContext,
    directory: &'a Path,
    place: &'a ExecEnvironment,
}

impl Roots<'_> {
    fn add(&self, confined: Confined, entry: &PermissionEntry) -> Result<Confined, String> {
        let access = match entry.access {
            PermissionAccess::Read => Access::Read,
            PermissionAccess::Write => Access::Write,
            PermissionAccess::Deny => Access::Deny,
        };
        if let PermissionPath::GlobPattern { pattern } = &entry.path {
            if access != Access::Deny {
                return Err(format!("the pattern `{pattern}` can only be denied"));
            }
            let patterns = self.patterns(pattern)?.into_iter().map(Pattern::new);
            return Ok(patterns.fold(confined, |confined, pattern| confined.with(pattern, access)));
        }
        let skips = entry.missing_path_behavior == Some(MissingPath::Skip);
        let places = self.places(&entry.path)?.into_iter().filter(|path| !skips || path.exists());
        Ok(places.fold(confined, |confined, path| confined.with(Pattern::plain(&path), access)))
    }

    /// The glob patterns that a pattern stands for: one below each project root if it is relative to them.
    fn patterns(&self, pattern: &str) -> Result<Vec<String>, String> {
        let plain = |root: &Path| match root.to_str() {
            Some(root) if !root.contains(['*', '?', '[', '{', '}', '\\']) => Ok(root.to_owned()),
            _ => Err(format!("the pattern `{pattern}` cannot be put below `{}`", root.display())),
        };
        let Some(below) = pattern.strip_prefix(PROJECT_ROOTS) else { return Ok(vec![pattern.to_owned()]) };
        self.project().iter().map(|root| Ok(format!("{}/{below}", plain(root)?))).collect()
    }

    fn places(&self, path: &PermissionPath) -> Result<Vec<PathBuf>, String> {
        let special = match path {
            PermissionPath::Path { path } => return Ok(vec![path.path().to_owned()]),
            PermissionPath::GlobPattern { .. } => return Ok(Vec::new()),
            PermissionPath::Special { value } => value,
        };
        match special {
            // All paths are readable anyway.
            SpecialPath::Root | SpecialPath::Minimal => Ok(Vec::new()),
            SpecialPath::Tmpdir => Ok(vec![self.place.temporary.clone()]),
            SpecialPath::SlashTmp => Ok(vec![PathBuf::from("/tmp")]),
            SpecialPath::ProjectRoots { subpath: None } => Ok(self.project()),
            SpecialPath::ProjectRoots { subpath: Some(below) } => {
                if !below.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
                    return Err(format!("`{}` is not below a project", below.display()));
                }
                Ok(self.project().into_iter().map(|root| root.join(below)).collect())
            }
            SpecialPath::Unknown { path, .. } => Err(format!("nobody here knows where `{path}` is")),
        }
    }

    fn project(&self) -> Vec<PathBuf> {
        let named = &self.context.workspace_roots;
        if named.is_empty() {
            return vec![self.directory.to_owned()];
        }
        named.iter().map(|root| root.path().to_owned()).collect()
    }
}

/// The prefix of patterns below the project roots.
const PROJECT_ROOTS: &str = "codex-project-roots://";
