//! Sets up the tools of agents from settings: environment, sandbox and rules of commands, and MCP servers.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use windlass_config::{
    ApprovalPolicy, Inherit as InheritSetting, McpServer, McpTransport, NetworkAccess, SandboxMode, withheld,
};
use windlass_engine::sandbox::{Access, Base, Confined, Network, Pattern, Temporary};
use windlass_engine::{Ahead, Engine, EngineOptions, Guard, Keeping, KillDelays};
use windlass_mcp_client::{Bearer, Secret, ServerSpec, ServersContext, ToolFilter, Transport};
use windlass_tools::{
    EnvironmentPolicy, Inherit, Policy, Profile, Rules, SecretVariables, ToolboxOptions, VariablePatterns,
    Variables,
};

use super::certificates;
use super::context::Configured;
use super::programs;
use super::proxies::Proxies;
use super::web::Web;
use crate::args::LayersName;
use crate::commands::guardian;
use crate::commands::run::clean_up;
use crate::config::Config;
use crate::confinement::NamedFiles;
use crate::remedies::Interface;
use crate::{confinement, rules_files};

/// The grace period of commands when everything ends.
const GRACE: Duration = Duration::from_millis(200);

/// The engine that all agents of a team share.
pub(super) fn engine(configured: &Configured, config: &Config, layers: LayersName) -> Result<Engine> {
    let store = config.open_store();
    drop(clean_up(store.as_ref()));
    let named = NamedFiles { obeyed: programs::of(configured, config), ..NamedFiles::default() };
    Ok(Engine::new(EngineOptions {
        store,
        guard: Guard::Program(guardian::program),
        grounds: Some(confinement::grounds_with(layers, config, named, Interface::Agent)),
        ahead: Ahead::OneHelper,
        patience: KillDelays { grace: GRACE, ..KillDelays::default() },
        ..EngineOptions::default()
    })?)
}

/// The toolbox options: environment and sandbox of commands.
pub(super) fn options(configured: &Configured, config: &Config) -> Result<ToolboxOptions> {
    let mut options = ToolboxOptions::new(&configured.directory, config.environment.clone());
    options.shell = config.shell.clone().into();
    options.profile = Profile::Classic;
    options.policy = environment(configured)?;
    options.sandbox = sandbox(configured);
    (options.kept, options.doors) = confinement::own_places(config);
    options.rules = rules(configured, config)?.map(Arc::new);
    Ok(options)
}

/// The environment of windlass without keys and secrets, for programs of the user that are not commands of the model.
pub(super) fn harmless_environment(configured: &Configured, config: &Config) -> Result<Variables> {
    let policy = EnvironmentPolicy { inherit: Inherit::All, ..environment(configured)? };
    Ok(policy.passed_on(&config.environment))
}

/// An environment policy that withholds keys and secrets, whatever their names.
fn environment(configured: &Configured) -> Result<EnvironmentPolicy> {
    let settings = &configured.loaded.settings;
    let words = &settings.environment;
    let inherit = match words.inherit {
        InheritSetting::All => Inherit::All,
        InheritSetting::Core => Inherit::Core,
        InheritSetting::None => Inherit::None,
    };
    let set = words.set.iter().map(|(name, value)| (name.into(), value.into())).collect();
    let secrets = match words.ignore_default_excludes {
        true => SecretVariables::PassedOn,
        false => SecretVariables::Withheld,
    };
    let exclude = VariablePatterns::parse(withheld(settings)).context("shell_environment_policy.exclude")?;
    let include_only =
        VariablePatterns::parse(&words.include_only).context("shell_environment_policy.include_only")?;
    Ok(EnvironmentPolicy { inherit, secrets, exclude, include_only, set })
}

/// The policy for commands.
pub(crate) fn sandbox(configured: &Configured) -> Policy {
    let settings = &configured.loaded.settings;
    let base = match settings.sandbox_mode {
        SandboxMode::FullAccess => return Policy::FullAccess,
        SandboxMode::External => return Policy::External,
        SandboxMode::ReadOnly => Base::ReadOnly,
        SandboxMode::WorkspaceWrite => Base::WorkspaceWrite,
    };
    let mut confined = Confined::new(base).with_network(match settings.effective_network() {
        NetworkAccess::Off => Network::Off,
        NetworkAccess::Loopback => Network::Loopback,
        NetworkAccess::Hosts(hosts) => Network::Hosts(hosts),
        NetworkAccess::On => Network::On,
    });
    if base == Base::WorkspaceWrite {
        let words = &settings.workspace_write;
        confined.temporary =
            Temporary { common: !words.exclude_slash_tmp, own: !words.exclude_tmpdir_env_var };
        for root in &configured.roots {
            let place = Pattern::plain(root).resolved(&configured.directory, None);
            confined = confined.with(place, Access::Write);
        }
    }
    for pattern in &configured.deny_read {
        confined = confined.with(Pattern::new(pattern), Access::Deny);
    }
    Policy::Confined(confined)
}

/// The user's rules; if every command needs approval, rules that ask about all commands that they do not match.
fn rules(configured: &Configured, config: &Config) -> Result<Option<Rules>> {
    let usual = rules_files::usual(config)?;
    if configured.loaded.settings.approval_policy != ApprovalPolicy::Untrusted {
        return Ok(usual);
    }
    rules_files::asking(config).map(Some)
}

/// Files with patterns that searches leave out.
pub(super) fn excludes(config: &Config) -> Vec<PathBuf> {
    let path = |name: &str| config.variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let Some(home) = path("HOME") else { return Vec::new() };
    windlass_files::git_excludes(&home, path("XDG_CONFIG_HOME").as_deref()).into_iter().collect()
}

/// The context in which MCP servers are started. They cannot ask the user yet.
pub(super) fn surroundings(configured: &Configured, config: &Config, engine: &Engine) -> ServersContext {
    let mut roots = vec![configured.directory.clone()];
    roots.extend(configured.roots.iter().cloned());
    let mut environment = config.environment.clone();
    environment.retain(|(name, _)| name != "PATH");
    environment.push(("PATH".into(), programs::search_path(configured, config)));
    ServersContext {
        engine: engine.clone(),
        keeping: Keeping::Memory,
        http: Some(Arc::new(Web::new(Proxies::of(config), certificates::named(config)))),
        directory: programs::directory(configured, config),
        environment,
        roots,
        elicitor: None,
    }
}

/// The MCP servers that are configured.
pub(super) fn servers(configured: &Configured, config: &Config) -> Vec<ServerSpec> {
    let servers = configured.loaded.settings.mcp_servers.iter();
    servers.map(|(name, server)| spec(name, server, configured, config)).collect()
}

fn spec(name: &str, server: &McpServer, configured: &Configured, config: &Config) -> ServerSpec {
    let mut spec = ServerSpec::new(name, transport(&server.transport, configured, config));
    spec.enabled = server.enabled;
    spec.required = server.required;
    spec.startup_timeout = Duration::from_secs_f64(server.startup_timeout_sec.max(0.1));
    spec.tool_timeout = Duration::from_secs_f64(server.tool_timeout_sec.max(0.1));
    spec.tools =
        ToolFilter { enabled: server.enabled_tools.clone(), disabled: server.disabled_tools.clone() };
    spec.parallel = server.supports_parallel_tool_calls;
    spec
}

fn transport(transport: &McpTransport, configured: &Configured, config: &Config) -> Transport {
    let variable = |name: &str| config.variable(name).and_then(|value| value.to_str()).map(str::to_owned);
    match transport {
        McpTransport::Stdio { command, args, env, env_vars, cwd } => Transport::Stdio {
            command: programs::found(command.as_ref(), &programs::search_path(configured, config))
                .map_or_else(|| command.into(), PathBuf::into_os_string),
            args: args.iter().map(Into::into).collect(),
            env: env.iter().map(|(name, value)| (name.clone(), value.into())).collect(),
            env_vars: env_vars.clone(),
            cwd: cwd.as_deref().map(|cwd| configured.directory.join(cwd)),
        },
        McpTransport::Http { url, bearer_token_env_var, http_headers, env_http_headers } => {
            let from_environment = env_http_headers
                .iter()
                .filter_map(|(header, name)| Some((header.clone(), Secret::new(variable(name)?))));
            let fixed = http_headers.iter().map(|(name, value)| (name.clone(), Secret::new(value)));
            Transport::Http {
                url: url.clone(),
                bearer: bearer_token_env_var.as_ref().and_then(|name| {
                    Some(Bearer { variable: name.clone(), token: Secret::new(variable(name)?) })
                }),
                headers: fixed.chain(from_environment).collect(),
            }
        }
    }
}
