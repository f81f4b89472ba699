//! Checks whether the agent could work: its settings, its model and its key. The connection to the model is tried only
//! on request, and the model itself is asked only on a further one; the key is never shown.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use windlass_config::{Faults, Provider, Settings};
use windlass_llm::{Client, Failure, Item, Probe, ProbeFinding, ProbeStep, Request, ResponseEvent, StepKind};

use super::Check;
use crate::args::{AgentOptions, Doctor};
use crate::commands::agent::context::{self, Configured};
use crate::commands::agent::model;
use crate::config::Config;
use crate::report;

/// The longest time for one word of a model.
const LONGEST_ANSWER: Duration = Duration::from_secs(60);

const SETTINGS: &str = "agent settings";
const MODEL: &str = "agent model";
const KEY: &str = "agent key";
const LIVE: &str = "agent live";

pub(super) fn checks(order: &Doctor, config: &Config) -> Vec<Check> {
    let options = AgentOptions {
        model: order.model.clone(),
        config: order.config.clone(),
        profile: order.profile.clone(),
        ..AgentOptions::default()
    };
    let configured = match context::load(&options, config, None) {
        Ok(configured) => configured,
        Err(error) => return faults(&error),
    };
    let settings = &configured.loaded.settings;
    let file = configured.places.user_file().filter(|file| file.is_file());
    let source =
        file.map_or("defaults: there is no configuration file".into(), |file| file.display().to_string());
    let mut checks = vec![Check::ok(SETTINGS, source)];
    checks.extend(configured.loaded.notes.iter().map(|note| Check::note(SETTINGS, note.to_string())));
    checks.extend(roles(&configured));
    checks.push(chosen(settings));
    if let Some(provider) = settings.provider() {
        checks.push(key(settings, provider, config));
        if order.network || order.live {
            checks.extend(network(order, settings, config));
        }
    }
    checks
}

/// One check for each fault in the files of roles. The agent starts without such a role, but not as intended.
fn roles(configured: &Configured) -> Vec<Check> {
    let names = configured.loaded.settings.agents.roles.keys();
    let faults = names.filter_map(|name| Some((name, configured.loaded.for_role(name).err()?)));
    let checks = faults.flat_map(|(name, Faults(faults))| {
        faults.into_iter().map(move |fault| {
            Check::problem(SETTINGS, format!("the role {name} cannot be used: {fault}"), ADVICE)
        })
    });
    checks.collect()
}

const ADVICE: &str = "correct it; `windlass agent config` shows what is in force";

/// One check for each fault, with its file and line.
fn faults(error: &anyhow::Error) -> Vec<Check> {
    match error.chain().find_map(|cause| cause.downcast_ref::<Faults>()) {
        Some(Faults(faults)) => {
            faults.iter().map(|fault| Check::problem(SETTINGS, fault.to_string(), ADVICE)).collect()
        }
        None => vec![Check::problem(SETTINGS, format!("{error:#}"), ADVICE)],
    }
}

fn chosen(settings: &Settings) -> Check {
    let Some(provider) = settings.provider() else {
        return Check::note(MODEL, format!("there is no provider `{}`", settings.model_provider));
    };
    let place = format!("{} at {}", provider.name, provider.base_url);
    match &settings.model {
        Some(model) => Check::ok(MODEL, format!("{model} of {place}")),
        None => Check::note(MODEL, format!("none is chosen; {place} would be asked"))
            .advise("set `model` in the configuration, or give -m MODEL"),
    }
}

/// Without a model the agent is not in use yet, and a missing key is no problem.
fn key(settings: &Settings, provider: &Provider, config: &Config) -> Check {
    let missing = match (model::key(provider, config), &provider.env_key) {
        (Ok(_), None) => return Check::ok(KEY, format!("{} needs none", provider.name)),
        (Ok(_), Some(variable)) => return Check::ok(KEY, format!("in the variable {variable}")),
        (Err(error), _) => error.to_string(),
    };
    match settings.model {
        Some(_) => Check::problem(KEY, missing, "nothing can be asked without it"),
        None => Check::note(KEY, missing),
    }
}

fn network(order: &Doctor, settings: &Settings, config: &Config) -> Vec<Check> {
    let tried = runtime(async {
        let client = client(settings, config)?;
        let probe = client.probe().await;
        let mut checks = steps(&probe, settings);
        if order.live && probe.passed() {
            checks.push(live(&client, settings).await);
        }
        Ok(checks)
    });
    tried.unwrap_or_else(|error| {
        vec![Check::problem("agent network", format!("{error:#}"), "correct the provider's settings")]
    })
}

fn runtime(checks: impl Future<Output = Result<Vec<Check>>>) -> Result<Vec<Check>> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().context("cannot start the runtime")?.block_on(checks)
}

/// A client, even if the key is missing: the connection can be tried without it.
fn client(settings: &Settings, config: &Config) -> Result<Client> {
    let setting = settings.provider().context("no provider is chosen")?;
    let mut provider = model::without_key(setting, config)?;
    provider.key = model::key(setting, config).unwrap_or_default();
    Ok(Client::new(provider)?)
}

fn steps(probe: &Probe, settings: &Settings) -> Vec<Check> {
    probe.steps.iter().map(|step| judged(step, settings)).collect()
}

fn judged(step: &ProbeStep, settings: &Settings) -> Check {
    let (name, advice) = match step.kind {
        StepKind::LookUp => ("agent dns", "look at the provider's base_url, and at the machine's DNS"),
        StepKind::Connect => {
            ("agent tcp", "start the server, or correct the provider's base_url or the proxy")
        }
        StepKind::Tunnel => ("agent proxy", "look at HTTPS_PROXY and NO_PROXY, or at the provider's `proxy`"),
        StepKind::Encrypt => {
            ("agent tls", "look at the certificate, the machine's clock and its roots (SSL_CERT_FILE)")
        }
        StepKind::Models => ("agent models", "look at the key and the provider's base_url"),
    };
    let took = report::seconds(step.took);
    match &step.found {
        Err(failure) => Check::problem(name, failure.message.clone(), advice),
        Ok(ProbeFinding::Addresses(addresses)) => {
            let shown: Vec<String> = addresses.iter().map(|address| address.ip().to_string()).collect();
            Check::ok(name, format!("{}, in {took}", shown.join(", ")))
        }
        Ok(ProbeFinding::Address(address)) => Check::ok(name, format!("{address}, in {took}")),
        Ok(ProbeFinding::Passed) => Check::ok(name, format!("in {took}")),
        Ok(ProbeFinding::Models(models)) => listed(name, models, settings),
        Ok(ProbeFinding::NoList { status }) => Check::note(
            name,
            format!(
                "it answers, but lists no models (status {status}); whether the key is good is not known"
            ),
        )
        .advise("--live asks the model itself"),
    }
}

fn listed(name: &'static str, models: &[String], settings: &Settings) -> Check {
    let count = report::plural(models.len(), "model");
    match &settings.model {
        Some(model) if models.contains(model) => Check::ok(name, format!("{count}, {model} among them")),
        Some(model) => Check::note(name, format!("{count}, but not {model}"))
            .advise("`model` must be spelt as the provider does"),
        None => Check::ok(name, count),
    }
}

/// Asks the model for one word.
async fn live(client: &Client, settings: &Settings) -> Check {
    const ADVICE: &str = "the same happens to the agent; correct `model`, the provider or the key";
    let Some(model) = settings.model.clone() else {
        return Check::problem(LIVE, "no model is chosen", "give -m MODEL");
    };
    let began = std::time::Instant::now();
    // timer: a check must end.
    match tokio::time::timeout(LONGEST_ANSWER, answer(client, question(model))).await {
        Ok(Ok(said)) => Check::ok(LIVE, format!("it said {said:?} in {}", report::seconds(began.elapsed()))),
        Ok(Err(failure)) => Check::problem(LIVE, failure.message, ADVICE),
        Err(_) => {
            Check::problem(LIVE, format!("no answer within {}", report::seconds(LONGEST_ANSWER)), ADVICE)
        }
    }
}

async fn answer(client: &Client, request: Request) -> Result<String, Failure> {
    let mut answer = client.send(&request).await?;
    let mut said = String::new();
    while let Some(event) = answer.next().await? {
        if let ResponseEvent::Text(text) = event {
            said.push_str(&text);
        }
    }
    Ok(said.trim().chars().take(40).collect())
}

fn question(model: String) -> Request {
    Request {
        model,
        items: vec![Item::user("Say hello in one word.")],
        tools: Arc::default(),
        parallel_calls: false,
        effort: None,
        summary: None,
        verbosity: None,
        output_schema: None,
        most_output: None,
        cache_key: "doctor".to_owned(),
        thread: "doctor".to_owned(),
    }
}
