//! The settings in force, and the context that agents get at the beginning.

use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Context, Result};
use windlass_agent::{ApprovalMode, HistoryEntry, ItemOrigin, prompt};
use windlass_config::environment::{Environment, Filesystem};
use windlass_config::{
    ApprovalPolicy, Loaded, Places, Request, SandboxMode, Trust, TrustLevel, instructions,
    load as load_settings, skills,
};
use windlass_llm::{Item, Role};
use windlass_tools::PathAccess;

use super::private_directory::PrivateDirectory;
use crate::args::{AgentOptions, AgentTrust, ApprovalName};
use crate::config::Config;
use crate::failure::{Exit, Usage};
use crate::printing;

/// The complete configuration; options of the command line override the files.
pub(crate) struct Configured {
    pub(crate) loaded: Loaded,
    pub(crate) places: Places,
    /// The directory in which the agent works. Absolute, without links.
    pub(super) directory: PathBuf,
    /// Further directories in which commands may write.
    pub(super) roots: Vec<PathBuf>,
    /// Patterns of paths that neither commands nor tools may read.
    pub(super) deny_read: Vec<String>,
    /// Where programs of a project that is not trusted run, made when the first one needs it.
    pub(super) private: OnceLock<Option<PrivateDirectory>>,
    /// What commands may read and write; set when the tools are.
    pub(super) access: OnceLock<PathAccess>,
}

impl Configured {
    /// Whether the model may see what is in this file, given without links: commands can make links to any file.
    pub(super) fn may_read(&self, path: &Path) -> bool {
        self.deny_read.is_empty() || self.access.get().is_some_and(|access| access.may_read(path))
    }
}

/// Reads the settings. With `trust`, as they would be if the user had decided so about the project.
pub(crate) fn load(options: &AgentOptions, config: &Config, trust: Option<Trust>) -> Result<Configured> {
    let directory = directory(options)?;
    let places = Places::from_variables(|name| config.variable(name).map(ToOwned::to_owned), &directory);
    let variable = config.variable("OPENAI_BASE_URL").and_then(|value| value.to_str());
    let request = Request {
        profile: options.profile.clone(),
        overrides: overrides(options),
        import_codex: options.import_codex,
        ignore_user_config: options.ignore_user_config,
        openai_base_url: variable.map(str::to_owned),
        trust,
    };
    let loaded = load_settings(&places, &request).context("the settings cannot be used")?;
    let mut roots = loaded.settings.workspace_write.writable_roots.clone();
    for added in &options.add_dir {
        roots.push(added_directory(added)?);
    }
    let mut deny_read = loaded.settings.deny_read.clone();
    deny_read.extend(options.deny_read.iter().cloned());
    let is_open = matches!(loaded.settings.sandbox_mode, SandboxMode::FullAccess | SandboxMode::External);
    if is_open && !options.deny_read.is_empty() {
        let mode = loaded.settings.sandbox_mode.word();
        return Err(
            Usage(format!("--deny-read does not go with the sandbox {mode}: nothing is enforced")).into()
        );
    }
    let (private, access) = (OnceLock::new(), OnceLock::new());
    Ok(Configured { loaded, places, directory, roots, deny_read, private, access })
}

/// The user's own settings, for programs that work for others: those of a project are ignored.
pub(crate) fn users_settings(config: &Config) -> Result<Configured> {
    load(&AgentOptions::default(), config, Some(Trust::Untrusted))
}

fn directory(options: &AgentOptions) -> Result<PathBuf> {
    match &options.directory {
        Some(asked) => absolute(asked),
        None => Config::working_directory(),
    }
}

fn absolute(path: &Path) -> Result<PathBuf> {
    path.canonicalize().with_context(|| format!("there is no directory {}", path.display()))
}

/// A directory of `--add-dir`, with the links in its path: the sandbox opens none that a command can have made.
fn added_directory(path: &Path) -> Result<PathBuf> {
    let real = absolute(path)?;
    let written = Config::working_directory()?.join(path);
    let mut normal = PathBuf::new();
    for part in written.components() {
        match part {
            Component::ParentDir => drop(normal.pop()),
            _ => normal.push(part),
        }
    }
    Ok(if normal == real { real } else { written })
}

/// The options that are settings too.
fn overrides(options: &AgentOptions) -> Vec<String> {
    let mut words = options.config.clone();
    let mut set = |key: &str, value: &str| words.push(format!("{key}={}", quoted(value)));
    if let Some(model) = &options.model {
        set("model", model);
    }
    if options.dangerously_bypass_approvals_and_sandbox {
        set("sandbox_mode", SandboxMode::FullAccess.word());
        set("approval_policy", ApprovalPolicy::Never.word());
    }
    if let Some(mode) = options.sandbox {
        set("sandbox_mode", mode.mode().word());
    }
    if let Some(policy) = options.ask_for_approval {
        let policy = match policy {
            ApprovalName::Untrusted => ApprovalPolicy::Untrusted,
            ApprovalName::OnRequest => ApprovalPolicy::OnRequest,
            ApprovalName::Never => ApprovalPolicy::Never,
        };
        set("approval_policy", policy.word());
    }
    words
}

/// A text as a TOML string, so that a model called `3` stays a string.
fn quoted(text: &str) -> String {
    toml_edit::Value::from(text).to_string()
}

/// When the agent asks a person for approval; never, if no person can be asked.
pub(super) fn approval(configured: &Configured) -> ApprovalMode {
    match configured.loaded.settings.approval_policy {
        ApprovalPolicy::Never => ApprovalMode::Never,
        ApprovalPolicy::OnRequest => ApprovalMode::OnRequest,
        ApprovalPolicy::Untrusted => ApprovalMode::Untrusted,
    }
}

/// The entries with which every conversation begins.
pub(super) fn entries(configured: &Configured, config: &Config, can_ask: bool) -> Result<Vec<HistoryEntry>> {
    let settings = &configured.loaded.settings;
    let may_read = |path: &Path| configured.may_read(path);
    let base = match &settings.instructions_file {
        Some(path) => instructions::read_whole(path, &may_read)
            .with_context(|| format!("cannot read model_instructions_file {}", path.display()))?,
        None => prompt::BASE.to_owned(),
    };
    let environment = environment(configured, config);
    let Filesystem { sandbox_mode, network_access, .. } = &environment.filesystem;
    let permissions =
        prompt::permissions(sandbox_mode.word(), &network_access.words(), approval(configured), can_ask);
    let mut developer = vec![base, permissions];
    developer.extend(settings.developer_instructions.clone());
    let skills = skills::find_readable(&configured.places, &configured.loaded.project, &may_read);
    for fault in &skills.faults {
        crate::printing::say!("windlass: skill {}: {}", fault.path.display(), fault.message);
    }
    developer.extend(skills.render());
    let context = |item: Item| HistoryEntry { origin: ItemOrigin::Context, item };
    let mut entries: Vec<HistoryEntry> =
        developer.into_iter().map(|text| context(Item::developer(text))).collect();
    let found =
        instructions::find_readable(&configured.places, &configured.loaded.project, settings, &may_read);
    for (path, reason) in &found.unreadable {
        crate::printing::say!("windlass: {} is left out: {reason}", path.display());
    }
    entries.extend(found.render(&configured.directory).map(|text| context(Item::user(text))));
    entries.push(context(Item::user(environment.render())));
    Ok(entries)
}

/// The changes of the environment since an earlier conversation described it. They are appended at the end: earlier
/// entries stay as they were.
pub(super) fn changes(configured: &Configured, config: &Config, said: &[HistoryEntry]) -> Vec<HistoryEntry> {
    let context = said.iter().filter(|entry| entry.origin == ItemOrigin::Context);
    let told: Vec<String> = context.filter_map(|entry| entry.item.words_of(Role::User)).collect();
    let changed = environment(configured, config).changes_since_told(told.iter().map(String::as_str));
    changed
        .map(|text| HistoryEntry { origin: ItemOrigin::Context, item: Item::user(text) })
        .into_iter()
        .collect()
}

/// The agent's environment, for the model.
fn environment(configured: &Configured, config: &Config) -> Environment {
    let shell = PathBuf::from(&config.shell).file_name().map(|name| name.to_string_lossy().into_owned());
    let mut workspace_roots = vec![configured.directory.clone()];
    workspace_roots.extend(configured.roots.iter().cloned());
    Environment {
        cwd: configured.directory.clone(),
        shell,
        current_date: Some(windlass_sys::clock::local_date(windlass_sys::clock::wall())),
        timezone: timezone(config),
        filesystem: Filesystem::of(&configured.loaded.settings, &workspace_roots),
    }
}

/// The name of the time zone, if the machine defines it.
fn timezone(config: &Config) -> Option<String> {
    if let Some(zone) = config.variable("TZ") {
        let zone = zone.to_string_lossy();
        let zone = zone.trim_start_matches(':');
        // An empty name means UTC, and a path names the same zone as its part below the database's directory.
        let name = zone.split_once("zoneinfo/").map_or(zone, |(_, name)| name);
        return Some(if name.is_empty() { "UTC" } else { name }.to_owned());
    }
    let link = std::fs::read_link("/etc/localtime").ok()?;
    let path = link.to_str()?;
    Some(path.split_once("zoneinfo/")?.1.to_owned())
}

/// Reports which parts of an untrusted project were ignored.
pub(super) fn tell_left_out(configured: &Configured) {
    let left_out = &configured.loaded.project.left_out;
    if let Some(first) = left_out.first() {
        let more = match left_out.len() {
            1 => String::new(),
            count => format!(" and {} more", count - 1),
        };
        crate::printing::say!(
            "windlass: not read, because this project is not trusted: {}{more}; `windlass agent trust` trusts it",
            first.path.display()
        );
    }
    for note in &configured.loaded.notes {
        crate::printing::say!("windlass: {note}");
    }
    let servers = configured.loaded.project_servers();
    if !servers.is_empty() {
        crate::printing::say!("windlass: this project brings MCP servers along: {}", servers.join(", "));
    }
}

/// `windlass agent trust`
pub(super) fn trust(order: &AgentTrust, config: &Config) -> Result<Exit> {
    let configured = load(&AgentOptions::default(), config, None)?;
    let root = &configured.loaded.project.root;
    let level = if order.revoke { TrustLevel::Untrusted } else { TrustLevel::Trusted };
    let file = windlass_config::trust(&configured.places, root, level)?;
    printing::print_text(&format!("{} is {} (in {})\n", root.display(), level.word(), file.display()))?;
    Ok(Exit::SUCCESS)
}
