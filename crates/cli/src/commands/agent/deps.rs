//! Builds everything that a team of agents needs from settings and command line.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::sync::mpsc;
use windlass_agent::{
    AgentConfig, AgentDeps, AgentEvent, Background, ModelParams, Role, TeamLimits, Threads, UserPrompter,
};
use windlass_config::{Effort, Settings, WebSearch, instructions};
use windlass_engine::Engine;
use windlass_llm::WireKind;
use windlass_mcp_client::{Elicitor, RequiredError, ServerSpec, Servers, ServersContext, Standing};
use windlass_tools::Toolbox;

use super::answer_file::AnswerFile;
use super::cells::ConfinedCells;
use super::context::{self, Configured};
use super::{model, tools};
use crate::args::AgentOptions;
use crate::commands::patch_helper;
use crate::config::Config;

/// The dependencies of a team of agents, and the parts that must be ended after it.
pub(super) struct Workshop {
    pub(super) deps: AgentDeps,
    pub(super) engine: Engine,
    pub(super) foreign: Option<Servers>,
    pub(super) answer_file: Option<AnswerFile>,
}

/// The channels and callbacks by which a team of agents reaches people and other programs.
pub(super) struct Outside {
    /// Receives all events of the agents.
    pub(super) events: mpsc::Sender<AgentEvent>,
    /// Asks the user; `None` if there is no user.
    pub(super) prompter: Option<Arc<dyn UserPrompter>>,
    /// Asks the user on behalf of MCP servers.
    pub(super) elicitor: Option<Arc<dyn Elicitor>>,
}

impl Workshop {
    /// Sets everything up. Sends nothing to the model yet.
    pub(super) async fn open(
        configured: &Configured,
        options: &AgentOptions,
        (config, outside): (&Config, Outside),
    ) -> Result<Self> {
        let settings = &configured.loaded.settings;
        context::tell_left_out(configured);
        let (model, client) = model::client(settings, config)?;
        let engine = tools::engine(configured, config, options.sandbox_layers)?;
        let toolbox_options = tools::options(configured, config)?;
        let sandbox = toolbox_options.sandbox.clone();
        let toolbox = Toolbox::new(engine.clone(), toolbox_options);
        // A sandbox that cannot be enforced is reported with the first command: none runs without it.
        if let Ok(access) = toolbox.reach(&sandbox) {
            let _ = configured.access.set(access);
        }
        let answer_file = AnswerFile::open(options, configured.access.get())?;
        let surroundings =
            ServersContext { elicitor: outside.elicitor, ..tools::surroundings(configured, config, &engine) };
        let foreign = foreign(surroundings, tools::servers(configured, config)).await?;
        let responses = client.provider().wire == WireKind::Responses;
        let agent_config = AgentConfig {
            params: model_params(settings, model),
            context: context::entries(configured, config, outside.prompter.is_some())?,
            output_schema: schema(configured, options)?,
            sandbox,
            approval: context::approval(configured),
            background: if outside.prompter.is_some() {
                Background::Wake
            } else {
                background(settings, options)
            },
            free_text: responses,
            web_search: responses && settings.web_search != WebSearch::Disabled,
            ..agent_config(configured, config)
        };
        let deps = AgentDeps {
            model_client: Arc::new(client),
            toolbox: Box::new(move || toolbox.for_another_caller()),
            foreign: foreign.clone(),
            threads: threads(settings, options, config),
            clock: windlass_sys::clock::wall,
            prompter: outside.prompter,
            events: outside.events,
            cells: Some(Arc::new(ConfinedCells::new(&engine, configured, config))),
            config: agent_config,
        };
        Ok(Self { deps, engine, foreign, answer_file })
    }
}

/// The directory in which conversations are stored.
pub(super) fn thread_files(config: &Config) -> Option<Threads> {
    config.state_directory.as_ref().map(|directory| Threads::new(directory.join("agent")))
}

/// The directory in which this conversation is stored, if it is.
pub(super) fn threads(settings: &Settings, options: &AgentOptions, config: &Config) -> Option<Threads> {
    let kept = settings.history.persistence == windlass_config::HistoryPersistence::SaveAll;
    thread_files(config).filter(|_| kept && !options.ephemeral)
}

/// How the agent treats work that still runs when the answer is complete, if no person can be notified of its end
/// later.
fn background(settings: &Settings, options: &AgentOptions) -> Background {
    let usual = Duration::from_millis(settings.background_terminal_max_timeout_ms);
    options.wait_background.map_or(Background::End, |asked| Background::Wait(asked.unwrap_or(usual)))
}

fn model_params(settings: &Settings, model: String) -> ModelParams {
    ModelParams {
        model,
        effort: settings.reasoning_effort.map(|effort| effort.word().to_owned()),
        summary: settings.reasoning_summary.map(|summary| summary.word().to_owned()),
        verbosity: settings.verbosity.map(|verbosity| verbosity.word().to_owned()),
    }
}

fn agent_config(configured: &Configured, config: &Config) -> AgentConfig {
    let settings = &configured.loaded.settings;
    let window = settings.context_window;
    let tries = settings.provider().map_or(5, |provider| provider.stream_max_retries);
    AgentConfig {
        params: ModelParams::default(),
        directory: configured.directory.clone(),
        context: Vec::new(),
        compact_at: settings.compaction_limit(window),
        compact_prompt: settings.compact_prompt.clone(),
        most_tries: tries,
        output_limit: settings.tool_output_token_limit,
        output_schema: None,
        sandbox: windlass_tools::Policy::FullAccess,
        patch_helper: Some(patch_helper::program()),
        approval: windlass_agent::ApprovalMode::Never,
        background: Background::End,
        web_search: false,
        sees: settings.tools.view_image,
        free_text: true,
        looks_at_files: settings.tools.files,
        excludes: tools::excludes(config),
        plans: settings.tools.update_plan,
        code_mode: settings.tools.code_mode,
        team: TeamLimits {
            most_open: settings.agents.max_threads,
            most_depth: if settings.tools.agents { settings.agents.max_depth as u32 } else { 0 },
        },
        roles: roles(configured),
    }
}

/// The built-in roles, and those that are configured.
fn roles(configured: &Configured) -> Vec<Role> {
    let built_in = [
        ("explorer", "finds things out in the code base and changes nothing", EXPLORER),
        ("worker", "carries out a well-described change and checks it", WORKER),
    ];
    let mut roles: Vec<Role> =
        built_in.map(|(name, description, instructions)| role(name, description, instructions)).to_vec();
    for (name, configured_role) in &configured.loaded.settings.agents.roles {
        let settings = configured.loaded.for_role(name);
        if let Err(faults) = &settings {
            crate::printing::say!("windlass: the role {name} cannot be used: {faults}");
            continue;
        }
        let of_file = settings.ok().map(|role| role.settings);
        roles.retain(|role| role.name != *name);
        roles.push(Role {
            name: name.clone(),
            description: configured_role.description.clone().unwrap_or_default(),
            instructions: of_file.as_ref().and_then(|settings| settings.developer_instructions.clone()),
            model: configured_role.model.clone().or_else(|| of_file.as_ref()?.model.clone()),
            effort: configured_role.reasoning_effort.map(|effort: Effort| effort.word().to_owned()),
            nicknames: configured_role.nickname_candidates.clone(),
        });
    }
    roles
}

const EXPLORER: &str = "You are a sub-agent that finds things out. Answer the question you are given as exactly as you can, with \
                        path:line for everything you name. Change no files.";
const WORKER: &str = "You are a sub-agent that carries out one change. Others may work in the same workspace: touch only what \
                      your task needs, and do not undo what you did not do. Report what you changed and how you checked it.";

fn role(name: &str, description: &str, instructions: &str) -> Role {
    Role {
        name: name.to_owned(),
        description: description.to_owned(),
        instructions: Some(instructions.to_owned()),
        model: None,
        effort: None,
        nicknames: Vec::new(),
    }
}

fn schema(configured: &Configured, options: &AgentOptions) -> Result<Option<serde_json::Value>> {
    let Some(path) = &options.output_schema else { return Ok(None) };
    let text = instructions::read_whole(path, &|path| configured.may_read(path))
        .with_context(|| format!("cannot read the output schema {}", path.display()))?;
    let schema = serde_json::from_str(&text);
    schema.map(Some).with_context(|| format!("the output schema {} is not JSON", path.display()))
}

/// Starts the MCP servers, and waits until each is ready or has failed.
async fn foreign(surroundings: ServersContext, specs: Vec<ServerSpec>) -> Result<Option<Servers>> {
    if specs.is_empty() {
        return Ok(None);
    }
    let servers = Servers::start(surroundings, specs);
    let states = servers.ready().await;
    for state in &states {
        if let Standing::Down { reason } = &state.standing {
            crate::printing::say!("windlass: MCP server {} is not there: {reason}", state.name);
        }
    }
    RequiredError::check(&states)?;
    Ok(Some(servers))
}
